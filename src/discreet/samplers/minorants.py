"""Parabolas below the logistic loss, one for each row, that add up to a quadratic bound.

The loss log(1 + exp(-z)) is convex, and its curvature has a single peak. So a parabola
that touches it at a point, and is curved no more than the loss is there, lies below it
on an interval as soon as it does at both ends. Which points to touch at is a matter of
speed only: they are searched for in floats, on a part of the rows. That each parabola
lies below is checked with the table's proved error. docs/proofs/ball.md#parabolas has
both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.gaussian_envelope import Target, normal_law
from discreet.samplers.losses import (
    KNOTS,
    TABLE_ERROR,
    Floats,
    LogisticLoss,
    LogisticTable,
    QuadraticBound,
    rounding,
)

Places = NDArray[np.int64]

# how far the parabolas are moved down, which makes up for all rounding
_LOWERED = 2.0**-29
# how much less they are curved, for the same reason
_FLATTENED = 1 - 2.0**-20
# nearer ends than that lie above the parabola because it was moved down
_NEAR = 2.0**-10
# rows that the search looks at, and how often
_SEARCHED = 2048
_ROUNDS = 60
_LAST_ROUNDS = 4
_NEWTON_STEPS = 40
# of the logarithm of a mass, or of a density: further steps gain too little
_ENOUGH = 1e-3


@dataclass(frozen=True, slots=True)
class Margins:
    """Between which ends the margin of each row lies."""

    low: Floats
    high: Floats

    def part(self, stride: int) -> Margins:
        """The margins of every stride-th row."""
        return Margins(self.low[::stride], self.high[::stride])


def margins_in_ball(loss: LogisticLoss) -> Margins:
    """A margin is at most the length of its row times the radius."""
    length = np.sqrt(squares_of(loss.rows)) * (loss.radius * (1 + 2.0**-40))
    return Margins(-length, length)


def squares_of(rows: Floats) -> Floats:
    """The square of the length of each row, within rounding."""
    total: Floats = np.einsum("ij,ij->i", rows, rows)
    return total


def add_up(loss: LogisticLoss, margins: Margins, knots: Places) -> QuadraticBound:
    """The parabolas that touch at these knots, added up: a bound of the sum of losses
    wherever all margins lie between their ends.
    """
    constant, slope, curve = _parabolas(loss.table, margins, knots)
    rows, count = loss.rows, len(knots)
    error = rounding(count + 8) * float(
        np.abs(constant).sum()
        + loss.radius * np.abs(slope).sum()
        + loss.radius**2 * np.abs(curve).sum()
    )
    return QuadraticBound(
        float(constant.sum()),
        rows.T @ slope,
        (rows.T * curve) @ rows,
        2 * error,
    )


def _parabolas(
    table: LogisticTable, margins: Margins, knots: Places
) -> tuple[Floats, Floats, Floats]:
    """constant + slope z + curve z^2, at or below the loss between the ends.

    Where the check fails, the parabola is the tangent, which always lies below.
    """
    at = (knots - table.top * KNOTS) * (1 / KNOTS)
    value, lean = table.terms[0][knots], table.terms[1][knots]
    curve = _curvatures(table, margins, knots) * _FLATTENED
    below = np.ones(knots.shape, dtype=np.bool_)
    rounded = 2.0**-46 * (2 + np.abs(margins.low) + np.abs(margins.high))
    for end in (margins.low, margins.high):
        gap = end - at
        under = value - _LOWERED + gap * (lean + gap * curve)
        below &= table(end) - under > TABLE_ERROR + rounded
    curve = np.where(below, curve, 0.0)
    constant = value - _LOWERED - at * lean + at * at * curve
    return constant, lean - 2 * at * curve, curve


def _curvatures(table: LogisticTable, margins: Margins, knots: Places) -> Floats:
    """About the largest curve of a parabola that touches at a knot and lies below at the
    ends; no more than half the second derivative there.
    """
    at = (knots - table.top * KNOTS) * (1 / KNOTS)
    value, lean = table.terms[0][knots], table.terms[1][knots]
    curve: Floats = table.terms[2][knots]
    for end in (margins.low, margins.high):
        gap = end - at
        far = np.abs(gap) > _NEAR
        chord = (table(end) - value - gap * lean) / np.where(far, gap * gap, 1.0)
        curve = np.where(far, np.minimum(curve, chord), curve)
    return np.maximum(curve, 0.0)


def search_tangents(loss: LogisticLoss, margins: Margins, target: Target) -> Places:
    """Knots at which the parabolas make a tight envelope.

    By turns: the normal law of the parabolas that were found, and for each row the
    parabola that is highest on average under that law. On a part of the rows first;
    then a few turns on all of them.
    """
    center, covariance = mode(loss, target)
    stride = max(1, len(loss.rows) // _SEARCHED)
    if stride > 1:
        part = LogisticLoss(loss.rows[::stride], loss.radius)
        weight = len(loss.rows) / len(part.rows)
        # the part's law leans elsewhere: as many rows more would set that right
        lean = _gradient(loss, center) - weight * _gradient(part, center)
        few = _Rows(part, margins.part(stride), target, weight, lean)
        center, covariance = few.search(center, covariance, _ROUNDS)[1]
    rounds = _ROUNDS if stride == 1 else _LAST_ROUNDS
    every = _Rows(loss, margins, target, 1.0, np.zeros(loss.dimensions))
    return every.search(center, covariance, rounds)[0]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that stand for `weight` times as many.

    lean: what the gradient of all rows has beyond `weight` times that of these.
    """

    loss: LogisticLoss
    margins: Margins
    target: Target
    weight: float
    lean: Floats

    def search(
        self, center: Floats, covariance: Floats, rounds: int
    ) -> tuple[Places, tuple[Floats, Floats]]:
        """The best knots that were found, and the mean and the covariance of their law."""
        mean, variance = _predicted(self.loss.rows, center, covariance)
        knots = found = _climb(self.loss.table, self.margins, mean, variance, None)
        best, law = np.inf, (center, covariance)
        for _ in range(rounds):
            mass, center, covariance = self.normal_law(knots)
            gained = best - mass
            if gained > 0:
                best, law, found = mass, (center, covariance), knots
            if abs(gained) < _ENOUGH:
                break
            new_mean, new_variance = _predicted(self.loss.rows, center, covariance)
            mean, variance = (mean + new_mean) / 2, (variance + new_variance) / 2
            knots = _climb(self.loss.table, self.margins, mean, variance, knots)
        return found, law

    def normal_law(self, knots: Places) -> tuple[float, Floats, Floats]:
        """The logarithm of the mass of the envelope, its mean and its covariance."""
        bound = add_up(self.loss, self.margins, knots)
        weighted = QuadraticBound(
            self.weight * bound.constant,
            self.weight * bound.linear + self.lean,
            self.weight * bound.matrix,
            0.0,
        )
        return normal_law(weighted, self.target)


