"""The items of a row: the value of a cell, or each of several where a cell is a ballot.

A ballot is a cell that holds a list, or text such as "chess; opera" that is split at a public
character. Each item of a ballot counts once for its person, however often it is listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.data.cell_numbers import kind_name
from discreet.data.lines import list_name
from discreet.data.spelling import require_spelling
from discreet.data.table import Table
from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.unit import OneRow, Unit

if TYPE_CHECKING:
    import narwhals as nw

# Characters that no engine takes for something else, neither in a pattern that escapes them nor in
# what a match is replaced by.
_SHOWN = ";,|/:+*.-_~^!?#%&@="
_LONGEST = 10_000
"""The most characters of a text that lists several items; a longer one lists none."""
_SPLITS = (*_SHOWN, "\t")
PERSON, ITEM = "__discreet_person", "__discreet_item"


@dataclass(frozen=True, slots=True)
class Items:
    """Where the items of a row are: in which column, and at which character its text is split, if it is."""

    column: str
    split: str | None = None

    def is_ballot(self, table: Table) -> bool:
        """Whether one cell can hold several items."""
        import narwhals as nw

        return self.split is not None or self._is_listed(table) or table.schema[self.column] == nw.List

    def _is_listed(self, table: Table) -> bool:
        """Whether the table has the cells as lists beside their text."""
        return self.split is None and self.column in table.listed

    def kind(self, table: Table) -> nw.dtypes.DType:
        """The type of one item."""
        import narwhals as nw

        kind = table.schema[self.column]
        inner = kind.inner if isinstance(kind, nw.List) else kind
        return inner() if isinstance(inner, type) else inner

    def rows(self, table: Table, unit: Unit) -> nw.LazyFrame[Any]:
        """Rows of a person and an item, without those where one of them is empty."""
        import narwhals as nw

        kind = self.kind(table)
        rows = table.rows.select(*person_column(unit), self._cells(table, unit).alias(ITEM))
        rows = with_person(rows, table, unit)
        rows = rows.explode(ITEM) if self.is_ballot(table) else rows
        if kind in (nw.Categorical, nw.Enum):
            # Categories of two tables can only be compared as text.
            rows = rows.with_columns(nw.col(ITEM).cast(nw.String))
        rows = rows.filter(~nw.col(ITEM).is_null())
        if self.split is not None:
            rows = rows.filter(nw.col(ITEM) != "")
        return rows.filter(nw.col(ITEM).is_finite()) if kind.is_float() else rows

    def _cells(self, table: Table, unit: Unit) -> nw.Expr:
        """The cells; lists of them where they are ballots."""
        import narwhals as nw

        cells: nw.Expr = nw.col(list_name(self.column) if self._is_listed(table) else self.column)
        if self.split is not None:
            cells = _pieces(cells, table.schema[self.column], self.split)
        # A person's items are made different later; a row that is protected by itself has no name.
        once = isinstance(unit, OneRow) and self.is_ballot(table)
        return cells.list.unique() if once else cells


def _pieces(cells: nw.Expr, kind: nw.dtypes.DType, split: str) -> nw.Expr:
    """The pieces of a text, without the spaces around them."""
    import narwhals as nw

    text = cells if kind == nw.String else cells.cast(nw.String)
    # Patterns on long texts are slow on some engines, and too much for others.
    text = nw.when(text.str.len_chars() <= _LONGEST).then(text).otherwise(None)
    text = text.str.replace_all(rf" *{re.escape(split)} *", split)
    for spaces in ("^ +", " +$"):
        text = text.str.replace_all(spaces, "")
    return text.str.split(split)


def person_column(unit: Unit) -> list[nw.Expr]:
    """The person of each row, by a name of our own; nothing where rows are protected by themselves."""
    import narwhals as nw

    return [] if isinstance(unit, OneRow) else [nw.col(unit.column).alias(PERSON)]


def with_person(rows: nw.LazyFrame[Any], table: Table, unit: Unit) -> nw.LazyFrame[Any]:
    """Without the rows that belong to nobody: neither null nor NaN is a person."""
    import narwhals as nw

    if isinstance(unit, OneRow):
        return rows
    rows = rows.filter(~nw.col(PERSON).is_null())
    return rows.filter(~nw.col(PERSON).is_nan()) if table.schema[unit.column].is_float() else rows


def read_items(table: Table, column: str, split: str | None, owner: str) -> Items:
    """The items of this column, or a refusal where a cell cannot be looked into."""
    import narwhals as nw

    kind = table.schema[table.require(column, "column", owner)]
    if split is not None:
        _require_split(split, kind, owner)
    items = Items(column, split)
    if isinstance(kind, nw.List):
        _require_simple(items.kind(table), column, owner)
    else:
        _require_comparable(kind, column, owner)
    require_spelling(table, column, owner)
    return items


def _require_split(split: str, kind: nw.dtypes.DType, owner: str) -> None:
    import narwhals as nw

    if not isinstance(split, str) or split not in _SPLITS:
        raise ParameterTypeError(owner, "split", f"one of the characters {_SHOWN}", split)
    if kind not in (nw.String, nw.Categorical, nw.Enum):
        got = f"{split!r} for a column of {kind_name(kind)}"
        raise ParameterError(owner, "split", "left out where the column is not text", got)


def _require_comparable(kind: nw.dtypes.DType, column: str, owner: str) -> None:
    """Refuse cells that an engine cannot compare with every candidate: it would fail on some row."""
    import narwhals as nw

    known = kind in (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Date) or kind.is_numeric()
    if not known or kind == nw.UInt128:
        rule = "a column of text, numbers of at most 64 bits, truth values or dates"
        raise ParameterTypeError(owner, "column", rule, f"{column}, of {kind_name(kind)}")


def _require_simple(kind: nw.dtypes.DType, column: str, owner: str) -> None:
    """Refuse lists whose items engines compare in different ways, such as 0.0 and -0.0."""
    import narwhals as nw

    simple = kind in (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Date) or kind.is_integer()
    if not simple:
        rule = "lists of text, whole numbers, days or truth values, if it has lists"
        got = f"{column}, of lists of {kind_name(kind)}"
        raise ParameterTypeError(owner, "column", rule, got)
