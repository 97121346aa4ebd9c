"""Counts of persons: one aggregation in the engine, with as many rows back as there are candidates.

Whatever is in a row, it is counted or it is not; nothing raises. A person counts once for each candidate, however many rows say so.
Engines differ in what they refuse (a cast, an overflow, a floor that is too large), so each value is checked or bounded before it is
computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.data.among import among
from discreet.data.capping import Cap
from discreet.data.cell_numbers import cell_number, kind_name, native_kind, whole_limits
from discreet.data.items import ITEM, PERSON, Items, person_column, with_person
from discreet.data.table import Table
from discreet.errors import EngineError, ParameterTypeError
from discreet.privacy.unit import OneRow, Person, Unit

if TYPE_CHECKING:
    import narwhals as nw

_VALUE, COUNT, _BIN = (f"__discreet_{name}" for name in ("value", "count", "bin"))

_EXACT = Context(prec=1000)
"""Enough digits for every decimal that a label can be."""
_INTERRUPTED = ("Query interrupted",)
"""What DuckDB makes of Ctrl-C: a RuntimeError of its own, or an exception whose name says so."""

Rule = str | Cap | None
"""How the rows of one person count: the largest or smallest value, so many rows, or each by itself."""


def count_candidates(table: Table, unit: Unit, items: Items, candidates: Sequence[Any]) -> list[int]:
    """For each candidate, how many persons (or rows) have it among their items."""
    kind = items.kind(table)
    wanted = _comparable(table, candidates, kind)
    if not wanted:
        return [0] * len(candidates)

    def query() -> nw.LazyFrame[Any]:
        return returnable(_counted(among(items.rows(table, unit), ITEM, wanted), unit), kind)

    found = {returned(item, kind): count for item, count in run(table, query, [ITEM, COUNT])}
    return [int(found.get(candidate, 0)) for candidate in candidates]


def returnable(rows: nw.LazyFrame[Any], kind: nw.dtypes.DType) -> nw.LazyFrame[Any]:
    """Items that can come back: decimals come as text, as PostgreSQL's have more digits than Arrow's."""
    import narwhals as nw

    return rows.with_columns(nw.col(ITEM).cast(nw.String)) if kind == nw.Decimal else rows


def returned(item: Any, kind: nw.dtypes.DType) -> Any:
    """What came back, in the type that it had."""
    import narwhals as nw

    return Decimal(item) if kind == nw.Decimal else item


def counted_items(table: Table, unit: Unit, items: Items) -> nw.LazyFrame[Any]:
    """Each item with the number of persons (or rows) that have it, still in the engine."""
    return _counted(items.rows(table, unit), unit)


def count_items(table: Table, unit: Unit, items: Items, most: int, cap: Cap | None = None) -> list[tuple[Any, int]]:
    """The most frequent items with the number of persons (or rows) that have them; at equal counts by item.

    cap: how many different values of one person count, where that is bounded.
    """

    def query() -> nw.LazyFrame[Any]:
        counted = counted_items(table, unit, items) if cap is None else _capped(table, unit, items, cap)
        return counted.sort(COUNT, ITEM, descending=[True, False]).head(most)

    rows = run(table, query, [ITEM, COUNT])
    # One -0.0 among many 0.0 may be what an engine calls them all.
    return [(0.0 if item == 0 and isinstance(item, float) else item, int(count)) for item, count in rows]


def count_bins(table: Table, unit: Unit, column: str, edges: Sequence[Fraction], rule: Rule) -> list[int]:
    """How many persons' values lie below the first edge, from each edge up to the next, and from the last edge on.

    A person's value is the largest or smallest of those that are finite numbers, or several of them by
    a cap; a person without any has no value.
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


def count_grid(table: Table, unit: Unit, column: str, low: Fraction, step: Fraction, points: int, rule: Rule) -> list[int]:
    """The same for the edges low, low + step, ... of an even grid, however many there are."""
    import narwhals as nw

    # Whatever is beyond the grid is brought near first: some engines refuse to divide or to round what is too large.
    near = nw.col(_VALUE).clip(float(low - step), float(low + points * step))
    # A float that stands for a point of the grid may come out below it by rounding. The slack is added
    # before dividing: what is next to 0 would underflow, which PostgreSQL takes for an error.
    slack = float(max(abs(low), abs(low + points * step)) / 2**49)
    steps = ((near - float(low) + slack) / float(step)).floor()
    place = steps.clip(-1, points - 1).cast(nw.Int64) + 1
    return _count_in(table, unit, column, rule, place, points + 1)


