"""The kinds of values that parameters of questions have.

A kind reads a value once, at the entry point: from Python, from text that a person typed,
or from JSON. Nothing below the entry point checks it again. A kind reads its own result
unchanged, because an entry point reads first and the question reads again.

The type of a parameter is `Annotated[what type checkers see, its kind]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from discreet.errors import Hidden, ParameterError, ParameterTypeError, read_each
from discreet.exact.rationals import (
    Number,
    choice,
    count,
    exact_binary,
    exact_decimal,
    lower_and_upper,
    positive,
    require_flag,
)
from discreet.mechanisms.grid import (
    plain_number,
    read_amount,
    read_point_list,
    read_share,
    read_shares,
)
from discreet.mechanisms.rows import MOST_COLUMNS
from discreet.privacy.parameters import Slot, read_delta, read_epsilon
from discreet.questions.row_filters import condition_of, is_filter
from discreet.tables.candidates import PublicTable, read_labels
from discreet.tables.condition_language import Where, read_where
from discreet.tables.conditions import Condition
from discreet.tables.items import Labels, read_split
from discreet.tables.table import read_name

Reader = Callable[[Any, str], Any]
"""Reads a value: from the value and the name of the parameter."""

MOST_PRICES = 2000
"""The most prices that can be typed. Each is a part of one expression; more would take long."""

# at most three digits of an exponent, so that no number fills the memory
_NUMBER = re.compile(
    r"-?[0-9]{1,60}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?|-?[0-9]{1,60}/[0-9]{1,60}"
)
_NUMBER_RULE = "a finite number such as 2, 0.5 or 1/3"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What every entry point has to know about the values of a parameter.

    help: for parameters that mean the same in every question.
    metavar: what stands for a value in the shell's help.
    not_over_http: why such values are not taken over HTTP, if they are not.
    """

    help: str = ""
    metavar: str = "TEXT"
    not_over_http: str = ""

    def read(self, value: Any, name: str) -> Any:
        """Check a Python value, and return what is kept of it."""
        return value

    def parse(self, text: str, name: str) -> Any:
        """Read text that a person typed."""
        return self.read(text, name)

    def from_json(self, value: Any, name: str) -> Any:
        """Read a value of a JSON document."""
        return self.read(value, name)

    def to_json(self, value: Any) -> Any:
        """Write what was kept, so that `from_json` gives it back exactly."""
        return value

    def columns(self, value: Any) -> Sequence[str]:
        """The columns that it names."""
        return ()

    def schema(self) -> dict[str, Any]:
        """The JSON schema of a value."""
        return {"type": "string"}


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """Text. reads: the project's reader of such text."""

    reads: Reader

    def read(self, value: Any, name: str) -> Any:
        return self.reads(value, name)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "maxLength": 200}


@dataclass(frozen=True, kw_only=True)
class Column(Text):
    """The name of a column."""

    reads: Reader = read_name
    metavar: str = "COLUMN"

    def columns(self, value: str) -> Sequence[str]:
        return (value,)


@dataclass(frozen=True, kw_only=True)
class ColumnList(Kind):
    """The names of several columns. least: how many there must be."""

    metavar: str = "LIST"
    least: int = 1

    def read(self, value: Any, name: str) -> tuple[str, ...]:
        rule = f"a list of {self.least} to {MOST_COLUMNS} different columns"
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        if not listed or not all(isinstance(each, str) for each in value):
            raise ParameterTypeError(name, rule, value)
        different = len(set(value))
        if not self.least <= len(value) <= MOST_COLUMNS or different < len(value):
            got = Hidden(f"{different} different of {len(value)}")
            raise ParameterError(name, rule, got)
        return tuple(value)

    def parse(self, text: str, name: str) -> tuple[str, ...]:
        return self.read([part.strip() for part in text.split(",")], name)

    def to_json(self, value: Sequence[str]) -> list[str]:
        return list(value)

    def columns(self, value: Sequence[str]) -> Sequence[str]:
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "minItems": self.least}


@dataclass(frozen=True, kw_only=True)
class Rows(Kind):
    """Which rows count. Text is kept as it is: the columns of the table say what it means."""

    metavar: str = "CONDITION"

    def read(self, value: Any, name: str) -> Any:
        if is_filter(value):
            return condition_of(value, name)
        return value if isinstance(value, str) else read_where(value)

    def to_json(self, value: str | Condition) -> str:
        return str(value)


