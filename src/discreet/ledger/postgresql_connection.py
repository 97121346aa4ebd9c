"""A session on a PostgreSQL server in which other roles have no say.

Every role on a database may take advisory locks, and often create tables, functions and
operators. So no advisory lock is used; and each table is named with its schema, while
everything else is looked up in the server's own catalogue only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.fork_safety import ReopenAfterFork, require_own
from discreet.ledger.postgresql_pipeline import Pipeline, rows
from discreet.ledger.transaction import Found, Memory, Statement

if TYPE_CHECKING:
    import psycopg

BEGIN: Statement = "begin", ()
COMMIT: Statement = "commit", ()
SNAPSHOT: Statement = "begin isolation level repeatable read, read only", ()
_PATH: Statement = "select pg_catalog.unnest(pg_catalog.current_schemas(false))", ()
_SETTINGS: tuple[Statement, ...] = (
    # without pg_temp at the end, temporary tables would be looked for first
    ("set search_path = pg_catalog, pg_temp", ()),
    ("set synchronous_commit = on", ()),
    ("set default_transaction_isolation = 'read committed'", ()),
)
_OURS = re.compile(r"\bdiscreet_[a-z]+\b")


class ServerConnection:
    """One connection, and what is known about it.

    url, name: where the server is, and how that is shown.
    kind: what is kept there, for errors: "ledger" or "keys".
    timeout: how many seconds to wait for a lock, and how long the server lets a
        transaction of ours be idle: a process that is stopped in the middle must not
        keep the turn for ever.

    schema: the quoted name of the schema that holds the ledger; empty as long as it is
        not known.
    path: the schemas where unqualified names were looked up before: earlier versions
        used those.
    warned: whether the server has warned us since we asked last.
    memory: of the last transaction that wrote.
    alone: whether nobody else had written between the last two of them.
    """

    def __init__(self, url: str, name: str, timeout: float, *, kind: str = "ledger") -> None:
        import psycopg

        # Transactions begin and end only when told to.
        self.raw: psycopg.Connection[Any] = psycopg.connect(
            url, autocommit=True, client_encoding="utf8", **network_options(url, timeout)
        )
        self._pipeline, self._process = Pipeline(self.raw.pgconn), os.getpid()
        self.name, self.kind, self.schema = name, kind, ""
        self.warned = False
        self.memory: Memory | None = None
        self.alone = False
        self.raw.add_notice_handler(lambda notice: self._note(notice.sqlstate or ""))
        try:
            self.path = self._start(timeout)
        except BaseException:
            self.raw.close()
            raise

    def _start(self, timeout: float) -> list[str]:
        wait = max(1, round(timeout * 1000))
        limits: list[Statement] = [
            (f"set lock_timeout = {wait}", ()),
            (f"set idle_in_transaction_session_timeout = {max(1000, wait)}", ()),
        ]
        path, *_, fsync = self.ask([_PATH, *_SETTINGS, *limits, ("show fsync", ())])
        if fsync != [("on",)]:
            got = fsync[0][0] if fsync else "nothing"
            rule = "must be on a server that syncs"
            raise LedgerError(f"The {self.kind} {self.name} {rule}. Got fsync = {got}.")
        return [schema for (schema,) in path]

    def ask(self, questions: Sequence[Statement]) -> list[Found]:
        """The rows for each question, in one round trip. After one that fails there is none."""
        self.warned = False
        texts = [(_qualified(statement, self.schema), values) for statement, values in questions]
        results, problem = self._pipeline.run(texts)
        for question, result in zip(questions, results, strict=False):
            if question is COMMIT:
                self._require_committed(result.command_status)
        if problem is not None:
            raise problem
        return [rows(result) for result in results]

    def one(self, statement: str, *values: Any) -> Found:
        """The rows for one statement."""
        return self.ask([(statement, values)])[0]

    @property
    def is_idle(self) -> bool:
        """Whether it is usable, and in no transaction."""
        broken = self.raw.closed or self.raw.broken
        return not broken and not self.raw.pgconn.transaction_status

    @property
    def is_lost(self) -> bool:
        """Whether it ended while nobody used it, as far as can be seen without asking the
        server.
        """
        import psycopg

        try:
            # the first look takes the server's last words, the second one meets the end
            self.raw.pgconn.consume_input()
            self.raw.pgconn.consume_input()
        except psycopg.OperationalError:
            return True
        return not self.is_idle

    def rollback(self) -> None:
        """End a transaction without any effect. Where answers are still on their way, they
        would be taken for others: that connection is closed.
        """
        require_own(self._process)
        if self.raw.pgconn.pipeline_status:
            self.raw.close()
        else:
            self.raw.rollback()

    def close(self) -> None:
        """Close it."""
        self.raw.close()

    def _require_committed(self, message: bytes | None) -> None:
        """Raise where a commit was none, or did not reach the standby that it has to reach.

        To the server it is no error that a transaction that had failed before ends with
        a rollback, nor that a role that may cancel our statements ended the wait for
        the standby.
        """
        if message != b"COMMIT":
            raise LedgerError("A transaction must be committed. Got one that was rolled back.")
        if self.warned:
            raise LedgerError(
                f"A commit to the {self.kind} {self.name} must be waited for to the end. "
                "Got a warning from the server: the wait was cut short."
            )

    def _note(self, code: str) -> None:
        # Class 01 are warnings about what was asked; others say why the connection ends.
        self.warned = self.warned or code.startswith("01")


class Reconnecting:
    """A connection for each process, which one thread uses at a time. After one that was
    lost, the next call makes another.
    """

    def __init__(self, make: Callable[[], ServerConnection]) -> None:
        self._connection = ReopenAfterFork(make, ServerConnection.close)

    @contextmanager
    def use(self) -> Iterator[ServerConnection]:
        """The connection, until the end of the block."""
        import psycopg

        with self._connection.use() as connection:
            try:
                yield connection
            except BaseException:
                with suppress(psycopg.Error, OSError):
                    connection.rollback()
                if not connection.is_idle:
                    # whatever it was doing, it is not done
                    self._connection.drop()
                raise

    def drop(self) -> None:
        """Close it; the next one who needs it makes another."""
        self._connection.drop()


@lru_cache(maxsize=1024)
def _qualified(statement: str, schema: str) -> str:
    """A statement with each table in its schema, and marks as the server wants them."""
    first, *others = statement.split("?")
    marked = first + "".join(f"${number}{text}" for number, text in enumerate(others, 1))
    return _OURS.sub(lambda found: f"{schema}.{found[0]}", marked) if schema else marked


def network_options(url: str, timeout: float) -> dict[str, Any]:
    """How long a network may be silent, where neither the address nor the environment says so.

    Without these a charge would wait for a dead one as long as the system does: hours.
    """
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import Conninfo

    # less than 2 is not possible
    seconds = max(2, round(timeout))
    wanted = {
        "connect_timeout": seconds,
        # for what was sent and not acknowledged
        "tcp_user_timeout": 1000 * seconds,
        # for an answer that does not come: a third of the time in silence, then four questions
        "keepalives": 1,
        "keepalives_idle": max(1, seconds // 3),
        "keepalives_interval": max(1, seconds // 6),
        "keepalives_count": 4,
    }
    said = conninfo_to_dict(url)
    # An old libpq does not know all of them; values come from variables such as PGCONNECT_TIMEOUT.
    free = {option.keyword.decode() for option in Conninfo.get_defaults() if option.val is None}
    return {name: value for name, value in wanted.items() if name in free and name not in said}
