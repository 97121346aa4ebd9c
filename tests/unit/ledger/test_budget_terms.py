"""Terms and sums: whole numbers, charges up and budgets down, and more than any budget has."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import ZCDP, ApproxDP, BoundedRange, GaussianDP, ParameterError, PureDP
from discreet.accounting import Cost
from discreet.errors import ParameterTypeError
from discreet.ledger.budget_terms import (
    NOTHING,
    UNITS,
    Sums,
    agree,
    grow,
    keep_coins,
    read_new_terms,
    read_terms,
)
from discreet.ledger.subject import Subject
from discreet.ledger.validation import adds_up

positive = st.fractions(min_value=Fraction(1, 10**9), max_value=100)
sums = st.builds(
    Sums,
    st.none() | st.integers(0, 10**70),
    st.none() | st.integers(0, 10**70),
    st.integers(0, 10**70),
)
LARGE = PureDP(10**6)


def terms_of(budget, **options):
    return agree(read_new_terms(budget, False, Subject(), "test", **options))


@given(positive)
def test_rounding_never_gives_privacy_away(epsilon):
    for terms in (terms_of(LARGE), terms_of(ZCDP(Fraction(epsilon)))):
        charged = terms.spending(terms.price(Cost(PureDP(epsilon)), "test"))
        exact = terms.rule.spending(Cost(PureDP(epsilon)))
        assert 0 <= charged.epsilon - exact.epsilon < Fraction(1, UNITS)
        assert 0 <= charged.squares - exact.squares < Fraction(1, UNITS)
    assert 0 <= epsilon - terms.rule.squares_limit < Fraction(1, UNITS)


@given(st.lists(positive, max_size=20), positive)
def test_what_fits_in_units_fits_in_truth(charges, budget):
    terms, spent = terms_of(PureDP(budget)), NOTHING
    for epsilon in charges:
        charge = terms.price(Cost(PureDP(epsilon)), "test")
        spent = terms.after(spent, charge, PureDP(epsilon)) or spent
    assert terms.spending(spent).epsilon is None or terms.spending(spent).epsilon <= budget


BUDGETS = {
    "pure": (PureDP(Fraction(1, 3)), {}),
    "concentrated": (ZCDP(Fraction(1, 7)), {}),
    "coins": (ApproxDP(1, Fraction(1, 10**6)), {}),
    "rho": (ApproxDP(Fraction(2, 3), Fraction(1, 10**6)), {"counting": "rho"}),
}


@pytest.mark.parametrize("kind", BUDGETS)
def test_whole_numbers_fit_where_the_rule_says_so(kind):
    """At every limit, one below it and one above, and where a sum is more than any budget has."""
    budget, options = BUDGETS[kind]
    terms = terms_of(budget, **options)
    limits = terms.limits
    edges = [
        [None, 0, *(limit + step for step in (-1, 0, 1) if limit + step >= 0)] for limit in limits
    ]
    for epsilon in edges[0]:
        for squares in edges[1]:
            for delta in edges[2][1:]:
                one = Sums(epsilon, squares, delta)
                assert one.fits(limits) == terms.rule.fits(terms.spending(one)), one
                below = Sums(one.epsilon, one.squares, 0)
                total = terms.after(below, Sums(0, 0, delta), LARGE)
                assert total == (one if one.fits(limits) else None), one


@given(sums, sums)
def test_whole_numbers_add_up_as_the_rule_adds_them(one, other):
    terms = terms_of(LARGE)
    assert terms.spending(one + other) == terms.spending(one) + terms.spending(other)


@given(sums)
def test_sums_survive_their_way_as_text(one):
    assert Sums.read(*one.to_texts()) == one
    assert Sums.read(*json.loads(json.dumps(one.to_texts()))) == one


@pytest.mark.parametrize(
    "texts",
    [
        ("-1", "0", "0"),
        ("0", "-1", "0"),
        ("0", "0", "-1"),
        ("nan", "0", "0"),
        ("inf", "0", "0"),
        ("1e9", "0", "0"),
        (None, "0", "0"),
        ("0", "0", "more"),
        ("1.5", "0", "0"),
        ("", "0", "0"),
        (1, "0", "0"),
    ],
)
def test_what_is_no_sum_is_not_read(texts):
    """A sum below nothing would be a refund, and no comparison holds for NaN."""
    with pytest.raises(ValueError, match="not a whole number"):
        Sums.read(*texts)


@pytest.mark.parametrize(
    ("charge", "is_one"),
    [
        (Sums(1, 1, 0), True),
        (Sums(None, 1, 0), True),
        (Sums(1, None, 0), True),
        (Sums(0, 1, 0), False),
        (Sums(1, 0, 0), False),
        (Sums(0, 0, 1), False),
    ],
)
def test_a_charge_takes_something_of_both_sums(charge, is_one):
    assert charge.is_a_charge is is_one


def test_more_than_any_budget_has_never_comes_back():
    terms = terms_of(ApproxDP(1, 1e-6))
    spent = terms.after(NOTHING, Sums(2 * UNITS, 1, 0), BoundedRange(0.01))
    assert spent == Sums(2 * UNITS, 1, 0)
    gone = terms.after(NOTHING, Sums(2 * UNITS, None, 0), ApproxDP(1, 1e-6))
    assert gone == Sums(None, None, 0)
    for charge in (Sums(1, 1, 0), Sums(None, 1, 0)):
        assert terms.after(gone, charge, BoundedRange(0.01)) is None
    without_coins = terms.after(Sums(1, None, 0), Sums(1, 1, 0), BoundedRange(0.01))
    assert without_coins == Sums(2, None, 0)


@pytest.mark.parametrize(
    ("budget", "tariff"),
    [
        (PureDP(1), "epsilon"),
        (ApproxDP(1, 0), "epsilon"),
        (ZCDP(1), "rho"),
        (ApproxDP(1, 1e-6), "coins of 1/100, noise 97/100"),
    ],
)
def test_terms_are_read_as_they_are_written(budget, tariff):
    terms = terms_of(budget)
    assert read_terms(terms.to_text()) == terms
    assert terms.tariff == tariff
    assert (terms.scale == 1) == tariff.startswith("coins")


def test_coins_are_written_down_with_their_number_and_size():
    written = json.loads(terms_of(ApproxDP(1, 1e-6)).to_text())
    assert (written["counting"], written["squares"], written["coin"]) == ("coins", "2129", "1/100")
    assert written["noise"] == "97/100"


def test_coins_that_were_written_down_before_noise_had_a_price_pay_for_none():
    written = json.loads(terms_of(ApproxDP(1, 1e-6)).to_text())
    del written["noise"]
    older = read_terms(json.dumps(written))
    assert older.tariff == "coins of 1/100"
    assert "noise" not in json.loads(older.to_text())
    assert older.price(Cost(BoundedRange(0.1)), "test").squares == 100
    with pytest.raises(ParameterTypeError, match="PureDP or BoundedRange for a budget"):
        older.price(Cost(GaussianDP(0.01)), "test")
    larger = keep_coins(older, grow(older, ApproxDP(2, 1e-6), "test"))
    assert larger.tariff == older.tariff.replace("1/100", str(larger.rule.coin))
    assert not larger.rule.noise


@pytest.mark.parametrize(
    "change",
    [
        {"counting": "moons"},
        {"squares": "-1"},
        {"squares": "1e9"},
        {"coin": "0.01"},
        {"coin": None},
        {"noise": "-97/100"},
        {"delta_for_losses": "1"},
        {"windows": "no"},
        {"budget": {"kind": "pure-dp"}},
    ],
)
def test_terms_that_were_never_written_are_not_read(change):
    written = json.loads(terms_of(ApproxDP(1, 1e-6)).to_text())
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_terms(json.dumps({**written, **change}))


@pytest.mark.parametrize("budget", [PureDP(Fraction(1, 2 * UNITS)), PureDP(10**31)])
def test_a_budget_that_allows_nothing_or_everything_is_refused(budget):
    with pytest.raises(ParameterError, match="at least 1e-30 and at most 1e30"):
        terms_of(budget)


def test_a_larger_delta_keeps_its_share_for_losses():
    terms = terms_of(ApproxDP(1, 1e-6), delta_for_losses=Fraction(1, 10**6) * Fraction(9, 10))
    larger = grow(terms, ApproxDP(2, 1e-5), "test")
    assert larger.rule.delta_for_losses == Fraction(9, 10**6)
    assert grow(terms_of(PureDP(1)), PureDP(2), "test").rule.delta_for_losses == 0


def test_a_larger_budget_never_has_fewer_coins():
    terms = terms_of(ApproxDP(1, 1e-6))
    kept = keep_coins(terms, grow(terms, ApproxDP(1, 1e-6), "test"))
    assert kept == terms
    assert terms.grows_to(kept)
    for smaller in (ApproxDP(0.5, 1e-6), ApproxDP(1, 1e-7), ApproxDP(2, 1e-7)):
        assert not terms.grows_to(keep_coins(terms, grow(terms, smaller, "test")))


@pytest.mark.parametrize(
    ("budget", "change"),
    [
        (ApproxDP(1, 1e-6), {"squares": "2242"}),
        (ApproxDP(1, 1e-6), {"squares": "1000000000"}),
        (ApproxDP(1, 1e-6), {"coin": "1000000"}),
        (ApproxDP(1, 1e-6), {"coin": "0"}),
        (ApproxDP(1, 1e-6), {"coin": "1/90"}),
        (ApproxDP(1, 1e-6), {"noise": "98/100"}),
        (ZCDP(1), {"squares": str(UNITS + 1)}),
    ],
)
def test_more_coins_than_anybody_can_have_certified_are_not_read(budget, change):
    text = terms_of(budget).to_text()
    assert read_terms(text).to_text() == text
    with pytest.raises(ValueError, match="more than anybody can have certified"):
        read_terms(json.dumps(json.loads(text) | change))


def test_a_rho_that_nobody_can_have_certified_is_not_read():
    text = terms_of(ApproxDP(1, 1e-6), counting="rho").to_text()
    said = json.loads(text)
    with pytest.raises(ValueError, match="more than anybody can have certified"):
        read_terms(json.dumps(said | {"squares": str(int(said["squares"]) * 11 // 10)}))


@pytest.mark.parametrize("steps", [(1, 2, 4, 16), (Fraction(1, 10), 1, 10), (1, Fraction(11, 10))])
def test_a_budget_that_grew_is_read_again(steps):
    terms = terms_of(ApproxDP(steps[0], 1e-6))
    for epsilon in steps[1:]:
        terms = keep_coins(terms, grow(terms, ApproxDP(epsilon, 1e-6), "test"))
        assert read_terms(terms.to_text()) == terms


def test_a_rho_may_differ_in_the_last_digits_of_a_search():
    """A budget that grew by next to nothing keeps its rho, and can still be read."""
    before = terms_of(ApproxDP(Fraction(61, 100), Fraction(1, 10**7)), counting="rho")
    larger = ApproxDP(Fraction(61, 100) + Fraction(1, 10**18), Fraction(1, 10**7))
    after = keep_coins(before, grow(before, larger, "test"))
    assert read_terms(after.to_text()).rule.agreed == after.rule.agreed >= before.rule.agreed


def test_parts_with_a_delta_have_the_rho_of_their_epsilon():
    """Neither less nor more, so that they make up what they cost and nothing else."""
    whole, small = PureDP(1).to_zcdp(), Fraction(1, 10**9)
    assert adds_up(whole, {ApproxDP(1, small): 1}, Fraction(0))
    assert not adds_up(whole, {ApproxDP(Fraction(99, 100), small): 1}, Fraction(0))
