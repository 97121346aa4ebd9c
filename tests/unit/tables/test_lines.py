"""Files of bytes at random: what DuckDB reads is what the slow reader finds, and no line matters
to another.
"""

from __future__ import annotations

import gzip
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import files as reference

from discreet import CsvFile
from discreet.tables.opening import open_table

PIECES = [
    b",", b";", b"\t", b"|", b"\r", b"\n", b"\r\n", b"\0", (
        b"\xff"
    ), b"\xe2\x80", b"\xc3\xa9", b" ", b'"', b'"', b'""',
    b'","', b"x", b"abc", b"\xe2\x80\xa8", b"\xc2\x85", (
        b"\xef\xbb\xbf"
    ), b"\x01", b"\x1a", b"\\", b"#", b"'", b"NULL", b"\\N",
]  # fmt: skip
CONTENT = st.lists(st.sampled_from(PIECES), max_size=300).map(b"".join)
LINE = st.lists(
    st.sampled_from([each for each in PIECES if not set(each) & set(b"\r\n")]), max_size=25
).map(b"".join)
HONEST = [b"%d,%s" % (number, [b"x", b'"y"', b'"z, ""z"""'][number % 3]) for number in range(30)]
SLOW = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(source):
    table = open_table(source)
    return table.having(list(table.schema)).rows.collect().rows()


def written(place, name, content):
    path = place / name
    path.write_bytes(content)
    return path


@cache
def rows_of_honest_lines():
    with TemporaryDirectory() as place:
        content = b"\n".join([b"who,item", *HONEST])
        return read(written(Path(place), "before.csv", content))


class TestDelimited:
    @SLOW
    @given(content=CONTENT, separator=st.sampled_from(",;\t|x"))
    def test_every_file_is_read_as_the_reference_reads_it(self, tmp_path, content, separator):
        content = separator.join("abc").encode() + b"\n" + content
        path = written(tmp_path, "any.csv", content)
        assert read(CsvFile(path, separator=separator)) == reference.csv_rows(content, separator)

    @SLOW
    @given(content=CONTENT)
    def test_in_latin_1_every_byte_is_a_character(self, tmp_path, content):
        path = written(tmp_path, "any.csv", b"a,b,c\n" + content)
        assert read(CsvFile(path, encoding="latin-1")) == reference.csv_rows(
            b"a,b,c\n" + content, encoding="latin-1"
        )

    @SLOW
    @given(line=LINE, place=st.integers(0, 30))
    def test_with_and_without_a_line_the_other_rows_are_the_same(self, tmp_path, line, place):
        lines, before = [b"who,item", *HONEST], rows_of_honest_lines()
        lines.insert(place + 1, line)
        after = read(written(tmp_path, "after.csv", b"\n".join(lines)))
        assert len(before) == 30
        assert after[:place] + after[place + len(after) - len(before) :] == before
        assert len(after) - len(before) in (0, 1)

    def test_every_short_line(self, tmp_path):
        """Also those whose quotes stand anywhere but around a cell."""
        rows = ("".join(line) for size in range(1, 8) for line in product(',"a', repeat=size))
        content = "\n".join(["one,two,three", *rows]).encode()
        assert read(written(tmp_path, "short.csv", content)) == reference.csv_rows(content)

    def test_many_cells(self, tmp_path):
        """Beyond a hundred columns cells are found in another way."""
        names = ",".join(f"c{place}" for place in range(101))
        rows = [
            ",".join(f'"{place},"""' for place in range(101)),
            ",".join(["x"] * 130),
            '"' * 200,
            "a,b",
            '"a,b',
            '"' + "x," * 200,
        ]
        content = "\n".join([names, *rows]).encode()
        assert read(written(tmp_path, "wide.csv", content)) == reference.csv_rows(content)

    @pytest.mark.parametrize(
        "length",
        [
            2**20 - 2,
            2**20 - 1,
            2**21 + 5,
            *(
                pytest.param(size, marks=pytest.mark.sizes)
                for size in (2**20 + 1, 2**21 - 2, 4 * 10**7)
            ),
        ],
    )
    def test_long_lines(self, tmp_path, length):
        content = (
            b"a,b\n"
            + b"1,x\n" * 1000
            + b"2,"
            + b"y" * length
            + b"\n"
            + b"3,z\n" * 1000
            + b'4,"'
            + b"y" * length
        )
        rows = read(written(tmp_path, "long.csv", content))
        assert [len(cell) for _, cell in rows] == [
            len(cell) for _, cell in reference.csv_rows(content)
        ]
        assert len(rows) == 2000 + 2 * (length <= 2**20 - 3) + (length == 2**20 - 2)

    @pytest.mark.parametrize(
        ("lines", "blanks"), [(100_000, 300), pytest.param(1_500_000, 0, marks=pytest.mark.sizes)]
    )
    def test_many_lines_on_many_threads(self, tmp_path, lines, blanks):
        """More than one buffer: every line once, whichever thread reads it."""
        more = b"," + b" " * blanks
        content = b"a,b,c\n" + b"".join(
            b'%d,"%d, ""x"""%b\n' % (number, number % 7, more) for number in range(lines)
        )
        table = open_table(written(tmp_path, "many.csv", content)).having(["a", "b"])
        (row,) = (
            table.frame.to_native()
            .aggregate("count(*), count(distinct a), min(b), max(b)")
            .fetchall()
        )
        assert row == (lines, lines, '0, "x"', '6, "x"')

    @pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
    def test_ends_of_lines(self, tmp_path, ending):
        for last in (True, False):
            text = ending.join(["a,b", "1,x", "", "2,y"]) + ending * last
            assert read(written(tmp_path, "ends.csv", text.encode())) == [("1", "x"), ("2", "y")]

    def test_compressed(self, tmp_path):
        content = b'a,b\n1,"x\n2,z\xff\n3,y'
        path = written(tmp_path, "any.csv.gz", gzip.compress(content))
        assert (
            read(path) == reference.csv_rows(content) == [("1", "x"), ("2", "z\ufffd"), ("3", "y")]
        )


NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.sampled_from(
        [
            "1",
            "1.0",
            "1e0",
            "10e-1",
            "123456789012345678.0",
            "1e22",
            "-0.0",
            "1e400",
            "0.00001",
            "12.50e30",
        ]
    ),
)
VALUES = st.one_of(
    NUMBERS,
    st.sampled_from(
        ['"x"', '"1.50"', "true", "false", "null", '""', '"a\\"b 5"', '"\\u00e9"', "NaN"]
    ),
)
OBJECT = st.dictionaries(st.sampled_from(["a", "b", "c d", "5"]), VALUES).map(
    lambda cells: (
        "{" + ", ".join(f'"{name}": {value}' for name, value in cells.items()) + "}"
    ).encode()
)
COLUMNS = ["a", "b", "c d", "5"]


def objects(path):
    return open_table(path).having(COLUMNS).frame.collect().rows()


OBJECTS = [b'{"a": %d, "b": "x"}' % number for number in range(6)]


@cache
def rows_of_honest_objects():
    with TemporaryDirectory() as place:
        return objects(written(Path(place), "before.jsonl", b"\n".join(OBJECTS)))


OUT_OF_HAND = [
    b'{"a": "y", "b": ' + b"[" * 400_000 + b"]" * 400_000 + b"}",
    b'{"a": ' * 150_000 + b"1" + b"}" * 150_000,
    b'{"a": "y", "b": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}",
    b'{"a": "' + b"y" * 40_000_000 + b'"}',
    b'{"a": ' + b"9" * 500_000 + b"}",
    b'{"a": 1e' + b"9" * 100_000 + b"}",
    b'{"a": -1e-9223372036854775808}',
    b'{"a": 1e9223372036854775807}',
    b'{"a": "\\ud800"}',
    b'{"a": "\xff"}',
    b'{"a": "\0"}',
    b'{"a": 1, "a": 2, "A": 3}',
    b'{"": 1, "*": 2}',
    b"{}",
]


