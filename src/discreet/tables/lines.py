"""Text files line by line: where a line ends does not depend on any other line.

A line ends with a line feed or a carriage return, and at the character 0 (the rest of
that line is ignored). Lines that are empty or longer than `LONGEST` bytes are left out. A
mark of the byte order at the start of the file is skipped. That is the whole rule: quotes
and braces mean nothing here, so no line can take in another one.

A byte that is nothing in the encoding becomes U+FFFD, a letter like others; only as a
person it is nobody. In UTF-8 a byte below 0x80 is always itself, whatever stands before
it, so what becomes U+FFFD never ends at another place than its line or its cell does.

DuckDB reads UTF-8 only: it leaves out lines with other bytes, refuses a file in Latin-1 for
a single byte between 0x80 and 0x9F, after the charge, and needs an extension for most
encodings. So other files are copied once, into the folder of this process that nobody else
can enter: those in another encoding when they are opened, and those in UTF-8 with other
bytes by the first question that is paid for.
"""

from __future__ import annotations

import codecs
import os
import secrets
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.platforms import BINARY
from discreet.tables.duckdb_connection import spill_folder

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


NO_COLUMN = "true as discreet_row"
"""What SQL selects where a question is about no column: rows can be counted nevertheless."""

ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
_KNOWN = {codecs.lookup(name).name for name in ENCODINGS}
_CHUNK = 2**22
NO_TEXT = "\ufffd"
"""What stands for bytes that are no text."""


def read_encoding(encoding: str) -> str | None:
    """Return Python's name of an encoding that can be read here, else nothing."""
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        return None
    return name if name in _KNOWN else None


def opened_bytes(file: str) -> Any:
    """Return a stream of the bytes of a file, without its compression."""
    endings = {".gz": "gzip", ".zst": "zstd"}
    kind = next((kind for ending, kind in endings.items() if file.lower().endswith(ending)), None)
    if kind is None:
        # to load PyArrow takes longer than most questions
        return open(file, "rb")
    return import_module("pyarrow").input_stream(file, compression=kind)


def in_utf_8(file: str, encoding: str) -> str:
    """Return the name of a file with the same text in UTF-8: of the file itself, if it is said
    to be that.
    """
    if encoding == "utf-8":
        return file
    return _copied(os.path.abspath(file), encoding, os.getpid(), _state(file))


def mended(file: str) -> str:
    """Return the name of a file in which other bytes than UTF-8 are U+FFFD: of the file itself,
    if there are none. All of it is read, so only a question that is paid for may ask.
    """
    state = _state(file)
    if _is_utf_8(file, state):
        return file
    return _copied(os.path.abspath(file), "utf-8", os.getpid(), state)


def _state(file: str) -> tuple[int, ...]:
    """What changes if a file is replaced or written."""
    state = os.stat(file)
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@lru_cache(maxsize=1000)
def _is_utf_8(file: str, state: tuple[int, ...]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened_bytes(file) as stream:
        try:
            while chunk := stream.read(_CHUNK):
                decoder.decode(bytes(chunk))
            decoder.decode(b"", True)
        except UnicodeDecodeError:
            return False
    return True


@cache
def _copied(file: str, encoding: str, process: int, state: tuple[int, ...]) -> str:
    """Copy a file as it is now; a file that has changed is copied again."""
    # another thread may copy the same file
    copy = Path(spill_folder(process)) / f"text-{secrets.token_hex(8)}.csv"
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    with opened_bytes(file) as stream, open(descriptor, "wb") as target:
        while chunk := stream.read(_CHUNK):
            target.write(decoder.decode(bytes(chunk)).encode("utf-8", "replace"))
        target.write(decoder.decode(b"", True).encode("utf-8", "replace"))
    return str(copy)
