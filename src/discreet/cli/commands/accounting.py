"""What releases cost together: `discreet compose` adds their losses up, `discreet plan`
says what each query may cost, and `discreet queries-allowed` how many fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.text import Text

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, Loss, ParameterError, PureDP
from discreet.accounting import Composition, Plan
from discreet.cli.options import (
    MOST_QUERIES,
    AsJson,
    BudgetDelta,
    BudgetEpsilon,
    BudgetRho,
    NonAdaptive,
    count_option,
    number_option,
    read_budget,
    read_loss,
    read_losses,
)
from discreet.cli.plot_option import plot_option, require_picture_file, write_picture
from discreet.cli.show import (
    ANALYSIS_WORDS,
    ORDER,
    TEXTBOOK,
    as_numbers,
    by_analysis,
    comparison,
    most,
)
from discreet.cli.stated import refusals_in, require_one
from discreet.cli.terminal import facts, print_json, round_down, round_up, terminal
from discreet.rendering.picture import Picture

PlotFile = Annotated[str | None, plot_option("the queries that each analysis allows")]

_COMPOSE = "discreet compose"
_GROUPED = "{:,}".format
_HOW_TO_READ = (
    "Every number is an upper bound, rounded up. Bounds that need all queries to be "
    "fixed in advance count only with --non-adaptive."
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
        typer.Option(
            metavar="NUMBER", help="The delta of all queries together, to compute their epsilon."
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="The epsilon of all queries together, to compute their delta."
        ),
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
    losses = read_losses(given, _COMPOSE)
    require_one(_COMPOSE, {"--delta": delta, "--epsilon": epsilon})
    numbers = {
        name: number_option(text, f"--{name}", _COMPOSE)
        for name, text in (("delta", delta), ("epsilon", epsilon))
        if text is not None
    }
    with refusals_in(_COMPOSE, delta=delta, epsilon=epsilon):
        total = discreet.compose(losses, adaptive=not non_adaptive, **numbers)
    wanted = "epsilon" if epsilon is None else "delta"
    if as_json:
        print_json(_as_json(total, wanted, losses))
    else:
        _show_composition(total, wanted)


def _show_composition(total: Composition, wanted: str) -> None:
    table = facts()
    for name, value in (("epsilon", total.epsilon), ("delta", total.delta)):
        table.add_row(name, Text(round_up(value), style="bold green" if name == wanted else ""))
    table.add_row("analysis", ANALYSIS_WORDS[total.method].words)
    table.add_row("queries", f"{total.queries:,}, {ORDER[total.adaptive]}")
    console = terminal()
    console.print(table)
    console.print()
    console.print(comparison(total.method, {wanted: _written(total.alternatives, round_up)}))
    console.print(_HOW_TO_READ, style="dim")


def _written(numbers: Mapping[str, Any], write: Callable[[Any], str]) -> dict[str, str]:
    """The numbers of the analyses that apply, as text."""
    return {name: write(number) for name, number in numbers.items() if number is not None}


def _as_numbers(numbers: Mapping[str, Fraction | None]) -> dict[str, Any]:
    return {name: as_numbers(number) for name, number in numbers.items()}


def _as_json(total: Composition, wanted: str, losses: dict[Loss, int]) -> str:
    answer = {
        "epsilon": as_numbers(total.epsilon),
        "delta": as_numbers(total.delta),
        "method": total.method,
        "queries": total.queries,
        "adaptive": total.adaptive,
        "losses": [loss.to_dict() | {"count": count} for loss, count in losses.items()],
        "analyses": by_analysis(**{wanted: _as_numbers(total.alternatives)}),
    }
    return json.dumps(answer)


_PLAN = "discreet plan"
_KINDS = {kind.kind: kind for kind in (BoundedRange, PureDP)}
_MECHANISMS = {BoundedRange.kind: "ExponentialMechanism", PureDP.kind: "PermuteAndFlip"}

_QUERIES_ALLOWED = "discreet queries-allowed"
_WHAT_TEXTBOOK_MEANS = (
    "Textbook: by sensitivity instead of range. For scores that all move the "
    "same way, such as counts, this doubles the epsilon."
)


def plan(
    queries: Annotated[
        str, typer.Option(metavar="COUNT", help="How many queries there will be, at most.")
    ],
    epsilon: BudgetEpsilon = None,
    delta: BudgetDelta = None,
    rho: BudgetRho = None,
    kind: Annotated[
        str,
        typer.Option(
            metavar="bounded-range|pure-dp",
            help=(
                "Exponential mechanisms have bounded range; permute-and-flip and all others are "
                "pure DP."
            ),
        ),
    ] = "bounded-range",
    non_adaptive: NonAdaptive = False,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the epsilon that each of many queries may have. No data is needed.

    For each analysis: the epsilon of a query that it allows, and how many queries it
    allows at the largest epsilon that holds.

    \b
    Examples:
      discreet plan --queries 100 --epsilon 1 --delta 1e-6
      discreet plan --queries 100 --epsilon 1 --delta 1e-6 --plot plan.png
    """
    if kind not in _KINDS:
        raise ParameterError("--kind", f"one of {', '.join(_KINDS)}", kind, owner=_PLAN)
    count = count_option(queries, "--queries", _PLAN, most=MOST_QUERIES)
    budget = read_budget(epsilon, delta, rho, _PLAN)
    if plot is not None:
        _require_picture(plot, _KINDS[kind], budget, _PLAN)
    with refusals_in(_PLAN, queries=queries, epsilon=epsilon, delta=delta, rho=rho):
        made = discreet.plan(
            queries=count, budget=budget, kind=_KINDS[kind], adaptive=not non_adaptive
        )
        counts = discreet.accounting.queries_by_analysis(each=made.loss, budget=budget)
    # the plan itself shows that so many fit
    counts[made.method] = max(count, counts[made.method] or 0)
    if as_json:
        print_json(_plan_as_json(made, counts))
    else:
        _show_plan(made, counts)
    if plot is not None:
        picture = _picture(budget, made.epsilon, count)
        write_picture(plot, picture, _PLAN, quiet=as_json)


