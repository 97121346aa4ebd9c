"""The service's own tables, beside the ledger: keys, links, cookies, wishes, which
questions have an answer, questions that no client waits for, and failures. They have no
answer and no row.

The tables are in a file (SQLite) or on a server (PostgreSQL); several workers share
them. Whoever writes them decides who may ask and who looks after the data sets, so
they are trusted by the rules for a ledger, and by the same code.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Protocol, SupportsIndex

from discreet import DiscreetError, LedgerError, MissingExtraError
from discreet.ledger.address import Address, read_address
from discreet.ledger.postgresql_connection import Reconnecting, ServerConnection
from discreet.ledger.postgresql_schema import prepare_tables, require_tables
from discreet.ledger.sqlite import connect
from discreet.ledger.sqlite_file import create_file, require_our_file, require_our_logs
from discreet.service.canonical import CheckedQuestion
from discreet.service.keys import NewKey, hashed, key_id, make_key, make_secret

PROMISES = (
    "promises (id TEXT PRIMARY KEY, analyst TEXT NOT NULL, dataset TEXT NOT NULL, "
    "question TEXT NOT NULL, key TEXT NOT NULL, holder TEXT NOT NULL, made BIGINT NOT NULL, "
    "state TEXT NOT NULL, number BIGINT NOT NULL)"
)
RUNNING = "running"
_PROMISE_SECONDS = 7 * 24 * 3600

_TABLES = (
    "keys (id TEXT PRIMARY KEY, hash TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, "
    "made BIGINT NOT NULL, expires BIGINT NOT NULL)",
    "links (hash TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, "
    "expires BIGINT NOT NULL)",
    "cookies (hash TEXT PRIMARY KEY, key TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, "
    "expires BIGINT NOT NULL)",
    "wishes (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, analyst TEXT NOT NULL, "
    "reason TEXT NOT NULL, made BIGINT NOT NULL, decision TEXT NOT NULL)",
    "answers (dataset TEXT NOT NULL, analyst TEXT NOT NULL, digest TEXT NOT NULL, "
    "family TEXT NOT NULL, epsilon TEXT NOT NULL, number BIGINT NOT NULL, "
    "PRIMARY KEY (dataset, analyst, digest))",
    PROMISES,
    "extensions (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, analyst TEXT NOT NULL, "
    "reason TEXT NOT NULL, made BIGINT NOT NULL)",
    "failures (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, made BIGINT NOT NULL)",
    "late (dataset TEXT PRIMARY KEY, number BIGINT NOT NULL)",
)
_DEFINITIONS = {
    f"discreet_{name}": f"({columns}"
    for name, columns in (table.split(" (", maxsplit=1) for table in _TABLES)
}
"""For each table its columns."""
_SCHEMA = "discreet_service"
"""The schema of the tables on a server."""
_PATIENCE = 30
"""Seconds to wait for others who write."""
_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL")
_COOKIE_SECONDS = 12 * 3600
_LINK_SECONDS = 3600
# compared where no key is found, so that an unknown key takes the same work
_NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a key or cookie: the name that shares are given to, and the role."""

    name: str
    role: str

    @property
    def is_steward(self) -> bool:
        """True if this person looks after the data sets."""
        return self.role in ("steward", "both")

    @property
    def is_analyst(self) -> bool:
        """True if this person asks questions."""
        return self.role in ("analyst", "both")


@dataclass(frozen=True, slots=True)
class Key:
    """A key, without its secret."""

    id: str
    name: str
    role: str
    expires: int


@dataclass(frozen=True, slots=True)
class Wish:
    """A request for more budget, with its reason, and what became of it."""

    id: str
    dataset: str
    analyst: str
    reason: str
    made: int
    decision: str


@dataclass(frozen=True, slots=True)
class Extension:
    """A raised budget, and why: of an analyst, or of the data set if that name is empty."""

    dataset: str
    analyst: str
    reason: str
    made: int


