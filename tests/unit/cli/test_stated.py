"""Options are derived from what Python states: once for all commands."""

from __future__ import annotations

import importlib
import re
import shlex
from fractions import Fraction

import pytest

from discreet.cli.application import COMMANDS, LateCommand, joined
from discreet.questions import QUESTIONS
from discreet.questions.kinds import Exact, Flag, Whole

VISITS = "patient,ward,age\n" + "".join(
    f"{who},{'ABC'[who % 3]},{who % 90}\n" for who in range(300)
)
WHO = ("--person", "patient", "--epsilon", "1")
ASKED = {name: each for name, each in QUESTIONS.items() if name != "select"}


@pytest.fixture(autouse=True)
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(VISITS)


def words_of(name):
    """What is typed for a question: `fit linear`."""
    return name.replace("fit_", "fit ").replace("_", "-").split()


def command_of(name):
    """The command of a question."""
    first, *rest = words_of(name)
    command = LateCommand(first, *COMMANDS[first]).command
    return command.commands[rest[0]] if rest else command


def test_every_parameter_of_every_question_is_an_option_with_its_help():
    for name, asked in ASKED.items():
        options = {each.name: each for each in command_of(name).params}
        for each in asked.parameters:
            option = options[each.name]
            assert f"--{each.name.replace('_', '-')}" in option.opts
            needed = each.required or (asked.needs_candidates and each.name == "candidates")
            assert option.required == needed
            # other parameters are spelled as options
            start = re.split(r"[{`]", each.help)[0]
            assert option.help.startswith(start), (name, each.name)
        assert "select" not in COMMANDS, "a score is a function"


NUMBERS = [
    (name, each.name)
    for name, asked in ASKED.items()
    for each in asked.parameters
    if isinstance(each.kind, (Exact, Whole))
]


def needed(name, without):
    """Words for all parameters that a question requires, but one."""
    given = {
        "column": "age", "columns": "age,ward", "epsilon": "1", "k": "1", "q": "0.5", "norm": "1",
        "prices": "1,2", "target": "age", "label": "ward", "bounds": "0,9", "radius": "1",
        "classes": "A,B", "candidates": "1,2", "step": "1",
    }  # fmt: skip
    required = [each.name for each in ASKED[name].parameters if each.required]
    required += ["candidates"] * ASKED[name].needs_candidates
    typed = [(f"--{each}", given[each]) for each in required if each != without]
    return [word for pair in typed for word in pair]


@pytest.mark.parametrize(("name", "parameter"), NUMBERS, ids="-".join)
def test_a_refusal_names_the_option_and_what_was_typed(shell, name, parameter):
    words = (*words_of(name), "visits.csv", *needed(name, parameter), "--one-row")
    option = f"--{parameter.replace('_', '-')}"
    outcome = shell(*words, option, "much")
    shown = "-k" if parameter == "k" else option
    command = f"discreet {' '.join(words_of(name))}"
    outcome.refused(f"The '{shown}' parameter of {command} must be", "Got 'much'.")


