"""Draws from very many candidates of which only the number on each level of distance is
known: candidates in a database, in pieces, or in a row.

*Levels* (`LevelEnvelope`). Level l holds the candidates whose distance is at least l / 8
noise scales (and not much more, except on the last level). All of one level have the
same weight, just above exp(-l / 8), so a proposal is a level, with odds of its number of
candidates times that weight, and a place on it. Only then one candidate is fetched, and
kept with an exact coin. So the law is the ideal one, although the engine only ever
counted, and rounded distances down.

*Pieces* (`GroupedCandidates`). All candidates of one piece have the same distance, as the points
of a grid between two values do. A grid may have a million million points, but no more
different distances than there are values. So the pieces are put on levels, as
candidates in a database are, and a candidate is a piece and a place on it.

*Rows* (`Ramp`). The errors of candidates in a row rise from left to right, from far
below zero to far above, and the best are where the row crosses zero. So the candidates
of one level of distance are two neighbourhoods of the row, one on each side, and two
divisions find their ends: a row of a million million million candidates costs no more
than the stretches that it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers.distances import finite_float
from discreet.samplers.envelope import Proposal
from discreet.samplers.order_statistics import pieces_of, sorted_places

LEVEL_UNIT = 1 << 104
"""The weight of the best candidate; the smallest weights still have a dozen binary digits."""

LEVELS_PER_SCALE = 8
LAST_LEVEL = 512
"""Sixty-four noise scales and more behind the best: even 2^60 such candidates together
are then rarely proposed.
"""

# bits; the same weights in every process, whatever flint is set to
_BITS = 192


class LevelEnvelope:
    """Proposals from the number of candidates on each level.

    sizes: how many candidates are on each level that has any.
    distance: from a level and a place on it to the exact distance of that candidate;
        the same answer each time.
    """

    __slots__ = ("_cumulative", "_distance", "_levels", "_sizes", "total")

    def __init__(self, sizes: Mapping[int, int], distance: Callable[[int, int], fmpq]) -> None:
        self._levels = sorted(sizes)
        self._sizes, self._distance = sizes, distance
        weights = [sizes[level] * weight_of(level) for level in self._levels]
        self._cumulative = np.cumsum(np.array(weights, dtype=object))
        self.total = int(self._cumulative[-1])

    def propose(self, chance: Chance) -> Proposal:
        """A candidate, as one number for its level and place, and its weight."""
        level = self._levels[chance.pick(self._cumulative, self.total)]
        place = chance.below(self._sizes[level])
        return place * (LAST_LEVEL + 1) + level, weight_of(level)

    def keep(self, candidate: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * LEVEL_UNIT / weight."""
        return chance.decay(
            lambda: self._distance(*split(candidate)), LEVEL_UNIT, weight, likely=False
        )

    def rebase(self) -> int:
        """The weight that stands for the best candidate."""
        return LEVEL_UNIT


def split(candidate: int) -> tuple[int, int]:
    """The level and the place of a candidate."""
    place, level = divmod(candidate, LAST_LEVEL + 1)
    return level, place


@cache
def weight_of(level: int) -> int:
    """A whole number at or above LEVEL_UNIT * exp(-level / 8), and at most LEVEL_UNIT."""
    whole = at_precision(
        _BITS,
        lambda: ((-arb(level) / LEVELS_PER_SCALE).exp() * LEVEL_UNIT).upper().ceil().unique_fmpz(),
    )
    # the upper end of a ball is one number
    assert whole is not None
    return min(LEVEL_UNIT, int(whole))


_SMALLEST, _LARGEST = 1e-280, 1e280
# makes up for the rounding of the factor, of what it is multiplied with, and of the
# product
_SLACK = 1 - 2.0**-49


