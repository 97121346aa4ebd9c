"""The generalized exponential mechanism: candidates whose scores have different sensitivities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.certified import ball, upper_bound
from discreet.mechanisms.candidates import Candidates, Scores, read_candidates
from discreet.mechanisms.laws import SOFTMAX
from discreet.mechanisms.parameters import read_bits, read_epsilon, read_probability
from discreet.mechanisms.sensitivities import Sensitivities, read_sensitivities
from discreet.privacy.loss import Loss
from discreet.privacy.numbers import Number, choice, count, exact_binary, positive, readable
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.distances import Distances
from discreet.samplers.envelope import Envelope
from discreet.samplers.tangents import measure_tangents


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GeneralizedExponentialMechanism:
    """Pick a good candidate where one person can move some scores much more than others.

    Other mechanisms have to use the largest sensitivity for all. This one lets a candidate that one person can hardly move
    win by a small margin: each is compared with every other in units of both their sensitivities.

    epsilon: the privacy loss of one selection.
    failure_probability: the beta of the utility statement. It decides how much sensitive candidates are set back.
    objective: whether the "max" or the "min" of the scores is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: epsilon-bounded-range, hence epsilon-DP, whatever the sensitivities are. They must be public.
    Utility: except with probability beta, no score is ahead of the selected one by more than 4 * (its own sensitivity) *
        ln(d / beta) / epsilon. If all sensitivities are equal, `ExponentialMechanism` is better by a factor of 2 (4 if
        the scores are monotonic).
    Cost: a few passes over the scores, bisections, and a hull of as many points as there are different sensitivities.
    Reference: Raskhodnikova and Smith 2016. Proof: docs/proofs/generalized-exponential.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = GeneralizedExponentialMechanism(epsilon=1, failure_probability=0.01)
    >>> scores = {"few": 100, "many": 300, "noisy": 900}
    >>> sensitivities = {"few": 1, "many": 2, "noisy": 1000}
    >>> mechanism.release(scores, sensitivities, bits=SeededBits(7)).value
    'many'
    >>> mechanism.probabilities(scores, sensitivities).round(6).tolist()
    [0.0, 0.995422, 0.004578]
    >>> mechanism.privacy_loss()
    BoundedRange(epsilon=1)
    >>> [round(mechanism.error_bound(candidates=3, sensitivity=size), 1) for size in (1, 2, 1000)]
    [22.8, 45.6, 22816.4]
    """

    epsilon: Number
    failure_probability: Number = Fraction(1, 100)
    objective: str = "max"
    acknowledge: str | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon, self.acknowledge, owner))
        beta = read_probability(self.failure_probability, "failure_probability", owner)
        object.__setattr__(self, "failure_probability", beta)
        choice(self.objective, ("max", "min"), "objective", owner)

    def __repr__(self) -> str:
        shown = [f"epsilon={readable(self._exact_epsilon)}"]
        shown += [f"failure_probability={readable(cast(Fraction, self.failure_probability))}"]
        shown += [f"objective={self.objective!r}"] if self.objective != "max" else []
        return f"{type(self).__name__}({', '.join(shown)})"

    def select(self, scores: Scores, sensitivities: Sensitivities, *, bits: Bits | None = None) -> int:
        """Pick one candidate and return its position. Costs `privacy_loss()`. Give `bits` only in tests and simulations."""
        chance = read_bits(bits, type(self).__name__)
        return SOFTMAX.draw(Envelope(self._distances(self._read(scores), sensitivities)), chance)

    def release(self, scores: Scores, sensitivities: Sensitivities, *, bits: Bits | None = None) -> Release:
        """Pick one candidate and return it, by label where there are labels, with what it cost."""
        chance, candidates = read_bits(bits, type(self).__name__), self._read(scores)
        index = SOFTMAX.draw(Envelope(self._distances(candidates, sensitivities)), chance)
        return Release(
            value=candidates.label(index),
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=candidates.size,
            seeded=chance.bits.seeded,
        )

    def probabilities(self, scores: Scores, sensitivities: Sensitivities) -> NDArray[np.float64]:
        """The exact output distribution, to about 1e-15. As private as the scores: never publish it for real data."""
        return np.exp(self.log_probabilities(scores, sensitivities))

    def log_probabilities(self, scores: Scores, sensitivities: Sensitivities) -> NDArray[np.float64]:
        """Natural logarithms of `probabilities`, for candidates so unlikely that a float would round them to 0."""
        return SOFTMAX.log_probabilities(self._distances(self._read(scores), sensitivities).approximate())

    def error_bound(self, candidates: int, sensitivity: Number) -> float:
        """How far ahead of the selected score a candidate of this sensitivity can be, except with `failure_probability`."""
        owner = type(self).__name__
        penalty = _penalty(count(candidates, "candidates", owner), cast(Fraction, self.failure_probability))
        exact = positive(exact_binary(sensitivity, "sensitivity", owner), sensitivity, "sensitivity", owner)
        try:
            return float(4 * exact * penalty / self._exact_epsilon)
        except OverflowError:
            return math.inf

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        return SOFTMAX.loss(self._exact_epsilon)

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release."""
        return "generalized-exponential"

    @property
    def _exact_epsilon(self) -> Fraction:
        return cast(Fraction, self.epsilon)  # read in __post_init__

    def _read(self, scores: Scores) -> Candidates:
        return read_candidates(scores, type(self).__name__)

    def _distances(self, candidates: Candidates, sensitivities: Sensitivities) -> Distances:
        owner = type(self).__name__
        different, place = read_sensitivities(sensitivities, candidates, owner)
        smallest = Fraction(*different[0].as_integer_ratio())
        candidates.require_resolution(_nearest_float(smallest), owner)
        # Scores in units of two sensitivities have sensitivity 1 and range 2, so epsilon / 2 noise scales are one unit.
        rate = self._exact_epsilon / 2 / smallest / candidates.unit
        return measure_tangents(
            candidates.scores,
            (candidates.low, candidates.high),
            different,
            place,
            rate=fmpq(rate.numerator, rate.denominator),
            penalty=_penalty(candidates.size, cast(Fraction, self.failure_probability)),
            smallest=self.objective == "min",
        )


@lru_cache(maxsize=256)
def _penalty(candidates: int, failure_probability: Fraction) -> Fraction:
    """ln(d / beta), rounded up to a multiple of 1/1024: privacy needs a public number, utility one that is not too small."""
    exact = upper_bound(lambda: ball(candidates / failure_probability).log())
    return Fraction(max(1, math.ceil(exact * 1024)), 1024)


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
