"""Shares that were estimated from reports, with how far off they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.plots.pictures import blank_figure, boxes_for_unknown_letters, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DRAWN = 40
"""How many categories a picture has room for."""

_BAR, _ERROR, _QUIET = "#0072b2", "#1a1a1a", "#6b6b6b"
_LONG = 40  # letters of a label


def shares_figure(categories: Sequence[Any], shares: NDArray[np.float64], errors: NDArray[np.float64], *, note: str) -> Figure:
    """A bar for each category, in their order, with a line of two standard errors to each side.

    Of more than forty categories the ones with the largest shares are drawn.
    """
    require_matplotlib()
    drawn = np.sort(np.argsort(-shares, kind="stable")[:MOST_DRAWN])
    figure = blank_figure(7.5, 1.7 + 0.27 * len(drawn), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(drawn))
    percent, whiskers = 100 * shares[drawn], 200 * errors[drawn]
    axes.barh(places, percent, color=_BAR, height=0.66)
    axes.errorbar(percent, places, xerr=whiskers, fmt="none", ecolor=_ERROR, elinewidth=1.2, capsize=2.5)
    axes.axvline(0, color=_ERROR, linewidth=0.9)
    with boxes_for_unknown_letters():
        # text as it is: a dollar is a dollar, and no formula begins there
        axes.set_yticks(places, [_printable(categories[place]) for place in drawn], parse_math=False, fontsize=10)
    axes.invert_yaxis()
    axes.set_xlabel("estimated share in %, with two standard errors to each side", fontsize=10.5)
    left_out = len(shares) - len(drawn)
    also = f"; {left_out:,} smaller ones are not drawn" if left_out else ""
    axes.set_title("Shares of the categories", fontsize=13, loc="left", weight="bold")
    figure.supxlabel(note + also, fontsize=9, color=_QUIET, x=0.01, ha="left")
    axes.grid(True, axis="x", color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def _printable(label: Any) -> str:
    text = str(label)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"
