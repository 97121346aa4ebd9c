"""Coins, the money for questions that are chosen in view of answers: what each question costs.

Fix a unit. A question of bounded range r costs (r / unit)^2 coins, rounded up to a
price on the menu; one of pure DP epsilon has the range 2 epsilon, and one of logistic
DP is paid as the bounded ranges that it is made of. Gaussian noise with two
distributions that are mu apart costs (2 mu / (NOISE * unit))^2 coins. Questions are
admitted while their coins add up to at most N. The number N for a budget (epsilon,
delta) is the largest for which the value of the game between an adversary and the coins
(coin_game.py) is certainly at most delta; coins.py has it. docs/proofs/coin-filter.md
has the theorem.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.renyi import largest_rho
from discreet.errors import ParameterError, called_as
from discreet.exact.normal import square_root_down
from discreet.exact.rationals import round_down
from discreet.privacy.loss import BoundedRange, GaussianDP, LogisticDP, Loss, PureDP

MENU = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 44, 49, 56),
    *(64, 72, 81, 90, 100, 110, 121, 132, 144, 156, 169, 182, 196, 210, 225, 240, 256, 276),
    *(300, 324, 352, 380, 400, 440, 484, 528, 576, 625, 700, 768, 832, 900, 1000, 1100, 1225),
    *(1350, 1475, 1600),
)
"""The prices that a question can have: all small ones, then squares of round numbers and about
three to eight between a number and its double."""

NOISE = Fraction(97, 100)
"""How much Gaussian noise a coin pays for: two normal distributions that are NOISE * unit / 2
apart. With 1, noise would cost as much of a coin as the range with the same variance of the loss,
and some budgets would have fewer coins; with this they have as many as without noise."""

STEPS = 24
"""Ranges are whole multiples of the unit divided by this, so that they fit the grid."""

# how many units an epsilon may have: the first number with few enough coins is taken
_PARTS = (100, 50, 20, 10)
_MOST_COINS = 4000
_LARGEST_EPSILON = 64
# into how many halves a logistic loss is cut at most: the largest price pays for 40 units, and
# halves of less than a unit cost a coin each
_HALVINGS = 7


def paid_range(price: int) -> Fraction:
    """The range, in units, that a price pays for: its root, rounded down to whole steps.

    >>> paid_range(4), paid_range(2)
    (Fraction(2, 1), Fraction(11, 8))
    """
    return Fraction(math.isqrt(price * STEPS**2), STEPS)


@dataclass(frozen=True, slots=True)
class Tariff:
    """What questions cost in a budget: public, and a function of the budget alone.

    >>> costs = Tariff(Fraction(1, 100))
    >>> costs.price(BoundedRange(0.1)), costs.price(LogisticDP(0.1)), costs.price(PureDP(0.1))
    (100, 136, 400)
    >>> costs.price(GaussianDP(0.0485))
    100
    """

    unit: Fraction
    """The range of a question that costs one coin; smaller ones cost a coin as well."""
    menu: tuple[int, ...] = MENU
    """The prices, rising. A price c pays for ranges up to unit * sqrt(c), rounded down a little."""
    noise: Fraction = NOISE
    """How much Gaussian noise a coin pays for, as `NOISE`; 0 where it pays for none."""

    def price(self, loss: Loss) -> int | None:
        """Whole coins of a question; None if it has no price, and only the plain sum can pay.

        That is so for ranges above the menu, and for losses that are neither a bounded
        range nor Gaussian: concentrated DP promises bounds of divergences, for which the
        worst mechanism is not known.
        """
        if isinstance(loss, LogisticDP):
            return self._price_in_halves(loss)
        if isinstance(loss, GaussianDP):
            # each coin is noise of its own: docs/proofs/coin-filter.md#2-prices-tariff
            return math.ceil((loss.mu / self._mu_of_a_coin) ** 2) if self.noise else None
        if isinstance(loss, PureDP):
            extent = 2 * loss.epsilon
        elif isinstance(loss, BoundedRange):
            extent = loss.epsilon
        else:
            return None
        place = bisect_left(self.menu, extent / self.unit, key=paid_range)
        return self.menu[place] if place < len(self.menu) else None

    def _price_in_halves(self, loss: LogisticDP) -> int | None:
        """The least that bounded ranges cost which together amount to a logistic loss."""
        # each is a question of its own: docs/proofs/coin-filter.md#2-prices-tariff
        ways = (loss.to_bounded_ranges(halvings) for halvings in range(_HALVINGS + 1))
        sums = (self._price_together(ranges) for ranges in ways)
        return min((price for price in sums if price is not None), default=None)

    def _price_together(self, ranges: tuple[BoundedRange, ...]) -> int | None:
        prices = [self.price(each) for each in ranges]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None

    @property
    def _mu_of_a_coin(self) -> Fraction:
        return self.noise * self.unit / 2

    def largest_noise(self, coins: int) -> GaussianDP | None:
        """The least Gaussian noise that this many coins pay for; None if they pay for none.

        >>> Tariff(Fraction(1, 100)).largest_noise(100)
        GaussianDP(mu=0.0485)
        """
        if not self.noise or coins < 1:
            return None
        return GaussianDP(round_down(self._mu_of_a_coin * square_root_down(Fraction(coins))))

    def largest(self, coins: int) -> BoundedRange | None:
        """The largest bounded range that this many coins pay for; None if they pay for nothing.

        >>> Tariff(Fraction(1, 100)).largest(105), Tariff(Fraction(1, 100)).largest(0)
        (BoundedRange(epsilon=0.1), None)
        """
        place = bisect_right(self.menu, coins)
        return BoundedRange(self.unit * paid_range(self.menu[place - 1])) if place else None


@dataclass(frozen=True, slots=True)
class CoinTerms(Tariff):
    """A tariff with the number of coins that a budget has."""

    coins: int = 0

    def questions(self, loss: Loss) -> int:
        """How many questions of this loss the coins pay for.

        >>> CoinTerms(Fraction(1, 100), coins=2150).questions(BoundedRange(0.05))
        86
        """
        price = self.price(loss)
        return self.coins // price if price else 0


def coin_tariff(epsilon: Fraction, delta: Fraction) -> Tariff:
    """The unit and the menu of a budget: epsilon / 100, coarser where that would be too many coins.

    Privacy: a function of the budget only.
    Cost: milliseconds.
    """
    return Tariff(epsilon / coin_parts(epsilon, delta))


@lru_cache(maxsize=256)
def coin_parts(epsilon: Fraction, delta: Fraction) -> int:
    """How many units an epsilon is cut into: 100, fewer where that would be too many coins."""
    with called_as("coin_terms"):
        _require_budget(epsilon, delta)
    few = [parts for parts in _PARTS if _without_game(epsilon, delta, parts) <= _MOST_COINS]
    return few[0] if few else _PARTS[-1]


@lru_cache(maxsize=256)
def coins_at_least(epsilon: Fraction, delta: Fraction) -> int:
    """Coins that the budget has for certain, without the game, by concentrated DP.

    A range r is r^2 / 8 of it, so N coins are N unit^2 / 8, in any adaptive order.
    """
    return _without_game(epsilon, delta, coin_parts(epsilon, delta))


def _without_game(epsilon: Fraction, delta: Fraction, parts: int) -> int:
    return math.floor(8 * largest_rho(epsilon, delta) / (epsilon / parts) ** 2)


@lru_cache(maxsize=256)
def coins_at_most(epsilon: Fraction, delta: Fraction) -> int:
    """Coins that `coin_terms` never exceeds.

    One more question of one coin each would break the budget. Where the game would take
    too long, these are the coins without it.
    """
    unit = epsilon / coin_parts(epsilon, delta)
    low = coins_at_least(epsilon, delta)
    if not is_playable(epsilon, low):
        return low
    high = 2 * low + 1
    while not _breaks(unit, high, epsilon, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _breaks(unit, middle, epsilon, delta) else (middle, high)
    return high - 1


def _breaks(unit: Fraction, copies: int, epsilon: Fraction, delta: Fraction) -> bool:
    """True if this many independent questions of one coin certainly exceed delta at epsilon.

    Some tops around the worst one are tried. That none of them does proves nothing.
    """
    from discreet.accounting.two_point import hockey_stick

    tops = (unit * (50 + place) / 100 for place in range(8))
    return any(hockey_stick(unit, top, copies, epsilon).low > delta for top in tops)


def is_playable(epsilon: Fraction, least: int) -> bool:
    """True if the game has few enough coins, and floats have room for e^epsilon."""
    return epsilon <= _LARGEST_EPSILON and least <= 2 * _MOST_COINS


def _require_budget(epsilon: Fraction, delta: Fraction) -> None:
    if not epsilon > 0:
        raise ParameterError("epsilon", "greater than 0", epsilon)
    if not 0 < delta < 1:
        raise ParameterError("delta", "greater than 0 and below 1", delta)
