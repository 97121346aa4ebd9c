"""Tables: files, data frames and database tables behind one lazy frame (Narwhals).

A file is read by DuckDB, in a way that no row can change how the others are read: see
`delimited` and `json_lines`. Columns of CSV and JSON are all text, because a type that
is guessed from the data would depend on a person. Data frames in memory that have no
lazy engine of their own (pandas, Arrow) are read by DuckDB, too, which computes nothing
before a question is paid for. Only pandas columns of Python objects become text when a
table is opened; lists in them are looked into by the questions that ask for items,
after the charge.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from glob import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import (
    MissingExtraError,
    OutdatedLibraryError,
    ParameterError,
    ParameterTypeError,
)
from discreet.tables.canonical_text import canonical_cell, canonical_items
from discreet.tables.delimited import HeaderError, columns_of, read_delimited, read_headers
from discreet.tables.duckdb_connection import connect
from discreet.tables.engine import Plans
from discreet.tables.files import (
    DATABASES,
    DELIMITED,
    ENDINGS,
    LINES,
    CsvFile,
    NoTableError,
    ending_of,
    found_files,
    read_database,
    read_parquet,
    require_local,
)
from discreet.tables.json_lines import EveryColumn, read_objects
from discreet.tables.lines import list_name, quoted
from discreet.versions import require, require_makers

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

Made = TypeVar("Made")

_KINDS = "a path, a CsvFile, a pandas, Polars, Arrow, DuckDB or Spark table, or an Ibis table"
_FEW_CELLS = 1_000_000
# what columns are called that questions add to a table
_OWN = "__discreet_"
# A DuckDB connection answers one question at a time. Relations do not say whose
# connection they are from, so all that are handed over have one turn.
_TURN = threading.RLock()


class _Anything(set[str]):
    """The set of all texts."""

    def __contains__(self, name: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Table:
    """A lazy frame and the names and types of its columns: public knowledge, unlike its rows.

    frame: the rows, before any question.
    schema: the columns; of JSON lines, every name that there is.
    connection: where files and data frames are read, if this is one.
    where, condition: which rows count, for the engine, and as it was asked.
    plain: columns of text that are known to have no collation.
    headed: whether the names come from the first line of a file, which may be a row:
        never shown.
    reader: of text files, from columns and lists among them to the frame that has just
        these; `frame` has none of them then.
    mixed: columns of Python objects, whose cells may be lists.
    lister: from some of these columns to the frame that has them as lists, too.
    listed: columns that a question asks for as lists.
    group: from the rows that count to those of one group of persons, where groups are
        asked for.
    lock: held while DuckDB is asked; one for each connection of ours.
    plans: of the statements that were asked on a connection of ours.
    made: what is made of the rows that count, once: relations and statements, no rows.
    """

    # some frames show their rows
    frame: nw.LazyFrame[Any] = field(repr=False)
    schema: Mapping[str, nw.dtypes.DType] = field(repr=False)
    connection: duckdb.DuckDBPyConnection | None = field(default=None, repr=False)
    where: nw.Expr | None = None
    condition: Any = None
    plain: set[str] = field(default_factory=set, repr=False, compare=False)
    headed: bool = field(default=False, repr=False)
    reader: Callable[[Sequence[str], Sequence[str]], nw.LazyFrame[Any]] | None = field(
        default=None, repr=False, compare=False
    )
    mixed: frozenset[str] = field(default=frozenset(), repr=False)
    lister: Callable[[frozenset[str]], nw.LazyFrame[Any]] | None = field(
        default=None, repr=False, compare=False
    )
    listed: frozenset[str] = field(default=frozenset(), repr=False)
    group: Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]] | None = field(
        default=None, repr=False, compare=False
    )
    lock: AbstractContextManager[Any] = field(default=_TURN, repr=False, compare=False)
    plans: Plans | None = field(default=None, repr=False, compare=False)
    made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def rows(self) -> nw.LazyFrame[Any]:
        """The rows that count. Where cells of Python objects are asked for as lists,
        they are read now.
        """
        return self.once("rows", self._rows)

    def _rows(self) -> nw.LazyFrame[Any]:
        frame = self.frame
        if self.lister is not None and self.listed:
            frame = self.lister(self.listed)
        frame = frame if self.where is None else frame.filter(self.where)
        return frame if self.group is None else self.group(frame)

    def once(self, name: Any, make: Callable[[], Made]) -> Made:
        """What is made of the rows that count, at the first time; the same from then on."""
        if name not in self.made:
            self.made[name] = make()
        made: Made = self.made[name]
        return made

    @property
    def turn(self) -> AbstractContextManager[Any]:
        """What to hold while the engine is asked."""
        return self.lock if self.frame.implementation.is_duckdb() else nullcontext()

    def having(
        self, columns: Sequence[str], lists: Sequence[str] = (), *, owner: str = "Session"
    ) -> Table:
        """Return a table with at least these columns, for a question about them. No row is read.

        lists: those of the columns whose cells may be lists, in JSON lines and in
            columns of Python objects. The table that comes back has them a second time,
            by `list_name`: as lists of text, empty where there is nothing, and of one
            where a cell holds a single value.

        Of text files the table that comes back reads just these columns. JSON lines have
        whatever is asked for.
        """
        for name in columns:
            self.require(name, "column", owner)
        if self.reader is None:
            return replace(self, listed=self.mixed.intersection(lists))
        asked = list(dict.fromkeys(columns))
        _require_different(asked, owner, "column")
        listed = frozenset() if self.headed else frozenset(lists)
        try:
            with self.turn:
                frame = self.reader(asked, [name for name in asked if name in listed])
                schema = self.schema if self.headed else dict(frame.collect_schema())
        except Exception as error:
            # gone or moved since it was opened; the text would be the engine's own
            rule = "a file that DuckDB can still read"
            raise ParameterError(owner, "table", rule, type(error).__name__) from None
        return replace(self, frame=frame, schema=schema, listed=listed)

    def require(self, column: str, name: str, owner: str) -> str:
        """Return the column's name if the table has it, and if the engine takes it for a name."""
        if not isinstance(column, str):
            raise ParameterTypeError(owner, name, "the name of a column", type(column).__name__)
        _require_foreign([column], name, owner)
        # a table of JSON lines has any column, also where it was asked for others before
        if column not in self.schema and (self.reader is None or self.headed):
            raise self._no_column(column, name, owner)
        if self._is_pattern(column):
            rule, hint = "a column whose name is no pattern to the engine", "Rename it first."
            raise ParameterError(owner, name, rule, column, hint)
        if self.reader is None and str(self.schema[column]) == "Object":
            rule = "a column of one type"
            hint = "In a column of Python objects 1 and '1' would be two; make it text first."
            raise ParameterTypeError(owner, name, rule, column, hint)
        return column

    def _is_pattern(self, column: str) -> bool:
        """Whether an engine would read the name as one of several columns, or as none."""
        if self.frame.implementation.is_polars():
            return column == "*" or (column.startswith("^") and column.endswith("$"))
        return column in ("*", "")

    def _no_column(self, column: str, name: str, owner: str) -> ParameterError:
        if not self.headed:
            rule = "one of the columns " + ", ".join(map(repr, self.schema))
            return ParameterError(owner, name, rule, column)
        hint = column_hint(column, self.schema, " Is the first line a header?")
        return ParameterError(owner, name, "a column of the table", column, hint)


