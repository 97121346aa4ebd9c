"""Cards and tables of HTML. Text is made safe to show: labels are public, but they may
be hostile.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

LONGEST = 80
"""How many letters of a label are shown."""

_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

MOST_ROWS = 100
"""How many rows of a table are shown; a line below says how many more there are."""

_CARD = (
    "border:1px solid #8888;border-radius:6px;padding:8px 12px;display:inline-block;"
    "max-width:46em;font-family:system-ui,sans-serif;text-align:left"
)
_TABLE = "border-collapse:collapse;margin:4px 0"
_CELL = "padding:1px 14px 1px 0;text-align:{side};vertical-align:top"
_SENTENCE = 400


def shown(value: Any, longest: int = LONGEST) -> str:
    """A label as one line of visible letters, cut to a length.

    Letters that control a terminal, turn the direction of writing around, or are not
    allowed in XML are replaced.

    >>> shown("a\\tb"), shown("abc\\u202etxt"), shown("long " * 20, 12)
    ('a b', 'abc�txt', 'long long l…')
    """
    text = value if isinstance(value, str) else str(value)
    # cut first: a label of a million letters must not take long
    cut = text[: longest + 1]
    seen = "".join(" " if letter.isspace() else _visible(letter) for letter in cut)
    return seen if len(text) <= longest else f"{seen[: longest - 1]}…"


def escaped(value: Any, longest: int = LONGEST) -> str:
    """A label that is safe in HTML and SVG, between tags or within quotes.

    >>> escaped("<b>&'\\"")
    '&lt;b&gt;&amp;&#x27;&quot;'
    """
    return html.escape(shown(value, longest), quote=True)


def _visible(letter: str) -> str:
    # the categories that begin with C: control, format, surrogate, private, unassigned
    if unicodedata.category(letter)[0] == "C" or letter in "\ufffe\uffff":
        return _UNKNOWN
    return letter


def width(text: str) -> float:
    """About the width of a text, in letter heights; wide letters of East Asia count twice."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return 0.56 * (len(text) + wide)


def fitted(value: Any, room: float, size: float) -> str:
    """A label cut to the width `room`, in letters of this size.

    >>> fitted("a long label", 68, 14), fitted("short", 68, 14)
    ('a long…', 'short')
    """
    text = shown(value)
    if width(text) * size <= room:
        return text
    while text and width(text) * size + size > room:
        text = text[:-1]
    return f"{text.rstrip()}…"


def card(title: str, *parts: str, warning: str | None = None) -> str:
    """A framed piece of a page: a title, a warning and parts, which are HTML already."""
    warned = (
        "" if warning is None else f'<p style="color:#b00020">{escaped(warning, _SENTENCE)}</p>'
    )
    head = f'<strong style="font-size:1.05em">{escaped(title)}</strong>'
    return f'<div class="discreet-card" style="{_CARD}">{head}{warned}{"".join(parts)}</div>'


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """Names and values, one below the other."""
    return table([], [[name, value] for name, value in rows])


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; numbers are on the right of their cells."""
    head = "".join(f'<th scope="col" style="{_styled("")}">{escaped(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
    more = len(rows) - MOST_ROWS
    rest = "" if more <= 0 else paragraph(f"and {more:,} more")
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    return f'<table style="{_TABLE}">{top}<tbody>{body}</tbody></table>{rest}'


def paragraph(text: str) -> str:
    """A paragraph with one sentence."""
    return f'<p style="margin:4px 0">{escaped(text, _SENTENCE)}</p>'


def _cell(value: Any) -> str:
    text = f"{value:,}" if type(value) is int else value
    return f'<td style="{_styled(value)}">{escaped(text, _SENTENCE)}</td>'


def _styled(value: Any) -> str:
    return _CELL.format(side="right" if type(value) in (int, float) else "left")


def answer_table(
    value: Any, counts: Sequence[Any] | None, asked: Mapping[str, Any]
) -> tuple[list[str], list[list[Any]]]:
    """The header and the rows of a table that shows an answer.

    counts: how many persons have each name, with noise; for groups, for each of them.
    asked: the question in its canonical form, empty where it is not known.

    >>> answer_table(["a", "b"], (41, 38), {})
    (['', 'name', 'count'], [[1, 'a', 41], [2, 'b', 38]])
    >>> answer_table([("north", "a")], None, {"by": "region", "column": "pet"})
    (['region', 'pet'], [['north', 'a']])
    >>> answer_table(["a", "b"], (38, 41), {"what": "counts"})
    (['name', 'count'], [['a', 38], ['b', 41]])
    >>> answer_table([29, 43], None, {"what": "quantiles", "q": ["1/4", "1/2"]})
    (['share', 'value'], [[0.25, 29], [0.5, 43]])
    """
    name = str(asked.get("column", "name"))
    if "by" in asked and isinstance(value, list):
        rows = [[group, *row[1:]] for group, row in _grouped(value, counts)]
        more = [] if counts is None else [""]
        rows += [[group, "nothing", *more] for group, named in value if named == []]
        return [str(asked["by"]), name, *(["count"] if counts is not None else [])], rows
    if not isinstance(value, list):
        shown = "nothing" if value is None else value
        # if the question was `count`, the count is the answer itself
        number = [] if counts is None or asked.get("what") == "count" else [counts[0]]
        return [], [["", shown, *number]]
    shares = asked.get("q")
    if isinstance(shares, list) and len(shares) == len(value):
        pairs = zip(shares, value, strict=True)
        return ["share", "value"], [[float(Fraction(share)), number] for share, number in pairs]
    rows, header = _listed(value, counts), ["", name, "count"] if counts is not None else []
    return (header, rows) if is_ranked(asked) else (header[1:], [row[1:] for row in rows])


_OF_NUMBERS = ("quantile", "best_price", "fit_")


def read_by(asked: Mapping[str, Any] | None) -> dict[str, str]:
    """How the rows of a question were read, where its answer would else be taken for another.

    >>> read_by({"what": "mode", "by": "ward"})
    {'groups': 'a person counts in the first listed group only'}
    >>> read_by({"what": "mode", "by": "ward", "unit": {"OneRow": {}}})
    {}
    """
    known = asked or {}
    rules = {}
    if str(known.get("what")).startswith(_OF_NUMBERS):
        rules["numbers"] = "cells that are not numbers count as empty"
    # a row by itself is in one group
    if known.get("by") is not None and "OneRow" not in known.get("unit", ()):
        rules["groups"] = "a person counts in the first listed group only"
    return rules


def is_ranked(asked: Mapping[str, Any]) -> bool:
    """True if the order of a list is part of the answer: not that of a histogram, whose order is
    that of its candidates, nor of groups.
    """
    return asked.get("what") != "counts" and "by" not in asked


def bar_labels(value: Any, counts: Sequence[Any] | None, asked: Mapping[str, Any]) -> list[Any]:
    """The labels of a list for its bars; with groups, each has the name of its group."""
    if "by" not in asked:
        return list(value)
    return [f"{group}: {row[1]}" for group, row in _grouped(value, counts)]


def bar_counts(counts: Sequence[Any] | None) -> list[float] | None:
    """The counts of all bars in one list; None if there are none."""
    if counts is None:
        return None
    each = [part if isinstance(part, tuple) else (part,) for part in counts]
    return [float(count) for part in each for count in part]


def _listed(labels: Sequence[Any], counts: Sequence[Any] | None) -> list[list[Any]]:
    if counts is None:
        return [[place, label] for place, label in enumerate(labels, start=1)]
    pairs = zip(labels, counts, strict=True)
    return [[place, label, count] for place, (label, count) in enumerate(pairs, start=1)]


def _grouped(
    value: Sequence[tuple[Any, Any]], counts: Sequence[Any] | None
) -> list[tuple[Any, list[Any]]]:
    """The rows of all groups, each with its group."""
    every = [None] * len(value) if counts is None else counts
    return [
        (group, row)
        for (group, named), numbers in zip(value, every, strict=True)
        for row in _listed(named if isinstance(named, list) else [named], numbers)
    ]
