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
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from discreet.ledger.fork_safety import ForkLocal
from discreet.platforms import CLOSED_ON_EXEC, NO_LINK, LockedFile, fcntl, try_lock

_HOLDER = ".holder"
_HOLDER_NAME = re.compile("[0-9a-f]{32}")
_QUEUE, _SYNCS = "turn", "syncs-"
_SHARED = os.O_RDWR | os.O_CREAT | NO_LINK | CLOSED_ON_EXEC
# seconds between two looks whether a sync has ended
_SHORTEST, _LONGEST = 0.0002, 0.002
# seconds after which what a dead process left behind is removed
_LITTER = 600.0
PATIENCE = 1.0
"""Seconds to wait in a queue: a process in it may be stopped, and then one goes without."""


class Queue:
    """Processes that wait for the same thing, in the order in which they come.

    Who waits too long, or is on a system without such locks, goes on without a place.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = os.fspath(folder / name)
        self._file: int | None = None

    def excludes(self) -> bool:
        """Whether two cannot have it at once: on some network file systems each lock is
        granted, and none has an effect.
        """
        if fcntl is None:
            return True
        files = [os.open(self._path, _SHARED, 0o600) for _ in range(2)]
        try:
            return not all([try_lock(file) for file in files])
        finally:
            for file in files:
                _close(file)

    def enter(self, seconds: float) -> bool:
        """Wait until it is our turn, and whether it is. In any case `leave` must follow."""
        if fcntl is None:
            return False
        if self._file is None:
            self._file = os.open(self._path, _SHARED, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return self._wait(self._file, seconds)
        return True

    def _wait(self, file: int, seconds: float) -> bool:
        """The system has no limit for this wait, but Python's locks have: so another thread
        waits for it. If we give up first, the file is that thread's.
        """
        came, first, has_come = threading.Lock(), [None], False
        came.acquire()

        def wait() -> None:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            try:
                first.pop()
            except IndexError:
                _close(file)
            else:
                came.release()

        try:
            threading.Thread(target=wait, daemon=True).start()
        except RuntimeError:
            # as at the end of Python
            return False
        try:
            has_come = came.acquire(timeout=seconds)
        finally:
            if not has_come:
                with suppress(IndexError):
                    first.pop()
                    self._file = None
        return has_come

    def leave(self) -> None:
        """Let the next one in. Where it was not our turn, this does nothing."""
        if self._file is not None and fcntl is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            _close(file)


def _close(file: int) -> None:
    # a child that was forked meanwhile has the descriptor too, and would keep the lock
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


class SharedSync:
    """Syncs of one log by many processes: who waits while another one syncs looks whether
    that began after its own commit.

    Two numbers are in memory that the processes share: how many syncs have begun, and which
    was the last that ended. Who does not have the lock only reads them. They only grow, and
    after a power cut they are what they are. Where their file was removed, those who have
    the old one and those who have a new one do not know of each other.

    log: the identity of the log, which nobody can replace while it is open.
    """

    def __init__(self, folder: Path, log: tuple[int, int]) -> None:
        self._path = os.fspath(folder / f"{_SYNCS}{log[0]}-{log[1]}")
        self._file: int | None = None
        self._map: mmap.mmap | None = None

    def sync(self, sync: Callable[[], None]) -> None:
        """Have everything on the disk that was committed before this call.

        sync: what syncs it.
        """
        if fcntl is None:
            return sync()
        file, shared = self._open()
        with memoryview(shared).cast("Q") as numbers:
            begun, end, pause = numbers[0], time.monotonic() + PATIENCE, _SHORTEST
            while not begun < numbers[1] <= numbers[0]:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if time.monotonic() > end:
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

    def _open(self) -> tuple[int, mmap.mmap]:
        if self._file is None:
            self._file = os.open(self._path, _SHARED, 0o600)
        if self._map is None:
            os.ftruncate(self._file, 16)
            self._map = mmap.mmap(self._file, 16)
        return self._file, self._map

    def close(self) -> None:
        """Let go of the memory."""
        shared, self._map = self._map, None
        if shared is not None:
            shared.close()
        file, self._file = self._file, None
        if file is not None:
            _close(file)


def queue_in(folder: Path) -> Queue:
    """Where the processes that write one file wait for each other."""
    return Queue(folder, _QUEUE)


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

    def mine(self) -> str:
        """The name of this process."""
        return self._mine.here().name

    def is_alive(self, name: str) -> bool:
        """Whether the process of this name still uses the ledger."""
        if name in _ours.here():
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
        mine = self._mine.forget()
        if mine is not None:
            mine.close()


class _Holder:
    """The file of one process, and its lock."""

    def __init__(self, folder: str) -> None:
        self.name = secrets.token_hex(16)
        self._path = f"{folder}/{self.name}{_HOLDER}"
        self._file: LockedFile | None = LockedFile(self._path, for_process=True)
        _ours.here().add(self.name)

    def close(self) -> None:
        _ours.here().discard(self.name)
        file, self._file = self._file, None
        if file is not None:
            file.close()
            with suppress(OSError):
                os.unlink(self._path)


_ours: ForkLocal[set[str]] = ForkLocal(set)
"""The names of this process: its own locks do not stop it."""
