"""The same counts by plain Python over the rows: slow, obvious, and without an engine. Nothing
here imports the package's counting.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from engines.tables import Row

_NUMBER = re.compile(r" *[+-]?[0-9]{1,25}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})? *", re.ASCII)


def count_candidates(
    rows: Sequence[Row], persons: bool, column: str, candidates: Sequence[Any]
) -> list[int]:
    counts = _counts(rows, persons, column)
    return [counts.get(candidate, 0) for candidate in candidates]


def count_items(rows: Sequence[Row], persons: bool, column: str) -> dict[Any, int]:
    return _counts(rows, persons, column)


def _counts(rows: Sequence[Row], persons: bool, column: str) -> dict[Any, int]:
    seen: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        present = row[column] is not None and (
            not isinstance(row[column], float) or math.isfinite(row[column])
        )
        if present and (not persons or row["person"] is not None):
            seen[row[column]].append(row["person"])
    return {item: len(set(who)) if persons else len(who) for item, who in seen.items()}


def count_bins(
    rows: Sequence[Row], persons: bool, column: str, edges: Sequence[Fraction], rule: str
) -> list[int]:
    result, ascending = [0] * (len(edges) + 1), [float(edge) for edge in edges]
    for value in _values(rows, persons, column, rule):
        result[bisect_right(ascending, value)] += 1
    return result


def count_ranks(
    rows: Sequence[Row],
    persons: bool,
    column: str,
    points: Sequence[Fraction],
    rule: str,
    slack: float = 0.0,
) -> list[int]:
    """How many values are at each point and between each and the next, outside at the nearest.

    slack: how far from a point a float may be that stands for it.
    """
    result, ascending = [0] * (2 * len(points) - 1), [float(point) for point in points]
    for value in _values(rows, persons, column, rule):
        at = bisect_right(ascending, value + slack) - 1
        beyond = at >= 0 and value > ascending[at] + slack
        result[min(max(2 * at + beyond, 0), len(result) - 1)] += 1
    return result


def _values(rows: Sequence[Row], persons: bool, column: str, rule: str) -> list[float]:
    found = [(row["person"], number(row[column])) for row in rows]
    if not persons:
        return [value for _, value in found if value is not None]
    own: dict[Any, list[float]] = defaultdict(list)
    for person, value in found:
        if person is not None and value is not None:
            own[person].append(value)
    return [max(values) if rule == "max" else min(values) for values in own.values()]


def number(value: Any) -> float | None:
    """What a cell is worth as a number, if it is one."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
