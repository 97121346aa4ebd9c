"""Statements to a PostgreSQL server, many in one way there and back, by libpq itself.

A cursor of psycopg writes the values into the text, and the server reads and plans that
text each time: together that took four times as long as the statement. So a statement
that comes again is prepared, values travel beside it, and psycopg is asked for its
documented module `pq` only. What is waited for is waited for in Python, so that an
interrupt ends it; whoever is interrupted has to close the connection.
"""

from __future__ import annotations

import os
import secrets
import select
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.ledger.fork_safety import require_own
from discreet.ledger.transaction import Found

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

_MOST_PREPARED = 256
"""Statements that are prepared on one connection; there are far fewer different ones."""


class Pipeline:
    """What travels on one connection."""

    def __init__(self, server: PGconn) -> None:
        self._server, self._process = server, os.getpid()
        self._seen: set[str] = set()
        self._prepared: dict[str, bytes] = {}
        # Nobody else's: what stands in between may give two connections the same session.
        self._name, self._count = secrets.token_hex(8), 0
        self._ready = select.poll()
        self._ready.register(server.socket, select.POLLIN)

    def run(
        self, statements: Sequence[tuple[str, Sequence[Any]]]
    ) -> tuple[list[PGresult], Exception | None]:
        """The results of statements with $1, $2 ... for their values, up to the first one
        that fails; and the error of that one, or None.
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
            # what the server said before it closed the connection says more
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


def rows(result: PGresult) -> Found:
    """The rows of a result."""
    count, value = result.ntuples, result.get_value
    if not count:
        return []
    columns = [(each, _READ.get(result.ftype(each), _text)) for each in range(result.nfields)]
    return [
        tuple(
            None if (found := value(row, each)) is None else read(found) for each, read in columns
        )
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
