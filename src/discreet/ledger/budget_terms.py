"""What was agreed when a budget was opened, and what is spent of it, as it is written down.

Sums on disk are whole numbers: coins, and units of 10^-30 of epsilon, rho and delta. Charges are
rounded up and budgets down, so rounding never gives privacy away. Thirty digits are far below any
charge: the rho of a question with epsilon = 10^-9 is about 10^-19.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from discreet.accounting.budget_rules import Spending
from discreet.accounting.privacy_filter import BudgetRule
from discreet.errors import ParameterError, ParameterTypeError, called_as
from discreet.exact.rationals import Number
from discreet.ledger.chain import canonical
from discreet.ledger.subject import Subject, read_subject
from discreet.privacy.cost import Cost
from discreet.privacy.loss import ApproxDP, Loss, loss_from_dict

UNITS = 10**30
"""How many units there are in an epsilon, a rho or a delta of 1."""
MOST = 10**60
"""The largest amount, in units: far above anything that is still private."""
MORE = "more"
"""What stands on disk for more than any budget has."""
_WHOLE = re.compile("[0-9]{1,4000}")
_NUMBER = re.compile("[0-9]{1,4000}(/[0-9]{1,4000})?")


@dataclass(frozen=True, slots=True)
class Sums:
    """What is charged or spent, in whole numbers; None is more than any budget has.

    squares: coins, or units of rho: what the budget counts.
    """

    epsilon: int | None = 0
    squares: int | None = 0
    delta: int = 0

    def to_texts(self) -> tuple[str, str, str]:
        """The sums as text, because JSON numbers are often floats."""
        return _written(self.epsilon), _written(self.squares), str(self.delta)

    @classmethod
    def read(cls, epsilon: str, squares: str, delta: str) -> Sums:
        """What `to_texts` wrote; anything else raises, and so do sums below 0."""
        return cls(_read_sum(epsilon), _read_sum(squares), _read_whole(delta))

    @property
    def is_a_charge(self) -> bool:
        """True if both sums grow by it; otherwise it would be free."""
        return self.epsilon != 0 and self.squares != 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            _sum(self.epsilon, other.epsilon),
            _sum(self.squares, other.squares),
            self.delta + other.delta,
        )

    def fits(self, limits: Limits) -> bool:
        """`Spending.fits`, in whole numbers."""
        plain = self.epsilon is not None and self.epsilon <= limits.epsilon
        squared = self.squares is not None and self.squares <= limits.squares
        return (plain or squared) and self.delta <= limits.delta


NOTHING = Sums()


class Limits(NamedTuple):
    """What the sums of a budget may be; below 0 where a sum does not count.

    A whole number is within a limit exactly if it is within the limit rounded down.
    """

    epsilon: int
    squares: int
    delta: int


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What was agreed when a budget was opened.

    windows: whether each window of the data has this budget for itself.
    rule: how it counts, with the number and the size of its coins, or its rho.
    subject: what the budget is about.
    """

    budget: Loss
    windows: bool
    rule: BudgetRule
    subject: Subject

    def to_text(self) -> str:
        """The terms as the chain and the tables hold them."""
        rule = self.rule
        terms: dict[str, Any] = {
            "budget": self.budget.to_dict(),
            "delta_for_losses": str(rule.delta_for_losses),
            "windows": self.windows,
            "counting": rule.counting,
        }
        if rule.agreed is not None:
            terms["squares"] = str(math.floor(rule.agreed * self.scale))
        if rule.coin is not None:
            terms["coin"] = str(rule.coin)
            if rule.noise:
                terms["noise"] = str(rule.noise)
        return canonical(terms | self.subject.to_dict())

    @cached_property
    def scale(self) -> int:
        """How many whole numbers on disk are one coin, or a rho of 1."""
        return scale_of(self.tariff)

    @cached_property
    def limits(self) -> Limits:
        """What the rule allows. It may take seconds where coins are not agreed yet."""
        rule = self.rule
        return Limits(
            math.floor(rule.epsilon_limit * UNITS),
            math.floor(rule.squares_limit * self.scale),
            math.floor(rule.delta_for_losses * UNITS),
        )

    @cached_property
    def tariff(self) -> str:
        """What prices depend on: epsilon, rho, or coins: their size, and their noise."""
        rule = self.rule
        if rule.coin is None:
            return rule.counting
        coins = f"{rule.counting} of {rule.coin}"
        return f"{coins}, noise {rule.noise}" if rule.noise else coins

    def price(self, cost: Cost, owner: str) -> Sums:
        """What a release costs, rounded up."""
        if cost.parts is None:
            return self._price_of_whole(cost.loss, owner)
        return self._price(cost, owner)

    @cached_property
    def _price_of_whole(self) -> Callable[[Loss, str], Sums]:
        """The price of a loss as a whole: it is public, and the same every time."""
        return lru_cache(maxsize=1024)(lambda loss, owner: self._price(Cost(loss), owner))

    def _price(self, cost: Cost, owner: str) -> Sums:
        with called_as(owner):
            sums = self._sums(self.rule.spending(cost))
        if max(sums.epsilon or 0, sums.squares or 0, sums.delta) > MOST:
            raise ParameterError("loss", "at most 1e30", cost.loss, owner=owner)
        if not sums.is_a_charge:
            raise ParameterError("loss", "more than nothing", cost.loss, owner=owner)
        return sums

    def after(self, spent: Sums, charge: Sums, loss: Loss) -> Sums | None:
        """What is spent after a charge; None if it does not fit."""
        sums = spent + charge
        if sums.fits(self.limits):
            return sums
        # the rule says the same, slowly, and what an untouched budget admits
        total = self.rule.after(self.spending(spent), self.spending(charge), loss)
        return None if total is None else self._sums(total)

    def spending(self, sums: Sums) -> Spending:
        """Sums as the rule counts them, exactly."""
        return Spending(
            _exact(sums.epsilon, UNITS),
            _exact(sums.squares, self.scale),
            Fraction(sums.delta, UNITS),
        )

    def _sums(self, spending: Spending) -> Sums:
        """What the rule counts, rounded up to whole numbers."""
        return Sums(
            _up(spending.epsilon, UNITS),
            _up(spending.squares, self.scale),
            math.ceil(spending.delta * UNITS),
        )

    def agrees_with(self, new: Terms, stated: frozenset[str]) -> bool:
        """True if these are the terms that a caller asks for.

        stated: which of "delta_for_losses" and "counting" the caller named. The others may
            differ: another version chose them.
        """
        same = (self.budget, self.windows, self.subject) == (new.budget, new.windows, new.subject)
        rule, other = self.rule, new.rule
        return same and all(getattr(rule, name) == getattr(other, name) for name in stated)

    def grows_to(self, larger: Terms) -> bool:
        """True if another budget is of the same kind, and nowhere smaller."""
        rule, other = self.rule, larger.rule
        if (type(rule.budget), rule.counting) != (type(other.budget), other.counting):
            return False
        if (self.windows, self.subject) != (larger.windows, larger.subject):
            return False
        if rule.coin == other.coin and (rule.agreed or 0) > (other.agreed or 0):
            return False
        pairs = zip(_parts(rule), _parts(other), strict=True)
        return all(before <= after for before, after in pairs)


