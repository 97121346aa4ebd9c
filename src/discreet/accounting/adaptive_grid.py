"""Bounded range and pure DP, each query chosen in view of the earlier answers: a
certified bracket of the optimum.

Let V(g) be the largest delta at epsilon g that an adversary can still cause with the
queries that are left. Without queries it is (1 - e^g)+. One more query of range w,
placed first, lets the adversary choose top in [0, w]:

    V'(g) = sup over top of  p V(g - top) + (1 - p) V(g - top + w),
        p = (1 - e^(top - w)) / (1 - e^-w)

and a pure-DP query is the same with the one top = w / 2. Where queries differ, the
adversary also chooses which comes next, so the result holds for every order. V is
convex in e^g and falls with g. On a grid of step h the recursion is bracketed:

*From below* the adversary is restricted to tops on the grid. *From above* V is replaced
between grid points by its chord in e^g, and the best top between two grid points is
bounded by the values at both and in the middle. All terms are products and sums of
positive floats whose factors are rounded to the safe side; docs/proofs/composition.md
counts the roundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from flint import arb
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from discreet.accounting.two_point import TINY, Bracket
from discreet.exact.enclosures import at_precision, ball, down, up
from discreet.privacy.loss import BoundedRange, Loss, PureDP

Array = NDArray[np.float64]

# 64 roundings' worth; a stage has fewer than 32
_SAFE_UP, _SAFE_DOWN = 1 + 2.0**-47, 1 - 2.0**-47
# as many numbers as stay near the processor; the results are the same for any
_AT_ONCE = 2**16


@dataclass(frozen=True, slots=True)
class Curve:
    """Upper and lower bounds of delta at the epsilons 0, step, 2 step, ..."""

    step: Fraction
    upper: Array
    lower: Array

    # a caller may have told NumPy to raise, and then a product below the smallest float would
    @np.errstate(all="ignore")
    def delta(self, epsilon: Fraction) -> Bracket:
        """Bounds at any epsilon: the chord above, the next grid point below."""
        place = int(epsilon // self.step)
        if place + 1 >= self.upper.size:
            return Bracket(0.0, float(self.upper[-1]))
        share = at_precision(96, lambda: up(self._share(epsilon, place)))
        high = (
            share * self.upper[place + 1] + (1.0 - share * (1 - 2.0**-50)) * self.upper[place]
        ) * _SAFE_UP
        on_grid = epsilon == place * self.step
        return Bracket(
            float(self.lower[place if on_grid else place + 1]),
            float(self.upper[place] if on_grid else high),
        )

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """The smallest epsilon at which the upper bound is at most delta, found by
        halving; None if it is off the curve.
        """
        good = (
            int(np.argmax(self.upper <= down(ball(delta))))
            if self.upper[-1] <= down(ball(delta))
            else -1
        )
        if good < 0:
            return None
        high, low = good * self.step, max(good - 1, 0) * self.step
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle).high <= delta else (middle, high)
        return high

    def epsilon_below(self, delta: Fraction) -> Fraction:
        """An epsilon at which delta is certainly exceeded, or 0: no analysis of
        adaptive queries can go below it.
        """
        above = np.flatnonzero(self.lower > float(delta))
        return self.step * int(above[-1]) if above.size else Fraction(0)

    def _share(self, epsilon: Fraction, place: int) -> arb:
        """The weight of the next grid point in the chord in e^g."""
        return ball(epsilon - place * self.step).expm1() / ball(self.step).expm1()


class Grid:
    """The bracket after any number of queries, stage by stage, at the epsilons 0, step,
    2 step, ... up to the reach.

    Negative epsilons need not be kept: V(-g) = 1 - e^-g + e^-g V(g) by exchanging the
    two distributions. Beyond the reach V is at most what it is there, because it falls,
    and at least 0.
    """

    def __init__(self, step: Fraction, reach: float, cells: int, *, lower: bool = True) -> None:
        """`cells` is the largest number of steps that one query can move epsilon by. Without
        `lower`, a query of bounded range leaves 0 for the lower end, and takes a fifth less time.
        """
        self.step = step
        self.lower = lower
        self.size = math.ceil(reach / float(step)) + 2
        self._cells = cells
        self._weights: dict[int, _Weights] = {}
        at_precision(96, self._prepare)

    def _prepare(self) -> None:
        places = range(1, self.size + self._cells)
        shrunk = [(-ball(self.step * place)).exp() for place in places]
        self._shrunk = (
            np.array([up(e) for e in shrunk]),
            np.array([max(0.0, down(e)) for e in shrunk]),
        )
        self._lost = (
            np.array([up(1 - e) for e in shrunk]),
            np.array([max(0.0, down(1 - e)) for e in shrunk]),
        )
        share = ((-ball(self.step / 2)).exp() - (-ball(self.step)).exp()) / -(
            -ball(self.step)
        ).expm1()
        self._near, self._far = up(share), up(1 - share)
        self._stretch = up(ball(self.step / 2).exp())

    @property
    def start(self) -> tuple[Array, Array]:
        """Without queries delta is 0 at every epsilon of 0 and above."""
        return np.zeros(self.size), np.zeros(self.size)

    def _unfold(self, values: tuple[Array, Array], cells: int) -> tuple[Array, Array]:
        """Both bounds from -cells to size + cells."""
        upper = np.concatenate([values[0], np.full(cells, values[0][-1])])
        lower = np.concatenate([values[1], np.zeros(cells)])
        below_up = self._lost[0][:cells] + self._shrunk[0][:cells] * upper[1 : cells + 1]
        below_down = self._lost[1][:cells] + self._shrunk[1][:cells] * lower[1 : cells + 1]
        return (
            np.concatenate([np.minimum(below_up * _SAFE_UP, 1.0)[::-1], upper]),
            np.concatenate([(below_down * _SAFE_DOWN)[::-1], lower]),
        )

    # a caller may have told NumPy to raise, and then a product below the smallest float would
    @np.errstate(all="ignore")
    def range_stage(self, values: tuple[Array, Array], cells: int) -> tuple[Array, Array]:
        """One query of range cells * step before the queries of `values`."""
        if cells not in self._weights:
            self._weights[cells] = at_precision(96, lambda: _make_weights(self.step, cells))
        weights = self._weights[cells]
        upper, lower = self._unfold(values, cells)
        # half a step below each point, on the chord
        middles = np.empty_like(upper)
        middles[0] = 1.0
        middles[1:] = self._near * upper[1:] + self._far * upper[:-1]
        best, below = np.zeros(self.size), np.zeros(self.size)
        tops = min(cells, max(1, _AT_ONCE // self.size))
        room = np.empty((4, tops + 1, self.size))
        for first in range(0, cells, tops):
            last = min(first + tops, cells)
            between, whole = room[:, : last - first], room[:, : last - first + 1]
            if self.lower:
                lowest = _mix(lower, cells, weights.ends_down, first, whole)
                np.maximum(below, lowest.max(axis=0), out=below)
            # both ends of each piece between two tops: pieces share them, and so do blocks
            ends = _mix(upper, cells, weights.ends_up, first, whole)
            np.maximum(best, ends.max(axis=0), out=best)
            inside = _mix(middles, cells, weights.middles_up, first, between[1:])
            rise = np.subtract(inside, ends[:-1], out=between[2])
            rise *= self._stretch
            np.maximum(rise, np.subtract(inside, ends[1:], out=between[3]), out=rise)
            inside += np.maximum(rise, 0.0, out=rise)
            np.maximum(best, inside.max(axis=0), out=best)
        return np.clip(best * _SAFE_UP, TINY, 1.0), np.where(below > TINY, below * _SAFE_DOWN, 0.0)

    # a caller may have told NumPy to raise, and then a product below the smallest float would
    @np.errstate(all="ignore")
    def pure_stage(
        self, values: tuple[Array, Array], cells: int, cells_below: int
    ) -> tuple[Array, Array]:
        """One pure-DP query of epsilon cells * step (rounded up; cells_below is rounded
        down) before those of `values`.
        """
        upper, lower = self._unfold(values, cells)
        high, low = _response(self.step * cells), _response(self.step * cells_below)
        size = self.size
        best = high[0] * upper[:size] + high[1] * upper[2 * cells : 2 * cells + size]
        first, second = cells - cells_below, cells + cells_below
        below = low[2] * lower[first : first + size] + low[3] * lower[second : second + size]
        return np.clip(best * _SAFE_UP, TINY, 1.0), np.where(below > TINY, below * _SAFE_DOWN, 0.0)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Probabilities p and 1 - p of the two outcomes for all tops, each rounded to the safe side."""

    ends_up: tuple[Array, Array]
    ends_down: tuple[Array, Array]
    middles_up: tuple[Array, Array]


