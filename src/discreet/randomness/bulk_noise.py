"""Exact discrete noise for many numbers at once, such as all counts of a histogram.

The binary digits of a geometric number are independent coins: exp(-rate * n) is a product
over the digits of n. So the lowest digits of many such numbers are many coins of one
probability each, which `flip_coins` decides with about a byte a coin, and what is above
them is a geometric number again, of a rate of at least 1: a coin or two more. The time
depends on how many numbers there are and on what is drawn, never on what the noise is
added to. The proof is in docs/proofs/noise.md#many-at-once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.enclosures import ball, rational
from discreet.randomness.bulk_draws import Expansion, draw_words, flip_coins
from discreet.randomness.chance import Chance
from discreet.randomness.whole_numbers import (
    draw_gaussian,
    draw_laplace,
    gaussian_distance,
    gaussian_width,
)

Noise = NDArray[np.int64]

# numbers, below which one after the other is quicker
_FEW = 48
# so that no noise that can come up is beyond 64 bits
_MOST_DIGITS = 40
# of a number that noise is added to as an integer of the machine
_LARGEST = 2**62


def laplace_noise(rate: Fraction, count: int, chance: Chance) -> list[int] | Noise:
    """Independent whole numbers n of either sign, each with odds exp(-rate * |n|)."""
    if count < _FEW or _digits(rate) > _MOST_DIGITS:
        exact = rational(rate)
        return [draw_laplace(exact, chance) for _ in range(count)]
    return draw_laplaces(rate, count, chance)


def gaussian_noise(variance: Fraction, count: int, chance: Chance) -> list[int] | Noise:
    """Independent whole numbers n of either sign, each with odds exp(-n^2 / (2 variance))."""
    if count < _FEW or _digits(Fraction(1, gaussian_width(variance))) > _MOST_DIGITS:
        return [draw_gaussian(variance, chance) for _ in range(count)]
    return draw_gaussians(variance, count, chance)


def added(numbers: Sequence[int], noise: list[int] | Noise) -> list[int]:
    """Each number with its noise, as Python's own whole numbers, which have no largest one."""
    small = min(numbers, default=0) > -_LARGEST and max(numbers, default=0) < _LARGEST
    if isinstance(noise, np.ndarray) and small:
        total: list[int] = (np.array(numbers, dtype=np.int64) + noise).tolist()
        return total
    return [int(number) + int(drawn) for number, drawn in zip(numbers, noise, strict=True)]


def draw_geometrics(rate: Fraction, count: int, chance: Chance) -> Noise:
    """Independent whole numbers n >= 0, each with odds exp(-rate * n)."""
    numbers = np.zeros(count, dtype=np.int64)
    digits = _digits(rate)
    for place in range(digits):
        coin = Expansion(partial(_odd, rate * 2**place))
        numbers += flip_coins(coin, count, chance).astype(np.int64) << place
    lap, going = Expansion(partial(_decay, rate * 2**digits)), np.arange(count)
    while going.size:
        going = going[flip_coins(lap, going.size, chance)]
        numbers[going] += 1 << digits
    return numbers


def draw_laplaces(rate: Fraction, count: int, chance: Chance) -> Noise:
    """Many numbers of discrete Laplace noise."""
    noise, missing = np.zeros(count, dtype=np.int64), np.arange(count)
    while missing.size:
        sizes = draw_geometrics(rate, missing.size, chance)
        negative = draw_words(missing.size, np.dtype(np.uint8), chance) < 128
        noise[missing] = np.where(negative, -sizes, sizes)
        # 0 must not count twice, once with each sign
        missing = missing[negative & (sizes == 0)]
    return noise


def draw_gaussians(variance: Fraction, count: int, chance: Chance) -> Noise:
    """Many numbers of discrete Gaussian noise: Laplace noise, kept by coins of one
    probability for each size.
    """
    width = gaussian_width(variance)
    noise, missing = np.zeros(count, dtype=np.int64), np.arange(count)
    while missing.size:
        proposed = draw_laplaces(Fraction(1, width), missing.size, chance)
        kept = np.ones(missing.size, dtype=np.bool_)
        sizes, which = np.unique(np.abs(proposed), return_inverse=True)
        order = np.argsort(which, kind="stable")
        for size, members in zip(
            sizes.tolist(), np.split(order, np.bincount(which).cumsum()[:-1]), strict=True
        ):
            distance = gaussian_distance(size, width, variance)
            if distance:
                coin = Expansion(partial(_decay, distance))
                kept[members] = flip_coins(coin, members.size, chance)
        noise[missing[kept]] = proposed[kept]
        missing = missing[~kept]
    return noise


def _digits(rate: Fraction) -> int:
    """How many digits are drawn by themselves: then one lap has a rate of 1 to 2, or more."""
    return (rate.denominator // rate.numerator).bit_length()


def _odd(rate: Fraction) -> arb:
    """The probability that a digit of this rate is 1."""
    return 1 / (1 + ball(rate).exp())


def _decay(rate: Fraction) -> arb:
    return (-ball(rate)).exp()
