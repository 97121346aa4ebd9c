"""The circuit breaker: a data set is closed after three failures, until its steward has
looked into them. What fails may depend on the rows, so nobody sees a fourth failure.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from discreet import LedgerError
from discreet.service.problems import BUSY, CLOSED, RefusedError
from discreet.service.store import Store

MOST_FAILURES = 3
"""After this many failures a data set is closed until its steward has looked into them."""
_PATIENCE = 60.0
"""Seconds that a question waits, before it is charged, for others that may still fail."""


class Place:
    """The place of one question among those that may still fail."""

    def __init__(self, breaker: Breaker, dataset: str) -> None:
        self._breaker, self._dataset, self._held = breaker, dataset, True

    def leave(self) -> None:
        """Let the next question in: this one cannot fail any more, or its failure was noted."""
        if self._held:
            self._held = False
            self._breaker.end(self._dataset)

    def require_open(self) -> None:
        """Refuse the answer if other workers have seen the last failure meanwhile: then
        every question that is still running gets the same reply.
        """
        if self._breaker.is_closed(self._dataset):
            raise RefusedError(CLOSED)


class Breaker:
    """Counts failures and the questions that may still fail.

    In one process, both together are never more than may fail, so no question is charged
    that could be the fourth to fail. Several workers share the failures in the store: a
    failure beyond the last is told like any other question to a closed data set.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turns: dict[str, threading.Condition] = {}
        self._running: Counter[str] = Counter()
        # failures that could not be noted in the store, which keep a data set closed
        self._unnoted: Counter[str] = Counter()

    def _turn(self, dataset: str) -> threading.Condition:
        return self._turns.setdefault(dataset, threading.Condition())

    def failures(self, dataset: str) -> int:
        """How many questions failed since the steward looked into failures."""
        self._note(dataset)
        return self._store.failures(dataset) + self._unnoted[dataset]

    def is_closed(self, dataset: str) -> bool:
        """True if a data set is closed: too many questions failed, or it cannot be known
        how many did.
        """
        return self._room(dataset) <= 0

    def _room(self, dataset: str) -> int:
        """How many more questions may fail; none if failures cannot be read or noted."""
        try:
            failures = self.failures(dataset)
        except LedgerError:
            return 0
        return 0 if self._unnoted[dataset] else MOST_FAILURES - failures

    @contextmanager
    def admit(self, dataset: str) -> Iterator[Place]:
        """Wait until a question may fail without being one too many, and let it in."""
        self._enter(dataset)
        place = Place(self, dataset)
        try:
            yield place
        finally:
            place.leave()

    def _enter(self, dataset: str) -> None:
        until, turn = time.monotonic() + _PATIENCE, self._turn(dataset)
        with turn:
            try:
                while self._running[dataset] >= (room := self._room(dataset)):
                    if room <= 0:
                        raise RefusedError(CLOSED)
                    # some question is running, and wakes one that waits when it ends
                    if not turn.wait(until - time.monotonic()):
                        raise RefusedError(BUSY)
                self._running[dataset] += 1
            finally:
                # there may be room for another one, or a refusal
                turn.notify()

    def end(self, dataset: str) -> None:
        """Note that a question is over."""
        with self._turn(dataset):
            self._running[dataset] -= 1
            self._turn(dataset).notify()

    def add_failure(self, dataset: str) -> bool:
        """Count a failure. Return whether it was among those that may be told; if not, the
        reply is that of a closed data set.
        """
        with self._turn(dataset):
            self._unnoted[dataset] += 1
            try:
                return self.failures(dataset) <= MOST_FAILURES
            except LedgerError:
                return self._unnoted[dataset] <= MOST_FAILURES

    def _note(self, dataset: str) -> None:
        """Write down the failures that are not written down yet, as far as that is possible."""
        with self._turn(dataset):
            while self._unnoted[dataset]:
                try:
                    self._store.add_failure(dataset)
                except LedgerError:
                    return
                self._unnoted[dataset] -= 1
