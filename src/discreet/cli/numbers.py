"""Numbers that arrive as text, read exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from discreet import ParameterError

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", re.ASCII)
_QUOTIENT = re.compile(r"[+-]?[0-9]{1,1000}/[0-9]{1,1000}", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
_LARGEST_EXPONENT = 400  # a little more than a float has; 1e999999999 would fill the memory with zeros


def parse_number(text: str) -> int | Decimal | Fraction | None:
    """The exact number that a text means, or None if it means none that is finite and of a reasonable size.

    >>> parse_number("41"), parse_number("0.1"), parse_number("1/3"), parse_number("nan"), parse_number("1e999999999")
    (41, Decimal('0.1'), Fraction(1, 3), None, None)
    """
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        number = Decimal(text)
        return number if reasonable(number) else None
    if _QUOTIENT.fullmatch(text) and Fraction(text.partition("/")[2]):
        return Fraction(text)
    return None


def reasonable(number: Decimal) -> bool:
    """Whether a decimal is finite and its digits fit on a page."""
    if not number.is_finite():
        return False
    exponent = number.as_tuple().exponent
    return (
        isinstance(exponent, int) and abs(exponent) <= _LARGEST_EXPONENT + 1000 and abs(number.adjusted()) <= _LARGEST_EXPONENT
    )


def number_option(text: str, name: str, command: str) -> int | Decimal | Fraction:
    """Read the number that an option was given."""
    number = parse_number(text)
    if number is None:
        raise ParameterError(command, name, "a finite number such as 2, 0.5 or 1/3", text)
    return number


def positive_option(text: str, name: str, command: str) -> int | Decimal | Fraction:
    """Read the number above 0 that an option was given."""
    number = parse_number(text)
    if number is None or number <= 0:
        raise ParameterError(command, name, "a number greater than 0, such as 2, 0.5 or 1/3", text)
    return number


def count_option(text: str, name: str, command: str, *, most: int | None = None) -> int:
    """Read the whole number that an option was given; if there is a largest one, also at least 1."""
    number = parse_number(text)
    if not isinstance(number, int):
        raise ParameterError(command, name, "a whole number", text)
    if most is not None and not 1 <= number <= most:
        raise ParameterError(command, name, f"a whole number from 1 to {most:,}", number)
    return number
