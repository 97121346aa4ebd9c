"""Normal vectors far out: the law of their lengths, and floats as near as they say."""

import numpy as np
import pytest
from scipy import stats

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers.normals import LazyTailNormals, tail_mass
from discreet.testing import SeededBits


@pytest.mark.parametrize(("size", "least"), [(1, 1.5), (2, 4.0), (7, 14.0), (30, 60.0)])
def test_lengths_have_the_tail_of_a_chi_square_law(size, least):
    """Kolmogorov and Smirnov, 1,500 lengths: false alarm 1e-5; one dimension more is noticed."""
    found = LazyTailNormals(1500, size, least, Chance(SeededBits(4)))
    values = found.values[found.certain]
    squares = (values**2).sum(axis=1)
    assert squares.min() >= least

    def p_value(dimensions):
        law = stats.chi2(dimensions)
        return stats.kstest(1 - law.sf(squares) / law.sf(least), "uniform").pvalue

    assert p_value(size) > 1e-5
    assert p_value(3 * size + 2) < 1e-5
    directions = values / np.sqrt(squares)[:, None]
    assert np.abs(directions.mean(axis=0)).max() < 5 / np.sqrt(1500)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_floats_are_within_the_error(size):
    found = LazyTailNormals(60, size, 2.0 * size + 1, Chance(SeededBits(8)))
    for row in np.flatnonzero(found.certain):

        def distance(row=row):
            return sum(
                (ball - float(value)) ** 2
                for ball, value in zip(found.balls(row, 200), found.values[row], strict=True)
            ).sqrt()

        assert float(at_precision(256, distance).upper()) <= found.error
    assert found.certain.sum() > 40
    assert found.error < 1e-7


def test_no_rows_are_no_trouble():
    assert LazyTailNormals(0, 3, 6.0, Chance(SeededBits(1))).values.shape == (0, 3)


@pytest.mark.parametrize(("size", "least"), [(1, 1.5), (5, 10.0), (40, 80.0)])
def test_the_mass_of_the_tail(size, least):
    assert float(tail_mass(size, least)) == pytest.approx(stats.chi2(size).sf(least), rel=1e-12)
