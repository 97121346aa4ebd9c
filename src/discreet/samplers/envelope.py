"""Proposals: candidates drawn, by integer arithmetic alone, with odds a little above
the ideal ones.

Each candidate gets a *weight*, an integer number of 1/UNIT, with ``exp(-distance) <=
weight / UNIT <= 1``. Weights come from the bits of a float32: taking an estimate of
``distance / ln 2 * 2^23`` from the bits of 1.0 gives the chord of 2^-z between whole z,
which lies above the convex 2^-z by at most 6.2%. No exponential is computed. What is
exact is the bookkeeping: a proposal comes with odds exactly proportional to the
weights, and the sampler then keeps it with probability ``exp(-distance) * UNIT /
weight``, which makes the ideal distribution again, to the last bit.

Candidates lie in blocks of 1,024. One pass leaves an upper bound of each block's weight
(its *mass*); a proposal picks a block by mass, computes that one block again in
integers, and proposes nothing where the mass was more than the weights. The pass is
straight-line arithmetic: its time does not depend on the scores.

Keeping proposals by that coin until one is kept *is* the exponential mechanism. Other
samplers also need the time at which a proposal comes: `Clock`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import ball
from discreet.randomness.chance import Chance, LazyUniform
from discreet.samplers.distances import GRAIN, Distances, Estimates

Proposal = tuple[int, int] | None
"""A candidate and its weight, or nothing."""

UNIT = 1 << 51
"""The weight of the best candidate; a float32 in [2^-28, 1] is a whole multiple of 1/UNIT."""

# halvings; everything farther has weight 2^-28, and an acceptance coin that is all the
# smaller
_REACH = 28
LIGHTEST = UNIT >> _REACH
"""The weight of each candidate that is out of reach."""

# when an eighth of all blocks is near, one pass over all of them is faster than going
# from block to block
_MANY = 8
_BLOCK = 1024
# small enough for the cache, large enough that NumPy's cost of a call does not show
_CHUNK = 64 * _BLOCK
# masses count in 2^-20, so that those of 2^42 candidates add up within 63 bits
_WEIGHTS_PER_MASS = 1 << 31
# arrays, which NumPy need not make of them for each call
_BITS_OF_ONE = np.array(0x3F800000, dtype=np.int32)
# the float32 of UNIT itself; weights counted from there are whole numbers
_BITS_OF_UNIT = np.array(0x3F800000 + (51 << 23), dtype=np.int32)
# an array, because NumPy's minimum with a scalar is slower
_FARTHEST = np.full(_CHUNK, float(_REACH * GRAIN))
# A float32 sum of 1,024 positive terms, added in any order, is below the true one by less
# than 1023 * 2^-24 < 2^-14 relative; this factor makes up for it and for its own rounding.
_MASS_FACTOR = (1 + 2.0**-13) * 2.0**20


class Proposals(Protocol):
    """What a sampler needs to know of the candidates."""

    @property
    def total(self) -> int:
        """The sum of the weights, or of the masses that bound them, in 1/UNIT."""

    def propose(self, chance: Chance) -> Proposal:
        """A candidate and its weight, with odds weight / total; nothing, with the odds
        that are left.
        """

    def keep(self, candidate: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * unit / weight."""

    def rebase(self) -> int:
        """Let `unit` stand for the best candidate, and return it: that one is then kept
        with certainty.
        """


