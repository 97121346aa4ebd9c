"""The analyses: each bounds what a set of losses costs together, from above and with certainty.

Losses are read with their multiplicities (`Losses`).

| name | what it uses | order |
|---|---|---|
| basic | epsilons add up | any |
| kov | optimal composition of pure DP (Kairouz, Oh and Viswanath 2015) | adaptive |
| zcdp | concentrated DP adds up; converted with the best order | adaptive, any order |
| rdp | Renyi divergences add up; converted with the best order | adaptive, any order |
| bounded-range-adaptive | certified grid for bounded range and pure DP | adaptive, any order |
| gaussian-noise | squares of the mu of Gaussian pairs add up | adaptive, any order |
| dominating-pairs | certified convolution, bounded ranges in blocks | adaptive, any order |
| bounded-range-non-adaptive | optimum for equal bounded ranges | fixed beforehand |

Each analysis goes both ways, from a delta to an epsilon and from an epsilon to a delta,
and gives None where it does not apply.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from discreet.accounting import adaptive_grid, renyi
from discreet.accounting.dominating_pairs import BLOCK, distribution_for
from discreet.accounting.loss_distribution import Profile
from discreet.accounting.two_point import delta_non_adaptive, hockey_stick, quick_delta, slack
from discreet.errors import ParameterTypeError
from discreet.exact.enclosures import ball
from discreet.exact.normal import gaussian_delta, gaussian_epsilon, square_root_up
from discreet.exact.rationals import count
from discreet.privacy.loss import (
    NO_LOSS,
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
    is_loss,
)

# what implies pure DP of the same epsilon
_PURE = (PureDP, BoundedRange, LogisticDP)

_HALVINGS = 60
# a grid with fewer cells in the largest epsilon is not tight
_COARSE = 16
# how often a convolution is run, and from which factor on its tails were cut for another delta
_LOOKS, _FAR = 3, 1000

MANY = 2 * 10**6
"""Queries beyond which sums over their outcomes are not tried any more; concentrated DP
takes over.
"""


@dataclass(frozen=True, slots=True)
class Losses:
    """How often each loss occurs. (epsilon, delta) losses are split: pure DP, up to an
    event whose deltas add up.
    """

    counts: dict[Loss, int]
    delta: Fraction
    deltas: tuple[tuple[Fraction, int], ...] = ()
    """The deltas that add up to `delta`, each with how often it occurs."""

    @classmethod
    def read(cls, losses: Mapping[Loss, int] | Iterable[Loss]) -> Losses:
        """Read a sequence of losses, or a mapping from loss to how often it occurs."""
        if isinstance(losses, Mapping):
            counted = {_loss(loss): count(times, "losses") for loss, times in losses.items()}
        elif isinstance(losses, Iterable):
            counted = dict(Counter(_loss(loss) for loss in losses))
        else:
            raise ParameterTypeError(
                "losses", "a sequence of losses, or a mapping from loss to count", losses
            )
        counts: Counter[Loss] = Counter()
        # of composed losses: a bad event each
        bad = [(loss.delta, n) for loss, n in counted.items() if isinstance(loss, Composed)]
        deltas = [(each, times) for each, times in bad if each]
        delta = sum((each * times for each, times in deltas), Fraction(0))
        for loss, times in _unfolded(counted):
            if loss == NO_LOSS:
                continue
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
        pure = [(loss, times) for loss, times in self.counts.items() if isinstance(loss, _PURE)]
        return (
            [(loss.epsilon, times) for loss, times in pure]
            if len(pure) == len(self.counts)
            else None
        )

    @property
    def rho(self) -> Fraction:
        """The sum of all concentrated losses, rounded up."""
        return sum((_rho(loss) * times for loss, times in self.counts.items()), Fraction(0))


def _unfolded(counted: Mapping[Loss, int]) -> Iterator[tuple[Loss, int]]:
    """Each loss with how often it occurs; of a composed one its parts."""
    for loss, times in counted.items():
        if isinstance(loss, Composed):
            yield from ((part, often * times) for part, often in loss.parts)
        else:
            yield loss, times


def _rho(loss: Loss) -> Fraction:
    if isinstance(loss, (*_PURE, GaussianDP)):
        return loss.to_zcdp().rho
    assert isinstance(loss, ZCDP)
    return loss.rho


def _loss(value: object) -> Loss:
    if not is_loss(value):
        rule = "made of PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP and ApproxDP"
        raise ParameterTypeError("losses", rule, value)
    return value


Direction = Callable[[Losses, Fraction], Fraction | None]


def basic_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The sum of the epsilons; delta is not needed."""
    if losses.epsilons is None:
        return None
    return sum((epsilon * times for epsilon, times in losses.epsilons), Fraction(0))


