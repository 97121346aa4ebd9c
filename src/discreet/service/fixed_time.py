"""Replies at fixed times, so that the time of a reply tells nothing about the rows.

A question is answered at a time that was fixed when it was admitted: after
`reply_after`, or else after twice, four times, eight times as long, and so on. The
answer, or the failure, is also *kept* at that time: whoever asks the same question
meanwhile, or looks at the list of answers, learns nothing earlier.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from discreet import Ledger, Release
from discreet.accounting import Cost
from discreet.ledger import Charge
from discreet.ledger.group_commit import closing_after_failure
from discreet.service.breaker import Place
from discreet.service.ceiling import Ceiling


@dataclass(slots=True)
class Attempt:
    """One question that is being answered.

    asked: the question as it is written into the ledger.
    key: the key under which the ledger keeps it.
    again: whether to pay again for an answer that was lost.
    period: seconds until the first time at which it may be answered.
    largest: the most that one question may cost.
    started: when it was admitted, by the monotonic clock.
    number: of its entry in the ledger, once it has one.
    replayed: whether its answer was kept before.
    late: whether it was not ready at its first time.
    place: its place among the questions that may still fail.
    """

    asked: Mapping[str, Any]
    key: str
    again: bool
    period: float
    largest: Ceiling | None = None
    started: float = field(default_factory=time.monotonic)
    number: int | None = None
    replayed: bool = False
    late: bool = False
    place: Place | None = None
    _waited: bool = False

    def wait(self) -> None:
        """Sleep until the next of the fixed times, once: a refusal at that time comes then,
        too.
        """
        if self._waited:
            return
        self._waited = True
        rest = next_time(self.period, time.monotonic() - self.started)
        self.late = rest > self.period
        # a signal may end a sleep early
        while (left := self.started + rest - time.monotonic()) > 0:
            time.sleep(left)


def next_time(period: float, passed: float) -> float:
    """The first of the times period, 2 period, 4 period, ... that has not passed yet.

    >>> next_time(2, 0.1), next_time(2, 2.5), next_time(2, 9)
    (2, 4, 16)
    """
    while period < passed:
        period *= 2
    return period


class PacedLedger(Ledger):
    """A ledger that settles the charges of attempts at fixed times, and writes their questions
    in the words of the service.

    anchor_file: as for `Ledger`. It must be named if the ledger notes that it has one.
    """

    def __init__(self, url: str, *, anchor_file: str | None = None) -> None:
        super().__init__(url, anchor_file=anchor_file)
        if anchor_file is None:
            with closing_after_failure(self._store.close), self._reading() as rows:
                self._require_no_anchor_file(rows)

    @contextmanager
    def charge(
        self,
        attempt: Attempt,
        dataset: str,
        analyst: str,
        windows: Sequence[str],
        cost: Cost,
        request: Mapping[str, Any],
        *_: Any,
        **__: Any,
    ) -> Iterator[Any]:
        """Charge an attempt, as a budget charges a question: by the key of the attempt."""
        if attempt.largest is not None:
            attempt.largest.require(cost)
        reserved = self.reserve(
            dataset,
            cost,
            request={**request, "asked": attempt.asked},
            key=attempt.key,
            analyst=analyst,
            window=list(windows) or None,
            replayable=True,
            again=attempt.again,
        )
        with reserved as reservation:
            attempt.number = reservation.number
            attempt.replayed = reservation.answer is not None
            if attempt.replayed:
                yield reservation
                return
            try:
                yield _Waiting(reservation, attempt)
            except BaseException:
                attempt.wait()
                raise

    @property
    def holder(self) -> str:
        """The name of this process, as the ledger writes it into charges."""
        return self._store.holder()

    def is_alive(self, holder: str) -> bool:
        """True if the process of this name still uses the ledger."""
        return self._store.is_alive(holder)

    def left_behind(self, dataset: str, analyst: str, key: str) -> Charge | None:
        """The charge that a process which is gone has made under this key, or None."""
        # A server may still be committing what the process sent last: this note comes after it.
        self.note({"interrupted": key}, dataset=dataset)
        with self._reading() as rows:
            known = rows.request((dataset, analyst, key))
        if known is None:
            return None
        (charge,) = self.history(dataset, analyst=analyst, before=known.number + 1, limit=1)
        return charge

    def is_running(self, charge: Charge) -> bool:
        """True if a process still works on the answer to a charge."""
        if charge.settled or charge.lost:
            return False
        with self._reading() as rows:
            entry = rows.entry(charge.number)
        return entry is not None and self._is_held(charge.number, entry[0])


class _Waiting:
    """A reservation whose answer is settled at a fixed time."""

    answer = None

    def __init__(self, reservation: Any, attempt: Attempt) -> None:
        self._reservation, self._attempt = reservation, attempt

    def settle(self, release: Release) -> Release:
        """Settle the answer when its time has come."""
        place = self._attempt.place
        assert place is not None
        # the rows were read, and the answer is drawn
        place.leave()
        self._attempt.wait()
        place.require_open()
        # the session's own words for the question would name the column of persons
        told = replace(release, asked=self._attempt.asked)
        settled: Release = self._reservation.settle(told)
        return settled