def _parts(rule: BudgetRule) -> list[Fraction]:
    """The numbers of a budget, and how its delta is divided."""
    budget, losses = rule.budget, rule.delta_for_losses
    rest = [budget.delta - losses] if isinstance(budget, ApproxDP) else []
    return [*budget.numbers, losses, *rest]


def scale_of(tariff: str) -> int:
    """How many whole numbers on disk are one coin, or a rho of 1."""
    return 1 if tariff.startswith("coins") else UNITS


def read_new_terms(
    budget: Loss,
    windows: bool,
    subject: Subject,
    owner: str,
    delta_for_losses: Number | None = None,
    counting: str | None = None,
) -> Terms:
    """The terms of a budget as a caller states them. Its coins are not certified yet."""
    if not isinstance(windows, bool):
        raise ParameterTypeError("windows", "True or False", windows, owner=owner)
    with called_as(owner):
        rule = BudgetRule.of(budget, delta_for_losses=delta_for_losses, counting=counting)
    number = rule.budget.numbers[0]
    if not 1 <= number * UNITS <= MOST:
        raise ParameterError("budget", "at least 1e-30 and at most 1e30", budget, owner=owner)
    return Terms(budget=budget, windows=windows, rule=rule, subject=subject)


def agree(new: Terms) -> Terms:
    """The terms with the coins, or the rho, that are certified today: for coins of an uncommon
    budget that takes seconds, once.
    """
    return replace(new, rule=_down(new.rule.agree()))


