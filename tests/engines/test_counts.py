"""The same rows have the same counts on every engine, so the same question has the same
distribution.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import narwhals as nw
import pytest
from engines import plain
from engines.people import AMOUNTS, CANDIDATES, GRID, HONEST, LOW, POINTS, PRICES, STEP, row
from engines.tables import EACH, EVERY, EVERY_TYPED, NUMBERS, open_rows

import discreet
from discreet import OneRow, Person, row_count
from discreet.mechanisms.grid import Grid, PointList
from discreet.tables.candidates import CountHistogram, count_public
from discreet.tables.counting import (
    count_bins,
    count_candidates,
    count_grid,
    count_items,
    count_ranks,
)
from discreet.tables.items import Items
from discreet.tables.total_questions import add_up

UNITS = [(Person("person"), True), (OneRow(), False)]
VALUES = [("price", "max"), ("price", "min"), ("said", "max"), ("amount", "min")]


@pytest.fixture(scope="module", params=EVERY)
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def table(engine, tmp_path_factory):
    return open_rows(engine, HONEST, tmp_path_factory.mktemp(engine.name))


def test_candidates(engine, table):
    for unit, persons in UNITS:
        expected = plain.count_candidates(HONEST, persons, "item", CANDIDATES)
        assert expected[:2] == ([40, 20] if persons else [66, 28])
        assert count_candidates(table, unit, Items("item"), CANDIDATES) == expected


@pytest.mark.parametrize(
    ("column", "values"),
    [("amount", AMOUNTS), ("vote", [True, False])],
    ids=["numbers", "truth values"],
)
def test_candidates_that_are_no_text(engine, table, column, values):
    labels = [engine.label(column, value) for value in values]
    for unit, persons in UNITS:
        expected = plain.count_candidates(HONEST, persons, column, values)
        assert count_candidates(table, unit, Items(column), labels) == expected


def test_items(engine, table):
    for unit, persons in UNITS:
        expected = plain.count_items(HONEST, persons, "item")
        ranked = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))
        assert count_items(table, unit, Items("item"), 100) == ranked
        assert count_items(table, unit, Items("item"), 2) == ranked[:2]


def test_bins(engine, table):
    for column, rule in VALUES:
        for unit, persons in UNITS:
            expected = plain.count_bins(engine.seen(HONEST), persons, column, PRICES, rule)
            assert sum(expected) > 40
            found = count_bins(table, unit, column, PRICES, rule)
            assert found == expected, (column, rule, persons)


def test_grid(engine, table):
    for column, rule in VALUES:
        expected = plain.count_ranks(engine.seen(HONEST), True, column, GRID, rule, SLACK)
        found = count_grid(table, Person("person"), column, Grid(LOW, STEP, POINTS), rule)
        assert found == expected, (column, rule)


SLACK = Grid(LOW, STEP, POINTS).slack
UNEVEN = [Fraction(number) for number in (-3, 0, 1, Fraction(5, 2), 3, 100)]


def test_points_in_a_list_and_on_a_grid(engine, table):
    """Values rank as they are, whichever way the points were given."""
    for column, rule in VALUES:
        seen = engine.seen(HONEST)
        for unit, persons in UNITS:
            expected = plain.count_ranks(seen, persons, column, GRID, rule, SLACK)
            found = count_ranks(table, unit, column, Grid(LOW, STEP, POINTS), rule)
            assert found == expected, (column, rule, persons)
            listed = PointList((*UNEVEN,))
            below, at, *others = plain.count_bins(seen, persons, column, listed.edges, rule)
            expected = [below + at, *others]
            found = count_ranks(table, unit, column, listed, rule)
            assert found == expected, (column, rule, persons)


def test_totals(engine, table):
    """Rows of each candidate: at most two of a person, and each by itself."""
    totals = [row_count(where=discreet.column("item") == name, most=2) for name in CANDIDATES]
    for unit, persons in UNITS:
        rows = [each for each in HONEST if not persons or each["person"] is not None]
        held = Counter(
            (each["item"], each["person"] if persons else place) for place, each in enumerate(rows)
        )
        expected = [
            sum(min(count, 2) for (item, _), count in held.items() if item == name)
            for name in CANDIDATES
        ]
        assert add_up(table, unit, totals) == expected


def test_which_rows_count(engine, table):
    rows = [each for each in HONEST if each["city"] == "Rome"]
    there = replace(table, where=nw.col("city") == "Rome")
    for unit, persons in UNITS:
        expected = plain.count_candidates(rows, persons, "item", CANDIDATES)
        assert count_candidates(there, unit, Items("item"), CANDIDATES) == expected
    assert count_bins(there, Person("person"), "price", PRICES, "max") == plain.count_bins(
        engine.seen(rows), True, "price", PRICES, "max"
    )


def test_tally(engine, table):
    """How many candidates have each count, the largest first, and who they are."""
    counts = plain.count_items(HONEST, True, "item")
    assert count_public(table, "item") == len(counts)
    tally = CountHistogram(table, Person("person"), Items("item"), table, "item")
    by_count = {
        count: sorted(item for item in counts if counts[item] == count)
        for count in set(counts.values())
    }
    assert tally.counts.tolist() == sorted(by_count, reverse=True)
    assert tally.sizes.tolist() == [len(by_count[count]) for count in tally.counts.tolist()]
    for piece, count in enumerate(tally.counts.tolist()):
        assert [tally.label(piece, place) for place in range(len(by_count[count]))] == by_count[
            count
        ]


def test_public_candidates_that_nobody_has(engine, table):
    everybody = replace(table, where=nw.col("city") == "nowhere")
    tally = CountHistogram(everybody, Person("person"), Items("item"), table, "item")
    assert (tally.counts.tolist(), tally.sizes.tolist()) == ([0], [5])
    assert {tally.label(0, place) for place in range(5)} == {"Ada", "Bob", "Cy", "Dee", "Eve"}


@pytest.mark.parametrize("engine", EVERY)
def test_an_empty_table(engine, tmp_path):
    """A table without a row, where the engine knows the columns of such a table."""
    rows = [row(None)] if engine.name == "json" else []
    empty = open_rows(engine, rows, tmp_path)
    person = Person("person")
    assert count_candidates(empty, person, Items("item"), CANDIDATES) == [0] * 5
    assert count_items(empty, person, Items("item"), 10) == []
    for column in NUMBERS if engine.name != "pandas-objects" else ("said",):
        assert count_bins(empty, person, column, PRICES, "max") == [0] * 6
        nobody = [0] * (2 * POINTS - 1)
        assert count_grid(empty, person, column, Grid(LOW, STEP, POINTS), "min") == nobody


@pytest.mark.parametrize("engine", EVERY_TYPED)
def test_points_of_the_grid_are_where_they_belong(engine, tmp_path):
    """A float that stands for a point of a grid counts as that point, although 0.3 / 0.1 is below
    3 in floats.
    """
    low, step, points = Fraction(-7, 10), Fraction(1, 10), 60
    rows = [row(place, price=float(low + place * step)) for place in range(points)]
    table = open_rows(engine, rows, tmp_path)
    found = count_grid(table, Person("person"), "price", Grid(low, step, points), "max")
    assert found == [1, *[0, 1] * (points - 1)]


@pytest.mark.parametrize(
    "engine", [each for each in EVERY if each.id in ("duckdb", "spark", "postgres")]
)
def test_many_prices(engine, tmp_path):
    """An engine may refuse an expression of a thousand terms that is nested a thousand times."""
    rows = [row(place, price=float(Fraction(place, 3))) for place in range(30)]
    table = open_rows(engine, rows, tmp_path)
    # on Spark each term is a call to Java
    for many in (1, 7, 500 if engine.name == "spark" else 2000):
        edges = [Fraction(place, 7) for place in range(1, many + 1)]
        expected = plain.count_bins(rows, True, "price", edges, "max")
        assert count_bins(table, Person("person"), "price", edges, "max") == expected


@pytest.mark.parametrize("engine", EVERY_TYPED)
def test_numbers_of_the_other_type_are_no_mistake(engine, tmp_path):
    """2.0 is found among integers and 4 among floats; 2.5 is not among integers; equal zeros are
    one item.
    """
    rows = [row(1, amount=2), row(2, amount=3), row(3, price=-0.0), row(4, price=0.0)]
    table = open_rows(engine, rows, tmp_path)
    assert count_candidates(
        table, Person("person"), Items("amount"), [2.0, 2.5, 3, 2**62, -(2**63)]
    ) == [1, 0, 1, 0, 0]
    assert count_candidates(table, Person("person"), Items("amount"), [2.5]) == [0]
    assert count_candidates(table, Person("person"), Items("price"), [4, 0, 4.5]) == [2, 2, 0]
    items = count_items(table, Person("person"), Items("price"), 9)
    assert items == [(0.0, 2), (4.0, 2)]
    assert str(items[0][0]) == "0.0"


@pytest.mark.parametrize("engine", [each for each in EACH if each.values[0].mixed])
def test_one_person_under_three_names(engine, tmp_path):
    rows = [row(1), row(1), row(1), row(2), row(2)]
    table = open_rows(engine, rows, tmp_path)
    assert count_candidates(table, Person("person"), Items("item"), ["Ada"]) == [2]
    assert count_candidates(table, OneRow(), Items("item"), ["Ada"]) == [5]


def test_more_candidates_than_fit_a_query(engine, tmp_path):
    """Beyond a thousand, some engines are asked in another way."""
    rows = [
        {**HONEST[0], "person": who, "amount": who % 5, "item": f"it's {who % 5}"}
        for who in range(20)
    ]
    table = open_rows(engine, rows, tmp_path)
    texts, numbers = [f"it's {place}" for place in range(1500)], list(range(1500))
    # where columns have no types, all of them are text
    for column, wanted in {"item": texts, **({"amount": numbers} if engine.typed else {})}.items():
        counts = count_candidates(table, Person("person"), Items(column), wanted)
        assert counts == [4] * 5 + [0] * 1495, column
