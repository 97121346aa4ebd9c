"""Public grids: the points that a quantile can be."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import ParameterError, ParameterTypeError
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


def read_grid(bounds: tuple[Number, Number], step: Number, owner: str) -> list[Fraction]:
    """The points from the lower bound to the upper one."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ParameterTypeError(owner, "bounds", "a pair of numbers", bounds)
    low, high = (exact_decimal(bound, "bounds", owner) for bound in bounds)
    size = positive(exact_decimal(step, "step", owner), step, "step", owner)
    if not low < high:
        raise ParameterError(owner, "bounds", "a lower bound below an upper one", bounds)
    largest = max(abs(low), abs(high))
    if largest > _LARGEST:
        raise ParameterError(owner, "bounds", "between -1e300 and 1e300", bounds)
    if size < max(_SMALLEST, largest * _FINEST):
        raise ParameterError(owner, "step", "at least 1e-290, and not below a 2^39-th of the bounds", step)
    points = math.floor((high - low) / size) + 1
    if points > _MOST_POINTS:
        raise ParameterError(owner, "step", f"large enough for at most {_MOST_POINTS} points between the bounds", step)
    return [low + place * size for place in range(points)]


def plain_number(value: Fraction) -> int | float:
    """A point of the grid as people write it."""
    return value.numerator if value.denominator == 1 else float(value)
