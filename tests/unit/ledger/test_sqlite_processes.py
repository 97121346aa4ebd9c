"""What processes that use one file have in common: a queue, the latest sync, and who is there."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet import Ledger, PureDP, Release
from discreet.ledger import sqlite_processes
from discreet.ledger.sqlite_processes import Holders, Queue, SharedSync

LOG = (7, 42)
AGES = 10**6


@pytest.fixture
def queues(tmp_path):
    made = [Queue(tmp_path) for _ in range(3)]
    yield made
    for queue in made:
        queue.close()


class TestQueue:
    def test_one_is_in_it_at_a_time(self, queues):
        mine, other, third = queues
        assert mine.enter(10)
        came = []
        waiting = threading.Thread(target=lambda: came.append(other.enter(60)))
        waiting.start()
        assert not third.enter(0.01)
        third.leave()
        assert came == []
        mine.leave()
        waiting.join()
        assert came == [True]
        assert not mine.enter(0)
        other.leave()
        assert mine.enter(10)

    def test_who_has_waited_long_comes_first_in_order(self, tmp_path, monkeypatch):
        """The others stand back, as long as one of them waits."""
        monkeypatch.setattr(sqlite_processes, "_LONG", 0.0)
        made, came, waiting = [Queue(tmp_path) for _ in range(6)], [], []
        assert made[0].enter(10)

        def wait(number):
            came.append((number, made[number].enter(60)))
            made[number].leave()

        for number in range(1, 5):
            waiting.append(threading.Thread(target=wait, args=[number]))
            waiting[-1].start()
            while made[0].open()[sqlite_processes._LAST] < number:
                time.sleep(0.001)
        monkeypatch.setattr(sqlite_processes, "_LONG", 60.0)
        made[0].leave()
        assert made[5].enter(60)
        made[5].leave()
        for thread in waiting:
            thread.join()
        assert came == [(number, True) for number in range(1, 5)]
        assert made[0].open()[sqlite_processes._BACK] == 0
        for queue in made:
            queue.close()

    @pytest.mark.parametrize("left", [2**64 - 1, 2**63, 2**32])
    def test_numbers_that_make_no_sense_only_cost_time(self, queues, monkeypatch, left):
        mine, other, _ = queues
        mine.open()[:] = memoryview(left.to_bytes(8, sys.byteorder) * 4).cast("Q")
        assert mine.enter(60)
        assert not other.enter(0.1)
        other.leave()
        mine.leave()
        assert other.enter(60)

    def test_who_ends_while_it_waits_keeps_nobody(self, queues, monkeypatch):
        monkeypatch.setattr(sqlite_processes, "_LONG", 0.0)
        mine, other, third = queues
        assert mine.enter(10)
        assert not other.enter(0.05)
        other.close()
        waiting = threading.Thread(target=lambda: time.sleep(0.05) or mine.leave())
        waiting.start()
        assert third.enter(60)
        waiting.join()

    def test_after_the_last_ticket_the_first_is_free_again(self, queues, monkeypatch):
        monkeypatch.setattr(sqlite_processes, "_LONG", 0.0)
        monkeypatch.setattr(sqlite_processes, "_TICKETS", 8)
        before = queues[0]
        numbers, given = before.open(), []
        numbers[sqlite_processes._LAST] = last = 7
        assert before.enter(10)
        for queue in queues[1:]:
            waiting = threading.Thread(target=queue.enter, args=[60])
            waiting.start()
            while numbers[sqlite_processes._LAST] == last:
                time.sleep(0.001)
            last = numbers[sqlite_processes._LAST]
            given.append(last)
            before.leave()
            waiting.join()
            before = queue
        assert given == [8, 1]

    def test_where_the_system_refuses_locks_nobody_waits(self, queues, monkeypatch):
        def refuses(*_):
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(sqlite_processes, "try_lock_bytes", refuses)
        assert not queues[0].enter(AGES)
        queues[0].leave()

    def test_who_has_given_up_does_not_keep_the_others(self, queues):
        mine, other, third = queues
        assert mine.enter(10)
        for _ in range(3):
            assert not other.enter(0)
            other.leave()
        mine.leave()
        assert third.enter(60)

    def test_an_interrupt_while_waiting_keeps_nobody(self, queues):
        mine, other, third = queues
        assert mine.enter(10)

        class Interrupted(Exception):
            pass

        def raising(*_):
            raise Interrupted

        before = signal.signal(signal.SIGALRM, raising)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            with pytest.raises(Interrupted):
                other.enter(200)
        finally:
            signal.signal(signal.SIGALRM, before)
            other.leave()
        mine.leave()
        assert third.enter(60)

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_child_that_was_forked_meanwhile_does_not_keep_it(self, queues):
        mine, other, _ = queues
        assert mine.enter(10)
        waiting, go = os.pipe()
        child = os.fork()
        if not child:
            os.read(waiting, 1)
            os._exit(0)
        mine.leave()
        assert other.enter(60)
        os.write(go, b"x")
        os.waitpid(child, 0)
        os.close(waiting)
        os.close(go)

    def test_without_locks_of_the_system_nobody_waits(self, queues, monkeypatch):
        monkeypatch.setattr(sqlite_processes, "fcntl", None)
        mine, other, _ = queues
        assert [mine.enter(AGES), other.enter(AGES)] == [False, False]
        mine.leave()


class TestSharedSync:
    @pytest.fixture
    def syncs(self, tmp_path):
        made = [SharedSync(tmp_path, LOG) for _ in range(3)]
        yield made
        for one in made:
            one.close()

    def numbers(self, sync):
        return sync.open()[:2]

    def during(self, mine, other, monkeypatch, meanwhile):
        """What another one does that asks for a sync while mine has the lock, and what happens
        while it waits.
        """
        made, looked = [], []

        def asleep(seconds):
            if not looked:
                looked.append(seconds)
                meanwhile()

        mine.open()
        fcntl.flock(mine._file, fcntl.LOCK_EX)
        monkeypatch.setattr(sqlite_processes.time, "sleep", asleep)
        other.sync(lambda: made.append("sync"))
        assert looked
        return made

    def test_who_asks_alone_syncs(self, syncs):
        made = []
        for one in (*syncs, *syncs):
            one.sync(lambda: made.append("sync"))
        assert len(made) == 6

    def test_a_sync_that_began_before_the_commit_does_not_count(self, syncs, monkeypatch):
        mine, other, _ = syncs
        with self.numbers(mine) as numbers:
            numbers[0] = 1

            def ends():
                numbers[1] = 1
                fcntl.flock(mine._file, fcntl.LOCK_UN)

            assert self.during(mine, other, monkeypatch, ends) == ["sync"]
            assert list(numbers) == [2, 2]

    def test_a_sync_that_began_after_the_commit_counts(self, syncs, monkeypatch):
        mine, other, _ = syncs
        with self.numbers(mine) as numbers:

            def ends():
                numbers[0] = 1
                numbers[1] = 1

            assert self.during(mine, other, monkeypatch, ends) == []

    def test_a_sync_of_another_log_does_not_count(self, syncs, tmp_path):
        elsewhere, made = SharedSync(tmp_path, (7, 43)), []
        with self.numbers(elsewhere) as numbers:
            numbers[0] = numbers[1] = 10
        syncs[0].sync(lambda: made.append("sync"))
        with self.numbers(syncs[0]) as numbers:
            assert list(numbers) == [1, 1]
        elsewhere.close()

    def test_a_sync_that_failed_counts_for_nobody(self, syncs, monkeypatch):
        mine, other, third = syncs

        def fails():
            raise OSError(5, "Input/output error")

        def meanwhile():
            fcntl.flock(mine._file, fcntl.LOCK_UN)
            with pytest.raises(OSError, match="Input"):
                third.sync(fails)

        assert self.during(mine, other, monkeypatch, meanwhile) == ["sync"]

    def test_numbers_that_a_power_cut_has_left_count_for_nobody(self, syncs):
        made = []
        with self.numbers(syncs[0]) as numbers:
            numbers[0], numbers[1] = 5, 5000
        syncs[0].sync(lambda: made.append("sync"))
        assert made == ["sync"]

    def test_who_cannot_wait_syncs_and_leaves_the_numbers_alone(self, syncs, monkeypatch):
        monkeypatch.setattr(sqlite_processes, "PATIENCE", -1)
        mine, other, _ = syncs
        mine.open()
        fcntl.flock(mine._file, fcntl.LOCK_EX)
        made = []
        other.sync(lambda: made.append("sync"))
        assert made == ["sync"]
        with self.numbers(other) as numbers:
            assert list(numbers) == [0, 0]

    def test_without_locks_of_the_system_everybody_syncs(self, syncs, monkeypatch, tmp_path):
        monkeypatch.setattr(sqlite_processes, "fcntl", None)
        made = []
        syncs[0].sync(lambda: made.append("sync"))
        assert (made, list(tmp_path.iterdir())) == (["sync"], [])


class TestHolders:
    def test_who_is_there_is_alive_until_it_is_closed(self, tmp_path):
        mine, other = Holders(tmp_path), Holders(tmp_path)
        name = mine.own_name()
        assert name == mine.own_name() != other.own_name()
        assert other.is_alive(name)
        mine.close()
        assert not other.is_alive(name)
        other.close()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["", "x", "../" + "a" * 29, "a" * 32])
    def test_a_name_that_nobody_has_is_not_alive(self, tmp_path, name):
        assert not Holders(tmp_path).is_alive(name)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_process_is_alive_until_it_dies(self, tmp_path):
        told, telling = os.pipe()
        waiting, go = os.pipe()
        child = os.fork()
        if not child:
            os.write(telling, Holders(tmp_path).own_name().encode())
            os.read(waiting, 1)
            os._exit(0)
        name = os.read(told, 100).decode()
        mine = Holders(tmp_path)
        assert mine.is_alive(name)
        os.write(go, b"x")
        os.waitpid(child, 0)
        assert not mine.is_alive(name)
        for end in (told, telling, waiting, go):
            os.close(end)

    def test_litter_is_removed_and_who_is_there_stays(self, tmp_path, monkeypatch):
        other = Holders(tmp_path)
        for name in ("turn", "syncs-1-2", "1-2.post", "a" * 32 + ".holder"):
            (tmp_path / name).touch()
        monkeypatch.setattr(time, "time", lambda: AGES**2)
        expected = {"turn", other.own_name() + ".holder"}
        mine = Holders(tmp_path)
        expected.add(mine.own_name() + ".holder")
        assert {file.name for file in tmp_path.iterdir()} == expected
        mine.close()
        other.close()


class TestDurability:
    """What is synced by whom, and before what is told."""

    @pytest.fixture
    def ledger(self, tmp_path):
        with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
            ledger.open("survey", budget=PureDP(1))
            yield ledger

    @pytest.fixture
    def syncs(self, ledger, monkeypatch):
        made = []
        true = ledger._store._sync_file

        def counted(log):
            made.append(log)
            true(log)

        monkeypatch.setattr(ledger._store, "_sync_file", counted)
        return made

    def reserve(self, ledger, **options):
        return ledger.reserve("survey", PureDP(0.1), request={}, **options)

    def test_a_charge_is_synced_and_a_settle_without_an_answer_is_not(self, ledger, syncs):
        made = self.reserve(ledger)
        assert len(syncs) == 1
        made.settle(_ANSWER)
        assert len(syncs) == 1
        # whoever is given a point of the chain may rely on it
        ledger.anchor()
        assert len(syncs) == 2
        ledger.anchor()
        assert len(syncs) == 2

    def test_an_answer_that_is_kept_is_synced(self, ledger, syncs):
        self.reserve(ledger, replayable=True).settle(_ANSWER)
        assert len(syncs) == 2

    def test_what_another_process_has_not_synced_yet_is_synced_before_it_is_given(
        self, ledger, syncs, tmp_path
    ):
        with Ledger(f"sqlite:///{tmp_path}/budget.db") as other:
            other._store._sync_file = lambda log: None
            self.reserve(other, key="k", replayable=True).settle(_ANSWER)
            assert self.reserve(ledger, key="k").answer == _ANSWER
            assert len(syncs) == 1
            self.reserve(other)
            assert ledger.anchor().startswith("4:")
            assert len(syncs) == 2

    def test_a_charge_that_is_interrupted_before_its_sync_is_synced_by_the_next(
        self, ledger, syncs, monkeypatch
    ):
        self.reserve(ledger)

        def interrupted(log):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(ledger._store, "_sync_file", interrupted)
            with pytest.raises(KeyboardInterrupt):
                self.reserve(ledger)
        ledger.anchor()
        assert len(syncs) == 2

    def test_an_anchor_is_synced_before_it_is_kept(self, tmp_path, monkeypatch):
        anchor_file, url = tmp_path / "anchor", f"sqlite:///{tmp_path}/budget.db"
        with Ledger(url, anchor_file=anchor_file) as ledger:
            ledger.open("survey", budget=PureDP(1))
            order, write = [], ledger._anchors._write
            monkeypatch.setattr(ledger._store, "_sync_file", lambda log: order.append("sync"))
            monkeypatch.setattr(
                ledger._anchors, "_write", lambda anchor: (order.append("anchor"), write(anchor))
            )
            self.reserve(ledger).settle(_ANSWER)
        assert order == ["sync", "anchor", "sync", "anchor"]

    def test_after_a_sync_that_failed_nothing_is_acknowledged_by_this_ledger(
        self, ledger, tmp_path, monkeypatch
    ):
        """The system says it once: a later sync would seem to reach the disk."""

        def fails(log):
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr(ledger._store, "_sync_file", fails)
            with pytest.raises(Exception, match="Input/output error"):
                self.reserve(ledger)
        for _ in range(2):
            with pytest.raises(Exception, match="a log that could not be synced"):
                self.reserve(ledger)
        ledger.close()
        with Ledger(f"sqlite:///{tmp_path}/budget.db") as fresh:
            self.reserve(fresh)
            fresh.verify()

    def test_opening_brings_the_log_into_the_file(self, ledger, tmp_path):
        """What a process before could not sync is in it otherwise."""
        self.reserve(ledger)
        Ledger(f"sqlite:///{tmp_path}/budget.db").close()
        address = f"{Path(tmp_path / 'budget.db').as_uri()}?mode=ro&immutable=1"
        alone = sqlite3.connect(address, uri=True)
        assert alone.execute("select count(*) from discreet_entries").fetchall() == [(2,)]
        alone.close()


_ANSWER = Release(value="yes", loss=PureDP(0.1), mechanism="test", candidates=2)
