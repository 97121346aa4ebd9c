"""What a caller can say about files, and what is no file: headers, separators, URLs, names of
tables, spills.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import SimpleNamespace

import duckdb
import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from asking import ask_of
from pyarrow import dataset, parquet

from discreet import (
    ApproxDP,
    CsvFile,
    JsonFile,
    ParameterError,
    Person,
    PublicTable,
    PureDP,
    Session,
)
from discreet.errors import ParameterTypeError
from discreet.tables.canonical_text import canonical_text
from discreet.tables.counting import count_candidates, count_items
from discreet.tables.duckdb_connection import connect
from discreet.tables.items import Items
from discreet.tables.opening import open_table
from discreet.tables.table import Table

PERSON = Person("who")


def rows(source):
    table = open_table(source)
    table = table if table.reader is None else table.having(list(table.schema))
    return table.frame.collect().rows(named=True)


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


class TestHeaders:
    def test_of_pandas_and_r(self, tmp_path):
        pandas.DataFrame({"who": [7], "item": ["a"]}).to_csv(tmp_path / "pandas.csv")
        assert rows(tmp_path / "pandas.csv") == [{"column_1": "0", "who": "7", "item": "a"}]
        r = written(tmp_path / "r.csv", '"","who","item"\r\n"1",7,"a"\r\n')
        assert rows(r) == [{"column_1": "1", "who": "7", "item": "a"}]

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_the_separator_is_found_in_the_header_line(self, tmp_path, separator):
        text = f'who{separator}"the, item; here"\n1{separator}a,b;c\n'
        found = rows(written(tmp_path / "any.csv", text))
        last = "a" if separator == "," else "a,b" if separator == ";" else "a,b;c"
        assert found == [{"who": "1", "the, item; here": last}]

    def test_rows_have_no_say_in_it(self, tmp_path):
        assert rows(written(tmp_path / "any.csv", "a,b\n1;2;3;4\n")) == [
            {"a": "1;2;3;4", "b": None}
        ]

    def test_the_callers_word(self, tmp_path):
        path = written(tmp_path / "any.txt", "a,b;c\n1,2;3\n")
        assert rows(CsvFile(path, separator=";")) == [{"a,b": "1,2", "c": "3"}]
        assert rows(CsvFile(str(path), separator=",")) == [{"a": "1", "b;c": "2;3"}]

    @pytest.mark.parametrize(
        ("encoding", "name"), [("latin-1", "é"), ("cp1252", "€"), ("utf-16", "語")]
    )
    def test_encodings(self, tmp_path, encoding, name):
        path = written(tmp_path / "any.csv", f'{name},b\n1,"x{name}\n2,y\n'.encode(encoding))
        assert rows(CsvFile(path, encoding=encoding)) == [
            {name: "1", "b": f"x{name}"},
            {name: "2", "b": "y"},
        ]

    def test_every_byte_of_an_encoding_is_read(self, tmp_path):
        lines = b"a\n" + b"".join(b"x%c\n" % byte for byte in range(256) if byte not in b"\r\n\0")
        for encoding in ("latin-1", "cp1252"):
            assert (
                len(rows(CsvFile(written(tmp_path / f"{encoding}.csv", lines), encoding=encoding)))
                == 253
            )

    def test_a_file_in_another_encoding_that_changes_is_read_anew(self, tmp_path):
        path = written(tmp_path / "any.csv", "a\né\n".encode("latin-1"))
        assert rows(CsvFile(path, encoding="latin-1")) == [{"a": "é"}]
        written(path, "a\nü\nö\n".encode("latin-1"))
        assert rows(CsvFile(path, encoding="latin-1")) == [{"a": "ü"}, {"a": "ö"}]

    def test_line_breaks_in_cells_on_the_callers_word(self, tmp_path):
        path = written(tmp_path / "any.csv", 'a,b\n1,"x\ny"\n2,z\n')
        assert rows(CsvFile(path, multiline=True)) == [
            {"a": "1", "b": "x\ny"},
            {"a": "2", "b": "z"},
        ]
        assert rows(path) == [{"a": "1", "b": "x"}, {"a": 'y"', "b": None}, {"a": "2", "b": "z"}]

    @pytest.mark.parametrize("multiline", [False, True])
    def test_files_with_other_headers(self, tmp_path, multiline):
        """A column that a file does not have is empty there; capitals are those of the first."""
        written(tmp_path / "1.csv", "Who,item\n1,a\n")
        written(tmp_path / "2.csv", "price;item;who\n5;b;2\n")
        written(tmp_path / "3.csv", "other\nx\n")
        table = open_table(CsvFile(tmp_path / "*.csv", multiline=multiline))
        assert list(table.schema) == ["Who", "item", "price", "other"]
        found = table.having(["price", "Who"]).frame.collect().rows()
        assert sorted(found, key=str) == [("5", "2"), (None, "1"), (None, None)]

    @pytest.mark.parametrize("multiline", [False, True])
    def test_a_question_reads_its_own_columns(self, tmp_path, multiline):
        """Each column of a query takes DuckDB milliseconds, whether it is looked at or not."""
        names = [f"column{number}" for number in range(200)]
        path = written(tmp_path / "wide.csv", f"{','.join(names)}\n{','.join('5' * 200)}\n")
        table = open_table(CsvFile(path, multiline=multiline))
        assert len(table.schema) == 200
        asked = table.having(["column7", "column190"])
        assert asked.frame.collect().rows(named=True) == [{"column7": "5", "column190": "5"}]
        assert asked.frame.columns == ["column7", "column190"]
        assert table.frame.select(nw.len()).collect().item() == 1
        with pytest.raises(ParameterError, match="a column of the table"):
            asked.require("column200", "column")

    @pytest.mark.parametrize("name", ["any.csv", "any.jsonl"])
    def test_a_file_that_is_gone(self, tmp_path, name):
        path = written(tmp_path / name, "item\na\n")
        table = open_table(path)
        path.unlink()
        with pytest.raises(
            ParameterError, match=r"a file that DuckDB can still read\. Got 'IOException'"
        ) as error:
            table.having(["item"])
        assert error.value.__cause__ is None
        assert "any" not in str(error.value)

    def test_without_quotes(self, tmp_path):
        path = written(tmp_path / "any.csv", 'a,"b\n1,"x\n')
        assert rows(CsvFile(path, quoted=False)) == [{"a": "1", '"b': '"x'}]

    @pytest.mark.parametrize(
        "header",
        [b"", b"\n", b",,", b"a,a", b"a,A", b"a\xff,b", b"x" * (2**20 + 1)],
        ids=lambda text: repr(text[:9]),
    )
    def test_headers_that_name_no_columns(self, tmp_path, header):
        path = written(tmp_path / "any.csv", header + b"\nAda,4711\n")
        with pytest.raises(ParameterError, match="The first line") as error:
            open_table(path)
        assert "4711" not in str(error.value)

    def test_a_file_without_a_header_does_not_show_its_first_row(self, tmp_path):
        table = open_table(written(tmp_path / "any.csv", "Ada,4711\nBob,4712\n"))
        with pytest.raises(
            ParameterError,
            match=r"a column of the table\. Got 'who'\. It has 2 columns\. Is the first line",
        ) as error:
            table.require("who", "column")
        assert "Ada" not in str(error.value)
        assert "Ada" not in repr(table)
        with pytest.raises(ParameterError, match="did you mean 'item'"):
            open_table(written(tmp_path / "b.csv", "who,item\n")).require("items", "column")

    @pytest.mark.parametrize(
        ("words", "rule"),
        [
            ({"separator": ",,"}, "one character"),
            ({"separator": "\n"}, "one character"),
            ({"encoding": "klingon"}, "one of utf-8, latin-1"),
            ({"multiline": True, "quoted": False}, "False where quoted is False"),
            ({"path": 5}, "a path"),
        ],
    )
    def test_what_cannot_be_said(self, words, rule):
        with pytest.raises(ParameterError, match=f"of CsvFile must be {rule}"):
            CsvFile(**({"path": "votes.csv"} | words))


class TestPlaces:
    @pytest.mark.parametrize(
        "url",
        [
            "http://127.0.0.1:9/x.csv",
            "S3://b/x.parquet",
            "https:/h/x.jsonl",
            "hf://d/x.csv",
            "file:///x.csv",
        ],
    )
    def test_nothing_comes_over_the_network(self, url, monkeypatch):
        monkeypatch.setattr(
            "discreet.tables.opening.connect", lambda *_, **__: pytest.fail("DuckDB saw it")
        )
        with pytest.raises(
            ParameterError,
            match=r"must be a path on this machine\. Got '\w+://\.\.\.'\. Download it first",
        ):
            open_table(url)

    def test_a_password_is_not_shown(self):
        with pytest.raises(
            ParameterError,
            match=r"For a table in a database, pass an Ibis table: "
            r"ibis\.connect\(url\)\.table\(name\)",
        ) as error:
            Session("postgresql://ada:secret@host/shop", unit=PERSON, budget=PureDP(1))
        assert "secret" not in str(error.value) + repr(error.value.args) + str(vars(error.value))

    def test_our_connections_load_nothing(self):
        connection = open_table(pandas.DataFrame({"a": [1]})).connection
        for name in (
            "autoinstall_known_extensions",
            "autoload_known_extensions",
            "python_enable_replacements",
        ):
            assert connection.execute(f"select current_setting('{name}')").fetchone() == (False,)

    def test_only_tables_and_views_of_a_database_file(self, tmp_path):
        path, other = tmp_path / "shop.duckdb", written(tmp_path / "secret.csv", "a\nTOPSECRET\n")
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "create table t as select 1 as a; create schema s; create table s.u as select 2 as "
                "a; "
                'create table "we""ird.x" as select 3 as a; '
                f"create view v as select * from read_csv('{other}')"
            )
        for name, value in {"t": 1, "T": 1, "s.u": 2, 'we"ird.x': 3}.items():
            assert open_table(path, table=name).frame.collect().rows() == [(value,)]
        for name in (
            str(other),
            f"read_csv('{other}')",
            f"'{other}'",
            "t; drop table t",
            "(select 1)",
            "duckdb_settings()",
            "",
            "pg_catalog.pg_tables",
        ):
            with pytest.raises(
                ParameterError, match="must be a table or view of the database file"
            ):
                open_table(path, table=name)
        with pytest.raises(ParameterError, match="must be a file that DuckDB can read"):
            open_table(path, table="v")

    @pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
    def test_public_files_beside_a_database(self, tmp_path, ending):
        with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
            connection.execute("create table t as select i as who, 'a' as item from range(50) r(i)")
        frame = polars.DataFrame({"item": ["a", "b"]})
        path = tmp_path / f"items.{ending}"
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[
            ending
        ](path)
        session = Session(tmp_path / "shop.duckdb", table_name="t", unit=PERSON, budget=PureDP(60))
        assert session.mode("item", candidates=PublicTable(path, "item"), epsilon=50).value == "a"


class TestSpills:
    def test_nobody_else_can_read_them(self):
        setting = "select current_setting('temp_directory')"
        everybody = open_table(pandas.DataFrame({"a": [1]})).connection
        ((folder,),) = everybody.execute(setting).fetchall()
        assert os.stat(folder).st_mode & 0o777 == 0o700
        # limits are those of an instance, and the one of all tables has to stay as it is
        connection = connect("a test", memory_limit="40MB", threads=1)
        assert connection.execute(setting).fetchall() == [(folder,)]
        connection.execute(
            "create temp table big as select range as a, md5(range::varchar) as b from "
            "range(2000000)"
        )
        assert len(os.listdir(folder)) > 1
        assert not os.path.exists(".tmp")
        connection.close()

    @pytest.mark.parametrize(
        "ending", ["pass", "os._exit(0)", "os.kill(os.getpid(), 9)", "os.fork() or os._exit(0)"]
    )
    def test_they_are_removed_at_the_end_or_by_the_next_process(self, tmp_path, ending):
        code = (
            "import os\nfrom discreet.tables.duckdb_connection import "
            f"spill_folder\nprint(spill_folder(os.getpid()), flush=True)\n{ending}"
        )
        again = (
            "import os\nfrom discreet.tables.duckdb_connection import "
            "spill_folder\nprint(spill_folder(os.getpid()))"
        )
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        for script in (code, again):
            subprocess.run(
                [sys.executable, "-c", script],
                env=environment,
                capture_output=True,
                timeout=250,
                check=False,
            )
        assert list(tmp_path.iterdir()) == []

    def test_a_living_process_keeps_its_own(self, tmp_path):
        script = (
            "import os\nfrom discreet.tables.duckdb_connection import "
            "spill_folder\nprint(spill_folder(os.getpid()), flush=True)\ninput()"
        )
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        with subprocess.Popen(
            [sys.executable, "-c", script],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as first:
            folder = first.stdout.readline().strip()
            subprocess.run(
                [sys.executable, "-c", script],
                env=environment,
                input="\n",
                text=True,
                capture_output=True,
                timeout=250,
                check=True,
            )
            assert os.path.isdir(folder)
            first.communicate("\n", timeout=250)
        assert not os.path.exists(folder)


def invalid(values):
    """A column of text in Arrow whose bytes nobody has looked at."""
    offsets = np.cumsum([0] + [len(value) for value in values]).astype(np.int32)
    buffers = [None, pyarrow.py_buffer(offsets.tobytes()), pyarrow.py_buffer(b"".join(values))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(values), buffers)


class TestBytesThatAreNoText:
    TABLE = pyarrow.table(
        {"who": list(range(1001)), "item": invalid([b"a"] * 600 + [b"b"] * 400 + [b"\xff\xfe"])}
    )

    @pytest.mark.parametrize("kind", ["parquet", "arrow", "pandas"])
    def test_they_raise_nothing(self, tmp_path, kind):
        parquet.write_table(self.TABLE, tmp_path / "bad.parquet")
        frame = pandas.DataFrame({"who": range(1001)}).assign(
            item=pandas.arrays.ArrowExtensionArray(
                pyarrow.chunked_array([self.TABLE["item"].combine_chunks()])
            )
        )
        source = {"parquet": tmp_path / "bad.parquet", "arrow": self.TABLE, "pandas": frame}[kind]
        session = Session(source, unit=PERSON, budget=ApproxDP(100, 0.1))
        assert session.mode("item", candidates=["a", "b"], epsilon=20).value == "a"
        assert session.top_k("item", k=1, epsilon=20, delta=1e-3, limit=10).value[0] == "a"
        found = dict(count_items(open_table(source), PERSON, Items("item"), 9))
        assert (found.pop("a"), found.pop("b")) == (600, 400)
        assert found == ({"??": 1} if kind == "parquet" else {})


class TestNames:
    @pytest.mark.parametrize(
        "name",
        ['a"b', "a'b", "a b", "select", "a;drop table x", "a\\b", "ä", "a.b", "item ", "^w.*$"],
    )
    @pytest.mark.parametrize(
        "make",
        [pandas.DataFrame, polars.DataFrame, pyarrow.table],
        ids=["pandas", "polars", "arrow"],
    )
    def test_of_every_kind(self, make, name):
        session = Session(
            make({"who": list(range(99)), name: ["a"] * 99}), unit=PERSON, budget=PureDP(64)
        )
        assert session.mode(name, candidates=["a", "b"], epsilon=50).value == "a"

    @pytest.mark.parametrize(
        "make",
        [pandas.DataFrame, polars.DataFrame, pyarrow.table],
        ids=["pandas", "polars", "arrow"],
    )
    def test_a_pattern_is_refused_before_the_charge(self, make):
        session = Session(make({"who": [1, 2], "*": ["a", "b"]}), unit=PERSON, budget=PureDP(9))
        with pytest.raises(
            ParameterError, match="a column whose name the engine does not take for a pattern"
        ):
            session.mode("*", candidates=["a", "b"], epsilon=1)
        assert session.remaining() == 9

    @pytest.mark.parametrize("engine", ["PYSPARK", "PYSPARK_CONNECT"])
    @pytest.mark.parametrize("name", ["a.b", "`a`", "a`", ".a"])
    def test_spark_reads_points_and_backticks(self, engine, name):
        """As parts of a column, or as quotes around a name: it would take another column."""
        frame = SimpleNamespace(implementation=getattr(nw.Implementation, engine))
        table = Table(frame, {name: nw.String(), "a b": nw.String()})
        assert table.require("a b", "unit") == "a b"
        with pytest.raises(
            ParameterError, match="a column whose name the engine does not take for a pattern"
        ):
            table.require(name, "unit")

    @pytest.mark.parametrize("make", [pandas.DataFrame, pyarrow.table], ids=["pandas", "arrow"])
    def test_names_that_differ_in_capitals_only(self, make):
        rule = "names differ by more than upper and lower case. Got 'a' and 'A'. Rename one"
        with pytest.raises(ParameterError, match=rule):
            open_table(make({"a": [1], "b": [0], "A": [2]}))


class Colour(str, Enum):  # noqa: UP042 (one that prints its own name)
    RED = "red"


class Number(int, Enum):
    THREE = 3


class Share(float, Enum):
    HALF = 2.5


class TestOnePerson:
    @pytest.mark.parametrize(
        "values",
        [
            [1, 1.0, "1", Decimal("1.00"), np.int64(1), np.float32(1), b"1", Fraction(1)],
            [10**15, 1e15, "1000000000000000", Decimal("1e15"), np.float64(1e15)],
            [2**60, float(2**60), Decimal(2**60), np.float64(2**60), np.uint64(2**60), str(2**60)],
            [123456789012345678, Decimal("123456789012345678.0"), "123456789012345678"],
            [1.5, Decimal("1.50"), np.float32(1.5), Fraction(3, 2), "1.5"],
            [0, 0.0, -0.0, Decimal("-0.00")],
            [1e-7, Decimal("0.0000001"), Decimal("1E-7")],
            [-2.5, Decimal("-2.500")],
            [True, np.True_],
            ["red", Colour.RED, b"red"],
            [3, Number.THREE, complex(3), np.complex128(3)],
            [2.5, Share.HALF],
            [timedelta(1), pandas.Timedelta(days=1), np.timedelta64(86_400 * 10**9, "ns")],
            [
                pandas.Timestamp("2024-01-01"),
                pandas.Timestamp("2024-01-01").date(),
                np.datetime64("2024-01-01"),
                "2024-01-01",
            ],
            [
                pandas.Timestamp("2024-01-01 12:00+00:00"),
                pandas.Timestamp("2024-01-01 13:00+01:00"),
            ],
        ],
        ids=lambda values: repr(values[0]),
    )
    def test_is_counted_once(self, values):
        assert len({canonical_text(value) for value in values}) == 1
        frame = pandas.DataFrame(
            {"who": pandas.Series(values, dtype=object), "item": ["a"] * len(values)}
        )
        assert count_candidates(open_table(frame), PERSON, Items("item"), ["a"]) == [1]

    def test_different_persons_stay_different(self):
        values = [
            2**53,
            2**53 + 1,
            "2",
            3,
            3.5,
            "03",
            " 3",
            True,
            10**18,
            10**18 + 1,
            Decimal("1e400"),
            1e-7,
            "x",
        ]
        assert len({canonical_text(value) for value in values}) == len(values)

    @pytest.mark.parametrize(
        "value",
        [
            *(float("nan"), Decimal("nan"), np.float64("nan"), "\ud800", b"\xff", None),
            *(np.datetime64("NaT", "us"), np.timedelta64("NaT", "ns")),
        ],
    )
    def test_nobody(self, value):
        assert value is None or canonical_text(value) is None


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("pattern", [False, True])
def test_another_working_folder_has_no_other_table(ending, pattern, tmp_path, monkeypatch):
    for folder, item in (("here", "a"), ("there", "b")):
        (tmp_path / folder).mkdir()
        frame = polars.DataFrame({"person": ["1", "2", "3"], "item": [item] * 3})
        writers = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}
        getattr(frame, writers[ending])(tmp_path / folder / f"votes.{ending}")
    monkeypatch.chdir(tmp_path / "here")
    name = f"vote*.{ending}" if pattern else f"votes.{ending}"
    session = Session(name, unit=Person("person"), budget=PureDP(1000))
    monkeypatch.chdir(tmp_path / "there")
    answers = [
        ask_of(session, "mode", "item", candidates=["a", "b"], epsilon=60, fresh=True).value
        for _ in range(3)
    ]
    assert answers == ["a"] * 3


class TestDecimalCommas:
    """What a number looks like is said by the caller, never found out from rows."""

    @staticmethod
    def session(tmp_path, cells, **said):
        path = tmp_path / "weights.csv"
        rows = [f'{who};"{cell}"' for who, cell in enumerate(cells)]
        path.write_text("\n".join(["who;kg", *rows]) + "\n")
        file = CsvFile(path, separator=";", **said)
        return Session(file, unit=Person("who"), budget=PureDP(999))

    def median(self, session, **said):
        asked = {"bounds": (0, 100), "step": 0.05, "rule": "max", "epsilon": 60} | said
        return session.quantile("kg", q=0.5, **asked).value

    def test_the_median_of_numbers_with_commas(self, tmp_path):
        cells = ["44,40", "44,45", "+44,45 ", "58", "60", "4,445e1", "9"] * 9
        session = self.session(tmp_path, cells, decimal=",")
        assert self.median(session) == 44.45
        assert self.median(session, where="kg > 58.5") == 60
        assert self.median(self.session(tmp_path, cells, decimal=".")) in (9, 58, 60)

    def test_what_is_no_number_counts_as_empty(self, tmp_path):
        odd = ["1.5", "1.234,5", "1,2,3", ",5", "5,", "", "x"] * 9
        session = self.session(tmp_path, [*odd, "44,45"], decimal=",")
        assert self.median(session) == 44.45

    def test_the_card_says_what_is_no_number(self, tmp_path):
        for said, example in (({}, "1,234 or 5%"), ({"decimal": ","}, "1.234,5 or 5%")):
            card = repr(self.session(tmp_path, ["1"], **said).describe())
            assert f"cells that are not numbers count as empty, such as {example}" in card
        card = self.session(tmp_path, ["1"]).describe()
        assert "a person counts in the first listed group only" in card._repr_html_()


def test_the_card_says_what_text_is_only_where_there_is_some():
    numbers = pandas.DataFrame({"who": [1], "item": [2]})
    assert "'yes ' differ" not in repr(Session(numbers, unit=PERSON, budget=PureDP(1)).describe())
    texts = numbers.assign(item="a")
    card = repr(Session(texts, unit=PERSON, budget=PureDP(1)).describe())
    assert "'Yes', 'yes' and 'yes ' differ; days are written 2024-12-31" in card


def test_a_name_that_lacks_the_spaces_of_the_header_is_meant(tmp_path):
    path = written(tmp_path / "votes.csv", "who, item \n1,a\n")
    session = Session(path, unit=PERSON, budget=PureDP(1))
    with pytest.raises(ParameterError, match="did you mean ' item '"):
        session.mode("item", candidates=["a"], epsilon=1)


class TestDeclaredColumnsOfJsonLines:
    @staticmethod
    def session(tmp_path, **said):
        path = written(tmp_path / "votes.jsonl", '{"who": 1, "item": "a"}\n{"who": 2}\n' * 9)
        file = JsonFile(path, **said)
        return Session(file, unit=PERSON, budget=PureDP(9))

    def test_a_key_that_was_not_declared_is_refused_before_the_charge(self, tmp_path):
        session = self.session(tmp_path, columns=["who", "item"])
        assert session.mode("item", candidates=["a", "b"], epsilon=1).value in ("a", "b")
        assert session.columns == {"who": "String", "item": "String"}
        with pytest.raises(ParameterError, match=r"'column' .* one of the columns"):
            session.mode("itme", candidates=["a", "b"], epsilon=1)
        with pytest.raises(ParameterError, match="column"):
            session.mode("item", candidates=["a", "b"], epsilon=1, where="city = 'Rome'")
        assert session.remaining() == 8

    def test_without_columns_the_card_says_that_any_key_is_accepted(self, tmp_path):
        open_ended = self.session(tmp_path)
        assert "any key of the JSON lines;" in repr(open_ended.describe())
        open_ended.mode("itme", candidates=["a", "b"], epsilon=1)
        declared = self.session(tmp_path, columns=("who",)).describe()
        assert "any key" not in repr(declared)

    @pytest.mark.parametrize(
        "columns", [[], "who", ["a", "A"], ["a", 1], [""], {"who": 1}], ids=str
    )
    def test_what_declares_no_columns(self, columns):
        with pytest.raises(ParameterError, match="'columns' parameter of JsonFile must be"):
            JsonFile("votes.jsonl", columns=columns)

    def test_no_line_is_looked_at(self, tmp_path):
        empty = written(tmp_path / "none.jsonl", "not json\n")
        session = Session(JsonFile(empty, columns=["who"]), unit=PERSON, budget=PureDP(9))
        assert session.columns == {"who": "String"}


@pytest.mark.parametrize("name", ["votes.sqlite", "votes.sqlite3", "votes.db", "votes.db3"])
def test_a_sqlite_file_is_refused_with_a_way_that_works(tmp_path, name):
    path = tmp_path / name
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table votes (who text, item text)")
        database.execute("insert into votes values ('41', 'a')")
        database.commit()
        said = {"table_name": "votes"} if name.endswith(".db") else {}
        with pytest.raises(ParameterError, match=r"pandas\.read_sql_query") as told:
            Session(path, unit=PERSON, budget=PureDP(1), **said)
        # the folder of the test has a number, too
        assert "41" not in str(told.value).replace(str(path), "")
        frame = pandas.read_sql_query("select * from votes", database)
    session = Session(frame, unit=PERSON, budget=PureDP(1))
    assert session.mode("item", candidates=["a"], epsilon=1).value == "a"


def test_a_dataset_of_arrow_is_refused_with_a_way_that_works():
    known = dataset.dataset(pyarrow.table({"who": ["41"], "item": ["a"]}))
    with pytest.raises(ParameterTypeError, match=r"\.to_table\(\)") as told:
        Session(known, unit=PERSON, budget=PureDP(1))
    assert "41" not in str(told.value)
    session = Session(known.to_table(), unit=PERSON, budget=PureDP(1))
    assert session.mode("item", candidates=["a"], epsilon=1).value == "a"
