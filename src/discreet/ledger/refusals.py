"""The refusals of a ledger, in words."""

from __future__ import annotations

from discreet.errors import (
    BudgetClosedError,
    BudgetExceededError,
    DiscreetError,
    KeyReusedError,
    LedgerError,
    ParameterError,
    ReservationLostError,
    ReservationRunningError,
)
from discreet.ledger.budget_terms import NOTHING, read_terms
from discreet.ledger.operations import Operation, Outcome, Reserve
from discreet.ledger.transaction import SETTLED, Scope


def refusal_error(outcome: Outcome, operation: Reserve, owner: str) -> DiscreetError:
    """The error for a reservation that was refused."""
    match outcome.refused:
        case "does not fit":
            return _exceeded(outcome, operation)
        case "another request":
            return KeyReusedError(
                f"The 'key' parameter of {owner} must be new for a new request. Got "
                f"{operation.key!r}, which another request has used. Use a new key."
            )
        case "no analyst":
            rule = "given: on this data set, each analyst has a budget"
            return ParameterError("analyst", rule, None, owner=owner)
        case "unknown analyst":
            rule = "an analyst with a budget on this data set"
            return ParameterError("analyst", rule, operation.analyst, owner=owner)
    return unexpected_error(outcome, operation, owner)


def _exceeded(outcome: Outcome, operation: Reserve) -> BudgetExceededError:
    """The error for a question that does not fit: its price, what is left, what to do.

    An analyst who is refused because of all others together reads one fixed sentence: any
    other would show what they have spent.
    """
    if operation.analyst and not outcome.analyst:
        return BudgetExceededError(
            "This data set has no room for this question. Ask with a smaller epsilon, or request "
            "a larger budget."
        )
    scope = Scope(operation.dataset, outcome.analyst, outcome.window)
    terms = read_terms(outcome.terms[0])
    spent = terms.spending(outcome.spent or NOTHING)
    price = terms.spending(operation.amount(terms) or NOTHING)
    return terms.rule.refusal(spent, price, str(scope))


def closed_error(scope: Scope) -> BudgetClosedError:
    """The error for a budget that was closed permanently."""
    told = f"The budget of {scope} was closed permanently. Kept answers can still be read."
    return BudgetClosedError(told)


def running_error(key: str, waited: float) -> ReservationRunningError:
    """The error for a request that another process is still computing."""
    return ReservationRunningError(
        f"The request {key!r} was charged and is still running after {waited:g} seconds. "
        "Ask again later: its answer is then free."
    )


def lost_error(key: str, state: str) -> ReservationLostError:
    """The error for a request that was charged, and whose answer is not there."""
    what = "its answer was lost, because it failed or its process ended"
    if state == SETTLED:
        what = "its answer was not kept"
    return ReservationLostError(
        f"The request {key!r} was charged before, but {what}. To compute it anew and pay again, "
        "ask with again=True (in the shell: --fresh)."
    )


def unexpected_error(outcome: Outcome, operation: Operation, owner: str) -> DiscreetError:
    """The error for what is refused in every operation, or should not happen."""
    if outcome.refused == "closed":
        return closed_error(Scope(operation.dataset, outcome.analyst))
    return LedgerError(f"The ledger refuses {owner}: {outcome.refused}.")
