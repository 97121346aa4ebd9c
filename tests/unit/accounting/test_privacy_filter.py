"""The filter: exact sums, nothing taken on refusal, and why optimal composition formulas may not
stand in for it.
"""

import copy
import os
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.composition import adaptive_delta, branching_delta, real
from tiers import loop_over

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, BudgetExceededError, ParameterError, PureDP
from discreet.accounting import Cost, PrivacyFilter
from discreet.accounting.budget_rules import NOTHING
from discreet.accounting.privacy_filter import BudgetRule
from discreet.accounting.renyi import largest_rho
from discreet.errors import ParameterTypeError
from discreet.privacy.loss import Loss
from discreet.tables.payment import SessionBudget

# First a query of range 0.5, at epsilon 0.3. Its answer decides what follows: one query of
# range a, or two of range b.
FIRST, EPSILON = 0.5, 0.3
ONE, TWO = (0.6,), (0.450977, 0.450977)
FULL = 0.07261674
TRUE = 0.07695569


class TestPricesAreThoseOfTheBudget:
    """A price that was computed once is remembered, for its budget and no other."""

    @pytest.mark.parametrize("loss", [PureDP(0.1), BoundedRange(0.1), PureDP(Fraction(1, 7))])
    def test_one_loss_in_several_budgets_one_after_the_other(self, loss):
        rules = [
            BudgetRule.of(ApproxDP(1, 1e-6)),
            BudgetRule.of(ApproxDP(2, 1e-6)),
            BudgetRule.of(ApproxDP(1, 1e-6), counting="rho"),
            BudgetRule.of(PureDP(1)),
            replace(BudgetRule.of(ApproxDP(1, 1e-6)), coin=Fraction(1, 10)),
        ]
        for rule in (*rules, *reversed(rules)):
            taken = rule.spending(Cost(loss))
            assert taken.squares == rule.squares_of(loss)
            assert taken.epsilon == loss.epsilon
        assert len({rule.spending(Cost(loss)).squares for rule in rules}) == 4


class TestOptimalCompositionIsNoFilter:
    def test_every_history_looks_as_if_it_fitted(self):
        for history in (ONE, TWO):
            assert adaptive_delta((FIRST, *history), EPSILON) == pytest.approx(FULL, rel=2e-6)

    def test_an_adversary_who_chooses_the_history_exceeds_the_budget(self):
        reached = branching_delta(FIRST, [ONE, TWO], EPSILON)
        assert reached == pytest.approx(TRUE, rel=1e-6)
        assert reached > 1.05 * FULL

    @pytest.mark.parametrize("delta", [FULL, 0.09])
    def test_the_filter_withstands_the_same_adversary(self, delta):
        filters = {}
        for history in (ONE, TWO):
            within = filters[history] = PrivacyFilter(ApproxDP(EPSILON, delta))
            admitted = []
            for width in (FIRST, *history):
                if within.allows(BoundedRange(width)):
                    within.admit(BoundedRange(width))
                    admitted.append(width)
            assert within.rule.fits(within._spent)
            filters[history] = tuple(admitted[1:])
        # the adversary chooses among what the filter lets through, and stays within the budget
        assert (
            branching_delta(FIRST, [history or (1e-9,) for history in filters.values()], EPSILON)
            <= delta
        )

    def test_a_filter_that_lets_both_histories_through_says_so_in_its_budget(self):
        budget = ApproxDP(EPSILON, 0.2)
        for history in (ONE, TWO):
            within = PrivacyFilter(budget)
            for width in (FIRST, *history):
                within.admit(BoundedRange(width))
        assert branching_delta(FIRST, [ONE, TWO], EPSILON) <= budget.delta


