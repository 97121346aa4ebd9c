"""`discreet probabilities`: how likely each candidate is, for made-up or public scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from discreet import ParameterError, ScoresError
from discreet.cli.options import (
    Acknowledge,
    AsJson,
    Epsilon,
    Mechanism,
    MechanismNameOrAll,
    Monotonic,
    Objective,
    ScoreRange,
    Sensitivity,
    TypedMechanism,
    parse_number,
)
from discreet.cli.scores_file import Label, Score, read_scores
from discreet.cli.terminal import bar, label_text, print_json, probability_text, terminal

_COMMAND = "discreet probabilities"
# Gumbel noise has the law of the first, and exponential noise that of the second
_COMPARED = (
    "exponential",
    "permute-and-flip",
    "laplace-noise",
)
_REMINDER = (
    "For real data these numbers are as private as the scores themselves: do not publish them."
)


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
    score_range: ScoreRange = None,
    mechanism: MechanismNameOrAll = "permute-and-flip",
    objective: Objective = "max",
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
        command=_COMMAND,
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
                raise ParameterError(_COMMAND, option, "given only with --file", given)
        return _typed(scores)
    if scores:
        raise ParameterError(_COMMAND, "--file", "given without NAME=SCORE arguments", file)
    if label is None or score is None:
        raise ParameterError(_COMMAND, "--file", "given with --label and --score", file)
    return read_scores(file, label=label, score=score, command=_COMMAND, option="--file")


def _typed(scores: Sequence[str]) -> dict[Label, Score]:
    if not scores:
        raise ScoresError(
            f"The NAME=SCORE arguments of {_COMMAND} must be given, or a --file. Got neither."
        )
    candidates: dict[Label, Score] = {}
    for position, text in enumerate(scores, start=1):
        name, equals, score = text.rpartition("=")
        number = parse_number(score)
        # what was typed is not repeated: it may be a real score after all
        if not equals or not name or number is None:
            rule = "a name, an equals sign and a finite number, such as terrier=41"
            raise ScoresError(
                f"The NAME=SCORE arguments of {_COMMAND} must be {rule}. Number {position} is not."
            )
        if name in candidates:
            raise ScoresError(
                f"The NAME=SCORE arguments of {_COMMAND} must have different names. Got {name!r} "
                "twice."
            )
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
