"""The attacker: a process that forks, with signal handlers that raise at the worst moment.

Whatever happens around a fork, no charge that was acknowledged is lost, nobody waits for ever,
and a child that cannot charge safely is refused. Counts of what was tried are printed: run with
-s.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import Ledger, LedgerError, PureDP
from discreet.ledger import fork_safety
from discreet.ledger.group_commit import Threads
from discreet.ledger.sqlite import SQLiteStore

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

SMALL = PureDP(Fraction(1, 1000))
REFUSED = (
    "This process was forked while a ledger in a file was being charged. Start it anew, or "
    "use multiprocessing's 'spawn'."
)
OURS = os.path.dirname(fork_safety.__file__)


class Deadline(Exception):
    """What a signal handler raises."""


# Forks are the attack, and no power cut: where there is a folder in memory no test waits for a
# disk, which took four fifths of their time.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=MEMORY) as made:
        yield Path(made)


@pytest.fixture
def url(folder):
    return f"sqlite:///{folder}/budget.db"


@pytest.fixture
def ledger(url):
    # each ledger that other tests have left behind would be some more steps before a fork
    gc.collect()
    with Ledger(url) as opened:
        opened.open("d", budget=PureDP(100))
        charge(opened, "parent 0")
        yield opened
    # what goes wrong in the chain at any step stays wrong
    with Ledger(url) as fresh:
        fresh.verify()


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Python prints what is raised around a fork, and goes on: that is the attack."""
    monkeypatch.setattr(sys, "unraisablehook", lambda what: None)


def charge(ledger, who):
    return ledger.reserve("d", SMALL, request={"who": who}).number


class Child:
    """A forked process that charges when told to, and says which charges were acknowledged."""

    def __init__(self, fork, work):
        self._told, telling = os.pipe()
        waiting, self._go = os.pipe()
        self.process = fork()
        if not self.process:
            signal.alarm(20)  # to wait for ever is a failure too
            sys.settrace(None)
            try:
                for line in work(lambda: os.read(waiting, 1)):
                    os.write(telling, json.dumps(line).encode() + b"\n")
            except BaseException as error:
                os.write(telling, json.dumps(f"{type(error).__name__}: {error}").encode() + b"\n")
            finally:
                os._exit(0)
        os.close(telling)
        os.close(waiting)
        self._lines = os.fdopen(self._told)

    def go(self):
        with suppress(BrokenPipeError):  # it was refused, and is gone
            os.write(self._go, b"x")

    def next(self):
        line = self._lines.readline()
        return json.loads(line) if line else None

    def rest(self):
        os.close(self._go)
        found = [json.loads(line) for line in self._lines]
        self._lines.close()
        assert os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1]) == 0, (
            "the child was stopped: it waited for ever"
        )
        return found


def charges_of_a_child(ledger):
    """One charge, so that the child has the log open; a pause, in which the parent closes its
    own; and two more.
    """

    def work(wait):
        yield charge(ledger, "child 0")
        wait()
        for number in range(1, 3):
            yield charge(ledger, f"child {number}")

    return work


def forked_with(ledger, url, fork):
    """The attack: fork, charge in the child, close in the parent, charge in the child. What the
    child was told.
    """
    child = Child(fork, charges_of_a_child(ledger))
    first = child.next()
    ledger.close()
    child.go()
    told = [first, *child.rest()]
    numbers = [one for one in told if isinstance(one, int)]
    with Ledger(url) as fresh:
        # the newest ones: tests make hundreds before
        kept = {made.number for made in fresh.history("d", limit=20)}
        assert set(numbers) <= kept, "acknowledged charges are lost"
    assert len(numbers) == 3 or REFUSED in told[-1], told
    return told


class Interrupting:
    """Raises at the n-th step that Python takes in our modules, in this process or in its child."""

    def __init__(self, at, kind, in_child):
        self.left, self.kind, self.in_child = at, kind, in_child
        self.process, self.raised = os.getpid(), False

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = self.kind == "opcode"
        return self.step

    def step(self, frame, event, argument):
        frame.f_trace_opcodes = self.kind == "opcode"
        if event == self.kind and self.in_child == (os.getpid() != self.process):
            self.left -= 1
            if self.left == 0:
                self.raised = True
                raise Deadline
        return self.step

    def fork(self):
        sys.settrace(self)
        try:
            return os.fork()
        finally:
            sys.settrace(None)


