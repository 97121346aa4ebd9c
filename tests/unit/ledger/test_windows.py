"""Windows that are periods: one name for each, and every day in exactly one."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from discreet import ParameterError
from discreet.ledger.subject import PERIODS, days_of

OWNER = "Ledger.reserve"
RIGHT = {
    ("year", "2026"): (date(2026, 1, 1), date(2027, 1, 1)),
    ("quarter", "2026-Q4"): (date(2026, 10, 1), date(2027, 1, 1)),
    ("quarter", "2026-Q1"): (date(2026, 1, 1), date(2026, 4, 1)),
    ("month", "2026-12"): (date(2026, 12, 1), date(2027, 1, 1)),
    ("month", "2024-02"): (date(2024, 2, 1), date(2024, 3, 1)),
    ("week", "2026-W01"): (date(2025, 12, 29), date(2026, 1, 5)),
    ("week", "2026-W53"): (date(2026, 12, 28), date(2027, 1, 4)),
    ("day", "2026-10-31"): (date(2026, 10, 31), date(2026, 11, 1)),
}
WRONG = {
    "year": [
        "26",
        "2026 ",
        " 2026",
        "02026",
        "0000",
        "9999",
        "\uff12\uff10\uff12\uff16",
        "2026-10",
        "2026\n",
        "",
    ],
    "quarter": ["2026-Q0", "2026-Q5", "2026-q1", "2026Q1", "9999-Q4", "0000-Q1"],
    "month": [
        "2026-1",
        "2026-00",
        "2026-13",
        "2026-11 ",
        "2026-11\n",
        "2026/11",
        "2026-11-01",
        "9999-12",
        "november",
    ],
    "week": ["2026-W00", "2026-W54", "2025-W53", "2026-w01", "2026-W1", "2026W01"],
    "day": ["2026-02-29", "2026-1-1", "20260101", "2026-01-01T00:00", "9999-12-31", "2026-W01-1"],
}


@pytest.mark.parametrize(("every", "window"), RIGHT)
def test_the_days_of_a_period(every, window):
    assert days_of(every, window, OWNER) == RIGHT[every, window]


@pytest.mark.parametrize(
    ("every", "window"), [(every, window) for every in WRONG for window in WRONG[every]]
)
def test_any_other_name_is_refused(every, window):
    with pytest.raises(
        ParameterError,
        match=f"The 'window' parameter of Ledger.reserve must be a {every}, written as ",
    ):
        days_of(every, window, OWNER)


def names(every, day):
    year, week, _ = day.isocalendar()
    return {
        "year": f"{day:%Y}",
        "quarter": f"{day:%Y}-Q{(day.month + 2) // 3}",
        "month": f"{day:%Y-%m}",
        "week": f"{year}-W{week:02}",
        "day": f"{day:%Y-%m-%d}",
    }[every]


@pytest.mark.parametrize("every", PERIODS)
def test_every_day_is_in_exactly_one(every):
    days = [date(2023, 12, 25) + timedelta(days=number) for number in range(1500)]
    periods = {days_of(every, names(every, day), OWNER) for day in days}
    for day in days:
        assert [period for period in periods if period[0] <= day < period[1]] == [
            days_of(every, names(every, day), OWNER)
        ]