class TestJson:
    @SLOW
    @given(lines=st.lists(OBJECT, max_size=40))
    def test_objects_are_read_as_the_reference_reads_them(self, tmp_path, lines):
        content = b"\n".join(lines)
        assert objects(written(tmp_path, "any.jsonl", content)) == reference.json_rows(
            content, COLUMNS
        )

    @SLOW
    @given(
        line=st.lists(
            st.sampled_from(
                [*PIECES, b"{", b"}", b"[", b"]", b":", b'"a"', b"1", b"-", b"\\u0000", b"\\ud800"]
            ),
            max_size=30,
        )
        .map(b"".join)
        .filter(lambda line: not set(line) & set(b"\r\n")),
        place=st.integers(0, 6),
    )
    def test_with_and_without_a_line_the_other_rows_are_the_same(self, tmp_path, line, place):
        assert len(rows_of_honest_objects()) == 6
        self.check_line(tmp_path, line, place)

    def check_line(self, folder, line, place):
        lines, before = list(OBJECTS), rows_of_honest_objects()
        lines.insert(place, line)
        after = objects(written(folder, "after.jsonl", b"\n".join(lines)))
        assert after[:place] + after[place + len(after) - 6 :] == before

    @pytest.mark.parametrize("place", range(len(OUT_OF_HAND)))
    def test_lines_that_are_out_of_hand(self, tmp_path, place):
        """First, in the middle or last, by turns."""
        self.check_line(tmp_path, OUT_OF_HAND[place], (0, 3, 6)[place % 3])

    @pytest.mark.sizes
    @pytest.mark.parametrize("place", [0, 3, 6])
    def test_lines_that_are_out_of_hand_in_every_place(self, tmp_path, place):
        for line in OUT_OF_HAND:
            self.check_line(tmp_path, line, place)

    def test_numbers_of_one_person(self, tmp_path):
        spellings = [
            ["1", "1.0", "1e0", "10e-1", '"1"'],
            ["1e15", "1000000000000000", "1000000000000000.0"],
        ]
        spellings += [
            [
                "123456789012345678",
                "123456789012345678.0",
                "12345678901234567.8e1",
                '"123456789012345678"',
            ]
        ]
        spellings += [
            ["1.5", "1.50", "15e-1"],
            ["0", "-0", "-0.0", "0e5"],
            ["1e-7", "0.0000001", "10e-8"],
        ]
        for same in spellings:
            lines = "\n".join(f'{{"a": {value}}}' for value in same).encode()
            assert len({row[0] for row in objects(written(tmp_path, "one.jsonl", lines))}) == 1
        near = [f'{{"a": {2**53 + more}}}' for more in range(3)] + [f'{{"a": {2**53 + 1}.0}}']
        found = objects(written(tmp_path, "near.jsonl", "\n".join(near).encode()))
        assert [row[0] for row in found] == [str(2**53 + more) for more in (0, 1, 2, 1)]

    def test_lists(self, tmp_path):
        content = (
            b'{"a": [1, 1.0, "x", null, [2], true, 123456789012345678.0]}\n{"a": "y"}\n{"a": '
            b'null}\n{}\n{"a": []}\n{"a": {"b": 1}}'
        )
        table = open_table(written(tmp_path, "lists.jsonl", content)).having(["a"], lists=["a"])
        assert str(table.schema["a"]) == "String"
        found = [row[1] for row in table.frame.collect().rows()]
        assert found == [
            ["1", "1", "x", "[2]", "true", "123456789012345678"],
            ["y"],
            [],
            [],
            [],
            ['{"b":1}'],
        ]
