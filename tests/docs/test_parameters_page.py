"""Every public parameter has one meaning, and the page of parameters says which."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.lazy import NAMESPACES

PAGE = (Path(__file__).parents[2] / "docs/reference/parameters.md").read_text(encoding="utf-8")
MEANINGS, ELSEWHERE = PAGE.split("These names mean something else")
CALLED_BY_USERS = {"Ledger", "OneRow", "Person", "PrivacyFilter", "Session"}
MODULES = [import_module(name) for name in NAMESPACES]
PUBLIC = {name: getattr(module, name) for module in MODULES for name in module.__all__}
OF_A_MECHANISM = ("release", "select", "select_many", "log_probability", "error_bound")


def entry_points() -> Iterator[Callable[..., Any]]:
    """What users call with words: functions, sessions, ledgers and mechanisms."""
    for name, value in PUBLIC.items():
        is_mechanism = hasattr(value, "privacy_loss")
        if not isinstance(value, type):
            yield from [value] if callable(value) else []
        elif is_mechanism or name in CALLED_BY_USERS:
            yield value
            for part, method in inspect.getmembers(value, callable):
                if part in OF_A_MECHANISM if is_mechanism else not part.startswith("_"):
                    yield method


def test_the_page_has_each_public_parameter_once() -> None:
    said = re.findall(r"^\| `(\w+)` \| ", MEANINGS, re.MULTILINE)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    asked = {
        parameter.name
        for entry_point in entry_points()
        for parameter in inspect.signature(entry_point).parameters.values()
        if parameter.kind in kinds and parameter.name != "self"
    }
    assert said == sorted(asked)


def test_no_more_names_have_two_meanings() -> None:
    found = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \| ", ELSEWHERE, re.MULTILINE)
    assert [name for name, _ in found] == ["loss", "mechanism", "neighbours", "what"]
    for name, where in found:
        owner, _, method = where.partition(".")
        called = PUBLIC[owner]
        called = getattr(called, method) if method else called
        assert name in inspect.signature(called).parameters
