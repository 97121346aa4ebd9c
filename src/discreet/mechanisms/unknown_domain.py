"""The k most frequent items when nobody knows beforehand which items there are: by the
limited-domain rule of Durfee and Rogers only the most frequent items compete, against a
threshold (⊥) above the crowd.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self
from zlib import crc32

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.accuracy import USUAL_FAILURE, Accuracy, rounded_up, whole_bound
from discreet.errors import ParameterError, ScoresError, called_inside, public_class
from discreet.exact.enclosures import ball, rational, upper_bound
from discreet.exact.rationals import (
    MACHINE_LIMIT,
    Number,
    count,
    nearest_float,
    readable,
    set_frozen,
)
from discreet.mechanisms.error_bounds import softmax_list_error
from discreet.mechanisms.peeling_top_k import pick_loss
from discreet.mechanisms.scores import Candidates, Scores, read_candidates
from discreet.privacy.loss import ApproxDP, BoundedRange, Composed, Loss
from discreet.privacy.parameters import (
    Slot,
    WithEpsilon,
    given,
    parameterized,
    read_delta,
    read_probability,
)
from discreet.randomness.chance import Bits, Chance, read_bits, start_of_shuffle
from discreet.release import Release
from discreet.samplers.distances import measure
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.order_statistics import kth_largest, nth_places
from discreet.samplers.padded_envelope import PaddedEnvelope
from discreet.samplers.shrinking_envelope import ShrinkingEnvelope

# the threshold is rounded up to 1/1024 of a person, so that all scores are whole
# numbers of these
_GRID = 1024
# the least number of places that are filled one by one, so that a shorter list takes the
# same time however many items there are
_PLACES = 4096
_DIE_BITS = 64
_HIGHEST_BIT = np.uint64(1 << 63)
_MIXER = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@public_class
@parameterized
class UnknownDomainTopK(WithEpsilon):
    """The k most frequent of the items that occur in the data, without a public list of items.

    Only items that stand clearly above the crowd are named: an item that few persons
    brought in must not be, because its name alone would tell that they are in the data.
    So the list may be shorter than k; it ends where ⊥ ("nothing more stands out") came
    up.

    k: how many items at most.
    epsilon, delta: the privacy loss of the whole list; delta must be above 0.
    limit: how many of the most frequent items take part, at least k. A larger limit
        brings the threshold down, as long as the next item is rarer, and costs little.
    items_per_person: in how many items one person can take part, if the data guarantee
        it. A small one lowers the threshold.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

    Privacy: (epsilon, delta)-DP under adding or removing one person, who moves each
        count by at most 1.
    Utility: `height` and `error_bound`.
    Cost: one pass over the counts, and up to k draws among `limit` items.
    Reference: Durfee and Rogers 2019. Proof: docs/proofs/unknown-domain.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = UnknownDomainTopK(k=3, epsilon=1, delta=1e-6, limit=10)
    >>> counts = {"cats": 912, "dogs": 701, "axolotls": 2}
    >>> mechanism.release(counts, bits=SeededBits(1)).value
    ['cats', 'dogs']
    >>> float(mechanism.height) > 40
    True
    """

    k: int
    delta: Slot[Number, Fraction] = given()
    limit: int
    items_per_person: int | None = None
    _domain: LimitedDomain = field(init=False, compare=False)
    _loss: Loss = field(init=False)

    def __post_init__(self) -> None:
        set_frozen(self, k=count(self.k, "k"), delta=positive_delta(self.delta))
        WithEpsilon.__post_init__(self)
        most, items = read_domain(self.k, self.limit, self.items_per_person)
        set_frozen(self, limit=most, items_per_person=items)
        set_frozen(self, _domain=self._calibrate())
        # docs/proofs/unknown-domain.md#privacy
        set_frozen(self, _loss=ApproxDP(self.epsilon, self.delta))

    @classmethod
    def of_picks(
        cls,
        pick: BoundedRange,
        *,
        k: int,
        delta: Fraction,
        limit: int,
        items_per_person: int | None,
    ) -> Self:
        """The list whose picks have this loss each, and whose threshold has all of delta."""
        made = cls(
            k=k,
            epsilon=min(k * pick.epsilon, Fraction(1)),
            delta=delta,
            limit=limit,
            items_per_person=items_per_person,
        )
        # docs/proofs/unknown-domain.md#privacy
        domain = LimitedDomain(pick, made.delta, made.limit, made.items_per_person)
        loss = Composed({pick: k}, made.delta)
        set_frozen(made, epsilon=k * pick.epsilon, _domain=domain, _loss=loss)
        return made

    def __repr__(self) -> str:
        shown = [
            f"k={self.k}",
            f"epsilon={readable(self.epsilon)}",
            f"delta={readable(self.delta)}",
            f"limit={self.limit}",
        ]
        shown += (
            [f"items_per_person={self.items_per_person}"]
            if self.items_per_person is not None
            else []
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def select(self, counts: Scores, *, bits: Bits | None = None) -> list[int]:
        """Up to k positions, most frequent first. Costs `privacy_loss()`. Give `bits`
        only in tests and simulations.
        """
        return self._domain.draw(read_counts(counts), self.k, read_bits(bits))

    @called_inside
    def select_counted(self, items: Items, chance: Chance) -> list[int]:
        """The positions for counts that are read already."""
        return self._domain.draw(items, self.k, chance)

    def release(self, counts: Scores, *, bits: Bits | None = None) -> Release:
        """Up to k items by label, with what it cost. A list of fewer than k ended with ⊥."""
        return self.release_counted(read_counts(counts), read_bits(bits))

    @called_inside
    def release_counted(self, items: Items, chance: Chance) -> Release:
        """The release for counts that are read already."""
        return release_items(self._domain, items, self.k, self._loss, chance)

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` and the `height` as a statement about counts of persons."""
        beta = read_probability(failure_probability, "failure_probability")
        return _accuracy(self._domain, self.k, beta)

    def privacy_loss(self) -> Loss:
        """What the list costs."""
        return self._loss

    def losses(self) -> Mapping[Loss, int]:
        """The losses the list is made of, besides `threshold_delta`: cheaper than the
        whole in a budget that counts in rho.
        """
        return {self._domain.pick: self.k}

    @property
    def threshold_delta(self) -> Fraction:
        """The part of delta that the threshold uses; the rest is for the composition of
        the picks.
        """
        return self._domain.delta

    @property
    def height(self) -> Fraction:
        """How far above the (limit + 1)-th count an item has to be to be on a par with ⊥."""
        return self._domain.height

    def error_bound(self, failure_probability: Number) -> float:
        """How far the list can be from the ideal one, except with `failure_probability`.

        The i-th item is at most this far behind the i-th best; and if the list is
        short, no item left out is more than this above ⊥, which stands `height` above
        the (limit + 1)-th count.
        """
        beta = read_probability(failure_probability, "failure_probability")
        return _error(self._domain, self.k, beta)

    def _calibrate(self) -> LimitedDomain:
        """Share the budget between outcomes and threshold: pure outcomes, or half of
        delta for their composition.
        """
        # both shares of the budget: docs/proofs/unknown-domain.md#privacy
        pure = BoundedRange(self.epsilon / self.k), self.delta
        half = self.delta / 2
        tight = pick_range(self.k, self.epsilon, half), half
        made = [
            LimitedDomain(pick, delta, self.limit, self.items_per_person)
            for pick, delta in (pure, tight)
        ]
        return min(made, key=lambda domain: domain.height)


