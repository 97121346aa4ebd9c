"""Where a session's budget is kept: in the process, or in a ledger that many processes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from discreet.accounting.filter import Filter
from discreet.data.files import CsvFile
from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from discreet.privacy.unit import Unit
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.ledger import Account, Ledger


class Payment(Protocol):
    """A charge that was taken."""

    def settle(self, release: Release) -> Release:
        """Note that the answer is given, and return it."""


class Purse(Protocol):
    """A budget that questions are paid from."""

    @property
    def budget(self) -> Loss:
        """What may be spent in total."""

    @property
    def takes_delta(self) -> bool:
        """Whether it can pay for losses that have a delta of their own."""

    def remaining(self) -> Fraction:
        """What is left: epsilon for a pure budget, else rho."""

    def window_intervals(self) -> tuple[str, list[tuple[date, date]]] | None:
        """The column of dates and the days that are paid for, where the budget says so."""

    def pay(
        self, loss: Loss, parts: Mapping[Loss, int], delta: Fraction, request: Mapping[str, Any]
    ) -> AbstractContextManager[Payment]:
        """Take a loss, as a whole or in its parts, before anything is read; it stays taken whatever happens next."""


class OwnPurse:
    """A budget that lives as long as the session."""

    def __init__(self, budget: Loss | None) -> None:
        if not isinstance(budget, (PureDP, ZCDP, ApproxDP)):
            hint = "Or give a ledger and the name of a budget in it." if budget is None else ""
            raise ParameterTypeError("Session", "budget", "PureDP, ZCDP or ApproxDP", budget, hint)
        # Lists from unknown domains bring a delta of their own: half of the budget's is kept for them.
        half = budget.delta / 2 if isinstance(budget, ApproxDP) else 0
        self._filter = Filter(budget, delta_for_losses=half)

    @property
    def budget(self) -> Loss:
        """What may be spent in total."""
        return self._filter.budget

    @property
    def takes_delta(self) -> bool:
        """Whether it can pay for losses that have a delta of their own."""
        return bool(self._filter.delta_limit)

    def remaining(self) -> Fraction:
        """What is left: epsilon for a pure budget, else rho."""
        return self._filter.remaining

    def window_intervals(self) -> None:
        """Nothing: a budget of its own has no windows."""

    @contextmanager
    def pay(self, loss: Loss, parts: Mapping[Loss, int], delta: Fraction, request: Mapping[str, Any]) -> Iterator[Payment]:
        """Take a loss."""
        self._filter.take(*self._filter.price(loss, parts, delta=delta))
        yield _Settled()


class _Settled:
    """A payment that nobody keeps a record of."""

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
            raise ParameterError("Session", "unit", rule, self.unit)
        if self.table_label is not None and not isinstance(self.table_label, str):
            raise ParameterTypeError("Session", "table_label", "text", type(self.table_label).__name__)
        if self._path is not None and account.table is not None:
            self._require_files(account)
        elif account.table_label is not None and self.table_label != account.table_label:
            rule = f"{account.table_label!r}, the table of the budget of {account.dataset!r}"
            raise ParameterError("Session", "table_label", rule, self.table_label)
        elif account.table is not None and account.table_label is None:
            rule = f"{account.table!r}, the table of the budget of {account.dataset!r}"
            raise ParameterError("Session", "table", rule, type(self.table).__name__)

    @property
    def _path(self) -> Any:
        """The path that the table was opened by, also of a file with words about how it is written."""
        path = getattr(self.table, "path", None) if isinstance(self.table, CsvFile) else self.table
        return path if isinstance(path, (str, PathLike)) else None

    def _require_files(self, account: Account) -> None:
        from discreet.ledger.subject import place_of

        found = place_of(self._path, "Session")
        if found != account.table:
            rule = f"{account.table!r}, the table of the budget of {account.dataset!r}"
            # a URL may hold a password
            raise ParameterError("Session", "table", rule, "a URL" if ":/" in found else found)
        if self.table_name != account.table_name:
            rule = f"{account.table_name!r}, as in the budget of {account.dataset!r}"
            raise ParameterError("Session", "table_name", rule, self.table_name)


class LedgerPurse:
    """A budget in a ledger."""

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        analyst: str | None,
        window: str | Sequence[str] | None,
        asked: Asked,
    ) -> None:
        self._ledger, self._dataset, self._analyst, self._window = ledger, dataset, analyst, window
        account = ledger.account(dataset)
        asked.require(account)
        self._column, self._every = account.window_column, account.window_every
        self.window_intervals()  # complains about names that are no periods
        self.budget, self.takes_delta = account.budget, bool(account.delta_limit)

    def window_intervals(self) -> tuple[str, list[tuple[date, date]]] | None:
        """The column of dates and the days that are paid for, each from the first to the one after the last.

        None where the budget does not say which column tells the window of a row: then the table is
        what the caller says it is.
        """
        if self._column is None or self._every is None:
            return None
        from discreet.ledger.periods import days_of
        from discreet.ledger.reading import read_windows

        names = read_windows(self._window, True, "Session")
        return self._column, sorted(days_of(self._every, name, "Session") for name in names)

    def remaining(self) -> Fraction:
        """What is left for this analyst in all of these windows."""
        windows = [self._window] if self._window is None or isinstance(self._window, str) else self._window
        return min(self._ledger.remaining(self._dataset, analyst=self._analyst, window=window) for window in windows)

    def pay(
        self, loss: Loss, parts: Mapping[Loss, int], delta: Fraction, request: Mapping[str, Any]
    ) -> AbstractContextManager[Payment]:
        """Charge a loss, durably."""
        return self._ledger.reserve(
            self._dataset, loss, request=request, analyst=self._analyst, window=self._window, parts=parts, delta=delta
        )


def open_purse(
    budget: Loss | None,
    ledger: Ledger | None,
    dataset: str | None,
    analyst: str | None,
    window: str | Sequence[str] | None,
    asked: Asked,
) -> Purse:
    """The budget of a session: its own, or one in a ledger."""
    if ledger is None:
        given = {"dataset": dataset, "analyst": analyst, "window": window}
        for name, value in {**given, "table_label": asked.table_label}.items():
            if value is not None:
                raise ParameterError("Session", name, "left out where there is no ledger", value)
        return OwnPurse(budget)
    if budget is not None:
        raise ParameterError("Session", "budget", "left out where there is a ledger", budget)
    from discreet.ledger import Ledger

    if not isinstance(ledger, Ledger):
        raise ParameterTypeError("Session", "ledger", "a Ledger", type(ledger).__name__)
    if dataset is None:
        raise ParameterTypeError("Session", "dataset", "the name of a budget in the ledger", dataset)
    return LedgerPurse(ledger, dataset, analyst, window, asked)
