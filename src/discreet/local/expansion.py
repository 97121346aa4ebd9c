"""A probability as its binary digits: all that an exact coin needs to know about it.

A coin of probability p compares a uniform number with p, digit by digit, and is decided at the first digit that differs. So no
rounding of p ever decides a coin: each digit is certain, and as many of them are computed as some coin has asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from discreet.certified import decide

_STEP = 64  # binary digits that are computed at once


class Expansion:
    """The binary digits of an irrational number between 0 and 1, given as an enclosure at flint's precision of the moment."""

    __slots__ = ("_digits", "_known", "_number")

    def __init__(self, number: Callable[[], arb]) -> None:
        self._number, self._digits, self._known = number, 0, 0

    def digit(self, start: int, width: int) -> int:
        """The digits from `start` on, `width` of them, as a whole number below 2**width.

        >>> from flint import arb
        >>> [Expansion(lambda: 1 / arb(3).sqrt()).digit(start, 4) for start in (0, 1, 4)]  # 0.1001 0011 1100 ...
        [9, 2, 3]
        """
        end = start + width
        if end > self._known:
            self._known = -(-end // _STEP) * _STEP
            self._digits = whole_part(self._number, self._known)
        return (self._digits >> (self._known - end)) & ((1 << width) - 1)


def whole_part(number: Callable[[], arb], digits: int) -> int:
    """The whole part of number * 2**digits, for an irrational number between 0 and 1.

    Irrational, so an enclosure that is fine enough holds no multiple of 2**-digits. Between 0 and 1, so an enclosure that
    reaches beyond is cut there: a probability of 1 - e^-1000000 needs no million digits to be told from 1.
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
    """The whole part of one end of an enclosure, which is exact unless the working precision was too low for it."""
    whole = number.floor().unique_fmpz()
    return None if whole is None else int(whole)
