"""Values on a public grid: how many persons have each point, and how far runs of points are from a rank."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of points with the same rank error: where each starts, how long it is, and the error in units of 1/q's denominator."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    errors: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Cells:
    """A stretch of a grid and the persons on it.

    first, last: the first and the last point of the stretch.
    points: the points that somebody has, ascending.
    counts: how many persons have each of them.
    """

    first: int
    last: int
    points: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, places: NDArray[np.int64], size: int) -> Cells:
        """The cells of persons at these points of a grid with so many points."""
        points, counts = np.unique(places, return_counts=True)
        return cls(0, size - 1, points, counts)

    @classmethod
    def of_bins(cls, bins: list[int]) -> Cells:
        """The same from counts: those below the first point, then those who have each point."""
        whole = np.array([bins[0] + bins[1], *bins[2:]], dtype=np.int64)
        points = np.flatnonzero(whole)
        return cls(0, whole.size - 1, points, whole[points])

    def split(self, point: int) -> tuple[Cells, Cells]:
        """The persons before a point, and those at or after it: nobody is in both."""
        place = int(self.points.searchsorted(point))
        before = Cells(self.first, point, self.points[:place], self.counts[:place])
        return before, Cells(point, self.last, self.points[place:], self.counts[place:])

    def rank_errors(self, q: Fraction) -> Runs:
        """How many persons the share q is away from those who have each point; as `ranks.rank_errors`, in runs.

        One person more moves each error by at most max(q, 1 - q), in either direction.
        """
        scale: Any = q.denominator
        counts: NDArray[Any] = self.counts if scale * (int(self.counts.sum()) + 1) < _LARGEST else self.counts.astype(object)
        upper = counts.cumsum() * scale
        lower = upper - counts * scale
        total = int(upper[-1]) if upper.size else 0
        share = q.numerator * (total // scale)
        at = np.maximum(np.maximum(lower - share, share - upper), 0)
        gaps = np.abs(np.append(lower, total) - share)  # the points before each of those that somebody has, and after the last
        edges = np.concatenate([[self.first - 1], self.points, [self.last + 1]])
        starts = np.concatenate([edges[:-1] + 1, self.points])
        lengths = np.concatenate([np.diff(edges) - 1, np.ones_like(self.points)])
        errors = np.concatenate([gaps, at])
        there = lengths > 0
        return Runs(starts[there], lengths[there], errors[there])

    def below(self) -> NDArray[np.int64]:
        """For each point of the stretch, how many persons are before it. Only for short stretches."""
        whole = np.zeros(self.last - self.first + 1, dtype=np.int64)
        whole[self.points - self.first] = self.counts
        return np.cumsum(whole) - whole
