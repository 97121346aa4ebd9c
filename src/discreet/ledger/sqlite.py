"""A ledger in a file, by SQLite: it writes a log, and a commit counts once the disk has that.

SQLite does not wait for the disk while it has the lock. After a commit the lock is free, and then
we sync the log ourselves, once for all that have committed by then, before anything is
acknowledged. What a reader sees is synced too before it is given to anybody.

SQLite finds the log of a file by the file's name. So a file with two names has two logs, each of
which spends the whole budget; and a log that is removed takes its charges along. What can change
after the opening is looked at again in each transaction (`Place`).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.errors import LedgerDamagedError, LedgerError, ParameterError
from discreet.ledger.chain import START, UNREADABLE
from discreet.ledger.fork_safety import ReopenAfterFork, require_own
from discreet.ledger.group_commit import (
    FROM_INSIDE,
    LOOK,
    ONE_CALL,
    DoubtfulError,
    FailingClosed,
    Operations,
    Outcomes,
    carry_out_all,
    closing_after_failure,
)
from discreet.ledger.operations import Abandon, Operation, Settle
from discreet.ledger.records import Right
from discreet.ledger.sqlite_file import (
    LOGS,
    WRITING,
    create_file,
    prepare,
    require_our_file,
    require_our_folder,
    require_our_logs,
    two_names,
)
from discreet.ledger.sqlite_processes import PATIENCE, Holders, Queue, SharedSync, locks_exclude
from discreet.ledger.transaction import Memory, Question, Rows, Scope, Statement, Transaction
from discreet.platforms import CLOSED_ON_EXEC, NO_LINK, sync_file, sync_folder
from discreet.trusted_files import wrong

Connect = Callable[[Path], Any]
"""From a path to a connection with `execute`, `executemany` and `close`, and no transactions."""

# The last one is for SQLite's own words about a damaged schema, which may quote it.
_KINDS = (sqlite3.Error, OSError, UnicodeDecodeError)
# some systems sync only what is writable
_LOG_FLAGS = os.O_RDWR | NO_LINK | CLOSED_ON_EXEC
# another number after each commit of another connection, and after none of our own
_VERSION = "pragma data_version"
# copy the log into the file, as far as others let us; SQLite does nothing while another does it
_CHECKPOINT = "pragma wal_checkpoint(passive)"
_HAS_ENTRIES = "select 1 from base.sqlite_master where name = 'discreet_entries'"
_LAST = "select coalesce(max(number), 0) from base.discreet_entries"
# the names as the row itself has them
_BALANCE = (
    "select own.dataset, own.analyst, own.slot, own.terms, own.epsilon_spent, own.squares_spent, "
    "own.delta_spent, own.closed from discreet_budgets as named cross join discreet_budgets as own "
    "on own.rowid = named.rowid where named.dataset = ? and named.analyst = ? and named.slot = ?"
)
# seconds until a file that cannot be looked at is tried again
_MOMENT = 0.01
_PRAGMAS = (
    # the log is synced before it is copied into the file, and by us after each commit
    "synchronous = normal",
    "fullfsync = 1",
    "checkpoint_fullfsync = 1",
    "cell_size_check = 1",
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that begins and ends no transactions by itself."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    # bytes that are no text, from a broken disk: the check of hashes says which entry it is
    connection.text_factory = lambda text: text.decode(errors="replace")
    return connection


Identity = tuple[int, ...]
Beside = tuple[Identity, Identity]
"""The log and its index."""


class Place:
    """Where a ledger's file is. Once another file was seen there, it is refused for good.

    stamp: when the file was changed, and its size, at the last look.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        # as text: pathlib takes longer than the system calls
        self._text = os.fspath(path)
        self._log, self._index = (self._text + ending for ending in LOGS)
        self._file: Identity = ()
        self._refused = ""
        self.stamp = 0, 0, 0

    def identity(self) -> Identity:
        """The file that was there first."""
        self._file = self._file or os.stat(self.path)[1:3]
        return self._file

    def require_same(self, beside: Beside | None = None) -> None:
        """Refuse another file, or another log, than at the beginning: charges would be lost.

        beside: the log that the connection writes to.
        """
        if self._refused:
            raise self.refuse(self._refused)
        try:
            file = os.stat(self._text)
        except FileNotFoundError:
            raise self.refuse("no such file") from None
        # the number of the file, and that of its disk
        if file[1:3] != self.identity():
            raise self.refuse("another file in its place")
        if file.st_nlink != 1:
            raise two_names(self.name)
        self.stamp = file.st_ctime_ns, file.st_mtime_ns, file.st_size
        if beside is not None and beside != self._logs():
            raise self.refuse("another log beside it")

    def beside(self) -> Beside:
        """The log of an open connection."""
        require_our_logs(self.path, self.name)
        logs = self._logs()
        if logs is None:
            raise self.refuse("no log beside it")
        return logs

    def _logs(self) -> Beside | None:
        try:
            return os.lstat(self._log)[1:3], os.lstat(self._index)[1:3]
        except FileNotFoundError:
            return None

    def refuse(self, got: str) -> LedgerError:
        """The error for a file that is not the one that it was: from now on it is refused."""
        self._refused = got
        hint = " Find out who did that, and open a new Ledger."
        return wrong(self.name, "the same file as at the start", got, hint)


