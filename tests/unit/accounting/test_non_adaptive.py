"""Bounded range without adaptivity: the published optimum, and a search that brackets the full
scan.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.composition import hockey_stick_of_copies, kov_delta, non_adaptive_delta, one_query
from tiers import examples, loop_over

from discreet.accounting import two_point
from discreet.accounting.two_point import delta_non_adaptive, quick_delta, slack

# (range, copies, epsilon, delta), from a computation with 50 digits
PUBLISHED = [
    (1, 1, 0, 0.2449186624037091),
    (1, 1, Fraction(1, 2), 0.0774046863156908),
    (1, 2, 0, 0.288317262369),
    (1, 2, Fraction(1, 2), 0.1524519067986656),
    (1, 3, 1, 0.0948951119463448),
    (2, 2, 1, 0.337834712147041),
    (Fraction(1, 2), 5, 1, 0.0152472178248726),
    (Fraction(1, 2), 10, 2, 0.00388457285356194),
    (Fraction(1, 10), 10, Fraction(1, 2), 3.99781340525903e-5),
    (Fraction(1, 10), 20, 1, 1.94909930194016e-7),
    (Fraction(1, 10), 22, 1, 6.27648171946158e-7),
    (Fraction(1, 10), 50, 1, 3.998429905e-4),
]


@loop_over(("width", "copies", "epsilon", "expected"), PUBLISHED)
def test_published_values(width, copies, epsilon, expected):
    found = delta_non_adaptive(Fraction(width), copies, Fraction(epsilon))
    truth = non_adaptive_delta(width, copies, epsilon)
    assert found.low <= truth <= found.high
    assert found.high <= truth * (1 + 1e-12)
    shown = len(str(expected).split("e")[0].replace("0.", "").replace(".", ""))
    assert float(truth) == pytest.approx(expected, rel=10.0 ** (1 - min(shown, 14)))


@loop_over(("width", "copies", "epsilon"), [case[:3] for case in PUBLISHED])
def test_the_quick_search_finds_the_same(width, copies, epsilon):
    quick = quick_delta(Fraction(width), copies, Fraction(epsilon))
    truth = non_adaptive_delta(width, copies, epsilon)
    assert quick == pytest.approx(float(truth), rel=1e-12)


@examples(15, 60)
@given(
    width=st.fractions(min_value=Fraction(1, 50), max_value=3, max_denominator=100),
    copies=st.integers(1, 25),
    place=st.fractions(min_value=0, max_value=Fraction(99, 100), max_denominator=100),
    top=st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=100),
)
def test_no_pair_is_worse_and_the_optimum_is_met(width, copies, place, top):
    epsilon = place * copies * width
    found = delta_non_adaptive(width, copies, epsilon)
    truth = non_adaptive_delta(width, copies, epsilon)
    assert found.low <= truth <= found.high <= truth * (1 + 1e-11)
    assert hockey_stick_of_copies(width, top * width, copies, epsilon) <= found.high


@loop_over("width", [Fraction(1, 5), 1, 4])
@loop_over("share", [0, Fraction(1, 3), Fraction(9, 10)])
def test_one_query_is_the_closed_form(width, share):
    found = delta_non_adaptive(Fraction(width), 1, share * width)
    assert found.high == pytest.approx(one_query(float(width), float(share * width)), rel=1e-13)


@pytest.mark.parametrize(
    ("width", "copies", "epsilon"),
    [
        (Fraction(1, 10), 40, 1),
        (Fraction(1, 10), 150, 3),
        (Fraction(1, 100), 300, Fraction(1, 2)),
        (1, 60, 20),
        (Fraction(1, 3), 100, Fraction(1, 10**6)),
        (Fraction(1, 10), 100, Fraction(99, 10)),
    ],
)
def test_branch_and_bound_brackets_the_full_scan(monkeypatch, width, copies, epsilon):
    scan = delta_non_adaptive(Fraction(width), copies, Fraction(epsilon))
    monkeypatch.setattr(two_point, "_FEW", 0)
    searched = delta_non_adaptive(Fraction(width), copies, Fraction(epsilon))
    assert searched.low <= scan.high
    assert scan.low <= searched.high <= scan.high * (1 + slack(copies))


def test_branch_and_bound_brackets_the_full_scan_of_many(monkeypatch):
    searched = delta_non_adaptive(Fraction(1, 50), 900, Fraction(1))
    monkeypatch.setattr(two_point, "_FEW", 1000)
    scan = delta_non_adaptive(Fraction(1, 50), 900, Fraction(1))
    assert searched.low <= scan.high
    assert scan.low <= searched.high <= scan.high * (1 + 4e-4)


def test_deep_in_the_tail_the_search_ends_and_is_not_zero():
    # The truth is near 1e-400: no float is that small, and 0 would be a promise of pure DP.
    found = delta_non_adaptive(Fraction(1, 10), 1000, Fraction(99))
    assert found.low == 0
    assert 0 < found.high < 1e-280


@pytest.mark.parametrize("copies", [3, 513])
def test_from_the_sum_on_delta_is_exactly_zero(copies):
    assert delta_non_adaptive(Fraction(1, 10), copies, Fraction(copies, 10)) == (0.0, 0.0)
    assert quick_delta(Fraction(1, 10), copies, Fraction(copies, 10)) == 0
    assert (
        delta_non_adaptive(Fraction(1, 10), copies, Fraction(copies, 10) - Fraction(1, 10**6)).high
        > 0
    )


@pytest.mark.parametrize(("copies", "epsilon"), [(5, 1), (30, 2)])
def test_bounded_range_is_between_pure_dp_of_half_and_of_the_whole(copies, epsilon):
    # pure DP of epsilon / 2 has range epsilon; range epsilon is pure DP of epsilon
    found = delta_non_adaptive(Fraction(1, 2), copies, Fraction(epsilon)).high
    assert (
        kov_delta(Fraction(1, 4), copies, epsilon)
        <= found
        <= kov_delta(Fraction(1, 2), copies, epsilon)
    )