@dataclass(frozen=True, kw_only=True)
class Whole(Kind):
    """A whole number."""

    metavar: str = "COUNT"
    least: int = 1

    def read(self, value: Any, name: str) -> int:
        return count(value, name, least=self.least)

    def parse(self, text: str, name: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,1000}", text.strip(), re.ASCII):
            raise ParameterError(name, "a whole number", text)
        return self.read(int(text), name)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least}


@dataclass(frozen=True, kw_only=True)
class Exact(Kind):
    """A number that a guarantee rests on. A float means the decimal that it prints as."""

    reads: Reader = exact_decimal
    metavar: str = "NUMBER"

    def read(self, value: Any, name: str) -> Fraction:
        number: Fraction = self.reads(value, name)
        return number

    def parse(self, text: str, name: str) -> Fraction:
        return self.read(parse_number(text, name), name)

    def from_json(self, value: Any, name: str) -> Fraction:
        return self.read(number_of_json(value, name), name)

    def to_json(self, value: Fraction) -> str:
        return written_number(value)

    def schema(self) -> dict[str, Any]:
        text = {"type": "string", "pattern": f"^({_NUMBER.pattern})$", "examples": ["0.1", "1/3"]}
        return {"anyOf": [text, {"type": "integer"}]}


@dataclass(frozen=True, kw_only=True)
class Listed(Kind):
    """A list of public labels, each of them once.

    beside: the parameter with the column that the labels are compared with.
    or_table: whether a `PublicTable` may stand in its place.
    """

    metavar: str = "LIST|FILE"
    beside: str = "column"
    or_table: bool = False

    def read(self, value: Any, name: str) -> Any:
        if self.or_table and isinstance(value, PublicTable):
            return value
        return read_labels(value, name)

    def from_json(self, value: Any, name: str) -> Any:
        return self.read([_label_of_json(label, name) for label in _list_of(value, name)], name)

    def to_json(self, value: Any) -> list[Any]:
        if isinstance(value, PublicTable):
            raise TypeError("a PublicTable cannot be written as JSON")
        return [_label_as_json(label) for label in value]

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": ["string", "integer", "boolean"]}, "minItems": 1}


@dataclass(frozen=True, kw_only=True)
class Numbers(Kind):
    """A list of exact numbers.

    rule: what the text of a list must be. exactly: how many there must be.
    """

    reads: Reader
    rule: str
    exactly: int | None = None
    metavar: str = "NUMBERS"

    def read(self, value: Any, name: str) -> tuple[Fraction, ...]:
        numbers: tuple[Fraction, ...] = self.reads(value, name)
        return numbers

    def parse(self, text: str, name: str) -> tuple[Fraction, ...]:
        parts = text.split(",")
        try:
            numbers = tuple(parse_number(part, name) for part in parts)
            if self.exactly is not None and len(numbers) != self.exactly:
                raise ParameterError(name, self.rule, text)
        except ParameterError:
            raise ParameterError(name, self.rule, text) from None
        return self.read(numbers, name)

    def from_json(self, value: Any, name: str) -> tuple[Fraction, ...]:
        listed = isinstance(value, (list, tuple))
        return self.read([number_of_json(each, name) for each in value] if listed else value, name)

    def to_json(self, value: Sequence[Fraction]) -> list[str]:
        return [written_number(number) for number in value]

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Exact().schema(), "minItems": 1}


@dataclass(frozen=True, kw_only=True)
class PerColumn(Kind):
    """One number for all columns, or a list with one for each."""

    metavar: str = "NUMBERS"

    def read(self, value: Any, name: str) -> Fraction | tuple[Fraction, ...]:
        if isinstance(value, (list, tuple)) or getattr(value, "ndim", False):
            return tuple(read_each(lambda each: exact_decimal(each, name), value))
        return exact_decimal(value, name)

    def parse(self, text: str, name: str) -> Fraction | tuple[Fraction, ...]:
        numbers = tuple(parse_number(part, name) for part in text.split(","))
        return numbers if len(numbers) > 1 else numbers[0]

    def from_json(self, value: Any, name: str) -> Fraction | tuple[Fraction, ...]:
        listed = isinstance(value, list)
        numbers = [number_of_json(each, name) for each in (value if listed else [value])]
        return self.read(numbers if listed else numbers[0], name)

    def to_json(self, value: Fraction | Sequence[Fraction]) -> str | list[str]:
        if isinstance(value, Fraction):
            return written_number(value)
        return [written_number(number) for number in value]

    def schema(self) -> dict[str, Any]:
        one = Exact().schema()
        return {"anyOf": [*one["anyOf"], {"type": "array", "items": one, "minItems": 1}]}


