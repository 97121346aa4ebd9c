"""Whole numbers with rounded normal noise: the Gaussian mechanism, without its real numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.exact.enclosures import at_precision, ball, nearest, upper_bound
from discreet.exact.normal import upper_tail
from discreet.exact.rationals import (
    Number,
    count,
    nearest_float,
    readable,
    set_frozen,
    whole_sensitivity,
)
from discreet.mechanisms.discrete_laplace import (
    noise_accuracy,
    read_pair,
    read_whole,
    smallest_bound,
)
from discreet.privacy.loss import GaussianDP, Loss
from discreet.privacy.parameters import read_mu, read_probability
from discreet.randomness.bulk_draws import added
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.rounded_normals import draw_rounded_normals


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RoundedGaussian:
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

    mu: Fraction
    squared_sensitivity: Fraction
    acknowledge: str | None

    def __init__(
        self, *, mu: Number, squared_sensitivity: Number, acknowledge: str | None = None
    ) -> None:
        owner, name = type(self).__name__, "squared_sensitivity"
        set_frozen(self, mu=read_mu(mu, acknowledge, owner), acknowledge=acknowledge)
        # docs/proofs/noise.md#rounded-normal-noise
        set_frozen(self, squared_sensitivity=whole_sensitivity(squared_sensitivity, name, owner))

    def __repr__(self) -> str:
        mu, squares = readable(self.mu), readable(self.squared_sensitivity)
        return f"RoundedGaussian(mu={mu}, squared_sensitivity={squares})"

    @property
    def variance(self) -> Fraction:
        """The variance of the normal numbers; rounding adds about 1/12."""
        # docs/proofs/noise.md#rounded-normal-noise
        return self.squared_sensitivity / self.mu**2

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # docs/proofs/noise.md#rounded-normal-noise
        return GaussianDP(self.mu)

    def release(self, value: int | Sequence[int], *, bits: Bits | None = None) -> Release:
        """The number with noise, or the list of numbers, each with its own. Give `bits`
        only in tests and simulations.
        """
        owner = type(self).__name__
        numbers, several = read_whole(value, owner)
        chance = read_bits(bits, owner)
        noisy = self.add_noise(numbers, chance)
        return Release(
            value=noisy if several else noisy[0],
            loss=self.privacy_loss(),
            mechanism="rounded-gaussian",
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(numbers=max(1, len(numbers))),
        )

    def add_noise(self, numbers: Sequence[int], chance: Chance) -> list[int]:
        """The numbers, each with noise of its own."""
        return added(numbers, draw_rounded_normals(self.variance, len(numbers), chance))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, about: to compare noises, not to certify."""
        return math.sqrt(nearest_float(self.variance) + 1 / 12)

    def log_probability(self, output: int | Sequence[int], value: int | Sequence[int]) -> float:
        """The natural logarithm of the probability that this value is released as this output.

        For several numbers it is the probability of all of them together. As private as
        the value: never publish it for real data.

        Promise: the float nearest to the true number.

        >>> mechanism = RoundedGaussian(mu=1, squared_sensitivity=1)
        >>> round(math.exp(mechanism.log_probability(42, value=42)), 4)
        0.3829
        """
        outputs, numbers = read_pair(output, value, type(self).__name__)
        noise = [abs(noisy - number) for noisy, number in zip(outputs, numbers, strict=True)]

        def exact() -> arb:
            return sum((rounded_probability(each, self.variance).log() for each in noise), arb(0))

        return nearest(lambda precision: at_precision(2 * precision, exact))

    def error_bound(self, failure_probability: Number, *, numbers: int = 1) -> int:
        """How large the noise of this many numbers can be, except with `failure_probability`.

        >>> RoundedGaussian(mu=1, squared_sensitivity=1).error_bound(0.05)
        2
        """
        owner = type(self).__name__
        beta = read_probability(failure_probability, "failure_probability", owner) / count(
            numbers, "numbers", owner
        )
        return smallest_bound(self.tail, beta)

    def accuracy(
        self, *, numbers: int = 1, failure_probability: Number = USUAL_FAILURE
    ) -> Accuracy:
        """The `error_bound` of this many numbers as a statement."""
        beta = read_probability(failure_probability, "failure_probability", type(self).__name__)
        return noise_accuracy(self.error_bound(beta, numbers=numbers), numbers, beta)

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
