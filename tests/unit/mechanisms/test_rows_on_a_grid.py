"""Rows on a public grid: each by itself, never longer than the norm, whatever is in it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tiers import examples

from discreet import ParameterError
from discreet.mechanisms.rows import RowGrid, second_moment

anything = st.floats(width=64, allow_nan=True, allow_infinity=True)
norms = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6).filter(lambda norm: norm > 0)


@given(arrays(np.float64, (5, 3), elements=anything), norms)
def test_no_row_is_longer_than_the_norm(rows, norm):
    grid = RowGrid.of(norm)
    whole = grid.read(rows).astype(object)
    for row, read in zip(rows, whole, strict=True):
        square = sum(int(part) ** 2 for part in read)
        assert square <= grid.longest**2
        assert square * grid.step**2 <= norm**2
        assert np.isfinite(row).all() or square == 0


@examples(40, 100)
@given(arrays(np.float64, (4, 2), elements=st.floats(-0.5, 0.5)))
def test_short_rows_are_cut_towards_zero_exactly(rows):
    grid = RowGrid.of(1)
    for row, read in zip(rows, grid.read(rows), strict=True):
        assert [int(part) for part in read] == [math.trunc(Fraction(x) * 2**16) for x in row]


@examples(40, 100)
@given(arrays(np.float64, (6, 3), elements=anything))
def test_a_row_is_read_by_itself(rows):
    grid = RowGrid.of(2)
    together = grid.read(rows)
    assert (together == np.concatenate([grid.read(row[None]) for row in rows])).all()


@pytest.mark.parametrize("length", [1.0001, 1.2, 1.4])
def test_a_row_that_is_a_little_too_long_is_shortened(length):
    (read,) = RowGrid.of(1).read(np.array([[0.6, 0.8]]) * length)
    assert (read**2).sum() <= 2**32
    assert read == pytest.approx([0.6 * 2**16, 0.8 * 2**16], abs=2)


@pytest.mark.parametrize("size", [1e3, 1e20, 1e300])
def test_long_rows_keep_their_direction(size):
    (read,) = RowGrid.of(1).read(np.array([[3.0, -4.0]]) * size)
    assert read == pytest.approx([0.6 * 2**16, -0.8 * 2**16], abs=2)


@pytest.mark.parametrize(
    ("norm", "exponent", "longest"),
    [(1, -16, 2**16), (2, -15, 2**16), (3, -14, 49152), (Fraction(1, 3), -17, 43690)],
    ids=str,
)
def test_the_grid_has_a_step_that_is_a_power_of_two(norm, exponent, longest):
    grid = RowGrid.of(norm)
    assert (grid.exponent, grid.longest, grid.norm) == (exponent, longest, norm)


def test_a_float_norm_is_its_decimal():
    assert RowGrid.of(0.1).norm == Fraction(1, 10)


def test_absurd_norms_are_refused():
    with pytest.raises(ParameterError, match=r"'norm' parameter must be between 2\^-500"):
        RowGrid.of(Fraction(1, 2**600))


def test_the_second_moment_is_exact():
    whole = np.random.default_rng(1).integers(-(2**16), 2**16, size=(2000, 3))
    expected = [
        [sum(int(row[i]) * int(row[j]) for row in whole) for j in range(3)] for i in range(3)
    ]
    assert second_moment(whole).tolist() == expected
    assert second_moment(whole[:0]).tolist() == [[0] * 3] * 3
