"""The picture of how many queries each analysis allows, against the epsilon of a query:
why to account by range instead of by sensitivity.

The queries are exponential mechanisms on scores that all move the same way, such as
counts. Their range is epsilon; the textbook, which looks at the sensitivity instead,
says that they are pure DP of twice the epsilon.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet import ApproxDP, BoundedRange, ParameterError, PureDP
from discreet.accounting import GaussianApproximation, queries_by_analysis
from discreet.rendering.charts import Curve, Scale, axes, drawn_curves, key_below, titled
from discreet.rendering.picture import Colour, Dot, Line, Picture, Shape, Text

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
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 620.0, 62.0, 400.0
_LOWER_TOP, _LOWER_BOTTOM = 428.0, 530.0


@dataclass(frozen=True, slots=True)
class AnalysisCurve:
    """One analysis in the picture: its key in the counts, its words, and how it is drawn."""

    name: str
    label: str
    colour: Colour
    dashes: bool = False
    width: float = 1.6

    def curve(self, points: Sequence[tuple[float, float]]) -> Curve:
        """Its line through these points."""
        return Curve(
            name=self.label, points=points, colour=self.colour, dashes=self.dashes, width=self.width
        )


# dashes and widths are for those who see no colours
CURVES = (
    AnalysisCurve("gaussian", "Gaussian limit: approximation, not a guarantee", "ink", True, 1.8),
    AnalysisCurve("bounded-range-non-adaptive", "bounded range, non-adaptive", "fourth", True, 1.8),
    AnalysisCurve("bounded-range-adaptive", "bounded range, adaptive", "third", False, 3.4),
    AnalysisCurve("rdp", "Renyi DP", "first"),
    AnalysisCurve("zcdp", "concentrated DP", "fifth"),
    AnalysisCurve("kov", "pure DP, optimal", "second"),
    AnalysisCurve("basic", "epsilons add up", "sixth"),
    AnalysisCurve("textbook-kov", "textbook (2 ε): pure DP, optimal", "ink", False, 2.2),
    AnalysisCurve("textbook-basic", "textbook (2 ε): epsilons add up", "faint"),
)
"""The curves, from the most queries to the fewest."""

QueryCounts = dict[str, list[int | None]]
"""For each curve how many queries it allows at each epsilon; None if it does not say."""


def queries(
    budget: ApproxDP,
    *,
    epsilons: Sequence[Fraction] | None = None,
    marked: tuple[Fraction, int] | None = None,
) -> Picture:
    """The picture for a budget: the queries that each analysis allows, and how many
    times the textbook's number that is.

    epsilons: the epsilons of a query at which the analyses are asked; if None, from half
        to a hundredth of the budget's epsilon.
    marked: an epsilon and a number of queries to be marked.

    Cost: some ten seconds at most; then the curves end where they are.
    """
    if not budget.delta:
        raise ParameterError(
            "budget", "a budget with a delta greater than 0", budget, owner="queries"
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
) -> Picture:
    """How many queries each analysis allows, and below it how many times the textbook's number."""
    title = f"Queries that fit a budget of ε = {_short(budget.epsilon)}, δ = {_short(budget.delta)}"
    known = {
        curve.name: [
            (epsilon, float(count))
            for epsilon, count in zip(epsilons, counts[curve.name], strict=True)
            if count
        ]
        for curve in CURVES
    }
    curves = [each.curve(known[each.name]) for each in CURVES if known[each.name]]
    every = [count for curve in curves for _, count in curve.points]
    x = Scale(
        low=min(epsilons) / 1.15,
        high=max(epsilons) * 1.15,
        start=_LEFT,
        end=_RIGHT,
        logarithmic=True,
    )
    y = Scale(low=0.8, high=1.3 * max(every), start=_BOTTOM, end=_TOP, logarithmic=True)
    lower = Scale(
        low=0, high=1.25 * LIMIT, start=_LOWER_BOTTOM, end=_LOWER_TOP,
        marks=[(times, f"{times}{_CROSS}") for times in _TIMES],
    )  # fmt: skip
    # where curves meet, the earlier, thinner ones lie above the thick one
    shapes: list[Shape] = [
        titled(title),
        *axes(replace(x, marks=()), y, "", "queries allowed"),
        *axes(x, lower, "ε of each query", "÷ textbook"),
        *([] if marked is None else _mark(x, y, float(marked[0]), marked[1])),
        *drawn_curves(curves[:0:-1], x, y, dots=True),
        # the first is no guarantee, and has no marks
        *drawn_curves(curves[:1], x, y),
        *drawn_curves(_ratios(epsilons, counts)[::-1], x, lower, dots=True),
        Line(points=[(_LEFT, lower.place(LIMIT)), (_RIGHT, lower.place(LIMIT))], colour="second"),
        Text(
            x=_RIGHT, y=lower.place(LIMIT) - 5, text=f"{LIMIT}{_CROSS} is the limit for small ε",
            size=12, colour="second", side="end",
        ),
    ]  # fmt: skip
    top = _LOWER_BOTTOM + 52
    told = [f"{curve.name}: {curve.points[0][1]:,.0f} queries" for curve in curves]
    said = f"At epsilon {curves[0].points[0][0]:g} each: {'; '.join(told)}." if curves else ""
    return Picture(
        width=640,
        height=top + 19 * len(curves) + 24,
        title=title,
        description=said,
        shapes=[*shapes, *key_below(curves, top)],
    )


def _ratios(epsilons: Sequence[float], counts: QueryCounts) -> list[Curve]:
    """How many times the textbook's number bounded range allows."""
    curves = [
        each.curve(
            [
                (epsilon, more / fewer)
                for epsilon, more, fewer in zip(
                    epsilons, counts[each.name], counts["textbook-kov"], strict=True
                )
                if more and fewer
            ]
        )
        for each in CURVES
        if each.name.startswith("bounded-range")
    ]
    return [curve for curve in curves if curve.points]


def _short(value: Fraction) -> str:
    """A number as people write it.

    >>> _short(Fraction(1, 10**6)), _short(Fraction(1, 2))
    ('1e-6', '0.5')
    """
    return f"{float(value):g}".replace("e-0", "e-")


def _mark(x: Scale, y: Scale, epsilon: float, queries: int) -> list[Shape]:
    """Mark the epsilon and the number of queries that were asked for."""
    if not x.low <= epsilon <= x.high:
        return []
    at = x.place(epsilon)
    shapes: list[Shape] = [
        Line(points=[(at, _TOP), (at, _BOTTOM)], colour="faint", width=1),
        Line(points=[(at, _LOWER_TOP), (at, _LOWER_BOTTOM)], colour="faint", width=1),
        Text(
            x=at - 6, y=_BOTTOM - 8, size=13, side="end",
            text=f"{queries:,} {'query' if queries == 1 else 'queries'} of {epsilon:.3g}",
        ),
    ]  # fmt: skip
    return [*shapes, Dot(x=at, y=y.place(queries), radius=8, colour="bar")] if queries else shapes