@pytest.mark.parametrize(
    ("budget", "each", "times"),
    [
        (PureDP(1), PureDP(0.1), 10),
        (PureDP(1), BoundedRange(0.1), 10),
        (PureDP(0.3), BoundedRange(0.1), 3),
        (PureDP(Fraction(1, 3)), PureDP(Fraction(1, 12)), 4),
        (ZCDP(1), ZCDP(0.1), 10),
        (ZCDP(np.float32(0.7)), ZCDP(0.1), 7),
    ],
    ids=repr,
)
def test_sums_are_exact(budget, each, times):
    within = PrivacyFilter(budget)
    for _ in range(times):
        within.admit(each)
    assert within.remaining() == 0
    assert not within.allows(each)
    with pytest.raises(BudgetExceededError, match=r"but your budget is used up\. Only answers"):
        within.admit(each)
    assert within.spent() == budget.numbers[0]
    assert within.questions_left(epsilon=0.1) == 0


@loop_over(
    ("loss", "rho"),
    [
        (BoundedRange(1), 0.1233015614822445),
        (BoundedRange(0.1), 0.001249826427459838),
        (PureDP(1), 0.46211715726001),
        (ZCDP(0.3), 0.3),
    ],
    ids=repr,
)
@loop_over("budget", [ZCDP(2), ApproxDP(8, 1e-6)], ids=repr)
def test_losses_cost_their_concentrated_dp(budget, loss, rho):
    within = PrivacyFilter(budget, counting="rho")
    within.admit(loss)
    assert float(within.spent()) == pytest.approx(rho, rel=1e-14)
    assert within.spent().unit == within.remaining().unit == "rho"
    limit = within.rule.squares_limit
    assert within.remaining().value == limit - within.spent().value


@pytest.mark.parametrize(
    ("epsilon", "delta", "limit"),
    [(1, 1e-6, 0.024355970360), (3, 1e-9, 0.120582428911), (0.5, 1e-5, 0.008505530591)],
)
def test_the_limit_of_an_approximate_budget(epsilon, delta, limit):
    rule = BudgetRule.of(ApproxDP(epsilon, delta), delta_for_losses=0, counting="rho")
    assert float(rule.squares_limit) == pytest.approx(limit, rel=1e-8)


def test_what_an_approximate_budget_admits_stays_within_it_by_composition():
    budget = ApproxDP(1, 1e-6)
    within, admitted = PrivacyFilter(budget), []
    for epsilon in (Fraction(1, 10), Fraction(1, 20)):
        while within.allows(BoundedRange(epsilon)):
            within.admit(BoundedRange(epsilon))
            admitted.append(BoundedRange(epsilon))
    assert len(admitted) > 20
    assert discreet.compose(admitted, delta=budget.delta).epsilon <= budget.epsilon
    limit = BudgetRule.of(budget, delta_for_losses=0, counting="rho").squares_limit
    assert limit <= Fraction(str(real(Fraction(largest_rho(Fraction(1), Fraction(1, 10**6)))))) * (
        1 + Fraction(1, 10**14)
    )


@pytest.mark.parametrize("too_much", [PureDP(0.6), BoundedRange(0.6), ApproxDP(0.6, 0)], ids=repr)
def test_a_refusal_takes_nothing_and_names_the_numbers(too_much):
    within = PrivacyFilter(PureDP(1))
    within.admit(PureDP(0.5))
    before = (within.spent(), within.remaining())
    text = (
        r"^This question costs epsilon 0\.6, but your budget has only 0\.5 left\. "
        r"Ask with epsilon=0\.5 or less\.$"
    )
    with pytest.raises(BudgetExceededError, match=text):
        within.admit(too_much)
    assert (within.spent(), within.remaining()) == before
    within.admit(PureDP(0.5))  # what fits still does
    assert within.remaining() == 0


def test_budget_exceeded_survives_pickling_and_copying():
    error = BudgetExceededError("The budget is spent.")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is BudgetExceededError
        assert str(other) == "The budget is spent."
    assert isinstance(error, discreet.DiscreetError)


