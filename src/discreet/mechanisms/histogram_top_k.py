"""The k largest counts of a histogram with noise on all of it: the best way to a list where
a person has few items, and the counts come with it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, public_class
from discreet.exact.enclosures import ball, upper_bound
from discreet.exact.rationals import MACHINE_LIMIT, Number, choice, count, readable, set_frozen
from discreet.literals import OBJECTIVES, Objective
from discreet.mechanisms.correlated_counts import CorrelatedCounts
from discreet.mechanisms.count_noise import (
    CountNoise,
    OwnNoise,
    added_noise,
    make_noise,
    state_counts,
)
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.gaussian_profile import gaussian_rho, threshold
from discreet.mechanisms.rounded_gaussian import RoundedGaussian
from discreet.mechanisms.scores import Scores
from discreet.mechanisms.unknown_domain import positive_delta, read_counts
from discreet.mechanisms.whole_noise import smallest_bound
from discreet.privacy.loss import ApproxDP, Composed, Loss, PureDP
from discreet.privacy.parameters import (
    Slot,
    acknowledged,
    given,
    parameterized,
    read_delta,
    read_epsilon,
    read_probability,
)
from discreet.randomness.bulk_draws import draw_words
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release

# of delta, for the noise by itself: all of it does, unless delta is large and items are many
_SHARES = (Fraction(1), Fraction(9, 10), Fraction(1, 2))
# a probability below 1
_SURE = Fraction(99, 100)


@public_class
@parameterized
class _Histogram(ABC):
    """A list read off a histogram with noise, whether its domain is known or not."""

    k: int
    _noise: CountNoise = field(init=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release."""
        return f"{self._word}-{_KINDS[type(self._noise)]}"

    @property
    def noise(self) -> CountNoise:
        """The noise that each count gets."""
        return self._noise

    @abstractmethod
    def privacy_loss(self) -> Loss:
        """What the list costs, with its counts."""

    def losses(self) -> Mapping[Loss, int]:
        """The one loss that the histogram has by itself."""
        return {self._noise.privacy_loss(): 1}

    def select(
        self, counts: Scores, *, people: int | None = None, bits: Bits | None = None
    ) -> list[int]:
        """The positions of the list, the largest first. Costs `privacy_loss()`. Give `bits`
        only in tests and simulations.
        """
        read = read_counts(counts)
        numbers = [] if read is None else _whole(read.scores)
        chance = read_bits(bits)
        noisy, _ = added_noise(numbers, self._noise, chance, people)
        return self._places(numbers, noisy, chance)

    def release(
        self, counts: Scores, *, people: int | None = None, bits: Bits | None = None
    ) -> Release:
        """The list by label, with its counts and what both cost.

        people: how many there are in all, for noise that the counts share.
        """
        read, chance = read_counts(counts), read_bits(bits)
        numbers = [] if read is None else _whole(read.scores)
        noisy, total = added_noise(numbers, self._noise, chance, people)
        places = self._places(numbers, noisy, chance)
        listed = [noisy[place] for place in places]
        size = self._candidates(len(numbers))
        return Release(
            value=[] if read is None else [read.label(place) for place in places],
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=size,
            seeded=chance.bits.seeded,
            counts=state_counts(listed, self._noise, size or self.k, total),
            accuracy=self._usual_accuracy(len(numbers)),
        )

    @property
    @abstractmethod
    def _word(self) -> str: ...

    @abstractmethod
    def _places(self, numbers: list[int], noisy: list[int], chance: Chance) -> list[int]:
        """The places of the list."""

    @abstractmethod
    def _candidates(self, found: int) -> int | None:
        """How many candidates there were, where that is a public number."""

    @abstractmethod
    def _usual_accuracy(self, found: int) -> Accuracy:
        """How far off the list can be, with 95%, among this many candidates if they are public."""

    @abstractmethod
    def _shown(self) -> list[str]: ...


_KINDS: dict[type[CountNoise], str] = {
    DiscreteLaplace: "laplace",
    DiscreteGaussian: "gaussian",
    RoundedGaussian: "gaussian",
    CorrelatedCounts: "correlated",
}