def column_hint(column: str, columns: Collection[str], advice: str = "") -> str:
    """Return how many columns there are, and the one that was meant if it is only
    misspelt, or advice.

    The columns are not listed: in a file without a header line they would be the first
    row of the data. A name so close to what was typed is a name.
    """
    close = get_close_matches(column.lower(), [known.lower() for known in columns], n=1, cutoff=0.8)
    meant = [known for known in columns if close and known.lower() == close[0]]
    count = f"It has {len(columns)} column{'' if len(columns) == 1 else 's'}"
    return f"{count}; did you mean {meant[0]!r}?" if meant else f"{count}.{advice}"


def open_table(
    source: Any, owner: str, *, table: str | None = None, beside: Table | None = None
) -> Table:
    """Make a table of a path, a glob, a CsvFile, a data frame, a relation or a database table.

    table: the name of the table in a DuckDB file.
    beside: another table that this one will be joined with.
    """
    if find_spec("narwhals") is None:
        raise MissingExtraError("Reading tables", "tables")
    require("narwhals")
    if _is_foreign(source):
        with _TURN:
            return _open(source, owner, table, beside)
    # anything else gets a connection of its own, or that of the table that it is joined with
    with nullcontext() if beside is None else beside.turn:
        opened = _open(source, owner, table, beside)
    if beside is not None:
        return replace(opened, lock=beside.lock, plans=beside.plans)
    if opened.connection is None:
        return opened
    return replace(opened, lock=threading.RLock(), plans=Plans(opened.connection))


