from __future__ import annotations

import json
from fractions import Fraction

import pytest
from tiers import first

import discreet
from discreet.accounting.analyses import ANALYSES as LIBRARY
from discreet.accounting.analyses import NON_ADAPTIVE_ONLY
from discreet.cli.show import ANALYSIS_WORDS, TEXTBOOK

REQUEST = ("compose", "--bounded-range", "0.1x22")


def answer(outcome):
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out)


def row(outcome, words):
    """The cells of one line of the comparison, from the last one of that name: facts come first."""
    line = [line for line in outcome.out.splitlines() if words in line][-1]
    return line.replace(words, "").split()


def test_every_analysis_has_words_and_the_right_word_about_adaptivity():
    assert list(ANALYSIS_WORDS) == list(LIBRARY)
    assert {
        name for name, analysis in ANALYSIS_WORDS.items() if not analysis.adaptive
    } == NON_ADAPTIVE_ONLY
    assert len({analysis.words for analysis in ANALYSIS_WORDS.values()}) == len(ANALYSIS_WORDS)
    assert set(TEXTBOOK) <= set(ANALYSIS_WORDS)


def test_json_has_the_library_s_numbers_exactly(shell):
    found = answer(shell(*REQUEST, "--delta", "1e-6", "--json"))
    total = discreet.compose({discreet.BoundedRange(Fraction(1, 10)): 22}, delta=Fraction(1, 10**6))
    assert Fraction(found["epsilon"]["exact"]) == total.epsilon
    assert found["epsilon"]["float"] == float(total.epsilon) <= 1
    assert found["delta"] == {"exact": "1/1000000", "float": 1e-6}
    assert (found["method"], found["queries"], found["adaptive"]) == (
        "bounded-range-adaptive",
        22,
        True,
    )
    assert found["losses"] == [{"kind": "bounded-range", "epsilon": "1/10", "count": 22}]
    for each in found["analyses"]:
        value = total.alternatives[each["name"]]
        assert each["epsilon"] == (
            None if value is None else {"exact": str(value), "float": float(value)}
        )


def test_epsilon_instead_of_delta(shell):
    outcome = shell(*REQUEST, "--epsilon", "1")
    assert row(outcome, "epsilons add up") == ["—"]
    assert row(outcome, "bounded range, non-adaptive") == ["6.27649e-7", "no"]
    found = answer(shell(*REQUEST, "--epsilon", "1", "--json"))
    assert found["epsilon"] == {"exact": "1", "float": 1.0}
    assert 6.27e-7 < found["delta"]["float"] < 7.1e-7
    assert {"name", "delta", "adaptive"} == set(found["analyses"][0])


def test_non_adaptive_counts_only_on_the_caller_s_word(shell):
    outcome = shell(*REQUEST, "--epsilon", "1", "--non-adaptive")
    assert row(outcome, "bounded range, non-adaptive") == ["►", "6.27649e-7", "no"]
    assert "22, all fixed in advance" in outcome.out
    assert answer(shell(*REQUEST, "--epsilon", "1", "--json"))["method"] == "bounded-range-adaptive"
    assert (
        answer(shell(*REQUEST, "--epsilon", "1", "--non-adaptive", "--json"))["method"]
        == "bounded-range-non-adaptive"
    )


def test_kinds_mix_and_repeated_options_add_up(shell):
    arguments = (
        "--pure",
        "1/2x3",
        "--zcdp",
        "0.01",
        "--approx",
        "1,1e-7x2",
        "--bounded-range",
        "0.1",
        "--bounded-range",
        ".1x4",
    )
    found = answer(shell("compose", *arguments, "--delta", "1e-6", "--json"))
    assert found["losses"] == [
        {"kind": "bounded-range", "epsilon": "1/10", "count": 5},
        {"kind": "pure-dp", "epsilon": "1/2", "count": 3},
        {"kind": "zcdp", "rho": "1/100", "count": 1},
        {"kind": "approx-dp", "epsilon": "1", "delta": "1/10000000", "count": 2},
    ]
    assert found["queries"] == 11
    assert found["method"] == "rdp"


RULE = "a number greater than 0, such as 0.1 or 1/3"


@pytest.mark.parametrize("text", ["x", "0.1x0", "0.1x-1", "0.1x1/2", "0x3"])
@pytest.mark.parametrize("option", first(["--bounded-range", "--pure", "--zcdp"], tier="pairs"))
def test_bad_losses(shell, option, text):
    shell("compose", f"{option}={text}", "--delta", "1e-6").refused(
        f"The '{option}' parameter of discreet compose", RULE
    )


@pytest.mark.parametrize("text", ["1", ",1e-6", "1,1e-6,3", "1,1e-6x0"])
def test_bad_approximate_losses(shell, text):
    shell("compose", "--approx", text, "--delta", "1e-3").refused(
        "'--approx'", "an epsilon and a delta", f"Got '{text}'."
    )


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (
            (),
            (
                "'--delta'",
                "given, or '--epsilon' in its place (exactly one of the two)",
                "Got nothing.",
            ),
        ),
        (
            ("--delta", "1e-6", "--epsilon", "1"),
            (
                "'--delta'",
                "given, or '--epsilon' in its place (exactly one of the two)",
                "Got '1e-6'.",
            ),
        ),
        (("--delta", "-1e-6"), ("'--delta'", "at least 0 and below 1", "Got '-1e-6'.")),
        (("--delta", "tiny"), ("'--delta'", "a finite number", "Got 'tiny'.")),
    ],
)
def test_bad_requests(shell, options, parts):
    shell(*REQUEST, *options).refused("of discreet compose", *parts)


def test_no_losses(shell):
    shell("compose", "--delta", "1e-6").refused(
        "'--bounded-range'", "given, or --pure or --zcdp or --approx", "Got nothing."
    )


def test_a_delta_that_the_losses_exceed_or_need(shell):
    shell("compose", "--zcdp", "0.01", "--delta", "0").refused(
        "'--delta'", "greater than 0", "Got '0'."
    )
    outcome = shell("compose", "--approx", "1,1e-6x3", "--delta", "1e-6")
    outcome.refused("'--delta'", "at least the sum of the losses' own deltas, 3e-06", "Got '1e-6'.")
