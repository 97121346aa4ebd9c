"""Reading candidates and their scores from a file, exactly, and without ever showing a label or a score.

In CSV and JSON a number means the decimal that is written there; in Parquet it means what the column's type holds. No error
carries anything from a row: DuckDB's own messages quote rows, so they are never passed on.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from discreet import ParameterError, ScoresError
from discreet.cli.formats import FORMATS, Columns, Unreadable, format_of
from discreet.cli.numbers import parse_number, reasonable

Label = str | int
Score = Any  # int, float, Decimal or Fraction


def read_scores(file: str, *, label: str, score: str, command: str) -> dict[Label, Score]:
    """The scores by label, in the order of the file."""
    name = "standard input" if file == "-" else repr(file)
    with _local_path(file, command) as path:
        columns = _columns(path, file, command)
        for option, column in (("--label", label), ("--score", score)):
            _require_column(column, columns.names, f"a column of {name}", option, command)
        try:
            labels, scores = columns.read(label), columns.read(score)
        except Unreadable:
            raise _unreadable(file, command) from None
    _require_labels(labels, name, label)
    return dict(zip(labels, [_number(value, name, score) for value in scores], strict=True))
