"""What all selection mechanisms share: their parameters, and the way from scores to a candidate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import field
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy, rounded_up
from discreet.errors import ParameterError, ParameterTypeError, called_inside, public_class
from discreet.exact.enclosures import rational
from discreet.exact.rationals import (
    Number,
    choice,
    count,
    exact_binary,
    float_above,
    nearest_float,
    positive,
    readable,
    set_frozen,
)
from discreet.literals import OBJECTIVES, Objective
from discreet.mechanisms.laws import Law
from discreet.mechanisms.scores import Candidates, Scores, read_candidates
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import WithRange, parameterized, read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.bulk import draw_many
from discreet.samplers.distances import ArrayDistances, OrderedDistances, measure
from discreet.samplers.envelope import Envelope
from discreet.samplers.folded_envelope import FoldedEnvelope
from discreet.samplers.winner_and_gap import draw_two

# numbers of candidates whose accuracy is remembered
_REMEMBERED = 64


def _worth_a_table(candidates: int, draws: int) -> bool:
    """True if this many draws pay for computing all probabilities first."""
    return candidates <= _LARGEST_TABLE and 8 * draws >= candidates * (candidates + 64)


# candidates: the certified sums of permute-and-flip take time in the square of their number
_LARGEST_TABLE = 512


@public_class
@parameterized
class SelectionMechanism(WithRange, ABC):
    """A way to pick one of many candidates, with a stated privacy loss.

    epsilon: the privacy loss of one selection.
    sensitivity: the most that one person can move one score.
    monotonic: True if one person moves all scores in the same direction (counts under
        adding or removing a person).
    score_range: instead of the two above, the range itself: the most by which one
        person's moves of two scores differ.
    objective: whether the "max" or the "min" of the scores is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.
    """

    objective: Objective = "max"
    _rate: fmpq = field(init=False, compare=False)
    _loss: Loss = field(init=False, compare=False)
    _resolution: float = field(init=False, compare=False)
    _usual: dict[int, Accuracy] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        set_frozen(self, objective=choice(self.objective, OBJECTIVES, "objective"))
        WithRange.__post_init__(self)
        # rate = epsilon / range: docs/proofs/exponential.md#privacy
        set_frozen(self, _rate=rational(self.epsilon) / rational(self._range.value))
        set_frozen(self, _loss=self.law.loss(self.epsilon), _usual={})
        set_frozen(self, _resolution=nearest_float(self._range.resolution))

    def __repr__(self) -> str:
        shown = [f"epsilon={readable(self.epsilon)}"]
        for name in ("sensitivity", "score_range"):
            if (value := getattr(self, name)) is not None:
                shown.append(f"{name}={value!r}")
        shown += ["monotonic=True"] if self.monotonic else []
        shown += [f"objective={self.objective!r}"] if self.objective != "max" else []
        return f"{type(self).__name__}({', '.join(shown + self._more_shown())})"

    def select(self, scores: Scores, *, bits: Bits | None = None) -> int:
        """Pick one candidate and return its position. Costs `privacy_loss()`. Give
        `bits` only in tests and simulations.
        """
        chance = read_bits(bits)
        return self._draw(self._read(scores), chance)

    @called_inside
    def select_counted(self, candidates: Candidates, chance: Chance) -> list[int]:
        """The position, by itself in a list, for scores that are read already."""
        candidates.require_resolution(self._resolution)
        return [self._draw(candidates, chance)]

    # a caller may have told NumPy to raise, and then a very small difference would
    @np.errstate(all="ignore")
    def select_many(
        self, scores: Scores, *, draws: int, bits: Bits | None = None
    ) -> NDArray[np.int64]:
        """Pick independently `draws` times, for simulation: **each draw costs its own
        epsilon**, k draws cost k epsilon.
        """
        draws = count(draws, "draws")
        chance = read_bits(bits)
        distances = self._distances(self._read(scores))
        if self.law.ends is not None and _worth_a_table(distances.size, draws):
            exact = [distances.exact(place) for place in range(distances.size)]
            return draw_many(self.law.ends, exact, draws, chance)
        envelope = Envelope(distances)
        return np.fromiter(
            (self.law.draw(envelope, chance) for _ in range(draws)), dtype=np.int64, count=draws
        )

    def release(
        self,
        scores: Scores,
        *,
        with_gap: bool = False,
        gap_step: Number | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """Pick one candidate and return it, by label where there are labels, with what it cost.

        with_gap: also say by how much the highest noisy score is above the second
            highest, in whole multiples of the public `gap_step` (if not given, the
            sensitivity). That costs no more epsilon, but the loss is of a weaker kind:
            logistic DP with Gumbel noise (the exponential mechanism), pure DP with
            exponential noise (permute-and-flip).
        """
        return self._release(scores, with_gap, gap_step, bits)

    def _release(
        self, scores: Scores, with_gap: bool, gap_step: Number | None, bits: Bits | None
    ) -> Release:
        """`release`, for a function that says itself who was called."""
        step = self._read_step(with_gap, gap_step)
        chance, candidates = read_bits(bits), self._read(scores)
        gap: Fraction | None = None
        if step is not None:
            index, gap = self._draw_with_gap(candidates, step, chance)
        else:
            index = self._draw(candidates, chance)
        size = candidates.size
        return Release(
            value=candidates.label(index),
            loss=self.privacy_loss() if step is None else self.loss_with_gap(),
            mechanism=self.name,
            candidates=size,
            seeded=chance.bits.seeded,
            gap=gap,
            accuracy=self._usual_accuracy(size),
        )

    def lead_bound(self, gap: Number, failure_probability: Number) -> float | None:
        """How far the winner's true score is ahead of the best other one, at least,
        except with `failure_probability`. Rounded down.

        gap: what a release with_gap said. None means that so small a gap says nothing.
            Where the result is 0 or more, the winner is the true best. Holds for each
            winner by itself, not only on average.
        """
        beta = read_probability(failure_probability, "failure_probability")
        exact = exact_binary(gap, "gap")
        if exact < 0:
            raise ParameterError("gap", "at least 0", gap)
        if self.law.lead is None:
            raise self._no_gap()
        # rounded down on the way there and back: docs/proofs/gap.md#confidence
        scales = self.law.lead(-float_above(-exact * self.rate), beta)
        return None if scales is None else -float_above(-Fraction(scales) / self.rate)

    # a caller may have told NumPy to raise, and then an unlikely candidate would
    @np.errstate(all="ignore")
    def probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """The exact output distribution, to about 1e-15. As private as the scores:
        never publish it for real data.
        """
        return np.exp(self.log_probabilities(scores))

    # a caller may have told NumPy to raise, and then an unlikely candidate would
    @np.errstate(all="ignore")
    def log_probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """Natural logarithms of `probabilities`, for candidates so unlikely that a
        float would round them to 0.
        """
        return self.law.log_probabilities(self._distances(self._read(scores)).approximate())

    def error_bound(self, failure_probability: Number, *, candidates: int, best: int = 1) -> float:
        """How far behind the best the selected score can be, except with
        `failure_probability`, among this many candidates of which `best` are tied.
        """
        candidates, best = self._counts(candidates, best)
        beta = read_probability(failure_probability, "failure_probability")
        return self._in_scores(self.law.error(candidates, best, beta))

    def accuracy(self, *, candidates: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement, never below the truth."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=rounded_up(self.error_bound(beta, candidates=candidates)),
            statement="winner",
            failure_probability=beta,
        )

    def _usual_accuracy(self, candidates: int) -> Accuracy:
        """The accuracy with 95%, remembered: the number of candidates is often the same."""
        found = self._usual.get(candidates)
        if found is None:
            if len(self._usual) >= _REMEMBERED:
                self._usual.clear()
            found = self._usual[candidates] = self.accuracy(candidates=candidates)
        return found

    def expected_error_bound(self, *, candidates: int, best: int = 1) -> float:
        """How far behind the best the selected score is on average, at most, among
        this many candidates of which `best` are tied.

        Never below the truth. For the exponential mechanism some scores reach it.
        """
        scales = self.law.expected_error(*self._counts(candidates, best))
        return float_above(Fraction(scales) / self.rate)

    @property
    def rate(self) -> Fraction:
        """epsilon / range: how many noise scales there are in one unit of score."""
        return Fraction(int(self._rate.p), int(self._rate.q))

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        return self._loss

    def loss_with_gap(self) -> Loss:
        """What one selection costs if the gap is released, too."""
        if self.law.gap_loss is None:
            raise self._no_gap()
        return self.law.gap_loss(self.epsilon)

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
        return nearest_float(Fraction(scales) / self.rate) if math.isfinite(scales) else scales

    # a caller may have told NumPy to raise, and then a very small difference would
    @np.errstate(all="ignore")
    def _draw(self, candidates: Candidates, chance: Chance) -> int:
        return self.law.draw(self._envelope(candidates), chance)

    def _envelope(self, candidates: Candidates) -> Envelope:
        """The envelope that is fastest for one draw."""
        distances = self._distances(candidates)
        if candidates.columns is not None and isinstance(distances, ArrayDistances):
            return FoldedEnvelope(distances, candidates.columns.best)
        return Envelope(distances)

    # a caller may have told NumPy to raise, and then a very small difference would
    @np.errstate(all="ignore")
    def _draw_with_gap(
        self, candidates: Candidates, step: Fraction, chance: Chance
    ) -> tuple[int, Fraction | None]:
        if candidates.size == 1:
            # there is no second
            return 0, None
        # _read_step has asked
        assert self.law.hazard is not None
        winner, steps = draw_two(
            self.law.hazard, self._distances(candidates), rational(step) * self._rate, chance
        )
        return winner, steps * step

    def _read_step(self, with_gap: bool, step: Number | None) -> Fraction | None:
        """The lattice of the gap, or None if no gap is wanted."""
        if not isinstance(with_gap, bool):
            raise ParameterTypeError("with_gap", "True or False", with_gap)
        if not with_gap:
            if step is not None:
                raise ParameterError("gap_step", "given together with with_gap=True only", step)
            return None
        if self.law.hazard is None:
            raise self._no_gap()
        return (
            self._range.resolution
            if step is None
            else positive(exact_binary(step, "gap_step"), step, "gap_step")
        )

    def _no_gap(self) -> ParameterError:
        return ParameterError(
            "with_gap",
            "False with this kind of noise",
            True,
            "Use permute-and-flip or the exponential mechanism.",
        )

    def _more_shown(self) -> list[str]:
        return []

    def _read(self, scores: Scores) -> Candidates:
        candidates = read_candidates(scores, objective=self.objective)
        candidates.require_resolution(self._resolution)
        return candidates

    def _distances(self, candidates: Candidates) -> OrderedDistances:
        smallest = self.objective == "min"
        rate = self._rate if candidates.unit == 1 else self._rate / candidates.unit
        return measure(candidates.scores, candidates.low, candidates.high, rate, smallest=smallest)

    def _counts(self, candidates: int, best: int) -> tuple[int, int]:
        candidates, best = count(candidates, "candidates"), count(best, "best")
        if best > candidates:
            raise ParameterError("best", f"at most the number of candidates, {candidates}", best)
        return candidates, best
