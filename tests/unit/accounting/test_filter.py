"""The filter: exact sums, nothing taken on refusal, and why optimal composition formulas may not stand in for it."""

import copy
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
from reference.composition import adaptive_delta, branching_delta, real

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, BudgetExceeded, Filter, PureDP
from discreet.accounting.renyi import largest_rho
from discreet.privacy.loss import Loss
from discreet.purse import OwnPurse

# First a query of range 0.5, at epsilon 0.3. Its answer decides what follows: one query of range a, or two of range b.
FIRST, EPSILON = 0.5, 0.3
ONE, TWO = (0.6,), (0.450977, 0.450977)
FULL = 0.07261674
TRUE = 0.07695569


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
            within = filters[history] = Filter(ApproxDP(EPSILON, delta))
            admitted = []
            for width in (FIRST, *history):
                if within.allows(BoundedRange(width)):
                    within.admit(BoundedRange(width))
                    admitted.append(width)
            assert within.spent <= within.limit
            filters[history] = tuple(admitted[1:])
        # the adversary chooses among what the filter lets through, and stays within the budget
        assert branching_delta(FIRST, [history or (1e-9,) for history in filters.values()], EPSILON) <= delta

    def test_a_filter_that_lets_both_histories_through_says_so_in_its_budget(self):
        budget = ApproxDP(EPSILON, 0.2)
        for history in (ONE, TWO):
            within = Filter(budget)
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
    within = Filter(budget)
    for _ in range(times):
        within.admit(each)
    assert within.remaining == 0
    assert not within.allows(each)
    with pytest.raises(BudgetExceeded, match=r"The budget has 0 left\. Requested"):
        within.admit(each)
    assert within.spent == within.limit


@pytest.mark.parametrize(
    ("loss", "rho"),
    [
        (BoundedRange(1), 0.1233015614822445),
        (BoundedRange(0.1), 0.001249826427459838),
        (PureDP(1), 0.46211715726001),
        (ZCDP(0.3), 0.3),
    ],
    ids=repr,
)
@pytest.mark.parametrize("budget", [ZCDP(2), ApproxDP(8, 1e-6)], ids=repr)
def test_losses_cost_their_concentrated_dp(budget, loss, rho):
    within = Filter(budget)
    within.admit(loss)
    assert float(within.spent) == pytest.approx(rho, rel=1e-14)
    assert within.cost(loss) == (within.spent, 0)
    assert within.remaining == within.limit - within.spent


@pytest.mark.parametrize(
    ("epsilon", "delta", "limit"), [(1, 1e-6, 0.024355970360), (3, 1e-9, 0.120582428911), (0.5, 1e-5, 0.008505530591)]
)
def test_the_limit_of_an_approximate_budget(epsilon, delta, limit):
    assert float(Filter(ApproxDP(epsilon, delta)).limit) == pytest.approx(limit, rel=1e-8)


def test_what_an_approximate_budget_admits_stays_within_it_by_composition():
    budget = ApproxDP(1, 1e-6)
    within, admitted = Filter(budget), []
    for epsilon in (Fraction(1, 10), Fraction(1, 20)):
        while within.allows(BoundedRange(epsilon)):
            within.admit(BoundedRange(epsilon))
            admitted.append(BoundedRange(epsilon))
    assert len(admitted) > 15
    assert discreet.compose(admitted, delta=budget.delta).epsilon <= budget.epsilon
    assert within.limit <= Fraction(str(real(Fraction(largest_rho(Fraction(1), Fraction(1, 10**6)))))) * (
        1 + Fraction(1, 10**14)
    )


@pytest.mark.parametrize("too_much", [PureDP(0.6), BoundedRange(0.6), ApproxDP(0.6, 0)], ids=repr)
def test_a_refusal_takes_nothing_and_names_the_numbers(too_much):
    within = Filter(PureDP(1))
    within.admit(PureDP(0.5))
    before = (within.spent, within.delta_spent, within.remaining)
    with pytest.raises(BudgetExceeded, match=r"^The budget has 0\.5 left\. Requested 0\.6\.$") as refused:
        within.admit(too_much)
    assert (refused.value.requested, refused.value.remaining) == (Fraction(3, 5), Fraction(1, 2))
    assert (within.spent, within.delta_spent, within.remaining) == before
    within.admit(PureDP(0.5))  # what fits still does
    assert within.remaining == 0


