"""How good the answer is: how far the selected candidate can be behind the best one, in
noise scales, and how far quantiles can be off their rank.

All of it follows from public numbers only: docs/proofs/accuracy.md. Errors of ranks are
numbers of persons, or of rows where rows are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from discreet.accuracy import rounded_up
from discreet.exact.enclosures import at_precision, ball, down, up

_BITS = 96


def softmax_error(candidates: int, best: int, failure_probability: Fraction) -> float:
    """ln(d / m) + ln(1 / beta): exceeded with probability at most beta, for d
    candidates of which m are best.

    Holds for the exponential mechanism, and for permute-and-flip, whose error it
    stochastically dominates.
    """
    return _log(Fraction(candidates, best)) - _log(failure_probability)


def softmax_expected_error(candidates: int, best: int) -> float:
    """W((d - m) / (m e)), rounded up, with Lambert's W: the solution y of y e^y = (d - m) / (m e).

    The exact worst case of the exponential mechanism, where all others are y + 1 noise
    scales behind the m best. An upper bound for permute-and-flip.
    """
    if candidates == best:
        return 0.0
    odds = Fraction(candidates - best, best)
    return at_precision(_BITS, lambda: up((ball(odds) * arb(-1).exp()).lambertw()))


def gumbel_lead(gap: float, failure_probability: Fraction) -> float | None:
    """ln((beta e^g - 1) / (1 - beta)), rounded down: the winner's true lead is at least
    that, if the noisy scores are g apart.
    """
    inside = _least_surprise(gap, failure_probability)
    if inside <= 0:
        return None

    def exact() -> arb:
        # grows with what is inside
        some = ball(Fraction(inside))
        return some + (-(-some).expm1()).log() - ball(1 - failure_probability).log()

    return at_precision(_BITS, lambda: down(exact()))


def exponential_lead(gap: float, failure_probability: Fraction) -> float | None:
    """g - ln(1 / beta), rounded down, and nothing where that is negative: without this
    guard the statement would be false.
    """
    lead = _least_surprise(gap, failure_probability)
    return lead if lead >= 0 else None


def _least_surprise(gap: float, failure_probability: Fraction) -> float:
    """The logarithm of beta e^g, rounded down."""
    beta = failure_probability
    return at_precision(_BITS, lambda: down(ball(Fraction(gap)) + ball(beta).log()))


def laplace_error(candidates: int, best: int, failure_probability: Fraction) -> float:
    """The x at which (d - m) times the tail of a difference of two Laplace variables
    falls to beta; enlarged, because with one candidate behind the best it is the truth.
    """
    return rounded_up(_laplace_reach((candidates - best) / failure_probability))


def laplace_expected_error(candidates: int, best: int) -> float:
    """The mean that such a tail allows: the integral of min(1, (d - m) * tail)."""
    if candidates == best:
        return 0.0
    others = Fraction(candidates - best)
    start = _laplace_reach(others)
    return start + math.exp(_log(others) - start) * (3 + start) / 4


def _laplace_reach(odds: Fraction) -> float:
    """The x >= 0 with odds * e^-x * (2 + x) / 4 = 1, or 0; the tail of a Laplace
    difference is e^-x * (2 + x) / 4.
    """

    def excess(x: float) -> float:
        return _log(odds) - x + math.log((2 + x) / 4)

    # at x = 0 the tail is 1/2
    if odds <= 2:
        return 0.0
    low, high = 0.0, 2 * _log(odds) + 4
    # halves the bracket to the last bit
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _log(value: Fraction) -> float:
    """The natural logarithm of any positive rational; numerator and denominator may be
    too large for a float.
    """
    return math.log(value.numerator) - math.log(value.denominator)


# Of a split, what the best part misses: a 2^20-th of the persons who share one value, up
# to 2^33 of them, in square roots of their number. 2^(33/2 - 20) = 0.0884
_COARSENESS = 0.09
# Of a split, how many noise scales it is farther off than a search, and how many more, in square
# roots of the persons in one noise scale who share a value: docs/proofs/accuracy.md#quantiles
_STRETCHED, _STRETCHED_BY_SHARING = 6.02, 0.0625
# the square root of a noise scale that no float holds: nothing is said of such a small epsilon
_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class RankError:
    """persons + sharing * sqrt(the most persons who share one value)."""

    persons: float
    sharing: float = 0.0

    def __add__(self, other: RankError) -> RankError:
        return RankError(self.persons + other.persons, self.sharing + other.sharing)

    def worst(self, other: RankError) -> RankError:
        """An error that is at least this one and the other."""
        return RankError(max(self.persons, other.persons), max(self.sharing, other.sharing))


def search_error(points: int, rate: Fraction, failure_probability: Fraction) -> float:
    """The rank error of one search, except with the failure probability.

    rate: noise scales in one person. Some point has no error at all, so this is the
    distance behind the best.
    """
    return _persons(softmax_error(points, 1, failure_probability), rate)


def split_error(points: int, rate: Fraction, failure: Fraction) -> RankError:
    """How far a split is from where it should be: where it was drawn, and how many of
    those who share its point went below; each except with the failure probability.
    """
    drawn = _persons(softmax_error(points, 1, failure) + _STRETCHED, rate)
    stretched = _STRETCHED_BY_SHARING * math.exp(min(-_log(rate) / 2, _LARGEST_LOG))
    # Hoeffding's bound of a binomial variable of this many trials
    flipped = math.sqrt((math.log(2) - _log(failure)) / 2)
    return RankError(drawn, flipped + _COARSENESS + stretched)


def tree_error(
    shares: tuple[Fraction, ...],
    *,
    points: int,
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
        """The largest error in one part, whose ends are off by at most `off`."""
        if not some:
            return RankError(0.0)
        middle = len(some) // 2
        share = (some[middle] - low) / (high - low)
        rate = epsilon / (2 * max(share, 1 - share) if 0 < share < 1 else 1)
        if len(some) == 1:
            return off + RankError(search_error(points, rate, failure))
        here = off + split_error(points, rate, failure)
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
