"""Many independent copies of the worst pair of distributions: two outcomes, with
privacy losses `top` and `top - width`.

Every mechanism whose loss lies in an interval [top - width, top] is a post-processing
of this pair (randomised response is the case width = 2 top). So k copies of the pair
show what k such mechanisms cost. The pair is

    P(high) = (1 - e^(top - width)) / (1 - e^-width),   Q(high) = e^-top * P(high).

Sums here have positive terms only, and are bracketed by an error analysis of + and * on
floats; logarithms and exponentials come from certified enclosures.
docs/proofs/composition.md has the analysis.

Where all queries of range epsilon are chosen beforehand, k copies of one pair with the
worst `top` in [0, epsilon] are the exact optimum (Dong, Durfee and Rogers 2020).
Between two neighbouring multiples the number of outcomes that count is constant, and
there delta has a single maximum at a known place, so a search over `top` by branch and
bound ends with a bracket that is certified.
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb

from discreet.exact.enclosures import at_precision, ball, down, up

_ROUNDING = 2.0**-53
_BITS = 192
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

    # P of exactly `last` low outcomes
    first_chance: Bracket
    # P(high) / P(low)
    odds: float
    # e^-width
    shrink: float
    # 1 - e^-(loss - epsilon) for `last` low outcomes
    first_excess: float


def hockey_stick(width: Fraction, top: Fraction, copies: int, epsilon: Fraction) -> Bracket:
    """The delta of `copies` independent pairs at this epsilon: the sum of (P -
    e^epsilon Q)+ over all outcomes.

    With i low outcomes the loss is copies * top - i * width, which exceeds epsilon for
    i = 0 ... last. With P_i the probability of i low outcomes, delta is the sum of P_i
    * (1 - e^-(loss_i - epsilon)). Terms are added from i = last downwards.
    """
    if not 0 < top < width:
        # one of the outcomes has probability 0: both distributions are the same
        return Bracket(0.0, 0.0)
    if not _NARROWEST < width < _WIDEST:
        # rounding would drown the result
        return Bracket(0.0, 1.0)
    last = min(copies, math.ceil((copies * top - epsilon) / width) - 1)
    if last < 0:
        return Bracket(0.0, 0.0)
    constants = at_precision(_BITS, lambda: _constants(width, top, copies, epsilon, last))
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
    return Bracket(
        low if low > TINY else 0.0, max(TINY, min(1.0, high)) if math.isfinite(high) else 1.0
    )


def _partial_sum(constants: _Constants, copies: int, last: int, terms: int) -> tuple[float, float]:
    """The sum of the first terms, and a bound of the others, both divided by the first chance."""
    # P_(i-1) / P_i = i / (copies - i + 1) * odds
    fewer = np.arange(last, last - terms + 1, -1.0)
    # a caller may have told NumPy to raise, and terms below the smallest float are usual
    with np.errstate(all="ignore"):
        chances = np.cumprod(fewer / (copies + 1 - fewer) * constants.odds)
        decays = (1 - constants.first_excess) * np.cumprod(np.full(terms - 1, constants.shrink))
        total = constants.first_excess + float(np.dot(chances, 1 - decays))
    left = last - terms + 1
    if left <= 0:
        return total, 0.0
    ratio = left / (copies - left + 1) * constants.odds
    reached = float(chances[-1]) if terms > 1 else 1.0
    return total, reached * ratio / (1 - ratio) if ratio < 1 else math.inf


def _constants(
    width: Fraction, top: Fraction, copies: int, epsilon: Fraction, last: int
) -> _Constants:
    normal = -(-ball(width)).expm1()
    high = -ball(top - width).expm1() / normal
    low = ball(top).expm1() * (-ball(width)).exp() / normal
    ways = arb(copies + 1).lgamma() - arb(last + 1).lgamma() - arb(copies - last + 1).lgamma()
    chance = (ways + (copies - last) * high.log() + last * low.log()).exp()
    excess = -(-ball(copies * top - last * width - epsilon)).expm1()
    return _Constants(
        Bracket(down(chance), up(chance)),
        float(high / low),
        float((-ball(width)).exp()),
        float(excess),
    )


# how far the search may stop above the best delta, relative to it
_TOLERANCE = 3e-4
# up to this many copies every piece is resolved, and the result is exact
_FEW = 512


def delta_non_adaptive(width: Fraction, copies: int, epsilon: Fraction) -> Bracket:
    """The smallest delta for which `copies` non-adaptive mechanisms of this range are
    (epsilon, delta)-DP.
    """
    if epsilon >= copies * width:
        return Bracket(0.0, 0.0)
    if copies <= _FEW:
        found = [
            hockey_stick(width, _best_top(width, copies, epsilon, last), copies, epsilon)
            for last in range(copies)
        ]
        return Bracket(
            max(bracket.low for bracket in found), max(bracket.high for bracket in found)
        )
    return _search(width, copies, epsilon)


def _best_top(width: Fraction, copies: int, epsilon: Fraction, last: int) -> Fraction:
    """The top that is worst while `last` low outcomes still count: (epsilon + (last +
    1) * width) / (copies + 1).
    """
    return min(max((epsilon + (last + 1) * width) / (copies + 1), Fraction(0)), width)


def _search(width: Fraction, copies: int, epsilon: Fraction) -> Bracket:
    """Branch and bound over intervals of `top`.

    A pair with top in [a, b] is a post-processing of the pair with top b and width + (b
    - a): that bounds a whole interval.
    """
    low, settled = 0.0, 0.0
    waiting = [(-1.0, Fraction(0), width)]
    while waiting and -waiting[0][0] > max(low, settled) * (1 + _TOLERANCE):
        _, start, stop = heapq.heappop(waiting)
        for part in range(4):
            left, right = start + (stop - start) * part / 4, start + (stop - start) * (part + 1) / 4
            piece = [(copies * top - epsilon) // width for top in (left, right)]
            if piece[0] == piece[1]:
                top = min(max(_best_top(width, copies, epsilon, int(piece[0])), left), right)
                exact = hockey_stick(width, top, copies, epsilon)
                low, settled = max(low, exact.low), max(settled, exact.high)
                continue
            low = max(low, hockey_stick(width, (left + right) / 2, copies, epsilon).low)
            bound = hockey_stick(width + right - left, right, copies, epsilon).high
            if bound > low:
                heapq.heappush(waiting, (-bound, left, right))
    return Bracket(low, max(settled, -waiting[0][0] if waiting else 0.0, low))


def slack(copies: int) -> Fraction:
    """How far a certificate can be above the truth, relative, and a little more."""
    return Fraction(1, 10**11) if copies <= _FEW else Fraction(4, 10**4)


def quick_delta(width: Fraction, copies: int, epsilon: Fraction) -> float:
    """About the same delta, without a certificate: a search along the local maxima."""
    if epsilon >= copies * width:
        return 0.0

    def at(last: int) -> float:
        return hockey_stick(width, _best_top(width, copies, epsilon, last), copies, epsilon).high

    low, high = 0, copies - 1
    # the local maxima rise to the largest one and fall after it, as far as anyone has
    # seen
    while high - low > 8:
        left, right = low + (high - low) * 3 // 8, high - (high - low) * 3 // 8
        low, high = (low, right) if at(left) >= at(right) else (left, high)
    return max(at(last) for last in range(low, high + 1))
