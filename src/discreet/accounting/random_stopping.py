"""What the best of a random number of private runs costs.

The number of runs K has a law that does not depend on the data. Let f be its generating
function and v the probability that a run is better than some answer. The odds of that
answer change by those of one run, times the change of f'(1 - v):

| stopping | f'(1 - v) is proportional to | with |
|---|---|---|
| logarithmic | (stop + (1 - stop) v)^-1 | stop solved for the mean |
| geometric | (stop + (1 - stop) v)^-2 | stop = 1 / mean |
| threshold | (stop + (1 - stop) v)^-1, v the probability to reach the threshold | stop = 1 / mean |
| poisson | e^(-mean v) | |

So all costs follow from how much one person can change v. The proofs are in
docs/proofs/private-candidates.md.

A run may draw things that do not depend on the data before its mechanism starts: a
setting, a seed, the shape of a tree. Pure DP and concentrated DP of every setting are
then pure DP and concentrated DP of the run. Bounded range is not: each setting has an
interval of losses of its own. So the caller says of runs of bounded range
whether they make such *public choices*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from discreet.accounting.renyi import Curve, best_order, delta_of, epsilon_of, renyi_divergence
from discreet.accounting.two_point import delta_non_adaptive, hockey_stick
from discreet.errors import ParameterError, ParameterTypeError, public_function
from discreet.exact.enclosures import ball, decide, less, lower_bound, upper_bound
from discreet.exact.rationals import Number, choice, exact_decimal, positive, readable, round_up
from discreet.literals import STOPPING_NAMES, StoppingName
from discreet.privacy.loss import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    GaussianDP,
    LogisticDP,
    Loss,
    PureDP,
    is_loss,
)

_EACH = (PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP, ApproxDP)
_BITS = 160
# 1/stop of the logarithmic law is a multiple of 1/_GRAIN
_GRAIN = 10**6
# an epsilon of 0 has no place in a loss
_SMALLEST = Fraction(1, 10**15)


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """f'(1 - v) is proportional to (stop + (1 - stop) v)^-power."""

    stop: Fraction
    power: int
    mean: Fraction
    """At least the mean number of runs."""

    def lift(self, v: arb, other: arb) -> arb:
        """The logarithm of how much larger f' is at 1 - v than at 1 - other."""
        stop, go = ball(self.stop), ball(1 - self.stop)
        return self.power * ((stop + go * other) / (stop + go * v)).log()

    @property
    def spares_range(self) -> bool:
        """True if runs of bounded range cost together no more than one."""
        return self.power * self.stop >= self.power - 1

    def worst_share(self, least: arb) -> arb:
        """e^(top - width) of the worst interval [top - width, top] of losses, where
        `least` is e^-width. For power 2 only.
        """
        stop, go = ball(self.stop), ball(1 - self.stop)
        mixed, square = go * go * least, stop * (1 - least) * (1 - least)
        return (square + 2 * mixed + (square * (square + 8 * mixed)).sqrt()) / (
            2 * (1 - stop * least) * go
        )

    def lift_of_choices(self, epsilon: arb) -> arb:
        """The largest `lift` where every public choice has bounded range epsilon.

        power * 2 ln((e^(epsilon/2) + r) / (1 + r e^(epsilon/2))) with r the square root
        of stop.
        """
        # divided by e^(epsilon/2), which would overflow
        root, small = ball(self.stop).sqrt(), (-epsilon / 2).exp()
        return 2 * self.power * ((1 + root * small) / (small + root)).log()

    def curve(self, each: Loss) -> Curve:
        """The Renyi divergences of the best run."""

        def bound(order: arb) -> arb:
            return (1 - 1 / order) * renyi_divergence(each, order) - ball(self.stop).log() / order

        # any order above 1 gives a bound, and so does 1 itself, the second one
        order = best_order(bound)
        lift = upper_bound(lambda: bound(arb(order)).min(-ball(self.stop).log()), _BITS)
        return lambda order: (
            renyi_divergence(each, order)
            + self.power * ball(lift)
            + ball(self.mean).log() / (order - 1)
        )


@dataclass(frozen=True, slots=True)
class PoissonLaw:
    """f'(1 - v) is proportional to e^(-mean v)."""

    mean: Fraction

    def lift(self, v: arb, other: arb) -> arb:
        """The logarithm of how much larger f' is at 1 - v than at 1 - other."""
        return ball(self.mean) * (other - v)

    @property
    def spares_range(self) -> bool:
        """True if runs of bounded range cost together no more than one."""
        return self.mean <= 1

    def worst_share(self, least: arb) -> arb:
        """e^(top - width) of the worst interval [top - width, top] of losses, where
        `least` is e^-width.
        """
        mean, rest = ball(self.mean), 1 - least
        return (rest + (rest * rest + 4 * mean * mean * least).sqrt()) / (2 * mean)

    def lift_of_choices(self, epsilon: arb) -> arb:
        """The largest `lift` where every public choice has bounded range epsilon."""
        return ball(self.mean) * (epsilon / 4).tanh()

    def curve(self, each: Loss) -> Curve:
        """The Renyi divergences of the best run, or of nothing where there was no run."""

        def at(order: arb) -> arb:
            delta = _delta_of_one(each, lower_bound(lambda: (1 / (order - 1)).log1p(), _BITS))
            one = (order - 1) * renyi_divergence(each, order)
            more = ball(self.mean).log() + ball(self.mean) * (order - 1) * ball(delta)
            # the logarithm of 1 + e^more (e^one - 1): the second way cannot overflow, the
            # first does not cancel
            if one < 1:
                return (more.exp() * one.expm1()).log1p() / (order - 1)
            return (more + one + ((-more - one).exp() - (-one).exp()).log1p()) / (order - 1)

        return at


