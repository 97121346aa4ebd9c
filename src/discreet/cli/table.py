"""Candidates and their scores from a file: found, read, checked, and never shown in a message."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any, BinaryIO

from discreet import ParameterError, ScoresError
from discreet.cli.formats import FORMATS, UnreadableFileError, read_rows
from discreet.cli.numbers import reasonable
from discreet.data.files import ending_of
from discreet.data.table import column_hint

Label = str | int
Score = int | float | Decimal | Fraction

_ADVICE = dict.fromkeys((".csv", ".tsv"), " Is the first line a header, and has every line as many fields?")


def read_scores(file: str, *, label: str, score: str, command: str, option: str = "FILE") -> dict[Label, Score]:
    """The scores by label, in the order of the file."""
    name = "standard input" if file == "-" else repr(file)
    with local_file(file, command, option) as path:
        if os.path.getsize(path) == 0:
            raise ParameterError(command, option, "a file with a column of labels and one of scores", file, "It is empty.")
        try:
            table = read_rows(path, label, score)
        except UnreadableFileError:
            kind = ending_of(path).lstrip(".")
            raise ParameterError(command, option, f"a file that can be read as {kind}", file) from None
    for parameter, column in (("--label", label), ("--score", score)):
        require_column(column, table.columns, name, parameter, command, _ADVICE.get(ending_of(path), ""))
    _require_labels([row[0] for row in table.rows], f"The labels in {name}, column {label!r},")
    return {key: _checked(value, f"The scores in {name}, column {score!r},") for key, value in table.rows}


@contextmanager
def local_file(file: str, command: str, option: str) -> Iterator[str]:
    """A path to the data as a plain file: standard input and pipes are copied first, since a file is read more than once."""
    if file != "-":
        _require_file(file, command, option)
        if os.path.isfile(file):
            yield file
            return
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:  # readable by this user only, and removed at once
        path = os.path.join(folder, "standard-input.csv")
        with open(path, "wb") as copy, _opened(file) as source:
            shutil.copyfileobj(source, copy)
        yield path


def _require_file(file: str, command: str, option: str) -> None:
    if not os.path.exists(file) or os.path.isdir(file):
        hint = "Download it first: discreet reads local files only." if "://" in file else ""
        raise ParameterError(command, option, "an existing file, or - for standard input", file, hint)
    if os.path.isfile(file) and ending_of(file) not in FORMATS:
        raise ParameterError(command, option, f"a file whose name ends in one of {', '.join(FORMATS)}", file)
    if not os.access(file, os.R_OK):
        raise ParameterError(command, option, "a file that you may read", file)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
    else:
        with open(file, "rb") as source:
            yield source


def require_column(column: str, columns: Collection[str], name: str, option: str, command: str, advice: str = "") -> None:
    """Refuse a column that is not there, with a hint where it is only misspelt."""
    if column not in columns:
        hint = column_hint(column, columns, advice)
        raise ParameterError(command, option, f"a column of {name}", column, hint)


def _require_labels(labels: Sequence[Any], whose: str) -> None:
    if any(label is None for label in labels):
        raise ScoresError(f"{whose} must all be there. Got an empty one.")
    if any(not isinstance(label, (str, int)) for label in labels):
        raise ScoresError(f"{whose} must be text or whole numbers. Got something else.")
    if len(set(labels)) < len(labels):
        raise ScoresError(f"{whose} must differ from each other. Got one twice. Add up the scores of each candidate first.")


def _checked(value: Any, whose: str) -> Score:
    if value is None:
        raise ScoresError(f"{whose} must be finite numbers. Got an empty one. Say first what a missing score means.")
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        raise ScoresError(f"{whose} must be finite numbers. Got something that is not a finite number.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ScoresError(f"{whose} must be finite numbers. Got NaN or an infinity.")
    if isinstance(value, Decimal) and not reasonable(value):
        raise ScoresError(f"{whose} must be finite numbers of a reasonable size. Got another one.")
    return value
