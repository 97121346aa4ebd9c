"""Which cases of a parameter `make test` tries, and which are left to `make sizes`."""

from __future__ import annotations

from typing import Any

import pytest


def also(*values: Any) -> list[Any]:
    """Values of one parameter that only `make sizes` tries."""
    return [pytest.param(value, marks=pytest.mark.sizes) for value in values]


def only(everyday: tuple[Any, ...], every: Any) -> list[Any]:
    """All values of one parameter; `make test` tries the everyday ones."""
    values = list(every)
    assert set(everyday) <= set(values)
    return [value if value in everyday else also(value)[0] for value in values]
