"""Candidates in order: weights that bound the ideal odds, whoever is gone already."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from discreet.randomness.chance import Chance
from discreet.samplers import levels, order_statistics, ranked_envelope
from discreet.samplers.distances import measure
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.ranked_envelope import RANKED_UNIT, RankedEnvelope
from discreet.testing import SeededBits

COUNT = 12
SCORES = {
    "near": lambda generator: generator.integers(0, 300, 200),
    "few": lambda generator: generator.integers(0, 300, 60),
    "far apart": lambda generator: 4 ** generator.integers(0, 20, 200),
    "floats": lambda generator: generator.normal(size=200) ** 5,
    "flat": lambda _: np.full(150, 7),
    "integers of 64 bits": lambda generator: generator.integers(0, 300, 200) - 2**62,
}


@pytest.fixture(params=[False, True], ids=["sorted", "counted"])
def counted(request, monkeypatch):
    """Also as if there were so many candidates that only the best are sorted."""
    if request.param:
        # few would be in order already
        monkeypatch.setattr(order_statistics, "PAIRS", 0)
        parts = (("_MANY", 1), ("_FEW", 0), ("_CHUNK", 16), ("_CHUNK_LEVELS", 0))
        for name, value in parts:
            monkeypatch.setattr(levels, name, value)


def cells_and_candidates(left: RankedEnvelope) -> list[tuple[int, int]]:
    """For each place its cell and its candidate."""
    starts = left._starts.tolist()
    ends = [*starts[1:], left._size]
    return [
        (cell, left._candidate(place, cell))
        for cell, (start, end) in enumerate(zip(starts, ends, strict=True))
        for place in range(start, end)
    ]


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("rate", [fmpq(1, 50), fmpq(3)], ids=str)
@pytest.mark.parametrize("shape", SCORES)
def test_weights_are_above_the_odds_and_not_far_above(shape, rate):
    scores = SCORES[shape](np.random.default_rng(5))
    distances = measure(scores, scores.min().item(), scores.max().item(), rate, smallest=False)
    left, chance = RankedEnvelope(distances, COUNT), Chance(SeededBits(3))
    weights, reach = ranked_envelope._weights(), ranked_envelope._REACH
    gone: list[int] = []
    placed = cells_and_candidates(left)
    assert sorted(candidate for _, candidate in placed) == list(range(scores.size))
    while True:
        others = [(cell, candidate) for cell, candidate in placed if candidate not in gone]
        best = min(distances.exact(candidate) for _, candidate in others)
        assert distances.exact(int(left._levels.best[left._best])) == best
        total = 0
        for cell, candidate in others:
            cells = cell - int(left._cells[left._best])
            weight = int(weights[min(cells, reach + 1)])
            odds = RANKED_UNIT * (-arb(left.behind(candidate))).exp()
            # an enclosure of a probability of 1 can be a little above it
            assert odds * (1 - arb(2) ** -40) <= weight
            assert cells > reach or odds * 16 >= 15 * weight
            total += weight
        # who is gone counts only out of reach
        assert total <= left.total <= total + len(gone) * int(weights[-1])
        if len(gone) == COUNT - 1:
            return
        gone.append(draw_exponential(left, chance))
        left.take(gone[-1])


@pytest.mark.usefixtures("counted")
def test_everybody_in_a_cell_comes():
    """Of ten equal ones the first three that were taken leave seven."""
    scores = np.full(10, 7)
    left = RankedEnvelope(measure(scores, 7, 7, fmpq(1), smallest=False), 4)

    class Places:
        def __init__(self):
            self.number = 0

        def pick(self, *_):
            return 0

        def below(self, _):
            return self.number

    places = Places()
    for number in (4, 0, 7):
        places.number = number
        left.take(left.propose(places)[0])
    found = []
    for number in range(7):
        places.number = number
        found.append(left.propose(places)[0])
    assert found == [1, 2, 3, 5, 6, 7, 8]
