"""Tables: files, data frames and database tables behind one lazy frame (Narwhals).

A file is read by DuckDB, in a way that no row can change how the others are read: CSV and JSON columns are all text, with a fixed
delimiter, because a type that is guessed from the data would depend on a person.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtraError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

_DATABASES = (".duckdb", ".db", ".ddb")
_COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Table:
    """A lazy frame and the names and types of its columns: public knowledge, unlike its rows."""

    frame: nw.LazyFrame[Any]
    schema: Mapping[str, nw.dtypes.DType]
    connection: duckdb.DuckDBPyConnection | None = None
    """Where files are read, if this is one."""

    def require(self, column: str, name: str, owner: str) -> str:
        """Return the column's name if the table has it."""
        if not isinstance(column, str):
            raise ParameterTypeError(owner, name, "the name of a column", column)
        if column not in self.schema:
            raise ParameterError(owner, name, "one of the columns " + ", ".join(map(repr, self.schema)), column)
        return column


def open_table(source: Any, owner: str, *, table: str | None = None, beside: Table | None = None) -> Table:
    """Make a table of a path, a glob, a data frame, a relation or a database table, without reading a row of a data frame.

    table: the name of the table in a DuckDB file.
    beside: another table that this one will be joined with.
    """
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError("Reading tables", "tables") from None
    connection, native = None, source
    if isinstance(source, (str, Path)):
        connection, native = _read_file(str(source), table, owner, beside.connection if beside is not None else None)
    try:
        frame = nw.from_native(_plain(native)).lazy()
    except TypeError:
        rule = "a path, a pandas, Polars, Arrow, DuckDB or Spark table, or an Ibis table"
        raise ParameterTypeError(owner, "table", rule, type(source).__name__) from None
    if beside is not None and frame.implementation != beside.frame.implementation:
        rule = f"on the same engine as the table, {beside.frame.implementation.name}"
        raise ParameterError(owner, "candidates", rule, frame.implementation.name)
    return Table(frame, dict(frame.collect_schema()), connection)


def _read_file(
    path: str, table: str | None, owner: str, connection: duckdb.DuckDBPyConnection | None
) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("Reading files", "tables") from None
    ending = _ending(path)
    if ending in _DATABASES and table is None:
        raise ParameterTypeError(owner, "table_name", "given for a database file", None)
    try:
        if connection is None:
            connection = duckdb.connect(path, read_only=True) if ending in _DATABASES else duckdb.connect()
        if ending in _DATABASES:
            return connection, connection.table(str(table))
        if ending in _READERS:
            return connection, _READERS[ending](connection, path)
    except duckdb.Error as error:  # no such file, no such table, not a Parquet file: the engine's text may show rows
        kind = type(error).__name__
        raise ParameterError(owner, "table", "a file that DuckDB can read", path, f"DuckDB says: {kind}.") from None
    raise ParameterError(owner, "table", "a path that ends in " + ", ".join([*_READERS, *_DATABASES]), path)


def _ending(path: str) -> str:
    name = Path(path)
    return (name.with_suffix("") if name.suffix in _COMPRESSED else name).suffix.lower()


def _read_text(connection: duckdb.DuckDBPyConnection, path: str, delimiter: str) -> duckdb.DuckDBPyRelation:
    return connection.read_csv(
        path,
        header=True,
        sep=delimiter,
        all_varchar=True,
        quotechar='"',
        escapechar='"',
        strict_mode=False,
        null_padding=True,
        ignore_errors=True,
        union_by_name=True,
        parallel=False,
    )


def _read_json(connection: duckdb.DuckDBPyConnection, path: str) -> duckdb.DuckDBPyRelation:
    """Every line an object. The columns are the keys of the first line of each file; values are text, whatever they are."""
    lines = connection.sql(
        "select json from read_json_objects($path, format = 'newline_delimited', ignore_errors = true)", params={"path": path}
    )
    first = lines.limit(1).fetchall()
    names = json.loads(first[0][0]) if first else {}
    parts = ", ".join(f"json_extract_string(json, {_text('$.' + _quoted(name))}) as {_quoted(name)}" for name in names)
    return lines.project(parts)


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


def _plain(source: Any) -> Any:
    """A pandas frame whose columns of mixed types are text: 1, 1.0 and "1" are then the same person."""
    if type(source).__module__.partition(".")[0] != "pandas" or not hasattr(source, "columns"):
        return source
    mixed = [name for name, kind in source.dtypes.items() if str(kind) == "object"]
    return source.assign(**{str(name): source[name].map(_label, na_action="ignore").astype("string") for name in mixed})


def _label(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
