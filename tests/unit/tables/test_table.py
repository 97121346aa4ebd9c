"""From what a caller has to a table: paths, data frames, what is refused, and what no row can
change.
"""

from __future__ import annotations

import gzip
import json
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import duckdb
import narwhals as nw
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from discreet import MissingExtraError, OneRow, ParameterError
from discreet.errors import ParameterTypeError
from discreet.tables import data_frames, opening
from discreet.tables.counting import count_items
from discreet.tables.items import Items
from discreet.tables.opening import open_table
from discreet.tables.valid_cells import with_valid_cells

CSV = "who,item\n1,a\n2,b\n3,a\n"


def counts(source, column="item", **options):
    table = open_table(source, **options).having([column])
    return dict(count_items(table, OneRow(), Items(column), 100))


def rows(source):
    table = open_table(source)
    table = table if table.reader is None else table.having(list(table.schema))
    return table.frame.collect().rows(named=True)


@pytest.fixture
def file(tmp_path):
    def write(name, text=CSV):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(
            text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        )
        return path

    return write


class TestFiles:
    @pytest.mark.parametrize("kind", [str, Path], ids=["text", "path"])
    def test_csv(self, file, kind):
        assert counts(kind(file("votes.csv"))) == {"a": 2, "b": 1}

    def test_tsv(self, file):
        assert counts(file("votes.tsv", CSV.replace(",", "\t"))) == {"a": 2, "b": 1}

    def test_compressed(self, file, tmp_path):
        assert counts(file("votes.csv.gz", gzip.compress(CSV.encode()))) == {"a": 2, "b": 1}
        duckdb.connect().sql(f"copy (select 'a' as item) to '{tmp_path / 'votes.csv.zst'}'")
        assert counts(tmp_path / "votes.csv.zst") == {"a": 1}
        lines = gzip.compress(b'{"item": "a"}\n{"item": "b"}\n')
        assert counts(file("votes.jsonl.gz", lines)) == {"a": 1, "b": 1}

    @pytest.mark.parametrize("ending", ["jsonl", "ndjson"])
    def test_json_lines(self, file, ending):
        assert counts(
            file(f"votes.{ending}", '{"who": 1, "item": "a"}\n{"item": "a"}\n{"who": 3}\n')
        ) == {"a": 2}

    def test_parquet(self, tmp_path):
        polars.DataFrame({"item": ["a", "a", None]}).write_parquet(tmp_path / "votes.parquet")
        assert counts(tmp_path / "votes.parquet") == {"a": 2}

    @pytest.mark.parametrize("ending", ["duckdb", "db", "ddb"])
    def test_databases(self, tmp_path, ending):
        path = tmp_path / f"votes.{ending}"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "create table votes as select 'a' as item; create view seen as select 'b' as item"
            )
        assert counts(path, table="votes") == {"a": 1}
        assert counts(path, table="seen") == {"b": 1}
        with duckdb.connect(
            str(path), read_only=True
        ) as connection:  # it was opened for reading only
            assert connection.table("votes").fetchall() == [("a",)]

    def test_many_files_by_a_pattern(self, file, tmp_path):
        file("day/1.csv")
        file("day/2.csv", "item,who\nc,9\na,8\n")  # in another order
        file("day/3.csv", "item\nd\n")  # without a column
        assert counts(str(tmp_path / "day" / "*.csv")) == {"a": 3, "b": 1, "c": 1, "d": 1}
        assert len(open_table(str(tmp_path / "day" / "*.csv")).schema) == 2
        file("lines/1.jsonl", '{"item": "a"}\n')
        file("lines/2.jsonl", '{"item": "b", "more": 1}\n')
        assert counts(str(tmp_path / "lines" / "*.jsonl")) == {"a": 1, "b": 1}
        for name in "12":
            polars.DataFrame({"item": [name]}).write_parquet(tmp_path / f"part{name}.parquet")
        assert counts(str(tmp_path / "part*.parquet")) == {"1": 1, "2": 1}

    @pytest.mark.parametrize(
        "name", ["a[1].csv", "b*.csv", "c?.csv", "d'e.csv", 'f"g.csv', "h i.csv", "ü🦊.csv"]
    )
    def test_a_file_that_exists_is_itself_even_if_its_name_looks_like_a_pattern(self, file, name):
        file("a1.csv", "item\nother\n")
        file("bb.csv", "item\nother\n")
        assert counts(file(name, "item\nthis\n")) == {"this": 1}

    def test_columns_of_text_files_are_text_whatever_is_in_them(self, file):
        csv = open_table(file("votes.csv", "n,x,d,b\n1,1.5,2026-01-01,true\n"))
        line = '{"n": null, "x": 1.5, "d": "2026-01-01", "b": true, "l": [1, {"a": null}]}\n'
        lines = open_table(file("votes.jsonl", line)).having([*"nxdbl", "other"])
        assert set(csv.schema.values()) == set(lines.schema.values()) == {nw.String}
        assert lines.frame.collect().rows() == [
            (None, "1.5", "2026-01-01", "true", '[1,{"a":null}]', None)
        ]


