"""Dominating pairs: long runs by blocks, many different losses, never below what is reached."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from reference import composition as reference
from reference import logistic
from scipy.integrate import quad
from tiers import more

from discreet import ApproxDP, BoundedRange, GaussianDP, PureDP, compose
from discreet.accounting import LogisticDP, dominating_pairs, queries_by_analysis
from discreet.accounting.adaptive_grid import curve_for
from discreet.accounting.analyses import NON_ADAPTIVE_ONLY, Losses, pairs_delta, pairs_epsilon
from discreet.accounting.dominating_pairs import BLOCK, distribution_for

PAIRS = "dominating-pairs"
MILLIONTH = Fraction(1, 10**6)
TENTH = Fraction(1, 10)


def losses(counts):
    return Losses(dict(counts), Fraction(0))


def delta_of(counts, at):
    """What pairs say, also where another analysis would do."""
    return distribution_for(counts, MILLIONTH).profile().delta(at)


def epsilon_of(counts):
    return distribution_for(counts, MILLIONTH).profile().epsilon(MILLIONTH)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of two queries, so that few queries are many blocks."""
    monkeypatch.setattr(dominating_pairs, "BLOCK", 2)
    dominating_pairs._stages.cache_clear()
    yield
    dominating_pairs._stages.cache_clear()


@pytest.mark.parametrize(
    ("epsilon", "queries"), [more(Fraction(1, 100), 2240), more(Fraction(1, 200), 8960)], ids=str
)
def test_thousands_of_adaptive_queries_are_near_the_non_adaptive_optimum(epsilon, queries):
    total = compose({BoundedRange(epsilon): queries}, delta=MILLIONTH)
    (never_better,) = (total.alternatives[name] for name in NON_ADAPTIVE_ONLY)
    assert total.method == PAIRS
    assert (
        never_better
        <= total.epsilon
        <= min(Fraction(1005, 1000), never_better * Fraction(1004, 1000))
    )
    assert total.epsilon < total.alternatives["rdp"] * Fraction(94, 100)


@pytest.mark.parametrize("queries", [3, 4, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1)], ids=str)
def test_blocks_are_never_below_what_an_adversary_reaches(small_blocks, epsilon, queries):
    exact = curve_for({BoundedRange(epsilon): queries}, float(epsilon * queries))
    for share in (1, 3, 5):
        at = epsilon * queries * share / 8
        found = delta_of({BoundedRange(epsilon): queries}, at)
        assert exact.delta(at).low <= found
        # better than a pair for each query
        assert found < delta_of({LogisticDP(epsilon): queries}, at)


def test_every_number_of_queries_has_its_rest(small_blocks):
    found = [epsilon_of({BoundedRange(TENTH): queries}) for queries in range(3, 12)]
    assert found == sorted(found)
    assert all(later - earlier > Fraction(1, 100) for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    "counts",
    [
        {PureDP(Fraction(1, 2)): 2, PureDP(Fraction(1, 3)): 3},
        {PureDP(Fraction(7, 10)): 1, PureDP(Fraction(1, 50)): 4, PureDP(1): 1},
    ],
    ids=str,
)
def test_different_pure_losses_against_the_whole_product(counts):
    with mpmath.workdps(60):
        releases = []
        for loss, times in counts.items():
            here, there = reference.telling_release(loss.epsilon, 0)
            releases += [(here[2:], there[2:])] * times
        together = reference.all_together(releases)
    for at in (Fraction(1, 5), Fraction(1, 2), Fraction(1)):
        with mpmath.workdps(60):
            truth = reference.hockey_stick_of(*together, at)
            found = reference.real(delta_of(counts, at))
            assert truth <= found <= truth * mpmath.mpf("1.01")


@pytest.mark.parametrize(
    "counts",
    [
        {BoundedRange(Fraction(1, 2)): 2, PureDP(Fraction(1, 4)): 3},
        {
            BoundedRange(Fraction(1, 2)): 1,
            BoundedRange(Fraction(1, 3)): 2,
            PureDP(Fraction(1, 7)): 1,
        },
        {BoundedRange(TENTH): 5, BoundedRange(Fraction(1, 2)): 1},
    ],
    ids=str,
)
def test_mixtures_are_never_below_what_an_adversary_reaches_in_any_order(counts):
    exact = curve_for(counts, 4.0, 2e8)
    for at in (Fraction(1, 10), Fraction(2, 5), Fraction(4, 5)):
        assert delta_of(counts, at) >= Fraction(exact.delta(at).low)


def test_ranges_in_no_block_are_logistic_pairs_and_all_of_them_count():
    """Next to a range that is asked very often the others have pairs."""
    often = {BoundedRange(Fraction(1, 50)): BLOCK + 1}
    mixed = often | {BoundedRange(TENTH): 3, LogisticDP(TENTH): 2}
    assert epsilon_of(mixed) == epsilon_of(often | {LogisticDP(TENTH): 5})
    assert epsilon_of(mixed) > epsilon_of(often | {LogisticDP(TENTH): 3})


