"""The ledger as people use it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from discreet.errors import ParameterError, ParameterTypeError
from discreet.ledger.address import open_store, shown
from discreet.ledger.amounts import limit_of
from discreet.ledger.anchors import AnchorFile
from discreet.ledger.audit import follow, verify
from discreet.ledger.book import Operation, Outcome, opened, read_body, write_amount
from discreet.ledger.chain import Anchor
from discreet.ledger.combining import Threads, closing_after_failure
from discreet.ledger.damage import advising, naming
from discreet.ledger.periods import require_periods
from discreet.ledger.reading import (
    read_known_name,
    read_name,
    read_optional_known_name,
    read_optional_name,
    read_request,
    read_windows,
)
from discreet.ledger.records import Account, Charge, Right, Verified
from discreet.ledger.refusals import refusal, unexpected
from discreet.ledger.reservation import Reservation
from discreet.ledger.rows import ANCHORED, Rows, Scope
from discreet.ledger.subject import make_subject, read_subject
from discreet.ledger.terms import Said, Terms, agree, is_pure, price, read_terms, same_share
from discreet.privacy.loss import Loss, loss_from_dict
from discreet.privacy.numbers import Number
from discreet.privacy.unit import Unit
from discreet.release import Release


class Ledger:
    """A budget that many processes share, that survives crashes, and that can be audited.

    url: "sqlite:///budget.db" for a file, or "postgresql+psycopg://user@host/database" for a server.
    anchor_file: a file elsewhere that keeps the latest point of the chain, so that a ledger that was cut or
        put back is noticed. The ledger remembers that it has one: later a file that is gone is refused.
    timeout: how many seconds to wait for others.
    create: whether to make a new ledger where there is none.

    Promise: a charge is on the disk before `reserve` returns; the charges of a budget never add up to more than it, however many
    processes there are; nothing is ever refunded or recomputed.
    Privacy: all releases that were paid from one budget are together within it. A pure budget adds epsilons up. The others add up
    the rho of concentrated DP, which holds however each question depends on earlier answers.
    Cost: one durable commit for each charge, shared by those who wait at the same time.

    >>> import tempfile
    >>> from discreet import Ledger, PureDP
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(f"sqlite:///{folder}/budget.db") as ledger:
    ...     ledger.open("survey", budget=PureDP(1))
    ...     with ledger.reserve("survey", PureDP(0.25), request={"what": "mode"}) as reservation:
    ...         pass  # interrupted: the charge stays
    ...     ledger.spent("survey"), ledger.queries_left("survey", each=PureDP(0.25))
    (Fraction(1, 4), 3)
    """

    def __init__(self, url: str, *, anchor_file: str | Path | None = None, timeout: float = 30, create: bool = True) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= 3600:
            raise ParameterError("Ledger", "timeout", "a number of seconds, above 0 and at most 3600", timeout)
        self._name = shown(url) if isinstance(url, str) else ""
        self._store = open_store(url, timeout, create)
        self._threads = Threads(self._store.carry_out)
        self._known: dict[str, Terms] = {}  # whether a data set is pure, and has windows, never changes
        self._anchors = None if anchor_file is None else AnchorFile(Path(anchor_file))
        if self._anchors is not None:
            with closing_after_failure(self._store):
                self._begin_anchoring(self._anchors)

    def __repr__(self) -> str:
        return f"Ledger({self._name!r})"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._store.close()

    def grant(self, *, writers: Sequence[str] = (), readers: Sequence[str] = ()) -> tuple[Right, ...]:
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
        unit: Unit | None = None,
        table: str | PathLike[str] | None = None,
        table_name: str | None = None,
        table_label: str | None = None,
        window_column: str | None = None,
        window_every: str | None = None,
    ) -> None:
        """Open the budget of a data set, or of an analyst on it. Opening it again with the same terms changes nothing.

        budget: PureDP, ZCDP or ApproxDP. An analyst's has to count in the same unit as the data set's: epsilon, or rho.
        windows: for data that arrive in disjoint blocks, such as months: each window has this budget for itself, and each charge
            names the windows that it looks at. The promise is then about what one person has in one window.
        delta_for_losses: of an ApproxDP budget, the part of delta for losses that have a delta of their own; half of it if not given.
        unit: who is protected. Sessions with another unit are refused. Not given, any unit is accepted.
        table, table_name: the path or pattern of the data, and the table in a database file. Sessions on
            other files are refused. Not given, any table is accepted.
        table_label: what sessions call a table that is not in files. It is the caller's word.
        window_column, window_every: a column of dates, and "day", "week", "month", "quarter" or "year":
            each such period is a window, named "2026-10", say, and any other name is refused.
        """
        owner = "Ledger.open"
        scope = Scope(read_name(dataset, "dataset", owner), read_optional_name(analyst, "analyst", owner))
        subject = make_subject(
            owner,
            unit=unit,
            table=table,
            table_name=table_name,
            table_label=table_label,
            window_column=window_column,
            window_every=window_every,
        )
        said = subject.to_dict()
        if scope.analyst:
            windows = self._share_of(dataset, budget, said, owner)["windows"]
        terms, limit = agree(budget, windows or "window_every" in said, delta_for_losses, owner, said)
        outcome = self._carry_out({"do": "open", **_of(scope), "terms": terms, "limit": write_amount(limit)})
        if outcome.get("refused") == "other terms":
            with advising(), naming(f"The budget of {scope}"):
                known = loss_from_dict(read_terms(outcome["terms"])["budget"])
            hint = "Budgets do not grow silently: see Ledger.extend."
            raise ParameterError(owner, "budget", f"the one it was opened with, {known!r}, with the same terms", budget, hint)
        _require(outcome, owner)

    def extend(self, dataset: str, *, budget: Loss, reason: str, analyst: str | None = None) -> None:
        """Raise a budget, for everybody to see: the reason is written into the ledger. Windows charged before keep theirs."""
        owner = "Ledger.extend"
        name = read_known_name(dataset, "dataset", owner)
        scope = Scope(name, read_optional_known_name(analyst, "analyst", owner))
        if not isinstance(reason, str) or not reason.strip():
            raise ParameterTypeError(owner, "reason", "a sentence for those who audit this", reason)
        known = self._terms(dataset, owner, scope.analyst)
        before = loss_from_dict(known["budget"])
        if type(before) is not type(budget) or is_pure(before) != is_pure(budget):
            raise ParameterError(owner, "budget", f"a {known['budget']['kind']} as before, in the same unit", budget)
        said = read_subject(known).to_dict()
        terms, limit = agree(budget, known["windows"], same_share(known, budget), owner, said)
        operation = {"do": "extend", **_of(scope), "terms": terms, "limit": write_amount(limit), "reason": reason}
        outcome = self._carry_out(operation)
        if outcome.get("refused") == "smaller":
            raise ParameterError(owner, "budget", "no smaller than before", budget)
        _require(outcome, owner)

    def reserve(
        self,
        dataset: str,
        loss: Loss,
        *,
        request: Mapping[str, Any],
        key: str | None = None,
        analyst: str | None = None,
        window: str | Sequence[str] | None = None,
        replayable: bool = False,
        parts: Mapping[Loss, int] | None = None,
        delta: Number = 0,
    ) -> Reservation:
        """Charge a loss, durably, before any row is read.

        request: what is asked, as public JSON: it is written into the ledger. Never put data, scores or answers here.
        key: the name of this request. The same key with the same request is not charged again: it gives the answer of the first
            time, if that was kept, and else raises ReservationBurnt. With another request it raises KeyReused.
        window: for a data set with windows, the one or those that are looked at.
        replayable: keep the answer in the ledger, so that it can be given again.
        parts, delta: what the loss is made of, where that is cheaper than the whole in a budget that counts in rho.
        """
        owner = "Ledger.reserve"
        if not isinstance(loss, Loss):
            raise ParameterTypeError(owner, "loss", "a loss such as PureDP(0.1)", loss)
        terms = self._known.get(dataset) if isinstance(dataset, str) else None
        if terms is None:
            terms = self._known[dataset] = self._terms(dataset, owner)
        scope = Scope(dataset, read_optional_name(analyst, "analyst", owner))
        amount = price(terms, loss, parts, delta)
        windows = read_windows(window, terms["windows"], owner)
        require_periods(terms.get("window_every"), windows, owner)
        operation = {
            "do": "reserve",
            **_of(scope),
            "windows": windows,
            "loss": loss.to_dict(),
            "amount": write_amount(amount),
            "request": read_request(request, owner),
            "key": secrets.token_hex(16) if key is None else read_known_name(key, "key", owner),
        }
        outcome = self._carry_out(operation)
        if "refused" in outcome:
            raise refusal(outcome, operation, amount, owner)
        with advising(), naming(f"The answer that is kept for entry {outcome['number']} of the ledger {self._name}"):
            answer = Release.from_json(outcome["answer"]) if "answer" in outcome else None

        def settle(release: Release) -> None:
            settled = {"do": "settle", "dataset": dataset, "key": operation["key"], "of": outcome["number"]}
            # read and written again, as plain ASCII: not every text that Python holds can be stored
            kept = json.dumps(json.loads(release.to_json())) if replayable else None
            _require(self._carry_out({**settled, "answer": kept}), "Reservation.settle")

        return Reservation(outcome["number"], loss, answer, settle)

    def account(self, dataset: str, *, analyst: str | None = None, window: str | None = None) -> Account:
        """The state of one budget."""
        owner = "Ledger.account"
        scope = Scope(
            read_known_name(dataset, "dataset", owner),
            read_optional_known_name(analyst, "analyst", owner),
            read_optional_name(window, "window", owner),
        )
        with self._reading() as rows:
            balance = rows.balance(scope) or opened(rows, scope)
            if balance is None:
                raise ParameterError(owner, "dataset", "one that was opened in this ledger", (dataset, analyst, window))
            with naming(f"The budget of {scope}"):
                return Account.read(scope, balance)

    def accounts(self) -> tuple[Account, ...]:
        """The state of all budgets."""
        found = []
        with self._reading() as rows:
            for scope, balance in rows.balances().items():
                with naming(f"The budget of {scope}"):
                    found.append(Account.read(scope, balance))
        return tuple(sorted(found, key=lambda account: (account.dataset, account.analyst or "", account.window or "")))

    def spent(self, dataset: str, *, analyst: str | None = None, window: str | None = None) -> Fraction:
        """What was charged so far: epsilon for a pure budget, else rho."""
        return self.account(dataset, analyst=analyst, window=window).spent

    def remaining(self, dataset: str, *, analyst: str | None = None, window: str | None = None) -> Fraction:
        """What can still be charged: for an analyst, no more than the data set has left."""
        return min(account.remaining for account in self._accounts(dataset, analyst, window))

    def queries_left(self, dataset: str, *, each: Loss, analyst: str | None = None, window: str | None = None) -> int:
        """How many more charges of this loss fit."""
        if not isinstance(each, Loss):
            raise ParameterTypeError("Ledger.queries_left", "each", "a loss such as PureDP(0.1)", each)
        one = price(self._terms(dataset, "Ledger.queries_left"), each, None, 0)
        left = []
        for account in self._accounts(dataset, analyst, window):
            rest = limit_of(account.remaining, account.delta_limit - account.delta_spent)
            left.append(rest.main // one.main)
            left += [rest.delta // one.delta] if one.delta else []
        return min(left)

    def history(self, dataset: str) -> tuple[Charge, ...]:
        """All charges of a data set, in order. Raises LedgerDamaged, naming the entry, where one is not what was written."""
        read_known_name(dataset, "dataset", "Ledger.history")
        charges: dict[int, Charge] = {}
        with self._reading() as rows:
            for point, _, body in follow(rows, self._name):
                with naming(f"Entry {point.number} of the ledger {self._name}"):
                    entry = read_body(body)
                    if entry["dataset"] == dataset and entry["do"] == "reserve":
                        charges[point.number] = Charge.read(point.number, entry)
                    elif entry["dataset"] == dataset and entry["do"] == "settle":
                        charges[entry["of"]] = replace(charges[entry["of"]], settled=True)
        return tuple(charges.values())

    def anchor(self) -> str:
        """The latest point of the chain, to be kept outside: in a log, a ticket, an e-mail."""
        with self._reading() as rows:
            return str(rows.head())

    def verify(self, *anchors: str) -> Verified:
        """Check that no entry was edited, deleted, reordered or cut off, that the sums are right, and that the anchors hold.

        Raises LedgerDamaged, naming the first entry that is wrong. Who can write the file can also write a whole new chain: against
        that, give anchors that were kept elsewhere.
        """
        try:
            points = [Anchor.read(anchor) for anchor in anchors]
        except (ValueError, AttributeError):
            raise ParameterError("Ledger.verify", "anchors", "what Ledger.anchor gave", anchors) from None
        with self._store.reading() as rows:
            found = verify(rows, points, self._name)
            if self._anchors is not None:
                self._anchors.require(rows, self._name)
            return found

    def _accounts(self, dataset: str, analyst: str | None, window: str | None) -> list[Account]:
        """The budgets that a charge by this analyst would be taken from."""
        terms = self._terms(dataset, "Ledger.account")
        windows = read_windows(window, terms["windows"], "Ledger.account")
        require_periods(terms.get("window_every"), windows, "Ledger.account")
        of_all = self.account(dataset, window=window)
        return [of_all] if analyst is None else [of_all, self.account(dataset, analyst=analyst, window=window)]

    def _terms(self, dataset: str, owner: str, analyst: str = "") -> Terms:
        """What was agreed when the budget was opened."""
        scope = Scope(read_known_name(dataset, "dataset", owner), analyst)
        with self._reading() as rows:
            balance = rows.balance(scope)
            if balance is None:
                raise ParameterError(owner, "dataset", "one that was opened in this ledger", dataset, "See Ledger.open.")
            with naming(f"The budget of {scope}"):
                return read_terms(balance.terms)

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        """The tables as of the latest commit."""
        with advising(), self._store.reading() as rows:
            yield rows

    def _carry_out(self, operation: Operation) -> Outcome:
        named = operation | {"ticket": secrets.token_hex(16), "time": datetime.now(UTC).isoformat(timespec="seconds")}
        with advising():
            outcome = self._threads.carry_out(named)
        if self._anchors is not None:
            with self._store.reading() as rows:
                head = self._anchors.require(rows, self._name)
            self._anchors.keep(head)
        return outcome

    def _begin_anchoring(self, anchors: AnchorFile) -> None:
        """Refuse a ledger that is not the one of the anchor file, and have it say that it has one."""
        # The file comes first: without it the entry would stop everybody after a power cut.
        with self._store.reading() as rows:
            declared = anchors.begin(rows, self._name)
        if not declared:
            dataset, key = ANCHORED
            _require(self._carry_out({"do": "anchor", "dataset": dataset, "key": key}), "Ledger")

    def _share_of(self, dataset: str, budget: Loss, said: Said, owner: str) -> Terms:
        """The terms of the data set that an analyst gets a share of."""
        base = self._terms(dataset, owner)
        if is_pure(loss_from_dict(base["budget"])) != is_pure(budget):
            raise ParameterError(owner, "budget", "of the same kind as the data set's", budget)
        for name, value in said.items():
            rule = "left out for an analyst: it is the data set's"
            raise ParameterError(owner, name, rule, value)
        return base


def _of(scope: Scope) -> dict[str, str]:
    return {"dataset": scope.dataset, "analyst": scope.analyst}


def _require(outcome: Outcome, owner: str) -> None:
    if "refused" in outcome:
        raise unexpected(outcome, owner)
