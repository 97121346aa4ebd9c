"""Coins: what questions cost, how many a budget has, and what both sums together admit."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import coins as reference
from reference.composition import gaussian_delta
from tiers import examples, loop_over, more

from discreet.accounting import adversary_value, coin_table
from discreet.accounting.adaptive_grid import curve_for
from discreet.accounting.adversary_value import CoinGame, Resolution, Window, Workspace, make_moves
from discreet.accounting.budget_rules import Spending
from discreet.accounting.coin_prices import (
    MENU,
    NOISE,
    STEPS,
    Tariff,
    coin_tariff,
    coins_at_least,
    coins_at_most,
    paid_range,
)
from discreet.accounting.coin_table import RULES, coin_terms
from discreet.accounting.noise_move import make_noise_move
from discreet.accounting.privacy_filter import BudgetRule
from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.cost import Cost
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, GaussianDP, LogisticDP, PureDP

MILLIONTH = Fraction(1, 10**6)
WHOLE = Fraction(1)
WIDE = Window(below=60, above=60, reach=60)
HUNDREDTH = Tariff(Fraction(1, 100))


# --- prices -----------------------------------------------------------------------------------


PINNED = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 44, 49, 56),
    *(64, 72, 81, 90, 100, 110, 121, 132, 144, 156, 169, 182, 196, 210, 225, 240, 256, 276),
    *(300, 324, 352, 380, 400, 440, 484, 528, 576, 625, 700, 768, 832, 900, 1000, 1100, 1225),
    *(1350, 1475, 1600),
)


def test_the_menu_is_the_one_that_ledgers_have_agreed_to():
    """A ledger keeps the number of its coins, which was certified for these prices. With one price
    more, or one less, questions would be paid for by a number that nobody has certified: a new
    menu needs new rules, a new name for what a budget counts, and a way to tell old ones apart.
    """
    assert (2, PINNED, Fraction(97, 100)) == (RULES, MENU, NOISE)
    assert Tariff(Fraction(1, 100)).menu == PINNED


@loop_over(
    ("extent", "price"),
    [
        ("0.01", 1),
        ("0.02", 4),
        ("0.05", 25),
        ("0.1", 100),
        ("0.15", 225),
        ("0.2", 400),
        ("0.25", 625),
        ("0.3", 900),
        ("0.4", 1600),
    ],
)
def test_round_ranges_pay_exactly_their_square(extent, price):
    assert HUNDREDTH.price(BoundedRange(Fraction(extent))) == price
    assert HUNDREDTH.price(BoundedRange(Fraction(extent) + Fraction(1, 10**30))) != price


def test_pure_dp_has_twice_the_range():
    assert HUNDREDTH.price(PureDP(Fraction("0.05"))) == 100
    assert HUNDREDTH.price(PureDP(Fraction("0.2"))) == 1600


@pytest.mark.parametrize(
    ("epsilon", "price"),
    # 100 + 25 + 7 + 2 + 1 + 1 for 0.1; below half a unit one coin pays for all of it
    [("0.005", 1), ("0.01", 2), ("0.02", 4 + 1 + 1), ("0.05", 36), ("0.1", 136), ("0.4", 2136)],
)
def test_logistic_dp_is_paid_as_the_ranges_that_it_is_made_of(epsilon, price):
    assert HUNDREDTH.price(LogisticDP(Fraction(epsilon))) == price


@examples(30, 100)
@given(st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(2, 5)))
def test_the_price_of_logistic_dp_covers_its_rho(epsilon):
    """The ranges that are paid for have a rho of at most coins * unit^2 / 8 together, and
    the pair that is made of them has no more.
    """
    price = HUNDREDTH.price(LogisticDP(epsilon))
    assert price * HUNDREDTH.unit**2 / 8 >= LogisticDP(epsilon).to_zcdp().rho
    assert HUNDREDTH.price(BoundedRange(epsilon)) <= price
    if epsilon <= Fraction(1, 5):
        assert price <= HUNDREDTH.price(PureDP(epsilon))


@examples(30, 100)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=2))
def test_the_price_of_noise_is_its_square(mu):
    price = HUNDREDTH.price(GaussianDP(mu))
    assert price - 1 < (2 * mu / (NOISE * HUNDREDTH.unit)) ** 2 <= price
    # in any order and adaptively, by concentrated DP: what a coin is worth without a game
    assert GaussianDP(mu).to_zcdp().rho <= price * HUNDREDTH.unit**2 / 8


def test_the_least_noise_for_some_coins_is_what_the_price_says():
    assert HUNDREDTH.largest_noise(100) == GaussianDP(NOISE / 20)
    for count in (1, 2, 5, 99, 100, 5000):
        assert HUNDREDTH.price(HUNDREDTH.largest_noise(count)) == count
    assert HUNDREDTH.largest_noise(0) is None


def test_coins_that_were_certified_without_noise_pay_for_none():
    tariff = Tariff(Fraction(1, 100), noise=Fraction(0))
    assert tariff.price(GaussianDP(Fraction(1, 100))) is None
    assert tariff.largest_noise(100) is None
    rule = replace(RULE, agreed=Fraction(100), coin=Fraction(1, 100), noise=Fraction(0))
    with pytest.raises(ParameterTypeError, match="PureDP or BoundedRange for a budget"):
        rule.spending(Cost(GaussianDP(Fraction(1, 100))))
    assert not replace(rule, noise=NOISE + Fraction(1, 100)).is_possible
    assert rule.is_possible
    assert replace(rule, noise=NOISE).is_possible


def test_what_is_above_the_menu_or_no_bounded_range_has_no_price():
    assert HUNDREDTH.price(LogisticDP(Fraction("0.4001"))) is None
    assert HUNDREDTH.price(BoundedRange(Fraction("0.4001"))) is None
    assert HUNDREDTH.price(PureDP(Fraction("0.2001"))) is None
    assert HUNDREDTH.price(ZCDP(Fraction(1, 1000))) is None
    assert HUNDREDTH.price(ApproxDP(Fraction(1, 10), MILLIONTH)) is None


@examples(30, 100)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(2, 5)))
def test_a_price_is_never_below_the_square_and_never_far_above(extent):
    price = HUNDREDTH.price(BoundedRange(extent))
    exact = (extent / HUNDREDTH.unit) ** 2
    assert price >= exact
    assert paid_range(price) * HUNDREDTH.unit >= extent
    if exact >= 9:
        assert price <= exact * Fraction(5, 4)


def test_what_is_paid_for_is_the_root_of_the_price_from_below():
    for price in MENU:
        assert paid_range(price) ** 2 <= price < (paid_range(price) + Fraction(1, 24)) ** 2


def test_the_largest_range_for_some_coins_is_what_the_price_says():
    for count in (1, 5, 13, 99, 100, 101, 5000):
        largest = HUNDREDTH.largest(count)
        assert HUNDREDTH.price(largest) <= count
        more = HUNDREDTH.price(BoundedRange(largest.epsilon + Fraction(1, 10**20)))
        assert more is None or more > count
    assert HUNDREDTH.largest(0) is None


# --- the value of the game ----------------------------------------------------------------------


def bounds(unit, parts, menu, most, noise=0, **resolution):
    """The certified upper bounds of W_1 ... W_most at e^(unit * parts).

    noise: how much Gaussian noise a coin pays for, as `tariff.NOISE`.
    """
    steps = STEPS * resolution.get("refinement", 1)
    move = make_noise_move(noise * unit / 2, unit / steps, below=9) if noise else None
    game = CoinGame(
        unit, parts, menu, most, window=WIDE, resolution=Resolution(**resolution), noise=move
    )
    return list(game.play())


@loop_over("parts", [0, 1, 2, 3, 4])
@loop_over("unit", [Fraction(1, 10), Fraction(1, 2)])
def test_one_question_is_the_worst_pair_of_its_range(unit, parts):
    # sup over x of p (1 - s / x)+, p = (E - x) / (E - 1): at x = sqrt(s E) for s in [1, E]
    s, whole = math.exp(unit * parts), math.exp(3 * unit)
    x = math.sqrt(s * whole)
    exact = (whole - x) * (1 - s / x) / (whole - 1) if parts < 3 else 0.0
    found = bounds(unit, parts, (9,), 9)
    assert max(found[:-1]) <= 1e-290 * (parts > 0) + 1e-16
    assert exact <= found[-1] <= exact * 1.01 + 1e-280


MENUS = [more((1,)), (1, 2, 4), (1, 3, 4, 9), more((2, 3))]


@pytest.mark.parametrize("menu", MENUS, ids=str)
@pytest.mark.parametrize("parts", [0, more(1), more(2), more(3)])
def test_bounds_are_above_the_fine_reference_and_close_to_it(menu, parts):
    unit, most = Fraction(3, 10), 6
    found = bounds(unit, parts, menu, most, refinement=2, cells=48)
    ranges = tuple(float(paid_range(price) * unit) for price in menu)
    values = reference.game_value(ranges, menu, most, float(unit * parts))
    for near, bound in zip(values[1:], found, strict=True):
        # the reference itself is wrong by less than this
        assert near - 1e-5 <= bound <= near * 1.01 + 2e-4


@pytest.mark.parametrize("count", [5, 22])
def test_equal_questions_agree_with_the_adaptive_grid(count):
    """With one price the game is what accounting/adaptive_grid.py brackets in another way."""
    curve = curve_for({BoundedRange(Fraction(1, 10)): count}, 1.5)
    for parts in (0, 1, 3, 10):
        bracket = curve.delta(Fraction(parts, 10))
        found = bounds(Fraction(1, 10), parts, (1,), count)[-1]
        assert bracket.low <= found <= bracket.high * 1.05 + 1e-280


@pytest.mark.parametrize("seed", [0, 1, *map(more, range(2, 8))])
@pytest.mark.parametrize("noise", [0, NOISE, Fraction(3, 2)])
def test_random_adaptive_strategies_never_beat_the_bound(seed, noise):
    random = np.random.default_rng(seed)
    unit, parts, menu = Fraction(2, 5), int(random.integers(0, 4)), (1, 2, 3, 4)
    found = bounds(unit, parts, menu, 4, noise=noise)
    for _ in range(300):
        left = int(random.integers(1, 5))
        s = math.exp(unit * parts)
        gained = reference.random_play(random, float(unit), left, s, float(noise))
        assert gained <= found[left - 1] * (1 + 1e-12)


BASE = Fraction(3, 2)


def exact_menu(prices):
    """Two-point and three-point mechanisms of the ranges 1, 2 (and 3) in units of ln 3/2."""
    questions = []
    for extent, price in prices.items():
        for top in range(1, extent):
            questions.append(reference.two_points(BASE, extent, top, price))
        if extent == 2:
            share = Fraction(1, 3)
            questions.append(reference.three_points(BASE, extent, 1, 0, share, price))
    return questions


@loop_over("threshold", [0, 1, 2, 3])
@loop_over("limit", [4, 8, 12, 13])
def test_no_tree_of_exact_questions_beats_the_bound(threshold, limit):
    """All strategies of depth 3, in rationals; the game has a unit a little above ln 3/2."""
    questions = exact_menu({2: 4, 3: 9})
    unit = Fraction(math.ceil(math.log(1.5) * 10**12), 10**12)
    best = reference.best_tree(questions, lambda _, price: price <= limit, BASE**threshold, 3)
    # at a slightly larger epsilon delta is smaller by less than this
    assert float(best) <= bounds(unit, threshold, (4, 9), limit)[-1] + 1e-11


def test_coarser_looks_are_never_below_finer_ones():
    fine = bounds(Fraction(1, 10), 8, (1, 2, 4, 9, 16), 25, refinement=2, cells=96, spacing=96)
    for coarse in ({"cells": 8}, {"spacing": 2}, {"late": 1}, {"cells": 2, "spacing": 3}):
        rough = bounds(Fraction(1, 10), 8, (1, 2, 4, 9, 16), 25, **coarse)
        assert all(low <= high * (1 + 1e-9) for low, high in zip(fine, rough, strict=True))


def test_a_narrow_window_is_never_below_a_wide_one():
    fine = bounds(Fraction(1, 10), 8, (1, 2, 4, 9), 60)
    narrow = CoinGame(Fraction(1, 10), 8, (1, 2, 4, 9), 60, window=Window(1, 0.2, 1.5))
    assert all(low <= high * (1 + 1e-9) for low, high in zip(fine, narrow.play(), strict=True))


def test_bounds_never_fall_with_more_coins():
    found = bounds(Fraction(1, 10), 5, (2, 3, 7), 50)
    assert all(before <= after for before, after in pairwise(found))


def test_the_largest_number_of_coins_is_the_last_within_delta():
    game = CoinGame(Fraction(1, 10), 5, (1, 2, 4), 60, window=WIDE)
    found = list(game.play())
    deltas = [Fraction(1, 10**6), Fraction(1, 10**3), Fraction(found[20]), Fraction(1, 2)]
    for delta, count in zip(deltas, game.largest(deltas), strict=True):
        assert count == sum(bound < delta for bound in found)


def test_each_move_is_above_all_its_tops_also_between_grid_points():
    """Random convex W: piecewise linear with knots on the grid, so that every top is computed."""
    random = np.random.default_rng(5)
    for price in (1, 2, 6, 30):
        unit = Fraction(1, 5)
        move = make_moves(unit, [price], Resolution(cells=6, spacing=4))[0]
        step = float(unit) / 24
        y = step * np.arange(-6 * move.reach, 6 * move.reach)
        s = np.exp(y)
        knots = np.exp(random.uniform(y[0], y[-1], 6))
        values = sum(np.maximum(0, 1 - s / knot) for knot in knots) / 6
        start, stop = 2 * move.reach, 4 * move.reach
        for left in (1, 10**6):
            room = Workspace(move.early.ends[0].size, stop - start + 2 * move.spacing)
            found = move.worst(values, start, stop, left, room)
            extent = move.reach * step
            for top in random.uniform(0, extent, 200):
                p = (np.exp(extent) - np.exp(top)) / np.expm1(extent)
                lower, upper = s[start:stop] * np.exp(-top), s[start:stop] * np.exp(extent - top)
                true = sum(
                    p * np.maximum(0, 1 - lower / knot) + (1 - p) * np.maximum(0, 1 - upper / knot)
                    for knot in knots
                )
                assert np.all(true / 6 <= found * (1 + 1e-12))


@loop_over("mu", [Fraction(1, 3), Fraction(1, 20), Fraction(3, 10)])
@loop_over("step", [Fraction(1, 50), Fraction(1, 7)])
@loop_over("reaches", [(9, 9), (2, 1)])
def test_a_move_of_noise_is_above_the_average_over_it(mu, step, reaches):
    """Of W = (1 - s / knot)+ the average is the delta of a Gaussian pair in closed form, which
    mpmath computes; knots are on the grid and between its points.
    """
    move = make_noise_move(mu, step, below=reaches[0], above=reaches[1])
    places = np.arange(-200, 201)
    s = np.exp(places * float(step))
    for knot in (1.0, math.exp(0.3 * step)):
        found = move.worst(np.maximum(0, 1 - s / knot), move.downward, 401 - move.upward)
        for place in range(0, found.size, 9):
            g = math.log(s[place + move.downward] / knot)
            true = gaussian_delta(mu, g)
            assert true <= found[place] * (1 + 1e-12)
            if reaches == (9, 9) and step < mu / 4:
                assert found[place] <= true + 0.02 * float(step / mu)


@loop_over("parts", [0, 2, 5])
def test_noise_alone_is_one_gaussian_pair(parts):
    """r coins of noise are one pair whose squared distance is r times that of a coin: no
    strategy gains more by looking in between, and the bound is close to it.
    """
    unit = Fraction(3, 10)
    found = bounds(unit, parts, (), 9, noise=NOISE)
    for left, bound in enumerate(found, start=1):
        true = gaussian_delta(NOISE * unit / 2 * math.sqrt(left), float(unit * parts))
        assert true <= bound <= true * 1.02 + 1e-9


@pytest.mark.parametrize("menu", MENUS, ids=str)
@pytest.mark.parametrize("parts", [0, more(2)])
def test_bounds_with_noise_are_above_the_fine_reference_and_close_to_it(menu, parts):
    unit, most, noise = Fraction(3, 10), 5, Fraction(11, 10)
    found = bounds(unit, parts, menu, most, noise=noise, refinement=2, cells=48)
    ranges = tuple(float(paid_range(price) * unit) for price in menu)
    mus = [float(noise * unit / 2) * math.sqrt(price) for price in range(1, most + 1)]
    values = reference.game_value(ranges, menu, most, float(unit * parts), mus)
    for near, bound in zip(values[1:], found, strict=True):
        assert near - 1e-5 <= bound <= near * 1.01 + 2e-4


def test_weights_of_noise_are_rounded_up():
    for mu in (Fraction(1, 5), Fraction(2)):
        move = make_noise_move(mu, Fraction(1, 30), below=9)
        whole = sum(map(Fraction, move.weights.tolist())) + Fraction(move.lost)
        assert 1 < whole < 1 + Fraction(1, 10**9)
        assert move.weights.size * 2**-53 < 2.0**-41


def test_the_safe_factor_covers_the_roundings():
    assert Fraction(adversary_value._SAFE) >= 1 + Fraction(32, 2**53)


def test_weights_are_rounded_up():
    for move in make_moves(Fraction(1, 7), [1, 2, 30], Resolution()):
        pairs = [tuple(move.fill[side][1:].tolist() for side in (0, 1))]
        for cells in (move.early, move.late):
            pairs.append(tuple(column.ravel().tolist() for column in cells.ends))
            pairs.append(tuple((column / 4).ravel().tolist() for column in cells.middles))
            pairs.append(([cells.chord[0]], [cells.chord[1]]))
            pairs.append(tuple(zip(*(stretch[2:] for stretch in cells.stretches), strict=True)))
        for low, high in pairs:
            assert all(Fraction(p) + Fraction(q) > 1 for p, q in zip(low, high, strict=True))


# --- how many coins a budget has ------------------------------------------------------------------


def test_the_figures_that_are_promised():
    with_lists = coin_terms(WHOLE, MILLIONTH * 9 / 10)
    assert with_lists.questions(BoundedRange(Fraction(1, 10))) >= 20
    assert with_lists.questions(BoundedRange(Fraction(1, 20))) >= 82
    assert with_lists.questions(BoundedRange(Fraction(1, 100))) >= 2050
    all_of_it = coin_terms(WHOLE, MILLIONTH)
    assert all_of_it.questions(BoundedRange(Fraction(1, 10))) >= 21
    assert all_of_it.questions(BoundedRange(Fraction(1, 20))) >= 86
    assert all_of_it.questions(BoundedRange(Fraction(1, 100))) >= 2150


@pytest.mark.parametrize("share", [Fraction(1), more(Fraction(9, 10))])
def test_mixed_sequences_reach_most_of_the_capacity(share):
    terms = coin_terms(WHOLE, MILLIONTH * share)
    mix = [Fraction(text) for text in ("0.1", "0.02", "0.3", "0.05", "0.033", "0.01", "0.07")]
    for start in range(len(mix)):
        left, squares = terms.coins, Fraction(0)
        order = mix[start:] + mix[:start]
        for epsilon in order * 400:
            price = terms.price(BoundedRange(epsilon))
            if price <= left:
                left, squares = left - price, squares + epsilon**2
        assert squares >= Fraction("0.2175") * 9 / 10


@loop_over("epsilon", ["0.1", "1", "3", "10"])
@loop_over("delta", ["1/100000", "1/1000000000"])
def test_shipped_numbers_lie_between_what_is_certain_and_what_is_possible(epsilon, delta):
    budget = Fraction(epsilon), Fraction(delta)
    terms = coin_terms(*budget)
    assert coins_at_least(*budget) < terms.coins < coins_at_most(*budget)
    assert terms.unit == coin_tariff(*budget).unit == budget[0] / 100


def test_at_most_is_the_optimum_of_equal_questions_that_are_fixed_beforehand():
    assert coins_at_most(WHOLE, MILLIONTH) == 2241


@pytest.mark.parametrize(
    ("epsilon", "delta", "parts"),
    [
        ("1", "1/1000000", 100),
        ("1", "1/100", 50),
        ("1/10", "1/100", 20),
        ("1/1000000", "1/100", 10),
    ],
)
def test_the_unit_is_coarser_where_there_would_be_too_many_coins(epsilon, delta, parts):
    assert coin_tariff(Fraction(epsilon), Fraction(delta)).unit == Fraction(epsilon) / parts


def test_a_budget_that_is_too_large_for_the_game_has_the_coins_without_it():
    for budget in ((Fraction(1, 10**6), Fraction(1, 100)), (Fraction(100), MILLIONTH)):
        assert coin_terms(*budget).coins == coins_at_least(*budget) == coins_at_most(*budget)


def test_a_budget_off_the_list_is_computed_and_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    coin_table._coins.cache_clear()
    games = []
    budget = WHOLE, Fraction(1, 10**12) / 3
    found = coins_at_least(*budget) + 1
    monkeypatch.setattr(coin_table, "play", lambda *budget: games.append(budget) or (found,))
    assert coin_terms(*budget).coins == found
    coin_table._coins.cache_clear()
    assert coin_terms(*budget).coins == found
    assert len(games) == 1
    coin_table._coins.cache_clear()


def test_a_kept_number_that_is_impossible_is_not_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    budget = WHOLE, Fraction(1, 10**12) / 3
    coin_table.remember(*budget, 100, coins_at_most(*budget) + 1)
    coin_table._coins.cache_clear()
    monkeypatch.setattr(coin_table, "play", lambda *_: (7,))
    assert coin_terms(*budget).coins == coins_at_least(*budget)
    coin_table._coins.cache_clear()


@pytest.mark.parametrize("parts", [10, more(20)])
def test_a_game_that_is_played_to_the_end_gives_the_known_number(parts):
    """22 questions of 0.1, or 86 of 0.05, within (1, 1e-6): the certified numbers."""
    assert coin_table.play(WHOLE, [MILLIONTH], parts) == ({10: 22, 20: 86}[parts],)


@pytest.mark.sizes
def test_the_whole_way_for_a_small_delta(monkeypatch, tmp_path):
    """A game with few coins, played for real."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    coin_table._coins.cache_clear()
    budget = WHOLE, Fraction(1, 10**60)
    assert coins_at_least(*budget) <= coin_terms(*budget).coins <= coins_at_most(*budget)
    assert coin_table.kept(*budget, 100) is not None
    coin_table._coins.cache_clear()


