"""How many runs there will be: whole numbers with exactly the stated laws, from coins with rational odds alone.

No logarithm and no exponential is computed. The logarithmic and the Poisson law have irrational probabilities, but rejection never
needs the constant that makes them add up to 1. The proof is in docs/proofs/private-candidates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.samplers.chance import Chance

_MOST_DIGITS = 12  # so that no coin has odds of more than some ten thousand bits


def geometric(stop: Fraction, chance: Chance) -> int:
    """k >= 1 with probability stop * (1 - stop)^(k - 1).

    Flipping coin by coin would take 1/stop of them. Since (1 - stop)^k is a product over the binary digits of k, the lowest
    digits of the number of failures are independent coins, and what is above them is a geometric number again.
    """
    go, total = stop.denominator - stop.numerator, stop.denominator  # each further run has odds go / total
    failures, digits = 0, _digits(stop)
    for place in range(digits):
        if chance.coin(go, go + total):
            failures += 1 << place
        go, total = go * go, total * total
    while chance.coin(go, total):
        failures += 1 << digits
    return failures + 1


def logarithmic(stop: Fraction, chance: Chance) -> int:
    """k >= 1 with probability proportional to (1 - stop)^k / k."""
    return _first_kept(lambda: _try_logarithmic(stop, chance))


def poisson(mean: Fraction, chance: Chance) -> int:
    """k >= 0 with probability e^-mean * mean^k / k!: as many independent parts with a mean of at most 1 as are needed."""
    parts = math.ceil(mean)
    return sum(_first_kept(lambda: _try_poisson(mean / parts, chance)) for _ in range(parts))


def _first_kept(attempt: Callable[[], int | None]) -> int:
    """Try afresh until a number is kept: its odds are those of a single try."""
    while True:
        kept = attempt()
        if kept is not None:
            return kept


def _try_logarithmic(stop: Fraction, chance: Chance) -> int | None:
    """A geometric number, kept with probability 1/k."""
    count = geometric(stop, chance)
    return count if chance.coin(1, count) else None


def _try_poisson(mean: Fraction, chance: Chance) -> int | None:
    """A number that is k with probability 2^-(k + 1), kept with probability (2 mean)^k / (2 k!), at most 1 for means up to 1."""
    count = 0
    while chance.coin(1, 2):
        count += 1
    odds = (2 * mean) ** count / (2 * math.factorial(count))
    return count if chance.coin(odds.numerator, odds.denominator) else None


def _digits(stop: Fraction) -> int:
    """How many digits are drawn by themselves: so many that about 16 to 32 coins are left for what is above them."""
    return min(_MOST_DIGITS, max(0, (stop.denominator // stop.numerator).bit_length() - 5))
