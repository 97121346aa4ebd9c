"""What the processes that use one file have in common, in a folder beside it: a queue, the
latest sync, and a list of those that are there.

Nothing here has to be durable, and no charge rests on it. SQLite alone keeps
transactions apart; but it looks at its lock now and then, which starves some of many
processes. So they wait in a queue of the system, in the order in which they come. And
a sync of the log covers all that was committed before it began, so one for many is
enough.

The list has a file for each process, locked as long as the process lives. A request that
was charged and has no answer is running, or lost. The entry of the charge names the
process that holds it, and a process that asks for the same key looks whether that one is
still there. This decides only which of two errors comes: an answer is never computed
again for the same charge.
"""

from __future__ import annotations

import mmap
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from discreet.ledger.fork_safety import ForkLocal
from discreet.platforms import (
    CLOSED_ON_EXEC,
    NO_LINK,
    LockedFile,
    fcntl,
    try_lock_bytes,
    unlock_bytes,
)

_HOLDER = ".holder"
_HOLDER_NAME = re.compile("[0-9a-f]{32}")
_QUEUE, _SYNCS = "turn", "syncs-"
_SHARED = os.O_RDWR | os.O_CREAT | NO_LINK | CLOSED_ON_EXEC
# seconds between two looks whether a turn has come, or a sync has ended
_SHORTEST, _LONGEST, _LONGEST_IN_LINE = 0.0002, 0.002, 0.005
# seconds without a turn after which one takes a ticket; nanoseconds that others then stand back
_LONG, _STAND_BACK = 0.02, 30_000_000
# tickets that are given out before the first one comes again
_TICKETS = 1 << 32
_LAST, _TURN, _BACK = range(3)
_SIZE = 32
# seconds after which what a dead process left behind is removed
_LITTER = 600.0
PATIENCE = 1.0
"""Seconds to wait in a queue: a process in it may be stopped, and then one goes without."""