def grow(terms: Terms, budget: Loss, owner: str) -> Terms:
    """The terms of a larger budget, before its coins are certified. As large a share of delta as
    before is for losses.
    """
    rule = terms.rule
    if type(terms.budget) is not type(budget) or not isinstance(budget, Loss):
        raise ParameterError("budget", f"a {terms.budget.kind} as before", budget, owner=owner)
    if isinstance(budget, ApproxDP) and bool(budget.delta) != (rule.counting != "epsilon"):
        kind = "with a delta, or without one, as before"
        raise ParameterError("budget", kind, budget, owner=owner)
    share = Fraction(0)
    if isinstance(budget, ApproxDP) and isinstance(terms.budget, ApproxDP) and terms.budget.delta:
        share = budget.delta * rule.delta_for_losses / terms.budget.delta
    return read_new_terms(budget, terms.windows, terms.subject, owner, share, rule.counting)


def keep_coins(terms: Terms, larger: Terms) -> Terms:
    """The terms of a larger budget in which what was spent before counts as it did."""
    rule = terms.rule.grown(larger.rule.budget, larger.rule.delta_for_losses)
    return replace(larger, rule=_down(rule))


@lru_cache(maxsize=1024)
def read_terms(text: str) -> Terms:
    """What `Terms.to_text` wrote; something else raises."""
    terms: Mapping[str, Any] = json.loads(text)
    budget = loss_from_dict(terms["budget"])
    stated = BudgetRule.of(
        budget, delta_for_losses=_read_number(terms["delta_for_losses"]), counting=terms["counting"]
    )
    if not isinstance(terms["windows"], bool):
        raise TypeError("another kind")
    coin = _read_number(terms["coin"]) if stated.counting == "coins" else None
    agreed = None
    if stated.counting != "epsilon":
        agreed = Fraction(_read_whole(terms["squares"]), UNITS if coin is None else 1)
    # coins that were certified before noise was a move do not pay for it
    noise = _read_number(terms.get("noise", "0"))
    noise = noise if coin is not None else stated.noise
    rule = replace(stated, agreed=agreed, coin=coin, noise=noise)
    if not rule.is_possible:
        raise ValueError("more than anybody can have certified")
    return Terms(budget=budget, windows=terms["windows"], rule=rule, subject=read_subject(terms))


def _down(rule: BudgetRule) -> BudgetRule:
    """The rule with its number of coins, or its rho, as it is written down."""
    if rule.agreed is None:
        return rule
    scale = UNITS if rule.coin is None else 1
    return replace(rule, agreed=Fraction(math.floor(rule.agreed * scale), scale))


def _up(value: Fraction | None, scale: int) -> int | None:
    return None if value is None else math.ceil(value * scale)


def _exact(value: int | None, scale: int) -> Fraction | None:
    return None if value is None else Fraction(value, scale)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _written(value: int | None) -> str:
    return MORE if value is None else str(value)


def _read_sum(text: str) -> int | None:
    return None if text == MORE else _read_whole(text)


def _read_whole(text: str) -> int:
    if not isinstance(text, str) or not _WHOLE.fullmatch(text):
        raise ValueError("not a whole number")
    return int(text)


def _read_number(text: str) -> Fraction:
    # no exponents, which could fill the memory
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    return Fraction(text)
