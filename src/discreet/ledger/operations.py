"""What can be asked of a ledger, as types, and what is decided about it, inside a transaction:
it is decided and written at once, or refused and nothing is written.

The JSON of an operation is its entry in the chain. What is written there is read again for
ever: fields are only added, and `entries.py` reads what earlier versions wrote.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, ClassVar, Literal, NamedTuple

from discreet.ledger.budget_terms import NOTHING, Sums, Terms, read_terms
from discreet.ledger.chain import NamedPart, canonical, digest, fingerprint
from discreet.ledger.transaction import ANCHORED, LOST, SETTLED, Balance, Key, Scope, Transaction
from discreet.privacy.loss import Loss

Why = Literal[
    "another request",
    "closed",
    "does not fit",
    "no analyst",
    "no charge",
    "not reserved",
    "other terms",
    "smaller",
    "unanswered",
    "unknown analyst",
    "unknown data set",
    "unpriced",
]
"""Why an operation was refused."""
Amounts = tuple[tuple[str, Sums], ...]
"""What a charge takes, for each tariff that a budget may have; that of the data set first."""


@dataclass(slots=True, kw_only=True)
class Operation:
    """Something that is to be written into a ledger. Nobody changes one: it is not frozen because
    that takes longer, and every charge makes two.

    ticket: a random name, so that it is not carried out twice.
    time: when it was asked for, as text.
    """

    do: ClassVar[str]
    ticket: str
    time: str
    dataset: str

    def to_dict(self) -> dict[str, Any]:
        """The operation as JSON."""
        told = {name: _to_json(getattr(self, name)) for name in FIELDS[self.do]}
        return {"do": self.do, **told}

    def entry(self) -> str:
        """The text of the entry that the operation becomes."""
        return canonical(self.to_dict())


def ticket(dataset: str) -> dict[str, str]:
    """What every new operation has: a name of its own, and the time."""
    now = _written(int(time.time()))
    return {"ticket": random_name(), "time": now, "dataset": dataset}


def random_name() -> str:
    """A random name, which nobody else has and nobody can guess."""
    return os.urandom(16).hex()


@lru_cache(maxsize=1)
def _written(seconds: int) -> str:
    """A time as text: many charges have the same one."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


@dataclass(slots=True, kw_only=True)
class Open(Operation):
    """Open a budget.

    terms: as `Terms.to_text` writes them.
    stated: which of the terms that have a default were named by the caller.
    """

    do = "open"
    analyst: str
    terms: str
    stated: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Extend(Operation):
    """Raise a budget.

    terms: those of a budget that was charged before.
    fresh: those of one that was not.
    """

    do = "extend"
    analyst: str
    terms: str
    fresh: str
    reason: str

    def is_larger(self, before: Terms, after: Terms) -> bool:
        """Whether one budget is nowhere smaller than the other."""
        return before.grows_to(after)


@dataclass(slots=True, kw_only=True)
class Close(Operation):
    """Close a budget, or the share of an analyst, for good."""

    do = "close"
    analyst: str
    reason: str


@dataclass(slots=True, kw_only=True)
class OfRequest(Operation):
    """Something about one request of an analyst.

    key: the name of the request; random if the caller gave none.
    """

    analyst: str
    key: str

    @property
    def place(self) -> Key:
        """Under which name the request is found."""
        return self.dataset, self.analyst, self.key


