"""`discreet top-k`: the values that most persons of a table have, or the best-scoring candidates of a file, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from discreet import ParameterError, Release, UnknownDomainTopK
from discreet.cli.candidates import CandidatesOrNone, as_the_column, read_candidates
from discreet.cli.engine import Encoding, Engine, FileOptions, Multiline, Separator, TableName
from discreet.cli.numbers import count_option
from discreet.cli.panel import list_panel
from discreet.cli.picture import ListPlotFile, draw_list, require_file, say_where
from discreet.cli.question import (
    Analyst,
    AnchorFile,
    Asked,
    Dataset,
    EachRow,
    LedgerUrl,
    PersonColumn,
    Question,
    Split,
    Where,
    Window,
)
from discreet.cli.request import (
    Acknowledge,
    AsJson,
    Epsilon,
    Monotonic,
    Nothing,
    Objective,
    Request,
    ScoreRange,
    Sensitivity,
    as_option,
)
from discreet.cli.table import read_scores
from discreet.cli.terminal import note_uncharged, print_json, terminal, working
from discreet.selecting import METHODS, make_top_k

_COMMAND = "discreet top-k"
_MOST = 1_000_000  # more would take minutes
_COUNTED = "The scores are then numbers of persons: each moves a score by at most 1."
_ONE_WAY = "There is one way only."
_MOST_IS_BEST = "The most frequent items are the best."
_OF_SCORES = "It belongs to a file of scores, with --label and --score."
_OF_TABLES = "It belongs to a table of persons, with --column."
_FREQUENT = {"method": _ONE_WAY, "objective": _MOST_IS_BEST}
_REFUSED = {name: _COUNTED for name in ("sensitivity", "monotonic", "score_range")} | _FREQUENT
"""What is left out with --unknown-domain, and why."""
_REFUSED_FOR_TABLES = (
    {name: _OF_SCORES for name in ("label", "score")}
    | {name: _COUNTED for name in ("sensitivity", "monotonic", "score_range")}
    | {"objective": _MOST_IS_BEST, "acknowledge": _OF_SCORES}
)
"""What is left out with --column, and why."""
_UNKNOWN_ONLY = {"limit": "", "unknown_domain": "They are known then.", "items_per_person": "It is no help there."}
"""What is left out with --candidates, and why."""
_TABLE_ONLY = (
    *("person", "one_row", "candidates", "where", "engine", "table_name"),
    *("separator", "encoding", "multiline", "split"),
    *("ledger", "dataset", "analyst", "window", "anchor_file"),
)
_REQUIRED = {
    "delta": "Naming what only the data know is not possible with pure privacy; try 1e-6.",
    "limit": "Ten times k is a good start.",
}
"""What is needed where the candidates are unknown, and a hint."""


def top_k(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV, Parquet or JSON lines; a pattern; or - for CSV from standard input.")
    ],
    k: Annotated[str, typer.Option("-k", metavar="COUNT", help="How many candidates to pick.")],
    epsilon: Epsilon,
    column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A table of persons: the column whose most frequent values to pick.")
    ] = None,
    person: PersonColumn = None,
    one_row: EachRow = False,
    candidates: CandidatesOrNone = None,
    delta: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="A small one, such as 1e-6, makes lists of more than five much better."),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help="Without public candidates: how many of the most frequent take part, say ten times k. The list may be shorter.",
        ),
    ] = None,
    where: Where = None,
    split: Split = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(METHODS)}; auto takes what is best for this k and delta.")
    ] = "auto",
    engine: Engine = "duckdb",
    table_name: TableName = None,
    separator: Separator = None,
    encoding: Encoding = None,
    multiline: Multiline = False,
    ledger: LedgerUrl = None,
    dataset: Dataset = None,
    analyst: Analyst = None,
    window: Window = None,
    anchor_file: AnchorFile = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A file of scores: the column with the candidates' names.")
    ] = None,
    score: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A file of scores: the column with the candidates' scores.")
    ] = None,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRange = None,
    objective: Objective = "max",
    unknown_domain: Annotated[
        bool,
        typer.Option(
            "--unknown-domain",
            help="The candidates come from the data themselves; the scores in a file of scores are then numbers of persons.",
        ),
    ] = False,
    items_per_person: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help="Without public candidates: so many different values of one person count, drawn at random; a file of scores "
            "must keep to it already. A small number lowers the threshold a little.",
        ),
    ] = None,
    acknowledge: Acknowledge = None,
    plot: ListPlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Pick the most frequent values, in order, privately.

    Either TABLE is a table of persons, with --column, where a person counts once for each value; or it is a file of scores,
    with --label and --score and one candidate on each row. Candidates must be public, unless you give --delta and --limit.
    Every run is a new release; epsilon and delta are what the whole list costs.

    \b
    Examples:
      discreet top-k reads.csv --column article --person reader -k 10 \\
          --epsilon 1 --candidates articles.txt
      discreet top-k reads.csv --column article --person reader -k 10 \\
          --epsilon 1 --delta 1e-6 --limit 1000 --where "region = 'Berlin'"
      discreet top-k searches.csv --column word --person user -k 10 \\
          --epsilon 1 --delta 1e-6 --limit 100 --items-per-person 20
      discreet top-k votes.csv --label name --score votes -k 2 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet top-k searches.csv --label word --score persons -k 10 \\
          --epsilon 1 --delta 1e-6 --unknown-domain --limit 100
    """
    of_table = column is not None
    known = not unknown_domain if not of_table else candidates is not None
    _require_options(context, of_table=of_table, known=known)
    counts = {
        name: count_option(text, as_option(name), _COMMAND, most=most)
        for name, text, most in (("k", k, _MOST), ("limit", limit, _MOST), ("items_per_person", items_per_person, None))
        if text is not None
    }
    if plot is not None:
        require_file(plot, _COMMAND)
    about, who = None, "person"
    if column is not None:
        question = Question(
            command=_COMMAND,
            table=file,
            column=column,
            person=person,
            one_row=one_row,
            epsilon=epsilon,
            delta=delta,
            where=where,
            engine=engine,
            table_name=table_name,
            options=FileOptions(separator=separator, encoding=encoding, multiline=multiline),
            ledger=ledger,
            dataset=dataset,
            analyst=analyst,
            window=window,
            anchor_file=anchor_file,
            quiet=as_json,
        )
        release = _ask_table(question, counts, candidates, method, split)
        about, who = [*question.facts(), *_counted(counts, person)], question.who
    else:
        request = Request(
            command=_COMMAND,
            epsilon=epsilon,
            delta=delta,
            sensitivity=sensitivity,
            monotonic=monotonic,
            score_range=score_range,
            objective=objective,
            acknowledge=acknowledge,
        )
        assert label is not None
        assert score is not None
        release = _ask_scores(request, file, label, score, counts, method if known else None)
    # What was paid for is shown before anything else can go wrong.
    console = terminal()
    if as_json:
        print_json(release.to_json())
    else:
        console.print(list_panel(release, counts["k"], console.width, known=known, about=about or (), who=who))
    if plot is not None:
        draw_list(plot, release, counts["k"], _COMMAND)
        if not as_json:
            say_where(console, plot)


