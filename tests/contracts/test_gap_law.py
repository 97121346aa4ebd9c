"""The winner with its gap is logistic DP under Gumbel noise: over all events, in rationals."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from reference import logistic as reference
from tiers import also

from discreet import PureDP
from discreet.accounting import LogisticDP
from discreet.mechanisms import ExponentialMechanism, PermuteAndFlip, ReportNoisyMax

FACTORS = [Fraction(11, 10), Fraction(2), Fraction(20)]
"""e^epsilon of a person's moves."""


def random_weights(chance: random.Random, candidates: int) -> list[Fraction]:
    size = chance.choice([2, 20, 1000])
    return [Fraction(chance.randint(1, size), chance.randint(1, size)) for _ in range(candidates)]


def random_ends(chance: random.Random, pieces: int) -> list[Fraction]:
    """Where e^gap is cut; some cuts are just above 1, some far out."""
    cuts = {1 + Fraction(chance.randint(1, 60), chance.choice([1, 7, 50])) for _ in range(pieces)}
    return [Fraction(1), *sorted(cuts)]


def between(chance: random.Random, factor: Fraction) -> Fraction:
    """A factor of one weight: mostly all or nothing, which is the worst."""
    if chance.random() < 0.7:
        return chance.choice([Fraction(1), factor])
    return 1 + (factor - 1) * Fraction(chance.randint(0, 20), 20)


@pytest.mark.parametrize("rounds", [40, *also(150)])
@pytest.mark.parametrize("candidates", [2, 3, 5])
@pytest.mark.parametrize("factor", FACTORS, ids=str)
def test_no_event_changes_its_odds_by_more(factor, candidates, rounds):
    chance = random.Random(f"{factor} {candidates}")
    for _ in range(rounds):
        weights = random_weights(chance, candidates)
        moved = [weight * between(chance, factor) for weight in weights]
        ends = random_ends(chance, 6)
        here, there = reference.winner_and_gap(moved, ends), reference.winner_and_gap(weights, ends)
        assert reference.largest_odds_ratio(here, there) <= factor
        assert reference.largest_odds_ratio(there, here) <= factor


def test_every_move_and_every_event_of_three_candidates():
    """All subsets of the cells, not only those that Neyman and Pearson name."""
    factor, ends = Fraction(3), [Fraction(1), Fraction(3, 2), Fraction(4)]
    for weights in ([1, 1, 1], [4, 2, 1], [9, 9, 1]):
        for move in product((1, factor), repeat=3):
            exact = [Fraction(weight) for weight in weights]
            moved = [weight * by for weight, by in zip(exact, move, strict=True)]
            here = reference.winner_and_gap(moved, ends)
            there = reference.winner_and_gap(exact, ends)
            for event in product((0, 1), repeat=len(here)):
                if 0 < sum(event) < len(here):
                    p = sum(chance for chance, taken in zip(here, event, strict=True) if taken)
                    q = sum(chance for chance, taken in zip(there, event, strict=True) if taken)
                    assert p * (1 - q) <= factor * q * (1 - p)


@pytest.mark.parametrize("factor", FACTORS, ids=str)
def test_two_candidates_reach_it(factor):
    ends = [Fraction(1), Fraction(2), Fraction(9)]
    here = reference.winner_and_gap([factor, Fraction(1)], ends)
    there = reference.winner_and_gap([Fraction(1), Fraction(1)], ends)
    assert reference.largest_odds_ratio(here, there) == factor


@pytest.mark.parametrize("factor", FACTORS, ids=str)
def test_bounded_range_of_the_same_epsilon_would_be_too_little(factor):
    """The losses of (winner, gap) themselves span more than epsilon."""
    ends = [1 + Fraction(place, 4) for place in range(200)]
    here = reference.winner_and_gap([factor, Fraction(1)], ends)
    there = reference.winner_and_gap([Fraction(1), Fraction(1)], ends)
    ratios = [p / q for p, q in zip(here, there, strict=True)]
    assert max(ratios) / min(ratios) > factor


@pytest.mark.parametrize("step", [Fraction(21, 20), Fraction(3, 2)], ids=str)
@pytest.mark.parametrize("halvings", [0, 1, 2, 4])
def test_logistic_dp_is_made_of_bounded_ranges(step, halvings):
    """Each answer tells the half of what is left; the ratio of its two likelihoods is e^range."""
    here, there = reference.pair(step, 2**halvings)
    parts = [(0, len(here))]
    ranges = [loss.epsilon for loss in LogisticDP(2**halvings).to_bounded_ranges(halvings)]
    assert len(ranges) == halvings + 1
    for expected in ranges[:-1]:
        halves = [(start, (start + stop) // 2, stop) for start, stop in parts]
        for start, middle, stop in halves:
            low = sum(here[start:middle]) / sum(there[start:middle])
            high = sum(here[middle:stop]) / sum(there[middle:stop])
            assert low / high == step ** int(expected)
        parts = [
            half for start, middle, stop in halves for half in ((start, middle), (middle, stop))
        ]
    # what is left is one cell, in which 1 / z^2 changes by step^2
    assert all(stop - start == 1 for start, stop in parts)
    assert step ** int(ranges[-1]) == step**2


def test_the_squares_of_the_ranges_fall_to_four_thirds():
    squares = [
        sum(loss.epsilon**2 for loss in LogisticDP(1).to_bounded_ranges(j)) for j in range(8)
    ]
    assert squares[:3] == [4, 2, Fraction(3, 2)]
    assert all(square == Fraction(4, 3) + Fraction(8, 3) / 4**j for j, square in enumerate(squares))


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (ExponentialMechanism(epsilon=0.5, sensitivity=1), LogisticDP),
        (ReportNoisyMax(noise="gumbel", epsilon=0.5, sensitivity=1), LogisticDP),
        (PermuteAndFlip(epsilon=0.5, sensitivity=1), PureDP),
        (ReportNoisyMax(noise="exponential", epsilon=0.5, sensitivity=1), PureDP),
    ],
    ids=repr,
)
def test_a_release_with_a_gap_states_the_law_of_its_noise(mechanism, kind):
    assert mechanism.release([3, 2, 1], with_gap=True).loss == kind(0.5)
    # also where nobody is second: the loss must not tell how many candidates there are
    assert mechanism.release([3], with_gap=True).loss == kind(0.5)
