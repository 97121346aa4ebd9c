"""Programs that use sessions leave nothing on the standard error when they end."""

import subprocess
import sys
from pathlib import Path

import pytest
from tiers import more

# DuckDB reports what is left of it at the end, where NumPy or PyArrow is loaded, too.
START = """
import threading
import discreet

def session(table):
    return discreet.Session(table, unit=discreet.Person("reader"), budget=discreet.PureDP(9))

def ask(table):
    return session(table).mode("article", candidates=["news", "chess"], epsilon=1)

def failed(table):
    try:
        session(table).mode("colour", candidates=["red"], epsilon=1)
    except discreet.ParameterError as error:
        return error
    raise AssertionError

rows = {"reader": [1, 2, 3], "article": ["news", "chess", "news"]}
"""
PROGRAMS = {
    "files": "kept = ask('reads.csv')",
    "pandas": "import pandas; kept = ask(pandas.DataFrame(rows))",
    "polars": "import polars; kept = ask(polars.DataFrame(rows)), ask(polars.LazyFrame(rows))",
    "arrow": "import pyarrow; kept = ask(pyarrow.table(rows))",
    "relations": "import duckdb; table = duckdb.read_csv('reads.csv'); kept = ask(table)",
    "errors": "kept = ask('reads.csv'), failed('reads.csv')",
    "threads": """
kept = []
threads = [threading.Thread(target=lambda: kept.append(ask("reads.csv"))) for _ in range(3)]
threads.append(threading.Thread(target=lambda: kept.append(failed("reads.csv"))))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(kept) == 4
""",
    "forks": """
import os
child = os.fork() if hasattr(os, "fork") else 0
ask("reads.csv")
assert not child or os.waitpid(child, 0)[1] == 0
""",
}
NOTEBOOK = """
import nbformat, nbclient

cells = [START, "kept = session('reads.csv')\\nkept", "failed('reads.csv')", "session('none.csv')"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(notebook, allow_errors=True, timeout=250).execute()
assert [[output.output_type for output in cell.outputs] for cell in notebook.cells] == [
    [], ["execute_result"], ["execute_result"], ["error"]
]
"""


def errors_of(folder: Path, *command: str, code: int = 0) -> str:
    """What a program writes to the standard error, where `reads.csv` is in its folder."""
    (folder / "reads.csv").write_text("reader,article\n1,news\n2,chess\n3,news\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def test_duckdb_reports_what_narwhals_still_holds_at_the_end(tmp_path):
    """Without this there would be nothing to do, and `empty_caches_at_exit` could go."""
    program = "import numpy, duckdb, narwhals; narwhals.from_native(duckdb.sql('select 1'))"
    assert "nanobind: leaked" in errors_of(tmp_path, "-c", program)


# Polars, and DuckDB's own connection, do not stand a fork of their threads.
ALL = "\n".join(program for name, program in PROGRAMS.items() if name != "forks")


@pytest.mark.parametrize(
    "program", [ALL, *(more(program, id=name) for name, program in PROGRAMS.items())]
)
def test_a_program_ends_quietly(program, tmp_path):
    assert errors_of(tmp_path, "-c", START + program) == ""


def test_a_program_that_fails_shows_its_own_error_only(tmp_path):
    hook = "import sys\nsys.excepthook = lambda *error: print('failed', file=sys.stderr)"
    program = f"{START}\n{hook}\nkept = ask('reads.csv')\nsession('none.csv')"
    assert errors_of(tmp_path, "-c", program, code=1) == "failed\n"


def test_a_notebook_ends_quietly(tmp_path):
    pytest.importorskip("nbclient")
    program = f"START = {START!r}\n{NOTEBOOK}"
    assert "nanobind" not in errors_of(tmp_path, "-c", program)


def test_a_test_run_ends_quietly(tmp_path):
    (tmp_path / "test_it.py").write_text(
        f"{START}\ndef test_it():\n    ask('reads.csv')\n", "utf-8"
    )
    assert errors_of(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py") == ""
