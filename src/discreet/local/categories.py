"""The public categories, and values of persons as positions among them. A message never shows a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, ParameterTypeError

Values = Any
"""A sequence of labels, a NumPy array of one dimension, or a pandas or Polars Series."""


@dataclass(frozen=True, slots=True)
class Categories:
    """Labels that differ from each other, with their positions."""

    labels: tuple[Any, ...]
    positions: dict[Any, int]
    counted: bool
    """Whether the labels are whole numbers that follow each other, so that arrays of them need no search."""

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.labels)

    @property
    def kind(self) -> np.dtype[Any]:
        """The smallest type that holds a position."""
        return np.min_scalar_type(self.size - 1)

    def position(self, label: Any, name: str, owner: str) -> int:
        """The position of one label."""
        try:
            return self.positions[label]
        except (KeyError, TypeError):  # whose texts show the label
            pass
        raise _unknown(name, owner)

    def read(self, values: Values, owner: str) -> NDArray[Any]:
        """The positions of many values, all of which must be categories."""
        if hasattr(values, "to_numpy"):  # a Series
            values = np.asarray(values.to_numpy())
        if self.counted and type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "iu":
            return self._counted(values, owner)
        listed = _listed(values, "values", owner)
        try:
            return np.fromiter((self.positions[value] for value in listed), dtype=self.kind, count=len(listed))
        except (KeyError, TypeError):
            pass
        raise _unknown("values", owner)

    def _counted(self, values: NDArray[Any], owner: str) -> NDArray[Any]:
        first, last = self.labels[0], self.labels[-1]
        if values.size and not first <= int(values.min()) <= int(values.max()) <= last:
            raise _unknown("values", owner)
        # within 64 bits even where the labels do not fit the type of the array
        return (values if first == 0 else values.astype(np.int64) - first).astype(self.kind)


def read_categories(categories: Any, owner: str) -> Categories:
    """At least two labels, each once, in their order."""
    labels = tuple(_listed(categories, "categories", owner))
    try:
        positions = {label: position for position, label in enumerate(labels)}
        empty = any(label is None or bool(label != label) for label in labels)
    except TypeError:  # not hashable, or not even comparable with itself
        rule, got = "labels such as text or whole numbers", InWords("something else among them")
        raise ParameterTypeError(owner, "categories", rule, got) from None
    if empty:
        raise ParameterError(owner, "categories", "labels that are not empty", InWords("None or NaN among them"))
    if len(positions) < len(labels):
        raise ParameterError(owner, "categories", "different from each other", InWords("one twice"))
    if len(labels) < 2:
        hint = "With one category there is nothing to report."
        raise ParameterError(owner, "categories", "at least two labels", InWords(f"{len(labels)}"), hint)
    return Categories(labels, positions, _follow_each_other(labels))


def _follow_each_other(labels: tuple[Any, ...]) -> bool:
    if not all(type(label) is int for label in labels):
        return False
    first, last = labels[0], labels[-1]
    return first > -(2**62) and last < 2**62 and labels == tuple(range(first, first + len(labels)))


def _listed(labels: Any, name: str, owner: str) -> list[Any]:
    unordered = isinstance(labels, (str, bytes, bytearray, set, frozenset, Mapping, np.ma.MaskedArray))
    if unordered or not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) != 1:
        rule = "labels in a row: a sequence, a Series or an array of one dimension"
        raise ParameterTypeError(owner, name, rule, InWords(type(labels).__name__))
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)


def _unknown(name: str, owner: str) -> ParameterError:
    hint = "Give unknown ones a category of their own, such as 'other', before anything is reported."
    return ParameterError(owner, name, "among the categories", InWords("something else"), hint)


class InWords:
    """What was got, in words that do not show it."""

    __slots__ = ("_words",)

    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words
