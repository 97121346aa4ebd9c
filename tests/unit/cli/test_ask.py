"""`discreet ask`: a file of questions, priced before it is asked."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from discreet import Ledger, Person, PureDP

VISITS = "patient,ward,age\n" + "".join(
    f"{who},{'ABC'[who % 3]},{who % 90}\n" for who in range(300)
)
QUESTIONS = [
    {"what": "mode", "column": "ward", "candidates": ["A", "B", "C"], "epsilon": "0.5"},
    {"what": "count", "epsilon": "0.25", "where": "age >= 65"},
    {"what": "top_k", "column": "ward", "k": 2, "candidates": ["A", "B", "C"], "epsilon": "0.25"},
]
ASK = ("ask", "questions.json", "visits.csv", "--decimal", ".", "--person", "patient")
PAID = ("--ledger", "budget.db", "--dataset", "visits")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS))
    with Ledger("budget.db") as ledger:
        ledger.open("visits", budget=PureDP(2), unit=Person("patient"))


def spent():
    with Ledger("budget.db") as ledger:
        return float(ledger.spent("visits"))


def test_the_plan_comes_first_and_then_the_answers(shell):
    shown = shell(*ASK, "--yes")
    assert shown.code == 0, shown.err
    plan, _, answers = shown.out.partition("Nothing was asked and nothing was charged yet.")
    assert "together" in plan
    assert "1 epsilon" in plan
    for part in ("1. mode of ward", "2. count", "3. top-k of ward", "where"):
        assert part in answers


def test_a_plan_alone_charges_nothing(shell):
    priced = json.loads(shell(*ASK, *PAID, "--dry-run", "--json").out)
    assert priced["fits"] is True
    assert priced["amount"] == {"value": "1", "unit": "epsilon"}
    assert [each["question"] for each in priced["questions"]] == QUESTIONS
    assert spent() == 0


def test_without_a_terminal_it_needs_yes(shell):
    shell(*ASK, *PAID).refused("The '--yes' parameter of discreet ask must be given without a")
    assert spent() == 0


@pytest.mark.parametrize(("reply", "cost"), [("n\n", 0), ("y\n", 1)])
def test_nothing_is_charged_until_it_is_confirmed(shell, monkeypatch, reply, cost):
    monkeypatch.setattr("discreet.cli.commands.ask._is_interactive", lambda: True)
    assert shell(*ASK, *PAID, stdin=reply.encode()).code == 0
    assert spent() == cost


def test_a_list_that_does_not_fit_charges_nothing(shell, tmp_path):
    more = {"what": "count", "epsilon": "1.5"}
    (tmp_path / "questions.json").write_text(json.dumps([*QUESTIONS, more]))
    outcome = shell(*ASK, *PAID, "--yes")
    assert outcome.code == 2
    assert "together cost 2.5 epsilon" in outcome.err
    assert outcome.err.count("\n") == 1
    assert spent() == 0


def test_asked_again_it_costs_nothing_more(shell):
    first = shell(*ASK, *PAID, "--yes", "--json")
    assert spent() == 1
    assert shell(*ASK, *PAID, "--yes", "--json").out == first.out
    assert spent() == 1


KILLED = """
import os
from discreet.questions import runner
from discreet.cli import main
answered, left = runner.QuestionRunner._answered, [{after}]
def answer(self, prepared, bits):
    if not left[0]:
        os._exit(9)
    left[0] -= 1
    return answered(self, prepared, bits)
runner.QuestionRunner._answered = answer
main({words!r})
"""


def test_after_a_kill_only_the_rest_is_paid_for(shell):
    words = [*ASK, *PAID, "--yes"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED.format(after=1, words=words)], capture_output=True, timeout=99
    )
    assert killed.returncode == 9
    # the first has its answer, and that of the second was lost
    assert spent() == 0.75
    lost = shell(*words)
    assert lost.code == 2
    assert "--again" in lost.err
    assert spent() == 0.75


def test_a_lost_answer_is_paid_for_again_and_nothing_else(shell, tmp_path):
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS[1:]))
    words = [*ASK, *PAID, "--yes"]
    script = KILLED.format(after=0, words=words)
    subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=99, check=False)
    assert spent() == 0.25
    assert shell(*words, "--again").code == 0
    assert spent() == 0.75


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("no", ("'QUESTIONS'", "a JSON file with a list of questions")),
        ("[]", ("'QUESTIONS'", "a JSON file with a list of questions")),
        ('[{"what": "mood"}]', ("'what'", "question 1 in questions.json", "mode")),
        ('[{"what": "count", "epsilon": "0"}]', ("'epsilon'", "question 1 in", "greater than 0")),
        (
            '[{"what": "count", "epsilon": 1}, {"what": "count", "epsilom": 1}]',
            ("'epsilom'", "question 2 in", "Did you mean 'epsilon'?"),
        ),
    ],
)
def test_a_refusal_says_which_question_is_wrong(shell, tmp_path, text, parts):
    (tmp_path / "questions.json").write_text(text)
    shell(*ASK, "--yes").refused(*parts)


AGE = {"what": "quantile", "column": "age", "q": "0.5", "bounds": [0, 90], "step": 1, "epsilon": 1}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            {"what": "mode", "column": "wrad", "candidates": ["A"], "epsilon": 1},
            "The 'column' parameter of question 2 in questions.json must be a column of the table. "
            "Got 'wrad'.",
        ),
        (
            {"what": "count", "epsilon": 1, "where": "agee > 3"},
            "The 'where' parameter of question 2 in questions.json must be a column of the table. "
            "Got 'agee'.",
        ),
        (
            AGE,
            "The 'rule' parameter of question 2 in questions.json must be given if a person can "
            "have several rows.",
        ),
        (
            AGE | {"rule": "max"},
            "The 'column' parameter of question 2 in questions.json must be a column of numbers, "
            "or text that is said to have them. Got 'age, of text'. Say how its numbers are "
            "written: --decimal . for 44.5, or --decimal , for 44,5.",
        ),
    ],
)
def test_a_question_that_the_table_cannot_answer_charges_nothing(shell, tmp_path, question, said):
    (tmp_path / "questions.json").write_text(json.dumps([QUESTIONS[0], question]))
    asked = [word for word in ASK if word not in ("--decimal", ".")]
    shell(*asked, *PAID, "--yes").refused(said)
    assert spent() == 0


def test_a_file_that_is_not_there(shell):
    shell("ask", "no.json", "visits.csv", "--one-row", "--yes").refused("'QUESTIONS'", "'no.json'")
