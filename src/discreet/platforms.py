"""What one system has and another one lacks, in one place.

Linux and macOS have owners of files, locks of whole files, forks and flags against links.
Windows has none of these: there a file is trusted as it is, a lock is one of its first
byte, and no fork can happen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLOSED_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
BINARY = getattr(os, "O_BINARY", 0)
"""Flags of `os.open`; 0 where the system lacks them."""

FIRST_BYTE = 1
"""How many bytes Windows locks."""


def has_owners() -> bool:
    """Whether the system says who owns a file. Where it does not, ownership is not checked."""
    return hasattr(os, "geteuid")


def is_owned(found: os.stat_result, *others: int) -> bool:
    """Whether a file belongs to us or to one of the others, given by their numbers."""
    return not has_owners() or found.st_uid in (os.geteuid(), *others)


def try_lock(descriptor: int) -> bool:
    """Lock a whole file for this process, unless another one has; whether it worked."""
    try:
        _lock(descriptor, wait=False)
    except OSError:
        return False
    return True


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """While no other open file of the same name is locked. Waits for its turn."""
    _lock(descriptor, wait=True)
    try:
        yield
    finally:
        _unlock(descriptor)


def sync_folder(path: Path) -> None:
    """Make sure that the names in a folder survive a power cut. Windows cannot be asked to."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    folder = os.open(path, os.O_RDONLY | CLOSED_ON_EXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _lock(descriptor: int, *, wait: bool) -> None:
    try:
        import fcntl
    except ImportError:
        _lock_first_byte(descriptor, wait=wait)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _unlock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:
        _unlock_first_byte(descriptor)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock_first_byte(descriptor: int, *, wait: bool) -> None:
    import msvcrt

    os.lseek(descriptor, 0, os.SEEK_SET)
    while True:
        try:
            # this waits for ten seconds, and then it fails
            mode = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK  # type: ignore[attr-defined, unused-ignore]
            msvcrt.locking(descriptor, mode, FIRST_BYTE)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            if not wait:
                raise
        else:
            return


def _unlock_first_byte(descriptor: int) -> None:
    import msvcrt

    os.lseek(descriptor, 0, os.SEEK_SET)
    msvcrt.locking(descriptor, msvcrt.LK_UNLCK, FIRST_BYTE)  # type: ignore[attr-defined, unused-ignore]
