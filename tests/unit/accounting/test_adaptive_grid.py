"""Adaptive queries: the certified bracket against nested searches, every order, and both
directions of the curve.
"""

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.composition import adaptive_delta, kov_delta, non_adaptive_delta

from discreet.accounting import adaptive_grid
from discreet.accounting.adaptive_grid import Curve, curve_for
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, PureDP

EVERYWHERE = 1e9  # a reach beyond the sum of the epsilons
SEARCHED = 1e-9  # what a nested search misses

# (range, copies, epsilon, lower, upper): the bracket of a grid four times as fine, or the
# value of nested searches, twice
HOMOGENEOUS = [
    (1, 2, 0, 0.303365496483, 0.303365496484),
    (1, 2, Fraction(1, 2), 0.152451906798, 0.152451906799),
    (1, 3, 1, 0.099788534753, 0.099788917754),
    (1, 3, Fraction(3, 10), 0.2677141058, 0.2677141060),
    (Fraction(1, 2), 5, 1, 0.015965999811, 0.015966180066),
    (Fraction(1, 10), 10, Fraction(1, 2), 4.4267914702e-5, 4.4269176153e-5),
    (Fraction(1, 10), 20, 1, 2.1899170849e-7, 2.1900415587e-7),
]


# (ranges in this order, epsilon, delta)
ORDERED = [
    ((0.5, 1), 0.4, 0.124462959223),
    ((1, 0.5), 0.4, 0.116287200146),
    ((0.5, 0.5, 1), 0.6, 0.0915294141),
    ((0.5, 1, 0.5), 0.6, 0.0861182390),
    ((1, 0.5, 0.5), 0.6, 0.0827489826),
    ((0.3, 2), 0.5, 0.325036858566),
    ((2, 0.3), 0.5, 0.321971105411),
]


def counts_of(kind, epsilons):
    counted = {}
    for epsilon in epsilons:
        loss = kind(epsilon)
        counted[loss] = counted.get(loss, 0) + 1
    return counted


def made(counts, **options) -> Curve:
    curve = curve_for(counts, EVERYWHERE, **options)
    assert curve is not None
    return curve


@pytest.mark.parametrize(("width", "copies", "epsilon", "lower", "upper"), HOMOGENEOUS)
def test_published_brackets(width, copies, epsilon, lower, upper):
    found = made({BoundedRange(width): copies}).delta(Fraction(epsilon))
    assert found.low <= upper
    assert lower <= found.high <= upper * (1 + 4e-3)
    assert found.high - found.low <= 1e-2 * found.high
    assert found.high >= float(non_adaptive_delta(width, copies, epsilon)) * (1 - 1e-12)


@pytest.mark.parametrize("cells", [1, 2, 7, 24])
def test_a_stage_is_the_same_however_many_tops_are_tried_at_once(cells, monkeypatch):
    def stages():
        grid = adaptive_grid.Grid(Fraction(1, 24), 2.0, cells)
        values = grid.start
        for _ in range(3):
            values = grid.range_stage(values, cells)
        return [bound.tolist() for bound in values]

    monkeypatch.setattr(adaptive_grid, "_AT_ONCE", 10**9)
    at_once = stages()
    for tops in (1, 2, 5):
        monkeypatch.setattr(adaptive_grid, "_AT_ONCE", 50 * tops)
        assert stages() == at_once


@pytest.mark.parametrize(("widths", "epsilon", "expected"), ORDERED)
def test_published_values_of_each_order(widths, epsilon, expected):
    assert adaptive_delta(widths, epsilon) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("widths", "epsilon"),
    [
        ((1, 1), 0.0),
        ((0.5, 1), 0.4),
        ((0.3, 2), 0.5),
        ((0.5, 0.5, 1), 0.6),
        ((0.2, 0.7, 1.1), 0.35),
        ((0.3, 0.6, 0.9), 1.0),
        ((1, 1, 1), 2.5),
        ((3, 0.25), 1.0),
    ],
)
def test_the_bracket_holds_the_worst_order(widths, epsilon):
    found = made(counts_of(BoundedRange, widths)).delta(Fraction(str(epsilon)))
    orders = [adaptive_delta(order, epsilon) for order in set(permutations(widths))]
    assert found.high >= max(orders) * (1 - SEARCHED)
    # the adversary may also choose the order in view of the answers, which can only help
    assert found.high <= max(orders) * 1.05
    assert found.low <= found.high


