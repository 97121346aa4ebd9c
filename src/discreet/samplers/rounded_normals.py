"""Exact normal numbers times a width, rounded to whole numbers.

The normal numbers are those of normals.py, known to as many digits as a rounding needs:
floats decide all but those that come close to a half, and more bits are drawn only for
these. docs/proofs/noise.md#rounded-normal-noise has the proof.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from discreet.exact.enclosures import ball, decide
from discreet.exact.rationals import nearest_float
from discreet.randomness.chance import Chance
from discreet.samplers.normals import ERROR, LazyNormals

Floats = NDArray[np.float64]

# a wider noise is left to enclosures: floats would not see its halves
_WIDEST = 2.0**32
# the largest float of a certain row: the radius of the smallest first word, and its error
_LARGEST = 8.0
# the number is within ERROR; the width, the product and the sum with a half are rounded
_SAFE = 2 * ERROR


def draw_rounded_normals(variance: Fraction, count: int, chance: Chance) -> list[int]:
    """Independent whole numbers round(sqrt(variance) * z), each with a standard normal z."""
    normals = LazyNormals(-(-count // 2), 2, chance)
    # a width that floats do not have is left to enclosures, too
    width = min(math.sqrt(nearest_float(variance)), _WIDEST)
    shifted = normals.values * width + 0.5
    whole = np.floor(shifted)
    part = shifted - whole
    # a certain number is below 8, so that 2 ERROR times the width, and as much for each whole
    # number, is far above what is lost
    margin = _SAFE * (1 + _LARGEST * width)
    certain = normals.certain[:, None] & (part > margin) & (part < 1 - margin)
    certain &= width < _WIDEST
    numbers: list[int] = []
    for place in range(count):
        row, column = divmod(place, 2)
        if certain[row, column]:
            numbers.append(int(whole[row, column]))
        else:
            numbers.append(decide(partial(_rounded, normals, row, column, variance)))
    return numbers


def _rounded(
    normals: LazyNormals, row: int, column: int, variance: Fraction, precision: int
) -> int | None:
    """The whole number, once an enclosure of the real one lies between two halves."""
    real = ball(variance).sqrt() * normals.balls(row, precision)[column] + arb(0.5)
    whole: fmpz | None = real.floor().unique_fmpz()
    return None if whole is None else int(whole)
