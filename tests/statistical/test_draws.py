"""The whole road on real randomness: from scores through the operating system's bits to counted
answers.

Every test on real bits fails by chance less than once in 10^9 runs. A G-test rejects the truth
with probability 1e-10, and its sample size is chosen so that it misses a privacy parameter that is
15% off (5% in the tier of audits) as rarely; the same samples show that, so the power is not a
guess. What has a higher error rate has seeded bits.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution
from scipy.stats import chi2, ncx2

from discreet.mechanisms.selection import MECHANISMS, mechanism_class
from discreet.testing import SeededBits

FALSE_ALARM = 1e-10
SCORES = [0, 1, 2, 3, 3, 5]
SHORT, LONG = 15_000, 1_000_000


def g_statistic(counts: np.ndarray, probabilities: np.ndarray) -> float:
    seen = counts > 0
    expected = counts.sum() * probabilities
    return float(2 * np.sum(counts[seen] * np.log(counts[seen] / expected[seen])))


def missed(truth: np.ndarray, wrong: np.ndarray, draws: int) -> float:
    """The probability that a G-test at the false-alarm rate does not reject `wrong` when `truth`
    is drawn from.
    """
    distance = 2 * draws * float(np.sum(truth * np.log(truth / wrong)))
    return float(ncx2.cdf(chi2.isf(FALSE_ALARM, truth.size - 1), truth.size - 1, distance))


@pytest.mark.parametrize("draws", [SHORT, pytest.param(LONG, marks=pytest.mark.audits)])
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_draws_follow_the_exact_distribution(name, draws):
    mechanism = mechanism_class(name)(epsilon=2, sensitivity=1)
    truth = mechanism.probabilities(SCORES)
    off = 0.05 if draws == LONG else 0.15
    wrong = {
        factor: mechanism_class(name)(epsilon=2 * factor, sensitivity=1).probabilities(SCORES)
        for factor in (1 - off, 1 + off)
    }
    for factor, probabilities in wrong.items():
        assert missed(truth, probabilities, draws) < FALSE_ALARM, f"too few to see {factor}"

    counts = np.bincount(mechanism.select_many(SCORES, draws=draws), minlength=len(SCORES))
    threshold = chi2.isf(FALSE_ALARM, len(SCORES) - 1)
    assert g_statistic(counts, truth) < threshold
    for probabilities in wrong.values():
        assert g_statistic(counts, probabilities) > threshold


@pytest.mark.parametrize("name", ["exponential", "permute-and-flip", "laplace-noise"])
def test_draws_from_many_blocks_follow_the_exact_distribution(name):
    """5,000 candidates lie in five blocks, whose masses are only bounds; answers are counted by
    score.
    """
    scores = np.arange(5000) % 7
    mechanism = mechanism_class(name)(epsilon=1, sensitivity=1)
    probabilities = mechanism.probabilities(scores)
    truth = np.array([probabilities[scores == score].sum() for score in range(7)])
    counts = np.bincount(scores[mechanism.select_many(scores, draws=10_000)], minlength=7)
    assert g_statistic(counts, truth) < chi2.isf(FALSE_ALARM, 6)


def test_ties_have_no_index_bias():
    """All-equal scores over several blocks: every tenth of the positions is equally likely."""
    mechanism = mechanism_class("permute-and-flip")(epsilon=1, sensitivity=1)
    picked = mechanism.select_many(np.zeros(30_000), draws=10_000)
    counts = np.bincount(picked // 3000, minlength=10)
    assert g_statistic(counts, np.full(10, 0.1)) < chi2.isf(FALSE_ALARM, 9)


@pytest.mark.parametrize(
    ("draws", "share"), [(30_000, 0.75), pytest.param(500_000, 0.9, marks=pytest.mark.audits)]
)
@pytest.mark.parametrize(
    "name",
    [
        "permute-and-flip",
        pytest.param("exponential", marks=pytest.mark.audits),
        pytest.param("laplace-noise", marks=pytest.mark.audits),
    ],
)
def test_an_audit_finds_the_stated_loss(name, draws, share):
    """Clopper-Pearson bounds from draws on two neighbours: below epsilon, as promised, and near
    it, as paid for.

    100 equal candidates, and one person's vote for the first: its odds rise from 0.01 by a factor
    e^1.94 if epsilon is 2. The bounds, each wrong once in 10,000 runs, take 3.7 standard
    deviations of both estimates off that: 0.30 with 30,000 draws and 0.07 with 500,000. The bits
    are seeded, so that chance never decides.
    """
    epsilon, error = 2, 1e-4
    mechanism = mechanism_class(name)(epsilon=epsilon, sensitivity=1, monotonic=True)
    before, after = [0] * 100, [1] + [0] * 99
    hits = [
        int((mechanism.select_many(scores, draws=draws, bits=SeededBits(seed)) == 0).sum())
        for seed, scores in enumerate((before, after))
    ]
    most_before = beta_distribution.isf(error, hits[0] + 1, draws - hits[0])
    least_after = beta_distribution.ppf(error, hits[1], draws - hits[1] + 1)
    found = math.log(least_after / most_before)
    assert share * epsilon <= found <= epsilon