@dataclass(frozen=True, kw_only=True)
class Pairs(Kind):
    """A list of pairs of numbers, the lower one first in each."""

    metavar: str = "LOW,HIGH"

    def read(self, value: Any, name: str) -> tuple[tuple[Fraction, Fraction], ...]:
        if not isinstance(value, (list, tuple)):
            raise ParameterTypeError(name, "a list of a pair for each column", value)
        return tuple(lower_and_upper(pair) for pair in value)

    def parse(self, text: str, name: str) -> tuple[tuple[Fraction, Fraction], ...]:
        """Read pairs with semicolons between them: 0,120;0,600."""
        one = Numbers(reads=_read_bounds, rule="two numbers, the lower one first", exactly=2)
        return self.read([one.parse(part, name) for part in text.split(";")], name)

    def from_json(self, value: Any, name: str) -> tuple[tuple[Fraction, Fraction], ...]:
        listed = isinstance(value, list) and all(isinstance(pair, list) for pair in value)
        if not listed:
            raise ParameterTypeError(name, "a list of pairs", value)
        return self.read([[number_of_json(each, name) for each in pair] for pair in value], name)

    def to_json(self, value: Sequence[Sequence[Fraction]]) -> list[list[str]]:
        return [[written_number(number) for number in pair] for pair in value]

    def schema(self) -> dict[str, Any]:
        pair = {"type": "array", "items": Exact().schema(), "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": pair, "minItems": 1}


@dataclass(frozen=True, kw_only=True)
class TwoLabels(Kind):
    """Two different public labels, in this order. beside: the parameter with their column."""

    metavar: str = "NEGATIVE,POSITIVE"
    beside: str = "label"

    def read(self, value: Any, name: str) -> tuple[Any, Any]:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ParameterTypeError(name, "a pair of labels", value)
        first, second = value
        if first == second:
            raise ParameterError(name, "two different labels", first)
        return first, second

    def parse(self, text: str, name: str) -> tuple[Any, Any]:
        return self.read([part.strip() for part in text.split(",")], name)

    def from_json(self, value: Any, name: str) -> tuple[Any, Any]:
        return self.read([_label_of_json(each, name) for each in _list_of(value, name)], name)

    def to_json(self, value: Sequence[Any]) -> list[Any]:
        return [_label_as_json(label) for label in value]

    def schema(self) -> dict[str, Any]:
        return Listed().schema() | {"minItems": 2, "maxItems": 2}


@dataclass(frozen=True, kw_only=True)
class Function(Kind):
    """A function of the caller's: it is no JSON and no text."""

    rule: str
    not_over_http: str = "A function cannot be sent."

    def read(self, value: Any, name: str) -> Any:
        if not callable(value):
            raise ParameterTypeError(name, self.rule, value)
        return value

    def from_json(self, value: Any, name: str) -> Any:
        raise ParameterTypeError(name, self.rule, value, "Ask in Python: session.select.")

    def to_json(self, value: Any) -> Any:
        raise TypeError("a function cannot be written as JSON")


@dataclass(frozen=True, kw_only=True)
class Prices(Kind):
    """Public prices. One of them is the answer, so each is kept as it was given."""

    metavar: str = "LIST|RANGE"

    def read(self, value: Any, name: str) -> Labels:
        labels = read_labels(value, name)
        read_each(exact_price, labels)
        return labels

    def parse(self, text: str, name: str) -> Labels:
        """Read prices with commas between them, or a range 1:10:0.5 that includes both ends."""
        parts = text.split(":") if ":" in text else text.split(",")
        rule = "numbers such as 1,2,5 or a range such as 1:10:0.5"
        try:
            exact = [parse_number(part, name) for part in parts]
        except ParameterError:
            raise ParameterError(name, rule, text) from None
        if ":" in text:
            low, high, step = exact if len(exact) == 3 else (Fraction(1), Fraction(0), Fraction(1))
            if not (low <= high and step > 0 and (high - low) / step < MOST_PRICES):
                hint = (
                    "First the lowest, then the highest, then the step; at most "
                    f"{MOST_PRICES:,} prices."
                )
                raise ParameterError(name, rule, text, hint)
            exact = [low + place * step for place in range(int((high - low) / step) + 1)]
        if len(exact) > MOST_PRICES:
            raise ParameterError(name, f"at most {MOST_PRICES:,}", text)
        return self.read([plain_number(each) for each in exact], name)

    def from_json(self, value: Any, name: str) -> Labels:
        if not isinstance(value, list):
            raise ParameterTypeError(name, "a list of numbers", value)
        exact = (exact_decimal(number_of_json(each, name), name) for each in value)
        return self.read([plain_number(each) for each in exact], name)

    def to_json(self, value: Sequence[Any]) -> list[str]:
        return [written_number(exact_price(each)) for each in value]

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Exact().schema(), "minItems": 1}


