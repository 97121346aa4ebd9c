"""Where in a TOML file something was said, so that a complaint can name the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")


def line_of(text: str, path: Sequence[str]) -> int:
    """The line of the longest beginning of the path that has one; 1 if none has.

    >>> line_of("[dataset.reads]\\ntitle = 'a'\\nperson = 1\\n", ["dataset", "reads", "person"])
    3
    """
    best, found, table = 0, 1, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _header(line)
        key = _KEY.match(line)
        if header is not None:
            table = here = header
        elif key is not None:
            here = [*table, *_path(f"{key[1]} = 0")]
        else:
            continue
        shared = _shared(here, path)
        if shared > best and (shared == len(here) or header is not None):
            best, found = shared, number
    return found


def _header(line: str) -> list[str] | None:
    if not line.lstrip().startswith("["):
        return None
    try:
        return _path(line)
    except tomllib.TOMLDecodeError:
        # the continuation of a list
        return None


def _path(line: str) -> list[str]:
    """The names on the way to the only thing that a line says."""
    here, names = tomllib.loads(line), list[str]()
    while isinstance(here, dict) and here:
        (name,) = here
        names.append(name)
        here = here[name]
    return names


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length
