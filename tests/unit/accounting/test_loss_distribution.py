"""Certified convolution: never below the truth, from the masses and by other routes."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import pytest
from reference import composition as reference
from tiers import loop_over, more

from discreet.accounting.dominating_pairs import _of_pair
from discreet.accounting.loss_distribution import LossDistribution
from discreet.exact.enclosures import at_precision, ball
from discreet.privacy.loss import LogisticDP, PureDP

BITS = 140
UNIT = mpmath.mpf(2) ** -BITS


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(80):
        yield


def real(value):
    return reference.real(value) if isinstance(value, Fraction) else mpmath.mpf(value)


def pair(loss, step):
    return at_precision(BITS + 96, lambda: _of_pair(loss, step, BITS))


def delta_of_pair(loss, at):
    """The largest delta of one query, at any real epsilon."""
    epsilon, at = real(loss.epsilon), real(at)
    if at >= epsilon:
        return mpmath.mpf(0)
    if at <= -epsilon:
        return 1 - mpmath.exp(at)
    if isinstance(loss, PureDP):
        return (1 - mpmath.exp(at - epsilon)) / (1 + mpmath.exp(-epsilon))
    return (1 - mpmath.exp((at - epsilon) / 2)) ** 2 / (1 - mpmath.exp(-epsilon))


def delta_of_masses(found: LossDistribution, at) -> mpmath.mpf:
    """The sum of the definition, term by term."""
    total = mpmath.mpf(found.infinite)
    for place, mass in enumerate(found.masses, found.first):
        total += mass * max(mpmath.mpf(0), 1 - mpmath.exp(real(at) - real(found.step * place)))
    return total * UNIT


def random_distribution(chance: random.Random, step=Fraction(1, 8)) -> LossDistribution:
    masses = tuple(
        chance.randrange(2**BITS) // 2 ** chance.randrange(40) for _ in range(chance.randint(1, 12))
    )
    return LossDistribution(step, BITS, chance.randint(-8, 5), masses, chance.randrange(2**100))


@pytest.mark.parametrize("kind", [PureDP, LogisticDP])
@pytest.mark.parametrize(
    "epsilon", [more(Fraction(1, 10)), Fraction(2, 3), more(Fraction(5))], ids=str
)
@pytest.mark.parametrize(
    "cells", [Fraction(1, 2), Fraction(3), Fraction(10, 3), more(Fraction(40))], ids=str
)
def test_a_pair_is_dominated_everywhere_and_exact_at_the_points(kind, epsilon, cells):
    step = epsilon / cells
    found = pair(kind(epsilon), step)
    for place in range(-30, 31):
        at = epsilon * place / 20
        assert delta_of_masses(found, at) >= delta_of_pair(kind(epsilon), at)
    for place in range(found.first, 1 - found.first):
        truth = delta_of_pair(kind(epsilon), step * place)
        assert truth <= delta_of_masses(found, step * place) <= truth + 300 * UNIT


@loop_over("copies", [1, 2, 7, 40])
@loop_over("epsilon", [Fraction(1, 10), Fraction(1)], ids=str)
def test_copies_of_randomised_response_are_the_published_optimum(copies, epsilon):
    found = pair(PureDP(epsilon), epsilon).power(copies, 0).profile()
    for share in (0, 1, 3, 7):
        at = copies * epsilon * share / 8
        truth = reference.kov_delta(epsilon, copies, at)
        # the reference has 50 digits
        assert -(mpmath.mpf(10) ** -45) <= real(found.delta(at)) - truth <= mpmath.mpf(10) ** -35


@loop_over("seed", range(40), usual=10)
def test_products_are_those_of_all_pairs_of_masses(seed):
    chance = random.Random(seed)
    one, other = random_distribution(chance), random_distribution(chance)
    both = one * other
    for at in (-1, 0, Fraction(3, 16), 1):
        parts = [
            (real(one.step * (one.first + i)), mass * UNIT) for i, mass in enumerate(one.masses)
        ]
        truth = one.infinite * UNIT * (sum(other.masses) + other.infinite) * UNIT
        truth += sum(mass * delta_of_masses(other, real(at) - loss) for loss, mass in parts)
        assert 0 <= delta_of_masses(both, at) - truth <= 40 * UNIT


@loop_over("seed", range(40), usual=10)
def test_the_profile_is_the_sum_of_the_definition(seed):
    chance = random.Random(seed)
    found = random_distribution(chance)
    for place in range(40):
        at = Fraction(place, 23)
        above = real(found.profile().delta(at)) - delta_of_masses(found, at)
        assert 0 <= above <= 40 * UNIT


@loop_over("seed", range(40), usual=10)
def test_the_epsilon_of_a_delta_is_good_and_no_smaller_one_is(seed):
    chance = random.Random(seed)
    found = random_distribution(chance)
    profile = found.profile()
    for share in (Fraction(1, 10**9), Fraction(1, 3), Fraction(9, 10), Fraction(1), Fraction(2)):
        delta = profile.delta(Fraction(0)) * share
        epsilon = profile.epsilon(delta)
        if epsilon is None:
            assert Fraction(found.infinite, 2**BITS) > delta
            continue
        assert delta_of_masses(found, epsilon) <= real(delta)
        if epsilon:
            assert (
                delta_of_masses(found, epsilon * (1 - Fraction(1, 10**30)))
                > real(delta) - 100 * UNIT
            )


@loop_over("seed", range(40), usual=10)
def test_what_is_cut_off_only_makes_delta_larger(seed):
    chance = random.Random(seed)
    found = random_distribution(chance)
    allowed = chance.randrange(2 ** chance.randint(90, BITS))
    cut = found.without_tails(allowed)
    assert len(cut.masses) <= len(found.masses)
    assert sum(cut.masses) + cut.infinite == sum(found.masses) + found.infinite
    assert cut.infinite <= found.infinite + allowed
    for place in range(-20, 21):
        before, after = (delta_of_masses(each, Fraction(place, 7)) for each in (found, cut))
        assert before <= after <= before + 2 * allowed * UNIT


def test_powers_are_products():
    found = pair(LogisticDP(Fraction(1, 2)), Fraction(1, 9))
    whole = found
    for times in range(2, 12):
        whole = whole * found
        power = found.power(times, 0)
        assert (
            abs(delta_of_masses(power, Fraction(1, 3)) - delta_of_masses(whole, Fraction(1, 3)))
            <= 10**4 * UNIT
        )


@loop_over("seed", range(30), usual=10)
def test_dots_that_are_not_convex_are_still_below(seed):
    """Upper values with rounding errors: every one of them, and its mirror image, is dominated."""
    chance = random.Random(seed)
    step, values = Fraction(1, 5), []
    for place in range(12):
        values.append(Fraction(chance.randint(1, 1000), 2000 * 2**place))
    found = at_precision(
        BITS + 96, lambda: LossDistribution.connect(step, [ball(value) for value in values], BITS)
    )
    # what is negative would take something off when it is multiplied
    assert min(found.masses) == 0
    for place, value in enumerate(values):
        assert delta_of_masses(found, step * place) >= real(value)
        shrunk = mpmath.exp(-real(step * place))
        assert delta_of_masses(found, -step * place) >= 1 - shrunk + shrunk * real(value)
    assert delta_of_masses(found, step * 50) >= real(values[-1])


@pytest.mark.parametrize("epsilons", [(0.5, 0.3, 0.7), (1, 0.05, 0.05, 0.4)], ids=str)
def test_different_responses_against_the_whole_product(epsilons):
    losses = [PureDP(epsilon) for epsilon in epsilons]
    found = pair(losses[0], Fraction(1, 400))
    for loss in losses[1:]:
        found = found * pair(loss, Fraction(1, 400))
    releases = [reference.telling_release(loss.epsilon, 0) for loss in losses]
    releases = [(here[2:], there[2:]) for here, there in releases]
    together = reference.all_together(releases)
    for at in (0, 0.2, 0.5, 0.9):
        truth = reference.hockey_stick_of(*together, at)
        assert (
            truth <= delta_of_masses(found, Fraction(str(at))) <= truth * mpmath.mpf("1.001") + UNIT
        )


def test_a_second_query_that_depends_on_the_first_answer():
    """Real adversaries: every choice of the second of two pairs by the outcome of the first."""
    first, second = PureDP(Fraction(1, 2)), [PureDP(Fraction(1, 3)), LogisticDP(Fraction(1, 3))]
    bound = pair(first, Fraction(1, 60)) * pair(second[0], Fraction(1, 60))

    def cells(loss):
        if isinstance(loss, PureDP):
            here, there = reference.telling_release(loss.epsilon, 0)
            return here[2:], there[2:]
        ends = [mpmath.exp(real(loss.epsilon) * place / 6) for place in range(7)]
        factor = ends[-1]
        here = [factor * (1 / left - 1 / right) / (factor - 1) for left, right in pairwise(ends)]
        there = [(right - left) / (factor - 1) for left, right in pairwise(ends)]
        return here, there

    for choice in product(second, repeat=2):
        together = reference.one_after_another(cells(first), [cells(loss) for loss in choice])
        for at in (Fraction(0), Fraction(1, 4), Fraction(3, 5)):
            assert reference.hockey_stick_of(*together, at) <= delta_of_masses(bound, at) + UNIT
