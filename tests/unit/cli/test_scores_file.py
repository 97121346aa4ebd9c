"""Reading files: every format, exactly, and bad data without a word about it."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from tiers import first

from discreet import ParameterError
from discreet.cli.scores_file import read_scores
from discreet.errors import ScoresError

CANARY_LABEL, CANARY_SCORE = "canarylabel", "424242"


def read(path, label="name", score="votes"):
    return read_scores(str(path), label=label, score=score, command="discreet scores select")


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(path, query):
    with duckdb.connect(":memory:") as connection:
        connection.sql(query).write_parquet(str(path))
    return path


class TestFormats:
    def test_csv(self, tmp_path):
        path = written(
            tmp_path / "votes.csv",
            'name,votes,other\nterrier,41,x\n"husky, grey",38,y\n"say ""hi""",-2,z\n',
        )
        assert read(path) == {"terrier": 41, "husky, grey": 38, 'say "hi"': -2}

    @pytest.mark.parametrize(
        "text",
        [
            "name;votes\nx;1\ny;2\n",
            "name\tvotes\nx\t1\ny\t2\n",
            "\ufeffname,votes\r\nx,1\r\ny,2\r\n",
        ],
    )
    def test_csv_dialects(self, tmp_path, text):
        assert read(written(tmp_path / "votes.csv", text)) == {"x": 1, "y": 2}

    def test_compressed_csv(self, tmp_path):
        path = written(tmp_path / "votes.csv.gz", gzip.compress(b"name,votes\nx,1\n"))
        assert read(path) == {"x": 1}

    def test_csv_guesses_nothing(self, tmp_path):
        """Lines that look like comments are candidates, 007 is a name, and a folder's name is no
        column.
        """
        folder = tmp_path / "year=2020"
        folder.mkdir()
        path = written(
            folder / "votes.csv", "name,votes\n#1,10\n007,20\n1,30\ntrue,40\n2020-01-01,50\n"
        )
        assert read(path) == {"#1": 10, "007": 20, "1": 30, "true": 40, "2020-01-01": 50}
        with pytest.raises(ParameterError, match="a column of"):
            read(path, score="year")

    def test_csv_keeps_all_rows_in_order(self, tmp_path):
        rows = {f"name{(7919 * index) % 20_000}": index for index in range(20_000)}
        path = written(
            tmp_path / "votes.csv",
            "name,votes\n" + "".join(f"{name},{votes}\n" for name, votes in rows.items()),
        )
        assert list(read(path).items()) == list(rows.items())

    @pytest.mark.parametrize("name", ["votes.jsonl", "votes.ndjson", "votes.json", "VOTES.JSONL"])
    def test_json_lines(self, tmp_path, name):
        lines = [
            {"name": "terrier", "votes": 41},
            {"votes": 38, "name": "husky"},
            {"name": 7, "votes": -1},
        ]
        path = written(tmp_path / name, "\n".join(map(json.dumps, lines)))
        assert read(path) == {"terrier": 41, "husky": 38, 7: -1}

    def test_json_array(self, tmp_path):
        path = written(
            tmp_path / "votes.json", '[{"name": "x", "votes": 1}, {"name": true, "votes": 2}]'
        )
        assert read(path) == {"x": 1, "true": 2}

    @pytest.mark.parametrize(
        ("label", "value"),
        [
            ("7::BIGINT", 7),
            ("DATE '2024-02-29'", "2024-02-29"),
            ("TIMESTAMPTZ '2024-02-29 00:00:00+00'", None),
            ("1.50::DECIMAL(9, 2)", "1.50"),
            ("0.5::DOUBLE", "0.5"),
            ("true", "true"),
        ],
    )
    def test_labels_are_text_or_whole_numbers(self, tmp_path, label, value):
        (found,) = read(parquet(tmp_path / "votes.parquet", f"SELECT {label} AS name, 1 AS votes"))
        assert isinstance(found, (str, int))
        assert value is None or found == value


