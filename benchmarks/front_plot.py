"""The picture of README: how long one private choice among a million candidates takes.

    python benchmarks/front_plot.py [FILE]

The times are those of benchmarks/results/selection.json. A phone shows the picture at a fifth of
its size, so it has few bars and large letters.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib
from dressing import BLUE, GREY, ORANGE, PURPLE, STYLE, dress

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).with_name("results") / "selection.json"
BARS = {
    "discreet permute-and-flip": ("discreet", BLUE),
    "NumPy argmax(scores + Gumbel)": ("NumPy with noise,\nnot exact", GREY),
    "diffprivlib exponential": ("diffprivlib,\nnot exact", PURPLE),
    "OpenDP Gumbel noise": ("OpenDP", ORANGE),
}


def milliseconds(competitor: str) -> float:
    """The median time of one draw from a million normal scores."""
    records = json.loads(RESULTS.read_text(encoding="utf-8"))["sections"]["million"]["records"]
    wanted = ("float64", "normal", competitor)
    (found,) = [
        each
        for each in records
        if (each["scores"], each["distribution"], each["competitor"]) == wanted
    ]
    return 1e3 * float(found["median_s"])


def _told(value: float) -> str:
    return f" {value / 1e3:.1f} s" if value >= 1e3 else f" {value:.2g} ms"


def draw(file: Path) -> None:
    """One bar for each library, the shortest first."""
    with plt.rc_context(STYLE | {"font.size": 15, "axes.titlesize": 16}):
        figure, axes = plt.subplots(figsize=(6.4, 3.9), layout="constrained")
        times = [milliseconds(name) for name in BARS]
        names, colours = zip(*BARS.values(), strict=True)
        axes.barh(names, times, color=colours, height=0.65)
        for place, value in enumerate(times):
            weight = "bold" if place == 0 else "normal"
            axes.text(value, place, _told(value), va="center", weight=weight)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlim(0.5, 60_000)
        axes.set_xticks([1, 10, 100, 1e3, 1e4], ["1 ms", "10", "100", "1 s", "10 s"])
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        dress(axes, "", "x")
        figure.suptitle(
            "Time of one choice among 1,000,000 (log scale)", x=0.02, ha="left", size=15
        )
        figure.savefig(file, dpi=200, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "docs" / "front.png"
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
