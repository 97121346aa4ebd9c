"""Opening: a table of a path, a data frame, a relation or a database table.

A file is read by DuckDB, in a way that no row can change how the others are read: see
`delimited` and `json_lines`. Columns of CSV and JSON are all text, because a type that
is guessed from the data would depend on a person. Data frames in memory (pandas, Polars,
Arrow) are read by DuckDB, too (`data_frames`), which computes nothing before a question
is paid for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from glob import escape, glob
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    MissingExtraError,
    OutdatedLibraryError,
    ParameterError,
    ParameterTypeError,
)
from discreet.tables.data_frames import (
    as_relation,
    mixed_columns,
    unread_columns,
    without_rows,
)
from discreet.tables.delimited import (
    HeaderError,
    Headers,
    columns_of,
    read_delimited,
    read_headers,
    with_mended_files,
)
from discreet.tables.duckdb_connection import connect, empty_caches_at_exit
from discreet.tables.engine import Plans
from discreet.tables.files import (
    DATABASES,
    DELIMITED,
    ENDINGS,
    LINES,
    OF_SQLITE,
    SHEETS,
    SQLITE,
    ColumnsError,
    CsvFile,
    JsonFile,
    NoTableError,
    ending_of,
    found_files,
    is_sqlite,
    read_database,
    read_parquet,
    require_local,
    watch_columns,
)
from discreet.tables.json_lines import EveryColumn, read_objects
from discreet.tables.lines import mended
from discreet.tables.postgresql_rows import is_postgresql, read_kinds
from discreet.tables.table import TURN, EveryName, Table, as_frame, require_foreign
from discreet.tables.valid_cells import castable_relation, far_columns, with_valid_cells
from discreet.versions import require, require_makers

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

_LAZY = ("DUCKDB", "PYSPARK", "PYSPARK_CONNECT", "IBIS")
_COLUMNS = "Pass a query that renames, casts or leaves out the other columns."
_KINDS = "a path, a CsvFile, a pandas, Polars, Arrow, DuckDB or Spark table, or an Ibis table"


def open_table(source: Any, *, table: str | None = None, beside: Table | None = None) -> Table:
    """Make a table of a path, a glob, a CsvFile, a data frame, a relation or a database table.

    table: the name of the table in a DuckDB file.
    beside: another table that this one will be joined with.
    """
    if find_spec("narwhals") is None:
        raise MissingExtraError("Reading tables", "tables")
    require("narwhals")
    empty_caches_at_exit()
    if _is_foreign(source):
        with TURN:
            return _open(source, table, beside)
    # anything else gets a connection of its own, or that of the table that it is joined with
    with nullcontext() if beside is None else beside.turn:
        opened = _open(source, table, beside)
    if beside is not None:
        return replace(opened, lock=beside.lock, plans=beside.plans)
    if opened.connection is None:
        return opened
    return replace(opened, lock=threading.RLock(), plans=Plans(opened.connection))


def _is_foreign(source: Any) -> bool:
    """True if this is a relation of DuckDB, on a connection that is not ours."""
    import narwhals as nw

    native = nw.to_native(source, pass_through=True)
    return type(native).__module__.partition(".")[0] in ("duckdb", "_duckdb")


def _open(source: Any, table: str | None, beside: Table | None) -> Table:
    if isinstance(source, (str, Path, CsvFile, JsonFile)):
        opened = _open_file(source, table, beside)
    elif table is not None:
        rule = "left out if the table is not a database file"
        raise ParameterError("table_name", rule, table)
    else:
        opened = _open_frame(source, beside)
    lazy = opened.frame
    require_foreign(opened.schema, "table")
    if find_spec("pyarrow") is None:
        raise MissingExtraError("Reading tables", "tables")
    # to load it takes longer than most questions, and those of plain columns need none of it
    require("pyarrow", load=False)
    if beside is not None and lazy.implementation != beside.frame.implementation:
        rule = f"on the same engine as the table, {beside.frame.implementation.name}"
        raise ParameterError("candidates", rule, lazy.implementation.name)
    return opened


def _open_frame(source: Any, beside: Table | None) -> Table:
    """A data frame, a relation or a database table."""
    import narwhals as nw

    # Before Narwhals looks at it, which takes a table of a very old library for something else.
    require_makers(nw.to_native(source, pass_through=True))
    connection = beside.connection if beside is not None else None
    try:
        frame = nw.from_native(source)
    except (TypeError, ValueError):
        # not a table at all, or one with two columns of the same name
        hint = _frame_hint(source)
        raise ParameterTypeError("table", _KINDS, type(source).__name__, hint) from None
    if isinstance(frame, nw.DataFrame) or frame.implementation.is_polars():
        connection = connection or connect("Reading data frames")
        read = _of_polars if frame.implementation.is_polars() else _of_frame
        return read(frame, connection)
    if frame.implementation.name not in _LAZY:
        # Narwhals knows more engines than were ever shown hostile rows
        raise ParameterTypeError("table", _KINDS, type(source).__name__)
    try:
        lazy = with_valid_cells(frame.lazy())
        schema = dict(lazy.collect_schema())
        native = lazy.to_native()
        if lazy.implementation.is_ibis() and is_postgresql(native):
            schema = read_kinds(native, schema)
        far = far_columns(native) if lazy.implementation.is_duckdb() else frozenset()
        return Table(lazy, schema, connection, unread=far)
    except ParameterError:
        raise
    except Exception:
        # names that Spark cannot tell apart, or a type that Narwhals cannot name
        rule = "made of columns with different names and known types"
        raise ParameterTypeError("table", rule, type(source).__name__, _COLUMNS) from None


def _frame_hint(source: Any) -> str:
    """What to do about something that is no table."""
    if _has_twins(source):
        return "Two of its columns have the same name: rename one."
    if type(source).__module__.partition(".")[0] == "pyarrow":
        return (
            "Make a table of it with .to_table(), or name its files by a pattern: "
            "'reads/*.parquet'."
        )
    if isinstance(source, (dict, list, tuple)) or type(source).__name__ in ("ndarray", "Series"):
        return "Make a data frame of it first: pandas.DataFrame(...)."
    return ""


def _has_twins(source: Any) -> bool:
    """True if this is a pandas frame with two columns of the same name."""
    names = getattr(source, "columns", None)
    return getattr(names, "is_unique", None) is False


def _of_frame(frame: nw.DataFrame[Any], connection: duckdb.DuckDBPyConnection) -> Table:
    """A data frame in memory, as DuckDB sees it."""
    import narwhals as nw

    mixed: frozenset[str] = frozenset()
    index: frozenset[str] = frozenset()
    if frame.implementation.is_pandas():
        # Lists are made of it later, and must be those of today.
        frame = nw.from_native(frame.to_native().copy(), eager_only=True)
        mixed = mixed_columns(frame)
        index = frozenset(name for name in frame.to_native().index.names if isinstance(name, str))

    @cache
    def loader(lists: frozenset[str]) -> nw.LazyFrame[Any]:
        return as_frame(as_relation(frame, connection, lists))

    opened = _of_relation(loader(frozenset()).to_native(), connection)
    # Arrow knows no collations
    return replace(opened, plain=EveryName(), mixed=mixed, index=index, loader=loader)


def _of_polars(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any],
    connection: duckdb.DuckDBPyConnection,
) -> Table:
    """A frame of Polars. A lazy one may fail because of a row, so the first question that
    is paid for collects it.
    """
    import narwhals as nw

    known = frame.collect_schema()
    empty = without_rows(frame)
    unread = unread_columns(empty, connection)
    if unread:
        read = [nw.nth(place) for place, name in enumerate(known) if name not in unread]
        frame, empty = frame.select(*read), empty.select(*read)

    @cache
    def loader(lists: frozenset[str]) -> nw.LazyFrame[Any]:
        rows = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        if rows.schema != empty.schema:
            raise TypeError("not the columns that were stated")
        return as_frame(as_relation(rows, connection))

    opened = _of_relation(as_relation(empty, connection), connection)
    schema = {**known, **opened.schema}
    return replace(opened, schema=schema, plain=EveryName(), loader=loader, unread=unread)


def _open_file(
    source: str | Path | CsvFile | JsonFile, name: str | None, beside: Table | None
) -> Table:
    """A file, or many by a pattern."""
    described = source if isinstance(source, (CsvFile, JsonFile)) else None
    path = str(source if described is None else described.path)
    require_local(path)
    ending = ending_of(path)
    if described is not None:
        ending = DELIMITED[0] if isinstance(described, CsvFile) else LINES[0]
    if ending not in (*ENDINGS, *DATABASES):
        rule = "a path that ends in " + ", ".join((*ENDINGS, *DATABASES))
        raise ParameterError("table", rule, path, _ending_hint(path, ending))
    if ending in DATABASES and is_sqlite(path):
        raise ParameterError("table", "a file that DuckDB can read", path, _SQLITE)
    if ending in DATABASES and name is None:
        raise ParameterTypeError("table_name", "given for a database file", None)
    if ending not in DATABASES and name is not None:
        rule = "left out if the table is not a database file"
        raise ParameterError("table_name", rule, name)
    try:
        return _read(path if described is None else described, ending, name, beside)
    except (MissingExtraError, OutdatedLibraryError):
        raise
    except NoTableError:
        rule = "a table or view of the database file"
        raise ParameterError("table_name", rule, name) from None
    except (HeaderError, ColumnsError) as error:
        # which says nothing of what is in the line
        hint = str(error)
    except (
        Exception
        # no such file, no such table, not a Parquet file: the text may show rows
    ) as error:
        hint = _reading_hint(path, error)
    raise ParameterError("table", "a file that DuckDB can read", path, hint)


_SQLITE = (
    f"{OF_SQLITE}, whose columns can hold any type in any row. Pass a data frame "
    "instead: pandas.read_sql_query(query, sqlite3.connect(path))."
)
_FOLDER = "It is a folder. Name its files by a pattern, such as 'reads/*.parquet'."


def _ending_hint(path: str, ending: str) -> str:
    """What to do about a name that does not say which kind of file it is."""
    if os.path.isdir(path):
        return _FOLDER
    if ending == ".json":
        return (
            "If each line is one object, rename the file to .jsonl. Otherwise convert it to a "
            "table first."
        )
    if ending in SQLITE:
        return _SQLITE
    if ending in SHEETS:
        return "Save the sheet as CSV first, or pass it as a data frame."
    return "For a CSV file with another name, pass CsvFile(path)."


def _reading_hint(path: str, error: Exception) -> str:
    """Why a file could not be opened, without the engine's text, which may show rows."""
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        return _FOLDER
    if not os.path.exists(path) and not glob(path, recursive=True):
        return "There is no such file."
    if is_sqlite(path):
        return _SQLITE
    return f"DuckDB says: {type(error).__name__}."


