"""Bounds of lists by noise on all counts: never below the exact worst case, and near it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.noise import FAR, gaussian_law, laplace_law
from tiers import loop_over, more

from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, HistogramTopK

BETA = Fraction(1, 20)


def floats(law):
    return np.array([float(law[n].mid()) for n in range(-FAR, FAR + 1)])


def winner_is_behind(law, candidates, size):
    """The probability that one of many that are `size + 1` behind wins; among equal noisy
    counts one is drawn.
    """
    below = np.concatenate([[0.0], np.cumsum(law)])
    # where the noise of another one makes it equal to the best
    equal = np.minimum(np.arange(law.size) + size + 1, law.size - 1)
    low, high = below[equal], below[equal + 1]
    # the mean of 1 / (1 + how many are equal), where none is above
    often = np.maximum(candidates * (high - low), 1e-300)
    wins = np.where(high > low, (high**candidates - low**candidates) / often, high)
    return 1 - float(law @ wins)


@loop_over("candidates", [2, 3, 10, 100])
@loop_over("items", [1, 2, 5])
def test_the_bound_of_one_name_is_near_the_exact_worst_case(candidates, items):
    law = floats(laplace_law(Fraction(1, items)))
    bound = HistogramTopK(k=1, epsilon=1, items_per_person=items).error_bound(
        BETA, candidates=candidates
    )
    assert winner_is_behind(law, candidates, bound) <= BETA
    least = next(t for t in range(200) if winner_is_behind(law, candidates, t) <= BETA)
    assert bound <= max(1.25 * least, least + 1)


@pytest.mark.parametrize(("k", "candidates"), [(2, 4), (3, 3), more(5, 12)])
def test_the_bound_of_a_list_holds_for_random_counts(k, candidates):
    """Counts that lie just beyond the bound of each other are the worst there are."""
    random = np.random.default_rng(3)
    mechanism = HistogramTopK(k=k, epsilon=1, items_per_person=1)
    bound = mechanism.error_bound(BETA, candidates=candidates)
    law = floats(laplace_law(Fraction(1)))
    for gap in (bound + 1, bound // 2 + 1):
        counts = np.zeros(candidates, dtype=np.int64)
        counts[:k] = gap
        noise = random.choice(np.arange(-FAR, FAR + 1), (20_000, candidates), p=law / law.sum())
        # lots as the last digit
        order = np.argsort(-(counts + noise + random.random(noise.shape)), axis=1)
        listed = counts[order[:, :k]]
        behind = (np.sort(counts)[::-1][:k] - listed).max(axis=1)
        ahead = np.array([counts[row[k:]].max(initial=-1) for row in order]) - listed.min(axis=1)
        assert np.mean(np.maximum(behind, ahead) > bound) <= float(BETA)


@loop_over("least", [1, 2, 5, 11])
@loop_over("spread", [Fraction(1, 3), Fraction(2), Fraction(15)])
def test_the_difference_of_two_noises_has_the_stated_tail(least, spread):
    cases = [
        (DiscreteLaplace(epsilon=1 / spread, sensitivity=1), laplace_law(1 / spread), 1e-9),
        (
            DiscreteGaussian(rho=1 / (2 * spread), squared_sensitivity=1),
            gaussian_law(spread),
            0.5,
        ),
    ]
    for noise, law, slack in cases:
        both = np.convolve(floats(law), floats(law))
        exact = float(both[2 * FAR + least :].sum())
        found = float(noise.difference_tail(least))
        assert exact - 1e-9 <= found
        # before the odds are convex the bound is coarse
        if isinstance(noise, DiscreteLaplace) or (least - 0.5) ** 2 >= 2 * spread >= 4:
            assert found <= exact * (1 + slack) + (1e-9 if spread < 3 else 0.01)


def test_who_is_alone_is_never_behind():
    assert HistogramTopK(k=1, epsilon=1, items_per_person=1).error_bound(BETA, candidates=1) == 0
