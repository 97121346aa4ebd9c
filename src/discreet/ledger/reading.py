"""What people look up in a ledger: budgets, charges, answers, and whether all is as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.errors import Hidden, LedgerError, ParameterError, ParameterTypeError
from discreet.exact.rationals import Number
from discreet.ledger.anchors import AnchorFile
from discreet.ledger.audit import require_linked, verify
from discreet.ledger.budget_terms import Terms, price, read_terms
from discreet.ledger.chain import Anchor, DamageAdvice, NamedPart
from discreet.ledger.entries import read_entry
from discreet.ledger.group_commit import Store
from discreet.ledger.operations import Reserve
from discreet.ledger.records import Account, Charge, KeptAnswer, LedgerEntry, Verified
from discreet.ledger.subject import require_periods
from discreet.ledger.transaction import (
    ANCHORED,
    LOST,
    RESERVED,
    Balance,
    Key,
    Request,
    Rows,
    Scope,
)
from discreet.ledger.validation import (
    read_cost,
    read_known_name,
    read_optional_known_name,
    read_optional_name,
    read_page,
    read_windows,
)
from discreet.privacy.cost import Amount, Cost
from discreet.privacy.loss import Loss
from discreet.release import Release

Window = str | Sequence[str] | None


class LedgerReader:
    """The half of a ledger that changes nothing."""

    _name: str
    _store: Store
    _anchors: AnchorFile | None

    def account(
        self, dataset: str, *, analyst: str | None = None, window: str | None = None
    ) -> Account:
        """The state of one budget."""
        owner = "Ledger.account"
        scope = Scope(
            read_known_name(dataset, "dataset", owner),
            read_optional_known_name(analyst, "analyst", owner),
            read_optional_name(window, "window", owner),
        )
        with self._reading() as rows:
            whole = rows.balance(Scope(scope.dataset)) if scope.window else None
            if whole is not None:
                with NamedPart(f"The budget of {scope.dataset!r}"):
                    every = read_terms(whole.terms).subject.window_every
                if every is not None:
                    require_periods(every, [scope.window], owner)
            return self._read_account(scope, _balance_of(rows, scope), owner)

    def accounts(self) -> tuple[Account, ...]:
        """The state of all budgets."""
        with self._reading() as rows:
            found = [
                self._read_account(scope, balance, "Ledger.accounts")
                for scope, balance in rows.balances().items()
            ]
        return tuple(
            sorted(
                found,
                key=lambda account: (account.dataset, account.analyst or "", account.window or ""),
            )
        )

    def remaining(
        self, dataset: str, *, analyst: str | None = None, window: Window = None
    ) -> Amount:
        """What is left: for an analyst, no more than the data set has."""
        return self._tightest(dataset, analyst, window).remaining

    def spent(self, dataset: str, *, analyst: str | None = None, window: Window = None) -> Amount:
        """What is spent of the budget that `remaining` is about, in the same unit."""
        return self._tightest(dataset, analyst, window).spent

    def room(self, dataset: str, *, analyst: str | None = None, window: Window = None) -> str:
        """What is left, in questions: room for 3 more of epsilon 0.1, or one of 0.17."""
        return self._tightest(dataset, analyst, window).room

    def questions_left(
        self,
        dataset: str,
        *,
        epsilon: Number | None = None,
        loss: Loss | Cost | None = None,
        analyst: str | None = None,
        window: Window = None,
    ) -> int:
        """How many more questions fit all budgets that they are taken from.

        epsilon: of each question, with the mechanism that suits the data set's budget.
        loss: instead of it, what each question costs.
        """
        owner = "Ledger.questions_left"
        if (epsilon is None) == (loss is None):
            rule = "given, or a loss, but not both"
            raise ParameterError(owner, "epsilon", rule, epsilon)
        found = self._balances(dataset, analyst, window)
        if loss is None:
            loss = found[0][2].rule.question(epsilon or 0, owner)
        cost = read_cost(loss, owner)
        return min(_times_left(balance, terms, cost, owner) for _, balance, terms in found)

    def allows(
        self,
        dataset: str,
        loss: Loss | Cost,
        *,
        analyst: str | None = None,
        window: Window = None,
    ) -> bool:
        """Whether a release of this cost would fit now."""
        owner = "Ledger.allows"
        cost = read_cost(loss, owner)
        found = [
            (balance, terms, price(terms, cost, owner))
            for _, balance, terms in self._balances(dataset, analyst, window)
        ]
        return all(
            not balance.closed and terms.after(balance.spent, charge, cost.loss) is not None
            for balance, terms, charge in found
        )

    def history(
        self,
        dataset: str | None = None,
        *,
        analyst: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[Charge, ...]:
        """The latest charges, newest first; those of one data set, or one analyst on it.

        before: only charges with a smaller number: that of the last one of the page
            before.

        Cost: reads this page, and not the chain; where a data set is named, it passes over
            the charges of others. Raises LedgerDamagedError, naming the
            entry, where one is not what was written.
        """
        owner = "Ledger.history"
        pages = self._charges(owner, dataset, analyst, before, limit, kept=False)
        return tuple(charge for charge, _ in pages)

    def answers(
        self,
        dataset: str | None = None,
        *,
        analyst: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[KeptAnswer, ...]:
        """The latest answers that were kept, newest first, each with its whole question."""
        owner = "Ledger.answers"
        pages = self._charges(owner, dataset, analyst, before, limit, kept=True)
        return tuple(self._kept(charge, known) for charge, known in pages)

    def answer(self, number: int) -> KeptAnswer:
        """The answer that was kept for the charge of this number."""
        owner = "Ledger.answer"
        if type(number) is not int or number < 1:
            raise ParameterTypeError(owner, "number", "the number of a charge", number)
        pages = self._charges(owner, None, None, number + 1, 1, kept=True)
        if not pages or pages[0][0].number != number:
            rule = "that of a charge whose answer was kept"
            raise ParameterError(owner, "number", rule, number)
        return self._kept(*pages[0])

    def has_answer(self, dataset: str, key: str, *, analyst: str | None = None) -> bool:
        """Whether the answer to the request of this key was kept: asked again, it is free."""
        owner = "Ledger.has_answer"
        place = (
            read_known_name(dataset, "dataset", owner),
            read_optional_known_name(analyst, "analyst", owner),
            read_known_name(key, "key", owner),
        )
        with self._reading() as rows:
            known = rows.request(place)
        return known is not None and known.answer is not None

    def has_lost(self, dataset: str, key: str, *, analyst: str | None = None) -> bool:
        """Whether the request of this key was charged, and its answer will never come: then
        `again=True` pays for it once more.
        """
        owner = "Ledger.has_lost"
        place = (
            read_known_name(dataset, "dataset", owner),
            read_optional_known_name(analyst, "analyst", owner),
            read_known_name(key, "key", owner),
        )
        with self._reading() as rows:
            known = rows.request(place)
            entry = None if known is None else rows.entry(known.number)
        if known is None or entry is None or known.answer is not None:
            return False
        if known.state == RESERVED and self._is_held(known.number, entry[0]):
            return False
        return self._state_after(place, known.number) != ""

    def entries(self, *, before: int | None = None, limit: int = 100) -> tuple[LedgerEntry, ...]:
        """The latest entries of the chain, newest first, of every kind: for an audit."""
        before, limit = read_page(before, limit, "Ledger.entries")
        with self._reading() as rows:
            return tuple(self._entry(*row) for row in rows.latest(before, limit))

    def anchor(self) -> str:
        """The latest point of the chain, to be kept outside: in a log, a ticket, an e-mail."""
        with self._reading() as rows:
            return str(rows.head())

    def verify(self, *anchors: str) -> Verified:
        """Check that no entry was edited, deleted, reordered or cut off, that the sums
        are right, and that the anchors hold.

        Raises LedgerDamagedError, naming the first entry that is wrong. Whoever can
        write the file can also write a whole new chain: against that, give anchors that
        were kept elsewhere. Raises LedgerError if the ledger has an anchor file that it
        was opened without, and no anchor is given.
        """
        points = [_read_anchor(anchor) for anchor in anchors]
        with self._store.reading() as rows:
            found = verify(rows, points, self._name)
            if self._anchors is not None:
                self._anchors.require(rows, self._name)
            elif not points:
                self._require_no_anchor_file(rows)
            return found

    # --- inside

    def _require_no_anchor_file(self, rows: Rows) -> None:
        """Refuse a ledger that notes that it has an anchor file, where none was named."""
        if rows.request(ANCHORED) is not None:
            raise LedgerError(
                f"The ledger {self._name} must be compared with its anchor file. Got none, so an "
                "older copy would not be noticed. Name the file: anchor_file= in Python, "
                "--anchor-file or DISCREET_ANCHOR_FILE in the shell."
            )

    def _is_held(self, number: int, entry: str) -> bool:
        """Whether the process that made this charge is still there."""
        with NamedPart(f"Entry {number} of the ledger {self._name}"):
            charge = read_entry(entry, {})
        return isinstance(charge, Reserve) and self._store.is_alive(charge.holder)

    def _state_after(self, place: Key, number: int) -> str:
        """The state of a request whose process is gone: it may have settled just before."""
        with self._reading() as rows:
            known = rows.request(place)
        if known is None or known.number != number or known.answer is not None:
            return ""
        return LOST if known.state == RESERVED else known.state

    def _charges(
        self,
        owner: str,
        dataset: str | None,
        analyst: str | None,
        before: int | None,
        limit: int,
        *,
        kept: bool,
    ) -> list[tuple[Charge, Request]]:
        """A page of charges, each with the row that says what became of it."""
        if dataset is not None:
            read_known_name(dataset, "dataset", owner)
        if analyst is not None:
            read_known_name(analyst, "analyst", owner)
        before, limit = read_page(before, limit, owner)
        with self._reading() as rows:
            return [
                self._charge(rows, *row)
                for row in rows.latest_charges(dataset, analyst, before, limit, kept)
            ]

    def _charge(
        self, rows: Rows, number: int, body: str, digest: str, previous: str, *row: Any
    ) -> tuple[Charge, Request]:
        require_linked(number, body, digest, previous, self._name)
        with NamedPart(f"Entry {number} of the ledger {self._name}"):
            operation, known = read_entry(body, {}), Request(*row)
            if not isinstance(operation, Reserve) or known.fingerprint != operation.fingerprint:
                raise ValueError("another entry")
            charge = Charge.read(number, operation, known, self._tariff(rows, operation.dataset))
        return charge, known

    def _tariff(self, rows: Rows, dataset: str) -> str:
        """What a data set counts."""
        balance = rows.balance(Scope(dataset))
        with NamedPart(f"The budget of {dataset!r}"):
            return "" if balance is None else read_terms(balance.terms).tariff

    def _entry(self, number: int, body: str, digest: str, previous: str) -> LedgerEntry:
        require_linked(number, body, digest, previous, self._name)
        with NamedPart(f"Entry {number} of the ledger {self._name}"):
            return LedgerEntry.read(number, body, digest)

    def _kept(self, charge: Charge, known: Request) -> KeptAnswer:
        return KeptAnswer(charge=charge, release=self._release(charge.number, known.answer or ""))

    def _release(self, number: int, text: str) -> Release:
        where = f"The answer that is kept for entry {number} of the ledger {self._name}"
        with DamageAdvice(), NamedPart(where):
            return Release.from_json(text)

    def _tightest(self, dataset: str, analyst: str | None, window: Window) -> Account:
        """Of the budgets that a charge is taken from, the one that has the least room."""
        found = self._balances(dataset, analyst, window)
        with DamageAdvice():
            accounts = [
                self._read_account(scope, balance, "Ledger.account") for scope, balance, _ in found
            ]
        return min(accounts, key=lambda one: (one.closed is None, one.rule.largest(one.sums)))

    def _balances(
        self, dataset: str, analyst: str | None, window: Window
    ) -> list[tuple[Scope, Balance, Terms]]:
        """The budgets that a charge by this analyst would be taken from, as of one moment."""
        owner, found = "Ledger.account", []
        base = self._terms(dataset, owner)
        windows = read_windows(window, base.windows, owner)
        if base.subject.window_every is not None:
            require_periods(base.subject.window_every, windows, owner)
        whose = ["", *([] if analyst is None else [read_known_name(analyst, "analyst", owner)])]
        with self._reading() as rows:
            for scope in [Scope(dataset, name, each) for name in whose for each in windows or [""]]:
                balance = _balance_of(rows, scope)
                if balance is None:
                    raise _not_opened(scope, owner)
                with NamedPart(f"The budget of {scope}"):
                    found.append((scope, balance, read_terms(balance.terms)))
        return found

    def _read_account(self, scope: Scope, balance: Balance | None, owner: str) -> Account:
        if balance is None:
            raise _not_opened(scope, owner)
        with NamedPart(f"The budget of {scope}"):
            return Account.read(scope, balance)

    def _terms(self, dataset: str, owner: str, analyst: str = "") -> Terms:
        """What was agreed when the budget was opened."""
        scope = Scope(read_known_name(dataset, "dataset", owner), analyst)
        with self._reading() as rows:
            balance = rows.balance(scope)
            if balance is None:
                rule = "one that was opened in this ledger"
                raise ParameterError(owner, "dataset", rule, dataset, "See Ledger.open.")
            with NamedPart(f"The budget of {scope}"):
                return read_terms(balance.terms)

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        """The tables as of the latest commit."""
        with DamageAdvice(), self._store.reading() as rows:
            yield rows


def _balance_of(rows: Rows, scope: Scope) -> Balance | None:
    """A budget. A window that was not charged yet has that of its data set or analyst, and
    is closed with it.
    """
    owner = rows.balance(scope._replace(window=""))
    if owner is None:
        return None
    return (rows.balance(scope) or owner)._replace(closed=owner.closed)


def _not_opened(scope: Scope, owner: str) -> ParameterError:
    asked = Hidden(str(scope._replace(window="")))
    rule = "one that was opened in this ledger"
    return ParameterError(owner, "dataset", rule, asked, "See Ledger.open.")


def _read_anchor(text: str) -> Anchor:
    try:
        return Anchor.read(text)
    except (ValueError, AttributeError):
        rule = "anchors, each a number, a colon and a hash, as Ledger.anchor gives them"
        raise ParameterError("Ledger.verify", "anchors", rule, text) from None


def _times_left(balance: Balance, terms: Terms, cost: Cost, owner: str) -> int:
    each = terms.spending(price(terms, cost, owner))
    if balance.closed:
        return 0
    return terms.rule.times_left(terms.spending(balance.spent), each, cost.loss)
