"""Quantiles by exponential mechanisms over the points of a public grid."""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from itertools import pairwise

from discreet.accuracy import USUAL_FAILURE, Accuracy, Statement, rounded_up
from discreet.errors import ParameterError
from discreet.exact.enclosures import rational
from discreet.exact.rationals import Number, choice, set_frozen
from discreet.literals import (
    NEIGHBOURS,
    PICK_NAMES,
    QUANTILE_METHODS,
    Neighbours,
    PickName,
    QuantileMethod,
)
from discreet.mechanisms.error_bounds import (
    RankError,
    Search,
    first_heads_error,
    paths_error,
    search_error,
    softmax_error,
    tree_error,
)
from discreet.mechanisms.grid import HALVES, Cells, Points
from discreet.mechanisms.laws import GROUPED_DRAWS
from discreet.mechanisms.peeling_top_k import pick_loss
from discreet.mechanisms.prices import Price
from discreet.privacy.loss import ApproxDP, BoundedRange, Loss, PureDP
from discreet.privacy.parameters import Slot, WithEpsilon, given, parameterized, read_delta
from discreet.randomness.chance import Chance
from discreet.randomness.whole_numbers import draw_binomial
from discreet.release import Release
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.grid_paths import Paths
from discreet.samplers.grouped_candidates import GroupedCandidates, Ramp

LARGEST_JOINT = 1000
"""Points of a grid on which all quantiles can be drawn at once."""

PART_DIGITS = 20
"""Of the persons who have the same point, a part of this many binary digits can go below."""

# how many shares a joint draw takes: the bounds of more paths might be beyond floats
_MOST_JOINT = 64
# so that the errors of 2^40 persons are 64-bit integers
_FINEST_JOINT = 2**20

_LOSSES: dict[PickName, type[PureDP] | type[BoundedRange]] = {
    "permute-and-flip": PureDP,
    "exponential": BoundedRange,
}


_ERRORS: dict[PickName, Search] = {
    "permute-and-flip": first_heads_error,
    "exponential": softmax_error,
}


def range_of_errors(q: Fraction, *, replace: bool = False) -> Fraction:
    """How far one person can move the rank errors of two points apart.

    One person more moves the rank error of a point by max(q, 1 - q) in either
    direction, and a value that is replaced by 1: points on both sides of the rank move
    in opposite directions. But all points are on the same side of the lowest rank, and
    of the highest.
    """
    if q in (0, 1):
        return Fraction(1)
    return Fraction(2) if replace else 2 * max(q, 1 - q)


def search(
    cells: Cells,
    q: Fraction,
    epsilon: Fraction,
    mechanism: PickName,
    chance: Chance,
    *,
    replace: bool = False,
) -> int:
    """The place of a point with about the right rank, among those of the cells."""
    runs = cells.rank_errors(q)
    # errors count in units of 1 / q.denominator
    rate = epsilon / range_of_errors(q, replace=replace) / q.denominator
    pieces = GroupedCandidates(runs.lengths, runs.errors - runs.errors.min(), rational(rate))
    piece, place = pieces.locate(GROUPED_DRAWS[mechanism](pieces.envelope(), chance))
    return int(runs.starts[piece]) + place


def split_near(
    cells: Cells, q: Fraction, epsilon: Fraction, chance: Chance
) -> tuple[int, Cells, Cells]:
    """The place of a point with about the right rank, the persons below the rank, and the others.

    Many persons may have the point itself, so a part of them is drawn along with it:
    each of them then goes below with the odds of that part, for itself. One person more
    moves errors as in a search, and is on one side only.
    """
    row = cells.split_errors(q, 1 << PART_DIGITS)
    rate = epsilon / range_of_errors(q) / (q.denominator << PART_DIGITS)
    ramp = Ramp(row.lengths, row.errors, row.slopes, rational(rate))
    steps, part = divmod(ramp.locate(draw_exponential(ramp.envelope(), chance)), 1 << PART_DIGITS)
    place = cells.first + steps
    lower = draw_binomial(cells.at(place), part, PART_DIGITS, chance)
    return place, *cells.split(place, lower)


def _off_rank(error: RankError, statement: Statement, failure_probability: Fraction) -> Accuracy:
    return Accuracy(
        bound=rounded_up(error.persons),
        statement=statement,
        unit="persons",
        thing="value",
        failure_probability=failure_probability,
        sharing=error.sharing,
    )


