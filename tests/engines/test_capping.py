"""The same key keeps the same items of each person on every engine."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import narwhals as nw
import pytest
from engines.hostile import ALL
from engines.people import HONEST, row
from engines.tables import EVERY, EVERY_TYPED, MARKS, open_rows, postgres
from reference.capping import kept_pairs

from discreet import ApproxDP, BoundedRange, Person, Session
from discreet.privacy.loss import Composed
from discreet.tables.contribution_cap import Cap
from discreet.tables.counting import count_items
from discreet.tables.items import Items
from discreet.tables.opening import open_table

PERSON = Person("person")
COLUMNS = ["person", "item", "amount", "vote"]
KEYS = [f"{place:064x}" for place in (1, 2, 2**255)]
FREE = [
    row(who, item=item, amount=amount)
    for who in range(20)
    for amount, item in enumerate("abcdefgh"[: who % 8 + 1])
]
"""Persons with one to eight items."""


@pytest.fixture(scope="module", params=EVERY)
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def rows():
    """Twenty persons with many items, twice, in no order; and what else an honest table has."""
    shuffled = [*HONEST, *FREE, *FREE]
    random.Random(3).shuffle(shuffled)
    return shuffled


@pytest.fixture(scope="module")
def table(engine, rows, tmp_path_factory):
    return open_rows(engine, rows, tmp_path_factory.mktemp(engine.name), COLUMNS)


CAPS = [
    ("item", KEYS[0], 1),
    ("item", KEYS[1], 3),
    ("item", KEYS[2], 3),
    ("amount", KEYS[1], 1),
    ("amount", KEYS[2], 3),
    ("vote", KEYS[0], 1),
    ("vote", KEYS[2], 1),
]


def test_the_pairs_that_are_kept(engine, table, rows):
    """Counted by hand and by the engine; each person by itself and all of them together."""
    for column, key, items in CAPS:
        pairs = kept_pairs([(each["person"], each[column]) for each in rows], items, key)
        expected = Counter(engine.label(column, item) for _, item in pairs)
        found = dict(count_items(table, PERSON, Items(column), 1000, Cap(items, key)))
        assert found == expected, (column, key, items)


def test_the_pairs_of_each_person(engine, table, rows):
    pairs = kept_pairs([(each["person"], each["item"]) for each in rows], 3, KEYS[0])
    for who in (3, 7, 15, 19):
        # a CSV file and the like have no types
        same = nw.col("person") == (str(who) if not engine.typed else who)
        own = count_items(replace(table, where=same), PERSON, Items("item"), 1000, Cap(3, KEYS[0]))
        assert sorted(own) == sorted((item, 1) for person, item in pairs if person == who)


@pytest.mark.parametrize("engine", EVERY_TYPED)
def test_floats(engine, tmp_path):
    """So many of each person, whatever they are; both zeros are one."""
    values = [
        0.0,
        -0.0,
        1.0,
        0.5,
        -2.25,
        1e308,
        5e-324,
        1e17,
        1e-7,
        float("nan"),
        float("inf"),
        None,
    ]
    rows = [row(who, price=value) for who in range(50) for value in values]
    counts = dict(
        count_items(open_rows(engine, rows, tmp_path), PERSON, Items("price"), 100, Cap(3, KEYS[0]))
    )
    assert sum(counts.values()) == 150
    assert set(counts) <= {0.0, 1.0, 0.5, -2.25, 1e308, 5e-324, 1e17, 1e-7}
    assert min(counts.values()) > 5


@pytest.mark.parametrize("engine", EVERY)
def test_nobody_else_matters_whatever_somebody_has(engine, tmp_path):
    """A person with every hostile item there is moves the counts of a few items, by one each."""
    hostile = [each | {"person": 4711} for each in ALL.values() if engine.holds(each)]
    before = dict(
        count_items(open_rows(engine, FREE, tmp_path), PERSON, Items("item"), 1000, Cap(2, KEYS[0]))
    )
    after = dict(
        count_items(
            open_rows(engine, FREE + hostile, tmp_path),
            PERSON,
            Items("item"),
            1000,
            Cap(2, KEYS[0]),
        )
    )
    moves = [after.get(item, 0) - before.get(item, 0) for item in before | after]
    assert sorted(moves)[-2:] == [1, 1]
    assert sum(moves) == 2


@pytest.mark.parametrize("engine", EVERY)
def test_a_list_from_a_session(engine, tmp_path):
    rows = [
        row(who, item=item) for who in range(300) for item in ("a", f"only {who}", f"also {who}")
    ]
    name = "events" if engine.name == "duckdb-file" else None
    session = Session(
        engine.make(rows, tmp_path), unit=PERSON, budget=ApproxDP(10_000, 0.1), table_name=name
    )
    release = session.top_k("item", k=3, epsilon=64, delta=1e-3, limit=20, items_per_person=2)
    assert (release.value, release.loss) == (["a"], Composed({BoundedRange(64): 3}, 1e-3))


@pytest.mark.parametrize("kinds", ["bigint, item numeric", "numeric, item bigint"])
@pytest.mark.parametrize("server", [pytest.param(postgres, marks=MARKS["postgres"])])
def test_the_order_of_rows_does_not_choose_a_spelling(server, kinds):
    """1.0 and 1.00 are one number of PostgreSQL's, and which of the two stands for both hangs on
    the order of all rows: what is kept of one person must not.
    """
    connection = server()
    fractions = ["", ".0", ".00"] if "numeric, " in kinds else [""]
    items = ["", ".0", ".00"] if "item numeric" in kinds else [""]
    rows = [
        f"({who}{whose}, {item}{end})"
        for whose in fractions
        for end in items
        for who in range(40)
        for item in range(3)
    ]
    kept = []
    for name, ordered in (("forwards", rows), ("backwards", rows[::-1])):
        with connection.con.cursor() as cursor:
            cursor.execute(f"drop table if exists {name}")
            cursor.execute(f"create table {name} (person {kinds})")
            cursor.execute(f"insert into {name} values {', '.join(ordered)}")
        connection.con.commit()
        frame = open_table(connection.table(name), "test").frame
        pairs = Cap(1, KEYS[0]).keep(frame, "person", "item")
        plain = pairs.select(nw.col("person", "item").cast(nw.Float64)).collect("pyarrow")
        kept.append(sorted(plain.iter_rows()))
    assert len(kept[0]) == 40
    assert kept[0] == kept[1]
