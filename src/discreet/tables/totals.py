"""Scores of one's own: a sum over persons of terms that are bounded and whole before
they are added.

A sum of floats depends on the order of the rows and on the engine, and one person can
move it by far more than the stated sensitivity; a sum of narrow integers wraps around
(Casacuberta, Shoemate, Vadhan and Wagaman 2022). So a value is first clipped to public
bounds and put on a public grid, as a whole number of steps. The rows of a person are
added up, and that sum is clipped to public bounds again: so how far one person can move
a score is enforced, not promised. docs/proofs/tables.md#totals

A sum in Narwhals is taken only if it is a sum of bounded terms of single rows:

    nw.len()
    (nw.col("teacher") == "Ada").sum()
    nw.col("amount").clip(0, 100).filter(nw.col("shop") == "a").sum()
    nw.when(nw.col("shop") == "a").then(nw.col("amount").clip(0, 100)).otherwise(0).sum()

As with conditions, no expression reaches an engine: it is translated, step by step, and
a step that has no place here is refused by its name before anything is charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.errors import Hidden, ParameterError, ParameterTypeError, shown_pair
from discreet.exact.rationals import (
    Number,
    count,
    exact_decimal,
    lower_and_upper,
    positive,
)
from discreet.tables.condition_expressions import Where, condition_of, read_where, translate_node
from discreet.tables.conditions import And, Condition, read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SMALLEST, _LARGEST = Fraction(1, 10**290), Fraction(10) ** 290
"""Steps that floats can stand for: a step that is 0 in floats makes NaN of a cell, and
some cast fail.
"""
MOST_STEPS = 2**31
"""The largest number of steps from 0 to a bound: then no sum of two halves can overflow 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What the persons of a table add up to, in whole steps of a public size: see `discreet.total`.

    column: whose values are added up; None where each row counts as much as `rows`
        says.
    step: the size of one step.
    rows: the smallest and largest number of steps of one row.
    persons: the smallest and largest number of steps of one person, or None where the
        caller of a question says how far one person can move a score.
    where: which rows count for this total.
    written: that as text, where it was written so: a question looks whether a bare word in
        it is the name of a column.
    """

    column: str | None
    step: Fraction
    rows: tuple[int, int]
    persons: tuple[int, int] | None = None
    where: Condition | None = None
    written: str | None = field(default=None, repr=False, compare=False)

    def within(self, low: Fraction, high: Fraction) -> Total:
        """The same with persons who count from `low` to `high` at most."""
        first, last = math.ceil(low / self.step), math.floor(high / self.step)
        # Nobody's rows add up to more, and engines know no larger numbers.
        first, last = max(first, -MOST_STEPS), min(last, MOST_STEPS)
        if self.persons is not None:
            first, last = max(first, self.persons[0]), min(last, self.persons[1])
        return replace(self, persons=(min(first, 0), max(last, 0)))


def total(
    column: str,
    *,
    bounds: tuple[Number, Number],
    step: Number,
    where: Where | None = None,
) -> Total:
    """The sum of a column over persons, as a score for `Session.select`.

    bounds: the smallest and the largest amount that one person counts for. A row's
        value is clipped to them, the rows of a person are added up, and the sum is
        clipped to them again.
    step: values are rounded down to multiples of it. It is public, as the bounds are.
    where: which rows count for this total, as in every question.

    Cells that are empty or no finite number count as 0.

    Privacy: one person moves the total by an amount within the bounds, whatever the
        rows are.

    >>> total("amount", bounds=(0, 100), step=1, where="shop = 'a'").rows
    (0, 100)
    """
    owner = "total"
    if not isinstance(column, str) or not column:
        raise ParameterTypeError(owner, "column", "the name of a column", column)
    size = positive(exact_decimal(step, "step", owner), step, "step", owner)
    limits = _read_bounds(bounds, size, owner)
    # A person without a row that counts adds nothing, also where 0 is outside of the bounds.
    persons = (min(limits[0], 0), max(limits[1], 0))
    return Total(
        column=column,
        step=size,
        rows=limits,
        persons=persons,
        where=read_where(where, owner),
        written=where if isinstance(where, str) else None,
    )


def row_count(*, where: Where | None = None, most: int = 1) -> Total:
    """The number of rows, as a score for `Session.select`: at most `most` of each person count.

    Privacy: one person moves the count by 0 to `most`.

    >>> row_count(where="teacher = 'Ada'", most=2).persons
    (0, 2)
    """
    most = count(most, "most", "row_count")
    if most > MOST_STEPS:
        raise ParameterError("row_count", "most", f"at most {MOST_STEPS:,}", most)
    return Total(
        column=None,
        step=Fraction(1),
        rows=(1, 1),
        persons=(0, most),
        where=read_where(where, "row_count"),
        written=where if isinstance(where, str) else None,
    )


def _read_bounds(bounds: tuple[Number, Number], step: Fraction, owner: str) -> tuple[int, int]:
    """The bounds in whole steps, the lower one rounded up and the upper one down."""
    low, high = lower_and_upper(bounds, owner)
    return whole_steps(low, high, step, owner)


def whole_steps(low: Fraction, high: Fraction, step: Fraction, owner: str) -> tuple[int, int]:
    """From how many to how many steps the numbers from `low` to `high` are."""
    if not _SMALLEST <= step <= _LARGEST:
        raise ParameterError(owner, "step", "from 1e-290 to 1e290", Hidden("another"))
    first, last = math.ceil(low / step), math.floor(high / step)
    if max(abs(first), abs(last)) > MOST_STEPS:
        rule = f"large enough for at most {MOST_STEPS:,} steps from 0 to a bound"
        raise ParameterError(owner, "step", rule, float(step))
    if first > last or not (first or last):
        raise ParameterError(
            owner,
            "bounds",
            "at least one step from each other",
            shown_pair((float(low), float(high))),
        )
    return first, last


def range_of_totals(totals: Sequence[Total]) -> Fraction:
    """How far one person can move two of the scores apart.

    A person moves each score by an amount within that score's own bounds, or not at
    all, so two scores move apart by at most the largest upper bound (or 0) minus the
    smallest lower bound (or 0).
    """
    limits = [(each.persons or (0, 0), each.step) for each in totals]
    highest = max(max(last, 0) * step for (_, last), step in limits)
    lowest = min(min(first, 0) * step for (first, _), step in limits)
    return highest - lowest


_FINEST = 20
"""Values that are not whole numbers are put on a grid of a 2^20-th of their bounds."""
_KNOWN = "a sum of terms of single rows that are clipped to public bounds"
_HINT = (
    "Use discreet.total or discreet.row_count; or in Narwhals "
    "nw.col('amount').clip(0, 100).filter(...).sum(), or (nw.col('shop') == 'a').sum()."
)


@dataclass(frozen=True, slots=True)
class _Term:
    """What one row adds: a column's value between two bounds, or a constant."""

    column: str | None
    low: Fraction | None
    high: Fraction | None
    where: tuple[Condition, ...] = ()

    def only(self, condition: Condition) -> _Term:
        return replace(self, where=(*self.where, condition))


