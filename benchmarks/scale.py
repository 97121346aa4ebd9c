"""How questions grow with the table: rows and candidates that are made up in the engine.

    python benchmarks/scale.py --engine duckdb --rows 1e6 1e7 1e8 1e9 --memory 16GB
    python benchmarks/scale.py --engine spark --rows 1e6 1e7 --memory 8g

One candidate for ten rows, one person for twenty; each person has items from all over the list,
low numbers more often. `mode` has a public table of all candidates; `top_k` finds its names
itself, with a limit of 1,000, as a list of names that stays in the engine is not offered. Next to
them the same count in the engine's own words, of which ten rows come back.

Each question has a process of its own. Written down are its seconds, the rows that came to
Python, and the most memory that the process had (with Spark's own).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import run
from typing import Any

from report import Table

QUESTIONS = ("plain", "mode", "top_k")
_PLAIN = (
    "select item, count(*) as persons from (select item, person from {0} group by item, person) "
    "group by item order by persons desc limit 10"
)


def main() -> None:
    """Ask all questions at all sizes, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
    parser.add_argument("--rows", nargs="+", type=float, default=[1e6, 1e7])
    parser.add_argument("--memory", default="4g", help="of the engine, in its own words")
    parser.add_argument("--spill", default=None, help="a folder for what does not fit")
    parser.add_argument("--write", type=Path, help="a file for the table, as Markdown")
    parser.add_argument("--question", choices=QUESTIONS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.question is not None:
        print(json.dumps(_measure(asked, int(asked.rows[0]))))
        return
    rows = [_line(asked, int(number), question) for number in asked.rows for question in QUESTIONS]
    columns = ("rows", "candidates", "question", "seconds", "rows to Python", "peak, GB")
    table = str(Table(f"Growth on {asked.engine}", columns, rows))
    print(table)
    if asked.write is not None:
        asked.write.write_text(table + "\n", encoding="utf-8")


def _line(asked: argparse.Namespace, rows: int, question: str) -> list[str]:
    command = [sys.executable, str(Path(__file__).resolve()), "--engine", asked.engine]
    command += ["--rows", str(rows), "--memory", asked.memory, "--question", question]
    command += [] if asked.spill is None else ["--spill", asked.spill]
    done = run(command, capture_output=True, text=True)
    start = [f"{rows:,}", f"{rows // 10:,}", question]
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return [*start, "failed", "", ""]
    found = json.loads(done.stdout.splitlines()[-1])
    line = [*start, f"{found['seconds']:.2f}", f"{found['rows']:,}", f"{found['peak'] / 1e9:.2f}"]
    print(*line, file=sys.stderr, flush=True)
    return line


def _measure(asked: argparse.Namespace, rows: int) -> dict[str, float]:
    """One question in this process."""
    made = _on_duckdb if asked.engine == "duckdb" else _on_spark
    reads, candidates, plain = made(rows, asked.memory, asked.spill)
    brought = _Brought()
    started = time.perf_counter()
    if asked.question == "plain":
        brought.rows = len(plain())
    else:
        _ask(asked.question, reads, candidates)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "rows": brought.rows, "peak": _peak_of_all(os.getpid())}


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
        from discreet.tables import counting

        self.rows, real = 0, counting.guarded

        def counted(table: Any, work: Callable[[], Any]) -> Any:
            found = real(table, work)
            self.rows += len(found)
            return found

        counting.guarded = counted


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
    children: set[str] = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        # a thread may end meanwhile
        with suppress(OSError):
            children.update((task / "children").read_text().split())
    return own + sum(_peak_of_all(int(child)) for child in children)


if __name__ == "__main__":
    main()
