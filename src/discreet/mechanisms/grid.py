"""The domain of quantiles: public points, and how many persons are at each and between them.

`Grid` and `PointList` say which points a quantile can be. `Cells` holds the values
against them: runs of points, each with how far it is from a rank.

The *rank* of a value is a whole number: twice the place of the last point that it reaches,
and one more if it is beyond that point. A value between two points counts half at each of
them, so everything is counted in halves: docs/proofs/quantiles.md#ranks-against-points
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import (
    Hidden,
    ParameterError,
    ParameterTypeError,
    ScoresTypeError,
    read_each,
    shown_pair,
    type_name,
)
from discreet.exact.rationals import (
    MACHINE_LIMIT,
    Number,
    exact_decimal,
    lower_and_upper,
    positive,
)
from discreet.samplers.order_statistics import pieces_of, sorted_places

_MOST_POINTS = 10_000_000
# what an engine can be told one by one
_MOST_LISTED = 10_000
# What engines can compute with, in floats and without an overflow on the way.
_LARGEST_GRID = Fraction(10) ** 300
_SMALLEST = Fraction(1, 10**290)
_FINEST = Fraction(1, 2**39)
_NEXT_TO_ZERO = 1e-291
HALVES = 2
"""What a value counts for: it is at one point, or half at each of two."""


def read_amount(value: Number, name: str) -> Fraction:
    """A positive number that a float can stand for."""
    exact = positive(exact_decimal(value, name), value, name)
    if exact > _LARGEST_GRID:
        raise ParameterError(name, "at most 1e300", value)
    return exact


def read_share(q: Number) -> Fraction:
    """A share of all persons, between 0 and 1."""
    share = exact_decimal(q, "q")
    if not 0 <= share <= 1:
        raise ParameterError("q", "at least 0 and at most 1", q)
    return share


@dataclass(frozen=True, slots=True)
class Grid:
    """The points low, low + step, ...: as many as `size` says."""

    low: Fraction
    step: Fraction
    size: int

    def point(self, place: int) -> int | float:
        """One point, as people write it."""
        return plain_number(self.low + place * self.step)

    @property
    def top(self) -> Fraction:
        """The end of the grid: one step after its last point."""
        return self.low + self.size * self.step

    @property
    def slack(self) -> float:
        """How far from a point a float can be that stands for it: it may have been rounded."""
        return float(max(abs(self.low), abs(self.top)) / 2**49)

    def ranks(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The rank of each value, that of the nearest point outside the grid. A fixed
        function of each value alone.
        """
        # docs/proofs/quantiles.md#ranks-against-points
        near = values.clip(float(self.low - self.step), float(self.top)) - float(self.low)
        reached = np.floor((near + self.slack) / float(self.step))
        passed = np.ceil((near - self.slack) / float(self.step))
        return (reached + passed).clip(0, 2 * self.size - 2).astype(np.int64)

    def places(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The last point that each value reaches; the first one for values below all. A
        fixed function of each value alone.
        """
        return self.ranks(values) >> 1


@dataclass(frozen=True, slots=True)
class PointList:
    """Ascending public points, at any distances."""

    points: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        """How many points there are."""
        return len(self.points)

    def point(self, place: int) -> int | float:
        """One point, as people write it."""
        return plain_number(self.points[place])

    @property
    def edges(self) -> list[float]:
        """Where ranks begin: at each point, and right after it."""
        floats = [float(point) for point in self.points]
        # the next float after 0 is so small that not every engine knows it
        after = [math.nextafter(point, math.inf) if point else _NEXT_TO_ZERO for point in floats]
        return [edge for both in zip(floats, after, strict=True) for edge in both][:-1]

    def ranks(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The rank of each value, that of the nearest point outside of all. A fixed
        function of each value alone.
        """
        reached = np.searchsorted(np.array(self.edges), values, side="right")
        return np.maximum(reached - 1, 0).astype(np.int64)


Points = Grid | PointList
"""The public points that a quantile can be."""


def read_points(
    bounds: tuple[Number, Number] | None,
    step: Number | None,
    points: Sequence[Number] | None,
    *,
    most: int = _MOST_POINTS,
) -> Points:
    """The points that were listed, or the grid of bounds and a step."""
    if points is None:
        for name, given in (("bounds", bounds), ("step", step)):
            if given is None:
                rule = "given, unless 'points' lists the public points"
                raise ParameterError(name, rule, None)
        assert bounds is not None
        assert step is not None
        return read_grid(bounds, step, most=most)
    for name, given in (("bounds", bounds), ("step", step)):
        if given is not None:
            raise ParameterError(name, "left out if points are listed", given)
    return read_point_list(points)


def read_point_list(points: Sequence[Number]) -> PointList:
    """The points that were listed, in ascending order."""
    listed = isinstance(points, Sequence) and not isinstance(points, (str, bytes))
    if not listed and not (isinstance(points, np.ndarray) and points.ndim == 1):
        # a column that was given by mistake is private
        got = Hidden(type_name(points))
        raise ParameterTypeError("points", "a list of public numbers", got)
    if not 0 < len(points) <= _MOST_LISTED:
        rule = f"at least one point and at most {_MOST_LISTED:,}"
        raise ParameterError("points", rule, Hidden(f"{len(points):,}"))
    exact = read_each(lambda point: exact_decimal(point, "points"), points)
    if max(map(abs, exact)) > _LARGEST_GRID:
        raise ParameterError("points", "between -1e300 and 1e300", Hidden("others"))
    if any(point and abs(point) < _SMALLEST for point in exact):
        raise ParameterError("points", "0, or at least 1e-290 in size", Hidden("others"))
    if any(float(after) <= float(before) for before, after in pairwise(exact)):
        rule = "in ascending order, and no two of them the same number"
        raise ParameterError("points", rule, Hidden("others"))
    return PointList(tuple(exact))


def read_grid(bounds: tuple[Number, Number], step: Number, *, most: int = _MOST_POINTS) -> Grid:
    """The grid from the lower bound to the upper one, refused if it has more than `most` points."""
    low, high = lower_and_upper(bounds)
    size = positive(exact_decimal(step, "step"), step, "step")
    largest = max(abs(low), abs(high))
    if largest > _LARGEST_GRID:
        raise ParameterError("bounds", "between -1e300 and 1e300", shown_pair(bounds))
    if size > _LARGEST_GRID:
        raise ParameterError("step", "at most 1e300", step)
    if size < max(_SMALLEST, largest * _FINEST):
        raise ParameterError("step", "at least 1e-290, and not below a 2^39-th of the bounds", step)
    points = math.floor((high - low) / size) + 1
    if points > most:
        raise ParameterError(
            "step", f"large enough for at most {most} points between the bounds", step
        )
    return Grid(low, size, points)


def plain_number(value: Fraction) -> int | float:
    """A point of the grid as people write it."""
    return value.numerator if value.denominator == 1 else float(value)


# points of a grid that are counted one by one; persons on a larger one are sorted
_COUNTED = 2**13


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of points with the same rank error: where each starts, how long it is, and
    the error in units of 1/q's denominator.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    errors: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stretches:
    """A row of ways to split: how long each stretch is, its first error in units of 1 /
    (q's denominator * parts), and its rise.
    """

    lengths: NDArray[np.int64]
    errors: NDArray[Any]
    slopes: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Cells:
    """A stretch of a grid and the persons on it.

    first, last: the first and the last point of the stretch.
    points: the points that at least one person has, ascending.
    counts: how many persons have each of them.
    """

    first: int
    last: int
    points: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, places: NDArray[np.int64], size: int) -> Cells:
        """The cells of persons at these points of a grid of this size.

        The time depends on the number of persons, the size of the grid and how many
        points have a person, not on which.
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
    def of_ranks(cls, ranks: NDArray[np.int64], size: int) -> Cells:
        """The cells of values with these ranks, each as two `HALVES`: at the point that it is
        at, or one at each of the two points that it is between.
        """
        # docs/proofs/quantiles.md#ranks-against-points
        return cls.of(np.concatenate([ranks >> 1, (ranks + 1) >> 1]), size)

    @classmethod
    def of_rank_counts(cls, counts: Sequence[int]) -> Cells:
        """Make it from the number of values at the first point, between it and the second
        one, at the second one, and so on.
        """
        whole = np.array(counts, dtype=np.int64)
        halves = HALVES * whole[::2]
        halves[:-1] += whole[1::2]
        halves[1:] += whole[1::2]
        return cls.of_bins([0, *halves.tolist()])

    @classmethod
    def of_bins(cls, bins: list[int]) -> Cells:
        """The cells of all points, from how many persons are below the first one and how many
        have each point.
        """
        whole = np.array([bins[0] + bins[1], *bins[2:]], dtype=np.int64)
        return cls(0, whole.size - 1, *_occupied(np.arange(whole.size), whole))

    def at(self, point: int) -> int:
        """How many persons have this point."""
        place = int(self.points.searchsorted(point))
        return (
            int(self.counts[place])
            if place < self.points.size and self.points[place] == point
            else 0
        )

    def split(self, point: int, lower: int) -> tuple[Cells, Cells]:
        """The persons before a point with `lower` of those at it, and the others at it with
        those after it: no person is in both.
        """
        start, end = (int(self.points.searchsorted(point, side=side)) for side in ("left", "right"))
        upper = self.at(point) - lower
        low = _joined(self.points[:start], self.counts[:start], point, lower)
        high = _joined(self.points[end:], self.counts[end:], point, upper, front=True)
        return Cells(self.first, point, *low), Cells(point, self.last, *high)

    def rank_errors(self, q: Fraction) -> Runs:
        """How many persons the share q is away from those who have each point, in
        runs of points with the same error.

        One person more moves each error by at most max(q, 1 - q), in either direction.
        """
        scale: Any = q.denominator
        counts: NDArray[Any] = (
            self.counts
            if scale * (int(self.counts.sum()) + 1) < MACHINE_LIMIT
            else self.counts.astype(object)
        )
        upper = counts.cumsum() * scale
        lower = upper - counts * scale
        total = int(upper[-1]) if upper.size else 0
        share = q.numerator * (total // scale)
        at = np.maximum(np.maximum(lower - share, share - upper), 0)
        # the points before each of those that a person has, and after the last
        gaps = np.abs(np.append(lower, total) - share)
        edges = np.concatenate([[self.first - 1], self.points, [self.last + 1]])
        starts = np.concatenate([edges[:-1] + 1, self.points])
        lengths = np.concatenate([np.diff(edges) - 1, np.ones_like(self.points)])
        errors = np.concatenate([gaps, at])
        there = lengths > 0
        return Runs(starts[there], lengths[there], errors[there])

    def split_errors(self, q: Fraction, parts: int) -> Stretches:
        """How far a split at a point is from the share q, where a part of the persons
        at it (0 up to all but one of `parts`) goes below.

        One person more moves each error by at most max(q, 1 - q), in either direction.
        """
        scale: Any = q.denominator * parts
        counts: NDArray[Any] = (
            self.counts
            if scale * (int(self.counts.sum()) + 1) < MACHINE_LIMIT
            else self.counts.astype(object)
        )
        below = np.concatenate([np.zeros(1, dtype=counts.dtype), counts.cumsum()])
        errors = below * scale - q.numerator * parts * int(below[-1])
        edges = np.concatenate([[self.first - 1], self.points, [self.last + 1]])
        # a gap, the point after it that a person has, the next gap, and so on
        lengths = np.repeat((np.diff(edges) - 1) * parts, 2)[:-1]
        lengths[1::2] = parts
        slopes = np.zeros(lengths.size, dtype=counts.dtype)
        slopes[1::2] = counts * q.denominator
        there = lengths > 0
        return Stretches(lengths[there], np.repeat(errors, 2)[:-1][there], slopes[there])

    def below(self) -> NDArray[np.int64]:
        """For each point of the stretch, how many persons are before it. Only for short
        stretches.
        """
        whole = np.zeros(self.last - self.first + 1, dtype=np.int64)
        whole[self.points - self.first] = self.counts
        return np.cumsum(whole) - whole


def _occupied(
    points: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The points that at least one person has, and how many persons have each.

    Not by `np.flatnonzero`, which goes another way as soon as a tenth of all points is
    reached: one person more shows.
    """
    there = counts > 0
    return points[there], counts[there]


