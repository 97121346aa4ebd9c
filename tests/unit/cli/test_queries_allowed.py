from __future__ import annotations

import json

import pytest
from tiers import first

from discreet.cli import queries_picture as plots

BUDGET = ("--epsilon", "1", "--delta", "1e-6")
REQUEST = ("queries-allowed", "--bounded-range", "0.1", *BUDGET)


def answer(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out)


def row(outcome, words):
    line = [
        line
        for line in outcome.out.splitlines()
        if line.removeprefix("►").strip().startswith(words)
    ][-1]
    return line.replace(words, "").split()


def test_22_against_5(shell):
    outcome = shell(*REQUEST)
    assert outcome.code == 0
    assert outcome.out.startswith("queries allowed  22")
    assert row(outcome, "textbook: epsilons add up") == ["5", "yes"]
    assert row(outcome, "textbook: pure DP, optimal") == ["5", "yes"]
    assert row(outcome, "epsilons add up") == ["10", "yes"]
    assert row(outcome, "pure DP, optimal") == ["10", "yes"]
    assert row(outcome, "concentrated DP") == ["19", "yes"]
    assert row(outcome, "Renyi DP") == ["20", "yes"]
    assert row(outcome, "bounded range, adaptive") == ["►", "22", "yes"]
    assert row(outcome, "bounded range, non-adaptive") == ["22", "no"]
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_non_adaptive_counts_only_on_the_caller_s_word(shell):
    request = ("queries-allowed", "--bounded-range", "0.05", *BUDGET, "--json")
    found, fixed = answer(shell(*request)), answer(shell(*request, "--non-adaptive"))
    assert (found["queries_allowed"], found["method"], found["adaptive"]) == (
        89,
        "bounded-range-adaptive",
        True,
    )
    assert (fixed["queries_allowed"], fixed["method"], fixed["adaptive"]) == (
        90,
        "bounded-range-non-adaptive",
        False,
    )
    assert found["each"] == {"kind": "bounded-range", "epsilon": "1/20"}
    assert found["budget"] == {"kind": "approx-dp", "epsilon": "1", "delta": "1/1000000"}
    assert found["textbook"] == [{"name": "basic", "queries": 10}, {"name": "kov", "queries": 10}]


def test_pure_dp_has_no_other_textbook(shell):
    outcome = shell("queries-allowed", "--pure", "0.1", *BUDGET)
    assert "textbook" not in outcome.out.lower()
    assert row(outcome, "epsilons add up") == ["►", "10", "yes"]
    assert row(outcome, "bounded range, adaptive") == ["—"]


def test_pure_and_concentrated_budgets(shell):
    outcome = shell("queries-allowed", "--bounded-range", "0.1", "--epsilon", "1", "--delta", "0")
    assert row(outcome, "textbook: epsilons add up") == ["5", "yes"]
    assert row(outcome, "epsilons add up") == ["►", "10", "yes"]
    outcome = shell("queries-allowed", "--bounded-range", "0.1", "--rho", "0.01")
    assert row(outcome, "concentrated DP") == ["►", "8", "yes"]
    assert "textbook" not in outcome.out.lower()


def test_none_at_all(shell):
    found = answer(shell("queries-allowed", "--bounded-range", "5", *BUDGET, "--json"))
    assert (found["queries_allowed"], found["method"]) == (0, "basic")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (
            ("--pure", "1", "--bounded-range", "1", *BUDGET),
            (
                "'--bounded-range'",
                "given, or '--pure' in its place (exactly one of the two)",
                "Got '1'.",
            ),
        ),
        (("--pure", "0.1x3", *BUDGET), ("'--pure'", "greater than 0", "Got '0.1x3'.")),
        (
            ("--pure", "1", *BUDGET, "--plot", "a.png"),
            ("'--plot'", "given only with bounded range, which it compares", "Got 'a.png'."),
        ),
    ],
)
def test_bad_requests(shell, options, parts):
    shell("queries-allowed", *options).refused("of discreet queries-allowed", *parts)


@pytest.mark.parametrize("epsilon", first(["5", "0.1"]))
def test_a_picture(shell, monkeypatch, tmp_path, epsilon):
    monkeypatch.setattr(plots, "_PARTS", (2, 4))
    outcome = shell("queries-allowed", "--bounded-range", epsilon, *BUDGET, "--plot", "queries.svg")
    assert outcome.code == 0
    assert outcome.out.endswith("The picture is in queries.svg\n")
    assert (tmp_path / "queries.svg").read_bytes().startswith(b"<svg")
