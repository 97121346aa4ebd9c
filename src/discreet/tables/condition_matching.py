"""Conditions as an engine computes them: one expression on single rows that nothing in
a row can fail.

Negations are moved to the comparisons first, where each sign has its opposite: so an
engine never negates, and a comparison that is null (unknown) counts as not true
wherever it stands. What each comparison becomes depends on the type of the column,
which is public:

- whole numbers are compared with the whole number just above or below the value, if the
  type can hold it, and are all on one side of it otherwise;
- floats, decimals, and text that is a plain decimal number, are compared as floats; NaN
  is empty;
- text is compared as text; with a day, by its first ten characters where they look like
  a day;
- days and times are compared with days and times; a day stands for all of its times.

Everything that cannot be compared is a public mistake, and refused before anything is
charged.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from discreet.errors import ParameterError
from discreet.tables.conditions import (
    OPPOSITE,
    Among,
    And,
    Compare,
    Condition,
    Empty,
    Flag,
    Not,
    Or,
    Sign,
    Value,
)
from discreet.tables.items import cell_number, kind_name, native_kind, whole_limits
from discreet.tables.table import Table

if TYPE_CHECKING:
    import narwhals as nw

_SIGNS: dict[Sign, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LARGEST_WHOLE = 2**64
# A day within the ends of what 64 bits of nanoseconds hold, wherever a zone puts them.
_FIRST_NANOSECOND, _LAST_NANOSECOND = datetime(1677, 9, 23), datetime(2262, 4, 10)
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DAY_LENGTH = 10
# also within other types
_OF_SHAPES, _OF_MAPS = re.compile(r"\bGEOMETRY\b"), re.compile(r"\bMAP\(")
# names of categories, which can be made of rows
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_TRUTHS = {True: ["true", "True", "TRUE"], False: ["false", "False", "FALSE"]}


def matching(condition: Condition, table: Table) -> nw.Expr:
    """The condition as an expression on the rows of this table; true or null or false for each.

    What the engine cannot even plan is refused here, before anything is charged. No row
    is read.
    """
    import narwhals as nw

    try:
        with table.turn:
            matched = compiled(condition, table)
            if table.frame.implementation.is_ibis():
                # Only the database itself knows what it compares: an enumeration looks like text.
                table.frame.head(0).filter(matched).select(nw.len()).collect()
            else:
                table.frame.head(0).filter(matched).collect_schema()
    except ParameterError:
        raise
    except Exception:
        hint = f"The engine, {table.frame.implementation.name.lower()}, does not."
        rule = "one that the engine can compute"
        raise ParameterError("where", rule, str(condition), hint) from None
    return matched


def compiled(condition: Condition, table: Table) -> nw.Expr:
    """Compile a condition that the engine is known to plan."""
    return _Matcher(table).match(condition, negated=False)


def _takes_patterns(frame: nw.LazyFrame[Any], column: str) -> bool:
    """True if a database looks for a pattern in the texts of a column. No row is read: the
    largest of no texts is empty, but has their collation.
    """
    import narwhals as nw

    text = nw.col(column).max().fill_null("a")
    try:
        frame.head(0).select(text.alias(column)).select(nw.col(column).str.contains("a")).collect()
    except Exception:
        return False
    return True


class _Matcher:
    """From conditions to expressions, for one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def match(self, condition: Condition, *, negated: bool) -> nw.Expr:
        if isinstance(condition, Not):
            return self.match(condition.part, negated=not negated)
        if isinstance(condition, (And, Or)):
            parts = [self.match(part, negated=negated) for part in condition.parts]
            return _all(parts) if isinstance(condition, And) != negated else _any(parts)
        if isinstance(condition, Empty):
            empty = self._empty(condition.column)
            return ~empty if negated else empty
        if isinstance(condition, Among):
            return self._among(condition, negated=negated)
        if isinstance(condition, Flag):
            self._require_truths(condition.column)
        if isinstance(condition, Compare):
            sign = OPPOSITE[condition.sign] if negated else condition.sign
            return self._compare(condition.column, sign, condition.value)
        raise TypeError("an unknown kind of condition")

    def _require_truths(self, column: str) -> None:
        import narwhals as nw

        kind = self._kind(column)
        if kind != nw.Boolean:
            self._refuse(
                "compared with a value, or a column of truth values,",
                column,
                f"one of {kind_name(kind)}",
            )

    def _kind(self, column: str) -> nw.dtypes.DType:
        kind = self._table.schema[self._table.require(column, "where")]
        native = _QUOTED.sub("", native_kind(self._table, column))
        if native == "JSON":
            # It looks like text, but constants would be read as JSON, and fail on some row.
            self._refuse("left out, or made text in a query first,", column, "a column of JSON")
        if _OF_SHAPES.search(native):
            # DuckDB reads each cell, also where it is only asked whether it is empty.
            self._refuse("left out, or made bytes in a query first,", column, "one of geometry")
        if self._table.connection is None and _OF_MAPS.search(native):
            # What DuckDB reads from Arrow for somebody else fails on a key that is there twice.
            self._refuse("left out, or made a list in a query first,", column, "one of maps")
        return kind

    def _empty(self, column: str) -> nw.Expr:
        import narwhals as nw

        kind, cell = self._kind(column), nw.col(column)
        return cell.is_null() | cell.is_nan() if kind.is_float() else cell.is_null()

    def _among(self, condition: Among, *, negated: bool) -> nw.Expr:
        """Text by one look at the list; everything else value by value."""
        column, values = condition.column, condition.values
        if _is_text(self._kind(column)) and isinstance(values[0], str):
            found = self._cell_text(column).is_in(list(values))
            return ~found & _present(column) if negated else found & _present(column)
        sign: Sign = "!=" if negated else "="
        parts = [self._compare(column, sign, value) for value in values]
        return _all(parts) if negated else _any(parts)

    def _compare(self, column: str, sign: Sign, value: Value) -> nw.Expr:
        import narwhals as nw

        kind = self._kind(column)
        if kind.is_integer():
            return self._compare_whole(column, kind, sign, self._number(value, column))
        if kind.is_numeric():
            return self._compare_number(column, kind, sign, self._number(value, column))
        if kind == nw.Boolean:
            return self._compare_truth(column, sign, value)
        if kind == nw.Date:
            return _signed(nw.col(column), sign, self._constant_day(self._day(value, column)))
        if kind == nw.Datetime:
            return self._compare_moment(column, kind, sign, value)
        if _is_text(kind):
            return self._compare_text(column, kind, sign, value)
        rule = "about a column of numbers, text, days, times or truth values, or an is-null test"
        return self._refuse(rule, column, f"a column of {kind_name(kind)}")

    def _compare_whole(
        self, column: str, kind: nw.dtypes.DType, sign: Sign, value: Fraction
    ) -> nw.Expr:
        low, high = whole_limits(kind)
        if max(abs(low), high) > _LARGEST_WHOLE:
            # No engine takes a constant of more than 64 bits.
            if not -_LARGEST_WHOLE < value < _LARGEST_WHOLE:
                self._refuse("a number of at most 64 bits", column, value)
            # A type without a sign stays without one: engines cast its cells for a negative
            # constant.
            low, high = max(low, -_LARGEST_WHOLE), min(high, _LARGEST_WHOLE)
        return compare_whole(column, low, high, sign, value)

    def _compare_number(
        self, column: str, kind: nw.dtypes.DType, sign: Sign, value: Fraction
    ) -> nw.Expr:
        """Floats and decimals, against the nearest number that the column can hold."""
        import narwhals as nw

        if not kind.is_float():
            return _signed(cell_number(self._table, column), sign, float(value))
        near = float(np.float32(float(value))) if kind == nw.Float32 else float(value)
        if not math.isfinite(near):
            self._refuse("a number that such a column can hold", column, float(value))
        return _signed(nw.col(column).cast(nw.Float64), sign, near) & ~nw.col(column).is_nan()

    def _compare_truth(self, column: str, sign: Sign, value: Value) -> nw.Expr:
        import narwhals as nw

        words = {"true": True, "false": False}
        wanted = words.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(wanted, bool) or sign not in ("=", "!="):
            self._refuse("= or != with true or false", column, value)
        return _signed(nw.col(column), sign, wanted)

    def _compare_moment(
        self, column: str, kind: nw.dtypes.DType, sign: Sign, value: Value
    ) -> nw.Expr:
        """Times, with or without a zone: a value must have a zone exactly where the
        column has one.
        """

        zoned = getattr(kind, "time_zone", None) is not None
        moment = self._moment(value, column)
        if isinstance(moment, datetime):
            if (moment.tzinfo is not None) != zoned:
                rule = "a time with its zone, such as '2025-03-01 09:30+00:00'," if zoned else ""
                self._refuse(rule or "a time without a zone", column, str(moment))
            return _compare_time(column, kind, sign, moment)
        if zoned:
            rule = "a time with its zone, such as '2025-03-01 00:00+00:00'"
            self._refuse(rule, column, str(moment))
        return _compare_days(column, kind, sign, moment)

    def _compare_text(
        self, column: str, kind: nw.dtypes.DType, sign: Sign, value: Value
    ) -> nw.Expr:
        if isinstance(value, (Fraction, date)):
            self._require_patterns(column)
        if isinstance(value, Fraction):
            self._require_numbers(column, value)
            return _signed(cell_number(self._table, column), sign, float(value))
        text = self._cell_text(column)
        if isinstance(value, bool):
            if sign not in ("=", "!="):
                self._refuse("= or != with true or false", column, value)
            return _any([text == word for word in _TRUTHS[value == (sign == "=")]])
        if isinstance(value, datetime):
            self._refuse("a day or text, as the column is text", column, str(value))
        if isinstance(value, date):
            return _signed(_day_of(text), sign, value.isoformat())
        return _signed(text, sign, value)

    def _require_numbers(self, column: str, value: Fraction) -> None:
        """Refuse text of which nobody has said how its numbers are written."""
        if column not in self._table.numbers_in_text:
            rule = "text in quotes, or a number where text is said to have numbers,"
            hint = f"{self._table.numbers_hint} Or compare it with text: '{value}' in quotes."
            self._refuse(rule, column, value, hint)

    def _require_patterns(self, column: str) -> None:
        """Refuse text that a database cannot look for a pattern in, because of its collation:
        PostgreSQL would find that out when it meets a row.
        """
        table = self._table
        if not table.frame.implementation.is_ibis():
            return
        if not table.once(("patterns", column), lambda: _takes_patterns(table.frame, column)):
            rule = 'compared with text, or made plain text in a query first (collate "C"),'
            self._refuse(rule, column, "text in which the database looks for no pattern")

    def _cell_text(self, column: str) -> nw.Expr:
        import narwhals as nw

        cell = nw.col(column)
        return cell if self._kind(column) == nw.String else cell.cast(nw.String)

    def _number(self, value: Value, column: str) -> Fraction:
        if not isinstance(value, Fraction):
            self._refuse("a number, without quotes,", column, value)
        return value

    def _day(self, value: Value, column: str) -> date:
        day = _parsed(date, value) if isinstance(value, str) else value
        if not isinstance(day, date) or isinstance(day, datetime):
            self._refuse("a day such as '2025-03-01'", column, value)
        return day

    def _constant_day(self, day: date) -> object:
        """A day as a constant. Spark cannot take every day from Python, but can read it."""
        import narwhals as nw

        if not self._table.frame.implementation.is_spark_like():
            return day
        return nw.lit(day.isoformat()).cast(nw.Date)

    def _moment(self, value: Value, column: str) -> date:
        """A time, or a day for the whole of it."""
        moment: object = value
        if isinstance(value, str):
            moment = _parsed(date, value) if re.fullmatch(_DAY, value) else _parsed(datetime, value)
        if not isinstance(moment, date):
            self._refuse("a day or a time such as '2025-03-01 09:30'", column, value)
        return moment

    def _refuse(self, rule: str, column: str, got: object, hint: str = "") -> NoReturn:
        named = got if isinstance(got, (str, bool)) else str(got)
        raise ParameterError("where", f"{rule} for the column {column!r}", named, hint)


