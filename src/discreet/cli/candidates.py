"""The options `--candidates` and `--prices`: public lists, typed or from a file."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from discreet import ParameterError
from discreet.cli.options import parse_number
from discreet.cli.stories import BUNDLED, unbundled
from discreet.tables.files import ending_of

if TYPE_CHECKING:
    import narwhals as nw

CandidatesOrNone = Annotated[
    str | None,
    typer.Option(
        metavar="LIST|FILE",
        help=(
            "With --column, the public candidates: a,b,c or a file with one on each line, or a CSV "
            "file with one column."
        ),
    ),
]

_TABLES = {".csv": ",", ".tsv": "\t"}
_ENDINGS = (*_TABLES, ".txt", ".parquet", ".json", ".jsonl")
MOST_PRICES = 2_000
"""The largest number of prices. Each is a part of one expression; more would take many
seconds.
"""


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


def read_prices(text: str, command: str) -> list[int | float]:
    """Read prices, from a list 1,2,5 or a range 1:10:0.5 that includes both ends.

    >>> read_prices("1,2.5", "discreet"), read_prices("0.1:0.3:0.1", "discreet")
    ([1, 2.5], [0.1, 0.2, 0.3])
    """
    parts = text.split(":") if ":" in text else text.split(",")
    numbers = [
        None if (number := parse_number(part)) is None else Fraction(number) for part in parts
    ]
    rule = "numbers such as 1,2,5 or a range such as 1:10:0.5"
    exact = [number for number in numbers if number is not None]
    if len(exact) < len(parts) or (":" in text and len(parts) != 3):
        raise ParameterError("--prices", rule, text, owner=command)
    if ":" in text:
        low, high, step = exact
        if not (low <= high and step > 0 and (high - low) / step < MOST_PRICES):
            hint = (
                f"First the lowest, then the highest, then the step; at most {MOST_PRICES:,} "
                "prices."
            )
            raise ParameterError("--prices", rule, text, hint, owner=command)
        exact = [low + place * step for place in range(int((high - low) / step) + 1)]
    if len(exact) > MOST_PRICES:
        raise ParameterError("--prices", f"at most {MOST_PRICES:,}", text, owner=command)
    if any(number <= 0 for number in exact):
        raise ParameterError("--prices", "greater than 0, each of them", text, owner=command)
    if len(set(exact)) < len(exact):
        raise ParameterError("--prices", "all different", text, owner=command)
    return [number.numerator if number.denominator == 1 else float(number) for number in exact]


def _plain(number: Any) -> int | float | None:
    return number if number is None or isinstance(number, int) else float(number)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
