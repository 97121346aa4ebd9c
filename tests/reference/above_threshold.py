"""Slow, obvious, exact: the law of above-threshold with discrete Laplace noise, by another route
than the package's.

Nothing here imports the package. The noisy threshold is summed out: one term for each of its
values near the answers, and beyond them, where every factor is a sum of powers, geometric series.
So each probability is an enclosure of a finite formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from flint import arb, fmpq


def decay(rate: Fraction) -> arb:
    """exp(-rate)."""
    return (-arb(fmpq(rate.numerator, rate.denominator))).exp()


def geometric(w: arb, number: int) -> arb:
    """The chance of n >= 0 when each step multiplies it by w."""
    return (1 - w) * w**number


def laplace(w: arb, number: int) -> arb:
    """The chance of n when each step away from 0 multiplies it by w."""
    return (1 - w) / (1 + w) * w ** abs(number)


def below(w: arb, bound: int) -> arb:
    """The chance that discrete Laplace noise is below the bound."""
    return w ** (1 - bound) / (1 + w) if bound <= 0 else 1 - w**bound / (1 + w)


def chance_of(
    answers: Sequence[int],
    limit: int,
    rates: tuple[Fraction, Fraction],
    position: int | None,
    gap: int | None = None,
) -> arb:
    """The chance that the search stops at this position with this gap (None: with any gap), or
    (position None) nowhere.

    Answers and limit count in steps; `rates` are those of the threshold's noise and of the
    queries'.
    """
    first, second = decay(rates[0]), decay(rates[1])
    passed = list(answers if position is None else answers[:position])
    if (
        position is not None and gap is None
    ):  # reached here, minus nothing found up to and including here
        whole = chance_of(passed, limit, rates, None)
        return whole - chance_of([*passed, answers[position]], limit, rates, None)
    kinks = [answer - limit for answer in passed] + (
        [answers[position] - limit - gap] if position is not None else []
    )
    high, low = max([1, *(kink + 1 for kink in kinks)]), min([0, *kinks])
    total = arb(0)
    for noise in range(low + 1, high):
        term = laplace(first, noise)
        for answer in passed:
            term *= below(second, limit + noise - answer)
        if position is not None:
            term *= laplace(second, gap + limit + noise - answers[position])
        total += term
    found = None if position is None else gap + limit - answers[position]
    offsets = [limit - answer for answer in passed]
    return (
        total
        + _right(first, second, offsets, found, high)
        + _left(first, second, offsets, found, low)
    )


def _right(first: arb, second: arb, offsets: list[int], found: int | None, start: int) -> arb:
    """The sum over all noise >= start: each factor 1 - w^(offset + noise) / (1 + w) is multiplied
    out.
    """
    total = arb(0)
    for size in range(len(offsets) + 1):
        for chosen in combinations(offsets, size):
            exponent, powers = sum(chosen), size
            factor = (1 - first) / (1 + first) * (-1 / (1 + second)) ** size
            if found is not None:
                exponent, powers, factor = (
                    exponent + found,
                    powers + 1,
                    factor * (1 - second) / (1 + second),
                )
            ratio = first * second**powers
            # w^exponent may have a large negative exponent; beyond `start` every single
            # factor is at most 1 again
            total += factor * second ** (exponent + powers * start) * first**start / (1 - ratio)
    return total


def _left(first: arb, second: arb, offsets: list[int], found: int | None, start: int) -> arb:
    """The sum over all noise <= start: each factor is w^(1 - offset - noise) / (1 + w)."""
    exponent, powers = sum(1 - offset for offset in offsets), len(offsets)
    factor = (1 - first) / (1 + first) * (1 / (1 + second)) ** len(offsets)
    if found is not None:
        exponent, powers, factor = (
            exponent - found,
            powers + 1,
            factor * (1 - second) / (1 + second),
        )
    return (
        factor
        * second ** (exponent - powers * start)
        * first**-start
        / (1 - first * second**powers)
    )
