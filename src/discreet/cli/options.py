"""Options that several commands share: numbers, losses and names as text, read exactly."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, TypeAlias

import typer

from discreet import ZCDP, ApproxDP, Loss, ParameterError, PureDP
from discreet.cli.stated import Nothing

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", re.ASCII)
_QUOTIENT = re.compile(r"[+-]?[0-9]{1,1000}/[0-9]{1,1000}", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
# a little more than a float has; 1e999999999 would fill the memory with zeros
_LARGEST_EXPONENT = 400

ExactNumber: TypeAlias = int | Decimal | Fraction
"""A number as it was typed, read exactly."""


def parse_number(text: str) -> ExactNumber | None:
    """Read a number exactly; None if the text is not a finite number of reasonable
    size.

    >>> (
    ...     parse_number("41"),
    ...     parse_number("0.1"),
    ...     parse_number("1/3"),
    ...     parse_number("nan"),
    ...     parse_number("1e999999999"),
    ... )
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
    """True if a decimal is finite and its digits fit on a page."""
    if not number.is_finite():
        return False
    exponent = number.as_tuple().exponent
    return (
        isinstance(exponent, int)
        and abs(exponent) <= _LARGEST_EXPONENT + 1000
        and abs(number.adjusted()) <= _LARGEST_EXPONENT
    )


def number_option(text: str, name: str, command: str) -> ExactNumber:
    """Read the number that an option was given."""
    number = parse_number(text)
    if number is None:
        raise ParameterError(name, "a finite number such as 2, 0.5 or 1/3", text, owner=command)
    return number


def positive_option(text: str, name: str, command: str) -> ExactNumber:
    """Read the number above 0 that an option was given."""
    number = parse_number(text)
    if number is None or number <= 0:
        raise ParameterError(
            name, "a number greater than 0, such as 2, 0.5 or 1/3", text, owner=command
        )
    return number


def count_option(text: str, name: str, command: str, *, most: int | None = None) -> int:
    """Read the whole number that an option was given.

    most: the largest that is allowed; if given, the smallest is 1.
    """
    number = parse_number(text)
    if not isinstance(number, int):
        raise ParameterError(name, "a whole number", text, owner=command)
    if most is not None and not 1 <= number <= most:
        raise ParameterError(name, f"a whole number from 1 to {most:,}", number, owner=command)
    return number


def require_writable(file: str, name: str, command: str) -> None:
    """Refuse a file that cannot be written, before anything is computed: also one that is
    there, because it may be data, a link to some, or a pipe that nobody reads.
    """
    if os.path.lexists(file) or not os.access(os.path.dirname(file) or os.curdir, os.W_OK):
        raise unwritable(file, name, command)


def write_new(file: str, content: bytes, name: str, command: str) -> None:
    """Write a file that is not there yet; no link is followed."""
    try:
        with open(file, "xb") as target:
            target.write(content)
    except OSError:
        raise unwritable(file, name, command) from None


def unwritable(file: str, name: str, command: str) -> ParameterError:
    """The error about a file that cannot be written."""
    rule = "a file that you may write, in a folder that exists"
    hint = "It exists already: remove it, or choose another name." if os.path.lexists(file) else ""
    return ParameterError(name, rule, file, hint, owner=command)


# more would take minutes
MOST_QUERIES = 1_000_000
"""The largest count that a command accepts."""

BudgetEpsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon", metavar="NUMBER", help="The epsilon of the budget for all queries together."
    ),
]
BudgetDelta = Annotated[
    str | None,
    typer.Option(
        "--delta", metavar="NUMBER", help="The delta of the budget, such as 1e-6; 0 for pure DP."
    ),
]
BudgetRho = Annotated[
    str | None,
    typer.Option(
        "--rho", metavar="NUMBER", help="Instead of epsilon and delta: a budget of concentrated DP."
    ),
]
# where --epsilon and --delta are those of one question
SessionEpsilon = Annotated[
    str | None,
    typer.Option(
        "--budget-epsilon",
        metavar="NUMBER",
        help=(
            "The epsilon of the session's or ledger's budget. By default, epsilons add up, or "
            "this question takes the whole budget."
        ),
    ),
]
SessionDelta = Annotated[
    str | None,
    typer.Option(
        "--budget-delta",
        metavar="NUMBER",
        help="The delta of that budget, such as 1e-6; 0 for pure DP.",
    ),
]
SessionRho = Annotated[
    str | None,
    typer.Option(
        "--budget-rho",
        metavar="NUMBER",
        help="Instead of epsilon and delta: a budget of concentrated DP.",
    ),
]
NonAdaptive = Annotated[
    bool,
    typer.Option(
        "--non-adaptive",
        help="All queries are fixed in advance: none depends on an earlier answer.",
    ),
]

