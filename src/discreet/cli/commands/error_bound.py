"""`discreet error-bound`: how good the answer will be, before any data is touched."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer
from rich.text import Text

from discreet import ParameterError
from discreet.cli.options import (
    Acknowledge,
    AsJson,
    Epsilon,
    MechanismName,
    Monotonic,
    ScoreRange,
    Sensitivity,
    TypedMechanism,
    as_option,
    count_option,
    number_option,
)
from discreet.cli.terminal import facts, print_json, round_up, terminal

_COMMAND = "discreet error-bound"


def error_bound(
    candidates: Annotated[
        str, typer.Option(metavar="COUNT", help="How many candidates there are to choose from.")
    ],
    epsilon: Epsilon,
    failure_probability: Annotated[
        str,
        typer.Option(
            metavar="NUMBER", help="How often the bound may be exceeded: 0.01 is once in a hundred."
        ),
    ],
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRange = None,
    best: Annotated[
        str, typer.Option(metavar="COUNT", help="How many candidates are tied for the best score.")
    ] = "1",
    mechanism: MechanismName = "permute-and-flip",
    acknowledge: Acknowledge = None,
    as_json: AsJson = False,
) -> None:
    """Show how far behind the best the selected score can be. No data is needed.

    \b
    Example (a mascot's name, by approval vote among 100 names):
      discreet error-bound --candidates 100 --epsilon 0.5 --sensitivity 1 \\
          --failure-probability 0.01
    """
    request = TypedMechanism(
        command=_COMMAND,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        acknowledge=acknowledge,
    )
    chosen = request.mechanism(mechanism)
    failure = number_option(failure_probability, "--failure-probability", _COMMAND)
    count, tied = (
        count_option(candidates, "--candidates", _COMMAND),
        count_option(best, "--best", _COMMAND),
    )
    try:
        bound = _finite(chosen.error_bound(failure, candidates=count, best=tied))
        expected = _finite(chosen.expected_error_bound(candidates=count, best=tied))
    except ParameterError as error:
        got = failure_probability if error.name == "failure_probability" else error.got
        raise ParameterError(_COMMAND, as_option(error.name), error.rule, got) from None
    except ValueError:
        # the logarithm of a number that is zero as a float
        raise OverflowError from None
    if as_json:
        print_json(
            json.dumps(
                {"mechanism": chosen.name, "error_bound": bound, "expected_error_bound": expected}
            )
        )
    else:
        _show(bound, expected, failure_probability)


def _finite(bound: float) -> float:
    if not math.isfinite(bound):
        raise OverflowError
    return bound


def _show(bound: float, expected: float, failure_probability: str) -> None:
    table = facts()
    table.add_row("error bound", Text(round_up(bound), style="bold green"))
    table.add_row(
        "",
        f"Except with probability {failure_probability}, the selected score is at most this far "
        "behind the best one.",
    )
    table.add_row("expected error bound", Text(round_up(expected), style="bold green"))
    table.add_row("", "On average, the selected score is at most this far behind the best one.")
    console = terminal()
    console.print(table)
    console.print(
        "Both hold whatever the scores are, in the scores' own unit, rounded up.", style="dim"
    )
