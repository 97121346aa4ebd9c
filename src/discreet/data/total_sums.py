"""Totals in the engine: one pass for all of them, in whole numbers that no number of rows can overflow.

A whole number of steps is added in two halves, `65536 * high + low`. Each half of a row is at most
2^16 in size, so 64 bits hold the sum of 2^46 rows: not every engine has sums of more than 64 bits,
and those that do not wrap around (Polars) or fail (Spark).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.cell_numbers import cell_number
from discreet.data.condition_matching import matching
from discreet.data.counting import only, run
from discreet.data.items import PERSON, person_column, with_person
from discreet.data.table import Table
from discreet.data.totals import Total
from discreet.privacy.unit import OneRow, Unit

if TYPE_CHECKING:
    import narwhals as nw

_HALF = 2**16
_ENOUGH = 2**40


def add_up(table: Table, unit: Unit, totals: Sequence[Total], owner: str) -> list[Fraction]:
    """Each total over the rows that count, exactly."""

    def query() -> nw.LazyFrame[Any]:
        # Added to the columns that are there: constants alone would have one row for the whole table.
        halves = [*person_column(unit), *_row_halves(table, totals, owner)]
        rows = with_person(table.rows.with_columns(*halves), table, unit)
        persons = _of_persons(rows, unit, len(totals))
        return _halved(persons, totals).select(*_sums(len(totals)))

    row = [int(half or 0) for half in only(run(table, query, _names(len(totals))))]
    whole = [_HALF * high + low for high, low in zip(row[::2], row[1::2], strict=True)]
    return [number * each.step for number, each in zip(whole, totals, strict=True)]


_HALVES = ("high", "low")


def _name(half: str, place: int) -> str:
    return f"__discreet_{half}_{place}"


def _names(size: int) -> list[str]:
    return [_name(half, place) for place in range(size) for half in _HALVES]


def _row_halves(table: Table, totals: Sequence[Total], owner: str) -> list[nw.Expr]:
    """What each row adds to each total, as two halves."""
    return [half for place, each in enumerate(totals) for half in _halves(_row_steps(table, each, owner), place)]


def _row_steps(table: Table, each: Total, owner: str) -> nw.Expr:
    """The steps of one row, as a float that is a whole number: 0 where the row does not count."""
    import narwhals as nw

    first, last = each.rows
    there = None if each.where is None else matching(each.where, table, owner)
    if each.column is None:
        constant = nw.lit(float(first))
        return constant if there is None else nw.when(there).then(constant).otherwise(0.0)
    value, size = cell_number(table, each.column), float(each.step)
    # What is beyond the bounds is brought near first: some engines refuse to divide what is too large.
    near = value.clip((first - 1) * size, (last + 1) * size)
    # A float that stands for a multiple of the step may come out below it by rounding. The slack is
    # added before dividing: what is next to 0 would underflow, which PostgreSQL takes for an error.
    slack = max(abs(first), abs(last), 1) * size / 2**49
    steps = ((near + slack) / size).floor().clip(float(first), float(last))
    known = ~steps.is_null()
    return nw.when(known if there is None else known & there).then(steps).otherwise(0.0)


def _halves(steps: nw.Expr, place: int) -> list[nw.Expr]:
    """A whole number, as a float, in two halves that are 64-bit integers."""
    import narwhals as nw

    high = (steps / float(_HALF)).floor()
    low = steps - high * float(_HALF)
    parts = zip(_HALVES, (high, low), strict=True)
    return [part.cast(nw.Int64).alias(_name(half, place)) for half, part in parts]


def _of_persons(rows: nw.LazyFrame[Any], unit: Unit, size: int) -> nw.LazyFrame[Any]:
    """The halves of each person: those of all of the person's rows."""
    return rows if isinstance(unit, OneRow) else rows.group_by(PERSON).agg(*_sums(size))


def _halved(persons: nw.LazyFrame[Any], totals: Sequence[Total]) -> nw.LazyFrame[Any]:
    """Each person's sum, clipped to the person's bounds, and in two halves again."""
    import narwhals as nw

    parts: list[nw.Expr] = []
    for place, each in enumerate(totals):
        high, low = (nw.col(_name(half, place)).cast(nw.Int64) for half in _HALVES)
        whole = high.clip(-_ENOUGH, _ENOUGH) * _HALF + low
        first, last = each.persons or (0, 0)
        parts += _halves(whole.clip(first, last).cast(nw.Float64), place)
    return persons.select(*parts)


def _sums(size: int) -> list[nw.Expr]:
    import narwhals as nw

    return [nw.col(name).sum().alias(name) for name in _names(size)]
