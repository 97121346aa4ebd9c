"""The pictures of the top-k benchmarks: how long lists take, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dressing import BLUE, GREEN, GRID, ORANGE, PALE_BLUE, PURPLE, SKY_BLUE, STYLE, VERMILION
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from report import Section

Records = Sequence[dict[str, Any]]

BARS = {
    "peel": BLUE,
    "one-shot": SKY_BLUE,
    "joint": GREEN,
    "one-shot with delta": PALE_BLUE,
    "OpenDP pure": VERMILION,
    "OpenDP with delta": ORANGE,
    "published O(d k)": PURPLE,
}
REMARKS = {
    "published O(d k)": "joint as published (not exact)",
    "joint": "discreet joint",
    "peel": "discreet peel",
}
REMARKS |= {"one-shot": "discreet one-shot", "one-shot with delta": "discreet one-shot, δ = 1e-6"}
REMARKS |= {"OpenDP with delta": "OpenDP, δ = 1e-6"}
# colour, line, marker and its size: one colour for a method, dashed with a delta. One-shot
# without a delta is as good as peeling, and peeling hardly better with one: both are left out
LINES: dict[str, tuple[str, Any, str, float]] = {
    "peel": (GREEN, "-", "o", 5),
    "one-shot, δ": (BLUE, "--", "s", 6.5),
    "joint": (VERMILION, "-", "D", 5),
    "1 item": (PURPLE, "-", "^", 6),
    "5 items": (PURPLE, ":", "^", 5),
    "20 items, δ": (PURPLE, "--", "v", 5),
}
TITLES = {
    "Zipf": "Zipf\nfavourites and a long tail",
    "bell": "bell\na few stand out a little",
    "near-tie": "near-tie\n300 leaders, close together",
    "flat": "flat\ndifferences by chance only",
}
EPSILON = 0.3  # of the picture of errors
_SMALL: dict[str, Any] = {"fontsize": 9.5, "color": "#333"}


def draw(sections: Sequence[Section], path: Path) -> None:
    """Three panels: beside one selection, beside OpenDP, and the joint mechanism beside its
    published algorithm.
    """
    records = {section.name: section.records for section in sections}
    plt.rcParams.update(STYLE)
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(15, 6.2), width_ratios=[4, 4, 3.4], layout="constrained"
    )
    _beside_one(left, records["one"])
    _beside_opendp(middle, records["opendp"])
    _beside_published(right, records["joint"])
    handles = [
        Line2D([], [], color=colour, marker="o", linestyle="none", markersize=8)
        for colour in BARS.values()
    ]
    labels = [REMARKS.get(name, name) for name in BARS]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=10.5
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_errors(records: Records, path: Path) -> None:
    """The largest error above, the mean error below, for each shape of the scores."""
    candidates = max(record["size"] for record in records)
    here = [
        record
        for record in records
        if record["size"] == candidates and record["epsilon"] == EPSILON
    ]
    shapes = list(
        dict.fromkeys(shape for shape in TITLES if any(record["shape"] == shape for record in here))
    )
    plt.rcParams.update(STYLE)
    figure, table = plt.subplots(
        2, len(shapes), figsize=(13, 7), sharex=True, sharey="row", layout="constrained"
    )
    for column, shape in enumerate(shapes):
        for axes, error in zip(table[:, column], ("largest", "mean"), strict=True):
            _errors(axes, [record for record in here if record["shape"] == shape], error)
        table[0, column].set_title(TITLES[shape], fontsize=12)
        table[1, column].set_xlabel("k (log scale)")
    table[0, 0].set_ylabel("largest error, persons (log scale)")
    table[1, 0].set_ylabel("mean error, persons (log scale)")
    figure.suptitle(
        f"{candidates:,} candidates, ε = {EPSILON:g}: how far lists of k are from the true one",
        x=0.01,
        ha="left",
    )
    handles = [
        Line2D(
            [],
            [],
            color=colour,
            linestyle=line,
            marker=marker,
            markersize=size,
            linewidth=2,
            **_hollow(name),
        )
        for name, (colour, line, marker, size) in LINES.items()
    ]
    labels = [_called(name) for name in LINES]
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        columnspacing=2.0,
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _errors(axes: Axes, records: Records, error: str) -> None:
    for name, (colour, line, marker, size) in LINES.items():
        mine = sorted(
            (record["k"], record[error]) for record in records if record["method"] == name
        )
        style: dict[str, Any] = {
            "color": colour,
            "linestyle": line,
            "marker": marker,
            "markersize": size,
            "linewidth": 2,
        }
        axes.plot(*zip(*mine, strict=True), **style, **_hollow(name), clip_on=False)
    axes.set_xscale("log")
    longest = max(record["k"] for record in records)
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100, 200) if k <= longest]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.set_ylim(0, 2_000)
    axes.set_yticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1,000"])
    axes.minorticks_off()
    axes.grid(color=GRID)
    axes.set_axisbelow(True)


def _hollow(name: str) -> dict[str, Any]:
    return {"markerfacecolor": "white", "markeredgewidth": 1.5} if "δ" in name else {}


def _beside_one(axes: Axes, records: Records) -> None:
    """One line of dots for each shape and method: k = 10 hollow, k = 100 full."""
    size = max(record["candidates"] for record in records)
    here = [record for record in records if record["candidates"] == size]
    laws = {"peel": "permute-and-flip", "one-shot": "exponential", "joint": "exponential"}
    shapes = list(dict.fromkeys(record["shape"] for record in here))
    for group, shape in enumerate(shapes):
        for place, (method, law) in enumerate(laws.items()):
            one = _seconds(here, shape=shape, competitor=law, k=0)
            few, many = (
                _seconds(here, shape=shape, competitor=method, k=k) / one for k in (10, 100)
            )
            y = group * (len(laws) + 1) + place
            axes.plot([few, many], [y, y], color=BARS[method], linewidth=2, zorder=1)
            axes.plot(few, y, "o", color=BARS[method], markerfacecolor="white", markersize=8)
            axes.plot(many, y, "o", color=BARS[method], markersize=8)
            axes.text(max(few, many) * 1.17, y, f"{_short(many)}", va="center", **_SMALL)
    _grouped(axes, shapes, len(laws))
    _dress(axes, f"Beside one selection: {size:,} candidates", "times as long", 0.5, 100)
    axes.set_xticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
    key = "○ k = 10   ● k = 100"
    axes.text(0.99, 0.985, key, transform=axes.transAxes, ha="right", va="top", **_SMALL)


def _beside_opendp(axes: Axes, records: Records) -> None:
    """The same beside OpenDP, in milliseconds."""
    shapes = list(dict.fromkeys(record["shape"] for record in records))
    names = [name for name in BARS if any(record["competitor"] == name for record in records)]
    for group, shape in enumerate(shapes):
        for place, name in enumerate(names):
            value = 1e3 * _seconds(records, shape=shape, competitor=name)
            y = group * (len(names) + 1) + place
            axes.plot([1, value], [y, y], color=BARS[name], linewidth=2, alpha=0.35)
            axes.plot(value, y, "o", color=BARS[name], markersize=8)
            axes.text(value * 1.3, y, _short(value), va="center", **_SMALL)
    _grouped(axes, shapes, len(names))
    title = f"Beside OpenDP: {records[0]['candidates']:,} candidates, k = {records[0]['k']}"
    _dress(axes, title, "ms", 1, 5_000)
    axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])


def _grouped(axes: Axes, groups: Sequence[str], size: int) -> None:
    """Groups from top to bottom, with their names beside them."""
    axes.set_yticks([group * (size + 1) + (size - 1) / 2 for group in range(len(groups))], groups)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(groups) * (size + 1) - 1.2, -1.2)


def _beside_published(axes: Axes, records: Records) -> None:
    most = max(record["k"] for record in records)
    for name, marker in (("published O(d k)", "s"), ("joint", "o")):
        for shape, line in (("Zipf", "-"), ("near-tie", "--")):
            mine = [
                r
                for r in records
                if r["competitor"] == name and r["shape"] == shape and r["k"] == most
            ]
            points = sorted((r["candidates"], 1e3 * r["median_s"]) for r in mine)
            axes.plot(
                *zip(*points, strict=True),
                color=BARS[name],
                linestyle=line,
                marker=marker,
                linewidth=2,
                markersize=6,
            )
    axes.set_title(f"The joint draw: k = {most}", loc="left", fontweight="bold", fontsize=12)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("candidates (log scale)\nsolid: Zipf, dashed: near-tie")
    axes.set_ylabel("ms (log scale)")
    axes.set_ylim(3, 2_000)
    axes.set_yticks([10, 100, 1000], ["10", "100", "1,000"])
    axes.set_xticks([1e4, 1e5, 1e6], ["10,000", "100,000", "1,000,000"])
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
    axes.minorticks_off()


def _dress(axes: Axes, title: str, unit: str, low: float, high: float) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
    axes.set_xlabel(f"{unit} (log scale)")
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.grid(axis="x", which="major", color=GRID)
    axes.set_axisbelow(True)
    axes.minorticks_off()


def _seconds(records: Records, **wanted: Any) -> float:
    found = (
        record
        for record in records
        if all(record.get(key) == value for key, value in wanted.items())
    )
    return float(next(found)["median_s"])


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _called(name: str) -> str:
    """The name of a method in the legend."""
    way, _, delta = name.partition(", ")
    shown = f"histogram, {way} a person" if "item" in way else way
    return f"{shown}, δ = 1e-6" if delta else shown
