"""Failures of the code: neighbours of which one gets an answer and the other an error,
a candidate that wins and should not, and scores that are no numbers.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.auditing.audited_code import AuditedCode
from discreet.auditing.claims import EventCounts, lower_bound, upper_bound
from discreet.auditing.events import Event, observe
from discreet.auditing.findings import Finding, Witness
from discreet.auditing.neighbours import Pair, World
from discreet.auditing.score_vectors import ScoreVectors, as_given

# from this many sensitivities on, scores are extreme: no crowd of people is so large
_EXTREME = 2**40
# powers of two up to which scores are tried; integers of 64 bits end soon after
_POWERS = 60
# the share of a sensitivity by which a score may be rounded
_ROUNDED = Fraction(1, 2**33)
_LARGEST_SCALE = 16
_SCALE_RUNS = 60

# sensitivities between the best and the rest: no useful noise is that large
_AHEAD = 800
_OBJECTIVE_RUNS = 60
_HAZARD_RUNS = 5


@dataclass(frozen=True, slots=True)
class WithMore:
    """A world with a few additional pairs, which are looked at first."""

    world: World
    more: tuple[Pair, ...]

    def pairs(self) -> Iterator[Pair]:
        """The additional pairs, then those of the world."""
        yield from self.more
        yield from self.world.pairs()

    def small_pairs(self) -> Iterator[Pair]:
        """The small pairs of the world."""
        yield from self.world.small_pairs()

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """The variations that the world makes."""
        yield from self.world.variations(pair, source)

    def describe(self) -> str:
        """The description of the world."""
        return self.world.describe()


@dataclass(frozen=True, slots=True)
class OnlySome:
    """A world with only its ordinary pairs, or only its extreme ones."""

    world: World
    extreme: bool

    def pairs(self) -> Iterator[Pair]:
        """The pairs of this kind."""
        return (pair for pair in self.world.pairs() if pair.extreme == self.extreme)

    def small_pairs(self) -> Iterator[Pair]:
        """The small pairs of this kind."""
        return (pair for pair in self.world.small_pairs() if pair.extreme == self.extreme)

    def variations(self, pair: Pair, source: random.Random) -> Iterator[Pair]:
        """The variations that the world makes."""
        yield from self.world.variations(pair, source)

    def describe(self) -> str:
        """The description of the world."""
        return self.world.describe()


def tuned(subject: AuditedCode, seed: int) -> World:
    """The subject's world at the size of its noise, with the neighbours between which
    its behavior changes.

    Scores are doubled until the code behaves otherwise (an error, a warning, another
    type), and halving finds the two scores between which one person decides that.
    """
    world = subject.world
    if not isinstance(world, ScoreVectors):
        return world
    run = subject.make_run(seed)
    world = replace(world, scale=_scale(run, world))
    found = list(boundary_pairs(world, lambda scores: _kind(run, scores)))
    return WithMore(world, tuple(found)) if found else world


def boundary_pairs(world: ScoreVectors, kind: Callable[[Any], Any]) -> Iterator[Pair]:
    """Neighbours to which the code behaves differently: in one the leader, all scores,
    or the loser are at some height, and in the other one sensitivity further.

    kind: what the code does with some scores, such as the type of its error.
    """
    step = world.sensitivity
    rest = world.candidates - 1

    def leader(height: int) -> list[Any]:
        return [as_given(height * step), *[0] * rest]

    def everybody(height: int) -> list[Any]:
        return [as_given(height * step)] * (rest + 1)

    def loser(height: int) -> list[Any]:
        return [as_given(-height * step), *[0] * rest]

    for words, scores in (("a leader", leader), ("all", everybody), ("a loser", loser)):
        for height in _changes(lambda height: kind(scores(height))):  # noqa: B023
            name = f"{words} at {height:,} or {height + 1:,} sensitivities, where something changes"
            if all(_is_given(each * step, step) for each in (height, height + 1)):
                both = scores(height), scores(height + 1)
                yield Pair(name, *both, extreme=height >= _EXTREME)


def _is_given(score: Fraction, step: Fraction) -> bool:
    """True if a score can be given as it is, but for less than the error of a law. A score that
    is no whole number is a float, and those that are rounded by more are no neighbours.
    """
    return abs(Fraction(as_given(score)) - score) <= step * _ROUNDED


def _scale(run: Callable[[Any], Any], world: ScoreVectors) -> int:
    """The smallest lead, a power of two of sensitivities, at which one answer nearly
    always comes up.
    """
    for power in range(2, _LARGEST_SCALE):
        lead = 1 << power
        scores = [as_given(world.center + lead * world.sensitivity)]
        scores += [as_given(world.center)] * (world.candidates - 1)
        seen = Counter(outcome.answer for outcome in observe(run, scores, _SCALE_RUNS))
        if seen.most_common(1)[0][1] > 0.93 * _SCALE_RUNS:
            return lead
    return 16


def _changes(kind: Callable[[int], Any]) -> Iterator[int]:
    """Heights h such that the code treats h and h + 1 differently: one for each two
    neighbouring powers of two that it treats differently.
    """
    before = kind(0)
    for power in range(_POWERS):
        low, high = (1 << power) // 2 if power else 0, 1 << power
        after = kind(high)
        if after != before:
            yield _halve(kind, low, high, before)
        before = after


def _halve(kind: Callable[[int], Any], low: int, high: int, before: Any) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kind(middle) == before else (low, middle)
    return low


def _kind(run: Callable[[Any], Any], data: Any) -> tuple[Any, ...]:
    """What one call shows beside the answer: the types of answer and error, a warning."""
    (outcome,) = observe(run, data, 1)
    return outcome.kind, outcome.error.partition(":")[0], bool(outcome.warned)


def check_objective(subject: AuditedCode, alpha: float, seed: int) -> Finding | None:
    """Check that the right candidate wins, where one is far ahead and one far behind."""
    world = subject.world
    assert isinstance(world, ScoreVectors)
    lead = int(_AHEAD * math.ceil(world.sensitivity))
    middle = int(world.center)
    scores = [middle + lead, *[middle] * (world.candidates - 2), middle - lead]
    last = world.candidates - 1
    best, worst = (0, last) if subject.objective == "max" else (last, 0)
    seen = observe(subject.make_run(seed), scores, _OBJECTIVE_RUNS)
    right, wrong = (
        sum(_names(outcome.answer, place) for outcome in seen) for place in (best, worst)
    )
    runs = _OBJECTIVE_RUNS
    if lower_bound(wrong, runs, alpha / 2) <= upper_bound(right, runs, alpha / 2):
        return None
    counts = EventCounts(wrong, runs, right, runs)
    witness = Witness(
        how="draws",
        name=f"the best at position {best}, the worst at {worst}",
        first=scores,
        second=scores,
        events=(Event("answer", frozenset({worst})),),
        counts=(counts,),
        lower_bound=0.0,
        seed=seed,
    )
    summary = (
        f"the worst candidate won {wrong} times in {runs}, and the best, "
        f"{2 * _AHEAD} sensitivities ahead, {right} times"
    )
    return Finding(kind="objective", summary=summary, witness=witness)


def _names(answer: object, place: int) -> bool:
    """True if an answer is this position, or a list or pair that begins with it."""
    first = answer[0] if isinstance(answer, tuple) and answer else answer
    return type(first) is int and first == place


def find_hazards(subject: AuditedCode) -> Iterator[str]:
    """Sentences about scores that are not finite and are accepted nevertheless."""
    world = subject.world
    if not isinstance(world, ScoreVectors) or not world.extremes:
        return
    run = subject.make_run(0)
    for name, bad in (("NaN", math.nan), ("an infinite score", math.inf)):
        scores = [bad, *[0.0] * (world.candidates - 1)]
        answered = [outcome for outcome in observe(run, scores, _HAZARD_RUNS) if not outcome.error]
        if answered:
            won = sum(_names(outcome.answer, 0) for outcome in answered)
            yield f"{name} is accepted; its candidate won {won} times in {_HAZARD_RUNS}"
