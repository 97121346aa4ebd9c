"""Counts of persons: one aggregation in the engine, with as many rows back as there are candidates.

Whatever is in a row, it is counted or it is not; nothing raises. A person counts once for each candidate, however many rows say so.
Engines differ in what they refuse (a cast, an overflow, a floor that is too large), so each value is checked or bounded before it is
computed with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.among import among
from discreet.data.capping import Cap
from discreet.data.spelling import require_spelling
from discreet.data.table import Table
from discreet.errors import EngineError, ParameterTypeError
from discreet.privacy.unit import OneRow, Person, Unit

if TYPE_CHECKING:
    import narwhals as nw

_PERSON, ITEM, _VALUE, COUNT, _BIN = (f"__discreet_{name}" for name in ("person", "item", "value", "count", "bin"))
# What counts as a number in a text column: short enough that no engine overflows or refuses it. Engines do not agree on where a
# text ends ($ may stand before a line break) and on what is a space, so other characters are ruled out one by one.
_NUMBER = r"^ *[+-]?[0-9]{1,25}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})? *$"
_NEVER_IN_A_NUMBER = r"[^0-9eE+. -]"
_LARGEST_DECIMAL, _SMALLEST_DECIMAL = 2**62, Decimal("1e-300")
RULES = ("max", "min")
"""How the rows of one person become one value."""


def count_candidates(table: Table, unit: Unit, column: str, candidates: Sequence[Any]) -> list[int]:
    """For each candidate, how many persons (or rows) have it in this column."""
    wanted = _comparable(candidates, table.schema[column])
    if not wanted:
        return [0] * len(candidates)

    def query() -> nw.LazyFrame[Any]:
        return returnable(_counted(among(_items(table, unit, column), ITEM, wanted), unit), table, column)

    found = {returned(item, table, column): count for item, count in run(table, query, [ITEM, COUNT])}
    return [int(found.get(candidate, 0)) for candidate in candidates]


def returnable(items: nw.LazyFrame[Any], table: Table, column: str) -> nw.LazyFrame[Any]:
    """Items that can come back: PostgreSQL's decimals have more digits than those of Arrow, so they come as text."""
    import narwhals as nw

    return items.with_columns(nw.col(ITEM).cast(nw.String)) if table.schema[column] == nw.Decimal else items


def returned(item: Any, table: Table, column: str) -> Any:
    """What came back, in the type that it had."""
    import narwhals as nw

    return Decimal(item) if table.schema[column] == nw.Decimal else item


def counted_items(table: Table, unit: Unit, column: str) -> nw.LazyFrame[Any]:
    """Each value of this column with the number of persons (or rows) that have it, still in the engine."""
    return _counted(_items(table, unit, column), unit)


def count_items(table: Table, unit: Unit, column: str, most: int, cap: Cap | None = None) -> list[tuple[Any, int]]:
    """The most frequent values of this column with the number of persons (or rows) that have them; at equal counts by value.

    cap: how many different values of one person count, where that is bounded.
    """

    def query() -> nw.LazyFrame[Any]:
        counted = counted_items(table, unit, column) if cap is None else _capped(table, unit, column, cap)
        return counted.sort(COUNT, ITEM, descending=[True, False]).head(most)

    rows = run(table, query, [ITEM, COUNT])
    # One -0.0 among many 0.0 may be what an engine calls them all.
    return [(0.0 if item == 0 and isinstance(item, float) else item, int(count)) for item, count in rows]


def count_bins(table: Table, unit: Unit, column: str, edges: Sequence[Fraction], rule: str) -> list[int]:
    """How many persons' values lie below the first edge, from each edge up to the next, and from the last edge on.

    A person's value is the largest or smallest of those that are finite numbers; a person without any has no value.
    """
    return _count_in(table, unit, column, rule, _place([float(edge) for edge in edges], 0), len(edges) + 1)


def _place(edges: list[float], first: int) -> nw.Expr:
    """How many edges a value reaches, found by halving: an engine does not like a sum of a thousand terms."""
    import narwhals as nw

    if not edges:
        return nw.lit(first)
    middle = len(edges) // 2
    reached = nw.when(nw.col(_VALUE) >= edges[middle])
    return reached.then(_place(edges[middle + 1 :], first + middle + 1)).otherwise(_place(edges[:middle], first))


