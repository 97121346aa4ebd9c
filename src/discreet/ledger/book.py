"""What an operation does to a ledger, inside a transaction: it is decided and written at once, or refused and nothing is written.

Operations and outcomes are plain JSON, because one process may carry out those of another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from discreet.ledger.amounts import NOTHING, Amount
from discreet.ledger.chain import canonical, fingerprint
from discreet.ledger.rows import ANCHORED, RESERVED, Balance, Rows, Scope

Operation = dict[str, Any]
Outcome = dict[str, Any]
"""{"number": of the entry, ...} or {"refused": why, ...}."""


def look_up(rows: Rows, operations: Iterable[Operation]) -> None:
    """Find out at once what these operations have to know."""
    listed = list(operations)
    scopes = {
        Scope(operation["dataset"], owner, window)
        for operation in listed
        if "analyst" in operation
        for owner in ("", operation["analyst"])
        for window in ("", *operation.get("windows", ()))
    }
    keys = [(operation["dataset"], operation["key"]) for operation in listed if "key" in operation]
    rows.look_up([operation["ticket"] for operation in listed], keys, scopes)


def carry_out(rows: Rows, operation: Operation) -> Outcome:
    """Decide about one operation. One that was carried out before, and whose outcome got lost, is not carried out again."""
    known = rows.entry_of(operation["ticket"])
    if known is not None:
        return acknowledged(operation, *known)
    return _DEEDS[operation["do"]](rows, operation)


def acknowledged(operation: Operation, number: int, text: str) -> Outcome:
    """The outcome of an operation whose ticket an entry has.

    The entry has to be the very one that the operation asks for: whoever may write the ledger
    could have taken the ticket for a smaller charge.
    """
    return {"number": number} if text == text_of(operation) else {"refused": "another entry"}


def text_of(operation: Operation) -> str:
    """The entry that an operation becomes. Of an answer that is kept, the chain knows the digest."""
    if operation.get("answer") is None:
        return canonical(operation)
    return canonical({**operation, "answer": fingerprint(operation["answer"])})


def _open(rows: Rows, operation: Operation) -> Outcome:
    scope = Scope(operation["dataset"], operation["analyst"])
    known = rows.balance(scope)
    if known is not None:
        return {"number": 0} if known.terms == operation["terms"] else {"refused": "other terms", "terms": known.terms}
    if scope.analyst and rows.balance(Scope(scope.dataset)) is None:
        return {"refused": "unknown data set"}
    rows.put_balance(scope, Balance(operation["terms"], read_amount(operation["limit"]), NOTHING))
    return _write(rows, operation)


def _extend(rows: Rows, operation: Operation) -> Outcome:
    """Raise a budget. Windows that were charged already keep theirs: it is the future that gets more."""
    scope = Scope(operation["dataset"], operation["analyst"])
    known = rows.balance(scope)
    if known is None:
        return {"refused": "unknown data set"}
    limit = read_amount(operation["limit"])
    if limit.main < known.limit.main or limit.delta < known.limit.delta:
        return {"refused": "smaller"}
    rows.put_balance(scope, replace(known, terms=operation["terms"], limit=limit))
    return _write(rows, operation)


def _reserve(rows: Rows, operation: Operation) -> Outcome:
    dataset, key = operation["dataset"], operation["key"]
    asked = fingerprint_of(operation)
    known = rows.request(dataset, key)
    if known is not None:
        if known.fingerprint != asked:
            return {"refused": "another request"}
        if known.answer is None:
            return {"refused": "burnt", "state": known.state}
        return {"number": known.number, "answer": known.answer}
    if not operation["analyst"] and rows.has_analysts(dataset):
        return {"refused": "no analyst"}
    if rows.has_analysts(dataset) and rows.balance(Scope(dataset, operation["analyst"])) is None:
        return {"refused": "unknown analyst"}
    refused = _charge(rows, scopes_of(rows, operation), read_amount(operation["amount"]))
    if refused is not None:
        return refused
    outcome = _write(rows, operation)
    rows.add_request(dataset, key, outcome["number"], asked)
    return outcome


def _settle(rows: Rows, operation: Operation) -> Outcome:
    """Note that a reservation was answered."""
    dataset, key = operation["dataset"], operation["key"]
    if not rows.settle(dataset, key, operation["of"], operation["answer"]):
        return {"refused": "not reserved"}
    return _write(rows, operation)


def _anchor(rows: Rows, operation: Operation) -> Outcome:
    """Note that the ledger has an anchor file: whoever says later that there is none is wrong."""
    if rows.request(*ANCHORED) is not None:
        return {"number": 0}
    outcome = _write(rows, operation)
    rows.add_request(*ANCHORED, outcome["number"], fingerprint("anchor"))
    return outcome


_DEEDS: dict[str, Callable[[Rows, Operation], Outcome]] = {
    "open": _open,
    "extend": _extend,
    "reserve": _reserve,
    "settle": _settle,
    "anchor": _anchor,
}


def scopes_of(rows: Rows, operation: Operation) -> list[Scope]:
    """All budgets that a reservation is charged to."""
    dataset, analyst = operation["dataset"], operation["analyst"]
    owners = [""]
    if analyst and rows.has_analysts(dataset):
        owners.append(analyst)
    return [Scope(dataset, owner, window) for owner in owners for window in operation["windows"] or [""]]


def _charge(rows: Rows, scopes: list[Scope], amount: Amount) -> Outcome | None:
    """Charge all budgets, or none and say which one is too small."""
    if amount.main <= 0 or amount.delta < 0:
        return {"refused": "a refund"}
    balances = {}
    for scope in scopes:
        balance = rows.balance(scope) or opened(rows, scope)
        if balance is None:
            return {"refused": "unknown data set"}
        if amount.main > balance.left.main or amount.delta > balance.left.delta:
            left = [str(balance.left.main), str(balance.left.delta)]
            return {"refused": "budget", "left": left, "analyst": scope.analyst, "window": scope.window}
        balances[scope] = replace(balance, spent=balance.spent + amount)
    for scope, balance in balances.items():
        rows.put_balance(scope, balance)
    return None


def opened(rows: Rows, scope: Scope) -> Balance | None:
    """A window that was not charged yet: the budget is the one of the data set or analyst, and nothing of it is spent."""
    return rows.balance(replace(scope, window="")) if scope.window else None


def fingerprint_of(operation: Operation) -> str:
    """What makes two requests the same."""
    return fingerprint([operation[name] for name in ("dataset", "analyst", "windows", "loss", "amount", "request")])


def _write(rows: Rows, operation: Operation) -> Outcome:
    return {"number": rows.append(operation["ticket"], text_of(operation)).number}


def read_amount(pair: list[str]) -> Amount:
    """An amount as operations carry it."""
    main, delta = pair
    return Amount(int(main), int(delta))


def write_amount(amount: Amount) -> list[str]:
    """An amount for an operation: as text, because JSON numbers are often floats."""
    return [str(amount.main), str(amount.delta)]


def read_body(body: str) -> Operation:
    """The operation that an entry holds."""
    operation: Operation = json.loads(body)
    return operation


def is_open(state: str) -> bool:
    """Whether a request in this state still waits for its answer."""
    return state == RESERVED
