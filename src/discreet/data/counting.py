"""Counts of persons: one aggregation in the engine, with as many rows back as there are candidates.

Whatever is in a row, it is counted or it is not; nothing raises. A person counts once for each candidate, however many rows say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.table import Table
from discreet.errors import EngineError, ParameterTypeError
from discreet.privacy.unit import OneRow, Person, Unit

if TYPE_CHECKING:
    import narwhals as nw

_PERSON, ITEM, _VALUE, COUNT, _BIN = (f"__discreet_{name}" for name in ("person", "item", "value", "count", "bin"))
# What counts as a number in a text column: short enough that no engine overflows or refuses it.
_NUMBER = r"^\s*[+-]?[0-9]{1,15}(?:\.[0-9]{0,15})?(?:[eE][+-]?[0-9]{1,2})?\s*$"
RULES = ("max", "min")
"""How the rows of one person become one value."""


def count_candidates(table: Table, unit: Unit, column: str, candidates: Sequence[Any]) -> list[int]:
    """For each candidate, how many persons (or rows) have it in this column."""
    import narwhals as nw

    rows = _items(table, unit, column).filter(nw.col(ITEM).is_in(list(candidates)))
    found = dict(_collect(_counted(rows, unit), ITEM, COUNT))
    return [int(found.get(candidate, 0)) for candidate in candidates]


def counted_items(table: Table, unit: Unit, column: str) -> nw.LazyFrame[Any]:
    """Each value of this column with the number of persons (or rows) that have it, still in the engine."""
    return _counted(_items(table, unit, column), unit)


def count_items(table: Table, unit: Unit, column: str, most: int) -> list[tuple[Any, int]]:
    """The most frequent values of this column with the number of persons (or rows) that have them."""
    return _collect(counted_items(table, unit, column).sort(COUNT, descending=True).head(most), ITEM, COUNT)


def count_bins(table: Table, unit: Unit, column: str, edges: Sequence[Fraction], rule: str) -> list[int]:
    """How many persons' values lie below the first edge, from each edge up to the next, and from the last edge on.

    A person's value is the largest or smallest of those that are finite numbers; a person without any has no value.
    """
    import narwhals as nw

    reached = [(nw.col(_VALUE) >= float(edge)).cast(nw.Int64) for edge in edges]
    return _count_in(_values(table, unit, column, rule), nw.sum_horizontal(*reached), len(edges) + 1)


def count_grid(table: Table, unit: Unit, column: str, low: Fraction, step: Fraction, points: int, rule: str) -> list[int]:
    """The same for the edges low, low + step, ... of an even grid, however many there are."""
    import narwhals as nw

    place = ((nw.col(_VALUE) - float(low)) / float(step)).floor().clip(-1, points - 1).cast(nw.Int64) + 1
    return _count_in(_values(table, unit, column, rule), place, points + 1)


def _count_in(values: nw.LazyFrame[Any], place: nw.Expr, places: int) -> list[int]:
    import narwhals as nw

    binned = values.select(place.alias(_BIN)).group_by(_BIN).agg(nw.len().alias(COUNT))
    found = dict(_collect(binned, _BIN, COUNT))
    return [int(found.get(place, 0)) for place in range(places)]


def _values(table: Table, unit: Unit, column: str, rule: str) -> nw.LazyFrame[Any]:
    """One finite value for each person (or row) that has one."""
    import narwhals as nw

    rows = table.frame.select(*_person(unit), _number(table, column).alias(_VALUE))
    values = _with_person(rows, table, unit).filter(~nw.col(_VALUE).is_null())
    if isinstance(unit, OneRow):
        return values
    value = nw.col(_VALUE)
    return values.group_by(_PERSON).agg((value.max() if rule == "max" else value.min()).alias(_VALUE))


def _items(table: Table, unit: Unit, column: str) -> nw.LazyFrame[Any]:
    """Rows of a person and an item, without those where one of them is empty."""
    import narwhals as nw

    rows = table.frame.select(*_person(unit), nw.col(column).alias(ITEM))
    return _with_person(rows, table, unit).filter(_present(ITEM, table.schema[column]))


def _counted(rows: nw.LazyFrame[Any], unit: Unit) -> nw.LazyFrame[Any]:
    import narwhals as nw

    how_many = nw.len() if isinstance(unit, OneRow) else nw.col(_PERSON).n_unique()
    return rows.group_by(ITEM).agg(how_many.alias(COUNT))


def _person(unit: Unit) -> list[nw.Expr]:
    import narwhals as nw

    return [nw.col(unit.column).alias(_PERSON)] if isinstance(unit, Person) else []


def _with_person(rows: nw.LazyFrame[Any], table: Table, unit: Unit) -> nw.LazyFrame[Any]:
    return rows.filter(_present(_PERSON, table.schema[unit.column])) if isinstance(unit, Person) else rows


def _present(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Neither null nor NaN."""
    import narwhals as nw

    present = ~nw.col(name).is_null()
    return present & ~nw.col(name).is_nan() if kind.is_float() else present


def require_number(table: Table, column: str, owner: str) -> None:
    """Refuse a column that can have no numbers in it."""
    import narwhals as nw

    kind = table.schema[table.require(column, "column", owner)]
    if not (kind == nw.String or kind.is_numeric()):
        raise ParameterTypeError(owner, "column", "a column of numbers or of text", f"{column}, of {kind}")


def _number(table: Table, column: str) -> nw.Expr:
    """The column as finite floats, null where there is none."""
    import narwhals as nw

    value = nw.col(column)
    if table.schema[column] == nw.String:
        value = nw.when(value.str.contains(_NUMBER)).then(value).otherwise(None)
    value = value.cast(nw.Float64)
    return nw.when(value.is_finite()).then(value).otherwise(None)


def collect_scores(table: Table, expressions: Sequence[nw.Expr]) -> list[Fraction]:
    """One number for each expression, all in one pass; 0 where it is empty or not finite."""
    names = [f"__discreet_{place}" for place in range(len(expressions))]
    (row,) = run(table.frame.select(*(part.alias(name) for part, name in zip(expressions, names, strict=True))), names)
    return [_finite(value) for value in row]


def _finite(value: Any) -> Fraction:
    if isinstance(value, (int, float, Decimal)) and math.isfinite(value):
        return Fraction(value)
    return Fraction(0)


def _collect(frame: nw.LazyFrame[Any], label: str, number: str) -> list[tuple[Any, int]]:
    return [(row[0], row[1]) for row in run(frame, [label, number])]


def run(frame: nw.LazyFrame[Any], names: list[str]) -> list[tuple[Any, ...]]:
    """Run the query. An engine's own message may show rows, so it is never passed on."""
    try:
        result = frame.collect()
        return list(zip(*(result[name].to_list() for name in names), strict=True))
    except Exception as error:
        kind = type(error).__name__
    raise EngineError(kind)
