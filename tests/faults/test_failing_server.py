"""A PostgreSQL server that is restarted, locked or away: a clear error, no release, no password,
and afterwards it goes on.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from fractions import Fraction
from pathlib import Path

import pytest
from engines.with_servers import find_programs
from faults.ledgers import NEEDS_SERVER, Database
from faults.server import a_server

from discreet import Ledger, LedgerError, PureDP, Release
from discreet.ledger.postgresql_connection import BEGIN, COMMIT, Pipeline
from discreet.ledger.transaction import Transaction

psycopg = pytest.importorskip("psycopg")
pytestmark = [
    *NEEDS_SERVER,
    pytest.mark.skipif(
        find_programs() is None, reason="needs PostgreSQL's programs: run by make engines"
    ),
]
TENTH = Fraction(1, 10)
TERMINATE = (
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and "
    "pid <> pg_backend_pid()"
)
WAITING = (
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
)
TAKE_TURN = "select one from discreet.discreet_turn for update"
SET = "do $$ begin execute format('alter database %I {}', current_database()); end $$"


@pytest.fixture
def database():
    made = Database()
    yield made
    made.drop()


@pytest.fixture
def ledger(database):
    with Ledger(database.url, timeout=1) as opened:
        opened.open("survey", budget=PureDP(1))
        yield opened


def charge(ledger, epsilon=0.1, **options):
    return ledger.reserve("survey", PureDP(epsilon), request={"what": "mode"}, **options)


def goes_on(ledger, spent):
    """It charges again, and is as it should be."""
    assert ledger.spent("survey") == spent
    charge(ledger)
    assert ledger.spent("survey") == spent + TENTH
    ledger.verify()


class TestConnections:
    def test_a_dead_network_is_given_up(self, ledger):
        with (
            ledger._store._connection.use() as held,
            socket.socket(fileno=os.dup(held.raw.fileno())) as link,
        ):
            names = ("TCP_USER_TIMEOUT", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
            options = [link.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
            assert link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert options == [2000, 1, 1, 4]

    def test_a_killed_connection_is_an_error_once(self, ledger, database):
        charge(ledger)
        database.sql(TERMINATE)
        with pytest.raises(
            LedgerError,
            match=r"must be readable and writable. Got: .* No answer was given",
        ):
            charge(ledger)
        goes_on(ledger, TENTH)

    def test_a_connection_killed_before_the_answer_is_kept(self, ledger, database):
        reservation = charge(ledger, key="k", replayable=True)
        database.sql(TERMINATE)
        answer = Release(value="terrier", loss=PureDP(0.1), mechanism="test", candidates=3)
        with pytest.raises(LedgerError, match="No answer was given"):
            reservation.settle(answer)
        assert reservation.settle(answer) == answer  # the charge is still there to be settled
        assert charge(ledger, key="k").answer == answer

    def test_a_connection_killed_in_the_middle_of_a_transaction_charges_nothing(
        self, ledger, database, monkeypatch
    ):
        flush = Transaction.flush

        def killed_first(rows):
            monkeypatch.undo()
            database.sql(TERMINATE)
            flush(rows)

        monkeypatch.setattr(Transaction, "flush", killed_first)
        with pytest.raises(LedgerError, match="must be readable and writable"):
            charge(ledger)
        goes_on(ledger, 0)

    def test_a_child_that_was_forked_in_a_charge_leaves_its_parent_the_answers(
        self, ledger, monkeypatch
    ):
        """As by a signal handler that forks: both wait for the same answers then."""
        wait, telling, children = Pipeline._await, os.pipe(), []

        def forked(pipeline):
            monkeypatch.undo()
            children.append(os.fork())
            if children[0]:
                # the child comes first
                os.waitpid(children[0], 0)
            else:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(10)
            wait(pipeline)

        monkeypatch.setattr(Pipeline, "_await", forked)
        before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("waited for ever"))
        signal.alarm(20)
        try:
            said = f"charged as {charge(ledger).number}"
        except LedgerError as error:
            said = str(error)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        if not children[0]:
            os.write(telling[1], said.encode())
            os._exit(0)
        assert "must stay in its process" in os.read(telling[0], 1000).decode()
        assert said == "charged as 2"
        for end in telling:
            os.close(end)
        goes_on(ledger, TENTH)

    def test_a_connection_killed_while_waiting_is_an_error(self, ledger, database):
        problems = []

        def ask():
            try:
                charge(ledger)
            except LedgerError as error:
                problems.append(str(error))

        with psycopg.connect(database.url.replace("+psycopg", "")) as other:
            other.execute(TAKE_TURN)
            asking = threading.Thread(target=ask)
            asking.start()
            while not other.execute(WAITING).fetchall():
                pass
            (mine,) = other.execute("select pg_backend_pid()").fetchone()
            other.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = "
                "current_database() and pid <> %s",
                (mine,),
            )
            asking.join()
        assert problems
        goes_on(ledger, 0)

    def test_a_turn_that_is_never_given_back_is_an_error(self, ledger, database):
        with psycopg.connect(database.url.replace("+psycopg", "")) as other:
            other.execute(TAKE_TURN)
            with pytest.raises(LedgerError, match=r"must be free within 1 seconds. Got no turn"):
                charge(ledger)
        goes_on(ledger, 0)

    def test_a_database_that_may_only_be_read_charges_nothing(self, ledger, database):
        database.sql(
            "do $$ begin execute format('alter database %I set default_transaction_read_only = "
            "on', current_database()); end $$"
        )
        ledger.close()
        with pytest.raises(LedgerError, match="read-only transaction"):
            charge(ledger)
        database.sql(
            "begin; set transaction read write; "
            + SET.format("reset default_transaction_read_only")
            + "; commit"
        )
        ledger.close()
        goes_on(ledger, 0)

    def test_threads_of_two_ledgers_are_all_charged(self, ledger, database):
        with Ledger(database.url) as other:
            threads = [
                threading.Thread(target=lambda one=one: [charge(one, 0.001) for _ in range(10)])
                for one in (ledger, other) * 2
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(ledger.history("survey")) == 40

    def test_a_commit_that_ends_with_a_rollback_is_an_error(self, ledger):
        with ledger._store._connection.use() as held:
            held.ask([BEGIN])
            with pytest.raises(psycopg.Error):
                held.one("select 1 / 0")
            with pytest.raises(LedgerError, match="must be committed"):
                held.ask([COMMIT])
        goes_on(ledger, 0)


class TestServers:
    def test_every_release_is_paid_for_while_the_server_crashes_again_and_again(self, tmp_path):
        """A client releases, and after an error it tries again; the server crashes four times."""
        code = """
