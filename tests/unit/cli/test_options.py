from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.cli.options import parse_number


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
