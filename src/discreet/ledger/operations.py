"""What can be asked of a ledger: each operation with its fields, the text of its entry, and the
rule that carries it out inside a transaction, or refuses it and writes nothing.

An operation's JSON is its entry in the chain and is read for ever: fields are only added, and
`entries.py` reads what earlier versions wrote.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, ClassVar, Literal, NamedTuple

from discreet.ledger.budget_terms import NOTHING, Sums, Terms, read_terms
from discreet.ledger.chain import canonical, digest, fingerprint
from discreet.ledger.transaction import (
    ANCHORED,
    LOST,
    SETTLED,
    Balance,
    Key,
    Scope,
    Transaction,
    terms_of,
)
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


class Outcome(NamedTuple):
    """What became of an operation: it was written, or it was refused.

    number: of its entry, or of the entry that was there before; 0 if nothing had to be written.
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


@dataclass(slots=True, kw_only=True)
class Operation:
    """Something to be written into a ledger. Nobody changes one; it is not frozen because that
    takes longer, and every charge makes two.

    ticket: a random name, so that it is not carried out twice.
    time: when it was asked for, as text.
    """

    do: ClassVar[str]
    ticket: str
    time: str
    dataset: str

    def to_dict(self) -> dict[str, Any]:
        """The operation as JSON."""
        return {"do": self.do} | {name: _to_json(getattr(self, name)) for name in FIELDS[self.do]}

    def entry(self) -> str:
        """The text of the entry that the operation becomes."""
        return canonical(self.to_dict())

    def decide(self, transaction: Transaction) -> Outcome:
        """Carry it out, or refuse it."""
        return self._write(transaction)

    def _write(self, transaction: Transaction) -> Outcome:
        return Outcome(transaction.append(self.entry()).number)


def ticket(dataset: str) -> dict[str, Any]:
    """What every new operation has: a name of its own, and the time."""
    return {"ticket": random_name(), "time": _time_text(int(time.time())), "dataset": dataset}


def random_name() -> str:
    """A name that nobody else has and nobody can guess."""
    return os.urandom(16).hex()


