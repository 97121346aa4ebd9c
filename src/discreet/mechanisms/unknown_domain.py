"""The k most frequent items when nobody knows beforehand which items there are."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

from discreet.accuracy import USUAL_FAILURE, Accuracy, rounded_up, whole_bound
from discreet.errors import BudgetExceededError, ParameterError
from discreet.exact.rationals import Number, count, nearest_float, readable
from discreet.mechanisms.error_bounds import softmax_error
from discreet.mechanisms.limited_domain import LimitedDomain, read_counts
from discreet.mechanisms.peeling_top_k import pick_loss
from discreet.mechanisms.scores import Scores
from discreet.privacy.loss import ApproxDP, BoundedRange, Loss
from discreet.privacy.parameters import read_delta, read_epsilon, read_probability
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UnknownDomainTopK:
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
    epsilon: Number
    delta: Number
    limit: int
    items_per_person: int | None = None
    acknowledge: str | None = None
    _domain: LimitedDomain = field(init=False, compare=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        object.__setattr__(self, "k", count(self.k, "k", owner))
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon, self.acknowledge, owner))
        object.__setattr__(self, "delta", positive_delta(self.delta, owner))
        limit, items = _read_domain(self.k, self.limit, self.items_per_person, owner)
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "items_per_person", items)
        object.__setattr__(self, "_domain", self._calibrate())

    def __repr__(self) -> str:
        shown = [
            f"k={self.k}",
            f"epsilon={readable(self._epsilon)}",
            f"delta={readable(self._delta)}",
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
        owner = type(self).__name__
        return self._domain.draw(read_counts(counts, owner), self.k, read_bits(bits, owner))

    def release(self, counts: Scores, *, bits: Bits | None = None) -> Release:
        """Up to k items by label, with what it cost. A list of fewer than k ended with ⊥."""
        owner = type(self).__name__
        return _release(
            self._domain, counts, self.k, self.privacy_loss(), owner, read_bits(bits, owner)
        )

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` and the `height` as a statement about counts of persons."""
        beta = read_probability(failure_probability, "failure_probability", type(self).__name__)
        return _accuracy(self._domain, self.k, beta)

    def privacy_loss(self) -> Loss:
        """What the list costs."""
        # docs/proofs/unknown-domain.md#privacy
        return ApproxDP(self._epsilon, self._delta)

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
        beta = read_probability(failure_probability, "failure_probability", type(self).__name__)
        return _error(self._domain, self.k, beta)

    def _calibrate(self) -> LimitedDomain:
        """Share the budget between outcomes and threshold: pure outcomes, or half of
        delta for their composition.
        """
        # both shares of the budget: docs/proofs/unknown-domain.md#privacy
        pure = BoundedRange(self._epsilon / self.k), self._delta
        half = self._delta / 2
        tight = cast(BoundedRange, pick_loss(self.k, self._epsilon, half, BoundedRange)), half
        made = [
            LimitedDomain(pick, delta, self.limit, self.items_per_person)
            for pick, delta in (pure, tight)
        ]
        return min(made, key=lambda domain: domain.height)

    @property
    def _epsilon(self) -> Fraction:
        # read in __post_init__
        return cast(Fraction, self.epsilon)

    @property
    def _delta(self) -> Fraction:
        return cast(Fraction, self.delta)


