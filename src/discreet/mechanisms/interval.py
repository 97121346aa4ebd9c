"""The exponential mechanism over pieces of the line, weighted by their length."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.certified import at_precision
from discreet.errors import ParameterError, ParameterTypeError, ScoresError
from discreet.mechanisms.candidates import read_candidates
from discreet.mechanisms.discrete_laplace import as_rational, nearest
from discreet.mechanisms.parameters import read_bits, read_epsilon
from discreet.privacy.loss import BoundedRange, Loss
from discreet.privacy.numbers import (
    Number,
    choice,
    exact_decimal,
    positive,
    private_decimal,
    readable,
)
from discreet.privacy.sensitivity import ScoreRange
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.samplers.chance import Chance
from discreet.samplers.pieces import Pieces
from discreet.samplers.softmax import draw_softmax

_MOST_POINTS = 2**40
_POINTS = 2**30
_FARTHEST = Fraction(10) ** 300  # so that every point of the grid is near a float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IntervalExponentialMechanism:
    """Pick a point of the line, where the score is constant on each of some pieces: odds length * exp(rate * score).

    The piece is chosen exactly by its length, and the answer is a point of a public grid on it: a float with all its digits could not be
    drawn exactly, and would tell more than anybody asked for.

    breakpoints: where pieces begin and end, ascending; one more than there are pieces. Those between the first and the last one may
        depend on the data: a piece has the points of the grid from its begin up to its end, and may have none.
    epsilon: the privacy loss of one selection.
    sensitivity, monotonic, score_range: how far one person can move the score of a point.
    objective: whether the "max" or the "min" of the scores is best.
    step: of the public grid that starts at the first breakpoint; if not given, 2^30 points up to the last one.

    Privacy: bounded range.
    Utility: a point whose score is at most (ln(length of all / length of the pieces that are as good) + ln(1/beta)) / rate behind.
    Cost: one pass over the pieces, whatever the size of the grid.
    Proof: docs/proofs/quantiles.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = IntervalExponentialMechanism(breakpoints=[0, 10, 12, 100], epsilon=1, sensitivity=1, step=0.5)
    >>> mechanism.select([0, 40, 3], bits=SeededBits(1))
    10.5
    """

    breakpoints: Sequence[Number]
    epsilon: Number
    sensitivity: Number | None = None
    monotonic: bool = False
    score_range: Number | None = None
    objective: str = "max"
    step: Number | None = None
    acknowledge: str | None = None
    _rate: Fraction = field(init=False, compare=False)
    _loss: BoundedRange = field(init=False, compare=False)
    _edges: tuple[Fraction, ...] = field(init=False, compare=False)
    _step: Fraction = field(init=False, compare=False)
    _resolution: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        epsilon = read_epsilon(self.epsilon, self.acknowledge, owner)
        span = ScoreRange.read(
            sensitivity=self.sensitivity, monotonic=self.monotonic, score_range=self.score_range, owner=owner
        )
        choice(self.objective, ("max", "min"), "objective", owner)
        edges = _read_edges(self.breakpoints, owner)
        object.__setattr__(self, "_edges", edges)
        object.__setattr__(self, "_step", _read_step(self.step, edges, owner))
        object.__setattr__(self, "_rate", epsilon / span.value)
        object.__setattr__(self, "_loss", BoundedRange(epsilon))
        object.__setattr__(self, "_resolution", float(min(span.resolution, Fraction(2) ** 1000)))

    def __repr__(self) -> str:
        # not how many pieces there are: that may depend on the data
        shown = f"epsilon={readable(self._loss.epsilon)}, step={readable(self._step)}"
        return f"IntervalExponentialMechanism({shown})"

    def privacy_loss(self) -> Loss:
        """What one selection costs."""
        return self._loss

    def select(self, scores: Sequence[Number], *, bits: Bits | None = None) -> int | float:
        """A point of the grid. Costs `privacy_loss()`. Give `bits` only in tests and simulations."""
        return self._draw(scores, read_bits(bits, type(self).__name__))

    def release(self, scores: Sequence[Number], *, bits: Bits | None = None) -> Release:
        """A point of the grid, with what it cost."""
        chance = read_bits(bits, type(self).__name__)
        return Release(
            value=self._draw(scores, chance),
            loss=self._loss,
            mechanism="interval-exponential",
            candidates=self._marks()[-1],
            seeded=chance.bits.seeded,
        )

    def log_probability(self, output: Number, scores: Sequence[Number]) -> float:
        """The natural logarithm of the probability of one point of the grid. As private as the scores: never publish it for real data.

        output: what `select` gave. A float stands for all points of the grid that it is the nearest float of, together; in a very fine
            grid these are several. Every other number is one point, exactly.

        Promise: the float nearest to the true number.
        Cost: one pass over the pieces, and an exact exponential for each different score, whatever the size of the grid.

        >>> mechanism = IntervalExponentialMechanism(breakpoints=[0, 10, 12, 100], epsilon=1, sensitivity=1, step=0.5)
        >>> round(math.exp(mechanism.log_probability(10.5, scores=[0, 40, 3])), 4)
        0.25
        >>> round(mechanism.log_probability(99.5, scores=[0, 40, 3]), 4)
        -19.8863
        """
        owner = type(self).__name__
        marks = np.array(self._marks(), dtype=np.int64)
        places = self._places(output, int(marks[-1]), owner)
        there = np.flatnonzero(np.diff(marks))
        behind, unit = self._behind(scores, there, owner)
        inside = np.diff(marks.clip(*places))[there]  # how many points of each piece the output stands for
        own, every = _add_up(behind, inside), _add_up(behind, np.diff(marks)[there])
        if own == every:  # all points of the grid: an enclosure of 1 would never be 1
            return 0.0
        rate, nearest_own = as_rational(self._rate) * unit, min(own)

        def odds(points: Counter[int], start: int) -> arb:
            return sum((count * (-arb((far - start) * rate)).exp() for far, count in points.items()), arb(0))

        def exact() -> arb:
            return -(arb(nearest_own * rate) + (odds(every, 0) / odds(own, nearest_own)).log())

        return nearest(lambda precision: at_precision(precision, exact))

    def _places(self, output: Number, size: int, owner: str) -> tuple[int, int]:
        """The points of the grid that are given as this number: the first one, and the one after the last."""
        exact = exact_decimal(output, "output", owner)
        if isinstance(output, (float, np.floating)):
            points, value = range(size), float(output)
            start, end = (
                find(points, value, key=lambda place: float(self._point(place))) for find in (bisect_left, bisect_right)
            )
        else:
            place = (exact - self._edges[0]) / self._step
            start, end = math.ceil(place), math.floor(place) + 1
        if not 0 <= start < end <= size:
            raise ParameterError(owner, "output", "a point of the grid", output)
        return start, end

    def _point(self, place: int) -> Fraction:
        return self._edges[0] + place * self._step

    def _marks(self) -> list[int]:
        """The first point of the grid at or after each breakpoint."""
        return [math.ceil((edge - self._edges[0]) / self._step) for edge in self._edges]

    def _draw(self, scores: Any, chance: Chance) -> int | float:
        marks = np.array(self._marks(), dtype=np.int64)
        lengths = np.diff(marks)
        there = np.flatnonzero(lengths)  # the others have no point of the grid
        behind, unit = self._behind(scores, there, type(self).__name__)
        pieces = Pieces(lengths[there], behind, as_rational(self._rate) * unit)
        piece, place = pieces.locate(draw_softmax(pieces.envelope(), chance))
        point = self._point(int(marks[there[piece]]) + place)
        return point.numerator if point.denominator == 1 else float(point)

    def _behind(self, scores: Any, there: NDArray[np.intp], owner: str) -> tuple[Any, fmpq]:
        """How far each piece that is there is behind the best of them, in whole units, and the unit."""
        candidates = read_candidates(scores, owner)
        candidates.require_resolution(self._resolution, owner)
        if candidates.size != len(self._edges) - 1:
            raise ScoresError(
                f"The 'scores' of {owner} must be one for each piece, one fewer than breakpoints. Got another number."
            )
        exact = [Fraction(value) for value in np.asarray(candidates.scores, dtype=object)[there].tolist()]
        best = max(exact) if self.objective == "max" else min(exact)
        gaps = [abs(best - value) for value in exact]
        scale = math.lcm(*(gap.denominator for gap in gaps))
        whole = [int(gap * scale) for gap in gaps]
        return np.array(whole, dtype=object), fmpq(1, scale) / as_rational(Fraction(candidates.unit))


def _add_up(behind: NDArray[Any], points: NDArray[np.int64]) -> Counter[int]:
    """How many points there are so far behind, for each such number."""
    found: Counter[int] = Counter()
    for far, count in zip(behind.tolist(), points.tolist(), strict=True):
        if count:
            found[far] += count
    return found


def _read_edges(breakpoints: Any, owner: str) -> tuple[Fraction, ...]:
    """The breakpoints, exactly. No message shows one: those between the ends may be persons' values."""
    rule = "a list of at least two numbers"
    try:
        listed = [] if isinstance(breakpoints, (str, bytes, dict)) else list(breakpoints)
        edges = tuple(private_decimal(edge, "breakpoints", owner) for edge in listed)
    except (TypeError, ValueError):
        raise ParameterTypeError(owner, "breakpoints", rule, "something else") from None
    if len(edges) < 2:
        raise ParameterTypeError(owner, "breakpoints", rule, "something else")
    if any(end < start for start, end in pairwise(edges)) or edges[0] == edges[-1]:
        raise ParameterError(owner, "breakpoints", "ascending, the first below the last", "others")
    if max(-edges[0], edges[-1]) > _FARTHEST:
        raise ParameterError(owner, "breakpoints", f"at most {float(_FARTHEST):g} from zero", "others")
    return edges


def _read_step(step: Number | None, edges: tuple[Fraction, ...], owner: str) -> Fraction:
    """The step, from public numbers only: nothing between the first and the last breakpoint may change the grid."""
    length = edges[-1] - edges[0]
    exact = length / _POINTS if step is None else positive(exact_decimal(step, "step", owner), step, "step", owner)
    if length / exact > _MOST_POINTS:
        raise ParameterError(owner, "step", f"large enough for at most {_MOST_POINTS} points", step)
    return exact
