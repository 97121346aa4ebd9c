"""The public candidates of a column, as a caller lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.items import Items
from discreet.data.labels import read_labels, require_kind
from discreet.data.table import Table


def read_candidates(table: Table, items: Items, candidates: Sequence[Any], owner: str) -> list[Any]:
    """Labels that the items can be compared with."""
    labels = read_labels(candidates, "candidates", owner)
    require_kind(labels, items.column, items.kind(table), owner)
    return labels
