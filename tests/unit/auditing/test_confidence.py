"""Bounds of Clopper and Pearson, against scipy and against the truth."""

import numpy as np
import pytest
from scipy.stats import beta, binom
from tiers import loop_over

from discreet.auditing.claims import (
    approximate_bounds,
    binomial_quantiles,
    lower_bound,
    upper_bound,
)

CASES = [(0, 10), (1, 10), (10, 10), (3, 50_000), (120, 10_000), (9_999, 10_000), (2_500, 5_000)]


@loop_over(("hits", "runs"), CASES)
@loop_over("alpha", [0.05, 1e-4])
def test_bounds_are_those_of_scipy_rounded_outwards(hits, runs, alpha):
    low = beta.ppf(alpha, hits, runs - hits + 1) if hits else 0.0
    high = beta.ppf(1 - alpha, hits + 1, runs - hits) if hits < runs else 1.0
    assert low * (1 - 1e-4) <= lower_bound(hits, runs, alpha) <= low * (1 + 1e-9)
    found = upper_bound(hits, runs, alpha)
    assert 1 - found <= (1 - high) * (1 + 1e-9)
    assert (1 - high) * (1 - 1e-4) <= 1 - found


@pytest.mark.parametrize("share", [0.01, 0.3, 0.97])
def test_a_bound_is_false_no_more_often_than_stated(share):
    """All outcomes with their exact probabilities, without a simulation."""
    runs, alpha = 60, 0.05
    chances = binom.pmf(np.arange(runs + 1), runs, share)
    too_high = sum(chances[x] for x in range(runs + 1) if lower_bound(x, runs, alpha) > share)
    too_low = sum(chances[x] for x in range(runs + 1) if upper_bound(x, runs, alpha) < share)
    assert too_high <= alpha
    assert too_low <= alpha
    assert max(too_high, too_low) > 0, "the bounds are not trivial"


def test_approximate_bounds_are_near():
    hits = np.array([0.0, 1, 10, 100, 500, 999])
    low, high = approximate_bounds(hits, 1000, 3.09)
    for place, hit in enumerate(hits):
        assert high[place] == pytest.approx(upper_bound(int(hit), 1000, 0.001), rel=0.12, abs=1e-3)
        assert low[place] == pytest.approx(lower_bound(int(hit), 1000, 0.001), rel=0.12, abs=1e-3)


@pytest.mark.parametrize("share", [0.001, 0.5, 0.93])
def test_quantiles(share):
    low, high = binomial_quantiles(2_000, share, 0.05)
    assert (low, high) == (binom.ppf(0.05, 2_000, share), binom.ppf(0.95, 2_000, share))
