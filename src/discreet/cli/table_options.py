"""The options of questions to a table: what is asked, who is protected, who pays, and
where the table is. The table is opened here, and none of its rows is read.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from glob import glob, has_magic
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias
from urllib.parse import parse_qsl

import typer

from discreet import CsvFile, MissingExtraError, ParameterError
from discreet.cli.files import BUNDLED, FROM_SQLITE, local_file, unbundled
from discreet.cli.stated import Nothing, hint_in_options
from discreet.errors import OutdatedLibraryError
from discreet.tables.delimited import HeaderError
from discreet.tables.files import DATABASES, DELIMITED, LINES, ending_of, is_sqlite
from discreet.tables.opening import open_table
from discreet.tables.spark_files import read_csv_on_spark, read_json_on_spark
from discreet.versions import require, require_version

if TYPE_CHECKING:
    import narwhals as nw

Columns: TypeAlias = "Mapping[str, nw.dtypes.DType]"
"""The columns of a table, by name, with their types."""

Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Compute a new answer and pay again. Without --fresh, you get the answer that a "
        "ledger kept; if a paid answer was lost, the question is refused.",
    ),
]
Again = Annotated[
    bool,
    typer.Option(
        "--again",
        help="Pay once more for a question whose answer was lost, and for nothing else twice.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Ask nothing: show the price, and whether it fits the budget."),
]
PersonColumn = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="The column that says whose row it is. Each person is protected with all of their "
        "rows.",
    ),
]
EachRow = Annotated[
    bool,
    typer.Option(
        "--one-row",
        help="Use instead of --person if nobody has more than one row: each row is then protected "
        "by itself.",
    ),
]
LedgerAddress = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="ADDRESS",
        help="Pay from a durable budget, such as budget.db. You can also name it in "
        "DISCREET_LEDGER.",
    ),
]
DatasetOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The budget in the ledger to pay from.")
]
AnalystOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Who asks, if analysts have their own budgets."),
]
WindowOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="The window of the data that the table covers; repeatable."),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SECONDS",
        help=(
            "Stop a question that takes longer, on DuckDB or Spark. The price is not refunded, "
            "and the stop itself reveals something about the rows."
        ),
    ),
]
AnchorFileOption = Annotated[
    str | None,
    typer.Option(
        "--anchor-file",
        metavar="FILE",
        help=(
            "A file that keeps the number and hash of the ledger's last entry, so that an older "
            "copy of the ledger is refused. You can also name it in DISCREET_ANCHOR_FILE."
        ),
    ),
]

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help=(
            "CSV, Parquet, JSON lines or DuckDB; a pattern such as 'reads/*.parquet'; or - for "
            "standard input."
        ),
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="duckdb|spark|URL",
        help="The program that does the counting: duckdb (for files), spark, or the "
        "postgresql://... URL of the database that holds TABLE.",
    ),
]
TableNameOption = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="The table in a DuckDB file, or where TABLE is a postgresql:// URL.",
    ),
]

Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help=(
            "The character between cells of a CSV file, or the word tab; by default, the one that "
            "the header line has most often."
        ),
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The encoding of a CSV file: utf-8, latin-1, cp1252 or utf-16."
    ),
]
DecimalMark = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="CHARACTER",
        help="The decimal sign of the numbers in a CSV file: '.' or ','. Without this option, "
        "cells are text and not numbers.",
    ),
]
NumbersInText = Annotated[
    bool,
    typer.Option(
        "--numbers-in-text",
        help="Text such as 44.5 counts as a number. For tables other than CSV files.",
    ),
]
Multiline = Annotated[
    bool,
    typer.Option(
        "--multiline",
        help=(
            "Cells in quotes may contain line breaks. Only for a CSV file that is known to be "
            "well formed."
        ),
    ),
]

_SERVERS = ("postgresql", "postgres")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How a CSV file is written, as it was typed."""

    separator: str | None = None
    encoding: str | None = None
    multiline: bool = False
    decimal: str | None = None

    def given(self) -> dict[str, Any]:
        """The options that were typed, by their names."""
        return {name: said for name, said in asdict(self).items() if said not in (None, False)}

    def source(self, file: str, command: str) -> str | CsvFile:
        """The source that a session is opened with: a CSV file with its options, or the
        path of another file.
        """
        if ending_of(file) not in DELIMITED:
            self.refuse("left out where the table is no CSV file", command)
            return file
        try:
            return CsvFile(file, **self.words())
        except ParameterError as error:
            raise ParameterError(
                f"--{error.name}", error.rule, error.got, error.hint, owner=command
            ) from None

    def refuse(self, rule: str, command: str) -> None:
        """Refuse these options where they mean nothing."""
        for name, value in self.given().items():
            raise ParameterError(f"--{name}", rule, value, owner=command)

    def words(self) -> dict[str, Any]:
        """The options as a session takes them."""
        words = self.given()
        if words.get("separator") in ("tab", "\\t"):
            words["separator"] = "\t"
        return words


