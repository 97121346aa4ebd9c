"""Reading what is to be composed: losses with their multiplicities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from discreet.certified import ball
from discreet.errors import ParameterTypeError
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, Loss, PureDP
from discreet.privacy.numbers import count


@dataclass(frozen=True, slots=True)
class Losses:
    """How often each loss occurs. (epsilon, delta) losses are split: pure DP, up to an event whose deltas add up."""

    counts: dict[Loss, int]
    delta: Fraction
    deltas: tuple[tuple[Fraction, int], ...] = ()
    """The deltas that add up to `delta`, each with how often it occurs."""

    @classmethod
    def read(cls, losses: Mapping[Loss, int] | Iterable[Loss], owner: str) -> Losses:
        """Read a sequence of losses, or a mapping from loss to how often it occurs."""
        if isinstance(losses, Mapping):
            counted = {_loss(loss, owner): count(times, "losses", owner) for loss, times in losses.items()}
        elif isinstance(losses, Iterable):
            counted = dict(Counter(_loss(loss, owner) for loss in losses))
        else:
            raise ParameterTypeError(owner, "losses", "a sequence of losses, or a mapping from loss to count", losses)
        counts: Counter[Loss] = Counter()
        delta, deltas = Fraction(0), []
        for loss, times in counted.items():
            if isinstance(loss, ApproxDP):
                counts[PureDP(loss.epsilon)] += times
                delta += loss.delta * times
                deltas.append((loss.delta, times))
            else:
                counts[loss] += times
        return cls(dict(counts), delta, tuple(deltas))

    def quiet(self) -> arb:
        """The probability that no event of a delta happens, where these are independent."""
        return sum((times * (-ball(delta)).log1p() for delta, times in self.deltas), arb(0)).exp()

    @property
    def total(self) -> int:
        """The number of queries."""
        return sum(self.counts.values())

    @property
    def epsilons(self) -> list[tuple[Fraction, int]] | None:
        """Pure-DP epsilons with their counts; None if some loss has none."""
        if any(not isinstance(loss, (PureDP, BoundedRange)) for loss in self.counts):
            return None
        return [(loss.epsilon, times) for loss, times in self.counts.items() if isinstance(loss, (PureDP, BoundedRange))]

    @property
    def rho(self) -> Fraction:
        """The sum of all concentrated losses, rounded up."""
        return sum((_rho(loss) * times for loss, times in self.counts.items()), Fraction(0))


def _rho(loss: Loss) -> Fraction:
    if isinstance(loss, (PureDP, BoundedRange)):
        return loss.to_zcdp().rho
    assert isinstance(loss, ZCDP)
    return loss.rho


def _loss(value: object, owner: str) -> Loss:
    if not isinstance(value, (PureDP, BoundedRange, ZCDP, ApproxDP)):
        raise ParameterTypeError(owner, "losses", "made of PureDP, BoundedRange, ZCDP and ApproxDP", value)
    return value
