"""A watch over one question: it ends by a time limit, or because somebody cancels it.

The engine is told to stop where it can be told: DuckDB on a connection of ours, and Spark.
Any other engine finishes the step that it is at. Whatever comes of that, an answer or an
error, the question has ended, with one text and at its full price.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, QuestionEndedError
from discreet.exact.rationals import Number, exact_decimal, nearest_float, positive

if TYPE_CHECKING:
    import duckdb

_PAUSE = 0.05
"""Seconds until the engine is told again: DuckDB forgets what it is told between two statements."""
_HINT = (
    "DuckDB can be stopped where discreet reads the table itself (files, pandas, Arrow), and Spark."
)


@dataclass(frozen=True, slots=True)
class Brake:
    """How an engine is stopped that works for one question.

    working: held by the thread that asks the engine, as long as it asks.
    pull: called by another thread meanwhile.
    """

    working: Callable[[], Any]
    pull: Callable[[], object]


def brake_of(frame: Any, connection: duckdb.DuckDBPyConnection | None) -> Brake | None:
    """How the engine of a lazy frame is stopped; None where it cannot be.

    connection: of ours, where DuckDB reads the frame. One that belongs to somebody else may
        be at work for them.
    """
    if connection is not None:
        return Brake(nullcontext, connection.interrupt)
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

    return Brake(tagged, lambda: spark.cancelJobsWithTag(tag))


def read_time_limit(value: Number | None, brake: Brake | None) -> float | None:
    """The seconds that a question may take, or a refusal where nothing could stop it."""
    if value is None:
        return None
    seconds = positive(
        exact_decimal(value, "time_limit", "Session"), value, "time_limit", "Session"
    )
    if brake is None:
        rule = "left out where the engine cannot be stopped"
        raise ParameterError("Session", "time_limit", rule, value, _HINT)
    # longer than this no thread can wait
    return min(nearest_float(seconds), threading.TIMEOUT_MAX)


@dataclass(slots=True, eq=False)
class Watch:
    """Whether a question has to end. Enter it while the question is answered.

    limit: seconds from then on; None for no limit.
    """

    brake: Brake | None = None
    limit: float | None = None
    ended: bool = field(default=False, init=False)
    _over: bool = field(default=False, init=False)
    _at_work: int | None = field(default=None, init=False)
    _turn: threading.Condition = field(default_factory=threading.Condition, init=False)
    _timer: threading.Timer | None = field(default=None, init=False)

    def __enter__(self) -> Watch:
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
            self.ended = self.ended or not self._over
            while self.ended and self._at_work and not self._over and self.brake is not None:
                self.brake.pull()
                # a signal's handler stands in the way of the work itself: that goes on after it
                if self._at_work == threading.get_ident():
                    return
                self._turn.wait(_PAUSE)
