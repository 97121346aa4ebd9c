"""Slow, obvious composition: what many releases cost together, by other routes than the package's.

Nothing here imports the package. Sums run over all outcomes with 50 digits and more, suprema are
searched numerically, and real exponential mechanisms on a few candidates are enumerated outcome
by outcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
from mpmath import mpf
from scipy.optimize import minimize_scalar

Real = int | float | Fraction | mpf
Chances = Sequence[mpf]

DIGITS = 50


def real(value: Real) -> mpf:
    """An exact rational, or whatever else is a number, at the current precision."""
    return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpf(value)


def digits_for(width: Real) -> int:
    """Enough digits for numbers near 1 whose differences are of the size of the width."""
    return DIGITS + 2 * max(0, math.ceil(-float(mpmath.log10(real(width)))))


# --- the two-point pair -------------------------------------------------------------------------


def pair(width: Real, top: Real) -> tuple[Chances, Chances]:
    """Probabilities (high, low) under P and under Q: the log-odds are `top` and `top - width`."""
    width, top = real(width), real(top)
    high = (1 - mpmath.exp(top - width)) / (1 - mpmath.exp(-width))
    other = high * mpmath.exp(-top)
    return (high, 1 - high), (other, 1 - other)


def hockey_stick_of_copies(width: Real, top: Real, copies: int, epsilon: Real) -> mpf:
    """The sum of (P - e^epsilon Q)+ over the numbers of low outcomes in `copies` independent
    pairs.
    """
    with mpmath.workdps(digits_for(width)):
        (high, low), (other_high, other_low) = pair(width, top)
        odds, other_odds = low / high, other_low / other_high
        total, here, there = mpf(0), high**copies, mpmath.exp(real(epsilon)) * other_high**copies
        for lows in range(copies + 1):
            if here <= there:
                break  # the loss falls with every low outcome
            total += here - there
            ways = mpf(copies - lows) / (lows + 1)
            here, there = here * odds * ways, there * other_odds * ways
        return +total


def non_adaptive_delta(width: Real, copies: int, epsilon: Real) -> mpf:
    """The optimum for mechanisms that were fixed beforehand: the largest F_l(t_l) over all l,
    term by term.
    """
    with mpmath.workdps(DIGITS):
        width, epsilon = real(width), real(epsilon)
        best = mpf(0)
        for last in range(copies + 1):
            top = min(max((epsilon + (last + 1) * width) / (copies + 1), mpf(0)), width)
            (_, _), (other_high, other_low) = pair(width, top)
            value = mpf(0)
            for lows in range(last + 1):
                ways = (
                    mpmath.binomial(copies, lows) * other_high ** (copies - lows) * other_low**lows
                )
                value += ways * (mpmath.exp(copies * top - lows * width) - mpmath.exp(epsilon))
            best = max(best, value)
        return +best


def kov_delta(each: Real, copies: int, epsilon: Real) -> mpf:
    """Optimal composition of pure DP (Kairouz, Oh and Viswanath): the published sum."""
    with mpmath.workdps(DIGITS):
        each, epsilon = real(each), real(epsilon)
        total = mpf(0)
        for lies in range(copies + 1):
            if (copies - 2 * lies) * each > epsilon:
                term = mpmath.exp((copies - lies) * each) - mpmath.exp(epsilon + lies * each)
                total += mpmath.binomial(copies, lies) * term
        return total / (1 + mpmath.exp(each)) ** copies


# --- adaptive composition, by nested searches ---------------------------------------------------


def one_query(width: float, epsilon: float) -> float:
    """The largest delta of one mechanism of this range: a closed form."""
    if epsilon >= width:
        return 0.0
    if epsilon <= -width:
        return -math.expm1(epsilon)
    return math.expm1((epsilon - width) / 2) ** 2 / -math.expm1(-width)


Value = Callable[[float], float]


def before(width: float, left: Value, right: Value | None = None) -> Value:
    """The value of one more query, placed first: `left` goes on after the high outcome, `right`
    after the low one.
    """
    after_low = right or left

    def value(epsilon: float) -> float:
        def loss(top: float) -> float:
            high = math.expm1(top - width) / math.expm1(-width)
            return -(high * left(epsilon - top) + (1 - high) * after_low(epsilon - top + width))

        tops = np.linspace(0, width, 25)
        best = int(np.argmin([loss(top) for top in tops]))
        around = (tops[max(best - 1, 0)], tops[min(best + 1, 24)])
        found = minimize_scalar(
            loss, bounds=around, method="bounded", options={"xatol": 1e-9 * width}
        )
        return max(-float(found.fun), -loss(tops[best]))

    return value


def in_order(widths: Sequence[float]) -> Value:
    """The most that an adaptive adversary can reach with these ranges, in this order."""
    value: Value = lambda epsilon: one_query(widths[-1], epsilon)  # noqa: E731
    for width in reversed(widths[:-1]):
        value = before(width, value)
    return value


def adaptive_delta(widths: Sequence[float], epsilon: float) -> float:
    """The optimum for queries of these ranges, in this order, each chosen in view of the earlier
    answers.
    """
    return in_order(widths)(epsilon)


def branching_delta(
    first: float, continuations: Iterable[Sequence[float]], epsilon: float
) -> float:
    """The optimum where the first answer also decides which ranges follow: what a filter has to
    withstand.
    """
    values = [in_order(widths) for widths in continuations]

    def worst(left: float) -> float:
        return max(value(left) for value in values)

    return before(first, worst)(epsilon)


# --- Renyi divergences and their conversion -----------------------------------------------------


def renyi_of(here: Chances, there: Chances, order: Real) -> mpf:
    """The Renyi divergence of two distributions."""
    order = real(order)
    return mpmath.log(
        mpmath.fsum(p**order * q ** (1 - order) for p, q in zip(here, there, strict=True))
    ) / (order - 1)


def largest_renyi(width: Real, order: Real) -> mpf:
    """The largest Renyi divergence of the pair over all tops, searched; from below, by as little
    as the search misses.
    """
    with mpmath.workdps(DIGITS):
        size = float(width)
        found = minimize_scalar(
            lambda share: -float(renyi_of(*pair(width, share * size), order)),
            bounds=(1e-9, 1 - 1e-9),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return renyi_of(*pair(width, mpf(float(found.x)) * real(width)), order)


def renyi_of_response(epsilon: Real, order: Real) -> mpf:
    """Randomised response, the worst pure-DP pair."""
    with mpmath.workdps(DIGITS):
        truth = 1 / (1 + mpmath.exp(-real(epsilon)))
        return renyi_of((truth, 1 - truth), (1 - truth, truth), order)


def best_order(value: Callable[[mpf], mpf]) -> mpf:
    """The smallest value over all orders above 1: a scan, then a search around the best."""
    with mpmath.workdps(30):
        places = np.linspace(-8, 16, 97)
        best = int(np.argmin([float(value(1 + mpmath.exp(place))) for place in places]))
        found = minimize_scalar(
            lambda place: float(value(1 + mpmath.exp(mpf(place)))),
            bounds=(places[max(best - 1, 0)], places[min(best + 1, 96)]),
            method="bounded",
            options={"xatol": 1e-11},
        )
        return value(1 + mpmath.exp(mpf(float(found.x))))


def epsilon_of_curve(curve: Callable[[mpf], mpf], delta: Real) -> mpf:
    """Canonne, Kamath and Steinke's conversion of a Renyi curve, solved for epsilon."""
    return best_order(
        lambda order: (
            curve(order)
            + mpmath.log(1 - 1 / order)
            - (mpmath.log(real(delta)) + mpmath.log(order)) / (order - 1)
        )
    )


