"""What a release costs: one type for each kind of guarantee, exact and comparable.

``a <= b`` asks whether the promise a implies the promise b. Within one kind that is the
order of the numbers; across kinds it follows the theorems that convert one kind into
another: bounded range implies logistic DP, that implies pure DP of the same epsilon,
all three imply Gaussian DP, and all four imply concentrated DP. What no such conversion
gives is False, even where a roundabout way might.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeGuard

from discreet.errors import ParameterError, ParameterTypeError, public_class, public_function
from discreet.exact.rationals import (
    MOST_DIGITS,
    Number,
    count,
    exact_decimal,
    positive,
    read_written,
    readable,
    round_up,
    set_frozen,
)

if TYPE_CHECKING:
    from flint import arb


class Loss:
    """A guarantee with exact numbers.

    One of `PureDP`, `BoundedRange`, `LogisticDP`, `GaussianDP`, `ZCDP` and `ApproxDP`; or
    several of them, `Composed`.
    """

    __slots__: tuple[str, ...] = ()
    kind: ClassVar[str]
    """The word for this kind of guarantee in JSON and on the command line."""

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """The numbers of the guarantee, in the order of the constructor; smaller is a
        stronger promise.
        """
        return tuple(getattr(self, name) for name in self.__slots__)

    def implied(self) -> tuple[Loss, ...]:
        """The guarantees of other kinds that follow from this one, each as strong as
        its theorem makes it.
        """
        return ()

    def __le__(self, other: object) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        # what follows is worked out only where it is needed: a rho takes long
        if isinstance(other, GaussianDP):
            gaussian = self.to_gaussian_dp()
            return gaussian is not None and gaussian.mu <= other.mu
        return self._is_within(other) or any(loss._is_within(other) for loss in self.implied())

    def to_gaussian_dp(self) -> GaussianDP | None:
        """The Gaussian DP that follows; None if none does."""
        return None

    def _is_within(self, other: Loss) -> bool:
        """True if a guarantee of the same kind has no larger number."""
        return type(self) is type(other) and all(
            mine <= theirs for mine, theirs in zip(self.numbers, other.numbers, strict=True)
        )

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        return self <= other and not other <= self

    def __ge__(self, other: object) -> bool:
        return other <= self if isinstance(other, Loss) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return other < self if isinstance(other, Loss) else NotImplemented

    def __repr__(self) -> str:
        shown = (f"{name}={readable(getattr(self, name))}" for name in self.__slots__)
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_dict(self) -> dict[str, str]:
        """The guarantee as plain text values; `loss_from_dict` reads them back exactly."""
        return {"kind": self.kind} | {name: str(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def _of_text(cls, fields: dict[str, str]) -> Loss:
        """The loss that `to_dict` wrote, without its kind."""
        return cls(**{name: read_written(text) for name, text in fields.items()})

    @property
    def in_short(self) -> str:
        """The guarantee with four digits of each number, rounded up: never understated.

        >>> PureDP(Fraction(1, 3)).in_short
        'PureDP(0.3334)'
        """
        digits = (f"{float(round_up(each, 4)):g}" if each else "0" for each in self.numbers)
        return f"{type(self).__name__}({', '.join(digits)})"


@public_class
@dataclass(frozen=True, slots=True, repr=False, init=False)
class PureDP(Loss):
    """Pure differential privacy: no person makes any answer more than e^epsilon times as
    likely, or as unlikely.

    >>> PureDP(0.5), PureDP(1) < PureDP(2), PureDP(0.1).epsilon
    (PureDP(epsilon=0.5), True, Fraction(1, 10))
    """

    epsilon: Fraction
    kind = "pure-dp"

    def __init__(self, epsilon: Number) -> None:
        set_frozen(self, epsilon=_positive(epsilon, "epsilon"))

    def to_zcdp(self) -> ZCDP:
        """The concentrated DP that follows: rho = epsilon * tanh(epsilon / 2), tight,
        rounded up in the 15th digit.

        >>> PureDP(1).to_zcdp()
        ZCDP(rho=0.46211715726001)
        """
        return ZCDP(_rho_of_pure_dp(self.epsilon))

    def to_approx_dp(self) -> ApproxDP:
        """Write the promise as (epsilon, 0)."""
        return ApproxDP(self.epsilon, 0)

    def to_gaussian_dp(self) -> GaussianDP:
        """The Gaussian DP that follows: tight, and rounded up in the 15th digit.

        >>> PureDP(1).to_gaussian_dp()
        GaussianDP(mu=1.23203538534491)
        """
        return LogisticDP(2 * self.epsilon).to_gaussian_dp()

    def implied(self) -> tuple[Loss, ...]:
        """Concentrated DP, and (epsilon, 0). Bounded range follows only with twice the epsilon."""
        doubled = BoundedRange(2 * self.epsilon)
        return self.to_zcdp(), self.to_approx_dp(), doubled, doubled.to_logistic_dp()


@public_class
@dataclass(frozen=True, slots=True, repr=False, init=False)
class BoundedRange(Loss):
    """Bounded range: one person changes the log-probabilities of all answers by numbers
    that lie in one interval of length epsilon.

    Stronger than pure DP of the same epsilon, where they lie in [-epsilon, epsilon], an
    interval twice as long. The exponential mechanism has it, and that is why many
    selections cost less than their pure-DP sum (Dong, Durfee and Rogers 2020).

    A mechanism that draws something public first (a seed, a setting), and has bounded
    range whatever it draws, has no bounded range as a whole: each draw may have an
    interval of its own. It has `LogisticDP` of the same epsilon. `compose`, `plan` and
    the budgets hold for it all the same; `private_candidate_loss` has to be told
    (docs/proofs/composition.md, section 8).

    >>> (
    ...     BoundedRange(0.5) <= PureDP(0.5),
    ...     PureDP(0.5) <= BoundedRange(0.5),
    ...     PureDP(0.5) <= BoundedRange(1),
    ... )
    (True, False, True)
    """

    epsilon: Fraction
    kind = "bounded-range"

    def __init__(self, epsilon: Number) -> None:
        set_frozen(self, epsilon=_positive(epsilon, "epsilon"))

    def to_pure_dp(self) -> PureDP:
        """Pure DP with the same epsilon: 0 lies in the interval, because both
        distributions sum to 1.

        >>> BoundedRange(0.5).to_pure_dp()
        PureDP(epsilon=0.5)
        """
        return PureDP(self.epsilon)

    def to_logistic_dp(self) -> LogisticDP:
        """Logistic DP with the same epsilon: the log-odds of every event move by at most that.

        >>> BoundedRange(0.5).to_logistic_dp()
        LogisticDP(epsilon=0.5)
        """
        return LogisticDP(self.epsilon)

    def to_gaussian_dp(self) -> GaussianDP:
        """The Gaussian DP that follows: tight, and rounded up in the 15th digit.

        >>> BoundedRange(1).to_gaussian_dp()
        GaussianDP(mu=0.623892592098509)
        """
        return self.to_logistic_dp().to_gaussian_dp()

    def to_zcdp(self) -> ZCDP:
        """The concentrated DP that follows: rho = y - 1 - ln y with y = epsilon /
        (e^epsilon - 1), at most epsilon^2 / 8.

        Tight, and rounded up in the 15th digit.

        >>> BoundedRange(1).to_zcdp()
        ZCDP(rho=0.123301561482245)
        """
        return ZCDP(_rho_of_bounded_range(self.epsilon))

    def to_approx_dp(self) -> ApproxDP:
        """The pure-DP promise written as (epsilon, 0)."""
        return ApproxDP(self.epsilon, 0)

    def implied(self) -> tuple[Loss, ...]:
        """Logistic DP, pure DP, concentrated DP, and (epsilon, 0)."""
        return self.to_logistic_dp(), self.to_pure_dp(), self.to_zcdp(), self.to_approx_dp()


@public_class
@dataclass(frozen=True, slots=True, repr=False, init=False)
class LogisticDP(Loss):
    """Logistic DP: no person moves the log-odds of any event by more than epsilon.

    As Gaussian DP is domination by two normal distributions, this is domination by two
    logistic ones that are epsilon apart: telling the data sets apart is at most as easy
    as telling these. Pure DP bounds the probabilities of events, this bounds their
    odds, which is more: an event and its opposite are treated alike. Between bounded
    range and pure DP of the same epsilon. The winner with its gap has it under Gumbel
    noise (docs/proofs/gap.md).

    >>> BoundedRange(0.5) <= LogisticDP(0.5) <= PureDP(0.5), PureDP(0.5) <= LogisticDP(1)
    (True, True)
    >>> LogisticDP(0.5) <= BoundedRange(0.5), LogisticDP(0.5) <= BoundedRange(1)
    (False, True)
    """

    epsilon: Fraction
    kind = "logistic-dp"

    def __init__(self, epsilon: Number) -> None:
        set_frozen(self, epsilon=_positive(epsilon, "epsilon"))

    def to_pure_dp(self) -> PureDP:
        """Pure DP with the same epsilon: where the odds of an event grow, its opposite gets rarer.

        >>> LogisticDP(0.5).to_pure_dp()
        PureDP(epsilon=0.5)
        """
        return PureDP(self.epsilon)

    def to_zcdp(self) -> ZCDP:
        """The concentrated DP that follows: rho = epsilon coth(epsilon / 2) - 2.

        At most epsilon^2 / 6, a third of that of pure DP. Tight, and rounded up in the
        15th digit.

        >>> LogisticDP(1).to_zcdp()
        ZCDP(rho=0.163953413738653)
        """
        return ZCDP(_rho_of_logistic_dp(self.epsilon))

    def to_approx_dp(self) -> ApproxDP:
        """The pure-DP promise written as (epsilon, 0)."""
        return ApproxDP(self.epsilon, 0)

    def to_gaussian_dp(self) -> GaussianDP:
        """The Gaussian DP that follows: mu = 2 z with Phi(z) = 1 / (1 + e^(-epsilon / 2)).

        Tight, and rounded up in the 15th digit.

        >>> LogisticDP(1).to_gaussian_dp()
        GaussianDP(mu=0.623892592098509)
        """
        from discreet.exact.normal import gaussian_for_logistic

        return GaussianDP(gaussian_for_logistic(self.epsilon))

    def to_bounded_ranges(self, halvings: int) -> tuple[BoundedRange, ...]:
        """Bounded ranges that together amount to this loss, one asked after the other.

        epsilon, epsilon / 2, ... as many as there are halvings, and twice the last half
        for the rest. Without halvings that is pure DP's 2 epsilon. The sum of their
        squares falls to 4/3 epsilon^2, so a budget that counts squares of ranges takes
        a third of what pure DP costs.

        >>> LogisticDP(1).to_bounded_ranges(2)
        (BoundedRange(epsilon=1), BoundedRange(epsilon=0.5), BoundedRange(epsilon=0.5))
        """
        halves = [
            self.epsilon / 2**place for place in range(count(halvings, "halvings", least=0) + 1)
        ]
        return (*map(BoundedRange, halves[:-1]), BoundedRange(2 * halves[-1]))

    def implied(self) -> tuple[Loss, ...]:
        """Pure DP, concentrated DP, (epsilon, 0), and bounded range with twice the epsilon."""
        return (
            self.to_pure_dp(),
            self.to_zcdp(),
            self.to_approx_dp(),
            BoundedRange(2 * self.epsilon),
        )


@public_class
@dataclass(frozen=True, slots=True, repr=False, init=False)
class GaussianDP(Loss):
    """Gaussian DP: telling the data sets apart is at most as easy as telling N(0, 1) from
    N(mu, 1).

    Noise of a normal law with the standard deviation sigma, on a number that one person
    moves by at most 1, has it with mu = 1 / sigma; on several numbers, mu is the
    largest distance of the vectors, each number divided by its own sigma. Whole numbers
    keep it, if the noise is rounded after it was added. Discrete Gaussian noise does
    not have it: it has `ZCDP`.

    >>> GaussianDP(0.5) <= GaussianDP(1), GaussianDP(0.5) <= ZCDP(0.125)
    (True, True)
    >>> GaussianDP(0.2) <= ApproxDP(1, 1e-6), GaussianDP(0.3) <= ApproxDP(1, 1e-6)
    (True, False)
    """

    mu: Fraction
    kind = "gaussian-dp"

    def __init__(self, mu: Number) -> None:
        set_frozen(self, mu=_positive(mu, "mu"))

    def to_zcdp(self) -> ZCDP:
        """The concentrated DP that follows: rho = mu^2 / 2, exactly.

        >>> GaussianDP(0.5).to_zcdp()
        ZCDP(rho=0.125)
        """
        rho = self.mu**2 / 2
        long = max(rho.numerator, rho.denominator) >= 10**MOST_DIGITS
        return ZCDP(round_up(max(_LEAST_RHO, rho)) if long else rho)

    def to_approx_dp(self, *, delta: Number) -> ApproxDP:
        """The (epsilon, delta) that follows, with the smallest epsilon, rounded up.

        >>> GaussianDP(0.2).to_approx_dp(delta=1e-6)
        ApproxDP(epsilon=0.834117548624054, delta=1e-06)
        """
        from discreet.exact.normal import gaussian_epsilon

        exact = positive(exact_decimal(delta, "delta"), delta, "delta")
        return ApproxDP(round_up(max(_LEAST_RHO, gaussian_epsilon(self.mu, exact))), exact)

    def delta(self, epsilon: Number) -> Fraction:
        """The smallest delta for this epsilon, rounded up.

        >>> GaussianDP(0.2).delta(1) < 1e-7
        True
        """
        from discreet.exact.normal import gaussian_delta

        exact = positive(exact_decimal(epsilon, "epsilon"), epsilon, "epsilon")
        return gaussian_delta(self.mu, exact)

    def implied(self) -> tuple[Loss, ...]:
        """Concentrated DP. For every epsilon there is a delta: `to_approx_dp`, `delta`."""
        return (self.to_zcdp(),)

    def _is_within(self, other: Loss) -> bool:
        if isinstance(other, ApproxDP):
            return bool(other.delta) and self.delta(other.epsilon) <= other.delta
        return type(other) is GaussianDP and self.mu <= other.mu

    def to_gaussian_dp(self) -> GaussianDP:
        """This promise itself."""
        return self


@public_class
@dataclass(frozen=True, slots=True, repr=False, init=False)
class ZCDP(Loss):
    """Zero-concentrated DP: the Renyi divergence of every order a is at most rho * a.

    >>> ZCDP(0.1) <= ZCDP(0.2), PureDP(1) <= ZCDP(0.5)
    (True, True)
    """

    rho: Fraction
    kind = "zcdp"

    def __init__(self, rho: Number) -> None:
        set_frozen(self, rho=_positive(rho, "rho"))


@public_class
@dataclass(frozen=True, slots=True, repr=False, init=False)
class ApproxDP(Loss):
    """Approximate DP: pure DP up to an event of probability delta.

    Partially ordered: neither of (1, 1e-6) and (2, 1e-9) implies the other.

    >>> (
    ...     ApproxDP(1, 1e-6),
    ...     ApproxDP(1, 1e-6) <= ApproxDP(2, 1e-9),
    ...     ApproxDP(2, 1e-9) <= ApproxDP(1, 1e-6),
    ... )
    (ApproxDP(epsilon=1, delta=1e-06), False, False)
    """

    epsilon: Fraction
    delta: Fraction
    kind = "approx-dp"

    def __init__(self, epsilon: Number, delta: Number) -> None:
        set_frozen(self, epsilon=_positive(epsilon, "epsilon"))
        exact = exact_decimal(delta, "delta")
        if not 0 <= exact < 1:
            raise ParameterError("delta", "at least 0 and below 1", delta)
        set_frozen(self, delta=exact)


@public_class
@dataclass(frozen=True, slots=True, repr=False, init=False)
class Composed(Loss):
    """Several releases, each perhaps made in view of the ones before: the picks of a list, or
    a name and its count.

    losses: what they cost, each with how often it occurs.
    delta: the probability of a bad event besides: that an unknown domain names what it
        should not.

    >>> Composed({BoundedRange(0.03): 10, GaussianDP(0.1): 1})
    10 × BoundedRange(0.03) + GaussianDP(0.1)
    >>> Composed({BoundedRange(0.03): 10}) <= PureDP(0.3)
    True
    """

    parts: tuple[tuple[Loss, int], ...]
    delta: Fraction
    kind = "composed"

    def __init__(self, losses: Mapping[Loss, int], delta: Number = 0) -> None:
        if not isinstance(losses, Mapping) or not losses:
            raise ParameterTypeError("losses", _PARTS, losses)
        parts = tuple((loss, count(times, "losses")) for loss, times in losses.items())
        if not all(type(loss) in _PARTS_KINDS for loss, _ in parts):
            raise ParameterTypeError("losses", _PARTS, losses)
        exact = exact_decimal(delta, "delta")
        if not 0 <= exact < 1:
            raise ParameterError("delta", "at least 0 and below 1", delta)
        # in an order of their own, so that equal ones are equal
        set_frozen(self, parts=tuple(sorted(parts, key=repr)), delta=exact)

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """None: the parts have them."""
        return ()

    @property
    def losses(self) -> dict[Loss, int]:
        """The losses, each with how often it occurs."""
        return dict(self.parts)

    @property
    def in_short(self) -> str:
        """What it consists of, with four digits of each number.

        >>> Composed({BoundedRange(0.0316): 10}).in_short
        '10 × BoundedRange(0.0316)'
        """
        said = [
            loss.in_short if times == 1 else f"{times:,} {_TIMES} {loss.in_short}"
            for loss, times in self.parts
        ]
        return " + ".join([*said, f"delta {float(self.delta):.4g}"] if self.delta else said)

    def __repr__(self) -> str:
        return self.in_short

    def to_gaussian_dp(self) -> GaussianDP | None:
        """The Gaussian DP that follows: the root of the sum of squares, rounded up; None if a
        part has none, or there is a delta.
        """
        from discreet.exact.normal import square_root_up

        pairs = [(loss.to_gaussian_dp(), times) for loss, times in self.parts]
        squares = [times * pair.mu**2 for pair, times in pairs if pair is not None]
        if self.delta or len(squares) < len(pairs):
            return None
        return GaussianDP(round_up(square_root_up(sum(squares, Fraction(0)))))

    def implied(self) -> tuple[Loss, ...]:
        """What the sums promise: of the epsilons, and of the rhos."""
        epsilons = [_summed(loss, times, "epsilon") for loss, times in self.parts]
        rhos = [_summed(loss, times, "rho") for loss, times in self.parts]
        found: list[Loss] = []
        if None not in epsilons:
            total = sum(filter(None, epsilons), Fraction(0))
            found.append(ApproxDP(total, self.delta))
            found += [] if self.delta else [PureDP(total)]
        if None not in rhos and not self.delta:
            found.append(ZCDP(sum(filter(None, rhos), Fraction(0))))
        return tuple(found)

    def _is_within(self, other: Loss) -> bool:
        if isinstance(other, ApproxDP):
            gaussian = self.to_gaussian_dp()
            return gaussian is not None and gaussian._is_within(other)
        if type(other) is not Composed:
            return False
        theirs = other.losses
        fewer = all(times <= theirs.get(loss, 0) for loss, times in self.parts)
        return fewer and self.delta <= other.delta

    def to_dict(self) -> dict[str, str]:
        """The guarantee as plain text values; `loss_from_dict` reads them back exactly."""
        parts = [[times, loss.to_dict()] for loss, times in self.parts]
        return {"kind": self.kind, "parts": json.dumps(parts), "delta": str(self.delta)}

    @classmethod
    def _of_text(cls, fields: dict[str, str]) -> Loss:
        read = [(loss_from_dict(loss), times) for times, loss in json.loads(fields["parts"])]
        return cls(dict(read), read_written(fields["delta"]))


def _summed(loss: Loss, times: int, unit: str) -> Fraction | None:
    """The least epsilon, or rho, of several releases; None where they have none."""
    kind = PureDP if unit == "epsilon" else ZCDP
    found = [getattr(each, unit) for each in (loss, *loss.implied()) if isinstance(each, kind)]
    return times * min(found) if found else None


class NoLoss(Loss):
    """Nothing: the loss of a release that does not depend on the data. Its one value is `NO_LOSS`.

    >>> NO_LOSS, NO_LOSS <= PureDP(1e-9), NO_LOSS <= ApproxDP(1e-9, 0), PureDP(1) <= NO_LOSS
    (NO_LOSS, True, True, False)
    """

    __slots__ = ()
    kind = "none"

    def __le__(self, other: object) -> bool:
        return True if isinstance(other, Loss) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoLoss)

    def __hash__(self) -> int:
        return hash(NoLoss)

    def __repr__(self) -> str:
        return "NO_LOSS"


NO_LOSS = NoLoss()
"""The loss of a release that does not depend on the data: what a fresh budget has spent."""

KINDS: dict[str, type[Loss]] = {
    loss.kind: loss
    for loss in (PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP, ApproxDP, Composed, NoLoss)
}
"""Every kind of guarantee by its word. What is written to disk uses these words, so the
list only grows.
"""


_ALL = frozenset(KINDS.values())
_TIMES = "\N{MULTIPLICATION SIGN}"
_PARTS = "a mapping from losses to how often they occur"
_PARTS_KINDS = frozenset((PureDP, BoundedRange, LogisticDP, GaussianDP, ZCDP, ApproxDP))


def is_loss(value: object, *kinds: type[Loss]) -> TypeGuard[Loss]:
    """True if this is a loss of one of these kinds, or of any. Classes of others are none: they
    may say that they equal another loss, or that they are within a budget.

    >>> is_loss(PureDP(1)), is_loss(PureDP(1), ZCDP), is_loss(type("Mine", (PureDP,), {})(1))
    (True, False, False)
    """
    return type(value) in (kinds or _ALL)


@public_function("loss_from_dict")
def loss_from_dict(fields: dict[str, str]) -> Loss:
    """Read what `Loss.to_dict` wrote.

    >>> loss_from_dict(BoundedRange(0.1).to_dict())
    BoundedRange(epsilon=0.1)
    """
    kind = fields.get("kind")
    if kind not in KINDS:
        raise ParameterError("kind", "one of " + ", ".join(map(repr, KINDS)), kind)
    made = KINDS[kind]
    if fields.keys() != {"kind", *made.__slots__}:
        raise ParameterError("fields", f"the texts {', '.join(('kind', *made.__slots__))}", fields)
    try:
        return made._of_text({name: fields[name] for name in made.__slots__})
    except (ValueError, TypeError, AttributeError) as error:
        raise ParameterError("fields", "exact positive numbers", fields) from error


def _positive(value: Number, name: str) -> Fraction:
    return positive(exact_decimal(value, name), value, name)


_LEAST_RHO = Fraction(1, 10**MOST_DIGITS)
"""What a smaller rho is rounded up to: the square of a tiny epsilon has twice its digits."""


def _rho_of_pure_dp(epsilon: Fraction) -> Fraction:
    from discreet.exact.enclosures import ball, upper_bound

    def rho() -> arb:
        return ball(epsilon) * (ball(epsilon) / 2).tanh()

    return round_up(max(_LEAST_RHO, upper_bound(rho, _precision_for(epsilon))))


def _rho_of_bounded_range(epsilon: Fraction) -> Fraction:
    from discreet.exact.enclosures import ball, upper_bound

    def rho() -> arb:
        # y - 1 - ln y with y = epsilon / (e^epsilon - 1), written with e^-epsilon, which
        # does not overflow
        small = (-ball(epsilon)).exp()
        y = ball(epsilon) * small / -(-ball(epsilon)).expm1()
        return y - 1 + ball(epsilon) - ball(epsilon).log() + (-small).log1p()

    return round_up(max(_LEAST_RHO, upper_bound(rho, _precision_for(epsilon))))


def _rho_of_logistic_dp(epsilon: Fraction) -> Fraction:
    from discreet.exact.enclosures import ball, upper_bound

    def rho() -> arb:
        return ball(epsilon) * (ball(epsilon) / 2).coth() - 2

    return round_up(max(_LEAST_RHO, upper_bound(rho, _precision_for(epsilon))))


def _precision_for(epsilon: Fraction) -> int:
    """Working bits that leave about 128 good ones where terms near 1 cancel down to epsilon^2."""
    return 128 + 4 * max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length() + 1)
