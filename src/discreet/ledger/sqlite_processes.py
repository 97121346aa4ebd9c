"""What the processes that use one file share, in a folder beside it: a queue, the latest sync, and
a list of those that run.

Nothing here has to be durable, and no charge rests on it. SQLite alone keeps transactions apart;
but it polls its lock, which starves some of many processes, so they queue. And a sync of the log
covers all that was committed before it began, so one is enough for many.

The list has a file for each process, locked as long as the process lives. A request that was
charged and has no answer is running, or lost: the entry of the charge names its process, and one
that asks for the same key looks whether that process still runs. This decides only which of two
errors comes: an answer is never computed again for the same charge.
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
# seconds without a turn until one takes a ticket; nanoseconds for which others then stand back
_LONG, _STAND_BACK = 0.02, 30_000_000
# after this many tickets the first one comes again
_TICKETS = 1 << 32
_LAST, _TURN, _BACK = range(3)
_SIZE = 32
_LITTER = 600.0  # seconds after which what a dead process left behind is removed
PATIENCE = 1.0
"""Seconds to wait in a queue: a process in it may be stopped."""


class _Shared:
    """A file with a few numbers in the memory of all processes that use it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = f"{folder}/{name}"
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
    """The processes that write one file. Whoever finds it free has the turn, until a process has
    waited for long: it takes a ticket, and then those with tickets come first, in order.

    The one that has the turn locks byte 0 of a file, and the one with ticket n byte n. The system
    frees the locks of a process that ends. The numbers are the last ticket, the last one that had
    its turn, and the time until which those without a ticket stand back: they only save time.

    A process that waits too long, or has no such locks, goes on without a turn.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _QUEUE)

    def enter(self, seconds: float) -> bool:
        """Wait for our turn; whether we have it. In any case `leave` must follow."""
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
        """Let the next one in, and give back a ticket."""
        if self._file >= 0:
            self.unlock(self._file)

    def unlock(self, file: int) -> None:
        """Free all bytes, where the system has such locks."""
        try:
            unlock_bytes(file)
        except OSError:
            return


class SharedSync(_Shared):
    """Syncs of one log by many processes: one that waits while another one syncs looks whether that
    sync began after its own commit.

    The numbers are how many syncs have begun, and which was the last that ended. Only the process
    with the lock writes them. They only grow; what a power cut left of them is harmless. If their
    file is removed, those that have the old one do not share with those that have a new one.

    log: its identity: nobody can replace it while it is open.
    """

    def __init__(self, folder: Path, log: tuple[int, int]) -> None:
        super().__init__(folder, f"{_SYNCS}{log[0]}-{log[1]}")

    def sync(self, sync: Callable[[], None]) -> None:
        """Have everything on the disk that was committed before this call."""
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
                    # without the lock the numbers are left alone
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


def locks_exclude(folder: Path) -> bool:
    """True if two cannot have a lock at once: some network file systems grant every lock."""
    if fcntl is None:
        return True
    path = f"{folder}/{_QUEUE}"
    with suppress(TimeoutError), closing(LockedFile(path)), closing(LockedFile(path)):
        return False
    return True


class Holders:
    """The files of the processes that use one ledger, each locked by its process."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)
        # a forked child has a file of its own: the lock is not inherited
        self._mine: ForkLocal[tuple[str, LockedFile]] = ForkLocal(self._make)

    def own_name(self) -> str:
        """The name of this process."""
        return self._mine.get()[0]

    def is_alive(self, name: str) -> bool:
        """True if the process of this name still uses the ledger."""
        if name in _own_names.get():
            return True
        # the name comes from an entry that another process wrote: it must not lead elsewhere
        if not _HOLDER_NAME.fullmatch(name) or not os.path.isfile(self._path(name)):
            return False
        try:
            LockedFile(self._path(name), for_process=True).close()
        except TimeoutError:
            return True
        return False

    def close(self) -> None:
        """Show that this process no longer uses the ledger."""
        mine = self._mine.pop()
        if mine is not None:
            name, file = mine
            _own_names.get().discard(name)
            file.close()
            with suppress(OSError):
                os.unlink(self._path(name))

    def _make(self) -> tuple[str, LockedFile]:
        with suppress(OSError):
            self._clean()
        name = secrets.token_hex(16)
        file = LockedFile(self._path(name), for_process=True)
        _own_names.get().add(name)
        return name, file

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}{_HOLDER}"

    def _clean(self) -> None:
        """Remove what dead processes left behind, also those of earlier versions."""
        for file in os.listdir(self._folder):
            path = f"{self._folder}/{file}"
            with suppress(OSError):
                is_old = time.time() - os.stat(path).st_mtime > _LITTER
                if is_old and file != _QUEUE and not self.is_alive(file.removesuffix(_HOLDER)):
                    os.unlink(path)


_own_names: ForkLocal[set[str]] = ForkLocal(set)
"""The names of this process: its own locks do not stop it."""
