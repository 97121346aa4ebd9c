"""The published way to the joint top-k, as a peer: all d * k differences are listed, sorted and
counted, in floating point.

Gillenwater, Joseph, Munoz and Ribero 2022, "A joint exponential mechanism for differentially
private top-k", written anew from the description there. A list s of k candidates has utility
-max_i (c_i - c_(s_i)), where c_1 >= c_2 >= ... are the scores in order. Each of the d * k
differences c_i - c_j is the utility of some number of lists; ties are put in order, so that each
list belongs to one difference. Going through the differences from the smallest up, the i-th
member of a list may be any of the first t_i candidates, and t_i grows by 1 at each difference of
row i. So the number of lists of one difference (i, j) is the product of t_h - (h - 1) over all
other rows h, and its logarithm is a running sum. One of the differences is drawn by Gumbel noise,
and then one of its lists uniformly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PublishedJoint:
    """The joint exponential mechanism for counts of persons. Takes O(d k) memory; not exact."""

    k: int
    epsilon: float
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(3))

    def select(self, scores: NDArray[Any]) -> list[int]:
        """The positions of k candidates, best first."""
        order = np.argsort(-scores, kind="stable")
        descending = scores[order]
        # Rows from the last rank to the first, so that a stable sort puts ties as the paper
        # does: higher ranks first, then columns.
        differences = np.subtract.outer(descending[: self.k][::-1], descending).ravel()
        places = differences.argsort(kind="stable")  # merges k rows that are in order already
        rows, columns = np.divmod(places, scores.size)
        ranks = self.k - 1 - rows
        logarithms = _log_lists(ranks, columns, self.k) - self.epsilon / 2 * differences[places]
        chosen = int((logarithms + self.generator.gumbel(size=places.size)).argmax())
        reaches = np.bincount(ranks[: chosen + 1], minlength=self.k)
        members = self._any_list(reaches, int(ranks[chosen]), int(columns[chosen]))
        return [int(order[member]) for member in members]

    def _any_list(self, reaches: NDArray[np.intp], rank: int, column: int) -> list[int]:
        """A uniform list whose i-th member is one of the first reaches[i], and the one of `rank`
        is `column`.
        """
        members: list[int] = []
        for place, reach in enumerate(reaches.tolist()):
            if place == rank:
                members.append(column)
                continue
            banned = [*members, column] if place < rank else members
            drawn = int(self.generator.integers(reach))
            while drawn in banned:
                drawn = int(self.generator.integers(reach))
            members.append(drawn)
        return members


def _log_lists(
    ranks: NDArray[np.intp], columns: NDArray[np.intp], count: int
) -> NDArray[np.float64]:
    """For each difference, in ascending order, the logarithm of the number of lists that belong
    to it.
    """
    ways = columns + 1 - ranks  # of the row of this difference, from here on
    possible = np.maximum(ways, 1)
    growth = np.log(possible) - np.log(np.maximum(ways - 1, 1))
    others: NDArray[np.float64] = np.cumsum(growth) - np.log(possible)
    complete = np.cumsum(ways == 1) == count  # before, some row has no candidate yet
    others[~(complete & (ways >= 1))] = -np.inf
    return others
