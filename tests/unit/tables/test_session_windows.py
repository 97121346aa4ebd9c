"""A budget whose windows are days of a column pays for the rows of those windows, and for no
others.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

import polars
import pytest

from discreet import Ledger, ParameterError, Person, PureDP, Session

DAYS = [date(2026, 9, 30), *[date(2026, 10, day) for day in (1, 15, 31)], *[date(2026, 11, 1)] * 20]
ITEMS = ["c", "a", "a", "a", *["b"] * 20]
PERSONS = list(range(len(DAYS)))


def _frame(days):
    return polars.DataFrame({"person": PERSONS, "item": ITEMS, "day": days})


def _csv(place):
    lines = [
        f"{person},{item},{day}T12:00"
        for person, item, day in zip(PERSONS, ITEMS, DAYS, strict=True)
    ]
    path = place / "reads.csv"
    path.write_text("person,item,day\n" + "\n".join([*lines, "999,b,someday"]) + "\n")
    return path


def _times(zone):
    # The last moment of October, and the first of November: in UTC where there is a zone.
    return [
        datetime(day.year, day.month, day.day, 23 if day.month < 11 else 0, tzinfo=zone)
        for day in DAYS
    ]


SOURCES = {
    "days": lambda place: _frame(DAYS),
    "times": lambda place: _frame(_times(None)),
    "times with a zone": lambda place: _frame(_times(UTC)),
    "text": _csv,
    "arrow": lambda place: _frame(DAYS).to_arrow(),
}


@pytest.fixture
def ledger(tmp_path):
    folder = tmp_path / "ledger"
    folder.mkdir(mode=0o700)
    with Ledger(f"sqlite:///{folder}/budget.db") as book:
        book.open(
            "reads",
            budget=PureDP(200),
            unit=Person("person"),
            windows=True,
            window_column="day",
            window_every="month",
        )
        yield book


@pytest.mark.parametrize("source", SOURCES)
def test_only_rows_of_the_window_count(source, ledger, tmp_path):
    def winner(*windows, where=None):
        session = Session(
            SOURCES[source](tmp_path),
            unit=Person("person"),
            ledger=ledger,
            dataset="reads",
            window=list(windows),
        )
        return session.mode("item", candidates=["a", "b", "c"], epsilon=20, where=where).value

    assert winner("2026-10") == "a"
    assert winner("2026-11") == "b"
    assert winner("2026-09") == "c"
    assert winner("2026-09", "2026-10") == "a"
    # A condition of one's own only takes rows away.
    assert winner("2026-10", where="item = 'a' or item = 'b'") == "a"
    assert ledger.spent("reads", window="2026-11") == 20


def test_a_window_that_is_none_is_refused_before_the_charge(ledger, tmp_path):
    for name in ("2026-10 ", "2026-1", "October", "2026-13", "2026-10-01"):
        with pytest.raises(ParameterError):
            Session(
                _frame(DAYS), unit=Person("person"), ledger=ledger, dataset="reads", window=name
            )
    assert len(ledger.history("reads")) == 0


def test_a_table_without_the_column_is_refused(ledger):
    frame = _frame(DAYS).drop("day")
    session = Session(
        frame, unit=Person("person"), ledger=ledger, dataset="reads", window="2026-10"
    )
    with pytest.raises(ParameterError, match="window"):
        session.mode("item", candidates=["a"], epsilon=1)
    assert len(ledger.history("reads")) == 0


def test_a_list_of_windows_that_is_changed_later_changes_nothing(ledger):
    windows = ["2026-10"]
    session = Session(
        _frame(DAYS), unit=Person("person"), ledger=ledger, dataset="reads", window=windows
    )
    windows[0] = "2026-09"
    release = session.mode("item", candidates=["a", "b", "c"], epsilon=60)
    assert release.value == "a"
    left = [float(ledger.remaining("reads", window=name)) for name in ("2026-09", "2026-10")]
    assert left == [200, 140]
    assert float(session.remaining()) == 140