@pytest.mark.parametrize(
    ("queries", "epsilon", "expected"),
    [
        more(100, TENTH, 2.6119),
        (20, TENTH, 1.0460),
        more(1000, Fraction(1, 100), 0.7557),
        more(20, Fraction(1, 2), 6.06376),
    ],
    ids=str,
)
def test_many_winners_with_gaps(queries, epsilon, expected):
    total = compose({LogisticDP(epsilon): queries}, delta=MILLIONTH)
    assert total.method == PAIRS
    assert float(total.epsilon) == pytest.approx(expected, abs=1e-4)
    # twice the range is what follows from pure DP
    halves = {loss: queries for loss in LogisticDP(epsilon).to_bounded_ranges(0)}
    assert total.epsilon < compose(halves, delta=MILLIONTH).epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
def test_logistic_dp_costs_no_more_than_the_ranges_it_is_made_of(epsilon):
    """The first is a post-processing of the second, so an exact account of the second is above."""
    for halvings in (0, 1, 2):
        parts: dict[BoundedRange, int] = {}
        for loss in LogisticDP(epsilon).to_bounded_ranges(halvings):
            parts[loss] = parts.get(loss, 0) + 2
        whole = compose({LogisticDP(epsilon): 2}, delta=MILLIONTH).alternatives[PAIRS]
        assert whole <= compose(parts, delta=MILLIONTH).epsilon * Fraction(1001, 1000)


@pytest.mark.parametrize(
    "counts",
    [
        {PureDP(TENTH): 50},
        {BoundedRange(TENTH): BLOCK},
        {LogisticDP(TENTH): 1},
        {BoundedRange(Fraction(1, 10**9)): 1000},
        {LogisticDP(101): 2},
        {LogisticDP(90): 20},
    ],
    ids=str,
)
def test_where_it_says_nothing(counts):
    assert distribution_for(counts, MILLIONTH) is None
    assert pairs_epsilon(losses(counts), MILLIONTH) is None


@pytest.mark.parametrize(
    "counts",
    [
        {BoundedRange(TENTH): 20, PureDP(Fraction(1, 2)): 3},
        {PureDP(TENTH): 30, PureDP(Fraction(1, 5)): 10},
    ],
    ids=str,
)
def test_a_fine_grid_of_all_losses_needs_no_pairs(counts):
    assert pairs_epsilon(losses(counts), MILLIONTH) is None
    assert pairs_delta(losses(counts), Fraction(1, 2)) is None
    assert compose(counts, delta=MILLIONTH).method == "bounded-range-adaptive"


def test_a_delta_of_nothing_or_next_to_it_has_no_convolution():
    two = losses({LogisticDP(1): 2})
    assert pairs_epsilon(two, Fraction(0)) is None
    assert pairs_epsilon(two, Fraction(1, 10**301)) is None
    assert pairs_delta(two, Fraction(2)) is None
    assert 0 < pairs_epsilon(two, Fraction(1, 10**250)) <= 2


@pytest.mark.parametrize("at", [Fraction(1, 10), Fraction(1), Fraction(17, 10)], ids=str)
def test_two_logistic_pairs_by_integration(at):
    """Where delta is small the Renyi bound is far above it; the tails follow."""

    def weighted(z):
        inner = logistic.hockey_stick(1, float(at) - (1 - 2 * math.log(z)))
        return math.e / z**2 / (math.e - 1) * float(inner)

    # from its corner on, where the second pair says nothing any more, and to where it says all
    corners = [math.exp((1 - float(at) + sign) / 2) for sign in (-1, 1)]
    ends = sorted({1, math.e, *(corner for corner in corners if 1 < corner < math.e)})
    parts = [quad(weighted, *part, epsrel=1e-10) for part in pairwise(ends)]
    truth = sum(value for value, _ in parts)
    assert sum(error for _, error in parts) < truth * 1e-8
    found = float(pairs_delta(losses({LogisticDP(1): 2}), at))
    assert truth * (1 - 1e-6) <= found <= truth * 1.01


def test_gaps_that_fit():
    counts = queries_by_analysis(each=LogisticDP(Fraction(1, 20)), budget=ApproxDP(1, 1e-6))
    assert counts[PAIRS] == 68
    assert counts["rdp"] == 60
    for each, expected in ((LogisticDP(5), None), (LogisticDP(Fraction(2, 5)), 2)):
        assert queries_by_analysis(each=each, budget=ApproxDP(1, 1e-6))[PAIRS] == expected


@pytest.mark.parametrize("mu", [Fraction(1, 5), more(1), more(Fraction(1, 50))])
def test_gaussian_noise_beside_ranges_is_between_its_neighbours(mu):
    """With one randomised response its delta is a mixture of two in closed form; three queries of
    noise are one.
    """
    counts = {GaussianDP(mu): 3, PureDP(TENTH): 1}
    truth = math.exp(0.1) / (1 + math.exp(0.1))
    whole = math.sqrt(3) * float(mu)
    for at in (Fraction(1, 100), Fraction(1, 2), 1):
        true = truth * reference.gaussian_delta(whole, at - TENTH)
        true += (1 - truth) * reference.gaussian_delta(whole, at + TENTH)
        found = float(delta_of(counts, at))
        assert float(true) * (1 - 1e-9) <= found <= float(true) * 1.01 + 1e-9
