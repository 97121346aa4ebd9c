"""Columns in which the engine takes different texts for equal: one person could rename a whole
count, so they are refused.
"""

from __future__ import annotations

import os

import duckdb
import narwhals
import pytest
from engines.people import HONEST
from engines.tables import EVERY, MARKS, open_rows, postgres, spark

from discreet import ApproxDP, ParameterError, Person, PublicTable, PureDP, Session
from discreet.errors import ParameterTypeError
from discreet.tables.counting import count_candidates, count_items
from discreet.tables.items import Items, require_spelling
from discreet.tables.opening import open_table

VALUES = "(0, 'ADA'), (1, 'Ada'), (2, 'Ada'), (3, 'Bob')"
NO_CASE = (
    "create collation no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
)
_connections = []


def _duckdb(*statements):
    _connections.append(duckdb.connect())  # a relation does not always keep its connection alive
    for statement in statements:
        _connections[-1].execute(statement)
    return _connections[-1]


def duckdb_column(place):
    return _duckdb(
        "create table votes (person int, item varchar collate nocase)",
        f"insert into votes values {VALUES}",
    ).table("votes")


def duckdb_accents(place):
    return _duckdb("create table votes (person int, item varchar collate noaccent)").table("votes")


def duckdb_default(place):
    return _duckdb(
        "set default_collation = 'nocase'", "create table votes (person int, item varchar)"
    ).table("votes")


def duckdb_file(place):
    with duckdb.connect(str(place / "votes.duckdb")) as connection:
        connection.execute("create table votes (person int, item varchar collate nocase)")
    return place / "votes.duckdb"


def spark_column(place):
    return spark().sql(
        f"select person, item collate UTF8_LCASE as item from values {VALUES} as votes(person, "
        "item)"
    )


def spark_spaces(place):
    return spark().sql(
        f"select person, item collate UTF8_BINARY_RTRIM as item from values {VALUES} as "
        "votes(person, item)"
    )


def _postgres(name, kind, *statements):
    connection = postgres()
    with connection.con.cursor() as cursor:
        for statement in (*statements, f"create table {name} (person bigint, item {kind})"):
            cursor.execute(statement)
    return connection.table(name)


def postgres_column(place):
    return _postgres("votes_no_case", "text collate no_case", NO_CASE)


def postgres_type(place):
    return _postgres("votes_citext", "citext", "create extension citext")


def postgres_spaces(place):
    return _postgres("votes_char", "char(5)")


def postgres_enumeration(place):
    return _postgres("votes_mood", "mood", "create type mood as enum ('Ada', 'Bob')")


COLLATED = [
    *(pytest.param(make, id=make.__name__) for make in (duckdb_default, duckdb_file)),
    *(
        pytest.param(make, id=make.__name__, marks=MARKS["spark"])
        for make in (spark_column, spark_spaces)
    ),
    *(
        pytest.param(make, id=make.__name__, marks=MARKS["postgres"])
        for make in (postgres_column, postgres_type, postgres_spaces, postgres_enumeration)
    ),
]
QUESTIONS = [
    lambda session, source: session.mode("item", candidates=["Ada", "Bob"], epsilon=1),
    lambda session, source: session.top_k("item", k=1, candidates=["Ada", "Bob"], epsilon=1),
    lambda session, source: session.top_k("item", k=1, epsilon=1, delta=1e-6, limit=5),
    lambda session, source: session.best_price("item", prices=[1, 2], epsilon=1, rule="max"),
    lambda session, source: session.mode(
        "item", candidates=PublicTable(source, column="item"), epsilon=1
    ),
]


@pytest.mark.parametrize("make", COLLATED)
def test_a_collation_is_refused_before_anything_is_paid(make, tmp_path):
    source = make(tmp_path)
    name = "votes" if make is duckdb_file else None
    session = Session(
        source,
        unit=Person("person"),
        budget=ApproxDP(3, 1e-5),
        table_name=name,
        numbers_in_text=True,
    )
    before = session.remaining()
    for question in QUESTIONS[:-1] if name else QUESTIONS:  # a public table has no name in a file
        with pytest.raises(
            ParameterTypeError, match="without a collation in which different texts are equal"
        ):
            question(session, source)
    assert session.remaining() == before
    assert session.history() == ()


def duckdb_lists(place):
    with duckdb.connect(str(place / "lists.duckdb")) as connection:
        connection.execute("create table texts (person int, item varchar collate nocase)")
        connection.execute(f"insert into texts values {VALUES}")
        connection.execute("create table votes as select person, [item] as item from texts")
    return place / "lists.duckdb"


def spark_lists(place):
    return spark_column(place).selectExpr("person", "array(item) as item")


def postgres_lists(place):
    collation = NO_CASE.replace("no_case", "no_case_in_lists")
    return _postgres("votes_in_lists", "text[] collate no_case_in_lists", collation)


def postgres_lists_of_spaces(place):
    return _postgres("votes_in_lists_of_char", "char(5)[]")


LISTS = [
    pytest.param(duckdb_lists, id="duckdb"),
    pytest.param(spark_lists, id="spark", marks=MARKS["spark"]),
    pytest.param(postgres_lists, id="postgres", marks=MARKS["postgres"]),
    pytest.param(postgres_lists_of_spaces, id="postgres-spaces", marks=MARKS["postgres"]),
]


