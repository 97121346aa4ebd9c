"""Which pairs of a person and an item a cap keeps: slow and obvious, in plain Python but for the
hash of DuckDB, which it asks for row by row.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any


def kept_pairs(pairs: Iterable[tuple[Any, Any]], items: int, key: str) -> set[tuple[Any, Any]]:
    """For each person, so many of the different items, by the hash of key, person and item."""
    own: dict[Any, set[Any]] = defaultdict(set)
    for person, item in pairs:
        if not is_empty(person) and not is_empty(item):
            own[person].add(item)
    return {
        (person, item)
        for person, theirs in own.items()
        for item in sorted(theirs, key=digest(key, person))[:items]
    }


def kept_in_duckdb(
    relation: Any, person: str, item: str, items: int, key: str
) -> set[tuple[Any, Any]]:
    """The same for a relation of DuckDB, by its own hash: key with person, mixed with the item."""
    digests = f'hash(xor(hash(\'{key}\', "{person}"), hash("{item}")))'
    rows = relation.project(f'"{person}", "{item}", {digests}').fetchall()
    own: dict[Any, set[tuple[int, Any]]] = defaultdict(set)
    for who, what, digest in rows:
        if not is_empty(who) and not is_empty(what):
            own[who].add((digest, what))
    return {
        (who, what)
        for who, theirs in own.items()
        for _, what in sorted(theirs, key=lambda each: each[0])[:items]
    }


def digest(key: str, person: Any) -> Any:
    """From an item of this person to its hash."""
    owner = text(person)
    return lambda item: hashlib.md5(f"{key}{len(owner)}:{owner}{text(item)}".encode()).hexdigest()


def text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return (
        str(int(value))
        if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53
        else str(value)
    )


def is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))
