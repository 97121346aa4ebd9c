"""The pictures of answers: a winner, a ranking, a budget, and lines over a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from discreet.rendering.html import fitted, shown, width
from discreet.rendering.picture import Box, Colour, Dot, Line, Picture, Shape, Text

_LINES: tuple[Colour, ...] = ("first", "second", "third", "fourth")
_MARGIN, _TITLE, _NOTE = 20.0, 20.0, 13.0
_WIDE = 640.0
_LETTERS = 88
NOTHING_MORE = "nothing more stands out"
"""The last line of a list that is shorter than was asked for."""
MOST_PLACES = 100
"""How many places of a list a picture has room for."""


def notes_below(notes: Sequence[str], top: float) -> list[Shape]:
    """Sentences below a picture, broken into lines that fit."""
    lines = [line for note in notes for line in _broken(note)]
    return [
        Text(x=_MARGIN, y=top + 19 * (place + 1), text=line, size=_NOTE, colour="faint")
        for place, line in enumerate(lines)
    ]


def _broken(text: str) -> list[str]:
    lines = [""]
    for word in shown(text, 600).split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _LETTERS:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def ranking(
    labels: Sequence[Any],
    *,
    title: str,
    notes: Sequence[str] = (),
    counts: Sequence[float] | None = None,
    error: float | None = None,
    ranked: bool = True,
    asked: int = 0,
) -> Picture:
    """A list in its order. Bars have one length, unless there are released counts to
    draw.

    asked: how many places were asked for. A shorter list says that nothing more stands out.

    error: how far each count can be off, drawn as a line at the end of its bar.
    ranked: whether the order is part of the answer; then each name has its place.
    """
    names, step, top = _MARGIN + (34 if ranked else 0), 30.0, _MARGIN + _TITLE + 18
    # names are on the bars, or to the left of them if bars may be short
    bars = names if counts is None else names + 220
    room = _WIDE - bars - _MARGIN - (0 if counts is None else 110)
    listed = [
        fitted(label, 0.92 * (bars - names or room) - 16, 14) for label in labels[:MOST_PLACES]
    ]
    largest = max([*(counts or []), 1.0]) + (error or 0.0)
    shapes: list[Shape] = [titled(title)]
    for place, label in enumerate(listed):
        y = top + place * step
        count = None if counts is None else max(0.0, float(counts[place]))
        long = room if count is None else room * count / largest
        if ranked:
            number = str(place + 1)
            shapes.append(
                Text(x=names - 10, y=y + 17, text=number, size=13, colour="faint", side="end")
            )
        shapes += [
            Box(x=bars, y=y, width=long, height=24),
            Text(x=names + (8 if counts is None else 0), y=y + 17, text=label),
        ]
        if count is not None:
            reach = 0.0 if error is None else room * error / largest
            ends = max(bars, bars + long - reach), min(bars + room, bars + long + reach)
            shapes += _counted(count, ends, y, error)
    rows, more = len(listed), len(labels) - len(listed)
    if not labels or len(labels) < asked:
        text = NOTHING_MORE if labels else "nothing stands out"
        shapes.append(Text(x=names, y=top + rows * step + 17, text=f"⊥ {text}", colour="faint"))
        rows += 1
    told = [*([f"and {more:,} more"] if more else []), *notes]
    order = "In order" if ranked else "Listed"
    below = notes_below(told, top + rows * step)
    return Picture(
        width=_WIDE,
        height=top + rows * step + 19 * len(below) + _MARGIN,
        title=title,
        description=" ".join([f"{order}: {', '.join(listed)}.", *notes]),
        shapes=[*shapes, *below],
    )


def _counted(count: float, ends: tuple[float, float], y: float, error: float | None) -> list[Shape]:
    """A released count in figures, and a line as long as it may be off."""
    text = f"{count:,.0f}" if error is None else f"{count:,.0f} ± {error:,.0f}"
    told: list[Shape] = [Text(x=_WIDE - _MARGIN, y=y + 17, text=text, size=13, side="end")]
    if error is not None:
        told.append(Line(points=[(end, y + 12) for end in ends], colour="faint", width=1.5))
    return told


def winner(label: Any, *, title: str, notes: Sequence[str] = ()) -> Picture:
    """One answer, in large letters."""
    text = shown(label, 60)
    size = min(40.0, (_WIDE - 2 * _MARGIN) / max(width(text), 1))
    top = _MARGIN + _TITLE + 24
    below = notes_below(notes, top + size + 6)
    return Picture(
        width=_WIDE,
        height=top + size + 6 + 19 * len(below) + _MARGIN,
        title=title,
        description=" ".join([f"The answer is {text}.", *notes]),
        shapes=[
            titled(title),
            Text(x=_MARGIN, y=top + size * 0.8, text=text, size=size, colour="first", bold=True),
            *below,
        ],
    )


def titled(title: str) -> Text:
    """The title of a picture."""
    text = shown(title, 60)
    return Text(x=_MARGIN, y=_MARGIN + _TITLE * 0.8, text=text, size=17, bold=True)


def meter(spent: float, total: float, *, title: str, notes: Sequence[str] = ()) -> Picture:
    """A bar that shows how much of a budget is spent."""
    share = 0.0 if total <= 0 else min(1.0, max(0.0, spent / total))
    top, room = _MARGIN + _TITLE + 16, _WIDE - 2 * _MARGIN
    below = notes_below(notes, top + 26)
    percent = f"{100 * share:.0f}% spent"
    return Picture(
        width=_WIDE,
        height=top + 26 + 19 * len(below) + _MARGIN,
        title=title,
        description=" ".join([f"{percent}.", *notes]),
        shapes=[
            titled(title),
            Box(x=_MARGIN, y=top, width=room, height=22, colour="rule"),
            Box(x=_MARGIN, y=top, width=room * share, height=22, colour="first"),
            *below,
        ],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line of a chart, with its name.

    colour: left out, the next one of the palette.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: Colour | None = None
    dashes: bool = False
    width: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The map from numbers to places on the paper, evenly or by logarithms.

    marks: the numbers that are written beside it, with their texts; left out, round ones.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    marks: Sequence[tuple[float, str]] | None = None

    def place(self, value: float) -> float:
        """The place of a number."""
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(value)
        share = 0.5 if high == low else (at - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Sequence[tuple[float, str]]:
        """The numbers that are written beside it, with their texts."""
        if self.marks is not None:
            return self.marks
        if not self.logarithmic:
            return [(tick, number(tick)) for tick in _even_ticks(self.low, self.high)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        fine = (1, 2, 5) if self.high / self.low < 2000 else (1,)
        marks = [digit * 10.0**decade for decade in decades for digit in fine]
        return [
            (mark, number(mark)) for mark in marks if self.low * 0.999 <= mark <= self.high * 1.001
        ]


def _even_ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / 5 or 1.0
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [step * place for place in range(first, math.floor(high / step + 1e-9) + 1)]


def lines(
    curves: Sequence[Curve],
    *,
    title: str,
    across: str,
    up: str,
    notes: Sequence[str] = (),
    logarithmic: tuple[bool, bool] = (True, True),
    dots: bool = False,
    steps: bool = False,
) -> Picture:
    """Lines over a scale, each named at its right end; names that would touch move
    apart.

    across, up: the names of the axes, with their units.
    dots: whether each point is marked.
    logarithmic: whether the scale across, and the one upwards, is logarithmic.
    steps: whether the line changes its height at the points only.
    """
    left, right, top, bottom = 84.0, _WIDE - 150.0, _MARGIN + _TITLE + 26, 360.0
    every = [point for curve in curves for point in curve.points]
    x = Scale(
        low=min(p[0] for p in every),
        high=max(p[0] for p in every),
        start=left,
        end=right,
        logarithmic=logarithmic[0],
    )
    y = Scale(
        low=min(p[1] for p in every),
        high=max(p[1] for p in every),
        start=bottom,
        end=top,
        logarithmic=logarithmic[1],
    )
    shapes = [titled(title), *axes(x, y, across, up), *drawn_curves(curves, x, y, dots, steps)]
    ends = [
        (y.place(curve.points[-1][1]), curve.name, colour_of(curve, place))
        for place, curve in enumerate(curves)
    ]
    shapes += _named(ends, right + 8)
    if steps:
        # each point is one answer: its value stands beside it
        shapes += [
            Text(x=x.place(a) + 7, y=y.place(b) + 15, text=number(a), size=12, colour="faint")
            for curve in curves
            for a, b in curve.points
        ]
    below = notes_below(notes, bottom + 58)
    return Picture(
        width=_WIDE,
        height=bottom + 58 + 19 * len(below) + _MARGIN,
        title=title,
        description=" ".join([_described(curves, across, up), *notes]),
        shapes=[*shapes, *below],
    )


def colour_of(curve: Curve, place: int) -> Colour:
    """The colour of a curve: its own, or the one for its place."""
    return curve.colour or _LINES[place % len(_LINES)]


def drawn_curves(
    curves: Sequence[Curve], x: Scale, y: Scale, dots: bool = False, steps: bool = False
) -> list[Shape]:
    """The lines of curves, and their points if they are marked."""
    shapes: list[Shape] = []
    for place, curve in enumerate(curves):
        colour = colour_of(curve, place)
        drawn = [(x.place(a), y.place(b)) for a, b in curve.points]
        path = _stepped(drawn) if steps else drawn
        dashes = curve.dashes or (place >= len(_LINES) and curve.colour is None)
        shapes.append(Line(points=path, colour=colour, dashes=dashes, width=curve.width))
        shapes += [Dot(x=a, y=b, colour=colour) for a, b in drawn] if dots else []
    return shapes


def _stepped(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    path = points[:1]
    for before, after in pairwise(points):
        path += [(after[0], before[1]), after]
    return path


def axes(x: Scale, y: Scale, across: str, up: str) -> list[Shape]:
    """The two scales with their names, and a line across the paper for each mark upwards."""
    shapes: list[Shape] = []
    for tick, text in y.ticks():
        at = y.place(tick)
        shapes += [
            Line(points=[(x.start, at), (x.end, at)], colour="rule", width=1),
            Text(x=x.start - 8, y=at + 4, text=text, size=12, side="end"),
        ]
    last = -math.inf
    for tick, text in x.ticks():
        at = x.place(tick)
        # a number that would touch the one before it is left out
        if at - last < 12 * width(text) + 8:
            continue
        last = at
        shapes += [
            Line(points=[(at, y.start), (at, y.start + 5)], colour="faint", width=1),
            Text(x=at, y=y.start + 20, text=text, size=12, side="middle"),
        ]
    middle = (x.start + x.end) / 2
    return [
        *shapes,
        Line(points=[(x.start, y.start), (x.end, y.start)], colour="faint", width=1),
        Text(x=middle, y=y.start + 42, text=across, size=13, side="middle"),
        Text(x=22, y=(y.start + y.end) / 2, text=up, size=13, side="middle", upright=True),
    ]


def key_below(curves: Sequence[Curve], top: float) -> list[Shape]:
    """The names of curves below a chart, each beside a piece of its line."""
    shapes: list[Shape] = []
    for place, curve in enumerate(curves):
        y, colour = top + 19 * (place + 1), colour_of(curve, place)
        ends = [(84.0, y - 4), (118.0, y - 4)]
        shapes += [
            Line(points=ends, colour=colour, dashes=curve.dashes, width=curve.width),
            Text(x=128, y=y, text=curve.name, size=_NOTE),
        ]
    return shapes


def _named(ends: list[tuple[float, str, Colour]], x: float) -> list[Shape]:
    """Names at the ends of lines, at least a line of text apart, in the order of the ends."""
    shapes: list[Shape] = []
    last = -math.inf
    for end, name, colour in sorted(ends, key=lambda each: each[0]):
        last = max(end + 4, last + 17)
        shapes.append(Text(x=x, y=last, text=shown(name, 22), size=13, colour=colour))
    return shapes


def _described(curves: Sequence[Curve], across: str, up: str) -> str:
    told = [
        f"{curve.name}: from {number(curve.points[0][1])} to {number(curve.points[-1][1])}"
        for curve in curves
    ]
    return f"{up} over {across}. {'; '.join(told)}."


def number(value: float) -> str:
    """A number beside a scale."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
