"""What answers look like, on made-up data: by the real samplers, and without any table.

Nothing here can read a row: the counts are made by a formula, or typed. Every release
is marked as a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accuracy import Accuracy
from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.exact.rationals import Number, choice, count, is_whole
from discreet.literals import MechanismName, TopKMethod
from discreet.mechanisms.accuracy_planner import (
    AccuracyPlan,
    accuracy_at,
    budget_rule,
    plan_accuracy,
)
from discreet.mechanisms.count_lists import ListRequest, make_unknown
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.histogram_top_k import NoisyList, NoisyUnknownList
from discreet.mechanisms.peeling_top_k import TopKMechanism
from discreet.mechanisms.prices import Price
from discreet.mechanisms.selection import make_mechanism
from discreet.mechanisms.unknown_domain import UnknownDomainTopK
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import ScoreRange, read_epsilon
from discreet.release import Release
from discreet.rendering.picture import Picture
from discreet.testing import SeededBits

__all__ = [
    "AccuracyPlan",
    "Picture",
    "Preview",
    "accuracy_at",
    "made_up_counts",
    "plan_accuracy",
    "preview",
]

Ranked = TopKMechanism | NoisyList | UnknownDomainTopK | NoisyUnknownList
"""A way to a list of names."""

SHAPES = ("zipf", "flat", "winner")
"""Kinds of made-up counts."""

_SHOWN = 5
_LARGEST = 2**63 - 1


@public_function("made_up_counts")
def made_up_counts(shape: str, *, candidates: int, persons: int) -> dict[str, int]:
    """Made-up numbers of persons for each candidate, by a formula.

    shape: "zipf" gives the i-th candidate a share of 1 / i, as words and web pages
        have; "flat" gives all the same, but for one person; "winner" gives the first
        one half.

    >>> made_up_counts("zipf", candidates=3, persons=110)
    {'candidate 1': 60, 'candidate 2': 30, 'candidate 3': 20}
    >>> made_up_counts("winner", candidates=3, persons=100)
    {'candidate 1': 50, 'candidate 2': 25, 'candidate 3': 25}
    """
    choice(shape, SHAPES, "shape")
    size, people = count(candidates, "candidates"), count(persons, "persons")
    shares = {
        "zipf": [Fraction(1, place) for place in range(1, size + 1)],
        "flat": [Fraction(1)] * size,
        "winner": [Fraction(max(1, size - 1)), *[Fraction(1)] * (size - 1)],
    }[shape]
    whole = sum(shares)
    numbers = [int(share * people / whole) for share in shares]
    numbers[0] += shape == "flat"
    return {f"candidate {place}": number for place, number in enumerate(numbers, start=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Many simulated answers to one question about made-up counts.

    counts: the made-up counts.
    draws: how often it was asked.
    chosen: for each candidate, in how many of the answers it was.
    errors: for each answer, how far it was off, in the sense of `accuracy`.
    accuracy: what is promised for every table, with 95%.
    examples: a few of the answers, each marked as a simulation.
    """

    counts: Mapping[Any, int]
    draws: int
    chosen: Mapping[Any, int]
    errors: NDArray[np.float64]
    accuracy: Accuracy
    examples: tuple[Release, ...]

    def error(self, share: Number) -> float:
        """How far off that share of the answers was at most."""
        return float(np.quantile(self.errors, float(share), method="higher"))

    @property
    def sentence(self) -> str:
        """How far off the answers were, for people to read."""
        half, most = (f"{self.error(share):,g}" for share in (0.5, 0.95))
        if self.accuracy.statement == "named":
            return (
                f"Half of the answers were full or left out nobody with more than {half} "
                f"people; 95% of them nobody with more than {most}."
            )
        return (
            f"Half of the answers were off by at most {half} people, and 95% of them by at "
            f"most {most}."
        )

    def plot(self, *, most: int = 15) -> Picture:
        """A picture of how often the first candidates were in the answer, in per cent."""
        from discreet.rendering.charts import ranking

        first = sorted(self.counts, key=lambda label: -self.counts[label])[:most]
        notes = [
            f"How often each was in the answer, in percent of {self.draws:,} simulations, by "
            f"made-up count.",
            self.sentence,
            f"For every table: {self.accuracy.sentence}",
        ]
        shares = [100 * self.chosen[label] / self.draws for label in first]
        labels = [f"{label} ({self.counts[label]:,})" for label in first]
        return ranking(labels, title="What answers look like", counts=shares, notes=notes)

    def _repr_html_(self) -> str:
        from discreet.rendering.html import card, paragraph, table

        first = sorted(self.counts, key=lambda label: -self.counts[label])[:_SHOWN]
        rows = [
            [label, self.counts[label], f"{100 * self.chosen[label] / self.draws:.1f}%"]
            for label in first
        ]
        head = ["candidate", "made-up count", "in the answer"]
        promised = paragraph(f"For every table: {self.accuracy.sentence}")
        return card(f"{self.draws:,} simulated answers", table(head, rows), promised)


