"""Public grids and amounts: exact, and such as engines can compute with."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import ParameterError
from discreet.mechanisms.grid import Grid, plain_number, read_grid, read_share


@pytest.mark.parametrize(
    ("q", "exact"),
    [
        (0, 0),
        (1, 1),
        (0.1, Fraction(1, 10)),
        (np.float32(0.25), Fraction(1, 4)),
        (Decimal("0.3"), Fraction(3, 10)),
    ],
)
def test_shares(q, exact):
    assert read_share(q) == exact


def test_points_are_exact():
    assert read_grid((0, 1), 0.1) == Grid(Fraction(0), Fraction(1, 10), 11)
    assert read_grid((-1, 1), Fraction(2, 3)) == Grid(Fraction(-1), Fraction(2, 3), 4)
    assert read_grid([0, 1], 0.3) == Grid(Fraction(0), Fraction(3, 10), 4)
    assert read_grid((0, 1), 5).size == 1
    assert read_grid((0, 120), 1).point(120) == 120
    assert read_grid((0, 1), 0.1).point(3) == 0.3


def test_places():
    grid = read_grid((0, 1), 0.1)
    values = np.array([-np.inf, -1, 0, 0.05, 0.1, 0.3, 0.7, 0.69999, 1, 2, np.inf])
    assert grid.places(values).tolist() == [0, 0, 0, 0, 1, 3, 7, 6, 10, 10, 10]


@pytest.mark.parametrize(
    ("bounds", "step", "name"),
    [
        ((0, 1e301), 1e300, "bounds"),
        ((-(10**301), 0), 10**300, "bounds"),
        ((0, 1), 1e-12, "step"),
        ((1e9, 1e9 + 1), 1e-6, "step"),
        ((0, 1e-295), 1e-296, "step"),
        ((0, 10**7), 0.5, "step"),
        ((0, 1), Fraction(1, 10**400), "step"),
    ],
    ids=str,
)
def test_what_engines_cannot_compute_with(bounds, step, name):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be "):
        read_grid(bounds, step)


def test_numbers_as_people_write_them():
    assert [plain_number(value) for value in (Fraction(3), Fraction(1, 4), Fraction(-2))] == [
        3,
        0.25,
        -2,
    ]
    assert isinstance(plain_number(Fraction(3)), int)
