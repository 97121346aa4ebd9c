"""One more person, whatever they write, moves no score by more than its bound, and nothing
raises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest
from engines import plain
from engines.hostile import (
    ALL,
    CONTROL,
    FEW,
    NAMES,
    SOMEBODY,
    UNTYPED,
    WEIGHTS,
    crowd_of_hostile_persons,
    halves_of,
    possible,
    with_each,
)
from engines.people import BIRTHDAYS, CANDIDATES, GRID, HONEST, LOW, POINTS, PRICES, STEP, row
from engines.tables import (
    EACH,
    ENGINES,
    EVERY,
    EVERY_TYPED,
    IN_MEMORY,
    MARKS,
    NUMBERS,
    open_rows,
    postgres,
    spark,
)
from reference.ranks import rank_errors

import discreet
from discreet import Person, row_count, total
from discreet.mechanisms.grid import Grid, PointList
from discreet.questions.best_price import revenues
from discreet.tables.candidates import CountHistogram
from discreet.tables.counting import (
    count_bins,
    count_candidates,
    count_grid,
    count_items,
    count_ranks,
)
from discreet.tables.items import Items
from discreet.tables.opening import open_table
from discreet.tables.table import with_numbers
from discreet.tables.total_questions import add_up

PERSON = Person("person")
SHARES = [Fraction(1, 2), Fraction(9, 10), Fraction(0)]
MOST = 10**6  # more items than any of these tables has


@dataclass
class Scores:
    """What each question rests on.

    candidates: of mode, and of top_k with candidates: how many persons have each, by column.
    items: of top_k without candidates.
    bins: of best_price: how many persons' values lie between two prices, by column.
    grid: of quantile: the same for the points of a grid.
    sums: of select: the values of totals.
    """

    candidates: dict[str, list[int]]
    items: dict[object, int]
    bins: dict[str, list[int]]
    grid: dict[str, list[int]]
    sums: list[Fraction]


TOTALS = [
    *(row_count(where=discreet.column("item") == candidate) for candidate in CANDIDATES),
    row_count(),
    row_count(where="price >= 4"),
    total("amount", bounds=(0, 3), step=1),
]
"""Scores of one's own; by their bounds one person moves the first by 0 or 1, and the last by 0 to
3.
"""


def plain_sums(engine, rows):
    """Of the persons' rows the first ones that count, up to the bounds."""
    flags = [lambda each, name=name: each["item"] == name for name in CANDIDATES]

    # An infinite float is above 4; text that says so is no number.
    def price(each):
        return each["price"] if isinstance(each["price"], float) else plain.number(each["price"])

    flags += [lambda each: True, lambda each: (price(each) or 0) >= 4]
    persons = {}
    for each in rows:
        if each["person"] is not None:
            persons.setdefault(each["person"], []).append(each)
    sums = [sum(any(map(flag, own)) for own in persons.values()) for flag in flags]
    steps = lambda each: min(max(math.floor(plain.number(each["amount"]) or 0), 0), 3)  # noqa: E731
    return [*sums, sum(min(sum(map(steps, own)), 3) for own in persons.values())]


def of_table(engine, table, columns, rule="max"):
    """The scores of a table, where each question is about the given columns if it can be."""
    items, numbers = asked(columns)

    def of(*columns):
        # the columns of one question, as a session asks for them
        world = ["world"] if table.where is not None else []
        return table.having(["person", *columns, *world])

    return Scores(
        {
            item: count_candidates(
                of(item), PERSON, Items(item), [engine.label(item, label) for label in LABELS[item]]
            )
            for item in items
        },
        dict(count_items(of("item"), PERSON, Items("item"), MOST)),
        {number: count_bins(of(number), PERSON, number, PRICES, rule) for number in numbers},
        {
            number: count_grid(of(number), PERSON, number, Grid(LOW, STEP, POINTS), rule)
            for number in numbers
        },
        add_up(of("item", "price", "amount"), PERSON, TOTALS),
    )


