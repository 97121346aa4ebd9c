"""The questions that can be asked over HTTP, as `Session` has them.

Their names and parameters are those of the session's methods, so that a question that
sessions learn can be asked here, too. Candidates, ways to split a cell and the data set
come from the manifest.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from discreet import Session
from discreet.service.numbers import Edge, Exact

QUESTIONS = tuple(
    name
    for name in ("top_k", "mode", "best_price", "quantile", "quantiles", "counts", "count")
    if hasattr(Session, name)
)
"""What can be asked. A score of one's own is code, and no question for a service."""

# what the manifest or the service says, and not the one who asks
_NOT_ASKED = {"self", "column", "where", "fresh", "bits", "candidates", "split"}


# JSON has lists only
_NUMBERS: tuple[Any, ...] = (
    Exact,
    list[Exact],
    Annotated[tuple[Exact, Exact], Field(strict=False)],
)


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
    """What every question has."""

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
    """

    name: str
    kind: Any
    default: Any

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty


@cache
def parameters(what: str) -> tuple[Parameter, ...]:
    """The parameters of a question, as the method of the same name has them."""
    method = getattr(Session, what)
    hints = get_type_hints(method)
    found = (
        Parameter(name, _kind(str(each.annotation), hints[name]), each.default)
        for name, each in inspect.signature(method).parameters.items()
        if name not in _NOT_ASKED
    )
    return tuple(each for each in found if each.required or _is_harmless(each.kind))


@cache
def takes(what: str, name: str) -> bool:
    """Whether a question has a parameter: a column, candidates, a way to split cells."""
    return name in inspect.signature(getattr(Session, what)).parameters


@cache
def needs_candidates(what: str) -> bool:
    """Whether a question cannot do without public candidates."""
    found = inspect.signature(getattr(Session, what)).parameters.get("candidates")
    return found is not None and found.default is inspect.Parameter.empty


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
    """The parameters that differ from their defaults: a default that is written out is
    the same question.
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


def _is_harmless(kind: Any) -> bool:
    """Whether a parameter is a number, a truth value or one of some words. Free text may name
    a column, which only the manifest may.
    """
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return all(
        part in (int, bool, type(None)) or get_origin(part) is Literal or part in _NUMBERS
        for part in parts
    )


def _kind(annotation: str, hint: Any) -> Any:
    """The type of a parameter in a body: numbers are exact, all else is as it is."""
    optional = annotation.endswith("| None")
    plain = annotation.removesuffix("| None").strip()
    kinds = dict(
        zip(("Number", "Sequence[Number]", "tuple[Number, Number]"), _NUMBERS, strict=True)
    )
    if plain not in kinds:
        return hint
    return kinds[plain] | None if optional else kinds[plain]
