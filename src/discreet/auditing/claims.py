"""What a privacy claim says about events, and lower bounds of the number that it
states.

| claim | what it says of all events A, B | its number |
|---|---|---|
| pure DP | P(A) <= e^epsilon Q(A) | epsilon |
| approximate DP | P(A) <= e^epsilon Q(A) + delta | epsilon, at this delta |
| bounded range | P(A) Q(B) <= e^epsilon Q(A) P(B) | epsilon |
| logistic DP | the same with B = not A | epsilon |
| zCDP | the Renyi divergences of (A, not A) are at most rho times their order | rho |

From counts, the bounds of a probability are those of Clopper and Pearson, rounded
outwards; those of two samples are taken together (joint_bound.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import NormalDist

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.auditing.joint_bound import deviations, joint_bound
from discreet.errors import ParameterTypeError
from discreet.exact.enclosures import at_precision
from discreet.exact.rationals import nearest_float
from discreet.privacy.loss import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
    is_loss,
)

_BITS = 128
# the share of a bound, or of its distance to 1, that the search may give away
_CLOSE = 1e-6
# the search ends after this many halvings, with the bound that it has
_HALVINGS = 60

Floats = NDArray[np.float64]

LogProbabilities = Mapping[Hashable, float]
"""Answers with the natural logarithms of their probabilities."""

# logarithms below which a probability counts as 0 in floats
_LEAST = -1e5
# about the probability that a proof is false, and how many splits of it are tried
_PROOF, _PARTS = 0.0005, 6
# the Renyi orders that are looked at, from nearly 1; each gives a true lower bound
_ORDERS = np.concatenate([1 + np.geomspace(1e-4, 1, 24), np.geomspace(2.1, 4096, 40)])


@lru_cache(maxsize=4096)
def lower_bound(hits: int, runs: int, alpha: float) -> float:
    """A probability that is below the true one, except with probability alpha.

    >>> lower_bound(0, 100, 0.01), 0.954 < lower_bound(100, 100, 0.01) < 0.955
    (0.0, True)
    """
    if hits == 0:
        return 0.0

    # whether Pr[at least this many hits] is certainly below alpha
    def is_low(share: float) -> bool:
        if not 0 < share < 1:
            return share == 0
        return bool(_exactly(hits, runs, share) * _tail_over_first(hits, runs, share) < alpha)

    return at_precision(_BITS, lambda: _boundary(is_low, hits, runs, alpha))


@lru_cache(maxsize=4096)
def upper_bound(hits: int, runs: int, alpha: float) -> float:
    """A probability that is above the true one, except with probability alpha.

    >>> upper_bound(100, 100, 0.01), 0.045 < upper_bound(0, 100, 0.01) < 0.046
    (1.0, True)
    """
    if hits >= runs:
        return 1.0
    # the difference is rounded, so the next float is above the true one
    return min(1.0, math.nextafter(1.0 - lower_bound(runs - hits, runs, alpha), 2.0))


def _boundary(is_low: Callable[[float], bool], hits: int, runs: int, alpha: float) -> float:
    """A share near the largest for which `is_low` holds; it holds from 0 up to one point."""
    guess = _share_with_tail(hits, runs, alpha)
    # floats say where the point is, and one certified test confirms it. Close to 1 the
    # distance to 1 matters: it becomes the upper bound of a rare event.
    for less in (_CLOSE, 100 * _CLOSE):
        low = guess - less * min(guess, 1 - guess)
        if is_low(low):
            return low
    low, high = 0.0, hits / runs
    for _ in range(_HALVINGS):
        if high - low <= _CLOSE * min(low, 1 - low):
            break
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low


def _exactly(hits: int, runs: int, share: float) -> arb:
    """An enclosure of Pr[exactly this many hits], for a share between 0 and 1."""
    misses = runs - hits
    ways = arb(runs + 1).lgamma() - arb(hits + 1).lgamma() - arb(misses + 1).lgamma()
    return (ways + hits * arb(share).log() + misses * (1 - arb(share)).log()).exp()


# a caller may have told NumPy to raise
@np.errstate(all="ignore")
def _tail_over_first(hits: int, runs: int, share: float) -> float:
    """A number at or above Pr[at least this many hits] / Pr[exactly this many]."""
    ratios = _ratios(hits, runs) * (share / (1 - share))
    terms = np.cumprod(ratios)
    total = 1 + float(terms.sum())
    if terms.size < runs - hits:
        # Each ratio is below the one before, so the rest is below a geometric series. The
        # last ratio was rounded a few times, by 2^-53 each.
        fall = 1 - float(ratios[-1]) - 2.0**-48
        total += float(terms[-1]) / fall if fall > 0 else math.inf
    # the j-th term was rounded fewer than 6 j times, and their sum once for each of them
    return total * (1 + (terms.size + 2) * 2.0**-48)


def _ratios(hits: int, runs: int) -> Floats:
    """Ratios of Pr[one hit more] to Pr[exactly so many], from `hits` on, for a hit as likely as
    a miss: enough of them that all others together are small while the tail is.
    """
    misses = runs - hits
    steps = np.arange(min(misses, 64 + 12 * math.isqrt(runs)), dtype=np.float64)
    return (misses - steps) / (hits + 1 + steps)


# a caller may have told NumPy to raise
@np.errstate(all="ignore")
def _share_with_tail(hits: int, runs: int, alpha: float) -> float:
    """An estimate, in floats, of the share at which Pr[at least this many hits] is alpha."""
    misses, ratios = runs - hits, _ratios(hits, runs)
    ways = math.lgamma(runs + 1) - math.lgamma(hits + 1) - math.lgamma(misses + 1)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        if not low < share < high or share == 1:
            break
        first = ways + hits * math.log(share) + misses * math.log1p(-share)
        tail = 1 + float(np.cumprod(ratios * (share / (1 - share))).sum())
        too_likely = share * runs > hits + 1 or first + math.log(tail) > math.log(alpha)
        low, high = (low, share) if too_likely else (share, high)
    return low


# a caller may have told NumPy to raise
@np.errstate(all="ignore")
def binomial_quantiles(runs: int, share: float, tail: float) -> tuple[int, int]:
    """Two numbers of hits: the count is below the first, or above the second, with
    probability `tail` each.

    For planning only: in floats.

    >>> binomial_quantiles(100, 0.5, 0.025)
    (40, 60)
    """
    hits: Floats = np.arange(runs + 1, dtype=np.float64)
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(hits[1:]))])
    ways = logarithms[-1] - logarithms - logarithms[::-1]
    safe = min(max(share, 1e-300), 1 - 1e-16)
    masses = np.exp(ways + hits * math.log(safe) + (runs - hits) * math.log1p(-safe))
    below = np.cumsum(masses)
    return int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1 - tail))


# a caller may have told NumPy to raise
@np.errstate(all="ignore")
def approximate_bounds(hits: Floats, runs: int, z: float | Floats) -> tuple[Floats, Floats]:
    """Estimates of the two bounds, for many counts at once, z standard deviations away.

    For choosing what to prove, never for proving: Wilson and Hilferty's cube root for
    the counts of rare events, narrowed where an event is not rare.
    """
    narrow = z * np.sqrt(1 - hits / (runs + 1))
    one_more = hits + 1
    above = one_more * (1 - 1 / (9 * one_more) + narrow / (3 * np.sqrt(one_more))) ** 3
    some = np.maximum(hits, 1)
    root = np.maximum(1 - 1 / (9 * some) - narrow / (3 * np.sqrt(some)), 0)
    below = np.where(hits > 0, some * root**3, 0.0)
    return below / runs, np.minimum(above / runs, 1.0)


def approximate_joint(
    number: Callable[[Floats, Floats], Floats],
    likely: Floats,
    rare: Floats,
    runs: int,
    alpha: float,
) -> Floats:
    """Estimates of `Claim.certified` for many counts at once. For choosing and planning."""
    # a row for each pair of deviations
    first, second = np.array(deviations(alpha, _PARTS)).T[:, :, None]
    low, _ = approximate_bounds(likely, runs, first)
    _, high = approximate_bounds(rare, runs, second)
    least: Floats = number(low, high).min(axis=0)
    return least


@dataclass(frozen=True, slots=True)
class EventCounts:
    """How often an event happened with the first and with the second data set."""

    first: int
    first_runs: int
    second: int
    second_runs: int

    def swapped(self) -> EventCounts:
        """Exchange the two data sets."""
        return EventCounts(self.second, self.second_runs, self.first, self.first_runs)


@dataclass(frozen=True, slots=True)
class Claim:
    """A stated loss, as the auditor tests it."""

    loss: Loss

    @staticmethod
    def read(loss: object) -> Claim:
        """The claim of a loss; refused if the auditor knows no number for that kind."""
        kinds = (PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP, ApproxDP)
        if not is_loss(loss, *kinds):
            names = ", ".join(kind.__name__ for kind in kinds[:-1])
            raise ParameterTypeError("claim", f"a {names} or ApproxDP", loss)
        return Claim(loss)

    @property
    def stated(self) -> float:
        """The claim's number: epsilon, mu, or rho."""
        return nearest_float(self.loss.numbers[0])

    @property
    def delta(self) -> float:
        """The claim's delta, 0 for all but approximate DP."""
        return nearest_float(self.loss.delta) if isinstance(self.loss, ApproxDP) else 0.0

    @property
    def letter(self) -> str:
        """The name of the claim's number."""
        letters: dict[type[Loss], str] = {ZCDP: "rho", GaussianDP: "mu"}
        return letters.get(type(self.loss), "epsilon")

    @property
    def needs_two_events(self) -> bool:
        """True if a violation is shown by two events rather than one."""
        return isinstance(self.loss, BoundedRange)

    def certified(self, counts: Sequence[EventCounts], alpha: float) -> float:
        """A lower bound of the true number, false with probability at most alpha.

        counts: of the event that the first data set makes likelier; for bounded range
            also of one that the second makes likelier.
        """
        # two events are seen in the same samples: each may be false half as often
        sides = (counts[0], *(other.swapped() for other in counts[1:]))
        return max(0.0, sum(self._of_event(each, alpha / len(counts)) for each in sides))

    def _of_event(self, counts: EventCounts, alpha: float) -> float:
        return joint_bound(
            partial(lower_bound, counts.first, counts.first_runs),
            partial(upper_bound, counts.second, counts.second_runs),
            self.from_bounds,
            alpha,
        )

    def from_bounds(self, likely: float, rare: float) -> float:
        """The number that an event shows whose probability is at least `likely` with
        the first data set, and at most `rare` with the second.
        """
        if isinstance(self.loss, ZCDP):
            return binary_rho(likely, rare)
        if isinstance(self.loss, LogisticDP):
            odds = likely * (1 - rare)
            return math.log(odds / (rare * (1 - likely))) if odds > 0 and likely < 1 else 0.0
        if isinstance(self.loss, GaussianDP):
            return _quantile(likely) - _quantile(rare)
        likely -= self.delta
        if likely <= 0:
            return -math.inf
        return math.log(likely / rare)

    # a caller may have told NumPy to raise
    @np.errstate(all="ignore")
    def ranked(self, likely: Floats, rare: Floats) -> Floats:
        """Estimates of `from_bounds` for many events at once, for choosing among them."""
        if isinstance(self.loss, ZCDP):
            gap = np.maximum(likely - rare, 0)
            # chi-square is enough to rank events
            return np.asarray(gap**2 / (2 * rare * np.maximum(1 - rare, 1e-9)))
        if isinstance(self.loss, LogisticDP):
            odds = likely * (1 - rare) / np.maximum(rare * (1 - likely), 1e-300)
            return np.log(np.maximum(odds, 1e-300))
        if isinstance(self.loss, GaussianDP):
            return _quantiles(likely) - _quantiles(rare)
        return np.log(np.maximum(likely - self.delta, 1e-300) / rare)

    # a caller may have told NumPy to raise
    @np.errstate(all="ignore")
    def of_laws(
        self, first: LogProbabilities, second: LogProbabilities, *, partial: bool = False
    ) -> float:
        """The smallest number that is true of two known distributions.

        partial: whether the laws leave answers out; then only those that both have
            count.
        """
        both = first.keys() & second.keys() if partial else first.keys() | second.keys()
        answers = list(both)
        p = np.array([first.get(answer, -math.inf) for answer in answers])
        q = np.array([second.get(answer, -math.inf) for answer in answers])
        # below, floats no longer tell a loss from their own rounding
        possible = (p > _LEAST) | (q > _LEAST)
        p, q = p[possible], q[possible]
        ratios = p - q
        if isinstance(self.loss, PureDP):
            return float(np.max(np.abs(ratios), initial=0.0))
        if isinstance(self.loss, BoundedRange):
            return float(np.ptp(ratios)) if ratios.size else 0.0
        if isinstance(self.loss, LogisticDP):
            return max(_logistic(p, q), _logistic(q, p))
        if isinstance(self.loss, GaussianDP):
            return max(_gaussian(p, q), _gaussian(q, p))
        if isinstance(self.loss, ZCDP):
            return max(_rho(p, q), _rho(q, p))
        return max(_at_delta(p, q, self.delta), _at_delta(q, p, self.delta))


