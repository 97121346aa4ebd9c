"""The picture of the table benchmark: times over the plain query on the left, growth with the
rows on the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dressing import BLUE, GREEN, GREY, GRID, PALE_BLUE, PALE_GREY, SKY_BLUE, STYLE, VERMILION
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from report import Section
from tables_worker import LONG, MODE, NARWHALS, PLAIN, SHORT, UNKNOWN

STYLES = {  # colour, line, marker: ours are blue
    SHORT: (BLUE, "-", "o"),
    LONG: (SKY_BLUE, "-", "s"),
    UNKNOWN: (PALE_BLUE, "-", "^"),
    MODE: (GREEN, "-", "D"),
    PLAIN: (GREY, "-", "v"),
    NARWHALS: (PALE_GREY, "--", "v"),
}
_TARGET = 1.2


def draw(sections: Sequence[Section], path: Path) -> None:
    """Draw both panels from the records of the sections."""
    records = {section.name: section.records for section in sections}
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11.5, 5), width_ratios=[1, 1], layout="constrained"
    )
    _bars(left, {name: records[name] for name in ("duckdb", "spark") if name in records})
    _lines(right, records["growth"])
    handles = [
        Line2D([], [], color=colour, linestyle=line, marker=marker)
        for colour, line, marker in STYLES.values()
    ]
    labels = [f"{name} (not private)" if name in (PLAIN, NARWHALS) else name for name in STYLES]
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=9.5,
        columnspacing=1.6,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _bars(axes: Axes, engines: dict[str, list[dict[str, Any]]]) -> None:
    """One bar for each question, from top to bottom, in a group for each engine."""
    shown = [name for name in STYLES if name != PLAIN]
    middles, titles = [], []
    for group, (engine, records) in enumerate(engines.items()):
        size = max(record["rows"] for record in records)
        found = {
            record["question"]: record["minimum_s"] for record in records if record["rows"] == size
        }
        first = group * (len(shown) + 1)
        middles.append(first + (len(shown) - 1) / 2)
        titles.append(f"{'DuckDB' if engine == 'duckdb' else 'Spark'}\n{size:,}\nrows")
        for place, name in enumerate(shown):
            value = found[name] / found[PLAIN]
            axes.barh(first + place, value, 0.85, color=STYLES[name][0])
            white = name in (SHORT, LONG)
            style: dict[str, Any] = {"fontsize": 9.5, "color": "white" if white else "#333"}
            axes.text(value - 0.03, first + place, f"{value:.2f}", ha="right", va="center", **style)
    for value, text, colour, side in (
        (1, "plain SQL ", STYLES[PLAIN][0], "right"),
        (_TARGET, f" target {_TARGET:g}", VERMILION, "left"),
    ):
        axes.axvline(value, color=colour, linewidth=1.3, linestyle="--", zorder=0)
        axes.text(value, -0.75, text, ha=side, va="bottom", fontsize=9.5, color=colour)
    axes.set_yticks(middles, titles)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(engines) * (len(shown) + 1) - 1.4, -1.5)
    axes.set_xlabel("times as long as plain SQL")
    _dress(axes, "Beside the same question in plain SQL", "x")


def _lines(axes: Axes, records: list[dict[str, Any]]) -> None:
    for name, (colour, line, marker) in STYLES.items():
        points = sorted(
            (record["rows"], record["minimum_s"])
            for record in records
            if record["question"] == name
        )
        sizes, times = zip(*points, strict=True)
        axes.plot(
            sizes, times, color=colour, linestyle=line, marker=marker, markersize=5, linewidth=2
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.08, 40)
    axes.set_yticks([0.1, 1, 10], ["0.1 s", "1 s", "10 s"])
    axes.set_xticks([1e6, 1e7, 1e8], ["1 million", "10 million", "100 million"])
    axes.set_xlabel("rows (log scale)")
    axes.set_ylabel("time of one question (log scale)")
    _dress(axes, "DuckDB within 4 GB", "y")


def _dress(axes: Axes, title: str, direction: Literal["x", "y"]) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
    axes.grid(axis=direction, which="major", color=GRID)
    axes.set_axisbelow(True)
    axes.minorticks_off()
