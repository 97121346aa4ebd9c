"""Which cases of a test `make test` tries, and which are only more of the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(values: Iterable[Any], keep: int = 1, tier: str = "sizes") -> list[Any]:
    """All values, with the mark of a tier on all but the first ones; their ids stay as they are."""
    values, mark = list(values), getattr(pytest.mark, tier)
    rest = (value if isinstance(value, tuple) else (value,) for value in values[keep:])
    return values[:keep] + [pytest.param(*value, marks=mark) for value in rest]
