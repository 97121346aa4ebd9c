"""The analyses: each bounds what a set of losses costs together, from above and with certainty.

| name | what it uses | order |
|---|---|---|
| basic | epsilons add up | any |
| kov | optimal composition of pure DP (Kairouz, Oh and Viswanath 2015) | adaptive |
| zcdp | concentrated DP adds up; converted with the best order | adaptive, any order |
| rdp | Renyi divergences in closed form add up; converted with the best order | adaptive, any order |
| bounded-range-adaptive | certified grid for bounded range and pure DP | adaptive, any order |
| bounded-range-non-adaptive | optimal composition of bounded range, all queries of one epsilon | only if no query depends on an answer |

A name with an epsilon becomes a delta and the other way round; where an analysis does not apply it says None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.accounting import adaptive, renyi
from discreet.accounting.losses import Losses
from discreet.accounting.non_adaptive import delta_non_adaptive, quick_delta, slack
from discreet.accounting.two_point import hockey_stick
from discreet.certified import ball
from discreet.privacy.loss import BoundedRange, Loss

Direction = Callable[[Losses, Fraction], Fraction | None]

_HALVINGS = 60

MANY = 2 * 10**6
"""Queries beyond which sums over their outcomes are not tried any more; concentrated DP takes over."""


def basic_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The sum of the epsilons; delta is not needed."""
    if losses.epsilons is None:
        return None
    return sum((epsilon * times for epsilon, times in losses.epsilons), Fraction(0))


def basic_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """0 from the sum of the epsilons on."""
    total = basic_epsilon(losses, Fraction(0))
    return Fraction(0) if total is not None and epsilon >= total else None


def kov_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """k copies of randomised response; where epsilons differ, the largest stands for all."""
    if losses.epsilons is None or losses.total > MANY:
        return None
    largest = max(each for each, _ in losses.epsilons)
    return Fraction(hockey_stick(2 * largest, largest, losses.total, epsilon).high)


def kov_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The smallest epsilon with that delta."""
    if losses.epsilons is None or losses.total > MANY or not delta:
        return None
    largest = max(each for each, _ in losses.epsilons)
    return smallest(
        lambda epsilon: hockey_stick(2 * largest, largest, losses.total, epsilon).high <= delta, largest * losses.total
    )


def zcdp_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """Canonne, Kamath and Steinke's conversion of the sum of rho."""
    rho = losses.rho
    return renyi.delta_of(lambda order: ball(rho) * order, epsilon)


def zcdp_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The same, solved for epsilon."""
    rho = losses.rho
    return renyi.epsilon_of(lambda order: ball(rho) * order, delta) if delta else None


def rdp_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The conversion of the sum of the Renyi curves."""
    return renyi.delta_of(renyi.total_curve(losses.counts), epsilon)


def rdp_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The same, solved for epsilon."""
    return renyi.epsilon_of(renyi.total_curve(losses.counts), delta) if delta else None


def non_adaptive_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The exact optimum for equal bounded ranges."""
    width = _one_range(losses)
    return None if width is None or losses.total > MANY else Fraction(delta_non_adaptive(width, losses.total, epsilon).high)


def non_adaptive_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """Found with a quick search, then certified: if the certificate fails the epsilon grows until it holds."""
    width = _one_range(losses)
    if width is None or losses.total > MANY or not delta:
        return None
    copies = losses.total
    goal = delta / (1 + slack(copies))  # so that the certificate, which is that much looser, usually holds at once
    found = smallest(lambda epsilon: quick_delta(width, copies, epsilon) <= goal, width * copies, halvings=44)
    step = width * copies / 2**40
    while delta_non_adaptive(width, copies, found).high > delta:
        found, step = found + step, step * 8
    return found


def adaptive_curve(losses: Losses, *, epsilon: Fraction | None = None, delta: Fraction | None = None) -> adaptive.Curve | None:
    """The certified bracket for all these losses in any order, where it can be computed."""
    if epsilon is None and not delta:
        return None
    return _remembered_curve(tuple(losses.counts.items()), _reach(losses, epsilon=epsilon, delta=delta))


@lru_cache(maxsize=2)  # compose asks for the upper end and then for the lower one
def _remembered_curve(counts: tuple[tuple[Loss, int], ...], reach: float) -> adaptive.Curve | None:
    return adaptive.curve_for(dict(counts), reach)


def adaptive_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The upper end of the certified grid bracket."""
    curve = adaptive_curve(losses, epsilon=epsilon)
    return None if curve is None else Fraction(curve.delta(epsilon).high)


def adaptive_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The epsilon at which that upper end falls to delta."""
    curve = adaptive_curve(losses, delta=delta)
    return None if curve is None else curve.epsilon(delta)


ANALYSES: dict[str, tuple[Direction, Direction]] = {
    "basic": (basic_epsilon, basic_delta),
    "kov": (kov_epsilon, kov_delta),
    "zcdp": (zcdp_epsilon, zcdp_delta),
    "rdp": (rdp_epsilon, rdp_delta),
    "bounded-range-adaptive": (adaptive_epsilon, adaptive_delta),
    "bounded-range-non-adaptive": (non_adaptive_epsilon, non_adaptive_delta),
}
"""For each analysis: (losses, delta) to epsilon, and (losses, epsilon) to delta."""

NON_ADAPTIVE_ONLY = frozenset({"bounded-range-non-adaptive"})


def smallest(good: Callable[[Fraction], bool], certain: Fraction, halvings: int = _HALVINGS) -> Fraction:
    """The smallest number up to `certain` that is good, to within certain / 2^halvings; `certain` itself is known to be good."""
    low, high = Fraction(0), certain
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _one_range(losses: Losses) -> Fraction | None:
    """The epsilon of all losses, if they are all the same bounded range."""
    if len(losses.counts) == 1:
        (loss,) = losses.counts
        if isinstance(loss, BoundedRange):
            return loss.epsilon
    return None


def _reach(losses: Losses, *, epsilon: Fraction | None = None, delta: Fraction | None = None) -> float:
    """How large an epsilon the grid has to hold: where delta is a millionth of what is asked for."""
    curve = renyi.total_curve(losses.counts)
    if delta is None:
        assert epsilon is not None
        delta = max(renyi.delta_of(curve, epsilon), Fraction(1, 10**30))
    try:
        return float(renyi.epsilon_of(curve, delta / 10**6)) if delta else math.inf
    except OverflowError:
        return math.inf
