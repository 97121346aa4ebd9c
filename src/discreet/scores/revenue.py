"""The digital good: which one price earns most, if everybody who would pay it buys."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate


def revenues(prices: Sequence[Fraction], bins: Sequence[int]) -> list[Fraction]:
    """For each price, in ascending order, the price times the number of persons who would pay it.

    bins: how many persons would pay less than the first price, then from each price up to the next.
    One person more raises every revenue, by at most the highest price: the range is the highest price.

    >>> revenues([Fraction(1), Fraction(3)], [5, 2, 4])
    [Fraction(6, 1), Fraction(12, 1)]
    """
    buyers = list(accumulate(reversed(bins[1:])))[::-1]
    return [price * count for price, count in zip(prices, buyers, strict=True)]
