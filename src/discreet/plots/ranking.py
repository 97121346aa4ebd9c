"""Figures of a released list or of one answer: ranks and labels, and what they cost.

All bars have the same length on purpose. Scores are private: a figure must not draw
them, nor anything that looks like them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from discreet import ParameterError, Release
from discreet.plots.figures import BLACK, BLUE, GREY, blank_figure, boxes_for_unknown_letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOTHING_MORE = "nothing more stands out"
"""The last line of a list that is shorter than was asked for."""

MOST_RANKS = 100
"""How many ranks a figure has room for."""

_IN_A_COLUMN = 25
# lengths in inches, here and in the next two lines of constants
_BAR, _STEP, _BADGE, _MARGIN, _BETWEEN, _PADDING = (
    0.30,
    0.37,
    0.46,
    0.30,
    0.22,
    0.2,
)
# the width of a label
_NARROWEST, _WIDEST, _WIDEST_OF_MANY = 1.2, 6.2, 2.7
# the heights of the title and of each line below the list
_TITLE, _NOTE = 0.52, 0.22
# font sizes in points
_TITLE_SIZE, _LABEL_SIZE, _RANK_SIZE, _NOTE_SIZE = 15, 11, 10, 8.5
# letters are a little wider at some resolutions
_SLACK = 1.04
# letters of a label; more never fit
_LONG = 300

_PALE, _LIGHT = "#f1f5f9", "#cfe2f0"
_PODIUM = 3
# The first font has Latin, Greek, Cyrillic and more; the others, if they are installed,
# are for the rest of the world.
_FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Arial Unicode MS",
    "Noto Emoji",
    "Segoe UI Emoji",
)


@dataclass(frozen=True, slots=True)
class ListBar:
    """One line of the list."""

    badge: str
    label: str
    badge_color: str = _LIGHT
    badge_ink: str = BLACK
    ink: str = BLACK
    slant: str = "normal"


Measure = Callable[[str, float], float]
"""A function from a text and its size in points to its width in inches."""


def ranking_figure(release: Release, *, k: int | None = None) -> Figure:
    """The figure of a released list: ranks and labels, with the loss below. It shows
    the release and nothing else, no scores.

    k: how many were asked for. A list that is shorter ends with ⊥, "nothing more stands
        out".

    Long labels are shortened, and a list of more than a hundred shows its first
    hundred.
    """
    if not isinstance(release.value, list):
        raise ParameterError(
            "release",
            "the release of a list, as by top_k",
            type(release.value).__name__,
            owner="ranking_figure",
        )
    asked = len(release.value) if k is None else k
    with boxes_for_unknown_letters():
        return _draw(_bars(release.value, asked), f"Top {asked:,}", _notes(release))


def answer_figure(release: Release, *, title: str) -> Figure:
    """The figure of one released answer, with the loss below. It shows the release and
    nothing else, no scores.
    """
    if isinstance(release.value, list):
        raise ParameterError(
            "release", "the release of one answer, as by select", "list", owner="answer_figure"
        )
    with boxes_for_unknown_letters():
        return _draw(
            [ListBar("►", _printable(release.value), BLUE, "white")],
            title,
            _notes(release, "The answer only"),
        )


def _bars(labels: Sequence[Any], asked: int) -> list[ListBar]:
    bars = [
        ListBar(f"{rank}", _printable(label), *((BLUE, "white") if rank <= _PODIUM else ()))
        for rank, label in enumerate(labels[:MOST_RANKS], start=1)
    ]
    if len(labels) > MOST_RANKS:
        bars.append(
            ListBar("…", f"and {len(labels) - MOST_RANKS:,} more", "none", GREY, GREY, "italic")
        )
    if len(labels) < asked:
        bars.append(ListBar("⊥", NOTHING_MORE, "none", GREY, GREY, "italic"))
    return bars


def _printable(label: Any) -> str:
    text = str(label)
    return (text if text.isprintable() else repr(text))[:_LONG]


def _notes(release: Release, shown: str = "Ranks only") -> list[str]:
    among = "" if release.candidates is None else f" among {release.candidates:,} candidates"
    notes = [
        f"{release.loss!r}",
        f"{release.mechanism}{among}",
        f"{shown}: scores are private and are not drawn.",
    ]
    return [*notes, "A simulation with predictable bits: NOT PRIVATE."] if release.seeded else notes


def _draw(bars: Sequence[ListBar], title: str, notes: Sequence[str]) -> Figure:
    measure = _measure()
    columns = max(1, -(-min(len(bars), MOST_RANKS) // _IN_A_COLUMN))
    rows = -(-min(len(bars), MOST_RANKS) // columns)
    # the line after the last rank stays in the last column
    tallest = max(rows, len(bars) - (columns - 1) * rows)
    room = _room(bars, notes, columns, measure)
    column = _BADGE + room + _PADDING
    width = 2 * _MARGIN + columns * column + (columns - 1) * _BETWEEN
    bottom = _MARGIN + _TITLE + tallest * _STEP + 0.12
    height = bottom + len(notes) * _NOTE + _MARGIN
    figure = blank_figure(width, height)
    # one unit is an inch, downwards
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    _write(axes, _MARGIN, _MARGIN + 0.14, title, size=_TITLE_SIZE, weight="bold", color=BLACK)
    for place, bar in enumerate(bars):
        across = min(place // rows, columns - 1)
        left, top = (
            _MARGIN + across * (column + _BETWEEN),
            _MARGIN + _TITLE + (place - across * rows) * _STEP,
        )
        _draw_bar(axes, bar, left, top, column, shortened(bar.label, room, measure))
    for line, note in enumerate(notes):
        text = shortened(note, width - 2 * _MARGIN, measure, _NOTE_SIZE)
        _write(axes, _MARGIN, bottom + (line + 0.5) * _NOTE, text, size=_NOTE_SIZE, color=GREY)
    return figure


def _room(bars: Sequence[ListBar], notes: Sequence[str], columns: int, measure: Measure) -> float:
    """The width of labels in inches: enough for the longest label and note, within limits."""
    labels = _SLACK * max(measure(bar.label, _LABEL_SIZE) for bar in bars)
    below = (
        _SLACK * max(measure(note, _NOTE_SIZE) for note in notes) - (columns - 1) * _BETWEEN
    ) / columns
    widest = _WIDEST if columns == 1 else _WIDEST_OF_MANY
    return min(max(labels, below - _BADGE - _PADDING + 0.01, _NARROWEST), widest)


def _draw_bar(axes: Axes, bar: ListBar, left: float, top: float, width: float, label: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    def box(length: float, color: str, edge: str = "none") -> None:
        style = "round,pad=0,rounding_size=0.06"
        patch = FancyBboxPatch(
            (left, top),
            length,
            _BAR,
            boxstyle=style,
            facecolor=color,
            edgecolor=edge,
            linestyle=(0, (3, 2)),
        )
        axes.add_patch(patch)

    if bar.badge_color == "none":
        box(width, "none", "#c4c4c4")
    else:
        box(width, _PALE)
        box(_BADGE, bar.badge_color)
    middle = top + _BAR / 2
    _write(
        axes,
        left + _BADGE / 2,
        middle,
        bar.badge,
        size=_RANK_SIZE,
        ha="center",
        weight="bold",
        color=bar.badge_ink,
    )
    _write(
        axes, left + _BADGE + 0.1, middle, label, size=_LABEL_SIZE, color=bar.ink, style=bar.slant
    )


def _write(axes: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Write text; a dollar is a dollar, and not the start of a formula."""
    axes.text(
        x, y, text, family=_families(), va="center_baseline", parse_math=False, usetex=False, **look
    )


def shortened(text: str, room: float, measure: Measure, size: float = _LABEL_SIZE) -> str:
    """The text, or as much of its beginning as there is room for, and an ellipsis.

    >>> (
    ...     shortened("Constantinople", 8, lambda text, size: len(text)),
    ...     shortened("Rome", 8, lambda text, size: len(text)),
    ... )
    ('Consta…', 'Rome')
    """
    if _SLACK * measure(text, size) <= room:
        return text
    # `low` letters fit, `high` letters do not
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        fits = _SLACK * measure(text[:middle] + "…", size) <= room
        low, high = (middle, high) if fits else (low, middle)
    return text[:low].rstrip() + "…"


@cache
def _families() -> list[str]:
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return [name for name in _FONTS if name in installed] or ["sans-serif"]


def _measure() -> Measure:
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    # RendererAgg has no type hints
    agg: Any = RendererAgg
    renderer, families = agg(1, 1, 100), _families()

    def width(text: str, size: float) -> float:
        pixels, _, _ = renderer.get_text_width_height_descent(
            text, FontProperties(family=families, size=size), ismath=False
        )
        return float(pixels) / 100

    return width
