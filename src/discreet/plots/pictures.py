"""What all pictures share: a figure that nobody else sees, the file it goes to, and whether there is anything to draw with."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
"""The files that can be written, by how their names end."""

_DOTS_PER_INCH = 150


def require_matplotlib() -> None:
    """Say what to install if there is nothing to draw with."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("Plotting", "plot") from None


def blank_figure(width: float, height: float, **options: Any) -> Figure:
    """A white figure of this size in inches: no window, no pyplot, no state that others would see."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white", **options)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, file: str) -> None:
    """Write a picture in the format that the file's name ends in, one of `FORMATS`."""
    suffix = os.path.splitext(file)[1].lower()
    if suffix not in FORMATS:
        raise ParameterError("save", "file", f"a file whose name ends in one of {', '.join(FORMATS)}", file)
    nameless: dict[str, Any] = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with boxes_for_unknown_letters():
        figure.savefig(file, format=suffix[1:], dpi=_DOTS_PER_INCH, metadata=nameless[suffix])


@contextmanager
def boxes_for_unknown_letters() -> Iterator[None]:
    """Let a letter that no font has be drawn as a box, without a warning that would repeat it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield
