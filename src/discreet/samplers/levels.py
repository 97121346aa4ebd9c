"""Candidates by level, counted instead of sorted: for lists from very many candidates.

A *level* says how far a candidate is behind the last of the best, in whole steps, where
everything from a public number of steps on is one level. Which of the candidates of a level
comes first does not matter, so nothing is sorted but the best: candidates are counted, level
by level and chunk by chunk, and one that was drawn is found in the only chunk that has it.
Every candidate is counted, whatever its score is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.order_statistics import best_places

# candidates in a chunk: for each level, and in all, at least
_CHUNK_LEVELS, _CHUNK = 2, 1 << 11
# candidates that are looked at together: small enough for the cache
_TOGETHER = 1 << 14

LevelsOf = Callable[[slice], NDArray[np.int64]]
"""The levels of some candidates in a row, from 0 to the deepest."""


class Levels:
    """How many candidates there are at each level, beside the best.

    best: the best candidates, which are not counted, and `best_levels` their levels.
    counts: for each level how many others there are.
    """

    __slots__ = ("_chunk", "_levels", "_table", "best", "counts")

    def __init__(
        self,
        size: int,
        deepest: int,
        levels_of: LevelsOf,
        best: NDArray[np.int64],
        best_levels: NDArray[np.int64],
    ) -> None:
        self.best = best
        number = deepest + 1
        self._chunk = max(_CHUNK, _CHUNK_LEVELS * number)
        self._levels = np.empty(size, dtype=np.uint16 if number < 1 << 16 else np.uint32)
        together = max(1, _TOGETHER // self._chunk) * self._chunk
        # so that each chunk has levels of its own
        shifts = np.arange(together) // self._chunk * number
        rows = []
        for start in range(0, size, together):
            part = slice(start, min(start + together, size))
            found = levels_of(part)
            self._levels[part] = found
            found += shifts[: found.size]
            chunks = -(-found.size // self._chunk)
            rows.append(np.bincount(found, minlength=chunks * number).astype(np.int32))
        self._table = np.concatenate(rows).reshape(-1, number)
        # the best are at no level
        np.subtract.at(self._table, (best // self._chunk, best_levels), 1)
        self._levels[best] = number
        self.counts: NDArray[np.int64] = self._table.sum(axis=0, dtype=np.int64)

    def find(self, level: int, rank: int) -> int:
        """The rank-th candidate of a level, counted from 0, that is none of the best."""
        reached = self._table[:, level].cumsum()
        number = int(reached.searchsorted(rank, side="right"))
        start, before = number * self._chunk, int(reached[number - 1]) if number else 0
        members = (self._levels[start : start + self._chunk] == level).cumsum()
        return start + int(members.searchsorted(rank - before, side="right"))


def whole_levels(scores: NDArray[Any], smallest: bool, count: int, deepest: int) -> Levels:
    """Levels of integers below 2^51 in size, in steps of 1, beside the best `count`."""
    best = best_places(scores, smallest, count)
    last = int(scores[best[-1]])

    def levels_of(part: slice) -> NDArray[np.int64]:
        ends = (scores[part], last) if smallest else (last, scores[part])
        behind: NDArray[np.int64] = np.subtract(*ends, dtype=np.int64)
        np.maximum(behind, 0, out=behind)
        return np.minimum(behind, deepest, out=behind)

    # also those that are ahead of the last one
    return Levels(scores.size, deepest, levels_of, best, np.zeros_like(best))