class TestDeltaOfLosses:
    def test_it_is_taken_from_the_budget_beforehand(self):
        share = Fraction(4, 10**7)
        rule = BudgetRule.of(ApproxDP(1, 1e-6), delta_for_losses=share, counting="rho")
        assert rule.squares_limit == largest_rho(Fraction(1), Fraction(6, 10**7))
        taken = rule.spending(Cost(ApproxDP(0.01, Fraction(3, 10**7))))
        assert taken.delta == Fraction(3, 10**7)
        assert taken.squares == PureDP(0.01).to_zcdp().rho

    def test_it_adds_up_and_runs_out(self):
        within = PrivacyFilter(ApproxDP(1, 1e-6), delta_for_losses=Fraction(4, 10**7))
        within.admit(ApproxDP(0.01, Fraction(3, 10**7)))
        before = within.spent()
        text = (
            r"^This question costs a delta of 2e-07, but your budget has only 1e-07 left for such "
            r"questions\. Ask with delta=1e-07 or less\.$"
        )
        with pytest.raises(BudgetExceededError, match=text):
            within.admit(ApproxDP(0.01, Fraction(2, 10**7)))
        assert within.spent() == before
        within.admit(ApproxDP(0.01, 1e-7))
        assert not within.allows(ApproxDP(0.01, 1e-9))
        assert within.allows(PureDP(0.01))

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1)], ids=repr)
    def test_without_it_losses_with_a_delta_do_not_fit(self, budget):
        within = PrivacyFilter(budget)
        assert not within.allows(ApproxDP(0.01, 1e-9))
        with pytest.raises(
            BudgetExceededError, match=r"a delta of 1e-09, but your budget has no delta left"
        ):
            within.admit(ApproxDP(0.01, 1e-9))
        assert within.spent() == 0

    def test_what_is_within_an_untouched_budget_fits_and_empties_it(self):
        for loss in (ApproxDP(1, 1e-6), ApproxDP(0.5, 9e-7), PureDP(1), BoundedRange(1)):
            within = PrivacyFilter(ApproxDP(1, 1e-6))
            assert loss <= within.budget
            within.admit(loss)
        within = PrivacyFilter(ApproxDP(1, 1e-6), delta_for_losses=0)
        within.admit(ApproxDP(0.5, 9e-7))
        assert within.remaining() == 0
        assert not within.allows(PureDP(1e-9))

    def test_a_touched_budget_has_no_such_room(self):
        within = PrivacyFilter(ApproxDP(1, 1e-6))
        within.admit(PureDP(1e-6))
        assert not within.allows(ApproxDP(0.5, 9e-7))

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)
    def test_losses_whose_delta_is_zero_fit_without_it(self, budget):
        within, other = PrivacyFilter(budget), PrivacyFilter(budget)
        within.admit(ApproxDP(0.01, 0))
        other.admit(PureDP(0.01))
        assert within.spent() == other.spent()

    @pytest.mark.parametrize(
        "share", [1e-6, 1e-5, 1, -1e-9, Fraction(1, 10**6), float("nan"), float("inf")], ids=repr
    )
    def test_it_must_leave_something_of_delta(self, share):
        with pytest.raises(
            ParameterError, match="The 'delta_for_losses' parameter of PrivacyFilter must be"
        ):
            PrivacyFilter(ApproxDP(1, 1e-6), delta_for_losses=share)

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1)], ids=repr)
    @pytest.mark.parametrize("share", [0.1, -0.1])
    def test_other_budgets_have_no_delta_to_set_aside(self, budget, share):
        # else what was admitted would not be pure or concentrated DP
        with pytest.raises(
            discreet.ParameterError,
            match="The 'delta_for_losses' parameter of PrivacyFilter must be",
        ):
            PrivacyFilter(budget, delta_for_losses=share)


