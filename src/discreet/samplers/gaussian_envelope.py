"""A normal law that lies above exp(-rate * losses - prior) on a ball, up to a constant.

Losses that are at or above a quadratic function have odds at or below those of a normal
law. What linear algebra in floats gives (a center and a shape) is taken as it is, as
exact numbers; that the inequality holds for just these numbers is certified with
enclosures. docs/proofs/ball.md#normal-laws-above has the inequality.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat

from discreet.exact.enclosures import at_precision, ball, down
from discreet.samplers.losses import Floats, QuadraticBound

_BITS = 128
# how much wider than needed the shape is at first; it grows until the certificate holds
_FIRST_SLACK = 2.0**-30
_HALVINGS = 80


@dataclass(frozen=True, slots=True)
class Target:
    """exp(-rate * losses - prior / 2 * |x|^2) on the ball of this radius."""

    rate: Fraction
    prior: Fraction
    radius: Fraction


@dataclass(frozen=True, slots=True)
class GaussianEnvelope:
    """Proposals center + shape z, with z normal.

    constant: for all x = center + shape z of the ball (and of the region that the
        quadratic bound holds in), rate * losses + prior / 2 * |x|^2 is at least
        |z|^2 / 2 + constant.
    """

    center: Floats
    shape: Floats
    constant: float


def normal_law(bound: QuadraticBound, target: Target) -> tuple[float, Floats, Floats]:
    """In floats: the logarithm of the mass of the envelope, its mean and its covariance."""
    rate, radius = float(target.rate), float(target.radius)
    pull = ball_multiplier(bound, target)
    values, vectors = _spectrum(bound, target, pull)
    leaning = vectors.T @ (-rate * bound.linear)
    mass = (
        float((leaning**2 / values).sum() - np.log(values).sum()) / 2
        - rate * bound.constant
        + pull * radius**2 / 2
    )
    return mass, vectors @ (leaning / values), (vectors / values) @ vectors.T


def _spectrum(bound: QuadraticBound, target: Target, pull: float) -> tuple[Floats, Floats]:
    """The eigenvalues and eigenvectors of the curvature, none below what is added."""
    added = float(target.prior) + pull
    values, vectors = np.linalg.eigh(
        2 * float(target.rate) * bound.matrix + added * np.eye(len(bound.linear))
    )
    return np.maximum(values, added / 2), vectors


def make_envelope(bound: QuadraticBound, target: Target) -> GaussianEnvelope:
    """The envelope of a quadratic bound, with a multiplier for the ball."""
    pull = ball_multiplier(bound, target)
    values, vectors = _spectrum(bound, target, pull)
    center = -(vectors / values) @ (vectors.T @ (float(target.rate) * bound.linear))
    root = vectors / np.sqrt(values)
    slack = _FIRST_SLACK
    while True:
        shape = root * (1 + slack)
        constant = certified_constant(bound, target, pull, center, shape)
        if constant is not None:
            return GaussianEnvelope(center, shape, constant)
        slack *= 8


def ball_multiplier(bound: QuadraticBound, target: Target) -> float:
    """How much the law has to be pulled to the center for its points to be about as far
    out as the ball goes: E|x|^2 = radius^2. Any number of at least 0 is right.
    """
    rate, prior, radius = float(target.rate), float(target.prior), float(target.radius)
    values, vectors = np.linalg.eigh(2 * rate * bound.matrix)
    values = np.maximum(values, 0.0) + prior
    pulled = vectors.T @ (rate * bound.linear)

    def excess(pull: float) -> bool:
        scale = 1 / (values + pull)
        return bool(scale.sum() + ((pulled * scale) ** 2).sum() > radius**2)

    low, high = 0.0, 1.0
    if values.min() > 0 and not excess(0.0):
        return 0.0
    while excess(high):
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) else (low, middle)
    return high


def certified_constant(
    bound: QuadraticBound, target: Target, pull: float, center: Floats, shape: Floats
) -> float | None:
    """The constant of `GaussianEnvelope`, for any center and shape; None if the shape is
    not certainly wide enough.
    """
    return at_precision(_BITS, lambda: _certified_constant(bound, target, pull, center, shape))


def _certified_constant(
    bound: QuadraticBound, target: Target, pull: float, center: Floats, shape: Floats
) -> float | None:
    size = len(center)
    rate, added = ball(target.rate), ball(target.prior) + arb(pull)
    middle, factor = column(center), square(shape)
    half = square(bound.matrix) * rate + _identity(size) * (added / 2)
    wide = factor.transpose() * half * factor * 2
    # the shape was made so that this is nearly a multiple of the identity
    scale = sum((wide[place, place] for place in range(size)), arb(0)) / size
    beyond = scale - _frobenius(wide - _identity(size) * scale) - 1
    if not beyond > 0:
        return None
    slope = column(bound.linear) * rate + (half + half.transpose()) * middle
    lean = factor.transpose() * slope
    level = (
        rate * (arb(bound.constant) - arb(bound.error))
        + rate * (column(bound.linear).transpose() * middle)[0, 0]
        + (middle.transpose() * (half * middle))[0, 0]
        - arb(pull) / 2 * ball(target.radius) ** 2
    )
    return down(level - _squares(lean) / (2 * beyond))


def column(values: Floats) -> arb_mat:
    """A vector of exact floats."""
    return arb_mat(len(values), 1, [arb(value) for value in values.tolist()])


def square(values: Floats) -> arb_mat:
    """A matrix of exact floats."""
    rows, columns = values.shape
    return arb_mat(rows, columns, [arb(value) for value in values.ravel().tolist()])


def _identity(size: int) -> arb_mat:
    return arb_mat(size, size, [arb(int(place % (size + 1) == 0)) for place in range(size * size)])


def _squares(matrix: arb_mat) -> arb:
    return sum((entry * entry for entry in matrix.entries()), arb(0))


def _frobenius(matrix: arb_mat) -> arb:
    return arb(_squares(matrix).upper()).sqrt()


def distance_from_identity(first: Floats, second: Floats) -> arb:
    """How far the product of two matrices is from the identity, at most."""
    return _frobenius(square(first) * square(second) - _identity(len(first)))
