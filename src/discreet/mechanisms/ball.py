"""The exponential mechanism over all coefficients of a linear model in a ball."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, public_class, shown_pair
from discreet.exact.enclosures import ball, lower_bound, rational, upper_bound
from discreet.exact.rationals import (
    Number,
    choice,
    count,
    exact_decimal,
    float_above,
    positive,
    readable,
    round_down,
    set_frozen,
)
from discreet.literals import LOSS_NAMES, LossName
from discreet.mechanisms.grid import as_floats
from discreet.mechanisms.rows import read_column, read_rows, unit_rows, unit_targets
from discreet.privacy.loss import ZCDP, BoundedRange, Loss
from discreet.privacy.parameters import read_epsilon, read_probability, read_rho
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.ball import BallSampler
from discreet.samplers.ball_proposal import make_shells
from discreet.samplers.gaussian_envelope import Target
from discreet.samplers.losses import MOST_MARGIN, LogisticLoss, LossSum, SquaredLoss

# how much finer than the radius the grid of the answer is, in binary digits: so fine that it
# spoils no bound for up to 2^33 rows, docs/proofs/ball.md#utility
_DIGITS = 48
# squares and products of sizes up to here are far from where floats end, whatever the rows are
_FAR = Fraction(2) ** 200
# of logistic losses, which are known to some 2^-50 each: beyond it no draw might ever be decided
_FASTEST = 2**20


@public_class
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BallExponentialMechanism:
    """Pick the coefficients of a linear model, with odds exp(-rate * losses - ridge / 2 *
    length^2), among all vectors in a ball.

    loss: "logistic", log(1 + exp(-target * row . coefficients)) with targets 1 and -1,
        or "squared", (target - row . coefficients)^2.
    norm: what the length of a row is at most; longer rows are shortened. Rows are read
        in 2^16ths of it, towards zero.
    radius: of the ball. With `rho` and the logistic loss it may be left out: then it is
        (sqrt(dimensions) + 3) / sqrt(ridge), beyond which hardly anything is.
    epsilon: the privacy loss of one release, as a bounded range.
    rho: the privacy loss instead, as zero-concentrated DP; needs a ridge.
    ridge: how strongly coefficients are drawn to 0: without any data each would be
        about 1 / sqrt(ridge).
    bounds: of the targets, for the squared loss; others count as the nearest bound.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon or a rho above 64 needs.

    Privacy: bounded range, because one row moves the losses of all coefficients within
        one interval; or ZCDP, because one row moves no loss faster than the ridge bends
        it (Gopi, Lee and Liu 2022). `bounded_range` and `zcdp` say both.
    Utility: `expected_error_bound` and `error_bound`.
    Cost: proposals until one is kept; each takes one pass over the rows.
    Proof: docs/proofs/ball.md.

    >>> mechanism = BallExponentialMechanism(loss="logistic", norm=1, radius=10, epsilon=1)
    >>> mechanism.privacy_loss(), mechanism.expected_error_bound(dimensions=5)
    (BoundedRange(epsilon=1), 50.0)
    """

    loss: LossName
    norm: Number
    radius: Number | None = None
    epsilon: Number | None = None
    rho: Number | None = None
    ridge: Number = 0
    bounds: tuple[Number, Number] | None = None
    acknowledge: str | None = None
    _norm: Fraction = field(init=False, compare=False)
    _radius: Fraction | None = field(init=False, compare=False)
    _ridge: Fraction = field(init=False, compare=False)
    _largest: Fraction = field(init=False, compare=False)
    _loss: Loss = field(init=False, compare=False)

    def __post_init__(self) -> None:
        set_frozen(self, loss=choice(self.loss, LOSS_NAMES, "loss"))
        if (self.epsilon is None) == (self.rho is None):
            rule = "given, or 'rho' in its place (exactly one of the two)"
            raise ParameterError("epsilon", rule, self.epsilon)
        norm = _size(exact_decimal(self.norm, "norm"), self.norm, "norm")
        set_frozen(self, _norm=norm)
        set_frozen(self, _largest=self._read_largest())
        set_frozen(self, _ridge=self._read_ridge())
        set_frozen(self, _radius=self._read_radius())
        set_frozen(self, _loss=self._read_loss())

    def __repr__(self) -> str:
        return (
            f"BallExponentialMechanism(loss={self.loss!r}, norm={readable(self._norm)}, "
            f"{self._loss!r})"
        )

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        return self._loss

    def bounded_range(self, *, dimensions: int) -> BoundedRange:
        """The bounded range that one release has as well, with this many coefficients."""
        # docs/proofs/ball.md#the-range-of-one-row
        target = self._target(count(dimensions, "dimensions"))
        return BoundedRange(target.rate * self._range_of_row(target.radius))

    def zcdp(self, *, dimensions: int) -> ZCDP:
        """The zero-concentrated DP that one release has as well: by the ridge, or by the
        range, whichever is less.
        """
        # docs/proofs/ball.md#concentrated-privacy-by-a-ridge
        target = self._target(count(dimensions, "dimensions"))
        ways = [self.bounded_range(dimensions=dimensions).to_zcdp()]
        if target.prior:
            slope = target.rate * self._steepest(target.radius)
            ways.append(ZCDP(slope**2 / (2 * target.prior)))
        return min(ways, key=lambda loss: loss.rho)

    def expected_error_bound(self, *, dimensions: int) -> float:
        """By how much the sum of losses, with its ridge, is above the least one, on average,
        before the answer is rounded: dimensions / rate at most.
        """
        target = self._target(count(dimensions, "dimensions"))
        return float_above(dimensions / target.rate)

    def error_bound(self, failure_probability: Number, *, dimensions: int) -> float:
        """By how much the sum of losses, with its ridge, is above the least one, at most,
        except with this probability; of up to 2^33 rows, as they are read.
        """
        failure = read_probability(failure_probability, "failure_probability")
        size = count(dimensions, "dimensions")
        target = self._target(size)

        def enclose() -> arb:
            logs = -ball(failure).log()
            return (size + (2 * size * logs).sqrt() + logs) / ball(target.rate)

        return float_above(upper_bound(enclose))

    def accuracy(self, *, dimensions: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=self.error_bound(beta, dimensions=dimensions),
            statement="losses",
            failure_probability=beta,
        )

    def release(self, rows: Any, targets: Any, *, bits: Bits | None = None) -> Release:
        """Pick coefficients. Give `bits` only in tests and simulations.

        rows: an array with a row for each person, or a data frame. A row with something
            else than finite numbers counts as the zero vector.
        targets: an array with a target for each row, or a series. A row without a
            target, or for the logistic loss with another one than 1 and -1, is left
            out.
        """
        chance = read_bits(bits)
        table = read_rows(rows, "rows")
        wanted = read_column(targets, len(table), "targets")
        target = self._target(table.shape[1])
        return Release(
            value=self._draw(table, _as_numbers(wanted), target, chance),
            loss=self._loss,
            mechanism=f"{self.loss}-ball",
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(dimensions=table.shape[1]),
        )

    def _draw(
        self,
        rows: NDArray[np.float64],
        wanted: NDArray[np.float64],
        target: Target,
        chance: Chance,
    ) -> list[float]:
        loss = self._loss_sum(unit_rows(rows, self._norm), wanted, target)
        step = Fraction(2) ** (math.floor(math.log2(target.radius / self._norm)) - _DIGITS)
        # an underflow that the caller wants to hear of would tell of the rows
        with np.errstate(all="ignore"):
            sampler = BallSampler(loss, target, make_shells(loss, target))
            cells = sampler.draw(rational(step * self._norm), chance)
        return [float(cell * step) for cell in cells]

    def _loss_sum(
        self, rows: NDArray[np.float64], wanted: NDArray[np.float64], target: Target
    ) -> LossSum:
        radius = float_above(target.radius)
        if self.loss == "squared":
            # a row without a target is left out
            there = ~np.isnan(wanted)
            targets = unit_targets(wanted[there], self._target_bounds())
            return SquaredLoss.of(rows[there], targets, self._largest, radius)
        signs = np.where(np.abs(wanted) == 1, wanted, 0.0)
        signed = rows * signs[:, None]
        # zero vectors add the same to all losses
        return LogisticLoss(signed[np.any(signed != 0, axis=1)], radius)

    def _target(self, dimensions: int) -> Target:
        """The law for rows of length 1: coefficients are multiplied by the norm."""
        radius = self._radius
        prior = self._ridge / self._norm**2
        if radius is None:
            root = upper_bound(lambda: (arb(dimensions).sqrt() + 3) / ball(self._ridge).sqrt())
            radius = _on_grid(root, math.ceil)
        reach = radius * self._norm
        if reach > MOST_MARGIN:
            rule = f"such that norm * radius is at most {MOST_MARGIN}"
            raise ParameterError("radius", rule, self.radius, "Give a smaller one.")
        if isinstance(self._loss, BoundedRange):
            rate = self._loss.epsilon / self._range_of_row(reach)
        else:
            rho = self._loss.numbers[0]
            rate = round_down(
                lower_bound(lambda: ball(2 * rho * prior).sqrt() / ball(self._steepest(reach)))
            )
        if self.loss == "logistic" and rate > _FASTEST:
            raise self._too_fast()
        return Target(rate, prior, reach)

    def _too_fast(self) -> ParameterError:
        """The error for odds that hang on more digits of a loss than there are."""
        if self.rho is None:
            rule = "such that epsilon / (norm * radius) is at most 2^20"
            return ParameterError("radius", rule, self.radius, "Give a larger one.")
        rule = "such that sqrt(2 * rho * ridge) / norm is at most 2^20"
        return ParameterError("ridge", rule, self.ridge, "Give a smaller one.")

    def _range_of_row(self, reach: Fraction) -> Fraction:
        """How far apart one row's losses are at most, over all coefficients of the ball."""
        # docs/proofs/ball.md#the-range-of-one-row
        if self.loss == "logistic":
            return reach
        if self._largest <= reach:
            return (self._largest + reach) ** 2
        return 4 * self._largest * reach

    def _steepest(self, reach: Fraction) -> Fraction:
        """How fast the loss of one row of length 1 changes at most."""
        # docs/proofs/ball.md#concentrated-privacy-by-a-ridge
        return Fraction(1) if self.loss == "logistic" else 2 * (self._largest + reach)

    def _target_bounds(self) -> tuple[Fraction, Fraction]:
        assert self.bounds is not None
        low, high = (exact_decimal(bound, "bounds") for bound in self.bounds)
        return low, high

    def _read_largest(self) -> Fraction:
        """How far from 0 a target is at most."""
        if self.loss == "logistic":
            if self.bounds is not None:
                raise ParameterError(
                    "bounds", "left out for the logistic loss", shown_pair(self.bounds)
                )
            return Fraction(1)
        if not isinstance(self.bounds, (tuple, list)) or len(self.bounds) != 2:
            raise ParameterError("bounds", "a pair of numbers for the squared loss", self.bounds)
        low, high = self._target_bounds()
        if not low < high:
            raise ParameterError(
                "bounds", "a lower bound below an upper one", shown_pair(self.bounds)
            )
        return _size(max(abs(low), abs(high)), shown_pair(self.bounds), "bounds")

    def _read_ridge(self) -> Fraction:
        ridge = exact_decimal(self.ridge, "ridge")
        if ridge < 0 or (self.epsilon is None and not ridge):
            rule = "greater than 0 with rho" if self.epsilon is None else "at least 0"
            raise ParameterError("ridge", rule, self.ridge)
        return _size(ridge, self.ridge, "ridge") if ridge else ridge

    def _read_radius(self) -> Fraction | None:
        if self.radius is None:
            if self.epsilon is None and self.loss == "logistic":
                return None
            raise ParameterError("radius", "a number greater than 0", self.radius)
        radius = _size(exact_decimal(self.radius, "radius"), self.radius, "radius")
        _size(radius * self._norm, self.radius, "radius")
        if radius * self._norm > MOST_MARGIN:
            rule = f"such that norm * radius is at most {MOST_MARGIN}"
            raise ParameterError("radius", rule, self.radius)
        return radius

    def _read_loss(self) -> Loss:
        # docs/proofs/ball.md#the-range-of-one-row
        if self.epsilon is not None:
            return BoundedRange(read_epsilon(self.epsilon, self.acknowledge))
        # docs/proofs/ball.md#concentrated-privacy-by-a-ridge
        assert self.rho is not None
        return ZCDP(read_rho(self.rho, self.acknowledge))


def _size(value: Fraction, given: Any, name: str) -> Fraction:
    """A positive number that floats can be computed with: beyond it a single row could decide
    whether they overflow.
    """
    positive(value, given, name)
    if not 1 / _FAR <= value <= _FAR:
        raise ParameterError(name, "between 2^-200 and 2^200", given)
    return value


def _on_grid(value: Fraction, rounded: Any) -> Fraction:
    """A number in 2^-20ths, which is enough for a radius."""
    return Fraction(rounded(value * 2**20), 2**20)


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """One number for each row; NaN for what is none."""
    try:
        return as_floats(values)
    except TypeError:
        return np.full(len(values), np.nan)
