"""`--engine`: Spark and database servers, with stand-ins for both; the contract tests of sessions
run on the real ones.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from types import ModuleType, SimpleNamespace

import duckdb
import pytest

from discreet import MissingExtraError, Release
from discreet.cli import table_options
from discreet.tables.delimited import Format

QUESTION = (
    "--column",
    "teacher",
    "--person",
    "student",
    "--candidates",
    "Ada,Bob",
    "--epsilon",
    "1",
)
URL = "postgresql://ada:secret@example.org:5432/school?password=secret"


settings: dict[str, str] = {}
"""How the stand-in for Spark was set up."""
server = ["4.0.0"]
"""The version of the Spark that it is connected with."""


def votes():
    return duckdb.sql(
        "select i as student, if(i % 3 = 0, 'Bob', 'Ada') as teacher, i % 5 as grade from "
        "range(9000) t(i)"
    )


@pytest.fixture
def spark(monkeypatch):
    """A Spark that has every file, and the table school.votes, and writes down what it was asked
    for.
    """
    asked = []
    settings.clear()
    server[:] = ["4.0.0"]

    class Reader:
        def __getattr__(self, kind):
            return lambda path, **options: asked.append((kind, path, options)) or votes()

    def table(name):
        if name != "school.votes":
            raise RuntimeError("canary")
        return votes()

    class Builder:
        def config(self, name, setting):
            settings[name] = setting
            return self

        def getOrCreate(self):
            catalog = SimpleNamespace(tableExists=lambda name: not name.startswith("json."))
            return SimpleNamespace(read=Reader(), table=table, catalog=catalog, version=server[0])

    module = ModuleType("pyspark.sql")
    module.DataFrame = type("DataFrame", (), {})  # Narwhals looks whether a table is one
    module.SparkSession = SimpleNamespace(builder=Builder())
    package = ModuleType("pyspark")
    package.__version__ = "4.0.0"
    monkeypatch.setitem(sys.modules, "pyspark", package)
    monkeypatch.setitem(sys.modules, "pyspark.sql", module)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    return asked


@pytest.fixture
def ibis(monkeypatch):
    """An Ibis whose every database has the table votes, also in the schema school."""
    asked = []

    class Connection:
        def table(self, name, database=None):
            asked.append((name, database))
            if name != "votes":
                raise RuntimeError(f"canary {URL}")
            return votes()

    module = ModuleType("ibis")
    module.__version__ = "10.0.0"
    module.connect = lambda url: asked.append(url) or Connection()
    monkeypatch.setitem(sys.modules, "ibis", module)
    return asked


def value(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return Release.from_json(outcome.out).value


class TestSpark:
    def test_it_reads_parquet_by_itself(self, shell, spark):
        path = "hdfs://cluster/votes.parquet"
        assert value(shell("mode", path, "--engine", "spark", *QUESTION, "--json")) == "Ada"
        assert spark == [("parquet", path, {})]

    @pytest.mark.parametrize(("path", "separator"), [("votes.csv", None), ("votes.tsv.gz", "\t")])
    def test_csv_is_read_line_by_line(self, shell, spark, monkeypatch, path, separator):
        asked = []
        monkeypatch.setattr(
            table_options, "read_csv_on_spark", lambda *given: asked.append(given[1:]) or votes()
        )
        assert value(shell("mode", path, "--engine", "spark", *QUESTION, "--json")) == "Ada"
        assert asked == [
            (path, Format(separator, "utf-8", multiline=False, quoted=True), "student")
        ]

    def test_json_has_the_columns_that_are_asked_for(self, shell, spark, monkeypatch):
        asked = []
        monkeypatch.setattr(
            table_options, "read_json_on_spark", lambda *given: asked.append(given[1:]) or votes()
        )
        words = ("--engine", "spark", "--where", "grade >= 0", *QUESTION, "--json")
        assert value(shell("mode", "votes.jsonl", *words)) == "Ada"
        assert asked == [("votes.jsonl", ["teacher", "grade", "student"], "student")]

    @pytest.mark.parametrize("option", [("--multiline",), ("--encoding", "latin-1")])
    def test_what_only_duckdb_reads(self, shell, spark, option):
        outcome = shell("mode", "votes.csv", "--engine", "spark", *option, *QUESTION)
        outcome.refused(
            "'--engine'", "duckdb for files with --multiline or --encoding", "Got 'spark'."
        )

    def test_anything_else_is_a_table_of_the_catalogue(self, shell, spark):
        assert (
            value(shell("mode", "school.votes", "--engine", "spark", *QUESTION, "--json")) == "Ada"
        )

    @pytest.mark.parametrize("name", ["json.votes", "json.`/data/votes`"])
    def test_a_file_is_no_table_of_the_catalogue(self, shell, spark, name):
        """Spark would read it, with the columns that its rows have."""
        outcome = shell("mode", name, "--engine", "spark", *QUESTION)
        outcome.refused("'TABLE'", "that Spark can read", "No table of Spark's catalog")
        assert spark == []

    def test_its_log_is_not_on_our_terminal(self, shell, spark):
        """It is long, and may show rows."""
        shell("mode", "votes.csv", "--engine", "spark", *QUESTION)
        assert settings == {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}

    def test_who_has_set_up_spark_keeps_what_they_have(self, shell, spark, monkeypatch):
        monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
        assert (
            value(shell("mode", "votes.parquet", "--engine", "spark", *QUESTION, "--json")) == "Ada"
        )
        assert settings == {}

    def test_what_spark_cannot_read(self, shell, spark):
        outcome = shell("mode", "ballots", "--engine", "spark", *QUESTION)
        outcome.refused(
            "'TABLE'", "that Spark can read", "Got 'ballots'. Spark says: RuntimeError."
        )
        assert "canary" not in outcome.err

    def test_the_table_has_its_name_already(self, shell, spark):
        shell("mode", "a.csv", "--engine", "spark", "--table", "b", *QUESTION).refused(
            "'--table'", "left out with --engine"
        )

    def test_without_pyspark_there_is_one_line(self, shell, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyspark.sql", None)
        outcome = shell("mode", "votes.parquet", "--engine", "spark", *QUESTION)
        assert (outcome.code, outcome.err) == (
            2,
            f"Error: {MissingExtraError('The engine spark', 'spark')}\n",
        )

    @pytest.mark.parametrize("library", [True, False])
    def test_an_old_spark_is_one_line(self, shell, spark, monkeypatch, library):
        if library:
            monkeypatch.setattr(sys.modules["pyspark"], "__version__", "3.5.1")
        else:
            server[:] = ["3.5.1"]
        outcome = shell("mode", "votes.parquet", "--engine", "spark", *QUESTION)
        outcome.refused("Spark 3.5.1 is too old: discreet needs 4.0 or later.")
        assert spark == [], "nothing was read"


class TestServer:
    def test_an_old_ibis_is_one_line(self, shell, ibis, monkeypatch):
        monkeypatch.setattr(sys.modules["ibis"], "__version__", "9.5.0")
        outcome = shell("mode", "votes", "--engine", URL, *QUESTION)
        outcome.refused("Ibis 9.5.0 is too old: discreet needs 10")
        assert ibis == [], "nobody was connected with"

    def test_the_engine_is_a_url_and_the_table_a_name(self, shell, ibis):
        assert value(shell("mode", "votes", "--engine", URL, *QUESTION, "--json")) == "Ada"
        assert ibis == [URL, ("votes", None)]

    def test_the_table_is_a_url_and_has_a_name(self, shell, ibis):
        assert value(shell("mode", URL, "--table", "school.votes", *QUESTION, "--json")) == "Ada"
        assert ibis == [URL, ("votes", "school")]

    def test_a_url_needs_a_name(self, shell, ibis):
        shell("mode", URL, *QUESTION).refused(
            "'--table'", "given where TABLE is a URL", "Got nothing."
        )

    @pytest.mark.parametrize("options", [("ballots", "--engine", URL), (URL, "--table", "ballots")])
    def test_what_goes_wrong_shows_no_password(self, shell, ibis, options):
        outcome = shell("mode", *options, *QUESTION)
        outcome.refused(
            "has the table 'ballots'",
            "Got 'postgresql://example.org:5432/school'.",
            "says: RuntimeError.",
        )
        assert "secret" not in outcome.err

    def test_another_server_is_refused_without_its_password(self, shell):
        outcome = shell(
            "mode", "votes", "--engine", "mysql://ada:secret@example.org/school", *QUESTION
        )
        outcome.refused(
            "'--engine'",
            "duckdb, spark or a URL that begins with postgresql://",
            "'mysql://example.org/school'",
        )

    def test_without_ibis_there_is_one_line(self, shell, monkeypatch):
        monkeypatch.setitem(sys.modules, "ibis", None)
        outcome = shell("mode", "votes", "--engine", URL, *QUESTION)
        outcome.refused(str(MissingExtraError("A table in PostgreSQL", "postgres")))
        assert "secret" not in outcome.err


def test_a_decimal_comma_is_said_by_the_caller(shell, tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("who;kg\n" + "".join(f"{who};44,45\n" for who in range(99)))
    asked = ("--column", "kg", "--person", "who", "--rule", "max", "--q", "0.5")
    asked += ("--points", "0,44,44.45,50,90", "--epsilon", "60", "--json")
    outcome = shell("quantile", str(path), *asked, "--decimal", ",")
    assert json.loads(outcome.out)["value"] == 44.45
    shell("quantile", str(path), *asked, "--decimal", ";").refused("'--decimal'", "a comma")
    shell("quantile", str(path), *asked).refused(
        "'--column'", "--decimal . for 44.5, or --decimal ,"
    )
    shell("count", str(path), "--person", "who", "--epsilon", "1", "--where", "kg > 44").refused(
        "'--where'", "--decimal . for 44.5"
    )


def test_text_of_other_tables_has_numbers_where_the_caller_says_so(shell, tmp_path):
    path = tmp_path / "weights.jsonl"
    path.write_text("".join(f'{{"who": {who}, "kg": 44.5}}\n' for who in range(99)))
    asked = ("--column", "kg", "--person", "who", "--rule", "max", "--q", "0.5")
    asked += ("--points", "0,44.5,90", "--epsilon", "60")
    shell("quantile", str(path), *asked).refused("'--column'", "--numbers-in-text for 44.5")
    outcome = shell("quantile", str(path), *asked, "--numbers-in-text", "--json")
    assert json.loads(outcome.out)["value"] == 44.5


def test_the_card_says_how_cells_were_read(shell):
    asked = ("demo:visits", "--person", "patient", "--epsilon", "1")
    grid = ("--q", "0.5", "--bounds", "0,99", "--step", "1", "--rule", "max")
    told = shell("quantile", *asked, "--column", "minutes", *grid).out
    assert "cells that are not numbers count as empty" in told
    groups = ("--candidates", "yes,no", "--by", "ward", "--groups", "A,B")
    told = shell("mode", *asked, "--column", "back", *groups).out
    assert "a person counts in the first listed group only" in told


@pytest.mark.parametrize("name", ["votes.sqlite", "votes.db"])
def test_a_sqlite_file_is_refused_with_a_command_that_works(shell, tmp_path, name):
    with closing(sqlite3.connect(tmp_path / name)) as database:
        database.execute("create table votes (who text)")
        database.commit()
    asked = ("count", str(tmp_path / name), "--person", "who", "--epsilon", "1")
    shell(*asked).refused("'TABLE'", "sqlite3 -header -csv FILE 'select")
