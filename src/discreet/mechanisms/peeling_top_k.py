"""The k best candidates, in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy, Statement, rounded_up
from discreet.errors import ParameterError, called_inside, public_class
from discreet.exact.enclosures import rational
from discreet.exact.rationals import Number, choice, count, nearest_float, readable, set_frozen
from discreet.literals import OBJECTIVES, PICK_NAMES, Objective, PickName
from discreet.mechanisms.error_bounds import first_heads_list_error, softmax_list_error
from discreet.mechanisms.laws import EXPONENTIAL_LAW, GROUPED_DRAWS, PERMUTE_AND_FLIP_LAW, Law
from discreet.mechanisms.scores import Candidates, Scores, read_candidates
from discreet.privacy.loss import ApproxDP, BoundedRange, Loss, PureDP
from discreet.privacy.parameters import (
    Slot,
    WithRange,
    given,
    parameterized,
    read_delta,
    read_probability,
)
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.distances import OrderedDistances, measure
from discreet.samplers.ranking import draw_ranking

_LAW_OF_PICK: dict[PickName, Law] = {
    "permute-and-flip": PERMUTE_AND_FLIP_LAW,
    "exponential": EXPONENTIAL_LAW,
}
_ERROR_OF_PICKS: dict[PickName, Callable[[int, int, Fraction], float]] = {
    "permute-and-flip": first_heads_list_error,
    "exponential": softmax_list_error,
}
# numbers of candidates whose accuracy is remembered
_REMEMBERED = 64


@public_class
@parameterized
class TopKMechanism(WithRange, ABC):
    """A way to pick the k best of many candidates, in order, with one stated privacy
    loss for the whole list.

    k: how many candidates.
    epsilon, delta: the privacy loss of the whole list.
    sensitivity, monotonic, score_range, objective, acknowledge: as for every selection
        mechanism.
    """

    k: int
    delta: Slot[Number, Fraction] = given(default=0)
    objective: Objective = "max"
    _pick_loss: BoundedRange | PureDP = field(init=False, compare=False)
    _rate: fmpq = field(init=False, compare=False)
    _resolution: float = field(init=False, compare=False)
    _usual: dict[int, Accuracy] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        set_frozen(self, k=count(self.k, "k"), delta=read_delta(self.delta))
        set_frozen(self, objective=choice(self.objective, OBJECTIVES, "objective"))
        # docs/proofs/top-k.md#peeling-privacy
        WithRange.__post_init__(self)
        set_frozen(self, _resolution=nearest_float(self._range.resolution), _usual={})
        set_frozen(self, _pick_loss=self._calibrate())
        set_frozen(self, _rate=rational(self.rate))

    def __repr__(self) -> str:
        shown = [f"k={self.k}", f"epsilon={readable(self.epsilon)}"]
        shown += [f"delta={readable(self.delta)}"] if self.delta else []
        for name in ("sensitivity", "score_range"):
            if (value := getattr(self, name)) is not None:
                shown.append(f"{name}={value!r}")
        shown += ["monotonic=True"] if self.monotonic else []
        shown += [f"objective={self.objective!r}"] if self.objective != "max" else []
        return f"{type(self).__name__}({', '.join(shown + self._more_shown())})"

    def select(self, scores: Scores, *, bits: Bits | None = None) -> list[int]:
        """Pick k candidates and return their positions, best first. Costs
        `privacy_loss()`. Give `bits` only in tests.
        """
        chance = read_bits(bits)
        return self._draw(self._read(scores), chance)

    @called_inside
    def select_counted(self, candidates: Candidates, chance: Chance) -> list[int]:
        """The positions for scores that are read already."""
        candidates.require_resolution(self._resolution)
        self.require_enough(candidates.size)
        return self._draw(candidates, chance)

    def release(self, scores: Scores, *, bits: Bits | None = None) -> Release:
        """Pick k candidates and return them as a list, by label where there are labels,
        with what it cost.
        """
        chance, candidates = read_bits(bits), self._read(scores)
        return Release(
            value=[candidates.label(index) for index in self._draw(candidates, chance)],
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=candidates.size,
            seeded=chance.bits.seeded,
            accuracy=self._usual_accuracy(candidates.size),
        )

    # a caller may have told NumPy to raise, and then an unlikely list would
    @np.errstate(all="ignore")
    def log_probability(self, output: Sequence[int], scores: Scores) -> float:
        """The natural logarithm of the probability of one list of positions, to about
        1e-12 where all scores are within some thousand noise scales: distances from the
        best are floats. As private as the scores.

        output: what `select` gave.
        """
        candidates = self._read(scores)
        ranking = list(output)
        if sorted(set(ranking)) != sorted(ranking) or len(ranking) != self.k:
            raise ParameterError("output", f"{self.k} different positions", ranking)
        if not all(0 <= position < candidates.size for position in ranking):
            raise ParameterError("output", "positions of candidates", ranking)
        return self._log_probability(self._distances(candidates).approximate(), ranking)

    def error_bound(self, failure_probability: Number, *, candidates: int) -> float:
        """How far the i-th score of the list can be behind the i-th best, for every i,
        except with `failure_probability`, among this many candidates.
        """
        candidates = self.require_enough(count(candidates, "candidates"))
        scales = self._error(
            candidates, read_probability(failure_probability, "failure_probability")
        )
        return nearest_float(Fraction(scales) / self.rate)

    def accuracy(self, *, candidates: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement, never below the truth."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=rounded_up(self.error_bound(beta, candidates=candidates)),
            statement=self._statement,
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

    @property
    def pick_loss(self) -> BoundedRange | PureDP:
        """What each of the picks costs."""
        return self._pick_loss

    @property
    def rate(self) -> Fraction:
        """How many noise scales there are in one unit of score."""
        return self._pick_loss.epsilon / self._range.value

    @property
    @abstractmethod
    def name(self) -> str:
        """The word for this mechanism in a Release."""

    def privacy_loss(self) -> Loss:
        """What the whole list costs."""
        # k adaptive picks: docs/proofs/top-k.md#peeling-privacy
        if self.k * self._pick_loss.epsilon <= self.epsilon:
            # they add up without a delta, as one pick does
            return PureDP(self.epsilon)
        return ApproxDP(self.epsilon, self.delta)

    def losses(self) -> Mapping[Loss, int]:
        """The losses the list is made of, for `compose`: tighter than `privacy_loss()`
        where it is one release of many.
        """
        return {self._pick_loss: self.k}

    @property
    @abstractmethod
    def _statement(self) -> Statement:
        """What the error bound is about."""

    @abstractmethod
    def _calibrate(self) -> BoundedRange | PureDP:
        """What one pick costs."""

    @abstractmethod
    def _draw(self, candidates: Candidates, chance: Chance) -> list[int]: ...

    @abstractmethod
    def _log_probability(self, distances: NDArray[np.float64], ranking: list[int]) -> float: ...

    @abstractmethod
    def _error(self, candidates: int, failure_probability: Fraction) -> float:
        """The error bound in noise scales."""

    def _more_shown(self) -> list[str]:
        return []

    def _read(self, scores: Scores) -> Candidates:
        candidates = read_candidates(scores, objective=self.objective)
        candidates.require_resolution(self._resolution)
        self.require_enough(candidates.size)
        return candidates

    def require_enough(self, candidates: int) -> int:
        """Return the number of candidates if k of them can be picked."""
        if self.k > candidates:
            raise ParameterError("k", f"at most the number of candidates, {candidates}", self.k)
        return candidates

    def _distances(self, candidates: Candidates) -> OrderedDistances:
        smallest = self.objective == "min"
        rate = self._rate_of(candidates)
        return measure(candidates.scores, candidates.low, candidates.high, rate, smallest=smallest)

    def _rate_of(self, candidates: Candidates) -> fmpq:
        """How many noise scales there are in 1 of these scores, which count in a unit."""
        return self._rate if candidates.unit == 1 else self._rate / candidates.unit


@public_class
@parameterized
class PeelingTopK(TopKMechanism):
    """Select k times, each time from the candidates that are left.

    With mechanism="exponential" this has exactly the law of *one-shot Gumbel*: add
    Gumbel noise to all scores once and sort.

    k: how many candidates.
    epsilon, delta: the privacy loss of the whole list.
    sensitivity, monotonic, score_range, objective, acknowledge: as for `select`.
    mechanism: "permute-and-flip" or "exponential", by which each pick is drawn.

    Privacy: k adaptive selections. Pure: epsilon / k each. With a delta: each gets what
        `plan` allows for k of them, and that is where the exponential mechanism is far
        better: its picks are bounded range. (One-shot exponential noise of scale k *
        range / epsilon is not peeling, but epsilon-DP too: raising the noise of the k
        winners by at most the range turns one data set's list into the other's. It is
        not offered: docs/decisions/0022-lists-by-both-errors.md.)
    Utility: `error_bound`; grows with k if pure, with about the square root of k if
        not.
    Cost: three to four selections for k = 100 of a million candidates on most data; two
        or three times that where good candidates are few, or lie side by side in a long
        row.
    Reference: Durfee and Rogers 2019; McKenna and Sheldon 2020. Proof:
        docs/proofs/top-k.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = PeelingTopK(k=2, epsilon=2, sensitivity=1, monotonic=True)
    >>> mechanism.select([41, 3, 38, 12], bits=SeededBits(1))
    [0, 2]
    >>> approximate = PeelingTopK(
    ...     k=100, epsilon=1, delta=1e-6, sensitivity=1, monotonic=True, mechanism="exponential"
    ... )
    >>> 0.047 < approximate.rate < 0.048, approximate.privacy_loss()
    (True, ApproxDP(epsilon=1, delta=1e-06))
    """

    mechanism: PickName = "permute-and-flip"

    def __post_init__(self) -> None:
        # first, because the loss of a pick is that of its mechanism:
        # docs/proofs/top-k.md#peeling-privacy
        set_frozen(self, mechanism=choice(self.mechanism, PICK_NAMES, "mechanism"))
        TopKMechanism.__post_init__(self)

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release."""
        return "one-shot-gumbel" if self.mechanism == "exponential" else "peeling-permute-and-flip"

    @property
    def _statement(self) -> Statement:
        # a candidate that is left out was there at each pick: docs/proofs/accuracy.md#lists
        return "list"

    def _calibrate(self) -> BoundedRange | PureDP:
        return pick_loss(
            self.k,
            self.epsilon,
            self.delta,
            BoundedRange if self.mechanism == "exponential" else PureDP,
        )

    # a caller may have told NumPy to raise, and then a very small difference would
    @np.errstate(all="ignore")
    def _draw(self, candidates: Candidates, chance: Chance) -> list[int]:
        return draw_ranking(
            GROUPED_DRAWS[self.mechanism],
            self._distances(candidates),
            self.k,
            chance,
            columns=candidates.columns,
        )

    def _log_probability(self, distances: NDArray[np.float64], ranking: list[int]) -> float:
        left = np.arange(distances.size)
        total = 0.0
        for position in ranking:
            behind = distances[left] - distances[left].min()
            (place,) = np.flatnonzero(left == position)
            total += float(_LAW_OF_PICK[self.mechanism].log_probabilities(behind)[place])
            left = np.delete(left, place)
        return total

    def _error(self, candidates: int, failure_probability: Fraction) -> float:
        # the best that is left is at least the i-th best of all: docs/proofs/accuracy.md#lists
        return _ERROR_OF_PICKS[self.mechanism](candidates, self.k, failure_probability)

    def _more_shown(self) -> list[str]:
        return [f"mechanism={self.mechanism!r}"] if self.mechanism != "permute-and-flip" else []


@lru_cache(maxsize=256)
def pick_loss(
    k: int, epsilon: Fraction, delta: Fraction, kind: type[BoundedRange] | type[PureDP]
) -> BoundedRange | PureDP:
    """What each of k adaptive picks may cost, so that all of them cost (epsilon, delta).
    Remembered, because the search of the planner takes a moment.
    """
    # docs/proofs/top-k.md#peeling-privacy
    if k == 1 or not delta:
        return kind(epsilon / k)
    # late, so that a selection loads no accountant
    from discreet.accounting.planner import plan

    return plan(queries=k, budget=ApproxDP(epsilon, delta), kind=kind).loss
