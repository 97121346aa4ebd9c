"""`discreet scores`: files of scores, with one row for each candidate. Their options are the
parameters of `select`, `top_k` and `top_k_unknown_domain`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, replace
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

import discreet
from discreet import NOT_PRIVATE, ParameterError, Release
from discreet.cli.ask import show_answer
from discreet.cli.options import AsJson, DataFile, parse_number, positive_option
from discreet.cli.plot_option import AnswerPlotFile, require_picture_file
from discreet.cli.scores_file import Label, Score, read_scores
from discreet.cli.show import LEAD_FAILURE, list_panel, selection_panel
from discreet.cli.stated import Nothing, Typed, as_option, helps_of, parameters_of, stated_command
from discreet.cli.terminal import (
    bar,
    label_text,
    note_uncharged,
    print_json,
    probability_text,
    terminal,
    working,
)
from discreet.errors import ScoresError
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.count_lists import ListRequest, make_unknown
from discreet.mechanisms.selection import mechanism_class
from discreet.questions.kinds import Choice, Whole
from discreet.questions.question import Parameter

scores = typer.Typer(
    name="scores",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Files of scores: pick the best candidates, or see how likely each is.",
)
_GROUP = "discreet scores"
# Gumbel noise has the law of the first, and exponential noise that of the second
_COMPARED = ("exponential", "permute-and-flip", "laplace-noise")
_ALL = "all"
_REMINDER = (
    "These numbers are as private as the scores themselves: do not publish them for real data."
)
_SELECT = parameters_of(
    discreet.select,
    elsewhere={"acknowledge": f"An epsilon above 64 needs the words '{NOT_PRIVATE}'."},
)
MECHANISM = {
    name: _SELECT[name]
    for name in (
        *("epsilon", "sensitivity", "monotonic", "score_range"),
        *("mechanism", "objective", "acknowledge"),
    )
}
"""The parameters of a mechanism that selects."""

LabelOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="For a file: the column with the names.")
]
ScoreOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="For a file: the column with the scores.")
]
FileOrScores = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|NAME=SCORE...",
        help=(
            "CSV, Parquet or JSON lines; - for CSV from standard input; or the scores "
            "themselves, as in a=41 b=38."
        ),
    ),
]


def mechanism_of(typed: Typed) -> SelectionMechanism:
    """The mechanism that was typed, or a refusal that names the option to change."""
    values = {name: value for name, value in typed.values().items() if name in MECHANISM}
    with typed.in_these_words():
        return mechanism_class(values.pop("mechanism"))(**values)


@scores.command("select")
@stated_command(f"{_GROUP} select", _SELECT)
def select(
    typed: Typed,
    scores: FileOrScores,
    label: LabelOption = None,
    score: ScoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Pick the best-scoring candidate of a file or of a list, privately.

    Each row is one candidate with its score. The candidates must be public: chosen
    without looking at the data. Every run is a new release and costs its own epsilon.

    \b
    Examples:
      discreet scores select terrier=41 husky=38 corgi=12 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet scores select demo:votes --label name --score votes \\
          --epsilon 1 --sensitivity 1 --monotonic --with-gap
    """
    note_uncharged()
    values = typed.values()
    # public mistakes are named before the data is touched
    chosen, with_gap = mechanism_of(typed), values.get("with_gap", False)
    if "gap_step" in values and not with_gap:
        raise ParameterError(
            "--gap-step", "given only with --with-gap", typed.texts["gap_step"], owner=typed.command
        )
    if with_gap:
        _require_gap(chosen, typed.command)
        if "gap_step" in values:
            positive_option(typed.texts["gap_step"], "--gap-step", typed.command)
    candidates = _file_or_typed(scores, label, score, typed.command)
    with typed.in_these_words():
        release = discreet.select(candidates, **values)
    panel = selection_panel(release, chosen.lead_bound if with_gap else None)
    show_answer(release, typed.command, panel=panel, as_json=as_json)


def _require_gap(mechanism: SelectionMechanism, command: str) -> None:
    try:
        mechanism.lead_bound(0, LEAD_FAILURE)
    except ParameterError:
        rule = (
            "one that has a gap, such as permute-and-flip or exponential, where --with-gap is given"
        )
        raise ParameterError("--mechanism", rule, mechanism.name, owner=command) from None


_KNOWN = parameters_of(discreet.top_k, elsewhere=helps_of(*_SELECT.values()))
_UNKNOWN = parameters_of(discreet.top_k_unknown_domain, elsewhere=helps_of(*_SELECT.values()))
_TOP_K = {
    "k": Parameter(
        name="k", kind=Whole(), default=MISSING, not_over_http="",
        help="How many candidates to pick, at most.",
    ),
    **{name: replace(each, default=_KNOWN[name].default if name in _KNOWN else None)
       for name, each in (_UNKNOWN | _KNOWN).items()},
}  # fmt: skip


