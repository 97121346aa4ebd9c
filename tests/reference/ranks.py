"""Quantiles: how far each point of a public grid is from the right rank."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise


def rank_errors(bins: Sequence[int], q: Fraction) -> list[Fraction]:
    """For each point of the grid, how many persons the share q is away from those who have this
    point.

    bins: how many persons lie below the first point, then from each point up to the next. Those
        from a point up to the next have this
    point, and those below the first one have the first; where the share q ends among them, the
    error is 0, however many they are. One person more moves each error by at most max(q, 1 - q),
    in either direction: the range is twice that.

    >>> rank_errors([0, 3, 1], Fraction(1, 2))
    [Fraction(0, 1), Fraction(1, 1)]
    """
    below = [0, *list(accumulate(bins))[1:]]
    share = q * below[-1]
    return [max(lower - share, share - upper, Fraction(0)) for lower, upper in pairwise(below)]