@pytest.mark.parametrize(
    ("width", "copies", "epsilon"),
    [(1, 2, 0.3), (0.5, 3, 0.2), (2, 3, 1.7), (0.1, 3, 0.12), (4, 2, 3.0)],
)
def test_the_bracket_holds_nested_searches(width, copies, epsilon):
    found = made({BoundedRange(width): copies}).delta(Fraction(str(epsilon)))
    truth = adaptive_delta((width,) * copies, epsilon)
    assert found.low <= truth * (1 + SEARCHED)
    assert truth * (1 - SEARCHED) <= found.high <= truth * (1 + 5e-3)


@settings(max_examples=15)
@given(
    width=st.fractions(min_value=Fraction(1, 20), max_value=2, max_denominator=40),
    other=st.fractions(min_value=Fraction(1, 20), max_value=2, max_denominator=40),
    place=st.fractions(min_value=0, max_value=Fraction(9, 10), max_denominator=50),
)
def test_two_different_ranges_whatever_the_grid_rounds(width, other, place):
    epsilon = place * (width + other)
    found = made(counts_of(BoundedRange, (width, other)), effort=4e6).delta(epsilon)
    orders = [
        adaptive_delta(order, float(epsilon))
        for order in ((float(width), float(other)), (float(other), float(width)))
    ]
    assert found.low <= found.high
    assert found.high >= max(orders) * (1 - SEARCHED)
    assert found.low <= max(orders) * 1.06


@pytest.mark.parametrize("effort", [2e4, 2e5, 4e7])
def test_a_coarse_grid_is_looser_and_still_safe(effort):
    found = made({BoundedRange(Fraction(1, 2)): 3}, effort=effort).delta(Fraction(1, 5))
    truth = adaptive_delta((0.5,) * 3, 0.2)
    assert found.low <= truth * (1 + SEARCHED)
    assert found.high >= truth * (1 - SEARCHED)


@pytest.mark.parametrize(
    ("each", "copies", "epsilon"),
    [
        (1, 3, 1),
        (Fraction(1, 2), 5, 1),
        (Fraction(1, 10), 20, 1),
        (Fraction(1, 10), 10, Fraction(1, 2)),
        (Fraction(1, 10), 50, 1),
    ],
)
def test_pure_stages_are_optimal_composition(each, copies, epsilon):
    # randomised response moves by whole steps of the grid, so nothing is interpolated
    found = made({PureDP(each): copies}).delta(Fraction(epsilon))
    truth = float(kov_delta(each, copies, epsilon))
    assert found.low <= truth * (1 + 1e-15)
    assert truth <= found.high * (1 + 1e-15)
    assert found.high - found.low <= 1e-11 * truth


def test_pure_queries_off_the_grid_are_rounded_outwards():
    counts = {PureDP(Fraction(1, 3)): 2, PureDP(Fraction(200, 601)): 2}
    found = made(counts).delta(Fraction(1, 2))
    assert found.low <= float(kov_delta(Fraction(1, 3), 4, Fraction(1, 2)))
    assert found.high >= float(kov_delta(Fraction(200, 601), 4, Fraction(1, 2)))
    assert found.high > found.low


@pytest.mark.parametrize("small", [Fraction(1, 10**4), Fraction(1, 10**9), Fraction(1, 1000)])
@pytest.mark.parametrize("kind", [BoundedRange, PureDP])
def test_a_query_smaller_than_a_step_of_the_grid(kind, small):
    found = made({BoundedRange(1): 1, kind(small): 1}).delta(Fraction(1, 2))
    alone = adaptive_delta((1.0,), 0.5)
    assert alone * (1 - SEARCHED) <= found.high <= alone * 1.03
    assert found.low <= adaptive_delta((1.0, 2 * float(small)), 0.5)