# --- either sum may fit ---------------------------------------------------------------------------


RULE = BudgetRule.of(ApproxDP(1, MILLIONTH))


def test_spending_adds_up():
    one = RULE.spending(Cost(BoundedRange(Fraction(1, 10))))
    assert one == Spending(Fraction(1, 10), Fraction(100))
    assert one + one == one * 2 == Spending(Fraction(1, 5), Fraction(200))
    large = RULE.spending(Cost(PureDP(Fraction(1, 2)), {PureDP(Fraction(1, 2)): 1}, MILLIONTH))
    assert one + large == Spending(Fraction(3, 5), None, MILLIONTH)
    assert large * 2 == Spending(Fraction(1), None, 2 * MILLIONTH)


def test_coins_do_not_pay_for_what_is_only_concentrated():
    with pytest.raises(ParameterTypeError, match="PureDP, BoundedRange or GaussianDP for a budget"):
        RULE.spending(Cost(ZCDP(Fraction(1, 100))))


def test_a_loss_with_a_delta_is_pure_but_for_a_bad_event():
    loss = ApproxDP(Fraction(1, 20), MILLIONTH)
    assert RULE.spending(Cost(loss)) == Spending(Fraction(1, 20), Fraction(100), MILLIONTH)


def test_nothing_is_given_back():
    for name in ("epsilon", "squares", "delta"):
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of Spending must be at"):
            Spending(**{name: -1})


