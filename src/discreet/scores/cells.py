"""Values on a public grid: how many persons have each point, and how far runs of points are from a rank."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.order import pieces_of, sorted_places

_LARGEST = 2**62
_COUNTED = 2**13  # points of a grid that are counted one by one; persons on a larger one are sorted


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of points with the same rank error: where each starts, how long it is, and the error in units of 1/q's denominator."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    errors: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stretches:
    """A row of ways to split: how long each stretch is, its first error in units of 1 / (q's denominator * parts), and its rise."""

    lengths: NDArray[np.int64]
    errors: NDArray[Any]
    slopes: NDArray[Any]


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
        """The cells of persons at these points of a grid with so many points.

        The time depends on the number of persons, the size of the grid and how many points somebody has, not on which.
        """
        if size <= _COUNTED:
            whole = np.bincount(places, minlength=size)
            return cls(0, size - 1, *_occupied(np.arange(size), whole))
        # `np.sort` and `np.unique` would be much faster where all persons have the same value.
        ordered = places[sorted_places(places.view(np.uint64), pieces_of(size - 1))]
        last = np.append(ordered[1:] != ordered[:-1], np.ones(min(1, ordered.size), dtype=np.bool_))
        reached = np.arange(1, ordered.size + 1)[last]
        return cls(0, size - 1, ordered[last], np.diff(reached, prepend=0))

    @classmethod
    def of_bins(cls, bins: list[int]) -> Cells:
        """The same from counts: those below the first point, then those who have each point."""
        whole = np.array([bins[0] + bins[1], *bins[2:]], dtype=np.int64)
        return cls(0, whole.size - 1, *_occupied(np.arange(whole.size), whole))

    def at(self, point: int) -> int:
        """How many persons have this point."""
        place = int(self.points.searchsorted(point))
        return int(self.counts[place]) if place < self.points.size and self.points[place] == point else 0

    def split(self, point: int, lower: int) -> tuple[Cells, Cells]:
        """The persons before a point with so many of those at it, and the others at it with those after it: nobody is in both."""
        start, end = (int(self.points.searchsorted(point, side=side)) for side in ("left", "right"))
        upper = self.at(point) - lower
        low = _joined(self.points[:start], self.counts[:start], point, lower)
        high = _joined(self.points[end:], self.counts[end:], point, upper, front=True)
        return Cells(self.first, point, *low), Cells(point, self.last, *high)

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

    def split_errors(self, q: Fraction, parts: int) -> Stretches:
        """How far a split at a point is from the share q, where a part of the persons at it (0 up to all but one of `parts`) goes below.

        One person more moves each error by at most max(q, 1 - q), in either direction.
        """
        scale: Any = q.denominator * parts
        counts: NDArray[Any] = self.counts if scale * (int(self.counts.sum()) + 1) < _LARGEST else self.counts.astype(object)
        below = np.concatenate([np.zeros(1, dtype=counts.dtype), counts.cumsum()])
        errors = below * scale - q.numerator * parts * int(below[-1])
        edges = np.concatenate([[self.first - 1], self.points, [self.last + 1]])
        # a gap, the point that somebody has after it, the next gap, and so on
        lengths = np.repeat((np.diff(edges) - 1) * parts, 2)[:-1]
        lengths[1::2] = parts
        slopes = np.zeros(lengths.size, dtype=counts.dtype)
        slopes[1::2] = counts * q.denominator
        there = lengths > 0
        return Stretches(lengths[there], np.repeat(errors, 2)[:-1][there], slopes[there])

    def below(self) -> NDArray[np.int64]:
        """For each point of the stretch, how many persons are before it. Only for short stretches."""
        whole = np.zeros(self.last - self.first + 1, dtype=np.int64)
        whole[self.points - self.first] = self.counts
        return np.cumsum(whole) - whole


def _occupied(points: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The points that somebody has, and how many persons have them.

    Not by `np.flatnonzero`, which goes another way as soon as a tenth of all points is reached: one person more shows.
    """
    there = counts > 0
    return points[there], counts[there]


def _joined(
    points: NDArray[np.int64], counts: NDArray[np.int64], point: int, persons: int, *, front: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points and counts with one more at an end, if somebody is there."""
    if not persons:
        return points, counts
    place = 0 if front else points.size
    return np.insert(points, place, point), np.insert(counts, place, persons)
