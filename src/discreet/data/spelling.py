"""Text that an engine calls equal although it is spelled differently, by a collation.

Such an engine counts "Ada" and "ADA" under one of the two names, and which of them it takes may hang on a single row: one person
could move a whole count from one candidate to another. So such a column is refused, before anything is paid for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.data.table import Table
from discreet.errors import ParameterTypeError

if TYPE_CHECKING:
    import narwhals as nw

# Case, accents, spaces at the end, one character or two, wide letters, punctuation, digits, ligatures: what collations overlook.
_PAIRS = [("a", "A"), ("a", "á"), ("a", "a "), ("é", "e\u0301"), ("a", "\uff41"), ("a", "a-"), ("1", "01"), ("ss", "ß")]
_VALUE = "__discreet_value"
_HINT = 'Make it plain text in a query first: collate "C" in SQL, cast("string") on Spark.'


def require_spelling(table: Table, column: str, owner: str) -> None:
    """Refuse a column of text in which two different texts can be equal."""
    import narwhals as nw

    if column in table.plain or table.schema[column] != nw.String or table.frame.implementation.is_polars():
        return  # Polars knows no collations
    with table.turn:
        confused = _confuses(table, column)
    if confused:
        rule, hint = "without a collation in which different texts are equal", _HINT
        raise ParameterTypeError(owner, "column", rule, column, hint)
    table.plain.add(column)


def _confuses(table: Table, column: str) -> bool:
    """Whether the engine takes one text for another. No row is read: the largest of no texts is empty, but has their collation."""
    import narwhals as nw

    empty, largest = table.frame.head(0), nw.col(column).max().alias(_VALUE)
    try:
        answers = empty.select(largest).select(*map(_equal, range(len(_PAIRS)))).collect()
    except Exception:  # text that is more than text, as an enumeration of PostgreSQL; or else the engine is not there at all
        return _can_be_read(empty.select(column))
    return any(answers[name].to_list()[0] for name in answers.columns)


def _can_be_read(rows: nw.LazyFrame[Any]) -> bool:
    try:
        rows.collect()
    except Exception:
        return False  # the question itself will say so
    return True


def _equal(place: int) -> nw.Expr:
    import narwhals as nw

    one, other = _PAIRS[place]
    return (nw.col(_VALUE).fill_null(one) == other).alias(f"__discreet_{place}")
