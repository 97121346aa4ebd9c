"""The picture of a list shows the release and nothing else, and nothing in it is cut off."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from tiers import more

from discreet import ApproxDP, BoundedRange, MissingExtraError, ParameterError, Release
from discreet.plots.figures import save
from discreet.plots.ranking import MOST_RANKS, NOTHING_MORE, answer_figure, ranking_figure

NAMES = ["news", "weather", "sports", "chess"]
LONG = "a label that goes on and on " * 30
NOTE = "Ranks only: scores are private and are not drawn."


def release_of(labels, **others):
    known = {"loss": ApproxDP(1, 1e-6), "mechanism": "one-shot-gumbel", "candidates": 250}
    return Release(value=labels, **(known | others))


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_it_shows_the_release_and_nothing_else():
    figure = ranking_figure(release_of(NAMES))
    assert texts(figure) == [
        "Top 4",
        *(part for rank, name in enumerate(NAMES, start=1) for part in (f"{rank}", name)),
        "ApproxDP(epsilon=1, delta=1e-06)",
        "one-shot-gumbel among 250 candidates",
        NOTE,
    ]
    [axes] = figure.axes
    assert (len(axes.lines), len(axes.images), len(axes.collections)) == (0, 0, 0)
    assert not axes.axison


def test_one_answer_and_nothing_else():
    figure = answer_figure(
        release_of("$5 [x]\n", mechanism="permute-and-flip"), title="The price that earns most"
    )
    assert texts(figure) == [
        "The price that earns most",
        "►",
        repr("$5 [x]\n"),
        "ApproxDP(epsilon=1, delta=1e-06)",
        "permute-and-flip among 250 candidates",
        "The answer only: scores are private and are not drawn.",
    ]
    with pytest.raises(ParameterError, match="the release of one answer"):
        answer_figure(release_of(NAMES), title="Top 4")


def test_all_bars_have_the_same_length():
    """A length that differed would be read as a score."""
    boxes = {
        (round(patch.get_width(), 9), round(patch.get_height(), 9))
        for patch in ranking_figure(release_of(NAMES)).axes[0].patches
    }
    assert len(boxes) == 2  # the bars and the badges


def test_a_short_list_says_that_nothing_more_stands_out():
    drawn = texts(ranking_figure(release_of(NAMES), k=10))
    assert drawn[0] == "Top 10"
    assert drawn[-5:-3] == ["⊥", NOTHING_MORE]
    assert texts(ranking_figure(release_of([]), k=3))[:3] == ["Top 3", "⊥", NOTHING_MORE]
    assert "⊥" not in texts(ranking_figure(release_of(NAMES), k=4))


def test_a_list_without_public_candidates_and_a_simulation():
    drawn = texts(ranking_figure(release_of(NAMES, candidates=None, seeded=True)))
    assert "one-shot-gumbel" in drawn
    assert drawn[-1] == "A simulation with predictable bits: NOT PRIVATE."


def test_the_first_hundred_of_many():
    drawn = texts(ranking_figure(release_of([f"item {i}" for i in range(1, 1001)])))
    assert drawn[0] == "Top 1,000"
    assert f"item {MOST_RANKS}" in drawn
    assert f"item {MOST_RANKS + 1}" not in drawn
    assert drawn[-5:-3] == ["…", "and 900 more"]
    assert "…" not in texts(ranking_figure(release_of([f"item {i}" for i in range(MOST_RANKS)])))


@pytest.mark.parametrize(
    ("labels", "k"),
    [
        more(["x"], 1),
        (NAMES, 4),
        ([LONG, "W" * 200, "i" * 200, *NAMES], 20),
        more([], 5),
        more([f"item {i}" for i in range(25)], 26),
        ([f"item {i}" for i in range(26)], 26),
        more([f"{i} {LONG}" for i in range(150)], 150),
    ],
    ids=["one", "few", "long", "none", "a-column-and-nothing", "two-columns", "many-long"],
)
def test_nothing_is_cut_off_and_nothing_overlaps(labels, k):
    figure = ranking_figure(
        release_of(labels, loss=ApproxDP(Fraction(10**40, 3), Fraction(1, 7**30))), k=k
    )
    figure.set_dpi(150)
    renderer = figure.canvas.get_renderer()
    whole = figure.bbox
    [axes] = figure.axes
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    for box in boxes:
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])
    bars = [patch.get_window_extent(renderer) for patch in axes.patches]
    inside = [
        box
        for box in boxes
        if any(bar.x0 <= box.x0 and box.x1 <= bar.x1 and bar.y0 <= box.y0 < bar.y1 for bar in bars)
    ]
    assert len(inside) == len(boxes) - 4  # all but the title and the three notes


def test_a_label_is_drawn_as_it_is():
    """A dollar begins no formula, and a line break makes no second line."""
    labels = ["$1 to $2", "$x^2$", "two\nlines", 7, r"\alpha", "50 % {of} _all_"]
    drawn = texts(ranking_figure(release_of(labels)))
    assert drawn[2:14:2] == [
        "$1 to $2",
        "$x^2$",
        r"'two\nlines'",
        "7",
        r"\alpha",
        "50 % {of} _all_",
    ]
    assert not any(
        text.get_parse_math() for text in ranking_figure(release_of(labels)).axes[0].texts
    )


@pytest.mark.parametrize("suffix", [".png", ".svg", more(".pdf")])
def test_a_letter_that_no_font_has_is_no_warning(tmp_path, suffix):
    file = tmp_path / f"list{suffix}"
    save(
        ranking_figure(
            release_of(["\N{EGYPTIAN HIEROGLYPH A001}", "日本", "\N{GRINNING FACE}", "$"])
        ),
        str(file),
    )
    assert file.read_bytes()[:4] == {".png": b"\x89PNG", ".svg": b"<?xm", ".pdf": b"%PDF"}[suffix]


def test_the_same_picture_every_time(tmp_path):
    for name in ("one.png", "two.png"):
        save(ranking_figure(release_of(NAMES)), str(tmp_path / name))
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_release_of_one_candidate_is_no_list():
    with pytest.raises(ParameterError, match="must be the release of a list, as by top_k"):
        ranking_figure(release_of("news", loss=BoundedRange(1)))


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="Plotting needs the extra 'plot'"):
        ranking_figure(release_of(NAMES))