class SQLiteStore:
    """One file, and the folder beside it."""

    def __init__(
        self,
        path: Path,
        timeout: float,
        connect: Connect = connect,
        sync: Callable[[int], None] = sync_file,
        *,
        name: str = "",
        create: bool = True,
    ) -> None:
        self._name = name or str(path)
        self._failing_closed = FailingClosed(self._name, _KINDS)
        # The process may change its folder, and all who use the file must meet in one place.
        given, path = path, path.resolve()
        self._path, self._timeout, self._connect, self._sync_file = path, timeout, connect, sync
        self._folder = path.with_name(path.name + "-mailbox")
        self._place = Place(path, f"ledger {self._name}")
        self._seen = START
        # how far the file alone, without its log, has come, and its stamp then
        self._based, self._stamp = 0, (0, 0, 0)
        self._connection = ReopenAfterFork(
            self._make_connection, _Connection.close, what=self._place.identity
        )
        self._holders = Holders(self._folder)
        if not create and not path.exists():
            raise LedgerError(f"The ledger {self._name} must exist. Got no such file.")
        with self._failing_closed, closing_after_failure(self.close):
            create_file(path)
            require_our_file(given, self._place.name)
            self._place.require_same()
            self._folder.mkdir(mode=0o700, exist_ok=True)
            require_our_folder(self._folder, path)
            if not locks_exclude(self._folder):
                # two processes would each spend the whole budget
                got = "one where two have it at once"
                raise wrong(self._place.name, "on a disk where a lock excludes others", got)
            with self._connection.use() as connection:
                prepare(connection, self._name)
                self._require_base(connection)

    def carry_out(self, operations: Operations, again: bool = False) -> Outcomes:
        """Carry out operations, durably: first as if every key were new; where one is not, or an
        operation writes nothing, with a look at all of them.
        """
        with self._failing_closed:
            try:
                return self._carry_out(operations, presuming=not again, again=again)
            except DoubtfulError:
                return self._carry_out(operations)

    def _carry_out(
        self, operations: Operations, presuming: bool = False, again: bool = False
    ) -> Outcomes:
        needs_sync = not all(map(_is_durable_already, operations))
        with self._transaction(WRITING, needs_sync=needs_sync) as transaction:
            try:
                return carry_out_all(transaction, operations, presuming=presuming, again=again)
            except (*UNREADABLE, sqlite3.IntegrityError):
                if presuming:
                    raise DoubtfulError from None
                raise

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """The tables as of the latest commit, which the disk has when the block has ended."""
        with self._failing_closed, self._transaction("begin") as transaction:
            yield transaction

    def holder(self) -> str:
        """The name of this process, as the entry of a charge has it."""
        with self._failing_closed:
            return self._holders.own_name()

    def is_alive(self, holder: str) -> bool:
        """True if the process of this name still uses the ledger."""
        with self._failing_closed:
            return self._holders.is_alive(holder)

    def grant(self, writers: Sequence[str], readers: Sequence[str]) -> tuple[Right, ...]:
        """Nothing: a file is for its owner alone."""
        for name, roles in (("writers", writers), ("readers", readers)):
            if roles:
                rule = "left out for a ledger in a file"
                hint = "Only its owner can use a file. Use a ledger on a server instead."
                raise ParameterError(name, rule, roles, hint, owner="Ledger.grant")
        with self._failing_closed:
            return (Right(self._path.owner(), "owner"),)

    def close(self) -> None:
        """Close the connection."""
        with self._failing_closed:
            try:
                self._connection.drop()
            finally:
                self._holders.close()

    @contextmanager
    def _transaction(self, begin: str, *, needs_sync: bool = True) -> Iterator[Transaction]:
        """One transaction, and then a sync of all that it has seen or written.

        needs_sync: whether somebody will rely on something that a power cut must not undo.
        """
        with self._connection.use() as connection:
            # A signal handler, or a finalizer, may ask in the middle of its own thread's
            # transaction: its failure to begin another one would roll ours back.
            if connection.is_busy:
                raise wrong(self._place.name, f"used by {ONE_CALL}", FROM_INSIDE)
            writes = begin == WRITING
            try:
                connection.is_busy = True
                self._require_base(connection)
                try:
                    if writes:
                        connection.queue.enter(min(PATIENCE, self._timeout / 2))
                    # in here, because an interrupt while it waits comes just after it
                    connection.execute(begin)
                    connection.look()
                    memory = connection.recall() if writes else None
                    transaction = _FileTransaction(connection, memory)
                    if writes:
                        self._require_seen(transaction)
                    yield transaction
                    # before the commit: nothing comes for sure after it
                    connection.is_durable &= not transaction.is_changed
                    connection.execute("commit")
                    if writes:
                        self._seen, connection.memory = transaction.head(), transaction.memory()
                except BaseException:
                    # the error that led here says more
                    with suppress(Exception):
                        connection.execute("rollback")
                    raise
                finally:
                    if writes:
                        connection.queue.leave()
                if needs_sync:
                    self._sync(connection)
                if writes:
                    # a log that was removed before the sync takes the commit along
                    self._require_base(connection)
            finally:
                connection.is_busy = False

    def _sync(self, connection: _Connection) -> None:
        """Have everything on the disk that this connection has seen or written."""
        if connection.is_durable or connection.syncs is None:
            return
        connection.syncs.sync(lambda: self._sync_log(connection.log))
        connection.is_durable = True

    def _sync_log(self, log: int) -> None:
        try:
            self._sync_file(log)
        except TimeoutError:
            # of a signal handler
            raise
        except OSError:
            # the system reports it once, and then forgets what it could not write
            self._place.refuse("a log that could not be synced")
            raise

    def _require_base(self, connection: _Connection) -> None:
        """Refuse another file, another log, and an older copy that was written into the file:
        SQLite only ever brings the file forward, from its log. What was read before would hide such
        a copy, and the log would be mixed with it.
        """
        self._place.require_same(connection.beside)
        if (stamp := self._place.stamp) == self._stamp:
            return
        number = self._last_in_file(connection)
        if number < self._based:
            raise self._place.refuse("an older copy in it")
        self._based = number
        self._place.require_same(connection.beside)
        # whoever brings it forward meanwhile is looked at the next time
        if self._place.stamp == stamp:
            self._stamp = stamp

    def _last_in_file(self, connection: _Connection) -> int:
        """The number of the last entry in the file, once that can be read: a checkpoint of another
        process takes a moment, and we finish that of one that died. A file that cannot be looked
        at is refused.
        """
        stamp = self._place.stamp
        same_since = began = time.monotonic()
        while (number := connection.last_in(self._path)) is None:
            now = time.monotonic()
            if now - began > self._timeout:
                got = "one whose last entry cannot be read"
                raise wrong(self._place.name, "a file that can be looked at", got)
            self._place.require_same(connection.beside)
            if stamp != self._place.stamp:
                stamp, same_since = self._place.stamp, now
            # Somebody may be writing a copy into it, which must not be mixed with the log.
            elif now - same_since > PATIENCE and stamp[-1] >= self._stamp[-1]:
                connection.execute(_CHECKPOINT).fetchall()
            time.sleep(_MOMENT)
        return number

    def _require_seen(self, transaction: Transaction) -> None:
        """Refuse a ledger without what we have written: an older copy was put back."""
        if transaction.head() == self._seen:
            return
        entry = transaction.entry(self._seen.number) if self._seen.number else None
        if self._seen.number and (entry is None or entry[1] != self._seen.hash):
            raise LedgerDamagedError(
                f"The ledger {self._name} must contain entry {self._seen.number} as it was "
                f"written. It was cut, or replaced by an older copy."
            )

    def _make_connection(self) -> _Connection:
        self._place.require_same()
        require_our_logs(self._path, self._place.name)
        connection = _Connection(self._connect(self._path), self._folder)
        try:
            # other programs may lock the file for a moment: a backup, a checkpoint
            connection.execute(f"pragma busy_timeout = {round(self._timeout * 1000)}").fetchall()
            self._write_ahead(connection)
            for pragma in _PRAGMAS:
                connection.execute(f"pragma {pragma}").fetchall()
            # the first look into the file opens the log
            connection.execute("select count(*) from sqlite_master").fetchall()
            connection.beside = self._place.beside()
            connection.log = os.open(f"{self._path}-wal", _LOG_FLAGS)
            if os.fstat(connection.log)[1:3] != connection.beside[0]:
                raise self._place.refuse("another log beside it")
            connection.syncs = SharedSync(self._folder, connection.beside[0])
            sync_folder(self._path.parent)
            # this brings into the file what an earlier process could not sync
            connection.execute(_CHECKPOINT).fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    def _write_ahead(self, connection: _Connection) -> None:
        """Have the file written through a log. SQLite ignores busy_timeout here: of several
        processes that open a new file at once, all but one would fail.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute("pragma journal_mode = wal").fetchall()
                return
            except sqlite3.OperationalError as error:
                # an error of another driver has no code
                code = getattr(error, "sqlite_errorcode", None)
                if code != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(LOOK)


def _is_durable_already(operation: Operation) -> bool:
    """True if its entry only notes that a charge was answered, with no answer to keep, or never
    will be. The charge itself was synced.
    """
    return isinstance(operation, Abandon) or (
        isinstance(operation, Settle) and operation.answer is None
    )


class _Connection:
    """A connection of this process. A child that was forked in a transaction must not end it.

    beside, log: the log that it writes to.
    queue, syncs: what it shares with other processes.
    memory: of the last transaction that wrote.
    is_durable: whether the disk has all that was seen or written by it.
    is_busy: whether it is in a transaction.
    """

    def __init__(self, connection: Any, folder: Path) -> None:
        self._connection, self._process = connection, os.getpid()
        self.is_durable = self.is_busy = False
        self.beside: Beside = (0, 0), (0, 0)
        self.log = -1
        self.queue = Queue(folder)
        self.syncs: SharedSync | None = None
        self.memory: Memory | None = None
        # the number of the file's version when it was seen last, and when the memory was made
        self._version: Rows = []
        self._remembered: Rows = []

    def recall(self) -> Memory | None:
        """The memory, if no other connection has written since, as `look` has seen. It is for one
        transaction: one that fails leaves none.
        """
        memory, self.memory = self.memory, None
        before, self._remembered = self._remembered, self._version
        return memory if before == self._version else None

    def look(self) -> None:
        """Look whether others have written; in a transaction."""
        before, self._version = self._version, self.execute(_VERSION).fetchall()
        if before != self._version:
            self.is_durable = False

    def last_in(self, path: Path) -> int | None:
        """The number of the last entry in the file, without what only the log has; None if it
        cannot be read, as in the middle of a checkpoint. Not in a transaction.
        """
        require_own(self._process)
        # By SQLite: opening and closing the file in any other way would end its locks.
        try:
            with suppress(Exception):
                # it was interrupted before
                self.execute("detach base")
            self.execute("attach ? as base", (f"{path.as_uri()}?mode=ro&immutable=1",))
            if not self.execute(_HAS_ENTRIES).fetchall():
                return 0
            ((number,),) = self.execute(_LAST).fetchall()
            return int(number)
        except Exception:
            return None
        finally:
            with suppress(Exception):
                self.execute("detach base")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        require_own(self._process)
        return self._connection.execute(statement, values)

    def ask(self, questions: Sequence[Statement]) -> list[Rows]:
        return [self.execute(statement, values).fetchall() for statement, values in questions]

    def write(self, statement: str, values: Rows) -> None:
        require_own(self._process)
        self._connection.executemany(statement, values)

    def close(self) -> None:
        require_own(self._process)
        log, self.log = self.log, -1
        if log >= 0:
            os.close(log)
        self.queue.close()
        if self.syncs is not None:
            self.syncs.close()
        self._connection.close()


class _FileTransaction(Transaction):
    """The tables in a file."""

    def _about_balance(self, scope: Scope) -> Question:
        """A budget as its row names it: one bit in an index would lead to another, unspent."""
        (_, values), keep = super()._about_balance(scope)

        def keep_own(rows: Rows) -> None:
            if rows and Scope(*rows[0][:3]) != scope:
                told = f"The index must lead to the budget of {scope}. Got another one."
                raise LedgerDamagedError(told)
            keep(rows)

        return (_BALANCE, values), keep_own

    def check(self) -> None:
        """Let SQLite compare its indexes with its tables, and look at every page."""
        ((verdict, *_), *_) = self._tables.ask([("pragma integrity_check(1)", ())])[0]
        if verdict != "ok":
            raise LedgerDamagedError(
                "The file of the ledger is damaged: its pages are not as SQLite wrote them. "
                "Restore a backup."
            )
