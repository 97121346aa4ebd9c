"""Where a session's budget is kept: in the process, or in a ledger that many processes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet.accounting.filter import Filter
from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.ledger import Ledger


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

    @contextmanager
    def pay(self, loss: Loss, parts: Mapping[Loss, int], delta: Fraction, request: Mapping[str, Any]) -> Iterator[Payment]:
        """Take a loss."""
        self._filter.take(*self._filter.price(loss, parts, delta=delta))
        yield _Settled()


class _Settled:
    """A payment that nobody keeps a record of."""

    def settle(self, release: Release) -> Release:
        return release


class LedgerPurse:
    """A budget in a ledger."""

    def __init__(self, ledger: Ledger, dataset: str, analyst: str | None, window: str | Sequence[str] | None) -> None:
        self._ledger, self._dataset, self._analyst, self._window = ledger, dataset, analyst, window
        account = ledger.account(dataset)
        self.budget, self.takes_delta = account.budget, bool(account.delta_limit)

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
    budget: Loss | None, ledger: Ledger | None, dataset: str | None, analyst: str | None, window: str | Sequence[str] | None
) -> Purse:
    """The budget of a session: its own, or one in a ledger."""
    if ledger is None:
        for name, value in (("dataset", dataset), ("analyst", analyst), ("window", window)):
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
    return LedgerPurse(ledger, dataset, analyst, window)
