"""The turn and the posts of a ledger on a server: statements that travel together.

The process that locks the one row of `discreet_turn` has the turn until its transaction
ends. Only roles that may write the ledger may lock it. Nothing here is
believed: what counts is in the chain, where the number of an entry is a primary key, so
that of two who write at the same time one fails.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from discreet.ledger.group_commit import (
    MOST_AT_ONCE,
    DoubtfulError,
    Operations,
    Outcomes,
    acknowledged,
    carry_out_all,
    decide_once,
    look_up,
)
from discreet.ledger.postgresql_connection import (
    BEGIN,
    COMMIT,
    SNAPSHOT,
    ServerConnection,
    channel_of,
)
from discreet.ledger.transaction import Found, Rows, Statement

# The turn comes first, by itself: what a statement sees is fixed when it begins, and must be
# younger than the turn.
_LOCKED = "(select from discreet_turn for update skip locked)"
_TURN: Statement = (
    f"select set_config('discreet.turn', count(*)::text, true) from {_LOCKED} as mine",
    (),
)
_MINE = [("1",)]
_TURN_IS = "current_setting('discreet.turn')"
# Held for a moment only, by a statement that is in no transaction of ours.
_FREE: Statement = "select one from discreet_turn for update skip locked", ()
# After a crash of the server the table is empty.
_SEAT: Statement = "insert into discreet_turn values (1) on conflict do nothing", ()
_TURN_NOW: Statement = "select one from discreet_turn for update nowait", ()
_WAIT_FOR_TURN: Statement = "select one from discreet_turn for update", ()
# Without the turn nothing is read.
_WAITING: Statement = (
    f"select name, operations from discreet_posts where {_TURN_IS} = '1' limit ?",
    (MOST_AT_ONCE,),
)
_INSERT = "insert into discreet_posts (name, operations)"
_POST_UNLESS_OURS = f"{_INSERT} select ?, ? where {_TURN_IS} = '0'"
_POST = f"{_INSERT} values (?, ?) on conflict do nothing"
_ANY_POST: Statement = "select 1 from discreet_posts limit 1", ()
_IS_POSTED = "select 1 from discreet_posts where name = ?"
_ENTRIES = "select ticket, number, body from discreet_entries where ticket = any(?)"
_REMOVE = "delete from discreet_posts where name = any(?) or posted < now() - interval '10 minutes'"
# One of the processes that wait, and not always the same one: it may be dead.
_WAKE_NEXT: Statement = (
    "select pg_notify(split_part(name, '-', 1), '') from "
    "(select name from discreet_posts order by random() limit 1) as waiting",
    (),
)
_WAKE = "select pg_notify(?, '')"


class Posts:
    """The turn and the posts by one connection, while a thread holds it. For `Rows` it is
    also the tables within one transaction.
    """

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        # they travel with the commit
        self._changes: list[Statement] = []

    def ask(self, questions: Sequence[Statement]) -> list[Found]:
        """The rows for each question, in one round trip."""
        return self._connection.ask(questions)

    def write(self, statement: str, values: Found) -> None:
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

    def carry_out_ahead(self, mine: Operations) -> Outcomes | None:
        """Where nobody else writes: take the turn and write what follows from what we
        remember, in one way to the server and back; None if that is not possible.

        Where another process has the turn nothing of ours is written, nor where another
        has written since: then the number of the entry is taken.
        """
        import psycopg

        memory, self._connection.memory = self._connection.memory, None
        if memory is None:
            return None
        rows = Rows(_Unasked(self), memory.copy())
        try:
            outcomes, _ = carry_out_all(rows, mine, {}, presuming=True)
        except DoubtfulError:
            self._connection.memory = memory
            return None
        try:
            *_, posted = self.ask([BEGIN, _TURN_NOW, *self._changes, COMMIT, _ANY_POST])
        except (psycopg.IntegrityError, psycopg.errors.LockNotAvailable):
            if self._connection.warned:
                # it is in the chain, and not where it has to be besides
                raise
            self._changes.clear()
            self._connection.rollback()
            return None
        self._connection.memory, self._connection.alone = rows.memory(), not posted
        if posted:
            self._wake_next()
        return outcomes

    def _wake_next(self) -> None:
        """Wake one of the processes that posted while we had the turn; where notes cannot be
        sent, it looks for itself.
        """
        import psycopg

        try:
            self.ask([_WAKE_NEXT])
        except (psycopg.OperationalError, psycopg.InternalError):
            self._connection.rollback()

    def turn_or_post(self, name: str, operations: Operations) -> tuple[Found | None, bool]:
        """If it is our turn, what is posted, in a transaction that lasts as long as the turn.

        If not, the operations are posted; and whether the turn was free after that.
        """
        text = _written(operations)
        _, turn, _, waiting = self.ask([BEGIN, _TURN, (_POST_UNLESS_OURS, (name, text)), _WAITING])
        if turn == _MINE:
            return waiting, False
        # who had the turn may have looked just before we posted, and be gone
        return None, bool(self.ask([COMMIT, _FREE])[1])

    def post_first(self, name: str, operations: Operations) -> bool:
        """Post operations, where others are expected to have the turn; whether it is free.

        The post is committed first: whoever gives the turn back looks for posts then.
        """
        post = _POST, (name, _written(operations))
        return bool(self.ask([BEGIN, post, COMMIT, _FREE])[-1])

    def turn(self) -> Found | None:
        """If it is our turn, what is posted, in a transaction that lasts as long as the turn."""
        _, turn, waiting = self.ask([BEGIN, _TURN, _WAITING])
        if turn == _MINE:
            return waiting
        self.ask([COMMIT])
        return None

    def begin_again(self) -> None:
        """Forget what was done in this transaction, and wait for the turn."""
        self._changes.clear()
        self._connection.rollback()
        self.ask([_SEAT, BEGIN, _WAIT_FOR_TURN])

    def carry_out(self, mine: Operations, post: str, waiting: Found) -> Outcomes:
        """It is our turn: carry out what waits, commit, which gives the turn back, and wake
        the processes that wait.

        Those who posted look into the chain for themselves; nobody tells them anything.
        """
        posted = {name: json.loads(text) for name, text in waiting if name != post}
        rows = Rows(self)
        outcomes, _ = carry_out_all(rows, mine, posted)
        gone = [name for name in (post, *posted) if name]
        self.write(_REMOVE, [(gone,)] if gone else [])
        channels = sorted({channel_of(name) for name in posted})
        wake: list[Statement] = [(_WAKE, (channel,)) for channel in channels]
        before, self._connection.memory = self._connection.memory, None
        looked_up = self._commit(mine, [*wake, _WAKE_NEXT])
        self._connection.alone = before is not None and before.head.number == rows.began_at
        if before is not None and self._connection.alone:
            rows.remember(before)
        self._connection.memory = rows.memory() if looked_up is None else None
        return looked_up or outcomes

    def _commit(self, mine: Operations, wake: list[Statement]) -> Outcomes | None:
        """Commit, and then send notes; our outcomes, if they had to be looked up.

        The notes have a transaction of their own, because a role that never reads its
        notes can fill the server's queue, and then every transaction that holds one
        fails. Where something failed, the chain says whether it was only that.
        """
        import psycopg

        try:
            self.ask([*self._changes, COMMIT, *wake])
        except psycopg.Error:
            if self._connection.warned:
                raise
            self._connection.rollback()
            outcomes = self.decide(mine)
            if outcomes is None:
                raise
            return outcomes
        return None

    def look(self, operations: Operations) -> Outcomes | None:
        """The outcomes, if all operations are in the chain."""
        return self._read(operations, self.ask([self._about(operations)])[0])

    def look_around(self, post: str, operations: Operations) -> tuple[Outcomes | None, bool, bool]:
        """The same; whether the operations still are posted; and whether the turn is free."""
        questions = [self._about(operations), (_IS_POSTED, (post,)), _SEAT, _FREE]
        found, posted, _, free = self.ask(questions)
        return self._read(operations, found), bool(posted), bool(free)

    def _about(self, operations: Operations) -> Statement:
        return _ENTRIES, ([operation.ticket for operation in operations],)

    def _read(self, operations: Operations, found: Found) -> Outcomes | None:
        entries = {ticket: (number, body) for ticket, number, body in found}
        if not all(operation.ticket in entries for operation in operations):
            return None
        return [acknowledged(one, *entries[one.ticket]) for one in operations]

    def decide(self, operations: Operations) -> Outcomes | None:
        """The outcomes as of one moment, if none of them changes anything: refusals, for example.

        That needs no turn, and nobody's word.
        """
        rows = Rows(_Moment(self))
        look_up(rows, operations)
        outcomes = [decide_once(rows, operation) for operation in operations]
        self.ask([COMMIT])
        return None if rows.is_changed else outcomes

    def post(self, name: str, operations: Operations) -> None:
        """Post operations, once more."""
        self.ask([(_POST, (name, _written(operations)))])

    def withdraw(self, post: str) -> None:
        """Take back what was posted."""
        self.ask([(_REMOVE, ([post],))])


def _kind(column: list[object]) -> str:
    return "integer" if isinstance(column[0], int) else "text"


def _written(operations: Operations) -> str:
    return json.dumps([operation.to_dict() for operation in operations])


class _Unasked:
    """The tables where nothing may be looked up."""

    def __init__(self, posts: Posts) -> None:
        self._posts = posts

    def ask(self, questions: Sequence[Statement]) -> list[Found]:
        raise DoubtfulError

    def write(self, statement: str, values: Found) -> None:
        self._posts.write(statement, values)


class _Moment:
    """The tables as of one moment, in a transaction that the first question begins."""

    def __init__(self, posts: Posts) -> None:
        self._posts = posts
        self._begin = [SNAPSHOT]

    def ask(self, questions: Sequence[Statement]) -> list[Found]:
        begin, self._begin = self._begin, []
        return self._posts.ask([*begin, *questions])[len(begin) :]

    def write(self, statement: str, values: Found) -> None:
        raise AssertionError("nothing is written here")
