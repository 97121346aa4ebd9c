"""The exponential mechanism over pieces of the line, weighted by their length."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy, rounded_up
from discreet.errors import (
    Hidden,
    ParameterError,
    ParameterTypeError,
    ScoresError,
    public_class,
    shown_pair,
)
from discreet.exact.enclosures import at_precision, nearest, rational
from discreet.exact.rationals import (
    Number,
    choice,
    exact_decimal,
    lower_and_upper,
    nearest_float,
    positive,
    private_decimal,
    readable,
    set_frozen,
)
from discreet.literals import OBJECTIVES, Objective
from discreet.mechanisms.error_bounds import softmax_error
from discreet.mechanisms.grid import plain_number
from discreet.mechanisms.scores import Scores, read_candidates
from discreet.privacy.loss import BoundedRange, Loss
from discreet.privacy.parameters import WithRange, parameterized, read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.grouped_candidates import GroupedCandidates

_MOST_POINTS = 2**40
_POINTS = 2**30
# so that every point of the grid is near a float
_FARTHEST = Fraction(10) ** 300


@public_class
@parameterized
class IntervalExponentialMechanism(WithRange):
    """Pick a point of the line, where the score is constant on each of some pieces:
    odds length * exp(rate * score).

    The piece is chosen exactly by its length, and the answer is a point of a public
    grid on it: a float with all its digits could not be drawn exactly, and would tell
    more than was asked for.

    bounds: where the first piece begins and the last one ends; public.
    epsilon: the privacy loss of one selection.
    sensitivity, monotonic, score_range: how far one person can move the score of a
        point.
    objective: whether the "max" or the "min" of the scores is best.
    step: of the public grid that starts at the lower bound; if not given, 2^30 points
        up to the upper one.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: bounded range.
    Utility: a point whose score is at most (ln(length of all / length of the pieces
        that are as good) + ln(1/beta)) / rate behind.
    Cost: one pass over the pieces, whatever the size of the grid.
    Proof: docs/proofs/quantiles.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = IntervalExponentialMechanism(
    ...     bounds=(0, 100), epsilon=1, sensitivity=1, step=0.5
    ... )
    >>> mechanism.select([0, 40, 3], [10, 12], bits=SeededBits(1))
    10.5
    """

    bounds: tuple[Number, Number]
    objective: Objective = "max"
    step: Number | None = None
    _rate: Fraction = field(init=False, compare=False)
    _loss: BoundedRange = field(init=False, compare=False)
    _low: Fraction = field(init=False, compare=False)
    _high: Fraction = field(init=False, compare=False)
    _step: Fraction = field(init=False, compare=False)
    _resolution: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # over the points of a public grid: docs/proofs/quantiles.md#one-quantile
        WithRange.__post_init__(self)
        set_frozen(self, objective=choice(self.objective, OBJECTIVES, "objective"))
        low, high = _read_bounds(self.bounds)
        set_frozen(self, _low=low, _high=high, _step=_read_step(self.step, high - low))
        set_frozen(self, _rate=self.epsilon / self._range.value, _loss=BoundedRange(self.epsilon))
        set_frozen(self, _resolution=float(min(self._range.resolution, Fraction(2) ** 1000)))

    def __repr__(self) -> str:
        shown = f"epsilon={readable(self._loss.epsilon)}, step={readable(self._step)}"
        bounds = f"({readable(self._low)}, {readable(self._high)})"
        return f"IntervalExponentialMechanism(bounds={bounds}, {shown})"

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        return self._loss

    def select(
        self, scores: Scores, breakpoints: Sequence[Number], *, bits: Bits | None = None
    ) -> int | float:
        """A point of the grid. Costs `privacy_loss()`. Give `bits` only in tests and
        simulations.

        scores: of each piece, from the lower bound up.
        breakpoints: where one piece ends and the next one begins, ascending; one fewer
            than there are scores. They may depend on the data. Those outside of the
            bounds count as the nearest bound, and a piece may have no point of the
            grid.
        """
        return self._draw(scores, breakpoints, read_bits(bits))

    def release(
        self, scores: Scores, breakpoints: Sequence[Number], *, bits: Bits | None = None
    ) -> Release:
        """A point of the grid, with what it cost; scores and breakpoints as for `select`."""
        chance = read_bits(bits)
        return Release(
            value=self._draw(scores, breakpoints, chance),
            loss=self._loss,
            mechanism="interval-exponential",
            # not how many pieces there are: that may depend on the data
            candidates=self._size,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(),
        )

    def error_bound(self, failure_probability: Number) -> float:
        """How far behind the best the score of the selected point can be, except with
        `failure_probability`, however few points of the grid are best.

        >>> mechanism = IntervalExponentialMechanism(
        ...     bounds=(0, 100), epsilon=1, sensitivity=1, step=0.5
        ... )
        >>> round(mechanism.error_bound(0.05), 1)
        16.5
        """
        beta = read_probability(failure_probability, "failure_probability")
        # the points of the grid are the candidates: docs/proofs/accuracy.md#winners
        return nearest_float(Fraction(softmax_error(self._size, 1, beta)) / self._rate)

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement, never below the truth."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=rounded_up(self.error_bound(beta)),
            statement="winner",
            thing="point",
            failure_probability=beta,
        )

    def log_probability(
        self, output: Number, scores: Scores, breakpoints: Sequence[Number]
    ) -> float:
        """The natural logarithm of the probability of one point of the grid. As private
        as the scores: never publish it for real data.

        output: what `select` gave. A float stands for all points of the grid that it is
            the nearest float of, together; in a very fine grid these are several. Every
            other number is one point, exactly.
        scores, breakpoints: as for `select`.

        Promise: the float nearest to the true number.
        Cost: one pass over the pieces, and an exact exponential for each different
            score, whatever the size of the grid.

        >>> mechanism = IntervalExponentialMechanism(
        ...     bounds=(0, 100), epsilon=1, sensitivity=1, step=0.5
        ... )
        >>> round(math.exp(mechanism.log_probability(10.5, [0, 40, 3], [10, 12])), 4)
        0.25
        >>> round(mechanism.log_probability(99.5, [0, 40, 3], [10, 12]), 4)
        -19.8863
        """
        places = self._places(output)
        marks = self._marks(breakpoints)
        there = np.flatnonzero(np.diff(marks))
        behind, unit = self._behind(scores, marks.size - 1, there)
        # how many points of each piece the output stands for
        inside = np.diff(marks.clip(*places))[there]
        own, every = _add_up(behind, inside), _add_up(behind, np.diff(marks)[there])
        # all points of the grid: an enclosure of 1 would never be 1
        if own == every:
            return 0.0
        rate, nearest_own = rational(self._rate) * unit, min(own)

        def odds(points: Counter[int], start: int) -> arb:
            return sum(
                (count * (-arb((far - start) * rate)).exp() for far, count in points.items()),
                arb(0),
            )

        def exact() -> arb:
            return -(arb(nearest_own * rate) + (odds(every, 0) / odds(own, nearest_own)).log())

        return nearest(lambda precision: at_precision(precision, exact))

    @property
    def _size(self) -> int:
        """How many points the grid has: the upper bound itself is not one of them."""
        return math.ceil((self._high - self._low) / self._step)

    def _places(self, output: Number) -> tuple[int, int]:
        """The points of the grid that are given as this number: the first one, and the
        one after the last.
        """
        exact, size = exact_decimal(output, "output"), self._size
        if isinstance(output, (float, np.floating)):
            points, value = range(size), float(output)
            start, end = (
                find(points, value, key=lambda place: float(self._point(place)))
                for find in (bisect_left, bisect_right)
            )
        else:
            place = (exact - self._low) / self._step
            start, end = math.ceil(place), math.floor(place) + 1
        if not 0 <= start < end <= size:
            raise ParameterError("output", "a point of the grid", output)
        return start, end

    def _point(self, place: int) -> Fraction:
        return self._low + place * self._step

    def _marks(self, breakpoints: Any) -> NDArray[np.int64]:
        """The first point of the grid at or after the begin of each piece, and after them all."""
        edges = (min(max(edge, self._low), self._high) for edge in _read_edges(breakpoints))
        inner = [math.ceil((edge - self._low) / self._step) for edge in edges]
        return np.array([0, *inner, self._size], dtype=np.int64)

    def _draw(self, scores: Any, breakpoints: Any, chance: Chance) -> int | float:
        marks = self._marks(breakpoints)
        lengths = np.diff(marks)
        # the others have no point of the grid
        there = np.flatnonzero(lengths)
        behind, unit = self._behind(scores, lengths.size, there)
        pieces = GroupedCandidates(lengths[there], behind, rational(self._rate) * unit)
        piece, place = pieces.locate(draw_exponential(pieces.envelope(), chance))
        return plain_number(self._point(int(marks[there[piece]]) + place))

    def _behind(self, scores: Any, size: int, there: NDArray[np.intp]) -> tuple[Any, fmpq]:
        """How far each piece that is there is behind the best of them, in whole units,
        and the unit.
        """
        candidates = read_candidates(scores)
        candidates.require_resolution(self._resolution)
        if candidates.size != size:
            raise ScoresError(
                "must be one more than the breakpoints: one for each piece. Got another number.",
                name="scores",
            )
        exact = [
            Fraction(value) for value in np.asarray(candidates.scores, dtype=object)[there].tolist()
        ]
        best = max(exact) if self.objective == "max" else min(exact)
        gaps = [abs(best - value) for value in exact]
        scale = math.lcm(*(gap.denominator for gap in gaps))
        whole = [int(gap * scale) for gap in gaps]
        return np.array(whole, dtype=object), fmpq(1, scale) / rational(Fraction(candidates.unit))


def _add_up(behind: NDArray[Any], points: NDArray[np.int64]) -> Counter[int]:
    """How many points there are at each distance behind the best."""
    found: Counter[int] = Counter()
    for far, count in zip(behind.tolist(), points.tolist(), strict=True):
        if count:
            found[far] += count
    return found


def _read_bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    """The public ends of the line."""
    low, high = lower_and_upper(bounds)
    if max(-low, high) > _FARTHEST:
        rule = f"at most {float(_FARTHEST):g} from zero"
        raise ParameterError("bounds", rule, shown_pair(bounds))
    return low, high


def _read_edges(breakpoints: Any) -> list[Fraction]:
    """The breakpoints, exactly. No message shows one: they may be persons' values."""
    edges: list[Fraction] | None = None
    with suppress(TypeError, ValueError):
        if not isinstance(breakpoints, (str, bytes, dict)):
            edges = [private_decimal(edge, "breakpoints") for edge in breakpoints]
    # Raised out here, so that the complaint about one of them does not hang on to it.
    if edges is None:
        rule, got = "a list of numbers", Hidden("something else")
        raise ParameterTypeError("breakpoints", rule, got)
    if any(end < start for start, end in pairwise(edges)):
        raise ParameterError("breakpoints", "ascending", Hidden("others"))
    return edges


def _read_step(step: Number | None, length: Fraction) -> Fraction:
    """The step of the grid."""
    exact = (
        length / _POINTS if step is None else positive(exact_decimal(step, "step"), step, "step")
    )
    if length / exact > _MOST_POINTS:
        raise ParameterError("step", f"large enough for at most {_MOST_POINTS} points", step)
    return exact
