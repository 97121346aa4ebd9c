"""One more person, whatever they write, moves no score by more than its bound, and nothing raises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import narwhals as nw
import pytest
from engines import plain
from engines.hostile import ALL, CONTROL, FEW, SOMEBODY, UNTYPED
from engines.people import CANDIDATES, GRID, HONEST, LOW, POINTS, PRICES, STEP, row
from engines.tables import ENGINES, EVERY, MARKS, open_rows, postgres

from discreet import Person
from discreet.data.counting import count_bins, count_candidates, count_grid, count_items
from discreet.data.public import Levels
from discreet.data.table import open_table
from discreet.scores.ranks import rank_errors
from discreet.scores.revenue import revenues

PERSON = Person("person")
SHARES = [Fraction(1, 2), Fraction(9, 10), Fraction(0)]
COLUMNS = ["item", "price", "said", "amount"]


@dataclass
class Counts:
    """What questions rest on: counts of candidates, of bins between prices, and of points of a grid, by column."""

    candidates: dict[str, list[int]]
    bins: dict[str, list[int]]
    grids: dict[str, list[int]]

    @classmethod
    def of_table(cls, table, columns, rule="max"):
        return cls(
            {name: count_candidates(table, PERSON, name, CANDIDATES) for name in columns if name == "item"},
            {name: count_bins(table, PERSON, name, PRICES, rule) for name in columns if name in ("price", "said")},
            {
                name: count_grid(table, PERSON, name, LOW, STEP, POINTS, rule)
                for name in columns
                if name in ("price", "amount")
            },
        )

    @classmethod
    def of_rows(cls, rows, columns, rule="max"):
        return cls(
            {name: plain.count_candidates(rows, True, name, CANDIDATES) for name in columns if name == "item"},
            {name: plain.count_bins(rows, True, name, PRICES, rule) for name in columns if name in ("price", "said")},
            {name: plain.count_bins(rows, True, name, GRID, rule) for name in columns if name in ("price", "amount")},
        )


def columns_of(hostile):
    """The columns in which a hostile row differs from a usual one."""
    usual = row(SOMEBODY)
    return [name for name in COLUMNS if hostile[name] != usual[name]] or ["item"]


def moved(before, after):
    return [new - old for old, new in zip(before, after, strict=True)]


def check_bounds(before: Counts, after: Counts):
    """One person more: each count up by 0 or 1, each revenue by at most the top price, each rank error by max(q, 1 - q)."""
    for name, counts in after.candidates.items():
        assert set(moved(before.candidates[name], counts)) <= {0, 1}
    for name, bins in after.bins.items():
        moves = moved(before.bins[name], bins)
        assert set(moves) <= {0, 1}
        assert sum(moves) <= 1
        gains = moved(revenues(PRICES, before.bins[name]), revenues(PRICES, bins))
        assert all(0 <= gain <= max(PRICES) for gain in gains)
    for name, grid in after.grids.items():
        for share in SHARES:
            errors = moved(rank_errors(before.grids[name], share), rank_errors(grid, share))
            assert all(abs(error) <= max(share, 1 - share) for error in errors)


def possible(engine, rows):
    """The hostile rows that can be in a table of this engine."""
    more = (CONTROL if engine.name != "postgres" else {}) | (UNTYPED if not engine.typed else {})
    return rows | more


def test_there_are_enough_of_them():
    assert len(FEW) > 45
    assert len(ALL) > 120
    assert FEW.items() <= ALL.items()


@pytest.mark.parametrize("rule", ["max", "min"])
def test_plain_counts_keep_the_bounds(rule):
    for hostile in (ALL | CONTROL | UNTYPED).values():
        columns = columns_of(hostile)
        check_bounds(Counts.of_rows(HONEST, columns, rule), Counts.of_rows([*HONEST, hostile], columns, rule))


@pytest.mark.parametrize("rows", [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("engine", EVERY)
def test_one_hostile_row(engine, rows, tmp_path):
    rows = possible(engine, rows)
    for (what, hostile), table in zip(rows.items(), with_each(engine, rows.values(), tmp_path), strict=True):
        columns = columns_of(hostile)
        try:
            after = Counts.of_table(table, columns)
            check_bounds(Counts.of_rows(engine.seen(HONEST), columns), after)
            assert after == Counts.of_rows(engine.seen([*HONEST, hostile]), columns)
        except Exception as error:
            error.add_note(what)
            raise


def with_each(engine, hostile_rows, place):
    """For each hostile row a table of the honest rows and this one; or one table of all, seen through a condition."""
    if engine.name in ("csv", "json", "duckdb", "polars", "pandas-objects"):
        for hostile in hostile_rows:
            yield open_rows(engine, [*HONEST[:20], hostile, *HONEST[20:]], place)
        return
    worlds = [hostile | {"world": world} for world, hostile in enumerate(hostile_rows, start=1)]
    table = open_rows(engine, [*HONEST, *worlds], place)
    for hostile in worlds:
        yield replace(table, where=nw.col("world").is_in([0, hostile["world"]]))


@pytest.mark.parametrize("engine", EVERY)
def test_all_hostile_rows_at_once(engine, tmp_path):
    rows = list(HONEST)
    for place, hostile in enumerate(possible(engine, ALL).values()):
        rows.append(hostile | ({"person": SOMEBODY + place} if hostile["person"] == SOMEBODY else {}))
    table = open_rows(engine, rows, tmp_path)
    for rule in ("max", "min"):
        assert Counts.of_table(table, COLUMNS, rule) == Counts.of_rows(engine.seen(rows), COLUMNS, rule)
    expected = plain.count_items(rows, True, "item")
    if engine.name == "csv":
        del expected[""]  # an empty cell is no text in a CSV file
    assert dict(count_items(table, PERSON, "item", 10**6)) == expected
    levels = Levels(table, PERSON, "item", table, "item", Fraction(1, 3))
    assert sum(levels.sizes.values()) == len(expected)
    assert levels.label(max(levels.sizes), 0) in expected


@pytest.mark.parametrize("engine", EVERY)
def test_a_person_with_a_hundred_thousand_rows(engine, tmp_path):
    busy = [row(SOMEBODY, item=CANDIDATES[place % 4], price=float(place % 11), said=str(place % 13)) for place in range(100)]
    columns = ["item", "price", "said"]
    after = Counts.of_table(crowd(engine, tmp_path, busy, 1000), columns)
    before = Counts.of_rows(engine.seen(HONEST), columns)
    check_bounds(before, after)
    assert moved(before.candidates["item"], after.candidates["item"]) == [1, 1, 1, 1, 0]
    assert after == Counts.of_rows(engine.seen([*HONEST, *busy]), columns)


def crowd(engine, place, busy, times):
    """The honest rows and many copies of some, in the way that is quickest on this engine."""
    if engine.name == "spark":
        honest, rows = engine.make(HONEST, place), engine.make(busy, place)
        copies = rows.sparkSession.range(times).withColumnRenamed("id", "copy")
        return open_table(honest.unionByName(rows.crossJoin(copies).drop("copy")), "test")
    return open_rows(engine, [*HONEST, *busy * times], place)


@pytest.mark.parametrize("engine", [pytest.param(ENGINES["postgres"], marks=MARKS["postgres"], id="postgres")])
def test_numeric_without_limits(engine, tmp_path):
    """PostgreSQL's numeric has NaN, infinities and more digits than a float."""
    connection = postgres()
    values = ["1.5", "'NaN'", "'Infinity'", "'-Infinity'", "1e400", "-1e400", "1e-400", "4", "null"]
    with connection.con.cursor() as cursor:
        cursor.execute("create table numerics (person bigint, price numeric)")
        cursor.execute("insert into numerics values " + ", ".join(f"({place}, {each})" for place, each in enumerate(values)))
    connection.con.commit()
    table = open_table(connection.table("numerics"), "test")
    assert count_bins(table, PERSON, "price", PRICES, "max") == [1, 1, 0, 1, 0, 0]
    assert sum(count_grid(table, PERSON, "price", LOW, STEP, POINTS, "min")) == 3
