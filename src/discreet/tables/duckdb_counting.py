"""Counts of persons on DuckDB in one statement: the same as the steps in `counting`, which
DuckDB binds one by one, each for as long as a small question takes.

Items only for what most questions are about: text and whole numbers, one item in a cell.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.privacy.parameters import OneRow, Person, Unit
from discreet.tables.items import ITEM, Items, cell_number, kind_name
from discreet.tables.lines import quoted
from discreet.tables.table import Table

if TYPE_CHECKING:
    import duckdb

MANY = 1000
"""Up to so many labels are written as constants; DuckDB takes long to read more of them."""
_BETWEEN = "\x1f"
_WHOLE = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_HELD, _VALUE, _LABEL, _PLACE = (
    f"__discreet_{name}" for name in ("count", "value", "label", "place")
)


def is_plain(table: Table, items: Items) -> bool:
    """Whether one statement can count these items."""
    name = kind_name(items.kind(table))
    known = name == "String" or name in _WHOLE
    return table.frame.implementation.is_duckdb() and known and not items.is_ballot(table)


def can_be_listed(wanted: Sequence[Any]) -> bool:
    """Whether labels can be written into a statement: whole numbers, or text without
    characters that SQL or a long list has another use for.
    """
    kinds = set(map(type, wanted))
    if kinds <= {int}:
        return True
    if not all(issubclass(kind, str) for kind in kinds):
        return False
    together = "".join(wanted)
    return _BETWEEN not in together and "\0" not in together


def is_among(column: str, wanted: Sequence[Any]) -> str:
    """That a column has one of the labels, in SQL. Many of them come as one long text,
    which is read at once.
    """
    whole = type(wanted[0]) is int
    if len(wanted) <= MANY:
        listed = ", ".join(str(label) if whole else _constant(label) for label in wanted)
        return f"contains([{listed}], {quoted(column)})"
    parts = f"unnest(string_split({_constant(_BETWEEN.join(map(str, wanted)))}, chr(31)))"
    return f"{quoted(column)} in (select {f'cast({parts} as bigint)' if whole else parts})"


def _constant(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _is_somebody(table: Table, unit: Person) -> list[str]:
    """That a row belongs to somebody: neither null nor NaN is a person."""
    person = quoted(unit.column)
    somebody = [f"{person} is not null"]
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
    item = quoted(items.column)
    once, where = _kept_pairs(table, unit, items, wanted)
    order = f"{_HELD} desc, {item}" if wanted is None else ""
    if table.connection is None:
        # a relation that was handed over keeps its connection to itself
        steps = _by_steps(table.rows.to_native(), item, where, once, order, most)
        return _pairs(steps.fetchnumpy(), items.column)
    counted = _counted(table, item, once, where)
    counted += f" order by {order}" if order else ""
    counted += "" if most is None else f" limit {most:d}"
    return _pairs(table.connection.execute(counted).fetchnumpy(), items.column)


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


def _counted(table: Table, item: str, once: str, where: str) -> str:
    """SQL for the items with their counts."""
    kept = f"select {once or item} from ({table.rows.to_native().sql_query()}) where {where}"
    kept += f" group by {once}" if once else ""
    return f"select {item}, count(*) as {_HELD} from ({kept}) group by {item}"


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
    """SQL for each label of a public table on the same connection with its count."""
    counted = _counted(table, quoted(items.column), *_kept_pairs(table, unit, items))
    listed = f"select distinct {quoted(label)} as {ITEM} from "
    listed += f"({public.rows.to_native().sql_query()}) where {quoted(label)} is not null"
    return (
        f"select {ITEM}, coalesce(counted.{_HELD}, 0) as {_HELD} from ({listed}) "
        f"left join ({counted}) as counted on {ITEM} = counted.{quoted(items.column)}"
    )


def _pairs(found: Mapping[str, Any], column: str) -> list[tuple[Any, int]]:
    """Items with their counts; arrays of them come back in a fraction of the time of rows."""
    return list(zip(found[column].tolist(), found[_HELD].tolist(), strict=True))


def count_many(table: Table, unit: Unit, items: Items, wanted: Sequence[Any]) -> list[int]:
    """For each of very many labels, all of them different, how many persons (or rows) have it.

    Only on a connection of ours. The labels are a table there while the question lasts, of
    which DuckDB knows the size and the range; rows become places in it, and what comes back
    are places, too.
    """
    connection = table.connection
    assert connection is not None
    once = ""
    if not isinstance(unit, OneRow):
        # Each pair of a person and an item once; a row that is protected by itself is a pair.
        once = f"where {' and '.join(_is_somebody(table, unit))} "
        once += f"group by {_PLACE}, {quoted(unit.column)}"
    with _listed_on(connection, wanted, kind_name(items.kind(table))) as listed:
        kept = (
            f"select {_PLACE} from ({table.rows.to_native().sql_query()}) "
            f"join {listed} on {quoted(items.column)} = {_LABEL} {once}"
        )
        counted = f"select {_PLACE}, count(*) as {_HELD} from ({kept}) group by {_PLACE}"
        found = connection.execute(counted).fetchnumpy()
    counts = np.zeros(len(wanted), dtype=np.int64)
    counts[found[_PLACE]] = found[_HELD]
    held: list[int] = counts.tolist()
    return held


@contextmanager
def _listed_on(
    connection: duckdb.DuckDBPyConnection, wanted: Sequence[Any], kind: str
) -> Iterator[str]:
    """The name of a table of labels and their places, which only this connection sees.

    kind: the type of the column that they are compared with. It can hold them all, so no
        cell is cast.
    """
    import pyarrow

    name = f"__discreet_listed_{secrets.token_hex(8)}"
    labels = wanted if kind == "String" else np.array(wanted, dtype=kind.lower())
    places = np.arange(len(wanted), dtype=np.int32)
    connection.register(f"{name}_seen", pyarrow.table({_LABEL: labels, _PLACE: places}))
    try:
        connection.execute(f"create temporary table {name} as select * from {name}_seen")
        yield name
    finally:
        # what goes wrong here has no part in the answer
        with suppress(Exception):
            connection.execute(f"drop table if exists {name}")
        with suppress(Exception):
            connection.unregister(f"{name}_seen")


def _by_steps(relation: Any, item: str, where: str, once: str, order: str, most: int | None) -> Any:
    """The same statement, a step at a time."""
    kept = relation.filter(where)
    kept = kept.aggregate(once, once) if once else kept
    counted = kept.aggregate(f"{item}, count(*) as {_HELD}", item)
    counted = counted.order(order) if order else counted
    return counted if most is None else counted.limit(most)


def count_between(
    table: Table, unit: Unit, column: str, edges: Sequence[float], rule: Any
) -> list[int]:
    """How many persons' values lie below the first edge, from each edge up to the next,
    and from the last edge on.

    rule: "max" or "min", which of a person's values counts.
    """
    rows, value, kind = table.rows, f"cast({quoted(column)} as double)", table.schema[column]
    if not (kind.is_integer() or kind.is_float()):
        # what is a number in text is said in one place for all engines
        rows, value = rows.with_columns(cell_number(table, column).alias(_VALUE)), _VALUE
    relation, conditions = rows.to_native(), [f"isfinite({value})"]
    held, person = value, ""
    if not isinstance(unit, OneRow):
        held, person = f"{'max' if rule == 'max' else 'min'}({value})", quoted(unit.column)
        conditions += _is_somebody(table, unit)
    # DuckDB counts up to each of some bounds, and a price is reached from there on: so the
    # numbers are negated, which is exact.
    different = sorted(set(edges), reverse=True)
    bounds = ", ".join(repr(-edge) for edge in different)
    bins, where = f"histogram(-{_HELD}, cast('[{bounds}]' as double[]))", " and ".join(conditions)
    if table.connection is None:
        kept, counted = relation.filter(where), f"{held} as {_HELD}"
        kept = kept.aggregate(counted, person) if person else kept.project(counted)
        ((found,),) = kept.aggregate(bins).fetchall()
    else:
        kept = f"select {held} as {_HELD} from ({relation.sql_query()}) where {where}"
        kept += f" group by {person}" if person else ""
        ((found,),) = table.connection.execute(f"select {bins} from ({kept})").fetchall()
    return _in_order(found or {}, edges)


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
