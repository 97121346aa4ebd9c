"""One pass by several threads: the same bits as by one, whatever happens to the others."""

import os
import subprocess
import sys
import textwrap
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tiers import more

import discreet
from discreet.mechanisms.scores import read_candidates
from discreet.samplers import threads
from discreet.samplers.columns import Columns
from discreet.samplers.threads import share
from discreet.testing import SeededBits

SECONDS = 30


@pytest.fixture(params=[2, 5])
def cores(request, monkeypatch):
    """So many cores, and a thread pays for every candidate."""
    monkeypatch.setattr(threads, "_cores", lambda: request.param)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    return request.param


@pytest.fixture(params=[np.float64, more(np.float32), np.int64])
def scores(request):
    return np.random.default_rng(3).normal(0, 30, 300_001).astype(request.param)


def run(code):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        # from 3.12 on Python warns of every fork of a process with threads
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def passes(scores):
    """What the passes over the scores find."""
    columns = Columns(scores, smallest=False)
    release = discreet.select(scores, epsilon=1, sensitivity=1, bits=SeededBits(4))
    read = read_candidates(scores)
    return columns.best, columns.low, columns.high, read.low, read.high, release.value


def test_threads_find_the_same_bits(cores, scores, monkeypatch):
    together = passes(scores)
    monkeypatch.setattr(threads, "_cores", lambda: 1)
    for one, other in zip(passes(scores), together, strict=True):
        assert np.array_equal(one, other)


def test_each_start_is_done_once(cores):
    done, workers, several = [], set(), threading.Event()

    def job(starts):
        for start in starts:
            workers.add(threading.get_ident())
            done.append(start)
            # nobody goes on alone, however busy the machine is
            if len(workers) > 1:
                several.set()
            assert several.wait(SECONDS)

    share(job, range(0, 200, 2), 100)
    assert sorted(done) == list(range(0, 200, 2))
    assert 1 < len(workers) <= cores


@pytest.mark.parametrize(
    ("available", "starts", "candidates"),
    [(1, 10, 1 << 30), (8, 1, 1 << 30), (8, 10, 2 * threads.WORTH_A_THREAD - 1)],
)
def test_few_candidates_or_one_core_need_no_thread(available, starts, candidates, monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: available)
    monkeypatch.setattr(threads, "_share", None)
    done = []
    share(done.extend, range(starts), candidates)
    assert done == list(range(starts))


def test_a_failure_of_the_caller_stops_the_others(cores, monkeypatch):
    caller, done, at_work, cleared = threading.get_ident(), [], set(), threading.Event()

    class Waiting(deque):
        def clear(self):
            super().clear()
            cleared.set()

    def job(starts):
        for start in starts:
            if threading.get_ident() == caller:
                raise KeyboardInterrupt
            at_work.add(start)
            assert cleared.wait(SECONDS)
            done.append(start)
            at_work.remove(start)

    monkeypatch.setattr(threads, "deque", Waiting)
    with pytest.raises(KeyboardInterrupt):
        share(job, range(1000), 1000)
    assert cleared.is_set()
    # each of the others ends with the start that it has, and nobody works on after the call
    assert len(done) < cores
    assert not at_work


def test_a_failure_of_a_helper_is_told(cores):
    caller, failed = threading.get_ident(), threading.Event()

    def job(starts):
        for _ in starts:
            if threading.get_ident() != caller:
                failed.set()
                raise MemoryError("no room")
            assert failed.wait(SECONDS)

    with pytest.raises(MemoryError, match="no room"):
        share(job, range(20), 100)


def test_a_pool_that_is_busy_holds_nobody_up(cores):
    go = threading.Event()
    pool = threads._pool(os.getpid(), cores - 1)
    waiting = [pool.submit(go.wait, SECONDS) for _ in range(cores - 1)]
    done = []
    share(done.extend, range(50), 50)
    assert done == list(range(50))
    go.set()
    assert all(each.result() for each in waiting)


def test_a_pool_that_has_ended_holds_nobody_up(cores):
    threads._pool.cache_clear()
    threads._pool(os.getpid(), cores - 1).shutdown()
    done = []
    share(done.extend, range(50), 50)
    assert done == list(range(50))
    threads._pool.cache_clear()


def test_a_helper_that_has_begun_is_at_an_end_when_the_next_one_cannot_start(monkeypatch):
    """While a chunk is done again its result is not there: NumPy begins with the first row."""
    monkeypatch.setattr(threads, "_cores", lambda: 3)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    threads._pool.cache_clear()
    caller, start = threading.get_ident(), threading.Thread.start
    begun, ending, at_work, together = threading.Event(), threading.Event(), [], []
    shutdown = ThreadPoolExecutor.shutdown

    def start_one(self):
        if begun.is_set():
            raise RuntimeError("can't start new thread")
        start(self)
        assert begun.wait(SECONDS)

    def job(starts):
        for each in starts:
            if threading.get_ident() == caller:
                together.extend(at_work)
                done.append(each)
            else:
                at_work.append(each)
                begun.set()
                assert ending.wait(SECONDS)
                at_work.remove(each)

    def end(self, **words):
        ending.set()
        shutdown(self, **words)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", end)
    done = []
    try:
        share(job, range(5), 5)
    finally:
        ending.set()
    assert (done, together, at_work) == (list(range(5)), [], [])


def test_threads_treat_floating_point_errors_as_the_caller_does(cores):
    found, several = {}, threading.Event()

    def job(starts):
        for _ in starts:
            found[threading.get_ident()] = np.geterr()["under"]
            if len(found) > 1:
                several.set()
            assert several.wait(SECONDS)

    with np.errstate(under="raise"):
        share(job, range(20), 100)
    assert len(found) > 1
    assert set(found.values()) == {"raise"}


def test_many_callers_at_once_get_their_own(cores):
    rows = [np.random.default_rng(seed).normal(size=400_000) for seed in range(6)]
    found = {}

    def find(place):
        found[place] = Columns(rows[place], smallest=False).best

    callers = [threading.Thread(target=find, args=(place,)) for place in range(len(rows))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(SECONDS)
    for place, row in enumerate(rows):
        assert np.array_equal(found[place], Columns(row, smallest=False).best)


SELECT = """
import os, sys, threading
import numpy as np
import discreet
from discreet.samplers import threads
from discreet.testing import SeededBits

def select():
    return discreet.select(scores, epsilon=1, sensitivity=1, bits=SeededBits(4)).value

scores = np.random.default_rng(3).normal(0, 30, 1_200_000)
threads._cores = lambda: 3
first = select()
assert threading.active_count() > 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("end", ["os._exit", more("sys.exit")])
def test_a_forked_child_has_threads_of_its_own(end):
    printed = run(
        SELECT
        + textwrap.dedent(f"""
            sys.stdout.flush()
            child = os.fork()
            same = select() == first
            if not child:
                {end}(0 if same and threading.active_count() > 1 else 7)
            print(same, os.waitpid(child, 0)[1])
        """)
    )
    assert printed == "True 0\n"


def test_a_selection_at_the_end_of_the_interpreter_works():
    assert run(SELECT + "import atexit; atexit.register(lambda: print(select() == first))") == (
        "True\n"
    )


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")
def test_a_process_of_one_core_starts_no_thread():
    printed = run(
        """
        import os, sys, threading
        import numpy as np
        import discreet
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        discreet.select(np.zeros(1_200_000), epsilon=1, sensitivity=1)
        print(threading.active_count(), "concurrent.futures" in sys.modules)
        """
    )
    assert printed == "1 False\n"
