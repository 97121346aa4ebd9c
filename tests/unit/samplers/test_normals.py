"""Lazy normal numbers: the floats are as near as the proof says, the law is the normal one."""

import math

import numpy as np
import pytest
from flint import arb
from scipy import stats

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers import normals
from discreet.samplers.normals import ERROR, LazyNormals, LazyUniforms
from discreet.testing import SeededBits

TOP = 1 << 64
FEW = 1 << 44
LEAST = 1 << 40
EIGHTH = 1 << 61
# ends of the certain range, the seam of the logarithm at sqrt(1/2), and plain numbers
SEAM = math.isqrt(TOP * TOP // 2)
FIRST = [
    FEW, FEW + 1, 3 << 46, 1 << 56, TOP >> 8, TOP >> 1, (TOP >> 1) - 1,
    SEAM, SEAM + 2048, SEAM - 2048,
    TOP - (1 << 50), 3 << 62, (3 << 62) - 1, (3 << 62) + 1,
    TOP - LEAST - 2048, TOP - LEAST - 1, TOP - LEAST, 12345678901234567890,
]  # fmt: skip
SECOND = [
    image * EIGHTH + rest
    for image in range(8)
    for rest in (0, 1, EIGHTH // 3, EIGHTH - 1)
]  # fmt: skip


class Tape:
    """Bits that are these words first, and then fair ones."""

    seeded = True

    def __init__(self, words):
        self.words, self.rest = list(words), SeededBits(5)

    def draw(self, count):
        needed = math.ceil(count / 64)
        taken, self.words = self.words[:needed], self.words[needed:]
        value = sum(word << (64 * place) for place, word in enumerate(taken))
        if (missing := count - 64 * len(taken)) > 0:
            value |= self.rest.draw(missing) << (64 * len(taken))
        return value & ((1 << count) - 1)


def farthest(numbers, rows, precision=256):
    """How far the floats are from the numbers that they stand for, at most."""

    def measure():
        return max(
            float(abs(ball - float(value)).upper())
            for row in rows
            for value, ball in zip(numbers.values[row], numbers.balls(row, precision), strict=True)
        )

    return at_precision(precision + 64, measure)


def test_floats_are_within_the_error_at_the_corners():
    words = [word for first in FIRST for second in SECOND for word in (first, second)]
    numbers = LazyNormals(len(words) // 2, 2, Chance(Tape(words)))
    assert numbers.certain.all()
    assert farthest(numbers, range(len(words) // 2)) <= ERROR


def test_floats_are_within_the_error_at_random():
    numbers = LazyNormals(500, 9, Chance(SeededBits(3)))
    assert numbers.certain.all()
    # far below the bound, so that the bound would notice a lost digit: 2^-47 is seen
    assert farthest(numbers, range(500)) <= 2.0**-47


@pytest.mark.parametrize("first", [0, 1, FEW - 1, TOP - LEAST + 1, TOP - 1])
def test_a_coarse_first_word_leaves_the_row_open(first):
    numbers = LazyNormals(2, 2, Chance(Tape([first, 7, TOP // 2, 7])))
    assert numbers.certain.tolist() == [False, True]
    assert np.isfinite(numbers.values).all()
    uniforms = LazyUniforms(2, Chance(Tape([first, TOP // 2])))
    assert uniforms.logarithms()[1].tolist() == [False, True]


def test_later_bits_only_narrow_what_is_known():
    numbers = LazyNormals(3, 5, Chance(SeededBits(8)))
    for row in range(3):
        coarse = at_precision(128, lambda row=row: numbers.balls(row, 64))
        fine = at_precision(512, lambda row=row: numbers.balls(row, 400))
        again = at_precision(256, lambda row=row: numbers.balls(row, 128))
        for wide, middle, narrow in zip(coarse, again, fine, strict=True):
            assert wide.contains(narrow)
            assert middle.contains(narrow)
            assert float(narrow.rad()) < 2.0**-300


def test_logarithms_of_uniform_numbers():
    uniforms = LazyUniforms(len(FIRST), Chance(Tape(FIRST)))
    values, certain = uniforms.logarithms()
    assert certain.all()
    for row, value in enumerate(values):
        exact = at_precision(256, lambda row=row: uniforms.ball(row, 200).log())
        assert abs(float(exact - arb(float(value)))) <= 4 * ERROR


def test_the_numbers_are_normal_and_independent():
    """Each column against the normal law, each pair by its angle; false alarm 1e-6 each.

    With 40,000 numbers a scale that is 10% off is noticed with near certainty.
    """
    numbers = LazyNormals(40_000, 3, Chance(SeededBits(11))).values
    for column in numbers.T:
        assert stats.kstest(column, "norm").pvalue > 1e-6
    assert stats.kstest(1.1 * numbers[:, 0], "norm").pvalue < 1e-6
    angles = np.arctan2(numbers[:, 0], numbers[:, 1]) / (2 * math.pi) + 0.5
    assert stats.kstest(angles, "uniform").pvalue > 1e-6
    assert np.abs(np.corrcoef(numbers.T) - np.eye(3)).max() < 5 / math.sqrt(len(numbers))


def test_words_come_in_blocks_and_none_is_used_twice():
    words = normals.draw_words(1000, Chance(SeededBits(2)))
    assert len(words) == 1000
    assert len(set(words.tolist())) == 1000
