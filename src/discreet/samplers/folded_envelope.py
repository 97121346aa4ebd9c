"""An envelope for one draw from very many candidates, which does most of its work on an
eighth of them.

Only the best of each *column* of eight candidates gets a weight: it bounds those of all
eight. A block is a stretch of one row. The eight blocks of a stretch of columns have
the same mass, the weight of the columns' best; a proposal picks one of them, computes
the weights of that block alone, and proposes nothing where its mass was more than they
are. So all but the search for the columns' best is done for one candidate in eight, in
exchange for up to seven proposals of nothing for each one of a candidate.

How many of these there are depends on the scores, and must not show in the time. So
sixteen proposals are made at once, whether the first one is a candidate or not: that
takes not much longer than one, and to go on to the next one takes no time to speak of.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.randomness.chance import Chance
from discreet.samplers.columns import ROWS, Columns, place_of
from discreet.samplers.distances import ArrayDistances
from discreet.samplers.envelope import Envelope, Proposal, block_masses

# columns of a block, a part of a row without a rest
_WIDTH = 256
# proposals that are made at once: none of them a candidate in at most one case of seven
_TOGETHER = 16


class FoldedEnvelope(Envelope):
    """Weights of all candidates, in blocks whose masses come from the best of each column."""

    __slots__ = ("_blocks", "_offers")
    distances: ArrayDistances

    def __init__(self, distances: ArrayDistances, columns: Columns) -> None:
        # how many blocks the columns lie in
        self._blocks = columns.best.size // _WIDTH
        # proposals that were made ahead
        self._offers: list[Proposal] = []
        masses = block_masses(distances.of(columns.best), _WIDTH, fold=ROWS)
        super().__init__(distances, masses=np.tile(masses, ROWS))

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

    def _look_up(self, numbers: list[int]) -> NDArray[np.int64]:
        """The running sums of the weights of these blocks, a row for each."""
        scores, _ = self.distances.order()
        starts = np.array([self._start(number) for number in numbers])
        places = starts[:, np.newaxis] + np.arange(_WIDTH)
        # an index: `take` would copy all scores if they have gaps between them
        there = self.distances.of(scores[np.minimum(places, scores.size - 1).ravel()])
        weights = self._whole_weights(there, 0, places.size).reshape(places.shape)
        # what pads the last group
        weights[places >= scores.size] = 0
        return weights.cumsum(axis=1)

    def _start(self, number: int) -> int:
        row, block = divmod(number, self._blocks)
        return place_of(row, block * _WIDTH)