def pick_range(k: int, epsilon: Fraction, delta: Fraction) -> BoundedRange:
    """The bounded range of each of k adaptive picks."""
    # docs/proofs/unknown-domain.md#privacy
    return BoundedRange(pick_loss(k, epsilon, delta, BoundedRange).epsilon)


def _error(domain: LimitedDomain, k: int, failure_probability: Fraction) -> float:
    # one more candidate: ⊥
    scales = softmax_list_error(domain.limit + 1, k, failure_probability)
    return nearest_float(Fraction(scales) / domain.pick.epsilon)


@lru_cache(maxsize=256)
def _accuracy(domain: LimitedDomain, k: int, failure_probability: Fraction) -> Accuracy:
    # docs/proofs/accuracy.md#lists
    bound = rounded_up(_error(domain, k, failure_probability))
    above = rounded_up(bound + nearest_float(domain.height))
    return Accuracy(
        bound=whole_bound(bound),
        statement="list",
        unit="persons",
        thing="item",
        failure_probability=failure_probability,
        crowd=(domain.limit + 1, whole_bound(above)),
    )


def release_items(
    domain: LimitedDomain, items: Items, k: int, loss: Loss, chance: Chance
) -> Release:
    """Up to k items by label, with what it cost."""
    positions = domain.draw(items, k, chance)
    return Release(
        value=[items.label(position) for position in positions] if items is not None else [],
        loss=loss,
        mechanism="limited-domain",
        # not how many items there are: that is private
        candidates=domain.limit,
        seeded=chance.bits.seeded,
        accuracy=_accuracy(domain, k, USUAL_FAILURE),
    )


def positive_delta(delta: Number) -> Fraction:
    """A delta above 0, without which no item can be named that only the data know."""
    exact = read_delta(delta)
    if not exact:
        raise ParameterError(
            "delta",
            "greater than 0",
            delta,
            "Pure privacy cannot list names that come from the data.",
        )
    return exact