def _make_weights(step: Fraction, cells: int) -> _Weights:
    width = step * cells
    normal = -(-ball(width)).expm1()

    def outcomes(top: Fraction) -> tuple[arb, arb]:
        return -ball(top - width).expm1() / normal, ball(top).expm1() * (
            -ball(width)
        ).exp() / normal

    ends = [outcomes(step * place) for place in range(cells + 1)]
    middles = [outcomes(step * place + step / 2) for place in range(cells + 1)]
    return _Weights(_rounded(ends, up), _rounded(ends, down), _rounded(middles, up))


def _rounded(pairs: list[tuple[arb, arb]], towards: Callable[[arb], float]) -> tuple[Array, Array]:
    return np.array([max(0.0, towards(p)) for p, _ in pairs]), np.array(
        [max(0.0, towards(q)) for _, q in pairs]
    )


def _mix(values: Array, cells: int, weights: tuple[Array, Array], first: int, room: Array) -> Array:
    """p * V(g - top) + (1 - p) * V(g - top + width): rows are tops from `first` on, of 0
    ... cells, columns are g; as many as fit into the room, and its first part is where
    they are.
    """
    mixed: Array = room[0]
    last = first + len(mixed)
    moved = sliding_window_view(values, values.size - 2 * cells)[::-1]
    np.multiply(weights[0][first:last, None], moved[cells + first : cells + last], out=mixed)
    mixed += np.multiply(weights[1][first:last, None], moved[first:last], out=room[1])
    return mixed


