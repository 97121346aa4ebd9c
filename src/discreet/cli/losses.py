"""Losses and budgets that arrive as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import typer

from discreet import ZCDP, ApproxDP, Loss, ParameterError, PureDP
from discreet.cli.numbers import parse_number, positive_option
from discreet.cli.request import Nothing, as_option

Answer = TypeVar("Answer")

MOST_QUERIES = 1_000_000  # more would take minutes
"""The largest count that a command accepts."""

BudgetEpsilon = Annotated[
    str | None, typer.Option("--epsilon", metavar="NUMBER", help="The epsilon of the budget for all queries together.")
]
BudgetDelta = Annotated[
    str | None, typer.Option("--delta", metavar="NUMBER", help="The delta of the budget: 1e-6, say; 0 for pure DP.")
]
BudgetRho = Annotated[
    str | None, typer.Option("--rho", metavar="NUMBER", help="Instead of the two above: a budget of concentrated DP.")
]
NonAdaptive = Annotated[
    bool, typer.Option("--non-adaptive", help="All queries are fixed beforehand: none depends on an earlier answer.")
]

_SIZES = {1: "a number greater than 0, such as 0.1 or 1/3", 2: "an epsilon and a delta, such as 1,1e-6"}


def read_loss(kind: type[Loss], text: str, option: str, command: str) -> Loss:
    """The loss that a text means: one number, or epsilon and delta with a comma between them.

    >>> from discreet import ApproxDP, BoundedRange
    >>> read_loss(BoundedRange, "0.1", "--bounded-range", "discreet"), read_loss(ApproxDP, "1,1e-6", "--approx", "discreet")
    (BoundedRange(epsilon=0.1), ApproxDP(epsilon=1, delta=1e-06))
    """
    loss = _loss(kind, text)
    if loss is None:
        raise ParameterError(command, option, _SIZES[len(kind.__slots__)], text)
    return loss


def read_losses(given: Sequence[tuple[type[Loss], str, Sequence[str]]], command: str) -> Counter[Loss]:
    """How often each loss occurs, from texts such as 0.1x100. The parts of `given` are a kind, its option, and what was typed."""
    losses: Counter[Loss] = Counter()
    for kind, option, texts in given:
        for text in texts:
            value, times, written = text.partition("x")
            loss, count = _loss(kind, value), parse_number(written) if times else 1
            if loss is None or not isinstance(count, int) or not 1 <= count <= MOST_QUERIES:
                rule = f"{_SIZES[len(kind.__slots__)]}, and then, if it occurs more than once, x and a count up to {MOST_QUERIES:,}"
                raise ParameterError(command, option, rule, text)
            losses[loss] += count
    if not losses:
        options = [option for _, option, _ in given]
        raise ParameterError(command, options[0], f"given, or {' or '.join(options[1:])}", Nothing())
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


def read_budget(epsilon: str | None, delta: str | None, rho: str | None, command: str) -> PureDP | ZCDP | ApproxDP:
    """The budget: epsilon and delta, or rho instead. A delta of 0 means pure DP."""
    if rho is not None:
        for option, given in (("--epsilon", epsilon), ("--delta", delta)):
            if given is not None:
                raise ParameterError(command, option, "left out where --rho is given", given)
        return ZCDP(positive_option(rho, "--rho", command))
    for option, given in (("--epsilon", epsilon), ("--delta", delta)):
        if given is None:
            hint = "Say 0 for pure DP; there is no default." if option == "--delta" else "There is no default."
            raise ParameterError(command, option, "given, unless --rho is", Nothing(), hint)
    assert epsilon is not None
    assert delta is not None
    most, chance = positive_option(epsilon, "--epsilon", command), parse_number(delta)
    if chance is None or not 0 <= chance < 1 or delta.strip().startswith("-"):
        raise ParameterError(command, "--delta", "at least 0 and below 1", delta)
    return ApproxDP(most, chance) if chance else PureDP(most)


def asked(command: str, typed: dict[str, Any], question: Callable[[], Answer]) -> Answer:
    """Ask the library, and let its complaint about a parameter name the option that was typed."""
    try:
        return question()
    except ParameterError as error:
        raise ParameterError(command, as_option(error.name), error.rule, typed.get(error.name, error.got)) from None
    except ValueError:  # the logarithm of a number that is zero as a float
        raise OverflowError from None
