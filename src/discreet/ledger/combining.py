"""Many operations in one commit.

A durable commit waits for the disk, and only one process can write a ledger at a time. So whoever has the turn also carries out the
operations that others have posted meanwhile, in one transaction, and tells them after the commit what became of theirs. With 64
clients the disk is waited for once instead of 64 times, and no charge is acknowledged before it is durable.

If the one with the turn dies after the commit and before telling, the next one finds the operation's ticket in the chain and does not
carry it out again. If a client dies, its operation may be carried out for nobody: a charge without a release, which is safe.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Protocol

from discreet.errors import LedgerError
from discreet.ledger.book import Operation, Outcome, carry_out, look_up
from discreet.ledger.rows import Rows

MOST_AT_ONCE = 256
Operations = Sequence[Operation]
Outcomes = list[Outcome]


class Store(Protocol):
    """Where a ledger is kept."""

    def carry_out(self, operations: Operations) -> Outcomes:
        """Carry out operations, durably."""

    def reading(self) -> AbstractContextManager[Rows]:
        """The tables as of the latest commit."""

    def close(self) -> None:
        """Close all connections."""


def carry_out_all(rows: Rows, mine: Operations, posted: dict[str, Operations]) -> tuple[Outcomes, dict[str, Outcomes]]:
    """Carry out my operations and those that others have posted."""
    look_up(rows, chain(mine, *posted.values()))
    outcomes = [carry_out(rows, operation) for operation in mine]
    others = {name: [carry_out(rows, operation) for operation in operations] for name, operations in posted.items()}
    rows.flush()
    return outcomes, others


class Threads:
    """The threads of one process: one leads, and goes to the store for all that wait; then the next one leads."""

    def __init__(self, carry_out: Callable[[Operations], Outcomes]) -> None:
        self._carry_out = carry_out
        self._start()

    def carry_out(self, operation: Operation) -> Outcome:
        """Carry out one operation, or wait until another thread has."""
        if self._process != os.getpid():
            self._start()  # after a fork: the threads of the parent are not here
        mine = _Waiting(operation)
        if not self._join(mine):
            self._follow(mine)
        if not mine.done:
            self._lead()
        if mine.problem is not None:
            raise type(mine.problem)(*mine.problem.args)
        return mine.outcome

    def _start(self) -> None:
        self._process, self._guard = os.getpid(), threading.Lock()
        self._queue: list[_Waiting] = []
        self._led = False  # whether somebody leads, or was told to

    def _join(self, mine: _Waiting) -> bool:
        """Whether nobody leads yet, so that it is us."""
        with self._guard:
            self._queue.append(mine)
            ours, self._led = not self._led, True
            return ours

    def _follow(self, mine: _Waiting) -> None:
        """Wait until it is done, or until we are told to lead."""
        try:
            mine.told.wait()
        except BaseException:  # interrupted: nobody may wait for us to lead
            with self._guard:
                if mine in self._queue:
                    self._queue.remove(mine)
            if mine.told.is_set() and not mine.done:
                self._pass_on()
            raise

    def _lead(self) -> None:
        with self._guard:
            batch, self._queue = self._queue[:MOST_AT_ONCE], self._queue[MOST_AT_ONCE:]
        try:
            self._go(batch)
        finally:
            for waiting in batch:
                waiting.told.set()
            self._pass_on()

    def _pass_on(self) -> None:
        """Let the first one who waits lead."""
        with self._guard:
            self._led = bool(self._queue)
            if self._queue:
                self._queue[0].told.set()

    def _go(self, batch: list[_Waiting]) -> None:
        for waiting in batch:  # unless we come to know better
            waiting.problem, waiting.done = LedgerError("The thread that wrote the ledger was interrupted."), True
        try:
            outcomes = self._carry_out([waiting.operation for waiting in batch])
        except LedgerError as error:
            for waiting in batch:
                waiting.problem = error
            return
        for waiting, outcome in zip(batch, outcomes, strict=True):
            waiting.outcome, waiting.problem = outcome, None


class _Waiting:
    """An operation of a thread, and what became of it."""

    __slots__ = ("done", "operation", "outcome", "problem", "told")

    def __init__(self, operation: Operation) -> None:
        self.operation, self.done, self.told = operation, False, threading.Event()
        self.outcome: Outcome = {}
        self.problem: LedgerError | None = None


@contextmanager
def failing_closed(name: str, kinds: type[Exception] | tuple[type[Exception], ...]) -> Iterator[None]:
    """Turn an error of the database into ours."""
    try:
        yield
    except kinds as error:
        problem = " ".join(str(error).split()) or type(error).__name__
    else:
        return
    raise LedgerError(
        f"The ledger {name} must be readable and writable. Got: {problem}. "
        "No answer was given. If the charge was already written, it stays."
    )