def _gradient(loss: LogisticLoss, point: Floats) -> Floats:
    slopes = loss.table.terms[1][loss.table.knot(loss.rows @ point)]
    gradient: Floats = loss.rows.T @ slopes
    return gradient


def mode(loss: LogisticLoss, target: Target) -> tuple[Floats, Floats]:
    """About the best point of the ball, and the inverse of the curvature there."""
    rate, radius, size = float(target.rate), float(target.radius), loss.dimensions
    prior = float(target.prior) + size / radius**2
    point, step, lowest = np.zeros(size), np.zeros(size), np.inf
    curvature = prior * np.eye(size)
    for _ in range(_NEWTON_STEPS):
        trial = point + step
        height = rate * float(loss.floats(trial[None])[0]) + prior / 2 * float(trial @ trial)
        if height > lowest:
            step = step / 2
            continue
        gained = lowest - height
        point, lowest = trial, height
        if gained < _ENOUGH:
            break
        curves = loss.table.terms[2][loss.table.knot(loss.rows @ point)]
        curvature = 2 * rate * (loss.rows.T * curves) @ loss.rows + prior * np.eye(size)
        step = -np.linalg.solve(curvature, rate * _gradient(loss, point) + prior * point)
    length = float(np.sqrt(point @ point))
    inverse = np.linalg.inv(curvature).astype(np.float64)
    return point * min(1.0, 0.95 * radius / max(length, 1e-300)), inverse


def _predicted(rows: Floats, center: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """The mean and the variance of each margin."""
    variance: Floats = np.einsum("ij,ij->i", rows @ covariance, rows)
    return rows @ center, np.maximum(variance, 0.0)


def _climb(
    table: LogisticTable,
    margins: Margins,
    mean: Floats,
    variance: Floats,
    start: Places | None,
) -> Places:
    """For each row a knot whose parabola is high on average, by steps to both sides."""
    lowest, highest = table.knot(margins.low) + 1, table.knot(margins.high) - 1
    lowest, highest = np.minimum(lowest, highest), np.maximum(lowest, highest)
    knots = np.clip(table.knot(mean) if start is None else start, lowest, highest)
    height = _height(table, margins, mean, variance, knots)
    for step in (32, 16, 8, 4, 2, 1) if start is None else (4, 1):
        for move in (step, -step):
            moved = np.clip(knots + move, lowest, highest)
            there = _height(table, margins, mean, variance, moved)
            better = there > height
            knots, height = np.where(better, moved, knots), np.where(better, there, height)
    return knots


def _height(
    table: LogisticTable, margins: Margins, mean: Floats, variance: Floats, knots: Places
) -> Floats:
    gap = mean - (knots - table.top * KNOTS) * (1 / KNOTS)
    curve = _curvatures(table, margins, knots)
    height: Floats = (
        table.terms[0][knots] + gap * table.terms[1][knots] + curve * (gap * gap + variance)
    )
    return height
