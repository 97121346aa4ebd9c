"""The shell's readers of CSV and JSON lines on Spark: the same rows as on DuckDB, whatever is in
a line.
"""

from __future__ import annotations

import pytest
from engines.tables import MARKS, spark

from discreet.tables.delimited import Format
from discreet.tables.opening import open_table
from discreet.tables.spark_files import read_csv_on_spark, read_json_on_spark

pytestmark = MARKS["spark"]

FORM = Format(None, "utf-8", multiline=False, quoted=True)
CELLS = [
    'x,"c', '"x,c', 'x,"a""b",d', 'x,"a"b"c,d', '"', '""', (
        '""""'
    ), '"a""', "x,c\rd,e", "x,c\0z", "x," + "c" * 3_000_000,
    "x," + "c," * 30_000, 'x,"' + '"",' * 300_000, "x," + (
        '"'
    ) * 600_001, 'x,\u2028"y\u0085', '"\u2028', "", "a", "a,b,c,d",
    'person,"item"', " x , y ", 'x,"y" ,z', "#c,d", '\\,\\"', (
        "x\udcff,y"
    ), "\ufeffx,y", "x;y", "'x,y'", "NULL,\\N",
]  # fmt: skip
VALUES = [
    "1", "1.0", "1e0", '"1"', "123456789012345678", (
        "123456789012345678.0"
    ), "18446744073709551616", "1e400", "-1e400", "0.1",
    "1.50", "-12.50e30", "1.2345678901234567890", (
        "12345678.5"
    ), "0.0001", "0.00001", "123456789012345.25", "1234567890123456.5",
    "NaN", "Infinity", "-Infinity", '"x"', '"1.50"', "true", (
        "null"
    ), '"\\u0000"', '"a\\u0000b"', "01", "-0", "-0.0", "-0.5",
    "'x'", "1,", '1,"k":2', '"\u2028x\u0085"', '"' + "y" * 900_000 + (
        '"'
    ), "9" * 5000, "1e99999999999", "1e99999999999999999",
    '"5"', '"a5b\\"6"', '"\udcff"', '"' + "y" * 3_000_000 + '"',
]  # fmt: skip
OBJECTS = [f'{{"k": {value}, "j": "7"}}' for value in VALUES]
OTHERS = [
    "[1]",
    "5",
    "",
    '  {"k":1}  ',
    '{"":5}',
    '{"K":7}',
    '{"k":1,"K":2}',
    '{"a/b":5,"k":1}',
    "{}",
    "null",
]
DIFFERENT = [
    '{"k": "\\ud800"}',
    '{"k":' + "[" * 400_000 + "]" * 400_000 + "}",
    '{"k":1} x',
    '{"k":1e-400}',
    '{"k":[1.50]}',
    "{",
]
"""Lines that the two read differently, each for itself: docs/reference/files.md lists them."""


def sorted_rows(rows):
    return sorted(map(tuple, rows), key=str)


def written(path, lines):
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    return path


def test_csv(tmp_path):
    reading = spark()
    path = written(tmp_path / "any.csv", ["\ufeffperson,item,z\r", *CELLS, "r,ok"])
    found = read_csv_on_spark(reading, str(path), FORM).collect()
    expected = open_table(path).having(["person", "item", "z"]).rows.collect().rows()
    assert sorted_rows(found) == sorted_rows(expected)
    assert len(found) > 25


@pytest.mark.parametrize(
    "form", [Format(";", "utf-8", False, True), Format("|", "utf-8", False, False)]
)
def test_other_separators(tmp_path, form):
    reading = spark()
    lines = [f"a{form.separator}b", *(cell.replace(",", form.separator) for cell in CELLS)]
    path = written(tmp_path / "any.csv", lines)
    from discreet import CsvFile

    expected = (
        open_table(CsvFile(path, separator=form.separator, quoted=form.quoted))
        .having(["a", "b"])
        .rows.collect()
        .rows()
    )
    assert sorted_rows(read_csv_on_spark(reading, str(path), form).collect()) == sorted_rows(
        expected
    )


def test_json(tmp_path):
    reading = spark()
    path = written(tmp_path / "any.jsonl", [*OBJECTS, *OTHERS])
    found = read_json_on_spark(reading, str(path), ["k", "j"]).collect()
    assert sorted_rows(found) == sorted_rows(
        open_table(path).having(["k", "j"]).rows.collect().rows()
    )
    assert len(found) > 40


FIRST = ('"x,c', "x,c\rd,e", "x\udcff,y", "")
"""An open quote, a line break of another kind, a byte that is no text, and nothing."""
LINES = [
    pytest.param(line, marks=() if line in FIRST else pytest.mark.pairs, id=ascii(line[:20]))
    for line in [*CELLS[:20], CELLS[24]]
]


@pytest.mark.parametrize("line", LINES)
def test_with_and_without_a_line_of_csv(tmp_path, line):
    honest = [f"p{number},i{number % 3}" for number in range(20)]
    before = read_csv_on_spark(
        spark(), str(written(tmp_path / "a.csv", ["person,item", *honest])), FORM
    ).collect()
    path = written(tmp_path / "b.csv", ["person,item", *honest[:10], line, *honest[10:]])
    after = read_csv_on_spark(spark(), str(path), FORM).collect()
    assert len(before) == 20
    assert after[:10] == before[:10]
    assert after[-10:] == before[-10:]
    assert len(after) - 20 <= 1 + line.count("\r")


def test_with_and_without_lines_of_json(tmp_path):
    honest = [f'{{"k": {number}, "j": "x"}}' for number in range(20)]
    path = written(tmp_path / "a.jsonl", [*honest[:10], *DIFFERENT, *OTHERS, *honest[10:]])
    found = read_json_on_spark(spark(), str(path), ["k", "j"]).collect()
    expected = [(str(number), "x") for number in range(20)]
    assert [tuple(row) for row in found[:10]] == expected[:10]
    assert [tuple(row) for row in found[-10:]] == expected[10:]
