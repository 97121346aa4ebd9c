from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import PureDP, Release

VOTES = (
    "name,votes\nterrier,4100\nhusky,38\ncorgi,12\n"  # the terrier's lead is too large for chance
)
COLUMNS = ("--label", "name", "--score", "votes")
PRIVACY = ("--epsilon", "1", "--sensitivity", "1")


@pytest.fixture
def votes(shell, tmp_path: Path):
    (tmp_path / "votes.csv").write_text(VOTES)
    return lambda *options: shell("scores", "select", "votes.csv", *COLUMNS, *options)


def test_the_answer_is_shown_with_its_promise(votes):
    outcome = votes(*PRIVACY, "--monotonic")
    assert (outcome.code, outcome.err) == (0, "")
    for part in (
        "terrier",
        "PureDP(epsilon=1)",
        "permute-and-flip",
        "3",
        "Adding or removing any one person",
        "2.72 (e^1)",
    ):
        assert part in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "4100" not in outcome.out


def test_json_is_a_release(votes):
    outcome = votes(*PRIVACY, "--json")
    release = Release.from_json(outcome.out)
    assert replace(release, accuracy=None) == Release(
        value="terrier", loss=PureDP(1), mechanism="permute-and-flip", candidates=3
    )
    assert "With 95% confidence, the chosen" in str(release.accuracy)
    assert outcome.out == release.to_json() + "\n"


def test_standard_input_is_csv(shell):
    outcome = shell("scores", "select", "-", *COLUMNS, *PRIVACY, "--json", stdin=VOTES.encode())
    assert Release.from_json(outcome.out).value == "terrier"
    shell("scores", "select", "-", *COLUMNS, *PRIVACY, stdin=b"").refused("'FILE'", "It is empty")
    shell("scores", "select", "-", *COLUMNS, *PRIVACY, stdin=b"a,b\n1,2\n").refused(
        "a column of standard input"
    )


def test_a_label_cannot_play_with_the_terminal(shell):
    outcome = shell(
        "scores", "select", "-", *COLUMNS, *PRIVACY, stdin=b"name,votes\n[red]\x1b[31mx,3\n"
    )
    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert "[red]" in outcome.out


def test_bad_parameters_are_named_before_the_file_is_touched(shell):
    shell(
        "scores", "select", "missing.csv", *COLUMNS, "--epsilon", "0", "--sensitivity", "1"
    ).refused("'--epsilon'")


def test_a_large_epsilon_needs_the_words(votes):
    outcome = votes(
        "--epsilon",
        "1000",
        "--sensitivity",
        "1",
        "--acknowledge",
        "not private in any useful sense",
    )
    assert outcome.code == 0
    assert "e^1000" in outcome.out


@pytest.mark.parametrize("row", ["canarylabel,424242x", "canarylabel,424242,1"])
def test_bad_data_is_one_line_without_data(shell, row):
    outcome = shell(
        "scores", "select", "-", *COLUMNS, *PRIVACY, stdin=f"name,votes\nx,424242\n{row}\n".encode()
    )
    outcome.refused()
    assert "canary" not in outcome.err
    assert "424242" not in outcome.err


class TestGap:
    def test_the_gap_is_shown_with_what_it_says(self, votes):
        outcome = votes(*PRIVACY, "--monotonic", "--with-gap")
        assert (outcome.code, outcome.err) == (0, "")
        words = " ".join(outcome.out.replace("│", " ").split())
        found = re.search(
            r"gap (\d+) With 95% confidence, the winner's true lead is at least ([\d.]+)\. "
            r"privacy loss PureDP",
            words,
        )
        gap, lead = int(found[1]), Fraction(found[2])
        assert 4000 < gap < 4120  # the true one is 4062, the noise scale 1
        assert gap - 3 <= lead <= gap - Fraction("2.9957")  # ln 20 = 2.9957...

    def test_a_step_larger_than_the_gap(self, votes):
        words = " ".join(
            votes(*PRIVACY, "--with-gap", "--gap-step", "1e9").out.replace("│", " ").split()
        )
        assert "gap 0 The gap is too small to say how far ahead the winner really is." in words

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            (("--gap-step", "1"), ("'--gap-step'", "given only with --with-gap", "Got '1'.")),
            (("--with-gap", "--gap-step", "0"), ("'--gap-step'", "greater than 0", "Got '0'.")),
            (
                ("--with-gap", "--mechanism", "laplace-noise"),
                (
                    "'--mechanism'",
                    "one that has a gap, such as permute-and-flip or exponential",
                    "Got 'laplace-noise'.",
                ),
            ),
        ],
    )
    def test_bad_parameters_are_named_before_the_file_is_touched(self, shell, options, parts):
        shell("scores", "select", "missing.csv", *COLUMNS, *PRIVACY, *options).refused(
            "of discreet scores select", *parts
        )


def test_scores_can_be_typed(shell):
    outcome = shell("scores", "select", "a=4100", "b=c=38", "d=1/2", *PRIVACY, "--json")
    release = Release.from_json(outcome.out)
    assert (release.value, release.candidates) == ("a", 3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["a=4", "a=5"],
            "The NAME=SCORE arguments of discreet scores select must have different names",
        ),
        (
            ["a=4", "b"],
            "The NAME=SCORE arguments of discreet scores select must be a name, an equals sign",
        ),
        (
            ["a=nan", "b=1"],
            "The NAME=SCORE arguments of discreet scores select must be a name, an equ",
        ),
        (
            ["a=4", "b=1", "--label", "x"],
            "The '--label' parameter of discreet scores select must be left",
        ),
        (
            ["votes.csv", "--label", "x"],
            "The '--score' parameter of discreet scores select must be given",
        ),
    ],
)
def test_typed_scores_that_make_no_sense(shell, words, message):
    outcome = shell("scores", "select", *words, *PRIVACY)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
