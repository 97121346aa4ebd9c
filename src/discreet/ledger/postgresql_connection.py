"""A session on a PostgreSQL server in which other roles have no say, and statements to it, many in
one round trip.

Every role on a database may take advisory locks, and often create tables, functions and operators.
So no advisory lock is used, each table is named with its schema, and everything else is looked up
in the server's own catalog only.
"""

from __future__ import annotations

import os
import re
import secrets
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.fork_safety import ReopenAfterFork, require_own
from discreet.ledger.transaction import Memory, Rows, Statement

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGconn, PGresult

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
    timeout: how many seconds to wait for a lock, and how long a transaction of ours may be idle: a
        process that is stopped in the middle must not keep the turn for ever.

    schema: the quoted name of the schema of the ledger; empty until it is known.
    path: the schemas where unqualified names were looked up at first: earlier versions used those.
    warned: whether the server has warned us since we asked last.
    memory: of the last transaction that wrote.
    alone: whether nobody else had written between the last two of them.
    """

    def __init__(self, url: str, name: str, timeout: float, *, kind: str = "ledger") -> None:
        import psycopg

        # with autocommit transactions begin and end only by our statements
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

    def ask(self, questions: Sequence[Statement]) -> list[Rows]:
        """The rows for each question, in one round trip. None is run after one that fails."""
        self.warned = False
        texts = [(_qualified(statement, self.schema), values) for statement, values in questions]
        results, problem = self._pipeline.run(texts)
        for question, result in zip(questions, results, strict=False):
            if question is COMMIT:
                self._require_committed(result.command_status)
        if problem is not None:
            raise problem
        return [rows(result) for result in results]

    def one(self, statement: str, *values: Any) -> Rows:
        """The rows for one statement."""
        return self.ask([(statement, values)])[0]

    def write(self, statement: str, values: Rows) -> None:
        """Run a statement once for each row of values."""
        self.ask([(statement, row) for row in values])

    @property
    def is_idle(self) -> bool:
        """True if it is usable, and in no transaction."""
        broken = self.raw.closed or self.raw.broken
        return not broken and not self.raw.pgconn.transaction_status

    @property
    def is_lost(self) -> bool:
        """True if it ended while nobody used it, as far as is known without asking the server."""
        import psycopg

        try:
            # the first one reads the server's last words, the second one meets the end
            self.raw.pgconn.consume_input()
            self.raw.pgconn.consume_input()
        except psycopg.OperationalError:
            return True
        return not self.is_idle

    def rollback(self) -> None:
        """End a transaction without any effect. A connection with answers on their way is closed:
        they would be taken for those to other questions.
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
        """Raise if a commit was none, or did not reach the standby that it has to reach.

        The server reports no error if a failed transaction ends with a rollback, nor if a role that
        may cancel our statements ended the wait for the standby.
        """
        if message != b"COMMIT":
            raise LedgerError("A transaction must be committed. Got one that was rolled back.")
        if self.warned:
            raise LedgerError(
                f"A commit to the {self.kind} {self.name} must be waited for to the end. "
                "Got a warning from the server: the wait was cut short."
            )

    def _note(self, code: str) -> None:
        # class 01 are warnings about statements; others say why the connection ends
        self.warned = self.warned or code.startswith("01")


class Reconnecting:
    """A connection for each process, which one thread uses at a time. A lost one is replaced at
    the next call.
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
    return _OURS.sub(lambda match: f"{schema}.{match[0]}", marked) if schema else marked


def network_options(url: str, timeout: float) -> dict[str, Any]:
    """How long a network may be silent, unless the address or the environment says so. A charge
    would wait for a dead one for hours otherwise.
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
    stated = conninfo_to_dict(url)
    # an old libpq lacks some of them; others are set by variables such as PGCONNECT_TIMEOUT
    unset = {option.keyword.decode() for option in Conninfo.get_defaults() if option.val is None}
    return {name: value for name, value in wanted.items() if name in unset and name not in stated}


_MOST_PREPARED = 256
"""Statements that are prepared on one connection; there are far fewer different ones."""


