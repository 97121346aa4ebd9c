"""Commands that take scores: `discreet select` draws a candidate, and
`discreet probabilities` shows how likely each one is, for made-up or public scores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from discreet import ParameterError
from discreet.cli.options import (
    Acknowledge,
    AsJson,
    Epsilon,
    Mechanism,
    MechanismNameOrAll,
    MechanismOption,
    Monotonic,
    Nothing,
    ObjectiveOption,
    ScoreRangeOption,
    Sensitivity,
    TypedMechanism,
    parse_number,
    positive_option,
)
from discreet.cli.scores_file import Label, Score, read_scores
from discreet.cli.show import LEAD_FAILURE, selection_panel
from discreet.cli.terminal import (
    bar,
    label_text,
    note_uncharged,
    print_json,
    probability_text,
    terminal,
)
from discreet.errors import ScoresError

_SELECT = "discreet select"
_PROBABILITIES = "discreet probabilities"
# Gumbel noise has the law of the first, and exponential noise that of the second
_COMPARED = (
    "exponential",
    "permute-and-flip",
    "laplace-noise",
)
_REMINDER = (
    "These numbers are as private as the scores themselves: do not publish them for real data."
)


def select(
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|NAME=SCORE...",
            help=(
                "CSV, Parquet or JSON lines; - for CSV from standard input; or the scores "
                "themselves, as in a=41 b=38."
            ),
        ),
    ],
    epsilon: Epsilon,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="For a file: the column with the names."),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option("--score", metavar="COLUMN", help="For a file: the column with the scores."),
    ] = None,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRangeOption = None,
    mechanism: MechanismOption = "permute-and-flip",
    objective: ObjectiveOption = "max",
    with_gap: Annotated[
        bool,
        typer.Option(
            "--with-gap",
            help=(
                "Also show by how much the winner won, with noise, for the same epsilon. The loss "
                "is then pure DP."
            ),
        ),
    ] = False,
    gap_step: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="The step that the gap is rounded to; by default, the sensitivity.",
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
      discreet select demo:votes --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet select demo:votes --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic --with-gap
    """
    note_uncharged()
    request = TypedMechanism(
        command=_SELECT,
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
        raise ParameterError("--gap-step", "given only with --with-gap", gap_step, owner=_SELECT)
    step = None if gap_step is None else positive_option(gap_step, "--gap-step", _SELECT)
    if with_gap:
        _require_gap(chosen)
    release = chosen.release(
        _file_or_typed(scores, label, score),
        with_gap=with_gap,
        gap_step=step,
    )
    if as_json:
        print_json(release.to_json())
    else:
        terminal().print(selection_panel(release, chosen.lead_bound if with_gap else None))


def _file_or_typed(typed: list[str], label: str | None, score: str | None) -> dict[Label, Score]:
    """The scores of a file, or those that were typed."""
    if len(typed) > 1 or ("=" in typed[0] and label is None and score is None):
        for option, given in (("--label", label), ("--score", score)):
            if given is not None:
                rule = "left out where scores are typed"
                raise ParameterError(option, rule, given, owner=_SELECT)
        return typed_scores(typed, _SELECT)
    if label is None or score is None:
        missing = "--label" if label is None else "--score"
        raise ParameterError(missing, "given with a file of scores", Nothing(), owner=_SELECT)
    return read_scores(typed[0], label=label, score=score, command=_SELECT)


def _require_gap(mechanism: Mechanism) -> None:
    try:
        mechanism.lead_bound(0, LEAD_FAILURE)
    except ParameterError:
        rule = (
            "one that has a gap, such as permute-and-flip or exponential, where --with-gap is given"
        )
        raise ParameterError("--mechanism", rule, mechanism.name, owner=_SELECT) from None


def probabilities(
    scores: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=SCORE", help="The candidates with their scores.", show_default=False
        ),
    ] = None,
    *,
    epsilon: Epsilon,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Read the scores from a file instead.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The file's column with the names.")
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The file's column with the scores.")
    ] = None,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRangeOption = None,
    mechanism: MechanismNameOrAll = "permute-and-flip",
    objective: ObjectiveOption = "max",
    acknowledge: Acknowledge = None,
    as_json: AsJson = False,
) -> None:
    """Show how likely each candidate is, for made-up scores.

    Use it to learn what an epsilon means before any data is touched; public scores will
    do as well. For real data the output is itself private and must not be published.

    \b
    Examples:
      discreet probabilities terrier=41 husky=38 corgi=12 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet probabilities terrier=41 husky=38 corgi=12 \\
          --epsilon 1 --sensitivity 1 --monotonic --mechanism all
    """
    request = TypedMechanism(
        command=_PROBABILITIES,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )
    mechanisms = [
        request.mechanism(name) for name in (_COMPARED if mechanism == "all" else (mechanism,))
    ]
    candidates = _candidates(scores or [], file, label, score)
    logs = [each.log_probabilities(candidates) for each in mechanisms]
    if as_json:
        print_json(_as_json(list(candidates), mechanisms, logs))
    else:
        console = terminal()
        console.print(distribution_table(candidates, mechanisms, logs))
        console.print(_REMINDER, style="yellow")


