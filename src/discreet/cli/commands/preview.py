"""`discreet preview`: what answers look like, on made-up data."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

import discreet
from discreet import ParameterError, Preview
from discreet.cli.options import AsJson, Epsilon, asked, count_option, number_option, parse_number
from discreet.cli.plot_option import PictureFile, require_picture_file, say_where, write_picture
from discreet.cli.terminal import label_text, print_json, terminal

_COMMAND = "discreet preview"
_MOST = 1_000_000
_SHOWN = 12


def preview(
    epsilon: Epsilon,
    shape: Annotated[
        str,
        typer.Option(
            metavar="zipf|flat|winner",
            help="The made-up counts: 1/i for the i-th, all the same, or one with a half.",
        ),
    ] = "zipf",
    candidates: Annotated[
        str, typer.Option(metavar="COUNT", help="How many candidates there are.")
    ] = "100",
    persons: Annotated[
        str, typer.Option(metavar="COUNT", help="How many persons there are.")
    ] = "10000",
    counts: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Instead: typed counts, such as 410,380,120. Never real ones.",
        ),
    ] = None,
    k: Annotated[
        str | None, typer.Option("-k", metavar="COUNT", help="How many to pick; left out, one.")
    ] = None,
    delta: Annotated[
        str, typer.Option(metavar="NUMBER", help="The delta of a list; 0 for pure privacy.")
    ] = "0",
    limit: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="Of an unknown domain: how many items take part."),
    ] = None,
    draws: Annotated[
        str, typer.Option(metavar="COUNT", help="How many answers are simulated.")
    ] = "1000",
    plot: PictureFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what private answers look like, on made-up data.

    The real samplers draw many answers to one question. No table is read and nothing is
    charged: the data are made by a formula, or typed.

    \b
    Examples:
      discreet preview --epsilon 0.1 --candidates 1000 --persons 20000
      discreet preview --epsilon 0.5 --counts 410,380,120
      discreet preview --epsilon 1 -k 10 --plot answers.svg
    """
    if plot is not None:
        require_picture_file(plot, _COMMAND)
    numbers: dict[str, Any] = {
        "epsilon": number_option(epsilon, "--epsilon", _COMMAND),
        "delta": number_option(delta, "--delta", _COMMAND),
        "k": None if k is None else count_option(k, "-k", _COMMAND),
        "limit": None if limit is None else count_option(limit, "--limit", _COMMAND),
        "draws": count_option(draws, "--draws", _COMMAND, most=_MOST),
    }
    typed = {"epsilon": epsilon, "delta": delta, "k": k, "limit": limit, "draws": draws}
    made = _typed_counts(counts) if counts is not None else asked(
        _COMMAND,
        {"shape": shape, "candidates": candidates, "persons": persons},
        lambda: discreet.made_up_counts(
            shape,
            candidates=count_option(candidates, "--candidates", _COMMAND, most=_MOST),
            persons=count_option(persons, "--persons", _COMMAND),
        ),
    )  # fmt: skip
    seen = asked(_COMMAND, typed, lambda: discreet.preview(made, **numbers))
    if as_json:
        print_json(json.dumps(_as_json(seen)))
    else:
        _show(seen)
    if plot is not None:
        write_picture(plot, seen.plot(), _COMMAND)
        if not as_json:
            say_where(terminal(), plot)


def _typed_counts(text: str) -> dict[str, int]:
    numbers = [parse_number(part) for part in text.split(",")]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        rule = "whole numbers with commas between them, such as 410,380,120"
        raise ParameterError(_COMMAND, "--counts", rule, text)
    return {f"candidate {place}": int(number or 0) for place, number in enumerate(numbers, start=1)}


def _as_json(seen: Preview) -> dict[str, object]:
    return {
        "simulated": True,
        "draws": seen.draws,
        "counts": list(seen.counts.values()),
        "chosen": list(seen.chosen.values()),
        "error_of_half": seen.error(0.5),
        "error_of_95_percent": seen.error(0.95),
        "accuracy": seen.accuracy.to_dict(),
    }


def _show(seen: Preview) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("candidate")
    table.add_column("made-up count", justify="right")
    table.add_column("in the answer", justify="right")
    ordered = sorted(seen.counts, key=lambda label: -seen.counts[label])
    for label in ordered[:_SHOWN]:
        share = f"{100 * seen.chosen[label] / seen.draws:.1f} %"
        table.add_row(label_text(label), f"{seen.counts[label]:,}", share)
    console = terminal()
    console.print(f"{seen.draws:,} simulated answers about made-up data.", style="italic")
    console.print(table)
    more = len(ordered) - _SHOWN
    if more > 0:
        console.print(f"and {more:,} more", style="dim")
    console.print(
        f"Half of the answers were off by at most {seen.error(0.5):,g} persons, 95 % by at most "
        f"{seen.error(0.95):,g}."
    )
    console.print(f"Promised for every table: {seen.accuracy.sentence}")
