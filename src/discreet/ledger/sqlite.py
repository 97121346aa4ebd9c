"""A ledger in a file, by SQLite: write-ahead log, and every commit waits until the disk has it."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from discreet.errors import LedgerDamagedError, LedgerError, ParameterError
from discreet.ledger.chain import NONSENSE, START
from discreet.ledger.fork_safety import PerProcess
from discreet.ledger.group_commit import (
    LONGEST_LOOK,
    LOOK,
    Operations,
    Outcomes,
    carry_out_all,
    closing_after_failure,
    failing_closed,
)
from discreet.ledger.operations import read_outcome
from discreet.ledger.records import Right
from discreet.ledger.sqlite_file import Beside, Place
from discreet.ledger.sqlite_file import create as make_file
from discreet.ledger.sqlite_mailbox import Holders, Mailbox
from discreet.ledger.tables import GONE, SCHEMA, THIRD
from discreet.ledger.transaction import Found, Question, Rows
from discreet.ledger.upgrade import upgrade

Connect = Callable[[Path], Any]
"""From a path to a connection with `execute`, `executemany` and `close`, without
transactions of its own.
"""

_WRITING = "begin immediate"
_LOG = "pragma journal_mode = wal"
_PRAGMAS = (
    "synchronous = full",
    "fullfsync = 1",
    "checkpoint_fullfsync = 1",
    "cell_size_check = 1",
)
# Other tables in the same file hinder nobody. Triggers and views would run with every charge.
_DEFINITIONS = (
    "select sql from sqlite_master where sql is not null and (tbl_name like 'discreet%' or type in "
    "('trigger', 'view'))"
)


_CREATE = re.compile("^CREATE (TABLE|INDEX)")


def _in_lower_case(found: re.Match[str]) -> str:
    return found[0].lower()


def _definitions() -> set[str]:
    """The tables and indexes of this version, as SQLite lists them."""
    gone = tuple(statement.replace("drop", "create") for statement in GONE)
    made = (step for step in chain(*SCHEMA) if step.startswith("create"))
    return {step for step in made if not step.startswith(gone)}


def connect(path: Path) -> sqlite3.Connection:
    """A connection that begins and ends transactions only when told to."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    # text that is none, on a broken disk, is for those who check the hashes: they can say
    # which entry it is
    connection.text_factory = lambda text: text.decode(errors="replace")
    return connection


