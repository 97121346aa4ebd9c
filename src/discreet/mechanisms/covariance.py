"""Directions one after the other, and how much of the rows lies along each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ScoresTypeError, public_class
from discreet.exact.rationals import Number, count, float_above, nearest_float, readable, set_frozen
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.rows import MOST_COLUMNS, RowGrid, read_rows, second_moment
from discreet.mechanisms.subspace import PLACES, batch_size, directions_of
from discreet.privacy.loss import BoundedRange, Loss, PureDP
from discreet.privacy.parameters import read_epsilon, read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.subspace import SubspaceSampler

# sums of squares are told in this part of norm^2
_FINENESS = 1024


@public_class
@dataclass(frozen=True, slots=True, init=False, repr=False)
class CovarianceMechanism:
    """Pick k orthogonal directions in which the rows are long, one after the other, and
    tell the sum of squares along each with noise.

    k: how many directions; if not given, as many as there are columns.
    epsilon: the privacy loss of everything together: half for the directions, in equal
        parts, and half for the sums.
    norm: the public length that longer rows are shortened to.

    Privacy: pure DP, when a row is added or removed. Each direction is the exponential
        mechanism on the sphere of what the earlier ones leave over. All sums together
        move by at most norm^2, because the directions are orthogonal.
    Utility: `error_bound`, of the sums. The span of all directions is worse than that of
        `SubspaceExponentialMechanism` at the same epsilon, which pays once for it.
    Cost: one pass over the rows, and k draws.
    Reference: Amin, Dick, Kulesza, Muñoz and Vassilvitskii 2019. Proof:
        docs/proofs/subspaces.md#covariance.
    """

    k: int | None
    epsilon: Fraction
    norm: Fraction
    _grid: RowGrid = field(init=False, compare=False)

    def __init__(self, *, k: int | None = None, epsilon: Number, norm: Number) -> None:
        set_frozen(self, k=None if k is None else count(k, "k"))
        set_frozen(self, epsilon=read_epsilon(epsilon, None))
        grid = RowGrid.of(norm)
        set_frozen(self, norm=grid.norm, _grid=grid)

    def __repr__(self) -> str:
        epsilon, norm = readable(self.epsilon), readable(self.norm)
        return f"{type(self).__name__}(k={self.k}, epsilon={epsilon}, norm={norm})"

    @property
    def grid(self) -> RowGrid:
        """The public grid that rows are read to."""
        return self._grid

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # halves that add up: docs/proofs/subspaces.md#covariance
        return PureDP(self.epsilon)

    def losses(self, *, columns: int) -> dict[Loss, int]:
        """The losses that a release is made of: one for each direction, and one for all sums."""
        # docs/proofs/subspaces.md#covariance
        drawn = self._drawn(self.directions(columns), columns)
        half = self.epsilon / 2
        return {BoundedRange(half / drawn): drawn, PureDP(half): 1}

    def error_bound(self, failure_probability: Number, *, columns: int) -> float:
        """How far each of the sums is off the true one along its direction, at most, except
        with `failure_probability`.

        >>> mechanism = CovarianceMechanism(k=2, epsilon=2, norm=1)
        >>> round(mechanism.error_bound(0.05, columns=4), 1)
        3.7
        """
        k = self.directions(count(columns, "columns", least=2))
        # orthonormal but for their rounding: docs/proofs/subspaces.md#covariance
        half = self.epsilon / 2
        noise = DiscreteLaplace(epsilon=half, sensitivity=_FINENESS + 1 + k)
        units = noise.error_bound(failure_probability, numbers=k) + 1
        return float_above(units * self.norm**2 / _FINENESS)

    def accuracy(self, *, columns: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=self.error_bound(beta, columns=columns),
            statement="squares",
            failure_probability=beta,
        )

    def release(self, rows: Any, *, bits: Bits | None = None) -> Release:
        """Pairs of a noisy sum of squares and a direction, in the order of discovery."""
        table, chance = read_rows(rows, "rows"), read_bits(bits)
        self.directions(table.shape[1])
        return self.release_from(second_moment(self._grid.read(table)), chance)

    def release_from(self, moment: NDArray[np.object_], chance: Chance) -> Release:
        """The release for the second moment of rows that were read, in steps of the grid."""
        k = self.directions(len(moment))
        # an underflow that the caller wants to hear of would tell of the rows
        with np.errstate(all="ignore"):
            directions = self._draw_directions(moment, k, chance)
        sums = self._noisy_sums(moment, directions, chance)
        return Release(
            value=[
                (nearest_float(total), direction)
                for total, direction in zip(sums, directions.tolist(), strict=True)
            ],
            loss=self.privacy_loss(),
            mechanism="peeling-covariance",
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(columns=len(moment)),
        )

    def directions(self, columns: int) -> int:
        """How many directions there will be; a refusal where they do not fit the columns."""
        if not 2 <= columns <= MOST_COLUMNS:
            raise ScoresTypeError(
                f"must have between 2 and {MOST_COLUMNS} columns. Got {columns}.", name="rows"
            )
        k = columns if self.k is None else self.k
        if k > columns:
            rule = f"at most the number of columns, {columns}"
            raise ParameterError("k", rule, self.k)
        return k

    def _drawn(self, k: int, columns: int) -> int:
        """How many directions are drawn: the last of all is what is left, and costs nothing."""
        return min(k, columns - 1)

    def _draw_directions(
        self, moment: NDArray[np.object_], k: int, chance: Chance
    ) -> NDArray[np.float64]:
        columns = len(moment)
        directions, within = np.zeros((k, columns)), np.eye(columns)
        drawn = self._drawn(k, columns)
        # a row moves every score by between 0 and longest^2: docs/proofs/subspaces.md#privacy
        rate = self.epsilon / (2 * drawn) / self._grid.longest**2
        for place in range(drawn):
            sampler = SubspaceSampler(
                moment,
                rate=rate,
                size=1,
                batch=batch_size(columns),
                chance=chance,
                within=within,
            )
            directions[place] = directions_of(sampler.draw(PLACES, chance), 1)[0]
            within = without(within, directions[place])
        if k == columns:
            directions[-1] = np.rint(within[:, 0] * 2.0**PLACES) * 2.0**-PLACES
        return directions

    def _noisy_sums(
        self, moment: NDArray[np.object_], directions: NDArray[np.float64], chance: Chance
    ) -> list[Fraction]:
        """The sums of squares along the directions, floored to a grid, with noise."""
        whole = np.rint(directions * 2.0**PLACES).astype(np.int64).astype(object)
        unit = Fraction(self._grid.longest**2, _FINENESS)
        exact = [row @ moment @ row for row in whole]
        floored = [math.floor(Fraction(total, 4**PLACES) / unit) for total in exact]
        # all moves together, in units: docs/proofs/subspaces.md#covariance
        noise = DiscreteLaplace(
            epsilon=self.epsilon / 2,
            sensitivity=math.floor(_FINENESS * stretch(whole)) + len(whole),
        )
        noisy = noise.release(floored, bits=chance.bits).value
        return [number * unit * self._grid.step**2 for number in noisy]


def stretch(whole: NDArray[np.object_]) -> Fraction:
    """A bound of the sum of squares of a unit vector along these directions, given in
    multiples of 2^-PLACES: 1 if they are orthonormal.
    """
    gram = whole @ whole.T
    rows = [sum(abs(int(entry)) for entry in row) for row in gram]
    return Fraction(max(rows), 4**PLACES)


def without(within: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Nearly orthonormal columns that span what the columns span, without the direction:
    a reflection takes it to the first column, which is dropped.
    """
    shares = (within * direction[:, None]).sum(axis=0)
    shares = shares / np.sqrt((shares * shares).sum())
    mirror = shares.copy()
    mirror[0] += math.copysign(1.0, shares[0])
    image = (within * mirror).sum(axis=1) * (2 / (mirror * mirror).sum())
    rest: NDArray[np.float64] = (within - image[:, None] * mirror)[:, 1:]
    return rest
