"""Counts with noise that they share: the loss over all small data sets, the law of the error, and
how much narrower it is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from reference.noise import laplace_law, rounded_law
from tiers import loop_over, more

import discreet
from discreet import GaussianDP, PureDP
from discreet.mechanisms import CorrelatedCounts, RoundedGaussian
from discreet.mechanisms.correlated_counts import differences
from discreet.randomness.chance import Chance
from discreet.testing import SeededBits

FAR = 40


def counted(people, items):
    """How many people have each item; a person is a tuple of 0 and 1."""
    return [sum(person[item] for person in people) for item in range(items)]


def neighbours(items):
    """All data sets of up to two people, and each with one person more."""
    kinds = list(product((0, 1), repeat=items))
    for size in range(3):
        for people in combinations_with_replacement(kinds, size):
            for person in kinds:
                yield people, (*people, person)


def moves(items):
    """The moves of what gets noise, over all neighbours."""
    found = set()
    for fewer, all_of_them in neighbours(items):
        one = differences(counted(fewer, items), len(fewer))
        other = differences(counted(all_of_them, items), len(all_of_them))
        found.add(tuple(b - a for a, b in zip(one, other, strict=True)))
    return found


def floats(law):
    return np.array([float(law[n].mid()) for n in range(-FAR, FAR + 1)])


def joint(laws, move):
    """The probabilities of all vectors of noise, moved: coordinates are independent."""
    whole = np.array(1.0)
    for law, step in zip(laws, move, strict=True):
        whole = np.multiply.outer(whole, np.roll(law, step)[5:-5])
    return whole


@pytest.mark.parametrize("items", [1, 2, more(3)])
def test_no_neighbours_of_gaussian_noise_exceed_the_stated_delta(items):
    """The excess summed over all outputs, with the laws of another implementation."""
    mechanism = CorrelatedCounts(items=items, mu=1)
    assert mechanism.privacy_loss() == GaussianDP(1)
    wide, narrow = mechanism.variances
    far = 20 if items == 3 else FAR
    laws = [floats(rounded_law(wide))] * items + [floats(rounded_law(narrow))]
    laws = [law[FAR - far : FAR + far + 1] for law in laws]
    still = joint(laws, [0] * (items + 1))
    largest = {}
    for move in moves(items):
        moved = joint(laws, move)
        for epsilon in (Fraction(1, 2), Fraction(2)):
            factor = math.exp(epsilon)
            for one, other in ((still, moved), (moved, still)):
                reached = float(np.maximum(0, one - factor * other).sum())
                assert reached <= float(GaussianDP(1).delta(epsilon)) + 1e-9
                largest[epsilon] = max(reached, largest.get(epsilon, 0))
    assert largest[Fraction(1, 2)] >= 0.9 * float(GaussianDP(1).delta(Fraction(1, 2)))


@pytest.mark.parametrize("items", [1, 2, more(3)])
def test_no_neighbours_of_laplace_noise_exceed_the_stated_epsilon(items):
    mechanism = CorrelatedCounts(items=items, epsilon=1)
    assert mechanism.privacy_loss() == PureDP(1)
    low, high = mechanism.rates
    laws = [floats(laplace_law(low))] * items + [floats(laplace_law(high))]
    laws = [law[FAR - 8 : FAR + 9] for law in laws]
    still = np.log(joint(laws, [0] * (items + 1)))
    ratios = [np.abs(np.log(joint(laws, move)) - still).max() for move in moves(items)]
    assert max(ratios) == pytest.approx(1, abs=1e-9)


def test_every_person_moves_everything_by_one():
    assert moves(3) == {(*signs, 1) for signs in product((-1, 1), repeat=3)}


@loop_over("loss", [{"mu": 1}, {"epsilon": 2}])
def test_each_number_has_its_own_noise(loss):
    """The variance of what is drawn is the one that the loss is stated for."""
    mechanism, chance = CorrelatedCounts(items=27, **loss), Chance(SeededBits(3))
    drawn = np.array([mechanism._noisy([0] * 28, chance) for _ in range(300)])
    if "mu" in loss:
        stated = [float(each) for each in mechanism.variances]
    else:
        stated = [2 / float(rate) ** 2 for rate in mechanism.rates]
    assert drawn[:, :-1].var() == pytest.approx(stated[0], rel=0.1)
    assert drawn[:, -1].var() == pytest.approx(stated[1], rel=0.4)
    assert stated[0] > 3 * stated[1]


@loop_over("loss", [{"mu": 2}, {"epsilon": 4}])
def test_counts_are_centred_and_as_wide_as_stated(loss):
    mechanism, chance = CorrelatedCounts(items=4, **loss), Chance(SeededBits(5))
    true = [0, 7, 20, 30]
    errors = np.array([mechanism.add_noise(true, 30, chance) for _ in range(600)]) - [*true, 30]
    wide = mechanism.deviation
    assert np.abs(errors.mean(axis=0)).max() < 5 * wide / math.sqrt(600)
    assert errors[:, :-1].std() == pytest.approx(wide, rel=0.1)


@pytest.mark.parametrize(("items", "share"), [(2, 0.854), (10, 0.658), (100, 0.55)])
def test_noise_is_narrower_than_noise_of_its_own(items, share):
    own = RoundedGaussian(mu=Fraction(1, 20), squared_sensitivity=items)
    shared = CorrelatedCounts(items=items, mu=Fraction(1, 20))
    assert shared.deviation / own.deviation == pytest.approx(share, abs=0.005)
    assert shared.error_bound(0.05) < own.error_bound(0.05, numbers=items)


def exact_tail(laws, size):
    """The worst case over the parity of the count, by a plain sum over both noises."""
    one, other = (np.pad(law, 0) for law in laws)
    sums = np.convolve(one, other)
    middle = sums.size // 2
    errors = np.arange(sums.size) - middle
    worst = 0.0
    for true in (0, 1):
        found = np.round((2 * true + errors) / 2)
        worst = max(worst, float(sums[np.abs(found - true) > size].sum()))
    return worst


@loop_over("items", [1, 3])
@loop_over("loss", [{"mu": Fraction(1, 2)}, {"epsilon": 3}])
def test_the_tail_is_the_exact_worst_case(items, loss):
    mechanism = CorrelatedCounts(items=items, **loss)
    make = rounded_law if "mu" in loss else laplace_law
    spread = mechanism.variances if "mu" in loss else mechanism.rates
    laws = [floats(make(each)) for each in spread]
    for size in range(9):
        exact = exact_tail(laws, size)
        assert exact - 1e-7 <= float(mechanism.tail(size)) <= exact + 1e-6


@loop_over("loss", [{"mu": Fraction(1, 1000)}, {"mu": 8}, {"epsilon": Fraction(1, 1000)}])
@loop_over("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**60)])
def test_an_error_bound_ends_also_far_out(loss, beta):
    mechanism = CorrelatedCounts(items=10, **loss)
    bound = mechanism.error_bound(beta)
    assert mechanism.tail(bound) <= beta / 10
    assert bound == 0 or mechanism.tail(bound - 1) > beta / 10
    assert mechanism.error_bound_of_people(beta) <= bound + 1


def test_release():
    mechanism = CorrelatedCounts(items=3, mu=Fraction(1, 2))
    release = mechanism.release([0, 5, 40], people=60, bits=SeededBits(1))
    again = mechanism.release(np.array([0, 5, 40]), people=60, bits=SeededBits(1))
    assert release == again
    assert len(release.value) == 4
    assert release.accuracy.bound == mechanism.error_bound(Fraction(1, 20))
    assert (release.mechanism, release.loss) == ("correlated-counts", GaussianDP(Fraction(1, 2)))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"items": 0, "mu": 1}, "items"),
        ({"items": 2}, "mu"),
        ({"items": 2, "mu": 1, "epsilon": 1}, "mu"),
        ({"items": 2, "mu": 12}, "mu"),
        ({"items": 2, "epsilon": 65}, "epsilon"),
    ],
)
def test_bad_parameters(given, name):
    with pytest.raises(discreet.ParameterError, match=f"The '{name}' parameter of CorrelatedCoun"):
        CorrelatedCounts(**given)


def test_other_numbers_than_items_are_refused():
    with pytest.raises(discreet.ParameterError, match=r"'counts' .* must be 3 numbers"):
        CorrelatedCounts(items=3, mu=1).release([1, 2], people=3)
