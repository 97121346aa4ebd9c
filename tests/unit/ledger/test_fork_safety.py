"""What each process has for itself: made once, used by one thread at a time, and never a
parent's.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading

import pytest

from discreet import LedgerError
from discreet.ledger import fork_safety
from discreet.ledger.fork_safety import ReopenAfterFork

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Things:
    def __init__(self):
        self.made, self.closed = [], []

    def make(self):
        self.made.append(object())
        return self.made[-1]


def in_a_child(check):
    child = os.fork()
    if not child:
        signal.alarm(10)  # to wait for ever is a failure too
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def held(one):
    with one.use() as thing:
        return thing


def test_it_is_made_once_and_again_after_it_was_dropped():
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append)
    assert things.made == []
    first = held(one)
    assert held(one) is first
    one.drop()
    one.drop()
    assert things.closed == [first]
    assert held(one) is not first


def test_threads_take_turns():
    one = ReopenAfterFork(object, lambda thing: None)
    inside, most = [], []

    def use():
        for _ in range(200):
            with one.use():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1


def test_closing_waits_for_who_uses_it():
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append)
    inside, order = threading.Event(), []

    def use():
        with one.use():
            inside.set()
            threading.Event().wait(0.2)
            order.append(list(things.closed))

    thread = threading.Thread(target=use)
    thread.start()
    inside.wait()
    one.drop()
    thread.join()
    assert order == [[]]
    assert things.closed == things.made


def test_a_connection_is_closed_before_a_fork_in_both():
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append)
    first = held(one)
    assert in_a_child(lambda: things.closed == [first] and held(one) is not first) == 0
    assert things.closed == [first]
    assert held(one) is not first


def test_a_fork_waits_for_a_thread_that_uses_it():
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append)
    inside, order = threading.Event(), []

    def use():
        with one.use():
            inside.set()
            threading.Event().wait(0.2)
            order.append("used")

    thread = threading.Thread(target=use)
    thread.start()
    inside.wait()
    assert in_a_child(lambda: order == ["used"] and bool(held(one))) == 0
    thread.join()


def test_who_forks_while_using_it_keeps_it_and_the_child_makes_another():
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append)
    with one.use() as first:
        assert in_a_child(lambda: things.closed == [] and held(one) is not first) == 0
        assert held(one) is first
    assert things.closed == []


def test_a_child_that_was_forked_by_its_user_is_a_process_like_any_other():
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append)
    with one.use():
        child = os.fork()
    if not child:
        signal.alarm(10)
        mine = held(one)
        os._exit(in_a_child(lambda: things.closed == [mine]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_two_threads_may_fork_at_once():
    one = ReopenAfterFork(object, lambda thing: None)
    codes = []
    threads = [
        threading.Thread(target=lambda: codes.append(in_a_child(lambda: bool(held(one)))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 8
    assert held(one)


def test_what_is_gone_is_closed():
    things = Things()
    held(ReopenAfterFork(things.make, things.closed.append))
    assert things.closed == things.made


def refused(one):
    try:
        held(one)
    except LedgerError as error:
        return (
            "This process was forked while a ledger in a file was being charged. Start it anew, "
            "or use multiprocessing's 'spawn'." in str(error)
        )
    return False


def test_what_was_open_at_a_fork_is_refused_while_it_is_made():
    """Another thread is about to make it: a child has it, though nobody there holds it."""
    things = Things()
    making, leave = threading.Event(), threading.Event()

    parent = os.getpid()

    def slowly():
        making.set()
        if os.getpid() == parent:
            leave.wait(200)
        return things.make()

    one = ReopenAfterFork(slowly, things.closed.append, what=lambda: "file")
    other = ReopenAfterFork(things.make, things.closed.append, what=lambda: "file")
    thread = threading.Thread(target=lambda: held(one))
    thread.start()
    making.wait()
    # as if the handlers had been interrupted: a fork that waits for nobody
    child = ctypes.PyDLL(None).fork()
    if not child:
        try:
            os._exit(0 if refused(one) and refused(other) else 1)
        finally:
            os._exit(2)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert held(other)
    one.drop()
    other.drop()


def test_nothing_is_made_during_a_fork():
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append)
    fork_safety._forks.append(None)
    thread = threading.Thread(target=lambda: held(one))
    thread.start()
    thread.join(0.2)
    assert things.made == []
    fork_safety._forks.pop()
    thread.join(200)
    assert len(things.made) == 1


def test_what_could_not_be_made_is_not_open():
    def fails():
        raise OSError

    one = ReopenAfterFork(fails, lambda thing: None, what=lambda: "file")
    for _ in range(2):
        with pytest.raises(OSError, match=r"^$"):
            held(one)
    assert not [opened for opened in fork_safety._open if opened.what == "file"]


def test_a_close_that_was_interrupted_is_done_again():
    things = Things()
    interrupted = []

    def close(thing):
        if not interrupted:
            interrupted.append(thing)
            raise KeyboardInterrupt
        things.closed.append(thing)

    one = ReopenAfterFork(things.make, close, what=lambda: "file")
    first = held(one)
    with pytest.raises(KeyboardInterrupt):
        one.drop()
    assert held(one) is not first
    assert things.closed == [first]
    one.drop()


def test_a_child_with_the_number_of_a_dead_ancestor_has_nothing_of_it():
    """Numbers of processes come back. Here the handlers of a child run in the process itself."""
    things = Things()
    one = ReopenAfterFork(things.make, things.closed.append, what=lambda: "file")
    held(one)
    opened = [entry for entry in fork_safety._open if entry.what == "file"]
    fork_safety._in_child()
    try:
        assert refused(one)
    finally:
        for entry in opened:
            fork_safety._open.pop(entry)
    assert held(one) is not things.made[0]
    one.drop()
