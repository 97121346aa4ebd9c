"""Why a ledger says no: one error for each reason, in words."""

from __future__ import annotations

import pytest

from discreet import (
    ApproxDP,
    BoundedRange,
    BudgetClosedError,
    BudgetExceededError,
    LedgerError,
    ParameterError,
    PureDP,
)
from discreet.errors import ReservationLostError
from discreet.ledger.budget_terms import UNITS, Sums, agree, read_new_terms
from discreet.ledger.operations import Outcome, Reserve
from discreet.ledger.refusals import closed_error, lost_error, refusal_error, unexpected_error
from discreet.ledger.subject import Subject
from discreet.ledger.transaction import Scope

TERMS = agree(read_new_terms(ApproxDP(1, 1e-6), False, Subject(), "test"))


def operation(analyst=""):
    return Reserve(
        ticket="t",
        time="2026-11-16T00:00:00+00:00",
        dataset="survey",
        analyst=analyst,
        windows=(),
        loss=BoundedRange(0.1),
        parts=None,
        delta="0",
        amounts=((TERMS.tariff, Sums(UNITS // 10, 100, 0)),),
        request={},
        key="req-1",
        after=0,
        holder="",
    )


def refuse(asker="", **outcome):
    return refusal_error(Outcome(**outcome), operation(asker), "Ledger.reserve")


def exceeded(asker, owner, spent):
    return refuse(
        asker,
        refused="does not fit",
        analyst=owner,
        window="may",
        terms=(TERMS.to_text(),),
        spent=spent,
    )


NEARLY = Sums(2 * UNITS, 2100, 0)


@pytest.mark.parametrize(("asker", "owner"), [("", ""), ("ada", "ada")])
def test_whose_budget_it_is_and_what_still_fits(asker, owner):
    error = exceeded(asker, owner, NEARLY)
    assert isinstance(error, BudgetExceededError)
    whose = "'survey' for 'ada' in 'may'" if owner else "'survey' in 'may'"
    assert str(error) == (
        f"This question costs epsilon 0.1, but the budget of {whose} has room for only one "
        "more question of epsilon 0.052. Ask with epsilon=0.052 or less. Or ask smaller "
        "questions: about 7 of epsilon 0.02 would fit, because together they cost less than the "
        "sum of their epsilons."
    )


@pytest.mark.parametrize("spent", [NEARLY, Sums(None, None, 0), Sums(2 * UNITS, 2100, 10**9)])
def test_an_analyst_is_not_told_what_others_have_spent(spent):
    assert str(exceeded("ada", "", spent)) == (
        "This data set has no room for this question. Ask with a smaller epsilon, or "
        "request a larger budget."
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [("reserved", "because it failed or its process ended"), ("settled", "was not kept")],
)
def test_a_lost_request_says_what_became_of_it(state, words):
    error = lost_error("req-1", state)
    assert isinstance(error, ReservationLostError)
    assert words in str(error)
    assert "again=True" in str(error)


def test_a_closed_budget_is_named():
    error = unexpected_error(Outcome(refused="closed", analyst="ada"), operation(), "Ledger.open")
    assert isinstance(error, BudgetClosedError)
    assert str(error) == str(closed_error(Scope("survey", "ada")))


@pytest.mark.parametrize("why", ["no analyst", "unknown analyst"])
def test_an_analyst_is_a_parameter(why):
    error = refuse(refused=why)
    assert isinstance(error, ParameterError)
    assert (error.name, error.owner) == ("analyst", "Ledger.reserve")


@pytest.mark.parametrize("why", ["unknown data set", "no charge", "not reserved"])
def test_everything_else_is_an_error_too(why):
    assert type(refuse(refused=why)) is LedgerError
    told = unexpected_error(Outcome(refused=why), operation(), "Ledger.open")
    assert str(told) == f"The ledger refuses Ledger.open: {why}."


def test_what_is_charged_is_what_was_asked_for():
    assert operation().amount(TERMS) == Sums(UNITS // 10, 100, 0)
    pure = agree(read_new_terms(PureDP(1), False, Subject(), "test"))
    assert operation().amount(pure) is None
