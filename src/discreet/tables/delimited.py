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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from typing import TYPE_CHECKING

from discreet.tables.lines import (
    LONGEST,
    NO_COLUMN,
    in_utf_8,
    lines,
    mended,
    opened_bytes,
    quoted,
    text,
)

if TYPE_CHECKING:
    import duckdb

SEPARATORS = (",", ";", "\t", "|")
"""What is looked for in a header line, in this order."""
# Beyond this many columns one list of all cells is quicker than a pattern that counts, and
# RE2 has limits.
_COUNTED = 100
# Never true, but DuckDB cannot know: it keeps conditions on cells above the step that has it.
# Below that, each part of a condition would take the line apart once more.
_NEVER = "random() > 1"
_WRITTEN, _BARE = "__discreet_written_", "__discreet_bare_"


class HeaderError(ValueError):
    """The header line names no columns. The text says why, without showing it: it may be a row."""


@dataclass(frozen=True, slots=True)
class Format:
    """How the cells of a file are written; public, and the same for all lines."""

    separator: str | None
    encoding: str
    multiline: bool
    quoted: bool
    decimal: str = "."


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
            "The first line must name every column differently, not only in upper and lower case."
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
            "The first line is not valid text in this encoding. Give another one, as in "
            "CsvFile(path, encoding='latin-1')."
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


Headers = Mapping[tuple[tuple[str, ...], str], Sequence[str]]
"""Files by the columns and the separator of their header."""


def read_headers(files: Sequence[str], form: Format) -> Headers:
    """Return the files by their headers. Nothing else of them is read."""
    alike: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for file in files:
        copy = in_utf_8(file, form.encoding)
        alike.setdefault(header_of(copy, form), []).append(copy)
    return alike


def with_mended_files(headers: Headers) -> Headers:
    """The same with U+FFFD for bytes that are no text. All files are read for it."""
    return {header: [mended(file) for file in files] for header, files in headers.items()}


def columns_of(headers: Headers) -> list[str]:
    """Return the columns of all files together. SQL takes names that differ in capitals for
    one: that of the first file.
    """
    known: dict[str, str] = {}
    for names, _ in headers:
        for name in names:
            known.setdefault(name.lower(), name)
    return list(known.values())


