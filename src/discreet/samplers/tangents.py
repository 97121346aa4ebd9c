"""Distances of candidates that have different sensitivities, as tangents to a convex hull.

The generalized exponential mechanism gives candidate i the distance

    max over j of (cost_i - cost_j) / (width_i + width_j)   >= 0

where the width is the sensitivity in units of the smallest one, and cost = (how far the score is behind the best, in noise
scales) + penalty * width. That is the steepest line from the point (-width_i, -cost_i) to one of the points (width_j, -cost_j),
which all lie to its right: a tangent to their upper hull. Of each width only the least cost can be a corner of the hull, and of
the hull only the part that rises, up to the least cost of all, can be touched. Along it the slopes first rise and then fall, so
bisection finds the tangent: n log n steps for all candidates instead of n^2. The proof is in
docs/proofs/generalized-exponential.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.certified import lower_bound
from discreet.samplers.distances import GRAIN, GRAINS_PER_SCALE, Distances, RationalDistances, measure

_LARGEST_SPREAD = 2**34  # widest / narrowest * (penalty + 40); up to here roundings lower an estimate by at most 2^-12 scales
_CUT_OFF = 2**40  # grains; far more than any envelope looks at, and exact in a float
# Costs, widths, slopes and their sums are floats within a few 2^-53 of the truth. Costs and quotients get these factors, so
# that an estimate never exceeds the true value.
_DOWN, _UP = 1 - 2.0**-50, 1 + 2.0**-50


class Hull:
    """The rising part of the upper hull of points (width, -cost), with its corners from left to right, in whole numbers."""

    __slots__ = ("costs", "widths")

    def __init__(self, widths: list[int], costs: list[int]) -> None:
        """Widths are positive and rise."""
        corners: list[int] = []
        for place, (width, cost) in enumerate(zip(widths, costs, strict=True)):
            while len(corners) > 1:
                first, last = corners[-2], corners[-1]
                # the last corner stays if it lies strictly above the line from the one before it to this point
                if (cost - costs[first]) * (widths[last] - widths[first]) > (costs[last] - costs[first]) * (width - widths[first]):
                    break
                corners.pop()
            corners.append(place)
        while len(corners) > 1 and costs[corners[-1]] >= costs[corners[-2]]:
            corners.pop()
        self.widths, self.costs = [widths[corner] for corner in corners], [costs[corner] for corner in corners]

    def steepest(self, width: int, cost: fmpq) -> fmpq:
        """The largest (cost - cost_j) / (width + width_j)."""
        low, high = 0, len(self.costs) - 1
        while low < high:
            middle = (low + high) // 2
            here = (cost - self.costs[middle]) * (width + self.widths[middle + 1])
            following = (cost - self.costs[middle + 1]) * (width + self.widths[middle])
            low, high = (middle + 1, high) if here <= following else (low, middle)
        return (cost - self.costs[low]) / (width + self.widths[low])


class TangentDistances:
    """Distances by exact tangents, for any scores and sensitivities."""

    __slots__ = ("_estimates", "_gaps", "_place", "_plane", "size")

    def __init__(self, gaps: Distances, place: NDArray[np.intp], plane: Plane) -> None:
        self.size = gaps.size
        self._gaps, self._place, self._plane = gaps, place, plane
        grains = lower_bound(lambda: GRAIN / arb.const_log2())
        factor = fmpq(grains.numerator, grains.denominator)
        whole = (int((self.exact(index) * factor).floor()) for index in range(self.size))
        self._estimates = np.array([float(min(estimate, _CUT_OFF)) for estimate in whole])

    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate."""
        return self._plane.distance(int(self._place[index]), self._gaps.exact(index))

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write whole numbers at or below distance / ln 2 * GRAIN."""
        out[:] = self._estimates[start:stop]

    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision."""
        exact = (self.exact(index) for index in range(self.size))
        return np.array([_nearest(int(distance.p), int(distance.q)) for distance in exact])