class TestExactness:
    BIG = 2**100 + 1

    def test_csv_integers_beyond_64_bits(self, tmp_path):
        assert read(written(tmp_path / "votes.csv", f"name,votes\nx,{self.BIG}\ny,1\n")) == {
            "x": self.BIG,
            "y": 1,
        }

    def test_csv_decimals(self, tmp_path):
        path = written(
            tmp_path / "votes.csv",
            "name,votes\na,0.1\nb,0.2\nc,0.3\nd,1e-3\ne,9007199254740993.5\nf,1/3\n",
        )
        scores = {name: Fraction(score) for name, score in read(path).items()}
        assert scores["a"] + scores["b"] == scores["c"] == Fraction(3, 10)
        assert scores["e"] == Fraction(2 * 9007199254740993 + 1, 2)
        assert (scores["d"], scores["f"]) == (Fraction(1, 1000), Fraction(1, 3))

    def test_json(self, tmp_path):
        long = "0.1000000000000000055511151231257827"
        text = (
            f'{{"name": "x", "votes": {self.BIG}}}\n{{"name": "y", "votes": {long}}}\n{{"name": '
            f'"z", "votes": 1e-3}}\n'
        )
        scores = read(written(tmp_path / "votes.jsonl", text))
        assert scores == {"x": self.BIG, "y": Decimal(long), "z": Decimal("0.001")}

    def test_parquet_decimals_stay_decimals(self, tmp_path):
        rows = "('x', 0.1::DECIMAL(38, 20)), ('y', 123456789012345678.01234567890123456789)"
        query = f"SELECT * FROM (VALUES {rows}) AS t(name, votes)"
        assert read(parquet(tmp_path / "v.parquet", query)) == {
            "x": Decimal("0.1"),
            "y": Decimal("123456789012345678.01234567890123456789"),
        }

    def test_parquet_large_decimals(self, tmp_path):
        digits = "9" * 37 + "7"
        (score,) = read(
            parquet(
                tmp_path / "v.parquet", f"SELECT 'x' AS name, {digits}::DECIMAL(38, 0) AS votes"
            )
        ).values()
        assert Fraction(score) == int(digits)

    def test_parquet_integers(self, tmp_path):
        query = (
            f"SELECT * FROM (VALUES ('x', {2**64 - 1}::UBIGINT), ('y', {2**64 - 2}::UBIGINT)) AS "
            "t(name, votes)"
        )
        assert read(parquet(tmp_path / "v.parquet", query)) == {"x": 2**64 - 1, "y": 2**64 - 2}

    def test_parquet_doubles_stay_doubles(self, tmp_path):
        (score,) = read(
            parquet(tmp_path / "v.parquet", "SELECT 'x' AS name, 0.1::DOUBLE AS votes")
        ).values()
        assert type(score) is float
        assert score == 0.1


STRANGE = [
    "two words",
    "quo'te",
    'double"quote',
    "semi;colon",
    'x"; DROP TABLE t; --',
    "per%cent",
    "ünï",
    "$1",
    "scores",
    "select",
    "a.b",
]