def _response(epsilon: Fraction) -> tuple[float, float, float, float]:
    """Randomised response: the probabilities of losses +epsilon and -epsilon, rounded
    up, then rounded down.
    """
    truth = at_precision(96, lambda: 1 / (1 + (-ball(epsilon)).exp()))
    return up(truth), up(1 - truth), down(truth), down(1 - truth)


# how many states * grid points * cells may be computed: about a second
_EFFORT = 4e7
_FINEST, _COARSEST = 128, 4
# The bounds of the largest epsilon. With smaller ones it takes too many queries for a grid.
_LARGEST_RANGE = 100
_SMALLEST_RANGE = Fraction(1, 10**8)


def curve_for(
    counts: Mapping[Loss, int], reach: float, effort: float = _EFFORT, *, lower: bool = True
) -> Curve | None:
    """The bracket for all these queries in any order; None if it would take too long,
    or a loss is of another kind. Without `lower`, its lower end says next to nothing.
    """
    if not all(isinstance(loss, (BoundedRange, PureDP)) for loss in counts):
        return None
    layout = layout_for(counts, reach, effort)
    if layout is None:
        return None
    grid = Grid(layout.step, layout.reach, max(layout.cells), lower=lower)
    stages = {tuple(0 for _ in counts): grid.start}
    for state in product(*(range(times + 1) for times in layout.counts)):
        if any(state):
            stages[state] = layout.worst_first_query(grid, stages, state)
        # no later state needs it
        stages.pop((state[0] - 2, *state[1:]), None)
    values = stages[tuple(layout.counts)]
    return Curve(layout.step, *values)


def layout_for(counts: Mapping[Loss, int], reach: float, effort: float = _EFFORT) -> Layout | None:
    """The finest grid for these losses whose computation stays within the effort."""
    return Layout.choose(counts, reach, effort)


