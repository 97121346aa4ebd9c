"""Counts of persons: one aggregation in the engine, with as many rows back as there are
candidates. Many public labels become a table, because engines take seconds to minutes
to read a list of 100,000 constants.

Whatever is in a row, it is counted or it is not; nothing raises. A person counts once
for each candidate, however many rows say so. Engines differ in what they refuse (a
cast, an overflow, a floor that is too large), so each value is checked or bounded
before it is computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import EngineError, ParameterTypeError
from discreet.mechanisms.grid import Grid, Points
from discreet.privacy.parameters import OneRow, Person, Unit
from discreet.tables.contribution_cap import Cap
from discreet.tables.duckdb_counting import (
    BETWEEN,
    COUNT_COLUMN,
    MANY,
    can_be_listed,
    count_between,
    count_many,
    count_places,
    count_plain,
    double,
    in_one_text,
    is_among,
    is_plain,
    plain_query,
)
from discreet.tables.engine import Found, Query, with_lock
from discreet.tables.items import (
    ITEM,
    PERSON,
    Items,
    Labels,
    cell_number,
    kind_name,
    native_kind,
    person_column,
    whole_limits,
    with_person,
)
from discreet.tables.table import Table, as_frame

if TYPE_CHECKING:
    import narwhals as nw


def among(rows: nw.LazyFrame[Any], column: str, wanted: list[Any]) -> nw.LazyFrame[Any]:
    """The rows whose value is among the wanted labels. `column` is an internal name."""
    import narwhals as nw

    if len(wanted) > MANY and can_be_listed(wanted):
        if rows.implementation.is_duckdb():
            return as_frame(rows.to_native().filter(is_among(column, wanted)))
        if rows.implementation.is_spark_like():
            return _on_spark(rows, column, wanted)
    return rows.filter(nw.col(column).is_in(wanted))


def _on_spark(rows: nw.LazyFrame[Any], column: str, wanted: list[Any]) -> nw.LazyFrame[Any]:
    """By a join with a small table, which comes to Spark as one long text, not row by row."""
    frame, name = rows.to_native(), f"{column}_wanted"
    kind = "bigint" if type(wanted[0]) is int else "string"
    text = frame.sparkSession.createDataFrame([(in_one_text(wanted),)], "text string")
    small = text.selectExpr(f"explode(split(text, '{BETWEEN}')) as label")
    small = small.selectExpr(f"cast(label as {kind}) as {name}")
    return as_frame(frame.join(small.hint("broadcast"), frame[column] == small[name], "left_semi"))


_VALUE, COUNT, _BIN = (f"__discreet_{name}" for name in ("value", "count", "bin"))

_EXACT = Context(prec=1000)
"""Enough digits for every decimal that a label can be."""
Rule = str | Cap | None
"""How the rows of one person count: the largest or smallest value, a number of
rows that is drawn, or each row by itself.
"""


def count_candidates(
    table: Table, unit: Unit, items: Items, candidates: Sequence[Any], cap: Cap | None = None
) -> list[int]:
    """For each candidate, how many persons (or rows) have it among their items.

    cap: how many of the candidates count for one person, where that is bounded.
    """
    kind = items.kind(table)
    wanted = comparable(table, candidates, kind)
    if not wanted:
        return [0] * len(candidates)

    def query() -> nw.LazyFrame[Any]:
        rows = among(items.rows(table, unit), ITEM, wanted)
        return returnable(_counted(rows, unit) if cap is None else _capped(rows, cap), kind)

    plain = cap is None and is_plain(table, items)
    listed = table.connection is not None or can_be_listed(wanted)
    if plain and listed and len(wanted) > MANY:
        held = guarded(table, lambda: count_many(table, unit, items, wanted))
        return held if len(wanted) == len(candidates) else _in_place(wanted, held, candidates)
    if plain and can_be_listed(wanted):
        rows = guarded(table, lambda: count_plain(table, unit, items, wanted=wanted))
    else:
        rows = run(table, query, [ITEM, COUNT])
    names, counts = ([row[place] for row in rows] for place in range(2))
    return _in_place(returned(names, kind), [int(count) for count in counts], candidates)


def _in_place(names: list[Any], counts: list[int], candidates: Sequence[Any]) -> list[int]:
    """For each candidate its count, 0 where it has none."""
    found = dict(zip(names, counts, strict=True))
    return [found.get(candidate, 0) for candidate in candidates]


def returnable(rows: nw.LazyFrame[Any], kind: nw.dtypes.DType) -> nw.LazyFrame[Any]:
    """Items that can come back: decimals come as text, as PostgreSQL's have more digits
    than Arrow's.
    """
    import narwhals as nw

    return rows.with_columns(nw.col(ITEM).cast(nw.String)) if kind == nw.Decimal else rows


def returned(items: list[Any], kind: nw.dtypes.DType) -> list[Any]:
    """What came back, in the type that it had."""
    import narwhals as nw

    if kind == nw.Decimal:
        return [Decimal(item) for item in items]
    # DuckDB hands such numbers over as decimals
    return [int(item) for item in items] if kind in (nw.Int128, nw.UInt128) else items


def counted_items(table: Table, unit: Unit, items: Items) -> nw.LazyFrame[Any]:
    """Each item with the number of persons (or rows) that have it, still in the engine."""
    return _counted(items.rows(table, unit), unit)


def count_items(
    table: Table, unit: Unit, items: Items, most: int | None, cap: Cap | None = None
) -> list[tuple[Any, int]]:
    """The most frequent items with the number of persons (or rows) that have them; at
    equal counts by item.

    most: how many of them; None for all.
    cap: how many different values of one person count, where that is bounded.
    """

    def query() -> nw.LazyFrame[Any]:
        counted = (
            counted_items(table, unit, items)
            if cap is None
            else _capped(items.rows(table, unit), cap)
        )
        ordered = counted.sort(COUNT, ITEM, descending=[True, False])
        return ordered if most is None else ordered.head(most)

    if cap is None and is_plain(table, items):
        return guarded(table, lambda: count_plain(table, unit, items, most=most))
    rows = run(table, query, [ITEM, COUNT])
    names = returned([item for item, _ in rows], items.kind(table))
    # One -0.0 among many 0.0 may be what an engine calls them all.
    zeros = (0.0 if item == 0 and isinstance(item, float) else item for item in names)
    return [(item, int(count)) for item, (_, count) in zip(zeros, rows, strict=True)]


def items_query(table: Table, unit: Unit, items: Items, most: int | None) -> Query | None:
    """Prepare a count without a cap, to be asked often, if one statement can count the
    items; its columns are that of the items and `COUNT_COLUMN`.
    """
    return plain_query(table, unit, items, most=most) if is_plain(table, items) else None


def count_persons(table: Table, unit: Unit) -> int:
    """How many persons (or rows) there are."""
    import narwhals as nw

    def query() -> nw.LazyFrame[Any]:
        if isinstance(unit, OneRow):
            return table.rows.select(nw.len().alias(COUNT))
        rows = with_person(table.rows.select(*person_column(unit)), table, unit)
        return rows.group_by(PERSON).agg(nw.len().alias(COUNT)).select(nw.len().alias(COUNT))

    return int(only(run(table, query, [COUNT]))[0])


def count_bins(
    table: Table, unit: Unit, column: str, edges: Sequence[Fraction], rule: Rule
) -> list[int]:
    """How many persons' values lie below the first edge, from each edge up to the next,
    and from the last edge on.

    A person's value is the largest or smallest of those that are finite numbers, or
    several of them by a cap; a person without any has no value.
    """
    reached = [float(edge) for edge in edges]
    if table.frame.implementation.is_duckdb() and not isinstance(rule, Cap):
        return guarded(table, lambda: count_between(table, unit, column, reached, rule))
    return _count_in(table, unit, column, rule, _place(reached, 0), len(edges) + 1)


def _place(edges: list[float], first: int) -> nw.Expr:
    """How many edges a value reaches, found by halving: an engine does not like a sum
    of a thousand terms.
    """
    import narwhals as nw

    if not edges:
        return nw.lit(first)
    middle = len(edges) // 2
    reached = nw.when(nw.col(_VALUE) >= edges[middle])
    return reached.then(_place(edges[middle + 1 :], first + middle + 1)).otherwise(
        _place(edges[:middle], first)
    )


def count_ranks(table: Table, unit: Unit, column: str, points: Points, rule: Rule) -> list[int]:
    """How many persons' values have each rank against public points: at the first point,
    between it and the second one, at the second one, and so on.

    Values outside count as the nearest point. As in `count_bins` a person has one value, or
    several by a cap.
    """
    if isinstance(points, Grid):
        return count_grid(table, unit, column, points, rule)
    edges = [Fraction(edge) for edge in points.edges]
    below, first, *others = count_bins(table, unit, column, edges, rule)
    return [below + first, *others]


def count_grid(table: Table, unit: Unit, column: str, grid: Grid, rule: Rule) -> list[int]:
    """Count values at the points of an even grid, however many there are."""
    import narwhals as nw

    if table.frame.implementation.is_duckdb() and not isinstance(rule, Cap):
        held = _rank_in_words(grid)
        ranks = 2 * grid.size - 1
        return guarded(table, lambda: count_places(table, unit, column, held, ranks, rule))
    # Whatever is beyond the grid is brought near first: some engines refuse to divide or to
    # round what is too large.
    near = nw.col(_VALUE).clip(float(grid.low - grid.step), float(grid.top)) - float(grid.low)
    # The slack is added before dividing: what is next to 0 would underflow, which PostgreSQL
    # takes for an error. As `Grid.ranks`: docs/proofs/quantiles.md#ranks-against-points
    reached = ((near + grid.slack) / float(grid.step)).floor()
    # a ceiling by the floor, which every engine knows
    passed = ((grid.slack - near) / float(grid.step)).floor()
    rank = (reached - passed).clip(0, 2 * grid.size - 2).cast(nw.Int64)
    return _count_in(table, unit, column, rule, rank, 2 * grid.size - 1)


def _rank_in_words(grid: Grid) -> str:
    """SQL of DuckDB for the rank of a value, which is called `COUNT_COLUMN`."""
    least, most, low = (double(float(end)) for end in (grid.low - grid.step, grid.top, grid.low))
    slack, step = double(grid.slack), double(float(grid.step))
    near = f"least(greatest({COUNT_COLUMN}, {least}), {most}) - {low}"
    rank = f"floor(({near} + {slack}) / {step}) + ceil(({near} - {slack}) / {step})"
    return f"cast(least(greatest({rank}, 0), {2 * grid.size - 2}) as bigint)"


def _count_in(
    table: Table, unit: Unit, column: str, rule: Rule, place: nw.Expr, places: int
) -> list[int]:
    import narwhals as nw

    def query() -> nw.LazyFrame[Any]:
        placed = _values(table, unit, column, rule).select(place.alias(_BIN))
        return placed.group_by(_BIN).agg(nw.len().alias(COUNT))

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
    return values.group_by(PERSON).agg(
        (value.max() if rule == "max" else value.min()).alias(_VALUE)
    )


def _counted(rows: nw.LazyFrame[Any], unit: Unit) -> nw.LazyFrame[Any]:
    import narwhals as nw

    if isinstance(unit, Person):
        # Each pair of person and item once: as fast as counting distinct persons, and known
        # everywhere.
        rows = rows.group_by(PERSON, ITEM).agg(nw.len().alias(COUNT))
    return rows.group_by(ITEM).agg(nw.len().alias(COUNT))


def _capped(rows: nw.LazyFrame[Any], cap: Cap) -> nw.LazyFrame[Any]:
    import narwhals as nw

    return cap.keep(rows, PERSON, ITEM).group_by(ITEM).agg(nw.len().alias(COUNT))


def comparable(table: Table, candidates: Sequence[Any], kind: nw.dtypes.DType) -> list[Any]:
    """The candidates in the type of the column, without those that it cannot hold."""
    import narwhals as nw

    if kind.is_integer():
        low, high = whole_limits(kind)
        labels = candidates if isinstance(candidates, Labels) else Labels(candidates)
        if labels.kinds == {int} and low <= labels.ends[0] and labels.ends[1] <= high:
            return labels
        return [int(each) for each in candidates if each == int(each) and low <= each <= high]
    if isinstance(kind, nw.Decimal) and not table.frame.implementation.is_ibis():
        plain = [Decimal(each).normalize(_EXACT) for each in candidates]
        return [each for each in plain if _fits(each, kind)]
    return [float(label) for label in candidates] if kind.is_float() else list(candidates)


def _fits(label: Decimal, kind: Any) -> bool:
    """True if a column of decimals can hold it: an engine would fail to cast another
    one on some row.
    """
    _, digits, exponent = label.as_tuple()
    assert isinstance(exponent, int)
    whole = kind.precision - kind.scale
    return bool(-exponent <= kind.scale and len(digits) + exponent <= whole)


def require_person(table: Table, column: str) -> None:
    """Refuse a column that cannot say whose row it is, or that can say it in two ways."""
    import narwhals as nw

    kind = table.schema[table.require(column, "unit")]
    several = kind == nw.Unknown and not _is_uuid(table, column)
    # an engine takes a month for 30 days, and would make one person of two
    several = several or native_kind(table, column).startswith(("JSON", "INTERVAL"))
    if kind.is_nested() or several:
        rule = "a column with one plain value in each row"
        raise ParameterTypeError("unit", rule, f"{column}, of {kind_name(kind)}")


def _is_uuid(table: Table, column: str) -> bool:
    """True if a column that Narwhals has no name for holds UUIDs, which have one spelling each."""
    return native_kind(table, column).upper() == "UUID"


def require_names(table: Table, items: Items) -> None:
    """Refuse items that Python cannot name whatever they are: a date can be infinite in
    an engine.
    """
    import narwhals as nw

    kind, column = items.kind(table), items.column
    if not (kind in (nw.String, nw.Enum, nw.Boolean) or kind.is_integer() or kind.is_float()):
        hint = "Give candidates, or convert the column to text."
        rule = "a column of text, numbers or truth values if there are no candidates"
        raise ParameterTypeError("column", rule, f"{column}, of {kind_name(kind)}", hint)


def only(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The one row of a result."""
    if len(rows) != 1:
        raise EngineError
    return rows[0]


def run(
    table: Table, query: Callable[[], nw.LazyFrame[Any]], names: list[str]
) -> list[tuple[Any, ...]]:
    """Make the query and run it."""

    def rows() -> list[tuple[Any, ...]]:
        result = query().collect()
        return list(zip(*(result[name].to_list() for name in names), strict=True))

    return guarded(table, rows)


def guarded(table: Table, work: Callable[[], Found]) -> Found:
    """What comes back from the engine of a table, without a word of its own."""
    return with_lock(table.turn, work)
