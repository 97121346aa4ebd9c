"""Real numbers that can be trusted: enclosures by python-flint's ball arithmetic.

Everything here is rigorous at any working precision: a ball always contains the true
value, and a comparison of balls is true only when it is certain. Precision only decides
how often an answer is still open, never whether it is right.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeVar

from flint import arb, ctx, fmpq

Answer = TypeVar("Answer")

_FIRST_BITS = 64
# flint's working precision is one global of the process
_precision_lock = threading.RLock()


def rational(value: Fraction | int) -> fmpq:
    """A fraction as flint has it."""
    return fmpq(value.numerator, value.denominator)


def ball(value: Fraction | int) -> arb:
    """Enclose an exact rational."""
    return arb(rational(value))


def decide(question: Callable[[int], Answer | None]) -> Answer:
    """Ask at growing precision until the answer is certain.

    The first try runs at whatever precision flint has, without a lock: its answer is as
    rigorous as any other, and with 64 random bits it is open only about once in 2^40
    questions.
    """
    answer, precision = question(_FIRST_BITS), _FIRST_BITS
    while answer is None:
        precision *= 2
        answer = at_precision(precision + 64, partial(question, precision))
    return answer


def less(left: arb, right: arb) -> bool | None:
    """True if left < right: True or False when certain, None when the balls overlap."""
    if left < right:
        return True
    if left >= right:
        return False
    return None


def _after_fork() -> None:
    """A child must inherit neither a held lock nor a precision that another thread had
    set for a moment.
    """
    global _precision_lock
    _precision_lock = threading.RLock()
    if _outside:
        ctx.prec = _outside[0]
        _outside.clear()


# the precision to go back to, while a computation has changed it
_outside: list[int] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def at_precision(precision: int, compute: Callable[[], Answer]) -> Answer:
    """Run with this working precision and put the old one back."""
    with _precision_lock:
        before = ctx.prec
        _outside.append(before)
        ctx.prec = precision
        try:
            return compute()
        finally:
            ctx.prec = before
            _outside.pop()


def upper_bound(compute: Callable[[], arb], precision: int = 128) -> Fraction:
    """A rational at or above the computed number, within about 2^-precision of it."""
    return _end(at_precision(precision, lambda: compute().upper()))


def lower_bound(compute: Callable[[], arb], precision: int = 128) -> Fraction:
    """A rational at or below the computed number, within about 2^-precision of it."""
    return _end(at_precision(precision, lambda: compute().lower()))


def up(value: arb) -> float:
    """A float at or above the number."""
    return math.nextafter(float(value.upper()), math.inf)


def down(value: arb) -> float:
    """A float at or below the number."""
    return math.nextafter(float(value.lower()), -math.inf)


def _end(endpoint: arb) -> Fraction:
    """The end of a ball as a rational: it is exact, a mantissa times a power of two."""
    mantissa, exponent = endpoint.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def nearest(enclose: Callable[[int], arb]) -> float:
    """The float nearest to a number that can be enclosed at any precision: both ends of
    the enclosure round to it.
    """
    precision = 128
    while True:
        value = enclose(precision)
        ends = at_precision(precision, lambda: (float(value.lower()), float(value.upper())))
        if ends[0] == ends[1]:
            return ends[0]
        precision *= 2


def geometric_sum(rate: arb, terms: int | None = None) -> arb:
    """The sum of exp(-rate * n) for n = 1 to `terms`, or without end: without
    cancellation, at every rate above 0.
    """
    length = arb(-1) if terms is None else (-rate * terms).expm1()
    return (-rate).exp() * length / (-rate).expm1()