class _Shared:
    """A file of which some numbers are in the memory of all processes that use it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1
        self._numbers: memoryview | None = None

    def open(self) -> memoryview:
        """The numbers. They are 0 at first, and only save time."""
        if self._numbers is None:
            if self._file < 0:
                self._file = os.open(self._path, _SHARED, 0o600)
            os.ftruncate(self._file, _SIZE)
            self._numbers = memoryview(mmap.mmap(self._file, _SIZE)).cast("Q")
        return self._numbers

    def close(self) -> None:
        """Let go of the file."""
        self._numbers = None
        file, self._file = self._file, -1
        if file >= 0:
            # a child that was forked meanwhile has the descriptor too, and would keep the lock
            with suppress(OSError):
                self.unlock(file)
            os.close(file)

    def unlock(self, file: int) -> None:
        """Let go of its lock."""
        fcntl.flock(file, fcntl.LOCK_UN)


class Queue(_Shared):
    """Processes that write one file: whoever comes while it is free, until one of them has waited
    for long. Those who have come next, in the order in which they took a ticket.

    Byte 0 of a file is locked by who has the turn, and byte n by who has ticket n. The system
    frees what a process had that has ended. The numbers are the last ticket, the last one that had
    its turn, and the time until which those without a ticket stand back: they only save time.

    Who waits too long, or is on a system without such locks, goes on without a turn.
    """

    def enter(self, seconds: float) -> bool:
        """Wait until it is our turn, and whether it is. In any case `leave` must follow."""
        if fcntl is None:
            return False
        try:
            numbers = self._numbers or self.open()
            if numbers[_BACK] <= time.monotonic_ns() and try_lock_bytes(self._file, 0, 1):
                return True
            return self._wait(numbers, self._file, seconds)
        except OSError:
            return False

    def _wait(self, numbers: memoryview, file: int, seconds: float) -> bool:
        began, ticket, pause = time.monotonic(), 0, _SHORTEST
        while (waited := time.monotonic() - began) < seconds:
            time.sleep(pause)
            now = time.monotonic_ns()
            if ticket:
                numbers[_BACK] = now + _STAND_BACK
                pause = min(max(1, ticket - numbers[_TURN]) * _SHORTEST, _LONGEST_IN_LINE)
            elif waited > _LONG:
                ticket = numbers[_LAST] % _TICKETS + 1
                # another one may have read the same number
                while not try_lock_bytes(file, ticket, 1):
                    ticket += 1
                numbers[_LAST] = ticket
            if (ticket or numbers[_BACK] <= now) and try_lock_bytes(file, 0, max(1, ticket)):
                if ticket:
                    unlock_bytes(file, 1)
                    numbers[_TURN] = ticket
                    numbers[_BACK] *= numbers[_LAST] != ticket
                return True
        return False

    def leave(self) -> None:
        """Let the next one in, and give our ticket away where it was not our turn."""
        if self._file >= 0:
            self.unlock(self._file)

    def unlock(self, file: int) -> None:
        """Free all bytes, where the system has such locks."""
        try:
            unlock_bytes(file)
        except OSError:
            return


class SharedSync(_Shared):
    """Syncs of one log by many processes: who waits while another one syncs looks whether
    that began after its own commit.

    The numbers are how many syncs have begun, and which was the last that ended. Who does not
    have the lock only reads them. They only grow, and after a power cut they are what they are.
    Where their file was removed, those who have the old one and those who have a new one do not
    know of each other.
    """

    def sync(self, sync: Callable[[], None]) -> None:
        """Have everything on the disk that was committed before this call.

        sync: what syncs it.
        """
        if fcntl is None:
            return sync()
        numbers = self.open()
        file, begun, end, pause = self._file, numbers[0], 0.0, _SHORTEST
        while not begun < numbers[1] <= numbers[0]:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                now = time.monotonic()
                end = end or now + PATIENCE
                if now >= end:
                    # who does not have the lock leaves the numbers alone
                    return sync()
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST)
                continue
            try:
                if not begun < numbers[1] <= numbers[0]:
                    numbers[0] = number = numbers[0] + 1
                    sync()
                    numbers[1] = number
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)
        return None


def queue_in(folder: Path) -> Queue:
    """Where the processes that write one file wait for each other."""
    return Queue(f"{folder}/{_QUEUE}")


def syncs_in(folder: Path, log: tuple[int, int]) -> SharedSync:
    """What the processes know that sync one log.

    log: its identity: nobody can replace it while it is open.
    """
    return SharedSync(f"{folder}/{_SYNCS}{log[0]}-{log[1]}")


def locks_exclude(folder: Path) -> bool:
    """Whether two cannot have a lock at once: on some network file systems each lock is granted,
    and none has an effect.
    """
    if fcntl is None:
        return True
    path = f"{folder}/{_QUEUE}"
    with suppress(TimeoutError), closing(LockedFile(path)), closing(LockedFile(path)):
        return False
    return True


class Holders:
    """The files of the processes that use one ledger."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)
        # A forked child has a file of its own: the lock is not inherited.
        self._mine: ForkLocal[_Holder] = ForkLocal(self._make)

    def _make(self) -> _Holder:
        with suppress(OSError):
            self._clean()
        return _Holder(self._folder)

    def own_name(self) -> str:
        """The name of this process."""
        return self._mine.get().name

    def is_alive(self, name: str) -> bool:
        """Whether the process of this name still uses the ledger."""
        if name in _ours.get():
            return True
        # the name comes from an entry, which another process wrote: it must not lead elsewhere
        if not _HOLDER_NAME.fullmatch(name):
            return False
        path = f"{self._folder}/{name}{_HOLDER}"
        if not os.path.isfile(path):
            return False
        try:
            LockedFile(path, for_process=True).close()
        except TimeoutError:
            return True
        return False

    def _clean(self) -> None:
        """Remove what dead processes left behind, also those of earlier versions."""
        for file in os.listdir(self._folder):
            path = f"{self._folder}/{file}"
            with suppress(OSError):
                old = time.time() - os.stat(path).st_mtime > _LITTER
                if old and file != _QUEUE and not self.is_alive(file.removesuffix(_HOLDER)):
                    os.unlink(path)

    def close(self) -> None:
        """Say that this process does not use the ledger any more."""
        mine = self._mine.pop()
        if mine is not None:
            mine.close()


class _Holder:
    """The file of one process, and its lock."""

    def __init__(self, folder: str) -> None:
        self.name = secrets.token_hex(16)
        self._path = f"{folder}/{self.name}{_HOLDER}"
        self._file: LockedFile | None = LockedFile(self._path, for_process=True)
        _ours.get().add(self.name)

    def close(self) -> None:
        _ours.get().discard(self.name)
        file, self._file = self._file, None
        if file is not None:
            file.close()
            with suppress(OSError):
                os.unlink(self._path)


_ours: ForkLocal[set[str]] = ForkLocal(set)
"""The names of this process: its own locks do not stop it."""
