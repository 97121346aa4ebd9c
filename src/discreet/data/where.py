"""What a caller may give as `where`: text, a condition, or a Narwhals expression; read before it costs anything."""

from __future__ import annotations

import sys
from typing import Any

from discreet.data.condition_expressions import condition_of
from discreet.data.condition_language import parse_condition
from discreet.data.conditions import Condition, require_reasonable
from discreet.errors import ParameterTypeError

Where = str | Condition | Any
"""A condition on single rows, in one of its three spellings."""

_RULE = "a condition on single rows: text, or made with discreet.column"


def read_where(where: Where | None, owner: str) -> Condition | None:
    """The condition, whichever way it was written."""
    if where is None:
        return None
    if isinstance(where, str):
        return parse_condition(where, owner=owner)
    if isinstance(where, Condition):
        return require_reasonable(where, owner)
    # Whoever has made an expression has loaded Narwhals.
    narwhals = sys.modules.get("narwhals")
    if narwhals is not None and isinstance(where, narwhals.Expr):
        return require_reasonable(condition_of(where, owner), owner)
    raise ParameterTypeError(owner, "where", _RULE, where, _hint(where))


def _hint(where: object) -> str:
    if callable(getattr(where, "to_list", None)) or hasattr(where, "__array__"):
        return "A column of truth values pairs rows by their position; say what must hold in a row."
    return "For example \"age >= 30 and role = 'nurse'\"."
