"""What several questions share: labels of a column, and the number of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.literals import PickName
from discreet.mechanisms.correlated_counts import CorrelatedCounts
from discreet.mechanisms.count_lists import CountList
from discreet.mechanisms.count_noise import CountNoise
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.histogram_top_k import NoisyList
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.candidates import read_labels, require_kind
from discreet.tables.counting import count_persons
from discreet.tables.inquiry import Inquiry
from discreet.tables.items import Items
from discreet.tables.table import Table


def default_mechanism(rule: BudgetRule) -> PickName:
    """The mechanism that suits a budget: docs/explanation/which-mechanism.md."""
    return "permute-and-flip" if rule.counting == "epsilon" else "exponential"


def labels_for(table: Table, items: Items, candidates: Sequence[Any]) -> list[Any]:
    """Labels that the items can be compared with."""
    labels = read_labels(candidates, "candidates")
    require_kind(labels, items.column, items.kind(table))
    return labels


def people_for(noise: CountNoise, inquiry: Inquiry) -> int | None:
    """How many people there are, where noise that the counts share needs it."""
    if not isinstance(noise, CorrelatedCounts):
        return None
    # everybody with a row that counts: docs/proofs/correlated-counts.md#the-number-of-people
    return count_persons(inquiry.table, inquiry.unit)


def released(
    made: CountList, counts: Sequence[int], inquiry: Inquiry, bits: Bits | None
) -> Release:
    """The list of these counts."""
    if isinstance(made, (NoisyList, CountedSelection)):
        return made.release(counts, people=people_for(made.noise, inquiry), bits=bits)
    return made.release(counts, bits=bits)
