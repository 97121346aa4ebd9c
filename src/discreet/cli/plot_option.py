"""The option `--plot FILE`: the file is checked before anything is computed, and the
picture is drawn into it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from discreet import ApproxDP, BoundedRange, Loss, ParameterError, Release
from discreet.cli.options import require_writable, unwritable, write_new
from discreet.cli.terminal import label_text
from discreet.plots.figures import (
    FIGURE_FORMATS,
    quantiles_figure,
    require_matplotlib,
    save,
    spending_figure,
)
from discreet.plots.queries import queries_figure
from discreet.plots.ranking import answer_figure, ranking_figure
from discreet.rendering.picture import PICTURE_FORMATS, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.auditing import AuditReport

_NAMES = ", ".join(FIGURE_FORMATS)

PlotFile = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help=f"Draw how many queries each analysis allows, into a file: {_NAMES}.",
    ),
]
ListPlotFile = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help=(f"Draw the list into a file: {_NAMES}. Scores are private and never drawn."),
    ),
]
AnswerPlotFile = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help=(f"Draw the answer into a file: {_NAMES}. Scores are private and never drawn."),
    ),
]


PictureFile = Annotated[
    str | None,
    typer.Option(
        "--plot", metavar="FILE", help=f"Draw it into a file: {', '.join(PICTURE_FORMATS)}."
    ),
]


ModelPlotFile = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help=f"Draw the model into a file: {', '.join(PICTURE_FORMATS)}.",
    ),
]


def require_file(file: str, command: str) -> None:
    """Refuse a file that Matplotlib cannot draw into, or a missing Matplotlib."""
    _require_name(file, FIGURE_FORMATS, command)
    require_matplotlib()


def require_picture_file(file: str, command: str) -> None:
    """Refuse a file that a `Picture` cannot be written to."""
    _require_name(file, PICTURE_FORMATS, command)


def require_model_file(file: str, command: str) -> None:
    """Refuse a file that a model cannot be drawn into, before the model is paid for."""
    require_picture_file(file, command)
    if not file.lower().endswith(".svg"):
        require_matplotlib()


def _require_name(file: str, formats: Sequence[str], command: str) -> None:
    if os.path.splitext(file)[1].lower() not in formats:
        rule = f"a file whose name ends in one of {', '.join(formats)}"
        raise ParameterError("--plot", rule, file, owner=command)
    require_writable(file, "--plot", command)


def require_picture(file: str, kind: type[Loss], budget: Loss, command: str) -> None:
    """Refuse a picture of the analyses if there is nothing to compare, or no file to write."""
    require_file(file, command)
    if kind is not BoundedRange:
        raise ParameterError(
            "--plot",
            "given only with bounded range, which it compares",
            file,
            owner=command,
        )
    if not isinstance(budget, ApproxDP):
        raise ParameterError(
            "--plot", "given with an --epsilon and a --delta greater than 0", file, owner=command
        )


def draw_picture(file: str, budget: Loss, epsilon: Fraction, queries: int, command: str) -> None:
    """Draw how many queries each analysis allows, with a mark at those asked for."""
    assert isinstance(budget, ApproxDP)
    write_figure(queries_figure(budget, marked=(epsilon, queries)), file, command)


def draw_list(file: str, release: Release, k: int, command: str) -> None:
    """Draw a released list, which has k names at most."""
    write_figure(ranking_figure(release, k=k), file, command)


def draw_answer(file: str, release: Release, title: str, command: str) -> None:
    """Draw one released answer."""
    write_figure(answer_figure(release, title=title), file, command)


def draw_quantiles(
    file: str, release: Release, shares: Sequence[float], title: str, command: str
) -> None:
    """Draw released quantiles."""
    write_figure(quantiles_figure(release, shares, title=title), file, command)


def draw_model(file: str, release: Release, title: str, command: str) -> None:
    """Draw a released model."""
    write_picture(file, release.plot(title=title), command)


def draw_spending(
    file: str,
    charges: Sequence[tuple[datetime, Fraction, bool]],
    limit: Fraction,
    unit: str,
    title: str,
    command: str,
) -> None:
    """Draw what was spent of a budget, over time."""
    write_figure(spending_figure(charges, limit=limit, unit=unit, title=title), file, command)


def draw_audit(file: str, report: AuditReport, command: str) -> None:
    """Draw the loss of each answer that an audit saw."""
    write_figure(report.plot(), file, command)


def say_where(console: Console, file: str) -> None:
    """Say which file has the picture."""
    text = Text("The picture is in ") + label_text(file)
    console.print(text, style="dim", soft_wrap=True)


def write_figure(figure: Figure, file: str, command: str) -> None:
    """Write a figure to a file, or refuse a file that cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / f"picture{os.path.splitext(file)[1]}"
        try:
            save(figure, str(drawn))
        except OSError:
            raise unwritable(file, "--plot", command) from None
        write_new(file, drawn.read_bytes(), "--plot", command)


def write_picture(file: str, picture: Picture, command: str) -> None:
    """Write a picture to a file, or refuse a file that cannot be written."""
    is_png = file.lower().endswith(".png")
    write_new(file, picture.png() if is_png else picture.svg().encode(), "--plot", command)
