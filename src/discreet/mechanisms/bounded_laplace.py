"""Discrete Laplace noise that stays within bounds, with the smallest noise that is
still private.

The odds exp(-rate * |y - x|) are shared among the numbers of a box, and their sum grows
from its ends to its middle. A move by t from an end costs rate * t + growth(t), where
growth is concave in t. With several boxes the moves share the sensitivity, and the
dearest way to share is where one step more would cost the same in every box: at a
common slope. Any slope gives an upper bound of the whole loss (Lagrange), and the right
one gives the loss itself. So floats look for the slope, and balls certify what it says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ParameterTypeError, public_class
from discreet.exact.enclosures import (
    at_precision,
    ball,
    geometric_sum,
    nearest,
    rational,
    upper_bound,
)
from discreet.exact.rationals import Number, count, readable, set_frozen
from discreet.mechanisms.whole_noise import noise_accuracy, read_pair, read_whole
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.parameters import WithEpsilon, parameterized, read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.randomness.whole_numbers import draw_laplace
from discreet.release import Release


@public_class
@parameterized
class BoundedDiscreteLaplace(WithEpsilon):
    """A whole number within bounds, or one for each of several bounds, with noise that
    does not leave them.

    The odds exp(-rate * |y - value|) are shared among the numbers within the bounds, so
    their sum depends on the value: near a bound it is smaller. The exponential
    mechanism would pay for that with twice the noise. Here the largest rate is computed
    that is still epsilon-DP, and certified.

    epsilon: the privacy loss of one release.
    sensitivity: the most that one person can move the number, a whole number; for
        several, the sum of all moves.
    bounds: a pair of whole numbers, or a list of pairs.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: pure DP.
    Utility: `gain` says how much smaller the noise is than with the factor 2
        (docs/explanation/which-noise.md).
    Cost: a few exact coins, up to three times as many where the noise is about as wide
        as the bounds. The rate is searched once, in some hundredths of a second for
        each different width.
    Proof: docs/proofs/noise.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=(0, 100))
    >>> mechanism.release(42, bits=SeededBits(1)).value
    42
    >>> round(float(mechanism.gain), 3)
    1.556
    """

    sensitivity: int
    bounds: tuple[int, int] | Sequence[tuple[int, int]]
    _boxes: tuple[tuple[int, int], ...] = field(init=False, compare=False)
    _rate: Fraction = field(init=False, compare=False)

    def __post_init__(self) -> None:
        WithEpsilon.__post_init__(self)
        # docs/proofs/noise.md#within-bounds
        set_frozen(self, sensitivity=count(self.sensitivity, "sensitivity"))
        boxes = _read_boxes(self.bounds)
        # as it was read: arrays do not compare
        set_frozen(self, bounds=boxes if len(boxes) > 1 else boxes[0], _boxes=boxes)
        widths = tuple(high - low for low, high in boxes)
        set_frozen(self, _rate=largest_rate(self.epsilon, self._move, widths))

    def __repr__(self) -> str:
        return (
            f"BoundedDiscreteLaplace(epsilon={readable(self.epsilon)}, "
            f"sensitivity={self.sensitivity}, bounds={self.bounds!r})"
        )

    @property
    def rate(self) -> Fraction:
        """How many noise scales there are in 1."""
        return self._rate

    @property
    def gain(self) -> Fraction:
        """How many times larger the rate is than with the factor 2: the noise is
        smaller by the same factor. Between 1 and 2.
        """
        return self._rate * 2 * self._move / self.epsilon

    @property
    def _move(self) -> int:
        """How far a value can really move: not out of its bounds."""
        return min(self.sensitivity, sum(high - low for low, high in self._boxes))

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # docs/proofs/noise.md#within-bounds
        return PureDP(self.epsilon)

    def release(self, value: int | Sequence[int], *, bits: Bits | None = None) -> Release:
        """The number with noise, or the list of numbers. Values outside the bounds
        count as the nearest bound.
        """
        numbers, several = read_whole(value)
        self._require_all(numbers)
        chance = read_bits(bits)
        noisy = [
            self._draw(number, *box, chance)
            for number, box in zip(numbers, self._boxes, strict=True)
        ]
        return Release(
            value=noisy if several else noisy[0],
            loss=self.privacy_loss(),
            mechanism="bounded-discrete-laplace",
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(),
        )

    def log_probability(self, output: int | Sequence[int], value: int | Sequence[int]) -> float:
        """The natural logarithm of the probability that this value is released as this output.

        For several numbers it is the probability of all of them together. Values
        outside the bounds count as the nearest bound, and outputs outside have the
        logarithm -inf. As private as the value: never publish it for real data.

        Promise: the float nearest to the true number.
        Cost: a few exact exponentials for each number, whatever the bounds.

        >>> mechanism = BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=(0, 100))
        >>> round(math.exp(mechanism.log_probability(42, value=42)), 4)
        0.3706
        >>> mechanism.log_probability(101, value=42)
        -inf
        """
        outputs, numbers = read_pair(output, value)
        self._require_all(numbers)
        if not all(
            low <= noisy <= high for noisy, (low, high) in zip(outputs, self._boxes, strict=True)
        ):
            return -math.inf
        places = [
            (noisy, _inside(number, *box), *box)
            for noisy, number, box in zip(outputs, numbers, self._boxes, strict=True)
        ]

        def exact() -> arb:
            return -sum((_behind(ball(self._rate), *place) for place in places), arb(0))

        return nearest(lambda precision: at_precision(precision, exact))

    def error_bound(self, failure_probability: Number) -> int:
        """How far the numbers can be off, except with `failure_probability`; those outside
        of their bounds count as the nearest bound.

        >>> BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=(0, 100)).error_bound(0.05)
        4
        """
        beta = read_probability(failure_probability, "failure_probability")

        def exact() -> arb:
            # no more than without bounds: docs/proofs/accuracy.md#numbers
            rate, share = ball(self._rate), ball(beta / len(self._boxes))
            return (2 / (share * (1 + (-rate).exp()))).log() / rate - 1

        widest = max(high - low for low, high in self._boxes)
        return min(widest, max(0, math.ceil(upper_bound(exact))))

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement."""
        beta = read_probability(failure_probability, "failure_probability")
        return noise_accuracy(self.error_bound(beta), len(self._boxes), beta)

    def _require_all(self, numbers: list[int]) -> None:
        if len(numbers) != len(self._boxes):
            raise ParameterError(
                "value",
                f"as many numbers as there are bounds, {len(self._boxes)}",
                len(numbers),
            )

    def _draw(self, number: int, low: int, high: int, chance: Chance) -> int:
        """The number with noise, drawn until it is within its bounds; where the noise is
        wider than these, a uniform number of them, kept with the odds of its noise.
        """
        center, rate = _inside(number, low, high), rational(self._rate)
        while True:
            if self._rate * (high - low) > 1:
                noisy = center + draw_laplace(rate, chance)
                if low <= noisy <= high:
                    return noisy
            else:
                noisy = low + chance.below(high - low + 1)
                if chance.decay(lambda: rate * abs(noisy - center), 1, 1, likely=False):
                    return noisy


