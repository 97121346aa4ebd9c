"""The option `--plot FILE`: the file is checked before anything is computed, and the
picture is drawn into it.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.text import Text

from discreet import ParameterError
from discreet.cli.options import require_writable, write_new
from discreet.cli.terminal import label_text, terminal
from discreet.rendering.picture import PICTURE_FORMATS, Picture, require_matplotlib


def plot_option(what: str) -> typer.models.OptionInfo:
    """The option of a picture. what: it draws, and perhaps a further sentence."""
    drawn, _, more = what.partition(". ")
    told = f"Draw {drawn} into a file: {', '.join(PICTURE_FORMATS)}.{f' {more}' if more else ''}"
    option: typer.models.OptionInfo = typer.Option("--plot", metavar="FILE", help=told)
    return option


AnswerPlotFile = Annotated[
    str | None, plot_option("the answer. Scores are private and never drawn.")
]


def require_picture_file(file: str | None, command: str) -> None:
    """Refuse a file that a picture cannot be written to, before the picture is paid for."""
    if file is None:
        return
    ending = os.path.splitext(file)[1].lower()
    if ending not in PICTURE_FORMATS:
        rule = f"a file whose name ends in one of {', '.join(PICTURE_FORMATS)}"
        raise ParameterError("--plot", rule, file, owner=command)
    require_writable(file, "--plot", command)
    if ending != ".svg":
        require_matplotlib()


def write_picture(file: str, picture: Picture, command: str, *, quiet: bool) -> None:
    """Write a picture to a file and say where it is, or refuse a file that cannot be written."""
    is_png = file.lower().endswith(".png")
    write_new(file, picture.png() if is_png else picture.svg().encode(), "--plot", command)
    if not quiet:
        text = Text("The picture is in ") + label_text(file)
        terminal().print(text, style="dim", soft_wrap=True)
