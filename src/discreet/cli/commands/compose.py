"""`discreet compose`: what many releases cost together."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.text import Text

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, Composition, Loss, ParameterError, PureDP
from discreet.cli.options import AsJson, NonAdaptive, Nothing, asked, number_option, read_losses
from discreet.cli.show import ABSENT, ANALYSES, ORDER, Row, as_numbers, comparison
from discreet.cli.terminal import facts, print_json, round_up, terminal

_COMMAND = "discreet compose"
_REMINDER = (
    "Every number is an upper bound, rounded up. One that does not hold for adaptive queries, "
    "which depend on earlier "
    "answers, counts only if you say --non-adaptive."
)


def compose(
    bounded_range: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUExCOUNT",
            help="Exponential mechanisms and Gumbel noise: the epsilon of each, and how many.",
        ),
    ] = None,
    pure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUExCOUNT", help="Permute-and-flip and everything else that is epsilon-DP."
        ),
    ] = None,
    zcdp: Annotated[
        list[str] | None,
        typer.Option(metavar="VALUExCOUNT", help="Concentrated DP: the rho of each, and how many."),
    ] = None,
    approx: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE,VALUExCOUNT",
            help="Approximate DP: the epsilon and delta of each, and how many.",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The delta of all together, to be told the epsilon."),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The epsilon of all together, to be told the delta."),
    ] = None,
    non_adaptive: NonAdaptive = False,
    as_json: AsJson = False,
) -> None:
    """Show what many releases cost together, by every analysis.

    Each kind of loss may be given more than once, and in any order: the result holds
    for every order. The smallest number that holds for your queries is the answer.

    \b
    Examples:
      discreet compose --bounded-range 0.1x100 --delta 1e-6
      discreet compose --bounded-range 0.1x20 --pure 0.5x3 --epsilon 2
    """
    given = [
        (BoundedRange, "--bounded-range", bounded_range or []),
        (PureDP, "--pure", pure or []),
        (ZCDP, "--zcdp", zcdp or []),
        (ApproxDP, "--approx", approx or []),
    ]
    losses = read_losses(given, _COMMAND)
    if (delta is None) == (epsilon is None):
        raise ParameterError(
            _COMMAND,
            "--delta",
            "given, or --epsilon, but not both",
            Nothing() if delta is None else delta,
        )
    numbers = {
        name: number_option(text, f"--{name}", _COMMAND)
        for name, text in (("delta", delta), ("epsilon", epsilon))
        if text is not None
    }
    typed = {"delta": delta, "epsilon": epsilon}
    total = asked(
        _COMMAND, typed, lambda: discreet.compose(losses, adaptive=not non_adaptive, **numbers)
    )
    wanted = "epsilon" if epsilon is None else "delta"
    if as_json:
        print_json(_as_json(total, wanted, losses))
    else:
        _show(total, wanted)


def _show(total: Composition, wanted: str) -> None:
    table = facts()
    for name, value in (("epsilon", total.epsilon), ("delta", total.delta)):
        table.add_row(name, Text(round_up(value), style="bold green" if name == wanted else ""))
    table.add_row("analysis", ANALYSES[total.method].words)
    table.add_row("queries", f"{total.queries:,}, {ORDER[total.adaptive]}")
    rows = [
        Row(
            analysis.words,
            analysis.adaptive,
            name == total.method,
            [ABSENT if (number := total.alternatives.get(name)) is None else round_up(number)],
        )
        for name, analysis in ANALYSES.items()
    ]
    console = terminal()
    console.print(table)
    console.print()
    console.print(comparison(rows, [wanted]))
    console.print(_REMINDER, style="dim")


def _as_json(total: Composition, wanted: str, losses: dict[Loss, int]) -> str:
    answer = {
        "epsilon": as_numbers(total.epsilon),
        "delta": as_numbers(total.delta),
        "method": total.method,
        "queries": total.queries,
        "adaptive": total.adaptive,
        "losses": [loss.to_dict() | {"count": count} for loss, count in losses.items()],
        "analyses": [
            {
                "name": name,
                wanted: as_numbers(total.alternatives.get(name)),
                "adaptive": analysis.adaptive,
            }
            for name, analysis in ANALYSES.items()
        ],
    }
    return json.dumps(answer)
