"""The ledger as people use it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex

from discreet.errors import LedgerError, ParameterError, ParameterTypeError
from discreet.ledger.address import open_store, shown
from discreet.ledger.anchors import AnchorFile
from discreet.ledger.budget_terms import (
    Terms,
    price,
    read_terms,
)
from discreet.ledger.budgets import LedgerBudgets, require
from discreet.ledger.chain import DamageAdvice, NamedPart
from discreet.ledger.group_commit import LONGEST_LOOK, LOOK, Threads, closing_after_failure
from discreet.ledger.operations import (
    Abandon,
    Amounts,
    AnchorNoted,
    Operation,
    Outcome,
    Reserve,
    Settle,
    name,
    ticket,
)
from discreet.ledger.refusals import lost, refusal, running
from discreet.ledger.subject import require_periods
from discreet.ledger.transaction import ANCHORED, RESERVED, Scope
from discreet.ledger.validation import (
    read_cost,
    read_known_name,
    read_optional_name,
    read_patience,
    read_request,
    read_windows,
)
from discreet.privacy.cost import Cost
from discreet.privacy.loss import Loss
from discreet.release import Release


class Ledger(LedgerBudgets):
    """A budget that many processes share, that survives crashes, and that can be audited.

    url: "sqlite:///budget.db" for a file, or "postgresql+psycopg://user@host/database"
        for a server.
    anchor_file: a file elsewhere that keeps the latest point of the chain, so that a
        ledger that was cut or put back is noticed. The ledger remembers that it has
        one: later a file that is gone is refused.
    timeout: how many seconds to wait for others.
    create: whether to make a new ledger where there is none.

    Promise: a charge is on the disk before `reserve` returns; the charges of a budget
        never add up to more than it, however many processes there are; nothing is ever
        refunded or recomputed.
    Privacy: all releases that were paid from one budget are together within it, however
        each question depends on earlier answers. Budgets count as those of a session do:
        `BudgetRule` says what.
    Cost: one durable commit for each charge, shared by those who wait at the same time.

    >>> import tempfile
    >>> from discreet import Ledger, PureDP
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     Ledger(f"sqlite:///{folder}/budget.db") as ledger,
    ... ):
    ...     ledger.open("survey", budget=PureDP(1))
    ...     with ledger.reserve("survey", PureDP(0.25), request={"what": "mode"}) as reservation:
    ...         pass  # interrupted: the charge stays
    ...     ledger.spent("survey"), ledger.questions_left("survey", epsilon=0.25)
    (0.25 epsilon, 3)
    """

    def __init__(
        self,
        url: str,
        *,
        anchor_file: str | Path | None = None,
        timeout: float = 30,
        create: bool = True,
    ) -> None:
        if (
            isinstance(timeout, bool)
            or not isinstance(timeout, (int, float))
            or not 0 < timeout <= 3600
        ):
            raise ParameterError(
                "Ledger", "timeout", "a number of seconds, above 0 and at most 3600", timeout
            )
        self._timeout = timeout
        self._name = shown(url) if isinstance(url, str) else ""
        self._store = open_store(url, timeout, create)
        self._threads = Threads(self._store.carry_out)
        # the terms by which a data set, or an analyst on it, was charged last
        self._known: dict[Scope, Terms] = {}
        # what budgets of an analyst, or windows, count that the data set does not
        self._learned: dict[Scope, dict[str, Terms]] = {}
        # tickets of charges that nobody here will answer, and what the ledger was not told of them
        self._lost: set[str] = set()
        self._untold: dict[str, Abandon] = {}
        self._anchors = None if anchor_file is None else AnchorFile(Path(anchor_file), timeout)
        self._needs_no_anchor_file = False
        if self._anchors is not None:
            with closing_after_failure(self._store):
                self._begin_anchoring(self._anchors)

    def __repr__(self) -> str:
        return f"Ledger({self._name!r})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickle and copy: the address, with its password, would be stored."""
        raise TypeError("A Ledger cannot be copied or pickled. Open it again by its address.")

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._store.close()

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

        loss: of the release; or a `Cost`, which says what parts it is made of, where
            that is cheaper than the whole.
        request: what is asked, as public JSON: it is written into the ledger. Never put
            data, scores or answers here.
        key: the name of this request, among those of its analyst. The same key with the
            same request is not charged again: it gives the answer of the first time, if
            that was kept. While that is still being computed, this waits for it, and
            raises ReservationRunningError in the end; if it will never come, it raises
            ReservationLostError. With another request it raises KeyReusedError.
        window: for a data set with windows, the one or those that are looked at.
        replayable: keep the answer in the ledger, so that it can be given again.
        again: where the answer for this key was lost, pay for it once more.
        wait: how many seconds to wait for an answer that is being computed; the
            ledger's timeout if not given.
        """
        owner = "Ledger.reserve"
        cost = read_cost(loss, owner)
        base = self._known_terms(dataset, "", owner)
        scope = Scope(dataset, read_optional_name(analyst, "analyst", owner))
        windows = read_windows(window, base.windows, owner)
        if base.subject.window_every is not None:
            require_periods(base.subject.window_every, windows, owner)
        asked = Reserve(
            **ticket(scope.dataset),
            analyst=scope.analyst,
            windows=tuple(windows),
            loss=cost.loss,
            parts=None if cost.parts is None else tuple(cost.parts.items()),
            delta=str(cost.delta),
            amounts=self._amounts(base, scope, cost, owner),
            request=read_request(request, owner),
            key=name() if key is None else read_known_name(key, "key", owner),
            after=0,
            holder=self._store.holder(),
        )
        self._tell()
        patience = self._timeout if wait is None else read_patience(wait, owner)
        deadline = time.monotonic() + patience
        while True:
            outcome, asked = self._reserve(asked, cost, owner)
            if outcome.refused != "unanswered":
                break
            state = self._wait_for(asked, outcome, deadline)
            if state == RESERVED:
                raise running(asked.key, patience)
            if state:
                if not again:
                    raise lost(asked.key, state)
                asked = self._renewed(asked, after=outcome.number)
        if outcome.refused is not None:
            raise refusal(outcome, asked, owner)
        answer = None if outcome.answer is None else self._release(outcome.number, outcome.answer)
        return self._reservation(asked, outcome.number, answer, replayable, key is not None)

    # --- inside

    def _reservation(
        self,
        asked: Reserve,
        number: int,
        answer: Release | None,
        replayable: bool,
        named: bool,
    ) -> Reservation:
        """What the caller gets for a charge.

        named: whether others may ask for its key.
        """
        scope = Scope(asked.dataset, asked.analyst)

        def settle(release: Release) -> None:
            # read and written again, as plain ASCII: not every text that Python holds can be stored
            kept = json.dumps(json.loads(release.to_json())) if replayable else None
            operation = Settle(
                **ticket(scope.dataset),
                analyst=scope.analyst,
                key=asked.key,
                of=number,
                answer=kept,
            )
            require(self._carry_out(operation), operation, "Reservation.settle")

        def abandon() -> None:
            self._lost.add(asked.ticket)
            self._untold[asked.ticket] = Abandon(
                **ticket(scope.dataset), analyst=scope.analyst, key=asked.key, of=number
            )
            self._tell()

        return Reservation(number, asked.loss, answer, settle, abandon if named else None)

    def _tell(self) -> None:
        """Tell the ledger of answers that are lost, also of those of which it could not be told
        before: others would wait for them as long as this process is there.
        """
        # where it cannot be told now, what led here says more, or the next charge does
        with suppress(LedgerError):
            for lost, operation in list(self._untold.items()):
                self._carry_out(operation)
                self._untold.pop(lost, None)
                self._lost.discard(lost)

    def _is_held(self, number: int, entry: str) -> bool:
        """Whether somebody may still answer this charge."""
        return super()._is_held(number, entry) and json.loads(entry)["ticket"] not in self._lost

    def _charge_for(self, asked: Reserve) -> Outcome:
        """Carry out a reservation. One that fails may have been written all the same."""
        try:
            return self._carry_out(asked)
        except BaseException:
            self._lost.add(asked.ticket)
            raise

    def _reserve(self, asked: Reserve, cost: Cost, owner: str) -> tuple[Outcome, Reserve]:
        """Carry out a reservation. Where a budget counts what it has no price in, it is
        priced for that, and asked for once more: a budget may have been raised
        meanwhile.
        """
        outcome = self._charge_for(asked)
        while outcome.refused == "unpriced":
            amounts = dict(asked.amounts)
            with DamageAdvice(), NamedPart(f"The budgets of {asked.dataset!r}"):
                needed = [read_terms(text) for text in outcome.terms]
            amounts.update({terms.tariff: price(terms, cost, owner) for terms in needed})
            learned = self._learned.setdefault(Scope(asked.dataset, asked.analyst), {})
            learned.update({terms.tariff: terms for terms in needed})
            asked = self._renewed(asked, amounts=tuple(amounts.items()))
            outcome = self._charge_for(asked)
        return outcome, asked

    def _renewed(self, asked: Reserve, **changed: Any) -> Reserve:
        """The same request once more, with a ticket of its own."""
        return replace(asked, ticket=name(), **changed)

    def _wait_for(self, asked: Reserve, found: Outcome, deadline: float) -> str:
        """Wait for the answer of a request that another one has paid for.

        The state that it is in where there is none: running, lost, or not kept; empty
        text if it may be asked for again.
        """
        place, pause = (asked.dataset, asked.analyst, asked.key), LOOK
        while True:
            with self._reading() as rows:
                known, entry = rows.request(place), rows.entry(found.number)
            if known is None or entry is None or known.number != found.number or known.answer:
                return ""
            if known.state != RESERVED:
                return known.state
            if not self._is_held(found.number, entry[0]):
                return self._state_after(place, found.number)
            left = deadline - time.monotonic()
            if left <= 0:
                return RESERVED
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_LOOK)

    def _amounts(self, base: Terms, scope: Scope, cost: Cost, owner: str) -> Amounts:
        """What a release takes from the data set, and from budgets that refused it before
        because they count something else.
        """
        also = self._learned.get(scope, {})
        return tuple(
            (tariff, price(terms, cost, owner))
            for tariff, terms in {base.tariff: base, **also}.items()
        )

    def _known_terms(self, dataset: str, analyst: str, owner: str) -> Terms:
        scope = Scope(dataset, analyst)
        if not isinstance(dataset, str) or scope not in self._known:
            self._known[scope] = self._terms(dataset, owner, analyst)
        return self._known[scope]

    def _carry_out(self, operation: Operation) -> Outcome:
        if self._anchors is None and not self._needs_no_anchor_file:
            with self._reading() as rows:
                self._require_no_anchor_file(rows)
            self._needs_no_anchor_file = True
        with DamageAdvice():
            outcome = self._threads.carry_out(operation)
        if self._anchors is not None:
            with self._store.reading() as rows:
                head = self._anchors.require(rows, self._name)
            self._anchors.keep(head)
        return outcome

    def _begin_anchoring(self, anchors: AnchorFile) -> None:
        """Refuse a ledger that is not the one of the anchor file, and have it say that
        it has one.
        """
        # The file comes first: without it the entry would stop everybody after a power cut.
        with self._store.reading() as rows:
            declared, head = anchors.begin(rows, self._name)
        anchors.keep(head)
        if not declared:
            operation = AnchorNoted(**ticket(ANCHORED[0]), key=ANCHORED[2])
            require(self._carry_out(operation), operation, "Ledger")


class Reservation:
    """A durable charge. Leaving the `with` block without settling keeps it: there are no refunds.

    number: the number of the charge's entry in the ledger.
    loss: what was charged for.
    answer: the release that was given before for the same key, if it was kept; then
        nothing must be computed again.
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
        """Whether the same request was answered before, so that nothing was charged now."""
        return self.answer is not None

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """An interrupted request stays charged. Those who ask for its key learn that its
        answer is lost, where the ledger can be told.
        """
        if self.answer is None and not self._settled and self._abandon is not None:
            self._abandon()

    def __repr__(self) -> str:
        state = (
            "answered before"
            if self.answer is not None
            else "settled"
            if self._settled
            else "charged"
        )
        return f"Reservation(number={self.number}, loss={self.loss!r}, {state})"

    def settle(self, release: Release) -> Release:
        """Note that the answer was given, and return what may be published: for a key
        that was answered before, that answer.
        """
        if self.answer is not None:
            return self.answer
        if not isinstance(release, Release):
            raise ParameterTypeError(
                "Reservation.settle", "release", "a Release", type(release).__name__
            )
        if not release.loss <= self.loss:
            rule = f"one that costs no more than was charged, {self.loss!r}"
            raise ParameterError("Reservation.settle", "release", rule, release.loss)
        if self._settled:
            raise LedgerError(
                f"Charge {self.number} must be settled once. Got another answer. Reserve again for "
                "it."
            )
        self._settle(release)
        self._settled = True
        return release
