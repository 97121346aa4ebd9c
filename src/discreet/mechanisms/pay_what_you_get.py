"""An account for many lists from unknown domains, charged for the items that come out."""

from __future__ import annotations

import threading

from discreet.errors import BudgetExceededError, public_class, public_function
from discreet.exact.rationals import Number, count
from discreet.mechanisms.scores import Scores
from discreet.mechanisms.unknown_domain import (
    LimitedDomain,
    pick_range,
    positive_delta,
    read_counts,
    read_domain,
    release_items,
)
from discreet.privacy.loss import ApproxDP, Loss
from discreet.privacy.parameters import read_epsilon
from discreet.randomness.chance import Bits, read_bits
from discreet.release import Release


@public_class
class PayWhatYouGet:
    """A budget for many lists from unknown domains that is charged for the items that
    come out, not for those asked for.

    A list that ends early costs only what it named, and one more outcome for ⊥. So
    asking for the top 100 is no waste where only five items stand out.

    epsilon, delta: the privacy loss of all lists together.
    outcomes: how many items and ⊥ can come out in total.
    calls: how many lists can be asked for.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.

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
        # docs/proofs/unknown-domain.md#pay-what-you-get
        self._loss = ApproxDP(read_epsilon(epsilon, acknowledge), positive_delta(delta))
        self._outcomes, self._calls = (
            count(outcomes, "outcomes"),
            count(calls, "calls"),
        )
        half = self._loss.delta / 2
        self._pick = pick_range(self._outcomes, self._loss.epsilon, half)
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

    @public_function("PayWhatYouGet.top_k")
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

        counts, k, limit, items_per_person: as for `top_k_unknown_domain`.
        bits: only in tests and simulations.
        """
        k = count(k, "k")
        limit, items = read_domain(k, limit, items_per_person)
        domain = LimitedDomain(self._pick, self._delta, limit, items)
        chance = read_bits(bits)
        with self._lock:
            if k > self._outcomes or not self._calls:
                left = self._outcomes if self._calls else 0
                raise BudgetExceededError(
                    f"This PayWhatYouGet has room for only {left} more outcomes. Requested {k}."
                )
            # charged in full first: an error in between keeps the charge
            self._outcomes, self._calls = self._outcomes - k, self._calls - 1
            release = release_items(domain, read_counts(counts), k, self._loss, chance)
            self._outcomes += k - min(k, len(release.value) + 1)
        return release
