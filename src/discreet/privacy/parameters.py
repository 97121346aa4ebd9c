"""Public parameters that all questions and mechanisms read alike: who is protected, how far
one person can move the scores, and epsilon, rho, delta and probabilities.

*Range* is what is paid for: the largest difference between the moves that one person
can cause on two candidates, ``sup over neighbours of (max_y - min_y)[q(D', y) - q(D,
y)]``. Sensitivity, the largest move of a single score, is only a way to bound it: the
range is at most twice the sensitivity, and at most the sensitivity where all moves have
one sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, ParameterTypeError, public_class
from discreet.exact.rationals import Number, exact_binary, exact_decimal, positive

NOT_PRIVATE = "not private in any useful sense"
"""What a caller has to say, as `acknowledge`, to use an epsilon or a rho above 64."""

_LARGEST_LOSS = 64
_LARGEST_MU = 11


def read_epsilon(epsilon: Number, acknowledge: str | None) -> Fraction:
    """A positive epsilon; above 64 only with the caller's acknowledgement."""
    return _read_loss(epsilon, "epsilon", acknowledge)


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


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The exact range of a score function, and the coarsest step at which its scores
    still mean something.

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

    value: Fraction
    resolution: Fraction

    @classmethod
    def read(
        cls, *, sensitivity: Number | None, monotonic: bool, score_range: Number | None
    ) -> ScoreRange:
        """Read what the caller said: a sensitivity (with or without `monotonic`), or
        the range itself.
        """
        if not isinstance(monotonic, bool):
            raise ParameterTypeError("monotonic", "True or False", monotonic)
        if score_range is not None:
            if sensitivity is not None or monotonic:
                raise ParameterError(
                    "score_range",
                    "given alone",
                    score_range,
                    "It replaces 'sensitivity' and 'monotonic'.",
                )
            value = positive(exact_binary(score_range, "score_range"), score_range, "score_range")
            return cls(value, value)
        if sensitivity is None:
            raise ParameterTypeError(
                "sensitivity",
                "given",
                None,
                "Say how far one person can move one score; there is no default.",
            )
        value = positive(exact_binary(sensitivity, "sensitivity"), sensitivity, "sensitivity")
        return cls(value if monotonic else 2 * value, value)


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
