"""`audit`: look for a violation in any mechanism or function, in every way in turn."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.auditing.audited_code import AuditedCode, from_function, from_opendp, read_pairs
from discreet.auditing.black_box import (
    FINALISTS,
    Certified,
    Draws,
    SearchedPair,
    certify,
    found_nine_times_in_ten,
    search,
)
from discreet.auditing.claims import Claim, EventCounts
from discreet.auditing.discreet_mechanisms import from_mechanism, is_ours
from discreet.auditing.event_search import side_channel
from discreet.auditing.events import observe
from discreet.auditing.exact_law import TOLERANCE, Measured, measure_law, measure_tapes
from discreet.auditing.failures import OnlySome, check_objective, find_hazards, tuned
from discreet.auditing.findings import Finding, Witness
from discreet.auditing.neighbours import Pair
from discreet.auditing.report import AuditReport, Bar, Tried
from discreet.auditing.score_vectors import ScoreVectors
from discreet.auditing.timing import epsilon_from_time, time_calls, welch
from discreet.auditing.verdicts import judge
from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.exact.rationals import Number, count
from discreet.literals import Objective
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import read_probability

Progress = Callable[[float], None]
"""A function that is called with the share of the audit that is done."""

_SHARES = (0.5, 0.1, 0.01)
# the share of the draws that extreme scores get: what breaks there breaks plainly
_FOR_EXTREMES = 1 / 3
_MOST_BARS = 24
_TAPE_PAIRS = 8
_TIMED_PAIRS = 2


@dataclass(slots=True, kw_only=True)
class Task:
    """One audit while it runs."""

    subject: AuditedCode
    claim: Claim
    draws: int
    alpha: float
    timing: int
    seed: int
    progress: Progress
    findings: list[Finding] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)
    done: int = 0
    searches: int = 1

    def report(self) -> AuditReport:
        """Look in every way that the code allows, one after the other."""
        start = time.perf_counter()
        if self.subject.law is not None:
            self._exact("law", lambda: measure_law(self.subject, self.claim, self.seed))
        if self.subject.on_tape is not None:
            self._exact("tapes", lambda: measure_tapes(self.subject, self.claim, _TAPE_PAIRS))
        best, *others = self._black_box()
        self._objective()
        if self.timing:
            self._time(best.pair)
        verdicts = (
            judge(self.claim, "ordinary", self.witnesses, self.findings),
            judge(self.claim, "extreme", self.witnesses, self.findings),
        )
        only_extremes = verdicts[1].violated and not verdicts[0].violated
        self.progress(1.0)
        return AuditReport(
            subject=self.subject.name,
            claim=self.claim.loss,
            neighbours=self.subject.world.describe(),
            verdicts=verdicts,
            confidence=1 - self.alpha,
            findings=tuple(self.findings),
            hazards=tuple(find_hazards(self.subject)),
            power=self._power(best.counts[0].first_runs, best.alpha),
            tried=tuple(self.tried),
            bars=self._bars(others[0] if only_extremes and others else best),
            seed=self.seed,
            seconds=time.perf_counter() - start,
        )

    @property
    def _each(self) -> float:
        """The probability with which each single statement may be false."""
        statements = FINALISTS * self.searches + (self.subject.objective is not None)
        return self.alpha / (statements + (_TIMED_PAIRS if self.timing else 0))

    def _exact(self, how: str, measured: Callable[[], Iterator[Measured]]) -> None:
        start, pairs = time.perf_counter(), 0
        worst: dict[bool, Measured] = {}
        for each in measured():
            pairs += 1
            before = worst.get(each.pair.extreme)
            if before is None or each.least > before.least:
                worst[each.pair.extreme] = each
        self.tried.append(
            Tried(
                how=how,
                pairs=pairs,
                draws=0,
                largest=max((each.least for each in worst.values()), default=None),
                seconds=time.perf_counter() - start,
            )
        )
        allowed = self.claim.stated + TOLERANCE * max(1.0, self.claim.stated)
        for each in worst.values():
            witness = Witness(
                how=how,
                name=each.pair.name,
                first=each.pair.first,
                second=each.pair.second,
                lower_bound=each.least,
                extreme=each.pair.extreme,
            )
            self._judge(witness, allowed, "privacy")

    def _judge(self, witness: Witness, allowed: float, kind: str) -> None:
        self.witnesses.append(witness)
        if witness.lower_bound > allowed:
            summary = (
                f"{self.claim.letter} is at least {witness.lower_bound:.4g}, and "
                f"{self.claim.stated:g} is claimed ({witness.name})"
            )
            self.findings.append(Finding(kind=kind, summary=summary, witness=witness))

    def _black_box(self) -> list[Certified]:
        """The best certified bound for ordinary scores, then the one for extreme scores."""
        start = time.perf_counter()
        draws = Draws(self.subject, self.seed, self._advance)
        world = tuned(self.subject, self.seed)
        parts = [OnlySome(world, extreme) for extreme in (False, True)]
        parts = [part for part in parts if any(True for _ in part.pairs())]
        self.searches = len(parts)
        shares = [1 - _FOR_EXTREMES, _FOR_EXTREMES] if len(parts) > 1 else [1.0]
        found = [
            (search(replace(self.subject, world=part), self.claim, draws, runs, self.seed), runs)
            for part, runs in zip(parts, (int(share * self.draws) for share in shares), strict=True)
        ]
        if not draws.answered:
            # code that never runs shows no violation, and must not pass because of that
            rule = "code that gives an answer; all calls failed"
            raise ParameterError("mechanism", rule, draws.error)
        left = max(self.draws // 4, self.draws - draws.total)
        best = [
            self._certify(finalists, draws, left * runs // self.draws) for finalists, runs in found
        ]
        self.tried.append(
            Tried(
                how="draws",
                pairs=sum(1 for _ in world.pairs()),
                draws=draws.total,
                largest=max(each.bound for each in best),
                seconds=time.perf_counter() - start,
            )
        )
        return best

    def _certify(self, finalists: list[SearchedPair], draws: Draws, runs: int) -> Certified:
        alpha = self._each * len(finalists)
        certified = list(certify(self.claim, finalists, draws, runs, alpha))
        for each in certified:
            kind = "side channel" if side_channel(each.found.events) else "privacy"
            self._judge(_witness(each), self.claim.stated, kind)
        return max(certified, key=lambda each: each.bound)

    def _advance(self, runs: int) -> None:
        self.done += runs
        self.progress(min(0.99, self.done / self.draws))

    def _objective(self) -> None:
        if self.subject.objective is None or not isinstance(self.subject.world, ScoreVectors):
            return
        finding = check_objective(self.subject, self._each, self.seed)
        self.findings += [finding] if finding is not None else []

    def _time(self, pair: Pair) -> None:
        start, largest, told = time.perf_counter(), 0.0, []
        run = self.subject.make_run(self.seed)
        first = next(iter(self.subject.world.pairs()))
        timed = [pair] if first.name == pair.name else [pair, first]
        for each in timed:
            calls = [lambda data=data: _quietly(run, data) for data in (each.first, each.second)]
            times = time_calls(calls[0], calls[1], self.timing)
            bound = epsilon_from_time(*times, 1 - self._each, delta=self.claim.delta)
            largest = max(largest, bound)
            told.append(f"{welch(*times):.1f}")
            if self.claim.letter == "epsilon" and bound > self.claim.stated:
                self.findings.append(self._slower(each, bound, told[-1]))
        self.tried.append(
            Tried(
                how="time",
                pairs=len(timed),
                draws=2 * self.timing * len(timed),
                largest=largest,
                seconds=time.perf_counter() - start,
                note=f"Welch's t {', '.join(told)}",
            )
        )

    def _slower(self, pair: Pair, bound: float, welch_t: str) -> Finding:
        summary = (
            f"the running time alone has epsilon {bound:.3g} or more, and "
            f"{self.claim.stated:g} is claimed (Welch's t {welch_t})"
        )
        witness = Witness(
            how="time", name=pair.name, first=pair.first, second=pair.second, lower_bound=bound
        )
        return Finding(kind="time", summary=summary, witness=witness)

    def _power(self, runs: int, alpha: float) -> tuple[tuple[float, float | None], ...]:
        return tuple(
            (share, found_nine_times_in_ten(self.claim, runs, alpha, share)) for share in _SHARES
        )

    def _bars(self, best: Certified) -> tuple[Bar, ...]:
        """Count the most frequent answers to the best pair, in a few new draws."""
        runs = max(100, min(5000, self.draws // 20))
        seen = [
            Counter(
                outcome.error or repr(outcome.answer)
                for outcome in observe(self.subject.make_run(self.seed + place), data, runs)
            )
            for place, data in enumerate((best.pair.first, best.pair.second), start=10**6)
        ]
        common = [answer for answer, _ in (seen[0] + seen[1]).most_common(_MOST_BARS)]
        return tuple(
            Bar(answer=answer, counts=EventCounts(seen[0][answer], runs, seen[1][answer], runs))
            for answer in sorted(common, key=lambda answer: (len(answer), answer))
        )


def _witness(each: Certified) -> Witness:
    return Witness(
        how="draws",
        name=each.pair.name,
        first=each.pair.first,
        second=each.pair.second,
        events=each.found.events,
        counts=each.counts,
        lower_bound=each.bound,
        seed=each.seed,
        extreme=each.pair.extreme,
    )


def _quietly(run: Callable[[Any], Any], data: Any) -> None:
    try:
        run(data)
    except Exception:
        # the time until an error is a running time like any other
        return


@public_function("audit")
@public_function("audit")
def audit(
    mechanism: Any,
    *,
    claim: Loss | None = None,
    scores: int = 8,
    sensitivity: Number | None = None,
    monotonic: bool | None = None,
    objective: Objective | None = None,
    extremes: bool | None = None,
    pairs: Iterable[Any] | None = None,
    draws: int = 100_000,
    confidence: Number = 0.999,
    timing: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> AuditReport:
    """Look for a violation of a privacy claim: find one with a certificate, or say how
    hard it was looked for.

    mechanism: one of discreet's mechanisms; a function from scores to an answer; a
        measurement of OpenDP; or an `AuditedCode` from discreet.auditing.audited_code.
    claim: the loss that is claimed. A mechanism that states one needs none here.
    scores: how many candidates to try with. From 100,000 on a function gets NumPy
        arrays, and only what breaks sums of many floats is tried.
    sensitivity, monotonic: for a function, what one person does to its scores. A plain
        function cannot say it: if you do not either, one person moves each score by up
        to 1, in any direction, and `neighbours` in the report says so. Where scores are
        counts, say monotonic=True, or code that is right for counts is called violated.
    objective: for a function, "max" or "min", to check also that the right candidate
        wins.
    extremes: for a function, False to leave out scores at which floats break: 2^53,
        subnormal numbers, types of 8 bits, NaN. They have a verdict of their own.
    pairs: neighbouring inputs to try instead, as (first, second) or (name, first,
        second): for code that takes anything but scores.
    draws: how often to run the code in all.
    confidence: the probability with which all statements together are true.
    timing: how often to measure the time of each of a few neighbours; 0 for not at all.
    seed: where the random numbers start, for code that can be seeded.
    progress: a function that is called with the share of the audit that is done.

    Promise: a correct mechanism is called violated with probability at most 1 -
        confidence, in draws that the search has not seen. Where the code states its
        probabilities, the loss is a number, up to 1e-9.
    Cost: `draws` runs of the code. That nothing was found is no proof; the report's
        `power` says which violation would have been found.

    >>> from discreet import PureDP
    >>> from discreet.mechanisms import PermuteAndFlip
    >>> report = audit(PermuteAndFlip(epsilon=1, sensitivity=1), scores=4, draws=2000)
    >>> report.violated, report.claim, round(report.lower_bound, 6)
    (False, PureDP(epsilon=1), 1.0)
    >>> import random
    >>> def broken(scores, rng):  # no noise at all, every other time
    ...     return (
    ...         int(rng.integers(len(scores)))
    ...         if rng.random() < 0.5
    ...         else max(range(len(scores)), key=list(scores).__getitem__)
    ...     )
    >>> report = audit(broken, claim=PureDP(1), scores=4, draws=20_000)
    >>> report.violated, report.lower_bound > 1, report.witness.how
    (True, True, 'draws')
    """
    said = {
        "sensitivity": sensitivity,
        "monotonic": monotonic,
        "objective": objective,
        "extremes": extremes,
    }
    subject = _subject(mechanism, scores, said)
    if pairs is not None:
        subject = replace(subject, world=read_pairs(pairs), objective=None)
    stated = claim if claim is not None else subject.claim
    if stated is None:
        raise ParameterError(
            "claim", "given, because the code states none", claim, "Such as PureDP(1)."
        )
    alpha = float(1 - read_probability(confidence, "confidence"))
    if not alpha:
        rule = "farther below 1 than floats are from 0"
        raise ParameterError("confidence", rule, confidence)
    if not isinstance(seed, int):
        raise ParameterTypeError("seed", "a whole number", seed)
    task = Task(
        subject=subject,
        claim=Claim.read(stated),
        draws=count(draws, "draws", least=1000),
        alpha=alpha,
        timing=count(timing, "timing", least=0),
        seed=seed,
        progress=progress or (lambda share: None),
    )
    with _generators_put_back():
        return task.report()


def _subject(mechanism: Any, scores: int, stated: Mapping[str, Any]) -> AuditedCode:
    scores = count(scores, "scores", least=2)
    said = {name: value for name, value in stated.items() if value is not None}
    from_elsewhere = type(mechanism).__module__.partition(".")[0] == "opendp"
    if isinstance(mechanism, AuditedCode) or (is_ours(mechanism) and not from_elsewhere):
        if said:
            name = next(iter(said))
            raise ParameterError(name, "left out: the mechanism states its own", said[name])
        if isinstance(mechanism, AuditedCode):
            return mechanism
        return from_mechanism(mechanism, scores=scores)
    make = from_opendp if from_elsewhere else from_function
    subject: AuditedCode = make(mechanism, scores=scores, **said)
    return subject


@contextmanager
def _generators_put_back() -> Iterator[None]:
    """Leave the process's random generators as they were: audited code may use them."""
    before = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
