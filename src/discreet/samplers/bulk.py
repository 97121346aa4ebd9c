"""Many independent draws of one candidate each, for simulations: exact, and a few nanoseconds each.

The candidates lie side by side on [0, 1], each as wide as its probability. A draw is a
uniform number and the candidate that it falls on. The ends between candidates are
enclosed to 96 binary digits, so a uniform number whose first 32 digits are not those of
an end is decided by them. The few others get more digits, and the ends too, until
they are apart: no rounding ever decides a draw. The proof is in docs/proofs/bulk.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision
from discreet.randomness.bulk_draws import draw_words
from discreet.randomness.chance import Chance

Cumulative = Callable[[Sequence[fmpq]], list[arb]]
"""From distances to the running sums of the probabilities, without the last one, which is
1: enclosures at flint's precision of the moment.
"""

DIGITS = 32
"""Binary digits that decide almost every draw."""

# digits by which ends are known better than words
_MORE = 64
# digits of the cells of a table that knows where most words belong
_CELL = 12
_WORD = np.dtype("<u4")
# words that are looked up at once
_PIECE = 1 << 13


def draw_many(
    cumulative: Cumulative, distances: Sequence[fmpq], draws: int, chance: Chance
) -> NDArray[np.int64]:
    """The place of a candidate for each draw."""
    if len(distances) == 1:
        return np.zeros(draws, dtype=np.int64)
    return Ends(lambda: cumulative(distances)).located(draw_words(draws, _WORD, chance), chance)


class Ends:
    """The ends between candidates that lie side by side on [0, 1], from left to right."""

    __slots__ = ("_enclose", "_first", "_high", "_low", "_mixed")

    def __init__(self, enclose: Callable[[], list[arb]]) -> None:
        self._enclose = enclose
        low, high = self.between(DIGITS)
        self._low, self._high = np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
        width = DIGITS - _CELL
        starts = np.arange(1 << _CELL, dtype=np.int64) << width
        # how many ends are certainly below a cell, and whether others may be below one of its
        # words: an end whose enclosure is wider than a cell mixes all that it reaches
        self._first = self._high.searchsorted(starts)
        self._mixed = self._first != self._low.searchsorted(starts + (1 << width))

    def between(self, digits: int) -> tuple[list[int], list[int]]:
        """For each end two whole numbers, so that its first binary digits are one of those
        from the first to the second. They are the same where that many digits are
        certain.
        """
        scale = 1 << digits

        def sides() -> list[tuple[int, int]]:
            scaled = [end * scale for end in self._enclose()]
            return [(_floor(end.lower()), _floor(end.upper())) for end in scaled]

        found = at_precision(digits + _MORE, sides)
        # An end is between 0 and 1, whatever its enclosure says, and at or after the one before.
        low, high = (
            [min(max(side, 0), scale - 1) for side in each] for each in zip(*found, strict=True)
        )
        return list(accumulate(low, max)), list(accumulate(high, max))

    def located(self, words: NDArray[np.uint32], chance: Chance) -> NDArray[np.int64]:
        """For uniform numbers with these first digits, how many ends are at or below each."""
        found = np.empty(words.size, dtype=np.int64)
        # by pieces, for which no fresh memory is needed: that takes longer than the search
        for start in range(0, words.size, _PIECE):
            piece = slice(start, start + _PIECE)
            found[piece] = self._located(words[piece], chance)
        return found

    def _located(self, words: NDArray[np.uint32], chance: Chance) -> NDArray[np.int64]:
        cells = words >> np.uint32(DIGITS - _CELL)
        found: NDArray[np.int64] = self._first[cells]
        unsure = np.flatnonzero(self._mixed[cells])
        near = words[unsure].astype(np.int64)
        least, most = self._high.searchsorted(near), self._low.searchsorted(near, side="right")
        found[unsure] = least
        for place in unsure[least != most].tolist():
            found[place] = self.decided(int(words[place]), chance)
        return found

    def decided(self, first: int, chance: Chance) -> int:
        """How many ends are at or below a uniform number with these first digits."""
        known, digits = first, DIGITS
        while True:
            known, digits = known << DIGITS | chance.draw(DIGITS), digits + DIGITS
            low, high = self.between(digits)
            least, most = bisect_left(high, known), bisect_right(low, known)
            if least == most:
                return least


def _floor(number: arb) -> int:
    """The whole part of one end of an enclosure, which is exact."""
    mantissa, exponent = (int(part) for part in number.man_exp())
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def exponential_ends(distances: Sequence[fmpq]) -> list[arb]:
    """The running sums of exp(-distance), over the whole sum."""
    weights = [(-arb(distance)).exp() for distance in distances]
    return _running(weights)


def permute_and_flip_ends(distances: Sequence[fmpq]) -> list[arb]:
    """The running sums of a * (integral of the product of 1 - u * a' over all others), for
    u from 0 to 1, with a = exp(-distance): the odds of the first heads.

    The product is a polynomial, so the rule of Gauss and Legendre gives the integral
    exactly, from positive terms only.
    """
    odds = [(-arb(distance)).exp() for distance in distances]
    totals = [arb(0)] * len(odds)
    for node, weight in _rule(-(-len(odds) // 2), ctx.prec):
        misses = [1 - node * each for each in odds]
        all_miss = weight
        for miss in misses:
            all_miss *= miss
        totals = [total + all_miss / miss for total, miss in zip(totals, misses, strict=True)]
    return _running([each * total for each, total in zip(odds, totals, strict=True)])


@lru_cache(maxsize=32)
def _rule(nodes: int, precision: int) -> list[tuple[arb, arb]]:
    """The rule of Gauss and Legendre on [0, 1], nodes with their weights, at flint's precision
    of the moment, which is named because it is part of the key.
    """
    both = [arb.legendre_p_root(nodes, number, weight=True) for number in range(nodes)]
    return [((1 + root) / 2, weight / 2) for root, weight in both]


def _running(weights: list[arb]) -> list[arb]:
    whole = sum(weights, arb(0))
    ends, so_far = [], arb(0)
    for weight in weights[:-1]:
        so_far += weight
        ends.append(so_far / whole)
    return ends