@parameterized
class OneQuantile(WithEpsilon):
    """One quantile: see `discreet.quantile`."""

    q: Fraction
    neighbours: Neighbours = "add-remove"
    mechanism: PickName = "permute-and-flip"
    rows: int = 1
    """How many values one person can have: each of them then moves the errors as one
    person would.
    """

    def __post_init__(self) -> None:
        WithEpsilon.__post_init__(self)
        set_frozen(self, neighbours=choice(self.neighbours, NEIGHBOURS, "neighbours"))
        set_frozen(self, mechanism=choice(self.mechanism, PICK_NAMES, "mechanism"))

    def privacy_loss(self) -> Loss:
        """What the release costs."""
        # docs/proofs/quantiles.md#one-quantile
        return _LOSSES[self.mechanism](self.epsilon)

    def accuracy(self, *, points: int, failure_probability: Fraction = USUAL_FAILURE) -> Accuracy:
        """How far off its rank the point can be, on a grid of this many points."""
        # docs/proofs/accuracy.md#quantiles
        rate = self._each / range_of_errors(self.q, replace=self._replace)
        off = search_error(points, rate, failure_probability, _ERRORS[self.mechanism])
        return _off_rank(RankError(off), "rank", failure_probability)

    @property
    def _replace(self) -> bool:
        return self.neighbours == "replace"

    @property
    def _each(self) -> Fraction:
        """What the search may cost for one value of a person."""
        return self.epsilon / self.rows

    def release(self, cells: Cells, grid: Points, chance: Chance) -> Release:
        """A point of the grid, with what it cost.

        cells: the values in halves, each of which costs half as much as a value.
        """
        each = self._each / HALVES
        place = search(cells, self.q, each, self.mechanism, chance, replace=self._replace)
        return Release(
            value=grid.point(place),
            loss=self.privacy_loss(),
            mechanism=self.mechanism,
            candidates=grid.size,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(points=grid.size),
        )


