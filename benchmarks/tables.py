"""From a table to a private answer: discreet beside the same question without privacy on the same
engine, in one run, as ratios.

    python benchmarks/tables.py [--quick] [--spark [PYTHON]] [--opendp PYTHON] [--tumult PYTHON]
                                [--sections duckdb peers spark growth] [--output FOLDER]

A full run (all four sections, with Spark) writes benchmarks/results/tables.{json,md,png}; others
write only where --output says. Spark and the peers want packages of their own, so each runs in a
process of its own under the Python that is named; without one it is left out. Ratios compare
medians of calls that took turns; minima and CPU seconds stand beside them, because another
process can only ever add to a time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import duckdb
from report import Section, Table, Target, environment, number, write
from tables_plot import draw
from tables_worker import ARTICLES, CAP, NOISY, ORDER, OURS, PLAIN, SHORT
from timing import Effort, Timing, interleave

_READS = f"""\
Who read which article: ten rows a person on average, {ARTICLES:,} articles of Zipf's popularity,
in a Parquet file. The plain query groups by article, counts the distinct persons, orders and
takes the first ten, in the engine's own SQL and as a Narwhals expression. Ours protects each
person with all their rows, k = 10, epsilon 1: `session.top_k` with public lists of candidates, of
an unknown domain (limit 1,000), and `session.mode` with {ARTICLES:,} candidates that are
themselves a table."""
_DUCKDB = _READS
_SPARK = """\
The same on Spark, local[2], 8 shuffle partitions, after a warm-up on a million rows. CPU seconds
are those of Python and of Spark's own process."""
_PEERS = """\
{rows} rows, 1,000 candidates. Neither OpenDP's data frames (on Polars) nor Tumult Analytics (on
Spark) can select from a table: they give a noisy count for each candidate, and the ten largest
are picked afterwards. Both need a cap on the articles of one person, here {cap}: what is beyond
it is lost, and the noise grows with it. So this is the nearest job, not the same one. Each stands
beside the plain query on its own engine. OpenDP keeps the first articles of a person, because
sampling them fails in 0.16 on this table."""
_GROWTH = """\
Each call in a fresh process with a memory limit of {memory} for DuckDB, after a warm-up on a few
rows. The peak is the most resident memory of the whole process, of which {base} are there before
the query. Hash tables that no longer fit the processor's caches make the plain query, too, grow
faster than its rows; so both growths are shown."""

_MEMORY = "4GB"
_MANY, _MOST = 10**7, 10**8
_TARGET = 1.2
_MIXED = """
create macro mixed_once(x) as xor(x, x >> 16) * 2246822507 & 4294967295;
create macro mixed_twice(x) as xor(x, x >> 13) * 3266489909 & 4294967295;
create macro mixed(x) as mixed_twice(mixed_once(x::ubigint * 2654435761 & 4294967295));
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    quick: bool
    pythons: Mapping[str, str]
    data: Data


class Data:
    """Files of reads in a folder that goes away, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.articles = str(folder / "articles.parquet")
        with duckdb.connect() as connection:
            connection.execute(
                f"copy (select range + 1 as article from range({ARTICLES})) to '{self.articles}'"
            )

    def reads(self, rows: int) -> str:
        """Rows of a person and an article, the same in each run. Made by the engine: Python would
        take minutes.
        """
        path = self._folder / f"reads-{rows}.parquet"
        if not path.exists():
            if (
                shutil.disk_usage(self._folder).free < 100 * rows
            ):  # the file, and what engines spill
                raise SystemExit(
                    f"{rows:,} rows need {100 * rows / 1e9:.1f} GB of disk. Set TMPDIR to where "
                    "there is room."
                )
            person = f"(mixed(range) * {rows // 10} >> 32)::bigint"
            article = f"floor(pow({ARTICLES}, mixed(range + {rows + 1}) / 4294967296.0))::bigint"
            with duckdb.connect() as connection:
                connection.execute(_MIXED)
                connection.execute(
                    f"copy (select {person} as person, {article} as article from range({rows})) to "
                    f"'{path}' (format parquet)"
                )
        return str(path)


@dataclass(slots=True)
class Seen:
    """What a worker said beside the time, call by call."""

    cpu: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    rows: int = 0


