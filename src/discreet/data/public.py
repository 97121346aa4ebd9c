"""Candidates that are themselves a table, too many to bring to Python: the engine counts how many of them have each count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.counting import COUNT, ITEM, counted_items, item_of, only, returnable, returned, run
from discreet.data.spelling import require_spelling
from discreet.data.table import Table
from discreet.errors import EngineError, ParameterError, ParameterTypeError
from discreet.privacy.unit import Unit

if TYPE_CHECKING:
    import narwhals as nw

_CANDIDATES, _PLACE = "__discreet_candidates", "__discreet_place"


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A public table whose column lists the candidates of a question, each of them once or more often.

    >>> PublicTable("articles.parquet", column="article")
    PublicTable(source='articles.parquet', column='article')
    """

    source: Any
    column: str


def count_public(public: Table, column: str, owner: str) -> int:
    """How many different candidates the public table has; at least one."""
    import narwhals as nw

    ((size,),) = run(public, lambda: _listed(public, column).select(nw.len().alias(COUNT)), [COUNT])
    if not size:
        raise ParameterError(owner, "candidates", "a table with at least one candidate", "none")
    return int(size)


def require_same(table: Table, column: str, public: Table, label: str, owner: str) -> None:
    """Refuse candidates that cannot be compared with the column: an engine would cast one of them, and fail on some row."""
    mine, theirs = table.schema[column], public.schema[label]
    if mine != theirs:
        raise ParameterTypeError(owner, "candidates", f"of the type of the column, {mine}", f"{label}, of {theirs}")
    require_spelling(table, column, owner)
    require_spelling(public, label, owner)
    try:
        with table.turn:
            left, right = (part.frame.head(0).select(item_of(part, name)) for part, name in ((table, column), (public, label)))
            left.join(right, on=ITEM, how="left").collect_schema()
    except Exception as error:
        kind = type(error).__name__
        rule = "on the same connection as the table"
        raise ParameterError(owner, "candidates", rule, label, f"The engine says: {kind}.") from None


def _listed(public: Table, column: str) -> nw.LazyFrame[Any]:
    """Each candidate once."""
    import narwhals as nw

    items = public.frame.select(item_of(public, column)).filter(~nw.col(ITEM).is_null())
    items = items.filter(nw.col(ITEM).is_finite()) if public.schema[column].is_float() else items
    return items.group_by(ITEM).agg(nw.len().alias(COUNT)).select(ITEM)


class Tally:
    """How many of the candidates have each count, the largest count first: one pass. The winner is fetched by another one."""

    def __init__(self, table: Table, unit: Unit, column: str, public: Table, label: str) -> None:
        import narwhals as nw

        count = nw.col(COUNT).fill_null(0).cast(nw.Int64)

        def counted() -> nw.LazyFrame[Any]:
            counts = counted_items(table, unit, column)
            return _listed(public, label).join(counts, on=ITEM, how="left").select(ITEM, count.alias(COUNT))

        self._table, self._column, self._counted = table, column, counted
        rows = run(table, lambda: counted().group_by(COUNT).agg(nw.len().alias(_CANDIDATES)), [COUNT, _CANDIDATES])
        if not rows:
            raise EngineError("a table that changed meanwhile")
        by_count = np.array(sorted(((int(held), int(size)) for held, size in rows), reverse=True), dtype=np.int64)
        self.counts, self.sizes = by_count.T

    def label(self, number: int, place: int) -> Any:
        """The candidate at this place of those with one of the counts, in the order of the labels."""
        import narwhals as nw

        held = int(self.counts[number])

        def query() -> nw.LazyFrame[Any]:
            here = self._counted().filter(nw.col(COUNT) == held).with_row_index(_PLACE, order_by=ITEM)
            return returnable(here.filter(nw.col(_PLACE) == place), self._table, self._column)

        item, _ = only(run(self._table, query, [ITEM, COUNT]))
        return returned(item, self._table, self._column)
