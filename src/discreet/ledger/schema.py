"""The tables of a ledger, and how those of an earlier version become those of today.

entries: the append-only chain, the only truth.
budgets: the terms of each budget, what is spent, and whether it is closed: the sums of the entries.
charges: for each request what was asked, by whom, under which key, and the answer if it was kept.

From the second version to the third the chain is carried out again under the rules of today, and
the result is written down. The chain itself stays as it is, so that earlier anchors hold. A ledger
whose sums or requests are not those of its chain is refused.
"""

from __future__ import annotations

from discreet.errors import LedgerDamagedError
from discreet.ledger.audit import Replayed, replay
from discreet.ledger.budget_terms import read_terms
from discreet.ledger.chain import fingerprint
from discreet.ledger.transaction import Balance, Scope, Tables, Transaction

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
# Budgets may know whom they protect and in which table, and a ledger that it has an anchor file: an
# older discreet would not ask.
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
"""Coins beside epsilons, keys for each analyst, budgets that close. `upgrade` adds the rows."""
GONE = ("drop table discreet_scopes", "drop table discreet_requests")
"""What the third version no longer has."""
_ENTRIES = (
    "create table discreet_entries (number integer primary key, body text not null, hash text not "
    "null)"
)
_CHARGES = (
    "create table discreet_charges (number integer primary key, dataset text not null, analyst "
    "text not null, request_key text not null, attempt integer not null, fingerprint text not "
    "null, state text not null, answer text, unique (dataset, analyst, request_key, attempt))"
)
_COLUMNS = "number, dataset, analyst, request_key, attempt, fingerprint, state, answer"
FOURTH: tuple[str, ...] = (
    "create temp table kept_entries as select number, body, hash from discreet_entries",
    f"create temp table kept_charges as select {_COLUMNS} from discreet_charges",
    "drop table discreet_entries",
    "drop table discreet_charges",
    _ENTRIES,
    _CHARGES,
    "insert into discreet_entries select * from temp.kept_entries order by number",
    "insert into discreet_charges select * from temp.kept_charges order by number",
    "drop table temp.kept_entries",
    "drop table temp.kept_charges",
)
"""Fewer trees for a charge to write: the random name of an operation is in the text of its entry
only, and charges are found by their number and by their key. A server changes its tables in place.
"""
SCHEMA: tuple[tuple[str, ...], ...] = (FIRST, SECOND, THIRD, FOURTH)
"""For each version the statements that lead there from the one before. Only append to it."""
DEFINITIONS = frozenset({_ENTRIES, _CHARGES, THIRD[0]})
"""The tables of this version, as SQLite lists them."""

_SCOPES = "select dataset, analyst, slot, main_spent, delta_spent from discreet_scopes"
_REQUESTS = "select number, dataset, request_key, state, answer from discreet_requests"


def upgrade(tables: Tables, name: str) -> None:
    """Fill the tables of the third version, and drop those that they replace."""
    transaction, memory = Transaction(tables), Replayed()
    for _ in replay(transaction, memory, name):
        pass
    scopes, requests = tables.ask([(_SCOPES, ()), (_REQUESTS, ())])
    known = {Scope(*row[:3]): list(row[3:]) for row in scopes}
    if known != {scope: _older_sums(balance) for scope, balance in memory.scopes.items()}:
        raise LedgerDamagedError(f"The sums of the ledger {name} must be those of its entries.")
    answers = {row[0]: row[4] for row in requests}
    digests = {
        number: None if answer is None else fingerprint(answer)
        for number, answer in answers.items()
    }
    older = {row[0]: (*row[1:4], digests[row[0]]) for row in requests}
    replayed = memory.answered
    if older != {n: (r.dataset, r.key, r.state, r.answer) for n, r in replayed.items()}:
        raise LedgerDamagedError(f"The requests of the ledger {name} must be those of its entries.")
    transaction.write_anew(
        memory.scopes, {n: r._replace(answer=answers[n]) for n, r in replayed.items()}
    )
    for statement in GONE:
        tables.write(statement, [()])


def _older_sums(balance: Balance) -> list[str]:
    """What is spent as the second version wrote it: one sum, and delta."""
    rule, spent = read_terms(balance.terms).rule, balance.spent
    main = spent.epsilon if rule.counting == "epsilon" else spent.squares
    return [str(main), str(spent.delta)]
