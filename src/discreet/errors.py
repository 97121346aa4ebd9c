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
A message about scores never carries a score: scores are private, parameters are public.
"""

from __future__ import annotations

from fractions import Fraction


class DiscreetError(Exception):
    """Every error that discreet raises on purpose."""


class ParameterError(DiscreetError, ValueError):
    """A public parameter breaks its rule; nothing was drawn and nothing was charged."""

    def __init__(self, owner: str, name: str, rule: str, got: object, hint: str = "") -> None:
        self.owner, self.name, self.rule, self.got, self.hint = owner, name, rule, got, hint
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
    """The engine that holds the table failed after the budget was taken. The charge stays; the engine's text is not shown."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"The engine failed with {kind}. The budget stays charged. The engine's message may show data: see its log."
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.kind,)


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


def shown(value: object, limit: int = 60) -> str:
    """Show a public value in a message, cut to a readable length."""
    try:
        text = repr(value)
    except Exception:  # a hostile __repr__ must not replace our message
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
