"""How questions grow with the table: rows and candidates that are made up in the engine.

    python benchmarks/scale.py --engine duckdb --rows 1e6 1e7 1e8 1e9 --memory 16GB \\
        --spill FOLDER --limit 5400 --write benchmarks/results
    python benchmarks/scale.py --engine spark --rows 1e6 1e7 1e8 --memory 12g \\
        --spill FOLDER --limit 5400 --write benchmarks/results
    python benchmarks/scale.py --engine csv --rows 1e6 1e7 5.5e7 --spill FOLDER \\
        --write benchmarks/results

One candidate for ten rows, one person for twenty; each person has items from all over the list,
low numbers more often. `mode` has a public table of all candidates; `top_k` finds its names
itself, with a limit of 1,000, as a list of names that stays in the engine is not offered. Next to
them the same count in the engine's own words, of which ten rows come back. `csv` is DuckDB, with
its own limit of memory, on a file of text: 5.5e7 rows are 1.1 GB.

Each question has a process of its own, and after --limit seconds it is over. A question that has
failed or was too slow is not asked of larger tables, so a run ends by itself at the largest size
that fits. Written down are its seconds, the processor time, the rows that came to Python, and
the most memory that the process had (with Spark's own), after a warm-up on a few rows. Other
work on the machine makes seconds longer, and processor time hardly. What was measured is written
after each question, next to what other engines have in scale.json: a run that is stopped loses
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

from report import Section, Table, environment, number, write

QUESTIONS = ("plain", "mode", "top_k")
_PLAIN = (
    "select item, count(*) as persons from (select item, person from {0} group by item, person) "
    "group by item order by persons desc limit 10"
)
_NOTE = (
    "One candidate for ten rows, one person for twenty. `mode` over a public table of all "
    "candidates, `top_k` in an unknown domain, and the plain count; each in a process of its own."
)
_TIMES = ("seconds", "processor")
_COLUMNS = ("rows", "candidates", "question", "seconds", "processor seconds")
_COLUMNS += ("rows to Python", "peak, GB", "seconds / plain", "processor / plain")
_WARM_UP = 10_000
_PACKAGES = {"duckdb": "duckdb", "csv": "duckdb", "spark": "pyspark"}


def main() -> None:
    """Ask all questions at all sizes, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=tuple(_PACKAGES), default="duckdb")
    parser.add_argument("--rows", nargs="+", type=float, default=[1e6, 1e7])
    parser.add_argument("--memory", default="4g", help="of the engine, in its own words")
    parser.add_argument("--spill", default=None, help="a folder for what does not fit")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one question")
    parser.add_argument("--write", type=Path, help="a folder for scale.json and scale.md")
    parser.add_argument("--question", choices=QUESTIONS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.question is not None:
        print(json.dumps(_measure(asked, int(asked.rows[0]))))
        return
    records: list[dict[str, Any]] = []
    ended: set[str] = set()
    for rows in sorted(map(int, asked.rows)):
        for question in QUESTIONS:
            if question in ended:
                continue
            record = _asked_alone(asked, rows, question)
            records.append(record)
            print(*_cells(record), file=sys.stderr, flush=True)
            if "seconds" not in record:
                ended.add(question)
            if asked.write is not None:
                _write(asked, records)
    print(_section(asked.engine, records))


def _asked_alone(asked: argparse.Namespace, rows: int, question: str) -> dict[str, Any]:
    """What one question took, in a process that has nothing else to do."""
    command = [sys.executable, str(Path(__file__).resolve()), "--engine", asked.engine]
    command += ["--rows", str(rows), "--memory", asked.memory, "--question", question]
    command += [] if asked.spill is None else ["--spill", asked.spill]
    record = {"rows": rows, "candidates": rows // 10, "question": question}
    # a group of its own, so that what it started (Spark's Java) ends with it
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=asked.limit)
        except TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return record | {"ended": f"after {asked.limit:,.0f} s"}
    if process.returncode:
        print(errors[-2000:], file=sys.stderr)
        return record | {"ended": "failed"}
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return record | found


def _section(engine: str, records: list[dict[str, Any]]) -> Section:
    """The records of one engine as tables: each question, and how it grows."""
    plain = {
        record["rows"]: record
        for record in records
        if record["question"] == "plain" and "seconds" in record
    }
    rows = [[*_cells(record), *_ratios(record, plain.get(record["rows"]))] for record in records]
    section = Section(engine, f"Growth on {engine}", _NOTE, records=records)
    section.tables.append(Table("Each question alone", _COLUMNS, rows))
    grown = ("question", "rows", "seconds, times", "processor time, times")
    section.tables.append(Table("Growth", grown, _growth(records)))
    return section


def _ratios(record: dict[str, Any], other: dict[str, Any] | None) -> list[str]:
    """How many times the seconds and the processor time of another question, where known."""
    if other is None or "seconds" not in record:
        return ["" for _ in _TIMES]
    # processor time comes in hundredths of a second, and may be none
    return [f"{record[each] / other[each]:.2f}" if other[each] else "" for each in _TIMES]


def _growth(records: list[dict[str, Any]]) -> list[list[str]]:
    """How many times as long a question takes at the next size."""
    steps = []
    for question in QUESTIONS:
        done = [r for r in records if r["question"] == question and "seconds" in r]
        for less, more in pairwise(done):
            sizes = f"{less['rows']:.0e} to {more['rows']:.0e}"
            steps.append([question, sizes, *_ratios(more, less)])
    return steps


def _cells(record: dict[str, Any]) -> list[str]:
    start = [f"{record['rows']:,}", f"{record['candidates']:,}", record["question"]]
    if "seconds" not in record:
        return [*start, record["ended"], "", "", ""]
    times = [number(record[each]) for each in _TIMES]
    return [*start, *times, f"{record['returned']:,}", number(record["peak"] / 1e9)]


def _write(asked: argparse.Namespace, records: list[dict[str, Any]]) -> None:
    """Write scale.json and scale.md, with what is there of the other engine."""
    folder: Path = asked.write
    engines = {asked.engine: records}
    with suppress(OSError, ValueError, KeyError):
        stored = json.loads((folder / "scale.json").read_text(encoding="utf-8"))["sections"]
        engines = {name: stored[name]["records"] for name in stored} | engines
    about = environment(["discreet", _PACKAGES[asked.engine], "narwhals", "numpy"])
    about |= {"memory": asked.memory}
    sections = [_section(name, engines[name]) for name in sorted(engines)]
    write(folder, "scale", about, sections)


def _measure(asked: argparse.Namespace, rows: int) -> dict[str, float]:
    """One question in this process."""
    made = {"duckdb": _on_duckdb, "csv": _on_csv, "spark": _on_spark}[asked.engine]
    # what is loaded by the first question is loaded now
    few, named, plain = made(_WARM_UP, asked.memory, asked.spill)
    plain()
    if asked.question != "plain":
        _ask(asked.question, few, named)
    reads, candidates, plain = made(rows, asked.memory, asked.spill)
    brought = _Brought()
    started, used = time.perf_counter(), _processor_of_all(os.getpid())
    if asked.question == "plain":
        brought.rows = len(plain())
    else:
        _ask(asked.question, reads, candidates)
    seconds = time.perf_counter() - started
    processor = _processor_of_all(os.getpid()) - used
    peak = _peak_of_all(os.getpid())
    return {
        "seconds": seconds,
        "processor": processor,
        "returned": brought.rows,
        "peak": peak,
    }


def _ask(question: str, reads: Any, candidates: Any) -> None:
    from discreet import ApproxDP, Person, PublicTable, Session

    session = Session(reads, unit=Person("person"), budget=ApproxDP(2, 1e-5))
    if question == "mode":
        session.mode("item", candidates=PublicTable(candidates, column="item"), epsilon=1)
    else:
        session.top_k("item", k=10, epsilon=1, delta=1e-6, limit=1000)


class _Brought:
    """Counts the rows that engines give to our questions, on their way."""

    def __init__(self) -> None:
        from discreet.tables import counting, engine

        self.rows, real, fetch = 0, counting.guarded, engine.Query.fetch

        def counted(table: Any, work: Callable[[], Any]) -> Any:
            found = real(table, work)
            self.rows += len(found) if isinstance(found, list) else 0
            return found

        def fetched(query: Any) -> Any:
            found = fetch(query)
            self.rows += len(next(iter(found.values())))
            return found

        counting.guarded, engine.Query.fetch = counted, fetched


def _on_duckdb(rows: int, memory: str, spill: str | None) -> tuple[Any, Any, Callable[[], Any]]:
    import duckdb

    config = {"memory_limit": memory} | ({} if spill is None else {"temp_directory": spill})
    connection = duckdb.connect(config=config)
    connection.execute("set enable_progress_bar = false")
    size = rows // 10
    # of three numbers the smallest: low ones come more often
    items = ", ".join(f"hash(range, {seed}) % {size}" for seed in (1, 2, 3))
    connection.execute(
        f"create view reads as select cast(hash(range) % {rows // 20} as bigint) as person, "
        f"cast(least({items}) as bigint) as item from range({rows})"
    )
    reads = connection.sql("select * from reads")
    candidates = connection.sql(f"select range as item from range({size})")
    return reads, candidates, lambda: connection.execute(_PLAIN.format("reads")).fetchall()


def _on_csv(rows: int, memory: str, spill: str | None) -> tuple[Any, Any, Callable[[], Any]]:
    """The same rows as texts in a file, which the first question makes."""
    import duckdb

    folder = Path(tempfile.gettempdir() if spill is None else spill)
    reads, candidates = (folder / f"{name}-{rows}.csv" for name in ("reads", "candidates"))
    if not candidates.exists():
        made, listed, _ = _on_duckdb(rows, memory, spill)
        made.project("'p' || person as person, 'item ' || item as item").write_csv(str(reads))
        listed.project("'item ' || item as item").write_csv(str(candidates))
    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false")
    plain = _PLAIN.format(f"'{reads}'")
    return str(reads), str(candidates), lambda: connection.execute(plain).fetchall()


def _on_spark(rows: int, memory: str, spill: str | None) -> tuple[Any, Any, Callable[[], Any]]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("scale").config("spark.driver.memory", memory)
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    if spill is not None:
        builder = builder.config("spark.local.dir", spill)
    spark, size = builder.getOrCreate(), rows // 10
    items = ", ".join(f"pmod(xxhash64(id, {seed}), {size})" for seed in (1, 2, 3))
    person = f"pmod(xxhash64(id), {rows // 20})"
    reads = spark.range(rows).selectExpr(f"{person} as person", f"least({items}) as item")
    reads.createOrReplaceTempView("reads")
    candidates = spark.range(size).selectExpr("id as item")
    return reads, candidates, lambda: spark.sql(_PLAIN.format("reads")).collect()


def _peak_of_all(process: int) -> int:
    """The most memory that a process and those it started ever had, on Linux."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    own = next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")), 0)
    return own + sum(_peak_of_all(child) for child in _children(process))


def _processor_of_all(process: int) -> float:
    """The processor time of a process and of those that it started, in seconds, on Linux."""
    # user and system time are the 14th and 15th field; the second is a name in parentheses
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_processor_of_all(child) for child in _children(process))


def _children(process: int) -> list[int]:
    """The processes that a process started and that still run."""
    children: set[str] = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        # a thread may end meanwhile
        with suppress(OSError):
            children.update((task / "children").read_text().split())
    return [int(child) for child in children]


if __name__ == "__main__":
    main()
