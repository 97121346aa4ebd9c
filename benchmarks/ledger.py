"""Durable charges per second: our ledger beside the database's own limit for one durable commit,
in one run.

    python benchmarks/ledger.py [--quick] [--postgres URL] [--output FOLDER]

A full run writes benchmarks/results/ledger.{json,md}. Clients are processes of their own that
charge one budget as fast as they can. The limit is one client that does nothing but commit one
small row, on the same disk or server, and it is measured before and after. PostgreSQL is measured
where a URL is given, or in DISCREET_POSTGRES_URL: tests/engines/with_servers.py starts one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from report import Section, Table, Target, environment, number, write

from discreet import Ledger, PureDP
from discreet.ledger.sqlite import connect

_CLIENTS = (1, 8, 64)
_IN_A_FILE = {64: 2.0, 1: 0.7}
_ON_A_SERVER = {64: 1.0, 1: 0.7}
_NOTE = """\
Each client is a process that reserves epsilon 0.001 of one budget, again and again. A charge is
counted when `reserve` has returned: it is on the disk then. `own limit` is one client that
commits one small row at a time in the same database. With many clients one commit carries the
charges of all who wait."""

_DELAY = 0.005
_SLOWER = (
    f" Here each commit that writes sleeps {1000 * _DELAY:g} ms longer, as on a disk or volume "
    "that takes so long to sync."
)


def main() -> None:
    """Measure, print, and keep a full run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one second each")
    parser.add_argument(
        "--postgres", default=os.environ.get("DISCREET_POSTGRES_URL"), metavar="URL"
    )
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    chosen = parser.parse_args()
    seconds = 1.0 if chosen.quick else 6.0
    about = environment(["discreet"]) | {"sqlite": sqlite3.sqlite_version}
    sections = []
    for name, delay in (("SQLite", 0.0), ("SQLite on a slower disk", _DELAY)):
        with tempfile.TemporaryDirectory(
            prefix="discreet-ledger-", dir=Path.cwd()
        ) as folder:  # /tmp may be memory
            limit = partial(_sqlite_limit, folder, seconds, delay)
            url = f"sqlite:///{folder}/budget.db"
            sections.append(measure(name, url, limit, seconds, _IN_A_FILE, delay))
    if chosen.postgres:
        url = chosen.postgres.replace("postgres://", "postgresql://", 1)
        limit = partial(_postgres_limit, url, seconds)
        sections.append(measure("PostgreSQL", url, limit, seconds, _ON_A_SERVER))
    for section in sections:
        print(f"\n{section}", flush=True)
    output = chosen.output or (
        None if chosen.quick or not chosen.postgres else Path(__file__).parent / "results"
    )
    if output:
        write(output, "ledger", about, sections)


def measure(
    name: str,
    url: str,
    limit: Callable[[], float],
    seconds: float,
    bounds: Mapping[int, float],
    delay: float = 0.0,
) -> Section:
    """One database.

    bounds: what so many clients together should reach, in rates of single commits.
    """
    section = Section(name.lower(), name, _NOTE + (_SLOWER if delay else ""))
    with Ledger(url) as ledger:
        ledger.open("load", budget=PureDP(10**6))
    limits = [limit()]
    found = {clients: _charge(url, clients, seconds, delay) for clients in _CLIENTS}
    limits.append(limit())
    own = statistics.mean(limits)
    with Ledger(url) as ledger:
        entries = ledger.verify().entries
    rows = [["own limit, 1 client", number(own), "1", "", ""]]
    for clients, (rate, latencies) in found.items():
        ordered = sorted(latencies)
        middle, late = ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))]
        record = {
            "clients": clients,
            "per_second": rate,
            "median_s": middle,
            "p99_s": late,
            "own_limit": own,
            "own_limits": limits,
        }
        section.records.append(record)
        shown = [number(rate), f"{rate / own:.2f}", number(1000 * middle), number(1000 * late)]
        rows.append([f"{clients} client{'s' if clients > 1 else ''}", *shown])
    columns = ["", "charges per second", "/ own limit", "median, ms", "p99, ms"]
    section.tables.append(
        Table(
            f"Durable charges; the chain of {entries:,} entries verified afterwards", columns, rows
        )
    )
    for clients, bound in bounds.items():
        name = f"{clients} client{'s' if clients > 1 else ''} over the rate of single commits"
        section.targets.append(Target(name, bound, found[clients][0] / own))
    return section


def _charge(url: str, clients: int, seconds: float, delay: float) -> tuple[float, list[float]]:
    """Charges per second of so many processes together, and how long each took."""
    context = multiprocessing.get_context("fork")  # quick to start, and no ledger is open here
    start, results = context.Barrier(clients + 1), context.SimpleQueue()
    processes = [
        context.Process(target=_client, args=(url, seconds, delay, start, results))
        for _ in range(clients)
    ]
    for process in processes:
        process.start()
    start.wait()
    began = time.monotonic()
    latencies = [latency for _ in processes for latency in results.get()]
    lasted = time.monotonic() - began
    for process in processes:
        process.join()
    return len(latencies) / max(seconds, min(lasted, 1.5 * seconds)), latencies


def _client(url: str, seconds: float, delay: float, start: Any, results: Any) -> None:
    latencies = []
    with Ledger(url) as ledger:
        if delay:
            store: Any = ledger._store
            store._connect = lambda path: _Slow(connect(path), delay)
            store.close()  # and opened again that way when it is needed
        loss = PureDP(0.001)
        ledger.remaining("load")
        start.wait()
        end = time.monotonic() + seconds
        while (before := time.monotonic()) < end:
            ledger.reserve("load", loss, request={"what": "load"})
            latencies.append(time.monotonic() - before)
    results.put(latencies)


class _Slow:
    """A connection whose commits take longer."""

    def __init__(self, connection: sqlite3.Connection, delay: float) -> None:
        self._connection, self._delay, self._writes = connection, delay, False

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        if statement.startswith("begin"):
            self._writes = statement == "begin immediate"
        elif statement == "commit" and self._writes:
            time.sleep(self._delay)
        return self._connection.execute(statement, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _sqlite_limit(folder: str, seconds: float, delay: float) -> float:
    connection = _Slow(sqlite3.connect(f"{folder}/limit.db", isolation_level=None), delay)
    for statement in (
        "pragma journal_mode = wal",
        "pragma synchronous = full",
        "create table if not exists rows (value text)",
    ):
        connection.execute(statement)

    def commit() -> None:
        for step in ("begin immediate", "insert into rows values ('one small row')", "commit"):
            connection.execute(step)

    return _commits(commit, seconds)


def _postgres_limit(url: str, seconds: float) -> float:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table if not exists discreet_limit (value text)")
        rate = _commits(
            lambda: connection.execute("insert into discreet_limit values ('one small row')"),
            seconds,
        )
        connection.execute("drop table discreet_limit")
    return rate


def _commits(commit: Callable[[], Any], seconds: float) -> float:
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        commit()
        count += 1
    return count / seconds


if __name__ == "__main__":
    main()