@public_function("preview")
def preview(
    counts: Mapping[Any, int],
    *,
    epsilon: Number,
    k: int | None = None,
    delta: Number = 0,
    limit: int | None = None,
    items_per_person: int | None = None,
    mechanism: MechanismName | None = None,
    method: TopKMethod = "auto",
    budget: Loss | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Preview:
    """Ask the same question many times about made-up counts, by the real samplers.

    The answers are drawn as a `Session` with this budget would draw them.

    counts: **made up**: from `made_up_counts`, or typed. Never those of real data: this
        is no release, and costs nothing because it is about nobody. They are what
        counts: with `items_per_person`, after the others of each person were left out.
    k: how many to pick; left out, the one that most persons have.
    limit: of an unknown domain, as for `top_k_unknown_domain`.
    mechanism: as in the question, where one is picked.
    delta, items_per_person, method: as in the question, for a list.
    budget: as for `plan_accuracy`: left out, one in which epsilons add up.

    >>> counts = made_up_counts("zipf", candidates=100, persons=10_000)
    >>> seen = preview(counts, epsilon=0.1, draws=1000)
    >>> seen.examples[0].seeded, seen.chosen["candidate 1"] > 990
    (True, True)
    """
    scores = _read_counts(counts)
    of_lists = {"delta": delta, "limit": limit, "items_per_person": items_per_person}
    _require_used(k, of_lists | {"method": None if method == "auto" else method}, mechanism)
    draws, bits = count(draws, "draws"), SeededBits(seed)
    rule = None if budget is None else budget_rule(budget)
    labels = list(counts)
    if k is None:
        # as in Session.mode
        exact = read_epsilon(epsilon, None)
        # without a budget, epsilons add up
        usual = "permute-and-flip" if rule is None else Price(rule, exact).mechanism
        pick = mechanism or usual
        # One person more raises each count by 0 or 1: docs/proofs/accuracy.md#counts
        made = make_mechanism(pick, exact, ScoreRange(sensitivity=1, monotonic=True))
        told = made.accuracy(candidates=len(labels)).in_words(
            unit="persons", thing="candidate", whole=True
        )
        examples = [made.release(counts, bits=bits) for _ in range(min(_SHOWN, draws))]
        drawn = made.select_many(scores, draws=draws, bits=bits)
        errors = (scores.max() - scores[drawn]).astype(np.float64)
        times = np.bincount(drawn, minlength=len(labels))
    else:
        request = ListRequest(
            k=k,
            epsilon=epsilon,
            delta=delta,
            items_per_person=items_per_person,
            # One person more raises each count by 0 or 1: docs/proofs/accuracy.md#counts
            sensitivity=1,
            monotonic=True,
            method=method,
            price=None if rule is None else Price(rule, read_epsilon(epsilon, None)),
            candidates=scores.size,
        )
        ranked, told = _ranked(request, scores.size, limit)
        # noise that the counts share needs a number of people; which one makes no difference
        shared = {"people": int(scores.max())} if isinstance(ranked, NoisyList) else {}
        lists = [ranked.select(scores, bits=bits, **shared) for _ in range(draws)]
        examples = [ranked.release(counts, bits=bits, **shared) for _ in range(min(_SHOWN, draws))]
        off = [_error(scores, listed, told, request.k) for listed in lists]
        errors = np.array(off, dtype=np.float64)
        times = np.bincount([place for listed in lists for place in listed], minlength=len(labels))
    return Preview(
        counts=dict(counts),
        draws=draws,
        chosen=dict(zip(labels, times.tolist(), strict=True)),
        errors=errors,
        accuracy=told,
        examples=tuple(examples),
    )


def _read_counts(counts: Mapping[Any, int]) -> NDArray[np.int64]:
    """The counts alone. A wrong one is not shown: it may be of real data by mistake."""
    if not isinstance(counts, Mapping):
        raise ParameterTypeError("counts", "a mapping from label to count", counts)
    found = list(counts.values())
    if not found or not all(is_whole(each) and 0 <= each <= _LARGEST for each in found):
        rule = "one or more whole numbers from 0 to 2^63 - 1"
        raise ParameterError("counts", rule, "others" if found else "none")
    return np.array(found, dtype=np.int64)


def _require_used(
    k: int | None, of_lists: Mapping[str, Any], mechanism: MechanismName | None
) -> None:
    """Refuse what the question would not look at, which would seem to make no difference."""
    if k is not None and mechanism is not None:
        hint = "For a list, give 'method' instead."
        raise ParameterError("mechanism", "left out if k is given", mechanism, hint)
    for name, given in of_lists.items():
        if k is None and given not in (None, 0):
            raise ParameterError(name, "left out unless k is given", given)


def _ranked(request: ListRequest, candidates: int, limit: int | None) -> tuple[Ranked, Accuracy]:
    """The way to a list that a session takes, and what is promised for it."""
    most = request.items_per_person
    words: dict[str, Any] = {"unit": "persons", "whole": True, "cap": most}
    if limit is not None:
        unknown = make_unknown(request, limit)
        # names only
        assert not isinstance(unknown, CountedSelection)
        return unknown, unknown.accuracy().in_words(**words)
    # Nobody counts for more candidates than there are: docs/proofs/histograms.md#privacy
    moved = candidates if most is None else min(most, candidates)
    made = replace(request, items_per_person=moved).make()
    assert not isinstance(made, CountedSelection)
    return made, made.accuracy(candidates=candidates).in_words(**words)


def _error(scores: NDArray[np.int64], listed: list[int], told: Accuracy, k: int) -> int:
    """How far a list is off, in the sense of its statement; 0 where nothing is wrong."""
    left = np.delete(scores, listed)
    if told.statement == "named":
        return int(left.max()) if left.size and len(listed) < k else 0
    if not listed:
        return 0
    if told.statement == "places":
        ideal = np.sort(scores)[::-1][: len(listed)]
        return max(0, int((ideal - scores[listed]).max()))
    return max(0, int(left.max() - scores[listed].min())) if left.size else 0
