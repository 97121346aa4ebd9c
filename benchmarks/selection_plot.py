"""The picture of the selection benchmark: a million candidates on the left, growth on the right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dressing import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    PALE_BLUE,
    PALE_GREY,
    PURPLE,
    SKY_BLUE,
    STYLE,
    VERMILION,
)
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from report import Section

COLOURS = {
    "discreet permute-and-flip": BLUE,
    "discreet exponential": SKY_BLUE,
    "discreet Laplace noise": PALE_BLUE,
    "OpenDP exponential noise": VERMILION,
    "OpenDP Gumbel noise": ORANGE,
    "diffprivlib exponential": PURPLE,
    "NumPy argmax(scores + Gumbel)": GREY,
    "NumPy scores.max()": PALE_GREY,
}
REMARKS = {
    "diffprivlib exponential": " (not exact)",
    "NumPy argmax(scores + Gumbel)": " (not exact)",
    "NumPy scores.max()": " (not private)",
}
DTYPE = "float64"


def draw(sections: Sequence[Section], path: Path) -> None:
    """Draw both panels from the records of the sections."""
    records = {section.name: section.records for section in sections}
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11.5, 5), sharey=True, width_ratios=[3, 2], layout="constrained"
    )
    _bars(left, [r for r in records["million"] if r["scores"] == DTYPE])
    _lines(right, [r for r in records["growth"] if r.get("dtype") == DTYPE and "median_s" in r])
    handles = [Patch(color=colour) for colour in COLOURS.values()]
    labels = [name + REMARKS.get(name, "") for name in COLOURS]
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9.5,
        columnspacing=1.2,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _bars(axes: Axes, records: list[dict[str, Any]]) -> None:
    groups = list(dict.fromkeys(record["distribution"] for record in records))
    width = 0.86 / len(COLOURS)
    for place, (name, colour) in enumerate(COLOURS.items()):
        for group, distribution in enumerate(groups):
            value = _nanoseconds(records, competitor=name, distribution=distribution)
            if value:
                x = group + (place - (len(COLOURS) - 1) / 2) * width
                axes.bar(x, value, width * 0.92, color=colour)
                axes.text(
                    x,
                    value * 1.12,
                    _short(value),
                    ha="center",
                    va="bottom",
                    fontsize=8.5,
                    rotation=90,
                    color="#333",
                )
    axes.set_xticks(range(len(groups)), [f"{group} scores" for group in groups])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    _dress(axes, f"{records[0]['candidates']:,} candidates, by shape of the scores")
    axes.set_ylabel("time per candidate (log scale)")


def _lines(axes: Axes, records: list[dict[str, Any]]) -> None:
    for name, colour in COLOURS.items():
        sizes = sorted(record["candidates"] for record in records if record["competitor"] == name)
        values = [_nanoseconds(records, competitor=name, candidates=size) or 0.0 for size in sizes]
        axes.plot(sizes, values, marker="o", markersize=5, linewidth=2, color=colour)
    axes.set_xscale("log")
    axes.set_xlabel("candidates")
    _dress(axes, "Normal scores, by number of candidates")


def _dress(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
    axes.set_yscale("log")
    axes.set_ylim(0.1, 50_000)
    axes.set_yticks(
        [0.1, 1, 10, 100, 1000, 10_000], ["0.1 ns", "1 ns", "10 ns", "100 ns", "1 µs", "10 µs"]
    )
    axes.grid(axis="y", which="major", color=GRID)
    axes.set_axisbelow(True)
    axes.minorticks_off()


def _nanoseconds(records: list[dict[str, Any]], **wanted: Any) -> float | None:
    for record in records:
        if all(record[key] == value for key, value in wanted.items()):
            return 1e9 * float(record["median_s"]) / int(record["candidates"])
    return None


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