class Worker:
    """An engine in a process of its own."""

    def __init__(self, engine: str, python: str, memory: str | None = None) -> None:
        here = Path(__file__).resolve().parent
        command = [python, str(here / "tables_worker.py"), engine, *([memory] if memory else [])]
        paths = {"PYTHONPATH": os.environ.get("PYTHONPATH") or str(here.parent / "src")}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed in __exit__
        self._process = Popen(
            command, stdin=PIPE, stdout=PIPE, stderr=self._errors, text=True, env=os.environ | paths
        )
        self.about = self._answer()
        self.seen: dict[str, Seen] = {}

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()

    def ask(self, question: str, reads: str, articles: str) -> None:
        """Ask one question and keep what is said about it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([question, reads, articles]) + "\n")
        self._process.stdin.flush()
        found = self._answer()
        seen = self.seen.setdefault(question, Seen())
        seen.cpu.append(found["cpu_s"])
        seen.peaks.append(found["peak_bytes"])
        seen.rows = found["rows"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise SystemExit(f"The worker ended:\n{self._errors.read()[-3000:]}")
        found: dict[str, Any] = json.loads(line)
        return found


def on_duckdb(options: Options) -> Section:
    """One million and ten million rows on DuckDB, in turns."""
    section = Section("duckdb", "DuckDB", _DUCKDB)
    sizes = [10**5, 10**6] if options.quick else [10**6, _MANY]
    with Worker("duckdb", sys.executable) as worker:
        for size in sizes:
            worker.seen.clear()
            effort = Effort(2) if options.quick else Effort(9, seconds=15.0)
            times = _take_turns(
                worker, ORDER, options.data.reads(size), options.data.articles, effort
            )
            _report(section, times, worker.seen, size)
    section.targets += _targets(section.records, sizes[-1])
    return section


def on_spark(options: Options) -> Section:
    """Ten million rows on Spark, in turns."""
    section = Section("spark", "Spark", _SPARK)
    size = 10**6 if options.quick else _MANY
    with Worker("spark", options.pythons["spark"]) as worker:
        for question in ORDER:
            worker.ask(question, options.data.reads(size // 10), options.data.articles)
        worker.seen.clear()
        effort = Effort(2) if options.quick else Effort(3, seconds=60.0, least=1)
        times = _take_turns(worker, ORDER, options.data.reads(size), options.data.articles, effort)
        _report(section, times, worker.seen, size)
    section.targets += _targets(section.records, size)
    return section


def peers(options: Options) -> Section:
    """OpenDP's data frames and Tumult Analytics, each beside the plain query on its own engine,
    and ours on DuckDB in the same turns.
    """
    size = 10**5 if options.quick else 10**6
    section = Section("peers", "Peers", _PEERS.format(cap=CAP, rows=f"{size:,}"))
    reads, articles = options.data.reads(size), options.data.articles
    names = {
        "duckdb": "discreet",
        "spark": "discreet",
        "opendp": "OpenDP",
        "tumult": "Tumult Analytics",
    }
    asked = {
        "duckdb": (PLAIN, SHORT),
        "spark": (PLAIN, SHORT),
        "opendp": (PLAIN, NOISY),
        "tumult": (PLAIN, NOISY),
    }
    on = {"duckdb": "DuckDB", "spark": "Spark", "opendp": "Polars", "tumult": "Spark"}
    pythons = {"duckdb": sys.executable, **options.pythons}
    workers = {engine: Worker(engine, python) for engine, python in pythons.items()}
    try:
        for engine, worker in workers.items():
            for question in asked[engine]:
                worker.ask(question, options.data.reads(10**5), articles)
            worker.seen.clear()
        calls = {
            (engine, question): partial(worker.ask, question, reads, articles)
            for engine, worker in workers.items()
            for question in asked[engine]
        }
        times = interleave(calls, Effort(2) if options.quick else Effort(3, seconds=15.0, least=2))
    finally:
        for worker in workers.values():
            worker.__exit__()
    rows = []
    for engine, worker in workers.items():
        plain, private = (times[engine, question] for question in asked[engine])
        versions = ", ".join(f"{name} {text}" for name, text in worker.about["versions"].items())
        for question in asked[engine]:
            record = _record(question, times[engine, question], worker.seen[question], size)
            section.records.append(
                record | {"who": names[engine], "engine": on[engine], "versions": versions}
            )
        rows.append(
            [
                names[engine],
                on[engine],
                versions,
                _cell(plain),
                _cell(private),
                number(private.median / plain.median),
            ]
        )
        rows[-1].append(number(private.median / times["duckdb", SHORT].median))
    columns = [
        "",
        "engine",
        "versions",
        "plain, s",
        "private, s",
        "private / plain",
        "times discreet on DuckDB",
    ]
    section.tables.append(
        Table(f"{size:,} rows, 1,000 candidates: seconds, median (minimum)", columns, rows)
    )
    for engine in ("opendp", "tumult"):
        if engine not in workers:
            section.note += f" {names[engine]} is not here: no Python was named that has it."
    return section


def growth(options: Options) -> Section:
    """Time and memory up to a hundred million rows on DuckDB, with a limit on its memory."""
    section = Section("growth", "Growth with the number of rows", "")
    sizes = [10**5, 10**6, _MANY] if options.quick else [10**6, _MANY, _MOST]
    base = 0
    for size in sizes:
        reads = options.data.reads(size)
        rounds = 1 if options.quick or size == _MOST else 3
        times: dict[str, Timing] = {}
        seen: dict[str, Seen] = {question: Seen() for question in ORDER}
        taken: dict[str, list[float]] = {question: [] for question in ORDER}
        for _ in range(rounds):
            for question in ORDER:
                with Worker("duckdb", sys.executable, _MEMORY) as worker:
                    worker.ask(question, options.data.reads(10**4), options.data.articles)
                    base = max(base, worker.seen[question].peaks[0]) if question == PLAIN else base
                    worker.seen.clear()
                    timing = interleave(
                        {question: partial(worker.ask, question, reads, options.data.articles)},
                        Effort(1),
                    )
                    taken[question].append(timing[question].median)
                    seen[question].cpu += worker.seen[question].cpu
                    seen[question].peaks += worker.seen[question].peaks
                    seen[question].rows = worker.seen[question].rows
        for question, found in taken.items():
            times[question] = Timing(statistics.median(found), min(found), len(found))
        section.records += [
            _record(question, times[question], seen[question], size) for question in ORDER
        ]
    section.note = _GROWTH.format(memory=_MEMORY, base=f"{base / 1e6:.0f} MB")
    _add_growth(section, sizes)
    return section


def _add_growth(section: Section, sizes: Sequence[int]) -> None:
    found = {(record["question"], record["rows"]): record for record in section.records}
    columns = ["", *map(_power, sizes)]

    def table(title: str, cell: Any) -> Table:
        return Table(
            title,
            columns,
            [[question, *(cell(found[question, size]) for size in sizes)] for question in ORDER],
        )

    section.tables += [
        table(
            "Seconds, median (minimum)",
            lambda r: f"{number(r['median_s'])} ({number(r['minimum_s'])})",
        ),
        table("Nanoseconds per row, minimum", lambda r: number(1e9 * r["minimum_s"] / r["rows"])),
        table("CPU seconds, minimum", lambda r: number(r["cpu_s"])),
        table("Peak memory, MB", lambda r: number(r["peak_bytes"] / 1e6)),
        table("Rows that came to Python", lambda r: f"{r['returned']:,}"),
    ]
    first, last = sizes[0], sizes[-1]
    rows = []
    for question in ORDER:
        times = [
            found[question, last][key] / found[question, first][key]
            for key in ("median_s", "minimum_s", "cpu_s")
        ]
        exponent = math.log(times[1]) / math.log(last / first)
        rows.append([question, *map(number, times), f"{exponent:.2f}"])
    columns = ["", "medians", "minima", "CPU", "exponent"]
    section.tables.append(
        Table(f"Time for {_power(last)} rows over time for {_power(first)} rows", columns, rows)
    )
    for question in OURS:
        ratio = {
            key: found[question, last][key]
            / found[question, first][key]
            / (found[PLAIN, last][key] / found[PLAIN, first][key])
            for key in ("median_s", "minimum_s")
        }
        name = (
            f"{question}: growth {_power(first)} to {_power(last)}, times that of the plain query"
        )
        section.targets.append(
            Target(name, _TARGET, ratio["median_s"], ratio["minimum_s"], at_most=True)
        )
    section.targets += _targets(section.records, last)
    peak = max((found[question, last]["peak_bytes"], question) for question in OURS)
    name = f"peak memory at {_power(last)} rows, GB"
    section.targets.append(
        Target(
            name,
            1.25 * float(_MEMORY.removesuffix("GB")),
            peak[0] / 1e9,
            where=peak[1],
            at_most=True,
        )
    )


def _take_turns(
    worker: Worker, questions: Sequence[str], reads: str, articles: str, effort: Effort
) -> dict[str, Timing]:
    calls = {question: partial(worker.ask, question, reads, articles) for question in questions}
    worker.ask(PLAIN, reads, articles)  # the file is in the cache of the system from now on
    worker.seen.clear()
    return interleave(calls, effort)


def _report(
    section: Section, times: Mapping[str, Timing], seen: Mapping[str, Seen], size: int
) -> None:
    section.records += [
        _record(question, timing, seen[question], size) for question, timing in times.items()
    ]
    plain = times[PLAIN]
    rows = []
    for question, timing in times.items():
        ratios = [
            timing.median / plain.median,
            timing.minimum / plain.minimum,
            min(seen[question].cpu) / min(seen[PLAIN].cpu),
        ]
        cpu = number(min(seen[question].cpu))
        rows.append(
            [
                question,
                _cell(timing),
                cpu,
                *(f"{ratio:.2f}" for ratio in ratios),
                f"{seen[question].rows:,}",
            ]
        )
    columns = [
        "",
        "seconds, median (minimum)",
        "CPU seconds",
        "/ plain, medians",
        "minima",
        "CPU",
        "rows to Python",
    ]
    section.tables.append(Table(f"{size:,} rows", columns, rows))


def _targets(records: Sequence[Mapping[str, Any]], size: int) -> list[Target]:
    """Each of our questions against the plain query."""
    found = {record["question"]: record for record in records if record["rows"] == size}
    plain, targets = found[PLAIN], []
    for question in OURS:
        median, minimum = (found[question][key] / plain[key] for key in ("median_s", "minimum_s"))
        name = f"{question}: time over plain SQL"
        targets.append(Target(name, _TARGET, median, minimum, f"{_power(size)} rows", at_most=True))
    return targets


def _record(question: str, timing: Timing, seen: Seen, size: int) -> dict[str, Any]:
    return {
        "question": question,
        "rows": size,
        "median_s": timing.median,
        "minimum_s": timing.minimum,
        "cpu_s": min(seen.cpu),
        "calls": timing.calls,
        "returned": seen.rows,
        "peak_bytes": max(seen.peaks),
    }


def _cell(timing: Timing) -> str:
    return f"{number(timing.median)} ({number(timing.minimum)})"


def _power(size: int) -> str:
    return f"{size:.0e}".replace("e+0", "e")


SECTIONS = {"duckdb": on_duckdb, "peers": peers, "spark": on_spark, "growth": growth}


def main() -> None:
    """Run the sections that were asked for and print them as they come."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer rounds, a tenth of the rows: about a minute without Spark",
    )
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument(
        "--spark", nargs="?", const=sys.executable, metavar="PYTHON", help="a Python with pyspark"
    )
    parser.add_argument("--opendp", metavar="PYTHON", help="a Python with opendp[polars]")
    parser.add_argument("--tumult", metavar="PYTHON", help="a Python with tmlt.analytics")
    parser.add_argument(
        "--output", type=Path, help="where to write; a full run writes to benchmarks/results"
    )
    chosen = parser.parse_args()
    pythons = {
        name: getattr(chosen, name)
        for name in ("spark", "opendp", "tumult")
        if getattr(chosen, name)
    }
    about = environment(["discreet", "duckdb", "narwhals", "numpy"])
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    sections = []
    with tempfile.TemporaryDirectory(prefix="discreet-tables-") as folder:
        options = Options(chosen.quick, pythons, Data(Path(folder)))
        for name in chosen.sections:
            if name != "spark" or "spark" in pythons:
                sections.append(SECTIONS[name](options))
                print(f"\n{sections[-1]}", flush=True)
    full = not chosen.quick and len(sections) == len(SECTIONS)
    output = chosen.output or (Path(__file__).parent / "results" if full else None)
    if output:
        write(output, "tables", about, sections)
        if {"duckdb", "growth"} <= {section.name for section in sections}:
            draw(sections, output / "tables.png")


if __name__ == "__main__":
    main()
