"""Normal vectors that are far out: |z|^2 above a given number, known to any digit.

The direction is that of a normal vector. Half the square of the length has the tail of a
gamma law, which is drawn by rejection from an exponential one. docs/proofs/ball.md#tails.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.enclosures import decide, less
from discreet.randomness.chance import Chance, LazyUniform
from discreet.samplers.losses import Floats
from discreet.samplers.normals import ERROR, LazyNormals

# a direction from a shorter vector is left to enclosures
_SHORTEST = 0.125


def tail_mass(dimensions: int, least_square: float) -> arb:
    """The probability that |z|^2 is above `least_square`."""
    shape = arb(dimensions) / 2
    return (arb(least_square) / 2).gamma_upper(shape) / shape.gamma()


class LazyTailNormals:
    """Normal vectors on the condition that |z|^2 is above `least_square`, which is at least
    1 and at least the number of dimensions.

    values: floats within `error` of the vectors, in the rows that are certain.
    certain: for which rows that is proved.
    """

    def __init__(self, rows: int, columns: int, least_square: float, chance: Chance) -> None:
        self._start, self._columns = arb(least_square) / 2, columns
        self._directions = LazyNormals(rows, columns, chance)
        self._halves = [self._draw_half(chance) for _ in range(rows)]
        found = self._directions.values
        lengths = np.sqrt((found * found).sum(axis=1))
        balls = [(2 * self._half(uniform, 64)).sqrt() for uniform in self._halves]
        sizes = np.array([float(size.mid()) for size in balls]).reshape(rows)
        narrow = np.array([float(size.rad()) < 2.0**-40 for size in balls], dtype=np.bool_)
        self.values: Floats = found * (sizes / np.maximum(lengths, _SHORTEST))[:, None]
        long = lengths > _SHORTEST * 1.01
        self.certain: NDArray[np.bool_] = self._directions.certain & narrow & long
        largest = float(sizes.max()) if rows else 0.0
        direction = 2 * math.sqrt(columns) * ERROR / _SHORTEST
        self.error = 1.01 * (largest + 1) * direction + 2.0**-39

    def balls(self, row: int, precision: int) -> list[arb]:
        """Enclosures of the numbers of one row."""
        numbers = self._directions.balls(row, precision)
        length = sum((number * number for number in numbers), arb(0)).sqrt()
        size = (2 * self._half(self._halves[row], precision)).sqrt()
        return [number / length * size for number in numbers]

    def _draw_half(self, chance: Chance) -> LazyUniform:
        """The uniform number that makes half of |z|^2, drawn until it is kept."""
        while True:
            uniform, coin = chance.uniform(), chance.uniform()
            if decide(partial(self._is_kept, uniform, coin)):
                return uniform

    def _is_kept(self, uniform: LazyUniform, coin: LazyUniform, precision: int) -> bool | None:
        return less(coin.ball(precision).log(), self._log_kept(uniform, precision))

    def _half(self, uniform: LazyUniform, precision: int) -> arb:
        return self._start - uniform.ball(precision).log() / self._rate()

    def _rate(self) -> arb:
        """Of the exponential law above: the density's logarithm falls at least that fast."""
        power = arb(self._columns) / 2 - 1
        return 1 - power / self._start if self._columns > 2 else arb(1)

    def _log_kept(self, uniform: LazyUniform, precision: int) -> arb:
        """The logarithm of the gamma density over the exponential one, at most 0."""
        beyond = -uniform.ball(precision).log() / self._rate()
        power = arb(self._columns) / 2 - 1
        slope = power * beyond / self._start if self._columns > 2 else arb(0)
        return power * (beyond / self._start).log1p() - slope
