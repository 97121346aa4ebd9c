"""Whole scores by level, counted instead of sorted: for joint draws of very many candidates.

A *level* is by how many steps of 1 a score is behind that of the last of the best, where
everything from a public number of steps on is one level. Which of the candidates of a level
comes first does not matter, so nothing is sorted but the best: candidates are counted, level
by level and chunk by chunk, and one that was drawn is found in the only chunk that has it.
Every candidate is counted, whatever its score is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.distances import OrderedDistances, SmallIntegerDistances
from discreet.samplers.order_statistics import best_places

# candidates from which on counting them is faster than sorting them
_MANY = 1 << 15
# candidates for each level, and for each of the best, at least
_FEW = 16
# candidates in a chunk, for each level and in all, at least
_CHUNK_LEVELS, _CHUNK = 2, 1 << 13


def are_few(distances: OrderedDistances, count: int, levels: int) -> bool:
    """Whether candidates are counted by level: by their number and public parameters only."""
    return isinstance(distances, SmallIntegerDistances) and distances.size >= max(
        _MANY, _FEW * count, _FEW * levels
    )


class Levels:
    """The best candidates in order, and how many others there are at each level.

    best: the best `count` candidates, from the best on.
    counts: for each level how many candidates there are beside these; the last level is
        that of all from `deepest` steps on.
    """

    __slots__ = (
        "_chunk",
        "_deepest",
        "_homes",
        "_last",
        "_scores",
        "_smallest",
        "_table",
        "best",
        "counts",
    )

    def __init__(self, scores: NDArray[Any], smallest: bool, count: int, deepest: int) -> None:
        self._scores, self._smallest, self._deepest = scores, smallest, deepest
        self.best = best_places(scores, smallest, count)
        self._last = int(scores[self.best[-1]])
        self._chunk = max(_CHUNK, _CHUNK_LEVELS * (deepest + 1))
        rows = [
            np.bincount(self._levels(start), minlength=deepest + 1).astype(np.int32)
            for start in range(0, scores.size, self._chunk)
        ]
        self._table = np.array(rows)
        # the chunks of the best, which are on the first level, also those ahead of the last
        self._homes = self.best // self._chunk
        np.subtract.at(self._table[:, 0], self._homes, 1)
        self.counts: NDArray[np.int64] = self._table.sum(axis=0, dtype=np.int64)

    def find(self, level: int, rank: int) -> int:
        """The rank-th candidate of a level, counted from 0, that is none of the best."""
        reached = self._table[:, level].cumsum()
        number = int(reached.searchsorted(rank, side="right"))
        start, before = number * self._chunk, int(reached[number - 1]) if number else 0
        part = self._scores[start : start + self._chunk]
        score = self._last + level if self._smallest else self._last - level
        members = part == score if level < self._deepest else self._beyond(part, score)
        members[self.best[self._homes == number] - start] = False
        return start + int(members.cumsum().searchsorted(rank - before, side="right"))

    def _beyond(self, part: NDArray[Any], score: int) -> NDArray[np.bool_]:
        """Who is at this score or behind it."""
        members: NDArray[np.bool_] = part >= score if self._smallest else part <= score
        return members

    def _levels(self, start: int) -> NDArray[np.int64]:
        """The levels of the candidates of the chunk that starts here."""
        part = self._scores[start : start + self._chunk]
        ends = (part, self._last) if self._smallest else (self._last, part)
        behind: NDArray[np.int64] = np.subtract(*ends, dtype=np.int64)
        np.maximum(behind, 0, out=behind)
        return np.minimum(behind, self._deepest, out=behind)