_SIZES = {
    1: "a number greater than 0, such as 0.1 or 1/3",
    2: "an epsilon and a delta, such as 1,1e-6",
}


def read_loss(kind: type[Loss], text: str, option: str, command: str) -> Loss:
    """Read a loss: one number, or epsilon and delta with a comma between them.

    >>> from discreet import ApproxDP, BoundedRange
    >>> (
    ...     read_loss(BoundedRange, "0.1", "--bounded-range", "discreet"),
    ...     read_loss(ApproxDP, "1,1e-6", "--approx", "discreet"),
    ... )
    (BoundedRange(epsilon=0.1), ApproxDP(epsilon=1, delta=1e-06))
    """
    loss = _loss(kind, text)
    if loss is None:
        raise ParameterError(option, _SIZES[len(kind.__slots__)], text, owner=command)
    return loss


def read_losses(
    given: Sequence[tuple[type[Loss], str, Sequence[str]]], command: str
) -> Counter[Loss]:
    """Read how often each loss occurs, from texts such as 0.1x100.

    given: for each kind of loss its option and the texts that were typed.
    """
    losses: Counter[Loss] = Counter()
    for kind, option, texts in given:
        for text in texts:
            value, times, written = text.partition("x")
            loss, count = _loss(kind, value), parse_number(written) if times else 1
            if loss is None or not isinstance(count, int) or not 1 <= count <= MOST_QUERIES:
                rule = (
                    f"{_SIZES[len(kind.__slots__)]}, and then, if it occurs more than once, x and "
                    f"a count up to {MOST_QUERIES:,}"
                )
                raise ParameterError(option, rule, text, owner=command)
            losses[loss] += count
    if not losses:
        options = [option for _, option, _ in given]
        raise ParameterError(
            options[0], f"given, or {' or '.join(options[1:])}", Nothing(), owner=command
        )
    return losses


def _loss(kind: type[Loss], text: str) -> Loss | None:
    numbers = [parse_number(part) for part in text.split(",")]
    if len(numbers) != len(kind.__slots__) or None in numbers:
        return None
    make: Callable[..., Loss] = kind
    try:
        return make(*numbers)
    except ParameterError:
        return None


def read_budget(
    epsilon: str | None, delta: str | None, rho: str | None, command: str, *, prefix: str = "--"
) -> PureDP | ZCDP | ApproxDP:
    """Read a budget: epsilon and delta, or rho instead. A delta of 0 means pure DP.

    prefix: how the names of the three options begin.
    """
    of_epsilon, of_delta, of_rho = (f"{prefix}{name}" for name in ("epsilon", "delta", "rho"))
    if rho is not None:
        for option, given in ((of_epsilon, epsilon), (of_delta, delta)):
            if given is not None:
                raise ParameterError(
                    option, f"left out where {of_rho} is given", given, owner=command
                )
        return ZCDP(positive_option(rho, of_rho, command))
    for option, given in ((of_epsilon, epsilon), (of_delta, delta)):
        if given is None:
            hint = (
                "Say 0 for pure DP; there is no default."
                if option == of_delta
                else "There is no default."
            )
            raise ParameterError(
                option, f"given, unless {of_rho} is", Nothing(), hint, owner=command
            )
    assert epsilon is not None
    assert delta is not None
    most, chance = positive_option(epsilon, of_epsilon, command), parse_number(delta)
    if chance is None or not 0 <= chance < 1 or delta.strip().startswith("-"):
        raise ParameterError(of_delta, "at least 0 and below 1", delta, owner=command)
    return ApproxDP(most, chance) if chance else PureDP(most)


def read_session_budget(
    epsilon: str | None, delta: str | None, rho: str | None, command: str
) -> PureDP | ZCDP | ApproxDP | None:
    """Read the budget of a session that will be asked; None if nothing was said about it."""
    if epsilon is None and delta is None and rho is None:
        return None
    return read_budget(epsilon, delta, rho, command, prefix="--budget-")


DataFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="CSV, Parquet or JSON lines; or - for CSV from standard input."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead.")]
