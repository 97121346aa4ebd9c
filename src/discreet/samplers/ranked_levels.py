"""Where the candidates of a list lie, as whole numbers: the best by their positions, all
others by level.

A *position* adds up the distances from each of the best to the next, each cut at some
number of cells, beyond which nothing matters: so positions never become large, however
far apart the best candidates are.

A *level* says how far a candidate is behind the last of the best, in whole cells,
rounded down, where everything from a public number of cells on is one level. Which of
the candidates of a level comes first does not matter. So few candidates are sorted by
their levels, and very many are only counted, level by level and chunk by chunk: one
that was drawn is found in the only chunk that has it. Every candidate takes part,
whatever its score is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.samplers.columns import Columns, best_in_columns
from discreet.samplers.distances import (
    GRAINS_PER_SCALE,
    ArrayDistances,
    LargeIntegerDistances,
    OrderedDistances,
    SmallIntegerDistances,
)
from discreet.samplers.order_statistics import (
    best_keys,
    best_places,
    nth_places,
    pieces_of,
    sorted_places,
)

WHOLE = (SmallIntegerDistances, LargeIntegerDistances)
"""Distances whose scores differ as their keys do."""

ROUNDED = 1 - 2.0**-45
"""A factor below 1 by more than the rounding errors of a few float operations."""


def best_candidates(
    distances: OrderedDistances, count: int, columns: Columns | None
) -> NDArray[np.int64]:
    """The best `count` candidates, and perhaps all others after them, from best to worst.

    columns: the best of each column, where candidates are very many.
    """
    if columns is not None and isinstance(distances, ArrayDistances):
        return best_in_columns(*distances.order(), columns, count)
    return best_places(*distances.order(), count)


def whole_positions(
    distances: OrderedDistances, best: NDArray[np.int64], cut: int
) -> NDArray[np.int64]:
    """Positions of the best in steps of 1 between whole scores, exactly. Distances from
    one to the next are cut at `cut` steps.
    """
    values, smallest = distances.order()
    keys = best_keys(values[best], smallest)
    gaps = np.zeros_like(keys)
    np.subtract(keys[:-1], keys[1:], out=gaps[1:])
    return np.minimum(gaps, np.uint64(cut)).view(np.int64).cumsum()


def rounded_positions(
    distances: OrderedDistances, best: NDArray[np.int64], *, scale: float, cells: int, parts: int
) -> NDArray[np.int64]:
    """Positions of the best in parts of a cell, each distance rounded down, from a start
    that puts the last of them at the beginning of a cell.

    scale: noise scales in a cell, to float precision.
    cells: where distances are cut.
    """
    gaps = np.zeros(best.size)
    np.minimum(distances.between(best[:-1], best[1:]), cells * scale, out=gaps[1:])
    positions = (gaps * (parts / scale * ROUNDED)).astype(np.int64).cumsum()
    positions += -positions[-1] % parts
    return positions


def most_behind(
    distances: OrderedDistances, best: NDArray[np.int64], listed: NDArray[np.int64]
) -> fmpq:
    """By how much a member of the list is behind the one of the best at its place, at
    most: exactly.
    """
    if not isinstance(distances, ArrayDistances):
        pairs = zip(best.tolist(), listed.tolist(), strict=True)
        return max(distances.exact(member) - distances.exact(ahead) for ahead, member in pairs)
    values, smallest = distances.order()
    if isinstance(distances, WHOLE):
        ahead, behind = best_keys(values[best], smallest), best_keys(values[listed], smallest)
        place = int(((ahead - behind) * (ahead > behind)).argmax())
    else:
        ends = (listed, best) if smallest else (best, listed)
        place = _largest_difference(*(values[end].astype(np.float64) for end in ends))
    return distances.exact(int(listed[place])) - distances.exact(int(best[place]))


def _largest_difference(ones: NDArray[np.float64], others: NDArray[np.float64]) -> int:
    """The place of the largest one - other.

    A difference of floats and what its rounding took are two floats whose sum is exact
    (Knuth's two-sum), and rounding keeps the order.
    """
    rounded = ones - others
    second = rounded - ones
    taken = (ones - (rounded - second)) - (others + second)
    return int(np.where(rounded == rounded.max(), taken, -np.inf).argmax())


# candidates from which on counting them is faster than sorting them, and how many there
# have to be for each level, and for each of the best
_MANY, _FEW = 1 << 15, 16
# candidates in a chunk: for each level, and in all, at least
_CHUNK_LEVELS, _CHUNK = 2, 1 << 11
# candidates that are looked at together: small enough for the cache
_TOGETHER = 1 << 14
# members of chunks among which drawn ones are looked for at once
_SEARCHED = 1 << 20
# more than rounding errors, and less than one level of 2^39
_BEYOND = 1 + 2.0**-40

LevelsOf = Callable[[slice], NDArray[Any]]
"""The levels of some candidates in a row, from 0 to the deepest, as whole numbers or as floats
that are not yet rounded down; any for the best.
"""


class Levels:
    """How many candidates there are at each level, beside the best.

    best: the best candidates, which are not counted.
    counts: for each level how many others there are.
    """

    __slots__ = ("_chunk", "_levels", "_order", "_starts", "_table", "best", "counts")

    def __init__(
        self, size: int, count: int, deepest: int, levels_of: LevelsOf, first: NDArray[np.int64]
    ) -> None:
        """`first`: the best `count`, and perhaps all others after them, from best to worst."""
        self.best, number = first[:count], deepest + 1
        self._order: NDArray[np.int64] | None = None
        # which way is taken depends on numbers of candidates and public parameters only
        if first.size == size:
            self._order = first[count:]
            self._add_up(levels_of(slice(0, size)).astype(np.int64)[self._order], number)
        elif size >= max(_MANY, _FEW * count, _FEW * number):
            self._count(size, number, levels_of)
        else:
            self._sort(size, number, levels_of)

    def find_all(self, levels: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each level and rank, counted from 0, the candidate there, that is none of the
        best.
        """
        if self._order is not None:
            found: NDArray[np.int64] = self._order[self._starts[levels] + ranks]
            return found
        together = max(1, _SEARCHED // self._chunk)
        parts = (slice(start, start + together) for start in range(0, levels.size, together))
        return np.concatenate(
            [ranks[:0], *(self._search(levels[part], ranks[part]) for part in parts)]
        )

    def _sort(self, size: int, number: int, levels_of: LevelsOf) -> None:
        levels = levels_of(slice(0, size)).astype(np.int64)
        # the best are at a level of their own, behind all others
        levels[self.best] = number
        self._order = sorted_places(levels.view(np.uint64), pieces_of(number))
        self._add_up(levels, number)

    def _add_up(self, levels: NDArray[np.int64], number: int) -> None:
        self.counts: NDArray[np.int64] = np.bincount(levels, minlength=number)[:number]
        self._starts = self.counts.cumsum() - self.counts

    def _count(self, size: int, number: int, levels_of: LevelsOf) -> None:
        self._chunk = max(_CHUNK, _CHUNK_LEVELS * number)
        chunks = -(-size // self._chunk)
        # with room for the levels of all chunks that are looked at together
        kind = np.dtype(np.uint16 if number < 1 << 15 else np.uint32)
        # the last chunk is filled up with a level that is never asked for
        self._levels: NDArray[np.unsignedinteger[Any]]
        self._levels = np.full(chunks * self._chunk, number, dtype=kind)
        self._table = np.empty((chunks, number), dtype=np.int32)
        together = max(1, _TOGETHER // self._chunk)
        # so that each chunk has levels of its own
        shifts = np.repeat(np.arange(together) * number, self._chunk).astype(kind)
        for first in range(0, chunks, together):
            rows = self._table[first : first + together]
            start = first * self._chunk
            part = slice(start, min(start + rows.shape[0] * self._chunk, size))
            self._levels[part] = levels_of(part)
            own = self._levels[part] + shifts[: part.stop - start]
            rows[:] = np.bincount(own, minlength=rows.size).reshape(rows.shape)
        # the best are at no level
        np.subtract.at(self._table, (self.best // self._chunk, self._levels[self.best]), 1)
        self._levels[self.best] = number
        self.counts = self._table.sum(axis=0, dtype=np.int64)

    def _search(self, levels: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        # how many of its level there are up to each chunk
        reached = self._table[:, levels].cumsum(axis=0)
        chunks = (reached <= ranks).sum(axis=0)
        here = self._table[chunks, levels]
        ranks = ranks - (reached[chunks, np.arange(levels.size)] - here)
        members = self._levels.reshape(-1, self._chunk)[chunks] == levels[:, None]
        # one after the other, so that each rank counts those of the chunks before, too
        places = nth_places(members.ravel(), ranks + here.cumsum() - here)
        found: NDArray[np.int64] = chunks * self._chunk + places % self._chunk
        return found


def whole_levels(
    distances: ArrayDistances, count: int, deepest: int, columns: Columns | None = None
) -> Levels:
    """Levels of integers beside the best `count`, in steps of 1."""
    scores, smallest = distances.order()
    first = best_candidates(distances, count, columns)
    last = scores[first[count - 1]].astype(np.int64)

    def levels_of(part: slice) -> NDArray[np.uint64]:
        # modulo 2^64, where differences are exact: a candidate ahead, which is one of the
        # best, seems very far behind
        words = scores[part].astype(np.int64, copy=False)
        behind = np.subtract(words, last) if smallest else np.subtract(last, words)
        found: NDArray[np.uint64] = np.minimum(behind.view(np.uint64), np.uint64(deepest))
        return found

    return Levels(scores.size, count, deepest, levels_of, first)


def rounded_levels(
    distances: OrderedDistances,
    count: int,
    cells: int,
    deepest: int,
    columns: Columns | None = None,
) -> Levels:
    """Levels of any scores beside the best `count`, in cells, of which a noise scale has
    `cells`.
    """
    first = best_candidates(distances, count, columns)
    last = int(first[count - 1])
    if isinstance(distances, ArrayDistances):
        seen, factor = distances.seen_from(last), cells / GRAINS_PER_SCALE * ROUNDED

        def distances_of(part: slice) -> NDArray[np.float64]:
            estimates = np.empty(part.stop - part.start)
            seen.estimate(part.start, part.stop, estimates)
            return estimates

    else:
        factor = cells * ROUNDED

        def distances_of(part: slice) -> NDArray[np.float64]:
            behind = np.arange(part.start, part.stop)
            return np.abs(distances.between(np.full_like(behind, last), behind))

    # so that rounding leaves it at the deepest level
    farthest = deepest / factor * _BEYOND

    def levels_of(part: slice) -> NDArray[np.float64]:
        found = distances_of(part)
        np.minimum(found, farthest, out=found)
        return np.multiply(found, factor, out=found)

    return Levels(distances.size, count, deepest, levels_of, first)
