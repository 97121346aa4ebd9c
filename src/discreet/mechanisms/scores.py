"""Reading what the caller handed over: candidates with their scores, exactly, once, and
without ever showing a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from operator import countOf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ScoresError, ScoresTypeError
from discreet.exact.rationals import is_finite
from discreet.literals import Objective
from discreet.samplers.columns import WORTH_COLUMNS, Columns
from discreet.samplers.threads import share

Scores = Any
"""A mapping from label to score, a pandas or Polars Series, a NumPy array, or any
sequence of numbers.
"""

# bytes; larger arrays are read in place, because a copy would double the memory
_SNAPSHOT = 1 << 16
# what Python's own numbers become, where all are of one kind and it can hold them
_NATIVE: dict[type, Any] = {int: np.int64, float: np.float64}
# candidates in one step of the search for the smallest and largest
_PASS = 1 << 18


# not frozen: that would take a tenth of the time of a reading
@dataclass(slots=True)
class Candidates:
    """Checked scores, their smallest and largest, and labels where there are any."""

    scores: NDArray[Any] | list[Fraction]
    unit: int
    """What the scores count in: 1/unit. Decimals such as 0.25 become whole numbers of
    hundredths.
    """
    low: Any
    high: Any
    spacing: float
    """The largest step between neighbouring floats at the size of a score; 0 where no
    score was a float.
    """
    labels: Sequence[Any] | None
    native: bool = False
    """Whether the scores came as numbers of one machine type. The unit of others depends on
    the scores, so it is private.
    """
    columns: Columns | None = None
    """The best of each column, where the candidates are very many and one will be drawn."""

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.scores)

    def label(self, index: int) -> Any:
        """The label of a candidate, or its position where there are no labels."""
        if self.labels is None:
            return index
        label = self.labels[index]
        return (
            label.item()
            if isinstance(label, (np.str_, np.integer, np.floating, np.bool_))
            else label
        )

    def require_resolution(self, step: float) -> None:
        """Refuse floats that are too large to move by what one person can move a score."""
        if self.spacing > step:
            raise ScoresError(
                "must be precise enough to show what one person changes. "
                "Got floating-point numbers so large that they are farther apart than the "
                "sensitivity. Use integers, or subtract a public constant.",
                name="scores",
            )


def read_candidates(scores: Scores, *, objective: Objective | None = None) -> Candidates:
    """Take one snapshot of the scores and check it.

    objective: which scores are best, where one candidate will be drawn.
    """
    labels: Sequence[Any] | None = None
    if isinstance(scores, np.ndarray):
        values = _array_values(scores)
    # a dictionary first: to ask whether something is any mapping takes longer
    elif type(scores) is dict or isinstance(scores, Mapping):
        labels, listed = _read_mapping(scores)
        _require_labels(labels)
        values = _listed_values(listed)
    elif _has_index(scores):
        labels, array = scores.index, _as_array(scores)
        _require_index(labels)
        values = _array_values(array)
    else:
        values = _values(scores)
    if len(values) == 0:
        raise ScoresError("must have at least one candidate. Got none.", name="scores")
    if isinstance(values, np.ndarray):
        columns = None
        if objective is not None and values.size >= WORTH_COLUMNS:
            columns = Columns(values, smallest=objective == "min")
            low, high = columns.low, columns.high
        else:
            low, high = _extremes(values)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise _not_finite()
        spacing = _spacing(values, low, high)
        return Candidates(values, 1, low, high, spacing, labels, native=True, columns=columns)
    return _exact_candidates(values, labels)


def _read_mapping(scores: Mapping[Any, Any]) -> tuple[list[Any], list[Any]]:
    if type(scores) is dict:
        return list(scores), list(scores.values())
    # once: another kind of mapping may give another answer the second time
    pairs = list(scores.items())
    return [label for label, _ in pairs], [score for _, score in pairs]


def _exact_candidates(scores: list[Any], labels: Sequence[Any] | None) -> Candidates:
    """Scores of any mixture of types, as fractions; as integers of a common unit where
    they fit 64 bits.
    """
    exact = [_fraction(score) for score in scores]
    floats: list[Any] = [score for score in scores if isinstance(score, (float, np.floating))]
    spacing = max(
        (_float_spacing(abs(score), np.finfo(np.result_type(score))) for score in floats),
        default=0.0,
    )
    unit = math.lcm(*{score.denominator for score in exact})
    low, high = min(exact), max(exact)
    if max(abs(low), abs(high)) * unit < 2**63:
        whole = np.array(
            [score.numerator * (unit // score.denominator) for score in exact], dtype=np.int64
        )
        return Candidates(whole, unit, int(low * unit), int(high * unit), spacing, labels)
    return Candidates(exact, 1, low, high, spacing, labels)


def _values(scores: Any) -> NDArray[Any] | list[Any]:
    """The scores as a native one-dimensional array where they have one type, else as a list."""
    if isinstance(scores, (str, bytes, bytearray, set, frozenset)) or not hasattr(
        scores, "__len__"
    ):
        raise _wrong_type(type(scores).__name__)
    # Polars, Arrow and others without labels
    if hasattr(scores, "to_numpy"):
        return _array_values(_as_array(scores))
    if not isinstance(scores, Iterable):
        raise _wrong_type(type(scores).__name__)
    if type(scores) is list:
        return _listed_values(scores.copy())
    # list() would trust a hostile __len__
    return _listed_values([score for score in scores])


def _as_array(scores: Any) -> NDArray[Any]:
    try:
        return np.asarray(scores.to_numpy())
    except Exception:
        # a type that NumPy does not know; the other library's message may show values
        pass
    raise _wrong_type(type(scores).__name__)


def _array_values(scores: NDArray[Any]) -> NDArray[Any] | list[Any]:
    if isinstance(scores, np.ma.MaskedArray):
        raise _wrong_type("a masked array")
    if scores.ndim != 1:
        raise ScoresTypeError(
            f"must be one-dimensional. Got {scores.ndim} dimensions.", name="scores"
        )
    if scores.dtype.kind == "O" or scores.dtype == np.longdouble:
        return _listed_values(list(scores))
    if scores.dtype.kind not in "iuf":
        raise _wrong_type(f"an array of {scores.dtype}")
    if not scores.dtype.isnative:
        scores = scores.astype(scores.dtype.newbyteorder("="))
    plain = scores.view(np.ndarray)
    return plain.copy() if plain.nbytes <= _SNAPSHOT else plain


def _listed_values(scores: list[Any]) -> NDArray[Any] | list[Any]:
    size = len(scores)
    dtype = _NATIVE.get(type(scores[0])) if size else None
    if dtype is not None and countOf(map(type, scores), type(scores[0])) == size:
        try:
            return np.fromiter(scores, dtype, size)
        except OverflowError:
            pass
    return scores


def _fraction(score: Any) -> Fraction:
    # a length of time is an integer to NumPy, too
    if isinstance(score, np.integer) and not isinstance(score, np.timedelta64):
        return Fraction(int(score))
    if isinstance(score, bool) or not isinstance(
        score, (int, float, Fraction, Decimal, np.floating)
    ):
        raise _wrong_type(f"a {type(score).__name__} among them")
    if isinstance(score, (float, np.floating, Decimal)) and not is_finite(score):
        raise _not_finite()
    return Fraction(*score.as_integer_ratio())


def _extremes(values: NDArray[Any]) -> tuple[Any, Any]:
    """The smallest and the largest score; every score is finite if both are, because
    NaN spreads through both.
    """
    if values.size <= _PASS:
        low, high = np.minimum.reduce(values), np.maximum.reduce(values)
    else:
        # in steps, so that each part of a large array comes from memory only once
        lows, highs = np.empty((2, -(-values.size // _PASS)), dtype=values.dtype)

        def look(starts: Iterator[int]) -> None:
            for start in starts:
                part = values[start : start + _PASS]
                lows[start // _PASS] = np.minimum.reduce(part)
                highs[start // _PASS] = np.maximum.reduce(part)

        share(look, range(0, values.size, _PASS), values.size)
        low, high = np.minimum.reduce(lows), np.maximum.reduce(highs)
    return low.item(), high.item()


def _spacing(values: NDArray[Any], low: float, high: float) -> float:
    if values.dtype.kind != "f":
        return 0.0
    largest = max(abs(low), abs(high))
    return (
        math.ulp(largest)
        if values.itemsize == 8
        else _float_spacing(largest, np.finfo(values.dtype))
    )


def _float_spacing(size: float | np.floating[Any], kind: np.finfo[Any]) -> float:
    """The step from a float of this size to the next one of its kind."""
    if size < kind.tiny:
        return float(kind.smallest_subnormal)
    try:
        return math.ldexp(1.0, int(np.frexp(size)[1]) - 1 - kind.nmant)
    except OverflowError:
        # a long double
        return math.inf


def _has_index(scores: Any) -> bool:
    """True if this is a Series with labels (a list has an `index` too, but that one is
    a method).
    """
    return hasattr(scores, "to_numpy") and not callable(getattr(scores, "index", len))


def _require_labels(labels: Sequence[Any]) -> None:
    # the usual cases, checked quickly
    if countOf(map(type, labels), str) == len(labels) or set(map(type, labels)) <= {str, int}:
        return
    if any(_is_null(label) for label in labels):
        raise ScoresError("must not have an empty label (None or NaN).", name="scores")


def _require_index(labels: Any) -> None:
    if not labels.is_unique:
        raise ScoresError("must have each label only once. Got duplicate labels.", name="scores")
    # several labels for each candidate
    if hasattr(labels, "levels"):
        labels = [part for label in labels for part in label]
    _require_labels(labels.tolist() if hasattr(labels, "tolist") else labels)


def _is_null(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:
        # pandas.NA is not even comparable with itself
        return True


def _wrong_type(got: str) -> ScoresTypeError:
    return ScoresTypeError(
        f"must be numbers: a mapping, a Series, a NumPy array or a sequence. Got {got}.",
        name="scores",
    )


def _not_finite() -> ScoresError:
    return ScoresError(
        "must be finite. Got NaN or an infinity among them. Replace such "
        "values by a public number first.",
        name="scores",
    )