def count_grid(table: Table, unit: Unit, column: str, low: Fraction, step: Fraction, points: int, rule: str) -> list[int]:
    """The same for the edges low, low + step, ... of an even grid, however many there are."""
    import narwhals as nw

    # Whatever is beyond the grid is brought near first: some engines refuse to divide or to round what is too large.
    near = nw.col(_VALUE).clip(float(low - step), float(low + points * step))
    # A float that stands for a point of the grid may come out below it by rounding.
    slack = float(max(abs(low), abs(low + points * step)) / step / 2**49)
    place = ((near - float(low)) / float(step) + slack).floor().clip(-1, points - 1).cast(nw.Int64) + 1
    return _count_in(table, unit, column, rule, place, points + 1)


def _count_in(table: Table, unit: Unit, column: str, rule: str, place: nw.Expr, places: int) -> list[int]:
    import narwhals as nw

    def query() -> nw.LazyFrame[Any]:
        return _values(table, unit, column, rule).select(place.alias(_BIN)).group_by(_BIN).agg(nw.len().alias(COUNT))

    found = dict(run(table, query, [_BIN, COUNT]))
    return [int(found.get(place, 0)) for place in range(places)]


def _values(table: Table, unit: Unit, column: str, rule: str) -> nw.LazyFrame[Any]:
    """One finite value for each person (or row) that has one."""
    import narwhals as nw

    rows = table.rows.select(*_person(unit), _number(table, column).alias(_VALUE))
    values = _with_person(rows, table, unit).filter(~nw.col(_VALUE).is_null())
    if isinstance(unit, OneRow):
        return values
    value = nw.col(_VALUE)
    return values.group_by(_PERSON).agg((value.max() if rule == "max" else value.min()).alias(_VALUE))


def _items(table: Table, unit: Unit, column: str) -> nw.LazyFrame[Any]:
    """Rows of a person and an item, without those where one of them is empty."""
    import narwhals as nw

    rows = table.rows.select(*_person(unit), item_of(table, column))
    rows = _with_person(rows, table, unit).filter(~nw.col(ITEM).is_null())
    return rows.filter(nw.col(ITEM).is_finite()) if table.schema[column].is_float() else rows


def item_of(table: Table, column: str) -> nw.Expr:
    """The item of a row: categories of two tables can only be compared as text."""
    import narwhals as nw

    kind = table.schema[column]
    return (nw.col(column).cast(nw.String) if kind in (nw.Categorical, nw.Enum) else nw.col(column)).alias(ITEM)


def _counted(rows: nw.LazyFrame[Any], unit: Unit) -> nw.LazyFrame[Any]:
    import narwhals as nw

    if isinstance(
        unit, Person
    ):  # each pair of person and item once; as fast as counting distinct persons, and known everywhere
        rows = rows.group_by(_PERSON, ITEM).agg(nw.len().alias(COUNT))
    return rows.group_by(ITEM).agg(nw.len().alias(COUNT))


def _capped(table: Table, unit: Unit, column: str, cap: Cap) -> nw.LazyFrame[Any]:
    import narwhals as nw

    return cap.keep(_items(table, unit, column), _PERSON, ITEM).group_by(ITEM).agg(nw.len().alias(COUNT))


def _person(unit: Unit) -> list[nw.Expr]:
    import narwhals as nw

    return [nw.col(unit.column).alias(_PERSON)] if isinstance(unit, Person) else []


def _with_person(rows: nw.LazyFrame[Any], table: Table, unit: Unit) -> nw.LazyFrame[Any]:
    """Without the rows that belong to nobody: neither null nor NaN is a person."""
    import narwhals as nw

    if isinstance(unit, OneRow):
        return rows
    rows = rows.filter(~nw.col(_PERSON).is_null())
    return rows.filter(~nw.col(_PERSON).is_nan()) if table.schema[unit.column].is_float() else rows


