"""What a budget is about: whom it protects, in which table, and how the table is cut into windows.

A charge for other rows, or for another unit, would be within the budget and still break its
promise, so a budget that knows them refuses such a session. A period of time has one name as a
window, so that no other spelling of it is a new budget.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.privacy.parameters import OneRow, Person, Unit, read_unit

Days = tuple[date, date]
"""From the first day to the one after the last."""


def _months(year: str, month: int, count: int) -> Days:
    after = month - 1 + count
    return date(int(year), month, 1), date(int(year) + after // 12, after % 12 + 1, 1)


def _monday(year: str, week: str) -> date:
    return date.fromisocalendar(int(year), int(week), 1)


def _days(first: date, count: int) -> Days:
    return first, first + timedelta(days=count)


_PERIODS: dict[str, tuple[str, str, Callable[[str], Days]]] = {
    "year": ("[0-9]{4}", "2026", lambda t: _months(t, 1, 12)),
    "quarter": ("[0-9]{4}-Q[1-4]", "2026-Q4", lambda t: _months(t[:4], 3 * int(t[6]) - 2, 3)),
    "month": ("[0-9]{4}-[0-9]{2}", "2026-10", lambda t: _months(t[:4], int(t[5:]), 1)),
    "week": ("[0-9]{4}-W[0-9]{2}", "2026-W44", lambda t: _days(_monday(t[:4], t[6:]), 7)),
    "day": ("[0-9]{4}(-[0-9]{2}){2}", "2026-10-31", lambda t: _days(date.fromisoformat(t), 1)),
}
"""How long a window may be: for each the pattern of its names, one of them, and its days."""
PERIODS = tuple(_PERIODS)


def days_of(every: str, window: str, owner: str) -> Days:
    """The days of a window; another spelling is refused.

    >>> days_of("month", "2026-12", "Ledger.reserve")
    (datetime.date(2026, 12, 1), datetime.date(2027, 1, 1))
    """
    pattern, example, read = _PERIODS[every]
    if re.fullmatch(pattern, window):
        try:
            return read(window)
        except (ValueError, OverflowError):
            pass
    raise ParameterError("window", f"a {every}, written as {example!r}", window, owner=owner)


def require_periods(every: str, windows: Sequence[str], owner: str) -> None:
    """Refuse names of windows that are not the names of periods."""
    for window in windows:
        days_of(every, window, owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a budget was opened for; None where nothing was said.

    unit: who is protected.
    table: the absolute path or pattern of the table's files.
    table_name: the table in a database file.
    table_label: what callers call a table that is not in files, such as a data frame.
    window_column, window_every: the column of dates, and how long each window is.
    """

    unit: Unit | None = None
    table: str | None = None
    table_name: str | None = None
    table_label: str | None = None
    window_column: str | None = None
    window_every: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The part of it that is known, as JSON."""
        texts = {name: getattr(self, name) for name in TEXTS if getattr(self, name) is not None}
        return texts if self.unit is None else {**texts, "unit": _write_unit(self.unit)}


TEXTS = ("table", "table_name", "table_label", "window_column", "window_every")
"""What is known besides the unit."""


def make_subject(
    owner: str,
    *,
    unit: Unit | None,
    table: str | os.PathLike[str] | None,
    table_name: str | None,
    table_label: str | None,
    window_column: str | None,
    window_every: str | None,
) -> Subject:
    """What a caller says about a budget, checked."""
    names = {"table_name": table_name, "table_label": table_label, "window_column": window_column}
    with called_as(owner):
        for name, text in names.items():
            if text is not None and (not isinstance(text, str) or not text):
                raise ParameterTypeError(name, "a name", text)
        if (window_column is None) != (window_every is None):
            missing = "window_column" if window_column is None else "window_every"
            raise ParameterError(missing, "given if 'window_column' or 'window_every' is", None)
        if window_every is not None and window_every not in PERIODS:
            raise ParameterError("window_every", "one of " + ", ".join(PERIODS), window_every)
        if table_name is not None and table is None:
            raise ParameterError("table_name", "left out where there is no table", table_name)
        protected = None if unit is None else read_unit(unit)
    return Subject(
        unit=protected,
        table=None if table is None else place_of(table, owner),
        table_name=table_name,
        table_label=table_label,
        window_column=window_column,
        window_every=window_every,
    )


def place_of(table: str | os.PathLike[str], owner: str) -> str:
    """The one way to write where a table is: an absolute path or pattern, without links.

    >>> place_of("/data/../data/reads-*.parquet", "Ledger.open")
    '/data/reads-*.parquet'
    """
    if not isinstance(table, (str, os.PathLike)) or not os.fspath(table):
        raise ParameterTypeError("table", "a path or a pattern", type(table).__name__, owner=owner)
    text = os.fspath(table)
    if "\0" in text:
        raise ParameterError("table", "a path", text, owner=owner)
    return str(Path(text).resolve())


def read_subject(terms: Mapping[str, Any]) -> Subject:
    """What `Subject.to_dict` wrote among the terms of a budget; something else raises."""
    texts = {name: terms.get(name) for name in TEXTS}
    if not all(text is None or isinstance(text, str) for text in texts.values()):
        raise TypeError("another kind")
    if (texts["window_column"] is None) != (texts["window_every"] is None):
        raise ValueError("half a window")
    if texts["window_every"] not in (None, *PERIODS):
        raise ValueError("another period")
    return Subject(unit=_read_unit(terms["unit"]) if "unit" in terms else None, **texts)


def _write_unit(unit: Unit) -> dict[str, str]:
    return {"person": unit.column} if isinstance(unit, Person) else {"one-row": ""}


def _read_unit(unit: Mapping[str, str]) -> Unit:
    if unit == {"one-row": ""}:
        return OneRow()
    (column,) = unit.values()
    if list(unit) != ["person"]:
        raise ValueError("another unit")
    return Person(column)
