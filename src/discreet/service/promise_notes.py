"""What is noted of questions that nobody waits for, so that it outlives their process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.service.keys import make_secret

TABLE = (
    "promises (id TEXT PRIMARY KEY, analyst TEXT NOT NULL, dataset TEXT NOT NULL, "
    "question TEXT NOT NULL, key TEXT NOT NULL, holder TEXT NOT NULL, made BIGINT NOT NULL, "
    "state TEXT NOT NULL, number BIGINT NOT NULL)"
)
RUNNING = "running"
_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A question that nobody waits for.

    question: its digest.
    key: the name under which the ledger knows it, once it is paid for.
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
    """The table of such questions.

    run: carries out one statement, durably.
    """

    def __init__(self, run: Callable[..., list[Any]]) -> None:
        self._run = run

    def add(self, name: str, analyst: str, made: Promised) -> None:
        """Note a question under a name that nobody can guess. Old ones are forgotten."""
        now = int(time.time())
        self._run("DELETE FROM discreet_promises WHERE made < ?", now - _SECONDS)
        about = (made.dataset, made.question, made.key, made.holder, now, made.state, made.number)
        self._run(
            "INSERT INTO discreet_promises VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(name, analyst, *about),
        )

    def find(self, name: str, analyst: str) -> Promised | None:
        """A question of this analyst; None if it is unknown, or somebody else's."""
        rows = self._run(
            "SELECT dataset, question, key, holder, state, number FROM discreet_promises "
            "WHERE id = ? AND analyst = ?",
            *(name, analyst),
        )
        words = ("dataset", "question", "key", "holder", "state", "number")
        return Promised(**dict(zip(words, rows[0], strict=True))) if rows else None

    def end(self, name: str, state: str, number: int) -> None:
        """Note what became of a question: its process says so."""
        self._run(
            "UPDATE discreet_promises SET state = ?, number = ? WHERE id = ?", state, number, name
        )

    def end_for(self, name: str, state: str, number: int) -> None:
        """Note what became of a question whose process is gone, unless it has said so itself."""
        self._run(
            "UPDATE discreet_promises SET state = ?, number = ? WHERE id = ? AND state = ?",
            *(state, number, name, RUNNING),
        )


def make_name() -> str:
    """A name for a question that nobody waits for."""
    return make_secret()[:32]
