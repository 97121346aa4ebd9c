"""The questions that can be asked over HTTP: what a body may have is read off their classes.

Candidates, the way to split a cell and the data set come from the manifest. Numbers that a
guarantee rests on are text, read exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from discreet import ZCDP, ApproxDP, Loss, ParameterError, PureDP
from discreet.questions import QUESTIONS as CLASSES
from discreet.questions.kinds import parse_number, written_number
from discreet.questions.question import Parameter
from discreet.service.problems import invalid

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
    try:
        if isinstance(value, str) and value == value.strip():
            return parse_number(value, "")
    except ParameterError:
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
    return written_number(Fraction(text))


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
    """How a question is asked: what a body has beside the parameters of the question."""

    where: list[Where] = Field(default=[], max_length=20)
    windows: list[str] | None = Field(default=None, min_length=1, max_length=120)
    fresh: bool = Field(default=False, description="Compute a new answer and pay again.")
    again: bool = Field(default=False, description="Pay again for an answer that was lost.")
    or_stronger: bool = Field(
        default=False,
        description="Reuse one of your answers for free if it, or a part of it, is at least as "
        "accurate: the same question with a larger epsilon, a longer list or more quantiles.",
    )


def parameters(what: str) -> tuple[Parameter, ...]:
    """The parameters of a question that are asked over HTTP, without its column."""
    every = CLASSES[what].parameters
    return tuple(each for each in every if not each.not_over_http and each.name != "column")


def names_of(what: str) -> list[str]:
    """What the body of a question may have beside the names of `Asked`."""
    column = ["column"] if "column" in CLASSES[what].takes else []
    return ["what", *column, *(each.name for each in parameters(what))]


@cache
def schema_of(what: str) -> dict[str, Any]:
    """The JSON schema of a question's body."""
    schema = Asked.model_json_schema(ref_template="#/components/schemas/{model}")
    properties: dict[str, Any] = {"what": {"const": what, "type": "string"}}
    if "column" in CLASSES[what].takes:
        properties["column"] = {"type": "string", "maxLength": 200}
    for each in parameters(what):
        kind = each.kind.schema()
        kind = {"anyOf": [kind, {"type": "null"}]} if each.optional else kind
        default = {} if each.required else {"default": _written(each, each.default)}
        properties[each.name] = kind | {"description": each.help_in(str)} | default
    required = [name for name in ("what", "column") if name in properties]
    return schema | {
        "title": CLASSES[what].__name__,
        "properties": properties | schema["properties"],
        "required": required + [each.name for each in parameters(what) if each.required],
    }


def read_parameters(what: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a question that differ from their defaults, because a question with
    a default written out is the same question.
    """
    found, wrong = {}, None
    for each in parameters(what):
        if each.name not in body:
            if each.required:
                raise invalid(f"/{each.name}", "given")
            continue
        try:
            found[each.name] = each.from_json(body[each.name])
        except ParameterError as error:
            wrong = invalid(f"/{each.name}", error.rule)
            break
    # raised out here, so that the value does not hang on to it
    if wrong is not None:
        raise wrong
    default = {each.name: each.default for each in parameters(what)}
    return {name: value for name, value in found.items() if value != default[name]}


def written(what: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON, each in its only spelling."""
    known = {each.name: each for each in parameters(what)}
    return {name: _written(known[name], value) for name, value in values.items()}


def _written(parameter: Parameter, value: Any) -> Any:
    return value if value is None else parameter.kind.to_json(value)


def make_loss(epsilon: Fraction | None, delta: Fraction | None, rho: Fraction | None) -> Loss:
    """The loss that a manifest or a request writes as epsilon, with or without a delta, or rho."""
    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise ValueError('either { epsilon = "…" }, with or without a delta, or { rho = "…" }')
    if rho is not None:
        return ZCDP(rho)
    assert epsilon is not None
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
