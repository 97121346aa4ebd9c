"""Discrete Laplace noise that stays within bounds, with the smallest noise that is still private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from flint import arb

from discreet.certified import ball, upper_bound
from discreet.errors import ParameterError, ParameterTypeError
from discreet.mechanisms.discrete_laplace import as_rational, read_whole
from discreet.mechanisms.parameters import read_bits, read_epsilon
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.numbers import Number, count
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.chance import Chance
from discreet.samplers.geometric import draw_laplace

_FINE = 2**40  # steps in which the rate is searched between epsilon / 2 and epsilon, over the sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
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
    Utility: `gain` says how much smaller the noise is than with the factor 2.
    Cost: a few exact coins; the rate is searched once.
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
        widths = tuple(high - low for low, high in self._boxes)
        object.__setattr__(self, "_rate", largest_rate(cast(Fraction, self.epsilon), self._move, widths))

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
        if len(numbers) != len(self._boxes):
            raise ParameterError(owner, "value", f"as many numbers as there are bounds, {len(self._boxes)}", len(numbers))
        chance = read_bits(bits, owner)
        noisy = [self._draw(number, *box, chance) for number, box in zip(numbers, self._boxes, strict=True)]
        return Release(
            value=noisy if several else noisy[0],
            loss=self.privacy_loss(),
            mechanism="bounded-discrete-laplace",
            candidates=None,
            seeded=chance.bits.seeded,
        )

    def _draw(self, number: int, low: int, high: int, chance: Chance) -> int:
        """Noise, again until the number is within its bounds: one of the two directions always is."""
        inside = min(max(number, low), high)
        rate = as_rational(self._rate)
        while True:
            noisy = inside + draw_laplace(rate, chance)
            if low <= noisy <= high:
                return noisy


@lru_cache(maxsize=256)
def largest_rate(epsilon: Fraction, sensitivity: int, widths: tuple[int, ...]) -> Fraction:
    """The largest rate, on a fine grid, for which noise within boxes of these widths is certainly epsilon-DP.

    sensitivity: no larger than all widths together.
    """
    low, high = 0, _FINE  # epsilon / (2 sensitivity) is always enough
    while high - low > 1:
        middle = (low + high) // 2
        if _loss(_rate(epsilon, sensitivity, middle), sensitivity, widths) <= epsilon:
            low = middle
        else:
            high = middle
    return _rate(epsilon, sensitivity, low)


def _rate(epsilon: Fraction, sensitivity: int, place: int) -> Fraction:
    return epsilon * (_FINE + place) / (2 * sensitivity * _FINE)


def _loss(rate: Fraction, sensitivity: int, widths: tuple[int, ...]) -> Fraction:
    """The largest log-ratio of odds that a move of the sensitivity can cause, rounded up."""
    if len(widths) == 1:
        (width,) = widths
        return upper_bound(lambda: _in_one_box(ball(rate), sensitivity, width))
    boxes = min(len(widths), sensitivity)
    return upper_bound(lambda: ball(rate) * sensitivity + boxes * _growth(ball(rate), ball(Fraction(sensitivity, boxes))))


def _in_one_box(rate: arb, move: int, width: int) -> arb:
    """From one end of the box towards the middle: there the sum of the odds grows most."""
    here = 1 - (-rate * (width + 1)).exp()
    there = 1 + (-rate).exp() - (-rate * (move + 1)).exp() - (-rate * (width - move + 1)).exp()
    return rate * move + (there / here).log()


def _growth(rate: arb, move: arb) -> arb:
    """An upper bound of how much the logarithm of the sum of the odds grows with a move from an end, in a box of any width."""
    return ((-rate).exp() - (-rate * (move + 1)).exp()).log1p()


def _read_boxes(bounds: Any, owner: str) -> tuple[tuple[int, int], ...]:
    rule = "a pair of whole numbers, the lower one first, or a list of such pairs"
    try:
        pairs = [tuple(bounds)] if not hasattr(bounds[0], "__len__") else [tuple(pair) for pair in bounds]
        boxes = tuple(
            (count(low, "bounds", owner, least=low), count(high, "bounds", owner, least=high)) for low, high in pairs
        )
    except (TypeError, ValueError, IndexError, ParameterTypeError):
        raise ParameterTypeError(owner, "bounds", rule, bounds) from None
    if not boxes or any(low >= high for low, high in boxes):
        raise ParameterError(owner, "bounds", rule, bounds)
    return boxes
