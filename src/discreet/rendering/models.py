"""Released models as tables and pictures: their numbers beside the names of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.rendering.charts import notes_below
from discreet.rendering.html import fitted, shown
from discreet.rendering.picture import Box, Colour, Dot, Line, Picture, Shape, Text

_FITTED = {
    "subspace-exponential": "directions",
    "peeling-covariance": "squares",
    "squared-ball": "coefficients",
    "logistic-ball": "coefficients",
    "deepest-point": "point",
}
"""The kind of model that each mechanism releases."""

MOSTLY = "mostly along"
"""The heading above the columns that a direction has most of."""

_WIDE, _MARGIN, _STEP = 640.0, 20.0, 24.0
_TOP = _MARGIN + 38.0
_BARS, _END = 260.0, 560.0
_MOST_DRAWN = 60
_STRONGEST = 3
_COLOURS: tuple[Colour, ...] = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Model:
    """The numbers of a model.

    kind: "directions", "squares", "coefficients" or "point".
    columns: the names that its numbers belong to.
    error: how far each sum of squares can be off, where that is known.
    ranges: the bounds of a point.
    """

    kind: str
    value: Sequence[Any]
    columns: Sequence[str]
    error: float | None = None
    ranges: Sequence[tuple[float, float]] = ()

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows, for people to read."""
        if self.kind == "directions":
            headings = [f"direction {place}" for place in range(1, len(self.value) + 1)]
            parts = zip(self.columns, *self.value, strict=True)
            return ["column", *headings], [[name, *map(_signed, row)] for name, *row in parts]
        if self.kind == "squares":
            rows = [
                [str(place), f"{total:,.4g}", self._strongest(direction)]
                for place, (total, direction) in enumerate(self.value, start=1)
            ]
            return ["direction", "sum of squares", MOSTLY], rows
        if self.kind == "point":
            return ["column", "value"], [
                [name, f"{value:g}"] for name, value in zip(self.columns, self.value, strict=True)
            ]
        return ["column", "coefficient"], [
            [name, _signed(value)] for name, value in zip(self.columns, self.value, strict=True)
        ]

    def _strongest(self, direction: Sequence[float]) -> str:
        """The columns that a direction has most of."""
        order = sorted(range(len(direction)), key=lambda place: -abs(direction[place]))
        return ", ".join(
            f"{_signed(direction[place])} {self.columns[place]}" for place in order[:_STRONGEST]
        )

    def picture(self, *, title: str, notes: Sequence[str]) -> Picture:
        """A picture of the model: bars from 0 for coefficients and directions, a scree
        plot for sums of squares, and a dot between its bounds for each number of a
        point.
        """
        shapes, height = self._drawn()
        below = notes_below(notes, height)
        headings, rows = self.table()
        told = "; ".join(" ".join(row) for row in rows[:_MOST_DRAWN])
        return Picture(
            width=_WIDE,
            height=height + 19 * len(below) + _MARGIN,
            title=title,
            description=" ".join([f"{', '.join(headings)}: {told}.", *notes]),
            shapes=[
                Text(x=_MARGIN, y=_MARGIN + 16, text=shown(title, 60), size=17, bold=True),
                *shapes,
                *below,
            ],
        )

    def _drawn(self) -> tuple[list[Shape], float]:
        if self.kind == "squares":
            return self._scree()
        if self.kind == "point":
            return self._between_bounds()
        groups = self.value if self.kind == "directions" else [self.value]
        shapes: list[Shape] = []
        top = _TOP
        for place, numbers in enumerate(groups):
            if self.kind == "directions":
                heading = f"direction {place + 1}"
                shapes.append(Text(x=_MARGIN, y=top + 14, text=heading, size=13, colour="faint"))
                top += _STEP
            drawn, top = _bars(self.columns, numbers, top, _COLOURS[place % len(_COLOURS)])
            shapes += drawn
        return shapes, top

    def _scree(self) -> tuple[list[Shape], float]:
        """Bars for the sums of squares, in the order of the release, and how far each
        can be off.
        """
        totals = [float(total) for total, _ in self.value][:_MOST_DRAWN]
        error = self.error or 0.0
        largest = max([abs(total) for total in totals], default=0.0) + error or 1.0
        scale = (_END - _BARS) / largest
        shapes: list[Shape] = []
        for place, total in enumerate(totals):
            y, end = _TOP + place * _STEP, _BARS + max(0.0, total) * scale
            name = fitted(self._strongest(self.value[place][1]), _BARS - _MARGIN - 8, 13)
            shapes += [
                Text(x=_MARGIN, y=y + 14, text=name, size=13),
                Box(x=_BARS, y=y, width=end - _BARS, height=18, colour="first"),
                Text(x=_WIDE - _MARGIN, y=y + 14, text=f"{total:,.4g}", size=13, side="end"),
            ]
            if error:
                reach = [max(_BARS, end - error * scale), end + error * scale]
                shapes.append(Line(points=[(x, y + 9) for x in reach], colour="ink", width=1.5))
        return shapes, _TOP + len(totals) * _STEP

    def _between_bounds(self) -> tuple[list[Shape], float]:
        """A dot for each number of a point, on a line between its bounds."""
        shapes: list[Shape] = []
        for place, name in enumerate(self.columns[:_MOST_DRAWN]):
            y, value = _TOP + place * _STEP, float(self.value[place])
            shapes += [
                Text(x=_MARGIN, y=y + 14, text=fitted(name, _BARS - _MARGIN - 8, 13), size=13),
                Text(x=_WIDE - _MARGIN, y=y + 14, text=f"{value:g}", size=13, side="end"),
            ]
            if self.ranges:
                low, high = self.ranges[place]
                at = _BARS + (_END - _BARS) * (value - low) / (high - low)
                line = [(_BARS, y + 9), (_END, y + 9)]
                shapes += [Line(points=line, colour="rule"), Dot(x=at, y=y + 9, radius=5)]
        return shapes, _TOP + min(len(self.columns), _MOST_DRAWN) * _STEP


