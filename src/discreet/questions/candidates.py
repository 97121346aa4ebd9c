"""The public candidates of a column, as a caller lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.labels import read_labels, require_kind
from discreet.data.spelling import require_spelling
from discreet.data.table import Table


def read_candidates(table: Table, column: str, candidates: Sequence[Any], owner: str) -> list[Any]:
    """Labels that the values of this column can be compared with."""
    table.require(column, "column", owner)
    labels = read_labels(candidates, "candidates", owner)
    require_kind(labels, column, table.schema[column], owner)
    require_spelling(table, column, owner)
    return labels