class TestNoRefunds:
    """Whoever asks may choose the losses adaptively, but never give anything back."""

    BUDGETS = pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)

    @BUDGETS
    @pytest.mark.parametrize(
        "times",
        [
            *(-5, 0, float("nan"), float("inf"), 1.0, True, np.True_, "2", None, Fraction(-1)),
            np.int64(3).view("m8"),  # a length of time, which NumPy counts among its integers
        ],
        ids=repr,
    )
    def test_a_part_occurs_a_whole_number_of_times(self, budget, times):
        within = PrivacyFilter(budget)
        within.admit(PureDP(0.01))
        before = within.spent()
        wrong = "'losses' parameter of PrivacyFilter must"
        # what takes as much once is remembered, and True is 1 to Python
        within.allows(Cost(PureDP(0.5), {PureDP(0.01): 1}))
        with pytest.raises(ParameterError, match=wrong):
            within.admit_parts({PureDP(0.01): times})
        if not isinstance(budget, PureDP):  # which takes the loss as a whole
            with pytest.raises(ParameterError, match="'parts' parameter of Cost must"):
                within.admit(Cost(PureDP(0.5), {PureDP(0.01): times}))
        assert within.spent() == before

    @BUDGETS
    @pytest.mark.parametrize("parts", [{}, [], [(PureDP(0.1), 1)], PureDP(0.1), None], ids=repr)
    def test_a_release_has_parts(self, budget, parts):
        within = PrivacyFilter(budget)
        with pytest.raises(ParameterTypeError, match=r"'losses' .* a mapping from losses"):
            within.admit_parts(parts)
        assert within.spent() == 0

    @BUDGETS
    @pytest.mark.parametrize("delta", [-1e-9, float("nan"), Fraction(-1, 9), "0"], ids=repr)
    def test_a_delta_gives_nothing_back(self, budget, delta):
        within = PrivacyFilter(budget)
        with pytest.raises(ParameterError, match="'delta' parameter of PrivacyFilter must"):
            within.admit_parts({PureDP(0.1): 1}, delta=delta)
        assert within.spent() == 0

    @BUDGETS
    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_a_filter_is_one_budget(self, budget, duplicate):
        with pytest.raises(
            TypeError,
            match=r"A PrivacyFilter cannot be copied or pickled: a copy would be a second "
            r"budget\. Share it, or use a Ledger",
        ):
            duplicate(PrivacyFilter(budget))

    def test_a_session_with_a_budget_of_its_own_cannot_be_copied_deeply(self):
        with pytest.raises(
            TypeError,
            match=r"A PrivacyFilter cannot be copied or pickled: a copy would be a second "
            r"budget\. Share it, or use a Ledger",
        ):
            copy.deepcopy(SessionBudget(PureDP(1), None))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_a_forked_child_has_no_budget(self):
        within = PrivacyFilter(PureDP(1))
        child = os.fork()
        if not child:
            code = 3
            try:
                within.admit(PureDP(0.1))
            except discreet.DiscreetError as error:
                code = (
                    0
                    if "This budget can only be used in the process that made it. After a fork, "
                    "make a new one in the child from a part of the budget, or use a Ledger."
                    in str(error)
                    else 2
                )
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        within.admit(PureDP(1))


@loop_over("budget", [None, 1, "1", True, BoundedRange(1), PureDP, Loss(), {}], ids=repr)
def test_other_budgets_are_refused(budget):
    with pytest.raises(
        discreet.errors.ParameterTypeError,
        match="The 'budget' parameter of PrivacyFilter must be PureDP, ZCDP or ApproxDP",
    ):
        PrivacyFilter(budget)


def test_an_approximate_budget_without_delta_is_pure():
    within = PrivacyFilter(ApproxDP(1, 0))
    for _ in range(10):
        within.admit(BoundedRange(0.1))
    assert within.remaining() == 0
    assert not within.allows(PureDP(1e-9))


@pytest.mark.parametrize("rho", [Fraction(1, 10**6), Fraction(1, 8), Fraction(3)], ids=str)
def test_the_largest_question_of_a_concentrated_budget_is_the_last_that_fits(rho):
    within = PrivacyFilter(ZCDP(rho))
    largest = within.rule.largest(NOTHING)
    assert within.allows(BoundedRange(largest))
    assert not within.allows(BoundedRange(largest * (1 + Fraction(1, 10**6))))


