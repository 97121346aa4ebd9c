"""Sentences about the winner's lead: the numbers are on the safe side."""

from __future__ import annotations

import io
import math
from fractions import Fraction

import pytest
from rich.console import Console

from discreet import PureDP, Release
from discreet.cli.show import LEAD_FAILURE, promise, selection_panel


def shown(lead_bound, gap=Fraction(7)):
    release = Release(
        value="terrier", loss=PureDP(1), mechanism="permute-and-flip", candidates=3, gap=gap
    )
    console = Console(width=80, file=io.StringIO())
    console.print(selection_panel(release, lead_bound))
    return " ".join(console.file.getvalue().replace("│", " ").split())


@pytest.mark.parametrize(
    ("lead", "sentence"),
    [
        (None, "The gap is too small to say how far ahead the winner really is."),
        (0.0, "With 95% confidence, the winner's true lead is at least 0."),
        (
            4.0042999,
            "With 95% confidence, the winner's true lead is at least 4.00429.",
        ),  # rounded down
        (
            -0.1000001,
            "With 95% confidence, the winner is at most 0.100001 behind the best.",
        ),  # rounded up
        (math.inf, "The gap is too large for a bound on the lead."),
    ],
)
def test_sentences(lead, sentence):
    asked = []

    def lead_bound(gap, failure_probability):
        asked.append((gap, failure_probability))
        return lead

    assert f"gap 7 {sentence} privacy loss" in shown(lead_bound)
    assert asked == [(7, LEAD_FAILURE)]
    assert Fraction(5, 100) == LEAD_FAILURE


def test_a_gap_beyond_floats_does_not_lose_the_answer():
    def lead_bound(gap, failure_probability):
        return float(gap)

    assert "The gap is too large for a bound on the lead." in shown(lead_bound, Fraction(10**400))


def test_gaps_are_shown_exactly():
    assert "gap 1/3 The" in shown(lambda *_: None, Fraction(1, 3))
    assert "gap 2.5 The" in shown(lambda *_: None, Fraction(5, 2))
    assert "gap 123456789 The" in shown(lambda *_: None, Fraction(123456789))


def test_no_second_candidate_and_no_gap_asked_for():
    assert "gap none, because there is no other candidate privacy loss" in shown(
        lambda *_: None, None
    )
    assert "gap" not in shown(None, None)


def test_the_promise_of_pure_dp_is_about_probabilities_and_not_about_odds():
    """Randomised response with epsilon 1: a probability changes by e, its odds by e^2."""
    truth, lie = (1 / (1 + math.exp(-sign)) for sign in (1, -1))
    assert truth / lie == pytest.approx(math.e)
    assert truth / (1 - truth) / (lie / (1 - lie)) == pytest.approx(math.e**2)
    sentence = promise(PureDP(1))
    assert sentence == (
        "Adding or removing any one person changes the chance of any answer by a factor of at most "
        "2.72 (e^1)."
    )
    assert "odds" not in sentence