def test_either_sum_may_fit_and_bad_events_have_their_own_limit():
    limits = {"epsilon": WHOLE, "squares": 10, "delta": MILLIONTH}
    for epsilon, count, delta in product(
        (1, 2, None), (10, 11, None), (0, MILLIONTH, 2 * MILLIONTH)
    ):
        total = Spending(epsilon, count, delta)
        assert total.fits(**limits) == ((epsilon == 1 or count == 10) and delta <= MILLIONTH)
    assert not Spending(delta=Fraction(1)).fits(epsilon=WHOLE, squares=1)


@pytest.mark.parametrize(("threshold", "limit"), [(3, 8), (5, 8), (5, 12), (6, 13), (7, 4)])
def test_the_or_costs_nothing_over_all_trees(threshold, limit):
    """All strategies of depth 3 that either sum admits gain no more than those of coins alone."""
    questions, base = exact_menu({2: 4, 3: 9}), BASE**threshold
    refused = [question for question in questions if question.price > limit]
    assert refused or threshold > 3

    def either(extent, price):
        return extent <= threshold or price <= limit

    joined = reference.best_tree(questions, either, base, 3)
    assert joined == reference.best_tree(questions, lambda _, price: price <= limit, base, 3)


def test_with_two_sums_of_delta_the_or_would_be_wrong():
    """Joined by "or", two filters that both need a delta may exceed either of them."""
    questions = exact_menu({2: 4, 3: 9})

    def two_filters(extent, price):
        return extent <= 4 or price <= 4

    alone = reference.best_tree(questions, lambda _, price: price <= 4, BASE, 3)
    assert reference.best_tree(questions, two_filters, BASE, 3) > alone