# every instruction of Python is ten times as many steps as every line
STEPS = pytest.mark.parametrize(
    ("kind", "stride"),
    [
        pytest.param("line", 5, id="line"),
        pytest.param("line", 1, id="every line", marks=pytest.mark.kills),
        pytest.param(
            "opcode", 1, id="opcode", marks=[pytest.mark.kills, pytest.mark.timeout(1200)]
        ),
    ],
)


@contextmanager
def not_for_ever(seconds=30):
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("waited for ever"))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@STEPS
def test_an_exception_at_every_step_before_a_fork_loses_nothing(ledger, url, kind, stride):
    refused = 0
    for at in range(1, 10_000, stride):
        # each ledger that is left behind would be some more steps
        gc.collect()
        charge(ledger, f"before {at}")  # so that the connection is open
        interrupting = Interrupting(at, kind, in_child=False)
        with not_for_ever():
            told = forked_with(ledger, url, interrupting.fork)
            refused += any(REFUSED in str(one) for one in told)
            # the next fork is as if nothing had happened
            charge(ledger, "between")
            assert Child(os.fork, lambda wait: iter([charge(ledger, "next")])).rest()[0] > 0
        if not interrupting.raised:
            break
    print(
        f"\n{at // stride} steps before a fork interrupted ({kind}): {refused} children refused, "
        "no charge lost, no fork hangs"
    )
    assert at > (20 if kind == "line" else 100)
    assert refused


@STEPS
def test_an_exception_at_every_step_in_the_child_loses_nothing(ledger, url, kind, stride):
    steps = range(1, 30 if kind == "line" else 250, stride)
    for at in steps:
        charge(ledger, f"before {at}")
        interrupting = Interrupting(at, kind, in_child=True)
        with not_for_ever():
            assert len(forked_with(ledger, url, interrupting.fork)) == 3
    print(f"\n{len(steps)} steps in the child interrupted ({kind}): all charge, no charge lost")


class Telling:
    """A lock that tells by an event that somebody is about to take it."""

    def __init__(self, lock, event):
        self._lock, self._event = lock, event

    def __enter__(self):
        self._event.set()
        return self._lock.__enter__()

    def __exit__(self, *error):
        return self._lock.__exit__(*error)


class TellingQueue(deque):
    """A queue that tells by an event that somebody stands in it."""

    def __init__(self, event):
        super().__init__()
        self._event = event

    def append(self, one):
        super().append(one)
        self._event.set()


@contextmanager
def alarm_after(event, handle):
    """Handle one alarm after the event. It is sent until it is handled, because Python misses one
    that comes right before a thread waits for a lock until it has that lock.
    """
    me, came = threading.get_ident(), []

    def handle_once(*_):
        if not came:
            came.append(None)
            handle()

    def send():
        event.wait()
        while not came:
            signal.pthread_kill(me, signal.SIGALRM)
            time.sleep(0.01)

    sending = threading.Thread(target=send)
    before = signal.signal(signal.SIGALRM, handle_once)
    sending.start()
    try:
        yield
    finally:
        came.append(None)
        event.set()
        sending.join()
        signal.signal(signal.SIGALRM, before)


def test_a_deadline_while_a_fork_waits_for_a_thread(ledger, url):
    """The fork goes on with the connection of the other thread open, and so the child is
    refused.
    """

    def raising():
        raise Deadline

    inside, leave, waits = threading.Event(), threading.Event(), threading.Event()

    def slow_reader():
        with ledger._store.reading() as rows:
            rows.head()
            inside.set()
            leave.wait(200)

    reader = threading.Thread(target=slow_reader)
    reader.start()
    inside.wait()
    state = ledger._store._connection._states.get()
    state.lock = Telling(state.lock, waits)

    def fork():
        with alarm_after(waits, raising):
            try:
                return os.fork()
            finally:
                leave.set()

    try:
        told = forked_with(ledger, url, fork)
    finally:
        reader.join()
    assert len(told) == 1
    assert REFUSED in told[0]
    assert charge(ledger, "afterwards")


def test_a_child_that_inherited_a_ledger_is_refused_every_other_way_to_it(ledger, url, folder):
    """Another object for the same file, by another name of it, and after the first one is gone."""
    (folder / "link.db").symlink_to(folder / "budget.db")
    things = [ledger]

    def work(wait):
        del things[:]
        gc.collect()
        for place in (url, f"sqlite:///{folder}/link.db"):
            try:
                Ledger(place)
            except LedgerError as error:
                yield str(error)
        with Ledger(f"sqlite:///{folder}/other.db") as other:
            other.open("d", budget=PureDP(1))
            yield charge(other, "child")

    with ledger._store.reading() as rows:
        rows.head()
        child = Child(os.fork, work)
        told = [child.next(), child.next(), child.next()]
    child.rest()
    assert [REFUSED in one for one in told[:2]] == [True, True]
    assert told[2] == 2
    assert charge(ledger, "parent") == 3
    assert ledger.verify().entries == 3


