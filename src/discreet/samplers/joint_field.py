"""The candidates of a joint draw from best to worst, and how many lie within a margin.

Each candidate has a position (positions.py), and a table of all cells of one stretch
each tells how many candidates are within each margin of each of the best. Where scores
are whole numbers, positions are exact; where not, a few candidates
are in doubt, and those are asked exactly. Of very many whole scores only the best are
sorted, and all others are counted (levels.py). The proof is in docs/proofs/top-k.md.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.randomness.chance import Chance
from discreet.samplers.distances import (
    OrderedDistances,
    SmallIntegerDistances,
    nearest_float,
)
from discreet.samplers.levels import Levels, whole_levels
from discreet.samplers.order_statistics import ALL_PIECES, best_keys, sorted_places
from discreet.samplers.positions import (
    WHOLE,
    rounded_positions,
    sorted_candidates,
    whole_positions,
)

# positions are below 2^62
_POSITION_BITS = 62
# units in a stretch where positions are rounded, at most
_FINEST = 2**40
# more than the rounding errors of a product of 2^30 floats
_PRODUCT_MARGIN = 1 + 2.0**-20
# of a product of counts: floats go up to 2^1023
_PRODUCT_BITS = 1000
# cells of one table, where each table looks at all candidates, and where at their numbers
_TABLE, _SMALL_TABLE = 1 << 20, 1 << 15


# candidates from which on counting them is faster than sorting them, and how many there
# have to be for each level, and for each of the best
_MANY, _FEW = 1 << 15, 16


def _are_counted(distances: OrderedDistances, count: int, levels: int) -> bool:
    """Whether candidates are counted by level: by their number and public parameters only."""
    many = distances.size >= max(_MANY, _FEW * count, _FEW * levels)
    return many and isinstance(distances, SmallIntegerDistances)


class Field:
    """The candidates from best to worst, as far as they can matter, and how many lie
    within a margin.

    fine, stretches: steps in a stretch of margins, and how many stretches matter.
    """

    __slots__ = (
        "_distances",
        "_exact",
        "_fine",
        "_levels",
        "_numbers",
        "_order",
        "_positions",
        "_step",
        "_stretches",
        "_units",
        "count",
        "size",
    )

    def __init__(
        self, distances: OrderedDistances, step: fmpq, count: int, fine: int, stretches: int
    ) -> None:
        self._distances, self._step, self._fine, self._stretches = distances, step, fine, stretches
        self.count, self.size = count, distances.size
        room = 2**_POSITION_BITS // ((count + 1) * (stretches + 1))
        self._exact = isinstance(distances, WHOLE) and fine <= room
        # units in a stretch
        self._units = fine if self._exact else min(_FINEST, 1 << room.bit_length() - 1)
        # where candidates are counted: how many there are up to each position
        self._levels: Levels | None = None
        self._numbers: NDArray[np.int64] | None = None
        if self._exact and _are_counted(distances, count, fine * stretches + 1):
            self._count_levels(fine * stretches)
        else:
            self._sort()

    def _count_levels(self, deepest: int) -> None:
        scores, smallest = self._distances.order()
        levels = whole_levels(scores, smallest, self.count, deepest)
        self._levels, self._order = levels, levels.best
        keys = best_keys(scores[levels.best], smallest)
        best = whole_positions(keys, np.arange(self.count), self.count, deepest)
        self._positions = np.concatenate([best, best[-1] + np.arange(deepest + 1)])
        self._numbers = np.concatenate(
            [np.ones(self.count, dtype=np.int64), levels.counts]
        ).cumsum()

    def _sort(self) -> None:
        distances, count, fine, stretches = (
            self._distances,
            self.count,
            self._fine,
            self._stretches,
        )
        keys = best_keys(*distances.order())
        # more than positions are cut at
        self._order = sorted_candidates(distances, keys, count, fine * (stretches + 2))
        if self._exact:
            self._positions = whole_positions(keys, self._order, count, fine * stretches)
        else:
            self._positions = rounded_positions(
                distances,
                self._order,
                count,
                scale=nearest_float(fine * self._step),
                cells=stretches + 1,
                parts=self._units,
            )

    def most_lists(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """For the last margin of each stretch an upper bound of N, as a float times a
        power of two: N can be far beyond floats.
        """
        length, products = self._stretches, np.ones(self._stretches)
        exponents = np.zeros(length, dtype=np.int64)
        # A rounded position of single steps is whole cells, less what rounding took.
        taken = 0 if self._exact else self.count + 3 + (int(self._positions.max()) >> 43)
        single = self._fine == 1 and taken < self._units
        cells = (self._positions + (taken if single else 0)) // self._units
        starts: list[int] = cells[: self.count].tolist()
        # The last margin of a stretch ends in the cell after it, unless it is the only one.
        later = 0 if single else 1
        numbers = None if self._numbers is None else np.diff(self._numbers, prepend=0)
        table = _TABLE if numbers is None else _SMALL_TABLE
        together = max(1, min(table // length, _PRODUCT_BITS // self.size.bit_length()))
        for first in range(0, self.count, together):
            some = starts[first : first + together]
            last = len(some) * (length + 1) + 1
            # all before the first are better
            places = np.minimum(cells[first:] - some[0], last)
            counts = np.bincount(places, None if numbers is None else numbers[first:], last + 1)
            reached = counts.cumsum().astype(np.float64, copy=False)
            for place, start in enumerate(some):
                window = start - some[0] + later
                products *= reached[window : window + length] - place
            products, more = np.frexp(products)
            exponents += more
        return products * _PRODUCT_MARGIN, exponents

    def reaches(self, multiple: int) -> list[int]:
        """How many candidates are at most so many steps behind the best, the second
        best, and so on.
        """
        if multiple >= self._fine * self._stretches:
            # beyond what was sorted; this is next to never asked
            return self._reaches_of_all(multiple * self._step)
        best = self._positions[: self.count]
        if self._exact:
            places = self._positions.searchsorted(best + multiple, side="right")
            exact: list[int] = (
                places if self._numbers is None else self._numbers[places - 1]
            ).tolist()
            return exact
        # Rounded up; positions are rounded down, each of up to `count` distances by less
        # than a unit, and all of them by 2^-44 of what they are.
        about = multiple * self._units // self._fine + 1
        surely = about - (self.count + 3 + (about >> 43))
        lows = self._positions.searchsorted(best + surely, side="right").tolist()
        highs = self._positions.searchsorted(best + about, side="right").tolist()
        margin = multiple * self._step
        return [
            low if low == high else self._reach(place, margin, low, high)
            for place, (low, high) in enumerate(zip(lows, highs, strict=True))
        ]

    def any_list(self, reaches: list[int], chance: Chance) -> list[int]:
        """A uniform list whose i-th member is one of the first reaches[i], by a shuffle
        that stops early.

        The places before i hold the members so far; what they held before has moved to
        the place the member came from.
        """
        moved: dict[int, int] = {}
        result = []
        for place, reach in enumerate(reaches):
            drawn = place + chance.below(reach - place)
            result.append(moved.get(drawn, drawn))
            moved[drawn] = moved.get(place, place)
        return [self._candidate(place) for place in result]

    def _candidate(self, place: int) -> int:
        """The candidate at a place, from best to worst."""
        if self._levels is None or place < self.count:
            return int(self._order[place])
        # it is behind the best
        assert self._numbers is not None
        number = int(self._numbers.searchsorted(place, side="right"))
        return self._levels.find(number - self.count, place - int(self._numbers[number - 1]))

    def _reach(self, place: int, margin: fmpq, low: int, high: int) -> int:
        """How many candidates are within the margin of one of the best, if it is
        between these two numbers: by exact comparisons.
        """
        exact = self._distances.exact
        limit = exact(int(self._order[place])) + margin
        return bisect_right(
            self._order, limit, low, high, key=lambda candidate: exact(int(candidate))
        )

    def _reaches_of_all(self, margin: fmpq) -> list[int]:
        """The same, without knowing between which, where all of them have to be in order."""
        self._order = sorted_places(~best_keys(*self._distances.order()), ALL_PIECES)
        self._levels = None
        return [self._reach(place, margin, 0, self.size) for place in range(self.count)]
