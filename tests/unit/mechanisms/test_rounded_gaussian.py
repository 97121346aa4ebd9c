"""Rounded normal noise: its law, its loss, and digits that are drawn only where a half is near."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from reference.noise import rounded_law
from scipy import stats
from tiers import loop_over, more

from discreet import GaussianDP
from discreet.exact.enclosures import at_precision, ball
from discreet.mechanisms import RoundedGaussian
from discreet.randomness.chance import Chance
from discreet.samplers import rounded_normals
from discreet.samplers.normals import LazyNormals
from discreet.samplers.rounded_normals import draw_rounded_normals
from discreet.testing import SeededBits

VARIANCES = [Fraction(1, 9), Fraction(2), Fraction(700, 3)]


@loop_over("variance", [*VARIANCES, Fraction(10**12), Fraction(10**30), Fraction(10**700)])
def test_every_number_is_the_rounded_real_one(variance):
    """The same bits, read to 3,000 digits."""
    found = draw_rounded_normals(variance, 41, Chance(SeededBits(4)))
    normals = LazyNormals(21, 2, Chance(SeededBits(4)))

    def real(place):
        row, column = divmod(place, 2)
        return ball(variance).sqrt() * normals.balls(row, 64)[column]

    for place, number in enumerate(found):
        near = at_precision(4000, lambda place=place: real(place))
        # 64 bits of each uniform number say it up to this
        assert abs(near - number) <= arb(0.5) + near.rad() + ball(variance / 10**10)


@loop_over("variance", VARIANCES)
def test_where_floats_decide_nothing_enclosures_give_the_same_numbers(monkeypatch, variance):
    usual = draw_rounded_normals(variance, 60, Chance(SeededBits(7)))
    monkeypatch.setattr(rounded_normals, "_WIDEST", 0.0)
    assert draw_rounded_normals(variance, 60, Chance(SeededBits(7))) == usual


def test_a_number_next_to_a_half_draws_more_digits(monkeypatch):
    """The width is chosen so that the first number of this tape is 1/2 up to 2^-60."""
    first = LazyNormals(1, 2, Chance(SeededBits(11)))
    z = at_precision(256, lambda: abs(first.balls(0, 64)[0]))
    width = Fraction(1, 2) / Fraction(float(z.mid()))
    made = []
    monkeypatch.setattr(
        rounded_normals, "LazyNormals", lambda *given: made.append(LazyNormals(*given)) or made[-1]
    )
    for variance in (width**2, Fraction(1)):
        draw_rounded_normals(variance, 1, Chance(SeededBits(11)))
    near, far = made
    assert near._rest
    assert not far._rest


@pytest.mark.parametrize("variance", [*VARIANCES[:2], more(VARIANCES[2])], ids=str)
def test_draws_have_the_law(variance):
    law = {n: float(p.mid()) for n, p in rounded_law(variance).items()}
    numbers = draw_rounded_normals(variance, 4000, Chance(SeededBits(2)))
    often = [n for n, p in law.items() if 4000 * p > 5]
    seen = np.array([numbers.count(n) for n in often])
    expected = np.array([4000 * law[n] for n in often])
    rest = 4000 - seen.sum(), 4000 - expected.sum()
    seen, expected = np.append(seen, rest[0]), np.append(expected, rest[1])
    assert stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), seen.size - 1) > 1e-4


@loop_over("variance", VARIANCES)
def test_probabilities(variance):
    squares = variance.numerator
    mechanism = RoundedGaussian(mu=1, squared_sensitivity=squares)
    law = rounded_law(Fraction(squares))
    for number in range(-6, 7):
        found = mechanism.log_probability(5 + number, 5)
        assert found == pytest.approx(float(law[number].log().mid()), rel=1e-14)
    both = mechanism.log_probability([6, 4], [5, 5])
    assert both == pytest.approx(2 * mechanism.log_probability(6, 5), rel=1e-14)


def excess(first, second, epsilon):
    """The sum of (P - e^epsilon Q)+ over all whole numbers."""
    return sum(max(0.0, float(p - ball(epsilon).exp() * second[n])) for n, p in first.items())


@loop_over("move", [1, 2])
@loop_over("mu", [Fraction(1, 4), Fraction(2)])
def test_the_stated_loss_is_never_exceeded_and_nearly_attained(mu, move):
    mechanism = RoundedGaussian(mu=mu, squared_sensitivity=move**2)
    assert mechanism.privacy_loss() == GaussianDP(mu)
    law = rounded_law(mechanism.variance)
    moved = {n: law.get(n - move, arb(0)) for n in law}
    for epsilon in (Fraction(1, 100), Fraction(1, 2), Fraction(2)):
        for one, other in ((law, moved), (moved, law)):
            reached = excess(one, other, epsilon)
            stated = float(GaussianDP(mu).delta(epsilon))
            assert reached <= stated + 1e-12
            # wide noise loses little by rounding
            assert mechanism.variance < 4 or reached >= 0.95 * stated - 1e-6


@loop_over("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**4)])
@loop_over("squares", [1, 30])
def test_the_error_bound_is_the_smallest(squares, beta):
    mechanism = RoundedGaussian(mu=1, squared_sensitivity=squares)
    law, bound = rounded_law(Fraction(squares)), mechanism.error_bound(beta)
    beyond = sum((p for n, p in law.items() if abs(n) > bound), ball(0))
    assert beyond <= ball(beta)
    assert bound == 0 or beyond + 2 * law[bound] > ball(beta)


def test_release():
    true = [7, 2**80]
    release = RoundedGaussian(mu=1, squared_sensitivity=4).release(true, bits=SeededBits(1))
    assert (release.loss, release.mechanism) == (GaussianDP(1), "rounded-gaussian")
    assert all(
        abs(found - true) < 20 for found, true in zip(release.value, [7, 2**80], strict=True)
    )


def test_deviation():
    for squares in (1, 50):
        law = rounded_law(Fraction(squares))
        variance = float(sum((p * n * n for n, p in law.items()), ball(0)).mid())
        mechanism = RoundedGaussian(mu=1, squared_sensitivity=squares)
        assert mechanism.deviation == pytest.approx(math.sqrt(variance), rel=1e-6)
