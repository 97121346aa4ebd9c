"""Money: exact inside, with a unit that prints."""

from fractions import Fraction

import pytest

from discreet import BoundedRange, ParameterError, PureDP
from discreet.accounting import Amount, Cost

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (Amount(Fraction("0.43"), "epsilon"), "0.43 epsilon"),
        (Amount(Fraction(17), "coins", Fraction(1, 40)), "17 coins of 0.025"),
        (Amount(Fraction(1), "coins", Fraction(1, 100)), "1 coin of 0.01"),
        (Amount(Fraction(1), "coins", Fraction(1, 100), Fraction(8)), "12.5% of the budget"),
        (Amount(Fraction(1, 3), "rho"), "0.333333 rho"),
        (Amount(Fraction(0), "rho"), "0 rho"),
    ],
    ids=str,
)
def test_it_prints_with_its_unit(amount, shown):
    assert str(amount) == repr(amount) == shown


def test_it_compares_with_its_like_and_with_numbers():
    half = Amount(HALF, "epsilon")
    assert half == HALF == half.value
    assert half == 0.5
    assert half < 1
    assert half >= Amount(Fraction(1, 4), "epsilon")
    assert half != Amount(HALF, "rho")
    assert Amount(HALF, "coins", HALF) != Amount(HALF, "coins", Fraction(1, 3))
    assert float(half) == 0.5
    assert half
    assert not Amount(Fraction(0), "rho")
    with pytest.raises(TypeError):
        half < Amount(HALF, "rho")  # noqa: B015


def test_it_adds_up_in_one_unit():
    half = Amount(HALF, "epsilon")
    assert str(half + half) == "1 epsilon"
    assert half - half == 0
    with pytest.raises(ParameterError, match="must be in epsilon"):
        half + Amount(HALF, "rho")


def test_it_is_written_as_text():
    assert Amount(HALF, "epsilon").to_dict() == {"value": "1/2", "unit": "epsilon"}
    assert Amount(Fraction(3), "coins", HALF).to_dict()["coin"] == "1/2"


def test_a_cost_knows_its_parts():
    assert Cost(PureDP(1)).parts_or_whole == {PureDP(1): 1}
    parts = {BoundedRange(HALF): 2}
    assert Cost(PureDP(1), parts).parts_or_whole == parts


def test_amounts_add_up_in_one_unit_only():
    quarter, coins = Amount(Fraction(1, 4), "epsilon"), Amount(Fraction(3), "coins", Fraction(1, 9))
    assert sum([quarter, quarter, quarter]) == Fraction(3, 4)
    assert quarter - quarter == 0
    with pytest.raises(ParameterError, match=r"must be in coins of 1/9|must be in coins of 0.111"):
        coins + Amount(Fraction(3), "coins", Fraction(1, 8))
    for other in (1, 0.5, "1 epsilon", None):
        with pytest.raises(TypeError, match="unsupported operand"):
            quarter + other
        with pytest.raises(TypeError, match="unsupported operand"):
            quarter - other
    with pytest.raises(TypeError, match="unsupported operand"):
        1 + quarter


@pytest.mark.parametrize("delta", [-1, -0.5, float("nan"), float("inf"), 1.5, "0", None, True])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(ParameterError, match="'delta' parameter of Cost must be"):
        Cost(PureDP(1), {PureDP(1): 1}, delta)


@pytest.mark.parametrize("count", [-1, 0, True, 1.0, float("nan"), "1", None])
def test_parts_occur_a_whole_number_of_times(count):
    with pytest.raises(ParameterError, match="'parts' parameter of Cost must be"):
        Cost(PureDP(1), {PureDP(1): count})


@pytest.mark.parametrize("loss", [-1, 0.5, float("nan"), None, "1"])
def test_a_loss_that_is_none_is_refused(loss):
    with pytest.raises(ParameterError, match="'loss' parameter of Cost must be"):
        Cost(loss)
