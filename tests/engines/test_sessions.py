"""Every question of a session has an answer on every engine: the true best where epsilon is
large, at the stated loss.
"""

from __future__ import annotations

import narwhals as nw
import pytest
from engines import plain
from engines.hostile import ALL, SOMEBODY
from engines.people import CANDIDATES, GRID, HONEST, PRICES, row
from engines.tables import EACH, EVERY, MARKS, postgres, spark
from reference.ranks import rank_errors

from discreet import (
    ApproxDP,
    BoundedRange,
    OneRow,
    ParameterError,
    Person,
    PureDP,
    Session,
    column,
)
from discreet.errors import ParameterTypeError
from discreet.privacy.loss import Composed
from discreet.questions.best_price import revenues

LARGE = 64  # so that the best of these counts is drawn but for once in e^32 times


def session_on(engine, rows, place, budget, unit=None):
    name = "events" if engine.name == "duckdb-file" else None
    return Session(
        engine.make(rows, place), unit=unit or Person("person"), budget=budget, table_name=name
    )


def readers(candidate):
    return (nw.col("item") == candidate).cast(nw.Int32).sum()


def best_price(rows):
    earned = revenues(PRICES, plain.count_bins(rows, True, "price", PRICES, "max"))
    first, second = sorted(earned, reverse=True)[:2]
    assert first - second > max(PRICES)  # far enough to be certain
    return float(PRICES[earned.index(first)])


def medians(rows):
    errors = rank_errors(plain.count_ranks(rows, True, "price", GRID, "min"), GRID[5])
    return {float(point) for point, error in zip(GRID, errors, strict=True) if error == min(errors)}


@pytest.mark.parametrize("engine", EACH)
def test_every_question_finds_the_best(engine, tmp_path):
    seen = engine.seen(HONEST)
    session = session_on(engine, HONEST, tmp_path, PureDP(5 * LARGE))

    release = session.mode("item", candidates=CANDIDATES, epsilon=LARGE)
    assert (release.value, release.loss, release.candidates) == ("Ada", PureDP(LARGE), 5)
    assert not release.seeded

    release = session.mode("item", candidates=["Cy", "Bob"], epsilon=LARGE, mechanism="exponential")
    assert (release.value, release.loss) == ("Bob", BoundedRange(LARGE))

    release = session.top_k("item", k=2, candidates=CANDIDATES, epsilon=LARGE, method="joint")
    assert (release.value, release.loss) == (["Ada", "Bob"], BoundedRange(LARGE))

    release = session.best_price(
        "price", prices=[float(price) for price in PRICES], epsilon=LARGE, rule="max"
    )
    assert (release.value, release.loss) == (best_price(seen), PureDP(LARGE))

    release = session.quantile("price", q=0.5, bounds=(0, 10), step=0.1, epsilon=LARGE, rule="min")
    assert release.value in medians(seen)
    assert release.loss == PureDP(LARGE)

    assert session.remaining() == 0
    assert [(question.what, question.column) for question in session.history()] == [
        ("mode", "item"),
        ("mode", "item"),
        ("top_k", "item"),
        ("best_price", "price"),
        ("quantile", "price"),
    ]


@pytest.mark.parametrize("engine", EVERY)
def test_what_needs_no_candidates_and_what_has_a_score_of_its_own(engine, tmp_path):
    session = session_on(engine, HONEST, tmp_path, ApproxDP(10_000, 0.1), OneRow())
    release = session.top_k("item", k=2, epsilon=LARGE, delta=1e-3, limit=4)
    assert (release.value, release.loss, release.candidates) == (
        ["Ada", "Bob"],
        Composed({BoundedRange(LARGE): 2}, 1e-3),
        4,
    )

    release = session.select(
        candidates=CANDIDATES,
        score=readers,
        epsilon=LARGE,
        sensitivity=1,
        monotonic=True,
    )
    assert (release.value, release.loss) == ("Ada", BoundedRange(LARGE))
    assert len(session.history()) == 2
    assert 0 < session.questions_left(epsilon=LARGE) < 10_000 // LARGE


