"""How a question is answered: charge, read, wait, keep and reply; or give the kept
answer again. Replies that were not ready at their first time are counted.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet import (
    Accuracy,
    BudgetClosedError,
    BudgetExceededError,
    EngineError,
    Ledger,
    LedgerError,
    ParameterError,
)
from discreet.errors import KeyReusedError, ReservationLostError, ReservationRunningError
from discreet.ledger import KeptAnswer
from discreet.service.answer_parts import family_of, is_as_accurate, part_of
from discreet.service.breaker import Breaker
from discreet.service.canonical import CheckedQuestion, digest_of
from discreet.service.datasets import Published, SourceGoneError, public_mistake
from discreet.service.fixed_time import Attempt
from discreet.service.problems import (
    BUDGET_CLOSED,
    CLOSED,
    FAILED,
    KEY_REUSED,
    LOST,
    NOT_FOUND,
    RUNNING,
    UNAVAILABLE,
    Problem,
    RefusedError,
    too_expensive,
)
from discreet.service.store import Store

_MOST_BODIES = 1000
_MOST_LOOKED_AT = 100


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as bytes, which are the same whenever it is given.

    number: of its entry in the ledger.
    replayed: whether the answer was kept from an earlier question.
    """

    number: int
    body: bytes
    replayed: bool


@dataclass(frozen=True, slots=True)
class _Body:
    """An answer in memory: whose it is, the digest of its question, and its bytes."""

    analyst: str
    question: str
    body: bytes


class Answering:
    """Answers questions, each once."""

    def __init__(self, published: Published, store: Store) -> None:
        self._published, self._store = published, store
        # an answer never changes, so recent ones are kept in memory, by their numbers
        self._bodies: dict[int, _Body] = {}
        self.late = LateReplies(store)
        self.breaker = Breaker(store)

    def ask(self, question: CheckedQuestion, analyst: str, attempt_key: str | None = None) -> Reply:
        """The answer to a question.

        attempt_key: names one attempt at a fresh draw, so that a retry does not pay
            twice.
        """
        kept = self.kept(question, analyst)
        if kept is not None:
            return kept
        key = ledger_key(question, attempt_key)
        dataset = self._published.manifest.datasets[question.dataset]
        attempt = Attempt(
            question.form,
            key,
            question.again,
            float(dataset.reply_after),
            dataset.ceiling,
        )
        with self.breaker.admit(question.dataset) as attempt.place:
            self._run(question, analyst, attempt)
        if attempt.late:
            self.late.add(question.dataset)
        assert attempt.number is not None
        if not question.fresh:
            self._store.keep(question, analyst, attempt.number)
        return Reply(attempt.number, self.body(attempt.number, analyst), attempt.replayed)

    def at_hand(self, question: CheckedQuestion, analyst: str) -> Reply | None:
        """The answer that this question has already, if it is in memory; the ledger is
        not read.
        """
        if question.fresh:
            return None
        number = self._store.find(question, analyst)
        known = None if number is None else self._bodies.get(number)
        if number is None or known is None or known.analyst != analyst:
            return None
        return Reply(number, known.body, True) if known.question == question.digest else None

    def kept(self, question: CheckedQuestion, analyst: str) -> Reply | None:
        """The answer that this question has already, or a stronger one if the question
        allows that; None if there is none, or if it is to be drawn anew.
        """
        if question.fresh:
            return None
        number = self._store.find(question, analyst)
        known = None if number is None else self._body(number, analyst)
        # a ledger restored from a copy may have given the number to another question
        if number is not None and known is not None and known.question == question.digest:
            return Reply(number, known.body, True)
        found = self.stronger(question, analyst) if question.or_stronger else None
        if found is None:
            return None
        body = as_bytes(found, self._published.ledger)
        return Reply(found.number, body, True)

    def stronger(
        self, question: CheckedQuestion, analyst: str, wanted: Accuracy | None = None
    ) -> KeptAnswer | None:
        """A kept answer that will do: one to the same question with a larger epsilon,
        or a part of another answer that is as accurate as the one that is asked for.

        wanted: the accuracy of the one that is asked for; if not given, it is found by
            the question's price.
        """
        for epsilon, number in self._store.family(question, analyst)[:_MOST_LOOKED_AT]:
            kept = self._answer(number, analyst)
            whole = {} if kept is None else kept.charge.request.get("asked", {})
            # a ledger restored from a copy may have given the number to another question
            if kept is None or not whole or digest_of(family_of(whole)) != question.family:
                continue
            if {**whole, "epsilon": question.form["epsilon"]} == question.form:
                if epsilon > question.epsilon:
                    return kept
                continue
            part = part_of(kept.release, whole, question.form)
            if part is None:
                continue
            if wanted is None:
                wanted = self._published.price(question, analyst).accuracy
            if is_as_accurate(part.accuracy, wanted):
                return replace(kept, release=part)
        return None

    def _run(self, question: CheckedQuestion, analyst: str, attempt: Attempt) -> None:
        ledger, whose = self._published.ledger, (question.dataset, analyst, question.windows)
        refused: RefusedError
        try:
            with self._published.session(question, analyst) as session:
                question.ask(session, partial(ledger.charge, attempt, *whose))
            return
        except RefusedError as error:
            refused = error
        except ParameterError as error:
            # after the charge an error may depend on the rows, so it is not told
            charged = attempt.number is not None
            refused = self._failed(question, error, FAILED) if charged else public_mistake(error)
        except BudgetExceededError as error:
            refused = too_expensive(str(error))
        except BudgetClosedError:
            refused = RefusedError(BUDGET_CLOSED)
        except KeyReusedError:
            refused = RefusedError(KEY_REUSED)
        except ReservationRunningError:
            refused = RefusedError(RUNNING)
        except ReservationLostError:
            refused = RefusedError(LOST)
        except EngineError as error:
            refused = self._failed(question, error, FAILED)
        except Exception as error:
            # the error may depend on the rows: the reply has the same time and bytes
            attempt.wait()
            refused = self._unforeseen(question, error, attempt)
        # raised outside of the handlers, so that it does not carry the error as its context
        raise refused

    def _unforeseen(
        self, question: CheckedQuestion, error: Exception, attempt: Attempt
    ) -> RefusedError:
        """Reply to an unforeseen error. Before the charge no row was read, so
        then it follows from the request, unless the ledger or the table cannot be used.
        """
        charged = attempt.number is not None
        counts = charged or isinstance(error, (LedgerError, SourceGoneError))
        return self._failed(question, error, UNAVAILABLE) if counts else RefusedError(UNAVAILABLE)

    def _failed(
        self, question: CheckedQuestion, error: Exception, problem: Problem
    ) -> RefusedError:
        """The refusal of a question that failed. It counts, unless the size of the request
        was the reason: nobody closes a data set for others by asking for too much.
        """
        # the memory of an answer was too small
        too_large = isinstance(error, MemoryError)
        if too_large or (isinstance(error, EngineError) and error.by_request):
            return RefusedError(problem)
        told = self.breaker.add_failure(question.dataset)
        return RefusedError(problem if told else CLOSED)

    def body(self, number: int, analyst: str) -> bytes:
        """The bytes of an answer of this analyst; an unknown number and the answer of
        another analyst are refused alike.
        """
        known = self._body(number, analyst)
        if known is None:
            raise RefusedError(NOT_FOUND)
        return known.body

    def _body(self, number: int, analyst: str) -> _Body | None:
        known = self._bodies.get(number)
        if known is not None and known.analyst == analyst:
            return known
        answer = self._answer(number, analyst)
        if answer is None:
            return None
        body = as_bytes(answer, self._published.ledger)
        if len(self._bodies) >= _MOST_BODIES:
            self._bodies.clear()
        made = _Body(analyst, digest_of(answer.charge.request.get("asked", {})), body)
        self._bodies[number] = made
        return made

    def _answer(self, number: int, analyst: str) -> KeptAnswer | None:
        """An answer of this analyst from the ledger; None if there is none."""
        with suppress(ParameterError):
            answer = self._published.ledger.answer(number)
            return answer if answer.charge.analyst == analyst else None
        return None


