"""Caps on the items of one person: fair, the same in every order of rows, and nobody else's
business.
"""

from __future__ import annotations

import datetime
import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import duckdb
import narwhals as nw
import pandas
import pyarrow
import pytest
from reference.capping import kept_in_duckdb

from discreet import OneRow, ParameterError, Person
from discreet.errors import ParameterTypeError
from discreet.randomness.chance import read_bits
from discreet.tables.contribution_cap import Cap, draw_cap, read_cap, read_rows, read_rule
from discreet.tables.counting import count_items
from discreet.tables.items import Items
from discreet.tables.opening import open_table
from discreet.testing import SeededBits

OWNER, KEY = "test", "5" * 64
HOSTILE = [
    "", " ", "1:1", "1", "12", "123", "3", "\0", "a\0b", (
        "\n"
    ), "'", '"', "\\", "NULL", "nan", "🦊", "A\u0301da", "x" * 100_000,
    "'; drop table events; --", "\U0010ffff", "\x7f", "\ufeff", "%s", "{0}", "5:12345",
]  # fmt: skip
ENGINES = {"duckdb": pandas.DataFrame, "arrow": pyarrow.table}
MORE = ("arrow",)
EVERY = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=pytest.mark.pairs if name in MORE else ())
        for name, make in ENGINES.items()
    ],
)


def table_of(pairs, make=pyarrow.table):
    return open_table(make({"who": [who for who, _ in pairs], "item": [item for _, item in pairs]}))


def kept(pairs, items, key=KEY, make=pyarrow.table):
    frame = table_of(pairs, make).frame
    result = Cap(items, key).keep(frame, "who", "item").collect()
    listed = list(zip(result["who"].to_list(), result["item"].to_list(), strict=True))
    assert len(set(listed)) == len(listed)  # each of them once
    return set(listed)


def expected(pairs, items, key=KEY, make=pyarrow.table):
    relation = table_of(pairs, make).frame.to_native()
    return kept_in_duckdb(relation, "who", "item", items, key)


def many(persons=40, items=12):
    return [(f"p{who}", f"i{item}") for who in range(persons) for item in range(who % items + 1)]


class TestWhichAreKept:
    @EVERY
    def test_so_many_of_each_person_by_the_hash(self, make):
        pairs = many()
        for items in (1, 3, 50, 70):
            found = kept(pairs, items, make=make)
            assert found == expected(pairs, items, make=make)
            own = Counter(who for who, _ in found)
            assert own == {f"p{who}": min(items, who % 12 + 1) for who in range(40)}

    @EVERY
    def test_the_order_of_rows_and_repeated_rows_do_not_matter(self, make):
        pairs = many()
        before = kept(pairs, 2, make=make)
        for seed in range(3):
            shuffled = pairs * (seed + 1)
            random.Random(seed).shuffle(shuffled)
            assert kept(shuffled, 2, make=make) == before

    @EVERY
    def test_any_text(self, make):
        """Also as a person; 1 with 23 is not 12 with 3."""
        pairs = [(who, item) for who in HOSTILE for item in HOSTILE]
        for items in (1, 5):
            assert kept(pairs, items, make=make) == expected(pairs, items, make=make)

    @EVERY
    @pytest.mark.parametrize(
        "values",
        [
            [True, False],
            [0, -1, 2**63 - 1, -(2**63), 2**53 + 1, 10**18],
            [0.0, 1.0, -1.0, 2.0**53, 0.5, 0.1, -2.25, 1234.5],
        ],
        ids=["truth values", "integers", "floats"],
    )
    def test_any_type(self, make, values):
        for pairs in (
            [(who, value) for who in range(9) for value in values],
            [(v, f"i{i}") for v in values for i in range(9)],
        ):
            for items in (1, 2):
                assert kept(pairs, items, make=make) == expected(pairs, items, make=make)

    @EVERY
    def test_both_zeros_are_one(self, make):
        for pairs in ([("a", 0.0), ("a", -0.0), ("a", 1.0)], [("a", -0.0), ("a", 1.0), ("a", 0.0)]):
            assert kept(pairs, 2, make=make) == {("a", 0.0), ("a", 1.0)}
            keys = [f"{place:064x}" for place in range(8)]
            firsts = [kept(pairs, 1, key, make) for key in keys]
            assert firsts == [expected([("a", 0.0), ("a", 1.0)], 1, key, make) for key in keys]

    @EVERY
    def test_empty_cells_are_left_out_before(self, make):
        """Whoever has empty cells keeps as many items as others do."""
        pairs = [
            ("a", None),
            ("a", "x"),
            ("a", "y"),
            (None, "x"),
            (None, None),
            ("b", "x"),
            ("c", None),
        ]
        assert dict(
            count_items(table_of(pairs, make), Person("who"), Items("item"), 9, Cap(2, KEY))
        ) == {"x": 2, "y": 1}
        floats = [
            (1.0, float("nan")),
            (1.0, float("inf")),
            (1.0, None),
            (1.0, 2.5),
            (1.0, 3.5),
            (float("nan"), 2.5),
        ]
        assert dict(
            count_items(table_of(floats, make), Person("who"), Items("item"), 9, Cap(2, KEY))
        ) == {2.5: 1, 3.5: 1}

    def test_categories_and_uuids_as_persons(self):
        kinds = pandas.DataFrame({"who": ["a", "a", "b"], "item": ["x", "y", "x"]})
        kinds = kinds.astype({"who": "category"})
        table = open_table(kinds)
        assert (
            sum(
                count
                for _, count in count_items(table, Person("who"), Items("item"), 9, Cap(1, KEY))
            )
            == 2
        )
        connection = duckdb.connect()
        source = connection.sql(
            "select 'f47ac10b-58cc-4372-a567-0e02b2c3d479'::uuid as who, range::varchar as item "
            "from range(9)"
        )
        table = open_table(source)
        assert len(count_items(table, Person("who"), Items("item"), 9, Cap(4, KEY))) == 4


