"""`preview` and `choose-epsilon`: free, without a table, and marked as what they are."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import discreet
from discreet.mechanisms.catalogue import make_top_k


def test_a_preview_counts_its_draws(shell):
    told = json.loads(shell("preview", "--epsilon", "0.05", "--counts", "30,20,0", "--json").out)
    assert told["simulated"] is True
    assert (told["counts"], sum(told["chosen"]), told["draws"]) == ([30, 20, 0], 1000, 1000)
    assert told["error_of_half"] <= told["error_of_95_percent"] <= told["accuracy"]["bound"]


def test_a_preview_says_that_its_data_are_made_up(shell, tmp_path):
    picture = tmp_path / "answers.svg"
    outcome = shell("preview", "--epsilon", "1", "-k", "3", "--draws", "50", "--plot", str(picture))
    assert outcome.code == 0
    assert "simulated answers about made-up data" in outcome.out
    assert "<title" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize("k", [None, 2])
def test_simulated_answers_have_the_law_of_real_ones(k):
    counts = {"a": 12, "b": 10, "c": 3}
    seen = discreet.preview(counts, epsilon=0.5, k=k, draws=4000)
    assert all(release.seeded for release in seen.examples)
    if k is None:
        mechanism = discreet.PermuteAndFlip(epsilon=0.5, sensitivity=1, monotonic=True)
        odds = mechanism.probabilities(list(counts.values()))
        found = np.array(list(seen.chosen.values())) / seen.draws
        # six standard deviations
        assert abs(found - odds).max() < 6 * np.sqrt(0.25 / 4000)
    else:
        ranked = make_top_k(k, 0.5, 0, sensitivity=1, monotonic=True).accuracy(candidates=3)
        assert seen.accuracy.bound == math.floor(ranked.bound)
    assert (seen.errors > seen.accuracy.bound).mean() <= 0.05 + 6 * np.sqrt(0.05 / 4000)


def test_an_epsilon_is_chosen_by_accuracy(shell):
    words = ["choose-epsilon", "mode", "--candidates", "1000", "--within", "50", "--json"]
    told = json.loads(shell(*words).out)
    assert told["epsilon"] == "39/200"
    assert told["bounds"]["0.1"]["bound"] == 99


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["choose-epsilon", "mode"],
            "The '--candidates' parameter of discreet choose-epsilon must",
        ),
        (["choose-epsilon", "modus"], "The 'QUESTION' parameter of discreet choose-eps"),
        (
            ["preview", "--epsilon", "1", "--counts", "a,b"],
            "The '--counts' parameter of discreet pr",
        ),
        (
            ["preview", "--epsilon", "-1"],
            "The '--epsilon' parameter of discreet preview must be gre",
        ),
        (
            ["preview", "--epsilon", "1", "--plot", "a.gif"],
            "The '--plot' parameter of discreet prev",
        ),
        (
            ["choose-epsilon", "mode", "--candidates", "9", "--plot", "a.gif"],
            "The '--plot' parameter of discreet choose-epsilon must be a file whose name ends in",
        ),
        (
            ["choose-epsilon", "mode", "--candidates", "9", "--plot", "no/a.svg"],
            "The '--plot' parameter of discreet choose-epsilon must be a file that you may write",
        ),
        (
            ["choose-epsilon", "mode", "--candidates", "9", "--within", "-1"],
            "The '--within' parameter of discreet choose-epsilon must be at least 0. Got '-1'.",
        ),
        (
            ["choose-epsilon", "quantile", "--q", "half", "--points", "121"],
            "The '--q' parameter of discreet choose-epsilon must be shares such as 0.5",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(shell, words, message):
    shell(*words).refused(message)


def test_the_package_runs_as_a_module_and_completes_words():
    run = [sys.executable, "-m", "discreet"]
    done = subprocess.run([*run, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"discreet {discreet.__version__}\n"
    # as bash asks, whatever shell the tests were started from
    typed = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet cho", "COMP_CWORD": "1"}
    completed = subprocess.run(
        run, capture_output=True, text=True, timeout=60, env=os.environ | typed
    )
    assert completed.stdout.split() == ["choose-epsilon"]
