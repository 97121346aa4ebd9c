"""Cells that an engine can read whatever they hold: text that is text, times that are
near enough, decimals within their digits. Any other cell is empty. And cells that are
equal are written alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.tables.lines import quoted
from discreet.tables.postgresql_rows import is_postgresql
from discreet.tables.table import as_frame

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw


def with_valid_cells(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The rows with text that is text, and decimals within their digits, on engines that do
    not see to that themselves.
    """
    native = rows.to_native()
    if rows.implementation.is_duckdb():
        native = valid_relation(native)
    elif rows.implementation.is_spark_like():
        native = native.selectExpr(*map(_valid_on_spark, native.schema))
    elif rows.implementation.is_ibis():
        native = _with_one_spelling(native)
    return as_frame(native)


def _with_one_spelling(table: Any) -> Any:
    """A table of a database whose decimals without a fixed scale end in no zeros. Of 1.0 and
    1.00, which are equal, the order of all rows would decide which one a cap writes.
    """
    kinds = table.schema().items()
    loose = [name for name, kind in kinds if kind.is_decimal() and kind.scale is None]
    if not is_postgresql(table) or not loose:
        return table
    return table.mutate(**{name: _trimmed(table[name]) for name in loose})


def _trimmed(cells: Any) -> Any:
    """The database's own function by its name, for Ibis has none."""

    def trim_scale(number):  # type: ignore[no-untyped-def]
        # never run in Python
        raise NotImplementedError

    numbers = import_module("ibis").expr.datatypes.Decimal()
    signature = ((numbers,), numbers)
    return import_module("ibis").udf.scalar.builtin(trim_scale, signature=signature)(cells)


def _valid_on_spark(column: Any) -> str:
    """A column of a Spark data frame, as an expression in which other bytes than UTF-8 are null."""
    name: str
    name, kind = "`" + column.name.replace("`", "``") + "`", column.dataType.simpleString()
    ways = {
        "string": f"try_validate_utf8({name}) as {name}",
        "array<string>": f"transform({name}, item -> try_validate_utf8(item)) as {name}",
    }
    return ways.get(kind, name)


def valid_relation(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
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


def castable_relation(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
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


# also within other types
_FAR = re.compile(r"\b(?:INTERVAL|TIMESTAMP WITH TIME ZONE)\b")
_SCANS = ("ARROW_SCAN", "PANDAS_SCAN")


def far_columns(relation: duckdb.DuckDBPyRelation) -> frozenset[str]:
    """The columns of a relation whose times DuckDB multiplies when it reads them: it fails on one
    that is too far away, and a data frame can hold such times. Ours were looked at before.
    """
    kinds = zip(relation.columns, map(str, relation.types), strict=True)
    far = frozenset(name for name, kind in kinds if _FAR.search(kind))
    # what is planned names where rows come from, and nothing that is in them
    plan = relation.explain() if far else ""
    return far if any(scan in plan for scan in _SCANS) else frozenset()
