"""Files of scores, with one row for each candidate, read exactly.

In CSV and JSON a number means the decimal that is written there; in Parquet it means
what the column's type holds. DuckDB's error messages are never passed on, because they
quote rows.
"""

from __future__ import annotations

import glob
import json
import math
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet import ParameterError
from discreet.cli.options import parse_number, reasonable
from discreet.cli.stories import BUNDLED, unbundled
from discreet.errors import OutdatedLibraryError, ScoresError
from discreet.tables.delimited import header_of, strict_rows
from discreet.tables.duckdb_connection import connect
from discreet.tables.files import OF_SQLITE, SHEETS, SQLITE, CsvFile, ending_of
from discreet.tables.table import column_hint

if TYPE_CHECKING:
    import duckdb

_PARQUET = "read_parquet(?, hive_partitioning=false)"
FROM_SQLITE = (
    f"{OF_SQLITE}. Save the table as CSV first: "
    "sqlite3 -header -csv FILE 'select * from TABLE' > table.csv"
)
_JSON = "read_json_objects(?, format='auto')"
_WHOLE = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
)
_FLOATING = ("FLOAT", "DOUBLE")


class UnreadableFileError(Exception):
    """The file cannot be read as its name says. There is no further text, because
    DuckDB's would quote rows.
    """


@dataclass(frozen=True, slots=True)
class Rows:
    """The columns of a file, and label and score of each row if it has both columns."""

    columns: list[str]
    rows: list[tuple[Any, Any]] = field(default_factory=list)


def read_rows(path: str, label: str, score: str) -> Rows:
    """Read two columns of a local file."""
    try:
        return READERS[ending_of(path)](os.path.abspath(path), label, score)
    except OutdatedLibraryError:
        # the file is not to blame
        raise
    except Exception:
        # the error's text may quote a row
        raise UnreadableFileError from None


def _read_csv(file: str, label: str, score: str) -> Rows:
    """The rows of a CSV file, by the rules of `discreet.tables.delimited`. A line that
    breaks them is an error: to leave it out would lose a candidate.
    """
    form = CsvFile(file).form
    columns = list(header_of(file, form)[0])
    if label not in columns or score not in columns:
        return Rows(columns)
    places = columns.index(label), columns.index(score)
    found = [tuple(row[place] for place in places) for row in strict_rows(file, form)]
    return Rows(columns, [(name, _number_or_text(text)) for name, text in found])


def _read_parquet(file: str, label: str, score: str) -> Rows:
    path = _as_pattern(file)
    with connect("Reading files") as connection:
        types = _types(connection, _PARQUET, path)
        if label not in types or score not in types:
            return Rows(list(types))
        shown = f"{_as_label(label, types[label])}, {_as_score(score, types[score])}"
        found = connection.execute(f"SELECT {shown} FROM {_PARQUET}", [path]).fetchall()
    return Rows(list(types), found)


def _read_json(file: str, label: str, score: str) -> Rows:
    with connect("Reading files") as connection:
        texts = connection.execute(f"SELECT json FROM {_JSON}", [_as_pattern(file)]).fetchall()
    # DuckDB finds the objects and hands over their text; Python reads the numbers, as
    # decimals, without rounding.
    objects = [json.loads(text, parse_float=Decimal) for (text,) in texts]
    # by `keys`, because a row that is no object must fail
    columns = list(dict.fromkeys(name for row in objects for name in row.keys()))  # noqa: SIM118
    if label not in columns or score not in columns:
        return Rows(columns)
    return Rows(columns, [(_json_label(row.get(label)), row.get(score)) for row in objects])


def _as_pattern(file: str) -> str:
    """The one file, for DuckDB, which would read `votes*.parquet` as a pattern."""
    return glob.escape(file)


def _types(connection: duckdb.DuckDBPyConnection, source: str, path: str) -> dict[str, str]:
    return {
        row[0]: row[1]
        for row in connection.execute(f"DESCRIBE SELECT * FROM {source}", [path]).fetchall()
    }


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _as_label(column: str, kind: str) -> str:
    """The SQL of a label: whole numbers are kept, and everything else becomes text,
    because a release can hold these two.
    """
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


READERS: dict[str, Callable[[str, str, str], Rows]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
}
"""The reader of each format, by the ending of the file's name."""


Label = str | int
Score = int | float | Decimal | Fraction

