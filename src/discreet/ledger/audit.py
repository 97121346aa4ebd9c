"""Verification: every entry is what was written, in its order, and the sums are theirs.

A file cannot prove everything by itself: whoever can write it can write a whole new chain, or put
back an older copy. Against that there are anchors, points of the chain that are kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from discreet.errors import LedgerDamagedError
from discreet.ledger.chain import START, UNREADABLE, Anchor, fingerprint, link
from discreet.ledger.entries import read_entry
from discreet.ledger.operations import Reserve
from discreet.ledger.records import Charge, Verified
from discreet.ledger.transaction import Balance, Key, Request, Rows, Scope, Statement, Transaction

_LOT = 128
"""Names that are looked for at once."""


def verify(transaction: Transaction, anchors: Iterable[Anchor], name: str) -> Verified:
    """Check the chain, the sums and the requests against each other, and that the chain goes
    through the anchors.
    """
    head, memory, missing = START, Replayed(), set(anchors)
    for head in replay(transaction, memory, name):
        _meet(head, missing, name)
    _meet(START, missing, name)
    if missing:
        last = max(anchor.number for anchor in missing)
        raise LedgerDamagedError(
            f"The ledger {name} must go up to its anchor, entry {last}. Got {head.number} entries: "
            "it was cut or rolled back."
        )
    _compare(transaction, memory, name)
    _find_again(transaction, memory, head, name)
    transaction.check()
    return Verified(head.number, head)


def replay(transaction: Transaction, memory: Replayed, name: str) -> Iterator[Anchor]:
    """Carry out all entries again, in memory; each point of the chain, as long as its hash is
    right.
    """
    head = START
    for number, body, digest in transaction.entries():
        head = _next(head, number, body, digest, name)
        _replay(memory, head.number, body, name)
        yield head


def require_linked(number: int, body: str, digest: str, before: str | None, name: str) -> None:
    """Refuse one entry whose hash is not that of its text and of the hash before it."""
    previous = START if number == 1 else Anchor(number - 1, before or "")
    _next(previous, number, body, digest, name)


def _meet(head: Anchor, missing: set[Anchor], name: str) -> None:
    """Tick off the anchors of this point."""
    here = {anchor for anchor in missing if anchor.number == head.number}
    if here - {head}:
        raise LedgerDamagedError(
            f"Entry {head.number} of the ledger {name} must be the one of its anchor. Got another "
            "one."
        )
    missing -= here


def _next(head: Anchor, number: int, body: str, digest: str, name: str) -> Anchor:
    if number != head.number + 1:
        raise LedgerDamagedError(
            f"Entry {head.number + 1} of the ledger {name} must be there. Got entry {number} in "
            "its place."
        )
    point = link(head, body) if isinstance(body, str) else START
    if point.hash != digest:
        told = f"Entry {number} of the ledger {name} must have its original hash. Got another one."
        raise LedgerDamagedError(told)
    return point


def _replay(memory: Replayed, number: int, body: str, name: str) -> None:
    try:
        operation = read_entry(body, memory.answered)
        if isinstance(operation, Reserve):
            # a verified entry can be shown
            Charge.read(number, operation)
        right = operation.decide(memory).number == number
    except UNREADABLE:
        right = False
    if not right:
        told = f"Entry {number} of the ledger {name} must fit the budget. Got one that does not."
        raise LedgerDamagedError(told)


def _compare(transaction: Transaction, memory: Replayed, name: str) -> None:
    sums, known = transaction.balances(), memory.scopes
    for scope in sums.keys() | known.keys():
        if sums.get(scope) != known.get(scope):
            raise LedgerDamagedError(
                f"The sums of the ledger {name} for {scope} must be those of its entries. Got "
                "others."
            )
    requests = {number: _with_digest(each) for number, each in transaction.requests().items()}
    for number in requests.keys() | memory.answered.keys():
        if requests.get(number) != memory.answered.get(number):
            raise LedgerDamagedError(
                f"The request of entry {number} of the ledger {name} must be unchanged. Got a "
                f"changed one."
            )


def _find_again(transaction: Transaction, memory: Replayed, head: Anchor, name: str) -> None:
    """Look for everything as a charge does, by the indexes: what they miss could be spent again."""
    scopes = list(memory.scopes)
    keys = list(dict.fromkeys(request.place for request in memory.answered.values()))
    for start in range(0, max(len(keys), len(scopes), 1), _LOT):
        lot = slice(start, start + _LOT)
        transaction.look_up(keys[lot], scopes[lot])
        is_right = transaction.head() == head
        for scope in scopes[lot]:
            dataset = scope.dataset
            is_right &= transaction.balance(scope) == memory.balance(scope)
            is_right &= transaction.has_analysts(dataset) == memory.has_analysts(dataset)
        for place in keys[lot]:
            request = transaction.request(place)
            is_right &= request is not None and _with_digest(request) == memory.request(place)
        if not is_right:
            told = f"The indexes of the ledger {name} must match its entries and sums. Got others."
            raise LedgerDamagedError(told)


def _with_digest(request: Request) -> Request:
    """A request with the digest of its answer, which is what the chain knows of it."""
    answer = fingerprint(request.answer) if isinstance(request.answer, str) else request.answer
    return request._replace(answer=answer)


class _Nothing:
    """Tables in which nothing is written."""

    def ask(self, questions: Sequence[Statement]) -> list[Rows]:
        return [[] for _ in questions]

    def write(self, statement: str, values: Rows) -> None:
        raise AssertionError(statement)


class Replayed(Transaction):
    """The tables as the entries make them, in memory."""

    def __init__(self) -> None:
        super().__init__(_Nothing())

    @property
    def scopes(self) -> dict[Scope, Balance]:
        """All budgets."""
        return {scope: each for scope, each in self._balances.items() if each is not None}

    @property
    def answered(self) -> dict[int, Request]:
        """All requests, by the number of their entry, each with the digest of its answer."""
        return self._new

    def append(self, body: str) -> Anchor:
        """Count an entry."""
        self._head = Anchor(self.head().number + 1, "")
        return self._head

    def balance(self, scope: Scope) -> Balance | None:
        """A budget, if it was opened."""
        return self._balances.get(scope)

    def request(self, place: Key) -> Request | None:
        """What became of a key the last time that it was paid for."""
        return self._keys.get(place)
