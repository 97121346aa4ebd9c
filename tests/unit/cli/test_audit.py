"""`audit`: 0 where nothing was found, 3 where something was, 2 for what cannot be audited."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

CODE = """
import numpy as np

from discreet.mechanisms import ExponentialMechanism

ours = ExponentialMechanism(epsilon=1, sensitivity=1)
number = 3


def pick(scores, rng, epsilon):
    weights = np.exp(epsilon * (np.array(scores, float) - max(scores)) / 2)
    return int(rng.choice(len(weights), p=weights / weights.sum()))


def right(scores, rng):
    return pick(scores, rng, 1)


def too_hot(scores, rng):
    return pick(scores, rng, 4)


def without_scores():
    return 1


class Nested:
    inside = staticmethod(right)
"""
MODULE = "code_to_audit"
CLAIM = ("--claim", "pure-dp:1")
FEW = ("--scores", "4", "--draws", "2000", "--no-extremes", "--seed", "5")


@pytest.fixture
def audit(shell, tmp_path: Path):
    (tmp_path / f"{MODULE}.py").write_text(CODE)
    yield lambda name, *options: shell("audit", f"{MODULE}:{name}", *options)
    sys.modules.pop(MODULE, None)


def words(outcome):
    return " ".join(outcome.out.split())


class TestNothingFound:
    def test_the_exit_code_is_0_and_it_is_no_proof(self, audit):
        outcome = audit("right", *CLAIM, *FEW)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("Nothing found: epsilon is at least ")
        for part in (
            "audited right",
            "claim PureDP(epsilon=1)",
            "confidence 0.999",
            "would be found 9 times in 10",
            "Finding nothing is no proof. What was found holds with the stated confidence.",
        ):
            assert part in words(outcome)
        assert max(map(len, outcome.out.splitlines())) <= 80

    def test_json(self, audit):
        outcome = audit("Nested.inside", *CLAIM, *FEW, "--json")
        assert (outcome.code, outcome.err, outcome.out.count("\n")) == (0, "", 1)
        told = json.loads(outcome.out)
        assert (told["violated"], told["passed"], told["findings"]) == (False, True, [])
        assert (told["claim"], told["seed"]) == ({"kind": "pure-dp", "epsilon": "1"}, 5)
        assert told["lower_bound"] <= 1

    def test_a_mechanism_states_its_own_claim(self, audit):
        told = json.loads(audit("ours", "--scores", "4", "--draws", "2000", "--json").out)
        assert told["claim"] == {"kind": "bounded-range", "epsilon": "1"}
        assert [way["how"] for way in told["tried"]] == ["law", "tapes", "draws"]


class TestFound:
    def test_the_exit_code_is_3_and_the_witness_is_shown(self, audit):
        outcome = audit("too_hot", *CLAIM, *FEW)
        assert (outcome.code, outcome.err) == (3, "")
        assert outcome.out.startswith("Violated: epsilon is at least ")
        for part in ("where 1 is claimed.", "found privacy: epsilon", "first [", "second ["):
            assert part in words(outcome)
        assert "no proof" not in words(outcome)

    def test_json(self, audit):
        outcome = audit("too_hot", *CLAIM, *FEW, "--json")
        assert (outcome.code, outcome.err, outcome.out.count("\n")) == (3, "", 1)
        told = json.loads(outcome.out)
        assert (told["violated"], told["passed"]) == (True, False)
        assert told["witness"]["lower_bound"] == told["lower_bound"] > 1
        assert {finding["kind"] for finding in told["findings"]} == {"privacy"}

    def test_the_wrong_winner_is_found_too(self, audit):
        assert audit("right", *CLAIM, *FEW, "--objective", "max").code == 0
        outcome = audit("right", *CLAIM, *FEW, "--objective", "min", "--json")
        assert outcome.code == 3
        (finding,) = json.loads(outcome.out)["findings"]
        assert finding["kind"] == "objective"

    def test_a_picture(self, audit, tmp_path):
        outcome = audit("too_hot", *CLAIM, *FEW, "--plot", "loss.png")
        assert outcome.code == 3
        assert outcome.out.endswith("The picture is in loss.png\n")
        assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            ((), ("'--claim'", "given, because the code states none", "Got nothing.")),
            (("--claim", "dp:1"), ("'--claim'", "one of pure-dp, bounded-range", "Got 'dp:1'.")),
            (("--claim", "pure-dp"), ("'--claim'", "a colon and its numbers", "Got 'pure-dp'.")),
            ((*CLAIM, "--draws", "999"), ("'--draws'", "at least 1000", "Got '999'.")),
            ((*CLAIM, "--scores", "1"), ("'--scores'", "at least 2", "Got '1'.")),
            ((*CLAIM, "--plot", "a.gif"), ("'--plot'", ".svg, .png", "Got 'a.gif'.")),
        ],
    )
    def test_bad_parameters_are_named(self, audit, options, parts):
        audit("right", *options).refused("of discreet audit must be", *parts)

    def test_a_mechanism_knows_its_sensitivity(self, audit):
        audit("ours", "--sensitivity", "1").refused(
            "'--sensitivity'", "left out: the mechanism states its own", "Got '1'."
        )

    @pytest.mark.parametrize("target", [MODULE, ":right", f"{MODULE}:", f".{MODULE}:right"])
    def test_what_is_no_name_in_a_module(self, shell, target):
        shell("audit", target, *CLAIM).refused(
            f"The 'MODULE:NAME' parameter of discreet audit must be MODULE:NAME, such as "
            f"mylibrary.selection:noisy_max. Got '{target}'."
        )

    @pytest.mark.parametrize(
        ("target", "hint"),
        [
            (f"{MODULE}:wrong", f"module '{MODULE}' has no attribute 'wrong'."),
            ("no_such_module:right", "No module named 'no_such_module'."),
        ],
    )
    def test_what_cannot_be_imported(self, audit, shell, target, hint):
        shell("audit", target, *CLAIM).refused(
            "'MODULE:NAME'", f"something that can be imported. Got '{target}'. {hint}"
        )

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("def f(", "SyntaxError"),
            ("raise ValueError('canary')", "ValueError"),
            ("raise SystemExit(0)", "SystemExit"),
        ],
    )
    def test_a_module_that_fails_does_not_pass(self, shell, tmp_path, code, error):
        (tmp_path / "failing_to_import.py").write_text(code)
        outcome = shell("audit", "failing_to_import:f", *CLAIM)
        outcome.refused(
            "'MODULE:NAME'", "in a module that can be imported", f"The module raised {error}."
        )
        assert "canary" not in outcome.err

    def test_what_cannot_be_called(self, audit):
        audit("number", *CLAIM).refused(
            "The 'MODULE:NAME' parameter of discreet audit must be a function, a mechanism or an "
            "AuditedCode."
        )

    def test_code_that_never_answers_does_not_pass(self, audit):
        audit("without_scores", *CLAIM, *FEW).refused(
            "The 'MODULE:NAME' parameter of discreet audit must be code that gives an answer; all "
            "calls failed. Got 'TypeError: without_scores() takes 0 positional arguments"
        )


class TestTwoVerdicts:
    def test_ordinary_scores_come_first(self, audit):
        outcome = audit("right", *CLAIM, *FEW)
        assert outcome.out.index("Ordinary scores") < outcome.out.index("Extreme scores")
        for part in (
            "means With ordinary scores, no violation was found.",
            "do Keep this audit among your",
        ):
            assert part in words(outcome)

    def test_the_help_of_monotonic_is_about_the_audited_code(self, shell):
        told = " ".join(shell("audit", "--help").out.replace("│", " ").split())
        assert (
            "One person moves all scores in the same direction, as with counts. Without it, code "
            "that is right only for counts is reported as a violation." in told
        )
        assert (
            "One person moves all scores in the same direction, as with votes. This halves the "
            "error." not in told
        )
