"""Candidates in a row whose errors rise from left to right, from far below zero to far above.

The best are where the row crosses zero. So the candidates of one level of distance are two neighbourhoods of the row, one on each side,
and two divisions find their ends: a row of a million million million candidates costs no more than the stretches that it is made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.samplers.levels import LAST_LEVEL, LEVELS_PER_SCALE, LevelEnvelope, split


class Ramp:
    """A row of candidates, and an envelope to draw from: odds exp(-rate * |error|).

    lengths: how many candidates each stretch of the row has; none is empty.
    errors: of the first candidate of each stretch, in whole units: 64-bit ones, or larger ones as objects.
    slopes: by how much the error rises from one candidate of a stretch to the next. No error is below the one before it.
    rate: how many noise scales a unit is.
    """

    __slots__ = ("_above", "_below", "_errors", "_lasts", "_least", "_rate", "_size", "_slopes", "_starts")

    def __init__(self, lengths: NDArray[np.int64], errors: NDArray[Any], slopes: NDArray[Any], rate: fmpq) -> None:
        ends = lengths.cumsum()
        self._starts, self._size = ends - lengths, int(ends[-1])
        self._errors, self._slopes, self._lasts = errors, slopes, errors + slopes * (lengths - 1)
        self._rate = rate
        middle = int(self._reach([0])[0])
        self._least = min(abs(self._error(place)) for place in (middle - 1, middle) if 0 <= place < self._size)
        most = max(abs(self._error(place)) for place in (0, self._size - 1)) - self._least
        heights = [self._least + behind for behind in _level_steps(rate, most)]
        # What is at least so far behind is at or after `above`, or before `below`.
        self._above = self._reach(heights)
        self._below = np.minimum(self._reach([1 - height for height in heights]), middle)

    def envelope(self) -> LevelEnvelope:
        """What a sampler draws from."""
        sizes = np.diff(self._above, append=self._size) - np.diff(self._below, append=0)
        return LevelEnvelope({level: int(size) for level, size in enumerate(sizes) if size}, self._distance)

    def locate(self, candidate: int) -> int:
        """The place in the row of a candidate that was drawn."""
        return self._place(*split(candidate))

    def _distance(self, level: int, place: int) -> fmpq:
        return (abs(self._error(self._place(level, place))) - self._least) * self._rate

    def _place(self, level: int, place: int) -> int:
        """Those of a level that are above zero come first, then those below."""
        last = level == self._above.size - 1
        next_above = self._size if last else int(self._above[level + 1])
        above = int(self._above[level])
        if place < next_above - above:
            return above + place
        return (0 if last else int(self._below[level + 1])) + place - (next_above - above)

    def _error(self, place: int) -> int:
        stretch = int(self._starts.searchsorted(place, side="right")) - 1
        return int(self._errors[stretch]) + int(self._slopes[stretch]) * (place - int(self._starts[stretch]))

    def _reach(self, heights: list[int]) -> NDArray[np.int64]:
        """For each height, the first place in the row whose error is at least that; the end of the row if none is."""
        wanted = np.array(heights, dtype=self._errors.dtype)
        stretch = self._lasts.searchsorted(wanted)
        places = np.full(len(heights), self._size, dtype=np.int64)
        there = np.flatnonzero(stretch < self._lasts.size)
        stretch = stretch[there]
        missing = np.maximum(wanted[there] - self._errors[stretch], 0)
        steps = -(-missing // np.maximum(self._slopes[stretch], 1))  # on a level stretch nothing is missing
        places[there] = self._starts[stretch] + steps.astype(np.int64)
        return places


def _level_steps(rate: fmpq, most: int) -> list[int]:
    """How many units behind each level begins, rounded up, as far as anybody is behind."""
    numerator, denominator = int(rate.p) * LEVELS_PER_SCALE, int(rate.q)
    last = min(LAST_LEVEL, most * numerator // denominator)
    return [-(-level * denominator // numerator) for level in range(last + 1)]
