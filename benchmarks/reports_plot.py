"""The picture of docs/explanation/which-report.md: how far off a share is, by mechanism, epsilon
and number of categories.

    python benchmarks/reports_plot.py [FILE]

Nothing is measured here: the standard errors are the exact ones of the mechanisms.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dressing import STYLE, dress
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from discreet.mechanisms import RandomizedResponse, Rappor, SubsetSelection

PERSONS = 10_000
# name: mechanism, colour, width, dashes; subset selection lies below the others where
# they meet
CURVES = {
    "subset selection": (SubsetSelection, "#0072b2", 5.0, "solid"),
    "randomised response": (RandomizedResponse, "#d55e00", 2.0, "solid"),
    "RAPPOR": (Rappor, "#1a1a1a", 2.0, (0, (4, 2))),
}
EPSILONS = np.geomspace(0.25, 8, 46)


def draw(file: Path) -> None:
    """Three numbers of categories side by side, with one scale."""
    plt.rcParams.update(STYLE)
    figure, panels = plt.subplots(1, 3, figsize=(11.5, 4.4), sharey=True, layout="constrained")
    for axes, categories in zip(panels, (5, 30, 300), strict=True):
        _panel(axes, categories)
    panels[0].set_ylabel("standard error of a share", fontsize=11)
    panels[2].legend(frameon=False, fontsize=10.5, loc="lower left")
    figure.suptitle(
        f"{PERSONS:,} reports: how far off a share is, on average over the categories",
        x=0.01,
        ha="left",
        weight="bold",
    )
    figure.savefig(file, dpi=150, metadata={"Software": None})


def _panel(axes: Axes, categories: int) -> None:
    for name, (kind, colour, width, dashes) in CURVES.items():
        errors = [
            100 * math.sqrt(kind(range(categories), epsilon=each).mean_variance / PERSONS)
            for each in EPSILONS.round(4)
        ]
        axes.plot(EPSILONS, errors, label=name, color=colour, linewidth=width, linestyle=dashes)
    switch = math.log(categories / math.sqrt(2) - 1)
    axes.axvline(switch, color="#8a8a8a", linewidth=1, linestyle=(0, (2, 2)))
    axes.annotate(
        "from here on\na set of one\nis best",
        (switch, 0.975),
        xycoords=("data", "axes fraction"),
        xytext=(5, 0),
        textcoords="offset points",
        va="top",
        fontsize=9.5,
        color="#555555",
    )
    axes.set(xscale="log", yscale="log", ylim=(0.02, 60))
    axes.set_xlabel("ε of a report", fontsize=11)
    axes.set_xticks([0.25, 0.5, 1, 2, 4, 8], ["¼", "½", "1", "2", "4", "8"])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    dress(axes, f"{categories} categories")


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "docs" / "explanation" / "which-report.png"
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
