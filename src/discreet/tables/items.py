"""What stands in a cell: its number, its text, or the items of a ballot.

A number in text has one pattern, and a cast to it never fails.

Some engines call texts equal that are spelled differently, by a collation. Such an
engine counts "Ada" and "ADA" under one of the two names, and which of them it takes may
hang on a single row: one person could move a whole count from one candidate to another.
So such a column is refused, before anything is paid for.

A ballot is a cell that holds a list, or text such as "chess; opera" that is split at a
public character. Each item of a ballot counts once for its person, however often it is
listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.parameters import OneRow, Unit
from discreet.tables.lines import NO_TEXT, list_name
from discreet.tables.postgresql_rows import is_postgresql, with_bytes_compared
from discreet.tables.table import Table, as_frame

if TYPE_CHECKING:
    import narwhals as nw

# What counts as a number in a text column: short enough that no engine overflows or refuses it.
# Engines do not agree on where a text ends ($ may stand before a line break) and on what is a
# space, so other characters are ruled out one by one.
_NUMBER = r"^ *[+-]?[0-9]{1,25}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})? *$"
_NEVER_IN_A_NUMBER = r"[^0-9eE+. -]"
_LONGEST_NUMBER = 1000
"""The most characters of a number in text, spaces included."""
_LARGEST_DECIMAL, _SMALLEST_DECIMAL = 2**62, Decimal("1e-300")


def cell_number(table: Table, column: str) -> nw.Expr:
    """The column as finite floats, null where there is none."""
    import narwhals as nw

    value, kind = nw.col(column), table.schema[column]
    if kind == nw.Enum:
        value = value.cast(nw.String)
    if kind in (nw.String, nw.Enum):
        value = _plain_decimal(value, table.decimal)
    elif kind == nw.Decimal and table.frame.implementation.is_ibis():
        value = _within_floats(value)
    value = value.cast(nw.Float64)
    return nw.when(value.is_finite()).then(value).otherwise(None)


def _plain_decimal(text: nw.Expr, point: str) -> nw.Expr:
    """Text that is a plain decimal number, in the spelling that every engine can read;
    else null.

    point: what is between its whole part and the rest. With a comma, text with a point is
        no number: it may stand between thousands.
    """
    import narwhals as nw

    # A pattern on a text of gigabytes can be too much for an engine, so longer ones are
    # gone before it.
    short = nw.when(text.str.len_chars() <= _LONGEST_NUMBER).then(text).otherwise(None)
    if point == ",":
        plain = nw.when(~short.str.contains(".", literal=True)).then(short).otherwise(None)
        short = plain.str.replace_all(",", ".", literal=True)
    right = short.str.contains(_NUMBER) & ~short.str.contains(_NEVER_IN_A_NUMBER)
    plain = nw.when(right).then(short).otherwise(None)
    for dispensable in (" ", "+"):
        plain = plain.str.replace_all(dispensable, "", literal=True)
    return plain


def _within_floats(value: nw.Expr) -> nw.Expr:
    """PostgreSQL's numeric has NaN, infinities, and numbers that its floats refuse."""
    import narwhals as nw

    small = (value >= -_LARGEST_DECIMAL) & (value <= _LARGEST_DECIMAL)
    value = nw.when(small).then(value).otherwise(None)
    tiny = (value > -_SMALLEST_DECIMAL) & (value < _SMALLEST_DECIMAL)
    return nw.when(tiny).then(0).otherwise(value)


def require_number(table: Table, column: str) -> None:
    """Refuse a column that can have no numbers in it."""
    import narwhals as nw

    kind = table.schema[table.require(column, "column")]
    if not (kind == nw.String or kind.is_numeric()):
        got = f"{column}, of {kind_name(kind)}"
        raise ParameterTypeError("column", "a column of numbers or of text", got)
    if kind == nw.String and column not in table.numbers_in_text:
        rule, got = "a column of numbers, or text that is said to have them", f"{column}, of text"
        raise ParameterTypeError("column", rule, got, table.numbers_hint)
    require_spelling(table, column)


def kind_name(kind: nw.dtypes.DType) -> str:
    """The name of a type without what is inside: categories and fields may be private."""
    return str(kind.base_type().__name__)


def shown_kind(kind: nw.dtypes.DType) -> str:
    """A type for people to read, without the categories that it may have."""
    import narwhals as nw

    if isinstance(kind, (nw.List, nw.Array)):
        return f"{kind_name(kind)}({shown_kind(_made(kind.inner))})"
    if isinstance(kind, nw.Struct):
        parts = (f"{each.name!r}: {shown_kind(_made(each.dtype))}" for each in kind.fields)
        return f"Struct({{{', '.join(parts)}}})"
    return kind_name(kind) if isinstance(kind, nw.Enum) else str(kind)


