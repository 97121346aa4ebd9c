"""Many operations in one commit.

A durable commit waits for the disk. So one thread of a process carries out what the others have
asked for meanwhile, in one transaction, and hands them their outcomes after the commit: 64 threads
wait for the disk once, and no charge is acknowledged before it is durable.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from discreet.errors import LedgerError
from discreet.ledger.chain import Guard
from discreet.ledger.fork_safety import require_own
from discreet.ledger.operations import Operation, Outcome, Reserve
from discreet.ledger.transaction import Transaction

MOST_AT_ONCE = 256
LOOK, LONGEST_LOOK = 0.05, 0.5
"""Seconds until a waiting thread looks again: at first, and at most."""
ONE_CALL = "one call at a time"
FROM_INSIDE = "a call inside another one, such as from a signal handler"
Operations = Sequence[Operation]
Outcomes = list[Outcome]


def carry_out_all(
    transaction: Transaction,
    operations: Operations,
    *,
    presuming: bool = False,
    again: bool = False,
) -> Outcomes:
    """Carry out operations in one transaction.

    presuming: take keys for new without a look. If all operations can be written, they were new,
        because keys are unique. One that writes nothing, such as a refusal, raises DoubtfulError.
    again: some may have been carried out before, by a thread that was interrupted. Their entries
        have exactly their texts, with a random name in each.
    """
    if presuming:
        transaction.presume_new([each.place for each in operations if isinstance(each, Reserve)])
    done = transaction.numbers_of([operation.entry() for operation in operations]) if again else {}
    outcomes = [
        Outcome(number=done[operation.entry()])
        if again and operation.entry() in done
        else operation.decide(transaction)
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
    """The threads of one process: one leads, and goes to the store for all that wait; then the
    next one leads.

    A leader that is interrupted reports to nobody. The threads that waited for it lead themselves
    then, and say that it is not the first time, so that nothing is carried out twice.

    queue: the threads that wait.
    leads: the lock of the one that leads.
    leading: the numbers of those that lead, or are about to.
    """

    def __init__(self, carry_out: Callable[[Operations, bool], Outcomes]) -> None:
        self._carry_out = carry_out
        self.queue: deque[_Waiting] = deque()
        self.leads = threading.Lock()
        self.leading: set[int] = set()

    def carry_out(self, operation: Operation) -> Outcome:
        """Carry out one operation, or wait until another thread has."""
        process, mine, queued = os.getpid(), _Waiting(operation), False
        if threading.get_ident() in self.leading:
            # this thread leads, below: it would wait for itself
            raise LedgerError(f"A ledger must be used by {ONE_CALL}. Got {FROM_INSIDE}.")
        try:
            while not mine.done:
                # the threads that it would wait for are its parent's
                require_own(process)
                if not self.leads.locked():
                    self._try(mine)
                elif queued:
                    mine.sleep()
                else:
                    # The leader looks at the queue after it has freed the lock, so it sees this
                    # thread in the queue, or this thread sees the lock free.
                    self.queue.append(mine)
                    queued = True
        finally:
            # it is there only if we were interrupted
            if not mine.done:
                with suppress(ValueError):
                    self.queue.remove(mine)
        if mine.problem is not None:
            raise type(mine.problem)(*mine.problem.args)
        require_own(process)
        return mine.outcome

    def _try(self, mine: _Waiting) -> None:
        """Lead, unless another thread has led for us by then; and let the next one lead."""
        me = threading.get_ident()
        try:
            # before the lock: a signal handler may ask as soon as we have it
            self.leading.add(me)
            with self.leads:
                if not mine.done:
                    self._lead(mine)
        finally:
            self.leading.discard(me)
            if self.queue:
                # the first one was interrupted and left
                with suppress(IndexError):
                    self.queue[0].wake()

    def _lead(self, mine: _Waiting) -> None:
        batch = [mine]
        if self.queue:
            # Whoever finds the lock free may stand behind more than one batch has room for; what
            # stayed in the queue would be carried out once more.
            with suppress(ValueError):
                self.queue.remove(mine)
        while self.queue and len(batch) < MOST_AT_ONCE:
            # the last one was interrupted and left
            with suppress(IndexError):
                batch.append(self.queue.popleft())
        again = any(waiting.tried for waiting in batch)
        for waiting in batch:
            waiting.tried = True
        try:
            outcomes = self._carry_out([waiting.operation for waiting in batch], again)
            for waiting, outcome in zip(batch, outcomes, strict=True):
                waiting.outcome, waiting.done = outcome, True
        except LedgerError as error:
            # Not the error itself: it keeps frames, and what was interrupted in them, until any
            # thread collects them, and only this one can give its locks back.
            problem = type(error)(*error.args)
            for waiting in batch:
                waiting.problem, waiting.done = problem, True
        finally:
            for waiting in batch[1:]:
                waiting.wake()


class _Waiting:
    """An operation of a thread, and what became of it."""

    __slots__ = ("_gate", "done", "operation", "outcome", "problem", "tried")

    def __init__(self, operation: Operation) -> None:
        self.operation, self.outcome, self.done, self.tried = operation, Outcome(), False, False
        self.problem: LedgerError | None = None
        # Each thread sleeps by itself: with one lock for all, those whose outcome is there would
        # stand behind the next one who leads.
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
def closing_after_failure(close: Callable[[], None]) -> Iterator[None]:
    """Close something that could not be opened as a whole."""
    try:
        yield
    except BaseException:
        close()
        raise


class FailingClosed(Guard):
    """While a database is used: its errors become ours."""

    __slots__ = ("_kinds", "_name")

    def __init__(self, name: str, kinds: tuple[type[Exception], ...]) -> None:
        self._name, self._kinds = name, kinds

    def translate(self, error: BaseException) -> None:
        """Pass on what the database reports."""
        if isinstance(error, self._kinds):
            problem = " ".join(str(error).split()) or type(error).__name__
            raise LedgerError(
                f"The ledger {self._name} must be readable and writable. Got: {problem}. "
                "No answer was given. If the charge was already written, it stays."
            ) from None
