"""Fits of a table: what a session gives is what the function gives for one row a person; and one
person more, whatever their rows are, is one vector more that is not longer than the norm.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars
import pytest

import discreet
from discreet import ApproxDP, OneRow, ParameterError, Person, PureDP, Session
from discreet.mechanisms.covariance import CovarianceMechanism
from discreet.mechanisms.rows import MOST_STEPS, RowGrid
from discreet.questions import QUESTIONS, FitCovariance, fits
from discreet.tables import vectors
from discreet.tables.opening import open_table
from discreet.tables.vectors import moment_of
from discreet.testing import SeededBits

COLUMNS = ["height", "weight"]
GRID = RowGrid.of(1)
INFINITE = float("inf")


def people(size=60, seed=3):
    """Rows of persons with one to three rows each, on the grid of norm 1."""
    random = np.random.default_rng(seed)
    persons = np.sort(random.integers(0, size // 2, size))
    height = np.trunc(random.normal(0, 0.3, size) * 2**16) / 2**16
    weight = np.trunc((height / 2 + random.normal(0, 0.1, size)) * 2**16) / 2**16
    said = np.where(height + random.normal(0, 0.1, size) > 0, "yes", "no")
    return polars.DataFrame(
        {
            "person": persons,
            "height": height,
            "weight": weight,
            "target": np.trunc((height - weight) * 2**16) / 2**16,
            "said": said,
        }
    )


PEOPLE = people()
ASKED = {
    "fit_subspace": ((COLUMNS,), {"k": 1, "norm": 1}),
    "fit_covariance": ((COLUMNS,), {"norm": 1}),
    "fit_linear": ((COLUMNS, "target"), {"norm": 1, "radius": 1, "bounds": (-1, 1)}),
    "fit_logistic": ((COLUMNS, "said"), {"norm": 1, "radius": 2, "classes": ("no", "yes")}),
    "fit_deepest": ((COLUMNS,), {"bounds": [(-1, 1), (-1, 1)], "step": 0.125}),
}
EACH = pytest.mark.parametrize("what", [name for name in QUESTIONS if name.startswith("fit_")])


def asked(table, what, *, unit=None, seed=5, numbers_in_text=False, **more):
    (columns, *others), given = ASKED[what]
    unit = unit or Person("person")
    given = given | ({"rule": "sum"} if isinstance(unit, Person) else {}) | more
    session = Session(table, unit=unit, budget=PureDP(100), numbers_in_text=numbers_in_text)
    return getattr(session, what)(
        columns, *others, **({"epsilon": 2} | given), bits=SeededBits(seed)
    )


def of_rows(rows, what, *, targets=None, labels=None, seed=5, **more):
    """The same by the function, for rows of which each is a person."""
    data = {"fit_linear": (targets,), "fit_logistic": (labels,)}.get(what, ())
    if what == "fit_deepest":
        more = {"unit": "point"} | more
    given = {"epsilon": 2} | ASKED[what][1] | more
    return getattr(discreet.models, what)(rows, *data, **given, bits=SeededBits(seed))


def joined(table, rule="sum"):
    """One row a person, in the order that sessions sort them: vectors, targets and labels."""
    names = [*COLUMNS, "target"]
    shares = [getattr(polars.col(name), rule)() for name in names]
    votes = polars.when(polars.col("said") == "yes").then(1).otherwise(-1).sum().alias("votes")
    persons = table.group_by("person").agg(*shares, votes)
    if rule == "mean":
        cut = [(polars.col(name) * 2**16).cast(polars.Int64) / 2**16 for name in COLUMNS]
        persons = persons.with_columns(*cut)
    return persons


@EACH
@pytest.mark.parametrize(
    "make",
    [
        lambda table: table,
        pytest.param(lambda table: table.to_arrow(), marks=pytest.mark.pairs),
    ],
)
def test_a_session_gives_what_the_function_gives_for_one_row_a_person(what, make):
    persons = joined(PEOPLE)
    if what == "fit_logistic":
        persons = persons.filter(polars.col("votes") != 0).sort(*COLUMNS)
    elif what == "fit_linear":
        persons = persons.sort(*COLUMNS, "target")
    else:
        persons = persons.sort(*COLUMNS)
    free = of_rows(
        persons.select(COLUMNS).to_numpy(),
        what,
        targets=persons["target"].to_numpy(),
        labels=np.where(persons["votes"].to_numpy() > 0, "yes", "no"),
    )
    session = asked(make(PEOPLE), what)
    assert session.value == free.value
    assert session.loss == free.loss
    assert session.mechanism == free.mechanism
    # the same rate, also where these bits would draw the same with another one
    assert session.accuracy.bound == free.accuracy.bound


@EACH
def test_where_each_row_is_protected_the_rows_are_those_of_the_function(what):
    order = [*COLUMNS, "target"] if what == "fit_linear" else COLUMNS
    rows = PEOPLE.sort(*order)
    free = of_rows(
        rows.select(COLUMNS).to_numpy(),
        what,
        targets=rows["target"].to_numpy(),
        labels=rows["said"].to_numpy(),
    )
    assert asked(PEOPLE, what, unit=OneRow()).value == free.value


@pytest.mark.parametrize("what", ["fit_subspace", "fit_covariance", "fit_deepest"])
def test_rows_of_a_person_are_averaged_where_that_is_said(what):
    rows = joined(PEOPLE, "mean").sort(*COLUMNS).select(COLUMNS).to_numpy()
    assert asked(PEOPLE, what, rule="mean").value == of_rows(rows, what).value


@pytest.mark.parametrize("what", ["fit_subspace", "fit_linear", "fit_logistic"])
def test_cells_are_centred_and_scaled_by_public_numbers(what):
    moved = PEOPLE.with_columns(polars.col("height") * 4 + 8, polars.col("weight") / 2 - 1)
    given = {"center": [8, -1], "scale": [4, 0.5]}
    assert asked(moved, what, **given).value == asked(PEOPLE, what).value
    both = PEOPLE.with_columns(polars.col(name) * 2 for name in COLUMNS)
    assert asked(both, what, scale=2).value == asked(PEOPLE, what).value


@pytest.mark.parametrize("what", ["fit_linear", "fit_logistic"])
def test_an_intercept_is_a_last_column_of_ones(what):
    rows = PEOPLE.with_columns(polars.lit(1.0).alias("one"))
    (columns, *others), given = ASKED[what]
    session = Session(rows, unit=OneRow(), budget=PureDP(100))
    by_hand = getattr(session, what)(
        [*columns, "one"], *others, **given, epsilon=2, bits=SeededBits(5)
    )
    assert asked(PEOPLE, what, unit=OneRow(), intercept=True).value == by_hand.value
    assert len(by_hand.value) == 3


def test_a_person_has_the_label_of_most_of_their_rows():
    rows = [("a", "yes"), ("a", "yes"), ("a", "no"), ("b", "no"), ("c", "yes"), ("c", "no")]
    rows += [("d", "maybe"), ("d", None), ("e", "no"), ("e", "maybe")]
    table = polars.DataFrame(
        {
            "person": [person for person, _ in rows],
            "said": [label for _, label in rows],
            "height": [2.0 ** -ord(person) * 2.0**97 for person, _ in rows],
        }
    )
    found = vectors.Vectors(
        table=open_table(table),
        unit=Person("person"),
        axes=[vectors.Axis(column="height", step=Fraction(1, 16))],
        rule="mean",
        sign=fits._sign(open_table(table), "said", ("no", "yes")),
    )
    entries, signs = found.read()
    assert list(zip(entries[:, 0].tolist(), signs.tolist(), strict=True)) == [
        (1, -1),
        (8, -1),
        (16, 1),
    ]


# What one more person can bring.
HOSTILE = {
    "nothing": [(None, None)],
    "huge": [(1e308, -1e308)],
    "huge many times": [(1e308, 1e308)] * 50,
    "huge and back": [(1e308, 1.0), (-1e308, -1.0)],
    "no numbers": [(float("nan"), 1.0), (INFINITE, 0.0), (None, 1.0)],
    "tiny": [(5e-324, -5e-324)],
    "one step": [(2.0**-16, 0.0)],
    "just as long": [(0.6, 0.8)],
    "a little longer": [(0.7072, 0.7072)],
    "long by many rows": [(0.25, -0.5)] * 9,
}


def with_person(rows, person=1000, beside=PEOPLE):
    more = {
        "person": [person] * len(rows),
        "height": [height for height, _ in rows],
        "weight": [weight for _, weight in rows],
        "target": [1.0] * len(rows),
        "said": ["yes"] * len(rows),
    }
    return polars.concat([beside, polars.DataFrame(more, schema=PEOPLE.schema)])


def moment(table, rule):
    axes = vectors.scaled_axes(COLUMNS, None, None, step=GRID.step, most=MOST_STEPS)
    persons = vectors.Vectors(table=open_table(table), unit=Person("person"), axes=axes, rule=rule)
    return moment_of(persons, GRID)


@pytest.mark.parametrize("rule", ["sum", "mean"])
def test_one_person_more_is_one_vector_more_and_not_longer_than_the_norm(rule):
    before, longest = moment(PEOPLE, rule), 0
    for rows in HOSTILE.values():
        (height, both), (_, weight) = (moment(with_person(rows), rule) - before).tolist()
        # n n' for a vector n of whole numbers
        assert math.isqrt(height) ** 2 == height
        assert math.isqrt(weight) ** 2 == weight
        assert both**2 == height * weight
        assert height + weight <= GRID.longest**2
        longest = max(longest, height + weight)
    # it is attained but for rounding
    assert longest > GRID.longest**2 * 0.9999


def shape(value):
    return [shape(part) for part in value] if isinstance(value, (list, tuple)) else "number"


@EACH
def test_no_row_decides_whether_there_is_an_answer(what):
    hostile = PEOPLE
    for place, rows in enumerate(HOSTILE.values()):
        hostile = with_person(rows, 1000 + place, beside=hostile)
    usual = shape(asked(PEOPLE, what).value)
    assert shape(asked(hostile, what).value) == usual
    assert shape(asked(hostile.to_arrow(), what, unit=OneRow()).value) == usual


@EACH
def test_rows_of_nobody_and_rows_without_a_number_do_not_count(what):
    nobody = with_person([(0.5, 0.5)] * 3, person=None)
    assert asked(nobody, what).value == asked(PEOPLE, what).value
    empty = with_person(HOSTILE["no numbers"])
    assert asked(empty, what).value == asked(PEOPLE, what).value


@EACH
def test_no_rows_at_all(what):
    assert len(asked(PEOPLE.clear(), what).value) >= 1


@EACH
def test_numbers_in_text(what):
    text = PEOPLE.with_columns(polars.col(name).cast(polars.String) for name in COLUMNS)
    with pytest.raises(ParameterError, match="text that is said to have them"):
        asked(text, what)
    said = asked(text, what, numbers_in_text=COLUMNS)
    assert said.value == asked(PEOPLE, what).value


@EACH
def test_a_fit_is_charged_priced_and_given_again(what):
    (columns, *others), given = ASKED[what]
    session = Session(PEOPLE, unit=Person("person"), budget=PureDP(3))
    given = given | {"epsilon": 1, "rule": "mean"}
    price = session.price(QUESTIONS[what](columns, *others, **given))
    assert (price.amount, price.fits, price.answered) == (1, True, False)
    release = getattr(session, what)(columns, *others, **given)
    assert session.remaining() == 2
    assert release.accuracy == price.accuracy
    assert release.accuracy == session.error_bound(QUESTIONS[what](columns, *others, **given))
    again = getattr(session, what)(columns, *others, **given)
    assert (again.value, session.remaining()) == (release.value, 2)
    assert session.price(QUESTIONS[what](columns, *others, **given)).answered
    (question,) = session.history()
    assert (question.what, question.loss) == (what, release.loss)
    assert question.asked["columns"] == COLUMNS
    assert discreet.Release.from_json(release.to_json()).value == release.value


def test_labels_of_another_kind_are_another_question():
    table = PEOPLE.with_columns(polars.lit(1).alias("said"))
    session = Session(table, unit=OneRow(), budget=PureDP(3))
    given = {"norm": 1, "radius": 1, "epsilon": 1}
    session.fit_logistic(COLUMNS, "said", classes=(0, 1), **given)
    session.fit_logistic(COLUMNS, "said", classes=(1, 0), **given)
    assert session.remaining() == 1


def test_numbers_are_no_classes_of_a_column_of_text():
    """Not even where its text is said to have numbers: labels such as "benign" would be lost."""
    table = PEOPLE.with_columns(polars.lit("1").alias("said"))
    session = Session(table, unit=OneRow(), budget=PureDP(3), numbers_in_text=True)
    given = {"norm": 1, "radius": 1, "epsilon": 1}
    with pytest.raises(ParameterError, match=r"'classes' .* two texts, as the column of lab"):
        session.fit_logistic(COLUMNS, "said", classes=(0, 1), **given)
    session.fit_logistic(COLUMNS, "said", classes=("0", "1"), **given)
    assert session.remaining() == 2


def test_the_parts_of_a_covariance_cost_less_where_squares_add_up():
    mechanism = CovarianceMechanism(k=2, epsilon=2, norm=1)
    losses = mechanism.losses(columns=4)
    assert sum(loss.epsilon * times for loss, times in losses.items()) == 2
    assert sum(losses.values()) == 3
    session = Session(PEOPLE, unit=OneRow(), budget=ApproxDP(1, 1e-6))
    whole = session.price(FitCovariance(COLUMNS, epsilon=0.1, norm=1))
    assert whole.cost.parts == CovarianceMechanism(epsilon=0.1, norm=1).losses(columns=2)


def test_sums_of_squares_are_within_their_bound():
    rows = np.array([[0.6, 0.8], [0.5, -0.5]] * 100)
    mechanism = CovarianceMechanism(epsilon=1, norm=1)
    bound = mechanism.error_bound(Fraction(1, 10**4), columns=2)
    for seed in range(5):
        for total, direction in mechanism.release(rows, bits=SeededBits(seed)).value:
            assert abs(total - float(((rows @ direction) ** 2).sum())) <= bound
    assert mechanism.error_bound(Fraction(1, 20), columns=2) > np.log(20) * 2


WRONG = {
    "text": ("fit_subspace", {"columns": "height"}, "'columns' .* a list of 2 to 128 different"),
    "one column": ("fit_subspace", {"columns": ["height"]}, "Got 1 different of 1"),
    "twice": ("fit_linear", {"columns": ["height", "height"]}, "Got 1 different of 2"),
    "no such column": ("fit_linear", {"columns": ["colour"]}, "'columns' .* one of the columns"),
    "no such target": ("fit_linear", {"target": "colour"}, "'target' .* one of the columns"),
    "no numbers": ("fit_deepest", {"columns": ["height", "day"]}, "'columns' .* of numbers or of"),
    "a target without numbers": ("fit_linear", {"target": "day"}, "'target' .* of numbers or of"),
    "no rule": (
        "fit_subspace",
        {"rule": None},
        "'rule' .* several rows. Got None. Use 'sum' to add up",
    ),
    "no such rule": ("fit_subspace", {"rule": "max"}, "'rule' .* 'sum', 'mean'"),
    "too many dimensions": ("fit_subspace", {"k": 2}, "'k' .* below the number of columns, 2"),
    "scales": ("fit_subspace", {"scale": [1, 1, 1]}, "'scale' .* Got 3 for 2 columns"),
    "a scale beyond floats": ("fit_subspace", {"scale": 1e300}, "'scale' .* 1e-270 and 1e270"),
    "a centre beyond floats": ("fit_subspace", {"center": 1e300}, "'center' .* at most 1e280"),
    "bounds": ("fit_deepest", {"bounds": [(0, 1)]}, "'bounds' .* a pair for each column"),
    "a step too small": ("fit_deepest", {"step": [1e-10, 1]}, "'step' .* at most 268,435,456"),
    "targets beyond floats": (
        "fit_linear",
        {"bounds": (0, 1e300)},
        "'bounds' .* 2\\^-200 and 2\\^200",
    ),
    "labels": ("fit_logistic", {"label": "day", "classes": (1, 2)}, "'classes' parameter of"),
    "a radius": ("fit_logistic", {"radius": 5000}, "'radius' .* norm \\* radius is at most"),
    "rho of another budget": (
        "fit_linear",
        {"epsilon": None, "rho": 0.1, "ridge": 1},
        "'rho' .* left out unless the budget is in rho. Got 0.1. Give 'epsilon' instead",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_public_mistakes_are_named_before_anything_is_charged(name):
    what, wrong, message = WRONG[name]
    days = PEOPLE.with_columns(polars.date(2026, 1, 1).alias("day"))
    session = Session(days, unit=Person("person"), budget=PureDP(1))
    (columns, *others), given = ASKED[what]
    second = {"fit_linear": "target", "fit_logistic": "label"}
    names = {second[what]: others[0]} if others else {}
    given = {"columns": columns, "epsilon": 1, "rule": "sum"} | names | given | wrong
    with pytest.raises(ParameterError, match=message) as refused:
        getattr(session, what)(**given)
    assert refused.value.owner == f"Session.{what}"
    assert session.remaining() == 1
