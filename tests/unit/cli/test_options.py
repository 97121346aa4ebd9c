from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet import ParameterError
from discreet.cli.options import count_option, number_option, parse_number, positive_option


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("-7", -7),
        ("+3", 3),
        (" 41 ", 41),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("2.", 2),
        ("1e-3", Fraction(1, 1000)),
        ("1/3", Fraction(1, 3)),
        ("-2/6", Fraction(-1, 3)),
        ("5e-324", Fraction(5, 10**324)),
        (str(2**200 + 1), 2**200 + 1),
        ("0.30000000000000000000000000000001", Fraction(30000000000000000000000000000001, 10**32)),
    ],
)
def test_text_is_read_exactly(text, number):
    parsed = parse_number(text)
    assert parsed is not None
    assert Fraction(parsed) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "NaN",
        "Infinity",
        "1/0",
        "1/2/3",
        "1_000",
        "1,5",
        "1 2",
        "0x10",
        "--1",
        "1e",
        "1e-1500",
        "1e999999999",
        "9" * 5000,
        "٣",
        "1/",
        "True",
        ".",
    ],
)
def test_what_is_no_reasonable_number_is_none(text):
    assert parse_number(text) is None


def test_types_are_the_simplest_exact_ones():
    assert type(parse_number("12")) is int
    assert type(parse_number("1.20")) is Decimal
    assert type(parse_number("1/4")) is Fraction


def test_options_name_themselves():
    with pytest.raises(
        ParameterError,
        match=r"^The '--epsilon' parameter of discreet select must be a finite number.* Got 'x'\.$",
    ):
        number_option("x", "--epsilon", "discreet select")
    with pytest.raises(
        ParameterError,
        match=r"^The '--best' parameter of discreet select must be a whole number\. Got '1\.5'\.$",
    ):
        count_option("1.5", "--best", "discreet select")
    assert count_option("15", "--best", "discreet select") == 15


def test_a_count_may_have_a_largest_one():
    assert [count_option(text, "-k", "discreet top-k", most=3) for text in ("1", "3")] == [1, 3]
    for text in ("0", "-1", "4"):
        with pytest.raises(
            ParameterError,
            match=(
                r"^The '-k' parameter of discreet top-k must be a whole number from 1 to 3\. Got "
                rf"{text}\.$"
            ),
        ):
            count_option(text, "-k", "discreet top-k", most=3)


def test_a_number_that_has_to_be_positive():
    assert positive_option("1/3", "--gap-step", "discreet select") == Fraction(1, 3)
    for text in ("0", "-1/3", "0.0", "x", ""):
        with pytest.raises(
            ParameterError,
            match=rf"^The '--gap-step' parameter .* greater than 0.* Got '{text}'\.$",
        ):
            positive_option(text, "--gap-step", "discreet select")