def test_budget_exceeded_survives_pickling_and_copying():
    error = BudgetExceeded(requested=Fraction(1, 3), remaining=Fraction(1, 7))
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is BudgetExceeded
        assert (other.requested, other.remaining, str(other)) == (Fraction(1, 3), Fraction(1, 7), str(error))
    assert isinstance(error, discreet.DiscreetError)


def test_an_enormous_request_is_refused_like_any_other():
    with pytest.raises(BudgetExceeded, match="The budget has 1 left"):
        Filter(PureDP(1)).admit(PureDP(10**400))


class TestDeltaOfLosses:
    def test_it_is_taken_from_the_budget_beforehand(self):
        within = Filter(ApproxDP(1, 1e-6), delta_for_losses=Fraction(4, 10**7))
        assert within.limit == largest_rho(Fraction(1), Fraction(6, 10**7))
        within.admit(ApproxDP(0.01, Fraction(3, 10**7)))
        assert within.delta_spent == Fraction(3, 10**7)
        assert within.spent == PureDP(0.01).to_zcdp().rho

    def test_it_adds_up_and_runs_out(self):
        within = Filter(ApproxDP(1, 1e-6), delta_for_losses=Fraction(4, 10**7))
        within.admit(ApproxDP(0.01, Fraction(3, 10**7)))
        before = (within.spent, within.delta_spent)
        with pytest.raises(BudgetExceeded, match="left"):
            within.admit(ApproxDP(0.01, Fraction(2, 10**7)))
        assert (within.spent, within.delta_spent) == before
        within.admit(ApproxDP(0.01, 1e-7))
        assert within.delta_spent == within.delta_limit

    def test_a_float_means_the_decimal_that_it_prints_as(self):
        within = Filter(ApproxDP(1, 1e-6), delta_for_losses=3e-7)
        for _ in range(3):
            within.admit(ApproxDP(0.01, 1e-7))
        assert within.delta_spent == within.delta_limit

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)
    def test_without_it_losses_with_a_delta_do_not_fit(self, budget):
        within = Filter(budget)
        assert not within.allows(ApproxDP(0.01, 1e-9))
        with pytest.raises(BudgetExceeded, match=r"has 0 left\. Requested 1e-09"):
            within.admit(ApproxDP(0.01, 1e-9))
        assert within.spent == 0

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)
    def test_losses_whose_delta_is_zero_fit_without_it(self, budget):
        within = Filter(budget)
        within.admit(ApproxDP(0.01, 0))
        assert within.spent == within.cost(PureDP(0.01))[0]

    @pytest.mark.parametrize("share", [1e-6, 1e-5, 1, -1e-9, Fraction(1, 10**6), float("nan"), float("inf")], ids=repr)
    def test_it_must_leave_something_of_delta(self, share):
        with pytest.raises(discreet.ParameterError, match="The 'delta_for_losses' parameter of Filter must be"):
            Filter(ApproxDP(1, 1e-6), delta_for_losses=share)

    @pytest.mark.parametrize("share", [True, "1e-7", None, [0], 1j], ids=repr)
    def test_it_must_be_a_number(self, share):
        with pytest.raises(discreet.ParameterTypeError, match="The 'delta_for_losses' parameter of Filter must be a number"):
            Filter(ApproxDP(1, 1e-6), delta_for_losses=share)

    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1)], ids=repr)
    @pytest.mark.parametrize("share", [0.1, -0.1])
    def test_other_budgets_have_no_delta_to_set_aside(self, budget, share):
        # else what was admitted would not be pure or concentrated DP
        with pytest.raises(discreet.ParameterError, match="The 'delta_for_losses' parameter of Filter must be"):
            Filter(budget, delta_for_losses=share)


