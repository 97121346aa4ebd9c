"""Where a session's budget is kept: in the process, or in a ledger that many processes share."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import astuple, dataclass, field
from datetime import date
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from discreet.accounting.budget_rules import NOTHING
from discreet.accounting.privacy_filter import BudgetRule, PrivacyFilter
from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.exact.rationals import Number
from discreet.privacy.cost import Amount, Cost
from discreet.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from discreet.privacy.parameters import Unit
from discreet.release import Release
from discreet.tables.files import CsvFile, JsonFile

if TYPE_CHECKING:
    from discreet.ledger import Account, Ledger


class Payment(Protocol):
    """A charge that was taken, or an answer that was paid for before."""

    @property
    def answer(self) -> Release | None:
        """The answer, where the same question was answered before; then nothing was taken."""

    def settle(self, release: Release) -> Release:
        """Note that the answer is given, and return it."""


class Budget(Protocol):
    """A budget that questions are paid from."""

    @property
    def budget(self) -> Loss:
        """What may be spent in total."""

    @property
    def takes_delta(self) -> bool:
        """True if it can pay for losses that have a delta of their own."""

    @property
    def rule(self) -> BudgetRule:
        """How the budget counts."""

    def remaining(self) -> Amount:
        """What is left."""

    def spent(self) -> Amount:
        """What is spent, in the unit of `remaining`."""

    def questions_left_of(self, cost: Cost) -> int:
        """How many more questions of this cost fit."""

    def room(self) -> str:
        """What is left, in questions."""

    def allows(self, *costs: Cost) -> bool:
        """True if releases of these costs would still fit, one after the other."""

    @property
    def windows(self) -> list[str]:
        """The names of the windows that are paid for, in order; none where there are none."""

    def window_intervals(self) -> tuple[str, list[tuple[date, date]]] | None:
        """The column of dates and the days that are paid for, where the budget says so."""

    def has_answer(self, name: str) -> bool:
        """True if the answer to the question of this name is kept where the budget is."""

    def has_lost(self, name: str) -> bool:
        """True if the question of this name was charged, and its answer was lost."""

    def charge(
        self,
        cost: Cost,
        request: Mapping[str, Any],
        name: str | None,
        *,
        fresh: bool = False,
        again: bool = False,
    ) -> AbstractContextManager[Payment]:
        """Take a cost before anything is read; it stays taken whatever happens next.

        name: of a question whose answer may be given again.
        fresh: whether to pay for a new answer, also where there is one.
        again: whether to pay once more for an answer that was lost.
        """


def amount_of(budget: Budget, *costs: Cost) -> Amount:
    """What some releases take from a budget together, in the unit of what is left."""
    total = sum(map(budget.rule.spending, costs), NOTHING)
    return budget.rule.amount(total, budget.remaining())


class SessionBudget(PrivacyFilter):
    """A budget that lives as long as the session."""

    def __init__(self, budget: Loss | None, delta_for_losses: Number | None) -> None:
        if budget is None or type(budget) not in (PureDP, ZCDP, ApproxDP):
            hint = "You can also give a ledger and the name of a budget." if budget is None else ""
            raise ParameterTypeError("budget", "PureDP, ZCDP or ApproxDP", budget, hint)
        super().__init__(budget, delta_for_losses=delta_for_losses)

    @property
    def takes_delta(self) -> bool:
        """True if it can pay for losses that have a delta of their own."""
        return bool(self.rule.delta_for_losses)

    @property
    def windows(self) -> list[str]:
        """None: a budget of its own has no windows."""
        return []

    def window_intervals(self) -> None:
        """Nothing: a budget of its own has no windows."""

    def has_answer(self, name: str) -> bool:
        """No: the session itself knows what it has answered."""
        return False

    def has_lost(self, name: str) -> bool:
        """No: nothing outlives the session."""
        return False

    @contextmanager
    def charge(
        self,
        cost: Cost,
        request: Mapping[str, Any],
        name: str | None,
        *,
        fresh: bool = False,
        again: bool = False,
    ) -> Iterator[Payment]:
        """Take a cost. The session itself knows what it has answered."""
        self.admit(cost)
        yield _Settled()


class _Settled:
    """A payment that nobody keeps a record of."""

    answer = None

    def settle(self, release: Release) -> Release:
        return release


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a session asks about: its unit and its table, to be compared with those of a budget.

    table: what the session was opened with; only a path says which table it is.
    """

    unit: Unit
    table: Any = field(default=None, repr=False)
    table_name: str | None = None
    table_label: str | None = None

    def require(self, account: Account) -> None:
        """Refuse a budget that is about another unit, or another table."""
        if account.protected is not None and account.protected != self.unit:
            rule = f"the one that the budget of {account.dataset!r} protects, {account.protected!r}"
            raise ParameterError("unit", rule, self.unit)
        if self.table_label is not None and not isinstance(self.table_label, str):
            raise ParameterTypeError("table_label", "text", type(self.table_label).__name__)
        if self._path is not None and account.table is not None:
            self._require_files(account)
        elif account.table_label is not None and self.table_label != account.table_label:
            rule = f"{account.table_label!r}, the table of the budget of {account.dataset!r}"
            raise ParameterError("table_label", rule, self.table_label)
        elif account.table is not None and account.table_label is None:
            rule = f"{account.table!r}, the table of the budget of {account.dataset!r}"
            raise ParameterError("table", rule, type(self.table).__name__)

    @property
    def identity(self) -> str:
        """Which table this is, for the names of questions: its label, its files, or no other.

        A file is known by where it is, as a budget knows it: a link to it is no other file,
        and one that leads elsewhere later is one. A label may be that of a file with several
        tables.
        """
        from discreet.ledger.subject import place_of

        if self.table_label is not None:
            if self.table_name is None:
                return f"label {self.table_label}"
            return f"table of label {json.dumps([self.table_label, self.table_name])}"
        if self._path is not None:
            return f"file {json.dumps([place_of(self._path, 'Session'), *self._read_as])}"
        return f"table {secrets.token_hex(16)}"

    @property
    def _read_as(self) -> list[Any]:
        """What makes another table of the same file: the table in it, or how it is written."""
        if isinstance(self.table, CsvFile) and self.table.form != CsvFile(self.table.path).form:
            return list(astuple(self.table.form))
        return [] if self.table_name is None else [self.table_name]

    @property
    def _path(self) -> Any:
        """The path that the table was opened by, also of a file with words about how it
        is written.
        """
        path = self.table.path if isinstance(self.table, (CsvFile, JsonFile)) else self.table
        return path if isinstance(path, (str, PathLike)) else None

    def _require_files(self, account: Account) -> None:
        from discreet.ledger.subject import place_of

        found = place_of(self._path, "Session")
        if found != account.table:
            rule = f"{account.table!r}, the table of the budget of {account.dataset!r}"
            # a URL may hold a password
            raise ParameterError("table", rule, "a URL" if ":/" in found else found)
        if self.table_name != account.table_name:
            rule = f"{account.table_name!r}, as in the budget of {account.dataset!r}"
            raise ParameterError("table_name", rule, self.table_name)