@dataclass(frozen=True, slots=True)
class Prospect:
    """A forecast of what events that were seen a few times will show in the proof.

    caution: by how many standard deviations the counts are taken to be wrong.
    proof_runs: how many runs of each data set the proof has.
    """

    claim: Claim
    caution: float
    proof_runs: int

    def of(
        self,
        first: Floats,
        first_runs: int,
        second: Floats,
        second_runs: int,
        more_caution: float,
    ) -> Floats:
        """Estimates of what `Claim.certified` will say of each of many events."""
        caution = self.caution + more_caution
        likely = approximate_bounds(first, first_runs, caution)[0] * self.proof_runs
        rare = approximate_bounds(second, second_runs, caution)[1] * self.proof_runs
        return approximate_joint(self.claim.ranked, likely, rare, self.proof_runs, _PROOF)


# a caller may have told NumPy to raise
@np.errstate(all="ignore")
def binary_rho(likely: float, rare: float) -> float:
    """The rho that a coin with these two probabilities needs: the largest Renyi
    divergence over its order, at many orders.

    >>> round(binary_rho(0.75, 0.25), 4), binary_rho(0.2, 0.3)
    (0.5493, 0.0)
    """
    if likely <= rare:
        return 0.0
    p = np.log(np.array([likely, max(1 - likely, 1e-300)]))
    q = np.log(np.array([rare, 1 - rare]))
    return _rho(p, q)


