"""What not every system has, and what is done without it.

A ledger in a file needs from the system: files that are written through to the disk, and
the locks that SQLite uses itself. The rest makes it faster or safer where it is there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "CLOSED_IN_CHILDREN",
    "NO_LINK",
    "NO_WAIT",
    "LockedFile",
    "fcntl",
    "sync_file",
    "sync_folder",
]

CLOSED_IN_CHILDREN: int = getattr(os, "O_CLOEXEC", 0)
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
_OPENED = os.O_RDWR | os.O_CREAT | NO_LINK | CLOSED_IN_CHILDREN
_HAS_FOLDERS = os.name == "posix"
_PAUSE = 0.005


def sync_file(descriptor: int) -> None:
    """Wait until the disk has what was written to a file."""
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):
        # on a Mac fsync leaves it in the disk's own memory
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Make sure that the names in a folder survive a power cut, where one has to ask for it."""
    if not _HAS_FOLDERS:
        return
    folder = os.open(path, os.O_RDONLY | CLOSED_IN_CHILDREN)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class LockedFile:
    """A file that is locked as long as this process lives, or until it is closed. Where the
    system has no such lock, SQLite's is taken, which every system has.

    seconds: how long to wait for others; then TimeoutError.
    among_threads: whether threads of this process exclude each other too; then a child that
        is forked meanwhile has the lock as well.
    """

    def __init__(self, path: str, seconds: float = 0.0, *, among_threads: bool = False) -> None:
        self._file = os.open(path, _OPENED, 0o600)
        self._database: sqlite3.Connection | None = None
        deadline = time.monotonic() + seconds
        try:
            while not self._takes(path, among_threads):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} is locked")
                time.sleep(_PAUSE)
        except BaseException:
            self.close()
            raise

    def _takes(self, path: str, among_threads: bool) -> bool:
        """Whether the lock is ours now."""
        if fcntl is not None:
            lock = fcntl.flock if among_threads else fcntl.lockf
            try:
                lock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            return True
        uri = f"{Path(path).absolute().as_uri()}?mode=rw"
        database = sqlite3.connect(
            uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            database.execute("begin exclusive")
        except sqlite3.OperationalError:
            database.close()
            return False
        self._database = database
        return True

    def close(self) -> None:
        """Let go of it."""
        database, self._database = self._database, None
        if database is not None:
            database.close()
        file, self._file = self._file, -1
        if file >= 0:
            if fcntl is not None:
                # a child may have the descriptor too
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)
