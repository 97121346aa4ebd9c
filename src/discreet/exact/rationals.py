"""Numbers that a guarantee rests on, read as exact rationals.

A float privacy parameter means the decimal that it prints as (0.1 is 1/10, so ten
queries of 0.1 fit a budget of 1). A float score or sensitivity means its exact binary
value, because that is what the data holds.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from discreet.errors import ParameterError, ParameterTypeError, shown_pair

Number = int | float | Fraction | Decimal | np.integer | np.floating
"""What a privacy parameter may be given as."""

Word = TypeVar("Word", bound=str)

# what `str` writes; no exponents, which could fill the memory
_WRITTEN = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")

_ACCEPTED = "a number (int, float, Fraction, Decimal or a NumPy scalar)"

# subclasses of numbers: truth values, and lengths of time, which are integers to NumPy
_NO_NUMBERS = (bool, np.bool_, np.timedelta64)


MOST_DIGITS = 1000
"""How many decimal digits the numerator and the denominator of a privacy number may have.

Far beyond all use, below what Python prints, and few enough for accounting to stay
quick.
"""

MACHINE_LIMIT = 2**62
"""Whole numbers below it, and the sum of two of them, are integers of the machine."""

# a few more than that, so that what is computed from such a number can be a privacy number too
_MOST = 10 ** (MOST_DIGITS + 100)
_SHORT = f"a number of at most {MOST_DIGITS:,} digits above and below the line"


def exact_decimal(value: Number, name: str) -> Fraction:
    """Read a privacy parameter: a float means the decimal that it prints as.

    >>> exact_decimal(0.1, "epsilon")
    Fraction(1, 10)
    """
    if isinstance(value, (float, np.floating)):
        return _require_short(private_decimal(value, name), name)
    return exact_binary(value, name)


def private_decimal(value: Number, name: str) -> Fraction:
    """Read a value that may be a person's as `exact_decimal` does, however long it is.

    A limit of its length would let that person decide whether there is an answer.
    """
    if isinstance(value, (float, np.floating)):
        _require_finite(value, name)
        # str() of a NumPy scalar is its shortest decimal at its own precision; float() of a
        # float32 is not.
        return Fraction(str(value) if isinstance(value, np.floating) else float.__repr__(value))
    return private_binary(value, name)


def exact_binary(value: Number, name: str) -> Fraction:
    """Read a public number next to scores: a float means its exact binary value.

    >>> exact_binary(0.5, "sensitivity")
    Fraction(1, 2)
    """
    if isinstance(value, Decimal) and value.is_finite() and abs(_exponent(value)) > 2 * MOST_DIGITS:
        # before it is written out: Decimal("1e-999999999") would fill the memory
        raise ParameterError(name, _SHORT, f"about 1e{value.adjusted():+}")
    return _require_short(private_binary(value, name), name)


def private_binary(value: Number, name: str) -> Fraction:
    """Read a score as `exact_binary` does, however long it is: a refusal would tell of it."""
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, _NO_NUMBERS) or not isinstance(value, Number):
        raise ParameterTypeError(name, _ACCEPTED, value)
    if isinstance(value, np.integer):
        return Fraction(int(value))
    if isinstance(value, (float, np.floating, Decimal)):
        _require_finite(value, name)
        return Fraction(*value.as_integer_ratio())
    return Fraction(value)


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    # the number is finite
    assert isinstance(exponent, int)
    return exponent


def _require_short(value: Fraction, name: str) -> Fraction:
    """Return the number if it has few enough digits. One that has more is not printed."""
    if abs(value.numerator) >= _MOST or value.denominator >= _MOST:
        raise ParameterError(name, _SHORT, f"about {_size(value)}")
    return value


def read_written(text: object) -> Fraction:
    """The number that a text is, as `str` of a Fraction writes it; else a ValueError.

    >>> read_written("-3/4"), read_written(str(Fraction(2)))
    (Fraction(-3, 4), Fraction(2, 1))
    """
    if not (isinstance(text, str) and _WRITTEN.fullmatch(text)):
        raise ValueError("a number is written as a whole number or a fraction")
    return Fraction(text)


def positive(value: Fraction, got: object, name: str) -> Fraction:
    """Return the value if it is greater than 0."""
    if value.numerator <= 0:
        raise ParameterError(name, "greater than 0", got)
    return value


def whole_sensitivity(value: Any, name: str) -> Fraction:
    """Read how far one person can move whole numbers, or the squares of that: a whole
    number, too. A fraction would be less than any move, and noise for it too little.
    """
    exact = positive(exact_binary(value, name), value, name)
    if exact.denominator != 1:
        hint = "Whole numbers can only change by whole numbers."
        raise ParameterError(name, "a whole number", value, hint)
    return exact


def lower_and_upper(bounds: Any) -> tuple[Fraction, Fraction]:
    """Read a pair of bounds, the first below the second."""
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ParameterTypeError("bounds", "a pair of numbers", bounds)
    low, high = (exact_decimal(bound, "bounds") for bound in bounds)
    if not low < high:
        rule = "a lower bound below an upper one"
        raise ParameterError("bounds", rule, shown_pair(bounds))
    return low, high


def count(value: int | np.integer, name: str, *, least: int = 1) -> int:
    """Read a whole number of things, at least `least`."""
    if not is_whole(value):
        raise ParameterTypeError(name, "a whole number", value)
    if value < least:
        raise ParameterError(name, f"at least {least}", value)
    return _require_short(Fraction(int(value)), name).numerator


def is_whole(value: object) -> bool:
    """True if the value is a whole number: neither a truth value nor a length of time."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, _NO_NUMBERS)


