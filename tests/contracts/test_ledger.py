"""What a ledger promises, the same in a file and on a server."""

from __future__ import annotations

import copy
import json
import os
import pickle
import signal
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil

import mpmath
import pytest
from faults.ledgers import EVERY, a_place

from discreet import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    BudgetClosedError,
    BudgetExceededError,
    GaussianDP,
    Ledger,
    LedgerError,
    ParameterError,
    PureDP,
    Release,
)
from discreet.accounting import Cost
from discreet.accounting.budget_rules import Spending
from discreet.accounting.renyi import largest_rho
from discreet.errors import (
    KeyReusedError,
    LedgerDamagedError,
    ParameterTypeError,
    ReservationLostError,
    ReservationRunningError,
)
from discreet.ledger.group_commit import Threads
from discreet.ledger.schema import DEFINITIONS, SCHEMA
from discreet.ledger.validation import read_known_name
from discreet.privacy.loss import NO_LOSS

ASK = {"what": "mode"}
UNIT = Fraction(1, 10**30)
CANARY = "canary-4711"
NO_ROOM = (
    "This data set has no room for this question. Ask with a smaller epsilon, or request a larger "
    "budget."
)


TOO_LITTLE = [
    (ApproxDP(1, 1e-6), PureDP(10), {PureDP(1e-9): 1}),
    (ZCDP(1), PureDP(1), {PureDP(0.1): 9}),
    (PureDP(1), PureDP(1), {PureDP(0.1): 9}),
    (ZCDP(1), BoundedRange(1), {BoundedRange(0.5): 1}),
    (ZCDP(1), ZCDP(0.1), {ZCDP(0.01): 9}),
    (ZCDP(1), ZCDP(0.1), {PureDP(0.01): 9}),
    (ZCDP(1), PureDP(1), {ZCDP(0.9): 1}),
    (ApproxDP(2, 1e-3), ApproxDP(1, 1e-6), {PureDP(0.9): 1}),
    (ApproxDP(2, 1e-3), ApproxDP(1, 1e-6), {ZCDP(1e-9): 1}),
    (ApproxDP(2, 1e-3), ApproxDP(1, 1e-6), {ApproxDP(0.9, 1e-6): 1}),
    (ApproxDP(2, 1e-3), ApproxDP(1, 1e-6), {ZCDP(0.1): 1, ApproxDP(0.9, 1e-6): 1}),
]
"""A budget, a loss, and parts that do not make it up."""


ENOUGH = [
    (PureDP(1), {PureDP(0.1): 10}),
    (PureDP(1), {BoundedRange(0.25): 3, PureDP(0.25): 1}),
    (ZCDP(0.1), {ZCDP(0.05): 1, ZCDP(0.025): 2}),
    (ApproxDP(1, 1e-6), {BoundedRange(0.25): 10}),
    (ApproxDP(1, 1e-6), {ApproxDP(1, 1e-7): 1}),
    (ApproxDP(0.81, 1e-6), {ZCDP(0.02): 1}),
]


