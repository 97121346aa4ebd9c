"""Tables: files, data frames and database tables behind one lazy frame (Narwhals).

A file is read by DuckDB, in a way that no row can change how the others are read: CSV and JSON columns are all text, with a fixed
delimiter, because a type that is guessed from the data would depend on a person. Data frames in memory that have no lazy engine of
their own (pandas, Arrow) are read by DuckDB, too, so that nothing is computed before a question is paid for.
"""

from __future__ import annotations

import csv
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from glob import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import MissingExtraError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

_DATABASES = (".duckdb", ".db", ".ddb")
_COMPRESSED = (".gz", ".zst")
_KINDS = "a path, a pandas, Polars, Arrow, DuckDB or Spark table, or an Ibis table"
_TURN = threading.RLock()  # a DuckDB connection answers one question at a time, and two tables may share one
_SHORT = 1e15  # whole numbers below it print with all their digits, and are exact


@dataclass(frozen=True, slots=True)
class Table:
    """A lazy frame and the names and types of its columns: public knowledge, unlike its rows."""

    frame: nw.LazyFrame[Any] = field(repr=False)  # some frames show their rows
    schema: Mapping[str, nw.dtypes.DType]
    connection: duckdb.DuckDBPyConnection | None = field(default=None, repr=False)
    """Where files and data frames are read, if this is one."""
    where: nw.Expr | None = None
    """Which rows count."""
    plain: set[str] = field(default_factory=set, repr=False, compare=False)
    """Columns of text that are known to have no collation."""

    @property
    def rows(self) -> nw.LazyFrame[Any]:
        """The rows that count."""
        return self.frame if self.where is None else self.frame.filter(self.where)

    @property
    def turn(self) -> AbstractContextManager[Any]:
        """What to hold while the engine is asked."""
        return _TURN if self.frame.implementation.is_duckdb() else nullcontext()

    def require(self, column: str, name: str, owner: str) -> str:
        """Return the column's name if the table has it."""
        if not isinstance(column, str):
            raise ParameterTypeError(owner, name, "the name of a column", column)
        if column not in self.schema:
            raise ParameterError(owner, name, "one of the columns " + ", ".join(map(repr, self.schema)), column)
        return column


def open_table(source: Any, owner: str, *, table: str | None = None, beside: Table | None = None) -> Table:
    """Make a table of a path, a glob, a data frame, a relation or a database table.

    table: the name of the table in a DuckDB file.
    beside: another table that this one will be joined with.
    """
    if find_spec("narwhals") is None:
        raise MissingExtraError("Reading tables", "tables")
    with _TURN:
        return _open(source, owner, table, beside)


def _open(source: Any, owner: str, table: str | None, beside: Table | None) -> Table:
    import narwhals as nw

    connection, native = beside.connection if beside is not None else None, source
    if isinstance(source, (str, Path)):
        connection, native = _read_file(str(source), table, owner, connection)
    elif table is not None:
        raise ParameterError(owner, "table_name", "left out where the table is not a database file", table)
    try:
        frame = nw.from_native(native)
    except (TypeError, ValueError):  # not a table at all, or one with two columns of the same name
        raise ParameterTypeError(owner, "table", _KINDS, type(source).__name__) from None
    if isinstance(frame, nw.DataFrame) and not frame.implementation.is_polars():
        connection = connection or _connect("Reading data frames")
        frame = nw.from_native(_as_relation(frame, connection, owner))
    lazy = frame.lazy()
    if not lazy.implementation.is_polars() and find_spec("pyarrow") is None:
        raise MissingExtraError("Reading tables", "tables")
    if beside is not None and lazy.implementation != beside.frame.implementation:
        rule = f"on the same engine as the table, {beside.frame.implementation.name}"
        raise ParameterError(owner, "candidates", rule, lazy.implementation.name)
    return Table(lazy, dict(lazy.collect_schema()), connection)


def _connect(purpose: str, *arguments: Any, **options: Any) -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(purpose, "tables") from None
    return duckdb.connect(*arguments, **options)


def _read_file(
    path: str, table: str | None, owner: str, connection: duckdb.DuckDBPyConnection | None
) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation]:
    ending = _ending(path)
    if ending not in _DATABASES and ending not in _READERS:
        raise ParameterError(owner, "table", "a path that ends in " + ", ".join([*_READERS, *_DATABASES]), path)
    if ending in _DATABASES and table is None:
        raise ParameterTypeError(owner, "table_name", "given for a database file", None)
    if ending not in _DATABASES and table is not None:
        raise ParameterError(owner, "table_name", "left out where the table is not a database file", table)
    try:
        if ending in _DATABASES:
            connection = _connect("Reading files", path, read_only=True)
            return connection, connection.table(str(table))
        connection = connection or _connect("Reading files")
        # what exists under this very name is a file, even if the name looks like a pattern
        return connection, _READERS[ending](connection, escape(path) if Path(path).exists() else path)
    except MissingExtraError:
        raise
    except Exception as error:  # no such file, no such table, not a Parquet file: the engine's text may show rows
        kind = type(error).__name__
    raise ParameterError(owner, "table", "a file that DuckDB can read", path, f"DuckDB says: {kind}.")