class Pipeline:
    """What travels on one connection, by libpq itself: psycopg's documented module `pq`.

    A statement that comes again is prepared, and values travel beside it. Cursors in psycopg's own
    pipeline took 1.6 to 2 times the processor time for a charge. And we wait in Python, so that an
    interrupt ends the wait, and a child that was forked meanwhile does not read its parent's
    answers. Whoever is interrupted has to close the connection.
    """

    def __init__(self, server: PGconn) -> None:
        self._server, self._process = server, os.getpid()
        self._seen: set[str] = set()
        self._prepared: dict[str, bytes] = {}
        # unique, because a proxy may give two connections the same session
        self._name, self._count = secrets.token_hex(8), 0
        self._ready = select.poll()
        self._ready.register(server.socket, select.POLLIN)

    def run(
        self, statements: Sequence[tuple[str, Sequence[Any]]]
    ) -> tuple[list[PGresult], Exception | None]:
        """The results of statements with $1, $2 ... for their values, up to the first one that
        fails; and the error of that one, or None.
        """
        from psycopg.errors import OperationalError, error_from_result
        from psycopg.pq import ExecStatus

        sent = [(text, [_written(value) for value in values]) for text, values in statements]
        require_own(self._process)
        server, bad = self._server, (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)
        server.enter_pipeline_mode()
        prepared = [self._send(text, values) for text, values in sent]
        server.pipeline_sync()
        self._flush()
        results: list[PGresult] = []
        problem: Exception | None = None
        try:
            for (text, _), name in zip(sent, prepared, strict=True):
                for is_statement in (False, True) if name else (True,):
                    result = self._receive()
                    if result.status in bad:
                        problem = problem or error_from_result(result)
                    elif is_statement:
                        results.append(result)
                    else:
                        self._prepared[text] = name
                    self._end()
            # the answer to the end of it all
            self._receive()
            server.exit_pipeline_mode()
        except OperationalError:
            # the server's last words before it closed the connection say more
            if problem is None:
                raise
        return results, problem

    def _send(self, text: str, values: list[bytes | None]) -> bytes:
        """Send one statement; the name under which it is prepared now, if it is."""
        name = self._prepared.get(text)
        if name is not None:
            self._server.send_query_prepared(name, values)
            return b""
        if text not in self._seen or len(self._prepared) >= _MOST_PREPARED:
            if len(self._seen) < _MOST_PREPARED:
                self._seen.add(text)
            self._server.send_query_params(text.encode(), values)
            return b""
        # twice in one batch is once too often for the same name
        self._seen.discard(text)
        self._count += 1
        name = f"discreet_{self._name}_{self._count}".encode()
        self._server.send_prepare(name, text.encode())
        self._server.send_query_prepared(name, values)
        return name

    def _flush(self) -> None:
        while self._server.flush():
            self._ready.modify(self._server.socket, select.POLLIN | select.POLLOUT)
            self._ready.poll()
            # the rest of what is sent is the parent's
            require_own(self._process)
            self._ready.modify(self._server.socket, select.POLLIN)
            self._server.consume_input()

    def _receive(self) -> PGresult:
        from psycopg import OperationalError

        self._await()
        result = self._server.get_result()
        if result is None:
            raise OperationalError("the connection was lost")
        return result

    def _end(self) -> None:
        """Pass the end of one statement's results."""
        self._await()
        self._server.get_result()

    def _await(self) -> None:
        while self._server.is_busy():
            self._ready.poll()
            # the answers are the parent's
            require_own(self._process)
            self._server.consume_input()


def rows(result: PGresult) -> Rows:
    """The rows of a result."""
    count, value = result.ntuples, result.get_value
    if not count:
        return []
    columns = [(each, _READ.get(result.ftype(each), _text)) for each in range(result.nfields)]
    return [
        tuple(None if (cell := value(row, each)) is None else read(cell) for each, read in columns)
        for row in range(count)
    ]


def _written(value: Any) -> bytes | None:
    """A value as the server reads it."""
    if value is None:
        return None
    if isinstance(value, list):
        return b"{" + b",".join(map(_element, value)) + b"}"
    text = str(value).encode()
    if b"\0" in text:
        from psycopg import DataError

        # what follows would be cut off
        raise DataError("a text must have no NUL in it")
    return text


def _element(value: Any) -> bytes:
    text = _written(value)
    if text is None:
        return b"NULL"
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _text(value: bytes) -> str:
    return value.decode()


def _truth(value: bytes) -> bool:
    return value == b"t"


_READ: dict[int, Callable[[bytes], Any]] = {16: _truth, 20: int, 21: int, 23: int, 26: int}
"""How values that are not text are read, by the number that the server has for their type."""
