"""Namespaces that load a name when it is first used.

The stub of a package, `__init__.pyi`, is the only list of its public names: type checkers and
editors read it, and at run time it says which module a name comes from.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module, resources
from typing import Any

NAMESPACES = (
    "discreet",
    "discreet.accounting",
    "discreet.auditing",
    "discreet.client",
    "discreet.errors",
    "discreet.ledger",
    "discreet.mechanisms",
    "discreet.models",
    "discreet.planning",
    "discreet.questions",
    "discreet.release",
    "discreet.session",
)
"""Where public names live: each has an `__all__`."""


@cache
def homes(package: str) -> dict[str, str]:
    """The module of each public name of a package, from its stub."""
    stub = resources.files(package).joinpath("__init__.pyi").read_text(encoding="utf-8")
    return {
        alias.asname or alias.name: statement.module or ""
        for statement in ast.parse(stub).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names its stub lists."""

    def load(name: str) -> Any:
        if name == "__all__":
            return public(package)
        # machinery asks for dunder names that no package has, before any public one
        home = None if name.startswith("__") else homes(package).get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        own = f"{package}.{name}"
        value = import_module(own) if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted([*homes(package), *(["__version__"] if package == "discreet" else [])])

    return load, names


def public(package: str) -> list[str]:
    """What `from package import *` gives: all names but those of modules."""
    return [name for name, home in homes(package).items() if home != package]
