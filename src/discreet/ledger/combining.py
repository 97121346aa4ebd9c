"""Many operations in one commit.

A durable commit waits for the disk, and only one process can write a ledger at a time. So whoever has the turn also carries out the
operations that others have posted meanwhile, in one transaction, and tells them after the commit what became of theirs. With 64
clients the disk is waited for once instead of 64 times, and no charge is acknowledged before it is durable.

If the one with the turn dies after the commit and before telling, the next one finds the operation's ticket in the chain and does not
carry it out again. If a client dies, its operation may be carried out for nobody: a charge without a release, which is safe.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from typing import Protocol

from discreet.errors import LedgerError
from discreet.ledger.book import Operation, Outcome, carry_out, look_up
from discreet.ledger.per_process import ByProcess
from discreet.ledger.records import Right
from discreet.ledger.rows import Rows

MOST_AT_ONCE = 256
LOOK, LONGEST_LOOK = 0.05, 0.5
"""Seconds until the first look at the turn, in case that who had it died and told nobody; then longer, because looking takes time."""
NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What an operation that somebody else posted may raise if it makes no sense to us."""
Operations = Sequence[Operation]
Outcomes = list[Outcome]


class Store(Protocol):
    """Where a ledger is kept."""

    def carry_out(self, operations: Operations) -> Outcomes:
        """Carry out operations, durably."""

    def reading(self) -> AbstractContextManager[Rows]:
        """The tables as of the latest commit."""

    def grant(self, writers: Sequence[str], readers: Sequence[str]) -> tuple[Right, ...]:
        """Give roles their rights, and everybody else none; who has which now."""

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
    """The threads of one process: one leads, and goes to the store for all that wait; then the next one leads.

    A leader that is interrupted tells nobody. Those who waited for it lead themselves then, with the same tickets, so that nothing is
    carried out twice.
    """

    def __init__(self, carry_out: Callable[[Operations], Outcomes]) -> None:
        self._carry_out = carry_out
        # In a forked child nobody waits: the other threads are not there.
        self._line: ByProcess[_Line] = ByProcess(_Line)

    def carry_out(self, operation: Operation) -> Outcome:
        """Carry out one operation, or wait until another thread has."""
        mine, line = _Waiting(operation), self._line.here()
        line.queue.append(mine)
        try:
            with line.leads:
                if not mine.done:
                    self._lead(mine, line)
        finally:
            with suppress(ValueError):  # it is there only if we were interrupted
                line.queue.remove(mine)
        if mine.problem is not None:
            raise type(mine.problem)(*mine.problem.args)
        return mine.outcome

    def _lead(self, mine: _Waiting, line: _Line) -> None:
        batch = [mine]
        while line.queue and len(batch) < MOST_AT_ONCE:
            with suppress(IndexError):  # the last one was interrupted and left
                batch += [other for other in [line.queue.popleft()] if other is not mine]
        try:
            outcomes = self._carry_out([waiting.operation for waiting in batch])
        except LedgerError as error:
            for waiting in batch:
                waiting.problem, waiting.done = error, True
            return
        for waiting, outcome in zip(batch, outcomes, strict=True):
            waiting.outcome, waiting.done = outcome, True


class _Line:
    """The threads of a process that wait, and the lock of the one that leads."""

    __slots__ = ("leads", "queue")

    def __init__(self) -> None:
        self.queue: deque[_Waiting] = deque()
        self.leads = threading.Lock()


class _Waiting:
    """An operation of a thread, and what became of it."""

    __slots__ = ("done", "operation", "outcome", "problem")

    def __init__(self, operation: Operation) -> None:
        self.operation, self.done = operation, False
        self.outcome: Outcome = {}
        self.problem: LedgerError | None = None


@contextmanager
def closing_after_failure(store: Store) -> Iterator[None]:
    """Close a store that could not be opened."""
    try:
        yield
    except BaseException:
        store.close()
        raise


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
    ) from None
