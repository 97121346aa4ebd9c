"""The coin game: the most that an adversary can gain who has coins to spend.

After every answer the adversary chooses any mechanism that the coins left can pay. With
s = e^epsilon Q / P for the answers so far, the largest delta that r coins can still
cause is

    W_0(s) = (1 - s)+,    W_r(s) = max over prices c <= r of M_c[W_(r - c)](s).

W is convex in s and falls. Here it is bounded from above on a grid of y = ln s, coin by
coin. Three ends of the grid are closed by bounds that hold for every such W: beyond the
largest y by the value there; below y = 0 by exchanging the two distributions, W(-y) = 1
- e^-y + e^-y W(y); and where the grid begins above 0, by the chord to W(0) = 1 at s =
0.

A move is the worst mechanism of one bounded range. With E = e^range it has two
outcomes, which lead from s to s / x and to s E / x for some x = e^top in [1, E]:

    M(s) = sup over x of  p W(s / x) + (1 - p) W(s E / x),    p = (E - x) / (E - 1).

The tops are cut into cells. In the middle cells W is replaced by its chords over the
cell, which makes the value C + A x + B / x; its supremum is bounded by the values at
both ends and in the middle. Stretches of tops near 0 and near the range, where a
mechanism says little, are bounded by one chord each. All values are sums of products of
floats that are at least 0, with weights rounded up; docs/proofs/coin-filter.md has the
proof and counts the roundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.accounting.coin_prices import STEPS, paid_range
from discreet.accounting.noise_move import NoiseMove
from discreet.accounting.two_point import TINY
from discreet.exact.enclosures import at_precision, ball, down, up

Array = NDArray[np.float64]
Weights = tuple[float, float]

_BITS = 128
_FLOAT = np.dtype(np.float64)

# 64 roundings' worth; a value has fewer than 32
_SAFE = 1 + 2.0**-47

_GAME_BITS = 96


@dataclass(frozen=True, slots=True)
class Resolution:
    """How closely moves are looked at. Safety needs none of it, tightness all of it."""

    refinement: int = 1
    """How many steps of the grid there are for one of a range."""
    cells: int = 36
    """The number of cells that would cover all tops of a move; at least 2."""
    spacing: int = 48
    """A range of more steps than this is computed at this many places of its length, and
    by chords between them.
    """
    late: int = 200
    """From how many times its price on a move is looked at by `late` cells: see `Move`."""


class Workspace:
    """Memory for the tables of a move, allocated once: a fresh table takes longer than its sums."""

    def __init__(self, rows: int, columns: int) -> None:
        self.ends, self.middles, self.spare = np.empty((3, rows * columns))


@dataclass(frozen=True, slots=True)
class Cells:
    """The tops of one range: cells of equal width in the middle, stretches at either end.

    Every weight is rounded up. Places and lengths are in steps of the grid.
    """

    first: int
    """The top at which the cells begin."""
    width: int
    ends: tuple[Array, Array]
    """p and 1 - p at the ends of the cells, as columns."""
    middles: tuple[Array, Array]
    """Four times p and 1 - p in the middle of each cell, as columns."""
    chord: Weights
    """Weights of a cell's low and high top for the point in its middle."""
    stretches: tuple[tuple[int, int, float, float], ...]
    """For each: steps down, steps up, and the weights of the two points there."""


