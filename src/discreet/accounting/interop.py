"""To and from Google's `dp_accounting`, so that selections can be composed with
Gaussian and Laplace releases made elsewhere.

Both ways keep a promise: what comes out never claims more privacy than what went in.
How often a loss occurs is kept outside the events, in one `SelfComposedDpEvent` around
each, because not every branch of dp_accounting's accountants looks at the count: up to
version 0.6 its PLD accountant charges any number of randomized responses as one. No
event made here is of that kind.

What stands for a loss:

| loss | for the RDP accountant | for the PLD accountant | as a privacy-loss distribution |
|---|---|---|---|
| `BoundedRange` | `ZCDpEvent`, tight rho | `GaussianDpEvent` | the logistic pair (below) |
| `LogisticDP` | `ZCDpEvent`, tight rho | `GaussianDpEvent` | the logistic pair |
| `PureDP` | `LaplaceDpEvent` | `LaplaceDpEvent` | randomized response, discretized |
| `GaussianDP` | `GaussianDpEvent` | `GaussianDpEvent` | that library's own, of a Gaussian |
| `ZCDP` | `ZCDpEvent` | refused | refused |
| `ApproxDP` | refused: no event carries a delta | refused | its pure part, and delta at infinity |

*Bounded range.* The largest delta at epsilon g of one mechanism of range w is (1 -
e^((g-w)/2))^2 / (1 - e^-w) for |g| < w. That is the privacy profile of one pair of
distributions: a logistic distribution and the same moved by w, whose trade-off curve is
f(a) = (1 - a) / (1 + (e^w - 1) a). So this pair dominates every mechanism of range w,
and dominating pairs may be composed for adaptive queries (Zhu, Dong and Wang 2022). It
is the best single pair, but not the best bound: a mechanism of range w cannot be worst
at every g at once, which `compose` exploits. In the limit of many queries the pair
costs sqrt(4/3), 15% more epsilon.

*By a Gaussian.* Moved by mu, a normal distribution dominates the logistic pair if it
does so at g = 0, where the two curves cross the diagonal: mu = 2 z with Phi(z) = 1 / (1
+ e^(-w/2)). This holds because the normal has lighter tails: the map between their
quantiles is concave above 0 (van Zwet 1964), so that it stretches an interval of length
w most where it is centred.

*Pure DP by Laplace noise.* Randomised response has delta (e^epsilon - e^g) / (1 +
e^epsilon), Laplace noise of parameter 1/s has 1 - e^((g-s)/2). The second is at least
the first for all |g| <= epsilon as soon as it is at g = 0, that is for s = 2 ln((1 +
e^epsilon) / 2). With s = epsilon it would be too small: Laplace noise is not the worst
that epsilon-DP allows.

*Concentrated DP* does not imply that a Gaussian of the same rho dominates, so no
distribution is offered for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.accounting.analyses import Losses
from discreet.errors import (
    MissingExtraError,
    ParameterError,
    ParameterTypeError,
    called_as,
    public_function,
)
from discreet.exact.enclosures import at_precision, ball, down, up, upper_bound
from discreet.exact.rationals import Number, choice, count, exact_decimal, positive, round_up
from discreet.literals import ACCOUNTANTS, Accountant
from discreet.privacy.loss import ZCDP, BoundedRange, GaussianDP, LogisticDP, Loss, PureDP
from discreet.versions import require

if TYPE_CHECKING:
    from dp_accounting import DpEvent
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Array = NDArray[np.float64]

_BITS = 160
# of a discretized distribution on each side of 0; a composition has as many again for
# each query
_MOST_POINTS = 10**7
# epsilon of a loss that becomes an event
_LARGEST_EVENT = 10**6


@public_function("to_dp_event")
def to_dp_event(
    losses: Mapping[Loss, int] | Iterable[Loss], *, accountant: Accountant = "rdp"
) -> DpEvent:
    """The losses as one dp_accounting event, for an accountant that also sees releases
    made elsewhere.

    losses: a sequence of losses, or a mapping from loss to how often it occurs.
    accountant: "rdp" for dp_accounting's RdpAccountant. "pld" for its PLDAccountant,
        which does not know concentrated DP: bounded range becomes a Gaussian, which
        costs more.

    Privacy: the accountant's result is never below what the losses cost, up to its own
        floating-point errors; every number in an event is rounded to the safe side. The
        losses and the other events must be about the same neighbours.
    Utility: `compose` is tighter where discreet knows all losses. For 10 to 1,000
        selections of 0.1 at a delta of 1e-6, "rdp" is 7 to 11% above the optimum and
        "pld" 29 to 31%; `to_privacy_loss_distribution` is 9 to 19%. One selection is
        better off as PureDP.

    >>> import dp_accounting
    >>> from discreet import BoundedRange
    >>> event = to_dp_event({BoundedRange(0.1): 100})
    >>> event.events[0].count
    100
    >>> both = dp_accounting.ComposedDpEvent(
    ...     [event, dp_accounting.GaussianDpEvent(noise_multiplier=5)]
    ... )
    >>> print(f"{dp_accounting.rdp.RdpAccountant().compose(both).get_epsilon(1e-6):.2f}")
    2.62
    """
    library = _library()
    choice(accountant, ACCOUNTANTS, "accountant")
    read = Losses.read(losses)
    if read.delta:
        raise ParameterError(
            "losses",
            "without a delta of their own, because no event carries one",
            losses,
            "Convert PureDP(epsilon) and add the deltas to the accountant's, or use "
            "to_privacy_loss_distribution.",
        )
    return library.ComposedDpEvent(
        [
            library.SelfComposedDpEvent(_event(loss, accountant, library), times)
            for loss, times in read.counts.items()
        ]
    )


@public_function("from_dp_event")
def from_dp_event(event: DpEvent) -> dict[Loss, int]:
    """What an event costs, as losses for `compose`, `PrivacyFilter` and everything else here.

    event: Gaussian noise, Laplace noise (also discrete), randomized response,
        concentrated DP, and compositions of them. The noise multiplier means what
        dp_accounting says: noise by the largest contribution of one person who is added
        or removed.

    Privacy: each loss is implied by its event, rounded up. An event that no loss here
        stands for (sampling, repeat-and-select, what is not private at all) is refused,
        not guessed.

    >>> import dp_accounting
    >>> noise = dp_accounting.SelfComposedDpEvent(
    ...     dp_accounting.GaussianDpEvent(noise_multiplier=2), 3
    ... )
    >>> from_dp_event(
    ...     dp_accounting.ComposedDpEvent(
    ...         [noise, dp_accounting.LaplaceDpEvent(noise_multiplier=10)]
    ...     )
    ... )
    {GaussianDP(mu=0.5): 3, PureDP(epsilon=0.1): 1}
    """
    library = _library()
    counts: Counter[Loss] = Counter()
    waiting = [(event, 1)]
    while waiting:
        part, times = waiting.pop()
        if type(part) is library.ComposedDpEvent:
            waiting += [(each, times) for each in reversed(part.events)]
        elif type(part) is library.SelfComposedDpEvent:
            with called_as("SelfComposedDpEvent", ["count"]):
                repeats = count(part.count, "count", least=0)
            if repeats:
                waiting.append((part.event, times * repeats))
        else:
            loss = _loss_of(part, library)
            if loss is not None:
                counts[loss] += times
    return dict(counts)


@public_function("to_privacy_loss_distribution")
def to_privacy_loss_distribution(
    losses: Mapping[Loss, int] | Iterable[Loss], interval: float = 1e-4
) -> PrivacyLossDistribution:
    """A dp_accounting privacy-loss distribution that dominates all mechanisms with
    these losses together, in any order.

    losses: a sequence of losses, or a mapping from loss to how often it occurs. Not
        `ZCDP`, which no distribution dominates well.
    interval: the step of the discretization, the same as of the distributions that it
        will be composed with.

    Privacy: pessimistic. Each loss becomes its dominating pair by connecting the dots
        (Doroshenko and others 2022): delta is exact at the multiples of the interval
        and a chord in between. dp_accounting composes them with floating-point Fourier
        transforms, whose errors it does not bound; do not rely on it for a delta below
        about 1e-10. Queries and their order may depend on answers, the losses may not.
    Utility: the optimum for one selection; for 10, 100 and 1,000 selections of 0.1 at a
        delta of 1e-6 an epsilon 9, 16 and 19% above.

    >>> from dp_accounting.pld import privacy_loss_distribution
    >>> from discreet import BoundedRange
    >>> selections = to_privacy_loss_distribution({BoundedRange(0.1): 20})
    >>> noise = privacy_loss_distribution.from_gaussian_mechanism(
    ...     standard_deviation=5, value_discretization_interval=1e-4
    ... )
    >>> (
    ...     round(selections.get_epsilon_for_delta(1e-6), 3),
    ...     round(selections.compose(noise).get_epsilon_for_delta(1e-6), 3),
    ... )
    (1.046, 1.39)
    """
    _library()
    from dp_accounting.pld import privacy_loss_distribution as distributions

    step = _read_interval(interval)
    read = Losses.read(losses)
    if read.delta >= 1:
        rule = "such that their deltas add up to less than 1"
        raise ParameterError("losses", rule, float(read.delta))
    make = distributions.PrivacyLossDistribution.create_from_rounded_probability
    parts = []
    for loss, times in read.counts.items():
        if isinstance(loss, GaussianDP):
            one = distributions.from_gaussian_mechanism(
                down(ball(1 / loss.mu)), value_discretization_interval=float(step)
            )
        else:
            one = make(_masses(loss, step), 0.0, float(step))
        parts.append(one.self_compose(times) if times > 1 else one)
    if read.delta or not parts:
        lost = at_precision(_BITS, lambda: up(ball(read.delta))) if read.delta else 0.0
        parts.append(make({0: 1.0 - lost}, lost, float(step)))
    return reduce(lambda left, right: left.compose(right), parts)


# Losses as events


def _event(loss: Loss, accountant: Accountant, library: Any) -> DpEvent:
    if isinstance(loss, PureDP):
        return library.LaplaceDpEvent(noise_multiplier=_rounded_down(_laplace_noise, loss.epsilon))
    if isinstance(loss, GaussianDP):
        return library.GaussianDpEvent(noise_multiplier=down(ball(1 / loss.mu)))
    if accountant == "rdp":
        rho = Losses({loss: 1}, Fraction(0)).rho
        return library.ZCDpEvent(rho=at_precision(_BITS, lambda: up(ball(rho))))
    if isinstance(loss, (BoundedRange, LogisticDP)):
        return library.GaussianDpEvent(
            noise_multiplier=_rounded_down(_gaussian_noise, loss.epsilon)
        )
    hint = (
        "Concentrated DP needs an RDP accountant, because mechanisms with the same rho can "
        "differ otherwise."
    )
    raise ParameterError(
        "losses",
        "BoundedRange, LogisticDP or PureDP for a PLD accountant",
        loss,
        hint,
    )


def _gaussian_noise(width: arb) -> arb:
    """1 / mu, where 1 - Phi(mu / 2) = erfc(mu / sqrt 8) / 2 is 1 / (1 + e^(width / 2)).

    Why the map z(s) from logistic to normal quantiles is concave above 0: z' falls if
    and only if the function (2 Phi - 1) phi - z Phi (1 - Phi) of z is at least 0. It is
    0 at 0 and at infinity, and its derivative 2 phi^2 - Phi (1 - Phi) changes sign
    once, from plus to minus, because phi^2 / (Phi (1 - Phi)) falls: its logarithmic
    derivative is -2 z + r(z) - r(-z) with the hazard rate r = phi / (1 - Phi), whose
    slope is between 0 and 1.
    """
    return 1 / (arb(8).sqrt() * (2 / (1 + (width / 2).exp())).erfcinv())


def _laplace_noise(epsilon: arb) -> arb:
    """1 / s, where s = 2 ln((1 + e^epsilon) / 2)."""
    return 1 / (2 * (epsilon.expm1() / 2).log1p())


def _rounded_down(formula: Callable[[arb], arb], epsilon: Fraction) -> float:
    """What a formula gives, rounded down, at a precision that leaves enough good bits where
    numbers near 1 cancel down to epsilon.
    """
    if epsilon > _LARGEST_EVENT:
        raise ParameterError("losses", f"of an epsilon of at most {_LARGEST_EVENT:,}", epsilon)
    bits = _BITS + 2 * max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    return at_precision(bits, lambda: down(formula(ball(epsilon))))


# Events as losses


def _loss_of(event: DpEvent, library: Any) -> Loss | None:
    """The loss of an event that is not a composition; None if it costs nothing."""
    readers: dict[type, Callable[[Any], Loss | None]] = {
        library.NoOpDpEvent: lambda _: None,
        library.GaussianDpEvent: _loss_of_gaussian,
        library.LaplaceDpEvent: _loss_of_laplace,
        library.dp_event.DiscreteLaplaceDpEvent: _loss_of_discrete_laplace,
        library.RandomizedResponseDpEvent: _loss_of_randomized_response,
        library.ZCDpEvent: _loss_of_zcdp,
    }
    # exactly: a subclass may mean something else
    if type(event) in readers:
        with called_as(type(event).__name__, dir(event)):
            return readers[type(event)](event)
    names = ", ".join(kind.__name__ for kind in readers)
    rule = f"one of {names}, or a composition of them"
    raise (ParameterError if isinstance(event, library.DpEvent) else ParameterTypeError)(
        "event", rule, event
    )


def _loss_of_gaussian(event: Any) -> Loss:
    """mu = 1 / sigma."""
    return GaussianDP(round_up(1 / _field(event, "noise_multiplier")))


def _loss_of_laplace(event: Any) -> Loss:
    return PureDP(1 / _field(event, "noise_multiplier"))


def _loss_of_discrete_laplace(event: Any) -> Loss:
    return PureDP(_field(event, "noise_parameter") * _field(event, "sensitivity"))


def _loss_of_randomized_response(event: Any) -> Loss | None:
    """The true answer has probability 1 - p + p / k and every other p / k: epsilon =
    ln(1 + k (1 - p) / p).
    """
    buckets = count(event.num_buckets, "num_buckets")
    noise = _field(event, "noise_parameter")
    if noise > 1:
        raise ParameterError("noise_parameter", "at most 1", event.noise_parameter)
    odds = buckets * (1 - noise) / noise
    return (
        PureDP(round_up(upper_bound(lambda: ball(odds).log1p()))) if buckets > 1 and odds else None
    )


def _loss_of_zcdp(event: Any) -> Loss | None:
    """A Renyi divergence of at most xi + rho a is at most (xi + rho) a, because orders
    a are at least 1.
    """
    total = Fraction(0)
    for name in ("rho", "xi"):
        value = exact_decimal(getattr(event, name), name)
        if value < 0:
            raise ParameterError(name, "at least 0", getattr(event, name))
        total += value
    return ZCDP(total) if total else None


def _field(event: Any, name: str) -> Fraction:
    value = getattr(event, name)
    return positive(exact_decimal(value, name), value, name)


# Losses as distributions


def _masses(loss: Loss, step: Fraction) -> dict[int, float]:
    """The probabilities of the privacy losses at the multiples of the step, under the
    upper distribution.

    Both pairs are symmetric: a loss of -g is e^-g times as likely as one of g.
    Probabilities of positive losses are rounded up, of negative ones down, and 0 gets
    the rest: to move probability to larger losses only makes delta larger.
    """
    if not isinstance(loss, (BoundedRange, LogisticDP, PureDP)):
        hint = (
            "No distribution stands for all mechanisms of one rho. Use compose, or an RDP "
            "accountant with to_dp_event."
        )
        rule = "BoundedRange, LogisticDP, GaussianDP, PureDP or ApproxDP"
        raise ParameterError("losses", rule, loss, hint)
    points = math.ceil(loss.epsilon / step)
    if points > _MOST_POINTS:
        least = float(round_up(loss.epsilon / _MOST_POINTS, 3))
        rule = f"at least {least:g} for an epsilon of {float(loss.epsilon):g}"
        raise ParameterError("interval", rule, float(step))
    places = np.arange(1, points + 1)
    losses: Array = places * np.float64(step)
    masses = (_randomised_response if isinstance(loss, PureDP) else _logistic)(
        loss.epsilon, step, losses
    )
    # relative: of about ten roundings, and of exponents up to epsilon
    error = (32 + 4 * float(loss.epsilon)) * 2.0**-52
    above, below = masses * (1 + error), masses * np.exp(-losses) * (1 - error)
    rest = max(0.0, 1.0 - math.fsum(above) - math.fsum(below))
    return (
        dict(zip(places.tolist(), above.tolist(), strict=True))
        | dict(zip((-places).tolist(), below.tolist(), strict=True))
        | {0: rest}
    )


def _logistic(width: Fraction, step: Fraction, losses: Array) -> Array:
    """The pair of bounded range and of logistic DP, with the dots connected.

    With x = e^((g - width) / 2), delta is c (1 - x)^2. The constant and x^2, which is
    linear in e^g, put no mass anywhere; 2 c x puts 2 c x tanh(step / 4) at every g. The
    last two multiples see that delta stays 0 from the width on.
    """
    w, h = float(width), float(step)
    c = -1 / math.expm1(-w)
    masses = 2 * c * math.tanh(h / 4) * np.exp((losses - w) / 2)
    last, beyond = _remainders(width, step, losses.size)
    masses[-1] = c * math.expm1(-last / 2) ** 2 / -math.expm1(-h)
    masses[-2:-1] -= c * math.expm1(beyond / 2) ** 2 / math.expm1(h)
    return masses


def _randomised_response(epsilon: Fraction, step: Fraction, losses: Array) -> Array:
    """A loss of epsilon with probability 1 / (1 + e^-epsilon), shared by the two
    multiples around it.
    """
    last, beyond = _remainders(epsilon, step, losses.size)
    chance = 1 / (1 + math.exp(-float(epsilon)))
    masses = np.zeros(losses.size)
    masses[-1] = chance * math.expm1(-last) / math.expm1(-float(step))
    masses[-2:-1] = chance * math.expm1(beyond) / math.expm1(float(step))
    return masses


def _remainders(epsilon: Fraction, step: Fraction, points: int) -> tuple[float, float]:
    """How far epsilon is above the last multiple but one, and below the last one."""
    return float(epsilon - (points - 1) * step), float(points * step - epsilon)


def _read_interval(interval: Number) -> Fraction:
    step = positive(exact_decimal(interval, "interval"), interval, "interval")
    if step > 1:
        raise ParameterError("interval", "at most 1", interval)
    # what dp_accounting multiplies with
    return Fraction(float(step))


def _library() -> Any:
    try:
        import dp_accounting
    except ImportError as error:
        raise MissingExtraError("Converting to dp_accounting", "interop") from error
    require("dp_accounting")
    return dp_accounting