def _is_foreign(source: Any) -> bool:
    """Whether this is a relation of DuckDB, on a connection that is not ours."""
    import narwhals as nw

    native = nw.to_native(source, pass_through=True)
    return type(native).__module__.partition(".")[0] in ("duckdb", "_duckdb")


def _open(source: Any, owner: str, table: str | None, beside: Table | None) -> Table:
    if isinstance(source, (str, Path, CsvFile)):
        opened = _open_file(source, owner, table, beside)
    elif table is not None:
        rule = "left out where the table is not a database file"
        raise ParameterError(owner, "table_name", rule, table)
    else:
        opened = _open_frame(source, owner, beside)
    lazy = opened.frame
    _require_foreign(opened.schema, "table", owner)
    if not lazy.implementation.is_polars():
        if find_spec("pyarrow") is None:
            raise MissingExtraError("Reading tables", "tables")
        require("pyarrow")
    if beside is not None and lazy.implementation != beside.frame.implementation:
        rule = f"on the same engine as the table, {beside.frame.implementation.name}"
        raise ParameterError(owner, "candidates", rule, lazy.implementation.name)
    return opened


def _open_frame(source: Any, owner: str, beside: Table | None) -> Table:
    """A data frame, a relation or a database table."""
    import narwhals as nw

    # Before Narwhals looks at it, which takes a table of a very old library for something else.
    require_makers(nw.to_native(source, pass_through=True))
    connection = beside.connection if beside is not None else None
    try:
        frame = nw.from_native(source)
    except (TypeError, ValueError):
        # not a table at all, or one with two columns of the same name
        raise ParameterTypeError(owner, "table", _KINDS, type(source).__name__) from None
    if isinstance(frame, nw.DataFrame) and not frame.implementation.is_polars():
        connection = connection or connect("Reading data frames")
        return _of_frame(frame, connection, owner)
    lazy = _with_valid_text(frame.lazy())
    return Table(lazy, dict(lazy.collect_schema()), connection)


