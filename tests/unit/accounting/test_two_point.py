"""Copies of the worst pair: the bracket holds the truth at every size of number, and is narrow
where floats allow it.
"""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.composition import hockey_stick_of_copies, kov_delta
from tiers import examples, loop_over, more

from discreet.accounting.two_point import Bracket, hockey_stick

NARROW = 1e-11

# Optimal composition of pure DP is the case width = 2 top: (epsilon of each, copies,
# epsilon, delta).
PURE = [
    (1, 3, 1, "0.33783471215"),
    (Fraction(1, 2), 5, 1, "0.18409792626"),
    (Fraction(1, 10), 20, 1, "2.3966924536e-3"),
    (Fraction(1, 10), 10, Fraction(1, 2), "9.9296269174e-3"),
    (Fraction(1, 10), 50, 1, "3.8253072097e-2"),
]


def assert_holds(bracket: Bracket, truth: mpmath.mpf) -> None:
    assert 0 <= bracket.low <= truth <= bracket.high <= 1


@pytest.mark.parametrize(("each", "copies", "epsilon", "expected"), PURE)
def test_published_values_of_pure_composition(each, copies, epsilon, expected):
    found = hockey_stick(Fraction(2 * each), Fraction(each), copies, Fraction(epsilon))
    assert_holds(found, kov_delta(each, copies, epsilon))
    assert found.high == pytest.approx(float(expected), rel=1e-10)
    assert found.high - found.low <= NARROW * found.high


shares = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=1000)


@examples(40, 150)
@given(
    width=st.tuples(st.integers(1, 99), st.integers(-40, 0)).map(
        lambda pair: pair[0] * Fraction(10) ** pair[1]
    ),
    top=shares,
    copies=st.integers(1, 60),
    place=st.fractions(min_value=Fraction(-1, 5), max_value=Fraction(11, 10), max_denominator=1000),
)
def test_bracket_holds_the_truth_for_ordinary_and_tiny_widths(width, top, copies, place):
    epsilon = place * copies * top * width
    found = hockey_stick(width, top * width, copies, epsilon)
    truth = hockey_stick_of_copies(width, top * width, copies, epsilon)
    assert_holds(found, truth)
    if width >= Fraction(1, 1000) and truth > 1e-280 and width <= 5:
        assert found.high - found.low <= NARROW * truth


@pytest.mark.parametrize("power", [12, 15, 16, 17, 20, 40, 100])
def test_an_outcome_that_barely_counts_does_not_hide_the_others(power):
    # Differences 1 - e^-x of floats vanish below 1e-16, and with them all outcomes but the
    # one that barely counts.
    width = Fraction(1, 10**power)
    epsilon = width / 2 - width / 10**10
    assert_holds(
        hockey_stick(width, width / 2, 5, epsilon),
        hockey_stick_of_copies(width, width / 2, 5, epsilon),
    )


@pytest.mark.parametrize(
    ("width", "top", "epsilon"),
    [
        (Fraction(1, 100), Fraction(1, 200), 10),
        more(Fraction(1, 1000), Fraction(51, 10**5), Fraction(1, 10**9)),
        more(Fraction(1, 10**7), Fraction(1, 2 * 10**7), Fraction(1, 10**6)),
    ],
)
def test_a_hundred_thousand_copies(width, top, epsilon):
    found = hockey_stick(width, top, 10**5, Fraction(epsilon))
    truth = hockey_stick_of_copies(width, top, 10**5, epsilon)
    assert_holds(found, truth)
    assert found.high <= truth * (1 + mpmath.mpf(10) ** -6)


@pytest.mark.parametrize("copies", [2000, 10**6])
def test_what_is_too_small_for_a_float_is_still_not_zero(copies):
    # The truth is about 2^-copies: a bracket that ends at 0 would promise pure DP.
    each = Fraction(1, 100)
    assert hockey_stick(2 * each, each, copies, each * copies - each / 2).high > 0


@pytest.mark.parametrize(
    "width",
    [Fraction(1, 10**400), Fraction(5e-324), Fraction(2000), Fraction(10**6), Fraction(10**400)],
)
def test_widths_beyond_floats_are_bracketed(width):
    found = hockey_stick(width, width / 3, 4, width / 10)
    if (
        width < 1
    ):  # the truth is of the size of the width: it may be rounded away below, but not above
        assert 0 <= found.low <= width
        assert found.high > 0
    else:  # P is nearly all on four high outcomes, and Q hardly
        assert found.low <= 1 == found.high


@loop_over("copies", [1, 7, 600])
@loop_over("epsilon", [1, Fraction(3, 2), 100])
def test_from_the_largest_loss_on_delta_is_exactly_zero(copies, epsilon):
    assert hockey_stick(Fraction(2), Fraction(1), copies, Fraction(copies * epsilon)) == (0.0, 0.0)


@pytest.mark.parametrize("top", [0, 1])
def test_a_pair_of_equal_distributions_costs_nothing(top):
    assert hockey_stick(Fraction(1), Fraction(top), 5, Fraction(1, 10)) == (0.0, 0.0)


def test_just_below_the_largest_loss_delta_is_not_zero():
    epsilon = 3 - Fraction(1, 10**30)
    found = hockey_stick(Fraction(2), Fraction(1), 3, epsilon)
    assert_holds(found, hockey_stick_of_copies(2, 1, 3, epsilon))
    assert found.low > 0
