"""The price that earns most: the digital good."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from discreet.accounting.privacy_filter import BudgetRule
from discreet.accuracy import Accuracy
from discreet.literals import MechanismName, PersonRule
from discreet.mechanisms.prices import Price
from discreet.mechanisms.selection import make_mechanism
from discreet.privacy.cost import Cost
from discreet.privacy.parameters import ScoreRange
from discreet.questions.kinds import (
    WHICH_ROW,
    ColumnName,
    Epsilon,
    PublicPrices,
    RowCondition,
    exact_price,
)
from discreet.questions.question import Question, parameter, question
from discreet.randomness.chance import Bits
from discreet.release import Release
from discreet.tables.contribution_cap import read_rule
from discreet.tables.counting import count_bins
from discreet.tables.inquiry import Inquiry, Prepared
from discreet.tables.items import require_number


@question("best_price")
class BestPrice(Question):
    """Pick the price that earns the most. Everybody who would pay the price buys."""

    column: ColumnName = parameter("How much each person would pay.", kw_only=False)
    prices: PublicPrices = parameter("The public prices to choose from.")
    epsilon: Epsilon = parameter()
    rule: PersonRule | None = parameter(WHICH_ROW, default=None)
    mechanism: MechanismName | None = parameter(
        "How to choose. By default: permute-and-flip if epsilons add up in the budget, else "
        "exponential.",
        default=None,
    )
    where: RowCondition | None = parameter(default=None)

    def stated(self, rule: BudgetRule) -> dict[str, Any]:
        return super().stated(rule) | {
            "mechanism": self.mechanism or Price(rule, self.epsilon).mechanism
        }

    def prepare(self, inquiry: Inquiry) -> Prepared:
        table, unit = inquiry.table, inquiry.unit
        counted = read_rule(self.rule, unit)
        exact = {price: exact_price(price) for price in self.prices}
        ascending = sorted(exact, key=lambda price: exact[price])
        mechanism = self.mechanism or inquiry.price(self.epsilon).mechanism
        most = max(exact.values())
        # One person more raises each revenue by 0 up to the highest price:
        # docs/proofs/tables.md#ranges
        span = ScoreRange(sensitivity=most, monotonic=True)
        made = make_mechanism(mechanism, self.epsilon, span)
        require_number(table, self.column)
        amounts = [exact[price] for price in ascending]

        def answer(bits: Bits | None) -> Release:
            bins = count_bins(table, unit, self.column, amounts, counted)
            earned = revenues(amounts, bins)
            return made.release(dict(zip(ascending, earned, strict=True)), bits=bits)

        def accuracy(failure: Fraction) -> Accuracy:
            told = made.accuracy(candidates=len(amounts), failure_probability=failure)
            return told.in_words(unit="revenue", thing="price")

        return Prepared(Cost(made.privacy_loss()), answer, accuracy)


def revenues(prices: Sequence[Fraction], bins: Sequence[int]) -> list[Fraction]:
    """For each price, in ascending order, the price times the number of persons who would pay it.

    bins: how many persons would pay less than the first price, then from each price up
        to the next.
    One person more raises every revenue, by at most the highest price: the range is the
    highest price.

    >>> revenues([Fraction(1), Fraction(3)], [5, 2, 4])
    [Fraction(6, 1), Fraction(12, 1)]
    """
    buyers = list(accumulate(reversed(bins[1:])))[::-1]
    return [price * count for price, count in zip(prices, buyers, strict=True)]
