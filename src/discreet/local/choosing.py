"""Which local mechanism to use."""

from __future__ import annotations

from typing import Any

from discreet.local.mechanism import LocalMechanism
from discreet.local.randomized_response import RandomizedResponse
from discreet.local.subset_selection import SubsetSelection
from discreet.privacy.numbers import Number


def best_local_mechanism(categories: Any, *, epsilon: Number, acknowledge: str | None = None) -> LocalMechanism:
    """The mechanism with the least variance for this number of categories and this epsilon.

    categories: the public labels, at least two; range(10) for values that are whole numbers below 10.
    epsilon: the privacy loss of one report.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    That is subset selection with its best size; where this is 1, it is randomised response, which then says the same in a
    simpler way. RAPPOR is never far behind for a small epsilon, and is there for its fixed d bits a report.

    >>> best_local_mechanism(["yes", "no"], epsilon=1)
    RandomizedResponse(<2 categories>, epsilon=1)
    >>> best_local_mechanism(range(100), epsilon=1)
    SubsetSelection(<100 categories>, epsilon=1, size=27)
    """
    subsets = SubsetSelection(categories, epsilon=epsilon, acknowledge=acknowledge)
    if subsets.size == 1:
        return RandomizedResponse(categories, epsilon=epsilon, acknowledge=acknowledge)
    return subsets
