"""How good the answer is: bounds on how far the selected candidate is behind the best
one, in noise scales.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from discreet.exact.enclosures import at_precision, ball, up

_PRECISION = 96


def softmax_error(candidates: int, best: int, failure_probability: Fraction) -> float:
    """ln(d / m) + ln(1 / beta): exceeded with probability at most beta, for d
    candidates of which m are best.

    Holds for the exponential mechanism, and for permute-and-flip, whose error it
    stochastically dominates.
    """
    return _log(Fraction(candidates, best)) - _log(failure_probability)


def softmax_expected_error(candidates: int, best: int) -> float:
    """W((d - m) / (m e)), rounded up, with Lambert's W: the solution y of y e^y = (d - m) / (m e).

    The exact worst case of the exponential mechanism, where all others are y + 1 noise
    scales behind the m best. An upper bound for permute-and-flip.
    """
    if candidates == best:
        return 0.0
    odds = Fraction(candidates - best, best)
    return at_precision(_PRECISION, lambda: up((ball(odds) * arb(-1).exp()).lambertw()))


def gumbel_lead(gap: float, failure_probability: Fraction) -> float | None:
    """ln((beta e^g - 1) / (1 - beta)): the winner's true lead is at least that, if the
    noisy scores are g apart.
    """
    beta = float(failure_probability)
    # the logarithm of beta e^g
    inside = _log(failure_probability) + gap
    if inside <= 0:
        return None
    return inside + math.log(-math.expm1(-inside)) - math.log1p(-beta)


def exponential_lead(gap: float, failure_probability: Fraction) -> float | None:
    """g - ln(1 / beta), and nothing where that is negative: without this guard the
    statement would be false.
    """
    lead = gap + _log(failure_probability)
    return lead if lead >= 0 else None


def laplace_error(candidates: int, best: int, failure_probability: Fraction) -> float:
    """The x at which (d - m) times the tail of a difference of two Laplace variables
    falls to beta.
    """
    return _laplace_reach((candidates - best) / failure_probability)


def laplace_expected_error(candidates: int, best: int) -> float:
    """The mean that such a tail allows: the integral of min(1, (d - m) * tail)."""
    if candidates == best:
        return 0.0
    others = Fraction(candidates - best)
    start = _laplace_reach(others)
    return start + math.exp(_log(others) - start) * (3 + start) / 4


def _laplace_reach(odds: Fraction) -> float:
    """The x >= 0 with odds * e^-x * (2 + x) / 4 = 1, or 0; the tail of a Laplace
    difference is e^-x * (2 + x) / 4.
    """

    def excess(x: float) -> float:
        return _log(odds) - x + math.log((2 + x) / 4)

    # at x = 0 the tail is 1/2
    if odds <= 2:
        return 0.0
    low, high = 0.0, 2 * _log(odds) + 4
    # halves the bracket to the last bit
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _log(value: Fraction) -> float:
    """The natural logarithm of any positive rational; numerator and denominator may be
    too large for a float.
    """
    return math.log(value.numerator) - math.log(value.denominator)
