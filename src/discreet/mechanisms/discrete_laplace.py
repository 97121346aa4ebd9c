"""Whole numbers with exact discrete Laplace noise: the exponential mechanism over all whole numbers, with score -|y - value|."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from flint import arb, fmpq

from discreet.certified import ball, upper_bound
from discreet.errors import ScoresTypeError
from discreet.mechanisms.parameters import read_bits, read_epsilon, read_probability
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.numbers import Number, exact_binary, positive
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.geometric import draw_laplace


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """A whole number, or several, with noise: odds exp(-rate * |noise|) on all whole numbers.

    epsilon: the privacy loss of one release.
    sensitivity: the most that one person can move the number; for several, the sum of all moves.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: pure DP. The sum of the odds does not depend on the number, so the exponential mechanism's factor 2 is not paid.
    Utility: `error_bound`; the standard deviation is about 1.4 * sensitivity / epsilon.
    Cost: a few exact coins for each number.
    Reference: Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020. Proof: docs/proofs/noise.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = DiscreteLaplace(epsilon=1, sensitivity=1)
    >>> mechanism.release(42, bits=SeededBits(1)).value
    42
    >>> mechanism.release([10, 20, 30], bits=SeededBits(3)).value
    [8, 21, 28]
    """

    epsilon: Number
    sensitivity: Number
    acknowledge: str | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon, self.acknowledge, owner))
        exact = positive(exact_binary(self.sensitivity, "sensitivity", owner), self.sensitivity, "sensitivity", owner)
        object.__setattr__(self, "sensitivity", exact)

    @property
    def rate(self) -> Fraction:
        """How many noise scales there are in 1."""
        return cast(Fraction, self.epsilon) / cast(Fraction, self.sensitivity)

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        return PureDP(cast(Fraction, self.epsilon))

    def release(self, value: int | Sequence[int], *, bits: Bits | None = None) -> Release:
        """The number with noise, or the list of numbers, each with its own. Give `bits` only in tests and simulations."""
        owner = type(self).__name__
        numbers, several = read_whole(value, owner)
        chance, rate = read_bits(bits, owner), as_rational(self.rate)
        noisy = [number + draw_laplace(rate, chance) for number in numbers]
        return Release(
            value=noisy if several else noisy[0],
            loss=self.privacy_loss(),
            mechanism="discrete-laplace",
            candidates=None,
            seeded=chance.bits.seeded,
        )

    def error_bound(self, failure_probability: Number, *, numbers: int = 1) -> int:
        """How large the noise of so many numbers can be, except with `failure_probability`.

        >>> DiscreteLaplace(epsilon=1, sensitivity=1).error_bound(0.05)
        3
        """
        beta = read_probability(failure_probability, "failure_probability", type(self).__name__) / numbers

        def exact() -> arb:
            # P(|noise| > t) = 2 e^(-rate (t + 1)) / (1 + e^-rate)
            rate = ball(self.rate)
            return (2 / (ball(beta) * (1 + (-rate).exp()))).log() / rate - 1

        return max(0, math.ceil(upper_bound(exact)))


def read_whole(value: Any, owner: str) -> tuple[list[int], bool]:
    """Whole numbers, and whether there are several. The message never shows one."""
    several = not isinstance(value, (int, np.integer)) and isinstance(value, (Sequence, np.ndarray))
    numbers = list(value) if several and not isinstance(value, (str, bytes)) else [value]
    if not all(isinstance(number, (int, np.integer)) and not isinstance(number, (bool, np.bool_)) for number in numbers):
        raise ScoresTypeError(f"The 'value' of {owner}.release must be a whole number, or a list of them. Got something else.")
    return [int(number) for number in numbers], several


def as_rational(value: Fraction) -> fmpq:
    """The same number for flint."""
    return fmpq(value.numerator, value.denominator)
