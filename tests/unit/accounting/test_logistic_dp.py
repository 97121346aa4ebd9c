"""Logistic DP in every account: its divergences, its prices, and what many of them cost."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest
from flint import arb
from reference import logistic as reference
from tiers import loop_over, more

from discreet import ZCDP, ApproxDP, BoundedRange, PureDP, compose, queries_allowed
from discreet.accounting import Cost, GaussianApproximation, LogisticDP, private_candidate_loss
from discreet.accounting.privacy_filter import BudgetRule
from discreet.accounting.renyi import renyi_divergence
from discreet.accounting.two_point import delta_non_adaptive
from discreet.exact.enclosures import at_precision


@pytest.mark.parametrize(
    "epsilon", [more(Fraction(1, 10)), Fraction(1), more(Fraction(4))], ids=str
)
@pytest.mark.parametrize("order", [1.25, 2.0, more(7.5)])
def test_divergences_are_those_of_two_logistic_densities(epsilon, order):
    found = at_precision(160, lambda: renyi_divergence(LogisticDP(epsilon), arb(order)))
    assert float(found.rad()) < 1e-30
    assert float(found.mid()) == pytest.approx(
        float(reference.renyi_divergence(epsilon, order)), rel=1e-12
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(10)], ids=str)
def test_rho_bounds_every_divergence_and_is_tight(epsilon):
    rho = LogisticDP(epsilon).to_zcdp().rho
    places = [1 + mpmath.mpf(2) ** power for power in range(-30, 12)]
    shares = [
        at_precision(
            400, lambda order=order: renyi_divergence(LogisticDP(epsilon), arb(order)) / arb(order)
        )
        for order in places
    ]
    assert all(share < arb(rho.numerator) / arb(rho.denominator) for share in shares)
    assert float(shares[0].mid()) == pytest.approx(float(rho), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_pair_has_the_largest_delta_of_bounded_range(epsilon):
    for place in range(10):
        at = Fraction(place, 10) * Fraction(str(epsilon))
        found = delta_non_adaptive(Fraction(str(epsilon)), 1, at)
        truth = float(reference.hockey_stick(epsilon, float(at)))
        assert found.low - 1e-12 <= truth <= found.high + 1e-12


def test_prices_in_every_budget():
    loss = LogisticDP(0.1)
    cost = Cost(loss)
    assert BudgetRule.of(PureDP(1)).spending(cost).epsilon == Fraction(1, 10)
    assert BudgetRule.of(ZCDP(1)).spending(cost).squares == loss.to_zcdp().rho
    in_rho = BudgetRule.of(ApproxDP(1, 1e-6), counting="rho")
    assert in_rho.spending(cost).squares == loss.to_zcdp().rho
    assert loss.to_zcdp().rho * 3 < PureDP(0.1).to_zcdp().rho * Fraction(1002, 1000)


def test_questions_that_fit():
    assert queries_allowed(each=LogisticDP(0.1), budget=PureDP(1)) == 10
    assert queries_allowed(each=LogisticDP(0.1), budget=ZCDP(0.1)) == 60
    each, budget = LogisticDP(0.05), ApproxDP(1, 1e-6)
    most = queries_allowed(each=each, budget=budget)
    assert queries_allowed(each=PureDP(0.05), budget=budget) < most
    assert most <= queries_allowed(each=BoundedRange(0.05), budget=budget)
    assert compose({each: most}, epsilon=1).delta <= budget.delta


def test_the_central_limit_has_a_third_of_the_variance():
    assert GaussianApproximation.of({LogisticDP(0.1): 300}).mu == pytest.approx(1)


@pytest.mark.parametrize("stopping", ["geometric", "logarithmic", "poisson"])
def test_the_best_of_many_runs_is_bounded_range_with_public_choices(stopping):
    words = {"stopping": stopping, "mean": 20}
    loss = private_candidate_loss(LogisticDP(0.5), **words)
    assert loss == private_candidate_loss(BoundedRange(0.5), public_choices=True, **words)
    assert loss < private_candidate_loss(PureDP(0.5), **words)


@loop_over("seed", range(20))
def test_the_best_of_many_runs_by_enumeration(seed):
    """Winners with gaps, ranked at random: geometric stopping."""
    chance, mean = random.Random(seed), 5
    stop = Fraction(1, mean)
    weights = [Fraction(chance.randint(1, 30)) for _ in range(3)]
    factor = Fraction(3, 2)
    moved = [weight * chance.choice([1, factor]) for weight in weights]
    ends = [Fraction(1), Fraction(chance.randint(3, 9), 2)]
    here, there = reference.winner_and_gap(moved, ends), reference.winner_and_gap(weights, ends)
    order = chance.sample(range(len(here)), len(here))
    ratios = []
    for best in range(len(order)):
        p, q = (
            best_of_geometric([cells[cell] for cell in order], best, stop)
            for cells in (here, there)
        )
        ratios += [p / q, q / p]
    epsilon = Fraction(mpmath.nstr(mpmath.log(mpmath.mpf(3) / 2) + mpmath.mpf(10) ** -14, 14))
    bound = private_candidate_loss(LogisticDP(epsilon), stopping="geometric", mean=mean).epsilon
    assert mpmath.log(float(max(ratios))) <= float(bound)


def best_of_geometric(cells, best, stop):
    """The chance that outcome `best`, in the order from the worst, is the best of all runs."""

    def at_most(mass):
        return stop * mass / (1 - (1 - stop) * mass)

    return at_most(sum(cells[: best + 1])) - at_most(sum(cells[:best]))


def test_a_ledger_charges_and_keeps_it(tmp_path):
    from discreet import Ledger
    from discreet.accounting import Cost
    from discreet.mechanisms import ExponentialMechanism

    release = ExponentialMechanism(epsilon=0.1, sensitivity=1).release([3, 2], with_gap=True)
    with Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
        ledger.open("votes", budget=ApproxDP(1, 1e-6), counting="rho")
        before = ledger.remaining("votes")
        cost = Cost(release.loss, {release.loss: 1})
        with ledger.reserve("votes", cost, request={}) as payment:
            payment.settle(release)
        spent = (before - ledger.remaining("votes")).value
        assert (
            release.loss.to_zcdp().rho <= spent < release.loss.to_zcdp().rho * Fraction(1001, 1000)
        )
