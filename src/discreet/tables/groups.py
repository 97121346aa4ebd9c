"""One answer for each of some public groups of persons, charged once.

A person is in one group: of the groups in which they have rows that count, the one that
is listed first. That depends on this person's rows and on the public list alone, so one
person more or less changes the rows of one group only. The proof is in
docs/proofs/histograms.md#groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accuracy import Accuracy
from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.parameters import OneRow, Unit
from discreet.randomness.chance import Bits
from discreet.release import NoisyCounts, Release
from discreet.tables.candidates import read_labels, require_kind
from discreet.tables.counting import comparable
from discreet.tables.inquiry import Inquiry, Prepared
from discreet.tables.items import Items, read_items
from discreet.tables.table import Table

if TYPE_CHECKING:
    import narwhals as nw

_PLACE, _FIRST, _OWN = "__discreet_group", "__discreet_first", 1
_MOST = 1000
"""The most groups of a question: each is a pass over the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The column that tells the group of a row, and the public groups, in order."""

    items: Items
    labels: list[Any]

    def of(self, table: Table, unit: Unit, place: int) -> Table:
        """The table with the persons of one group only."""
        kind = self.items.kind(table)

        def members(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
            # a label that the column cannot hold is nobody's
            before = comparable(table, self.labels[:place], kind)
            own = comparable(table, self.labels[place : place + 1], kind)
            return self._members(rows, kind, unit, list(before), list(own))

        return replace(table, group=members)

    def _members(
        self,
        rows: nw.LazyFrame[Any],
        kind: nw.dtypes.DType,
        unit: Unit,
        before: list[Any],
        own: list[Any],
    ) -> nw.LazyFrame[Any]:
        """The rows of a group's persons.

        before: the labels of the groups that are listed before it.
        own: its label, or nothing if no cell can hold it.
        """
        import narwhals as nw

        if not own:
            return rows.head(0)
        cell = nw.col(self.items.column)
        if kind == nw.Enum:
            cell = cell.cast(nw.String)
        # 0 in the rows of groups before, 1 in those of this group, nothing in all others
        place: nw.Expr = nw.when(cell.is_in(own)).then(nw.lit(_OWN))
        if before:
            earlier = cell.is_in(before)
            place = nw.coalesce(nw.when(earlier).then(nw.lit(0)), place)
        rows = rows.with_columns(place.alias(_PLACE)).filter(~nw.col(_PLACE).is_null())
        if isinstance(unit, OneRow):
            return rows.filter(nw.col(_PLACE) == _OWN)
        # Whoever has a row in a group before counts there, and with no row here.
        rows = rows.with_columns(nw.col(_PLACE).min().over(unit.column).alias(_FIRST))
        return rows.filter(nw.col(_FIRST) == _OWN)


def read_groups(table: Table, by: str | None, groups: Sequence[Any] | None) -> Groups:
    """The groups of a question: a column, and public labels."""
    # a question has both or none
    assert by is not None
    assert groups is not None
    items = read_items(table, by, None)
    # a cell that holds a list belongs to no group, where cells may be anything
    if items.is_ballot(replace(table, listed=table.listed - {by})):
        raise ParameterTypeError("by", "a column with one plain value in each row", by)
    labels = read_labels(groups, "groups")
    require_kind(labels, by, items.kind(table), "groups")
    if len(labels) > _MOST:
        raise ParameterError("groups", f"at most {_MOST:,}", len(labels))
    return Groups(items=items, labels=labels)


def prepare_groups(inquiry: Inquiry, prepare: Callable[[Inquiry], Prepared]) -> Prepared:
    """The question asked of each group, for the price of one.

    Privacy: one person's rows are in one group: docs/proofs/histograms.md#groups.
    """
    table, unit = inquiry.table, inquiry.unit
    groups = read_groups(table, inquiry.by, inquiry.groups)
    every = [
        prepare(replace(inquiry, table=groups.of(table, unit, place)))
        for place in range(len(groups.labels))
    ]

    def answer(bits: Bits | None) -> Release:
        releases = [prepared.answer(bits) for prepared in every]
        pairs = zip(groups.labels, releases, strict=True)
        value = {label: release.value for label, release in pairs}
        return replace(releases[0], value=value, counts=_together(releases))

    return replace(every[0], answer=answer, accuracy=_of_all(every))


def _of_all(every: Sequence[Prepared]) -> Callable[[Fraction], Accuracy] | None:
    """How far off the answer of any group can be: each has an equal part of the failure."""
    one = every[0].accuracy
    if one is None:
        return None
    return lambda failure: replace(one(failure / len(every)), failure_probability=failure)


def _together(releases: Sequence[Release]) -> NoisyCounts | None:
    """The counts of all groups; their error is that of each group by itself."""
    stated = [release.counts for release in releases if release.counts is not None]
    if len(stated) < len(releases):
        return None
    totals = tuple(counts.total for counts in stated if isinstance(counts.total, int))
    values = tuple(counts.values for counts in stated)
    return replace(stated[0], values=values, total=totals or None)
