"""Candidates that come in pieces: all of one piece have the same distance, as the points of a grid between two values do.

A grid may have a million million points, but no more different distances than there are values. So the pieces are put on levels, as
levels.py does it for candidates in a database, and a candidate is a piece and a place on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.samplers.distances import nearest_float
from discreet.samplers.levels import LAST_LEVEL, LEVELS_PER_SCALE, LevelEnvelope, split
from discreet.samplers.order import pieces_of, sorted_places

_SMALLEST, _LARGEST = 1e-280, 1e280
_SLACK = 1 - 2.0**-49  # makes up for the rounding of the factor, of what it is multiplied with, and of the product


class Pieces:
    """Pieces of candidates, and an envelope to draw from.

    lengths: how many candidates each piece has; none is empty.
    behind: how far each piece is behind the best one, in whole units.
    rate: how many noise scales a unit is.
    """

    __slots__ = ("_behind", "_lengths", "_levels", "_members", "_rate", "_reach")

    def __init__(self, lengths: NDArray[np.int64], behind: NDArray[Any], rate: fmpq) -> None:
        self._lengths, self._behind, self._rate = lengths, behind, rate
        levels = _levels(behind, rate)
        order = sorted_places(levels.view(np.uint64), pieces_of(LAST_LEVEL))
        ordered = levels[order]
        first = np.append(True, ordered[1:] != ordered[:-1])
        self._levels, starts = ordered[first], np.arange(order.size)[first]
        self._members = np.split(order, starts[1:])
        self._reach = [lengths[members].cumsum() for members in self._members]

    def envelope(self) -> LevelEnvelope:
        """What a sampler draws from."""
        sizes = {int(level): int(reach[-1]) for level, reach in zip(self._levels, self._reach, strict=True)}
        return LevelEnvelope(sizes, lambda level, place: int(self._behind[self._piece(level, place)[0]]) * self._rate)

    def locate(self, candidate: int) -> tuple[int, int]:
        """The piece of a candidate that was drawn, and its place on it."""
        return self._piece(*split(candidate))

    def _piece(self, level: int, place: int) -> tuple[int, int]:
        number = int(self._levels.searchsorted(level))
        reach = self._reach[number]
        member = int(reach.searchsorted(place, side="right"))
        return int(self._members[number][member]), place - (int(reach[member - 1]) if member else 0)


def _levels(behind: NDArray[Any], rate: fmpq) -> NDArray[np.int64]:
    """The level of each piece, never rounded up."""
    factor = nearest_float(rate)
    if behind.dtype == object or not _SMALLEST < factor < _LARGEST:  # beyond what floats can stand for
        numerator, denominator = int(rate.p) * LEVELS_PER_SCALE, int(rate.q)
        return np.array([min(int(units) * numerator // denominator, LAST_LEVEL) for units in behind], dtype=np.int64)
    return np.minimum(np.floor(behind.astype(np.float64) * (factor * LEVELS_PER_SCALE * _SLACK)), LAST_LEVEL).astype(np.int64)
