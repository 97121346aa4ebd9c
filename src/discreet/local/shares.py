"""From counted reports to shares of the categories, and how far off those are.

A report points to a person's own category with probability `own`, and to any given other one with probability `other`. So the
share of reports that point to a category is on average other + share * (own - other), which is solved for the share. Reports are
independent, so variances add up: own * (1 - own) for each person in the category and other * (1 - other) for everyone else.

These numbers are for people. No float here decides anything about a report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.certified import at_precision
from discreet.errors import ParameterError, ParameterTypeError


@dataclass(frozen=True, slots=True)
class Shares:
    """The numbers that an estimate rests on, as floats."""

    own: float
    other: float
    scale: float
    """1 / (own - other)."""
    own_variance: float
    """Of what one report adds to an estimate, if its person is in the category."""
    other_variance: float
    """The same if its person is not."""

    @classmethod
    def of(cls, own: arb, other: arb) -> Shares:
        """From enclosures, in which nothing has cancelled yet."""
        scale = 1 / (own - other)
        variances = (chance * (1 - chance) * scale * scale for chance in (own, other))
        return cls(*(float(number.mid()) for number in (own, other, scale, *variances)))

    def estimate(self, counts: NDArray[np.int64], reports: int, owner: str, epsilon: Fraction) -> NDArray[np.float64]:
        """Unbiased shares, from how many of the reports point to each category."""
        self._require_finite(owner, epsilon)
        return np.asarray((counts / reports - self.other) * self.scale, dtype=np.float64)

    def standard_error(self, reports: int, share: Any, owner: str, epsilon: Fraction) -> Any:
        """The standard deviation of an estimated share."""
        self._require_finite(owner, epsilon)
        shares = _read_shares(share, owner)
        low, high = -self.other * self.scale, (1 - self.other) * self.scale  # if no report points to it, and if all do
        slack = 1e-9 * (high - low)
        if not np.all((shares >= low - slack) & (shares <= high + slack)):
            raise ParameterError(owner, "share", f"between {low:.6g} and {high:.6g}, as estimates are", share)
        variances = (self.other_variance + shares * (self.own_variance - self.other_variance)) / reports
        errors = np.sqrt(variances)
        return float(errors) if errors.ndim == 0 else errors

    def mean_over(self, categories: int) -> float:
        """The variance from one report on average over the categories: the same whatever their shares are, which sum to 1."""
        return (self.own_variance + (categories - 1) * self.other_variance) / categories

    def _require_finite(self, owner: str, epsilon: Fraction) -> None:
        if not math.isfinite(self.own_variance + self.other_variance):
            raise ParameterError(owner, "epsilon", "large enough for an estimate", epsilon)


def shares_at(epsilon: Fraction, own: Callable[[], arb], other: Callable[[], arb]) -> Shares:
    """The numbers at a precision where own - other keeps 128 good bits, however small epsilon is."""
    small = epsilon.denominator.bit_length() - epsilon.numerator.bit_length() + 1
    return at_precision(128 + 4 * max(0, small), lambda: Shares.of(own(), other()))


def _read_shares(share: Any, owner: str) -> NDArray[np.float64]:
    try:
        shares = np.asarray(share, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterTypeError(owner, "share", "a number or an array of numbers", share) from None
    if not np.isfinite(shares).all():
        raise ParameterError(owner, "share", "finite", share)
    return shares
