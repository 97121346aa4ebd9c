"""How many of many pass: the odds of every number, over all tapes."""

from __future__ import annotations

import math

from flint import arb, fmpq
from reference.tapes import distribution
from tiers import loop_over

from discreet.randomness.chance import Chance
from discreet.randomness.whole_numbers import draw_binomial
from discreet.testing import SeededBits


@loop_over("persons", [0, 1, 2, 5])
@loop_over(("part", "digits"), [(0, 3), (1, 3), (4, 3), (5, 3), (7, 3), (1, 1)])
def test_every_number_has_its_odds(persons, part, digits):
    reached, rest = distribution(lambda tape: draw_binomial(persons, part, digits, tape), 0.0)
    assert abs(rest) < arb(2) ** -40
    share = fmpq(part, 1 << digits)
    for passed in range(persons + 1):
        ideal = math.comb(persons, passed) * share**passed * (1 - share) ** (persons - passed)
        assert abs(reached[passed] - arb(ideal)) < arb(2) ** -40


def test_millions_of_persons():
    persons, part = 3_000_001, 200_000
    passed = draw_binomial(persons, part, 20, Chance(SeededBits(4)))
    mean = persons * part / 2**20
    assert abs(passed - mean) < 6 * math.sqrt(mean * (1 - part / 2**20))
