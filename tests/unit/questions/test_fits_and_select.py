"""The five fits and `Select` as values: JSON, typed text, equality, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pandas
import pytest

import discreet
from discreet import OneRow, ParameterError, PureDP, Session
from discreet.questions import (
    QUESTIONS,
    FitCovariance,
    FitDeepest,
    FitLinear,
    FitLogistic,
    FitSubspace,
    Question,
    Select,
)

TWO = ["height", "weight"]
FITS = [
    FitSubspace(TWO, k=1, epsilon=1, norm=0.1, center=[165, 0.5], scale=20, rule="mean"),
    FitCovariance(TWO, epsilon=1, norm=1, where="height > 3"),
    FitLinear(TWO, "pay", bounds=(-1, 0.5), norm=2, radius=3, rho=Fraction(1, 3), ridge=0.1),
    FitLogistic(TWO, "said", classes=(1, "1"), norm=2, radius=3, epsilon=1, intercept=True),
    FitDeepest(TWO, bounds=[(0, 1), (Fraction(-1, 3), 2)], step=[0.1, 1], epsilon=1),
    FitDeepest(TWO, bounds=[(0, 1), (0, 2)], step=0.1, epsilon=1),
]


@pytest.mark.parametrize("fit", FITS, ids=lambda each: each.name)
def test_json_gives_back_the_same_fit(fit):
    read = Question.from_json(json.loads(json.dumps(fit.to_json())))
    assert read == fit
    assert [getattr(read, each.name) for each in fit.parameters] == [
        getattr(fit, each.name) for each in fit.parameters
    ]


@pytest.mark.parametrize("fit", FITS, ids=lambda each: each.name)
def test_kinds_read_their_own_result_unchanged(fit):
    for each in fit.parameters:
        value = getattr(fit, each.name)
        assert each.read(value) == value
        assert each.kind.schema()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"columns": ["a"]}, "columns"),
        ({"columns": ["a", "a"]}, "columns"),
        ({"columns": "ab"}, "columns"),
        ({"center": "165"}, "center"),
        ({"scale": [1, None]}, "scale"),
        ({"k": 0}, "k"),
        ({"rule": "median"}, "rule"),
    ],
)
def test_wrong_parameters_are_named_when_the_fit_is_made(change, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of FitSubspace"):
        FitSubspace(**{"columns": TWO, "k": 1, "epsilon": 1, "norm": 1} | change)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"classes": ["a"]}, "classes"),
        ({"classes": ["a", "a"]}, "classes"),
        ({"classes": "ab"}, "classes"),
        ({"bounds": 3}, "bounds"),
    ],
)
def test_documents_that_hold_no_fit(change, name):
    fit = FITS[4] if name == "bounds" else FITS[3]
    with pytest.raises(ParameterError, match=f"'{name}' parameter of"):
        Question.from_json(fit.to_json() | change)


def test_fits_can_be_asked_priced_and_listed():
    table = pandas.DataFrame({"height": [1.0, 2.0] * 50, "weight": [2.0, 1.0] * 50})
    fit = FitSubspace(TWO, k=1, epsilon=0.25, norm=3)
    with Session(table, unit=OneRow(), budget=PureDP(1)) as session:
        assert session.price([fit, fit]).amount == Fraction(1, 4)
        (release,) = session.ask([fit])
        read = Question.from_json(fit.to_json())
        assert session.ask(read).value == release.value
        assert session.fit_subspace(TWO, k=1, epsilon=0.25, norm=3).value == release.value
        assert session.spent() == Fraction(1, 4)
        assert str(session.error_bound(fit)) == str(release.accuracy)


class TestSelect:
    def test_a_function_is_no_json(self):
        asked = Select(candidates=["a"], score=lambda _: discreet.row_count(most=1), epsilon=1)
        assert asked.canonical() is None
        assert asked == asked
        assert asked != Select(candidates=["a"], score=asked.score, epsilon=1)
        with pytest.raises(ParameterError, match="'score' parameter of Select"):
            Question.from_json({"what": "select", "candidates": ["a"], "score": 1, "epsilon": 1})

    def test_each_candidate_is_scored_once(self):
        seen = []

        def score(label):
            seen.append(label)
            return discreet.row_count(most=1, where=discreet.column("pet") == label)

        table = pandas.DataFrame({"pet": ["cat"] * 40 + ["dog"]})
        asked = Select(candidates=["cat", "dog"], score=score, epsilon=50)
        with Session(table, unit=OneRow(), budget=PureDP(100)) as session:
            assert session.price(asked).fits
            assert session.ask(asked).value == "cat"
        assert seen == ["cat", "dog"]

    def test_what_is_no_score_is_refused_before_there_is_a_table(self):
        with pytest.raises(ParameterError, match="'score' parameter of Select"):
            Select(candidates=["a"], score=lambda _: 3, epsilon=1)


def test_every_question_is_a_method_of_a_session():
    for name, asked in QUESTIONS.items():
        assert getattr(Session, name).__doc__.startswith((asked.__doc__ or "").split("\n")[0])
