"""`discreet select`: pick the best-scoring candidate of a file."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.panel import Panel
from rich.text import Text

from discreet import Release
from discreet.cli.promise import promise
from discreet.cli.request import (
    Acknowledge,
    AsJson,
    Epsilon,
    MechanismName,
    Monotonic,
    Objective,
    Request,
    ScoreRange,
    Sensitivity,
)
from discreet.cli.table import read_scores
from discreet.cli.terminal import facts, label_text, print_json, terminal

_COMMAND = "discreet select"


def select(
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV, Parquet or JSON lines; or - for CSV from standard input.")],
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The column with the candidates' names.")],
    score: Annotated[str, typer.Option(metavar="COLUMN", help="The column with the candidates' scores.")],
    epsilon: Epsilon,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRange = None,
    mechanism: MechanismName = "permute-and-flip",
    objective: Objective = "max",
    acknowledge: Acknowledge = None,
    as_json: AsJson = False,
) -> None:
    """Pick the best-scoring candidate of a file, privately.

    Each row is one candidate with its score. The candidates must be public: chosen without looking at the data. Every run is
    a new release and costs its own epsilon.

    \b
    Example:
      discreet select votes.csv --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic
    """
    request = Request(
        command=_COMMAND,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )
    chosen = request.mechanism(mechanism)  # public mistakes are named before the data is touched
    release = chosen.release(read_scores(file, label=label, score=score, command=_COMMAND))
    if as_json:
        print_json(release.to_json())
    else:
        terminal().print(release_panel(release))


def release_panel(release: Release) -> Panel:
    """A release for people to read."""
    table = facts()
    table.add_row("selected", label_text(release.value, style="bold green"))
    table.add_row("privacy loss", repr(release.loss))
    table.add_row("mechanism", release.mechanism)
    table.add_row("candidates", f"{release.candidates:,}")
    table.add_row("promise", Text(promise(release.loss)))
    return Panel(table, title="release", title_align="left", expand=False)
