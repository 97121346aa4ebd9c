"""Public grids: the points that a quantile can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, ParameterTypeError, shown_pair
from discreet.privacy.numbers import Number, exact_decimal, positive

_MOST_POINTS = 10_000_000
# What engines can compute with, in floats and without an overflow on the way.
_LARGEST = Fraction(10) ** 300
_SMALLEST = Fraction(1, 10**290)
_FINEST = Fraction(1, 2**39)


def read_amount(value: Number, name: str, owner: str) -> Fraction:
    """A positive number that a float can stand for."""
    exact = positive(exact_decimal(value, name, owner), value, name, owner)
    if exact > _LARGEST:
        raise ParameterError(owner, name, "at most 1e300", value)
    return exact


def read_share(q: Number, owner: str) -> Fraction:
    """A share of all persons, between 0 and 1."""
    share = exact_decimal(q, "q", owner)
    if not 0 <= share <= 1:
        raise ParameterError(owner, "q", "at least 0 and at most 1", q)
    return share


@dataclass(frozen=True, slots=True)
class Grid:
    """The points low, low + step, ..., so many of them."""

    low: Fraction
    step: Fraction
    size: int

    def point(self, place: int) -> int | float:
        """One point, as people write it."""
        return plain_number(self.low + place * self.step)

    def places(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The last point that each value reaches; the first one for values below all. A fixed function of each value alone."""
        top = self.low + self.size * self.step
        # A float that stands for a point of the grid may come out below it by rounding.
        slack = float(max(abs(self.low), abs(top)) / self.step / 2**49)
        near = values.clip(float(self.low - self.step), float(top))
        return np.floor((near - float(self.low)) / float(self.step) + slack).clip(0, self.size - 1).astype(np.int64)


def read_grid(bounds: tuple[Number, Number], step: Number, owner: str, *, most: int = _MOST_POINTS) -> Grid:
    """The points from the lower bound to the upper one, at most so many."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ParameterTypeError(owner, "bounds", "a pair of numbers", bounds)
    low, high = (exact_decimal(bound, "bounds", owner) for bound in bounds)
    size = positive(exact_decimal(step, "step", owner), step, "step", owner)
    if not low < high:
        raise ParameterError(owner, "bounds", "a lower bound below an upper one", shown_pair(bounds))
    largest = max(abs(low), abs(high))
    if largest > _LARGEST:
        raise ParameterError(owner, "bounds", "between -1e300 and 1e300", shown_pair(bounds))
    if size > _LARGEST:
        raise ParameterError(owner, "step", "at most 1e300", step)
    if size < max(_SMALLEST, largest * _FINEST):
        raise ParameterError(owner, "step", "at least 1e-290, and not below a 2^39-th of the bounds", step)
    points = math.floor((high - low) / size) + 1
    if points > most:
        raise ParameterError(owner, "step", f"large enough for at most {most} points between the bounds", step)
    return Grid(low, size, points)


def plain_number(value: Fraction) -> int | float:
    """A point of the grid as people write it."""
    return value.numerator if value.denominator == 1 else float(value)
