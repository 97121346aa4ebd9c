"""Renyi divergences in closed form against a search over all pairs, and conversions that only
ever round to the safe side.
"""

from fractions import Fraction

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from reference import composition as reference
from tiers import examples, loop_over

from discreet.accounting import renyi
from discreet.accounting.renyi import (
    delta_of,
    epsilon_of,
    largest_rho,
    renyi_divergence,
    total_curve,
)
from discreet.exact.enclosures import at_precision, ball
from discreet.privacy.loss import ZCDP, ApproxDP, BoundedRange, PureDP

MILLIONTH = Fraction(1, 10**6)

# (epsilon, order, divergence) of bounded range
PUBLISHED = [
    *(
        (Fraction(1, 10), order, value)
        for order, value in [
            (1.5, 0.001874544447985),
            (2, 0.002498959027251),
            (4, 0.004990998219228),
            (8, 0.009921822448498),
            (16, 0.019364439584226),
        ]
    ),
    *(
        (Fraction(1), order, value)
        for order, value in [
            (1.5, 0.183112538680552),
            (2, 0.240229013916555),
            (4, 0.429533440812136),
            (8, 0.635459398564406),
            (16, 0.781200759603755),
            (64, 0.925518183698963),
        ]
    ),
]

# (epsilon, delta, largest rho)
LARGEST_RHO = [
    (Fraction(1, 2), Fraction(1, 10**5), 0.008505530591),
    (1, Fraction(1, 10**6), 0.024355970360),
    (1, Fraction(1, 10**5), 0.030556595198),
    (2, Fraction(1, 10**6), 0.088152688380),
    (3, Fraction(1, 10**9), 0.120582428911),
    (8, Fraction(1, 10**6), 1.052358004557),
]

# (rho, delta, epsilon)
EPSILON_OF_RHO = [
    (Fraction(1, 10), Fraction(1, 10**6), 2.141938928385),
    (Fraction(1, 2), Fraction(1, 10**6), 5.221534444530),
    (1, Fraction(1, 10**5), 7.077196695806),
    (Fraction(1, 100), Fraction(1, 10**6), 0.621692654560),
]


def divergence(loss, order):
    """The package's number, as a number of the reference."""
    ends = at_precision(
        200,
        lambda: [end.str(50, radius=False) for end in ends_of(renyi_divergence(loss, arb(order)))],
    )
    return mpmath.mpf(ends[0]), mpmath.mpf(ends[1])


def ends_of(value):
    return value.lower(), value.upper()


@loop_over(("epsilon", "order", "expected"), PUBLISHED)
def test_published_values_of_bounded_range(epsilon, order, expected):
    low, high = divergence(BoundedRange(epsilon), order)
    assert float(low) == pytest.approx(expected, rel=2e-12)
    assert float(high) == pytest.approx(expected, rel=2e-12)


@examples(15, 40)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 100), max_value=8, max_denominator=100),
    order=st.sampled_from([1.0625, 1.5, 2, 3.25, 8, 32, 200]),
)
def test_bounded_range_is_the_worst_pair(epsilon, order):
    with mpmath.workdps(50):
        low, high = divergence(BoundedRange(epsilon), order)
        searched = reference.largest_renyi(epsilon, order)
        assert searched <= high * (1 + mpmath.mpf(10) ** -40)
        assert low <= searched * (1 + 1e-9)


@loop_over("epsilon", [Fraction(1, 100), Fraction(1, 2), 3, 20])
@loop_over("order", [1.5, 2, 16, 100])
def test_pure_dp_is_randomised_response(epsilon, order):
    with mpmath.workdps(50):
        low, high = divergence(PureDP(epsilon), order)
        truth = reference.renyi_of_response(epsilon, order)
        assert abs(low - truth) <= 1e-30
        assert abs(high - truth) <= 1e-30


@pytest.mark.parametrize("kind", [BoundedRange, PureDP])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 5])
def test_divergences_lie_between_concentrated_and_pure(kind, epsilon):
    loss = kind(epsilon)
    rho = loss.to_zcdp().rho
    for order in (1.0001, 1.5, 4, 64, 10**6):
        _, high = divergence(loss, order)
        assert 0 < high <= min(float(rho) * order, float(epsilon)) * (1 + 1e-12)
    near_one, _ = divergence(loss, 1.0001)
    assert float(near_one) == pytest.approx(
        float(rho), rel=1e-3
    )  # the bound is attained as the order falls to 1


def test_concentrated_dp_is_linear_in_the_order():
    assert divergence(ZCDP(Fraction(1, 4)), 3) == (0.75, 0.75)


def test_divergences_add_up_with_their_multiplicities():
    counts = {BoundedRange(1): 3, PureDP(Fraction(1, 2)): 2, ZCDP(Fraction(1, 8)): 5}
    total = at_precision(160, lambda: float(total_curve(counts)(arb(4))))
    parts = [float(divergence(loss, 4)[0]) * times for loss, times in counts.items()]
    assert total == pytest.approx(sum(parts), rel=1e-13)


