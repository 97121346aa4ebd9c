"""A question is a value: one frozen class is the only place that states its parameters.

    @question("top_k")
    class TopK(Question):
        \"""The k values of a column that most people have, in order.\"""

        column: ColumnName = parameter("The column whose values to pick.", kw_only=False)
        k: WholeNumber = parameter("How many to pick.")
        epsilon: Epsilon = parameter()

The type of a parameter says how its values are read, and `parameter` what it means in this
question. Every entry point is made from `TopK.parameters`: methods, shell, HTTP, page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from discreet.accounting.privacy_filter import BudgetRule
from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.questions.parameter import Parameter, parameter, parameters_of
from discreet.randomness.chance import Bits
from discreet.tables.conditions import Condition
from discreet.tables.inquiry import Inquiry, Prepared
from discreet.tables.items import Labels

Declared = TypeVar("Declared", bound="type[Question]")

QUESTIONS: dict[str, type[Question]] = {}
"""Every question by its name."""

_LONG = 1000
"""The most labels of a question that is remembered."""
_PLAIN = frozenset({str, int, float, bool, Decimal, date})
ROWS = ("where", "by", "groups")
"""Parameters that say which rows count, for any question."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(parameter,))
def question(name: str) -> Callable[[Declared], Declared]:
    """Make a class the question of this name."""

    def declare(declared: Declared) -> Declared:
        # two questions are compared by what they ask, not field by field
        made = dataclass(frozen=True, kw_only=True, eq=False, repr=False)(declared)
        made.name, made.parameters = name, tuple(parameters_of(made))
        made.takes = frozenset(each.name for each in made.parameters)
        QUESTIONS[name] = made
        return cast(Declared, made)

    return declare


if TYPE_CHECKING:
    Kind = TypeVar("Kind", bound=type)

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(parameter,))
    def _declared(kind: Kind) -> Kind:
        return kind

    @_declared
    class _HowToAsk:
        """What methods take beside a question, for type checkers alone: they read the parameters
        of a method off the class, and a `ParamSpec` takes no more. A class itself has none of it.
        """

        fresh: bool = parameter(default=False)
        again: bool = parameter(default=False)
        bits: Bits | None = parameter(default=None)
else:
    _HowToAsk = object


