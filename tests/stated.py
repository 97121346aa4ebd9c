"""Where the package states a privacy fact: a sensitivity, a range, a loss or a charge.

A statement of the first three is a call that makes a loss, passes one of the classes of losses on,
or says by keyword how far one person moves something. tests/docs/test_proofs.py wants a proof of
each, tests/mutants/test_statements.py a mutant. A charge is a call that says what a question of a
session costs, or that takes it from the budget; each has a mutant, too.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "discreet"
LOSSES = {"PureDP", "BoundedRange", "LogisticDP", "GaussianDP", "ZCDP", "ApproxDP"}
SAID = {"sensitivity", "squared_sensitivity", "score_range", "moved"}
# Whether one person moves all scores the same way is half of what a sensitivity says.
DIRECTION = {"monotonic"}
# What only shows losses states none, and the auditor tries what others state: its
# worlds of neighbours are questions to a mechanism, and no release rests on them.
SHOWING = {"auditing", "cli"}
CHARGES = {"Cost", "charge"}
CHARGING = (
    *sorted((PACKAGE / "tables").glob("*questions.py")),
    *sorted((PACKAGE / "questions").glob("*.py")),
    PACKAGE / "questions" / "runner.py",
)


def statements(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls that state a sensitivity, a range or a loss."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _name(node)
            handed = [*node.args, *(keyword.value for keyword in node.keywords)]
            kinds = {part.id for part in handed if isinstance(part, ast.Name)} & LOSSES
            said = SAID & {keyword.arg for keyword in node.keywords}
            if name in LOSSES or said or (kinds and name != "isinstance"):
                yield node


def charges(source: str) -> list[ast.Call]:
    """The calls that state a charge, as they stand in a source."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return sorted((each for each in calls if _name(each) in CHARGES), key=_place)


def _place(call: ast.Call) -> tuple[int, int]:
    return call.lineno, call.col_offset


def _name(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


# A statement has one of these names in it, so a text without them need not be read as code.
_NAMED = re.compile(rf"\b({'|'.join(sorted(LOSSES | SAID))})\b")


@cache
def stating() -> tuple[Path, ...]:
    """The files of the package that state something."""
    return tuple(
        file
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[0] not in SHOWING
        and _states_something(file.read_text(encoding="utf-8"))
    )


def _states_something(text: str) -> bool:
    return bool(_NAMED.search(text)) and any(statements(ast.parse(text)))


def in_order(source: str) -> list[ast.Call]:
    """The statements of a source as they stand in it."""
    return sorted(statements(ast.parse(source)), key=_place)


def fact(call: ast.Call) -> str:
    """What a statement says by itself: the kind of loss and its numbers, or the values of the
    keywords that say how far, without anything that another statement inside of it says.
    """
    alone = _Alone(call).visit(copy.deepcopy(call))
    positional = any(isinstance(part, ast.Name) and part.id in LOSSES for part in call.args)
    if _name(call) in LOSSES or positional:
        return ast.unparse(alone)
    facts = [
        f"{keyword.arg}={ast.unparse(keyword.value)}"
        for keyword in alone.keywords
        if keyword.arg in SAID | DIRECTION
        or (isinstance(keyword.value, ast.Name) and keyword.value.id in LOSSES)
    ]
    return f"{ast.unparse(alone.func)}: {', '.join(facts)}"


class _Alone(ast.NodeTransformer):
    """Takes the statements inside of a statement out of it."""

    def __init__(self, call: ast.Call) -> None:
        inner = (each for part in ast.iter_child_nodes(call) for each in statements(part))
        self._inner = {(each.lineno, each.col_offset, each.end_col_offset) for each in inner}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if (node.lineno, node.col_offset, node.end_col_offset) in self._inner:
            return ast.Name("_")
        self.generic_visit(node)
        return node
