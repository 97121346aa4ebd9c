"""The joint draw of a whole ranking: Gillenwater et al.'s exponential mechanism over all ordered lists of k candidates.

A list s = (s_1, ..., s_k) lies *behind* by max_i (distance of s_i - distance of the i-th best), and its odds are exp(-behind). There
are d^k lists, but they need not be listed. For a *margin* y let t_i be the number of candidates that are at most y behind the
i-th best. These sets grow with i, so exactly N(y) = prod_i (t_i - (i - 1)) lists lie behind by at most y, and drawing one of them
uniformly is easy. If all distances are whole multiples of a step, then, summing by parts,

    exp(-behind) is proportional to the sum of exp(-y) over all margins y = 0, step, 2 step, ... that are at least `behind`,

so it is enough to draw a margin y with odds N(y) exp(-y), exactly, and then any list within that margin. Margins are proposed
in stretches with an upper bound of their odds, and kept by one exact coin. The proof is in docs/proofs/top-k.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.samplers.chance import Chance
from discreet.samplers.distances import (
    LargeIntegerDistances,
    OrderedDistances,
    RationalDistances,
    SmallIntegerDistances,
    nearest_float,
)
from discreet.samplers.order import best_keys, kth_largest, pieces_of, sorted_places

_FINE = 4  # stretches in one noise scale: the odds fall by e^(1/4) within each
_NEGLIGIBLE = 40.0  # noise scales
_MARGIN = 1 + 2.0**-40  # far more than the rounding errors of a few float operations
_PRODUCT_MARGIN = 1 + 2.0**-20  # ... or of a product of 2^30 floats
_BITS = 40  # of the largest bound of a stretch
_BITS_PER_SCALE = 1 / math.log(2)
_MANTISSA = 50  # bits of exp(-x): all of them are exact in a float
_LARGEST = 2**64 - 2


def draw_joint(distances: OrderedDistances, step: fmpq, count: int, chance: Chance) -> list[int]:
    """Draw a ranking of `count` candidates whose distances are whole multiples of `step`."""
    field = Field(distances, step, count)
    stretches = Stretches(field)
    while True:
        multiple, bound, exponent = stretches.propose(chance)
        reaches = field.reaches(multiple * step)
        lists = math.prod(reach - place for place, reach in enumerate(reaches))
        numerator, denominator = lists << max(0, -exponent), bound << max(0, exponent)
        if chance.decay(lambda: multiple * step, numerator, denominator, likely=False):  # noqa: B023 (decided at once)
            return field.any_list(reaches, chance)


class Field:
    """The candidates from best to worst, as far as they can matter, and how many lie within a margin."""

    __slots__ = ("_distances", "_known", "_last", "_order", "count", "far", "near", "size", "step")

    def __init__(self, distances: OrderedDistances, step: fmpq, count: int) -> None:
        self._distances, self.step, self.count, self.size = distances, step, count, distances.size
        all_lists = sum(math.log(self.size - place) for place in range(count))
        self.far = all_lists + _NEGLIGIBLE
        """The margin from which on all lists together have odds below e^-40: no need to be precise there."""
        self._known = _known_differences(distances, step, self.far)
        order, known = self._sorted()
        self._order = order[:known]
        # All of them are looked up, so that the time does not tell how many matter.
        self.near: NDArray[np.float64] = distances.approximate()[order][:known]
        """Their distances, to float precision, in ascending order."""
        self._last = distances.exact(int(order[count - 1]))

    def most_lists(self, margins: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """For each margin an upper bound of N, as a float times a power of two: N can be far beyond floats."""
        mantissas, exponents = np.ones(margins.size), np.zeros(margins.size, dtype=np.int64)
        for place in range(self.count):
            reach = self.near.searchsorted((self.near[place] + margins) * _MARGIN, side="right")
            mantissas, more = np.frexp(mantissas * np.maximum(reach - place, 1))
            exponents += more
        return mantissas * _PRODUCT_MARGIN, exponents

    def reaches(self, margin: fmpq) -> list[int]:
        """How many candidates are at most the margin behind the best, the second best, and so on."""
        return [self._reach(self._distances.exact(int(best)) + margin) for best in self._order[: self.count]]

    def _reach(self, limit: fmpq) -> int:
        """How many candidates have at most this distance: floats leave a few in doubt, and those are asked exactly."""
        if self._order.size < self.size and limit >= self._last + self._known * self.step:
            # beyond what was sorted; this is next to never asked
            return sum(self._distances.exact(candidate) <= limit for candidate in range(self.size))
        about = nearest_float(limit)
        low = int(self.near.searchsorted(about / _MARGIN, side="left"))
        high = int(self.near.searchsorted(about * _MARGIN, side="right"))
        return bisect_right(self._order, limit, low, high, key=lambda candidate: self._distances.exact(int(candidate)))

    def any_list(self, reaches: list[int], chance: Chance) -> list[int]:
        """A uniform list whose i-th member is one of the first reaches[i], by a shuffle that stops early.

        The places before i hold the members so far; what they held before has moved to the place the member came from.
        """
        moved: dict[int, int] = {}
        result = []
        for place, reach in enumerate(reaches):
            drawn = place + chance.below(reach - place)
            result.append(moved.get(drawn, drawn))
            moved[drawn] = moved.get(place, place)
        order = self._order if reaches[-1] <= self._order.size else self._all_sorted()
        return [int(order[member]) for member in result]

    def _sorted(self) -> tuple[NDArray[np.int64], int]:
        """All candidates, and how many of them are in order from best to worst: at least those that can matter.

        The time depends on the number of candidates and on public parameters only.
        """
        keys = best_keys(*self._distances.order())
        last = np.uint64(kth_largest(keys, self.count, self.count))
        # How far behind the last of the best `count`, from 1 on; 0 for those that are better, which are few.
        beyond = np.uint64(self._known)
        behind = (np.minimum(last - keys, beyond) + np.uint64(1)) * (keys <= last)
        order = sorted_places(behind, pieces_of(self._known + 1))
        best = order[: self.count]
        order[: self.count] = best[sorted_places(~keys[best], 4)]
        return order, self.size - int(np.count_nonzero(behind > beyond))

    def _all_sorted(self) -> NDArray[np.int64]:
        return sorted_places(~best_keys(*self._distances.order()), 4)


def _known_differences(distances: OrderedDistances, step: fmpq, far: float) -> int:
    """From which difference of keys on, behind the last of the best, candidates cannot matter. From public parameters only."""
    if isinstance(distances, (SmallIntegerDistances, LargeIntegerDistances)):
        return min(_LARGEST, int((fmpq(*far.as_integer_ratio()) / step).ceil()) + 1)
    return distances.size if isinstance(distances, RationalDistances) else _LARGEST


class Stretches:
    """All margins, in stretches with an upper bound of the odds of each.

    How many stretches there are depends on public parameters only.
    """

    __slots__ = ("_bounds", "_cumulative", "_exponent", "_far_bound", "_far_length", "_far_start", "_fine")

    def __init__(self, field: Field) -> None:
        self._fine = max(1, int((1 / (_FINE * field.step)).floor()))  # steps in a stretch
        scale = nearest_float(self._fine * field.step)  # ... and noise scales
        self._far_start = math.ceil(field.far / scale) + 1
        # Up to the last margin of the stretch and not to the first of the next: where a step is large, that is a difference.
        ends = np.arange(1, self._far_start + 1) * scale - nearest_float(field.step)
        mantissas, exponents = field.most_lists(ends)
        likelihoods, more = _decay(self._fine * field.step, self._far_start)
        mantissas, exponents = mantissas * likelihoods * _MARGIN, exponents + more
        # where the largest bound will have about _BITS bits; anything would do, this keeps the sum below 2^63
        self._exponent = int((np.frexp(mantissas)[1] + exponents).max()) - _BITS
        # Rounded up, also where nothing is left of it: what is beyond the reach of `near` has odds below that.
        bounds = np.floor(np.ldexp(mantissas, exponents - self._exponent)).astype(np.int64) + 1
        self._bounds: list[int] = bounds.tolist()
        self._cumulative = np.cumsum(bounds)
        self._far_length = int((1 / field.step).floor()) + 1  # more than one noise scale: odds fall by more than 1/2
        self._far_bound = self._bound(field, self._far_start, math.perm(field.size, field.count), 0)

    def _bound(self, field: Field, start: int, lists: float, exponent: int) -> int:
        """A whole number at or above lists * 2^(exponent - self._exponent) * exp(-margin at the start)."""
        odds = arb(lists) * (-arb(start * self._fine * field.step)).exp()
        return _round_up(odds * arb(2) ** (exponent - self._exponent))

    def propose(self, chance: Chance) -> tuple[int, int, int]:
        """A margin in steps, and an upper bound of its odds: bound * 2^exponent."""
        near = int(self._cumulative[-1]) * self._fine
        far = 2 * self._far_length * self._far_bound
        if chance.coin(far, near + far):
            halvings = 0
            while chance.coin(1, 2):
                halvings += 1
            margin = self._far_start * self._fine + halvings * self._far_length + chance.below(self._far_length)
            return margin, self._far_bound, self._exponent - halvings
        place = chance.pick(self._cumulative, int(self._cumulative[-1]))
        margin = place * self._fine + chance.below(self._fine)
        return margin, self._bounds[place], self._exponent


@lru_cache(maxsize=64)
def _decay(width: fmpq, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Upper bounds of exp(-width * i) for i below count, as whole floats and powers of two. Remembered: they are public."""
    powers = [int(nearest_float(number * width) * _BITS_PER_SCALE) + _MANTISSA for number in range(count)]
    balls = ((-arb(number * width)).exp() * arb(2) ** power for number, power in enumerate(powers))
    return np.array([_round_up(ball) for ball in balls], dtype=np.float64), -np.array(powers)


def _round_up(ball: arb) -> int:
    """A whole number at or above all numbers of the ball."""
    whole = ball.upper().ceil().unique_fmpz()
    assert whole is not None  # the upper end of a ball is one number
    return int(whole)
