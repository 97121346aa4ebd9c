"""The picture of docs/explanation/every-model.md: directions on a circle, and what is captured.

    python benchmarks/models_plot.py [FILE]

The bars are those of benchmarks/results/models.json; the circle is drawn anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dressing import STYLE, dress
from matplotlib.axes import Axes

import discreet

RESULTS = Path(__file__).with_name("results") / "models.json"
COLOURS = {
    "joint draw": "#0072b2",
    "one by one": "#009e73",
    "one by one, published rate": "#d55e00",
}


def draw(file: Path) -> None:
    """Both panels."""
    plt.rcParams.update(STYLE)
    figure, panels = plt.subplots(
        1, 2, figsize=(10.5, 4.6), layout="constrained", width_ratios=(1, 1.5)
    )
    _circle(panels[0])
    _bars(panels[1])
    figure.suptitle(
        "A private direction, and private principal components", x=0.01, ha="left", weight="bold"
    )
    figure.savefig(file, dpi=120)


def _circle(panel: Axes) -> None:
    """Draws for 60 rows along one diagonal, with a little across."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(60, 1)) * [0.5, 0.5] + random.normal(size=(60, 2)) * 0.15
    panel.scatter(*rows.T, s=8, color="#8a8a8a", label="rows")
    for radius, (epsilon, colour) in enumerate(
        {0.1: "#d55e00", 1: "#009e73", 10: "#0072b2"}.items()
    ):
        mechanism = discreet.mechanisms.SubspaceExponentialMechanism(k=1, epsilon=epsilon, norm=1)
        drawn = np.array([mechanism.draw(rows)[0] for _ in range(150)])
        ends = np.concatenate([drawn, -drawn]) * (1.3 + 0.2 * radius)
        panel.scatter(*ends.T, s=7, color=colour, alpha=0.4, label=f"ε = {epsilon}")
    panel.set_aspect("equal")
    panel.axis("off")
    panel.set_title("150 directions for each ε", fontsize=11, loc="left")
    panel.legend(frameon=False, fontsize=9, loc="lower right", markerscale=2)


def _bars(panel: Axes) -> None:
    records = json.loads(RESULTS.read_text())["sections"]["principal components"]["records"]
    cases = list(dict.fromkeys((each["data"], each["k"]) for each in records))
    width = 0.27
    for place, (method, colour) in enumerate(COLOURS.items()):
        found = {(e["data"], e["k"]): e for e in records if e["method"] == method}
        panel.bar(
            np.arange(len(cases)) + (place - 1) * width,
            [found[case]["mean"] for case in cases],
            width,
            yerr=[2 * found[case]["error"] for case in cases],
            color=colour,
            label=method,
        )
    names = [f"{name.replace('_', ' ')}\nk = {k}" for name, k in cases]
    panel.set_xticks(range(len(cases)), names, fontsize=8)
    panel.set_ylim(0, 1.15)
    panel.set_yticks(np.linspace(0, 1, 6))
    panel.legend(frameon=False, fontsize=9, loc="upper right", ncols=3)
    dress(panel, "captured at ε = 1, relative to the best subspace")


if __name__ == "__main__":
    folder = Path(__file__).parents[1] / "docs" / "explanation"
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "every-model.png")
