"""Models as tables and pictures: numbers beside the names of columns, whatever these are."""

import xml.etree.ElementTree as ElementTree

import pytest

from discreet import BoundedRange, Release
from discreet.rendering.models import model_of

VALUES = {
    "subspace-exponential": [[0.6, -0.8], [0.8, 0.6]],
    "peeling-covariance": [(12.5, [0.6, -0.8]), (-0.25, [0.8, 0.6])],
    "squared-ball": [0.5, -2.0],
    "logistic-ball": [0.0, 0.0],
    "deepest-point": [3, 0.25],
}
COLUMNS = ["<b>age</b>", "x" * 300]


def release(mechanism, asked=None):
    return Release(
        value=VALUES[mechanism],
        loss=BoundedRange(1),
        mechanism=mechanism,
        candidates=None,
        asked=asked,
    )


@pytest.mark.parametrize("mechanism", VALUES)
def test_every_model_has_a_picture_and_a_card_with_its_columns(mechanism):
    asked = {"what": "fit", "columns": COLUMNS, "bounds": [["0", "10"], ["0", "1/2"]]}
    svg = release(mechanism, asked).plot().svg()
    drawn = "".join(ElementTree.fromstring(svg).itertext())
    assert "<b>age</b>" in drawn
    card = release(mechanism, asked)._repr_html_()
    assert "&lt;b&gt;age" in card
    assert "<b>age" not in card


def test_tables():
    asked = {"columns": ["age", "cost"]}
    tables = {name: model_of(name, value, asked, None).table()[1] for name, value in VALUES.items()}
    assert tables["subspace-exponential"] == [["age", "+0.6", "+0.8"], ["cost", "-0.8", "+0.6"]]
    assert tables["peeling-covariance"] == [
        ["1", "12.5", "-0.8 cost, +0.6 age"],
        ["2", "-0.25", "+0.8 age, +0.6 cost"],
    ]
    assert tables["squared-ball"] == [["age", "+0.5"], ["cost", "-2"]]
    assert tables["deepest-point"] == [["age", "3"], ["cost", "0.25"]]


def test_an_intercept_has_its_name():
    asked = {"columns": ["age"], "intercept": True}
    assert model_of("squared-ball", [0.5, -2.0], asked, None).columns == ["age", "intercept"]