def test_approximate_dp_has_no_divergence():
    with pytest.raises(TypeError, match="no Renyi divergence is known for ApproxDP"):
        renyi_divergence(ApproxDP(1, 1e-6), arb(2))


@pytest.mark.parametrize(("epsilon", "delta", "expected"), LARGEST_RHO)
def test_published_budgets_of_a_filter(epsilon, delta, expected):
    found = largest_rho(Fraction(epsilon), delta)
    truth = Fraction(str(expected))
    assert float(found) == pytest.approx(expected, rel=1e-6)
    assert found <= truth + Fraction(1, 10**12)  # the last digit is rounded
    # safe: everything that is admitted converts back to the budget at most
    assert reference.epsilon_of_curve(
        lambda order: reference.real(found) * order, delta
    ) <= epsilon * (1 + 1e-15)


@pytest.mark.parametrize(("rho", "delta", "expected"), EPSILON_OF_RHO)
def test_published_conversions_of_concentrated_dp(rho, delta, expected):
    found = epsilon_of(lambda order: ball(Fraction(rho)) * order, delta)
    assert float(found) == pytest.approx(expected, rel=1e-6)
    assert found >= Fraction(str(expected)) - Fraction(1, 10**12)
    truth = reference.epsilon_of_curve(lambda order: reference.real(Fraction(rho)) * order, delta)
    assert found >= Fraction(str(truth)) - Fraction(1, 10**14)


@pytest.mark.parametrize(
    ("epsilon", "copies", "expected"),
    [(Fraction(1, 10), 100, 2.4001987902), (Fraction(1, 2), 20, 5.6261941496)],
)
def test_published_conversions_of_bounded_range(epsilon, copies, expected):
    found = epsilon_of(total_curve({BoundedRange(epsilon): copies}), MILLIONTH)
    assert float(found) == pytest.approx(expected, rel=1e-9)


@loop_over("epsilon", [Fraction(1, 10), 1, 3])
@loop_over(
    "counts",
    [{BoundedRange(Fraction(1, 2)): 4}, {ZCDP(Fraction(1, 50)): 3}, {PureDP(1): 2}],
    ids=repr,
)
def test_delta_agrees_with_another_search(counts, epsilon):
    total = sum(
        loss.epsilon * times for loss, times in counts.items() if not isinstance(loss, ZCDP)
    )
    if total and epsilon >= total:
        epsilon = total * Fraction(9, 10)  # from the sum on delta is 0, and the best order infinite
    found = delta_of(total_curve(counts), Fraction(epsilon))

    def curve(order):
        return mpmath.fsum(
            divergence(loss, float(order))[1] * times for loss, times in counts.items()
        )

    truth = reference.delta_of_curve(curve, epsilon)
    assert float(found) == pytest.approx(min(1.0, float(truth)), rel=1e-5)
    assert found >= Fraction(str(truth)) * (1 - Fraction(1, 10**9)) or found == 1


def test_the_two_directions_are_inverse():
    curve = total_curve({BoundedRange(Fraction(1, 10)): 50})
    epsilon = epsilon_of(curve, MILLIONTH)
    assert delta_of(curve, epsilon) == pytest.approx(1e-6, rel=1e-7)


@pytest.mark.parametrize("epsilon", [1, 5, 100, 10**3, 10**9])
def test_far_above_what_was_spent_delta_is_tiny_and_quickly_found(epsilon):
    # e^-(order * epsilon) with an order of millions has more digits than a computer has memory
    found = delta_of(total_curve({BoundedRange(Fraction(1, 10)): 5}), Fraction(epsilon))
    assert 0 < found < Fraction(1, 10**280)


@pytest.mark.parametrize("rho", [10**6, 10**300])
def test_far_below_what_was_spent_delta_is_one(rho):
    assert delta_of(total_curve({ZCDP(rho): 1}), Fraction(1)) == 1


@loop_over(
    "delta", [Fraction(1, 10**6), Fraction(1, 10**300), Fraction(9, 10), 1 - Fraction(1, 10**20)]
)
@loop_over("rho", [Fraction(1, 10**12), Fraction(1, 10), 10**6])
def test_no_conversion_is_below_zero_or_without_end(rho, delta):
    found = epsilon_of(lambda order: ball(Fraction(rho)) * order, delta)
    assert found >= 0
    # the classical conversion of Bun and Steinke, with room for orders beyond those that
    # are searched
    classical = rho + 2 * mpmath.sqrt(reference.real(rho) * -mpmath.log(reference.real(delta)))
    assert float(found) <= 2 * float(classical) + 1e-6


def test_any_order_is_safe_because_the_value_is_computed_there(monkeypatch):
    best = largest_rho(Fraction(1), MILLIONTH)
    for order in (1.5, 10.0, 1000.0):
        monkeypatch.setattr(renyi, "best_order", lambda function, order=order: order)
        assert largest_rho(Fraction(1), MILLIONTH) <= best
