"""Whole numbers with exact discrete Gaussian noise, for budgets that count squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from flint import arb, ctx

from discreet.errors import public_class
from discreet.exact.enclosures import ball, upper_bound
from discreet.exact.rationals import (
    Number,
    nearest_float,
    set_frozen,
    whole_sensitivity,
)
from discreet.mechanisms.whole_noise import WholeNoise, smallest_bound
from discreet.privacy.loss import ZCDP, Loss
from discreet.privacy.parameters import Slot, given, parameterized, read_rho
from discreet.randomness.bulk_draws import added, gaussian_noise
from discreet.randomness.chance import Chance

# working bits beside those of the largest numbers
_SPARE_BITS = 64
# up to this variance the terms of a tail are added up one by one
_SUMMED = 2**12


@public_class
@parameterized
class DiscreteGaussian(WholeNoise):
    """A whole number, or several, with noise: odds exp(-noise^2 / (2 variance)) on all
    whole numbers.

    rho: the privacy loss of one release, in concentrated DP.
    squared_sensitivity: the most that the squares of one person's moves add up to: of
        one number, the square of the largest move; of counts, how many of them a person
        can move by 1.
    acknowledge: the sentence `NOT_PRIVATE`, which a rho above 64 needs.

    Privacy: concentrated DP, as with noise on all real numbers. No pure DP, however
        large the epsilon.
    Utility: `error_bound`; the standard deviation is at most sqrt(squared_sensitivity /
        (2 rho)). Where a person moves many numbers it is far smaller than that of
        `DiscreteLaplace`.
    Cost: a few exact coins for each number; many numbers are drawn at once.
    Reference: Canonne, Kamath and Steinke 2020. Proof: docs/proofs/noise.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = DiscreteGaussian(rho=0.5, squared_sensitivity=1)
    >>> mechanism.release([10, 20, 30], bits=SeededBits(3)).value
    [9, 21, 30]
    >>> mechanism.privacy_loss()
    ZCDP(rho=0.5)
    """

    rho: Slot[Number, Fraction] = given()
    squared_sensitivity: Slot[Number, Fraction] = given()
    acknowledge: str | None = None
    name: ClassVar[str] = "discrete-gaussian"
    stated: ClassVar[tuple[str, str]] = "rho", "squared_sensitivity"

    def __post_init__(self) -> None:
        set_frozen(self, rho=read_rho(self.rho, self.acknowledge))
        # docs/proofs/noise.md#discrete-gaussian
        squares = whole_sensitivity(self.squared_sensitivity, "squared_sensitivity")
        set_frozen(self, squared_sensitivity=squares)

    @property
    def variance(self) -> Fraction:
        """What the odds have as their variance; that of the noise itself is a little smaller."""
        # docs/proofs/noise.md#discrete-gaussian
        return self.squared_sensitivity / (2 * self.rho)

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # docs/proofs/noise.md#discrete-gaussian
        return ZCDP(self.rho)

    def add_noise(self, numbers: Sequence[int], chance: Chance) -> list[int]:
        """The numbers, each with noise of its own."""
        return added(numbers, gaussian_noise(self.variance, len(numbers), chance))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, at most: to compare noises, not to certify."""
        return math.sqrt(nearest_float(self.variance))

    def _log_odds(self, noise: list[int]) -> arb:
        squares = sum(each**2 for each in noise)
        behind = ball(Fraction(squares) / (2 * self.variance))
        return -(behind + len(noise) * _sum_of_odds(self.variance).log())

    def _bound(self, failure_probability: Fraction) -> int:
        return smallest_bound(self.tail, failure_probability)

    def difference_tail(self, least: int) -> Fraction:
        """The probability that one noise is larger than another by at least this, at most."""
        variance = self.variance
        start = Fraction(least) - Fraction(1, 2)
        # from the deviation of the difference on its odds are convex
        start = start if start**2 >= 2 * variance else start - Fraction(1, 2)

        # docs/proofs/noise.md#discrete-gaussian
        def exact() -> arb:
            root = (arb.pi() * ball(variance)).sqrt()
            square = arb.pi() ** 2 * ball(variance)
            rest = 2 * (-square / 2).exp() / -(-4 * square).expm1()
            largest = 1 / (2 * root) + (1 + rest) ** 2 - 1
            return largest * root * (ball(start) / (2 * ball(variance).sqrt())).erfc()

        return min(Fraction(1), upper_bound(exact))

    def tail(self, size: int) -> Fraction:
        """An upper bound of the probability that the noise is larger than this, on either side."""
        return _tail(self.variance, size)


@lru_cache(maxsize=256)
def _tail(variance: Fraction, size: int) -> Fraction:
    """docs/proofs/noise.md#discrete-gaussian: the sum where it is short, else an integral."""
    if variance <= _SUMMED:
        return min(Fraction(1), upper_bound(lambda: _summed_tail(variance, size)))
    # from one deviation on the odds are convex
    behind = Fraction(size) + Fraction(1, 2)
    start = behind if behind**2 >= variance else Fraction(size)
    return upper_bound(lambda: (ball(start) / (2 * ball(variance)).sqrt()).erfc())


def _summed_tail(variance: Fraction, size: int) -> arb:
    """Both sides, term by term, with what is left as a geometric series."""
    rate = 1 / (2 * ball(variance))
    number, total = size + 1, arb(0)
    first = (-rate * number**2).exp()
    smallest, term = first * arb(2) ** -ctx.prec, first
    while not term < smallest:
        total += term
        number += 1
        term = (-rate * number**2).exp()
    # from here on each term is at most this part of the one before
    falls = (-rate * (2 * number + 1)).exp()
    total += arb(0).union(term / (1 - falls))
    return 2 * total / _sum_of_odds(variance)


def _sum_of_odds(variance: Fraction) -> arb:
    """The sum of exp(-n^2 / (2 variance)) over all whole numbers, by itself or by
    Poisson's formula: whichever has terms that fall at once.
    """
    if variance < 1:
        return 1 + 2 * _sum_of_squares(1 / (2 * ball(variance)))
    twice = 2 * ball(variance)
    return (arb.pi() * twice).sqrt() * (1 + 2 * _sum_of_squares(arb.pi() ** 2 * twice))


def _sum_of_squares(rate: arb) -> arb:
    """The sum of exp(-rate n^2) for n >= 1, enclosed, for rates of at least 1/2."""
    total, number, term = arb(0), 1, (-rate).exp()
    smallest = arb(2) ** -(ctx.prec + _SPARE_BITS)
    while not term < smallest:
        total += term
        number += 1
        term = (-rate * number**2).exp()
    # each later term is less than a quarter of the one before, so the rest is less than three
    # times the next one
    return total + arb(0).union(3 * term)
