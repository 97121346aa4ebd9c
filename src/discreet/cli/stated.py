"""Options that Python states: the parameters of a question's class, or of a function.

A parameter has one name, one help and one check. Here it becomes an option, and what was typed
for it becomes a value; a refusal then names the option.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field
from functools import cached_property
from typing import Annotated, Any, get_args

import typer

import discreet
from discreet import ParameterError, literals
from discreet.questions.kinds import (
    Choice,
    ColumnList,
    Exact,
    Flag,
    Kind,
    Listed,
    Numbers,
    Pairs,
    PerColumn,
    Prices,
    Text,
    TwoLabels,
    Whole,
)
from discreet.questions.question import Parameter
from discreet.tables.table import SAY_HOW


class Nothing:
    """What an error says that it got where an option was left out."""

    def __repr__(self) -> str:
        return "nothing"


def require_one(command: str, given: Mapping[str, str | bool | None], hint: str = "") -> None:
    """Refuse two options of which exactly one has to be given."""
    (option, typed), (other, instead) = given.items()
    if bool(typed is None) == bool(instead in (None, False)):
        got = Nothing() if typed is None else typed
        rule = f"given, or '{other}' in its place (exactly one of the two)"
        raise ParameterError(option, rule, got, hint, owner=command)


def as_option(name: str) -> str:
    """The option of a parameter, as it is typed.

    >>> as_option("score_range"), as_option("k")
    ('--score-range', '-k')
    """
    return "-k" if name == "k" else f"--{name.replace('_', '-')}"


# as in rule='max' and encoding=
_KEYWORD = re.compile(r"\b([a-z_]+)=(?:'([^']*)'|([0-9]+)|True\b)?")
_OF_A_FILE = re.compile(r"(?:CsvFile\(path|Session\(table), ([^)]*)\)")
_OF_A_LEDGER = re.compile(r"\bLedger\.([a-z]+)")
_NAMED = re.compile(r"'([a-z_]+)'|\b([a-z]+_[a-z_]+)\b")


def in_options(text: str, known: Collection[str] = ()) -> str:
    """A rule or a hint that names parameters, with options in their place.

    known: the parameters.

    >>> in_options("It replaces 'monotonic', and items_per_person.", ["monotonic"])
    'It replaces --monotonic, and items_per_person.'
    """

    def option(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return as_option(name) if name in known else found[0]

    return _NAMED.sub(option, text)


def hint_in_options(hint: str, known: Collection[str] = ()) -> str:
    """A hint that shows how something is written in Python, as it is typed in a shell.

    >>> hint_in_options("Say rule='max' or items_per_person=, or k=3.")
    'Say --rule max or --items-per-person, or -k 3.'
    >>> hint_in_options("Give another one, as in CsvFile(path, encoding='latin-1').")
    'Give another one, as in --encoding latin-1.'
    >>> hint_in_options("Say numbers_in_text=True, or decimal=','.")
    'Say --numbers-in-text, or --decimal ,.'
    >>> hint_in_options("See Ledger.open.")
    'See discreet ledger open.'
    """

    def typed(keyword: re.Match[str]) -> str:
        name, text, number = keyword.groups()
        value = number if text is None else shlex.quote(text)
        return as_option(name) if value is None else f"{as_option(name)} {value}"

    plain = _OF_A_LEDGER.sub(r"discreet ledger \1", _OF_A_FILE.sub(r"\1", hint))
    return in_options(_KEYWORD.sub(typed, plain), known)


_MOST_WORDS = 40
_FILES = " A list such as a,b,c, or a file with one on each line, or a CSV file with one column."
_REPEATABLE = (ColumnList, Listed, PerColumn, Pairs, Prices, TwoLabels)
_AS_IT_IS: dict[str, Any] = {"reads": lambda value, name: value}
_KINDS: dict[str, Kind] = {
    "Number": Exact(**_AS_IT_IS),
    "int": Whole(least=0),
    "bool": Flag(),
    "str": Text(**_AS_IT_IS),
    "Number | Sequence[Number]": PerColumn(),
}
# as in "sensitivity, monotonic: as for `select`", with the lines that follow
_DESCRIBED = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (.*(?:\n    .*)*)", re.MULTILINE)
# as in "True if scores are counts" and "True to learn also, as Release.counts, the scores"
_IN_PYTHON = re.compile(r"^True (?:if|to) |, as Release\.[a-z]+,")


def is_list(kind: Kind) -> bool:
    """Whether an option of this kind may be repeated, and adds to its list each time."""
    return isinstance(kind, _REPEATABLE) or (isinstance(kind, Numbers) and kind.exactly is None)


def parameters_of(
    function: Callable[..., Any],
    *,
    without: Sequence[str] = (),
    elsewhere: Mapping[str, str] | None = None,
) -> dict[str, Parameter]:
    """The parameters of a function by name, with the help that its docstring has for each.

    without: those that are no options.
    elsewhere: help for parameters that the docstring only refers to.
    """
    helps = dict(elsewhere or {})
    known = inspect.signature(function).parameters
    for names, text in _DESCRIBED.findall(inspect.getdoc(function) or ""):
        plain = _IN_PYTHON.sub("", " ".join(text.split()).replace("`", ""))
        plain = in_options(plain.replace("NOT_PRIVATE", repr(discreet.NOT_PRIVATE)), known)
        if not plain.startswith(("as for ", "as in ")):
            helps |= {name: plain[0].upper() + plain[1:] for name in names.split(", ")}
    return {
        name: Parameter(
            name=name,
            kind=_kind_of(str(each.annotation)),
            default=MISSING if each.default is inspect.Parameter.empty else each.default,
            help=helps.get(name, ""),
            not_over_http="",
        )
        for name, each in known.items()
        # bits are for tests and simulations
        if each.kind is inspect.Parameter.KEYWORD_ONLY and name not in ("bits", *without)
    }


def helps_of(*parameters: Parameter) -> dict[str, str]:
    """What some parameters mean, for others that are the same."""
    return {each.name: each.help_in(as_option) for each in parameters}


def _kind_of(annotation: str) -> Kind:
    plain = annotation.removesuffix(" | None")
    if plain in _KINDS:
        return _KINDS[plain]
    words = get_args(getattr(literals, plain))
    return Choice(words=words, metavar="|".join(words))


def option_of(each: Parameter, *names: str, **other: Any) -> inspect.Parameter:
    """The option of a parameter, as Typer reads it.

    names: of the option, if they are not those of the parameter.
    other: what this command shows differently: a metavar or a help.
    """
    kind, help = each.kind, each.help_in(as_option)
    names = names or tuple(
        dict.fromkeys([f"--{each.name.replace('_', '-')}", as_option(each.name)])
    )
    if isinstance(kind, Flag):
        flag = Annotated[bool, typer.Option(*names[:1], help=other.get("help", help))]
        return _keyword(each.name, flag, False)
    metavar = kind.metavar
    if isinstance(kind, Choice) and len(metavar) > _MOST_WORDS:
        metavar, help = "NAME", f"{help} One of {', '.join(kind.words)}."
    if isinstance(kind, Listed):
        help += _FILES
    option = typer.Option(*names, **{"metavar": metavar, "help": help, **other})
    typed: Any = list[str] if is_list(kind) else str
    if each.required:
        return _keyword(each.name, Annotated[typed, option], inspect.Parameter.empty)
    default = None if each.default in (None, 0) or is_list(kind) else str(each.default)
    return _keyword(each.name, Annotated[typed | None, option], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


@dataclass(frozen=True, kw_only=True)
class Typed:
    """What was typed for parameters that Python states.

    command: as it was typed. parameters: by their names. parts: what was typed, a list for an
        option that may be repeated. names: how parameters are shown that `as_option` would name
        wrongly. owners: the questions of a file, as refusals name them.
    """

    command: str
    parameters: Mapping[str, Parameter]
    parts: Mapping[str, Any]
    names: Mapping[str, str] = field(default_factory=dict)
    owners: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        command: str,
        parameters: Mapping[str, Parameter],
        values: Mapping[str, Any],
        **names: str,
    ) -> Typed:
        """Keep what is not left out, of the options that Typer has read."""
        parts = {
            name: values[name]
            for name in parameters
            if values.get(name) not in (None, False, [], ())
        }
        return cls(command=command, parameters=parameters, parts=parts, names=names)

    @cached_property
    def texts(self) -> dict[str, Any]:
        """What was typed, each in one text, as a refusal shows it."""
        return {
            name: _in_one(self.parameters[name].kind, typed) for name, typed in self.parts.items()
        }

    def given(self, name: str) -> bool:
        """Whether it was typed, and not as what it is anyway."""
        return name in self.texts and self.texts[name] != str(self.parameters[name].default)

    def values(self, *, without: Sequence[str] = ()) -> dict[str, Any]:
        """What was typed, read by the kinds of the parameters."""
        with self.in_these_words():
            return {
                name: text if isinstance(text, bool) else self.parameters[name].parse(text)
                for name, text in self.texts.items()
                if name not in without
            }

    @contextmanager
    def in_these_words(self, **shown: Any) -> Iterator[None]:
        """Let the library's refusals name the options, and show what was typed.

        shown: what was typed for other parameters.
        """
        try:
            yield
        except ParameterError as error:
            if error.owner in (self.command, *self.owners):
                raise
            wrong = self._in_options(error, {**self.texts, **shown})
        except ValueError as error:
            if type(error) is ValueError:
                # the logarithm of a number that is zero as a float
                raise OverflowError from None
            raise
        else:
            return
        raise wrong

    def _in_options(self, error: ParameterError, shown: Mapping[str, Any]) -> ParameterError:
        # without a hint that recommends what this command does not have
        error = error.called(self.command, self.parameters)
        got = shown.get(error.name, error.got)
        option = self.names.get(error.name, as_option(error.name))
        # A list of a table's columns is left out: without a header line it would be a row.
        rule, names_columns, _ = error.rule.partition(" the columns ")
        rule = f"{rule} the table's columns" if names_columns else in_options(rule, self.parameters)
        # what was typed as a condition is quoted in its hint
        quotes = error.name == "where" and not error.hint.startswith(SAY_HOW)
        hint = error.hint if quotes else hint_in_options(error.hint, self.parameters)
        return ParameterError(
            option, rule, Nothing() if got is None else got, hint, owner=self.command
        )


def refusals_in(command: str, names: Mapping[str, str] | None = None, **typed: Any) -> Any:
    """A context in which the library's refusals name the options of a command.

    names: as for `Typed`. typed: what was typed, by the names of parameters.
    """
    said = Typed(command=command, parameters={}, parts={}, names=names or {})
    return said.in_these_words(**{name: text for name, text in typed.items() if text is not None})


def _in_one(kind: Kind, typed: Any) -> Any:
    """The parts of a list that was typed in parts, as one text."""
    if not isinstance(typed, (list, tuple)):
        return typed
    return (";" if isinstance(kind, Pairs) else ",").join(typed)


def command_with(
    run: Callable[..., Any], options: Sequence[inspect.Parameter], *, name: str, doc: str
) -> Callable[..., Any]:
    """The function of a command with these options, as Typer reads it."""

    def called(**typed: Any) -> Any:
        return run(**typed)

    called.__name__, called.__doc__ = name, doc
    called.__annotations__ = {each.name: each.annotation for each in options}
    called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return called


def stated_command(
    command: str, parameters: Mapping[str, Parameter], **names: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a command whose function takes what was typed for these parameters as its first
    argument, and after it the options that the function itself names.
    """

    def declared(function: Callable[..., Any]) -> Callable[..., Any]:
        first, *own = inspect.signature(function, eval_str=True).parameters.values()
        del first
        stated = [option_of(each) for each in parameters.values()]
        options = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        arguments: list[inspect.Parameter] = []
        others: list[inspect.Parameter] = []
        for each in options:
            (arguments if _is_argument(each) else others).append(each)
        needed = [each for each in (*others, *stated) if each.default is inspect.Parameter.empty]
        rest = [each for each in (*stated, *others) if each.default is not inspect.Parameter.empty]

        def run(**typed: Any) -> Any:
            mine = {each.name: typed[each.name] for each in own}
            return function(Typed.of(command, parameters, typed, **names), **mine)

        doc = inspect.getdoc(function) or ""
        return command_with(run, [*arguments, *needed, *rest], name=function.__name__, doc=doc)

    return declared


def _is_argument(each: inspect.Parameter) -> bool:
    marks = getattr(each.annotation, "__metadata__", ())
    return any(isinstance(mark, typer.models.ArgumentInfo) for mark in marks)