import os, sys, time
from discreet import Ledger, LedgerError, PureDP
file = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
ledger, failures = None, 0
while failures < 4:
    try:
        ledger = ledger or Ledger(sys.argv[1], timeout=5)
        number = ledger.reserve("survey", PureDP(1e-6), request={}).number
        os.write(file, f"{number}\\n".encode())
    except LedgerError as error:
        assert "must be readable and writable" in str(error), error
        failures += ledger is not None
        time.sleep(0.2)
        ledger = None
print("done")
"""
        with a_server() as server:
            with Ledger(server.url) as ledger:
                ledger.open("survey", budget=PureDP(1))
            file = tmp_path / "releases"
            command = [sys.executable, "-c", code, server.url, str(file)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
                for mode in ("immediate", "fast", "immediate", "immediate"):
                    before = lines(file)
                    while lines(file) < before + 10:
                        assert client.poll() is None
                    server.stop(mode)
                    server.start()
                assert client.stdout.read() == "done\n"
            with Ledger(server.url) as ledger:
                released = [int(line) for line in file.read_text().split()]
                assert len(set(released)) == len(released) >= 40
                assert set(released) <= {
                    made.number for made in ledger.history("survey", limit=10_000)
                }
                ledger.verify()

    def test_an_open_ledger_goes_on_after_a_restart(self):
        with a_server() as server, Ledger(server.url, timeout=5) as ledger:
            ledger.open("survey", budget=PureDP(1))
            charge(ledger)
            server.stop("fast")
            with pytest.raises(LedgerError) as stopped:
                charge(ledger)
            with pytest.raises(LedgerError) as away:
                charge(ledger)
            server.start()
            goes_on(ledger, TENTH)
            for error in (stopped, away):
                assert server.password not in everything_about(error.value)

    def test_a_server_that_does_not_sync_is_refused(self):
        with (
            a_server("-c fsync=off") as server,
            pytest.raises(LedgerError, match=r"must be on a server that syncs. Got fsync = off"),
        ):
            Ledger(server.url)

    def test_a_server_that_is_lazy_by_default_is_told_to_wait_for_the_disk(self):
        with (
            a_server("-c synchronous_commit=off") as server,
            Ledger(server.url) as ledger,
            ledger._store._connection.use() as held,
        ):
            assert held.one("show synchronous_commit") == [("on",)]

    def test_a_commit_whose_wait_for_the_standby_was_cut_short_is_an_error(self):
        """A role that may cancel our statements makes the server say COMMIT, with a warning."""
        problems = []

        def ask(ledger):
            with pytest.raises(LedgerError, match="the wait was cut short") as error:
                charge(ledger)
            problems.append(error.value)

        def wait_for(standby):
            """Let the server read its settings: once a new session has them, so have all others."""
            admin.execute(f"alter system set synchronous_standby_names = '{standby}'")
            admin.execute("select pg_reload_conf()")
            found = None
            while found != (standby,):
                with psycopg.connect(address) as fresh:
                    found = fresh.execute("show synchronous_standby_names").fetchone()

        cancel = (
            "select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = "
            "'SyncRep'"
        )
        with a_server() as server, Ledger(server.url, timeout=30) as ledger:
            ledger.open("survey", budget=PureDP(1))
            address = server.url.replace("+psycopg", "")
            with psycopg.connect(address, autocommit=True) as admin:
                wait_for("nowhere")
                asking = threading.Thread(target=ask, args=(ledger,))
                asking.start()
                while admin.execute(cancel).fetchone() == (0,):
                    pass
                asking.join()
                wait_for("")
            assert len(problems) == 1
            goes_on(ledger, TENTH)  # the charge stays

    def test_a_wrong_password_is_an_error_without_it(self):
        with a_server() as server:
            wrong = server.url.replace(server.password, "wr0ng-s3cret")
            with pytest.raises(LedgerError, match="password authentication failed") as refused:
                Ledger(wrong)
        assert "wr0ng-s3cret" not in everything_about(refused.value)


class TestInterrupts:
    def test_an_interrupt_in_the_middle_leaves_no_answers_behind(self, ledger, monkeypatch):
        charge(ledger)

        def interrupted(self):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "_receive", interrupted)
            with pytest.raises(KeyboardInterrupt):
                charge(ledger)
        # what was sent may have been carried out
        goes_on(ledger, TENTH * len(ledger.history("survey")))


def lines(file: Path) -> int:
    return len(file.read_text().split()) if file.exists() else 0


def everything_about(error: BaseException) -> str:
    """What a log may show of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(error.__dict__)
