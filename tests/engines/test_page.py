"""The page on engines: its blocks for Spark and PostgreSQL run here, the others are doctests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
from engines.tables import MARKS, postgres, spark
from pyarrow import parquet

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "engines.md"
BLOCK = re.compile(r"<!-- runs on: (\w+) -->\n```python\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
READS = {
    "reader": ["ann", "ann", "bob", "eve"],
    "article": ["chess", "opera", "chess", "chess"],
    "minutes": [3.0, 1.0, 12.0, 7.0],
}


def codes(engine):
    return [
        pytest.param(code, id=engine, marks=MARKS[engine])
        for name, code in BLOCKS
        if name == engine
    ]


def test_each_engine_has_a_block():
    assert [name for name, _ in BLOCKS] == ["spark", "postgres"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pyarrow.table(READS), "reads.parquet")
    return tmp_path


@pytest.mark.parametrize("code", codes("spark"))
def test_spark_here(code, folder, capsys):
    spark()
    code = code.replace(
        '"reads.parquet"', repr((folder / "reads.parquet").as_uri())
    )  # Java does not notice that the folder is another
    exec(compile(code, str(PAGE), "exec"), {})
    assert len(json.loads(capsys.readouterr().out)["value"]) == 2


@pytest.mark.parametrize("code", codes("spark"))
def test_spark_submit(code, folder):
    """As a program of its own. Executors have no Python to run: only the driver needs the
    package.
    """
    pytest.importorskip("pyspark", reason="pyspark is not installed: make engines")
    (folder / "top_articles.py").write_text(code)
    program = Path(sys.executable).parent / "spark-submit"
    pythons = {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": "/no/python/here"}
    command = [
        program,
        "--master",
        "local[1]",
        "--deploy-mode",
        "client",
        "--conf",
        "spark.ui.enabled=false",
        "top_articles.py",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | pythons
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(json.loads(done.stdout.splitlines()[-1])["value"]) == 2


@pytest.mark.parametrize("code", codes("postgres"))
def test_postgres(code, monkeypatch, capsys):
    connection = postgres()
    with connection.con.cursor() as cursor:
        cursor.execute("create table reads (reader text, article text, minutes double precision)")
        cursor.executemany(
            "insert into reads values (%s, %s, %s)", list(zip(*READS.values(), strict=True))
        )
    monkeypatch.setenv("SHOP_URL", os.environ["DISCREET_POSTGRES_URL"])
    exec(compile(code, str(PAGE), "exec"), {})
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["value"] in READS["article"] + ["news"] for answer in answers] == [True, True]
