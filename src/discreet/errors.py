"""What can go wrong, as one tree.

::

    DiscreetError
    ├── ParameterError (ValueError)          a public parameter breaks its rule
    │   └── ParameterTypeError (TypeError)   ... because it is not even the right kind of thing
    ├── ScoresError (ValueError)             the score vector cannot be used
    │   └── ScoresTypeError (TypeError)      ... because of its type or shape
    ├── BudgetExceededError                  a loss does not fit what is left of a budget
    ├── EngineError                          an engine failed in the middle of a query
    │   └── QuestionEndedError               a time limit, or the caller, ended a question
    ├── LedgerError                          a ledger cannot be read or written, or refuses
    │   ├── KeyReusedError                   an idempotency key was used for another request
    │   ├── BudgetClosedError                the budget was closed permanently
    │   ├── ReservationLostError             charged before, and the answer will never be there
    │   ├── ReservationRunningError          charged before, and still being computed elsewhere
    │   └── LedgerDamagedError               the entries of a ledger are not what was written
    ├── ServiceError                         a team's service refuses, or cannot be reached
    ├── MissingExtraError (ImportError)      an optional dependency is not installed
    └── OutdatedLibraryError (ImportError)   a library is older than those that were tested

Every message follows one formula: the rule, then what was got, then a hint where there
is a next step. A message about scores never carries a score: scores are private,
parameters are public. What was got is shown only if it is a short public scalar; of
anything else (a column, a table, a list, bytes) only its type is named, because it may
have been handed over by mistake and hold rows.

A script that a refusal ends shows one line: the place in the script, and the message.
"""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from numbers import Number
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, Self, TypeVar

__all__ = [
    "BudgetClosedError",
    "BudgetExceededError",
    "DiscreetError",
    "EngineError",
    "KeyReusedError",
    "LedgerDamagedError",
    "LedgerError",
    "MissingExtraError",
    "OutdatedLibraryError",
    "ParameterError",
    "ParameterTypeError",
    "QuestionEndedError",
    "ReservationLostError",
    "ReservationRunningError",
    "ScoresError",
    "ScoresTypeError",
    "ServiceError",
]

Read = TypeVar("Read")
Asked = TypeVar("Asked", bound=Callable[..., Any])
Called = ParamSpec("Called")


