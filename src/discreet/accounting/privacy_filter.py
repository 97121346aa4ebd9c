"""A filter for fully adaptive queries: each loss may depend on all earlier answers, and
the total still holds.

Optimal composition formulas are *not* filters: stopping when they say "full" can exceed
the budget by choosing the next loss in view of the answers (docs/proofs/composition.md
has a counterexample, and a test computes it). What adds up under any adaptive choice is
epsilon, rho, and coins; `BudgetRule` says which of them a budget counts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import NoReturn, SupportsIndex

from discreet.accounting.budget_rule import BudgetRule
from discreet.accounting.spending import NOTHING, Spending
from discreet.errors import DiscreetError
from discreet.exact.rationals import Number, exact_decimal
from discreet.privacy.cost import Amount, Cost
from discreet.privacy.loss import Loss

_COPIED = (
    "A PrivacyFilter is one budget, and a copy would be a second one. Share it, or use a Ledger."
)
_FORKED = (
    "This budget belongs to the process that made it: after a fork both would spend what is left. "
    "Make a new one in the child from a part of the budget, or use a Ledger."
)


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

    def questions_left(self, *, epsilon: Number) -> int:
        """How many more questions of this epsilon fit, with the mechanism that suits the budget.

        That is bounded range where squares count, as the exponential mechanism has it,
        and pure DP else.
        """
        owner = "PrivacyFilter.questions_left"
        return self.questions_left_of(self.rule.question(epsilon, owner))

    def questions_left_of(self, loss: Loss | Cost) -> int:
        """How many more releases of this loss fit."""
        return self.rule.questions_left(self._spent, loss)

    def room(self) -> str:
        """What is left, in questions: room for 3 more of epsilon 0.1, or one of 0.17."""
        return self.rule.room(self._spent)

    def allows(self, loss: Loss | Cost) -> bool:
        """Whether this loss would still fit."""
        return self._after(_cost(loss)) is not None

    def admit(self, loss: Loss | Cost) -> None:
        """Take the loss from the budget, or raise BudgetExceededError and take nothing."""
        self._take(_cost(loss))

    def admit_parts(self, losses: Mapping[Loss, int], *, delta: Number = 0) -> None:
        """Take the losses that one release is made of, and a delta of its own, all or nothing.

        losses: at least one loss, each with how often it occurs, at least once.
        Cheaper than the release's loss as a whole where many small parts make it up and
        the budget is not pure.
        """
        own = exact_decimal(delta, "delta", "PrivacyFilter")
        self._take_spending(self.rule.of_parts(losses, own), None)

    def _after(self, cost: Cost) -> Spending | None:
        return self.rule.after(self._spent, self.rule.spending(cost), cost.loss)

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
    return loss if isinstance(loss, Cost) else Cost(loss)
