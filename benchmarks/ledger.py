"""Durable charges of a ledger beside bare commits of its database, in the same run.

    python benchmarks/ledger.py [--quick] [--postgres URL] [--before FOLDER] [--output FOLDER]

A full run writes benchmarks/results/ledger.{json,md}. Clients are threads of one process, or
processes, that reserve and settle as fast as they can (ledger_clients.py); the measure for a
charge are two commits of one small row by one client. It measures in a folder on disk, on the same
disk with 5 ms more for each sync, in a folder in memory where there is one, and on PostgreSQL
where a URL is given, or in DISCREET_POSTGRES_URL: tests/engines/with_servers.py starts a server.

--before: the `src` folder of another version of the package, which is measured in turn with this
one. Without that nothing is said about speed before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import Section, Table, Target, environment, number, write

_HERE = Path(__file__).parent
_CELLS = [(1, "processes"), (8, "threads"), (64, "threads"), (8, "processes"), (64, "processes")]
_DELAY = 0.005
_SLOW = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int slower(const char *name, int file) {{
    int (*sync)(int) = dlsym(RTLD_NEXT, name);
    usleep({round(1e6 * _DELAY)});
    return sync(file);
}}
int fsync(int file) {{ return slower("fsync", file); }}
int fdatasync(int file) {{ return slower("fdatasync", file); }}
"""
_NOTE = """\
A charge is `reserve` and `settle`. The ratio is charges per second over half of the commits per
second of one client that commits one small row at a time in the same place, measured before and
after the clients. CPU is that of the clients, for each charge."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where ledgers are made.

    folder: for files; none for a server.
    library: what is loaded into each client before anything else.
    """

    title: str
    folder: str = ""
    library: str = ""
    server: str = ""

    @contextmanager
    def ledger(self) -> Iterator[str]:
        """The address of a new one, gone afterwards."""
        if not self.server:
            with tempfile.TemporaryDirectory(prefix="discreet-ledger-", dir=self.folder) as made:
                yield f"sqlite:///{made}/budget.db"
            return
        import psycopg

        name = f"ledger_{secrets.token_hex(8)}"
        address, _, _ = self.server.rpartition("/")
        with psycopg.connect(self.server, autocommit=True) as admin:
            admin.execute(f"create database {name}")
            try:
                yield f"{address}/{name}"
            finally:
                admin.execute(f"drop database {name} with (force)")


def main() -> None:
    """Measure, print, and keep a full run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="half a second each, once")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--times", type=int, default=3, help="how often; medians are shown")
    parser.add_argument("--before", type=Path, metavar="FOLDER")
    parser.add_argument("--only", nargs="*", help="some of: disk slower memory server")
    parser.add_argument(
        "--postgres", default=os.environ.get("DISCREET_POSTGRES_URL"), metavar="URL"
    )
    parser.add_argument("--output", type=Path, help="where to write instead of benchmarks/results")
    chosen = parser.parse_args()
    seconds, times = (0.5, 1) if chosen.quick else (chosen.seconds, chosen.times)
    versions = {"": ""} | ({"before": str(chosen.before.resolve())} if chosen.before else {})
    sections = []
    with tempfile.TemporaryDirectory() as built:
        for name, place in _places(chosen.postgres, Path(built)).items():
            if not chosen.only or name in chosen.only:
                sections.append(measure(name, place, versions, seconds, times))
                print(f"\n{sections[-1]}", flush=True)
    if chosen.output or not (chosen.quick or chosen.only):
        about = environment(["discreet"]) | {"sqlite": sqlite3.sqlite_version}
        write(chosen.output or _HERE / "results", "ledger", about, sections)


def _places(server: str | None, built: Path) -> dict[str, Place]:
    here = str(Path.cwd())  # the folder for temporary files may be in memory
    found = {"disk": Place("SQLite", here)}
    library = built / "slower.so"
    (built / "slower.c").write_text(_SLOW)
    command = ["cc", "-shared", "-fPIC", "-o", library, built / "slower.c", "-ldl"]
    if sys.platform == "linux" and not subprocess.run(command, check=False).returncode:
        found["slower"] = Place(
            f"SQLite on a disk with {1000 * _DELAY:g} ms more for each sync", here, str(library)
        )
    if os.access("/dev/shm", os.W_OK):
        found["memory"] = Place("SQLite in memory", "/dev/shm")
    if server:
        url = server.replace("postgres://", "postgresql://", 1)
        found["server"] = Place("PostgreSQL", server=url)
    return found


def measure(
    name: str, place: Place, versions: dict[str, str], seconds: float, times: int
) -> Section:
    """All numbers of clients in one place, each version in turn."""
    section = Section(name, place.title, _NOTE)
    found = {}
    for clients, kind in _CELLS:
        runs: dict[str, list[dict[str, float]]] = {version: [] for version in versions}
        for _ in range(times):
            for version, source in versions.items():
                runs[version].append(_run(place, clients, kind, seconds, source))
        for version, made in runs.items():
            middle = {key: statistics.median(one[key] for one in made) for key in made[0]}
            middle["ratio"] = statistics.median(
                one["per_second"] / one["two_commits_per_second"] for one in made
            )
            found[clients, kind, version] = middle
            section.records.append(
                {"clients": clients, "kind": kind, "version": version, "runs": made}
            )
    rows = [_row(cell, one) for cell, one in found.items()]
    columns = ["", "charges/s", "ratio", "p50, ms", "p99, ms", "longest, ms", "CPU, µs"]
    section.tables.append(Table("Charges that are durable, each ledger verified", columns, rows))
    section.targets += _targets(name, found)
    return section


def _run(place: Place, clients: int, kind: str, seconds: float, source: str) -> dict[str, float]:
    with place.ledger() as url:
        command = [sys.executable, _HERE / "ledger_clients.py", url, clients, kind, seconds]
        settings = dict(os.environ)
        if source:
            settings["PYTHONPATH"] = source
        if place.library:
            settings["LD_PRELOAD"] = place.library
        told = subprocess.run(
            [str(each) for each in command], env=settings, capture_output=True, check=True
        ).stdout
    measured: dict[str, float] = json.loads(told)
    return measured


def _row(cell: tuple[int, str, str], one: dict[str, float]) -> list[str]:
    clients, kind, version = cell
    title = f"{clients} {kind}" if clients > 1 else "1 client"
    shown = [number(1000 * one[key]) for key in ("median", "p99", "longest")]
    rates = [number(one["per_second"]), f"{one['ratio']:.2f}"]
    return [f"{title}, {version}" if version else title, *rates, *shown, number(1e6 * one["cpu"])]


def _targets(name: str, found: dict[Any, dict[str, float]]) -> list[Target]:
    def over_before(clients: int, kind: str, bound: float) -> list[Target]:
        now, before = (found.get((clients, kind, version)) for version in ("", "before"))
        if now is None or before is None:
            return []
        title = f"{clients} {kind} over before"
        return [Target(title, bound, now["per_second"] / before["per_second"])]

    one = found[1, "processes", ""]
    if name == "memory":
        return [Target("CPU of one client, µs", 250, 1e6 * one["cpu"], at_most=True)]
    if name == "server":
        return [*over_before(1, "processes", 1.4), *over_before(64, "threads", 0.8)]
    longest = found[64, "processes", ""]["longest"]
    return [
        *([Target("1 client over two commits", 0.45, one["ratio"])] if name == "disk" else []),
        *over_before(8, "processes", 0.8),
        *over_before(64, "threads", 1.0),
        Target("longest wait of 64 processes, s", 1, longest, at_most=True),
    ]


if __name__ == "__main__":
    main()
