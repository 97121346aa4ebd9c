"""An envelope for one draw from very many candidates, which does most of its work on a
quarter of them.

Candidates lie in four rows, and only the best of each *column* gets a weight in the pass:
its weight bounds those of all four. Blocks are a stretch of one row. The four blocks of a
stretch of columns have the same mass, the weight of the columns' best; a proposal picks
one of them, computes the weights of that block alone, and proposes nothing where its mass
was more than they are. So the pass does one comparison for a candidate, and all else for
one in four, in exchange for up to three proposals of nothing for each one of a candidate.

How many of these there are depends on the scores, and must not show in the time. So eight
proposals are made at once, whether the first one is a candidate or not: that takes not
much longer than one, and to go on to the next one takes no time to speak of.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.randomness.chance import Chance
from discreet.samplers.distances import ArrayDistances
from discreet.samplers.envelope import Envelope, Proposal, block_masses

_ROWS = 4
_WIDTH = 256
# proposals that are made at once: none of them a candidate in at most one case of ten
_TOGETHER = 8

WORTH_A_FOLD = 1 << 17
"""Candidates from which on the pass gains more than the proposals of nothing lose."""


class FoldedEnvelope(Envelope):
    """Weights of all candidates, in blocks whose masses come from the best of each column."""

    __slots__ = ("_blocks", "_length", "_offers")
    distances: ArrayDistances

    def __init__(self, distances: ArrayDistances) -> None:
        # of a row; the last one may be shorter
        self._blocks = -(-distances.size // (_ROWS * _WIDTH))
        self._length = self._blocks * _WIDTH
        # proposals that were made ahead
        self._offers: list[Proposal] = []
        columns = block_masses(_Columns(distances, self._length), _WIDTH, fold=_ROWS)
        super().__init__(distances, masses=np.tile(columns, _ROWS))

    def propose(self, chance: Chance) -> Proposal:
        """A candidate and its weight, with odds weight / total; nothing, with the odds
        that are left.
        """
        if not self._offers:
            numbers = [self._pick_block(chance) for _ in range(_TOGETHER)]
            self._offers = [
                self._propose_from(number, weights, chance)
                for number, weights in zip(numbers, self._look_up(numbers), strict=True)
            ]
        return self._offers.pop()

    def capped(self, cap: int) -> Envelope:
        """The same candidates with no weight above `cap`: for the few draws that need it."""
        return Envelope(self.distances).capped(cap)

    def _look_up(self, numbers: list[int]) -> list[NDArray[np.int64]]:
        """The running sums of the weights of these blocks."""
        scores, _ = self.distances.order()
        starts = map(self._start, numbers)
        # the last one may be shorter, and those beyond it are empty
        parts = [scores[start : start + _WIDTH] for start in starts]
        together = self.distances.of(np.concatenate(parts))
        sums = np.zeros(together.size + 1, dtype=np.int64)
        self._whole_weights(together, 0, together.size).cumsum(out=sums[1:])
        ends = accumulate((part.size for part in parts), initial=0)
        return [sums[start + 1 : end + 1] - sums[start] for start, end in pairwise(ends)]

    def _start(self, number: int) -> int:
        return number // self._blocks * self._length + number % self._blocks * _WIDTH


class _Columns:
    """The distances of the best of each column, where rows have so many candidates."""

    __slots__ = ("_distances", "size")

    def __init__(self, distances: ArrayDistances, length: int) -> None:
        self._distances, self.size = distances, length

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write the estimates of columns start to stop."""
        scores, smallest = self._distances.order()
        better = np.minimum if smallest else np.maximum
        # in the same memory
        best = out.view(scores.dtype)[: out.size]
        best[:] = scores[start:stop]
        for shift in range(self.size, scores.size - start, self.size):
            row = scores[shift + start : shift + stop]
            better(best[: row.size], row, out=best[: row.size])
        self._distances.of(best).estimate(0, best.size, out)
