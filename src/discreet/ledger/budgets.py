"""The budgets of a ledger: they are opened, raised and closed, for everybody to see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from discreet.accounting.spending import NOTHING
from discreet.errors import ParameterError
from discreet.exact.rationals import Number
from discreet.ledger.budget_terms import (
    Terms,
    agree,
    grow,
    keep_coins,
    read_said,
    read_terms,
)
from discreet.ledger.chain import DamageAdvice, NamedPart
from discreet.ledger.operations import (
    Close,
    Extend,
    Note,
    Open,
    Operation,
    Outcome,
    ticket,
)
from discreet.ledger.reading import LedgerReader
from discreet.ledger.records import Right
from discreet.ledger.refusals import unexpected
from discreet.ledger.subject import Subject, make_subject
from discreet.ledger.transaction import Scope
from discreet.ledger.validation import (
    read_known_name,
    read_name,
    read_optional_known_name,
    read_optional_name,
    read_reason,
    read_request,
)
from discreet.privacy.loss import Loss
from discreet.privacy.parameters import Unit


class LedgerBudgets(LedgerReader, ABC):
    """The half of a ledger that its steward uses."""

    @abstractmethod
    def _carry_out(self, operation: Operation) -> Outcome:
        """Carry out an operation, durably."""

    def grant(
        self, *, writers: Sequence[str] = (), readers: Sequence[str] = ()
    ) -> tuple[Right, ...]:
        """Set up who may use a ledger on a server, and say who may do what now.

        writers: roles that charge. They add to the ledger, and cannot take anything
            back.
        readers: roles that read and verify.

        Takes all rights on the ledger from PUBLIC, and from these roles whatever else
        they had. Only the owner can do this. A ledger in a file is for its owner alone,
        and has no roles.
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
        """Open the budget of a data set, or of an analyst on it. Opening it again with
        the same terms changes nothing.

        budget: PureDP, ZCDP or ApproxDP. That of an analyst may be of another kind than
            the data set's: a charge has to fit both.
        windows: for data that arrive in disjoint blocks, such as months: each window
            has this budget for itself, and each charge names the windows that it looks
            at. The promise is then about what one person has in one window.
        delta_for_losses: of an ApproxDP budget, the part of delta for losses that have
            a delta of their own; a tenth of it if not given.
        counting: of an ApproxDP budget "coins", or "rho" for releases of which only a
            rho is known.
        unit: who is protected. Sessions with another unit are refused. Not given, any
            unit is accepted.
        table, table_name: the path or pattern of the data, and the table in a database
            file. Sessions on other files are refused. Not given, any table is accepted.
        table_label: what sessions call a table that is not in files. It is the caller's
            word.
        window_column, window_every: a column of dates, and "day", "week", "month",
            "quarter" or "year": each such period is a window, named "2026-10", say, and
            any other name is refused.

        Cost: the coins of an uncommon ApproxDP budget take seconds, once; then they are
            written down with the budget, which keeps them.
        """
        owner = "Ledger.open"
        scope = Scope(
            read_name(dataset, "dataset", owner), read_optional_name(analyst, "analyst", owner)
        )
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
        said = read_said(budget, windows or every, subject, owner, delta_for_losses, counting)
        named = {"delta_for_losses": delta_for_losses, "counting": counting}
        stated = tuple(name for name, value in named.items() if value is not None)
        if self._is_opened(scope, said, stated):
            return
        operation = Open(
            **ticket(scope.dataset),
            analyst=scope.analyst,
            terms=agree(said).to_text(),
            stated=stated,
        )
        outcome = self._carry_out(operation)
        if outcome.refused == "other terms":
            with DamageAdvice(), NamedPart(f"The budget of {scope}"):
                known = read_terms(outcome.terms[0]).budget
            hint = "Budgets do not grow silently: see Ledger.extend."
            rule = f"the one it was opened with, {known!r}, with the same terms"
            raise ParameterError(owner, "budget", rule, budget, hint)
        require(outcome, operation, owner)

    def extend(
        self, dataset: str, *, budget: Loss, reason: str, analyst: str | None = None
    ) -> None:
        """Raise a budget, for everybody to see: the reason is written into the ledger.
        Windows charged before keep theirs.

        Coins that were spent keep their size, so a budget that was charged before may
        get a few coins less than a new one.
        """
        owner = "Ledger.extend"
        name = read_known_name(dataset, "dataset", owner)
        scope = Scope(name, read_optional_known_name(analyst, "analyst", owner))
        read_reason(reason, owner)
        before = self._terms(dataset, owner, scope.analyst)
        said = grow(before, budget, owner)
        kept = keep_coins(before, said)
        if not before.grows_to(kept):
            # nobody can have certified the coins of before for a smaller budget
            raise ParameterError(owner, "budget", "no smaller than before", budget)
        # the coins of a new budget take seconds, and a charged one never becomes untouched
        charged = self.account(dataset, analyst=analyst).sums != NOTHING
        operation = Extend(
            **ticket(scope.dataset),
            analyst=scope.analyst,
            terms=kept.to_text(),
            fresh=(kept if charged else agree(said)).to_text(),
            reason=reason,
        )
        outcome = self._carry_out(operation)
        if outcome.refused == "smaller":
            raise ParameterError(owner, "budget", "no smaller than before", budget)
        require(outcome, operation, owner)

    def close_budget(self, dataset: str, *, reason: str, analyst: str | None = None) -> None:
        """Close a budget for good, for everybody to see: nothing is charged to it any more.

        analyst: close the share of this analyst only.
        Answers that were kept can still be read, and asked for again.
        """
        self._close(dataset, analyst, reason, "Ledger.close_budget")

    def revoke(self, dataset: str, analyst: str, *, reason: str) -> None:
        """Close the share of an analyst for good."""
        owner = "Ledger.revoke"
        self._close(dataset, read_known_name(analyst, "analyst", owner), reason, owner)

    def note(self, what: Mapping[str, Any], *, dataset: str | None = None) -> int:
        """Write something into the chain that costs nothing: a publication, a key, a wish.

        what: public JSON. Never put data, scores or answers here.
        The number of the entry is returned; `entries` shows it again.
        """
        owner = "Ledger.note"
        about = Scope(read_optional_known_name(dataset, "dataset", owner))
        operation = Note(**ticket(about.dataset), what=read_request(what, owner, "what"))
        outcome = self._carry_out(operation)
        require(outcome, operation, owner)
        return outcome.number

    # --- inside

    def _is_opened(self, scope: Scope, said: Terms, stated: Sequence[str]) -> bool:
        """Whether the budget is open already, as it was said: then its coins need not be
        certified again.
        """
        with self._reading() as rows:
            known = rows.balance(scope)
            with NamedPart(f"The budget of {scope}"):
                same = known and read_terms(known.terms).is_as_said(said, frozenset(stated))
        return bool(same) and known is not None and not known.closed

    def _close(self, dataset: str, analyst: str | None, reason: str, owner: str) -> None:
        name = read_known_name(dataset, "dataset", owner)
        scope = Scope(name, read_optional_known_name(analyst, "analyst", owner))
        read_reason(reason, owner)
        operation = Close(**ticket(scope.dataset), analyst=scope.analyst, reason=reason)
        outcome = self._carry_out(operation)
        if outcome.refused in ("unknown data set", "unknown analyst"):
            parameter = "analyst" if scope.analyst else "dataset"
            got = scope.analyst or scope.dataset
            raise ParameterError(owner, parameter, "one that was opened in this ledger", got)
        require(outcome, operation, owner)

    def _share_of(self, dataset: str, subject: Subject, owner: str) -> Terms:
        """The terms of the data set that an analyst gets a share of."""
        for name, value in subject.to_dict().items():
            rule = "left out for an analyst: it is the data set's"
            raise ParameterError(owner, name, rule, value)
        return self._terms(dataset, owner)


def require(outcome: Outcome, operation: Operation, owner: str) -> None:
    """Refuse to go on after an operation that was refused."""
    if outcome.refused is not None:
        raise unexpected(outcome, operation, owner)
