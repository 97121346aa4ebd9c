"""Many random words, whole numbers, coins, subsets and noises at once, from the one door
to randomness.

A coin of probability p compares a uniform number with p, digit by digit from the left,
and is decided at the first digit that differs. So no rounding of p ever decides a coin:
each binary digit of p is certain, and as many of them are computed as some coin has
asked for. Here a digit is a byte, which decides most coins, and a tie is decided by
further bytes; or at first a bit, eight coins to a byte, where all coins of a report are
flipped at once. The proof is in docs/proofs/local.md.

Uniform subsets are drawn by Floyd's method. To pick m of n things, go through the last
m of the numbers below n. For each number j take a uniform number up to j, or j itself
if that one was taken before. Every set of m is equally likely, and nothing is ever
drawn again because it was taken.

Discrete noise is made of such coins. The binary digits of a geometric number are
independent coins: exp(-rate * n) is a product over the digits of n. So the lowest
digits of many such numbers are many coins of one probability each, which `flip_coins`
decides with about a byte a coin, and what is above them is a geometric number again, of
a rate of at least 1: a coin or two more. The time depends on how many numbers there are
and on what is drawn, never on what the noise is added to. The proof is in
docs/proofs/noise.md#many-at-once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.enclosures import ball, decide, rational
from discreet.exact.rationals import MACHINE_LIMIT
from discreet.randomness.chance import Chance
from discreet.randomness.whole_numbers import (
    draw_gaussian,
    draw_laplace,
    gaussian_distance,
    gaussian_width,
)

# bytes fetched at once; larger integers leave the processor's cache
_PIECE = 1 << 15
_KINDS = [np.dtype(name) for name in ("u1", "<u2", "<u4", "<u8")]

Words = NDArray[Any]

# binary digits that are computed at once
_STEP = 64


def draw_words(count: int, kind: np.dtype[Any], chance: Chance) -> Words:
    """Independent uniform words of an unsigned type."""
    missing, pieces = count * kind.itemsize, []
    while missing:
        size = min(missing, _PIECE)
        pieces.append(chance.draw(8 * size).to_bytes(size, "little"))
        missing -= size
    return np.frombuffer(pieces[0] if len(pieces) == 1 else b"".join(pieces), dtype=kind)


def draw_below(bound: int, count: int, chance: Chance) -> Words:
    """Independent uniform whole numbers below `bound`, by rejection: each stands for
    the same number of words.
    """
    kind = _kind_for(bound)
    if bound == 1:
        return np.zeros(count, dtype=kind)
    share = kind.type(_number_of(kind) // bound)
    numbers: Words = draw_words(count, kind, chance) // share
    again = np.flatnonzero(numbers >= bound)
    while again.size:
        tried = draw_words(again.size, kind, chance) // share
        numbers[again] = tried
        again = again[tried >= bound]
    return numbers


def _kind_for(bound: int) -> np.dtype[Any]:
    """The smallest words of which at most a quarter are rejected."""
    return next(
        kind
        for kind in _KINDS
        if (size := _number_of(kind)) >= bound and 4 * (size % bound) <= size
    )


def _number_of(kind: np.dtype[Any]) -> int:
    """How many different words there are."""
    return 1 << (8 * kind.itemsize)


class Expansion:
    """The binary digits of an irrational number between 0 and 1, given as an enclosure
    at flint's precision of the moment.
    """

    __slots__ = ("_digits", "_known", "_number")

    def __init__(self, number: Callable[[], arb]) -> None:
        self._number, self._digits, self._known = number, 0, 0

    def digit(self, start: int, width: int) -> int:
        """The digits from `start` on, `width` of them, as a whole number below 2**width.

        >>> from flint import arb
        >>> [
        ...     Expansion(lambda: 1 / arb(3).sqrt()).digit(start, 4) for start in (0, 1, 4)
        ... ]  # 0.1001 0011 1100 ...
        [9, 2, 3]
        """
        end = start + width
        if end > self._known:
            self._known = -(-end // _STEP) * _STEP
            self._digits = whole_part(self._number, self._known)
        return (self._digits >> (self._known - end)) & ((1 << width) - 1)


def whole_part(number: Callable[[], arb], digits: int) -> int:
    """The whole part of number * 2**digits, for an irrational number between 0 and 1.

    Irrational, so an enclosure that is fine enough holds no multiple of 2**-digits.
    Between 0 and 1, so an enclosure that reaches beyond is cut there: a probability of
    1 - e^-1000000 needs no million digits to be told from 1.
    """
    scale = 1 << digits

    def question(precision: int) -> int | None:
        enclosure = number() * scale
        low, high = _floor(enclosure.lower()), _floor(enclosure.upper())
        if low is None or high is None:
            return None
        low, high = max(low, 0), min(high, scale - 1)
        return low if low == high else None

    return decide(question)


def _floor(number: arb) -> int | None:
    """The whole part of one end of an enclosure, which is exact unless the working
    precision was too low for it.
    """
    whole = number.floor().unique_fmpz()
    return None if whole is None else int(whole)


_BYTE = np.dtype(np.uint8)
_WIDTH = 8
# bits that are compared eight coins at a time, before the few coins that are still open
# get a byte each
_ROUNDS = 5


def flip_coins(
    probability: Expansion, count: int, chance: Chance, *, start: int = 0
) -> NDArray[np.bool_]:
    """For each of `count` independent coins, whether it shows heads.

    start: how many digits of its uniform number were equal to those of the probability
        already.
    """
    digit = probability.digit(start, _WIDTH)
    words = draw_words(count, _BYTE, chance)
    heads, ties = words < digit, np.flatnonzero(words == digit)
    while ties.size:
        start += _WIDTH
        digit = probability.digit(start, _WIDTH)
        words = draw_words(ties.size, _BYTE, chance)
        heads[ties] = words < digit
        ties = ties[words == digit]
    return heads


def flip_packed(
    probability: Expansion, coins: NDArray[np.uint8], chance: Chance
) -> NDArray[np.uint8]:
    """Flip an independent coin for each bit that is set in `coins`; what comes back has
    a bit set for each heads.
    """
    heads, still_open = np.zeros_like(coins), coins.copy()
    for start in range(_ROUNDS):
        words = draw_words(coins.size, _BYTE, chance)
        # less is heads, the same stays open
        if probability.digit(start, 1):
            heads |= still_open & ~words
            still_open &= words
        else:
            # more is tails, the same stays open
            still_open &= ~words
    places = np.flatnonzero(still_open)
    bits = np.unpackbits(still_open[places])
    ties = np.flatnonzero(bits)
    bits[ties] = flip_coins(probability, ties.size, chance, start=_ROUNDS)
    heads[places] |= np.packbits(bits)
    return heads


def draw_subsets(
    own: NDArray[Any], included: NDArray[np.bool_], categories: int, size: int, chance: Chance
) -> NDArray[np.bool_]:
    """For each person a uniform set of `size` categories that holds, or does not hold,
    the own one; a row of marks for each.

    own: the position of each person's category.
    included: whether the set holds it. The others of the set are uniform among the
        other categories.
    """
    marks = np.zeros((own.size, categories), dtype=bool)
    flat, starts = marks.ravel(), np.arange(0, marks.size, categories)
    # The others are numbered without a gap: the last category goes by the number of the own
    # one, until the end.
    others = categories - 1
    # these get one more of the others
    without = starts[~included]
    flat[without + draw_below(others - size + 1, without.size, chance)] = True
    for number in range(others - size + 1, others):
        places = starts + draw_below(number + 1, starts.size, chance)
        flat[np.where(flat[places], starts + number, places)] = True
    marks[:, others] = flat[starts + own]
    flat[starts + own] = included
    return marks


Noise = NDArray[np.int64]

# below this many numbers, drawing one after the other is quicker
_FEW = 48
# so that no noise that can come up is beyond 64 bits
_MOST_DIGITS = 40


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
    small = min(numbers, default=0) > -MACHINE_LIMIT and max(numbers, default=0) < MACHINE_LIMIT
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
    """Independent whole numbers n of either sign, each with odds exp(-rate * |n|), as an array."""
    noise, missing = np.zeros(count, dtype=np.int64), np.arange(count)
    while missing.size:
        sizes = draw_geometrics(rate, missing.size, chance)
        negative = draw_words(missing.size, np.dtype(np.uint8), chance) < 128
        noise[missing] = np.where(negative, -sizes, sizes)
        # 0 must not count twice, once with each sign
        missing = missing[negative & (sizes == 0)]
    return noise


def draw_gaussians(variance: Fraction, count: int, chance: Chance) -> Noise:
    """Independent whole numbers n of either sign, each with odds exp(-n^2 / (2 variance)),
    as an array: Laplace noise, kept by coins of one probability for each size.
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
    """How many of the lowest binary digits are drawn as coins of their own: the number
    above them then has a rate above 1.
    """
    return (rate.denominator // rate.numerator).bit_length()


def _odd(rate: Fraction) -> arb:
    """The probability that a digit of this rate is 1."""
    return 1 / (1 + ball(rate).exp())


def _decay(rate: Fraction) -> arb:
    return (-ball(rate)).exp()