class TestNoRefunds:
    """Whoever asks may choose the losses adaptively, but never give anything back."""

    BUDGETS = pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)

    @BUDGETS
    @pytest.mark.parametrize(
        "times",
        [
            *(-5, 0, float("nan"), float("inf"), 1.0, True, np.True_, "2", None, Fraction(-1)),
            np.timedelta64(3),
        ],
        ids=repr,
    )
    def test_a_part_occurs_a_whole_number_of_times(self, budget, times):
        within = Filter(budget)
        within.admit(PureDP(0.01))
        before = (within.spent, within.delta_spent)
        with pytest.raises(discreet.ParameterError, match="'losses' parameter of Filter must"):
            within.admit_parts({PureDP(0.01): times})
        assert (within.spent, within.delta_spent) == before
        if not isinstance(budget, PureDP):  # which takes the loss as a whole
            with pytest.raises(discreet.ParameterError, match="'losses' parameter of Filter must"):
                within.price(PureDP(5), {PureDP(0.01): times})

    @BUDGETS
    @pytest.mark.parametrize("parts", [{}, [], [(PureDP(0.1), 1)], PureDP(0.1), None], ids=repr)
    def test_a_release_has_parts(self, budget, parts):
        within = Filter(budget)
        with pytest.raises(discreet.ParameterTypeError, match=r"'losses' .* a mapping from losses"):
            within.admit_parts(parts)
        assert within.spent == 0

    @BUDGETS
    @pytest.mark.parametrize("delta", [-1e-9, float("nan"), Fraction(-1, 9), "0"], ids=repr)
    def test_a_delta_gives_nothing_back(self, budget, delta):
        within = Filter(budget)
        with pytest.raises(discreet.ParameterError, match="'delta' parameter of Filter must"):
            within.admit_parts({PureDP(0.1): 1}, delta=delta)
        with pytest.raises(discreet.ParameterError, match="'delta' parameter of Filter must"):
            within.take(Fraction(0), delta)
        assert (within.spent, within.delta_spent) == (0, 0)

    @BUDGETS
    @pytest.mark.parametrize("amount", [Fraction(-1), -1, float("nan"), None], ids=repr)
    def test_an_amount_gives_nothing_back(self, budget, amount):
        within = Filter(budget)
        within.admit(PureDP(0.05))
        before = within.spent
        with pytest.raises(discreet.ParameterError, match="'amount' parameter of Filter must"):
            within.take(amount, Fraction(0))
        assert within.spent == before

    @BUDGETS
    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_a_filter_is_one_budget(self, budget, duplicate):
        with pytest.raises(TypeError, match="A Filter is one budget, and a copy would be"):
            duplicate(Filter(budget))

    def test_a_session_with_a_budget_of_its_own_cannot_be_copied_deeply(self):
        with pytest.raises(TypeError, match="A Filter is one budget"):
            copy.deepcopy(OwnPurse(PureDP(1)))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_a_forked_child_has_no_budget(self):
        within = Filter(PureDP(1))
        child = os.fork()
        if not child:
            code = 3
            try:
                within.admit(PureDP(0.1))
            except discreet.DiscreetError as error:
                code = 0 if "belongs to the process that made it" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        within.admit(PureDP(1))


@pytest.mark.parametrize("budget", [None, 1, "1", True, BoundedRange(1), PureDP, Loss(), {}], ids=repr)
def test_other_budgets_are_refused(budget):
    with pytest.raises(discreet.ParameterTypeError, match="The 'budget' parameter of Filter must be PureDP, ZCDP or ApproxDP"):
        Filter(budget)


def test_an_approximate_budget_without_delta_is_pure():
    within = Filter(ApproxDP(1, 0))
    for _ in range(10):
        within.admit(BoundedRange(0.1))
    assert within.remaining == 0
    assert not within.allows(PureDP(1e-9))


@pytest.mark.parametrize("loss", [None, 0.1, "0.1", True, Loss(), PureDP, [PureDP(0.1)]], ids=repr)
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP(1), ApproxDP(1, 1e-6)], ids=repr)
def test_what_is_no_loss_is_refused(budget, loss):
    within = Filter(budget)
    for ask in (within.admit, within.allows, within.cost):
        with pytest.raises(discreet.ParameterTypeError, match="The 'loss' parameter of Filter must be PureDP"):
            ask(loss)
    assert within.spent == 0


def test_a_pure_budget_refuses_concentrated_losses():
    within = Filter(PureDP(1))
    with pytest.raises(discreet.ParameterTypeError, match="must be PureDP or BoundedRange for a pure budget"):
        within.admit(ZCDP(0.0001))
    assert within.spent == 0


@pytest.mark.parametrize(
    "budget", [ApproxDP(1e-9, 1e-6), ApproxDP(1e-9, 1e-300), ApproxDP(1000, 1e-6), ApproxDP(1, 0.999)], ids=repr
)
def test_extreme_budgets_have_a_limit(budget):
    within = Filter(budget)
    assert within.limit >= 0
    if within.allows(BoundedRange(1e-12)):
        within.admit(BoundedRange(1e-12))
    assert within.spent <= within.limit
    assert not within.allows(PureDP(10**4))
