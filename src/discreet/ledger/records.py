"""What people read from a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from discreet.ledger.amounts import exact
from discreet.ledger.book import Operation, read_amount
from discreet.ledger.chain import Anchor
from discreet.ledger.rows import Balance, Scope
from discreet.ledger.subject import read_subject
from discreet.ledger.terms import is_pure, read_terms
from discreet.privacy.loss import Loss, loss_from_dict
from discreet.privacy.unit import Unit

_KINDS = {"analyst": str, "windows": list, "loss": dict, "request": dict, "key": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The state of one budget: of a data set, of an analyst on it, or of one window of it.

    windows: whether each window has this budget for itself.
    limit, spent: epsilon for a pure budget, else rho.
    delta_limit, delta_spent: the part of delta that is kept for losses with a delta of their own.
    protected, table, table_name, table_label, window_column, window_every: what the budget is about, as
        it was said to `Ledger.open`; None where nothing was said, and for the share of an analyst.
    """

    dataset: str
    analyst: str | None
    window: str | None
    windows: bool
    budget: Loss
    limit: Fraction
    spent: Fraction
    delta_limit: Fraction
    delta_spent: Fraction
    protected: Unit | None = None
    table: str | None = None
    table_name: str | None = None
    table_label: str | None = None
    window_column: str | None = None
    window_every: str | None = None

    @classmethod
    def read(cls, scope: Scope, balance: Balance) -> Account:
        """The budget that the ledger has for somebody; what was never written raises."""
        if balance.limit.main < 1 or balance.left.main < 0 or balance.left.delta < 0:
            raise ValueError("more spent than allowed")
        terms = read_terms(balance.terms)
        subject = read_subject(terms)
        return cls(
            dataset=scope.dataset,
            analyst=scope.analyst or None,
            window=scope.window or None,
            windows=terms["windows"],
            budget=loss_from_dict(terms["budget"]),
            limit=exact(balance.limit.main),
            spent=exact(balance.spent.main),
            delta_limit=exact(balance.limit.delta),
            delta_spent=exact(balance.spent.delta),
            protected=subject.unit,
            table=subject.table,
            table_name=subject.table_name,
            table_label=subject.table_label,
            window_column=subject.window_column,
            window_every=subject.window_every,
        )

    @property
    def remaining(self) -> Fraction:
        """What is left of the limit."""
        return self.limit - self.spent

    @property
    def unit(self) -> str:
        """What `limit`, `spent` and `remaining` count: "epsilon" or "rho"."""
        return "epsilon" if is_pure(self.budget) else "rho"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One charge in a ledger's history. It stays, settled or not.

    settled: whether an answer was given for it; if not, the request is running or was interrupted.
    """

    number: int
    time: datetime
    dataset: str
    analyst: str | None
    windows: tuple[str, ...]
    loss: Loss
    amount: Fraction
    delta: Fraction
    request: Mapping[str, Any]
    key: str
    settled: bool

    @classmethod
    def read(cls, number: int, entry: Operation) -> Charge:
        """The charge of an entry, not settled, because another entry says that; what was never written raises."""
        if not all(isinstance(entry[name], kind) for name, kind in _KINDS.items()):
            raise TypeError("another kind")
        amount = read_amount(entry["amount"])
        return cls(
            number=number,
            time=datetime.fromisoformat(entry["time"]),
            dataset=entry["dataset"],
            analyst=entry["analyst"] or None,
            windows=tuple(entry["windows"]),
            loss=loss_from_dict(entry["loss"]),
            amount=exact(amount.main),
            delta=exact(amount.delta),
            request=entry["request"],
            key=entry["key"],
            settled=False,
        )


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification found: nothing wrong up to this point of the chain."""

    entries: int
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Right:
    """What a user of the computer, or a role on the server, may do with a ledger.

    may: "owner", "writer", "reader", or "other" for rights that are none of these: a role that
        may change or delete entries, for example.
    """

    role: str
    may: str
