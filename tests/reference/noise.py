"""Slow, obvious, exact: noise on whole numbers, and lists and thresholds that are made of it.

Nothing here imports the package. Odds are summed over a range of numbers beyond which they
are smaller than any test can see.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from flint import arb, fmpq

FAR = 60


def laplace_law(rate: Fraction) -> dict[int, arb]:
    """The probability of each number of noise with odds exp(-rate |n|)."""
    return _law({n: fmpq(rate.numerator, rate.denominator) * abs(n) for n in _numbers()})


def gaussian_law(variance: Fraction) -> dict[int, arb]:
    """The probability of each number of noise with odds exp(-n^2 / (2 variance))."""
    twice = fmpq(variance.numerator, variance.denominator) * 2
    return _law({n: fmpq(n * n) / twice for n in _numbers()})


def rounded_law(variance: Fraction) -> dict[int, arb]:
    """The probability of each number that a normal number of this variance rounds to."""
    width = arb(fmpq(variance.numerator, variance.denominator) * 2).sqrt()
    half = arb(0.5)
    return {
        n: ((abs(n) - half) / width).erfc() / 2 - ((abs(n) + half) / width).erfc() / 2
        for n in _numbers()
    }


def _numbers() -> range:
    return range(-FAR, FAR + 1)


def _law(distances: dict[int, fmpq]) -> dict[int, arb]:
    odds = {n: (-arb(distance)).exp() for n, distance in distances.items()}
    total = sum(odds.values(), arb(0))
    return {n: part / total for n, part in odds.items()}


def listed(
    law: dict[int, arb], counts: Sequence[int], k: int, least: int | None = None, reach: int = 12
) -> dict[tuple[tuple[int, int], ...], arb]:
    """The probability of each list of k places with their noisy counts, ties in all orders alike.

    least: the noisy count from which on an item is named, where there is a threshold; items
        that nobody has are then never named.
    reach: noise beyond it is left out, so the probabilities add up to a little less than 1.
    """
    found: dict[tuple[tuple[int, int], ...], arb] = {}
    near = range(-reach, reach + 1)
    for noise in product(near, repeat=len(counts)):
        chance = arb(1)
        for drawn in noise:
            chance *= law[drawn]
        pairs = enumerate(zip(counts, noise, strict=True))
        noisy = {place: count + drawn for place, (count, drawn) in pairs}
        if least is not None:
            noisy = {p: value for p, value in noisy.items() if counts[p] and value >= least}
        for order, share in _orders(noisy, k).items():
            found[order] = found.get(order, arb(0)) + chance * arb(share)
    return found


def _orders(noisy: dict[int, int], k: int) -> dict[tuple[tuple[int, int], ...], fmpq]:
    """All lists of the k largest, each with its share where numbers are equal."""
    if not k or not noisy:
        return {(): fmpq(1)}
    best = max(noisy.values())
    leaders = [place for place, value in noisy.items() if value == best]
    lists: dict[tuple[tuple[int, int], ...], fmpq] = {}
    for leader in leaders:
        others = {place: value for place, value in noisy.items() if place != leader}
        for rest, share in _orders(others, k - 1).items():
            lists[((leader, best), *rest)] = share / len(leaders)
    return lists