def read_domain(k: int, limit: int, items_per_person: int | None) -> tuple[int, int | None]:
    """How many items take part, and how many of them one person can have, if that is bounded."""
    limit = count(limit, "limit")
    if limit < k:
        raise ParameterError("limit", f"at least k, {k}", limit)
    return limit, None if items_per_person is None else count(items_per_person, "items_per_person")


@dataclass(frozen=True, slots=True)
class Counted:
    """Items of which an engine has counted the persons: nothing is left to be checked.

    labels: the items.
    scores: for each of them how many persons have it.
    """

    labels: Sequence[Any]
    scores: NDArray[Any]

    @property
    def size(self) -> int:
        """The number of items."""
        return len(self.scores)

    def label(self, index: int) -> Any:
        """The item at a place."""
        return self.labels[index]


Items = Candidates | Counted | None
"""Items with their counts; None if nothing was seen."""


@dataclass(frozen=True, slots=True)
class LimitedDomain:
    """How items compete: what one outcome costs, and how far above the crowd an item
    must be to be named at all.

    pick: the loss of one outcome. Nothing more (⊥) is an outcome, too.
    delta: the probability, for a whole list, that an item is named which one person
        alone brought in.
    limit: how many of the most frequent items take part.
    items_per_person: in how many items one person can take part, if that is bounded.
    """

    pick: BoundedRange
    delta: Fraction
    limit: int
    items_per_person: int | None

    @property
    def height(self) -> Fraction:
        """How far ⊥ stands above the first item that does not take part: 1 + ln(items /
        delta) / epsilon, rounded up.
        """
        # Not `d - limit`, which some texts allow as a third number here: items with a count
        # of 0 are no candidates.
        items = min(self.items_per_person or self.limit, self.limit)
        return _height(items, self.delta, self.pick.epsilon)

    def draw(self, counts: Items, k: int, chance: Chance) -> list[int]:
        """Up to k positions, most frequent first; fewer if ⊥ came up.

        Time and memory grow with the number of counts, and for few of them with the limit
        up to 4,096. The time depends on the length of the list, too, and, as in every draw,
        a little on the odds.
        """
        by_label = self.items_per_person is not None
        # Further places have no item, and the list ends where one of them wins: one heap.
        places = min(self.limit, max(_PLACES, 0 if counts is None else counts.size))
        positions, scores, next_count = _take_part(counts, places, by_label, chance)
        # Places that no item has are filled with items of count 0 that do not exist: one of
        # them winning means ⊥, too.
        listed = [*scores, _GRID * next_count + int(self.height * _GRID)]
        left = self._envelope(listed)
        result: list[int] = []
        while len(result) < k:
            winner = draw_exponential(left, chance)
            if not 0 <= winner < places or not scores[winner]:
                break
            result.append(positions[winner])
            left.take(winner)
        return result

    def _envelope(self, listed: list[int]) -> ShrinkingEnvelope | PaddedEnvelope:
        """What is drawn from: these scores, of which ⊥ has the last one, and the places that are
        left, with the score 0.
        """
        rate, last = rational(self.pick.epsilon) / _GRID, len(listed) - 1
        small = max(listed) < MACHINE_LIMIT
        values = np.array(listed) if small else [Fraction(score) for score in listed]
        left = ShrinkingEnvelope(measure(values, min(listed), max(listed), rate, smallest=False))
        if self.limit == last:
            return left
        return PaddedEnvelope(left, self.limit - last, last, rate * listed[last])


@lru_cache(maxsize=256)
def _height(items: int, delta: Fraction, epsilon: Fraction) -> Fraction:
    """1 + ln(items / delta) / epsilon, rounded up to the grid; remembered, because enclosing
    a logarithm takes as long as a draw.
    """

    def exact() -> arb:
        return 1 + (ball(items) / ball(delta)).log() / ball(epsilon)

    return Fraction(math.ceil(upper_bound(exact) * _GRID), _GRID)


def _take_part(
    counts: Items, limit: int, by_label: bool, chance: Chance
) -> tuple[list[int], list[int], int]:
    """The positions of the `limit` most frequent items, their scores, and the largest
    count among the others.

    There are always `limit` of them, those without a name have the score 0. Everything
    is done for every item and every place, whether it is needed or not, so that the
    time does not tell how many items are tied, or whether there are enough of them.
    """
    values = _filled_up(counts, limit + 1)
    next_count = kth_largest(values, limit + 1, limit + 1)
    above, tied = values > np.uint64(next_count), values == np.uint64(next_count)
    surely = int(np.count_nonzero(above))
    missing, ranks = limit - surely, np.arange(limit)
    chosen = (
        _by_label(tied, missing, limit, counts, chance)
        if by_label
        else _any_tied(tied, missing, limit, chance)
    )
    positions = np.where(ranks < surely, nth_places(above, ranks), chosen[ranks - surely])
    return positions.tolist(), [_GRID * count for count in values[positions].tolist()], next_count