def delta_of_curve(curve: Callable[[mpf], mpf], epsilon: Real) -> mpf:
    """The same conversion, solved for delta."""
    return mpmath.exp(
        best_order(
            lambda order: (
                (order - 1) * (curve(order) - real(epsilon))
                + order * mpmath.log(1 - 1 / order)
                - mpmath.log(order - 1)
            )
        )
    )


def largest_rho(epsilon: Real, delta: Real) -> mpf:
    """The rho at which the conversion of rho-concentrated DP gives exactly this epsilon, by
    halving.
    """
    with mpmath.workdps(30):
        low, high = mpf(0), real(epsilon)
        for _ in range(60):
            middle = (low + high) / 2
            fits = epsilon_of_curve(lambda order, rho=middle: rho * order, delta) <= real(epsilon)
            low, high = (middle, high) if fits else (low, middle)
        return low


def gaussian_delta(mu: Real, epsilon: Real) -> mpf:
    """The delta of two unit Gaussians at distance mu."""
    mu, epsilon = real(mu), real(epsilon)
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(
        -epsilon / mu - mu / 2
    )


def telling_release(epsilon: Real, delta: Real) -> tuple[Chances, Chances]:
    """With probability delta it says which data set it is, else it is randomised response."""
    truth = 1 / (1 + mpmath.exp(-real(epsilon)))
    rest, delta = 1 - real(delta), real(delta)
    yes, no = rest * truth, rest * (1 - truth)
    return (delta, 0, yes, no), (0, delta, no, yes)


