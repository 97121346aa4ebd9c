"""What was spent of a budget, over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.plots.pictures import blank_figure, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HOUR = 1 / 24  # in days: what a picture shows at least on both sides
_SPENT, _LIMIT, _BURNT = "#0072b2", "#d55e00", "#e69f00"  # colours by Okabe and Ito


def spending_figure(charges: Sequence[tuple[datetime, Fraction, bool]], *, limit: Fraction, unit: str, title: str) -> Figure:
    """The sum of all charges as steps, and the limit.

    charges: when, how much, and whether an answer was given; in order.
    unit: what is counted, epsilon or rho.
    """
    require_matplotlib()
    figure = blank_figure(7.5, 4, layout="constrained")
    axes = figure.subplots()
    axes.axhline(float(limit), color=_LIMIT, linewidth=1.6, label="budget")
    if charges:
        _draw_charges(axes, charges)
    else:
        axes.text(0.5, 0.5, "nothing was charged yet", transform=axes.transAxes, ha="center", color="#555555")
        axes.set_xticks([])
    axes.set_ylim(0, 1.12 * float(limit))
    axes.set_ylabel(unit, fontsize=11)
    axes.set_title(title, fontsize=13, loc="left", weight="bold", parse_math=False)
    axes.grid(True, axis="y", color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=10)
    axes.legend(fontsize=9.5, loc="upper left", bbox_to_anchor=(0, 0.87), frameon=True, framealpha=0.95, edgecolor="none")
    return figure


def _draw_charges(axes: Axes, charges: Sequence[tuple[datetime, Fraction, bool]]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    times = [float(date2num(time)) for time, _, _ in charges]  # type: ignore[no-untyped-call]
    sums = [float(total) for total in accumulate(amount for _, amount, _ in charges)]
    corners = [times[0], *times], [0.0, *sums]
    axes.step(*corners, where="post", color=_SPENT, linewidth=2, label="spent")
    axes.fill_between(*corners, step="post", color=_SPENT, alpha=0.12, linewidth=0)
    axes.plot(times, sums, linestyle="", marker="o", markersize=4, color=_SPENT)
    burnt = [place for place, (_, _, settled) in enumerate(charges) if not settled]
    if burnt:
        where = [times[place] for place in burnt], [sums[place] for place in burnt]
        axes.plot(*where, linestyle="", marker="X", markersize=8, color=_BURNT, label="charged, no answer")
    margin = max(_HOUR, 0.05 * (times[-1] - times[0]))
    axes.set_xlim(times[0] - margin, times[-1] + margin)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
