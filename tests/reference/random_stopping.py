"""Slow, obvious: the best of a random number of runs, summed over the number of runs, and
published formulas for its cost.

Nothing here imports the package. A run has a few outcomes, listed from worst to best; outcomes
with equal scores stand in one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, permutations, product

import mpmath
from mpmath import mpf

DIGITS = 30
Chances = Sequence[mpf]


# --- the number of runs -------------------------------------------------------------------------


def number_of_runs(stopping: str, parameter: mpf) -> Callable[[int], mpf]:
    """The probability of k runs. The parameter is the mean of a Poisson law, and else the
    probability to stop.
    """
    stop = mpf(parameter)
    if stopping == "geometric":
        return lambda k: stop * (1 - stop) ** (k - 1) if k else mpf(0)
    if stopping == "logarithmic":
        return lambda k: (1 - stop) ** k / (k * mpmath.log(1 / stop)) if k else mpf(0)
    return lambda k: mpmath.exp(-stop) * stop**k / mpmath.factorial(k)


def generating_function(stopping: str, parameter: mpf) -> Callable[[mpf], mpf]:
    """The sum of Pr[K = k] x^k, in closed form."""
    stop = mpf(parameter)
    if stopping == "geometric":
        return lambda x: stop * x / (1 - (1 - stop) * x)
    if stopping == "logarithmic":
        whole = mpmath.log(stop)
        return lambda x: mpmath.log(1 - (1 - stop) * x) / whole
    return lambda x: mpmath.exp(stop * (x - 1))


# --- the best of all runs -----------------------------------------------------------------------


def best_run(stopping: str, parameter: mpf, groups: Sequence[Chances]) -> list[mpf]:
    """The probability of nothing, then of each outcome; groups of equal scores go from worst to
    best.
    """
    f = generating_function(stopping, parameter)
    sums = accumulate((mpmath.fsum(group) for group in groups), initial=mpf(0))
    reached = [(each, f(each)) for each in sums]
    answers = [reached[0][1]]
    for group, (below, through) in zip(groups, pairwise(reached), strict=True):
        # of the best score, by outcome
        share = (through[1] - below[1]) / (through[0] - below[0])
        answers += [chance * share for chance in group]
    return answers


def best_of_exactly(count: int, outcomes: Sequence[tuple[int, mpf]]) -> list[mpf]:
    """The first of the best of exactly `count` runs: all sequences of outcomes (score,
    probability) written out.
    """
    answers = [mpf(0)] * len(outcomes)
    for runs in product(range(len(outcomes)), repeat=count):
        winner = max(runs, key=lambda place: outcomes[place][0])  # max keeps the first
        answers[winner] += mpmath.fprod(outcomes[place][1] for place in runs)
    return answers


def first_good_run(stop: mpf, below: Chances, good: Chances) -> list[mpf]:
    """With a known threshold: the probability of nothing, then of each outcome that reaches it."""
    stop = mpf(stop)
    again = mpmath.fsum(below) * (1 - stop)
    return [mpmath.fsum(below) * stop / (1 - again), *(chance / (1 - again) for chance in good)]


# --- neighbours ---------------------------------------------------------------------------------


def neighbours(width: mpf, top: mpf, largest: int = 3) -> Iterator[tuple[list[mpf], list[mpf]]]:
    """Pairs of distributions of few outcomes whose losses are `top` and `top - width`, in every
    order and many splits.
    """
    high = (1 - mpmath.exp(top - width)) / (1 - mpmath.exp(-width))
    side = {True: (high, mpmath.exp(-top)), False: (1 - high, mpmath.exp(width - top))}
    for size in range(2, largest + 1):
        for pattern in product(side, repeat=size):
            for weights in product((1, mpf("1e-6")), repeat=size):
                parts = {
                    up: [w for w, way in zip(weights, pattern, strict=True) if way is up]
                    for up in side
                }
                if any(not part or max(part) < 1 for part in parts.values()):
                    # one side is empty, or the same split comes again with a larger
                    # weight
                    continue
                here = [
                    side[up][0] * w / mpmath.fsum(parts[up])
                    for w, up in zip(weights, pattern, strict=True)
                ]
                yield here, [p * side[up][1] for p, up in zip(here, pattern, strict=True)]


def publicly_chosen(
    width: mpf,
    tops: Sequence[mpf],
    odds: Sequence[mpf],
) -> Iterator[tuple[list[mpf], list[mpf]]]:
    """A run that draws one of some settings and shows it: neighbours of all orders of its outcomes.

    Setting i is drawn with odds[i], whatever the data, and is a mechanism of two outcomes whose
    losses are tops[i] and tops[i] - width.
    """
    outcomes = []
    for top, chance in zip(tops, odds, strict=True):
        high = (1 - mpmath.exp(top - width)) / (1 - mpmath.exp(-width))
        outcomes.append((chance * high, mpmath.exp(-top)))
        outcomes.append((chance * (1 - high), mpmath.exp(width - top)))
    for order in permutations(outcomes):
        yield [p for p, _ in order], [p * ratio for p, ratio in order]


def largest_loss(here: Chances, there: Chances) -> mpf:
    """The epsilon of two distributions."""
    ratios = [p / q for p, q in zip(here, there, strict=True) if p or q]
    return max(mpmath.log(max(ratios)), -mpmath.log(min(ratios)))


def renyi(here: Chances, there: Chances, order: mpf) -> mpf:
    """The Renyi divergence of two distributions."""
    return mpmath.log(
        mpmath.fsum(p**order * q ** (1 - order) for p, q in zip(here, there, strict=True) if p)
    ) / (order - 1)


# --- published costs ----------------------------------------------------------------------------


def published_pure(epsilon: float, shape: int, stop: float) -> mpf:
    """The pure-DP cost with a truncated negative binomial number of runs, straight from its
    formula.
    """
    e, stop = mpmath.exp(epsilon), mpf(stop)
    return epsilon + (1 + shape) * mpmath.log(
        (stop + (1 - stop) * e / (1 + e)) / (stop + (1 - stop) / (1 + e))
    )


def published_negative_binomial(
    rho: float, shape: int, stop: mpf, mean: mpf, order: float, orders: Sequence[float]
) -> mpf:
    """Papernot and Steinke, theorem 2, for concentrated DP; the second order is the best of those
    given.
    """
    lift = min(
        (1 - 1 / mpf(other)) * rho * other + mpmath.log(1 / stop) / other for other in orders
    )
    return rho * order + (1 + shape) * lift + mpmath.log(mean) / (mpf(order) - 1)


def published_poisson(rho: float, mean: float, order: float, orders: Sequence[float]) -> mpf:
    """Papernot and Steinke, theorem 6, for concentrated DP. It leaves out that there may be no
    run: for means of 1 and more.
    """
    return rho * order + mean * delta_at(rho, order, orders) + mpmath.log(mean) / (mpf(order) - 1)


def delta_at(rho: float, order: float, orders: Sequence[float]) -> mpf:
    """The delta of one run at the epsilon of theorem 6, from the best of the orders given."""
    epsilon = mpmath.log(1 + 1 / (mpf(order) - 1))

    def logarithm(other: mpf) -> mpf:
        return (
            (other - 1) * (rho * other - epsilon)
            + other * mpmath.log(1 - 1 / other)
            - mpmath.log(other - 1)
        )

    return min(mpf(1), mpmath.exp(min(logarithm(mpf(other)) for other in orders)))