def read_delimited(
    connection: duckdb.DuckDBPyConnection, headers: Headers, form: Format, columns: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    """Return the rows of files with some of their columns, all of them text.

    columns: those of the question. DuckDB would leave out the others by itself, but it
        takes some milliseconds for each of them, every time that it reads the query.
    """
    parts = []
    for (names, separator), named in headers.items():
        # an escaped name is only ever itself, never a pattern
        files = [escape(file) for file in named]
        places = {name.lower(): place for place, name in enumerate(names)}
        asked = {name: places.get(name.lower()) for name in columns}
        if form.multiline:
            parts.append(_select_native(names, separator, files, asked))
        else:
            parts.append(_select(asked, separator, files, form))
    return connection.sql(" union all ".join(parts))


def _select(
    asked: Mapping[str, int | None], separator: str, files: Sequence[str], form: Format
) -> str:
    """SQL that reads files with the same header, a row for each line.

    asked: the places of the columns, none for a column that only other files have.

    In steps, each a name for what the next ones look at more than once: DuckDB computes
    an expression as often as it is written.
    """
    places = [place for place in asked.values() if place is not None]
    rows = f"select line, {_split(separator, form)} as cells from ({lines(files, header=True)})"
    if form.quoted and places:
        written = (f"{_written(place, separator)} as {_WRITTEN}{place}" for place in places)
        rows = f"select line, cells, {', '.join(written)} from ({rows})"
        rows = f"select *, {', '.join(map(_bare, places))} from ({rows})"
    cells = ", ".join(
        f"case when {_NEVER} then null {_cell(place, separator, form)} end as {quoted(name)}"
        if place is not None
        else f"cast(null as varchar) as {quoted(name)}"
        for name, place in asked.items()
    )
    return f"select {cells or NO_COLUMN} from ({rows})"


def _split(separator: str, form: Format) -> str:
    """SQL for the list of cells of a line without quotes; null for one that has some."""
    line = "case when contains(line, '\"') then null else line end" if form.quoted else "line"
    return f"string_split({line}, {text(separator)})"


def _cell(place: int, separator: str, form: Format) -> str:
    """SQL for one cell, as the branches of a `case`: the usual ones first."""
    easy = f"nullif(cells[{place + 1}], '')"
    if not form.quoted:
        return f"else {easy}"
    written, bare = f"{_WRITTEN}{place}", f"{_BARE}{place}"
    closed = f"case when {written} = '' then {_open(place, separator)} else {written} end"
    return (
        f"when cells is not null then {easy} "
        # two quotes, of which the first begins the cell: the second one closes it
        f"when strlen({bare}) + 2 = strlen({written}) then nullif({bare}, '') "
        f"when {bare} is null and {written} <> '' then {written} "
        f"else nullif({_without_quotes(closed, separator)}, '')"
    )


def _written(place: int, separator: str) -> str:
    """SQL for one cell of a line with quotes, as it is written; null for other lines.

    It is empty where the line has no such cell, and where the cell is not closed. RE2
    reads a line once for a pattern in which each character says how to go on, and
    several times for others: an end of the line among the pairs would make it one of
    these.
    """
    comma, cell = _code(separator), _closed(separator)
    if place < _COUNTED:
        pattern = f"^(?:{cell}{comma}){{{place}}}({cell})(?:{comma}|$)"
        found = f"regexp_extract(line, {text(pattern)}, 1)"
    else:
        every = text(f'{comma}((?:"[^"]*(?:"|$))*{_rest(separator)})')
        found = f"regexp_extract_all(concat({text(separator)}, line), {every}, 1)[{place + 1}]"
    return f"case when cells is null then {found} end"


def _bare(place: int) -> str:
    """SQL for a cell that begins with a quote, without all its quotes; null for others."""
    written = f"{_WRITTEN}{place}"
    bare = f"case when starts_with({written}, '\"') then replace({written}, '\"', '') end"
    return f"{bare} as {_BARE}{place}"


def _open(place: int, separator: str) -> str:
    """SQL for a cell that is not closed and so goes on to the end of its line, with the
    quote that it lacks; empty where there is none.
    """
    if place >= _COUNTED:
        return "''"
    pattern = f'^(?:{_closed(separator)}{_code(separator)}){{{place}}}((?:"[^"]*")+)$'
    return f"regexp_extract(concat(line, '\"'), {text(pattern)}, 1)"


def _closed(separator: str) -> str:
    """A cell whose quotes are closed, as a pattern: pairs of quotes, then whatever is left."""
    return f'(?:"[^"]*")*{_rest(separator)}'


def _without_quotes(cell: str, separator: str) -> str:
    """SQL for what a cell of any line whatever says."""
    pattern = text(f'^(?:"((?:[^"]|"")*)"?)?({_rest(separator)})')
    within, after = (f"regexp_extract({cell}, {pattern}, {group})" for group in (1, 2))
    return f"""concat(replace({within}, '""', '"'), {after})"""


def _rest(separator: str) -> str:
    """What is left of a cell after its pairs of quotes, as a pattern."""
    comma = _code(separator)
    return f'(?:[^"{comma}][^{comma}]*)?'


def _code(separator: str) -> str:
    """The separator within a pattern."""
    return f"\\x{{{ord(separator):x}}}"


def _select_native(
    names: tuple[str, ...],
    separator: str,
    files: Sequence[str],
    asked: Mapping[str, int | None],
) -> str:
    """SQL that reads files with line breaks in their cells, by DuckDB's own reader.

    Here an open quote takes in what follows, so the caller answers for the file as a
    whole.
    """
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    shown = ", ".join(
        f"{'cast(null as varchar)' if place is None else quoted(names[place])} as {quoted(name)}"
        for name, place in asked.items()
    )
    return (
        f"select {shown or NO_COLUMN} from read_csv([{', '.join(map(text, files))}], "
        "auto_detect = false, header = true, "
        f"delim = {text(separator)}, quote = '\"', escape = '\"', comment = '', strict_mode = "
        "false, "
        "null_padding = true, ignore_errors = true, parallel = false, hive_partitioning = false, "
        f"encoding = 'utf-8', columns = {{{columns}}})"
    )