def choice(value: object, allowed: tuple[Word, ...], name: str) -> Word:
    """The word among the allowed ones that the value is."""
    if not isinstance(value, str) or value not in allowed:
        rule = "one of " + ", ".join(repr(word) for word in allowed)
        raise (ParameterError if isinstance(value, str) else ParameterTypeError)(name, rule, value)
    return allowed[allowed.index(value)]


def require_flag(value: object, name: str) -> bool:
    """Return the value if it is True or False."""
    if not isinstance(value, bool):
        raise ParameterTypeError(name, "True or False", value)
    return value


def set_frozen(frozen: object, **values: object) -> None:
    """Set fields of a frozen object: for its own `__init__` or `__post_init__` only, because
    parameters are given as any kind of number and held as exact ones.
    """
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def readable(value: Fraction) -> str:
    """Show an exact number so that it reads well and still means the same number.

    >>> readable(Fraction(1, 2)), readable(Fraction(3)), readable(Fraction(1, 3))
    ('0.5', '3', 'Fraction(1, 3)')
    """
    try:
        if value.denominator == 1:
            return str(value.numerator)
        text = repr(float(value))
        return text if Fraction(text) == value else repr(value)
    except (OverflowError, ValueError):
        # beyond floats, or beyond Python's limit for printing integers
        return f"<about {_size(value)}>"


def _size(value: Fraction) -> str:
    """The order of magnitude of a number that is too long to be printed."""
    digits = (value.numerator.bit_length() - value.denominator.bit_length()) * 0.30103
    return f"1e{digits:+.0f}"


def round_up(value: Fraction, digits: int = 15) -> Fraction:
    """The next decimal with this many significant digits: 15 survive a trip through a
    float, so it prints as it is.

    >>> readable(round_up(Fraction(1, 3)))
    '0.333333333333334'
    """
    scale = _scale(value, digits)
    return math.ceil(value * scale) / scale


def round_down(value: Fraction, digits: int = 15) -> Fraction:
    """The decimal just below, with this many significant digits: for budgets."""
    scale = _scale(value, digits)
    return math.floor(value * scale) / scale


def _scale(value: Fraction, digits: int) -> Fraction:
    """The power of ten that leaves this many digits before the point."""
    exponent = math.floor(
        (value.numerator.bit_length() - value.denominator.bit_length()) * math.log10(2)
    )
    while value >= Fraction(10) ** exponent:
        exponent += 1
    return Fraction(10) ** (digits - exponent)


def nearest_float(value: Fraction) -> float:
    """The float nearest to a number; infinite where floats end."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_above(value: Fraction) -> float:
    """The smallest float that is not below the number."""
    nearest = nearest_float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def is_finite(value: float | np.floating[Any] | Decimal) -> bool:
    """True if the number is neither NaN nor infinite, also where it is too large for a float."""
    return value.is_finite() if isinstance(value, Decimal) else bool(np.isfinite(value))


def _require_finite(value: float | np.floating[Any] | Decimal, name: str) -> None:
    if not is_finite(value):
        raise ParameterError(name, "a finite number", value)
