"""The normal distribution, enclosed: tails, and what two normal distributions tell apart.

A Gaussian pair is N(0, 1) and N(mu, 1): the distance mu, in standard deviations, says
all about it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from discreet.exact.enclosures import ball, upper_bound
from discreet.exact.rationals import round_up

_BITS = 192
_HALVINGS = 50
# a delta below e^-1000 has no use, and its digits no end
_SMALLEST = -1000
_FAR = 2000


def upper_tail(deviations: arb) -> arb:
    """The probability that a normal number is larger than this many deviations."""
    return (deviations / arb(2).sqrt()).erfc() / 2


def gaussian_profile(mu: arb, epsilon: Fraction) -> arb:
    """The largest excess of one distribution of a Gaussian pair over e^epsilon times the other.

    Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu) (Balle and Wang
    2018).
    """
    near, far = ball(epsilon) / mu - mu / 2, ball(epsilon) / mu + mu / 2
    return upper_tail(near) - ball(epsilon).exp() * upper_tail(far)


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """The delta of a Gaussian pair at this epsilon, rounded up; at most 1."""

    def delta() -> arb:
        return gaussian_profile(ball(mu), epsilon).max(arb(_SMALLEST).exp()).min(arb(1))

    try:
        return min(Fraction(1), upper_bound(delta, _BITS))
    except ValueError:
        # not even finite
        return Fraction(1)


def gaussian_epsilon(mu: Fraction, delta: Fraction) -> Fraction:
    """An epsilon at which a Gaussian pair has at most this delta, nearly the smallest."""
    low, high = Fraction(0), mu
    if gaussian_delta(mu, low) <= delta:
        return low
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
    return high


def largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A distance at which a Gaussian pair is within (epsilon, delta), nearly the largest."""
    low, high = Fraction(0), Fraction(1)
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while not low and gaussian_delta(high / 2, epsilon) > delta:
        high /= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def gaussian_for_logistic(width: Fraction) -> Fraction:
    """The distance of the Gaussian pair that dominates two logistic distributions `width` apart.

    mu = 2 z with Phi(z) = 1 / (1 + e^(-width / 2)), rounded up:
    docs/proofs/other-accountants.md has the proof. Far out the tail's bound
    e^(-z^2 / 2) / 2 is close enough: mu = 2 sqrt(width).
    """
    if width > _FAR:
        return round_up(2 * square_root_up(width))
    # where numbers near 1 cancel down to the width, twice as many bits leave enough
    lost = max(0, width.denominator.bit_length() - width.numerator.bit_length())
    precision = _BITS + 4 * lost

    def mu() -> arb:
        chance = (-(1 + (ball(width) / 2).exp()).log()).exp()
        return arb(8).sqrt() * (2 * chance).erfcinv()

    return round_up(upper_bound(mu, precision))


def square_root_down(value: Fraction) -> Fraction:
    """A rational just below the root of a number of at least 0."""
    return Fraction(
        math.isqrt(value.numerator * value.denominator << 256), value.denominator << 128
    )


def square_root_up(value: Fraction) -> Fraction:
    """A rational just above the root of a number of at least 0."""
    below = square_root_down(value)
    exact = below**2 == value
    return below if exact else below + Fraction(1, value.denominator << 128)
