"""The envelope that candidates are taken out of: at every moment its weights bound the ideal odds
of those that are left.
"""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over, more

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers import envelope, shrinking_envelope
from discreet.samplers.distances import measure
from discreet.samplers.envelope import LIGHTEST, UNIT, draw_exponential, in_reach
from discreet.samplers.permute_and_flip import draw_permute_and_flip
from discreet.samplers.shrinking_envelope import ShrinkingEnvelope, best_of_rows
from discreet.testing import SeededBits

DRAWS = {"exponential": draw_exponential, "permute-and-flip": draw_permute_and_flip}
SHAPES = {
    "equal": lambda size: np.zeros(size, dtype=np.int64),
    "one in front": lambda size: np.where(np.arange(size) == size // 3, 1000, 0),
    "steps": lambda size: np.arange(size) % 97 * 2,
    "far apart": lambda size: np.arange(size)[::-1] ** 2 * 10,
    "floats": lambda size: np.random.default_rng(5).normal(size=size) * 30,
    "short floats": lambda size: np.random.default_rng(6).normal(size=size).astype(np.float32) * 3,
    "bytes": lambda size: np.random.default_rng(5).integers(0, 256, size=size).astype(np.uint8),
    "extremes": lambda size: np.where(np.arange(size) % 2, -(2**63), 2**63 - 1),
    "huge": lambda size: 2**62 + np.arange(size) // 3,
}


def measured(scores, rate=Fraction(1, 2), smallest=False):
    listed = scores if isinstance(scores, list) else scores.tolist()
    return measure(
        scores, min(listed), max(listed), fmpq(rate.numerator, rate.denominator), smallest=smallest
    )


def exact_gap(scores, one, other, rate=Fraction(1, 2)):
    """The exact number of noise scales between two candidates."""
    first, second = (
        Fraction(scores[place].item() if hasattr(scores[place], "item") else scores[place])
        for place in (one, other)
    )
    return abs(first - second) * rate


def rational(value) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def check(left: ShrinkingEnvelope, scores, gone: set, smallest=False) -> None:
    """Weights, masses, table and total are what a sampler may rely on."""
    size, width = len(scores), int(left._bounds[1])
    row = range(size)
    best = (min if smallest else max)(
        (place for place in row if place not in gone), key=lambda place: scores[place]
    )
    known = set()
    for number in range(-(-size // width)):
        weights = left._weights(number)
        members = range(number * width, min(size, (number + 1) * width))
        assert len(weights) == len(members)
        for candidate, weight in zip(members, weights.tolist(), strict=True):
            if candidate in gone:
                assert weight == 0
                continue
            # e^-behind * unit <= weight <= unit, where behind counts from whom the unit stands for
            distance = left.behind(candidate)
            if (distance, weight) not in known:
                known.add((distance, weight))
                assert 0 < weight <= left._cap
                if distance != 0 or weight != left.unit:
                    kept = at_precision(
                        200, lambda d=distance, w=weight: (-arb(d)).exp() * left.unit / w
                    )
                    assert kept < 1
                    assert weight == LIGHTEST or kept > 15 / 16
        # what a batch draws from is the same
        if left._many_blocks:
            assert left._table([number, 0])[0, : len(weights)].tolist() == weights.tolist()
            assert left._table([number])[0, len(weights) :].sum() == 0
            mass = int(left._masses[number]) * envelope._WEIGHTS_PER_MASS
            assert mass >= int(weights.sum())
    if left._many_blocks:
        assert left.total == sum(left._masses.tolist()) * envelope._WEIGHTS_PER_MASS
    # distances differ by what the scores differ by
    for candidate in {best, *list(row)[:: max(1, size // 7)]} - gone:
        assert rational(left.behind(candidate) - left.behind(best)) == exact_gap(
            scores, candidate, best
        )
    assert left._is_taken(best) is False


@pytest.mark.parametrize("draw", DRAWS)
@loop_over("shape", SHAPES)
@pytest.mark.parametrize("size", [3, 40, more(1024), 1030, more(2500)])
def test_weights_bound_the_odds_of_those_that_are_left(size, shape, draw):
    scores = SHAPES[shape](size)
    left, chance, gone = ShrinkingEnvelope(measured(scores)), Chance(SeededBits(size)), set()
    picks = min(size - 1, 5 if size > 1000 else 12)
    for pick in range(picks):
        winner = DRAWS[draw](left, chance)
        assert winner not in gone
        gone.add(winner)
        left.take(winner)
        if draw == "permute-and-flip":
            unit = left.rebase()
            best = max(
                (place for place in range(size) if place not in gone),
                key=lambda place: scores[place],
            )
            assert left.behind(best) == 0
            assert unit == left.unit
        if size < 1000 or pick in (0, picks - 1):
            check(left, scores, gone)


@pytest.mark.parametrize("shape", ["steps", "floats", "extremes"])
def test_the_smallest_can_be_best(shape):
    scores = SHAPES[shape](1030)
    left, chance, gone = (
        ShrinkingEnvelope(measured(scores, smallest=True)),
        Chance(SeededBits(1)),
        set(),
    )
    for _ in range(3):
        winner = draw_permute_and_flip(left, chance)
        gone.add(winner)
        left.take(winner)
        left.rebase()
    check(left, scores, gone, smallest=True)


@pytest.mark.parametrize("smallest", [True, False])
def test_scores_that_fit_no_array(smallest):
    scores = [Fraction(10**30 + place * 37 % 11, 3) for place in range(40)]
    left, chance, gone = (
        ShrinkingEnvelope(measured(scores, smallest=smallest)),
        Chance(SeededBits(1)),
        set(),
    )
    for _ in range(39):
        winner = draw_permute_and_flip(left, chance)
        assert winner not in gone
        gone.add(winner)
        if len(gone) < 40:
            left.take(winner)
            left.rebase()
            check(left, scores, gone, smallest=smallest)


@loop_over("size", [60, 3000])
@loop_over("gap", [1, 25, 70, 10**6])
def test_lead_is_the_distance_of_the_best_that_is_left(size, gap):
    """Whether the unit was moved or the point of view, also after several winners."""
    scores = np.zeros(size, dtype=np.int64)
    scores[[5, 17, 33]] = gap * 3, gap * 2, gap
    left = ShrinkingEnvelope(measured(scores))
    expected = [fmpq(gap, 2), fmpq(gap), fmpq(gap * 3, 2)]
    for candidate, lead in zip((5, 17, 33), expected, strict=True):
        left._latest = int(left._weights(candidate // 1024)[candidate % 1024])
        left.take(candidate)
        left.rebase()
        assert left.lead() == lead


@pytest.mark.parametrize("draw", DRAWS)
def test_batches_have_no_favourites(draw):
    """Equal candidates in three blocks, most of which are taken: what is left of each block is
    drawn alike.

    1,500 of 2,100 are drawn, so each third of a block expects 1500 / 2100 of its members; five
    standard deviations of a draw without replacement.
    """
    size, picks = 2100, 1500
    left, chance = ShrinkingEnvelope(measured(np.zeros(size))), Chance(SeededBits(8))
    winners = []
    for _ in range(picks):
        winners.append(DRAWS[draw](left, chance))
        left.take(winners[-1])
    assert len(set(winners)) == picks
    counts, edges = np.histogram(winners, bins=[0, 341, 683, 1024, 1365, 1707, 2048, 2100])
    for count, width in zip(counts, np.diff(edges), strict=True):
        share = picks / size
        deviation = np.sqrt(width * share * (1 - share) * (1 - width / size))
        assert abs(count - width * share) < 5 * deviation


def test_proposals_drawn_ahead_are_dropped_when_weights_change():
    left, chance = ShrinkingEnvelope(measured(np.arange(3000) % 5)), Chance(SeededBits(3))
    for _ in range(4):
        left.propose(chance)
    assert left._offers
    left._refresh()
    assert not left._offers
    for _ in range(8):
        draw_exponential(left, chance)
    assert left._offers
    best = left._find_best()
    left._latest = UNIT
    left._taken.setdefault(best // 1024, set()).add(best % 1024)
    left._leaders, left._best = None, None
    left._taken[0] |= set(range(4, 1024, 5))
    left._taken.setdefault(1, set()).update(
        place for place in range(1024) if (1024 + place) % 5 == 4
    )
    left._taken.setdefault(2, set()).update(
        place for place in range(952) if (2048 + place) % 5 == 4
    )
    left.rebase()
    assert not left._offers


def test_a_proposal_of_somebody_who_is_gone_is_nothing():
    left = ShrinkingEnvelope(measured(np.zeros(3000)))
    left._offers = [(7, UNIT), (2999, UNIT)]
    left._taken = {2: {2999 - 2048}}
    assert left.propose(Chance(SeededBits(1))) is None
    assert left.propose(Chance(SeededBits(1))) == (7, UNIT)


def test_what_is_left_is_looked_at_from_closer_only_when_it_pays(monkeypatch):
    calls = []
    original = ShrinkingEnvelope._look_closer
    monkeypatch.setattr(
        ShrinkingEnvelope, "_look_closer", lambda self: (calls.append(1), original(self))
    )
    for gap, expected in ((30, 0), (70, 1)):
        left = ShrinkingEnvelope(measured(np.array([gap, 0, 0])))
        left._latest = UNIT
        left.take(0)
        assert len(calls) == expected
    assert shrinking_envelope._WASTE * LIGHTEST * 3 < UNIT


@examples(50, 200)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.integers(1, 12), st.booleans())
def test_best_of_rows_is_the_best_of_each_row(values, width, smallest):
    found = best_of_rows(np.array(values), width, smallest)
    rows = [values[start : start + width] for start in range(0, len(values), width)]
    assert len(found) == len(rows)
    for place, row, start in zip(found.tolist(), rows, range(0, len(values), width), strict=True):
        assert start <= place < start + len(row)
        assert values[place] == (min if smallest else max)(row)


def test_best_of_rows_of_an_array_with_gaps():
    values = np.arange(100)[::-3]
    assert best_of_rows(values, 4, False).tolist() == list(range(0, values.size, 4))


@pytest.mark.parametrize("distance", [18, 19, 20])
def test_in_reach_is_less_than_28_halvings(distance):
    """28 ln 2 = 19.408..."""
    assert in_reach(measured(np.array([2 * distance, 0]))).tolist() == (
        [0, 1] if distance < 19.4 else [0]
    )
