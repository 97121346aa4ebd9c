"""When the disk is full, or the file is read-only, locked or broken: a clear error, no release,
and afterwards it goes on.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import Ledger, LedgerError, PureDP, Release
from discreet.ledger import sqlite
from discreet.ledger.group_commit import carry_out_all
from discreet.ledger.operations import Note, Outcome
from discreet.ledger.sqlite import SQLiteStore, connect

ASK = {"what": "mode"}
TENTH = Fraction(1, 10)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(path):
    with Ledger(f"sqlite:///{path}", timeout=0.4) as opened:
        opened.open("survey", budget=PureDP(1))
        yield opened


def charge(ledger, epsilon=0.1, **options):
    return ledger.reserve("survey", PureDP(epsilon), request=ASK, **options)


def goes_on(ledger, spent):
    """It charges again, and is as it should be."""
    assert ledger.spent("survey") == spent
    charge(ledger)
    assert ledger.spent("survey") == spent + TENTH
    ledger.verify()


class TestOpening:
    """SQLite does not wait by itself when it begins to write a new file through a log."""

    @pytest.fixture
    def looked_into(self, path):
        """A new file that another program is looking into."""
        path.touch(0o600)
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("begin")
            other.execute("select * from sqlite_master").fetchall()
            yield other

    def test_a_new_file_is_waited_for(self, path, looked_into):
        """The other program is done once the file was tried, and found locked."""
        refused = []

        class Impatient:
            """SQLite itself does not wait, and the other program ends after the first refusal."""

            def __init__(self, connection):
                self.connection = connection

            def __getattr__(self, name):
                return getattr(self.connection, name)

            def execute(self, statement, *values):
                if "busy_timeout" in statement:
                    statement = "pragma busy_timeout = 0"
                try:
                    return self.connection.execute(statement, *values)
                except sqlite3.OperationalError:
                    refused.append(statement)
                    looked_into.execute("commit")
                    raise

        SQLiteStore(path, 30, lambda path: Impatient(connect(path))).close()
        assert refused[0] == "pragma journal_mode = wal"
        with Ledger(f"sqlite:///{path}") as ledger:
            ledger.open("survey", budget=PureDP(1))
            goes_on(ledger, 0)

    def test_a_new_file_that_is_busy_is_tried_again(self, ledger):
        """As SQLite says it at once where two that wait would wait for each other."""

        class Busy:
            times = 0

            def execute(self, statement):
                self.times += 1
                if self.times < 3:
                    error = sqlite3.OperationalError("database is locked")
                    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                    raise error
                return self

            def fetchall(self):
                return []

        busy = Busy()
        ledger._store._write_ahead(busy)
        assert busy.times == 3

    @pytest.mark.usefixtures("looked_into")
    def test_a_new_file_is_not_waited_for_any_longer_than_asked(self, path):
        with pytest.raises(LedgerError, match=r"must be readable and writable\. Got: database is"):
            Ledger(f"sqlite:///{path}", timeout=0.2)

    def test_a_new_file_is_opened_by_many_at_once(self, path):
        """Each waits for the end of a pipe, which all of them see at the same moment."""
        code = """
import os, sys
import discreet
from discreet.ledger import sqlite
reading, writing = os.pipe()
children = []
for _ in range(8):
    children.append(os.fork())
    if not children[-1]:
        os.close(writing)
        os.read(reading, 1)
        try:
            discreet.Ledger(sys.argv[1], timeout=200).close()
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
os.close(writing)
sys.exit(sum(os.waitpid(child, 0)[1] for child in children))
"""
        done = subprocess.run(
            [sys.executable, "-c", code, f"sqlite:///{path}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


class TestDisk:
    def test_a_full_disk_charges_nothing(self, ledger):
        with ledger._store._connection.use() as connection:
            (pages,) = connection.execute("pragma page_count").fetchone()
            connection.execute(f"pragma max_page_count = {pages}").fetchall()
        with pytest.raises(
            LedgerError,
            match=r"must be readable and writable. Got: database or disk is full",
        ):
            ledger.reserve("survey", PureDP(0.1), request={"long": "x" * 60_000})
        ledger.close()  # a new connection has room again
        goes_on(ledger, 0)

    def test_a_full_disk_stops_releases_and_loses_none(self, path, ledger):
        """In another process, whose files may not grow: every release that it printed is in the
        ledger.
        """
        code = """
import resource, signal, sys
from discreet import Ledger, LedgerError, PureDP
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Ledger(sys.argv[1], timeout=1) as ledger:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    try:
        while True:
            charge = ledger.reserve("survey", PureDP(1e-6), request={"long": "x" * 2000})
            print(charge.number, flush=True)
    except LedgerError as error:
        sys.exit(str(error))