class DiscreetError(Exception):
    """Every error that discreet raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """A refusal in a notebook is one sentence: where it was raised inside helps nobody."""
        return [f"{type(self).__name__}: {self}"]


class InputError(DiscreetError, ABC):
    """What was given cannot be used; nothing was drawn and nothing was charged.

    Whoever refuses knows the parameter. Who was called is added on the way out, by
    `public_function`, `public_class` or `called_as`.

    name: of the parameter. owner: who was called; empty as long as nobody said.
    """

    name: str
    owner: str
    _certain = False

    def called(self, owner: str, parameters: Collection[str] = ()) -> Self:
        """Name who was called. The outermost caller counts: of those whose own parameter it is,
        if there are any.
        """
        own = self.name in parameters
        if own or not (self.owner and self._certain):
            self._rename(owner, parameters)
            self._certain = own
        return self

    @abstractmethod
    def _rename(self, owner: str, parameters: Collection[str]) -> None:
        """Say it again in the name of a caller."""

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        if owner := (state or {}).get("owner"):
            self._rename(owner, ())


class ParameterError(InputError, ValueError):
    """A public parameter breaks its rule; nothing was drawn and nothing was charged."""

    def __init__(
        self, name: str, rule: str, got: object, hint: str = "", *, owner: str = ""
    ) -> None:
        self.owner, self.name, self.rule, self.hint = owner, name, rule, hint
        self._certain = bool(owner)
        # What was handed over by mistake must not travel with the error either.
        self.got = got if _is_public(got) else Hidden(shown(got))
        whose = f" of {owner}" if owner else ""
        message = f"The '{name}' parameter{whose} must be {rule}. Got {shown(got)}."
        super().__init__(f"{message} {hint}" if hint else message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.rule, self.got, self.hint), {"owner": self.owner}

    def _rename(self, owner: str, parameters: Collection[str]) -> None:
        # a caller knows only its own parameters: no hint recommends another one
        strange = self.name in parameters and not self._recommended <= {*parameters, *_OF_TABLES}
        hint = "" if strange else self.hint
        ParameterError.__init__(self, self.name, self.rule, self.got, hint, owner=owner)

    @property
    def _recommended(self) -> set[str]:
        return set(_RECOMMENDED.findall(self.hint))


# as in acknowledge='...'
_RECOMMENDED = re.compile(r"\b([a-z_]+)=")
_OF_TABLES = ("decimal", "numbers_in_text")


class ParameterTypeError(ParameterError, TypeError):
    """A public parameter is not the right kind of thing."""


class ScoresError(InputError, ValueError):
    """The scores cannot be used. The message names the rule, never a score.

    name: what the rule is about, such as "scores"; then the message begins with that and
        with who was called.
    """

    def __init__(self, rule: str, name: str = "", *, owner: str = "") -> None:
        self.owner, self.rule, self.name = owner, rule, name
        self._certain = bool(owner)
        whose = f" of {owner}" if owner else ""
        super().__init__(f"The '{name}'{whose} {rule}" if name else rule)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.rule, self.name), {"owner": self.owner}

    def _rename(self, owner: str, parameters: Collection[str]) -> None:
        ScoresError.__init__(self, self.rule, self.name, owner=owner)


class ScoresTypeError(ScoresError, TypeError):
    """The scores are of a type or shape that has no exact reading."""


class BudgetExceededError(DiscreetError):
    """A loss does not fit what is left of a budget. Nothing was taken.

    The message says whose budget it is, what still fits, in questions, and what was
    requested.
    """


class EngineError(DiscreetError):
    """A question failed after it was paid for. The charge stays, and the text is always the same.

    What went wrong, and even its kind, may depend on the data; the engine's own log
    has the details, for those who may see the data.
    """

    by_request = False
    """Whether the question's own size was the reason: it ended, or ran out of memory, while
    the answer was drawn, after the rows were read.
    """

    def __init__(self) -> None:
        super().__init__(
            "The engine failed, and the budget stays charged. The reason may reveal data, so it "
            "is not shown here: see the log of the engine."
        )

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()


class QuestionEndedError(EngineError):
    """A question was ended after it was paid for, by its time limit or by `Session.cancel`.
    The charge stays, and the text is the same for both.

    How long an engine takes depends on the data, so a limit that ends a question tells
    something about them.
    """

    def __init__(self) -> None:
        DiscreetError.__init__(
            self,
            "The question was ended by its time limit or canceled. The budget stays charged.",
        )


class LedgerError(DiscreetError):
    """A ledger cannot be read or written, or refuses. No answer may be given."""


class KeyReusedError(LedgerError):
    """An idempotency key was used for another request. Nothing was charged."""


class BudgetClosedError(LedgerError):
    """The budget was closed permanently, or the analyst's share of it. Nothing was charged."""


class ReservationLostError(LedgerError):
    """A request was charged before and there is no answer to repeat: it is never
    computed again for the same charge.
    """


class ReservationRunningError(LedgerError):
    """A request was charged before and is still being computed: its answer will cost nothing."""


class LedgerDamagedError(LedgerError):
    """The entries of a ledger are not what was written. The message names the first one
    that is wrong.
    """


class ServiceError(DiscreetError):
    """A team's service refuses, or cannot be reached.

    name: of the problem, such as "not-found". status: of the reply; 0 if there was none.
    """

    def __init__(self, name: str, status: int, message: str) -> None:
        self.name, self.status = name, status
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.name, self.status, str(self))