def ledger_key(question: CheckedQuestion, attempt_key: str | None) -> str:
    """The key under which the ledger keeps a question: the question's digest, or, if it
    is to be drawn anew, one for this attempt alone.
    """
    if not question.fresh:
        return question.digest
    if attempt_key is None:
        return digest_of([question.digest, secrets.token_hex(16)])
    return digest_of(["attempt", attempt_key])


def as_bytes(answer: KeptAnswer, ledger: Ledger) -> bytes:
    """An answer that the ledger has kept, as JSON: the same bytes every time."""
    return json.dumps(as_reply(answer, ledger), ensure_ascii=True, sort_keys=True).encode()


def as_reply(answer: KeptAnswer, ledger: Ledger) -> dict[str, Any]:
    """An answer that the ledger has kept, as the reply shows it."""
    release, charge = json.loads(answer.release.to_json()), answer.charge
    (entry,) = ledger.entries(before=charge.number + 1, limit=1)
    asked: Mapping[str, Any] = charge.request.get("asked", {})
    if release.get("asked", {}).get("part_of") is not None:
        asked = release["asked"]
    return {
        "id": charge.number,
        "entry": {"number": entry.number, "hash": entry.hash},
        "dataset": charge.dataset,
        "asked": dict(asked),
        "value": release["value"],
        "loss": release["loss"],
        "charged": charge.amount.exact,
        "bound": release.get("accuracy"),
        "time": charge.time.isoformat(),
        "release": release,
    }


class LateReplies:
    """Counts late replies, and writes the counts down once a second at most. Under load
    every reply is late, and a durable note of each would make the next one later.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._waiting: Counter[str] = Counter()
        self._noted = 0.0

    def add(self, dataset: str) -> None:
        """Count one more late reply."""
        with self._lock:
            self._waiting[dataset] += 1
            if time.monotonic() < self._noted + 1:
                return
            self._noted = time.monotonic()
        self.note()

    def note(self) -> None:
        """Write down the late replies that are not written down yet."""
        with self._lock:
            found, self._waiting = self._waiting, Counter()
        for dataset, number in found.items():
            self._store.add_late(dataset, number)