@pytest.mark.parametrize("engine", EVERY)
def test_only_the_rows_that_count(engine, tmp_path):
    """Bob has more readers than Ada in Paris, and nobody pays much there."""
    paris = [row(200 + place, item="Bob", price=2.0, city="Paris") for place in range(5)]
    session = session_on(
        engine,
        [*HONEST, *paris, row(210, item="Ada", city="Paris")],
        tmp_path,
        ApproxDP(10_000, 0.1),
    )
    there = column("city") == "Paris"
    assert session.mode("item", candidates=CANDIDATES, epsilon=LARGE, where=there).value == "Bob"
    assert session.top_k("item", k=1, epsilon=LARGE, delta=0.01, limit=3, where=there).value == [
        "Bob"
    ]
    assert (
        session.quantile(
            "price", q=0.5, bounds=(0, 10), step=1, epsilon=LARGE, rule="max", where=there
        ).value
        == 2
    )
    nowhere = session.mode(
        "item", candidates=CANDIDATES, epsilon=LARGE, where=column("city") == "Atlantis"
    )
    assert nowhere.value in CANDIDATES


@pytest.mark.parametrize("engine", EVERY)
def test_answers_from_nothing_but_hostile_rows(engine, tmp_path):
    """The shape of an answer and its charge do not depend on what is in the table."""
    rows = [each | {"person": SOMEBODY + place} for place, each in enumerate(ALL.values())]
    session = session_on(engine, rows, tmp_path, ApproxDP(10_000, 0.1))
    assert session.mode("item", candidates=CANDIDATES, epsilon=1).value in CANDIDATES
    assert set(session.top_k("item", k=2, candidates=CANDIDATES, epsilon=1).value) < set(CANDIDATES)
    unknown = session.top_k("item", k=3, epsilon=1, delta=1e-6, limit=30)
    assert set(unknown.value) <= {each["item"] for each in rows}
    assert session.best_price("said", prices=[1, 2, 4], epsilon=1, rule="max").value in (1, 2, 4)
    assert (
        0
        <= session.quantile("price", q=0.9, bounds=(0, 10), step=0.5, epsilon=1, rule="max").value
        <= 10
    )
    own = session.select(
        candidates=CANDIDATES, score=readers, epsilon=1, sensitivity=1, monotonic=True
    )
    assert own.value in CANDIDATES
    expected = [BoundedRange(1)] * 6
    expected[1] = Composed({BoundedRange(1): 2})
    expected[2] = Composed({BoundedRange(1): 3}, 1e-6)
    assert [question.loss for question in session.history()] == expected


def spark_twins():
    return spark().sql("select 1 as person, 'a' as item, 'b' as ITEM")


def postgres_digits():
    with postgres().con.cursor() as cursor:
        cursor.execute("create table if not exists many_digits (person bigint, x numeric(40, 2))")
    postgres().con.commit()
    return postgres().table("many_digits")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(spark_twins, id="spark", marks=MARKS["spark"]),
        pytest.param(postgres_digits, id="postgres", marks=MARKS["postgres"]),
    ],
)
def test_columns_that_cannot_be_told_apart_or_named(make):
    with pytest.raises(ParameterTypeError, match="columns with different names and known types"):
        Session(make(), unit=Person("person"), budget=PureDP(1))


@pytest.mark.parametrize("engine", [pytest.param("spark", marks=MARKS["spark"])])
def test_a_column_beside_one_that_spark_would_take_for_it(engine):
    """A person who is another one in each row was one person to Spark, and the other way round."""
    del engine
    table = spark().sql(
        "select id as ```p```, 1 as p, id as `a.b`, named_struct('b', 1) as a from range(9)"
    )
    for name in ("`p`", "a.b"):
        with pytest.raises(ParameterError, match="a column whose name is no pattern"):
            Session(table, unit=Person(name), budget=PureDP(1))
    Session(table, unit=Person("p"), budget=PureDP(1)).count(epsilon=1)
