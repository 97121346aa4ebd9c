"""The questions that can be asked over HTTP.

Their names and parameters are read off the methods of `Session`, so that a new
parameter there can be used here, too. Candidates, the way to split a cell and the data
set come from the manifest. Numbers that a guarantee rests on are text, read exactly.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    create_model,
)

from discreet import ZCDP, ApproxDP, Loss, ParameterError, PureDP
from discreet.questions import QUESTIONS as CLASSES
from discreet.questions.kinds import Kind
from discreet.questions.parameter import Parameter as Stated

# at most three digits of an exponent, so that no number fills the memory
_DECIMAL = re.compile(r"-?[0-9]{1,60}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?")
_RATIO = re.compile(r"-?[0-9]{1,60}/[0-9]{1,60}")
RULE = 'a number, written as text: "0.1", "1e-6" or "1/3"'
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": f"{RULE}."}


def read_number(value: Any) -> Fraction:
    """Read a number exactly, from text or a whole number.

    >>> read_number("0.1"), read_number("1e-6"), read_number(3)
    (Fraction(1, 10), Fraction(1, 1000000), Fraction(3, 1))
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**60:
        return Fraction(value)
    if isinstance(value, str) and (_DECIMAL.fullmatch(value) or _RATIO.fullmatch(value)):
        try:
            return Fraction(value)
        except ZeroDivisionError:
            pass
    raise ValueError(RULE)


def read_edge(value: Any) -> Fraction | date:
    """Read the end of a range: a number or a day.

    >>> read_edge("2026-11-01"), read_edge("30")
    (datetime.date(2026, 11, 1), Fraction(30, 1))
    """
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    try:
        return read_number(value)
    except ValueError:
        raise ValueError(f'{RULE}, or a day: "2026-11-01"') from None


def shown_number(text: str) -> str:
    """A number as people write it: with a point, if that is exact and short.

    >>> shown_number("3/10"), shown_number("1/3"), shown_number("2")
    ('0.3', '1/3', '2')
    """
    number = Fraction(text)
    short = f"{float(number):.10g}"
    return short if "e" not in short and Fraction(short) == number else text


Exact = Annotated[
    Fraction, BeforeValidator(read_number), PlainSerializer(str), WithJsonSchema(_SCHEMA)
]
"""The type of an exact number in a model."""
Edge = Annotated[
    Fraction | date, BeforeValidator(read_edge), PlainSerializer(str), WithJsonSchema(_SCHEMA)
]
"""The type of the end of a range in a model."""

QUESTIONS = tuple(name for name, asked in CLASSES.items() if not asked.not_over_http)
"""The questions that can be asked. The class of any other says why it cannot."""


class Strict(BaseModel):
    """A body in which nothing is guessed: no other names, no other types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Where(Strict):
    """One condition: a column has one of some public values, or is within a range."""

    column: str = Field(max_length=200)
    values: list[str | int | bool] | None = Field(
        default=None, alias="is", min_length=1, max_length=1000
    )
    at_least: Edge | None = None
    below: Edge | None = None


class Asked(Strict):
    """The fields that every question has."""

    where: list[Where] = Field(default=[], max_length=20)
    windows: list[str] | None = Field(default=None, min_length=1, max_length=120)
    fresh: bool = Field(default=False, description="Draw anew, and pay again.")
    again: bool = Field(default=False, description="Pay again for an answer that was lost.")
    or_stronger: bool = Field(
        default=False,
        description="Take an answer of yours for nothing, or a part of it, that is at least as "
        "accurate: the same question with a larger epsilon, a longer list, more quantiles.",
    )


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a question: its name, the type that it has in a body, and whether
    it must be given.

    hint: its help, for a form. control: the kind that a form has a control for.
    """

    name: str
    kind: Any
    default: Any
    hint: str
    control: Kind

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty


@cache
def parameters(what: str) -> tuple[Parameter, ...]:
    """The parameters of a question that are asked over HTTP, without its column."""
    over_http = (each for each in CLASSES[what].parameters if not each.not_over_http)
    return tuple(_over_http(each) for each in over_http if each.name != "column")


def _over_http(each: Stated) -> Parameter:
    """A parameter that a question states, as a body has it. Its kind reads the value."""

    def read(value: Any) -> Any:
        try:
            return each.from_json(value)
        except ParameterError as error:
            raise ValueError(error.rule) from None

    schema = each.kind.schema()
    schema = {"anyOf": [schema, {"type": "null"}]} if each.optional else schema
    kind = Annotated[
        Any,
        PlainValidator(read),
        PlainSerializer(each.kind.to_json),
        WithJsonSchema(schema),
        Field(description=each.help_in(str)),
    ]
    default = inspect.Parameter.empty if each.required else each.default
    return Parameter(each.name, kind, default, each.help_in(_with_spaces), each.kind)


def _with_spaces(name: str) -> str:
    return name.replace("_", " ")


@cache
def takes(what: str, name: str) -> bool:
    """Whether a question has a parameter of this name."""
    return name in CLASSES[what].takes


@cache
def needs_candidates(what: str) -> bool:
    """Whether a question requires public candidates."""
    return CLASSES[what].needs_candidates


@cache
def body_of(what: str) -> type[Asked]:
    """The model of a question's body."""
    fields: dict[str, Any] = {"what": (Literal[what], ...)}
    if takes(what, "column"):
        fields["column"] = (str, Field(max_length=200))
    for each in parameters(what):
        fields[each.name] = (each.kind, ... if each.required else each.default)
    title = "".join(word.capitalize() for word in what.split("_"))
    model: type[Asked] = create_model(title, __base__=Asked, **fields)
    return model


def given(question: Asked, what: str) -> dict[str, Any]:
    """The parameters that differ from their defaults, because a question with a default
    written out is the same question.
    """
    values = {each.name: getattr(question, each.name) for each in parameters(what)}
    left_out = {each.name: each.default for each in parameters(what) if not each.required}
    return {
        name: value
        for name, value in values.items()
        if not (name in left_out and value == left_out[name])
    }


def written(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON: exact numbers as reduced fractions in text."""
    return {name: _written(value) for name, value in values.items()}


def _written(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_written(part) for part in value]
    return value


def make_loss(epsilon: Fraction | None, delta: Fraction | None, rho: Fraction | None) -> Loss:
    """The loss that a manifest or a request writes as epsilon, with or without a delta, or rho."""
    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise ValueError('either { epsilon = "…" }, with or without a delta, or { rho = "…" }')
    if rho is not None:
        return ZCDP(rho)
    assert epsilon is not None
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
