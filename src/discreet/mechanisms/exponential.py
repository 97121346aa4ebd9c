"""The exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.mechanisms.laws import SOFTMAX, Law
from discreet.mechanisms.selection import SelectionMechanism


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExponentialMechanism(SelectionMechanism):
    """Pick a candidate with odds exp(epsilon * score / range). The right choice when there will be many selections.

    Privacy: epsilon-bounded-range, hence epsilon-DP; many together cost far less than their sum.
    Utility: the selected score is within (range / epsilon) * ln(d / beta) of the best, except with probability beta.
    Cost: two passes over the scores and a few exact draws.
    Reference: McSherry and Talwar 2007; Dong, Durfee and Rogers 2020. Proof: docs/proofs/exponential.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = ExponentialMechanism(epsilon=0.5, sensitivity=1)
    >>> mechanism.select([41, 38, 12], bits=SeededBits(7))
    1
    >>> mechanism.probabilities([41, 38, 12]).round(6).tolist()
    [0.678851, 0.320667, 0.000482]
    >>> mechanism.privacy_loss()
    BoundedRange(epsilon=0.5)
    >>> round(mechanism.error_bound(candidates=100, failure_probability=0.01), 6)
    36.841361
    """

    @property
    def name(self) -> str:
        """The word for this mechanism in a Release and on the command line."""
        return "exponential"

    @property
    def law(self) -> Law:
        """Candidate i has odds exp(-distance_i)."""
        return SOFTMAX
