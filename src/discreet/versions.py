"""The lowest version of each library that discreet was tested with, and the refusal of older ones.

An older engine may read a file differently, fail after the charge, or let one row move
a score further than the sensitivity says. So it is refused where it is first used,
before any charge. docs/reference/versions.md says which test fails below each bound.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module, metadata
from typing import Any

from discreet.errors import OutdatedLibraryError

LOWEST = {
    "dp_accounting": ("dp-accounting", "dp-accounting", "0.5.1"),
    "duckdb": ("DuckDB", "duckdb", "2.0"),
    "ibis": ("Ibis", "ibis-framework", "10.0"),
    "jinja2": ("Jinja2", "jinja2", "3.1.6"),
    "matplotlib": ("Matplotlib", "matplotlib", "3.10.7"),
    "narwhals": ("Narwhals", "narwhals", "2.28"),
    "pandas": ("pandas", "pandas", "2.2.2"),
    "polars": ("Polars", "polars", "1.33"),
    "psycopg": ("psycopg", "psycopg", "3.2.1"),
    "pyarrow": ("PyArrow", "pyarrow", "17.0"),
    "pydantic": ("Pydantic", "pydantic", "2.14"),
    "pyspark": ("Spark", "pyspark", "4.0"),
    "rich": ("Rich", "rich", "13.8"),
    "sklearn": ("scikit-learn", "scikit-learn", "1.6"),
    "starlette": ("Starlette", "starlette", "1.10"),
    "typer": ("Typer", "typer", "0.26.1"),
    "uvicorn": ("uvicorn", "uvicorn", "0.54"),
}
"""For each module: what people call it, what pip calls it, and the lowest version."""

_NUMBER = re.compile(r"(\d{1,9}(?:\.\d{1,9})*)(.*)", re.DOTALL)
_BEFORE = re.compile(r"[._-]?(a|b|c|rc|alpha|beta|pre|preview|dev|snapshot)", re.IGNORECASE)


def require(module: str, *, load: bool = True) -> None:
    """Refuse an installed library that is older than the lowest allowed version.

    module: the name that the library is imported by, one of `LOWEST`.
    load: whether it will be used anyway. If not, what is installed counts.
    Raises `ImportError` if the library is not installed: the caller knows what it is
    needed for.
    """
    loaded = import_module(module) if load else sys.modules.get(module)
    require_version(module, _version(loaded, module))


def require_version(module: str, version: str) -> None:
    """Refuse a version of a library, such as that of a server, if it is older than the lowest.

    A version that cannot be read counts as too old: nobody tested it.
    """
    name, distribution, lowest = LOWEST[module]
    if _order(version) < _order(lowest):
        raise OutdatedLibraryError(name, version, lowest, f"pip install -U {distribution}")


def require_makers(source: Any) -> None:
    """Refuse a table of a library that is too old: pandas, Polars, PyArrow, DuckDB, Spark, Ibis."""
    for kind in type(source).__mro__:
        # DuckDB's classes are in `duckdb` or `_duckdb`, by its version.
        module = kind.__module__.partition(".")[0].lstrip("_")
        if module in LOWEST:
            require(module)
    # The Spark that a session is connected with can be older than the library.
    session = getattr(source, "sparkSession", None)
    if session is not None:
        require_version("pyspark", str(session.version))


def _version(loaded: Any, module: str) -> str:
    stated = getattr(loaded, "__version__", None)
    if stated is not None:
        return str(stated)
    try:
        return _installed(LOWEST[module][1])
    except metadata.PackageNotFoundError:
        return "of an unknown version"


@cache
def _installed(distribution: str) -> str:
    """The version of an installed library, which takes a while to read."""
    return metadata.version(distribution)


def _order(version: str) -> tuple[list[int], bool]:
    """The key by which versions are compared: their numbers, then whether it is a release.

    >>> _order("2.0.0") == _order("2.0"), _order("2.0rc1") < _order("2.0") < _order("2.0.1.dev3")
    (True, True)
    """
    found = _NUMBER.match(version)
    if found is None:
        return [], False
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers, _BEFORE.match(found[2]) is None