@parameterized
class ManyQuantiles(WithEpsilon):
    """Many quantiles: see `discreet.quantiles`."""

    q: tuple[Fraction, ...]
    delta: Slot[Number, Fraction] = given(default=0)
    neighbours: Neighbours = "add-remove"
    method: QuantileMethod = "auto"
    grid_size: int
    mechanism: PickName = "permute-and-flip"
    """Of the last searches where there is no delta; splits are exponential mechanisms."""
    rows: int = 1
    """How many values one person can have."""
    price: Price | None = None
    """What epsilon buys, where the budget is known: with the method "auto" and no delta the
    layers share it.
    """
    _layer: BoundedRange | PureDP = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.price is not None:
            set_frozen(self, mechanism=self.price.mechanism)
        if self.method != "auto" or self.delta:
            set_frozen(self, price=None)
        set_frozen(self, mechanism=choice(self.mechanism, PICK_NAMES, "mechanism"))
        WithEpsilon.__post_init__(self)
        set_frozen(self, delta=read_delta(self.delta))
        set_frozen(self, neighbours=choice(self.neighbours, NEIGHBOURS, "neighbours"))
        set_frozen(self, method=choice(self.method, QUANTILE_METHODS, "method"))
        if self.method == "joint":
            self._require_small()
        # "auto" by benchmarks/quantiles.py, for any number and any data
        set_frozen(self, method="recursive" if self.method == "auto" else self.method)
        set_frozen(self, _layer=self._share())

    def _require_small(self) -> None:
        """Refuse what cannot be drawn at once."""
        if self.grid_size > LARGEST_JOINT:
            hint = "Take a larger step, or another method."
            raise ParameterError(
                "method",
                f"another one for a grid of more than {LARGEST_JOINT} points",
                "joint",
                hint,
            )
        if len(self.q) > _MOST_JOINT or math.lcm(*(q.denominator for q in self.q)) > _FINEST_JOINT:
            rule = (
                f"at most {_MOST_JOINT} shares with a common denominator of at most "
                f"{_FINEST_JOINT} for the joint method"
            )
            hint = "Give fractions, such as Fraction(1, 3), or rounded decimals."
            raise ParameterError("q", rule, [float(q) for q in self.q], hint)

    def privacy_loss(self) -> Loss:
        """What all of them cost together."""
        if self.method == "joint":
            return self._layer
        # the layers together: docs/proofs/quantiles.md#many-quantiles
        together = self._layers * self._layer.epsilon
        if not self.delta or together <= self.epsilon:
            # they add up without a delta, as one layer does
            return PureDP(max(together, self.epsilon))
        return ApproxDP(self.epsilon, self.delta)

    def losses(self) -> dict[Loss, int]:
        """The losses that the release is made of: cheaper than the whole in a budget
        that counts squares.
        """
        return {self._layer: self._layers}

    def release(self, cells: Cells, grid: Points, chance: Chance) -> Release:
        """Points of the grid in ascending order, with what they cost.

        cells: the values in halves, each of which costs half as much as a value.
        """
        ways = {
            "recursive": self._recursive,
            "joint": self._joint,
            "independent": self._independent,
        }
        places = ways[self.method](cells, chance, HALVES)
        return Release(
            value=[grid.point(place) for place in places],
            loss=self.privacy_loss(),
            mechanism=f"{self.method}-quantiles",
            candidates=grid.size,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(),
        )

    def accuracy(self, *, failure_probability: Fraction = USUAL_FAILURE) -> Accuracy:
        """How far off their ranks all of them can be, on this grid."""
        # docs/proofs/accuracy.md#quantiles
        if self.method == "joint":
            rate = self._joint_rate
            persons = paths_error(self.grid_size, len(self.q), rate, failure_probability)
            return _off_rank(RankError(persons), "parts", failure_probability)
        off = (
            self._tree(failure_probability)
            if self.method == "recursive"
            else self._apart(failure_probability)
        )
        return _off_rank(off, "ranks", failure_probability)

    def _tree(self, failure_probability: Fraction) -> RankError:
        return tree_error(
            self.q,
            points=self.grid_size,
            epsilon=self._each,
            failure_probability=failure_probability,
            heads=self._search == "permute-and-flip",
        )

    def _apart(self, failure_probability: Fraction) -> RankError:
        replace, failure = self.neighbours == "replace", failure_probability / len(self.q)
        rates = [self._each / range_of_errors(q, replace=replace) for q in self.q]
        error = _ERRORS[self._search]
        return RankError(max(search_error(self.grid_size, rate, failure, error) for rate in rates))

    @property
    def _layers(self) -> int:
        """How many layers of searches the release is made of: the searches of one layer
        look at different persons.
        """
        if self.method == "joint":
            return 1
        return len(self.q) if self.method == "independent" else len(self.q).bit_length()

    @property
    def _each(self) -> Fraction:
        """What one search of a layer may cost for one value of a person.

        A value that is replaced leaves one search of a recursion's layer and enters
        another, or the same one: there one person is less and one is more. Either way
        the layer costs two searches at once.
        """
        twice = self.method == "recursive" and self.neighbours == "replace"
        return self._layer.epsilon / (2 if twice else 1) / self.rows

    def _share(self) -> BoundedRange | PureDP:
        """What one layer may cost."""
        # docs/proofs/quantiles.md#many-quantiles
        if self.method == "joint":
            return BoundedRange(self.epsilon)
        shared = None if self.price is None else self.price.pick(self._layers)
        if shared is not None:
            # docs/proofs/prices.md#lists
            return shared
        if not self.delta:
            return _LOSSES[self.mechanism](self.epsilon / self._layers)
        if self.method == "independent" and len(self.q) > 1:
            budget = ApproxDP(self.epsilon, self.delta)
            # all are fixed beforehand
            # late, so that a selection loads no accountant
            from discreet.accounting.planner import plan

            return plan(queries=len(self.q), budget=budget, kind=BoundedRange, adaptive=False).loss
        return pick_loss(self._layers, self.epsilon, self.delta, BoundedRange)

    @property
    def _search(self) -> PickName:
        """The mechanism of a search that splits nobody."""
        return "permute-and-flip" if isinstance(self._layer, PureDP) else "exponential"

    def _independent(self, cells: Cells, chance: Chance, parts: int = 1) -> list[int]:
        """Each quantile by a search of its own; sorting them afterwards costs nothing.

        parts: in how many parts each value is counted, of which each may be elsewhere.
        """
        replace, each = self.neighbours == "replace", self._each / parts
        return sorted(search(cells, q, each, self._search, chance, replace=replace) for q in self.q)

    def _recursive(self, cells: Cells, chance: Chance, parts: int = 1) -> list[int]:
        each = self._each / parts
        return self._between(cells, self.q, Fraction(0), Fraction(1), each, chance)

    def _between(
        self,
        cells: Cells,
        shares: tuple[Fraction, ...],
        low: Fraction,
        high: Fraction,
        each: Fraction,
        chance: Chance,
    ) -> list[int]:
        """The quantiles among persons who are the shares from `low` to `high` of all."""
        if not shares:
            return []
        middle = len(shares) // 2
        share = (shares[middle] - low) / (high - low)
        # How many persons there are here is private, so even with "replace" they may become
        # one more or one less.
        if len(shares) == 1:
            return [search(cells, share, each, self._search, chance)]
        here, before, after = split_near(cells, share, each, chance)
        left = self._between(before, shares[:middle], low, shares[middle], each, chance)
        return [
            *left,
            here,
            *self._between(after, shares[middle + 1 :], shares[middle], high, each, chance),
        ]

    def _joint(self, cells: Cells, chance: Chance, parts: int = 1) -> list[int]:
        """All quantiles in one draw, by how many persons are between them."""
        scale = math.lcm(*(q.denominator for q in self.q))
        edges = [Fraction(0), *self.q, Fraction(1)]
        shares = [int((after - before) * scale) for before, after in pairwise(edges)]
        total = int(cells.counts.sum())
        wanted = [share * total for share in shares]
        paths = Paths(
            cells.below(), total, wanted, scale, rational(self._joint_rate / parts / scale)
        )
        return paths.draw(chance)

    @property
    def _joint_rate(self) -> Fraction:
        """How many noise scales one person more or less in a step is."""
        edges = [Fraction(0), *self.q, Fraction(1)]
        smallest = min(after - before for before, after in pairwise(edges))
        # One person more is in one step, and moves its number by 1 and all wanted numbers
        # by their shares: 2 (1 - share) in total.
        move = Fraction(2) if self.neighbours == "replace" else 2 * (1 - smallest)
        return self.epsilon / self.rows / (2 * move)
