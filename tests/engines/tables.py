"""The same rows on every engine."""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

# what each column holds, where the engine has types: name, Arrow, Spark, PostgreSQL
TYPES = {
    "world": ("int64", "long", "bigint"),
    "person": ("int64", "long", "bigint"),
    "item": ("string", "string", "text"),
    "price": ("float64", "double", "double precision"),
    "said": ("string", "string", "text"),
    "amount": ("int64", "long", "bigint"),
    "vote": ("bool_", "boolean", "boolean"),
    "city": ("string", "string", "text"),
    "born": ("date32", "date", "date"),
    "name": ("string", "string", "text"),
    "weight": ("float64", "double", "double precision"),
}
NUMBERS = ("price", "said", "amount")


@dataclass(frozen=True)
class Engine:
    """How rows become a table of one kind.

    make: from rows and an empty folder to what a Session takes.
    typed: whether columns have types; else every column is text to the engine.
    mixed: whether a person can be written as 1, "1" and 1.0.
    server: whether a table is so dear that many tests share one.
    """

    name: str
    make: Callable[[Sequence[Row], Path], Any]
    typed: bool = True
    mixed: bool = False
    server: bool = False

    def seen(self, rows: Sequence[Row]) -> list[Row]:
        """The rows as this engine sees them: numbers are text where there are no types."""
        numbers = ("price", "amount") if not self.typed else ()
        return [
            row | {name: _text(row[name]) for name in numbers if row[name] is not None}
            for row in rows
        ]

    def holds(self, row: Row) -> bool:
        """Whether such a row can be in a table: where a line is a row, no cell has a line break."""
        cells = [cell for cell in row.values() if isinstance(cell, str)]
        return self.name != "csv" or not any(set(cell) & set("\n\r\0") for cell in cells)

    def label(self, column: str, value: Any) -> Any:
        """A candidate as it is written for this engine."""
        if self.typed or isinstance(value, str):
            return value
        return str(value).lower() if isinstance(value, bool) else str(value)


def arrow(rows: Sequence[Row]) -> Any:
    import pyarrow

    columns = {name: [row[name] for row in rows] for name in TYPES}
    return pyarrow.table(
        {
            name: pyarrow.array(columns[name], getattr(pyarrow, kinds[0])())
            for name, kinds in TYPES.items()
        }
    )


def _csv(rows: Sequence[Row], place: Path) -> Path:
    with (place / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(TYPES)
        writer.writerows([_text(row[name]) for name in TYPES] for row in rows)
    return place / "table.csv"


def _multiline(rows: Sequence[Row], place: Path) -> Any:
    from discreet import CsvFile

    return CsvFile(_csv(rows, place), multiline=True)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _json(rows: Sequence[Row], place: Path) -> Path:
    lines = [
        json.dumps({name: _plain(value) for name, value in row.items()}) for row in _mixed(rows)
    ]
    (place / "table.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place / "table.jsonl"


def _plain(value: Any) -> Any:
    """What JSON can write: it has no NaN and no dates."""
    return (
        str(value)
        if isinstance(value, date) or (isinstance(value, float) and not math.isfinite(value))
        else value
    )


def _mixed(rows: Sequence[Row]) -> list[Row]:
    """The same persons, written in turn as 1, "1" and 1.0."""
    ways = itertools.cycle([int, str, float])
    return [
        row | ({"person": next(ways)(row["person"])} if isinstance(row["person"], int) else {})
        for row in rows
    ]


def _parquet(rows: Sequence[Row], place: Path) -> Path:
    from pyarrow import parquet

    parquet.write_table(arrow(rows), place / "table.parquet")
    return place / "table.parquet"


def _relation(rows: Sequence[Row], place: Path) -> Any:
    return _connection().from_arrow(arrow(rows))


@cache
def _connection() -> Any:
    """One DuckDB for all relations: to start one takes longer than a question, and a relation
    does not always keep its connection alive.
    """
    import duckdb

    return duckdb.connect()


def _database(rows: Sequence[Row], place: Path) -> Path:
    import duckdb

    (place / "table.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(place / "table.duckdb")) as connection:
        connection.register("rows", arrow(rows))
        connection.execute("create table events as select * from rows")
    return place / "table.duckdb"


def _pandas(rows: Sequence[Row], place: Path) -> Any:
    import pandas

    kinds = {"person": "Int64", "amount": "Int64", "world": "int64", "vote": "boolean"}
    kinds |= {"price": "float64", "weight": "float64", "born": "date32[pyarrow]"}
    return pandas.DataFrame(
        {
            name: pandas.Series([row[name] for row in rows], dtype=kinds.get(name, "str"))
            for name in TYPES
        }
    )


def _objects(rows: Sequence[Row], place: Path) -> Any:
    import pandas

    mixed = _mixed(rows)
    columns = {name: pandas.Series([row[name] for row in mixed], dtype=object) for name in TYPES}
    columns["vote"] = columns["vote"].map({True: "true", False: "false"})
    return pandas.DataFrame(columns).set_index(pandas.RangeIndex(7, 7 + len(rows)))


def _spark(rows: Sequence[Row], place: Path) -> Any:
    schema = ", ".join(f"{name} {kinds[1]}" for name, kinds in TYPES.items())
    frame = spark().createDataFrame(
        [tuple(row[name] for name in TYPES) for row in rows], schema=schema
    )
    return frame.coalesce(1).cache()


@cache
def spark() -> Any:
    """One Spark on this machine, small enough that a question takes a fraction of a second."""
    session = pytest.importorskip(
        "pyspark.sql", reason="pyspark is not installed: make engines"
    ).SparkSession
    small = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        # Java compiles in one quick stage: here it would spend more on the second than it gains
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # it asks Java twice as much
    }
    builder = session.builder.appName("discreet")
    for name, value in small.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _postgres(rows: Sequence[Row], place: Path) -> Any:
    # other processes use the same server: those of a mutant, too
    name = f"events_{os.getpid()}_{next(_numbers)}"
    connection = postgres()
    columns = ", ".join(f"{column} {kinds[2]}" for column, kinds in TYPES.items())
    with connection.con.cursor() as cursor:
        cursor.execute(f"create table {name} ({columns})")
        with cursor.copy(f"copy {name} from stdin") as copy:
            for row in rows:
                copy.write_row([row[column] for column in TYPES])
    connection.con.commit()
    return connection.table(name)


_numbers = itertools.count(1)


@cache
def postgres() -> Any:
    """A connection to the server that DISCREET_POSTGRES_URL names."""
    url = os.environ.get("DISCREET_POSTGRES_URL")
    if not url:
        pytest.skip("DISCREET_POSTGRES_URL is not set: make engines")
    return pytest.importorskip(
        "ibis", reason="ibis-framework is not installed: make engines"
    ).connect(url)


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("csv", _csv, typed=False),
        Engine("csv-multiline", _multiline, typed=False),
        Engine("json", _json, typed=False, mixed=True),
        Engine("parquet", _parquet),
        Engine("duckdb-file", _database),
        Engine("duckdb", _relation),
        Engine("pandas", _pandas),
        Engine("pandas-objects", _objects, typed=False, mixed=True),
        Engine("arrow", lambda rows, place: arrow(rows)),
        Engine("spark", _spark, server=True),
        Engine("postgres", _postgres, server=True),
    )
}
MARKS = {
    # their own warnings about each other's versions are not ours to fix
    "spark": [
        pytest.mark.spark,
        pytest.mark.filterwarnings("ignore"),
    ],
    "postgres": [
        pytest.mark.postgres,
        pytest.mark.filterwarnings("ignore"),
    ],
}
USUAL = ("csv", "duckdb")
"""DuckDB with a file, on a connection of ours, and with a relation on somebody else's."""