@pytest.mark.parametrize(
    "counts", [{BoundedRange(1): 3}, {BoundedRange(0.3): 2, PureDP(0.7): 1}], ids=repr
)
def test_bounds_fall_with_epsilon_and_never_cross(counts):
    curve = made(counts)
    assert (curve.lower <= curve.upper).all()
    assert (np.diff(curve.upper) <= 1e-13).all()
    deltas = [curve.delta(Fraction(place, 97)) for place in range(180)]
    assert all(left.high >= right.high * (1 - 1e-12) for left, right in pairwise(deltas))
    assert all(found.low <= found.high for found in deltas)


def test_between_grid_points_the_chord_is_above_the_truth():
    curve = made({BoundedRange(1): 2}, effort=4e3)  # few points, so that chords are long
    assert curve.step >= Fraction(1, 32)
    for share in (Fraction(1, 7), Fraction(1, 2), Fraction(6, 7)):
        for place in range(0, 40, 3):
            epsilon = (place + share) * curve.step
            truth = adaptive_delta((1.0, 1.0), float(epsilon))
            found = curve.delta(epsilon)
            assert found.low <= truth * (1 + SEARCHED) + 1e-15
            assert found.high >= truth * (1 - SEARCHED)


@pytest.mark.parametrize(
    "counts", [{BoundedRange(1): 3}, {BoundedRange(0.1): 20}, {PureDP(0.5): 5}], ids=repr
)
def test_epsilon_and_delta_are_inverse_to_the_safe_side(counts):
    curve = made(counts)
    inverted = 0
    for delta in (0.3, 0.1, 1e-2, 1e-4, 1e-6, Fraction(1, 10**9), Fraction(1, 3)):
        epsilon = curve.epsilon(Fraction(delta))
        assert epsilon is not None
        assert curve.delta(epsilon).high <= delta
        if epsilon:
            inverted += 1
            assert curve.delta(epsilon * (1 - Fraction(1, 10**6))).high > delta
    assert inverted >= 4  # for the others 0 is small enough


@pytest.mark.parametrize("epsilon", [0, Fraction(1, 2), 1])
def test_a_short_reach_is_looser_and_still_safe(epsilon):
    # the adversary moves beyond the reach and back, so what is there matters for what is within
    curve = curve_for({BoundedRange(1): 10}, 1.0)
    assert curve is not None
    found = curve.delta(Fraction(epsilon))
    assert found.low <= found.high
    assert found.high >= float(non_adaptive_delta(1, 10, epsilon))


def test_off_the_curve_there_is_no_epsilon():
    curve = curve_for({BoundedRange(1): 10}, 1.0)
    assert curve is not None
    assert curve.epsilon(Fraction(1, 10**30)) is None
    beyond = curve.delta(Fraction(5))
    assert beyond.low == 0
    assert beyond.high >= float(non_adaptive_delta(1, 10, 5))


@pytest.mark.parametrize("loss", [ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)
def test_other_kinds_of_loss_have_no_curve(loss):
    assert curve_for({BoundedRange(1): 1, loss: 1}, EVERYWHERE) is None


def test_what_would_take_too_long_has_no_curve():
    assert curve_for({BoundedRange(Fraction(1, 10)): 10**6}, 100.0) is None
    assert (
        curve_for({BoundedRange(Fraction(place, 30)): 1 for place in range(1, 26)}, EVERYWHERE)
        is None
    )


@pytest.mark.parametrize(
    "counts",
    [
        {BoundedRange(Fraction(1, 2)): 6},
        {BoundedRange(1): 3, BoundedRange(Fraction(2, 7)): 2, PureDP(Fraction(1, 3)): 2},
    ],
    ids=repr,
)
def test_without_its_lower_end_the_upper_one_is_the_same(counts):
    both = curve_for(counts, EVERYWHERE, 2e6)
    upper = curve_for(counts, EVERYWHERE, 2e6, lower=False)
    assert upper.step == both.step
    assert np.array_equal(upper.upper, both.upper)
    assert np.all(upper.lower <= both.lower)
    assert both.lower[0] > upper.lower[0]
