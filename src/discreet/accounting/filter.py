"""A filter for fully adaptive queries: each loss may depend on all earlier answers, and the total still holds.

Optimal composition formulas are *not* filters: stopping when they say "full" can exceed the budget by choosing the next loss in view of
the answers (docs/proofs/composition.md has a counterexample, and a test computes it). Concentrated DP adds up under any adaptive choice,
so the filter fixes the largest total rho beforehand and admits a query while the sum stays at or below it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from fractions import Fraction
from typing import NoReturn, SupportsIndex

from discreet.accounting.renyi import largest_rho
from discreet.errors import BudgetExceeded, DiscreetError, ParameterError, ParameterTypeError
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, Loss, PureDP
from discreet.privacy.numbers import Number, count, exact_decimal

_COPIED = "A Filter is one budget, and a copy would be a second one. Share it, or use a Ledger."
_FORKED = (
    "This budget belongs to the process that made it: after a fork both would spend what is left. "
    "Make a new one in the child from a part of the budget, or use a Ledger."
)


class Filter:
    """Admits losses, chosen adaptively, as long as all of them together stay within a budget.

    budget: PureDP (losses add up), ZCDP (their rho add up), or ApproxDP (the same, with the rho that this epsilon and delta allow).
    delta_for_losses: of an ApproxDP budget, the part of delta that is set aside for losses that have a delta of their own.

    Privacy: everything that was admitted is together within the budget, however the losses were chosen.
        A filter is one budget: it cannot be copied or pickled, and only the process that made it
        may take from it, because a second filter that starts here would spend the rest again.
    Cost: constant time a query.

    >>> within = Filter(PureDP(1))
    >>> for _ in range(10):
    ...     within.admit(PureDP(0.1))
    >>> within.allows(PureDP(0.1)), within.remaining
    (False, Fraction(0, 1))
    """

    def __init__(self, budget: Loss, *, delta_for_losses: Number = 0) -> None:
        if isinstance(budget, ApproxDP) and not budget.delta:
            budget = PureDP(budget.epsilon)
        self.budget = budget
        self.delta_limit = exact_decimal(delta_for_losses, "delta_for_losses", "Filter")
        self.spent = Fraction(0)
        self.delta_spent = Fraction(0)
        self._lock = threading.Lock()
        self._process = os.getpid()
        if self.delta_limit and not isinstance(budget, ApproxDP):
            raise ParameterError("Filter", "delta_for_losses", "0 for a budget without a delta", delta_for_losses)
        if isinstance(budget, PureDP):
            self.limit = budget.epsilon
        elif isinstance(budget, ZCDP):
            self.limit = budget.rho
        elif isinstance(budget, ApproxDP):
            rest = budget.delta - self.delta_limit
            if not rest > 0 or self.delta_limit < 0:
                raise ParameterError("Filter", "delta_for_losses", f"at least 0 and below {budget.delta}", delta_for_losses)
            self.limit = largest_rho(budget.epsilon, rest)
        else:
            raise ParameterTypeError("Filter", "budget", "PureDP, ZCDP or ApproxDP", budget)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse copy.copy, copy.deepcopy and pickle."""
        raise TypeError(_COPIED)

    @property
    def remaining(self) -> Fraction:
        """What is left of the limit: epsilon for a pure budget, else rho."""
        return self.limit - self.spent

    def cost(self, loss: Loss) -> tuple[Fraction, Fraction]:
        """What a loss takes from the limit, rounded up, and the delta that it brings along."""
        if isinstance(loss, ApproxDP):
            pure, delta = PureDP(loss.epsilon), loss.delta
            return self.cost(pure)[0], delta
        if isinstance(self.budget, PureDP):
            if isinstance(loss, (PureDP, BoundedRange)):
                return loss.epsilon, Fraction(0)
            raise ParameterTypeError("Filter", "loss", "PureDP or BoundedRange for a pure budget", loss)
        if isinstance(loss, ZCDP):
            return loss.rho, Fraction(0)
        if isinstance(loss, (PureDP, BoundedRange)):
            return loss.to_zcdp().rho, Fraction(0)
        raise ParameterTypeError("Filter", "loss", "PureDP, BoundedRange, ZCDP or ApproxDP", loss)

    def price(self, loss: Loss, parts: Mapping[Loss, int] | None = None, *, delta: Number = 0) -> tuple[Fraction, Fraction]:
        """What a release takes, as a whole or in the parts it is made of: the cheaper of the two.

        parts, delta: the losses that the release is made of, and a delta of its own besides theirs.
        """
        whole = self.cost(loss)
        if parts is None or isinstance(self.budget, PureDP):
            return whole
        in_parts = self._cost_of_parts(parts, delta)
        # without a delta where that is no dearer; else by parts, because a loss with a delta pays for it in full
        return whole if not whole[1] and not in_parts[1] and whole[0] <= in_parts[0] else in_parts

    def allows(self, loss: Loss) -> bool:
        """Whether this loss would still fit."""
        amount, delta = self.cost(loss)
        return self.spent + amount <= self.limit and self.delta_spent + delta <= self.delta_limit

    def admit(self, loss: Loss) -> None:
        """Take the loss from the budget, or raise BudgetExceeded and take nothing."""
        self.take(*self.cost(loss))

    def admit_parts(self, losses: Mapping[Loss, int], *, delta: Number = 0) -> None:
        """Take the losses that one release is made of, and a delta of its own, all or nothing.

        losses: at least one loss, each with how often it occurs, at least once.
        Cheaper than the release's loss as a whole where many small parts make it up and the budget is not pure.
        """
        self.take(*self._cost_of_parts(losses, delta))

    def _cost_of_parts(self, losses: Mapping[Loss, int], delta: Number) -> tuple[Fraction, Fraction]:
        if not isinstance(losses, Mapping) or not losses:
            rule = "a mapping from losses to how often they occur, at least one"
            raise ParameterTypeError("Filter", "losses", rule, losses)
        # a count below 1 would be a refund, and no comparison holds for NaN
        often = {loss: count(times, "losses", "Filter") for loss, times in losses.items()}
        costs = [(times, self.cost(loss)) for loss, times in often.items()]
        own = _not_negative(delta, "delta")
        amount = sum((times * part for times, (part, _) in costs), Fraction(0))
        return amount, sum((times * more for times, (_, more) in costs), own)

    def take(self, amount: Fraction, delta: Fraction) -> None:
        """Take what `price` said, all or nothing."""
        amount, delta = _not_negative(amount, "amount"), _not_negative(delta, "delta")
        if os.getpid() != self._process:
            raise DiscreetError(_FORKED)
        with self._lock:  # two threads must not both see room for one
            if self.spent + amount > self.limit:
                raise BudgetExceeded(requested=amount, remaining=self.remaining)
            if self.delta_spent + delta > self.delta_limit:
                raise BudgetExceeded(requested=delta, remaining=self.delta_limit - self.delta_spent)
            self.spent += amount
            self.delta_spent += delta


def _not_negative(value: Number, name: str) -> Fraction:
    """Read an amount to be taken: less than nothing would be a refund."""
    exact = exact_decimal(value, name, "Filter")
    if exact < 0:
        raise ParameterError("Filter", name, "at least 0", value)
    return exact
