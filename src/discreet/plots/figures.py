"""Figures of quantiles, of spending, of estimated shares, and of losses that an audit
saw.

The functions that all figures share are here, too: a blank figure, the file that it is
saved to, and the test for Matplotlib.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet import MissingExtraError, ParameterError, Release
from discreet.versions import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_FORMATS = (".png", ".svg", ".pdf")
"""The endings of the files that a figure can be saved to."""

_DOTS_PER_INCH = 150
# The palette of Okabe and Ito, whose colours differ for every kind of colour vision, by
# the names that they gave, and greys.
BLUE, SKY_BLUE, GREEN = "#0072b2", "#56b4e9", "#009e73"
ORANGE, VERMILION, PURPLE = "#e69f00", "#d55e00", "#cc79a7"
BLACK, GREY, LIGHT_GREY = "#1a1a1a", "#6b6b6b", "#8c8c8c"

# in days: the margin that a figure shows at least on both sides
_HOUR = 1 / 24

MOST_CATEGORIES = 40
"""How many categories a figure has room for."""

# how many letters of a label are shown
_LONG = 40


def require_matplotlib() -> None:
    """Refuse to go on without Matplotlib, or with one that is too old."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("Plotting", "plot") from None
    require("matplotlib")


def blank_figure(width: float, height: float, **options: Any) -> Figure:
    """A white figure of this size in inches: no window, no pyplot, no state that others
    would see.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white", **options)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, file: str) -> None:
    """Write a figure in the format that the file's name ends in, one of `FORMATS`."""
    suffix = os.path.splitext(file)[1].lower()
    if suffix not in FIGURE_FORMATS:
        raise ParameterError(
            "save", "file", f"a file whose name ends in one of {', '.join(FIGURE_FORMATS)}", file
        )
    nameless: dict[str, Any] = {
        ".png": {"Software": None},
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    with boxes_for_unknown_letters():
        figure.savefig(file, format=suffix[1:], dpi=_DOTS_PER_INCH, metadata=nameless[suffix])


@contextmanager
def boxes_for_unknown_letters() -> Iterator[None]:
    """Draw letters that no font has as boxes, without a warning that would show the label."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing from font", category=UserWarning
        )
        yield


def _finish(
    axes: Axes, title: str, *, size: float = 13, grid: Literal["both", "x", "y"] = "both"
) -> None:
    """Add the title, with dollars as dollars and not as formulas, a thin grid behind
    the data, and remove the frame above and to the right.
    """
    axes.set_title(title, fontsize=size, loc="left", weight="bold", parse_math=False)
    axes.grid(True, axis=grid, color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def quantiles_figure(release: Release, shares: Sequence[float], *, title: str) -> Figure:
    """A figure of each share against its quantile. It shows the release and nothing else."""
    if not isinstance(release.value, list) or len(release.value) != len(shares):
        raise ParameterError(
            "quantiles_figure",
            "release",
            "the release of as many quantiles as there are shares",
            "another one",
        )
    figure = blank_figure(7, 4, layout="constrained")
    axes = figure.subplots()
    values = [float(value) for value in release.value]
    axes.plot(
        values, shares, marker="o", markersize=6, color=BLUE, linewidth=1.6, drawstyle="steps-post"
    )
    for value, share in zip(release.value, shares, strict=True):
        axes.annotate(
            f"{value:g}",
            (float(value), share),
            xytext=(6, -11),
            textcoords="offset points",
            fontsize=10,
        )
    axes.set_ylim(0, 1.05)
    axes.margins(x=0.08)
    axes.set_ylabel("share of people", fontsize=11)
    _finish(axes, title)
    axes.set_xlabel(
        f"privacy loss {release.loss!r}; the answers only", fontsize=9.5, color="#555555"
    )
    return figure


def spending_figure(
    charges: Sequence[tuple[datetime, Fraction, bool]], *, limit: Fraction, unit: str, title: str
) -> Figure:
    """A figure of the sum of all charges as steps, and of the limit.

    charges: for each, in order, its time, its amount, and whether an answer was given.
    unit: the unit of the amounts, such as epsilon or rho.
    """
    require_matplotlib()
    figure = blank_figure(7.5, 4, layout="constrained")
    axes = figure.subplots()
    axes.axhline(float(limit), color=VERMILION, linewidth=1.6, label="budget")
    if charges:
        _draw_charges(axes, charges)
    else:
        axes.text(
            0.5,
            0.5,
            "nothing was charged yet",
            transform=axes.transAxes,
            ha="center",
            color="#555555",
        )
        axes.set_xticks([])
    axes.set_ylim(0, 1.12 * float(limit))
    axes.set_ylabel(unit, fontsize=11)
    _finish(axes, title, grid="y")
    axes.tick_params(labelsize=10)
    axes.legend(
        fontsize=9.5,
        loc="upper left",
        bbox_to_anchor=(0, 0.87),
        frameon=True,
        framealpha=0.95,
        edgecolor="none",
    )
    return figure


def _draw_charges(axes: Axes, charges: Sequence[tuple[datetime, Fraction, bool]]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    times = [float(date2num(time)) for time, _, _ in charges]  # type: ignore[no-untyped-call]
    sums = [float(total) for total in accumulate(amount for _, amount, _ in charges)]
    corners = [times[0], *times], [0.0, *sums]
    axes.step(*corners, where="post", color=BLUE, linewidth=2, label="spent")
    axes.fill_between(*corners, step="post", color=BLUE, alpha=0.12, linewidth=0)
    axes.plot(times, sums, linestyle="", marker="o", markersize=4, color=BLUE)
    burnt = [place for place, (_, _, settled) in enumerate(charges) if not settled]
    if burnt:
        where = [times[place] for place in burnt], [sums[place] for place in burnt]
        axes.plot(
            *where,
            linestyle="",
            marker="X",
            markersize=8,
            color=ORANGE,
            label="charged, no answer",
        )
    margin = max(_HOUR, 0.05 * (times[-1] - times[0]))
    axes.set_xlim(times[0] - margin, times[-1] + margin)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def shares_figure(
    categories: Sequence[Any],
    shares: NDArray[np.float64],
    errors: NDArray[np.float64],
    *,
    note: str,
) -> Figure:
    """A figure with a bar for each category, in their order, and a line of two standard
    errors to each side.

    Of more than forty categories the ones with the largest shares are drawn.
    """
    require_matplotlib()
    drawn = np.sort(np.argsort(-shares, kind="stable")[:MOST_CATEGORIES])
    figure = blank_figure(7.5, 1.7 + 0.27 * len(drawn), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(drawn))
    percent, whiskers = 100 * shares[drawn], 200 * errors[drawn]
    axes.barh(places, percent, color=BLUE, height=0.66)
    axes.errorbar(
        percent, places, xerr=whiskers, fmt="none", ecolor=BLACK, elinewidth=1.2, capsize=2.5
    )
    axes.axvline(0, color=BLACK, linewidth=0.9)
    with boxes_for_unknown_letters():
        # a dollar in a label is a dollar, and not the start of a formula
        axes.set_yticks(
            places,
            [_printable(categories[place]) for place in drawn],
            parse_math=False,
            fontsize=10,
        )
    axes.invert_yaxis()
    axes.set_xlabel("estimated share in %, with two standard errors to each side", fontsize=10.5)
    left_out = len(shares) - len(drawn)
    also = f"; {left_out:,} smaller ones are not drawn" if left_out else ""
    _finish(axes, "Shares of the categories", grid="x")
    figure.supxlabel(note + also, fontsize=9, color=GREY, x=0.01, ha="left")
    axes.tick_params(axis="y", length=0)
    return figure


def _printable(label: Any, longest: int = _LONG) -> str:
    text = str(label)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def losses_figure(
    answers: Sequence[tuple[str, Any]], *, stated: float | None, title: str
) -> Figure:
    """A figure with a point for each answer, at the logarithm of how much likelier the
    first input makes it, two standard errors to each side, and lines at the stated
    loss.

    answers: each with its counts: `first` of `first_runs`, `second` of `second_runs`.
    """
    require_matplotlib()
    figure = blank_figure(7.5, 2.0 + 0.26 * max(1, len(answers)), layout="constrained")
    axes = figure.subplots()
    for place, (_, counts) in enumerate(answers):
        ratio, error = _log_ratio(counts)
        beyond = stated is not None and abs(ratio) - 2 * error > stated
        axes.errorbar(
            ratio,
            place,
            xerr=2 * error,
            fmt="o",
            color=VERMILION if beyond else BLUE,
            markersize=5,
            capsize=2.5,
        )
    axes.axvline(0, color=GREY, linewidth=0.8)
    for sign in (-1, 1) if stated is not None else ():
        axes.axvline(sign * (stated or 0.0), color=BLACK, linewidth=1.2, linestyle="--")
    with boxes_for_unknown_letters():
        axes.set_yticks(
            range(len(answers)),
            [_printable(answer, 36) for answer, _ in answers],
            parse_math=False,
            fontsize=9.5,
        )
    axes.invert_yaxis()
    axes.set_xlabel("log of how much likelier the first input makes the answer", fontsize=10)
    _finish(axes, title, size=11.5, grid="x")
    note = "two standard errors to each side"
    if stated is not None:
        note += f"; dashed: the claim, {stated:g}; orange: beyond it"
    figure.supxlabel(note, fontsize=9, color=GREY, x=0.01, ha="left")
    return figure


def _log_ratio(counts: Any) -> tuple[float, float]:
    """The logarithm of the ratio of two shares, and its standard error. Half a hit is
    added to each count, so that none is 0.
    """
    first, second = counts.first + 0.5, counts.second + 0.5
    ratio = math.log(first / (counts.first_runs + 1)) - math.log(second / (counts.second_runs + 1))
    return ratio, math.sqrt(1 / first + 1 / second)
