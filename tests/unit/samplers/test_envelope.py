"""The envelope: integer weights at or above the ideal odds, and proposals whose odds are exactly
the weights.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over, more

from discreet.auditing.tapes import Tape
from discreet.exact.enclosures import at_precision, less
from discreet.randomness.chance import Chance
from discreet.samplers.distances import measure
from discreet.samplers.envelope import _BLOCK, _WEIGHTS_PER_MASS, UNIT, Envelope
from discreet.testing import SeededBits

SIZES = [1, more(1023), more(1024), 1025, more(2048), more(70_000)]
SHAPES = {
    "flat": lambda size: np.zeros(size),
    "peaked": lambda size: np.where(np.arange(size) == size // 2, 1000.0, 0.0),
    "steps": lambda size: np.arange(size) % 97 / 3,
    "normal": lambda size: np.random.default_rng(5).normal(size=size) * 10,
    "integers": lambda size: np.random.default_rng(5).integers(0, 200, size=size).astype(np.uint8),
    "extremes": lambda size: np.where(np.arange(size) % 2, -(2**63), 2**63 - 1),
}


def make(scores, rate=Fraction(1, 2), smallest=False):
    listed = scores if isinstance(scores, list) else scores.tolist()
    distances = measure(
        scores, min(listed), max(listed), fmpq(rate.numerator, rate.denominator), smallest=smallest
    )
    return Envelope(distances)


def weights_of(envelope):
    """The integer weights, block by block, as Python integers."""
    found = []
    for number in range(-(-envelope.distances.size // _BLOCK)):
        cumulative = [int(mark) for mark in envelope._cumulative_weights(number)]
        found.append(
            [mark - before for before, mark in zip([0, *cumulative], cumulative, strict=False)]
        )
    return found


def check_weights(envelope, cap=UNIT):
    """min(exp(-distance) * UNIT, cap) <= weight <= cap for every candidate, by enclosures."""
    seen = set()
    for number, block in enumerate(weights_of(envelope)):
        for place, weight in enumerate(block):
            distance = envelope.distances.exact(number * _BLOCK + place)
            if (distance, weight) in seen:
                continue
            seen.add((distance, weight))
            assert 0 < weight <= cap
            # a weight at the cap is enough for any distance; below it the odds have to be compared
            if weight < cap:
                assert (
                    at_precision(
                        256, lambda d=distance, w=weight: less((-arb(d)).exp() * UNIT, arb(w))
                    )
                    is True
                )


def check_masses(envelope):
    """What a block is proposed with is at least the sum of its weights."""
    sums = [sum(block) for block in weights_of(envelope)]
    if len(sums) == 1:
        assert envelope.total == sums[0]
    else:
        masses = [int(mass) * _WEIGHTS_PER_MASS for mass in envelope._masses]
        assert len(masses) == len(sums)
        assert all(mass >= total for mass, total in zip(masses, sums, strict=True))
        assert envelope.total == sum(masses)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_weights_and_masses_bound_the_ideal_odds(size, shape):
    envelope = make(SHAPES[shape](size))
    check_weights(envelope)
    check_masses(envelope)


@loop_over("cap", [1, 2**23, 2**40 + 1, UNIT // 2, UNIT - 1, UNIT])
@loop_over("size", [1, 1023, 1024, 1025, 2048])
@loop_over("shape", ["peaked", "steps"])
def test_capped_weights_and_masses_bound_the_capped_odds(size, shape, cap):
    capped = make(SHAPES[shape](size)).capped(cap)
    check_weights(capped, cap)
    check_masses(capped)


@pytest.mark.parametrize("size", [1000, 5000])
def test_a_cap_never_adds_weight(size):
    envelope = make(SHAPES["normal"](size))
    assert envelope.capped(UNIT // 8).total <= envelope.total


@examples(60, 300)
@given(
    st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=40),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**9),
    st.booleans(),
)
def test_any_weight_bounds_its_odds(scores, rate, smallest):
    envelope = make(np.array(scores), rate, smallest)
    check_weights(envelope)
    check_masses(envelope)


@examples(150, 500)
@given(st.integers(0, 2**30 - 1))
def test_weights_are_close_above_where_it_matters(steps):
    # within the 28 halvings that the envelope can see, the chord is above the curve by 6.2
    # % at most
    gap = Fraction(steps, 2**30) * 19  # noise scales; 19 / ln 2 < 28
    [[_, weight]] = weights_of(make([Fraction(0), -gap], Fraction(1)))
    odds = at_precision(256, lambda: (-arb(fmpq(gap.numerator, gap.denominator))).exp() * UNIT)
    assert less(arb(weight), odds * arb(1.0626)) is True
    assert weight == UNIT or less(odds, arb(weight)) is True


def test_the_farthest_candidate_still_has_a_weight():
    [[best, worst]] = weights_of(make([Fraction(10**400), Fraction(0)]))
    assert (best, worst) == (UNIT, UNIT >> 28)


class Outcomes(Chance):
    """A chance that follows a script of picks and notes how likely each was."""

    __slots__ = ("odds", "options", "script")

    def __init__(self, script):
        super().__init__(SeededBits(0))
        self.script, self.odds, self.options = list(script), Fraction(1), []

    def pick(self, cumulative, total, scale=1):
        marks = [0, *(int(end) * scale for end in cumulative), total]
        assert marks == sorted(marks), "more weight than there is room for"
        self.options.append(
            [place for place in range(len(marks) - 1) if marks[place + 1] > marks[place]]
        )
        choice = (
            self.script[len(self.options) - 1]
            if len(self.options) <= len(self.script)
            else self.options[-1][0]
        )
        self.odds *= Fraction(marks[choice + 1] - marks[choice], total)
        return choice

    pick_many, pick_each = Tape.pick_many, Tape.pick_each


def all_proposals(envelope):
    """Every outcome of `propose` with its exact probability."""
    found, waiting = {}, [[]]
    while waiting:
        script = waiting.pop()
        chance = Outcomes(script)
        proposal = envelope.propose(chance)
        if len(chance.options) > len(script):  # there was one more choice to make: try each
            waiting += [[*script, choice] for choice in chance.options[len(script)]]
        else:
            found[proposal] = found.get(proposal, 0) + chance.odds
    return found


@pytest.mark.parametrize("size", [1, 2, 1023, more(1024), 1025, more(2048), more(3000)])
@pytest.mark.parametrize("shape", [more("peaked"), "steps"])
def test_every_proposal_has_odds_weight_over_total(size, shape):
    envelope = make(SHAPES[shape](size))
    weights = [weight for block in weights_of(envelope) for weight in block]
    proposals = all_proposals(envelope)
    nothing = proposals.pop(None, Fraction(0))
    assert proposals == {
        (place, weight): Fraction(weight, envelope.total) for place, weight in enumerate(weights)
    }
    assert nothing == 1 - Fraction(sum(weights), envelope.total)
    assert nothing < Fraction(1, 1000)  # or proposals would be wasted


@pytest.mark.parametrize("size", [1023, more(2049)])
def test_capped_proposals_have_their_odds_too(size):
    envelope = make(SHAPES["steps"](size)).capped(UNIT >> 3)
    weights = [weight for block in weights_of(envelope) for weight in block]
    proposals = all_proposals(envelope)
    proposals.pop(None, None)
    assert proposals == {
        (place, weight): Fraction(weight, envelope.total) for place, weight in enumerate(weights)
    }


@pytest.mark.parametrize("size", [1025, 70_000])
def test_candidates_of_the_last_block_are_within_reach(size):
    scores = np.zeros(size)
    scores[-1] = 10_000.0
    envelope, chance = make(scores), Chance(SeededBits(3))
    assert (size - 1, UNIT) in {envelope.propose(chance) for _ in range(50)}


@loop_over("halvings", [1, 4, 8])
@loop_over("shape", ["flat", "peaked", "steps"])
@loop_over("size", [1000, 3000])
def test_a_capped_envelope_wastes_few_proposals(size, shape, halvings):
    # with Laplace noise each band proposes total / UNIT times its length: what is too much
    # there is time, and time tells
    capped = make(SHAPES[shape](size)).capped(UNIT >> halvings)
    weights = sum(weight for block in weights_of(capped) for weight in block)
    assert capped.total <= 4 * weights


class AsksAboutCoins:
    """A Chance that notes what `keep` vouches for."""

    def decay(self, distance, numerator, denominator, *, likely):
        self.likely = likely
        self.share = (-arb(distance())).exp() * numerator / denominator
        return True


@loop_over("gap", [0, 1, 7, 18, 19, 20, 30, 1000])
def test_keep_calls_a_coin_likely_only_where_it_is(gap):
    """Above 15/16 within reach of the envelope; beyond it the coin can be as small as it likes."""
    envelope = make(np.array([gap, 0]), rate=Fraction(1))
    weight = int(np.diff(envelope._cumulative_weights(0), prepend=0)[1])
    chance = AsksAboutCoins()
    envelope.keep(1, weight, chance)
    assert chance.likely == bool(chance.share > 15 / 16) == (gap < 28 * math.log(2))