@lru_cache(maxsize=1)
def _time_text(seconds: int) -> str:
    """A time as text: many charges have the same one."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


@dataclass(slots=True, kw_only=True)
class OfBudget(Operation):
    """Something about the budget of a data set, or of an analyst on it."""

    analyst: str

    @property
    def scope(self) -> Scope:
        """Whose budget it is."""
        return Scope(self.dataset, self.analyst)


@dataclass(slots=True, kw_only=True)
class Open(OfBudget):
    """Open a budget.

    terms: as `Terms.to_text` writes them.
    stated: which of the terms that have a default were named by the caller.
    """

    do = "open"
    terms: str
    stated: tuple[str, ...]

    def decide(self, transaction: Transaction) -> Outcome:
        """Open it, unless it is open with these terms already."""
        scope = self.scope
        known = transaction.balance(scope)
        if known is not None:
            if known.closed:
                return Outcome(refused="closed", analyst=scope.analyst)
            if terms_of(scope, known).agrees_with(read_terms(self.terms), frozenset(self.stated)):
                return Outcome()
            return Outcome(refused="other terms", terms=(known.terms,))
        whole = transaction.balance(Scope(scope.dataset))
        if scope.analyst and whole is None:
            return Outcome(refused="unknown data set")
        if whole is not None and whole.closed:
            return Outcome(refused="closed")
        transaction.put_balance(scope, Balance(self.terms))
        return self._write(transaction)


@dataclass(slots=True, kw_only=True)
class Extend(OfBudget):
    """Raise a budget.

    terms: those of a budget that was charged before.
    fresh: those of one that was not.
    """

    do = "extend"
    terms: str
    fresh: str
    reason: str

    def decide(self, transaction: Transaction) -> Outcome:
        """Raise it. Windows that were charged already keep theirs: the future gets more."""
        known = transaction.balance(self.scope)
        if known is None:
            return Outcome(refused="unknown data set")
        if known.closed:
            return Outcome(refused="closed", analyst=self.analyst)
        before, charged = terms_of(self.scope, known), known.spent != NOTHING
        terms = self.terms if charged else self.fresh
        after = read_terms(terms)
        # coins that were spent are counted in the size that they had
        counts_alike = before.tariff == after.tariff
        if not self.is_larger(before, after) or (charged and not counts_alike):
            return Outcome(refused="smaller")
        transaction.put_balance(self.scope, known._replace(terms=terms))
        return self._write(transaction)

    def is_larger(self, before: Terms, after: Terms) -> bool:
        """True if one budget is nowhere smaller than the other."""
        return before.grows_to(after)


@dataclass(slots=True, kw_only=True)
class Close(OfBudget):
    """Close a budget, or the share of an analyst, for good."""

    do = "close"
    reason: str

    def decide(self, transaction: Transaction) -> Outcome:
        """Close it once."""
        known = transaction.balance(self.scope)
        if known is None:
            return Outcome(refused="unknown analyst" if self.analyst else "unknown data set")
        if known.closed:
            return Outcome(refused="closed", analyst=self.analyst)
        transaction.put_balance(self.scope, known._replace(closed=self.reason))
        return self._write(transaction)


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
    after: the entry of the same key whose answer was lost, and that is paid for again; 0 for the
        first time.
    holder: the process that asks, so that others can see whether it still runs.
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
    loss_text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.loss_text = _loss_text(self.loss)

    def entry(self) -> str:
        """What `canonical` would write, field by field: most operations are of this kind."""
        return (
            f'{{"after":{self.after},"amounts":{_amounts_text(self.amounts)},'
            f'"analyst":{_quoted(self.analyst)},"dataset":{_quoted(self.dataset)},'
            f'"delta":{_quoted(self.delta)},"do":"reserve","holder":{_quoted(self.holder)},'
            f'"key":{_quoted(self.key)},"loss":{self.loss_text},'
            f'"parts":{"null" if self.parts is None else canonical(_to_json(self.parts))},'
            f'"request":{_mapping_text(self.request)},"ticket":{_quoted(self.ticket)},'
            f'"time":{_quoted(self.time)},"windows":{_list_text(self.windows)}}}'
        )

    @property
    def fingerprint(self) -> str:
        """What makes two requests of one analyst the same: what is asked, and its loss."""
        names = f"{_quoted(self.dataset)},{_quoted(self.analyst)},{_list_text(self.windows)}"
        return digest(f"[{names},{self.loss_text},{_mapping_text(self.request)}]")

    def amount(self, terms: Terms) -> Sums | None:
        """What it takes from a budget with these terms; None if it has no price there."""
        return dict(self.amounts).get(terms.tariff)

    def decide(self, transaction: Transaction) -> Outcome:
        """Charge it, unless its key has paid before: then give that answer, or refuse."""
        dataset, analyst, place = self.dataset, self.analyst, self.place
        known = transaction.request(place)
        if known is not None:
            if known.fingerprint != self.fingerprint:
                return Outcome(refused="another request")
            if known.answer is not None:
                return Outcome(number=known.number, answer=known.answer)
            if known.number != self.after:
                if self._has_written(transaction, known.number):
                    return Outcome(number=known.number)
                return Outcome(refused="unanswered", number=known.number, state=known.state)
        if transaction.has_analysts(dataset):
            if not analyst:
                return Outcome(refused="no analyst")
            if transaction.balance(Scope(dataset, analyst)) is None:
                return Outcome(refused="unknown analyst")
        refused = self._charge(transaction)
        if refused is not None:
            return refused
        outcome = self._write(transaction)
        transaction.add_request(place, outcome.number, self.fingerprint)
        return outcome

    def _has_written(self, transaction: Transaction, number: int) -> bool:
        """True if an entry is of this very operation, by the random name in its text: a child that
        was forked meanwhile has carried it out, and may not say so.
        """
        entry = transaction.entry(number)
        return entry is not None and entry[0] == self.entry()

    def _charge(self, transaction: Transaction) -> Outcome | None:
        """Charge all budgets, or none and say which one is too small, or closed."""
        balances: dict[Scope, Balance] = {}
        agreed: dict[Scope, Terms] = {}
        unpriced: list[str] = []
        for scope in self.scopes(transaction):
            whole = scope._replace(window="") if scope.window else scope
            owner = transaction.balance(whole)
            balance = owner if whole is scope else transaction.balance(scope) or owner
            if owner is None or balance is None:
                return Outcome(refused="unknown data set")
            if owner.closed:
                return Outcome(refused="closed", analyst=scope.analyst)
            balances[scope], agreed[scope] = balance, terms_of(scope, balance)
            if self.amount(agreed[scope]) is None:
                unpriced.append(balance.terms)
        if unpriced:
            return Outcome(refused="unpriced", terms=tuple(sorted(set(unpriced))))
        for scope, balance in balances.items():
            terms = agreed[scope]
            amount = self.amount(terms)
            if amount is None or not amount.is_a_charge:
                return Outcome(refused="no charge")
            after = terms.after(balance.spent, amount, self.loss)
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

    def scopes(self, transaction: Transaction) -> list[Scope]:
        """All budgets that it is charged to. The analyst's own come first, because a refusal by
        the data set's shows what others have spent.
        """
        dataset, analyst = self.dataset, self.analyst
        owners = [analyst, ""] if analyst and transaction.has_analysts(dataset) else [""]
        windows = self.windows or [""]
        return [Scope(dataset, owner, window) for owner in owners for window in windows]


@dataclass(slots=True, kw_only=True)
class Ending(OfRequest):
    """What became of a charge.

    of: the number of its entry.
    """

    of: int

    def _end(self, transaction: Transaction, state: str, answer: str | None = None) -> Outcome:
        if not transaction.end(self.place, self.of, state, answer):
            return Outcome(refused="not reserved")
        return self._write(transaction)


@dataclass(slots=True, kw_only=True)
class Settle(Ending):
    """Note that a request was answered.

    answer: the release as JSON, if it is to be kept. The chain knows the digest only.
    """

    do = "settle"
    answer: str | None

    def entry(self) -> str:
        """The text of the entry, without the answer itself."""
        answer = "null" if self.answer is None else _quoted(fingerprint(self.answer))
        return (
            f'{{"analyst":{_quoted(self.analyst)},"answer":{answer},'
            f'"dataset":{_quoted(self.dataset)},"do":"settle","key":{_quoted(self.key)},'
            f'"of":{self.of},"ticket":{_quoted(self.ticket)},"time":{_quoted(self.time)}}}'
        )

    def decide(self, transaction: Transaction) -> Outcome:
        """Settle it once."""
        return self._end(transaction, SETTLED, self.answer)


@dataclass(slots=True, kw_only=True)
class Abandon(Ending):
    """Note that a request was charged and will never be answered."""

    do = "abandon"

    def decide(self, transaction: Transaction) -> Outcome:
        """Give it up, unless it was settled."""
        return self._end(transaction, LOST)


@dataclass(slots=True, kw_only=True)
class Note(Operation):
    """Write something down that costs nothing, such as a publication or a key."""

    do = "note"
    what: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class AnchorNoted(Operation):
    """Note that the ledger has an anchor file: from then on it is not used without one."""

    do = "anchor"
    key: str

    def decide(self, transaction: Transaction) -> Outcome:
        """Note it once."""
        if transaction.request(ANCHORED) is not None:
            return Outcome()
        outcome = self._write(transaction)
        transaction.add_request(ANCHORED, outcome.number, fingerprint("anchor"))
        return outcome


KINDS: dict[str, type[Operation]] = {
    kind.do: kind for kind in (Open, Extend, Close, Reserve, Settle, Abandon, Note, AnchorNoted)
}
"""Every operation by its word. These words are written to disk: the list only grows."""
FIELDS = {do: tuple(each.name for each in fields(kind) if each.init) for do, kind in KINDS.items()}


def _to_json(value: Any) -> Any:
    """A field as JSON; most are text."""
    if type(value) is str:
        return value
    if isinstance(value, tuple):
        return [_to_json(part) for part in value]
    if isinstance(value, Sums):
        return list(value.to_texts())
    return value.to_dict() if isinstance(value, Loss) else value


@lru_cache(maxsize=1024)
def _loss_text(loss: Loss) -> str:
    """A loss as canonical JSON: many charges have the same one."""
    return canonical(loss.to_dict())


def _amounts_text(amounts: Amounts) -> str:
    """Amounts as canonical JSON."""
    texts = [
        f'[{_quoted(tariff)},["{epsilon}","{squares}","{delta}"]]'
        for tariff, sums in amounts
        for epsilon, squares, delta in [sums.to_texts()]
    ]
    return f"[{','.join(texts)}]"


def _list_text(texts: Sequence[str]) -> str:
    """Texts as canonical JSON."""
    return f"[{','.join(map(_quoted, texts))}]"


def _mapping_text(value: dict[str, Any]) -> str:
    """A mapping as canonical JSON; most are from names to texts."""
    if not set(map(type, value.values())) <= {str}:
        return canonical(value)
    texts = [f"{_quoted(name)}:{_quoted(value[name])}" for name in sorted(value)]
    return f"{{{','.join(texts)}}}"