_PAIR = pytest.mark.pairs


def _marks(name: str) -> list[Any]:
    return MARKS.get(name, [] if name in USUAL else [_PAIR])


EACH = [
    pytest.param(engine, id=name, marks=MARKS.get(name, ())) for name, engine in ENGINES.items()
]
"""Every engine, as parameters of a test that `make test` runs on all of them."""
EVERY = [pytest.param(engine, id=name, marks=_marks(name)) for name, engine in ENGINES.items()]
"""Every engine, as parameters of a test: `make test` runs it on the usual engines, `make engines`
on the servers, and `make pairs` on the others.
"""
EVERY_TYPED = [parameter for parameter in EVERY if parameter.values[0].typed]
IN_MEMORY = [
    pytest.param(*each.values, id=each.id, marks=() if each.id == "arrow" else each.marks)
    for each in EVERY
    if each.id != "csv"
] + [pytest.param(ENGINES["csv"], id="csv", marks=_PAIR)]
"""As EVERY, but `make test` takes a data frame in the place of the file, where every query takes
longest to plan.
"""
LOCAL = [parameter for parameter in IN_MEMORY if not parameter.values[0].server]


def in_turns(cases: Sequence[Any], turns: int) -> list[Any]:
    """Pair each case with every engine. `make test` runs each case on DuckDB: the first case on
    a file, the others in turn on a data frame and on a relation; `make engines` runs one case of
    every `turns` on each server; `make pairs` runs the rest.
    """
    return [
        pytest.param(
            *engine.values,
            case,
            id=f"{engine.id}-{case}",
            marks=_marks_of(engine, number, turns),
        )
        for engine in EVERY
        for number, case in enumerate(cases)
    ]


def _marks_of(engine: Any, number: int, turns: int) -> list[Any]:
    if not _has_turn(engine, number, turns):
        return [*engine.marks, _PAIR]
    return [*engine.marks] if engine.values[0].server else []


def _has_turn(engine: Any, number: int, turns: int) -> bool:
    if engine.values[0].server:
        return (number + (engine.id == "postgres")) % turns == 0
    usual = ("csv" if number == 0 else "arrow") if number % 2 == 0 else "duckdb"
    return bool(engine.id == usual)


def open_rows(
    engine: Engine, rows: Sequence[Row], place: Path, columns: Sequence[str] = tuple(TYPES)
) -> Any:
    """The rows as the library sees them.

    columns: those that are asked for. A session asks for the columns of its question: of JSON
        lines every further column is planned anew with each query, and takes most of its time.
    """
    from discreet.tables.opening import open_table
    from discreet.tables.table import with_numbers

    name = "events" if engine.name == "duckdb-file" else None
    opened = open_table(engine.make(rows, place), table=name)
    return with_numbers(opened, True).having(columns)