def _read(
    source: str | CsvFile | JsonFile, ending: str, name: str | None, beside: Table | None
) -> Table:
    shared = beside.connection if beside is not None else None
    if ending in DATABASES:
        # a view may read other files by their names: not here
        alone = connect(
            "Reading files", str(source), read_only=True, enable_external_access="false"
        )
        return _of_relation(castable_relation(read_database(alone, str(name))), alone)
    closed = shared is not None and not _reads_files(shared)
    connection = connect("Reading files") if shared is None or closed else shared
    if ending in LINES:
        lines = source if isinstance(source, JsonFile) else JsonFile(str(source))
        files = found_files(connection, str(lines.path))
        return _of_lines(files, lines.columns, connection, shared or connection)
    if isinstance(source, CsvFile) or ending in DELIMITED:
        file = source if isinstance(source, CsvFile) else CsvFile(str(source))
        return _of_delimited(file, connection, shared or connection)
    files = found_files(connection, str(source))

    def columns() -> list[tuple[str, str]]:
        rows = read_parquet(connection, files)
        return list(zip(rows.columns, map(str, rows.types), strict=True))

    opened = _of_relation(castable_relation(read_parquet(connection, files)), connection)
    # Parquet knows no collations
    opened = replace(opened, plain=EveryName())
    if shared is None or not closed:
        return replace(opened, is_unchanged=watch_columns(files, columns))
    return replace(opened, frame=_moved(opened.frame, shared), connection=shared)


