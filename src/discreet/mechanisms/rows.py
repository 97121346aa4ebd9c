"""Rows of numbers, one for each person, read so that no row can make the reading fail.

What a row becomes depends on this row only. On a `RowGrid` it is cut to a public grid
towards zero; a row that is longer than the public norm is shortened to it; a row with
anything in it that is no finite number counts as the zero vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, ScoresTypeError
from discreet.exact.rationals import Number, exact_decimal, positive
from discreet.mechanisms.grid import as_floats
from discreet.samplers.order_statistics import best_keys, sorted_places

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# steps of the grid in the smallest power of two that is not below the norm
_PLACES = 16
# entries of a row are below 2^26 steps, so that a sum of 2^10 squares fits 64 bits
_STEP_BITS = 26
# rows whose products are summed at once: floats hold sums below 2^53 exactly
_BLOCK = 1 << 20

MOST_STEPS = 2**_STEP_BITS - 1
"""The largest entry of a row, in steps, that `RowGrid.shortened` takes."""

MOST_COLUMNS = 128
"""How many columns rows may have."""

_FAR = Fraction(2) ** 500

# pieces of 16 bits in a whole number of 64
_PIECES = 4


def read_rows(rows: Any, name: str) -> NDArray[np.float64]:
    """A table of numbers; what is no number is NaN.

    Whether it is read depends on what holds the rows: an array, or a frame. A list of
    lists could have one that is longer than the others.
    """
    table = _as_table(rows)
    if table is None:
        raise ScoresTypeError(
            "must be an array of numbers with two dimensions, or a data "
            "frame. Got something else. Make an array of lists with numpy.asarray.",
            name=name,
        )
    return table


def read_column(values: Any, size: int, name: str) -> NDArray[Any]:
    """One value for each row, as an array of any kind."""
    column = values.to_numpy() if hasattr(values, "to_numpy") else values
    if not isinstance(column, np.ndarray) or column.ndim != 1:
        raise ScoresTypeError(
            "must be an array with one dimension, or a series. Got "
            "something else. Make an array of a list with numpy.asarray.",
            name=name,
        )
    if column.size != size:
        raise ScoresTypeError(
            "must have one value for each row. Got another number of values.", name=name
        )
    return column


def _as_table(rows: Any) -> NDArray[np.float64] | None:
    table = rows.to_numpy() if hasattr(rows, "to_numpy") else rows
    if not isinstance(table, np.ndarray) or table.ndim != 2 or not table.shape[1]:
        return None
    try:
        return as_floats(table)
    except TypeError:
        return None


def unit_rows(rows: NDArray[np.float64], norm: Fraction) -> NDArray[np.float64]:
    """Rows over `norm`, on a grid of 2^-16, each of length at most 1.

    A fixed function of each row alone: no sum runs over rows, and each step rounds one
    number. A row that is longer is shortened; one with something else than finite
    numbers is the zero vector.
    """
    # an underflow that the caller wants to hear of would tell of a row; so would a warning
    with np.errstate(all="ignore"):
        whole = _shortened(rows, float(2**16 / norm))
    return whole * 2.0**-16


def _shortened(rows: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Rows in steps of the grid, whole numbers, none longer than 2^16."""
    largest = np.abs(rows[:, 0])
    for place in range(1, rows.shape[1]):
        largest = np.maximum(largest, np.abs(rows[:, place]))
    # NaN is not finite either
    usable = np.isfinite(largest) & (largest > 0)
    largest = np.where(usable, largest, 1.0)
    shape = np.where(usable[:, None], rows, 0.0) / largest[:, None]
    # at least 1, because one entry is 1 or -1
    length = np.where(usable, np.sqrt(_square(shape)), 1.0)
    # a row that is beyond floats is just long
    long = largest * length * scale > 2.0**16
    stretch = np.where(long, 2.0**16 / length, largest * scale)
    whole: NDArray[np.float64] = np.trunc(shape * stretch[:, None])
    while True:
        # exact: whole numbers below 2^53
        long = _square(whole) > 2.0**32
        if not long.any():
            return whole
        whole = np.where(long[:, None], np.trunc(whole * (1 - 2.0**-12)), whole)


