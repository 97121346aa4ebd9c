"""How far each candidate is behind the best one: exactly for one of them, and as a fast
safe estimate for all.

The unit is one *noise scale*: a candidate at distance x is e^x times less likely than
the best one to be drawn by the exponential mechanism. ``distance = rate * |best -
score|``, with an exact rational rate = epsilon / range.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from fractions import Fraction
from typing import Any, Protocol, Self

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import lower_bound, rational

GRAIN = 1 << 23
"""Estimates count in 1/GRAIN halvings: an estimate of GRAIN says "at least one factor
of 2 behind the best".
"""

GRAINS_PER_SCALE = 12102203.161561485
"""GRAIN / ln 2, rounded down to a float (a test compares it with an enclosure of ln 2)."""

# An estimate is rounded five times, by at most 2^-53 relative each: the rate, its two
# products in `measure`, the difference of the scores, and their product. (1 + 2^-53)^5 * (1
# - 2^-50) < 1, so the estimate never exceeds the true value.
_SLACK = 1 - 2.0**-50
# For factors in between, nothing that is rounded above is subnormal unless the estimate
# itself is below 1 and counts as 0.
_SMALLEST_FACTOR, _LARGEST_FACTOR = 2.0**-876, 2.0**924
_SMALL_INTEGERS = 2**51
# a float between 2^52 and 2^53, whose last bit counts 1, and its bits: as an array, which NumPy
# need not make of it for each call
_ANCHOR, _ANCHOR_BITS = 1.5 * 2.0**52, np.array(0x4338000000000000, dtype=np.int64)


class Estimates(Protocol):
    """Estimates of the distances of all candidates behind the best one."""

    size: int
    """The number of candidates."""

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write, for candidates start to stop, numbers whose whole part is at most
        distance / ln 2 * GRAIN, and close to it.
        """


class Distances(Estimates, Protocol):
    """The distances of all candidates behind the best one."""

    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate."""

    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision, for people to look at; no draw uses them."""


class OrderedDistances(Distances, Protocol):
    """Distances that can also be seen from another candidate than the best: for taking
    winners out one by one.
    """

    rate: fmpq
    """Noise scales in one unit of score."""

    def order(self) -> tuple[NDArray[Any], bool]:
        """Numbers that order the candidates, and whether the smallest of them is the best."""

    def among(self, chosen: slice | NDArray[np.intp]) -> OrderedDistances:
        """Keep the distances of some candidates only."""

    def between(self, ahead: NDArray[np.intp], behind: NDArray[np.intp]) -> NDArray[np.float64]:
        """How far each candidate of the second row is behind that of the first, which is
        at least as good: to within 2^-50 of it.
        """

    def seen_from(self, index: int) -> OrderedDistances:
        """Distances behind this candidate. What was closer than it counts as being as
        far behind as it was ahead.
        """


