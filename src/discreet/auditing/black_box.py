"""Search with one part of the draws, certify with the other.

The search may look at anything, as often as it likes: it only chooses which neighbours
and which events to certify. The chosen events are then counted in draws that the
search has not seen, and only these draws enter the bound. Each finalist's bound may be
false with its share of 1 - confidence, so all of them together are right with the
stated confidence.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.auditing.audited_code import AuditedCode
from discreet.auditing.claims import Claim, EventCounts, approximate_joint, binomial_quantiles
from discreet.auditing.event_search import Found, best_events, count_events
from discreet.auditing.events import Outcome, data_features, observe
from discreet.auditing.neighbours import Pair

FINALISTS = 3
# shares of all draws: a look at every pair, then closer looks at ever fewer pairs; the
# rest of the draws is for the proof
_FIRST_LOOK, _SECOND_LOOK, _LAST_LOOK = 0.16, 0.1, 0.1
_FOR_A_SECOND_LOOK, _FOR_A_LAST_LOOK = 12, 5
# standard deviations by which each look is taken to be wrong. The first look has few
# draws of each pair, so it is lenient: a pair that is left out even so was bad.
_CAUTION = (0.5, 1.0, 1.5)
_FEWEST = 20
# draws of a pair that show whether its two data sets give different answers
_GLANCE = 6
# pairs that are looked at, however few draws there are
_FEWEST_PAIRS = 6
# the share of the proof's draws that the winner of the search gets
_FOR_THE_FIRST = 0.8
_VARIED = 3


@dataclass(slots=True)
class SearchedPair:
    """A pair of neighbours with the outcomes that were seen of it."""

    pair: Pair
    first: list[Outcome] = field(default_factory=list)
    second: list[Outcome] = field(default_factory=list)
    found: Found | None = None

    @property
    def promise(self) -> float:
        """An estimate of the bound that would be certified."""
        return self.found.promise if self.found is not None else float("-inf")


@dataclass(frozen=True, slots=True)
class Certified:
    """A certified bound, with its neighbours, events and counts."""

    pair: Pair
    found: Found
    counts: tuple[EventCounts, ...]
    bound: float
    alpha: float
    seed: int


class Draws:
    """Runs the subject with a new seed for each sample, so that no two samples share
    draws.

    answered: whether any call gave an answer.
    error: the last error that was seen.
    """

    def __init__(self, subject: AuditedCode, seed: int, progress: Callable[[int], None]) -> None:
        self._subject, self._progress = subject, progress
        self.seed = seed
        self.total = 0
        self.answered = False
        self.error = ""

    def sample(self, pair: Pair, runs: int) -> tuple[list[Outcome], list[Outcome]]:
        """The outcomes of `runs` calls with each of two neighbours."""
        sides = []
        for data in (pair.first, pair.second):
            self.seed += 1
            seen = observe(self._subject.make_run(self.seed), data, runs)
            sides.append(seen)
            self.answered = self.answered or not all(outcome.error for outcome in seen)
            self.error = seen[-1].error or self.error
            self.total += runs
            self._progress(runs)
        return sides[0], sides[1]


def search(
    subject: AuditedCode, claim: Claim, draws: Draws, runs: int, seed: int
) -> list[SearchedPair]:
    """The most promising neighbours with their events, best first."""
    source = random.Random(seed)
    look = _Look(claim, draws, proof_runs=max(_FEWEST, int(_FOR_THE_FIRST * runs / 4)))
    pairs = _affordable(subject, draws, runs, source)
    left = look.at(
        [SearchedPair(pair) for pair in pairs],
        _FIRST_LOOK * runs,
        _CAUTION[0],
        _FOR_A_SECOND_LOOK,
        least=len(pairs),
    )
    left = look.at(left, _SECOND_LOOK * runs / 2, _CAUTION[1], _FOR_A_SECOND_LOOK)
    varied = [
        SearchedPair(pair)
        for candidate in left[:_VARIED]
        for pair in _variations(subject, candidate.pair, source)
    ]
    varied = look.at(varied, _SECOND_LOOK * runs / 2, _CAUTION[1], len(varied))
    last = look.ranked([*left, *varied])[:_FOR_A_LAST_LOOK]
    return look.at(last, _LAST_LOOK * runs, _CAUTION[2], FINALISTS)


@dataclass(frozen=True, slots=True)
class _Look:
    """One way to look at candidates: for a claim, with draws.

    proof_runs: about how many runs of each data set the proof of the best one will get.
    """

    claim: Claim
    draws: Draws
    proof_runs: int

    def at(
        self,
        candidates: list[SearchedPair],
        runs: float,
        caution: float,
        most: int,
        *,
        least: int = FINALISTS,
    ) -> list[SearchedPair]:
        """Share `runs` draws among as many candidates as they suffice for, and return
        the best `most` of these.
        """
        candidates = candidates[: max(least, int(runs / 2 / _FEWEST))]
        shares = sum(candidate.pair.looks for candidate in candidates)
        for candidate in candidates:
            each = int(runs / 2 / shares * candidate.pair.looks)
            first, second = self.draws.sample(candidate.pair, max(_FEWEST, each))
            candidate.first += first
            candidate.second += second
            candidate.found = best_events(
                self.claim,
                candidate.first,
                candidate.second,
                caution=caution,
                proof_runs=self.proof_runs,
                of_data=data_features(candidate.pair.first, candidate.pair.second),
            )
        return self.ranked(candidates)[:most]

    def ranked(self, candidates: list[SearchedPair]) -> list[SearchedPair]:
        """The candidates, the most promising first."""
        return sorted(candidates, key=lambda candidate: -candidate.promise)


def certify(
    claim: Claim, finalists: list[SearchedPair], draws: Draws, runs: int, alpha: float
) -> Iterator[Certified]:
    """A bound for each finalist, from new draws only."""
    for place, candidate in enumerate(finalists):
        share = _FOR_THE_FIRST if not place else (1 - _FOR_THE_FIRST) / max(1, len(finalists) - 1)
        share = 1.0 if len(finalists) == 1 else share
        assert candidate.found is not None
        found, pair, seed = candidate.found, candidate.pair, draws.seed
        if found.swapped:
            pair = replace(pair, first=pair.second, second=pair.first)
        counts = count_events(
            found.events, *draws.sample(pair, max(_FEWEST, int(share * runs / 2)))
        )
        # the best finalist has most of the draws, and most of the allowed error
        bound = claim.certified(counts, share * alpha)
        yield Certified(pair, found, tuple(counts), bound, share * alpha, seed)


def found_nine_times_in_ten(claim: Claim, runs: int, alpha: float, share: float) -> float | None:
    """The loss that this many runs of each neighbour would have certified to be above
    the claim with probability 0.9 or more, for an event of this probability.

    None if no loss would. For planning: computed in floats.
    """
    unlucky = binomial_quantiles(runs, share, 0.05)[0]
    hits = _most_of_the_rarer(claim, unlucky, runs, alpha)
    return None if hits is None else _loss_with(claim, runs, share, hits)


def _most_of_the_rarer(claim: Claim, unlucky: int, runs: int, alpha: float) -> int | None:
    """The most hits of the rarer side with which the bound is still above the claim."""
    hits = np.arange(unlucky + 1, dtype=np.float64)
    number = np.vectorize(claim.from_bounds, otypes=[np.float64])
    bounds = approximate_joint(number, np.array([float(unlucky)]), hits, runs, alpha)
    shown = int((bounds > claim.stated).sum())
    return shown - 1 if shown else None


def _loss_with(claim: Claim, runs: int, share: float, hits: int) -> float:
    """The loss of an event whose rarer side has more hits than these one time in twenty."""
    low, high = 0.0, share
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if binomial_quantiles(runs, middle, 0.05)[1] <= hits else (low, middle)
        )
    return max(0.0, claim.from_bounds(share, max(low, 1e-12)))


def _affordable(subject: AuditedCode, draws: Draws, runs: int, source: random.Random) -> list[Pair]:
    """The pairs that the runs suffice for: all of them, if there are enough runs;
    otherwise those whose outcomes differ at a glance, and some others.
    """
    pairs = list(subject.world.pairs())
    most = max(_FEWEST_PAIRS, int(_FIRST_LOOK * runs / 2 / _FEWEST))
    if len(pairs) <= most:
        return pairs
    # the first ones are where something was seen to change
    kept = most // 2
    chosen, rest = pairs[:kept], source.sample(pairs[kept:], len(pairs) - kept)
    if 2 * _GLANCE * len(rest) <= _FIRST_LOOK * runs:
        differences = {pair.name: _difference(pair, draws) for pair in rest}
        rest.sort(key=lambda pair: -differences[pair.name])
    return [*chosen, *rest[: most - kept]]


def _difference(pair: Pair, draws: Draws) -> int:
    """How many of a few outcomes of the first data set were not seen with the second."""
    first, second = (Counter(side) for side in draws.sample(pair, _GLANCE))
    return (first - second).total()


def _variations(subject: AuditedCode, pair: Pair, source: random.Random) -> list[Pair]:
    try:
        return list(subject.world.variations(pair, source))
    except (TypeError, ValueError, OverflowError):
        # an input that cannot be varied, such as NaN
        return []