class TestMissing:
    @pytest.mark.parametrize(
        "path", ["votes.txt", "votes", "votes.xlsx", "votes.csv.bz2", "", "votes.csv/", "votes.gz"]
    )
    def test_other_endings(self, path, tmp_path):
        if path == "votes.csv/":
            path = str(tmp_path)
        with pytest.raises(
            ParameterError,
            match=r"The 'table' parameter must be a path that ends in \.parquet, \.csv",
        ) as error:
            open_table(path)
        assert error.value.got == path

    @pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl"])
    def test_no_such_file(self, tmp_path, ending):
        for path in (str(tmp_path / f"nothing.{ending}"), str(tmp_path / f"*.{ending}")):
            with pytest.raises(
                ParameterError,
                match=r"must be a file that DuckDB can read\. Got .* There is no such file\.$",
            ):
                open_table(path)

    @pytest.mark.parametrize("name", ["reads", "reads.parquet"])
    def test_a_folder(self, tmp_path, name):
        (tmp_path / name).mkdir()
        with pytest.raises(ParameterError, match=r"It is a folder\. .* 'reads/\*\.parquet'"):
            open_table(tmp_path / name)

    def test_no_such_database(self, tmp_path):
        with pytest.raises(ParameterError, match="must be a file that DuckDB can read"):
            open_table(tmp_path / "nothing.duckdb", table="votes")
        assert not (tmp_path / "nothing.duckdb").exists()

    def test_no_such_table(self, tmp_path):
        path = tmp_path / "votes.duckdb"
        duckdb.connect(str(path)).close()
        rule = (
            r"The 'table_name' parameter must be a table or view of the database file\. "
            r"Got 'nothing'"
        )
        with pytest.raises(ParameterError, match=rule):
            open_table(path, table="nothing")

    def test_no_name_of_a_table(self, tmp_path):
        with pytest.raises(
            ParameterTypeError,
            match=(r"The 'table_name' parameter must be given for a database file\. Got None"),
        ):
            open_table(tmp_path / "votes.duckdb")

    @pytest.mark.parametrize(
        "source", ["votes.csv", pandas.DataFrame({"a": [1]})], ids=["file", "frame"]
    )
    def test_a_name_where_there_is_no_database(self, source):
        rule = (
            r"The 'table_name' parameter must be left out if the table is not a "
            r"database file\. Got 'votes'"
        )
        with pytest.raises(ParameterError, match=rule):
            open_table(source, table="votes")

    @pytest.mark.parametrize("name", ["votes.parquet", "votes.duckdb"])
    def test_what_is_not_what_its_name_says(self, file, name):
        path = file(name, "Ada earns 4711\n" * 100)
        with pytest.raises(ParameterError, match="must be a file that DuckDB can read") as error:
            open_table(path, table="votes" if name.endswith("duckdb") else None)
        assert "4711" not in str(error.value)
        assert error.value.__context__ is None

    @pytest.mark.parametrize("text", ["", "\n", "a,a\n1,2\n", "a,b,A,a\n"], ids=repr)
    def test_headers_that_name_no_columns(self, file, text):
        with pytest.raises(ParameterError, match="must be a file that DuckDB can read"):
            open_table(file("votes.csv", text))

    @pytest.mark.parametrize("text", ["", "[1, 2]\n", '"text"\n7\n', "not JSON\n"], ids=repr)
    def test_lines_without_an_object_have_no_rows(self, file, text):
        """Whether there is one is a matter of rows, so the table opens."""
        assert counts(file("votes.jsonl", text)) == {}

    @pytest.mark.parametrize(
        "source",
        [None, 5, [1, 2], {"a": [1]}, np.zeros((2, 2)), pandas.Series([1]), b"votes.csv", object()],
        ids=lambda value: type(value).__name__,
    )
    def test_what_is_no_table(self, source):
        rule = (
            r"The 'table' parameter must be a path, a CsvFile, .*Ibis table\. Got "
            rf"'{type(source).__name__}'\."
        )
        with pytest.raises(ParameterTypeError, match=rule) as error:
            open_table(source)
        framed = isinstance(source, (list, dict, np.ndarray, pandas.Series))
        assert str(error.value).endswith("pandas.DataFrame(...).") == framed

    def test_a_sheet_has_to_be_saved_as_csv(self, file):
        with pytest.raises(ParameterError, match="Save the sheet as CSV first, or "):
            open_table(file("votes.xlsx", "canary"))

    def test_two_columns_of_one_name(self):
        frame = pandas.DataFrame([["Ada", "Bob"]], columns=["a", "a"])
        with pytest.raises(
            ParameterTypeError, match=r"The 'table' parameter must be .*Got 'DataFrame'"
        ):
            open_table(frame)

    def test_columns_that_no_engine_holds(self):
        with pytest.raises(
            ParameterTypeError, match="made of columns that Arrow and DuckDB can hold"
        ) as error:
            open_table(pandas.DataFrame({"a": [4711 + 1j]}))
        assert "4711" not in str(error.value)
        assert error.value.__context__ is None