def _bars(
    columns: Sequence[str], numbers: Sequence[float], top: float, colour: Colour
) -> tuple[list[Shape], float]:
    """Bars to the right for positive numbers, and to the left for negative ones."""
    numbers = numbers[:_MOST_DRAWN]
    largest = max(map(abs, numbers), default=0.0) or 1.0
    middle, half = (_BARS + _END) / 2, (_END - _BARS) / 2
    bottom = top + len(numbers) * _STEP
    shapes: list[Shape] = [Line(points=[(middle, top), (middle, bottom)], colour="faint", width=1)]
    for place, number in enumerate(numbers):
        y, long = top + place * _STEP, half * abs(number) / largest
        name = fitted(columns[place], _BARS - _MARGIN - 8, 13)
        shapes += [
            Text(x=_MARGIN, y=y + 14, text=name, size=13),
            Box(
                x=middle if number >= 0 else middle - long,
                y=y,
                width=long,
                height=18,
                colour=colour,
            ),
            Text(x=_WIDE - _MARGIN, y=y + 14, text=_signed(number), size=13, side="end"),
        ]
    return shapes, bottom + 8


def model_of(
    mechanism: str, value: Any, asked: Mapping[str, Any] | None, error: float | None
) -> Model | None:
    """The model that a release has, if it has one.

    asked: the question, for the names of columns; without it they are numbered.
    """
    kind = _FITTED.get(mechanism)
    if kind is None or not isinstance(value, list) or not value:
        return None
    asked = asked or {}
    size = len(value[0][1] if kind == "squares" else value[0] if kind == "directions" else value)
    given = asked.get("columns")
    names = list(given) if isinstance(given, list) else []
    names += ["intercept"] if asked.get("intercept") else []
    columns = names if len(names) == size else [f"column {place}" for place in range(1, size + 1)]
    bounds = asked.get("bounds") if kind == "point" and "columns" in asked else None
    ranges = [(float(Fraction(low)), float(Fraction(high))) for low, high in bounds or ()]
    return Model(kind, value, columns, error if kind == "squares" else None, ranges)


def _signed(number: float) -> str:
    """Three digits and a sign.

    >>> _signed(0.123456), _signed(-12.5), _signed(0.0)
    ('+0.123', '-12.5', '0')
    """
    return "0" if number == 0 else f"{number:+.3g}"
