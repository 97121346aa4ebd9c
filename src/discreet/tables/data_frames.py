"""Data frames in memory as DuckDB sees them: Arrow tables that it can read whatever is
in their rows.

pandas columns of Python objects become text when a table is opened; lists in them are
looked into by the questions that ask for items, after the charge. A lazy frame of Polars
is collected by the first question that is paid for.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtraError, ParameterError, ParameterTypeError
from discreet.tables.canonical_text import canonical_cell, canonical_items
from discreet.tables.lines import list_name
from discreet.tables.table import require_different
from discreet.tables.valid_cells import valid_relation

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

_FEW_CELLS = 1_000_000


def as_relation(
    frame: nw.DataFrame[Any],
    connection: duckdb.DuckDBPyConnection,
    lists: frozenset[str] = frozenset(),
) -> duckdb.DuckDBPyRelation:
    """A data frame in memory as DuckDB sees it.

    lists: columns of Python objects whose cells become lists of text.
    """
    if find_spec("pyarrow") is None:
        raise MissingExtraError("Reading data frames", "tables")
    if not frame.columns:
        raise ParameterError("table", "a table with columns", "one without")
    require_different([str(name) for name in frame.columns], "table")
    try:
        arrow = _as_arrow(frame)
        for name in sorted(lists):
            cells = frame.to_native().iloc[:, arrow.column_names.index(name)]
            arrow = arrow.append_column(list_name(name), _lists(cells))
        return valid_relation(connection.from_arrow(_readable(arrow)))
    except (
        Exception
        # a type of column that Arrow or DuckDB does not know; the message may show values
    ):
        pass
    raise ParameterTypeError(
        "table",
        "made of columns that Arrow and DuckDB can hold",
        type(frame.to_native()).__name__,
    )


def _as_arrow(frame: nw.DataFrame[Any]) -> Any:
    """A data frame as an Arrow table."""
    if frame.implementation.is_pandas():
        return _pandas_as_arrow(frame)
    if frame.implementation.is_polars():
        # with text as Polars itself holds it; in the usual form it would be copied
        level = import_module("polars").CompatLevel.newest()
        return frame.to_native().to_arrow(compat_level=level)
    return frame.to_arrow()


def without_rows(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """A Polars frame with the same columns and nothing behind them."""
    import narwhals as nw

    schema = frame.to_native().collect_schema()
    empty: nw.DataFrame[Any] = nw.from_native(import_module("polars").DataFrame(schema=schema))
    return empty


def unread_columns(
    empty: nw.DataFrame[Any], connection: duckdb.DuckDBPyConnection
) -> frozenset[str]:
    """The columns of a Polars frame that Arrow or DuckDB has no type for, such as Python
    objects and numbers of 128 bits.

    empty: the frame without rows.
    """

    def is_read(columns: nw.DataFrame[Any]) -> bool:
        # Arrow takes the addresses of Python objects for bytes
        if any("Object" in str(kind) for kind in columns.schema.values()):
            return False
        try:
            as_relation(columns, connection)
        except ParameterTypeError:
            return False
        return True

    if is_read(empty):
        return frozenset()
    return frozenset(name for name in empty.columns if not is_read(empty[name].to_frame()))


def _readable(table: Any) -> Any:
    """An Arrow table that DuckDB can read whatever is in its rows.

    DuckDB fails to look up nested values that are kept once for many cells, by how many
    of them there are; so each cell has its own. And it would multiply times and
    durations of coarser units than its own when it reads them, wherever in a column
    they are, and fail on one that is too far away. Here such a value is empty; in a
    list or a struct, of which nobody can ask more than whether it is there, it wraps
    around. It also fails on a map that has a key twice, so a map is a list here.
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
    """True if values of this type have parts, also where it goes by another name."""
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
    """A type of Arrow with microseconds in place of coarser units, and with lists in place of
    maps; itself where there are none.

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
    same = finer_parts == parts and not types.is_map(kind)
    return kind if same else _made_of(kind, finer_parts)


def _made_of(kind: Any, parts: list[Any]) -> Any:
    """Rebuild a nested type with other parts."""
    import pyarrow

    types = pyarrow.types
    if types.is_struct(kind):
        return pyarrow.struct(parts)
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(parts[0], kind.list_size)
    if types.is_large_list(kind):
        return pyarrow.large_list(parts[0])
    if types.is_list(kind) or types.is_map(kind):
        # the one part of a map is a struct of a key and a value
        return pyarrow.list_(parts[0])
    raise TypeError(_NOT_CONVERTED)


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


def mixed_columns(frame: nw.DataFrame[Any]) -> frozenset[str]:
    """The columns of a pandas frame that can hold any Python object."""
    kinds = frame.to_native().dtypes.items()
    return frozenset(str(name) for name, kind in kinds if str(kind) == "object")


def _lists(cells: Any) -> Any:
    """The cells of a column of objects as lists of text."""
    import pyarrow

    return pyarrow.array(map(canonical_items, cells), pyarrow.list_(pyarrow.string()))


def _is_mixed(kind: Any) -> bool:
    """True if a column of this type can hold any Python object, or any Python text."""
    within = kind.categories.dtype if str(kind) == "category" else kind
    return str(within) == "object" or getattr(within, "storage", None) == "python"
