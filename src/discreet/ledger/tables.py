"""The tables of a ledger, the same in SQLite and PostgreSQL, and what a row of each is.

entries: the append-only chain, the only truth. `ticket` is the random name of the
    operation that wrote the entry.
budgets: the terms of each budget, what is spent, and whether it is closed: the sums of
    the entries.
charges: for each request what was asked, by whom, under which key, and the answer if it
    was to be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from discreet.errors import LedgerDamagedError
from discreet.ledger.budget_terms import NOTHING, Sums

FIRST: tuple[str, ...] = (
    "create table discreet_entries (number integer primary key, ticket text not null unique, "
    "body text not null, "
    "hash text not null)",
    "create table discreet_scopes (dataset text not null, analyst text not null, slot text not "
    "null, terms text not null, "
    "main_limit text not null, delta_limit text not null, main_spent text not null, "
    "delta_spent text not null, "
    "primary key (dataset, analyst, slot))",
    "create table discreet_requests (dataset text not null, request_key text not null, number "
    "integer not null unique, "
    "fingerprint text not null, state text not null, answer text, primary key (dataset, "
    "request_key))",
)
"""The tables of the first version. Never edit them: ledgers of that time are brought forward."""
# Budgets may say whom they protect and of which table, and a ledger that it has an
# anchor file: an older discreet would not ask.
SECOND: tuple[str, ...] = ()
THIRD: tuple[str, ...] = (
    "create table discreet_budgets (dataset text not null, analyst text not null, slot text not "
    "null, terms text not null, epsilon_spent text not null, squares_spent text not null, "
    "delta_spent text not null, closed text not null, primary key (dataset, analyst, slot))",
    "create table discreet_charges (dataset text not null, analyst text not null, request_key "
    "text not null, attempt integer not null, number integer not null unique, fingerprint text "
    "not null, state text not null, answer text, primary key (dataset, analyst, request_key, "
    "attempt))",
    "create index discreet_charges_of_dataset on discreet_charges (dataset, number)",
    "create index discreet_charges_of_analyst on discreet_charges (dataset, analyst, number)",
)
"""Coins beside epsilons, keys for each analyst, budgets that can be closed. The rows come
from the chain: see `older.py`.
"""
GONE = ("drop table discreet_scopes", "drop table discreet_requests")
"""What the third version has no more, after its rows were made."""
SCHEMA: tuple[tuple[str, ...], ...] = (FIRST, SECOND, THIRD)
"""For each version the statements that lead there from the version before. Never edit
one: append.
"""

RESERVED, SETTLED, LOST = "reserved", "settled", "lost"
ANCHORED = ("", "", "anchor")
"""Data set, analyst and key of the request that says that a ledger has an anchor file: no
data set has this name.
"""
Key = tuple[str, str, str]
"""Data set, analyst and the name of a request."""


class Scope(NamedTuple):
    """Whom a budget is for: empty text where it is not limited to an analyst or a window.

    Every charge looks for it in mappings some twenty times, so it is a tuple.
    """

    dataset: str
    analyst: str = ""
    window: str = ""

    def __str__(self) -> str:
        analyst, window = (
            f" for {self.analyst!r}" if self.analyst else "",
            f" in {self.window!r}" if self.window else "",
        )
        return f"{self.dataset!r}{analyst}{window}"


@dataclass(frozen=True, slots=True)
class Balance:
    """One budget: what was agreed when it was opened, as JSON, and what is spent.

    closed: the reason, where it was closed for good.
    """

    terms: str
    spent: Sums = NOTHING
    closed: str = ""


@dataclass(frozen=True, slots=True)
class Request:
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


def read_balance(scope: Scope, terms: str, *rest: str) -> Balance:
    """A row of `budgets`; what was never written there is damage."""
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