_AS_IT_IS = FileOptions()
_USUAL = ("decimal", ".")
"""An option that changes no number."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened table: the source that a session takes, and its columns."""

    source: Any
    columns: Columns
    table_name: str | None = None
    numbers_in_text: bool = False


@contextmanager
def opened(
    path: str,
    engine: str,
    name: str | None,
    command: str,
    *,
    asked: Sequence[str] = (),
    person: str | None = None,
    options: FileOptions = _AS_IT_IS,
) -> Iterator[Opened]:
    """Open a table, for as long as it takes to ask.

    asked: the columns that the question is about.
    person: the one that says whose row it is.
    options: how a CSV file is written.
    """
    if engine not in ("duckdb", "spark") or _scheme(path) in _SERVERS:
        options.refuse("left out where the table is no CSV file", command)
    if engine == "duckdb" and _scheme(path) in _SERVERS:
        if name is None:
            raise ParameterError("--table", "given where TABLE is a URL", Nothing(), owner=command)
        yield _on_server(path, name, command, "TABLE")
    elif engine == "duckdb":
        with unbundled(path) as named, _local(named, name, command) as file:
            source = options.source(file, command)
            # the numbers of ours are written with a point
            ours = path in BUNDLED and options.decimal is None
            yield Opened(source, _columns(source, path, command, name), name, ours)
    elif name is not None:
        raise ParameterError(
            "--table", "left out with --engine, where TABLE is the name", name, owner=command
        )
    elif engine == "spark":
        yield _on_spark(path, command, asked, person, options)
    elif _scheme(engine) in _SERVERS:
        yield _on_server(engine, path, command, "--engine")
    else:
        rule = "duckdb, spark or a URL that begins with postgresql://"
        raise ParameterError("--engine", rule, public_url(engine), owner=command)


def label_of(
    path: str, engine: str, name: str | None, options: FileOptions = _AS_IT_IS
) -> str | None:
    """What a session calls a table that it does not open by a path. None for files, also
    the standard input: the session knows each by its place.

    options: how a CSV file is written.

    >>> label_of("x.duckdb", "duckdb", "a"), label_of("postgresql://db/shop", "duckdb", "reads")
    (None, 'postgresql://db/shop 2e7dcafe reads')
    """
    words = {word: said for word, said in options.words().items() if (word, said) != _USUAL}
    read_as = "".join(f" {word}={value!r}" for word, value in words.items())
    if path in BUNDLED:
        return path + read_as
    if _scheme(path) in _SERVERS:
        return f"{_server(path)} {name}"
    if engine == "duckdb":
        return None
    if engine != "spark":
        return f"{_server(engine)} {path}"
    in_files = ending_of(path) in (*DELIMITED, *LINES, ".parquet") and "://" not in path
    return (os.path.abspath(path) if in_files else public_url(path)) + read_as


def _server(url: str) -> str:
    """A server and what tells its tables from those of others: its options and the user say
    which schema is looked at, or even which server. The password does not count.
    """
    scheme, _, rest = url.partition("://")
    place, _, options = rest.partition("?")
    user, _, host = place.rpartition("@")
    kept = sorted(each for each in parse_qsl(options) if "password" not in each[0])
    told = json.dumps([scheme, user.partition(":")[0], host, kept])
    return f"{public_url(url)} {sha256(told.encode()).hexdigest()[:8]}"


@contextmanager
def _local(path: str, name: str | None, command: str) -> Iterator[str]:
    if ending_of(path) in DATABASES:
        if not os.path.isfile(path):
            raise ParameterError("TABLE", "an existing file", path, owner=command)
        if is_sqlite(path):
            rule = "a file that can be read as its name says"
            raise ParameterError("TABLE", rule, path, FROM_SQLITE, owner=command)
        if name is None:
            raise ParameterError("--table", "given for a database file", Nothing(), owner=command)
        yield path
        return
    if name is not None:
        raise ParameterError("--table", "given only for a database", name, owner=command)
    if (
        "://" not in path
        and not os.path.exists(path)
        and has_magic(path)
        and glob(path, recursive=True)
    ):
        yield path
        return
    with local_file(path, command, "TABLE") as file:
        yield file


