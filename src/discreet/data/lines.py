"""Text files line by line: where a line ends does not depend on any other line.

A line ends with a line feed or a carriage return, and at the character 0 (the rest of that line is
ignored). Lines that are empty, longer than `LONGEST` bytes, or that are no text in the file's encoding
are left out. A mark of the byte order at the start of the file is skipped. That is the whole rule: quotes
and braces mean nothing here, so no line can take in another one.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence

LONGEST = 2**20
"""The most bytes of a line in UTF-8."""
# DuckDB gives up a line that is longer than this; everything up to LONGEST is well within.
_BUFFER = 2 * LONGEST
_ENCODINGS = {"utf-8": "utf-8", "iso8859-1": "latin-1", "cp1252": "latin-1", "utf-16": "utf-16"}
# What Windows has in the places of control characters; in the five that are left they stay.
_WINDOWS = {
    byte: bytes([byte]).decode("cp1252")
    for byte in range(0x80, 0xA0)
    if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}


def read_encoding(encoding: str) -> str | None:
    """Return Python's name of an encoding that can be read here, else nothing."""
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        return None
    name = "utf-8" if name == "ascii" else name
    return name if name in _ENCODINGS else None


def lines(files: Sequence[str], *, encoding: str = "utf-8", header: bool = False) -> str:
    """Return a SQL query for the lines of files, in a column `line`.

    files: names of files, as patterns of DuckDB.
    encoding: as `read_encoding` names it.
    header: whether the first line of each file is no row.
    """
    listed = ", ".join(map(text, files))
    line = _decoded("line") if encoding == "cp1252" else "line"
    return (
        f"select {line} as line from read_csv([{listed}], auto_detect = false, "
        # no delimiter (which is the character 0 to DuckDB), no quotes, no comments: one column
        "delim = '', quote = '', escape = '', comment = '', new_line = '\\n', "
        f"header = {str(header).lower()}, strict_mode = false, null_padding = true, "
        f"ignore_errors = true, max_line_size = {_BUFFER}, {encoding_option(encoding)}, "
        "hive_partitioning = false, columns = {'line': 'VARCHAR'}) "
        f"where line is not null and strlen(line) <= {LONGEST}"
    )


def encoding_option(encoding: str) -> str:
    """Return the option of DuckDB's reader for an encoding."""
    return f"encoding = {text(_ENCODINGS[encoding])}"


def _decoded(column: str) -> str:
    """SQL that makes of Latin-1 what Windows meant."""
    controls = ", ".join(f"chr({byte})" for byte in _WINDOWS)
    return f"translate({column}, concat({controls}), {text(''.join(_WINDOWS.values()))})"


def text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the name of a column or table as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
