"""Counts of which one person may move any, with noise that they share.

With n people, of whom x_i have item i, a person more moves n by 1 and each y_i = 2 x_i -
n by exactly 1, up or down: up with the item, down without it. So noise on the y_i and on
n is enough,

    n~ = n + N(W),    y~_i = y_i + N(V),    x~_i = (y~_i + n~) / 2,

and it is as narrow as noise on d numbers that move by 1 each, but halved: a standard
deviation of (sqrt(d) + 1) / 2 where noise of its own on each x_i needs sqrt(d) (Lebeda
2024, Joseph and Yu 2024; here with whole numbers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from flint import arb

from discreet.accuracy import USUAL_FAILURE, Accuracy
from discreet.errors import ParameterError, public_class
from discreet.exact.enclosures import ball, upper_bound
from discreet.exact.normal import square_root_up, upper_tail
from discreet.exact.rationals import Number, count, nearest_float, readable, round_up, set_frozen
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.rounded_gaussian import sum_tail
from discreet.mechanisms.whole_noise import (
    noise_accuracy,
    read_whole,
    smallest_bound,
)
from discreet.privacy.loss import GaussianDP, Loss, PureDP
from discreet.privacy.parameters import (
    Slot,
    given,
    parameterized,
    read_epsilon,
    read_mu,
    read_probability,
)
from discreet.randomness.bulk_draws import added, laplace_noise
from discreet.randomness.chance import Bits, Chance, read_bits
from discreet.release import Release
from discreet.samplers.rounded_normals import draw_rounded_normals


@public_class
@parameterized
class CorrelatedCounts:
    """Several counts of people, and the number of all people, with noise that they share.

    items: how many counts there are. One person moves any of them by 1, all the same
        way, and the number of people by 1, the same way.
    mu: the privacy loss of one release in Gaussian DP, with rounded normal noise; or
    epsilon: in pure DP, with discrete Laplace noise.
    acknowledge: the sentence `NOT_PRIVATE`, which a mu above 11 or an epsilon above 64
        needs.

    Privacy: for neighbours with a person more or fewer. Not for a person who is
        replaced by another.
    Utility: `error_bound`. Noise of its own on each count is 1.5 times as wide at 10
        counts, and 1.8 times at 100. The number of people costs nothing more.
    Cost: an exact random number for each count.
    Reference: Lebeda 2024; Joseph and Yu 2024. Proof: docs/proofs/correlated-counts.md.

    >>> from discreet.testing import SeededBits
    >>> mechanism = CorrelatedCounts(items=3, mu=1)
    >>> release = mechanism.release([10, 20, 30], people=40, bits=SeededBits(3))
    >>> len(release.value), mechanism.privacy_loss()
    (4, GaussianDP(mu=1))
    """

    items: int
    mu: Slot[Number | None, Fraction | None] = given(default=None)
    epsilon: Slot[Number | None, Fraction | None] = given(default=None)
    acknowledge: str | None = None

    def __post_init__(self) -> None:
        mu, epsilon = self.mu, self.epsilon
        if (mu is None) == (epsilon is None):
            rule = "given, or 'epsilon' in its place (exactly one of the two)"
            raise ParameterError("mu", rule, mu)
        set_frozen(self, items=count(self.items, "items"))
        if mu is not None:
            set_frozen(self, mu=read_mu(mu, self.acknowledge))
        if epsilon is not None:
            set_frozen(self, epsilon=read_epsilon(epsilon, self.acknowledge))

    @property
    def name(self) -> str:
        """The word for this noise in a Release."""
        return "correlated-counts"

    def __repr__(self) -> str:
        name, number = ("epsilon", self.epsilon) if self.mu is None else ("mu", self.mu)
        return f"CorrelatedCounts(items={self.items}, {name}={readable(number or Fraction(0))})"

    def privacy_loss(self) -> Loss:
        """What one release costs."""
        # docs/proofs/correlated-counts.md#the-loss
        if self.mu is not None:
            return GaussianDP(self.mu)
        assert self.epsilon is not None
        return PureDP(self.epsilon)

    @property
    def variances(self) -> tuple[Fraction, Fraction]:
        """Variances of Gaussian noise: V of each 2 x - n, and W of n, before rounding."""
        assert self.mu is not None
        root = round_up(square_root_up(Fraction(self.items)))
        # items / V + 1 / W is at most mu^2: docs/proofs/correlated-counts.md#the-loss
        people = (root + 1) / self.mu**2
        return root * people, people

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        """Rates of Laplace noise: how many scales there are in 1, of each 2 x - n and of n."""
        assert self.epsilon is not None
        share = _share_of_items(self.items)
        # items times the first, and the second: docs/proofs/correlated-counts.md#the-loss
        return share * self.epsilon / self.items, (1 - share) * self.epsilon

    def release(self, counts: Sequence[int], *, people: int, bits: Bits | None = None) -> Release:
        """The counts with noise, in their order, and after them the number of people. Give
        `bits` only in tests and simulations.
        """
        numbers, _ = read_whole(list(counts), name="counts")
        if len(numbers) != self.items:
            raise ParameterError("counts", f"{self.items} numbers", len(numbers))
        (total,), _ = read_whole(people, name="people")
        chance = read_bits(bits)
        return Release(
            value=self.add_noise(numbers, total, chance),
            loss=self.privacy_loss(),
            mechanism=self.name,
            candidates=None,
            seeded=chance.bits.seeded,
            accuracy=self.accuracy(),
        )

    def add_noise(self, counts: Sequence[int], people: int, chance: Chance) -> list[int]:
        """The counts with noise, and after them the number of people."""
        *noisy, total = self._noisy(differences(counts, people), chance)
        return [*(_half(difference + total) for difference in noisy), total]

    def _noisy(self, numbers: list[int], chance: Chance) -> list[int]:
        """The differences with their noise, and the number of people with its own."""
        if self.mu is not None:
            wide, narrow = self.variances
            items = added(numbers[:-1], draw_rounded_normals(wide, self.items, chance))
            return [*items, *added(numbers[-1:], draw_rounded_normals(narrow, 1, chance))]
        low, high = self.rates
        items = added(numbers[:-1], laplace_noise(low, self.items, chance))
        return [*items, *added(numbers[-1:], laplace_noise(high, 1, chance))]

    @property
    def deviation(self) -> float:
        """The standard deviation of the error of a count, about: to compare noises."""
        if self.mu is not None:
            own = [nearest_float(variance) + 1 / 12 for variance in self.variances]
        else:
            own = [_laplace(rate).deviation ** 2 for rate in self.rates]
        # half of the sums are odd, and rounded by a half
        return math.sqrt(sum(own) / 4 + 1 / 8)

    def error_bound(self, failure_probability: Number) -> int:
        """How far any of the counts can be off, except with `failure_probability`."""
        beta = read_probability(failure_probability, "failure_probability")
        return smallest_bound(self.tail, beta / self.items)

    def error_bound_of_people(self, failure_probability: Number) -> int:
        """How far the number of people can be off, except with `failure_probability`."""
        beta = read_probability(failure_probability, "failure_probability")
        if self.mu is None:
            return _laplace(self.rates[1]).error_bound(beta)
        width = ball(self.variances[1]).sqrt()
        return smallest_bound(
            lambda size: min(
                Fraction(1), upper_bound(lambda: 2 * upper_tail((ball(size) + arb(0.5)) / width))
            ),
            beta,
        )

    @property
    def ranking_deviation(self) -> float:
        """The standard deviation of a count beside another one, about: their order does not
        depend on the number of people.
        """
        if self.mu is not None:
            return math.sqrt(nearest_float(self.variances[0]) + 1 / 12) / 2
        return _laplace(self.rates[0]).deviation / 2

    def difference_tail(self, least: int) -> Fraction:
        """The probability that the error of one count is larger than that of another by at
        least this, at most.
        """
        # of two halves that are rounded to the same number, one sum may be larger by 2:
        # docs/proofs/correlated-counts.md#the-error
        own = 2 * least - 2
        if self.mu is not None:
            return sum_tail((self.variances[0], self.variances[0]), own) / 2 if own else Fraction(1)
        return _laplace(self.rates[0]).difference_tail(own)

    def accuracy(self, *, failure_probability: Number = USUAL_FAILURE) -> Accuracy:
        """The `error_bound` of all counts as a statement."""
        beta = read_probability(failure_probability, "failure_probability")
        return noise_accuracy(self.error_bound(beta), self.items, beta)

    def tail(self, size: int) -> Fraction:
        """The probability that one count is off by more than this, rounded up."""
        # the sum of both noises is at least 2 size + 1 then: #the-error
        least = 2 * size + 1
        if self.mu is not None:
            return sum_tail(self.variances, least)
        return _laplace_tail(self.rates, least)


def differences(counts: Sequence[int], people: int) -> list[int]:
    """What gets noise: for each count how many more people have the item than not, and the
    number of people.
    """
    return [*(2 * number - people for number in counts), people]


def _half(number: int) -> int:
    """Half of it; where that is no whole number, the even one of the two next to it."""
    half, odd = divmod(number, 2)
    return half + (half & 1 if odd else 0)


def _share_of_items(items: int) -> Fraction:
    """About the part of epsilon for the items with which a count has the smallest variance."""
    # for one item a little less than the half, so that the two rates differ
    power = items ** (2 / 3) if items > 1 else 0.999
    return Fraction(round(power / (1 + power) * 10**6), 10**6)


def _laplace(rate: Fraction) -> DiscreteLaplace:
    # one number that moves by 1: docs/proofs/correlated-counts.md#the-error
    return DiscreteLaplace(epsilon=min(rate, Fraction(64)), sensitivity=1)


@lru_cache(maxsize=256)
def _laplace_tail(rates: tuple[Fraction, Fraction], least: int) -> Fraction:
    """The probability that two discrete Laplace numbers add up to `least` or more in size."""

    def exact() -> arb:
        p, q = ((-ball(rate)).exp() for rate in rates)
        # the law of the sum is c p^|k| + e q^|k|: partial fractions of its generating function
        c = (1 - p) / (1 + p) * (1 - q) ** 2 * p / ((p - q) * (1 - p * q))
        e = (1 - q) / (1 + q) * (1 - p) ** 2 * q / ((q - p) * (1 - p * q))
        return 2 * (c * p**least / (1 - p) + e * q**least / (1 - q))

    return max(Fraction(0), min(Fraction(1), upper_bound(exact, 192)))