class LedgerBudget:
    """A budget in a ledger."""

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        analyst: str | None,
        window: str | Sequence[str] | None,
        asked: Asked,
    ) -> None:
        from discreet.ledger.validation import read_windows

        self._ledger, self._dataset, self._analyst = ledger, dataset, analyst
        account = _account(ledger, dataset)
        asked.require(account)
        self._column, self._every = account.window_column, account.window_every
        self.windows = read_windows(window, account.windows, "Session")
        # complains about names that are no periods
        self.window_intervals()
        self.rule = account.rule
        self.budget, self.takes_delta = account.budget, bool(account.rule.delta_for_losses)

    def window_intervals(self) -> tuple[str, list[tuple[date, date]]] | None:
        """The column of dates and the days that are paid for, each from the first to
        the one after the last.

        None where the budget does not say which column tells the window of a row: then
        the table is what the caller says it is.
        """
        if self._column is None or self._every is None:
            return None
        from discreet.ledger.subject import days_of

        return self._column, sorted(days_of(self._every, name, "Session") for name in self.windows)

    @property
    def _whose(self) -> dict[str, Any]:
        # Those whose rows are read: a list of the caller's may have changed since.
        return {"analyst": self._analyst, "window": self.windows or None}

    def remaining(self) -> Amount:
        """What is left for this analyst in all of these windows."""
        return self._ledger.remaining(self._dataset, **self._whose)

    def spent(self) -> Amount:
        """What is spent, of the budget that has the least left."""
        return self._ledger.spent(self._dataset, **self._whose)

    def questions_left_of(self, cost: Cost) -> int:
        """How many more questions of this cost fit all of the budgets."""
        return self._ledger.questions_left(self._dataset, loss=cost, **self._whose)

    def room(self) -> str:
        """What is left, in questions."""
        return self._ledger.room(self._dataset, **self._whose)

    def allows(self, *costs: Cost) -> bool:
        """True if releases of these costs would fit all of the budgets."""
        return self._ledger.allows(self._dataset, *costs, **self._whose)

    def has_answer(self, name: str) -> bool:
        """True if the ledger has kept the answer to the question of this name."""
        return self._ledger.has_answer(self._dataset, name, analyst=self._analyst)

    def has_lost(self, name: str) -> bool:
        """True if the question was charged here, and its answer was lost."""
        return self._ledger.has_lost(self._dataset, name, analyst=self._analyst)

    def charge(
        self,
        cost: Cost,
        request: Mapping[str, Any],
        name: str | None,
        *,
        fresh: bool = False,
        again: bool = False,
    ) -> AbstractContextManager[Payment]:
        """Charge a cost, durably; or find the answer that the ledger has kept.

        A fresh answer is kept by the name of its question where the one before was
        lost, so that nobody has to pay for it a third time.
        """
        key = name
        if fresh and name is not None:
            again = self.has_lost(name)
            key = name if again else None
        more: dict[str, Any] = {"again": True} if again else {}
        return self._ledger.reserve(
            self._dataset, cost, request=request, key=key, replayable=True, **more, **self._whose
        )


