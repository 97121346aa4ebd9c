"""Privacy parameters are exact rationals, and nothing that is not a number gets in."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, ParameterError, PureDP
from discreet.errors import ParameterTypeError, ScoresTypeError
from discreet.exact.rationals import (
    choice,
    count,
    exact_binary,
    exact_decimal,
    positive,
    private_binary,
    private_decimal,
    readable,
)
from discreet.privacy.loss import loss_from_dict

TENTH = Fraction(1, 10)
BINARY_TENTH = Fraction(*(0.1).as_integer_ratio())


@loop_over(
    ("value", "meaning"),
    [
        (0.1, TENTH),
        (np.float64(0.1), TENTH),
        (np.float32(0.1), TENTH),
        (np.float16(0.1), TENTH),
        (np.longdouble("0.1"), TENTH),
        (Decimal("0.1"), TENTH),
        (TENTH, TENTH),
        (1e-300, Fraction(1, 10**300)),
        (5e-324, Fraction(5, 10**324)),
        (1e22, Fraction(10**22)),
        (3, Fraction(3)),
        (np.uint8(3), Fraction(3)),
        (np.int64(-3), Fraction(-3)),
        (10**400, Fraction(10**400)),
    ],
)
def test_a_privacy_parameter_means_the_decimal_that_it_prints_as(value, meaning):
    read = exact_decimal(value, "epsilon")
    assert (type(read), read) == (Fraction, meaning)


@loop_over(
    ("value", "meaning"),
    [
        (0.1, BINARY_TENTH),
        (np.float64(0.1), BINARY_TENTH),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.longdouble(0.1), BINARY_TENTH),
        (Decimal("0.1"), TENTH),
        (TENTH, TENTH),
        (5e-324, Fraction(1, 2**1074)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (10**400, Fraction(10**400)),
    ],
)
def test_a_score_like_number_means_its_binary_value(value, meaning):
    read = exact_binary(value, "sensitivity")
    assert (type(read), read) == (Fraction, meaning)


def test_a_float_subclass_cannot_print_itself_into_another_number():
    class Liar(float):
        def __repr__(self):
            return "1e-9"

        __str__ = __repr__

    assert exact_decimal(Liar(0.5), "epsilon") == Fraction(1, 2)


@loop_over("read", [exact_decimal, exact_binary])
@loop_over(
    "value",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        np.float32("nan"),
        np.float64("inf"),
        np.longdouble("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
    ],
    ids=repr,
)
def test_a_number_that_is_not_finite_is_refused(read, value):
    with pytest.raises(
        ParameterError, match=r"The 'epsilon' parameter must be a finite number\. Got "
    ):
        read(value, "epsilon")


@loop_over("read", [exact_decimal, exact_binary])
@loop_over(
    "value",
    [
        True,
        False,
        np.True_,
        "1",
        b"1",
        None,
        1j,
        np.complex128(1),
        [1],
        (1,),
        np.array([1.0]),
        np.array(1.0),
        object,
    ],
    ids=repr,
)
def test_what_is_not_a_number_is_a_type_error(read, value):
    with pytest.raises(
        ParameterTypeError, match=r"'epsilon' parameter must be a number \(int, float"
    ):
        read(value, "epsilon")


@pytest.mark.parametrize("value", [Decimal("1e400"), np.longdouble("1e400")], ids=repr)
def test_a_finite_number_beyond_the_floats_is_read_exactly(value):
    if not np.isfinite(np.longdouble("1e400")):
        pytest.skip("long doubles are doubles here")
    assert exact_binary(value, "sensitivity") == Fraction(*value.as_integer_ratio())


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1), Fraction(-1, 10**400)])
def test_only_positive_numbers_are_positive(value):
    with pytest.raises(
        ParameterError, match=r"The 'rho' parameter must be greater than 0\. Got 'x'\."
    ):
        positive(value, "x", "rho")


@pytest.mark.parametrize(("value", "least"), [(0, 1), (-1, 1), (np.int8(-1), 0), (4, 5)])
def test_a_count_has_a_least_value(value, least):
    with pytest.raises(ParameterError, match=rf"The 'k' parameter must be at least {least}\. Got"):
        count(value, "k", least=least)


@pytest.mark.parametrize("value", [True, np.True_, 1.0, "1", None, Fraction(1)], ids=repr)
def test_a_count_is_a_whole_number(value):
    with pytest.raises(ParameterTypeError, match="The 'k' parameter must be a whole number"):
        count(value, "k")


@pytest.mark.parametrize(("value", "kind"), [("mx", ParameterError), (True, ParameterTypeError)])
def test_a_choice_names_the_allowed_words(value, kind):
    with pytest.raises(kind, match="must be one of 'max', 'min'") as caught:
        choice(value, ("max", "min"), "objective")
    assert type(caught.value) is kind


@examples(30, 100)
@given(st.fractions())
def test_what_is_readable_is_still_the_same_number(value):
    assert exact_decimal(eval(readable(value), {"Fraction": Fraction}), "epsilon") == value


@examples(30, 100)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_parameter_prints_as_it_was_given(value):
    assert float(readable(exact_decimal(value, "epsilon"))) == value


LONG = [
    10**2000,
    -(10**2000),
    Fraction(1, 10**2000),
    Fraction(1, 10**4301 + 1),
    Fraction(1, 10**1_000_000 + 7),
    Decimal("1e-1200"),
    Decimal("-1e1200"),
    Decimal("1e-999999999"),
    Decimal("1e999999999"),
]


@loop_over("value", LONG, ids=range(len(LONG)))
@loop_over("read", [exact_decimal, exact_binary])
def test_a_number_of_very_many_digits_is_refused_in_one_line(read, value):
    """Such numbers took minutes, filled the memory, or ended in an error of Python's own."""
    with pytest.raises(ParameterError, match=r"at most 1,000 digits above .* Got 'about"):
        read(value, "epsilon")