def _joined(
    points: NDArray[np.int64],
    counts: NDArray[np.int64],
    point: int,
    persons: int,
    *,
    front: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points and counts with one more at an end, if any person is there."""
    if not persons:
        return points, counts
    place = 0 if front else points.size
    return np.insert(points, place, point), np.insert(counts, place, persons)


def read_shares(q: Sequence[Number]) -> tuple[Fraction, ...]:
    """Shares in ascending order, at least one."""
    listed = (
        q.ndim == 1
        if isinstance(q, np.ndarray)
        else isinstance(q, Sequence) and not isinstance(q, (str, bytes))
    )
    if not listed or not len(q):
        raise ParameterTypeError("q", "a list of at least one share", q)
    shares = tuple(read_each(lambda share: read_share(share), q))
    if any(after <= before for before, after in pairwise(shares)):
        raise ParameterError("q", "ascending, without equal ones", q)
    return shares


def read_cells(values: Any, grid: Points) -> Cells:
    """The values against the points, each as two halves.

    Whether they can be read depends on the type of what holds them. An entry that is no
    number is left out, and makes nothing fail.
    """
    try:
        numbers = as_floats(values)
    except (TypeError, ValueError):
        raise ScoresTypeError(
            "must be a list of numbers, one for each person. Got something else.", name="values"
        ) from None
    if numbers.ndim != 1:
        raise ScoresTypeError(
            f"must be one list of numbers. Got {numbers.ndim} dimensions.", name="values"
        )
    return Cells.of_ranks(grid.ranks(numbers[~np.isnan(numbers)]), grid.size)


def as_floats(values: Any) -> NDArray[np.float64]:
    """An array of floats from whatever holds numbers; entries that are no numbers are NaN."""
    if isinstance(values, (str, bytes, dict)) or values is None:
        raise TypeError
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.nan, as_floats(np.ma.getdata(values)))
    # arrays and series say what they hold
    if hasattr(values, "dtype"):
        array = np.asarray(values)
    else:
        values = list(values)
        array = _as_array(values)
    if array.dtype.kind in "biuf":
        # a wider float may be beyond these; a warning would tell of it
        with np.errstate(all="ignore"):
            return array.astype(np.float64)
    if array.dtype.kind != "O":
        raise TypeError
    return np.array([_number(value) for value in array.ravel()]).reshape(array.shape)


def _as_array(values: list[Any]) -> NDArray[Any]:
    """A list as an array of numbers, or of its entries if there is anything else in it.

    NumPy looks at all entries to decide what one of them is: lists become rows, unless
    there is a number among them. So it reads only entries that are what they are beside
    any other.
    """
    if _PLAIN.issuperset(map(type, values)):
        array = np.asarray(values) if values else np.empty(0)
        # whole numbers that are too large for NumPy's stay objects
        if array.dtype.kind in "biuf":
            return array
    return np.fromiter(values, dtype=object, count=len(values))


_PLAIN = {bool, int, float, np.bool_, np.float16, np.float32, np.float64}
_PLAIN |= {np.dtype(kind).type for kind in np.typecodes["AllInteger"]}


def _number(value: Any) -> float:
    """A number as a float; NaN for anything else."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    # a length of time is an integer to NumPy
    if not isinstance(value, (Real, Decimal, np.bool_)) or isinstance(value, np.timedelta64):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except Exception:
        # a signalling NaN, or a number of somebody else's that is none
        return math.nan
