"""The best in order and all others behind the last of them: weights that bound the ideal odds,
whoever is gone already.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, fmpq
from tiers import more
from unit.samplers.test_envelope import all_proposals

from discreet.randomness.chance import Chance
from discreet.samplers import (
    columns,
    envelope,
    folded_envelope,
    ranked_envelope,
    remaining_candidates,
)
from discreet.samplers.columns import Columns
from discreet.samplers.distances import measure
from discreet.samplers.envelope import draw_exponential
from discreet.samplers.ranked_envelope import RANKED_UNIT, RankedEnvelope
from discreet.samplers.remaining_candidates import FoldedOthers, Others
from discreet.testing import SeededBits

COUNT = 12
SCORES = {
    "near": lambda generator, size: generator.integers(0, 300, size),
    "far apart": lambda generator, size: 4 ** generator.integers(0, 20, size),
    "floats": lambda generator, size: generator.normal(size=size) ** 5,
    "flat": lambda _, size: np.full(size, 7),
    "integers of 64 bits": lambda generator, size: generator.integers(0, 300, size) - 2**62,
}


def ranked(scores, rate, *, folded=False, smallest=False) -> RankedEnvelope:
    distances = measure(scores, scores.min().item(), scores.max().item(), rate, smallest=smallest)
    found = Columns(scores, smallest=smallest) if folded else None
    return RankedEnvelope(distances, COUNT, found)


def weights_of_others(left: RankedEnvelope) -> dict[int, int]:
    """The weight of each candidate that is none of the best, behind the last of these."""
    if isinstance(left._others, Others):
        return dict(enumerate(left._others._weights.tolist()))
    found = {}
    numbers = np.arange(left._others._masses.size)
    table, starts = left._others._table(numbers)
    assert (table.sum(axis=1) <= left._others._weights_up_to(numbers)).all()
    for start, row in zip(starts.tolist(), table.tolist(), strict=True):
        found |= {start + place: weight for place, weight in enumerate(row)}
    return found


RATES = [fmpq(1, 50), fmpq(3)]


def weighed():
    """Yield all cases; `make test` tries the small ones and two of those that are folded."""
    for shape, rate, (size, folded), smallest in product(
        SCORES, RATES, [(200, False), (60, False), (1700, True)], [False, True]
    ):
        usual = size == 60 or (folded and (shape, smallest) == ("near", rate == RATES[1]))
        name = f"{shape}-{rate}-{size}-{folded}-{'min' if smallest else 'max'}"
        case = pytest.param if usual else more
        yield case(shape, rate, size, folded, smallest, id=name)


@pytest.mark.parametrize(("shape", "rate", "size", "folded", "smallest"), list(weighed()))
def test_weights_are_above_the_odds_and_not_far_above(shape, rate, size, folded, smallest):
    scores = SCORES[shape](np.random.default_rng(5), size)
    if smallest:
        scores = scores * -1
    left, chance = ranked(scores, rate, folded=folded, smallest=smallest), Chance(SeededBits(3))
    assert isinstance(left._others, FoldedOthers) == folded
    distances, best = left._distances, list(left._best)
    exact = [distances.exact(candidate) for candidate in range(size)]
    assert [exact[candidate] for candidate in best] == sorted(exact)[:COUNT]
    others = weights_of_others(left)
    assert not any(others[candidate] for candidate in best), "they are proposed twice"
    gone: list[int] = []
    # of the steps of a list some are enough
    for _ in range(COUNT - 1):
        ahead = min(exact[candidate] for candidate in range(size) if candidate not in gone)
        assert exact[left._best[left._first]] == ahead
        total = 0
        for candidate in range(size):
            if candidate in gone:
                assert candidate in left._gone or left._weights[best.index(candidate)] == 0
                continue
            if candidate in best:
                weight = int(left._weights[best.index(candidate)]) * left._others.unit
            else:
                weight = others[candidate] * left._last
            total += weight
            assert weight <= left.unit
            odds = left.unit * (-arb(exact[candidate] - ahead)).exp()
            assert left.behind(candidate) == exact[candidate] - ahead
            # an enclosure of a probability of 1 can be a little above it
            assert odds * (1 - arb(2) ** -40) <= weight
            assert weight <= left._lightest or odds * 16 >= 15 * weight
        assert total <= left.total
        gone.append(draw_exponential(left, chance))
        left.take(gone[-1])


def test_most_proposals_are_candidates_that_are_left():
    """Where all others in reach of the last were taken, as many of the best are still there."""
    scores = np.array([100] * COUNT + [100] * (COUNT - 1) + [0] * 100)
    left, chance = ranked(scores, fmpq(1)), Chance(SeededBits(3))

    class Behind(Chance):
        def pick(self, cumulative, total, scale=1):
            # the others, and any of them
            return cumulative.size if scale > 1 else super().pick(cumulative, total)

    taken = set()
    while len(taken) < COUNT - 1:
        proposal = left.propose(Behind(chance.bits))
        if proposal is not None:
            left.take(proposal[0])
            taken.add(proposal[0])
    assert taken.isdisjoint(left._best)
    found = [left.propose(chance) is not None for _ in range(1000)]
    assert sum(found) > 400


@pytest.mark.parametrize("distance", ["0", "1/3", "1/32", "7/2", "19", "1000"])
def test_the_weight_of_the_last_is_nearly_exact(distance):
    exact = Fraction(distance)
    parts = ranked_envelope._FINE << ranked_envelope._PARTS
    (weight,) = ranked_envelope._weights_behind(np.array([int(exact * parts)])).tolist()
    odds = RANKED_UNIT * (-arb(fmpq(exact.numerator, exact.denominator))).exp()
    assert weight >= odds * (1 - arb(2) ** -24)
    assert weight <= odds * (1 + arb(2) ** -12) or exact == 1000


@pytest.mark.parametrize("gone", [(), (0,), (5,), (0, 5, 2)], ids=str)
@pytest.mark.parametrize("folded", [False, True], ids=["table", "folded"])
def test_every_proposal_has_odds_weight_over_total(gone, folded, monkeypatch):
    """By brute force, in exact fractions, whoever is gone: the best and all others, picked by one
    number.
    """
    for module, name in (
        (folded_envelope, "_WIDTH"),
        (folded_envelope, "ROWS"),
        (remaining_candidates, "ROWS"),
        (columns, "ROWS"),
        (columns, "ROW"),
    ):
        monkeypatch.setattr(module, name, 2)
    monkeypatch.setattr(remaining_candidates, "_CORRECTED", 1)
    monkeypatch.setattr(envelope, "_BLOCK", 1)
    monkeypatch.setattr(FoldedOthers, "_together", 1)
    scores = np.array([9, 1, 8, 3, 2, 4, 4, 0, 7])
    distances = measure(scores, 0, 9, fmpq(1, 3), smallest=False)
    found = Columns(scores, smallest=False) if folded else None
    left = RankedEnvelope(distances, 5, found)
    assert isinstance(left._others, FoldedOthers) == folded
    best = list(left._best)
    for candidate in gone:
        left._latest = best.index(candidate) if candidate in best else None
        left.take(candidate)
    others, weights = weights_of_others(left), {}
    for candidate in range(scores.size):
        if candidate in gone:
            continue
        if candidate in best:
            weight = int(left._weights[best.index(candidate)]) * left._others.unit
        else:
            weight = others[candidate] * left._last
        weights[candidate, weight] = Fraction(weight, left.total)
    proposals = all_proposals(left)
    nothing = proposals.pop(None, Fraction(0))
    assert proposals == weights
    assert nothing == 1 - sum(weights.values())
