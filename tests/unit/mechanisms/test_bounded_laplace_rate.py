"""The largest private rate within boxes: against every pair of neighbours, and attained."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest
from tiers import loop_over, more

from discreet.mechanisms import bounded_laplace
from discreet.mechanisms.bounded_laplace import largest_loss, largest_rate

RATES = [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(5)]
BOXES = [(1,), (4,), (9,), (1, 1), (2, 5), (6, 6), (1, 2, 3), (4, 4, 4), (1, 8, 8), (3, 3, 1, 2)]


def dearest(rate, sensitivity, widths):
    """By the definition: all values, all neighbours within the sensitivity, all outputs, one box
    after the other.
    """
    options = []
    for width in widths:
        losses = {}
        sums = [
            sum(math.exp(-rate * abs(y - x)) for y in range(width + 1)) for x in range(width + 1)
        ]
        for x, other in itertools.product(range(width + 1), repeat=2):
            worst = max(rate * (abs(y - other) - abs(y - x)) for y in range(width + 1)) + math.log(
                sums[other] / sums[x]
            )
            losses[abs(x - other)] = max(losses.get(abs(x - other), 0.0), worst)
        options.append(losses.items())
    return max(
        sum(loss for _, loss in chosen)
        for chosen in itertools.product(*options)
        if sum(move for move, _ in chosen) <= sensitivity
    )


@loop_over("widths", BOXES, ids=str)
@loop_over("rate", RATES, ids=str)
def test_the_loss_is_that_of_the_worst_neighbours(rate, widths):
    for sensitivity in range(1, sum(widths) + 1):
        bound = float(largest_loss(rate, sensitivity, Counter(widths)))
        assert bound == pytest.approx(dearest(float(rate), sensitivity, widths), rel=1e-9)


@loop_over("widths", BOXES, usual=5)
@pytest.mark.parametrize(
    "epsilon", [more(Fraction(1, 100)), Fraction(1), more(Fraction(8))], ids=str
)
def test_the_rate_spends_all_of_epsilon(epsilon, widths):
    """Private, and not by a millionth of a millionth less noise than it could have."""
    for sensitivity in range(1, sum(widths) + 1):
        rate = largest_rate(epsilon, sensitivity, widths)
        assert largest_loss(rate, sensitivity, Counter(widths)) <= epsilon
        if rate < epsilon / sensitivity * (1 - Fraction(1, 10**9)):  # the end of the search
            assert dearest(float(rate), sensitivity, widths) == pytest.approx(
                float(epsilon), rel=1e-9
            )


@loop_over(
    ("epsilon", "sensitivity", "widths"),
    [
        (Fraction(1), 1, (100,) * 1000),
        (Fraction(1, 1000), 10**9, (10**9, 10**10)),
        (Fraction(64), 5, (10,) * 3),
        (Fraction(1), 1000, (1,) * 1000),
        (Fraction(1, 10**12), 3, (10**15, 7)),
        (Fraction(64), 1, (10**6,)),
        (Fraction(10**6), 30, (10**3, 20)),
        (Fraction(1, 10**400), 2, (9, 9)),
        (Fraction(10**400), 2, (9, 9)),
    ],
    usual=5,
)
def test_large_and_lopsided_boxes(epsilon, sensitivity, widths):
    rate = largest_rate(epsilon, sensitivity, widths)
    assert epsilon / (2 * sensitivity) <= rate <= epsilon / sensitivity
    assert largest_loss(rate, sensitivity, Counter(widths)) <= epsilon


@pytest.mark.parametrize("slope", [-0.4, -0.01, 0.0, 0.05, 0.3, 2.0])
@pytest.mark.parametrize("moves", [{9: 0, 4: 0}, {9: 1, 4: 3}, {9: 9, 4: 4}, {9: 5, 4: 0}], ids=str)
def test_a_wrong_slope_only_makes_the_bound_larger(monkeypatch, moves, slope):
    """What floats look for is not trusted: whatever they find, the bound holds."""
    rate, widths = Fraction(1, 3), (9, 4, 4)
    monkeypatch.setattr(bounded_laplace, "_shared", lambda *_: (slope, moves))
    for sensitivity in (1, 4, 11, 17):
        bound = float(largest_loss(rate, sensitivity, Counter(widths)))
        assert bound >= dearest(float(rate), sensitivity, widths) * (1 - 1e-12)


def test_many_boxes_cost_more_than_one_by_the_same_move():
    """Each step from an end costs most where it is the first, so moves that are shared among
    boxes are dearer.
    """
    assert largest_loss(Fraction(1, 2), 4, {9: 4}) > largest_loss(Fraction(1, 2), 4, {9: 1})