class TestExtras:
    def test_narwhals(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "narwhals", None)
        with pytest.raises(
            MissingExtraError,
            match=(
                r"Reading tables needs the extra 'tables'\. Install it with: pip install "
                r'"discreet\[tables\]"'
            ),
        ):
            open_table("votes.csv")

    def test_duckdb(self, monkeypatch, file):
        monkeypatch.setitem(sys.modules, "duckdb", None)
        with pytest.raises(MissingExtraError, match="Reading files needs the extra 'tables'"):
            open_table(file("votes.csv"))
        with pytest.raises(MissingExtraError, match="Reading data frames needs the extra 'tables'"):
            open_table(pandas.DataFrame({"a": [1]}))

    def test_pyarrow(self, monkeypatch, file):
        for module in (opening, data_frames):
            monkeypatch.setattr(
                module, "find_spec", lambda name: None if name == "pyarrow" else object()
            )
        for source in (
            file("votes.csv"),
            pandas.DataFrame({"a": [1]}),
            duckdb.connect().sql("select 1 as a"),
        ):
            with pytest.raises(MissingExtraError, match="needs the extra 'tables'"):
                open_table(source)


LINES = {
    "a comment": "# hello,a",
    "a quote in the middle": '9,a"b',
    "a quote and more": '9,"a"b',
    "too short": "9",
    "too long": "9,a,b,c,d,e",
    "very many columns": ",".join("9" * 3000),
    "empty": "",
    "another delimiter": "9;a",
    "tabs": "9\ta",
    "the header again": "who,item",
    "a carriage return": "9,a\r",
    "the character 0": "9,\0",
    "bytes that are no text": "9,\udcff\udcfe",
    "an open quote": '9,"a',
    "a quote alone": '"',
    "forty megabytes": "9," + "x" * 40_000_000,
    "three megabytes": "9," + "x" * 3_000_000,
    "numbers elsewhere": "9,12",
    "a date": "9,2026-11-16",
    "a single quote": "9,'a",
    "a backslash": '9,"a\\"',
    "a mark of the byte order": "\ufeff9,a",
}


