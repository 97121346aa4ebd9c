"""The exponential mechanism over all whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from discreet.errors import ParameterTypeError, ScoresError, ScoresTypeError
from discreet.mechanisms.discrete_laplace import as_rational
from discreet.mechanisms.parameters import read_bits, read_epsilon
from discreet.privacy.loss import BoundedRange, Loss
from discreet.privacy.numbers import Number, exact_binary, readable
from discreet.privacy.sensitivity import ScoreRange
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.lattice import EndlessScoreError, draw_lattice

_FARTHEST = 2**512

Score = Callable[[int], Number]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LatticeExponentialMechanism:
    """Pick a whole number, any of them, with odds exp(rate * score).

    score: from a whole number to its score. It has to be concave (each step up is no larger than the one before), and to come down on
        both sides: otherwise the odds of all numbers have no finite sum, and there is no such mechanism.
    epsilon: the privacy loss of one selection.
    sensitivity, monotonic, score_range: how far one person can move the scores, as for the other mechanisms.
    start: where to begin looking for the best number; public. Anything is right, near is faster.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: bounded range. That the score is concave on every data set is your promise; where it is seen to be broken, an error says so.
    Utility: as the exponential mechanism's on the numbers that matter.
    Cost: a few dozen scores; their number grows with the logarithm of how far the best number is from the start.
    Proof: docs/proofs/noise.md.

    >>> from discreet.testing import SeededBits
    >>> incomes = [1200, 1800, 2100, 2500, 9000]
    >>> mechanism = LatticeExponentialMechanism(
    ...     score=lambda y: -sum(abs(min(x, 5000) - y) for x in incomes), epsilon=1, sensitivity=5000, start=2000)
    >>> isinstance(mechanism.release(bits=SeededBits(1)).value, int)
    True
    """

    score: Score
    epsilon: Number
    sensitivity: Number | None = None
    monotonic: bool = False
    score_range: Number | None = None
    start: int = 0
    acknowledge: str | None = None
    _rate: fmpq = field(init=False, compare=False)
    _loss: BoundedRange = field(init=False, compare=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not callable(self.score):
            raise ParameterTypeError(owner, "score", "a function from a whole number to its score", self.score)
        if isinstance(self.start, (bool, np.bool_)) or not isinstance(self.start, (int, np.integer)):
            raise ParameterTypeError(owner, "start", "a whole number", self.start)
        epsilon = read_epsilon(self.epsilon, self.acknowledge, owner)
        span = ScoreRange.read(
            sensitivity=self.sensitivity, monotonic=self.monotonic, score_range=self.score_range, owner=owner
        )
        object.__setattr__(self, "start", int(self.start))
        object.__setattr__(self, "_rate", as_rational(epsilon / span.value))
        object.__setattr__(self, "_loss", BoundedRange(epsilon))

    def __repr__(self) -> str:
        return f"LatticeExponentialMechanism(epsilon={readable(self._loss.epsilon)}, start={self.start})"

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        return self._loss

    def select(self, *, bits: Bits | None = None) -> int:
        """Pick a whole number. Costs `privacy_loss()`. Give `bits` only in tests and simulations."""
        chance = read_bits(bits, type(self).__name__)
        scores = _Scores(self.score)
        best = scores.best(self.start)

        def side(direction: int) -> Callable[[int], fmpq]:
            return lambda steps: as_rational(scores.at(best) - scores.at(best + direction * steps)) * self._rate

        try:
            return best + draw_lattice((side(1), side(-1)), chance)
        except EndlessScoreError:
            raise _endless() from None

    def release(self, *, bits: Bits | None = None) -> Release:
        """Pick a whole number, with what it cost."""
        return Release(
            value=self.select(bits=bits),
            loss=self._loss,
            mechanism="lattice-exponential",
            candidates=None,
            seeded=read_bits(bits, type(self).__name__).bits.seeded,
        )


class _Scores:
    """The score as exact rationals, remembered, and watched for steps that grow where they must not."""

    def __init__(self, score: Score) -> None:
        self._score = score
        self._known: dict[int, Fraction] = {}

    def at(self, number: int) -> Fraction:
        if number not in self._known:
            self._known[number] = _exact(self._score(number))
        return self._known[number]

    def rises(self, number: int) -> bool:
        """Whether the next number is better."""
        return self.at(number + 1) > self.at(number)

    def best(self, start: int) -> int:
        """The best number, by steps that double and then halve: where the score stops rising."""
        low, high = self._bracket(start)
        while high - low > 1:  # rises at low, and not at high
            middle = (low + high) // 2
            low, high = (middle, high) if self.rises(middle) else (low, middle)
        self._watch(high)
        return high

    def _bracket(self, start: int) -> tuple[int, int]:
        step = 1
        rising = self.rises(start)
        here = start
        while step < _FARTHEST:
            there = here + step if rising else here - step
            if self.rises(there) != rising:
                return (here, there) if rising else (there, here)
            here, step = there, 2 * step
        raise _endless()

    def _watch(self, best: int) -> None:
        """Concave means that of three numbers the middle one is at or above the line through the others."""
        known = sorted(self._known)
        for left, middle, right in zip(known, known[1:], known[2:], strict=False):
            line = self._known[left] * (right - middle) + self._known[right] * (middle - left)
            if self._known[middle] * (right - left) < line:
                raise ScoresError("The 'score' of LatticeExponentialMechanism must be concave. Got one that is not.")


def _exact(value: Any) -> Fraction:
    try:
        return exact_binary(value, "score", "LatticeExponentialMechanism")
    except ValueError:
        raise ScoresTypeError(
            "The 'score' of LatticeExponentialMechanism must give finite numbers. Got something else."
        ) from None


def _endless() -> ScoresError:
    return ScoresError(
        "The 'score' of LatticeExponentialMechanism must come down on both sides: otherwise the odds of all whole numbers have no "
        "finite sum, and no mechanism has such odds. Got one that does not come down. Give bounds, or a score that falls with distance."
    )
