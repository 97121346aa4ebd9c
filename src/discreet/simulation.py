"""What answers look like, on made-up data: by the real samplers, and without any table.

Nothing here can read a row: the counts are made by a formula, or typed. Every release
is marked as a simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accuracy import Accuracy
from discreet.errors import ParameterTypeError
from discreet.exact.rationals import Number, choice, count
from discreet.fragments.picture import Picture
from discreet.mechanisms.catalogue import make_mechanism, make_top_k
from discreet.mechanisms.unknown_domain import UnknownDomainTopK
from discreet.release import Release
from discreet.testing import SeededBits
from discreet.words import MechanismName, TopKMethod

SHAPES = ("zipf", "flat", "winner")
"""Kinds of made-up counts."""

_SHOWN = 5


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
    owner = "made_up_counts"
    choice(shape, SHAPES, "shape", owner)
    size, people = count(candidates, "candidates", owner), count(persons, "persons", owner)
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
    accuracy: what is promised for every table, with 95 %.
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

    def plot(self, *, most: int = 15) -> Picture:
        """A picture of how often the first candidates were in the answer, in per cent."""
        from discreet.fragments.charts import ranking

        first = sorted(self.counts, key=lambda label: -self.counts[label])[:most]
        half, most_of_them = self.error(0.5), self.error(0.95)
        notes = [
            f"In how many of {self.draws:,} simulated answers each one was, in per cent, in the "
            "order of the made-up counts.",
            f"Half of the answers were off by at most {half:g}, 95 % by {most_of_them:g}.",
            f"Promised for every table: {self.accuracy.sentence}",
        ]
        shares = [100 * self.chosen[label] / self.draws for label in first]
        labels = [f"{label} ({self.counts[label]:,})" for label in first]
        return ranking(labels, title="What answers look like", counts=shares, notes=notes)

    def _repr_html_(self) -> str:
        from discreet.fragments.html import card, paragraph, table

        first = sorted(self.counts, key=lambda label: -self.counts[label])[:_SHOWN]
        rows = [
            [label, self.counts[label], f"{100 * self.chosen[label] / self.draws:.1f} %"]
            for label in first
        ]
        head = ["candidate", "made-up count", "in the answer"]
        promised = paragraph(f"Promised for every table: {self.accuracy.sentence}")
        return card(f"{self.draws:,} simulated answers", table(head, rows), promised)


def preview(
    counts: Mapping[Any, int],
    *,
    epsilon: Number,
    k: int | None = None,
    delta: Number = 0,
    limit: int | None = None,
    mechanism: MechanismName = "permute-and-flip",
    method: TopKMethod = "auto",
    draws: int = 1000,
    seed: int = 0,
) -> Preview:
    """Ask the same question many times about made-up counts, by the real samplers.

    counts: **made up**: from `made_up_counts`, or typed. Never those of real data: this
        is no release, and costs nothing because it is about nobody.
    k: how many to pick; left out, the one that most persons have.
    limit: of an unknown domain, as for `top_k_unknown_domain`.

    >>> counts = made_up_counts("zipf", candidates=100, persons=10_000)
    >>> seen = preview(counts, epsilon=0.1, draws=1000)
    >>> seen.examples[0].seeded, seen.chosen["candidate 1"] > 990
    (True, True)
    """
    owner = "preview"
    if not isinstance(counts, Mapping):
        raise ParameterTypeError(owner, "counts", "a mapping from label to count", counts)
    draws, bits = count(draws, "draws", owner), SeededBits(seed)
    labels = list(counts)
    scores = np.array([counts[label] for label in labels], dtype=np.int64)
    if k is None:
        # One person more raises each count by 0 or 1: docs/proofs/accuracy.md#counts
        made = make_mechanism(mechanism, epsilon, sensitivity=1, monotonic=True)
        told = made.accuracy(candidates=len(labels)).in_words(
            unit="persons", thing="candidate", whole=True
        )
        examples = [made.release(counts, bits=bits) for _ in range(min(_SHOWN, draws))]
        drawn = made.select_many(scores, draws=draws, bits=bits)
        errors = (scores.max() - scores[drawn]).astype(np.float64)
        times = np.bincount(drawn, minlength=len(labels))
    else:
        lists, told, examples = _lists(counts, k, epsilon, delta, limit, method, draws, bits)
        errors = np.array([_error(scores, listed, told) for listed in lists], dtype=np.float64)
        times = np.bincount([place for listed in lists for place in listed], minlength=len(labels))
    return Preview(
        counts=dict(counts),
        draws=draws,
        chosen=dict(zip(labels, times.tolist(), strict=True)),
        errors=errors,
        accuracy=told,
        examples=tuple(examples),
    )


def _lists(
    counts: Mapping[Any, int],
    k: int,
    epsilon: Number,
    delta: Number,
    limit: int | None,
    method: TopKMethod,
    draws: int,
    bits: SeededBits,
) -> tuple[list[list[int]], Accuracy, list[Release]]:
    """Many lists of positions, what is promised for them, and a few as releases."""
    scores = np.array(list(counts.values()), dtype=np.int64)
    shown = range(min(_SHOWN, draws))
    if limit is not None:
        unknown = UnknownDomainTopK(k=k, epsilon=epsilon, delta=delta, limit=limit)
        lists = [unknown.select(scores, bits=bits) for _ in range(draws)]
        return lists, unknown.accuracy(), [unknown.release(counts, bits=bits) for _ in shown]
    # One person more raises each count by 0 or 1: docs/proofs/accuracy.md#counts
    made = make_top_k(k, epsilon, delta, sensitivity=1, monotonic=True, method=method)
    told = made.accuracy(candidates=scores.size)
    lists = [made.select(scores, bits=bits) for _ in range(draws)]
    examples = [made.release(counts, bits=bits) for _ in shown]
    return lists, told.in_words(unit="persons", thing="candidate", whole=True), examples


def _error(scores: NDArray[np.int64], listed: list[int], told: Accuracy) -> int:
    """How far a list is off, in the sense of its statement; 0 where nothing is wrong."""
    if not listed:
        return 0
    if told.statement == "places":
        ideal = np.sort(scores)[::-1][: len(listed)]
        return max(0, int((ideal - scores[listed]).max()))
    left = np.delete(scores, listed)
    return max(0, int(left.max() - scores[listed].min())) if left.size else 0
