"""What an epsilon buys in a budget: epsilon names the price, the budget says in what.

The price is what one selection of that epsilon costs there. Where epsilons add up it is
epsilon itself; where squares do it is the rho or the coins of one bounded range of
epsilon. For the same price there are picks that share it, Gaussian noise and Laplace
noise, and which of them is best is a matter of public numbers: how many items there
are, and how many of them one person moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from discreet.exact.normal import square_root_down
from discreet.exact.rationals import round_down
from discreet.literals import PickName
from discreet.mechanisms.correlated_counts import CorrelatedCounts
from discreet.mechanisms.count_noise import CountNoise, make_noise
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.privacy.cost import Cost
from discreet.privacy.loss import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
)
from discreet.privacy.parameters import NOT_PRIVATE

if TYPE_CHECKING:
    from discreet.accounting.budget_rules import SpendingRule

# the digits of an epsilon that is found by halving
_DIGITS = 12
_HALVINGS = 48


@dataclass(frozen=True, slots=True)
class Price:
    """What one selection of an epsilon costs in a budget, and what else that buys.

    rule: how the budget counts.
    epsilon: of the selection.
    share: which part of the price this is.

    Privacy: all of it is public, and each method below costs at most the share of what
        the selection does, in the unit that the budget counts.

    >>> from discreet import ApproxDP
    >>> from discreet.accounting.privacy_filter import BudgetRule
    >>> price = Price(BudgetRule.of(ApproxDP(1, 1e-6)), Fraction(1, 10))
    >>> price.pick(10), price.gaussian(), price.laplace()
    (BoundedRange(epsilon=0.03125), GaussianDP(mu=0.0485), PureDP(epsilon=0.05))
    """

    rule: SpendingRule
    epsilon: Fraction
    share: Fraction = Fraction(1)

    def part(self, share: Fraction) -> Price:
        """A part of this price."""
        return Price(self.rule, self.epsilon, self.share * share)

    @property
    def selection(self) -> BoundedRange | PureDP:
        """The selection whose cost is the price: it suits the budget."""
        # docs/proofs/prices.md#claim
        if self.share == 1:
            return PureDP(self.epsilon) if self.squares is None else BoundedRange(self.epsilon)
        return self.pick(1) or PureDP(self.epsilon * self.share)

    @property
    def mechanism(self) -> PickName:
        """The mechanism that suits the budget: docs/explanation/which-mechanism.md."""
        return "permute-and-flip" if self.squares is None else "exponential"

    @property
    def squares(self) -> Fraction | None:
        """The price in rho or coins; None where it is paid in epsilon: in a pure budget, and
        for an epsilon that is too large for a price in coins, or for the coins that there are.
        """
        # docs/proofs/prices.md#claim
        squares = _squares(self.rule, self.epsilon)
        return None if squares is None else squares * self.share

    def is_whole(self, delta: Fraction) -> bool:
        """Whether a question of this delta takes the whole budget at once."""
        # docs/proofs/prices.md#claim
        return self.rule.budget == ApproxDP(self.epsilon, delta)

    def pick(self, k: int) -> BoundedRange | PureDP | None:
        """The loss of each of k picks that have the price together, about the largest; None
        where nothing is left for them.
        """
        if self.squares is None:
            # docs/proofs/prices.md#claim
            return PureDP(self.epsilon * self.share / k)
        # docs/proofs/prices.md#claim
        return _largest_range(self.rule, self.squares, k, self.epsilon)

    def gap(self) -> LogisticDP | PureDP:
        """The loss of a winner with its gap, about the largest that the price buys."""
        if self.squares is None:
            # docs/proofs/prices.md#claim
            return PureDP(self.epsilon * self.share)
        # docs/proofs/prices.md#claim
        return _largest_logistic(self.rule, self.squares, self.epsilon)

    def gaussian(self) -> GaussianDP | None:
        """The Gaussian noise that the price buys; None where it buys none."""
        if self.squares is None:
            return None
        if self.rule.counting == "coins":
            noise = self.rule.tariff.largest_noise(int(self.squares))
            if noise is None or self.squares != 1:
                return noise
            # one coin of a large budget may be worth far more than the epsilon that it pays for,
            # and less takes no more: docs/proofs/prices.md#claim
            return GaussianDP(min(noise.mu, round_down(self.epsilon / 2)))
        # docs/proofs/prices.md#claim
        return GaussianDP(round_down(square_root_down(2 * self.squares)))

    def laplace(self) -> PureDP | None:
        """The pure DP that the price buys; None where it buys none."""
        if self.squares is None:
            # docs/proofs/prices.md#claim
            return PureDP(self.epsilon * self.share)
        # docs/proofs/prices.md#claim
        return _largest_pure(self.rule, self.squares, self.epsilon)

    def noise_for_counts(
        self, items: int, *, items_per_person: int | None, one_more_or_fewer: bool = True
    ) -> CountNoise | None:
        """The noise with the smallest deviation for counts of people, at this price; None
        where the price buys none.

        items: how many counts there are.
        items_per_person: how many of them one person moves at most; None for any number.
        one_more_or_fewer: whether neighbours have one person more or fewer, which noise
            that the counts share needs.
        """
        found = self.noises_for_counts(
            items, items_per_person=items_per_person, one_more_or_fewer=one_more_or_fewer
        )
        return min(found.values(), key=lambda noise: noise.deviation, default=None)

    def noises_for_counts(
        self, items: int, *, items_per_person: int | None, one_more_or_fewer: bool = True
    ) -> dict[str, CountNoise]:
        """All noises for counts at this price, by name."""
        moved = items if items_per_person is None else min(items, items_per_person)
        gaussian, pure = self.gaussian(), self.laplace()
        found: dict[str, CountNoise] = {}
        if pure is not None:
            # the moves add up to `moved`: docs/proofs/prices.md#claim
            found["Laplace"] = DiscreteLaplace(epsilon=pure.epsilon, sensitivity=moved)
        if gaussian is not None:
            # and so do their squares: docs/proofs/prices.md#claim
            found["Gaussian"] = RoundedGaussian(
                mu=gaussian.mu, squared_sensitivity=moved, acknowledge=NOT_PRIVATE
            )
        if not one_more_or_fewer:
            return found
        if pure is not None:
            found["shared Laplace"] = CorrelatedCounts(items=items, epsilon=pure.epsilon)
        if gaussian is not None:
            found["shared Gaussian"] = CorrelatedCounts(
                items=items, mu=gaussian.mu, acknowledge=NOT_PRIVATE
            )
        return found


def default_noise(
    price: Price, delta: Fraction, *, items: int, items_per_person: int | None
) -> tuple[CountNoise, Loss]:
    """The noise for counts of people that the price buys, and what it costs; or, with a
    delta, noise that is (epsilon, delta)-DP.
    """
    if delta:
        # Nobody counts for more candidates than there are: docs/proofs/prices.md#claim
        moved = items if items_per_person is None else min(items, items_per_person)
        made = make_noise(price.epsilon, delta, moved=moved)
        if isinstance(made, DiscreteGaussian):
            # from the profile at this pair: docs/proofs/prices.md#claim
            return made, ApproxDP(price.epsilon, delta)
    noise = price.noise_for_counts(items, items_per_person=items_per_person)
    # a whole price buys a selection, and that much noise
    assert noise is not None
    return noise, noise.privacy_loss()


def cost_in_parts(
    loss: Loss, parts: Mapping[Loss, int], rule: SpendingRule, delta: Fraction = Fraction(0)
) -> Cost:
    """What an answer costs: its parts, or its loss where the budget has no price for them."""
    # coins have no price for concentrated DP
    if any(isinstance(part, ZCDP) for part in parts) and rule.counting != "rho":
        return Cost(loss)
    several = sum(parts.values()) > 1
    if isinstance(loss, PureDP) and several and rule.counting != "epsilon" and not delta:
        # the parts say more than their sum
        return Cost(Composed(parts))
    return Cost(loss, parts, delta)


@lru_cache(maxsize=1024)
def _squares(rule: SpendingRule, epsilon: Fraction) -> Fraction | None:
    if rule.counting == "epsilon":
        return None
    # docs/proofs/prices.md#claim
    squares = rule.squares_of(BoundedRange(epsilon))
    return squares if squares is not None and rule.has(squares) else None


@lru_cache(maxsize=1024)
def _largest_range(
    rule: SpendingRule, squares: Fraction, k: int, most: Fraction
) -> BoundedRange | None:
    # docs/proofs/prices.md#claim
    if rule.counting != "coins":
        return BoundedRange(_largest(_fits(rule, BoundedRange, squares / k), most))
    if squares < 1:
        return None
    each = rule.tariff.largest(int(squares / k))
    if k == 1 or squares >= 2 * k or not rule.noise:
        return each
    # hardly a coin for each: they are paid for as Gaussian noise that is as much
    # docs/proofs/prices.md#claim
    together = _range_like_noise(rule, int(squares), k)
    return BoundedRange(min(max(together, each.epsilon if each else Fraction(0)), most))


def _range_like_noise(rule: SpendingRule, coins: int, k: int) -> Fraction:
    """The bounded range of each of k picks that are together what Gaussian noise is for
    this many coins.
    """
    noise = rule.tariff.largest_noise(coins)
    assert noise is not None
    # the two normal distributions of each, where Phi(mu / 2) = 1 / (1 + e^(-epsilon / 2))
    half = float(noise.mu) / math.sqrt(k) / 2
    above = NormalDist().cdf(-half)
    # a tail too small for a float is about e^(-half^2 / 2) / (half * sqrt(2 pi))
    log_above = math.log(above) if above else -half * half / 2 - math.log(half * 2.5066)
    epsilon = Fraction(2 * (math.log1p(-above) - log_above))
    # docs/proofs/prices.md#claim
    fits = _fits(rule, lambda e: Composed({BoundedRange(e): k}), Fraction(coins))
    while not fits(found := round_down(epsilon, _DIGITS)):
        # floats, and what the prices are rounded to
        epsilon *= 1 - Fraction(1, 10**6)
    return found


@lru_cache(maxsize=1024)
def _largest_pure(rule: SpendingRule, squares: Fraction, most: Fraction) -> PureDP | None:
    # docs/proofs/prices.md#claim
    if rule.counting == "coins":
        # pure DP of epsilon has the range 2 epsilon, and a price pays for its range
        largest = rule.tariff.largest(int(squares))
        if largest is None:
            return None
        limit = most if squares == 1 else largest.epsilon
        return PureDP(min(largest.epsilon / 2, limit))
    return PureDP(_largest(_fits(rule, PureDP, squares), most))


@lru_cache(maxsize=1024)
def _largest_logistic(rule: SpendingRule, squares: Fraction, most: Fraction) -> LogisticDP:
    # docs/proofs/prices.md#claim
    return LogisticDP(_largest(_fits(rule, LogisticDP, squares), most))


def _fits(
    rule: SpendingRule, kind: Callable[[Fraction], Loss], squares: Fraction
) -> Callable[[Fraction], bool]:
    def fits(epsilon: Fraction) -> bool:
        price = rule.of_parts({kind(epsilon): 1}, 0).squares
        return price is not None and price <= squares

    return fits


def _largest(fits: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The largest epsilon up to `most` that fits, about, where smaller ones fit, too."""
    if fits(most):
        return most
    low, high = Fraction(0), most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return round_down(low, _DIGITS)