class TestStrangeNames:
    @pytest.mark.parametrize("column", first(STRANGE, 4))
    def test_columns(self, tmp_path, column):
        header = '"' + column.replace('"', '""') + '"'
        assert read(written(tmp_path / "a.csv", f"name,{header}\nx,1\ny,2\n"), score=column) == {
            "x": 1,
            "y": 2,
        }
        assert read(written(tmp_path / "b.csv", f"{header},votes\nx,1\ny,2\n"), label=column) == {
            "x": 1,
            "y": 2,
        }
        assert read(
            written(tmp_path / "a.jsonl", json.dumps({"name": "x", column: 1})), score=column
        ) == {"x": 1}
        query = f"SELECT 'x' AS name, 1 AS {header}"
        assert read(parquet(tmp_path / "a.parquet", query), score=column) == {"x": 1}

    @pytest.mark.parametrize(
        "name", [*STRANGE, "star*", "question?", "[brackets]", "{braces}", "back\\slash", "-"]
    )
    @pytest.mark.parametrize("ending", first([".csv", ".jsonl", ".parquet"], tier="pairs"))
    def test_files(self, tmp_path, name, ending):
        for other in ("starred", "questions", "b"):  # what a pattern would find
            written(tmp_path / f"{other}{ending}", "name,votes\nwrong,1\n")
        path = tmp_path / f"{name}{ending}"
        if ending == ".parquet":
            parquet(tmp_path / "plain.parquet", "SELECT 'x' AS name, 1 AS votes").rename(path)
        else:
            written(path, "name,votes\nx,1\n" if ending == ".csv" else '{"name": "x", "votes": 1}')
        assert read(path) == {"x": 1}


BAD_SCORES = [
    "",
    "text",
    "nan",
    "inf",
    "-Infinity",
    "1,5",
    "0x10",
    "true",
    "1e999999999",
    f"{CANARY_SCORE}x",
]


class TestBadData:
    """What is wrong with the data is said in general words; neither a label nor a score is
    repeated.
    """

    def refuses(self, path, match, error=ScoresError, **columns):
        # a message names the file, and pytest names the folder after the case
        with contextlib.chdir(path.parent), pytest.raises(error, match=match) as caught:
            read(path.name, **columns)
        for secret in (CANARY_LABEL, CANARY_SCORE):
            assert secret not in str(caught.value)
        assert caught.value.__cause__ is None

    @pytest.mark.parametrize("bad", BAD_SCORES)
    def test_csv_scores(self, tmp_path, bad):
        path = written(
            tmp_path / "v.csv", f'name,votes\n{CANARY_LABEL},{CANARY_SCORE}\nother,"{bad}"\n'
        )
        self.refuses(path, "must be finite numbers")

    @pytest.mark.parametrize(
        "bad", ["null", f'"{CANARY_SCORE}"', "true", "NaN", "[1]", "1e999999999"]
    )
    def test_json_scores(self, tmp_path, bad):
        text = (
            f'{{"name": "{CANARY_LABEL}", "votes": {CANARY_SCORE}}}\n{{"name": "x", "votes": '
            f"{bad}}}\n"
        )
        self.refuses(
            written(tmp_path / "v.jsonl", text),
            "must be finite numbers|can be read as jsonl",
            (ScoresError, ParameterError),
        )

    @pytest.mark.parametrize(
        "bad",
        [
            "NULL::INTEGER",
            "'nan'::DOUBLE",
            f"'{CANARY_SCORE}'",
            f"[{CANARY_SCORE}]",
            "TIMESTAMPTZ '2024-01-01 00:00:00+00'",
        ],
    )
    def test_parquet_scores(self, tmp_path, bad):
        path = parquet(tmp_path / "v.parquet", f"SELECT '{CANARY_LABEL}' AS name, {bad} AS votes")
        self.refuses(path, "must be finite numbers")

    def test_duplicate_labels(self, tmp_path):
        text = f"name,votes\n{CANARY_LABEL},1\n{CANARY_LABEL},{CANARY_SCORE}\n"
        self.refuses(written(tmp_path / "v.csv", text), "must all be different")

    @pytest.mark.parametrize("empty", ["", '""'])
    def test_empty_labels_in_csv(self, tmp_path, empty):
        self.refuses(
            written(tmp_path / "v.csv", f"name,votes\nx,1\n{empty},{CANARY_SCORE}\n"),
            "must not be empty",
        )

    def test_labels_that_are_neither_text_nor_whole_numbers(self, tmp_path):
        path = written(tmp_path / "v.jsonl", f'{{"name": ["{CANARY_LABEL}"], "votes": 1}}')
        self.refuses(path, "must be text or whole numbers")

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("v.csv", bytes(range(256)) * 4),
            ("v.csv", f"name,votes\n\xff{CANARY_LABEL},{CANARY_SCORE}\n".encode("latin-1")),
            ("v.parquet", f"name,votes\n{CANARY_LABEL},{CANARY_SCORE}\n"),
            ("v.jsonl", f'{{"name": "{CANARY_LABEL}", "votes": {CANARY_SCORE}'),
            ("v.jsonl", CANARY_SCORE),
            ("v.jsonl", f'["{CANARY_LABEL}"]'),
            ("v.csv.gz", f"name,votes\n{CANARY_LABEL},{CANARY_SCORE}\n"),
        ],
    )
    def test_files_that_are_something_else(self, tmp_path, name, content):
        self.refuses(
            written(tmp_path / name, content), "must be a file that can be read as", ParameterError
        )

    @pytest.mark.parametrize("row", [f"{CANARY_LABEL}", f"{CANARY_LABEL},{CANARY_SCORE},9"])
    def test_ragged_csv(self, tmp_path, row):
        path = written(tmp_path / "v.csv", f"name,votes\nx,1\n{row}\ny,2\n")
        self.refuses(
            path, "can be read as csv|a column of|must be finite", (ScoresError, ParameterError)
        )

    @pytest.mark.parametrize("name", ["v.csv", "v.parquet", "v.jsonl"])
    def test_empty_files(self, tmp_path, name):
        self.refuses(written(tmp_path / name, ""), "It is empty", ParameterError)

    def test_missing_columns(self, tmp_path):
        path = written(tmp_path / "v.csv", f"name,votes\n{CANARY_LABEL},{CANARY_SCORE}\n")
        self.refuses(
            path, r"'--score' .* Got 'points'\. It has 2 columns\.", ParameterError, score="points"
        )
        self.refuses(
            path,
            r"'--label' .* Got 'Name'\. It has 2 columns; did you mean 'name'\?",
            ParameterError,
            label="Name",
        )

    def test_a_file_without_a_header_does_not_show_its_first_row(self, tmp_path):
        path = written(tmp_path / "v.csv", f"{CANARY_LABEL},{CANARY_SCORE}\nx,1\n")
        self.refuses(path, "Is the first line a header", ParameterError)


