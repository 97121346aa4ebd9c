from __future__ import annotations

import json
import math

import pytest

REQUEST = (
    "error-bound",
    "--candidates",
    "100",
    "--epsilon",
    "0.5",
    "--failure-probability",
    "0.01",
)


def bounds(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_the_mascot_of_the_lecture_notes(shell):
    outcome = shell(*REQUEST, "--sensitivity", "1")
    assert outcome.code == 0
    for part in ("34.0286", "10.5146", "Except with probability 0.01", "On average"):
        assert part in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    found = bounds(shell(*REQUEST, "--sensitivity", "1", "--json"))
    assert found["error_bound"] == pytest.approx(4 * math.log(99 * 100 / 2))
    assert found["expected_error_bound"] == pytest.approx(10.514599)
    assert found["mechanism"] == "permute-and-flip"


def test_monotonic_halves_and_range_says_the_same(shell):
    general = bounds(shell(*REQUEST, "--sensitivity", "1", "--json"))
    half = bounds(shell(*REQUEST, "--sensitivity", "1", "--monotonic", "--json"))
    assert 2 * half["error_bound"] == pytest.approx(general["error_bound"])
    assert bounds(shell(*REQUEST, "--score-range", "1", "--json")) == half


def test_ties_help(shell):
    found = bounds(shell(*REQUEST, "--sensitivity", "1", "--best", "100", "--json"))
    assert found["expected_error_bound"] == 0
    assert "0" in shell(*REQUEST, "--sensitivity", "1", "--best", "100").out


def test_mechanism(shell):
    laplace = bounds(
        shell(*REQUEST, "--sensitivity", "1", "--mechanism", "laplace-noise", "--json")
    )
    assert laplace["mechanism"] == "laplace-noise"
    assert laplace["error_bound"] > 36.85


@pytest.mark.parametrize(
    "options", [("--candidates", "9" * 500), ("--failure-probability", "1e-399")]
)
def test_numbers_beyond_floats_are_no_problem(shell, options):
    assert shell(*REQUEST, "--sensitivity", "1", *options).code == 0
