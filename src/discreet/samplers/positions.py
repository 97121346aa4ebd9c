"""Candidates in order as far as they matter, and whole numbers for where they lie.

A *position* adds up the distances from each of the best to the next, each cut at some
number of cells, beyond which nothing matters: so positions never become large, however
far apart the best candidates are. The time depends on the number of candidates and on
public parameters only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.distances import (
    LargeIntegerDistances,
    OrderedDistances,
    SmallIntegerDistances,
)
from discreet.samplers.order_statistics import (
    ALL_PIECES,
    PAIRS,
    Keys,
    kth_largest,
    pieces_of,
    sorted_places,
)

WHOLE = (SmallIntegerDistances, LargeIntegerDistances)
"""Distances whose scores differ as their keys do."""

_LARGEST = 2**64 - 2
# more than the rounding errors of a few float operations
_ROUNDED = 1 - 2.0**-45


def sorted_candidates(
    distances: OrderedDistances, keys: Keys, count: int, differences: int
) -> NDArray[np.int64]:
    """All candidates from best to worst, as far as they can matter.

    differences: from which difference of whole scores on, behind the last of the best
        `count`, nobody matters. Scores of other kinds are sorted completely.
    """
    whole = isinstance(distances, WHOLE) and differences <= _LARGEST
    if keys.size <= PAIRS or not whole:
        return sorted_places(~keys, ALL_PIECES)
    last, beyond = np.uint64(kth_largest(keys, count, count)), np.uint64(differences)
    # How far behind the last of the best `count`, from 1 on; 0 for those that are better,
    # which are few.
    behind = (np.minimum(last - keys, beyond) + np.uint64(1)) * (keys <= last)
    order = sorted_places(behind, pieces_of(differences + 1))
    best = order[:count]
    order[:count] = best[sorted_places(~keys[best], ALL_PIECES)]
    return order


def whole_positions(
    keys: Keys, order: NDArray[np.int64], count: int, cut: int
) -> NDArray[np.int64]:
    """Positions in steps of 1 between keys, exactly. Distances are cut at so many steps."""
    ordered, last = keys[order], count - 1
    gaps = np.zeros_like(keys)
    np.subtract(ordered[:last], ordered[1 : last + 1], out=gaps[1 : last + 1])
    np.subtract(ordered[last], ordered[last + 1 :], out=gaps[last + 1 :])
    return _added(np.minimum(gaps, np.uint64(cut)).view(np.int64), count)


def rounded_positions(
    distances: OrderedDistances,
    order: NDArray[np.int64],
    count: int,
    *,
    scale: float,
    cells: int,
    parts: int,
) -> NDArray[np.int64]:
    """Positions in parts of a cell, each distance rounded down.

    scale: noise scales in a cell, to float precision.
    cells: where distances are cut.
    """
    ahead = np.full_like(order, order[count - 1])
    ahead[1:count] = order[: count - 1]
    ahead[0] = order[0]
    gaps = np.minimum(distances.between(ahead, order), cells * scale)
    return _added((gaps * (parts / scale * _ROUNDED)).astype(np.int64), count)


def _added(gaps: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The best one after the other, all others from the last of them."""
    gaps[:count] = gaps[:count].cumsum()
    gaps[count:] += gaps[count - 1]
    return gaps
