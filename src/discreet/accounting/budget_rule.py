"""How a budget counts: what each release takes from it, when it is full, and what is left.

| budget | counts | full when |
|---|---|---|
| PureDP | epsilon | the epsilons add up to more than epsilon |
| ZCDP | rho | the rhos add up to more than rho |
| ApproxDP | coins | the epsilons add up to more than epsilon, *and* the coins to more than N |

An ApproxDP budget can count rho instead of coins, for releases of which only a rho is
known. One rule serves sessions, filters and ledgers, so that all of them admit the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.coins import coin_terms
from discreet.accounting.renyi import largest_range, largest_rho
from discreet.accounting.spending import (
    EVERYTHING,
    NOTHING,
    Spending,
    Tariff,
    coin_tariff,
    coins_at_least,
    coins_at_most,
)
from discreet.errors import BudgetExceededError, ParameterError, ParameterTypeError
from discreet.exact.rationals import Number, choice, count, exact_decimal, positive
from discreet.privacy.cost import Amount, Cost, MoneyUnit, about, round_number
from discreet.privacy.loss import NO_LOSS, ZCDP, ApproxDP, BoundedRange, Loss, PureDP

_NEVER = Fraction(-1)
_LISTS = Fraction(1, 10)
_NO_PARTS = "a mapping from losses to how often they occur, at least one"
# the largest rho is found by a search in floats, whose last digits differ between machines
_SEARCHED = 1 + Fraction(1, 10**9)


def share_for_lists(budget: Loss) -> Fraction:
    """The part of delta that is kept for losses with a delta of their own, unless the
    caller says otherwise: a tenth, which costs the coins about one in a hundred.
    """
    return budget.delta * _LISTS if isinstance(budget, ApproxDP) else Fraction(0)


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """What a budget counts. Make it with `BudgetRule.of`; all of it is public.

    budget: what may be spent in total.
    delta_for_losses: the part of its delta for losses that have a delta of their own.
    counting: "epsilon", "rho" or "coins".
    agreed, coin: of a budget that was written down, the coins or the rho that were
        certified when it was opened, and what one coin pays for: it keeps them, whatever
        later versions certify.

    Privacy: releases that are admitted while `after` is not None are together within
        the budget, however each was chosen in view of earlier answers.
        Proof: docs/proofs/coin-filter.md and docs/proofs/composition.md#6-the-filter-privacyfilter.
    """

    budget: Loss
    delta_for_losses: Fraction
    counting: MoneyUnit
    agreed: Fraction | None = None
    coin: Fraction | None = None

    @classmethod
    def of(
        cls,
        budget: Loss,
        *,
        delta_for_losses: Number | None = None,
        counting: str | None = None,
        owner: str = "PrivacyFilter",
    ) -> BudgetRule:
        """Read what a caller says about a budget."""
        if isinstance(budget, ApproxDP) and not budget.delta:
            budget = PureDP(budget.epsilon)
        if not isinstance(budget, (PureDP, ZCDP, ApproxDP)):
            raise ParameterTypeError(owner, "budget", "PureDP, ZCDP or ApproxDP", budget)
        share = share_for_lists(budget)
        if delta_for_losses is not None:
            share = exact_decimal(delta_for_losses, "delta_for_losses", owner)
        if share and not isinstance(budget, ApproxDP):
            rule = "0 for a budget without a delta"
            raise ParameterError(owner, "delta_for_losses", rule, share)
        if isinstance(budget, ApproxDP) and not 0 <= share < budget.delta:
            rule = f"at least 0 and below {budget.delta}"
            raise ParameterError(owner, "delta_for_losses", rule, share)
        return cls(budget, share, _read_counting(counting, budget, owner))

    def agree(self) -> BudgetRule:
        """The same rule with its numbers of today, to be written down.

        Cost: seconds for coins of an uncommon budget, once.
        """
        if self.counting == "epsilon":
            return self
        coin = self._tariff.unit if self.counting == "coins" else None
        return replace(self, agreed=self.squares_limit, coin=coin)

    def grown(self, budget: Loss, delta_for_losses: Fraction) -> BudgetRule:
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
            if fresh._tariff.unit == self.coin:
                squares = fresh.squares_limit
            else:
                rho = largest_rho(larger._epsilon, larger._delta_for_coins)
                squares = Fraction(math.floor(8 * rho / self.coin**2))
        return replace(larger, agreed=max(squares, largest_squares))

    @property
    def is_possible(self) -> bool:
        """Whether the coins, or the rho, that were written down can have been certified.

        A ledger's budget keeps its number, and whoever may write to the ledger could have
        made one up. Coins of another size than today's are compared by what they pay for,
        which hardly depends on their size; hence the twentieth.
        """
        if self.agreed is None:
            return True
        if isinstance(self.budget, ZCDP):
            return self.agreed <= self.budget.rho
        key = (self._epsilon, self._delta_for_coins)
        if self.coin is None:
            return self.agreed <= largest_rho(*key) * _SEARCHED
        if not self.coin > 0:
            return False
        today = replace(self, agreed=None, coin=None)._tariff.unit
        most = Fraction(coins_at_most(*key))
        if self.coin == today:
            return self.agreed <= most
        return self.agreed * self.coin**2 <= most * today**2 * Fraction(21, 20)

    # --- what a release takes

    def spending(self, cost: Cost, owner: str = "PrivacyFilter") -> Spending:
        """What a release takes, as a whole or in the parts it is made of: the cheaper.

        A loss with a delta is pure DP but for an event of that probability, which is
        taken from the share for losses.
        """
        whole = self._of_loss(cost.loss, owner)
        if cost.parts is None or self.counting == "epsilon":
            return whole
        parts = self.of_parts(cost.parts, cost.delta, owner)
        if whole.delta or parts.delta:
            # by parts, because a loss with a delta pays for it in full
            return parts
        return Spending(_least(whole.epsilon, parts.epsilon), _least(whole.squares, parts.squares))

    def of_parts(
        self, parts: Mapping[Loss, int], delta: Number, owner: str = "PrivacyFilter"
    ) -> Spending:
        """What the parts of a release take together, and a delta of its own."""
        if not isinstance(parts, Mapping) or not parts:
            raise ParameterTypeError(owner, "losses", _NO_PARTS, parts)
        own = exact_decimal(delta, "delta", owner)
        if own < 0:
            raise ParameterError(owner, "delta", "at least 0", delta)
        total = Spending(delta=own)
        for loss, times in parts.items():
            # a count below 1 would be a refund, and no comparison holds for NaN
            total += self._of_loss(loss, owner) * count(times, "losses", owner)
        return total

    def _of_loss(self, loss: Loss, owner: str) -> Spending:
        if isinstance(loss, ApproxDP):
            pure = self._of_loss(PureDP(loss.epsilon), owner)
            return Spending(pure.epsilon, pure.squares, pure.delta + loss.delta)
        if loss == NO_LOSS:
            return NOTHING
        if not isinstance(loss, Loss):
            raise ParameterTypeError(owner, "loss", "PureDP, BoundedRange, ZCDP or ApproxDP", loss)
        epsilon, squares = _epsilon_of(loss), self._squares_of(loss)
        if epsilon is None and (squares is None or self.counting == "epsilon"):
            raise ParameterTypeError(owner, "loss", *self._wanted(), loss)
        return Spending(epsilon, squares)

    def _wanted(self) -> tuple[str]:
        return (f"PureDP or BoundedRange for a budget that counts {self.counting}",)

    def _squares_of(self, loss: Loss) -> Fraction | None:
        """The coins or the rho of a loss; None if it has none."""
        if self.counting == "coins":
            tariff = self._tariff
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
        """Whether one of the two sums is within its limit, and the deltas within theirs."""
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

    # --- what people read

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

    def question(self, epsilon: Number, owner: str = "PrivacyFilter") -> Loss:
        """The loss of a question of this epsilon, with the mechanism that suits the budget."""
        kind = PureDP if self.counting == "epsilon" else BoundedRange
        exact = exact_decimal(epsilon, "epsilon", owner)
        return kind(positive(exact, epsilon, "epsilon", owner))

    def questions_left(self, spent: Spending, loss: Loss | Cost) -> int:
        """How many more questions of one loss, or one cost, fit."""
        cost = loss if isinstance(loss, Cost) else Cost(loss)
        return self.times_left(spent, self.spending(cost, "questions_left"), cost.loss)

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
        """The error that says what does not fit, and what would.

        whose: whose budget it is. What is left is rounded, because in a shared budget
            it tells what others have spent.
        """
        budget = (
            f"The budget of {whose}, {self.budget!r}," if whose else f"The budget {self.budget!r}"
        )
        if spent.delta + spending.delta > self.delta_for_losses:
            return BudgetExceededError(
                f"{budget} keeps a delta of {about(self.delta_for_losses)} for losses that have "
                f"one, of which {about(self.delta_for_losses - spent.delta)} is left. "
                f"Requested {about(spending.delta)}."
            )
        return BudgetExceededError(
            f"{budget} has {self.room(spent)}. Requested {self.asked(spending)}."
        )

    def room(self, spent: Spending) -> str:
        """What is left, in questions: room for 3 more of epsilon 0.1, or one of 0.17."""
        largest = self.largest(spent)
        if not largest:
            return "no room for another question"
        small = round_number(largest)
        often = self.questions_left(spent, self.question(small))
        if often <= 1:
            return f"room for one more question, of epsilon {about(largest)} at most"
        return (
            f"room for {often} more questions of epsilon {about(small)}, or one of {about(largest)}"
        )

    def asked(self, spending: Spending) -> str:
        """What a release takes, for people to read."""
        if spending.epsilon is not None:
            return f"epsilon {about(spending.epsilon)}"
        return str(self._amount(spending.squares or Fraction(0), self.counting))

    def _in_squares(self, spent: Spending) -> bool:
        """Whether the squares are what people read: not where only the plain sum has room."""
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
            largest = self._tariff.largest(int(squares))
            return Fraction(0) if largest is None else largest.epsilon
        return largest_range(squares)

    def _amount(self, value: Fraction, unit: MoneyUnit) -> Amount:
        coin = self._tariff.unit if unit == "coins" else None
        return Amount(value, unit, coin)

    @property
    def _tariff(self) -> Tariff:
        if self.coin is not None:
            return Tariff(self.coin)
        return coin_tariff(self._epsilon, self._delta_for_coins)

    @property
    def _epsilon(self) -> Fraction:
        assert isinstance(self.budget, (PureDP, ApproxDP))
        return self.budget.epsilon

    @property
    def _delta_for_coins(self) -> Fraction:
        assert isinstance(self.budget, ApproxDP)
        return self.budget.delta - self.delta_for_losses


def _read_counting(counting: str | None, budget: Loss, owner: str) -> MoneyUnit:
    allowed: dict[type[Loss], tuple[MoneyUnit, ...]] = {
        PureDP: ("epsilon",),
        ZCDP: ("rho",),
        ApproxDP: ("coins", "rho"),
    }
    units = allowed[type(budget)]
    if counting is None:
        return units[0]
    choice(counting, units, "counting", owner)
    return next(unit for unit in units if unit == counting)


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


def _times(left: Fraction, each: Fraction | None) -> int:
    return int(left // each) if each else 0
