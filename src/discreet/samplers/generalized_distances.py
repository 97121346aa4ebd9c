"""Distances of candidates that have different sensitivities, as tangents to a convex hull.

The generalized exponential mechanism gives candidate i the distance

    max over j of (cost_i - cost_j) / (width_i + width_j)   >= 0

where the width is the sensitivity in units of the smallest one, and cost = (how far the
score is behind the best, in noise scales) + penalty * width. That is the steepest line
from the point (-width_i, -cost_i) to one of the points (width_j, -cost_j), which all
lie to its right: a tangent to their upper hull. Of each width only the least cost can
be a corner of the hull, and of the hull only the part that rises, up to the least cost
of all, can be touched. Along it the slopes first rise and then fall, so bisection finds
the tangent: n log n steps for all candidates instead of n^2. The proof is in
docs/proofs/generalized-exponential.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import lower_bound, rational
from discreet.samplers.distances import (
    GRAIN,
    GRAINS_PER_SCALE,
    Distances,
    RationalDistances,
    measure,
)

# widest / narrowest * (penalty + 40): up to here roundings lower an estimate by at most
# 2^-12 scales
_LARGEST_SPREAD = 2**34
# grains; far more than any envelope looks at, and exact in a float
_CUT_OFF = 2**40
# Costs, widths, slopes and their sums are floats within a few 2^-53 of the truth. These
# factors on costs and widths make sure that an estimate never exceeds the true value.
_DOWN, _UP = 1 - 2.0**-50, 1 + 2.0**-50


class Hull:
    """The rising part of the upper hull of points (width, -cost): its corners from left
    to right, in whole numbers.
    """

    __slots__ = ("costs", "widths")

    def __init__(self, widths: list[int], costs: list[int]) -> None:
        """Widths are positive and rise."""
        corners: list[int] = []
        for place, (width, cost) in enumerate(zip(widths, costs, strict=True)):
            while len(corners) > 1:
                first, last = corners[-2], corners[-1]
                across, fall = widths[last] - widths[first], costs[first] - costs[last]
                # the last corner stays if it lies strictly above the line from the one
                # before it to the new point
                if fall * (width - widths[first]) > (costs[first] - cost) * across:
                    break
                corners.pop()
            corners.append(place)
        while len(corners) > 1 and costs[corners[-1]] >= costs[corners[-2]]:
            corners.pop()
        self.widths, self.costs = (
            [widths[corner] for corner in corners],
            [costs[corner] for corner in corners],
        )

    def steepest(self, width: int, cost: fmpq) -> fmpq:
        """The largest (cost - cost_j) / (width + width_j)."""
        low, high = 0, len(self.costs) - 1
        while low < high:
            middle = (low + high) // 2
            here = (cost - self.costs[middle]) * (width + self.widths[middle + 1])
            following = (cost - self.costs[middle + 1]) * (width + self.widths[middle])
            low, high = (middle + 1, high) if here <= following else (low, middle)
        return (cost - self.costs[low]) / (width + self.widths[low])


class Plane:
    """Widths and costs in whole numbers, and the hull of the points that they make."""

    __slots__ = ("_unit", "hull", "penalty", "widths")

    def __init__(
        self,
        widths: Sequence[Any],
        leaders: Sequence[Any],
        rate: fmpq,
        penalty: Fraction,
        *,
        smallest: bool,
    ) -> None:
        """Rising widths of any unit, and the best score of each."""
        self.widths, _ = _whole(widths)
        scores, unit = _whole(leaders)
        best = min(scores) if smallest else max(scores)
        by_score, by_width = (
            rate / unit,
            fmpq(penalty.numerator, penalty.denominator * self.widths[0]),
        )
        # costs count in 1/unit noise scales
        self._unit = math.lcm(int(by_score.q), int(by_width.q))
        behind, self.penalty = int((by_score * self._unit).p), int((by_width * self._unit).p)
        costs = [
            abs(best - score) * behind + width * self.penalty
            for score, width in zip(scores, self.widths, strict=True)
        ]
        self.hull = Hull(self.widths, costs)

    def distance(self, place: int, gap: fmpq) -> fmpq:
        """The distance of a candidate that has the width at this place and is this many
        noise scales behind the best score.
        """
        width = self.widths[place]
        return self.hull.steepest(width, gap * self._unit + width * self.penalty) * fmpq(
            self.widths[0], self._unit
        )

    def spread(self, penalty: Fraction) -> Fraction:
        """The largest cost of an estimate that matters, over the narrowest width."""
        return Fraction(self.widths[-1], self.widths[0]) * (penalty + 40)

    def multiple(self, width: int) -> float:
        """A width as a multiple of the narrowest one."""
        return _nearest(width, self.widths[0])

    def grains(self, cost: int, divisor: int = 1) -> float:
        """A cost over a divisor, in grains."""
        return _nearest(cost, self._unit * divisor) * GRAINS_PER_SCALE


class _Tangents:
    """What both ways to estimate have in common."""

    __slots__ = ("_gaps", "_place", "_plane", "size")

    def __init__(self, gaps: Distances, place: NDArray[np.intp], plane: Plane) -> None:
        self.size = gaps.size
        self._gaps, self._place, self._plane = gaps, place, plane

    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate."""
        return self._plane.distance(int(self._place[index]), self._gaps.exact(index))

    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision."""
        exact = (self.exact(index) for index in range(self.size))
        return np.array([_nearest(int(distance.p), int(distance.q)) for distance in exact])


class RationalTangents(_Tangents):
    """Tangents for any scores and sensitivities, all of them computed exactly."""

    __slots__ = ("_estimates",)

    def __init__(self, gaps: Distances, place: NDArray[np.intp], plane: Plane) -> None:
        super().__init__(gaps, place, plane)
        grains = lower_bound(lambda: GRAIN / arb.const_log2())
        factor = rational(grains)
        whole = (int((self.exact(index) * factor).floor()) for index in range(self.size))
        self._estimates = np.array([float(min(estimate, _CUT_OFF)) for estimate in whole])

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write whole numbers at or below distance / ln 2 * GRAIN."""
        out[:] = self._estimates[start:stop]


