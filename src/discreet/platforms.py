"""What one system has and another one lacks, in one place.

Linux and macOS have owners of files, locks of whole files, forks and flags against links. Windows
has none of these: there a file is trusted as it is, and a lock is one of its first byte.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "BINARY",
    "CLOSED_ON_EXEC",
    "NO_LINK",
    "NO_WAIT",
    "LockedFile",
    "fcntl",
    "has_owners",
    "is_owned",
    "sync_file",
    "sync_folder",
    "try_lock",
    "try_lock_bytes",
    "unlock_bytes",
]

CLOSED_ON_EXEC: int = getattr(os, "O_CLOEXEC", 0)
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
BINARY: int = getattr(os, "O_BINARY", 0)
"""Flags of `os.open`; 0 where the system lacks them."""
# a lock of an open file: the usual one belongs to the process, and two ledgers in it would share it
_LOCK_OF_FILE: int | None = getattr(fcntl, "F_OFD_SETLK", None)
_LOCK = "hhqqi"
# seconds between two attempts to lock a file
_PAUSE = 0.005


def has_owners() -> bool:
    """True if the system says who owns a file. Where it does not, ownership is not checked."""
    return hasattr(os, "geteuid")


def is_owned(file: os.stat_result, *others: int) -> bool:
    """True if a file belongs to us or to one of the others, given by their numbers."""
    return not has_owners() or file.st_uid in (os.geteuid(), *others)


def sync_file(descriptor: int) -> None:
    """Wait until the disk has what was written to a file."""
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):
        # fsync on a Mac leaves it in the disk's own memory
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Make sure that the names in a folder survive a power cut. Windows cannot be asked to."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    folder = os.open(path, os.O_RDONLY | CLOSED_ON_EXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def try_lock(descriptor: int, *, for_process: bool = False) -> bool:
    """Lock a whole file, unless somebody else has; whether it worked.

    for_process: lock it against other processes only. A child that is forked meanwhile does not
        inherit this lock; it inherits the usual one.
    """
    try:
        if fcntl is None:
            _lock_first_byte(descriptor)
        else:
            lock = fcntl.lockf if for_process else fcntl.flock
            lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def try_lock_bytes(descriptor: int, first: int, count: int) -> bool:
    """Lock some bytes of a file, even beyond its end, unless somebody else has."""
    try:
        if _LOCK_OF_FILE is None:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, count, first)
        else:
            lock = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, first, count, 0)
            fcntl.fcntl(descriptor, _LOCK_OF_FILE, lock)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock_bytes(descriptor: int, first: int = 0) -> None:
    """Let go of the bytes of a file, from one of them to the end."""
    if _LOCK_OF_FILE is None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 0, first)
    else:
        lock = struct.pack(_LOCK, fcntl.F_UNLCK, os.SEEK_SET, first, 0, 0)
        fcntl.fcntl(descriptor, _LOCK_OF_FILE, lock)


class LockedFile:
    """A file that is locked until it is closed, or this process ends.

    seconds: how long to wait for others; then TimeoutError.
    for_process: as in `try_lock`.
    """

    def __init__(self, path: str, seconds: float = 0.0, *, for_process: bool = False) -> None:
        flags = os.O_RDWR | os.O_CREAT | NO_LINK | CLOSED_ON_EXEC
        self._file = os.open(path, flags, 0o600)
        deadline = time.monotonic() + seconds
        try:
            while not try_lock(self._file, for_process=for_process):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} is locked")
                time.sleep(_PAUSE)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of it."""
        file, self._file = self._file, -1
        if file >= 0:
            if fcntl is not None:
                # a child may have the descriptor too
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)


def _lock_first_byte(descriptor: int) -> None:
    import msvcrt

    msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
