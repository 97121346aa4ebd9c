"""Files as tables: which reader a path has, what a caller can say about a CSV file, and
what is no file.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from discreet.errors import ParameterError, ParameterTypeError, public_class
from discreet.tables.delimited import Format
from discreet.tables.lines import (
    ENCODINGS,
    quoted,
    read_encoding,
    text,
)

if TYPE_CHECKING:
    import duckdb


DATABASES = (".duckdb", ".db", ".ddb")
"""How the names of DuckDB files end."""
DELIMITED = (".csv", ".tsv")
LINES = (".jsonl", ".ndjson")
SQLITE = (".sqlite", ".sqlite3", ".db3")
"""How the names of SQLite files end, which are refused with a way that works."""
OF_SQLITE = "It is an SQLite file"
"""How a hint about one begins."""
SHEETS = (".xlsx", ".xls", ".ods")
"""How the names of spreadsheets end, which are refused."""
DECIMALS = (".", ",")
"""What can be between the whole part of a number and the rest."""
ENDINGS = (".parquet", *DELIMITED, *LINES)
"""How the names of the other files end, before that of a compressed one."""
_COMPRESSED = (".gz", ".zst")
_URL = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*):/?/")
_NETWORK = "Download it first: discreet reads only local files."
_SERVER = "For a table in a database, pass an Ibis table: ibis.connect(url).table(name)."


class ColumnsError(ValueError):
    """Files of one pattern are not one table. The text says why, and shows no column."""


class NoTableError(LookupError):
    """A DuckDB file has no table or view of this name."""


@public_class
@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file, or many by a pattern, and how it is written. Takes the place of a path.

    path: the file; a pattern such as "day-*.csv"; compressed if it ends in .gz or .zst.
    separator: one character between the cells. Left out, it is a tab in a .tsv file,
        else what the header line has most often outside quotes: a comma, a semicolon, a
        tab or a bar.
    encoding: "utf-8", "latin-1", "cp1252" or "utf-16".
    quoted: whether quotes stand around cells. If not, a quote is a character like
        others, which is quicker to read.
    decimal: what is between the whole part of a number and the rest, "." or ",". All cells
        are text, so a question about numbers is refused until this is said. Cells that are
        not numbers count as empty: with a comma that is "1.5" and "1.234,5", too.
    multiline: whether a cell in quotes may have line breaks.

    Privacy: each line is read by itself, so a row can do nothing to others, whatever is
        in it. With `multiline=True`, and in UTF-16, that is not so: a quote that is not
        closed, or half a character, changes how the rest of the file is read. Then it
        is your word that the file is well written.

    >>> file = CsvFile("votes.csv", separator=";", encoding="latin-1", decimal=",")
    >>> file.separator, file.encoding, file.decimal
    (';', 'latin-1', ',')
    """

    path: str | Path
    separator: str | None = None
    encoding: str = "utf-8"
    multiline: bool = False
    quoted: bool = True
    decimal: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)):
            raise ParameterTypeError("path", "a path", type(self.path).__name__)
        if self.separator is not None and not _is_separator(self.separator):
            rule = "one character, but no quote, line break or null character"
            raise ParameterError("separator", rule, self.separator)
        if read_encoding(self.encoding) is None:
            raise ParameterError("encoding", f"one of {', '.join(ENCODINGS)}", self.encoding)
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise ParameterError("decimal", 'a point "." or a comma ","', self.decimal)
        for name in ("multiline", "quoted"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterTypeError(name, "True or False", getattr(self, name))
        if self.multiline and not self.quoted:
            raise ParameterError("multiline", "False where quoted is False", True)

    @property
    def form(self) -> Format:
        """How the cells of this file are written."""
        tabs = self.separator is None and ending_of(str(self.path)) == ".tsv"
        separator = "\t" if tabs else self.separator
        encoding = read_encoding(self.encoding) or "utf-8"
        return Format(separator, encoding, self.multiline, self.quoted, self.decimal or ".")


@public_class
@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file of JSON lines, or many by a pattern, and its columns. Takes the place of a path.

    path: the file; a pattern such as "day-*.jsonl"; compressed if it ends in .gz or .zst.
    columns: the keys that are columns, public. Without them every name is a column, which
        is empty where a line has no such key: a misspelt one is charged for.

    Privacy: the columns are what you say they are. No line is looked at for them.

    >>> JsonFile("votes.jsonl", columns=["who", "item"]).columns
    ('who', 'item')
    """

    path: str | Path
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)):
            raise ParameterTypeError("path", "a path", type(self.path).__name__)
        if self.columns is None:
            return
        listed = isinstance(self.columns, (list, tuple))
        if not listed or not all(isinstance(name, str) and name for name in self.columns):
            got = type(self.columns).__name__
            raise ParameterTypeError("columns", "a list of names", got)
        if not self.columns or len(set(map(str.lower, self.columns))) < len(self.columns):
            rule = "at least one name, all different by more than upper and lower case"
            raise ParameterError("columns", rule, list(self.columns))
        object.__setattr__(self, "columns", tuple(self.columns))


def _is_separator(separator: Any) -> bool:
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n\0\ufeff':
        return False
    # half of a surrogate pair is no character
    return not 0xD800 <= ord(separator) < 0xE000


def ending_of(path: str) -> str:
    """Return what says the format: the ending of a name, before that of a compressed file.

    >>> ending_of("votes.csv"), ending_of("Votes.JSONL"), ending_of("votes.csv.gz")
    ('.csv', '.jsonl', '.csv')
    """
    name = Path(path)
    return (name.with_suffix("") if name.suffix.lower() in _COMPRESSED else name).suffix.lower()


def is_sqlite(path: str) -> bool:
    """True if a file begins as all SQLite files do, with or without rows."""
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def require_local(path: str) -> None:
    """Refuse a URL. DuckDB would look for an extension that downloads, and a URL may
    have a password.
    """
    found = _URL.match(path)
    if found:
        scheme = found[1].lower()
        hint = (
            _SERVER
            if scheme in ("postgresql", "postgres", "mysql", "bigquery", "snowflake")
            else _NETWORK
        )
        raise ParameterError("table", "a path on this machine", f"{scheme}://...", hint)


def from_anywhere(source: Any) -> Any:
    """Make a path, pattern or described file that opens from any folder; anything else
    as it is.
    """
    if isinstance(source, (CsvFile, JsonFile)):
        return replace(source, path=from_anywhere(source.path))
    # DuckDB knows whose home a tilde is
    if not isinstance(source, (str, Path)) or str(source).startswith("~"):
        return source
    # of a pattern, only what the caller wrote is one
    if os.path.exists(source):
        return os.path.abspath(source)
    return os.path.join(escape(os.getcwd()), source)


def found_files(connection: duckdb.DuckDBPyConnection, path: str) -> list[str]:
    """Return the files that a path or pattern names, in order; at least one.

    Their names are whole: DuckDB looks a name up anew for each question, and the folder
    that this process works in may be another one by then.
    """
    # what exists under this very name is a file, even if the name looks like a pattern
    if os.path.exists(path):
        if os.path.isdir(path):
            raise IsADirectoryError
        _states_of([path])
        return [os.path.abspath(path)]
    query = "select file from glob($path) order by file"
    found = connection.execute(query, {"path": path}).fetchall()
    files = [os.path.abspath(file) for (file,) in found]
    if not files:
        raise FileNotFoundError
    _states_of(files)
    return files


def watch_columns(files: Sequence[str], read: Callable[[], Any]) -> Callable[[], bool]:
    """Return a function that says whether files still have the columns that they have now.

    read: reads the columns. It is called again only if a file is another one, or was written.
    """
    states, columns = _states_of(files), read()

    def is_unchanged() -> bool:
        nonlocal states
        now = _states_of(files)
        if now != states:
            if read() != columns:
                return False
            states = now
        return True

    return is_unchanged


def _states_of(files: Sequence[str]) -> list[tuple[int, ...]]:
    """What changes if a file is replaced or written. Anything that is no file, such as a pipe
    that would block whoever opens it, is refused.
    """
    found = [os.stat(file) for file in files]
    if not all(stat.S_ISREG(each.st_mode) for each in found):
        raise ColumnsError("Tables are read from plain files, not from pipes or devices.")
    return [
        (each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns)
        for each in found
    ]


def read_parquet(
    connection: duckdb.DuckDBPyConnection, found: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    """Return the rows of Parquet files. Bytes that are no text count as question marks. What a
    folder is named after, as in `person=1`, is text.
    """
    _require_text_names(found)
    files = [text(escape(file)) for file in found]
    rows = _parquet_rows(connection, files)
    if len(files) > 1:
        columns = _types_of(rows)
        for file in files:
            # DuckDB would cast the cells of a file to what the first one has, and fail on some row.
            if not columns.items() <= _types_of(_parquet_rows(connection, [file])).items():
                raise ColumnsError(
                    "All files must have the same columns, with the same types, as the first one."
                )
    return rows


def _require_text_names(files: Sequence[str]) -> None:
    """Refuse folders such as `person=%FF`: DuckDB decodes what they are named after, and fails
    where that is no text, in each question.
    """
    for part in {part for file in files for part in Path(file).parent.parts if "=" in part}:
        try:
            unquote_to_bytes(part.partition("=")[2]).decode()
        except UnicodeError:
            raise ColumnsError("Values in folder names must be text.") from None


def _parquet_rows(
    connection: duckdb.DuckDBPyConnection, files: list[str]
) -> duckdb.DuckDBPyRelation:
    # A type that is guessed from the names of all folders would depend on a person.
    options = "utf8_validation = 'replace', hive_types_autocast = false"
    return connection.sql(f"select * from read_parquet([{', '.join(files)}], {options})")


def _types_of(rows: duckdb.DuckDBPyRelation) -> dict[str, str]:
    """The types of columns by their names, whose capitals mean nothing to DuckDB."""
    return dict(zip(map(str.lower, rows.columns), map(str, rows.types), strict=True))


def read_database(connection: duckdb.DuckDBPyConnection, name: str) -> duckdb.DuckDBPyRelation:
    """Return a table or view of a DuckDB file, by its name or by schema and name.
    Nothing else is one.
    """
    known = connection.execute(
        "select schema_name, table_name from duckdb_tables() where not internal "
        "and database_name = current_database() union all "
        "select schema_name, view_name from duckdb_views() where not internal "
        "and database_name = current_database()"
    ).fetchall()
    named = {
        table if schema == "main" else f"{schema}.{table}": (schema, table)
        for schema, table in known
    }
    alike = [each for each in named if each.lower() == name.lower()]
    if name not in named and len(alike) != 1:
        raise NoTableError
    schema, table = named.get(name) or named[alike[0]]
    return connection.sql(f"from {quoted(schema)}.{quoted(table)}")
