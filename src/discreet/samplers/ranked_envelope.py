"""An envelope from which candidates are taken one by one: for rankings.

The best, as many as the list will have, are in order, and all others are *behind the
last* of them. As long as the list is not complete one of the best is left, and that one
is at least as good as the last. So the others need to be weighed only once, by how far
they are behind the last (other_candidates.py), whoever is gone; what changes from pick
to pick is one number for all of them together, the weight of the last as seen from the
best that is left, and the weights of the few best.

These follow from *positions*, which add up the distances from each of the best to the
next (levels.py): behind by so many whole cells, of which 32 make a noise scale, is one
weight. After each pick the weights of all of the best are looked up anew. The work for a
pick is the same whatever the scores are, and no other candidate is ever looked at again.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import upper_bound
from discreet.randomness.chance import Chance
from discreet.samplers.columns import Columns
from discreet.samplers.distances import ArrayDistances, OrderedDistances
from discreet.samplers.envelope import Proposal
from discreet.samplers.ranked_levels import best_candidates, rounded_positions
from discreet.samplers.remaining_candidates import FoldedOthers, Others

RANKED_UNIT = 1 << 44
"""The weight of the best candidate that is left, among the best."""

LONGEST_RANKED = 1 << 10
"""Picks up to which looking up the weights of all of the best takes no time to speak of."""

# cells in a noise scale: two of them cost less than a 16th of all proposals
_FINE = 32
# cells: twenty noise scales, or 28 halvings
_REACH = 640
# bits of a position within a cell, and how many of them the weight of the last looks at
_PARTS, _FINER = 20, 8
# what counts as 1 in the odds of parts of a cell
_FINE_UNIT = 1 << 18
# the cell of one that is gone: so far ahead of all others that its weight is that of nobody
_GONE = -(1 << 61)


class RankedEnvelope:
    """Candidates of which up to `count` will be taken.

    columns: the best of each column, where candidates are very many.
    """

    __slots__ = (
        "_before",
        "_best",
        "_cells",
        "_cumulative",
        "_distances",
        "_first",
        "_gone",
        "_last",
        "_lasts",
        "_latest",
        "_lightest",
        "_near",
        "_others",
        "_weights",
        "total",
        "unit",
    )

    def __init__(
        self, distances: OrderedDistances, count: int, columns: Columns | None = None
    ) -> None:
        self._distances = distances
        best = best_candidates(distances, count, columns)[:count]
        self._others: Others | FoldedOthers
        if columns is not None and isinstance(distances, ArrayDistances):
            self._others = FoldedOthers(distances, columns, best)
        else:
            self._others = Others(distances, best)
        positions = rounded_positions(
            distances, best, scale=1 / _FINE, cells=_REACH + 2, parts=1 << _PARTS
        )
        self._best: list[int] = best.tolist()
        self._cells = positions >> _PARTS
        # for each of the best the cell before its own, so that only who is gone comes first, and
        # the weight of the last as seen from it
        self._before: list[int] = (self._cells - 1).tolist()
        self._lasts: list[int] = _weights_behind(positions[-1] - positions).tolist()
        self.unit = RANKED_UNIT * self._others.unit
        """The weight that stands for certainty: that of the best candidate that is left."""
        # that of candidates out of reach, at most
        self._lightest = max(
            int(_weights()[-1]) * self._others.unit, RANKED_UNIT * self._others.lightest
        )
        # the first of the best that is not gone; and of the others those that are
        self._first, self._gone = 0, set[int]()
        # the place of the latest proposal, if it is one of the best
        self._latest: int | None = None
        self.total = 0
        """The sum of the weights, in 1/unit."""
        self._add_up()

    def rebase(self) -> int:
        """The weight of the best candidate that is left: always the same."""
        return self.unit

    def propose(self, chance: Chance) -> Proposal:
        """A candidate that is left and its weight, with odds weight / total; nothing,
        with the odds that are left.
        """
        place = chance.pick(self._cumulative, self.total, self._others.unit)
        if place < len(self._best):
            self._latest = place
            return self._best[place], self._weights.item(place) * self._others.unit
        proposal = self._others.propose(chance)
        if proposal is None or proposal[0] in self._gone:
            return None
        self._latest = None
        return proposal[0], proposal[1] * self._last

    def keep(self, candidate: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * unit / weight: at least 15/16, unless
        the candidate is out of reach.
        """
        likely = weight > self._lightest
        return chance.decay(lambda: self.behind(candidate), self.unit, weight, likely=likely)

    def behind(self, candidate: int) -> fmpq:
        """The exact distance of a candidate behind the best that is left."""
        best = self._best[self._first]
        return self._distances.exact(candidate) - self._distances.exact(best)

    def take(self, candidate: int) -> None:
        """Take out the candidate that was proposed last. One of the best has to be left."""
        if self._latest is None:
            self._gone.add(candidate)
        else:
            self._cells[self._latest] = _GONE
            self._best[self._latest] = -1
            while self._best[self._first] < 0:
                self._first += 1
        self._add_up()

    def _add_up(self) -> None:
        self._weights = _weights().take(self._cells - self._before[self._first], mode="clip")
        self._cumulative = np.add.accumulate(self._weights)
        self._near, self._last = self._cumulative.item(-1), self._lasts[self._first]
        self.total = self._near * self._others.unit + self._last * self._others.total


@cache
def _weights() -> NDArray[np.int64]:
    """First the weight of who is gone. Then, for each number of cells behind that of the
    best, an upper bound of its odds; the last is for all that are farther.

    A candidate that is n cells behind has a distance of more than n - 1 cells.
    """
    return np.array([0, *(_weight(max(0, cells - 1), _FINE) for cells in range(_REACH + 2))])


@cache
def _fine_weights() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Upper bounds of the odds of those that are behind by whole cells, and by whole parts of
    one, in units whose product fits 63 bits.
    """
    return (
        np.array([_weight(cells, _FINE) for cells in range(_REACH + 1)]),
        np.array([_weight(parts, _FINE << _FINER, _FINE_UNIT) for parts in range(1 << _FINER)]),
    )


def _weights_behind(positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Upper bounds of the odds of those that are behind by so much, in parts of a cell; very
    near to them, up to the reach.
    """
    whole, parts = _fine_weights()
    cells = np.minimum(positions >> _PARTS, _REACH)
    # at the reach, and beyond it, the parts do not count
    rest = ((positions >> (_PARTS - _FINER)) & ((1 << _FINER) - 1)) * (cells < _REACH)
    odds: NDArray[np.int64] = -(-(whole[cells] * parts[rest]) // _FINE_UNIT)
    return odds


def _weight(distance: int, scale: int, unit: int = RANKED_UNIT) -> int:
    """An upper bound of exp(-distance / scale), in 1/unit."""
    return math.ceil(upper_bound(lambda: unit * (-arb(distance) / scale).exp()))
