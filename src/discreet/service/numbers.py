"""Numbers that a guarantee rests on: text, read exactly."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from discreet import ZCDP, ApproxDP, Loss, PureDP

# short enough that no exponent fills the memory
_DECIMAL = re.compile(r"-?[0-9]{1,60}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?")
_RATIO = re.compile(r"-?[0-9]{1,60}/[0-9]{1,60}")
RULE = 'a number, written as text: "0.1", "1e-6" or "1/3"'


def read_number(value: Any) -> Fraction:
    """The number that a text says, exactly; whole numbers may also come as such.

    >>> read_number("0.1"), read_number("1e-6"), read_number(3)
    (Fraction(1, 10), Fraction(1, 1000000), Fraction(3, 1))
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**60:
        return Fraction(value)
    if isinstance(value, str) and (_DECIMAL.fullmatch(value) or _RATIO.fullmatch(value)):
        try:
            return Fraction(value)
        except ZeroDivisionError:
            pass
    raise ValueError(RULE)


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_edge(value: Any) -> Fraction | date:
    """A number or a day: the end of a range.

    >>> read_edge("2026-11-01"), read_edge("30")
    (datetime.date(2026, 11, 1), Fraction(30, 1))
    """
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    try:
        return read_number(value)
    except ValueError:
        raise ValueError(f'{RULE}, or a day: "2026-11-01"') from None


def shown_number(text: str) -> str:
    """A number as people write it: with a point, where that is exact and short.

    >>> shown_number("3/10"), shown_number("1/3"), shown_number("2")
    ('0.3', '1/3', '2')
    """
    number = Fraction(text)
    short = f"{float(number):.10g}"
    return short if "e" not in short and Fraction(short) == number else text


_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": f"{RULE}."}
Exact = Annotated[
    Fraction, BeforeValidator(read_number), PlainSerializer(str), WithJsonSchema(_SCHEMA)
]
"""A number in a model."""
Edge = Annotated[
    Fraction | date, BeforeValidator(read_edge), PlainSerializer(str), WithJsonSchema(_SCHEMA)
]
"""The end of a range in a model."""


def make_loss(epsilon: Fraction | None, delta: Fraction | None, rho: Fraction | None) -> Loss:
    """The loss that a manifest or a request writes as epsilon, with or without a delta, or rho."""
    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise ValueError('either { epsilon = "…" }, with or without a delta, or { rho = "…" }')
    if rho is not None:
        return ZCDP(rho)
    assert epsilon is not None
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