def of_rows(engine, rows, columns, rule="max"):
    """The same by plain Python."""
    items, numbers = asked(columns)
    seen = engine.seen(rows)
    counted = plain.count_items(rows, True, "item")
    if engine.name.startswith("csv"):
        counted.pop("", None)  # an empty cell is no text in a CSV file
    return Scores(
        {item: plain.count_candidates(rows, True, item, LABELS[item]) for item in items},
        counted,
        {number: plain.count_bins(seen, True, number, PRICES, rule) for number in numbers},
        {number: plain.count_ranks(seen, True, number, GRID, rule, SLACK) for number in numbers},
        plain_sums(engine, seen),
    )


SLACK = Grid(LOW, STEP, POINTS).slack
LABELS = {"item": CANDIDATES, "born": BIRTHDAYS}


def asked(columns):
    """The columns of items and the columns of numbers."""
    items = [column for column in columns if column in LABELS]
    numbers = [column for column in columns if column in NUMBERS]
    return items or ["item"], numbers or ["price"]


def column_of(hostile):
    """The column in which a hostile row differs from a usual one."""
    usual = row(SOMEBODY)
    return next((name for name in ("born", *NUMBERS) if hostile[name] != usual[name]), "item")


def moved(before, after):
    return [new - old for old, new in zip(before, after, strict=True)]


def check_bounds(engine, before, after):
    """One person more: each count up by 0 or 1, each revenue by at most the top price, each rank
    error by max(q, 1 - q).
    """
    for column, counts in after.candidates.items():
        assert set(moved(before.candidates[column], counts)) <= {0, 1}
    assert {
        after.items.get(item, 0) - before.items.get(item, 0) for item in before.items | after.items
    } <= {0, 1}
    for column in after.bins:
        check_bounds_of_numbers(before.bins[column], after.bins[column])
        check_bounds_of_numbers(before.grid[column], after.grid[column])
        gains = moved(revenues(PRICES, before.bins[column]), revenues(PRICES, after.bins[column]))
        assert all(0 <= gain <= max(PRICES) for gain in gains)
        for share in SHARES:
            ranks = (rank_errors(each.grid[column], share) for each in (before, after))
            assert all(abs(error) <= max(share, 1 - share) for error in moved(*ranks))
    for each, change in zip(TOTALS, moved(before.sums, after.sums), strict=True):
        assert each.persons[0] <= change <= each.persons[1]


def check_bounds_of_numbers(before, after):
    assert set(moved(before, after)) <= {0, 1}
    assert sum(moved(before, after)) <= 1


def test_there_are_enough_of_them():
    assert len(FEW) > 50
    assert len({tuple(sorted(each.items(), key=str)) for each in FEW.values()}) == len(FEW)
    assert len(ALL) > 120
    assert FEW.items() <= ALL.items()


@pytest.mark.parametrize(
    "hostile_rows", [FEW, pytest.param(ALL, marks=pytest.mark.sizes)], ids=["few", "all"]
)
def test_plain_counts_keep_the_bounds(hostile_rows):
    for engine, rule, more in (
        (ENGINES["duckdb"], "max", CONTROL),
        (ENGINES["json"], "min", CONTROL | UNTYPED),
    ):
        alone = {
            column: of_rows(engine, HONEST, [column], rule) for column in ("born", "item", *NUMBERS)
        }
        for hostile in (hostile_rows | more).values():
            column = column_of(hostile)
            after = of_rows(engine, [*HONEST, hostile], [column], rule)
            check_bounds(engine, alone[column], after)


@pytest.mark.parametrize("engine", IN_MEMORY)
@pytest.mark.timeout(1200)
def test_each_hostile_row_in_half_of_the_tables(engine, tmp_path):
    """Every question about every column, of a few tables: the scores are what plain Python counts,
    which keep the bounds (above).

    No two rows are in the same tables, so an error that one makes is not made good by another.
    """
    rows = possible(engine, FEW)
    halves = halves_of(crowd_of_hostile_persons(rows)[len(HONEST) :])
    for chosen, table in zip(halves, with_each(engine, halves, tmp_path), strict=True):
        expected = of_rows(engine, [*HONEST, *chosen], (*LABELS, *NUMBERS))
        assert of_table(engine, table, (*LABELS, *NUMBERS)) == expected


