"""How a budget counts: what each release takes from it, and when it is full.

| budget | counts | full when |
|---|---|---|
| PureDP | epsilon | the epsilons add up to more than epsilon |
| ZCDP | rho | the rhos add up to more than rho |
| ApproxDP | coins | the epsilons add up to more than epsilon, *and* the coins to more than N |

An ApproxDP budget can count rho instead of coins, for releases of which only a rho is
known. One rule serves sessions, filters and ledgers, so that all of them admit the
same. What coins are is in `tariff.py`: questions of bounded range r cost (r / unit)^2
of them. Beside them stands the plain sum of epsilons: **admit if the epsilons add up to
at most epsilon, or the coins to at most N**. That is (epsilon, delta)-DP, with no delta
for the "or": docs/proofs/coin-filter.md has both theorems.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self

from discreet.accounting.coin_prices import (
    NOISE,
    Tariff,
    coin_tariff,
    coins_at_least,
    coins_at_most,
)
from discreet.accounting.coin_table import coin_terms
from discreet.accounting.renyi import largest_rho
from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.rationals import Number, choice, count, exact_decimal
from discreet.privacy.cost import Cost, MoneyUnit
from discreet.privacy.loss import (
    NO_LOSS,
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    Loss,
    PureDP,
    is_loss,
)


@dataclass(frozen=True, slots=True)
class Spending:
    """What questions take from a budget together: a sum of epsilons, and a sum of squares.

    squares: coins, or rho, whichever the budget counts.
    None stands for more than any budget has: a question that has no epsilon, or no
    price.
    """

    epsilon: Fraction | None = Fraction(0)
    squares: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)
    """The sum of the deltas that releases have of their own: lists from unknown domains,
    and losses with an epsilon and a delta.
    """

    def __post_init__(self) -> None:
        # less than nothing would be a refund, and no comparison holds for NaN
        for name in ("epsilon", "squares", "delta"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ParameterError(name, "at least 0", value, owner="Spending")

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            _sum(self.epsilon, other.epsilon),
            _sum(self.squares, other.squares),
            self.delta + other.delta,
        )

    def __mul__(self, times: int) -> Spending:
        """What several equal releases take."""
        return Spending(
            None if self.epsilon is None else self.epsilon * times,
            None if self.squares is None else self.squares * times,
            self.delta * times,
        )

    def fits(self, *, epsilon: Fraction, squares: Fraction, delta: Fraction = Fraction(0)) -> bool:
        """True if one of the two sums is within its limit, and the bad events within theirs.

        Everything that was ever admitted has to be in the sums, whichever of the two
        admitted it: docs/proofs/coin-filter.md#5-either-sum-may-fit-spendingfits. A
        limit below 0 stands for a sum that does not count in this budget.

        >>> limits = {"epsilon": Fraction(1), "squares": Fraction(2150)}
        >>> Spending(Fraction(1), None).fits(**limits)
        True
        >>> Spending(Fraction(2), Fraction(2150)).fits(**limits)
        True
        >>> Spending(Fraction(2), Fraction(2151)).fits(**limits)
        False
        """
        plain = self.epsilon is not None and self.epsilon <= epsilon
        squared = self.squares is not None and self.squares <= squares
        return (plain or squared) and self.delta <= delta


def _sum(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other


NOTHING = Spending()
"""What a fresh budget has spent."""
EVERYTHING = Spending(None, None)
"""What a budget has spent that was given for one release as a whole."""


_BUDGETS = (PureDP, ZCDP, ApproxDP)
_NEVER = Fraction(-1)
_LISTS = Fraction(1, 10)
_NO_PARTS = "a mapping from losses to how often each occurs, with at least one"
# the largest rho is found by a search in floats, whose last digits differ between machines
_SEARCHED = 1 + Fraction(1, 10**9)


def share_for_lists(budget: Loss) -> Fraction:
    """The part of delta that is kept for losses with a delta of their own, unless the
    caller says otherwise: a tenth, which costs the coins about one in a hundred.
    """
    return budget.delta * _LISTS if isinstance(budget, ApproxDP) else Fraction(0)


@dataclass(frozen=True, slots=True)
class SpendingRule:
    """What a budget counts. Make it with `BudgetRule.of`, which adds what people read; all of
    it is public.

    budget: what may be spent in total.
    delta_for_losses: the part of its delta for losses that have a delta of their own.
    counting: "epsilon", "rho" or "coins".
    agreed, coin: of a budget that was written down, the coins or the rho that were
        certified when it was opened, and what one coin pays for: it keeps them,
        whatever later versions certify.
    noise: how much Gaussian noise a coin pays for (`tariff.NOISE`); 0 in a budget whose
        coins were certified for questions alone.

    Privacy: releases that are admitted while `after` is not None are together within
        the budget, however each was chosen in view of earlier answers.
        Proof: docs/proofs/coin-filter.md and
            docs/proofs/composition.md#6-the-filter-privacyfilter.
    """

    budget: Loss
    delta_for_losses: Fraction
    counting: MoneyUnit
    agreed: Fraction | None = None
    coin: Fraction | None = None
    noise: Fraction = NOISE

    @classmethod
    def of(
        cls,
        budget: Loss,
        *,
        delta_for_losses: Number | None = None,
        counting: str | None = None,
    ) -> Self:
        """Read what a caller says about a budget."""
        if not is_loss(budget, *_BUDGETS):
            raise ParameterTypeError("budget", "PureDP, ZCDP or ApproxDP", budget)
        if isinstance(budget, ApproxDP) and not budget.delta:
            budget = PureDP(budget.epsilon)
        share = share_for_lists(budget)
        if delta_for_losses is not None:
            share = exact_decimal(delta_for_losses, "delta_for_losses")
        if share and not isinstance(budget, ApproxDP):
            rule = "0 for a budget without a delta"
            raise ParameterError("delta_for_losses", rule, share)
        if isinstance(budget, ApproxDP) and not 0 <= share < budget.delta:
            rule = f"at least 0 and below {budget.delta}"
            raise ParameterError("delta_for_losses", rule, share)
        return cls(budget, share, _read_counting(counting, budget))

    def agree(self) -> Self:
        """Return the rule with its current numbers, to be written down.

        Cost: seconds for coins of an uncommon budget, once.
        """
        if self.counting == "epsilon":
            return self
        coin = self.tariff.unit if self.counting == "coins" else None
        return replace(self, agreed=self.squares_limit, coin=coin)

    def grown(self, budget: Loss, delta_for_losses: Fraction) -> Self:
        """The rule of a larger budget in which what is spent counts as it did: coins
        keep their size.

        Privacy: the coins that were certified for a smaller budget are certified for
            this one; and N coins of any size are N coin^2 / 8 of concentrated DP.
        """
        larger = replace(self, budget=budget, delta_for_losses=delta_for_losses, agreed=None)
        if self.counting == "epsilon" or self.agreed is None:
            return larger
        squares = largest_squares = self.agreed
        if isinstance(budget, ZCDP):
            squares = budget.rho
        elif self.counting == "rho":
            squares = largest_rho(larger._epsilon, larger._delta_for_coins)
        elif self.coin is not None:
            fresh = replace(larger, coin=None)
            if fresh.tariff.unit == self.coin:
                squares = fresh.squares_limit
            else:
                rho = largest_rho(larger._epsilon, larger._delta_for_coins)
                squares = Fraction(math.floor(8 * rho / self.coin**2))
        return replace(larger, agreed=max(squares, largest_squares))

    @property
    def is_possible(self) -> bool:
        """True if the coins, or the rho, that were written down can have been certified.

        A ledger's budget keeps its number, and a role that may write to the ledger could
        have made one up. Coins of another size than today's are compared by what they
        pay for, which hardly depends on their size; hence the twentieth.
        """
        if self.agreed is None:
            return True
        if isinstance(self.budget, ZCDP):
            return self.agreed <= self.budget.rho
        key = (self._epsilon, self._delta_for_coins)
        if self.coin is None:
            return self.agreed <= largest_rho(*key) * _SEARCHED
        if not self.coin > 0 or not 0 <= self.noise <= NOISE:
            return False
        today = replace(self, agreed=None, coin=None).tariff.unit
        most = Fraction(coins_at_most(*key))
        if self.coin == today:
            return self.agreed <= most
        return self.agreed * self.coin**2 <= most * today**2 * Fraction(21, 20)

    # --- what a release takes

    def spending(self, cost: Cost) -> Spending:
        """What a release takes, as a whole or in the parts it is made of: the cheaper.

        A loss with a delta is pure DP but for an event of that probability, which is
        taken from the share for losses.
        """
        if not _is_plain(cost):
            return self._spending(cost)
        parts = None if cost.parts is None else tuple(cost.parts.items())
        return _remembered(self, cost.loss, parts, cost.delta)

    def _spending(self, cost: Cost) -> Spending:
        whole = self._of_loss(cost.loss)
        if cost.parts is None or self.counting == "epsilon":
            return whole
        parts = self.of_parts(cost.parts, cost.delta)
        if whole.delta or parts.delta:
            # by parts, because a loss with a delta pays for it in full
            return parts
        return Spending(_least(whole.epsilon, parts.epsilon), _least(whole.squares, parts.squares))

    def of_parts(self, parts: Mapping[Loss, int], delta: Number) -> Spending:
        """What the parts of a release take together, and a delta of its own."""
        if not isinstance(parts, Mapping) or not parts:
            raise ParameterTypeError("losses", _NO_PARTS, parts)
        own = exact_decimal(delta, "delta")
        if own < 0:
            raise ParameterError("delta", "at least 0", delta)
        total = Spending(delta=own)
        for loss, times in parts.items():
            # a count below 1 would be a refund, and no comparison holds for NaN
            total += self._of_loss(loss) * count(times, "losses")
        return total

    def _of_loss(self, loss: Loss) -> Spending:
        if not is_loss(loss):
            raise ParameterTypeError("loss", "a loss such as PureDP(0.1)", loss)
        if isinstance(loss, ApproxDP):
            pure = self._of_loss(PureDP(loss.epsilon))
            return Spending(pure.epsilon, pure.squares, pure.delta + loss.delta)
        if isinstance(loss, Composed):
            return self._of_composed(loss)
        if loss == NO_LOSS:
            return NOTHING
        epsilon, squares = _prices(self, loss)
        if epsilon is None and (squares is None or self.counting == "epsilon"):
            raise ParameterTypeError("loss", *self._wanted(), loss)
        return Spending(epsilon, squares)

    def _of_composed(self, loss: Composed) -> Spending:
        """What several releases take: the sum, or in coins what Gaussian noise takes that is
        as much as all of them together.
        """
        parts = self.of_parts(loss.losses, loss.delta)
        if self.counting != "coins":
            return parts
        # docs/proofs/composition.md#12-gaussian-dp
        gaussian = Composed(loss.losses).to_gaussian_dp()
        coins = None if gaussian is None else self.tariff.price(gaussian)
        together = None if coins is None else Fraction(coins)
        return replace(parts, squares=_least(parts.squares, together))

    def _wanted(self) -> tuple[str]:
        noise = self.counting == "coins" and self.noise
        also = ", BoundedRange or GaussianDP" if noise else " or BoundedRange"
        return (f"PureDP{also} for a budget that counts {self.counting}",)

    def squares_of(self, loss: Loss) -> Fraction | None:
        """The coins or the rho of a loss; None if it has none."""
        if self.counting == "coins":
            tariff = self.tariff
            prices = (tariff.price(each) for each in (loss, *loss.implied()))
            found = [price for price in prices if price is not None]
            return Fraction(min(found)) if found else None
        rhos = [each.rho for each in (loss, *loss.implied()) if isinstance(each, ZCDP)]
        return min(rhos) if rhos else None

    # --- whether it fits

    def after(self, spent: Spending, spending: Spending, loss: Loss | None) -> Spending | None:
        """What is spent with one release more; None if it does not fit.

        loss: the release as a whole. An untouched budget admits whatever is within it
            by itself, and has nothing left then: nobody has seen an answer before it.
        """
        total = spent + spending
        if self.fits(total):
            return total
        alone = spent == NOTHING and loss is not None and loss <= self.budget
        return EVERYTHING if alone else None

    def fits(self, total: Spending) -> bool:
        """True if one of the two sums is within its limit, and the deltas within theirs."""
        limits = {"epsilon": self.epsilon_limit, "delta": self.delta_for_losses}
        if self.counting != "coins" or self.agreed is not None:
            return total.fits(squares=self.squares_limit, **limits)
        # The game takes seconds, and most of the time its neighbours know the answer.
        key = (self._epsilon, self._delta_for_coins)
        if total.fits(squares=Fraction(coins_at_least(*key)), **limits):
            return True
        if not total.fits(squares=Fraction(coins_at_most(*key)), **limits):
            return False
        return total.fits(squares=self.squares_limit, **limits)

    def has(self, squares: Fraction) -> bool:
        """True if the whole budget is at least this many coins, or this rho."""
        return self.fits(Spending(None, squares))

    @property
    def epsilon_limit(self) -> Fraction:
        """The largest sum of epsilons; below 0 where it does not count."""
        return _NEVER if isinstance(self.budget, ZCDP) else self._epsilon

    @property
    def squares_limit(self) -> Fraction:
        """The largest sum of coins or rho; below 0 where it does not count.

        The coins of a budget that is not a common one take seconds, once.
        """
        if self.agreed is not None:
            return self.agreed
        if isinstance(self.budget, ZCDP):
            return self.budget.rho
        if self.counting == "epsilon":
            return _NEVER
        key = (self._epsilon, self._delta_for_coins)
        if self.counting == "rho":
            return largest_rho(*key)
        return Fraction(coin_terms(*key).coins)

    @property
    def tariff(self) -> Tariff:
        """What questions cost in coins, in a budget with a delta."""
        if self.coin is not None:
            return Tariff(self.coin, noise=self.noise)
        return coin_tariff(self._epsilon, self._delta_for_coins)

    @property
    def _epsilon(self) -> Fraction:
        assert isinstance(self.budget, (PureDP, ApproxDP))
        return self.budget.epsilon

    @property
    def _delta_for_coins(self) -> Fraction:
        assert isinstance(self.budget, ApproxDP)
        return self.budget.delta - self.delta_for_losses


def _read_counting(counting: str | None, budget: Loss) -> MoneyUnit:
    allowed: dict[type[Loss], tuple[MoneyUnit, ...]] = {
        PureDP: ("epsilon",),
        ZCDP: ("rho",),
        ApproxDP: ("coins", "rho"),
    }
    units = allowed[type(budget)]
    if counting is None:
        return units[0]
    choice(counting, units, "counting")
    return next(unit for unit in units if unit == counting)


@lru_cache(maxsize=1024)
def _prices(rule: SpendingRule, loss: Loss) -> tuple[Fraction | None, Fraction | None]:
    """The epsilon and the squares of a loss in a budget, computed once: both are public, and
    to convert one kind of loss into another takes longer than all the rest of a charge.
    """
    return _epsilon_of(loss), rule.squares_of(loss)


def _is_plain(cost: Cost) -> bool:
    """True if a cost can be remembered. True would be found where 1 was kept, and has to be
    refused each time.
    """
    if type(cost) is not Cost or type(cost.delta) is not Fraction:
        return False
    if cost.parts is None:
        return True
    return type(cost.parts) is dict and set(map(type, cost.parts.values())) <= {int}


@lru_cache(maxsize=1024, typed=True)
def _remembered(
    rule: SpendingRule,
    loss: Loss,
    parts: tuple[tuple[Loss, int], ...] | None,
    delta: Fraction,
) -> Spending:
    """What a release takes, computed once for the same cost: all of it is public."""
    return rule._spending(Cost(loss, None if parts is None else dict(parts), delta))


def _epsilon_of(loss: Loss) -> Fraction | None:
    """The smallest epsilon of pure DP that a loss has; None if it has none."""
    pure = [
        each.epsilon
        for each in (loss, *loss.implied())
        if isinstance(each, (PureDP, BoundedRange))
        or (isinstance(each, ApproxDP) and not each.delta)
    ]
    return min(pure) if pure else None


def _least(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    known: Iterable[Fraction] = (each for each in (one, other) if each is not None)
    return min(known, default=None)