def _with_valid_text(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The rows with text that is text, on engines that do not see to that themselves."""
    import narwhals as nw

    native = rows.to_native()
    if rows.implementation.is_duckdb():
        native = _valid(native)
    elif rows.implementation.is_pyspark():
        native = native.selectExpr(*map(_valid_on_spark, native.schema))
    valid: nw.LazyFrame[Any] = nw.from_native(native)
    return valid


def _valid_on_spark(column: Any) -> str:
    """A column of a Spark data frame, as an expression in which other bytes than UTF-8 are null."""
    name: str
    name, kind = "`" + column.name.replace("`", "``") + "`", column.dataType.simpleString()
    ways = {
        "string": f"try_validate_utf8({name}) as {name}",
        "array<string>": f"transform({name}, item -> try_validate_utf8(item)) as {name}",
    }
    return ways.get(kind, name)


def _of_frame(frame: nw.DataFrame[Any], connection: duckdb.DuckDBPyConnection, owner: str) -> Table:
    """A data frame in memory, as DuckDB sees it."""
    import narwhals as nw

    mixed: frozenset[str] = frozenset()
    if frame.implementation.is_pandas():
        # Lists are made of it later, and must be those of today.
        frame = nw.from_native(frame.to_native().copy(), eager_only=True)
        mixed = _mixed(frame)
    plain = _as_relation(frame, connection, owner)

    @cache
    def lister(names: frozenset[str]) -> nw.LazyFrame[Any]:
        lists: nw.LazyFrame[Any] = nw.from_native(_as_relation(frame, connection, owner, names))
        return lists

    lazy: nw.LazyFrame[Any] = nw.from_native(plain)
    schema = dict(lazy.collect_schema())
    # Arrow knows no collations
    return Table(lazy, schema, connection, plain=_Anything(), mixed=mixed, lister=lister)


def _open_file(
    source: str | Path | CsvFile, owner: str, name: str | None, beside: Table | None
) -> Table:
    """A file, or many by a pattern."""
    path = str(source.path if isinstance(source, CsvFile) else source)
    require_local(path, owner)
    ending = DELIMITED[0] if isinstance(source, CsvFile) else ending_of(path)
    if ending not in (*ENDINGS, *DATABASES):
        rule = "a path that ends in " + ", ".join((*ENDINGS, *DATABASES))
        hint = "Another name for a CSV file: CsvFile(path)."
        if ending == ".json":
            hint = (
                "If each line is an object of its own, call it .jsonl; else make it a table first."
            )
        raise ParameterError(owner, "table", rule, path, hint)
    if ending in DATABASES and name is None:
        raise ParameterTypeError(owner, "table_name", "given for a database file", None)
    if ending not in DATABASES and name is not None:
        rule = "left out where the table is not a database file"
        raise ParameterError(owner, "table_name", rule, name)
    try:
        return _read(source if isinstance(source, CsvFile) else path, ending, name, beside)
    except (MissingExtraError, OutdatedLibraryError):
        raise
    except NoTableError:
        rule = "a table or view of the database file"
        raise ParameterError(owner, "table_name", rule, name) from None
    except HeaderError as error:
        # which says nothing of what is in the line
        hint = str(error)
    except (
        Exception
        # no such file, no such table, not a Parquet file: the text may show rows
    ) as error:
        hint = f"DuckDB says: {type(error).__name__}."
    raise ParameterError(owner, "table", "a file that DuckDB can read", path, hint)


def _read(source: str | CsvFile, ending: str, name: str | None, beside: Table | None) -> Table:
    shared = beside.connection if beside is not None else None
    if ending in DATABASES:
        # a view may read other files by their names: not here
        alone = connect(
            "Reading files", str(source), read_only=True, enable_external_access="false"
        )
        return _of_relation(_castable(read_database(alone, str(name))), alone)
    closed = shared is not None and not _reads_files(shared)
    connection = connect("Reading files") if shared is None or closed else shared
    if ending in LINES:
        return _of_lines(found_files(connection, str(source)), connection, shared or connection)
    if isinstance(source, CsvFile) or ending in DELIMITED:
        file = source if isinstance(source, CsvFile) else CsvFile(source)
        return _of_delimited(file, connection, shared or connection)
    opened = _of_relation(_castable(read_parquet(connection, str(source))), connection)
    if shared is None or not closed:
        return opened
    return replace(opened, frame=_moved(opened.frame, shared), connection=shared)


def _reads_files(connection: duckdb.DuckDBPyConnection) -> bool:
    query = "select current_setting('enable_external_access')"
    return bool(connection.execute(query).fetchall()[0][0])


def _moved(rows: nw.LazyFrame[Any], connection: duckdb.DuckDBPyConnection) -> nw.LazyFrame[Any]:
    """The same rows in memory, for a connection that may not read files. Only public
    tables come here.
    """
    import narwhals as nw

    moved: nw.LazyFrame[Any] = nw.from_native(
        connection.from_arrow(rows.collect("pyarrow").to_native())
    )
    return moved


def _of_relation(relation: duckdb.DuckDBPyRelation, connection: duckdb.DuckDBPyConnection) -> Table:
    import narwhals as nw

    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return Table(frame, dict(frame.collect_schema()), connection)


def _of_delimited(
    file: CsvFile, connection: duckdb.DuckDBPyConnection, home: duckdb.DuckDBPyConnection
) -> Table:
    """A CSV file, or many by a pattern, of which a question reads its own columns.

    home: the connection that they will be joined on, which may not be allowed to read
        files itself.
    """
    import narwhals as nw

    headers = read_headers(found_files(connection, str(file.path)), file.form)

    def read(columns: Sequence[str], lists: Sequence[str]) -> nw.LazyFrame[Any]:
        rows: nw.LazyFrame[Any] = nw.from_native(
            read_delimited(connection, headers, file.form, columns)
        )
        return rows if home is connection else _moved(rows, home)

    schema = dict.fromkeys(columns_of(headers), nw.String())
    return Table(read((), ()), schema, home, plain=_Anything(), headed=True, reader=read)


def _of_lines(
    files: Sequence[str],
    connection: duckdb.DuckDBPyConnection,
    home: duckdb.DuckDBPyConnection,
) -> Table:
    """JSON lines, which have no columns but those that are asked for.

    home: the connection that they will be joined on, which may not be allowed to read
        files itself.
    """
    import narwhals as nw

    patterns = [escape(file) for file in files]

    def read(columns: Sequence[str], lists: Sequence[str]) -> nw.LazyFrame[Any]:
        rows: nw.LazyFrame[Any] = nw.from_native(read_objects(connection, patterns, columns, lists))
        return rows if home is connection else _moved(rows, home)

    return Table(read((), ()), EveryColumn(), home, plain=_Anything(), reader=read)


def _require_foreign(names: Collection[str], name: str, owner: str) -> None:
    """Refuse names that questions give to columns of their own: one would replace the other,
    and a person might become something else.
    """
    if any(each.lower().startswith(_OWN) for each in names):
        rule = f"without names that begin with {_OWN!r}, which are discreet's own"
        raise ParameterError(owner, name, rule, "one that does", "Rename it first.")


def _require_different(names: Sequence[str], owner: str, name: str) -> None:
    """Refuse names that differ in capitals only: SQL takes them for one."""
    if names and max(Counter(map(str.lower, names)).values()) > 1:
        rule = "made of columns whose names differ by more than capitals"
        raise ParameterError(owner, name, rule, "two that do not")


def _as_relation(
    frame: nw.DataFrame[Any],
    connection: duckdb.DuckDBPyConnection,
    owner: str,
    lists: frozenset[str] = frozenset(),
) -> duckdb.DuckDBPyRelation:
    """A data frame in memory as DuckDB sees it.

    lists: columns of Python objects whose cells become lists of text.
    """
    if find_spec("pyarrow") is None:
        raise MissingExtraError("Reading data frames", "tables")
    _require_different([str(name) for name in frame.columns], owner, "table")
    try:
        arrow = _pandas_as_arrow(frame) if frame.implementation.is_pandas() else frame.to_arrow()
        for name in sorted(lists):
            cells = frame.to_native().iloc[:, arrow.column_names.index(name)]
            arrow = arrow.append_column(list_name(name), _lists(cells))
        return _valid(connection.from_arrow(_readable(arrow)))
    except (
        Exception
        # a type of column that Arrow or DuckDB does not know; the message may show values
    ):
        pass
    raise ParameterTypeError(
        owner,
        "table",
        "made of columns that Arrow and DuckDB can hold",
        type(frame.to_native()).__name__,
    )


def _readable(table: Any) -> Any:
    """An Arrow table that DuckDB can read whatever is in its rows.

    DuckDB fails to look up nested values that are kept once for many cells, by how many
    of them there are; so each cell has its own. And it would multiply times and
    durations of coarser units than its own when it reads them, wherever in a column
    they are, and fail on one that is too far away. Here such a value is empty; in a
    list or a struct, of which nobody can ask more than whether it is there, it wraps
    around.
    """
    import pyarrow

    for place, column in enumerate(table.schema):
        cells = _looked_up(table.column(place))
        finer = _finer(cells.type)
        if finer != cells.type:
            # What Arrow cannot convert is refused by its type, also where there is no row.
            _converted(pyarrow.nulls(1, cells.type), finer)
            cells = _converted(cells, finer)
        if cells.type != column.type:
            table = table.set_column(place, column.name, cells)
    return table


def _looked_up(cells: Any) -> Any:
    """A column without nested values that are kept once for many cells."""
    import pyarrow

    kind = cells.type
    if pyarrow.types.is_dictionary(kind) and _is_nested(kind.value_type):
        chunks = [chunk.dictionary.take(chunk.indices) for chunk in cells.chunks]
        cells = pyarrow.chunked_array(chunks, kind.value_type)
    _require_readable(cells.type)
    if isinstance(cells.type, pyarrow.BaseExtensionType):
        storage = cells.type.storage_type
        if _finer(storage) != storage:
            return pyarrow.chunked_array([chunk.storage for chunk in cells.chunks], storage)
    return cells


def _is_nested(kind: Any) -> bool:
    """Whether values of this type have parts, also where it goes by another name."""
    import pyarrow

    plain = kind.storage_type if isinstance(kind, pyarrow.BaseExtensionType) else kind
    return bool(pyarrow.types.is_nested(plain))


def _require_readable(kind: Any) -> None:
    """Refuse a type in which DuckDB would have to look up nested values, or what it looked up."""
    import pyarrow

    types = pyarrow.types
    if isinstance(kind, pyarrow.BaseExtensionType):
        _require_readable(kind.storage_type)
    elif types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        held = kind.value_type
        again = types.is_dictionary(held) or types.is_run_end_encoded(held)
        if again or _is_nested(held):
            raise TypeError(_NOT_CONVERTED)
    else:
        for place in range(kind.num_fields):
            _require_readable(kind.field(place).type)


def _converted(cells: Any, finer: Any) -> Any:
    """Cells in the type that `_finer` has found for them."""
    import pyarrow
    import pyarrow.compute as compute

    if pyarrow.types.is_run_end_encoded(cells.type):
        cells = compute.run_end_decode(cells)
    if pyarrow.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pyarrow.types.is_nested(finer):
        return cells.cast(finer, safe=False)
    # Wrapped around, one person's time could be that of another one.
    farthest = (2**63 - 1) // _MICROSECONDS[cells.type.unit]
    number = cells.cast(pyarrow.int64())
    above = compute.greater_equal(number, -farthest)
    near = compute.and_(above, compute.less_equal(number, farthest))
    return compute.if_else(near, cells, pyarrow.scalar(None, cells.type)).cast(finer)


_MICROSECONDS = {"s": 10**6, "ms": 10**3}
"""In the units that are coarser."""
_NOT_CONVERTED = "a type that Arrow cannot convert"


def _finer(kind: Any, *, within: bool = False) -> Any:
    """A type of Arrow with microseconds in place of coarser units; itself where there are none.

    Values that are kept once for many cells are looked into, too, as those of lists and
    of structs are: DuckDB multiplies them just as well.

    within: whether it is a part of another type.
    """
    import pyarrow

    types = pyarrow.types
    if types.is_timestamp(kind):
        return pyarrow.timestamp("us", kind.tz) if kind.unit in ("s", "ms") else kind
    if types.is_duration(kind):
        return pyarrow.duration("us") if kind.unit in ("s", "ms") else kind
    runs = types.is_run_end_encoded(kind)
    if runs or types.is_dictionary(kind):
        finer = _finer(kind.value_type)
        if finer != kind.value_type and runs and within:
            raise TypeError(_NOT_CONVERTED)
        return kind if finer == kind.value_type else finer
    parts = [kind.field(place) for place in range(kind.num_fields)]
    finer_parts = [part.with_type(_finer(part.type, within=True)) for part in parts]
    return kind if finer_parts == parts else _made_of(kind, finer_parts)


def _made_of(kind: Any, parts: list[Any]) -> Any:
    """The same nested type with other parts."""
    import pyarrow

    types = pyarrow.types
    if types.is_struct(kind):
        return pyarrow.struct(parts)
    if types.is_map(kind):
        # its one part is a struct of a key and a value
        key, value = parts[0].type
        return pyarrow.map_(key.type, value)
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(parts[0], kind.list_size)
    if types.is_large_list(kind):
        return pyarrow.large_list(parts[0])
    if types.is_list(kind):
        return pyarrow.list_(parts[0])
    raise TypeError(_NOT_CONVERTED)


def _valid(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The relation with text that is text. Arrow does not look at what is in its
    columns, and a cell with other bytes would fail on its way back to Python, after the
    charge: here it is null.
    """
    texts = {
        "VARCHAR": "try(decode(encode({0}))) as {0}",
        "VARCHAR[]": "list_transform({0}, lambda item: try(decode(encode(item)))) as {0}",
    }
    return _read_in(relation, texts | _NEAR | _within_digits(relation))


def _within_digits(relation: duckdb.DuckDBPyRelation) -> dict[str, str]:
    """How to read decimals of 128 bits, of which Arrow and files can hold more than their
    digits say: on the lowest of them, -2^127, every cast fails, and DuckDB for good.
    """
    # in a list nobody can ask for them
    kinds = {str(kind): kind for kind in relation.types if kind.id == "decimal"}
    digits: dict[str, dict[str, Any]] = {name: dict(kind.children) for name, kind in kinds.items()}
    least = {
        name: f"cast('-{_nines(**each)}' as {name})"
        for name, each in digits.items()
        if each["precision"] > _SHORT_DECIMAL
    }
    # DuckDB may take the condition away from the cell, and casts the cell before it asks: what is
    # cast is never too low
    return {
        name: f"case when {{0}} >= {number} then greatest({{0}}, {number}) end as {{0}}"
        for name, number in least.items()
    }


_SHORT_DECIMAL = 18
"""The most digits of a decimal that has 64 bits."""


def _nines(precision: int, scale: int) -> str:
    """The largest decimal of so many digits."""
    return f"{'9' * (precision - scale)}.{'9' * scale}"


# Compared with a time they become microseconds, which not all of them can. Of nanoseconds with
# a zone Narwhals knows nothing.
_NEAR = dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS"), "try_cast({0} as timestamp) as {0}") | {
    "TIMESTAMPTZ_NS": "try_cast({0} as timestamptz) as {0}"
}


