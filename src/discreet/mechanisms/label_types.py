"""Types of labels: whether two classes can equal any label, by the labels' type alone."""

from __future__ import annotations

from decimal import Decimal
from numbers import Complex
from typing import Any, Literal

import numpy as np

from discreet.errors import ParameterError, shown_pair

LabelType = Literal["numbers", "texts", "bytes"]

# the kinds of types that NumPy and pandas state
_KINDS: dict[str, LabelType] = dict.fromkeys("biufc", "numbers")
_KINDS |= {"U": "texts", "T": "texts", "S": "bytes"}
# the names of types that Polars and Arrow state
_TEXTS = ("String", "Utf8", "string", "large_string", "string_view")
_NUMBERS = ("Int", "UInt", "Float", "Boolean", "int", "uint", "float", "double", "bool")


def require_classes_of_type(labels: Any, classes: Any) -> None:
    """Refuse classes that no label can equal, such as numbers where the labels are texts.

    Privacy: only the type that the labels state is looked at, and no label. A list and an
        array of objects state none, so nothing is refused there. In pandas up to 2, objects
        are what texts are: they are refused with two numbers.
    """
    stated, types = stated_type(labels), {_type_of(each) for each in classes}
    of_objects = hasattr(labels, "iloc") and str(getattr(labels, "dtype", None)) == "object"
    if of_objects and types == {"numbers"}:
        rule, hint = "two texts, where labels are Python objects", "Numbers: labels.astype(int)."
        raise ParameterError("classes", rule, shown_pair(classes), hint)
    if stated is None or types <= {stated, None}:
        return
    rule = f"two {stated}, because the labels are {stated}"
    raise ParameterError("classes", rule, shown_pair(classes))


def stated_type(labels: Any) -> LabelType | None:
    """What the type of the labels says they are; None where it allows anything.

    >>> stated_type(np.array(["benign"])), stated_type(np.array([0.5])), stated_type(["benign"])
    ('texts', 'numbers', None)
    """
    stated = getattr(labels, "dtype", None) or getattr(labels, "type", None)
    # of categories, what each category is
    stated = getattr(getattr(stated, "categories", None), "dtype", stated)
    if getattr(stated, "type", None) is str or str(stated) in _TEXTS:
        return "texts"
    if str(stated).startswith(_NUMBERS):
        return "numbers"
    return _KINDS.get(getattr(stated, "kind", ""))


def _type_of(label: Any) -> LabelType | None:
    """What a class is; None for what is neither a number nor a text."""
    if isinstance(label, str):
        return "texts"
    if isinstance(label, bytes):
        return "bytes"
    return "numbers" if isinstance(label, (Complex, Decimal, np.bool_)) else None
