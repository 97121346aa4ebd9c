"""The exponential mechanism over all subspaces: private principal components."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_mat
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, ScoresTypeError, public_class
from discreet.exact.enclosures import ball, upper_bound
from discreet.exact.rationals import Number, count, float_above, nearest_float, readable, set_frozen
from discreet.mechanisms.rows import MOST_COLUMNS, RowGrid, read_rows, second_moment
from discreet.privacy.loss import BoundedRange, Loss
from discreet.privacy.parameters import read_epsilon, read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.subspace import SubspaceSampler

PLACES = 30
"""Releases are whole multiples of 2^-30."""

MOST_PERSONS = 2**33
"""Statements of accuracy hold for as many rows: more than there are persons on earth."""

MOST_DIMENSIONS = 10
"""How many dimensions a subspace, or what is orthogonal to it, may have."""


@public_class
@dataclass(frozen=True, slots=True, init=False, repr=False)
class SubspaceExponentialMechanism:
    """Pick a k-dimensional subspace in which the rows are long: odds
    exp(rate * sum of the squared lengths of the rows in it), over all subspaces.

    k: the number of dimensions, below the number of columns.
    epsilon: the privacy loss of one draw.
    norm: the public length that longer rows are shortened to.

    Privacy: bounded range, when a row is added or removed: it moves the score of every
        subspace by between 0 and norm^2, whatever k is.
    Utility: `error_bound`.
    Cost: one pass over the rows, and milliseconds for a draw; up to 128 columns, and k
        or columns - k up to 10.
    Reference: Chaudhuri, Sarwate and Sinha 2013 (the law); Amin, Dick, Kulesza, Muñoz
        and Vassilvitskii 2019 (one direction after the other). Proof:
        docs/proofs/subspaces.md.

    >>> from discreet.testing import SeededBits
    >>> rows = np.array([[3.0, 4.0], [6.0, 8.0], [-3.0, -4.0], [5.0, -1.0]] * 50)
    >>> mechanism = SubspaceExponentialMechanism(k=1, epsilon=1, norm=10)
    >>> mechanism.draw(rows, bits=SeededBits(1)).round(2).tolist()
    [[0.73, 0.69]]
    """

    k: int
    epsilon: Fraction
    norm: Fraction
    _grid: RowGrid = field(init=False, compare=False)

    def __init__(self, *, k: int, epsilon: Number, norm: Number) -> None:
        set_frozen(self, k=count(k, "k"), epsilon=read_epsilon(epsilon, None))
        grid = RowGrid.of(norm)
        set_frozen(self, norm=grid.norm, _grid=grid)

    def __repr__(self) -> str:
        epsilon, norm = readable(self.epsilon), readable(self.norm)
        return f"{type(self).__name__}(k={self.k}, epsilon={epsilon}, norm={norm})"

    @property
    def grid(self) -> RowGrid:
        """The public grid that rows are read to."""
        return self._grid

    @property
    def rate(self) -> Fraction:
        """epsilon / range, for scores in steps of the grid."""
        # a row moves every score by between 0 and longest^2: docs/proofs/subspaces.md#privacy
        return self.epsilon / self._grid.longest**2

    def privacy_loss(self) -> Loss:
        """What one draw costs."""
        # docs/proofs/subspaces.md#privacy
        return BoundedRange(self.epsilon)

    def draw(self, rows: Any, *, bits: Bits | None = None) -> NDArray[np.float64]:
        """k orthonormal directions that span the subspace, one in each row.

        Only their span has a meaning, not their order. Costs `privacy_loss()`. Give
        `bits` only in tests and simulations.
        """
        chance = read_bits(bits)
        return self.draw_from(self._moment(rows), chance)

    def release(self, rows: Any, *, bits: Bits | None = None) -> Release:
        """The directions of one draw as lists, with what they cost."""
        chance = read_bits(bits)
        return self.release_from(self._moment(rows), chance)

    def release_from(self, moment: NDArray[np.object_], chance: Chance) -> Release:
        """The release for the second moment of rows that were read, in steps of the grid."""
        return Release(
            value=self.draw_from(moment, chance).tolist(),
            loss=self.privacy_loss(),
            mechanism="subspace-exponential",
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(columns=len(moment)),
        )

    def _moment(self, rows: Any) -> NDArray[np.object_]:
        table = read_rows(rows, "rows")
        self.require_columns(table.shape[1])
        return second_moment(self._grid.read(table))

    def draw_from(self, moment: NDArray[np.object_], chance: Chance) -> NDArray[np.float64]:
        """Directions as `draw` has them, for the second moment of rows that were read, in steps
        of the grid.
        """
        columns, rest = len(moment), len(moment) - self.k
        # the subspace of the fewer dimensions is drawn: a public choice
        size, sign = (self.k, 1) if self.k <= rest else (rest, -1)
        # an underflow that the caller wants to hear of would tell of the rows
        with np.errstate(all="ignore"):
            sampler = SubspaceSampler(
                sign * moment, rate=self.rate, size=size, batch=batch_size(columns), chance=chance
            )
            projection = sampler.draw(PLACES, chance)
        if sign < 0:
            projection = np.eye(columns, dtype=object) * 2**PLACES - projection
        return directions_of(projection, self.k)

    def require_columns(self, columns: int) -> None:
        """Refuse a number of columns that no such subspace fits, or no sampler."""
        if not 2 <= columns <= MOST_COLUMNS:
            raise ScoresTypeError(
                f"must have between 2 and {MOST_COLUMNS} columns. Got {columns}.", name="rows"
            )
        if self.k >= columns:
            rule = f"below the number of columns, {columns}"
            raise ParameterError("k", rule, self.k)
        if min(self.k, columns - self.k) > MOST_DIMENSIONS:
            rule = f"at most {MOST_DIMENSIONS}, or at least {columns - MOST_DIMENSIONS}"
            hint = "fit_covariance finds more directions, one after the other."
            raise ParameterError("k", rule, self.k, hint)

    def error_bound(self, failure_probability: Number, *, columns: int, rows: int) -> float:
        """By how much the sum of squares in the subspace is below that in the best one, at
        most, except with `failure_probability`, if there are no more rows than this.

        >>> mechanism = SubspaceExponentialMechanism(k=1, epsilon=1, norm=1)
        >>> round(mechanism.error_bound(0.05, columns=4, rows=1000))
        15
        """
        beta = read_probability(failure_probability, "failure_probability")
        columns, rows = count(columns, "columns", least=2), count(rows, "rows")
        self.require_columns(columns)
        bound = upper_bound(lambda: self._bound(beta, columns, rows))
        return float_above(bound * self.norm**2)

    def accuracy(self, *, columns: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement, for up to 2^33 rows: more than there are persons."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=self.error_bound(beta, columns=columns, rows=MOST_PERSONS),
            statement="captured",
            failure_probability=beta,
        )

    def _bound(self, beta: Fraction, columns: int, rows: int) -> arb:
        """The `error_bound` in units of norm^2: docs/proofs/subspaces.md#utility."""
        half = Fraction(self.k * (columns - self.k), 2)
        epsilon = self.epsilon
        angle = min(Fraction(1), half / (epsilon * rows))
        log_share = ball(half) * ball(angle).log() - ball(half + 1).lgamma()
        for place in range(self.k):
            log_share += ball(Fraction(columns - place, 2)).lgamma()
            log_share -= ball(Fraction(self.k - place, 2)).lgamma()
        return rows * ball(angle) + (-ball(beta).log() - log_share) / ball(epsilon)

    def log_density_ratio(self, first: Any, second: Any, *, rows: Any) -> float:
        """How much likelier one subspace is than another, as the logarithm of the ratio.

        first, second: directions that span each, in rows. As private as the data: never
            publish it for real rows.
        """
        moment = self._moment(rows)
        return nearest_float(self.rate * (captured(first, moment) - captured(second, moment)))


