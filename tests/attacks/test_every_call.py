"""The attacker: a machine on which any call may fail, the n-th one, for all n.

Every statement that goes to SQLite, every call of SQLite to the file system, and every system
call of the ledger's own fails once, before it is done or after. Never is a charge acknowledged
that is not in the file, and never is the file one that `verify` refuses. Counts of what was tried
are printed: run with -s.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import apsw
import pytest
from faults.power import FLAGS, Connection

from discreet import Ledger, LedgerError, PureDP, Release, platforms
from discreet.ledger import anchors, sqlite, sqlite_file, sqlite_processes
from discreet.ledger.sqlite import connect

SMALL = PureDP(Fraction(1, 100))


class Count:
    """Fails the n-th of all calls that are counted."""

    def __init__(self, fails_at, when):
        self.fails_at, self.when, self.calls, self.failed = fails_at, when, 0, ""

    def call(self, name, work, error):
        self.calls += 1
        fails = self.calls == self.fails_at
        if fails and self.when == "before":
            self.failed = name
            raise error()
        self.failed = name if fails else self.failed
        done = work()  # or its own error
        if fails:
            raise error()
        return done


class Statements:
    """A connection whose n-th statement fails."""

    def __init__(self, connection, count):
        self.connection, self.count = connection, count

    def execute(self, statement, values=()):
        return self.count.call(
            statement, lambda: self.connection.execute(statement, values), self.error
        )

    def executemany(self, statement, values):
        return self.count.call(
            statement, lambda: self.connection.executemany(statement, values), self.error
        )

    def close(self):
        self.connection.close()

    @staticmethod
    def error():
        return sqlite3.OperationalError("disk I/O error")


class Disk(apsw.VFS):
    """The file system of SQLite, of which the n-th call fails."""

    def __init__(self, count):
        self.name, self.count = f"failing-{secrets.token_hex(4)}", count
        super().__init__(self.name, "")

    def xOpen(self, name, flags):
        return self.count.call("xOpen", lambda: DiskFile(self.count, name, flags), self.error)

    def xDelete(self, name, sync_folder):
        return self.count.call(
            "xDelete", lambda: super(Disk, self).xDelete(name, sync_folder), self.error
        )

    def xAccess(self, name, flags):
        return self.count.call(
            "xAccess", lambda: super(Disk, self).xAccess(name, flags), self.error
        )

    @staticmethod
    def error():
        return apsw.IOError("disk I/O error")


class DiskFile(apsw.VFSFile):
    def __init__(self, count, name, flags):
        self._count = count
        super().__init__("", name, flags)


def _failing(name):
    def call(self, *arguments):
        return self._count.call(
            name, lambda: getattr(super(DiskFile, self), name)(*arguments), Disk.error
        )

    return call


for _name in (
    "xRead",
    "xWrite",
    "xSync",
    "xTruncate",
    "xFileSize",
    "xLock",
    "xUnlock",
    "xCheckReservedLock",
):
    setattr(DiskFile, _name, _failing(_name))


class System:
    """The module os, of which the n-th call fails."""

    names = frozenset(
        [
            "close",
            "fdatasync",
            "fdopen",
            "fstat",
            "fsync",
            "ftruncate",
            "listdir",
            "lstat",
            "open",
            "read",
            "rename",
            "stat",
            "unlink",
            "write",
        ]
    )

    def __init__(self, count):
        self._count = count

    def __getattr__(self, name):
        true = getattr(os, name)
        if name not in self.names:
            return true
        # what was closed cannot be closed again by whoever gets the error
        return lambda *arguments, **options: self._count.call(
            name, lambda: true(*arguments, **options), lambda: OSError(5, "Input/output error")
        )


def answer():
    return Release(value="x", loss=SMALL, mechanism="test", candidates=2)


def use(url, store_of, anchor_file):
    """A short life of a ledger. What was acknowledged: numbers of charges, and of settled ones."""
    charged, settled = [], []
    ledger = None
    try:
        ledger = Ledger(url, timeout=0.5, anchor_file=anchor_file)
        if store_of is not None:
            ledger._store.close()
            ledger._store._connect = store_of
        ledger.open("d", budget=PureDP(1))
        for number in range(3):
            reservation = ledger.reserve(
                "d", SMALL, request={"i": number}, key=f"k{number}", replayable=True
            )
            charged.append(reservation.number)
            reservation.settle(answer())
            settled.append(reservation.number)
            if number == 1:
                ledger.close()
    except LedgerError:
        pass
    finally:
        if ledger is not None:
            with suppress(LedgerError):
                ledger.close()
    return charged, settled


def check(path, charged, settled, what, anchor_file=None):
    """What was acknowledged is in the file, by a process that saw nothing of the failure; and the
    ledger goes on.
    """
    with Ledger(f"sqlite:///{path}", anchor_file=anchor_file) as fresh:
        fresh.open("d", budget=PureDP(1))
        fresh.verify()
        kept = {one.number: one.settled for one in fresh.history("d")}
        assert set(charged) <= set(kept), f"{what}: a charge was acknowledged and is lost"
        assert all(kept[number] for number in settled), (
            f"{what}: an answer was acknowledged and is lost"
        )
        assert fresh.spent("d") == Fraction(len(kept), 100), what
        fresh.reserve("d", SMALL, request={"what": "goes on"})


def all_failures(folder, attempt, every=1):
    """Let the first call fail, then the second, and so on, until nothing fails any more. What
    failed, by name.
    """
    failed = {}
    for when in ("before", "after"):
        for fails_at in range(every, 10_000, every):
            path = folder / f"{when}-{fails_at}" / "budget.db"
            path.parent.mkdir()
            count = Count(fails_at, when)
            attempt(path, count)
            if not count.failed:
                break
            failed[count.failed] = failed.get(count.failed, 0) + 1
        assert 20 < count.calls < fails_at
    return failed


def in_words(failed):
    kinds = {}
    for name, times in failed.items():
        kinds[name.split(" ")[0]] = kinds.get(name.split(" ")[0], 0) + times
    return f"{sum(failed.values())} failures: " + ", ".join(
        f"{name} {times}" for name, times in sorted(kinds.items())
    )


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.kills)])
def test_every_statement_fails_once(tmp_path, every):
    def attempt(path, count):
        charged, settled = use(
            f"sqlite:///{path}", lambda path: Statements(connect(path), count), None
        )
        check(path, charged, settled, f"{count.failed} ({count.when})")

    failed = all_failures(tmp_path, attempt, every)
    print(f"\nstatements, {in_words(failed)}; no acknowledged charge lost, all ledgers verified")
    assert {"commit", "begin immediate"} <= set(failed)


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.kills)])
def test_every_call_of_sqlite_to_the_disk_fails_once(tmp_path, monkeypatch, every):
    def attempt(path, count):
        disk = Disk(count)

        def on_disk(path):
            return Connection(apsw.Connection(str(path), FLAGS, vfs=disk.name), {})

        with monkeypatch.context() as patched:
            patched.setattr(sqlite, "_KINDS", (apsw.Error, *sqlite._KINDS))
            charged, settled = use(f"sqlite:///{path}", on_disk, None)
        check(path, charged, settled, f"{count.failed} ({count.when})")

    failed = all_failures(tmp_path, attempt, every)
    print(
        f"\ncalls to the disk, {in_words(failed)}; no acknowledged charge lost, all ledgers "
        "verified"
    )
    assert {"xWrite", "xRead"} <= set(failed)


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.kills)])
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_every_system_call_of_the_ledger_fails_once(tmp_path, monkeypatch, every):
    def attempt(path, count):
        anchor_file = path.with_name("anchor")
        with monkeypatch.context() as patched:
            for module in (anchors, platforms, sqlite_file, sqlite_processes, sqlite):
                patched.setattr(module, "os", System(count))
            charged, settled = use(f"sqlite:///{path}", None, anchor_file)
        kept = Path(anchor_file).exists()
        check(
            path, charged, settled, f"{count.failed} ({count.when})", anchor_file if kept else None
        )

    failed = all_failures(tmp_path, attempt, every)
    print(f"\nsystem calls, {in_words(failed)}; no acknowledged charge lost, all ledgers verified")
    assert {"open", "stat", "fsync", "fdatasync"} <= set(failed)
