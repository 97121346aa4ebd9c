"""Clients of one ledger that charge as fast as they can: python ledger_clients.py URL CLIENTS
threads|processes SECONDS

A charge is `reserve` and `settle`. Before and after, one client commits small rows in the same
place, two of which are the measure for a charge. Prints JSON. It runs by itself, so that it can
measure another version of the package, or on a disk that is made slower.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from discreet import Ledger, PureDP, Release

LOSS = PureDP(0.001)
ANSWER = Release(value="yes", loss=LOSS, mechanism="load", candidates=2)


def main(url: str, clients: int, kind: str, seconds: float) -> None:
    """Measure bare commits, the clients, and bare commits again."""
    bare = [commits(url, seconds / 2)]
    with Ledger(url) as ledger:
        ledger.open("load", budget=PureDP(10**6))
    found = (threads if kind == "threads" else processes)(url, clients, seconds)
    bare.append(commits(url, seconds / 2))
    with Ledger(url) as ledger:
        ledger.verify()
    times = sorted(each for one in found for each in one["times"])
    print(
        json.dumps(
            {
                "per_second": len(times) / seconds,
                "two_commits_per_second": sum(bare) / len(bare) / 2,
                "median": times[len(times) // 2],
                "p99": times[int(0.99 * len(times))],
                "longest": times[-1],
                "cpu": sum(one["cpu"] for one in found) / len(times),
                "least": min(len(one["times"]) for one in found),
                "most": max(len(one["times"]) for one in found),
            }
        )
    )


def client(ledger: Ledger, seconds: float, start: Callable[[], Any]) -> list[float]:
    """How long each charge took."""
    ledger.remaining("load")
    start()
    found, end = [], time.monotonic() + seconds
    while (before := time.monotonic()) < end:
        ledger.reserve("load", LOSS, request={"what": "load"}).settle(ANSWER)
        found.append(time.monotonic() - before)
    return found


def cpu() -> float:
    """Of this process, by now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def processes(url: str, clients: int, seconds: float) -> list[dict[str, Any]]:
    """Clients that are processes of their own."""
    context = multiprocessing.get_context("fork")  # quick to start, and no ledger is open here
    start, results = context.Barrier(clients), context.SimpleQueue()

    def work() -> None:
        with Ledger(url, timeout=120) as ledger:
            before = 0.0

            def begin() -> None:
                nonlocal before
                start.wait()
                before = cpu()

            times = client(ledger, seconds, begin)
            results.put({"times": times, "cpu": cpu() - before})

    made = [context.Process(target=work) for _ in range(clients)]
    for process in made:
        process.start()
    found = [results.get() for _ in made]
    for process in made:
        process.join()
    return found


def threads(url: str, clients: int, seconds: float) -> list[dict[str, Any]]:
    """Clients that are threads of one process, with one ledger."""
    start, found = threading.Barrier(clients + 1), []
    with Ledger(url, timeout=120) as ledger:
        made = [
            threading.Thread(target=lambda: found.append(client(ledger, seconds, start.wait)))
            for _ in range(clients)
        ]
        for thread in made:
            thread.start()
        start.wait()
        before = cpu()
        for thread in made:
            thread.join()
        return [{"times": times, "cpu": (cpu() - before) / clients} for times in found]


def commits(url: str, seconds: float) -> float:
    """Bare commits of one small row per second, by one client."""
    if url.startswith("sqlite:///"):
        place = url.removeprefix("sqlite:///") + ".bare"
        with closing(sqlite3.connect(place, isolation_level=None)) as connection:
            for statement in (
                "pragma journal_mode = wal",
                "pragma synchronous = full",
                "create table if not exists bare (value text)",
            ):
                connection.execute(statement)

            def commit() -> None:
                connection.execute("begin immediate")
                connection.execute("insert into bare values ('one small row')")
                connection.execute("commit")

            return repeated(commit, seconds)
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as server:
        server.execute("create table if not exists bare (value text)")
        return repeated(
            lambda: server.execute("insert into bare values ('one small row')"), seconds
        )


def repeated(commit: Callable[[], Any], seconds: float) -> float:
    """How often in a second."""
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        commit()
        count += 1
    return count / seconds


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