def _made(kind: Any) -> nw.dtypes.DType:
    """A type within another one, which may be the class or one of it."""
    made: nw.dtypes.DType = kind() if isinstance(kind, type) else kind
    return made


def native_kind(table: Table, column: str) -> str:
    """What the engine itself calls the type of a column, where Narwhals has fewer names
    for them.
    """
    native, engine = table.frame.to_native(), table.frame.implementation
    if engine.is_duckdb() and column in native.columns:
        return str(native.types[native.columns.index(column)])
    # Ibis marks columns without empty cells
    return str(native.schema()[column]).upper().lstrip("!") if engine.is_ibis() else ""


def whole_limits(kind: nw.dtypes.DType) -> tuple[int, int]:
    """The smallest and the largest number of a type of whole numbers."""
    bits = int(re.sub(r"\D", "", kind_name(kind)))
    signed = kind.is_signed_integer()
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


# Case, accents, spaces at the end, one character or two, wide letters, punctuation, digits,
# ligatures: what collations overlook.
_PAIRS = [
    ("a", "A"),
    ("a", "á"),
    ("a", "a "),
    ("é", "e\u0301"),
    ("a", "\uff41"),
    ("a", "a-"),
    ("1", "01"),
    ("ss", "ß"),
]
_VALUE = "__discreet_value"
_OF_JSON = re.compile(r"JSON(\[\d*\])*")
_HINT = 'Convert it to plain text in a query first: collate "C" in SQL, cast("string") on Spark.'


def require_spelling(table: Table, column: str) -> None:
    """Refuse a column of text, or of lists of text, in which two different texts can be equal."""
    if _OF_JSON.fullmatch(native_kind(table, column)):
        # It looks like text, but candidates would be read as JSON, and fail on some row.
        rule, got = "converted to text in a query first, if it is JSON", column
        raise ParameterTypeError("column", rule, got)
    if column in table.plain or not _is_of_text(table.schema[column]):
        return
    with table.turn:
        confused = _confuses(table, column)
    if confused is None:
        rule, hint = "text whose collation the engine can be asked for", "Ask again later."
        raise ParameterError("column", rule, column, hint)
    if confused:
        rule, hint = "without a collation in which different texts are equal", _HINT
        raise ParameterTypeError("column", rule, column, hint)
    table.plain.add(column)


def _is_of_text(kind: nw.dtypes.DType) -> bool:
    """True if cells are text, or lists of it."""
    import narwhals as nw

    inner = kind.inner if isinstance(kind, nw.List) else kind
    return bool(inner == nw.String)


def _confuses(table: Table, column: str) -> bool | None:
    """True if the engine takes one text for another; None where it cannot be asked. No row is
    read: the largest of no texts is empty, but has their collation.
    """
    import narwhals as nw

    empty = table.frame.head(0).select(nw.col(column).alias(_VALUE))
    texts = empty.explode(_VALUE) if isinstance(table.schema[column], nw.List) else empty
    largest = texts.select(nw.col(_VALUE).max())
    try:
        answers = largest.select(*map(_equal, range(len(_PAIRS)))).collect()
    except Exception:
        # text that is more than text, as an enumeration of PostgreSQL; or else the
        # engine is not there at all
        return _can_be_read(empty) or None
    return any(answers[name].to_list()[0] for name in answers.columns)


def _can_be_read(rows: nw.LazyFrame[Any]) -> bool:
    try:
        rows.collect()
    except Exception:
        return False
    return True


def _equal(place: int) -> nw.Expr:
    import narwhals as nw

    one, other = _PAIRS[place]
    return (nw.col(_VALUE).fill_null(one) == other).alias(f"__discreet_{place}")


# Characters that no engine takes for something else, neither in a pattern that escapes them nor in
# what a match is replaced by.
_SHOWN = ";,|/:+*.-_~^!?#%&@="
_LONGEST_BALLOT = 10_000
"""The most characters of a text that lists several items; a longer one lists none."""
_SPLITS = (*_SHOWN, "\t")
PERSON, ITEM = "__discreet_person", "__discreet_item"


class Labels(list[Any]):
    """Public labels of one question, which nobody changes any more. A long list takes as
    long to look through as its rows to count, so what all labels have in common is
    found once.
    """

    @cached_property
    def kinds(self) -> frozenset[type]:
        """The types of the labels."""
        return frozenset(map(type, self))

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """The smallest and the largest label."""
        return min(self), max(self)


