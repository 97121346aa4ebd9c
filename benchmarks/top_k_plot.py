"""The pictures of the top-k benchmarks: how long lists take, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from report import Section

Records = Sequence[dict[str, Any]]

BARS = {
    "peel": "#0b6e4f",
    "one-shot": "#2fa577",
    "joint": "#2f7fb8",
    "one-shot with delta": "#9bd7bd",
    "OpenDP pure": "#b5461c",
    "OpenDP with delta": "#e8925f",
    "published O(d k)": "#7a5aa6",
}
REMARKS = {"published O(d k)": "joint as published (not exact)", "joint": "discreet joint", "peel": "discreet peel"}
REMARKS |= {"one-shot": "discreet one-shot", "one-shot with delta": "discreet one-shot, δ = 1e-6"}
REMARKS |= {"OpenDP with delta": "OpenDP, δ = 1e-6"}
# colour, line, marker and its size: one colour for a method, dashed with a delta; small markers lie on large ones
LINES: dict[str, tuple[str, Any, str, float]] = {
    "one-shot": ("#0072b2", "-", "s", 8.5),
    "one-shot, δ": ("#0072b2", "--", "s", 6.5),
    "peel": ("#009e73", "-", "o", 5),
    "peel, δ": ("#009e73", "--", "o", 5),
    "joint": ("#d55e00", "-", "D", 5),
}
TITLES = {
    "Zipf": "Zipf\nfavourites and a long tail",
    "bell": "bell\na few stand out a little",
    "near-tie": "near-tie\n300 leaders, close together",
    "flat": "flat\ndifferences by chance only",
}
EPSILON = 0.3  # of the picture of errors


def draw(sections: Sequence[Section], path: Path) -> None:
    """Three panels: beside one selection, beside OpenDP, and the joint mechanism beside its published algorithm."""
    records = {section.name: section.records for section in sections}
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 5.2), width_ratios=[4, 4, 3], layout="constrained")
    _beside_one(left, records["one"])
    _beside_opendp(middle, records["opendp"])
    _beside_published(right, records["joint"])
    handles = [Patch(color=colour) for colour in BARS.values()]
    labels = [REMARKS.get(name, name) for name in BARS]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=10, columnspacing=1.6)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_errors(records: Records, path: Path) -> None:
    """The largest error above, the mean error below, for each shape of the scores."""
    candidates = max(record["size"] for record in records)
    here = [record for record in records if record["size"] == candidates and record["epsilon"] == EPSILON]
    shapes = list(dict.fromkeys(shape for shape in TITLES if any(record["shape"] == shape for record in here)))
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, table = plt.subplots(2, len(shapes), figsize=(13, 7), sharex=True, sharey="row", layout="constrained")
    for column, shape in enumerate(shapes):
        for axes, error in zip(table[:, column], ("largest", "mean"), strict=True):
            _errors(axes, [record for record in here if record["shape"] == shape], error)
        table[0, column].set_title(TITLES[shape], fontsize=12)
        table[1, column].set_xlabel("k")
    table[0, 0].set_ylabel("largest error, persons")
    table[1, 0].set_ylabel("mean error, persons")
    figure.suptitle(f"{candidates:,} candidates, ε = {EPSILON:g}: how far lists of k are from the true one", fontweight="bold")
    handles = [
        Line2D([], [], color=colour, linestyle=line, marker=marker, markersize=size, linewidth=2, **_hollow(name))
        for name, (colour, line, marker, size) in LINES.items()
    ]
    labels = [name.replace("δ", "δ = 1e-6") for name in LINES]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(LINES), frameon=False, columnspacing=2.0)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _errors(axes: Axes, records: Records, error: str) -> None:
    for name, (colour, line, marker, size) in LINES.items():
        mine = sorted((record["k"], record[error]) for record in records if record["method"] == name)
        style: dict[str, Any] = {"color": colour, "linestyle": line, "marker": marker, "markersize": size, "linewidth": 2}
        axes.plot(*zip(*mine, strict=True), **style, **_hollow(name), clip_on=False)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
    axes.set_yscale("symlog", linthresh=1, linscale=0.5)
    axes.set_ylim(0, 10_000)
    axes.set_yticks([0, 1, 10, 100, 1000, 10_000], ["0", "1", "10", "100", "1,000", "10,000"])
    axes.minorticks_off()
    axes.grid(color="#e5e7eb")
    axes.set_axisbelow(True)


def _hollow(name: str) -> dict[str, Any]:
    return {"markerfacecolor": "white", "markeredgewidth": 1.5} if "δ" in name else {}


def _beside_one(axes: Axes, records: Records) -> None:
    size = max(record["candidates"] for record in records)
    here = [record for record in records if record["candidates"] == size]
    laws = {"peel": "permute-and-flip", "one-shot": "exponential", "joint": "exponential"}
    groups = list(dict.fromkeys(record["shape"] for record in here))
    bars = [(method, k) for method in laws for k in (10, 100)]
    width = 0.86 / len(bars)
    for group, shape in enumerate(groups):
        for place, (method, k) in enumerate(bars):
            one = _seconds(here, shape=shape, competitor=laws[method], k=0)
            value = _seconds(here, shape=shape, competitor=method, k=k) / one
            x = group + (place - (len(bars) - 1) / 2) * width
            axes.bar(x, value, width * 0.9, color=BARS[method], alpha=0.55 if k == 10 else 1)
            axes.text(x, value * 1.06, f"{value:.2g}", ha="center", va="bottom", fontsize=8.5, rotation=90, color="#333")
    axes.axhline(2, color="#6b7280", linewidth=1, linestyle=":")
    axes.set_xticks(range(len(groups)), groups)
    _dress(axes, f"{size:,} candidates", "times as long as one selection", 0.5, 300)
    axes.set_yticks([0.5, 1, 2, 5, 10, 20, 50, 100], ["0.5", "1", "2", "5", "10", "20", "50", "100"])
    axes.text(0.01, 0.985, "pale: k = 10, full: k = 100", transform=axes.transAxes, va="top", fontsize=9.5, color="#555")


def _beside_opendp(axes: Axes, records: Records) -> None:
    groups = list(dict.fromkeys(record["shape"] for record in records))
    names = [name for name in BARS if any(record["competitor"] == name for record in records)]
    width = 0.86 / len(names)
    for group, shape in enumerate(groups):
        for place, name in enumerate(names):
            value = 1e3 * _seconds(records, shape=shape, competitor=name)
            x = group + (place - (len(names) - 1) / 2) * width
            axes.bar(x, value, width * 0.9, color=BARS[name])
            axes.text(x, value * 1.1, _short(value), ha="center", va="bottom", fontsize=8.5, rotation=90, color="#333")
    axes.set_xticks(range(len(groups)), groups)
    _dress(axes, f"{records[0]['candidates']:,} candidates, k = {records[0]['k']}", "ms", 0.5, 20_000)
    axes.set_yticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1,000", "10,000"])


def _beside_published(axes: Axes, records: Records) -> None:
    most = max(record["k"] for record in records)
    for name, marker in (("published O(d k)", "s"), ("joint", "o")):
        for shape, line in (("Zipf", "-"), ("near-tie", "--")):
            mine = [r for r in records if r["competitor"] == name and r["shape"] == shape and r["k"] == most]
            points = sorted((r["candidates"], 1e3 * r["median_s"]) for r in mine)
            axes.plot(*zip(*points, strict=True), color=BARS[name], linestyle=line, marker=marker, linewidth=2, markersize=6)
    axes.set_xscale("log")
    axes.set_xlabel("candidates (solid: Zipf, dashed: near-tie)")
    _dress(axes, f"joint, k = {most}", "ms", 0.5, 20_000)
    axes.set_yticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1,000", "10,000"])
    axes.tick_params(axis="x", length=3)


def _dress(axes: Axes, title: str, unit: str, low: float, high: float) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
    axes.set_ylabel(f"{unit} (log scale)")
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", which="major", color="#e5e7eb")
    axes.set_axisbelow(True)
    axes.minorticks_off()


def _seconds(records: Records, **wanted: Any) -> float:
    found = (record for record in records if all(record.get(key) == value for key, value in wanted.items()))
    return float(next(found)["median_s"])


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