class Store:
    """The service's own tables.

    address: the path of a file, or the URL of a server.

    is_near: whether the tables are a file, which is read within microseconds.
    """

    def __init__(self, address: str) -> None:
        # two connections, so that readers do not wait for a write that is made durable
        place = read_address(address, owner="discreet serve", parameter="--keys", example="keys.db")
        with _hiding_details():
            self._writing, self._reading = _open(place)
        self.is_near = place.path is not None
        self.promises = PromiseNotes(self._run)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickle and copy: the address, with its password, would be stored."""
        raise TypeError("A store cannot be copied or pickled. Open it again by its address.")

    def close(self) -> None:
        """Close the connections."""
        self._writing.close()
        self._reading.close()

    # --- keys

    def add_key(self, name: str, role: str, *, days: int) -> NewKey:
        """Make a key for a person. Its text is not kept."""
        key, now = make_key(), int(time.time())
        self._run(
            "INSERT INTO discreet_keys VALUES (?, ?, ?, ?, ?, ?)",
            *(key.id, key.hash, name, role, now, now + days * 86400),
        )
        return key

    def keys(self) -> list[Key]:
        """All keys that are valid."""
        rows = self._run(
            "SELECT id, name, role, expires FROM discreet_keys WHERE expires > ? ORDER BY name, id",
            int(time.time()),
        )
        return [Key(*row) for row in rows]

    def remove_key(self, name: str) -> bool:
        """End a key, and sign out whoever signed in with it. Return whether there was one."""
        self._run("DELETE FROM discreet_cookies WHERE key = ?", name)
        return bool(self._run("DELETE FROM discreet_keys WHERE id = ? RETURNING id", name))

    def caller(self, text: str) -> Caller | None:
        """Find the owner of this key, or None. An unknown key takes the same work as a "
        "known one."""
        rows = self._run(
            "SELECT hash, name, role, expires FROM discreet_keys WHERE id = ?", key_id(text)
        )
        kept, name, role, expires = rows[0] if rows else (_NO_HASH, "", "", 0)
        right = hmac.compare_digest(kept, hashed(text))
        return Caller(name, role) if right and expires > time.time() else None

    # --- links and cookies

    def add_link(self, name: str, role: str) -> str:
        """Make the secret of a link that signs a person in, once."""
        secret = make_secret()
        self._run(
            "INSERT INTO discreet_links VALUES (?, ?, ?, ?)",
            *(hashed(secret), name, role, int(time.time()) + _LINK_SECONDS),
        )
        return secret

    def use_link(self, secret: str) -> str | None:
        """Make a cookie for a link, and delete the link; None if it is not valid."""
        rows = self._run(
            "DELETE FROM discreet_links WHERE hash = ? RETURNING name, role, expires",
            hashed(secret),
        )
        if not rows or rows[0][2] < time.time():
            return None
        return self._add_cookie("", rows[0][0], rows[0][1])

    def use_key(self, text: str) -> str | None:
        """Make a cookie for a key; None if the key is not valid."""
        found = self.caller(text)
        return None if found is None else self._add_cookie(key_id(text), found.name, found.role)

    def _add_cookie(self, key: str, name: str, role: str) -> str:
        secret, now = make_secret(), int(time.time())
        self._run("DELETE FROM discreet_cookies WHERE expires < ?", now)
        self._run(
            "INSERT INTO discreet_cookies VALUES (?, ?, ?, ?, ?)",
            *(hashed(secret), key, name, role, now + _COOKIE_SECONDS),
        )
        return secret

    def signed_in(self, cookie: str) -> Caller | None:
        """Find the owner of this cookie; None if it is not valid, or if its key is
        not any more.
        """
        now = int(time.time())
        rows = self._run(
            "SELECT name, role FROM discreet_cookies WHERE hash = ? AND expires > ? AND (key = '' "
            "OR key IN (SELECT id FROM discreet_keys WHERE expires > ?))",
            *(hashed(cookie), now, now),
        )
        return Caller(*rows[0]) if rows else None

    def sign_out(self, cookie: str) -> None:
        """Forget a cookie."""
        self._run("DELETE FROM discreet_cookies WHERE hash = ?", hashed(cookie))

    # --- wishes

    def add_wish(self, dataset: str, analyst: str, reason: str) -> Wish:
        """Note that an analyst needs a larger share."""
        wish = Wish(make_secret()[:16], dataset, analyst, reason, int(time.time()), "")
        self._run(
            "INSERT INTO discreet_wishes VALUES (?, ?, ?, ?, ?, ?)",
            *(wish.id, dataset, analyst, reason, wish.made, ""),
        )
        return wish

    def wishes(self, analyst: str | None = None) -> list[Wish]:
        """The wishes of one analyst, or of all, newest first."""
        mine, values = ("", ()) if analyst is None else (" WHERE analyst = ?", (analyst,))
        rows = self._run(
            "SELECT id, dataset, analyst, reason, made, decision FROM discreet_wishes"
            f"{mine} ORDER BY made DESC, id LIMIT 200",
            *values,
        )
        return [Wish(*row) for row in rows]

    def open_wishes(self, dataset: str, analyst: str) -> int:
        """How many wishes of an analyst are not decided yet."""
        rows = self._run(
            "SELECT count(*) FROM discreet_wishes "
            "WHERE dataset = ? AND analyst = ? AND decision = ''",
            *(dataset, analyst),
        )
        return int(rows[0][0])

    def decide(self, name: str, decision: str) -> Wish | None:
        """Note the decision about an open wish, and return the wish; None if there is none."""
        rows = self._run(
            "UPDATE discreet_wishes SET decision = ? WHERE id = ? AND decision = '' "
            "RETURNING id, dataset, analyst, reason, made, decision",
            *(decision, name),
        )
        return Wish(*rows[0]) if rows else None

    # --- extensions

    def add_extension(self, dataset: str, analyst: str | None, reason: str) -> None:
        """Note why a budget was raised, for analysts to read."""
        self._run(
            "INSERT INTO discreet_extensions VALUES (?, ?, ?, ?, ?)",
            *(make_secret(), dataset, analyst or "", reason, int(time.time())),
        )

    def extensions(self, datasets: Sequence[str], analyst: str) -> list[Extension]:
        """Why budgets of these data sets were raised: the data sets' own and those of
        this analyst, newest first.
        """
        rows = self._run(
            "SELECT dataset, analyst, reason, made FROM discreet_extensions "
            "WHERE analyst = ? OR analyst = '' ORDER BY made DESC, id LIMIT 200",
            analyst,
        )
        return [Extension(*row) for row in rows if row[0] in datasets]

    # --- answers

    def keep(self, question: CheckedQuestion, analyst: str, number: int) -> None:
        """Note under which number of the ledger a question has its answer."""
        named = (question.digest, question.family, str(question.epsilon))
        self._run(
            "INSERT INTO discreet_answers VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (dataset, analyst, digest) DO UPDATE SET number = excluded.number",
            *(question.dataset, analyst, *named, number),
        )

    def find(self, question: CheckedQuestion, analyst: str) -> int | None:
        """The number of the answer to a question that was asked before."""
        rows = self._run(
            "SELECT number FROM discreet_answers WHERE dataset = ? AND analyst = ? AND digest = ?",
            *(question.dataset, analyst, question.digest),
        )
        return int(rows[0][0]) if rows else None

    def family(self, question: CheckedQuestion, analyst: str) -> list[tuple[Fraction, int]]:
        """The epsilons and numbers of this analyst's answers of which the answer to a
        question may be a part: those with no smaller epsilon, the largest first.
        """
        rows = self._run(
            "SELECT epsilon, number FROM discreet_answers "
            "WHERE dataset = ? AND analyst = ? AND family = ?",
            *(question.dataset, analyst, question.family),
        )
        found = ((Fraction(epsilon), int(number)) for epsilon, number in rows)
        return sorted((each for each in found if each[0] >= question.epsilon), reverse=True)

    # --- failures

    def add_failure(self, dataset: str) -> None:
        """Note that a question failed."""
        self._run(
            "INSERT INTO discreet_failures VALUES (?, ?, ?)",
            *(make_secret(), dataset, int(time.time())),
        )

    def failures(self, dataset: str) -> int:
        """How many questions failed since the steward looked into failures."""
        rows = self._run("SELECT count(*) FROM discreet_failures WHERE dataset = ?", dataset)
        return int(rows[0][0])

    def forget_failures(self, dataset: str) -> None:
        """Forget the failures of a data set: the steward has looked into them."""
        self._run("DELETE FROM discreet_failures WHERE dataset = ?", dataset)

    def add_late(self, dataset: str, number: int) -> None:
        """Add to the number of replies that were not ready at their first time."""
        self._run(
            "INSERT INTO discreet_late VALUES (?, ?) ON CONFLICT (dataset) "
            "DO UPDATE SET number = discreet_late.number + excluded.number",
            *(dataset, number),
        )

    def late(self, dataset: str) -> int:
        """How many replies were not ready at their first time."""
        rows = self._run("SELECT number FROM discreet_late WHERE dataset = ?", dataset)
        return int(rows[0][0]) if rows else 0

    def _run(self, statement: str, *values: Any) -> list[Any]:
        """Run one statement, which is durable when this returns."""
        connection = self._reading if statement.startswith("SELECT") else self._writing
        with _hiding_details():
            return connection.run(statement, values)

    def require_ready(self) -> None:
        """Raise unless the tables can be read now, by either connection."""
        for connection in (self._writing, self._reading):
            with _hiding_details():
                connection.run("SELECT count(*) FROM discreet_keys", ())