Stopping = PowerLaw | PoissonLaw
"""The law of the number of runs."""


@public_function("private_candidate_loss")
def private_candidate_loss(
    each: Loss,
    *,
    stopping: StoppingName,
    mean: Number,
    public_choices: bool | None = None,
    delta: Number | None = None,
) -> Loss:
    """What `select_private_candidate` will cost, without running anything.

    each: the loss of one run, whatever its public choices are.
    stopping: "logarithmic", "geometric", "poisson" or "threshold".
    mean: how many runs there are on average; with a threshold, if none reaches it.
    public_choices: whether a run draws anything besides its private mechanism, shown or
        not: a setting, a seed, a subset of the columns. To be said where `each` is
        BoundedRange; other losses cost the same either way.
    delta: where the cost may be approximate DP, its delta. Needed if `each` is ZCDP.

    Privacy: an upper bound, proved and rounded up. Pure DP from pure DP or bounded
        range; (epsilon, delta) if `delta` is given or if `each` has a delta of its own.
        Runs of bounded range without public choices pay nothing beyond one run with
        "logarithmic" and "threshold". With public choices they pay almost what runs of
        pure DP of the same epsilon pay, because every choice may have an interval of
        log-odds changes of its own.
    Cost: milliseconds.
    Reference: Liu and Talwar 2019; Papernot and Steinke 2022. Proof:
        docs/proofs/private-candidates.md.

    >>> from discreet import BoundedRange, PureDP, ZCDP
    >>> private_candidate_loss(PureDP(0.1), stopping="geometric", mean=10)
    PureDP(epsilon=0.26359128457008)
    >>> each, few = BoundedRange(0.1), {"stopping": "logarithmic", "mean": 10}
    >>> private_candidate_loss(each, public_choices=False, **few)
    PureDP(epsilon=0.1)
    >>> private_candidate_loss(each, public_choices=True, **few)
    PureDP(epsilon=0.171804045788894)
    >>> private_candidate_loss(ZCDP(0.001), stopping="logarithmic", mean=10, delta=1e-6)
    ApproxDP(epsilon=0.3248246623526, delta=1e-06)
    """
    return total_loss(each, read_stopping(stopping, mean), public_choices, delta)


def read_stopping(stopping: StoppingName, mean: Number) -> Stopping:
    """The law of this name with this mean."""
    word = choice(stopping, STOPPING_NAMES, "stopping")
    exact = positive(exact_decimal(mean, "mean"), mean, "mean")
    if word == "poisson":
        return PoissonLaw(exact)
    if exact <= 1:
        raise ParameterError("mean", f"greater than 1 for {word!r} stopping", mean)
    if word == "logarithmic":
        inverse = _inverse_stop(exact)
        actual = upper_bound(lambda: (ball(inverse) - 1) / ball(inverse).log(), _BITS)
        return PowerLaw(1 / inverse, 1, actual)
    return PowerLaw(1 / exact, 2 if word == "geometric" else 1, exact)


