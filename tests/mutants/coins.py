"""Mutants of the coin filter: prices, the value of the game, both sums, and what is kept."""

from __future__ import annotations

COINS_TESTS = "tests/unit/accounting/test_coins.py"
STORE_TESTS = "tests/unit/accounting/test_kept_coins.py"

COINS = {
    "coins: a price that was computed for another budget": (
        "accounting/spending.py",
        "_prices(self, loss)",
        "_prices(_prices.__dict__.setdefault(loss, self), loss)",
        "tests/unit/accounting/test_privacy_filter.py -k several_budgets",
    ),
    "coins: True is found where 1 was kept": (
        "accounting/spending.py",
        "type(cost.parts) is dict and set(map(type, cost.parts.values())) <= {int}",
        "type(cost.parts) is dict",
        "tests/unit/accounting/test_privacy_filter.py -k whole_number_of_times",
    ),
    "coins: the factor 2 of pure DP is missing": (
        "accounting/tariff.py",
        "extent = 2 * loss.epsilon",
        "extent = loss.epsilon",
        f"{COINS_TESTS} -k twice_the_range",
    ),
    "coins: a winner with its gap pays for the winner only": (
        "accounting/tariff.py",
        "ways = (loss.to_bounded_ranges(halvings) for halvings in range(_HALVINGS + 1))",
        "ways = ((BoundedRange(loss.epsilon),) for halvings in range(_HALVINGS + 1))",
        f"{COINS_TESTS} -k covers_its_rho",
    ),
    "coins: what is left of a logistic loss after the halvings is free": (
        "accounting/tariff.py",
        "ways = (loss.to_bounded_ranges(halvings) for halvings in range(_HALVINGS + 1))",
        "ways = (loss.to_bounded_ranges(halvings)[:-1] for halvings in range(1, _HALVINGS))",
        f"{COINS_TESTS} -k covers_its_rho",
    ),
    "coins: a price is rounded down": (
        "accounting/tariff.py",
        "self.menu[place] if place < len(self.menu) else None",
        "self.menu[max(0, place - 1)] if place < len(self.menu) else None",
        f"{COINS_TESTS} -k round_ranges",
    ),
    "coins: the root of a price is rounded up": (
        "accounting/tariff.py",
        "math.isqrt(price * STEPS**2)",
        "math.isqrt(price * STEPS**2) + 1",
        f"{COINS_TESTS} -k root_of_the_price",
    ),
    "coins: the middle of a cell takes the higher point for the chord": (
        "accounting/coin_game.py",
        "halfway += high * values[: -cells.width]",
        "halfway += high * values[cells.width :]",
        f"{COINS_TESTS} -k between_grid_points",
    ),
    "coins: tops on grid points only": (
        "accounting/coin_game.py",
        "np.maximum(best, inside.max(axis=0), out=best)",
        "pass",
        f"{COINS_TESTS} -k between_grid_points",
    ),
    "coins: the middle of a cell taken for its largest value": (
        "accounting/coin_game.py",
        "inside += np.abs(rise, out=rise)",
        "np.abs(rise, out=rise)",
        f"{COINS_TESTS} -k between_grid_points",
    ),
    "coins: tops near 0 and near the range forgotten": (
        "accounting/coin_game.py",
        "np.maximum(best, chord, out=best)",
        "pass",
        f"{COINS_TESTS} -k between_grid_points",
    ),
    "coins: one chord for many tops is too short": (
        "accounting/coin_game.py",
        "downward, upward = stop, reach - start",
        "downward, upward = max(1, start), max(1, reach - stop)",
        f"{COINS_TESTS} -k between_grid_points",
    ),
    "coins: between two computed places the lower one": (
        "accounting/coin_game.py",
        "between = left * best[:-1, None] + right * best[1:, None]",
        "between = (left + right) * best[1:, None]",
        f"{COINS_TESTS} -k between_grid_points",
    ),
    "coins: weights rounded down": (
        "accounting/coin_game.py",
        "return max(0.0, up(first)), max(0.0, up(second))",
        "return max(0.0, up(first) * (1 - 1e-15)), max(0.0, up(second) * (1 - 1e-15))",
        f"{COINS_TESTS} -k weights_are_rounded_up",
    ),
    "coins: the safe rounding reversed": (
        "accounting/coin_game.py",
        "_SAFE = 1 + 2.0**-47",
        "_SAFE = 1 - 2.0**-40",
        f"{COINS_TESTS} -k covers_the_roundings",
    ),
    "coins: one coin less is left after a question": (
        "accounting/coin_game.py",
        "rest = held[coins - move.price]",
        "rest = held[max(0, coins - self._longest, coins - move.price - 1)]",
        f"{COINS_TESTS} -k fine_reference",
    ),
    "coins: the exchange of the distributions forgotten": (
        "accounting/coin_game.py",
        "below = (self._lost + self._shrunk * other) * _SAFE",
        "below = self._lost + 0 * other",
        f"{COINS_TESTS} -k fine_reference",
    ),
    "coins: below a grid that begins above 0 the value there": (
        "accounting/coin_game.py",
        "below = (self._lost + self._shrunk * other) * _SAFE",
        "below = (self._lost * (low == 0) + self._shrunk * other) * _SAFE",
        f"{COINS_TESTS} -k narrow_window",
    ),
    "coins: beyond the grid nothing can be gained": (
        "accounting/coin_game.py",
        "values[stop:] = best[-1]",
        "values[stop:] = 0.0",
        f"{COINS_TESTS} -k narrow_window",
    ),
    "coins: one coin too many for a delta": (
        "accounting/coin_game.py",
        "coins if bound <= limit else before",
        "coins if bound <= limit else max(before, min(coins, before + 1))",
        f"{COINS_TESTS} -k last_within_delta",
    ),
    "coins: too much by concentrated DP": (
        "accounting/tariff.py",
        "8 * largest_rho(epsilon, delta)",
        "9 * largest_rho(epsilon, delta)",
        f"{COINS_TESTS} -k at_least_is",
    ),
    "coins: both sums fit and bad events do not count": (
        "accounting/spending.py",
        "return (plain or squared) and self.delta <= delta",
        "return plain or squared",
        f"{COINS_TESTS} -k either_sum",
    ),
    "coins: a question without a price costs nothing": (
        "accounting/spending.py",
        "squared = self.squares is not None and self.squares <= squares",
        "squared = (self.squares or 0) <= squares",
        f"{COINS_TESTS} -k either_sum",
    ),
    "coins: a question without a price is forgotten in the sum": (
        "accounting/spending.py",
        "return None if one is None or other is None else one + other",
        "return (one or 0) + (other or 0)",
        f"{COINS_TESTS} -k adds_up",
    ),
    "coins: the delta of a loss forgotten": (
        "accounting/spending.py",
        "return Spending(pure.epsilon, pure.squares, pure.delta + loss.delta)",
        "return pure",
        f"{COINS_TESTS} -k but_for_a_bad_event",
    ),
    "coins: an impossible number is believed": (
        "accounting/coins.py",
        "found is None or found > most",
        "found is None",
        f"{COINS_TESTS} -k impossible",
    ),
    "coins: a file that others may write is believed": (
        "accounting/coins.py",
        "others = stat.S_IWGRP | stat.S_IWOTH",
        "others = 0",
        f"{STORE_TESTS} -k others_may_write",
    ),
    "coins: a file of somebody else is believed": (
        "accounting/coins.py",
        "status.st_uid == os.getuid()",
        "True",
        f"{STORE_TESTS} -k somebody_else",
    ),
    "coins: a link is followed": (
        "accounting/coins.py",
        'getattr(os, "O_NOFOLLOW", 0)',
        "0",
        f"{STORE_TESTS} -k link",
    ),
    "coins: numbers of other rules are read": (
        "accounting/coins.py",
        'content["rules"] != RULES',
        "False",
        f"{STORE_TESTS} -k anything_else",
    ),
}
