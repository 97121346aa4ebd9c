"""The names and types of a table's columns, which are public, unlike its rows: what `--where` and `--candidates` are read by.

A session opens the table by itself and has the last word; this only says beforehand what it will find.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.data.table import open_table

if TYPE_CHECKING:
    import narwhals as nw

Columns: TypeAlias = "Mapping[str, nw.dtypes.DType]"


def columns_of(source: Any, name: str | None = None, command: str = "Session") -> Columns:
    """Return the columns of whatever a session can be opened with; of JSON lines, every name.

    name: the table in a DuckDB file.
    """
    return open_table(source, command, table=name).schema