class TestPlaces:
    @pytest.mark.parametrize(
        "file", ["missing.csv", ".", "/", "", "x" * 5000, "file:///etc/passwd"]
    )
    def test_no_such_file(self, tmp_path, monkeypatch, file):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ParameterError, match="must be an existing file"):
            read(file)

    @pytest.mark.parametrize(
        "file", ["http://localhost:1/v.csv", "https://example.com/v.parquet", "s3://bucket/v.csv"]
    )
    def test_nothing_comes_over_the_network(self, file):
        with pytest.raises(
            ParameterError, match="Download it first: discreet reads only local files"
        ):
            read(file)

    @pytest.mark.parametrize("name", ["votes.xlsx", "votes", "votes.txt", ".csv"])
    def test_unknown_formats(self, tmp_path, name):
        with pytest.raises(ParameterError, match=r"whose name ends in one of \.csv"):
            read(written(tmp_path / name, "name,votes\nx,1\n"))

    @pytest.mark.parametrize("kind", ["device", "socket"])
    def test_what_has_no_end_or_is_no_file_is_refused(self, tmp_path, monkeypatch, kind):
        # the name of a socket must be short
        monkeypatch.chdir(tmp_path)
        path = Path("votes.csv")
        if kind == "device":
            path.symlink_to("/dev/zero")
        else:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        with pytest.raises(ParameterError, match="must be an existing file"):
            read(path)

    def test_a_pipe_is_csv(self, tmp_path):
        import os
        import threading

        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=lambda: path.write_text("name,votes\nx,1\n"))
        writer.start()
        assert read(path) == {"x": 1}
        writer.join()
