"""The picture of docs/explanation/quantiles.md, from the stored run of benchmarks/quantiles.py.

python benchmarks/quantiles_plot.py [FILE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dressing import STYLE, dress
from matplotlib.axes import Axes

PANELS = {
    "normal": "1,000 persons, normal",
    "tied": "1,000 persons, four values",
    "many normal": "250,000 persons, normal",
}
CURVES = {  # name: colour, width, dashes
    "recursive": ("#0072b2", 3.0, "solid"),
    "recursive, δ": ("#0072b2", 1.6, (0, (4, 2))),
    "joint": ("#009e73", 1.6, "solid"),
    "independent": ("#d55e00", 1.6, "solid"),
    "published recursion": ("#1a1a1a", 1.6, "solid"),
    "slicing": ("#cc79a7", 1.6, "solid"),
    "diffprivlib": ("#8a8a8a", 1.6, "solid"),
}


def draw(file: Path) -> None:
    """Errors over the number of quantiles, for three kinds of data."""
    plt.rcParams.update(STYLE)
    stored = Path(__file__).parent / "results" / "quantiles.json"
    sections = json.loads(stored.read_text())["sections"]
    figure, panels = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained")
    for axes, (name, title) in zip(panels, PANELS.items(), strict=True):
        _panel(axes, sections[name]["records"], title)
    panels[0].set_ylabel("mean error in persons", fontsize=11)
    handles = {
        text: line
        for axes in panels
        for line, text in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        [handles[name] for name in CURVES],
        list(CURVES),
        loc="outside lower center",
        ncols=len(CURVES),
        frameon=False,
        fontsize=10,
    )
    figure.suptitle(
        "Many quantiles at ε = 1 for all together: how far off, in persons",
        x=0.01,
        ha="left",
        weight="bold",
    )
    figure.savefig(file, dpi=150, metadata={"Software": None})


def _panel(axes: Axes, records: list[dict[str, Any]], title: str) -> None:
    for method, (colour, width, dashes) in CURVES.items():
        found = [
            (each["quantiles"], max(each["error"], 0.05))
            for each in records
            if each["method"] == method
        ]
        if found:
            axes.plot(
                *zip(*found, strict=True),
                label=method,
                color=colour,
                linewidth=width,
                linestyle=dashes,
                marker=".",
            )
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("number of quantiles", fontsize=11)
    ticks = sorted({each["quantiles"] for each in records})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    dress(axes, title)


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "docs" / "explanation" / "quantiles.png"
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