def _signed(cell: nw.Expr, sign: Sign, value: object) -> nw.Expr:
    compared: nw.Expr = _SIGNS[sign](cell, value)
    return compared


def compare_whole(column: str, low: int, high: int, sign: Sign, value: Fraction) -> nw.Expr:
    """Whole numbers from `low` to `high`, without a cast: the value becomes one of them."""
    import narwhals as nw

    if sign in ("=", "!="):
        possible = value.denominator == 1 and low <= value <= high
        if possible:
            return _signed(nw.col(column), sign, int(value))
        return _never(column) if sign == "=" else _present(column)
    if sign in ("<", ">="):
        # a < 2.5 is a < 3, and a >= 2.5 is a >= 3
        edge = math.ceil(value)
        if low < edge <= high:
            return _signed(nw.col(column), sign, edge)
        return _present(column) if (sign == "<") == (edge > high) else _never(column)
    # a <= 2.5 is a <= 2, and a > 2.5 is a > 2
    edge = math.floor(value)
    if low <= edge < high:
        return _signed(nw.col(column), sign, edge)
    return _present(column) if (sign == "<=") == (edge >= high) else _never(column)


def _compare_time(column: str, kind: nw.dtypes.DType, sign: Sign, moment: datetime) -> nw.Expr:
    """Times against a time. In nanoseconds a type holds the years 1677 to 2262 only: an
    engine would fail to cast an earlier or later constant as soon as a row met it.
    """
    import narwhals as nw

    if getattr(kind, "time_unit", "us") == "ns":
        plain = moment.replace(tzinfo=None)
        if not _FIRST_NANOSECOND < plain < _LAST_NANOSECOND:
            early = plain <= _FIRST_NANOSECOND
            holds = sign == "!=" or ((sign in (">", ">=")) == early and sign != "=")
            return _present(column) if holds else _never(column)
    return _signed(nw.col(column), sign, moment)


