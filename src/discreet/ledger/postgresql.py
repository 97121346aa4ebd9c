"""A ledger on a PostgreSQL server, for teams.

Processes of one machine carry out each other's operations first, so that few go to the
server. What costs time then is the way there and back, so statements travel together:
one way for the turn and what others have posted, one for what has to be known, and one
for everything that is written and the commit.

A process that waits believes the chain and nothing else: an operation is done when an
entry with its ticket and its very text is in the table, which only roles that may write
the ledger can put there. What another process of this machine tells, or a note from the
server, ends a sleep, whoever sent it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain, islice
from typing import Any

from discreet.errors import LedgerError, MissingExtraError
from discreet.ledger.chain import UNREADABLE
from discreet.ledger.entries import read_operation
from discreet.ledger.group_commit import (
    LONGEST_LOOK,
    LOOK,
    FailingClosed,
    Operations,
    Outcomes,
    Posted,
    Processes,
    closing_after_failure,
)
from discreet.ledger.postgresql_connection import (
    COMMIT,
    SNAPSHOT,
    Reconnecting,
    ServerConnection,
)
from discreet.ledger.postgresql_mailbox import Posts
from discreet.ledger.postgresql_schema import find, grant, prepare
from discreet.ledger.records import Right
from discreet.ledger.sqlite_mailbox import mailbox_in, meeting_place
from discreet.ledger.transaction import Found, Rows
from discreet.versions import require

_ALIVE = "select 1 from pg_catalog.pg_stat_activity where pid::text = ?"
_GAP = 0.001
"""After the n-th note that came in vain, 2^n times this many seconds pass without a look: every
role may send notes.
"""


_PATIENCE = 1.0
"""Seconds to wait for another process of this machine before one goes to the server itself."""


class PostgreSQLStore:
    """The tables on the server."""

    def __init__(self, url: str, name: str, timeout: float, *, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("A ledger on PostgreSQL", "ledger") from None
        require("psycopg")
        self._url, self._name, self._timeout = url, name, timeout
        # Whether others were waiting lately: then to post first saves a way to the server.
        self._crowded = False
        self._kinds = (psycopg.Error, OSError)
        # what an operation of another process may raise, here or on the server, if it makes no
        # sense
        self._nonsense = (
            *UNREADABLE,
            psycopg.DataError,
            psycopg.IntegrityError,
            psycopg.ProgrammingError,
        )
        self._connection = Reconnecting(self._make_connection)
        self._processes: Processes | None = None
        with self._failing_closed(), closing_after_failure(self), self._held() as connection:
            prepare(connection, create)
            folder = meeting_place(connection.identity())
            if folder is not None:
                problems = (*self._kinds, *self._nonsense, LedgerError)
                self._processes = Processes(
                    mailbox_in(folder), self._for_all, self._believe, problems
                )

    def carry_out(self, operations: Operations) -> Outcomes:
        """Carry out operations, or have them carried out: by another process of this
        machine, or of another one.
        """
        with self._failing_closed():
            outcomes = None
            if self._processes is not None:
                # Who has the turn here may be stopped: the server knows how to go on without it.
                patience = min(_PATIENCE, self._timeout / 2)
                # The folder may be gone: at the end of a login, or among temporary files.
                with suppress(FileNotFoundError):
                    outcomes = self._processes.carry_out(operations, patience)
            return self._on_server(operations) if outcomes is None else outcomes

    def _for_all(self, mine: Operations, posted: Posted) -> tuple[Outcomes, dict[str, Outcomes]]:
        """Carry out what processes of this machine have posted, as if it were ours."""
        others = {name: read for name, told in posted.items() if (read := _read(told))}
        everything = [*mine, *chain(*others.values())]
        try:
            outcomes = iter(self._on_server(everything) if everything else [])
        except self._nonsense:
            # somebody else's operation makes no sense to the server: ours only
            return (self._on_server(mine) if mine else []), {}
        told = list(islice(outcomes, len(mine)))
        return told, {name: list(islice(outcomes, len(some))) for name, some in others.items()}

    def _believe(self, told: list[Any], operations: Operations) -> Outcomes | None:
        """What became of operations that another process of this machine says it has
        carried out, as the ledger has it.
        """
        with self._held() as connection:
            work = Posts(connection)
            outcomes = work.look(operations)
            return work.decide(operations) if outcomes is None else outcomes

    def _on_server(self, operations: Operations) -> Outcomes:
        """Carry out operations, or have them carried out by a process of another machine."""
        with self._held() as connection:
            work = Posts(connection)
            ahead = work.carry_out_ahead(operations) if connection.alone else None
            if ahead is not None:
                return ahead
            post = f"{connection.channel}-{secrets.token_hex(8)}"
            if self._crowded:
                waiting, free = None, work.post_first(post, operations)
            else:
                waiting, free = work.turn_or_post(post, operations)
            if waiting is not None:
                return self._work(work, operations, "", waiting)
        return self._wait(operations, post, 0 if free else LOOK)

    def _wait(self, operations: Operations, post: str, pause: float) -> Outcomes:
        """Until what we posted is in the chain, or is refused, or until it is our turn."""
        deadline, vain = time.monotonic() + self._timeout, 0
        try:
            while (left := deadline - time.monotonic()) > 0:
                with self._held() as connection:
                    rung = connection.sleep(min(pause, left))
                    outcomes = self._look(Posts(connection), operations, post, rung)
                if outcomes is not None:
                    return outcomes
                if rung:
                    vain += 1
                    time.sleep(min(_GAP * 2 ** min(vain, 10), LOOK, left))
                pause = min(max(2 * pause, LOOK), LONGEST_LOOK)
        except BaseException:
            self._withdraw(post)
            raise
        self._withdraw(post)
        rule = f"must be free within {self._timeout} seconds"
        raise LedgerError(f"The ledger {self._name} {rule}. Got no turn.")

    def _look(
        self,
        work: Posts,
        operations: Operations,
        post: str,
        rung: bool,
    ) -> Outcomes | None:
        """The outcomes, if there are any by now; if it is our turn, we see to that."""
        # a note mostly means that it is done
        outcomes = work.look(operations) if rung else None
        self._crowded = self._crowded or rung
        if outcomes is not None:
            return outcomes
        # or that we are the next
        waiting, posted = work.turn() if rung else None, True
        if waiting is None:
            outcomes, posted, free = work.look_around(post, operations)
            if outcomes is not None:
                return outcomes
            waiting = work.turn() if free else None
        if waiting is not None:
            return self._work(work, operations, post, waiting)
        if not posted:
            # who took it wrote nothing for it, or not for all of it
            outcomes = work.decide(operations)
            if outcomes is None:
                work.post(post, operations)
        return outcomes

    def _work(self, work: Posts, mine: Operations, post: str, waiting: Found) -> Outcomes:
        """It is our turn."""
        self._crowded = len(waiting) > 1
        try:
            return work.carry_out(mine, post, waiting)
        except self._nonsense:
            # an operation of another process makes no sense to us: ours only
            work.begin_again()
            return work.carry_out(mine, post, [])

    def _withdraw(self, post: str) -> None:
        """Take back what was posted, if the server still listens."""
        with suppress(*self._kinds), self._held() as connection:
            Posts(connection).withdraw(post)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """The tables as of the latest commit."""
        with self._failing_closed(), self._held() as connection:
            # a reader has no turn that others wait for, and may take its time
            connection.ask([SNAPSHOT, ("set local idle_in_transaction_session_timeout = 0", ())])
            yield Rows(Posts(connection))
            connection.ask([COMMIT])

    def holder(self) -> str:
        """The name of this process, as the entry of a charge has it: its connection."""
        with self._failing_closed(), self._held() as connection:
            return str(connection.raw.info.backend_pid)

    def is_alive(self, holder: str) -> bool:
        """Whether the connection of this name is still there. The server may have given
        its number to another one since: then a request that is lost counts as running.
        """
        with self._failing_closed(), self._held() as connection:
            return bool(connection.one(_ALIVE, holder))

    def grant(self, writers: Sequence[str], readers: Sequence[str]) -> tuple[Right, ...]:
        """Give roles their rights and everybody else none; who has which now."""
        with self._failing_closed(), self._held() as connection:
            return grant(connection, writers, readers)

    def close(self) -> None:
        """Close the connection."""
        self._connection.drop()
        if self._processes is not None:
            self._processes.close()

    def _held(self) -> AbstractContextManager[ServerConnection]:
        return self._connection.hold()

    def _make_connection(self) -> ServerConnection:
        connection = ServerConnection(self._url, self._name, self._timeout)
        try:
            find(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _failing_closed(self) -> Any:
        return FailingClosed(self._name, self._kinds)


def _read(told: list[Any]) -> Operations:
    """Operations of another process; none if they make no sense to us."""
    try:
        return [read_operation(one) for one in told]
    except UNREADABLE:
        return []
