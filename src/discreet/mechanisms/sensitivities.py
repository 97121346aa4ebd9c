"""Reading how far one person can move each candidate's score, where that is not the same for all. All of it is public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, ParameterTypeError
from discreet.mechanisms.candidates import Candidates
from discreet.privacy.numbers import Number, exact_binary, positive

Sensitivities = Any
"""One number for all candidates, a mapping from label to number, a Series, a NumPy array, or any sequence of numbers."""

_NAME = "sensitivities"
_ACCEPTED = "a number for all candidates, or a mapping, a Series, an array of one dimension or a sequence of numbers"


def read_sensitivities(given: Sensitivities, candidates: Candidates, owner: str) -> tuple[list[Any], NDArray[np.intp]]:
    """All different sensitivities in rising order, as exact numbers, and for each candidate the place of its own."""
    if isinstance(given, Number) and not isinstance(given, (bool, np.bool_)):
        return [_positive(given, owner)], np.zeros(candidates.size, dtype=np.intp)
    labels = _labels(given)
    values = _values(given if labels is None else _in_order(labels, given, candidates, owner), owner)
    if len(values) != candidates.size:
        raise ParameterError(owner, _NAME, f"one for each of the {candidates.size} candidates", len(values))
    if isinstance(values, np.ndarray):
        right = (values > 0) & np.isfinite(values)
        if not right.all():
            _positive(values[~right][0].item(), owner)
        different, place = np.unique(values, return_inverse=True)
        return different.tolist(), place
    exact = [_positive(value, owner) for value in values]
    places = {value: number for number, value in enumerate(sorted(set(exact)))}
    return list(places), np.array([places[value] for value in exact], dtype=np.intp)


def _positive(value: Any, owner: str) -> Fraction:
    return positive(exact_binary(value, _NAME, owner), value, _NAME, owner)


def _labels(given: Any) -> list[Any] | None:
    """The labels of a mapping or a Series (a list has an `index` too, but that one is a method)."""
    if isinstance(given, Mapping):
        return list(given)
    if hasattr(given, "to_numpy") and not callable(getattr(given, "index", len)):
        return list(given.index)
    return None


def _in_order(labels: list[Any], given: Any, candidates: Candidates, owner: str) -> list[Any]:
    """The sensitivities in the order of the scores. Candidates without labels have their positions for labels."""
    values = [given[label] for label in labels] if isinstance(given, Mapping) else list(given.to_numpy())
    by_label = dict(zip(labels, values, strict=True))
    wanted = [candidates.label(index) for index in range(candidates.size)]
    missing = [label for label in wanted if label not in by_label]
    if missing or len(labels) != len(wanted):
        hint = f"There is none for {missing[0]!r}." if missing else "There are more labels than candidates."
        raise ParameterError(owner, _NAME, "given once for every label of the scores", labels, hint)
    return [by_label[label] for label in wanted]


def _values(given: Any, owner: str) -> NDArray[Any] | list[Any]:
    """An array where the sensitivities have one native type, else a list."""
    if hasattr(given, "to_numpy"):  # Polars, Arrow and others without labels
        given = np.asarray(given.to_numpy())
    if isinstance(given, np.ndarray):
        usual = given.dtype.kind in "iuf" and given.dtype != np.longdouble
        if given.ndim != 1 or isinstance(given, np.ma.MaskedArray) or not (usual or given.dtype.kind in "fO"):
            raise ParameterTypeError(owner, _NAME, _ACCEPTED, given)
        return given if usual else list(given)
    if isinstance(given, (str, bytes, bytearray, set, frozenset)) or not isinstance(given, Iterable):
        raise ParameterTypeError(owner, _NAME, _ACCEPTED, given)
    values = list(given)
    kinds = set(map(type, values))
    if kinds == {float} or (kinds == {int} and max(map(abs, values)) < 2**63):
        return np.array(values)
    return values
