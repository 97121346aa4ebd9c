"""Public labels: the candidates of a question to a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.cell_numbers import kind_name
from discreet.errors import Hidden, ParameterError, ParameterTypeError, type_name

if TYPE_CHECKING:
    import narwhals as nw

_LARGEST = 2**63
_DIGITS = 400


def read_labels(labels: Sequence[Any], name: str, owner: str) -> list[Any]:
    """Each label once, none of them empty, at least one."""
    if isinstance(labels, (str, bytes, Mapping)) or not isinstance(labels, Iterable):
        raise ParameterTypeError(owner, name, "a list of labels", labels)
    if hasattr(labels, "columns") or getattr(labels, "ndim", 1) != 1:
        # A frame would list the names of its columns as if they were labels.
        hint = "Hand over one column of it, as a list."
        raise ParameterTypeError(owner, name, "a list of labels", labels, hint)
    listed = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if not listed:
        raise ParameterError(owner, name, "at least one", Hidden("none"))
    try:
        different = len(set(listed))
    except TypeError:
        raise ParameterTypeError(owner, name, "labels such as text and numbers", listed) from None
    if any(map(_is_empty, listed)):
        raise ParameterError(owner, name, "without an empty one", Hidden("an empty one"))
    if different != len(listed):
        raise ParameterError(owner, name, "all different", Hidden("one twice"))
    return listed


def _is_empty(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is not even comparable with itself
        return True


def require_kind(labels: list[Any], column: str, kind: nw.dtypes.DType, owner: str) -> None:
    """Refuse candidates that can never be found in a column of this type, or that an engine would stumble over."""
    right, rule = _right_labels(column, kind, owner)
    wrong = [label for label in labels if not right(label)]
    if wrong:
        # What was handed over may be a column of persons.
        raise ParameterTypeError(owner, "candidates", rule, Hidden(type_name(wrong[0])))


def _right_labels(column: str, kind: nw.dtypes.DType, owner: str) -> tuple[Callable[[Any], bool], str]:
    import narwhals as nw

    if kind in (nw.String, nw.Categorical, nw.Enum):
        return _is_text, "text, as the column is"
    if kind == nw.Decimal:
        return _is_decimal, "whole numbers or Decimals, as the column is"
    if kind.is_numeric():
        return _is_number, "numbers of at most 64 bits, as the column is"
    if kind == nw.Boolean:
        return lambda label: isinstance(label, bool), "True or False, as the column is"
    if kind == nw.Date:
        return (
            lambda label: isinstance(label, date) and not isinstance(label, datetime),
            "dates, as the column is",
        )
    rule = "a column of text, numbers, truth values or dates"
    raise ParameterTypeError(owner, "column", rule, f"{column}, of {kind_name(kind)}")


def _is_text(label: Any) -> bool:
    """Whether every engine can hold it: not half of a surrogate pair, and not the character 0."""
    try:
        return isinstance(label, str) and b"\0" not in label.encode()
    except UnicodeEncodeError:
        return False


def _is_number(label: Any) -> bool:
    if isinstance(label, float):
        return math.isfinite(label)
    return isinstance(label, int) and not isinstance(label, bool) and -_LARGEST <= label < _LARGEST


def _is_decimal(label: Any) -> bool:
    if isinstance(label, Decimal):
        # Engines have at most some hundred digits, and 1e999999999 would fill the memory with zeros.
        return label.is_finite() and abs(label.adjusted()) <= _DIGITS and len(label.as_tuple().digits) <= _DIGITS
    return isinstance(label, int) and _is_number(label)
