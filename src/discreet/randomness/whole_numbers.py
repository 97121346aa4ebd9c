"""Random whole numbers with exactly the stated laws: binomial, geometric, discrete
Laplace, discrete Gaussian, logarithmic and Poisson.

A binomial number takes about two bits a person: all persons draw their next digit at
once.

A geometric variable counts how often a coin of probability exp(-rate) shows heads in a
row. Flipping that coin takes 1 / rate flips, which is too long for small rates. Instead
write n = laps * length + place with a length of about 1 / rate. Laps and place are
independent: a lap is a coin of probability exp(-rate * length), about 1/e, and a place
is a uniform number below the length that is kept with probability exp(-rate * place),
above 1/e. So a few coins are enough at every rate, and each of them is exact. The proof
is in docs/proofs/above-threshold.md.

The number of runs of a private candidate takes coins with rational odds alone: no
logarithm and no exponential is computed. The logarithmic and the Poisson law have irrational
probabilities, but rejection never needs the constant that makes them add up to 1. The
proof is in docs/proofs/private-candidates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import fmpq

from discreet.exact.enclosures import rational
from discreet.randomness.chance import Chance

# bits that are drawn at once
_AT_ONCE = 1 << 16


def draw_binomial(persons: int, part: int, digits: int, chance: Chance) -> int:
    """How many of the persons draw a number below `part`, where each draws a uniform one
    with `digits` binary digits.

    All draw their highest digit, and only those for whom it decides nothing draw the
    next one: about two bits a person.
    """
    passed = 0
    for digit in reversed(range(digits)):
        # no person is left, or all digits of `part` that are left are 0
        if not persons or not part % (2 << digit):
            break
        zeros = _count_heads(persons, chance)
        if part >> digit & 1:
            passed, persons = passed + zeros, persons - zeros
        else:
            persons = zeros
    return passed


def _count_heads(coins: int, chance: Chance) -> int:
    """How many of these fair coins show heads."""
    whole, rest = divmod(coins, _AT_ONCE)
    return sum(chance.draw(_AT_ONCE).bit_count() for _ in range(whole)) + (
        chance.draw(rest).bit_count() if rest else 0
    )


def draw_geometric(rate: fmpq, chance: Chance) -> int:
    """A whole number n >= 0 with odds exp(-rate * n), for any rational rate > 0."""
    length = max(1, int((1 / rate).floor()))
    lap, laps = rate * length, 0
    while _survives(lap, chance):
        laps += 1
    return laps * length + _draw_place(rate, length, chance)


def draw_laplace(rate: fmpq, chance: Chance) -> int:
    """A whole number n of either sign with odds exp(-rate * |n|): discrete Laplace noise."""
    while True:
        size = draw_geometric(rate, chance)
        negative = chance.coin(1, 2)
        # 0 must not count twice, once with each sign
        if size or not negative:
            return -size if negative else size


def draw_gaussian(variance: Fraction, chance: Chance) -> int:
    """A whole number n of either sign with odds exp(-n^2 / (2 variance)): discrete Gaussian noise.

    Discrete Laplace noise of about the same width, kept with the probability that turns
    its odds into these: docs/proofs/noise.md#discrete-gaussian.
    """
    width = gaussian_width(variance)
    while True:
        noise = draw_laplace(fmpq(1, width), chance)
        if _survives(rational(gaussian_distance(abs(noise), width, variance)), chance):
            return noise


def gaussian_width(variance: Fraction) -> int:
    """The scale of the Laplace noise that Gaussian noise is made of: the next whole number
    above the standard deviation.
    """
    return math.isqrt(math.floor(variance)) + 1


def gaussian_distance(size: int, width: int, variance: Fraction) -> Fraction:
    """Laplace noise of this size and scale is kept with probability exp(-distance)."""
    return (size - variance / width) ** 2 / (2 * variance)


def _draw_place(rate: fmpq, length: int, chance: Chance) -> int:
    """A whole number below `length` with odds exp(-rate * place)."""
    while length > 1:
        place = chance.below(length)
        if place == 0 or _survives(rate * place, chance):
            return place
    return 0


def _survives(distance: fmpq, chance: Chance) -> bool:
    return chance.decay(lambda: distance, 1, 1, likely=False)


# so that no coin has odds of more than some ten thousand bits
_MOST_DIGITS = 12


def geometric(stop: Fraction, chance: Chance) -> int:
    """k >= 1 with probability stop * (1 - stop)^(k - 1).

    Flipping coin by coin would take 1/stop of them. Since (1 - stop)^k is a product
    over the binary digits of k, the lowest digits of the number of failures are
    independent coins, and what is above them is a geometric number again.
    """
    # each further run has odds go / total
    go, total = stop.denominator - stop.numerator, stop.denominator
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
    """k >= 0 with probability e^-mean * mean^k / k!: as many independent parts with a
    mean of at most 1 as are needed.
    """
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
    """A number that is k with probability 2^-(k + 1), kept with probability (2 mean)^k
    / (2 k!), at most 1 for means up to 1.
    """
    count = 0
    while chance.coin(1, 2):
        count += 1
    odds = (2 * mean) ** count / (2 * math.factorial(count))
    return count if chance.coin(odds.numerator, odds.denominator) else None


def _digits(stop: Fraction) -> int:
    """How many digits are drawn by themselves: enough to leave about 16 to 32 coins for
    what is above them.
    """
    return min(_MOST_DIGITS, max(0, (stop.denominator // stop.numerator).bit_length() - 5))
