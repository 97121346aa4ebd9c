"""Renyi divergences of each kind of loss in closed form, and what a sum of them means
as (epsilon, delta).

Renyi divergences add up over adaptive queries in any order, so this analysis is always
available. The conversion is that of Canonne, Kamath and Steinke; it holds for every
order, so the best order may be searched without proof and the result is evaluated there
with a certified enclosure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

from flint import arb

from discreet.exact.enclosures import at_precision, ball, lower_bound, upper_bound
from discreet.privacy.loss import ZCDP, BoundedRange, GaussianDP, LogisticDP, Loss, PureDP

_BITS = 160
_GOLDEN = 0.6180339887498949
# where the best order is searched: logarithms of order - 1
_LOWEST, _HIGHEST = -8.0, 48.0

Curve = Callable[[arb], arb]
"""From an order above 1 to the Renyi divergence of that order."""


def renyi_divergence(loss: Loss, order: arb) -> arb:
    """The largest Renyi divergence of this order that a mechanism with this loss can have."""
    if isinstance(loss, BoundedRange):
        return _of_bounded_range(ball(loss.epsilon), order)
    if isinstance(loss, PureDP):
        epsilon = ball(loss.epsilon)
        return epsilon - (
            ((-epsilon).exp()).log1p() - ((1 - 2 * order) * epsilon).exp().log1p()
        ) / (order - 1)
    if isinstance(loss, LogisticDP):
        return _of_logistic_dp(ball(loss.epsilon), order)
    if isinstance(loss, GaussianDP):
        return ball(loss.mu**2 / 2) * order
    if isinstance(loss, ZCDP):
        return ball(loss.rho) * order
    raise TypeError(f"no Renyi divergence is known for {type(loss).__name__}")


def _of_bounded_range(epsilon: arb, order: arb) -> arb:
    """The worst top of the pair in two_point.py, put into the divergence of that pair."""
    whole = -(-order * epsilon).expm1()
    less = -((1 - order) * epsilon).expm1()
    top = epsilon + ((order - 1) / order).log() + whole.log() - less.log()
    return top + (whole / (order * -(-epsilon).expm1())).log() / (order - 1)


def _of_logistic_dp(epsilon: arb, order: arb) -> arb:
    """The divergence of two logistic distributions that are epsilon apart.

    ln(sinh((order - 1/2) epsilon) / ((2 order - 1) sinh(epsilon / 2))) / (order - 1),
    with what grows in the two sinh taken out, which is epsilon after the division.
    """
    whole = -((1 - 2 * order) * epsilon).expm1()
    return epsilon + (whole / ((2 * order - 1) * -(-epsilon).expm1())).log() / (order - 1)


def total_curve(counts: Mapping[Loss, int]) -> Curve:
    """The Renyi divergences of all these losses together."""
    return lambda order: sum(
        (count * renyi_divergence(loss, order) for loss, count in counts.items()), arb(0)
    )


def delta_of(curve: Curve, epsilon: Fraction) -> Fraction:
    """An upper bound of delta at this epsilon."""

    def logarithm(order: arb) -> arb:
        return (
            (order - 1) * (curve(order) - ball(epsilon))
            + order * (-1 / order).log1p()
            - (order - 1).log()
        )

    order = best_order(logarithm)
    # cut off at e^-1000: a smaller delta has no use, and its digits no end
    try:
        return upper_bound(lambda: logarithm(arb(order)).max(arb(-1000)).min(arb(0)).exp(), _BITS)
    except ValueError:
        # not even finite
        return Fraction(1)


def epsilon_of(curve: Curve, delta: Fraction) -> Fraction:
    """An upper bound of epsilon at this delta."""

    def value(order: arb) -> arb:
        return curve(order) + (-1 / order).log1p() - (ball(delta).log() + order.log()) / (order - 1)

    order = best_order(value)
    return max(Fraction(0), upper_bound(lambda: value(arb(order)), _BITS))


@lru_cache(maxsize=128)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A lower bound of the rho for which rho-concentrated DP is (epsilon, delta)-DP:
    what a filter may admit in total.

    For each order the conversion is linear in rho, so it can be solved for rho; the
    best order gives the largest.
    """

    def negative_rho(order: arb) -> arb:
        return (
            -(
                ball(epsilon)
                - (-1 / order).log1p()
                + (ball(delta).log() + order.log()) / (order - 1)
            )
            / order
        )

    order = best_order(negative_rho)
    return max(Fraction(0), lower_bound(lambda: -negative_rho(arb(order)), _BITS))


def largest_range(rho: Fraction) -> Fraction:
    """The largest bounded range whose rho is within this one, found by 40 halvings."""
    low, high = Fraction(0), Fraction(1)
    while BoundedRange(high).to_zcdp().rho <= rho and high < 2**20:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if BoundedRange(middle).to_zcdp().rho <= rho else (low, middle)
    return low


def best_order(function: Callable[[arb], arb]) -> float:
    """An order near the minimum, by golden-section search. Any order would do; a better
    one is only tighter.
    """

    def at(position: float) -> float:
        return at_precision(_BITS, lambda: float(function(1 + arb(position).exp()).mid()))

    low, high = _LOWEST, _HIGHEST
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = at(left), at(right)
    for _ in range(56):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = at(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = at(right)
    return 1.0 + float(at_precision(_BITS, lambda: arb((low + high) / 2).exp()).mid())
