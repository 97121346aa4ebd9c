"""Why a ledger says no: one error for each reason, in words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import BudgetExceeded, KeyReused, LedgerError, ParameterError, ReservationBurnt
from discreet.ledger.amounts import Amount, charge_of
from discreet.ledger.refusals import refusal, unexpected

OPERATION = {"dataset": "survey", "key": "req-1", "analyst": ""}
TENTH = charge_of(Fraction(1, 10), Fraction(1, 10**7))


def refuse(amount=TENTH, **outcome):
    return refusal(outcome, OPERATION, amount, "Ledger.reserve")


@pytest.mark.parametrize(
    ("left", "requested", "remaining"),
    [
        (Amount(10**28, 10**25), Fraction(1, 10), Fraction(1, 100)),
        (Amount(10**30, 10**22), Fraction(1, 10**7), Fraction(1, 10**8)),
    ],
)
def test_a_budget_names_the_side_that_is_too_small(left, requested, remaining):
    pair = [str(left.main), str(left.delta)]
    error = refuse(refused="budget", left=pair, analyst="ada", window="may")
    assert isinstance(error, BudgetExceeded)
    assert (error.requested, error.remaining) == (requested, remaining)
    assert error.scope == "'survey' for 'ada' in 'may'"


def test_a_reused_key_is_named():
    assert isinstance(refuse(refused="another request"), KeyReused)
    assert "'req-1'" in str(refuse(refused="another request"))


@pytest.mark.parametrize(("state", "words"), [("reserved", "is running, or was interrupted"), ("settled", "was not kept")])
def test_a_burnt_request_says_what_became_of_it(state, words):
    error = refuse(refused="burnt", state=state)
    assert isinstance(error, ReservationBurnt)
    assert words in str(error)
    assert "new key" in str(error)


@pytest.mark.parametrize("why", ["no analyst", "unknown analyst"])
def test_an_analyst_is_a_parameter(why):
    error = refuse(refused=why)
    assert isinstance(error, ParameterError)
    assert (error.name, error.owner) == ("analyst", "Ledger.reserve")


@pytest.mark.parametrize("why", ["unknown data set", "a refund", "something new"])
def test_everything_else_is_an_error_too(why):
    assert type(refuse(refused=why)) is LedgerError
    assert (
        str(unexpected({"refused": why}, "Ledger.open")) == f"Ledger.open must be possible in the ledger as it is. Got: {why}."
    )
