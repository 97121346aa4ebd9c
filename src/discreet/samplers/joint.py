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
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.samplers.chance import Chance
from discreet.samplers.distances import OrderedDistances, nearest_float

_FINE = 4  # stretches in one noise scale: the odds fall by e^(1/4) within each
_COARSE = 16  # fine stretches in a coarse one
_NEGLIGIBLE = 40.0  # noise scales
_MARGIN = 1 + 2.0**-40  # far more than the rounding errors of a few float operations
_PRODUCT_MARGIN = 1 + 2.0**-20  # ... or of a product of 2^30 floats
_BITS = 40  # of the largest bound of a stretch
_BITS_PER_SCALE = 1 / math.log(2)


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

    __slots__ = ("_distances", "_last", "_order", "count", "far", "near", "size", "step")

    def __init__(self, distances: OrderedDistances, step: fmpq, count: int) -> None:
        self._distances, self.step, self.count, self.size = distances, step, count, distances.size
        all_lists = sum(math.log(self.size - place) for place in range(count))
        self.far = all_lists + _NEGLIGIBLE
        """The margin from which on all lists together have odds below e^-40: no need to be precise there."""
        approximate = distances.approximate()
        self._last = float(np.partition(approximate, count - 1)[count - 1])
        matter = np.flatnonzero(approximate <= (self._last + self.far) * _MARGIN)
        self._order = self._sorted(matter)
        self.near: NDArray[np.float64] = approximate[self._order]
        """Their distances, to float precision, in ascending order."""

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
        about = nearest_float(limit)
        if about > self._last + self.far:  # beyond what was sorted; this is next to never asked
            return sum(self._distances.exact(candidate) <= limit for candidate in range(self.size))
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
        order = self._order if reaches[-1] <= self._order.size else self._sorted(np.arange(self.size))
        return [int(order[member]) for member in result]

    def _sorted(self, candidates: NDArray[np.intp]) -> NDArray[np.intp]:
        """The candidates from best to worst."""
        values, smallest = self._distances.order()
        order = values[candidates].argsort()
        return candidates[order if smallest else order[::-1]]


class Stretches:
    """All margins, in stretches with an upper bound of the odds of each."""

    __slots__ = (
        "_bounds",
        "_cumulative",
        "_exponent",
        "_far_bound",
        "_far_length",
        "_far_start",
        "_fine",
        "_lengths",
        "_starts",
    )

    def __init__(self, field: Field) -> None:
        self._fine = max(1, int((1 / (_FINE * field.step)).floor()))  # steps in a fine stretch
        scale = nearest_float(self._fine * field.step)  # ... and noise scales
        starts, lengths = _divide(field, scale)
        self._starts, self._lengths = starts.tolist(), lengths.tolist()
        # Up to the last margin of the stretch and not to the first of the next: where a step is large, that is a difference.
        mantissas, exponents = field.most_lists((starts + lengths) * scale - nearest_float(field.step))
        # where the largest bound will have about _BITS bits; anything would do, this keeps the sum below 2^63
        self._exponent = int((exponents - starts * scale * _BITS_PER_SCALE).max()) - _BITS
        pieces = zip(self._starts, mantissas.tolist(), exponents.tolist(), strict=True)
        self._bounds = [self._bound(field, *piece) for piece in pieces]
        self._cumulative = np.cumsum(np.array(self._bounds) * lengths)
        self._far_start = self._starts[-1] + self._lengths[-1]
        self._far_length = int((1 / field.step).floor()) + 1  # more than one noise scale: odds fall by more than 1/2
        self._far_bound = self._bound(field, self._far_start, math.perm(field.size, field.count), 0)

    def _bound(self, field: Field, start: int, lists: float, exponent: int) -> int:
        """A whole number at or above lists * 2^(exponent - self._exponent) * exp(-margin at the start)."""
        odds = arb(lists) * (-arb(start * self._fine * field.step)).exp()
        whole = (odds * arb(2) ** (exponent - self._exponent)).upper().ceil().unique_fmpz()
        assert whole is not None  # the upper end of a ball is one number
        return int(whole)

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
        margin = self._starts[place] * self._fine + chance.below(self._lengths[place] * self._fine)
        return margin, self._bounds[place], self._exponent


def _divide(field: Field, scale: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and lengths of the stretches, counted in fine ones: coarse where the odds are negligible.

    Logarithms only decide how fine, so their rounding errors do no harm.
    """
    starts = np.arange(0, math.ceil(field.far / scale) + 1, _COARSE)
    most = _logarithm(*field.most_lists((starts + _COARSE) * scale - nearest_float(field.step))) - starts * scale
    least = _logarithm(*field.most_lists(starts * scale)) - starts * scale
    fine = starts[most > least.max() - _NEGLIGIBLE]
    coarse = np.setdiff1d(starts, fine)
    starts = np.concatenate([np.add.outer(fine, np.arange(_COARSE)).ravel(), coarse])
    lengths = np.repeat([1, _COARSE], [fine.size * _COARSE, coarse.size])
    order = starts.argsort()
    return starts[order], lengths[order]


def _logarithm(mantissas: NDArray[np.float64], exponents: NDArray[np.int64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.log(mantissas) + exponents * math.log(2)
    return result
