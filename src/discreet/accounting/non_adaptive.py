"""Bounded range, all queries chosen beforehand: the exact optimum (Dong, Durfee and Rogers 2020).

The worst k mechanisms of range epsilon are k copies of one pair (see two_point.py) with the worst `top` in [0, epsilon]. Between
two neighbouring multiples the number of outcomes that count is constant, and there delta has a single maximum at a known place, so
a search over `top` by branch and bound ends with a bracket that is certified.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

from discreet.accounting.two_point import Bracket, hockey_stick

_TOLERANCE = 3e-4  # relative, in delta; pieces that are resolved completely are exact
_FEW = 512  # copies, up to which every piece is resolved


def delta_non_adaptive(width: Fraction, copies: int, epsilon: Fraction) -> Bracket:
    """The smallest delta for which `copies` non-adaptive mechanisms of this range are (epsilon, delta)-DP."""
    if epsilon >= copies * width:
        return Bracket(0.0, 0.0)
    if copies <= _FEW:
        found = [hockey_stick(width, _best_top(width, copies, epsilon, last), copies, epsilon) for last in range(copies)]
        return Bracket(max(bracket.low for bracket in found), max(bracket.high for bracket in found))
    return _search(width, copies, epsilon)


def _best_top(width: Fraction, copies: int, epsilon: Fraction, last: int) -> Fraction:
    """The top that is worst while `last` low outcomes still count: (epsilon + (last + 1) * width) / (copies + 1)."""
    return min(max((epsilon + (last + 1) * width) / (copies + 1), Fraction(0)), width)


def _search(width: Fraction, copies: int, epsilon: Fraction) -> Bracket:
    """Branch and bound over intervals of `top`.

    A pair with top in [a, b] is a post-processing of the pair with top b and width + (b - a): that bounds a whole interval.
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
    """Almost the same number, without a certificate: a search along the local maxima."""
    if epsilon >= copies * width:
        return 0.0

    def at(last: int) -> float:
        return hockey_stick(width, _best_top(width, copies, epsilon, last), copies, epsilon).high

    low, high = 0, copies - 1
    while high - low > 8:  # the local maxima rise to the largest one and fall after it, as far as anyone has seen
        left, right = low + (high - low) * 3 // 8, high - (high - low) * 3 // 8
        low, high = (low, right) if at(left) >= at(right) else (left, high)
    return max(at(last) for last in range(low, high + 1))
