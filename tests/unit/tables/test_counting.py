"""Many candidates on DuckDB go as one text: the same counts as one by one."""

from __future__ import annotations

import duckdb
import pytest

from discreet.privacy.parameters import OneRow, Person
from discreet.tables.counting import count_candidates
from discreet.tables.items import Items
from discreet.tables.opening import open_table

NASTY = ["it's", "a,b", "''", "\\", "\x1e", "ünï", " ", "", "null", "%s", '"']


@pytest.mark.parametrize("column", ["number", "label"])
def test_as_many_as_there_may_be(column):
    connection = duckdb.connect()
    connection.execute(
        "create table rows as select range % 7 as who, range % 3000 as number, 'x' || (range % "
        "3000) as label from range(9000)"
    )
    table = open_table(connection.table("rows"))
    wanted = [place if column == "number" else f"x{place}" for place in range(-5, 2500)]
    expected = [0] * 5 + [3] * 2500
    assert count_candidates(table, Person("who"), Items(column), wanted) == expected
    assert count_candidates(table, OneRow(), Items(column), wanted) == expected


@pytest.mark.parametrize(
    "extra",
    [[], ["\x1f"], ["a\x1fb"]],
    ids=["one text", "not as one text", "not as one text either"],
)
def test_labels_that_a_query_could_stumble_over(extra):
    connection = duckdb.connect()
    connection.execute("create table rows (who bigint, label varchar)")
    labels = [*NASTY, *extra]
    connection.executemany(
        "insert into rows values (?, ?)", [(who, label) for who, label in enumerate(labels * 2)]
    )
    connection.execute("insert into rows values (99, null), (100, 'a'), (101, 'b')")
    table = open_table(connection.table("rows"))
    wanted = [*labels, *(f"none {place}" for place in range(1500))]
    assert (
        count_candidates(table, Person("who"), Items("label"), wanted)
        == [2] * len(labels) + [0] * 1500
    )


def test_largest_numbers():
    connection = duckdb.connect()
    connection.execute(
        "create table rows as select unnest([9223372036854775807, -9223372036854775808, 0, 0]) as "
        "number"
    )
    table = open_table(connection.table("rows"))
    wanted = [2**63 - 1, -(2**63), 0, *range(1, 2000)]
    assert count_candidates(table, OneRow(), Items("number"), wanted) == [1, 1, 2] + [0] * 1999