def _castable(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """A table of a DuckDB or Parquet file, whose text is text already, without times that
    are too far away and decimals beyond their digits. Collations stay: they say which
    persons are one.
    """
    ways = _NEAR | _within_digits(relation)
    return _read_in(relation, ways) if ways.keys() & set(map(str, relation.types)) else relation


def _read_in(relation: duckdb.DuckDBPyRelation, ways: Mapping[str, str]) -> duckdb.DuckDBPyRelation:
    """The relation with columns of some types read in another way."""
    kinds = zip(relation.columns, map(str, relation.types), strict=True)
    cells = [ways.get(kind, "{0}").replace("{0}", quoted(name)) for name, kind in kinds]
    return relation.project(", ".join(cells))


def _pandas_as_arrow(frame: nw.DataFrame[Any]) -> Any:
    """A pandas frame as an Arrow table. Columns of mixed types are text: 1, 1.0 and "1" are
    then the same person.
    """
    pandas, pyarrow = import_module("pandas"), import_module("pyarrow")
    plain = frame.to_native()
    # pandas takes its time for steps that change nothing
    if not all(type(name) is str for name in plain.columns):
        plain = plain.rename(columns=str)
    mixed = [name for name, kind in plain.dtypes.items() if _is_mixed(kind)]
    # Cell by cell: pandas' own way of leaving out empty cells fails on Decimal("sNaN").
    texts = {
        name: pandas.array(list(map(canonical_cell, plain[name].astype(object))), dtype="string")
        for name in mixed
    }
    # threads take longer to start than to convert a small table
    threads = 1 if plain.size < _FEW_CELLS else None
    plain = plain.assign(**texts) if texts else plain
    return pyarrow.Table.from_pandas(plain, nthreads=threads, preserve_index=False)


def _mixed(frame: nw.DataFrame[Any]) -> frozenset[str]:
    """The columns of a pandas frame that can hold any Python object."""
    kinds = frame.to_native().dtypes.items()
    return frozenset(str(name) for name, kind in kinds if str(kind) == "object")


def _lists(cells: Any) -> Any:
    """The cells of a column of objects as lists of text."""
    import pyarrow

    return pyarrow.array(map(canonical_items, cells), pyarrow.list_(pyarrow.string()))


def _is_mixed(kind: Any) -> bool:
    """Whether a column of this type can hold any Python object, or any Python text."""
    within = kind.categories.dtype if str(kind) == "category" else kind
    return str(within) == "object" or getattr(within, "storage", None) == "python"
