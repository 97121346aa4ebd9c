"""What people read from a ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from fractions import Fraction
from typing import Any

from discreet.accounting.budget_rules import Spending
from discreet.accounting.privacy_filter import BudgetRule
from discreet.ledger.budget_terms import UNITS, Sums, read_terms, scale_of
from discreet.ledger.chain import Anchor
from discreet.ledger.operations import Reserve
from discreet.ledger.transaction import RESERVED, SETTLED, Balance, Request, Scope
from discreet.privacy.cost import Amount
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import Unit
from discreet.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The state of one budget: of a data set, of an analyst on it, or of one window of it.

    windows: whether each window has this budget for itself.
    rule: how the budget counts, with the coins or the rho that were agreed when it was
        opened.
    sums: what is spent, as the rule counts it.
    closed: why it was closed for good; None while it is open.
    protected, table, table_name, table_label, window_column, window_every: what the
        budget is about, as it was said to `Ledger.open`; None where nothing was said,
        and for the share of an analyst.
    """

    dataset: str
    analyst: str | None
    window: str | None
    windows: bool
    budget: Loss
    rule: BudgetRule
    sums: Spending
    closed: str | None = None
    protected: Unit | None = None
    table: str | None = None
    table_name: str | None = None
    table_label: str | None = None
    window_column: str | None = None
    window_every: str | None = None

    def _repr_html_(self) -> str:
        from discreet.rendering.html import card, facts

        told = [(each.name.replace("_", " "), getattr(self, each.name)) for each in fields(self)]
        return card("Account", facts((name, value) for name, value in told if value is not None))

    @classmethod
    def read(cls, scope: Scope, balance: Balance) -> Account:
        """The budget that is kept for a data set or an analyst; what was never written raises."""
        terms = read_terms(balance.terms)
        subject, sums = terms.subject, terms.spending(balance.spent)
        all_gone = sums.epsilon is None and sums.squares is None
        if not all_gone and not terms.rule.fits(sums):
            raise ValueError("more spent than allowed")
        return cls(
            dataset=scope.dataset,
            analyst=scope.analyst or None,
            window=scope.window or None,
            windows=terms.windows,
            budget=terms.budget,
            rule=terms.rule,
            sums=sums,
            closed=balance.closed or None,
            protected=subject.unit,
            table=subject.table,
            table_name=subject.table_name,
            table_label=subject.table_label,
            window_column=subject.window_column,
            window_every=subject.window_every,
        )

    @property
    def remaining(self) -> Amount:
        """What is left: coins, rho or epsilon; where coins are gone, the plain sum of epsilons."""
        return self.rule.remaining(self.sums)

    @property
    def spent(self) -> Amount:
        """What is spent, in the unit of `remaining`."""
        return self.rule.spent(self.sums)

    @property
    def limit(self) -> Amount:
        """What there was at first, in the unit of `remaining`."""
        return self.remaining + self.spent

    @property
    def room(self) -> str:
        """How many more questions fit, in words."""
        return "no more questions: it is closed" if self.closed else self.rule.room(self.sums)

    @property
    def delta_limit(self) -> Fraction:
        """The part of delta that is kept for losses with a delta of their own."""
        return self.rule.delta_for_losses

    @property
    def delta_spent(self) -> Fraction:
        """What is spent of it."""
        return self.sums.delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One charge in a ledger's history. It stays, settled or not.

    amount: what it took from the data set's budget: coins, rho or epsilon.
    delta: what it took from the part of delta that is for losses.
    request: the whole question, as it was asked.
    settled: whether an answer was given for it.
    lost: whether it is known that none will ever be given. If neither, the request is
        running or its process is gone.
    """

    number: int
    time: datetime
    dataset: str
    analyst: str | None
    windows: tuple[str, ...]
    loss: Loss
    amount: Amount
    delta: Fraction
    request: Mapping[str, Any]
    key: str
    settled: bool = False
    lost: bool = False

    @classmethod
    def read(
        cls, number: int, entry: Reserve, known: Request | None = None, tariff: str = ""
    ) -> Charge:
        """The charge of an entry, and what became of it; what was never written raises.

        tariff: what the data set counts, where the entry says what it took in several
            ways.
        """
        amounts = dict(entry.amounts)
        tariff = tariff if tariff in amounts else entry.amounts[0][0]
        sums = amounts[tariff]
        return cls(
            number=number,
            time=datetime.fromisoformat(entry.time),
            dataset=entry.dataset,
            analyst=entry.analyst or None,
            windows=entry.windows,
            loss=entry.loss,
            amount=_amount(tariff, sums),
            delta=Fraction(sums.delta, UNITS),
            request=entry.request,
            key=entry.key,
            settled=known is not None and known.state == SETTLED,
            lost=known is not None and known.state not in (SETTLED, RESERVED),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer that was kept, with the charge that paid for it: the whole question is there."""

    charge: Charge
    release: Release

    @property
    def number(self) -> int:
        """The number of the charge's entry."""
        return self.charge.number


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One entry of the chain.

    kind: "open", "extend", "close", "reserve", "settle", "abandon", "note" or "anchor".
    what: the entry as it was written.
    hash: its link of the chain, which all entries before it have gone into.
    """

    number: int
    time: datetime
    kind: str
    dataset: str | None
    what: Mapping[str, Any]
    hash: str

    @classmethod
    def read(cls, number: int, body: str, digest: str) -> LedgerEntry:
        """The entry of an operation; what was never written raises."""
        what = json.loads(body)
        if not isinstance(what["do"], str) or not isinstance(what["dataset"], str):
            raise TypeError("another kind")
        return cls(
            number=number,
            time=datetime.fromisoformat(what["time"]),
            kind=what["do"],
            dataset=what["dataset"] or None,
            what=what,
            hash=digest,
        )


def _amount(tariff: str, sums: Sums) -> Amount:
    """Coins or rho where these are known, else epsilon."""
    unit, _, coins = tariff.partition(" of ")
    coin = coins.partition(",")[0]
    if unit == "coins" and sums.squares is not None:
        return Amount(Fraction(sums.squares), "coins", Fraction(coin))
    if unit == "rho" and sums.squares is not None:
        return Amount(Fraction(sums.squares, scale_of(tariff)), "rho")
    return Amount(Fraction(sums.epsilon or 0, UNITS), "epsilon")


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification found: nothing wrong up to this point of the chain."""

    entries: int
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Right:
    """What a user of the computer, or a role on the server, may do with a ledger.

    may: "owner", "writer", "reader", or "other" for rights that are none of these: a
        role that may change or delete entries, for example.
    """

    role: str
    may: str
