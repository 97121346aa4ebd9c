"""Text files line by line: where a line ends does not depend on any other line.

A line ends with a line feed or a carriage return, and at the character 0 (the rest of that line is
ignored). Lines that are empty, longer than `LONGEST` bytes, or that are no text in UTF-8
are left out. A mark of the byte order at the start of the file is skipped. That is the whole rule: quotes
and braces mean nothing here, so no line can take in another one.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 2**20
"""The most bytes of a line in UTF-8."""
# DuckDB gives up a line that is longer than this; everything up to LONGEST is well within.
_BUFFER = 2 * LONGEST


def lines(files: Sequence[str], *, header: bool = False) -> str:
    """Return a SQL query for the lines of files, in a column `line`.

    files: names of files, as patterns of DuckDB.
    header: whether the first line of each file is no row.
    """
    listed = ", ".join(map(text, files))
    return (
        f"select line from read_csv([{listed}], auto_detect = false, "
        # no delimiter (which is the character 0 to DuckDB), no quotes, no comments: one column
        "delim = '', quote = '', escape = '', comment = '', new_line = '\\n', "
        f"header = {str(header).lower()}, strict_mode = false, null_padding = true, "
        f"ignore_errors = true, max_line_size = {_BUFFER}, encoding = 'utf-8', "
        "hive_partitioning = false, columns = {'line': 'VARCHAR'}) "
        f"where line is not null and strlen(line) <= {LONGEST}"
    )


def text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the name of a column or table as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def list_name(column: str) -> str:
    """What a column is called where its cells are lists of items."""
    return f"__discreet_list_{column}"
