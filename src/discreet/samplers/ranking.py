"""Rankings: draw a candidate, take it out, and draw the next one from those that are left.

Of many candidates only those matter, but for a chance of 2^-28 each, that are in reach
of the k-th best: as long as fewer than k are gone, the best that is left is at least as
good as that one. If these are few, the envelope is built for this *shortlist* only, and
all others together are one heap of candidates out of reach. So a ranking costs little
more than one selection, and a ranking of one is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from discreet.randomness.chance import Chance
from discreet.samplers.columns import Columns
from discreet.samplers.distances import ArrayDistances, OrderedDistances
from discreet.samplers.envelope import LIGHTEST, Envelope, Proposal, Proposals, in_reach
from discreet.samplers.folded_envelope import FoldedEnvelope
from discreet.samplers.order_statistics import best_keys, kth_largest, nth_places
from discreet.samplers.ranked_envelope import LONGEST_RANKED, RankedEnvelope
from discreet.samplers.remaining_candidates import MOST_OTHERS
from discreet.samplers.shrinking_envelope import ShrinkingEnvelope

# times k: enough columns that the k-th best of the columns' best is close to the k-th
# best of all
_COLUMNS = 8
_WIDEST = 1024
_NARROWEST = 8
# a shortlist is worth its while if at most one column in this many has a member
_FEW = 4


def draw_ranking(
    draw: Callable[[Proposals, Chance], int],
    distances: OrderedDistances,
    count: int,
    chance: Chance,
    *,
    columns: Columns | None = None,
) -> list[int]:
    """Draw `count` candidates, each by the same law from those that are left.

    columns: the best of each column, where candidates are very many.
    """
    if count == 1:
        return [draw(_for_one_draw(distances, columns), chance)]
    # only numbers of a machine type are folded; of all others there is a table
    folded = columns is not None and isinstance(distances, ArrayDistances)
    if count <= LONGEST_RANKED and (folded or distances.size <= MOST_OTHERS):
        return _peel(draw, RankedEnvelope(distances, count, columns), count, chance)
    shortlist = find_shortlist(distances, count)
    if shortlist is None:
        return _peel(draw, ShrinkingEnvelope(distances), count, chance)
    few = ShortlistEnvelope(distances, shortlist)
    return few.translate(_peel(draw, few, count, chance))


def _for_one_draw(distances: OrderedDistances, columns: Columns | None) -> Envelope:
    """What one selection draws from: nobody will be taken out."""
    if columns is not None and isinstance(distances, ArrayDistances):
        return FoldedEnvelope(distances, columns.best)
    return Envelope(distances)


def _peel(
    draw: Callable[[Proposals, Chance], int],
    left: RankedEnvelope | ShrinkingEnvelope | ShortlistEnvelope,
    count: int,
    chance: Chance,
) -> list[int]:
    ranking = [draw(left, chance)]
    while len(ranking) < count:
        left.take(ranking[-1])
        ranking.append(draw(left, chance))
    return ranking


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The candidates that may matter, in ascending order. The `last` of them is no
    better than the k-th best of all.
    """

    members: NDArray[np.intp]
    last: int


def find_shortlist(distances: OrderedDistances, count: int) -> Shortlist | None:
    """All candidates in reach of one that is no better than the count-th best, if they are few."""
    width = min(_WIDEST, distances.size // (_COLUMNS * count))
    if width < _NARROWEST or not isinstance(distances, ArrayDistances):
        return None
    values, smallest = distances.order()
    # Candidates that follow each other are in different columns: often they are alike.
    length = values.size // width
    table = values[: width * length].reshape(width, length)
    leaders = table.min(axis=0) if smallest else table.max(axis=0)
    column = _place_of(leaders, count, smallest)
    last = column + length * _place_of(table[:, column], 1, smallest)
    seen = distances.seen_from(last)
    columns = _matter(seen.of(leaders), values[last])
    if columns.size * _FEW > length:
        return None
    candidates = np.concatenate(
        [
            np.add.outer(np.arange(width) * length, columns).ravel(),
            np.arange(width * length, values.size),
        ]
    )
    return Shortlist(candidates[_matter(seen.among(candidates), values[last])], last)


def _place_of(values: NDArray[Any], count: int, smallest: bool) -> int:
    """The place of the count-th best value."""
    keys = best_keys(values, smallest)
    return int(
        nth_places(keys == np.uint64(kth_largest(keys, count, count)), np.zeros(1, dtype=np.int64))[
            0
        ]
    )


def _matter(seen: ArrayDistances, last: Any) -> NDArray[np.intp]:
    """The places of those that are ahead of the last one, from which they are seen, or in
    reach of it.
    """
    values, smallest = seen.order()
    ahead = values < last if smallest else values > last
    ahead[in_reach(seen)] = True
    return np.flatnonzero(ahead)


class ShortlistEnvelope:
    """An envelope of a few candidates and a heap of all others. Candidates go by their
    position: first the list, then the heap.
    """

    __slots__ = ("_distances", "_gone", "_heap", "_list", "_shortlist")

    def __init__(self, distances: OrderedDistances, shortlist: Shortlist) -> None:
        self._distances, self._shortlist = distances, shortlist
        self._heap = distances.size - shortlist.members.size
        self._list = ShrinkingEnvelope(distances.among(shortlist.members), others=self._heap)
        # taken from the heap
        self._gone: set[int] = set()

    @property
    def total(self) -> int:
        """The sum of the weights."""
        return self._list.total + self._heap * LIGHTEST

    def rebase(self) -> int:
        """The weight that stands for the best candidate that is left: it is always on the list."""
        return self._list.rebase()

    def propose(self, chance: Chance) -> Proposal:
        """A candidate and its weight, with odds weight / total; nothing, with the odds
        that are left.
        """
        if not chance.coin(self._heap * LIGHTEST, self.total):
            return self._list.propose(chance)
        position = self._shortlist.members.size + chance.below(self._heap)
        return None if position in self._gone else (position, LIGHTEST)

    def keep(self, position: int, weight: int, chance: Chance) -> bool:
        """True with probability exp(-distance) * unit / weight."""
        if position < self._shortlist.members.size:
            return self._list.keep(position, weight, chance)
        return chance.decay(lambda: self._behind(position), self._list.unit, weight, likely=False)

    def take(self, position: int) -> None:
        """Take out the candidate that was proposed last."""
        if position < self._shortlist.members.size:
            self._list.take(position)
        else:
            self._gone.add(position)

    def translate(self, positions: list[int]) -> list[int]:
        """The candidates at these positions."""
        members = self._shortlist.members
        # how many of the heap come before each member
        before = members - np.arange(members.size)
        heap = (position - members.size for position in positions)
        return [
            int(members[place])
            if place < 0
            else place + int(before.searchsorted(place, side="right"))
            for place in heap
        ]

    def _behind(self, position: int) -> fmpq:
        """How far a candidate of the heap is behind the one that `unit` stands for: by
        way of the last one on the list.
        """
        last = self._shortlist.last
        (candidate,) = self.translate([position])
        place = int(self._shortlist.members.searchsorted(last))
        return (
            self._list.behind(place)
            + self._distances.exact(candidate)
            - self._distances.exact(last)
        )
