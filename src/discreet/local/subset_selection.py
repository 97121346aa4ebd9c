"""Subset selection: report a set of categories that has the person's own in it more often
than others.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class
from discreet.exact.enclosures import at_precision, ball
from discreet.exact.rationals import Number, count, set_frozen
from discreet.local.base import LocalMechanism, Reports, read_array, unlike_any_report
from discreet.local.categories import Shares, shares_at
from discreet.local.randomized_response import RandomizedResponse
from discreet.privacy.parameters import Slot, given, parameterized
from discreet.randomness.bulk_draws import Expansion, draw_subsets, flip_coins
from discreet.randomness.chance import Chance


@public_class
@parameterized
class SubsetSelection(LocalMechanism):
    """Report a set of `size` categories: any set that has the person's own with odds
    e^epsilon, any other set with odds 1.

    categories: the public labels, at least two; range(10) for values that are whole
        numbers below 10.
    epsilon: the privacy loss of one report.
    size: how many categories a report names. If not given, the one with the least
        variance, about d / (e^epsilon + 1) for d categories; with size 1 this is
        randomized response.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    `privatize` gives an array with a row for each report: the positions of its
    categories, in increasing order.

    Privacy: epsilon-DP for each report, between any two values: the exponential
        mechanism over all sets of this size with the score "has the own category",
        whose odds always sum to the same, so that no factor 2 is paid.
    Utility: on average over the categories, the least variance of the three local
        mechanisms (docs/explanation/which-report.md).
    Cost: a coin and `size` whole numbers a report.
    Reference: Wang et al. 2016; Ye and Barg 2018. Proof: docs/proofs/local.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = SubsetSelection(range(20), epsilon=1)
    >>> mechanism.size, mechanism.release(7, bits=SeededBits(3)).value, mechanism.privacy_loss()
    (5, [1, 7, 12, 16, 19], PureDP(epsilon=1))
    >>> reports = mechanism.privatize([7] * 6_000 + [8] * 4_000, bits=SeededBits(1))
    >>> reports[:2].tolist()
    [[4, 7, 9, 13, 15], [3, 9, 12, 13, 14]]
    >>> mechanism.estimate(reports)[6:9].round(3).tolist()
    [0.0, 0.604, 0.409]
    >>> round(mechanism.standard_error(reports=10_000), 4)
    0.018
    """

    size: Slot[int | None, int] = given(default=None)

    def __post_init__(self) -> None:
        LocalMechanism.__post_init__(self)
        set_frozen(self, size=self._read_size(self.size))

    def _read_size(self, size: int | None) -> int:
        if size is None:
            return self._best_size()
        categories = self._categories.size
        read = count(size, "size")
        if read >= categories:
            raise ParameterError("size", f"less than the number of categories, {categories}", read)
        return read

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""
        return "subset"

    @property
    def _report_shape(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def _report_kind(self) -> np.dtype[Any]:
        return self._categories.kind

    def _draw(self, positions: NDArray[Any], chance: Chance) -> Reports:
        included = flip_coins(Expansion(self._own), positions.size, chance)
        marks = draw_subsets(positions, included, self._categories.size, self.size, chance)
        starts = np.arange(0, marks.size, self._categories.size)
        return np.flatnonzero(marks).reshape(positions.size, self.size) - starts[:, None]

    def _read_reports(self, reports: Any) -> Reports:
        named = self._labelled(reports)
        if named is not None and any(len(positions) != self.size for positions in named):
            raise unlike_any_report(f"lists of {self.size} categories")
        array = read_array(reports if named is None else named, 2)
        if array.shape[1] != self.size:
            raise unlike_any_report(f"rows of {self.size} positions")
        return array

    def _count(self, reports: Reports) -> NDArray[np.int64]:
        categories = self._categories.size
        if (
            reports.dtype.kind == "b"
            or not 0 <= int(reports.min()) <= int(reports.max()) < categories
        ):
            raise unlike_any_report(f"positions of categories, 0 to {categories - 1}")
        if not (reports[:, :-1] < reports[:, 1:]).all():
            raise unlike_any_report("rows of different positions in increasing order")
        return np.bincount(reports.ravel(), minlength=categories)

    def _in_labels(self, report: Any) -> Any:
        return [self._categories.labels[position] for position in report.tolist()]

    def _read_labels(self, report: Any) -> list[int]:
        positions = self._read_set(report)
        if len(positions) != self.size:
            raise ParameterError("output", f"{self.size} categories", len(positions))
        return positions

    def _score(self, report: list[int], position: int) -> int:
        return int(position in report)

    def _log_total(self) -> arb:
        others = self._categories.size - 1
        return (
            ball(self.rate)
            + (comb(others, self.size - 1) + comb(others, self.size) * self._decay()).log()
        )

    def _own(self) -> arb:
        return self._own_for(self.size)

    def _other(self) -> arb:
        return self._other_for(self.size)

    def _more_shown(self) -> list[str]:
        return [f"size={self.size}"]

    def _own_for(self, size: int) -> arb:
        return 1 / (1 + self._decay() * (self._categories.size - size) / size)

    def _other_for(self, size: int) -> arb:
        # the rest of the set is spread evenly
        return (size - self._own_for(size)) / (self._categories.size - 1)

    def _decay(self) -> arb:
        """The odds of a set without the person's own category beside one with it."""
        return (-ball(self.rate)).exp()

    def _best_size(self) -> int:
        """The size with the least variance: next to d / (e^epsilon + 1), below it or above."""
        categories = self._categories.size
        near = at_precision(
            128, lambda: float((categories * self._decay() / (1 + self._decay())).mid())
        )
        sizes = [min(max(1, size), categories - 1) for size in (int(near), int(near) + 1)]
        return min(sizes, key=lambda size: self._shares_for(size).mean_over(categories))

    def _shares_for(self, size: int) -> Shares:
        return shares_at(self.epsilon, lambda: self._own_for(size), lambda: self._other_for(size))


def best_local_mechanism(
    categories: Any, *, epsilon: Number, acknowledge: str | None = None
) -> LocalMechanism:
    """The mechanism with the least variance for this number of categories and this epsilon.

    categories: the public labels, at least two; range(10) for values that are whole
        numbers below 10.
    epsilon: the privacy loss of one report.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    That is subset selection with its best size; where this is 1, it is randomized
    response, which then says the same in a simpler way. RAPPOR is never far behind for
    a small epsilon, and is there for its fixed d bits a report.

    >>> best_local_mechanism(["yes", "no"], epsilon=1)
    RandomizedResponse(<2 categories>, epsilon=1)
    >>> best_local_mechanism(range(100), epsilon=1)
    SubsetSelection(<100 categories>, epsilon=1, size=27)
    """
    subsets = SubsetSelection(categories, epsilon=epsilon, acknowledge=acknowledge)
    if subsets.size == 1:
        return RandomizedResponse(categories, epsilon=epsilon, acknowledge=acknowledge)
    return subsets
