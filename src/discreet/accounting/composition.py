"""What many releases cost together: certified, and as an approximation for pictures.

The approximation is the central limit of many selections, for rough thoughts and
**never a guarantee**. Many exponential mechanisms of range epsilon together look like
one Gaussian mechanism (Dong, Durfee and Rogers 2020). At finite numbers the limit is
too optimistic: it promises more privacy than there is. Nothing in discreet that
certifies uses it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from discreet.accounting.analyses import ANALYSES, NON_ADAPTIVE_ONLY, Losses, adaptive_curve
from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.exact.enclosures import ball, lower_bound, upper_bound
from discreet.exact.rationals import Number, exact_decimal, positive, readable, round_up
from discreet.privacy.loss import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
)


@dataclass(frozen=True, slots=True)
class Composition:
    """A guarantee for many releases together, and what each analysis would have said.

    epsilon, delta: together an upper bound of what was spent, never below the truth.
    method: the analysis that gave it.
    queries: how many losses were composed.
    adaptive: whether the guarantee holds for queries that depend on earlier answers.
    alternatives: for each analysis the number it gives (epsilon or delta, whichever was
        asked for), or None where it does not apply. The non-adaptive one is listed for
        comparison even where the guarantee is adaptive and must not use it.
    lower: what no analysis of adaptive queries with these losses can go below, so that
        the accuracy that was reached can be seen; None if not known.
    """

    epsilon: Fraction
    delta: Fraction
    method: str
    queries: int
    adaptive: bool
    alternatives: Mapping[str, Fraction | None]
    lower: Fraction | None = None

    @property
    def loss(self) -> ApproxDP | None:
        """The guarantee as a loss; None if nothing was spent, or nothing is left of it."""
        return ApproxDP(self.epsilon, self.delta) if self.epsilon and self.delta < 1 else None

    def __repr__(self) -> str:
        return (
            f"Composition(epsilon={readable(self.epsilon)}, delta={readable(self.delta)}, "
            f"method={self.method!r}, "
            f"queries={self.queries}, adaptive={self.adaptive})"
        )

    def _repr_html_(self) -> str:
        from discreet.rendering.html import card, facts, table

        told = [
            ("epsilon", _shown(self.epsilon)),
            ("delta", _shown(self.delta)),
            ("queries", f"{self.queries:,}{'' if self.adaptive else ', all fixed in advance'}"),
        ]
        return card("Composition", facts(told), table(["analysis", "gives"], self._analyses()))

    def _analyses(self) -> list[list[str]]:
        """What each analysis gives, the one that was taken first."""
        ordered = sorted(self.alternatives.items(), key=lambda each: each[0] != self.method)
        return [
            [name, "does not apply" if value is None else _shown(value)] for name, value in ordered
        ]


def _shown(value: Fraction) -> str:
    """A loss in six digits, never smaller than it is."""
    return f"{float(round_up(value, 6)):.6g}" if value else "0"


@public_function("compose")
def compose(
    losses: Mapping[Loss, int] | Iterable[Loss],
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    adaptive: bool = True,
) -> Composition:
    """The smallest certified (epsilon, delta) of many releases together. Say delta to
    get epsilon, or epsilon to get delta.

    losses: a sequence of losses, or a mapping from loss to how often it occurs. Their
        order does not matter: the result holds for every order, also one that is chosen
        in view of the answers.
    adaptive: True if a query may depend on earlier answers. Say False only if all were
        fixed beforehand.

    Privacy: an upper bound, proved and rounded up; see docs/proofs/composition.md.
    Utility: for equal bounded ranges at most 1% above the optimum, and at it if not
        adaptive.
    Cost: a few seconds for up to 1,000,000 queries.

    >>> from discreet import BoundedRange
    >>> total = compose([BoundedRange(0.1)] * 22, delta=1e-6)
    >>> total.epsilon <= 1, total.method
    (True, 'bounded-range-adaptive')
    """
    if not isinstance(adaptive, bool):
        raise ParameterTypeError("adaptive", "True or False", adaptive)
    if (delta is None) == (epsilon is None):
        raise ParameterTypeError(
            "delta", "given, or 'epsilon' in its place (exactly one of the two)", delta
        )
    read = Losses.read(losses)
    if delta is not None:
        return _epsilon_for(read, _read_delta(delta), adaptive)
    assert epsilon is not None
    return _delta_for(
        read,
        positive(exact_decimal(epsilon, "epsilon"), epsilon, "epsilon"),
        adaptive,
    )


def _epsilon_for(losses: Losses, delta: Fraction, adaptive: bool) -> Composition:
    if not losses.counts:
        return Composition(Fraction(0), delta, "nothing to compose", 0, adaptive, {})
    left = delta - losses.delta
    if left < 0:
        raise ParameterError(
            "delta",
            f"at least the sum of the losses' own deltas, {readable(losses.delta)}",
            float(delta),
        )
    found = {name: _rounded(directions[0](losses, left)) for name, directions in ANALYSES.items()}
    method, best = _best(found, adaptive and losses.total > 1)
    if best is None:
        raise ParameterError(
            "delta", "greater than 0 for losses that have no pure-DP bound", float(delta)
        )
    curve = adaptive_curve(losses, delta=left)
    lower = None if curve is None else curve.epsilon_below(_rest_of_delta(losses, delta))
    return Composition(best, delta, method, losses.total, adaptive, found, lower)


def _delta_for(losses: Losses, epsilon: Fraction, adaptive: bool) -> Composition:
    if not losses.counts:
        return Composition(epsilon, Fraction(0), "nothing to compose", 0, adaptive, {})
    found = {
        name: _rounded(directions[1](losses, epsilon), losses.delta)
        for name, directions in ANALYSES.items()
    }
    method, best = _best(found, adaptive and losses.total > 1)
    # concentrated DP always has a delta
    assert best is not None
    curve = adaptive_curve(losses, epsilon=epsilon)
    lower = None if curve is None else _with_events(losses, Fraction(curve.delta(epsilon).low))
    return Composition(
        epsilon, min(best, Fraction(1)), method, losses.total, adaptive, found, lower
    )


def _with_events(losses: Losses, delta: Fraction) -> Fraction:
    """A delta that losses with deltas reach if their pure parts reach this one, rounded down.

    1 - (1 - delta) * the product of all (1 - own delta): each release says everything
    with the probability of its own delta, independently of the others. The sum of the
    deltas is more than what any releases reach.
    """
    if not losses.delta:
        return delta
    return lower_bound(lambda: (1 - losses.quiet() * (1 - ball(delta))).max(arb(0)))


def _rest_of_delta(losses: Losses, delta: Fraction) -> Fraction:
    """The delta of the pure parts from which `_with_events` makes this one, rounded up."""
    if not losses.delta:
        return delta
    return upper_bound(lambda: 1 - (1 - ball(delta)) / losses.quiet())


def _best(found: Mapping[str, Fraction | None], adaptive: bool) -> tuple[str, Fraction | None]:
    valid = {
        name: value
        for name, value in found.items()
        if value is not None and not (adaptive and name in NON_ADAPTIVE_ONLY)
    }
    if not valid:
        return "none", None
    method = min(valid, key=lambda name: valid[name])
    return method, valid[method]


def _rounded(value: Fraction | None, more: Fraction = Fraction(0)) -> Fraction | None:
    return None if value is None else round_up(value + more) if value + more else Fraction(0)


def _read_delta(delta: Number) -> Fraction:
    exact = exact_decimal(delta, "delta")
    if not 0 <= exact < 1 or math.copysign(1.0, float(delta)) < 0:
        raise ParameterError("delta", "at least 0 and below 1", delta)
    return exact


@dataclass(frozen=True, slots=True)
class GaussianApproximation:
    """The Gaussian mechanism that a composition approaches. Anti-conservative: do not
    certify with it.

    >>> GaussianApproximation.of({BoundedRange(0.1): 100}).mu
    0.5
    """

    mu: float
    """The distance of the two Gaussians in standard deviations."""

    @classmethod
    @public_function("GaussianApproximation")
    def of(cls, losses: Mapping[Loss, int] | Iterable[Loss]) -> GaussianApproximation:
        """The limit of the losses, by the variance of each.

        epsilon^2 / 4 a query of bounded range, epsilon^2 / 3 of logistic DP, epsilon^2
        of pure DP, mu^2 of Gaussian DP, 2 rho of concentrated DP.
        """
        read = Losses.read(losses)
        if read.delta:
            raise ParameterTypeError(
                "losses",
                "PureDP, BoundedRange, LogisticDP, GaussianDP or ZCDP",
                losses,
            )
        return cls(math.sqrt(sum(count * _variance(loss) for loss, count in read.counts.items())))

    def delta(self, epsilon: float) -> float:
        """The delta of this Gaussian mechanism at epsilon."""
        if self.mu == 0:
            return 0.0
        above, below = (
            _normal(-epsilon / self.mu + self.mu / 2),
            _normal(-epsilon / self.mu - self.mu / 2),
        )
        return above - (math.exp(epsilon + math.log(below)) if below else 0.0)


def _variance(loss: Loss) -> float:
    if isinstance(loss, BoundedRange):
        return float(loss.epsilon) ** 2 / 4
    if isinstance(loss, LogisticDP):
        return float(loss.epsilon) ** 2 / 3
    if isinstance(loss, PureDP):
        return float(loss.epsilon) ** 2
    if isinstance(loss, GaussianDP):
        return float(loss.mu) ** 2
    if isinstance(loss, ZCDP):
        return 2 * float(loss.rho)
    rule = "PureDP, BoundedRange, LogisticDP, GaussianDP or ZCDP"
    raise ParameterTypeError("losses", rule, loss)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
