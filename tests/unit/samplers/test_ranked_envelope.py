"""Candidates in order: weights that bound the ideal odds, whoever is gone already."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from discreet.randomness.chance import Chance
from discreet.samplers import ranked_envelope
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
}


@pytest.mark.parametrize("rate", [fmpq(1, 50), fmpq(3)], ids=str)
@pytest.mark.parametrize("shape", SCORES)
def test_weights_are_above_the_odds_and_not_far_above(shape, rate):
    scores = SCORES[shape](np.random.default_rng(5))
    distances = measure(scores, scores.min().item(), scores.max().item(), rate, smallest=False)
    left, chance = RankedEnvelope(distances, COUNT), Chance(SeededBits(3))
    weights, reach = ranked_envelope._weights(), ranked_envelope._REACH
    gone: list[int] = []
    while True:
        others = [place for place in range(scores.size) if int(left._order[place]) not in gone]
        best = min(others, key=lambda place: distances.exact(int(left._order[place])))
        assert distances.exact(int(left._order[best])) == distances.exact(
            int(left._order[left._best])
        )
        total = 0
        for place in others:
            cells = int(left._cells[place] - left._cells[left._best])
            weight = int(weights[min(cells, reach + 1)])
            odds = RANKED_UNIT * (-arb(left.behind(int(left._order[place])))).exp()
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