def _reads_files(connection: duckdb.DuckDBPyConnection) -> bool:
    query = "select current_setting('enable_external_access')"
    return bool(connection.execute(query).fetchall()[0][0])


def _moved(rows: nw.LazyFrame[Any], connection: duckdb.DuckDBPyConnection) -> nw.LazyFrame[Any]:
    """Copy the rows into memory, for a connection that may not read files. Only public
    tables come here.
    """
    return as_frame(connection.from_arrow(rows.collect("pyarrow").to_native()))


def _of_relation(relation: duckdb.DuckDBPyRelation, connection: duckdb.DuckDBPyConnection) -> Table:
    frame = as_frame(relation)
    return Table(frame, dict(frame.collect_schema()), connection)


def _of_delimited(
    file: CsvFile, connection: duckdb.DuckDBPyConnection, home: duckdb.DuckDBPyConnection
) -> Table:
    """A CSV file, or many by a pattern, of which a question reads its own columns.

    home: the connection that they will be joined on, which may not be allowed to read
        files itself.
    """
    import narwhals as nw

    files = found_files(connection, str(file.path))
    headers = read_headers(files, file.form)

    def read_from(headers: Headers, columns: Sequence[str]) -> nw.LazyFrame[Any]:
        rows = as_frame(read_delimited(connection, headers, file.form, columns))
        return rows if home is connection else _moved(rows, home)

    def read(columns: Sequence[str], lists: Sequence[str]) -> nw.LazyFrame[Any]:
        return read_from(headers, columns)

    def mend(columns: Sequence[str], lists: Sequence[str]) -> nw.LazyFrame[Any] | None:
        found = with_mended_files(headers)
        return None if found == headers else read_from(found, columns)

    schema = dict.fromkeys(columns_of(headers), nw.String())
    table = Table(
        read((), ()),
        schema,
        home,
        plain=EveryName(),
        headed=True,
        reader=read,
        # what is in another encoding was mended when it was copied
        mender=mend if file.form.encoding == "utf-8" else None,
        decimal=file.form.decimal,
        numbers_in_text=frozenset() if file.decimal is None else EveryName(),
    )
    if home is not connection or file.form.encoding != "utf-8":
        # its rows are in memory, or in a copy of ours
        return table
    same = watch_columns(files, lambda: read_headers(files, file.form))
    return replace(table, is_unchanged=same)


