"""Connections to DuckDB: nothing comes over the network, and what is spilled to disk is ours alone.

Counting persons needs memory for each pair of a person and an item. Beyond the memory
limit DuckDB writes such pairs to files, by default into `./.tmp` where everybody may
read them. Here they go to a folder that only this user can enter, and that is removed
at the end of the process.

To start DuckDB takes ten times as long as a small question. So one instance serves all
tables of a process that need nothing of their own, each by a connection of its own:
their questions run side by side, on the same threads and within one limit of memory.

An instance keeps some memory of each question for good: DuckDB 2.0 about 0.5 KB of each
grouping, 2.3 KB of a question about a mode. So it is replaced after some connections of
which at least half are gone, and ends, with what it kept, when the last one is closed.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from discreet.errors import MissingExtraError
from discreet.platforms import CLOSED_ON_EXEC, is_owned, try_lock
from discreet.versions import require

if TYPE_CHECKING:
    import duckdb

_PREFIX, _LOCK = "discreet-spill-", "owner"
_MOST_CONNECTIONS = 16
_INSTANCE: list[duckdb.DuckDBPyConnection] = []
_INSTANCE_LOCK = threading.Lock()
# Python keeps what it calls at forks, and so this module, until DuckDB has looked for leaks.
atexit.register(_INSTANCE.clear)
# the connections of the instance that are still used, and how many there were
_USED: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
_MADE = [0]
# those of all instances
_OPEN: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
STOPPED: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
"""Connections that a fork has closed: their tables have to be opened again."""


def connect(
    purpose: str, database: str = ":memory:", *, read_only: bool = False, **settings: Any
) -> duckdb.DuckDBPyConnection:
    """Open a connection with guards.

    purpose: what needs DuckDB, for the message where it is not installed.
    settings: further settings of DuckDB, such as `enable_external_access`.
    """
    if find_spec("duckdb") is None:
        raise MissingExtraError(purpose, "tables")
    require("duckdb")
    if database != ":memory:" or read_only or settings:
        return _quiet(_start(database, read_only=read_only, **settings))
    with _INSTANCE_LOCK:
        # Tables that are used at the same time stay together, within one limit of memory.
        worn = _MADE[0] >= max(_MOST_CONNECTIONS, 2 * len(_USED))
        if worn or not (_INSTANCE and _is_alive(_INSTANCE[0])):
            # let go of, not closed: that would close the connections of its tables, too
            _INSTANCE[:] = [_start(":memory:")]
            _USED.clear()
            _MADE[0] = 0
        made = _INSTANCE[0].cursor()
        _USED.add(made)
        _OPEN.add(made)
        _MADE[0] += 1
        return _quiet(made)


def _is_alive(instance: duckdb.DuckDBPyConnection) -> bool:
    """True if the instance still answers. After an internal error DuckDB refuses whatever it
    is asked, for all tables of the process, and what it says then tells of the rows.
    """
    try:
        instance.cursor().execute("select 1")
    except Exception:
        return False
    return True


def _start(database: str, *, read_only: bool = False, **settings: Any) -> duckdb.DuckDBPyConnection:
    """An instance of DuckDB with its guards."""
    import duckdb

    guards: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # a name in a query is never a variable of the caller's program
        "python_enable_replacements": "false",
        "temp_directory": spill_folder(os.getpid()),
    }
    return duckdb.connect(database, read_only=read_only, config=guards | settings)


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A connection that shows nothing by itself."""
    import duckdb

    # A bar of its own would be written to the standard output, which is for the answer.
    # In a notebook without ipywidgets DuckDB can draw none, and refuses to switch it off.
    with suppress(duckdb.InvalidInputException):
        connection.execute("set enable_progress_bar = false")
    return connection


def _stop_before_fork() -> None:
    """Close all connections and let go of the instance: without its threads a child could
    neither use nor end it. Nothing of DuckDB is left for the child.
    """
    _INSTANCE_LOCK.acquire()
    for connection in list(_OPEN):
        STOPPED.add(connection)
        connection.close()
    _OPEN.clear()
    while _INSTANCE:
        _INSTANCE.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_stop_before_fork,
        after_in_parent=_INSTANCE_LOCK.release,
        after_in_child=_INSTANCE_LOCK.release,
    )


@cache
def spill_folder(process: int) -> str:
    """Return the folder of this process for what does not fit into memory.

    Nobody else can enter it (mode 0700). It is removed at exit; what a killed process
    has left behind is removed by the next one.
    """
    parent = Path(tempfile.gettempdir())
    for left in parent.glob(f"{_PREFIX}*"):
        _remove_if_ownerless(left)
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    lock = _locked(Path(folder))
    atexit.register(_remove, folder, lock, process)
    return folder


def _locked(folder: Path) -> int:
    """Lock the folder for as long as this process lives.

    A process that gets the lock of a folder knows that the folder's own process is
    gone.
    """
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | CLOSED_ON_EXEC, 0o600)
    if not try_lock(descriptor):
        os.close(descriptor)
        raise BlockingIOError
    return descriptor


def _remove_if_ownerless(folder: Path) -> None:
    """Remove a folder of ours whose process is gone, however it ended."""
    with suppress(OSError):
        if folder.is_symlink() or not is_owned(folder.stat()):
            return
        # without this file the folder is just being made
        descriptor = os.open(folder / _LOCK, os.O_RDWR | CLOSED_ON_EXEC)
        try:
            is_left = try_lock(descriptor)
        finally:
            # Windows removes no file that is open
            os.close(descriptor)
        if is_left:
            shutil.rmtree(folder, ignore_errors=True)


@cache
def empty_caches_at_exit() -> None:
    """Empty Narwhals' caches at the end of the process. A second call does nothing.

    They hold types of DuckDB for good. Where NumPy or PyArrow is loaded, too, the interpreter
    frees them after DuckDB has looked for what is left, and DuckDB then writes pages about leaks
    to the standard error: without discreet, `narwhals.from_native(duckdb.sql("select 1"))` does.
    """
    atexit.register(_empty_caches)


def _empty_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "narwhals":
            continue
        for value in list(vars(module).values()):
            empty = getattr(type(value), "cache_clear", None)
            if empty is not None:
                empty(value)


def _remove(folder: str, lock: int, process: int) -> None:
    # a forked child inherits this call, but the folder is its parent's
    if os.getpid() != process:
        return
    with suppress(OSError):
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)