def _inside(number: int, low: int, high: int) -> int:
    return min(max(number, low), high)


def _behind(rate: arb, output: int, center: int, low: int, high: int) -> arb:
    """How unlikely an output within the bounds is: minus the logarithm of its probability."""
    others = sum(
        (geometric_sum(rate, numbers) for numbers in (center - low, high - center) if numbers),
        arb(0),
    )
    return rate * abs(output - center) + others.log1p()


def _read_boxes(bounds: Any) -> tuple[tuple[int, int], ...]:
    rule = "a pair of whole numbers, the lower one first, or a list of such pairs"
    try:
        bounds = list(bounds)
        pairs = (
            [tuple(bounds)]
            if not hasattr(bounds[0], "__len__")
            else [tuple(pair) for pair in bounds]
        )
        boxes = tuple(
            (count(low, "bounds", least=low), count(high, "bounds", least=high))
            for low, high in pairs
        )
    except (TypeError, ValueError, IndexError, ParameterTypeError):
        raise ParameterTypeError("bounds", rule, bounds) from None
    if not boxes or any(low >= high for low, high in boxes):
        raise ParameterError("bounds", rule, bounds)
    return boxes


# steps in which the rate is searched between epsilon / 2 and epsilon, over the
# sensitivity
_FINE = 2**40
_SMALLEST, _LARGEST = Fraction(1, 10**150), Fraction(10**150)
# for the search in floats
_WIDEST = 2**400
# how often the interval of slopes is halved
_HALVINGS = 52
# how far the slope is put above the one that was found, in case that was rounded down
_ABOVE = 2.0**-44


