"""What can go wrong, as one tree.

::

    DiscreetError
    ├── ParameterError (ValueError)          a public parameter breaks its rule
    │   └── ParameterTypeError (TypeError)   ... because it is not even the right kind of thing
    ├── ScoresError (ValueError)             the score vector cannot be used
    │   └── ScoresTypeError (TypeError)      ... because of its type or shape
    ├── BudgetExceeded                       a loss does not fit what is left of a budget
    ├── EngineError                          an engine failed in the middle of a query
    ├── LedgerError                          a ledger cannot be read or written, or refuses
    │   ├── KeyReused                        an idempotency key was used for another request
    │   ├── ReservationBurnt                 a request was charged before, and its answer is not there
    │   └── LedgerDamaged                    the entries of a ledger are not what was written
    └── MissingExtraError (ImportError)      an optional dependency is not installed

Every message follows one formula: the rule, then what was got, then a hint where there is a next step.
A message about scores never carries a score: scores are private, parameters are public. What was got is shown
only if it is a short public scalar; of anything else (a column, a table, a list, bytes) only its type is named,
because it may have been handed over by mistake and hold rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from fractions import Fraction
from numbers import Number
from typing import Any, TypeVar

Read = TypeVar("Read")


class DiscreetError(Exception):
    """Every error that discreet raises on purpose."""


class ParameterError(DiscreetError, ValueError):
    """A public parameter breaks its rule; nothing was drawn and nothing was charged."""

    def __init__(self, owner: str, name: str, rule: str, got: object, hint: str = "") -> None:
        self.owner, self.name, self.rule, self.hint = owner, name, rule, hint
        # What was handed over by mistake must not travel with the error either.
        self.got = got if _is_public(got) else Hidden(shown(got))
        message = f"The '{name}' parameter of {owner} must be {rule}. Got {shown(got)}."
        super().__init__(f"{message} {hint}" if hint else message)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.owner, self.name, self.rule, self.got, self.hint)


class ParameterTypeError(ParameterError, TypeError):
    """A public parameter is not the right kind of thing."""


class ScoresError(DiscreetError, ValueError):
    """The scores cannot be used. The message names the rule, never a score."""


class ScoresTypeError(ScoresError, TypeError):
    """The scores are of a type or shape that has no exact reading."""


class BudgetExceeded(DiscreetError):  # noqa: N818 (what people say: the budget is exceeded)
    """A loss does not fit what is left of a budget. Nothing was taken."""

    def __init__(self, *, requested: Fraction, remaining: Fraction, scope: str = "") -> None:
        self.requested, self.remaining, self.scope = requested, remaining, scope
        whose = f"The budget of {scope}" if scope else "The budget"
        super().__init__(f"{whose} has {_short(remaining)} left. Requested {_short(requested)}.")

    def __reduce__(self) -> tuple[object, ...]:
        return _budget_exceeded, (self.requested, self.remaining, self.scope)


def _short(value: Fraction) -> str:
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return "more than 1e308"


def _budget_exceeded(requested: Fraction, remaining: Fraction, scope: str) -> BudgetExceeded:
    return BudgetExceeded(requested=requested, remaining=remaining, scope=scope)


class EngineError(DiscreetError):
    """A question failed after it was paid for. The charge stays, and the text is always the same.

    What went wrong, and even its kind, may depend on the data; the engine's own log says it to whom it may concern.
    """

    def __init__(self) -> None:
        super().__init__(
            "The engine failed. The budget stays charged. What it said may show data, so it is not repeated here: see its log."
        )

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()


class LedgerError(DiscreetError):
    """A ledger cannot be read or written, or refuses. No answer may be given."""


class KeyReused(LedgerError):  # noqa: N818 (what has happened)
    """An idempotency key was used for another request. Nothing was charged."""


class ReservationBurnt(LedgerError):  # noqa: N818
    """A request was charged before and there is no answer to repeat: it is never computed again for the same charge."""


class LedgerDamaged(LedgerError):  # noqa: N818
    """The entries of a ledger are not what was written. The message names the first one that is wrong."""


class MissingExtraError(DiscreetError, ImportError):
    """An optional dependency is needed for this and is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.purpose, self.extra = purpose, extra
        super().__init__(f"{purpose} needs the extra '{extra}'. Install it with: pip install 'discreet[{extra}]'")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.purpose, self.extra)


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
    """Show what was got in a message: a public scalar, cut to a readable length, or the name of its type.

    >>> shown(0.5), shown("postgresql://ada:secret@example.org/shop"), shown([41, 38, 12])
    ('0.5', "'postgresql://example.org/shop'", 'a list')
    """
    if not _is_public(value):
        return type_name(value)
    try:
        text = str.__repr__(without_password(value)) if isinstance(value, str) else repr(value)
    except Exception:  # a hostile __repr__ must not replace our message, nor a number of a million digits
        text = type_name(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def read_each(read: Callable[[Any], Read], values: Iterable[Any]) -> list[Read]:
    """Read the elements of a list. A complaint names the type of an element only: the list may be a column of persons."""
    result, wrong = [], None
    for value in values:
        try:
            result.append(read(value))
        except ParameterError as error:
            wrong = type(error)(error.owner, error.name, error.rule, Hidden(type_name(value)), error.hint)
            break
    # Raised out here, so that the first complaint, which shows the element, does not hang on to it.
    if wrong is not None:
        raise wrong
    return result


def without_password(text: str) -> str:
    """A text in which no URL shows a user, a password or options.

    >>> without_password("postgresql://ada:secret@example.org:5432/shop?sslkey=1"), without_password("reads.csv")
    ('postgresql://example.org:5432/shop', 'reads.csv')
    """
    if "://" not in text:
        return _PASSWORD.sub(r"\1=...", text)
    scheme, _, rest = text.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


# As in host=db password=secret, the other form of a connection string.
_PASSWORD = re.compile(r"(?i)\b(password|passwd|pwd|sslpassword|passfile)\s*=\s*('[^']*'|\S+)")


def _is_public(value: object) -> bool:
    """Whether a value is a scalar, or an object of ours, whose repr shows no data."""
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