@dataclass(frozen=True, slots=True)
class Items:
    """Where the items of a row are: in which column, and at which character its text is
    split, if it is.
    """

    column: str
    split: str | None = None

    def is_ballot(self, table: Table) -> bool:
        """True if one cell can hold several items."""
        import narwhals as nw

        return (
            self.split is not None or self._is_listed(table) or table.schema[self.column] == nw.List
        )

    def _is_listed(self, table: Table) -> bool:
        """True if the table has the cells as lists beside their text."""
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
        if kind == nw.Enum:
            # Categories of two tables can only be compared as text.
            rows = rows.with_columns(nw.col(ITEM).cast(nw.String))
        if kind == nw.String and rows.implementation.is_ibis():
            rows = _compared_by_bytes(rows)
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


def _compared_by_bytes(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The items without a collation that the database may have been given after it was asked."""
    native = rows.to_native()
    return as_frame(with_bytes_compared(native, ITEM)) if is_postgresql(native) else rows


def _pieces(cells: nw.Expr, kind: nw.dtypes.DType, split: str) -> nw.Expr:
    """The pieces of a text, without the spaces around them."""
    import narwhals as nw

    text = cells if kind == nw.String else cells.cast(nw.String)
    # Patterns on long texts are slow on some engines, and too much for others.
    text = nw.when(text.str.len_chars() <= _LONGEST_BALLOT).then(text).otherwise(None)
    text = text.str.replace_all(rf" *{re.escape(split)} *", split)
    for spaces in ("^ +", " +$"):
        text = text.str.replace_all(spaces, "")
    return text.str.split(split)


def person_column(unit: Unit) -> list[nw.Expr]:
    """The person of each row, under an internal name; nothing where rows are protected by
    themselves.
    """
    import narwhals as nw

    return [] if isinstance(unit, OneRow) else [nw.col(unit.column).alias(PERSON)]


def with_person(rows: nw.LazyFrame[Any], table: Table, unit: Unit) -> nw.LazyFrame[Any]:
    """Without the rows that belong to nobody: null, NaN and, in a file, what is no text are no
    person.
    """
    import narwhals as nw

    if isinstance(unit, OneRow):
        return rows
    rows = rows.filter(~nw.col(PERSON).is_null())
    if table.reader is not None:
        rows = rows.filter(~nw.col(PERSON).str.contains(NO_TEXT, literal=True))
    return rows.filter(~nw.col(PERSON).is_nan()) if table.schema[unit.column].is_float() else rows


def read_items(table: Table, column: str, split: str | None) -> Items:
    """The items of this column, or a refusal where a cell cannot be looked into."""
    import narwhals as nw

    kind = table.schema[table.require(column, "column")]
    if split is not None:
        _require_split(split, kind)
    items = Items(column, split)
    if isinstance(kind, nw.List):
        _require_simple(items.kind(table), column)
    else:
        _require_comparable(kind, column)
    require_spelling(table, column)
    return items


def read_split(split: Any, name: str) -> str:
    """The character between the items of a cell."""
    if not isinstance(split, str) or split not in _SPLITS:
        raise ParameterTypeError(name, f"one of the characters {_SHOWN}", split)
    return split


def _require_split(split: str, kind: nw.dtypes.DType) -> None:
    import narwhals as nw

    read_split(split, "split")
    if kind not in (nw.String, nw.Enum):
        got = f"{split!r} for a column of {kind_name(kind)}"
        raise ParameterError("split", "left out if the column is not text", got)


def _require_comparable(kind: nw.dtypes.DType, column: str) -> None:
    """Refuse cells that an engine cannot compare with every candidate: it would fail on
    some row.
    """
    import narwhals as nw

    known = kind in (nw.String, nw.Enum, nw.Boolean, nw.Date) or kind.is_numeric()
    if not known or kind == nw.UInt128:
        rule = "a column of text, numbers of at most 64 bits, truth values or dates"
        hint = "Convert it to days first." if kind == nw.Datetime else ""
        raise ParameterTypeError("column", rule, f"{column}, of {kind_name(kind)}", hint)


def _require_simple(kind: nw.dtypes.DType, column: str) -> None:
    """Refuse lists whose items engines compare in different ways, such as 0.0 and -0.0."""
    import narwhals as nw

    simple = kind in (nw.String, nw.Enum, nw.Boolean, nw.Date) or kind.is_integer()
    if not simple or kind == nw.UInt128:
        rule = "lists of text, whole numbers, days or truth values, if it has lists"
        got = f"{column}, of lists of {kind_name(kind)}"
        raise ParameterTypeError("column", rule, got)
