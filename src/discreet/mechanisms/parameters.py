"""Public parameters that all mechanisms read alike."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, ParameterTypeError
from discreet.privacy.numbers import Number, exact_decimal, positive
from discreet.samplers.bits import Bits, SystemBits
from discreet.samplers.chance import Chance

NOT_PRIVATE = "not private in any useful sense"
"""What a caller has to say, as `acknowledge`, to use an epsilon above 64."""

_LARGEST_EPSILON = 64
_SYSTEM_BITS = SystemBits()


def read_epsilon(epsilon: Number, acknowledge: str | None, owner: str) -> Fraction:
    """A positive epsilon; above 64 only with the caller's acknowledgement."""
    exact = positive(exact_decimal(epsilon, "epsilon", owner), epsilon, "epsilon", owner)
    if exact.numerator > _LARGEST_EPSILON * exact.denominator and acknowledge != NOT_PRIVATE:
        raise ParameterError(
            owner,
            "epsilon",
            f"at most {_LARGEST_EPSILON}",
            epsilon,
            f"A larger one is allowed only with acknowledge={NOT_PRIVATE!r}.",
        )
    return exact


def read_probability(value: Number, name: str, owner: str) -> Fraction:
    """A probability that is neither 0 nor 1."""
    exact = exact_decimal(value, name, owner)
    if not 0 < exact < 1:
        raise ParameterError(owner, name, "between 0 and 1", value)
    return exact


def read_bits(bits: Any, owner: str) -> Chance:
    """Random effects from the system's generator, or from the caller's bits in a test or simulation."""
    if bits is None:
        return Chance(_SYSTEM_BITS)
    if isinstance(bits, type) or not isinstance(bits, Bits):
        raise ParameterTypeError(owner, "bits", "a source of random bits such as SeededBits", bits)
    return Chance(bits)


def read_delta(delta: Number, owner: str) -> Fraction:
    """A delta: 0 for pure privacy, and below 1."""
    exact = exact_decimal(delta, "delta", owner)
    if not 0 <= exact < 1:
        raise ParameterError(owner, "delta", "at least 0 and below 1", delta)
    return exact
