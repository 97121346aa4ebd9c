"""Public parameters that all questions and mechanisms read alike: who is protected, how far
one person can move the scores, and epsilon, rho, delta and probabilities.

*Range* is what is paid for: the largest difference between the moves that one person
can cause on two candidates, ``sup over neighbours of (max_y - min_y)[q(D', y) - q(D,
y)]``. Sensitivity, the largest move of a single score, is only a way to bound it: the
range is at most twice the sensitivity, and at most the sensitivity where all moves have
one sign.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from typing import Any, Generic, TypeVar, dataclass_transform

from discreet.errors import ParameterError, ParameterTypeError, public_class
from discreet.exact.rationals import (
    Number,
    exact_binary,
    exact_decimal,
    positive,
    require_flag,
    set_frozen,
)

Given = TypeVar("Given", contravariant=True)
Kept = TypeVar("Kept", covariant=True)
Declared = TypeVar("Declared", bound=type)

NOT_PRIVATE = "not private in any useful sense"
"""What a caller has to say, as `acknowledge`, to use an epsilon or a rho above 64."""

_LARGEST_LOSS = 64
_LARGEST_MU = 11


class Slot(Generic[Given, Kept]):
    """For type checkers: an attribute that is given as one type and kept as another."""

    def __get__(self, instance: object, owner: type | None = None) -> Kept:
        raise AttributeError

    def __set__(self, instance: object, value: Given) -> None:
        raise AttributeError


def given(default: Any = MISSING) -> Any:
    """A parameter that is a `Slot`: its default has the type that is given."""
    return field(default=default)


# not as frozen: mypy would then take what is given for what is kept
@dataclass_transform(kw_only_default=True, field_specifiers=(field, given))
def parameterized(declared: Declared) -> Declared:
    """A frozen class whose fields are its parameters, by keyword, which its `__post_init__` reads
    once. A subclass states only its own.
    """
    make: Any = dataclass(frozen=True, slots=True, kw_only=True, repr=False)
    made: Declared = make(declared)
    shown = vars(made)["__init__"].__annotations__
    # help shows the types that are given
    shown |= {name: _SLOT.sub(r"\1", kind) for name, kind in shown.items() if name != "return"}
    return made


_SLOT = re.compile(r"Slot\[(.*), .*\]")


class Epsilon(Fraction):
    """An epsilon that was read, on its way inside the package: above 64, its caller acknowledged
    that where it was read. Nothing public keeps one, so nobody can hand it to another mechanism.
    """

    __slots__ = ()


def read_epsilon(epsilon: Number, acknowledge: str | None = None) -> Fraction:
    """A positive epsilon; above 64 only with the caller's acknowledgement."""
    if isinstance(epsilon, Epsilon):
        return positive(Fraction(epsilon), epsilon, "epsilon")
    return _read_loss(epsilon, "epsilon", acknowledge)


def acknowledged(rho: Fraction) -> str | None:
    """What a rho needs that was made of an epsilon: if it is large, so was the epsilon, and that
    was acknowledged.
    """
    return NOT_PRIVATE if rho > _LARGEST_LOSS else None


@parameterized
class WithEpsilon:
    """What costs an epsilon, stated once for all mechanisms.

    epsilon: the privacy loss.
    acknowledge: the sentence `NOT_PRIVATE`, which an epsilon above 64 needs.
    """

    epsilon: Slot[Number, Fraction] = given()
    acknowledge: str | None = None

    def __post_init__(self) -> None:
        set_frozen(self, epsilon=read_epsilon(self.epsilon, self.acknowledge))


def read_rho(rho: Number, acknowledge: str | None) -> Fraction:
    """A positive rho; above 64, what epsilon 64 amounts to, only with the acknowledgement."""
    return _read_loss(rho, "rho", acknowledge)


def read_mu(mu: Number, acknowledge: str | None) -> Fraction:
    """A positive mu; above 11, which is a rho of about 64, only with the acknowledgement."""
    return _read_loss(mu, "mu", acknowledge, largest=_LARGEST_MU)


def _read_loss(
    value: Number, name: str, acknowledge: str | None, largest: int = _LARGEST_LOSS
) -> Fraction:
    exact = positive(exact_decimal(value, name), value, name)
    if exact.numerator > largest * exact.denominator and acknowledge != NOT_PRIVATE:
        hint = f"A larger one needs acknowledge={NOT_PRIVATE!r}."
        raise ParameterError(name, f"at most {largest}", value, hint)
    return exact


def read_probability(value: Number, name: str) -> Fraction:
    """A probability that is neither 0 nor 1."""
    exact = exact_decimal(value, name)
    if not 0 < exact < 1:
        raise ParameterError(name, "between 0 and 1", value)
    return exact