HALF = Fraction(1, 2)
GRID = "--bounds 0 9 --step 1/2"
SCALED = "--columns a,b --norm 2 --center 1,2 --scale 3,4 --rule sum --where 'a > 1'"
IN_PYTHON = {"norm": 2, "center": [1, 2], "scale": [3, 4], "rule": "sum", "where": "a > 1"}
# of each question, lines that say each of its parameters once, and what they mean in Python
LINES = {
    "mode": [
        (
            "--column a --candidates x,y --epsilon 1/2 --mechanism exponential --with-gap --split ;"
            " --where \"b = 'c'\"",
            {"mechanism": "exponential", "with_gap": True, "split": ";", "where": "b = 'c'"}
            | {"column": "a", "candidates": ["x", "y"], "epsilon": HALF},
        ),
        (
            "--column a --candidates x --candidates y --epsilon 1 --with-counts --by b --groups c"
            " --groups d",
            {"column": "a", "candidates": ["x", "y"], "epsilon": 1, "with_counts": True}
            | {"by": "b", "groups": ["c", "d"]},
        ),
    ],
    "top_k": [
        (
            "--column a -k 3 --epsilon 1 --candidates x,y,z --method peel --with-counts --split ;"
            " --by b --groups c,d --where 'b > 1'",
            {"column": "a", "k": 3, "epsilon": 1, "candidates": ["x", "y", "z"], "method": "peel"}
            | {"with_counts": True, "split": ";", "by": "b", "groups": ["c", "d"]}
            | {"where": "b > 1"},
        ),
        (
            "--column a --k 3 --epsilon 1 --delta 1e-6 --limit 30 --items-per-person 2",
            {"column": "a", "k": 3, "epsilon": 1, "delta": 1e-6, "limit": 30}
            | {"items_per_person": 2},
        ),
    ],
    "best_price": [
        (
            "--column a --prices 1 --prices 2,3 --epsilon 1 --rule min --mechanism exponential"
            " --where 'b > 1'",
            {"column": "a", "prices": [1, 2, 3], "epsilon": 1, "rule": "min"}
            | {"mechanism": "exponential", "where": "b > 1"},
        )
    ],
    "quantile": [
        (
            f"--column a --q 1/3 {GRID} --epsilon 1 --rule max --mechanism exponential"
            " --where 'b > 1'",
            {"column": "a", "q": Fraction(1, 3), "bounds": (0, 9), "step": HALF, "epsilon": 1}
            | {"rule": "max", "mechanism": "exponential", "where": "b > 1"},
        ),
        (
            "--column a --q 0.5 --points 1,2,5 --epsilon 1 --rows-per-person 2",
            {"column": "a", "q": HALF, "points": [1, 2, 5], "epsilon": 1, "rows_per_person": 2},
        ),
    ],
    "quantiles": [
        (
            f"--column a --q 0.25 --q 0.5,0.75 {GRID} --epsilon 1 --delta 1e-6 --rule max"
            " --method recursive --where 'b > 1'",
            {"column": "a", "q": [0.25, 0.5, 0.75], "bounds": (0, 9), "step": HALF, "epsilon": 1}
            | {"delta": 1e-6, "rule": "max", "method": "recursive", "where": "b > 1"},
        ),
        (
            "--column a --q 0.5 --points 1,2,5 --epsilon 1 --rows-per-person 2",
            {"column": "a", "q": [0.5], "points": [1, 2, 5], "epsilon": 1, "rows_per_person": 2},
        ),
    ],
    "counts": [
        (
            "--column a --candidates x,y --epsilon 1 --items-per-person 2 --by b --groups c,d"
            " --where 'b > 1' --split ;",
            {"column": "a", "candidates": ["x", "y"], "epsilon": 1, "items_per_person": 2}
            | {"by": "b", "groups": ["c", "d"], "where": "b > 1", "split": ";"},
        ),
        (
            "--column a --candidates x --epsilon 1 --delta 1e-6 --items-per-person 1",
            {"column": "a", "candidates": ["x"], "epsilon": 1, "delta": 1e-6}
            | {"items_per_person": 1},
        ),
    ],
    "count": [("--epsilon 1 --where 'b > 1'", {"epsilon": 1, "where": "b > 1"})],
    "fit_subspace": [
        (f"{SCALED} -k 1 --epsilon 1", IN_PYTHON | {"columns": ["a", "b"], "k": 1, "epsilon": 1})
    ],
    "fit_covariance": [
        (f"{SCALED} -k 1 --epsilon 1", IN_PYTHON | {"columns": ["a", "b"], "k": 1, "epsilon": 1})
    ],
    "fit_linear": [
        (
            f"{SCALED} --target c --bounds 0,9 --radius 3 --epsilon 1 --intercept",
            IN_PYTHON
            | {"columns": ["a", "b"], "target": "c", "bounds": (0, 9), "radius": 3, "epsilon": 1}
            | {"intercept": True},
        ),
        (
            "--columns a --columns b --target c --bounds=-60,9 --norm 1 --radius 3 --rho 1/10"
            " --ridge 2",
            {"columns": ["a", "b"], "target": "c", "bounds": (-60, 9), "norm": 1, "radius": 3}
            | {"rho": Fraction(1, 10), "ridge": 2},
        ),
    ],
    "fit_logistic": [
        (
            f"{SCALED} --label c --classes no yes --radius 3 --epsilon 1 --intercept",
            IN_PYTHON
            | {"columns": ["a", "b"], "label": "c", "classes": ("no", "yes"), "radius": 3}
            | {"epsilon": 1, "intercept": True},
        ),
        (
            "--columns a,b --label c --classes no,yes --norm 1 --rho 1/10 --ridge 2",
            {"columns": ["a", "b"], "label": "c", "classes": ("no", "yes"), "norm": 1}
            | {"rho": Fraction(1, 10), "ridge": 2},
        ),
    ],
    "fit_deepest": [
        (
            "--columns a,b --bounds 0 90 --bounds -1,9 --step 1,2 --epsilon 1 --rule mean"
            " --where 'a > 1'",
            {"columns": ["a", "b"], "bounds": [(0, 90), (-1, 9)], "step": [1, 2], "epsilon": 1}
            | {"rule": "mean", "where": "a > 1"},
        )
    ],
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_typed_is_the_question_that_python_asks(shell, monkeypatch, name):
    """So the tests of sessions are also about the shell."""
    asked = []
    monkeypatch.setattr(
        "discreet.cli.commands.questions.ask_one",
        lambda question, *rest, **words: asked.append(question),
    )
    for line, meant in LINES[name]:
        words = (*words_of(name), "visits.csv", *shlex.split(line), "--one-row")
        assert shell(*words).code == 0
        assert asked.pop() == ASKED[name](**meant)
    said = {parameter for _, meant in LINES[name] for parameter in meant}
    assert said == {each.name for each in ASKED[name].parameters}


SCORES = [
    (
        "select a=1 b=2 --epsilon 1/2 --sensitivity 3 --monotonic --objective min"
        " --mechanism exponential --with-gap --gap-step 1/4",
        "discreet.select",
        {"epsilon": HALF, "sensitivity": 3, "monotonic": True, "objective": "min"}
        | {"mechanism": "exponential", "with_gap": True, "gap_step": Fraction(1, 4)},
    ),
    (
        "select a=1 b=2 --epsilon 1 --score-range 3",
        "discreet.select",
        {"epsilon": 1, "score_range": 3, "mechanism": "permute-and-flip", "objective": "max"},
    ),
    (
        "top-k no.csv --label a --score b -k 2 --epsilon 1 --delta 1e-6 --score-range 1/2"
        " --objective min --method peel",
        "discreet.cli.commands.scores.ListRequest",
        {"k": 2, "epsilon": 1, "delta": Fraction(1, 10**6), "score_range": HALF}
        | {"objective": "min", "method": "peel"},
    ),
    (
        "top-k no.csv --label a --score b -k 2 --epsilon 1 --sensitivity 1 --monotonic"
        " --with-counts --items-per-person 3",
        "discreet.cli.commands.scores.ListRequest",
        {"k": 2, "sensitivity": 1, "monotonic": True, "with_counts": True, "items_per_person": 3},
    ),
]


@pytest.mark.parametrize(("line", "called", "meant"), SCORES)
def test_what_is_typed_beside_scores_is_handed_on(shell, monkeypatch, line, called, meant):
    asked = []

    def ask(*scores, **words):
        asked.append(words)
        raise KeyboardInterrupt

    importlib.import_module("discreet.cli.commands.scores")
    monkeypatch.setattr(called, ask)
    assert shell("scores", *line.split()).code == 130
    assert asked[0].items() >= meant.items()


def test_flags_are_false_unless_they_are_typed():
    for name, asked in ASKED.items():
        options = {each.name: each for each in command_of(name).params}
        for each in asked.parameters:
            if isinstance(each.kind, Flag):
                assert options[each.name].is_flag


def test_the_groups_of_commands_have_one_grammar(shell):
    for group in ("fit", "ledger", "scores"):
        shown = shell(group, "--help")
        assert shown.code == 0
        assert "Commands:" in shown.out


class TestPairs:
    """An option that takes two values takes them with a comma, or one after the other."""

    def test_two_labels(self):
        words = ["--classes", "no", "yes", "--norm", "1"]
        assert joined(words, ["--classes"]) == ["--classes=no,yes", "--norm", "1"]
        for kept in (["--classes", "no,yes", "x.csv"], ["--classes", "no", "--norm", "1"]):
            assert joined(kept, ["--classes"]) == kept


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("moed", "visits.csv"), "'mode'"),
        (("fit", "subspce"), "'subspace'"),
        (("mode", "visits.csv", "--colunm", "ward"), "'--column'"),
        (("mode", "visits.csv", "--column", "wards", *WHO, "--candidates", "A"), "'ward'"),
        (("ledger", "opn"), "'open'"),
    ],
)
def test_near_misses(shell, words, meant):
    shell(*words).refused("id you mean", meant)