def _account(ledger: Ledger, dataset: str) -> Account:
    """The account of a data set; a wrong name is one that the session was given."""
    with called_as("Session", ["dataset"]):
        return ledger.account(dataset)


def open_budget(
    budget: Loss | None,
    ledger: Ledger | None,
    dataset: str | None,
    analyst: str | None,
    window: str | Sequence[str] | None,
    asked: Asked,
    delta_for_losses: Number | None,
) -> Budget:
    """The budget of a session: its own, or one in a ledger."""
    if ledger is None:
        given = {"dataset": dataset, "analyst": analyst, "window": window}
        for name, value in {**given, "table_label": asked.table_label}.items():
            if value is not None:
                raise ParameterError(name, "left out if there is no ledger", value)
        return SessionBudget(budget, delta_for_losses)
    own: dict[str, Any] = {"budget": budget, "delta_for_losses": delta_for_losses}
    for name, given in own.items():
        if given is not None:
            raise ParameterError(name, "left out if there is a ledger", given)
    from discreet.ledger import Ledger

    if not isinstance(ledger, Ledger):
        hint = "Open it first: Ledger('budget.db')."
        raise ParameterTypeError("ledger", "a Ledger", ledger, hint)
    if dataset is None:
        raise ParameterTypeError("dataset", "the name of a budget in the ledger", dataset)
    return LedgerBudget(ledger, dataset, analyst, window, asked)
