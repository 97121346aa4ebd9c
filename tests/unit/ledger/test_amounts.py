"""Amounts: whole units, charges up and budgets down."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import ZCDP, ApproxDP, ParameterError, PureDP
from discreet.ledger.amounts import NOTHING, UNITS, Amount, charge_of, exact, limit_of
from discreet.ledger.book import read_amount, write_amount
from discreet.ledger.terms import agree, is_pure, same_share

positive = st.fractions(min_value=0, max_value=100)


@given(positive, positive)
def test_rounding_never_gives_privacy_away(main, delta):
    charge, limit = charge_of(main, delta), limit_of(main, delta)
    for charged, limited, true in ((charge.main, limit.main, main), (charge.delta, limit.delta, delta)):
        assert exact(limited) <= true <= exact(charged)
        assert charged - limited in (0, 1)


@given(st.lists(positive, max_size=20), positive)
def test_what_fits_in_units_fits_in_truth(charges, budget):
    spent = sum((charge_of(charge, Fraction(0)) for charge in charges), NOTHING)
    if spent.main <= limit_of(budget, Fraction(0)).main:
        assert sum(charges) <= budget


@given(st.integers(0, 10**70), st.integers(0, 10**70))
def test_amounts_survive_their_way_as_text(main, delta):
    assert read_amount(write_amount(Amount(main, delta))) == Amount(main, delta)


def test_amounts_add_and_subtract_side_by_side():
    assert Amount(3, 5) + Amount(1, 2) == Amount(4, 7)
    assert Amount(3, 5) - Amount(1, 2) == Amount(2, 3)
    assert exact(UNITS) == 1


@pytest.mark.parametrize(
    ("budget", "pure"), [(PureDP(1), True), (ApproxDP(1, 0), True), (ApproxDP(1, 1e-6), False), (ZCDP(1), False)]
)
def test_a_budget_without_delta_counts_in_epsilon(budget, pure):
    assert is_pure(budget) is pure


def test_a_budget_that_allows_nothing_is_refused():
    with pytest.raises(ParameterError, match="at least 1e-30"):
        agree(PureDP(Fraction(1, 2 * UNITS)), False, None, "test")


def test_a_larger_delta_keeps_its_share_for_losses():
    terms = {"budget": ApproxDP(1, 1e-6).to_dict(), "delta_for_losses": "1/5000000"}
    assert same_share(terms, ApproxDP(2, 1e-5)) == Fraction(2, 10**6)
    assert same_share({"budget": PureDP(1).to_dict(), "delta_for_losses": "0"}, PureDP(2)) == 0
