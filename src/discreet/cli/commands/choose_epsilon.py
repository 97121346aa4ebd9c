"""`discreet choose-epsilon`: accuracy against privacy, before any data is touched."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table

import discreet
from discreet import Accuracy, ParameterError
from discreet.accuracy import shown_bound
from discreet.cli.options import AsJson, asked, count_option, number_option, parse_number
from discreet.cli.picture import PictureFile, require_picture_file, say_where, write_picture
from discreet.cli.terminal import print_json, terminal
from discreet.fragments.charts import Curve, lines

_COMMAND = "discreet choose-epsilon"
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
        str | None, typer.Option(metavar="COUNT", help="How many candidates, or prices.")
    ] = None,
    k: Annotated[
        str | None, typer.Option("-k", metavar="COUNT", help="Of top-k: how many.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Of a list or of quantiles.")
    ] = None,
    limit: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Of top-k in an unknown domain.")
    ] = None,
    items_per_person: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT", help="Of top-k and counts: how many values of one person count."
        ),
    ] = None,
    highest_price: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Of best-price: the highest price.")
    ] = None,
    q: Annotated[
        str | None,
        typer.Option("--q", metavar="SHARES", help="Of quantiles: 0.25,0.5,0.75, say."),
    ] = None,
    points: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Of quantiles: points of the grid.")
    ] = None,
    sensitivity: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Of select: as there.")
    ] = None,
    persons: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="About how many persons there are, to compare with."),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="A wanted accuracy: show the epsilon that gives it."),
    ] = None,
    plot: PictureFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how accurate a question is at each epsilon. No data is needed.

    With --within, also the smallest epsilon that is accurate enough. The bounds hold with
    95 % for every table; the usual error is smaller: see discreet preview.

    \b
    Examples:
      discreet choose-epsilon mode --candidates 1000 --persons 20000
      discreet choose-epsilon top-k -k 10 --candidates 1000 --within 100
      discreet choose-epsilon quantile --q 0.5 --points 121 --plot median.svg
    """
    typed = {
        "candidates": candidates, "k": k, "delta": delta, "limit": limit, "q": q,
        "highest_price": highest_price, "points": points, "sensitivity": sensitivity,
        "items_per_person": items_per_person,
    }  # fmt: skip
    if plot is not None:
        require_picture_file(plot, _COMMAND)
    said = {name: _read(name, text) for name, text in typed.items() if text is not None}
    name = question.replace("-", "_")
    people = None if persons is None else count_option(persons, "--persons", _COMMAND)
    words = typed | {"question": question}
    told = {
        epsilon: asked(
            _COMMAND,
            words,
            lambda: discreet.accuracy_at(name, epsilon=Fraction(epsilon), **said),  # noqa: B023
            {"question": "QUESTION"},
        )
        for epsilon in _EPSILONS
    }
    plan = None
    if within is not None:
        wanted = number_option(within, "--within", _COMMAND)
        plan = asked(
            _COMMAND,
            words | {"within": within},
            lambda: discreet.plan_accuracy(name, within=wanted, **said),
        )
    if as_json:
        fields: dict[str, Any] = {"bounds": {each: told[each].to_dict() for each in told}}
        fields |= {} if plan is None else {"epsilon": str(plan.epsilon)}
        print_json(json.dumps(fields))
    else:
        _show(told, people)
        if plan is not None:
            terminal().print(f"Within {within}: {plan}")
    if plot is not None:
        _draw(plot, question, told, people)
        if not as_json:
            say_where(terminal(), plot)


def _read(name: str, text: str) -> Any:
    if name == "q":
        shares = [parse_number(part) for part in text.split(",")]
        if None in shares:
            raise ParameterError(_COMMAND, "--q", "shares such as 0.5 or 0.25,0.5,0.75", text)
        return shares if len(shares) > 1 else shares[0]
    option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
    if name in ("candidates", "k", "limit", "points", "items_per_person"):
        return count_option(text, option, _COMMAND)
    return number_option(text, option, _COMMAND)


def _show(told: dict[str, Accuracy], persons: int | None) -> None:
    unit = next(iter(told.values())).unit
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("epsilon", "odds change by at most", f"off by at most ({unit})"):
        table.add_column(column, justify="right")
    table.add_column("" if persons is None else f"of {persons:,}", justify="right")
    for epsilon, accuracy in told.items():
        share = "" if persons is None else f"{100 * accuracy.bound / persons:.3g} %"
        factor = f"{math.exp(float(epsilon)):.4g} times"
        table.add_row(epsilon, factor, shown_bound(accuracy.bound), share)
    console = terminal()
    console.print(table)
    last = told["1"]
    console.print(f"At epsilon 1: {last.sentence}")
    console.print("For every table, whatever is in it; nothing was read or charged.", style="dim")


def _draw(file: str, question: str, told: dict[str, Accuracy], persons: int | None) -> None:
    unit = next(iter(told.values())).unit
    curves = [
        Curve(
            name="bound with 95 %",
            points=[(float(each), max(accuracy.bound, 0.1)) for each, accuracy in told.items()],
        )
    ]
    if persons is not None:
        ends = [(float(each), float(persons)) for each in (_EPSILONS[0], _EPSILONS[-1])]
        curves.append(Curve(name=f"all {persons:,} persons", points=ends))
    picture = lines(
        curves,
        title=f"How far off {question} can be",
        across="epsilon (larger is less private)",
        up=f"off by at most ({unit})",
        notes=[f"At epsilon 1: {told['1'].sentence}"],
    )
    write_picture(file, picture, _COMMAND)
