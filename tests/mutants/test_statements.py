"""Every statement of a sensitivity, range, loss or charge has a mutant that makes this one false.

`make stated` shows that a test kills it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from mutants import edit
from mutants.catalogue import mutants
from stated import CHARGING, PACKAGE, charges, fact, in_order, stating


def changed(before: Sequence[str], after: Sequence[str]) -> set[int]:
    """The places of the facts that are not what they were, by an edit of one place.

    Where one of two like facts is gone, nobody can say which, and neither counts.
    """
    if len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return {place for place, (old, new) in enumerate(pairs) if old != new}
    shorter = min(len(before), len(after))
    ahead = alike(before, after)
    behind = alike(before[::-1], after[::-1])
    late = set(range(ahead, len(before) - min(behind, shorter - ahead)))
    early = set(range(min(ahead, shorter - behind), len(before) - behind))
    return late & early


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many facts are the same from the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


@cache
def facts(source: str) -> tuple[str, ...]:
    return tuple(fact(call) for call in in_order(source))


@cache
def charged(source: str) -> tuple[str, ...]:
    return tuple(ast.unparse(call) for call in charges(source))


def falsified(file: str, said: Callable[[str], tuple[str, ...]]) -> set[int]:
    """The places of the statements of a file that some mutant of `make stated` makes false.

    A mutant changes one part of a file: the facts of the others are those that they were.
    """
    source = edit.canonical((PACKAGE / file).read_text(encoding="utf-8"))
    parts, found = edit.parts(source), set()
    true = [each for part in parts.values() for each in said(part)]
    for mutant in mutants():
        if mutant.file == file and mutant.stated:
            begin, end, wrong = edit.replacement(source, mutant.true, mutant.wrong, mutant.scope)
            edited = [text for place, text in parts.items() if place < begin]
            edited += [wrong, *(text for place, text in parts.items() if place >= end)]
            found |= changed(true, [each for part in edited for each in said(part)])
    return found


@pytest.mark.parametrize(
    ("files", "calls", "said"),
    [(stating(), in_order, facts), (CHARGING, charges, charged)],
    ids=["sensitivity, range and loss", "charge"],
)
def test_every_statement_has_a_mutant_of_its_own(files, calls, said):
    """Also where a value is passed on: to pass on half of it is as wrong as to state half of it."""
    missing = []
    for path in files:
        file = path.relative_to(PACKAGE).as_posix()
        there, found = calls(path.read_text(encoding="utf-8")), falsified(file, said)
        missing += [
            f"{file}, line {call.lineno}: {ast.unparse(call)}"
            for place, call in enumerate(there)
            if place not in found
        ]
    assert not missing, "\n".join(missing)


SOURCE = """
def f(a, b):
    one = make(a, b, sensitivity=2 * a, monotonic=True, name=PureDP(b))
    two = PureDP(b)
    return Law(loss=PureDP, draw=a), BoundedRange(plan(b, PureDP).epsilon)
"""


@pytest.mark.parametrize(
    ("true", "wrong", "places"),
    [
        ("2 * a", "a", {0}),
        ("monotonic=True", "monotonic=False", {0}),
        # what is no part of the fact, and what the statement inside of it says
        ("make(a, b,", "make(b, a,", set()),
        ("name=PureDP(b)", "name=PureDP(b / 2)", {1}),
        ("two = PureDP(b)", "two = PureDP(b / 2)", {2}),
        ("two = PureDP(b)", "two = BoundedRange(b)", {2}),
        # one of two like ones is gone
        ("two = PureDP(b)", "two = None", set()),
        ("loss=PureDP", "loss=BoundedRange", {3}),
        ("draw=a", "draw=b", set()),
        ("plan(b, PureDP)", "plan(2 * b, PureDP)", {5}),
        ("plan(b, PureDP).epsilon", "plan(b, PureDP).epsilon / 2", {4}),
        ("BoundedRange(plan(b, PureDP).epsilon)", "None", {4, 5}),
        ("BoundedRange(plan(b, PureDP).epsilon)", "BoundedRange(b)", {4, 5}),
    ],
)
def test_an_edit_falsifies_the_statement_that_it_is_in(true, wrong, places):
    after = SOURCE.replace(true, wrong)
    assert after != SOURCE
    assert changed(facts(SOURCE), facts(after)) == places
