"""Hostile rows through every kind of condition on every engine: each row counts or not by itself,
as plain Python says, and nothing raises.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import date

import pytest
from engines.hostile import ALL, CONTROL, UNTYPED
from engines.people import HONEST
from engines.seen import seen
from engines.tables import ENGINES, EVERY, in_turns, open_rows
from reference.conditions import holds

import discreet
from discreet import EngineError, Person, Session, column
from discreet.tables.condition_language import read_where
from discreet.tables.condition_matching import matching
from discreet.tables.counting import run

NUMBERS = [
    "said {} 4",
    "said {} 0",
    "said {} 1e2",
    "said {} -3.5",
    "price {} 8.01",
    "price {} 0",
    "price {} 1e299",
    "price {} -1/3",
]
WHOLES = [
    "amount {} 1",
    "amount {} 0.5",
    "amount {} -1",
    "amount {} 9223372036854775807",
    "amount {} -9223372036854775808",
]
BEYOND = [
    "amount {} 9223372036854775808",
    "amount {} 1e30",
    "amount {} -1e30",
    "person {} 2.5",
    "amount {} 9007199254740993",
]
TEXTS = [
    "item {} 'Ada'",
    "item {} ''",
    "item {} 'it''s; drop table events --'",
    "city {} Oslo",
    "said {} '4'",
    "said {} '7\u2028'",
]
DAYS = [
    "born {} '2000-02-29'",
    "born {} date '1970-01-01'",
    "born {} '0001-01-01'",
    "born {} '9999-12-31'",
]
SIGNS = ["=", "!=", "<", "<=", ">", ">="]
OTHERS = [
    "vote = true",
    "vote != true",
    "not vote = false",
    "vote is null",
    "not vote is null",
    "price is null",
    "price is not null",
    "said is not null and not said > 3",
    "not (said > 3 or amount > 1)",
    "not (said > 3 and amount > 1)",
    "not (price < 5 or price is null) or item in ('Ada', 'Bob')",
    "item in (Ada, 'ADA', 'Ada ')",
    "item not in (Ada, 'ADA', '')",
    "amount in (0, 1, 2.5, 1e40)",
    "amount not in (0, 1, 2.5, 1e40)",
    "price in (8, 8.01, 0.3)",
    "said in (4, 7)",
    "said not in (4, 7)",
    "said between 1 and 9",
    "said not between 1 and 9",
    "born between '1970-01-01' and '2000-01-01'",
    "born not in ('1970-01-01', '2000-02-29')",
    "not (not said = 4)",
]


def battery():
    """Each kind of comparison with each sign, and what joins them. Texts are ordered in Python's
    way only by some.
    """
    yield from (text.format(sign) for text in [*NUMBERS, *WHOLES, *BEYOND, *DAYS] for sign in SIGNS)
    yield from (text.format(sign) for text in TEXTS for sign in SIGNS[:2])
    yield from OTHERS


def hostile_world(engine):
    """Every hostile row as one more person, and a name for each row."""
    # Cells over several lines have a test of their own.
    as_lines = ENGINES["csv"] if engine.name == "csv-multiline" else engine
    more = (CONTROL if engine.name != "postgres" else {}) | (UNTYPED if not engine.typed else {})
    rows = [row for row in [*HONEST, *(ALL | more).values()] if as_lines.holds(row)]
    return [row | {"world": number} for number, row in enumerate(rows)]


def matched(table, condition):
    # the columns of the question and of its condition, as a session asks for them
    table = table.having(["world", *condition.columns])
    rows = replace(table, where=matching(condition, table))
    return sorted(
        int(number) for (number,) in run(rows, lambda: rows.rows.select("world"), ["world"])
    )


PARTS = 8


@pytest.mark.parametrize(("engine", "part"), in_turns(range(PARTS), PARTS // 2))
def test_every_kind_of_condition_on_hostile_rows(engine, part, tmp_path):
    rows = hostile_world(engine)
    table = open_rows(engine, rows, tmp_path)
    plain, kinds = seen(engine, rows)
    tried = 0
    for text in itertools.islice(battery(), part, None, PARTS):
        condition = read_where(text)
        try:
            found = matched(table, condition)
        except discreet.ParameterError:
            assert not engine.typed, text
            continue
        expected = [row["world"] for row in plain if holds(condition, row, kinds)]
        assert found == [int(number) for number in expected], text
        tried += 1
    assert tried > 100 // PARTS


@pytest.mark.parametrize("engine", EVERY)
def test_days_in_columns_of_text(engine, tmp_path):
    """A day that is compared with text looks at the day at its beginning."""
    texts = [
        "2026-10-31",
        "2026-10-31T23:59:59Z",
        "2026-11-01 00:00",
        "2026-1-1",
        "x",
        "",
        "\uff12\uff10\uff12\uff16-10-31",
        None,
    ]
    rows = [
        row | {"world": number, "said": text}
        for number, (row, text) in enumerate(zip(HONEST, texts, strict=False))
    ]
    table = open_rows(engine, rows, tmp_path)
    assert matched(table, column("said") < date(2026, 11, 1)) == [0, 1]
    assert matched(table, ~(column("said") < date(2026, 11, 1))) == [2]
    assert matched(table, column("said") == date(2026, 10, 31)) == [0, 1]


FILTERS = [
    "said > 3",
    "price <= 8 or price is null",
    "amount >= 1",
    "item != 'x'",
    "not said between 1 and 2",
]


@pytest.mark.parametrize(("engine", "where"), in_turns(FILTERS, 3))
def test_the_whole_transcript_is_the_same_with_and_without_a_hostile_row(engine, where, tmp_path):
    """Every question with every kind of filter: an answer of the same shape and the same charge,
    for tables with and without.
    """
    without = open_session(engine, HONEST, tmp_path, "without")
    with_all = open_session(engine, hostile_world(engine), tmp_path, "with")
    assert transcript(without, engine, where) == transcript(with_all, engine, where)


def open_session(engine, rows, place, name):
    folder = place / name
    folder.mkdir()
    made = engine.make(rows, folder)
    table_name = "events" if engine.name == "duckdb-file" else None
    return Session(
        made,
        unit=Person("person"),
        budget=discreet.ApproxDP(1000, 0.5),
        table_name=table_name,
        numbers_in_text=True,
    )


def transcript(session, engine, where):
    """What somebody sees of all questions, but for the answers themselves."""
    seen = []
    label = [engine.label("amount", amount) for amount in (0, 1)]
    questions = [
        lambda: session.mode("item", candidates=["Ada", "Bob"], epsilon=1, where=where),
        lambda: session.mode("amount", candidates=label, epsilon=1, where=where),
        lambda: session.top_k("item", k=2, candidates=["Ada", "Bob", "Cy"], epsilon=1, where=where),
        lambda: session.best_price("price", prices=[1, 4, 8], epsilon=1, rule="max", where=where),
        lambda: session.quantile(
            "said", q=0.5, bounds=(0, 9), step=1, epsilon=1, rule="min", where=where
        ),
        lambda: session.quantile(
            "price", q=0.5, bounds=(0, 9), step=1, epsilon=1, rows_per_person=2, where=where
        ),
        lambda: session.select(
            candidates=["Ada", "Bob"],
            score=lambda name: discreet.total(
                "price", bounds=(-3, 9), step=0.25, where=column("item") == name
            ),
            epsilon=1,
            where=where,
        ),
    ]
    for ask in questions:
        try:
            release = ask()
            seen.append(
                (type(release.value).__name__, release.loss, release.mechanism, release.candidates)
            )
        except EngineError as error:
            seen.append(str(error))
    return seen, len(session.history())
