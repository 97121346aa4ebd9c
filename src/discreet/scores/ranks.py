"""Quantiles: how far each point of a public grid is from the right rank."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate


def rank_errors(bins: Sequence[int], q: Fraction) -> list[Fraction]:
    """For each point of the grid, how many persons more or fewer than the share q lie below it.

    bins: how many persons lie below the first point, then from each point up to the next.
    One person more moves each error by at most max(q, 1 - q), in either direction: the range is twice that.

    >>> rank_errors([0, 3, 1], Fraction(1, 2))
    [Fraction(2, 1), Fraction(1, 1)]
    """
    below = list(accumulate(bins))
    return [abs(count - q * below[-1]) for count in below[:-1]]
