"""The picture of docs/explanation/which-noise.md: how much smaller noise within bounds is than
with the factor 2.

    python benchmarks/noise_plot.py [FILE]

Nothing is measured here: the gains are the certified ones of the mechanism.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dressing import STYLE, dress
from matplotlib.axes import Axes

from discreet.mechanisms import BoundedDiscreteLaplace

EPSILONS = np.geomspace(0.01, 16, 61).round(5)
WIDTHS = {1: "#8a8a8a", 4: "#1a1a1a", 20: "#d55e00", 100: "#009e73", 1000: "#0072b2"}


def draw(file: Path) -> None:
    """One number, and ten numbers that share the sensitivity, side by side with one scale."""
    plt.rcParams.update(STYLE)
    figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.4), sharey=True, layout="constrained")
    _panel(panels[0], 1, 1, "one number, sensitivity 1")
    _panel(panels[1], 10, 4, "ten numbers, sensitivity 4")
    panels[0].set_ylabel("times less noise", fontsize=11)
    panels[0].legend(title="bounds", frameon=False, fontsize=10, loc="upper left")
    figure.suptitle(
        "Noise within bounds, against the exponential mechanism with its factor 2",
        x=0.01,
        ha="left",
        weight="bold",
    )
    figure.savefig(file, dpi=150, metadata={"Software": None})


def _panel(axes: Axes, numbers: int, sensitivity: int, title: str) -> None:
    for width, colour in WIDTHS.items():
        gains = [
            float(
                BoundedDiscreteLaplace(
                    epsilon=epsilon, sensitivity=sensitivity, bounds=[(0, width)] * numbers
                ).gain
            )
            for epsilon in EPSILONS
        ]
        axes.plot(EPSILONS, gains, label=f"0 to {width}", color=colour, linewidth=2)
    axes.set(xscale="log", ylim=(0.98, 2.02))
    axes.set_xlabel("ε", fontsize=11)
    axes.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    dress(axes, title)


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "docs" / "explanation" / "which-noise.png"
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
