"""The picture of the accounting benchmark: how tight the answers are on the left, how long they
take on the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from accountants import ADAPTIVE, KOV, NON_ADAPTIVE, OPENDP, PEER_RDP, PLD, PLD_PURE, RDP
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
from matplotlib.lines import Line2D
from report import Section

STYLES: dict[str, tuple[str, str, str]] = {  # colour, line, marker: ours are blue
    NON_ADAPTIVE: (BLUE, "-", "o"),
    ADAPTIVE: (SKY_BLUE, "-", "s"),
    RDP: (PALE_BLUE, "-", "^"),
    KOV: (GREY, "-", "v"),
    PLD: (VERMILION, "-", "o"),
    PEER_RDP: (ORANGE, "-", "^"),
    OPENDP: (PURPLE, ":", "D"),
    PLD_PURE: (PALE_GREY, "--", "v"),
}


LABELS = {  # at the end of lines that lie on each other, so far away from it
    PLD: ("one pair that dominates", (0, 11), "right"),
    PEER_RDP: ("Renyi and zCDP", (0, 10), "right"),
    ADAPTIVE: ("adaptive queries", (9, 2), "left"),
    NON_ADAPTIVE: ("the optimum for fixed queries", (0, -10), "right"),
}


def draw(sections: Sequence[Section], path: Path) -> None:
    """Draw both panels from the records of the section `growth`."""
    records = next(section.records for section in sections if section.name == "growth")
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 5.2), layout="constrained")
    best = {
        record["queries"]: record["answer"]
        for record in records
        if record["competitor"] == NON_ADAPTIVE
    }
    ratios = [record | {"ratio": record["answer"] / best[record["queries"]]} for record in records]
    _lines(left, ratios, "ratio")
    _lines(right, records, "median_s")
    _label(left, ratios, "ratio")
    left.set_yscale("log")
    left.set_ylim(0.98, 1.25)
    left.set_yticks([1, 1.05, 1.1, 1.15, 1.2], ["1.00", "1.05", "1.10", "1.15", "1.20"])
    left.set_ylabel("total epsilon / optimum (log scale)")
    _beyond(left, ratios)
    right.set_yscale("log")
    right.set_ylim(4e-4, 5)
    right.set_yticks([1e-3, 1e-2, 1e-1, 1], ["1 ms", "10 ms", "100 ms", "1 s"])
    right.set_ylabel("time (log scale)")
    _dress(left, "How tight: epsilon at delta = 1e-6")
    _dress(right, "How long the answer takes")
    handles = [
        Line2D([], [], color=colour, linestyle=line, marker=marker, linewidth=2)
        for colour, line, marker in STYLES.values()
    ]
    figure.legend(
        handles,
        list(STYLES),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9.5,
        columnspacing=1.6,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _beyond(axes: Axes, records: list[dict[str, Any]]) -> None:
    """What is far above the picture, in words."""
    far = [ratio for _, ratio in _points(records, KOV, "ratio")]
    axes.text(
        0.98,
        0.97,
        f"↑ as pure DP, without bounded range: {min(far):.1f} to {max(far):.1f}",
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize=9.5,
        color=STYLES[KOV][0],
    )


def _label(axes: Axes, records: list[dict[str, Any]], field: str) -> None:
    for name, (text, offset, side) in LABELS.items():
        points = _points(records, name, field)
        if points:
            axes.annotate(
                text,
                points[-1],
                xytext=offset,
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=9.5,
                color=STYLES[name][0],
            )


def _lines(axes: Axes, records: list[dict[str, Any]], field: str) -> None:
    for name, (colour, line, marker) in STYLES.items():
        points = _points(records, name, field)
        if points:
            axes.plot(
                *zip(*points, strict=True),
                color=colour,
                linestyle=line,
                marker=marker,
                markersize=5,
                linewidth=2,
            )


def _points(records: list[dict[str, Any]], name: str, field: str) -> list[tuple[int, float]]:
    return sorted(
        (record["queries"], record[field]) for record in records if record["competitor"] == name
    )


def _dress(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
    axes.set_xscale("log")
    axes.set_xlabel("k selections of epsilon 0.5 / √k each (log scale)")
    axes.grid(axis="y", which="major", color=GRID)
    axes.set_axisbelow(True)
    axes.minorticks_off()
