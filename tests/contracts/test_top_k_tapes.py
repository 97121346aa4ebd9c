"""The real samplers of the top-k family on every random tape: each list has its ideal probability, to within a certified small rest.

What the constants are made for needs a million candidates to happen. Here they are lowered, consistently, so that a handful of
candidates spans several blocks, is drawn in batches, has a shortlist and a heap, and is looked at from closer; every test says which
of these paths it takes and sees that it was taken.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from reference.exact import PRECISION
from reference.tapes import Tape, distribution
from reference.top_k import TOP_K, at, decay, limited_domain, one_shot_exponential

from discreet import JointTopK, PeelingTopK
from discreet.mechanisms import limited_domain as limited
from discreet.mechanisms import top_k
from discreet.mechanisms.limited_domain import LimitedDomain, read_counts
from discreet.privacy.loss import BoundedRange
from discreet.samplers import envelope, joint, peeling, ranking

TINY = 2.0**-150  # the enclosures are about 2^-180 wide; this covers their width where a bound holds with equality
PICKS = {"exponential": "one-shot-gumbel", "permute-and-flip": "peeling-permute-and-flip"}
ONE, HALF = Fraction(1), Fraction(1, 2)


@pytest.fixture(autouse=True)
def high_precision():
    before, ctx.prec = ctx.prec, PRECISION
    yield
    ctx.prec = before


@pytest.fixture(autouse=True)
def checked_picks(monkeypatch):
    """Odds that are no odds must not go unseen: weights never fall along a row, and never add up to more than their mass."""
    original = Tape.pick

    def pick(tape, cumulative, total):
        assert (np.diff(cumulative, prepend=0) >= 0).all(), "a negative weight"
        assert int(cumulative[-1]) <= total, "the weights are more than the mass that they are proposed with"
        return original(tape, cumulative, total)

    monkeypatch.setattr(Tape, "pick", pick)


@pytest.fixture
def seen(monkeypatch):
    """How often each path of the samplers was taken."""
    counts = Counter()

    def count(owner, name, is_one=lambda *_: True):
        original = getattr(owner, name)

        def counted(*arguments):
            counts[name] += bool(is_one(*arguments))
            return original(*arguments)

        monkeypatch.setattr(owner, name, counted)

    count(peeling.PeelingEnvelope, "_look_closer")
    count(peeling.PeelingEnvelope, "_propose_many", lambda _, number, __: number > 1)
    count(peeling.PeelingEnvelope, "_refresh")
    count(ranking.ShortlistEnvelope, "_behind")
    count(ranking.ShortlistEnvelope, "take", lambda self, position: position >= self._shortlist.members.size)
    return counts


def lower_blocks(monkeypatch, size=2):
    monkeypatch.setattr(envelope, "_BLOCK", size)
    monkeypatch.setattr(envelope, "_ONES", np.ones(size, dtype=np.float32))


def lower_reach(monkeypatch, halvings):
    """Candidates so few halvings behind are already out of reach."""
    monkeypatch.setattr(envelope, "_REACH", halvings)
    monkeypatch.setattr(envelope, "_FARTHEST", np.full(envelope._CHUNK, float(halvings * envelope.GRAIN)))
    for module in (envelope, peeling, ranking):
        monkeypatch.setattr(module, "LIGHTEST", envelope.UNIT >> halvings)


def always_shortlist(monkeypatch):
    for name in ("_ROWS", "_NARROWEST", "_FEW"):
        monkeypatch.setattr(ranking, name, 1)


def peeling_of(pick: str, k: int, rate: Fraction, **more) -> PeelingTopK:
    return PeelingTopK(k=k, epsilon=k * rate, sensitivity=1, monotonic=True, mechanism=pick, **more)


def reach(mechanism, scores, cutoff: float):
    """The real code from scores to list, with only the randomness replaced."""
    candidates = mechanism._read(scores)
    return distribution(lambda tape: tuple(mechanism._draw(candidates, tape)), cutoff)


def require(reached: dict, rest: arb, ideal: dict) -> None:
    assert set(reached) <= set(ideal)
    for outcome, probability in ideal.items():
        found = reached.get(outcome, arb(0))
        assert found <= probability + TINY, f"{outcome} is drawn too often"
        assert probability <= found + rest + TINY, f"{outcome} is drawn too rarely"


def require_ranking(pick: str, gaps, k: int, rate: Fraction, cutoff: float, rest: float, scores=None, **more) -> None:
    mechanism = peeling_of(pick, k, rate, **more)
    assert mechanism.rate == rate
    reached, left = reach(mechanism, [100 - gap for gap in gaps] if scores is None else scores, cutoff)
    assert left < rest
    x = decay(rate)
    require(reached, left, {ranking: at(ratio, x) for ranking, ratio in TOP_K[PICKS[pick]](gaps, k).items()})


# gaps, k, noise scales in a step of score, and for each mechanism how far tapes are followed and what is left then
RANKINGS = {
    "three": ((0, 1, 2), 2, ONE, (1e-6, 2e-4), (3e-6, 2e-3)),
    "another order": ((2, 0, 1), 3, HALF, (1e-6, 1e-3), (2e-5, 1.5e-2)),
    "equal": ((0, 0, 0), 3, ONE, (1e-6, 1e-5), (1e-5, 1e-3)),
    "all four": ((0, 1, 1, 4), 4, ONE, (1e-5, 1e-2), (1e-4, 6e-2)),
    "more than 28 halvings": ((0, 30, 31, 200), 3, ONE, (1e-6, 1e-3), (1e-5, 1e-2)),
    "more than 28 halvings, tied": ((40, 0, 40, 41), 3, ONE, (1e-6, 1e-3), (2e-5, 1.5e-2)),
}


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("case", RANKINGS)
class TestRanking:
    def test_in_one_block(self, pick, case, seen):
        gaps, k, rate, *limits = RANKINGS[case]
        require_ranking(pick, gaps, k, rate, *limits[list(PICKS).index(pick)])
        assert bool(seen["_look_closer"]) == ("halvings" in case)

    def test_in_blocks_of_two(self, pick, case, seen, monkeypatch):
        lower_blocks(monkeypatch)
        gaps, k, rate, *limits = RANKINGS[case]
        cutoff, rest = limits[list(PICKS).index(pick)]
        require_ranking(pick, gaps, k, rate, 3 * cutoff, min(0.2, 8 * rest))
        assert seen["_propose_many"]
        assert bool(seen["_look_closer"]) == ("halvings" in case)
