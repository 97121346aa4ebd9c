"""The candidates beside the best of a ranking: proposed by how far they are behind the
last of these, which never changes.

Whoever is one of the best has weight 0 here. Weights are as in envelope.py: of some
thousand candidates all are in one table; of very many, only the best of each column of
eight is weighed (folded_envelope.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.randomness.chance import Chance
from discreet.samplers.columns import ROWS, Columns, columns_without, row_and_column
from discreet.samplers.distances import ArrayDistances, OrderedDistances
from discreet.samplers.envelope import LIGHTEST, UNIT, Proposal, table_of_weights
from discreet.samplers.folded_envelope import FoldedEnvelope
from discreet.samplers.order_statistics import best_of

TABLE_UNIT = 1 << 40
"""The weight of the last of the best, in a table."""

MOST_OTHERS = 1 << 22
"""Candidates up to which the weights of a table add up within 63 bits."""

# stretches of columns whose eight blocks are weighed exactly
_CORRECTED = 16


class Others:
    """All candidates but the best in one table of weights.

    best: from the best to the last.
    """

    __slots__ = ("_cumulative", "_weights", "lightest", "total", "unit")

    def __init__(self, distances: OrderedDistances, best: NDArray[np.int64]) -> None:
        self.unit, self.lightest = TABLE_UNIT, LIGHTEST * TABLE_UNIT // UNIT
        self._weights = table_of_weights(distances.seen_from(int(best[-1])), self.unit)
        # they are proposed elsewhere; and who is ahead of the last has no weight that is one
        self._weights[best] = 0
        self._cumulative = self._weights.cumsum()
        self.total = int(self._cumulative[-1])

    def propose(self, chance: Chance) -> Proposal:
        """A candidate and its weight, with odds weight / total."""
        place = chance.pick(self._cumulative, self.total)
        return place, int(self._weights[place])


class FoldedOthers(FoldedEnvelope):
    """All candidates but the best, in blocks whose masses come from the best others of each
    column.
    """

    __slots__ = ("_excluded", "lightest")
    # a list needs more of them than one draw
    _together = 64

    def __init__(
        self, distances: ArrayDistances, columns: Columns, best: NDArray[np.int64]
    ) -> None:
        self.lightest = LIGHTEST
        leaders = columns_without(*distances.order(), columns, best)
        super().__init__(distances.seen_from(int(best[-1])), leaders)
        # for each block, the places of the best
        self._excluded: dict[int, list[int]] = {}
        for row, column in zip(*(part.tolist() for part in row_and_column(best)), strict=True):
            number, place = self._block_of(row, column)
            self._excluded.setdefault(number, []).append(place)
        # Where candidates that are alike follow each other, few blocks have most of the mass,
        # and seven of eight rows of them hardly any weight.
        masses = self._masses[: self._blocks].view(np.uint64)
        heaviest = best_of(masses, min(_CORRECTED, self._blocks))
        numbers = np.add.outer(np.arange(ROWS) * self._blocks, heaviest).ravel()
        self._correct(numbers, self._table(numbers)[0].sum(axis=1))

    def _table(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The weights of these blocks, 0 for the best, and their first candidates."""
        table, starts = super()._table(numbers)
        for row, number in enumerate(numbers.tolist()):
            places = self._excluded.get(number)
            if places is not None:
                table[row, places] = 0
        return table, starts
