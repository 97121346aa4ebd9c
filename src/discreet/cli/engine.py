"""`--engine`: where the table is, and how it is opened there. No row is read here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from importlib import import_module
from typing import Annotated, Any

import typer

from discreet import MissingExtraError, ParameterError
from discreet.cli.bundled import unbundled
from discreet.cli.columns import DATABASES, Columns, columns_of
from discreet.cli.formats import suffix
from discreet.cli.request import Nothing
from discreet.cli.table import local_file

TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, Parquet, JSON lines or DuckDB; a pattern such as 'reads/*.parquet'; or - for standard input.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="duckdb|spark|URL", help="Where to count: duckdb for files, spark, or postgresql://..., whose table TABLE is."
    ),
]
TableName = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="The table in a DuckDB file, or where TABLE is a postgresql:// URL."),
]

_LINES = (".jsonl", ".ndjson", ".json")
_SERVERS = ("postgresql", "postgres")
_SPARK_READERS: dict[str, Callable[[Any, str], Any]] = {
    ".parquet": lambda reader, path: reader.parquet(path),
    # Everything is text, as with DuckDB: a type that is guessed from the rows would depend on a person.
    ".csv": lambda reader, path: reader.csv(path, header=True, inferSchema=False, escape='"'),
    ".tsv": lambda reader, path: reader.csv(path, header=True, inferSchema=False, escape='"', sep="\t"),
} | dict.fromkeys(_LINES, lambda reader, path: reader.json(path, primitivesAsString=True))


@dataclass(frozen=True, slots=True)
class Opened:
    """What a session is opened with, and the columns that it will find there."""

    source: Any
    columns: Columns
    table_name: str | None = None


@contextmanager
def opened(path: str, engine: str, name: str | None, command: str) -> Iterator[Opened]:
    """The table, for as long as it takes to ask."""
    if engine == "duckdb" and _scheme(path) in _SERVERS:
        if name is None:
            raise ParameterError(command, "--table", "given where TABLE is a URL", Nothing())
        yield _on_server(path, name, command, "TABLE")
    elif engine == "duckdb":
        with unbundled(path) as named, _local(named, name, command) as file:
            yield Opened(file, _columns(file, path, command, name), name)
    elif name is not None:
        raise ParameterError(command, "--table", "left out with --engine, where TABLE is the name", name)
    elif engine == "spark":
        yield _on_spark(path, command)
    elif _scheme(engine) in _SERVERS:
        yield _on_server(engine, path, command, "--engine")
    else:
        rule = "duckdb, spark or a URL that begins with postgresql://"
        raise ParameterError(command, "--engine", rule, public_url(engine))


@contextmanager
def _local(path: str, name: str | None, command: str) -> Iterator[str]:
    if suffix(path) in DATABASES:
        if not os.path.isfile(path):
            raise ParameterError(command, "TABLE", "an existing file", path)
        if name is None:
            raise ParameterError(command, "--table", "given for a database file", Nothing())
        yield path
        return
    if name is not None:
        raise ParameterError(command, "--table", "given only for a database", name)
    if "://" not in path and not os.path.exists(path) and has_magic(path) and glob(path, recursive=True):
        yield path
        return
    with local_file(path, command, "TABLE") as file:
        yield file


def _columns(source: Any, path: str, command: str, name: str | None = None) -> Columns:
    if isinstance(source, str) and os.path.isfile(source) and not os.path.getsize(source):
        raise ParameterError(command, "TABLE", "a file with columns", path, "It is empty.")
    try:
        return columns_of(source, name)
    except Exception:  # its text may show rows
        rule = "a file that can be read as its name says" if isinstance(source, str) else "a table that can be read"
        raise ParameterError(command, "TABLE", rule, public_url(path)) from None


def _on_spark(path: str, command: str) -> Opened:
    """A data frame of the Spark session that is running, or of a new one on this machine."""
    spark = _spark()
    read = _SPARK_READERS.get(suffix(path))
    try:
        native = spark.table(path) if read is None else read(spark.read, path)
    except Exception as error:  # its text may show rows
        hint = f"Spark says: {type(error).__name__}."
        raise ParameterError(command, "TABLE", "a file or a table that Spark can read", path, hint) from None
    return Opened(native, _columns(native, path, command))


def _spark() -> Any:
    """Spark, without its own log on our terminal: that is long, and may show rows. Who has set up Spark keeps what they have."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")  # about the version of pandas
    builder = _imported("pyspark.sql", "The engine spark", "spark").SparkSession.builder
    if "SPARK_CONF_DIR" not in os.environ:
        builder = builder.config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false")
    return builder.getOrCreate()


def _on_server(url: str, name: str, command: str, option: str) -> Opened:
    """A table of a database server, through Ibis."""
    ibis = _imported("ibis", "A table in PostgreSQL", "postgres")
    schema, _, table = name.rpartition(".")
    try:
        native = ibis.connect(url).table(table, **({"database": schema} if schema else {}))
    except Exception as error:  # its text may show the password
        hint = f"The connection says: {type(error).__name__}."
        rule = f"a database that can be reached and has the table {name!r}"
        raise ParameterError(command, option, rule, public_url(url), hint) from None
    return Opened(native, _columns(native, url, command))


def _imported(module: str, purpose: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(purpose, extra) from None


def _scheme(text: str) -> str:
    return text.partition("://")[0].lower() if "://" in text else ""


def public_url(text: str) -> str:
    """A URL as it may be shown: without the user and the password.

    >>> public_url("postgresql://ada:secret@example.org:5432/shop"), public_url("reads.csv")
    ('postgresql://example.org:5432/shop', 'reads.csv')
    """
    if "://" not in text:
        return text
    scheme, _, rest = text.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