def _candidates(
    scores: Sequence[str], file: str | None, label: str | None, score: str | None
) -> dict[Label, Score]:
    """The scores that were typed, or those of the file."""
    if file is None:
        for option, given in (("--label", label), ("--score", score)):
            if given is not None:
                raise ParameterError(option, "given only with --file", given, owner=_PROBABILITIES)
        return typed_scores(scores, _PROBABILITIES)
    if scores:
        raise ParameterError(
            "--file", "given without NAME=SCORE arguments", file, owner=_PROBABILITIES
        )
    if label is None or score is None:
        raise ParameterError("--file", "given with --label and --score", file, owner=_PROBABILITIES)
    return read_scores(file, label=label, score=score, command=_PROBABILITIES, option="--file")


def typed_scores(pairs: Sequence[str], command: str) -> dict[Label, Score]:
    """Read scores that were typed as NAME=SCORE. An error repeats nothing of them: they
    may be real scores.
    """
    whose = f"The NAME=SCORE arguments of {command}"
    if not pairs:
        raise ScoresError(f"{whose} must be given, or a --file. Got neither.")
    candidates: dict[Label, Score] = {}
    for position, text in enumerate(pairs, start=1):
        name, equals, score = text.rpartition("=")
        number = parse_number(score)
        if not equals or not name or number is None:
            rule = "a name, an equals sign and a finite number, such as terrier=41"
            raise ScoresError(f"{whose} must be {rule}. Number {position} is not.")
        if name in candidates:
            raise ScoresError(f"{whose} must have different names. Number {position} repeats one.")
        candidates[name] = number
    return candidates


def distribution_table(
    candidates: dict[Label, Score],
    mechanisms: Sequence[Mechanism],
    logs: Sequence[NDArray[np.float64]],
) -> Table:
    """A table of the candidates in their order, with a line for each mechanism, so that
    bars to compare are below each other.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("candidate", overflow="fold")
    table.add_column("score", justify="right", overflow="fold")
    table.add_column("mechanism", no_wrap=True)
    table.add_column("probability", justify="right", no_wrap=True)
    table.add_column()
    for row, (label, score) in enumerate(candidates.items()):
        for line, (mechanism, log) in enumerate(zip(mechanisms, logs, strict=True)):
            names = ("", "") if line else (label_text(label), str(score))
            table.add_row(*names, mechanism.name, probability_text(log[row]), bar(log[row], 24))
    return table


def _as_json(
    labels: list[Label], mechanisms: Sequence[Mechanism], logs: Sequence[NDArray[np.float64]]
) -> str:
    distributions = [
        {
            "mechanism": mechanism.name,
            "loss": mechanism.privacy_loss().to_dict(),
            "probabilities": np.exp(log).tolist(),
        }
        for mechanism, log in zip(mechanisms, logs, strict=True)
    ]
    return json.dumps(
        {"candidates": labels, "distributions": distributions}, ensure_ascii=False, allow_nan=False
    )