"""
        done = subprocess.run(
            [sys.executable, "-c", code, f"sqlite:///{path}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "must be readable and writable" in done.stderr
        released = {int(line) for line in done.stdout.split()}
        assert released
        assert released <= {made.number for made in ledger.history("survey", limit=10_000)}
        goes_on(ledger, ledger.spent("survey").value)

    def test_an_answer_that_cannot_be_written_is_not_given(self, ledger):
        reservation = charge(ledger, replayable=True)
        with ledger._store._connection.use() as connection:
            connection.execute("pragma query_only = on").fetchall()
        with pytest.raises(LedgerError, match="readonly"):
            reservation.settle(
                Release(value="terrier", loss=PureDP(0.1), mechanism="test", candidates=3)
            )
        ledger.close()
        goes_on(ledger, TENTH)
        assert not ledger.history("survey")[0].settled

    def test_a_file_that_may_only_be_read_is_refused(self):
        """As somebody else: root may write everything."""
        folder = Path(tempfile.mkdtemp())
        try:
            with Ledger(f"sqlite:///{folder}/budget.db") as ledger:
                ledger.open("survey", budget=PureDP(1))
                charge(ledger)
            for file in folder.rglob("*"):
                file.chmod(0o555 if file.is_dir() else 0o444)
            folder.chmod(0o555)
            told = as_nobody(lambda: Ledger(f"sqlite:///{folder}/budget.db", timeout=1))
            assert told.startswith("LedgerError: The ledger sqlite:///")
            folder.chmod(0o755)
            (folder / "budget.db").chmod(0o600)
            (folder / "budget.db-mailbox").chmod(0o700)
            for file in (folder / "budget.db-mailbox").iterdir():
                file.chmod(0o600)
            with Ledger(f"sqlite:///{folder}/budget.db") as ledger:
                goes_on(ledger, TENTH)
        finally:
            shutil.rmtree(folder)

    def test_a_folder_that_may_only_be_read_is_refused(self):
        folder = Path(tempfile.mkdtemp())
        try:
            folder.chmod(0o555)
            told = as_nobody(lambda: Ledger(f"sqlite:///{folder}/budget.db"))
            assert "LedgerError" in told
            assert "Permission denied" in told
            assert list(folder.iterdir()) == []
        finally:
            shutil.rmtree(folder)

    def test_a_connection_that_may_only_read_charges_nothing(self, path, ledger):
        def only_reading(path):
            return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)

        with pytest.raises(LedgerError, match="must be readable and writable"):
            SQLiteStore(path, 1, only_reading)
        goes_on(ledger, 0)

    def test_a_file_that_is_no_database_is_refused(self, path):
        path.write_bytes(b"This is not a ledger. " * 500)
        with pytest.raises(LedgerError, match="file is not a database"):
            Ledger(f"sqlite:///{path}")

    def test_another_database_is_refused(self, path):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma user_version = 4")
            connection.execute("create table people (name text)")
        with pytest.raises(LedgerError, match="must contain only its own tables"):
            Ledger(f"sqlite:///{path}")

    def test_a_damaged_page_is_noticed(self, path):
        with Ledger(f"sqlite:///{path}") as ledger:
            ledger.open("survey", budget=PureDP(1))
            for _ in range(5):
                charge(ledger)
        content = path.read_bytes()
        place = content.index(b'"do":"reserve"')
        path.write_bytes(content[:place] + b'"do":"RESERVE"' + content[place + 14 :])
        with Ledger(f"sqlite:///{path}") as ledger, pytest.raises(LedgerError, match="Entry"):
            ledger.verify()

    def test_a_cut_file_is_refused(self, path):
        with Ledger(f"sqlite:///{path}") as ledger:
            ledger.open("survey", budget=PureDP(1))
            for _ in range(5):
                charge(ledger)
        os.truncate(path, 5000)
        with pytest.raises(LedgerError), Ledger(f"sqlite:///{path}") as ledger:
            charge(ledger)

    @pytest.mark.parametrize("what", ["deleted", "replaced", "moved"])
    def test_a_file_that_is_not_at_its_place_any_more_takes_no_charge(self, path, ledger, what):
        charge(ledger)
        if what == "deleted":
            path.unlink()
        else:
            path.rename(path.with_name("old.db"))
        if what == "replaced":
            path.touch()
        gone = (
            r"must be the same file as at the start\. Got (another file in its place|no such file)"
        )
        for _ in range(3):
            with pytest.raises(LedgerError, match=gone):
                charge(ledger)


class TestOthers:
    def test_a_locked_file_is_waited_for_and_then_refused(self, path, ledger):
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin exclusive")
            with pytest.raises(LedgerError, match="database is locked"):
                charge(ledger)
            other.execute("rollback")
        goes_on(ledger, 0)

    def test_a_file_that_is_changed_by_somebody_else_meanwhile_is_waited_for(self, path, ledger):
        """The lock is taken before anything is read: else what was read would be old when it is
        our turn to write.
        """
        ledger._store._timeout = 30
        ledger.close()
        asked = threading.Event()

        class Watched:
            """A connection that says when it asks for the lock, or else that it writes."""

            def __init__(self, connection):
                self.connection = connection

            def execute(self, statement, values=()):
                if statement == "begin immediate":
                    asked.set()
                return self.connection.execute(statement, values)

            def executemany(self, statement, values):
                asked.set()
                committed.join()
                return self.connection.executemany(statement, values)

            def __getattr__(self, name):
                return getattr(self.connection, name)

        def commit():
            asked.wait(200)
            other.execute("commit")

        ledger._store._connect = lambda path: Watched(connect(path))
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("begin immediate")
            other.execute("create table notes (note text)")
            committed = threading.Thread(target=commit)
            committed.start()
            charge(ledger)
            committed.join()
        goes_on(ledger, TENTH)

    def test_a_ledger_that_is_locked_as_a_whole_cannot_be_opened(self, path):
        Ledger(f"sqlite:///{path}").close()
        code = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
            "c.execute('pragma locking_mode = exclusive'); c.execute('begin exclusive'); "
            "print(flush=True); sys.stdin.read()"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code, str(path)], **pipes) as other:
            other.stdout.readline()
            with pytest.raises(LedgerError, match="database is locked"):
                Ledger(f"sqlite:///{path}", timeout=0.2)
        Ledger(f"sqlite:///{path}").close()

    def test_a_stopped_process_that_has_the_turn_keeps_nobody(self, path, ledger):
        """The queue only saves time: who has waited long enough goes on without a place."""
        code = """
