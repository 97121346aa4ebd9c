"""Above threshold, also known as the sparse vector technique: the first of many queries
that is large enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ScoresError, ScoresTypeError, public_class
from discreet.exact.enclosures import ball, rational, upper_bound
from discreet.exact.rationals import (
    Number,
    count,
    exact_binary,
    float_above,
    is_finite,
    positive,
    readable,
    set_frozen,
)
from discreet.privacy.loss import Loss, PureDP
from discreet.privacy.parameters import (
    ScoreRange,
    WithEpsilon,
    parameterized,
    read_probability,
)
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.randomness.whole_numbers import draw_laplace
from discreet.release import Release

# The part of epsilon that the threshold's noise takes. The variance of the gap is least at
# 1 : 2^(2/3) where the queries' noise must cover a move twice as large (5 : 8 is within a
# ten-thousandth of that least variance), and at 1 : 1 otherwise.
_THRESHOLD_SHARE = Fraction(5, 13)
_MONOTONIC_SHARE = Fraction(1, 2)


@public_class
@parameterized
class AboveThreshold(WithEpsilon):
    """Say which query of a stream is the first whose answer is above a public
    threshold, and by how much.

    Only the query that is found costs anything: the stream before it may be of any
    length.

    threshold: what an answer has to reach; public.
    epsilon: the privacy loss of one search.
    sensitivity: the most that one person can move one answer.
    monotonic: True if one person moves all answers in the same direction (counts under
        adding or removing a person).
    step: what answers, threshold and noise are whole multiples of; the sensitivity,
        unless a finer gap is wanted. Choose one that divides the sensitivity: the noise
        covers a move of the sensitivity rounded up to a multiple of the step.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: epsilon-DP for position and gap together, for any number of queries, also
        if later queries depend on earlier ones.
    Utility: `error_bound` is about (3.25 * sensitivity / epsilon) * ln(queries / beta);
        2 instead of 3.25 if monotonic.
    Cost: a few exact draws for each query; nothing is read beyond the query that is
        found.
    Reference: Dwork and Roth 2014; Lyu, Su and Li 2017; Ding et al. 2019 for the gap.
        Proof: docs/proofs/above-threshold.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = AboveThreshold(threshold=100, epsilon=1, sensitivity=1, monotonic=True)
    >>> mechanism.select([3, 8, 250, 12, 300], bits=SeededBits(7))
    2
    >>> release = mechanism.release([3, 8, 250, 12, 300], bits=SeededBits(7))
    >>> release.value, release.gap, release.loss
    (2, Fraction(160, 1), PureDP(epsilon=1))
    >>> print(mechanism.select([3, 8, 12], bits=SeededBits(7)))
    None
    >>> mechanism.error_bound(queries=1000, failure_probability=0.01)
    26.0

    A generator makes it interactive: it runs only up to the query that is found, and
    each question may depend on the fact that all earlier ones were not.

    >>> asked = []
    >>> def answers():
    ...     for age in (90, 60, 30, 0):
    ...         asked.append(age)  # all that is known here: no age before this one was found
    ...         yield {90: 2, 60: 310, 30: 700, 0: 999}[age]
    >>> mechanism.select(answers(), bits=SeededBits(7)), asked
    (1, [90, 60])
    """

    threshold: Number
    sensitivity: Number
    monotonic: bool = False
    step: Number | None = None
    _moved: Fraction = field(init=False, compare=False)
    _step: Fraction = field(init=False, compare=False)
    _limit: int = field(init=False, compare=False)
    _threshold_rate: fmpq = field(init=False, compare=False)
    _query_rate: fmpq = field(init=False, compare=False)

    def __post_init__(self) -> None:
        WithEpsilon.__post_init__(self)
        threshold = exact_binary(self.threshold, "threshold")
        span = ScoreRange(sensitivity=self.sensitivity, monotonic=self.monotonic)
        step = span.resolution
        if self.step is not None:
            step = positive(exact_binary(self.step, "step"), self.step, "step")
        first = self.epsilon * (_MONOTONIC_SHARE if self.monotonic else _THRESHOLD_SHARE)
        # how many steps one person can move an answer that was rounded down to a step:
        # docs/proofs/above-threshold.md#privacy
        move = math.ceil(span.resolution / step)
        set_frozen(self, _moved=span.resolution, _step=step, _limit=math.ceil(threshold / step))
        set_frozen(self, _threshold_rate=rational(first / move))
        rate = (self.epsilon - first) / (move if self.monotonic else 2 * move)
        set_frozen(self, _query_rate=rational(rate))

    def __repr__(self) -> str:
        shown = [
            f"threshold={self.threshold!r}",
            f"epsilon={readable(self.epsilon)}",
            f"sensitivity={self.sensitivity!r}",
        ]
        shown += ["monotonic=True"] if self.monotonic else []
        shown += [f"step={self.step!r}"] if self.step is not None else []
        return f"{type(self).__name__}({', '.join(shown)})"

    def select(self, answers: Iterable[Any], *, bits: Bits | None = None) -> int | None:
        """The position of the first answer above the threshold, or None. Costs
        `privacy_loss()` in both cases. Give `bits` only in tests and simulations.

        answers: the queries' answers in their order: a sequence, a Series, an array of one
            dimension or a generator.
        """
        found = self._search(answers, read_bits(bits))
        return None if found is None else found[0]

    def release(self, answers: Iterable[Any], *, bits: Bits | None = None) -> Release:
        """The position with its gap: by how much the noisy answer was above the noisy
        threshold, a multiple of the step. The answers are as for `select`.
        """
        chance = read_bits(bits)
        position, steps = self._search(answers, chance) or (None, None)
        return Release(
            value=position,
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=None,
            gap=None if steps is None else steps * self._step,
            seeded=chance.bits.seeded,
            # the length of a stream in which nothing was found may be private
            accuracy=None if position is None else self.accuracy(position=position),
        )

    def privacy_loss(self) -> Loss:
        """What one search costs, whatever comes out of it."""
        # docs/proofs/above-threshold.md#privacy
        return PureDP(self.epsilon)

    def error_bound(self, failure_probability: Number, *, queries: int) -> float:
        """How wrong a search through this many queries can be, except with `failure_probability`.

        The answer that was found is below the threshold by at most this much, and each
        answer before it is above the threshold by at most this much.
        """
        queries = count(queries, "queries")
        beta = read_probability(failure_probability, "failure_probability")
        # no answer is between the steps: docs/proofs/above-threshold.md#utility
        return float_above(self._error(beta / queries))

    def accuracy(self, *, position: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """How wrong a search can be that found this position, in a stream of any length.

        It holds for all positions at once, so the position may be the one that was
        released.
        """
        queries = count(position, "position", least=0) + 1
        beta = read_probability(failure_probability, "failure_probability")
        # 1/2 + 1/6 + 1/12 + ... = 1: docs/proofs/accuracy.md#thresholds
        bound = float_above(self._error(beta / (queries * (queries + 1))))
        return Accuracy(bound=bound, statement="threshold", failure_probability=beta)

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release."""
        return "above-threshold"

    def _error(self, failure_probability: Fraction) -> Fraction:
        """How wrong the answer to one query can be."""
        noise = _reach(self._threshold_rate, self._query_rate, failure_probability)
        threshold = exact_binary(self.threshold, "threshold")
        return noise * self._step + self._limit * self._step - threshold

    def _search(self, answers: Iterable[Any], chance: Chance) -> tuple[int, int] | None:
        """The position of the first noisy answer at or above the noisy threshold, and
        how many steps above it is.
        """
        _require_stream(answers)
        limit = self._limit + draw_laplace(self._threshold_rate, chance)
        for position, answer in enumerate(answers):
            steps = self._whole_steps(answer) + draw_laplace(self._query_rate, chance) - limit
            if steps >= 0:
                return position, steps
        return None

    def _whole_steps(self, answer: Any) -> int:
        """An answer rounded down to a multiple of the step."""
        return _read_answer(answer, self._moved) // self._step