@dataclass(slots=True, kw_only=True)
class Reserve(OfRequest):
    """Charge a request.

    loss, parts, delta: what the release costs, as the caller states it.
    amounts: what that takes from budgets of each tariff.
    after: the entry of the same key whose answer was lost, and that is paid for again;
        0 for the first time.
    holder: the process that asks, so that others can find out whether it still runs.
    """

    do = "reserve"
    windows: tuple[str, ...]
    loss: Loss
    parts: tuple[tuple[Loss, int], ...] | None
    delta: str
    amounts: Amounts
    request: dict[str, Any]
    after: int
    holder: str

    def entry(self) -> str:
        """What `canonical` would write; field by field, because most operations are of this
        kind, or settle one.
        """
        return self._text(_written_loss(self.loss), _mapping(self.request))

    @property
    def fingerprint(self) -> str:
        """What makes two requests of one analyst the same: what is asked, and its loss."""
        return self._digest(_written_loss(self.loss), _mapping(self.request))

    def entry_and_fingerprint(self) -> tuple[str, str]:
        """Both at once."""
        loss, request = _written_loss(self.loss), _mapping(self.request)
        return self._text(loss, request), self._digest(loss, request)

    def _text(self, loss: str, request: str) -> str:
        return (
            f'{{"after":{self.after},"amounts":{_amounts(self.amounts)},'
            f'"analyst":{_quoted(self.analyst)},"dataset":{_quoted(self.dataset)},'
            f'"delta":{_quoted(self.delta)},"do":"reserve","holder":{_quoted(self.holder)},'
            f'"key":{_quoted(self.key)},"loss":{loss},'
            f'"parts":{"null" if self.parts is None else canonical(_to_json(self.parts))},'
            f'"request":{request},"ticket":{_quoted(self.ticket)},'
            f'"time":{_quoted(self.time)},"windows":{_texts(self.windows)}}}'
        )

    def _digest(self, loss: str, request: str) -> str:
        asked = _quoted(self.dataset), _quoted(self.analyst), _texts(self.windows), loss, request
        return digest(f"[{','.join(asked)}]")

    def amount(self, terms: Terms) -> Sums | None:
        """What it takes from a budget with these terms; None if that was not said."""
        return dict(self.amounts).get(terms.tariff)


@dataclass(slots=True, kw_only=True)
class Settle(OfRequest):
    """Note that a request was answered.

    of: the number of its entry.
    answer: the release as JSON, if it is to be kept. The chain knows the digest only.
    """

    do = "settle"
    of: int
    answer: str | None

    def entry(self) -> str:
        """The text of the entry, without the answer itself."""
        answer = "null" if self.answer is None else _quoted(fingerprint(self.answer))
        return (
            f'{{"analyst":{_quoted(self.analyst)},"answer":{answer},'
            f'"dataset":{_quoted(self.dataset)},"do":"settle","key":{_quoted(self.key)},'
            f'"of":{self.of},"ticket":{_quoted(self.ticket)},"time":{_quoted(self.time)}}}'
        )


@dataclass(slots=True, kw_only=True)
class Abandon(OfRequest):
    """Note that a request was charged and will never be answered."""

    do = "abandon"
    of: int


@dataclass(slots=True, kw_only=True)
class Note(Operation):
    """Write something down that costs nothing: a publication, a key, a wish."""

    do = "note"
    what: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class AnchorNoted(Operation):
    """Note that the ledger has an anchor file."""

    do = "anchor"
    key: str


class Outcome(NamedTuple):
    """What became of an operation: it was written, or it was refused.

    number: of its entry, or of the entry that was there before; 0 where nothing had to
        be written.
    answer: the release that was kept for the same request.
    refused: why nothing was written.
    analyst, window: whose budget refused.
    terms: of the budgets that the refusal is about.
    spent: what is spent of that budget.
    state: of the request that was there before.
    """

    number: int = 0
    answer: str | None = None
    refused: Why | None = None
    analyst: str = ""
    window: str = ""
    terms: tuple[str, ...] = ()
    spent: Sums | None = None
    state: str = ""


KINDS: dict[str, type[Operation]] = {
    kind.do: kind for kind in (Open, Extend, Close, Reserve, Settle, Abandon, Note, AnchorNoted)
}
"""Every operation by its word. These words are written to disk: the list only grows."""
FIELDS = {do: tuple(field.name for field in fields(kind)) for do, kind in KINDS.items()}