def _comparable(candidates: Sequence[Any], kind: nw.dtypes.DType) -> list[Any]:
    """The candidates in the type of the column, without those that it cannot hold."""
    if kind.is_integer():
        return [int(label) for label in candidates if label == int(label)]
    return [float(label) for label in candidates] if kind.is_float() else list(candidates)


def _number(table: Table, column: str) -> nw.Expr:
    """The column as finite floats, null where there is none."""
    import narwhals as nw

    value, kind = nw.col(column), table.schema[column]
    if kind == nw.String:
        right = value.str.contains(_NUMBER) & ~value.str.contains(_NEVER_IN_A_NUMBER)
        value = nw.when(right).then(value).otherwise(None)
        for dispensable in (" ", "+"):
            value = value.str.replace_all(dispensable, "", literal=True)
    elif kind == nw.Decimal and table.frame.implementation.is_ibis():
        # PostgreSQL's numeric has NaN, infinities, and numbers that its floats refuse: too large, or too near to 0.
        small = (value >= -_LARGEST_DECIMAL) & (value <= _LARGEST_DECIMAL)
        value = nw.when(small).then(value).otherwise(None)
        tiny = (value > -_SMALLEST_DECIMAL) & (value < _SMALLEST_DECIMAL)
        value = nw.when(tiny).then(0).otherwise(value)
    value = value.cast(nw.Float64)
    return nw.when(value.is_finite()).then(value).otherwise(None)


def require_number(table: Table, column: str, owner: str) -> None:
    """Refuse a column that can have no numbers in it."""
    import narwhals as nw

    kind = table.schema[table.require(column, "column", owner)]
    if not (kind == nw.String or kind.is_numeric()):
        raise ParameterTypeError(owner, "column", "a column of numbers or of text", f"{column}, of {kind}")
    require_spelling(table, column, owner)


def require_person(table: Table, column: str, owner: str) -> None:
    """Refuse a column that cannot say whose row it is."""
    kind = table.schema[table.require(column, "unit", owner)]
    if kind.is_nested():
        raise ParameterTypeError(owner, "unit", "a column with one value in each row", f"{column}, of {kind}")


def require_names(table: Table, column: str, owner: str) -> None:
    """Refuse a column whose values cannot be named by Python whatever they are: a date can be infinite in an engine."""
    import narwhals as nw

    kind = table.schema[table.require(column, "column", owner)]
    if not (kind in (nw.String, nw.Categorical, nw.Enum, nw.Boolean) or kind.is_integer() or kind.is_float()):
        hint = "Give candidates, or make it text."
        rule = "a column of text, numbers or truth values where there are no candidates"
        raise ParameterTypeError(owner, "column", rule, f"{column}, of {kind}", hint)
    require_spelling(table, column, owner)


def collect_scores(table: Table, expressions: Sequence[nw.Expr]) -> list[Fraction]:
    """One number for each expression, all in one pass; 0 where it is empty or not finite."""
    names = score_names(expressions)
    row = only(run(table, lambda: table.rows.select(*named(expressions)), names))
    return [_finite(value) for value in row]


def score_names(expressions: Sequence[nw.Expr]) -> list[str]:
    """What the results of the expressions are called."""
    return [f"__discreet_{place}" for place in range(len(expressions))]


def named(expressions: Sequence[nw.Expr]) -> list[nw.Expr]:
    """The expressions under their names."""
    return [part.alias(name) for part, name in zip(expressions, score_names(expressions), strict=True)]


def _finite(value: Any) -> Fraction:
    if isinstance(value, (int, float, Decimal)) and math.isfinite(value):
        return Fraction(value)
    return Fraction(0)


def only(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The one row of a result."""
    if len(rows) != 1:
        raise EngineError("a table that changed meanwhile")
    return rows[0]


def run(table: Table, query: Callable[[], nw.LazyFrame[Any]], names: list[str]) -> list[tuple[Any, ...]]:
    """Make the query and run it. An engine's own message may show rows, so it is never passed on."""
    try:
        with table.turn:
            result = query().collect()
        return list(zip(*(result[name].to_list() for name in names), strict=True))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of an engine in Rust is no Exception
        kind = type(error).__name__
    raise EngineError(kind)
