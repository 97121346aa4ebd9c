"""Vectors of persons are the same whole numbers on every engine, whatever is in the rows."""

from __future__ import annotations

from collections import Counter

import pytest
from engines import plain
from engines.hostile import ALL, SOMEBODY
from engines.people import HONEST, row
from engines.tables import ENGINES, EVERY, IN_MEMORY, open_rows
from reference import vectors as reference

from discreet import Person
from discreet.mechanisms.rows import MOST_STEPS, RowGrid
from discreet.questions import fits
from discreet.tables.vectors import Axis, Vectors, moment_of, scaled_axes

COLUMNS = ["price", "said", "amount"]
CENTER, SCALE = [4, 0, 1], [2, 8, 1]
GRID = RowGrid.of(3)
LINES = [
    *HONEST,
    *(
        hostile | ({"person": SOMEBODY + place} if hostile["person"] == SOMEBODY else {})
        for place, hostile in enumerate(ALL.values())
    ),
    # one person with very many rows, and with rows that take each other away
    *(row(SOMEBODY - 1, price=1e308) for _ in range(40)),
    *(row(SOMEBODY - 2, price=price) for price in (1e308, -1e308, 5e-324, -5e-324, 4.0)),
]


def vectors_of(table, rule):
    axes = scaled_axes(COLUMNS, CENTER, SCALE, step=GRID.step, most=MOST_STEPS)
    return Vectors(table=table, unit=Person("person"), axes=axes, rule=rule)


def expected(engine, lines, rule):
    read = [
        lambda value, center=center, scale=scale: reference.steps(
            value, scale * GRID.step, center, MOST_STEPS
        )
        for center, scale in zip(CENTER, SCALE, strict=True)
    ]
    seen = [(each["person"], [plain.number(each[name]) for name in COLUMNS]) for each in lines]
    return sorted(reference.vectors(seen, read, rule, MOST_STEPS).values())


@pytest.mark.parametrize("engine", IN_MEMORY)
@pytest.mark.timeout(600)
def test_vectors_and_their_products_are_those_of_plain_python(engine, tmp_path):
    lines = [each for each in LINES if engine.holds(each)]
    table = open_rows(engine, lines, tmp_path)
    for rule in ("sum", "mean") if engine.name in ("arrow", "duckdb") else ("mean",):
        vectors = vectors_of(table, rule)
        found = expected(engine, engine.seen(lines), rule)
        assert vectors.read()[0].tolist() == found
        short = [reference.shortened(vector, GRID.longest) for vector in found]
        moment = moment_of(vectors, GRID)
        assert moment.tolist() == reference.moment(short, len(COLUMNS))


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.timeout(600)
def test_labels_and_an_intercept_are_those_of_plain_python(engine, tmp_path):
    lines = [each for each in LINES if engine.holds(each)]
    table = open_rows(engine, lines, tmp_path)
    (price, *_) = scaled_axes(["price"], 4, 2, step=GRID.step, most=MOST_STEPS)
    one = Axis(column=None, step=GRID.step, most=MOST_STEPS)
    sign = fits._sign(table, "item", ("Bob", "Ada"))
    vectors = Vectors(table=table, unit=Person("person"), axes=[price, one], rule="mean", sign=sign)
    seen = engine.seen(lines)
    votes = Counter()
    for each in seen:
        if plain.number(each["price"]) is not None:
            votes[each["person"]] += {"Ada": 1, "Bob": -1}.get(each["item"], 0)
    read = [lambda value: reference.steps(value, 2 * GRID.step, 4, MOST_STEPS)]
    cells = [(each["person"], [plain.number(each["price"])]) for each in seen]
    found = reference.vectors(cells, read, "mean", MOST_STEPS)
    whole, signs = vectors.read()
    assert sorted(zip(whole.tolist(), signs.tolist(), strict=True)) == sorted(
        ([*vector, int(1 / GRID.step)], 1 if votes[person] > 0 else -1)
        for person, vector in found.items()
        if votes[person]
    )


@pytest.mark.parametrize("rule", ["sum", "mean"])
def test_many_columns_have_the_same_products(rule, monkeypatch, tmp_path):
    vectors = vectors_of(open_rows(ENGINES["arrow"], LINES, tmp_path), rule)
    in_engine = moment_of(vectors, GRID)
    monkeypatch.setattr("discreet.tables.vectors.MOST_IN_ENGINE", 0)
    assert (moment_of(vectors, GRID) == in_engine).all()


def test_a_person_of_very_many_rows_has_a_large_intercept(tmp_path):
    one = Axis(column=None, step=GRID.step, most=MOST_STEPS)
    # more than 32 bits hold, in steps of the grid
    many = [row(1)] * (2**31 // int(1 / GRID.step) + 1)
    table = open_rows(ENGINES["arrow"], [*many, row(2)], tmp_path)
    axes = [*scaled_axes(["price"], 0, 1, step=GRID.step, most=MOST_STEPS), one]
    whole, _ = Vectors(table=table, unit=Person("person"), axes=axes, rule="sum").read()
    assert sorted(whole[:, 1].tolist()) == [int(1 / GRID.step), MOST_STEPS]
