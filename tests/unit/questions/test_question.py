"""A question is a value: read once, written as JSON, and the same one in every spelling."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pandas
import pytest

from discreet import OneRow, ParameterError, PublicTable, PureDP, Release, Session
from discreet.errors import ParameterTypeError
from discreet.questions import QUESTIONS, Mode, Question

USUAL = {"candidates": ["cat", "dog"], "epsilon": 0.5}
PETS = pandas.DataFrame({"pet": ["cat"] * 40 + ["dog"] * 3})


@pytest.mark.parametrize("half", [0.5, Decimal("0.5"), Fraction(1, 2)])
def test_spellings_of_one_number_are_one_question(half):
    assert Mode("pet", **USUAL | {"epsilon": half}) == Mode("pet", **USUAL)


@pytest.mark.parametrize(
    "given",
    [
        {"candidates": [1, 2.5, "1", date(2026, 1, 2), Decimal("1.50")]},
        {"candidates": [True, "true"], "epsilon": Fraction(1, 3)},
        {"where": "age >= 30", "by": "region", "groups": ["north"], "split": ";"},
        {"with_gap": True, "mechanism": "exponential"},
    ],
)
def test_json_gives_back_the_same_question(given):
    asked = Mode("pet", **USUAL | given)
    document = json.loads(json.dumps(asked.to_json()))
    read = Question.from_json(document)
    assert read == asked == Mode.from_json(document)
    assert list(map(type, read.candidates)) == list(map(type, asked.candidates))


def test_labels_keep_their_kind():
    assert Mode("pet", **USUAL | {"candidates": [1]}) != Mode(
        "pet", **USUAL | {"candidates": [1.0]}
    )
    assert Mode("pet", **USUAL | {"candidates": [1]}) != Mode(
        "pet", **USUAL | {"candidates": ["1"]}
    )


def test_a_public_table_has_no_json():
    asked = Mode("pet", candidates=PublicTable("pets.csv", "pet"), epsilon=1)
    assert asked.canonical() is None
    assert asked == asked
    assert asked != Mode("pet", candidates=PublicTable("pets.csv", "pet"), epsilon=1)


def test_a_number_of_thousands_of_digits_is_refused_like_any_other():
    asked = Mode("pet", candidates=["cat", 10**5000], epsilon=1)
    assert asked.canonical() is None
    session = Session(PETS, unit=OneRow(), budget=PureDP(1))
    with pytest.raises(ParameterError, match="must be text, like the column"):
        session.ask(asked)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"what": "mood"}, "'what' parameter of Question must be one of"),
        ({"what": ["mode"]}, "'what' parameter of Question must be one of"),
        ([], "'document' parameter of Question must be a JSON object"),
        ("mode", "'document' parameter of Question must be a JSON object"),
        (None, "'document' parameter of Question must be a JSON object"),
        ({"what": "mode"}, "'column' parameter of Mode must be given"),
        ({"what": "mode", "column": "a", "epsilom": 1}, "Got 1. Did you mean 'epsilon'"),
        ({"what": "mode", "column": "a", "epsilon": "1e999999999"}, "must be a finite number such"),
        ({"what": "mode", "column": "a", "epsilon": 1, "candidates": "a"}, "a list of labels"),
    ],
)
def test_documents_are_read_strictly(document, message):
    with pytest.raises(ParameterError, match=message):
        Question.from_json(document)


@pytest.mark.parametrize(
    ("what", "name", "value"),
    [
        ("mode", "candidates", [{"Decimal": "much"}]),
        ("mode", "candidates", [{"date": "yesterday"}]),
        *(
            ("best_price", "prices", [price])
            for price in (None, [], {"a": 1}, {"Decimal": "1"}, float("nan"), float("inf"))
        ),
        ("fit_covariance", "columns", ["pet", 10**5000]),
        ("fit_covariance", "columns", ["pet", None]),
    ],
)
def test_lying_types_are_refused_like_anything_else(what, name, value):
    about = {"norm": "1"} if name == "columns" else {"column": "pet"}
    document = {"what": what, "epsilon": "1", **about, name: value}
    with pytest.raises(ParameterError, match=f"'{name}'"):
        Question.from_json(document)


def test_a_wrong_keyword_names_the_method():
    session = Session(PETS, unit=OneRow(), budget=PureDP(1))
    with pytest.raises(TypeError, match=r"^Session\.mode\(\) got an unexpected keyword"):
        session.mode("pet", **USUAL, epsilom=1)
    with pytest.raises(ParameterTypeError, match=r"'question' parameter of Session\.ask"):
        session.ask("mode")


class TestPublicFacts:
    def session(self, **facts):
        return Session(PETS, unit=OneRow(), budget=PureDP(128), public={"pet": facts})

    def test_what_a_question_leaves_out_is_taken_from_there(self):
        session = self.session(candidates=["cat", "dog"])
        assert session.mode("pet", epsilon=64).value == "cat"
        assert session.price(Mode("pet", **USUAL | {"epsilon": 64})).answered
        assert session.mode("pet", epsilon=64, candidates=["dog"]).value == "dog"

    def test_without_any_it_is_refused(self):
        with pytest.raises(ParameterError, match="or once for all questions in the 'public'"):
            self.session(split=";").mode("pet", epsilon=1)

    @pytest.mark.parametrize(
        ("public", "message"),
        [
            ([], "a mapping from columns"),
            ({"pet": ["cat"]}, "a mapping from columns"),
            ({"pet": {"labels": ["cat"]}}, "made of candidates and split"),
            ({"pet": {"candidates": "cat"}}, "'candidates' parameter of Session must be a list"),
            ({"pet": {"split": "ab"}}, "'split' parameter of Session must be one of"),
        ],
    )
    def test_facts_are_read_as_parameters(self, public, message):
        with pytest.raises(ParameterError, match=message):
            Session(PETS, unit=OneRow(), budget=PureDP(1), public=public)


def test_every_parameter_has_help_and_names_only_others():
    for asked in QUESTIONS.values():
        for each in asked.parameters:
            if each.name != "delta":
                assert each.help, (asked, each.name)
            named = []
            each.help_in(lambda name, named=named: named.append(name) or name)
            assert set(named) <= asked.takes


def test_what_is_kept_from_http_is_listed_here_and_has_a_reason():
    kept = {
        name: {each.name for each in asked.parameters if each.not_over_http}
        for name, asked in QUESTIONS.items()
    }
    rows = {"by", "groups", "where"}
    of_all = {name: {"where"} for name in QUESTIONS}
    more = {"mode": rows, "top_k": rows, "counts": rows, "select": {"where", "score"}}
    assert kept == of_all | more
    whole = {name for name, asked in QUESTIONS.items() if asked.not_over_http}
    fits = {"fit_subspace", "fit_covariance", "fit_linear", "fit_logistic", "fit_deepest"}
    assert whole == {"select"} | fits


class TestGroups:
    def test_the_answers_of_groups_are_a_dictionary_also_after_json(self):
        table = PETS.assign(region=["north"] * 40 + ["south"] * 3)
        with Session(table, unit=OneRow(), budget=PureDP(100)) as session:
            asked = {"candidates": ["cat", "dog"], "by": "region", "groups": ["north", "south"]}
            release = session.mode("pet", **asked, epsilon=50)
            assert release.value == {"north": "cat", "south": "dog"}
            assert json.loads(release.to_json())["value"][0] == {"tuple": ["north", "cat"]}
            assert Release.from_json(release.to_json()) == release
            lists = session.top_k("pet", k=2, **asked, epsilon=50)
            assert list(lists.value["north"]) == ["cat", "dog"]
