"""What all selection mechanisms share: their parameters, and the way from scores to a candidate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.candidates import Candidates, Scores, read_candidates
from discreet.mechanisms.laws import Law
from discreet.mechanisms.parameters import read_bits, read_epsilon, read_probability
from discreet.privacy.loss import Loss
from discreet.privacy.numbers import Number, choice, count, readable
from discreet.privacy.sensitivity import ScoreRange
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.distances import OrderedDistances, measure
from discreet.samplers.envelope import Envelope


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SelectionMechanism(ABC):
    """A way to pick one of many candidates, with a stated privacy loss.

    epsilon: the privacy loss of one selection.
    sensitivity: the most that one person can move one score.
    monotonic: True if one person moves all scores in the same direction (counts under adding or removing a person).
    score_range: instead of the two above, the range itself: the most by which one person's moves of two scores differ.
    objective: whether the "max" or the "min" of the scores is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.
    """

    epsilon: Number
    sensitivity: Number | None = None
    monotonic: bool = False
    score_range: Number | None = None
    objective: str = "max"
    acknowledge: str | None = None
    _rate: fmpq = field(init=False, compare=False)
    _loss: Loss = field(init=False, compare=False)
    _resolution: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        epsilon = read_epsilon(self.epsilon, self.acknowledge, owner)
        choice(self.objective, ("max", "min"), "objective", owner)
        span = ScoreRange.read(
            sensitivity=self.sensitivity, monotonic=self.monotonic, score_range=self.score_range, owner=owner
        )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "_rate", _exact(epsilon) / _exact(span.value))
        object.__setattr__(self, "_loss", self.law.loss(epsilon))
        object.__setattr__(self, "_resolution", _nearest_float(span.resolution))

    def __repr__(self) -> str:
        shown = [f"epsilon={readable(self._exact_epsilon)}"]
        for name in ("sensitivity", "score_range"):
            if (value := getattr(self, name)) is not None:
                shown.append(f"{name}={value!r}")
        shown += ["monotonic=True"] if self.monotonic else []
        shown += [f"objective={self.objective!r}"] if self.objective != "max" else []
        return f"{type(self).__name__}({', '.join(shown + self._more_shown())})"

    def select(self, scores: Scores, *, bits: Bits | None = None) -> int:
        """Pick one candidate and return its position. Costs `privacy_loss()`. Give `bits` only in tests and simulations."""
        chance = read_bits(bits, type(self).__name__)
        return self.law.draw(Envelope(self._distances(self._read(scores))), chance)

    def select_many(self, scores: Scores, *, draws: int, bits: Bits | None = None) -> NDArray[np.int64]:
        """Pick independently `draws` times, for simulation: **each draw costs its own epsilon**, k draws cost k epsilon."""
        draws = count(draws, "draws", type(self).__name__)
        chance = read_bits(bits, type(self).__name__)
        envelope = Envelope(self._distances(self._read(scores)))
        return np.fromiter((self.law.draw(envelope, chance) for _ in range(draws)), dtype=np.int64, count=draws)

    def release(self, scores: Scores, *, bits: Bits | None = None) -> Release:
        """Pick one candidate and return it, by label where there are labels, with what it cost."""
        chance, candidates = read_bits(bits, type(self).__name__), self._read(scores)
        index = self.law.draw(Envelope(self._distances(candidates)), chance)
        return Release(
            value=candidates.label(index),
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=candidates.size,
            seeded=chance.bits.seeded,
        )

    def probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """The exact output distribution, to about 1e-15. As private as the scores: never publish it for real data."""
        return np.exp(self.log_probabilities(scores))

    def log_probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """Natural logarithms of `probabilities`, for candidates so unlikely that a float would round them to 0."""
        return self.law.log_probabilities(self._distances(self._read(scores)).approximate())

    def error_bound(self, candidates: int, failure_probability: Number, *, best: int = 1) -> float:
        """How far behind the best the selected score can be, except with `failure_probability`; `best` candidates are tied."""
        candidates, best = self._counts(candidates, best)
        beta = read_probability(failure_probability, "failure_probability", type(self).__name__)
        return self._in_scores(self.law.error(candidates, best, beta))

    def expected_error_bound(self, candidates: int, *, best: int = 1) -> float:
        """How far behind the best the selected score is on average, at most; `best` candidates are tied."""
        return self._in_scores(self.law.expected_error(*self._counts(candidates, best)))

    @property
    def _exact_epsilon(self) -> Fraction:
        return cast(Fraction, self.epsilon)  # read in __post_init__

    @property
    def rate(self) -> Fraction:
        """epsilon / range: how many noise scales there are in one unit of score."""
        return Fraction(int(self._rate.p), int(self._rate.q))

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        return self._loss

    @property
    @abstractmethod
    def law(self) -> Law:
        """The distribution of the selected candidate, with its sampler and its privacy loss."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""

    def _in_scores(self, scales: float) -> float:
        """Noise scales as a difference of scores; infinite where a float cannot hold it."""
        try:
            return float(Fraction(scales) / self.rate)
        except OverflowError:
            return math.inf

    def _more_shown(self) -> list[str]:
        return []

    def _read(self, scores: Scores) -> Candidates:
        candidates = read_candidates(scores, type(self).__name__)
        candidates.require_resolution(self._resolution, type(self).__name__)
        return candidates

    def _distances(self, candidates: Candidates) -> OrderedDistances:
        smallest = self.objective == "min"
        rate = self._rate if candidates.unit == 1 else self._rate / candidates.unit
        return measure(candidates.scores, candidates.low, candidates.high, rate, smallest=smallest)

    def _counts(self, candidates: int, best: int) -> tuple[int, int]:
        owner = type(self).__name__
        candidates, best = count(candidates, "candidates", owner), count(best, "best", owner)
        if best > candidates:
            raise ParameterError(owner, "best", f"at most the number of candidates, {candidates}", best)
        return candidates, best


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _exact(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)