def _to_json(value: Any) -> Any:
    """A field as JSON."""
    # most fields are text
    if type(value) is str:
        return value
    if isinstance(value, tuple):
        return [_to_json(part) for part in value]
    if isinstance(value, Sums):
        return list(value.to_texts())
    return value.to_dict() if isinstance(value, Loss) else value


@lru_cache(maxsize=1024)
def _written_loss(loss: Loss) -> str:
    """A loss as canonical JSON: many charges have the same one."""
    return canonical(loss.to_dict())


def _amounts(amounts: Amounts) -> str:
    """Amounts as canonical JSON."""
    written = [
        f'[{_quoted(tariff)},["{epsilon}","{squares}","{delta}"]]'
        for tariff, sums in amounts
        for epsilon, squares, delta in [sums.to_texts()]
    ]
    return f"[{','.join(written)}]"


def _texts(texts: Sequence[str]) -> str:
    """Texts as canonical JSON."""
    return f"[{','.join(map(_quoted, texts))}]"


def _mapping(value: dict[str, Any]) -> str:
    """A mapping as canonical JSON; most are from names to texts."""
    if not set(map(type, value.values())) <= {str}:
        return canonical(value)
    written = [f"{_quoted(name)}:{_quoted(value[name])}" for name in sorted(value)]
    return f"{{{','.join(written)}}}"


def decide(transaction: Transaction, operation: Operation) -> Outcome:
    """Carry out an operation, or refuse it."""
    match operation:
        case Reserve():
            return _reserve(transaction, operation)
        case Settle():
            return _end(transaction, operation, SETTLED, operation.answer)
        case Abandon():
            return _end(transaction, operation, LOST)
        case Open():
            return _open(transaction, operation)
        case Extend():
            return _extend(transaction, operation)
        case Close():
            return _close(transaction, operation)
        case Note():
            return _write(transaction, operation)
        case AnchorNoted():
            return _note_anchor(transaction, operation)
    raise TypeError("another operation")


def _terms_of(scope: Scope, balance: Balance) -> Terms:
    """The terms of a budget; what was never written there is damage."""
    with NamedPart(_BudgetOf(scope)):
        return read_terms(balance.terms)


class _BudgetOf(NamedTuple):
    """A budget as it is named where it is damaged: written only then."""

    scope: Scope

    def __str__(self) -> str:
        return f"The budget of {self.scope}"


def _open(transaction: Transaction, operation: Open) -> Outcome:
    scope = Scope(operation.dataset, operation.analyst)
    known = transaction.balance(scope)
    if known is not None:
        if known.closed:
            return Outcome(refused="closed", analyst=scope.analyst)
        wanted, stated = read_terms(operation.terms), frozenset(operation.stated)
        same = _terms_of(scope, known).agrees_with(wanted, stated)
        return Outcome() if same else Outcome(refused="other terms", terms=(known.terms,))
    whole = transaction.balance(Scope(scope.dataset))
    if scope.analyst and whole is None:
        return Outcome(refused="unknown data set")
    if whole is not None and whole.closed:
        return Outcome(refused="closed")
    transaction.put_balance(scope, Balance(operation.terms))
    return _write(transaction, operation)


def _extend(transaction: Transaction, operation: Extend) -> Outcome:
    """Raise a budget. Windows that were charged already keep theirs: it is the future
    that gets more.
    """
    scope = Scope(operation.dataset, operation.analyst)
    known = transaction.balance(scope)
    if known is None:
        return Outcome(refused="unknown data set")
    if known.closed:
        return Outcome(refused="closed", analyst=scope.analyst)
    before, charged = _terms_of(scope, known), known.spent != NOTHING
    terms = operation.terms if charged else operation.fresh
    after = read_terms(terms)
    # coins that were spent are counted in the size that they had
    counts_alike = before.tariff == after.tariff
    if not operation.is_larger(before, after) or (charged and not counts_alike):
        return Outcome(refused="smaller")
    transaction.put_balance(scope, known._replace(terms=terms))
    return _write(transaction, operation)


