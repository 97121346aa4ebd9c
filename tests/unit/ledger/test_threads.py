"""Threads of one process: one leads for all, and whoever is interrupted leaves the others
unharmed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
import weakref
from fractions import Fraction
from functools import partial

import pytest

from discreet import Ledger, LedgerError, PureDP
from discreet.errors import LedgerDamagedError
from discreet.ledger import group_commit
from discreet.ledger.fork_safety import ForkLocal
from discreet.ledger.group_commit import MOST_AT_ONCE, Threads
from discreet.ledger.operations import Note


class Store:
    """Remembers what was carried out; the first visit can be held up, or go wrong."""

    def __init__(self, problem=None):
        self.batches, self.problem = [], problem
        self.inside, self.go = threading.Event(), threading.Event()

    def carry_out(self, operations, again=False):
        self.batches.append([operation["ticket"] for operation in operations])
        if len(self.batches) == 1:
            self.inside.set()
            assert self.go.wait(200)
            if self.problem is not None:
                raise self.problem
        return [{"number": operation["ticket"]} for operation in operations]


class Client(threading.Thread):
    def __init__(self, threads, ticket):
        super().__init__(daemon=True)
        self.threads, self.ticket, self.outcome, self.problem = threads, ticket, None, None
        self.start()

    def run(self):
        try:
            self.outcome = self.threads.carry_out({"ticket": self.ticket})
        except BaseException as problem:
            self.problem = problem


def first_and_others(store, how_many):
    """One is at the store, and so many wait for it."""
    threads = Threads(store.carry_out)
    first = Client(threads, 0)
    assert store.inside.wait(200)
    others = [Client(threads, number) for number in range(1, how_many + 1)]
    while len(threads.queue) < how_many:
        pass
    store.go.set()
    # one patience for all of them: whoever is forgotten waits for ever
    end = time.monotonic() + 200
    for client in (first, *others):
        client.join(max(0, end - time.monotonic()))
        assert not client.is_alive()
    return threads, first, others


def test_those_who_wait_are_carried_out_together():
    store = Store()
    _, first, others = first_and_others(store, 20)
    assert [sorted(batch) for batch in store.batches] == [[0], list(range(1, 21))]
    assert [client.outcome for client in (first, *others)] == [
        {"number": number} for number in range(21)
    ]


def test_no_batch_is_too_large():
    store = Store()
    first_and_others(store, MOST_AT_ONCE + 10)
    assert [len(batch) for batch in store.batches] == [1, MOST_AT_ONCE, 10]


def test_a_newcomer_who_leads_is_not_carried_out_once_more():
    """The lock is free between two leaders, and more wait than one batch has room for."""
    store = Store()
    store.go.set()
    threads = Threads(store.carry_out)
    waiting = [group_commit._Waiting({"ticket": number}) for number in range(MOST_AT_ONCE)]
    threads.queue.extend(waiting)
    assert threads.carry_out({"ticket": "newcomer"}) == {"number": "newcomer"}
    assert threads.carry_out({"ticket": "next"}) == {"number": "next"}
    carried_out = [ticket for batch in store.batches for ticket in batch]
    assert len(carried_out) == len(set(carried_out)) == MOST_AT_ONCE + 2


def test_an_error_of_the_ledger_is_everybodys_and_the_next_one_goes_on():
    store = Store(LedgerDamagedError("Broken."))
    threads, first, others = first_and_others(store, 0)
    assert isinstance(first.problem, LedgerDamagedError)
    assert others == []
    assert threads.carry_out({"ticket": 9}) == {"number": 9}


def test_each_thread_gets_an_error_of_its_own():
    store = Store()
    threads = Threads(store.carry_out)
    first = Client(threads, 0)
    store.inside.wait(200)

    def fail(_operations, _again):
        raise LedgerError("Away.")

    others = [Client(threads, number) for number in (1, 2)]
    while len(threads.queue) < 2:
        pass
    threads._carry_out = fail
    store.go.set()
    for client in (first, *others):
        client.join(200)
    assert [str(client.problem) for client in others] == ["Away.", "Away."]
    assert others[0].problem is not others[1].problem


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(), MemoryError()])
def test_when_the_leader_is_interrupted_the_others_lead_themselves(interrupt):
    store = Store(interrupt)
    threads, first, others = first_and_others(store, 5)
    assert first.problem is interrupt
    assert [client.outcome for client in others] == [{"number": number} for number in range(1, 6)]
    assert threads.carry_out({"ticket": 9}) == {"number": 9}


def test_when_a_leader_of_many_is_interrupted_each_ticket_is_tried_again():
    """Whether the batch was written is not known; the ledger finds the tickets if it was."""
    batches = []
    inside, go = threading.Event(), threading.Event()

    def carry_out(operations, again=False):
        batches.append([operation["ticket"] for operation in operations])
        if len(batches) == 1:
            inside.set()
            go.wait(200)
        if len(batches) == 2:
            raise KeyboardInterrupt
        return [{"number": operation["ticket"]} for operation in operations]

    threads = Threads(carry_out)
    clients = [Client(threads, 0)]
    inside.wait(200)
    clients += [Client(threads, number) for number in (1, 2, 3)]
    while len(threads.queue) < 3:
        pass
    go.set()
    for client in clients:
        client.join(200)
        assert not client.is_alive()
    assert sum(isinstance(client.problem, KeyboardInterrupt) for client in clients) == 1
    assert sum(client.outcome == {"number": client.ticket} for client in clients) == 3


@pytest.mark.parametrize("kind", ["charge", "note"])
def test_what_an_interrupted_leader_has_written_is_not_written_again(tmp_path, kind):
    """It was committed, and nobody was told; who waited asks again and says so. A charge is
    known by its key besides, a note by its text alone.
    """
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
        ledger.open("survey", budget=PureDP(1))
        line = ledger._threads.get()
        true = line._carry_out
        interrupted, numbers = [], []

        def carry_out(operations, again):
            found = true(operations, again)
            if not interrupted:
                interrupted.append(operations)
                raise KeyboardInterrupt
            return found

        def ask():
            with contextlib.suppress(KeyboardInterrupt):
                if kind == "note":
                    numbers.append(ledger.note({"what": "look"}, dataset="survey"))
                else:
                    charged = ledger.reserve("survey", PureDP(0.1), request={"what": "mode"})
                    numbers.append(charged.number)

        ledger._threads.get()._carry_out = carry_out
        threads = [threading.Thread(target=ask) for _ in range(3)]
        with line.leads:
            for thread in threads:
                thread.start()
            while len(line.queue) < 3:
                pass
        line.queue[0].wake()
        for thread in threads:
            thread.join()
        assert len(interrupted[0]) == 3
        assert len(numbers) == len(set(numbers)) == 2
        assert ledger.spent("survey") == (Fraction(3, 10) if kind == "charge" else 0)
        assert ledger.verify().entries == 4


def test_a_charge_that_a_child_has_carried_out_is_its_parents(tmp_path):
    """A child that was forked in between may be the first: its parent gets the same charge."""
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
        ledger.open("survey", budget=PureDP(1))
        true = ledger._threads.get()._carry_out

        def carry_out(operations, again):
            first = true(operations, again)
            found = true(operations, again)
            assert found == first
            return found

        ledger._threads.get()._carry_out = carry_out
        reservation = ledger.reserve("survey", PureDP(0.1), request={"what": "mode"})
        assert reservation.number == ledger.history()[0].number
        assert ledger.spent("survey") == Fraction(1, 10)


def test_a_follower_that_is_interrupted_is_not_carried_out(monkeypatch):
    store = Store()
    threads = Threads(store.carry_out)
    first = Client(threads, 0)
    store.inside.wait(200)

    def interrupted(_waiting):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(group_commit._Waiting, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            threads.carry_out({"ticket": 1})
    store.go.set()
    first.join(200)
    assert threads.carry_out({"ticket": 2}) == {"number": 2}
    assert store.batches == [[0], [2]]


def test_who_is_done_does_not_stand_behind_the_next_leader():
    """The second batch is held up, and those of the first one have left by then."""
    held, go = threading.Event(), threading.Event()
    inside, begin = threading.Event(), threading.Event()
    batches = []

    def carry_out(operations, again=False):
        batches.append(len(operations))
        if len(batches) == 1:
            inside.set()
            assert begin.wait(200)
        if len(batches) == 3:
            held.set()
            assert go.wait(200)
        return [{"number": operation["ticket"]} for operation in operations]

    threads = Threads(carry_out)
    first = Client(threads, 0)
    assert inside.wait(200)
    others = [Client(threads, number) for number in range(1, MOST_AT_ONCE + 2)]
    queue = threads.queue
    while len(queue) < MOST_AT_ONCE + 1:
        pass
    # the one that is left over came second
    queue.rotate(-2)
    begin.set()
    assert held.wait(200)
    waiting, deadline = others, time.monotonic() + 200
    while len(waiting) > 1 and time.monotonic() < deadline:
        waiting = [client for client in waiting if client.outcome is None]
    assert len(waiting) == 1
    go.set()
    for client in (first, *others):
        client.join(200)
        assert not client.is_alive()
    assert batches == [1, MOST_AT_ONCE, 1]


def test_a_signal_handler_that_asks_as_soon_as_the_lock_is_taken_is_refused():
    """It would wait for the thread that it interrupts, and that one for it."""
    store = Store()
    store.go.set()
    threads, refused = Threads(store.carry_out), []

    class Interrupted:
        """A lock, and a signal that comes just after it was taken."""

        def __init__(self):
            self.lock = threading.Lock()
            self.locked = self.lock.locked

        def __enter__(self):
            self.lock.acquire()
            with pytest.raises(LedgerError, match="must be used by one call at a time"):
                threads.carry_out({"ticket": 1})
            refused.append(1)

        def __exit__(self, *_):
            self.lock.release()

    threads.leads = Interrupted()
    for ticket in (0, 2):
        client = Client(threads, ticket)
        client.join(200)
        assert not client.is_alive()
        assert client.outcome == {"number": ticket}
    assert store.batches == [[0], [2]]
    assert refused == [1, 1]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_waits_for_nobody_of_its_parent():
    store = Store()
    threads = ForkLocal(partial(Threads, store.carry_out))
    first = Client(threads.get(), 0)
    store.inside.wait(200)
    child = os.fork()
    if not child:
        signal.alarm(10)  # to wait for ever is a failure too
        os._exit(0 if threads.get().carry_out({"ticket": 1}) == {"number": 1} else 1)
    store.go.set()
    first.join(200)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_failed_is_not_kept_until_a_collection():
    """An interrupted frame may hold a lock that only its own thread can give back."""

    class Held:
        pass

    gone = []

    def fail(operations, again):
        held = Held()
        weakref.finalize(held, gone.append, True)
        raise LedgerError("the disk is full")

    gc.disable()
    try:
        with pytest.raises(LedgerError, match="full") as caught:
            Threads(fail).carry_out(Note(ticket="t", time="", dataset="survey", what={}))
        del caught
        assert gone
    finally:
        gc.enable()
