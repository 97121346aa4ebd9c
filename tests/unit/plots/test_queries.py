from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from tiers import more

from discreet import ApproxDP, MissingExtraError, ParameterError
from discreet.plots.figures import FIGURE_FORMATS, save
from discreet.plots.queries import CURVES, LIMIT, queries_figure

BUDGET = ApproxDP(1, 1e-6)
EPSILONS = [Fraction(1, parts) for parts in (20, 10, 4, 2)]


@pytest.fixture(scope="module")
def figure():
    return queries_figure(BUDGET, epsilons=EPSILONS, marked=(Fraction(1, 10), 22))


def lines(axes):
    return {
        line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")
    }


def test_every_analysis_is_a_labelled_curve(figure):
    upper, _ = figure.axes
    assert list(lines(upper)) == [curve.label for curve in CURVES]
    assert [text.get_text() for text in upper.get_legend().get_texts()] == [
        curve.label for curve in CURVES
    ]
    assert (upper.get_xscale(), upper.get_yscale()) == ("log", "log")
    assert "1e-6" in upper.get_title(loc="left")


def test_the_curves_have_the_right_numbers(figure):
    drawn = lines(figure.axes[0])
    found = {curve.name: dict(zip(*drawn[curve.label].get_data(), strict=True)) for curve in CURVES}
    at = {name: values.get(0.1) for name, values in found.items()}
    assert at == {
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
    assert found["bounded-range-adaptive"][0.05] == 89


def test_what_is_no_guarantee_looks_different_and_says_so(figure):
    styles = {label: line.get_linestyle() for label, line in lines(figure.axes[0]).items()}
    assert styles["Gaussian limit: approximation, not a guarantee"] == ":"
    assert styles["bounded range, non-adaptive"] == "--"
    assert list(styles.values()).count("-") == len(CURVES) - 2
    assert len({(curve.color, curve.marker, curve.dashes) for curve in CURVES}) == len(CURVES)


def test_the_ratio_and_its_limit(figure):
    _, lower = figure.axes
    drawn = lines(lower)
    assert set(drawn["limit"].get_ydata()) == {LIMIT}
    ratios = dict(zip(*drawn["bounded range, adaptive"].get_data(), strict=True))
    assert ratios[0.1] == pytest.approx(4.4)
    assert ratios[0.05] == pytest.approx(8.9)
    assert any("16" in text.get_text() for text in lower.texts)


def test_the_mark(figure):
    assert "22 queries of 0.1" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize(
    "suffix", [".png", *(more(suffix) for suffix in FIGURE_FORMATS if suffix != ".png")]
)
def test_a_picture_of_decent_size(figure, tmp_path, suffix):
    file = tmp_path / f"queries{suffix}"
    save(figure, str(file))
    content = file.read_bytes()
    assert content[:4] == {".png": b"\x89PNG", ".svg": b"<?xm", ".pdf": b"%PDF"}[suffix]
    assert 10_000 < len(content) < 1_000_000
    if suffix == ".png":
        width, height = (int.from_bytes(content[start : start + 4], "big") for start in (16, 20))
        assert width >= 800
        assert height >= 600


@pytest.mark.sizes
def test_the_same_picture_every_time(figure, tmp_path):
    for name in ("one.png", "two.png"):
        save(figure, str(tmp_path / name))
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_another_ending_is_refused(figure, tmp_path):
    with pytest.raises(
        ParameterError, match=r"must be a file whose name ends in one of \.png, \.svg, \.pdf"
    ):
        save(figure, str(tmp_path / "queries.gif"))


def test_a_budget_without_delta_is_refused():
    with pytest.raises(ParameterError, match="a delta greater than 0"):
        queries_figure(ApproxDP(1, 0), epsilons=EPSILONS)


def test_curves_end_when_it_takes_too_long(monkeypatch):
    monkeypatch.setattr("discreet.plots.queries._SECONDS", 0.0)
    upper, _ = queries_figure(BUDGET, epsilons=EPSILONS).axes
    points = {label: len(line.get_xdata()) for label, line in lines(upper).items()}
    assert points.pop("Gaussian limit: approximation, not a guarantee") > 0  # costs nothing
    assert set(points.values()) == {0}


def test_there_is_no_state_that_others_would_see(figure):
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        MissingExtraError,
        match=r"Plotting needs the extra 'plot'\. Install it with: pip install .discreet\[plot\].$",
    ):
        queries_figure(BUDGET, epsilons=EPSILONS)
