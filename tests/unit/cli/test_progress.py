"""The bar of a long scan: on a terminal, after a moment, and never in the way."""

from __future__ import annotations

import re
import threading
import time
from types import SimpleNamespace

import duckdb
import pytest

from discreet import Person, PureDP, Session
from discreet.cli import terminal
from discreet.cli.terminal import Scan, scanning


@pytest.fixture
def on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich takes this for a terminal
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(terminal, "_INTERVAL", 0.001)


class Connection:
    """A connection that is so far, one step for each question; the scan is done when all steps
    were asked for.
    """

    def __init__(self, *percents):
        self.percents, self.settings, self.done = list(percents), [], threading.Event()

    def execute(self, text):
        self.settings.append(text)

    def query_progress(self):
        if len(self.percents) == 1:
            self.done.set()
            return self.percents[0]
        return self.percents.pop(0)


def session_on(connection):
    return SimpleNamespace(_curator=SimpleNamespace(table=SimpleNamespace(connection=connection)))


def watched(connection):
    with scanning("Reading", quiet=False) as scan:
        scan.watch(session_on(connection))
        assert connection.done.wait(20)
        time.sleep(0.3)  # the bar is drawn ten times a second


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
        watched(connection)
        shown, err = percents(capsys)
        assert shown[-1] == 42
        assert "Reading" in err
        assert err.endswith("\x1b[2K")  # it is gone in the end
        assert connection.settings == [
            "set enable_progress_bar = true; set enable_progress_bar_print = false"
        ]

    def test_it_never_goes_back_nor_beyond_the_end(self, capsys):
        watched(Connection(10.0, 70.0, 30.0, 170.0, 60.0))
        shown, _ = percents(capsys)
        assert shown == sorted(shown)
        assert shown[-1] == 100

    @pytest.mark.parametrize(
        "connection", [None, SimpleNamespace()], ids=["another engine", "an old DuckDB"]
    )
    def test_nobody_knows_how_far_it_is(self, capsys, connection):
        with scanning("Reading", quiet=False) as scan:
            scan.watch(session_on(connection))
            time.sleep(0.2)
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
            with scanning("Reading", quiet=False) as scan:
                scan.watch(session_on(connection))
                time.sleep(0.1)
        shown, err = percents(capsys)
        assert shown == []
        assert "canary" not in err

    def test_the_bar_goes_away_when_something_fails(self, capsys):
        def fail():
            time.sleep(0.2)
            raise KeyboardInterrupt

        before = threading.enumerate()
        with pytest.raises(KeyboardInterrupt), scanning("Reading", quiet=False):
            fail()
        assert capsys.readouterr().err.endswith("\x1b[2K")
        assert threading.enumerate() == before

    def test_nothing_for_another_program(self, capsys):
        with scanning("Reading", quiet=True):
            time.sleep(0.1)
        assert capsys.readouterr() == ("", "")

    def test_nothing_for_what_is_done_in_a_moment(self, capsys, monkeypatch):
        monkeypatch.setattr(terminal, "_PATIENCE", 5.0)
        began = time.monotonic()
        with scanning("Reading", quiet=False):
            pass
        assert time.monotonic() - began < 4  # and it is not waited for
        assert capsys.readouterr() == ("", "")


def test_nothing_in_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    with scanning("Reading", quiet=False):
        time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


def test_duckdb_tells_how_far_it_is(tmp_path):
    """A real scan of a file, for as long as DuckDB takes."""
    path = str(tmp_path / "events.parquet")
    duckdb.sql("select range % 100000 as who, range % 7 as item from range(3000000)").write_parquet(
        path
    )
    session, scan = Session(path, unit=Person("who"), budget=PureDP(1)), Scan()
    scan.watch(session)
    seen, done = [], threading.Event()

    def look():
        while not done.wait(0.005):
            seen.append(scan.share())

    viewer = threading.Thread(target=look)
    viewer.start()
    session.mode("item", candidates=[1, 2], epsilon=1)
    done.set()
    viewer.join()
    told = [share for share in seen if share is not None]
    assert told
    assert all(0 <= share <= 1 for share in told)