class GroupedCandidates:
    """Groups of candidates, and an envelope to draw from.

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
        sizes = {
            int(level): int(reach[-1])
            for level, reach in zip(self._levels, self._reach, strict=True)
        }
        return LevelEnvelope(
            sizes, lambda level, place: int(self._behind[self._piece(level, place)[0]]) * self._rate
        )

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
    factor = finite_float(rate)
    # beyond what floats can stand for
    if behind.dtype == object or not _SMALLEST < factor < _LARGEST:
        numerator, denominator = int(rate.p) * LEVELS_PER_SCALE, int(rate.q)
        return np.array(
            [min(int(units) * numerator // denominator, LAST_LEVEL) for units in behind],
            dtype=np.int64,
        )
    return np.minimum(
        np.floor(behind.astype(np.float64) * (factor * LEVELS_PER_SCALE * _SLACK)), LAST_LEVEL
    ).astype(np.int64)


class Ramp:
    """A row of candidates, and an envelope to draw from: odds exp(-rate * |error|).

    lengths: how many candidates each stretch of the row has; none is empty.
    errors: of the first candidate of each stretch, in whole units: 64-bit ones, or
        larger ones as objects.
    slopes: by how much the error rises from one candidate of a stretch to the next. No
        error is below the one before it.
    rate: how many noise scales a unit is.
    """

    __slots__ = (
        "_above",
        "_below",
        "_errors",
        "_lasts",
        "_least",
        "_rate",
        "_size",
        "_slopes",
        "_starts",
    )

    def __init__(
        self, lengths: NDArray[np.int64], errors: NDArray[Any], slopes: NDArray[Any], rate: fmpq
    ) -> None:
        ends = lengths.cumsum()
        self._starts, self._size = ends - lengths, int(ends[-1])
        self._errors, self._slopes, self._lasts = errors, slopes, errors + slopes * (lengths - 1)
        self._rate = rate
        middle = int(self._reach([0])[0])
        self._least = min(
            abs(self._error(place)) for place in (middle - 1, middle) if 0 <= place < self._size
        )
        most = max(abs(self._error(place)) for place in (0, self._size - 1)) - self._least
        heights = [self._least + behind for behind in _level_steps(rate, most)]
        # What is at least as far behind as a height is at or after `above`, or before `below`.
        self._above = self._reach(heights)
        self._below = np.minimum(self._reach([1 - height for height in heights]), middle)

    def envelope(self) -> LevelEnvelope:
        """What a sampler draws from."""
        sizes = np.diff(self._above, append=self._size) - np.diff(self._below, append=0)
        return LevelEnvelope(
            {level: int(size) for level, size in enumerate(sizes) if size}, self._distance
        )

    def locate(self, candidate: int) -> int:
        """The place in the row of a candidate that was drawn."""
        return self._place(*split(candidate))

    def _distance(self, level: int, place: int) -> fmpq:
        return (abs(self._error(self._place(level, place))) - self._least) * self._rate

    def _place(self, level: int, place: int) -> int:
        """The place in the row of a candidate on a level: errors above zero come first."""
        last = level == self._above.size - 1
        next_above = self._size if last else int(self._above[level + 1])
        above = int(self._above[level])
        if place < next_above - above:
            return above + place
        return (0 if last else int(self._below[level + 1])) + place - (next_above - above)

    def _error(self, place: int) -> int:
        stretch = int(self._starts.searchsorted(place, side="right")) - 1
        return int(self._errors[stretch]) + int(self._slopes[stretch]) * (
            place - int(self._starts[stretch])
        )

    def _reach(self, heights: list[int]) -> NDArray[np.int64]:
        """For each height, the first place in the row whose error is at least that; the
        end of the row if none is.
        """
        wanted = np.array(heights, dtype=self._errors.dtype)
        stretch = self._lasts.searchsorted(wanted)
        places = np.full(len(heights), self._size, dtype=np.int64)
        there = np.flatnonzero(stretch < self._lasts.size)
        stretch = stretch[there]
        missing = np.maximum(wanted[there] - self._errors[stretch], 0)
        # on a level stretch nothing is missing
        steps = -(-missing // np.maximum(self._slopes[stretch], 1))
        places[there] = self._starts[stretch] + steps.astype(np.int64)
        return places


def _level_steps(rate: fmpq, most: int) -> list[int]:
    """How many units behind the best each level begins, rounded up; up to the last level
    that a candidate can be on.

    most: how many units the farthest candidate is behind.
    """
    numerator, denominator = int(rate.p) * LEVELS_PER_SCALE, int(rate.q)
    last = min(LAST_LEVEL, most * numerator // denominator)
    return [-(-level * denominator // numerator) for level in range(last + 1)]
