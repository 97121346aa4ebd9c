"""The largest rate of noise within boxes that is still private.

The odds exp(-rate * |y - x|) are shared among the numbers of a box, and their sum grows from its ends to its middle. A move by t from an
end costs rate * t + growth(t), where growth is concave in t. With several boxes the moves share the sensitivity, and the dearest way to
share is where one step more would cost the same in every box: at a common slope. Any slope gives an upper bound of the whole loss
(Lagrange), and the right one gives the loss itself. So floats look for the slope, and balls certify what it says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from flint import arb

from discreet.certified import ball, upper_bound

_FINE = 2**40  # steps in which the rate is searched between epsilon / 2 and epsilon, over the sensitivity
_SMALLEST, _LARGEST = Fraction(1, 10**150), Fraction(10**150)
_WIDEST = 2**400  # for the search in floats
_HALVINGS = 52  # of the interval of slopes
_ABOVE = 2.0**-44  # how far the slope is put above the one that was found, in case that was rounded down


@lru_cache(maxsize=256)
def largest_rate(epsilon: Fraction, sensitivity: int, widths: tuple[int, ...]) -> Fraction:
    """The largest rate, on a fine grid, for which noise within boxes of these widths is certainly epsilon-DP.

    sensitivity: no larger than all widths together.
    """
    boxes = Counter(widths)
    low, high = 0, _FINE  # epsilon / (2 sensitivity) is always enough
    while high - low > 1:
        middle = (low + high) // 2
        if largest_loss(_rate(epsilon, sensitivity, middle), sensitivity, boxes) <= epsilon:
            low = middle
        else:
            high = middle
    return _rate(epsilon, sensitivity, low)


def largest_loss(rate: Fraction, sensitivity: int, boxes: Mapping[int, int]) -> Fraction:
    """The largest log-ratio of odds that moves of the sensitivity can cause, rounded up; boxes as {width: how many}."""
    near = min(max(rate, _SMALLEST), _LARGEST)  # what floats can stand for; growth is in proportion to smaller rates
    found, moves = _shared(float(near), sensitivity, boxes)
    slope = Fraction(found) * rate / near
    left = sensitivity - sum(number * moves[width] for width, number in boxes.items())

    def exact() -> arb:
        decay, common = ball(rate), ball(slope)
        growth = sum((number * _most(decay, width, moves[width], common) for width, number in boxes.items()), arb(0))
        return decay * sensitivity + growth + left * common

    return upper_bound(exact)


def _rate(epsilon: Fraction, sensitivity: int, place: int) -> Fraction:
    return epsilon * (_FINE + place) / (2 * sensitivity * _FINE)


def _shared(rate: float, sensitivity: int, boxes: Mapping[int, int]) -> tuple[float, dict[int, int]]:
    """A slope, and the moves in a box of each width whose steps are all at least that steep: together nearly the sensitivity."""
    low, high = -2 * rate, 2 * rate
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if sum(number * _steps_above(rate, width, middle) for width, number in boxes.items()) > sensitivity:
            low = middle
        else:
            high = middle
    slope = high + abs(high) * _ABOVE
    return slope, {width: _steps_above(rate, width, slope) for width in boxes}


def _steps_above(rate: float, width: int, slope: float) -> int:
    """How many steps from an end grow by at least the slope; each grows by less than the one before."""
    low, high = 0, min(width, _WIDEST) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _float_step(rate, width, middle) >= slope else (low, middle)
    return low


def _float_step(rate: float, width: int, step: int) -> float:
    """By how much the logarithm of the sum of the odds grows with this step; as `_step`, in floats that do not cancel."""
    width = min(width, _WIDEST)
    if 2 * step > width + 1:  # beyond the middle what grew falls again
        return -_float_step(rate, width, width + 1 - step)
    before = -math.expm1(-rate * step) - math.exp(-rate) * math.expm1(-rate * (width - step + 1))
    rise = math.expm1(-rate) * math.exp(-rate * step) * math.expm1(-rate * (width - 2 * step + 1))
    return math.log1p(rise / before)


def _step(rate: arb, width: int, step: int) -> arb:
    """The same, enclosed."""
    if 2 * step > width + 1:
        return -_step(rate, width, width + 1 - step)
    before = -(-rate * step).expm1() - (-rate).exp() * (-rate * (width - step + 1)).expm1()
    rise = (-rate).expm1() * (-rate * step).exp() * (-rate * (width - 2 * step + 1)).expm1()
    return (rise / before).log1p()


def _growth(rate: arb, width: int, move: int) -> arb:
    """All steps of a move together."""
    rise = (-rate).exp() * (-rate * move).expm1() * (-rate * (width - move)).expm1()
    return (rise / -(-rate * (width + 1)).expm1()).log1p()


def _most(rate: arb, width: int, move: int, slope: arb) -> arb:
    """An upper bound of growth(t) - slope * (t - move) over all moves t in one box.

    Growth is concave, so it lies below its slopes on both sides of `move`: if these are on either side of the common slope, as they are
    unless floats went wrong, then the bound is growth(move).
    """
    growth = _growth(rate, width, move)
    beyond = (_step(rate, width, move + 1) - slope) * (width - move) if move < width else arb(0)
    before = (slope - _step(rate, width, move)) * move if move else arb(0)
    return growth + beyond.max(0).max(before)
