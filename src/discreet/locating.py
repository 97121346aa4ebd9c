"""The doors for people who have numbers: one quantile, or many for one price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.grid import Grid, read_grid, read_share
from discreet.errors import ParameterError, ParameterTypeError, ScoresTypeError, read_each
from discreet.mechanisms.parameters import read_bits
from discreet.mechanisms.quantiles import METHODS, NEIGHBOURS, ManyQuantiles, OneQuantile
from discreet.privacy.numbers import Number
from discreet.release import Release
from discreet.samplers.bits import Bits
from discreet.scores.cells import Cells

MOST_POINTS = 2**40


def quantile(
    values: Any,
    *,
    q: Number,
    bounds: tuple[Number, Number],
    step: Number,
    epsilon: Number,
    neighbours: str = "add-remove",
    mechanism: str = "permute-and-flip",
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """The point of a public grid that the share q of all values reaches: at q = 0.5 the median.

    values: one number for each person. What is no number (None, NaN, text in a list) has no value; numbers outside the bounds count
        as the nearest one.
    bounds, step: the grid, up to 2^40 points; no step below a 2^39-th of the larger bound. They must not be taken from the data.
    epsilon: the privacy loss of this release.
    neighbours: whether one person more or less ("add-remove"), or another value of one person ("replace"), is what nobody can tell.
    mechanism: "permute-and-flip" for a single release; "exponential" where many will be composed.

    Privacy: `Release.loss`. One person moves the rank error of each point by at most max(q, 1 - q), or 1 for "replace".
    Utility: about 2 max(q, 1 - q) * ln(points in the grid) / epsilon ranks off; persons with the same value do no harm.
    Cost: one sort of the values, whatever the size of the grid.
    Proof: docs/proofs/quantiles.md.

    >>> from discreet.testing import SeededBits
    >>> ages = [23, 25, 31, 35, 36, 37, 38, 44, 51, 58, 62, 79]
    >>> release = quantile(ages, q=0.5, bounds=(0, 120), step=1, epsilon=2, bits=SeededBits(1))
    >>> release.value, release.loss
    (37, PureDP(epsilon=2))
    """
    owner = "quantile"
    share, grid = read_share(q, owner), read_grid(bounds, step, owner, most=MOST_POINTS)
    made = OneQuantile(q=share, epsilon=epsilon, neighbours=neighbours, mechanism=mechanism, acknowledge=acknowledge)
    chance = read_bits(bits, owner)
    return made.release(read_cells(values, grid, owner), grid, chance)


def quantiles(
    values: Any,
    *,
    q: Sequence[Number],
    bounds: tuple[Number, Number],
    step: Number,
    epsilon: Number,
    delta: Number = 0,
    neighbours: str = "add-remove",
    method: str = "auto",
    acknowledge: str | None = None,
    bits: Bits | None = None,
) -> Release:
    """Many quantiles for one price, in ascending order.

    q: the shares, ascending.
    delta: 0 for pure privacy; a small one, such as 1e-6, lets each quantile have more of epsilon.
    method: "recursive" finds the middle one, splits the persons there (those who have exactly this value at random, in the right
        proportion), and goes on in both halves, so that each person takes part in few of the searches. "joint" draws all of
        them at once, on grids of up to 1,000 points; it goes wrong where many persons have the same value. "independent" finds each
        by itself. "auto" takes what the benchmark found best: recursive.
    values, bounds, step, neighbours: as for `quantile`.

    Privacy: `Release.loss`, for all of them together.
    Utility: docs/explanation/quantiles.md shows the errors of each method.
    Cost: one sort, and one search for each quantile; "joint" takes time in the square of the number of grid points.
    Reference: Kaplan, Schnapp and Stemmer 2022 (recursive); Gillenwater, Joseph and Kulesza 2021 (joint).
    Proof: docs/proofs/quantiles.md.

    >>> from discreet.testing import SeededBits
    >>> release = quantiles(range(1000), q=[0.25, 0.5, 0.75], bounds=(0, 1000), step=1, epsilon=1, bits=SeededBits(1))
    >>> len(release.value), release.value == sorted(release.value)
    (3, True)
    """
    owner = "quantiles"
    grid = read_grid(bounds, step, owner, most=MOST_POINTS)
    made = ManyQuantiles(
        q=read_shares(q, owner),
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        method=method,
        grid_size=grid.size,
        acknowledge=acknowledge,
    )
    chance = read_bits(bits, owner)
    return made.release(read_cells(values, grid, owner), grid, chance)


def read_shares(q: Sequence[Number], owner: str) -> tuple[Fraction, ...]:
    """Shares in ascending order, at least one."""
    listed = q.ndim == 1 if isinstance(q, np.ndarray) else isinstance(q, Sequence) and not isinstance(q, (str, bytes))
    if not listed or not len(q):
        raise ParameterTypeError(owner, "q", "a list of at least one share", q)
    shares = tuple(read_each(lambda share: read_share(share, owner), q))
    if any(after <= before for before, after in pairwise(shares)):
        raise ParameterError(owner, "q", "ascending, without equal ones", q)
    return shares


def read_cells(values: Any, grid: Grid, owner: str) -> Cells:
    """The values on the grid. Whether they are read depends on what holds them; one odd value among numbers just has no value."""
    try:
        numbers = _as_floats(values)
    except (TypeError, ValueError):
        raise ScoresTypeError(
            f"The 'values' of {owner} must be a list of numbers, one for each person. Got something else."
        ) from None
    if numbers.ndim != 1:
        raise ScoresTypeError(f"The 'values' of {owner} must be one list of numbers. Got {numbers.ndim} dimensions.")
    return Cells.of(grid.places(numbers[~np.isnan(numbers)]), grid.size)


def _as_floats(values: Any) -> NDArray[np.float64]:
    if isinstance(values, (str, bytes, dict)) or values is None:
        raise TypeError
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.nan, _as_floats(np.ma.getdata(values)))
    if hasattr(values, "dtype"):  # arrays and series say what they hold
        array = np.asarray(values)
    else:
        values = list(values)
        array = _as_array(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind != "O":
        raise TypeError
    return np.array([_number(value) for value in array.ravel()]).reshape(array.shape)


def _as_array(values: list[Any]) -> NDArray[Any]:
    """A list as an array of numbers, or of objects if there is anything else in it."""
    try:
        array = np.asarray(values) if values else np.empty(0)
    except (ValueError, OverflowError):  # lists of different lengths among them
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf":
        return array
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _number(value: Any) -> float:
    """A number as a float; whatever is none has no value."""
    if not isinstance(value, (Real, Decimal, np.bool_)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except ValueError:  # a signalling NaN
        return math.nan


__all__ = ["METHODS", "NEIGHBOURS", "quantile", "quantiles"]
