"""The number of runs on every random tape: its exact law, to within a certified small rest."""

from fractions import Fraction

import mpmath
import pytest
from flint import ctx
from reference.random_stopping import DIGITS, number_of_runs
from reference.tapes import distribution

from discreet.samplers import run_counts
from discreet.samplers.chance import Chance
from discreet.testing import SeededBits

# (law, parameter, cutoff, largest rest)
LAWS = [
    ("geometric", Fraction(1, 2), 1e-9, 1e-8),
    ("geometric", Fraction(2, 3), 1e-9, 1e-8),
    ("geometric", Fraction(1, 10), 1e-8, 1e-6),
    ("geometric", Fraction(9, 10), 1e-9, 1e-8),
    ("geometric", Fraction(1, 31), 1e-7, 1e-5),  # the last one without a digit of its own
    ("geometric", Fraction(1, 32), 1e-7, 1e-5),
    ("geometric", Fraction(3, 200), 1e-7, 1e-4),
    ("geometric", Fraction(7, 2000), 1e-7, 1e-3),
    ("logarithmic", Fraction(1, 2), 1e-8, 1e-4),
    ("logarithmic", Fraction(3, 10), 1e-7, 0.01),
    ("logarithmic", Fraction(9, 10), 1e-9, 1e-5),
    ("logarithmic", Fraction(1, 40), 1e-5, 0.7),
    ("poisson", Fraction(1, 2), 1e-7, 0.005),
    ("poisson", Fraction(1), 1e-7, 0.005),
    ("poisson", Fraction(1, 100), 1e-7, 0.005),
    ("poisson", Fraction(3, 2), 1e-6, 0.2),
    ("poisson", Fraction(7, 3), 1e-6, 0.5),
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


@pytest.mark.parametrize(("law", "parameter", "cutoff", "largest"), LAWS, ids=str)
def test_the_number_of_runs_has_its_law_on_every_tape(law, parameter, cutoff, largest):
    draw = getattr(run_counts, law)
    reached, rest = distribution(lambda tape: draw(parameter, tape), cutoff)
    ideal = number_of_runs(law, mpmath.mpf(parameter.numerator) / parameter.denominator)
    assert rest < largest
    assert min(reached) == (0 if law == "poisson" else 1)
    for count in range(max(reached) + 2):
        found = number(reached[count]) if count in reached else 0
        assert found <= ideal(count) + 1e-45, f"{count} is drawn too often"
        assert ideal(count) <= found + number(rest) + 1e-45, f"{count} is drawn too rarely"


def test_the_rejections_keep_the_odds_between_counts():
    """Sharper than the above where a rest is large: the odds after one try are those of the law, exactly."""
    stop = Fraction(1, 40)
    tries = {}
    for count in range(1, 30):
        tries[count] = stop * (1 - stop) ** (count - 1) / count
    reached, _ = distribution(lambda tape: once(stop, tape), 1e-6)
    for count, odds in tries.items():
        assert number(reached[count]) == pytest.approx(float(odds), rel=1e-12)


def once(stop, tape):
    """The logarithmic draw, given up at its first rejection."""

    class FirstOnly:
        def coin(self, numerator, denominator):
            answer = tape.coin(numerator, denominator)
            if numerator == 1 and denominator == self.last and not answer:
                raise StopIteration
            return answer

    chance = FirstOnly()
    chance.last = None
    count = run_counts.geometric(stop, tape)
    chance.last = count
    return count if chance.coin(1, count) else 0


@pytest.mark.parametrize(
    ("stop", "digits"), [(Fraction(9, 10), 0), (Fraction(1, 31), 0), (Fraction(1, 32), 1), (Fraction(1, 1000), 5)]
)
def test_large_numbers_have_digits_of_their_own(stop, digits):
    assert run_counts._digits(stop) == digits


def test_coins_stay_small_however_many_runs_are_asked_for():
    assert run_counts._digits(Fraction(1, 10**12)) == run_counts._MOST_DIGITS


@pytest.mark.parametrize("law", ["geometric", "logarithmic", "poisson"])
def test_real_draws_have_about_the_right_mean(law):
    parameter = Fraction(8) if law == "poisson" else Fraction(1, 50)
    chance = Chance(SeededBits(5))
    draws = [getattr(run_counts, law)(parameter, chance) for _ in range(1500)]
    mean = {"geometric": 50, "poisson": 8, "logarithmic": float(49 / mpmath.log(50))}[law]
    spread = {"geometric": 50, "poisson": 8**0.5, "logarithmic": 22.0}[law]
    assert abs(sum(draws) / 1500 - mean) < 5 * spread / 1500**0.5