@loop_over("loss", [None, 0.1, "0.1", True, Loss(), PureDP, [PureDP(0.1)]], ids=repr)
@loop_over("budget", [PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)
def test_what_is_no_loss_is_refused(budget, loss):
    within = PrivacyFilter(budget)
    for ask in (within.admit, within.allows):
        with pytest.raises(
            ParameterTypeError, match="The 'loss' parameter of PrivacyFilter must be a loss"
        ):
            ask(loss)
    assert within.spent() == 0


def test_a_pure_budget_refuses_concentrated_losses():
    within = PrivacyFilter(PureDP(1))
    with pytest.raises(
        ParameterTypeError, match="must be PureDP or BoundedRange for a budget that counts epsilon"
    ):
        within.admit(ZCDP(0.0001))
    assert within.spent() == 0


@pytest.mark.parametrize(
    "budget",
    [ApproxDP(1e-9, 1e-6), ApproxDP(1e-9, 1e-300), ApproxDP(1000, 1e-6), ApproxDP(1, 0.999)],
    ids=repr,
)
def test_extreme_budgets_have_a_limit(budget):
    within = PrivacyFilter(budget)
    if within.allows(BoundedRange(1e-12)):
        within.admit(BoundedRange(1e-12))
    assert within.rule.fits(within._spent)
    assert not within.allows(PureDP(10**4))


class TestCoins:
    """What people really get, of budgets that count coins."""

    @pytest.mark.parametrize(
        ("share", "each", "times"), [(None, 0.1, 20), (None, 0.05, 82), (0, 0.1, 21), (0, 0.05, 86)]
    )
    def test_many_questions(self, share, each, times):
        within = PrivacyFilter(ApproxDP(1, 1e-6), delta_for_losses=share)
        left = within.questions_left(epsilon=each)
        assert left >= times
        for number in range(left):
            assert within.questions_left(epsilon=each) == left - number
            within.admit(BoundedRange(each))
        with pytest.raises(BudgetExceededError, match=r"but your budget (has|is)"):
            within.admit(BoundedRange(each))

    def test_never_fewer_than_a_pure_budget(self):
        for losses in ([PureDP(0.25)] * 4, [PureDP(0.9), PureDP(0.1)], [PureDP(1)]):
            within, pure = PrivacyFilter(ApproxDP(1, 1e-6)), PrivacyFilter(PureDP(1))
            for loss in losses:
                pure.admit(loss)
                within.admit(loss)

    def test_amounts_have_a_unit(self):
        within = PrivacyFilter(ApproxDP(1, 1e-6))
        within.admit(BoundedRange(0.1))
        amounts = within.spent(), within.remaining()
        assert [str(each) for each in amounts] == ["4.7% of the budget", "95.3% of the budget"]
        assert [each.exact for each in amounts] == ["100 coins of 0.01", "2029 coins of 0.01"]
        within.admit(PureDP(0.8))
        # one question took more than all coins, and a tenth is left of the plain sum
        assert str(within.remaining()) == "0.1 epsilon"
        assert str(within.spent()) == "0.9 epsilon"

    def test_a_list_pays_by_its_parts(self):
        whole, parts = PrivacyFilter(ApproxDP(1, 1e-6)), PrivacyFilter(ApproxDP(1, 1e-6))
        whole.admit(PureDP(0.3))
        parts.admit(Cost(PureDP(0.3), {BoundedRange(0.1): 3}))
        assert parts.spent().exact == "300 coins of 0.01"
        assert parts.questions_left(epsilon=0.1) > whole.questions_left(epsilon=0.1)

    @pytest.mark.parametrize(
        ("budget", "counting"), [(PureDP(1), "rho"), (ZCDP(1), "coins"), (ApproxDP(1, 1e-6), "x")]
    )
    def test_what_does_not_count(self, budget, counting):
        with pytest.raises(discreet.ParameterError, match="'counting' parameter of PrivacyFilter"):
            PrivacyFilter(budget, counting=counting)
