"""A delta is charged only where it is used, and whole numbers move by whole steps."""

from fractions import Fraction

import pytest

import discreet
from discreet import ApproxDP, ParameterError, PureDP
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace

SCORES = {"ant": 50, "bee": 40, "cat": 1}
GIVEN = {"epsilon": 1, "delta": 1e-6, "sensitivity": 1, "monotonic": True}


@pytest.mark.parametrize(
    "more", [{}, {"method": "one-shot"}, {"with_counts": True}, {"items_per_person": 1}], ids=str
)
def test_one_pick_costs_no_delta(more):
    assert discreet.top_k(SCORES, k=1, **GIVEN, **more).loss == PureDP(1)


def test_several_picks_cost_the_delta_that_they_use():
    assert discreet.top_k(SCORES, k=2, **GIVEN).loss == ApproxDP(1, 1e-6)


def test_one_quantile_costs_no_delta():
    given = {"bounds": (0, 9), "step": 1, "epsilon": 1, "delta": 1e-6}
    assert discreet.quantiles([1, 2, 3], q=[0.5], **given).loss == PureDP(1)
    assert discreet.quantiles([1, 2, 3], q=[0.25, 0.5], **given).loss == ApproxDP(1, 1e-6)


@pytest.mark.parametrize("wrong", [0.5, 1.5, Fraction(1, 3), 2**-1074])
def test_noise_for_whole_numbers_has_a_whole_sensitivity(wrong):
    with pytest.raises(ParameterError, match=r"'sensitivity' .* whole number"):
        DiscreteLaplace(epsilon=1, sensitivity=wrong)
    with pytest.raises(ParameterError, match=r"'squared_sensitivity' .* whole number"):
        DiscreteGaussian(rho=1, squared_sensitivity=wrong)
    counted = {"epsilon": 1, "sensitivity": wrong, "with_counts": True}
    with pytest.raises(ParameterError, match=r"'sensitivity' .* whole number"):
        discreet.select(SCORES, **counted)
    with pytest.raises(ParameterError, match=r"'sensitivity' .* whole number"):
        discreet.top_k(SCORES, k=2, **counted)


def test_a_whole_sensitivity_may_have_any_type():
    for whole in (2, 2.0, Fraction(2)):
        assert DiscreteLaplace(epsilon=1, sensitivity=whole).rate == Fraction(1, 2)