def _count_in(table: Table, unit: Unit, column: str, rule: Rule, place: nw.Expr, places: int) -> list[int]:
    import narwhals as nw

    def query() -> nw.LazyFrame[Any]:
        return _values(table, unit, column, rule).select(place.alias(_BIN)).group_by(_BIN).agg(nw.len().alias(COUNT))

    found = dict(run(table, query, [_BIN, COUNT]))
    return [int(found.get(place, 0)) for place in range(places)]


def _values(table: Table, unit: Unit, column: str, rule: Rule) -> nw.LazyFrame[Any]:
    """One finite value for each person (or row) that has one; by a cap several of a person."""
    import narwhals as nw

    rows = table.rows.select(*person_column(unit), cell_number(table, column).alias(_VALUE))
    values = with_person(rows, table, unit).filter(~nw.col(_VALUE).is_null())
    if isinstance(unit, OneRow):
        return values
    if isinstance(rule, Cap):
        return rule.keep_rows(values, PERSON, _VALUE)
    value = nw.col(_VALUE)
    return values.group_by(PERSON).agg((value.max() if rule == "max" else value.min()).alias(_VALUE))


def _counted(rows: nw.LazyFrame[Any], unit: Unit) -> nw.LazyFrame[Any]:
    import narwhals as nw

    if isinstance(unit, Person):
        # Each pair of person and item once: as fast as counting distinct persons, and known everywhere.
        rows = rows.group_by(PERSON, ITEM).agg(nw.len().alias(COUNT))
    return rows.group_by(ITEM).agg(nw.len().alias(COUNT))


def _capped(table: Table, unit: Unit, items: Items, cap: Cap) -> nw.LazyFrame[Any]:
    import narwhals as nw

    return cap.keep(items.rows(table, unit), PERSON, ITEM).group_by(ITEM).agg(nw.len().alias(COUNT))


def _comparable(table: Table, candidates: Sequence[Any], kind: nw.dtypes.DType) -> list[Any]:
    """The candidates in the type of the column, without those that it cannot hold."""
    import narwhals as nw

    if kind.is_integer():
        low, high = whole_limits(kind)
        return [int(each) for each in candidates if each == int(each) and low <= each <= high]
    if isinstance(kind, nw.Decimal) and not table.frame.implementation.is_ibis():
        plain = [Decimal(each).normalize(_EXACT) for each in candidates]
        return [each for each in plain if _fits(each, kind)]
    return [float(label) for label in candidates] if kind.is_float() else list(candidates)


def _fits(label: Decimal, kind: Any) -> bool:
    """Whether a column of decimals can hold it: an engine would fail to cast another one on some row."""
    _, digits, exponent = label.as_tuple()
    assert isinstance(exponent, int)
    whole = kind.precision - kind.scale
    return bool(-exponent <= kind.scale and len(digits) + exponent <= whole)


def require_person(table: Table, column: str, owner: str) -> None:
    """Refuse a column that cannot say whose row it is, or that can say it in two ways."""
    import narwhals as nw

    kind = table.schema[table.require(column, "unit", owner)]
    several = kind == nw.Unknown and not _is_uuid(table, column)
    if kind.is_nested() or several or native_kind(table, column) == "JSON":
        rule = "a column with one plain value in each row"
        raise ParameterTypeError(owner, "unit", rule, f"{column}, of {kind_name(kind)}")


def _is_uuid(table: Table, column: str) -> bool:
    """Whether a column that Narwhals has no name for holds UUIDs, which have one spelling each."""
    return native_kind(table, column).upper() == "UUID"


def require_names(table: Table, items: Items, owner: str) -> None:
    """Refuse items that Python cannot name whatever they are: a date can be infinite in an engine."""
    import narwhals as nw

    kind, column = items.kind(table), items.column
    if not (kind in (nw.String, nw.Categorical, nw.Enum, nw.Boolean) or kind.is_integer() or kind.is_float()):
        hint = "Give candidates, or make it text."
        rule = "a column of text, numbers or truth values where there are no candidates"
        raise ParameterTypeError(owner, "column", rule, f"{column}, of {kind_name(kind)}", hint)


def only(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The one row of a result."""
    if len(rows) != 1:
        raise EngineError
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
        interrupted = type(error).__name__ == "InterruptException" or error.args == _INTERRUPTED
    # Raised out here, so that the engine's own error, which may show rows, does not hang on to ours.
    if interrupted:
        raise KeyboardInterrupt
    raise EngineError