SAME = tuple(f"i{place}" for place in range(6))


@pytest.fixture(scope="module")
def choices():
    """Which two of the same six items each of 600 persons keeps, under 20 keys: 12,000 choices."""
    pairs = [(f"p{who}", item) for who in range(600) for item in SAME]
    chosen = []
    for key in range(20):
        own = {}
        for who, item in kept(pairs, 2, f"{key:064x}"):
            own.setdefault(who, set()).add(item)
        chosen.append(own)
    return chosen


class TestFairness:
    """Within six standard deviations; the keys are fixed, so each of these passes or fails for
    good.
    """

    def test_each_item_is_kept_equally_often(self, choices):
        counts = Counter(item for own in choices for theirs in own.values() for item in theirs)
        assert all(abs(counts[item] - 4000) < 6 * (12_000 * 2 / 9) ** 0.5 for item in SAME)

    def test_each_pair_of_items_too(self, choices):
        counts = Counter(frozenset(theirs) for own in choices for theirs in own.values())
        assert all(
            abs(counts[frozenset(two)] - 800) < 6 * 800**0.5 for two in combinations(SAME, 2)
        )

    def test_one_person_has_other_items_under_another_key(self, choices):
        assert len({frozenset(own["p7"]) for own in choices}) > 5

    def test_persons_choose_by_themselves(self, choices):
        """Two persons have the same two items once in fifteen times."""
        same = sum(
            own[f"p{who}"] == own[f"p{who + 1}"] for own in choices for who in range(0, 600, 2)
        )
        assert abs(same - 400) < 6 * 400**0.5


class TestKeys:
    def test_a_fresh_one_for_each_release(self):
        keys = {draw_cap(3, Person("who"), read_bits(None)).key for _ in range(20)}
        assert len(keys) == 20
        assert {len(key) for key in keys} == {64}

    def test_the_same_one_from_seeded_bits(self):
        first, second = (draw_cap(3, Person("who"), read_bits(SeededBits(5))) for _ in range(2))
        assert first == second != draw_cap(3, Person("who"), read_bits(SeededBits(6)))

    def test_it_does_not_show(self):
        assert repr(Cap(3, KEY)) == "Cap(items=3)"

    def test_none_where_none_is_needed(self):
        assert draw_cap(None, Person("who"), read_bits(None)) is None
        assert draw_cap(1, OneRow(), read_bits(None)) is None


