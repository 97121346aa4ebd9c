"""Many exact coins of one probability: one byte decides most of them, and a tie is decided by further bytes.

A coin compares a uniform number with the probability, in digits from the left. Here a digit is a byte, or at first a bit, eight
coins to a byte, where all coins of a report are flipped at once. The proof is in docs/proofs/local.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.local.expansion import Expansion
from discreet.local.words import draw_words
from discreet.samplers.chance import Chance

_BYTE = np.dtype(np.uint8)
_WIDTH = 8
_ROUNDS = 5  # bits that are compared eight coins at a time, before the few coins that are still open get a byte each


def flip_coins(probability: Expansion, count: int, chance: Chance, *, start: int = 0) -> NDArray[np.bool_]:
    """For each of `count` independent coins, whether it shows heads.

    start: how many digits of its uniform number were equal to those of the probability already.
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


def flip_packed(probability: Expansion, coins: NDArray[np.uint8], chance: Chance) -> NDArray[np.uint8]:
    """Flip an independent coin for each bit that is set in `coins`; what comes back has a bit set for each heads."""
    heads, still_open = np.zeros_like(coins), coins.copy()
    for start in range(_ROUNDS):
        words = draw_words(coins.size, _BYTE, chance)
        if probability.digit(start, 1):  # less is heads, the same stays open
            heads |= still_open & ~words
            still_open &= words
        else:  # more is tails, the same stays open
            still_open &= ~words
    places = np.flatnonzero(still_open)
    bits = np.unpackbits(still_open[places])
    ties = np.flatnonzero(bits)
    bits[ties] = flip_coins(probability, ties.size, chance, start=_ROUNDS)
    heads[places] |= np.packbits(bits)
    return heads
