"""The tables of a ledger, the same in SQLite and PostgreSQL, and every SQL statement that reads or writes them.

entries: the append-only chain, the only truth. `ticket` is the random name of the operation that wrote the entry.
scopes: what each budget allows and what is spent, the sum of the entries.
requests: for each idempotency key what was asked, and the answer if it was to be kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from discreet.errors import LedgerDamaged
from discreet.ledger.amounts import Amount
from discreet.ledger.chain import START, Anchor, link

Found = list[tuple[Any, ...]]
Question = tuple[str, Sequence[Any]]
"""A statement with ? for each value, and the values."""


class Tables(Protocol):
    """A database within one transaction."""

    def ask(self, questions: Sequence[Question]) -> list[Found]:
        """The rows for each question, in one round trip."""

    def write(self, statement: str, values: Found) -> None:
        """Run a statement once for each row of values."""


Wanted = tuple[Question, Callable[[Found], None]]
"""A question, and what keeps its answer."""

SCHEMA: tuple[tuple[str, ...], ...] = (
    (
        "create table discreet_entries (number integer primary key, ticket text not null unique, body text not null, "
        "hash text not null)",
        "create table discreet_scopes (dataset text not null, analyst text not null, slot text not null, terms text not null, "
        "main_limit text not null, delta_limit text not null, main_spent text not null, delta_spent text not null, "
        "primary key (dataset, analyst, slot))",
        "create table discreet_requests (dataset text not null, request_key text not null, number integer not null unique, "
        "fingerprint text not null, state text not null, answer text, primary key (dataset, request_key))",
    ),
    # Budgets may say whom they protect and of which table, and a ledger that it has an anchor file: an
    # older discreet would not ask.
    (),
)
"""For each version of the schema the statements that lead there from the version before. Never edit one: append."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whom a budget is for: empty text where it is not limited to an analyst or a window."""

    dataset: str
    analyst: str = ""
    window: str = ""

    def __str__(self) -> str:
        analyst, window = f" for {self.analyst!r}" if self.analyst else "", f" in {self.window!r}" if self.window else ""
        return f"{self.dataset!r}{analyst}{window}"


@dataclass(frozen=True, slots=True)
class Balance:
    """One budget: what was agreed when it was opened, as JSON, and its two sides."""

    terms: str
    limit: Amount
    spent: Amount

    @property
    def left(self) -> Amount:
        """What may still be charged."""
        return self.limit - self.spent


@dataclass(frozen=True, slots=True)
class Request:
    """What became of an idempotency key."""

    dataset: str
    key: str
    number: int
    fingerprint: str
    state: str
    answer: str | None


RESERVED, SETTLED = "reserved", "settled"
ANCHORED = ("", "anchor")
"""Data set and key of the request that says that a ledger has an anchor file: no data set has this name."""