class TestNoRowChangesHowOthersAreRead:
    """A line as somebody might write it into a file, in every place: the other rows are what they
    were.
    """

    def test_csv(self, file):
        for number, line in enumerate(LINES.values()):
            self.check_csv(file, line, (0, 15, 30)[number % 3])

    @pytest.mark.sizes
    @pytest.mark.parametrize("what", LINES)
    def test_csv_in_every_place(self, file, what):
        for at in (0, 15, 30):
            self.check_csv(file, LINES[what], at)

    def check_csv(self, file, line, at):
        honest = [f"{number},{'xyz'[number % 3]}" for number in range(30)]
        before = {("item", "xyz"[number]): 10 for number in range(3)}
        path = file("votes.csv", "\n".join(["who,item", *honest[:at], line, *honest[at:], ""]))
        table = open_table(path).having(["item"])
        assert list(table.schema) == ["who", "item"]
        found = dict(count_items(table, OneRow(), Items("item"), 100))
        assert {("item", item): found.get(item) for item in "xyz"} == before, line[:50]
        assert sum(found.values()) <= 31

    def test_an_open_quote_ends_with_its_line(self, file):
        assert counts(file("votes.csv", CSV + '4,"a')) == {"a": 3, "b": 1}
        assert counts(file("votes.csv", 'who,item\n4,"a\n' + CSV[9:])) == {"a": 3, "b": 1}

    @pytest.mark.parametrize(
        "line",
        [
            "",
            "not JSON",
            "[1]",
            "7",
            "null",
            '"text"',
            '{"item": ',
            "{}",
            '{"item": {"item": 1}}',
            "[" * 5000,
            '{"item": NaN}',
        ],
    )
    def test_json(self, file, line):
        found = counts(file("votes.jsonl", f'{{"item": "a"}}\n{line}\n{{"item": "b"}}\n'))
        assert (found["a"], found["b"]) == (1, 1)

    def test_no_line_says_which_columns_there_are(self, file):
        table = open_table(
            file("votes.jsonl", '{"item": "a"}\n{"item": "b", "secret": 1, "it\'em": 2}\n')
        )
        assert list(table.schema) == []
        assert "secret" in table.schema
        assert "nothing of the kind" in table.schema

    @pytest.mark.parametrize(
        "key", ["a b", 'a"b', "a'b", "a/b", "a~b", "~1", "$.a", "a.b", "ü", "0", "$"]
    )
    def test_keys_of_every_kind(self, file, key):
        lines = [json.dumps({key: "x"}), json.dumps({key: "y"}), "{}"]
        assert counts(file("votes.jsonl", "\n".join(lines)), key) == {"x": 1, "y": 1}


class TestDataFrames:
    def test_objects_are_text(self):
        values = [
            1,
            "1",
            1.0,
            np.float32(1),
            np.int64(1),
            Decimal("1.00"),
            True,
            None,
            float("nan"),
            pandas.NA,
            1.5,
            Decimal("1.50"),
            b"1",
        ]
        assert counts(pandas.DataFrame({"item": pandas.Series(values, dtype=object)})) == {
            "1": 7,
            "True": 1,
            "1.5": 2,
        }

    def test_objects_without_a_text_are_left_out(self):
        class Hostile:
            def __str__(self):
                raise RuntimeError("secret")

            __repr__ = __str__

        values = [
            Hostile(),
            "\ud800",
            10**5000,
            "a",
            float("inf"),
            1e300,
            Decimal("NaN"),
            [1],
            {"b": 2},
        ]
        found = counts(pandas.DataFrame({"item": pandas.Series(values, dtype=object)}))
        large = str(int(1e300))
        assert found == {"a": 1, "inf": 1, large: 1, "1e5000": 1}

    @pytest.mark.parametrize("kind", ["category", "string[python]"])
    def test_other_columns_of_python_objects(self, kind):
        values = [1, "1", "a", None] if kind == "category" else ["1", "1", "a", None]
        assert counts(
            pandas.DataFrame({"item": pandas.Series(values, dtype=object).astype(kind)})
        ) == {"1": 2, "a": 1}

    def test_half_of_a_surrogate_pair_in_text(self):
        assert counts(
            pandas.DataFrame({"item": pandas.Series(["\ud800", "a"], dtype="string[python]")})
        ) == {"a": 1}

    def test_names_and_indices(self):
        frame = pandas.DataFrame({0: ["a", "a"], ("b", 1): ["c", "d"]}, index=["x", "x"])
        table = open_table(frame)
        assert list(table.schema) == ["0", "('b', 1)"]
        assert dict(count_items(table, OneRow(), Items("0"), 9)) == {"a": 2}

    def test_the_callers_frame_stays_as_it_is(self):
        frame = pandas.DataFrame({"item": pandas.Series([1, "1"], dtype=object)})
        before = frame.copy(deep=True)
        counts(frame)
        pandas.testing.assert_frame_equal(frame, before)

    def test_what_changes_later_does_not_count(self):
        frame = pandas.DataFrame({"item": ["a", "a"]})
        table = open_table(frame)
        frame.loc[:, "item"] = "b"
        assert dict(count_items(table, OneRow(), Items("item"), 9)) == {"a": 2}

    def test_arrow(self):
        chunks = pyarrow.chunked_array([["a"], ["b", None]])
        assert counts(pyarrow.table({"item": chunks})) == {"a": 1, "b": 1}
        assert counts(
            pyarrow.table({"item": pyarrow.array(["a", "b", "a"]).dictionary_encode()})
        ) == {"a": 2, "b": 1}

    def test_a_relation(self):
        assert counts(duckdb.connect().sql("select 'a' as item")) == {"a": 1}

    def test_a_narwhals_frame_is_a_table(self):
        assert counts(nw.from_native(polars.DataFrame({"item": ["a"]}))) == {"a": 1}