def _compare_days(column: str, kind: nw.dtypes.DType, sign: Sign, day: date) -> nw.Expr:
    """Times against a day, which stands for all of its times."""

    def compared(sign: Sign, moment: datetime) -> nw.Expr:
        return _compare_time(column, kind, sign, moment)

    start = datetime.combine(day, time.min)
    # The last day that Python knows has no next one.
    end = None if day == date.max else start + timedelta(days=1)
    before, since = compared("<", start), compared(">=", start)
    after = _never(column) if end is None else compared(">=", end)
    until = _present(column) if end is None else compared("<", end)
    ways = {"<": before, ">=": since, "<=": until, ">": after}
    if sign == "=":
        return since & until
    return before | after if sign == "!=" else ways[sign]


def _day_of(text: nw.Expr) -> nw.Expr:
    """The day at the beginning of a text; null where there is none."""
    import narwhals as nw

    # The slice first: a pattern on a text of gigabytes can be too much for an engine.
    head = text.str.slice(0, _DAY_LENGTH)
    return nw.when(head.str.contains(_DAY)).then(head).otherwise(None)


def _present(column: str) -> nw.Expr:
    import narwhals as nw

    return ~nw.col(column).is_null()


def _never(column: str) -> nw.Expr:
    """False for each row, as an expression on rows and not as a constant."""
    import narwhals as nw

    return nw.col(column).is_null() & ~nw.col(column).is_null()


def _all(parts: list[nw.Expr]) -> nw.Expr:
    return reduce(operator.and_, parts)


def _any(parts: list[nw.Expr]) -> nw.Expr:
    return reduce(operator.or_, parts)


def _is_text(kind: nw.dtypes.DType) -> bool:
    import narwhals as nw

    return kind in (nw.String, nw.Enum)


def _parsed(kind: type[date], text: str) -> date | None:
    try:
        return kind.fromisoformat(text)
    except ValueError:
        return None
