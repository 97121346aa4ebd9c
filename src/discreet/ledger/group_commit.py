"""Many operations in one commit.

A durable commit waits for the disk, and only one process can write a ledger at a time.
So the process that has the turn also carries out the operations that others have posted
meanwhile, in one transaction, and tells them after the commit what became of theirs.
With 64 clients the disk is waited for once instead of 64 times, and no charge is
acknowledged before it is durable.

If that process dies after the commit and before telling, the next one finds the
operation's ticket in the chain and does not carry it out again. If a client dies, its
operation may be carried out all the same: a charge without a release, which is safe.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import LedgerError
from discreet.ledger.entries import read_operation
from discreet.ledger.fork_safety import ByProcess, PerProcess
from discreet.ledger.operations import (
    Abandon,
    AnchorNoted,
    Close,
    Extend,
    Open,
    Operation,
    Outcome,
    Reserve,
    Settle,
    decide,
)
from discreet.ledger.records import Right
from discreet.ledger.transaction import ANCHORED, Key, Rows, Scope

if TYPE_CHECKING:
    from discreet.ledger.sqlite_mailbox import Mailbox

MOST_AT_ONCE = 256
LOOK, LONGEST_LOOK = 0.05, 0.5
"""Seconds until a waiting process first looks at the turn itself, in case the process that
had it died without telling; then longer, because looking takes time.
"""
ONE_CALL = "one call at a time"
FROM_INSIDE = "one from inside of another, such as that of a signal handler"
Operations = Sequence[Operation]
Posted = dict[str, list[Any]]
"""Operations of other processes, as JSON, by the name under which they were posted."""
Outcomes = list[Outcome]


class Store(Protocol):
    """Where a ledger is kept."""

    def carry_out(self, operations: Operations) -> Outcomes:
        """Carry out operations, durably."""

    def reading(self) -> AbstractContextManager[Rows]:
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
    rows: Rows, mine: Operations, posted: Posted, *, presuming: bool = False
) -> tuple[Outcomes, dict[str, Outcomes]]:
    """Carry out my operations and those that others have posted.

    presuming: take tickets and keys for new without a look. What is carried out then
        counts only if it can be written, each operation: so they were new, because both are
        unique. One that writes nothing, such as a refusal, shows nothing of that, and
        raises DoubtfulError.
    """
    read = {name: [read_operation(one) for one in told] for name, told in posted.items()}
    look_up(rows, list(chain(mine, *read.values())), presuming=presuming)
    outcomes = [decide_once(rows, operation) for operation in mine]
    others = {
        name: [decide_once(rows, operation) for operation in operations]
        for name, operations in read.items()
    }
    if presuming:
        began_at = rows.began_at
        for outcome in chain(outcomes, *others.values()):
            if outcome.refused or outcome.number <= began_at:
                raise DoubtfulError
    rows.flush()
    return outcomes, others


class DoubtfulError(Exception):
    """Something would have to be looked up."""


def look_up(rows: Rows, operations: Operations, *, presuming: bool = False) -> None:
    """Find out at once what these operations have to know."""
    scopes = {scope for operation in operations for scope in _asked_about(operation)}
    tickets = [operation.ticket for operation in operations]
    if presuming:
        new = [_key_of(operation) for operation in operations if isinstance(operation, Reserve)]
        rows.presume_new(tickets, [key for key in new if key is not None])
        rows.look_up([], [], scopes)
    else:
        keys = [key for operation in operations if (key := _key_of(operation)) is not None]
        rows.look_up(tickets, keys, scopes)


def decide_once(rows: Rows, operation: Operation) -> Outcome:
    """Decide about one operation. One that was decided before, and whose outcome got
    lost, is not decided again.
    """
    known = rows.entry_of(operation.ticket)
    if known is not None:
        return acknowledged(operation, *known)
    return decide(rows, operation)


def acknowledged(operation: Operation, number: int, text: str) -> Outcome:
    """The outcome of an operation whose ticket an entry has.

    The entry has to be the very one that the operation asks for: a role that may write
    the ledger could have taken the ticket for a smaller charge.
    """
    if text == operation.entry():
        return Outcome(number=number)
    return Outcome(refused="another entry")


def _asked_about(operation: Operation) -> Iterable[Scope]:
    if not isinstance(operation, (Reserve, Open, Extend, Close)):
        return ()
    windows = operation.windows if isinstance(operation, Reserve) else ()
    return [
        Scope(operation.dataset, owner, window)
        for owner in {"", operation.analyst}
        for window in ("", *windows)
    ]


def _key_of(operation: Operation) -> Key | None:
    if isinstance(operation, (Reserve, Settle, Abandon)):
        return operation.dataset, operation.analyst, operation.key
    return ANCHORED if isinstance(operation, AnchorNoted) else None


class Threads:
    """The threads of one process: one leads, and goes to the store for all that wait;
    then the next one leads.

    A leader that is interrupted tells nobody. The threads that waited for it lead
    themselves then, with the same tickets, so that nothing is carried out twice.
    """

    def __init__(self, carry_out: Callable[[Operations], Outcomes]) -> None:
        self._carry_out = carry_out
        # In a forked child nobody waits: the other threads are not there.
        self._line: ByProcess[_Line] = ByProcess(_Line)

    def carry_out(self, operation: Operation) -> Outcome:
        """Carry out one operation, or wait until another thread has."""
        process, mine, line = os.getpid(), _Waiting(operation), self._line.here()
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
        try:
            outcomes = self._carry_out([waiting.operation for waiting in batch])
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
    """Refuse to go on in a child that was forked in the middle of an operation: both would
    find its ticket in the chain, and the same charge would pay for two releases.
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

    __slots__ = ("_gate", "done", "operation", "outcome", "problem")

    def __init__(self, operation: Operation) -> None:
        self.operation, self.done = operation, False
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


