"""Totals over the persons of a table, for scores of the caller's own.

The engine adds up all totals in one pass, in whole numbers that no number of rows can
overflow. A whole number of steps is added in two halves, `65536 * high + low`, or as it
is where its bounds are no larger than a half. What is added is at most 2^16 in size, so
64 bits hold the sum of 2^46 rows: Spark fails on a sum of more.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.privacy.parameters import OneRow, Unit
from discreet.tables.condition_matching import compiled
from discreet.tables.counting import only, run
from discreet.tables.items import PERSON, cell_number, person_column, with_person
from discreet.tables.table import Table
from discreet.tables.totals import Total

if TYPE_CHECKING:
    import narwhals as nw

_HALF = 2**16
_ENOUGH = 2**40
_Bounds = tuple[int, int]


def add_up(table: Table, unit: Unit, totals: Sequence[Total]) -> list[Fraction]:
    """Each total over the rows that count, exactly."""
    of_rows = [each.rows for each in totals]
    of_persons = [each.persons or (0, 0) for each in totals]

    def query() -> nw.LazyFrame[Any]:
        # Added to the columns that are there: constants alone would have one row for the
        # whole table. Step by step: an expression that uses another one twice has it twice.
        cells = _cells(table, totals)
        rows = table.rows.with_columns(*cells) if cells else table.rows
        rows = rows.with_columns(*person_column(unit), *_row_steps(table, totals))
        rows = with_person(rows.with_columns(*_row_halves(of_rows)), table, unit)
        # all of a person's rows together
        persons = rows if isinstance(unit, OneRow) else rows.group_by(PERSON).agg(*_sums(of_rows))
        return persons.select(*_person_halves(of_rows, of_persons)).select(*_sums(of_persons))

    names = _names(of_persons)
    halves = [int(half or 0) for half in only(run(table, query, names))]
    found = dict(zip(names, halves, strict=True))
    whole = [
        _HALF * found.get(_name("high", place), 0) + found[_name("low", place)]
        for place in range(len(totals))
    ]
    return [number * each.step for number, each in zip(whole, totals, strict=True)]


def _is_short(bounds: _Bounds) -> bool:
    """True if a number within these bounds is no larger than a half."""
    return max(map(abs, bounds)) <= _HALF


def _name(what: str, place: int) -> str:
    return f"__discreet_{what}_{place}"


def _names(every: Sequence[_Bounds]) -> list[str]:
    """The columns of the halves of numbers within these bounds."""
    return [
        _name(half, place)
        for place, bounds in enumerate(every)
        for half in (("low",) if _is_short(bounds) else ("high", "low"))
    ]


def _cells(table: Table, totals: Sequence[Total]) -> list[nw.Expr]:
    """The numbers that totals are made of."""
    return [
        cell_number(table, each.column).alias(_name("cell", place))
        for place, each in enumerate(totals)
        if each.column is not None
    ]


def _row_steps(table: Table, totals: Sequence[Total]) -> list[nw.Expr]:
    """What each row adds to each total."""
    return [
        _steps(table, each, place).alias(_name("steps", place)) for place, each in enumerate(totals)
    ]


def _steps(table: Table, each: Total, place: int) -> nw.Expr:
    """The steps of one row, as a float that is a whole number: 0 where the row does not count."""
    import narwhals as nw

    first, last = each.rows
    # that the engine can plan it was tried before the charge
    there = None if each.where is None else compiled(each.where, table)
    if each.column is None:
        constant = nw.lit(float(first))
        return constant if there is None else nw.when(there).then(constant).otherwise(0.0)
    value, size = nw.col(_name("cell", place)), float(each.step)
    # What is beyond the bounds is brought near first: some engines refuse to divide what is
    # too large.
    near = value.clip((first - 1) * size, (last + 1) * size)
    # A float that stands for a multiple of the step may come out below it by rounding. The slack is
    # added before dividing: what is next to 0 would underflow, which PostgreSQL takes for an error.
    slack = max(abs(first), abs(last), 1) * size / 2**49
    steps = ((near + slack) / size).floor().clip(float(first), float(last))
    known = ~value.is_null()
    return nw.when(known if there is None else known & there).then(steps).otherwise(0.0)


def _row_halves(of_rows: Sequence[_Bounds]) -> list[nw.Expr]:
    """The steps of each row, in halves."""
    import narwhals as nw

    return [
        half
        for place, bounds in enumerate(of_rows)
        for half in _halves(nw.col(_name("steps", place)), place, bounds)
    ]


def _halves(steps: nw.Expr, place: int, bounds: _Bounds) -> list[nw.Expr]:
    """A whole number within bounds, as a float, in halves that are 64-bit integers."""
    import narwhals as nw

    parts = {"low": steps}
    if not _is_short(bounds):
        high = (steps / float(_HALF)).floor()
        parts = {"high": high, "low": steps - high * float(_HALF)}
    return [part.cast(nw.Int64).alias(_name(half, place)) for half, part in parts.items()]


def _person_halves(of_rows: Sequence[_Bounds], of_persons: Sequence[_Bounds]) -> list[nw.Expr]:
    """Each person's sum, clipped to the person's bounds, and in halves again."""
    import narwhals as nw

    parts: list[nw.Expr] = []
    for place, (row, person) in enumerate(zip(of_rows, of_persons, strict=True)):
        whole = nw.col(_name("low", place)).cast(nw.Int64)
        if not _is_short(row):
            high = nw.col(_name("high", place)).cast(nw.Int64)
            whole = high.clip(-_ENOUGH, _ENOUGH) * _HALF + whole
        first, last = person
        parts += _halves(whole.clip(first, last).cast(nw.Float64), place, person)
    return parts


def _sums(every: Sequence[_Bounds]) -> list[nw.Expr]:
    import narwhals as nw

    return [nw.col(name).sum().alias(name) for name in _names(every)]
