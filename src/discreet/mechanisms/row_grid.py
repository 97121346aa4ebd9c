"""Reading rows of numbers: exactly, whatever is in them, and none longer than the norm.

What a row becomes depends on this row only. It is cut to a public grid towards zero; a
row that is longer than the public norm is shortened to it; a row with anything in it
that is no finite number counts as the zero vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.rationals import Number, exact_decimal, positive

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# steps of the grid in the smallest power of two that is not below the norm
_PLACES = 16
# entries of a row are below 2^26 steps, so that a sum of 2^10 squares fits 64 bits
_LARGEST = 26
# rows whose products are summed at once: floats hold sums below 2^53 exactly
_BLOCK = 1 << 20

MOST_STEPS = 2**_LARGEST - 1
"""The largest entry of a row, in steps, that `RowGrid.shortened` takes."""

MOST_COLUMNS = 128
"""How many columns rows may have."""

_FAR = Fraction(2) ** 500


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
    def of(cls, norm: Number, owner: str) -> RowGrid:
        """The grid for a norm; a float means the decimal that it prints as."""
        exact = positive(exact_decimal(norm, "norm", owner), norm, "norm", owner)
        if not 1 / _FAR < exact < _FAR:
            raise ParameterError(owner, "norm", "between 2^-500 and 2^500", norm)
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
        shifts = np.minimum(-self.exponent, _LARGEST - sizes)
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
