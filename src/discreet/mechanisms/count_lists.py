"""Which way to a list of the most frequent: picks, a joint draw, or noise on the whole histogram.

By public numbers only: k, epsilon, delta, how many candidates there are, how many items a
person has, and what epsilon buys in the budget. docs/explanation/which-top-k.md shows the
measurements behind the rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, ParameterTypeError
from discreet.exact.rationals import Number, choice, count, set_frozen
from discreet.literals import TOP_K_METHODS, Objective, TopKMethod
from discreet.mechanisms.correlated_counts import CorrelatedCounts
from discreet.mechanisms.count_noise import CountNoise, ranking_deviation
from discreet.mechanisms.counted_selection import CountedSelection, counting_noise
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.histogram_top_k import (
    HistogramTopK,
    NoisyList,
    NoisyUnknownList,
    UnknownDomainHistogram,
)
from discreet.mechanisms.joint_top_k import JointTopK
from discreet.mechanisms.peeling_top_k import PeelingTopK, TopKMechanism
from discreet.mechanisms.prices import Price, cost_in_parts
from discreet.mechanisms.unknown_domain import UnknownDomainTopK, positive_delta
from discreet.privacy.cost import Cost
from discreet.privacy.loss import BoundedRange
from discreet.privacy.parameters import (
    Epsilon,
    ScoreRange,
    Slot,
    WithRange,
    given,
    parameterized,
    read_delta,
)

if TYPE_CHECKING:
    from discreet.accounting.budget_rules import SpendingRule

CountList = TopKMechanism | NoisyList | CountedSelection
"""A way to a list of the most frequent candidates."""

# the standard deviation of Gumbel noise of scale 1
_GUMBEL = math.pi / math.sqrt(6)
# and that of Laplace noise of scale 1
_LAPLACE = math.sqrt(2)
# of a price for names with counts, what the names get
_HALF = Fraction(1, 2)
# How much wider than a pick's the noise of a histogram may be, and how much less so the larger the
# part of all candidates is that is listed. The largest values of Gumbel noise do more harm than
# those of Gaussian noise, and few names of many are those with the largest noise.
_WIDER, _LESS_FOR_LISTED = 1.2, 0.4


@parameterized
class ListRequest(WithRange):
    """What is asked for: a list of k by scores, which are counts of persons as a rule.

    items_per_person: how many counts one person moves, each by 1; None where that is
        unknown.
    sensitivity, monotonic, score_range: as for every selection mechanism; of counts
        that one person more raises by 0 or 1 they are 1 and True:
        docs/proofs/tables.md#ranges.
    method, objective, acknowledge: as for `top_k`.
    with_counts: whether the counts of the names are wanted, too.
    price: what epsilon buys in the budget that pays; None where nobody knows the budget.
        With the method "auto" and no delta a list then gets what the price buys. A list
        of an unknown domain does with its delta, too.
    candidates: how many there are, where a price is given and they are public.
    """

    k: int
    delta: Slot[Number, Fraction] = given(default=0)
    items_per_person: int | None
    method: TopKMethod = "auto"
    objective: Objective = "max"
    with_counts: bool = False
    price: Price | None = None
    candidates: int | None = None

    def __post_init__(self) -> None:
        set_frozen(self, method=choice(self.method, TOP_K_METHODS, "method"))
        set_frozen(self, k=count(self.k, "k"), delta=read_delta(self.delta))
        WithRange.__post_init__(self)
        set_frozen(self, items_per_person=self._read_items(self.items_per_person))

    def _read_items(self, items_per_person: int | None) -> int | None:
        if items_per_person is None:
            return None
        items = count(items_per_person, "items_per_person")
        if self.sensitivity != 1:
            # the noise of a histogram is for counts: docs/proofs/histograms.md#privacy
            rule = "1 if items_per_person is given"
            hint = "The scores are then numbers of people."
            raise ParameterError("sensitivity", rule, self.sensitivity, hint)
        return items

    def make(self) -> CountList:
        """The way that was named, or the one that has the smallest error."""
        if self.method == "histogram":
            return self._histogram()
        if self.price is not None and self.method == "auto" and not self.delta:
            return self._at_price(self.price)
        picks = self._picks(Epsilon(self.epsilon))
        if not self.with_counts:
            made: CountList = picks
        else:
            # half of epsilon for the names, half for their counts
            half = Epsilon(self.epsilon / 2)
            picks = self._picks(half)
            made = CountedSelection(picked=picks, noise=self.noise(half))
        if self.method != "auto" or self.items_per_person is None:
            return made
        other = self._histogram()
        return other if self._is_better(other.noise, picks) else made

    def _at_price(self, price: Price) -> CountList:
        """The best list that the price buys."""
        assert self.candidates is not None
        # docs/proofs/prices.md#lists
        noise = price.noise_for_counts(self.candidates, items_per_person=self.items_per_person)
        names = price.part(_HALF) if self.with_counts else price
        picks = self._picks_at(names)
        beside = self.noise_beside(names) if self.with_counts else None
        none = picks is None or (self.with_counts and beside is None)
        if noise is not None and (none or (picks and self._is_better(noise, picks))):
            return NoisyList(k=self.k, noise=noise, objective=self.objective)
        if picks is None:
            rule = "smaller, or 'epsilon' larger, because nothing is left for each pick"
            raise ParameterError("k", rule, self.k)
        return picks if beside is None else CountedSelection(picked=picks, noise=beside)

    def noise_beside(self, price: Price, *, shared: bool = True) -> CountNoise | None:
        """Noise for the counts of the names on a list, at a price."""
        # docs/proofs/histograms.md#counts-of-what-was-picked
        return price.noise_for_counts(
            self.k, items_per_person=self.items_per_person, one_more_or_fewer=shared
        )

    def _picks_at(self, price: Price) -> TopKMechanism | None:
        """Picks that share the price, or a joint draw; None where it buys neither."""
        if price.squares is None:
            return self._picks(Epsilon(price.epsilon * price.share))
        each = price.pick(self.k)
        method: TopKMethod = "one-shot"
        if each is None:
            each, method = price.pick(1), "joint"
            if each is None or self.k > MANY:
                return None
        # a list without a delta shares its epsilon equally
        epsilon = each.epsilon if method == "joint" else self.k * each.epsilon
        # the epsilons of many picks may add up to more than 64; what they cost is the price
        return make_top_k(
            self.k, Epsilon(epsilon), Fraction(0), self._range, method, self.objective
        )

    def _picks(self, epsilon: Epsilon) -> TopKMechanism:
        # handed on unchanged: docs/proofs/histograms.md#what-the-code-states
        return make_top_k(self.k, epsilon, self.delta, self._range, self.method, self.objective)

    def noise(self, epsilon: Epsilon) -> DiscreteLaplace:
        """Noise for the counts of the names on a list."""
        # docs/proofs/histograms.md#counts-of-what-was-picked
        moved = self.k if self.items_per_person is None else min(self.k, self.items_per_person)
        return counting_noise(epsilon, self._range, moved=moved)

    def _histogram(self) -> HistogramTopK:
        if self.items_per_person is None:
            rule = "another one, unless you limit how many items of each person count"
            hint = "Say items_per_person=."
            raise ParameterError("method", rule, self.method, hint)
        return HistogramTopK(
            k=self.k,
            epsilon=Epsilon(self.epsilon),
            delta=self.delta,
            items_per_person=self.items_per_person,
            objective=self.objective,
        )

    def _is_better(self, noise: CountNoise, picks: TopKMechanism) -> bool:
        """True if a histogram with this noise is better than picks."""
        drawn_at_once = isinstance(picks, JointTopK)
        drawn_one_by_one = not drawn_at_once and (self.k > 1 or self.with_counts)
        if drawn_one_by_one and (self.delta or isinstance(picks.pick_loss, BoundedRange)):
            listed = self.k / self.candidates if self.candidates else 0
            wider = _WIDER - _LESS_FOR_LISTED * min(1, listed)
            # a rate may be 0 as a float
            return ranking_deviation(noise) * float(picks.rate) <= wider * _GUMBEL
        shared = isinstance(noise, CorrelatedCounts) and noise.mu is None
        if shared and drawn_at_once and not self.with_counts:
            # a list of nearly all candidates: docs/decisions/0022-lists-by-both-errors.md
            return False
        return _items_like(noise, picks.epsilon) <= _most_items(self.k)


def _items_like(noise: CountNoise, epsilon: Fraction) -> Fraction:
    """With how many items a person pure noise of this epsilon would be as wide."""
    if isinstance(noise, DiscreteLaplace):
        return noise.sensitivity * epsilon / noise.epsilon
    if isinstance(noise, CorrelatedCounts) and noise.mu is None:
        return epsilon / noise.rates[0] / 2
    return Fraction(ranking_deviation(noise)) * epsilon / Fraction(_LAPLACE)


def _most_items(k: int) -> Fraction:
    """Up to how many items of a person a histogram is better than the picks for one epsilon.

    Read off benchmarks/results/top_k_utility.md, by the largest and the mean error
    alike: two thirds of a long list, because a joint draw gets better with k, and less
    than k.
    """
    return min(k - Fraction(1, 2), Fraction(2 * k + 4, 3))


UnknownList = UnknownDomainTopK | NoisyUnknownList | CountedSelection
"""A way to a list of the most frequent items of an unknown domain."""


def make_unknown(request: ListRequest, limit: int | None) -> UnknownList:
    """The way to a list without public candidates: picks above the crowd, or noise and a
    threshold.
    """
    found: list[UnknownList] = []
    price = request.price if request.method == "auto" else None
    # where epsilons add up the price is epsilon
    if price is not None and price.rule.counting != "epsilon" and not price.is_whole(request.delta):
        found = [*_unknown_at(request, price, limit)]
    if not found:
        found = [*_unknown_of(request, limit)]
    if not found:
        hint = "Ten times k is a good start. Or give items_per_person=."
        rule = "given if there are no candidates"
        raise ParameterTypeError("limit", rule, None, hint)
    # the first of the lowest: a histogram, where it is as good
    return min(found, key=_height)


def _height(made: UnknownList) -> Fraction:
    picks = made.picked if isinstance(made, CountedSelection) else made
    assert isinstance(picks, (UnknownDomainTopK, NoisyUnknownList))
    return Fraction(picks.height)


def _unknown_of(request: ListRequest, limit: int | None) -> Iterator[UnknownList]:
    """The ways whose loss is epsilon and delta."""
    if request.items_per_person is not None:
        yield UnknownDomainHistogram(
            k=request.k,
            epsilon=Epsilon(request.epsilon),
            delta=request.delta,
            items_per_person=request.items_per_person,
        )
    if limit is None or request.method == "histogram":
        return
    part = Epsilon(request.epsilon / 2 if request.with_counts else request.epsilon)
    picks = UnknownDomainTopK(
        k=request.k,
        epsilon=part,
        delta=request.delta,
        limit=limit,
        items_per_person=request.items_per_person,
    )
    noise = request.noise(part) if request.with_counts else None
    yield picks if noise is None else CountedSelection(picked=picks, noise=noise)


def _unknown_at(request: ListRequest, price: Price, limit: int | None) -> Iterator[UnknownList]:
    """The ways that the price buys; delta is all for the threshold. None where it is paid in
    epsilon.
    """
    if price.squares is None:
        return
    delta, items = positive_delta(request.delta), request.items_per_person
    if items is not None:
        # docs/proofs/prices.md#lists
        noises = price.noises_for_counts(items, items_per_person=items, one_more_or_fewer=False)
        for noise in noises.values():
            assert not isinstance(noise, CorrelatedCounts)
            yield NoisyUnknownList(k=request.k, noise=noise, delta=delta, items_per_person=items)
    names = price.part(_HALF) if request.with_counts else price
    # docs/proofs/prices.md#lists
    pick = names.pick(request.k)
    if limit is None or not isinstance(pick, BoundedRange):
        return
    picks = UnknownDomainTopK.of_picks(
        pick, k=request.k, delta=delta, limit=limit, items_per_person=items
    )
    # the list may be shorter, and noise that the counts share is for all of them
    noise_beside = request.noise_beside(names, shared=False) if request.with_counts else None
    if not request.with_counts:
        yield picks
    elif noise_beside is not None:
        yield CountedSelection(picked=picks, noise=noise_beside)


def list_cost(made: CountList | UnknownList, rule: SpendingRule) -> Cost:
    """What a list costs: as many parts as it is made of, where the budget has a price for them."""
    delta = Fraction(0)
    if isinstance(made, (UnknownDomainTopK, NoisyUnknownList, CountedSelection)):
        delta = made.threshold_delta
    if rule.counting == "epsilon":
        return Cost(made.privacy_loss(), made.losses(), delta)
    return cost_in_parts(made.privacy_loss(), made.losses(), rule, delta)


TOP_K_MECHANISMS: dict[str, Callable[..., TopKMechanism]] = {
    "peel": PeelingTopK,
    "one-shot": partial(PeelingTopK, mechanism="exponential"),
    "joint": JointTopK,
}

# up to this many picks a delta does not help
_VERY_FEW = 4
# up to this many picks the joint draw's factor 2 costs more than dividing epsilon
_FEW = 5
MANY = 4096
"""The longest list that is drawn jointly by default."""


def make_top_k(
    k: int,
    epsilon: Epsilon,
    delta: Fraction,
    span: ScoreRange,
    method: TopKMethod = "auto",
    objective: Objective = "max",
) -> TopKMechanism:
    """The mechanism that `top_k` uses with parameters that were read."""
    if choice(method, TOP_K_METHODS, "method") == "histogram":
        rule = "another one, unless you limit how many items of each person count"
        raise ParameterError("method", rule, method, "Say items_per_person=.")
    # docs/proofs/top-k.md#what-the-code-states
    if method == "auto":
        method = best_method(k, delta)
    return TOP_K_MECHANISMS[method](
        k=k, epsilon=epsilon, delta=delta, score_range=span, objective=objective
    )


def best_method(k: int, delta: Fraction) -> TopKMethod:
    """The method for lists that "auto" takes, by public numbers only:
    docs/explanation/which-top-k.md shows the measurements.
    """
    if delta and k > _VERY_FEW:
        return "one-shot"
    # the table of a joint draw grows with the square of k
    return "joint" if _FEW < k <= MANY else "peel"
