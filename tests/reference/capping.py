"""Which pairs of a person and an item a cap keeps, in plain Python: slow, obvious, and without an
engine.
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