# --- real exponential mechanisms, outcome by outcome --------------------------------------------


def exponential_mechanism(scores: Sequence[Real]) -> Chances:
    """The probabilities of the exponential mechanism with weights e^score."""
    weights = [mpmath.exp(real(score)) for score in scores]
    return [weight / mpmath.fsum(weights) for weight in weights]


def neighbours_with_top(width: Real, top: Real) -> tuple[Chances, Chances]:
    """Two candidates, and neighbouring data that move one score by `width`: an exponential
    mechanism that is the pair.
    """
    (high, low), _ = pair(width, top)
    gap = mpmath.log(low / high)
    return exponential_mechanism([0, gap]), exponential_mechanism([0, gap + real(width)])


def hockey_stick_of(here: Chances, there: Chances, epsilon: Real) -> mpf:
    """The sum of (P - e^epsilon Q)+ over all outcomes."""
    factor = mpmath.exp(real(epsilon))
    return mpmath.fsum(max(p - factor * q, mpf(0)) for p, q in zip(here, there, strict=True))


def all_together(releases: Sequence[tuple[Chances, Chances]]) -> tuple[Chances, Chances]:
    """The distributions of all answers of independent releases, on either data set: the whole
    product is written out.
    """
    here = [mpmath.fprod(chances) for chances in product(*(release[0] for release in releases))]
    there = [mpmath.fprod(chances) for chances in product(*(release[1] for release in releases))]
    return here, there


def one_after_another(
    first: tuple[Chances, Chances], following: Sequence[tuple[Chances, Chances]]
) -> tuple[Chances, Chances]:
    """All answers where outcome i of the first release decides that following[i] is asked next."""
    here = [p * q for p, after in zip(first[0], following, strict=True) for q in after[0]]
    there = [p * q for p, after in zip(first[1], following, strict=True) for q in after[1]]
    return here, there


def strongest_adversary(widths: tuple[Real, Real], epsilon: Real, choices: int = 40) -> mpf:
    """The best of many adversaries who choose the second exponential mechanism by the first
    answer.
    """
    first, second = (real(width) for width in widths)

    def releases(width: mpf) -> list[tuple[Chances, Chances]]:
        return [neighbours_with_top(width, width * place / choices) for place in range(1, choices)]

    # the second choices after either outcome do not depend on each other, so each is the
    # best one for its outcome
    best = mpf(0)
    options = releases(second)
    for start in releases(first):
        following = [
            max(
                options,
                key=lambda after, p=p, q=q: hockey_stick_of(
                    [p * x for x in after[0]], [q * x for x in after[1]], epsilon
                ),
            )
            for p, q in zip(*start, strict=True)
        ]
        best = max(best, hockey_stick_of(*one_after_another(start, following), epsilon))
    return best