def _columns(source: Any, path: str, command: str, name: str | None = None) -> Columns:
    file = source.path if isinstance(source, CsvFile) else source
    if isinstance(file, str) and os.path.isfile(file) and not os.path.getsize(file):
        raise ParameterError("TABLE", "a file with columns", path, "It is empty.", owner=command)
    try:
        return open_table(source, table=name).schema
    except (MissingExtraError, OutdatedLibraryError):
        raise
    except ParameterError as error:
        if error.name == "table_name":
            raise ParameterError("--table", error.rule, error.got, owner=command) from None
        # the hint about a header line helps; the name of DuckDB's error does not
        hint = "" if error.hint.startswith("DuckDB says") else hint_in_options(error.hint)
    except Exception:
        # the error's text may show rows
        hint = ""
    rule = (
        "a file in the format that its name says"
        if isinstance(file, str)
        else "a table that can be read"
    )
    raise ParameterError("TABLE", rule, public_url(path), hint, owner=command)


def _on_spark(
    path: str, command: str, asked: Sequence[str], person: str | None, options: FileOptions
) -> Opened:
    """A data frame of the Spark session that is running, or of a new one on this machine."""
    ending = ending_of(path)
    source = options.source(path, command)
    if isinstance(source, CsvFile) and (source.multiline or source.form.encoding != "utf-8"):
        raise ParameterError(
            "--engine", "duckdb for files with --multiline or --encoding", "spark", owner=command
        )
    if isinstance(source, CsvFile) and source.form.decimal != ".":
        raise ParameterError("--engine", "duckdb for files with --decimal", "spark", owner=command)
    spark = _spark()
    try:
        if isinstance(source, CsvFile):
            native = read_csv_on_spark(spark, path, source.form, person)
        elif ending in LINES:
            native = read_json_on_spark(spark, path, asked, person)
        elif ending == ".parquet":
            native = spark.read.parquet(path)
        else:
            # Spark would read json.reads as a file, and take its columns from the rows
            native = spark.table(path) if spark.catalog.tableExists(path) else None
    except HeaderError as error:
        # its text says nothing of what is in the line
        hint = hint_in_options(str(error))
    except Exception as error:
        # the error's text may show rows
        hint = f"Spark says: {type(error).__name__}."
    else:
        if native is not None:
            said = isinstance(source, CsvFile) and source.decimal is not None
            return Opened(native, _columns(native, path, command), numbers_in_text=said)
        hint = "No table of Spark's catalog has this name."
    raise ParameterError(
        "TABLE", "a file or a table that Spark can read", path, hint, owner=command
    )


def _spark() -> Any:
    """A Spark session without a log on the terminal, which would be long and may show
    rows. Whoever has configured Spark keeps that configuration.
    """
    # Spark warns about the version of pandas
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    builder = _imported("pyspark.sql", "The engine spark", "spark").SparkSession.builder
    if "SPARK_CONF_DIR" not in os.environ:
        builder = builder.config("spark.log.level", "OFF").config(
            "spark.ui.showConsoleProgress", "false"
        )
    session = builder.getOrCreate()
    require_version("pyspark", str(session.version))
    return session


def _on_server(url: str, name: str, command: str, option: str) -> Opened:
    """A table of a database server, through Ibis."""
    ibis = _imported("ibis", "A table in PostgreSQL", "postgres")
    schema, _, table = name.rpartition(".")
    try:
        native = ibis.connect(url).table(table, **({"database": schema} if schema else {}))
    except Exception as error:
        # the error's text may show the password
        hint = f"The connection says: {type(error).__name__}."
        rule = f"a database that can be reached and has the table {name!r}"
        raise ParameterError(option, rule, public_url(url), hint, owner=command) from None
    return Opened(native, _columns(native, url, command))


def _imported(module: str, purpose: str, extra: str) -> Any:
    try:
        imported = import_module(module)
    except ImportError:
        raise MissingExtraError(purpose, extra) from None
    require(module.partition(".")[0])
    return imported


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
