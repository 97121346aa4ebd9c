"""What callers give to a ledger, checked."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import ParameterError, ParameterTypeError
from discreet.ledger.chain import canonical

_LONGEST = 200
_LARGEST_REQUEST = 64 * 1024
_DEEPEST = 64  # others read it too, and Python's stack has an end


# Letters and marks that Python calls printable and that show as nothing, or as a space.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0100-\U000e01ef]"
)


def read_known_name(value: str, name: str, owner: str) -> str:
    """A name that both databases can hold: one line of text.

    For what is there already, or is refused. Earlier versions took every such name.
    """
    if not isinstance(value, str):
        raise ParameterTypeError(owner, name, "text", value)
    if not value or len(value) > _LONGEST or not value.isprintable():
        raise ParameterError(owner, name, f"1 to {_LONGEST} printable characters", value)
    return value


def read_name(value: str, name: str, owner: str) -> str:
    """A name that can be new: no other name looks the same because of spaces or ways to write it.

    A new name is a new budget, and "2026-11 " would be a second one for November.
    """
    read_known_name(value, name, owner)
    hint = "A name that looks like another would be a second budget for the same data."
    if value != " ".join(value.split()):
        rule = "without spaces at its ends and without two in a row"
        raise ParameterError(owner, name, rule, value, hint)
    if not unicodedata.is_normalized("NFC", value) or _INVISIBLE.search(value):
        rule = "written in the composed form of Unicode (NFC), without characters that do not show"
        raise ParameterError(owner, name, rule, ascii(value), hint)
    return value


def read_optional_name(value: str | None, name: str, owner: str) -> str:
    """The same, or empty text for None."""
    return "" if value is None else read_name(value, name, owner)


def read_optional_known_name(value: str | None, name: str, owner: str) -> str:
    """A name that is there already, or empty text for None."""
    return "" if value is None else read_known_name(value, name, owner)


def read_windows(window: str | Sequence[str] | None, needed: bool, owner: str) -> list[str]:
    """The windows that a charge is for, each once."""
    if window is None:
        names: list[str] = []
    elif isinstance(window, str):
        names = [read_name(window, "window", owner)]
    elif isinstance(window, Sequence):
        names = sorted({read_name(name, "window", owner) for name in window})
    else:
        raise ParameterTypeError(owner, "window", "a name or a list of names", window)
    if bool(names) != needed:
        rule = "given for a data set with windows" if needed else "left out for a data set without windows"
        raise ParameterError(owner, "window", rule, window)
    return names


def read_request(request: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """A request as JSON, as it will be read back."""
    rule = f"a mapping that JSON can hold, of at most {_LARGEST_REQUEST} characters and {_DEEPEST} levels"
    if not isinstance(request, Mapping):
        raise ParameterTypeError(owner, "request", rule, type(request).__name__)
    try:
        text = canonical(dict(request))
        plain: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ParameterTypeError(owner, "request", rule, request) from None
    if len(text) > _LARGEST_REQUEST or not _is_flat(plain):
        raise ParameterError(owner, "request", rule, f"{len(text)} characters")
    return plain


def _is_flat(value: Any) -> bool:
    """Whether it is nested no deeper than allowed."""
    level = [value]
    for _ in range(_DEEPEST):
        if not level:
            break
        nested = [part for part in level if isinstance(part, (dict, list))]
        level = [inner for part in nested for inner in (part.values() if isinstance(part, dict) else part)]
    return not level
