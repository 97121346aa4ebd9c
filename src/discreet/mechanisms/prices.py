"""What an epsilon buys in a budget: epsilon names the price, the budget says in what.

The price is what one selection of that epsilon costs there. Where epsilons add up it is
epsilon itself; where squares do it is the rho or the coins of one bounded range of
epsilon. For the same price there are picks that share it, Gaussian noise and Laplace
noise, and which of them is best is a matter of public numbers: how many items there
are, and how many of them one person moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact.normal import square_root_down
from discreet.exact.rationals import round_down
from discreet.mechanisms.correlated_counts import CorrelatedCounts
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.privacy.loss import BoundedRange, GaussianDP, PureDP

if TYPE_CHECKING:
    from discreet.accounting.budget_rules import SpendingRule

NoiseForCounts = DiscreteLaplace | RoundedGaussian | CorrelatedCounts
"""Noise for several counts of people."""

# the digits of an epsilon that is found by halving
_DIGITS = 12
_HALVINGS = 48


@dataclass(frozen=True, slots=True)
class Price:
    """What one selection of an epsilon costs in a budget, and what else that buys.

    rule: how the budget counts.
    epsilon: of the selection.

    Privacy: all of it is public, and each method below costs at most what the selection
        does, in the unit that the budget counts.

    >>> from discreet import ApproxDP
    >>> from discreet.accounting.privacy_filter import BudgetRule
    >>> price = Price(BudgetRule.of(ApproxDP(1, 1e-6)), Fraction(1, 10))
    >>> price.pick(10), price.gaussian(), price.laplace()
    (BoundedRange(epsilon=0.03125), GaussianDP(mu=0.0485), PureDP(epsilon=0.05))
    """

    rule: SpendingRule
    epsilon: Fraction

    @property
    def selection(self) -> BoundedRange | PureDP:
        """The selection whose cost is the price: it suits the budget."""
        # docs/proofs/prices.md#claim
        return PureDP(self.epsilon) if self.squares is None else BoundedRange(self.epsilon)

    @property
    def squares(self) -> Fraction | None:
        """The price in rho or coins; None where it is paid in epsilon: in a pure budget, and
        for an epsilon that is too large for a price in coins.
        """
        if self.rule.counting == "epsilon":
            return None
        # docs/proofs/prices.md#claim
        return self.rule.squares_of(BoundedRange(self.epsilon))

    def pick(self, k: int) -> BoundedRange | PureDP | None:
        """The loss of each of k picks that have the price together, about the largest; None
        where not even one coin is left for each.
        """
        if self.squares is None:
            # docs/proofs/prices.md#claim
            return PureDP(self.epsilon / k)
        if self.rule.counting == "coins":
            return self.rule.tariff.largest(int(self.squares) // k)
        each = self.squares / k
        # docs/proofs/prices.md#claim
        return BoundedRange(_largest(lambda e: BoundedRange(e).to_zcdp().rho <= each, self.epsilon))

    def gaussian(self) -> GaussianDP | None:
        """The Gaussian noise that the price buys; None where it buys none."""
        if self.squares is None:
            return None
        if self.rule.counting == "coins":
            return self.rule.tariff.largest_noise(int(self.squares))
        # docs/proofs/prices.md#claim
        return GaussianDP(round_down(square_root_down(2 * self.squares)))

    def laplace(self) -> PureDP:
        """The pure DP that the price buys."""
        squares = self.squares
        if squares is None:
            # docs/proofs/prices.md#claim
            return PureDP(self.epsilon)
        if self.rule.counting == "coins":
            # pure DP of epsilon has the range 2 epsilon, and a price pays for its range
            largest = self.rule.tariff.largest(int(squares))
            assert largest is not None
            return PureDP(largest.epsilon / 2)
        # docs/proofs/prices.md#claim
        return PureDP(_largest(lambda e: PureDP(e).to_zcdp().rho <= squares, self.epsilon))

    def noise_for_counts(
        self, items: int, *, items_per_person: int | None, one_more_or_fewer: bool = True
    ) -> NoiseForCounts:
        """The noise with the smallest deviation for counts of people, at this price.

        items: how many counts there are.
        items_per_person: how many of them one person moves at most; None for any number.
        one_more_or_fewer: whether neighbours have one person more or fewer, which noise
            that the counts share needs.
        """
        moved = items if items_per_person is None else min(items, items_per_person)
        gaussian, pure = self.gaussian(), self.laplace().epsilon
        # the moves add up to `moved`, and so do their squares: docs/proofs/prices.md#claim
        found: list[NoiseForCounts] = [DiscreteLaplace(epsilon=pure, sensitivity=moved)]
        if gaussian is not None:
            # docs/proofs/prices.md#claim
            found.append(RoundedGaussian(mu=gaussian.mu, squared_sensitivity=moved))
        if one_more_or_fewer:
            found.append(
                CorrelatedCounts(items=items, epsilon=pure)
                if gaussian is None
                else CorrelatedCounts(items=items, mu=gaussian.mu)
            )
        return min(found, key=lambda noise: noise.deviation)


def _largest(fits: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The largest epsilon up to `most` that fits, about, where smaller ones fit, too."""
    if fits(most):
        return most
    low, high = Fraction(0), most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return round_down(low, _DIGITS)