def _ending(path: str) -> str:
    name = Path(path)
    return (name.with_suffix("") if name.suffix in _COMPRESSED else name).suffix.lower()


def _read_text(connection: duckdb.DuckDBPyConnection, path: str, delimiter: str) -> duckdb.DuckDBPyRelation:
    """Columns by the header of each file, all of them text.

    Nothing is guessed: DuckDB's sniffer looks at rows, and a single long one would decide how the others are read.
    """
    files: dict[tuple[str, ...], list[str]] = {}
    for (file,) in connection.execute("select file from glob($path) order by file", {"path": path}).fetchall():
        files.setdefault(_header(connection, escape(file), delimiter), []).append(escape(file))
    if not files:
        raise FileNotFoundError(path)
    parts = [_select(header, group, delimiter) for header, group in files.items()]
    return connection.sql(" union all by name ".join(parts))


def _select(header: tuple[str, ...], files: list[str], delimiter: str) -> str:
    """SQL that reads files with the same header."""
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
    return (
        f"select * from read_csv([{', '.join(map(_text, files))}], auto_detect = false, header = true, delim = {_text(delimiter)}, "
        "quote = '\"', escape = '\"', strict_mode = false, null_padding = true, ignore_errors = true, parallel = false, "
        f"columns = {{{columns}}})"
    )


def _header(connection: duckdb.DuckDBPyConnection, file: str, delimiter: str) -> tuple[str, ...]:
    """The names in the first line of a file."""
    lines = connection.execute(
        "select line from read_csv($file, auto_detect = false, header = false, delim = '\x01', quote = '', escape = '', "
        "strict_mode = false, null_padding = true, ignore_errors = true, columns = {'line': 'VARCHAR'}) limit 1",
        {"file": file},
    ).fetchall()
    first = (lines[0][0] or "").removeprefix("\ufeff") if lines else ""
    names = next(csv.reader([first], delimiter=delimiter))
    if not names or len(set(names)) != len(names):
        raise ValueError("no header, or one with a name twice")
    return tuple(names)


def _read_json(connection: duckdb.DuckDBPyConnection, path: str) -> duckdb.DuckDBPyRelation:
    """Every line an object. The columns are the keys of the first one; values are text, whatever they are."""
    options = "format = 'newline_delimited', ignore_errors = true"
    # the path is in the text, because two tables with parameters of the same name cannot be joined
    lines = connection.sql(f"select json from read_json_objects({_text(path)}, {options})")
    first = lines.filter("json_type(json) = 'OBJECT'").limit(1).project("json_keys(json)").fetchall()
    return lines.project(", ".join(f"{_json_text(name)} as {_quoted(name)}" for name in first[0][0]))


def _json_text(name: str) -> str:
    """The value of a key as text, in SQL. 1.0 is the same person as 1 and "1"."""
    place = _text("/" + name.replace("~", "~0").replace("/", "~1"))
    text = f"json_extract_string(json, {place})"
    number = f"try_cast({text} as double)"
    whole = f"json_type(json, {place}) = 'DOUBLE' and {number} = trunc({number}) and abs({number}) < {_SHORT:.0f}"
    return f"case when {whole} then cast(cast({number} as bigint) as varchar) else {text} end"


_READERS: dict[str, Callable[[duckdb.DuckDBPyConnection, str], duckdb.DuckDBPyRelation]] = {
    ".parquet": lambda connection, path: connection.read_parquet(path),
    ".csv": lambda connection, path: _read_text(connection, path, ","),
    ".tsv": lambda connection, path: _read_text(connection, path, "\t"),
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _as_relation(frame: nw.DataFrame[Any], connection: duckdb.DuckDBPyConnection, owner: str) -> duckdb.DuckDBPyRelation:
    """A data frame in memory as DuckDB sees it."""
    if find_spec("pyarrow") is None:
        raise MissingExtraError("Reading data frames", "tables")
    try:
        return connection.from_arrow((_plain(frame) if frame.implementation.is_pandas() else frame).to_arrow())
    except Exception:  # a type of column that Arrow or DuckDB does not know; the message may show values
        pass
    raise ParameterTypeError(
        owner, "table", "made of columns that Arrow and DuckDB can hold", type(frame.to_native()).__name__
    )


def _plain(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """A pandas frame whose columns of mixed types are text: 1, 1.0 and "1" are then the same person."""
    import narwhals as nw

    plain = frame.to_native().rename(columns=str).reset_index(drop=True)
    mixed = [name for name, kind in plain.dtypes.items() if _is_mixed(kind)]
    texts = {name: plain[name].astype(object).map(_label, na_action="ignore").astype("string") for name in mixed}
    return nw.from_native(plain.assign(**texts), eager_only=True)


def _is_mixed(kind: Any) -> bool:
    """Whether a column of this type can hold any Python object, or any Python text."""
    within = kind.categories.dtype if str(kind) == "category" else kind
    return str(within) == "object" or getattr(within, "storage", None) == "python"


def _label(value: Any) -> str | None:
    """What an object is as text; nothing where there is no such text."""
    try:
        fractional = isinstance(value, (float, np.floating, Decimal))
        if fractional and abs(value) < _SHORT and value == int(value):
            return str(int(value))
        text = str(value)
        text.encode()  # half of a surrogate pair is no text to any engine
    except Exception:
        return None
    return text
