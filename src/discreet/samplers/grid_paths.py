"""A path through the points of a grid, with odds exp(-(sum of the distances of its steps)).

There are too many paths to list, but they can be summed from the end. First, for each
point, how far behind the best way to go on from there is: then a step counts only for
what it loses against the best way, and the best path of all is not behind. Second, an
upper bound of the odds of all ways to go on: a sum over the next point of (weight of
the step) * (bound of the next point). A path is then proposed step by step, each with
odds weight * bound of the next point out of the bound of this one, so that the bounds
cancel: a whole path has odds of exactly the product of its weights. (Where the bound of
a point is above the sum, nothing is proposed, with what is left.) It is kept with one
exact coin, exp(-distance) / weight over all steps. The proof is in
docs/proofs/quantiles.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.randomness.chance import Chance

# halvings; every step that is farther has this weight, and an acceptance coin that is
# all the smaller
_FARTHEST = 1000.0
# far more than what sums and products of 2^20 floats lose by rounding
_LARGER = 1 + 2.0**-30
# below 1 / ln 2, by more than what rounding adds
_HALVINGS_PER_SCALE = 1.4426950408889634 * (1 - 2.0**-48)
# units that a step back is behind: more than any path, so that none goes back
_NEVER = 2**61


class Paths:
    """Ways from left to right through the points 0, 1, ..., each point at or after the one before.

    persons: how many persons are before each point; ascending.
    total: how many there are.
    wanted: how many should be in each step, in units of 1/scale: before the first
        point, between the points, and after the last.
    scale: units in a person; all numbers of units are below 2^60.
    rate: how many noise scales a unit is. A step is |persons in it - wanted| units
        behind.
    """

    __slots__ = ("_ahead", "_halvings", "_persons", "_rate", "_to_go", "_total", "_wanted")

    def __init__(
        self, persons: NDArray[np.int64], total: int, wanted: Sequence[int], scale: int, rate: fmpq
    ) -> None:
        self._persons, self._total, self._wanted, self._rate = (
            persons * scale,
            total * scale,
            wanted,
            rate,
        )
        self._halvings = (
            float(min(Fraction(int(rate.p), int(rate.q)), Fraction(10) ** 300))
            * _HALVINGS_PER_SCALE
        )
        self._to_go = self._least_behind()
        self._ahead = self._sum_up()

    def draw(self, chance: Chance) -> list[int]:
        """A path."""
        while True:
            path = self._propose(chance)
            if path is not None:
                points, lost, weight = path
                behind = lost * self._rate
                if chance.decay(lambda: behind, weight.denominator, weight.numerator, likely=False):
                    return points

    @property
    def _places(self) -> int:
        return len(self._wanted) - 1

    def _least_behind(self) -> list[NDArray[np.int64]]:
        """For each place in the path and each point there, how far behind the best way
        to go on is.
        """
        to_go = [np.abs(self._total - self._persons - self._wanted[-1])]
        for place in range(self._places - 1, 0, -1):
            to_go.insert(
                0, (self._behind(place, self._persons) + self._back() + to_go[0]).min(axis=1)
            )
        return to_go

    def _sum_up(self) -> list[NDArray[np.float64]]:
        """For each place and each point there, a bound of the odds of all ways to go
        on, against the best.
        """
        ahead = [np.ones(self._persons.size)]
        for place in range(self._places - 1, 0, -1):
            lost = (
                self._behind(place, self._persons)
                + self._to_go[place]
                - self._to_go[place - 1][:, np.newaxis]
            )
            ahead.insert(0, np.triu(self._weights(lost) * ahead[0]).sum(axis=1) * _LARGER)
        return ahead

    def _behind(self, place: int, start: NDArray[np.int64]) -> NDArray[np.int64]:
        """How far behind the steps from each start to each point at this place are."""
        behind: NDArray[np.int64] = np.abs(
            self._persons - start[:, np.newaxis] - self._wanted[place]
        )
        return behind

    def _back(self) -> NDArray[np.int64]:
        return np.tril(np.full((self._persons.size, self._persons.size), _NEVER), -1)

    def _weights(self, lost: NDArray[np.int64]) -> NDArray[np.float64]:
        """At or above exp(-distance): the chord of 2^-z between whole z."""
        halvings = np.minimum(np.maximum(lost, 0) * self._halvings, _FARTHEST)
        whole = np.floor(halvings)
        return np.ldexp(1 - (halvings - whole) / 2, -whole.astype(np.int64)) * _LARGER

    def _propose(self, chance: Chance) -> tuple[list[int], int, Fraction] | None:
        """A path, how far it is behind, and the product of its weights; nothing where
        the bounds were too large.
        """
        points: list[int] = []
        behind, weight = 0, Fraction(1)
        start, bound = np.zeros(1, dtype=np.int64), None
        best = int((self._behind(0, start)[0] + self._to_go[0]).min())
        left = best
        for place, (ahead, to_go) in enumerate(zip(self._ahead, self._to_go, strict=True)):
            first = points[-1] if points else 0
            lost = (self._behind(place, start)[0] + to_go - left)[first:]
            steps = self._weights(lost)
            drawn = _pick(steps.tolist(), ahead[first:].tolist(), bound, chance)
            if drawn is None:
                return None
            points.append(first + drawn)
            behind, weight = behind + int(lost[drawn]), weight * Fraction(float(steps[drawn]))
            here = points[-1]
            start, bound, left = (
                self._persons[here : here + 1],
                float(ahead[here]),
                int(to_go[here]),
            )
        return points, behind, weight


def _pick(
    steps: list[float], ahead: list[float], bound: float | None, chance: Chance
) -> int | None:
    """A position with odds step * ahead out of the bound, or of their sum; nothing with
    what is left.
    """
    odds = [Fraction(step) * Fraction(rest) for step, rest in zip(steps, ahead, strict=True)]
    whole = None if bound is None else Fraction(bound)
    # all are powers of two
    scale = max(part.denominator for part in (*odds, *([] if whole is None else [whole])))
    sums = np.array(list(accumulate(int(part * scale) for part in odds)), dtype=object)
    place = chance.pick(sums, int(sums[-1]) if whole is None else int(whole * scale))
    return None if place == len(odds) else place
