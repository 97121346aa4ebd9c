"""Random trees of conditions on random tables: every engine keeps the rows that plain Python
keeps, and nothing ever raises.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction

import duckdb
import polars
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.conditions import holds

from discreet.tables.condition_matching import matching
from discreet.tables.conditions import Among, And, Compare, Empty, Not, Or
from discreet.tables.counting import run
from discreet.tables.opening import open_table
from discreet.tables.table import with_numbers

KINDS = {
    "whole": pyarrow.int64(),
    "small": pyarrow.int8(),
    "big": pyarrow.uint64(),
    "float": pyarrow.float64(),
    "single": pyarrow.float32(),
    "text": pyarrow.string(),
    "truth": pyarrow.bool_(),
    "day": pyarrow.date32(),
    "time": pyarrow.timestamp("us"),
    "zoned": pyarrow.timestamp("us", "UTC"),
}
MEANING = {name: "whole" if name in ("small", "big") else name for name in KINDS}
SIGNS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
TIMES = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))
WORDS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=6),
    st.sampled_from(
        [
            "7",
            " 7 ",
            "+7",
            "7.5e1",
            "1e99",
            "n/a",
            "7\u2028",
            "\u00a07",
            "true",
            "False",
            "2020-02-02",
            "2020-02-02x",
        ]
    ),
    st.integers(-9, 9).map(str),
)
CELLS = {
    "whole": st.one_of(
        st.integers(-9, 9),
        st.integers(-(2**63), 2**63 - 1),
        st.sampled_from([2**53 + 1, 2**63 - 1, -(2**63)]),
    ),
    "small": st.integers(-128, 127),
    "big": st.one_of(st.integers(0, 9), st.sampled_from([2**63, 2**64 - 1])),
    "float": st.one_of(
        st.integers(-9, 9).map(float), st.floats(), st.sampled_from([0.1, -0.0, 1e308])
    ),
    "single": st.one_of(st.integers(-9, 9).map(float), st.floats(width=32)),
    "text": WORDS,
    "truth": st.booleans(),
    "day": DAYS,
    "time": TIMES,
    "zoned": TIMES.map(lambda moment: moment.replace(tzinfo=UTC)),
}
NUMBERS = st.one_of(
    st.integers(-9, 9).map(Fraction),
    st.sampled_from(
        [
            Fraction(1, 3),
            Fraction(1, 10),
            Fraction(2**53 + 1),
            Fraction(2**63),
            Fraction(-(2**63)),
            Fraction(10) ** 30,
        ]
    ),
    st.fractions(-200, 200, max_denominator=8),
)
VALUES = {
    "whole": NUMBERS,
    "small": NUMBERS,
    "big": NUMBERS,
    "float": NUMBERS,
    "single": NUMBERS,
    "text": st.one_of(WORDS, NUMBERS, DAYS),
    "truth": st.booleans(),
    "day": DAYS,
    "time": st.one_of(TIMES, DAYS),
    "zoned": TIMES.map(lambda moment: moment.replace(tzinfo=UTC)),
}


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(sorted(KINDS)))
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return Empty(name)
    if kind == 1:
        values = draw(st.lists(VALUES[name], min_size=1, max_size=3))
        first = type(values[0])
        return Among(name, tuple(dict.fromkeys(value for value in values if type(value) is first)))
    sign = draw(SIGNS)
    value = draw(VALUES[name])
    if isinstance(value, bool) and sign not in ("=", "!="):
        sign = "="
    return Compare(name, sign, value)


def joined(parts):
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(parts.map(Not), several.map(And), several.map(Or))


TREES = st.recursive(comparisons(), joined, max_leaves=6)
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | CELLS[name] for name in KINDS}), min_size=1, max_size=6
)


_connection = duckdb.connect()


def frames(rows):
    columns = {
        name: pyarrow.array([row[name] for row in rows], kind) for name, kind in KINDS.items()
    }
    table = pyarrow.table(columns | {"place": pyarrow.array(range(len(rows)), pyarrow.int64())})
    # one connection for all: to start DuckDB takes longer than a question
    # a table of its own: a view of Arrow's times with a zone is refused
    _connection.from_arrow(table).query("arrow", "create or replace table rows as from arrow")
    yield with_numbers(open_table(_connection.table("rows")), True)
    yield with_numbers(open_table(polars.from_arrow(table)), True)


@pytest.mark.parametrize(
    "size", [pytest.param(15, id="short"), pytest.param(3000, id="long", marks=pytest.mark.pairs)]
)
def test_random_trees_keep_the_rows_that_plain_python_keeps(size):
    @settings(
        max_examples=size, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @given(ROWS, st.lists(TREES, min_size=3, max_size=3))
    def check(rows, trees):
        for table in frames(rows):
            for tree in trees:
                there = replace(table, where=matching(tree, table))
                found = sorted(
                    run(there, lambda there=there: there.rows.select("place"), ["place"])
                )
                expected = [(place,) for place, row in enumerate(rows) if holds(tree, row, MEANING)]
                assert found == expected, str(tree)

    check()
