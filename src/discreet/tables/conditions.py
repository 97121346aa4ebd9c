"""Which rows count: a typed tree of conditions, total by construction.

A condition compares the cells of one row with public values, and says nothing about
other rows. Nothing in a row can make it fail: a cell that is empty, or that cannot be
compared with the value, leaves the comparison *unknown*; `not` of unknown is unknown,
as in SQL; and a row counts only where the whole condition is true.

The same tree is written in two ways, which mean the same: as text, `age >= 30 and
role = 'nurse'` (condition_language.py), and with this builder, `column("age") >= 30`.
condition_matching.py turns the tree into what an engine computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NoReturn

import numpy as np

from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.literals import Closed

Sign = Literal["=", "!=", "<", "<=", ">", ">="]
Value = Fraction | str | bool | date
"""A public value: a number (exact), text, a truth value, a day, or a time (a `datetime`)."""

OPPOSITE: dict[Sign, Sign] = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""What is true of a comparable cell exactly where the sign is not."""

MOST_VALUES = 1000
MOST_COMPARISONS = 100
DEEPEST = 50
_VALUES = "a public value: a number, text, a truth value, a day or a time"
_LARGEST = Fraction(10) ** 300
_FINEST = 1000
"""How many digits a number may have, at most, before and after the point."""


class Condition:
    """A condition on single rows. Combine with `&`, `|` and `~`.

    >>> (column("age") >= 30) & ~column("role").is_in(["nurse", "pilot"])
    <condition: age >= 30 and not role in ('nurse', 'pilot')>
    """

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return And((*_parts(self, And), *_parts(_condition(other), And)))

    def __or__(self, other: Condition) -> Condition:
        return Or((*_parts(self, Or), *_parts(_condition(other), Or)))

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise ParameterTypeError(
            "and",
            "written as & (or: |, not: ~), with each comparison in parentheses",
            "a truth value",
            "Instead of 30 <= age < 50, write is_between(30, 50, closed='left').",
            owner="a condition",
        )

    def __repr__(self) -> str:
        return f"<condition: {self}>"

    def comparisons(self) -> Iterator[Compare | Among | Empty]:
        """Every comparison of the tree, from left to right."""
        raise TypeError  # pragma: no cover (each kind has its own)

    def depth(self) -> int:
        """How deeply conditions are nested in each other."""
        return 1

    @property
    def columns(self) -> list[str]:
        """The columns that the condition looks at, each once, in order."""
        return list(dict.fromkeys(part.column for part in self.comparisons()))


@dataclass(frozen=True, slots=True, repr=False)
class Compare(Condition):
    """A cell of a column is equal to, below or above a public value."""

    column: str
    sign: Sign
    value: Value

    def comparisons(self) -> Iterator[Compare | Among | Empty]:
        """This one."""
        yield self

    def __str__(self) -> str:
        return f"{quoted_name(self.column)} {self.sign} {written(self.value)}"


class Flag(Compare):
    """A column of truth values by itself, as a condition: true where its cell is. No
    other column will do.
    """

    __slots__ = ()

    def __init__(self, column: str) -> None:
        super().__init__(column, "=", True)


@dataclass(frozen=True, slots=True, repr=False)
class Among(Condition):
    """A cell of a column is equal to one of several public values."""

    column: str
    values: tuple[Value, ...]

    def comparisons(self) -> Iterator[Compare | Among | Empty]:
        """This one."""
        yield self

    def __str__(self) -> str:
        return f"{quoted_name(self.column)} in ({', '.join(map(written, self.values))})"


@dataclass(frozen=True, slots=True, repr=False)
class Empty(Condition):
    """A cell of a column is empty: null, or NaN in a column of floats. Never unknown."""

    column: str

    def comparisons(self) -> Iterator[Compare | Among | Empty]:
        """This one."""
        yield self

    def __str__(self) -> str:
        return f"{quoted_name(self.column)} is null"


@dataclass(frozen=True, slots=True, repr=False)
class And(Condition):
    """Every part holds."""

    parts: tuple[Condition, ...]

    def comparisons(self) -> Iterator[Compare | Among | Empty]:
        """Those of all parts."""
        for part in self.parts:
            yield from part.comparisons()

    def depth(self) -> int:
        """One more than the deepest part."""
        return 1 + max(part.depth() for part in self.parts)

    def __str__(self) -> str:
        return " and ".join(_bracketed(part, Or, And) for part in self.parts)


