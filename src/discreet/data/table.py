"""Tables: files, data frames and database tables behind one lazy frame (Narwhals).

A file is read by DuckDB, in a way that no row can change how the others are read: CSV and JSON columns are all text, with a fixed
delimiter, because a type that is guessed from the data would depend on a person.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtraError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson", ".json")
_DATABASES = (".duckdb", ".db", ".ddb")
_COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Table:
    """A lazy frame and the names and types of its columns: public knowledge, unlike its rows."""

    frame: nw.LazyFrame[Any]
    schema: Mapping[str, nw.dtypes.DType]

    def require(self, column: str, name: str, owner: str) -> str:
        """Return the column's name if the table has it."""
        if not isinstance(column, str):
            raise ParameterTypeError(owner, name, "the name of a column", column)
        if column not in self.schema:
            raise ParameterError(owner, name, "one of the columns " + ", ".join(map(repr, self.schema)), column)
        return column


def open_table(source: Any, owner: str, *, table: str | None = None) -> Table:
    """Make a table of a path, a glob, a data frame, a relation or a database table, without reading a row of a data frame.

    table: the name of the table in a DuckDB file.
    """
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError("Reading tables", "tables") from None
    native = _read_file(str(source), table, owner) if isinstance(source, (str, Path)) else _plain(source)
    try:
        frame = nw.from_native(native).lazy()
    except TypeError:
        rule = "a path, a pandas, Polars, Arrow, DuckDB or Spark table, or an Ibis table"
        raise ParameterTypeError(owner, "table", rule, type(source).__name__) from None
    return Table(frame, dict(frame.collect_schema()))


def _read_file(path: str, table: str | None, owner: str) -> duckdb.DuckDBPyRelation:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("Reading files", "tables") from None
    ending = _ending(path)
    try:
        if ending in _DATABASES:
            if table is None:
                raise ParameterTypeError(owner, "table_name", "given for a database file", None)
            return duckdb.connect(path, read_only=True).table(table)
        connection = duckdb.connect()
        if ending == ".parquet":
            return connection.read_parquet(path)
        if ending in _DELIMITERS:
            return _read_text(connection, path, _DELIMITERS[ending])
        if ending in _JSON_LINES:
            return _read_json(connection, path)
    except duckdb.Error as error:  # no such file, no such table, not a Parquet file: the engine's text may show rows
        kind = type(error).__name__
        raise ParameterError(owner, "table", "a file that DuckDB can read", path, f"DuckDB says: {kind}.") from None
    rule = "a path that ends in .parquet, .csv, .tsv, .jsonl, .ndjson, .json or .duckdb"
    raise ParameterError(owner, "table", rule, path)


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