@pytest.mark.parametrize("make", LISTS)
def test_so_is_one_of_what_is_in_lists(make, tmp_path):
    """One person with "ADA" would have moved the count of "Ada" there."""
    name = "votes" if make is duckdb_lists else None
    session = Session(
        make(tmp_path), unit=Person("person"), budget=ApproxDP(3, 1e-5), table_name=name
    )
    before = session.remaining()
    for question in QUESTIONS[:3]:
        with pytest.raises(
            ParameterTypeError, match="without a collation in which different texts are equal"
        ):
            question(session, None)
    assert session.remaining() == before


def test_what_could_not_be_asked_is_refused_and_asked_again(tmp_path, monkeypatch):
    """An engine that is gone for a moment says nothing of its columns."""
    session = Session(
        duckdb_file(tmp_path),
        unit=Person("person"),
        budget=ApproxDP(3, 1e-5),
        table_name="votes",
        numbers_in_text=True,
    )
    before = session.remaining()
    with monkeypatch.context() as gone:
        gone.setattr(narwhals.LazyFrame, "collect", _gone)
        for question in QUESTIONS[:-1]:
            with pytest.raises(ParameterError, match=r"can be asked for\. Got 'item'\. Ask again"):
                question(session, None)
    with pytest.raises(ParameterTypeError, match="without a collation"):
        QUESTIONS[0](session, None)
    assert session.remaining() == before


def _gone(*asked, **more):
    raise OSError


POSTGRES = [pytest.param("postgres", marks=MARKS["postgres"])]


@pytest.mark.parametrize("engine", POSTGRES)
def test_a_locked_table_is_refused_before_anything_is_paid(engine):
    """PostgreSQL gives up waiting for the lock, and says nothing of the collation."""
    del engine
    source = _postgres(
        "votes_locked", "text collate no_case_locked", NO_CASE.replace("no_case", "no_case_locked")
    )
    session = Session(source, unit=Person("person"), budget=ApproxDP(3, 1e-5), numbers_in_text=True)
    before, connection = session.remaining(), source.get_backend().con
    plain = _postgres("votes_plain_locked", "text")
    other = Session(plain, unit=Person("person"), budget=ApproxDP(3, 1e-5), numbers_in_text=True)
    with _another_connection() as locking, locking.cursor() as cursor:
        cursor.execute("lock table votes_locked, votes_plain_locked in access exclusive mode")
        connection.execute("set lock_timeout = 1")
        try:
            for question in QUESTIONS[:-1]:
                with pytest.raises(ParameterError, match="Ask again later"):
                    question(session, source)
            for question in QUESTIONS[:-1]:
                with pytest.raises(ParameterError, match="Ask again later"):
                    question(other, source)
        finally:
            connection.execute("reset lock_timeout")
    with pytest.raises(ParameterTypeError, match="without a collation"):
        QUESTIONS[0](session, source)
    assert QUESTIONS[0](other, source).candidates == 2
    assert session.remaining() == before
    assert len(other.history()) == 1


def _another_connection():
    """Another connection to the same server, in a transaction that ends with it."""
    import psycopg

    return psycopg.connect(os.environ["DISCREET_POSTGRES_URL"], autocommit=False)


@pytest.mark.parametrize("engine", POSTGRES)
def test_a_collation_that_comes_later_renames_nothing(engine):
    """Who had been asked before it came would count all spellings under one."""
    del engine
    collation = NO_CASE.replace("no_case", "no_case_later")
    source = _postgres("votes_later", "text", collation)
    table = open_table(source)
    require_spelling(table, "item")
    with source.get_backend().con.cursor() as cursor:
        cursor.execute(f"insert into votes_later values {VALUES}")
        cursor.execute("alter table votes_later alter item type text collate no_case_later")
    spellings = {"Ada": 2, "ADA": 1, "Bob": 1}
    counts = count_candidates(table, Person("person"), Items("item"), list(spellings))
    assert counts == list(spellings.values())
    assert dict(count_items(table, Person("person"), Items("item"), 9)) == spellings


@pytest.mark.parametrize("make", [duckdb_column, duckdb_accents])
def test_a_relation_is_read_without_its_collation(make, tmp_path):
    """Each spelling counts by itself: its bytes are checked on the way, and have no collation
    afterwards.
    """
    table = open_table(make(tmp_path))
    require_spelling(table, "item")
    found = dict(count_items(table, Person("person"), Items("item"), 9))
    assert found == ({"Ada": 2, "ADA": 1, "Bob": 1} if make is duckdb_column else {})


@pytest.mark.parametrize("engine", EVERY)
def test_plain_text_is_not(engine, tmp_path):
    table = open_rows(engine, HONEST, tmp_path)
    for column in ("item", "said", "price"):
        require_spelling(table, column)


def duckdb_remedy(place):
    return duckdb_column(place).project('person, item collate "C" as item')


def spark_remedy(place):
    frame = spark_column(place)
    return frame.withColumn("item", frame["item"].cast("string"))


def postgres_remedy(place):
    connection = _postgres(
        "votes_no_case_again",
        "text collate no_case_again",
        NO_CASE.replace("no_case", "no_case_again"),
    )
    return connection.get_backend().sql(
        'select person, item collate "C" as item from votes_no_case_again'
    )


REMEDIES = [
    pytest.param(duckdb_remedy, id="duckdb"),
    pytest.param(spark_remedy, id="spark", marks=MARKS["spark"]),
    pytest.param(postgres_remedy, id="postgres", marks=MARKS["postgres"]),
]


@pytest.mark.parametrize("make", REMEDIES)
def test_what_the_hint_says_helps(make, tmp_path):
    session = Session(make(tmp_path), unit=Person("person"), budget=PureDP(3), numbers_in_text=True)
    assert session.mode("item", candidates=["Ada", "Bob"], epsilon=1).candidates == 2
