"""Ballots: several items in one cell, as a list or as text, each once for its person."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow
import pytest
from asking import ask_of
from engines.tables import MARKS, postgres, spark

import discreet
from discreet import ApproxDP, OneRow, ParameterError, Person, PublicTable, PureDP, Session
from discreet.tables.counting import count_candidates, count_items
from discreet.tables.items import Items
from discreet.tables.opening import open_table

CANDIDATES = ["chess", "opera", "news", "nobody"]
BALLOTS = [
    (1, ["chess", "opera", "chess"]),
    (1, ["chess"]),
    (2, []),
    (3, None),
    (4, ["news", None, "opera"]),
    (5, ["chess", "", "chess "]),
    (6, ["opera"] * 50),
    (None, ["news"]),
    (7, ["it's; \u2028", "news"]),
]
TEXTS = [
    (person, None if items is None else "; ".join(item or "" for item in items))
    for person, items in BALLOTS
]
PERSONS, ROWS = [2, 3, 2, 0], [3, 3, 3, 0]


def arrow():
    import pyarrow

    columns = {
        "person": pyarrow.array([person for person, _ in BALLOTS], pyarrow.int64()),
        "likes": pyarrow.array([items for _, items in BALLOTS], pyarrow.list_(pyarrow.string())),
        "said": pyarrow.array([text for _, text in TEXTS], pyarrow.string()),
    }
    return pyarrow.table(columns)


def _parquet(place):
    from pyarrow import parquet

    parquet.write_table(arrow(), place / "ballots.parquet")
    return place / "ballots.parquet"


def _json(place):
    said = dict(enumerate(text for _, text in TEXTS))
    lines = [
        {"person": person, "likes": items, "said": said[place_]}
        for place_, (person, items) in enumerate(BALLOTS)
    ]
    (place / "ballots.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place / "ballots.jsonl"


def _pandas(place):
    import pandas

    del place
    return pandas.DataFrame(
        {
            "person": pandas.array([person for person, _ in BALLOTS], dtype="Int64"),
            "likes": [items for _, items in BALLOTS],
            "said": [text for _, text in TEXTS],
        }
    )


def _spark(place):
    del place
    rows = [
        (person, items, text) for (person, items), (_, text) in zip(BALLOTS, TEXTS, strict=True)
    ]
    frame = spark().createDataFrame(rows, "person long, likes array<string>, said string")
    # else every question starts Python once more, to read them
    return frame.coalesce(1).cache()


def _postgres(place):
    del place
    connection = postgres()
    with connection.con.cursor() as cursor:
        cursor.execute("drop table if exists ballots")
        cursor.execute("create table ballots (person bigint, likes text[], said text)")
        for (person, items), (_, text) in zip(BALLOTS, TEXTS, strict=True):
            cursor.execute("insert into ballots values (%s, %s, %s)", (person, items, text))
    connection.con.commit()
    return connection.table("ballots")


EACH = [
    pytest.param(_parquet, id="parquet"),
    pytest.param(lambda place: arrow(), id="arrow"),
    pytest.param(_pandas, id="pandas"),
    pytest.param(_json, id="json"),
    pytest.param(_spark, id="spark", marks=MARKS["spark"]),
    pytest.param(_postgres, id="postgres", marks=MARKS["postgres"]),
]


MORE = ("pandas", "json")
SOURCES = [
    pytest.param(*each.values, id=each.id, marks=pytest.mark.pairs) if each.id in MORE else each
    for each in EACH
]


def opened(make, place, *columns):
    return open_table(make(place)).having(["person", *columns], lists=["likes"])


@pytest.mark.parametrize("make", EACH)
def test_each_item_counts_once_for_its_person(make, tmp_path):
    table = opened(make, tmp_path, "likes")
    items = Items("likes")
    assert count_candidates(table, Person("person"), items, CANDIDATES) == PERSONS
    assert count_candidates(table, OneRow(), items, CANDIDATES) == ROWS
    assert dict(count_items(table, Person("person"), items, 100))["it's; \u2028"] == 1


@pytest.mark.parametrize("make", SOURCES)
def test_text_is_split_at_a_public_character(make, tmp_path):
    table = opened(make, tmp_path, "said")
    items = Items("said", ";")
    found = dict(count_items(table, Person("person"), items, 100))
    assert found == {"chess": 2, "opera": 3, "news": 2, "it's": 1, "\u2028": 1}
    rows = dict(count_items(table, OneRow(), items, 100))
    assert rows == {"chess": 3, "opera": 3, "news": 3, "it's": 1, "\u2028": 1}


@pytest.mark.parametrize("make", SOURCES)
def test_every_question_takes_ballots(make, tmp_path):
    source = make(tmp_path)
    session = Session(source, unit=Person("person"), budget=ApproxDP(100, 0.1))
    assert session.mode("likes", candidates=CANDIDATES, epsilon=1).value in CANDIDATES
    assert session.mode("said", candidates=CANDIDATES, split=";", epsilon=1).value in CANDIDATES
    assert len(session.top_k("likes", k=2, candidates=CANDIDATES, epsilon=1).value) == 2
    assert session.top_k("likes", k=1, limit=3, epsilon=1, delta=1e-6).value == []
    capped = session.top_k("likes", k=1, limit=3, epsilon=1, delta=1e-6, items_per_person=1)
    assert capped.value == []


def test_a_row_that_is_protected_by_itself_has_as_many_items_as_its_ballot():
    """The threshold of an unknown domain must not take such a row for one item."""
    session = Session(arrow(), unit=OneRow(), budget=ApproxDP(100, 0.1))
    session.top_k("likes", k=1, limit=3, epsilon=1, delta=1e-6)
    with pytest.raises(ParameterError, match="a cell holds several items"):
        session.top_k("likes", k=1, limit=3, epsilon=1, delta=1e-6, items_per_person=1)
    with pytest.raises(ParameterError, match="a cell holds several items"):
        session.top_k("said", k=1, limit=3, epsilon=1, delta=1e-6, items_per_person=1, split=";")


def test_public_candidates_of_ballots():
    session = Session(arrow(), unit=Person("person"), budget=PureDP(100))
    public = PublicTable(pyarrow.table({"name": CANDIDATES}), column="name")
    assert session.mode("likes", candidates=public, epsilon=50).value == "opera"


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"split": ""}, "one of the characters"),
        ({"split": ";;"}, "one of the characters"),
        ({"split": "a"}, "one of the characters"),
        ({"split": " "}, "one of the characters"),
        ({"split": 3}, "one of the characters"),
        ({"split": "\\"}, "one of the characters"),
        ({"split": "$"}, "one of the characters"),
    ],
)
def test_what_cannot_split_is_refused(options, rule):
    session = Session(arrow(), unit=Person("person"), budget=PureDP(1))
    with pytest.raises(discreet.ParameterError, match=rule):
        ask_of(session, "mode", "said", candidates=CANDIDATES, epsilon=1, **options)
    assert session.remaining() == 1


def test_a_list_is_not_split_and_lists_of_other_things_are_refused():
    frame = pyarrow.table({"person": [1], "likes": [["a"]], "sizes": [[1.5]], "deep": [[["a"]]]})
    session = Session(frame, unit=Person("person"), budget=PureDP(1))
    with pytest.raises(ParameterError, match="left out if the column is not text"):
        session.mode("likes", candidates=["a"], split=";", epsilon=1)
    for column in ("sizes", "deep"):
        with pytest.raises(
            ParameterError, match="lists of text, whole numbers, days or truth values"
        ):
            session.mode(column, candidates=["a"], epsilon=1)
    with pytest.raises(ParameterError, match="a column with one plain value in each row"):
        Session(frame, unit=Person("likes"), budget=PureDP(1))
    assert session.remaining() == 1


def test_characters_that_mean_something_to_a_pattern():
    import duckdb

    connection = duckdb.connect()
    for split in (*";,|/:+*.-_~^!?#%&@=", "\t"):
        text = f"a{split} b {split}a{split}{split}c"
        frame = pyarrow.table({"person": [1, 2], "said": [text, "b"]})
        for source in (frame, connection.from_arrow(frame)):
            table = open_table(source)
            found = sorted(count_items(table, OneRow(), Items("said", split), 9))
            assert found == [("a", 1), ("b", 2), ("c", 1)], split


def test_ballots_with_a_condition():
    table = open_table(arrow())
    from discreet.tables.condition_language import read_where
    from discreet.tables.condition_matching import matching

    there = replace(table, where=matching(read_where("person < 5"), table))
    assert count_candidates(there, Person("person"), Items("likes"), CANDIDATES) == [1, 2, 1, 0]