def _square(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The square of the length of each row, one column after the other."""
    total: NDArray[np.float64] = np.zeros(len(rows))
    for place in range(rows.shape[1]):
        total = total + rows[:, place] * rows[:, place]
    return total


def unit_targets(targets: NDArray[np.float64], bounds: tuple[Fraction, Fraction]) -> Any:
    """Targets over the larger bound, on a grid of 2^-16, each from -1 to 1; NaN stays."""
    low, high = bounds
    largest = max(abs(low), abs(high))
    inside = np.clip(targets, float(low), float(high))
    with np.errstate(all="ignore"):
        whole = np.trunc(inside * float(2**16 / largest))
    return np.clip(whole, -(2.0**16), 2.0**16) * 2.0**-16


def ordered_rows(whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of whole numbers in ascending order, in a time that does not depend on them."""
    order = np.arange(len(whole))
    for column in whole.T[::-1]:
        order = order[sorted_places(best_keys(column[order], smallest=False), _PIECES)]
    return whole[order]


@dataclass(frozen=True, slots=True)
class RowGrid:
    """The public grid for rows of at most this norm.

    norm: the length that longer rows are shortened to.
    exponent: the step of the grid is 2^exponent.
    longest: the norm in steps, rounded down: no row is longer.
    """

    norm: Fraction
    exponent: int
    longest: int

    @classmethod
    def of(cls, norm: Number) -> RowGrid:
        """The grid for a norm; a float means the decimal that it prints as."""
        exact = positive(exact_decimal(norm, "norm"), norm, "norm")
        if not 1 / _FAR < exact < _FAR:
            raise ParameterError("norm", "between 2^-500 and 2^500", norm)
        power = exact.numerator.bit_length() - exact.denominator.bit_length()
        power = power if Fraction(2) ** power >= exact else power + 1
        power = power - 1 if Fraction(2) ** (power - 1) >= exact else power
        exponent = power - _PLACES
        return cls(exact, exponent, math.floor(exact / Fraction(2) ** exponent))

    @property
    def step(self) -> Fraction:
        """The step of the grid."""
        return Fraction(2) ** self.exponent

    def read(self, rows: Floats) -> Whole:
        """Each row in steps of the grid, not longer than `longest`."""
        finite = np.all(np.isfinite(rows), axis=1, keepdims=True)
        rows = np.where(finite, rows, 0.0)
        _, sizes = np.frexp(np.abs(rows).max(axis=1, initial=0.0))
        # a row that needs another shift is longer than the norm whatever the rest of it is
        shifts = np.minimum(-self.exponent, _STEP_BITS - sizes)
        # an underflow that the caller wants to hear of would tell of a row
        with np.errstate(all="ignore"):
            whole = np.trunc(np.ldexp(rows, shifts[:, None])).astype(np.int64)
        return self.shortened(whole)

    def shortened(self, whole: Whole) -> Whole:
        """Rows of whole numbers below 2^26, in their direction, not longer than `longest`."""
        squares = (whole * whole).sum(axis=1)
        # the square root, rounded up to a whole number
        length = np.sqrt(squares.astype(np.float64)).astype(np.int64)
        length += length * length < squares
        length += length * length < squares
        shorter = np.sign(whole) * (np.abs(whole) * self.longest // np.maximum(length, 1)[:, None])
        return np.where((squares > self.longest**2)[:, None], shorter, whole)


def second_moment(whole: Whole) -> NDArray[np.object_]:
    """The exact sum of the products of all pairs of columns."""
    columns = whole.shape[1]
    total = np.zeros((columns, columns), dtype=object)
    for start in range(0, len(whole), _BLOCK):
        block = whole[start : start + _BLOCK].astype(np.float64)
        # whole numbers whose partial sums are below 2^53: exact in any order
        total += (block.T @ block).astype(np.int64).astype(object)
    return total
