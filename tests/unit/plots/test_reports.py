import numpy as np
import pytest

from discreet.plots.figures import MOST_CATEGORIES, shares_figure


def drawn(figure):
    (axes,) = figure.axes
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_bar_for_each_category_in_their_order():
    figure = shares_figure(
        ["a", "b", "c"], np.array([0.5, -0.02, 0.52]), np.array([0.1, 0.1, 0.1]), note="3 reports"
    )
    (axes,) = figure.axes
    assert drawn(figure) == ["a", "b", "c"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([50, -2, 52])
    assert "3 reports" in figure._supxlabel.get_text()
    (whiskers,) = axes.containers[1][2]
    assert [segment[:, 0].tolist() for segment in whiskers.get_segments()] == [
        pytest.approx(ends) for ends in ([30, 70], [-22, 18], [32, 72])
    ]


def test_of_many_categories_the_largest_are_drawn():
    shares = np.linspace(1, 0, 100)
    shares[[3, 97]] = shares[[97, 3]]
    figure = shares_figure(range(100), shares, np.full(100, 0.01), note="")
    assert drawn(figure) == [f"{place}" for place in range(MOST_CATEGORIES) if place != 3] + ["97"]
    assert "60 smaller ones are not drawn" in figure._supxlabel.get_text()


def test_labels_are_text():
    labels = drawn(shares_figure(["$x^2$", "a\nb", "long" * 30], np.ones(3), np.ones(3), note=""))
    assert labels[:2] == ["$x^2$", r"'a\nb'"]
    assert len(labels[2]) == 40
