"""Rows of numbers, one for each person, read so that no row can decide whether they are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ScoresTypeError
from discreet.mechanisms.grid import as_floats
from discreet.samplers.order_statistics import best_keys, sorted_places

# of 16 bits, in a whole number
_PIECES = 4


def read_rows(rows: Any, name: str, owner: str) -> NDArray[np.float64]:
    """A table of numbers; what is no number is NaN.

    Whether it is read depends on what holds the rows: an array, or a frame. A list of
    lists could have one that is longer than the others.
    """
    table = _as_table(rows)
    if table is None:
        raise ScoresTypeError(
            f"The '{name}' of {owner} must be an array of numbers with two dimensions, or a data "
            "frame. Got something else. Make an array of lists with numpy.asarray."
        )
    return table


def read_column(values: Any, size: int, name: str, owner: str) -> NDArray[Any]:
    """One value for each row, as an array of any kind."""
    column = values.to_numpy() if hasattr(values, "to_numpy") else values
    if not isinstance(column, np.ndarray) or column.ndim != 1:
        raise ScoresTypeError(
            f"The '{name}' of {owner} must be an array with one dimension, or a series. Got "
            "something else. Make an array of a list with numpy.asarray."
        )
    if column.size != size:
        raise ScoresTypeError(
            f"The '{name}' of {owner} must be one for each row. Got another number."
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
    number. A row that is longer is shortened; one with something else than finite numbers
    is the zero vector.
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
