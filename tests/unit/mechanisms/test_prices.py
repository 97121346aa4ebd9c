"""What an epsilon buys: never more than the selection costs, and hardly less."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from tiers import loop_over

from discreet import ZCDP, ApproxDP, BoundedRange, PureDP
from discreet.accounting import Composed
from discreet.accounting.privacy_filter import BudgetRule
from discreet.mechanisms import CorrelatedCounts, DiscreteLaplace, RoundedGaussian
from discreet.mechanisms.prices import Price
from discreet.privacy.cost import Cost

BUDGETS = [PureDP(1), ZCDP(Fraction(1, 10)), ApproxDP(1, 1e-6), ApproxDP(1, 1e-9)]
EPSILONS = [Fraction(1, 50), Fraction(1, 10), Fraction(1, 3)]


def price_of(budget, epsilon):
    return Price(BudgetRule.of(budget), Fraction(epsilon))


def taken(price, losses):
    """What losses take, in the unit of the price."""
    spending = price.rule.of_parts({Composed(losses): 1}, 0)
    return spending.epsilon if price.squares is None else spending.squares


def paid(price):
    return price.epsilon if price.squares is None else price.squares


@loop_over("budget", BUDGETS)
@loop_over("epsilon", EPSILONS)
@loop_over("k", [1, 3, 10, 300])
def test_picks_share_the_price(budget, epsilon, k):
    price = price_of(budget, epsilon)
    each = price.pick(k)
    assert taken(price, {each: k}) <= paid(price)
    # coins are whole, and prices have steps; of many picks they pay for Gaussian noise
    assert isinstance(budget, ApproxDP) or taken(price, {each: k}) >= paid(price) * 0.999
    if price.squares is not None:
        # a price may pay for a little more than was asked for
        assert epsilon / math.sqrt(k) * 0.77 <= each.epsilon <= epsilon / math.sqrt(k) * 1.06


@loop_over("budget", BUDGETS)
@loop_over("epsilon", EPSILONS)
def test_noise_has_the_price(budget, epsilon):
    price = price_of(budget, epsilon)
    assert taken(price, {price.laplace(): 1}) <= paid(price)
    assert taken(price, {price.selection: 1}) == paid(price)
    gaussian = price.gaussian()
    assert (gaussian is None) == isinstance(budget, PureDP)
    if gaussian is not None:
        assert paid(price) * 0.9999 <= taken(price, {gaussian: 1}) <= paid(price)


def test_what_coins_cannot_pay_is_paid_in_epsilon():
    price = price_of(ApproxDP(1, 1e-6), Fraction(1, 2))
    assert (price.squares, price.gaussian()) == (None, None)
    assert price.pick(5) == PureDP(Fraction(1, 10))
    assert price.laplace() == PureDP(Fraction(1, 2))


@pytest.mark.parametrize(
    ("items", "most", "kind"),
    [
        (1, None, RoundedGaussian),
        (40, None, CorrelatedCounts),
        (40, 30, CorrelatedCounts),
        (40, 5, RoundedGaussian),
    ],
)
def test_the_narrowest_noise_is_taken(items, most, kind):
    price = price_of(ApproxDP(1, 1e-6), Fraction(1, 5))
    noise = price.noise_for_counts(items, items_per_person=most)
    assert type(noise) is kind
    assert taken(price, {noise.privacy_loss(): 1}) <= paid(price) == 400
    alone = price.noise_for_counts(items, items_per_person=most, one_more_or_fewer=False)
    assert type(alone) is RoundedGaussian
    assert noise.deviation <= alone.deviation


def test_forty_counts_for_four_hundred_coins():
    """The figures that the redesign was asked for: 37 and 65, where Laplace noise had 566."""
    price = price_of(ApproxDP(1, 1e-6), Fraction(1, 5))
    assert price.noise_for_counts(40, items_per_person=None).deviation == pytest.approx(37.8, abs=1)
    own = price.noise_for_counts(40, items_per_person=None, one_more_or_fewer=False)
    assert own.deviation == pytest.approx(65.2, abs=0.5)
    assert DiscreteLaplace(epsilon=price.laplace().epsilon, sensitivity=40).deviation > 560


@loop_over("items", [1, 2, 3, 10])
def test_in_a_pure_budget_laplace_noise_is_shared_from_three_counts_on(items):
    price = price_of(PureDP(1), Fraction(1, 10))
    noise = price.noise_for_counts(items, items_per_person=None)
    assert noise.privacy_loss() == PureDP(Fraction(1, 10))
    assert isinstance(noise, CorrelatedCounts) == (items >= 3)


def test_a_cost_says_what_it_consists_of():
    picks = {BoundedRange(Fraction(316, 10000)): 10, PureDP(Fraction(1, 3)): 1}
    assert (
        Cost(PureDP(1), picks).made_of
        == "10 \N{MULTIPLICATION SIGN} BoundedRange(0.0316) + PureDP(0.3334)"
    )
    assert Cost(ApproxDP(1, 1e-6)).made_of == "ApproxDP(1, 1e-06)"
    bad = Cost(ApproxDP(1, 1e-6), {PureDP(1): 1}, Fraction(1, 10**7))
    assert bad.made_of == "PureDP(1) + delta 1e-07"


@loop_over("most", [2, 3, None])
def test_the_noise_is_for_all_that_a_person_moves(most):
    coins, pure = price_of(ApproxDP(1, 1e-6), Fraction(1, 10)), price_of(PureDP(1), Fraction(1, 10))
    given = {"items_per_person": most, "one_more_or_fewer": False}
    moved = most or 7
    assert coins.noise_for_counts(7, **given).squared_sensitivity == moved
    assert pure.noise_for_counts(7, **given).sensitivity == moved


@loop_over("budget", BUDGETS)
@loop_over("epsilon", EPSILONS)
def test_a_winner_with_its_gap_has_the_price(budget, epsilon):
    price = price_of(budget, epsilon)
    gap = price.gap()
    assert taken(price, {gap: 1}) <= paid(price)
    # a gap tells more than the winner alone
    assert (gap.epsilon < epsilon) == (price.squares is not None)
    # with few coins prices have large steps
    assert gap.epsilon > epsilon * 0.65


@loop_over("budget", BUDGETS)
@loop_over("share", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)])
def test_parts_of_a_price_are_no_more_than_the_price(budget, share):
    whole = price_of(budget, Fraction(1, 10))
    one, other = whole.part(share), whole.part(1 - share)
    picks, noise = one.pick(4), other.noise_for_counts(4, items_per_person=None)
    assert taken(whole, {picks: 4, noise.privacy_loss(): 1}) <= paid(whole)
    assert taken(whole, {one.selection: 1}) <= paid(whole) * share
    assert taken(whole, {one.laplace(): 1}) <= paid(whole) * share


@loop_over("k", [2, 3, 40])
def test_one_coin_buys_no_more_than_the_epsilon_that_it_pays_for(k):
    """A coin of this budget is worth an epsilon of 100."""
    price = price_of(ApproxDP(10_000, Fraction(1, 10)), 1)
    assert paid(price) == 1
    assert price.pick(k).epsilon <= 1
    assert price.laplace().epsilon <= 1
    assert price.gaussian().mu <= Fraction(1, 2)


def test_a_part_without_a_coin_is_paid_in_epsilon():
    part = price_of(ApproxDP(1, 1e-6), Fraction(1, 100)).part(Fraction(1, 10))
    assert part.pick(1) is None
    assert part.selection == PureDP(Fraction(1, 1000))


def test_the_whole_budget_may_go_to_one_question():
    price = price_of(ApproxDP(1, 1e-6), 1)
    assert price.is_whole(Fraction(1, 10**6))
    assert not price.is_whole(Fraction(0))
    assert not price_of(ApproxDP(1, 1e-6), Fraction(1, 2)).is_whole(Fraction(1, 10**6))
