"""How all pictures of README and docs look: one palette, one set of sizes, one grid.

The colours are those of Okabe and Ito, which differ for every kind of color vision. discreet is
blue and sky blue, other libraries are orange and vermilion, what is not exact is purple, and what
is not private is grey. The title of a picture is bold and on the left.
"""

from __future__ import annotations

from typing import Any, Literal

from matplotlib.axes import Axes

BLUE, SKY_BLUE, PALE_BLUE, GREEN = "#0072b2", "#56b4e9", "#b3dcf5", "#009e73"
ORANGE, VERMILION, PURPLE = "#e69f00", "#d55e00", "#cc79a7"
BLACK, GREY, PALE_GREY = "#1a1a1a", "#6b6b6b", "#b5b5b5"
GRID = "#e3e3e3"

STYLE: dict[str, Any] = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "figure.titleweight": "bold",
    "figure.titlesize": 13,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "text.color": BLACK,
}
"""What Matplotlib is told before a picture is drawn, by `with rc_context(STYLE)`."""


def dress(axes: Axes, title: str, grid: Literal["x", "y", "both"] = "both") -> None:
    """Give a panel its title, and a quiet grid behind everything."""
    axes.set_title(title)
    axes.minorticks_off()
    axes.grid(visible=False)
    axes.grid(visible=True, axis=grid)
