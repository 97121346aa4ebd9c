"""Counts of persons on DuckDB in one statement: the same as the steps in `counting`, which
DuckDB binds one by one, each for as long as a small question takes.

Items only for what most questions are about: text and whole numbers, one item in a
cell.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.privacy.parameters import OneRow, Person, Unit
from discreet.tables.engine import Query
from discreet.tables.items import ITEM, Items, cell_number, kind_name
from discreet.tables.lines import NO_TEXT, quoted
from discreet.tables.table import Table

if TYPE_CHECKING:
    import duckdb

MANY = 1000
"""The most labels that are written as constants: DuckDB takes long to read more of them."""
BETWEEN = "\x1f"
"""What stands between labels that come as one long text; none of them has it."""
_SIZES = {8: "tinyint", 16: "smallint", 32: "integer", 64: "bigint"}
_WHOLE = {
    f"{sign}Int{bits}": f"{sign}{name}" for sign in ("", "U") for bits, name in _SIZES.items()
}
COUNT_COLUMN, _VALUE, _LABEL, _PLACE = (
    f"__discreet_{name}" for name in ("count", "value", "label", "place")
)
# On a connection that was handed over, a table of its owner's with this name would be read.
_ROWS = f"__discreet_rows_{secrets.token_hex(8)}"


def is_plain(table: Table, items: Items) -> bool:
    """True if one statement can count these items."""
    name = kind_name(items.kind(table))
    known = name == "String" or name in _WHOLE
    return table.frame.implementation.is_duckdb() and known and not items.is_ballot(table)


def can_be_listed(wanted: Sequence[Any]) -> bool:
    """True if labels can be written into a statement: whole numbers, or text without
    characters that SQL or a long list has another use for.
    """
    kinds = set(map(type, wanted))
    if kinds <= {int}:
        return True
    if not all(issubclass(kind, str) for kind in kinds):
        return False
    together = "".join(wanted)
    return BETWEEN not in together and "\0" not in together


def is_among(column: str, wanted: Sequence[Any]) -> str:
    """That a column has one of the labels, in SQL. Texts come as one long text, which is read
    at once; many labels as the rows of a table.
    """
    whole = type(wanted[0]) is int
    parts = f"string_split({_constant(in_one_text(wanted))}, chr(31))"
    if len(wanted) <= MANY:
        listed = f"[{', '.join(map(str, wanted))}]" if whole else parts
        return f"contains({listed}, {quoted(column)})"
    rows = f"unnest({parts})"
    return f"{quoted(column)} in (select {f'cast({rows} as bigint)' if whole else rows})"


def in_one_text(wanted: Sequence[Any]) -> str:
    """Labels that can be listed, with `BETWEEN` between them. Text is what it is compared as,
    whatever it prints as: a member of an enumeration prints its own name.
    """
    return BETWEEN.join(map(str, wanted) if type(wanted[0]) is int else wanted)


def _constant(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def double(number: float | Fraction) -> str:
    """The float that is nearest to a number, in SQL: without the quotes it would be a decimal."""
    return f"cast('{float(number)!r}' as double)"


def _is_somebody(table: Table, unit: Person) -> list[str]:
    """That a row belongs to somebody: null, NaN and, in a file, what is no text are no person."""
    person = quoted(unit.column)
    somebody = [f"{person} is not null"]
    if table.reader is not None:
        somebody.append(f"not contains({person}, {_constant(NO_TEXT)})")
    return [*somebody, f"not isnan({person})"] if table.schema[unit.column].is_float() else somebody


def count_plain(
    table: Table,
    unit: Unit,
    items: Items,
    *,
    wanted: Sequence[Any] | None = None,
    most: int | None = None,
) -> list[tuple[Any, int]]:
    """Items with the number of persons (or rows) that have them.

    wanted: the labels that count; None for all items, the most frequent first.
    most: how many of these; None for all.
    """
    name = ("plain", unit, items, None if wanted is None else tuple(wanted), most)
    query = table.once(name, lambda: plain_query(table, unit, items, wanted=wanted, most=most))
    found = query.fetch()
    return list(zip(found[items.column].tolist(), found[COUNT_COLUMN].tolist(), strict=True))


def plain_query(
    table: Table,
    unit: Unit,
    items: Items,
    *,
    wanted: Sequence[Any] | None = None,
    most: int | None = None,
) -> Query:
    """Build the count as a query with the columns of the items and `COUNT_COLUMN`."""

    def make() -> Any:
        item = quoted(items.column)
        once, where = _kept_pairs(table, unit, items, wanted)
        order = f" order by {COUNT_COLUMN} desc, {item}" if wanted is None else ""
        order += "" if most is None else f" limit {most:d}"
        if table.connection is None:
            # a relation that was handed over keeps its connection to itself
            return table.rows.to_native().query(_ROWS, _counted(_ROWS, item, once, where) + order)
        return _counted(_source(table), item, once, where) + order

    return Query(table.turn, make, table.plans)


def _kept_pairs(
    table: Table, unit: Unit, items: Items, wanted: Sequence[Any] | None = None
) -> tuple[str, str]:
    """What makes a pair of a person and an item, and the condition on a row that has one."""
    item = quoted(items.column)
    pair, conditions = [item], [f"{item} is not null"]
    if not isinstance(unit, OneRow):
        pair.append(quoted(unit.column))
        conditions += _is_somebody(table, unit)
    if wanted is not None:
        conditions.append(is_among(items.column, wanted))
    # Each pair of a person and an item once; a row that is protected by itself is a pair.
    once = "" if isinstance(unit, OneRow) else ", ".join(dict.fromkeys(pair))
    return once, " and ".join(conditions)


def _source(table: Table) -> str:
    """SQL for the rows of a table on a connection of ours."""
    return f"({table.rows.to_native().sql_query()})"


def _counted(rows: str, item: str, once: str, where: str) -> str:
    """SQL for the items of some rows with their counts."""
    kept = f"select {once or item} from {rows} where {where}"
    kept += f" group by {once}" if once else ""
    return f"select {item}, count(*) as {COUNT_COLUMN} from ({kept}) group by {item}"


def together(table: Table, column: str, public: Table, label: str) -> None:
    """Fail where DuckDB cannot look at both tables in one statement. No row is read."""
    cells = table.frame.to_native().project(f"{quoted(column)} as {ITEM}")
    labels = public.frame.to_native().project(f"{quoted(label)} as {ITEM}")
    # both may be made of one relation
    cells.set_alias("__discreet_cells").join(labels.set_alias("__discreet_labels"), ITEM)


def count_different(public: Table, column: str) -> int:
    """How many different values a column of a public table on a connection of ours has."""
    assert public.connection is not None
    rows = public.rows.to_native().sql_query()
    query = f"select count(distinct {quoted(column)}) from ({rows})"
    ((size,),) = public.connection.execute(query).fetchall()
    return int(size)


def public_counts(table: Table, unit: Unit, items: Items, public: Table, label: str) -> str:
    """SQL for each label of a public table with its count, on a connection of ours."""
    counted = _counted(_source(table), quoted(items.column), *_kept_pairs(table, unit, items))
    return (
        f"select {ITEM}, coalesce(counted.{COUNT_COLUMN}, 0) as {COUNT_COLUMN} "
        f"from ({_different(_source(public), label)}) "
        f"left join ({counted}) as counted on {ITEM} = counted.{quoted(items.column)}"
    )


def hold_public_counts(
    table: Table, unit: Unit, items: Items, public: Table, label: str
) -> duckdb.DuckDBPyRelation:
    """Count relations that were passed in, once, and hold the counts in memory."""
    named = f"{quoted(items.column)} as {_LABEL}, {COUNT_COLUMN}"
    counted = _counted(_ROWS, quoted(items.column), *_kept_pairs(table, unit, items))
    counts = table.rows.to_native().query(_ROWS, f"select {named} from ({counted})")
    labels = public.rows.to_native().query(_ROWS, _different(_ROWS, label))
    # both may be made of one relation
    found = labels.set_alias(ITEM).join(
        counts.set_alias(COUNT_COLUMN), f"{ITEM} = {_LABEL}", "left"
    )
    held: duckdb.DuckDBPyRelation = found.project(
        f"{ITEM}, coalesce({COUNT_COLUMN}, 0) as {COUNT_COLUMN}"
    )
    return held.materialize()


def _different(rows: str, label: str) -> str:
    """SQL for the different labels of some rows."""
    named = quoted(label)
    return f"select distinct {named} as {ITEM} from {rows} where {named} is not null"


def count_many(table: Table, unit: Unit, items: Items, wanted: Sequence[Any]) -> list[int]:
    """For each of very many labels, all of them different, how many persons (or rows) have it.

    The labels are a table while the question lasts, and what comes back are places in
    it. On a connection of ours DuckDB knows its size and its range, so rows become
    places before they are counted; on another one items are counted first.
    """
    item, kind = quoted(items.column), kind_name(items.kind(table))
    if table.connection is None:
        counted = _counted(_ROWS, item, *_kept_pairs(table, unit, items))

        def placed(listed: str) -> str:
            columns = f"{_PLACE}, {COUNT_COLUMN}"
            return f"select {columns} from ({counted}) join {listed} on {item} = {_LABEL}"

        found = _joined(table.rows.to_native(), placed, wanted, kind).fetchnumpy()
    else:
        with _listed_on(table.connection, wanted, kind) as listed:
            joined = f"{_source(table)} join {listed} on {item} = {_LABEL}"
            found = table.connection.execute(_by_place(joined, table, unit)).fetchnumpy()
    counts = np.zeros(len(wanted), dtype=np.int64)
    counts[found[_PLACE]] = found[COUNT_COLUMN]
    held: list[int] = counts.tolist()
    return held


def _by_place(joined: str, table: Table, unit: Unit) -> str:
    """SQL for the places of labels with their counts, from rows that have places."""
    held, where = "*", ""
    if not isinstance(unit, OneRow):
        # a row that is protected by itself is a person
        held = f"distinct {quoted(unit.column)}"
        where = f"where {' and '.join(_is_somebody(table, unit))} "
    return (
        f"select {_PLACE}, count({held}) as {COUNT_COLUMN} from {joined} {where}group by {_PLACE}"
    )


def _joined(
    rows: duckdb.DuckDBPyRelation,
    placed: Callable[[str], str],
    wanted: Sequence[Any],
    kind: str,
) -> Any:
    """A query of rows that were handed over, and of labels with their places. No row is read.

    placed: the query, from the name of the labels or SQL for them.
    """
    import duckdb

    # Where no table has a name, DuckDB takes the variable that has it, unless whoever owns the
    # connection has switched that off. Labels in words take it several times as long to read.
    name = f"__discreet_listed_{secrets.token_hex(8)}"
    globals()[name] = _with_places(wanted, kind)
    try:
        return rows.query(_ROWS, placed(name))
    except duckdb.CatalogException:
        return rows.query(_ROWS, placed(f"({_listed_in_words(wanted, kind)})"))
    finally:
        del globals()[name]


def _listed_in_words(wanted: Sequence[Any], kind: str) -> str:
    """SQL for labels and their places, as one long text."""
    parts = f"unnest(string_split({_constant(in_one_text(wanted))}, chr(31)))"
    label = parts if kind == "String" else f"cast({parts} as {_WHOLE[kind]})"
    return f"select {label} as {_LABEL}, unnest(range({len(wanted)})) as {_PLACE}"


def _with_places(wanted: Sequence[Any], kind: str) -> Any:
    """Labels and their places as an Arrow table.

    kind: the type of the column that they are compared with. It can hold them all, so
        no cell is cast.
    """
    import pyarrow

    labels = wanted if kind == "String" else np.array(wanted, dtype=kind.lower())
    return pyarrow.table({_LABEL: labels, _PLACE: np.arange(len(wanted), dtype=np.int32)})


@contextmanager
def _listed_on(
    connection: duckdb.DuckDBPyConnection, wanted: Sequence[Any], kind: str
) -> Iterator[str]:
    """The name of a table of labels and their places, which only this connection sees."""
    name = f"__discreet_listed_{secrets.token_hex(8)}"
    connection.register(f"{name}_seen", _with_places(wanted, kind))
    try:
        connection.execute(f"create temporary table {name} as select * from {name}_seen")
        yield name
    finally:
        # what goes wrong here has no part in the answer
        with suppress(Exception):
            connection.execute(f"drop table if exists {name}")
        with suppress(Exception):
            connection.unregister(f"{name}_seen")


def count_between(
    table: Table, unit: Unit, column: str, edges: Sequence[float], rule: Any
) -> list[int]:
    """How many persons' values lie below the first edge, from each edge up to the next,
    and from the last edge on.

    rule: "max" or "min", which of a person's values counts.
    """
    # DuckDB counts up to each of some bounds, and a price is reached from there on: so the
    # numbers are negated, which is exact.
    bounds = ", ".join(repr(-edge) for edge in sorted(set(edges), reverse=True))
    bins = f"histogram(-{COUNT_COLUMN}, cast('[{bounds}]' as double[]))"
    ((found,),) = _of_values(table, unit, column, rule, bins)
    return _in_order(found or {}, edges)


def count_places(
    table: Table, unit: Unit, column: str, place: str, places: int, rule: Any
) -> list[int]:
    """How many persons' values have each place, from 0 on.

    place: SQL for the place of a value, which is called `COUNT_COLUMN`.
    """
    found = dict(_of_values(table, unit, column, rule, f"{place} as {_PLACE}, count(*)", _PLACE))
    return [int(found.get(number, 0)) for number in range(places)]


def _of_values(
    table: Table, unit: Unit, column: str, rule: Any, wanted: str, by: str = ""
) -> list[Any]:
    """Rows of what is wanted of the one finite value that each person (or row) has."""

    def make() -> Any:
        rows, value, kind = table.rows, f"cast({quoted(column)} as double)", table.schema[column]
        if not (kind.is_integer() or kind.is_float()):
            # what is a number in text is said in one place for all engines
            rows, value = rows.with_columns(cell_number(table, column).alias(_VALUE)), _VALUE
        relation, conditions = rows.to_native(), [f"isfinite({value})"]
        held, person = f"{value} as {COUNT_COLUMN}", ""
        if not isinstance(unit, OneRow):
            kept = "max" if rule == "max" else "min"
            held, person = f"{kept}({value}) as {COUNT_COLUMN}", quoted(unit.column)
            conditions += _is_somebody(table, unit)
        where = " and ".join(conditions)
        if table.connection is None:
            kept = relation.filter(where)
            kept = kept.aggregate(held, person) if person else kept.project(held)
            return kept.aggregate(wanted, by)
        kept = f"select {held} from ({relation.sql_query()}) where {where}"
        kept += f" group by {person}" if person else ""
        return f"select {wanted} from ({kept})" + (f" group by {by}" if by else "")

    name = ("values", unit, column, rule, wanted)
    return table.once(name, lambda: Query(table.turn, make, table.plans)).fetch_rows()


def _in_order(found: dict[float, int], edges: Sequence[float]) -> list[int]:
    """The counts of bins that begin at these edges, after those below all of them."""
    counts = {-bound: int(count) for bound, count in found.items()}
    below, beyond = counts.get(-inf, 0), [*edges[1:], None]
    # of edges that are the same number the last one has all
    return [
        below,
        *(
            0 if edge == after else counts.get(edge, 0)
            for edge, after in zip(edges, beyond, strict=True)
        ),
    ]