def test_tables_show_no_rows(file):
    for source in (
        file("votes.csv", "item\nAda\n"),
        pandas.DataFrame({"item": ["Ada"]}),
        polars.DataFrame({"item": ["Ada"]}),
    ):
        assert "Ada" not in repr(open_table(source))


class TestFramesThatPeopleHave:
    """What pandas lets people make, and what they have to change."""

    FRAME = pandas.DataFrame({"reader": [1, 2], "article": ["a", "b"]})

    def refused(self, frame, column="reader"):
        with pytest.raises(ParameterError) as error:
            open_table(frame).require(column, "unit")
        return str(error.value)

    def test_the_index_is_no_column(self):
        assert self.refused(self.FRAME.set_index("reader")) == (
            "The 'unit' parameter must be one of the columns 'article'. Got 'reader'. It "
            "is the index of the frame. Make it a column with reset_index()."
        )
        assert "index" not in self.refused(self.FRAME.set_index("reader"), "person")

    def test_two_columns_of_one_name(self):
        twins = pandas.concat([self.FRAME, self.FRAME[["article"]]], axis=1)
        assert self.refused(twins).endswith(
            "Got 'DataFrame'. Two of its columns have the same name: rename one."
        )

    def test_engines_that_nobody_has_tried(self, monkeypatch):
        """Narwhals takes lazy frames of more engines, such as Dask."""
        monkeypatch.setattr(opening, "_LAZY", ())
        assert self.refused(duckdb.sql("select 1 as a")).endswith(
            "or an Ibis table. Got 'DuckDBPyRelation'."
        )

    def test_columns_that_cannot_be_named(self, monkeypatch):
        """Narwhals knows no decimals of 40 digits, as PostgreSQL has them."""

        def unknown(frame):
            raise ValueError("precision must be a positive integer between 0 and 38, found 40")

        monkeypatch.setattr(opening, "with_valid_cells", unknown)
        assert self.refused(duckdb.sql("select 1 as a")) == (
            "The 'table' parameter must be made of columns with different names and known "
            "types. Got 'DuckDBPyRelation'. Pass a query that renames, casts or leaves out the "
            "other columns."
        )

    @pytest.mark.parametrize("engine", ["PYSPARK", "PYSPARK_CONNECT"])
    def test_text_that_is_none_on_spark(self, engine):
        """Also where Spark is asked over a network."""
        asked = []
        texts = ("x", "string"), ("l", "array<string>"), ("y", "int")
        columns = [
            SimpleNamespace(
                name=name, dataType=SimpleNamespace(simpleString=lambda kind=kind: kind)
            )
            for name, kind in texts
        ]
        native = SimpleNamespace(
            schema=columns, selectExpr=lambda *cells: asked.extend(cells) or polars.LazyFrame()
        )
        rows = SimpleNamespace(
            implementation=getattr(nw.Implementation, engine), to_native=lambda: native
        )
        with_valid_cells(rows)
        assert asked == [
            "try_validate_utf8(`x`) as `x`",
            "transform(`l`, item -> try_validate_utf8(item)) as `l`",
            "`y`",
        ]

    def test_no_columns(self):
        assert self.refused(pandas.DataFrame()) == (
            "The 'table' parameter must be a table with columns. Got 'one without'."
        )

    def test_many_columns_are_counted_and_not_listed(self):
        wide = pandas.DataFrame({f"answer_{number}": [1] for number in range(21)})
        assert self.refused(wide, "anser_7") == (
            "The 'unit' parameter must be a column of the table. Got 'anser_7'. It has 21 "
            "columns; did you mean 'answer_7'?"
        )
        assert self.refused(wide.iloc[:, :20], "anser_7").endswith("'answer_19'. Got 'anser_7'.")
