"""Amounts on disk: whole numbers of 10^-30. Charges are rounded up and budgets down, so rounding never gives privacy away.

Thirty digits are far below anything that is ever charged: the rho of a query with epsilon = 10^-9 is about 10^-19.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

UNITS = 10**30
"""How many units there are in an epsilon, a rho or a delta of 1."""
MOST = 10**60
"""The largest amount, in units: far above anything that is still private, and short enough to write down."""


@dataclass(frozen=True, slots=True)
class Amount:
    """What is charged, spent or allowed, in units: epsilon or rho, and the delta that losses bring along."""

    main: int
    delta: int

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.main + other.main, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.main - other.main, self.delta - other.delta)


NOTHING = Amount(0, 0)


def charge_of(main: Fraction, delta: Fraction) -> Amount:
    """A charge in units, rounded up."""
    return Amount(math.ceil(main * UNITS), math.ceil(delta * UNITS))


def limit_of(main: Fraction, delta: Fraction) -> Amount:
    """A limit in units, rounded down."""
    return Amount(math.floor(main * UNITS), math.floor(delta * UNITS))


def exact(units: int) -> Fraction:
    """The number that so many units are."""
    return Fraction(units, UNITS)