@dataclass(frozen=True, kw_only=True)
class Flag(Kind):
    """True or False. A parameter whose type is `bool` has this kind."""

    def read(self, value: Any, name: str) -> bool:
        return require_flag(value, name)

    def parse(self, text: str, name: str) -> bool:
        return self.read({"yes": True, "no": False}.get(text, text), name)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, kw_only=True)
class Choice(Kind):
    """One of some words. A parameter whose type is a `Literal` has this kind."""

    words: tuple[str, ...]

    def read(self, value: Any, name: str) -> str:
        return choice(value, self.words, name)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


def parse_number(text: str, name: str) -> Fraction:
    """Read a number from text, exactly.

    >>> parse_number("0.1", "epsilon"), parse_number("1e-6", "delta"), parse_number("1/3", "q")
    (Fraction(1, 10), Fraction(1, 1000000), Fraction(1, 3))
    """
    if _NUMBER.fullmatch(text.strip()):
        try:
            return Fraction(text)
        except ZeroDivisionError:
            pass
    raise ParameterError(name, _NUMBER_RULE, text)


def number_of_json(value: Any, name: str) -> Any:
    """A number as JSON has it: as text, or as it is."""
    return parse_number(value, name) if isinstance(value, str) else value


def written_number(number: Fraction) -> str:
    """The one spelling of a number: a decimal if a short one is exact, else a fraction.

    >>> written_number(Fraction(1, 10)), written_number(Fraction(1, 3)), written_number(Fraction(2))
    ('0.1', '1/3', '2')
    """
    if not 10**-9 <= abs(number) <= 10**12:
        return str(number)
    short = f"{float(number):.12g}"
    return short if "e" not in short and Fraction(short) == number else str(number)


def _list_of(value: Any, name: str) -> list[Any]:
    """A list of labels of a JSON document."""
    if not isinstance(value, list):
        raise ParameterTypeError(name, "a list of labels", value)
    return value


def _label_as_json(label: Any) -> Any:
    """A label as JSON. What JSON has no type for says its own."""
    if isinstance(label, str):
        return str.__str__(label)
    if isinstance(label, (bool, int, float)):
        return label
    if type(label) in _WRITTEN:
        return {type(label).__name__: _WRITTEN[type(label)][0](label)}
    raise TypeError(f"a label of type {type(label).__name__} cannot be written as JSON")


def _label_of_json(label: Any, name: str) -> Any:
    if isinstance(label, dict) and len(label) == 1:
        ((kind_name, text),) = label.items()
        for kind, (_, read) in _WRITTEN.items():
            if kind.__name__ == kind_name and isinstance(text, str):
                try:
                    return read(text)
                except (ValueError, ArithmeticError):
                    rule = f"with texts of the type that they name, {kind_name}"
                    raise ParameterError(name, rule, text) from None
    # a document is read with exact decimals; a label with a point is a float
    return float(label) if isinstance(label, Decimal) else label


_WRITTEN: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    Decimal: (str, Decimal),
    date: (date.isoformat, date.fromisoformat),
}
"""For labels that JSON has no type for: how they are written, and read again."""


def _read_epsilon(value: Any, name: str) -> Fraction:
    # in a question nobody can acknowledge a large one
    return read_epsilon(Fraction(value) if isinstance(value, Fraction) else value, None)


def _read_delta(value: Any, name: str) -> Fraction:
    return read_delta(value)


def _read_share(value: Any, name: str) -> Fraction:
    return read_share(value)