def basic_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The delta of the plain sum: 0 from the sum of the epsilons on."""
    total = basic_epsilon(losses, Fraction(0))
    return Fraction(0) if total is not None and epsilon >= total else None


def kov_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """k copies of randomized response; where epsilons differ, the largest stands for all."""
    if losses.epsilons is None or losses.total > MANY:
        return None
    largest = max(each for each, _ in losses.epsilons)
    return Fraction(hockey_stick(2 * largest, largest, losses.total, epsilon).high)


def kov_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The smallest epsilon with that delta."""
    if losses.epsilons is None or losses.total > MANY or not delta:
        return None
    largest = max(each for each, _ in losses.epsilons)
    return smallest(
        lambda epsilon: hockey_stick(2 * largest, largest, losses.total, epsilon).high <= delta,
        largest * losses.total,
    )


def gaussian_together(losses: Losses) -> Fraction | None:
    """The mu of all of them, rounded up, where there is Gaussian noise and all have a mu.

    docs/proofs/composition.md#12-gaussian-dp
    """
    if not any(isinstance(loss, GaussianDP) for loss in losses.counts):
        return None
    pairs = [(loss.to_gaussian_dp(), times) for loss, times in losses.counts.items()]
    squares = [times * pair.mu**2 for pair, times in pairs if pair is not None]
    return square_root_up(sum(squares, Fraction(0))) if len(squares) == len(pairs) else None


def gaussian_together_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The delta of that one Gaussian pair."""
    mu = gaussian_together(losses)
    return None if mu is None else gaussian_delta(mu, epsilon)


def gaussian_together_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """An epsilon for this delta."""
    mu = gaussian_together(losses)
    return None if mu is None or not delta else gaussian_epsilon(mu, delta)


def zcdp_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The delta of the sum of rho, by the conversion of Canonne, Kamath and Steinke."""
    rho = losses.rho
    return renyi.delta_of(lambda order: ball(rho) * order, epsilon)


def zcdp_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """An epsilon for this delta, by the same conversion."""
    rho = losses.rho
    return renyi.epsilon_of(lambda order: ball(rho) * order, delta) if delta else None


def rdp_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The delta of the sum of the Renyi curves, by the same conversion."""
    return renyi.delta_of(renyi.total_curve(losses.counts), epsilon)


def rdp_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """An epsilon for this delta, by the same conversion."""
    return renyi.epsilon_of(renyi.total_curve(losses.counts), delta) if delta else None


def non_adaptive_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The delta of equal bounded ranges that are fixed beforehand: the exact optimum."""
    width = _one_range(losses)
    return (
        None
        if width is None or losses.total > MANY
        else Fraction(delta_non_adaptive(width, losses.total, epsilon).high)
    )


def non_adaptive_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The epsilon of that optimum, found with a quick search and then certified: if the
    certificate fails, the epsilon grows until it holds.
    """
    width = _one_range(losses)
    if width is None or losses.total > MANY or not delta:
        return None
    copies = losses.total
    # so that the certificate, which is that much looser, usually holds at once
    goal = delta / (1 + slack(copies))
    found = smallest(
        lambda epsilon: quick_delta(width, copies, epsilon) <= goal, width * copies, halvings=44
    )
    step = width * copies / 2**40
    while delta_non_adaptive(width, copies, found).high > delta:
        found, step = found + step, step * 8
    return found


def adaptive_curve(
    losses: Losses, *, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> adaptive_grid.Curve | None:
    """The certified bracket for all these losses in any order, where it can be computed."""
    if epsilon is None and not delta:
        return None
    return _remembered_curve(
        tuple(losses.counts.items()), _reach(losses, epsilon=epsilon, delta=delta)
    )


# compose asks for the upper end and then for the lower one
@lru_cache(maxsize=2)
def _remembered_curve(
    counts: tuple[tuple[Loss, int], ...], reach: float
) -> adaptive_grid.Curve | None:
    return adaptive_grid.curve_for(dict(counts), reach)


def adaptive_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The upper end of the certified grid bracket."""
    curve = adaptive_curve(losses, epsilon=epsilon)
    return None if curve is None else Fraction(curve.delta(epsilon).high)


