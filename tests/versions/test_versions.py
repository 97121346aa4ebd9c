"""Lowest versions: one number for each library, wherever it is written; older ones are refused."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import duckdb
import narwhals
import pandas
import polars
import psycopg
import pyarrow
import pytest
from packaging.version import Version
from versions.lowest import CONSTRAINTS, constraints, lowest, requirements

import discreet
from discreet import OneRow, PublicTable, PureDP, Session
from discreet.errors import OutdatedLibraryError
from discreet.ledger.postgresql import PostgreSQLStore
from discreet.versions import LOWEST, require, require_makers, require_version

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "versions.md"
DEVELOPMENT = ("test", "benchmark", "browser", "schema", "examples", "docs")
ROWS = {"item": ["a", "b", "b"]}


class TestNumbers:
    def test_every_library_has_one_lower_bound(self):
        bounds = lowest()
        asked = {line.name for lines in requirements().values() for line in lines}
        # What has none is held from above only.
        assert asked - bounds.keys() == {"sqlglot"}
        assert {name: versions for name, versions in bounds.items() if len(versions) > 1} == {}

    def test_the_constraints_are_those_of_the_project(self):
        assert CONSTRAINTS.read_text(encoding="utf-8") == constraints()

    def test_what_is_refused_is_what_the_project_does_not_ask_for(self):
        stated = {distribution: Version(number) for _, distribution, number in LOWEST.values()}
        assert stated == {name: next(iter(lowest()[name])) for name in stated}

    def test_every_library_that_users_install_is_looked_at(self):
        asked = {
            line.name
            for extra, lines in requirements().items()
            for line in lines
            if extra and extra not in DEVELOPMENT
        }
        # The two are Ibis's affair.
        assert asked - {"sqlglot", "packaging"} <= {entry[1] for entry in LOWEST.values()}

    def test_the_page_gives_the_same_numbers(self):
        rows = re.findall(
            r"^\| ([a-z0-9-]+) \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.M
        )
        assert {name: Version(number) for name, number in rows} == {
            name: max(versions) for name, versions in lowest().items()
        }


class TestOrder:
    @pytest.mark.parametrize(
        "version",
        ["1.9.9", "1.10", "0.20", "2.0.0rc1", "2.0.0.dev7", "2.0-SNAPSHOT", "2.0b2", "", "x", "v3"],
    )
    def test_older_or_unreadable(self, version):
        with pytest.raises(OutdatedLibraryError, match=r"is too old: discreet needs 2\.0 or later"):
            require_version("duckdb", version)

    @pytest.mark.parametrize(
        "version", ["2.0", "2.0.0", "2", "2.0.1.dev3", "2.10", "10.0", "2.0.0+local", "2.0.0.post1"]
    )
    def test_new_enough(self, version):
        require_version("duckdb", version)

    def test_all_that_are_installed_are_new_enough(self):
        present = [module for module in LOWEST if _is_installed(module)]
        assert {"duckdb", "narwhals", "pandas", "polars", "pyarrow", "typer", "rich"} <= {*present}
        for module in present:
            require(module)

    def test_one_without_any_version_is_refused(self, monkeypatch):
        monkeypatch.delattr(duckdb, "__version__")
        monkeypatch.setattr("discreet.versions.metadata.version", _not_found)
        with pytest.raises(OutdatedLibraryError, match="DuckDB of an unknown version is too old"):
            require("duckdb")


def _not_found(name):
    raise discreet.versions.metadata.PackageNotFoundError(name)


def _is_installed(module):
    try:
        import_module(module)
    except ImportError:
        return False
    return True


@pytest.fixture
def aged(monkeypatch):
    """Make a library look older than the lowest."""

    def age(library, version="0.9"):
        monkeypatch.setattr(library, "__version__", version)

    return age


class TestRefusals:
    def test_the_message_is_one_line_and_travels(self, aged):
        aged(duckdb, "1.1.0")
        with pytest.raises(OutdatedLibraryError) as caught:
            require("duckdb")
        text = "DuckDB 1.1.0 is too old: discreet needs 2.0 or later. pip install -U duckdb"
        assert str(caught.value) == text
        assert isinstance(caught.value, ImportError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.version, again.lowest) == (text, "1.1.0", "2.0")

    @pytest.mark.parametrize(
        ("library", "name", "source"),
        [
            (narwhals, "Narwhals", lambda: polars.DataFrame(ROWS)),
            (duckdb, "DuckDB", lambda: duckdb.sql("select 'a' as item")),
            (duckdb, "DuckDB", lambda: pandas.DataFrame(ROWS)),
            (duckdb, "DuckDB", lambda: pyarrow.table(ROWS)),
            (pandas, "pandas", lambda: pandas.DataFrame(ROWS)),
            (pandas, "pandas", lambda: narwhals.from_native(pandas.DataFrame(ROWS))),
            (pandas, "pandas", lambda: type("Frame", (pandas.DataFrame,), {})(ROWS)),
            (polars, "Polars", lambda: polars.DataFrame(ROWS)),
            (polars, "Polars", lambda: polars.LazyFrame(ROWS)),
            (pyarrow, "PyArrow", lambda: pyarrow.table(ROWS)),
            (pyarrow, "PyArrow", lambda: pandas.DataFrame(ROWS)),
            (pyarrow, "PyArrow", lambda: duckdb.sql("select 'a' as item")),
        ],
    )
    def test_tables(self, aged, library, name, source):
        table = source()
        aged(library)
        with pytest.raises(OutdatedLibraryError, match=rf"^{name} 0\.9 is too old"):
            Session(table, budget=PureDP(1), unit=OneRow())

    @pytest.mark.parametrize(
        ("library", "name"), [(duckdb, "DuckDB"), (narwhals, "Narwhals"), (pyarrow, "PyArrow")]
    )
    def test_files(self, aged, tmp_path, library, name):
        path = tmp_path / "votes.csv"
        path.write_text("item\na\n")
        aged(library)
        with pytest.raises(OutdatedLibraryError, match=rf"^{name} 0\.9 is too old"):
            Session(str(path), budget=PureDP(1), unit=OneRow())

    def test_a_table_of_candidates_is_refused_before_the_charge(self, aged):
        session = Session(polars.DataFrame(ROWS), budget=PureDP(1), unit=OneRow())
        candidates = PublicTable(polars.DataFrame(ROWS), "item")
        aged(polars)
        with pytest.raises(OutdatedLibraryError, match=r"^Polars 0\.9 is too old"):
            session.mode("item", candidates=candidates, epsilon=1)
        assert session.remaining() == 1

    def test_a_spark_session_that_is_connected_with_an_older_spark(self):
        """As Spark Connect allows."""

        class Frame:
            sparkSession = type("Session", (), {"version": "3.5.1"})  # Spark's own name

        with pytest.raises(OutdatedLibraryError, match=r"^Spark 3\.5\.1 is too old: .* 4\.0"):
            require_makers(Frame())

    def test_a_ledger_on_a_server_is_refused_before_it_is_called(self, aged):
        aged(psycopg, "3.1.20")
        # The name is nobody's: whoever asked for it would get another error.
        with pytest.raises(OutdatedLibraryError, match=r"^psycopg 3\.1\.20 is too old"):
            PostgreSQLStore("postgresql://nobody.invalid/shop", "ledger", 1)

    @pytest.mark.parametrize(
        ("module", "name"), [("duckdb", "DuckDB"), ("narwhals", "Narwhals"), ("typer", "Typer")]
    )
    def test_the_command_line_says_one_line(self, module, name):
        script = (
            f"import sys, {module}; {module}.__version__ = '0.9'; "
            "from discreet.cli import main; sys.exit(main(['demo']))"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"Error: {name} 0.9 is too old: discreet needs ")
        assert done.stderr.count("\n") == 1

    def test_the_command_line_does_not_blame_the_file(self, aged, tmp_path, capsys):
        from discreet.cli import main

        path = tmp_path / "votes.csv"
        path.write_text("item\na\n")
        aged(pyarrow)
        command = f"mode {path} --column item --one-row --candidates a,b --epsilon 1".split()
        assert main(command) == 2
        assert "PyArrow 0.9 is too old" in capsys.readouterr().err
        scores = tmp_path / "scores.jsonl"
        scores.write_text('{"item": "a", "votes": 1}')
        aged(duckdb)
        command = (
            f"scores select {scores} --label item --score votes --epsilon 1 --sensitivity 1".split()
        )
        assert main(command) == 2
        assert "DuckDB 0.9 is too old" in capsys.readouterr().err

    @pytest.mark.parametrize("library", ["matplotlib", "dp_accounting"])
    def test_plots_and_other_accountants(self, monkeypatch, library):
        calls = {
            "matplotlib": lambda: import_module("discreet.rendering.picture").require_matplotlib(),
            "dp_accounting": lambda: import_module("discreet.accounting.interop")._library(),
        }
        calls[library]()
        monkeypatch.setattr(import_module(library), "__version__", "0.1", raising=False)
        with pytest.raises(OutdatedLibraryError, match=r"0\.1 is too old"):
            calls[library]()

    def test_estimators(self):
        script = (
            "import sys, types\n"
            "sys.modules['sklearn'] = types.ModuleType('sklearn')\n"
            "sys.modules['sklearn'].__version__ = '1.5.2'\n"
            "import discreet\n"
            "try:\n    import discreet.sklearn\n"
            "except discreet.errors.OutdatedLibraryError as error:\n    print(error)"
        )
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250)
        assert done.stdout.startswith("scikit-learn 1.5.2 is too old: discreet needs 1.6 or later")
