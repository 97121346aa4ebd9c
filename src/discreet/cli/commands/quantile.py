"""`discreet quantile` and `discreet quantiles`: one quantile, or many for one price."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from discreet import Release
from discreet.cli.ask import TypedQuestion
from discreet.cli.options import (
    ExactNumber,
    as_typed,
    count_option,
    number_option,
    numbers_option,
    positive_option,
)
from discreet.cli.plot_option import AnswerPlotFile, draw_quantiles
from discreet.cli.show import quantiles_panel
from discreet.cli.table_command import table_command
from discreet.cli.table_options import Delta, RowsPerPerson, RuleOption
from discreet.words import QUANTILE_METHODS

BoundsOption = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH",
        help="The ends of the grid, public; values outside count as the nearest end.",
    ),
]
StepOption = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="The distance of the points of the grid.")
]
PointsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="In place of --bounds and --step: public points, ascending, such as 0,10,50,200.",
    ),
]

QuantilesPlotFile = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw the quantiles into a file: .png, .svg, .pdf. The answers only.",
    ),
]


@table_command("discreet quantile", plot=AnswerPlotFile)
def quantile(
    question: TypedQuestion,
    q: Annotated[
        str,
        typer.Option(
            "--q", metavar="SHARE", help="The share of persons below the answer: 0.5 is the median."
        ),
    ],
    bounds: BoundsOption = None,
    step: StepOption = None,
    points: PointsOption = None,
    rule: RuleOption = None,
    rows_per_person: RowsPerPerson = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="NAME",
            help=(
                "One of permute-and-flip, exponential; left out, what suits the budget: the first "
                "where epsilons add up, the second where squares do."
            ),
        ),
    ] = None,
) -> None:
    """Pick the median or another quantile, privately.

    The answer is the point of a public grid below which about a share of all persons
    lie. Each row is a number about one person. Every run is a new release and costs its
    own epsilon, unless a ledger has its answer.

    \b
    Examples:
      discreet quantile visits.csv --column age --person patient \\
          --rule max --q 0.5 --bounds 0,120 --step 1 --epsilon 1
      discreet quantile visits.csv --column minutes --person patient \\
          --rows-per-person 3 --q 0.9 --bounds 0,120 --step 5 \\
          --epsilon 1 --where "ward = 'B'"
    """
    share = number_option(q, "--q", question.command)
    grid = read_grid(bounds, step, points, question.command)
    rows = read_rows_per_person(rows_per_person, question.command)
    question.ask_and_show(
        lambda asked: asked.session.quantile(
            asked.column,
            q=share,
            rows_per_person=rows,
            **grid,
            **as_typed(rule=rule, mechanism=mechanism),
            **asked.options,
        ),
        title=f"The {q} quantile of {question.column}",
    )


def read_grid(
    bounds: str | None, step: str | None, points: str | None, command: str
) -> dict[str, Any]:
    """Read the grid or the points, as a session's arguments."""
    read: dict[str, Any] = {}
    if bounds is not None:
        read["bounds"] = read_bounds(bounds, command)
    if step is not None:
        read["step"] = positive_option(step, "--step", command)
    if points is not None:
        rule = "ascending numbers with commas between them, such as 0,10,50,200"
        read["points"] = numbers_option(points, "--points", command, rule)
    return read


def read_rows_per_person(text: str | None, command: str) -> int | None:
    """Read how many rows of each person count; None if that was left out."""
    return (
        None if text is None else count_option(text, "--rows-per-person", command, most=MOST_ROWS)
    )


MOST_ROWS = 1_000_000
"""The largest number of rows of one person that can count."""


def read_bounds(text: str, command: str) -> tuple[ExactNumber, ExactNumber]:
    """Read two numbers with a comma between them."""
    rule = "two numbers, the lower one first, such as 0,120"
    low, high = numbers_option(text, "--bounds", command, rule, exactly=2)
    return low, high


@table_command("discreet quantiles", delta=Delta, plot=QuantilesPlotFile)
def quantiles(
    question: TypedQuestion,
    q: Annotated[
        str,
        typer.Option("--q", metavar="SHARES", help="The shares, ascending: 0.25,0.5,0.75, say."),
    ],
    bounds: BoundsOption = None,
    step: StepOption = None,
    points: PointsOption = None,
    rule: RuleOption = None,
    rows_per_person: RowsPerPerson = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=(
                f"One of {', '.join(QUANTILE_METHODS)}; auto is recursive. Not joint where many "
                "persons have the same value."
            ),
        ),
    ] = "auto",
) -> None:
    """Pick several quantiles at once, privately, in ascending order.

    All of them together cost the epsilon and delta of this run. Each row is a number
    about one person.

    \b
    Example:
      discreet quantiles visits.csv --column age --person patient \\
          --rule max --q 0.1,0.25,0.5,0.75,0.9 --bounds 0,120 --step 1 \\
          --epsilon 1
    """
    rule_of_q = "shares with commas between them, such as 0.25,0.5,0.75"
    shares = numbers_option(q, "--q", question.command, rule_of_q)
    rows = read_rows_per_person(rows_per_person, question.command)
    grid = read_grid(bounds, step, points, question.command)

    def draw(file: str, release: Release, title: str, command: str) -> None:
        draw_quantiles(file, release, [float(share) for share in shares], title, command)

    question.ask_and_show(
        lambda asked: asked.session.quantiles(
            asked.column,
            q=shares,
            rows_per_person=rows,
            **grid,
            **as_typed(rule=rule, method=method),
            **asked.options,
        ),
        title=f"Quantiles of {question.column}",
        panel=partial(quantiles_panel, shares=[part.strip() for part in q.split(",")]),
        draw=draw,
    )
