"""Draw coins being spent: the same stream of questions in one session, counted three ways.

    python benchmarks/coins_plot.py [--output FILE]

The stream is a user's day with a budget of epsilon 1 and delta 1e-6: questions of 0.1, 0.02
and 0.05, over and over. The picture shows what each of them takes of the coins, and where
adding epsilons up, or adding rho up, would have stopped.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from itertools import cycle
from pathlib import Path

from matplotlib.figure import Figure

from discreet import ApproxDP, BoundedRange, PureDP
from discreet.accounting import PrivacyFilter

STREAM = (Fraction(1, 10), Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 50))
BUDGET = ApproxDP(1, 1e-6)
_BLUES = {Fraction(1, 10): "#0072b2", Fraction(1, 20): "#56b4e9", Fraction(1, 50): "#9ad0f0"}
_RED = "#d55e00"


def admitted(within: PrivacyFilter) -> list[Fraction]:
    """The questions of the stream that fit, up to the first that does not."""
    asked = []
    for epsilon in cycle(STREAM):
        if not within.allows(BoundedRange(epsilon)):
            return asked
        within.admit(BoundedRange(epsilon))
        asked.append(epsilon)
    raise AssertionError


def draw(file: Path) -> dict[str, int]:
    """The picture, and how many questions each way of counting admits."""
    coins = PrivacyFilter(BUDGET)
    total = int(coins.remaining().value)
    asked = {
        "epsilons added up": admitted(PrivacyFilter(PureDP(1))),
        "rho": admitted(PrivacyFilter(BUDGET, counting="rho")),
        "coins": admitted(coins),
    }
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.add_subplot()
    start = 0
    for epsilon in asked["coins"]:
        width = int((epsilon * 100) ** 2)
        axes.barh(0, width, left=start, color=_BLUES[epsilon], edgecolor="white", linewidth=0.4)
        start += width
    for name in ("epsilons added up", "rho"):
        used = sum(int((epsilon * 100) ** 2) for epsilon in asked[name])
        axes.axvline(used, ymax=0.83, color=_RED, linewidth=1.2)
        text = f"{name}: {len(asked[name])} questions "
        axes.text(used, 0.47, text, color=_RED, fontsize=9, ha="right")
    axes.axvline(total, color="black", linewidth=1.2)
    text = f"coins: {len(asked['coins'])} questions "
    axes.text(total, 0.6, text, ha="right", fontsize=9)
    for epsilon, colour in _BLUES.items():
        axes.barh(0, 0, color=colour, label=f"epsilon {float(epsilon):g}")
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    axes.set_xlim(0, total * 1.01)
    axes.set_ylim(-0.42, 0.72)
    axes.set_yticks([])
    axes.set_xlabel("coins of 0.01")
    axes.set_title(
        "One session, epsilon 1 and delta 1e-6: what each question takes",
        loc="left",
        weight="bold",
        size=13,
    )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(file, dpi=150)
    return {name: len(each) for name, each in asked.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/explanation/coins.png"))
    print(draw(parser.parse_args().output))
