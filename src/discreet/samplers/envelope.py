"""Proposals: candidates drawn, by integer arithmetic alone, with odds a little above the ideal ones.

Each candidate gets a *weight*, an integer number of 1/UNIT, with ``exp(-distance) <= weight / UNIT <= 1``. Weights come from
the bits of a float32: taking an estimate of ``distance / ln 2 * 2^23`` from the bits of 1.0 gives the chord of 2^-z between
whole z, which lies above the convex 2^-z by at most 6.2 %. No exponential is computed. What is exact is the bookkeeping:
a proposal comes with odds exactly proportional to the weights, and the sampler then keeps it with probability
``exp(-distance) * UNIT / weight``, which makes the ideal distribution again, to the last bit.

Candidates lie in blocks of 1,024. One pass leaves an upper bound of each block's weight (its *mass*); a proposal picks a
block by mass, computes that one block again in integers, and proposes nothing where the mass was more than the weights.
The pass is straight-line arithmetic: its time does not depend on the scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.chance import Chance
from discreet.samplers.distances import GRAIN, Distances

UNIT = 1 << 51
"""The weight of the best candidate; a float32 in [2^-28, 1] is a whole multiple of 1/UNIT."""

_FLOAT_UNIT = np.float32(UNIT)
_REACH = 28  # halvings; everything farther has weight 2^-28, and an acceptance coin that is all the smaller
_LIGHTEST = UNIT >> _REACH
_BLOCK = 1024
_CHUNK = 64 * _BLOCK  # small enough for the cache, large enough that NumPy's cost of a call does not show
_WEIGHTS_PER_MASS = 1 << 31  # masses count in 2^-20, so that those of 2^43 candidates add up within 63 bits
_BITS_OF_ONE = np.int32(0x3F800000)
_FARTHEST = np.full(_CHUNK, float(_REACH * GRAIN))  # an array, because NumPy's minimum with a scalar is slower
_ONES = np.ones(_BLOCK, dtype=np.float32)
# A float32 sum of 1,024 positive terms, added in any order, is below the true one by less than 1023 * 2^-24 < 2^-14
# relative; this factor makes up for it and for its own rounding.
_MASS_FACTOR = (1 + 2.0**-13) * 2.0**20


class Envelope:
    """Weights that bound the ideal odds of all candidates from above."""

    __slots__ = ("_block", "_cap", "_cumulative", "_masses", "distances", "total")

    def __init__(self, distances: Distances, *, masses: NDArray[np.int64] | None = None, cap: int = UNIT) -> None:
        self.distances = distances
        self._cap = cap
        self._block: tuple[int, NDArray[np.int64]] | None = None  # the block used last
        if distances.size <= _BLOCK:  # the one block will be proposed from: its weights are all there is to know
            self.total = int(self._cumulative_weights(0)[-1])
            """The sum of the weights, or of the masses that bound them, in 1/UNIT."""
        else:
            self._masses = _masses(distances) if masses is None else masses
            self._cumulative = np.cumsum(self._masses)
            self.total = int(self._cumulative[-1]) * _WEIGHTS_PER_MASS

    def propose(self, chance: Chance) -> tuple[int, int] | None:
        """A candidate and its weight, with odds weight / total; nothing, with the odds that are left."""
        number, mass = 0, self.total
        if self.distances.size > _BLOCK:
            number = chance.pick(self._cumulative, int(self._cumulative[-1]))
            mass = int(self._masses[number]) * _WEIGHTS_PER_MASS
        weights = self._cumulative_weights(number)
        place = chance.pick(weights, mass)
        if place == weights.size:
            return None
        weight = int(weights[place]) - (int(weights[place - 1]) if place else 0)
        return number * _BLOCK + place, weight

    def keep(self, candidate: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * UNIT / weight: at least 15/16, unless the candidate is out of reach."""
        return chance.decay(lambda: self.distances.exact(candidate), UNIT, weight, likely=weight > _LIGHTEST)

    def capped(self, cap: int) -> Envelope:
        """The same candidates with no weight above `cap`, in 1/UNIT. Looks again only at blocks whose sum the cap changes."""
        if self.distances.size <= _BLOCK:
            return Envelope(self.distances, cap=cap)
        whole_block = -(-cap * _BLOCK // _WEIGHTS_PER_MASS)  # its mass with all candidates at the cap, rounded up
        capped = Envelope(self.distances, masses=np.minimum(self._masses, whole_block), cap=cap)
        changed = (self._masses > cap // _WEIGHTS_PER_MASS) & (self._masses < whole_block)
        for number in np.flatnonzero(changed).tolist():
            capped._masses[number] = -(-int(capped._cumulative_weights(number)[-1]) // _WEIGHTS_PER_MASS)
        return Envelope(self.distances, masses=capped._masses, cap=cap)

    def _cumulative_weights(self, number: int) -> NDArray[np.int64]:
        """The running sum of the integer weights of one block."""
        if self._block is None or self._block[0] != number:
            start = number * _BLOCK
            size = min(_BLOCK, self.distances.size - start)
            weights = _float_weights(self.distances, start, np.empty(size), np.empty(size, dtype=np.int32))
            exact = (weights * _FLOAT_UNIT).astype(np.int64)
            if self._cap < UNIT:
                np.minimum(exact, self._cap, out=exact)
            self._block = number, exact.cumsum()
        return self._block[1]


def _masses(distances: Distances) -> NDArray[np.int64]:
    """One pass over the scores: an upper bound of the weight of each block."""
    size = distances.size
    sums = np.empty(-(-size // _BLOCK), dtype=np.float32)
    # A quarter of the candidates at once, at most, so that the buffers stay small beside the scores.
    chunk = min(_CHUNK, max(8, size // 4 // _BLOCK) * _BLOCK)
    estimates, bits = np.empty(chunk), np.empty(chunk, dtype=np.int32)
    for start in range(0, size, chunk):
        here = min(chunk, size - start)
        weights = _float_weights(distances, start, estimates[:here], bits[:here])
        first, whole, rest = start // _BLOCK, here // _BLOCK, here % _BLOCK
        if whole:
            table = weights[: whole * _BLOCK].reshape(whole, _BLOCK)
            np.dot(table, _ONES, out=sums[first : first + whole])
        if rest:
            sums[-1] = np.dot(weights[-rest:], _ONES[:rest])
    return np.ceil(sums.astype(np.float64) * _MASS_FACTOR).astype(np.int64)


def _float_weights(
    distances: Distances, start: int, estimates: NDArray[np.float64], bits: NDArray[np.int32]
) -> NDArray[np.float32]:
    """The weights of the candidates from `start` on, as many as `bits` has room for, and in its memory."""
    distances.estimate(start, start + bits.size, estimates)
    np.minimum(estimates, _FARTHEST[: bits.size], out=estimates)
    bits[:] = estimates  # rounds towards 0
    np.subtract(_BITS_OF_ONE, bits, out=bits)
    return bits.view(np.float32)
