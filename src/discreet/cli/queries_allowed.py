"""`discreet queries-allowed`: how many queries fit a budget."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

import discreet
from discreet import BoundedRange, Loss, ParameterError, PureDP
from discreet.cli.analyses import ABSENT, ANALYSES, ORDER, TEXTBOOK, Row, comparison, most
from discreet.cli.losses import BudgetDelta, BudgetEpsilon, BudgetRho, NonAdaptive, asked, read_budget, read_loss
from discreet.cli.picture import PlotFile, draw_picture, require_picture, say_where
from discreet.cli.request import AsJson, Nothing
from discreet.cli.terminal import facts, print_json, terminal

_COMMAND = "discreet queries-allowed"
_REMINDER = (
    "Textbook: by sensitivity instead of range. For scores that all move the same way, such as counts, "
    "that says twice the epsilon."
)


def queries_allowed(
    bounded_range: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The epsilon of each query, for exponential mechanisms and Gumbel noise."),
    ] = None,
    pure: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The epsilon of each query, for permute-and-flip and everything else."),
    ] = None,
    epsilon: BudgetEpsilon = None,
    delta: BudgetDelta = None,
    rho: BudgetRho = None,
    non_adaptive: NonAdaptive = False,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how many queries fit a budget, by every analysis. No data is needed.

    \b
    Examples:
      discreet queries-allowed --bounded-range 0.1 --epsilon 1 --delta 1e-6
      discreet queries-allowed --pure 0.1 --epsilon 1 --delta 1e-6
    """
    if (bounded_range is None) == (pure is None):
        got = Nothing() if bounded_range is None else bounded_range
        raise ParameterError(_COMMAND, "--bounded-range", "given, or --pure, but not both", got)
    if bounded_range is not None:
        each = read_loss(BoundedRange, bounded_range, "--bounded-range", _COMMAND)
    else:
        each = read_loss(PureDP, pure or "", "--pure", _COMMAND)
    budget = read_budget(epsilon, delta, rho, _COMMAND)
    if plot is not None:
        require_picture(plot, type(each), budget, _COMMAND)
    counts = asked(_COMMAND, {}, lambda: discreet.queries_by_analysis(each=each, budget=budget))
    textbook = asked(_COMMAND, {}, lambda: _textbook(each, budget))
    method = most(counts, adaptive=not non_adaptive)
    allowed = counts[method] or 0
    if plot is not None:
        draw_picture(plot, budget, each.numbers[0], allowed, _COMMAND)
    if as_json:
        print_json(_as_json(each, budget, counts, textbook, method, adaptive=not non_adaptive))
        return
    table = facts()
    table.add_row("queries allowed", Text(f"{allowed:,}", style="bold green"))
    table.add_row("", f"of {each!r} within {budget!r}, {ORDER[not non_adaptive]}")
    table.add_row("analysis", ANALYSES[method].words)
    console = terminal()
    console.print(table)
    console.print()
    console.print(_comparison(counts, textbook, method))
    if textbook:
        console.print(_REMINDER, style="dim")
    if plot is not None:
        say_where(console, plot)


def _textbook(each: Loss, budget: Loss) -> dict[str, int]:
    """What the textbook says of exponential mechanisms whose scores all move the same way: pure DP of twice the epsilon."""
    if not isinstance(each, BoundedRange):
        return {}
    counts = discreet.queries_by_analysis(each=PureDP(2 * each.epsilon), budget=budget)
    return {name: count for name in TEXTBOOK if (count := counts.get(name)) is not None}


def _comparison(counts: dict[str, int | None], textbook: dict[str, int], method: str) -> Table:
    rows = [Row(TEXTBOOK[name], True, False, [f"{count:,}"]) for name, count in textbook.items()]
    for name, analysis in ANALYSES.items():
        count = counts.get(name)
        shown = ABSENT if count is None else f"{count:,}"
        rows.append(Row(analysis.words, analysis.adaptive, name == method, [shown]))
    return comparison(rows, ["queries allowed"])


def _as_json(
    each: Loss, budget: Loss, counts: dict[str, int | None], textbook: dict[str, int], method: str, *, adaptive: bool
) -> str:
    answer = {
        "queries_allowed": counts[method],
        "method": method,
        "adaptive": adaptive,
        "each": each.to_dict(),
        "budget": budget.to_dict(),
        "textbook": [{"name": name, "queries": count} for name, count in textbook.items()],
        "analyses": [
            {"name": name, "queries": counts.get(name), "adaptive": analysis.adaptive} for name, analysis in ANALYSES.items()
        ],
    }
    return json.dumps(answer)
