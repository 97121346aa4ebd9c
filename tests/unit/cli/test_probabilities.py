from __future__ import annotations

import json

import pytest

from discreet.mechanisms import PermuteAndFlip

DOGS = ("terrier=41", "husky=38", "corgi=12")
PRIVACY = ("--epsilon", "1", "--sensitivity", "1", "--monotonic")


def distributions(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    return {each["mechanism"]: each for each in json.loads(outcome.out)["distributions"]}


def test_a_table_with_bars_in_the_given_order_and_a_reminder(shell):
    outcome = shell("scores", "probabilities", *DOGS, *PRIVACY)
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split()[0] for line in outcome.out.splitlines()[1:4]] == [
        "terrier",
        "husky",
        "corgi",
    ]
    assert "97.51%" in outcome.out
    assert "█" in outcome.out
    assert "do not" in outcome.out
    assert "publish" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_all_compares_three_distributions(shell):
    outcome = shell("scores", "probabilities", *DOGS, *PRIVACY, "--mechanism", "all")
    assert [
        outcome.out.count(name) for name in ("exponential", "permute-and-flip", "laplace-noise")
    ] == [3, 3, 3]
    found = distributions(
        shell(
            "scores",
            "probabilities",
            "a=0",
            "b=1",
            "c=2",
            "--epsilon=1",
            "--sensitivity=1",
            "--mechanism=all",
            "--json",
        )
    )
    assert found["exponential"]["probabilities"] == pytest.approx(
        [0.186323723225848, 0.307195885718498, 0.506480391055654]
    )
    assert found["permute-and-flip"]["probabilities"] == pytest.approx(
        [0.146751360560983, 0.266076969831578, 0.587171669607439]
    )
    assert found["laplace-noise"]["probabilities"] == pytest.approx(
        [0.174642630579537, 0.305705982039904, 0.519651387380559]
    )
    assert found["exponential"]["loss"] == {"kind": "bounded-range", "epsilon": "1"}


def test_json_has_the_labels_in_order(shell):
    outcome = shell("scores", "probabilities", *DOGS, *PRIVACY, "--json")
    assert json.loads(outcome.out)["candidates"] == ["terrier", "husky", "corgi"]
    expected = (
        PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
        .probabilities([41, 38, 12])
        .tolist()
    )
    assert distributions(outcome)["permute-and-flip"]["probabilities"] == expected


def test_scores_are_exact(shell):
    """Numbers of 80 bits, decimals and quotients that differ by a hair differ by exactly that
    hair.
    """
    small = shell("scores", "probabilities", "a=1", "b=0", *PRIVACY, "--json")
    large = shell("scores", "probabilities", f"a={2**80 + 1}", f"b={2**80}", *PRIVACY, "--json")
    decimal = shell(
        "scores",
        "probabilities",
        "a=1000000000000000000000.1",
        "b=999999999999999999999.1",
        *PRIVACY,
        "--json",
    )
    quotient = shell("scores", "probabilities", "a=4/3", "b=1/3", *PRIVACY, "--json")
    assert small.out == large.out == decimal.out == quotient.out


def test_no_candidate_is_shown_with_probability_zero(shell):
    outcome = shell("scores", "probabilities", "a=10000", "b=0", *PRIVACY)
    assert "e-4344" in outcome.out or "e-4343" in outcome.out


def test_min(shell):
    smallest = distributions(
        shell("scores", "probabilities", "a=0", "b=1", *PRIVACY, "--objective", "min", "--json")
    )
    largest = distributions(shell("scores", "probabilities", "a=1", "b=0", *PRIVACY, "--json"))
    assert smallest == largest


def test_names_may_have_signs(shell):
    outcome = shell("scores", "probabilities", "x=y=-3", "[bold]z=1", "a b=2", *PRIVACY)
    assert outcome.code == 0
    assert all(name in outcome.out for name in ("x=y", "[bold]z", "a b"))
