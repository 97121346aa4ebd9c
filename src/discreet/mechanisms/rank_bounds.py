"""How far quantiles can be off their rank, from public numbers only: docs/proofs/accuracy.md.

All errors are numbers of persons, or of rows where rows are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.error_bounds import softmax_error

# Of a split, what the best part misses: a 2^20-th of the persons who share one value, up
# to 2^33 of them, in square roots of their number. 2^(33/2 - 20) = 0.0884
_COARSENESS = 0.09


@dataclass(frozen=True, slots=True)
class RankError:
    """persons + sharing * sqrt(the most persons who share one value)."""

    persons: float
    sharing: float = 0.0

    def __add__(self, other: RankError) -> RankError:
        return RankError(self.persons + other.persons, self.sharing + other.sharing)

    def worst(self, other: RankError) -> RankError:
        """At least both."""
        return RankError(max(self.persons, other.persons), max(self.sharing, other.sharing))


def search_error(points: int, rate: Fraction, failure_probability: Fraction) -> float:
    """The rank error of one search, except with the failure probability.

    rate: noise scales in one person. Some point has no error at all, so this is the
    distance behind the best.
    """
    return _persons(softmax_error(points, 1, failure_probability), rate)


def split_error(points: int, parts: int, rate: Fraction, failure: Fraction) -> RankError:
    """How far a split is from where it should be: where it was drawn, and how many of
    those who share its point went below; each except with the failure probability.
    """
    drawn = _persons(softmax_error(points * parts, 1, failure), rate)
    # Hoeffding's bound of a binomial variable of so many trials
    flipped = math.sqrt((math.log(2) - _log(failure)) / 2)
    return RankError(drawn, flipped + _COARSENESS)


def tree_error(
    shares: tuple[Fraction, ...],
    *,
    points: int,
    parts: int,
    epsilon: Fraction,
    failure_probability: Fraction,
) -> RankError:
    """The largest rank error of a recursion that splits at the middle share.

    epsilon: of one search. The ends of a part are off by at most what the splits before
    it were off together, and so is every rank in it.
    """
    splits = _splits(len(shares))
    failure = failure_probability / (len(shares) + splits)

    def within(
        some: tuple[Fraction, ...], low: Fraction, high: Fraction, off: RankError
    ) -> RankError:
        """The largest error in one part, whose ends are off by at most so much."""
        if not some:
            return RankError(0.0)
        middle = len(some) // 2
        share = (some[middle] - low) / (high - low)
        rate = epsilon / (2 * max(share, 1 - share) if 0 < share < 1 else 1)
        if len(some) == 1:
            return off + RankError(search_error(points, rate, failure))
        here = off + split_error(points, parts, rate, failure)
        left = within(some[:middle], low, some[middle], here)
        return here.worst(left).worst(within(some[middle + 1 :], some[middle], high, here))

    return within(shares, Fraction(0), Fraction(1), RankError(0.0))


def paths_error(points: int, shares: int, rate: Fraction, failure_probability: Fraction) -> float:
    """How many persons more than necessary are in the wrong part, where all quantiles
    were drawn at once: each of them is missing in one part and too much in another.
    """
    paths = math.comb(points + shares - 1, shares)
    return _persons(softmax_error(paths, 1, failure_probability), 2 * rate)


def _splits(shares: int) -> int:
    """How many of the searches of a recursion are splits: those with shares on a side."""
    if shares <= 1:
        return 0
    middle = shares // 2
    return 1 + _splits(middle) + _splits(shares - middle - 1)


def _persons(scales: float, rate: Fraction) -> float:
    try:
        return float(Fraction(scales) / rate)
    except OverflowError:
        return math.inf


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
