"""Laws that every analysis keeps. Analyses are discovered, not listed: a new one is held to the
same laws.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import mpmath
import pytest
from reference import composition as reference
from tiers import also, only

from discreet import ZCDP, ApproxDP, BoundedRange, PureDP, compose, plan, queries_allowed
from discreet.accounting import LogisticDP, queries_by_analysis
from discreet.accounting.adaptive_grid import curve_for
from discreet.accounting.analyses import ANALYSES, NON_ADAPTIVE_ONLY
from discreet.accounting.dominating_pairs import BLOCK
from discreet.accounting.two_point import delta_non_adaptive, hockey_stick

ADAPTIVE = sorted(set(ANALYSES) - NON_ADAPTIVE_ONLY)
EVERY = sorted(ANALYSES)
# a plan is for selections, and Gaussian noise is none
PLANNED = set(EVERY) - {"gaussian-noise"}
MILLIONTH = Fraction(1, 10**6)
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)

MIXTURES = [
    {BoundedRange(HALF): 4},
    {PureDP(HALF): 3},
    {ZCDP(Fraction(1, 50)): 3},
    {BoundedRange(HALF): 2, PureDP(Fraction(1, 4)): 3},
    {BoundedRange(HALF): 2, ZCDP(Fraction(1, 50)): 1},
    {LogisticDP(HALF): 3, BoundedRange(TENTH): 2},
    {BoundedRange(TENTH): 6, ApproxDP(HALF, 1e-7): 2},
    {
        BoundedRange(Fraction(1, 3)): 1,
        BoundedRange(Fraction(1, 2)): 1,
        PureDP(Fraction(1, 7)): 1,
        ZCDP(Fraction(1, 99)): 2,
    },
]
# the last three have every kind of loss in them
every_mixture = pytest.mark.parametrize("losses", [*also(*MIXTURES[:-3]), *MIXTURES[-3:]], ids=repr)


def seeds(everyday, every):
    """The first few, and all others in the tier of sizes."""
    return pytest.mark.parametrize(
        "seeds",
        [
            pytest.param(range(everyday), id=f"{everyday} seeds"),
            pytest.param(
                range(everyday, every), id=f"{every - everyday} more", marks=pytest.mark.sizes
            ),
        ],
    )


@cache
def _composed(losses, delta, epsilon, adaptive):
    return compose(dict(losses), delta=delta, epsilon=epsilon, adaptive=adaptive)


def composed(losses, *, delta=None, epsilon=None, adaptive=True):
    return _composed(tuple(losses.items()), delta, epsilon, adaptive)


planned = cache(plan)


def by_thousandth(epsilon):
    """Both questions: for this epsilon, and for a delta of a thousandth."""
    return ({"delta": Fraction(1, 1000)}, {"epsilon": epsilon})


def said(name, losses, **question):
    """What one analysis says about these losses; None where it does not apply."""
    return composed(losses, **question).alternatives[name]


class TestLaws:
    @every_mixture
    @pytest.mark.parametrize(
        "question", [{"delta": Fraction(1, 10**5)}, {"epsilon": Fraction(2, 5)}], ids=repr
    )
    def test_multiplicities_are_repetitions_and_order_does_not_matter(self, losses, question):
        one_by_one = [loss for loss, times in losses.items() for _ in range(times)]
        counted = composed(losses, **question)
        assert compose(one_by_one, **question) == counted
        assert counted.queries == len(one_by_one)
        shuffled = random.Random(7).sample(one_by_one, len(one_by_one))
        for order in (one_by_one[::-1], shuffled):
            other = compose(order, **question)
            assert (other.epsilon, other.delta) == pytest.approx(
                (counted.epsilon, counted.delta), rel=1e-13
            )
            for name, value in counted.alternatives.items():
                assert other.alternatives[name] == (
                    None if value is None else pytest.approx(value, rel=1e-13)
                )

    @pytest.mark.parametrize(
        "losses", [{BoundedRange(HALF): 2, PureDP(TENTH): 1}, {BoundedRange(HALF): 3}], ids=repr
    )
    @pytest.mark.parametrize(
        "more", [BoundedRange(TENTH), PureDP(TENTH), BoundedRange(HALF)], ids=repr
    )
    def test_another_query_never_costs_less(self, losses, more):
        larger = dict(losses)
        larger[more] = larger.get(more, 0) + 1
        for name, question in product(EVERY, by_thousandth(Fraction(3, 10))):
            smaller_value, larger_value = (
                said(name, losses, **question),
                said(name, larger, **question),
            )
            if smaller_value is not None and larger_value is not None:
                assert smaller_value <= larger_value, name

    @pytest.mark.parametrize("kind", [BoundedRange, PureDP, ZCDP])
    @pytest.mark.parametrize("times", [*also(1), 4])
    def test_larger_losses_never_cost_less(self, kind, times):
        sizes = [Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(11, 20), Fraction(2)]
        for name, question in product(EVERY, by_thousandth(Fraction(1, 5))):
            values = [said(name, {kind(size): times}, **question) for size in sizes]
            known = [value for value in values if value is not None]
            assert known == sorted(known), name

    @pytest.mark.parametrize("times", [1, 3, 10])
    def test_bounded_range_never_costs_more_than_pure_dp(self, times):
        for name, question in product(EVERY, by_thousandth(Fraction(1, 5))):
            by_range, pure = (
                said(name, {BoundedRange(TENTH): times}, **question),
                said(name, {PureDP(TENTH): times}, **question),
            )
            if by_range is not None and pure is not None:
                assert by_range <= pure * (1 + Fraction(1, 10**9)), name

    @every_mixture
    def test_a_smaller_delta_never_needs_less_epsilon(self, losses):
        deltas = [Fraction(1, 10**power) for power in (1, 2, 4, 6)]
        totals = [composed(losses, delta=delta) for delta in deltas]
        for name in EVERY:
            known = [
                total.alternatives[name] for total in totals if total.alternatives[name] is not None
            ]
            assert known == sorted(known)

    @every_mixture
    def test_the_two_directions_agree(self, losses):
        delta = Fraction(1, 10**4)
        for name in EVERY:
            epsilon = said(name, losses, delta=delta)
            if not epsilon:
                assert epsilon is None, name
                continue
            back = said(name, losses, epsilon=epsilon)
            if back is not None:
                assert back <= delta * (1 + Fraction(1, 10**6)), name
            below = said(name, losses, epsilon=epsilon * Fraction(99, 100))
            assert below is None or below > delta, name

    @every_mixture
    def test_the_smallest_valid_number_is_the_total(self, losses):
        for adaptive in (True, False):
            for question, answer in (
                ({"delta": MILLIONTH}, "epsilon"),
                ({"epsilon": Fraction(3, 10)}, "delta"),
            ):
                total = composed(losses, **question, adaptive=adaptive)
                valid = {
                    name: total.alternatives[name] for name in (ADAPTIVE if adaptive else EVERY)
                }
                assert getattr(total, answer) == min(
                    value for value in valid.values() if value is not None
                )
                assert total.alternatives[total.method] == getattr(total, answer)

    @every_mixture
    @pytest.mark.parametrize(
        "question", [{"delta": MILLIONTH}, {"epsilon": Fraction(3, 10)}], ids=repr
    )
    def test_knowing_that_queries_were_fixed_never_costs_more(self, losses, question):
        adaptive, fixed = composed(losses, **question), composed(losses, **question, adaptive=False)
        assert adaptive.method not in NON_ADAPTIVE_ONLY
        assert (adaptive.adaptive, fixed.adaptive) == (True, False)
        assert fixed.epsilon <= adaptive.epsilon
        assert fixed.delta <= adaptive.delta

    @pytest.mark.parametrize("times", [3, *also(10, 30)])
    def test_the_non_adaptive_analysis_is_used_on_the_callers_word_only(self, times):
        losses = {BoundedRange(TENTH): times}
        epsilon = TENTH * times / 3
        assert composed(losses, epsilon=epsilon).method not in NON_ADAPTIVE_ONLY
        assert composed(losses, epsilon=epsilon, adaptive=False).method in NON_ADAPTIVE_ONLY
        budget = ApproxDP(1, 1e-6)
        assert plan(queries=times, budget=budget).method not in NON_ADAPTIVE_ONLY

    def test_the_deltas_of_losses_add_up(self):
        pure = composed({PureDP(TENTH): 6, BoundedRange(HALF): 1}, epsilon=HALF)
        approximate = composed({ApproxDP(TENTH, 1e-6): 6, BoundedRange(HALF): 1}, epsilon=HALF)
        compared = 0
        for name, value in pure.alternatives.items():
            if value is None:
                assert approximate.alternatives[name] is None
                continue
            compared += 1
            assert approximate.alternatives[name] >= value + 6 * MILLIONTH
            assert approximate.alternatives[name] == pytest.approx(value + 6 * MILLIONTH, rel=1e-13)
        assert compared >= 4


class TestBrackets:
    @seeds(10, 30)
    def test_lower_ends_are_not_above_upper_ends(self, seeds):
        for seed in seeds:
            self.require_brackets(random.Random(seed))

    def require_brackets(self, chooser):
        width, copies = Fraction(chooser.randint(1, 40), 20), chooser.randint(1, 12)
        epsilon = width * copies * chooser.randint(0, 99) / 100
        fixed = delta_non_adaptive(width, copies, epsilon)
        pair = hockey_stick(width, width * chooser.randint(1, 99) / 100, copies, epsilon)
        curve = curve_for({BoundedRange(width): copies, PureDP(width / 3): 1}, 1e9, effort=2e6)
        assert curve is not None
        grid = curve.delta(epsilon)
        for bracket in (fixed, pair, grid):
            assert 0 <= bracket.low <= bracket.high <= 1
        assert pair.low <= fixed.high  # the worst pair is at least as bad as any
        assert fixed.low <= grid.high * (
            1 + 1e-12
        )  # and more queries, chosen adaptively, at least as bad as that


def random_release(chooser, width):
    """Neighbouring exponential mechanisms with 2 to 4 candidates whose scores move within a range
    of `width`.
    """
    size = chooser.randint(2, 4)
    scores = [Fraction(chooser.randint(-300, 300), 100) for _ in range(size)]
    moves = [
        Fraction(0),
        width,
        *(
            width * chooser.choice([0, 1, Fraction(chooser.randint(0, 100), 100)])
            for _ in range(size - 2)
        ),
    ]
    chooser.shuffle(moves)
    moved = [score + move for score, move in zip(scores, moves, strict=True)]
    return reference.exponential_mechanism(scores), reference.exponential_mechanism(moved)


def assert_never_below(losses, epsilon, truth, names):
    total = composed(losses, epsilon=epsilon)
    for name in names:
        if total.alternatives[name] is not None:
            assert truth <= reference.real(total.alternatives[name]), name
    assert truth <= reference.real(total.delta)


class TestAgainstRealMechanisms:
    """Every analysis against exponential mechanisms that are enumerated outcome by outcome."""

    @seeds(4, 24)
    def test_random_mechanisms_fixed_beforehand(self, seeds):
        for seed in seeds:
            self.require_random_mechanisms_fixed_beforehand(random.Random(seed))

    def require_random_mechanisms_fixed_beforehand(self, chooser):
        width, copies = (
            chooser.choice([TENTH, HALF, Fraction(1), Fraction(2)]),
            chooser.randint(1, 4),
        )
        losses = {BoundedRange(width): copies}
        with mpmath.workdps(40):
            together = reference.all_together(
                [random_release(chooser, width) for _ in range(copies)]
            )
            for share in (Fraction(1, 50), Fraction(1, 4), Fraction(3, 5), Fraction(1)):
                epsilon = width * copies * share
                for here, there in (together, together[::-1]):
                    assert_never_below(
                        losses, epsilon, reference.hockey_stick_of(here, there, epsilon), EVERY
                    )

    @seeds(4, 12)
    def test_random_mechanisms_of_different_ranges(self, seeds):
        for seed in seeds:
            self.require_random_mechanisms_of_different_ranges(random.Random(100 + seed))

    def require_random_mechanisms_of_different_ranges(self, chooser):
        widths = [chooser.choice([TENTH, HALF, Fraction(1)]) for _ in range(chooser.randint(2, 4))]
        losses = {}
        for width in widths:
            losses[BoundedRange(width)] = losses.get(BoundedRange(width), 0) + 1
        with mpmath.workdps(40):
            here, there = reference.all_together(
                [random_release(chooser, width) for width in widths]
            )
            for share in (Fraction(1, 50), Fraction(2, 5)):
                epsilon = sum(widths) * share
                assert_never_below(
                    losses, epsilon, reference.hockey_stick_of(here, there, epsilon), EVERY
                )

    @seeds(4, 12)
    def test_random_mechanisms_chosen_by_the_first_answer(self, seeds):
        for seed in seeds:
            self.require_random_mechanisms_chosen_by_the_first_answer(random.Random(200 + seed))

    def require_random_mechanisms_chosen_by_the_first_answer(self, chooser):
        width = chooser.choice([TENTH, HALF, Fraction(1)])
        with mpmath.workdps(40):
            first = random_release(chooser, width)
            following = [random_release(chooser, width) for _ in first[0]]
            here, there = reference.one_after_another(first, following)
            for share in (Fraction(1, 50), Fraction(2, 5)):
                truth = reference.hockey_stick_of(here, there, 2 * width * share)
                assert_never_below({BoundedRange(width): 2}, 2 * width * share, truth, ADAPTIVE)

    @pytest.mark.parametrize(
        ("width", "copies", "epsilon"),
        [(1, 2, HALF), (1, 3, Fraction(1)), (HALF, 4, TENTH), (2, 1, Fraction(1))],
    )
    def test_the_worst_mechanisms_fixed_beforehand_reach_the_bound(self, width, copies, epsilon):
        with mpmath.workdps(40):
            truth = max(
                reference.hockey_stick_of(
                    *reference.all_together(
                        [reference.neighbours_with_top(width, Fraction(width) * place / 60)]
                        * copies
                    ),
                    epsilon,
                )
                for place in range(1, 60)
            )
            assert_never_below({BoundedRange(width): copies}, epsilon, truth, EVERY)
            bound = composed({BoundedRange(width): copies}, epsilon=epsilon, adaptive=False).delta
            assert bound <= truth * (1 + 1e-3)

    @pytest.mark.parametrize(
        ("widths", "epsilon"),
        [
            ((1, 1), Fraction(1, 100)),
            pytest.param((1, 1), Fraction(1, 5), marks=pytest.mark.sizes),
            pytest.param((HALF, HALF), Fraction(1, 50), marks=pytest.mark.sizes),
            ((HALF, 1), Fraction(2, 5)),
            pytest.param((1, HALF), Fraction(2, 5), marks=pytest.mark.sizes),
        ],
        ids=repr,
    )
    def test_the_strongest_adversaries_stay_below_the_bound(self, widths, epsilon):
        losses = {}
        for width in widths:
            losses[BoundedRange(width)] = losses.get(BoundedRange(width), 0) + 1
        with mpmath.workdps(40):
            truth = reference.strongest_adversary(widths, epsilon)
            assert_never_below(losses, epsilon, truth, ADAPTIVE)
            assert composed(losses, epsilon=epsilon).delta <= truth * 1.08

    def test_an_adaptive_adversary_beats_the_non_adaptive_number(self):
        # why that analysis may only be used on the caller's word: at epsilon 0.01 two
        # adaptive queries of range 1 reach 5% more
        epsilon = Fraction(1, 100)
        with mpmath.workdps(40):
            truth = reference.strongest_adversary((1, 1), epsilon)
        assert truth > composed(
            {BoundedRange(1): 2}, epsilon=epsilon, adaptive=False
        ).delta * Fraction(104, 100)
        assert truth <= composed({BoundedRange(1): 2}, epsilon=epsilon).delta

    @pytest.mark.parametrize("copies", [1, 2, 3])
    @pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3, 4)])
    def test_randomised_response_reaches_the_bound_of_pure_dp(self, copies, epsilon):
        with mpmath.workdps(40):
            truth = 1 / (1 + mpmath.exp(-1))
            response = ((truth, 1 - truth), (1 - truth, truth))
            reached = reference.hockey_stick_of(
                *reference.all_together([response] * copies), epsilon
            )
            assert_never_below({PureDP(1): copies}, epsilon, reached, EVERY)
            assert composed({PureDP(1): copies}, epsilon=epsilon).delta <= reached * (1 + 1e-9)

    def test_mixed_kinds(self):
        with mpmath.workdps(40):
            truth = 1 / (1 + mpmath.exp(mpmath.mpf(-1) / 2))
            response = ((truth, 1 - truth), (1 - truth, truth))
            for place in range(1, 10):
                ranged = reference.neighbours_with_top(1, Fraction(place, 10))
                for epsilon in (TENTH, Fraction(1, 2), Fraction(1)):
                    reached = reference.hockey_stick_of(
                        *reference.all_together([ranged, response, ranged]), epsilon
                    )
                    assert_never_below(
                        {BoundedRange(1): 2, PureDP(HALF): 1}, epsilon, reached, EVERY
                    )


BUDGETS = [ApproxDP(1, 1e-6), ApproxDP(HALF, 1e-3), ApproxDP(3, 1e-9)]


class TestPlans:
    @pytest.mark.parametrize("budget", [BUDGETS[0], *also(*BUDGETS[1:])], ids=repr)
    @pytest.mark.parametrize("queries", [*also(1, 2), 10])
    @pytest.mark.parametrize("kind", [BoundedRange, PureDP])
    @pytest.mark.parametrize("adaptive", [True, False])
    def test_a_plan_stays_within_its_budget_and_uses_it(self, budget, queries, kind, adaptive):
        found = planned(queries=queries, budget=budget, kind=kind, adaptive=adaptive)
        assert (
            composed({found.loss: queries}, epsilon=budget.epsilon, adaptive=adaptive).delta
            <= budget.delta
        )
        more = kind(found.epsilon * Fraction(101, 100))
        assert (
            composed({more: queries}, epsilon=budget.epsilon, adaptive=adaptive).delta
            > budget.delta
        )

    # pairs plan many queries, which takes more than a second
    @pytest.mark.parametrize("name", only(tuple(PLANNED - {"dominating-pairs"}), sorted(PLANNED)))
    @pytest.mark.parametrize("budget", [BUDGETS[0], *also(BUDGETS[1])], ids=repr)
    def test_every_analysis_confirms_its_own_plan(self, name, budget):
        # pairs are for more queries than fit one block; for fewer the adaptive grid says the same
        queries = BLOCK + 8 if name == "dominating-pairs" else 8
        allowed = planned(queries=queries, budget=budget).alternatives[name]
        if allowed is None:
            pytest.fail(f"{name} has no plan for bounded range")
        confirmed = said(name, {BoundedRange(allowed): queries}, epsilon=budget.epsilon)
        assert confirmed is not None
        assert confirmed <= budget.delta * (1 + Fraction(1, 10**12))
        more = said(
            name, {BoundedRange(allowed * Fraction(101, 100)): queries}, epsilon=budget.epsilon
        )
        assert more is None or more > budget.delta

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(HALF)], ids=repr)
    @pytest.mark.parametrize("queries", [1, 7])
    @pytest.mark.parametrize("kind", [BoundedRange, PureDP])
    def test_plans_for_other_budgets_stay_within_them(self, budget, queries, kind):
        loss = plan(queries=queries, budget=budget, kind=kind).loss
        if isinstance(budget, PureDP):
            assert (
                loss.epsilon * queries
                <= budget.epsilon
                < loss.epsilon * Fraction(101, 100) * queries
            )
        else:
            more = kind(loss.epsilon * Fraction(101, 100))
            assert loss.to_zcdp().rho * queries <= budget.rho < more.to_zcdp().rho * queries

    def test_more_queries_leave_less_for_each(self):
        for adaptive in (True, False):
            each = [
                plan(queries=queries, budget=ApproxDP(1, 1e-6), adaptive=adaptive).epsilon
                for queries in (1, 2, 3, 5, 10)
            ]
            assert all(more > less for more, less in pairwise(each))

    def test_a_larger_budget_leaves_more_for_each(self):
        each = [
            plan(queries=4, budget=ApproxDP(epsilon, 1e-6)).epsilon
            for epsilon in (TENTH, HALF, 1, 3)
        ]
        assert each == sorted(each)


COUNTED = [
    (BoundedRange(TENTH), ApproxDP(1, 1e-6)),
    (BoundedRange(HALF), ApproxDP(3, 1e-6)),
    (BoundedRange(Fraction(1, 5)), ApproxDP(HALF, 1e-3)),
    (PureDP(TENTH), ApproxDP(1, 1e-4)),
    (ZCDP(Fraction(1, 500)), ApproxDP(1, 1e-6)),
    (ApproxDP(TENTH, 1e-7), ApproxDP(1, 1e-4)),
]


every_counted = pytest.mark.parametrize(
    ("each", "budget"),
    [*(pytest.param(*pair, marks=pytest.mark.sizes) for pair in COUNTED[:1]), *COUNTED[1:]],
    ids=repr,
)


class TestNumbersOfQueries:
    @every_counted
    def test_that_many_fit_and_one_more_does_not(self, each, budget):
        found = queries_by_analysis(each=each, budget=budget)
        assert set(found) == set(EVERY)
        for name, most in found.items():
            if most is None:
                assert said(name, {each: 2}, epsilon=budget.epsilon) is None or not isinstance(
                    each, BoundedRange
                )
                continue
            if most:
                fits = said(name, {each: most}, epsilon=budget.epsilon)
                assert fits is not None, name
                assert fits <= budget.delta, name
            beyond = said(name, {each: most + 1}, epsilon=budget.epsilon)
            assert beyond is None or beyond > budget.delta, name

    @every_counted
    def test_the_answer_is_the_best_valid_analysis(self, each, budget):
        found = {
            name: most
            for name, most in queries_by_analysis(each=each, budget=budget).items()
            if most is not None
        }
        assert queries_allowed(each=each, budget=budget) == max(
            found.get(name, 0) for name in ADAPTIVE
        )
        assert queries_allowed(each=each, budget=budget, adaptive=False) == max(found.values())
