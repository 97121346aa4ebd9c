"""`discreet quantiles`: many quantiles for one price."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet import ParameterError
from discreet.cli.engine import Encoding, Engine, FileOptions, Multiline, Separator, TableName, TablePath
from discreet.cli.numbers import parse_number, positive_option
from discreet.cli.panel import quantiles_panel
from discreet.cli.picture import draw_quantiles, require_file, say_where
from discreet.cli.quantile import Bounds, Step, read_bounds, read_rows_per_person
from discreet.cli.question import (
    Analyst,
    AnchorFile,
    Column,
    Dataset,
    EachRow,
    LedgerUrl,
    PersonColumn,
    Question,
    RowsPerPerson,
    Rule,
    Where,
    Window,
)
from discreet.cli.request import AsJson, Epsilon
from discreet.cli.terminal import print_json, terminal
from discreet.locating import METHODS

_COMMAND = "discreet quantiles"


def quantiles(
    table: TablePath,
    column: Column,
    q: Annotated[str, typer.Option("--q", metavar="SHARES", help="The shares, ascending: 0.25,0.5,0.75, say.")],
    bounds: Bounds,
    step: Step,
    epsilon: Epsilon,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="A small one, such as 1e-6, makes many quantiles better.")
    ] = None,
    person: PersonColumn = None,
    one_row: EachRow = False,
    rule: Rule = None,
    rows_per_person: RowsPerPerson = None,
    where: Where = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"One of {', '.join(METHODS)}; auto is recursive. Not joint where many persons have the same value.",
        ),
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
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw the quantiles into a file: .png, .svg, .pdf. The answers only."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Pick several quantiles at once, privately, in ascending order.

    All of them together cost the epsilon and delta of this run. Each row is a number about one person.

    \b
    Example:
      discreet quantiles visits.csv --column age --person patient \\
          --rule max --q 0.1,0.25,0.5,0.75,0.9 --bounds 0,120 --step 1 \\
          --epsilon 1
    """
    shares = [number for part in q.split(",") if (number := parse_number(part)) is not None]
    if len(shares) != q.count(",") + 1:
        raise ParameterError(_COMMAND, "--q", "shares with commas between them, such as 0.25,0.5,0.75", q)
    rows = read_rows_per_person(rows_per_person, _COMMAND)
    size, ends = positive_option(step, "--step", _COMMAND), read_bounds(bounds, _COMMAND)
    if plot is not None:
        require_file(plot, _COMMAND)
    question = Question(
        command=_COMMAND,
        table=table,
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
    release = question.ask(
        lambda asked: asked.session.quantiles(
            column,
            q=shares,
            bounds=ends,
            step=size,
            rule=rule,
            rows_per_person=rows,
            method=method,
            **asked.options,
        ),
        q=q,
        bounds=bounds,
        step=step,
        rule=rule,
        rows_per_person=rows_per_person,
        method=method,
    )
    # What was paid for is shown before anything else can go wrong.
    console = terminal()
    names = [part.strip() for part in q.split(",")]
    if as_json:
        print_json(release.to_json())
    else:
        console.print(quantiles_panel(release, names, about=question.facts(), who=question.who))
    if plot is not None:
        draw_quantiles(plot, release, [float(share) for share in shares], f"Quantiles of {column}", _COMMAND)
        if not as_json:
            say_where(console, plot)
