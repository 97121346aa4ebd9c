"""One engine in a process of its own, so that each has its own packages and its own memory.

    python benchmarks/tables_worker.py duckdb|spark|opendp|tumult [MEMORY]

It first says which questions it can answer. Then each line of its input names a question and the
two files; the line that comes back has the CPU seconds (with those of Spark's own process), how
many rows came to Python, and the most memory that the process had meanwhile.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

PLAIN, NARWHALS = "plain SQL", "plain Narwhals"
SHORT, LONG = "top_k, 1,000 candidates", "top_k, 100,000 candidates"
UNKNOWN, MODE = "top_k, unknown domain", "mode, public table"
NOISY = "noisy counts, 1,000 candidates"
OURS = (SHORT, LONG, UNKNOWN, MODE)
ORDER = (PLAIN, NARWHALS, *OURS)
ARTICLES = 100_000
K, LIMIT, CAP = 10, 1000, 10
_QUERY = (
    f"select article, count(distinct person) as persons from {{}} group by article order by "
    f"persons desc limit {K}"
)
_TICKS = os.sysconf("SC_CLK_TCK")
# all by which discreet, or Narwhals for it, gets rows; streams of batches are not among them
_FETCHING = ("collect", "fetchall", "fetchnumpy", "fetch_arrow_table", "to_arrow_table", "df", "pl")

Question = Callable[[str, str], int]
"""From the path of the reads and that of the articles to the number of rows that came to Python."""


def _duckdb(memory: str | None) -> dict[str, Question]:
    import duckdb

    connection = duckdb.connect(config={"memory_limit": memory} if memory else {})

    def plain(reads: str, articles: str) -> int:
        return len(connection.sql(_QUERY.format(f"'{reads}'")).fetchall())

    engine = (duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation)
    return {PLAIN: plain} | _ours(connection.read_parquet, *engine)


def _spark(memory: str | None) -> dict[str, Question]:
    spark = _start_spark(memory)
    return {PLAIN: _plain_spark(spark)} | _ours(spark.read.parquet)


def _ours(read: Callable[[str], Any], *engine: Any) -> dict[str, Question]:
    """Our questions, and the plain query as Narwhals says it. The rows that an engine gives back
    are counted on their way.

    engine: the classes of an engine that is also asked without Narwhals.
    """
    import narwhals as nw

    from discreet import ApproxDP, Person, PublicTable, PureDP, Session

    rows = _CountedRows(nw.LazyFrame, *engine)
    listed = list(range(1, ARTICLES + 1))

    def plain(reads: str, articles: str) -> int:
        counts = (
            nw.from_native(read(reads))
            .lazy()
            .group_by("article")
            .agg(nw.col("person").n_unique().alias("persons"))
        )
        counts.sort("persons", descending=True).head(K).collect()
        return rows.take()

    def top_k(candidates: list[int]) -> Question:
        def ask(reads: str, articles: str) -> int:
            session = Session(read(reads), unit=Person("person"), budget=PureDP(1))
            session.top_k("article", k=K, candidates=candidates, epsilon=1)
            return rows.take()

        return ask

    def unknown(reads: str, articles: str) -> int:
        session = Session(read(reads), unit=Person("person"), budget=ApproxDP(2, 1e-5))
        session.top_k("article", k=K, epsilon=1, delta=1e-6, limit=LIMIT)
        return rows.take()

    def mode(reads: str, articles: str) -> int:
        session = Session(read(reads), unit=Person("person"), budget=PureDP(1))
        session.mode("article", candidates=PublicTable(read(articles), column="article"), epsilon=1)
        return rows.take()

    questions: dict[str, Question] = {
        NARWHALS: plain,
        SHORT: top_k(listed[:1000]),
        LONG: top_k(listed),
        UNKNOWN: unknown,
        MODE: mode,
    }

    def alone(question: Question) -> Question:
        def ask(reads: str, articles: str) -> int:
            rows.take()  # those of the plain query, which DuckDB has handed over, too
            return question(reads, articles)

        return ask

    return {name: alone(question) for name, question in questions.items()}


class _CountedRows:
    """Counts the rows of every result that Narwhals collects, and of every result that DuckDB
    hands over. One of them may be made by another; then its rows count once.
    """

    def __init__(self, *kinds: Any) -> None:
        self._rows, self._within = 0, False
        for kind in kinds:
            for name in _FETCHING:
                if hasattr(kind, name):
                    setattr(kind, name, self._counted(getattr(kind, name)))

    def _counted(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            outermost, self._within = not self._within, True
            try:
                result = fetch(*arguments, **options)
            finally:
                self._within = not outermost
            if outermost:
                self._rows += _size(result)
            return result

        return counted

    def take(self) -> int:
        """How many there were since the last time."""
        rows, self._rows = self._rows, 0
        return rows


def _size(result: Any) -> int:
    """The rows of a list, of a table, or of columns by their names; nothing has none."""
    if isinstance(result, dict):
        return len(next(iter(result.values()), ()))
    return 0 if result is None else len(result)


def _opendp(memory: str | None) -> dict[str, Question]:
    """Its data frames have noisy counts, no selection: the ten largest are picked afterwards."""
    import opendp.prelude as dp
    import polars

    dp.enable_features("contrib")

    def plain(reads: str, articles: str) -> int:
        counts = (
            polars.scan_parquet(reads)
            .group_by("article")
            .agg(polars.col("person").n_unique().alias("persons"))
        )
        return len(counts.sort("persons", descending=True).head(K).collect())

    def noisy(reads: str, articles: str) -> int:
        context = dp.Context.compositor(
            data=polars.scan_parquet(reads),
            privacy_unit=dp.unit_of(contributions=1, identifier=polars.col("person")),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
        )
        capped = context.query().truncate_num_groups(CAP, by=["article"], keep="first")
        capped = capped.truncate_per_group(1, by=["article"], keep="first")
        keys = polars.LazyFrame({"article": range(1, 1001)})
        counts = (
            capped.group_by("article")
            .agg(dp.len(signed=True).alias("persons"))
            .with_keys(keys)
            .release()
            .collect()
        )
        counts.sort("persons", descending=True).head(K)
        return len(counts)

    return {PLAIN: plain, NOISY: noisy}


def _tumult(memory: str | None) -> dict[str, Question]:
    """The same: noisy counts, of which the ten largest are picked afterwards."""
    spark = _start_spark(memory)
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    def noisy(reads: str, articles: str) -> int:
        rows, budget = spark.read.parquet(reads), PureDPBudget(1)
        session = Session.from_dataframe(
            budget, "reads", rows, protected_change=AddRowsWithID("person")
        )
        capped = (
            QueryBuilder("reads")
            .enforce(MaxGroupsPerID("article", CAP))
            .enforce(MaxRowsPerGroupPerID("article", 1))
        )
        counts = capped.groupby(KeySet.from_dict({"article": list(range(1, 1001))})).count()
        return len(
            session.evaluate(counts, budget).orderBy("count", ascending=False).limit(K).collect()
        )

    return {PLAIN: _plain_spark(spark), NOISY: noisy}


def _start_spark(memory: str | None) -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    options = {
        "spark.driver.memory": memory or "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _plain_spark(spark: Any) -> Question:
    return lambda reads, articles: len(spark.sql(_QUERY.format(f"parquet.`{reads}`")).collect())


def _cpu_seconds() -> float:
    """Of this process and of those that it started."""
    return time.process_time() + sum(map(_cpu_of, _children(os.getpid())))


def _children(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *_children(child)]
    return found


def _cpu_of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS  # its own, and of its children that have ended


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _most_resident() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


_ENGINES: dict[str, tuple[Callable[[str | None], dict[str, Question]], list[str]]] = {
    "duckdb": (_duckdb, ["duckdb", "narwhals"]),
    "spark": (_spark, ["pyspark"]),
    "opendp": (_opendp, ["opendp", "polars"]),
    "tumult": (_tumult, ["tmlt.analytics", "pyspark"]),
}


def main() -> None:
    """Answer line by line."""
    warnings.simplefilter("ignore")
    # Whatever an engine prints goes to the errors, not between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    make, packages = _ENGINES[sys.argv[1]]
    questions = make(sys.argv[2] if len(sys.argv) > 2 else None)
    print(
        json.dumps(
            {"questions": list(questions), "versions": {name: version(name) for name in packages}}
        ),
        file=answers,
    )
    for line in sys.stdin:
        name, reads, articles = json.loads(line)
        _forget_peak()
        before = _cpu_seconds()
        rows = questions[name](reads, articles)
        found = {"cpu_s": _cpu_seconds() - before, "rows": rows, "peak_bytes": _most_resident()}
        print(json.dumps(found), file=answers)
    answers.flush()
    os._exit(0)  # without the long goodbye of an engine


if __name__ == "__main__":
    main()
