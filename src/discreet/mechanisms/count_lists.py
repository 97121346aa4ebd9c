"""Which way to a list of the most frequent: picks, a joint draw, or noise on the whole histogram.

By public numbers only: k, epsilon, delta, how many items a person has, and what the
budget counts. docs/explanation/which-top-k.md shows the measurements behind the rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.rationals import Number, choice, count, exact_decimal, round_down, set_frozen
from discreet.literals import TOP_K_METHODS, Objective, TopKMethod
from discreet.mechanisms.catalogue import best_method, make_top_k
from discreet.mechanisms.counted_selection import CountedSelection, counting_noise
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.histogram_top_k import HistogramTopK, UnknownDomainHistogram
from discreet.mechanisms.joint_top_k import JointTopK
from discreet.mechanisms.peeling_top_k import TopKMechanism
from discreet.mechanisms.unknown_domain import UnknownDomainTopK
from discreet.privacy.loss import ApproxDP, BoundedRange, PureDP
from discreet.privacy.parameters import read_delta, read_epsilon

if TYPE_CHECKING:
    from discreet.accounting.budget_rules import SpendingRule

CountList = TopKMechanism | HistogramTopK | CountedSelection
"""A way to a list of the most frequent candidates."""

# the standard deviation of Gumbel noise of scale 1
_GUMBEL = math.pi / math.sqrt(6)
# how much wider than a pick's the noise of a histogram may be: its largest values do less harm
_WIDER = 1.1


@dataclass(frozen=True, slots=True, init=False)
class ListRequest:
    """What is asked for: a list of k by scores, which are counts of persons as a rule.

    items_per_person: how many counts one person moves, each by 1; None where that is
        unknown.
    sensitivity, monotonic, score_range: as for every selection mechanism; of counts
        that one person more raises by 0 or 1 they are 1 and True:
        docs/proofs/tables.md#ranges.
    method, objective, acknowledge: as for `top_k`.
    with_counts: whether the counts of the names are wanted, too.
    squares: what the budget counts in squares, "coins" or "rho"; None where epsilons
        add up. Then a histogram gets as much as the picks would cost there.
    owner: the function or the question that an error names.
    """

    k: int
    epsilon: Fraction
    delta: Fraction
    items_per_person: int | None
    sensitivity: Number | None
    monotonic: bool
    score_range: Number | None
    method: TopKMethod
    objective: Objective
    acknowledge: str | None
    with_counts: bool
    squares: Literal["coins", "rho"] | None
    owner: str

    def __init__(
        self,
        *,
        k: int,
        epsilon: Number,
        delta: Number = 0,
        items_per_person: int | None,
        sensitivity: Number | None,
        monotonic: bool,
        score_range: Number | None = None,
        method: TopKMethod = "auto",
        objective: Objective = "max",
        acknowledge: str | None = None,
        with_counts: bool = False,
        squares: Literal["coins", "rho"] | None = None,
        owner: str = "top_k",
    ) -> None:
        set_frozen(self, owner=owner, method=choice(method, TOP_K_METHODS, "method", owner))
        set_frozen(self, epsilon=read_epsilon(epsilon, acknowledge, owner), acknowledge=acknowledge)
        set_frozen(self, delta=read_delta(delta, owner), k=count(k, "k", owner))
        # handed on to the way that is taken: docs/proofs/histograms.md#what-the-code-states
        set_frozen(self, sensitivity=sensitivity, monotonic=monotonic, score_range=score_range)
        set_frozen(self, objective=objective, with_counts=with_counts, squares=squares)
        set_frozen(self, items_per_person=self._read_items(items_per_person))

    def _read_items(self, items_per_person: int | None) -> int | None:
        if items_per_person is None:
            return None
        items = count(items_per_person, "items_per_person", self.owner)
        if self.sensitivity != 1:
            # the noise of a histogram is for counts: docs/proofs/histograms.md#privacy
            rule = "1 where items_per_person is given"
            hint = "The scores are then numbers of persons."
            raise ParameterError(self.owner, "sensitivity", rule, self.sensitivity, hint)
        return items

    def make(self) -> CountList:
        """The way that was named, or the one that has the smallest error."""
        if self.method == "histogram":
            return self._histogram(self.epsilon, self.delta)
        picks = self._picks(self.epsilon)
        if not self.with_counts:
            made: CountList = picks
        else:
            # half of epsilon for the names, half for their counts
            half = self.epsilon / 2
            picks = self._picks(half)
            made = CountedSelection(picked=picks, noise=self.noise(half))
        if self.method != "auto" or self.items_per_person is None:
            return made
        other = self._rival(made)
        return other if other is not None and self._is_better(other, picks) else made

    def _picks(self, epsilon: Fraction) -> TopKMechanism:
        method = self.method
        best = best_method(self.k, self.delta)
        if method == "auto" and self.squares and best == "peel":
            # short lists are peeled with the mechanism that suits the budget
            method = "one-shot"
        # handed on unchanged: docs/proofs/histograms.md#what-the-code-states
        return make_top_k(
            self.k,
            epsilon,
            self.delta,
            sensitivity=self.sensitivity,
            monotonic=self.monotonic,
            score_range=self.score_range,
            method=method,
            objective=self.objective,
            acknowledge=self.acknowledge,
        )

    def noise(self, epsilon: Fraction) -> DiscreteLaplace:
        """Noise for the counts of the names on a list."""
        # docs/proofs/histograms.md#counts-of-what-was-picked
        moved = self.k if self.items_per_person is None else min(self.k, self.items_per_person)
        return counting_noise(
            epsilon,
            sensitivity=self.sensitivity,
            moved=moved,
            acknowledge=self.acknowledge,
            owner=self.owner,
        )

    def _histogram(self, epsilon: Fraction, delta: Fraction) -> HistogramTopK:
        if self.items_per_person is None:
            rule = "another one where nobody knows how many items a person has"
            hint = "Say items_per_person=."
            raise ParameterError(self.owner, "method", rule, self.method, hint)
        return HistogramTopK(
            k=self.k,
            epsilon=epsilon,
            delta=delta,
            items_per_person=self.items_per_person,
            objective=self.objective,
            acknowledge=self.acknowledge,
        )

    def _rival(self, picks: CountList) -> HistogramTopK | None:
        """The histogram that costs the budget what the picks cost."""
        epsilon, delta = self.epsilon, self.delta
        if self.squares is None:
            return self._histogram(epsilon, delta)
        if self.squares == "rho" and delta:
            whole = self._histogram(epsilon, delta)
            if isinstance(whole.noise, DiscreteGaussian):
                return whole
        return self._histogram(min(epsilon, same_price(picks)), Fraction(0))

    def _is_better(self, rival: HistogramTopK, picks: TopKMechanism) -> bool:
        if self.delta and not isinstance(picks, JointTopK) and self.k > 1:
            # a rate may be 0 as a float
            return rival.noise.deviation * float(picks.rate) <= _WIDER * _GUMBEL
        ratio = picks.epsilon / rival.epsilon
        moved = rival.items_per_person * ratio
        return moved <= _most_items(self.k)


def _most_items(k: int) -> Fraction:
    """Up to how many items of a person a histogram is better than the picks for one epsilon.

    Read off benchmarks/results/top_k_utility.md, by the largest and the mean error
    alike: two thirds of a long list, because a joint draw gets better with k, and less
    than k.
    """
    return min(k - Fraction(1, 2), Fraction(2 * k + 4, 3))


def squares_of(
    rule: SpendingRule, epsilon: Number, delta: Number = 0
) -> Literal["coins", "rho"] | None:
    """What the budget counts in squares; nothing where the question takes all of it at once."""
    if rule.counting == "epsilon":
        return None
    try:
        asked = [exact_decimal(each, "epsilon", "top_k") for each in (epsilon, delta)]
    except ParameterError:
        # the mechanism that reads them next says what is wrong
        return rule.counting
    budget = rule.budget
    whole = isinstance(budget, ApproxDP) and asked == [budget.epsilon, budget.delta]
    return None if whole else rule.counting


def same_price(picks: CountList | UnknownDomainTopK) -> Fraction:
    """The epsilon of pure DP that costs what the picks cost where squares are counted.

    Pure DP of epsilon has a range of twice that, so a quarter of the sum of the squares
    of ranges is its square; rounded down.
    """
    squares, most = Fraction(0), Fraction(0)
    for loss, times in picks.losses().items():
        assert isinstance(loss, (BoundedRange, PureDP))
        extent = loss.epsilon * (2 if isinstance(loss, PureDP) else 1)
        squares, most = squares + times * extent**2, max(most, extent)
    # thirty digits of it, also where it is very small
    scale = 10**30 * max(1, math.ceil(1 / most))
    root = math.isqrt(math.floor(squares / 4 * scale**2))
    return round_down(Fraction(root, scale))


UnknownList = UnknownDomainTopK | UnknownDomainHistogram | CountedSelection
"""A way to a list of the most frequent items of an unknown domain."""


def make_unknown(request: ListRequest, limit: int | None) -> UnknownList:
    """The way to a list without public candidates: picks above the crowd, or noise and a
    threshold.
    """
    picks: UnknownDomainTopK | None = None
    made: UnknownDomainTopK | CountedSelection | None = None
    if limit is not None and request.method != "histogram":
        half = request.epsilon / 2
        picks = _unknown_picks(request, half if request.with_counts else request.epsilon, limit)
        made = picks
        if request.with_counts:
            made = CountedSelection(picked=picks, noise=request.noise(half))
    rival = _unknown_rival(request, made)
    if made is None or picks is None:
        if rival is None:
            hint = "Ten times k is a good start. Or say items_per_person=."
            rule = "given where there are no candidates"
            raise ParameterTypeError(request.owner, "limit", rule, None, hint)
        return rival
    return rival if rival is not None and rival.height <= picks.height else made


def _unknown_picks(request: ListRequest, epsilon: Number, limit: int) -> UnknownDomainTopK:
    return UnknownDomainTopK(
        k=request.k,
        epsilon=epsilon,
        delta=request.delta,
        limit=limit,
        items_per_person=request.items_per_person,
        acknowledge=request.acknowledge,
    )


def _unknown_rival(
    request: ListRequest, picks: UnknownDomainTopK | CountedSelection | None
) -> UnknownDomainHistogram | None:
    """The histogram for the same price; None where a person may have any number of items."""
    items = request.items_per_person
    if items is None:
        return None

    def made(epsilon: Number) -> UnknownDomainHistogram:
        return UnknownDomainHistogram(
            k=request.k,
            epsilon=epsilon,
            delta=request.delta,
            items_per_person=items,
            acknowledge=request.acknowledge,
        )

    whole = made(request.epsilon)
    gaussian = isinstance(whole.noise, DiscreteGaussian)
    if request.squares is None or picks is None or (request.squares == "rho" and gaussian):
        return whole
    return made(min(request.epsilon, same_price(picks)))
