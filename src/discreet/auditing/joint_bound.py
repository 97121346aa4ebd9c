"""What two samples prove together: a lower bound of a number that grows with the
probability of an event in the first, and falls with its probability in the second.

One bound for each probability would give away too much: both samples mislead much more
rarely than one of them does. So the chances of the two counts are multiplied.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

# The logarithm of the product is split between the two samples in this many parts: a
# power of two.
_PARTS = 64


def joint_bound(
    lowest: Callable[[float], float],
    highest: Callable[[float], float],
    number: Callable[[float, float], float],
    alpha: float,
) -> float:
    """A number that is below the true one, except with probability alpha.

    lowest: from a level to a lower bound of the likelier probability that is false with
        at most that probability.
    highest: from a level to an upper bound of the rarer probability, likewise.
    number: the number as a function that grows in the first probability, and falls in
        the second.

    Each sample has a chance to be as extreme as it is, given the true probability. The
    two are independent, and no more often small than uniform numbers are, so their
    product is at most c with probability at most c (1 - log c), which is alpha (Fisher
    1925). If it is above c, one of them is above c^e and the other above c^(1 - e), for
    some e from 0 to 1. For all e of an interval, its upper end bounds the first
    probability, and its lower end the second; the interval with the least number is
    halved until it is short.

    >>> always = lambda alpha: 0.5
    >>> joint_bound(always, always, lambda likely, rare: likely / rare, 0.01)
    1.0
    """
    # safe also after rounding: smaller levels give wider bounds
    logarithm = math.log(product_level(alpha)) - 1e-9

    def level(parts: int) -> float:
        return math.exp(logarithm * parts / _PARTS - 1e-9)

    def interval(start: int, end: int) -> tuple[float, int, int]:
        return number(lowest(level(end)), highest(level(_PARTS - start))), start, end

    intervals = [interval(0, _PARTS)]
    while True:
        least, start, end = heapq.heappop(intervals)
        if end - start == 1:
            return least
        middle = (start + end) // 2
        heapq.heappush(intervals, interval(start, middle))
        heapq.heappush(intervals, interval(middle, end))


def product_level(alpha: float) -> float:
    """The level at or below which the product of two uniform numbers is with
    probability alpha.

    >>> level = product_level(0.05)
    >>> round(level * (1 - math.log(level)), 9)
    0.05
    """
    low, high = 0.0, alpha
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if middle * (1 - math.log(middle)) <= alpha else (low, middle)
    return low


@lru_cache(maxsize=64)
def deviations(alpha: float, parts: int) -> tuple[tuple[float, float], ...]:
    """Pairs of standard deviations by which the two samples may be off together, about.
    For planning.
    """
    level = product_level(alpha)
    shares = [(level ** (part / parts), level ** (1 - part / parts)) for part in range(1, parts)]
    away = NormalDist().inv_cdf
    return tuple((-away(first), -away(second)) for first, second in shares)
