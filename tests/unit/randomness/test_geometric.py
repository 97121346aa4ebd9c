"""Geometric and discrete Laplace draws: the real code on every random tape has the ideal
distribution.
"""

from fractions import Fraction

import pytest
from flint import arb, fmpq
from reference.above_threshold import decay, geometric, laplace
from reference.tapes import distribution
from tiers import loop_over

from discreet.randomness.chance import Chance
from discreet.randomness.whole_numbers import draw_geometric, draw_laplace
from discreet.testing import SeededBits

RATES = [
    Fraction(1, 4),
    Fraction(1, 3),
    Fraction(2, 5),
    Fraction(1, 2),
    Fraction(3, 5),
    Fraction(1),
    Fraction(5, 2),
    Fraction(9),
]
TINY = 2.0**-150  # covers the width of enclosures where a bound holds with equality


pytestmark = pytest.mark.usefixtures("high_precision")


def exact(rate):
    return fmpq(rate.numerator, rate.denominator)


def check(draw, law, rate, cutoff):
    reached, rest = distribution(lambda tape: draw(exact(rate), tape), cutoff)
    assert rest < 0.012
    for number in {*reached, *range(-12, 13)}:
        ideal, found = law(decay(rate), number), reached.get(number, arb(0))
        assert found <= ideal + TINY, f"{number} is drawn too often"
        assert ideal <= found + rest + TINY, f"{number} is drawn too rarely"


@loop_over("rate", RATES, ids=str)
def test_geometric_numbers_have_the_ideal_distribution(rate):
    check(draw_geometric, lambda w, n: geometric(w, n) if n >= 0 else arb(0), rate, 2e-6)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_laplace_numbers_have_the_ideal_distribution(rate):
    check(draw_laplace, laplace, rate, 2e-6)


def test_the_check_sees_a_rate_that_is_a_hundredth_too_large():
    rate = Fraction(1, 3)
    with pytest.raises(AssertionError, match="is drawn too"):
        check(
            lambda _, tape: draw_laplace(exact(rate * Fraction(101, 100)), tape),
            laplace,
            rate,
            2e-6,
        )


class CountingChance(Chance):
    """The real effects, but only so many coins."""

    def __init__(self, bits, coins):
        super().__init__(bits)
        self.coins = coins

    def decay(self, *arguments, **words):
        self.coins -= 1
        assert self.coins >= 0, "too many coins"
        return super().decay(*arguments, **words)


@pytest.mark.parametrize(
    "rate",
    [Fraction(1, 10**400), Fraction(1, 10**6), Fraction(2, 3), Fraction(1), Fraction(10**6)],
    ids=float,
)
def test_a_few_coins_are_enough_at_every_rate(rate):
    """The mean is below 5.4 for every rate, and about 3.3 for most."""
    chance = CountingChance(SeededBits(1), coins=6 * 400)
    for _ in range(400):
        draw_geometric(exact(rate), chance)


def test_noise_of_a_tiny_rate_is_as_large_as_it_must_be():
    """1 / rate has 401 digits. All of 100 draws lie below 1 / rate / 100 with probability
    10^-200.
    """
    chance = Chance(SeededBits(2))
    draws = [draw_laplace(fmpq(1, 10**400), chance) for _ in range(100)]
    assert 10**398 < max(map(abs, draws)) < 10**404
    assert min(draws) < 0 < max(draws)


def test_noise_of_a_large_rate_is_zero():
    """Not 0 with probability 2 e^-1000."""
    chance = Chance(SeededBits(3))
    assert {draw_laplace(fmpq(1000), chance) for _ in range(100)} == {0}
