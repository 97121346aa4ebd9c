"""Slow, obvious, exact: local mechanisms straight from their descriptions, by another route than
the package's.

Nothing here imports the package. Randomised response and subsets are drawn as the papers say,
RAPPOR bit by bit. Probabilities are enclosures at flint's precision of the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, product

from flint import arb, fmpq

Report = frozenset[int]
Law = dict[Report, arb]


def exponential(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator)).exp()


def randomized_response(value: int, categories: int, epsilon: Fraction) -> Law:
    """Tell the truth with probability e^eps / (e^eps + d - 1), and otherwise any other category."""
    truth = exponential(epsilon) / (exponential(epsilon) + categories - 1)
    return {
        frozenset([report]): truth if report == value else (1 - truth) / (categories - 1)
        for report in range(categories)
    }


def rappor(value: int, categories: int, epsilon: Fraction) -> Law:
    """Write the value as a row of bits and flip each bit by itself."""
    flip = 1 / (exponential(epsilon / 2) + 1)
    law: Law = {}
    for bits in product((0, 1), repeat=categories):
        chance = arb(1)
        for place, bit in enumerate(bits):
            chance *= flip if bit != (place == value) else 1 - flip
        law[frozenset(place for place, bit in enumerate(bits) if bit)] = chance
    return law


def subset(value: int, categories: int, epsilon: Fraction, size: int) -> Law:
    """Put the value in with probability k e^eps / (k e^eps + d - k), then fill up uniformly with
    others.
    """
    inside = size * exponential(epsilon) / (size * exponential(epsilon) + categories - size)
    others = [category for category in range(categories) if category != value]
    with_value = [frozenset([value, *rest]) for rest in combinations(others, size - 1)]
    without = [frozenset(rest) for rest in combinations(others, size)]
    return {report: inside / len(with_value) for report in with_value} | {
        report: (1 - inside) / len(without) for report in without
    }


def softmax(scores: dict[Report, Fraction]) -> Law:
    """The exponential mechanism with odds e^score."""
    odds = {report: exponential(score) for report, score in scores.items()}
    total = sum(odds.values(), arb(0))
    return {report: each / total for report, each in odds.items()}


def pointing(law: Law, category: int) -> arb:
    """The probability that a report has this category in it."""
    return sum((chance for report, chance in law.items() if category in report), arb(0))


def moments(laws: Iterable[Law], estimate: Callable[[list[Report]], arb]) -> tuple[arb, arb]:
    """Mean and variance of an estimate from one report of each law, over all combinations of
    reports.
    """
    mean, square = arb(0), arb(0)
    for reports in product(*(law.items() for law in laws)):
        chance = arb(1)
        for _, each in reports:
            chance *= each
        value = estimate([report for report, _ in reports])
        mean, square = mean + chance * value, square + chance * value * value
    return mean, square - mean * mean
