"""Enclosures: rigorous at any precision, in any thread, and without a trace in flint's settings."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import flint
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import discreet
from discreet.exact.enclosures import at_precision, ball, decide, less, lower_bound, upper_bound
from discreet.randomness.chance import Chance
from discreet.testing import SeededBits

LN2 = Fraction(
    "0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687"
)


@pytest.fixture(params=[2, 10, 53, 1000])
def user_precision(request):
    """Flint as a user may have left it."""
    before = flint.ctx.prec
    flint.ctx.prec = request.param
    yield request.param
    assert flint.ctx.prec == request.param  # nothing here may change the user's setting for good
    flint.ctx.prec = before


def close_question(tiny):
    """Is ln 2 below ln 2 + tiny? Open until the precision shows it."""
    target = LN2 + tiny
    return lambda precision: less(arb.const_log2(), ball(target))


@pytest.mark.parametrize(
    "tiny",
    [Fraction(1, 10), Fraction(1, 10**20), Fraction(1, 10**80)],
    ids=["1e-1", "1e-20", "1e-80"],
)
def test_decide_is_right_at_any_user_precision(user_precision, tiny):
    assert decide(close_question(tiny)) is True
    assert decide(close_question(-tiny)) is False


def test_decide_asks_at_growing_precision():
    asked = []

    def question(precision):
        asked.append((precision, flint.ctx.prec))
        return True if precision >= 256 else None

    before = flint.ctx.prec
    assert decide(question) is True
    assert [precision for precision, _ in asked] == [64, 128, 256]
    assert all(working > precision for precision, working in asked[1:])
    assert flint.ctx.prec == before


def test_the_precision_comes_back_after_an_error():
    before = flint.ctx.prec

    def fail():
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        at_precision(777, fail)
    assert flint.ctx.prec == before
    assert at_precision(300, lambda: flint.ctx.prec) == 300  # and the lock is free again


def test_a_coin_does_not_depend_on_the_users_precision(user_precision):
    def flips():
        return [
            Chance(SeededBits(seed)).decay(lambda at=seed: fmpq(at, 100), 1, 1, likely=False)
            for seed in range(1, 200)
        ]

    rough = flips()
    flint.ctx.prec = 128
    fine = flips()
    flint.ctx.prec = user_precision
    assert rough == fine
    assert 0 < sum(rough) < len(rough)


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "laplace-noise"])
def test_a_selection_works_at_any_user_precision(user_precision, mechanism):
    words = {"epsilon": 64, "sensitivity": 1, "mechanism": mechanism}
    assert {
        discreet.select([0, 50, 0], bits=SeededBits(seed), **words).value for seed in range(50)
    } == {1}


def test_decide_is_right_in_many_threads():
    # each question is so close that all threads fight for flint's one global precision
    def ask(number):
        tiny = Fraction(1, 10 ** (20 + number % 60))
        return decide(close_question(tiny)), decide(close_question(-tiny))

    before = flint.ctx.prec
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(400)))
    assert set(answers) == {(True, False)}
    assert flint.ctx.prec == before


def test_a_coin_is_the_same_in_many_threads():
    distances = [fmpq(place, 7) for place in range(1, 40)]

    def flip(seed):
        return [
            Chance(SeededBits(seed)).decay(lambda at=distance: at, 1, 1, likely=False)
            for distance in distances
        ]

    alone = [flip(seed) for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(flip, range(40))) == alone


@examples(30, 100)
@given(st.fractions(), st.fractions())
def test_less_is_certain_or_silent(one, other):
    for precision in (4, 53, 300):
        answer = at_precision(precision, lambda: less(ball(one), ball(other)))
        assert answer in (None, one < other)


@examples(30, 100)
@given(st.fractions())
def test_a_ball_holds_its_fraction(value):
    enclosure = at_precision(20, lambda: ball(value))
    assert at_precision(2000, lambda: enclosure.contains(ball(value)))


@examples(30, 100)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=700), st.sampled_from([20, 128]))
def test_bounds_lie_on_their_side_and_close(value, precision):
    low, high = (
        bound(lambda: ball(value).exp(), precision) for bound in (lower_bound, upper_bound)
    )
    finer = [bound(lambda: ball(value).exp(), 2000) for bound in (lower_bound, upper_bound)]
    assert low <= finer[0] <= finer[1] <= high
    # an error of the argument, up to 700 * 2^-precision, becomes a relative error of the
    # exponential
    assert high - low <= high * Fraction(2**13, 2**precision)