@dataclass(frozen=True, slots=True)
class Move:
    """A mechanism of one price.

    While few coins are left, W is bent sharply and every top may be the worst: `early`
    has cells nearly everywhere. Later the worst top is near the middle, and `late` has
    cells only there. Both are upper bounds always.
    """

    price: int
    reach: int
    """The range in steps."""
    spacing: int
    """How many places apart the result is computed."""
    early: Cells
    late: Cells
    patience: int
    """From how many coins on `late` is used."""
    fill: tuple[Array, Array]
    """Weights of the left and the right computed place for each place from the left one on."""

    def worst(self, values: Array, start: int, stop: int, coins: int, room: Workspace) -> Array:
        """Upper bounds of the move at the places from `start` to `stop`, `stop` excluded.

        values: upper bounds of W, known from `start - reach` to `stop + reach +
            spacing`.
        coins: what is left before the move.
        """
        cells = self.late if coins >= self.patience else self.early
        count = -(-(stop - 1 - start) // self.spacing) + 1
        best = self._cells(cells, values, start, count, room)
        for downward, upward, low, high in cells.stretches:
            chord = low * self._places(values, start - downward, count)
            chord += high * self._places(values, start + upward, count)
            np.maximum(best, chord, out=best)
        return self._filled(best)[: stop - start]

    def _cells(self, cells: Cells, values: Array, start: int, count: int, room: Workspace) -> Array:
        """The largest over all cells of: its ends, its middle + a quarter of their difference."""
        below = values[start - self.reach : start + (count - 1) * self.spacing + 1]
        above = values[start : start + below.size]
        ends = _Table(self, cells, count, 0, room.spare).mixed(below, above, cells.ends, room.ends)
        best: Array = ends.max(axis=0)
        table = _Table(self, cells, count, cells.width, room.spare)
        halfway = _chord(below, cells), _chord(above, cells)
        inside = table.mixed(*halfway, cells.middles, room.middles)
        rise = np.subtract(ends[1:], ends[:-1], out=table.memory(room.spare, len(inside)))
        # 4 * (middle + rise / 4): the middles have weights four times as large
        inside += np.abs(rise, out=rise)
        best *= 4.0
        np.maximum(best, inside.max(axis=0), out=best)
        best *= 0.25
        return best

    def _places(self, values: Array, start: int, count: int) -> Array:
        return values[start : start + (count - 1) * self.spacing + 1 : self.spacing]

    def _filled(self, best: Array) -> Array:
        """The values at all places: between two computed ones the chord, as the move is convex."""
        if self.spacing == 1:
            return best
        left, right = self.fill
        between = left * best[:-1, None] + right * best[1:, None]
        return np.append(between.ravel(), best[-1])


def _chord(values: Array, cells: Cells) -> Array:
    """The values half a cell below each place from `width` on, by the chord."""
    low, high = cells.chord
    halfway: Array = low * values[cells.width :]
    halfway += high * values[: -cells.width]
    return halfway


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows are tops, columns are places."""

    move: Move
    cells: Cells
    columns: int
    cut: int
    """Places that the arrays lack at their start."""
    spare: Array

    def mixed(self, below: Array, above: Array, weights: tuple[Array, Array], into: Array) -> Array:
        """p * W(s / x) + (1 - p) * W(s E / x) for all tops and places."""
        rows = weights[0].size
        mixed, other = self.memory(into, rows), self.memory(self.spare, rows)
        np.multiply(weights[0], self._shifted(below, rows), out=mixed)
        np.multiply(weights[1], self._shifted(above, rows), out=other)
        mixed += other
        return mixed

    def memory(self, room: Array, rows: int) -> Array:
        return room[: rows * self.columns].reshape(rows, self.columns)

    def _shifted(self, values: Array, rows: int) -> Array:
        """Row j is `first + j * width` steps below the places. A view; its bounds are checked."""
        place = self.move.reach - self.cells.first - self.cut
        strides = -self.cells.width * _FLOAT.itemsize, self.move.spacing * _FLOAT.itemsize
        return np.ndarray((rows, self.columns), _FLOAT, values, place * _FLOAT.itemsize, strides)


def make_moves(unit: Fraction, menu: Iterable[int], resolution: Resolution) -> list[Move]:
    """The moves of a menu: each price with the range that it pays for."""
    return at_precision(_BITS, lambda: [_make(unit, price, resolution) for price in menu])


def _make(unit: Fraction, price: int, resolution: Resolution) -> Move:
    steps = STEPS * resolution.refinement
    reach = int(paid_range(price) * steps)
    spacing = max(1, reach // resolution.spacing)
    step, width = unit / steps, max(1, reach // resolution.cells)
    return Move(
        price=price,
        reach=reach,
        spacing=spacing,
        early=_make_cells(step, reach, width, _borders(reach, (16,))),
        late=_make_cells(step, reach, width, _borders(reach, (8, 4))),
        patience=price * resolution.late,
        fill=_make_fill(step, spacing),
    )


def _borders(reach: int, shares: tuple[int, ...]) -> list[int]:
    """Where the stretches of low tops end: at these shares of all tops, 1 / share each."""
    return sorted({max(1, reach // share) for share in shares})


def _make_cells(step: Fraction, reach: int, width: int, borders: list[int]) -> Cells:
    extent = step * reach
    first = borders[-1]
    count = max(1, (reach - 2 * first) // width)
    last = first + count * width
    tops = [step * (first + place * width) for place in range(count + 1)]
    middles = [top + step * width / 2 for top in tops[:-1]]
    low = [0, *borders]
    high = [last, *(reach - border for border in reversed(borders[:-1])), reach]
    stretches = [*pairwise(low), *pairwise(high)]
    upper = ball(step * width / 2).expm1() / ball(step * width).expm1()
    return Cells(
        first=first,
        width=width,
        ends=_columns([_chances(extent, top) for top in tops], 1),
        middles=_columns([_chances(extent, middle) for middle in middles], 4),
        chord=_rounded_up(upper, 1 - upper),
        stretches=tuple(_stretch(step, reach, *ends) for ends in stretches),
    )


def _chances(extent: Fraction, top: Fraction) -> tuple[arb, arb]:
    """p = (E - x) / (E - 1) and 1 - p for this range and top."""
    whole = ball(extent).expm1()
    return ball(top).exp() * ball(extent - top).expm1() / whole, ball(top).expm1() / whole


def _stretch(step: Fraction, reach: int, start: int, stop: int) -> tuple[int, int, float, float]:
    """One chord for all tops from start to stop: from `stop` below to `reach - start` above."""
    downward, upward = stop, reach - start
    low, high = _chances(step * (downward + upward), step * downward)
    return downward, upward, *_rounded_up(low, high)


def _make_fill(step: Fraction, spacing: int) -> tuple[Array, Array]:
    """The weights of the chord in s for the places 0 ... spacing - 1 after a computed one."""
    shares = [ball(step * place).expm1() / ball(step * spacing).expm1() for place in range(spacing)]
    weights = np.array([_rounded_up(1 - right, right) for right in shares])
    return weights[:, 0].copy(), weights[:, 1].copy()


def _rounded_up(first: arb, second: arb) -> Weights:
    return max(0.0, up(first)), max(0.0, up(second))


def _columns(pairs: list[tuple[arb, arb]], factor: int) -> tuple[Array, Array]:
    """Weights as columns, each times a power of two, which is exact."""
    rounded = np.array([_rounded_up(*pair) for pair in pairs]) * factor
    return rounded[:, :1].copy(), rounded[:, 1:].copy()


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of the grid is computed, in standard deviations of what the coins can move.

    A heuristic: whatever is left out is closed by a bound. `below` epsilon and `above`
    it for the coins that are spent before, `reach` for those that are left.
    """

    below: float = 5.5
    above: float = 1.0
    reach: float = 6.5


class CoinGame:
    """Upper bounds of W_0, W_1, ... at s = e^epsilon.

    unit: the range that one coin pays for.
    parts: epsilon in units, a whole number.
    menu: the prices that mechanisms can have, rising.
    most: the largest number of coins that will be asked about.

    Cost: about a millisecond a coin with the menu of coins.py; memory for as many
        arrays as the largest price is long, thinned out.
    """

    def __init__(
        self,
        unit: Fraction,
        parts: int,
        menu: Sequence[int],
        most: int,
        *,
        resolution: Resolution | None = None,
        window: Window | None = None,
        noise: NoiseMove | None = None,
    ) -> None:
        resolution = resolution or Resolution()
        self._window = window or Window()
        self._most = most
        self._unit = float(unit)
        self._steps = STEPS * resolution.refinement
        self._goal = parts * self._steps
        self._moves = make_moves(unit, [price for price in menu if price <= most], resolution)
        self._noise = noise
        self._longest = max((move.price for move in self._moves), default=1)
        reaches = [move.reach + move.spacing for move in self._moves]
        self._pad = 2 + max([*reaches, 0 if noise is None else noise.reach])
        self._size = self._goal + self._deviations(self._window.above, most) + 2
        rows = max((move.early.ends[0].size for move in self._moves), default=0)
        self._room = Workspace(rows, self._size + 2)
        at_precision(_GAME_BITS, lambda: self._prepare(unit / self._steps))

    def _prepare(self, step: Fraction) -> None:
        """e^-y and 1 - e^-y for the places below the grid, rounded up."""
        shrunk = [(-ball(step * place)).exp() for place in range(1, self._pad + 1)]
        self._shrunk = np.array([up(value) for value in shrunk])
        self._lost = np.array([up(1 - value) for value in shrunk])

    def largest(
        self, deltas: Sequence[Fraction], watch: Callable[[int], None] | None = None
    ) -> tuple[int, ...]:
        """For each delta the most coins, up to `most`, for which W is certainly at most delta.

        watch: called with each number of coins that was played for.
        """
        limits = [down(ball(delta)) for delta in deltas]
        found = [0] * len(limits)
        for coins, bound in enumerate(self.play(), start=1):
            if watch is not None:
                watch(coins)
            if bound > max(limits):
                break
            found = [
                coins if bound <= limit else before
                for limit, before in zip(limits, found, strict=True)
            ]
        return tuple(found)

    def play(self) -> Iterator[float]:
        """An upper bound of W_r(e^epsilon) for r = 1, 2, ... up to `most`."""
        held, low = {0: self._start()}, 0
        for coins in range(1, self._most + 1):
            low, high = self._places(coins, low)
            start, stop = self._pad + low, self._pad + high
            best = held[coins - 1][start:stop].copy()
            for move in self._moves:
                if move.price > coins:
                    break
                rest = held[coins - move.price]
                np.maximum(best, move.worst(rest, start, stop, coins, self._room), out=best)
            if self._noise is not None:
                np.maximum(best, self._noise.worst(held[coins - 1], start, stop), out=best)
            best *= _SAFE
            np.clip(best, TINY, 1.0, out=best)
            held[coins] = self._extended(best, low, high)
            yield float(held[coins][self._pad + self._goal])
            # no later amount looks back further than the largest price
            held.pop(coins - self._longest, None)

    def _start(self) -> Array:
        """W_0: 0 from y = 0 on, and 1 - e^y below."""
        values = np.zeros(self._size + 2 * self._pad)
        values[: self._pad] = self._lost[::-1]
        return values

    def _extended(self, best: Array, low: int, high: int) -> Array:
        """The computed places with as many places below and above as a move can need."""
        start, stop = self._pad + low, self._pad + high
        # what is not written below is never read; a place that was would be no number
        values = np.full(self._size + 2 * self._pad, np.nan)
        values[start:stop] = best
        values[stop:] = best[-1]
        other = values[start + 1 : start + 1 + self._pad] if low == 0 else best[0]
        below = (self._lost + self._shrunk * other) * _SAFE
        values[start - self._pad : start] = np.minimum(below, 1.0)[::-1]
        return values

    def _places(self, coins: int, least: int) -> tuple[int, int]:
        """The first place that is computed, and the first that is not any more.

        The first one is never below `least`, that of one coin less: a move reads the
        values of fewer coins, and below their own first place these reach no further
        than a move.
        """
        low = self._goal - self._deviations(self._window.below, self._most - coins) - 2
        high = self._deviations(self._window.reach, coins) + 3 * self._steps
        # with few coins all of the game is far below epsilon
        low = max(least, low if low < high else 0)
        return low, min(max(high, low + 2), self._size)

    def _deviations(self, factor: float, coins: int) -> int:
        """A number of standard deviations of the loss of these coins, and its mean, in steps.

        In units a deviation is half the root of the coins; the mean is half the
        variance of the loss itself.
        """
        coins = max(0, coins)
        return math.ceil((factor * math.sqrt(coins) / 2 + coins * self._unit / 8) * self._steps)
