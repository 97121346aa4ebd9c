"""Candidates that are themselves a table, too many to bring to Python: the engine counts how many of them have each count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.cell_numbers import kind_name
from discreet.data.counting import COUNT, counted_items, only, returnable, returned, run
from discreet.data.items import ITEM, Items
from discreet.data.spelling import require_spelling
from discreet.data.table import Table
from discreet.errors import EngineError, ParameterError, ParameterTypeError, shown
from discreet.privacy.unit import OneRow, Unit

if TYPE_CHECKING:
    import narwhals as nw

_CANDIDATES, _PLACE = "__discreet_candidates", "__discreet_place"


@dataclass(frozen=True, slots=True, repr=False)
class PublicTable:
    """A public table whose column lists the candidates of a question, each of them once or more often.

    >>> PublicTable("articles.parquet", column="article")
    PublicTable(source='articles.parquet', column='article')
    """

    source: Any
    column: str

    def __repr__(self) -> str:
        # What a frame shows of itself are its rows.
        return f"PublicTable(source={shown(self.source)}, column={self.column!r})"


def count_public(public: Table, column: str, owner: str) -> int:
    """How many different candidates the public table has; at least one."""
    import narwhals as nw

    ((size,),) = run(public, lambda: _listed(public, column).select(nw.len().alias(COUNT)), [COUNT])
    if not size:
        raise ParameterError(owner, "candidates", "a table with at least one candidate", "none")
    return int(size)


def require_same(table: Table, items: Items, public: Table, label: str, owner: str) -> None:
    """Refuse candidates that cannot be compared with the items: an engine would cast, and fail on some row."""
    mine, theirs = items.kind(table), public.schema[label]
    if mine != theirs:
        rule = f"of the type of the items, {kind_name(mine)}"
        got = f"{label}, of {kind_name(theirs)}"
        if kind_name(mine) == kind_name(theirs):
            got += " with other details"
        raise ParameterTypeError(owner, "candidates", rule, got)
    require_spelling(public, label, owner)
    try:
        with table.turn:
            # Cells of Python objects would be looked into as lists: not before the charge.
            empty = replace(table, frame=table.frame.head(0), listed=frozenset())
            left, right = items.rows(empty, OneRow()), _listed(public, label)
            left.join(right, on=ITEM, how="left").collect_schema()
    except Exception:
        rule = "on the same connection as the table"
        raise ParameterError(owner, "candidates", rule, label) from None


def _listed(public: Table, column: str) -> nw.LazyFrame[Any]:
    """Each candidate once."""
    import narwhals as nw

    items = Items(column).rows(public, OneRow())
    return items.group_by(ITEM).agg(nw.len().alias(COUNT)).select(ITEM)


class Tally:
    """How many of the candidates have each count, the largest count first: one pass. The winner is fetched by another one."""

    def __init__(self, table: Table, unit: Unit, items: Items, public: Table, label: str) -> None:
        import narwhals as nw

        count = nw.col(COUNT).fill_null(0).cast(nw.Int64)

        def counted() -> nw.LazyFrame[Any]:
            counts = counted_items(table, unit, items)
            return _listed(public, label).join(counts, on=ITEM, how="left").select(ITEM, count.alias(COUNT))

        self._table, self._kind, self._counted = table, items.kind(table), counted
        rows = run(
            table,
            lambda: counted().group_by(COUNT).agg(nw.len().alias(_CANDIDATES)),
            [COUNT, _CANDIDATES],
        )
        if not rows:
            raise EngineError
        by_count = np.array(sorted(((int(held), int(size)) for held, size in rows), reverse=True), dtype=np.int64)
        self.counts, self.sizes = by_count.T

    def label(self, number: int, place: int) -> Any:
        """The candidate at this place of those with one of the counts, in the order of the labels."""
        import narwhals as nw

        held = int(self.counts[number])

        def query() -> nw.LazyFrame[Any]:
            here = self._counted().filter(nw.col(COUNT) == held).with_row_index(_PLACE, order_by=ITEM)
            return returnable(here.filter(nw.col(_PLACE) == place), self._kind)

        item, _ = only(run(self._table, query, [ITEM, COUNT]))
        return returned(item, self._kind)