def total_of(expression: Any, is_whole: Callable[[str], bool], owner: str) -> Total:
    """The total that a Narwhals expression means, or a refusal that names the step.

    is_whole: whether a column holds whole numbers only, by its type.
    """
    try:
        *nodes, last = expression._nodes
    except Exception:
        # not the Narwhals that we know
        _refuse("something else", owner)
    if last.name == "len" and not nodes:
        return Total(column=None, step=Fraction(1), rows=(1, 1))
    if last.name != "sum" or not nodes:
        _refuse(last.name, owner)
    term = _term(nodes, owner)
    if term.low is None or term.high is None:
        _refuse("a column that is not clipped to public bounds", owner)
    step = _step(term, is_whole)
    rows = whole_steps(term.low, term.high, step, owner)
    where = None if not term.where else term.where[0] if len(term.where) == 1 else And(term.where)
    return Total(column=term.column, step=step, rows=rows, where=where)


def _step(term: _Term, is_whole: Callable[[str], bool]) -> Fraction:
    """Whole numbers are exact; of others a public grid is made from their bounds."""
    if term.low is None or term.high is None or term.column is None:
        return abs(term.high or Fraction(1))
    if is_whole(term.column) or term.low == term.high:
        return Fraction(1)
    width = max(abs(term.low), abs(term.high), term.high - term.low)
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - _FINEST
    return Fraction(2) ** exponent


