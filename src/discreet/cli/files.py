"""Files that are named in a shell: bundled ones, pipes, and lists of public labels."""

from __future__ import annotations

import csv
import gzip
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import date
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from discreet import ParameterError
from discreet.cli.options import parse_number
from discreet.tables.files import OF_SQLITE, SHEETS, SQLITE, ending_of
from discreet.tables.table import column_hint

if TYPE_CHECKING:
    import narwhals as nw

BUNDLED = {
    "demo:answers": "answers.csv",
    "demo:articles": "articles.txt",
    "demo:mascot": "mascot.csv",
    "demo:questions": "questions.json",
    "demo:reads": "reads.csv.gz",
    "demo:reports": "reports.csv",
    "demo:visits": "visits.csv",
    "demo:votes": "votes.csv",
}
"""The files in the package, by the names that can be typed for them."""

FROM_SQLITE = (
    f"{OF_SQLITE}. Save the table as CSV first: "
    "sqlite3 -header -csv FILE 'select * from TABLE' > table.csv"
)


@contextmanager
def unbundled(path: str) -> Iterator[str]:
    """The path of the bundled file that a name stands for; any other path is kept."""
    if path not in BUNDLED:
        yield path
        return
    with as_file(files("discreet.cli.data") / BUNDLED[path]) as file:
        yield str(file)


ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json")
"""The endings of the files that can be read."""
_TABLES = {".csv": ",", ".tsv": "\t"}
_LISTS = (*_TABLES, ".txt", ".parquet", ".json", ".jsonl")


def typed_candidates(text: str, command: str, option: str = "--candidates") -> list[str]:
    """Read labels as text, from a comma-separated list or from a file."""
    if text in BUNDLED:
        with unbundled(text) as path:
            return _from_file(path, text, command, option)
    path = text.removeprefix("@")
    if (
        text.startswith("@")
        or os.path.isfile(text)
        or ("," not in text and (ending_of(text) in _LISTS or os.sep in text))
    ):
        return _from_file(path, text, command, option)
    try:
        labels = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise ParameterError(
            option, "a list such as a,b,c or an existing file", text, owner=command
        ) from None
    return [label.strip() for label in labels]


def _from_file(path: str, typed: str, command: str, option: str) -> list[str]:
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise ParameterError(
            option,
            "a list such as a,b,c or an existing file that you may read",
            typed,
            owner=command,
        )
    delimiter = _TABLES.get(ending_of(path))
    try:
        with _text_of(path) as lines:
            if delimiter is None:
                return [label for line in lines if (label := line.rstrip("\r\n"))]
            return _column(list(csv.reader(lines, delimiter=delimiter)), typed, command, option)
    except (UnicodeDecodeError, csv.Error, OSError, EOFError):
        each = "candidate" if option == "--candidates" else "of them"
        rule = f"a text file in UTF-8 with one {each} on each line, or a CSV file with one column"
        raise ParameterError(option, rule, typed, owner=command) from None


@contextmanager
def _text_of(path: str) -> Iterator[TextIO]:
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        yield lines


def _column(rows: list[list[str]], typed: str, command: str, option: str) -> list[str]:
    filled = [row for row in rows if row]
    if any(len(row) != 1 for row in filled):
        raise ParameterError(
            option,
            "a CSV file with one column",
            typed,
            "One of its lines has more than one column.",
            owner=command,
        )
    # the first line is a header
    return [row[0] for row in filled[1:]]


def as_the_column(
    labels: list[str],
    kind: nw.dtypes.DType,
    typed: str,
    command: str,
    option: str = "--candidates",
) -> list[Any]:
    """The labels as values of the column's type."""
    import narwhals as nw

    if isinstance(kind, nw.List):
        # the items of the lists are the candidates
        inner = kind.inner() if isinstance(kind.inner, type) else kind.inner
        return as_the_column(labels, inner, typed, command, option)
    if kind.is_numeric():
        values: list[Any] = [_plain(parse_number(label)) for label in labels]
        rule = "numbers, like the column"
    elif kind == nw.Boolean:
        values = [{"true": True, "false": False}.get(label.lower()) for label in labels]
        rule = "true or false, like the column"
    elif kind == nw.Date:
        values, rule = (
            [_day(label) for label in labels],
            "days such as 2025-03-01, like the column",
        )
    else:
        return list(labels)
    if None in values:
        raise ParameterError(option, rule, typed, owner=command)
    return values


def _plain(number: Any) -> int | float | None:
    return number if number is None or isinstance(number, int) else float(number)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


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
        hint = "Download it first: discreet reads only local files." if "://" in file else ""
        if os.path.isdir(file):
            hint = "It is a folder. Name its files by a pattern, such as 'reads/*.parquet'."
        raise ParameterError(
            option, "an existing file, or - for standard input", file, hint, owner=command
        )
    if os.path.isfile(file) and ending_of(file) not in ENDINGS:
        rule = f"a file whose name ends in one of {', '.join(ENDINGS)}"
        hint = "Save the sheet as CSV first." if ending_of(file) in SHEETS else ""
        hint = FROM_SQLITE if ending_of(file) in SQLITE else hint
        raise ParameterError(option, rule, file, hint, owner=command)
    if not os.access(file, os.R_OK):
        raise ParameterError(option, "a file that you may read", file, owner=command)


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
        raise ParameterError(option, f"a column of {name}", column, hint, owner=command)
