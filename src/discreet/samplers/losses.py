"""Sums of losses over rows, as functions of the coefficients on a ball: near, and exact.

Rows are vectors of length at most 1 whose entries are whole multiples of 2^-16, so all
of them are exact floats. A sum is given in two ways: in floats for many points at once,
with a bound of the error, made of + - * only; and as an enclosure for one point.
docs/proofs/ball.md#floats-with-a-proved-error has the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision, ball
from discreet.exact.rationals import float_above, set_frozen

Floats = NDArray[np.float64]

KNOTS = 64
"""How many knots the table of the logistic loss has for each unit."""

TABLE_ERROR = 2.0**-35
"""How far the table is from the logistic loss, at most."""

MOST_MARGIN = 1024
"""The largest margin that the table's error was proved for."""

# losses that are held in memory at once
_AT_ONCE = 1 << 21
# rows whose products add up to less than 2^53: 2^20 times 2^32
_EXACT_ROWS = 1 << 20


def rounding(operations: int) -> float:
    """The relative error of a sum of products with this many operations, in any order."""
    return 1.01 * operations * 2.0**-53


@dataclass(frozen=True, slots=True)
class QuadraticBound:
    """constant + linear . x + x . matrix . x - error is at or below a sum of losses."""

    constant: float
    linear: Floats
    matrix: Floats
    error: float


class LossSum(Protocol):
    """A convex sum of losses over rows, for coefficients in a ball."""

    @property
    def dimensions(self) -> int:
        """How many coefficients there are."""

    def floats(self, points: Floats) -> Floats:
        """The sum at each point, nearly."""

    def error(self, distance: float) -> float:
        """How far `floats` is from the sum at a point of the ball, at most, if it was asked
        at a point within `distance` of it.
        """

    def enclose(self, point: list[arb]) -> arb:
        """The sum at a point."""


@dataclass(frozen=True, slots=True)
class LogisticTable:
    """log(1 + exp(-z)) for margins up to `top`, by cubic polynomials around knots.

    terms: for each knot the value and the derivatives over their factorials, correctly
        rounded.
    """

    top: int
    terms: Floats

    @classmethod
    def up_to(cls, margin: float) -> LogisticTable:
        """The table for margins up to this one."""
        return _table(math.ceil(margin) + 1)

    def knot(self, margins: Floats) -> NDArray[np.int64]:
        """The row of `terms` of the nearest knot."""
        last = self.top * KNOTS
        return np.rint(margins * KNOTS).clip(-last, last).astype(np.int64) + last

    def __call__(self, margins: Floats) -> Floats:
        """The loss at each margin, within TABLE_ERROR."""
        knots = self.knot(margins)
        # exact: the difference of two numbers that are near each other
        step = margins - (knots - self.top * KNOTS) * (1 / KNOTS)
        value: Floats = np.take(self.terms[3], knots)
        for power in (2, 1, 0):
            value = value * step + np.take(self.terms[power], knots)
        return value


@lru_cache(maxsize=8)
def _table(top: int) -> LogisticTable:
    def compute() -> list[list[float]]:
        rows = []
        for place in range(-top * KNOTS, top * KNOTS + 1):
            margin = arb(place) / KNOTS
            heads = 1 / (1 + margin.exp())
            curve = heads * (1 - heads)
            value = (-margin).exp().log1p()
            rows.append(
                [float(value), float(-heads), float(curve / 2), float(-curve * (1 - 2 * heads) / 6)]
            )
        return rows

    terms = np.ascontiguousarray(np.array(at_precision(128, compute)).T)
    return LogisticTable(top, terms)


@dataclass(frozen=True, slots=True)
class LogisticLoss:
    """The sum of log(1 + exp(-row . x)); rows are multiplied by their label, 1 or -1.

    radius: of the ball, at or above the true one.
    """

    rows: Floats
    radius: float
    table: LogisticTable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_frozen(self, table=LogisticTable.up_to(self.radius))

    @property
    def dimensions(self) -> int:
        """How many coefficients there are."""
        return int(self.rows.shape[1])

    def floats(self, points: Floats) -> Floats:
        """The sum at each point, nearly."""
        size = max(1, _AT_ONCE // max(1, len(self.rows)))
        parts = [
            self.table(points[start : start + size] @ self.rows.T).sum(axis=1)
            for start in range(0, len(points), size)
        ]
        return np.concatenate(parts)

    def error(self, distance: float) -> float:
        """How far `floats` is from the sum at most: the loss of a row moves by no more than
        its margin.
        """
        count, reach = len(self.rows), self.radius + distance
        margin = distance + rounding(self.dimensions) * reach
        return count * (TABLE_ERROR + margin + rounding(count) * (reach + 1))

    def enclose(self, point: list[arb]) -> arb:
        """The sum at a point."""
        total, column = arb(0), arb_mat(len(point), 1, point)
        for row in self.rows.tolist():
            margin = (arb_mat(1, len(row), row) * column)[0, 0]
            total += (-margin).exp().log1p()
        return total


@dataclass(frozen=True, slots=True)
class SquaredLoss:
    """The sum of (target - row . x)^2, less the sum of the squares of the targets.

    rows: whole multiples of 2^-16.
    targets: whole multiples of 2^-16, each from -1 to 1; the true ones are `scale`
        times as large.
    radius: of the ball, at or above the true one.
    """

    count: int
    gram: NDArray[np.int64]
    cross: NDArray[np.int64]
    scale: Fraction
    radius: float

    @classmethod
    def of(cls, rows: Floats, targets: Floats, scale: Fraction, radius: float) -> SquaredLoss:
        """The sums of products of all rows, exactly."""
        dimensions = rows.shape[1]
        gram = np.zeros((dimensions, dimensions), dtype=np.int64)
        cross = np.zeros(dimensions, dtype=np.int64)
        for start in range(0, len(rows), _EXACT_ROWS):
            whole = rows[start : start + _EXACT_ROWS] * 2.0**16
            gram += (whole.T @ whole).astype(np.int64)
            cross += (whole.T @ (targets[start : start + _EXACT_ROWS] * 2.0**16)).astype(np.int64)
        return cls(len(rows), gram, cross, scale, radius)

    @property
    def dimensions(self) -> int:
        """How many coefficients there are."""
        return len(self.cross)

    def quadratic(self) -> QuadraticBound:
        """The sum itself, which is quadratic."""
        matrix = self.gram.astype(np.float64) * 2.0**-32
        linear = self.cross.astype(np.float64) * (-2 * float(self.scale) * 2.0**-32)
        return QuadraticBound(0.0, linear, matrix, self.error(0.0))

    def floats(self, points: Floats) -> Floats:
        """The sum at each point, nearly."""
        bound = self.quadratic()
        value: Floats = points @ bound.linear + ((points @ bound.matrix) * points).sum(axis=1)
        return value

    def error(self, distance: float) -> float:
        """How far `floats` is from the sum at most."""
        reach, scale = self.radius + distance, float_above(self.scale)
        slope = 2 * (scale + reach)
        rounded = rounding(2 * self.dimensions + 8) * reach * (reach + 2 * scale)
        return self.count * 1.01 * (slope * distance + rounded)

    def enclose(self, point: list[arb]) -> arb:
        """The sum at a point."""
        size = len(point)
        column = arb_mat(size, 1, point)
        gram = arb_mat(size, size, [arb(whole) for whole in self.gram.ravel().tolist()])
        cross = arb_mat(1, size, [arb(whole) for whole in self.cross.tolist()])
        square = (column.transpose() * (gram * column))[0, 0]
        return (square - 2 * ball(self.scale) * (cross * column)[0, 0]) / arb(2) ** 32