class SQLiteStore:
    """One file, and the folder beside it."""

    def __init__(
        self, path: Path, timeout: float, connect: Connect = connect, *, create: bool = True
    ) -> None:
        self._name = f"sqlite:///{path}"
        # The process may change its folder, and all who use the file must meet in one place.
        path = path.resolve()
        self._path, self._timeout, self._connect = path, timeout, connect
        self._folder = path.with_name(path.name + "-mailbox")
        self._place = Place(path, self._name)
        self._seen = START
        self._connection = PerProcess(
            self._make_connection, _Connection.close, what=self._place.identity
        )
        self._mailbox = PerProcess(lambda: Mailbox(self._folder), Mailbox.close, Mailbox.forget)
        self._holders = Holders(self._folder)
        if not create and not path.exists():
            raise LedgerError(f"The ledger {self._name} must exist. Got no such file.")
        with self._failing_closed(), closing_after_failure(self):
            make_file(path)
            self._place.require_ours()
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._require_ours()
            self._prepare()

    def carry_out(self, operations: Operations) -> Outcomes:
        """Carry out operations, or have them carried out."""
        with self._failing_closed(), self._mailbox.hold() as mailbox:
            outcomes = self._try(mailbox, operations)
            return self._wait(mailbox, operations) if outcomes is None else outcomes

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """The tables as of the latest commit."""
        with self._failing_closed(), self._transaction("begin") as rows:
            yield rows

    def holder(self) -> str:
        """The name of this process, as the entry of a charge has it."""
        with self._failing_closed():
            return self._holders.mine()

    def is_alive(self, holder: str) -> bool:
        """Whether the process of this name still uses the ledger."""
        with self._failing_closed():
            return self._holders.is_alive(holder)

    def grant(self, writers: Sequence[str], readers: Sequence[str]) -> tuple[Right, ...]:
        """Nothing: a file is for its owner alone."""
        for name, roles in (("writers", writers), ("readers", readers)):
            if roles:
                rule = "left out for a ledger in a file"
                hint = "Only its owner uses it: see chmod, or use a server."
                raise ParameterError("Ledger.grant", name, rule, roles, hint)
        with self._failing_closed():
            return (Right(self._path.owner(), "owner"),)

    def close(self) -> None:
        """Close the connection."""
        with self._failing_closed():
            try:
                self._connection.drop()
            finally:
                self._mailbox.drop()
                self._holders.close()

    def _wait(self, mailbox: Mailbox, operations: Operations) -> Outcomes:
        """Wait until another process has carried the operations out, or it is our turn."""
        deadline, pause = time.monotonic() + self._timeout, LOOK
        mailbox.post([operation.to_dict() for operation in operations])
        try:
            while (left := deadline - time.monotonic()) > 0:
                outcomes = self._try(mailbox, operations)
                if outcomes is None:
                    outcomes = _read_outcomes(mailbox.wait(min(pause, left)))
                    pause = min(2 * pause, LONGEST_LOOK)
                if outcomes is not None:
                    return outcomes
        finally:
            mailbox.withdraw()
        raise LedgerError(
            f"The ledger {self._name} must be free within {self._timeout} seconds. Got no turn."
        )

    def _try(self, mailbox: Mailbox, operations: Operations) -> Outcomes | None:
        """If it is our turn, use it, and let one of those know who have come meanwhile."""
        with mailbox.turn() as ours:
            if not ours:
                return None
            # somebody may have told us before we had the turn
            outcomes = _read_outcomes(mailbox.told()) or self._work(mailbox, operations)
        with suppress(OSError):
            mailbox.wake()
        return outcomes

    def _work(self, mailbox: Mailbox, mine: Operations) -> Outcomes:
        """It is our turn: carry out what waits, commit, and tell."""
        posted = mailbox.posted()
        try:
            with self._transaction(_WRITING) as rows:
                outcomes, others = carry_out_all(rows, mine, posted)
        except (
            *NONSENSE,
            sqlite3.IntegrityError,
            # somebody else's operation makes no sense to us: ours only
        ):
            with self._transaction(_WRITING) as rows:
                outcomes, others = carry_out_all(rows, mine, {})
        # the disk may be full; who is not told will look into the ledger
        with suppress(OSError):
            for name, other in others.items():
                mailbox.tell(name, [outcome.to_dict() for outcome in other])
            mailbox.clean(self._holders.is_used)
        return outcomes

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Rows]:
        with self._connection.hold() as connection:
            try:
                # In here, because an interrupt while it waits comes just after it.
                connection.execute(begin)
                self._place.require_same(connection.beside)
                rows = _FileRows(_Tables(connection))
                if begin == _WRITING:
                    self._require_seen(rows)
                yield rows
                connection.execute("commit")
                if begin == _WRITING:
                    # A log that was removed before the commit takes it along: nothing is
                    # acknowledged.
                    self._place.require_same(connection.beside)
                    self._seen = rows.head()
            except BaseException:
                # the error that led here says more
                with suppress(Exception):
                    connection.execute("rollback")
                raise

    def _require_seen(self, rows: Rows) -> None:
        """Refuse a ledger that does not contain what we have written: an older copy was
        put back.
        """
        if rows.head() == self._seen:
            return
        found = rows.entry(self._seen.number) if self._seen.number else None
        if self._seen.number and (found is None or found[1] != self._seen.hash):
            raise LedgerDamagedError(
                f"The ledger {self._name} must contain entry {self._seen.number} as it was "
                "written. It was cut or put back."
            )

    def _make_connection(self) -> _Connection:
        self._place.require_same()
        self._place.require_our_logs()
        connection = _Connection(self._connect(self._path))
        try:
            # other programs may hold the file for a moment: a backup, a checkpoint
            connection.execute(f"pragma busy_timeout = {round(self._timeout * 1000)}").fetchall()
            self._write_ahead(connection)
            for pragma in _PRAGMAS:
                connection.execute(f"pragma {pragma}").fetchall()
            # the first look into the file opens the log
            connection.execute("select count(*) from sqlite_master").fetchall()
            connection.beside = self._place.beside()
        except BaseException:
            connection.close()
            raise
        return connection

    def _write_ahead(self, connection: _Connection) -> None:
        """Have the file written through a log.

        SQLite heeds no busy_timeout here: of several processes that open a new file at the
        same moment, all but one would be told that it is locked.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute(_LOG).fetchall()
                return
            except sqlite3.OperationalError as error:
                # an error that Python made up has no code
                busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
            time.sleep(LOOK)

    def _require_ours(self) -> None:
        """Refuse a folder that was made by a user who cannot write the file:
        operations are taken from there.
        """
        file, folder = os.stat(self._path), os.lstat(self._folder)
        if not stat.S_ISDIR(folder.st_mode) or folder.st_uid not in (file.st_uid, os.geteuid(), 0):
            raise LedgerError(
                f"The folder {self._folder} must belong to the owner of the ledger. Got somebody "
                "else's."
            )
        if folder.st_mode & 0o022 & ~file.st_mode:
            raise LedgerError(
                f"The folder {self._folder} must be writable only for those who may write the "
                "ledger. Got more."
            )

    def _prepare(self) -> None:
        """Bring the schema to this version, and refuse a file that has another one."""
        with self._connection.hold() as connection:
            execute = connection.execute
            (version,) = execute("pragma user_version").fetchone()
            if version > len(SCHEMA):
                raise LedgerError(
                    f"The ledger {self._name} was written by a newer discreet. Got schema "
                    f"{version}."
                )
            if version != len(SCHEMA):
                self._upgrade(connection)
            found = {_CREATE.sub(_in_lower_case, sql) for (sql,) in execute(_DEFINITIONS)}
            if found != _definitions():
                raise LedgerError(f"The ledger {self._name} must have its own tables. Got others.")

    def _upgrade(self, connection: _Connection) -> None:
        execute = connection.execute
        execute(_WRITING)
        try:
            # another process may have been faster
            (version,) = execute("pragma user_version").fetchone()
            for step in SCHEMA[version:]:
                for statement in step:
                    execute(statement)
                if step is THIRD:
                    upgrade(_Tables(connection), self._name)
            execute(f"pragma user_version = {len(SCHEMA)}")
            execute("commit")
        except BaseException:
            with suppress(Exception):
                execute("rollback")
            raise

    def _failing_closed(self) -> Any:
        # The last one is for SQLite's own words about a damaged schema, which may quote it.
        return failing_closed(self._name, (sqlite3.Error, OSError, UnicodeDecodeError))


def _read_outcomes(told: list[Any] | None) -> Outcomes | None:
    return None if told is None else [read_outcome(one) for one in told]


class _Connection:
    """A connection of this process. A child that was forked in a transaction must not end it.

    beside: the log that it writes to.
    """

    def __init__(self, connection: Any) -> None:
        self._connection, self._process = connection, os.getpid()
        self.beside: Beside | None = None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        return self._mine().execute(statement, values)

    def executemany(self, statement: str, values: Found) -> Any:
        return self._mine().executemany(statement, values)

    def close(self) -> None:
        self._mine().close()

    def _mine(self) -> Any:
        if os.getpid() != self._process:
            raise LedgerError(
                "A connection must stay in its process. Got one that was forked while it was in "
                "use."
            )
        return self._connection


class _FileRows(Rows):
    """The tables in a file."""

    __slots__ = ()

    def check(self) -> None:
        """Let SQLite compare its indexes with its tables, and look at every page."""
        ((found, *_), *_) = self._tables.ask([("pragma integrity_check(1)", ())])[0]
        if found != "ok":
            raise LedgerDamagedError(
                "The pages of the ledger's file must be as SQLite wrote them. Got others."
            )


class _Tables:
    """The tables, by a connection that is in a transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def ask(self, questions: Sequence[Question]) -> list[Found]:
        return [
            self._connection.execute(statement, values).fetchall()
            for statement, values in questions
        ]

    def write(self, statement: str, values: Found) -> None:
        self._connection.executemany(statement, values)
