"""Whole numbers with rounded normal noise: the Gaussian mechanism, without its real numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import public_class
from discreet.exact.enclosures import at_precision, ball, up, upper_bound
from discreet.exact.normal import upper_tail
from discreet.exact.rationals import (
    Number,
    nearest_float,
    set_frozen,
    whole_sensitivity,
)
from discreet.mechanisms.whole_noise import WholeNoise, smallest_bound
from discreet.privacy.loss import GaussianDP, Loss
from discreet.privacy.parameters import Slot, given, parameterized, read_mu
from discreet.randomness.bulk_draws import added
from discreet.randomness.chance import Chance
from discreet.samplers.rounded_normals import draw_rounded_normals

Array = NDArray[np.float64]

# up to this variance the law of a sum of two noises is added up
_SUMMED = 2**14
# how many deviations of each noise are added up; what lies beyond is added to the tail
_FAR = 12
# a sum of products of floats that are at least 0, with at most 2^13 terms
_SAFE = 1 + 2.0**-38


@public_class
@parameterized
class RoundedGaussian(WholeNoise):
    """A whole number, or several, with normal noise that is rounded to a whole number.

    mu: the privacy loss of one release, in Gaussian DP.
    squared_sensitivity: the most that the squares of one person's moves add up to: of
        one number, the square of the largest move; of counts, how many of them a person
        can move by 1.
    acknowledge: the sentence `NOT_PRIVATE`, which a mu above 11 needs.

    Privacy: Gaussian DP, exactly that of normal noise on real numbers, because a whole
        number plus a rounded one is the rounded sum. So it can be paid in coins, and in
        rho. No pure DP, however large the epsilon.
    Utility: `error_bound`; the standard deviation is sqrt(squared_sensitivity / mu^2 +
        1/12).
    Cost: an exact normal number each; they are drawn many at once.
    Proof: docs/proofs/noise.md#rounded-normal-noise.

    >>> from discreet.testing import SeededBits
    >>> mechanism = RoundedGaussian(mu=1, squared_sensitivity=1)
    >>> len(mechanism.release([10, 20, 30], bits=SeededBits(3)).value)
    3
    >>> mechanism.privacy_loss()
    GaussianDP(mu=1)
    """

    mu: Slot[Number, Fraction] = given()
    squared_sensitivity: Slot[Number, Fraction] = given()
    acknowledge: str | None = None
    name: ClassVar[str] = "rounded-gaussian"
    stated: ClassVar[tuple[str, str]] = "mu", "squared_sensitivity"

    def __post_init__(self) -> None:
        set_frozen(self, mu=read_mu(self.mu, self.acknowledge))
        # docs/proofs/noise.md#rounded-normal-noise
        squares = whole_sensitivity(self.squared_sensitivity, "squared_sensitivity")
        set_frozen(self, squared_sensitivity=squares)

    @property
    def variance(self) -> Fraction:
        """The variance of the normal numbers; rounding adds about 1/12."""
        # docs/proofs/noise.md#rounded-normal-noise
        return self.squared_sensitivity / self.mu**2

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # docs/proofs/noise.md#rounded-normal-noise
        return GaussianDP(self.mu)

    def add_noise(self, numbers: Sequence[int], chance: Chance) -> list[int]:
        """The numbers, each with noise of its own."""
        return added(numbers, draw_rounded_normals(self.variance, len(numbers), chance))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, about: to compare noises, not to certify."""
        return math.sqrt(nearest_float(self.variance) + 1 / 12)

    def _log_odds(self, noise: list[int]) -> arb:
        return sum((rounded_probability(each, self.variance).log() for each in noise), arb(0))

    def _bound(self, failure_probability: Fraction) -> int:
        return smallest_bound(self.tail, failure_probability)

    def difference_tail(self, least: int) -> Fraction:
        """The probability that one noise is larger than another by at least this, at most."""
        # docs/proofs/noise.md#rounded-normal-noise
        return sum_tail((self.variance, self.variance), least) / 2 if least > 0 else Fraction(1)

    def tail(self, size: int) -> Fraction:
        """The probability that the noise is larger than this, on either side, rounded up."""

        def exact() -> arb:
            return 2 * upper_tail((ball(size) + arb(0.5)) / ball(self.variance).sqrt())

        return min(Fraction(1), upper_bound(exact))


def rounded_probability(size: int, variance: Fraction) -> arb:
    """The probability of one whole number of this size: of the real ones that round to it."""
    width = ball(variance).sqrt()
    low, high = (ball(size) - arb(0.5)) / width, (ball(size) + arb(0.5)) / width
    return upper_tail(low) - upper_tail(high)


@lru_cache(maxsize=256)
def sum_tail(variances: tuple[Fraction, Fraction], least: int) -> Fraction:
    """The probability that two rounded normal numbers add up to `least` or more in size."""
    together = ball(sum(variances, Fraction(0))).sqrt()
    # each was rounded by at most a half
    found = upper_bound(lambda: 2 * upper_tail(ball(least - 1) / together))
    if sum(variances) <= _SUMMED:
        law = _law_of_sum(variances)
        far = 2 * float(law[law.size // 2 + least :].sum()) * _SAFE
        found = min(found, Fraction(far) + _beyond(variances))
    return min(Fraction(1), found)


@lru_cache(maxsize=64)
def _law_of_sum(variances: tuple[Fraction, Fraction]) -> Array:
    """Upper bounds of the probabilities of all sums, that of 0 in the middle."""
    one, other = (at_precision(128, partial(_law, each)) for each in variances)
    sums: Array = np.convolve(one, other) * _SAFE
    return sums


def _law(variance: Fraction) -> Array:
    reach = _reach(variance)
    side = [up(rounded_probability(size, variance)) for size in range(reach + 1)]
    return np.array([*side[:0:-1], *side])


def _reach(variance: Fraction) -> int:
    return math.ceil(_FAR * math.sqrt(float(variance))) + 1


def _beyond(variances: tuple[Fraction, Fraction]) -> Fraction:
    """The probability that either noise lies beyond what is added up."""

    def far() -> arb:
        ends = (ball(_reach(each)) / ball(each).sqrt() for each in variances)
        return sum((2 * upper_tail(end) for end in ends), arb(0))

    return upper_bound(far)
