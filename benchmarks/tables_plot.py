"""The picture of the table benchmark: times over the plain query on the left, growth with the rows on the right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from report import Section
from tables_worker import LONG, MODE, NARWHALS, PLAIN, SHORT, UNKNOWN

STYLES = {  # colour, line, marker: ours are green
    SHORT: ("#0b6e4f", "-", "o"),
    LONG: ("#2fa577", "-", "s"),
    UNKNOWN: ("#8fd3b6", "-", "^"),
    MODE: ("#b8c94a", "-", "D"),
    PLAIN: ("#6b7280", "-", "v"),
    NARWHALS: ("#c3c8d0", "--", "v"),
}
_TARGET = 1.2


def draw(sections: Sequence[Section], path: Path) -> None:
    """Draw both panels from the records of the sections."""
    records = {section.name: section.records for section in sections}
    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 5), width_ratios=[3, 2], layout="constrained")
    _bars(left, {name: records[name] for name in ("duckdb", "spark") if name in records})
    _lines(right, records["growth"])
    handles = [Line2D([], [], color=colour, linestyle=line, marker=marker) for colour, line, marker in STYLES.values()]
    labels = [f"{name} (not private)" if name in (PLAIN, NARWHALS) else name for name in STYLES]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9.5, columnspacing=1.6)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _bars(axes: Axes, engines: dict[str, list[dict[str, Any]]]) -> None:
    shown = [name for name in STYLES if name != PLAIN]
    width = 0.86 / len(shown)
    titles = []
    for group, (engine, records) in enumerate(engines.items()):
        size = max(record["rows"] for record in records)
        found = {record["question"]: record["minimum_s"] for record in records if record["rows"] == size}
        titles.append(f"{'DuckDB' if engine == 'duckdb' else 'Spark'}, {size:,} rows")
        for place, name in enumerate(shown):
            value = found[name] / found[PLAIN]
            x = group + (place - (len(shown) - 1) / 2) * width
            axes.bar(x, value, width * 0.92, color=STYLES[name][0])
            axes.text(x, value + 0.02, f"{value:.2f}", ha="center", va="bottom", fontsize=9.5, color="#333")
    axes.axhline(1, color=STYLES[PLAIN][0], linewidth=1.5)
    axes.axhline(_TARGET, color="#b5461c", linewidth=1.2, linestyle="--")
    edge = len(titles) - 0.5 + 0.23  # beyond the bars
    axes.text(edge, _TARGET + 0.02, "target", ha="right", va="bottom", fontsize=9.5, color="#b5461c")
    axes.text(edge, 1.02, "plain SQL", ha="right", va="bottom", fontsize=9.5, color=STYLES[PLAIN][0])
    axes.set_xticks(range(len(titles)), titles)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(titles) - 0.5 + 0.25)  # room for the names of the lines
    _dress(axes, "Time over the plain query, by minima")


def _lines(axes: Axes, records: list[dict[str, Any]]) -> None:
    for name, (colour, line, marker) in STYLES.items():
        points = sorted((record["rows"], record["minimum_s"]) for record in records if record["question"] == name)
        sizes, times = zip(*points, strict=True)
        axes.plot(sizes, times, color=colour, linestyle=line, marker=marker, markersize=5, linewidth=2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_yticks([0.1, 1, 10, 100], ["0.1 s", "1 s", "10 s", "100 s"])
    axes.set_xlabel("rows")
    _dress(axes, "DuckDB within 4 GB, by number of rows")


def _dress(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
    axes.grid(axis="y", which="major", color="#e5e7eb")
    axes.set_axisbelow(True)
    axes.minorticks_off()
