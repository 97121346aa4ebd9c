"""How good the answer is: how far the selected candidate can be behind the best one, in
noise scales, and how far quantiles can be off their rank.

All of it follows from public numbers only: docs/proofs/accuracy.md. Errors of ranks are
numbers of persons, or of rows where rows are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from discreet.accuracy import rounded_up
from discreet.exact.enclosures import at_precision, ball, down, up

_BITS = 96


def softmax_error(candidates: int, best: int, failure_probability: Fraction) -> float:
    """ln((d - m) (1 - beta) / (m beta)), or 0: exceeded with probability at most beta, for d
    candidates of which m are best.

    The exact worst case of the exponential mechanism, where all others are just beyond it.
    Permute-and-flip's error is stochastically smaller.
    """
    if candidates == best:
        return 0.0
    odds = Fraction(candidates - best, best)
    return max(0.0, _log(odds * (1 - failure_probability) / failure_probability))


def first_heads_error(candidates: int, best: int, failure_probability: Fraction) -> float:
    """ln((d - m) / ((m + 1) beta)), or 0, or `softmax_error` where that is less: exceeded by
    permute-and-flip with probability at most beta. Exact for one candidate behind one best.
    """
    if candidates == best:
        return 0.0
    odds = Fraction(candidates - best, best + 1) / failure_probability
    return min(max(0.0, _log(odds)), softmax_error(candidates, best, failure_probability))


def softmax_list_error(candidates: int, k: int, failure_probability: Fraction) -> float:
    """ln(N (1 - beta / k) / beta), or 0: how far any of k picks by the exponential mechanism is
    behind the best that was left then, except with probability beta, where N candidates lost
    against one that is left, over all picks.
    """
    share = (1 - failure_probability / k) / failure_probability
    return _log_of_losers(candidates, k, share)


def first_heads_list_error(candidates: int, k: int, failure_probability: Fraction) -> float:
    """ln(N / (2 beta)), or 0, or that of the exponential mechanism where it is less: as
    `softmax_list_error`, for picks by permute-and-flip.
    """
    return min(
        _log_of_losers(candidates, k, 1 / (2 * failure_probability)),
        softmax_list_error(candidates, k, failure_probability),
    )


def _log_of_losers(candidates: int, k: int, odds: Fraction) -> float:
    """The logarithm of these odds for each candidate behind the best one left, over all k
    picks; 0 where it is negative, or where there is none.
    """
    losers = k * (candidates - k) + k * (k - 1) // 2
    return max(0.0, _log(losers * odds)) if losers else 0.0


def joint_list_error(candidates: int, k: int, failure_probability: Fraction) -> float:
    """As `softmax_error`, among all lists of k in place of candidates."""
    lists = math.fsum(math.log(candidates - place) for place in range(k))
    return max(0.0, lists + _log((1 - failure_probability) / failure_probability))


def concave_error(failure_probability: Fraction) -> float:
    """ln(2 / beta): exceeded with probability at most beta among all whole numbers, by a
    concave score.
    """
    return _log(2 / failure_probability)


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
_STRETCHED, _STRETCHED_BY_SHARING = 3.25, 0.25
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


Search = Callable[[int, int, Fraction], float]
"""The error of one search in noise scales: `softmax_error` or `first_heads_error`."""


def search_error(
    points: int, rate: Fraction, failure_probability: Fraction, error: Search = softmax_error
) -> float:
    """The rank error of one search, except with the failure probability.

    rate: noise scales in one person. Some point has no error at all, so this is the
    distance behind the best.
    """
    return _persons(error(points, 1, failure_probability), rate)


def split_error(points: int, rate: Fraction, failure: Fraction) -> RankError:
    """How far a split is from where it should be: where it was drawn, and how many of
    those who share its point went below; each except with the failure probability.
    """
    sure = RankError(_persons(-_log(failure), rate))
    return _split_beyond(points, rate) + _flipped(failure) + sure


def _split_beyond(points: int, rate: Fraction) -> RankError:
    """What an exponential variable of the rate comes on top of, for where a split was drawn."""
    drawn = _persons(math.log(points) + _STRETCHED, rate)
    stretched = _STRETCHED_BY_SHARING * math.exp(min(-_log(rate) / 2, _LARGEST_LOG))
    return RankError(drawn, _COARSENESS + stretched)


def _flipped(failure: Fraction) -> RankError:
    """Of those who share the point of a split, how many more or fewer go below than should."""
    # Hoeffding's bound of a binomial variable of this many trials
    return RankError(0.0, math.sqrt((math.log(2) - _log(failure)) / 2))


Rates = tuple[Fraction, ...]
"""Of exponential variables that are independent: noise scales in one person."""


def tree_error(
    shares: tuple[Fraction, ...],
    *,
    points: int,
    epsilon: Fraction,
    failure_probability: Fraction,
    heads: bool = False,
) -> RankError:
    """The largest rank error of a recursion that splits at the middle share.

    epsilon: of one search. The ends of a part are off by at most what the splits before
    it were off together, and so is every rank in it.
    heads: whether the last searches are permute-and-flip; splits are exponential mechanisms.
    """
    failure = failure_probability / (len(shares) + _splits(len(shares)))
    flipped = _flipped(failure)
    # what all the exponential variables on a path are beside: e^-x times this
    last = _log(Fraction(points - 1, 2 if heads else 1)) if points > 1 else 0.0

    def within(
        some: tuple[Fraction, ...], low: Fraction, high: Fraction, off: RankError, rates: Rates
    ) -> RankError:
        """The largest error in one part, whose ends are off by at most `off`, and by an
        exponential variable of each of the rates.
        """
        if not some:
            return RankError(0.0)
        middle = len(some) // 2
        share = (some[middle] - low) / (high - low)
        rate = epsilon / (2 * max(share, 1 - share) if 0 < share < 1 else 1)
        path = (*rates, rate)
        if len(some) == 1:
            found = off + RankError(_persons(max(0.0, last), rate))
            return found + _together(path, failure)
        here = off + _split_beyond(points, rate) + flipped
        left = within(some[:middle], low, some[middle], here, path)
        right = within(some[middle + 1 :], some[middle], high, here, path)
        return (here + _together(path, failure)).worst(left).worst(right)

    return within(shares, Fraction(0), Fraction(1), RankError(0.0), ())


def _together(rates: Rates, failure: Fraction) -> RankError:
    """How large independent exponential variables of these rates are together, except with
    the failure probability: no larger than as many of the smallest rate.
    """
    return RankError(_persons(_gamma_reach(len(rates), _log(failure)), min(rates)))


@lru_cache(maxsize=256)
def _gamma_reach(several: int, log_failure: float) -> float:
    """The x that the sum of several standard exponential variables exceeds with a probability
    of this logarithm; enlarged by the rounding of floats.
    """

    def log_tail(x: float) -> float:
        # e^-x times the sum of x^j / j! for j below `several`
        terms = [j * math.log(x) - math.lgamma(j + 1) for j in range(several)]
        largest = max(terms)
        return largest - x + math.log(math.fsum(math.exp(term - largest) for term in terms))

    low, high = 0.0, 1.0
    while log_tail(high) > log_failure:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_tail(middle) > log_failure else (low, middle)
    return rounded_up(high)


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