@contextmanager
def _hiding_details() -> Iterator[None]:
    """Turn errors of a database, which may quote what was asked, into ours."""
    try:
        yield
    except DiscreetError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise LedgerError(f"The service cannot use its own tables: {kind}.") from None


class StoreConnection(Protocol):
    """A connection that one thread uses at a time, and that commits each statement."""

    def run(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        """Run a statement, in which question marks stand for the values; return its rows."""

    def close(self) -> None:
        """Close the connection."""


class _FileConnection:
    """A connection to a file, which must be as trustworthy as the file of a ledger."""

    def __init__(self, name: str, path: Path) -> None:
        self._lock = threading.Lock()
        place = path.resolve()
        try:
            create_file(place)
            require_our_file(path, name)
            require_our_logs(place, name)
        except OSError as error:
            raise LedgerError(
                f"The {name} must be readable and writable. Got: {error.strerror}."
            ) from None
        self._connection = connect(place)
        try:
            for pragma in (f"busy_timeout = {1000 * _PATIENCE}", *_PRAGMAS):
                self._connection.execute(f"PRAGMA {pragma}").fetchall()
        except BaseException:
            self._connection.close()
            raise

    def run(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        self._connection.close()


class _PostgresConnection:
    """A connection to a server, where the tables are in a schema of their own. One that was
    lost is made again.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name
        self._connection = Reconnecting(self._connect)

    def prepare(self) -> None:
        """Make the tables that are not there yet."""
        with closing(self._server()) as server:
            prepare_tables(server, _SCHEMA, _DEFINITIONS)

    def run(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        # A server that was restarted has ended all sessions: that is no reason to fail.
        with self._connection.use() as connection:
            lost = connection.is_lost
        if lost:
            self._connection.drop()
        with self._connection.use() as connection:
            return connection.one(statement, *values)

    def close(self) -> None:
        self._connection.drop()

    def _connect(self) -> ServerConnection:
        connection = self._server()
        try:
            require_tables(connection, _SCHEMA, _DEFINITIONS)
        except BaseException:
            connection.close()
            raise
        return connection

    def _server(self) -> ServerConnection:
        return ServerConnection(self._url, self._name, _PATIENCE, kind="keys")


def _open(place: Address) -> tuple[StoreConnection, StoreConnection]:
    """Two connections, one to write and one to read, once the tables are there."""
    if place.path is not None:
        writing, reading = (_FileConnection(f"keys {place.name}", place.path) for _ in range(2))
        for name, columns in _DEFINITIONS.items():
            writing.run(f"CREATE TABLE IF NOT EXISTS {name} {columns}", ())
        return writing, reading
    writer, reader = (_PostgresConnection(place.url, place.name) for _ in range(2))
    try:
        writer.prepare()
    except ImportError:
        raise MissingExtraError("Keys on PostgreSQL", "ledger") from None
    return writer, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A question that no client waits for.

    question: its digest.
    key: the key under which the ledger keeps it, once it is paid for.
    holder: the process that answers it, as the ledger names it.
    state: "running", "done", or the problem that was found, as JSON.
    number: of its answer, once it has one.
    """

    dataset: str
    question: str
    key: str
    holder: str
    state: str = RUNNING
    number: int = 0


class PromiseNotes:
    """The table of the questions that no client waits for.

    run: a function that runs one statement, durably.
    """

    def __init__(self, run: Callable[..., list[Any]]) -> None:
        self._run = run

    def add(self, name: str, analyst: str, made: Promised) -> None:
        """Note a question under a name that nobody can guess, and forget old ones."""
        now = int(time.time())
        self._run("DELETE FROM discreet_promises WHERE made < ?", now - _PROMISE_SECONDS)
        about = (made.dataset, made.question, made.key, made.holder, now, made.state, made.number)
        self._run(
            "INSERT INTO discreet_promises VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(name, analyst, *about),
        )

    def find(self, name: str, analyst: str) -> Promised | None:
        """A question of this analyst; None if it is unknown, or another analyst's."""
        rows = self._run(
            "SELECT dataset, question, key, holder, state, number FROM discreet_promises "
            "WHERE id = ? AND analyst = ?",
            *(name, analyst),
        )
        words = ("dataset", "question", "key", "holder", "state", "number")
        return Promised(**dict(zip(words, rows[0], strict=True))) if rows else None

    def end(self, name: str, state: str, number: int) -> None:
        """Note what became of a question, in the process that answered it."""
        self._run(
            "UPDATE discreet_promises SET state = ?, number = ? WHERE id = ?", state, number, name
        )

    def end_for(self, name: str, state: str, number: int) -> None:
        """Note what became of a question whose process is gone, unless it was noted before."""
        self._run(
            "UPDATE discreet_promises SET state = ?, number = ? WHERE id = ? AND state = ?",
            *(state, number, name, RUNNING),
        )


def make_name() -> str:
    """A new name for a question that no client waits for."""
    return make_secret()[:32]
