"""What all noise on whole numbers has in common: how it is added, bounded and stated."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ScoresTypeError, public_class
from discreet.exact.enclosures import at_precision, nearest
from discreet.exact.rationals import Number, count, is_whole, readable
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release

# a bound from here on is stated as infinite
_LARGEST_FLOAT = 10**300


@public_class
class WholeNoise(ABC):
    """Noise on a whole number, or on several, each with its own.

    name: of the mechanism, in releases.
    stated: the parameters that its repr shows.
    """

    __slots__ = ()
    name: ClassVar[str]
    stated: ClassVar[tuple[str, str]]

    def __repr__(self) -> str:
        stated = (f"{name}={readable(getattr(self, name))}" for name in self.stated)
        return f"{type(self).__name__}({', '.join(stated)})"

    @abstractmethod
    def privacy_loss(self) -> Loss:
        """What one release costs."""

    @abstractmethod
    def add_noise(self, numbers: Sequence[int], chance: Chance) -> list[int]:
        """The numbers, each with noise of its own."""

    @abstractmethod
    def _bound(self, failure_probability: Fraction) -> int:
        """How large the noise of one number can be, except with this probability."""

    @abstractmethod
    def _log_odds(self, noise: list[int]) -> arb:
        """The logarithm of the probability of all these sizes of noise, enclosed."""

    def release(self, value: int | Sequence[int], *, bits: Bits | None = None) -> Release:
        """The number with noise, or the list of numbers, each with its own. Give `bits`
        only in tests and simulations.
        """
        numbers, several = read_whole(value)
        chance = read_bits(bits)
        noisy = self.add_noise(numbers, chance)
        return Release(
            value=noisy if several else noisy[0],
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(numbers=max(1, len(numbers))),
        )

    def log_probability(self, output: int | Sequence[int], value: int | Sequence[int]) -> float:
        """The natural logarithm of the probability that this value is released as this output.

        For several numbers it is the probability of all of them together. As private as
        the value: never publish it for real data.

        Promise: the float nearest to the true number.

        >>> from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, RoundedGaussian
        >>> mechanism = DiscreteLaplace(epsilon=1, sensitivity=1)
        >>> round(math.exp(mechanism.log_probability(42, value=42)), 4)
        0.4621
        >>> round(mechanism.log_probability([8, 21, 28], value=[10, 20, 30]), 4)
        -7.3158
        >>> mechanism = DiscreteGaussian(rho=0.5, squared_sensitivity=1)
        >>> round(math.exp(mechanism.log_probability(42, value=42)), 4)
        0.3989
        >>> mechanism = RoundedGaussian(mu=1, squared_sensitivity=1)
        >>> round(math.exp(mechanism.log_probability(42, value=42)), 4)
        0.3829
        """
        outputs, numbers = read_pair(output, value)
        noise = [abs(noisy - number) for noisy, number in zip(outputs, numbers, strict=True)]
        # some laws are differences of nearly equal numbers, which take twice the digits
        return nearest(lambda digits: at_precision(2 * digits, lambda: self._log_odds(noise)))

    def error_bound(self, failure_probability: Number, *, numbers: int = 1) -> int:
        """How large the noise of this many numbers can be, except with `failure_probability`.

        >>> from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, RoundedGaussian
        >>> DiscreteLaplace(epsilon=1, sensitivity=1).error_bound(0.05)
        3
        >>> DiscreteGaussian(rho=0.5, squared_sensitivity=1).error_bound(0.05)
        2
        >>> RoundedGaussian(mu=1, squared_sensitivity=1).error_bound(0.05)
        2
        """
        beta = read_probability(failure_probability, "failure_probability")
        return self._bound(beta / count(numbers, "numbers"))

    def accuracy(
        self, *, numbers: int = 1, failure_probability: Number = USUAL_FAILURE
    ) -> Accuracy:
        """The `error_bound` of this many numbers as a statement."""
        beta = read_probability(failure_probability, "failure_probability")
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


def read_whole(value: Any, *, name: str = "value") -> tuple[list[int], bool]:
    """Whole numbers, and whether there are several. The message never shows one."""
    # an array of no dimension is a number
    value = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
    several = isinstance(value, (Sequence, np.ndarray))
    numbers = list(value) if several and not isinstance(value, (str, bytes)) else [value]
    if not all(map(is_whole, numbers)):
        raise ScoresTypeError(
            "must be a whole number, or a list of them. Got something else.", name
        )
    return [int(number) for number in numbers], several


def read_pair(output: Any, value: Any) -> tuple[list[int], list[int]]:
    """The whole numbers of an output, and those of the value that it is an output of: as many."""
    outputs, _ = read_whole(output, name="output")
    numbers, _ = read_whole(value)
    if len(outputs) != len(numbers):
        raise ParameterError(
            "output", f"as many numbers as the value, {len(numbers)}", len(outputs)
        )
    return outputs, numbers
