"""Many independent copies of the worst pair of distributions: two outcomes, with privacy losses `top` and `top - width`.

Every mechanism whose loss lies in an interval [top - width, top] is a post-processing of this pair (randomised response is the case
width = 2 top). So k copies of the pair show what k such mechanisms cost. The pair is

    P(high) = (1 - e^(top - width)) / (1 - e^-width),   Q(high) = e^-top * P(high).

Sums here have positive terms only, and are bracketed by an error analysis of + and * on floats; logarithms and exponentials come
from certified enclosures. docs/proofs/composition.md has the analysis.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb

from discreet.certified import at_precision, ball, down, up

_ROUNDING = 2.0**-53
_PRECISION = 192
_NEGLIGIBLE = 1e-15
_NARROWEST, _WIDEST = Fraction(1, 10**12), 1000

TINY = 1e-290
"""No upper bound of a delta is reported below this, except an exact 0."""


class Bracket(NamedTuple):
    """A number that is known to lie between two floats."""

    low: float
    high: float


class _Constants(NamedTuple):
    """What a sum over the number of low outcomes starts from."""

    first_chance: Bracket  # P of exactly `last` low outcomes
    odds: float  # P(high) / P(low)
    shrink: float  # e^-width
    first_excess: float  # 1 - e^-(loss - epsilon) for `last` low outcomes


def hockey_stick(width: Fraction, top: Fraction, copies: int, epsilon: Fraction) -> Bracket:
    """The delta of `copies` independent pairs at this epsilon: the sum of (P - e^epsilon Q)+ over all outcomes.

    With i low outcomes the loss is copies * top - i * width, which exceeds epsilon for i = 0 ... last. With P_i the probability
    of i low outcomes, delta is the sum of P_i * (1 - e^-(loss_i - epsilon)). Terms are added from i = last downwards.
    """
    if not 0 < top < width:
        return Bracket(0.0, 0.0)  # one of the outcomes has probability 0: both distributions are the same
    if not _NARROWEST < width < _WIDEST:
        return Bracket(0.0, 1.0)  # rounding would drown the result
    last = min(copies, math.ceil((copies * top - epsilon) / width) - 1)
    if last < 0:
        return Bracket(0.0, 0.0)
    constants = at_precision(_PRECISION, lambda: _constants(width, top, copies, epsilon, last))
    terms = 256
    while True:
        total, rest = _partial_sum(constants, copies, last, min(terms, last + 1))
        if rest <= _NEGLIGIBLE * total or terms > last:
            break
        terms *= 4
    error = _ROUNDING * (8 * min(terms, last + 1) + 16 + 8 / float(width))
    low = constants.first_chance.low * total * (1 - error)
    high = constants.first_chance.high * (total + rest) * (1 + error)
    # Below TINY floats lose their relative accuracy: the bracket ends there.
    return Bracket(low if low > TINY else 0.0, max(TINY, min(1.0, high)) if math.isfinite(high) else 1.0)


def _partial_sum(constants: _Constants, copies: int, last: int, terms: int) -> tuple[float, float]:
    """The sum of the first terms, and a bound of the others, both divided by the first chance."""
    fewer = np.arange(last, last - terms + 1, -1.0)  # P_(i-1) / P_i = i / (copies - i + 1) * odds
    with np.errstate(over="ignore", invalid="ignore"):
        chances = np.cumprod(fewer / (copies + 1 - fewer) * constants.odds)
        decays = (1 - constants.first_excess) * np.cumprod(np.full(terms - 1, constants.shrink))
        total = constants.first_excess + float(np.dot(chances, 1 - decays))
    left = last - terms + 1
    if left <= 0:
        return total, 0.0
    ratio = left / (copies - left + 1) * constants.odds
    reached = float(chances[-1]) if terms > 1 else 1.0
    return total, reached * ratio / (1 - ratio) if ratio < 1 else math.inf


def _constants(width: Fraction, top: Fraction, copies: int, epsilon: Fraction, last: int) -> _Constants:
    normal = -(-ball(width)).expm1()
    high = -ball(top - width).expm1() / normal
    low = ball(top).expm1() * (-ball(width)).exp() / normal
    ways = arb(copies + 1).lgamma() - arb(last + 1).lgamma() - arb(copies - last + 1).lgamma()
    chance = (ways + (copies - last) * high.log() + last * low.log()).exp()
    excess = -(-ball(copies * top - last * width - epsilon)).expm1()
    return _Constants(Bracket(down(chance), up(chance)), float(high / low), float((-ball(width)).exp()), float(excess))
