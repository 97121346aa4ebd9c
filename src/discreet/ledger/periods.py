"""Windows that are periods of time: their names, and the days that they are.

One name for one period, so that no other spelling of it is a new budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta

from discreet.errors import ParameterError

Days = tuple[date, date]
"""From the first day to the one after the last."""


def _year(name: str) -> Days:
    return date(int(name), 1, 1), date(int(name) + 1, 1, 1)


def _quarter(name: str) -> Days:
    return _months(int(name[:4]), 3 * int(name[6]) - 2, 3)


def _month(name: str) -> Days:
    return _months(int(name[:4]), int(name[5:]), 1)


def _week(name: str) -> Days:
    first = date.fromisocalendar(int(name[:4]), int(name[6:]), 1)
    return first, first + timedelta(days=7)


def _day(name: str) -> Days:
    first = date.fromisoformat(name)
    return first, first + timedelta(days=1)


def _months(year: int, month: int, how_many: int) -> Days:
    after = month - 1 + how_many
    return date(year, month, 1), date(year + after // 12, after % 12 + 1, 1)


_PERIODS: dict[str, tuple[str, str, Callable[[str], Days]]] = {
    "year": ("[0-9]{4}", "2026", _year),
    "quarter": ("[0-9]{4}-Q[1-4]", "2026-Q4", _quarter),
    "month": ("[0-9]{4}-[0-9]{2}", "2026-10", _month),
    "week": ("[0-9]{4}-W[0-9]{2}", "2026-W44", _week),
    "day": ("[0-9]{4}-[0-9]{2}-[0-9]{2}", "2026-10-31", _day),
}
PERIODS = tuple(_PERIODS)
"""How long a window may be."""


def days_of(every: str, window: str, owner: str) -> Days:
    """The days of a window, from the first to the one after the last; another spelling is refused.

    >>> days_of("month", "2026-12", "Ledger.reserve")
    (datetime.date(2026, 12, 1), datetime.date(2027, 1, 1))
    """
    pattern, example, read = _PERIODS[every]
    if re.fullmatch(pattern, window):
        try:
            return read(window)
        except (ValueError, OverflowError):
            pass
    raise ParameterError(owner, "window", f"a {every}, written as {example!r}", window)


def require_periods(every: str | None, windows: Sequence[str], owner: str) -> None:
    """Refuse names of windows that are not the names of periods."""
    for window in windows if every is not None else ():
        days_of(every or "", window, owner)
