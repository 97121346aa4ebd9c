"""Whole numbers with exact discrete Laplace noise: the exponential mechanism over all
whole numbers, with score -|y - value|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from flint import arb

from discreet.errors import public_class
from discreet.exact.enclosures import (
    ball,
    geometric_sum,
    upper_bound,
)
from discreet.exact.rationals import (
    Number,
    nearest_float,
    set_frozen,
    whole_sensitivity,
)
from discreet.mechanisms.whole_noise import WholeNoise
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.parameters import Slot, WithEpsilon, given, parameterized
from discreet.randomness.bulk_draws import added, laplace_noise
from discreet.randomness.chance import Chance

# a bound from here on is stated as infinite
_LARGEST_FLOAT = 10**300


@public_class
@parameterized
class DiscreteLaplace(WholeNoise, WithEpsilon):
    """A whole number, or several, with noise: odds exp(-rate * |noise|) on all whole numbers.

    epsilon: the privacy loss of one release.
    sensitivity: the most that one person can move the number; for several, the sum of
        all moves.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: pure DP. The sum of the odds does not depend on the number, so the
        exponential mechanism's factor 2 is not paid.
    Utility: `error_bound`; the standard deviation is about 1.4 * sensitivity / epsilon.
    Cost: a few exact coins for each number; many numbers are drawn at once, a million
        of them in a fraction of a second.
    Reference: Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke
        2020. Proof: docs/proofs/noise.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = DiscreteLaplace(epsilon=1, sensitivity=1)
    >>> mechanism.release(42, bits=SeededBits(1)).value
    42
    >>> mechanism.release([10, 20, 30], bits=SeededBits(3)).value
    [8, 21, 28]
    """

    sensitivity: Slot[Number, Fraction] = given()
    name: ClassVar[str] = "discrete-laplace"
    stated: ClassVar[tuple[str, str]] = "epsilon", "sensitivity"

    def __post_init__(self) -> None:
        WithEpsilon.__post_init__(self)
        # docs/proofs/noise.md#discrete-laplace
        set_frozen(self, sensitivity=whole_sensitivity(self.sensitivity, "sensitivity"))

    @property
    def rate(self) -> Fraction:
        """How many noise scales there are in 1."""
        return self.epsilon / self.sensitivity

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # no factor 2: docs/proofs/noise.md#discrete-laplace
        return PureDP(self.epsilon)

    def add_noise(self, numbers: Sequence[int], chance: Chance) -> list[int]:
        """The numbers, each with noise of its own."""
        return added(numbers, laplace_noise(self.rate, len(numbers), chance))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, about: to compare noises, not to certify."""
        scale = nearest_float(self.rate)
        if not scale:
            # smaller than any float
            return math.inf
        return math.sqrt(2 * math.exp(-scale)) / -math.expm1(-scale)

    def _log_odds(self, noise: list[int]) -> arb:
        beside = len(noise) * (2 * geometric_sum(ball(self.rate))).log1p()
        return -(ball(self.rate * sum(noise)) + beside)

    def _bound(self, failure_probability: Fraction) -> int:
        def exact() -> arb:
            # P(|noise| > t) = 2 e^(-rate (t + 1)) / (1 + e^-rate)
            rate = ball(self.rate)
            return (2 / (ball(failure_probability) * (1 + (-rate).exp()))).log() / rate - 1

        return max(0, math.ceil(upper_bound(exact)))

    def difference_tail(self, least: int) -> Fraction:
        """The probability that one noise is larger than another by at least this, rounded up."""

        # docs/proofs/noise.md#discrete-laplace
        def exact() -> arb:
            rate = ball(self.rate)
            falls, rest = (-rate).exp(), -(-rate).expm1()
            middle = (1 + falls**2) / (rest * (1 + falls))
            series = (least + middle) / rest + falls / rest**2
            return (rest / (1 + falls)) ** 2 * (-rate * least).exp() * series

        return min(Fraction(1), upper_bound(exact))
