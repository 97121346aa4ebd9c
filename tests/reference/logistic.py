"""Slow, obvious logistic DP: winners with gaps in exact rationals, and the pair of distributions.

Nothing here imports the package. Weights, factors of moves and e^gap are rationals, so every
probability is one: the winner is i with a gap of at least g with probability
weight_i / (weight_i + e^g * the weights of the others).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

import mpmath
from mpmath import mpf

Cells = list[Fraction]


def winner_and_gap(weights: Sequence[Fraction], ends: Sequence[Fraction]) -> Cells:
    """The chances of each winner with a gap between neighbouring ends, and beyond the last.

    ends: e^gap, growing from 1.
    """
    cells = []
    for place, weight in enumerate(weights):
        others = sum(weights[:place]) + sum(weights[place + 1 :])
        tails = [weight / (weight + end * others) for end in ends] + [Fraction(0)]
        cells += [tail - later for tail, later in pairwise(tails)]
    return cells


def best_events(here: Cells, there: Cells) -> Iterable[tuple[Fraction, Fraction]]:
    """The two chances of every event that some test of one distribution against the other takes.

    By the lemma of Neyman and Pearson these are the sets of the likeliest cells. Every other
    event lies below the line between two of them.
    """
    order = sorted(range(len(here)), key=lambda cell: here[cell] / there[cell], reverse=True)
    first, second = Fraction(0), Fraction(0)
    for cell in order[:-1]:
        first, second = first + here[cell], second + there[cell]
        yield first, second


def largest_odds_ratio(here: Cells, there: Cells) -> Fraction:
    """The factor by which the odds of some event differ at most."""
    return max(p * (1 - q) / (q * (1 - p)) for p, q in best_events(here, there))


def pair(step: Fraction, steps: int) -> tuple[Cells, Cells]:
    """The pair with e^epsilon = step^steps on the cells step^i < z < step^(i+1), in this order.

    z is uniform on [1, e^epsilon] under the second distribution, the ratio is e^epsilon / z^2.
    """
    factor = step**steps
    ends = [step**place for place in range(steps + 1)]
    there = [(right - left) / (factor - 1) for left, right in pairwise(ends)]
    here = [factor * (1 / left - 1 / right) / (factor - 1) for left, right in pairwise(ends)]
    return here, there


def hockey_stick(epsilon: float, at: float) -> mpf:
    """The delta of the pair at an epsilon, as the integral of (P - e^g Q)+ over z."""
    if at <= -epsilon:
        return 1 - mpmath.exp(at)
    factor, level = mpmath.exp(epsilon), mpmath.exp(at)
    end = min(factor, max(mpf(1), mpmath.sqrt(factor / level)))
    return mpmath.quad(lambda z: (factor / z**2 - level) / (factor - 1), [1, end])


def renyi_divergence(epsilon: Fraction, order: float) -> mpf:
    """The divergence of two logistic densities that are epsilon apart, integrated over the line."""
    with mpmath.workdps(30):
        shift, power = mpf(epsilon.numerator) / epsilon.denominator, mpf(order)

        def density(y: mpf) -> mpf:
            return 1 / (4 * mpmath.cosh(y / 2) ** 2)

        total = mpmath.quad(
            lambda y: density(y - shift) ** power * density(y) ** (1 - power),
            [-mpmath.inf, -5, 0, shift, shift + 5, mpmath.inf],
        )
        return mpmath.log(total) / (power - 1)