def _reach(first: fmpq, second: fmpq, beta: Fraction) -> int:
    """The smallest n that a sum of two discrete Laplace variables exceeds with
    probability at most beta; 2^-60 more, at most.
    """
    slower = min(first, second)
    # For small rates, terms near 1 cancel and powers are high: as many more bits as 1 /
    # rate has, four times.
    precision = 128 + 4 * max(0, int(slower.q).bit_length() - int(slower.p).bit_length() + 1)

    def is_enough(number: int) -> bool:
        return upper_bound(lambda: _tail(first, second, number + 1) / ball(beta), precision) <= 1

    low, high = -1, int((1 / slower).floor())
    while not is_enough(high):
        low, high = high, 2 * high + 1
    while high - low > 1 + (high >> 60):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _tail(first: fmpq, second: fmpq, number: int) -> arb:
    """The probability that X + Y >= number >= 1, for discrete Laplace variables X and Y
    of these rates.
    """
    v, w = (-arb(first)).exp(), (-arb(second)).exp()
    # X <= 0
    x_below = w**number / (1 - v * w)
    x_inside = (
        (number - 1) * v**number
        if first == second
        else v * w * (v ** (number - 1) - w ** (number - 1)) / (v - w)
    )
    # X >= number
    x_above = v**number * ((1 + w) / (1 - v) - w / (1 - v * w))
    return (1 - v) / ((1 + v) * (1 + w)) * (x_below + x_inside + x_above)


