"""Whole numbers with exact discrete Laplace noise: the exponential mechanism over all
whole numbers, with score -|y - value|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ScoresTypeError
from discreet.exact.enclosures import (
    at_precision,
    ball,
    geometric_sum,
    nearest,
    upper_bound,
)
from discreet.exact.rationals import (
    Number,
    count,
    is_whole,
    nearest_float,
    readable,
    set_frozen,
    whole_sensitivity,
)
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.parameters import read_epsilon, read_probability
from discreet.randomness.bulk_draws import added, laplace_noise
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release

# a bound from here on is stated as infinite
_LARGEST_FLOAT = 10**300


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscreteLaplace:
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

    epsilon: Fraction
    sensitivity: Fraction
    acknowledge: str | None

    def __init__(
        self, *, epsilon: Number, sensitivity: Number, acknowledge: str | None = None
    ) -> None:
        owner, name = type(self).__name__, "sensitivity"
        set_frozen(self, epsilon=read_epsilon(epsilon, acknowledge, owner), acknowledge=acknowledge)
        # docs/proofs/noise.md#discrete-laplace
        set_frozen(self, sensitivity=whole_sensitivity(sensitivity, name, owner))

    def __repr__(self) -> str:
        epsilon, sensitivity = readable(self.epsilon), readable(self.sensitivity)
        return f"DiscreteLaplace(epsilon={epsilon}, sensitivity={sensitivity})"

    @property
    def rate(self) -> Fraction:
        """How many noise scales there are in 1."""
        return self.epsilon / self.sensitivity

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # no factor 2: docs/proofs/noise.md#discrete-laplace
        return PureDP(self.epsilon)

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
            mechanism="discrete-laplace",
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(numbers=max(1, len(numbers))),
        )

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

    def log_probability(self, output: int | Sequence[int], value: int | Sequence[int]) -> float:
        """The natural logarithm of the probability that this value is released as this output.

        For several numbers it is the probability of all of them together. As private as
        the value: never publish it for real data.

        Promise: the float nearest to the true number.
        Cost: one exact exponential, for however many numbers.

        >>> mechanism = DiscreteLaplace(epsilon=1, sensitivity=1)
        >>> round(math.exp(mechanism.log_probability(42, value=42)), 4)
        0.4621
        >>> round(mechanism.log_probability([8, 21, 28], value=[10, 20, 30]), 4)
        -7.3158
        """
        outputs, numbers = read_pair(output, value, type(self).__name__)
        noise = sum(abs(noisy - number) for noisy, number in zip(outputs, numbers, strict=True))

        def exact() -> arb:
            return -(
                ball(self.rate * noise)
                + len(numbers) * (2 * geometric_sum(ball(self.rate))).log1p()
            )

        return nearest(lambda precision: at_precision(precision, exact))

    def error_bound(self, failure_probability: Number, *, numbers: int = 1) -> int:
        """How large the noise of this many numbers can be, except with `failure_probability`.

        >>> DiscreteLaplace(epsilon=1, sensitivity=1).error_bound(0.05)
        3
        """
        owner = type(self).__name__
        beta = read_probability(failure_probability, "failure_probability", owner) / count(
            numbers, "numbers", owner
        )

        def exact() -> arb:
            # P(|noise| > t) = 2 e^(-rate (t + 1)) / (1 + e^-rate)
            rate = ball(self.rate)
            return (2 / (ball(beta) * (1 + (-rate).exp()))).log() / rate - 1

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

    def accuracy(
        self, *, numbers: int = 1, failure_probability: Number = USUAL_FAILURE
    ) -> Accuracy:
        """The `error_bound` of this many numbers as a statement."""
        beta = read_probability(failure_probability, "failure_probability", type(self).__name__)
        return noise_accuracy(self.error_bound(beta, numbers=numbers), numbers, beta)


def noise_accuracy(bound: int, numbers: int, failure_probability: Fraction) -> Accuracy:
    """A bound of noise as a statement about one number, or about each of several."""
    return Accuracy(
        bound=bound if bound < _LARGEST_FLOAT else math.inf,
        statement="number" if numbers == 1 else "numbers",
        failure_probability=failure_probability,
    )


def smallest_bound(tail: Callable[[int], Fraction], failure_probability: Fraction) -> int:
    """The smallest size that noise exceeds with at most this probability.

    tail: the probability that noise is larger than a size, which falls.
    """
    low, high = -1, 0
    while tail(high) > failure_probability:
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(middle) > failure_probability else (low, middle)
    return high


def read_whole(
    value: Any, owner: str, *, name: str = "value", call: str = "release"
) -> tuple[list[int], bool]:
    """Whole numbers, and whether there are several. The message never shows one."""
    # an array of no dimension is a number
    value = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
    several = isinstance(value, (Sequence, np.ndarray))
    numbers = list(value) if several and not isinstance(value, (str, bytes)) else [value]
    if not all(map(is_whole, numbers)):
        raise ScoresTypeError(
            f"The '{name}' of {owner}.{call} must be a whole number, or a list of them. Got "
            "something else."
        )
    return [int(number) for number in numbers], several


def read_pair(output: Any, value: Any, owner: str) -> tuple[list[int], list[int]]:
    """The whole numbers of an output, and those of the value that it is an output of: as many."""
    outputs, _ = read_whole(output, owner, name="output", call="log_probability")
    numbers, _ = read_whole(value, owner, call="log_probability")
    if len(outputs) != len(numbers):
        raise ParameterError(
            owner, "output", f"as many numbers as the value, {len(numbers)}", len(outputs)
        )
    return outputs, numbers