class Rows:
    """The tables within one transaction.

    Many operations may share it, so what they need is looked up for all of them at once (`look_up`), and what they change is kept
    here until `flush` writes it: a round trip to a server for each statement would take longer than the commit.
    """

    __slots__ = (
        "_absent",
        "_analysts",
        "_balances",
        "_changed",
        "_entries",
        "_head",
        "_keys",
        "_new",
        "_settled",
        "_tables",
        "_tickets",
    )

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._head: Anchor | None = None
        # the number and the text of the entry of each ticket
        self._tickets: dict[str, tuple[int, str] | None] = {}
        self._balances: dict[Scope, Balance | None] = {}
        self._absent: set[Scope] = set()
        self._analysts: dict[str, bool] = {}
        self._keys: dict[tuple[str, str], Request | None] = {}
        self._changed: set[Scope] = set()
        self._entries: list[tuple[Any, ...]] = []
        self._new: dict[int, tuple[str, str]] = {}  # requests of this transaction, by number
        self._settled: list[tuple[Any, ...]] = []

    def look_up(self, tickets: Sequence[str], keys: Sequence[tuple[str, str]], scopes: Collection[Scope]) -> None:
        """Find out at once, before anything is changed, where the chain ends and about many tickets, keys and budgets."""
        datasets = {scope.dataset for scope in scopes}
        self._find(
            self._about_head(),
            *self._about_tickets(tickets),
            *self._about_keys(keys),
            *(self._about_balance(scope) for scope in scopes),
            *(self._about_analysts(dataset) for dataset in datasets),
        )

    def head(self) -> Anchor:
        """The last point of the chain."""
        if self._head is None:
            self._find(self._about_head())
        assert self._head is not None  # it was looked up
        return self._head

    def append(self, ticket: str, body: str) -> Anchor:
        """Add an entry."""
        self._head = link(self.head(), body)
        self._entries.append((self._head.number, ticket, body, self._head.hash))
        self._tickets[ticket] = self._head.number, body
        return self._head

    def entries(self) -> Iterable[tuple[Any, ...]]:
        """Number, ticket, text and hash of all entries, in order."""
        return self._ask("select number, ticket, body, hash from discreet_entries order by number")

    def entry(self, number: int) -> tuple[Any, ...] | None:
        """Text and hash of one entry."""
        found = self._ask("select body, hash from discreet_entries where number = ?", number)
        return found[0] if found else None

    def entry_of(self, ticket: str) -> tuple[int, str] | None:
        """Number and text of the entry that an operation wrote, if it did."""
        if ticket not in self._tickets:
            self._find(*self._about_tickets([ticket]))
        return self._tickets[ticket]

    def balance(self, scope: Scope) -> Balance | None:
        """A budget, if it was opened."""
        if scope not in self._balances:
            self._find(self._about_balance(scope))
        found = self._balances[scope]
        if found is None:
            self._require_new(scope)
        return found

    def _require_new(self, scope: Scope) -> None:
        """Look for a budget again without the index: one that is damaged would give a spent one back."""
        if scope not in self._absent:
            if self._ask(_SCAN, scope.dataset, scope.analyst, scope.window):
                raise LedgerDamaged(f"The budget of {scope} must be in the index. Got a damaged one.")
            self._absent.add(scope)

    def balances(self) -> dict[Scope, Balance]:
        """All budgets."""
        return {scope: _balance(scope, *row[3:]) for row in self._ask(_BALANCES) for scope in [Scope(*row[:3])]}

    def has_analysts(self, dataset: str) -> bool:
        """Whether analysts have budgets of their own on a data set."""
        if dataset not in self._analysts:
            self._find(self._about_analysts(dataset))
        return self._analysts[dataset]

    def check(self) -> None:
        """Have the database look at its own pages and indexes, where it can."""

    def put_balance(self, scope: Scope, balance: Balance) -> None:
        """Change a budget, or make a new one."""
        self._balances[scope] = balance
        self._changed.add(scope)
        if scope.analyst:
            self._analysts[scope.dataset] = True

    def request(self, dataset: str, key: str) -> Request | None:
        """What became of a key, if it was used."""
        if (dataset, key) not in self._keys:
            self._find(*self._about_keys([(dataset, key)]))
        return self._keys[dataset, key]

    def requests(self) -> dict[int, Request]:
        """All requests by the number of their entry."""
        return {row[2]: Request(*row) for row in self._ask(_REQUESTS)}

    def add_request(self, dataset: str, key: str, number: int, fingerprint: str) -> None:
        """Remember a key."""
        self._keys[dataset, key] = Request(dataset, key, number, fingerprint, RESERVED, None)
        self._new[number] = dataset, key

    def settle(self, dataset: str, key: str, number: int, answer: str | None) -> bool:
        """Note that a request was answered; False if it was already, or never made."""
        known = self.request(dataset, key)
        if known is None or known.number != number or known.state != RESERVED:
            return False
        self._keys[dataset, key] = replace(known, state=SETTLED, answer=answer)
        if number not in self._new:
            self._settled.append((SETTLED, answer, number))
        return True

    @property
    def is_changed(self) -> bool:
        """Whether there is something to write. Every change comes with an entry."""
        return bool(self._entries)

    def flush(self) -> None:
        """Write all changes."""
        self._many("insert into discreet_entries values (?, ?, ?, ?)", self._entries)
        self._many(_PUT_BALANCE, [self._row_of(scope) for scope in self._changed])
        self._many(_ADD_REQUEST, [self._row_of_request(*pair) for pair in self._new.values()])
        self._many("update discreet_requests set state = ?, answer = ? where number = ?", self._settled)

    def _many(self, statement: str, values: list[tuple[Any, ...]]) -> None:
        if values:
            self._tables.write(statement, values)

    def _ask(self, statement: str, *values: Any) -> Found:
        return self._tables.ask([(statement, values)])[0]

    def _find(self, *wanted: Wanted) -> None:
        """Ask everything at once, and keep what was found."""
        answers = self._tables.ask([question for question, _ in wanted])
        for (_, keep), found in zip(wanted, answers, strict=True):
            keep(found)

    def _about_head(self) -> Wanted:
        def keep(found: Found) -> None:
            self._head = Anchor(*found[0]) if found else START

        return ("select number, hash from discreet_entries order by number desc limit 1", ()), keep

    def _about_tickets(self, tickets: Sequence[str]) -> Iterator[Wanted]:
        def keep(found: Found) -> None:
            self._tickets.update({ticket: (number, body) for ticket, number, body in found})

        self._tickets.update(dict.fromkeys(tickets))
        statement = "select ticket, number, body from discreet_entries where ticket in"
        for some in _in_lots(tickets):
            yield (f"{statement} ({_marks(some)})", some), keep

    def _about_keys(self, keys: Sequence[tuple[str, str]]) -> Iterator[Wanted]:
        def keep(found: Found) -> None:
            self._keys.update({(row[0], row[1]): Request(*row) for row in found})

        self._keys.update(dict.fromkeys(keys))
        # each data set by itself: SQLite has no index for pairs in (values ...), and would read the whole table
        for dataset in dict.fromkeys(dataset for dataset, _ in keys):
            for some in _in_lots([key for of, key in keys if of == dataset]):
                yield (f"{_REQUESTS} where dataset = ? and request_key in ({_marks(some)})", [dataset, *some]), keep

    def _about_balance(self, scope: Scope) -> Wanted:
        def keep(found: Found) -> None:
            self._balances[scope] = _balance(scope, *found[0][3:]) if found else None

        where = "where dataset = ? and analyst = ? and slot = ?"
        return (f"{_BALANCES} {where}", (scope.dataset, scope.analyst, scope.window)), keep

    def _about_analysts(self, dataset: str) -> Wanted:
        def keep(found: Found) -> None:
            self._analysts[dataset] = bool(found)

        return ("select 1 from discreet_scopes where dataset = ? and analyst <> ? limit 1", (dataset, "")), keep

    def _row_of(self, scope: Scope) -> tuple[str, ...]:
        balance = self._balances[scope]
        assert balance is not None  # budgets are never taken away
        numbers = (balance.limit.main, balance.limit.delta, balance.spent.main, balance.spent.delta)
        return (scope.dataset, scope.analyst, scope.window, balance.terms, *map(str, numbers))

    def _row_of_request(self, dataset: str, key: str) -> tuple[Any, ...]:
        request = self._keys[dataset, key]
        assert request is not None  # it was added
        return (dataset, key, request.number, request.fingerprint, request.state, request.answer)


