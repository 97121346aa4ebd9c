"""The table of the logistic loss, parabolas below it, and the certificate of an envelope."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from tiers import more

from discreet.exact.enclosures import at_precision
from discreet.samplers.gaussian_envelope import (
    Target,
    ball_multiplier,
    certified_constant,
    make_envelope,
)
from discreet.samplers.losses import (
    KNOTS,
    TABLE_ERROR,
    LogisticLoss,
    LogisticTable,
    QuadraticBound,
    SquaredLoss,
)
from discreet.samplers.minorants import Margins, _parabolas, add_up, margins_in_ball


@pytest.fixture
def rng():
    return np.random.default_rng(6)


def loss_at(margin):
    return (-arb(float(margin))).exp().log1p()


@pytest.mark.parametrize("top", [3, more(1024)])
def test_the_table_is_as_near_as_it_says(top, rng):
    table = LogisticTable.up_to(top - 1)
    # farthest from the knots the table is worst
    margins = np.concatenate([
        rng.uniform(-top, top, 3000),
        (np.arange(-2 * KNOTS, 2 * KNOTS) + 0.5) / KNOTS,
        [top, -top, 0.0, 1e-300],
    ])  # fmt: skip
    found = table(margins)

    def worst():
        return max(
            float(abs(loss_at(margin) - arb(float(value))).upper())
            for margin, value in zip(margins, found, strict=True)
        )

    farthest = at_precision(128, worst)
    assert TABLE_ERROR / 4 < farthest <= TABLE_ERROR


@pytest.mark.parametrize("reach", [more(0.5), 8.0, more(1000.0)])
def test_every_parabola_is_below_whatever_knots_are_chosen(reach, rng):
    """Any knot, on any interval, even one that the interval does not hold."""
    table = LogisticTable.up_to(reach)
    ends = np.sort(rng.uniform(-reach, reach, (300, 2)), axis=1)
    ends[:50, 1] = ends[:50, 0] + 1e-4
    knots = table.knot(rng.uniform(-reach, reach, 300))
    constant, slope, curve = _parabolas(table, Margins(ends[:, 0], ends[:, 1]), knots)
    assert (curve >= 0).all()

    def lowest():
        return min(
            float(
                (
                    loss_at(margin)
                    - arb(float(constant[row]))
                    - arb(float(slope[row])) * arb(float(margin))
                    - arb(float(curve[row])) * arb(float(margin)) ** 2
                ).lower()
            )
            for row in range(300)
            for margin in np.linspace(*ends[row], 15)
        )

    least = at_precision(128, lowest)
    assert 0 <= least < 1e-6


def test_parabolas_are_curved_where_they_can_be():
    table = LogisticTable.up_to(8)
    margins = Margins(np.array([-8.0, -0.1]), np.array([8.0, 0.1]))
    curve = _parabolas(table, margins, table.knot(np.zeros(2)))[2]
    assert 0.03 < curve[0] < 0.06
    assert curve[1] > 0.124


def on_grid(rows):
    rows = rows / np.maximum(1, np.linalg.norm(rows, axis=1) * 1.001)[:, None]
    return np.trunc(rows * 2.0**16) * 2.0**-16


def test_the_sum_of_parabolas_is_below_the_sum_of_losses(rng):
    loss = LogisticLoss(on_grid(rng.normal(size=(200, 3))), 4.0)
    margins = margins_in_ball(loss)
    bound = add_up(loss, margins, loss.table.knot(rng.uniform(-3, 3, 200)))
    for point in rng.normal(size=(30, 3)):
        point = point * 4 / np.linalg.norm(point) * rng.uniform()
        below = bound.constant + bound.linear @ point + point @ bound.matrix @ point
        exact = loss.enclose([arb(float(entry)) for entry in point])
        assert below - bound.error <= float(exact.lower())
    assert bound.error < 1e-9


BOUND = QuadraticBound(1.0, np.array([2.0, -1.0]), np.array([[3.0, 1.0], [1.0, 2.0]]), 0.25)
TARGET = Target(Fraction(1, 3), Fraction(1, 7), Fraction(1, 2))


def test_the_constant_of_an_envelope_holds_and_is_nearly_the_best(rng):
    made = make_envelope(BOUND, TARGET)
    pull = ball_multiplier(BOUND, TARGET)
    assert pull > 0
    gaps = []
    for point in rng.uniform(-0.5, 0.5, size=(500, 2)):
        if point @ point <= 0.25:
            normal = np.linalg.solve(made.shape, point - made.center)
            losses = (
                BOUND.constant + BOUND.linear @ point + point @ BOUND.matrix @ point - BOUND.error
            )
            height = losses / 3 + point @ point / 14
            gaps.append(height - normal @ normal / 2 - made.constant)
            # what the ball gives away
            gaps[-1] -= pull / 2 * (0.25 - point @ point)
    assert min(gaps) > -1e-9
    assert min(gaps) < 1e-6


def test_a_shape_that_is_too_narrow_gets_no_constant():
    made = make_envelope(BOUND, TARGET)
    pull = ball_multiplier(BOUND, TARGET)
    assert certified_constant(BOUND, TARGET, pull, made.center, made.shape) == made.constant
    for factor in (1 - 1e-8, 0.5):
        narrow = made.shape * factor
        assert certified_constant(BOUND, TARGET, pull, made.center, narrow) is None


def test_a_center_that_is_off_only_costs():
    made = make_envelope(BOUND, TARGET)
    pull = ball_multiplier(BOUND, TARGET)
    other = certified_constant(BOUND, TARGET, pull, made.center + 1e-6, made.shape)
    assert other < made.constant


@pytest.mark.parametrize("count", [0, 1, 50])
def test_squared_losses_in_floats_are_as_near_as_they_say(count, rng):
    rows = on_grid(rng.normal(size=(count, 4)))
    targets = np.trunc(rng.uniform(-1, 1, count) * 2**16) / 2**16
    loss = SquaredLoss.of(rows, targets, Fraction(7, 3), 2.0)
    points = rng.normal(size=(20, 4))
    points *= 2 / np.linalg.norm(points, axis=1)[:, None]
    for point, value in zip(points, loss.floats(points), strict=True):
        plain = [arb(float(entry)) for entry in point]
        exact = arb(0)
        for row, target in zip(rows.tolist(), targets.tolist(), strict=True):
            wanted = arb(target) * 7 / 3
            score = sum((arb(a) * b for a, b in zip(row, plain, strict=True)), arb(0))
            exact += (wanted - score) ** 2 - wanted**2
        enclosed = loss.enclose(plain)
        assert enclosed.overlaps(exact)
        assert abs(float(enclosed) - value) <= loss.error(0.0) + 1e-13
        moved = loss.floats(point[None] + 1e-5)[0]
        assert abs(moved - value) <= loss.error(2.01e-5)


def test_logistic_losses_in_floats_are_as_near_as_they_say(rng):
    rows = on_grid(rng.normal(size=(300, 4)))
    loss = LogisticLoss(rows, 5.0)
    points = rng.normal(size=(10, 4))
    points *= 5 / np.linalg.norm(points, axis=1)[:, None]
    for point, value in zip(points, loss.floats(points), strict=True):
        exact = at_precision(
            128, lambda point=point: loss.enclose([arb(float(entry)) for entry in point])
        )
        assert abs(float(exact) - value) <= loss.error(0.0)
        moved = loss.floats(point[None] + 1e-5)[0]
        assert abs(moved - value) <= loss.error(2.01e-5)