def batch_size(columns: int) -> int:
    """How many proposals are made at once: by the number of columns only."""
    return 16 * math.isqrt(columns) + 32


def captured(directions: Any, moment: NDArray[np.object_]) -> Fraction:
    """The exact trace of the moment on the span of the directions, in rows."""
    exact = [[fmpq(*float(part).as_integer_ratio()) for part in row] for row in directions]
    frame = fmpq_mat(exact)
    matrix = fmpq_mat([[fmpq(int(part)) for part in row] for row in moment])
    inner = (frame * frame.transpose()).solve(frame * matrix * frame.transpose())
    total = sum((inner[i, i] for i in range(inner.nrows())), fmpq(0))
    return Fraction(int(total.p), int(total.q))


def directions_of(projection: NDArray[np.object_], k: int) -> NDArray[np.float64]:
    """An orthonormal basis of the subspace of a projection on the grid: the columns of its
    Cholesky factor with pivots, so a function of nothing but what is released.
    """
    left = projection.astype(np.float64) * 2.0**-PLACES
    directions = np.zeros((k, len(left)))
    for place in range(k):
        pivot = int(np.argmax(np.diagonal(left)))
        direction = left[:, pivot] / math.sqrt(left[pivot, pivot])
        left = left - direction[:, None] * direction
        directions[place] = np.rint(direction * 2.0**PLACES) * 2.0**-PLACES
    return directions
