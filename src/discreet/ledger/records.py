"""What people get from a ledger: charges to settle, and what they read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from fractions import Fraction
from typing import Any

from discreet.accounting.budget_rules import Spending
from discreet.accounting.privacy_filter import BudgetRule
from discreet.errors import LedgerError, ParameterError, ParameterTypeError
from discreet.ledger.budget_terms import UNITS, Sums, Terms, read_terms, scale_of
from discreet.ledger.chain import Anchor
from discreet.ledger.operations import Reserve
from discreet.ledger.subject import TEXTS
from discreet.ledger.transaction import RESERVED, SETTLED, Balance, Request, Scope
from discreet.privacy.cost import Amount
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import Unit
from discreet.release import Release


class Reservation:
    """A durable charge. Leaving the `with` block without settling keeps it: there are no refunds.

    number: the number of the charge's entry in the ledger.
    loss: what was charged for.
    answer: the kept release for the same key, if there is one; then nothing is computed again.
    """

    def __init__(
        self,
        number: int,
        loss: Loss,
        answer: Release | None,
        settle: Callable[[Release], None],
        abandon: Callable[[], None] | None = None,
    ) -> None:
        self.number, self.loss, self.answer = number, loss, answer
        self._settle, self._abandon = settle, abandon
        self._settled = False

    @property
    def replayed(self) -> bool:
        """True if the same request was answered before, so that nothing was charged now."""
        return self.answer is not None

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *error: object) -> None:
        """An interrupted request stays charged, and is noted as lost for those who ask again."""
        if self.answer is None and not self._settled and self._abandon is not None:
            self._abandon()

    def __repr__(self) -> str:
        state = "answered before" if self.replayed else "settled" if self._settled else "charged"
        return f"Reservation(number={self.number}, loss={self.loss!r}, {state})"

    def settle(self, release: Release) -> Release:
        """Note that the answer was given, and return what may be published: for a key that was
        answered before, that answer.
        """
        if self.answer is not None:
            return self.answer
        if not isinstance(release, Release):
            got = type(release).__name__
            raise ParameterTypeError("release", "a Release", got, owner="Reservation.settle")
        if not release.loss <= self.loss:
            rule = f"one that costs no more than what was charged, {self.loss!r}"
            raise ParameterError("release", rule, release.loss, owner="Reservation.settle")
        if self._settled:
            raise LedgerError(
                f"Charge {self.number} can be settled only once. Got another answer. Reserve "
                f"again for it."
            )
        self._settle(release)
        self._settled = True
        return release


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The state of one budget: of a data set, of an analyst on it, or of one window of it.

    windows: whether each window has this budget for itself.
    rule: how the budget counts, with the coins or the rho agreed when it was opened.
    sums: what is spent, as the rule counts it.
    closed: why it was closed permanently; None while it is open.
    protected, table, table_name, table_label, window_column, window_every: what `Ledger.open`
        was given; None where nothing was said, and for the share of an analyst.
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

        names = [each.name for each in fields(self) if getattr(self, each.name) is not None]
        return card("Account", facts((n.replace("_", " "), getattr(self, n)) for n in names))

    @classmethod
    def read(cls, scope: Scope, balance: Balance) -> Account:
        """The state in a row of the table; what was never written there raises."""
        terms = read_terms(balance.terms)
        about, sums = terms.subject, terms.spending(balance.spent)
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
            protected=about.unit,
            **{name: getattr(about, name) for name in TEXTS},
        )

    @property
    def remaining(self) -> Amount:
        """What is left: coins, rho or epsilon; once coins are gone, the plain sum of epsilons."""
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
    lost: whether none will ever be given. If neither, the request is running or its process is
        gone.
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
        cls, number: int, entry: Reserve, known: Request | None = None, terms: Terms | None = None
    ) -> Charge:
        """The charge of an entry, and what became of it; what was never written raises.

        terms: those of the data set: what it counts, if the entry has amounts in several tariffs.
        """
        amounts = dict(entry.amounts)
        tariff = terms.tariff if terms and terms.tariff in amounts else entry.amounts[0][0]
        sums = amounts[tariff]
        return cls(
            number=number,
            time=datetime.fromisoformat(entry.time),
            dataset=entry.dataset,
            analyst=entry.analyst or None,
            windows=entry.windows,
            loss=entry.loss,
            # an analyst's budget is another one
            amount=_amount(tariff, sums, None if entry.analyst else terms),
            delta=Fraction(sums.delta, UNITS),
            request=entry.request,
            key=entry.key,
            settled=known is not None and known.state == SETTLED,
            lost=known is not None and known.state not in (SETTLED, RESERVED),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer that was kept, with the charge that paid for it."""

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
    hash: its link of the chain, which covers all entries before it.
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


def _amount(tariff: str, sums: Sums, terms: Terms | None) -> Amount:
    """Coins or rho where these are known, else epsilon."""
    unit, _, coins = tariff.partition(" of ")
    if unit == "coins" and sums.squares is not None:
        whole = terms.rule.squares_limit if terms and terms.tariff == tariff else None
        return Amount(Fraction(sums.squares), "coins", Fraction(coins.partition(",")[0]), whole)
    if unit == "rho" and sums.squares is not None:
        return Amount(Fraction(sums.squares, scale_of(tariff)), "rho")
    return Amount(Fraction(sums.epsilon or 0, UNITS), "epsilon")


@dataclass(frozen=True, slots=True)
class Verified:
    """Nothing was wrong up to this point of the chain."""

    entries: int
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Right:
    """What a user of the computer, or a role on the server, may do with a ledger.

    may: "owner", "writer", "reader", or "other", such as a role that may delete entries.
    """

    role: str
    may: str
