"""What each kind of claim says about counts and about known laws."""

import math

import numpy as np
import pytest

from discreet import ZCDP, ApproxDP, BoundedRange, PureDP
from discreet.accounting import LogisticDP
from discreet.auditing.claims import Claim, EventCounts, binary_rho
from discreet.mechanisms import ExponentialMechanism

COIN = (
    {"yes": math.log(0.75), "no": math.log(0.25)},
    {"yes": math.log(0.25), "no": math.log(0.75)},
)


@pytest.mark.parametrize(
    ("claim", "truth"),
    [
        (PureDP(1), math.log(3)),
        (BoundedRange(1), 2 * math.log(3)),
        (LogisticDP(1), 2 * math.log(3)),
        # (0.75 - delta) / 0.25, where the whole excess is in one answer
        (ApproxDP(1, 0.25), math.log(2)),
        (ApproxDP(1, 0.6), 0),
    ],
    ids=repr,
)
def test_the_loss_of_a_known_pair(claim, truth):
    assert Claim(claim).of_laws(*COIN) == pytest.approx(truth, abs=1e-9)


def test_rho_of_a_known_pair_is_the_largest_divergence_over_its_order():
    orders = np.linspace(1.0001, 60, 20_000)
    divergences = np.log(0.75**orders * 0.25 ** (1 - orders) + 0.25**orders * 0.75 ** (1 - orders))
    largest = float(np.max(divergences / (orders - 1) / orders))
    assert Claim(ZCDP(1)).of_laws(*COIN) == pytest.approx(largest, rel=1e-3)
    assert Claim(ZCDP(1)).of_laws(*COIN) <= largest * (1 + 1e-4)


@pytest.mark.parametrize("claim", [PureDP(1), BoundedRange(1), LogisticDP(1), ZCDP(1)], ids=repr)
def test_an_answer_that_only_one_has_is_an_infinite_loss(claim):
    assert Claim(claim).of_laws({0: 0.0}, {0: math.log(0.5), 1: math.log(0.5)}) == math.inf


def test_a_partial_law_counts_common_answers_only():
    first, second = {0: -1.0, 1: -2.0}, {1: -2.5, 2: -1.0}
    assert Claim(PureDP(1)).of_laws(first, second, partial=True) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("claim", "truth"),
    [
        (PureDP(1), math.log(3)),
        (LogisticDP(1), 2 * math.log(3)),
        (ApproxDP(1, 0.25), math.log(2)),
        (ZCDP(1), binary_rho(0.75, 0.25)),
    ],
    ids=repr,
)
def test_counts_approach_the_truth_from_below(claim, truth):
    few, many = (
        Claim(claim).certified([EventCounts(3 * n, 4 * n, n, 4 * n)], 0.001) for n in (100, 20_000)
    )
    assert 0 <= few < many < truth
    assert many > 0.9 * truth


def test_bounded_range_adds_two_events():
    counts = [
        EventCounts(30_000, 40_000, 10_000, 40_000),
        EventCounts(10_000, 40_000, 30_000, 40_000),
    ]
    assert (
        0.95 * 2 * math.log(3) < Claim(BoundedRange(1)).certified(counts, 0.001) < 2 * math.log(3)
    )


def test_a_pair_of_known_laws_of_ours_has_the_stated_loss():
    """The exponential mechanism is tight for a candidate that is rare."""
    mechanism = ExponentialMechanism(epsilon=1, sensitivity=1)
    first, second = (
        dict(enumerate(mechanism.log_probabilities(scores).tolist()))
        for scores in ([0, 60, 60], [1, 59, 59])
    )
    assert Claim(PureDP(1)).of_laws(first, second) == pytest.approx(1, abs=1e-9)
    assert Claim(BoundedRange(1)).of_laws(first, second) == pytest.approx(1, abs=1e-9)