def _require_options(context: typer.Context, *, of_table: bool, known: bool) -> None:
    """Refuse options that do not go together, and name those that are missing."""
    typed = {
        name: value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    }
    if of_table:
        _refuse(typed, _REFUSED_FOR_TABLES, "left out with --column")
        if known:
            _refuse(typed, _UNKNOWN_ONLY, "left out with --candidates")
        else:
            _refuse(typed, {"method": _ONE_WAY}, "left out without --candidates")
            _require(typed, "given without --candidates")
        return
    _refuse(typed, dict.fromkeys(_TABLE_ONLY, _OF_TABLES), "left out without --column")
    for name, other in (("label", "score"), ("score", "label")):
        if name not in typed:
            if other not in typed:
                raise ParameterError(_COMMAND, "--column", "given, or --label and --score", Nothing())
            raise ParameterError(_COMMAND, as_option(name), f"given with {as_option(other)}", Nothing())
    if known:
        _refuse(typed, {"limit": "", "items_per_person": ""}, "given only with --unknown-domain")
    else:
        _refuse(typed, _REFUSED, "left out with --unknown-domain")
        _require(typed, "given with --unknown-domain")


def _refuse(typed: dict[str, object], refused: dict[str, str], rule: str) -> None:
    for name, reason in refused.items():
        if name in typed:
            option = "--table" if name == "table_name" else as_option(name)
            raise ParameterError(_COMMAND, option, rule, typed[name], reason)


def _require(typed: dict[str, object], rule: str) -> None:
    for name, hint in _REQUIRED.items():
        if name not in typed:
            raise ParameterError(_COMMAND, as_option(name), rule, Nothing(), hint)


def _ask_table(question: Question, counts: dict[str, int], candidates: str | None, method: str, split: str | None) -> Release:
    """The list from a table of persons."""
    typed = counts | {"split": split} | ({} if candidates is None else {"candidates": candidates, "method": method})
    labels = None if candidates is None else read_candidates(candidates, _COMMAND)

    def ask(asked: Asked) -> Release:
        options: dict[str, Any] = counts | asked.options | {"split": split}
        if labels is not None:
            options |= {"candidates": as_the_column(labels, asked.kind, candidates or "", _COMMAND), "method": method}
        return asked.session.top_k(question.column, **options)

    return question.ask(ask, **typed)


def _counted(counts: dict[str, int], person: str | None) -> list[tuple[str, str]]:
    """Whether a part of each person counts only, for people to read."""
    if person is None or "items_per_person" not in counts:
        return []
    most = counts["items_per_person"]
    return [("counted", f"{most:,} value{'' if most == 1 else 's'} of each {person} at most, drawn at random")]


def _ask_scores(request: Request, file: str, label: str, score: str, counts: dict[str, int], method: str | None) -> Release:
    """The list from a file of scores; of counts if there is no method."""
    note_uncharged()
    with working("Looking for the largest epsilon of each pick"):
        release_of = _release_of(request, counts, method)
    scores = read_scores(file, label=label, score=score, command=_COMMAND, option="TABLE")
    with working("Drawing the list"), request.in_these_words():
        return release_of(scores)


def _release_of(request: Request, counts: dict[str, int], method: str | None) -> Callable[..., Release]:
    """What makes a release of scores, or of counts if there is no method; public mistakes are named here, before any data."""
    if method is None:
        return request.made(UnknownDomainTopK, **counts).release
    made = request.made(make_top_k, method=method, monotonic=request.monotonic, objective=request.objective, **counts)
    return made.release
