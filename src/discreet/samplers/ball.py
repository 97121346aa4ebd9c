"""Points of a ball with odds exp(-rate * losses - prior), exactly, by rejection.

A proposal comes from a normal law that lies above the odds, or from one of two that
share the ball. It is a real vector, known by the random bits that make it. Floats
decide most proposals, with a proved error; enclosures decide the others, from as many
more bits as that takes. docs/proofs/ball.md#exactness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from flint import arb, arb_mat, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision, ball, decide, less
from discreet.exact.rationals import float_above
from discreet.randomness.chance import Chance
from discreet.samplers.gaussian_envelope import GaussianEnvelope, Target, column, square
from discreet.samplers.losses import Floats, LossSum, rounding
from discreet.samplers.normals import ERROR, LazyNormals, LazyTailNormals, LazyUniforms, tail_mass

_BITS = 192
# proposals of a batch: all of them are looked at, even if the first is kept
_BATCH, _LARGE_BATCH, _MANY_DIMENSIONS = 16, 64, 20


class Normals(Protocol):
    """Normal vectors, one for each row: floats, for which rows they are certain, and balls."""

    values: Floats
    certain: NDArray[np.bool_]

    def balls(self, row: int, precision: int) -> list[arb]:
        """Enclosures of the numbers of one row."""


@dataclass(frozen=True, slots=True)
class Ellipsoid:
    """The points x with |whitening (x - center)|^2 at most `square`; all are exact floats."""

    center: Floats
    whitening: Floats
    square: float

    def contains(self, points: Floats, distance: float) -> tuple[NDArray[np.bool_], ...]:
        """For points that are known up to a distance: certainly inside, certainly outside."""
        size = float(np.linalg.norm(self.whitening)) * 1.01
        reach = float(np.abs(points).max() + np.abs(self.center).max()) * len(self.center)
        error = size * (distance + rounding(len(self.center) + 2) * reach)
        found = (((points - self.center) @ self.whitening.T) ** 2).sum(axis=1)
        radius, slack = math.sqrt(self.square), 1 + rounding(len(self.center) + 8)
        inside = found * slack <= max(0.0, radius - error) ** 2
        return inside, found >= (radius + error) ** 2 * slack

    def encloses(self, point: arb_mat) -> bool | None:
        """True if a point is inside, if that is certain."""
        place = square(self.whitening) * (point - column(self.center))
        return less(_squares(place.entries()), arb(self.square))


@dataclass(frozen=True, slots=True)
class Shell:
    """An envelope, and the part of the ball that it is for: inside an ellipsoid, outside
    it, or all.
    """

    envelope: GaussianEnvelope
    region: Ellipsoid | None = None
    outside: bool = False
    least_square: float = 0.0
    """What |z|^2 is at least, for proposals from the tail of the normal law."""

    def propose(self, count: int, chance: Chance) -> tuple[Normals, float]:
        """Normal vectors, and how far their floats are off at most."""
        size = len(self.envelope.center)
        if self.outside:
            tail = LazyTailNormals(count, size, self.least_square, chance)
            return tail, tail.error
        return LazyNormals(count, size, chance), ERROR * math.sqrt(size)

    def log_mass(self) -> arb:
        """The logarithm of the integral of the envelope over its proposals, up to a constant
        that all shells share.
        """
        determinant = abs(square(self.envelope.shape).det()).log() - arb(self.envelope.constant)
        if not self.outside:
            return determinant
        return determinant + tail_mass(len(self.envelope.center), self.least_square).log()


class BallSampler:
    """Draws from the target.

    loss: the sum of losses.
    shells: one envelope for the whole ball, or two for the inside and the outside of an
        ellipsoid.
    """

    def __init__(self, loss: LossSum, target: Target, shells: list[Shell]) -> None:
        self._loss, self._target, self._shells = loss, target, shells
        self._matrices = [
            (column(shell.envelope.center), square(shell.envelope.shape)) for shell in shells
        ]
        self._shares: dict[int, arb] = {}
        self.proposals = 0
        self.open = 0

    def draw(self, unit: fmpq, chance: Chance) -> list[int]:
        """A point, each coordinate in whole units, rounded."""
        size = _LARGE_BATCH if self._loss.dimensions >= _MANY_DIMENSIONS else _BATCH
        while True:
            parts = self._pick_shells(size, chance)
            batch = [
                _Batch(self, number, int(np.count_nonzero(parts == number)), chance)
                for number in range(len(self._shells))
            ]
            self.proposals += size
            seen = [0] * len(batch)
            for number in map(int, parts):
                row, seen[number] = seen[number], seen[number] + 1
                if batch[number].keeps(row):
                    return batch[number].rounded(row, unit)

    def _pick_shells(self, size: int, chance: Chance) -> NDArray[np.int64]:
        """The shell of each proposal, with odds of its mass."""
        if len(self._shells) == 1:
            return np.zeros(size, dtype=np.int64)
        uniforms = LazyUniforms(size, chance)

        def is_first(row: int) -> bool:
            return decide(
                lambda precision: less(
                    uniforms.ball(row, precision), self._first_share(max(precision, _BITS))
                )
            )

        return np.array([0 if is_first(row) else 1 for row in range(size)], dtype=np.int64)

    def _first_share(self, precision: int) -> arb:
        """The share of the first of two shells."""

        def compute() -> arb:
            first, second = (shell.log_mass() for shell in self._shells)
            return 1 / (1 + (second - first).exp())

        if precision not in self._shares:
            self._shares[precision] = at_precision(precision, compute)
        return self._shares[precision]

    def point(self, number: int, normals: Normals, row: int, precision: int) -> arb_mat:
        """A proposal of a shell."""
        center, shape = self._matrices[number]
        numbers = normals.balls(row, precision)
        return center + shape * arb_mat(len(numbers), 1, numbers)

    def log_acceptance(self, number: int, numbers: list[arb]) -> arb:
        """The logarithm of the odds to keep a proposal that is in the ball and in the part
        of its shell.
        """
        center, shape = self._matrices[number]
        point = (center + shape * arb_mat(len(numbers), 1, numbers)).entries()
        return (
            _squares(numbers) / 2
            + arb(self._shells[number].envelope.constant)
            - ball(self._target.rate) * self._loss.enclose(point)
            - ball(self._target.prior) / 2 * _squares(point)
        )

    def is_in_part(self, number: int, point: arb_mat) -> bool | None:
        """True if a point is in the ball and in the part of the shell, if that is certain."""
        shell = self._shells[number]
        within = [less(_squares(point.entries()), ball(self._target.radius) ** 2)]
        if shell.region is not None:
            inside = shell.region.encloses(point)
            within.append(inside if inside is None else inside != shell.outside)
        if False in within:
            return False
        return None if None in within else True

    def statuses(self, number: int, normals: Normals, error: float, logs: Floats) -> Statuses:
        """What floats say about each proposal of a shell: True to keep it, False not to; and
        where they are certain.
        """
        shell = self._shells[number]
        values, envelope = normals.values, shell.envelope
        lengths = (values * values).sum(axis=1)
        points = envelope.center + values @ envelope.shape.T
        distance = _distance(envelope, error, math.sqrt(float(lengths.max())))
        squares = (points * points).sum(axis=1)
        inside, outside = self._in_ball(squares, distance)
        if shell.region is not None:
            there, elsewhere = shell.region.contains(points, distance)
            inside &= elsewhere if shell.outside else there
            outside |= there if shell.outside else elsewhere
        losses = self._loss.floats(points)
        rate, prior = float(self._target.rate), float(self._target.prior)
        odds = lengths / 2 + envelope.constant - rate * losses - prior / 2 * squares
        # points outside the ball may have any loss, and are not kept
        within = np.where(outside, 0.0, rate * np.abs(losses))
        size = float((lengths / 2 + abs(envelope.constant) + within).max())
        tolerance = self._tolerance(distance, error, size, math.sqrt(float(lengths.max())))
        keep = inside & (logs < odds - tolerance)
        reject = outside | (logs > odds + tolerance)
        return Statuses(keep, keep | reject)

    def _in_ball(self, squares: Floats, distance: float) -> tuple[NDArray[np.bool_], ...]:
        radius, slack = float_above(self._target.radius), 1 + rounding(self._loss.dimensions + 8)
        inside = squares * slack <= max(0.0, radius * (1 - 2.0**-50) - distance) ** 2
        return inside, squares >= (radius + distance) ** 2 * slack

    def _tolerance(self, distance: float, error: float, size: float, length: float) -> float:
        """How far the logarithm of the odds, less that of a uniform number, is from what
        floats say, at most.
        """
        radius = float_above(self._target.radius) + distance
        rate, prior = float_above(self._target.rate), float_above(self._target.prior)
        squares = rounding(self._loss.dimensions + 8)
        return 1.01 * (
            rate * self._loss.error(distance)
            + prior * radius * (distance + squares * radius)
            + error * (length + error)
            + squares * length**2
            + rounding(8) * (size + prior * radius**2)
            + 4 * ERROR
        )


@dataclass(frozen=True, slots=True)
class Statuses:
    """Which proposals are kept, where that is certain."""

    keep: NDArray[np.bool_]
    certain: NDArray[np.bool_]


class _Batch:
    """Proposals of one shell."""

    def __init__(self, sampler: BallSampler, number: int, count: int, chance: Chance) -> None:
        self._sampler, self._number = sampler, number
        self._normals, error = sampler._shells[number].propose(count, chance)
        self._uniforms = LazyUniforms(count, chance)
        if count:
            logs, certain = self._uniforms.logarithms()
            found = sampler.statuses(number, self._normals, error, logs)
            self._keep, self._certain = found.keep, found.certain & certain & self._normals.certain

    def keeps(self, row: int) -> bool:
        """True if a proposal is kept."""
        if self._certain[row]:
            return bool(self._keep[row])
        self._sampler.open += 1
        return decide(lambda precision: self._question(row, precision))

    def _question(self, row: int, precision: int) -> bool | None:
        point = self._sampler.point(self._number, self._normals, row, precision)
        there = self._sampler.is_in_part(self._number, point)
        if there is False:
            return False
        numbers = self._normals.balls(row, precision)
        odds = self._sampler.log_acceptance(self._number, numbers)
        below = less(self._uniforms.ball(row, precision).log(), odds)
        return None if below and there is None else below

    def rounded(self, row: int, unit: fmpq) -> list[int]:
        """The point in whole units, each coordinate rounded to the nearest."""

        def question(precision: int) -> list[int] | None:
            point = self._sampler.point(self._number, self._normals, row, precision)
            cells = [(entry / unit + arb(0.5)).floor().unique_fmpz() for entry in point.entries()]
            known = [int(cell) for cell in cells if cell is not None]
            return known if len(known) == len(cells) else None

        return decide(question)


def _distance(envelope: GaussianEnvelope, error: float, length: float) -> float:
    """How far a point in floats is from the proposal that it stands for, at most."""
    size = float(np.linalg.norm(envelope.shape)) * 1.01
    far = float(np.abs(envelope.center).sum()) + size * length
    return size * error + rounding(len(envelope.center) + 2) * far * 1.01


def _squares(numbers: list[arb]) -> arb:
    return sum((number * number for number in numbers), arb(0))