def _of_lines(
    files: Sequence[str],
    columns: Sequence[str] | None,
    connection: duckdb.DuckDBPyConnection,
    home: duckdb.DuckDBPyConnection,
) -> Table:
    """JSON lines, which have the columns that the caller declared, else any that are asked for.

    home: the connection that they will be joined on, which may not be allowed to read
        files itself.
    """
    import narwhals as nw

    def read_from(
        files: Sequence[str], columns: Sequence[str], lists: Sequence[str]
    ) -> nw.LazyFrame[Any]:
        patterns = [escape(file) for file in files]
        rows = as_frame(read_objects(connection, patterns, columns, lists))
        return rows if home is connection else _moved(rows, home)

    def read(columns: Sequence[str], lists: Sequence[str]) -> nw.LazyFrame[Any]:
        return read_from(files, columns, lists)

    def mend(columns: Sequence[str], lists: Sequence[str]) -> nw.LazyFrame[Any] | None:
        found = [mended(file) for file in files]
        return None if found == list(files) else read_from(found, columns, lists)

    # they have no columns, but have to be there
    same = watch_columns(files, lambda: None)
    frame = read((), ())
    schema = EveryColumn() if columns is None else dict.fromkeys(columns, nw.String())
    declared = columns is not None
    return Table(
        frame,
        schema,
        home,
        plain=EveryName(),
        reader=read,
        mender=mend,
        declared=declared,
        is_unchanged=same,
    )