def test_a_child_that_was_forked_in_a_transaction_does_not_commit_it(ledger, url):
    """As by a signal handler that forks: both processes come back into the middle of the
    transaction.
    """

    def raise_in_child(wait):
        try:
            transaction.__exit__(None, None, None)
        except LedgerError as error:
            yield str(error)

    transaction = ledger._store._transaction("begin immediate")
    rows = transaction.__enter__()
    rows.append('{"do":"nothing"}')
    rows.flush()
    child = Child(os.fork, raise_in_child)
    assert "must stay in its process" in child.next()
    child.rest()
    assert not transaction.__exit__(Deadline, Deadline(), None)
    assert ledger.verify().entries == 2
    assert charge(ledger, "parent") == 3


@pytest.mark.parametrize("where", ["before it leads", "before the turn", "after the commit"])
def test_one_charge_is_not_acknowledged_to_two_processes(ledger, url, monkeypatch, where):
    """As by a signal handler that forks, where nothing is open: both processes come back with
    the same charge.
    """
    owner, name = {
        "before it leads": (Threads, "_lead"),
        "before the turn": (SQLiteStore, "_carry_out"),
        "after the commit": (SQLiteStore, "_carry_out"),
    }[where]
    true, telling = getattr(owner, name), os.pipe()
    children = []

    def forked(*arguments, **options):
        monkeypatch.undo()
        found = true(*arguments, **options) if where == "after the commit" else None
        children.append(os.fork())
        return true(*arguments, **options) if found is None else found

    monkeypatch.setattr(owner, name, forked)
    try:
        said = f"charged as {charge(ledger, 'one of two')}"
    except LedgerError as error:
        said = str(error)
    if not children[0]:
        os.write(telling[1], said.encode())
        os._exit(0)
    with not_for_ever():
        os.waitpid(children[0], 0)
    assert "must stay in its process" in os.read(telling[0], 1000).decode()
    assert said == "charged as 3"
    for end in telling:
        os.close(end)
    assert ledger.verify().entries == 3


def test_a_child_does_not_wait_for_a_thread_of_its_parent(ledger):
    """There is none in the child that could tell it what became of its charge."""
    line, telling, children = ledger._threads.get(), os.pipe(), []
    line.leads.acquire()
    queued = threading.Event()
    line.queue = TellingQueue(queued)

    def handle():
        children.append(os.fork())
        if children[0]:
            line.leads.release()
        else:
            # to wait for ever is a failure too
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)

    with alarm_after(queued, handle):
        try:
            said = f"charged as {charge(ledger, 'one of two')}"
        except LedgerError as error:
            said = str(error)
        if not children[0]:
            os.write(telling[1], said.encode())
            os._exit(0)
    with not_for_ever():
        os.waitpid(children[0], 0)
    assert "must stay in its process" in os.read(telling[0], 1000).decode()
    assert said == "charged as 3"
    for end in telling:
        os.close(end)


def test_a_fork_that_python_knows_nothing_of(ledger, url):
    """No handler runs at all."""
    told = forked_with(ledger, url, ctypes.PyDLL(None).fork)
    assert len(told) == 1
    assert REFUSED in told[0]


def test_busy_threads_and_many_forks(ledger, url):
    """What usually happens: threads charge all the time, and every child can charge, too."""
    enough, made = threading.Event(), []

    def busy():
        while not enough.is_set():
            made.append(charge(ledger, "thread"))

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        with not_for_ever(120):
            told = [
                Child(os.fork, lambda wait: iter([charge(ledger, "child")])).rest()
                for _ in range(6)
            ]
    finally:
        enough.set()
        for thread in threads:
            thread.join()
    assert all(isinstance(number, int) for (number,) in told), told
    kept = {one.number for one in ledger.history("d", limit=10_000)}
    assert {number for (number,) in told} | set(made) <= kept
    ledger.verify()
    print(
        f"\n{len(told)} forks beside {len(made)} charges of threads: every child charges, no "
        "charge lost"
    )


def test_a_fork_that_is_interrupted_leaves_no_trace(ledger):
    assert fork_safety._forks == []
    Child(os.fork, lambda wait: iter([len(fork_safety._forks)])).rest()
    assert fork_safety._forks == []