@public_class
@parameterized
class NoisyList(_Histogram):
    """The k largest of public candidates' counts, in order, after some noise on all of them.

    k: how many candidates.
    noise: for the counts of all candidates.
    objective: whether the "max" or the "min" of the counts is best.

    Privacy: that of the noise. Proof: docs/proofs/histograms.md.
    """

    objective: Objective

    def __init__(self, *, k: int, noise: CountNoise, objective: Objective = "max") -> None:
        set_frozen(self, k=count(k, "k"), _noise=noise)
        set_frozen(self, objective=choice(objective, OBJECTIVES, "objective"))

    def privacy_loss(self) -> Loss:
        """What the list costs, with its counts."""
        # docs/proofs/histograms.md#privacy
        return self._noise.privacy_loss()

    def error_bound(self, failure_probability: Number, *, candidates: int) -> int:
        """How far the i-th count of the list can be behind the i-th best, for every i,
        except with `failure_probability`, among this many candidates.
        """
        beta = read_probability(failure_probability, "failure_probability")
        candidates = count(candidates, "candidates")
        # each of the k best with each candidate behind it: docs/proofs/histograms.md#utility
        k = min(self.k, candidates)
        pairs = k * (candidates - k) + k * (k - 1) // 2
        by_pairs = smallest_bound(
            lambda size: pairs * self._noise.difference_tail(size + 1), Fraction(beta)
        )
        return min(by_pairs, 2 * self._off(beta, candidates))

    def _off(self, beta: Fraction, candidates: int) -> int:
        """How far any of the counts can be off."""
        if isinstance(self._noise, CorrelatedCounts):
            return self._noise.error_bound(beta)
        return self._noise.error_bound(beta, numbers=candidates)

    def accuracy(self, *, candidates: int, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement: it holds for all that are left out, too."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=self.error_bound(beta, candidates=candidates),
            statement="list",
            failure_probability=beta,
        )

    def require_enough(self, candidates: int) -> int:
        """Return the number of candidates if k of them can be picked."""
        if self.k > candidates:
            rule = f"at most the number of candidates, {candidates}"
            raise ParameterError("k", rule, self.k)
        return candidates

    @property
    def _word(self) -> str:
        return "histogram"

    def _places(self, numbers: list[int], noisy: list[int], chance: Chance) -> list[int]:
        self.require_enough(len(numbers))
        ranked = noisy if self.objective == "max" else [-number for number in noisy]
        return _largest(ranked, self.k, chance)

    def _candidates(self, found: int) -> int | None:
        return found

    def _usual_accuracy(self, found: int) -> Accuracy:
        return self.accuracy(candidates=found)

    def _shown(self) -> list[str]:
        named = [f"objective={self.objective!r}"] if self.objective != "max" else []
        return [f"k={self.k}", *self._told(), *named]

    def _told(self) -> list[str]:
        return [f"noise={self._noise!r}"]


@public_class
@parameterized
class HistogramTopK(NoisyList):
    """The k largest of public candidates' counts, in order, after noise on all of them.

    k: how many candidates.
    epsilon, delta: the privacy loss of the whole list with its counts. Without a delta,
        or where that is better anyway, it is pure DP.
    items_per_person: how many candidates one person can count for, once each. The data
        must keep to it.
    objective: whether the "max" or the "min" of the counts is best.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: (epsilon, delta)-DP under adding or removing one person; epsilon-DP where
        the noise is Laplace's. The names and the counts are read off one noisy
        histogram.
    Utility: `error_bound`. The noise grows with items_per_person (Laplace), or its root
        (Gaussian), and not with k.
    Cost: one number of noise for each candidate, whatever the counts are.
    Reference: Dwork, McSherry, Nissim and Smith 2006. Proof: docs/proofs/histograms.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = HistogramTopK(k=2, epsilon=1, items_per_person=1)
    >>> release = mechanism.release({"cats": 912, "dogs": 701, "newts": 2}, bits=SeededBits(1))
    >>> release.value, release.counts.values, release.counts.error
    (['cats', 'dogs'], (912, 700), 4)
    """

    epsilon: Slot[Number, Fraction] = given()
    delta: Slot[Number, Fraction] = given(default=0)
    items_per_person: int
    acknowledge: str | None = None
    objective: Objective = "max"

    def __post_init__(self) -> None:
        _read(self)
        # docs/proofs/histograms.md#privacy
        noise = make_noise(self.epsilon, self.delta, moved=self.items_per_person)
        NoisyList.__init__(self, k=self.k, noise=noise, objective=self.objective)

    def privacy_loss(self) -> Loss:
        """What the list costs, with its counts."""
        # docs/proofs/histograms.md#privacy
        if isinstance(self._noise, DiscreteGaussian):
            return ApproxDP(self.epsilon, self.delta)
        return PureDP(self.epsilon)

    def _told(self) -> list[str]:
        return _said(self)


