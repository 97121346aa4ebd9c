"""The public categories: values of persons as positions among them, and from counted
reports their shares, and how far off those are.

A report points to a person's own category with probability `own`, and to any given
other one with probability `other`. So the share of reports that point to a category is
on average other + share * (own - other), which is solved for the share. Reports are
independent, so variances add up: own * (1 - own) for each person in the category and
other * (1 - other) for everyone else.

These numbers are for people. No float here decides anything about a report, and no
message shows a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.enclosures import at_precision

Values = Any
"""A sequence of labels, a NumPy array of one dimension, or a pandas or Polars Series."""


@dataclass(frozen=True, slots=True)
class Categories:
    """Labels that differ from each other, with their positions."""

    labels: tuple[Any, ...]
    positions: dict[Any, int]
    counted: bool
    """Whether the labels are whole numbers that follow each other, so that arrays of
    them need no search.
    """

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.labels)

    @property
    def kind(self) -> np.dtype[Any]:
        """The smallest type that holds a position."""
        return np.min_scalar_type(self.size - 1)

    def position(self, label: Any, name: str) -> int:
        """The position of one label."""
        try:
            return self.positions[label]
        except (KeyError, TypeError):
            # the texts of these errors show the label
            pass
        raise _unknown(name)

    def read(self, values: Values) -> NDArray[Any]:
        """The positions of many values, all of which must be categories."""
        # a Series
        if hasattr(values, "to_numpy"):
            values = np.asarray(values.to_numpy())
        if (
            self.counted
            and type(values) is np.ndarray
            and values.ndim == 1
            and values.dtype.kind in "iu"
        ):
            return self._counted(values)
        listed = _listed(values, "values")
        try:
            return np.fromiter(
                (self.positions[value] for value in listed), dtype=self.kind, count=len(listed)
            )
        except (KeyError, TypeError):
            pass
        raise _unknown("values")

    def _counted(self, values: NDArray[Any]) -> NDArray[Any]:
        first, last = self.labels[0], self.labels[-1]
        if values.size and not first <= int(values.min()) <= int(values.max()) <= last:
            raise _unknown("values")
        # within 64 bits even where the labels do not fit the type of the array
        return (values if first == 0 else values.astype(np.int64) - first).astype(self.kind)


def read_categories(categories: Any) -> Categories:
    """At least two labels, each once, in their order."""
    labels = tuple(_listed(categories, "categories"))
    try:
        positions = {label: position for position, label in enumerate(labels)}
        empty = any(label is None or bool(label != label) for label in labels)
    except TypeError:
        # not hashable, or not even comparable with itself
        rule, got = "labels such as text or whole numbers", InWords("something else among them")
        raise ParameterTypeError("categories", rule, got) from None
    if empty:
        raise ParameterError(
            "categories", "labels that are not empty", InWords("None or NaN among them")
        )
    if len(positions) < len(labels):
        raise ParameterError("categories", "different from each other", InWords("one twice"))
    if len(labels) < 2:
        hint = "With only one category, there is nothing to report."
        raise ParameterError("categories", "at least two labels", InWords(f"{len(labels)}"), hint)
    return Categories(labels, positions, _follow_each_other(labels))


def _follow_each_other(labels: tuple[Any, ...]) -> bool:
    if not all(type(label) is int for label in labels):
        return False
    first, last = labels[0], labels[-1]
    return first > -(2**62) and last < 2**62 and labels == tuple(range(first, first + len(labels)))


def _listed(labels: Any, name: str) -> list[Any]:
    unordered = isinstance(
        labels, (str, bytes, bytearray, set, frozenset, Mapping, np.ma.MaskedArray)
    )
    if unordered or not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) != 1:
        rule = "labels in a row: a sequence, a Series or an array of one dimension"
        raise ParameterTypeError(name, rule, InWords(type(labels).__name__))
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)


def _unknown(name: str) -> ParameterError:
    hint = "Map unknown values to a category such as 'other' first."
    return ParameterError(name, "among the categories", InWords("something else"), hint)


class InWords:
    """What was given, in words that do not show it."""

    __slots__ = ("_words",)

    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words


@dataclass(frozen=True, slots=True)
class Shares:
    """The numbers that an estimate rests on, as floats."""

    own: float
    other: float
    scale: float
    """1 / (own - other)."""
    own_variance: float
    """The variance of what one report adds to an estimate, if its person is in the category."""
    other_variance: float
    """The variance of what one report adds to an estimate, if its person is not in it."""

    @classmethod
    def of(cls, own: arb, other: arb) -> Shares:
        """The numbers from enclosures in which nothing has canceled yet."""
        scale = 1 / (own - other)
        variances = (chance * (1 - chance) * scale * scale for chance in (own, other))
        return cls(*(float(number.mid()) for number in (own, other, scale, *variances)))

    def estimate(
        self, counts: NDArray[np.int64], reports: int, epsilon: Fraction
    ) -> NDArray[np.float64]:
        """Unbiased shares, from how many of the reports point to each category."""
        self._require_finite(epsilon)
        return np.asarray((counts / reports - self.other) * self.scale, dtype=np.float64)

    def standard_error(self, reports: int, share: Any, epsilon: Fraction) -> Any:
        """The standard deviation of an estimated share."""
        self._require_finite(epsilon)
        shares = _read_shares(share)
        # if no report points to it, and if all do
        low, high = (
            -self.other * self.scale,
            (1 - self.other) * self.scale,
        )
        slack = 1e-9 * (high - low)
        if not np.all((shares >= low - slack) & (shares <= high + slack)):
            raise ParameterError(
                "share", f"between {low:.6g} and {high:.6g}, as estimates are", share
            )
        variances = (
            self.other_variance + shares * (self.own_variance - self.other_variance)
        ) / reports
        errors = np.sqrt(variances)
        return float(errors) if errors.ndim == 0 else errors

    @property
    def failure(self) -> Fraction:
        """How likely a report does not point to the category of its person, rounded up to a
        hundredth of a percent.
        """
        return min(Fraction(1), Fraction(math.floor((1 - self.own) * 10_000) + 1, 10_000))

    def error_bound(self, reports: int, tail: Fraction) -> float:
        """How far one estimated share can be off on one side, except with this probability.

        The smaller one of Hoeffding's and Bernstein's bounds, whose variance is that of
        the worst true share: docs/proofs/accuracy.md#shares.
        """
        # the logarithm of a float could be that of 0
        small = math.log(tail.denominator) - math.log(tail.numerator)
        variance = max(chance * (1 - chance) for chance in (self.own, self.other))
        hoeffding = math.sqrt(small / (2 * reports))
        bernstein = (small / 3 + math.sqrt(small**2 / 9 + 2 * reports * variance * small)) / reports
        return min(hoeffding, bernstein) * self.scale

    def mean_over(self, categories: int) -> float:
        """The variance from one report on average over the categories: the same
        whatever their shares are, which sum to 1.
        """
        return (self.own_variance + (categories - 1) * self.other_variance) / categories

    def _require_finite(self, epsilon: Fraction) -> None:
        if not math.isfinite(self.own_variance + self.other_variance):
            raise ParameterError("epsilon", "large enough for an estimate", epsilon)


def shares_at(epsilon: Fraction, own: Callable[[], arb], other: Callable[[], arb]) -> Shares:
    """The numbers at a precision where own - other keeps 128 good bits, however small
    epsilon is.
    """
    small = epsilon.denominator.bit_length() - epsilon.numerator.bit_length() + 1
    return at_precision(128 + 4 * max(0, small), lambda: Shares.of(own(), other()))


def _read_shares(share: Any) -> NDArray[np.float64]:
    try:
        shares = np.asarray(share, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterTypeError("share", "a number or an array of numbers", share) from None
    if not np.isfinite(shares).all():
        raise ParameterError("share", "finite", share)
    return shares