def _close(transaction: Transaction, operation: Close) -> Outcome:
    scope = Scope(operation.dataset, operation.analyst)
    known = transaction.balance(scope)
    if known is None:
        return Outcome(refused="unknown analyst" if scope.analyst else "unknown data set")
    if known.closed:
        return Outcome(refused="closed", analyst=scope.analyst)
    transaction.put_balance(scope, known._replace(closed=operation.reason))
    return _write(transaction, operation)


def _reserve(transaction: Transaction, operation: Reserve) -> Outcome:
    dataset, analyst, place = operation.dataset, operation.analyst, operation.place
    known = transaction.request(place)
    if known is not None:
        if known.fingerprint != operation.fingerprint:
            return Outcome(refused="another request")
        if known.answer is not None:
            return Outcome(number=known.number, answer=known.answer)
        if known.number != operation.after:
            if _has_written(transaction, operation, known.number):
                return Outcome(number=known.number)
            return Outcome(refused="unanswered", number=known.number, state=known.state)
    if transaction.has_analysts(dataset):
        if not analyst:
            return Outcome(refused="no analyst")
        if transaction.balance(Scope(dataset, analyst)) is None:
            return Outcome(refused="unknown analyst")
    refused = _charge(transaction, operation)
    if refused is not None:
        return refused
    text, fingerprint = operation.entry_and_fingerprint()
    number = transaction.append(text).number
    transaction.add_request(place, number, fingerprint)
    return Outcome(number)


def _has_written(transaction: Transaction, operation: Reserve, number: int) -> bool:
    """Whether an entry is of this very operation: its text has a random name in it. Then a
    child that was forked in between has carried it out, and may not say so.
    """
    found = transaction.entry(number)
    return found is not None and found[0] == operation.entry_and_fingerprint()[0]


def _charge(transaction: Transaction, operation: Reserve) -> Outcome | None:
    """Charge all budgets, or none and say which one is too small, or closed."""
    balances: dict[Scope, Balance] = {}
    agreed: dict[Scope, Terms] = {}
    unpriced: list[str] = []
    for scope in scopes_of(transaction, operation):
        whole = scope._replace(window="") if scope.window else scope
        owner = transaction.balance(whole)
        balance = owner if whole is scope else transaction.balance(scope) or owner
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
        balances[scope] = Balance(balance.terms, after, balance.closed)
    for scope, balance in balances.items():
        transaction.put_balance(scope, balance)
    return None


def scopes_of(transaction: Transaction, operation: Reserve) -> list[Scope]:
    """All budgets that a reservation is charged to: the analyst's own come first, because a
    refusal by the data set's shows what others have spent.
    """
    dataset, analyst = operation.dataset, operation.analyst
    owners = [analyst, ""] if analyst and transaction.has_analysts(dataset) else [""]
    return [
        Scope(dataset, owner, window) for owner in owners for window in operation.windows or [""]
    ]


def _end(
    transaction: Transaction, operation: Settle | Abandon, state: str, answer: str | None = None
) -> Outcome:
    """Note that a reservation was answered, or will never be."""
    if not transaction.end(operation.place, operation.of, state, answer):
        return Outcome(refused="not reserved")
    return _write(transaction, operation)


def _note_anchor(transaction: Transaction, operation: AnchorNoted) -> Outcome:
    """Note that the ledger has an anchor file: whoever says later that there is none is wrong."""
    if transaction.request(ANCHORED) is not None:
        return Outcome()
    outcome = _write(transaction, operation)
    transaction.add_request(ANCHORED, outcome.number, fingerprint("anchor"))
    return outcome


def _write(transaction: Transaction, operation: Operation) -> Outcome:
    return Outcome(number=transaction.append(operation.entry()).number)
