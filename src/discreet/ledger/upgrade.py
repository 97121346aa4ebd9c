"""From the tables of the second version to those of the third: the chain is carried out
again under the rules of today, and what comes out is written down.

The chain itself stays as it is, so that anchors of earlier days hold. A ledger whose
sums or requests are not those of its chain is refused.
"""

from __future__ import annotations

from typing import Any

from discreet.errors import LedgerDamagedError
from discreet.ledger.audit import Memory, replay
from discreet.ledger.budget_terms import read_terms
from discreet.ledger.chain import fingerprint
from discreet.ledger.tables import GONE, Balance, Request, Scope
from discreet.ledger.transaction import Rows, Tables, add_requests, put_balances

_SCOPES = "select dataset, analyst, slot, main_spent, delta_spent from discreet_scopes"
_REQUESTS = "select number, dataset, request_key, state, answer from discreet_requests"


def upgrade(tables: Tables, name: str) -> None:
    """Fill the tables of the third version, and drop those that they replace."""
    rows, memory = Rows(tables), Memory()
    for _ in replay(rows, memory, name):
        pass
    scopes, requests = tables.ask([(_SCOPES, ()), (_REQUESTS, ())])
    known = {Scope(*row[:3]): list(row[3:]) for row in scopes}
    if known != {scope: _older_sums(balance) for scope, balance in memory.scopes.items()}:
        raise LedgerDamagedError(f"The sums of the ledger {name} must be those of its entries.")
    answers = {row[0]: row[4] for row in requests}
    found = {row[0]: [*row[1:4], _digest(row[4])] for row in requests}
    made = memory.answered.items()
    if found != {number: _older_request(request) for number, request in made}:
        raise LedgerDamagedError(f"The requests of the ledger {name} must be those of its entries.")
    put_balances(tables, memory.scopes)
    add_requests(tables, [(request, answers[number]) for number, request in made])
    for statement in GONE:
        tables.write(statement, [()])


def _older_sums(balance: Balance) -> list[str]:
    """What is spent as the second version wrote it: one sum, and delta."""
    rule, spent = read_terms(balance.terms).rule, balance.spent
    main = spent.epsilon if rule.counting == "epsilon" else spent.squares
    return [str(main), str(spent.delta)]


def _older_request(request: Request) -> list[Any]:
    return [request.dataset, request.key, request.state, request.answer]


def _digest(answer: str | None) -> str | None:
    return None if answer is None else fingerprint(answer)
