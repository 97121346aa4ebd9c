"""`discreet plan`: what each of many queries may cost."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.text import Text

import discreet
from discreet import BoundedRange, ParameterError, Plan, PureDP
from discreet.cli.analyses import ABSENT, ANALYSES, ORDER, Row, as_numbers, comparison
from discreet.cli.losses import MOST_QUERIES, BudgetDelta, BudgetEpsilon, BudgetRho, NonAdaptive, asked, read_budget
from discreet.cli.numbers import count_option
from discreet.cli.picture import PlotFile, draw_picture, require_picture, say_where
from discreet.cli.request import AsJson
from discreet.cli.terminal import facts, print_json, round_down, terminal

_COMMAND = "discreet plan"
_KINDS = {kind.kind: kind for kind in (BoundedRange, PureDP)}
_MECHANISMS = {BoundedRange.kind: "ExponentialMechanism", PureDP.kind: "PermuteAndFlip"}


def plan(
    queries: Annotated[str, typer.Option(metavar="COUNT", help="How many queries there will be, at most.")],
    epsilon: BudgetEpsilon = None,
    delta: BudgetDelta = None,
    rho: BudgetRho = None,
    kind: Annotated[
        str,
        typer.Option(
            metavar="bounded-range|pure-dp",
            help="Exponential mechanisms have bounded range; permute-and-flip and all others are pure DP.",
        ),
    ] = "bounded-range",
    non_adaptive: NonAdaptive = False,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the epsilon that each of many queries may have. No data is needed.

    For each analysis: the epsilon of a query that it allows, and how many queries it allows at the largest epsilon that holds.

    \b
    Examples:
      discreet plan --queries 100 --epsilon 1 --delta 1e-6
      discreet plan --queries 100 --epsilon 1 --delta 1e-6 --plot plan.png
    """
    if kind not in _KINDS:
        raise ParameterError(_COMMAND, "--kind", f"one of {', '.join(_KINDS)}", kind)
    count = count_option(queries, "--queries", _COMMAND, most=MOST_QUERIES)
    budget = read_budget(epsilon, delta, rho, _COMMAND)
    if plot is not None:
        require_picture(plot, _KINDS[kind], budget, _COMMAND)
    typed = {"queries": queries, "epsilon": epsilon, "delta": delta, "rho": rho}
    made = asked(
        _COMMAND, typed, lambda: discreet.plan(queries=count, budget=budget, kind=_KINDS[kind], adaptive=not non_adaptive)
    )
    counts = asked(_COMMAND, typed, lambda: discreet.queries_by_analysis(each=made.loss, budget=budget))
    counts[made.method] = max(count, counts[made.method] or 0)  # the plan itself shows that so many fit
    if plot is not None:
        draw_picture(plot, budget, made.epsilon, count, _COMMAND)
    if as_json:
        print_json(_as_json(made, counts))
    else:
        _show(made, counts, plot)


def _show(made: Plan, counts: dict[str, int | None], plot: str | None) -> None:
    each = round_down(made.epsilon)
    table = facts()
    table.add_row("epsilon of each", Text(each, style="bold green"))
    table.add_row("analysis", ANALYSES[made.method].words)
    table.add_row("queries", f"{made.queries:,}, {ORDER[made.adaptive]}")
    table.add_row(
        "what to do",
        f"Use {_MECHANISMS[made.loss.kind]} with epsilon={each} for each query, and ask at most {made.queries:,}. "
        f"Together they stay within {made.budget!r}.",
    )
    rows = [
        Row(
            analysis.words,
            analysis.adaptive,
            name == made.method,
            [
                ABSENT if (value := made.alternatives.get(name)) is None else round_down(value),
                ABSENT if (number := counts.get(name)) is None else f"{number:,}",
            ],
        )
        for name, analysis in ANALYSES.items()
    ]
    console = terminal()
    console.print(table)
    console.print()
    console.print(comparison(rows, ["epsilon each", f"queries of {each}"]))
    console.print("Every number is certified and rounded down.", style="dim")
    if plot is not None:
        say_where(console, plot)


def _as_json(made: Plan, counts: dict[str, int | None]) -> str:
    answer = {
        "loss": made.loss.to_dict(),
        "epsilon": as_numbers(made.epsilon),
        "method": made.method,
        "queries": made.queries,
        "budget": made.budget.to_dict(),
        "adaptive": made.adaptive,
        "analyses": [
            {
                "name": name,
                "epsilon": as_numbers(made.alternatives.get(name)),
                "queries": counts.get(name),
                "adaptive": analysis.adaptive,
            }
            for name, analysis in ANALYSES.items()
        ],
    }
    return json.dumps(answer)
