"""`discreet quantile`: the median and its like, on a public grid."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import typer

from discreet import ParameterError
from discreet.cli.answer import ask_and_show
from discreet.cli.engine import Encoding, Engine, FileOptions, Multiline, Separator, TableName, TablePath
from discreet.cli.numbers import count_option, number_option, parse_number, positive_option
from discreet.cli.picture import AnswerPlotFile
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

_COMMAND = "discreet quantile"

Bounds = Annotated[
    str, typer.Option(metavar="LOW,HIGH", help="The ends of the grid, public; values outside count as the nearest end.")
]
Step = Annotated[str, typer.Option(metavar="NUMBER", help="The distance of the points of the grid.")]


def quantile(
    table: TablePath,
    column: Column,
    q: Annotated[str, typer.Option("--q", metavar="SHARE", help="The share of persons below the answer: 0.5 is the median.")],
    bounds: Bounds,
    step: Step,
    epsilon: Epsilon,
    person: PersonColumn = None,
    one_row: EachRow = False,
    rule: Rule = None,
    rows_per_person: RowsPerPerson = None,
    where: Where = None,
    mechanism: Annotated[
        str, typer.Option("--mechanism", metavar="NAME", help="One of permute-and-flip, exponential.")
    ] = "permute-and-flip",
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
    plot: AnswerPlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Pick the median or another quantile, privately.

    The answer is the point of a public grid below which about a share of all persons lie. Each row is a number about one person.
    Every run is a new release and costs its own epsilon.

    \b
    Examples:
      discreet quantile visits.csv --column age --person patient \\
          --rule max --q 0.5 --bounds 0,120 --step 1 --epsilon 1
      discreet quantile visits.csv --column minutes --person patient \\
          --rows-per-person 3 --q 0.9 --bounds 0,120 --step 5 \\
          --epsilon 1 --where "ward = 'B'"
    """
    share, size = number_option(q, "--q", _COMMAND), positive_option(step, "--step", _COMMAND)
    ends = read_bounds(bounds, _COMMAND)
    rows = read_rows_per_person(rows_per_person, _COMMAND)
    question = Question(
        command=_COMMAND,
        table=table,
        column=column,
        person=person,
        one_row=one_row,
        epsilon=epsilon,
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
    ask_and_show(
        question,
        lambda asked: asked.session.quantile(
            column,
            q=share,
            bounds=ends,
            step=size,
            rule=rule,
            rows_per_person=rows,
            mechanism=mechanism,
            **asked.options,
        ),
        title=f"The {q} quantile of {column}",
        plot=plot,
        as_json=as_json,
        q=q,
        bounds=bounds,
        step=step,
        rule=rule,
        rows_per_person=rows_per_person,
        mechanism=mechanism,
    )


def read_rows_per_person(text: str | None, command: str) -> int | None:
    """How many rows of each person count, if that was said."""
    return None if text is None else count_option(text, "--rows-per-person", command, most=MOST_ROWS)


MOST_ROWS = 1_000_000
"""The largest number of rows of one person that can count."""


def read_bounds(text: str, command: str) -> tuple[int | Decimal | Fraction, int | Decimal | Fraction]:
    """Two numbers with a comma between them."""
    ends = [number for part in text.split(",") if (number := parse_number(part)) is not None]
    if len(ends) != 2 or text.count(",") != 1:
        raise ParameterError(command, "--bounds", "two numbers, the lower one first, such as 0,120", text)
    return ends[0], ends[1]
