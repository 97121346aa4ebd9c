"""`preview` and `choose-epsilon`: free, without a table, and marked as what they are."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pandas
import pytest

import discreet
from discreet.mechanisms.count_lists import make_top_k
from discreet.privacy.parameters import ScoreRange
from discreet.questions import QUESTIONS


def test_a_preview_counts_its_draws(shell):
    told = json.loads(shell("preview", "--epsilon", "0.05", "--counts", "30,20,0", "--json").out)
    assert told["simulated"] is True
    assert (told["counts"], sum(told["chosen"]), told["draws"]) == ([30, 20, 0], 1000, 1000)
    assert told["error_of_half"] <= told["error_of_95_percent"] <= told["accuracy"]["bound"]


@pytest.mark.parametrize("k", [None, 1])
def test_counts_that_are_none_are_refused_and_not_shown(k):
    refused = r"from 0 to 2\^63 - 1\. Got 'others'\."
    for one in (-1, 1.5, "12", None, True, math.nan, 2**63, 10**30):
        with pytest.raises(discreet.ParameterError, match=refused):
            discreet.planning.preview({"a": one, "b": 1}, epsilon=1, k=k)
    with pytest.raises(discreet.ParameterError, match="'counts' parameter of preview must be one"):
        discreet.planning.preview({}, epsilon=1, k=k)


@pytest.mark.parametrize(
    "unused",
    [
        {"delta": 1e-6},
        {"limit": 10},
        {"items_per_person": 1},
        {"method": "joint"},
        {"k": 2, "mechanism": "exponential"},
    ],
)
def test_a_preview_refuses_what_its_question_does_not_look_at(unused):
    """It would be told without the word that was meant to change it."""
    (name,) = unused.keys() - {"k"}
    with pytest.raises(
        discreet.ParameterError, match=f"'{name}' parameter of preview must be left"
    ):
        discreet.planning.preview({"a": 3, "b": 1}, epsilon=1, draws=1, **unused)


def test_a_preview_says_that_its_data_are_made_up(shell, tmp_path):
    picture = tmp_path / "answers.svg"
    outcome = shell("preview", "--epsilon", "1", "-k", "3", "--draws", "50", "--plot", str(picture))
    assert outcome.code == 0
    assert "simulated answers about made-up data" in outcome.out
    assert "<title" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize("k", [None, 2])
def test_simulated_answers_have_the_law_of_real_ones(k):
    counts = {"a": 12, "b": 10, "c": 3}
    seen = discreet.planning.preview(counts, epsilon=0.5, k=k, draws=4000)
    assert all(release.seeded for release in seen.examples)
    if k is None:
        mechanism = discreet.mechanisms.PermuteAndFlip(epsilon=0.5, sensitivity=1, monotonic=True)
        odds = mechanism.probabilities(list(counts.values()))
        found = np.array(list(seen.chosen.values())) / seen.draws
        # six standard deviations
        assert abs(found - odds).max() < 6 * np.sqrt(0.25 / 4000)
    else:
        ranked = make_top_k(k, 0.5, 0, ScoreRange(sensitivity=1, monotonic=True)).accuracy(
            candidates=3
        )
        assert seen.accuracy.bound == math.floor(ranked.bound)
    assert (seen.errors > seen.accuracy.bound).mean() <= 0.05 + 6 * np.sqrt(0.05 / 4000)


def test_an_epsilon_is_chosen_by_accuracy(shell):
    words = ["choose-epsilon", "mode", "--candidates", "1000", "--within", "50", "--json"]
    told = json.loads(shell(*words).out)
    assert told["epsilon"] == "181/1000"
    assert told["bounds"]["0.1"]["bound"] == 92


BUDGETS = {
    (): None,
    ("--budget-epsilon", "2", "--budget-delta", "0"): discreet.PureDP(2),
    ("--budget-epsilon", "2", "--budget-delta", "1e-6"): discreet.ApproxDP(2, 1e-6),
    ("--budget-rho", "0.5"): discreet.ZCDP(0.5),
    # the question takes it as a whole
    ("--budget-epsilon", "1", "--budget-delta", "1e-7"): discreet.ApproxDP(1, 1e-7),
}
EIGHT = tuple("abcdefgh")
MORE = (discreet.PureDP(2), discreet.ApproxDP(2, 1e-6))
"""Budgets of the same kinds as the others."""


def cases(budgets):
    """As parameters, by what is typed or by themselves."""
    kinds = BUDGETS | {budget: budget for budget in BUDGETS.values()}
    return [
        pytest.param(each, marks=pytest.mark.sizes) if kinds[each] in MORE else pytest.param(each)
        for each in budgets
    ]


@pytest.mark.parametrize("budget", cases(BUDGETS), ids=str)
@pytest.mark.parametrize(
    ("typed", "question", "asked"),
    [
        ("top-k -k 3 --candidates 8", "top_k", {"k": 3, "candidates": EIGHT}),
        (
            "top-k -k 5 --candidates 8 --items-per-person 2",
            "top_k",
            {"k": 5, "candidates": EIGHT, "items_per_person": 2},
        ),
        (
            "top-k -k 3 --delta 1e-7 --limit 30 --items-per-person 1",
            "top_k",
            {"k": 3, "delta": 1e-7, "limit": 30, "items_per_person": 1},
        ),
        (
            "quantile --q 0.5 --points 101",
            "quantile",
            {"q": 0.5, "bounds": (0, 100), "step": 1, "rule": "max"},
        ),
    ],
)
def test_the_shell_says_what_a_session_of_that_budget_states(shell, budget, typed, question, asked):
    """The price of a question and its answer state what was told for the epsilon."""
    paid = BUDGETS[budget] or discreet.PureDP(64)
    if "delta" in asked and not isinstance(paid, discreet.ApproxDP):
        pytest.skip("such a budget has no delta")
    told = json.loads(shell("choose-epsilon", *typed.split(), *budget, "--json").out)
    assert told.get("budget") == (BUDGETS[budget] and BUDGETS[budget].to_dict())
    table = pandas.DataFrame({"person": [1, 2], "item": ["a", "b"], "age": [30, 40]})
    columns = {"count": [], "quantile": ["age"]}.get(question, ["item"])
    session = discreet.Session(table, unit=discreet.Person("person"), budget=paid)
    price = session.price(QUESTIONS[question](*columns, **asked, epsilon=1))
    answer = getattr(session, question)(*columns, **asked, epsilon=1)
    assert answer.accuracy == price.accuracy
    # the shell does not know what a value is called
    words = {"thing", "sentence"}
    stated = {name: value for name, value in price.accuracy.to_dict().items() if name not in words}
    said = told["bounds"]["1"]
    assert {name: value for name, value in said.items() if name not in words} == stated


@pytest.mark.parametrize("budget", cases(BUDGETS.values()), ids=str)
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"k": 3},
        {"k": 3, "items_per_person": 1},
        {"k": 8, "delta": 1e-7},
        {"k": 3, "limit": 30, "delta": 1e-7},
        {"k": 3, "limit": 30, "delta": 1e-7, "items_per_person": 1},
    ],
    ids=str,
)
def test_a_preview_draws_as_a_session_would(budget, asked):
    paid = budget or discreet.PureDP(64)
    if "delta" in asked and not isinstance(paid, discreet.ApproxDP):
        pytest.skip("such a budget has no delta")
    counts = dict.fromkeys(EIGHT, 4)
    seen = discreet.planning.preview(counts, epsilon=1, budget=budget, draws=2, **asked)
    table = pandas.DataFrame({"person": [1, 2], "item": ["a", "b"]})
    session = discreet.Session(table, unit=discreet.Person("person"), budget=paid)
    question = "top_k" if "k" in asked else "mode"
    public = {} if "limit" in asked else {"candidates": EIGHT}
    answer = getattr(session, question)("item", **asked, **public, epsilon=1)
    assert seen.examples[0].mechanism == answer.mechanism
    for name in ("bound", "statement", "unit", "crowd", "cap"):
        assert getattr(seen.accuracy, name) == getattr(answer.accuracy, name)


def test_a_preview_of_a_threshold_says_what_was_left_out(shell):
    words = ["preview", "--epsilon", "1", "-k", "3", "--limit", "30", "--delta", "1e-6"]
    words += ["--counts", "90,50,10,9", "--items-per-person", "1", "--draws", "100"]
    told = json.loads(shell(*words, "--json").out)
    assert told["accuracy"]["statement"] == "named"
    # two are named, nearly always, and the list is not full
    assert told["error_of_half"] == 10
    shown = " ".join(shell(*words).out.split())
    assert "left out nobody with more than 10 people; 95%" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("mode --candidates 9", True),
        ("mode --candidates 9 --budget-rho 1", True),
        ("count --budget-epsilon 1 --budget-delta 1e-6", True),
        # Gaussian noise, and a delta, may change the odds of a rare answer by any factor
        ("count --budget-rho 1", False),
        ("counts --candidates 9 --budget-rho 1", False),
        ("top-k -k 3 --candidates 9 --delta 1e-6", False),
    ],
)
def test_odds_are_told_where_epsilon_bounds_them(shell, words, told):
    shown = shell("choose-epsilon", *words.split()).out
    assert ("odds change by at most" in shown) is told
    # e is 2.7182818...
    assert ("2.719 times" in shown) is told


def test_the_budget_is_said(shell, tmp_path):
    words = ["choose-epsilon", "count", "--budget-rho", "1/2"]
    assert "the budget of all questions is ZCDP(rho=0.5)." in shell(*words).out
    shown = " ".join(shell("choose-epsilon", "count").out.split())
    assert (
        "This assumes that epsilons add up, or that this question takes the whole budget. For "
        "another budget, give --budget-epsilon and --budget-delta, or --budget-rho." in shown
    )
    picture = tmp_path / "count.svg"
    assert shell(*words, "--plot", str(picture)).code == 0
    assert "ZCDP(rho=0.5)" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["choose-epsilon", "count", "--budget-epsilon", "1"],
            "The '--budget-delta' parameter of discreet choose-epsilon must be given, unless "
            "--budget-rho is. Got nothing.",
        ),
        (
            ["choose-epsilon", "count", "--budget-rho", "1", "--budget-delta", "0"],
            "The '--budget-delta' parameter of discreet choose-epsilon must be left out where "
            "--budget-rho is given. Got '0'.",
        ),
        (
            ["preview", "--epsilon", "1", "-k", "2", "--items-per-person", "0"],
            "The '--items-per-person' parameter of discreet preview must be",
        ),
        (
            ["choose-epsilon", "mode"],
            "The '--candidates' parameter of discreet choose-epsilon must",
        ),
        (
            ["preview", "--epsilon", "1", "--counts", "a,b"],
            "The '--counts' parameter of discreet pr",
        ),
        (
            ["preview", "--epsilon", "1", "--plot", "a.gif"],
            "The '--plot' parameter of discreet prev",
        ),
        (
            ["choose-epsilon", "mode", "--candidates", "9", "--within", "-1"],
            "The '--within' parameter of discreet choose-epsilon must be at least 0. Got '-1'.",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(shell, words, message):
    shell(*words).refused(message)


def test_the_package_runs_as_a_module_and_completes_words():
    run = [sys.executable, "-m", "discreet"]
    done = subprocess.run([*run, "--version"], capture_output=True, text=True, timeout=250)
    assert done.stdout == f"discreet {discreet.__version__}\n"
    # as bash asks, whatever shell the tests were started from
    typed = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet cho", "COMP_CWORD": "1"}
    completed = subprocess.run(
        run, capture_output=True, text=True, timeout=250, env=os.environ | typed
    )
    assert completed.stdout.split() == ["choose-epsilon"]