def _term(nodes: list[Any], owner: str) -> _Term:
    term = _start(nodes, owner)
    rest = nodes[1:] if isinstance(term, _Term) else []
    if not isinstance(term, _Term):
        # Everything up to a cast of truth values is a condition.
        cast = next((place for place, node in enumerate(nodes) if node.name == "cast"), len(nodes))
        term, rest = _flag(_Part(nodes[:cast]), owner), nodes[cast:]
        if rest:
            _require_whole_type(rest.pop(0), owner)
    for node in rest:
        term = _next(term, node, owner)
    return term


class _Part:
    """A part of an expression that is looked into like a whole one."""

    def __init__(self, nodes: list[Any]) -> None:
        self._nodes = nodes


def _flag(part: _Part, owner: str) -> _Term:
    return _Term(None, Fraction(1), Fraction(1), (condition_of(part, owner),))


def _start(nodes: list[Any], owner: str) -> _Term | None:
    """A column that is clipped or filtered, or a choice; None where it is a condition."""
    first = nodes[0]
    if first.name == "when_then":
        return _choice(first, owner)
    clipped = len(nodes) > 1 and nodes[1].name in ("clip", "filter")
    if first.name == "col" and (clipped or len(nodes) == 1):
        return _Term(translate_node(first, owner).name, None, None)
    return None


def _next(term: _Term, node: Any, owner: str) -> _Term:
    if node.name == "filter" and node.exprs:
        for part in node.exprs:
            term = term.only(condition_of(part, owner))
        return term
    if node.name == "clip" and len(node.exprs) == 2 and term.column is not None:
        low, high = (_number(part, owner) for part in node.exprs)
        if term.low is not None and term.high is not None:
            low, high = max(low, term.low), min(high, term.high)
        if low > high:
            _refuse("a lower bound above the upper one", owner)
        return replace(term, low=low, high=high)
    return _refuse(node.name, owner)


def _choice(node: Any, owner: str) -> _Term:
    """`when(...).then(...)`, with 0 or nothing otherwise."""
    condition, then, *otherwise = node.exprs
    if otherwise and otherwise[0] is not None and _constant(otherwise[0]) != 0:
        _refuse("otherwise with something other than 0", owner)
    value = _constant(then)
    if value is not None:
        return _Term(None, value, value, (condition_of(condition, owner),))
    if not hasattr(then, "_nodes"):
        _refuse("then with something other than a number or a clipped column", owner)
    return _term(list(then._nodes), owner).only(condition_of(condition, owner))


def _constant(part: Any) -> Fraction | None:
    """A number that was written down, as it is or as a literal."""
    nodes = getattr(part, "_nodes", None)
    if nodes is not None and len(nodes) == 1 and nodes[0].name == "lit":
        part = nodes[0].kwargs.get("value")
    if isinstance(part, (int, float)) and math.isfinite(part):
        return Fraction(str(part)) if isinstance(part, float) else Fraction(int(part))
    return None


def _number(part: Any, owner: str) -> Fraction:
    if part is None or hasattr(part, "_nodes"):
        _refuse("a bound that is not a number", owner)
    value = read_value(part, "score", owner)
    if not isinstance(value, Fraction):
        _refuse("a bound that is not a number", owner)
    return value


def _require_whole_type(node: Any, owner: str) -> None:
    """A truth value is 0 or 1 in every type of numbers."""
    kind = node.kwargs.get("dtype")
    if not getattr(kind, "is_numeric", lambda: False)():
        _refuse("a cast to something that is no number", owner)


def _refuse(step: str, owner: str) -> NoReturn:
    raise ParameterError(owner, "score", _KNOWN, step, _HINT)