def test_no_two_rows_are_in_the_same_halves():
    for rows in (range(6), range(60), range(200)):
        halves = halves_of(rows)
        within = [frozenset(n for n, half in enumerate(halves) if row in half) for row in rows]
        assert len(halves) <= 12
        assert {len(each) for each in within} == {len(halves) // 2}
        assert len(set(within)) == len(rows)


@pytest.mark.pairs
@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.timeout(1200)
def test_one_hostile_row(engine, tmp_path):
    """Every question, before and after: no score moves by more than its bound, and each is what
    plain Python counts.
    """
    rows = possible(engine, ALL)
    alone = [[hostile] for hostile in rows.values()]
    honest = cache(lambda column: of_rows(engine, HONEST, [column]))
    for what, (hostile,), table in zip(
        rows, alone, with_each(engine, alone, tmp_path), strict=True
    ):
        column = column_of(hostile)
        try:
            after = of_table(engine, table, [column])
            check_bounds(engine, honest(column), after)
            assert after == of_rows(engine, [*HONEST, hostile], [column])
        except Exception as error:
            error.add_note(what)
            raise


@pytest.mark.parametrize("engine", EACH)
def test_all_hostile_rows_at_once(engine, tmp_path):
    rows = crowd_of_hostile_persons(possible(engine, ALL))
    table = open_rows(engine, rows, tmp_path)
    check_all(engine, table, rows)
    tally = CountHistogram(table, PERSON, Items("item"), table, "item")
    expected = of_rows(engine, rows, ["item"]).items
    assert tally.sizes.sum() == len(expected)
    assert tally.label(tally.counts.size - 1, 0) in expected


def check_all(engine, table, rows):
    for columns, rule in ((("item", "price", "amount"), "max"), (("born", "said"), "min")):
        assert of_table(engine, table, columns, rule) == of_rows(engine, rows, columns, rule)


@pytest.mark.parametrize(
    "engine", [pytest.param(ENGINES["spark"], marks=MARKS["spark"], id="spark")]
)
def test_spark_as_it_is_set_up_by_default(engine, tmp_path):
    """The other tests ask a Spark that plans as little as possible; this one has several
    partitions and compiles its queries.
    """
    usual = {
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": "5",
    }
    rows = crowd_of_hostile_persons(possible(engine, ALL))
    before = {name: spark().conf.get(name) for name in usual}
    try:
        for name, value in usual.items():
            spark().conf.set(name, value)
        frame = engine.make(rows, tmp_path).repartition(3)
        check_all(engine, with_numbers(open_table(frame), True), rows)
    finally:
        for name, value in before.items():
            spark().conf.set(name, value)


@pytest.mark.parametrize("engine", EVERY_TYPED)
@pytest.mark.parametrize(("column", "persons"), [("name", NAMES), ("weight", WEIGHTS)])
def test_persons_who_are_text_or_floats(engine, column, persons, tmp_path):
    """Ids that only look alike are different persons; NaN is nobody; -0.0 is 0.0."""
    rows = [*HONEST, *(row(SOMEBODY, **{column: person}) for person in persons for _ in range(2))]
    table, unit = open_rows(engine, rows, tmp_path), Person(column)
    known = [
        each | {"person": None if each[column] != each[column] else each[column]} for each in rows
    ]
    assert count_candidates(table, unit, Items("item"), CANDIDATES) == plain.count_candidates(
        known, True, "item", CANDIDATES
    )
    assert count_bins(table, unit, "price", PRICES, "min") == plain.count_bins(
        known, True, "price", PRICES, "min"
    )


@pytest.mark.parametrize("engine", EVERY_TYPED)
@pytest.mark.parametrize("step", [Fraction(5), Fraction(10) ** 280], ids=["coarse", "huge"])
def test_a_cell_next_to_nothing_on_a_coarse_grid(engine, step, tmp_path):
    """PostgreSQL takes an underflow for an error: 5e-324 divided by 5 would fail the question."""
    tiny = [5e-324, -5e-324, 2.2250738585072014e-308, -1e-300, 0.0]
    table = open_rows(engine, [row(place, price=cell) for place, cell in enumerate(tiny)], tmp_path)
    # The slack of the grid takes what is just below 0 for 0.
    grids = Grid(Fraction(0), step, 3), Grid(-step, step, 3)
    assert count_grid(table, PERSON, "price", grids[0], "max") == [5, 0, 0, 0, 0]
    assert count_grid(table, PERSON, "price", grids[1], "min") == [0, 0, 5, 0, 0]
    near = PointList((-step, Fraction(0), step))
    assert sum(count_ranks(table, PERSON, "price", near, "max")) == 5
    assert add_up(table, PERSON, [total("price", bounds=(-step, step), step=step)]) == [0]


@pytest.mark.parametrize("times", [50, pytest.param(1000, marks=pytest.mark.sizes)])
@pytest.mark.parametrize("engine", EVERY)
def test_a_person_with_very_many_rows(engine, times, tmp_path):
    """5,000 rows are two whole vectors of DuckDB (2,048 rows) and more, and more than it looks at
    of a pandas column (1,000). Its next larger parts, 102,400 rows of pandas and row groups of
    122,880, are not crossed by 100,000 rows and the honest ones either.
    """
    busy = [
        row(SOMEBODY, item=CANDIDATES[place % 4], price=float(place % 11), said=str(place % 13))
        for place in range(100)
    ]
    table = crowd(engine, tmp_path, busy, times)
    columns = ("price", "said")
    before, after = of_rows(engine, HONEST, columns), of_table(engine, table, columns)
    check_bounds(engine, before, after)
    assert moved(before.candidates["item"], after.candidates["item"]) == [1, 1, 1, 1, 0]
    assert after == of_rows(engine, [*HONEST, *busy], columns)


def crowd(engine, place, busy, times):
    """The honest rows and many copies of some, in the way that is quickest on this engine."""
    if engine.name == "spark":
        honest, rows = engine.make(HONEST, place), engine.make(busy, place)
        copies = rows.sparkSession.range(times).withColumnRenamed("id", "copy")
        frame = honest.unionByName(rows.crossJoin(copies).drop("copy"))
        return with_numbers(open_table(frame), True)
    return open_rows(engine, [*HONEST, *busy * times], place)


@pytest.mark.parametrize(
    "engine", [pytest.param(ENGINES["postgres"], marks=MARKS["postgres"], id="postgres")]
)
def test_numeric_without_limits(engine, tmp_path):
    """PostgreSQL's numeric has NaN, infinities and more digits than a float."""
    connection = postgres()
    values = [
        "1.5",
        "0.1234567890123456789",
        "1e30",
        "-1e-400",
        "'NaN'",
        "'Infinity'",
        "'-Infinity'",
        "1e400",
        "-1e400",
        "1e-400",
        "4",
        "null",
    ]
    with connection.con.cursor() as cursor:
        cursor.execute("create table numerics (person bigint, price numeric)")
        cursor.execute(
            "insert into numerics values "
            + ", ".join(f"({place}, {each})" for place, each in enumerate(values))
        )
    connection.con.commit()
    table = open_table(connection.table("numerics"))
    assert count_bins(table, PERSON, "price", PRICES, "max") == [3, 1, 0, 1, 0, 0]
    assert sum(count_grid(table, PERSON, "price", Grid(LOW, STEP, POINTS), "min")) == 5
    candidates = [
        Decimal(text) for text in ("1.50", "0.1234567890123456789", "1e30", "1e-400", "2", "1e-5")
    ] + [4]
    assert count_candidates(table, PERSON, Items("price"), candidates) == [1, 1, 1, 1, 0, 0, 1]
    tally = CountHistogram(table, PERSON, Items("price"), table, "price")
    assert Decimal("1e-400") in [tally.label(0, place) for place in range(int(tally.sizes[0]))]


@pytest.mark.parametrize(
    "engine", [pytest.param(ENGINES["postgres"], marks=MARKS["postgres"], id="postgres")]
)
def test_days_that_python_does_not_know(engine, tmp_path):
    """PostgreSQL has days before the year 1, after the year 9999, and at infinity."""
    connection = postgres()
    days = ["'2000-02-29'", "'infinity'", "'-infinity'", "'4000-01-01 BC'", "'10000-01-01'", "null"]
    with connection.con.cursor() as cursor:
        cursor.execute("create table days (person bigint, born date)")
        cursor.execute(
            "insert into days values "
            + ", ".join(f"({place}, {each})" for place, each in enumerate(days))
        )
    table = open_table(connection.table("days"))
    assert count_candidates(table, PERSON, Items("born"), [*BIRTHDAYS, date.max]) == [1, 0, 0, 0]