@scores.command("top-k")
@stated_command(f"{_GROUP} top-k", _TOP_K)
def top_k(
    typed: Typed,
    file: DataFile,
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with the candidates' names.")
    ],
    score: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with the candidates' scores.")
    ],
    unknown_domain: Annotated[
        bool,
        typer.Option(
            "--unknown-domain",
            help="The candidates come from the data themselves. The scores are then numbers of "
            "people.",
        ),
    ] = False,
    plot: AnswerPlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Pick the best-scoring candidates of a file, in order, privately.

    Each row is one candidate with its score. Every run is a new release; epsilon and delta
    are what the whole list costs.

    \b
    Examples:
      discreet scores top-k demo:votes --label name --score votes -k 2 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet scores top-k demo:votes --label name --score votes -k 2 \\
          --epsilon 1 --delta 1e-6 --unknown-domain --limit 100
    """
    note_uncharged()
    command = typed.command
    require_picture_file(plot, command)
    taken = _UNKNOWN if unknown_domain else _KNOWN
    for name in _TOP_K:
        if name not in taken and name != "k" and typed.given(name):
            rule = f"left out {'with' if unknown_domain else 'without'} --unknown-domain"
            raise ParameterError(as_option(name), rule, typed.texts[name], owner=command)
    values = {name: value for name, value in typed.values().items() if name in taken or name == "k"}
    if unknown_domain and "delta" not in values:
        hint = "Pure privacy cannot list names that come from the data; try 1e-6."
        raise ParameterError(
            "--delta", "given with --unknown-domain", Nothing(), hint, owner=command
        )
    k, limit = values["k"], values.pop("limit", None)
    defaults = {name: each.default for name, each in taken.items() if name != "limit"}
    of_list = defaults | values
    # public mistakes are named before the data is touched
    with working("Looking for the largest epsilon of each pick"), typed.in_these_words():
        if unknown_domain:
            # counts of people: docs/proofs/unknown-domain.md
            request = ListRequest(**of_list, sensitivity=1, monotonic=True)
            release_of: Callable[..., Release] = make_unknown(request, limit).release
        else:
            release_of = ListRequest(**of_list).make().release
    candidates = read_scores(file, label=label, score=score, command=command, option="FILE")
    with working("Drawing the list"), typed.in_these_words():
        release = release_of(candidates)
    panel = list_panel(release, k, known=not unknown_domain)
    show_answer(release, command, panel=panel, plot=plot, title=f"Top {k}", as_json=as_json)


@scores.command("probabilities")
@stated_command(
    f"{_GROUP} probabilities",
    MECHANISM
    | {
        "mechanism": replace(
            MECHANISM["mechanism"],
            kind=Choice(words=(*MECHANISM["mechanism"].kind.words, _ALL), metavar="NAME"),  # type: ignore[attr-defined]
        )
    },
)
def probabilities(
    typed: Typed,
    scores: FileOrScores,
    label: LabelOption = None,
    score: ScoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how likely each candidate is, for made-up scores.

    Use it to learn what an epsilon means before any data is touched; public scores will
    do as well. For real data the output is itself private and must not be published.

    \b
    Examples:
      discreet scores probabilities terrier=41 husky=38 corgi=12 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet scores probabilities terrier=41 husky=38 corgi=12 \\
          --epsilon 1 --sensitivity 1 --monotonic --mechanism all
    """
    name = typed.texts["mechanism"]
    mechanisms = [
        mechanism_of(replace(typed, parts={**typed.parts, "mechanism": each}))
        for each in (_COMPARED if name == _ALL else (name,))
    ]
    candidates = _file_or_typed(scores, label, score, typed.command)
    logs = [each.log_probabilities(candidates) for each in mechanisms]
    if as_json:
        print_json(_as_json(list(candidates), mechanisms, logs))
    else:
        console = terminal()
        console.print(distribution_table(candidates, mechanisms, logs))
        console.print(_REMINDER, style="yellow")


def _file_or_typed(
    typed: list[str], label: str | None, score: str | None, command: str
) -> dict[Label, Score]:
    """The scores of a file, or those that were typed."""
    if len(typed) > 1 or ("=" in typed[0] and label is None and score is None):
        for option, given in (("--label", label), ("--score", score)):
            if given is not None:
                raise ParameterError(
                    option, "left out where scores are typed", given, owner=command
                )
        return typed_scores(typed, command)
    if label is None or score is None:
        missing = "--label" if label is None else "--score"
        raise ParameterError(missing, "given with a file of scores", Nothing(), owner=command)
    return read_scores(typed[0], label=label, score=score, command=command)


def typed_scores(pairs: Sequence[str], command: str) -> dict[Label, Score]:
    """Read scores that were typed as NAME=SCORE. An error repeats nothing of them: they
    may be real scores.
    """
    whose = f"The NAME=SCORE arguments of {command}"
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
    mechanisms: Sequence[SelectionMechanism],
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
    labels: list[Label],
    mechanisms: Sequence[SelectionMechanism],
    logs: Sequence[NDArray[np.float64]],
) -> str:
    distributions: list[dict[str, Any]] = [
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