class FloatTangents(_Tangents):
    """Tangents for scores in an array and sensitivities that are not too far apart,
    estimated in floats.

    A rounded bisection may end beside the right corner. Every corner gives a safe
    estimate, and that one a close one.
    """

    __slots__ = (
        "_corner_costs",
        "_corner_widths",
        "_intercepts",
        "_penalties",
        "_rounds",
        "_slopes",
        "_widths",
    )

    def __init__(self, gaps: Distances, place: NDArray[np.intp], plane: Plane) -> None:
        super().__init__(gaps, place, plane)
        hull = plane.hull
        self._widths = np.array([plane.multiple(width) * _UP for width in plane.widths])
        self._penalties = np.array([plane.grains(width * plane.penalty) for width in plane.widths])
        self._corner_widths = np.array([plane.multiple(width) * _UP for width in hull.widths])
        self._corner_costs = np.array([plane.grains(cost) * _UP for cost in hull.costs])
        # As many rounds of bisection as the public number of widths needs, whatever the hull is.
        self._rounds = (len(plane.widths) - 1).bit_length()
        # The line through two neighbouring corners: its slope, and its cost at width 0.
        # Missing lines lie below all candidates.
        self._slopes, self._intercepts = (
            np.zeros(1 << self._rounds),
            np.full(1 << self._rounds, -np.inf),
        )
        for edge, (left, right) in enumerate(pairwise(zip(hull.widths, hull.costs, strict=True))):
            across, fall = right[0] - left[0], left[1] - right[1]
            self._slopes[edge] = plane.grains(fall * plane.widths[0], across)
            self._intercepts[edge] = plane.grains(left[1] * across + fall * left[0], across)

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write the slope to the corner that the bisection finds, rounded down."""
        place = self._place[start:stop]
        widths = self._widths[place]
        self._gaps.estimate(start, stop, out)
        np.add(out, self._penalties[place], out=out)
        corner = np.zeros(place.size, dtype=np.intp)
        # a line so high that it overflows is above the candidate
        with np.errstate(over="ignore"):
            for step in (1 << power for power in reversed(range(self._rounds))):
                edge = corner + (step - 1)
                corner += step * (self._intercepts[edge] + self._slopes[edge] * widths >= out)
        np.multiply(out, _DOWN, out=out)
        np.subtract(out, self._corner_costs[corner], out=out)
        np.maximum(out, 0.0, out=out)
        np.divide(out, widths + self._corner_widths[corner], out=out)


def measure_tangents(
    scores: NDArray[Any] | list[Fraction],
    extremes: tuple[Any, Any],
    sensitivities: Sequence[Any],
    place: NDArray[np.intp],
    *,
    rate: fmpq,
    penalty: Fraction,
    smallest: bool,
) -> Distances:
    """Choose the reading that is exact and fastest.

    extremes: the smallest and the largest score.
    sensitivities: all different, in rising order; candidate i has the one at
        `place[i]`.
    rate: noise scales in one unit of score, for the smallest sensitivity.
    penalty: noise scales that a candidate is set back for each multiple of the smallest
        sensitivity.
    """
    gaps = measure(scores, *extremes, rate, smallest=smallest)
    leaders = _leaders(scores, extremes, place, len(sensitivities), smallest=smallest)
    plane = Plane(sensitivities, leaders, rate, penalty, smallest=smallest)
    fast = not isinstance(gaps, RationalDistances) and plane.spread(penalty) <= _LARGEST_SPREAD
    return (FloatTangents if fast else RationalTangents)(gaps, place, plane)


def _leaders(
    scores: NDArray[Any] | list[Fraction],
    extremes: tuple[Any, Any],
    place: NDArray[np.intp],
    count: int,
    *,
    smallest: bool,
) -> list[Any]:
    """The best score at each place, exactly."""
    low, high = extremes
    array = scores if isinstance(scores, np.ndarray) else np.array(scores, dtype=object)
    leaders = np.full(count, high if smallest else low, dtype=array.dtype)
    (np.minimum if smallest else np.maximum).at(leaders, place, array)
    found: list[Any] = leaders.tolist()
    return found


def _whole(numbers: Sequence[Any]) -> tuple[list[int], int]:
    """The numbers in a common unit, and how many of these make 1."""
    ratios = [number.as_integer_ratio() for number in numbers]
    unit = math.lcm(*{denominator for _, denominator in ratios})
    return [numerator * (unit // denominator) for numerator, denominator in ratios], unit


def _nearest(numerator: int, denominator: int) -> float:
    """The float next to the quotient; infinite where no float is that large."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf
