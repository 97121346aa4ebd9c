"""A question is a value: one frozen class is the only place that states its parameters.

    @question("top_k")
    class TopK(Question):
        \"""The k values of a column that most people have, in order.\"""

        column: ColumnName = parameter("The column whose values to pick.", kw_only=False)
        k: WholeNumber = parameter("How many to pick.")
        epsilon: Epsilon = parameter()

The type of a parameter says how its values are read, and `parameter` what it means in this
question. Every entry point is made from `TopK.parameters`: shell, HTTP, page, and methods, by
`top_k = asks(TopK)`.
"""

from __future__ import annotations

import inspect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from textwrap import fill
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from discreet.accounting.privacy_filter import BudgetRule
from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.questions.kinds import CandidatesOrTable, Choice, Flag, Kind, Separator
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.conditions import Condition
from discreet.tables.inquiry import Inquiry, Prepared
from discreet.tables.items import Labels

Spelling = Callable[[str], str]
"""How an entry point writes the name of a parameter: `limit` in Python, `--limit` in a shell."""

_BRACED = re.compile(r"{([a-z_]+)}")


def parameter(
    help: str = "",
    *,
    default: Any = MISSING,
    kw_only: bool = True,
    not_over_http: str = "",
) -> Any:
    """Declare a parameter of a question.

    help: what it means in this question, in one or two sentences; left out where its kind
        says it all. Other parameters stand in braces, and each entry point spells them in
        its own way.
    not_over_http: why it is kept from HTTP and the page, if it is.
    """
    metadata = {"help": help, "not_over_http": not_over_http}
    return field(default=default, kw_only=kw_only, metadata=metadata)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a question.

    default: `MISSING` if it must be given; None if it may be left out.
    not_over_http: why it is kept from HTTP and the page; empty if it is not.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    not_over_http: str

    @property
    def required(self) -> bool:
        """True if it must be given."""
        return self.default is MISSING

    @property
    def optional(self) -> bool:
        """True if None stands for a parameter that was left out."""
        return self.default is None

    def help_in(self, spell: Spelling) -> str:
        """Its help, with other parameters as an entry point spells them."""
        return _BRACED.sub(lambda found: spell(found[1]), self.help)

    def read(self, value: Any) -> Any:
        """Read a Python value."""
        return None if value is None and self.optional else self.kind.read(value, self.name)

    def parse(self, text: str) -> Any:
        """Read text that a person typed."""
        return self.kind.parse(text, self.name)

    def from_json(self, value: Any) -> Any:
        """Read a value of a JSON document."""
        return None if value is None and self.optional else self.kind.from_json(value, self.name)


def parameters_of(declared: type) -> Iterator[Parameter]:
    """The parameters of a question, in the order in which they are written."""
    types = get_type_hints(declared, include_extras=True)
    for each in fields(declared):
        kind = kind_of(types[each.name])
        yield Parameter(
            name=each.name,
            kind=kind,
            default=each.default,
            help=each.metadata.get("help") or kind.help,
            not_over_http=each.metadata.get("not_over_http") or kind.not_over_http,
        )


def kind_of(hint: Any) -> Kind:
    """The kind of a parameter, from its type."""
    for part in (hint, *get_args(hint)):
        if part is bool:
            return Flag()
        if get_origin(part) is Literal:
            words = get_args(part)
            return Choice(words=words, metavar="|".join(words))
        for mark in getattr(part, "__metadata__", ()):
            if isinstance(mark, Kind):
                return mark
    raise TypeError(f"{hint} has no kind: write Annotated[..., Kind], bool or Literal")


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
    Made = TypeVar("Made", bound=type)

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(parameter,))
    def _declared(made: Made) -> Made:
        return made

    @_declared
    class _HowToAsk:
        """What methods take beside a question, for type checkers alone: they read the parameters
        of a method off the class, and a `ParamSpec` takes no more. A class itself has none of it.
        """

        fresh: bool = parameter(default=False)
        again: bool = parameter(default=False)
        bits: Bits | None = parameter(default=None)
else:

    class _HowToAsk:
        """Nothing of it is there at run time."""


class Question(_HowToAsk, ABC):
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

    @abstractmethod
    def prepare(self, inquiry: Inquiry) -> Prepared:
        """The question, checked against a table: its cost, and a way to answer it."""

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


Facts = Mapping[str, Mapping[str, Any]]
"""For each column its public facts, by the names of the parameters that they stand for."""

FACTS = {"candidates": kind_of(CandidatesOrTable), "split": kind_of(Separator)}
"""The facts that there are, with the kinds of their values."""


def read_facts(public: Facts | None) -> Facts:
    """Read facts as the parameters are read that they stand for."""
    if public is None:
        return {}
    if not isinstance(public, Mapping) or not all(
        isinstance(facts, Mapping) for facts in public.values()
    ):
        rule = "a mapping from columns to their public facts"
        raise ParameterTypeError("public", rule, public)
    with called_as("Session", FACTS):
        return {column: _read(facts) for column, facts in public.items()}


def _read(facts: Mapping[str, Any]) -> dict[str, Any]:
    for name in facts:
        if name not in FACTS:
            raise ParameterError("public", f"made of {' and '.join(FACTS)}", name)
    return {name: FACTS[name].read(fact, name) for name, fact in facts.items() if fact is not None}


OF_ASKING = frozenset({"again", "bits", "fresh", "or_stronger", "windows"})
"""What says how to ask, and is no part of a question: a method hands it to `ask`."""

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer", covariant=True)


class Asker(Protocol[Answer]):
    """What answers questions, such as a session."""

    def ask(self, question: Question, /) -> Answer:
        """Ask one question."""
        ...


class Method(Protocol[Parameters]):
    """A function in the body of a class: an object that has it binds it to itself.

    Functions do that. It is written out because some type checkers do not believe it of a
    `Callable`.
    """

    @overload
    def __get__(
        self, asker: None, owner: type, /
    ) -> Callable[Concatenate[Any, Parameters], Any]: ...
    @overload
    def __get__(self, asker: Asker[Answer], owner: type, /) -> Callable[Parameters, Answer]: ...


def asks(question: Callable[Parameters, Question]) -> Method[Parameters]:
    """A method that makes this question of its arguments, and asks it."""
    assert isinstance(question, type)
    assert issubclass(question, Question)
    own, takes = inspect.signature(question), question.takes
    made: Callable[..., Question] = question
    options = OF_ASKING - takes

    def method(self: Asker[Any], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
        called = f"{type(self).__name__}.{question.name}"
        how = {name: kwargs.pop(name) for name in options & kwargs.keys()}
        with called_as(called, takes | OF_ASKING):
            try:
                asked = made(*args, **kwargs)
            except TypeError as error:
                if not isinstance(error, ParameterError):
                    _require_bound(own, called, args, kwargs)
                raise
            ask: Any = self.ask
            return ask(asked, **how)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__name__ = question.name
    method.__qualname__ = f"Session.{question.name}"
    method.__doc__ = described(question)
    method.__annotations__ = {"return": Release}
    method.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[itself, *own.parameters.values()], return_annotation="Release"
    )
    return method


def _require_bound(own: inspect.Signature, called: str, args: Any, kwargs: Any) -> None:
    """Refuse arguments that the question does not have, in the name of the method."""
    try:
        own.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{called}() {error}") from None


def described(question: type[Question]) -> str:
    """The docstring of a question's class, and a line for each of its parameters."""
    lines = (f"{each.name}: {each.help_in(str)}" for each in question.parameters)
    wrapped = [fill(line, 88, subsequent_indent="    ") for line in lines]
    return "\n".join([inspect.cleandoc(question.__doc__ or ""), "", *wrapped])
