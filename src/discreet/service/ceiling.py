"""The most that one question may cost, as a manifest says it."""

from __future__ import annotations

from dataclasses import dataclass

from discreet import ApproxDP, Loss, PureDP
from discreet.accounting import Cost, PrivacyFilter
from discreet.service.problems import too_expensive


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that one question may cost: a loss, or where the budget counts squares, as much
    as a selection of its epsilon.

    largest: the loss.
    budget: the budget that pays.
    """

    largest: Loss
    budget: Loss

    def require(self, cost: Cost) -> None:
        """Refuse a question that costs more."""
        if not (cost.loss <= self.largest or self._is_within_price(cost)):
            raise too_expensive(f"One question may cost at most {self.largest!r}.")

    def _is_within_price(self, cost: Cost) -> bool:
        if not isinstance(self.largest, (PureDP, ApproxDP)):
            return False
        rule = PrivacyFilter(self.budget).rule
        most = rule.spending(Cost(rule.question(self.largest.epsilon))).squares
        taken, delta = rule.spending(cost), getattr(self.largest, "delta", 0)
        if most is None or taken.squares is None:
            return False
        return taken.squares <= most and taken.delta <= delta
