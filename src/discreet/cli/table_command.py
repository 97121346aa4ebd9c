"""How a command that asks a table is declared: the options that all of them have are said once.

@table_command("discreet mode", plot=AnswerPlotFile)
def mode(question: TypedQuestion, candidates: Candidates) -> None:
    question.ask_and_show(lambda asked: asked.session.mode(asked.column, ...))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from discreet.cli.ask import TypedQuestion

_IF_NAMED = ("delta", "plot")
"""Options of a question that only some commands have."""


def table_command(
    command: str, *, without: Sequence[str] = (), optional: Sequence[str] = (), **options: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a command that asks a table. It gets what was typed as a `TypedQuestion`, and
    the options that its own function names.

    without: options of all questions that this one does not have.
    optional: options that this one can do without.
    options: types of options that this one spells otherwise, or that only some have.
    """

    def declared(ask: Callable[..., None]) -> Callable[..., None]:
        shared = _options_of(TypedQuestion)
        own = _options_of(ask)
        named = {
            name: each.replace(
                annotation=options.get(name, each.annotation),
                default=None if name in optional else each.default,
            )
            for name, each in shared.items()
            if name not in ("command", "own", *without)
            and (name in options or name not in _IF_NAMED)
        }

        def run(**typed: Any) -> None:
            more = {name: typed[name] for name in own}
            said = {name: typed[name] for name in named}
            missing: dict[str, Any] = dict.fromkeys(without)
            ask(TypedQuestion(command=command, own=more, **missing, **said), **more)

        parameters = _in_order(named, own)
        run.__name__, run.__doc__, run.__module__ = ask.__name__, ask.__doc__, ask.__module__
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return run

    return declared


def _options_of(declared: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a class or a function by name, but for the question itself."""
    types = get_type_hints(declared, include_extras=True)
    return {
        name: each.replace(annotation=types[name], kind=Parameter.KEYWORD_ONLY)
        for name, each in signature(declared).parameters.items()
        if types[name] is not TypedQuestion
    }


def _in_order(named: dict[str, Parameter], own: dict[str, Parameter]) -> list[Parameter]:
    """The table and the column, what this command must be told, what all are told, and in
    between, after the rows that count, what this command can be told.
    """
    needed = [each for each in own.values() if each.default is Parameter.empty]
    more = [each for each in own.values() if each.default is not Parameter.empty]
    every = list(named)
    after = every.index("where") + 1
    first = [name for name in every[:after] if name in ("table", "column")]
    others = [name for name in every[:after] if name not in first]
    return [
        *(named[name] for name in first),
        *needed,
        *(named[name] for name in others),
        *more,
        *(named[name] for name in every[after:]),
    ]
