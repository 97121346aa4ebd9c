"""Candidates that are themselves a table, too many to bring to Python: the engine counts how many lie on each level of distance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import fmpq

from discreet.data.counting import COUNT, ITEM, counted_items, only, returnable, returned, run
from discreet.data.spelling import require_spelling
from discreet.data.table import Table
from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.unit import Unit
from discreet.samplers.levels import LAST_LEVEL, LEVELS_PER_SCALE

if TYPE_CHECKING:
    import narwhals as nw

_LEVEL, _PLACE = "__discreet_level", "__discreet_place"
_SLACK = 1 - 2.0**-50  # makes up for the rounding of the factor and of the product


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
            left, right = table.frame.head(0).select(column), public.frame.head(0).select(label)
            left.join(right, left_on=column, right_on=label, how="left").collect_schema()
    except Exception as error:
        kind = type(error).__name__
        rule = "on the same connection as the table"
        raise ParameterError(owner, "candidates", rule, label, f"The engine says: {kind}.") from None


def _listed(public: Table, column: str) -> nw.LazyFrame[Any]:
    """Each candidate once."""
    import narwhals as nw

    items = public.frame.select(nw.col(column).alias(ITEM)).filter(~nw.col(ITEM).is_null())
    items = items.filter(nw.col(ITEM).is_finite()) if public.schema[column].is_float() else items
    return items.group_by(ITEM).agg(nw.len().alias(COUNT)).select(ITEM)


class Levels:
    """How many candidates lie on each level of distance behind the best; candidates are fetched one by one."""

    def __init__(self, table: Table, unit: Unit, column: str, public: Table, label: str, rate: Fraction) -> None:
        import narwhals as nw

        count = nw.col(COUNT).fill_null(0).cast(nw.Int64)

        def counted() -> nw.LazyFrame[Any]:
            counts = counted_items(table, unit, column)
            return _listed(public, label).join(counts, on=ITEM, how="left").select(ITEM, count.alias(COUNT))

        self._table, self._column, self._counted = table, column, counted
        self._rate = fmpq(rate.numerator, rate.denominator)
        ((best,),) = run(table, lambda: counted().select(nw.col(COUNT).max()), [COUNT])
        self._best = int(best)
        factor = float(rate * LEVELS_PER_SCALE) * _SLACK
        self._level = ((nw.lit(self._best) - nw.col(COUNT)) * factor).floor().clip(0, LAST_LEVEL).cast(nw.Int64)
        rows = run(table, lambda: self._levelled().group_by(_LEVEL).agg(nw.len().alias(COUNT)), [_LEVEL, COUNT])
        self.sizes = {int(level): int(size) for level, size in rows}
        self._fetched: dict[tuple[int, int], tuple[Any, int]] = {}

    def distance(self, level: int, place: int) -> fmpq:
        """The exact distance of one candidate."""
        return (self._best - self._fetch(level, place)[1]) * self._rate

    def label(self, level: int, place: int) -> Any:
        """The label of one candidate."""
        return self._fetch(level, place)[0]

    def _levelled(self) -> nw.LazyFrame[Any]:
        return self._counted().with_columns(self._level.alias(_LEVEL))

    def _fetch(self, level: int, place: int) -> tuple[Any, int]:
        """The candidate at this place of its level, in the order of the labels."""
        import narwhals as nw

        if (level, place) not in self._fetched:

            def query() -> nw.LazyFrame[Any]:
                here = self._levelled().filter(nw.col(_LEVEL) == level).with_row_index(_PLACE, order_by=ITEM)
                return returnable(here.filter(nw.col(_PLACE) == place), self._table, self._column)

            item, count = only(run(self._table, query, [ITEM, COUNT]))
            self._fetched[level, place] = returned(item, self._table, self._column), int(count)
        return self._fetched[level, place]