def _filled_up(counts: Items, size: int) -> NDArray[np.uint64]:
    """The counts, followed by zeros if there are fewer than `size` of them."""
    found = 0 if counts is None else counts.size
    values = np.zeros(max(size, found), dtype=np.uint64)
    if counts is not None:
        values[:found] = counts.scores
    return values


def _any_tied(
    tied: NDArray[np.bool_], missing: int, limit: int, chance: Chance
) -> NDArray[np.int64]:
    """Places of which the first `missing` are a uniform choice of those that are tied;
    `limit` places in all.
    """
    others = int(np.count_nonzero(tied))
    # Where nothing is missing any more, a die with one side: it takes as long, and
    # changes nothing.
    choices = [
        place + _die(others - place if place < missing else 1, chance) for place in range(limit)
    ]
    return nth_places(tied, np.array(start_of_shuffle(choices)))


def _die(sides: int, chance: Chance) -> int:
    """A uniform number below `sides`, drawn from the same number of bits whatever `sides`
    is.
    """
    # each number stands for 2^spare of the larger ones that are drawn
    spare = _DIE_BITS - sides.bit_length()
    return chance.below(sides << spare) >> spare


def _by_label(
    tied: NDArray[np.bool_], missing: int, limit: int, counts: Items, chance: Chance
) -> NDArray[np.int64]:
    """Places of which the first `missing` are chosen among those that are tied, by an
    order that depends on the labels and a fresh key only; `limit` places in all.

    With a bound on the items of one person the proof needs that this person alone
    changes who takes part, not the order of a table.
    """
    digests = _mixed(_label_numbers(counts, tied.size), chance)
    # 0 for those that are not tied
    keys = (digests >> np.uint64(1) | _HIGHEST_BIT) * tied
    # Where none is missing, one is found that is not used.
    last = np.uint64(kth_largest(keys, max(1, missing), limit))
    before, equal = keys > last, keys == last
    surely = int(np.count_nonzero(before))
    # One place, unless labels have the same digest: then their text decides, and not the
    # order of a table.
    alike = nth_places(equal, np.arange(np.count_nonzero(equal))).tolist()
    listed = sorted(alike, key=lambda place: _text(_label(counts, place)))
    # As many as there are places, whether they are needed or not.
    rest = np.array(listed)[np.arange(limit) % len(listed)]
    ranks = np.arange(limit)
    return np.where(ranks < surely, nth_places(before, ranks), rest[ranks - surely])


def _label_numbers(counts: Items, size: int) -> NDArray[np.uint64]:
    """A number for each item that depends on its label only, and is the same in every process."""
    numbers = np.arange(size, dtype=np.uint64)
    if counts is not None and counts.labels is not None:
        labels = counts.labels.tolist() if hasattr(counts.labels, "tolist") else counts.labels
        numbers[: counts.size] = np.fromiter(
            map(_label_number, labels), dtype=np.uint64, count=counts.size
        )
    return numbers


def _label_number(label: Any) -> int:
    if type(label) is int:
        # as a position without a label
        return label % 2**64
    return crc32(
        label.encode(errors="surrogatepass") if type(label) is str else _text(label).encode()
    )


def _label(counts: Items, place: int) -> Any:
    """The label of an item; its place, for one of those that fill up."""
    return place if counts is None or place >= counts.size else counts.label(place)


def _text(label: Any) -> str:
    return f"{type(label).__name__} {label!r}"


def _mixed(numbers: NDArray[np.uint64], chance: Chance) -> NDArray[np.uint64]:
    """Different numbers become different ones again, in an order that a fresh key
    decides (the mixer is splitmix64's).
    """
    for shift, factor in _MIXER:
        numbers = numbers ^ np.uint64(chance.draw(64))
        numbers = (numbers ^ numbers >> np.uint64(shift)) * np.uint64(factor)
    return numbers ^ numbers >> np.uint64(31)


def read_counts(counts: Scores) -> Candidates | None:
    """Whole numbers of persons, none negative; None if nothing was seen."""
    if hasattr(counts, "__len__") and len(counts) == 0 and not isinstance(counts, (str, bytes)):
        return None
    candidates = read_candidates(counts)
    whole = (
        isinstance(candidates.scores, np.ndarray)
        and candidates.scores.dtype.kind in "iu"
        and candidates.unit == 1
    )
    if not whole:
        raise ScoresError(
            "must be whole numbers of people, below 2^63. Got other numbers.", name="counts"
        )
    if candidates.low < 0:
        raise ScoresError("must not be negative. Got a negative one.", name="counts")
    return candidates
