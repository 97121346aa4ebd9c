"""The bar of a long scan: on a terminal, after a moment, and never in the way."""

from __future__ import annotations

import re
import threading
from fractions import Fraction
from types import SimpleNamespace

import duckdb
import pytest

from discreet import Person, PureDP, Session
from discreet.cli.terminal import Scan, scanning


@pytest.fixture
def on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich takes this for a terminal
    monkeypatch.setenv("COLUMNS", "80")


class Looks:
    """A clock that lets time pass for the first moment and for so many looks at a scan, and then
    stands still until the scan is done.
    """

    def __init__(self, looks):
        self.begin, self.drawn = threading.Event(), threading.Event()
        self._left, self.seconds = 1 + looks, []

    def __call__(self, done, seconds):
        self.begin.wait()
        self.seconds.append(seconds)
        if self._left:
            self._left -= 1
            return False
        self.drawn.set()
        return done.wait()

    def pass_by(self):
        """Wait until all looks are on the terminal."""
        self.begin.set()
        self.drawn.wait()


class Connection:
    """A connection that is so far, one step for each question."""

    def __init__(self, *percents):
        self.percents, self.settings = list(percents), []

    def execute(self, text):
        self.settings.append(text)

    def query_progress(self):
        return self.percents.pop(0)


def session_on(connection):
    return SimpleNamespace(_runner=SimpleNamespace(table=SimpleNamespace(connection=connection)))


def watched(connection, looks):
    clock = Looks(looks)
    with scanning("Reading", quiet=False, wait=clock) as scan:
        scan.watch(session_on(connection))
        clock.pass_by()
    return clock


def percents(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    return [
        int(percent)
        for percent in re.findall(r"(\d+)%", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err))
    ], err


@pytest.mark.usefixtures("on_a_terminal")
class TestOnATerminal:
    def test_how_far_it_is(self, capsys):
        connection = Connection(-1.0, 12.5, 42.0)
        clock = watched(connection, 3)
        shown, err = percents(capsys)
        assert clock.seconds == [1.0] + 4 * [0.1]
        assert shown[-1] == 42
        assert "Reading" in err
        assert err.endswith("\x1b[2K")  # it is gone in the end
        assert connection.settings == [
            "set enable_progress_bar = true; set enable_progress_bar_print = false"
        ]

    def test_it_never_goes_back_nor_beyond_the_end(self, capsys):
        watched(Connection(10.0, 70.0, 30.0, 170.0, 60.0), 5)
        shown, _ = percents(capsys)
        assert shown == sorted(shown)
        assert shown[-1] == 100

    @pytest.mark.parametrize(
        "connection", [None, SimpleNamespace()], ids=["another engine", "an old DuckDB"]
    )
    def test_nobody_knows_how_far_it_is(self, capsys, connection):
        watched(connection, 2)
        shown, err = percents(capsys)
        assert shown == []
        assert "Reading" in err

    def test_what_goes_wrong_with_the_bar_does_not_show(self, capsys):
        def broken(*_arguments):
            raise RuntimeError("canary")

        for connection in (SimpleNamespace(query_progress=broken, execute=print), Connection(1.0)):
            connection.execute = (
                broken if isinstance(connection, Connection) else lambda _text: None
            )
            watched(connection, 2)
        shown, err = percents(capsys)
        assert shown == []
        assert "canary" not in err

    def test_the_bar_goes_away_when_something_fails(self, capsys):
        before, clock = threading.enumerate(), Looks(2)

        def fail():
            clock.pass_by()
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), scanning("Reading", quiet=False, wait=clock):
            fail()
        assert capsys.readouterr().err.endswith("\x1b[2K")
        assert threading.enumerate() == before

    def test_nothing_for_another_program(self, capsys):
        clock = Looks(2)
        with scanning("Reading", quiet=True, wait=clock):
            clock.begin.set()
        assert (capsys.readouterr(), clock.seconds) == (("", ""), [])

    def test_nothing_for_what_is_done_in_a_moment(self, capsys):
        """The moment is not waited for: it would never end here."""
        with scanning("Reading", quiet=False, wait=lambda done, seconds: done.wait()):
            pass
        assert capsys.readouterr() == ("", "")

    def test_without_another_clock_it_waits_for_the_scan(self, capsys):
        with scanning("Reading", quiet=False):
            pass
        assert capsys.readouterr().out == ""


def test_nothing_in_a_pipe(capsys):
    clock = Looks(2)
    with scanning("Reading", quiet=False, wait=clock):
        clock.begin.set()
    assert (capsys.readouterr(), clock.seconds) == (("", ""), [])


def test_duckdb_tells_how_far_it_is(tmp_path):
    """Real scans of a file, until one of them takes long enough to be looked at."""
    path = str(tmp_path / "events.parquet")
    duckdb.sql("select range % 100000 as who, range % 7 as item from range(1000000)").write_parquet(
        path
    )
    session, scan = Session(path, unit=Person("who"), budget=PureDP(1)), Scan()
    scan.watch(session)
    seen, done = [], threading.Event()

    def look():
        while not done.wait(0.001):
            seen.append(scan.share())

    viewer = threading.Thread(target=look)
    viewer.start()
    for _ in range(100):
        session.mode("item", candidates=[1, 2], epsilon=Fraction(1, 100))
        if told := [share for share in seen if share is not None]:
            break
    done.set()
    viewer.join()
    assert told
    assert all(0 <= share <= 1 for share in told)
