from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from discreet.auditing.claims import EventCounts
from discreet.rendering.analyses import MOST_CATEGORIES, losses, shares, spending
from discreet.rendering.picture import Box, Dot, Line, Text


def texts(picture):
    return [shape.text for shape in picture.shapes if isinstance(shape, Text)]


class TestShares:
    def test_a_bar_and_two_standard_errors_for_each_category_in_their_order(self):
        picture = shares(["a", "b", "c"], [0.5, -0.02, 0.52], [0.1, 0.1, 0.1], note="3 reports")
        assert [text for text in texts(picture) if text in ("a", "b", "c")] == ["a", "b", "c"]
        first, second, third = (shape for shape in picture.shapes if isinstance(shape, Box))
        assert first.width / third.width == pytest.approx(50 / 52)
        # to the left of zero
        assert second.x + second.width == pytest.approx(first.x)
        whiskers = [shape for shape in picture.shapes if isinstance(shape, Line)][-3:]
        (low, _), (high, _) = whiskers[0].points
        assert (high - low) / first.width == pytest.approx(40 / 50)
        assert "3 reports" in texts(picture)

    def test_of_many_categories_the_largest_are_drawn(self):
        values = [1 - place / 99 for place in range(100)]
        values[3], values[97] = values[97], values[3]
        shown = texts(shares(list(range(100)), values, [0.01] * 100, note=""))
        names = [f"{place}" for place in range(MOST_CATEGORIES) if place != 3]
        assert [text for text in shown if text in {*names, "3", "97"}][-MOST_CATEGORIES:] == [
            *names,
            "97",
        ]
        assert "60 smaller ones are not drawn." in shown


class TestSpending:
    START = datetime(2026, 10, 1, 9)

    def charges(self, hours, settled=True):
        return [(self.START + timedelta(hours=hour), Fraction(1, 4), settled) for hour in hours]

    @pytest.mark.parametrize(
        ("hours", "mark"), [([0, 1, 2, 3], "10:00"), ([0, 48, 96], "Oct 3"), ([0, 9000], "2027")]
    )
    def test_times_are_marked_by_hours_or_days(self, hours, mark):
        picture = spending(self.charges(hours), limit=Fraction(2), unit="epsilon", title="Spent")
        assert any(mark in text for text in texts(picture)), texts(picture)
        assert f"{len(hours) / 4:.3g} of 2 epsilon is spent." in picture.description

    def test_a_charge_without_an_answer_is_a_dot(self):
        given = [*self.charges([0]), *self.charges([5], settled=False)]
        picture = spending(given, limit=Fraction(2), unit="rho", title="Spent")
        assert len([shape for shape in picture.shapes if isinstance(shape, Dot)]) == 1
        assert "no answer was given (1)" in picture.description


def test_losses_beyond_the_claim_have_another_colour():
    counts = [EventCounts(700, 1000, 200, 1000), EventCounts(200, 1000, 300, 1000)]
    picture = losses([("a", counts[0]), ("b", counts[1])], stated=1.0, title="Violated")
    dots = [shape.colour for shape in picture.shapes if isinstance(shape, Dot)]
    assert dots == ["second", "first"]
    assert "a: +1.25" in picture.description
    assert losses([], stated=None, title="Nothing").png().startswith(b"\x89PNG")