class Question(_HowToAsk):
    """The base of all questions: parameters are read once, and written as JSON.

    name: of the question, in every entry point.
    takes: the names of its parameters.
    needs_candidates: whether it cannot be asked without public candidates.
    not_over_http: why it is kept from HTTP and the page; empty if it is not.
    """

    needs_candidates: ClassVar[bool] = False
    not_over_http: ClassVar[str] = ""
    name: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    takes: ClassVar[frozenset[str]]

    def __post_init__(self) -> None:
        with called_as(type(self).__name__, self.takes):
            for each in self.parameters:
                object.__setattr__(self, each.name, each.read(getattr(self, each.name)))
            _, by, groups = self.rows()
            _require_both(by, groups)
            self.check()

    def check(self) -> None:
        """Refuse parameters that do not go together."""

    def prepare(self, inquiry: Inquiry) -> Prepared:
        """The question, checked against a table: its cost, and a way to answer it."""
        raise NotImplementedError

    @property
    def ballots(self) -> bool:
        """True if a cell of its columns may hold several items."""
        return "split" in self.takes and getattr(self, "split", None) is None

    def rows(self) -> tuple[Any, str | None, Sequence[Any] | None]:
        """Which rows count: `where`, `by` and `groups`."""
        where, by, groups = (getattr(self, name, None) for name in ROWS)
        return where, by, groups

    @cached_property
    def spelling(self) -> str | None:
        """What the same question is found by; None for one that is long, or made of objects."""
        for each in self.parameters:
            part = getattr(self, each.name)
            if isinstance(part, Condition):
                return None
            # an answer has the labels that were given: members of an enumeration, say
            if isinstance(part, Labels) and not (len(part) <= _LONG and part.kinds <= _PLAIN):
                return None
        return self.canonical()

    @property
    def used_columns(self) -> Sequence[tuple[str, str]]:
        """The columns that it is about, each with the parameter that names it."""
        return [
            (each.name, column)
            for each in self.parameters
            if (value := getattr(self, each.name)) is not None
            for column in each.kind.columns(value)
        ]

    def stated(self, rule: BudgetRule) -> dict[str, Any]:
        """Its own parameters, for the canonical form; those that a budget decides, decided."""
        return {name: getattr(self, name) for name in self._names if name not in ROWS}

    def filled(self, facts: Mapping[str, Any]) -> Self:
        """The question with the public facts of its column in place of what it leaves out."""
        known = {
            name: fact
            for name, fact in facts.items()
            if name in self.takes and getattr(self, name) is None
        }
        return cast(Self, replace(cast(Any, self), **known)) if known else self

    @property
    def _names(self) -> list[str]:
        return [each.name for each in self.parameters]

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Question) and self._same(other))

    def _same(self, other: Question) -> bool:
        mine = self.canonical()
        return mine is not None and mine == other.canonical()

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        said = (
            f"{each.name}={getattr(self, each.name)!r}"
            for each in self.parameters
            if each.required or getattr(self, each.name) != each.default
        )
        return f"{type(self).__name__}({', '.join(said)})"

    def to_json(self) -> dict[str, Any]:
        """The question as a JSON document. A parameter with its default is left out.

        >>> from discreet.questions import Mode
        >>> Mode("pet", candidates=["cat", "dog"], epsilon=0.1).to_json()
        {'what': 'mode', 'column': 'pet', 'candidates': ['cat', 'dog'], 'epsilon': '0.1'}
        """
        document: dict[str, Any] = {"what": self.name}
        for each in self.parameters:
            value = getattr(self, each.name)
            if each.required or value != each.default:
                document[each.name] = each.kind.to_json(value)
        return document

    def canonical(self) -> str | None:
        """The question as text, in its only spelling; None for one that JSON cannot hold, or
        that has a number of thousands of digits.
        """
        try:
            return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        except (TypeError, ValueError):
            return None

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Read a question from a JSON document, whose "what" says which one it is."""
        known = {name: each for name, each in QUESTIONS.items() if issubclass(each, cls)}
        with called_as(cls.__name__):
            if not isinstance(document, dict):
                rule = 'a JSON object, such as {"what": "mode", ...}'
                raise ParameterTypeError("document", rule, document)
            what = document.get("what")
            if not isinstance(what, str) or what not in known:
                raise ParameterError("what", f"one of {', '.join(known)}", what)
        given = {name: value for name, value in document.items() if name != "what"}
        return known[what].made_of(given, Parameter.from_json)

    @classmethod
    def made_of(cls, given: Mapping[str, Any], read: Callable[[Parameter, Any], Any]) -> Self:
        """Make the question of what an entry point was given, by the names of its parameters.

        read: how the entry point reads it: `Parameter.from_json`, say.
        """
        known = {each.name: each for each in cls.parameters}
        with called_as(cls.__name__, cls.takes):
            for name in sorted(given.keys() - known.keys()):
                rule = f"left out, because {cls.name} has only {', '.join(known)}"
                hint = _nearest(name, list(known))
                raise ParameterError(name, rule, given[name], hint)
            for name, each in known.items():
                if each.required and name not in given:
                    raise ParameterError(name, "given", None)
            return cls(**{name: read(known[name], value) for name, value in given.items()})


def left_out(name: str) -> ParameterError:
    """The refusal of a question without a parameter that is no public fact either."""
    hint = "Give it here, or once for all questions in the 'public' parameter of Session."
    return ParameterTypeError(name, "given", None, hint)


def _nearest(name: str, known: list[str]) -> str:
    """A hint that names the parameter that was probably meant."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    return f"Did you mean {near[0]!r}?" if near else ""


def _require_both(by: str | None, groups: Sequence[Any] | None) -> None:
    """Refuse a column of groups without groups, and the other way round."""
    for name, value, other, given in (("by", by, "groups", groups), ("groups", groups, "by", by)):
        if value is None and given is not None:
            hint = "The groups must be public: they must not come from the data."
            raise ParameterTypeError(name, f"given with '{other}'", None, hint)
