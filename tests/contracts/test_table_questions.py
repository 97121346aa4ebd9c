"""What every question to a table rests on: how far one person can move its scores is what its
mechanism was told.

The mechanism of a question is caught at the moment when it draws, with the scores that the engine
has counted, for tables with and without one more person. The range that it was told is never
exceeded, and it is attained: neither half of it nor twice of it would do.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import narwhals as nw
import polars
import pytest
from asking import ask_of

import discreet
from discreet import OneRow, Person, PureDP, Session, column, row_count, total
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.counted_selection import CountedSelection
from discreet.mechanisms.peeling_top_k import TopKMechanism
from discreet.mechanisms.quantiles import OneQuantile

EPSILON = Fraction(3, 4)
CROWD = [
    (person, item, price)
    for person, (item, price) in enumerate(itertools.product("abc", (0.0, 2.5, 9.0, None)))
]
# What one more person can bring: nothing, one row, rows for one candidate, for several,
# extreme and odd cells.
PERSONS: list[list[tuple[str | None, float | None]]] = [
    [],
    [("a", 9.0)],
    [("b", 0.0), ("b", 9.0), ("b", 9.0)],
    [("a", 1e300), ("b", -1e300), ("c", 2.5)],
    [("a", -5.0), ("a", -5.0)],
    [("c", -4.0)],
    [(None, None), ("a", float("nan"))],
    [("b", 9.0)] * 40,
]


def frame(rows):
    data = {
        "person": [row[0] for row in rows],
        "item": [row[1] for row in rows],
        "price": [row[2] for row in rows],
    }
    return polars.DataFrame(
        data, schema={"person": polars.Int64, "item": polars.String, "price": polars.Float64}
    )


def tables():
    """The crowd, and the crowd with each of the persons."""
    for rows in PERSONS:
        yield frame([*CROWD, *((1000, item, price) for item, price in rows)])


@pytest.fixture
def caught(monkeypatch):
    """The mechanism that draws, and its scores."""
    seen: list[tuple[Any, list[Fraction]]] = []
    for kind in (SelectionMechanism, TopKMechanism, CountedSelection):

        def release(self, scores, _true=kind.release, **options):
            listed = scores.values() if isinstance(scores, dict) else scores
            seen.append((getattr(self, "picked", self), list(map(Fraction, listed))))
            return _true(self, scores, **options)

        monkeypatch.setattr(kind, "release", release)
    return seen


QUESTIONS = {
    "mode": lambda s: s.mode("item", candidates=["a", "b", "c", "d"], epsilon=EPSILON),
    "mode, exponential": lambda s: s.mode(
        "item", candidates=["a", "b", "c"], epsilon=EPSILON, mechanism="exponential"
    ),
    "mode with its count": lambda s: s.mode(
        "item",
        candidates=["a", "b", "c"],
        epsilon=EPSILON,
        mechanism="exponential",
        with_counts=True,
    ),
    "mode with a filter": lambda s: s.mode(
        "item", candidates=["a", "b"], epsilon=EPSILON, where="price > 1"
    ),
    "top_k": lambda s: s.top_k("item", k=2, candidates=["a", "b", "c"], epsilon=EPSILON),
    "top_k, joint": lambda s: s.top_k(
        "item", k=3, candidates=["a", "b", "c", "d"], epsilon=EPSILON, method="joint"
    ),
    "best_price": lambda s: s.best_price("price", prices=[1, 4, 9], epsilon=EPSILON, rule="max"),
    "total": lambda s: s.select(
        candidates=["a", "b"],
        score=lambda name: total("price", bounds=(-3, 5), step=1, where=column("item") == name),
        epsilon=EPSILON,
    ),
    "row_count": lambda s: s.select(
        candidates=["a", "b"],
        score=lambda name: row_count(where=column("item") == name, most=2),
        epsilon=EPSILON,
    ),
    "an expression": lambda s: s.select(
        candidates=["a", "b"],
        score=lambda name: (nw.col("item") == name).sum(),
        epsilon=EPSILON,
        sensitivity=4,
        monotonic=True,
    ),
}
# How far one person can move two scores apart: the largest over all neighbours, known from
# the definition of each question.
TRUE_RANGE = {"best_price": 8, "total": 8, "row_count": 2, "an expression": 4}
STATED_RANGE = {"best_price": 9}  # the highest price: a little more than highest minus lowest


def stated_range(made, question):
    """From the rate that the mechanism draws with: what was it told?"""
    each = Fraction(made.epsilon)
    if "joint" in question:
        each /= 2  # a joint draw moves by twice the range of its scores
    elif question.startswith("top_k"):
        each /= 2  # two picks share the epsilon
    rate = made.rate
    return (
        each / Fraction(int(rate.p), int(rate.q)) if hasattr(rate, "p") else each / Fraction(rate)
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_range_that_is_paid_for_is_attained_and_never_exceeded(question, caught):
    for table in tables():
        QUESTIONS[question](Session(table, unit=Person("person"), budget=PureDP(100)))
    made, alone = caught[0]
    moves = [[new - old for old, new in zip(alone, scores, strict=True)] for _, scores in caught]
    worst = max(max(move) - min(move) for move in moves)
    assert worst == TRUE_RANGE.get(question, 1)
    assert stated_range(made, question) == STATED_RANGE.get(question, worst) >= worst


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_quantile_over_rows_divides_the_epsilon_among_them(rows, monkeypatch):
    """A person with so many rows moves the errors that many times; each is two halves."""
    told = []

    def search(cells, q, epsilon, mechanism, chance, *, replace=False):
        told.append((epsilon, int(cells.counts.sum())))
        return 0

    monkeypatch.setattr("discreet.mechanisms.quantiles.search", search)
    busy = frame([*CROWD, *((1000, "a", 2.5) for _ in range(50))])
    for table in (frame(CROWD), busy):
        session = Session(table, unit=Person("person"), budget=PureDP(9))
        session.quantile(
            "price", q=0.5, bounds=(0, 10), step=1, epsilon=EPSILON, rows_per_person=rows
        )
    (each, before), (_, after) = told
    assert each == EPSILON / (2 * rows)
    assert after - before == 2 * rows
    assert OneQuantile(q=Fraction(1, 2), epsilon=EPSILON, rows=rows).privacy_loss() == PureDP(
        EPSILON
    )


@pytest.mark.parametrize(
    ("method", "delta"), [("recursive", 0), ("recursive", 1e-6), ("independent", 0), ("joint", 0)]
)
def test_many_quantiles_over_rows_do_so_in_every_search(method, delta, monkeypatch):
    rates = {}
    for rows in (1, 4):
        told = []

        def search(cells, q, epsilon, mechanism, chance, *, replace=False, told=told):
            told.append(epsilon)
            return 0

        def split_near(cells, q, epsilon, chance, told=told):
            told.append(epsilon)
            return 0, cells, cells

        class Paths:
            def __init__(self, below, total, wanted, scale, rate, told=told):
                told.append(Fraction(int(rate.p), int(rate.q)))

            def draw(self, chance):
                return [0, 0, 0]

        monkeypatch.setattr("discreet.mechanisms.quantiles.search", search)
        monkeypatch.setattr("discreet.mechanisms.quantiles.split_near", split_near)
        monkeypatch.setattr("discreet.mechanisms.quantiles.Paths", Paths)
        session = Session(frame(CROWD), unit=Person("person"), budget=discreet.ApproxDP(9, 0.1))
        release = session.quantiles(
            "price",
            q=[0.25, 0.5, 0.75],
            bounds=(0, 10),
            step=1,
            epsilon=EPSILON,
            delta=delta,
            method=method,
            rows_per_person=rows,
        )
        rates[rows] = (told, release.loss)
    assert rates[1][1] == rates[4][1]
    assert [each / 4 for each in rates[1][0]] == rates[4][0]


@pytest.mark.parametrize("unit", [Person("person"), OneRow()])
def test_which_row_of_a_person_counts_has_to_be_said(unit):
    session = Session(frame(CROWD), unit=unit, budget=PureDP(1))
    ask = {
        "quantile": lambda **more: ask_of(
            session, "quantile", "price", q=0.5, bounds=(0, 9), step=1, epsilon=0.1, **more
        ),
        "quantiles": lambda **more: ask_of(
            session, "quantiles", "price", q=[0.5], bounds=(0, 9), step=1, epsilon=0.1, **more
        ),
        "best_price": lambda **more: ask_of(
            session, "best_price", "price", prices=[1], epsilon=0.1, **more
        ),
    }
    for name, question in ask.items():
        if isinstance(unit, OneRow):
            question()
            with pytest.raises(
                discreet.ParameterError, match="left out if each row is protected by itself"
            ):
                question(rule="max")
            continue
        with pytest.raises(
            discreet.ParameterError,
            match=r"'rule' parameter .* must be given if a person can have several rows",
        ):
            question()
        with pytest.raises(discreet.ParameterError, match="one of 'max', 'min'"):
            question(rule="mean")
        if name != "best_price":
            with pytest.raises(discreet.ParameterError, match="left out if there is a rule"):
                question(rule="max", rows_per_person=2)
            with pytest.raises(discreet.ParameterError, match="at least 1"):
                question(rows_per_person=0)
    assert session.remaining() == (1 if isinstance(unit, Person) else Fraction(7, 10))
