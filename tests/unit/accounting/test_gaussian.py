"""The central limit: the published numbers, and proof that it must never enter a guarantee."""

import math
from fractions import Fraction

import pytest
from reference.composition import gaussian_delta, non_adaptive_delta
from tiers import loop_over, more

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, PureDP
from discreet.accounting import GaussianApproximation
from discreet.accounting.analyses import ANALYSES


@pytest.mark.parametrize(
    ("losses", "mu"),
    [
        ({BoundedRange(0.1): 100}, 0.5),
        ({PureDP(0.1): 100}, 1.0),
        ({ZCDP(0.125): 4}, 1.0),
        ({BoundedRange(2): 9, PureDP(1): 16}, 5.0),
        ({}, 0.0),
    ],
)
def test_variances_add_up(losses, mu):
    assert GaussianApproximation.of(losses).mu == pytest.approx(mu, rel=1e-15)


@pytest.mark.parametrize(
    ("epsilon", "delta", "mu"),
    [(1, 1e-6, 0.2367043807), (3, 1e-6, 0.6477265307), (0.5, 1e-5, 0.1422105587)],
)
def test_published_distances(epsilon, delta, mu):
    assert GaussianApproximation(mu).delta(epsilon) == pytest.approx(delta, rel=1e-7)


@loop_over("mu", [0.01, 0.5, 3.0])
@loop_over("epsilon", [0.0, 0.2, 2.0])
def test_delta_is_that_of_two_gaussians(mu, epsilon):
    assert GaussianApproximation(mu).delta(epsilon) == pytest.approx(
        float(gaussian_delta(mu, epsilon)), rel=1e-7, abs=1e-14
    )


@pytest.mark.parametrize(
    ("width", "copies", "epsilon", "limit"),
    [(1, 1, Fraction(1, 2), 0.05244), (1, 3, 1, 0.08254), more(Fraction(1, 10), 50, 1, 3.978e-4)],
)
def test_the_limit_promises_more_privacy_than_there_is(width, copies, epsilon, limit):
    found = GaussianApproximation.of({BoundedRange(width): copies}).delta(float(epsilon))
    assert found == pytest.approx(limit, rel=2e-4)
    assert found < float(non_adaptive_delta(width, copies, epsilon))
    # and nothing that certifies is that optimistic
    assert (
        float(
            discreet.compose({BoundedRange(width): copies}, epsilon=epsilon, adaptive=False).delta
        )
        > found
    )


def test_it_is_no_analysis():
    """`gaussian-noise` is the exact composition of Gaussian pairs, no approximation."""
    names = [name for name in ANALYSES if "gauss" in name or "gdp" in name or "clt" in name]
    assert names == ["gaussian-noise"]


def test_approximate_dp_is_refused():
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match="The 'losses' parameter of GaussianApproximation must be PureDP",
    ):
        GaussianApproximation.of({ApproxDP(1, 1e-6): 1})


def test_sixteen_times_as_many_queries_have_the_same_limit():
    textbook = GaussianApproximation.of({PureDP(0.2): 10})
    by_range = GaussianApproximation.of({BoundedRange(0.1): 160})
    assert math.isclose(textbook.mu, by_range.mu, rel_tol=1e-15)
