"""The ledger as people use it, from top to bottom: budgets, charges, what can be looked up, and
then what is inside.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, SupportsIndex

from discreet.accounting.budget_rules import NOTHING
from discreet.errors import Hidden, LedgerError, ParameterError, ParameterTypeError, called_as
from discreet.exact.rationals import Number
from discreet.ledger.address import open_store, read_address
from discreet.ledger.anchors import AnchorFile
from discreet.ledger.audit import require_linked, verify
from discreet.ledger.budget_terms import (
    Sums,
    Terms,
    agree,
    grow,
    keep_coins,
    read_new_terms,
    read_terms,
)
from discreet.ledger.chain import Anchor, DamageAdvice, NamedPart
from discreet.ledger.entries import read_entry
from discreet.ledger.fork_safety import ForkLocal
from discreet.ledger.group_commit import LONGEST_LOOK, LOOK, Threads, closing_after_failure
from discreet.ledger.operations import (
    Abandon,
    Amounts,
    AnchorNoted,
    Close,
    Extend,
    Note,
    Open,
    Operation,
    Outcome,
    Reserve,
    Settle,
    random_name,
    ticket,
)
from discreet.ledger.records import (
    Account,
    Charge,
    KeptAnswer,
    LedgerEntry,
    Reservation,
    Right,
    Verified,
)
from discreet.ledger.refusals import lost_error, refusal_error, running_error, unexpected_error
from discreet.ledger.subject import Subject, make_subject, require_periods
from discreet.ledger.transaction import (
    ANCHORED,
    LOST,
    RESERVED,
    Balance,
    Key,
    Request,
    Scope,
    Transaction,
    terms_of,
)
from discreet.ledger.validation import (
    read_cost,
    read_known_name,
    read_name,
    read_optional_known_name,
    read_optional_name,
    read_page,
    read_place,
    read_reason,
    read_request,
    read_seconds,
    read_windows,
)
from discreet.privacy.cost import Amount, Cost
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import Unit
from discreet.release import Release

Window = str | Sequence[str] | None
_OPENED = "one that was opened in this ledger"


class Ledger:
    """A budget that many processes share, that survives crashes, and that can be audited.

    address: the path of a file, such as "budget.db", or the URL of a server, such as
        "postgresql+psycopg://user@host/database".
    anchor_file: a file elsewhere that keeps the latest point of the chain, so that a ledger that
        was cut or put back is noticed. From then on it cannot be opened without that file.
    timeout: how many seconds to wait for others.
    create: whether to make a new ledger where there is none.

    Promise: a charge is on the disk before `reserve` returns; the charges of a budget never add up
        to more than it, however many processes there are; nothing is refunded or recomputed.
    Privacy: all releases paid from one budget are together within it, however each question
        depends on earlier answers. Budgets count as those of a session do: see `BudgetRule`.
    Cost: one durable commit for each charge, shared by those who wait at the same time.

    >>> import tempfile
    >>> from discreet import Ledger, PureDP
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db") as ledger:
    ...     ledger.open("survey", budget=PureDP(1))
    ...     with ledger.reserve("survey", PureDP(0.25), request={"what": "mode"}) as reservation:
    ...         pass  # interrupted: the charge stays
    ...     ledger.spent("survey"), ledger.questions_left("survey", epsilon=0.25)
    (0.25 epsilon, 3)
    """

    def __init__(
        self,
        address: str | PathLike[str],
        *,
        anchor_file: str | Path | None = None,
        timeout: float = 30,
        create: bool = True,
    ) -> None:
        self._timeout = read_seconds(timeout, "timeout", "Ledger", may_be_zero=False)
        place = read_address(address)
        self._name = place.name
        self._store = open_store(place, timeout, create)
        # in a forked child the threads of its parent do not exist
        self._threads = ForkLocal(partial(Threads, self._store.carry_out))
        # the terms by which a data set was charged last
        self._known: dict[str, Terms] = {}
        # what budgets of an analyst, or windows, count that the data set does not
        self._learned: dict[Scope, dict[str, Terms]] = {}
        # tickets of charges that nobody here will answer, and the notes of that yet to be written
        self._lost: set[str] = set()
        self._unreported: dict[str, Abandon] = {}
        self._anchors = None if anchor_file is None else AnchorFile(Path(anchor_file), timeout)
        self._needs_no_anchor_file = False
        if self._anchors is not None:
            with closing_after_failure(self._store.close):
                self._begin_anchoring(self._anchors)

    def __repr__(self) -> str:
        return f"Ledger({self._name!r})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickle and copy: the address, with its password, would be stored."""
        raise TypeError("A Ledger cannot be copied or pickled. Open it again by its address.")

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._store.close()

    # --- budgets

    def grant(
        self, *, writers: Sequence[str] = (), readers: Sequence[str] = ()
    ) -> tuple[Right, ...]:
        """Set up who may use a ledger on a server, and say who may do what now.

        writers: roles that charge. They add to the ledger, and cannot take anything back.
        readers: roles that read and verify.

        Takes all rights on the ledger from PUBLIC, and from these roles whatever else they had.
        Only the owner can do this. A ledger in a file is for its owner alone, and has no roles.
        """
        return self._store.grant(writers, readers)

    def open(
        self,
        dataset: str,
        *,
        budget: Loss,
        analyst: str | None = None,
        windows: bool = False,
        delta_for_losses: Number | None = None,
        counting: str | None = None,
        unit: Unit | None = None,
        table: str | PathLike[str] | None = None,
        table_name: str | None = None,
        table_label: str | None = None,
        window_column: str | None = None,
        window_every: str | None = None,
    ) -> None:
        """Open the budget of a data set, or of an analyst on it. Opening it again with the same
        terms changes nothing.

        budget: PureDP, ZCDP or ApproxDP. That of an analyst may be of another kind than the data
            set's: a charge has to fit both.
        windows: for data that arrive in disjoint blocks, such as months: each window has this
            budget for itself, and each charge names the windows that it looks at. The promise is
            then about what one person has in one window.
        delta_for_losses: of an ApproxDP budget, the part of delta for losses that have a delta of
            their own; by default a tenth of it.
        counting: of an ApproxDP budget "coins", or "rho" for releases of which only a rho is known.
        unit: who is protected. Sessions with another unit are refused; by default none are.
        table, table_name: the path or pattern of the data, and the table in a database file.
            Sessions on other files are refused; by default none are.
        table_label: what sessions call a table that is not in files, in the caller's word.
        window_column, window_every: a column of dates, and "day", "week", "month", "quarter" or
            "year": each such period is a window, named "2026-10", say, and other names are refused.

        Cost: the coins of an uncommon ApproxDP budget take seconds, once: the budget keeps them.
        """
        owner = "Ledger.open"
        name = read_name(dataset, "dataset", owner)
        scope = Scope(name, read_optional_name(analyst, "analyst", owner))
        subject = make_subject(
            owner,
            unit=unit,
            table=table,
            table_name=table_name,
            table_label=table_label,
            window_column=window_column,
            window_every=window_every,
        )
        if scope.analyst:
            windows = self._share_of(dataset, subject, owner).windows
        every = subject.window_every is not None
        new = read_new_terms(budget, windows or every, subject, owner, delta_for_losses, counting)
        optional = {"delta_for_losses": delta_for_losses, "counting": counting}
        stated = tuple(name for name, value in optional.items() if value is not None)
        if self._is_open(scope, new, stated):
            return
        terms = agree(new).to_text()
        operation = Open(**ticket(scope.dataset), analyst=scope.analyst, terms=terms, stated=stated)
        outcome = self._carry_out(operation)
        if outcome.refused == "other terms":
            known = read_terms(outcome.terms[0]).budget
            hint = "To raise a budget, use Ledger.extend."
            rule = f"the one that it was opened with, {known!r}, with the same terms"
            raise ParameterError("budget", rule, budget, hint, owner=owner)
        _require(outcome, operation, owner)

    def extend(
        self, dataset: str, *, budget: Loss, reason: str, analyst: str | None = None
    ) -> None:
        """Raise a budget, for everybody to see: the reason is written into the ledger. Windows
        charged before keep theirs.

        Coins that were spent keep their size, so a budget that was charged before may get a few
        coins less than a new one.
        """
        owner = "Ledger.extend"
        name = read_known_name(dataset, "dataset", owner)
        scope = Scope(name, read_optional_known_name(analyst, "analyst", owner))
        read_reason(reason, owner)
        before = self._terms(dataset, owner, scope.analyst)
        larger = grow(before, budget, owner)
        terms = keep_coins(before, larger)
        if not before.grows_to(terms):
            # nobody can have certified the earlier coins for a smaller budget
            raise ParameterError("budget", "no smaller than before", budget, owner=owner)
        # the coins of a new budget take seconds, and a charged one never becomes untouched
        charged = self.account(dataset, analyst=analyst).sums != NOTHING
        operation = Extend(
            **ticket(scope.dataset),
            analyst=scope.analyst,
            terms=terms.to_text(),
            fresh=(terms if charged else agree(larger)).to_text(),
            reason=reason,
        )
        outcome = self._carry_out(operation)
        if outcome.refused == "smaller":
            raise ParameterError("budget", "no smaller than before", budget, owner=owner)
        _require(outcome, operation, owner)

    def close_budget(self, dataset: str, *, reason: str, analyst: str | None = None) -> None:
        """Close a budget for good, for everybody to see: nothing is charged to it any more.
        Kept answers can still be read, and asked for again.

        analyst: close the share of this analyst only.
        """
        self._close(dataset, analyst, reason, "Ledger.close_budget")

    def revoke(self, dataset: str, analyst: str, *, reason: str) -> None:
        """Close the share of an analyst for good."""
        owner = "Ledger.revoke"
        self._close(dataset, read_known_name(analyst, "analyst", owner), reason, owner)

    def note(self, what: Mapping[str, Any], *, dataset: str | None = None) -> int:
        """Write something into the chain that costs nothing, such as a publication or a key. The
        number of its entry is returned.

        what: public JSON. Never put data, scores or answers here.
        """
        owner = "Ledger.note"
        about = Scope(read_optional_known_name(dataset, "dataset", owner))
        operation = Note(**ticket(about.dataset), what=read_request(what, owner, "what"))
        outcome = self._carry_out(operation)
        _require(outcome, operation, owner)
        return outcome.number

    # --- charges

    def reserve(
        self,
        dataset: str,
        loss: Loss | Cost,
        *,
        request: Mapping[str, Any],
        key: str | None = None,
        analyst: str | None = None,
        window: str | Sequence[str] | None = None,
        replayable: bool = False,
        again: bool = False,
        wait: float | None = None,
    ) -> Reservation:
        """Charge a loss, durably, before any row is read.

        loss: of the release; or a `Cost`, which says what parts it is made of, where that is
            cheaper than the whole.
        request: what is asked, as public JSON: it is written into the ledger. Never put data,
            scores or answers here.
        key: the name of this request, among those of its analyst. The same key with the same
            request is not charged again: it gives the answer of the first time, if that was kept.
            While that is being computed, this waits for it, and then raises
            ReservationRunningError; if it will never come, ReservationLostError. With another
            request it raises KeyReusedError.
        window: for a data set with windows, the one or those that are looked at.
        replayable: keep the answer in the ledger, so that it can be given again.
        again: if the answer for this key was lost, pay for it once more.
        wait: how many seconds to wait for an answer that is being computed; by default the
            ledger's timeout.
        """
        owner = "Ledger.reserve"
        cost = read_cost(loss, owner)
        base = self._known_terms(dataset, owner)
        scope = Scope(dataset, read_optional_name(analyst, "analyst", owner))
        windows = self._read_windows(window, base, owner)
        charge = Reserve(
            **ticket(scope.dataset),
            analyst=scope.analyst,
            windows=tuple(windows),
            loss=cost.loss,
            parts=None if cost.parts is None else tuple(cost.parts.items()),
            delta=str(cost.delta),
            amounts=self._amounts(base, scope, cost, owner),
            request=read_request(request, owner),
            key=random_name() if key is None else read_known_name(key, "key", owner),
            after=0,
            holder=self._store.holder(),
        )
        self._report_lost()
        patience = self._timeout if wait is None else read_seconds(wait, "wait", owner)
        deadline = time.monotonic() + patience
        while True:
            outcome, charge = self._reserve(charge, cost, owner)
            if outcome.refused != "unanswered":
                break
            state = self._wait_for(charge.place, outcome.number, deadline)
            if state == RESERVED:
                raise running_error(charge.key, patience)
            if state:
                if not again:
                    raise lost_error(charge.key, state)
                charge = replace(charge, ticket=random_name(), after=outcome.number)
        if outcome.refused is not None:
            raise refusal_error(outcome, charge, owner)
        answer = None if outcome.answer is None else self._release(outcome.number, outcome.answer)
        return self._reservation(charge, outcome.number, answer, replayable, key is not None)

    # --- what was charged, and what is left

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
        with self._reading() as transaction:
            whole = transaction.balance(Scope(scope.dataset)) if scope.window else None
            if whole is not None:
                every = terms_of(Scope(scope.dataset), whole).subject.window_every
                if every is not None:
                    require_periods(every, [scope.window], owner)
            return self._read_account(scope, _balance_of(transaction, scope), owner)

    def accounts(self) -> tuple[Account, ...]:
        """The state of all budgets."""
        with self._reading() as transaction:
            budgets = sorted(transaction.balances().items())
            return tuple(self._read_account(*budget, "Ledger.accounts") for budget in budgets)

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

        epsilon: of each question, with the default mechanism for the data set's budget.
        loss: instead of it, what each question costs.
        """
        owner = "Ledger.questions_left"
        if (epsilon is None) == (loss is None):
            rule = "given, or a loss in its place (exactly one of the two)"
            raise ParameterError("epsilon", rule, epsilon, owner=owner)
        budgets = self._balances(dataset, analyst, window)
        if loss is None:
            with called_as(owner):
                loss = budgets[0][2].rule.question(epsilon or 0)
        cost = read_cost(loss, owner)
        return min(_times_left(balance, terms, cost, owner) for _, balance, terms in budgets)

    def allows(
        self, dataset: str, *losses: Loss | Cost, analyst: str | None = None, window: Window = None
    ) -> bool:
        """True if releases of these costs would fit now, one after the other."""
        owner = "Ledger.allows"
        costs = [read_cost(loss, owner) for loss in losses]
        budgets = self._balances(dataset, analyst, window)
        return all(_have_room(balance, terms, costs, owner) for _, balance, terms in budgets)

    def history(
        self,
        dataset: str | None = None,
        *,
        analyst: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[Charge, ...]:
        """The latest charges, newest first; those of one data set, or one analyst on it.

        before: only charges with a smaller number: that of the last one of the page before.

        Raises LedgerDamagedError, naming the entry, if one is not what was written.
        Cost: reads this page, and not the chain; it passes over charges of other data sets.
        """
        page = self._charges("Ledger.history", dataset, analyst, before, limit, kept=False)
        return tuple(charge for charge, _ in page)

    def answers(
        self,
        dataset: str | None = None,
        *,
        analyst: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[KeptAnswer, ...]:
        """The latest answers that were kept, newest first, each with its whole question."""
        page = self._charges("Ledger.answers", dataset, analyst, before, limit, kept=True)
        return tuple(self._kept_answer(charge, request) for charge, request in page)

    def answer(self, number: int) -> KeptAnswer:
        """The answer that was kept for the charge of this number."""
        owner = "Ledger.answer"
        if type(number) is not int or number < 1:
            raise ParameterTypeError("number", "the number of a charge", number, owner=owner)
        page = self._charges(owner, None, None, number + 1, 1, kept=True)
        if not page or page[0][0].number != number:
            rule = "that of a charge whose answer was kept"
            raise ParameterError("number", rule, number, owner=owner)
        return self._kept_answer(*page[0])

    def has_answer(self, dataset: str, key: str, *, analyst: str | None = None) -> bool:
        """True if the answer to the request of this key was kept: asked again, it is free."""
        place = read_place(dataset, analyst, key, "Ledger.has_answer")
        with self._reading() as transaction:
            known = transaction.request(place)
        return known is not None and known.answer is not None

    def has_lost(self, dataset: str, key: str, *, analyst: str | None = None) -> bool:
        """True if the request of this key was charged, and its answer will never come: then
        `again=True` pays for it once more.
        """
        place = read_place(dataset, analyst, key, "Ledger.has_lost")
        with self._reading() as transaction:
            known = transaction.request(place)
        return known is not None and self._state_of(place, known.number) not in ("", RESERVED)

    def entries(self, *, before: int | None = None, limit: int = 100) -> tuple[LedgerEntry, ...]:
        """The latest entries of the chain, newest first, of every kind: for an audit."""
        before, limit = read_page(before, limit, "Ledger.entries")
        with self._reading() as transaction:
            return tuple(self._entry(*row) for row in transaction.latest(before, limit))

    def anchor(self) -> str:
        """The latest point of the chain, to be kept outside: in a log, a ticket, an e-mail."""
        with self._reading() as transaction:
            return str(transaction.head())

    def verify(self, *anchors: str) -> Verified:
        """Check that no entry was edited, deleted, reordered or cut off, that the sums are right,
        and that the anchors hold.

        Raises LedgerDamagedError, naming the first entry that is wrong. Whoever can write the file
        can also write a whole new chain: against that, give anchors that were kept elsewhere.
        Raises LedgerError if the ledger has an anchor file that it was opened without, and no
        anchor is given.
        """
        points = [_read_anchor(anchor) for anchor in anchors]
        kept = None if self._anchors is None else self._anchors.read()
        with self._store.reading() as transaction:
            verified = verify(transaction, points, self._name)
            if self._anchors is not None:
                self._anchors.require(transaction, self._name, kept)
            elif not points:
                self._require_no_anchor_file(transaction)
            return verified

    # --- inside: budgets

    def _is_open(self, scope: Scope, new: Terms, stated: Sequence[str]) -> bool:
        """True if the budget is open with these terms: then its coins are not certified again."""
        with self._reading() as transaction:
            known = transaction.balance(scope)
            if known is None or known.closed:
                return False
            return terms_of(scope, known).agrees_with(new, frozenset(stated))

    def _close(self, dataset: str, analyst: str | None, reason: str, owner: str) -> None:
        name = read_known_name(dataset, "dataset", owner)
        scope = Scope(name, read_optional_known_name(analyst, "analyst", owner))
        read_reason(reason, owner)
        operation = Close(**ticket(scope.dataset), analyst=scope.analyst, reason=reason)
        outcome = self._carry_out(operation)
        if outcome.refused in ("unknown data set", "unknown analyst"):
            parameter = "analyst" if scope.analyst else "dataset"
            raise ParameterError(parameter, _OPENED, scope.analyst or scope.dataset, owner=owner)
        _require(outcome, operation, owner)

    def _share_of(self, dataset: str, subject: Subject, owner: str) -> Terms:
        """The terms of the data set that an analyst gets a share of."""
        for name, value in subject.to_dict().items():
            rule = "left out for an analyst, because it belongs to the data set"
            raise ParameterError(name, rule, value, owner=owner)
        return self._terms(dataset, owner)

    # --- inside: charges

    def _reservation(
        self, charge: Reserve, number: int, answer: Release | None, replayable: bool, is_named: bool
    ) -> Reservation:
        """What the caller gets for a charge.

        is_named: whether others may ask for its key.
        """
        names: dict[str, Any] = {"analyst": charge.analyst, "key": charge.key, "of": number}

        def settle(release: Release) -> None:
            # read and written again, as plain ASCII: not every text that Python holds can be stored
            kept = json.dumps(json.loads(release.to_json())) if replayable else None
            operation = Settle(**ticket(charge.dataset), **names, answer=kept)
            _require(self._carry_out(operation), operation, "Reservation.settle")

        def abandon() -> None:
            self._lost.add(charge.ticket)
            self._unreported[charge.ticket] = Abandon(**ticket(charge.dataset), **names)
            self._report_lost()

        return Reservation(number, charge.loss, answer, settle, abandon if is_named else None)

    def _report_lost(self) -> None:
        """Write down which answers are lost, also those that could not be written down before:
        others would wait for them as long as this process exists.
        """
        # if it fails, what led here says more, and the next charge tries again
        with suppress(LedgerError):
            for lost, operation in list(self._unreported.items()):
                self._carry_out(operation)
                self._unreported.pop(lost, None)
                self._lost.discard(lost)

    def _carry_out_charge(self, charge: Reserve) -> Outcome:
        """Carry out a reservation. One that fails may have been written all the same."""
        try:
            return self._carry_out(charge)
        except BaseException:
            self._lost.add(charge.ticket)
            raise

    def _reserve(self, charge: Reserve, cost: Cost, owner: str) -> tuple[Outcome, Reserve]:
        """Carry out a reservation. If a budget counts in a tariff that it has no price in, as one
        that was raised meanwhile, it is priced for that and tried again.
        """
        outcome = self._carry_out_charge(charge)
        while outcome.refused == "unpriced":
            needed = {terms.tariff: terms for terms in map(read_terms, outcome.terms)}
            self._learned.setdefault(Scope(charge.dataset, charge.analyst), {}).update(needed)
            prices = {tariff: terms.price(cost, owner) for tariff, terms in needed.items()}
            amounts = tuple((dict(charge.amounts) | prices).items())
            charge = replace(charge, ticket=random_name(), amounts=amounts)
            outcome = self._carry_out_charge(charge)
        return outcome, charge

    def _wait_for(self, place: Key, number: int, deadline: float) -> str:
        """Wait for the answer of a request that another one has paid for; the state of the request
        in the end.
        """
        pause = LOOK
        while True:
            state, left = self._state_of(place, number), deadline - time.monotonic()
            if state != RESERVED or left <= 0:
                return state
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_LOOK)

    def _state_of(self, place: Key, number: int) -> str:
        """The state of a request that was charged with this entry: running, lost, or settled
        without a kept answer; empty text if it may be asked for again.
        """
        with self._reading() as transaction:
            known, entry = transaction.request(place), transaction.entry(number)
        state = _state_without_answer(known, number)
        if entry is None:
            return ""
        if state != RESERVED or self._is_held(number, entry[0]):
            return state
        # its process is gone, and may have settled just before
        with self._reading() as transaction:
            state = _state_without_answer(transaction.request(place), number)
        return LOST if state == RESERVED else state

    def _amounts(self, base: Terms, scope: Scope, cost: Cost, owner: str) -> Amounts:
        """What a release takes from the data set, and from budgets that refused it before because
        they count something else.
        """
        known = {base.tariff: base} | self._learned.get(scope, {})
        return tuple((tariff, terms.price(cost, owner)) for tariff, terms in known.items())

    def _known_terms(self, dataset: str, owner: str) -> Terms:
        if not isinstance(dataset, str) or dataset not in self._known:
            self._known[dataset] = self._terms(dataset, owner)
        return self._known[dataset]

    def _carry_out(self, operation: Operation) -> Outcome:
        if self._anchors is None and not self._needs_no_anchor_file:
            with self._reading() as transaction:
                self._require_no_anchor_file(transaction)
            self._needs_no_anchor_file = True
        with DamageAdvice():
            outcome = self._threads.get().carry_out(operation)
        if self._anchors is not None:
            kept = self._anchors.read()
            with self._store.reading() as transaction:
                head = self._anchors.require(transaction, self._name, kept)
            self._anchors.keep(head)
        return outcome

    def _begin_anchoring(self, anchors: AnchorFile) -> None:
        """Refuse a ledger that is not the one of the file, and note there that it has one."""
        # The file comes first: without it the entry would stop everybody after a power cut.
        kept = anchors.read()
        with self._store.reading() as transaction:
            declared, head = anchors.begin(transaction, self._name, kept)
        anchors.keep(head)
        if not declared:
            operation = AnchorNoted(**ticket(ANCHORED[0]), key=ANCHORED[2])
            _require(self._carry_out(operation), operation, "Ledger")

    # --- inside: reading

    def _require_no_anchor_file(self, transaction: Transaction) -> None:
        """Refuse a ledger that notes that it has an anchor file, where none was named."""
        if transaction.request(ANCHORED) is not None:
            raise LedgerError(
                f"The ledger {self._name} must be compared with its anchor file. Got none. Name "
                f"the file with anchor_file= in Python, and with --anchor-file or "
                f"DISCREET_ANCHOR_FILE in the shell."
            )

    def _is_held(self, number: int, entry: str) -> bool:
        """True if somebody may still answer this charge: its process runs, and did not give up."""
        with NamedPart(f"Entry {number} of the ledger {self._name}"):
            charge = read_entry(entry, {})
        return (
            isinstance(charge, Reserve)
            and charge.ticket not in self._lost
            and self._store.is_alive(charge.holder)
        )

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
        """A page of charges, each with what became of its request."""
        read_optional_known_name(dataset, "dataset", owner)
        read_optional_known_name(analyst, "analyst", owner)
        before, limit = read_page(before, limit, owner)
        with self._reading() as transaction:
            rows = transaction.latest_charges(dataset, analyst, before, limit, kept)
            return [self._charge(transaction, *row) for row in rows]

    def _charge(
        self, transaction: Transaction, number: int, body: str, digest: str, before: str, *row: Any
    ) -> tuple[Charge, Request]:
        require_linked(number, body, digest, before, self._name)
        with NamedPart(f"Entry {number} of the ledger {self._name}"):
            operation, request = read_entry(body, {}), Request(*row)
            if not isinstance(operation, Reserve) or request.fingerprint != operation.fingerprint:
                raise ValueError("another entry")
            whole = Scope(operation.dataset)
            balance = transaction.balance(whole)
            terms = None if balance is None else terms_of(whole, balance)
            return Charge.read(number, operation, request, terms), request

    def _entry(self, number: int, body: str, digest: str, previous: str) -> LedgerEntry:
        require_linked(number, body, digest, previous, self._name)
        with NamedPart(f"Entry {number} of the ledger {self._name}"):
            return LedgerEntry.read(number, body, digest)

    def _kept_answer(self, charge: Charge, request: Request) -> KeptAnswer:
        return KeptAnswer(charge=charge, release=self._release(charge.number, request.answer or ""))

    def _release(self, number: int, text: str) -> Release:
        where = f"The answer that is kept for entry {number} of the ledger {self._name}"
        with DamageAdvice(), NamedPart(where):
            return Release.from_json(text)

    def _tightest(self, dataset: str, analyst: str | None, window: Window) -> Account:
        """The budget with the least room, of those that a charge is taken from."""
        budgets = self._balances(dataset, analyst, window)
        with DamageAdvice():
            accounts = [self._read_account(*budget[:2], "Ledger.account") for budget in budgets]
        return min(accounts, key=lambda one: (one.closed is None, one.rule.largest(one.sums)))

    def _balances(
        self, dataset: str, analyst: str | None, window: Window
    ) -> list[tuple[Scope, Balance, Terms]]:
        """The budgets that a charge by this analyst would be taken from, as of one moment."""
        owner, budgets = "Ledger.account", []
        windows = self._read_windows(window, self._terms(dataset, owner), owner) or [""]
        owners = ["", *([] if analyst is None else [read_known_name(analyst, "analyst", owner)])]
        with self._reading() as transaction:
            for scope in [Scope(dataset, name, each) for name in owners for each in windows]:
                balance = _balance_of(transaction, scope)
                if balance is None:
                    raise _unknown_budget(scope, owner)
                budgets.append((scope, balance, terms_of(scope, balance)))
        return budgets

    def _read_windows(self, window: Window, base: Terms, owner: str) -> list[str]:
        """The windows that a charge is for; periods of time have one spelling each."""
        windows = read_windows(window, base.windows, owner)
        if base.subject.window_every is not None:
            require_periods(base.subject.window_every, windows, owner)
        return windows

    def _read_account(self, scope: Scope, balance: Balance | None, owner: str) -> Account:
        if balance is None:
            raise _unknown_budget(scope, owner)
        with NamedPart(f"The budget of {scope}"):
            return Account.read(scope, balance)

    def _terms(self, dataset: str, owner: str, analyst: str = "") -> Terms:
        """What was agreed when the budget was opened."""
        scope = Scope(read_known_name(dataset, "dataset", owner), analyst)
        with self._reading() as transaction:
            balance = transaction.balance(scope)
            if balance is None:
                raise ParameterError("dataset", _OPENED, dataset, "See Ledger.open.", owner=owner)
            return terms_of(scope, balance)

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        """The tables as of the latest commit."""
        with DamageAdvice(), self._store.reading() as transaction:
            yield transaction


def _require(outcome: Outcome, operation: Operation, owner: str) -> None:
    """Refuse to go on after an operation that was refused."""
    if outcome.refused is not None:
        raise unexpected_error(outcome, operation, owner)


def _balance_of(transaction: Transaction, scope: Scope) -> Balance | None:
    """A budget. A window that was not charged yet has that of its data set or analyst, and is
    closed with it.
    """
    owner = transaction.balance(scope._replace(window=""))
    if owner is None:
        return None
    return (transaction.balance(scope) or owner)._replace(closed=owner.closed)


def _unknown_budget(scope: Scope, owner: str) -> ParameterError:
    got = Hidden(str(scope._replace(window="")))
    return ParameterError("dataset", _OPENED, got, "See Ledger.open.", owner=owner)


def _state_without_answer(request: Request | None, number: int) -> str:
    """The state of a request whose latest entry this is; empty text if that is another one, or
    there is an answer.
    """
    if request is None or request.number != number or request.answer is not None:
        return ""
    return request.state


def _read_anchor(text: str) -> Anchor:
    try:
        return Anchor.read(text)
    except (ValueError, AttributeError):
        rule = "anchors, each a number, a colon and a hash, as Ledger.anchor gives them"
        raise ParameterError("anchors", rule, text, owner="Ledger.verify") from None


def _have_room(balance: Balance, terms: Terms, costs: Sequence[Cost], owner: str) -> bool:
    """True if a budget admits releases of these costs, one after the other."""
    spent: Sums | None = balance.spent
    for cost in costs:
        if spent is not None:
            spent = terms.after(spent, terms.price(cost, owner), cost.loss)
    return spent is not None and not balance.closed


def _times_left(balance: Balance, terms: Terms, cost: Cost, owner: str) -> int:
    each = terms.spending(terms.price(cost, owner))
    if balance.closed:
        return 0
    return terms.rule.times_left(terms.spending(balance.spent), each, cost.loss)
