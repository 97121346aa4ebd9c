"""Many draws at once have exactly the law of one draw: every word, and every tie."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from tiers import loop_over

import discreet
from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers import bulk
from discreet.samplers.bulk import Ends, draw_many, exponential_ends, permute_and_flip_ends
from discreet.testing import SeededBits

CASES = [
    [0, 1],
    [0, 0, 1],
    [0, 1, 1],
    [0, Fraction(1, 3), Fraction(1, 3), 2, 5],
    [0, 40],
    [0, 60, 60],
    [Fraction(7, 2), 0, Fraction(1, 10**6)],
]
LAWS = {"exponential": exponential_ends, "permute-and-flip": permute_and_flip_ends}


def exact(distances):
    return [fmpq(each.numerator, each.denominator) for each in map(Fraction, distances)]


def softmax(distances):
    """Each probability, at high precision, by the definition."""
    weights = [(-arb(each)).exp() for each in distances]
    return [weight / sum(weights, arb(0)) for weight in weights]


def first_heads(distances):
    """By going through all orders of the candidates."""
    odds = [(-arb(each)).exp() for each in distances]
    found = [arb(0)] * len(odds)
    for order in itertools.permutations(range(len(odds))):
        silent = arb(1)
        for place in order:
            found[place] += silent * odds[place] / math.factorial(len(odds))
            silent *= 1 - odds[place]
    return found


REFERENCE = {"exponential": softmax, "permute-and-flip": first_heads}


@loop_over("law", LAWS)
@loop_over("distances", CASES, ids=str)
def test_ends_are_the_running_sums_of_the_law(law, distances):
    ordered = exact(distances)

    def compare():
        expected = list(itertools.accumulate(REFERENCE[law](ordered)))[:-1]
        found = LAWS[law](ordered)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one.overlaps(other)
            assert float(one.rad()) < 1e-50

    at_precision(256, compare)


class Given:
    """Bits that say what they are told, and are counted."""

    seeded = True

    def __init__(self, value):
        self.value, self.drawn = value, 0

    def draw(self, count):
        self.drawn += count
        return self.value & ((1 << count) - 1)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("distances", CASES, ids=str)
def test_every_word_of_a_narrow_table(law, distances, monkeypatch):
    """With 8 digits there are 256 words: each is on the right side of every end, or further
    digits decide; all of them 0 or 1 are the first and the last number of the word.
    """
    monkeypatch.setattr(bulk, "DIGITS", 8)
    monkeypatch.setattr(bulk, "_CELL", 3)
    chosen = exact(distances)
    ends = Ends(lambda: LAWS[law](chosen))
    fine, _ = ends.between(256)
    words = np.arange(256, dtype=np.uint32)
    low, high = (
        ends.located(words, Chance(Given(value))).tolist() for value in (0, (1 << 9000) - 1)
    )
    for word in range(256):
        first, last = word << 248, ((word + 1) << 248) - 1
        assert low[word] == sum(end < first for end in fine)
        assert high[word] == sum(end <= last for end in fine)


def test_words_inside_a_wide_enclosure_wait_for_their_digits():
    """An end that is known to be between 0.2 and 0.4 at first: no cell in between, where
    neither of its sides is, may decide for one of them.
    """
    ends = Ends(lambda: [arb(0.3, 0.1) if ctx.prec < 100 else arb(3) / 10])
    words = np.array([int(share * 2**32) for share in (0.19, 0.25, 0.35, 0.41)], dtype=np.uint32)
    bits = Given(0)
    assert ends.located(words, Chance(bits)).tolist() == [0, 0, 1, 1]
    assert bits.drawn


def test_a_tie_is_decided_by_its_further_digits():
    ends = Ends(lambda: exponential_ends(exact([0, 1])))
    ((first,), _), ((fine,), _) = ends.between(32), ends.between(64)
    rest = fine & (2**32 - 1)
    words = np.array([first], dtype=np.uint32)
    for digits, side in ((rest - 1, 0), (rest + 1, 1)):
        bits = Given(digits)
        assert ends.located(words, Chance(bits)).tolist() == [side]
        assert bits.drawn
    unused = Given(0)
    neighbours = np.array([first - 1, first + 1], dtype=np.uint32)
    assert ends.located(neighbours, Chance(unused)).tolist() == [0, 1]
    assert not unused.drawn


def test_a_number_that_follows_an_end_for_long_is_decided_when_it_leaves():
    ends = Ends(lambda: exponential_ends(exact([0, 1])))
    (digits,), _ = ends.between(320)

    class Along:
        """A Chance whose first 256 bits are those of the end, and then 0 or 1 only."""

        def __init__(self, after):
            self.known, self.after = 32, after

        def draw(self, count):
            self.known += count
            if self.known <= 256:
                return digits >> (320 - self.known) & (2**count - 1)
            return self.after

    for after, side in ((0, 0), (2**32 - 1, 1)):
        chance = Along(after)
        assert ends.decided(digits >> 288, chance) == side
        assert chance.known == 288


@loop_over("law", LAWS)
@loop_over("distances", [[2] * 7, [0, 0, 50_000], [50_000, 0, 0], [0, 1, 0, 1]])
def test_ends_that_are_rational_or_nearly_so(law, distances):
    """No enclosure tells 1/2 from 1/2 - exp(-50000): the words beside it wait for their digits."""
    drawn = draw_many(LAWS[law], exact(distances), 60_000, Chance(SeededBits(3)))
    counts = np.bincount(drawn, minlength=len(distances)) / 60_000
    made = {
        "exponential": discreet.mechanisms.ExponentialMechanism,
        "permute-and-flip": discreet.mechanisms.PermuteAndFlip,
    }
    odds = made[law](epsilon=1, score_range=1).probabilities([-each for each in distances])
    # seven standard deviations
    assert abs(counts - odds).max() < 7 * math.sqrt(0.25 / 60_000)


@pytest.mark.parametrize(
    "make", [discreet.mechanisms.ExponentialMechanism, discreet.mechanisms.PermuteAndFlip]
)
def test_draws_have_the_stated_odds(make):
    """G-test at 1e-9; a change of one probability by 10% is noticed."""
    from scipy.stats import chi2, power_divergence

    scores = [5, 1, 4, 4, 0, 2, 5, 3]
    mechanism = make(epsilon=1, sensitivity=1)
    draws = 200_000
    counts = np.bincount(mechanism.select_many(scores, draws=draws), minlength=len(scores))
    odds = mechanism.probabilities(scores)
    limit = chi2.isf(1e-9, len(scores) - 1)
    assert power_divergence(counts, odds / odds.sum() * draws, lambda_=0)[0] < limit
    other = odds * np.where(np.arange(len(scores)) == 0, 1.1, 1)
    assert power_divergence(counts, other / other.sum() * draws, lambda_=0)[0] > limit
