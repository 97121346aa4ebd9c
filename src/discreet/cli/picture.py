"""`--plot FILE`: whether the picture can be drawn, said before anything is computed, and the picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from discreet import ApproxDP, BoundedRange, Loss, ParameterError, Release
from discreet.plots.pictures import FORMATS, require_matplotlib, save
from discreet.plots.quantiles import quantiles_figure
from discreet.plots.queries import queries_figure
from discreet.plots.ranking import answer_figure, ranking_figure
from discreet.plots.spending import spending_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = ", ".join(FORMATS)

PlotFile = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE", help=f"Draw the queries that each analysis allows into a file: {_NAMES}."),
]
ListPlotFile = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help=f"Draw the list into a file: {_NAMES}. Ranks and names only; scores are private and never drawn.",
    ),
]
AnswerPlotFile = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help=f"Draw the answer into a file: {_NAMES}. The answer only; scores are private and never drawn.",
    ),
]


def require_file(file: str, command: str) -> None:
    """Refuse what cannot be written, or drawn at all."""
    if os.path.splitext(file)[1].lower() not in FORMATS:
        raise ParameterError(command, "--plot", f"a file whose name ends in one of {_NAMES}", file)
    folder = os.path.dirname(file) or os.curdir
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise _unwritable(file, command)
    require_matplotlib()


def require_picture(file: str, kind: type[Loss], budget: Loss, command: str) -> None:
    """Refuse a picture of the analyses where there is nothing to compare, or no file to write."""
    require_file(file, command)
    if kind is not BoundedRange:
        raise ParameterError(command, "--plot", "given for bounded range only, because that is what it compares", file)
    if not isinstance(budget, ApproxDP):
        raise ParameterError(command, "--plot", "given with an --epsilon and a --delta greater than 0", file)


def draw_picture(file: str, budget: Loss, epsilon: Fraction, queries: int, command: str) -> None:
    """Draw the analyses for this budget, with a mark at what was asked for."""
    assert isinstance(budget, ApproxDP)
    _write(queries_figure(budget, marked=(epsilon, queries)), file, command)


def draw_list(file: str, release: Release, k: int, command: str) -> None:
    """Draw a list that was released, of k at most."""
    _write(ranking_figure(release, k=k), file, command)


def draw_answer(file: str, release: Release, title: str, command: str) -> None:
    """Draw the one answer that was released."""
    _write(answer_figure(release, title=title), file, command)


def draw_quantiles(file: str, release: Release, shares: Sequence[float], title: str, command: str) -> None:
    """Draw the quantiles that were released."""
    _write(quantiles_figure(release, shares, title=title), file, command)


def draw_spending(
    file: str, charges: Sequence[tuple[datetime, Fraction, bool]], limit: Fraction, unit: str, title: str, command: str
) -> None:
    """Draw what was spent of a budget, over time."""
    _write(spending_figure(charges, limit=limit, unit=unit, title=title), file, command)


def say_where(console: Console, file: str) -> None:
    """Tell where the picture is."""
    console.print(f"The picture is in {file}", style="dim", markup=False, soft_wrap=True)


def _write(figure: Figure, file: str, command: str) -> None:
    try:
        save(figure, file)
    except OSError:
        raise _unwritable(file, command) from None


def _unwritable(file: str, command: str) -> ParameterError:
    return ParameterError(command, "--plot", "a file that you may write, in a folder that exists", file)
