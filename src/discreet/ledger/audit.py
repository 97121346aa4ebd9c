"""Verification: every entry is what was written, in its order, and the sums are theirs.

What a file can prove by itself is limited: who can write the file can write a whole new chain, or put back an older copy. Against that
there are anchors, points of the chain that somebody keeps elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from discreet.errors import LedgerDamaged
from discreet.ledger.book import carry_out, read_body
from discreet.ledger.chain import START, Anchor, fingerprint, link
from discreet.ledger.damage import UNREADABLE
from discreet.ledger.records import Charge, Verified
from discreet.ledger.rows import RESERVED, SETTLED, Balance, Request, Rows, Scope

_LOT = 128
"""How many are looked for at once."""


def verify(rows: Rows, anchors: Iterable[Anchor], name: str) -> Verified:
    """Check the chain, the sums and the requests against each other, and that the chain goes through the anchors."""
    head, memory, wanted = START, _Memory(), set(anchors)
    for head, ticket, body in follow(rows, name):
        _replay(memory, head.number, ticket, body, name)
        _meet(head, wanted, name)
    _meet(START, wanted, name)
    if wanted:
        last = max(anchor.number for anchor in wanted)
        raise LedgerDamaged(
            f"The ledger {name} must go up to its anchor, entry {last}. Got {head.number} entries: it was cut or rolled back."
        )
    _compare(rows, memory, name)
    _find_again(rows, memory, head, name)
    rows.check()
    return Verified(head.number, head)


def follow(rows: Rows, name: str) -> Iterator[tuple[Anchor, str, str]]:
    """Point, ticket and text of each entry, in order, as long as the hashes say that it is the one that was written."""
    head = START
    for number, ticket, body, digest in rows.entries():
        head = _next(head, number, body, digest, name)
        yield head, ticket, body


def _meet(head: Anchor, wanted: set[Anchor], name: str) -> None:
    """Tick off the anchors of this point."""
    here = {anchor for anchor in wanted if anchor.number == head.number}
    if here - {head}:
        raise LedgerDamaged(f"Entry {head.number} of the ledger {name} must be the one of its anchor. Got another one.")
    wanted -= here


def _next(head: Anchor, number: int, body: str, digest: str, name: str) -> Anchor:
    if number != head.number + 1:
        raise LedgerDamaged(f"Entry {head.number + 1} of the ledger {name} must be there. Got entry {number} in its place.")
    found = link(head, body) if isinstance(body, str) else START
    if found.hash != digest:
        raise LedgerDamaged(
            f"Entry {number} of the ledger {name} must have the hash that it was written with. Got another one."
        )
    return found


def _replay(memory: _Memory, number: int, ticket: str, body: str, name: str) -> None:
    try:
        operation = read_body(body)
        if operation["do"] == "reserve":
            Charge.read(number, operation)  # what was verified can be shown
        outcome = carry_out(memory, operation) if operation["ticket"] == ticket else {}
    except UNREADABLE:
        outcome = {}
    if outcome.get("number") != number:
        raise LedgerDamaged(f"Entry {number} of the ledger {name} must be one that was allowed. Got one that is not.")


def _compare(rows: Rows, memory: _Memory, name: str) -> None:
    sums = rows.balances()
    for scope in sums.keys() | memory.scopes.keys():
        if sums.get(scope) != memory.scopes.get(scope):
            raise LedgerDamaged(f"The sums of the ledger {name} for {scope} must be those of its entries. Got others.")
    found = {number: _without_answer(request) for number, request in rows.requests().items()}
    for number in found.keys() | memory.answered.keys():
        if found.get(number) != memory.answered.get(number):
            raise LedgerDamaged(f"The request of entry {number} of the ledger {name} must be as it was. Got a changed one.")


def _find_again(rows: Rows, memory: _Memory, head: Anchor, name: str) -> None:
    """Look for everything in the way that a charge does, by the indexes: what they miss could be spent again."""
    wrong = LedgerDamaged(f"The indexes of the ledger {name} must lead to its entries and sums. Got others.")
    tickets, scopes = list(memory.tickets), list(memory.scopes)
    keys = [(request.dataset, request.key) for request in memory.answered.values()]
    for start in range(0, max(len(tickets), len(scopes), 1), _LOT):
        lot = slice(start, start + _LOT)
        rows.look_up(tickets[lot], keys[lot], scopes[lot])
        entries = [rows.entry_of(ticket) for ticket in tickets[lot]]
        found = [None if entry is None else entry[0] for entry in entries]
        right = found == [memory.tickets[ticket] for ticket in tickets[lot]]
        right &= all(rows.balance(scope) == memory.scopes[scope] for scope in scopes[lot])
        right &= all(rows.has_analysts(scope.dataset) == memory.has_analysts(scope.dataset) for scope in scopes[lot])
        for dataset, key in keys[lot]:
            request = rows.request(dataset, key)
            right &= request is not None and _without_answer(request) == memory.request(dataset, key)
        if not right or rows.head() != head:
            raise wrong


def _without_answer(request: Request) -> Request:
    """A request with the digest of its answer, which is what the chain knows of it."""
    answer = fingerprint(request.answer) if isinstance(request.answer, str) else request.answer
    return replace(request, answer=answer)


class _Memory(Rows):
    """The tables as the entries make them, in memory."""

    __slots__ = ("_last", "_requests", "answered", "scopes", "tickets", "with_analysts")

    def __init__(self) -> None:
        self._last = 0
        self.scopes: dict[Scope, Balance] = {}
        self.answered: dict[int, Request] = {}
        self._requests: dict[tuple[str, str], int] = {}
        self.tickets: dict[str, int] = {}
        self.with_analysts: set[str] = set()

    def append(self, ticket: str, body: str) -> Anchor:
        self._last += 1
        self.tickets[ticket] = self._last
        return Anchor(self._last, "")

    def entry_of(self, ticket: str) -> tuple[int, str] | None:
        return None

    def balance(self, scope: Scope) -> Balance | None:
        return self.scopes.get(scope)

    def put_balance(self, scope: Scope, balance: Balance) -> None:
        self.scopes[scope] = balance
        if scope.analyst:
            self.with_analysts.add(scope.dataset)

    def has_analysts(self, dataset: str) -> bool:
        return dataset in self.with_analysts

    def request(self, dataset: str, key: str) -> Request | None:
        number = self._requests.get((dataset, key))
        return None if number is None else self.answered[number]

    def add_request(self, dataset: str, key: str, number: int, fingerprint: str) -> None:
        self._requests[dataset, key] = number
        self.answered[number] = Request(dataset, key, number, fingerprint, RESERVED, None)

    def settle(self, dataset: str, key: str, number: int, answer: str | None) -> bool:
        known = self.request(dataset, key)
        if known is None or known.number != number or known.state != RESERVED:
            return False
        # an entry holds the digest of the answer, not the answer
        self.answered[number] = replace(known, state=SETTLED, answer=answer)
        return True