def adaptive_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The epsilon at which that upper end falls to delta."""
    curve = adaptive_curve(losses, delta=delta)
    return None if curve is None else curve.epsilon(delta)


def pairs_delta(losses: Losses, epsilon: Fraction) -> Fraction | None:
    """The delta of the convolution.

    How small it is, and so how fine its tails have to be, is learnt on the way.
    """
    total = basic_epsilon(losses, Fraction(0))
    # from the sum on it is 0, which a convolution never says
    certain = total is not None and epsilon >= total
    if certain or not _needs_pairs(losses, _reach(losses, epsilon=epsilon)):
        return None
    size = renyi.delta_of(renyi.total_curve(losses.counts), epsilon)
    for _ in range(_LOOKS):
        profile = pairs_profile(losses, size)
        found = None if profile is None else profile.delta(epsilon)
        if found is None or found > size / _FAR:
            return found
        size = found
    return found


def pairs_epsilon(losses: Losses, delta: Fraction) -> Fraction | None:
    """The epsilon at which that delta is reached."""
    if not delta or not _needs_pairs(losses, _reach(losses, delta=delta)):
        return None
    profile = pairs_profile(losses, delta)
    return None if profile is None else profile.epsilon(delta)


def _needs_pairs(losses: Losses, reach: float) -> bool:
    """True if the grid for all losses does not exist, or is so coarse that pairs are tighter."""
    counts = losses.counts
    if any(isinstance(loss, ZCDP) for loss in counts):
        return False
    pairs = (LogisticDP, GaussianDP)
    if any(isinstance(loss, pairs) or _is_long(loss, times) for loss, times in counts.items()):
        return True
    layout = adaptive_grid.layout_for(counts, reach)
    return len(counts) > 1 and (layout is None or max(layout.cells) < _COARSE)


def _is_long(loss: Loss, times: int) -> bool:
    return isinstance(loss, BoundedRange) and times > BLOCK


def pairs_profile(losses: Losses, delta: Fraction) -> Profile | None:
    """The delta at every epsilon by dominating pairs, accurate for deltas of this size."""
    return _remembered_profile(tuple(losses.counts.items()), delta)


@lru_cache(maxsize=4)
def _remembered_profile(counts: tuple[tuple[Loss, int], ...], delta: Fraction) -> Profile | None:
    found = distribution_for(dict(counts), delta)
    return None if found is None else found.profile()


ANALYSES: dict[str, tuple[Direction, Direction]] = {
    "basic": (basic_epsilon, basic_delta),
    "kov": (kov_epsilon, kov_delta),
    "zcdp": (zcdp_epsilon, zcdp_delta),
    "rdp": (rdp_epsilon, rdp_delta),
    "bounded-range-adaptive": (adaptive_epsilon, adaptive_delta),
    "gaussian-noise": (gaussian_together_epsilon, gaussian_together_delta),
    "dominating-pairs": (pairs_epsilon, pairs_delta),
    "bounded-range-non-adaptive": (non_adaptive_epsilon, non_adaptive_delta),
}
"""For each analysis: (losses, delta) to epsilon, and (losses, epsilon) to delta."""

NON_ADAPTIVE_ONLY = frozenset({"bounded-range-non-adaptive"})


def smallest(
    good: Callable[[Fraction], bool], certain: Fraction, halvings: int = _HALVINGS
) -> Fraction:
    """The smallest number up to `certain` that is good, to within certain / 2^halvings;
    `certain` itself is known to be good.
    """
    low, high = Fraction(0), certain
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _one_range(losses: Losses) -> Fraction | None:
    """The epsilon of all losses, if they are all the same bounded range."""
    if len(losses.counts) == 1:
        (loss,) = losses.counts
        if isinstance(loss, BoundedRange):
            return loss.epsilon
    return None


def _reach(
    losses: Losses, *, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> float:
    """How large an epsilon the grid has to hold: where delta is a millionth of what is
    asked for.
    """
    curve = renyi.total_curve(losses.counts)
    if delta is None:
        assert epsilon is not None
        delta = max(renyi.delta_of(curve, epsilon), Fraction(1, 10**30))
    try:
        return float(renyi.epsilon_of(curve, delta / 10**6)) if delta else math.inf
    except OverflowError:
        return math.inf
