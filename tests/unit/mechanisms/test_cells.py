"""Rank errors: where the share q ends, and what one person can do to them."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import pytest
from tiers import loop_over

from discreet.mechanisms.grid import Cells
from discreet.mechanisms.quantiles import range_of_errors

SHARES = [
    Fraction(0),
    Fraction(1, 10),
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(9, 10),
    Fraction(1),
]


def rank_errors(bins, q):
    """One error for each point."""
    runs = Cells.of_bins(list(bins)).rank_errors(q)
    errors = {
        int(start) + place: Fraction(int(error), q.denominator)
        for start, length, error in zip(runs.starts, runs.lengths, runs.errors, strict=True)
        for place in range(int(length))
    }
    return [errors[point] for point in range(len(bins) - 1)]


@loop_over(
    ("bins", "q", "errors"),
    [
        ([0, 3, 1], Fraction(1, 2), [0, 1]),
        ([0, 0, 10, 0], Fraction(1, 2), [5, 0, 5]),
        ([10, 0, 0], Fraction(1, 2), [0, 5]),  # those below the grid have its first point
        ([0, 0, 10], Fraction(9, 10), [9, 0]),
        ([0, 1, 1, 1], Fraction(1, 3), [0, 0, 1]),
        ([0, 0, 0], Fraction(1, 2), [0, 0]),
        ([2, 3], Fraction(1, 2), [0]),
        ([0, 5, 0, 5], Fraction(0), [0, 5, 5]),
        ([0, 5, 0, 5], Fraction(1), [5, 5, 0]),
    ],
    ids=str,
)
def test_examples(bins, q, errors):
    assert rank_errors(bins, q) == errors


@pytest.mark.parametrize("q", SHARES, ids=str)
def test_the_best_point_is_a_quantile(q):
    """Against the definition: at most the share q lies below, and at least the share q at or
    below.
    """
    for bins in product(range(3), repeat=4):
        values = [max(place - 1, 0) for place, count in enumerate(bins) for _ in range(count)]
        for point, error in enumerate(rank_errors(bins, q)):
            below, reached = (
                sum(value < point for value in values),
                sum(value <= point for value in values),
            )
            is_quantile = below <= q * len(values) <= reached
            assert (error == 0) == is_quantile


@pytest.mark.parametrize("q", SHARES, ids=str)
def test_what_one_person_can_do(q):
    """Every table of up to two persons a bin, and every one more: within max(q, 1 - q), and
    somewhere exactly that.
    """
    largest = max(q, 1 - q)
    widest, farthest = Fraction(0), Fraction(0)
    for bins in product(range(3), repeat=4):
        before = rank_errors(bins, q)
        for place in range(4):
            more = [count + (place == number) for number, count in enumerate(bins)]
            moves = [new - old for old, new in zip(before, rank_errors(more, q), strict=True)]
            assert all(abs(move) <= largest for move in moves)
            farthest = max(farthest, *map(abs, moves))
            widest = max(widest, max(moves) - min(moves))
    assert farthest == largest
    assert widest <= range_of_errors(q)
    if q in (0, Fraction(1, 2), 1):
        assert widest == range_of_errors(q)  # the range that a quantile pays for is used up


@pytest.mark.parametrize("q", SHARES, ids=str)
def test_what_a_replaced_value_can_do(q):
    widest = Fraction(0)
    for bins in product(range(3), repeat=4):
        before = rank_errors(bins, q)
        for here, there in permutations(range(4), 2):
            if bins[here]:
                other = [
                    count - (place == here) + (place == there) for place, count in enumerate(bins)
                ]
                moves = [new - old for old, new in zip(before, rank_errors(other, q), strict=True)]
                widest = max(widest, max(moves) - min(moves))
    assert widest <= range_of_errors(q, replace=True)
    if q in (0, 1):
        assert widest == range_of_errors(q, replace=True)
