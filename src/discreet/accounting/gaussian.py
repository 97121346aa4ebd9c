"""The central limit of many selections, for pictures and rough thoughts: an approximation, **never a guarantee**.

Many exponential mechanisms of range epsilon together look like one Gaussian mechanism (Dong, Durfee and Rogers 2020). At finite
numbers the limit is too optimistic: it promises more privacy than there is. Nothing in discreet that certifies uses it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.accounting.losses import Losses
from discreet.errors import ParameterTypeError
from discreet.privacy.loss import ZCDP, BoundedRange, Loss, PureDP


@dataclass(frozen=True, slots=True)
class GaussianApproximation:
    """The Gaussian mechanism that a composition approaches. Anti-conservative: do not certify with it.

    >>> GaussianApproximation.of({BoundedRange(0.1): 100}).mu
    0.5
    """

    mu: float
    """The distance of the two Gaussians in standard deviations."""

    @classmethod
    def of(cls, losses: Mapping[Loss, int] | Iterable[Loss]) -> GaussianApproximation:
        """The limit: a variance of epsilon^2 / 4 a query of bounded range, epsilon^2 of pure DP, 2 rho of concentrated DP."""
        read = Losses.read(losses, "GaussianApproximation")
        if read.delta:
            raise ParameterTypeError("GaussianApproximation", "losses", "PureDP, BoundedRange or ZCDP", losses)
        return cls(math.sqrt(sum(count * _variance(loss) for loss, count in read.counts.items())))

    def delta(self, epsilon: float) -> float:
        """The delta of this Gaussian mechanism at epsilon."""
        if self.mu == 0:
            return 0.0
        above, below = _normal(-epsilon / self.mu + self.mu / 2), _normal(-epsilon / self.mu - self.mu / 2)
        return above - (math.exp(epsilon + math.log(below)) if below else 0.0)


def _variance(loss: Loss) -> float:
    if isinstance(loss, BoundedRange):
        return float(loss.epsilon) ** 2 / 4
    if isinstance(loss, PureDP):
        return float(loss.epsilon) ** 2
    if isinstance(loss, ZCDP):
        return 2 * float(loss.rho)
    raise ParameterTypeError("GaussianApproximation", "losses", "PureDP, BoundedRange or ZCDP", loss)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
