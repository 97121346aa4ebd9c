"""An envelope of candidates in order, from which they are taken one by one: for rankings
of up to some hundred thousand candidates. The best are sorted, and all others lie at
levels behind the last of them (levels.py).

Candidates lie in *cells* of a 32nd of a noise scale, by how far each is behind the one
before, where everything beyond reach counts the same. All of one cell have the same
weight, which depends only on how many cells it is behind that of the best that is left.
So a proposal is a cell, with odds of its number of candidates times that weight, and a
place in it; and taking a candidate out changes one number. All that are out of reach of
the best that is left have the lightest weight. The work for each pick is the same, and
no candidate is ever looked at again.
"""

from __future__ import annotations

import math
from bisect import insort
from functools import cache

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import upper_bound
from discreet.randomness.chance import Chance
from discreet.samplers.distances import OrderedDistances
from discreet.samplers.envelope import Proposal
from discreet.samplers.levels import rounded_levels, rounded_positions

RANKED_UNIT = 1 << 44
"""The weight of the best candidate that is left; those of 2^18 add up within 63 bits."""

MOST_RANKED = 1 << 18
"""Candidates up to which they are in order at all."""

LONGEST_RANKED = 1 << 10
"""Picks up to which the table of cells stays small."""

# cells in a noise scale: two of them cost less than a 16th of all proposals
_FINE = 32
# cells: twenty noise scales, or 28 halvings
_REACH = 640
# bits of a position within a cell
_PARTS = 20
# the last level: beyond reach of all of the best
_DEEPEST = _REACH + 3


class RankedEnvelope:
    """Candidates in order, of which up to `count` will be taken."""

    __slots__ = (
        "_best",
        "_cells",
        "_counts",
        "_cumulative",
        "_distances",
        "_gone",
        "_latest",
        "_levels",
        "_size",
        "_starts",
        "_taken",
        "total",
    )

    def __init__(self, distances: OrderedDistances, count: int) -> None:
        self._distances, self._size = distances, distances.size
        self._levels = rounded_levels(distances, count, _FINE, _DEEPEST)
        positions = rounded_positions(
            distances,
            self._levels.best,
            scale=1 / _FINE,
            cells=_REACH + 2,
            parts=1 << _PARTS,
        )
        # those of the best; all others are in the last of them or behind it
        self._cells = positions >> _PARTS
        last = int(self._cells[-1])
        self._counts = np.bincount(self._cells, minlength=last + _DEEPEST + 1)
        self._counts[last:] += self._levels.counts
        # how many candidates are before each cell
        self._starts = self._counts.cumsum() - self._counts
        # the places that are empty, and in each cell
        self._gone: set[int] = set()
        self._taken: dict[int, list[int]] = {}
        # the first place that is not empty; place and cell of the latest proposal
        self._best, self._latest = 0, (0, 0)
        self.total = 0
        """The sum of the weights, in 1/unit."""
        self._add_up()

    def _candidate(self, place: int, cell: int) -> int:
        """The candidate at a place, which is in this cell."""
        if place < self._cells.size:
            return int(self._levels.best[place])
        # the best are before all others of the first cell
        start = max(int(self._starts[cell]), self._cells.size)
        return self._levels.find(cell - int(self._cells[-1]), place - start)

    def rebase(self) -> int:
        """The weight of the best candidate that is left: always the same."""
        return RANKED_UNIT

    @property
    def unit(self) -> int:
        """The weight that stands for certainty."""
        return RANKED_UNIT

    def propose(self, chance: Chance) -> Proposal:
        """A candidate that is left and its weight, with odds weight / total; nothing,
        with the odds that are left.
        """
        ahead = chance.pick(self._cumulative, self.total)
        cell = int(self._cells[self._best]) + ahead
        start = int(self._starts[cell])
        if ahead > _REACH:
            # out of reach, where those who are gone still count
            place = start + chance.below(self._size - start)
            cell = int(self._starts.searchsorted(place, side="right")) - 1
        else:
            place = start + chance.below(int(self._counts[cell]))
            for empty in self._taken.get(cell, ()):
                if empty > place:
                    break
                place += 1
        if place in self._gone:
            return None
        self._latest = place, cell
        return self._candidate(place, cell), int(_weights()[ahead])

    def keep(self, candidate: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * unit / weight: at least 15/16, unless
        the candidate is out of reach.
        """
        likely = weight > int(_weights()[-1])
        return chance.decay(lambda: self.behind(candidate), RANKED_UNIT, weight, likely=likely)

    def behind(self, candidate: int) -> fmpq:
        """The exact distance of a candidate behind the best that is left."""
        best = int(self._levels.best[self._best])
        return self._distances.exact(candidate) - self._distances.exact(best)

    def take(self, _candidate: int) -> None:
        """Take out the candidate that was proposed last. At least one other has to be left."""
        place, cell = self._latest
        self._gone.add(place)
        insort(self._taken.setdefault(cell, []), place)
        self._counts[cell] -= 1
        while self._best in self._gone:
            self._best += 1
        self._add_up()

    def _add_up(self) -> None:
        first = int(self._cells[self._best])
        near = self._counts[first : first + _REACH + 1]
        weights = _weights()
        self._cumulative = (near * weights[:-1]).cumsum()
        far = self._size - int(self._starts[first + _REACH + 1])
        self.total = int(self._cumulative[-1]) + far * int(weights[-1])


@cache
def _weights() -> NDArray[np.int64]:
    """For each number of cells behind the best an upper bound of its odds; the last is
    for all that are farther.

    A candidate that is n cells behind has a distance of more than n - 1 cells.
    """
    return np.array([_weight(max(0, cells - 1)) for cells in range(_REACH + 2)])


def _weight(cells: int) -> int:
    return math.ceil(upper_bound(lambda: RANKED_UNIT * (-arb(cells) / _FINE).exp()))
