"""`discreet top-k`: pick the best-scoring candidates of a file, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from discreet import ParameterError, Release, UnknownDomainTopK
from discreet.cli.numbers import count_option
from discreet.cli.panel import list_panel
from discreet.cli.picture import ListPlotFile, draw_list, require_file, say_where
from discreet.cli.request import (
    Acknowledge,
    AsJson,
    DataFile,
    Epsilon,
    LabelColumn,
    Monotonic,
    Nothing,
    Objective,
    Request,
    ScoreColumn,
    ScoreRange,
    Sensitivity,
    as_option,
)
from discreet.cli.table import read_scores
from discreet.cli.terminal import print_json, terminal, working
from discreet.selecting import METHODS, make_top_k

_COMMAND = "discreet top-k"
_MOST = 1_000_000  # more would take minutes
_COUNTED = "The scores are then numbers of persons: each moves a score by at most 1."
_REFUSED = {
    "sensitivity": _COUNTED,
    "monotonic": _COUNTED,
    "score_range": _COUNTED,
    "method": "There is one way only.",
    "objective": "The most frequent items are the best.",
}  # with --unknown-domain, and why
_REQUIRED = {
    "delta": "Naming what only the data know is not possible with pure privacy; try 1e-6.",
    "limit": "Ten times k is a good start.",
}  # with --unknown-domain, and a hint


def top_k(
    context: typer.Context,
    file: DataFile,
    label: LabelColumn,
    score: ScoreColumn,
    k: Annotated[str, typer.Option("-k", metavar="COUNT", help="How many candidates to pick.")],
    epsilon: Epsilon,
    delta: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="A small one, such as 1e-6, makes lists of more than five much better."),
    ] = None,
    sensitivity: Sensitivity = None,
    monotonic: Monotonic = False,
    score_range: ScoreRange = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(METHODS)}; auto takes what is best for this k and delta.")
    ] = "auto",
    objective: Objective = "max",
    unknown_domain: Annotated[
        bool,
        typer.Option(
            "--unknown-domain",
            help="The candidates come from the data themselves and the scores are numbers of persons. The list may then "
            "be shorter.",
        ),
    ] = False,
    limit: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="With --unknown-domain: how many of the most frequent take part, say ten times k."),
    ] = None,
    items_per_person: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="With --unknown-domain: the most that one person can have, if there is a bound."),
    ] = None,
    acknowledge: Acknowledge = None,
    plot: ListPlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Pick the best candidates of a file, in order, privately.

    Each row is one candidate with its score. The candidates must be public, unless you say --unknown-domain. Every run is a
    new release; epsilon and delta are what the whole list costs.

    \b
    Examples:
      discreet top-k votes.csv --label name --score votes -k 2 \\
          --epsilon 1 --sensitivity 1 --monotonic
      discreet top-k searches.csv --label word --score persons -k 10 \\
          --epsilon 1 --delta 1e-6 --unknown-domain --limit 100
    """
    _require_options(context, unknown_domain)
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
    counts = {
        name: count_option(text, as_option(name), _COMMAND, most=most)
        for name, text, most in (("k", k, _MOST), ("limit", limit, _MOST), ("items_per_person", items_per_person, None))
        if text is not None
    }
    if plot is not None:
        require_file(plot, _COMMAND)
    with working("Looking for the largest epsilon of each pick"):
        release_of = _release_of(request, counts, None if unknown_domain else method)
    scores = read_scores(file, label=label, score=score, command=_COMMAND)
    with working("Drawing the list"), request.in_these_words():
        release = release_of(scores)
    # What was paid for is shown before anything else can go wrong.
    console = terminal()
    if as_json:
        print_json(release.to_json())
    else:
        console.print(list_panel(release, counts["k"], console.width, known=not unknown_domain))
    if plot is not None:
        draw_list(plot, release, counts["k"], _COMMAND)
        if not as_json:
            say_where(console, plot)


def _require_options(context: typer.Context, unknown_domain: bool) -> None:
    """Refuse options that do not go together, and name those that are missing."""
    typed = {
        name: value
        for name, value in context.params.items()
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    }
    if not unknown_domain:
        for name in ("limit", "items_per_person"):
            if name in typed:
                raise ParameterError(_COMMAND, as_option(name), "given only with --unknown-domain", typed[name])
        return
    for name, reason in _REFUSED.items():
        if name in typed:
            raise ParameterError(_COMMAND, as_option(name), "left out with --unknown-domain", typed[name], reason)
    for name, hint in _REQUIRED.items():
        if name not in typed:
            raise ParameterError(_COMMAND, as_option(name), "given with --unknown-domain", Nothing(), hint)


def _release_of(request: Request, counts: dict[str, int], method: str | None) -> Callable[..., Release]:
    """What makes a release of scores, or of counts if there is no method; public mistakes are named here, before any data."""
    if method is None:
        return request.made(UnknownDomainTopK, **counts).release
    made = request.made(make_top_k, method=method, monotonic=request.monotonic, objective=request.objective, **counts)
    return made.release
