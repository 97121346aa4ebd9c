"""A charge that its caller holds, until it is settled or given up."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from discreet.errors import LedgerError, ParameterError, ParameterTypeError
from discreet.privacy.loss import Loss
from discreet.release import Release


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
        """True if the same request was answered before, so that nothing was charged now."""
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
                "release", "a Release", type(release).__name__, owner="Reservation.settle"
            )
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
