"""Whole-number noise: geometric variables, and the discrete Laplace noise that is made of them.

A geometric variable counts how often a coin of probability exp(-rate) shows heads in a row. Flipping that coin takes 1 / rate
flips, which is too long for small rates. Instead write n = laps * length + place with a length of about 1 / rate. Laps and
place are independent: a lap is a coin of probability exp(-rate * length), about 1/e, and a place is a uniform number below the
length that is kept with probability exp(-rate * place), above 1/e. So a few coins are enough at every rate, and each of them is
exact. The proof is in docs/proofs/above-threshold.md.
"""

from __future__ import annotations

from flint import fmpq

from discreet.samplers.chance import Chance


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
        if size or not negative:  # 0 must not count twice, once with each sign
            return -size if negative else size


def _draw_place(rate: fmpq, length: int, chance: Chance) -> int:
    """A whole number below `length` with odds exp(-rate * place)."""
    while length > 1:
        place = chance.below(length)
        if place == 0 or _survives(rate * place, chance):
            return place
    return 0


def _survives(distance: fmpq, chance: Chance) -> bool:
    return chance.decay(lambda: distance, 1, 1, likely=False)
