"""Public labels: the candidates of a question to a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    import narwhals as nw


def read_labels(labels: Sequence[Any], name: str, owner: str) -> list[Any]:
    """Each label once, none of them empty, at least one."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise ParameterTypeError(owner, name, "a list of labels", labels)
    listed = [label.item() if hasattr(label, "item") else label for label in labels]
    if not listed:
        raise ParameterError(owner, name, "at least one", listed)
    if any(label is None or label != label for label in listed):
        raise ParameterError(owner, name, "without an empty one", listed)
    try:
        different = len(set(listed))
    except TypeError:
        raise ParameterTypeError(owner, name, "labels such as text and numbers", listed) from None
    if different != len(listed):
        raise ParameterError(owner, name, "all different", listed)
    return listed


def require_kind(labels: list[Any], kind: nw.dtypes.DType, owner: str) -> None:
    """Refuse candidates that can never be found in a column of this type."""
    import narwhals as nw

    if kind in (nw.String, nw.Categorical, nw.Enum):
        right, rule = all(isinstance(label, str) for label in labels), "text, as the column is"
    elif kind.is_numeric():
        right = all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in labels)
        rule = "numbers, as the column is"
    elif kind == nw.Boolean:
        right, rule = all(isinstance(label, bool) for label in labels), "True or False, as the column is"
    else:
        return
    if not right:
        raise ParameterTypeError(owner, "candidates", rule, labels)
