"""A point in the middle of many, whatever a few of them are: the deepest of a public grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterTypeError, ScoresTypeError, public_class, read_each
from discreet.exact.enclosures import ball, rational, upper_bound
from discreet.exact.rationals import (
    Number,
    choice,
    count,
    exact_decimal,
    float_above,
    positive,
    readable,
    set_frozen,
)
from discreet.literals import DEEPEST_UNITS, DeepestUnit
from discreet.mechanisms.grid import Grid, read_grid
from discreet.mechanisms.rows import read_rows
from discreet.privacy.loss import BoundedRange, Loss
from discreet.privacy.parameters import WithEpsilon, parameterized, read_probability
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release
from discreet.samplers.nested_boxes import Boxes, draw_nested_boxes
from discreet.samplers.order_statistics import pieces_of, sorted_places

_MOST_POINTS = 2**40


@public_class
@parameterized
class DeepestPoint(WithEpsilon):
    """Pick a point of a public grid with odds exp(rate * depth).

    The depth of a point is the smallest number of given points on either side of it, in
    any coordinate. Half of all points is as deep as it gets without ties, and the
    points of a large depth lie between quantiles of every coordinate, however wild the
    other points are.

    epsilon: the privacy loss of one release.
    bounds: for each coordinate its lower and its upper bound.
    step: of the grid, for all coordinates or for each of them.
    unit: "point" if a person has at most one of the points, "fit" if the points are
        fits on disjoint parts of the persons and a person has a part in one of them.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: bounded range. One point more or less moves all depths in one direction by
        at most 1; another fit in the place of one moves them by 1 in either direction.
    Utility: `error_bound`, `depth_bound`, and `points_needed` before anything is spent.
    Cost: one sort for each coordinate, and one exponential for each depth.
    Proof: docs/proofs/deepest-point.md.

    >>> import numpy
    >>> from discreet.testing import SeededBits
    >>> mechanism = DeepestPoint(epsilon=1, bounds=[(-50, 50)] * 2, step=0.5, unit="point")
    >>> mechanism.points_needed(0.01)
    41
    >>> points = numpy.random.default_rng(1).normal([3, -20], size=(200, 2))
    >>> mechanism.release(points, bits=SeededBits(1)).value
    [3, -20]
    """

    bounds: Sequence[tuple[Number, Number]]
    step: Number | Sequence[Number]
    unit: DeepestUnit
    _grids: tuple[Grid, ...] = field(init=False, compare=False)
    _rate: Fraction = field(init=False, compare=False)
    _loss: BoundedRange = field(init=False, compare=False)

    def __post_init__(self) -> None:
        WithEpsilon.__post_init__(self)
        set_frozen(self, unit=choice(self.unit, DEEPEST_UNITS, "unit"))
        # docs/proofs/deepest-point.md#privacy
        score_range = 1 if self.unit == "point" else 2
        set_frozen(self, _grids=_read_grids(self.bounds, self.step))
        set_frozen(self, _rate=self.epsilon / score_range, _loss=BoundedRange(self.epsilon))

    def __repr__(self) -> str:
        return (
            f"DeepestPoint(epsilon={readable(self._loss.epsilon)}, "
            f"dimensions={len(self._grids)}, unit={self.unit!r})"
        )

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The public grid of each coordinate."""
        return self._grids

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        return self._loss

    def error_bound(self, failure_probability: Number) -> float:
        """By how many points the depth is below half of all of them, at most, except with
        this probability: (ln(cells of the grid) + ln(1 / failure_probability)) / rate.
        """
        failure = read_probability(failure_probability, "failure_probability")
        return float_above(self._shortfall(failure, Fraction(1)))

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=self.error_bound(beta),
            statement="depth",
            unit="points",
            failure_probability=beta,
        )

    def depth_bound(
        self,
        failure_probability: Number,
        *,
        number_of_points: int,
        spread: Number | Sequence[Number] | None = None,
    ) -> int:
        """A depth that is reached except with this probability; 0 or less says nothing.

        number_of_points: how many points there will be; a public guess is enough.
        spread: a guess of how far the middle half of the points goes in each
            coordinate. If it goes at least that far within the bounds, the bound holds,
            and it is often much better.
        """
        failure = read_probability(failure_probability, "failure_probability")
        points = count(number_of_points, "number_of_points")
        bounds = [_reached(-(-points // 2), self._shortfall(failure, Fraction(1)))]
        if spread is not None:
            cells = self._cells_within(spread)
            bounds.append(_reached(-(-points // 4), self._shortfall(failure, cells)))
        return max(bounds)

    def points_needed(
        self, failure_probability: Number, *, spread: Number | Sequence[Number] | None = None
    ) -> int:
        """How many points make it work: with that many or more, an eighth of them is on
        either side in every coordinate, except with this probability.

        spread: as for `depth_bound`.
        """
        failure = read_probability(failure_probability, "failure_probability")
        # half of the points less the shortfall is an eighth, or a quarter of them less it
        needed = [math.ceil(self._shortfall(failure, Fraction(1)) * 8 / 3)]
        if spread is not None:
            needed.append(math.ceil(self._shortfall(failure, self._cells_within(spread)) * 8))
        return min(needed)

    def release(self, points: Any, *, bits: Bits | None = None) -> Release:
        """Pick a point. Give `bits` only in tests and simulations.

        points: an array with a row for each point, or a data frame. Numbers outside the
            bounds count as the nearest one; a point with something else than numbers is
            left out.
        """
        chance = read_bits(bits)
        boxes = self._boxes(read_rows(points, "points"))
        cell = draw_nested_boxes(boxes, rational(self._rate), chance)
        return Release(
            value=[grid.point(place) for grid, place in zip(self._grids, cell, strict=True)],
            loss=self._loss,
            mechanism="deepest-point",
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(),
        )

    def _boxes(self, points: NDArray[np.float64]) -> Boxes:
        """The cells of each depth or deeper."""
        if points.shape[1] != len(self._grids):
            raise ScoresTypeError(
                "must have one column for each pair of bounds. Got another number of columns.",
                name="points",
            )
        numbers = points[~np.isnan(points).any(axis=1)]
        ordered = [
            _sorted(grid.places(column + float(grid.step) / 2), grid.size)
            for grid, column in zip(self._grids, numbers.T, strict=True)
        ]
        lows = np.stack(ordered, axis=1)
        highs = lows[::-1]
        # with ties a point can be deeper than half of all
        deepest = int(np.count_nonzero(np.all(lows <= highs, axis=1)))
        whole = [0] * len(self._grids), [grid.size - 1 for grid in self._grids]
        return Boxes([whole[0], *lows[:deepest].tolist()], [whole[1], *highs[:deepest].tolist()])

    def _shortfall(self, failure: Fraction, cells: Fraction) -> Fraction:
        """At or above (ln(all cells / cells) + ln(1 / failure)) / rate."""
        odds = math.prod(grid.size for grid in self._grids) / cells / failure
        return upper_bound(lambda: arb(rational(odds)).log() / ball(self._rate))

    def _cells_within(self, spread: Number | Sequence[Number]) -> Fraction:
        """How many cells the box of this spread has at least."""
        lengths = _for_each(spread, len(self._grids), "spread")
        return Fraction(
            math.prod(
                min(grid.size, math.floor(length / grid.step) + 1)
                for grid, length in zip(self._grids, lengths, strict=True)
            )
        )


def _reached(depth: int, shortfall: Fraction) -> int:
    """The largest depth that is missed no more often than allowed."""
    return math.floor(depth + 1 - shortfall)


def _sorted(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The places in ascending order, in a time that does not depend on them."""
    return places[sorted_places(places.view(np.uint64), pieces_of(size - 1))]


def _read_grids(bounds: Any, step: Any) -> tuple[Grid, ...]:
    """One grid for each coordinate."""
    if not isinstance(bounds, (tuple, list)) or not bounds:
        raise ParameterTypeError("bounds", "a list of a pair for each coordinate", bounds)
    steps = _for_each(step, len(bounds), "step")
    return tuple(
        read_grid(pair, size, most=_MOST_POINTS) for pair, size in zip(bounds, steps, strict=True)
    )


def _for_each(value: Any, size: int, name: str) -> list[Fraction]:
    """One positive number for each coordinate, or the same one for all."""

    def read(number: Any) -> Fraction:
        return positive(exact_decimal(number, name), number, name)

    if not isinstance(value, (tuple, list)):
        return [read(value)] * size
    if len(value) != size:
        rule = "one number, or as many as there are coordinates"
        raise ParameterTypeError(name, rule, value)
    return read_each(read, value)