@dataclass(frozen=True, slots=True, repr=False)
class Or(Condition):
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def comparisons(self) -> Iterator[Compare | Among | Empty]:
        """Those of all parts."""
        for part in self.parts:
            yield from part.comparisons()

    def depth(self) -> int:
        """One more than the deepest part."""
        return 1 + max(part.depth() for part in self.parts)

    def __str__(self) -> str:
        return " or ".join(_bracketed(part, Or) for part in self.parts)


@dataclass(frozen=True, slots=True, repr=False)
class Not(Condition):
    """The part is false. Where the part is unknown, so is this."""

    part: Condition

    def comparisons(self) -> Iterator[Compare | Among | Empty]:
        """Those of the part."""
        yield from self.part.comparisons()

    def depth(self) -> int:
        """One more than the part."""
        return 1 + self.part.depth()

    def __str__(self) -> str:
        return f"not {_bracketed(self.part, Or, And, Not)}"


class Column:
    """A column of a table, to compare with public values: see `discreet.column`."""

    __slots__ = ("_name",)
    # A comparison makes a condition, so two columns are never simply equal.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ParameterTypeError("name", "the name of a column", name, owner="column")
        self._name = name

    def __repr__(self) -> str:
        return f"column({self._name!r})"

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compare("=", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compare("!=", value)

    def __lt__(self, value: object) -> Condition:
        return self._compare("<", value)

    def __le__(self, value: object) -> Condition:
        return self._compare("<=", value)

    def __gt__(self, value: object) -> Condition:
        return self._compare(">", value)

    def __ge__(self, value: object) -> Condition:
        return self._compare(">=", value)

    def is_in(self, values: Iterable[object]) -> Condition:
        """True if a cell is one of these public values."""
        with called_as(repr(self)):
            return Among(self._name, read_values(values, "values"))

    def is_between(self, low: object, high: object, *, closed: Closed = "both") -> Condition:
        """True if a cell is from `low` to `high`; closed: which of the two belong to it."""
        if closed not in _CLOSED:
            rule = "one of " + ", ".join(map(repr, _CLOSED))
            raise ParameterError("closed", rule, closed, owner=repr(self))
        with called_as(repr(self)):
            bounds = [read_value(value, "bounds") for value in (low, high)]
        return between(self._name, *bounds, closed=closed)

    def is_null(self) -> Condition:
        """True if a cell is empty."""
        return Empty(self._name)

    def _compare(self, sign: Sign, value: object) -> Condition:
        with called_as(repr(self)):
            return Compare(self._name, sign, read_value(value, "value"))


def column(name: str) -> Column:
    """A column of a table, for a condition on rows: `where=(column("age") >= 30)`.

    Compare with `==`, `!=`, `<`, `<=`, `>`, `>=`, `is_in`, `is_between` and `is_null`,
    and combine with `&`, `|` and `~`. Values are public: numbers, text, truth values,
    days and times.

    Privacy: a row counts or not because of that row alone, and no row makes the
        question fail.

    >>> column("role").is_in(["nurse", "pilot"]) & (column("age") >= 30)
    <condition: role in ('nurse', 'pilot') and age >= 30>
    """
    return Column(name)


_CLOSED: dict[str, tuple[Sign, Sign]] = {
    "both": (">=", "<="),
    "left": (">=", "<"),
    "right": (">", "<="),
    "none": (">", "<"),
}


def between(column: str, low: Value, high: Value, *, closed: Closed = "both") -> Condition:
    """True if a cell is from `low` to `high`."""
    bounds = zip(_CLOSED[closed], (low, high), strict=True)
    return And(tuple(Compare(column, sign, bound) for sign, bound in bounds))


def days_within(
    column: str, intervals: Sequence[tuple[date, date]], *, zoned: bool = False
) -> Condition:
    """True if a cell is in one of several stretches of days, each from its first day to
    the one after its last.

    zoned: whether the column's times have a zone; a day is then a day in UTC.
    """

    def edge(day: date) -> date:
        return datetime(day.year, day.month, day.day, tzinfo=UTC) if zoned else day

    parts = [
        And((Compare(column, ">=", edge(first)), Compare(column, "<", edge(after))))
        for first, after in intervals
    ]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def require_reasonable(condition: Condition) -> Condition:
    """Refuse a condition that is too large for every engine to plan."""
    try:
        deepest, comparisons = condition.depth(), sum(1 for _ in condition.comparisons())
    except RecursionError:
        deepest, comparisons = DEEPEST + 1, 0
    if deepest > DEEPEST + 1:
        rule = f"at most {DEEPEST} nested conditions"
        raise ParameterError("where", rule, "more")
    if comparisons > MOST_COMPARISONS:
        rule = f"of at most {MOST_COMPARISONS} comparisons"
        raise ParameterError("where", rule, comparisons, "For many values of one column, use 'in'.")
    return condition


def read_value(value: object, name: str) -> Value:
    """A public value as the tree holds it: exact, or refused."""
    if isinstance(value, np.datetime64):
        # Nanoseconds have no time in Python: they would become a number.
        value = value.astype("datetime64[us]")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _text(value, name)
    if isinstance(value, (bool, date)):
        return value
    if isinstance(value, (int, float, Decimal, Fraction)):
        return _number(value, name)
    hint = "Conditions compare a column with public values, not with other columns or rows."
    if value is None:
        hint = "For empty cells, use is_null() or 'is null'."
    raise ParameterTypeError(name, _VALUES, value, hint)


def read_values(values: Iterable[object], name: str) -> tuple[Value, ...]:
    """Public values, each once, at least one, all of one kind."""
    if not isinstance(values, (list, tuple, set, frozenset, range)):
        raise ParameterTypeError(name, "a list of public values", values)
    if not 1 <= len(values) <= MOST_VALUES:
        raise ParameterError(name, f"1 to {MOST_VALUES} values", len(values))
    every = [read_value(value, name) for value in values]
    # Before equal ones are made one: True is equal to 1, and not the same value.
    if len({_kind(value) for value in every}) > 1:
        raise ParameterTypeError(name, "values of one kind", "several kinds")
    read = tuple(dict.fromkeys(every))
    # The order of a set is not the same tomorrow.
    return tuple(sorted(read, key=written)) if isinstance(values, (set, frozenset)) else read


def _kind(value: Value) -> type:
    return next(kind for kind in (bool, str, Fraction, datetime, date) if isinstance(value, kind))


def _text(value: str, name: str) -> str:
    """Text that every engine can hold: without half of a surrogate pair, without the
    character 0.
    """
    try:
        plain = b"\0" not in value.encode()
    except UnicodeEncodeError:
        plain = False
    if not plain:
        raise ParameterError(name, "text without the character 0 or half characters", "another")
    return value


def _number(value: int | float | Decimal | Fraction, name: str) -> Fraction:
    """The number that was written: a float means the decimal that it prints as."""
    # As a float, a decimal of 1e999 would be infinite, and a signalling NaN an error of its own.
    infinite = isinstance(value, Decimal) and not value.is_finite()
    if infinite or (isinstance(value, float) and not math.isfinite(value)):
        raise ParameterError(name, "a finite number", value)
    # A decimal such as 1e999999999 would fill the memory with zeros.
    if isinstance(value, Decimal) and abs(value.adjusted()) > _FINEST:
        raise ParameterError(name, "a number up to 1e300", "another")
    exact = Fraction(repr(value)) if type(value) is float else Fraction(value)
    if abs(exact) > _LARGEST or exact.denominator.bit_length() > 4 * _FINEST:
        raise ParameterError(name, "a number up to 1e300", "another")
    return exact


def _condition(other: object) -> Condition:
    if not isinstance(other, Condition):
        raise ParameterTypeError("other", "a condition", other, owner="a condition")
    return other


def _parts(condition: Condition, kind: type[And] | type[Or]) -> tuple[Condition, ...]:
    """The parts of an `and` or `or`, so that a long chain of them stays flat."""
    return condition.parts if isinstance(condition, kind) else (condition,)


def _bracketed(part: Condition, *kinds: type) -> str:
    return f"({part})" if isinstance(part, kinds) else str(part)


def quoted_name(name: str) -> str:
    """The name of a column as the language of conditions writes it."""
    plain = name.isidentifier() and name.lower() not in KEYWORDS
    return name if plain else '"' + name.replace('"', '""') + '"'


KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "between", "true", "false"})
"""Words of the language, which a column can be called only in quotes."""


def written(value: Value) -> str:
    """A value as the language of conditions writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"timestamp '{value.isoformat(sep=' ')}'"
    return f"date '{value.isoformat()}'" if isinstance(value, date) else str(value)