import fcntl, os, signal, sys
from discreet.platforms import try_lock_bytes
for name in os.listdir(sys.argv[1]):
    file = os.open(sys.argv[1] + name, os.O_RDWR)
    if name.startswith("syncs-"):
        fcntl.flock(file, fcntl.LOCK_EX)
    assert name != "turn" or try_lock_bytes(file, 0, 1)
print("ready", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""
        folder = f"{path}-mailbox/"
        command = [sys.executable, "-c", code, folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"ready\n"
            goes_on(ledger, 0)
            os.kill(other.pid, signal.SIGCONT)
            other.wait()
        goes_on(ledger, TENTH)

    @pytest.mark.parametrize("question", ["spent", "verify", "reserve", "store"])
    def test_a_signal_handler_that_asks_does_not_end_the_charge_that_it_interrupts(
        self, path, ledger, monkeypatch, question
    ):
        """What the charge writes after it would be written without the lock, one statement at a
        time: another process would charge in between, and its charge would be forgotten.
        """
        ask = {
            "spent": lambda: ledger.spent("survey"),
            "verify": ledger.verify,
            "reserve": lambda: charge(ledger),
            "store": lambda: ledger._store.carry_out(
                [Note(ticket="1", time="", dataset="x", what={})]
            ),
        }[question]
        seen = []

        def handle(*_):
            with pytest.raises(
                LedgerError,
                match=r"must be used by one call at a time\. Got a call inside another one",
            ):
                ask()
            other = sqlite3.connect(path, isolation_level=None, timeout=0)
            with closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("begin immediate")
            seen.append(question)

        def interrupted(rows, operations, **options):
            if not seen:
                signal.raise_signal(signal.SIGUSR1)
            return carry_out_all(rows, operations, **options)

        monkeypatch.setattr(sqlite, "carry_out_all", interrupted)
        before = signal.signal(signal.SIGUSR1, handle)
        try:
            assert charge(ledger).number == 2
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert seen == [question]
        goes_on(ledger, TENTH)

    def test_an_interrupt_while_waiting_for_the_lock_leaves_nothing_open(self, path):
        class Interrupted:
            """As if somebody pressed Ctrl-C while a transaction was about to begin."""

            def __init__(self, connection):
                self.connection, self.armed = connection, False

            def __getattr__(self, name):
                return getattr(self.connection, name)

            def execute(self, statement, *values):
                done = self.connection.execute(statement, *values)
                if self.armed and statement.startswith("begin"):
                    self.armed = False
                    raise KeyboardInterrupt
                return done

        connections = []

        def interruptible(path):
            connections.append(Interrupted(connect(path)))
            return connections[-1]

        store = SQLiteStore(path, 1, interruptible)
        operation = Note(ticket="1", time="", dataset="x", what={})
        connections[0].armed = True
        with pytest.raises(KeyboardInterrupt):
            store.carry_out([operation])
        assert store.carry_out([operation]) == [Outcome(number=1)]
        store.close()


def as_nobody(work):
    """What happens to somebody who does not own the files: the error, or the outcome."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            text = repr(work())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        finally:
            os.write(writing, text.encode())
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        return told.read()
