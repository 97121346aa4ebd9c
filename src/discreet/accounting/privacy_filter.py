"""A filter for fully adaptive queries: each loss may depend on all earlier answers, and
the total still holds. `BudgetRule` also says, for people to read, what is left of a
budget in questions.

Optimal composition formulas are *not* filters: stopping when they say "full" can exceed
the budget by choosing the next loss in view of the answers (docs/proofs/composition.md
has a counterexample, and a test computes it). What adds up under any adaptive choice is
epsilon, rho, and coins; `BudgetRule` says which of them a budget counts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, SupportsIndex

from discreet.accounting.budget_rules import NOTHING, Spending, SpendingRule
from discreet.accounting.renyi import largest_range
from discreet.errors import (
    BudgetExceededError,
    DiscreetError,
    InputError,
    ParameterTypeError,
    called_inside,
    public_class,
    public_function,
)
from discreet.exact.rationals import Number, exact_decimal, positive
from discreet.privacy.cost import Amount, Cost, MoneyUnit, about, round_number, short
from discreet.privacy.loss import BoundedRange, Loss, PureDP, is_loss


@dataclass(frozen=True, slots=True)
class BudgetRule(SpendingRule):
    """How a budget counts, with what people read of it: what is left, and why something does
    not fit.
    """

    def remaining(self, spent: Spending) -> Amount:
        """What is left of the coins or rho; where these are gone, of the plain sum of epsilons."""
        if self._in_squares(spent):
            return self._amount(self._left_in_squares(spent), self.counting)
        return self._amount(self._left_in_epsilon(spent), "epsilon")

    def spent(self, spent: Spending) -> Amount:
        """What is spent, in the unit of `remaining`."""
        if self._in_squares(spent):
            return self._amount(self.squares_limit - self._left_in_squares(spent), self.counting)
        return self._amount(self.epsilon_limit - self._left_in_epsilon(spent), "epsilon")

    def question(self, epsilon: Number) -> Loss:
        """The loss of a question of this epsilon, with the mechanism that suits the budget."""
        kind = PureDP if self.counting == "epsilon" else BoundedRange
        exact = exact_decimal(epsilon, "epsilon")
        return kind(positive(exact, epsilon, "epsilon"))

    def questions_left(self, spent: Spending, loss: Loss | Cost) -> int:
        """How many more questions of one loss, or one cost, fit."""
        cost = _cost(loss)
        return self.times_left(spent, self.spending(cost), cost.loss)

    def times_left(self, spent: Spending, each: Spending, loss: Loss) -> int:
        """How many more releases fit that take this much each, and have this loss as a whole."""
        ways = [
            _times(self._left_in_epsilon(spent), each.epsilon),
            _times(self._left_in_squares(spent), each.squares),
        ]
        if each.delta:
            by_delta = _times(self.delta_for_losses - spent.delta, each.delta)
            ways = [min(way, by_delta) for way in ways]
        alone = int(spent == NOTHING and loss <= self.budget)
        return max(*ways, alone)

    def amount(self, spending: Spending, like: Amount) -> Amount:
        """What a release takes, in the unit of another amount where it has a price in that."""
        if like.unit != "epsilon" and spending.squares is not None:
            return self._amount(spending.squares, self.counting)
        if spending.epsilon is not None:
            return self._amount(spending.epsilon, "epsilon")
        return self._amount(spending.squares or Fraction(0), self.counting)

    def largest(self, spent: Spending) -> Fraction:
        """The largest epsilon of a question that still fits; 0 if none does."""
        plain, left = self._left_in_epsilon(spent), self._left_in_squares(spent)
        return max(plain, self._range_of(left))

    def refusal(self, spent: Spending, spending: Spending, whose: str = "") -> BudgetExceededError:
        """The error that says what the question costs, what is left, and what to do.

        whose: whose budget it is; yours, if it is not given. What is left is rounded,
            because in a shared budget it tells what others have spent.
        """
        budget = f"the budget of {whose}" if whose else "your budget"
        if spent.delta + spending.delta > self.delta_for_losses:
            return BudgetExceededError(
                f"This question costs a delta of {short(spending.delta)}, but {budget} "
                f"{_delta_in_words(self.delta_for_losses - spent.delta)}"
            )
        return BudgetExceededError(
            f"This question costs {self.cost_in_words(spending)}, but {budget} "
            f"{self._left_in_words(spent, spending)}"
        )

    def _left_in_words(self, spent: Spending, spending: Spending) -> str:
        largest = self.largest(spent)
        if not largest:
            return "is used up. Only answers that you already have are still free."
        most = about(largest)
        if spending.epsilon is not None and spending.epsilon <= largest:
            hint = "a smaller epsilon, or with mechanism='exponential', which costs less here"
        else:
            hint = f"epsilon={most} or less"
        if self._in_squares(spent):
            small, often = self._smaller(largest, spent)
            only = f"has room for only one more question of epsilon {most}. Ask with {hint}."
            if often <= 1:
                return only
            return (
                f"{only} Or ask smaller questions: about {often:,} of {small} would fit, because "
                "together they cost less than the sum of their epsilons."
            )
        return f"has only {most} left. Ask with {hint}."

    def room(self, spent: Spending) -> str:
        """What is left: one more question of epsilon 0.17, or about 3 of epsilon 0.1."""
        largest = self.largest(spent)
        if not largest:
            return "no more questions"
        small, often = self._smaller(largest, spent)
        one = f"one more question of epsilon {about(largest)}"
        return f"{one}, or about {often:,} of {small}" if often > 1 else f"{one} at most"

    def _smaller(self, largest: Fraction, spent: Spending) -> tuple[str, int]:
        """A round epsilon below the largest that fits, and how many questions of it do."""
        small = round_number(largest)
        return f"epsilon {about(small)}", self.questions_left(spent, self.question(small))

    def cost_in_words(self, spending: Spending) -> str:
        """What a release takes from the budget, for people to read."""
        if spending.epsilon is not None:
            return f"epsilon {short(spending.epsilon)}"
        if self.counting == "rho" and spending.squares is not None:
            return f"rho {short(spending.squares)}"
        return str(self._amount(spending.squares or Fraction(0), self.counting))

    def _in_squares(self, spent: Spending) -> bool:
        """True if the squares are what people read: not where only the plain sum has room."""
        if self.counting == "epsilon":
            return False
        return self._left_in_squares(spent) > 0 or not self._left_in_epsilon(spent) > 0

    def _left_in_epsilon(self, spent: Spending) -> Fraction:
        if spent.epsilon is None:
            return Fraction(0)
        return max(Fraction(0), self.epsilon_limit - spent.epsilon)

    def _left_in_squares(self, spent: Spending) -> Fraction:
        if spent.squares is None:
            return Fraction(0)
        return max(Fraction(0), self.squares_limit - spent.squares)

    def _range_of(self, squares: Fraction) -> Fraction:
        """The largest bounded range that some coins or rho pay for, rounded down."""
        if not squares > 0 or self.counting == "epsilon":
            return Fraction(0)
        if self.counting == "coins":
            largest = self.tariff.largest(int(squares))
            return Fraction(0) if largest is None else largest.epsilon
        return largest_range(squares)

    def _amount(self, value: Fraction, unit: MoneyUnit) -> Amount:
        if unit != "coins":
            return Amount(value, unit)
        return Amount(value, unit, self.tariff.unit, self.squares_limit)


def _delta_in_words(left: Fraction) -> str:
    """What is left of a delta, and what to do."""
    if not left > 0:
        return "has no delta left for such questions. Ask without a delta."
    return f"has only {about(left)} left for such questions. Ask with delta={about(left)} or less."


def _times(left: Fraction, each: Fraction | None) -> int:
    return int(left // each) if each else 0


_COPIED = (
    "A PrivacyFilter cannot be copied or pickled: a copy would be a second budget. Share "
    "it, or use a Ledger."
)
_FORKED = (
    "This budget can only be used in the process that made it. After a fork, make a new one "
    "in the child from a part of the budget, or use a Ledger."
)


@public_class
class PrivacyFilter:
    """Admits losses, chosen adaptively, as long as all of them together stay within a budget.

    budget: PureDP (epsilons add up), ZCDP (rhos add up), or ApproxDP (either the
        epsilons add up to at most epsilon, or the coins to at most as many as are
        certified for epsilon and delta).
    delta_for_losses: of an ApproxDP budget, the part of delta that is set aside for
        losses that have a delta of their own; a tenth of it, if not given.
    counting: of an ApproxDP budget "coins", or "rho" for releases of which only a rho
        is known; then the epsilons or the rhos have to fit.

    Privacy: everything that was admitted is together within the budget, however the
        losses were chosen. A filter is one budget: it cannot be copied or pickled, and
        only the process that made it may take from it, because a second filter that
        starts here would spend the rest again.
    Utility: what is within the budget by itself always fits an untouched one, and an
        ApproxDP budget admits whatever PureDP of its epsilon does.
    Cost: constant time a query. The coins of an uncommon budget are computed once, in
        seconds, when they are first needed.
    Proof: docs/proofs/coin-filter.md, docs/proofs/composition.md.

    >>> from discreet import ApproxDP, BoundedRange, PureDP
    >>> within = PrivacyFilter(PureDP(1))
    >>> for _ in range(10):
    ...     within.admit(PureDP(0.1))
    >>> within.allows(PureDP(0.1)), within.remaining()
    (False, 0 epsilon)
    >>> PrivacyFilter(ApproxDP(1, 1e-6)).questions_left(epsilon=0.1)
    21
    """

    def __init__(
        self,
        budget: Loss,
        *,
        delta_for_losses: Number | None = None,
        counting: str | None = None,
    ) -> None:
        self.rule = BudgetRule.of(budget, delta_for_losses=delta_for_losses, counting=counting)
        self._spent = NOTHING
        self._lock = threading.Lock()
        self._process = os.getpid()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse copy.copy, copy.deepcopy and pickle."""
        raise TypeError(_COPIED)

    def __repr__(self) -> str:
        return f"PrivacyFilter({self.budget!r}, spent={self.spent()})"

    @property
    def budget(self) -> Loss:
        """What may be spent in total."""
        return self.rule.budget

    def remaining(self) -> Amount:
        """What is left: epsilon, rho or coins; where coins are gone, the plain sum of epsilons."""
        return self.rule.remaining(self._spent)

    def spent(self) -> Amount:
        """What is spent, in the unit of `remaining`."""
        return self.rule.spent(self._spent)

    @public_function("PrivacyFilter.questions_left")
    def questions_left(self, *, epsilon: Number) -> int:
        """How many more questions of this epsilon fit, with the mechanism that suits the budget.

        That is bounded range where squares count, as the exponential mechanism has it,
        and pure DP else.
        """
        return self.questions_left_of(self.rule.question(epsilon))

    def questions_left_of(self, loss: Loss | Cost) -> int:
        """How many more releases of this loss fit."""
        return self.rule.questions_left(self._spent, loss)

    def room(self) -> str:
        """How many more questions fit: one more of epsilon 0.17, or about 3 of epsilon 0.1."""
        return self.rule.room(self._spent)

    def allows(self, *losses: Loss | Cost) -> bool:
        """True if these losses would still fit, one after the other."""
        total: Spending | None = self._spent
        for cost in map(_cost, losses):
            if total is not None:
                total = self.rule.after(total, self.rule.spending(cost), cost.loss)
        return total is not None

    @called_inside
    def admit(self, loss: Loss | Cost) -> None:
        """Take the loss from the budget, or raise BudgetExceededError and take nothing."""
        try:
            self._take(_cost(loss))
        except InputError as error:
            raise error.called("PrivacyFilter") from None

    def admit_parts(self, losses: Mapping[Loss, int], *, delta: Number = 0) -> None:
        """Take the losses that one release is made of, and a delta of its own, all or nothing.

        losses: at least one loss, each with how often it occurs, at least once.
        Cheaper than the release's loss as a whole where many small parts make it up and
        the budget is not pure.
        """
        own = exact_decimal(delta, "delta")
        self._take_spending(self.rule.of_parts(losses, own), None)

    def _take(self, cost: Cost) -> None:
        self._take_spending(self.rule.spending(cost), cost.loss)

    def _take_spending(self, spending: Spending, whole: Loss | None) -> None:
        if os.getpid() != self._process:
            raise DiscreetError(_FORKED)
        # two threads must not both see room for one
        with self._lock:
            total = self.rule.after(self._spent, spending, whole)
            if total is None:
                raise self.rule.refusal(self._spent, spending)
            self._spent = total


def _cost(loss: Loss | Cost) -> Cost:
    if type(loss) is Cost:
        return loss
    if not is_loss(loss):
        rule = "a loss such as PureDP(0.1)"
        raise ParameterTypeError("loss", rule, loss)
    return Cost(loss)
