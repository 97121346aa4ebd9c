"""The file formats: how to get the rows of two columns out of each, with DuckDB.

In CSV and JSON a number means the decimal that is written there; in Parquet it means what the column's type holds. Nothing
here passes on what DuckDB says when it fails, because its messages quote rows.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import duckdb

from discreet.cli.numbers import parse_number
from discreet.data.connection import connect
from discreet.data.delimited import header_of, strict_rows
from discreet.data.files import CsvFile, ending_of

_PARQUET = "read_parquet(?, hive_partitioning=false)"
_JSON = "read_json_objects(?, format='auto')"
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
_FLOATING = ("FLOAT", "DOUBLE")


class UnreadableFileError(Exception):
    """The file is not what its name says. Carries nothing, on purpose."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The columns that a file has, and (label, score) of each row if both columns are there."""

    columns: list[str]
    rows: list[tuple[Any, Any]] = field(default_factory=list)


def read_rows(path: str, label: str, score: str) -> Rows:
    """Read two columns of a local file."""
    reader = FORMATS[ending_of(path)]
    try:
        with connect("Reading files") as connection:
            # An escaped name is only ever itself: without this, DuckDB would read `votes*.csv` as a pattern.
            return reader(connection, glob.escape(os.path.abspath(path)), label, score)
    except Exception:  # whatever it is, its text may quote a row
        raise UnreadableFileError from None


def _read_csv(_connection: Any, pattern: str, label: str, score: str) -> Rows:
    """By the rules of `discreet.data.delimited`, but no line may be left out: that would lose a candidate."""
    (file,) = glob.glob(pattern)
    form = CsvFile(file).form
    columns = list(header_of(file, form)[0])
    if label not in columns or score not in columns:
        return Rows(columns)
    places = columns.index(label), columns.index(score)
    found = [tuple(row[place] for place in places) for row in strict_rows(file, form)]
    return Rows(columns, [(name, _number_or_text(text)) for name, text in found])


def _read_parquet(connection: duckdb.DuckDBPyConnection, path: str, label: str, score: str) -> Rows:
    types = _types(connection, _PARQUET, path)
    if label not in types or score not in types:
        return Rows(list(types))
    shown = f"{_as_label(label, types[label])}, {_as_score(score, types[score])}"
    return Rows(list(types), connection.execute(f"SELECT {shown} FROM {_PARQUET}", [path]).fetchall())


def _read_json(connection: duckdb.DuckDBPyConnection, path: str, label: str, score: str) -> Rows:
    texts = connection.execute(f"SELECT json FROM {_JSON}", [path]).fetchall()
    # DuckDB finds the objects and hands over their text; Python reads the numbers, as decimals, without rounding.
    objects = [json.loads(text, parse_float=Decimal) for (text,) in texts]
    columns = list({name: None for row in objects for name in row.keys()})  # noqa: SIM118 (a row that is no object must fail)
    if label not in columns or score not in columns:
        return Rows(columns)
    return Rows(columns, [(_json_label(row.get(label)), row.get(score)) for row in objects])


def _types(connection: duckdb.DuckDBPyConnection, source: str, path: str) -> dict[str, str]:
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}", [path]).fetchall()}


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _as_label(column: str, kind: str) -> str:
    """Whole numbers stay what they are and everything else becomes text, because that is what a release can carry."""
    if kind in _WHOLE:
        return _quoted(column)
    text = f"CAST({_quoted(column)} AS VARCHAR)"
    return f"nullif({text}, 'nan')" if kind in _FLOATING else text


def _as_score(column: str, kind: str) -> str:
    numeric = kind in _WHOLE or kind in _FLOATING or kind.startswith("DECIMAL")
    return _quoted(column) if numeric else f"CAST({_quoted(column)} AS VARCHAR)"


def _json_label(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, Decimal) else value


def _number_or_text(text: str | None) -> Any:
    if text is None:
        return None
    number = parse_number(text)
    return text if number is None else number


FORMATS: dict[str, Callable[[duckdb.DuckDBPyConnection, str, str, str], Rows]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
}
"""How to read each format, by the ending of the file's name."""