@lru_cache(maxsize=256)
def largest_rate(epsilon: Fraction, sensitivity: int, widths: tuple[int, ...]) -> Fraction:
    """The largest rate, on a fine grid, for which noise within boxes of these widths is
    certainly epsilon-DP.

    sensitivity: no larger than all widths together.
    """
    boxes = Counter(widths)
    # epsilon / (2 sensitivity) is always enough
    low, high = 0, _FINE
    while high - low > 1:
        middle = (low + high) // 2
        if largest_loss(_rate(epsilon, sensitivity, middle), sensitivity, boxes) <= epsilon:
            low = middle
        else:
            high = middle
    return _rate(epsilon, sensitivity, low)


def largest_loss(rate: Fraction, sensitivity: int, boxes: Mapping[int, int]) -> Fraction:
    """The largest log-ratio of odds that moves of the sensitivity can cause, rounded
    up; boxes as {width: how many}.
    """
    # what floats can stand for; growth is in proportion to smaller rates
    near = min(max(rate, _SMALLEST), _LARGEST)
    found, moves = _shared(float(near), sensitivity, boxes)
    slope = Fraction(found) * rate / near
    left = sensitivity - sum(number * moves[width] for width, number in boxes.items())

    def exact() -> arb:
        decay, common = ball(rate), ball(slope)
        growth = sum(
            (number * _most(decay, width, moves[width], common) for width, number in boxes.items()),
            arb(0),
        )
        return decay * sensitivity + growth + left * common

    return upper_bound(exact)


def _rate(epsilon: Fraction, sensitivity: int, place: int) -> Fraction:
    return epsilon * (_FINE + place) / (2 * sensitivity * _FINE)


def _shared(
    rate: float, sensitivity: int, boxes: Mapping[int, int]
) -> tuple[float, dict[int, int]]:
    """A slope, and the moves in a box of each width whose steps are all at least that
    steep: together nearly the sensitivity.
    """
    low, high = -2 * rate, 2 * rate
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (
            sum(number * _steps_above(rate, width, middle) for width, number in boxes.items())
            > sensitivity
        ):
            low = middle
        else:
            high = middle
    slope = high + abs(high) * _ABOVE
    return slope, {width: _steps_above(rate, width, slope) for width in boxes}


def _steps_above(rate: float, width: int, slope: float) -> int:
    """How many steps from an end grow by at least the slope; each grows by less than
    the one before.
    """
    low, high = 0, min(width, _WIDEST) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _float_step(rate, width, middle) >= slope else (low, middle)
    return low


def _float_step(rate: float, width: int, step: int) -> float:
    """By how much the logarithm of the sum of the odds grows with this step from an end, in
    floats that do not cancel.
    """
    # ln(Z(step) / Z(step - 1)), where Z(x) = (1 + r - r^(x + 1) - r^(width - x + 1)) / (1 - r)
    # with r = exp(-rate) is the sum of the odds around the x-th number
    width = min(width, _WIDEST)
    # beyond the middle what grew falls again
    if 2 * step > width + 1:
        return -_float_step(rate, width, width + 1 - step)
    before = -math.expm1(-rate * step) - math.exp(-rate) * math.expm1(-rate * (width - step + 1))
    rise = math.expm1(-rate) * math.exp(-rate * step) * math.expm1(-rate * (width - 2 * step + 1))
    return math.log1p(rise / before)


def _step(rate: arb, width: int, step: int) -> arb:
    """`_float_step`, enclosed."""
    if 2 * step > width + 1:
        return -_step(rate, width, width + 1 - step)
    before = -(-rate * step).expm1() - (-rate).exp() * (-rate * (width - step + 1)).expm1()
    rise = (-rate).expm1() * (-rate * step).exp() * (-rate * (width - 2 * step + 1)).expm1()
    return (rise / before).log1p()


def _growth(rate: arb, width: int, move: int) -> arb:
    """ln(Z(move) / Z(0)): the steps of a move from an end, added up."""
    rise = (-rate).exp() * (-rate * move).expm1() * (-rate * (width - move)).expm1()
    return (rise / -(-rate * (width + 1)).expm1()).log1p()


def _most(rate: arb, width: int, move: int, slope: arb) -> arb:
    """An upper bound of growth(t) - slope * (t - move) over all moves t in one box.

    Growth is concave, so it lies below its slopes on both sides of `move`: if these are
    on either side of the common slope, as they are unless floats went wrong, then the
    bound is growth(move).
    """
    growth = _growth(rate, width, move)
    beyond = (_step(rate, width, move + 1) - slope) * (width - move) if move < width else arb(0)
    before = (slope - _step(rate, width, move)) * move if move else arb(0)
    return growth + beyond.max(0).max(before)
