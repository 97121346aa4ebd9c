"""One-shot exponential noise: the theorem of docs/proofs/top-k.md, by exact integration."""

from functools import cache
from itertools import permutations, product

import mpmath
import pytest
from tiers import more


@cache
def list_probability(scores, ranking, scale):
    """The probability that these candidates come first, in this order, after exponential noise.

    The density of the last of the list at height y, times all others of it above in order, times
    all candidates that are not on it below y: nested integrals over heights.
    """

    def density(place, height):
        return (
            mpmath.exp(-(height - scores[place]) / scale) / scale if height >= scores[place] else 0
        )

    def below(place, height):
        return 1 - mpmath.exp(-(height - scores[place]) / scale) if height > scores[place] else 0

    first, second = ranking
    others = [place for place in range(len(scores)) if place not in ranking]
    corners = sorted({mpmath.mpf(score) for score in scores})

    def at(height):
        above = 1 - below(first, height)
        rest = mpmath.fprod(below(place, height) for place in others)
        return density(second, height) * above * rest

    return mpmath.quad(at, [*corners, corners[-1] + 5 * scale, corners[-1] + 60 * scale])


MOVES = [move for move in product((0, 1), repeat=3) if 0 < sum(move) < 3]


@pytest.mark.parametrize(
    "scores", [more((0, 0, 0)), (3, 1, 0), more((0, 2, 2)), more((5, 0, 4))], ids=repr
)
def test_noise_of_k_ranges_is_private(scores):
    """Two winners of three, noise of scale 2 / epsilon; one person moves some scores by 1."""
    epsilon, k, largest = mpmath.mpf(1), 2, mpmath.mpf(0)
    scale = k / epsilon
    for move in MOVES:
        moved = tuple(score + step for score, step in zip(scores, move, strict=True))
        for ranking in permutations(range(3), 2):
            here, there = (list_probability(side, ranking, scale) for side in (scores, moved))
            largest = max(largest, abs(mpmath.log(here / there)))
    assert epsilon / 3 < largest <= epsilon + mpmath.mpf(10) ** -9
