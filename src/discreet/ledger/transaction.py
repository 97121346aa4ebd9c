"""A ledger's tables within one transaction, with every SQL statement of a charge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from discreet.errors import LedgerDamagedError
from discreet.ledger.budget_terms import NOTHING, Sums, Terms, read_terms
from discreet.ledger.chain import START, UNREADABLE, Anchor, link

RESERVED, SETTLED, LOST = "reserved", "settled", "lost"
ANCHORED = ("", "", "anchor")
"""The request that says that a ledger has an anchor file: no data set has this name."""
Key = tuple[str, str, str]
"""Data set, analyst and the name of a request."""


# These are tuples, because every charge makes and compares many of them.


class Scope(NamedTuple):
    """Whom a budget is for: empty text where it is not limited to an analyst or a window."""

    dataset: str
    analyst: str = ""
    window: str = ""

    def __str__(self) -> str:
        analyst = f" for {self.analyst!r}" if self.analyst else ""
        window = f" in {self.window!r}" if self.window else ""
        return f"{self.dataset!r}{analyst}{window}"


class Balance(NamedTuple):
    """One budget: what was agreed when it was opened, as JSON, and what is spent.

    closed: the reason, where it was closed permanently.
    """

    terms: str
    spent: Sums = NOTHING
    closed: str = ""


class Request(NamedTuple):
    """What became of a request.

    attempt: how often its key was paid for before, because an answer was lost.
    """

    dataset: str
    analyst: str
    key: str
    attempt: int
    number: int
    fingerprint: str
    state: str
    answer: str | None

    @property
    def place(self) -> Key:
        """Under which name it is found."""
        return self.dataset, self.analyst, self.key


def terms_of(scope: Scope, balance: Balance) -> Terms:
    """The terms of a budget; what was never written there is damage."""
    try:
        return read_terms(balance.terms)
    except UNREADABLE:
        raise LedgerDamagedError(
            f"The budget of {scope} must be as it was written. Got something else."
        ) from None


def read_balance(scope: Scope, terms: str, *rest: str) -> Balance:
    """The budget in a row of its table; what was never written there is damage."""
    names = (scope.dataset, scope.analyst, scope.window, terms, rest[-1])
    if not all(isinstance(text, str) for text in names):
        raise LedgerDamagedError(
            f"The names and terms of the budget of {scope} must be text. Got something else."
        )
    try:
        return Balance(terms, Sums.read(*rest[:3]), rest[3])
    except ValueError:
        raise LedgerDamagedError(
            f"The sums of the budget of {scope} must be whole numbers. Got something else."
        ) from None


Rows = list[tuple[Any, ...]]
Statement = tuple[str, Sequence[Any]]
"""A statement with ? for each value, and the values."""


class Tables(Protocol):
    """A database within one transaction."""

    def ask(self, questions: Sequence[Statement]) -> list[Rows]:
        """The rows for each question, in one round trip."""

    def write(self, statement: str, values: Rows) -> None:
        """Run a statement once for each row of values."""


Question = tuple[Statement, Callable[[Rows], None]]
"""What is asked, and what keeps the answer."""


class Memory(NamedTuple):
    """What a committed transaction knew at its end: where the chain ended, budgets, which data
    sets have analysts, and requests that were not answered yet.

    It is true as long as the chain ends there, because every change comes with an entry. One
    later transaction takes it over, and changes it.
    """

    head: Anchor
    balances: dict[Scope, Balance | None]
    analysts: dict[str, bool]
    requests: dict[Key, Request | None]

    def copy(self) -> Memory:
        """A copy, for a transaction that may come to nothing."""
        return Memory(self.head, dict(self.balances), dict(self.analysts), dict(self.requests))


class Transaction:
    """The tables within one transaction, which many operations may share.

    What they need is looked up at once (`look_up`), and what they change is kept here until
    `flush` writes it: a round trip to a server for each statement would take longer than the
    commit.
    """

    def __init__(self, tables: Tables, memory: Memory | None = None) -> None:
        """Begin with the memory of an earlier one, if the chain still ends where it ended then."""
        self._tables = tables
        self._head: Anchor | None
        self._head, self._balances, self._analysts, self._keys = memory or (None, {}, {}, {})
        self._absent: set[Scope] = set()
        # the keys that this transaction is about
        self._touched: list[Key] = []
        self._changed: set[Scope] = set()
        self._entries: list[tuple[Any, ...]] = []
        # requests of this transaction, by number
        self._new: dict[int, Request] = {}
        self._ended: list[tuple[Any, ...]] = []

    def look_up(self, keys: Sequence[Key], scopes: Collection[Scope]) -> None:
        """Read at once, before any change, the end of the chain and many keys and budgets."""
        self._ask_all(
            *([self._about_head()] if self._head is None else []),
            *self._about_keys([place for place in keys if place not in self._keys]),
            *(self._about_balance(scope) for scope in scopes if scope not in self._balances),
            *map(self._about_analysts, {scope.dataset for scope in scopes} - self._analysts.keys()),
        )

    def presume_new(self, keys: Sequence[Key]) -> None:
        """Take keys that are not remembered for new. If one is not, nothing can be written:
        they are unique in their table.
        """
        for place in keys:
            self._keys.setdefault(place, None)
        self._touched += keys

    def remember(self, before: Memory) -> None:
        """Keep what an earlier transaction knew, if the chain began where that one ended."""
        self._balances = before.balances | self._balances
        self._analysts = before.analysts | self._analysts
        self._keys = before.requests | self._keys

    def memory(self) -> Memory | None:
        """What the next transaction may remember, once this one is committed."""
        for place in self._touched:
            known = self._keys.get(place)
            # answers may be long
            if known is None or known.state != RESERVED:
                self._keys.pop(place, None)
        if len(self._keys) > _MOST_REMEMBERED:
            newest = list(self._keys.items())[-_MOST_REMEMBERED // 2 :]
            self._keys = dict(newest)
        if self._head is None or len(self._balances) > _MOST_REMEMBERED:
            return None
        return Memory(self._head, self._balances, self._analysts, self._keys)

    # --- the chain

    def head(self) -> Anchor:
        """The last point of the chain."""
        if self._head is None:
            self._ask_all(self._about_head())
        assert self._head is not None
        return self._head

    def append(self, body: str) -> Anchor:
        """Add an entry."""
        self._head = link(self.head(), body)
        self._entries.append((self._head.number, body, self._head.hash))
        return self._head

    def entries(self) -> Iterable[tuple[Any, ...]]:
        """Number, text and hash of all entries, in order."""
        return self._ask("select number, body, hash from discreet_entries order by number")

    def entry(self, number: int) -> tuple[Any, ...] | None:
        """Text and hash of one entry."""
        rows = self._ask("select body, hash from discreet_entries where number = ?", number)
        return rows[0] if rows else None

    def numbers_of(self, bodies: Sequence[str]) -> dict[str, int]:
        """The numbers of those entries that exist, by their text. It reads the whole chain."""
        return {
            body: number
            for some in _in_lots(bodies)
            for body, number in self._ask(
                f"select body, number from discreet_entries where body in ({_marks(some)})", *some
            )
        }

    def latest(self, before: int, limit: int) -> Rows:
        """Number, text, hash and the hash before it, of the latest entries, newest first."""
        return self._ask(f"{_LATEST} where e.number < ? {_NEWEST_FIRST}", before, limit)

    def latest_charges(
        self, dataset: str | None, analyst: str | None, before: int, limit: int, kept: bool
    ) -> Rows:
        """The latest charges: their entries as `latest` gives them, and then the row of each.

        kept: only those whose answer was kept.
        """
        conditions: dict[str, Any] = {"c.number < ?": before}
        # Names are computed, so that the database reads a page in the order of numbers, and not
        # all charges by their keys.
        if dataset is not None:
            conditions["c.dataset || '' = ?"] = dataset
        if analyst is not None:
            conditions["c.analyst || '' = ?"] = analyst
        where = " and ".join([*conditions, "c.dataset <> ''"])
        where += " and c.answer is not null" if kept else ""
        statement = f"{_LATEST_CHARGES} where {where} {_NEWEST_FIRST}"
        return self._ask(statement, *conditions.values(), limit)

    # --- budgets

    def balance(self, scope: Scope) -> Balance | None:
        """A budget, if it was opened."""
        if scope not in self._balances:
            self._ask_all(self._about_balance(scope))
        balance = self._balances[scope]
        if balance is None:
            self._require_new(scope)
        return balance

    def _require_new(self, scope: Scope) -> None:
        """Look for a budget again without the index: a damaged one would give it back unspent."""
        if scope not in self._absent:
            if self._ask(_SCAN, scope.dataset, scope.analyst, scope.window):
                told = f"The budget of {scope} must be in the index. Got a damaged one."
                raise LedgerDamagedError(told)
            self._absent.add(scope)

    def balances(self) -> dict[Scope, Balance]:
        """All budgets."""
        return {
            scope: read_balance(scope, *row[3:])
            for row in self._ask(_BALANCES)
            for scope in [Scope(*row[:3])]
        }

    def has_analysts(self, dataset: str) -> bool:
        """True if analysts have budgets of their own on a data set."""
        if dataset not in self._analysts:
            self._ask_all(self._about_analysts(dataset))
        return self._analysts[dataset]

    def check(self) -> None:
        """Have the database look at its own pages and indexes, where it can."""

    def put_balance(self, scope: Scope, balance: Balance) -> None:
        """Change a budget, or make a new one."""
        self._balances[scope] = balance
        self._changed.add(scope)
        if scope.analyst:
            self._analysts[scope.dataset] = True

    # --- requests

    def request(self, place: Key) -> Request | None:
        """What became of a key the last time that it was paid for."""
        if place not in self._keys:
            self._ask_all(*self._about_keys([place]))
        return self._keys[place]

    def requests(self) -> dict[int, Request]:
        """All requests by the number of their entry."""
        return {row[4]: Request(*row) for row in self._ask(_REQUESTS)}

    def add_request(self, place: Key, number: int, fingerprint: str) -> None:
        """Remember a key."""
        known = self.request(place)
        attempt = 0 if known is None else known.attempt + 1
        request = Request(*place, attempt, number, fingerprint, RESERVED, None)
        self._keys[place] = self._new[number] = request

    def end(self, place: Key, number: int, state: str, answer: str | None = None) -> bool:
        """Note what became of a request; False if that was done already, or it was never made."""
        known = self.request(place)
        if known is None or known.number != number or known.state != RESERVED:
            return False
        self._touched.append(place)
        ended = self._keys[place] = known._replace(state=state, answer=answer)
        if number in self._new:
            self._new[number] = ended
        else:
            self._ended.append((state, answer, number))
        return True

    # --- writing

    @property
    def is_changed(self) -> bool:
        """True if there is something to write. Every change comes with an entry."""
        return bool(self._entries)

    @property
    def began_at(self) -> int:
        """The number of the last entry before those of this transaction."""
        return self.head().number - len(self._entries)

    def flush(self) -> None:
        """Write all changes."""
        write = self._tables.write
        if self._entries:
            write("insert into discreet_entries values (?, ?, ?)", self._entries)
        if self._changed:
            write(_PUT_BALANCE, [self._row(scope) for scope in self._changed])
        if self._new:
            write(_ADD_REQUEST, list(self._new.values()))
        if self._ended:
            write("update discreet_charges set state = ?, answer = ? where number = ?", self._ended)

    def write_anew(self, balances: dict[Scope, Balance], requests: dict[int, Request]) -> None:
        """Write all budgets and requests into tables that are empty."""
        self._balances.update(balances)
        self._changed, self._new = set(balances), requests
        self.flush()

    def _ask(self, statement: str, *values: Any) -> Rows:
        return self._tables.ask([(statement, values)])[0]

    def _ask_all(self, *questions: Question) -> None:
        """Ask everything at once, and keep the answers."""
        if not questions:
            return
        answers = self._tables.ask([statement for statement, _ in questions])
        for (_, keep), rows in zip(questions, answers, strict=True):
            keep(rows)

    def _about_head(self) -> Question:
        def keep(rows: Rows) -> None:
            self._head = Anchor(*rows[0]) if rows else START

        return ("select number, hash from discreet_entries order by number desc limit 1", ()), keep

    def _about_keys(self, keys: Sequence[Key]) -> Iterator[Question]:
        def keep(rows: Rows) -> None:
            requests = [Request(*row) for row in rows]
            if not all(isinstance(one.attempt, int) for one in requests):
                told = "The requests of the ledger must be in their index. Got a damaged one."
                raise LedgerDamagedError(told)
            for request in sorted(requests, key=lambda one: one.attempt):
                self._keys[request.place] = request

        self._keys.update(dict.fromkeys(keys))
        self._touched += keys
        # each analyst by itself: SQLite has no index for tuples in (values ...), and would
        # read the whole table
        for owner in dict.fromkeys(place[:2] for place in keys):
            for some in _in_lots([place[2] for place in keys if place[:2] == owner]):
                where = f"where dataset = ? and analyst = ? and request_key in ({_marks(some)})"
                yield (f"{_REQUESTS} {where}", [*owner, *some]), keep

    def _about_balance(self, scope: Scope) -> Question:
        def keep(rows: Rows) -> None:
            self._balances[scope] = read_balance(scope, *rows[0][3:]) if rows else None

        where = "where dataset = ? and analyst = ? and slot = ?"
        return (f"{_BALANCES} {where}", (scope.dataset, scope.analyst, scope.window)), keep

    def _about_analysts(self, dataset: str) -> Question:
        def keep(rows: Rows) -> None:
            self._analysts[dataset] = bool(rows)

        statement = "select 1 from discreet_budgets where dataset = ? and analyst <> ? limit 1"
        return (statement, (dataset, "")), keep

    def _row(self, scope: Scope) -> tuple[Any, ...]:
        balance = self._balances[scope]
        assert balance is not None
        return *scope, balance.terms, *balance.spent.to_texts(), balance.closed


_BALANCES = (
    "select dataset, analyst, slot, terms, epsilon_spent, squares_spent, delta_spent, closed from "
    "discreet_budgets"
)
_REQUESTS = (
    "select dataset, analyst, request_key, attempt, number, fingerprint, state, answer from "
    "discreet_charges"
)
_LATEST = (
    "select e.number, e.body, e.hash, p.hash from discreet_entries e "
    "left join discreet_entries p on p.number = e.number - 1"
)
_LATEST_CHARGES = (
    "select c.number, e.body, e.hash, p.hash, c.dataset, c.analyst, c.request_key, c.attempt, "
    "c.number, c.fingerprint, c.state, c.answer "
    "from discreet_charges c left join discreet_entries e on e.number = c.number "
    "left join discreet_entries p on p.number = c.number - 1"
)
_NEWEST_FIRST = "order by 1 desc limit ?"
# Computed names are in no index: the table itself is read.
_SCAN = (
    "select terms from discreet_budgets where dataset || '' = ? and analyst || '' = ? and slot || "
    "'' = ? limit 1"
)
_ADD_REQUEST = (
    "insert into discreet_charges (dataset, analyst, request_key, attempt, number, fingerprint, "
    "state, answer) values (?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT_BALANCE = (
    "insert into discreet_budgets values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (dataset, analyst, "
    "slot) do update set terms = excluded.terms, epsilon_spent = excluded.epsilon_spent, "
    "squares_spent = excluded.squares_spent, delta_spent = excluded.delta_spent, "
    "closed = excluded.closed"
)
_LOT = 128
"""Values in one statement."""
_MOST_REMEMBERED = 1024
"""Budgets and requests: those that nobody ever settles must not fill the memory."""


def _in_lots(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Some at a time; the last one is repeated until there are 1, 2, 4, 8 ..., so that only a few
    statements have to be prepared.
    """
    for start in range(0, len(values), _LOT):
        some = list(values[start : start + _LOT])
        yield some + some[-1:] * ((1 << (len(some) - 1).bit_length()) - len(some))


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
