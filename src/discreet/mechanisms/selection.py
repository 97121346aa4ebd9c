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

from discreet.errors import ParameterError, ParameterTypeError
from discreet.mechanisms.candidates import Candidates, Scores, read_candidates
from discreet.mechanisms.laws import Law
from discreet.mechanisms.parameters import read_bits, read_epsilon, read_probability
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.numbers import Number, choice, count, exact_binary, positive, readable
from discreet.privacy.sensitivity import ScoreRange
from discreet.release import Release
from discreet.samplers.arrivals import draw_two
from discreet.samplers.bits import Bits
from discreet.samplers.chance import Chance
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
    _smallest_move: Fraction = field(init=False, compare=False)
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
        object.__setattr__(self, "_smallest_move", span.resolution)
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

    def release(
        self, scores: Scores, *, with_gap: bool = False, gap_step: Number | None = None, bits: Bits | None = None
    ) -> Release:
        """Pick one candidate and return it, by label where there are labels, with what it cost.

        with_gap: also say by how much the highest noisy score is above the second highest, in whole multiples of the public
            `gap_step` (if not given, the sensitivity). That costs no more epsilon, but the loss is then only pure DP.
        """
        step = self._read_step(with_gap, gap_step)
        chance, candidates = read_bits(bits, type(self).__name__), self._read(scores)
        gap: Fraction | None = None
        if step is not None:
            index, gap = self._draw_with_gap(candidates, step, chance)
        else:
            index = self.law.draw(Envelope(self._distances(candidates)), chance)
        return Release(
            value=candidates.label(index),
            loss=PureDP(self._exact_epsilon) if step is not None else self.privacy_loss(),
            mechanism=self.name,
            candidates=candidates.size,
            seeded=chance.bits.seeded,
            gap=gap,
        )

    def lead_bound(self, gap: Number, failure_probability: Number) -> float | None:
        """How far the winner's true score is ahead of the best other one, at least, except with `failure_probability`.

        gap: what a release with_gap said. None means that so small a gap says nothing. Where the result is 0 or more, the winner
        is the true best. Holds for each winner by itself, not only on average.
        """
        owner = type(self).__name__
        beta = read_probability(failure_probability, "failure_probability", owner)
        exact = exact_binary(gap, "gap", owner)
        if exact < 0:
            raise ParameterError(owner, "gap", "at least 0", gap)
        if self.law.lead is None:
            raise self._no_gap()
        scales = self.law.lead(_nearest_float(exact * self.rate), beta)
        return None if scales is None else self._in_scores(scales)

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
        return _nearest_float(Fraction(scales) / self.rate) if math.isfinite(scales) else scales

    def _draw_with_gap(self, candidates: Candidates, step: Fraction, chance: Chance) -> tuple[int, Fraction | None]:
        if candidates.size == 1:
            return 0, None  # there is no second
        assert self.law.hazard is not None  # _read_step has asked
        winner, steps = draw_two(self.law.hazard, self._distances(candidates), _exact(step) * self._rate, chance)
        return winner, steps * step

    def _read_step(self, with_gap: bool, step: Number | None) -> Fraction | None:
        """The lattice of the gap, or None if no gap is wanted."""
        owner = type(self).__name__
        if not isinstance(with_gap, bool):
            raise ParameterTypeError(owner, "with_gap", "True or False", with_gap)
        if not with_gap:
            if step is not None:
                raise ParameterError(owner, "gap_step", "given together with with_gap=True only", step)
            return None
        if self.law.hazard is None:
            raise self._no_gap()
        return (
            self._smallest_move if step is None else positive(exact_binary(step, "gap_step", owner), step, "gap_step", owner)
        )

    def _no_gap(self) -> ParameterError:
        return ParameterError(
            type(self).__name__,
            "with_gap",
            "False with this noise",
            True,
            "Use permute-and-flip or the exponential mechanism.",
        )

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