class PayWhatYouGet:
    """A budget for many lists from unknown domains that is charged for the items that
    come out, not for those asked for.

    A list that ends early costs only what it named, and one more outcome for ⊥. So
    asking for the top 100 is no waste where only five items stand out.

    epsilon, delta: the privacy loss of all lists together.
    outcomes: how many items and ⊥ can come out in total.
    calls: how many lists can be asked for.

    Privacy: all lists together are (epsilon, delta)-DP, however the questions depend on
        earlier answers. Half of delta is for the composition of the outcomes, the other
        half is shared by the thresholds of all calls. Each `Release.loss` is the loss
        of the whole account, not of that list: what a list costs depends on the data,
        so it is no guarantee of its own.
    Utility: as `UnknownDomainTopK`.
    Cost: one pass over the counts for each call.
    Reference: Durfee and Rogers 2019, section 5. Proof: docs/proofs/unknown-domain.md.

    >>> from discreet.testing import SeededBits
    >>> account = PayWhatYouGet(epsilon=1, delta=1e-6, outcomes=20, calls=5)
    >>> account.top_k(
    ...     {"cats": 912, "dogs": 701, "axolotls": 2}, k=10, limit=10, bits=SeededBits(1)
    ... ).value
    ['cats', 'dogs']
    >>> account.remaining_outcomes, account.remaining_calls
    (17, 4)
    """

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        outcomes: int,
        calls: int,
        acknowledge: str | None = None,
    ) -> None:
        owner = type(self).__name__
        # docs/proofs/unknown-domain.md#pay-what-you-get
        self._loss = ApproxDP(
            read_epsilon(epsilon, acknowledge, owner), positive_delta(delta, owner)
        )
        self._outcomes, self._calls = (
            count(outcomes, "outcomes", owner),
            count(calls, "calls", owner),
        )
        half = self._loss.delta / 2
        self._pick = cast(
            BoundedRange, pick_loss(self._outcomes, self._loss.epsilon, half, BoundedRange)
        )
        self._delta = half / self._calls
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return (
            f"PayWhatYouGet({self._loss!r}, {self.remaining_outcomes} outcomes and "
            f"{self.remaining_calls} calls left)"
        )

    @property
    def remaining_outcomes(self) -> int:
        """How many items and ⊥ can still come out."""
        return self._outcomes

    @property
    def remaining_calls(self) -> int:
        """How many lists can still be asked for."""
        return self._calls

    def privacy_loss(self) -> Loss:
        """What all lists together cost at most."""
        return self._loss

    def top_k(
        self,
        counts: Scores,
        *,
        k: int,
        limit: int,
        items_per_person: int | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """Up to k items, most frequent first. Charges one outcome for each, and one for
        ⊥ if the list is shorter than k.
        """
        owner = "PayWhatYouGet.top_k"
        k = count(k, "k", owner)
        limit, items = _read_domain(k, limit, items_per_person, owner)
        domain = LimitedDomain(self._pick, self._delta, limit, items)
        chance = read_bits(bits, owner)
        with self._lock:
            if k > self._outcomes or not self._calls:
                left = self._outcomes if self._calls else 0
                raise BudgetExceededError(
                    f"{self._loss!r} of this PayWhatYouGet has room for {left} more outcomes. "
                    f"Requested {k}."
                )
            # charged in full first: an error in between keeps the charge
            self._outcomes, self._calls = self._outcomes - k, self._calls - 1
            release = _release(domain, counts, k, self._loss, owner, chance)
            self._outcomes += k - min(k, len(release.value) + 1)
        return release


def _error(domain: LimitedDomain, k: int, failure_probability: Fraction) -> float:
    # one more candidate: ⊥
    scales = softmax_error(domain.limit + 1, 1, failure_probability / k)
    return nearest_float(Fraction(scales) / domain.pick.epsilon)


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


def _release(
    domain: LimitedDomain, counts: Scores, k: int, loss: Loss, owner: str, chance: Chance
) -> Release:
    items = read_counts(counts, owner)
    positions = domain.draw(items, k, chance)
    return Release(
        value=[items.label(position) for position in positions] if items is not None else [],
        loss=loss,
        mechanism="limited-domain",
        # how many items there are is nobody's business
        candidates=domain.limit,
        seeded=chance.bits.seeded,
        accuracy=_accuracy(domain, k, USUAL_FAILURE),
    )


def positive_delta(delta: Number, owner: str) -> Fraction:
    """A delta above 0, without which no item can be named that only the data know."""
    exact = read_delta(delta, owner)
    if not exact:
        raise ParameterError(
            owner,
            "delta",
            "greater than 0",
            delta,
            "Naming items that only the data know is not possible with pure privacy.",
        )
    return exact


def _read_domain(
    k: int, limit: int, items_per_person: int | None, owner: str
) -> tuple[int, int | None]:
    limit = count(limit, "limit", owner)
    if limit < k:
        raise ParameterError(owner, "limit", f"at least k, {k}", limit)
    return limit, None if items_per_person is None else count(
        items_per_person, "items_per_person", owner
    )
