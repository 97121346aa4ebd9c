"""Rows with one of many public labels: engines take seconds to minutes to read a list of 100,000 constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw

_MANY = 1000  # labels
_BETWEEN = "\x1f"


def among(rows: nw.LazyFrame[Any], column: str, wanted: list[Any]) -> nw.LazyFrame[Any]:
    """The rows whose value in this column, of a name of our own, is one of those wanted."""
    import narwhals as nw

    whole = all(type(label) is int for label in wanted)
    plain = whole or all(isinstance(label, str) and _BETWEEN not in label for label in wanted)
    if len(wanted) > _MANY and plain and rows.implementation.is_duckdb():
        return _on_duckdb(rows, column, wanted, whole)
    if len(wanted) > _MANY and plain and rows.implementation.is_pyspark():
        return _on_spark(rows, column, wanted, whole)
    return rows.filter(nw.col(column).is_in(wanted))


def _on_duckdb(rows: nw.LazyFrame[Any], column: str, wanted: list[Any], whole: bool) -> nw.LazyFrame[Any]:
    """By one long text, which is read at once."""
    import narwhals as nw

    text = _BETWEEN.join(map(str, wanted)).replace("'", "''")
    parts = f"unnest(string_split('{text}', chr({ord(_BETWEEN)})))"
    listed = f"cast({parts} as bigint)" if whole else parts
    kept: nw.LazyFrame[Any] = nw.from_native(rows.to_native().filter(f'"{column}" in (select {listed})'))
    return kept


def _on_spark(rows: nw.LazyFrame[Any], column: str, wanted: list[Any], whole: bool) -> nw.LazyFrame[Any]:
    """By a join with a small table."""
    import narwhals as nw

    frame, name = rows.to_native(), f"{column}_wanted"
    small = frame.sparkSession.createDataFrame([(label,) for label in wanted], f"{name} {'bigint' if whole else 'string'}")
    kept: nw.LazyFrame[Any] = nw.from_native(frame.join(small.hint("broadcast"), frame[column] == small[name], "left_semi"))
    return kept
