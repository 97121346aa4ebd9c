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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.randomness.chance import Chance
from discreet.samplers.columns import ROWS, place_of
from discreet.samplers.distances import ArrayDistances
from discreet.samplers.envelope import Envelope, Proposal, block_masses

# columns of a block, a part of a row without a rest
_WIDTH = 256


class FoldedEnvelope(Envelope):
    """Weights of all candidates, in blocks whose masses come from the best of each column.

    leaders: the best score of each column.
    """

    __slots__ = ("_blocks", "_offers")
    distances: ArrayDistances
    # proposals that are made at once: none of them a candidate in at most one case of seven
    _together = 16

    def __init__(self, distances: ArrayDistances, leaders: NDArray[Any]) -> None:
        # how many blocks the columns lie in
        self._blocks = leaders.size // _WIDTH
        # proposals that were made ahead
        self._offers: list[Proposal] = []
        masses = block_masses(distances.of(leaders), _WIDTH, fold=ROWS)
        super().__init__(distances, masses=np.tile(masses, ROWS))

    def propose(self, chance: Chance) -> Proposal:
        """A candidate and its weight, with odds weight / total; nothing, with the odds
        that are left.
        """
        if not self._offers:
            self._offers = self._propose_some(chance)
        return self._offers.pop()

    def _propose_some(self, chance: Chance) -> list[Proposal]:
        """Independent proposals, as many as are made at once."""
        numbers = chance.pick_many(self._cumulative, int(self._cumulative[-1]), self._together)
        table, starts = self._table(numbers)
        running = np.add.accumulate(table, axis=1)
        places = chance.pick_each(running, self._weights_up_to(numbers))
        # past the end of its block nothing is proposed
        weights = table[np.arange(places.size), np.minimum(places, _WIDTH - 1)] * (places < _WIDTH)
        pairs = zip((starts + places).tolist(), weights.tolist(), strict=True)
        return [(candidate, weight) if weight else None for candidate, weight in pairs]

    def capped(self, cap: int) -> Envelope:
        """Cut all weights off at `cap`, for the few draws that need it."""
        return Envelope(self.distances).capped(cap)

    def _table(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The weights of these blocks, a row for each, and their first candidates."""
        scores, _ = self.distances.order()
        starts = self._starts(numbers)
        places = starts[:, np.newaxis] + np.arange(_WIDTH)
        # an index: `take` would copy all scores if they have gaps between them
        there = self.distances.of(scores[np.minimum(places, scores.size - 1).ravel()])
        weights = self._whole_weights(there, 0, places.size).reshape(places.shape)
        # what pads the last group
        weights[places >= scores.size] = 0
        return weights, starts

    def _starts(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first candidates of these blocks."""
        rows, blocks = np.divmod(numbers, self._blocks)
        return place_of(rows, blocks * _WIDTH)

    def _block_of(self, row: int, column: int) -> tuple[int, int]:
        """The block of a candidate in this row of a column, and its place there."""
        block, place = divmod(column, _WIDTH)
        return row * self._blocks + block, place
