"""One spelling for each value: a person who is written as 1, 1.0 and "1" is one person.

The rule, for Python objects in a column of mixed types and for JSON:

- text is itself, and bytes are the text that they are in UTF-8;
- a whole number is its digits: `1`, `-5`, `123456789012345678`, however it is written
  or held;
- another number from 0.0001 up to 1e15 is the shortest decimal of its 64-bit float:
  `1.5`, `0.1`;
- the numbers that are left are their digits and a power of ten: `12e-7`,
  `1234567890123456785e-1`, and so are whole numbers with more than 400 zeros at the
  end;
- truth values are words: `True` and `False` of Python, `true` and `false` of JSON, and
  not 1 and 0;
- a day, or midnight without a time zone, is `2026-11-16`; another time `2026-11-16
  08:30:00`, to the microsecond, and with a time zone its time in UTC;
- a span of time is as Python writes it, to the microsecond: `1 day, 0:00:00`;
- lists, tuples, sets, arrays and dictionaries are empty: they are no single value;
- NaN, half of a surrogate pair, and what has no text are empty.

Two values that are the same number, text or span have the same text, whatever their
types: a member of an enumeration is the text or number that it is. Fractions that agree
to the last bit of a float become one: that joins persons, and never splits one.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

MOST_ZEROS = 400
"""The most zeros at the end of a whole number that are written out."""
_SMALL, _LARGE = Decimal("0.0001"), Decimal(10) ** 15


def canonical_text(value: Any) -> str | None:
    """Return the text of a value, or nothing where there is none. Never raises.

    >>> [
    ...     canonical_text(value)
    ...     for value in (1, 1.0, "1", Decimal("1.00"), b"1", float(2**60), 1.50)
    ... ]
    ['1', '1', '1', '1', '1', '1152921504606846976', '1.5']
    """
    try:
        text = _text(value)
        if text is not None:
            # half of a surrogate pair is no text to any engine
            text.encode()
    except Exception:
        return None
    return text


def canonical_items(value: Any) -> list[str | None]:
    """Return the texts of what a cell lists, or of the one thing that it holds. Never raises.

    >>> canonical_items(["chess", 1.0]), canonical_items("chess"), canonical_items(None)
    (['chess', '1'], ['chess'], [])
    """
    several = type(value) in (list, tuple, set, frozenset)
    if isinstance(value, np.ndarray):
        several, value = True, value.ravel().tolist()
    if several:
        return [None if _is_missing(item) else canonical_text(item) for item in value]
    return [] if _is_missing(value) else [canonical_text(value)]


def canonical_cell(value: Any) -> str | None:
    """Return the text of one cell of a column of Python objects, or nothing where it is empty."""
    return None if _is_missing(value) else canonical_text(value)


def _is_missing(value: Any) -> bool:
    """True if a cell is empty: None, or pandas' own words for it. NaN has no text anyway."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _text(value: Any) -> str | None:
    value = _plain(value)
    if value is None or isinstance(value, (list, tuple, set, frozenset, dict, np.ndarray)):
        # Several things are not one; and to write them all could take long.
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float, Decimal, Fraction)):
        return _number(value)
    if isinstance(value, str):
        # what it is compared as, whatever it prints as
        return str.__str__(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode()
    if isinstance(value, date):
        return _time(value)
    if isinstance(value, timedelta):
        # that of pandas prints in its own way
        return str(timedelta(value.days, value.seconds, value.microseconds))
    return str(value)


def _plain(value: Any) -> Any:
    """A NumPy scalar as Python has it; nanoseconds have no such thing, so they are cut off. A
    complex number that is a real one is that.
    """
    if isinstance(value, (np.datetime64, np.timedelta64)):
        kind = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
        return value.astype(kind).item()
    if isinstance(value, np.generic):
        value = float(value) if isinstance(value, np.floating) else value.item()
    return value.real if isinstance(value, complex) and not value.imag else value


def _number(value: Any) -> str | None:
    if isinstance(value, float):
        value = float(value)
        if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        # what a whole float holds is exact, another one means the decimal that it prints as
        value = int(value) if value.is_integer() else Decimal(repr(value))
    if isinstance(value, Decimal) and not value.is_finite():
        return None if value.is_nan() else str(float(value))
    if isinstance(value, Fraction):
        value = value.numerator if value.denominator == 1 else Decimal(repr(float(value)))
    value = int(value) if isinstance(value, int) else value
    return str(value) if isinstance(value, int) and abs(value) < _LARGE else _digits(Decimal(value))


def _digits(value: Decimal) -> str:
    sign, digits, power = value.as_tuple()
    assert isinstance(power, int)
    written = "".join(map(str, digits)).lstrip("0")
    short = written.rstrip("0")
    power += len(written) - len(short)
    minus = "-" if sign else ""
    if not short:
        return "0"
    if 0 <= power <= MOST_ZEROS:
        return minus + short + "0" * power
    if power < 0 and _SMALL <= value.copy_abs() < _LARGE:
        return repr(float(value)).removesuffix(".0")
    return f"{minus}{short}e{power}"


def _time(value: date) -> str:
    if not isinstance(value, datetime):
        return str(value)
    plain = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
    if plain.tzinfo is not None:
        return str(plain.astimezone(UTC))
    return str(plain.date() if plain.time() == time() else plain)
