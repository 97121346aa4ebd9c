"""Rows of candidates whose errors rise: every candidate is on one level, at one place, with its
own distance.
"""

from __future__ import annotations

import numpy as np
from flint import fmpq
from tiers import loop_over

from discreet.randomness.chance import Chance
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.grouped_candidates import LAST_LEVEL, LEVELS_PER_SCALE, Ramp
from discreet.testing import SeededBits

ROWS = {
    "crosses zero on a level stretch": ([3, 1, 4], [-7, 0, 2], [0, 0, 0]),
    "crosses zero on a slope": ([3, 5, 2], [-9, -8, 12], [0, 4, 0]),
    "steps over zero": ([2, 2], [-5, 3], [0, 1]),
    "all above": ([2, 3], [4, 6], [1, 0]),
    "all below": ([2, 3], [-40, -6], [2, 1]),
    "one candidate": ([1], [17], [5]),
    "equal errors on neighbouring stretches": ([2, 2, 2, 1], [-1, -1, 1, 1], [0, 0, 0, 0]),
    "steep": ([1, 6, 1], [-1000, -900, 2000], [0, 400, 0]),
}
RATES = [fmpq(1, 8), fmpq(1), fmpq(3, 7), fmpq(50), fmpq(1, 10**6)]


def errors_of(row):
    return [
        error + place * slope
        for length, error, slope in zip(*row, strict=True)
        for place in range(length)
    ]


def ramp_of(row, rate, kind=np.int64):
    lengths, errors, slopes = row
    return Ramp(np.array(lengths), np.array(errors, dtype=kind), np.array(slopes, dtype=kind), rate)


@loop_over("kind", [np.int64, object])
@loop_over("rate", RATES, ids=str)
@loop_over("row", ROWS.values(), ids=list(ROWS))
def test_every_candidate_has_one_place_and_its_distance(row, rate, kind):
    errors = errors_of(row)
    ramp = ramp_of(row, rate, kind)
    envelope = ramp.envelope()
    seen = {}
    for level, size in envelope._sizes.items():
        for place in range(size):
            found = ramp.locate(place * (LAST_LEVEL + 1) + level)
            distance = (abs(errors[found]) - min(abs(error) for error in errors)) * rate
            assert envelope._distance(level, place) == distance
            assert distance >= fmpq(
                level, LEVELS_PER_SCALE
            )  # or the weight would lie below the odds
            assert level == LAST_LEVEL or distance < fmpq(level + 1, LEVELS_PER_SCALE)
            seen[found] = seen.get(found, 0) + 1
    assert seen == dict.fromkeys(range(len(errors)), 1)


def test_numbers_beyond_64_bits():
    far = 2**80
    row = ([2**50, 2**20, 2**50], [-far, -far, far * (2**20 - 1)], [0, far, 0])
    chance = Chance(SeededBits(1))
    ramp = ramp_of(row, fmpq(1, 2**70), object)
    assert ramp.locate(draw_exponential(ramp.envelope(), chance)) in (2**50, 2**50 + 1, 2**50 + 2)


def test_a_single_good_candidate_among_all_others_is_found_at_once():
    """2^60 candidates far away, and one that is right: they must not be proposed again
    and again.
    """
    row = ([2**59, 1, 2**59], [-1000, 0, 1000], [0, 0, 0])
    chance = Chance(SeededBits(2))
    ramp = ramp_of(row, fmpq(1))
    envelope = ramp.envelope()
    assert envelope.total < 2 * envelope.rebase()
    assert ramp.locate(draw_exponential(envelope, chance)) == 2**59
