"""Quantiles: how far each point of a public grid is from the right rank."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise


def rank_errors(ranks: Sequence[int], q: Fraction) -> list[Fraction]:
    """For each public point, how many persons the share q is away from those who count there.

    ranks: how many persons are at the first point, between it and the second one, at the second
        one, and so on; those outside of all points are at the nearest one. A person between two
        points counts half at each.
    Where the share q ends among those at a point, its error is 0, however many they are. One person
    more moves each error by at most max(q, 1 - q), in either direction: the range is twice that.

    >>> rank_errors([3, 0, 1], Fraction(1, 2))
    [Fraction(0, 1), Fraction(1, 1)]
    >>> rank_errors([0, 25, 0, 75, 0], Fraction(1, 2))  # 12.5, 50 and 37.5 of them
    [Fraction(75, 2), Fraction(0, 1), Fraction(25, 2)]
    """
    between = [0, *ranks[1::2], 0]
    at = [
        count + Fraction(before + after, 2)
        for count, (before, after) in zip(ranks[::2], pairwise(between), strict=True)
    ]
    reached = [Fraction(0), *accumulate(at)]
    share = q * reached[-1]
    return [max(below - share, share - upto, Fraction(0)) for below, upto in pairwise(reached)]