LONGEST = Fraction(1, 10**200_000 + 7)


@pytest.mark.parametrize("made", [PureDP, BoundedRange, ZCDP, lambda value: ApproxDP(1, value)])
def test_no_loss_has_very_many_digits(made):
    with pytest.raises(ParameterError, match="at most 1,000 digits"):
        made(LONGEST)


@pytest.mark.parametrize("kind", [PureDP, BoundedRange, ZCDP])
@pytest.mark.parametrize(
    "value", [Fraction(1, 10**999), Fraction(10**999 + 1, 10**999), 10**999 - 1], ids=range(3)
)
def test_a_number_of_a_thousand_digits_works_everywhere(kind, value):
    loss = kind(value)
    assert loss_from_dict(loss.to_dict()) == loss
    assert (loss <= PureDP(1), loss <= ZCDP(10**990)) is not None
    assert discreet.compose([loss], delta=1e-6).epsilon >= 0
    assert len(repr(loss)) < 2200


def test_a_tiny_loss_has_a_rho_that_is_a_number_too():
    for kind in (PureDP, BoundedRange):
        assert kind(Fraction(1, 10**999)).to_zcdp() == ZCDP(Fraction(1, 10**1000))
        # as before where there are digits enough
        assert kind(Fraction(1, 10**400)).to_zcdp().rho < Fraction(1, 10**800)


# Without a unit, which NumPy 2.5 makes of nothing else any more.
UNITLESS = np.int64(1).view("m8")


@loop_over("value", [UNITLESS, np.timedelta64(1, "s")], ids=repr)
@loop_over("read", [exact_decimal, exact_binary, private_binary, private_decimal])
def test_a_length_of_time_is_no_number(read, value):
    """NumPy counts it among its integers."""
    with pytest.raises(ParameterTypeError, match="parameter must be a number"):
        read(value, "epsilon")
    with pytest.raises(ParameterTypeError, match="parameter must be a whole number"):
        count(value, "k")


def test_a_count_has_few_digits_too():
    with pytest.raises(discreet.ParameterError, match=r"parameter must be .* 1,000 digits"):
        count(10**2000, "k")


@pytest.mark.parametrize("value", LONG[:5], ids=range(5))
def test_what_may_be_a_persons_value_is_read_however_long_it_is(value):
    """A refusal would be that person's to decide."""
    assert private_decimal(value, "breakpoints") == value
    assert private_binary(value, "score") == value


def test_lengths_of_time_are_no_outputs_and_no_values_either():
    with pytest.raises(ParameterTypeError, match=r"'start' parameter .* a whole number"):
        discreet.mechanisms.LatticeExponentialMechanism(epsilon=1, sensitivity=1, start=UNITLESS)
    with pytest.raises(ScoresTypeError, match="must be a whole number"):
        discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=1).release(UNITLESS)