_ADVICE = dict.fromkeys(
    (".csv", ".tsv"), " Is the first line a header, and has every line as many fields?"
)


def read_scores(
    file: str, *, label: str, score: str, command: str, option: str = "FILE"
) -> dict[Label, Score]:
    """Read the scores of a file by label, in the order of the file."""
    name = "standard input" if file == "-" else repr(file)
    with local_file(file, command, option) as path:
        if os.path.getsize(path) == 0:
            raise ParameterError(
                command,
                option,
                "a file with a column of labels and one of scores",
                file,
                "It is empty.",
            )
        try:
            table = read_rows(path, label, score)
        except UnreadableFileError:
            kind = ending_of(path).lstrip(".")
            raise ParameterError(
                command, option, f"a file that can be read as {kind}", file
            ) from None
    for parameter, column in (("--label", label), ("--score", score)):
        require_column(
            column, table.columns, name, parameter, command, _ADVICE.get(ending_of(path), "")
        )
    _require_labels([row[0] for row in table.rows], f"The labels in {name}, column {label!r},")
    return {
        key: _checked(value, f"The scores in {name}, column {score!r},")
        for key, value in table.rows
    }


@contextmanager
def local_file(file: str, command: str, option: str) -> Iterator[str]:
    """The path of a plain file, or of a bundled one. Standard input and pipes are copied to
    a file first, because it is read more than once.
    """
    if file in BUNDLED:
        with unbundled(file) as path:
            yield path
        return
    if file != "-":
        _require_file(file, command, option)
        if os.path.isfile(file):
            yield file
            return
    # readable by this user only, and removed at the end
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        path = os.path.join(folder, "standard-input.csv")
        with open(path, "wb") as copy, _opened(file) as source:
            shutil.copyfileobj(source, copy)
        yield path


def _require_file(file: str, command: str, option: str) -> None:
    # a device such as /dev/zero has no end, and a socket cannot be read as a file
    if not os.path.isfile(file) and not _is_pipe(file):
        hint = "Download it first: discreet reads local files only." if "://" in file else ""
        if os.path.isdir(file):
            hint = "It is a folder: name the files in it by a pattern, such as 'reads/*.parquet'."
        raise ParameterError(
            command, option, "an existing file, or - for standard input", file, hint
        )
    if os.path.isfile(file) and ending_of(file) not in READERS:
        rule = f"a file whose name ends in one of {', '.join(READERS)}"
        hint = "Save the sheet as CSV first." if ending_of(file) in SHEETS else ""
        hint = FROM_SQLITE if ending_of(file) in SQLITE else hint
        raise ParameterError(command, option, rule, file, hint)
    if not os.access(file, os.R_OK):
        raise ParameterError(command, option, "a file that you may read", file)


def _is_pipe(file: str) -> bool:
    return os.path.exists(file) and stat.S_ISFIFO(os.stat(file).st_mode)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
    else:
        with open(file, "rb") as source:
            yield source


def require_column(
    column: str, columns: Collection[str], name: str, option: str, command: str, advice: str = ""
) -> None:
    """Refuse a column that is not there, with a hint if it seems to be misspelt."""
    if column not in columns:
        hint = column_hint(column, columns, advice)
        raise ParameterError(command, option, f"a column of {name}", column, hint)


def _require_labels(labels: Sequence[Any], whose: str) -> None:
    if any(label is None for label in labels):
        raise ScoresError(f"{whose} must all be there. Got an empty one.")
    if any(not isinstance(label, (str, int)) for label in labels):
        raise ScoresError(f"{whose} must be text or whole numbers. Got something else.")
    if len(set(labels)) < len(labels):
        raise ScoresError(
            f"{whose} must differ from each other. Got one twice. Add up the scores of each "
            "candidate first."
        )


def _checked(value: Any, whose: str) -> Score:
    if value is None:
        raise ScoresError(
            f"{whose} must be finite numbers. Got an empty one. Say first what a missing score "
            "means."
        )
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        raise ScoresError(
            f"{whose} must be finite numbers. Got something that is not a finite number."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ScoresError(f"{whose} must be finite numbers. Got NaN or an infinity.")
    if isinstance(value, Decimal) and not reasonable(value):
        raise ScoresError(f"{whose} must be finite numbers of a reasonable size. Got another one.")
    return value