@dataclass(frozen=True, slots=True)
class Layout:
    """The grid for some losses: its step, and each loss in steps."""

    step: Fraction
    reach: float
    counts: tuple[int, ...]
    pure: tuple[bool, ...]
    cells: tuple[int, ...]
    """Steps of each epsilon, rounded up."""
    cells_below: tuple[int, ...]
    """Steps of each epsilon, rounded down."""

    @classmethod
    def choose(cls, counts: Mapping[Loss, int], reach: float, effort: float) -> Layout | None:
        """The best step whose computation stays within the effort."""
        ranges = [loss for loss in counts if isinstance(loss, (BoundedRange, PureDP))]
        epsilons = [loss.epsilon for loss in ranges]
        if not _SMALLEST_RANGE <= max(epsilons) <= _LARGEST_RANGE:
            return None
        reach = min(reach, float(sum(loss.epsilon * counts[loss] for loss in ranges)))
        states = math.prod(times + 1 for times in counts.values())
        cheapest = _cheapest_step(states, reach, max(epsilons), effort)
        if cheapest is None:
            return None
        step = min(_steps(epsilons, cheapest), key=lambda step: _widening(counts, step))
        return cls(
            step,
            reach,
            tuple(counts.values()),
            tuple(isinstance(loss, PureDP) for loss in ranges),
            tuple(math.ceil(epsilon / step) for epsilon in epsilons),
            tuple(math.floor(epsilon / step) for epsilon in epsilons),
        )

    def worst_first_query(
        self,
        grid: Grid,
        stages: Mapping[tuple[int, ...], tuple[Array, Array]],
        state: tuple[int, ...],
    ) -> tuple[Array, Array]:
        """The adversary's best choice of which query comes first."""
        options = []
        for place, left in enumerate(state):
            if left:
                rest = stages[(*state[:place], left - 1, *state[place + 1 :])]
                options.append(self._stage(grid, rest, place))
        upper = np.maximum.reduce([option[0] for option in options])
        lower = np.maximum.reduce([option[1] for option in options])
        return upper, lower

    def _stage(self, grid: Grid, rest: tuple[Array, Array], place: int) -> tuple[Array, Array]:
        if self.pure[place]:
            return grid.pure_stage(rest, self.cells[place], self.cells_below[place])
        if self.cells[place] == self.cells_below[place] or not grid.lower:
            return grid.range_stage(rest, self.cells[place])
        upper = grid.range_stage(rest, self.cells[place])[0]
        # An adversary who cannot ask this query on the grid at all may still not ask it.
        return upper, grid.range_stage(rest, self.cells_below[place])[1] if self.cells_below[
            place
        ] else rest[1]


def _cheapest_step(states: int, reach: float, largest: Fraction, effort: float) -> Fraction | None:
    """The smallest step that the effort allows: states * (reach / step + 2) * (largest / step)."""
    share = effort / states / float(largest)
    if _COARSEST * (_COARSEST * reach / float(largest) + 2) > share * float(largest):
        return None
    # the positive root of share * step^2 - 2 step - reach
    step = (1 + math.sqrt(1 + share * reach)) / share
    return max(Fraction(step), largest / _FINEST)


def _steps(epsilons: list[Fraction], smallest: Fraction) -> list[Fraction]:
    """Steps near the smallest: the finest that divides all epsilons, and some that divide one.

    Every step divides some epsilon, so that it is about as simple a fraction as that.
    """
    denominator = math.lcm(*(epsilon.denominator for epsilon in epsilons))
    unit = Fraction(math.gcd(*(int(epsilon * denominator) for epsilon in epsilons)), denominator)
    steps = [unit / (unit // smallest)] if unit >= smallest else []
    for epsilon in epsilons:
        most = int(epsilon // smallest)
        steps += [epsilon / parts for parts in range(max(1, most // 2), most + 1)]
    return steps


def _widening(counts: Mapping[Loss, int], step: Fraction) -> float:
    """About how much variance of the privacy loss a grid adds: what it rounds up, and its chords.

    Only a guess of which step is best; every step gives a valid bracket. A range w has
    a variance of w^2 / 4, pure DP of epsilon one of epsilon^2, and a chord adds at most
    step^2 / 4.
    """
    size, total = float(step), 0.0
    for loss, times in counts.items():
        if isinstance(loss, (BoundedRange, PureDP)):
            rounded = math.ceil(loss.epsilon / step) * size
            more = (rounded - float(loss.epsilon)) * (rounded + float(loss.epsilon))
            total += times * (4 * more if isinstance(loss, PureDP) else more + size**2 / 4)
    return total
