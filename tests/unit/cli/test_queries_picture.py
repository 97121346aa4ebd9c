from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import ApproxDP, ParameterError
from discreet.cli import queries_picture as drawing
from discreet.cli.queries_picture import CURVES, LIMIT, queries
from discreet.rendering.picture import Line, Text

BUDGET = ApproxDP(1, 1e-6)
EPSILONS = [Fraction(1, parts) for parts in (20, 10, 4, 2)]


@pytest.fixture(scope="module")
def picture():
    return queries(BUDGET, epsilons=EPSILONS, marked=(Fraction(1, 10), 22))


def texts(picture):
    return [shape.text for shape in picture.shapes if isinstance(shape, Text)]


def test_every_analysis_is_a_named_curve(picture):
    assert [text for text in texts(picture) if text in {curve.label for curve in CURVES}] == [
        curve.label for curve in CURVES
    ]
    assert "1e-6" in picture.title
    for curve in CURVES:
        assert curve.label in picture.description


def test_the_curves_have_the_right_numbers():
    counts = drawing._count(BUDGET, EPSILONS[1:2])
    assert {name: column[0] for name, column in counts.items()} == {
        "gaussian": 22,
        "bounded-range-non-adaptive": 22,
        "bounded-range-adaptive": 22,
        "rdp": 20,
        "zcdp": 19,
        "kov": 10,
        "basic": 10,
        "textbook-kov": 5,
        "textbook-basic": 5,
    }
    (ratios, *_) = drawing._ratios([0.1], counts)
    assert ratios.points == [(0.1, pytest.approx(4.4))]


def test_what_is_no_guarantee_looks_different_and_says_so(picture):
    first = CURVES[0]
    assert first.dashes
    assert "not a guarantee" in first.label
    assert len({(curve.colour, curve.width, curve.dashes) for curve in CURVES}) == len(CURVES)


def test_the_limit_and_the_mark(picture):
    assert any(f"{LIMIT}\N{MULTIPLICATION SIGN} is the limit" in text for text in texts(picture))
    assert "22 queries of 0.1" in texts(picture)


def test_a_picture_of_decent_size(picture, tmp_path):
    picture.save(tmp_path / "queries.png")
    content = (tmp_path / "queries.png").read_bytes()
    width, height = (int.from_bytes(content[start : start + 4], "big") for start in (16, 20))
    assert width >= 800
    assert height >= 600
    assert picture.png() == content


def test_a_budget_without_delta_is_refused():
    with pytest.raises(ParameterError, match="a delta greater than 0"):
        queries(ApproxDP(1, 0), epsilons=EPSILONS)


def test_curves_end_when_it_takes_too_long(monkeypatch):
    monkeypatch.setattr(drawing, "_SECONDS", 0.0)
    short = queries(BUDGET, epsilons=EPSILONS)
    assert [text for text in texts(short) if text in {curve.label for curve in CURVES}] == [
        CURVES[0].label  # costs nothing
    ]
    assert all(len(shape.points) > 1 for shape in short.shapes if isinstance(shape, Line))
    assert short.png().startswith(b"\x89PNG")
