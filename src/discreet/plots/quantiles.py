"""Quantiles that were released, as the steps of a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet import ParameterError, Release
from discreet.plots.pictures import blank_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = "#0072b2"


def quantiles_figure(release: Release, shares: Sequence[float], *, title: str) -> Figure:
    """Each share against its quantile. It shows the release and nothing else."""
    if not isinstance(release.value, list) or len(release.value) != len(shares):
        raise ParameterError(
            "quantiles_figure", "release", "the release of as many quantiles as there are shares", "another one"
        )
    figure = blank_figure(7, 4, layout="constrained")
    axes = figure.subplots()
    values = [float(value) for value in release.value]
    axes.plot(values, shares, marker="o", markersize=6, color=_LINE, linewidth=1.6, drawstyle="steps-post")
    for value, share in zip(release.value, shares, strict=True):
        axes.annotate(f"{value:g}", (float(value), share), xytext=(6, -11), textcoords="offset points", fontsize=10)
    axes.set_ylim(0, 1.05)
    axes.margins(x=0.08)
    axes.set_ylabel("share of persons", fontsize=11)
    axes.set_title(title, fontsize=13, loc="left", weight="bold", parse_math=False)
    axes.set_xlabel(f"privacy loss {release.loss!r}; the answers only", fontsize=9.5, color="#555555")
    axes.grid(True, color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
