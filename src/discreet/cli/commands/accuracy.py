"""How good an answer will be, before any data is touched: `discreet error-bound` for
one epsilon, `discreet choose-epsilon` for accuracy against privacy, and `discreet
preview` for answers to made-up data.
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, replace
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import discreet
from discreet import ZCDP, Accuracy, Loss, ParameterError
from discreet.accuracy import shown_bound
from discreet.cli.commands.scores import MECHANISM, mechanism_of
from discreet.cli.options import (
    AsJson,
    SessionDelta,
    SessionEpsilon,
    SessionRho,
    count_option,
    parse_number,
    read_session_budget,
)
from discreet.cli.plot_option import plot_option, require_picture_file, write_picture
from discreet.cli.stated import Typed, as_option, helps_of, parameters_of, stated_command
from discreet.cli.terminal import facts, label_text, print_json, round_up, terminal
from discreet.mechanisms.base import SelectionMechanism
from discreet.planning import Preview
from discreet.questions import Quantile, TopK
from discreet.questions.kinds import Choice, Exact
from discreet.questions.question import Parameter
from discreet.rendering.charts import Curve, lines
from discreet.rendering.picture import Picture

_BOUND = {
    **{name: each for name, each in MECHANISM.items() if name != "objective"},
    **parameters_of(
        SelectionMechanism.error_bound,
        elsewhere={
            "candidates": "How many candidates there are to choose from.",
            "best": "How many candidates are tied for the best score.",
        },
    ),
    "failure_probability": Parameter(
        name="failure_probability", kind=Exact(reads=lambda value, name: value),
        default=MISSING, not_over_http="",
        help="How often the bound may be exceeded: 0.01 is once in a hundred.",
    ),
}  # fmt: skip


@stated_command("discreet error-bound", _BOUND)
def error_bound(typed: Typed, as_json: AsJson = False) -> None:
    """Show how far the chosen score can be behind the best. No data is needed.

    \b
    Example (a mascot's name, by approval vote among 100 names):
      discreet error-bound --candidates 100 --epsilon 0.5 --sensitivity 1 \\
          --failure-probability 0.01
    """
    chosen, values = mechanism_of(typed), typed.values()
    size = {name: values[name] for name in ("candidates", "best") if name in values}
    with typed.in_these_words():
        bound = _finite(chosen.error_bound(values["failure_probability"], **size))
        expected = _finite(chosen.expected_error_bound(**size))
    if as_json:
        fields = {"mechanism": chosen.name, "error_bound": bound, "expected_error_bound": expected}
        print_json(json.dumps(fields))
    else:
        _show_bound(bound, expected, typed.texts["failure_probability"])


def _finite(bound: float) -> float:
    if not math.isfinite(bound):
        raise OverflowError
    return bound


def _show_bound(bound: float, expected: float, failure_probability: str) -> None:
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


_CHOOSE_EPSILON = "discreet choose-epsilon"
_EPSILONS = ("0.01", "0.03", "0.1", "0.3", "1", "3")
_HELPS = helps_of(*_BOUND.values(), *Quantile.parameters, *TopK.parameters)
_CHOSEN = parameters_of(
    discreet.planning.plan_accuracy, without=["budget", "failure_probability"], elsewhere=_HELPS
)
_CHOSEN["within"] = replace(
    _CHOSEN["within"],
    default=None,
    help="The accuracy that you want: shows the epsilon that gives it.",
)


@stated_command(_CHOOSE_EPSILON, _CHOSEN, question="QUESTION")
def choose_epsilon(
    typed: Typed,
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="One of mode, top-k, counts, count, best-price, quantile, quantiles, select.",
        ),
    ],
    persons: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="About how many people there are, for comparison."),
    ] = None,
    budget_epsilon: SessionEpsilon = None,
    budget_delta: SessionDelta = None,
    budget_rho: SessionRho = None,
    plot: Annotated[str | None, plot_option("it")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how accurate a question is at each epsilon. No data is needed.

    With --within, also the smallest epsilon that is accurate enough. The bounds hold with
    95% confidence for every table; the usual error is smaller: see discreet preview. Say the
    budget that will pay: where it counts squares of epsilons, lists of items of which a person
    has few get more noise for the same epsilon, and counts may get other noise.

    \b
    Examples:
      discreet choose-epsilon mode --candidates 1000 --persons 20000
      discreet choose-epsilon top-k -k 10 --candidates 1000 --within 100
      discreet choose-epsilon top-k -k 10 --candidates 1000 --items-per-person 1 \\
          --budget-epsilon 1 --budget-delta 1e-6
      discreet choose-epsilon quantile --q 0.5 --points 121 --plot median.svg
    """
    require_picture_file(plot, _CHOOSE_EPSILON)
    budget = read_session_budget(budget_epsilon, budget_delta, budget_rho, _CHOOSE_EPSILON)
    said = typed.values() | ({} if budget is None else {"budget": budget})
    wanted = said.pop("within", None)
    name = question.replace("-", "_")
    people = None if persons is None else count_option(persons, "--persons", _CHOOSE_EPSILON)
    plan = None
    with typed.in_these_words(question=question):
        told = {
            epsilon: discreet.planning.accuracy_at(name, epsilon=Fraction(epsilon), **said)
            for epsilon in _EPSILONS
        }
        if wanted is not None:
            plan = discreet.planning.plan_accuracy(name, within=wanted, **said)
    if as_json:
        fields: dict[str, Any] = {"bounds": {each: told[each].to_dict() for each in told}}
        fields |= {} if plan is None else {"epsilon": str(plan.epsilon)}
        fields |= {} if budget is None else {"budget": budget.to_dict()}
        print_json(json.dumps(fields))
    else:
        # a delta, and the Gaussian noise of counts where rho adds up, bound no odds
        gaussian = isinstance(budget, ZCDP) and name in ("count", "counts")
        pure = not said.get("delta") and not gaussian
        _show_epsilons(told, people, budget, pure=pure)
        if plan is not None:
            terminal().print(f"Within {typed.texts['within']}: {plan}")
    if plot is not None:
        picture = _picture(question, told, people, budget)
        write_picture(plot, picture, _CHOOSE_EPSILON, quiet=as_json)


def _show_epsilons(
    told: dict[str, Accuracy], persons: int | None, budget: Loss | None, *, pure: bool
) -> None:
    """A table of bounds over epsilon.

    pure: whether odds change by no more than epsilon says.
    """
    unit = next(iter(told.values())).unit
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("epsilon", "odds change by at most" if pure else "", f"off by at most ({unit})"):
        table.add_column(column, justify="right")
    table.add_column("" if persons is None else f"of {persons:,}", justify="right")
    for epsilon, accuracy in told.items():
        part = Fraction(accuracy.bound) / (persons or 1)
        share = "" if persons is None else f"{round_up(100 * part, 3)}%"
        factor = f"{round_up(math.exp(float(epsilon)), 4)} times" if pure else ""
        table.add_row(epsilon, factor, shown_bound(accuracy.bound), share)
    console = terminal()
    console.print(table)
    last = told["1"]
    console.print(f"At epsilon 1: {last.sentence}")
    console.print(_paid_by(budget), style="dim")
    console.print("This holds for every table. Nothing was read or charged.", style="dim")


def _paid_by(budget: Loss | None) -> str:
    if budget is None:
        return (
            "This assumes that epsilons add up, or that this question takes the whole budget. "
            "For another budget, give --budget-epsilon and --budget-delta, or --budget-rho."
        )
    return f"This assumes that the budget of all questions is {budget!r}."


def _picture(
    question: str, told: dict[str, Accuracy], persons: int | None, budget: Loss | None
) -> Picture:
    unit = next(iter(told.values())).unit
    curves = [
        Curve(
            name="bound with 95% confidence",
            points=[(float(each), max(accuracy.bound, 0.1)) for each, accuracy in told.items()],
        )
    ]
    if persons is not None:
        ends = [(float(each), float(persons)) for each in (_EPSILONS[0], _EPSILONS[-1])]
        curves.append(Curve(name=f"all {persons:,} people", points=ends))
    return lines(
        curves,
        title=f"How far off {question} can be",
        across="epsilon (larger is less private)",
        up=f"off by at most ({unit})",
        notes=[
            f"At epsilon 1: {told['1'].sentence}",
            *([] if budget is None else [_paid_by(budget)]),
        ],
    )


_PREVIEW = "discreet preview"
_MOST_DRAWS = 1_000_000
_SHOWN_CANDIDATES = 12


_MADE_UP = {
    **parameters_of(discreet.planning.made_up_counts),
    "shape": Parameter(
        name="shape", kind=Choice(words=("zipf", "flat", "winner"), metavar="zipf|flat|winner"),
        default="zipf", not_over_http="",
        help="The made-up counts: 1/i for the i-th (zipf), all the same (flat), or half for "
            "one (winner).",
    ),
}  # fmt: skip
_MADE_UP["candidates"] = replace(
    _MADE_UP["candidates"], default=100, help="How many candidates there are."
)
_MADE_UP["persons"] = replace(
    _MADE_UP["persons"], default=10_000, help="How many people there are."
)
_SEEN = parameters_of(
    discreet.planning.preview,
    without=["budget"],
    elsewhere=_HELPS
    | {"draws": "How many answers are simulated.", "seed": "Of the simulation, to repeat it."},
)


@stated_command(_PREVIEW, _SEEN | _MADE_UP)
def preview(
    typed: Typed,
    counts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Made-up counts of your own, such as 410,380,120. Never real ones.",
        ),
    ] = None,
    budget_epsilon: SessionEpsilon = None,
    budget_delta: SessionDelta = None,
    budget_rho: SessionRho = None,
    plot: Annotated[str | None, plot_option("it")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what private answers look like, on made-up data.

    The real samplers draw many answers to one question. No table is read and nothing is
    charged: the data are made by a formula, or typed. They draw as they would in a
    session with the budget that is said.

    \b
    Examples:
      discreet preview --epsilon 0.1 --candidates 1000 --persons 20000
      discreet preview --epsilon 0.5 --counts 410,380,120
      discreet preview --epsilon 1 -k 10 --plot answers.svg
      discreet preview --epsilon 0.3 -k 10 --items-per-person 1 \\
          --budget-epsilon 1 --budget-delta 1e-6
    """
    require_picture_file(plot, _PREVIEW)
    budget = read_session_budget(budget_epsilon, budget_delta, budget_rho, _PREVIEW)
    values = typed.values()
    for name in ("draws", "candidates"):
        count_option(typed.texts[name], as_option(name), _PREVIEW, most=_MOST_DRAWS)
    shape = {name: values.pop(name) for name in _MADE_UP}
    with typed.in_these_words():
        if counts:
            made = _typed_counts(",".join(counts))
        else:
            made = discreet.planning.made_up_counts(shape.pop("shape"), **shape)
        seen = discreet.planning.preview(made, **values, budget=budget)
    if as_json:
        print_json(json.dumps(_preview_dict(seen)))
    else:
        _show_preview(seen)
    if plot is not None:
        write_picture(plot, seen.plot(), _PREVIEW, quiet=as_json)


def _typed_counts(text: str) -> dict[str, int]:
    numbers = [parse_number(part) for part in text.split(",")]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        rule = "whole numbers with commas between them, such as 410,380,120"
        raise ParameterError("--counts", rule, text, owner=_PREVIEW)
    return {f"candidate {place}": int(number or 0) for place, number in enumerate(numbers, start=1)}


def _preview_dict(seen: Preview) -> dict[str, object]:
    return {
        "simulated": True,
        "draws": seen.draws,
        "counts": list(seen.counts.values()),
        "chosen": list(seen.chosen.values()),
        "error_of_half": seen.error(0.5),
        "error_of_95_percent": seen.error(0.95),
        "accuracy": seen.accuracy.to_dict(),
    }


def _show_preview(seen: Preview) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("candidate")
    table.add_column("made-up count", justify="right")
    table.add_column("in the answer", justify="right")
    ordered = sorted(seen.counts, key=lambda label: -seen.counts[label])
    for label in ordered[:_SHOWN_CANDIDATES]:
        share = f"{100 * seen.chosen[label] / seen.draws:.1f}%"
        table.add_row(label_text(label), f"{seen.counts[label]:,}", share)
    console = terminal()
    console.print(f"{seen.draws:,} simulated answers about made-up data.", style="italic")
    console.print(table)
    more = len(ordered) - _SHOWN_CANDIDATES
    if more > 0:
        console.print(f"and {more:,} more", style="dim")
    console.print(seen.sentence)
    console.print(f"For every table: {seen.accuracy.sentence}")