def _require_stream(answers: Any) -> None:
    """Refuse what has no order, or what would hand out something else than its numbers."""
    unordered = isinstance(answers, (str, bytes, bytearray, set, frozenset, Mapping))
    if unordered or not isinstance(answers, Iterable) or getattr(answers, "ndim", 1) != 1:
        raise ScoresTypeError(
            f"must be numbers in a row: a sequence, a Series, an array of "
            "one dimension or a "
            f"generator. Got {type(answers).__name__}.",
            name="answers",
        )


def _read_answer(answer: Any, sensitivity: Fraction) -> Fraction:
    """One answer as an exact number; a message never shows it."""
    # a length of time is an integer to NumPy, too
    if isinstance(answer, np.integer) and not isinstance(answer, np.timedelta64):
        return Fraction(int(answer))
    if isinstance(answer, bool) or not isinstance(
        answer, (int, float, Fraction, Decimal, np.floating)
    ):
        raise ScoresTypeError(
            f"must be numbers. Got a {type(answer).__name__} among them.", name="answers"
        )
    if isinstance(answer, (float, np.floating, Decimal)) and not is_finite(answer):
        raise ScoresError(
            "must be finite. Got NaN or an infinity among them. Replace "
            "such values by a public number first.",
            name="answers",
        )
    exact = Fraction(*answer.as_integer_ratio())
    if isinstance(answer, (float, np.floating)) and _spacing(exact, answer) > sensitivity:
        raise ScoresError(
            "must be precise enough to show what one person changes. "
            "Got floating-point numbers so large that they are farther apart than the "
            "sensitivity. Use integers, or subtract a public constant.",
            name="answers",
        )
    return exact


def _spacing(exact: Fraction, answer: float | np.floating[Any]) -> Fraction:
    """The step from a float to the next larger one of its kind (less for numbers so
    small that it cannot matter).
    """
    digits = int(np.finfo(type(answer)).nmant) if isinstance(answer, np.floating) else 52
    if not exact:
        return Fraction(0)
    # The denominator is a power of two, so this is the whole part of the binary logarithm.
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    return Fraction(2) ** (exponent - digits)
