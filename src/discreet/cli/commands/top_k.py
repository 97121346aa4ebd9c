"""`discreet top-k`: the values that most persons of a table have, or the best-scoring
candidates of a file, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.panel import Panel

from discreet import ParameterError, Release
from discreet.cli.ask import OpenSession, TypedQuestion
from discreet.cli.candidates import CandidatesOrNone, as_the_column, typed_candidates
from discreet.cli.options import (
    Acknowledge,
    Monotonic,
    Nothing,
    ObjectiveOption,
    ScoreRangeOption,
    Sensitivity,
    TypedMechanism,
    WithCounts,
    as_option,
    count_option,
    parse_number,
)
from discreet.cli.plot_option import ListPlotFile, draw_list, require_file
from discreet.cli.scores_file import read_scores
from discreet.cli.show import Fact, list_panel
from discreet.cli.table_command import By, GroupsOption, TypedGroups, table_command
from discreet.cli.table_options import Split
from discreet.cli.terminal import note_uncharged, terminal, working
from discreet.literals import TOP_K_METHODS
from discreet.mechanisms.count_lists import ListRequest, make_unknown
from discreet.questions import TopK

_COMMAND = "discreet top-k"
# more would take minutes
_MOST = 1_000_000
_PERSONS = "The scores are then numbers of people."
_COUNTED = "The scores are then numbers of people: each moves a score by at most 1."
_ONE_WAY = "There is only one."
_MOST_IS_BEST = "The most frequent items are the best ones."
_OF_SCORES = "It is for a file of scores, with --label and --score."
_OF_TABLES = "It is for a table about people, with --column."
_FREQUENT = {"method": _ONE_WAY, "objective": _MOST_IS_BEST}
_REFUSED = {name: _COUNTED for name in ("sensitivity", "monotonic", "score_range")} | _FREQUENT
"""What is left out with --unknown-domain, and why."""
_REFUSED_FOR_TABLES = (
    {name: _OF_SCORES for name in ("label", "score")}
    | {name: _COUNTED for name in ("sensitivity", "monotonic", "score_range")}
    | {"objective": _MOST_IS_BEST, "acknowledge": _OF_SCORES}
)
"""What is left out with --column, and why."""
_UNKNOWN_ONLY = {
    "limit": "",
    "unknown_domain": "With --candidates, they are known.",
}
"""What is left out with --candidates, and why."""
_TABLE_ONLY = (
    *("person", "one_row", "candidates", "where", "engine", "table_name"),
    *("separator", "encoding", "multiline", "split", "by", "groups"),
    *("ledger", "dataset", "analyst", "window", "anchor_file", "fresh"),
)
_REQUIRED = {
    "delta": "Pure privacy cannot list names that come from the data; try 1e-6.",
    "limit": "Ten times k is a good start.",
}
"""What is needed where the candidates are unknown, and a hint."""


TableOrScores = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, Parquet or JSON lines; a pattern; or - for CSV from standard input.",
    ),
]
ColumnOrNone = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="For a table about people: the column whose most frequent values to pick.",
    ),
]
ListDelta = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="A small delta, such as 1e-6, makes lists of more than five much better.",
    ),
]


@table_command(
    "discreet top-k",
    optional=["column"],
    table=TableOrScores,
    column=ColumnOrNone,
    delta=ListDelta,
    plot=ListPlotFile,
)
def top_k(
    question: TypedQuestion,
    context: typer.Context,
    k: Annotated[str, typer.Option("-k", metavar="COUNT", help="How many candidates to pick.")],
    candidates: CandidatesOrNone = None,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help=(
                "Without public candidates: how many of the most frequent values take part, such "
                "as ten times k. The list may be shorter than k."
            ),
        ),
    ] = None,
    split: Split = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=(f"One of {', '.join(TOP_K_METHODS)}; auto takes the best one."),
        ),
    ] = "auto",
    with_counts: WithCounts = False,
    by: By = None,
    groups: GroupsOption = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="A file of scores: the column with the candidates' names."
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="A file of scores: the column with the candidates' scores."
        ),
    ] = None,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRangeOption = None,
    objective: ObjectiveOption = "max",
    unknown_domain: Annotated[
        bool,
        typer.Option(
            "--unknown-domain",
            help=(
                "The candidates come from the data themselves. The scores in a file are then "
                "numbers of people."
            ),
        ),
    ] = False,
    items_per_person: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help=(
                "How many different values of one person count, drawn at random; a file of scores "
                "must respect it already. A small number makes far better lists, with counts."
            ),
        ),
    ] = None,
    acknowledge: Acknowledge = None,
) -> None:
    """Pick the most frequent values, in order, privately.

    Either TABLE is a table of persons, with --column, where a person counts once for
    each value; or it is a file of scores, with --label and --score and one candidate on
    each row. Candidates must be public, unless you give --delta and --limit. Every run
    is a new release, unless a ledger has its answer; epsilon and delta are what the whole
    list costs.

    \b
    Examples:
      discreet top-k demo:reads --column article --person reader -k 10 \\
          --epsilon 1 --candidates demo:articles
      discreet top-k demo:reads --column article --person reader -k 10 \\
          --epsilon 1 --delta 1e-6 --limit 1000 --where "region = 'Berlin'"
      discreet top-k demo:reads --column article --person reader -k 3 \\
          --epsilon 1 --candidates demo:articles \\
          --by region --groups Berlin,London
      discreet top-k demo:reads --column article --person reader -k 10 \\
          --epsilon 1 --delta 1e-6 --limit 100 --items-per-person 20
      discreet top-k demo:votes --label name --score votes -k 2 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet top-k demo:votes --label name --score votes -k 2 \\
          --epsilon 1 --delta 1e-6 --unknown-domain --limit 100
    """
    of_table = question.column is not None
    known = not unknown_domain if not of_table else candidates is not None
    _require_options(context, of_table=of_table, known=known)
    counts = {
        name: count_option(text, as_option(name), _COMMAND, most=most)
        for name, text, most in (
            ("k", k, _MOST),
            ("limit", limit, _MOST),
            ("items_per_person", items_per_person, None),
        )
        if text is not None
    }

    def panel(release: Release, *, about: Sequence[Fact], who: str) -> Panel:
        said = [*about, *_counted(counts, question.person)] if of_table else ()
        told = who if of_table else "person"
        width = terminal().width
        return list_panel(release, counts["k"], width, known=known, about=said, who=told)

    def draw(file: str, release: Release, title: str, command: str) -> None:
        draw_list(file, release, counts["k"], command)

    if of_table:
        chosen = {} if candidates is None else {"method": method}
        each = TypedGroups.read(by, groups, question.plot, _COMMAND)
        options: dict[str, Any] = counts | {"split": split, "with_counts": with_counts} | chosen
        own = options | {"candidates": candidates, "by": by, "groups": groups}
        replace(question, own=own).ask_and_show(
            _asking(options, candidates, each), panel=each.panel(panel), draw=draw
        )
        return
    if question.plot is not None:
        require_file(question.plot, _COMMAND)
    if question.dry_run:
        rule = "left out where there is no --column"
        raise ParameterError("--dry-run", rule, True, owner=_COMMAND)
    request = TypedMechanism(
        command=_COMMAND,
        epsilon=question.epsilon,
        delta=question.delta,
        sensitivity=sensitivity,
        monotonic=monotonic,
        score_range=score_range,
        objective=objective,
        acknowledge=acknowledge,
    )
    assert label is not None
    assert score is not None
    wanted: dict[str, Any] = counts | {"with_counts": with_counts}
    release = _ask_scores(request, question.table, label, score, wanted, method if known else None)
    question.show(release, title="", panel=panel, draw=draw)


def _require_options(context: typer.Context, *, of_table: bool, known: bool) -> None:
    """Refuse options that do not go together, and name those that are missing."""
    typed = {
        name: value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) is not None
        and source.name == "COMMANDLINE"
    }
    if of_table:
        _refuse(typed, _REFUSED_FOR_TABLES, "left out with --column")
        if known:
            _refuse(typed, _UNKNOWN_ONLY, "left out with --candidates")
        else:
            _refuse(typed, {"method": _ONE_WAY}, "left out without --candidates")
            _require(typed, "given where there are no --candidates")
        return
    _refuse(typed, dict.fromkeys(_TABLE_ONLY, _OF_TABLES), "left out without --column")
    for name, other in (("label", "score"), ("score", "label")):
        if name not in typed:
            if other not in typed:
                raise ParameterError(
                    "--column", "given, or --label and --score", Nothing(), owner=_COMMAND
                )
            raise ParameterError(
                as_option(name), f"given with {as_option(other)}", Nothing(), owner=_COMMAND
            )
    if known:
        _refuse(typed, {"limit": ""}, "given only with --unknown-domain")
    else:
        _refuse(typed, _REFUSED, "left out with --unknown-domain")
        _require(typed, "given with --unknown-domain")


def _refuse(typed: dict[str, object], refused: dict[str, str], rule: str) -> None:
    for name, reason in refused.items():
        if name in typed:
            option = "--table" if name == "table_name" else as_option(name)
            raise ParameterError(option, rule, typed[name], reason, owner=_COMMAND)


def _require(typed: dict[str, object], rule: str) -> None:
    # --items-per-person can take the place of --limit
    bounded = {"limit"} if "items_per_person" in typed else set()
    for name, hint in _REQUIRED.items():
        if name not in typed.keys() | bounded:
            raise ParameterError(as_option(name), rule, Nothing(), hint, owner=_COMMAND)


def _asking(
    options: Mapping[str, Any], candidates: str | None, groups: TypedGroups
) -> Callable[[OpenSession], Release]:
    """The function that asks an open session for the list."""
    labels = None if candidates is None else typed_candidates(candidates, _COMMAND)

    def ask(asked: OpenSession) -> Release:
        told = {**options, **groups.options(asked), **asked.options}
        fresh = told.pop("fresh")
        if labels is not None and candidates is not None:
            told["candidates"] = as_the_column(labels, asked.kind, candidates, _COMMAND)
        return asked.session.ask(TopK(asked.column, **told), fresh=fresh)

    return ask


def _counted(counts: dict[str, int], person: str | None) -> list[tuple[str, str]]:
    """The fact that only some items of each person count, if that is so."""
    if person is None or "items_per_person" not in counts:
        return []
    most = counts["items_per_person"]
    return [
        (
            "counted",
            f"at most {most:,} value{'' if most == 1 else 's'} per {person}, drawn at random",
        )
    ]


def _ask_scores(
    request: TypedMechanism,
    file: str,
    label: str,
    score: str,
    counts: dict[str, Any],
    method: str | None,
) -> Release:
    """Ask for the list of a file of scores; without a method its domain is unknown."""
    note_uncharged()
    with working("Looking for the largest epsilon of each pick"):
        release_of = _release_of(request, counts, method)
    scores = read_scores(file, label=label, score=score, command=_COMMAND, option="TABLE")
    with working("Drawing the list"), request.in_these_words():
        return release_of(scores)


def _release_of(
    request: TypedMechanism, counts: dict[str, Any], method: str | None
) -> Callable[..., Release]:
    """The function from scores to a release; without a method the domain is unknown and
    the scores are counts. Mistakes in the options are named here, before any data are
    read.
    """
    wanted: dict[str, Any] = {"items_per_person": None} | counts
    limit = wanted.pop("limit", None)
    if method is None:
        # counts of persons: docs/proofs/unknown-domain.md
        of_persons = request.made(ListRequest, sensitivity=1, monotonic=True, **wanted)
        with request.in_these_words():
            return make_unknown(of_persons, limit).release
    said = request.sensitivity
    if wanted["items_per_person"] is not None and (said is None or parse_number(said) != 1):
        rule = "1 if --items-per-person is given"
        got = Nothing() if said is None else said
        raise ParameterError("--sensitivity", rule, got, _PERSONS, owner=_COMMAND)
    wanted |= {} if said is not None else {"sensitivity": None}
    of_scores = request.made(
        ListRequest,
        method=method,
        monotonic=request.monotonic,
        objective=request.objective,
        **wanted,
    )
    with request.in_these_words():
        return of_scores.make().release
