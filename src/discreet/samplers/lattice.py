"""Any whole number, without a bound: the exponential mechanism over the integers, for a
concave score.

From the best number on, distances to both sides are convex: they grow at least in
proportion. So the numbers of one side are put in blocks of 1, 2, 4, 8, ... numbers,
each with the weight of its nearest member, and beyond the first block that is more than
four noise scales away the weights of the blocks fall at least by half from one to the
next. That makes a finite sum of bounds for infinitely many numbers, and nothing is cut
off: a number is proposed by its block, and kept with an exact coin. The proof is in
docs/proofs/noise.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flint import arb, fmpq

from discreet.randomness.chance import Chance
from discreet.samplers.envelope import UNIT

# noise scales: e^-4 is below 1/4, so that blocks twice as long and four times as
# unlikely cover the tail
_FAR = 4
# how often blocks double before a score is refused
_LONGEST = 512

Distance = Callable[[int], fmpq]
"""From how far a number is from the best one to its distance in noise scales: 0 at 0,
convex, growing without end.
"""


class EndlessScoreError(Exception):
    """A distance does not grow: the weights of all numbers have no finite sum."""


def draw_lattice(sides: tuple[Distance, Distance], chance: Chance) -> int:
    """A whole number n with odds exp(-distance): of sides[0] for n >= 0, of sides[1],
    at -n, for n < 0.
    """
    halves = [_Half(sides[0], 0), _Half(sides[1], 1)]
    total = halves[0].total + halves[1].total
    while True:
        half = halves[0] if chance.coin(halves[0].total, total) else halves[1]
        number, numerator, denominator = half.propose(chance)
        if chance.decay(lambda: half.distance(number), numerator, denominator, likely=False):
            return number if half is halves[0] else -number


class _Half:
    """The numbers on one side of the best one: first, first + 1, ..."""

    def __init__(self, distance: Distance, first: int) -> None:
        self.distance, self._first = distance, first
        weights: list[int] = []
        while not weights or distance(self._start(len(weights) - 1)) < _FAR:
            if len(weights) == _LONGEST:
                raise EndlessScoreError
            weights.append(_weight(distance(self._start(len(weights)))))
        # The last of these blocks, and all beyond it, are the tail.
        self._tail = len(weights) - 1
        self._weight = weights[-1]
        self._weights = weights[:-1]
        sizes = [weight << block for block, weight in enumerate(self._weights)]
        self._cumulative = np.cumsum(
            np.array([*sizes, self._weight << (self._tail + 1)], dtype=object)
        )
        self.total = int(self._cumulative[-1])

    def propose(self, chance: Chance) -> tuple[int, int, int]:
        """A number, a numerator and a denominator: to be kept with probability
        exp(-distance) * numerator / denominator.
        """
        block = chance.pick(self._cumulative, self.total)
        if block < self._tail:
            return self._start(block) + chance.below(1 << block), UNIT, self._weights[block]
        further = 0
        while chance.coin(1, 2):
            further += 1
        block = self._tail + further
        return self._start(block) + chance.below(1 << block), UNIT << (2 * further), self._weight

    def _start(self, block: int) -> int:
        return self._first + (1 << block) - 1


def _weight(distance: fmpq) -> int:
    """A whole number at or above UNIT * exp(-distance)."""
    whole = ((-arb(distance)).exp() * UNIT).upper().ceil().unique_fmpz()
    # the upper end of a ball is one number
    assert whole is not None
    return int(whole)