Work = Callable[[Operations, Posted], tuple[Outcomes, dict[str, Outcomes]]]
Believe = Callable[[list[Any], Operations], Outcomes | None]

_MOST_ROUNDS = 8
"""How often whoever has the turn goes on for others before its own caller gets an answer."""


class Processes:
    """The processes of one machine that meet in one folder: one has the turn, and carries
    out what the others have posted, too.

    Nothing rests on it but time: the turn is not what keeps transactions apart.

    mailbox: the folder as each process sees it.
    work: carry out my operations and those that others have posted, durably; the
        outcomes of mine, and of each post that was carried out.
    believe: the outcomes, given what another process has told about my operations; None
        if that is not enough.
    problems: what goes wrong where the work does; not what a signal handler raises.
    is_used: whether a file in the folder that is not of the mailbox is still needed.
    """

    def __init__(
        self,
        mailbox: PerProcess[Mailbox],
        work: Work,
        believe: Believe,
        problems: tuple[type[Exception], ...] = (),
        is_used: Callable[[str], bool] = lambda file: False,
    ) -> None:
        self._work, self._believe, self._is_used = work, believe, is_used
        self._problems = problems
        self._mailbox = mailbox
        # Whether others were there lately: then the turn is hardly free, and who posts first looks
        # at it once. Who was alone looks whether others are there at the end of its turn only.
        self._crowded = False

    def carry_out(self, operations: Operations, patience: float) -> Outcomes | None:
        """Carry out operations, or have them carried out; None if nobody did for so many
        seconds.
        """
        with self._mailbox.hold() as mailbox:
            # The charge before may have been interrupted just after it was posted: what became
            # of that one must not be taken for the outcome of this one.
            mailbox.withdraw()
            outcomes = None if self._crowded else self._try(mailbox, operations)
            return self._wait(mailbox, operations, patience) if outcomes is None else outcomes

    def close(self) -> None:
        """Let go of the folder."""
        self._mailbox.drop()

    def _wait(self, mailbox: Mailbox, operations: Operations, patience: float) -> Outcomes | None:
        """Wait until another process has carried the operations out, or it is our turn."""
        deadline, pause = time.monotonic() + patience, LOOK
        text = f"[{','.join([operation.to_json() for operation in operations])}]"
        # Where nothing can be posted, as without pipes, the next charge looks at the turn first.
        self._crowded = False
        try:
            mailbox.post(text)
            self._crowded = True
            while True:
                # at least once, however little patience there is
                outcomes = self._try(mailbox, operations)
                left = deadline - time.monotonic()
                if outcomes is None and left > 0:
                    outcomes = self._read(mailbox.wait(min(pause, left)), operations)
                if outcomes is not None or left <= 0:
                    return outcomes
                if pause == LONGEST_LOOK:
                    # who had read it may have died
                    mailbox.post(text)
                pause = min(2 * pause, LONGEST_LOOK)
        finally:
            mailbox.withdraw()

    def _try(self, mailbox: Mailbox, operations: Operations) -> Outcomes | None:
        """If it is our turn, use it, and let one of those know who have come meanwhile."""
        outcomes = mailbox.in_turn(lambda: self._told_or_led(mailbox, operations))
        if outcomes is not None:
            with _SideMatter():
                self._crowded = mailbox.wake() or self._crowded
        return outcomes

    def _told_or_led(self, mailbox: Mailbox, operations: Operations) -> Outcomes:
        # somebody may have told us before we had the turn
        outcomes = self._read(mailbox.told(), operations)
        return self._lead(mailbox, operations) if outcomes is None else outcomes

    def _lead(self, mailbox: Mailbox, mine: Operations) -> Outcomes:
        """It is our turn: carry out what waits, and what comes meanwhile.

        Who goes on still knows what it has just read. What is wrong by then is not about
        our own operations, and those whom it is about look for themselves.
        """
        posted = mailbox.posted() if self._crowded else {}
        self._crowded = bool(posted)
        outcomes = self._round(mailbox, mine, posted)
        if posted:
            self._lead_others(mailbox)
        return outcomes

    def _lead_others(self, mailbox: Mailbox) -> None:
        try:
            for _ in range(_MOST_ROUNDS - 1):
                posted = mailbox.posted()
                if not posted:
                    return
                self._round(mailbox, (), posted)
        except TimeoutError:
            # that is how many handlers end what takes too long
            raise
        except self._problems:
            return

    def _round(self, mailbox: Mailbox, mine: Operations, posted: Posted) -> Outcomes:
        outcomes, others = self._work(mine, posted)
        # the disk may be full; who is not told will look into the ledger
        with _SideMatter():
            for name, other in others.items():
                mailbox.tell(name, [outcome.to_dict() for outcome in other])
            mailbox.clean(self._is_used)
        return outcomes

    def _read(self, told: list[Any] | None, operations: Operations) -> Outcomes | None:
        return None if told is None else self._believe(told, operations)


class _SideMatter:
    """While others are told: what fails there is not about our own operations. A deadline
    that a signal handler raises is: `TimeoutError` is how many of them end what takes too
    long, and it is an error of the system.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return isinstance(error, OSError) and not isinstance(error, TimeoutError)


@contextmanager
def closing_after_failure(store: Store) -> Iterator[None]:
    """Close a store that could not be opened."""
    try:
        yield
    except BaseException:
        store.close()
        raise


class FailingClosed:
    """While a database is asked: its errors become ours.

    A class, because every charge passes it twice and a generator takes five times as
    long.
    """

    __slots__ = ("_kinds", "_name")

    def __init__(self, name: str, kinds: tuple[type[Exception], ...]) -> None:
        self._name, self._kinds = name, kinds

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, self._kinds):
            problem = " ".join(str(error).split()) or type(error).__name__
            raise LedgerError(
                f"The ledger {self._name} must be readable and writable. Got: {problem}. "
                "No answer was given. If the charge was already written, it stays."
            ) from None
