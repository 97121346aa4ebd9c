"""The pictures of analyses: what was spent, the shares of categories, and what an audit saw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from discreet.rendering.charts import (
    Curve,
    Scale,
    axes,
    drawn_curves,
    key_below,
    notes_below,
    number,
    titled,
)
from discreet.rendering.html import fitted
from discreet.rendering.picture import Box, Colour, Dot, Line, Picture, Shape, Text

MOST_CATEGORIES = 40
"""How many categories a picture has room for."""

_WIDE, _MARGIN, _TOP, _STEP = 640.0, 20.0, 62.0, 26.0
_BARS, _END = 200.0, 600.0
# hours between two marks of a scale of time
_HOURS = (1, 3, 6, 12, 24, 48, 168, 336, 720, 2160, 8760, 87600)
_MOST_MARKS = 6


def spending(
    charges: Sequence[tuple[datetime, Fraction, bool]], *, limit: Fraction, unit: str, title: str
) -> Picture:
    """The sum of all charges as steps, and the limit.

    charges: for each, in order, its time, its amount, and whether an answer was given.
    unit: the unit of the amounts, such as epsilon or rho.
    """
    left, right, bottom = 84.0, _WIDE - 40, 330.0
    first = charges[0][0] if charges else datetime.now()
    times = [(time - first) / timedelta(hours=1) for time, _, _ in charges]
    sums = [float(total) for total in accumulate(amount for _, amount, _ in charges)]
    margin = max(1.0, 0.05 * times[-1]) if times else 1.0
    low, high = -margin, (times[-1] if times else 0.0) + margin
    x = Scale(low=low, high=high, start=left, end=right, marks=_dates(first, low, high))
    y = Scale(low=0.0, high=1.1 * float(limit), start=bottom, end=_TOP)
    shapes: list[Shape] = [titled(title), *axes(x, y, "", unit)]
    # what is spent is an area, so that it is seen how little or how much is left
    for (start, total), (end, _) in pairwise([*zip(times, sums, strict=True), (high, 0.0)]):
        shapes.append(
            Box(
                x=x.place(start),
                y=y.place(total),
                width=x.place(end) - x.place(start),
                height=bottom - y.place(total),
            )
        )
    key = [
        Curve(name="budget", points=[(low, float(limit)), (high, float(limit))], colour="second")
    ]
    if charges:
        corners = [(times[0], 0.0), *zip(times, sums, strict=True), (high, sums[-1])]
        key.append(Curve(name="spent", points=corners, colour="first"))
    shapes += drawn_curves(key[1:], x, y, steps=True) + drawn_curves(key[:1], x, y)
    lost = [place for place, (_, _, settled) in enumerate(charges) if not settled]
    shapes += [Dot(x=x.place(times[p]), y=y.place(sums[p]), colour="warning") for p in lost]
    notes = [] if charges else ["Nothing was charged yet."]
    spent = f"{number(sums[-1]) if sums else 0} of {number(float(limit))} {unit} is spent."
    notes += [f"Dots: charged, and no answer was given ({len(lost):,})."] if lost else []
    shapes += key_below(key, bottom + 30)
    below = notes_below([spent, *notes], bottom + 36 + 19 * len(key))
    return Picture(
        width=_WIDE,
        height=bottom + 36 + 19 * (len(key) + len(below)) + _MARGIN,
        title=title,
        description=" ".join([spent, *notes]),
        shapes=[*shapes, *below],
    )


def _dates(first: datetime, low: float, high: float) -> list[tuple[float, str]]:
    """Marks of a scale of time, in hours since the first charge: days, or hours of a day."""
    step = next((each for each in _HOURS if (high - low) / each <= _MOST_MARKS), _HOURS[-1])
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    start = (midnight - first) / timedelta(hours=1)
    marks: list[tuple[float, str]] = []
    for place in range(math.ceil((low - start) / step), math.floor((high - start) / step) + 1):
        time = midnight + timedelta(hours=place * step)
        text = f"{time:%b} {time.day}" if step >= 24 or not time.hour else f"{time:%H:%M}"
        marks.append((start + place * step, f"{text}, {time.year}" if step >= 720 else text))
    return marks


def shares(
    categories: Sequence[Any], values: Sequence[float], errors: Sequence[float], *, note: str
) -> Picture:
    """A bar for each category, in their order, and a line of two standard errors to each side.

    Of more than forty categories the ones with the largest shares are drawn.
    """
    order = sorted(range(len(values)), key=lambda place: -values[place])
    drawn = sorted(order[:MOST_CATEGORIES])
    reach = [(values[place], 2 * errors[place]) for place in drawn]
    low = min(0.0, *(share - error for share, error in reach))
    high = max(0.01, *(share + error for share, error in reach))
    x = Scale(low=100 * low, high=100 * high, start=_BARS, end=_END)
    shapes: list[Shape] = []
    for row, (place, (share, error)) in enumerate(zip(drawn, reach, strict=True)):
        y, ends = _TOP + row * _STEP, sorted((x.place(0), x.place(100 * share)))
        whisker = [x.place(100 * (share - error)), x.place(100 * (share + error))]
        shapes += [
            Text(x=_MARGIN, y=y + 14, text=fitted(categories[place], _BARS - 36, 13), size=13),
            Box(x=ends[0], y=y, width=ends[1] - ends[0], height=18),
            Line(points=[(at, y + 9) for at in whisker], colour="ink", width=1.5),
        ]
    left_out = len(values) - len(drawn)
    notes = ["Estimated share in %, with two standard errors to each side.", note]
    notes += [f"{left_out:,} smaller ones are not drawn."] if left_out else []
    told = (f"{categories[place]}: {100 * values[place]:.1f}%" for place in drawn)
    return _rows(shapes, len(drawn), x, "Shares of the categories", "; ".join(told), notes)


def losses(answers: Sequence[tuple[str, Any]], *, stated: float | None, title: str) -> Picture:
    """A point for each answer, at the logarithm of how much likelier the first input makes it,
    two standard errors to each side, and lines at the stated loss.

    answers: each with its counts: `first` of `first_runs`, `second` of `second_runs`.
    """
    ratios = [_log_ratio(counts) for _, counts in answers]
    most = max([stated or 0.0, 0.1, *(abs(ratio) + 2 * error for ratio, error in ratios)])
    x = Scale(low=-most, high=most, start=_BARS, end=_END)
    bottom = _TOP + len(answers) * _STEP
    shapes: list[Shape] = [
        Line(points=[(at, _TOP), (at, bottom)], dashes=dashes, width=1.2, colour="faint")
        for at, dashes in [
            (x.place(0), False),
            *((x.place(sign * stated), True) for sign in (-1, 1) if stated is not None),
        ]
    ]
    for row, ((answer, _), (ratio, error)) in enumerate(zip(answers, ratios, strict=True)):
        y = _TOP + row * _STEP + 13
        beyond = stated is not None and abs(ratio) - 2 * error > stated
        ends = [(x.place(ratio - 2 * error), y), (x.place(ratio + 2 * error), y)]
        colour: Colour = "second" if beyond else "first"
        shapes += [
            Text(x=_MARGIN, y=y + 4, text=fitted(answer, _BARS - 36, 13), size=13),
            Line(points=ends, colour=colour, width=1.5),
            Dot(x=x.place(ratio), y=y, colour=colour),
        ]
    notes = ["Log of how much likelier the first input makes it, with two standard errors."]
    notes += [] if stated is None else [f"Dashed: the claim, {stated:g}. Orange: beyond it."]
    told = (
        f"{answer}: {ratio:+.2f}" for (answer, _), (ratio, _) in zip(answers, ratios, strict=True)
    )
    return _rows(shapes, len(answers), x, title, "; ".join(told), notes)


def _rows(
    shapes: Sequence[Shape], rows: int, x: Scale, title: str, told: str, notes: Sequence[str]
) -> Picture:
    """A picture with a row for each of its things, and a scale below them."""
    bottom = _TOP + rows * _STEP + 4
    scale: list[Shape] = [
        Line(points=[(x.start, bottom), (x.end, bottom)], colour="faint", width=1)
    ]
    for tick, text in x.ticks():
        at = x.place(tick)
        scale += [
            Line(points=[(at, _TOP), (at, bottom)], colour="rule", width=1),
            Text(x=at, y=bottom + 16, text=text, size=12, side="middle"),
        ]
    below = notes_below(notes, bottom + 20)
    return Picture(
        width=_WIDE,
        height=bottom + 20 + 19 * len(below) + _MARGIN,
        title=title,
        description=" ".join([f"{told}.", *notes]),
        shapes=[titled(title), *scale, *shapes, *below],
    )


def _log_ratio(counts: Any) -> tuple[float, float]:
    """The logarithm of the ratio of two shares, and its standard error. Half a hit is
    added to each count, so that none is 0.
    """
    first, second = counts.first + 0.5, counts.second + 0.5
    ratio = math.log(first / (counts.first_runs + 1)) - math.log(second / (counts.second_runs + 1))
    return ratio, math.sqrt(1 / first + 1 / second)
