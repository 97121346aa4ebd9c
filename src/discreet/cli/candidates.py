"""The options `--candidates` and `--prices`: public lists, typed or from a file."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any, TextIO

from discreet import ParameterError
from discreet.cli.options import parse_number
from discreet.cli.stories import BUNDLED, unbundled
from discreet.tables.files import ending_of

if TYPE_CHECKING:
    import narwhals as nw

_TABLES = {".csv": ",", ".tsv": "\t"}
_ENDINGS = (*_TABLES, ".txt", ".parquet", ".json", ".jsonl")


def typed_candidates(text: str, command: str, option: str = "--candidates") -> list[str]:
    """Read labels as text, from a comma-separated list or from a file."""
    if text in BUNDLED:
        with unbundled(text) as path:
            return _from_file(path, text, command, option)
    path = text.removeprefix("@")
    if (
        text.startswith("@")
        or os.path.isfile(text)
        or ("," not in text and (ending_of(text) in _ENDINGS or os.sep in text))
    ):
        return _from_file(path, text, command, option)
    try:
        labels = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise ParameterError(
            command, option, "a list such as a,b,c or an existing file", text
        ) from None
    return [label.strip() for label in labels]


def _from_file(path: str, typed: str, command: str, option: str) -> list[str]:
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise ParameterError(
            command,
            option,
            "a list such as a,b,c or an existing file that you may read",
            typed,
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
        raise ParameterError(command, option, rule, typed) from None


@contextmanager
def _text_of(path: str) -> Iterator[TextIO]:
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        yield lines


def _column(rows: list[list[str]], typed: str, command: str, option: str) -> list[str]:
    filled = [row for row in rows if row]
    if any(len(row) != 1 for row in filled):
        raise ParameterError(
            command,
            option,
            "a CSV file with one column",
            typed,
            "A line of it has more than one.",
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
        rule = "numbers, as the column is"
    elif kind == nw.Boolean:
        values = [{"true": True, "false": False}.get(label.lower()) for label in labels]
        rule = "true or false, as the column is"
    elif kind == nw.Date:
        values, rule = (
            [_day(label) for label in labels],
            "days such as 2025-03-01, as the column is",
        )
    else:
        return list(labels)
    if None in values:
        raise ParameterError(command, option, rule, typed)
    return values


def _plain(number: Any) -> int | float | None:
    return number if number is None or isinstance(number, int) else float(number)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
