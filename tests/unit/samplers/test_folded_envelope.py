"""The envelope of very many candidates: masses from the best of each column bound the weights of
every block, and proposals have the odds of the weights, as those of the plain one have.
"""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from tiers import loop_over, more
from unit.samplers.test_envelope import SHAPES, all_proposals, make

import discreet
from discreet.randomness.chance import Chance
from discreet.samplers import columns, folded_envelope
from discreet.samplers import envelope as plain
from discreet.samplers.columns import Columns
from discreet.samplers.envelope import Envelope, draw_exponential
from discreet.samplers.folded_envelope import FoldedEnvelope
from discreet.testing import SeededBits

SIZES = [1025, 2048, 8191, 8192, 8193, 30_000]


def folded(scores, rate=Fraction(1, 2), smallest=False):
    distances = make(scores, rate, smallest).distances
    return FoldedEnvelope(distances, Columns(scores, smallest=smallest).best)


def all_weights(distances):
    return Envelope(distances)._whole_weights(distances, 0, distances.size).tolist()


def blocks_of(envelope):
    """The candidates of each block, and its mass."""
    size = envelope.distances.size
    masses = envelope._masses.tolist()
    starts = envelope._starts(np.arange(len(masses))).tolist()
    for start, mass in zip(starts, masses, strict=True):
        candidates = range(start, min(start + folded_envelope._WIDTH, size))
        yield candidates, mass * plain._WEIGHTS_PER_MASS


@loop_over("smallest", [False, True])
@loop_over("shape", SHAPES)
@loop_over("size", SIZES)
def test_every_candidate_is_in_one_block_and_masses_bound_the_weights(size, shape, smallest):
    envelope = folded(SHAPES[shape](size), smallest=smallest)
    weights, seen = all_weights(envelope.distances), []
    for candidates, mass in blocks_of(envelope):
        assert sum(weights[candidate] for candidate in candidates) <= mass
        seen += candidates
    assert sorted(seen) == list(range(size))
    # the last group is padded with the worst score
    assert sum(weights) <= envelope.total <= 8.01 * (sum(weights) + 1024 * min(weights))


@pytest.mark.parametrize("scores", [np.float32, np.float16, np.int8, np.uint64, np.int32])
def test_narrow_and_wide_numbers_fold_alike(scores):
    """Scores that are narrower than an estimate share its memory."""
    values = (np.arange(5000) * 37 % 101).astype(scores)
    envelope = folded(values)
    weights = all_weights(envelope.distances)
    for candidates, mass in blocks_of(envelope):
        assert sum(weights[candidate] for candidate in candidates) <= mass
    assert folded(values[::-1])._masses.sum() > 0


@pytest.mark.parametrize("size", [1025, more(3000), more(4200)])
@pytest.mark.parametrize("shape", [more("peaked"), "steps"])
def test_every_proposal_has_odds_weight_over_total(size, shape, monkeypatch):
    monkeypatch.setattr(FoldedEnvelope, "_together", 1)
    envelope = folded(SHAPES[shape](size))
    weights, proposals = all_weights(envelope.distances), all_proposals(envelope)
    nothing = proposals.pop(None)
    assert proposals == {
        (place, weight): Fraction(weight, envelope.total) for place, weight in enumerate(weights)
    }
    assert nothing == 1 - Fraction(sum(weights), envelope.total)


def test_blocks_that_are_looked_at_together_keep_their_weights(monkeypatch):
    """All pairs of two proposals in a row have the product of their odds."""
    for name in ("_WIDTH", "ROWS"):
        monkeypatch.setattr(folded_envelope, name, 2)
    monkeypatch.setattr(FoldedEnvelope, "_together", 2)
    monkeypatch.setattr(columns, "ROWS", 2)
    monkeypatch.setattr(columns, "ROW", 2)
    monkeypatch.setattr(plain, "_BLOCK", 1)
    envelope = folded(np.array([3.0, 0, 1, 2, 2]))

    class Two:
        def propose(self, chance):
            assert not envelope._offers
            return envelope.propose(chance), envelope.propose(chance)

    single = {
        (place, weight): Fraction(weight, envelope.total)
        for place, weight in enumerate(all_weights(envelope.distances))
    }
    single[None] = 1 - sum(single.values())
    assert all_proposals(Two()) == {
        (one, other): single[one] * single[other] for one in single for other in single
    }


def test_only_very_many_numbers_of_one_machine_type_are_folded():
    mechanism = discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1)

    def kind(scores):
        return type(mechanism._envelope(mechanism._read(scores)))

    assert kind(np.zeros(2**17 - 1)) is Envelope
    assert kind(np.zeros(2**17)) is FoldedEnvelope
    assert kind([Fraction(10**400), Fraction(0)]) is Envelope
    assert kind(np.array([-(2**63), 2**63 - 1] * 2**16)) is FoldedEnvelope


@loop_over("place", [0, 65_535, 131_071, 199_999])
@loop_over("objective", ["max", "min"])
@loop_over("mechanism", ["exponential", "permute-and-flip", "laplace-noise"])
def test_a_clear_winner_wins_wherever_it_is(place, objective, mechanism):
    scores = np.zeros(200_000)
    scores[place] = 10_000.0 if objective == "max" else -10_000.0
    release = discreet.select(
        scores,
        epsilon=1,
        sensitivity=1,
        mechanism=mechanism,
        objective=objective,
        bits=SeededBits(3),
    )
    assert release.value == place


def test_draws_have_the_law_of_the_plain_envelope():
    """Four groups of candidates in the rows of one column and of others, 4,000 draws: each share
    within five standard deviations (false alarm below 1e-5), where a group that is forgotten or
    counted twice would be off by more than ten.
    """
    scores = np.zeros(140_000)
    scores[::1000], scores[1::1000], scores[70_000:70_050] = 9, 11, 12
    envelope, chance = folded(scores, rate=Fraction(1)), Chance(SeededBits(5))
    drawn = np.array([scores[draw_exponential(envelope, chance)] for _ in range(4000)])
    kinds, counts = np.unique(scores, return_counts=True)
    odds = counts * np.exp(kinds - 12)
    for kind, share in zip(kinds, odds / odds.sum(), strict=True):
        spread = math.sqrt(share * (1 - share) / drawn.size)
        assert abs(np.mean(drawn == kind) - share) <= 5 * spread


@pytest.mark.parametrize("gaps", [2, -1])
def test_scores_with_gaps_between_them_are_not_copied(gaps):
    """As those of a column of a table are: a copy would double the memory, once for each
    sixteen proposals.
    """
    scores = np.random.default_rng(5).normal(size=2**20 * abs(gaps))[::gaps]
    mechanism = discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1)
    mechanism.select(scores, bits=SeededBits(1))
    tracemalloc.start()
    try:
        mechanism.select(scores, bits=SeededBits(1))
        assert tracemalloc.get_traced_memory()[1] < scores.nbytes / 2
    finally:
        tracemalloc.stop()
