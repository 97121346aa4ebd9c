"""The generalized exponential mechanism: candidates whose scores have different sensitivities.

How far one person can move each candidate's score is public, and read here once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accuracy import Accuracy, rounded_up
from discreet.errors import ParameterError, ParameterTypeError, public_class
from discreet.exact.enclosures import ball, rational, upper_bound
from discreet.exact.rationals import (
    Number,
    choice,
    count,
    exact_binary,
    nearest_float,
    positive,
    readable,
    set_frozen,
)
from discreet.literals import OBJECTIVES, Objective
from discreet.mechanisms.laws import EXPONENTIAL_LAW
from discreet.mechanisms.scores import Candidates, Scores, read_candidates
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import (
    Slot,
    WithEpsilon,
    given,
    parameterized,
    read_probability,
)
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.samplers.distances import Distances
from discreet.samplers.envelope import Envelope
from discreet.samplers.generalized_distances import measure_tangents

Sensitivities = Any
"""One number for all candidates, a mapping from label to number, a Series, a NumPy
array, or any sequence of numbers.
"""

_NAME = "sensitivities"
_ACCEPTED = (
    "a number for all candidates, or a mapping, a Series, an array of one dimension or a sequence "
    "of numbers"
)


def read_sensitivities(
    given: Sensitivities, candidates: Candidates
) -> tuple[list[Any], NDArray[np.intp]]:
    """All different sensitivities in rising order, as exact numbers, and for each
    candidate the place of its own.
    """
    if isinstance(given, Number) and not isinstance(given, (bool, np.bool_)):
        return [_positive(given)], np.zeros(candidates.size, dtype=np.intp)
    labels = _labels(given)
    values = _values(given if labels is None else _in_order(labels, given, candidates))
    if len(values) != candidates.size:
        raise ParameterError(
            _NAME, f"one for each of the {candidates.size} candidates", len(values)
        )
    if isinstance(values, np.ndarray):
        right = (values > 0) & np.isfinite(values)
        if not right.all():
            _positive(values[~right][0].item())
        different, place = np.unique(values, return_inverse=True)
        return different.tolist(), place
    exact = [_positive(value) for value in values]
    places = {value: number for number, value in enumerate(sorted(set(exact)))}
    return list(places), np.array([places[value] for value in exact], dtype=np.intp)


def _positive(value: Any) -> Fraction:
    return positive(exact_binary(value, _NAME), value, _NAME)


def _labels(given: Any) -> list[Any] | None:
    """The labels of a mapping or a Series (a list has an `index` too, but that one is a method)."""
    if isinstance(given, Mapping):
        return list(given)
    if hasattr(given, "to_numpy") and not callable(getattr(given, "index", len)):
        return list(given.index)
    return None


def _in_order(labels: list[Any], given: Any, candidates: Candidates) -> list[Any]:
    """The sensitivities in the order of the scores. Candidates without labels have
    their positions for labels.
    """
    values = (
        [given[label] for label in labels] if isinstance(given, Mapping) else list(given.to_numpy())
    )
    by_label = dict(zip(labels, values, strict=True))
    wanted = [candidates.label(index) for index in range(candidates.size)]
    missing = [label for label in wanted if label not in by_label]
    if missing or len(labels) != len(wanted):
        hint = (
            f"None was given for {missing[0]!r}."
            if missing
            else "There are more labels than candidates."
        )
        raise ParameterError(_NAME, "given once for every label of the scores", labels, hint)
    return [by_label[label] for label in wanted]


def _values(given: Any) -> NDArray[Any] | list[Any]:
    """An array where the sensitivities have one native type, else a list."""
    # Polars, Arrow and others without labels
    if hasattr(given, "to_numpy"):
        given = np.asarray(given.to_numpy())
    if isinstance(given, np.ndarray):
        usual = given.dtype.kind in "iuf" and given.dtype != np.longdouble
        if (
            given.ndim != 1
            or isinstance(given, np.ma.MaskedArray)
            or not (usual or given.dtype.kind in "fO")
        ):
            raise ParameterTypeError(_NAME, _ACCEPTED, given)
        return given if usual else list(given)
    if isinstance(given, (str, bytes, bytearray, set, frozenset)) or not isinstance(
        given, Iterable
    ):
        raise ParameterTypeError(_NAME, _ACCEPTED, given)
    values = list(given)
    kinds = set(map(type, values))
    if kinds == {float} or (kinds == {int} and max(map(abs, values)) < 2**63):
        return np.array(values)
    return values


@public_class
@parameterized
class GeneralizedExponentialMechanism(WithEpsilon):
    """Pick a good candidate where one person can move some scores much more than others.

    Other mechanisms have to use the largest sensitivity for all. This one lets a
    candidate that one person can hardly move win by a small margin: each is compared
    with every other in units of both their sensitivities.

    epsilon: the privacy loss of one selection.
    failure_probability: the beta of the utility statement. It decides how much
        sensitive candidates are set back.
    objective: whether the "max" or the "min" of the scores is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: epsilon-bounded-range, hence epsilon-DP, whatever the sensitivities are.
        They must be public.
    Utility: except with probability beta, no score is ahead of the selected one by more
        than 4 * (its own sensitivity) * ln(d / beta) / epsilon. If all sensitivities
        are equal, `ExponentialMechanism` is better by a factor of 2 (4 if the scores
        are monotonic).
    Cost: a few passes over the scores, bisections, and a hull of as many points as
        there are different sensitivities.
    Reference: Raskhodnikova and Smith 2016. Proof:
        docs/proofs/generalized-exponential.md.

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

    failure_probability: Slot[Number, Fraction] = given(default=Fraction(1, 100))
    objective: Objective = "max"

    def __post_init__(self) -> None:
        WithEpsilon.__post_init__(self)
        beta = read_probability(self.failure_probability, "failure_probability")
        set_frozen(self, failure_probability=beta)
        set_frozen(self, objective=choice(self.objective, OBJECTIVES, "objective"))

    def __repr__(self) -> str:
        shown = [f"epsilon={readable(self.epsilon)}"]
        shown += [f"failure_probability={readable(self.failure_probability)}"]
        shown += [f"objective={self.objective!r}"] if self.objective != "max" else []
        return f"{type(self).__name__}({', '.join(shown)})"

    # a caller may have told NumPy to raise, and then a very small difference would
    @np.errstate(all="ignore")
    def select(
        self, scores: Scores, sensitivities: Sensitivities, *, bits: Bits | None = None
    ) -> int:
        """Pick one candidate and return its position. Costs `privacy_loss()`. Give
        `bits` only in tests and simulations.

        sensitivities: the most that one person can move each score; public. A number for
            all candidates, a mapping from label to number, or a number for each candidate
            in the order of the scores.
        """
        chance = read_bits(bits)
        return EXPONENTIAL_LAW.draw(
            Envelope(self._distances(self._read(scores), sensitivities)), chance
        )

    # a caller may have told NumPy to raise, and then a very small difference would
    @np.errstate(all="ignore")
    def release(
        self, scores: Scores, sensitivities: Sensitivities, *, bits: Bits | None = None
    ) -> Release:
        """Pick one candidate and return it, by label where there are labels, with what it
        cost; scores and sensitivities as for `select`.
        """
        chance, candidates = read_bits(bits), self._read(scores)
        different, place = read_sensitivities(sensitivities, candidates)
        index = EXPONENTIAL_LAW.draw(Envelope(self._measure(candidates, different, place)), chance)
        return Release(
            value=candidates.label(index),
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=candidates.size,
            seeded=chance.bits.seeded,
            # the largest covers all: docs/proofs/accuracy.md#winners
            accuracy=self.accuracy(candidates=candidates.size, sensitivity=different[-1]),
        )

    # a caller may have told NumPy to raise, and then an unlikely candidate would
    @np.errstate(all="ignore")
    def probabilities(self, scores: Scores, sensitivities: Sensitivities) -> NDArray[np.float64]:
        """The exact output distribution, to about 1e-15. As private as the scores:
        never publish it for real data.
        """
        return np.exp(self.log_probabilities(scores, sensitivities))

    # a caller may have told NumPy to raise, and then an unlikely candidate would
    @np.errstate(all="ignore")
    def log_probabilities(
        self, scores: Scores, sensitivities: Sensitivities
    ) -> NDArray[np.float64]:
        """Natural logarithms of `probabilities`, for candidates so unlikely that a
        float would round them to 0.
        """
        return EXPONENTIAL_LAW.log_probabilities(
            self._distances(self._read(scores), sensitivities).approximate()
        )

    def error_bound(self, *, candidates: int, sensitivity: Number) -> float:
        """How far ahead of the selected score a candidate of this sensitivity can be,
        among this many candidates, except with the mechanism's own
        `failure_probability`.
        """
        penalty = _penalty(count(candidates, "candidates"), self.failure_probability)
        exact = positive(exact_binary(sensitivity, "sensitivity"), sensitivity, "sensitivity")
        return nearest_float(4 * exact * penalty / self.epsilon)

    def accuracy(self, *, candidates: int, sensitivity: Number) -> Accuracy:
        """The `error_bound` as a statement, where no sensitivity is larger than this one."""
        # docs/proofs/accuracy.md#winners
        return Accuracy(
            bound=rounded_up(self.error_bound(candidates=candidates, sensitivity=sensitivity)),
            statement="winner",
            failure_probability=self.failure_probability,
        )

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        # docs/proofs/generalized-exponential.md#privacy
        return EXPONENTIAL_LAW.loss(self.epsilon)

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release."""
        return "generalized-exponential"

    def _read(self, scores: Scores) -> Candidates:
        return read_candidates(scores)

    def _distances(self, candidates: Candidates, sensitivities: Sensitivities) -> Distances:
        different, place = read_sensitivities(sensitivities, candidates)
        return self._measure(candidates, different, place)

    def _measure(
        self, candidates: Candidates, different: list[Any], place: NDArray[np.intp]
    ) -> Distances:
        """How far each candidate is behind, by the different sensitivities and who has which."""
        smallest = Fraction(*different[0].as_integer_ratio())
        candidates.require_resolution(nearest_float(smallest))
        # Scores in units of two sensitivities have sensitivity 1 and range 2, so epsilon /
        # 2 noise scales are one unit.
        rate = self.epsilon / 2 / smallest / candidates.unit
        return measure_tangents(
            candidates.scores,
            (candidates.low, candidates.high),
            different,
            place,
            rate=rational(rate),
            penalty=_penalty(candidates.size, self.failure_probability),
            smallest=self.objective == "min",
        )


@lru_cache(maxsize=256)
def _penalty(candidates: int, failure_probability: Fraction) -> Fraction:
    """ln(d / beta), rounded up to a multiple of 1/1024: privacy needs a public number,
    utility one that is not too small.
    """
    exact = upper_bound(lambda: ball(candidates / failure_probability).log())
    return Fraction(max(1, math.ceil(exact * 1024)), 1024)
