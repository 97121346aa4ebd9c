"""Asking an engine: one question at a time, as long as the question may take, and without a
word of the engine's own.

A question ends by a time limit, or because `Session.cancel` ends it. The engine is told to
stop where it can be told: DuckDB on a connection of ours, and Spark. Any other engine
finishes the step that it is at. A draw ends when it next asks for bits, or looks up.
Whatever comes of that, an answer or an error, the question has ended, with one text and
at its full price.

To read a statement takes DuckDB as long as to carry it out on a few thousand rows, so
it keeps the plan of one that comes again.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import EngineError, ParameterError, QuestionEndedError
from discreet.exact.rationals import Number, exact_decimal, nearest_float, positive
from discreet.randomness.chance import Bits, SystemBits

if TYPE_CHECKING:
    import duckdb

Found = TypeVar("Found")

_INTERRUPTED = ("Query interrupted",)
"""What DuckDB makes of Ctrl-C: a RuntimeError of its own, or an exception whose name says so."""
_PAUSE = 0.05
"""Seconds until the engine is told again: DuckDB forgets what it is told between two statements."""
_HINT = (
    "Spark can be stopped, and DuckDB if discreet reads the table itself (files, pandas, Arrow)."
)


@dataclass(frozen=True, slots=True)
class Cancellation:
    """How an engine is stopped that works for one question.

    working: held by the thread that asks the engine, as long as it asks.
    pull: called by another thread meanwhile.
    """

    working: Callable[[], Any]
    pull: Callable[[], object]


def brake_of(frame: Any, connection: duckdb.DuckDBPyConnection | None) -> Cancellation | None:
    """How the engine of a lazy frame is stopped; None where it cannot be.

    connection: of ours, where DuckDB reads the frame. One that was handed over is not
        stopped: it may be at work for its owner.
    """
    if connection is not None:
        return Cancellation(nullcontext, connection.interrupt)
    if not frame.implementation.is_pyspark():
        return None
    spark = frame.to_native().sparkSession.sparkContext
    tag = f"discreet-{secrets.token_hex(8)}"

    @contextmanager
    def tagged() -> Iterator[None]:
        # The tags of a Spark session do not reach the thread that runs its jobs; those of
        # its context do.
        spark.addJobTag(tag)
        try:
            yield
        finally:
            spark.removeJobTag(tag)

    return Cancellation(tagged, lambda: spark.cancelJobsWithTag(tag))


def read_time_limit(value: Number | None, brake: Cancellation | None) -> float | None:
    """The seconds that a question may take, or a refusal where nothing could stop it."""
    if value is None:
        return None
    seconds = positive(exact_decimal(value, "time_limit"), value, "time_limit")
    if brake is None:
        rule = "left out if the engine cannot be stopped"
        raise ParameterError("time_limit", rule, value, _HINT)
    # longer than this no thread can wait
    return min(nearest_float(seconds), threading.TIMEOUT_MAX)


@dataclass(slots=True, eq=False)
class Deadline:
    """The deadline of a question. Enter it while the question is answered.

    limit: seconds from then on; None for no limit.

    ended_idle: whether it ended while it neither asked an engine nor waited for one.
    """

    brake: Cancellation | None = None
    limit: float | None = None
    ended: bool = field(default=False, init=False)
    ended_idle: bool = field(default=False, init=False)
    _over: bool = field(default=False, init=False)
    _at_work: int | None = field(default=None, init=False)
    _turn: threading.Condition = field(default_factory=threading.Condition, init=False)
    _timer: threading.Timer | None = field(default=None, init=False)
    _token: Token[Deadline | None] | None = field(default=None, init=False)

    def __enter__(self) -> Deadline:
        self._token = WATCH.set(self)
        if self.limit is not None:
            self._timer = threading.Timer(self.limit, self.end)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """From now on nothing can end the question any more."""
        if self._token is not None:
            WATCH.reset(self._token)
        with self._turn:
            self._over = True
            self._turn.notify_all()
        if self._timer is not None:
            self._timer.cancel()

    @contextmanager
    def working(self) -> Iterator[None]:
        """While the engine is asked for this question, and for no other one."""
        with nullcontext() if self.brake is None else self.brake.working():
            with self._turn:
                if self.ended:
                    # it ended while it waited for the engine
                    self.ended_idle = False
                    raise QuestionEndedError
                self._at_work = threading.get_ident()
            try:
                yield
            finally:
                # After this the engine is another question's: it is not told to stop any more.
                with self._turn:
                    self._at_work = None
                    self._turn.notify_all()

    def end(self) -> None:
        """End the question, unless it is answered already. It stays paid for."""
        with self._turn:
            if not self.ended and not self._over:
                self.ended, self.ended_idle = True, self._at_work is None
            while self.ended and self._at_work and not self._over and self.brake is not None:
                self.brake.pull()
                # a signal's handler stands in the way of the work itself: that goes on after it
                if self._at_work == threading.get_ident():
                    return
                self._turn.wait(_PAUSE)


class WatchedBits:
    """The bits of a draw, which ends with its question: a long draw asks for bits often, or
    looks up.

    bits: None for the system's generator.
    """

    __slots__ = ("_draw", "_watch", "seeded")

    def __init__(self, bits: Bits | None, watch: Deadline) -> None:
        chosen = SystemBits() if bits is None else bits
        self._draw, self._watch, self.seeded = chosen.draw, watch, chosen.seeded

    def draw(self, count: int) -> int:
        """Return a uniform integer below 2**count, unless the question has ended."""
        self.look_up()
        return self._draw(count)

    def look_up(self) -> None:
        """Raise if the question has ended."""
        if self._watch.ended:
            raise QuestionEndedError


WATCH: ContextVar[Deadline | None] = ContextVar("discreet_watch", default=None)
"""Over the question that is being answered here, in this thread."""


def with_lock(turn: AbstractContextManager[Any], work: Callable[[], Found]) -> Found:
    """What comes back from an engine. Its own message may show rows, so it is never
    passed on.

    turn: what to hold while the engine is asked.
    """
    watch = WATCH.get()
    try:
        with turn, nullcontext() if watch is None else watch.working():
            return work()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        # a panic of an engine in Rust is no Exception
        interrupted = type(error).__name__ == "InterruptException" or error.args == _INTERRUPTED
    # Raised out here, so that the engine's own error, which may show rows, does not hang on
    # to ours.
    if watch is not None and watch.ended:
        raise QuestionEndedError
    if interrupted:
        raise KeyboardInterrupt
    raise EngineError


_MOST_PLANS = 32


class Plans:
    """Statements of one connection of ours, and plans of those that came more than once.

    The caller holds the turn of the connection. A plan is made after its question was
    paid for, as it may look into files; it holds no rows, and reads them anew each
    time.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        # by their text, the latest last: the number of the plan, if there is one
        self._seen: dict[str, int | None] = {}

    def execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        """Carry out a statement without parameters."""
        known = statement in self._seen
        number = self._seen.pop(statement, None)
        if not known:
            return self._once(statement)
        if number is None:
            number = self._free_number()
            self._connection.execute(f"prepare __discreet_plan_{number} as {statement}")
        self._seen[statement] = number
        return self._connection.execute(f"execute __discreet_plan_{number}")

    def _once(self, statement: str) -> duckdb.DuckDBPyConnection:
        """A statement that is new: most never come again, so a plan is made at the second
        time.
        """
        if len(self._seen) >= _MOST_PLANS:
            # its number is the next one's, and so is the place of its plan
            del self._seen[next(iter(self._seen))]
        self._seen[statement] = None
        return self._connection.execute(statement)

    def _free_number(self) -> int:
        used = set(self._seen.values())
        return next(number for number in range(_MOST_PLANS) if number not in used)


@dataclass(slots=True)
class Query:
    """A query that is asked as often as its question: a statement of SQL, or a relation on
    a connection that was handed over. It is made when it is asked first, after the charge.

    turn: what to hold while the engine is asked.
    make: the statement or the relation.
    plans: of the connection, where it is ours.
    """

    turn: AbstractContextManager[Any]
    make: Callable[[], Any] | None
    plans: Plans | None
    _made: Any = field(default=None, init=False)

    def columns(self) -> Mapping[str, Any]:
        """The columns of the result as arrays, which come back in a fraction of the time of
        rows.
        """
        return with_lock(self.turn, self.fetch)

    def fetch(self) -> Mapping[str, Any]:
        """Fetch for a caller who holds the turn already."""
        found: Mapping[str, Any] = self._execute().fetchnumpy()
        return found

    def fetch_rows(self) -> list[Any]:
        """The rows of the result."""
        found: list[Any] = self._execute().fetchall()
        return found

    def _execute(self) -> Any:
        if self.make is not None:
            # let go of, with the table that it is made of: that may hold this query
            self._made, self.make = self.make(), None
        return self._made if self.plans is None else self.plans.execute(self._made)
