"""CSV and TSV files: each line is one row, and each line is read by itself.

Within a line the cells are what Python's `csv` module finds in that line alone: a cell
that begins with a quote goes on to the next single quote, `""` is a quote within it,
text after the closing quote belongs to the cell, and a quote that is not closed ends
with its line. Cells that are missing are empty, those beyond the header are ignored. An
empty cell is null.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from typing import TYPE_CHECKING

from discreet.tables.lines import LONGEST, in_utf_8, lines, opened_bytes, quoted, text

if TYPE_CHECKING:
    import duckdb

SEPARATORS = (",", ";", "\t", "|")
"""What is looked for in a header line, in this order."""
# Beyond so many columns one list of all cells is quicker than a pattern that counts, and
# RE2 has limits.
_COUNTED = 100
# Never true, but DuckDB cannot know: it keeps conditions on cells above the step that has it.
# Below that, each part of a condition would take the line apart once more.
_NEVER = "random() > 1"
_HARD = "__discreet_hard_"


class HeaderError(ValueError):
    """The header line names no columns. The text says why, without showing it: it may be a row."""


@dataclass(frozen=True, slots=True)
class Format:
    """How the cells of a file are written; public, and the same for all lines."""

    separator: str | None
    encoding: str
    multiline: bool
    quoted: bool


def header_of(file: str, form: Format) -> tuple[tuple[str, ...], str]:
    """Return the names of the columns and the separator, by the first line of a file in UTF-8.

    A column without a name is called by its place, as `column_1`.
    """
    return names_in(_start(file, form), form)


def names_in(start: str, form: Format) -> tuple[tuple[str, ...], str]:
    """Return the names and the separator of a header line."""
    separator = form.separator or _separator(start)
    names = [
        name or f"column_{place}" for place, name in enumerate(_cells(start, separator, form), 1)
    ]
    if not any(_cells(start, separator, form)):
        raise HeaderError("The first line must name the columns; it is empty.")
    if max(Counter(map(str.lower, names)).values()) > 1:
        raise HeaderError(
            "The first line must name every column differently, not only by capitals."
        )
    return tuple(names), separator


def _cells(start: str, separator: str, form: Format) -> list[str]:
    if not form.quoted:
        return start.split(separator)
    limit = csv.field_size_limit(LONGEST)
    try:
        return next(csv.reader(io.StringIO(start, newline=""), delimiter=separator), [])
    finally:
        csv.field_size_limit(limit)


def _start(file: str, form: Format) -> str:
    """The first line as text, or in a file with line breaks in its cells as much as may
    belong to it.
    """
    data = _read(file, LONGEST + 4)
    decoded = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if form.multiline:
        return decoded.rpartition("\n")[0] if len(data) > LONGEST else decoded
    first = decoded.replace("\r", "\n").partition("\n")[0].partition("\0")[0]
    try:
        fits = len(first.encode()) <= LONGEST
    except UnicodeEncodeError:
        raise HeaderError(
            "The first line is no text in the encoding. Name another: encoding=."
        ) from None
    if not fits:
        raise HeaderError("The first line is longer than a header can be.")
    return first


def _read(file: str, most: int | None) -> bytes:
    """The bytes of a file, or the first ones, without their compression."""
    with opened_bytes(file) as stream:
        return bytes(stream.read(most))


def _separator(start: str) -> str:
    """The separator that the header line has most often outside quotes."""
    outside = "".join(start.split('"')[::2])
    return max(SEPARATORS, key=lambda each: (outside.count(each), -SEPARATORS.index(each)))


def strict_rows(file: str, form: Format) -> Iterator[list[str | None]]:
    """Yield the rows of a file in which no row may be left out: candidates with their scores.

    Lines and cells are those of `read_delimited`; but a line that would be left out
    there, or that has more or fewer cells than the header, is a ValueError; an empty
    line is a row where there is one column.
    """
    names, separator = header_of(file, form)
    found = _read(file, None).decode().removeprefix("\ufeff")
    rows = found.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    for line in rows[1:]:
        cells = _cells(line, separator, form) if line else [""]
        if not line and len(names) > 1:
            continue
        if "\0" in line or len(line.encode()) > LONGEST or len(cells) != len(names):
            raise ValueError("a line that is no row")
        yield [cell or None for cell in cells]


def read_delimited(
    connection: duckdb.DuckDBPyConnection, files: Sequence[str], form: Format
) -> duckdb.DuckDBPyRelation:
    """Return the rows of files, with columns by the header of each, all of them text."""
    alike: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for file in files:
        copy = in_utf_8(file, form.encoding)
        # an escaped name is only ever itself, never a pattern
        alike.setdefault(header_of(copy, form), []).append(escape(copy))
    select = _select_native if form.multiline else _select
    parts = [select(names, separator, group, form) for (names, separator), group in alike.items()]
    return connection.sql(" union all by name ".join(parts))


def _select(names: tuple[str, ...], separator: str, files: Sequence[str], form: Format) -> str:
    """SQL that reads files with the same header, a row for each line."""
    rows = f"select line, {_split(separator, form)} as cells from ({lines(files, header=True)})"
    if form.quoted:
        hard = (f"{_hard(place, separator)} as {_HARD}{place}" for place in range(len(names)))
        rows = f"select cells, {', '.join(hard)} from ({rows})"
    cells = ", ".join(
        f"{_cell(place, separator, form)} as {quoted(name)}" for place, name in enumerate(names)
    )
    return f"select {cells} from ({rows})"


def _split(separator: str, form: Format) -> str:
    """SQL for the list of cells where that is easily told; null for the other lines.

    Easy are lines without quotes, and lines in which quotes stand around whole cells
    and nothing that needs them is within. Which way a line goes is its own matter, and
    both ways mean the same.
    """
    line = f"case when {_NEVER} then null else line end"
    if form.quoted:
        plain = f'[^"{_code(separator)}]*'
        cell = f'(?:"{plain}"|{plain})'
        easy = text(f"^{cell}(?:{_code(separator)}{cell})*$")
        line = (
            "case when not contains(line, '\"') then line "
            f"when regexp_matches(line, {easy}) then replace(line, '\"', '') end"
        )
    return f"string_split({line}, {text(separator)})"


def _cell(place: int, separator: str, form: Format) -> str:
    """SQL for one cell of a line that was split."""
    easy = f"cells[{place + 1}]"
    if not form.quoted:
        return f"nullif({easy}, '')"
    return f"nullif(coalesce({easy}, {_without_quotes(f'{_HARD}{place}', separator)}), '')"


def _hard(place: int, separator: str) -> str:
    """SQL for one cell of a line that is not easily split, with its quotes; null for others."""
    comma = _code(separator)
    # Pairs of quotes, the last one perhaps not closed; then whatever is left up to the separator.
    cell = f'(?:"[^"]*(?:"|$))*{_rest(separator)}'
    if place < _COUNTED:
        found = f"regexp_extract(line, {text(f'^(?:{cell}{comma}){{{place}}}({cell})')}, 1)"
    else:
        every = text(f"{comma}({cell})")
        found = f"regexp_extract_all(concat({text(separator)}, line), {every}, 1)[{place + 1}]"
    return f"case when {_NEVER} or cells is not null then null else {found} end"


def _without_quotes(cell: str, separator: str) -> str:
    """SQL for what a cell of any line whatever says. Most have no quotes, or just one at
    each end.
    """
    pattern = text(f'^(?:"((?:[^"]|"")*)"?)?({_rest(separator)})')
    within, after = (f"regexp_extract({cell}, {pattern}, {group})" for group in (1, 2))
    bare = f"replace({cell}, '\"', '')"
    around = f"starts_with({cell}, '\"') and ends_with({cell}, '\"')"
    return (
        f"case when not contains({cell}, '\"') then {cell} "
        f"when {around} and strlen({bare}) + 2 = strlen({cell}) then {bare} "
        f"""else concat(replace({within}, '""', '"'), {after}) end"""
    )


def _rest(separator: str) -> str:
    """What is left of a cell after its pairs of quotes, as a pattern."""
    comma = _code(separator)
    return f'(?:[^"{comma}][^{comma}]*)?'


def _code(separator: str) -> str:
    """The separator within a pattern."""
    return f"\\x{{{ord(separator):x}}}"


def _select_native(
    names: tuple[str, ...], separator: str, files: Sequence[str], form: Format
) -> str:
    """SQL that reads files with line breaks in their cells, by DuckDB's own reader.

    Here an open quote takes in what follows, so the caller answers for the file as a
    whole.
    """
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    return (
        f"select * from read_csv([{', '.join(map(text, files))}], auto_detect = false, header = "
        "true, "
        f"delim = {text(separator)}, quote = '\"', escape = '\"', comment = '', strict_mode = "
        "false, "
        "null_padding = true, ignore_errors = true, parallel = false, hive_partitioning = false, "
        f"encoding = 'utf-8', columns = {{{columns}}})"
    )
