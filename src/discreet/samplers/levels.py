"""Candidates that stay in a database: only how many there are on each level of distance comes to Python.

Level l holds the candidates whose distance is at least l / 8 noise scales (and not much more, except on the last level). All of one
level have the same weight, just above exp(-l / 8), so a proposal is a level, with odds of its number of candidates times that weight,
and a place on it. Only then one candidate is fetched, and kept with an exact coin. So the law is the ideal one, although the engine
only ever counted, and rounded distances down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from flint import arb, fmpq

from discreet.certified import at_precision
from discreet.samplers.chance import Chance
from discreet.samplers.envelope import Proposal

UNIT = 1 << 104
"""The weight of the best candidate; the smallest weights still have a dozen binary digits."""

LEVELS_PER_SCALE = 8
LAST_LEVEL = 512
"""Sixty-four noise scales and more behind the best: even 2^60 such candidates together are then rarely proposed."""

_PRECISION = 192  # bits; the same weights in every process, whatever flint is set to


class LevelEnvelope:
    """Proposals from the number of candidates on each level.

    distance: from a level and a place on it to the exact distance of that candidate; the same answer each time.
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
        """True with probability exp(-distance) * UNIT / weight."""
        return chance.decay(lambda: self._distance(*split(candidate)), UNIT, weight, likely=False)

    def level(self) -> int:
        """The weight that stands for the best candidate."""
        return UNIT


def split(candidate: int) -> tuple[int, int]:
    """The level and the place of a candidate."""
    place, level = divmod(candidate, LAST_LEVEL + 1)
    return level, place


@cache
def weight_of(level: int) -> int:
    """A whole number at or above UNIT * exp(-level / 8), and at most UNIT."""
    whole = at_precision(_PRECISION, lambda: ((-arb(level) / LEVELS_PER_SCALE).exp() * UNIT).upper().ceil().unique_fmpz())
    assert whole is not None  # the upper end of a ball is one number
    return min(UNIT, int(whole))
