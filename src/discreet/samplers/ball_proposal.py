"""One envelope for the whole ball, or two where there are many rows.

With many rows the odds are large only near the best point, and there the losses are
nearly quadratic, while parabolas that lie below them on the whole ball are much
flatter. So the ball is cut in two by an ellipsoid around the best point. Inside,
margins move little, and the parabolas have almost the full curvature; outside, the flat
ones do. Where the cut is, and whether there is one, is a matter of speed. That each
parabola lies below in its part is certified. docs/proofs/ball.md#two-shells.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.exact.enclosures import at_precision, up
from discreet.samplers.ball import Ellipsoid, Shell
from discreet.samplers.gaussian_envelope import (
    GaussianEnvelope,
    Target,
    distance_from_identity,
    make_envelope,
    normal_law,
)
from discreet.samplers.losses import LogisticLoss, LossSum, SquaredLoss, rounding
from discreet.samplers.minorants import Margins, add_up, margins_in_ball, mode, search_tangents
from discreet.samplers.normals import tail_mass

# squares of the ellipsoid's radius that are tried, in dimensions
_TRIED = (2.0, 3.0, 4.0)
# how much less mass two shells must have to be worth their cost, as a logarithm
_WORTH = 0.5
# whitening times shape, from the identity
_NEARLY = 2.0**-20
_BITS = 128


def make_shells(loss: LossSum, target: Target) -> list[Shell]:
    """The envelopes that a sampler draws from."""
    if isinstance(loss, SquaredLoss):
        return [Shell(make_envelope(loss.quadratic(), target))]
    assert isinstance(loss, LogisticLoss)
    return make_logistic_shells(loss, target)


def make_logistic_shells(loss: LogisticLoss, target: Target) -> list[Shell]:
    """One shell, or two where that is faster."""
    margins = margins_in_ball(loss)
    bound = add_up(loss, margins, search_tangents(loss, margins, target))
    whole, mass = make_envelope(bound, target), normal_law(bound, target)[0]
    whitening = np.linalg.inv(whole.shape).astype(np.float64)
    error = up(at_precision(_BITS, lambda: distance_from_identity(whitening, whole.shape)))
    if not error < _NEARLY:
        return [Shell(whole)]
    center = mode(loss, target)[0]
    best, found = mass - _WORTH, None
    for part in _TRIED:
        region = Ellipsoid(whole.center, whitening, float(math.ceil(part * loss.dimensions)))
        inside = margins_in_ellipsoid(loss, whole, region, margins, error)
        knots = loss.table.knot(np.clip(loss.rows @ center, inside.low, inside.high))
        near = add_up(loss, inside, knots)
        far = mass + float(tail_mass(loss.dimensions, region.square).log().mid())
        both = float(np.logaddexp(normal_law(near, target)[0], far))
        if both < best:
            best, found = both, (near, region)
    if found is None:
        return [Shell(whole)]
    near, region = found
    # outside the ellipsoid |z| is above its radius / (1 + error)
    least = region.square * (1 - 3 * error) * (1 - 2.0**-40)
    return [
        Shell(make_envelope(near, target), region),
        Shell(whole, region, outside=True, least_square=least),
    ]


def margins_in_ellipsoid(
    loss: LogisticLoss, whole: GaussianEnvelope, region: Ellipsoid, margins: Margins, error: float
) -> Margins:
    """Between which ends the margins lie for points of the ellipsoid and of the ball."""
    spread = loss.rows @ whole.shape
    size, count = float(np.linalg.norm(whole.shape)), loss.dimensions
    wide = np.sqrt(np.einsum("ij,ij->i", spread, spread)) + rounding(4 * count + 8) * size
    reach = wide * (math.sqrt(region.square) * (1 + 3 * error) * (1 + 2.0**-40))
    middle = loss.rows @ whole.center
    slack = rounding(count + 8) * float(np.abs(whole.center).sum() + 1) + 2.0**-40
    low = np.maximum(middle - reach - slack, margins.low)
    high = np.minimum(middle + reach + slack, margins.high)
    return Margins(np.minimum(low, high), np.maximum(low, high))
