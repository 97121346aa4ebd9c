"""Counts of persons on DuckDB in one statement: the same as the steps in `counting`, which
DuckDB binds one by one, each for as long as a small question takes.

Items only for what most questions are about: text and whole numbers, one item in a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from discreet.privacy.parameters import OneRow, Person, Unit
from discreet.tables.items import Items, cell_number, kind_name
from discreet.tables.lines import quoted
from discreet.tables.table import Table

MANY = 1000
"""Up to so many labels are written as constants; DuckDB takes long to read more of them."""
_BETWEEN = "\x1f"
_WHOLE = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_HELD, _VALUE = "__discreet_count", "__discreet_value"


def is_plain(table: Table, items: Items) -> bool:
    """Whether one statement can count these items."""
    name = kind_name(items.kind(table))
    known = name == "String" or name in _WHOLE
    return table.frame.implementation.is_duckdb() and known and not items.is_ballot(table)


def can_be_listed(wanted: Sequence[Any]) -> bool:
    """Whether labels can be written into a statement: whole numbers, or text without
    characters that SQL or a long list has another use for.
    """
    if all(type(label) is int for label in wanted):
        return True
    return all(
        isinstance(label, str) and _BETWEEN not in label and "\0" not in label for label in wanted
    )


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
    pair, conditions = [item], [f"{item} is not null"]
    if not isinstance(unit, OneRow):
        pair.append(quoted(unit.column))
        conditions += _is_somebody(table, unit)
    if wanted is not None:
        conditions.append(is_among(items.column, wanted))
    # Each pair of a person and an item once; a row that is protected by itself is a pair.
    once = "" if isinstance(unit, OneRow) else ", ".join(dict.fromkeys(pair))
    order = f"{_HELD} desc, {item}" if wanted is None else ""
    relation, where = table.rows.to_native(), " and ".join(conditions)
    if table.connection is None:
        # a relation that was handed over keeps its connection to itself
        return _by_steps(relation, item, where, once, order, most)
    kept = f"select {once or item} from ({relation.sql_query()}) where {where}"
    kept += f" group by {once}" if once else ""
    counted = f"select {item}, count(*) as {_HELD} from ({kept}) group by {item}"
    counted += f" order by {order}" if order else ""
    counted += "" if most is None else f" limit {most:d}"
    found: list[tuple[Any, int]] = table.connection.execute(counted).fetchall()
    return found


def _by_steps(
    relation: Any, item: str, where: str, once: str, order: str, most: int | None
) -> list[tuple[Any, int]]:
    """The same statement, a step at a time."""
    kept = relation.filter(where)
    kept = kept.aggregate(once, once) if once else kept
    counted = kept.aggregate(f"{item}, count(*) as {_HELD}", item)
    counted = counted.order(order) if order else counted
    found: list[tuple[Any, int]] = (counted if most is None else counted.limit(most)).fetchall()
    return found


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
