"""The figure of how many queries each analysis allows, against the epsilon of a query:
why to account by range instead of by sensitivity.

The queries are exponential mechanisms on scores that all move the same way, such as
counts. Their range is epsilon; the textbook, which looks at the sensitivity instead,
says that they are pure DP of twice the epsilon.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import ApproxDP, BoundedRange, ParameterError, PureDP
from discreet.accounting import GaussianApproximation, queries_by_analysis
from discreet.plots.figures import (
    BLACK,
    BLUE,
    GREEN,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY_BLUE,
    VERMILION,
    blank_figure,
    require_matplotlib,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIMIT = 16
"""How many times as many queries bounded range allows as the textbook, in the limit of
small epsilons.
"""

# seconds of computing after which no new point is begun, so that the curves may end early
# on their expensive side, the left
_SECONDS = 12.0
# the budget's epsilon is divided by these; even, so that the textbook's number of queries,
# at twice the epsilon, has no remainder
_PARTS = (
    2,
    4,
    6,
    8,
    10,
    14,
    20,
    30,
    50,
    100,
)
_TIMES = (1, 4, 8, 12, LIMIT)
_CROSS = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class AnalysisCurve:
    """One analysis in the figure: its key in the counts, its words, and how it is drawn."""

    name: str
    label: str
    color: str
    marker: str
    dashes: str = "-"
    width: float = 1.5


# markers and dashes are for those who see no colours
CURVES = (
    AnalysisCurve(
        "gaussian", "Gaussian limit: approximation, not a guarantee", BLACK, "", ":", 1.8
    ),
    AnalysisCurve(
        "bounded-range-non-adaptive", "bounded range, non-adaptive", PURPLE, "D", "--", 1.6
    ),
    AnalysisCurve("bounded-range-adaptive", "bounded range, adaptive", GREEN, "o", "-", 2.6),
    AnalysisCurve("rdp", "Renyi DP", BLUE, "s"),
    AnalysisCurve("zcdp", "concentrated DP", SKY_BLUE, "^"),
    AnalysisCurve("kov", "pure DP, optimal", VERMILION, "v"),
    AnalysisCurve("basic", "epsilons add up", ORANGE, "P"),
    AnalysisCurve("textbook-kov", "textbook (2 ε): pure DP, optimal", BLACK, "x", "-", 1.8),
    AnalysisCurve("textbook-basic", "textbook (2 ε): epsilons add up", LIGHT_GREY, "+"),
)
"""The curves, from the most queries to the fewest."""

QueryCounts = dict[str, list[int | None]]
"""For each curve how many queries it allows at each epsilon; None if it does not say."""


def queries_figure(
    budget: ApproxDP,
    *,
    epsilons: Sequence[Fraction] | None = None,
    marked: tuple[Fraction, int] | None = None,
) -> Figure:
    """The figure for a budget: the queries that each analysis allows, and how many
    times the textbook's number that is.

    epsilons: the epsilons of a query at which the analyses are asked; if None, from half
        to a hundredth of the budget's epsilon.
    marked: an epsilon and a number of queries to be marked.

    Cost: some ten seconds at most; then the curves end where they are.
    """
    require_matplotlib()
    if not budget.delta:
        raise ParameterError(
            "budget", "a budget with a delta greater than 0", budget, owner="queries_figure"
        )
    chosen = sorted(
        epsilons if epsilons is not None else [budget.epsilon / parts for parts in _PARTS],
        reverse=True,
    )
    counts = _count(budget, chosen)
    return _draw(budget, [float(epsilon) for epsilon in chosen], counts, marked)


def _count(budget: ApproxDP, epsilons: Sequence[Fraction]) -> QueryCounts:
    """Ask every analysis at every epsilon, the cheap large ones first."""
    largest_mu = _largest_mu(budget)
    counts: QueryCounts = {curve.name: [] for curve in CURVES}
    stop = time.process_time() + _SECONDS
    for epsilon in epsilons:
        each, doubled = BoundedRange(epsilon), PureDP(2 * epsilon)
        known: dict[str, int | None] = {
            "gaussian": int((largest_mu / GaussianApproximation.of({each: 1}).mu) ** 2)
        }
        if time.process_time() < stop:
            known |= queries_by_analysis(each=each, budget=budget)
            # one curve for both analyses: the second is better where the first is coarse
            both = (known["bounded-range-adaptive"], known.pop("dominating-pairs"))
            known["bounded-range-adaptive"] = max(
                (most for most in both if most is not None), default=None
            )
            textbook = queries_by_analysis(each=doubled, budget=budget)
            known |= {f"textbook-{name}": textbook[name] for name in ("basic", "kov")}
        for name, column in counts.items():
            column.append(known.get(name))
    return counts


def _largest_mu(budget: ApproxDP) -> float:
    """The largest mu of a Gaussian mechanism that fits the budget, found by halving. It
    is an approximation, and so is the curve that is made from it.
    """
    low, high = 0.0, 1.0
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    while GaussianApproximation(high).delta(epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if GaussianApproximation(middle).delta(epsilon) <= delta
            else (low, middle)
        )
    return low


def _draw(
    budget: ApproxDP,
    epsilons: list[float],
    counts: QueryCounts,
    marked: tuple[Fraction, int] | None,
) -> Figure:
    from matplotlib.ticker import FuncFormatter

    figure = blank_figure(8, 7.6, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
    for curve in CURVES:
        _plot(upper, curve, epsilons, counts[curve.name])
    upper.set_yscale("log")
    upper.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    upper.set_ylabel("queries allowed", fontsize=11)
    upper.set_title(
        f"Queries that fit a budget of ε = {_short(budget.epsilon)}, δ = {_short(budget.delta)}",
        fontsize=13,
        loc="left",
        weight="bold",
    )
    if marked is not None:
        _mark(upper, lower, float(marked[0]), marked[1])
    _draw_ratios(lower, epsilons, counts)
    for axes in (upper, lower):
        axes.grid(True, which="major", color="#e3e3e3", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=10)
    _label_epsilons(lower)
    upper.legend(fontsize=9.5, frameon=True, framealpha=0.95, edgecolor="none", loc="upper right")
    return figure


def _plot(
    axes: Axes, curve: AnalysisCurve, epsilons: Sequence[float], values: Sequence[float | None]
) -> None:
    known = [(epsilon, value) for epsilon, value in zip(epsilons, values, strict=True) if value]
    axes.plot(
        [epsilon for epsilon, _ in known],
        [value for _, value in known],
        label=curve.label,
        color=curve.color,
        linestyle=curve.dashes,
        linewidth=curve.width,
        marker=curve.marker or None,
        markersize=4.5,
        markeredgewidth=1.3 if curve.marker in ("x", "+") else 0,
        zorder=2
        + len(CURVES)
        # where curves meet, the earlier, thinner ones lie above the thick one
        - CURVES.index(curve),
    )


def _draw_ratios(axes: Axes, epsilons: Sequence[float], counts: QueryCounts) -> None:
    """Draw how many times the textbook's number bounded range allows, and the limit."""
    textbook = counts["textbook-kov"]
    for curve in CURVES:
        if curve.name.startswith("bounded-range"):
            ratios = [
                more / fewer if more and fewer else None
                for more, fewer in zip(counts[curve.name], textbook, strict=True)
            ]
            _plot(axes, curve, epsilons, ratios)
    axes.axhline(LIMIT, color=VERMILION, linewidth=1.4, label="limit")
    axes.annotate(
        f"{LIMIT}{_CROSS} is the limit for small ε",
        (1, LIMIT),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 4),
        textcoords="offset points",
        ha="right",
        fontsize=10,
        color=VERMILION,
    )
    axes.set_ylim(0, 1.25 * LIMIT)
    axes.set_yticks(_TIMES, [f"{times}{_CROSS}" for times in _TIMES])
    axes.set_ylabel("bounded range\n÷ textbook", fontsize=11)


def _short(value: Fraction) -> str:
    """A number as people write it.

    >>> _short(Fraction(1, 10**6)), _short(Fraction(1, 2))
    ('1e-6', '0.5')
    """
    return f"{float(value):g}".replace("e-0", "e-")


def _mark(upper: Axes, lower: Axes, epsilon: float, queries: int) -> None:
    """Mark the epsilon and the number of queries that were asked for."""
    for axes in (upper, lower):
        axes.axvline(epsilon, color=LIGHT_GREY, linewidth=1, zorder=0)
    if queries:
        upper.plot(
            [epsilon],
            [queries],
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=BLACK,
            zorder=20,
        )
    upper.annotate(
        f"{queries:,} {'query' if queries == 1 else 'queries'} of {epsilon:.3g}",
        (epsilon, 0),
        xycoords=("data", "axes fraction"),
        xytext=(5, 6),
        textcoords="offset points",
        fontsize=10,
    )


def _label_epsilons(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_xlabel("ε of each query", fontsize=11)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
