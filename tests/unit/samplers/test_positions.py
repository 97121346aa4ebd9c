"""Where the best lie, and how far a list is behind them, beside exact distances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from tiers import loop_over

from discreet.samplers.distances import measure
from discreet.samplers.ranked_levels import most_behind, rounded_positions, whole_positions

RATE = fmpq(3, 7)
FLOATS = np.random.default_rng(2).normal(size=60) * 10.0 ** np.arange(-30, 30)


def distances_of(scores, *, smallest=False, rate=RATE):
    low, high = min(scores), max(scores)
    if isinstance(scores, np.ndarray):
        low, high = low.item(), high.item()
    return measure(scores, low, high, rate, smallest=smallest)


def ordered(distances) -> np.ndarray:
    """All candidates from best to worst."""
    return np.array(sorted(range(distances.size), key=distances.exact))


@pytest.mark.parametrize("smallest", [False, True], ids=["max", "min"])
@pytest.mark.parametrize("scores", [FLOATS, [Fraction(score) for score in FLOATS]], ids=type)
def test_rounded_positions_are_no_farther_apart_than_the_candidates(scores, smallest):
    distances, cells, parts = distances_of(scores, smallest=smallest), 1000, 1 << 20
    best = ordered(distances)[:40]
    positions = rounded_positions(distances, best, scale=0.25, cells=cells, parts=parts)
    assert positions[-1] % parts == 0
    for ahead in range(39):
        for behind in range(ahead, 40):
            gap = fmpq(int(positions[behind] - positions[ahead]), 4 * parts)
            true = distances.exact(int(best[behind])) - distances.exact(int(best[ahead]))
            assert gap <= true
            # each of them loses a part, or is cut
            least = true * (1 - fmpq(1, 2**40)) - fmpq(behind - ahead, 4 * parts)
            assert gap >= min(least, fmpq(cells - 1, 4))


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int8], ids=lambda kind: kind.__name__)
def test_whole_positions_are_exact_up_to_the_cut(kind):
    scores = np.array([3, 90, 3, 100, 99, 20, 127], dtype=kind)
    distances = distances_of(scores)
    positions = whole_positions(distances, ordered(distances)[:5], 50)
    assert positions.tolist() == [0, 27, 28, 37, 37 + 50]


@loop_over("smallest", [False, True], ids=["max", "min"])
@loop_over(
    "scores",
    [
        FLOATS,
        (FLOATS.astype(np.float32)),
        [Fraction(score) for score in FLOATS],
        np.arange(60)[::-1] ** 7,
        np.arange(60) - 2**62,
        np.r_[np.full(30, 2**63 - 1), np.full(30, -(2**63))],
    ],
    ids=["float", "short float", "fraction", "whole", "large", "both ends"],
)
def test_how_far_a_list_is_behind_is_exact(scores, smallest):
    distances, generator = distances_of(scores, smallest=smallest), np.random.default_rng(3)
    best = ordered(distances)[:5]
    for _ in range(40):
        listed = generator.choice(60, 5, replace=False)
        pairs = zip(best.tolist(), listed.tolist(), strict=True)
        true = max(distances.exact(member) - distances.exact(ahead) for ahead, member in pairs)
        assert most_behind(distances, best, listed) == true


def test_differences_that_round_to_the_same_float_are_told_apart():
    """2^-70 and 2^-60 behind the best; both differences round to that of 0."""
    scores = np.array([1.0, 1.0, 2.0**-60, 2.0**-70, 0.5])
    distances = distances_of(scores)
    for listed in ([2, 3], [3, 2]):
        found = most_behind(distances, np.array([0, 1]), np.array(listed))
        assert found == RATE * (1 - fmpq(1, 2**70))
