"""Which (epsilon, delta) discrete Gaussian noise on counts really has: its privacy profile.

Concentrated DP of the same noise says less: for one epsilon and delta it wants some 7%
wider noise. docs/proofs/gaussian-profile.md has the proofs.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from discreet.exact.enclosures import ball, upper_bound
from discreet.exact.rationals import round_down, round_up

_BITS = 192
_DIGITS = 6
_HALVINGS = 20
_GROWTH = Fraction(5, 4)


def profile(epsilon: Fraction, variance: Fraction, moved: int) -> Fraction:
    """An upper bound of the delta at this epsilon, where a person moves `moved` counts by
    1 and each has discrete Gaussian noise of its own.

    epsilon: any number, also below 0: then e^epsilon is what it stands for.
    """
    if not moved:
        return max(Fraction(0), 1 - _exp_down(epsilon))
    try:
        return min(Fraction(1), upper_bound(lambda: _profile(epsilon, variance, moved), _BITS))
    except ValueError:
        # not even finite
        return Fraction(1)


def _profile(epsilon: Fraction, variance: Fraction, moved: int) -> arb:
    """The bound as an enclosure: docs/proofs/gaussian-profile.md#claim."""
    root = (2 * arb.pi() * ball(moved * variance)).sqrt()
    square = arb.pi() ** 2 * ball(variance)
    rest = 2 * (-square / 2).exp() / -(-4 * square).expm1()
    likelier = 1 + root * ((1 + rest) ** moved - 1)
    return likelier * (
        _of_real_noise(epsilon, variance, moved) + _peak(epsilon, variance, moved) / root
    )


def _of_real_noise(epsilon: Fraction, variance: Fraction, moved: int) -> arb:
    """The delta of noise on all real numbers (Balle and Wang 2018)."""
    shift = (ball(moved) / ball(variance)).sqrt()
    near, far = ball(epsilon) / shift - shift / 2, ball(epsilon) / shift + shift / 2
    return _upper_tail(near) - ball(epsilon).exp() * _upper_tail(far)


def _peak(epsilon: Fraction, variance: Fraction, moved: int) -> arb:
    """What a sum over whole numbers can have more than the integral: the largest term."""
    behind = epsilon * variance - Fraction(moved, 2)
    if not behind > 0:
        return arb(1)
    share = ball(behind / (behind + moved))
    falls = (-ball(behind**2 / (2 * moved * variance))).exp()
    return falls * share ** ball(behind / moved) * ball(moved / (behind + moved))


def _upper_tail(deviations: arb) -> arb:
    """The probability that a normal number is larger than this many deviations."""
    return (deviations / arb(2).sqrt()).erfc() / 2


def _exp_down(epsilon: Fraction) -> Fraction:
    return 1 / upper_bound(lambda: (-ball(epsilon)).exp(), _BITS)


@lru_cache(maxsize=256)
def gaussian_rho(epsilon: Fraction, delta: Fraction, *, moved: int) -> Fraction | None:
    """The rho of discrete Gaussian noise with which a histogram is (epsilon, delta)-DP, about
    the largest; None if there is none worth naming.

    moved: how many counts one person moves, each by 1. The variance is moved / (2 rho).
    """
    # late, so that a selection loads no accountant
    from discreet.accounting.renyi import largest_rho

    low = round_down(largest_rho(epsilon, delta))
    if not low > 0:
        return None

    def holds(rho: Fraction) -> bool:
        return profile(epsilon, Fraction(moved) / (2 * rho), moved) <= delta

    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        # few digits, so that the loss is easy to read
        middle = round_down((low + high) / 2, _DIGITS)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@lru_cache(maxsize=256)
def threshold(
    epsilon: Fraction, delta: Fraction, variance: Fraction, *, moved: int
) -> tuple[int, Fraction] | None:
    """The noisy count from which on items of an unknown domain may be named, and the
    probability that an item of a single person is; None where no threshold does.

    variance: with which the same histogram of known items is (epsilon, delta)-DP.
    moved: how many items one person has at most.
    """
    allowed = _allowed(epsilon, delta, variance, moved)
    if not allowed > 0:
        return None

    def named(height: int) -> Fraction:
        """The probability that an item of one person is named, at most."""
        middle = height - Fraction(3, 2)
        # the odds are convex from one deviation on
        if middle < 0 or middle**2 < variance:
            return Fraction(1)
        return upper_bound(lambda: _upper_tail(ball(middle) / ball(variance).sqrt()), _BITS)

    high = 2
    while named(high) > allowed:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if named(middle) > allowed else (low, middle)
    return high, round_up(moved * named(high), _DIGITS)


def _allowed(epsilon: Fraction, delta: Fraction, variance: Fraction, moved: int) -> Fraction:
    """How likely an item of a single person may be named.

    Of the items of a person, some are nobody else's: those are named, or they are not
    seen at all. The others' counts move. docs/proofs/gaussian-profile.md#thresholds
    """
    # a little less than epsilon: (1 - delta) e^epsilon
    less = epsilon - upper_bound(lambda: -(-ball(delta)).log1p(), _BITS)
    # below delta, so that some of it is left for the noise where a budget counts both
    allowed, new = delta / moved * Fraction(999, 1000), 1
    while new <= moved:
        most = min(moved, max(new, int(new * _GROWTH)))
        left = delta - profile(less, variance, moved - new)
        allowed = min(allowed, left / most)
        new = most + 1
    return allowed
