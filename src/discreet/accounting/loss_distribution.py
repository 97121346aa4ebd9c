"""Distributions of the privacy loss on a grid, convolved with roundings to the safe side only.

A distribution puts masses at multiples of a step and at infinity. It stands for the
delta at every epsilon g of

    delta(g) = mass at infinity + sum of  mass_i * (1 - e^(g - i * step))+,

and *dominates* whatever has a smaller delta at every g. Two that dominate two queries
dominate both together if they are convolved, also where the second query depends on the
first answer (docs/proofs/composition.md, section 10). Larger masses, and masses at
larger losses, only make delta larger. So masses are whole numbers of a tiny unit,
rounded up, whatever is cut off above goes to infinity, and whatever is cut off below
goes up to the lowest loss that is kept. Products of whole numbers are exact: no float
has a say here.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

from flint import arb, fmpz_poly

from discreet.exact.enclosures import ball, lower_bound, upper_bound

_SPARE_BITS = 64


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """Masses at first * step, (first + 1) * step, ... and at infinity, in units of 2^-bits."""

    step: Fraction
    bits: int
    first: int
    masses: tuple[int, ...]
    infinite: int

    @classmethod
    def connect(cls, step: Fraction, values: Sequence[arb], bits: int) -> LossDistribution:
        """Dominate everything whose delta at 0, step, 2 step, ... is at most these values.

        Its delta at negative epsilons follows by exchanging the two data sets. Between
        these points delta is below its chord in e^g, from the last one on it does not
        grow. The distribution whose delta is that chord has a mass where the slope
        changes.
        """
        last = len(values) - 1
        shrunk = [(-ball(step * place)).exp() for place in range(last + 2)]
        below = [1 - shrunk[i] + shrunk[i] * values[i] for i in range(last, 0, -1)]
        dots = [*below, *values]
        near, normal = shrunk[1], 1 - shrunk[1]
        falls = [left - right for left, right in pairwise(dots)]
        following = [*falls[1:], arb(0)]
        bends = [
            (fall - near * after) / normal for fall, after in zip(falls, following, strict=False)
        ]
        # the lowest point has the line from g = -infinity, where delta is 1, on its left
        lowest = 1 - dots[0] - near * falls[0] / normal if falls else 1 - dots[0]
        masses = [lowest, *bends]
        return cls(
            step, bits, -last, tuple(_units(mass, bits) for mass in masses), _units(dots[-1], bits)
        )

    def __mul__(self, other: LossDistribution) -> LossDistribution:
        """Both together: losses add up, masses are multiplied."""
        product = (fmpz_poly(list(self.masses)) * fmpz_poly(list(other.masses))).coeffs()
        masses = tuple(_rounded_up(int(mass), self.bits) for mass in product)
        mine, theirs = sum(self.masses), sum(other.masses)
        infinite = self.infinite * (theirs + other.infinite) + mine * other.infinite
        return LossDistribution(
            self.step, self.bits, self.first + other.first, masses, _rounded_up(infinite, self.bits)
        )

    def power(self, times: int, allowed: int) -> LossDistribution:
        """This many copies together, at least one; each product is cut by `without_tails`."""
        whole: LossDistribution | None = None
        square = self
        while True:
            if times & 1:
                whole = square if whole is None else (whole * square).without_tails(allowed)
            times >>= 1
            if not times:
                assert whole is not None
                return whole
            square = (square * square).without_tails(allowed)

    def without_tails(self, allowed: int) -> LossDistribution:
        """Fewer points: about as many units as are allowed are moved up on either side."""
        from_below = list(accumulate(self.masses))
        start = bisect_left(from_below, allowed + 1)
        from_above = list(accumulate(reversed(self.masses)))
        stop = len(self.masses) - bisect_left(from_above, allowed + 1)
        if start >= stop:
            return self
        moved = from_below[start - 1] if start else 0
        kept = (self.masses[start] + moved, *self.masses[start + 1 : stop])
        beyond = sum(self.masses[stop:])
        return LossDistribution(
            self.step, self.bits, self.first + start, kept, self.infinite + beyond
        )

    def profile(self) -> Profile:
        """Its delta at every epsilon of 0 and above."""
        places = range(max(0, self.first), max(1, self.first + len(self.masses) + 1))
        shrink = int(
            lower_bound(lambda: (-ball(self.step)).exp(), self.bits + _SPARE_BITS)
            * (1 << self.bits)
        )
        above, discounted = [self.infinite], [0]
        for place in reversed(places[:-1]):
            mass = self.masses[place - self.first]
            above.append(above[-1] + mass)
            discounted.append(mass + (discounted[-1] * shrink >> self.bits))
        return Profile(
            self.step, self.bits, places.start, tuple(above[::-1]), tuple(discounted[::-1])
        )


@dataclass(frozen=True)
class Profile:
    """The delta of a distribution: between grid points it is linear in e^g.

    above: for each point from `first` on the masses at it and above, with that at
        infinity.
    discounted: the same without infinity, each times e^-(its distance), rounded down.
    """

    step: Fraction
    bits: int
    first: int
    above: tuple[int, ...]
    discounted: tuple[int, ...]

    @cached_property
    def _at_points(self) -> list[int]:
        return [more - less for more, less in zip(self.above, self.discounted, strict=True)]

    def delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound of delta at an epsilon of at least 0."""
        place = max(self.first, -(-epsilon // self.step)) - self.first
        if place >= len(self.above):
            return Fraction(self.above[-1], (1 << self.bits))
        ahead = (self.first + place) * self.step - epsilon
        discount = lower_bound(lambda: (-ball(ahead)).exp(), self.bits + _SPARE_BITS)
        return (self.above[place] - discount * self.discounted[place]) / (1 << self.bits)

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """An epsilon at which delta is not exceeded, as small as possible; None if there is none.

        Between two points it is solved for e^g.
        """
        goal = delta * (1 << self.bits)
        place = next((i for i, value in enumerate(self._at_points) if value <= goal), None)
        if place is None:
            return None
        end, kept = (self.first + place) * self.step, self.discounted[place]
        start = max(Fraction(0), end - self.step) if place else Fraction(0)
        if self.above[place] <= goal or not kept:
            return start
        back = upper_bound(lambda: ball((self.above[place] - goal) / kept).log(), self.bits)
        return min(end, max(start, end + back))


def _units(mass: arb, bits: int) -> int:
    """A mass in whole units, rounded up; 0 where it is below that."""
    mantissa, exponent = mass.upper().man_exp()
    exact = Fraction(int(mantissa)) * Fraction(2) ** (int(exponent) + bits)
    return max(0, math.ceil(exact))


def _rounded_up(units: int, bits: int) -> int:
    """Whole units from a product of two numbers of units."""
    return -(-units >> bits)
