"""A ledger on a PostgreSQL server, for teams.

A round trip takes longer than anything else, so statements travel together: one trip for the turn
and all that has to be known, and one for everything that is written and the commit. A process that
nobody else writes beside needs one trip for all of it.

The process that locks the one row of `discreet_turn` has the turn until its transaction ends, and
the server serves those who wait in their order. Only roles that may write the ledger may lock it.
The turn only saves time: the number of an entry is a primary key, so of two that write at the same
time one fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from discreet.errors import LedgerError, MissingExtraError
from discreet.ledger.group_commit import (
    DoubtfulError,
    FailingClosed,
    Operations,
    Outcomes,
    carry_out_all,
    closing_after_failure,
)
from discreet.ledger.operations import OfBudget, OfRequest, Reserve
from discreet.ledger.postgresql_connection import (
    BEGIN,
    COMMIT,
    SNAPSHOT,
    Reconnecting,
    ServerConnection,
)
from discreet.ledger.postgresql_schema import find, grant, prepare
from discreet.ledger.records import Right
from discreet.ledger.transaction import Rows, Scope, Statement, Transaction
from discreet.versions import require

_ALIVE = "select 1 from pg_catalog.pg_stat_activity where pid::text = ?"
# It comes first, by itself: what a statement sees is fixed when it begins, and must be younger
# than the turn.
_TURN: Statement = "select one from discreet_turn for update", ()
_TURN_NOW: Statement = "select one from discreet_turn for update nowait", ()
# After a crash of the server the table is empty.
_SEAT: Statement = "insert into discreet_turn values (1) on conflict do nothing", ()


class PostgreSQLStore:
    """The tables on the server."""

    def __init__(self, url: str, name: str, timeout: float, *, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("A ledger on PostgreSQL", "ledger") from None
        require("psycopg")
        self._url, self._name, self._timeout = url, name, timeout
        self._failing_closed = FailingClosed(name, (psycopg.Error, OSError))
        self._connection = Reconnecting(self._make_connection)
        with (
            self._failing_closed,
            closing_after_failure(self.close),
            self._connection.use() as connection,
        ):
            prepare(connection, create)

    def carry_out(self, operations: Operations, again: bool = False) -> Outcomes:
        """Carry out operations, durably.

        again: some of them may have been carried out before.
        """
        with self._failing_closed, self._connection.use() as connection:
            if connection.alone and not again:
                outcomes = _carry_out_ahead(connection, operations)
                if outcomes is not None:
                    return outcomes
            return self._carry_out_in_turn(connection, operations, again)

    def _carry_out_in_turn(
        self, connection: ServerConnection, operations: Operations, again: bool
    ) -> Outcomes:
        """Wait for the turn, look up what has to be known, and write."""
        import psycopg

        tables = _ServerTables(connection, [BEGIN, _TURN])
        transaction = Transaction(tables)
        try:
            _look_up(transaction, operations)
            outcomes = carry_out_all(transaction, operations, again=again)
        except psycopg.errors.LockNotAvailable:
            rule = f"must be free within {self._timeout} seconds"
            raise LedgerError(f"The ledger {self._name} {rule}. Got no turn.") from None
        before, connection.memory = connection.memory, None
        tables.commit()
        connection.alone = before is not None and before.head.number == transaction.began_at
        if before is not None and connection.alone:
            transaction.remember(before)
        connection.memory = transaction.memory()
        return outcomes

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """The tables as of the latest commit."""
        with self._failing_closed, self._connection.use() as connection:
            # nobody waits for a reader, so it may take its time
            connection.ask([SNAPSHOT, ("set local idle_in_transaction_session_timeout = 0", ())])
            yield Transaction(_ServerTables(connection))
            connection.ask([COMMIT])

    def holder(self) -> str:
        """The name of this process, as the entry of a charge has it: its connection."""
        with self._failing_closed, self._connection.use() as connection:
            return str(connection.raw.info.backend_pid)

    def is_alive(self, holder: str) -> bool:
        """True if the connection of this name exists. The server may have given its number to
        another one since: then a lost request counts as running.
        """
        with self._failing_closed, self._connection.use() as connection:
            return bool(connection.one(_ALIVE, holder))

    def grant(self, writers: Sequence[str], readers: Sequence[str]) -> tuple[Right, ...]:
        """Give roles their rights and everybody else none; who has which now."""
        with self._failing_closed, self._connection.use() as connection:
            return grant(connection, writers, readers)

    def close(self) -> None:
        """Close the connection."""
        self._connection.drop()

    def _make_connection(self) -> ServerConnection:
        connection = ServerConnection(self._url, self._name, self._timeout)
        try:
            find(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _look_up(transaction: Transaction, operations: Operations) -> None:
    """Read at once what these operations have to know."""
    scopes = {
        Scope(each.dataset, owner, window)
        for each in operations
        if isinstance(each, (Reserve, OfBudget))
        for owner in ("", each.analyst)
        for window in ("", *(each.windows if isinstance(each, Reserve) else ()))
    }
    places = [each.place for each in operations if isinstance(each, OfRequest)]
    transaction.look_up(places, scopes)


def _carry_out_ahead(connection: ServerConnection, operations: Operations) -> Outcomes | None:
    """Take the turn and write what follows from what we remember, in one trip to the server; None
    if that is not possible. If another process has the turn, or has written since and so taken the
    number of the entry, nothing of ours is written.
    """
    import psycopg

    memory = connection.memory
    if memory is None:
        return None
    tables = _ServerTables(connection, [BEGIN, _TURN_NOW], asks=False)
    transaction = Transaction(tables, memory.copy())
    try:
        outcomes = carry_out_all(transaction, operations, presuming=True)
    except DoubtfulError:
        return None
    connection.memory = None
    try:
        tables.commit()
    except (psycopg.IntegrityError, psycopg.errors.LockNotAvailable):
        if connection.warned:
            # it is in the chain, but not on the standby that has to have it
            raise
        connection.rollback()
        return None
    connection.memory = transaction.memory()
    return outcomes


class _ServerTables:
    """The tables within one transaction. What is written travels with the commit.

    begin: what travels before everything else.
    asks: whether something may be looked up.
    """

    def __init__(
        self, connection: ServerConnection, begin: Sequence[Statement] = (), *, asks: bool = True
    ) -> None:
        self._connection, self._begin, self._asks = connection, list(begin), asks
        self._changes: list[Statement] = []

    def ask(self, questions: Sequence[Statement]) -> list[Rows]:
        """The rows for each question, in one round trip."""
        if not self._asks:
            raise DoubtfulError
        begin, self._begin = self._begin, []
        answers = self._connection.ask([*begin, *questions])
        if _TURN in begin and not answers[begin.index(_TURN)]:
            # nobody can wait for a row that does not exist
            self._connection.rollback()
            self._connection.ask([_SEAT])
            answers = self._connection.ask([*begin, *questions])
        return answers[len(begin) :]

    def write(self, statement: str, values: Rows) -> None:
        """Run a statement for all rows of values, when it is committed."""
        row = f" values ({', '.join('?' * len(values[0]))})" if values else " "
        if len(values) > 1 and row in statement:
            # one statement for however many rows: the server reads and plans it once
            columns = [list(column) for column in zip(*values, strict=True)]
            kinds = ", ".join(f"?::{_kind(column)}[]" for column in columns)
            many = statement.replace(row, f" select * from unnest({kinds})", 1)
            self._changes.append((many, columns))
        else:
            self._changes += [(statement, some) for some in values]

    def commit(self) -> None:
        """Write everything, and end the transaction."""
        self._connection.ask([*self._begin, *self._changes, COMMIT])


def _kind(column: list[object]) -> str:
    return "integer" if isinstance(column[0], int) else "text"
