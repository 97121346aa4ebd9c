"""Why a ledger says no, in words."""

from __future__ import annotations

from discreet.errors import BudgetExceeded, DiscreetError, KeyReused, LedgerError, ParameterError, ReservationBurnt
from discreet.ledger.amounts import Amount, exact
from discreet.ledger.book import Operation, Outcome, is_open, read_amount
from discreet.ledger.rows import Scope


def refusal(outcome: Outcome, operation: Operation, amount: Amount, owner: str) -> DiscreetError:
    """The error for a reservation that was refused."""
    why, dataset = outcome["refused"], operation["dataset"]
    if why == "budget":
        left = read_amount(outcome["left"])
        main = amount.main > left.main
        return BudgetExceeded(
            requested=exact(amount.main if main else amount.delta),
            remaining=exact(left.main if main else left.delta),
            scope=str(Scope(dataset, outcome["analyst"], outcome["window"])),
        )
    if why == "another request":
        return KeyReused(
            f"The 'key' parameter of {owner} must name one request. Got {operation['key']!r} with another one before."
        )
    if why == "burnt":
        state = "is running, or was interrupted" if is_open(outcome["state"]) else "was answered, and the answer was not kept"
        return ReservationBurnt(
            f"The request {operation['key']!r} was charged before and {state}. It is never computed again for the same charge. "
            "Ask with a new key, and pay again."
        )
    rule = {
        "no analyst": "given, because analysts have budgets of their own on this data set",
        "unknown analyst": "one that has a budget on this data set",
    }.get(why)
    if rule is not None:
        return ParameterError(owner, "analyst", rule, operation["analyst"] or None)
    return unexpected(outcome, owner)


def unexpected(outcome: Outcome, owner: str) -> DiscreetError:
    """The error for what should not happen."""
    return LedgerError(f"{owner} must be possible in the ledger as it is. Got: {outcome['refused']}.")
