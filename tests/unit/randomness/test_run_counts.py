"""The number of runs on every random tape: its exact law, to within a certified small rest."""

from fractions import Fraction

import mpmath
import pytest
from flint import ctx
from reference.random_stopping import DIGITS, number_of_runs
from reference.tapes import distribution
from tiers import more

from discreet.randomness import whole_numbers

# (parameter, least likelihood of a tape, largest rest)
GEOMETRIC = [
    (Fraction(1, 2), 1e-9, 1e-8),
    more(Fraction(2, 3), 1e-9, 1e-8),
    (Fraction(9, 10), 1e-9, 1e-8),
    (Fraction(1, 10), 1e-8, 1e-6),
    (Fraction(1, 31), 1e-7, 1e-5),  # the largest mean without a digit of its own
    (Fraction(1, 32), 1e-7, 1e-5),
    more(Fraction(3, 200), 1e-7, 1e-4),
    more(Fraction(7, 2000), 1e-5, 0.02),
]
# (law, parameter, least likelihood of a tape, largest rest)
WHOLE = [
    ("logarithmic", Fraction(1, 2), 1e-5, 0.015),
    more("logarithmic", Fraction(3, 10), 1e-5, 0.1),
    ("logarithmic", Fraction(9, 10), 1e-8, 1e-5),
    ("poisson", Fraction(1), 1e-4, 0.2),
    more("poisson", Fraction(3, 2), 1e-4, 0.6),
]


@pytest.fixture(autouse=True)
def high_precision():
    before, ctx.prec = ctx.prec, 200
    with mpmath.workdps(DIGITS):
        yield
    ctx.prec = before


def number(value):
    """A ball as a number of the reference; its radius is far below the tolerance."""
    return mpmath.mpf(value.mid().str(50, radius=False))


def real(parameter):
    return mpmath.mpf(parameter.numerator) / parameter.denominator


def check(reached, rest, ideal):
    for count in range(max(reached) + 2):
        found = number(reached[count]) if count in reached else 0
        assert found <= ideal(count) + 1e-25, f"{count} is drawn too often"
        assert ideal(count) <= found + number(rest) + 1e-25, f"{count} is drawn too rarely"


@pytest.mark.parametrize(("stop", "cutoff", "largest"), GEOMETRIC, ids=str)
def test_a_geometric_number_has_its_law(stop, cutoff, largest):
    reached, rest = distribution(lambda tape: whole_numbers.geometric(stop, tape), cutoff)
    assert rest < largest
    assert min(reached) == 1
    check(reached, rest, number_of_runs("geometric", real(stop)))


@pytest.mark.parametrize(
    "stop",
    [Fraction(1, 2), Fraction(3, 10), Fraction(9, 10), Fraction(1, 40), more(Fraction(1, 200))],
    ids=str,
)
def test_one_try_keeps_a_number_with_the_odds_of_the_logarithmic_law(stop):
    reached, rest = distribution(lambda tape: whole_numbers._try_logarithmic(stop, tape), 1e-6)
    law, share = (
        number_of_runs("logarithmic", real(stop)),
        real(stop) * mpmath.log(1 / real(stop)) / (1 - real(stop)),
    )
    assert reached.pop(None) > 0
    assert rest < 0.005
    check(reached, rest, lambda count: law(count) * share)


@pytest.mark.parametrize(
    "mean", [Fraction(1, 100), Fraction(1, 2), Fraction(7, 9), Fraction(1)], ids=str
)
def test_one_try_keeps_a_number_with_the_odds_of_the_poisson_law(mean):
    reached, rest = distribution(lambda tape: whole_numbers._try_poisson(mean, tape), 1e-12)
    law, share = number_of_runs("poisson", real(mean)), mpmath.exp(real(mean)) / 4
    assert reached.pop(None) > 0
    assert rest < 1e-9
    check(reached, rest, lambda count: law(count) * share)


@pytest.mark.parametrize(("law", "parameter", "cutoff", "largest"), WHOLE, ids=str)
def test_all_tries_together_have_the_law(law, parameter, cutoff, largest):
    reached, rest = distribution(lambda tape: getattr(whole_numbers, law)(parameter, tape), cutoff)
    assert rest < largest
    check(reached, rest, number_of_runs(law, real(parameter)))


def test_a_large_poisson_number_is_a_sum_of_equal_small_ones(monkeypatch):
    asked = []
    monkeypatch.setattr(whole_numbers, "_try_poisson", lambda mean, chance: asked.append(mean) or 2)
    assert whole_numbers.poisson(Fraction(10, 3), None) == 8
    assert asked == [Fraction(10, 12)] * 4


@pytest.mark.parametrize(
    ("stop", "digits"),
    [(Fraction(9, 10), 0), (Fraction(1, 31), 0), (Fraction(1, 32), 1), (Fraction(1, 1000), 5)],
)
def test_large_numbers_have_digits_of_their_own(stop, digits):
    assert whole_numbers._digits(stop) == digits


def test_coins_stay_small_however_many_runs_are_asked_for():
    assert whole_numbers._digits(Fraction(1, 10**12)) == whole_numbers._MOST_DIGITS
