"""Small things that people wait for: opening a table, a question to 3,000 rows, and choices from
a mapping of 100 candidates.

    python benchmarks/small_questions.py [--quick]

Writes benchmarks/results/small_questions.{json,md}.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
from report import Section, Table, Target, environment, number, write
from timing import Effort, Timing, interleave

import discreet
from discreet.questions import BestPrice, Mode

ROWS, PERSONS, ITEMS = 3_000, 1_000, 50
NAMES = [f"item {place}" for place in range(ITEMS)]
PRICES = list(range(1, 100))
# far more than is asked here
BUDGET = discreet.PureDP(10**6)
PLAIN = "select item, count(distinct person) from rows group by item"

_TABLES = f"""\
{ROWS:,} rows of {PERSONS:,} persons in memory, {ITEMS} candidates, {len(PRICES)} prices. *Asked
again*: the same question once more, for a new answer; *another*: with another condition each
time, so that it is prepared first. Plain SQL is DuckDB's own count of persons for each item."""
_MAPPINGS = """\
`select` and `top_k` called as a whole with a mapping of 100 labels to counts of Zipf's
frequencies, epsilon 1, by each way to choose; the least of all rounds is what the code takes,
the median what a machine with other work makes of it."""

Calls = dict[str, Callable[[], object]]


def tables() -> dict[str, Any]:
    """The same rows in each library."""
    generator = np.random.default_rng(3)
    columns = {
        "person": generator.integers(0, PERSONS, ROWS),
        "item": [NAMES[place] for place in generator.zipf(1.5, ROWS) % ITEMS],
        "price": generator.integers(1, 100, ROWS),
    }
    made = (pandas.DataFrame(columns), pyarrow.table(columns), polars.DataFrame(columns))
    return dict(zip(("pandas", "Arrow", "Polars"), made, strict=True))


def open_session(table: Any) -> discreet.Session:
    """A session with a budget that is large enough."""
    return discreet.Session(table, unit=discreet.Person("person"), budget=BUDGET)


def questions_of(name: str, table: Any) -> Calls:
    """What is timed on one table; all of it was asked once before."""
    session, numbers = open_session(table), count()
    question = Mode("item", candidates=NAMES, epsilon=0.01)

    def another() -> object:
        where = f"price < {1000 + next(numbers)}"
        return session.mode("item", candidates=NAMES, where=where, epsilon=0.01)

    calls: Calls = {
        "opening": partial(open_session, table),
        "mode, asked again": partial(session.ask, question, fresh=True),
        "mode, another": another,
        "best price, asked again": partial(
            session.ask, BestPrice("price", prices=PRICES, rule="max", epsilon=0.01), fresh=True
        ),
    }
    for call in calls.values():
        call()
    return {f"{name}: {what}": call for what, call in calls.items()}


def of_tables(rounds: int) -> Section:
    """Opening, and questions to small tables."""
    section = Section("tables", f"A table of {ROWS:,} rows", _TABLES)
    every = tables()
    connection = duckdb.connect()
    connection.register("rows", every["Arrow"])
    calls: Calls = {"plain SQL": lambda: connection.sql(PLAIN).fetchall()}
    for name, table in every.items():
        calls |= questions_of(name, table)
    times = interleave(calls, Effort(rounds=rounds, repeats=5))
    section.tables.append(_shown(times, "ms", 1e3))
    section.records += _records(times)
    for name in every:
        mode, price = (times[f"{name}: {what}, asked again"] for what in ("mode", "best price"))
        opening = times[f"{name}: opening"]
        section.targets += [
            _target(f"{name}: opening, ms", 3, opening, 1e3),
            _target(f"{name}: mode, asked again, ms", 2.5, mode, 1e3),
            Target(
                f"{name}: best price, times mode",
                1.5,
                price.median / mode.median,
                price.minimum / mode.minimum,
                at_most=True,
            ),
        ]
    return section


def of_mappings(rounds: int) -> Section:
    """One and ten of a hundred labels."""
    section = Section("mappings", "A mapping of 100 candidates", _MAPPINGS)
    counts = {f"item {place}": 10_000 // (place + 1) for place in range(100)}
    stated: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "monotonic": True}
    calls: Calls = {
        f"one, {name}": partial(discreet.select, counts, mechanism=name, **stated)
        for name in ("permute-and-flip", "exponential", "laplace-noise")
    }
    calls |= {
        f"ten, {method}": partial(discreet.top_k, counts, 10, method=method, **stated)
        for method in ("auto", "peel", "one-shot", "joint")
    }
    times = interleave(calls, Effort(rounds=rounds, repeats=50))
    section.tables.append(_shown(times, "µs", 1e6))
    section.records += _records(times)
    section.targets += [
        _target("one, permute-and-flip, µs", 25, times["one, permute-and-flip"], 1e6),
        _target("one, laplace-noise, µs", 25, times["one, laplace-noise"], 1e6),
        _target("ten, auto, µs", 150, times["ten, auto"], 1e6),
    ]
    return section


def _target(name: str, bound: float, timing: Timing, scale: float) -> Target:
    return Target(name, bound, timing.median * scale, timing.minimum * scale, at_most=True)


def _shown(times: dict[str, Timing], unit: str, scale: float) -> Table:
    rows = [
        [what, number(timing.median * scale), number(timing.minimum * scale)]
        for what, timing in times.items()
    ]
    return Table(f"Times, {unit}", ["what", "median", "minimum"], rows)


def _records(times: dict[str, Timing]) -> list[dict[str, Any]]:
    return [
        {"what": what, "median_s": timing.median, "minimum_s": timing.minimum}
        for what, timing in times.items()
    ]


def main() -> None:
    """Measure, show and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, nothing is written")
    quick = parser.parse_args().quick
    sections = [of_tables(3 if quick else 60), of_mappings(3 if quick else 60)]
    for section in sections:
        print(section, end="\n\n")
    if not quick:
        about = environment(["discreet", "numpy", "duckdb", "narwhals", "polars", "pandas"])
        write(Path(__file__).parent / "results", "small_questions", about, sections)


if __name__ == "__main__":
    main()