def _read_shares(value: Any, name: str) -> tuple[Fraction, ...]:
    return read_shares(value)


def _read_bounds(value: Any, name: str) -> tuple[Fraction, Fraction]:
    return lower_and_upper(value)


def _read_points(value: Any, name: str) -> tuple[Fraction, ...]:
    return read_point_list(value).points


def _read_step(value: Any, name: str) -> Fraction:
    return positive(exact_decimal(value, name), value, name)


def _read_score_amount(value: Any, name: str) -> Fraction:
    return positive(exact_binary(value, name), value, name)


def exact_price(price: Any) -> Fraction:
    """A price as an exact number."""
    return read_amount(price, "prices")


WHICH_ROW = (
    "Which row counts if a person has several: the one with the largest value or the "
    "smallest. There is no default if a person can have several rows."
)
"""The help of `rule`."""
_COLUMNS = "Only the manifest may name columns."

ColumnName = Annotated[str, Column()]
GroupColumn = Annotated[
    str,
    Column(
        help=(
            "One answer for each group of this column, for the price of one. A person with rows "
            "in several groups counts only in the one that {groups} lists first."
        ),
        not_over_http=_COLUMNS,
    ),
]
Groups = Annotated[
    Sequence[Any],
    Listed(help="With {by}, the public groups.", beside="by", not_over_http=_COLUMNS),
]
RowCondition = Annotated[
    Where | Mapping[str, Any],
    Rows(
        help="Which rows count, as in \"age >= 30 and role = 'nurse'\".",
        not_over_http="The service has its own conditions, on columns that the manifest names.",
    ),
]
Separator = Annotated[
    str,
    Text(
        reads=read_split,
        help=(
            "The character between items, if a cell is text that lists several, as in 'Ada; Bob'. "
            "Not needed for a column of lists."
        ),
        metavar="CHARACTER",
    ),
]
WholeNumber = Annotated[int, Whole()]
Candidates = Annotated[Sequence[Any], Listed()]
CandidatesOrTable = Annotated[Sequence[Any] | PublicTable, Listed(or_table=True)]
Epsilon = Annotated[
    Slot[Number, Fraction],
    Exact(
        reads=_read_epsilon,
        help="The privacy loss. A smaller one is more private and less accurate.",
    ),
]
EpsilonOrNone = Annotated[
    Slot[Number | None, Fraction | None],
    Exact(reads=_read_epsilon, help="The privacy loss, as a bounded range."),
]
Delta = Annotated[Slot[Number, Fraction], Exact(reads=_read_delta)]
Amount = Annotated[Slot[Number, Fraction], Exact()]
AmountOrNone = Annotated[Slot[Number | None, Fraction | None], Exact()]
ScoreAmount = Annotated[Slot[Number | None, Fraction | None], Exact(reads=_read_score_amount)]
"""How far scores can move: a float means its exact binary value, as scores do."""
Share = Annotated[Slot[Number, Fraction], Exact(reads=_read_share, metavar="SHARE")]
Shares = Annotated[
    Slot[Sequence[Number], tuple[Fraction, ...]],
    Numbers(
        reads=_read_shares,
        metavar="SHARES",
        rule="shares separated by commas, such as 0.25,0.5,0.75",
    ),
]
Bounds = Annotated[
    Slot[tuple[Number, Number] | None, tuple[Fraction, Fraction] | None],
    Numbers(
        reads=_read_bounds,
        metavar="LOW,HIGH",
        exactly=2,
        rule="two numbers, the lower one first, such as 0,120",
    ),
]
Step = Annotated[
    Slot[Number | None, Fraction | None],
    Exact(reads=_read_step, help="The distance between two points of the grid."),
]
PointNumbers = Annotated[
    Slot[Sequence[Number] | None, tuple[Fraction, ...] | None],
    Numbers(
        reads=_read_points,
        help="Instead of {bounds} and {step}: a list of public points in ascending order.",
        rule="ascending numbers separated by commas, such as 0,10,50,200",
    ),
]
PublicPrices = Annotated[Sequence[Number], Prices()]
RowsPerPerson = Annotated[
    int,
    Whole(
        help=(
            "Instead of {rule}, for a quantile over rows: how many rows of each person count at "
            "most; if a person has more, they are drawn at random. The noise grows in proportion."
        )
    ),
]
