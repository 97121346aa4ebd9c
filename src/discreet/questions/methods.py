"""Methods that ask: `top_k = asks(TopK)` takes the parameters of the class and repeats none.

`asks` binds the constructor of the class, so type checkers and editors know every parameter.
At run time the method has their signature, and a docstring with the help of each.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import fill
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from discreet.errors import ParameterError, called_as
from discreet.questions.question import Question
from discreet.release import Release

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
