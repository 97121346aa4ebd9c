"""`discreet select`: pick the best-scoring candidate of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet import ParameterError
from discreet.cli.numbers import positive_option
from discreet.cli.panel import LEAD_FAILURE, selection_panel
from discreet.cli.request import (
    Acknowledge,
    AsJson,
    DataFile,
    Epsilon,
    LabelColumn,
    Mechanism,
    MechanismName,
    Monotonic,
    Objective,
    Request,
    ScoreColumn,
    ScoreRange,
    Sensitivity,
)
from discreet.cli.table import read_scores
from discreet.cli.terminal import note_uncharged, print_json, terminal

_COMMAND = "discreet select"


def select(
    file: DataFile,
    label: LabelColumn,
    score: ScoreColumn,
    epsilon: Epsilon,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRange = None,
    mechanism: MechanismName = "permute-and-flip",
    objective: Objective = "max",
    with_gap: Annotated[
        bool,
        typer.Option(
            "--with-gap",
            help="Also tell by how much the winner won, with noise. Costs no more epsilon; the loss is then pure DP.",
        ),
    ] = False,
    gap_step: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The steps in which the gap is told; if left out, the sensitivity."),
    ] = None,
    acknowledge: Acknowledge = None,
    as_json: AsJson = False,
) -> None:
    """Pick the best-scoring candidate of a file, privately.

    Each row is one candidate with its score. The candidates must be public: chosen without looking at the data. Every run is
    a new release and costs its own epsilon.

    \b
    Examples:
      discreet select votes.csv --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet select votes.csv --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic --with-gap
    """
    note_uncharged()
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
    if gap_step is not None and not with_gap:
        raise ParameterError(_COMMAND, "--gap-step", "given only with --with-gap", gap_step)
    step = None if gap_step is None else positive_option(gap_step, "--gap-step", _COMMAND)
    if with_gap:
        _require_gap(chosen)
    release = chosen.release(read_scores(file, label=label, score=score, command=_COMMAND), with_gap=with_gap, gap_step=step)
    if as_json:
        print_json(release.to_json())
    else:
        terminal().print(selection_panel(release, chosen.lead_bound if with_gap else None))


def _require_gap(mechanism: Mechanism) -> None:
    try:
        mechanism.lead_bound(0, LEAD_FAILURE)
    except ParameterError:
        rule = "one that has a gap, such as permute-and-flip or exponential, where --with-gap is given"
        raise ParameterError(_COMMAND, "--mechanism", rule, mechanism.name) from None
