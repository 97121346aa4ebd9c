"""The pictures of the web pages, as SVG: text that can be selected, a name for screen
readers, no script.

The colours are classes of the page's style sheet; a picture to be saved has its own
colours.
All bars of a ranking have the same length: scores are private, and nothing that looks
like them is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

_WIDTH = 640


def budget_bar(percent: int, said: str) -> Markup:
    """A bar that shows how much of a budget is spent.

    said: the same in words, for screen readers.
    """
    filled = max(0, min(100, percent)) * _WIDTH // 100
    return Markup(
        '<svg class="bar" viewBox="0 0 640 20" role="img" aria-label="{said}" '
        'preserveAspectRatio="none"><rect class="rest" width="640" height="20" rx="4"/>'
        '<rect class="spent" width="{filled}" height="20" rx="4"/></svg>'
    ).format(said=said, filled=filled)


def accuracy_curve(points: Sequence[tuple[float, float]], k: int, chosen: int) -> Markup:
    """A curve of how many names are right at each epsilon, on made-up data.

    points: each epsilon with the number of right names.
    chosen: which of the points was asked for.
    """
    height, left, bottom = 254, 46, 200
    logs = [math.log(epsilon) for epsilon, _ in points]
    span = (logs[-1] - logs[0]) or 1
    placed = [
        (left + 26 + (log - logs[0]) / span * (_WIDTH - left - 66), bottom - right / k * 180)
        for log, (_, right) in zip(logs, points, strict=True)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    parts = [
        Markup('<line class="axis" x1="{0}" y1="{1}" x2="{2}" y2="{1}"/>').format(
            left, bottom, _WIDTH - 10
        ),
        Markup('<line class="axis" x1="{0}" y1="14" x2="{0}" y2="{1}"/>').format(left, bottom),
        Markup('<text class="tick" x="{}" y="24" text-anchor="end">{}</text>').format(left - 6, k),
        Markup('<text class="tick" x="{}" y="{}" text-anchor="end">0</text>').format(
            left - 6, bottom
        ),
        Markup('<polyline class="line" points="{}"/>').format(line),
    ]
    for place, ((x, y), (epsilon, right)) in enumerate(zip(placed, points, strict=True)):
        parts.append(
            Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>').format(
                "chosen" if place == chosen else "dot", x, y, 7 if place == chosen else 4
            )
        )
        parts.append(
            Markup(
                '<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="middle">{:.1f}</text>'
            ).format(x, y - 12 if y > 40 else y + 22, right)
        )
        parts.append(
            Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{:g}</text>').format(
                x, bottom + 24, epsilon
            )
        )
    label = Markup('<text class="tick" x="{}" y="{}" text-anchor="end">epsilon</text>').format(
        _WIDTH - 10, bottom + 48
    )
    return _picture(
        height, f"How many of {k} names are right at each epsilon, on made-up data", *parts, label
    )


def spending_steps(spent: Sequence[float], limit: float) -> Markup:
    """The sum that is spent after each question, as steps below the limit, which is the share."""
    height, left, bottom = 200, 10, 170
    wide = (_WIDTH - left - 20) / max(len(spent), 1)
    path, x, y = [f"M {left} {bottom}"], float(left), float(bottom)
    for total in spent:
        y = bottom - min(total / limit, 1) * 140 if limit > 0 else bottom
        path.append(f"V {y:.1f}")
        x += wide
        path.append(f"H {x:.1f}")
    parts = [
        Markup('<line class="limit" x1="{}" y1="30" x2="{}" y2="30"/>').format(left, _WIDTH - 10),
        Markup('<text class="tick" x="{}" y="22">your share</text>').format(left),
        Markup('<line class="axis" x1="{0}" y1="{1}" x2="{2}" y2="{1}"/>').format(
            left, bottom, _WIDTH - 10
        ),
        Markup('<path class="line" d="{}"/>').format(" ".join(path)),
        Markup('<text class="tick" x="{}" y="{}">{} question{}</text>').format(
            left, bottom + 20, len(spent), "" if len(spent) == 1 else "s"
        ),
    ]
    return _picture(height, "Spending after each question, below the limit", *parts)


def answer_picture(title: str, labels: Sequence[Any], notes: Sequence[str]) -> str:
    """An answer as a picture of its own, to be saved: ranks and labels, no scores."""
    row, top = 34, 60
    height = top + row * len(labels) + 22 * len(notes) + 24
    parts = [
        Markup('<rect width="640" height="{}" fill="#ffffff"/>').format(height),
        Markup(
            '<text x="20" y="36" font-size="20" font-weight="bold" fill="#1a1a1a">{}</text>'
        ).format(title),
    ]
    for place, label in enumerate(labels):
        y = top + row * place
        parts.append(
            Markup(
                '<rect x="20" y="{}" width="600" height="28" rx="4" fill="#eef3f8"/>'
                '<text x="34" y="{}" font-size="14" font-weight="bold" fill="#0072b2">{}</text>'
                '<text x="74" y="{}" font-size="14" fill="#1a1a1a">{}</text>'
            ).format(y, y + 19, place + 1, y + 19, str(label)[:70])
        )
    for place, note in enumerate(notes):
        y = top + row * len(labels) + 22 * (place + 1)
        parts.append(
            Markup('<text x="20" y="{}" font-size="12" fill="#595959">{}</text>').format(y, note)
        )
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {}" role="img" aria-label="{}" '
        'font-family="system-ui, sans-serif">'
    ).format(height, title)
    return str(head + Markup("").join(parts) + Markup("</svg>"))


def _picture(height: int, said: str, *parts: Markup) -> Markup:
    head = Markup('<svg class="figure" viewBox="0 0 640 {}" role="img" aria-label="{}">')
    return head.format(height, escape(said)) + Markup("").join(parts) + Markup("</svg>")