class ArrayDistances(ABC):
    """What the readings of NumPy arrays have in common."""

    __slots__ = ("_best", "_factor", "_scores", "_signed", "_smallest", "rate", "size")

    def __init__(
        self,
        scores: NDArray[Any],
        best: Any,
        rate: fmpq,
        factor: float,
        *,
        smallest: bool,
        signed: bool = False,
    ) -> None:
        self.size = scores.size
        self._scores, self._best, self.rate, self._factor, self._smallest = (
            scores,
            best,
            rate,
            factor,
            smallest,
        )
        # whether candidates may be ahead of `best`
        self._signed = signed

    @abstractmethod
    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate."""

    @abstractmethod
    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write the estimates of candidates start to stop."""

    @abstractmethod
    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision."""

    def order(self) -> tuple[NDArray[Any], bool]:
        """The scores."""
        return self._scores, self._smallest

    def among(self, chosen: slice | NDArray[np.intp]) -> Self:
        """Keep the distances of some candidates only."""
        return self.of(self._scores[chosen])

    def of(self, scores: NDArray[Any]) -> Self:
        """Compute the distances of these scores, which are those of some candidates."""
        return type(self)(
            scores,
            self._best,
            self.rate,
            self._factor,
            smallest=self._smallest,
            signed=self._signed,
        )

    def between(self, ahead: NDArray[np.intp], behind: NDArray[np.intp]) -> NDArray[np.float64]:
        """How far each candidate of the second row is behind that of the first."""
        ones, others = self._scores[ahead], self._scores[behind]
        gaps: NDArray[np.float64] = np.abs(np.subtract(ones, others, dtype=np.float64))
        return gaps * finite_float(self.rate)

    def seen_from(self, index: int) -> Self:
        """Distances behind this candidate."""
        best = self._scores[index].item()
        return type(self)(
            self._scores, best, self.rate, self._factor, smallest=self._smallest, signed=True
        )

    def _scale(self, differences: NDArray[np.float64]) -> None:
        """Turn best - score into estimates, in place."""
        # Where the smallest score is the best one, the differences are negative.
        np.multiply(differences, -self._factor if self._smallest else self._factor, out=differences)
        if self._signed:
            np.abs(differences, out=differences)


class FloatDistances(ArrayDistances):
    """Distances of floating-point scores, whose differences IEEE arithmetic rounds correctly."""

    __slots__ = ()

    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate: floats are dyadic rationals."""
        score = float(self._scores[index])
        return (
            abs(fmpq(*self._best.as_integer_ratio()) - fmpq(*score.as_integer_ratio())) * self.rate
        )

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write the correctly rounded differences, times a factor that is rounded down."""
        np.subtract(self._best, self._scores[start:stop], out=out, dtype=np.float64)
        self._scale(out)

    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision."""
        gaps: NDArray[np.float64] = np.abs(np.subtract(self._best, self._scores, dtype=np.float64))
        return gaps * finite_float(self.rate)


class SmallIntegerDistances(ArrayDistances):
    """Distances of integers below 2^51 in size.

    Adding such an integer to the bits of the float 1.5 * 2^52 gives the bits of 1.5 *
    2^52 + integer, exactly: faster than a conversion, and the differences are exact
    too.
    """

    __slots__ = ()

    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate."""
        return abs(int(self._best) - int(self._scores[index])) * self.rate

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write the exact differences, times a factor that is rounded down."""
        words = self._scores[start:stop]
        if words.dtype == np.uint64:
            words = words.view(np.int64)
        np.add(words, _ANCHOR_BITS, out=out.view(np.int64))
        np.subtract(_ANCHOR + self._best, out, out=out)
        self._scale(out)

    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision."""
        gaps: NDArray[np.float64] = np.abs(self._best - self._scores.astype(np.float64))
        return gaps * finite_float(self.rate)


class LargeIntegerDistances(ArrayDistances):
    """Distances of 64-bit integers of any size, taken modulo 2^64, where they are exact."""

    __slots__ = ()

    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate."""
        return abs(int(self._best) - int(self._scores[index])) * self.rate

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write the exact differences, rounded once to floats, times a factor that is
        rounded down.
        """
        np.copyto(out, self._differences(start, stop), casting="same_kind")
        np.multiply(out, self._factor, out=out)

    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision."""
        return self._differences(0, self.size).astype(np.float64) * finite_float(self.rate)

    def between(self, ahead: NDArray[np.intp], behind: NDArray[np.intp]) -> NDArray[np.float64]:
        """How far each candidate of the second row is behind that of the first."""
        values = self._scores.view(np.uint64)
        one, other = (behind, ahead) if self._smallest else (ahead, behind)
        return (values[one] - values[other]).astype(np.float64) * finite_float(self.rate)

    def _differences(self, start: int, stop: int) -> NDArray[np.uint64]:
        # A candidate ahead of this one gets a difference near 2^64, which nothing looks at.
        part, best = self._scores.view(np.uint64)[start:stop], np.uint64(self._best % 2**64)
        return np.subtract(part, best) if self._smallest else np.subtract(best, part)


