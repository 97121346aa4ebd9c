"""The names and types of a table's columns, which are public, unlike its rows: what `--where` and `--candidates` are read by.

A session opens the table by itself and has the last word; this only says beforehand what it will find.
"""

from __future__ import annotations

import csv
import glob
import gzip
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb

from discreet.cli.formats import GUARDS, suffix

if TYPE_CHECKING:
    import narwhals as nw

Columns: TypeAlias = "Mapping[str, nw.dtypes.DType]"

DATABASES = (".duckdb", ".db", ".ddb")
"""How the names of DuckDB files end."""


def columns_of(source: Any, name: str | None = None) -> Columns:
    """The columns of a file, of all files of a pattern, of a table in a DuckDB file, or of what an engine has opened.

    Raises whatever an engine raises, with whatever text.
    """
    import narwhals as nw

    if not isinstance(source, str):
        return dict(nw.from_native(source).collect_schema())
    if suffix(source) in DATABASES:
        with duckdb.connect(source, read_only=True) as connection:
            return columns_of(connection.table(str(name)))
    # What exists under this very name is a file, even if the name looks like a pattern.
    pattern = glob.escape(source) if os.path.exists(source) else source
    with duckdb.connect(":memory:", config=GUARDS) as connection:
        return _READERS[suffix(source)](connection, pattern)


def _of_parquet(connection: duckdb.DuckDBPyConnection, pattern: str) -> Columns:
    return columns_of(connection.read_parquet(pattern))


def _of_text(delimiter: str) -> Callable[[duckdb.DuckDBPyConnection, str], Columns]:
    def read(_connection: duckdb.DuckDBPyConnection, pattern: str) -> Columns:
        headers = [_header(file, delimiter) for file in sorted(glob.glob(pattern, recursive=True))]
        return _texts([name for header in headers for name in header])

    return read


def _of_json(connection: duckdb.DuckDBPyConnection, pattern: str) -> Columns:
    lines = "read_json_objects(?, format='newline_delimited', ignore_errors=true)"
    query = f"SELECT json_keys(json) FROM {lines} WHERE json_type(json) = 'OBJECT' LIMIT 1"
    return _texts(connection.execute(query, [pattern]).fetchall()[0][0])


def _header(file: str, delimiter: str) -> list[str]:
    opener: Any = gzip.open if file.lower().endswith(".gz") else open
    with opener(file, "rt", encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader([lines.readline().rstrip("\r\n")], delimiter=delimiter))


def _texts(names: list[str]) -> Columns:
    """All columns of CSV and JSON are text."""
    import narwhals as nw

    return dict.fromkeys(names, nw.String())


_READERS: dict[str, Callable[[duckdb.DuckDBPyConnection, str], Columns]] = {
    ".parquet": _of_parquet,
    ".csv": _of_text(","),
    ".tsv": _of_text("\t"),
    ".jsonl": _of_json,
    ".ndjson": _of_json,
    ".json": _of_json,
}
