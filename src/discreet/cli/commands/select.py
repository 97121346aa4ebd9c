"""`discreet select`: pick the best-scoring candidate of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet import ParameterError
from discreet.cli.options import (
    Acknowledge,
    AsJson,
    Epsilon,
    Mechanism,
    MechanismName,
    Monotonic,
    Nothing,
    Objective,
    ScoreRange,
    Sensitivity,
    TypedMechanism,
    parse_number,
    positive_option,
)
from discreet.cli.scores_file import Label, Score, read_scores
from discreet.cli.show import LEAD_FAILURE, selection_panel
from discreet.cli.terminal import note_uncharged, print_json, terminal
from discreet.errors import Hidden

_COMMAND = "discreet select"


def select(
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|NAME=SCORE...",
            help=(
                "CSV, Parquet or JSON lines, or - for CSV from standard input; or the scores "
                "themselves, as in a=41 b=38."
            ),
        ),
    ],
    epsilon: Epsilon,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="Of a file: the column with the names."),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option("--score", metavar="COLUMN", help="Of a file: the column with the scores."),
    ] = None,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRange = None,
    mechanism: MechanismName = "permute-and-flip",
    objective: Objective = "max",
    with_gap: Annotated[
        bool,
        typer.Option(
            "--with-gap",
            help=(
                "Also tell by how much the winner won, with noise. Costs no more epsilon; the loss "
                "is then pure DP."
            ),
        ),
    ] = False,
    gap_step: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="The steps in which the gap is told; if left out, the sensitivity.",
        ),
    ] = None,
    acknowledge: Acknowledge = None,
    as_json: AsJson = False,
) -> None:
    """Pick the best-scoring candidate of a file or of a list, privately.

    Each row is one candidate with its score. The candidates must be public: chosen
    without looking at the data. Every run is a new release and costs its own epsilon.

    \b
    Examples:
      discreet select terrier=41 husky=38 corgi=12 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet select votes.csv --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet select votes.csv --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic --with-gap
    """
    note_uncharged()
    request = TypedMechanism(
        command=_COMMAND,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )
    # public mistakes are named before the data is touched
    chosen = request.mechanism(mechanism)
    if gap_step is not None and not with_gap:
        raise ParameterError(_COMMAND, "--gap-step", "given only with --with-gap", gap_step)
    step = None if gap_step is None else positive_option(gap_step, "--gap-step", _COMMAND)
    if with_gap:
        _require_gap(chosen)
    release = chosen.release(
        _read(scores, label, score),
        with_gap=with_gap,
        gap_step=step,
    )
    if as_json:
        print_json(release.to_json())
    else:
        terminal().print(selection_panel(release, chosen.lead_bound if with_gap else None))


def _read(typed: list[str], label: str | None, score: str | None) -> dict[Label, Score]:
    """The scores of a file, or those that were typed."""
    if len(typed) > 1 or ("=" in typed[0] and label is None and score is None):
        for option, given in (("--label", label), ("--score", score)):
            if given is not None:
                rule = "left out where scores are typed"
                raise ParameterError(_COMMAND, option, rule, given)
        return _typed(typed)
    if label is None or score is None:
        missing = "--label" if label is None else "--score"
        raise ParameterError(_COMMAND, missing, "given with a file of scores", Nothing())
    return read_scores(typed[0], label=label, score=score, command=_COMMAND)


def _typed(pairs: list[str]) -> dict[Label, Score]:
    found: dict[Label, Score] = {}
    for pair in pairs:
        name, equals, text = pair.rpartition("=")
        number = parse_number(text)
        if not equals or not name or number is None or name in found:
            rule = "a file, or different names with their scores, such as a=41 b=38"
            raise ParameterError(_COMMAND, "NAME=SCORE", rule, Hidden("something else"))
        found[name] = number
    return found


def _require_gap(mechanism: Mechanism) -> None:
    try:
        mechanism.lead_bound(0, LEAD_FAILURE)
    except ParameterError:
        rule = (
            "one that has a gap, such as permute-and-flip or exponential, where --with-gap is given"
        )
        raise ParameterError(_COMMAND, "--mechanism", rule, mechanism.name) from None