class RationalDistances:
    """Distances of any exact scores: Python integers of any size, fractions, integers
    mixed with floats.
    """

    __slots__ = ("_estimates", "_gaps", "_scores", "_smallest", "rate", "size")

    def __init__(
        self, scores: list[Fraction], best: Fraction, rate: fmpq, *, smallest: bool
    ) -> None:
        self.size = len(scores)
        self._scores, self.rate, self._smallest = scores, rate, smallest
        self._gaps = [abs(rational(best - score)) for score in scores]
        grains = rational(lower_bound(lambda: arb(rate) * GRAIN / arb.const_log2()))
        # Past 2^40 grains the estimate is cut off: far more than any envelope looks at, and
        # exact in a float.
        self._estimates = np.array(
            [float(min(int((gap * grains).floor()), 2**40)) for gap in self._gaps]
        )

    def exact(self, index: int) -> fmpq:
        """The exact distance of one candidate."""
        return self._gaps[index] * self.rate

    def estimate(self, start: int, stop: int, out: NDArray[np.float64]) -> None:
        """Write whole numbers at or below distance / ln 2 * GRAIN."""
        out[:] = self._estimates[start:stop]

    def approximate(self) -> NDArray[np.float64]:
        """All distances to float precision."""
        return np.array([finite_float(gap * self.rate) for gap in self._gaps])

    def order(self) -> tuple[NDArray[Any], bool]:
        """The place of each score among the different ones."""
        places = {score: place for place, score in enumerate(sorted(set(self._scores)))}
        return np.array([places[score] for score in self._scores]), self._smallest

    def among(self, chosen: slice | NDArray[np.intp]) -> RationalDistances:
        """Keep the distances of some candidates only."""
        part = copy(self)
        indices = np.arange(self.size)[chosen].tolist()
        part.size = len(indices)
        part._scores, part._gaps = (
            [every[index] for index in indices] for every in (self._scores, self._gaps)
        )
        part._estimates = self._estimates[chosen]
        return part

    def between(self, ahead: NDArray[np.intp], behind: NDArray[np.intp]) -> NDArray[np.float64]:
        """How far each candidate of the second row is behind that of the first."""
        pairs = zip(ahead.tolist(), behind.tolist(), strict=True)
        return np.array([finite_float(self.exact(j) - self.exact(i)) for i, j in pairs])

    def seen_from(self, index: int) -> RationalDistances:
        """Distances behind this candidate."""
        return RationalDistances(
            self._scores, self._scores[index], self.rate, smallest=self._smallest
        )


def measure(
    scores: NDArray[Any] | list[Fraction],
    low: float | Fraction,
    high: float | Fraction,
    rate: fmpq,
    *,
    smallest: bool,
) -> OrderedDistances:
    """Choose the reading of the scores that is exact and fastest. `low` and `high` are
    their smallest and largest.
    """
    best = low if smallest else high
    factor = finite_float(rate) * GRAINS_PER_SCALE * _SLACK
    if isinstance(scores, np.ndarray) and _SMALLEST_FACTOR < factor < _LARGEST_FACTOR:
        if isinstance(best, int):
            small = low > -_SMALL_INTEGERS and high < _SMALL_INTEGERS
            return (SmallIntegerDistances if small else LargeIntegerDistances)(
                scores, best, rate, factor, smallest=smallest
            )
        # The difference of two finite floats can overflow, and so can its product with the factor.
        if isinstance(best, float) and math.isfinite((high - low) * factor):
            return FloatDistances(scores, best, rate, factor, smallest=smallest)
    return RationalDistances(
        [Fraction(score) for score in _listed(scores)], Fraction(best), rate, smallest=smallest
    )


def _listed(scores: NDArray[Any] | list[Fraction]) -> list[Any]:
    return scores.tolist() if isinstance(scores, np.ndarray) else scores


def finite_float(value: fmpq) -> float:
    """The float nearest to a rational; the largest one where that is infinite."""
    try:
        return int(value.p) / int(value.q)
    except OverflowError:
        return float(np.finfo(np.float64).max)
