"""What a joint draw knows of the candidates: how many lie within a margin, and which.

Each of the best has a position in cells, once rounded down and once rounded up, and
every other candidate a level, in cells behind the last of the best and rounded down
(both in levels.py). A list lies behind by what its members, rounded down, are behind
the best, rounded up: never more than it truly is, and less by at most two cells. Where
a cell is what whole scores differ by, nothing is rounded. The proof is in
docs/proofs/top-k.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.samplers.columns import Columns
from discreet.samplers.distances import ArrayDistances, OrderedDistances, finite_float
from discreet.samplers.ranked_levels import (
    most_behind,
    rounded_levels,
    rounded_positions,
    whole_levels,
    whole_positions,
)

# positions are below 2^62
_POSITION_BITS = 62
# parts of a cell, at most
_FINEST = 2**40
# more than the rounding errors of a product of 2^30 floats
_PRODUCT_MARGIN = 1 + 2.0**-20
# how many bits a product of counts may have: floats go up to 2^1023
_PRODUCT_BITS = 1000
# how many cells a table has, about
_TABLE = 1 << 19


class Field:
    """The candidates in cells, and how many lie within a margin.

    count: how many candidates a list has.
    cell: noise scales in a cell: 1 / a whole number, or, if `whole`, what whole scores
        that differ by 1 are apart.
    margins: how many margins there are, in cells, before the one that all candidates
        are within.
    columns: the best of each column, where candidates are very many.
    """

    __slots__ = (
        "_cell",
        "_distances",
        "_levels",
        "_margins",
        "_numbers",
        "_positions",
        "_starts",
        "_whole",
        "count",
    )

    def __init__(
        self,
        distances: OrderedDistances,
        count: int,
        cell: fmpq,
        margins: int,
        *,
        whole: bool,
        columns: Columns | None = None,
    ) -> None:
        self._distances, self._cell, self._margins = distances, cell, margins
        self.count, self._whole = count, whole
        if whole:
            assert isinstance(distances, ArrayDistances)
            self._levels = whole_levels(distances, count, margins, columns)
            best = self._starts = whole_positions(distances, self._levels.best, margins)
        else:
            self._levels = rounded_levels(distances, count, int(1 / cell), margins, columns)
            best, self._starts = self._rounded()
        # in cells: those of the best, then the levels, then one that no margin reaches
        self._positions = np.arange(best[-1] - count, best[-1] + margins + 2)
        self._positions[:count], self._positions[-1] = best, 1 << _POSITION_BITS
        # how many candidates there are up to each of them
        self._numbers = np.arange(1, count + margins + 2)
        self._levels.counts.cumsum(out=self._numbers[count:])
        self._numbers[count:] += count

    def _rounded(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the best in cells, rounded down and up."""
        room = 2**_POSITION_BITS // ((self.count + 1) * (self._margins + 3))
        parts = min(_FINEST, 1 << room.bit_length() - 1)
        positions = rounded_positions(
            self._distances,
            self._levels.best,
            scale=finite_float(self._cell),
            # what is cut there is beyond all margins, also after rounding
            cells=self._margins + 2,
            parts=parts,
        )
        return positions // parts, -(-positions // parts)

    def most_lists(
        self, look_up: Callable[[], object]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """For each margin an upper bound of the number of lists within it, as a float
        times a power of two: it can be far beyond floats.

        look_up: called now and then, as it may take long.
        """
        length, size = self._margins, int(self._numbers[-1])
        products, factors = np.ones(length), np.empty(length)
        exponents = np.zeros(length, dtype=np.int64)
        together = min(self.count, max(1, _TABLE // (length + 2)))
        # before a product can become infinite, and after the last one
        often = max(1, _PRODUCT_BITS // size.bit_length())
        for place, start in enumerate(self._starts.tolist()):
            if place % together == 0:
                look_up()
                first, reached = start, self._table(place, start, together * (length + 2))
            window = reached[start - first : start - first + length]
            np.multiply(products, np.subtract(window, place, out=factors), out=products)
            if place % often == often - 1 or place == self.count - 1:
                products, more = np.frexp(products)
                exponents += more
        return products * _PRODUCT_MARGIN, exponents

    def _table(self, first: int, start: int, length: int) -> NDArray[np.float64]:
        """How many candidates there are up to each of `length` cells from `start` on, which
        is not ahead of the first-th best.
        """
        ends = self._positions[first:] - start
        np.minimum(np.maximum(ends, 0, out=ends), length, out=ends)
        return self._numbers[first:].astype(np.float64).repeat(ends[1:] - ends[:-1])

    def reaches(self, margin: int) -> list[int]:
        """How many candidates are within a margin of the best, the second best, and so on."""
        if margin >= self._margins:
            return [int(self._numbers[-1])] * self.count
        places = self._positions.searchsorted(self._starts + margin, side="right")
        reaches: list[int] = self._numbers[places - 1].tolist()
        return reaches

    def candidates(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The candidates at these places, from best to worst."""
        numbers = self._cells(places)
        others = numbers >= self.count
        found = self._levels.best[np.minimum(places, self.count - 1)]
        behind = numbers[others]
        ranks = places[others] - self._numbers[behind - 1]
        found[others] = self._levels.find_all(behind - self.count, ranks)
        return found

    def short(self, places: NDArray[np.int64], listed: NDArray[np.int64]) -> fmpq:
        """By how much the list at these places is behind, beyond what its cells say:
        exactly.
        """
        cells = int((self._positions[self._cells(places)] - self._starts).max())
        if self._whole and cells < self._margins:
            # nothing was rounded, and nothing that matters was cut
            return fmpq(0)
        behind = most_behind(self._distances, self._levels.best, listed)
        return behind - min(max(cells, 0), self._margins) * self._cell

    def _cells(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of the positions these places are at."""
        return self._numbers.searchsorted(places, side="right")
