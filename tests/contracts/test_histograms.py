"""Noise on whole histograms: the real draws on every random tape, and the stated losses by
brute force on all neighbours, without tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from flint import arb
from reference.noise import FAR, gaussian_law, laplace_law, listed
from reference.tapes import distribution
from tiers import also, loop_over, only

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, PureDP
from discreet.accounting import Composed
from discreet.accounting.privacy_filter import BudgetRule
from discreet.accounting.renyi import largest_rho
from discreet.exact.enclosures import ball
from discreet.mechanisms import ExponentialMechanism, HistogramTopK, UnknownDomainHistogram
from discreet.mechanisms.count_lists import ListRequest, make_unknown
from discreet.mechanisms.count_noise import make_noise
from discreet.mechanisms.counted_selection import make_counted
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.gaussian_profile import gaussian_rho, profile
from discreet.mechanisms.prices import Price
from discreet.privacy.cost import Cost
from discreet.randomness import bulk_draws
from discreet.randomness.bulk_draws import draw_gaussians, draw_geometrics, draw_laplaces
from discreet.randomness.chance import Chance
from discreet.randomness.whole_numbers import draw_gaussian
from discreet.testing import SeededBits

TINY = arb(2) ** -60
VARIANCES = [Fraction(1, 5), Fraction(1), Fraction(5, 2), Fraction(9)]


pytestmark = pytest.mark.usefixtures("high_precision")


@pytest.fixture
def by_tape(monkeypatch):
    """Coins that are decided by the tape, each with its exact probability."""

    def flip(probability, count, tape, *, start=0):
        share = probability._number()
        sides = ((share, True), (1 - share, False))
        return np.array([tape._answer(lambda: sides) for _ in range(count)])

    def signs(count, kind, tape):
        # below 128, or not
        return np.array([128 * tape.below(2) for _ in range(count)], dtype=np.uint8)

    monkeypatch.setattr(bulk_draws, "flip_coins", flip)
    monkeypatch.setattr(bulk_draws, "draw_words", signs)


def agree(reached, rest, law, most=0.03):
    assert rest < most
    for number, ideal in law.items():
        found = reached.get(number, arb(0))
        assert found <= ideal + TINY, f"{number} is drawn too often"
        assert ideal <= found + rest + TINY, f"{number} is drawn too rarely"


class TestDraws:
    # One variance kills both mutants that name this test.
    @pytest.mark.parametrize("variance", only((Fraction(5, 2),), VARIANCES), ids=str)
    def test_gaussian_numbers_have_the_ideal_distribution(self, variance):
        reached, rest = distribution(lambda tape: draw_gaussian(variance, tape), 3e-5)
        agree(reached, rest, gaussian_law(variance), most=0.5)

    @pytest.mark.usefixtures("by_tape")
    @pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(7, 2)], ids=str)
    def test_geometric_numbers_in_bulk(self, rate):
        reached, rest = distribution(lambda tape: int(draw_geometrics(rate, 1, tape)[0]), 1e-5)
        step = (-ball(rate)).exp()
        agree(reached, rest, {n: (1 - step) * step**n for n in range(30)})

    @pytest.mark.usefixtures("by_tape")
    @pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1), Fraction(7, 2)], ids=str)
    def test_laplace_numbers_in_bulk(self, rate):
        reached, rest = distribution(lambda tape: int(draw_laplaces(rate, 1, tape)[0]), 1e-5)
        agree(reached, rest, laplace_law(rate))

    @pytest.mark.usefixtures("by_tape")
    @pytest.mark.parametrize("variance", only((Fraction(5, 2),), VARIANCES[:3]), ids=str)
    def test_gaussian_numbers_in_bulk(self, variance):
        reached, rest = distribution(lambda tape: int(draw_gaussians(variance, 1, tape)[0]), 2e-4)
        agree(reached, rest, gaussian_law(variance), most=0.5)

    @pytest.mark.usefixtures("by_tape")
    def test_two_numbers_in_bulk_are_independent(self):
        rate, law = Fraction(2), laplace_law(Fraction(2))
        reached, rest = distribution(
            lambda tape: tuple(draw_laplaces(rate, 2, tape).tolist()), 1e-4
        )
        near = range(-2, 3)
        agree(reached, rest, {(a, b): law[a] * law[b] for a in near for b in near}, most=0.1)

    def test_real_bits_have_the_variances(self):
        """20,000 numbers: the mean square is within 6 standard errors of the ideal one."""
        chance, draws = Chance(SeededBits(4)), 20_000
        for law, drawn in (
            (laplace_law(Fraction(1, 2)), draw_laplaces(Fraction(1, 2), draws, chance)),
            (gaussian_law(Fraction(6)), draw_gaussians(Fraction(6), draws, chance)),
        ):
            square, fourth = (
                float(sum((p * n**power for n, p in law.items()), arb(0)).mid()) for power in (2, 4)
            )
            error = math.sqrt((fourth - square**2) / draws)
            assert abs(np.mean(drawn.astype(float) ** 2) - square) < 6 * error
            assert abs(np.mean(drawn)) < 6 * math.sqrt(square / draws)

    def test_one_path_for_few_and_one_for_many(self):
        few, many = (
            len(bulk_draws.laplace_noise(Fraction(1), count, Chance(SeededBits(1))))
            for count in (3, 3000)
        )
        assert (few, many) == (3, 3000)

    def test_noise_beyond_machine_words(self):
        mechanism = discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=10**30)
        noisy = mechanism.release([0] * 100, bits=SeededBits(1)).value
        assert max(map(abs, noisy)) > 2**64
        huge = discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=1).release([2**80] * 100)
        assert all(abs(number - 2**80) < 1000 for number in huge.value)


class TestDiscreteGaussian:
    @pytest.mark.parametrize("variance", VARIANCES, ids=str)
    def test_probabilities(self, variance):
        mechanism = DiscreteGaussian(rho=1 / (2 * variance), squared_sensitivity=1)
        assert mechanism.variance == variance
        for number, ideal in gaussian_law(variance).items():
            if abs(number) < 8:
                found = mechanism.log_probability(5 + number, 5)
                assert found == pytest.approx(float(ideal.log().mid()), rel=1e-14)

    @pytest.mark.parametrize("move", [1, 2, 3])
    @pytest.mark.parametrize("rho", [Fraction(1, 8), Fraction(1), Fraction(3)], ids=str)
    def test_the_stated_loss_is_never_exceeded_and_attained(self, rho, move):
        """The Renyi divergence of order a between noise and noise that is moved is rho * a."""
        mechanism = DiscreteGaussian(rho=rho, squared_sensitivity=move**2)
        assert mechanism.privacy_loss() == ZCDP(rho)
        law = gaussian_law(mechanism.variance)
        for order in (Fraction(3, 2), Fraction(2), Fraction(5)):
            a = ball(order)
            total = sum(
                (
                    (law[n].log() * a + law[n - move].log() * (1 - a)).exp()
                    for n in range(-FAR + move, FAR + 1)
                    if abs(n) < FAR - 20
                ),
                arb(0),
            )
            divergence = total.log() / (a - 1)
            assert divergence <= ball(rho * order) + TINY
            if order == 2:
                # attained where the order times the move is whole
                assert divergence >= ball(rho * order) - ball(Fraction(1, 10**9))

    @pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**4)])
    @pytest.mark.parametrize(
        "variance", [VARIANCES[0], Fraction(30), *also(*VARIANCES[1:])], ids=str
    )
    def test_the_error_bound_holds_and_is_the_smallest_by_the_tail(self, variance, beta):
        mechanism = DiscreteGaussian(rho=1 / (2 * variance), squared_sensitivity=1)
        law, bound = gaussian_law(variance), mechanism.error_bound(beta)
        beyond = sum((p for n, p in law.items() if abs(n) > bound), arb(0))
        assert beyond <= ball(beta)
        assert mechanism.tail(bound) <= beta
        smaller = beyond + 2 * law[bound]
        assert bound == 0 or smaller > ball(beta)

    @pytest.mark.parametrize("variance", [5000, 10**9, 10**40], ids=str)
    def test_wide_noise_has_the_tail_of_an_integral(self, variance):
        """One term is far below the tail, so that its two ends decide."""
        mechanism = DiscreteGaussian(rho=Fraction(1, 2 * variance), squared_sensitivity=1)
        bound = mechanism.error_bound(Fraction(1, 20))
        assert bound / math.sqrt(variance) == pytest.approx(
            1.959964, abs=1e-6 + 0.6 / math.sqrt(variance)
        )
        assert mechanism.error_bound(Fraction(999, 1000)) < math.sqrt(variance) / 50

    def test_release(self):
        release = DiscreteGaussian(rho=1, squared_sensitivity=4).release(7, bits=SeededBits(1))
        assert (release.loss, release.mechanism, release.seeded) == (
            ZCDP(1),
            "discrete-gaussian",
            True,
        )
        assert isinstance(release.value, int)


def neighbours(counts, items):
    """All counts that one person more can make of these: each of some items raised by 1."""
    for moved in product((0, 1), repeat=len(counts)):
        if 0 < sum(moved) <= items:
            yield tuple(count + move for count, move in zip(counts, moved, strict=True))


class TestLists:
    @pytest.mark.parametrize("items", [1, 2])
    @pytest.mark.parametrize("k", [1, 2])
    def test_names_and_counts_together_lose_epsilon_at_most(self, k, items):
        epsilon = Fraction(3, 2)
        made = HistogramTopK(k=k, epsilon=epsilon, items_per_person=items)
        assert made.privacy_loss() == PureDP(epsilon)
        law = laplace_law(made.noise.rate)

        def lists(counts):
            # every list that noise of at most 4 can make, with all ways to make it
            return listed(law, counts, k, reach=9)

        base = (1, 0)
        one, worst = lists(base), arb(0)
        for moved in neighbours(base, items):
            other = lists(moved)
            inner = [out for out in one if all(abs(count) <= 3 for _, count in out)]
            # what is beyond the reach is left out of both: a little of either is missing
            for out in inner:
                worst = max(worst, abs((one[out] / other[out]).log()))
        slack = ball(Fraction(1, 50))
        assert worst <= ball(epsilon) + slack
        # with one name the others' noise hides a part of it
        assert worst >= ball(epsilon * (1 if k == 2 else Fraction(1, 4))) - slack

    def test_the_real_draws_have_the_law(self):
        """3,000 lists of two of three: frequencies are within 5 standard errors."""
        made = HistogramTopK(k=2, epsilon=2, items_per_person=1)
        ideal = {}
        for out, chance in listed(laplace_law(Fraction(2)), (2, 1, 1), 2, reach=7).items():
            names = tuple(place for place, _ in out)
            ideal[names] = ideal.get(names, 0) + float(chance.mid())
        bits, draws = SeededBits(8), 3000
        seen = [tuple(made.select([2, 1, 1], bits=bits)) for _ in range(draws)]
        for names, share in ideal.items():
            assert abs(seen.count(names) - draws * share) < 5 * math.sqrt(draws * share) + 1

    @pytest.mark.parametrize("delta", [0, 1e-6])
    @pytest.mark.parametrize("items", [1, 5, 40])
    def test_the_loss_that_is_stated_is_that_of_the_noise(self, items, delta):
        made = HistogramTopK(k=3, epsilon=Fraction(1, 2), delta=delta, items_per_person=items)
        stated = made.privacy_loss()
        if made.name == "histogram-laplace":
            assert stated == PureDP(Fraction(1, 2))
            assert made.noise.rate == Fraction(1, 2) / items
            return
        assert stated == ApproxDP(Fraction(1, 2), delta)
        assert made.noise.squared_sensitivity == items
        # noise on all real numbers, which so wide a noise is close to (Balle and Wang 2018)
        normal, shift = NormalDist(), math.sqrt(items / made.noise.variance)
        near, far = (normal.cdf(-0.5 / shift + sign * shift / 2) for sign in (1, -1))
        assert 0.95 * delta < near - math.exp(0.5) * far <= delta

    def test_errors_hold(self):
        """200 lists of 10 of 1,000: at most 5% of them may be further off than was said."""
        scores = np.random.default_rng(1).poisson(50, 1000)
        made = HistogramTopK(k=10, epsilon=1, items_per_person=1)
        best = np.sort(scores)[::-1][:10]
        far = wrong = 0
        for seed in range(200):
            release = made.release(scores, bits=SeededBits(seed))
            behind = best - scores[release.value]
            far += behind.max() > made.error_bound(0.05, candidates=1000)
            off = np.abs(np.array(release.counts.values) - scores[release.value])
            wrong += off.max() > release.counts.error
        # 10 are expected; 25 would come up once in 20,000 runs
        assert far <= 25
        assert wrong <= 25


def profile_of(law, epsilon, moved):
    """The excess of noise on so many counts, by convolution of its law."""
    total = {0: arb(1)}
    for _ in range(moved):
        summed = {}
        for have, chance in total.items():
            for more, odds in law.items():
                summed[have + more] = summed.get(have + more, arb(0)) + chance * odds
        total = summed
    centre = law[0]
    # the odds of one step, which tell the variance
    step = (centre / law[1]).log()
    excess = arb(0)
    for place, chance in total.items():
        over = 1 - (epsilon + (2 * place - moved) * step).exp()
        excess += chance * over if over > 0 else arb(0)
    return excess


def listed_excess(law, epsilon, moved, unseen):
    """Both excesses of a list with new items that are not seen with this probability."""
    with_person = 1 - unseen + unseen * profile_of(law, epsilon - arb(unseen).log(), moved)
    without = profile_of(law, epsilon + arb(unseen).log(), moved)
    return float(with_person.upper()), float(without.upper())


GAUSSIAN_LISTS = [
    (Fraction(1), Fraction(1, 100), 3),
    (Fraction(2), Fraction(1, 1000), 4),
    (Fraction(3), Fraction(1, 10**5), 3),
]


class TestProfiles:
    @pytest.mark.parametrize("moved", [1, 2, 3])
    @pytest.mark.parametrize("epsilon", [Fraction(-1, 5), Fraction(1, 2), Fraction(2)], ids=str)
    @pytest.mark.parametrize("variance", [Fraction(1), *also(Fraction(5))], ids=str)
    def test_it_is_an_upper_bound(self, variance, epsilon, moved):
        exact = profile_of(gaussian_law(variance), ball(epsilon), moved)
        assert exact <= ball(profile(epsilon, variance, moved))
        assert profile(epsilon, variance, moved) <= 1

    def test_it_is_tight_where_the_noise_is_wide(self):
        exact = profile_of(gaussian_law(Fraction(40)), ball(Fraction(1, 2)), 2)
        assert float(profile(Fraction(1, 2), Fraction(40), 2)) < 1.2 * float(exact)

    def test_nothing_moves(self):
        assert profile(Fraction(1), Fraction(5), 0) == 0
        assert 0.18 < float(profile(Fraction(-1, 5), Fraction(5), 0)) < 0.1813

    def test_the_noise_is_narrower_than_by_concentrated_dp(self):
        """By 7% at (1, 1e-6), and close to the optimum of noise on all real numbers."""
        rho = gaussian_rho(Fraction(1), Fraction(1, 10**6), moved=100)
        assert 4.2246 < float(1 / (2 * rho)) ** 0.5 < 4.23
        assert float(1 / (2 * largest_rho(Fraction(1), Fraction(1, 10**6)))) ** 0.5 > 4.5

    @pytest.mark.parametrize("items", [1, 2, 5])
    def test_the_rho_holds(self, items):
        epsilon, delta = Fraction(1), Fraction(1, 1000)
        rho = gaussian_rho(epsilon, delta, moved=items)
        law = gaussian_law(items / (2 * rho))
        assert profile_of(law, ball(epsilon), items) <= ball(delta)


class TestThresholds:
    def test_a_threshold_states_what_was_asked_for(self):
        made = UnknownDomainHistogram(k=9, epsilon=1, delta=1e-6, items_per_person=2)
        assert made.privacy_loss() == ApproxDP(1, 1e-6)

    @pytest.mark.parametrize("items", [1, 2])
    def test_an_item_of_one_person_is_named_with_delta_at_most(self, items):
        """And hardly any lower threshold would do."""
        delta = Fraction(1, 10**6)
        made = UnknownDomainHistogram(k=9, epsilon=1, delta=delta, items_per_person=items)
        law = laplace_law(Fraction(1, items))

        def named(least):
            below = sum((p for n, p in law.items() if 1 + n < least), arb(0))
            return 1 - below**items

        assert made.name == "threshold-laplace"
        assert made.noise.rate == Fraction(1, items)
        assert named(made.height) <= ball(delta)
        assert named(made.height - 1) > ball(delta * Fraction(99, 100))

    @pytest.mark.parametrize(
        ("epsilon", "delta", "items"),
        [
            GAUSSIAN_LISTS[0],
            pytest.param(*GAUSSIAN_LISTS[1], marks=pytest.mark.sizes),
            GAUSSIAN_LISTS[2],
        ],
    )
    def test_the_gaussian_threshold(self, epsilon, delta, items):
        """Whichever of a person's items are nobody else's, the excess is delta at most; and
        hardly any lower threshold would do.
        """
        made = UnknownDomainHistogram(k=9, epsilon=epsilon, delta=delta, items_per_person=items)
        assert made.name == "threshold-gaussian"
        law = gaussian_law(made.noise.variance)

        def excess(height):
            named = sum((p for n, p in law.items() if 1 + n >= height), arb(0))
            return max(
                max(listed_excess(law, ball(epsilon), items - new, (1 - named) ** new))
                for new in range(items + 1)
            )

        assert excess(made.height) <= float(delta)
        assert excess(made.height - 2) > float(delta)
        named = sum((p for n, p in law.items() if 1 + n >= made.height), arb(0))
        assert items * named <= ball(made.threshold_delta)
        assert made.threshold_delta < delta
        assert made.noise.privacy_loss() in [
            ZCDP(gaussian_rho(epsilon, delta * share, moved=items))
            for share in (1, Fraction(9, 10))
        ]

    @pytest.mark.parametrize(("before", "after"), [((2, 0), (2, 1)), ((2, 2), (3, 2))], ids=str)
    def test_the_list_is_epsilon_delta_private(self, before, after):
        """All lists of two items: the excess over e^epsilon adds up to delta at most."""
        epsilon, delta = Fraction(1), Fraction(1, 20)
        made = UnknownDomainHistogram(k=2, epsilon=epsilon, delta=delta, items_per_person=1)
        law = laplace_law(epsilon)
        one, other = (listed(law, counts, 2, made.height, reach=20) for counts in (before, after))
        for first, second in ((one, other), (other, one)):
            excess = arb(0)
            for out, chance in first.items():
                more = chance - second.get(out, arb(0)) * ball(epsilon).exp()
                excess += more if more > 0 else arb(0)
            assert excess <= ball(delta)

    def test_what_does_not_occur_is_never_named(self):
        made = UnknownDomainHistogram(k=2, epsilon=0.1, delta=0.4, items_per_person=1)
        for seed in range(300):
            assert made.select({"a": 0, "b": 0}, bits=SeededBits(seed)) == []

    def test_heights(self):
        heights = [
            UnknownDomainHistogram(k=10, epsilon=1, delta=1e-6, items_per_person=items).height
            for items in (1, 2, 5, 10)
        ]
        assert heights == [15, 30, 50, 72]


COUNTS = {"sensitivity": 1, "monotonic": True}


def price_in(budget, epsilon):
    return Price(BudgetRule.of(budget), Fraction(epsilon))


class _Changing(Mapping):
    """A mapping whose members have changed places when it is read again."""

    def __init__(self, first):
        self.first, self.readings = first, 0

    def __len__(self):
        return len(self.first)

    def __iter__(self):
        self.readings += 1
        names = list(self.first)
        turn = self.readings - 1
        return iter(names[-turn:] + names[:-turn] if turn else names)

    def __getitem__(self, name):
        return self.first[name]


ONE_READING = {
    "select": lambda counts: discreet.select(
        counts, epsilon=1, sensitivity=1, with_counts=True, bits=SeededBits(1)
    ),
    "top_k": lambda counts: discreet.top_k(
        counts, 2, epsilon=1, sensitivity=1, monotonic=True, with_counts=True, bits=SeededBits(1)
    ),
    "unknown domain": lambda counts: discreet.top_k_unknown_domain(
        counts, k=2, epsilon=1, delta=1e-6, limit=30, with_counts=True, bits=SeededBits(1)
    ),
}


class TestChoice:
    def test_few_items_take_a_histogram(self):
        def name(k, items, delta=0, **more):
            return (
                ListRequest(k=k, epsilon=1, delta=delta, items_per_person=items, **COUNTS, **more)
                .make()
                .name
            )

        assert name(1, 1) == "peeling-permute-and-flip"
        assert name(1, 1, with_counts=True) == "histogram-laplace"
        assert name(2, 1) == name(10, 5) == name(10, 5, delta=1e-6) == "histogram-laplace"
        assert name(6, 5) == name(10, 8) == name(50, 34) == "histogram-laplace"
        assert name(4, 4) == name(5, 5) == "peeling-permute-and-flip"
        assert name(10, 9) == name(50, 35) == name(10, None) == "joint-exponential"
        assert name(50, 15, delta=1e-6) == "histogram-gaussian"
        assert name(50, 200, delta=1e-6) == "one-shot-gumbel"
        # where a price is known, everything gets what it buys
        price = {"price": price_in(ApproxDP(10, 1e-6), 1), "candidates": 100}
        assert name(2, 1, **price) == name(10, 1, **price) == "histogram-gaussian"
        assert name(2, 2, **price) == name(10, 8, **price) == "one-shot-gumbel"
        # noise that the counts share, too, if it is not much wider than that of picks
        price["candidates"] = 10
        assert name(10, 100, **price) == "one-shot-gumbel"
        assert name(10, 100, with_counts=True, **price) == "histogram-correlated"
        price["price"] = price_in(PureDP(10), 1)
        # where epsilons add up, names alone are better drawn at once
        assert name(10, 100, with_counts=True, **price) == "histogram-correlated"
        assert name(10, 100, **price) == name(10, 8, **price) == "joint-exponential"

    @pytest.mark.parametrize("items", [None, 1, 3])
    @pytest.mark.parametrize("k", [1, 2, 6])
    def test_the_loss_is_never_more_than_what_was_asked_for(self, k, items):
        for asked in product((False, True), (0, 1e-6)):
            self.require_the_loss(k, items, *asked)

    def require_the_loss(self, k, items, with_counts, delta):
        epsilon = Fraction(1, 2)
        made = ListRequest(
            k=k,
            epsilon=epsilon,
            delta=delta,
            items_per_person=items,
            with_counts=with_counts,
            **COUNTS,
        ).make()
        assert made.privacy_loss() <= ApproxDP(epsilon, delta)
        release = made.release({name: 100 for name in "abcdefgh"}, bits=SeededBits(1))
        assert release.loss == made.privacy_loss()
        assert len(release.value) == k
        if with_counts:
            assert len(release.counts.values) == k

    @loop_over("budget", [PureDP(1), ZCDP(Fraction(1, 10)), ApproxDP(1, 1e-6), ApproxDP(1, 0.1)])
    @loop_over("k", [1, 2, 6, 40])
    @loop_over("items", [None, 1, 3])
    def test_what_a_price_buys_takes_no_more_than_the_price(self, budget, k, items):
        """And hardly less: a coin for each pick, at most."""
        for with_counts, delta in product((False, True), (0, 1e-3)):
            price = price_in(budget, Fraction(1, 10))
            if delta and price.squares is None:
                continue
            request = ListRequest(
                k=k,
                epsilon=Fraction(1, 10),
                delta=delta,
                items_per_person=items,
                with_counts=with_counts,
                price=price,
                candidates=50,
                **COUNTS,
            )
            made = make_unknown(request, 100) if delta else request.make()
            paid = price.rule.of_parts(made.losses(), 0)
            if price.squares is None:
                assert paid.epsilon == Fraction(1, 10)
            else:
                paid = price.rule.spending(Cost(Composed(made.losses())))
                assert price.squares / 2 - k - 1 <= paid.squares <= price.squares

    @loop_over("budget", [PureDP(1), ZCDP(Fraction(1, 10)), ApproxDP(1, 1e-6)])
    @loop_over("k", [3, 60])
    def test_a_list_at_a_price_is_for_the_sensitivity_that_was_said(self, budget, k):
        asked = {"k": k, "epsilon": Fraction(1, 10), "price": price_in(budget, Fraction(1, 10))}
        scores = {"sensitivity": Fraction(1), "candidates": 10**6, "items_per_person": None}
        made = ListRequest(**asked, **scores, monotonic=False).make()
        assert (made.sensitivity, made.monotonic) == (1, False)

    def test_counts_after_picks_share_the_epsilon(self):
        made = ListRequest(k=4, epsilon=1, items_per_person=None, with_counts=True, **COUNTS).make()
        half = Fraction(1, 2)
        assert (made.picked.epsilon, made.noise.epsilon, made.noise.sensitivity) == (half, half, 4)
        assert made.losses() == {PureDP(Fraction(1, 8)): 4, PureDP(half): 1}
        few = ListRequest(
            k=4, epsilon=1, items_per_person=2, with_counts=True, method="peel", **COUNTS
        ).make()
        assert few.noise.sensitivity == 2

    @pytest.mark.parametrize(("monotonic", "span"), [(True, 3), (False, 6)])
    def test_a_pick_with_its_count_has_half_for_each(self, monotonic, span):
        one = ExponentialMechanism(epsilon=1, sensitivity=3, monotonic=monotonic)
        made = make_counted(one)
        half = Fraction(1, 2)
        assert Fraction(str(made.one_picked.rate)) == half / span
        assert (made.noise.epsilon, made.noise.sensitivity) == (half, 3)
        assert made.losses() == {BoundedRange(half): 1, PureDP(half): 1}
        assert made.privacy_loss() == PureDP(1)

    def test_counts_of_an_unknown_domain_move_by_one_each(self):
        """Of two names, whose counts a person may both have moved."""
        release = discreet.top_k_unknown_domain(
            {"a": 900, "b": 800}, k=2, epsilon=1, delta=1e-6, limit=30, with_counts=True
        )
        noise = discreet.mechanisms.DiscreteLaplace(epsilon=Fraction(1, 2), sensitivity=2)
        assert release.counts.error == noise.error_bound(Fraction(1, 20), numbers=2)

    @pytest.mark.parametrize("ask", [*ONE_READING], ids=[*ONE_READING])
    def test_names_and_counts_are_of_one_reading(self, ask):
        """Of a mapping that changes, a place must not get the name that it has later, and
        a name of a few persons, whose place was another's, must not come out.
        """
        counts = _Changing({"many": 10**6, "some": 10**5, "alone": 1})
        release = ONE_READING[ask](counts)
        assert counts.readings == 1
        names = release.value if isinstance(release.value, list) else [release.value]
        assert "alone" not in names
        for name, count in zip(names, release.counts.values, strict=True):
            assert abs(count - counts.first[name]) < 1000

    def test_counts_above_a_threshold_are_said_to_be_too_low_by_no_more(self):
        """Of many items only those with large noise reach the threshold: all are too high."""
        mechanism = UnknownDomainHistogram(k=3, epsilon=1, delta=1e-6, items_per_person=1)
        crowd = {str(item): 8 for item in range(20000)}
        release = mechanism.release(crowd, bits=SeededBits(1))
        assert min(release.counts.values) - 8 > release.counts.error
        said = (
            f"With 95% confidence, no count is too low by more than {release.counts.error}. "
            f"Some may "
            "be too high by more."
        )
        assert said in release._repr_html_()
        assert "off by more" not in release._repr_html_()
        known = HistogramTopK(k=3, epsilon=1, items_per_person=1).release(crowd, bits=SeededBits(1))
        said = f"With 95% confidence, no count is off by more than {known.counts.error}."
        assert said in known._repr_html_()
        assert max(known.counts.values) - 8 <= known.counts.error

    def test_no_count_above_a_threshold_is_too_low_by_more_than_is_said(self):
        """On all draws of two items, of which one is listed."""
        mechanism = UnknownDomainHistogram(k=1, epsilon=1, delta=1e-2, items_per_person=1)
        error = mechanism.noise.error_bound(Fraction(1, 20), numbers=1)
        law = {n: math.exp(-abs(n)) * math.tanh(0.5) for n in range(-15, 16)}
        most = 0.0
        for above in product((0, 2, 5, 20), repeat=2):
            wrong = 0.0
            for noise in product(law, repeat=2):
                counted = [(mechanism.height + a + n, n) for a, n in zip(above, noise, strict=True)]
                number, more = max(counted)
                if number >= mechanism.height and more < -error:
                    wrong += math.prod(law[n] for n in noise)
            most = max(most, wrong)
        assert 0.01 < most <= 1 / 40

    def test_a_histogram_is_for_counts(self):
        with pytest.raises(discreet.ParameterError, match="'sensitivity' parameter of top_k must"):
            discreet.top_k([3, 1], 1, epsilon=1, sensitivity=2, items_per_person=1)
        with pytest.raises(
            discreet.ParameterError,
            match="another one, unless you limit how many items of each person count",
        ):
            discreet.top_k([3, 1], 1, epsilon=1, sensitivity=1, method="histogram")
        with pytest.raises(discreet.errors.ScoresError, match="whole numbers"):
            discreet.top_k([3.5, 1], 1, epsilon=1, sensitivity=1, with_counts=True)
        with pytest.raises(discreet.errors.ScoresError, match="whole numbers"):
            discreet.select([3.5, 1], epsilon=1, sensitivity=1, with_counts=True)

    def test_unknown_domains(self):
        def made(items, limit, **more):
            request = ListRequest(
                k=3, epsilon=1, delta=1e-6, items_per_person=items, **COUNTS, **more
            )
            return make_unknown(request, limit)

        assert isinstance(made(1, None), UnknownDomainHistogram)
        assert isinstance(made(1, 30), UnknownDomainHistogram)
        assert isinstance(made(None, 30), discreet.mechanisms.UnknownDomainTopK)
        assert made(None, 30, with_counts=True).privacy_loss() == ApproxDP(1, 1e-6)
        with pytest.raises(discreet.ParameterError, match="'limit' parameter must be"):
            made(None, None)

    @pytest.mark.parametrize("items", [20, 50])
    def test_gaussian_noise_is_for_as_many_items_as_a_person_moves(self, items):
        epsilon, delta = Fraction(1), Fraction(1, 10**6)
        noise = make_noise(epsilon, delta, moved=items)
        assert isinstance(noise, DiscreteGaussian)
        assert profile(epsilon, noise.variance, items) <= delta

    def test_gaussian_noise_only_with_a_delta_and_many_items(self):
        names = {
            (items, delta): type(make_noise(Fraction(1), Fraction(delta), moved=items)).__name__
            for items in (1, 100)
            for delta in (0, Fraction(1, 10**6))
        }
        assert list(names.values()) == ["DiscreteLaplace"] * 3 + ["DiscreteGaussian"]
