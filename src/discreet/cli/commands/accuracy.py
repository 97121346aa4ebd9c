"""How good an answer will be, before any data is touched: `discreet error-bound` for
one epsilon, `discreet choose-epsilon` for accuracy against privacy, and `discreet
preview` for answers to made-up data.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import discreet
from discreet import ZCDP, Accuracy, Loss, ParameterError
from discreet.accuracy import shown_bound
from discreet.cli.options import (
    Acknowledge,
    AsJson,
    Epsilon,
    MechanismOption,
    Monotonic,
    ScoreRangeOption,
    Sensitivity,
    SessionDelta,
    SessionEpsilon,
    SessionRho,
    TypedMechanism,
    as_option,
    asked,
    count_option,
    number_option,
    numbers_option,
    read_session_budget,
)
from discreet.cli.plot_option import PictureFile, require_picture_file, say_where, write_picture
from discreet.cli.terminal import facts, label_text, print_json, round_up, terminal
from discreet.planning import Preview
from discreet.rendering.charts import Curve, lines

_ERROR_BOUND = "discreet error-bound"


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
    score_range: ScoreRangeOption = None,
    best: Annotated[
        str, typer.Option(metavar="COUNT", help="How many candidates are tied for the best score.")
    ] = "1",
    mechanism: MechanismOption = "permute-and-flip",
    acknowledge: Acknowledge = None,
    as_json: AsJson = False,
) -> None:
    """Show how far the chosen score can be behind the best. No data is needed.

    \b
    Example (a mascot's name, by approval vote among 100 names):
      discreet error-bound --candidates 100 --epsilon 0.5 --sensitivity 1 \\
          --failure-probability 0.01
    """
    request = TypedMechanism(
        command=_ERROR_BOUND,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        acknowledge=acknowledge,
    )
    chosen = request.mechanism(mechanism)
    failure = number_option(failure_probability, "--failure-probability", _ERROR_BOUND)
    count, tied = (
        count_option(candidates, "--candidates", _ERROR_BOUND),
        count_option(best, "--best", _ERROR_BOUND),
    )
    try:
        bound = _finite(chosen.error_bound(failure, candidates=count, best=tied))
        expected = _finite(chosen.expected_error_bound(candidates=count, best=tied))
    except ParameterError as error:
        got = failure_probability if error.name == "failure_probability" else error.got
        raise ParameterError(_ERROR_BOUND, as_option(error.name), error.rule, got) from None
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
        _show_bound(bound, expected, failure_probability)


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


def choose_epsilon(
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="One of mode, top-k, counts, count, best-price, quantile, quantiles, select.",
        ),
    ],
    candidates: Annotated[
        str | None, typer.Option(metavar="COUNT", help="How many candidates or prices there are.")
    ] = None,
    k: Annotated[
        str | None, typer.Option("-k", metavar="COUNT", help="For top-k: how many to pick.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="For a list or for quantiles: the delta.")
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="For top-k with unknown names: how many take part."),
    ] = None,
    items_per_person: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT", help="For top-k and counts: how many values of one person count."
        ),
    ] = None,
    highest_price: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="For best-price: the highest price.")
    ] = None,
    q: Annotated[
        str | None,
        typer.Option(
            "--q", metavar="SHARES", help="For quantiles: the shares, such as 0.25,0.5,0.75."
        ),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="For quantiles: how many points the grid has."),
    ] = None,
    sensitivity: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="For select: how far one person can move one score."),
    ] = None,
    persons: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="About how many people there are, for comparison."),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="The accuracy that you want: shows the epsilon that gives it."
        ),
    ] = None,
    budget_epsilon: SessionEpsilon = None,
    budget_delta: SessionDelta = None,
    budget_rho: SessionRho = None,
    plot: PictureFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how accurate a question is at each epsilon. No data is needed.

    With --within, also the smallest epsilon that is accurate enough. The bounds hold with
    95% for every table; the usual error is smaller: see discreet preview. Say the budget
    that will pay: where it counts squares of epsilons, lists of items of which a person
    has few get more noise for the same epsilon, and counts may get other noise.

    \b
    Examples:
      discreet choose-epsilon mode --candidates 1000 --persons 20000
      discreet choose-epsilon top-k -k 10 --candidates 1000 --within 100
      discreet choose-epsilon top-k -k 10 --candidates 1000 --items-per-person 1 \\
          --budget-epsilon 1 --budget-delta 1e-6
      discreet choose-epsilon quantile --q 0.5 --points 121 --plot median.svg
    """
    typed = {
        "candidates": candidates, "k": k, "delta": delta, "limit": limit, "q": q,
        "highest_price": highest_price, "points": points, "sensitivity": sensitivity,
        "items_per_person": items_per_person,
    }  # fmt: skip
    if plot is not None:
        require_picture_file(plot, _CHOOSE_EPSILON)
    budget = read_session_budget(budget_epsilon, budget_delta, budget_rho, _CHOOSE_EPSILON)
    said = {name: _read(name, text) for name, text in typed.items() if text is not None}
    said |= {} if budget is None else {"budget": budget}
    name = question.replace("-", "_")
    people = None if persons is None else count_option(persons, "--persons", _CHOOSE_EPSILON)
    words = typed | {"question": question}
    told = {
        epsilon: asked(
            _CHOOSE_EPSILON,
            words,
            lambda: discreet.planning.accuracy_at(name, epsilon=Fraction(epsilon), **said),  # noqa: B023
            {"question": "QUESTION"},
        )
        for epsilon in _EPSILONS
    }
    plan = None
    if within is not None:
        wanted = number_option(within, "--within", _CHOOSE_EPSILON)
        plan = asked(
            _CHOOSE_EPSILON,
            words | {"within": within},
            lambda: discreet.planning.plan_accuracy(name, within=wanted, **said),
        )
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
            terminal().print(f"Within {within}: {plan}")
    if plot is not None:
        _draw(plot, question, told, people, budget)
        if not as_json:
            say_where(terminal(), plot)


def _read(name: str, text: str) -> Any:
    if name == "q":
        rule = "shares such as 0.5 or 0.25,0.5,0.75"
        shares = numbers_option(text, "--q", _CHOOSE_EPSILON, rule)
        return shares if len(shares) > 1 else shares[0]
    option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
    if name in ("candidates", "k", "limit", "points", "items_per_person"):
        return count_option(text, option, _CHOOSE_EPSILON)
    return number_option(text, option, _CHOOSE_EPSILON)


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


def _draw(
    file: str, question: str, told: dict[str, Accuracy], persons: int | None, budget: Loss | None
) -> None:
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
    picture = lines(
        curves,
        title=f"How far off {question} can be",
        across="epsilon (larger is less private)",
        up=f"off by at most ({unit})",
        notes=[
            f"At epsilon 1: {told['1'].sentence}",
            *([] if budget is None else [_paid_by(budget)]),
        ],
    )
    write_picture(file, picture, _CHOOSE_EPSILON)


_PREVIEW = "discreet preview"
_MOST_DRAWS = 1_000_000
_SHOWN_CANDIDATES = 12


def preview(
    epsilon: Epsilon,
    shape: Annotated[
        str,
        typer.Option(
            metavar="zipf|flat|winner",
            help="The made-up counts: 1/i for the i-th (zipf), all the same (flat), or half for "
            "one (winner).",
        ),
    ] = "zipf",
    candidates: Annotated[
        str, typer.Option(metavar="COUNT", help="How many candidates there are.")
    ] = "100",
    persons: Annotated[
        str, typer.Option(metavar="COUNT", help="How many people there are.")
    ] = "10000",
    counts: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Made-up counts of your own, such as 410,380,120. Never real ones.",
        ),
    ] = None,
    k: Annotated[
        str | None, typer.Option("-k", metavar="COUNT", help="How many to pick; one by default.")
    ] = None,
    delta: Annotated[
        str, typer.Option(metavar="NUMBER", help="The delta of a list; 0 for pure privacy.")
    ] = "0",
    limit: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="With unknown names: how many take part."),
    ] = None,
    items_per_person: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help="For a list: how many values of one person count. The counts above are taken "
            "after that.",
        ),
    ] = None,
    budget_epsilon: SessionEpsilon = None,
    budget_delta: SessionDelta = None,
    budget_rho: SessionRho = None,
    draws: Annotated[
        str, typer.Option(metavar="COUNT", help="How many answers are simulated.")
    ] = "1000",
    plot: PictureFile = None,
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
    if plot is not None:
        require_picture_file(plot, _PREVIEW)
    numbers: dict[str, Any] = {
        "epsilon": number_option(epsilon, "--epsilon", _PREVIEW),
        "delta": number_option(delta, "--delta", _PREVIEW),
        "k": None if k is None else count_option(k, "-k", _PREVIEW),
        "limit": None if limit is None else count_option(limit, "--limit", _PREVIEW),
        "items_per_person": None
        if items_per_person is None
        else count_option(items_per_person, "--items-per-person", _PREVIEW),
        "budget": read_session_budget(budget_epsilon, budget_delta, budget_rho, _PREVIEW),
        "draws": count_option(draws, "--draws", _PREVIEW, most=_MOST_DRAWS),
    }
    typed = {
        "epsilon": epsilon, "delta": delta, "k": k, "limit": limit, "draws": draws,
        "items_per_person": items_per_person,
    }  # fmt: skip
    made = _typed_counts(counts) if counts is not None else asked(
        _PREVIEW,
        {"shape": shape, "candidates": candidates, "persons": persons},
        lambda: discreet.planning.made_up_counts(
            shape,
            candidates=count_option(candidates, "--candidates", _PREVIEW, most=_MOST_DRAWS),
            persons=count_option(persons, "--persons", _PREVIEW),
        ),
    )  # fmt: skip
    seen = asked(_PREVIEW, typed, lambda: discreet.planning.preview(made, **numbers))
    if as_json:
        print_json(json.dumps(_preview_dict(seen)))
    else:
        _show_preview(seen)
    if plot is not None:
        write_picture(plot, seen.plot(), _PREVIEW)
        if not as_json:
            say_where(terminal(), plot)


def _typed_counts(text: str) -> dict[str, int]:
    rule = "whole numbers with commas between them, such as 410,380,120"
    numbers = numbers_option(text, "--counts", _PREVIEW, rule)
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise ParameterError(_PREVIEW, "--counts", rule, text)
    return {f"candidate {place}": int(number) for place, number in enumerate(numbers, start=1)}


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
