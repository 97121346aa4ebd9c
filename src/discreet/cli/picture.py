"""`--plot FILE`: whether the picture can be drawn, said before anything is computed, and the picture."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Annotated

import typer

from discreet import ApproxDP, BoundedRange, Loss, ParameterError
from discreet.plots.queries import FORMATS, queries_figure, require_matplotlib, save

_NAMES = ", ".join(FORMATS)

PlotFile = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE", help=f"Draw the queries that each analysis allows into a file: {_NAMES}."),
]


def require_picture(file: str, kind: type[Loss], budget: Loss, command: str) -> None:
    """Refuse what cannot be drawn, or written."""
    if os.path.splitext(file)[1].lower() not in FORMATS:
        raise ParameterError(command, "--plot", f"a file whose name ends in one of {_NAMES}", file)
    if kind is not BoundedRange:
        raise ParameterError(command, "--plot", "given for bounded range only, because that is what it compares", file)
    if not isinstance(budget, ApproxDP):
        raise ParameterError(command, "--plot", "given with an --epsilon and a --delta greater than 0", file)
    folder = os.path.dirname(file) or os.curdir
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise _unwritable(file, command)
    require_matplotlib()


def draw_picture(file: str, budget: Loss, epsilon: Fraction, queries: int, command: str) -> None:
    """Draw the analyses for this budget, with a mark at what was asked for."""
    assert isinstance(budget, ApproxDP)
    figure = queries_figure(budget, marked=(epsilon, queries))
    try:
        save(figure, file)
    except OSError:
        raise _unwritable(file, command) from None


def _unwritable(file: str, command: str) -> ParameterError:
    return ParameterError(command, "--plot", "a file that you may write, in a folder that exists", file)
