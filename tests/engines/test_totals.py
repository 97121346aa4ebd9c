"""Scores of one's own: bounded whole terms, added without an overflow, the same on every engine
and in every order of rows.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import narwhals as nw
import pyarrow
import pytest
from engines.hostile import ALL, SOMEBODY
from engines.people import HONEST, row
from engines.seen import seen
from engines.tables import ENGINES, EVERY, IN_MEMORY, LOCAL, open_rows
from reference.conditions import NUMBER, holds

from discreet import OneRow, ParameterError, Person, PureDP, Session, column, row_count, total
from discreet.randomness.chance import SystemBits
from discreet.tables.condition_language import read_where
from discreet.tables.condition_matching import matching
from discreet.tables.total_questions import _halves, _names, add_up
from discreet.tables.totals import MOST_STEPS, range_of_totals

PERSON = Person("person")
TOTALS = [
    total("price", bounds=(0, 9), step=0.25, where="item = 'Ada'"),
    total("price", bounds=(-3, 9), step=0.1),
    total("amount", bounds=(0, 3), step=1, where="city = 'Oslo'"),
    total("amount", bounds=(-(2**31), 2**31), step=1),
    total("amount", bounds=(-(2**31), 2**31), step=1).within(-3, 3),
    total("said", bounds=(1, 8), step=0.5, where="item != 'Bob'"),
    row_count(where="item = 'Ada'"),
    row_count(most=3),
    row_count(most=2**20),
]
"""Of a row and of a person: numbers that are added in halves, and as they are."""


def number(cell):
    if isinstance(cell, str):
        return float(cell) if NUMBER.fullmatch(cell) else None
    return float(cell) if cell is not None and math.isfinite(cell) else None


def steps_of(each, line, engine):
    """The steps of one row: exact where the cell is a multiple of the step or far from one."""
    (cells,), kinds = seen(engine, [line])
    if each.where is not None and not holds(each.where, cells, kinds):
        return 0
    if each.column is None:
        return each.rows[0]
    value = number(cells[each.column])
    if value is None:
        return 0
    first, last = each.rows
    slack = Fraction(max(abs(first), abs(last), 1), 2**48)
    return min(max(math.floor(Fraction(value) / each.step + slack), first), last)


def plain(each, rows, engine, persons=True):
    """The total by plain Python."""
    own = defaultdict(int)
    for place, line in enumerate(rows):
        if persons and line["person"] is None:
            continue
        own[line["person"] if persons else place] += steps_of(each, line, engine)
    first, last = each.persons
    return sum(min(max(steps, first), last) for steps in own.values()) * each.step


@pytest.mark.parametrize("engine", EVERY)
def test_totals_are_what_plain_python_adds_up(engine, tmp_path):
    rows = [
        row
        for row in [*HONEST, *ALL.values()]
        if (ENGINES["csv"] if engine.name == "csv-multiline" else engine).holds(row)
    ]
    table = open_rows(engine, rows, tmp_path)
    assert add_up(table, PERSON, TOTALS) == [plain(each, rows, engine) for each in TOTALS]
    assert add_up(table, OneRow(), TOTALS) == [
        plain(each, rows, engine, persons=False) for each in TOTALS
    ]


@pytest.mark.parametrize("engine", EVERY)
def test_an_empty_table_adds_up_to_nothing(engine, tmp_path):
    table = open_rows(engine, [row(None)], tmp_path)
    assert add_up(table, PERSON, TOTALS) == [0] * len(TOTALS)


@pytest.mark.parametrize("engine", IN_MEMORY)
def test_no_person_moves_a_total_by_more_than_its_bounds(engine, tmp_path):
    """Every hostile person, and one with a thousand rows that all say the most."""
    worlds = list(ALL.values())
    rows = [*HONEST, *(each | {"world": place} for place, each in enumerate(worlds, start=1))]
    rows += [row(SOMEBODY, world=len(worlds) + 1, price=1e300, amount=2**63 - 1, said="9e99")] * 200
    table = open_rows(engine, rows, tmp_path)
    alone = seen_by(table, 0)
    before = add_up(alone, PERSON, TOTALS)
    for world in [1, 2, 3, len(worlds), len(worlds) + 1]:
        after = add_up(seen_by(table, world), PERSON, TOTALS)
        for each, old, new in zip(TOTALS, before, after, strict=True):
            first, last = each.persons
            assert min(first, 0) * each.step <= new - old <= max(last, 0) * each.step


def seen_by(table, world):
    """The honest rows, and those of one world."""
    condition = column("world").is_in([0, world])
    return replace(table, where=matching(condition, table))


def test_counts_alone_where_rows_are_protected_by_themselves(tmp_path):
    """Totals without a column of numbers, and without persons."""
    table = open_rows(ENGINES["arrow"], HONEST, tmp_path)
    ada = sum(each["item"] == "Ada" for each in HONEST)
    counts = [row_count(), row_count(where="item = 'Ada'")]
    assert add_up(table, OneRow(), counts) == [len(HONEST), ada]


# The attacks of Casacuberta, Shoemate, Vadhan and Wagaman (2022) on sums: what is added
# must not depend on the order of the rows, must not be rounded row by row, must not
# overflow, and must not depend on how many rows an engine believes there are.


@pytest.mark.parametrize("engine", LOCAL)
def test_reordering_does_not_change_a_total(engine, tmp_path):
    """Floats of very different sizes, in the worst orders: sums of floats differ by far more than
    one value.
    """
    values = [2.0**53, 1.0, -(2.0**53), 1.0] * 50
    each = [
        total("price", bounds=(-(2**31), 2**31), step=1),
        total("price", bounds=(0, 1), step=Fraction(1, 3)),
    ]
    orders = [
        values,
        sorted(values),
        sorted(values, reverse=True),
        random.Random(1).sample(values, len(values)),
    ]
    answers = []
    for number_, order in enumerate(orders):
        rows = [row(place, price=value) for place, value in enumerate(order)]
        (tmp_path / str(number_)).mkdir()
        answers.append(add_up(open_rows(engine, rows, tmp_path / str(number_)), PERSON, each))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == 100


@pytest.mark.parametrize("engine", LOCAL)
def test_repeated_rounding_does_not_add_up(engine, tmp_path):
    """One more row of 1 moves the total by 1, also after a large sum: floats would swallow it, or
    move by 2.
    """
    large = [row(place, price=2.0**31) for place in range(100)]
    each = [total("price", bounds=(0, 2**31), step=1)]
    for more in (0, 1, 2):
        rows = [*large, *(row(1000 + place, price=1.0) for place in range(more))]
        (tmp_path / str(more)).mkdir()
        table = open_rows(engine, rows, tmp_path / str(more))
        assert add_up(table, PERSON, each) == [100 * 2**31 + more]


def test_sums_of_narrow_integers_do_not_wrap_around():
    """In 32 bits one row more would flip the sign, and the answer."""
    rows = 2_147_483
    for more in (0, 1):
        amounts = pyarrow.array([1000] * (rows + more), pyarrow.int32())
        frame = pyarrow.table({"amount": amounts, "shop": ["a"] * (rows + more)})
        session = Session(frame, unit=OneRow(), budget=PureDP(1000))

        def clipped(shop):
            return (
                nw.when(nw.col("shop") == shop)
                .then(nw.col("amount").clip(0, 1000))
                .otherwise(0)
                .sum()
            )

        def filtered(shop):
            return nw.col("amount").clip(0, 1000).filter(nw.col("shop") == shop).sum()

        for score in (
            clipped,
            filtered,
            lambda shop: total("amount", bounds=(0, 1000), step=1, where=column("shop") == shop),
        ):
            extra = (
                {} if score not in (clipped, filtered) else {"sensitivity": 1000, "monotonic": True}
            )
            answers = {
                session.select(candidates=["a", "b"], score=score, epsilon=1, **extra).value
                for _ in range(3)
            }
            assert answers == {"a"}


@pytest.mark.parametrize(
    "engine", [each for each in LOCAL if each.id in ("duckdb", "pandas", "arrow")]
)
def test_the_largest_steps_do_not_overflow(engine, tmp_path):
    """Persons at the largest bound, many rows each: 2^31 steps a row would overflow 64 bits after
    2^32 rows if added at once.
    """
    each = [total("price", bounds=(-MOST_STEPS, MOST_STEPS), step=1)]
    rows = [row(person, price=1e300) for person in range(20) for _ in range(50)]
    rows += [row(100 + person, price=-1e300) for person in range(5)]
    table = open_rows(engine, rows, tmp_path)
    assert add_up(table, PERSON, each) == [15 * MOST_STEPS]
    assert add_up(table, OneRow(), each) == [995 * MOST_STEPS]


def test_halves_hold_what_a_whole_cannot():
    """The two halves of the largest number of steps, 2^46 times over, are 64-bit integers."""
    high, low = divmod(MOST_STEPS, 2**16)
    assert high * 2**46 < 2**63
    assert (2**16 - 1) * 2**46 < 2**63
    assert high * 2**16 + low == MOST_STEPS


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_added_is_never_larger_than_a_half(sign):
    """A number is added as it is only if its bounds are no larger than 2^16 in size."""
    for largest, parts in ((1, 1), (2**16, 1), (2**16 + 1, 2), (MOST_STEPS, 2)):
        bounds = tuple(sorted((0, sign * largest)))
        assert len(_names([bounds])) == parts
        assert len(_halves(nw.col("price"), 0, bounds)) == parts


def test_the_range_is_what_the_bounds_of_persons_allow():
    """By brute force: all moves of one person within the bounds of each score."""
    scores = [
        total("a", bounds=(-1, 2), step=1),
        total("b", bounds=(0, 1), step=0.5),
        row_count(most=3),
    ]
    moves = [
        [
            Fraction(place) * each.step
            for place in range(min(0, each.persons[0]), max(0, each.persons[1]) + 1)
        ]
        for each in scores
    ]
    worst = max(max(move) - min(move) for move in itertools.product(*moves))
    assert range_of_totals(scores) == worst == 4


def test_a_stated_sensitivity_is_enforced(tmp_path):
    """A person with many rows counts as far as was said, whatever the rows are."""
    frame = pyarrow.table({"person": [1] * 50 + [2], "item": ["a"] * 51})
    session = Session(frame, unit=PERSON, budget=PureDP(9))
    from discreet.questions.select import _clipped, _read_total

    read = [_read_total((nw.col("item") == "a").sum(), lambda _: False)]
    (clipped,) = _clipped(read, Fraction(2), "sensitivity", True)
    assert clipped.persons == (0, 2)
    assert add_up(session._runner.table, PERSON, [clipped]) == [3]


BAD = {
    "not clipped": lambda name: nw.col("amount").sum(),
    "a mean": lambda name: nw.col("amount").clip(0, 3).mean(),
    "a product": lambda name: (nw.col("amount") * 2).clip(0, 3).sum(),
    "a cast": lambda name: nw.col("said").cast(nw.Float64).clip(0, 3).sum(),
    "a maximum": lambda name: nw.col("amount").max(),
    "one bound": lambda name: nw.col("amount").clip(0).sum(),
    "a bound from the data": lambda name: nw.col("amount").clip(0, nw.col("amount").max()).sum(),
    "otherwise something": lambda name: nw.when(nw.col("item") == name).then(1).otherwise(5).sum(),
    "a sum of sums": lambda name: nw.col("amount").clip(0, 3).sum() + 1,
    "no aggregation": lambda name: nw.col("amount").clip(0, 3),
    "a number": lambda name: 3,
    "text that is cast": lambda name: (
        nw.col("said").cast(nw.Int64).filter(nw.col("item") == name).sum()
    ),
    "a text column as a flag": lambda name: nw.col("said").cast(nw.Int64).sum(),
    "NaN for some": lambda name: (
        nw.when(nw.col("item") == name).then(float("nan")).otherwise(0).sum()
    ),
    "infinity otherwise": lambda name: (
        nw.when(nw.col("item") == name).then(1).otherwise(float("inf")).sum()
    ),
    "several columns": lambda name: nw.col("amount", "price").clip(0, 3).sum(),
    "a filter that could fail": lambda name: (
        nw.col("amount").clip(0, 3).filter(nw.col("said").cast(nw.Int64) == 1).sum()
    ),
}


def test_scores_that_could_fail_are_refused_before_the_charge(tmp_path):
    session = Session(open_source(tmp_path), unit=PERSON, budget=PureDP(1))
    for name, score in BAD.items():
        assert "of Session.select must be" in refusal(session, score), name
        assert session.remaining() == 1, name


def refusal(session, score):
    """The text of the refusal, or nothing where the question is answered."""
    try:
        session.select(candidates=["Ada"], score=score, epsilon=1, sensitivity=1)
    except ParameterError as error:
        return str(error)
    return ""


def open_source(place):
    from engines.tables import ENGINES

    return ENGINES["arrow"].make(HONEST, place)


GOOD = {
    "a flag": (lambda name: (nw.col("item") == name).sum(), {"sensitivity": 2, "monotonic": True}),
    "a flag that is cast": (
        lambda name: (nw.col("item") == name).cast(nw.Int32).sum(),
        {"sensitivity": 2, "monotonic": True},
    ),
    "a choice": (
        lambda name: nw.when(nw.col("item") == name).then(1).otherwise(0).sum(),
        {"sensitivity": 1, "monotonic": True},
    ),
    "clipped and filtered": (
        lambda name: nw.col("price").filter(nw.col("item") == name).clip(0, 8).sum(),
        {"sensitivity": 8},
    ),
    "clipped, then filtered": (
        lambda name: (
            nw.col("price")
            .clip(-2, 8)
            .filter(nw.col("item") == name, nw.col("city") == "Oslo")
            .sum()
        ),
        {"score_range": 10},
    ),
    "rows": (lambda name: nw.len(), {"sensitivity": 1, "monotonic": True}),
    "a total": (
        lambda name: total("price", bounds=(0, 8), step=1, where=read_where(f"item = '{name}'")),
        {},
    ),
    "a total, and less of each person": (
        lambda name: total("price", bounds=(0, 8), step=1),
        {"sensitivity": 2},
    ),
    "a count": (lambda name: row_count(where=column("item") == name), {}),
}


# Spark adds up the same totals in the tests above, where a query takes seconds.
@pytest.mark.parametrize("engine", [each for each in EVERY if each.id in ("duckdb", "postgres")])
def test_scores_that_cannot_fail_are_answered(engine, tmp_path):
    session = Session(engine.make(HONEST, tmp_path), unit=PERSON, budget=PureDP(100))
    for name, (score, extra) in GOOD.items():
        release = session.select(
            candidates=["Ada", "Bob"], score=score, epsilon=1, bits=SystemBits(), **extra
        )
        assert release.value in ("Ada", "Bob"), name
        assert release.loss == PureDP(1), name
