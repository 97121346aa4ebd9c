"""What an operation does to a ledger, inside a transaction: it is decided and written at
once, or refused and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from discreet.ledger.budget_terms import NOTHING, Terms, read_terms
from discreet.ledger.chain import fingerprint, naming
from discreet.ledger.operations import (
    Abandon,
    AnchorNoted,
    Close,
    Extend,
    Note,
    Open,
    Operation,
    Outcome,
    Reserve,
    Settle,
)
from discreet.ledger.tables import ANCHORED, LOST, SETTLED, Balance, Key, Scope
from discreet.ledger.transaction import Rows


def look_up(rows: Rows, operations: Iterable[Operation]) -> None:
    """Find out at once what these operations have to know."""
    listed = list(operations)
    scopes = {scope for operation in listed for scope in _asked_about(operation)}
    keys = [key for operation in listed if (key := _key_of(operation)) is not None]
    rows.look_up([operation.ticket for operation in listed], keys, scopes)


def carry_out(rows: Rows, operation: Operation) -> Outcome:
    """Decide about one operation. One that was carried out before, and whose outcome
    got lost, is not carried out again.
    """
    known = rows.entry_of(operation.ticket)
    if known is not None:
        return acknowledged(operation, *known)
    return decide(rows, operation)


def acknowledged(operation: Operation, number: int, text: str) -> Outcome:
    """The outcome of an operation whose ticket an entry has.

    The entry has to be the very one that the operation asks for: whoever may write the
    ledger could have taken the ticket for a smaller charge.
    """
    if text == operation.entry():
        return Outcome(number=number)
    return Outcome(refused="another entry")


def decide(rows: Rows, operation: Operation) -> Outcome:
    """Carry out an operation, or refuse it."""
    match operation:
        case Reserve():
            return _reserve(rows, operation)
        case Settle():
            return _end(rows, operation, SETTLED, operation.answer)
        case Abandon():
            return _end(rows, operation, LOST)
        case Open():
            return _open(rows, operation)
        case Extend():
            return _extend(rows, operation)
        case Close():
            return _close(rows, operation)
        case Note():
            return _write(rows, operation)
        case AnchorNoted():
            return _note_anchor(rows, operation)
    raise TypeError("another operation")


def _terms_of(scope: Scope, balance: Balance) -> Terms:
    """The terms of a budget; what was never written there is damage."""
    with naming(f"The budget of {scope}"):
        return read_terms(balance.terms)


def _open(rows: Rows, operation: Open) -> Outcome:
    scope = Scope(operation.dataset, operation.analyst)
    known = rows.balance(scope)
    if known is not None:
        if known.closed:
            return Outcome(refused="closed", analyst=scope.analyst)
        wanted, stated = read_terms(operation.terms), frozenset(operation.stated)
        same = _terms_of(scope, known).is_as_said(wanted, stated)
        return Outcome() if same else Outcome(refused="other terms", terms=(known.terms,))
    whole = rows.balance(Scope(scope.dataset))
    if scope.analyst and whole is None:
        return Outcome(refused="unknown data set")
    if whole is not None and whole.closed:
        return Outcome(refused="closed")
    rows.put_balance(scope, Balance(operation.terms))
    return _write(rows, operation)


def _extend(rows: Rows, operation: Extend) -> Outcome:
    """Raise a budget. Windows that were charged already keep theirs: it is the future
    that gets more.
    """
    scope = Scope(operation.dataset, operation.analyst)
    known = rows.balance(scope)
    if known is None:
        return Outcome(refused="unknown data set")
    if known.closed:
        return Outcome(refused="closed", analyst=scope.analyst)
    before, charged = _terms_of(scope, known), known.spent != NOTHING
    terms = operation.terms if charged else operation.fresh
    after = read_terms(terms)
    # coins that were spent are counted in the size that they had
    if not operation.is_larger(before, after) or (charged and before.rule.coin != after.rule.coin):
        return Outcome(refused="smaller")
    rows.put_balance(scope, replace(known, terms=terms))
    return _write(rows, operation)


def _close(rows: Rows, operation: Close) -> Outcome:
    scope = Scope(operation.dataset, operation.analyst)
    known = rows.balance(scope)
    if known is None:
        return Outcome(refused="unknown analyst" if scope.analyst else "unknown data set")
    if known.closed:
        return Outcome(refused="closed", analyst=scope.analyst)
    rows.put_balance(scope, replace(known, closed=operation.reason))
    return _write(rows, operation)


def _reserve(rows: Rows, operation: Reserve) -> Outcome:
    dataset, analyst = operation.dataset, operation.analyst
    place = (dataset, analyst, operation.key)
    known = rows.request(place)
    if known is not None:
        if known.fingerprint != operation.fingerprint:
            return Outcome(refused="another request")
        if known.answer is not None:
            return Outcome(number=known.number, answer=known.answer)
        if known.number != operation.after:
            return Outcome(refused="unanswered", number=known.number, state=known.state)
    if rows.has_analysts(dataset):
        if not analyst:
            return Outcome(refused="no analyst")
        if rows.balance(Scope(dataset, analyst)) is None:
            return Outcome(refused="unknown analyst")
    refused = _charge(rows, operation)
    if refused is not None:
        return refused
    outcome = _write(rows, operation)
    rows.add_request(place, outcome.number, operation.fingerprint)
    return outcome


def _charge(rows: Rows, operation: Reserve) -> Outcome | None:
    """Charge all budgets, or none and say which one is too small, or closed."""
    balances: dict[Scope, Balance] = {}
    agreed: dict[Scope, Terms] = {}
    unpriced: list[str] = []
    for scope in scopes_of(rows, operation):
        owner = rows.balance(Scope(scope.dataset, scope.analyst))
        balance = rows.balance(scope) or owner
        if owner is None or balance is None:
            return Outcome(refused="unknown data set")
        if owner.closed:
            return Outcome(refused="closed", analyst=scope.analyst)
        balances[scope], agreed[scope] = balance, _terms_of(scope, balance)
        if operation.amount(agreed[scope]) is None:
            unpriced.append(balance.terms)
    if unpriced:
        return Outcome(refused="unpriced", terms=tuple(sorted(set(unpriced))))
    for scope, balance in balances.items():
        terms = agreed[scope]
        amount = operation.amount(terms)
        if amount is None or not amount.is_a_charge:
            return Outcome(refused="no charge")
        after = terms.after(balance.spent, amount, operation.loss)
        if after is None:
            return Outcome(
                refused="does not fit",
                analyst=scope.analyst,
                window=scope.window,
                terms=(balance.terms,),
                spent=balance.spent,
            )
        balances[scope] = replace(balance, spent=after)
    for scope, balance in balances.items():
        rows.put_balance(scope, balance)
    return None


def scopes_of(rows: Rows, operation: Reserve) -> list[Scope]:
    """All budgets that a reservation is charged to."""
    dataset, analyst = operation.dataset, operation.analyst
    owners = [""]
    if analyst and rows.has_analysts(dataset):
        owners.append(analyst)
    return [
        Scope(dataset, owner, window) for owner in owners for window in operation.windows or [""]
    ]


def _end(rows: Rows, operation: Settle | Abandon, state: str, answer: str | None = None) -> Outcome:
    """Note that a reservation was answered, or will never be."""
    place = (operation.dataset, operation.analyst, operation.key)
    if not rows.end(place, operation.of, state, answer):
        return Outcome(refused="not reserved")
    return _write(rows, operation)


def _note_anchor(rows: Rows, operation: AnchorNoted) -> Outcome:
    """Note that the ledger has an anchor file: whoever says later that there is none is wrong."""
    if rows.request(ANCHORED) is not None:
        return Outcome()
    outcome = _write(rows, operation)
    rows.add_request(ANCHORED, outcome.number, fingerprint("anchor"))
    return outcome


def _write(rows: Rows, operation: Operation) -> Outcome:
    return Outcome(number=rows.append(operation.ticket, operation.entry()).number)


def _asked_about(operation: Operation) -> Iterable[Scope]:
    analyst = getattr(operation, "analyst", None)
    if analyst is None or isinstance(operation, (Settle, Abandon)):
        return ()
    windows = operation.windows if isinstance(operation, Reserve) else ()
    return (
        Scope(operation.dataset, owner, window)
        for owner in ("", analyst)
        for window in ("", *windows)
    )


def _key_of(operation: Operation) -> Key | None:
    if isinstance(operation, (Reserve, Settle, Abandon)):
        return operation.dataset, operation.analyst, operation.key
    return ANCHORED if isinstance(operation, AnchorNoted) else None
