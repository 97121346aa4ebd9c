"""Gaussian noise as a move of the coin game: the worst that one coin of it can do.

A pair N(0, 1), N(mu, 1) leads from s to s U, where ln U is normal with the mean
-mu^2 / 2 and the variance mu^2, so that the move makes of W the average of W(s U).

Cut the line of ln U at the points of the grid. Inside a cell W lies below its chord in
s, and the average of the chord needs two numbers of the cell only: the probabilities of
the cell under the one and the other distribution. So the average over all cells is a sum
of values of W at grid points, with weights that are differences of the normal
distribution function. Beyond the last cell on the left W is at most 1, beyond the last
one on the right at most its value there. All weights are rounded up.

Noise of n times the variance ratio mu^2 is n such moves, one after the other, so one
move is enough for all noise: docs/proofs/coin-filter.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision, ball, up
from discreet.exact.normal import upper_tail

Array = NDArray[np.float64]

_BITS = 320
# a sum of n products of floats that are at least 0 is too small by less than n + 1 roundings,
# each of 2^-53; the kernel has fewer than 2^11 points
_SAFE = 1 + 2.0**-40
_MOST_POINTS = 2**11


@dataclass(frozen=True, slots=True)
class NoiseMove:
    """The average over a normal number, bounded from above at the places of the grid.

    downward, upward: how many steps the kernel reaches.
    weights: of the places from `-downward` to `upward`.
    lost: the probability beyond the kernel on the left, where W is at most 1.
    """

    downward: int
    upward: int
    weights: Array
    lost: float

    @property
    def reach(self) -> int:
        """The most steps that are looked at in either direction."""
        return max(self.downward, self.upward)

    def worst(self, values: Array, start: int, stop: int) -> Array:
        """Upper bounds of the move at the places from `start` to `stop`, `stop` excluded.

        values: upper bounds of W, known from `start - downward` to `stop + upward`.
        """
        window = values[start - self.downward : stop + self.upward]
        best: Array = np.correlate(window, self.weights, "valid")
        best += self.lost
        return best


def make_noise_move(mu: Fraction, step: Fraction, *, below: float, above: float = 6.5) -> NoiseMove:
    """The move of a Gaussian pair.

    mu: the distance of the two in standard deviations.
    step: the step of the grid.
    below, above: how many deviations the kernel reaches to either side; what is beyond
        is taken at its worst.
    """
    downward = math.ceil(below * float(mu / step)) + 1
    upward = math.ceil(above * float(mu / step)) + 1
    if downward + upward >= _MOST_POINTS:
        raise ValueError("the step is too small for noise of this size")
    return at_precision(_BITS, lambda: _make(mu, step, downward, upward))


def _make(mu: Fraction, step: Fraction, downward: int, upward: int) -> NoiseMove:
    places = range(-downward, upward + 1)
    first = [_below((step * place + mu**2 / 2) / mu) for place in places]
    second = [_below((step * place - mu**2 / 2) / mu) for place in places]
    ratios = [ball(step * place).exp() for place in places]
    weights = [arb(0) for _ in places]
    for cell, (low, high) in enumerate(pairwise(ratios)):
        mine, theirs = first[cell + 1] - first[cell], second[cell + 1] - second[cell]
        weights[cell] += (high * mine - theirs) / (high - low)
        weights[cell + 1] += (theirs - low * mine) / (high - low)
    # beyond the largest ratio W is at most its value there
    weights[-1] += 1 - first[-1]
    rounded = np.array([max(0.0, up(weight)) for weight in weights]) * _SAFE
    return NoiseMove(downward, upward, rounded, up(first[0]) * _SAFE)


def _below(deviations: Fraction) -> arb:
    """The probability that a normal number is smaller."""
    return upper_tail(-ball(deviations))
