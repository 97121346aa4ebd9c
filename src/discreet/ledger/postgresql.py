"""A ledger on a PostgreSQL server, for teams."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, MissingExtraError
from discreet.ledger.combining import (
    MOST_AT_ONCE,
    NONSENSE,
    Operations,
    Outcomes,
    carry_out_all,
    closing_after_failure,
    failing_closed,
)
from discreet.ledger.per_process import PerProcess
from discreet.ledger.rows import SCHEMA, Rows

if TYPE_CHECKING:
    import psycopg

_LOCK = 0x64697363726565  # "discree": whoever writes the ledger of this database holds this advisory lock
# Posts need not survive a crash: unlogged, and not waited for.
_POSTS = (
    "create unlogged table if not exists discreet_posts "
    "(name text primary key, operations text not null, outcomes text, posted timestamptz not null default now())"
)
_CHANNEL = "discreet_ledger"
_SETTINGS = "set synchronous_commit = on", "set default_transaction_isolation = 'read committed'", f"listen {_CHANNEL}"
_LOOK = 0.05  # seconds between two looks at the turn, in case that who had it died and told nobody


class PostgreSQLStore:
    """The tables on the server."""

    def __init__(self, url: str, name: str, timeout: float, *, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("A ledger on PostgreSQL", "ledger") from None
        self._url, self._name, self._timeout = url, name, timeout
        self._kinds = (psycopg.Error, OSError)
        self._connection = PerProcess(self._make_connection, lambda connection: connection.close())
        with self._failing_closed(), closing_after_failure(self):
            self._prepare(create)

    def carry_out(self, operations: Operations) -> Outcomes:
        """Carry out operations, or have them carried out."""
        with self._failing_closed():
            with self._transaction() as work:
                work.is_named("", 0)  # what was said while we did not listen would pile up
            outcomes = self._try(operations, "")
            return self._wait(operations) if outcomes is None else outcomes

    def _wait(self, operations: Operations) -> Outcomes:
        """Post them, and wait until somebody has carried them out, or until it is our turn."""
        deadline, post = time.monotonic() + self._timeout, secrets.token_hex(8)
        with self._transaction() as work:
            work.post(post, operations)
        try:
            while time.monotonic() < deadline:
                outcomes = self._try(operations, post)
                if outcomes is None and self._is_told(post):
                    with self._transaction() as work:
                        outcomes = work.told(post)
                if outcomes is not None:
                    return outcomes
        except BaseException:
            self._withdraw(post)
            raise
        self._withdraw(post)
        raise LedgerError(f"The ledger {self._name} must be free within {self._timeout} seconds. Got no turn.")

    def _try(self, operations: Operations, post: str) -> Outcomes | None:
        """If it is our turn, use it."""
        with self._transaction() as work:
            if work.execute("select pg_try_advisory_xact_lock(?)", _LOCK) != [(True,)]:
                return None
            return work.told(post) or work.carry_out(operations, post)

    def _withdraw(self, post: str) -> None:
        """Take back what was posted, if the server still listens."""
        with suppress(*self._kinds), self._transaction() as work:
            work.withdraw(post)

    def _is_told(self, post: str) -> bool:
        """Sleep until somebody has had the turn; whether our post was carried out then."""
        with self._transaction() as work:
            return work.is_named(post, _LOOK)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """The tables as of the latest commit."""
        with self._failing_closed(), self._transaction() as work:
            work.execute("set transaction isolation level repeatable read, read only")
            yield Rows(work.execute, work.execute_many)

    def close(self) -> None:
        """Close the connection."""
        self._connection.drop()

    @contextmanager
    def _transaction(self) -> Iterator[_Work]:
        with self._connection.hold() as connection:
            try:
                yield _Work(connection)
                connection.commit()
            except BaseException:
                with suppress(*self._kinds):
                    connection.rollback()
                if connection.closed or connection.broken:
                    self._connection.drop()
                raise

    def _make_connection(self) -> psycopg.Connection[Any]:
        import psycopg

        connection = psycopg.connect(self._url, **network_options(self._url, self._timeout))
        for statement in (*_SETTINGS, f"set lock_timeout = {round(self._timeout * 1000)}"):
            connection.execute(statement)
        (fsync,) = connection.execute("show fsync").fetchone() or ("off",)
        connection.commit()
        if fsync != "on":
            connection.close()
            raise LedgerError(f"The ledger {self._name} must be on a server that syncs. Got fsync = {fsync}.")
        return connection

    def _prepare(self, create: bool) -> None:
        """Bring the schema to this version."""
        with self._transaction() as work:
            if not create and work.execute("select to_regclass('discreet_schema')") == [(None,)]:
                raise LedgerError(f"The ledger {self._name} must exist. Got a database without one.")
            work.execute("select pg_advisory_xact_lock(?)", _LOCK)
            work.execute("create table if not exists discreet_schema (version integer not null)")
            found = work.execute("select version from discreet_schema")
            version = found[0][0] if found else 0
            if version > len(SCHEMA):
                raise LedgerError(f"The ledger {self._name} was written by a newer discreet. Got schema {version}.")
            for statement in (statement for step in SCHEMA[version:] for statement in step):
                work.execute(statement)
            work.execute(_POSTS)
            if version != len(SCHEMA):
                work.execute("delete from discreet_schema")
                work.execute("insert into discreet_schema values (?)", len(SCHEMA))

    def _failing_closed(self) -> Any:
        return failing_closed(self._name, self._kinds)


def network_options(url: str, timeout: float) -> dict[str, Any]:
    """How long a network may be silent, where neither the address nor the environment says so.

    Without these a charge would wait for a dead one as long as the system does: hours.
    """
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import Conninfo

    seconds = max(2, round(timeout))  # less than 2 is not possible
    wanted = {
        "connect_timeout": seconds,
        "tcp_user_timeout": 1000 * seconds,  # for what was sent and not acknowledged
        "keepalives": 1,  # for an answer that does not come: a third of the time in silence, then four questions
        "keepalives_idle": max(1, seconds // 3),
        "keepalives_interval": max(1, seconds // 6),
        "keepalives_count": 4,
    }
    said = conninfo_to_dict(url)
    # an old libpq does not know all of them; values come from variables such as PGCONNECT_TIMEOUT
    free = {option.keyword.decode() for option in Conninfo.get_defaults() if option.val is None}
    return {name: value for name, value in wanted.items() if name in free and name not in said}


class _Work:
    """What is done within one transaction."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []

    def execute_many(self, statement: str, values: list[tuple[Any, ...]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), values)

    def post(self, name: str, operations: Operations) -> None:
        """Let others carry these out."""
        self.execute("set local synchronous_commit = off")
        self.execute("insert into discreet_posts (name, operations) values (?, ?)", name, json.dumps(operations))

    def is_named(self, post: str, seconds: float) -> bool:
        """Sleep until somebody has had the turn; whether the post was named then."""
        notes = [note.payload for note in self._connection.notifies(timeout=seconds, stop_after=1)]
        return any(post in note for note in notes)

    def withdraw(self, post: str) -> None:
        """Take back what was posted, and what others left behind."""
        self.execute("delete from discreet_posts where name = ? or posted < now() - interval '10 minutes'", post)

    def told(self, post: str) -> Outcomes | None:
        """The outcomes of what was posted, if somebody has carried it out; they are not kept."""
        if not post:
            return None
        statement = "delete from discreet_posts where name = ? and outcomes is not null returning outcomes"
        found = self.execute(statement, post)
        return json.loads(found[0][0]) if found else None

    def carry_out(self, mine: Operations, post: str) -> Outcomes:
        """It is our turn: carry out what waits. The others find their outcomes when this transaction is committed."""
        waiting = self.execute("select name, operations from discreet_posts where outcomes is null limit ?", MOST_AT_ONCE)
        posted = {name: json.loads(operations) for name, operations in waiting if name != post}
        try:
            outcomes, others = carry_out_all(Rows(self.execute, self.execute_many), mine, posted)
        except NONSENSE:  # somebody else's operation makes no sense to us: ours only
            self._connection.rollback()
            self.execute("select pg_advisory_xact_lock(?)", _LOCK)
            outcomes, others = carry_out_all(Rows(self.execute, self.execute_many), mine, {})
        told = [(json.dumps(other), name) for name, other in others.items()]
        if told:
            self.execute_many("update discreet_posts set outcomes = ? where name = ?", told)
        self.execute("select pg_notify(?, ?)", _CHANNEL, " ".join(others))
        if post:
            self.withdraw(post)
        return outcomes
