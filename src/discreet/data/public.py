"""Candidates that are themselves a table, too many to bring to Python: the engine counts how many lie on each level of distance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import fmpq

from discreet.data.counting import COUNT, ITEM, counted_items, run
from discreet.data.table import Table
from discreet.errors import ParameterError
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

    ((size,),) = run(public.frame.filter(~nw.col(column).is_null()).select(nw.col(column).n_unique().alias(COUNT)), [COUNT])
    if not size:
        raise ParameterError(owner, "candidates", "a table with at least one candidate", "none")
    return int(size)


class Levels:
    """How many candidates lie on each level of distance behind the best; candidates are fetched one by one."""

    def __init__(self, table: Table, unit: Unit, column: str, public: Table, label: str, rate: Fraction) -> None:
        import narwhals as nw

        candidates = public.frame.select(nw.col(label).alias(ITEM)).filter(~nw.col(ITEM).is_null()).unique()
        counts = counted_items(table, unit, column)
        count = nw.col(COUNT).fill_null(0).cast(nw.Int64)
        self._rate = fmpq(rate.numerator, rate.denominator)
        self._counted = candidates.join(counts, on=ITEM, how="left").select(ITEM, count.alias(COUNT))
        ((best,),) = run(self._counted.select(nw.col(COUNT).max()), [COUNT])
        self._best = int(best)
        factor = float(rate * LEVELS_PER_SCALE) * _SLACK
        level = ((nw.lit(self._best) - nw.col(COUNT)) * factor).floor().clip(0, LAST_LEVEL).cast(nw.Int64)
        self._levelled = self._counted.with_columns(level.alias(_LEVEL))
        rows = run(self._levelled.group_by(_LEVEL).agg(nw.len().alias(COUNT)), [_LEVEL, COUNT])
        self.sizes = {int(level): int(size) for level, size in rows}
        self._fetched: dict[tuple[int, int], tuple[Any, int]] = {}

    def distance(self, level: int, place: int) -> fmpq:
        """The exact distance of one candidate."""
        return (self._best - self._fetch(level, place)[1]) * self._rate

    def label(self, level: int, place: int) -> Any:
        """The label of one candidate."""
        return self._fetch(level, place)[0]

    def _fetch(self, level: int, place: int) -> tuple[Any, int]:
        """The candidate at this place of its level, in the order of the labels."""
        import narwhals as nw

        if (level, place) not in self._fetched:
            here: nw.LazyFrame[Any] = self._levelled.filter(nw.col(_LEVEL) == level).with_row_index(_PLACE, order_by=ITEM)
            ((item, count),) = run(here.filter(nw.col(_PLACE) == place), [ITEM, COUNT])
            self._fetched[level, place] = item, int(count)
        return self._fetched[level, place]
