"""What several questions share: the mechanism that suits a budget, and labels of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.literals import PickName
from discreet.tables.candidates import read_labels, require_kind
from discreet.tables.items import Items
from discreet.tables.table import Table


def default_mechanism(rule: BudgetRule) -> PickName:
    """The mechanism that suits a budget: docs/explanation/which-mechanism.md."""
    return "permute-and-flip" if rule.counting == "epsilon" else "exponential"


def labels_for(table: Table, items: Items, candidates: Sequence[Any], owner: str) -> list[Any]:
    """Labels that the items can be compared with."""
    labels = read_labels(candidates, "candidates", owner)
    require_kind(labels, items.column, items.kind(table), owner)
    return labels
