"""Scores of one's own: a sum over persons of terms that are bounded and whole before
they are added.

A sum of floats depends on the order of the rows and on the engine, and one person can
move it by far more than the stated sensitivity; a sum of narrow integers wraps around
(Casacuberta, Shoemate, Vadhan and Wagaman 2022). So a value is first clipped to public
bounds and put on a public grid, as a whole number of steps. The rows of a person are
added up, and that sum is clipped to public bounds again: so how far one person can move
a score is enforced, not promised. docs/proofs/tables.md#totals

A score may also be a sum in Narwhals: `score_expressions` makes a total of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import Hidden, ParameterError, ParameterTypeError, public_function, shown_pair
from discreet.exact.rationals import (
    Number,
    count,
    exact_decimal,
    lower_and_upper,
    positive,
)
from discreet.tables.condition_language import Where, read_where
from discreet.tables.conditions import Condition

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        """Limit each person to a count from `low` to `high`."""
        first, last = math.ceil(low / self.step), math.floor(high / self.step)
        # Nobody's rows add up to more, and engines know no larger numbers.
        first, last = max(first, -MOST_STEPS), min(last, MOST_STEPS)
        if self.persons is not None:
            first, last = max(first, self.persons[0]), min(last, self.persons[1])
        return replace(self, persons=(min(first, 0), max(last, 0)))


@public_function("total")
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
    if not isinstance(column, str) or not column:
        raise ParameterTypeError("column", "the name of a column", column)
    size = positive(exact_decimal(step, "step"), step, "step")
    limits = _read_bounds(bounds, size)
    # A person without a row that counts adds nothing, also where 0 is outside of the bounds.
    persons = (min(limits[0], 0), max(limits[1], 0))
    return Total(
        column=column,
        step=size,
        rows=limits,
        persons=persons,
        where=read_where(where),
        written=where if isinstance(where, str) else None,
    )


@public_function("row_count")
def row_count(*, where: Where | None = None, most: int = 1) -> Total:
    """The number of rows, as a score for `Session.select`: at most `most` of each person count.

    Privacy: one person moves the count by 0 to `most`.

    >>> row_count(where="teacher = 'Ada'", most=2).persons
    (0, 2)
    """
    most = count(most, "most")
    if most > MOST_STEPS:
        raise ParameterError("most", f"at most {MOST_STEPS:,}", most)
    return Total(
        column=None,
        step=Fraction(1),
        rows=(1, 1),
        persons=(0, most),
        where=read_where(where),
        written=where if isinstance(where, str) else None,
    )


def _read_bounds(bounds: tuple[Number, Number], step: Fraction) -> tuple[int, int]:
    """The bounds in whole steps, the lower one rounded up and the upper one down."""
    low, high = lower_and_upper(bounds)
    return whole_steps(low, high, step)


def whole_steps(low: Fraction, high: Fraction, step: Fraction) -> tuple[int, int]:
    """From how many to how many steps the numbers from `low` to `high` are."""
    if not _SMALLEST <= step <= _LARGEST:
        raise ParameterError("step", "from 1e-290 to 1e290", Hidden("another"))
    first, last = math.ceil(low / step), math.floor(high / step)
    if max(abs(first), abs(last)) > MOST_STEPS:
        rule = f"large enough for at most {MOST_STEPS:,} steps from 0 to a bound"
        raise ParameterError("step", rule, float(step))
    if first > last or not (first or last):
        raise ParameterError(
            "bounds",
            "at least one step apart",
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
