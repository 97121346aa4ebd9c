"""Discrete Laplace noise that stays within bounds, with the smallest noise that is still private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from flint import arb

from discreet.certified import at_precision, ball
from discreet.errors import ParameterError, ParameterTypeError
from discreet.mechanisms.box_rate import largest_rate
from discreet.mechanisms.discrete_laplace import as_rational, geometric_sum, nearest, read_pair, read_whole
from discreet.mechanisms.parameters import read_bits, read_epsilon
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.numbers import Number, count, readable
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.chance import Chance
from discreet.samplers.geometric import draw_laplace


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BoundedDiscreteLaplace:
    """A whole number within bounds, or one for each of several bounds, with noise that does not leave them.

    The odds exp(-rate * |y - value|) are shared among the numbers within the bounds, so their sum depends on the value: near a bound it
    is smaller. The exponential mechanism would pay for that with twice the noise. Here the largest rate is computed that is still
    epsilon-DP, and certified.

    epsilon: the privacy loss of one release.
    sensitivity: the most that one person can move the number, a whole number; for several, the sum of all moves.
    bounds: a pair of whole numbers, or a list of pairs.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: pure DP.
    Utility: `gain` says how much smaller the noise is than with the factor 2 (docs/explanation/which-noise.md).
    Cost: a few exact coins, up to three times as many where the noise is about as wide as the bounds. The rate is searched once, in
        some hundredths of a second for each different width.
    Proof: docs/proofs/noise.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=(0, 100))
    >>> mechanism.release(42, bits=SeededBits(1)).value
    42
    >>> round(float(mechanism.gain), 3)
    1.556
    """

    epsilon: Number
    sensitivity: int
    bounds: tuple[int, int] | Sequence[tuple[int, int]]
    acknowledge: str | None = None
    _boxes: tuple[tuple[int, int], ...] = field(init=False, compare=False, repr=False)
    _rate: Fraction = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon, self.acknowledge, owner))
        object.__setattr__(self, "sensitivity", count(self.sensitivity, "sensitivity", owner))
        object.__setattr__(self, "_boxes", _read_boxes(self.bounds, owner))
        # as it was read: arrays do not compare
        object.__setattr__(self, "bounds", self._boxes if len(self._boxes) > 1 else self._boxes[0])
        widths = tuple(high - low for low, high in self._boxes)
        object.__setattr__(self, "_rate", largest_rate(cast(Fraction, self.epsilon), self._move, widths))

    def __repr__(self) -> str:
        epsilon = readable(cast(Fraction, self.epsilon))
        return f"BoundedDiscreteLaplace(epsilon={epsilon}, sensitivity={self.sensitivity}, bounds={self.bounds!r})"

    @property
    def rate(self) -> Fraction:
        """How many noise scales there are in 1."""
        return self._rate

    @property
    def gain(self) -> Fraction:
        """How many times larger the rate is than with the factor 2: so many times smaller is the noise. Between 1 and 2."""
        return self._rate * 2 * self._move / cast(Fraction, self.epsilon)

    @property
    def _move(self) -> int:
        """How far a value can really move: not out of its bounds."""
        return min(self.sensitivity, sum(high - low for low, high in self._boxes))

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        return PureDP(cast(Fraction, self.epsilon))

    def release(self, value: int | Sequence[int], *, bits: Bits | None = None) -> Release:
        """The number with noise, or the list of numbers. Values outside the bounds count as the nearest bound."""
        owner = type(self).__name__
        numbers, several = read_whole(value, owner)
        self._require_all(numbers, owner)
        chance = read_bits(bits, owner)
        noisy = [self._draw(number, *box, chance) for number, box in zip(numbers, self._boxes, strict=True)]
        return Release(
            value=noisy if several else noisy[0],
            loss=self.privacy_loss(),
            mechanism="bounded-discrete-laplace",
            candidates=None,
            seeded=chance.bits.seeded,
        )

    def log_probability(self, output: int | Sequence[int], value: int | Sequence[int]) -> float:
        """The natural logarithm of the probability that this value is released as this output.

        For several numbers, of all of them together. Values outside the bounds count as the nearest bound, and outputs outside have
        the logarithm -inf. As private as the value: never publish it for real data.

        Promise: the float nearest to the true number.
        Cost: a few exact exponentials for each number, whatever the bounds.

        >>> mechanism = BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=(0, 100))
        >>> round(math.exp(mechanism.log_probability(42, value=42)), 4)
        0.3706
        >>> mechanism.log_probability(101, value=42)
        -inf
        """
        owner = type(self).__name__
        outputs, numbers = read_pair(output, value, owner)
        self._require_all(numbers, owner)
        if not all(low <= noisy <= high for noisy, (low, high) in zip(outputs, self._boxes, strict=True)):
            return -math.inf
        places = [
            (noisy, _inside(number, *box), *box) for noisy, number, box in zip(outputs, numbers, self._boxes, strict=True)
        ]

        def exact() -> arb:
            return -sum((_behind(ball(self._rate), *place) for place in places), arb(0))

        return nearest(lambda precision: at_precision(precision, exact))

    def _require_all(self, numbers: list[int], owner: str) -> None:
        if len(numbers) != len(self._boxes):
            raise ParameterError(owner, "value", f"as many numbers as there are bounds, {len(self._boxes)}", len(numbers))

    def _draw(self, number: int, low: int, high: int, chance: Chance) -> int:
        """Noise, again until the number is within its bounds; or where the noise is wider than they are, any number of them."""
        center, rate = _inside(number, low, high), as_rational(self._rate)
        while True:
            if self._rate * (high - low) > 1:
                noisy = center + draw_laplace(rate, chance)
                if low <= noisy <= high:
                    return noisy
            else:
                noisy = low + chance.below(high - low + 1)
                if chance.decay(lambda: rate * abs(noisy - center), 1, 1, likely=False):  # noqa: B023 (decided at once)
                    return noisy


def _inside(number: int, low: int, high: int) -> int:
    return min(max(number, low), high)


def _behind(rate: arb, output: int, center: int, low: int, high: int) -> arb:
    """How unlikely an output within the bounds is: minus the logarithm of its probability."""
    others = sum((geometric_sum(rate, numbers) for numbers in (center - low, high - center) if numbers), arb(0))
    return rate * abs(output - center) + others.log1p()


def _read_boxes(bounds: Any, owner: str) -> tuple[tuple[int, int], ...]:
    rule = "a pair of whole numbers, the lower one first, or a list of such pairs"
    try:
        bounds = list(bounds)
        pairs = [tuple(bounds)] if not hasattr(bounds[0], "__len__") else [tuple(pair) for pair in bounds]
        boxes = tuple(
            (count(low, "bounds", owner, least=low), count(high, "bounds", owner, least=high)) for low, high in pairs
        )
    except (TypeError, ValueError, IndexError, ParameterTypeError):
        raise ParameterTypeError(owner, "bounds", rule, bounds) from None
    if not boxes or any(low >= high for low, high in boxes):
        raise ParameterError(owner, "bounds", rule, bounds)
    return boxes