class TestReading:
    TABLE = open_table(
        duckdb.connect().sql(
            "select 1 as who, 'x' as item, date '2026-01-01' as day, '\\xAA'::blob as bytes, now() "
            "as moment"
        )
    )

    def test_persons(self):
        assert read_cap(None, self.TABLE, Person("who"), Items("item")) is None
        assert read_cap(7, self.TABLE, Person("who"), Items("item")) == 7

    def test_a_row_has_one_item(self):
        assert (
            read_cap(None, self.TABLE, OneRow(), Items("item"))
            == read_cap(1, self.TABLE, OneRow(), Items("item"))
            == 1
        )
        with pytest.raises(
            ParameterError,
            match=r"must be 1, or left out, if each row is protected by itself\. Got 2\.",
        ):
            read_cap(2, self.TABLE, OneRow(), Items("item"))

    @pytest.mark.parametrize("column", ["day", "bytes", "moment"])
    def test_persons_that_not_every_engine_can_write_down(self, column):
        assert read_cap(None, self.TABLE, Person(column), Items("item")) is None
        with pytest.raises(
            ParameterTypeError,
            match=(
                rf"left out if people are not identified by text or numbers\. Got 3\. The column "
                rf"'{column}' is of"
            ),
        ):
            read_cap(3, self.TABLE, Person(column), Items("item"))


class TestWhichRowsCount:
    TABLE = TestReading.TABLE

    @pytest.mark.parametrize("rule", ["max", "min"])
    def test_a_rule_or_so_many_rows(self, rule):
        assert read_rule(rule, Person("who")) == rule
        assert read_rows(rule, None, self.TABLE, Person("who")) == (rule, None)
        assert read_rows(None, 3, self.TABLE, Person("who")) == (None, 3)

    def test_a_row_by_itself_has_neither(self):
        assert read_rule(None, OneRow()) is None
        assert read_rows(None, None, self.TABLE, OneRow()) == (None, None)

    def test_so_many_rows_of_each_person_are_kept(self):
        """Also where they are all the same, and of more than that the ones with the smallest
        hashes.
        """
        pairs = [("a", 1.0)] * 5 + [("b", value) for value in (1.0, 2.0, 3.0)] + [("c", 4.0)]
        kept = Cap(2, KEY).keep_rows(table_of(pairs).frame, "who", "item").collect()
        listed = Counter(zip(kept["who"].to_list(), kept["item"].to_list(), strict=True))
        assert listed["a", 1.0] == 2
        assert sum(count for (who, _), count in listed.items() if who == "b") == 2
        assert listed["c", 4.0] == 1
        assert {pair for pair in listed if pair[0] == "b"} == expected(pairs[5:8], 2)


def test_persons_under_several_spellings_are_refused():
    """Which spelling of one person is hashed would hang on the order of rows."""
    connection = duckdb.connect()
    connection.execute("set default_collation = 'nocase'")
    connection.execute("create table reads (who varchar, item varchar)")
    table = open_table(connection.table("reads"))
    assert read_cap(None, table, Person("who"), Items("item")) is None
    with pytest.raises(
        ParameterTypeError,
        match=r'Convert it to plain text in a query first: collate "C" in SQL, cast\("string"\) '
        r"on Spark",
    ):
        read_cap(3, table, Person("who"), Items("item"))


def test_the_key_is_in_every_hash():
    """The same text with another key is another hash."""
    pairs = [("a", f"i{place}") for place in range(100)]
    found = [kept(pairs, 10, f"{key:064x}") for key in range(5)]
    assert len({frozenset(part) for part in found}) == 5


def test_where_is_before_the_cap():
    pairs = [("a", f"i{place}") for place in range(50)]
    table = table_of(pairs)
    few = replace(table, where=nw.col("item").is_in(["i7", "i8"]))
    assert dict(count_items(few, Person("who"), Items("item"), 99, Cap(2, KEY))) == {
        "i7": 1,
        "i8": 1,
    }


def test_days_are_fine_as_other_columns():
    frame = pandas.DataFrame(
        {"who": [1, 1], "item": ["a", "b"], "day": [datetime.date(2026, 1, 1)] * 2}
    )
    assert len(count_items(open_table(frame), Person("who"), Items("item"), 9, Cap(1, KEY))) == 1


@pytest.mark.parametrize("items", [1, 3, 70])
def test_equal_hashes_leave_nothing_to_the_order_of_rows(items):
    """Somebody may have looked for items whose hashes are equal. Here all are."""
    kept = []
    for order in ("asc", "desc"):
        connection = duckdb.connect()
        connection.execute("create temp macro hash(a) as 0::ubigint, (a, b) as 0::ubigint")
        rows = f"select 1 as who, i as item from range(200) as r(i) order by i {order}"
        connection.execute(f"create table visits as {rows}")
        frame = nw.from_native(connection.table("visits")).lazy()
        result = Cap(items, KEY).keep(frame, "who", "item").collect()
        kept.append(sorted(result["item"].to_list()))
    assert kept[0] == kept[1]
    assert len(kept[0]) == items
