"""Pictures as lists of shapes, written as SVG, or as PNG with Matplotlib.

Colours are named by what they are for, so that a picture suits both a light and a dark
background. Every picture has a title and a description for those who cannot see it.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Literal, TypeAlias

from discreet.errors import MissingExtraError, ParameterError
from discreet.rendering.html import escaped, shown
from discreet.versions import require

Colour = Literal[
    "ink", "faint", "rule", "bar", "first", "second", "third", "fourth", "fifth", "sixth", "warning"
]
"""A colour, by what it is for."""

# The palette of Okabe and Ito, whose colours differ for every kind of colour vision.
LIGHT: dict[str, str] = {
    "paper": "#ffffff",
    "ink": "#1a1a1a",
    "faint": "#555555",
    "rule": "#dddddd",
    "bar": "#cfe3f1",
    "first": "#0072b2",
    "second": "#d55e00",
    "third": "#007a5a",
    "fourth": "#a2568a",
    "fifth": "#0093ab",
    "sixth": "#a87100",
    "warning": "#b00020",
}
"""The colours on a light background."""

DARK: dict[str, str] = {
    "paper": "#16181c",
    "ink": "#f0f0f0",
    "faint": "#b0b0b0",
    "rule": "#3a3d42",
    "bar": "#1f4561",
    "first": "#56b4e9",
    "second": "#f0a060",
    "third": "#3fc79a",
    "fourth": "#d9a0c4",
    "fifth": "#6fd3e3",
    "sixth": "#e8b84a",
    "warning": "#ff8a80",
}
"""The colours on a dark background."""


def _rules(colours: dict[str, str]) -> str:
    return "".join(f".discreet-{name}{{color:{value}}}" for name, value in colours.items())


STYLESHEET = f"{_rules(LIGHT)}@media (prefers-color-scheme:dark){{{_rules(DARK)}}}"
"""The colours of all pictures, for pages that bring their own style sheet."""

PICTURE_FORMATS = (".svg", ".png")
"""The endings of the files that a picture can be written to."""

_FONT = "system-ui, 'DejaVu Sans', sans-serif"
_POINTS_PER_PIXEL = 0.75
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: Colour = "bar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Straight lines that join points."""

    points: Sequence[tuple[float, float]]
    colour: Colour = "ink"
    width: float = 2.0
    dashes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A filled circle."""

    x: float
    y: float
    radius: float = 4.0
    colour: Colour = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A line of text; its start, middle or end is at a point of its base line."""

    x: float
    y: float
    text: str
    size: float = 14.0
    colour: Colour = "ink"
    side: Literal["start", "middle", "end"] = "start"
    bold: bool = False
    upright: bool = False
    """Whether it is written from bottom to top."""


Shape: TypeAlias = Box | Line | Dot | Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Shapes on paper, with a title and a description.

    A notebook shows the picture; `save` writes it to a file.

    >>> picture = Picture(
    ...     width=100,
    ...     height=40,
    ...     title="A <b>",
    ...     description="One bar.",
    ...     shapes=[Box(x=5, y=5, width=50, height=10)],
    ... )
    >>> "<title id=" in picture.svg() and "A &lt;b&gt;</title>" in picture.svg()
    True
    """

    width: float
    height: float
    title: str
    description: str
    # there are hundreds, which nobody wants to read
    shapes: Sequence[Shape] = field(repr=False)

    def svg(self, *, style: bool = True) -> str:
        """The picture as an SVG element, for a file of its own or for a page.

        style: False where the page brings `STYLESHEET` itself.
        """
        # ids must differ in a page with several pictures
        name = f"discreet-{next(_numbers)}"
        sheet = f"<style>{STYLESHEET}</style>" if style else ""
        drawn = "".join(map(_written, self.shapes))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="img" '
            f'aria-labelledby="{name}-title {name}-text" font-family="{_FONT}">'
            f'<title id="{name}-title">{escaped(self.title, 400)}</title>'
            f'<desc id="{name}-text">{escaped(self.description, 4000)}</desc>{sheet}'
            f'<rect class="discreet-paper" width="100%" height="100%" fill="currentColor"/>'
            f"{drawn}</svg>"
        )

    def png(self, *, dark: bool = False) -> bytes:
        """The picture as a PNG file of twice its size in pixels. Needs the extra 'plot'."""
        colours, scale = (DARK if dark else LIGHT), 100.0
        figure = _blank_figure(self.width / scale, self.height / scale, colours["paper"])
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        axes.axis("off")
        for shape in self.shapes:
            _draw(axes, shape, colours)
        file = BytesIO()
        with warnings.catch_warnings():
            # a letter that no font has is drawn as a box; the warning would show the label
            warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
            figure.savefig(file, format="png", dpi=2 * scale, metadata={"Software": None})
        return file.getvalue()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the picture to a file whose name ends in .svg or .png."""
        ending = os.path.splitext(file)[1].lower()
        if ending not in PICTURE_FORMATS:
            rule = f"a file whose name ends in one of {', '.join(PICTURE_FORMATS)}"
            raise ParameterError("file", rule, file, owner="Picture.save")
        content = self.png() if ending == ".png" else self.svg().encode()
        with open(file, "wb") as target:
            target.write(content)

    def _repr_svg_(self) -> str:
        return self.svg()