class Envelope:
    """Weights that bound the ideal odds of all candidates from above.

    masses: upper bounds of the weights of all blocks, where these are known already.
    cap: no weight is above it, in 1/UNIT.
    """

    __slots__ = (
        "_block",
        "_cap",
        "_cumulative",
        "_many_blocks",
        "_masses",
        "distances",
        "total",
        "unit",
    )

    def __init__(
        self, distances: Distances, *, masses: NDArray[np.int64] | None = None, cap: int = UNIT
    ) -> None:
        self.distances = distances
        self.unit = UNIT
        """The weight that stands for certainty: a candidate is kept with probability
        exp(-distance) * unit / weight.
        """
        self._cap = cap
        # the block used last
        self._block: tuple[int, NDArray[np.int64]] | None = None
        # a single block will be proposed from: its weights are all there is to know
        self._many_blocks = distances.size > _BLOCK
        if self._many_blocks:
            self._masses = block_masses(distances, _BLOCK) if masses is None else masses
        self.total = 0
        """The sum of the weights, or of the masses that bound them, in 1/UNIT."""
        self._add_up()

    def propose(self, chance: Chance) -> Proposal:
        """A candidate and its weight, with odds weight / total; nothing, with the odds
        that are left.
        """
        number = self._pick_block(chance)
        return self._propose_from(number, self._cumulative_weights(number), chance)

    def keep(self, candidate: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * unit / weight: at least 15/16, unless
        the candidate is out of reach.
        """
        return chance.decay(
            lambda: self.behind(candidate), self.unit, weight, likely=weight > LIGHTEST
        )

    def behind(self, candidate: int) -> fmpq:
        """The exact distance of a candidate behind the one that `unit` stands for."""
        return self.distances.exact(candidate)

    def rebase(self) -> int:
        """Let `unit` stand for the best candidate, and return it: that one is then kept
        with certainty.
        """
        return self.unit

    def capped(self, cap: int) -> Envelope:
        """Cut all weights off at `cap`, in 1/UNIT. Looks again only
        at blocks whose sum the cap changes.
        """
        if not self._many_blocks:
            return Envelope(self.distances, cap=cap)
        # its mass with all candidates at the cap, rounded up
        whole_block = -(-cap * _BLOCK // _WEIGHTS_PER_MASS)
        capped = Envelope(self.distances, masses=np.minimum(self._masses, whole_block), cap=cap)
        changed = (self._masses > cap // _WEIGHTS_PER_MASS) & (self._masses < whole_block)
        for number in np.flatnonzero(changed).tolist():
            capped._reweigh(number)
        return Envelope(self.distances, masses=capped._masses, cap=cap)

    def _look_again(self, near: NDArray[np.intp], changed: Iterable[int]) -> None:
        """Find the masses anew, from where the distances are counted now.

        All blocks but the `near` ones are out of reach, or empty. Where all candidates
        of a block count, one pass may find its mass; in the `changed` blocks they do
        not, and one that is gone would weigh more than all that are left.
        """
        numbers = near.tolist()
        if near.size * _MANY > self._masses.size:
            self._masses = block_masses(self.distances, _BLOCK)
            numbers = list(changed)
        else:
            self._masses[:] = -(-_BLOCK * LIGHTEST // _WEIGHTS_PER_MASS)
        for number in numbers:
            self._reweigh(number)

    def _pick_block(self, chance: Chance) -> int:
        return chance.pick(self._cumulative, int(self._cumulative[-1])) if self._many_blocks else 0

    def _propose_from(self, number: int, weights: NDArray[np.int64], chance: Chance) -> Proposal:
        """A candidate of this block, whose weights have these running sums."""
        mass = int(self._masses[number]) * _WEIGHTS_PER_MASS if self._many_blocks else self.total
        place = chance.pick(weights, mass)
        if place == weights.size:
            return None
        weight = weights.item(place) - (weights.item(place - 1) if place else 0)
        return self._start(number) + place, weight

    def _weights_up_to(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The masses of some blocks, of many, as weights."""
        return self._masses[numbers] * _WEIGHTS_PER_MASS

    def _correct(self, numbers: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
        """Set the masses of some blocks, of many, to their weights, rounded up."""
        self._masses[numbers] = -(-sums // _WEIGHTS_PER_MASS)
        self._add_up()

    def _start(self, number: int) -> int:
        """The first candidate of a block."""
        return number * _BLOCK

    def _reweigh(self, number: int) -> None:
        """Set the mass of one block to its weight, rounded up."""
        self._masses[number] = -(-int(self._cumulative_weights(number)[-1]) // _WEIGHTS_PER_MASS)

    def _add_up(self) -> None:
        """Follow a change of the weights or masses."""
        if self._many_blocks:
            self._cumulative = np.cumsum(self._masses)
            self.total = int(self._cumulative[-1]) * _WEIGHTS_PER_MASS
        else:
            self.total = self._cumulative_weights(0).item(-1)

    def _cumulative_weights(self, number: int) -> NDArray[np.int64]:
        """The running sum of the integer weights of one block."""
        if self._block is None or self._block[0] != number:
            self._block = number, np.add.accumulate(self._weights(number))
        return self._block[1]

    def _weights(self, number: int) -> NDArray[np.int64]:
        """The integer weights of one block."""
        start = self._start(number)
        return self._whole_weights(self.distances, start, min(_BLOCK, self.distances.size - start))

    def _whole_weights(self, distances: Distances, start: int, size: int) -> NDArray[np.int64]:
        """The integer weights of some candidates, none above the cap."""
        bits = np.empty(size, dtype=np.int32)
        exact = _float_weights(distances, start, np.empty(size), bits, _BITS_OF_UNIT).astype(
            np.int64
        )
        if self._cap < UNIT:
            np.minimum(exact, self._cap, out=exact)
        return exact


def block_bounds(size: int) -> NDArray[np.intp]:
    """Where the blocks of `size` candidates begin, and where the last one ends."""
    return np.append(np.arange(0, size, _BLOCK), size)


def in_reach(distances: Distances) -> NDArray[np.intp]:
    """The candidates that are not out of reach."""
    estimates = np.empty(distances.size)
    distances.estimate(0, distances.size, estimates)
    return np.flatnonzero(estimates < _REACH * GRAIN)


def block_masses(distances: Estimates, block: int, *, fold: int = 1) -> NDArray[np.int64]:
    """One pass over the scores: an upper bound of the weight of each block.

    block: how many candidates a block has: 1,024, or a part of that without a rest.
    fold: how many scores are looked at for each candidate.
    """
    size = distances.size
    sums = np.empty(-(-size // block), dtype=np.float32)
    # A quarter of the scores at once, at most, so that the buffers stay small beside them.
    chunk = min(_CHUNK, max(8, size * fold // 4 // _BLOCK) * _BLOCK)
    # One piece of memory, which the next call gets again: the system takes back several
    # that are freed together, and fresh memory costs more than the pass.
    scratch = np.empty(3 * chunk, dtype=np.int32)
    estimates, bits = scratch[: 2 * chunk].view(np.float64), scratch[2 * chunk :]
    for start in range(0, size, chunk):
        here = min(chunk, size - start)
        weights = _float_weights(distances, start, estimates[:here], bits[:here])
        first, whole, rest = start // block, here // block, here % block
        if whole:
            table = weights[: whole * block].reshape(whole, block)
            # in one thread: BLAS would wait for others, which a busy machine does not run
            np.einsum("ij->i", table, out=sums[first : first + whole])
        if rest:
            sums[-1] = weights[-rest:].sum()
    return np.ceil(sums.astype(np.float64) * _MASS_FACTOR).astype(np.int64)


def _float_weights(
    distances: Estimates,
    start: int,
    estimates: NDArray[np.float64],
    bits: NDArray[np.int32],
    best: NDArray[np.int32] = _BITS_OF_ONE,
) -> NDArray[np.float32]:
    """The weights of the candidates from `start` on, as many as `bits` has room for,
    and in its memory.

    best: the bits of the float32 that is the weight of the best candidate, a power of
        two.
    """
    distances.estimate(start, start + bits.size, estimates)
    np.minimum(estimates, _FARTHEST[: bits.size], out=estimates)
    # rounds towards 0
    bits[:] = estimates
    np.subtract(best, bits, out=bits)
    return bits.view(np.float32)


def table_of_weights(distances: Distances, unit: int) -> NDArray[np.int64]:
    """The weights of all candidates, rounded up to whole numbers of 1/unit, a power of two."""
    weights = np.empty(distances.size, dtype=np.int64)
    best = np.array(int(_BITS_OF_ONE) + ((unit.bit_length() - 1) << 23), dtype=np.int32)
    for start in range(0, distances.size, _CHUNK):
        part = weights[start : start + _CHUNK]
        floats = _float_weights(
            distances, start, np.empty(part.size), np.empty(part.size, dtype=np.int32), best
        )
        part[:] = np.ceil(floats, out=floats)
    return weights


def draw_exponential(envelope: Proposals, chance: Chance) -> int:
    """Propose until a proposal is kept: odds weight / UNIT, times exp(-distance) * UNIT
    / weight.
    """
    while True:
        proposal = envelope.propose(chance)
        if proposal is None:
            continue
        candidate, weight = proposal
        if envelope.keep(candidate, weight, chance):
            return candidate


class Clock:
    """The time of the latest proposal, from `start` on: gaps are exponential, with
    total / unit proposals in a unit of time.
    """

    __slots__ = ("_known", "_start", "_total", "_unit", "gaps")

    def __init__(self, start: int | Fraction, total: int, unit: int = UNIT) -> None:
        self._start, self._total, self._unit = start, total, unit
        self.gaps: list[LazyUniform] = []
        # for each precision, how many gaps are added up, their sum, and the time then
        self._known: dict[int, tuple[int, arb, arb]] = {}

    def time(self, precision: int) -> arb:
        """An enclosure of the time; -log of a uniform variable is an exponential one."""
        known = self._known.get(precision)
        if known is not None and known[0] == len(self.gaps):
            return known[2]
        done, elapsed = (0, arb(0)) if known is None else known[:2]
        for gap in self.gaps[done:]:
            elapsed -= gap.ball(precision).log()
        time = elapsed * self._unit / self._total
        if self._start:
            time += ball(self._start)
        self._known[precision] = len(self.gaps), elapsed, time
        return time
