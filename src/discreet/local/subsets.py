"""Uniform subsets, many at once, by Floyd's method.

To pick m of n things, go through the last m of the numbers below n. For each number j take a uniform number up to j, or j itself
if that one was taken before. Every set of m is equally likely, and nothing is ever drawn again because it was taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.words import draw_below
from discreet.samplers.chance import Chance


def draw_subsets(
    own: NDArray[Any], included: NDArray[np.bool_], categories: int, size: int, chance: Chance
) -> NDArray[np.bool_]:
    """For each person a uniform set of `size` categories that holds, or does not hold, the own one; a row of marks for each.

    own: the position of each person's category.
    included: whether the set holds it. The others of the set are uniform among the other categories.
    """
    marks = np.zeros((own.size, categories), dtype=bool)
    flat, starts = marks.ravel(), np.arange(0, marks.size, categories)
    # The others are numbered without a gap: the last category goes by the number of the own one, until the end.
    others = categories - 1
    without = starts[~included]  # these get one more of the others
    flat[without + draw_below(others - size + 1, without.size, chance)] = True
    for number in range(others - size + 1, others):
        places = starts + draw_below(number + 1, starts.size, chance)
        flat[np.where(flat[places], starts + number, places)] = True
    marks[:, others] = flat[starts + own]
    flat[starts + own] = included
    return marks
