"""The exponential mechanism over all whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from discreet.accuracy import USUAL_FAILURE, Accuracy, rounded_up
from discreet.errors import (
    Hidden,
    ParameterTypeError,
    ScoresError,
    ScoresTypeError,
    public_class,
    type_name,
)
from discreet.exact.enclosures import at_precision, geometric_sum, nearest, rational
from discreet.exact.rationals import (
    Number,
    is_whole,
    nearest_float,
    private_binary,
    readable,
    set_frozen,
)
from discreet.mechanisms.error_bounds import concave_error
from discreet.privacy.loss import BoundedRange, Loss
from discreet.privacy.parameters import WithRange, parameterized, read_probability
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.samplers.lattice import Distance, EndlessScoreError, draw_lattice

_FARTHEST = 2**512
# how many stretches of one side are added up, which takes a few seconds
_MOST_STRETCHES = 2**16

Score = Callable[[int], Number]


@public_class
@parameterized
class LatticeExponentialMechanism(WithRange):
    """Pick one of all whole numbers, without a bound, with odds exp(rate * score).

    epsilon: the privacy loss of one selection.
    sensitivity, monotonic, score_range: how far one person can move the scores, as for
        the other mechanisms.
    start: where to begin looking for the best number; public. Anything is right, near
        is faster.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: bounded range. That the score is concave on every data set is your promise;
        where it is seen to be broken, an error says so.
    Utility: as the exponential mechanism's on the numbers that matter.
    Cost: a few dozen scores; their number grows with the logarithm of how far the best
        number is from the start.
    Proof: docs/proofs/noise.md.

    >>> from discreet.testing import SeededBits
    >>> incomes = [
    ...     1200,
    ...     1800,
    ...     2100,
    ...     2500,
    ...     9000,
    ... ]  # another value from 0 to 5000 moves a sum of distances by at most 5000
    >>> mechanism = LatticeExponentialMechanism(epsilon=1, sensitivity=5000, start=2000)
    >>> release = mechanism.release(
    ...     lambda y: -sum(abs(min(x, 5000) - y) for x in incomes), bits=SeededBits(1)
    ... )
    >>> isinstance(release.value, int)
    True
    """

    start: int = 0
    _rate: fmpq = field(init=False, compare=False)
    _loss: BoundedRange = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not is_whole(self.start):
            raise ParameterTypeError("start", "a whole number", self.start)
        # docs/proofs/noise.md#all-whole-numbers
        WithRange.__post_init__(self)
        set_frozen(self, start=int(self.start), _loss=BoundedRange(self.epsilon))
        set_frozen(self, _rate=rational(self.epsilon / self._range.value))

    def __repr__(self) -> str:
        return (
            f"LatticeExponentialMechanism(epsilon={readable(self._loss.epsilon)}, "
            f"start={self.start})"
        )

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        return self._loss

    def select(self, score: Score, *, bits: Bits | None = None) -> int:
        """Pick a whole number. Costs `privacy_loss()`. Give `bits` only in tests and
        simulations.

        score: from a whole number to its score. It has to be concave (each step up is
            no larger than the one before), and to come down on both sides: otherwise
            the odds of all numbers have no finite sum, and there is no such mechanism.
            Give whole numbers or fractions: far away a float rounds by more than one
            person moves it.
        """
        chance = read_bits(bits)
        scores = _Scores(score)
        best = scores.best(self.start)
        try:
            return best + draw_lattice(self._sides(scores, best), chance)
        except EndlessScoreError:
            raise _endless() from None

    def release(self, score: Score, *, bits: Bits | None = None) -> Release:
        """Pick a whole number, with what it cost; the score as for `select`."""
        return Release(
            value=self.select(score, bits=bits),
            loss=self._loss,
            mechanism="lattice-exponential",
            candidates=None,
            seeded=read_bits(bits).bits.seeded,
            accuracy=self.accuracy(),
        )

    def error_bound(self, failure_probability: Number) -> float:
        """How far behind the best the score of the selected number can be, except with
        `failure_probability`, however slowly a concave score falls.

        >>> mechanism = LatticeExponentialMechanism(epsilon=1, sensitivity=1)
        >>> round(mechanism.error_bound(0.05), 2)
        7.38
        """
        beta = read_probability(failure_probability, "failure_probability")
        # as if there were two numbers: docs/proofs/accuracy.md#all-whole-numbers
        scales = Fraction(concave_error(beta))
        return nearest_float(scales / Fraction(int(self._rate.p), int(self._rate.q)))

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement, never below the truth."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=rounded_up(self.error_bound(beta)),
            statement="winner",
            thing="number",
            failure_probability=beta,
        )

    def log_probability(self, output: int, score: Score) -> float:
        """The natural logarithm of the probability of one whole number. As private as
        the score: never publish it for real data.

        output: what `select` gave.
        score: as for `select`.

        Promise: the float nearest to the true number, although infinitely many odds are
            added up. Stretches on which the score is a straight line are summed at
            once, and what is farther than matters is enclosed.
        Cost: a few dozen scores for each bend of the score. A score that bends at every
            number needs one score for each number that matters, and is refused where
            these are more than 2^16 on one side.

        >>> import math
        >>> mechanism = LatticeExponentialMechanism(epsilon=1, sensitivity=1)
        >>> round(math.exp(mechanism.log_probability(7, lambda y: -abs(y - 7))), 4)
        0.2449
        """
        if not is_whole(output):
            raise ParameterTypeError("output", "a whole number", output)
        scores = _Scores(score)
        best = scores.best(self.start)
        sides = self._sides(scores, best)
        behind = sides[0](int(output) - best)

        def enclose(precision: int) -> arb:
            # asks for all scores: not while the precision is changed
            parts = [_stretches(side, precision) for side in sides]
            scores.watch()
            return at_precision(
                precision, lambda: -(arb(behind) + sum(map(_sum_up, sides, parts), arb(0)).log1p())
            )

        return nearest(enclose)

    def _sides(self, scores: _Scores, best: int) -> tuple[Distance, Distance]:
        """The distances of the numbers after the best one, and of those before it."""

        def side(direction: int) -> Distance:
            return lambda steps: (
                rational(scores.at(best) - scores.at(best + direction * steps)) * self._rate
            )

        return side(1), side(-1)


class _Scores:
    """The score as exact rationals, remembered, and watched for steps that grow where
    they must not.
    """

    def __init__(self, score: Score) -> None:
        if not callable(score):
            # a score that was computed already is private
            rule = "a function from a whole number to its score"
            raise ParameterTypeError("score", rule, Hidden(type_name(score)))
        self._score = score
        self._known: dict[int, Fraction] = {}

    def at(self, number: int) -> Fraction:
        if number not in self._known:
            try:
                self._known[number] = _exact(self._score(number))
            except OverflowError:
                raise ScoresTypeError(
                    "must work for whole numbers of "
                    "any size. Got one that overflows. Compute it with Python's own integers.",
                    name="score",
                ) from None
        return self._known[number]

    def rises(self, number: int) -> bool:
        """True if the next number is better."""
        return self.at(number + 1) > self.at(number)

    def best(self, start: int) -> int:
        """The best number, by steps that double and then halve: where the score stops rising."""
        low, high = self._bracket(start)
        # rises at low, and not at high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.rises(middle) else (low, middle)
        self.watch()
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

    def watch(self) -> None:
        """Refuse a score that is seen not to be concave: of three numbers the middle one
        must be at or above the line through the others.
        """
        known = [
            (number, *score.as_integer_ratio()) for number, score in sorted(self._known.items())
        ]
        for left, middle, right in zip(known, known[1:], known[2:], strict=False):
            # whole numbers only: a fraction is divided through after every step
            (low, first, below), (number, score, part), (high, last, above) = left, middle, right
            line = first * above * (high - number) + last * below * (number - low)
            if score * below * above * (high - low) < line * part:
                raise ScoresError(
                    "must be concave. Got one that is "
                    "not. Return whole numbers or fractions: floats round.",
                    name="score",
                )


def _stretches(distance: Distance, precision: int) -> list[tuple[int, int]]:
    """The numbers 1, 2, ... of one side in stretches, first and last number, on which
    the distance is a straight line.

    They go so far that what comes after does not matter at this precision. Between two
    numbers a convex distance is a straight line if it is on that line at any number
    between them.
    """
    found: list[tuple[int, int]] = []
    # 2^-precision is above e^-(3/4 precision)
    waiting = [(1, _first_beyond(distance, distance(1) + fmpq(3 * precision, 4)))]
    while waiting:
        start, end = waiting.pop()
        middle = (start + end) // 2
        left, right = distance(middle) - distance(start), distance(end) - distance(middle)
        if left * (end - middle) == right * (middle - start):
            found.append((start, end))
        else:
            waiting += [(middle + 1, end), (start, middle)]
        if len(found) > _MOST_STRETCHES:
            raise ScoresError(
                f"must have at most {_MOST_STRETCHES} "
                f"bends that matter. Got more. Use a score that falls faster or bends less often.",
                name="score",
            )
    return found


def _first_beyond(distance: Distance, scales: fmpq) -> int:
    """The first number that is at least this far away."""
    low, high = 0, 1
    while distance(high) < scales:
        if high > _FARTHEST and distance(high) < 1:
            raise _endless()
        low, high = high, 2 * high
    # too near at low, and far enough at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if distance(middle) >= scales else (middle, high)
    return high


def _sum_up(distance: Distance, stretches: list[tuple[int, int]]) -> arb:
    """Enclose the sum of exp(-distance) over 1, 2, ...: after the last stretch the
    distance grows at least as fast as at its end.
    """
    total = arb(0)
    for start, end in stretches:
        rise = distance(end) - distance(start)
        others = geometric_sum(arb(rise / (end - start)), end - start) if rise else arb(end - start)
        total += (-arb(distance(start))).exp() * (1 + others)
    last = stretches[-1][1]
    slope = distance(last) - distance(last - 1)
    beyond = (-arb(distance(last))).exp() * geometric_sum(arb(slope))
    return total + arb(0).union(beyond)


def _exact(value: Any) -> Fraction:
    try:
        return private_binary(value, "score")
    except ValueError:
        raise ScoresTypeError(
            "must give finite numbers. Got something else.", name="score"
        ) from None


def _endless() -> ScoresError:
    return ScoresError(
        "must fall on both sides. Got one that does "
        "not fall, or not by one noise scale within 2^512 numbers. Give bounds, or a score that "
        "falls with distance.",
        name="score",
    )
