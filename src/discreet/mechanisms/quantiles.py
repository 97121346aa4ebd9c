"""Quantiles by exponential mechanisms over the points of a public grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Protocol, cast

from flint import fmpq

from discreet.accounting.planner import plan
from discreet.errors import ParameterError
from discreet.mechanisms.parameters import read_delta, read_epsilon
from discreet.mechanisms.top_k import pick_loss
from discreet.privacy.loss import ApproxDP, BoundedRange, Loss, PureDP
from discreet.privacy.numbers import Number, choice
from discreet.release import Release
from discreet.samplers.binomial import draw_binomial
from discreet.samplers.chance import Chance
from discreet.samplers.envelope import Proposals
from discreet.samplers.first_heads import draw_first_heads
from discreet.samplers.paths import Paths
from discreet.samplers.pieces import Pieces
from discreet.samplers.ramp import Ramp
from discreet.samplers.softmax import draw_softmax
from discreet.scores.cells import Cells

NEIGHBOURS = ("add-remove", "replace")
METHODS = ("auto", "recursive", "joint", "independent")
LARGEST_JOINT = 1000
"""Points of a grid on which all quantiles can be drawn at once."""

PART_DIGITS = 20
"""In how many binary digits the persons who have the same point can be split."""

_MOST_JOINT = 64  # shares: the bounds of all paths must be floats
_FINEST_JOINT = 2**20  # so that the errors of 2^40 persons are 64-bit integers

_DRAWS: dict[str, Callable[[Proposals, Chance], int]] = {"permute-and-flip": draw_first_heads, "exponential": draw_softmax}
_LOSSES: dict[str, type[PureDP] | type[BoundedRange]] = {"permute-and-flip": PureDP, "exponential": BoundedRange}


class Points(Protocol):
    """A public grid."""

    @property
    def size(self) -> int:
        """How many points it has."""

    def point(self, place: int) -> int | float:
        """One of them."""


def range_of_errors(q: Fraction, *, replace: bool = False) -> Fraction:
    """How far one person can move the rank errors of two points apart.

    One person more moves the rank error of a point by max(q, 1 - q) in either direction, and a value that is replaced by 1: points on
    both sides of the rank move in opposite directions. But all points are on the same side of the lowest rank, and of the highest.
    """
    if q in (0, 1):
        return Fraction(1)
    return Fraction(2) if replace else 2 * max(q, 1 - q)


def search(cells: Cells, q: Fraction, epsilon: Fraction, mechanism: str, chance: Chance, *, replace: bool = False) -> int:
    """The place of a point with about the right rank, among those of the cells."""
    runs = cells.rank_errors(q)
    rate = epsilon / range_of_errors(q, replace=replace) / q.denominator  # errors count in units of 1 / q.denominator
    pieces = Pieces(runs.lengths, runs.errors - runs.errors.min(), fmpq(rate.numerator, rate.denominator))
    piece, place = pieces.locate(_DRAWS[mechanism](pieces.envelope(), chance))
    return int(runs.starts[piece]) + place


def split_near(cells: Cells, q: Fraction, epsilon: Fraction, chance: Chance) -> tuple[int, Cells, Cells]:
    """The place of a point with about the right rank, the persons below the rank, and the others.

    Many persons may have the point itself, so a part of them is drawn along with it: each of them then goes below with the odds of
    that part, for itself. One person more moves errors as in a search, and is on one side only.
    """
    row = cells.split_errors(q, 1 << PART_DIGITS)
    rate = epsilon / range_of_errors(q) / (q.denominator << PART_DIGITS)
    ramp = Ramp(row.lengths, row.errors, row.slopes, fmpq(rate.numerator, rate.denominator))
    steps, part = divmod(ramp.locate(draw_softmax(ramp.envelope(), chance)), 1 << PART_DIGITS)
    place = cells.first + steps
    lower = draw_binomial(cells.at(place), part, PART_DIGITS, chance)
    return place, *cells.split(place, lower)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneQuantile:
    """One quantile: see `discreet.quantile`."""

    q: Fraction
    epsilon: Number
    neighbours: str = "add-remove"
    mechanism: str = "permute-and-flip"
    acknowledge: str | None = None
    rows: int = 1
    """How many values one person can have: each of them then moves the errors as one person would."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon, self.acknowledge, "quantile"))
        choice(self.neighbours, NEIGHBOURS, "neighbours", "quantile")
        choice(self.mechanism, tuple(_DRAWS), "mechanism", "quantile")

    def privacy_loss(self) -> Loss:
        """What the release costs."""
        return _LOSSES[self.mechanism](cast(Fraction, self.epsilon))

    def release(self, cells: Cells, grid: Points, chance: Chance) -> Release:
        """A point of the grid, with what it cost."""
        replace = self.neighbours == "replace"
        each = cast(Fraction, self.epsilon) / self.rows
        place = search(cells, self.q, each, self.mechanism, chance, replace=replace)
        return Release(
            value=grid.point(place),
            loss=self.privacy_loss(),
            mechanism=self.mechanism,
            candidates=grid.size,
            seeded=chance.bits.seeded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyQuantiles:
    """Many quantiles: see `discreet.quantiles`."""

    q: tuple[Fraction, ...]
    epsilon: Number
    delta: Number = 0
    neighbours: str = "add-remove"
    method: str = "auto"
    grid_size: int
    acknowledge: str | None = None
    rows: int = 1
    """How many values one person can have."""
    _layer: BoundedRange | PureDP = field(init=False, compare=False)

    def __post_init__(self) -> None:
        owner = "quantiles"
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon, self.acknowledge, owner))
        object.__setattr__(self, "delta", read_delta(self.delta, owner))
        choice(self.neighbours, NEIGHBOURS, "neighbours", owner)
        choice(self.method, METHODS, "method", owner)
        if self.method == "joint":
            self._require_small(owner)
        if self.method == "auto":
            object.__setattr__(self, "method", "recursive")  # by benchmarks/quantiles.py, for any number and any data
        object.__setattr__(self, "_layer", self._share())

    def _require_small(self, owner: str) -> None:
        """Refuse what cannot be drawn at once."""
        if self.grid_size > LARGEST_JOINT:
            hint = "Take a coarser step, or another method."
            raise ParameterError(owner, "method", f"another one for a grid of more than {LARGEST_JOINT} points", "joint", hint)
        if len(self.q) > _MOST_JOINT or math.lcm(*(q.denominator for q in self.q)) > _FINEST_JOINT:
            rule = f"at most {_MOST_JOINT} shares with a common denominator of at most {_FINEST_JOINT} for the joint method"
            hint = "Give fractions, such as Fraction(1, 3), or rounded decimals."
            raise ParameterError(owner, "q", rule, [float(q) for q in self.q], hint)

    def privacy_loss(self) -> Loss:
        """What all of them cost together."""
        if self.method == "joint":
            return self._layer
        return ApproxDP(self._epsilon, self._delta) if self._delta else PureDP(self._epsilon)

    def losses(self) -> dict[Loss, int]:
        """The losses that the release is made of: cheaper than the whole in a budget that counts in rho."""
        return {self._layer: self._layers}

    def release(self, cells: Cells, grid: Points, chance: Chance) -> Release:
        """Points of the grid in ascending order, with what they cost."""
        ways = {"recursive": self._recursive, "joint": self._joint, "independent": self._independent}
        places = ways[self.method](cells, chance)
        return Release(
            value=[grid.point(place) for place in places],
            loss=self.privacy_loss(),
            mechanism=f"{self.method}-quantiles",
            candidates=grid.size,
            seeded=chance.bits.seeded,
        )

    @property
    def _layers(self) -> int:
        """Of how many layers of searches the release is made: those of one layer look at different persons."""
        if self.method == "joint":
            return 1
        return len(self.q) if self.method == "independent" else len(self.q).bit_length()

    @property
    def _each(self) -> Fraction:
        """What one search of a layer may cost for one value of a person.

        A value that is replaced leaves one search of a recursion's layer and enters another, or the same one: there one person
        is less and one is more. Either way the layer costs two searches at once.
        """
        twice = self.method == "recursive" and self.neighbours == "replace"
        return self._layer.epsilon / (2 if twice else 1) / self.rows

    def _share(self) -> BoundedRange | PureDP:
        """What one layer may cost."""
        if self.method == "joint":
            return BoundedRange(self._epsilon)
        if not self._delta:
            return PureDP(self._epsilon / self._layers)
        if self.method == "independent" and len(self.q) > 1:
            budget = ApproxDP(self._epsilon, self._delta)
            return plan(queries=len(self.q), budget=budget, kind=BoundedRange, adaptive=False).loss  # all are fixed beforehand
        return pick_loss(self._layers, self._epsilon, self._delta, BoundedRange)

    @property
    def _mechanism(self) -> str:
        return "permute-and-flip" if isinstance(self._layer, PureDP) else "exponential"

    def _independent(self, cells: Cells, chance: Chance) -> list[int]:
        """Each by itself; sorting them afterwards costs nothing."""
        replace = self.neighbours == "replace"
        return sorted(search(cells, q, self._each, self._mechanism, chance, replace=replace) for q in self.q)

    def _recursive(self, cells: Cells, chance: Chance) -> list[int]:
        return self._between(cells, self.q, Fraction(0), Fraction(1), chance)

    def _between(self, cells: Cells, shares: tuple[Fraction, ...], low: Fraction, high: Fraction, chance: Chance) -> list[int]:
        """The quantiles among persons who are the shares from `low` to `high` of all."""
        if not shares:
            return []
        middle = len(shares) // 2
        share = (shares[middle] - low) / (high - low)
        # How many persons there are here is private, so even with "replace" they may become one more or one less.
        if len(shares) == 1:
            return [search(cells, share, self._each, self._mechanism, chance)]
        here, before, after = split_near(cells, share, self._each, chance)
        left = self._between(before, shares[:middle], low, shares[middle], chance)
        return [*left, here, *self._between(after, shares[middle + 1 :], shares[middle], high, chance)]

    def _joint(self, cells: Cells, chance: Chance) -> list[int]:
        """All at once, by how many persons are between them."""
        scale = math.lcm(*(q.denominator for q in self.q))
        edges = [Fraction(0), *self.q, Fraction(1)]
        shares = [int((after - before) * scale) for before, after in pairwise(edges)]
        total = int(cells.counts.sum())
        # One person more is in one step, and moves its number by 1 and all wanted numbers by their shares: 2 (1 - share) in total.
        move = Fraction(2) if self.neighbours == "replace" else 2 * (1 - Fraction(min(shares), scale))
        rate = self._epsilon / self.rows / (2 * move) / scale
        wanted = [share * total for share in shares]
        paths = Paths(cells.below(), total, wanted, scale, fmpq(rate.numerator, rate.denominator))
        return paths.draw(chance)

    @property
    def _epsilon(self) -> Fraction:
        return cast(Fraction, self.epsilon)  # read in __post_init__

    @property
    def _delta(self) -> Fraction:
        return cast(Fraction, self.delta)
