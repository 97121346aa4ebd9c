"""Many operations in one commit.

A durable commit waits for the disk. So one thread of a process carries out what the
others have asked for meanwhile, in one transaction, and hands them their outcomes after
the commit: with 64 threads the disk is waited for once instead of 64 times, and no
charge is acknowledged before it is durable.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

from discreet.errors import LedgerError
from discreet.ledger.chain import Guard
from discreet.ledger.fork_safety import ForkLocal
from discreet.ledger.operations import Operation, Outcome, Reserve, decide
from discreet.ledger.records import Right
from discreet.ledger.transaction import Transaction

MOST_AT_ONCE = 256
LOOK, LONGEST_LOOK = 0.05, 0.5
"""Seconds until somebody who waits looks again; then longer, because looking takes time."""
ONE_CALL = "one call at a time"
FROM_INSIDE = "one from inside of another, such as that of a signal handler"
Operations = Sequence[Operation]
Outcomes = list[Outcome]


class Store(Protocol):
    """Where a ledger is kept."""

    def carry_out(self, operations: Operations, again: bool = False) -> Outcomes:
        """Carry out operations, durably.

        again: some of them may have been carried out before.
        """

    def reading(self) -> AbstractContextManager[Transaction]:
        """The tables as of the latest commit."""

    def holder(self) -> str:
        """The name of this process, as the entry of a charge has it."""

    def is_alive(self, holder: str) -> bool:
        """Whether the process of this name still uses the ledger, as far as can be known."""

    def grant(self, writers: Sequence[str], readers: Sequence[str]) -> tuple[Right, ...]:
        """Give roles their rights, and everybody else none; who has which now."""

    def close(self) -> None:
        """Close all connections."""


def carry_out_all(
    transaction: Transaction,
    operations: Operations,
    *,
    presuming: bool = False,
    again: bool = False,
) -> Outcomes:
    """Carry out operations in one transaction.

    presuming: take keys for new without a look. What is carried out then counts only if it
        can be written, each operation: so they were new, because keys are unique. One that
        writes nothing, such as a refusal, shows nothing of that, and raises DoubtfulError.
    again: some may have been carried out before, by somebody who was interrupted. Their
        entries have exactly their texts, with a random name in each.
    """
    if presuming:
        transaction.presume_new([asked.place for asked in operations if isinstance(asked, Reserve)])
    done = transaction.numbers_of([operation.entry() for operation in operations]) if again else {}
    outcomes = [
        Outcome(number=done[operation.entry()])
        if again and operation.entry() in done
        else decide(transaction, operation)
        for operation in operations
    ]
    if presuming:
        began_at = transaction.began_at
        for outcome in outcomes:
            if outcome.refused or outcome.number <= began_at:
                raise DoubtfulError
    transaction.flush()
    return outcomes


class DoubtfulError(Exception):
    """Something would have to be looked up."""


class Threads:
    """The threads of one process: one leads, and goes to the store for all that wait;
    then the next one leads.

    A leader that is interrupted tells nobody. The threads that waited for it lead
    themselves then, and say that it is not the first time, so that nothing is carried out
    twice.
    """

    def __init__(self, carry_out: Callable[[Operations, bool], Outcomes]) -> None:
        self._carry_out = carry_out
        # In a forked child nobody waits: the other threads are not there.
        self._line: ForkLocal[_Line] = ForkLocal(_Line)

    def carry_out(self, operation: Operation) -> Outcome:
        """Carry out one operation, or wait until another thread has."""
        process, mine, line = os.getpid(), _Waiting(operation), self._line.get()
        me, queued = threading.get_ident(), False
        if me in line.leading:
            # this thread leads, below: it would wait for itself
            raise LedgerError(f"A ledger must be asked by {ONE_CALL}. Got {FROM_INSIDE}.")
        try:
            while not mine.done:
                # the threads that it would wait for are its parent's
                _require_same(process)
                if not line.leads.locked():
                    self._try(mine, line, me)
                elif queued:
                    mine.sleep()
                else:
                    # The leader looks at the queue after it has freed the lock, so it sees this
                    # thread in the queue, or this thread sees the lock free.
                    line.queue.append(mine)
                    queued = True
        finally:
            # it is there only if we were interrupted
            if not mine.done:
                with suppress(ValueError):
                    line.queue.remove(mine)
        if mine.problem is not None:
            raise type(mine.problem)(*mine.problem.args)
        _require_same(process)
        return mine.outcome

    def _try(self, mine: _Waiting, line: _Line, me: int) -> None:
        """Lead, unless another thread has led for us by then; and let the next one lead."""
        try:
            # before the lock: a signal handler may ask as soon as we have it
            line.leading.add(me)
            with line.leads:
                if not mine.done:
                    self._lead(mine, line)
        finally:
            line.leading.discard(me)
            if line.queue:
                # the first one was interrupted and left
                with suppress(IndexError):
                    line.queue[0].wake()

    def _lead(self, mine: _Waiting, line: _Line) -> None:
        batch = [mine]
        if line.queue:
            # Who finds the lock free may stand behind more than one batch has room for; what
            # stayed in the queue would be carried out once more.
            with suppress(ValueError):
                line.queue.remove(mine)
        while line.queue and len(batch) < MOST_AT_ONCE:
            # the last one was interrupted and left
            with suppress(IndexError):
                batch.append(line.queue.popleft())
        again = any(waiting.tried for waiting in batch)
        for waiting in batch:
            waiting.tried = True
        try:
            outcomes = self._carry_out([waiting.operation for waiting in batch], again)
            for waiting, outcome in zip(batch, outcomes, strict=True):
                waiting.outcome, waiting.done = outcome, True
        except LedgerError as error:
            # Not the error itself: it holds the frames, and so what was interrupted in them, until
            # a collection, by any thread, and only this one can give its locks back.
            problem = type(error)(*error.args)
            for waiting in batch:
                waiting.problem, waiting.done = problem, True
        finally:
            for waiting in batch[1:]:
                waiting.wake()


def _require_same(process: int) -> None:
    """Refuse to go on in a child that was forked in the middle of an operation: the same
    charge would pay for two releases.
    """
    if os.getpid() != process:
        raise LedgerError(
            "An operation of a ledger must end in the process that began it. Got one that was "
            "forked meanwhile: the operation is its parent's."
        )


class _Line:
    """The threads of a process that wait, the lock of the one that leads, and the numbers of
    those that lead or are about to.
    """

    __slots__ = ("leading", "leads", "queue")

    def __init__(self) -> None:
        self.queue: deque[_Waiting] = deque()
        self.leads = threading.Lock()
        self.leading: set[int] = set()


_NOTHING = Outcome()


class _Waiting:
    """An operation of a thread, and what became of it."""

    __slots__ = ("_gate", "done", "operation", "outcome", "problem", "tried")

    def __init__(self, operation: Operation) -> None:
        self.operation, self.done, self.tried = operation, False, False
        self.outcome = _NOTHING
        self.problem: LedgerError | None = None
        # each thread sleeps by itself: at one lock for all of them, those whose outcome is
        # there would stand behind the next one who leads
        self._gate = threading.Lock()
        self._gate.acquire()

    def sleep(self) -> None:
        """Sleep until another thread wakes this one; or a while, as a leader may be interrupted."""
        self._gate.acquire(timeout=LONGEST_LOOK)

    def wake(self) -> None:
        """Wake the thread, so that it looks at its outcome; to wake it twice does no harm."""
        with suppress(RuntimeError):
            self._gate.release()


@contextmanager
def closing_after_failure(store: Store) -> Iterator[None]:
    """Close a store that could not be opened."""
    try:
        yield
    except BaseException:
        store.close()
        raise


class FailingClosed(Guard):
    """While a database is asked: its errors become ours."""

    __slots__ = ("_kinds", "_name")

    def __init__(self, name: str, kinds: tuple[type[Exception], ...]) -> None:
        self._name, self._kinds = name, kinds

    def translate(self, error: BaseException) -> None:
        """Tell what the database said."""
        if isinstance(error, self._kinds):
            problem = " ".join(str(error).split()) or type(error).__name__
            raise LedgerError(
                f"The ledger {self._name} must be readable and writable. Got: {problem}. "
                "No answer was given. If the charge was already written, it stays."
            ) from None
