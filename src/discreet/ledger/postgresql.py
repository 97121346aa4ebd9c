"""A ledger on a PostgreSQL server, for teams.

What costs time is the way to the server and back, so statements travel together, as one text: one way for the turn and what others
have posted, one for what has to be known, and one for everything that is written, the commit, and the word to those who wait.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, MissingExtraError
from discreet.ledger.combining import (
    LONGEST_LOOK,
    LOOK,
    MOST_AT_ONCE,
    NONSENSE,
    Operations,
    Outcomes,
    carry_out_all,
    closing_after_failure,
    failing_closed,
)
from discreet.ledger.per_process import PerProcess
from discreet.ledger.rows import SCHEMA, Found, Question, Rows

if TYPE_CHECKING:
    import psycopg

_LOCK = 0x64697363726565  # "discree": whoever writes the ledger of this database holds this advisory lock
# Posts need not survive a crash: unlogged, and for that reason no commit of a post alone waits for the disk.
_POSTS = (
    "create unlogged table if not exists discreet_posts "
    "(name text primary key, operations text not null, outcomes text, posted timestamptz not null default now())"
)
_CHANNEL = "discreet_"  # and the name of who listens: nobody is woken for others
_SETTINGS = "set synchronous_commit = on", "set default_transaction_isolation = 'read committed'"

_BEGIN: Question = "begin", ()
_COMMIT: Question = "commit", ()
# The turn comes first, by itself: what a statement sees is fixed when it begins, and must be younger than the turn.
_TURN: Question = "select set_config('discreet.turn', pg_try_advisory_xact_lock(?)::text, true)", (_LOCK,)
# Without the turn nothing is read.
_WAITING: Question = (
    "select name, operations from discreet_posts where outcomes is null and current_setting('discreet.turn') = 'true' limit ?",
    (MOST_AT_ONCE,),
)
# Held for a moment only, by a statement that is not in a transaction.
_FREE: Question = "select pg_try_advisory_xact_lock(?)", (_LOCK,)
_POST = "insert into discreet_posts (name, operations) select ?, ? where current_setting('discreet.turn') <> 'true'"
_ANSWER = "update discreet_posts set outcomes = ? where name = ?"
_REMOVE = "delete from discreet_posts where name = any(?) or posted < now() - interval '10 minutes'"
# One of those who wait, and not always the same one: it may be dead.
_WAKE: Question = (
    "select pg_notify(? || split_part(name, '-', 1), '') from "
    "(select name from discreet_posts where outcomes is null order by random() limit 1) as waiting",
    (_CHANNEL,),
)


class PostgreSQLStore:
    """The tables on the server."""

    def __init__(self, url: str, name: str, timeout: float, *, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("A ledger on PostgreSQL", "ledger") from None
        self._url, self._name, self._timeout = url, name, timeout
        self._kinds = (psycopg.Error, OSError)
        # what somebody else's operation may raise, here or on the server, if it makes no sense
        self._nonsense = (*NONSENSE, psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError)
        self._listener = ""
        self._connection = PerProcess(self._make_connection, lambda connection: connection.close())
        with self._failing_closed(), closing_after_failure(self):
            self._prepare(create)

    def carry_out(self, operations: Operations) -> Outcomes:
        """Carry out operations, or have them carried out."""
        with self._failing_closed():
            with self._working() as work:
                post = f"{self._listener}-{secrets.token_hex(8)}"
                waiting, free = work.turn_or_post(post, operations)
                if waiting is not None:
                    return self._work(work, operations, "", waiting)
            return self._wait(operations, post, 0 if free else LOOK)

    def _wait(self, operations: Operations, post: str, pause: float) -> Outcomes:
        """Until somebody has carried out what we posted, or until it is our turn."""
        deadline = time.monotonic() + self._timeout
        try:
            while (left := deadline - time.monotonic()) > 0:
                with self._working() as work:
                    outcomes = work.told(post, min(pause, left))
                    waiting = work.turn_if_free() if outcomes is None else None
                    if waiting is not None:
                        outcomes = self._work(work, operations, post, waiting)
                if outcomes is not None:
                    return outcomes
                pause = min(max(2 * pause, LOOK), LONGEST_LOOK)
        except BaseException:
            self._withdraw(post)
            raise
        self._withdraw(post)
        raise LedgerError(f"The ledger {self._name} must be free within {self._timeout} seconds. Got no turn.")

    def _work(self, work: _Work, mine: Operations, post: str, waiting: Found) -> Outcomes:
        """It is our turn."""
        try:
            return work.carry_out(mine, post, waiting)
        except self._nonsense:  # somebody else's operation makes no sense to us: ours only
            work.begin_again()
            return work.carry_out(mine, post, [])

    def _withdraw(self, post: str) -> None:
        """Take back what was posted, if the server still listens."""
        with suppress(*self._kinds), self._working() as work:
            work.ask([(_REMOVE, ([post],))])

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """The tables as of the latest commit."""
        with self._failing_closed(), self._working() as work:
            work.ask([("begin isolation level repeatable read, read only", ())])
            yield Rows(work)
            work.ask([_COMMIT])

    def close(self) -> None:
        """Close the connection."""
        self._connection.drop()

    @contextmanager
    def _working(self) -> Iterator[_Work]:
        with self._connection.hold() as connection:
            try:
                yield _Work(connection)
            except BaseException:
                with suppress(*self._kinds):
                    connection.rollback()
                if connection.closed or connection.broken or connection.pgconn.transaction_status:
                    self._connection.drop()  # whatever it was doing, it is not done
                raise

    def _make_connection(self) -> psycopg.Connection[Any]:
        import psycopg

        self._listener = secrets.token_hex(8)
        # transactions begin and end only when told to, and values are written into the text, so that many statements are one
        connection = psycopg.connect(
            self._url, autocommit=True, cursor_factory=psycopg.ClientCursor, **network_options(self._url, self._timeout)
        )
        listening, patience = f"listen {_CHANNEL}{self._listener}", f"set lock_timeout = {round(self._timeout * 1000)}"
        connection.execute(";".join([*_SETTINGS, listening, patience]))
        (fsync,) = connection.execute("show fsync").fetchone() or ("off",)
        if fsync != "on":
            connection.close()
            raise LedgerError(f"The ledger {self._name} must be on a server that syncs. Got fsync = {fsync}.")
        return connection

    def _prepare(self, create: bool) -> None:
        """Bring the schema to this version."""
        with self._working() as work:
            work.one("begin")
            if not create and work.one("select to_regclass('discreet_schema')") == [(None,)]:
                raise LedgerError(f"The ledger {self._name} must exist. Got a database without one.")
            work.one("select pg_advisory_xact_lock(?)", _LOCK)
            work.one("create table if not exists discreet_schema (version integer not null)")
            found = work.one("select version from discreet_schema")
            version = found[0][0] if found else 0
            if version > len(SCHEMA):
                raise LedgerError(f"The ledger {self._name} was written by a newer discreet. Got schema {version}.")
            for statement in (statement for step in SCHEMA[version:] for statement in step):
                work.one(statement)
            work.one(_POSTS)
            if version != len(SCHEMA):
                work.one("delete from discreet_schema")
                work.one("insert into discreet_schema values (?)", len(SCHEMA))
            work.one("commit")

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
    """What is done on a connection; tables, for `Rows`."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._changes: list[Question] = []  # they travel with the commit

    def ask(self, questions: Sequence[Question]) -> list[Found]:
        """The rows for each question, in one round trip."""
        values = [value for _, some in questions for value in some]
        text = ";".join([statement for statement, _ in questions]).replace("?", "%s")
        cursor = self._connection.execute(text, values or None)
        found = []
        for question in questions:
            found.append([] if cursor.rownumber is None else cursor.fetchall())
            # to the server it is no error that a transaction that had failed before ends with a rollback
            if question is _COMMIT and cursor.statusmessage != "COMMIT":
                raise LedgerError("A transaction must be committed. Got one that was rolled back.")
            cursor.nextset()
        return found

    def write(self, statement: str, values: Found) -> None:
        """Run a statement once for each row of values, when it is committed."""
        self._changes += [(statement, some) for some in values]

    def one(self, statement: str, *values: Any) -> Found:
        """The rows for one statement."""
        return self.ask([(statement, values)])[0]

    def turn_or_post(self, name: str, operations: Operations) -> tuple[Found | None, bool]:
        """If it is our turn, what is posted, in a transaction that lasts as long as the turn.

        If not, the operations are posted; and whether the turn was free after that.
        """
        _, turn, _, waiting = self.ask([_BEGIN, _TURN, (_POST, (name, json.dumps(operations))), _WAITING])
        if turn == [("true",)]:
            return waiting, False
        # who had the turn may have looked just before we posted, and be gone
        return None, self.ask([_COMMIT, _FREE])[1] == [(True,)]

    def turn_if_free(self) -> Found | None:
        """The same, for those who have posted and expect that the turn is taken."""
        if self.ask([_FREE]) != [[(True,)]]:
            return None
        _, turn, waiting = self.ask([_BEGIN, _TURN, _WAITING])
        if turn == [("true",)]:
            return waiting
        self.ask([_COMMIT])
        return None

    def begin_again(self) -> None:
        """Forget what was done in this transaction."""
        self._changes.clear()
        self._connection.rollback()
        self.ask([_BEGIN, ("select pg_advisory_xact_lock(?)", (_LOCK,))])

    def carry_out(self, mine: Operations, post: str, waiting: Found) -> Outcomes:
        """It is our turn: carry out what waits, and commit, which tells the others and gives the turn back."""
        posted = {name: json.loads(operations) for name, operations in waiting if name != post}
        outcomes, others = carry_out_all(Rows(self), mine, posted)
        # numbers travel with the word itself; the rest is for those only who may read the table
        lines = {name: " ".join([name, *_numbers(other)]) for name, other in others.items()}
        in_table = [name for name, line in lines.items() if line == name]
        gone = [name for name in (post, *lines) if name and name not in in_table]
        self.write(_ANSWER, [(json.dumps(others[name]), name) for name in in_table])
        self.write(_REMOVE, [(gone,)] if gone else [])
        self.write("select pg_notify(?, ?)", [(_channel(name), line) for name, line in lines.items()])
        self.ask([*self._changes, _COMMIT, _WAKE])
        return outcomes

    def told(self, post: str, seconds: float) -> Outcomes | None:
        """Sleep until somebody tells us something; the outcomes of what was posted, if somebody has carried it out."""
        notes = [note.payload for note in self._connection.notifies(timeout=seconds, stop_after=1)]
        for name, *numbers in (note.split(" ") for note in notes):
            if name == post and numbers:
                return [{"number": int(number)} for number in numbers]
            if name == post:
                (found,) = self.ask([("delete from discreet_posts where name = ? returning outcomes", (post,))])
                return json.loads(found[0][0]) if found else None
        return None


def _channel(post: str) -> str:
    """Where those listen who have posted this."""
    return _CHANNEL + post.partition("-")[0]


def _numbers(outcomes: Outcomes) -> list[str]:
    """The outcomes, if they are nothing but numbers of entries."""
    numbers = [str(outcome["number"]) for outcome in outcomes if outcome.keys() == {"number"}]
    return numbers if len(numbers) == len(outcomes) else []