def _written(shape: Shape) -> str:
    colour = f'class="discreet-{shape.colour}"'
    match shape:
        case Box(x=x, y=y, width=width, height=height):
            return (
                f'<rect {colour} x="{x:g}" y="{y:g}" width="{max(width, 0):g}" '
                f'height="{max(height, 0):g}" rx="3" fill="currentColor"/>'
            )
        case Line(points=points, width=width, dashes=dashes):
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            dashed = ' stroke-dasharray="6 4"' if dashes else ""
            return (
                f'<polyline {colour} points="{path}" fill="none" stroke="currentColor" '
                f'stroke-width="{width:g}"{dashed}/>'
            )
        case Dot(x=x, y=y, radius=radius):
            return (
                f'<circle {colour} cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="currentColor"/>'
            )
        case Text():
            return _written_text(shape, colour)


def _written_text(shape: Text, colour: str) -> str:
    turned = f' transform="rotate(-90 {shape.x:g} {shape.y:g})"' if shape.upright else ""
    weight = ' font-weight="600"' if shape.bold else ""
    return (
        f'<text {colour} x="{shape.x:.1f}" y="{shape.y:.1f}" font-size="{shape.size:g}" '
        f'text-anchor="{shape.side}" fill="currentColor"{weight}{turned}>'
        f"{escaped(shape.text, 400)}</text>"
    )


def require_matplotlib() -> None:
    """Refuse to go on without Matplotlib, or with one that is too old."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("Pictures as PNG", "plot") from None
    require("matplotlib")


def _blank_figure(width: float, height: float, paper: str) -> Any:
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor=paper)
    FigureCanvasAgg(figure)
    return figure


def _draw(axes: Any, shape: Shape, colours: dict[str, str]) -> None:
    colour = colours[shape.colour]
    match shape:
        case Box(x=x, y=y, width=width, height=height):
            axes.fill(
                [x, x + width, x + width, x], [y, y, y + height, y + height], color=colour, lw=0
            )
        case Line(points=points, width=width, dashes=dashes):
            style = (0, (4, 3)) if dashes else "-"
            across, down = zip(*points, strict=True)
            axes.plot(across, down, color=colour, lw=width * _POINTS_PER_PIXEL, linestyle=style)
        case Dot(x=x, y=y, radius=radius):
            size = 2 * radius * _POINTS_PER_PIXEL
            axes.plot([x], [y], marker="o", markersize=size, color=colour, markeredgewidth=0)
        case Text():
            _draw_text(axes, shape, colour)


def _draw_text(axes: Any, shape: Text, colour: str) -> None:
    sides = {"start": "left", "middle": "center", "end": "right"}
    axes.text(
        shape.x,
        shape.y,
        shown(shape.text, 400),
        color=colour,
        fontsize=shape.size * _POINTS_PER_PIXEL * 0.96,
        ha="left" if shape.upright and shape.side == "start" else sides[shape.side],
        va="baseline",
        rotation=90 if shape.upright else 0,
        rotation_mode="anchor",
        weight="bold" if shape.bold else "normal",
        parse_math=False,
    )
