"""Totals as they are stated: bounds and steps that no cell can make an engine fail on."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import narwhals as nw
import polars
import pytest

from discreet import ParameterError, Person, PureDP, Session, total
from discreet.tables.totals import MOST_STEPS

TINY = Fraction(1, 10**400)
PATIENTS = polars.DataFrame({"who": [1, 2], "ill": ["no", "yes"], "cell": [1.0, 1.0]})


def tiny_narwhals(_candidate):
    return nw.col("cell").clip(0, Decimal("1e-900")).filter(nw.col("ill") == "yes").sum()


@pytest.mark.parametrize(
    "step", [TINY, Fraction(10) ** 291, Decimal("1e-291")], ids=["0 in floats", "large", "small"]
)
def test_a_step_is_one_that_floats_can_stand_for(step):
    """A step that is 0 in floats makes NaN of a cell: whoever has one would fail the question."""
    with pytest.raises(
        ParameterError,
        match=r"'step' parameter of total must be from 1e-290 to 1e290\. Got another",
    ):
        total("cell", bounds=(0, 5 * Fraction(step)), step=step)


def test_a_step_that_is_made_from_bounds_is_such_a_one_too():
    session = Session(PATIENTS, unit=Person("who"), budget=PureDP(1))
    with pytest.raises(
        ParameterError, match=r"'step' parameter of Session\.select must be from 1e-290 to 1e290"
    ):
        session.select(
            candidates=["a"], score=tiny_narwhals, epsilon=1e-9, score_range=Decimal("1e-900")
        )
    assert (session.remaining(), session.history()) == (1, ())


@pytest.mark.parametrize("step", [Decimal("1e-290"), Decimal("1e290"), 1, 0.1], ids=str)
def test_the_smallest_and_the_largest_step_have_an_answer(step):
    session = Session(PATIENTS, unit=Person("who"), budget=PureDP(1))
    most = Fraction(step) if not isinstance(step, float) else Fraction(1, 10)
    for steps in (1, 1000):
        score = total("cell", bounds=(-most * steps, most * steps), step=step, where="ill = 'yes'")
        release = session.select(
            candidates=["a"], score=lambda _, score=score: score, epsilon=Fraction(1, 4)
        )
        assert release.value == "a"


@pytest.mark.parametrize(
    ("bounds", "step", "rule"),
    [
        ((0, 1), 0, "'step' parameter of total must be greater than 0"),
        ((1, 0), 1, "'bounds' parameter of total must be a lower bound below an upper one"),
        ((0, 1), 2, "'bounds' parameter of total must be at least one step apart"),
        (
            (0, MOST_STEPS + 1),
            1,
            "'step' parameter of total must be large enough for at most 2,147,483,648 steps",
        ),
        (5, 1, "'bounds' parameter of total must be a pair of numbers"),
    ],
)
def test_what_is_no_grid(bounds, step, rule):
    with pytest.raises(ParameterError, match=rule):
        total("cell", bounds=bounds, step=step)