class MissingExtraError(DiscreetError, ImportError):
    """An optional dependency is needed for this and is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.purpose, self.extra = purpose, extra
        super().__init__(
            # double quotes also work in cmd.exe
            f"{purpose} needs the extra '{extra}'. "
            f'Install it with: pip install "discreet[{extra}]"'
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.purpose, self.extra)


class OutdatedLibraryError(DiscreetError, ImportError):
    """A library is older than the lowest version that was tested. Nothing was charged."""

    def __init__(self, library: str, version: str, lowest: str, hint: str) -> None:
        self.library, self.version, self.lowest, self.hint = library, version, lowest, hint
        super().__init__(
            f"{library} {version} is too old: discreet needs {lowest} or later. {hint}"
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.library, self.version, self.lowest, self.hint)


class Hidden:
    """What stands in an error for something that must not be shown."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (self._text,)


def shown(value: object, limit: int = 60) -> str:
    """Show what was got in a message: a public scalar, cut to a readable length, or the
    name of its type.

    >>> (
    ...     shown(Fraction(1, 2)),
    ...     shown("postgresql://ada:secret@example.org/shop"),
    ...     shown([41, 38, 12]),
    ... )
    ('0.5', "'postgresql://example.org/shop'", 'a list')
    """
    if not _is_public(value):
        return type_name(value)
    try:
        if isinstance(value, str):
            text = str.__repr__(without_password(value))
        else:
            text = _decimal(value) if isinstance(value, Fraction) else repr(value)
    except (
        Exception
        # a hostile __repr__ must not replace our message, nor a number of a million digits
    ):
        text = type_name(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _decimal(number: Fraction) -> str:
    """A number as it was given, most likely: a decimal, where one is exact."""
    near = float(number)
    text = str(int(near)) if near.is_integer() else repr(near)
    return text if Fraction(text) == number else repr(number)


def read_each(read: Callable[[Any], Read], values: Iterable[Any]) -> list[Read]:
    """Read the elements of a list. A complaint names the type of an element only: the
    list may be a column of persons.
    """
    result, wrong = [], None
    for value in values:
        try:
            result.append(read(value))
        except ParameterError as error:
            wrong = type(error)(error.name, error.rule, Hidden(type_name(value)), error.hint)
            break
    # Raised out here, so that the first complaint, which shows the element, does not hang on to it.
    if wrong is not None:
        raise wrong
    return result


def parameters_of(function: Callable[..., object]) -> tuple[str, ...]:
    """The names of a function's parameters."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def public_function(owner: str) -> Callable[[Callable[Called, Read]], Callable[Called, Read]]:
    """A function that callers know by the name `owner`: refusals of its parameters
    name it, and not what it is made of inside.

    >>> @public_function("Session.mode")
    ... def mode(epsilon):
    ...     raise ParameterError("epsilon", "positive", epsilon)
    >>> try:
    ...     mode(-1)
    ... except ParameterError as error:
    ...     print(error)
    The 'epsilon' parameter of Session.mode must be positive. Got -1.
    """

    def named(function: Callable[Called, Read]) -> Callable[Called, Read]:
        parameters = parameters_of(function)

        @wraps(function)
        def called(*args: Called.args, **kwargs: Called.kwargs) -> Read:
            try:
                return function(*args, **kwargs)
            except InputError as error:
                # without the frames inside, which hold what was given
                raise error.called(owner, parameters).with_traceback(None) from None

        return called

    return named


def public_class(declared: type[Read]) -> type[Read]:
    """A class that callers know by its name: refusals of its constructor and of its public
    methods name the class of the object.
    """
    for name, function in list(vars(declared).items()):
        known = name == "__init__" or not (name[0] == "_" or hasattr(function, _INSIDE))
        if known and isinstance(function, FunctionType):
            code = unwrap(function).__code__
            # what takes nothing but the object has nothing to refuse
            if code.co_argcount + code.co_kwonlyargcount > 1 or code.co_flags & _MORE_ARGUMENTS:
                setattr(declared, name, in_own_name(function))
    return declared


_MORE_ARGUMENTS = CO_VARARGS | CO_VARKEYWORDS
_INSIDE = "_called_inside"


def called_inside(method: Asked) -> Asked:
    """A method that `public_class` leaves as it is: it is called where a microsecond counts, and
    there its caller, or itself, says who was called.
    """
    setattr(method, _INSIDE, True)
    return method


def in_own_name(method: Callable[Called, Read]) -> Callable[Called, Read]:
    """A method whose refusals name the class of the object."""

    @wraps(method)
    def called(*args: Called.args, **kwargs: Called.kwargs) -> Read:
        try:
            return method(*args, **kwargs)
        except InputError as error:
            raise error.called(type(args[0]).__name__).with_traceback(None) from None

    return called


@contextmanager
def called_as(owner: str, parameters: Collection[str] = ()) -> Generator[None, None, None]:
    """Let refusals name who was called. The outermost one whose parameter it is counts.

    The error itself is renamed, so there is one complaint and not two.

    >>> try:
    ...     with called_as("Session.mode", ["epsilon"]):
    ...         raise ParameterError("epsilon", "positive", -1)
    ... except ParameterError as error:
    ...     print(error)
    The 'epsilon' parameter of Session.mode must be positive. Got -1.
    """
    try:
        yield
    except InputError as error:
        error.called(owner, parameters)
        raise


def without_password(text: str) -> str:
    """A text in which no URL shows a user, a password or options.

    >>> (
    ...     without_password("postgresql://ada:secret@example.org:5432/shop?sslkey=1"),
    ...     without_password("reads.csv"),
    ... )
    ('postgresql://example.org:5432/shop', 'reads.csv')
    """
    if "://" not in text:
        return _PASSWORD.sub(r"\1=...", text)
    scheme, _, rest = text.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


# As in host=db password=secret, the other form of a connection string.
_PASSWORD = re.compile(r"(?i)\b(password|passwd|pwd|sslpassword|passfile)\s*=\s*('[^']*'|\S+)")


def _is_public(value: object) -> bool:
    """True if a value is a scalar, or an object of ours, whose repr shows no data."""
    if value is None or isinstance(value, (str, bool, Number, date, Hidden)):
        return True
    return type(value).__module__.partition(".")[0] == "discreet"


def shown_pair(pair: object) -> object:
    """A pair of bounds for a message: public scalars, each shown as such."""
    if isinstance(pair, (tuple, list)) and len(pair) == 2:
        return Hidden(f"({shown(pair[0])}, {shown(pair[1])})")
    return pair


def type_name(value: object) -> str:
    """What kind of thing something is, for a message that must not show it."""
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    if isinstance(value, type):
        return f"the class {name}"
    return f"{'an' if name[:1] in 'aeioAEIO' else 'a'} {name}"


def escaped(text: str) -> str:
    """A text with an escape, as JSON has it, for each character that could control a terminal
    or that does not show.

    >>> escaped("café \x1b[2J \u202e")
    'café \\\\u001b[2J \\\\u202e'
    """
    if text.isprintable():
        return text
    import json

    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _end_script(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Show a refusal that nobody caught as one line: where in the script it was asked for, and
    why it was refused. Where it was raised inside helps nobody.
    """
    place = ""
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        place, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: ", trace.tb_next
    told = isinstance(error, DiscreetError) and error.__cause__ is None
    if not (told and place and sys.stderr):
        sys.__excepthook__(kind, error, error.__traceback__)
        return
    print(f"{place}{kind.__name__}: {escaped(str(error))}", file=sys.stderr)


# a program's own hook stays, also one that was set before an error of ours was first needed
if sys.excepthook is sys.__excepthook__:
    sys.excepthook = _end_script
