"""How the pictures of docs/explanation look."""

from __future__ import annotations

from matplotlib.axes import Axes


def dress(axes: Axes, title: str) -> None:
    """A title on the left, and a quiet grid behind everything."""
    axes.set_title(title, fontsize=11.5, loc="left")
    axes.minorticks_off()
    axes.grid(True, color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