def _require_picture(file: str, kind: type[Loss], budget: Loss, command: str) -> None:
    """Refuse a picture of the analyses if there is nothing to compare, or no file to write."""
    require_picture_file(file, command)
    if kind is not BoundedRange:
        rule = "given only with bounded range, which it compares"
        raise ParameterError("--plot", rule, file, owner=command)
    if not isinstance(budget, ApproxDP):
        rule = "given with an --epsilon and a --delta greater than 0"
        raise ParameterError("--plot", rule, file, owner=command)


def _picture(budget: Loss, epsilon: Fraction, queries: int) -> Picture:
    """How many queries each analysis allows, with a mark at those asked for."""
    from discreet.cli.queries_picture import queries as picture_of

    assert isinstance(budget, ApproxDP)
    return picture_of(budget, marked=(epsilon, queries))


def _show_plan(made: Plan, counts: dict[str, int | None]) -> None:
    each = round_down(made.epsilon)
    table = facts()
    table.add_row("epsilon of each", Text(each, style="bold green"))
    table.add_row("analysis", ANALYSIS_WORDS[made.method].words)
    table.add_row("queries", f"{made.queries:,}, {ORDER[made.adaptive]}")
    table.add_row(
        "what to do",
        f"Use {_MECHANISMS[made.loss.kind]} with epsilon={each} for each query, and ask at most "
        f"{made.queries:,}. "
        f"Together they stay within {made.budget!r}.",
    )
    columns = {
        "epsilon each": _written(made.alternatives, round_down),
        f"queries of {each}": _written(counts, _GROUPED),
    }
    console = terminal()
    console.print(table)
    console.print()
    console.print(comparison(made.method, columns))
    console.print("Every number is certified and rounded down.", style="dim")


def _plan_as_json(made: Plan, counts: dict[str, int | None]) -> str:
    answer = {
        "loss": made.loss.to_dict(),
        "epsilon": as_numbers(made.epsilon),
        "method": made.method,
        "queries": made.queries,
        "budget": made.budget.to_dict(),
        "adaptive": made.adaptive,
        "analyses": by_analysis(epsilon=_as_numbers(made.alternatives), queries=counts),
    }
    return json.dumps(answer)


def queries_allowed(
    bounded_range: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="The epsilon of each query, for exponential mechanisms and Gumbel noise.",
        ),
    ] = None,
    pure: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="The epsilon of each query, for permute-and-flip and everything else.",
        ),
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
    require_one(_QUERIES_ALLOWED, {"--bounded-range": bounded_range, "--pure": pure})
    if bounded_range is not None:
        each = read_loss(BoundedRange, bounded_range, "--bounded-range", _QUERIES_ALLOWED)
    else:
        each = read_loss(PureDP, pure or "", "--pure", _QUERIES_ALLOWED)
    budget = read_budget(epsilon, delta, rho, _QUERIES_ALLOWED)
    if plot is not None:
        _require_picture(plot, type(each), budget, _QUERIES_ALLOWED)
    with refusals_in(_QUERIES_ALLOWED):
        counts = discreet.accounting.queries_by_analysis(each=each, budget=budget)
        textbook = _textbook(each, budget)
    method = most(counts, adaptive=not non_adaptive)
    if as_json:
        print_json(
            _allowed_as_json(each, budget, counts, textbook, method, adaptive=not non_adaptive)
        )
    else:
        said = f"of {each!r} within {budget!r}, {ORDER[not non_adaptive]}"
        _show_allowed(said, counts, textbook, method)
    if plot is not None:
        picture = _picture(budget, each.numbers[0], counts[method] or 0)
        write_picture(plot, picture, _QUERIES_ALLOWED, quiet=as_json)


def _show_allowed(
    said: str, counts: dict[str, int | None], textbook: dict[str, int], method: str
) -> None:
    table = facts()
    table.add_row("queries allowed", Text(f"{counts[method] or 0:,}", style="bold green"))
    table.add_row("", said)
    table.add_row("analysis", ANALYSIS_WORDS[method].words)
    console = terminal()
    console.print(table)
    console.print()
    shown = {"queries allowed": _written(counts, _GROUPED)}
    console.print(comparison(method, shown, _written(textbook, _GROUPED)))
    if textbook:
        console.print(_WHAT_TEXTBOOK_MEANS, style="dim")


def _textbook(each: Loss, budget: Loss) -> dict[str, int]:
    """What the textbook says of exponential mechanisms whose scores all move the same
    way: pure DP of twice the epsilon.
    """
    if not isinstance(each, BoundedRange):
        return {}
    counts = discreet.accounting.queries_by_analysis(each=PureDP(2 * each.epsilon), budget=budget)
    return {name: count for name in TEXTBOOK if (count := counts.get(name)) is not None}


def _allowed_as_json(
    each: Loss,
    budget: Loss,
    counts: dict[str, int | None],
    textbook: dict[str, int],
    method: str,
    *,
    adaptive: bool,
) -> str:
    answer = {
        "queries_allowed": counts[method],
        "method": method,
        "adaptive": adaptive,
        "each": each.to_dict(),
        "budget": budget.to_dict(),
        "textbook": [{"name": name, "queries": count} for name, count in textbook.items()],
        "analyses": by_analysis(queries=counts),
    }
    return json.dumps(answer)