@public_class
@parameterized
class NoisyUnknownList(_Histogram):
    """The k largest counts of items that nobody knows beforehand: those that are above a
    threshold after some noise on every count that is not 0.

    k: how many items at most; the list is shorter where fewer are above the threshold.
    noise: for the counts of which one person moves `items_per_person`.
    delta: the probability that an item is named which one person alone brought in.

    Privacy: the loss of the noise, but for a bad event of probability delta.
    Proof: docs/proofs/histograms.md.
    """

    _height: int = field(init=False)
    _threshold_delta: Fraction = field(init=False)

    def __init__(self, *, k: int, noise: OwnNoise, delta: Fraction, items_per_person: int) -> None:
        set_frozen(self, k=count(k, "k"), _noise=noise, _threshold_delta=delta)
        # both tails together, of which only one names it
        share = min(2 * delta / items_per_person, _SURE)
        # docs/proofs/histograms.md#unknown-domains
        set_frozen(self, _height=noise.error_bound(share) + 2)

    @property
    def height(self) -> int:
        """The count with noise from which on an item is named."""
        return self._height

    def privacy_loss(self) -> Loss:
        """What the list costs, with its counts."""
        return Composed(self.losses(), self._threshold_delta)

    def error_bound(self, failure_probability: Number) -> int:
        """How many persons an item needs to be named, unless the list is full, except with
        `failure_probability`. It holds for each item by itself.

        >>> mechanism = UnknownDomainHistogram(k=3, epsilon=1, delta=1e-6, items_per_person=1)
        >>> mechanism.height, mechanism.error_bound(0.05)
        (15, 17)
        """
        beta = read_probability(failure_probability, "failure_probability")
        # noise below a bound is half of noise beyond it: docs/proofs/histograms.md#utility
        share = 2 * beta if beta < Fraction(1, 2) else beta
        return self._height + self._noise.error_bound(share)

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` as a statement about each item by itself."""
        beta = read_probability(failure_probability, "failure_probability")
        return Accuracy(
            bound=self.error_bound(beta),
            statement="named",
            unit="persons",
            thing="item",
            failure_probability=beta,
        )

    @property
    def threshold_delta(self) -> Fraction:
        """The probability that an item of one person is named, at most."""
        return self._threshold_delta

    @property
    def _word(self) -> str:
        return "threshold"

    def _places(self, numbers: list[int], noisy: list[int], chance: Chance) -> list[int]:
        # an item that nobody has does not occur: it is never named, whatever its noise
        pairs = enumerate(zip(numbers, noisy, strict=True))
        seen = [place for place, (true, number) in pairs if true and number >= self._height]
        above = [noisy[place] for place in seen]
        return [seen[place] for place in _largest(above, min(self.k, len(above)), chance)]

    def _candidates(self, found: int) -> int | None:
        # not how many items there are: that is private
        return None

    def _usual_accuracy(self, found: int) -> Accuracy:
        return self.accuracy()

    def _shown(self) -> list[str]:
        return [f"k={self.k}", f"noise={self._noise!r}", f"height={self._height}"]


@public_class
@parameterized
class UnknownDomainHistogram(NoisyUnknownList):
    """The k largest counts of items that nobody knows beforehand: those that are above a
    threshold after noise on every count that is not 0.

    k: how many items at most; the list is shorter where fewer are above the threshold.
    epsilon, delta: the privacy loss of the whole list with its counts; delta must be
        above 0.
    items_per_person: how many items one person can count for, once each. The data must
        keep to it.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: (epsilon, delta)-DP under adding or removing one person.
    Utility: `height`: an item is named if its count with noise reaches it. Far lower
        than that of `UnknownDomainTopK` where a person has few items.
    Cost: one number of noise for each item that occurs.
    Reference: Korolova, Kenthapadi, Mishra and Ntoulas 2009; Gopi, Gulhane, Kulkarni,
        Shen, Shokouhi and Yekhanin 2020. Proof: docs/proofs/histograms.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = UnknownDomainHistogram(k=3, epsilon=1, delta=1e-6, items_per_person=1)
    >>> counts = {"cats": 912, "dogs": 701, "axolotls": 2}
    >>> release = mechanism.release(counts, bits=SeededBits(1))
    >>> release.value, release.counts.values, mechanism.height
    (['cats', 'dogs'], (912, 700), 15)
    """

    epsilon: Slot[Number, Fraction] = given()
    delta: Slot[Number, Fraction] = given(default=0)
    items_per_person: int
    acknowledge: str | None = None

    def __post_init__(self) -> None:
        set_frozen(self, k=count(self.k, "k"))
        _read(self)
        positive_delta(self.delta)
        # the first of the lowest: Laplace noise, where it is as good
        found = [self._with_laplace(), *self._with_gaussian()]
        height, noise, named = min(found, key=lambda each: each[0])
        set_frozen(self, _height=height, _noise=noise, _threshold_delta=named)

    def privacy_loss(self) -> Loss:
        """What the list costs, with its counts."""
        # docs/proofs/histograms.md#privacy
        return ApproxDP(self.epsilon, self.delta)

    def _shown(self) -> list[str]:
        return [f"k={self.k}", *_said(self)]

    def _with_laplace(self) -> tuple[int, CountNoise, Fraction]:
        """The threshold with Laplace noise, which leaves all of delta to it."""
        noise = make_noise(self.epsilon, Fraction(0), moved=self.items_per_person)

        def above() -> arb:
            # items * e^(-rate t) / (1 + e^-rate) <= delta
            rate = ball(self.epsilon / self.items_per_person)
            share = ball(self.delta / self.items_per_person)
            return -(share * (1 + (-rate).exp())).log() / rate

        # docs/proofs/histograms.md#unknown-domains
        return 1 + max(1, math.ceil(upper_bound(above))), noise, self.delta

    def _with_gaussian(self) -> Iterator[tuple[int, CountNoise, Fraction]]:
        """Thresholds with Gaussian noise, of the widths that are worth a try."""
        for share in _SHARES:
            # docs/proofs/histograms.md#unknown-domains
            rho = gaussian_rho(self.epsilon, self.delta * share, moved=self.items_per_person)
            if rho is None:
                continue
            items, said = self.items_per_person, acknowledged(rho)
            noise = DiscreteGaussian(rho=rho, squared_sensitivity=items, acknowledge=said)
            # docs/proofs/gaussian-profile.md#thresholds
            found = threshold(self.epsilon, self.delta, noise.variance, moved=self.items_per_person)
            if found is not None:
                height, named = found
                yield height, noise, named


def _read(made: HistogramTopK | UnknownDomainHistogram) -> None:
    """Read what both histograms are given."""
    set_frozen(made, epsilon=read_epsilon(made.epsilon, made.acknowledge))
    set_frozen(made, delta=read_delta(made.delta))
    set_frozen(made, items_per_person=count(made.items_per_person, "items_per_person"))


def _said(made: HistogramTopK | UnknownDomainHistogram) -> list[str]:
    """The parameters that both histograms are shown with."""
    shown = [f"epsilon={readable(made.epsilon)}"]
    shown += [f"delta={readable(made.delta)}"] if made.delta else []
    return [*shown, f"items_per_person={made.items_per_person}"]


def _whole(scores: Any) -> list[int]:
    """The counts, which `read_counts` has checked, as Python's own whole numbers."""
    whole: list[int] = scores.tolist()
    return whole


def _largest(numbers: Sequence[int], k: int, chance: Chance) -> list[int]:
    """The places of the k largest numbers, in order; among equal ones by lot."""
    lots = draw_words(len(numbers), np.dtype(np.uint64), chance)
    if max(map(abs, numbers), default=0) < MACHINE_LIMIT:
        order = np.lexsort((lots, -np.array(numbers, dtype=np.int64)))[:k]
        return [int(place) for place in order]
    listed = sorted(zip(numbers, lots.tolist(), range(len(numbers)), strict=True), reverse=True)
    return [place for _, _, place in listed[:k]]
