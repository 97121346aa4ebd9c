from __future__ import annotations

import json
import sys
from fractions import Fraction

import pytest

import discreet
from discreet.cli import queries_picture as plots

REQUEST = ("plan", "--queries", "10", "--epsilon", "1", "--delta", "1e-6")


def answer(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out)


def row(outcome, words):
    line = [line for line in outcome.out.splitlines() if words in line][-1]
    return line.replace(words, "").split()


def test_what_is_shown_fits_the_budget(shell):
    """The number to copy is rounded down, so that it stays within."""
    each = shell(*REQUEST).out.split()[3]
    total = discreet.compose({discreet.BoundedRange(Fraction(each)): 10}, delta=1e-6)
    assert total.epsilon <= 1


def test_json_has_the_library_s_numbers_exactly(shell):
    found = answer(shell(*REQUEST, "--json"))
    budget = discreet.ApproxDP(1, Fraction(1, 10**6))
    made = discreet.plan(queries=10, budget=budget)
    assert Fraction(found["epsilon"]["exact"]) == made.epsilon
    assert found["loss"] == made.loss.to_dict()
    assert found["budget"] == budget.to_dict()
    assert (found["queries"], found["adaptive"], found["method"]) == (10, True, made.method)
    counts = discreet.accounting.queries_by_analysis(each=made.loss, budget=budget)
    for each in found["analyses"]:
        value = made.alternatives[each["name"]]
        assert (each["epsilon"] and each["epsilon"]["exact"]) == (value and str(value))
        assert each["queries"] == counts[each["name"]]


def test_non_adaptive(shell):
    found = answer(shell(*REQUEST, "--non-adaptive", "--json"))
    assert found["method"] == "bounded-range-non-adaptive"
    assert found["epsilon"]["float"] == pytest.approx(0.154964975083)
    assert answer(shell(*REQUEST, "--json"))["epsilon"]["float"] < found["epsilon"]["float"]
    assert "10, all fixed in advance" in shell(*REQUEST, "--non-adaptive").out


def test_pure_dp(shell):
    outcome = shell(*REQUEST, "--kind", "pure-dp")
    assert "Use PermuteAndFlip with epsilon=0.100062" in outcome.out
    assert row(outcome, "pure DP, optimal")[-3:] == ["0.100062", "10", "yes"]
    assert row(outcome, "Renyi DP")[-3:] == [
        "0.100062",
        "10",
        "yes",
    ]  # as good: a single outcome counts
    assert row(outcome, "bounded range, adaptive") == ["—", "—"]


def test_a_budget_of_concentrated_dp(shell):
    outcome = shell("plan", "--queries", "100", "--rho", "0.01")
    assert row(outcome, "concentrated DP") == ["►", "0.0282844", "100", "yes"]
    assert row(outcome, "epsilons add up") == ["—", "—"]
    assert "ZCDP(rho=0.01)" in outcome.out


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--queries", "0"), ("'--queries'", "a whole number from 1 to 1,000,000", "Got 0.")),
        (("--queries", "many"), ("'--queries'", "a whole number", "Got 'many'.")),
        (("--queries", "9" * 500), ("'--queries'", "a whole number from 1 to 1,000,000")),
        (("--rho", "0.1"), ("'--epsilon'", "left out where --rho is given", "Got '1'.")),
        (("--kind", "zcdp"), ("'--kind'", "one of bounded-range, pure-dp", "Got 'zcdp'.")),
        (("--plot", "a.gif"), ("'--plot'", "ends in one of .svg, .png", "Got 'a.gif'.")),
        (
            ("--plot", "no/such/folder/a.png"),
            ("'--plot'", "a file that you may write", "Got 'no/such/folder/a.png'."),
        ),
        (
            ("--plot", "a.png", "--kind", "pure-dp"),
            ("'--plot'", "given only with bounded range, which it compares"),
        ),
        (("--plot", "a.png", "--delta", "0"), ("'--plot'", "a --delta greater than 0")),
    ],
)
def test_bad_requests(shell, options, parts):
    shell(*REQUEST, *options).refused("of discreet plan", *parts)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ((), ("'--epsilon'", "given, unless --rho is", "Got nothing.")),
        (
            ("--epsilon", "1"),
            ("'--delta'", "given, unless --rho is", "Got nothing.", "Say 0 for pure DP"),
        ),
        (("--rho", "0"), ("'--rho'", "greater than 0", "Got '0'.")),
        (
            ("--rho", "0.1", "--delta", "1e-6"),
            ("'--delta'", "left out where --rho is given", "Got '1e-6'."),
        ),
        (("--rho", "0.1", "--plot", "a.png"), ("'--plot'", "an --epsilon and a --delta")),
    ],
)
def test_bad_budgets(shell, options, parts):
    shell("plan", "--queries", "10", *options).refused("of discreet plan", *parts)


class TestPlot:
    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch):
        monkeypatch.setattr(plots, "_PARTS", (2, 4))

    def test_a_file_is_written_and_named(self, shell, tmp_path):
        outcome = shell(*REQUEST, "--plot", "plan.png")
        assert outcome.code == 0
        assert outcome.out.endswith("The picture is in plan.png\n")
        assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")

    def test_without_matplotlib_there_is_one_line(self, shell, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        outcome = shell(*REQUEST, "--plot", "plan.png")
        outcome.refused(str(discreet.MissingExtraError("Pictures as PNG", "plot")))
        assert not (tmp_path / "plan.png").exists()
        assert shell(*REQUEST).code == 0
