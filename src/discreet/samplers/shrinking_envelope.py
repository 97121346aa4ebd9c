"""An envelope that candidates can be taken out of, one after the other, for rankings.

Nothing is computed anew that has not changed. A candidate that is taken out loses its
weight in its own block. The weights of all others stay as they are, seen from the first
best candidate, until what is left is so light that most proposals would come from
candidates out of reach; only then the envelope moves its point of view to the best
candidate that is left, and it looks again only at the blocks that come into reach.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import lower_bound
from discreet.randomness.chance import Chance
from discreet.samplers.distances import OrderedDistances
from discreet.samplers.envelope import LIGHTEST, UNIT, Envelope, Proposal, block_bounds, in_reach

# look from closer when candidates out of reach could have a quarter of all weight
_WASTE = 4
# count the weights anew when those that are gone have a sixteenth of all weight
_STALE = 16
_LARGEST_BATCH = 32


class ShrinkingEnvelope(Envelope):
    """An envelope that candidates can be taken out of."""

    __slots__ = (
        "_base",
        "_batch",
        "_best",
        "_bounds",
        "_latest",
        "_leaders",
        "_moved",
        "_offers",
        "_others",
        "_stale",
        "_stale_weight",
        "_taken",
    )
    distances: OrderedDistances

    def __init__(self, distances: OrderedDistances, others: int = 0) -> None:
        # candidates out of reach, which are not among the distances: the caller draws them
        self._others = others
        self._bounds = block_bounds(distances.size)
        # for each block, the places that are empty
        self._taken: dict[int, set[int]] = {}
        # proposals drawn ahead: a batch is faster than one by one
        self._offers: list[Proposal] = []
        # how many at once next time
        self._batch = 1
        # the weight of the latest proposal
        self._latest = 0
        # blocks whose mass still counts a candidate that is gone ...
        self._stale: set[int] = set()
        # ... and how much that is
        self._stale_weight = 0
        # for each block the best candidate that is left; -1 if it is empty
        self._leaders: NDArray[np.intp] | None = None
        # the best of them, while it is known
        self._best: int | None = None
        # the distance at which `unit` stands
        self._base = fmpq(0)
        # the distance, behind the best of all, from where distances count now
        self._moved = fmpq(0)
        super().__init__(distances)

    def propose(self, chance: Chance) -> Proposal:
        """A candidate that is left and its weight, with odds weight / total; nothing,
        with the odds that are left.
        """
        if self._many_blocks:
            if not self._offers:
                self._offers = self._propose_many(self._batch, chance)
                self._batch = min(2 * self._batch, _LARGEST_BATCH)
            proposal = self._offers.pop()
        else:
            proposal = super().propose(chance)
        if proposal is None or self._is_taken(proposal[0]):
            return None
        self._latest = proposal[1]
        return proposal

    def take(self, candidate: int) -> None:
        """Take out the candidate that was proposed last. At least one other has to be left."""
        number, place = self._locate(candidate)
        self._taken.setdefault(number, set()).add(place)
        if self._block is not None and self._block[0] == number:
            self._block[1][place:] -= self._latest
        self._stale.add(number)
        self._stale_weight += self._latest
        if self._leaders is not None and self._leaders[number] == candidate:
            self._leaders[number] = self._leader(number)
            self._best = None
        if self._stale_weight * _STALE > self.total or not self._many_blocks:
            self._refresh()

    def rebase(self) -> int:
        """Let `unit` stand for the best candidate that is left. Permute-and-flip needs
        that: its coins depend on the best.
        """
        if self._taken and self._best is None:
            base = self.distances.exact(self._find_best())
            if base != self._base:
                # Weights above the unit are cut. The masses of the blocks stay: they are
                # upper bounds all the more.
                self._base = base
                self.unit = self._cap = int(lower_bound(lambda: UNIT * (-arb(base)).exp()))
                self._forget()
                self._add_up()
        return self.unit

    def behind(self, candidate: int) -> fmpq:
        """The exact distance of a candidate behind the one that `unit` stands for."""
        return self.distances.exact(candidate) - self._base

    def lead(self) -> fmpq:
        """The exact distance of the candidate that `unit` stands for behind the best of all."""
        return self._moved + self._base

    def _propose_many(self, count: int, chance: Chance) -> list[Proposal]:
        """Independent proposals from the weights of this moment."""
        if count == 1:
            return [super().propose(chance)]
        numbers = [self._pick_block(chance) for _ in range(count)]
        running = self._table(numbers).cumsum(axis=1)
        return [
            self._propose_from(number, weights, chance)
            for number, weights in zip(numbers, running, strict=True)
        ]

    def _table(self, numbers: list[int]) -> NDArray[np.int64]:
        """The weights of some blocks, one in a row; 0 where a candidate is gone, and
        past the last one.
        """
        candidates = np.add.outer(self._bounds[numbers], np.arange(self._bounds[1])).ravel()
        beyond = candidates >= self.distances.size
        candidates[beyond] = 0
        weights = self._whole_weights(self.distances.among(candidates), 0, candidates.size)
        weights[beyond] = 0
        table = weights.reshape(len(numbers), -1)
        for row, number in enumerate(numbers):
            # masses may not count them any more
            table[row, list(self._taken.get(number, ()))] = 0
        return table

    def _weights(self, number: int) -> NDArray[np.int64]:
        """The integer weights of one block, 0 where a candidate is gone."""
        weights = super()._weights(number)
        weights[list(self._taken.get(number, ()))] = 0
        return weights

    def _refresh(self) -> None:
        """Stop counting the candidates that are gone, and look from closer if little is left."""
        if self._many_blocks:
            for number in self._stale:
                self._reweigh(number)
        self._add_up()
        self._offers, self._batch = [], 1
        self._stale.clear()
        self._stale_weight = 0
        if _WASTE * LIGHTEST * (self.distances.size + self._others) > self.total:
            self._look_closer()

    def _look_closer(self) -> None:
        """Count distances from the best candidate that is left."""
        best = self._find_best()
        self._moved += self.distances.exact(best)
        self.distances = self.distances.seen_from(best)
        self._base = fmpq(0)
        self.unit = self._cap = UNIT
        self._forget()
        if self._many_blocks:
            # _find_best has found them
            assert self._leaders is not None
            numbers = np.flatnonzero(self._leaders >= 0)
            near = numbers[in_reach(self.distances.among(self._leaders[numbers]))]
            self._look_again(near, self._taken)
        self._add_up()

    def _forget(self) -> None:
        """Drop what was drawn or added up with other weights."""
        self._block, self._offers, self._batch = None, [], 1

    def _locate(self, candidate: int) -> tuple[int, int]:
        """The block of a candidate, and its place there."""
        return divmod(candidate, int(self._bounds[1]))

    def _is_taken(self, candidate: int) -> bool:
        number, place = self._locate(candidate)
        return place in self._taken.get(number, ())

    def _find_best(self) -> int:
        """The best candidate that is left; one of them, if there are several."""
        values, smallest = self.distances.order()
        if self._leaders is None:
            self._leaders = best_of_rows(values, int(self._bounds[1]), smallest)
            for number in self._taken:
                self._leaders[number] = self._leader(number)
        found = self._leaders[self._leaders >= 0]
        self._best = int(found[_first_best(values[found], smallest)])
        return self._best

    def _leader(self, number: int) -> int:
        """The best candidate that is left in one block, or -1."""
        start, end = self._bounds[number : number + 2].tolist()
        left = np.ones(end - start, dtype=np.bool_)
        # who is gone is known: it was named
        left[list(self._taken[number])] = False
        places = np.flatnonzero(left)
        if not places.size:
            return -1
        values, smallest = self.distances.order()
        return int(start + places[_first_best(values[start:end][places], smallest)])


def best_of_rows(values: NDArray[Any], width: int, smallest: bool) -> NDArray[np.intp]:
    """Positions of the best in each `width` consecutive values."""
    whole = values.size // width
    # copies an array that has gaps between its values
    table = values[: whole * width].reshape(whole, width)
    best: NDArray[np.intp] = np.arange(0, values.size, width)
    best[:whole] += table.argmin(axis=1) if smallest else table.argmax(axis=1)
    if whole < best.size:
        best[-1] += _first_best(values[whole * width :], smallest)
    return best


def _first_best(values: NDArray[Any], smallest: bool) -> int:
    return int(values.argmin() if smallest else values.argmax())
