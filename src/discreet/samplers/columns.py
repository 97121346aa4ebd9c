"""Very many candidates in columns of eight, and the best score of each column: all that the
one pass over the scores has to find.

Candidates lie in *groups* of eight rows, the last one padded with the worst score. A
column is one place in the rows of a group. The pass keeps the best score of each column
and the worst score of all. The best of all is among the former; NaN spreads to both. No
score decides what the pass does next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.order_statistics import (
    best_keys,
    best_of,
    best_places,
    pieces_of,
    sorted_places,
)
from discreet.samplers.threads import share

ROWS = 8
"""Candidates of a column."""

ROW = 1024
"""Columns of a group."""

WORTH_COLUMNS = 1 << 17
"""Candidates from which on the pass gains more than the proposals of nothing lose."""

# groups that are looked at twice, for the best and the worst, before the next ones: few
# enough to be still in the cache, many enough that NumPy's cost of a call does not show
_STEP = 32


class Columns:
    """The best score of each column, and the smallest and largest score of all.

    smallest: whether the smallest score is the best one.
    """

    __slots__ = ("best", "high", "low")

    def __init__(self, scores: NDArray[Any], *, smallest: bool) -> None:
        better, worse = (np.minimum, np.maximum) if smallest else (np.maximum, np.minimum)
        whole = (scores.size - 1) // (ROWS * ROW)
        groups = scores[: whole * ROWS * ROW].reshape(whole, ROWS, ROW)
        best = np.empty((whole + 1, ROW), dtype=scores.dtype)
        worst = np.empty(-(-whole // _STEP) + 1, dtype=scores.dtype)

        def fold(starts: Iterator[int]) -> None:
            for start in starts:
                some = groups[start : start + _STEP]
                better.reduce(some, axis=1, out=best[start : start + len(some)])
                worst[start // _STEP] = worse.reduce(some, axis=None)

        share(fold, range(0, whole, _STEP), scores.size)
        rest = scores[groups.size :]
        worst[-1] = worse.reduce(rest)
        farthest = worse.reduce(worst)
        last = np.full(ROWS * ROW, farthest)
        last[: rest.size] = rest
        better.reduce(last.reshape(ROWS, ROW), axis=0, out=best[-1])
        self.best: NDArray[Any] = best.reshape(-1)
        ends = better.reduce(self.best).item(), farthest.item()
        self.low, self.high = ends if smallest else ends[::-1]


def place_of(row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.int64]:
    """The candidate in this row of a column, of each pair of them."""
    group, place = np.divmod(column, ROW)
    return (group * ROWS + row) * ROW + place


def row_and_column(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows and the columns of these candidates."""
    row, place = np.divmod(places, ROW)
    group, row = np.divmod(row, ROWS)
    return row, group * ROW + place


def best_in_columns(
    scores: NDArray[Any], smallest: bool, columns: Columns, count: int
) -> NDArray[np.int64]:
    """The places of the `count` best scores, from the best on: they are all in `count`
    columns whose best are the best, if there are so many columns.
    """
    # all that have a candidate
    whole, rest = divmod(scores.size - 1, ROWS * ROW)
    leaders = columns.best[: whole * ROW + min(rest + 1, ROW)]
    if count > leaders.size:
        return best_places(scores, smallest, count)[:count]
    members = _members(best_places(leaders, smallest, count)[:count])
    # what pads the last group goes behind all others, also where scores are the worst
    there = members < scores.size
    places = np.concatenate([members[there], members[~there]])
    keys = best_keys(scores[np.minimum(places, scores.size - 1)], smallest)
    keys[np.count_nonzero(there) :] = 0
    return places[best_of(keys, count)]


def columns_without(
    scores: NDArray[Any], smallest: bool, columns: Columns, best: NDArray[np.int64]
) -> NDArray[Any]:
    """The best score of each column beside the best candidates; the worst of all where there is
    no other.
    """
    _, changed = row_and_column(best)
    members = _members(changed)
    values = scores[np.minimum(members, scores.size - 1)]
    ordered = best[sorted_places(best.view(np.uint64), pieces_of(scores.size))]
    found = ordered[np.minimum(ordered.searchsorted(members), best.size - 1)] == members
    values[found | (members >= scores.size)] = columns.high if smallest else columns.low
    leaders: NDArray[Any] = columns.best.copy()
    leaders[changed] = (np.minimum if smallest else np.maximum).reduce(values, axis=0)
    return leaders


def _members(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """All candidates of these columns, a row for each of their rows."""
    return place_of(np.arange(ROWS)[:, np.newaxis], columns)
