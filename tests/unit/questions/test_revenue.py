"""Revenues: what each price earns, and what one person can do to them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from discreet.questions.best_price import revenues

PRICES = [Fraction(1), Fraction(5, 2), Fraction(4)]


@pytest.mark.parametrize(
    ("bins", "earned"),
    [
        ([5, 0, 0, 0], [0, 0, 0]),
        ([0, 0, 0, 3], [3, Fraction(15, 2), 12]),
        ([1, 2, 3, 4], [9, Fraction(35, 2), 16]),
        ([0, 0, 0, 0], [0, 0, 0]),
    ],
    ids=str,
)
def test_examples(bins, earned):
    assert revenues(PRICES, bins) == earned


def test_against_the_definition():
    for bins in product(range(3), repeat=4):
        willing = [
            place for place, count in enumerate(bins) for _ in range(count)
        ]  # how many prices each person would pay
        expected = [
            price * sum(most > number for most in willing) for number, price in enumerate(PRICES)
        ]
        assert revenues(PRICES, bins) == expected


def test_one_person_raises_all_by_at_most_the_top_price():
    reached = set()
    for bins in product(range(3), repeat=4):
        for place in range(4):
            more = [count + (place == number) for number, count in enumerate(bins)]
            moves = [
                new - old
                for old, new in zip(revenues(PRICES, bins), revenues(PRICES, more), strict=True)
            ]
            assert all(0 <= move <= max(PRICES) for move in moves)
            reached.add(max(moves))
    assert max(reached) == max(PRICES)
