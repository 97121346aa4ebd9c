"""What a condition means, by plain Python over one row at a time: slow, obvious, and without an
engine.

Three-valued, as SQL: True, False, or None where a cell is empty or cannot be compared. A row
counts where the answer is True. Nothing here uses the package's matching; it only walks the tree.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.tables.conditions import Among, And, Compare, Condition, Empty, Not, Or

SIGNS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NUMBER = re.compile(r" *[+-]?[0-9]{1,25}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})? *", re.ASCII)
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def holds(condition: Condition, row: Mapping[str, Any], kinds: Mapping[str, str]) -> bool:
    """Whether the row counts. Kinds: whole, float, single, text, truth, day, time or zoned."""
    return truth(condition, row, kinds) is True


def truth(condition: Condition, row: Mapping[str, Any], kinds: Mapping[str, str]) -> bool | None:
    """True, False or unknown."""
    if isinstance(condition, Not):
        inner = truth(condition.part, row, kinds)
        return None if inner is None else not inner
    if isinstance(condition, (And, Or)):
        parts = [truth(part, row, kinds) for part in condition.parts]
        decisive = isinstance(condition, Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    cell, kind = row[condition.column], kinds[condition.column]
    if isinstance(condition, Empty):
        return is_empty(cell)
    if isinstance(condition, Among):
        found = [compare(kind, cell, "=", value) for value in condition.values]
        return True if True in found else None if None in found else False
    assert isinstance(condition, Compare)
    return compare(kind, cell, condition.sign, condition.value)


def is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def compare(kind: str, cell: Any, sign: str, value: Any) -> bool | None:
    """One cell against one value."""
    if is_empty(cell):
        return None
    how = SIGNS[sign]
    if kind == "whole":
        return how(Fraction(cell), value)
    if kind in ("float", "single"):
        return how(float(cell), rounded(float(value), kind))
    if kind == "truth":
        return how(cell, value if isinstance(value, bool) else value.lower() == "true")
    if kind == "day":
        return how(cell, date.fromisoformat(value) if isinstance(value, str) else value)
    if kind in ("time", "zoned"):
        return compare_time(cell, sign, value)
    return compare_text(cell, sign, value)


def rounded(value: float, kind: str) -> float:
    import numpy as np

    return float(np.float32(value)) if kind == "single" else value


def compare_time(cell: datetime, sign: str, value: Any) -> bool:
    if isinstance(value, str):
        value = date.fromisoformat(value) if DAY.fullmatch(value) else datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return SIGNS[sign](cell, value)
    start = datetime(value.year, value.month, value.day)
    inside = start <= cell < start + timedelta(days=1)
    before = cell < start
    return {
        "=": inside,
        "!=": not inside,
        "<": before,
        ">=": not before,
        "<=": before or inside,
        ">": not (before or inside),
    }[sign]


def compare_text(cell: str, sign: str, value: Any) -> bool | None:
    how = SIGNS[sign]
    if isinstance(value, bool):
        word = {
            "true": True,
            "True": True,
            "TRUE": True,
            "false": False,
            "False": False,
            "FALSE": False,
        }.get(cell)
        return None if word is None else how(word, value)
    if isinstance(value, Fraction):
        return how(float(cell), float(value)) if NUMBER.fullmatch(cell) else None
    if isinstance(value, date):
        return how(cell[:10], value.isoformat()) if DAY.match(cell) else None
    return how(cell, value)