def _rho(p: Floats, q: Floats) -> float:
    inside = p > -math.inf
    p, q = p[inside], q[inside]
    if np.any(q == -math.inf):
        return math.inf
    kullback = float(np.sum(np.exp(p) * (p - q)))
    exponents = _ORDERS[:, None] * p + (1 - _ORDERS[:, None]) * q
    largest = exponents.max(axis=1)
    sums = largest + np.log(np.exp(exponents - largest[:, None]).sum(axis=1))
    return max(kullback, float(np.max(sums / (_ORDERS - 1) / _ORDERS)))


def _logistic(p: Floats, q: Floats) -> float:
    """The largest difference of log-odds over all events: it is reached by the answers
    whose ratio is above some number.
    """
    if np.any((q == -math.inf) & (p > -math.inf)):
        return math.inf
    order = np.argsort(-(p - q))
    above = [np.cumsum(np.exp(side[order]))[:-1] for side in (p, q)]
    below = [np.cumsum(np.exp(side[order])[::-1])[::-1][1:] for side in (p, q)]
    if not above[0].size:
        return 0.0
    odds = np.log(above[0]) - np.log(below[0]) - np.log(above[1]) + np.log(below[1])
    return float(np.max(odds))


def _gaussian(p: Floats, q: Floats) -> float:
    """The largest difference of normal quantiles over all events, as for `_logistic`."""
    if np.any((q == -math.inf) & (p > -math.inf)):
        return math.inf
    order = np.argsort(-(p - q))
    sides = [np.cumsum(np.exp(side[order]))[:-1] for side in (p, q)]
    # the smaller of an event and its opposite keeps its digits
    rests = [np.cumsum(np.exp(side[order])[::-1])[::-1][1:] for side in (p, q)]
    # of an event or opposite that is too rare for floats nothing is known
    known = np.all([*sides, *rests], axis=0)
    first, second = (
        np.where(side < 0.5, _quantiles(side), -_quantiles(rest))[known]
        for side, rest in zip(sides, rests, strict=True)
    )
    return float(np.max(first - second, initial=0.0))


def _quantile(chance: float) -> float:
    return float(_quantiles(np.array([chance]))[0])


def _quantiles(chances: Floats) -> Floats:
    """Normal quantiles in floats; infinite at the ends."""
    inner = NormalDist().inv_cdf
    found = [inner(p) if 0 < p < 1 else math.copysign(math.inf, p - 0.5) for p in chances.flat]
    return np.array(found).reshape(chances.shape)


def _at_delta(p: Floats, q: Floats, delta: float) -> float:
    """The smallest epsilon of (epsilon, delta)-DP in this direction, up to 1e-12."""

    def needed(epsilon: float) -> float:
        return float(np.sum(np.maximum(np.exp(p) - np.exp(epsilon + q), 0)))

    finite = (p - q)[(q > -math.inf) & (p > -math.inf)]
    if float(np.sum(np.exp(p[q == -math.inf]))) > delta:
        return math.inf
    low, high = 0.0, max(float(np.max(finite, initial=0.0)), 0.0)
    if needed(low) <= delta:
        return 0.0
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if needed(middle) > delta else (low, middle)
    return low