@pytest.fixture(params=EVERY)
def place(request, tmp_path):
    with a_place(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def ledger(place):
    with Ledger(place.url, timeout=60) as opened:
        yield opened


def _full(*asked):
    raise LedgerError("The disk is full.")


def answer(value="terrier", loss=None):
    return Release(value=value, loss=loss or PureDP(0.1), mechanism="test", candidates=3)


def charge(ledger, epsilon=0.1, dataset="survey", **options):
    return ledger.reserve(dataset, PureDP(epsilon), request=ASK, **options)


class TestOpening:
    def test_the_same_terms_again_change_nothing(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger)
        before = ledger.anchor()
        ledger.open("survey", budget=PureDP(1))
        assert ledger.spent("survey") == Fraction(1, 10)
        assert ledger.anchor() == before

    @pytest.mark.parametrize("budget", [PureDP(2), PureDP(0.5), ZCDP(1), ApproxDP(1, 1e-6)])
    def test_budgets_never_change_silently(self, ledger, budget):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match=r"To raise a budget, use Ledger\.extend"):
            ledger.open("survey", budget=budget)
        assert ledger.account("survey").budget == PureDP(1)

    @pytest.mark.parametrize(
        "other", [{"windows": True}, {"delta_for_losses": 9e-7}, {"counting": "rho"}]
    )
    def test_other_terms_with_the_same_budget_are_refused(self, ledger, other):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        with pytest.raises(ParameterError, match="same terms"):
            ledger.open("survey", budget=ApproxDP(1, 1e-6), **other)

    def test_a_ledger_that_is_not_there_is_not_made_if_not_wanted(self, place):
        with pytest.raises(LedgerError, match="must exist"):
            Ledger(place.url, create=False)
        with Ledger(place.url) as ledger:
            assert ledger.accounts() == ()

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_many_processes_may_begin_at_once(self, place):
        read, written = os.pipe()

        def begin():
            os.close(written)
            os.read(read, 1)
            Ledger(place.url).open("survey", budget=PureDP(1))

        clients = [start_child(begin) for _ in range(6)]
        # they read the end of the pipe, and go on together
        os.close(written)
        assert [end_of(client) for client in clients] == [0] * 6
        os.close(read)
        with Ledger(place.url) as ledger:
            assert ledger.verify().entries == 1

    def test_what_nobody_said_may_be_otherwise(self, ledger):
        """Another version chooses another share of delta, or certifies more coins."""
        ledger.open("survey", budget=ApproxDP(1, 1e-6), delta_for_losses=5e-7, counting="rho")
        before = ledger.account("survey")
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        assert ledger.account("survey") == before
        assert ledger.verify().entries == 1

    def test_an_analyst_may_count_something_else(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        ledger.open("survey", budget=PureDP(0.2), analyst="ada")
        ledger.open("survey", budget=ZCDP(0.01), analyst="bob")
        for name in ("ada", "bob"):
            ledger.reserve("survey", BoundedRange(0.1), request=ASK, analyst=name)
        assert ledger.account("survey").spent == 200
        assert ledger.account("survey", analyst="ada").spent == Fraction(1, 10)
        assert ledger.account("survey", analyst="bob").spent == BoundedRange(0.1).to_zcdp().rho
        ledger.reserve("survey", BoundedRange(0.1), request=ASK, analyst="ada")
        with pytest.raises(
            BudgetExceededError, match=r"but the budget of 'survey' for 'ada' is used up"
        ):
            ledger.reserve("survey", BoundedRange(0.01), request=ASK, analyst="ada")
        ledger.verify()

    def test_an_analyst_needs_a_data_set(self, ledger):
        with pytest.raises(ParameterError, match="opened in this ledger"):
            ledger.open("survey", budget=PureDP(1), analyst="ada")


class TestExtending:
    def test_a_budget_grows_with_a_reason_and_what_was_spent_stays_spent(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, 0.75)
        ledger.extend("survey", budget=PureDP(2), reason="The board said so.")
        assert ledger.account("survey").budget == PureDP(2)
        assert ledger.remaining("survey") == Fraction(5, 4)
        assert b"The board said so." in place.written()
        assert ledger.verify().entries == 3

    def test_it_never_shrinks(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match="no smaller than before"):
            ledger.extend("survey", budget=PureDP(0.5), reason="Less.")
        assert ledger.remaining("survey") == 1

    @pytest.mark.parametrize(
        ("before", "after"),
        [(PureDP(1), PureDP(0.5)), (ZCDP(1), ZCDP(0.5)), (ApproxDP(1, 1e-6), ApproxDP(0.5, 1e-6))],
    )
    def test_one_that_was_charged_never_shrinks(self, ledger, before, after):
        ledger.open("survey", budget=before)
        charge(ledger)
        with pytest.raises(ParameterError, match="no smaller than before"):
            ledger.extend("survey", budget=after, reason="Less.")
        assert ledger.verify().entries == 2

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (PureDP(1), ZCDP(2)),
            (ZCDP(1), ApproxDP(9, 1e-6)),
            (ApproxDP(1, 0), ApproxDP(9, 1e-6)),
            (PureDP(1), ApproxDP(9, 0)),
        ],
    )
    def test_its_unit_never_changes(self, ledger, before, after):
        ledger.open("survey", budget=before)
        with pytest.raises(ParameterError, match="as before"):
            ledger.extend("survey", budget=after, reason="Another kind.")

    def test_a_budget_with_a_delta_never_loses_it(self, ledger):
        # 100 questions of 0.1 fit (4, 1e-6); they are not (4, 0)-DP, whatever they add up to
        ledger.open("survey", budget=ApproxDP(4, 1e-6), delta_for_losses=0)
        for _ in range(50):
            charge(ledger, 0.1)
        with pytest.raises(ParameterError, match="with a delta, or without one, as before"):
            ledger.extend("survey", budget=ApproxDP(4, 0), reason="No delta.")

    @pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 10**7), Fraction(9, 10**7)])
    def test_the_share_of_delta_for_losses_stays(self, ledger, part):
        ledger.open("survey", budget=ApproxDP(1, 1e-6), delta_for_losses=part)
        before = ledger.account("survey")
        charge(ledger, 0.001)
        ledger.extend("survey", budget=ApproxDP(2, 1e-5), reason="Much more.")
        after = ledger.account("survey")
        assert (before.delta_limit, after.delta_limit) == (part, 10 * part)
        assert after.limit.value > before.limit.value

    def test_a_charged_window_keeps_its_budget(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        charge(ledger, 1, "clicks", window="may")
        ledger.extend("clicks", budget=PureDP(2), reason="From June on.")
        assert (
            ledger.remaining("clicks", window="may"),
            ledger.remaining("clicks", window="june"),
        ) == (0, 2)


class TestSums:
    def test_ten_tenths_fit_one_and_then_nothing_does(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        for _ in range(10):
            charge(ledger, 0.1)
        assert ledger.remaining("survey") == 0
        told = (
            r"^This question costs epsilon 1e-25, but the budget of 'survey' is used up\. "
            r"Only answers that you already have are still free\.$"
        )
        with pytest.raises(BudgetExceededError, match=told):
            charge(ledger, 1e-25)
        assert ledger.spent("survey") == 1

    def test_the_last_unit_is_counted(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, 1 - UNIT)
        assert ledger.remaining("survey") == UNIT
        with pytest.raises(BudgetExceededError):
            charge(ledger, UNIT + UNIT / 1000)
        charge(ledger, UNIT)
        assert ledger.remaining("survey") == 0

    def test_charges_are_rounded_up(self, ledger):
        ledger.open("survey", budget=PureDP(Fraction(2, 3)))
        charge(ledger, Fraction(1, 3))
        assert ledger.spent("survey") == Fraction(int("3" * 29 + "4"), 10**30)
        with pytest.raises(BudgetExceededError, match=r"costs epsilon 0\.33"):
            charge(ledger, Fraction(1, 3))

    def test_budgets_are_rounded_down(self, ledger):
        ledger.open("survey", budget=ZCDP(Fraction(2, 3)))
        assert ledger.account("survey").limit == Fraction(int("6" * 30), 10**30)

    def test_a_charge_below_one_unit_costs_one(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, Fraction(1, 10**40))
        assert ledger.spent("survey") == UNIT

    def test_bounded_range_costs_its_epsilon_in_a_pure_budget(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        ledger.reserve("survey", BoundedRange(0.25), request=ASK)
        assert ledger.spent("survey") == Fraction(1, 4)

    @pytest.mark.parametrize("loss", [ApproxDP(0.1, 1e-9)])
    def test_a_pure_budget_pays_for_no_delta(self, ledger, loss):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(BudgetExceededError):
            ledger.reserve("survey", loss, request=ASK)
        assert ledger.spent("survey") == 0

    def test_a_budget_with_delta_zero_counts_in_epsilon(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 0))
        charge(ledger, 0.25)
        spent = ledger.account("survey").spent
        assert (spent.unit, spent.value) == ("epsilon", Fraction(1, 4))

    def test_concentrated_budgets_add_up_rho(self, ledger):
        ledger.open("survey", budget=ZCDP(0.5))
        ledger.reserve("survey", ZCDP(0.125), request=ASK)
        spent = ledger.spent("survey")
        assert (spent.unit, spent.value) == ("rho", Fraction(1, 8))
        charge(ledger, 0.5)
        cost = ledger.spent("survey").value - Fraction(1, 8)
        with mpmath.workdps(50):
            true = mpmath.mpf("0.5") * mpmath.tanh(mpmath.mpf("0.25"))
            assert (
                true
                <= mpmath.mpf(cost.numerator) / cost.denominator
                <= true * (1 + mpmath.mpf(10) ** -14)
            )

    def test_an_approximate_budget_in_rho_allows_what_converts_to_it(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6), counting="rho", delta_for_losses=5e-7)
        account = ledger.account("survey")
        with mpmath.workdps(30):
            limit = account.limit.value
            rho = mpmath.mpf(limit.numerator) / limit.denominator
            assert (
                delta_of(rho, 1)
                <= mpmath.mpf("5.00001e-7")
                <= delta_of(rho * mpmath.mpf("1.001"), 1)
            )

    def test_deltas_of_losses_add_up_beside(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6), delta_for_losses=9e-7)
        for _ in range(3):
            ledger.reserve("survey", ApproxDP(0.001, 3e-7), request=ASK)
        assert ledger.account("survey").delta_spent == Fraction(9, 10**7)
        with pytest.raises(
            BudgetExceededError, match=r"a delta of 1e-12, but .* has no delta left"
        ):
            ledger.reserve("survey", ApproxDP(0.001, 1e-12), request=ASK)
        charge(ledger, 0.001)
        assert ledger.verify().entries == 5

    def test_parts_cost_what_they_cost(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        parts = Cost(PureDP(0.4), {BoundedRange(0.1): 4}, Fraction(1, 10**8))
        ledger.reserve("survey", parts, request=ASK)
        account = ledger.account("survey")
        assert account.spent == 400
        assert account.sums.epsilon == Fraction(2, 5)
        assert account.delta_spent == Fraction(1, 10**8)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"parts": parts}
            for parts in (
                {PureDP(1): -5},
                {},
                {PureDP(1): 0},
                {PureDP(1): 0.5},
                [PureDP(1)],
                {"x": 1},
            )
        ]
        + [
            {"parts": {PureDP(0.1): 1}, "delta": delta}
            for delta in (-1e-7, float("nan"), float("inf"))
        ]
        + [{"delta": 1e-7}],
    )
    def test_no_charge_is_a_refund(self, ledger, wrong):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        charge(ledger, 0.1)
        before = ledger.account("survey")
        with pytest.raises(ParameterError):
            ledger.reserve("survey", Cost(PureDP(0.1), **wrong), request=ASK)
        assert ledger.account("survey") == before

    def test_a_count_of_parts_is_a_whole_number_above_zero(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        for count in (True, 1.0, float("nan"), float("inf"), -1, 0, "1", None):
            with pytest.raises(
                ParameterTypeError, match=r"^The 'parts' parameter of Cost must be a mapping"
            ):
                Cost(PureDP(0.1), {PureDP(0.1): count})
            # whoever gets around that is refused by the ledger
            cost = Cost(PureDP(0.1), {PureDP(0.1): 1})
            object.__setattr__(cost, "parts", {PureDP(0.1): count})
            with pytest.raises(ParameterTypeError, match=r"^The 'parts' parameter of Cost must"):
                ledger.reserve("survey", cost, request=ASK)
        assert ledger.spent("survey") == 0

    @pytest.mark.parametrize(("budget", "loss", "parts"), TOO_LITTLE)
    def test_parts_that_are_less_than_the_loss_are_refused(self, ledger, budget, loss, parts):
        """Else a release of epsilon 10 would be settled for the price of 1e-9."""
        counting = "rho" if isinstance(budget, ApproxDP) else None
        ledger.open("survey", budget=budget, counting=counting)
        with pytest.raises(
            ParameterError, match=r"^The 'parts' parameter .* must be losses that together make up"
        ):
            ledger.reserve("survey", Cost(loss, parts), request=ASK)
        assert (ledger.spent("survey"), ledger.history("survey")) == (0, ())

    @pytest.mark.parametrize(("loss", "parts"), ENOUGH)
    def test_parts_that_make_up_the_loss_are_charged(self, ledger, loss, parts):
        budget = ApproxDP(10, 1e-3)
        ledger.open("survey", budget=budget, delta_for_losses=5e-4, counting="rho")
        ledger.reserve("survey", Cost(loss, parts), request=ASK)
        assert ledger.spent("survey") > 0

    def test_parts_that_change_meanwhile_are_the_ones_that_were_checked(self, ledger):
        class Turncoat(dict):
            """Other parts each time they are looked at."""

            def items(self):
                return [*super().items()] if self.pop("honest", None) else [(PureDP(1e-9), 1)]

        ledger.open("survey", budget=ZCDP(10))
        parts = Turncoat({PureDP(1): 1, "honest": 1})
        with pytest.raises(ParameterError, match="'parts'"):
            ledger.reserve("survey", Cost(PureDP(1), parts), request=ASK)


def delta_of(rho, epsilon):
    """The delta of rho-zCDP at this epsilon, by the conversion of Canonne, Kamath and Steinke, at
    its best order.
    """

    def at_order(step):
        a = 1 + mpmath.mpf(10) ** (mpmath.mpf(step) / 2000)
        return mpmath.exp((a - 1) * (a * rho - epsilon) + a * mpmath.log1p(-1 / a)) / (a - 1)

    near = min(range(0, 4000, 50), key=at_order)
    return min(map(at_order, range(near - 50, near + 51)))


class TestScopes:
    def test_a_charge_is_taken_from_the_data_set_and_the_analyst(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        ledger.open("survey", budget=PureDP(0.5), analyst="ada")
        ledger.open("survey", budget=PureDP(0.75), analyst="bob")
        charge(ledger, 0.25, analyst="ada")
        spent = [ledger.account("survey", analyst=name).spent for name in (None, "ada", "bob")]
        assert spent == [Fraction(1, 4), Fraction(1, 4), 0]

    def test_all_or_nothing_where_the_analyst_has_too_little(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        ledger.open("survey", budget=PureDP(0.5), analyst="ada")
        with pytest.raises(
            BudgetExceededError, match=r"0\.75, but the budget of 'survey' for 'ada' has"
        ):
            charge(ledger, 0.75, analyst="ada")
        assert ledger.account("survey").spent == 0
        assert ledger.account("survey", analyst="ada").spent == 0

    def test_all_or_nothing_where_the_data_set_has_too_little(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        for name in ("ada", "bob"):
            ledger.open("survey", budget=PureDP(1), analyst=name)
        charge(ledger, 0.75, analyst="ada")
        with pytest.raises(BudgetExceededError, match=f"^{NO_ROOM}$"):
            charge(ledger, 0.5, analyst="bob")
        assert ledger.account("survey", analyst="bob").spent == 0
        assert ledger.remaining("survey", analyst="bob") == Fraction(1, 4)

    def test_a_share_without_room_refuses_before_the_data_set(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        ledger.open("clicks", budget=PureDP(1), analyst="ada")
        ledger.open("clicks", budget=PureDP(0.5), analyst="bob")

        def refusal(epsilon):
            with pytest.raises(BudgetExceededError) as caught:
                charge(ledger, epsilon, "clicks", analyst="bob", window=["april", "may"])
            return str(caught.value)

        before = [refusal(epsilon) for epsilon in (0.6, 1.1)]
        assert all(
            "but the budget of 'clicks' for 'bob' in 'april' has only 0.5 left." in text
            for text in before
        )
        charge(ledger, 0.7, "clicks", analyst="ada", window=["april", "may"])
        assert [refusal(epsilon) for epsilon in (0.6, 1.1)] == before
        assert {refusal(epsilon) for epsilon in (0.31, 0.5)} == {NO_ROOM}

    def test_all_or_nothing_where_one_of_many_windows_has_too_little(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        ledger.open("clicks", budget=PureDP(0.5), analyst="ada")
        charge(ledger, 0.4, "clicks", analyst="ada", window="may")
        told = (
            r"costs epsilon 0\.2, but the budget of 'clicks' for 'ada' in 'may' has only 0\.1 left"
        )
        with pytest.raises(BudgetExceededError, match=told):
            charge(ledger, 0.2, "clicks", analyst="ada", window=["april", "may"])
        spent = {(account.analyst, account.window): account.spent for account in ledger.accounts()}
        assert spent == {
            (None, None): 0,
            ("ada", None): 0,
            (None, "may"): Fraction(2, 5),
            ("ada", "may"): Fraction(2, 5),
        }

    def test_once_there_are_analysts_every_charge_names_one(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, 0.1)
        charge(ledger, 0.1, analyst="anybody")
        ledger.open("survey", budget=PureDP(0.5), analyst="ada")
        with pytest.raises(ParameterError, match="on this data set, each analyst has a budget"):
            charge(ledger, 0.1)
        with pytest.raises(ParameterError, match="an analyst with a budget on this data set"):
            charge(ledger, 0.1, analyst="anybody")
        assert ledger.spent("survey") == Fraction(1, 5)


class TestWindows:
    def test_each_window_has_the_budget_for_itself(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        charge(ledger, 1, "clicks", window="may")
        charge(ledger, 0.5, "clicks", window=["june", "july"])
        left = [
            ledger.remaining("clicks", window=window)
            for window in ("may", "june", "july", "august")
        ]
        assert left == [0, Fraction(1, 2), Fraction(1, 2), 1]

    def test_a_window_named_twice_is_charged_once(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        charge(ledger, 0.5, "clicks", window=["may", "may"])
        assert ledger.spent("clicks", window="may") == Fraction(1, 2)

    @pytest.mark.parametrize("window", [None, []])
    def test_a_charge_names_its_windows(self, ledger, window):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        with pytest.raises(ParameterError, match="'window'"):
            charge(ledger, 0.1, "clicks", window=window)

    def test_where_there_are_none_none_is_named(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match="'window'"):
            charge(ledger, 0.1, window="may")
        with pytest.raises(ParameterError, match="'window'"):
            ledger.remaining("survey", window="may")

    def test_what_remains_is_told_for_a_window_only(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        charge(ledger, 1, "clicks", window="may")
        with pytest.raises(ParameterError, match="'window'"):
            ledger.remaining("clicks")
        with pytest.raises(ParameterError, match="'window'"):
            ledger.questions_left("clicks", epsilon=0.1)


class TestKeys:
    def ask(self, ledger, key="req-1", epsilon=0.1, request=None, **options):
        return ledger.reserve(
            "survey", PureDP(epsilon), request=request or ASK, key=key, replayable=True, **options
        )

    def test_the_same_request_gets_the_same_bytes_and_pays_once(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        given = self.ask(ledger).settle(answer("tërrier"))
        with Ledger(place.url) as elsewhere:
            again = self.ask(elsewhere)
            assert again.answer.to_json() == given.to_json()
            assert again.settle(answer("husky")) == given
        assert ledger.spent("survey") == Fraction(1, 10)
        assert len(ledger.history("survey")) == 1

    @pytest.mark.parametrize("value", ["\ud800 alone", "a\0b", ["a", ("b", 1.5)], None, 2**70])
    def test_every_answer_comes_back(self, ledger, value):
        ledger.open("survey", budget=PureDP(1))
        given = self.ask(ledger).settle(answer(value))
        assert self.ask(ledger).answer == given

    @pytest.mark.parametrize("other", [{"epsilon": 0.2}, {"request": {"what": "top"}}])
    def test_another_request_with_the_same_key_is_refused(self, ledger, other):
        ledger.open("survey", budget=PureDP(1))
        self.ask(ledger).settle(answer())
        with pytest.raises(KeyReusedError, match="must be new for a new request"):
            self.ask(ledger, **other)
        assert ledger.spent("survey") == Fraction(1, 10)

    def test_the_order_of_a_request_does_not_matter(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        self.ask(ledger, request={"a": 1, "b": [2]}).settle(answer())
        assert self.ask(ledger, request={"b": [2], "a": 1}).answer == answer()

    def test_keys_belong_to_an_analyst(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        self.ask(ledger, analyst="ada").settle(answer("for ada"))
        self.ask(ledger, analyst="bob").settle(answer("for bob"))
        assert self.ask(ledger, analyst="ada").answer.value == "for ada"
        assert self.ask(ledger).answer is None
        assert ledger.spent("survey") == Fraction(3, 10)

    def test_a_charge_without_an_answer_is_lost(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with self.ask(ledger):
            pass
        with pytest.raises(ReservationLostError, match=r"its answer was lost.*again=True"):
            self.ask(ledger)
        assert ledger.spent("survey") == Fraction(1, 10)
        (made,) = ledger.history("survey")
        assert (made.settled, made.lost) == (False, True)

    def test_an_answer_that_was_not_kept_is_lost(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, key="req-1").settle(answer())
        with pytest.raises(ReservationLostError, match="was not kept"):
            charge(ledger, key="req-1")
        assert ledger.spent("survey") == Fraction(1, 10)

    def test_a_lost_answer_is_paid_for_again_if_that_is_said(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        for _ in range(2):
            with self.ask(ledger, again=True):
                pass
        self.ask(ledger, again=True).settle(answer())
        # what is there is not paid for again
        assert self.ask(ledger, again=True).replayed
        assert self.ask(ledger).answer == answer()
        assert ledger.spent("survey") == Fraction(3, 10)
        assert [made.settled for made in ledger.history("survey")] == [True, False, False]
        ledger.verify()

    def test_a_charge_whose_process_still_runs_is_waited_for(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        running = self.ask(ledger)
        with Ledger(place.url) as other:
            for again in (False, True):
                with pytest.raises(ReservationRunningError, match=r"is still running after 0\.1 s"):
                    self.ask(other, wait=0.1, again=again)
            found = []
            waiting = threading.Thread(target=lambda: found.append(self.ask(other)))
            waiting.start()
            running.settle(answer())
            waiting.join()
        assert found[0].answer == answer()
        assert found[0].replayed
        assert ledger.spent("survey") == Fraction(1, 10)

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_charge_whose_process_was_killed_is_lost(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))

        def ask_and_die():
            self.ask(Ledger(place.url))
            os.kill(os.getpid(), signal.SIGKILL)

        assert in_a_child(ask_and_die) == -signal.SIGKILL
        with pytest.raises(ReservationLostError, match="because it failed or its process ended"):
            self.ask(ledger)
        assert self.ask(ledger, again=True).answer is None
        assert ledger.spent("survey") == Fraction(1, 5)

    def test_an_answer_that_a_full_disk_has_lost(self, ledger, place, monkeypatch):
        """Neither the answer nor its loss could be written: nobody has to wait for either."""
        ledger.open("survey", budget=PureDP(1))
        made = self.ask(ledger)
        with monkeypatch.context() as full:
            full.setattr(Threads, "carry_out", _full)
            with pytest.raises(LedgerError, match="full"), made:
                made.settle(answer())
            assert ledger.has_lost("survey", "req-1")
        with pytest.raises(ReservationLostError, match="its answer was lost"):
            self.ask(ledger)
        # from then on others know it, too
        other = Ledger(place.url)
        with other, pytest.raises(ReservationLostError, match="its answer was lost"):
            self.ask(other)
        (charged,) = ledger.history("survey")
        assert (charged.settled, charged.lost) == (False, True)
        assert ledger.spent("survey") == Fraction(1, 10)
        self.ask(ledger, again=True).settle(answer())
        assert self.ask(ledger).answer == answer()
        assert ledger.spent("survey") == Fraction(1, 5)
        ledger.verify()

    def test_a_charge_that_was_written_and_seemed_to_fail(self, ledger, monkeypatch):
        """Nobody has it, so nobody will answer it."""
        ledger.open("survey", budget=PureDP(1))

        def cut_off(threads, operation):
            carry_out(threads, operation)
            _full()

        carry_out = Threads.carry_out
        with monkeypatch.context() as doubtful:
            doubtful.setattr(Threads, "carry_out", cut_off)
            with pytest.raises(LedgerError, match="full"):
                self.ask(ledger)
        assert ledger.spent("survey") == Fraction(1, 10)
        with pytest.raises(ReservationLostError, match="its answer was lost"):
            self.ask(ledger)
        assert self.ask(ledger, again=True).answer is None
        assert ledger.spent("survey") == Fraction(1, 5)

    def test_a_known_request_is_answered_even_when_nothing_is_left(self, ledger):
        ledger.open("survey", budget=PureDP(0.1))
        self.ask(ledger).settle(answer())
        assert self.ask(ledger).answer == answer()
        with pytest.raises(BudgetExceededError):
            self.ask(ledger, key="req-2")

    def test_a_refused_request_leaves_its_key_unused(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(BudgetExceededError):
            self.ask(ledger, epsilon=2)
        assert self.ask(ledger).answer is None

    def test_keys_are_for_one_data_set(self, ledger):
        for dataset in ("survey", "other"):
            ledger.open(dataset, budget=PureDP(1))
            assert charge(ledger, dataset=dataset, key="req-1").answer is None

    def test_without_a_key_every_request_is_charged(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        assert {charge(ledger).number for _ in range(3)} == {2, 3, 4}


class TestSettling:
    def test_a_charge_is_settled_once(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        reservation = charge(ledger)
        assert reservation.settle(answer()) == answer()
        with pytest.raises(LedgerError, match="can be settled only once"):
            reservation.settle(answer("husky"))
        assert ledger.verify().entries == 3

    def test_two_with_the_same_charge_do_not_both_settle(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        reservation = charge(ledger)
        again = type(reservation)(reservation.number, reservation.loss, None, reservation._settle)
        reservation.settle(answer())
        with pytest.raises(LedgerError, match="not reserved"):
            again.settle(answer("husky"))

    def test_a_release_costs_no_more_than_was_charged(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        reservation = charge(ledger, 0.1)
        with pytest.raises(ParameterError, match="costs no more than what was charged"):
            reservation.settle(answer(loss=PureDP(0.2)))
        assert reservation.settle(answer(loss=BoundedRange(0.1))).value == "terrier"

    def test_only_releases_are_settled(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterTypeError):
            charge(ledger).settle("terrier")

    def test_nothing_is_refunded(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ZeroDivisionError), charge(ledger, 0.25):
            raise ZeroDivisionError
        charge(ledger, 0.25).settle(answer(loss=PureDP(0.001)))
        assert ledger.spent("survey") == Fraction(1, 2)

    def test_nothing_of_an_answer_is_written_unless_it_is_to_be_kept(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, key="req-1").settle(answer(CANARY))
        assert CANARY.encode() not in place.written()
        charge(ledger, key="req-2", replayable=True).settle(answer(CANARY))
        assert CANARY.encode() in place.written()


class TestReading:
    def test_history_is_what_happened(self, ledger):
        start = datetime.now(UTC) - timedelta(seconds=2)
        ledger.open("clicks", budget=ApproxDP(1, 1e-6), windows=True)
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, 0.1)
        first = ledger.reserve(
            "clicks",
            ApproxDP(0.1, 1e-8),
            request={"b": 1, "a": [None]},
            key="k",
            window=["may", "april"],
        )
        first.settle(answer(loss=ApproxDP(0.1, 1e-8)))
        charge(ledger, 0.1, "clicks", window="may", analyst="ada")
        two, one = ledger.history("clicks")
        assert (one.number, two.number) == (4, 6)
        assert start <= one.time <= two.time <= datetime.now(UTC)
        assert (one.dataset, one.analyst, one.windows) == ("clicks", None, ("april", "may"))
        assert (two.dataset, two.analyst, two.windows) == ("clicks", "ada", ("may",))
        assert (one.loss, one.delta) == (ApproxDP(0.1, 1e-8), Fraction(1, 10**8))
        assert one.amount.exact == "400 coins of 0.01"
        assert (one.request, one.key, one.settled, two.settled) == (
            {"a": [None], "b": 1},
            "k",
            True,
            False,
        )

    def test_accounts_are_the_sums_of_the_history(self, ledger):
        ledger.open("survey", budget=PureDP(10))
        for epsilon in (0.1, Fraction(1, 3), 2):
            charge(ledger, epsilon)
        amounts = [Fraction(1, 10), Fraction(int("3" * 29 + "4"), 10**30), 2]
        assert [made.amount for made in ledger.history("survey")] == amounts[::-1]
        (account,) = ledger.accounts()
        assert account == ledger.account("survey")
        assert (account.dataset, account.analyst, account.window) == ("survey", None, None)
        assert (account.budget, account.limit, account.spent) == (PureDP(10), 10, sum(amounts))
        assert (account.delta_limit, account.delta_spent) == (0, 0)
        assert ledger.remaining("survey") == 10 - sum(amounts)

    def test_questions_left_are_exactly_those_that_fit(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        ledger.open("survey", budget=ApproxDP(0.5, 1e-7), analyst="ada")
        loss = ApproxDP(0.05, 1e-8)
        left = ledger.questions_left("survey", loss=loss, analyst="ada")
        assert left > 0
        for _ in range(left):
            ledger.reserve("survey", loss, request=ASK, analyst="ada")
        assert ledger.questions_left("survey", loss=loss, analyst="ada") == 0
        assert not ledger.allows("survey", loss, analyst="ada")
        with pytest.raises(BudgetExceededError):
            ledger.reserve("survey", loss, request=ASK, analyst="ada")

    def test_thirds_are_counted_as_they_are_charged(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        assert ledger.questions_left("survey", epsilon=Fraction(1, 3)) == 2


class TestCoins:
    """The same budget as in a session, default settings, no mechanism named."""

    def test_so_many_questions_fit_a_budget_of_one_and_a_millionth(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        left = [ledger.questions_left("survey", epsilon=epsilon) for epsilon in (0.1, 0.05, 0.01)]
        assert left == [21, 85, 2129]
        assert ledger.remaining("survey").exact == "2129 coins of 0.01"
        for _ in range(21):
            ledger.reserve("survey", BoundedRange(0.1), request=ASK)
        with pytest.raises(BudgetExceededError, match="room for only"):
            ledger.reserve("survey", BoundedRange(0.1), request=ASK)
        ledger.verify()

    @pytest.mark.parametrize("loss", [PureDP(0.1), PureDP(1), BoundedRange(0.5)])
    def test_never_fewer_than_without_a_delta(self, ledger, loss):
        ledger.open("pure", budget=PureDP(1))
        ledger.open("approx", budget=ApproxDP(1, 1e-6))
        least = ledger.questions_left("pure", loss=loss)
        assert ledger.questions_left("approx", loss=loss) >= least
        for _ in range(least):
            ledger.reserve("approx", loss, request=ASK)
        ledger.verify()

    @pytest.mark.parametrize(
        ("budget", "loss"),
        [
            (ApproxDP(1, 1e-6), ApproxDP(1, 1e-6)),
            (ApproxDP(1, 1e-6), ApproxDP(0.5, 5e-7)),
            (ZCDP(0.5), PureDP(1)),
        ],
    )
    def test_what_is_within_the_budget_fits_an_untouched_one(self, ledger, budget, loss):
        ledger.open("survey", budget=budget)
        assert ledger.questions_left("survey", loss=loss) == 1
        ledger.reserve("survey", loss, request=ASK)
        if isinstance(budget, ApproxDP):
            # all of it is gone, and never comes back
            assert ledger.account("survey").sums == Spending(None, None)
            assert ledger.remaining("survey") == 0
            ledger.extend("survey", budget=ApproxDP(8, 1e-5), reason="More.")
        with pytest.raises(BudgetExceededError, match="This question costs epsilon"):
            ledger.reserve(
                "survey", BoundedRange(1e-9 if budget.kind != "zcdp" else 1), request=ASK
            )
        ledger.verify()

    def test_gaussian_noise_of_another_tool_is_paid_beside_selections(self, ledger):
        """So many coins buy noise of the mu that is 0.97 / 2 times the epsilon they buy."""
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        noise = GaussianDP(0.05)
        coins = ceil((2 * noise.mu / Fraction("0.97") / Fraction("0.01")) ** 2)
        assert ledger.questions_left("survey", loss=noise) == 2129 // coins
        total = {"what": "total paid", "by": "another tool"}
        for _ in range(10):
            ledger.reserve("survey", noise, request=total)
            ledger.reserve("survey", BoundedRange(0.1), request=ASK)
        assert ledger.spent("survey").value == 10 * coins + 10 * 100
        assert {charge.loss for charge in ledger.history("survey")} == {noise, BoundedRange(0.1)}
        with pytest.raises(BudgetExceededError, match="but the budget of 'survey' has room for"):
            ledger.reserve("survey", noise, request=total)
        ledger.reserve("survey", GaussianDP(0.03), request=total)
        ledger.verify()

    def test_a_budget_without_coins_has_no_price_for_gaussian_noise(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterTypeError, match="PureDP or BoundedRange for a budget"):
            ledger.reserve("survey", GaussianDP(0.05), request=ASK)
        assert ledger.spent("survey") == 0

    def test_each_scope_has_to_fit_by_one_of_its_own_sums(self, ledger):
        """The data set by its coins, the share by its plain sum: that is enough for neither
        of them to be exceeded.
        """
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        ledger.open("survey", budget=ApproxDP(0.5, 1e-9), analyst="ada")
        for _ in range(5):
            ledger.reserve("survey", BoundedRange(0.1), request=ASK, analyst="ada")
        with pytest.raises(
            BudgetExceededError, match="but the budget of 'survey' for 'ada' is used up"
        ):
            ledger.reserve("survey", BoundedRange(0.1), request=ASK, analyst="ada")
        assert ledger.account("survey").spent == 500
        ledger.verify()

    def test_two_who_come_at_once_do_not_both_fit_by_another_sum(self, place):
        """One by the coins, the other by the plain sum: the sums are those of all."""
        with Ledger(place.url, timeout=60) as one, Ledger(place.url, timeout=60) as two:
            one.open("survey", budget=ApproxDP(1, 1e-6))
            for _ in range(20):
                one.reserve("survey", BoundedRange(0.04), request=ASK)
            paid = []

            def client(mine, loss):
                try:
                    mine.reserve("survey", loss, request=ASK)
                    paid.append(loss)
                except BudgetExceededError:
                    pass

            # 0.8 and 320 coins are spent: the first fits by the plain sum only, the second by both
            losses = (PureDP(0.2), BoundedRange(0.1))
            run_all([lambda: client(one, losses[0]), lambda: client(two, losses[1])])
            sums = one.account("survey").sums
            assert one.account("survey").rule.fits(sums)
            one.verify()

    def test_coins_keep_their_size_and_number(self, ledger, monkeypatch):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        monkeypatch.setattr("discreet.accounting.coin_table._coins", lambda *budget: 1)
        assert ledger.questions_left("survey", epsilon=0.01) == 2129

    def test_a_larger_budget_counts_what_was_spent_in_coins_of_the_same_size(self, ledger):
        ledger.open("survey", budget=ApproxDP(1, 1e-6))
        ledger.open("untouched", budget=ApproxDP(1, 1e-6))
        ledger.open("new", budget=ApproxDP(2, 1e-6))
        ledger.reserve("survey", BoundedRange(0.1), request=ASK)
        for name in ("survey", "untouched"):
            ledger.extend(name, budget=ApproxDP(2, 1e-6), reason="More.")
        assert ledger.spent("survey").exact == "100 coins of 0.01"
        assert ledger.remaining("survey") > 2129
        assert ledger.account("untouched").rule == ledger.account("new").rule
        # as much of concentrated DP as the new budget allows, and no more
        coins = ledger.account("survey").limit.value
        rho = largest_rho(Fraction(2), Fraction(9, 10**7))
        assert coins * Fraction(1, 100) ** 2 / 8 <= rho
        ledger.reserve("survey", BoundedRange(0.1), request=ASK)
        ledger.verify()

    def test_windows_that_were_charged_keep_coins_of_another_size(self, ledger):
        ledger.open("clicks", budget=ApproxDP(1, 1e-6), windows=True)
        for window in ("may", ["may", "june"]):
            ledger.reserve("clicks", BoundedRange(0.1), request=ASK, window=window)
        ledger.extend("clicks", budget=ApproxDP(2, 1e-6), reason="More.")
        ledger.reserve("clicks", BoundedRange(0.1), request=ASK, window=["june", "july"])
        spent = [ledger.spent("clicks", window=each).exact for each in ("may", "june", "july")]
        coin = ledger.account("clicks").rule.coin
        assert coin != Fraction(1, 100)
        assert spent[:2] == ["200 coins of 0.01"] * 2
        assert spent[2].endswith(f"of {float(coin)}")
        ledger.verify()


class TestClosing:
    def test_nothing_is_charged_any_more_and_answers_stay(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        charge(ledger, key="k", replayable=True).settle(answer())
        ledger.close_budget("survey", reason="The study is over.")
        assert ledger.account("survey").closed == "The study is over."
        assert b"The study is over." in place.written()
        told = r"^The budget of 'survey' was closed permanently\. Kept answers"
        with Ledger(place.url) as other:
            for use in (
                lambda: charge(other),
                lambda: charge(ledger),
                lambda: other.open("survey", budget=PureDP(1)),
                lambda: other.extend("survey", budget=PureDP(2), reason="More."),
                lambda: other.open("survey", budget=PureDP(1), analyst="ada"),
                lambda: other.close_budget("survey", reason="Again."),
            ):
                with pytest.raises(BudgetClosedError, match=told):
                    use()
            assert charge(other, key="k").answer == answer()
        assert not ledger.allows("survey", PureDP(0.1))
        assert ledger.questions_left("survey", epsilon=0.1) == 0
        assert ledger.room("survey") == "no more questions: it is closed"
        assert ledger.answers("survey")[0].release == answer()
        assert ledger.verify().entries == 4

    def test_a_share_is_revoked(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        for name in ("ada", "bob"):
            ledger.open("survey", budget=PureDP(0.5), analyst=name)
        ledger.revoke("survey", "ada", reason="She left.")
        with pytest.raises(
            BudgetClosedError, match=r"budget of 'survey' for 'ada' was closed permanently"
        ):
            charge(ledger, analyst="ada")
        charge(ledger, analyst="bob")
        assert ledger.account("survey").closed is None
        with pytest.raises(ParameterError, match=r"'analyst' parameter of Ledger.revoke must be"):
            ledger.revoke("survey", "cy", reason="Who?")
        ledger.verify()

    def test_all_windows_are_closed_with_their_data_set(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        charge(ledger, 0.1, "clicks", window="may")
        ledger.close_budget("clicks", reason="Over.")
        for window in ("may", "june"):
            with pytest.raises(BudgetClosedError, match="closed permanently"):
                charge(ledger, 0.1, "clicks", window=window)
            assert ledger.account("clicks", window=window).closed == "Over."

    def test_one_that_was_opened_behind_its_back_is_found(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        ledger.close_budget("survey", reason="Over.")
        place.sql("update discreet_budgets set closed = ''")
        with pytest.raises(LedgerDamagedError, match="sums of the ledger"):
            ledger.verify()

    @pytest.mark.parametrize("reason", [None, "", "  ", 7])
    def test_it_needs_a_reason(self, ledger, reason):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match=r"'reason' parameter of Ledger.close_budget"):
            ledger.close_budget("survey", reason=reason)
        with pytest.raises(ParameterError, match=r"'dataset' parameter of Ledger.close_budget"):
            ledger.close_budget("other", reason="Over.")


class TestPages:
    @pytest.fixture
    def filled(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        ledger.open("other", budget=PureDP(1))
        for number in range(10):
            name = ("ada", "bob")[number % 2]
            asked = {"what": "mode", "column": "teacher", "where": [["age", ">=", number]]}
            reservation = ledger.reserve(
                "survey" if number % 5 else "other",
                PureDP(0.01),
                request=asked,
                key=str(number),
                analyst=name,
                replayable=number % 3 != 0,
            )
            reservation.settle(answer(number, PureDP(0.01)))
        return ledger

    def test_the_newest_come_first(self, filled):
        keys = [made.key for made in filled.history()]
        assert keys == [str(number) for number in range(9, -1, -1)]
        assert [made.key for made in filled.history("other")] == ["5", "0"]
        assert [made.key for made in filled.history(analyst="bob", limit=2)] == ["9", "7"]
        assert filled.history("survey")[0].request["where"] == [["age", ">=", 9]]

    def test_page_after_page_is_everything(self, filled):
        found, before = [], None
        while page := filled.history("survey", before=before, limit=3):
            found += page
            before = page[-1].number
        assert tuple(found) == filled.history("survey")

    def test_kept_answers_are_listed_and_fetched(self, filled):
        kept = filled.answers("survey")
        assert [one.release.value for one in kept] == [8, 7, 4, 2, 1]
        assert kept[0].charge.request["where"] == [["age", ">=", 8]]
        assert filled.answers("survey", analyst="bob", before=kept[1].number)[0].release.value == 1
        assert filled.answer(kept[2].number) == kept[2]
        missing = filled.history("survey")[-1].number
        for number in (missing + 1, 1, 10**6):
            with pytest.raises(ParameterError, match=r"'number' parameter of Ledger.answer"):
                filled.answer(number)

    def test_a_page_does_not_read_the_chain(self, filled, place):
        place.sql("update discreet_entries set body = 'x' where number = 3")
        assert filled.history(limit=2)[0].key == "9"
        with pytest.raises(LedgerDamagedError, match=r"Entry 3 of .* must have its original hash"):
            filled.history()

    def test_an_answer_that_was_changed_is_found(self, filled, place):
        place.sql("update discreet_charges set answer = 'x' where request_key = '8'")
        with pytest.raises(LedgerDamagedError, match="answer that is kept for entry"):
            filled.answers("survey")

    def test_notes_are_entries(self, filled):
        number = filled.note({"published": "survey", "as_of": "2026-11"}, dataset="survey")
        newest = filled.entries(limit=2)
        assert [(one.number, one.kind) for one in newest] == [(number, "note"), (22, "settle")]
        assert newest[0].what["what"] == {"published": "survey", "as_of": "2026-11"}
        assert newest[0].dataset == "survey"
        assert filled.note({"key": "revoked"}) == number + 1
        assert filled.entries(before=2)[0].kind == "open"
        assert filled.verify().entries == number + 1
        with pytest.raises(ParameterError, match=r"'what' parameter of Ledger.note must be"):
            filled.note("published")

    @pytest.mark.parametrize("page", [{"before": 0}, {"before": "1"}, {"before": True}])
    @pytest.mark.parametrize("use", ["history", "answers", "entries"])
    def test_a_bad_page_is_refused(self, ledger, page, use):
        with pytest.raises(ParameterError, match=f"'before' parameter of Ledger.{use} must be"):
            getattr(ledger, use)(**page)
        with pytest.raises(ParameterError, match=f"'limit' parameter of Ledger.{use} must be"):
            getattr(ledger, use)(limit=0)


class TestManyAtOnce:
    def test_threads_of_one_process_never_spend_too_much(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        paid, refused = [], []

        def client():
            for _ in range(15):
                try:
                    reservation = charge(ledger, 0.02)
                except BudgetExceededError:
                    refused.append(1)
                else:
                    paid.append(reservation.number)
                    reservation.settle(answer(loss=PureDP(0.02)))

        run_all([client] * 8)
        assert (len(paid), len(set(paid)), len(refused)) == (50, 50, 70)
        assert ledger.remaining("survey") == 0
        assert ledger.verify().entries == 101

    def test_two_ledgers_in_one_process_are_one_budget(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        paid = []

        def client(mine):
            try:
                while True:
                    paid.append(charge(mine, 0.1).number)
            except BudgetExceededError:
                pass

        with Ledger(place.url) as other:
            run_all([lambda: client(ledger), lambda: client(other)])
            assert other.verify().entries == 11
        assert len(paid) == 10

    def test_one_key_from_many_threads_is_charged_once(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        numbers, running = [], []

        def client():
            try:
                numbers.append(charge(ledger, 0.1, key="req-1", wait=0).number)
            except ReservationRunningError:
                running.append(1)

        run_all([client] * 8)
        assert (numbers, len(running)) == ([2], 7)
        assert ledger.spent("survey") == Fraction(1, 10)

    def test_one_question_from_many_threads_gets_one_answer(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        given = []

        def client(mine):
            with charge(mine, 0.1, key="req-1", replayable=True) as reservation:
                given.append(reservation.settle(answer(threading.get_ident())).value)

        with Ledger(place.url) as other:
            run_all([lambda mine=mine: client(mine) for mine in (ledger, other) * 6])
        assert (len(given), len(set(given))) == (12, 1)
        assert ledger.spent("survey") == Fraction(1, 10)

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_charges_the_same_budget(self, ledger, place):
        ledger.open("survey", budget=PureDP(1))
        assert in_a_child(lambda: charge(ledger, 0.25)) == 0
        charge(ledger, 0.25)
        with Ledger(place.url) as fresh:
            assert fresh.spent("survey") == Fraction(1, 2)
            assert fresh.verify().entries == 3

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_outlives_the_ledger_of_its_parent(self, ledger, place):
        """SQLite deletes its log with the last connection, and a child that inherited one was not
        counted.
        """
        ledger.open("survey", budget=PureDP(1))
        ready, closed = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(60)
            try:
                charge(ledger, 0.25)
                os.write(ready[1], b"x")
                os.read(closed[0], 1)
                charge(ledger, 0.25)
                os._exit(0)
            finally:
                os._exit(1)
        os.read(ready[0], 1)
        ledger.close()
        os.write(closed[1], b"x")
        assert os.waitpid(child, 0)[1] == 0
        with Ledger(place.url) as fresh:
            assert fresh.spent("survey") == Fraction(1, 2)

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_children_forked_while_threads_charge_can_charge_too(self, ledger, place):
        ledger.open("survey", budget=PureDP(100))
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                charge(ledger, 0.001)

        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            codes = [in_a_child(lambda: charge(ledger, 1)) for _ in range(4)]
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert codes == [0] * 4
        with Ledger(place.url) as fresh:
            found = fresh.history("survey", limit=10_000)
            assert sum(made.amount == 1 for made in found) == 4
            fresh.verify()


class Counted(deque):
    """A queue that can be waited for."""

    def __init__(self):
        super().__init__()
        self._longer = threading.Condition()

    def append(self, one):
        with self._longer:
            super().append(one)
            self._longer.notify_all()

    def wait_for(self, length):
        with self._longer:
            assert self._longer.wait_for(lambda: len(self) >= length, timeout=60)


def run_all(clients):
    problems = []

    def guarded(client):
        try:
            client()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def start_child(work):
    """A forked process that does this."""
    child = os.fork()
    if not child:
        signal.alarm(60)  # a child that waits for ever is a failure too
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def end_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_a_child(work):
    """The exit code of a forked process that does this."""
    return end_of(start_child(work))


def fill(ledger):
    """Entries of every kind: 1 open, 2 and 3 with a kept answer, 4 and 5 without, 6 open, 7 with
    a window, 8 extend.
    """
    ledger.open("survey", budget=PureDP(1))
    charge(ledger, 0.1, key="k-1", replayable=True).settle(answer())
    charge(ledger, 0.2, key="k-2").settle(answer())
    ledger.open("clicks", budget=ApproxDP(1, 1e-6), windows=True)
    ledger.reserve("clicks", ApproxDP(0.1, 1e-8), request=ASK, key="k-3", window="may")
    ledger.extend("survey", budget=PureDP(2), reason="More.")


SPENT = "update discreet_budgets set epsilon_spent = '{}' where dataset = 'survey'"
MANIPULATIONS = {
    "an amount in an entry": (
        "update discreet_entries set body = replace(body, '[\"100', '[\"200') where number = 2"
    ),
    "a loss in an entry": (
        "update discreet_entries set body = replace(body, '1/10', '1/20') where number = 2"
    ),
    "a key in an entry": (
        "update discreet_entries set body = replace(body, 'k-1', 'k-9') where number = 2"
    ),
    "a reason": (
        "update discreet_entries set body = replace(body, 'More.', 'Fine.') where number = 8"
    ),
    "an entry that is no JSON": "update discreet_entries set body = 'x' where number = 2",
    # turned by one digit: not every hash has an "a" that could be a "b"
    "a hash": (
        "update discreet_entries set hash = substr(hash, 2) || substr(hash, 1, 1) where number = 4"
    ),
    "the last hash": (
        "update discreet_entries set hash = substr(hash, 2) || substr(hash, 1, 1) where number = 8"
    ),
    "a number": "update discreet_entries set number = 9 where number = 4",
    "the last number": "update discreet_entries set number = 9 where number = 8",
    "the first entry deleted": "delete from discreet_entries where number = 1",
    "an entry deleted": "delete from discreet_entries where number = 4",
    "the last entry deleted": "delete from discreet_entries where number = 8",
    "all entries deleted": "delete from discreet_entries",
    "an entry inserted": (
        "insert into discreet_entries select 9, body, hash from discreet_entries where number = 8"
    ),
    "an entry before the first": (
        "insert into discreet_entries select 0, body, hash from discreet_entries where number = 8"
    ),
    "a sum lowered": SPENT.format(0),
    "a sum raised": SPENT.format(10**30),
    "a sum below nothing": SPENT.format(-(10**30)),
    "a sum that is no number": SPENT.format("much"),
    "a sum that is more than any budget has": SPENT.format("more"),
    "a sum of delta": "update discreet_budgets set delta_spent = '0' where slot = 'may'",
    "a sum of coins": "update discreet_budgets set squares_spent = '0' where slot = 'may'",
    "a number of coins": (
        "update discreet_budgets set terms = replace(terms, '2129', '2130') where slot = ''"
    ),
    "a size of coins": (
        "update discreet_budgets set terms = replace(terms, '1/100\"', '1/10\"') where slot = ''"
    ),
    "a budget closed": "update discreet_budgets set closed = 'x' where dataset = 'survey'",
    "terms": (
        "update discreet_budgets set terms = replace(terms, 'false', 'true') "
        "where dataset = 'survey'"
    ),
    "a budget deleted": "delete from discreet_budgets where dataset = 'survey'",
    "a window deleted": "delete from discreet_budgets where slot = 'may'",
    "a budget added": "insert into discreet_budgets values ('x', '', '', '{}', '0', '0', '0', '')",
    "a budget renamed": "update discreet_budgets set dataset = 'x' where slot = 'may'",
    "a key renamed": "update discreet_charges set request_key = 'k-9' where request_key = 'k-2'",
    "a key of another analyst": (
        "update discreet_charges set analyst = 'x' where request_key = 'k-2'"
    ),
    "another attempt": "update discreet_charges set attempt = 1 where request_key = 'k-2'",
    "a key of another data set": (
        "update discreet_charges set dataset = 'clicks' where request_key = 'k-2'"
    ),
    "a request of another entry": (
        "update discreet_charges set number = 99 where request_key = 'k-2'"
    ),
    "what was asked": "update discreet_charges set fingerprint = 'x' where request_key = 'k-2'",
    "a charge open again": (
        "update discreet_charges set state = 'reserved' where request_key = 'k-2'"
    ),
    "a charge settled": "update discreet_charges set state = 'settled' where request_key = 'k-3'",
    "a charge lost": "update discreet_charges set state = 'lost' where request_key = 'k-3'",
    "an answer": (
        "update discreet_charges set answer = replace(answer, 'terrier', 'husky') where "
        "request_key = 'k-1'"
    ),
    "an answer deleted": "update discreet_charges set answer = null where request_key = 'k-1'",
    "an answer added": "update discreet_charges set answer = '{}' where request_key = 'k-2'",
    "a request deleted": "delete from discreet_charges where request_key = 'k-2'",
    "a request added": (
        "insert into discreet_charges (dataset, analyst, request_key, attempt, number, "
        "fingerprint, state) values ('survey', '', 'k-9', 0, 99, 'x', 'reserved')"
    ),
}


class TestRemembering:
    """A process that is alone charges by what it remembers; as soon as it is not, by what is
    written.
    """

    def test_processes_that_charge_in_turn_stay_within_the_budget(self, place, ledger):
        ledger.open("survey", budget=PureDP(1))
        with Ledger(place.url, timeout=60) as other:
            # each is alone for a while, and then not
            for one in [ledger] * 4 + [other] * 3 + [ledger, other, ledger]:
                charge(one)
            for one in (ledger, other):
                with pytest.raises(BudgetExceededError):
                    charge(one)
        assert ledger.spent("survey") == 1
        assert ledger.verify().entries == 11

    def test_what_another_process_changed_is_seen(self, place, ledger):
        ledger.open("survey", budget=PureDP(0.5))
        for _ in range(5):
            charge(ledger)
        with Ledger(place.url, timeout=60) as other:
            other.extend("survey", budget=PureDP(1), reason="More.")
            charge(ledger)
            other.close_budget("survey", reason="Enough.")
            with pytest.raises(BudgetClosedError):
                charge(ledger)

    def test_a_lone_process_goes_to_a_server_once_for_each_step(self, place, ledger):
        """A settle forgets no budget: else the next charge would have to ask for it."""
        if place.url.startswith("sqlite"):
            pytest.skip("a file has no ways to save")
        ledger.open("survey", budget=PureDP(1))
        ledger.close()  # what was known is gone
        charge(ledger).settle(answer())
        with ledger._store._connection.use() as connection:
            ask, batches = connection.ask, []

            def counted(questions):
                batches.append(questions)
                return ask(questions)

            connection.ask = counted
            for _ in range(3):
                charge(ledger).settle(answer())
        assert len(batches) == 6

    def test_a_refusal_is_not_from_memory(self, place, ledger):
        ledger.open("survey", budget=PureDP(0.5))
        for _ in range(5):
            charge(ledger)
        with pytest.raises(BudgetExceededError):
            charge(ledger, 0.01)
        with Ledger(place.url, timeout=60) as other:
            other.extend("survey", budget=PureDP(1), reason="More.")
        charge(ledger)

    def test_a_key_of_before_is_not_charged_again(self, place, ledger):
        """Keys are not all remembered; that they are unique says so."""
        ledger.open("survey", budget=PureDP(1))
        with Ledger(place.url, timeout=60) as other:
            charge(other, key="first", replayable=True).settle(answer())
        for _ in range(4):
            charge(ledger)
        again = charge(ledger, key="first")
        assert again.answer == answer()
        assert ledger.spent("survey") == Fraction(1, 2)

    def test_a_kept_answer_is_given_when_nothing_is_left(self, place, ledger):
        """A key that is taken for new would be refused."""
        ledger.open("survey", budget=PureDP(0.5))
        with Ledger(place.url, timeout=60) as other:
            charge(other, key="first", replayable=True).settle(answer())
        for _ in range(4):
            charge(ledger)
        assert charge(ledger, key="first").answer == answer()
        with pytest.raises(BudgetExceededError):
            charge(ledger)

    def test_a_kept_answer_is_given_beside_a_new_charge(self, place, ledger):
        """One that is refused writes nothing that could show that its key is known."""
        ledger.open("survey", budget=PureDP(1))
        with Ledger(place.url, timeout=60) as other:
            charge(other, 0.5, key="first", replayable=True).settle(answer())
        for _ in range(4):
            charge(ledger)
        line = ledger._threads.get()
        line.queue = Counted()
        with ThreadPoolExecutor(2) as pool:
            # both wait, so that they are carried out together
            with line.leads:
                new = pool.submit(charge, ledger)
                again = pool.submit(charge, ledger, 0.5, key="first")
                line.queue.wait_for(2)
            assert again.result().answer == answer()
            assert new.result().answer is None
        assert ledger.spent("survey") == 1


class TestVerification:
    @pytest.mark.parametrize("what", MANIPULATIONS)
    def test_every_manipulation_is_found(self, ledger, place, what):
        fill(ledger)
        before = place.written()
        place.sql(MANIPULATIONS[what])
        assert place.written() != before
        with pytest.raises(LedgerDamagedError, match="must"):
            ledger.verify()

    def test_two_entries_exchanged_are_found(self, ledger, place):
        fill(ledger)
        for old, new in ((2, 99), (4, 2), (99, 4)):
            place.sql("update discreet_entries set number = ? where number = ?", new, old)
        with pytest.raises(LedgerDamagedError, match="Entry 2 "):
            ledger.verify()

    def test_two_keys_exchanged_are_found(self, ledger, place):
        fill(ledger)
        for old, new in (("k-1", "x"), ("k-2", "k-1"), ("x", "k-2")):
            place.sql("update discreet_charges set request_key = ? where request_key = ?", new, old)
        with pytest.raises(LedgerDamagedError, match="request of entry"):
            ledger.verify()

    def test_the_first_wrong_entry_is_named(self, ledger, place):
        fill(ledger)
        place.sql("update discreet_entries set body = replace(body, 'k-', 'x-')")
        with pytest.raises(LedgerDamagedError, match="Entry 2 of the ledger"):
            ledger.verify()

    def test_a_missing_entry_is_named(self, ledger, place):
        fill(ledger)
        place.sql("delete from discreet_entries where number = 4")
        with pytest.raises(
            LedgerDamagedError, match=r"Entry 4 .* must be there. Got entry 5 in its place"
        ):
            ledger.verify()

    @pytest.mark.parametrize(
        "amount", ["-100000000000000000000000000000", "0", "9000000000000000000000000000000"]
    )
    def test_a_forged_charge_that_was_never_allowed_is_found(self, ledger, place, amount):
        """Even with a right hash: entries are carried out again, and a refund or too much is
        refused.
        """
        from discreet.ledger.chain import Anchor, canonical, link

        fill(ledger)
        ((body,),) = place.sql("select body from discreet_entries where number = 4")
        forged = canonical({**json.loads(body), "ticket": "x", "key": "x", "amount": [amount, "0"]})
        point = link(Anchor.read(ledger.anchor()), forged)
        place.sql("insert into discreet_entries values (?, ?, ?)", point.number, forged, point.hash)
        with pytest.raises(LedgerDamagedError, match=r"Entry 9 of .* must fit the budget"):
            ledger.verify()

    def test_a_copy_put_back_is_found_by_an_anchor_only(self, place):
        """The limit of what a file can prove by itself."""
        with Ledger(place.url) as ledger:
            fill(ledger)
            earlier = ledger.anchor()
        place.keep_copy()
        with Ledger(place.url) as ledger:
            charge(ledger, 0.5)
            later = ledger.anchor()
        place.put_copy_back()
        with Ledger(place.url) as ledger:
            assert ledger.verify(earlier).entries == 8
            with pytest.raises(
                LedgerDamagedError, match=r"must go up to its anchor, entry 9.*rolled back"
            ):
                ledger.verify(later)

    def test_a_cut_with_its_sums_is_found_by_an_anchor_only(self, ledger, place):
        fill(ledger)
        anchor = ledger.anchor()
        place.sql("delete from discreet_entries where number = 8")
        ((terms,),) = place.sql("select terms from discreet_budgets where dataset = 'survey'")
        old = terms.replace('"epsilon":"2"', '"epsilon":"1"')
        place.sql("update discreet_budgets set terms = ? where dataset = 'survey'", old)
        assert ledger.verify().entries == 7
        with pytest.raises(LedgerDamagedError, match="must go up to its anchor"):
            ledger.verify(anchor)

    def test_a_whole_new_chain_is_found_by_an_anchor(self, place):
        with Ledger(place.url) as ledger:
            fill(ledger)
            anchor = ledger.anchor()
        place.remove()
        with Ledger(place.url) as ledger:
            fill(ledger)
            assert ledger.verify().entries == 8
            with pytest.raises(LedgerDamagedError, match=r"Entry 8 .* the one of its anchor"):
                ledger.verify(anchor)

    def test_no_anchor_hides_another(self, ledger):
        fill(ledger)
        right, wrong = ledger.anchor(), f"8:{'0' * 64}"
        for both in ((right, wrong), (wrong, right)):
            with pytest.raises(LedgerDamagedError, match="the one of its anchor"):
                ledger.verify(*both)

    @pytest.mark.parametrize(
        "anchor",
        ["", "x", "8", "8:abc", ":" + "0" * 64, "-1:" + "0" * 64, "9" * 30 + ":" + "0" * 64, 8],
    )
    def test_what_is_no_anchor_is_refused(self, ledger, anchor):
        with pytest.raises(ParameterError, match=r"'anchors' parameter of Ledger.verify"):
            ledger.verify(anchor)

    def test_a_wrong_beginning_is_found(self, ledger):
        with pytest.raises(LedgerDamagedError, match="anchor"):
            ledger.verify("0:" + "1" * 64)


@pytest.mark.parametrize("keep", [pickle.dumps, copy.copy, copy.deepcopy])
def test_no_copy_stores_the_address_with_its_password(ledger, keep):
    with pytest.raises(TypeError, match="A Ledger cannot be copied or pickled"):
        keep(ledger)


class TestAnchorFiles:
    def test_it_keeps_the_latest_point(self, place, tmp_path):
        file = tmp_path / "elsewhere.anchor"
        with Ledger(place.url, anchor_file=file) as ledger:
            ledger.open("survey", budget=PureDP(1))
            charge(ledger)
            assert file.read_text().strip() == ledger.anchor()
            assert ledger.verify().entries == 3  # the first one says that there is an anchor file

    def test_a_copy_put_back_is_refused(self, place, tmp_path):
        file = tmp_path / "elsewhere.anchor"
        with Ledger(place.url, anchor_file=file) as ledger:
            ledger.open("survey", budget=PureDP(1))
        place.keep_copy()
        with Ledger(place.url, anchor_file=file) as ledger:
            charge(ledger, 1)
        place.put_copy_back()
        with pytest.raises(
            LedgerError,
            match=r"must contain its anchor, entry 3. It was cut, or replaced by an older copy",
        ):
            Ledger(place.url, anchor_file=file)

    def test_without_the_file_it_is_read_and_not_changed(self, place, tmp_path):
        file = tmp_path / "elsewhere.anchor"
        with Ledger(place.url, anchor_file=file) as ledger:
            ledger.open("survey", budget=PureDP(1))
            point = ledger.anchor()
        with Ledger(place.url) as ledger:
            for change in (
                charge,
                lambda ledger: ledger.open("another", budget=PureDP(1)),
                lambda ledger: ledger.extend("survey", budget=PureDP(2), reason="more"),
                lambda ledger: ledger.close_budget("survey", reason="done"),
            ):
                with pytest.raises(LedgerError, match="must be compared with its anchor file"):
                    change(ledger)
            assert ledger.anchor() == point
            assert ledger.verify(point).entries == 2

    def test_a_cut_is_noticed_with_the_next_charge(self, place, tmp_path):
        file = tmp_path / "elsewhere.anchor"
        with Ledger(place.url, anchor_file=file) as ledger:
            fill(ledger)
            for table in ("discreet_entries", "discreet_charges"):
                place.sql(f"delete from {table} where number > 3")
            with pytest.raises(LedgerError, match=r"must contain (its anchor|entry 9)"):
                charge(ledger)

    @pytest.mark.parametrize("content", [None, "0:" + "0" * 64])
    def test_a_file_that_is_gone_or_begins_again_is_refused(self, place, tmp_path, content):
        file = tmp_path / "elsewhere.anchor"
        with Ledger(place.url, anchor_file=file) as ledger:
            ledger.open("survey", budget=PureDP(1))
            file.unlink()
            if content is not None:
                file.write_text(content)
            for use in (charge, Ledger.verify):
                with pytest.raises(
                    LedgerError, match=r"anchor file .* (is missing|holds only the first point)\."
                ):
                    use(ledger)
        with pytest.raises(
            LedgerError, match=r"the last entry of the ledger .* First find out why\."
        ):
            Ledger(place.url, anchor_file=file)

    def test_a_file_that_was_written_by_hand_is_accepted(self, place, tmp_path):
        first, second = tmp_path / "first.anchor", tmp_path / "second.anchor"
        with Ledger(place.url, anchor_file=first) as ledger:
            ledger.open("survey", budget=PureDP(1))
            second.write_text(ledger.anchor())
        with Ledger(place.url, anchor_file=second) as ledger:
            charge(ledger)
            assert second.read_text().strip() == ledger.anchor()
            assert ledger.verify().entries == 3

    def test_a_power_cut_between_the_file_and_the_entry_stops_nobody(self, place, tmp_path):
        file = tmp_path / "elsewhere.anchor"
        Ledger(place.url, anchor_file=file).close()
        file.write_text("0:" + "0" * 64)
        with Ledger(place.url, anchor_file=file) as ledger:
            ledger.open("survey", budget=PureDP(1))
            assert file.read_text().strip() == ledger.anchor()

    def test_another_ledger_is_refused(self, place, tmp_path):
        file = tmp_path / "elsewhere.anchor"
        file.write_text("1:" + "a" * 64)
        with Ledger(place.url) as ledger:
            fill(ledger)
        with pytest.raises(LedgerError, match="must contain its anchor"):
            Ledger(place.url, anchor_file=file)

    @pytest.mark.parametrize("content", [b"", b"x", b"\xff\xfe"])
    def test_what_is_no_anchor_file_is_refused(self, place, tmp_path, content):
        file = tmp_path / "elsewhere.anchor"
        file.write_bytes(content)
        with pytest.raises(LedgerError, match="must hold a point of the chain"):
            Ledger(place.url, anchor_file=file)

    def test_without_its_folder_nothing_is_released(self, place, tmp_path):
        with pytest.raises(LedgerError, match="writable"):
            Ledger(place.url, anchor_file=tmp_path / "nowhere" / "anchor")
        with Ledger(place.url, anchor_file=tmp_path / "here" / ".." / "anchor") as ledger:
            ledger.open("survey", budget=PureDP(1))

    @pytest.mark.parametrize("use", [charge, Ledger.verify], ids=["charge", "verify"])
    def test_what_another_ledger_keeps_meanwhile_is_no_cut(self, place, tmp_path, monkeypatch, use):
        """A transaction sees the entries that were there when it began."""
        file = tmp_path / "elsewhere.anchor"
        with Ledger(place.url, anchor_file=file) as one, Ledger(place.url, anchor_file=file) as two:
            one.open("survey", budget=PureDP(1))
            before = one._store.reading

            @contextmanager
            def reading():
                with before() as transaction:
                    transaction.head()
                    charge(two, 0.01)
                    yield transaction

            monkeypatch.setattr(one._store, "reading", reading)
            use(one)

    def test_threads_and_other_ledgers_never_move_it_back(self, place, tmp_path):
        file = tmp_path / "elsewhere.anchor"
        with Ledger(place.url, anchor_file=file) as one, Ledger(place.url, anchor_file=file) as two:
            one.open("survey", budget=PureDP(1))
            run_all(
                [
                    lambda ledger=ledger: [charge(ledger, 0.01) for _ in range(5)]
                    for ledger in (one, two, one, two)
                ]
            )
            assert file.read_text().strip() == one.anchor()


class TestSchema:
    def test_a_newer_one_is_refused(self, place):
        with Ledger(place.url) as ledger:
            fill(ledger)
        place.sql(place.newer)
        with pytest.raises(LedgerError, match=r"newer discreet. Got schema 99"):
            Ledger(place.url)

    def test_an_older_one_is_brought_forward_with_its_data(self, place, monkeypatch):
        with Ledger(place.url) as ledger:
            fill(ledger)
            before = ledger.accounts(), ledger.history("survey"), ledger.anchor()
        steps = (
            *SCHEMA,
            (
                "create table discreet_notes (note text)",
                "insert into discreet_notes values ('forward')",
            ),
        )
        for module in ("sqlite_file", "postgresql_schema"):
            monkeypatch.setattr(f"discreet.ledger.{module}.SCHEMA", steps)
        monkeypatch.setattr("discreet.ledger.sqlite_file.DEFINITIONS", DEFINITIONS | {steps[-1][0]})
        for _ in range(2):  # once is enough
            with Ledger(place.url) as ledger:
                assert (ledger.accounts(), ledger.history("survey"), ledger.anchor()) == before
                charge(ledger, 0.001)
                assert place.sql("select note from discreet_notes") == [("forward",)]
                ledger.verify()
                before = ledger.accounts(), ledger.history("survey"), ledger.anchor()
        monkeypatch.undo()
        with pytest.raises(LedgerError, match="newer discreet"):
            Ledger(place.url)

    def test_a_step_that_fails_leaves_the_ledger_as_it_was(self, place, monkeypatch):
        with Ledger(place.url) as ledger:
            fill(ledger)
        steps = (
            *SCHEMA,
            ("create table discreet_notes (note text)", "insert into discreet_nowhere values (1)"),
        )
        for module in ("sqlite_file", "postgresql_schema"):
            monkeypatch.setattr(f"discreet.ledger.{module}.SCHEMA", steps)
        with pytest.raises(LedgerError):
            Ledger(place.url)
        monkeypatch.undo()
        with Ledger(place.url) as ledger:
            assert ledger.verify().entries == 8


ALIKE = [
    "2026-11 ",
    "\uff12\uff10\uff12\uff16-11",
    "\u0662\u0660\u0662\u0666-11",
    "2026-1\u00b9",
    " 2026-11",
    "2026  11",
    "2026-11\N{NO-BREAK SPACE}",
    "2026-11\N{IDEOGRAPHIC SPACE}",
    "2026-11\t",
    "2026-11\n",
    "2026-11\N{ZERO WIDTH SPACE}",
    "2026-11\N{WORD JOINER}",
    "2026-11\N{VARIATION SELECTOR-16}",
    "2026-11\N{COMBINING GRAPHEME JOINER}",
    "2026-11\N{HANGUL FILLER}",
    "2026-11\N{BRAILLE PATTERN BLANK}",
    "Mu\N{COMBINING DIAERESIS}nchen",
    "\uff5011",  # a wide p
    "n\u043ev 2026",  # a Cyrillic o
    "\u0391pril",  # a Greek A
    "\U0001d42farch",  # a bold letter
    "2026\N{HYPHEN}11",
    "2026\N{NON-BREAKING HYPHEN}11",
    "2026\N{EN DASH}11",
    "2026\N{MINUS SIGN}11",
    "2026\N{KATAKANA-HIRAGANA PROLONGED SOUND MARK}11",
    "2026\N{DIVISION SLASH}11",
    "it\N{RIGHT SINGLE QUOTATION MARK}s",
    "it\N{MODIFIER LETTER APOSTROPHE}s",
    "2\N{IDEOGRAPHIC NUMBER ZERO}26",
]
"""Names that show like others, or could be taken for them."""
NAMES = ["", "x" * 201, "line\nbreak", "\0", "\ud800"]
BAD = {
    "dataset": [*NAMES, 7, None, b"x", ["survey"]],
    "analyst": [*NAMES, 7, b"x"],
    "key": [*NAMES, 7, b"x"],
    "window": [*NAMES, 7, ["may", ""], {"may": 1}],
    "loss": [None, 0.1, "0.1", {"kind": "pure-dp"}],
    "request": [
        None,
        "mode",
        [1],
        {"a": object()},
        {"a": float("nan")},
        {1: 1, "1": 1, (): 1},
        {"a": "x" * 70_000},
        {"a": b"x"},
    ],
}
NESTED = {"a": []}
for _ in range(100):
    NESTED = {"a": NESTED}
ENDLESS: dict = {}
ENDLESS["a"] = ENDLESS


class TestBadInput:
    @pytest.mark.parametrize("name", BAD)
    def test_a_bad_parameter_charges_nothing(self, ledger, name):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        good = {"dataset": "clicks", "loss": PureDP(0.1), "request": ASK, "window": "may"}
        for value in BAD[name]:
            with pytest.raises(
                ParameterError,
                match=rf"^The '{name}' parameter of Ledger.reserve must be .*\. Got ",
            ) as refused:
                ledger.reserve(**{**good, name: value})
            assert isinstance(refused.value, ValueError)
        assert ledger.accounts() == (ledger.account("clicks"),)

    def test_a_name_that_looks_like_another_is_no_second_budget(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        charge(ledger, 1, "clicks", window="2026-11")
        for window in ALIKE:
            self.require_another_name(ledger, window)
        assert {account.window for account in ledger.accounts()} == {None, "2026-11"}

    def test_a_name_in_decomposed_form_is_told_to_be_composed(self, ledger):
        ledger.open("clicks", budget=PureDP(1), windows=True)
        with pytest.raises(
            ParameterError, match=r"must be in the composed form of Unicode \(NFC\)"
        ):
            charge(ledger, 1, "clicks", window="Mu\N{COMBINING DIAERESIS}nchen")

    def require_another_name(self, ledger, window):
        for name in (window, ["2026-10", window]):
            with pytest.raises(
                ParameterError, match=r"^The 'window' parameter of Ledger.reserve must be .* Got "
            ):
                charge(ledger, 1, "clicks", window=name)
        with pytest.raises(
            ParameterError, match=r"^The 'window' parameter of Ledger.account must be"
        ):
            ledger.remaining("clicks", window=window)
        with pytest.raises(
            ParameterError, match=r"^The 'dataset' parameter of Ledger.open must be"
        ):
            ledger.open(window, budget=PureDP(1))
        with pytest.raises(
            ParameterError, match=r"^The 'analyst' parameter of Ledger.open must be"
        ):
            ledger.open("clicks", budget=PureDP(1), analyst=window)
        with pytest.raises(
            ParameterError, match=r"^The 'analyst' parameter of Ledger.reserve must be"
        ):
            charge(ledger, 1, "clicks", window="2026-12", analyst=window)

    def test_data_sets_with_names_of_earlier_versions_still_are_there(
        self, ledger, place, monkeypatch
    ):
        with monkeypatch.context() as earlier:
            earlier.setattr("discreet.ledger.ledger.read_name", read_known_name)
            ledger.open("survey ", budget=PureDP(1))
        charge(ledger, 0.25, "survey ")
        assert ledger.remaining("survey ") == Fraction(3, 4)
        assert len(ledger.history("survey ")) == 1
        ledger.extend("survey ", budget=PureDP(2), reason="It is still the same one.")
        ledger.verify()

    @pytest.mark.parametrize("request_", [NESTED, ENDLESS], ids=["nested", "endless"])
    def test_a_request_is_not_nested_without_end(self, ledger, request_):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match="'request'"):
            ledger.reserve("survey", PureDP(0.1), request=request_)

    @pytest.mark.parametrize("text", ["[[[" * 50, "]]]" * 50, "\ud800", "\0", "ü"])
    def test_a_request_may_hold_every_text(self, ledger, text):
        ledger.open("survey", budget=PureDP(1))
        ledger.reserve("survey", PureDP(0.1), request={"a": text, text: "a"})
        assert ledger.history("survey")[0].request == {"a": text, text: "a"}
        ledger.verify()

    @pytest.mark.parametrize("loss", [ZCDP(0.1)])
    def test_a_loss_that_a_pure_budget_cannot_count_is_refused(self, ledger, loss):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match="'loss'"):
            ledger.reserve("survey", loss, request=ASK)

    @pytest.mark.parametrize(
        "budget",
        [None, 1, BoundedRange(1), PureDP(Fraction(1, 10**31)), PureDP(10**31), PureDP(10**900)],
    )
    def test_a_bad_budget_is_refused(self, ledger, budget):
        with pytest.raises(ParameterError, match=r"^The 'budget' parameter of Ledger.open must be"):
            ledger.open("survey", budget=budget)
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(
            ParameterError, match=r"^The 'budget' parameter of Ledger.extend must be"
        ):
            ledger.extend("survey", budget=budget, reason="Bad.")

    @pytest.mark.parametrize("loss", [PureDP(10**31), PureDP(10**900), PureDP(2)])
    def test_a_huge_loss_is_refused(self, ledger, loss):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises((ParameterError, BudgetExceededError)):
            ledger.reserve("survey", loss, request=ASK)
        assert ledger.spent("survey") == 0

    @pytest.mark.parametrize("part", [-1e-9, 1e-6, 1, "x"])
    def test_a_bad_part_of_delta_is_refused(self, ledger, part):
        with pytest.raises(ParameterError, match="'delta_for_losses'"):
            ledger.open("survey", budget=ApproxDP(1, 1e-6), delta_for_losses=part)

    @pytest.mark.parametrize("reason", [None, "", "  ", 7])
    def test_an_extension_needs_a_reason(self, ledger, reason):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match="'reason'"):
            ledger.extend("survey", budget=PureDP(2), reason=reason)

    def test_a_bad_timeout_is_refused(self, place):
        for timeout in (0, -1, True, "1", float("nan"), float("inf"), 3601, None):
            with pytest.raises(ParameterError, match="'timeout' parameter of Ledger must be"):
                Ledger(place.url, timeout=timeout)

    def test_a_bad_time_to_wait_is_refused(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        for wait in (-1, True, "1", float("nan"), float("inf"), 3601):
            with pytest.raises(ParameterError, match=r"'wait' parameter of Ledger.reserve must be"):
                charge(ledger, 0.1, wait=wait)
        assert ledger.history() == ()

    def test_a_loss_of_nothing_is_no_charge(self, ledger):
        ledger.open("survey", budget=PureDP(1))
        with pytest.raises(ParameterError, match="must be more than nothing"):
            ledger.reserve("survey", NO_LOSS, request=ASK)