_BALANCES = "select dataset, analyst, slot, terms, main_limit, delta_limit, main_spent, delta_spent from discreet_scopes"
_REQUESTS = "select dataset, request_key, number, fingerprint, state, answer from discreet_requests"
# No index is for what is computed first, and none has the terms in it: the table itself is read.
_SCAN = "select terms from discreet_scopes where dataset || '' = ? and analyst || '' = ? and slot || '' = ? limit 1"
_ADD_REQUEST = "insert into discreet_requests values (?, ?, ?, ?, ?, ?)"
_PUT_BALANCE = (
    "insert into discreet_scopes values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (dataset, analyst, slot) do update set "
    "terms = excluded.terms, main_limit = excluded.main_limit, delta_limit = excluded.delta_limit, "
    "main_spent = excluded.main_spent, delta_spent = excluded.delta_spent"
)
_LOT = 128  # values in one statement
_UNITS = re.compile("[0-9]{1,4000}")


def _in_lots(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Some at a time; the last is repeated until there are 1, 2, 4, 8 ..., so that few statements have to be prepared."""
    for start in range(0, len(values), _LOT):
        some = list(values[start : start + _LOT])
        yield some + some[-1:] * ((1 << (len(some) - 1).bit_length()) - len(some))


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _balance(scope: Scope, terms: str, *sums: str) -> Balance:
    if not all(isinstance(text, str) for text in (scope.dataset, scope.analyst, scope.window, terms)):
        raise LedgerDamaged(f"The names and terms of the budget of {scope} must be text. Got something else.")
    if not all(isinstance(number, str) and _UNITS.fullmatch(number) for number in sums):
        raise LedgerDamaged(f"The sums of the budget of {scope} must be whole numbers. Got something else.")
    main_limit, delta_limit, main_spent, delta_spent = map(int, sums)
    return Balance(terms, Amount(main_limit, delta_limit), Amount(main_spent, delta_spent))
