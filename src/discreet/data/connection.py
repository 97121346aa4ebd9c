"""Connections to DuckDB: nothing comes over the network, and what is spilled to disk is ours alone.

Counting persons needs memory for each pair of a person and an item. Beyond the memory limit DuckDB
writes such pairs to files, by default into `./.tmp` where everybody may read them. Here they go to a
folder that only this user can enter, and that is removed at the end of the process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtraError

if TYPE_CHECKING:
    import duckdb

_PREFIX, _LOCK = "discreet-spill-", "owner"


def connect(
    purpose: str, database: str = ":memory:", *, read_only: bool = False, **settings: Any
) -> duckdb.DuckDBPyConnection:
    """Open a connection with guards.

    purpose: what needs DuckDB, for the message where it is not installed.
    settings: further settings of DuckDB, such as `enable_external_access`.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(purpose, "tables") from None
    guards: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # a name in a query is never a variable of the caller's program
        "python_enable_replacements": "false",
        "temp_directory": spill_folder(os.getpid()),
    }
    connection = duckdb.connect(database, read_only=read_only, config=guards | settings)
    # A bar of its own would be written to the standard output, which is for the answer.
    connection.execute("set enable_progress_bar = false")
    return connection


@cache
def spill_folder(process: int) -> str:
    """Return the folder of this process for what does not fit into memory.

    Nobody else can enter it (mode 0700). It is removed at exit; what a killed process has left behind
    is removed by the next one.
    """
    parent = Path(tempfile.gettempdir())
    for left in parent.glob(f"{_PREFIX}*"):
        _remove_if_ownerless(left)
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    lock = _locked(Path(folder))
    atexit.register(_remove, folder, lock, process)
    return folder


def _locked(folder: Path) -> int:
    """Hold a lock in the folder for as long as the process lives: whoever gets it knows better."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not _lock(descriptor):
        os.close(descriptor)
        raise BlockingIOError
    return descriptor


def _lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows, where a folder that is in use cannot be removed anyway
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_if_ownerless(folder: Path) -> None:
    """Remove a folder of ours whose process is gone, however it ended."""
    with suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return
        # without this file the folder is just being made
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            if _lock(descriptor):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)


def _remove(folder: str, lock: int, process: int) -> None:
    # a forked child inherits this call, but the folder is its parent's
    if os.getpid() != process:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.close(lock)