def read_delta(delta: Number) -> Fraction:
    """A delta: 0 for pure privacy, and below 1."""
    exact = exact_decimal(delta, "delta")
    if not 0 <= exact < 1:
        raise ParameterError("delta", "at least 0 and below 1", delta)
    return exact


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRange:
    """How far one person can move the scores: their exact range, and the coarsest step at
    which they still mean something.

    sensitivity, monotonic, score_range: what the caller said; the range itself, or a
        sensitivity that bounds it.

    Two score functions that give the same mechanism have the same range, whatever their
    sensitivities. The source texts' example: with X = Y = {0, 1}, q(x, y) = x + y has
    sensitivity 1 and q'(x, y) = 100 x + y has sensitivity 100, yet the two differ by a
    term that does not depend on y, so they are the same mechanism. Range sees that:

    >>> def range_of(score):
    ...     moves = [score(1, y) - score(0, y) for y in (0, 1)]
    ...     return max(moves) - min(moves)
    >>> range_of(lambda x, y: x + y), range_of(lambda x, y: 100 * x + y)
    (0, 0)

    With an interaction between x and y the range is no longer 0, but still equal for
    both:

    >>> range_of(lambda x, y: x + y + x * y), range_of(lambda x, y: 100 * x + y + x * y)
    (1, 1)
    """

    sensitivity: Number | None = None
    monotonic: bool = False
    score_range: Number | ScoreRange | None = None
    value: Fraction = field(init=False)
    resolution: Fraction = field(init=False)

    def __post_init__(self) -> None:
        require_flag(self.monotonic, "monotonic")
        name, stated = "sensitivity", self.sensitivity
        if self.score_range is not None:
            if stated is not None or self.monotonic:
                hint = "It replaces 'sensitivity' and 'monotonic'."
                raise ParameterError("score_range", "given alone", self.score_range, hint)
            if isinstance(self.score_range, ScoreRange):
                # read before
                read = self.score_range
                set_frozen(self, **{each.name: getattr(read, each.name) for each in fields(self)})
                return
            name, stated = "score_range", self.score_range
        if stated is None:
            hint = "Say how far one person can move one score; there is no default."
            raise ParameterTypeError(name, "given", None, hint)
        moved = positive(exact_binary(stated, name), stated, name)
        twice = self.score_range is None and not self.monotonic
        set_frozen(self, value=2 * moved if twice else moved, resolution=moved)


@parameterized
class WithRange(WithEpsilon):
    """What costs an epsilon for scores that one person moves by a range, stated once for all
    mechanisms.

    sensitivity: the most that one person can move one score.
    monotonic: True if one person moves all scores in the same direction (counts under
        adding or removing a person).
    score_range: instead of the two above, the range itself: the most by which one
        person's moves of two scores differ; or a `ScoreRange`, which says any of the three.
    """

    sensitivity: Number | None = None
    monotonic: bool = False
    score_range: Number | ScoreRange | None = None
    _range: ScoreRange = field(init=False, compare=False)

    def __post_init__(self) -> None:
        WithEpsilon.__post_init__(self)
        # as the caller said it: docs/proofs/exponential.md#what-the-code-states
        span = ScoreRange(
            sensitivity=self.sensitivity, monotonic=self.monotonic, score_range=self.score_range
        )
        set_frozen(
            self,
            sensitivity=span.sensitivity,
            monotonic=span.monotonic,
            score_range=span.score_range,
            _range=span,
        )


@public_class
@dataclass(frozen=True, slots=True)
class Person:
    """All rows with the same value in this column belong to one person, who is
    protected as a whole.

    Neighbours are tables with and without all rows of one person. Rows where the column
    is empty belong to nobody and are left out.

    >>> Person("student")
    Person(column='student')
    """

    column: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise ParameterTypeError("column", "the name of a column", self.column)


@dataclass(frozen=True, slots=True)
class OneRow:
    """Every row is protected by itself. Right only if no person has more than one row.

    >>> OneRow()
    OneRow()
    """


Unit = Person | OneRow


def protects(unit: Unit) -> str:
    """State who is protected, for people to read.

    >>> protects(Person("reader")), protects(OneRow())
    ('each `reader`, with all of their rows', 'each row by itself')
    """
    if isinstance(unit, Person):
        return f"each `{unit.column}`, with all of their rows"
    return "each row by itself"


def read_unit(unit: object) -> Unit:
    """Return the unit if it is one."""
    if not isinstance(unit, (Person, OneRow)):
        raise ParameterTypeError(
            "unit",
            "Person(column) or OneRow()",
            unit,
            "Say who is protected; there is no default.",
        )
    return unit