def _inverse_stop(mean: Fraction) -> Fraction:
    """The smallest multiple of 1/_GRAIN whose logarithmic law has at least this mean;
    it has at most 1e-6 more.

    The mean, (r - 1) / ln r, is irrational for every rational r > 1, so each comparison
    is decided.
    """

    def enough(r: Fraction) -> bool:
        return not decide(lambda _: less(ball(r) - 1, ball(mean) * ball(r).log()))

    low, high = _GRAIN, 2 * _GRAIN
    while not enough(Fraction(high, _GRAIN)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(Fraction(middle, _GRAIN)) else (middle, high)
    return Fraction(high, _GRAIN)


def total_loss(
    each: Loss,
    law: Stopping,
    public_choices: bool | None,
    delta: Number | None,
) -> Loss:
    """What the best of all runs costs."""
    if not is_loss(each, *_EACH):
        rule = "one of PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP and ApproxDP"
        raise ParameterTypeError("each", rule, each)
    choices = _read_choices(public_choices, each)
    allowed = None if delta is None else _read_delta(delta)
    if isinstance(each, (PureDP, BoundedRange, LogisticDP)):
        if allowed is None:
            return PureDP(pure_epsilon(each, law, choices))
        return ApproxDP(_best_epsilon(each, law, choices, allowed), allowed)
    if isinstance(each, ApproxDP):
        return _of_approximate(each, law, allowed)
    if isinstance(each, GaussianDP):
        each = each.to_zcdp()
    if allowed is None:
        hint = "It has no pure-DP bound: give a delta for all runs together."
        raise ParameterTypeError("delta", "given where 'each' is ZCDP or GaussianDP", None, hint)
    return ApproxDP(_renyi_epsilon(each, law, allowed), allowed)


def pure_epsilon(
    each: PureDP | BoundedRange | LogisticDP, law: Stopping, choices: bool
) -> Fraction:
    """The pure-DP epsilon of the best run: the worst top of the losses of one run, and its lift.

    choices: whether a run makes public choices; for pure DP that changes nothing.
    Logistic DP is bounded range with public choices.
    """
    epsilon = each.epsilon
    if isinstance(each, BoundedRange) and not choices and law.spares_range:
        return epsilon

    def worst() -> arb:
        # the interval [-epsilon, epsilon], and no other
        if isinstance(each, PureDP):
            return _top_and_lift(law, 2 * ball(epsilon), (-ball(epsilon)).exp())
        # the answer's choice has its top at epsilon, the other choices their worst one; logistic
        # DP is just what is used of them
        if choices or isinstance(each, LogisticDP):
            return ball(epsilon) + law.lift_of_choices(ball(epsilon))
        return _top_and_lift(law, ball(epsilon), law.worst_share((-ball(epsilon)).exp()))

    # terms near 1 cancel down to epsilon and less
    lost = 4 * max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length() + 1)
    return round_up(upper_bound(worst, _BITS + lost))


def _top_and_lift(law: Stopping, width: arb, share: arb) -> arb:
    """For losses in [top - width, top] with e^(top - width) = share: v and its
    neighbour where both their bounds bind.
    """
    least = (-width).exp()
    v = (share - least) / (1 - least)
    return width + share.log() + law.lift(v, v / share)


def _of_approximate(each: ApproxDP, law: Stopping, allowed: Fraction | None) -> Loss:
    """Pure DP, unless one of the runs meets the event that its delta stands for."""
    own = round_up(law.mean * each.delta) if each.delta else each.delta
    if own >= 1:
        raise ParameterError(
            "each", "a loss whose delta, times the mean number of runs, is below 1", each
        )
    if allowed is not None and allowed < own:
        rule = f"at least the delta of 'each' times the mean number of runs, {readable(own)}"
        raise ParameterError("delta", rule, float(allowed))
    whole = own if allowed is None else allowed
    # pure DP costs the same with public choices and without
    epsilon = _best_epsilon(PureDP(each.epsilon), law, choices=True, delta=whole - own)
    return ApproxDP(epsilon, whole)


def _best_epsilon(
    each: PureDP | BoundedRange | LogisticDP,
    law: Stopping,
    choices: bool,
    delta: Fraction,
) -> Fraction:
    """The smaller of the pure-DP epsilon and the one that the Renyi divergences give at this delta.

    The divergences of a run with public choices are at most those of its worst choice.
    """
    pure = pure_epsilon(each, law, choices)
    try:
        return min(pure, _renyi_epsilon(each, law, delta)) if delta else pure
    except ValueError:
        # next to a tiny loss the enclosure of its divergence has no finite end
        return pure


def _renyi_epsilon(each: Loss, law: Stopping, delta: Fraction) -> Fraction:
    return round_up(max(_SMALLEST, epsilon_of(law.curve(each), delta)))


def _delta_of_one(each: Loss, epsilon: Fraction) -> Fraction:
    """The delta of one run at this epsilon."""
    if isinstance(each, PureDP):
        return Fraction(hockey_stick(2 * each.epsilon, each.epsilon, 1, epsilon).high)
    # the same largest delta for one of them
    if isinstance(each, (BoundedRange, LogisticDP)):
        return Fraction(delta_non_adaptive(each.epsilon, 1, epsilon).high)
    return delta_of(lambda order: renyi_divergence(each, order), epsilon)


def _read_choices(public_choices: object, each: Loss) -> bool:
    """Read whether runs make public choices, which may be left out where it does not matter."""
    if isinstance(public_choices, bool):
        return public_choices
    if public_choices is not None:
        raise ParameterTypeError("public_choices", "True or False", public_choices)
    if isinstance(each, BoundedRange):
        hint = (
            "True if a run draws anything besides its private mechanism (a setting, a seed): "
            "bounded range does not survive that. False if it draws nothing else."
        )
        rule = "True or False where 'each' is BoundedRange"
        raise ParameterTypeError("public_choices", rule, None, hint)
    return True


def _read_delta(delta: Number) -> Fraction:
    exact = exact_decimal(delta, "delta")
    if not 0 < exact < 1:
        raise ParameterError("delta", "between 0 and 1", delta)
    return exact
