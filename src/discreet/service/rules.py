"""The rule that a value breaks, in words that follow "must be"; never the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_RULES = {
    "bool_type": "true or false",
    "dict_type": "a group of names with values",
    "extra_forbidden": "left out",
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "literal_error": "{expected}",
    "missing": "given",
    "model_type": "a group of names with values",
    "string_too_long": "text of at most {max_length} characters",
    "string_too_short": "text of at least {min_length} characters",
    "string_type": "text",
    "string_unicode": "text without half characters",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
    "tuple_type": "a list",
}


def first_mistake(error: ValidationError) -> tuple[str, list[str | int], str]:
    """The first rule that is broken: its kind, where, and in words."""
    first = error.errors(include_url=False, include_input=False)[0]
    return first["type"], list(first["loc"]), _rule(first)


def _rule(first: Mapping[str, Any]) -> str:
    if first["type"] == "value_error":
        # one of our own
        return str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch" and "a-z0-9" in first["ctx"]["pattern"]:
        return "lower-case letters, digits, - and _, at most 63"
    if first["type"] not in _RULES:
        return str(first["msg"])
    return _RULES[first["type"]].format(**first.get("ctx", {}))
