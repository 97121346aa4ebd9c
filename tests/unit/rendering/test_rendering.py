"""Cards and pictures: whatever a label says, it is text; and there is always a title."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over

import discreet
from discreet import OneRow, PureDP, Release, Session
from discreet.accounting import Amount
from discreet.accuracy import Accuracy
from discreet.questions import Mode
from discreet.release import NoisyCounts
from discreet.rendering import charts, html
from discreet.rendering.html import escaped, fitted, shown, width
from discreet.rendering.picture import DARK, LIGHT, STYLESHEET, Picture

HOSTILE = [
    "<script>alert(1)</script>",
    '" onload="alert(1)',
    "' onmouseover='alert(1)",
    "</svg><script>alert(1)</script>",
    "]]><!--",
    "&amp;&lt;",
    "a\x00b\x0b\x1b[31m",
    "abc\u202edcba",
    "\ud800",
    "\uffff",
    "x" * 100_000,
    "$\\frac{1}{2}$ %s {0}",
    "東京都",
]


class Shouting:
    """A label whose text is markup."""

    def __str__(self):
        return "<b onclick='alert(1)'>"


def elements(text):
    """The names of all elements, of text that must be well-formed."""
    return [each.tag.rpartition("}")[2] for each in ElementTree.fromstring(text).iter()]


def attributes(text):
    return {name for each in ElementTree.fromstring(text).iter() for name in each.keys()}  # noqa: SIM118


@loop_over("label", [*HOSTILE, Shouting()], ids=range(len(HOSTILE) + 1))
def test_a_hostile_label_is_text_everywhere(label):
    picture = charts.ranking([label, "b"], title=label, notes=[str(label)], counts=[3, 2], error=1)
    usual = charts.ranking(["a", "b"], title="t", notes=["n"], counts=[3, 2], error=1)
    assert set(elements(picture.svg())) == set(elements(usual.svg()))
    assert attributes(picture.svg()) == attributes(usual.svg())
    assert len(picture.svg()) < 8000
    picture.svg().encode()
    one = charts.winner(label, title="t")
    assert set(elements(one.svg())) <= {"svg", "title", "desc", "style", "rect", "text"}
    card = html.card(str(label), html.table(["h"], [[label, 3]]), warning=str(label))
    assert set(elements(card)) == {
        "div",
        "strong",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert attributes(card) == {"class", "style", "scope"}


@examples(40, 200)
@given(st.text())
def test_any_text_can_be_written_and_read_again(text):
    read = ElementTree.fromstring(f"<a b='{escaped(text)}'>{escaped(text)}</a>")
    assert read.text in (shown(text), None if not shown(text) else "")
    assert read.get("b") == shown(text)
    assert len(shown(text)) <= 80


@given(st.text(max_size=60), st.floats(20, 400))
def test_a_fitted_label_fits(text, room):
    assert width(fitted(text, room, 14)) * 14 <= room


def test_pictures_have_title_description_and_two_sets_of_colours():
    picture = charts.meter(1, 4, title="Budget", notes=["3 left"])
    text = picture.svg()
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    names = root.get("aria-labelledby").split()
    told = {each.get("id"): each.text for each in root if each.get("id")}
    assert [told[name] for name in names] == ["Budget", "25% spent. 3 left"]
    assert "prefers-color-scheme:dark" in text
    assert "Budget" in repr(picture)
    assert "Box" not in repr(picture)
    assert STYLESHEET not in picture.svg(style=False)
    assert LIGHT.keys() == DARK.keys()
    # two pictures in one page must not share a name
    assert not set(names) & set(
        ElementTree.fromstring(picture.svg()).get("aria-labelledby").split()
    )


def test_names_of_lines_never_touch():
    curves = [charts.Curve(name=f"line {n}", points=[(1, 5), (2, 5 + n / 1000)]) for n in range(6)]
    picture = charts.lines(curves, title="t", across="epsilon", up="persons")
    names = sorted(
        each.y for each in picture.shapes if getattr(each, "text", "").startswith("line")
    )
    assert all(after - before >= 16 for before, after in pairwise(names))
    assert {"epsilon", "persons"} <= {getattr(each, "text", "") for each in picture.shapes}


def test_files(tmp_path):
    picture = charts.winner("東京都", title="t")
    picture.save(str(tmp_path / "a.svg"))
    picture.save(str(tmp_path / "a.png"))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert picture.png(dark=True) != picture.png()
    with pytest.raises(discreet.ParameterError, match=r"'file' parameter of Picture.save must be"):
        picture.save("a.gif")


def released(value, **words):
    return Release(value=value, loss=PureDP(1), mechanism="exponential", candidates=3, **words)


@pytest.mark.parametrize("value", ["<b>", ["<b>", "<i>"], [], None, 3, ["a"] * 200])
def test_a_release_shows_itself(value):
    release = released(value)
    text = release._repr_html_()
    assert "<b>" not in text
    assert "<i>" not in text
    assert "Privacy loss: epsilon 1." in text
    elements(text)
    assert isinstance(release.plot(), Picture)
    elements(release.plot()._repr_svg_())


def test_a_simulation_says_so_in_every_form():
    release = released("a", seeded=True)
    for text in (release._repr_html_(), release.plot().svg()):
        assert "not private" in text
    assert "not private" not in released("a")._repr_html_()


def test_quantiles_are_drawn_as_steps():
    table = pandas.DataFrame({"age": range(100)})
    session = Session(table, unit=OneRow(), budget=PureDP(5))
    release = session.quantiles("age", q=[0.25, 0.5], bounds=(0, 100), step=1, epsilon=1)
    words = {getattr(each, "text", "") for each in release.plot().shapes}
    assert {"age", "share of people"} <= words
    assert "polyline" in release.plot().svg()


def test_the_other_things_that_a_notebook_shows():
    table = pandas.DataFrame({"<b>pet": ["cat", "dog"]})
    session = Session(table, unit=OneRow(), budget=PureDP(1))
    session.mode("<b>pet", candidates=["cat", "dog"], epsilon=0.25)
    price = session.price(Mode("<b>pet", candidates=["cat", "dog"], epsilon=0.5))
    shown_things = [
        session,
        session.describe(),
        price,
        Amount(Fraction(1, 3), "rho"),
        discreet.plan(queries=10, budget=PureDP(1)),
        discreet.compose({PureDP(0.1): 3}, delta=0),
    ]
    for thing in shown_things:
        text = thing._repr_html_()
        assert "<b>" not in text
        elements(text)
    assert "1 question (0.25 epsilon)" in session._repr_html_()
    assert "Budget" in session.describe().plot().title


def test_an_account_shows_itself(tmp_path):
    with discreet.Ledger(f"sqlite:///{tmp_path}/budget.db") as ledger:
        ledger.open("<reads>", budget=PureDP(1))
        text = ledger.account("<reads>")._repr_html_()
    assert "&lt;reads&gt;" in text
    elements(text)


def test_a_loss_is_never_shown_smaller_than_it_is():
    each = Fraction(1234561, 10**7)
    text = discreet.compose({PureDP(each): 1}, delta=0)._repr_html_()
    assert "0.123457" in text
    assert "0.123456<" not in text


def test_a_refusal_in_a_notebook_is_one_line():
    with pytest.raises(discreet.ParameterError, match="epsilon") as caught:
        discreet.select([1, 2], epsilon=-1, sensitivity=1)
    assert caught.value._render_traceback_() == [f"ParameterError: {caught.value}"]


def test_counts_and_groups_are_shown_with_their_names():
    counted = NoisyCounts(values=(41, -1), error=7, mechanism="discrete-laplace")
    release = replace(released(["<b>", "dog"]), counts=counted)
    text = release._repr_html_()
    assert text.index("&lt;b&gt;") < text.index(">41<") < text.index("dog") < text.index(">-1<")
    assert "off by more than 7" in text
    assert "41 ± 7" in {getattr(each, "text", "") for each in release.plot().shapes}
    grouped = replace(
        released([("north", ["cat", "dog"]), ("south", [])]),
        counts=replace(counted, values=((41, 38), ())),
        asked={"what": "top_k", "column": "pet", "by": "region"},
    )
    text = grouped._repr_html_()
    assert text.index("region") < text.index("north") < text.index("cat") < text.index(">38<")
    assert "('north'" not in text
    assert text.index("south") < text.index("nothing")
    assert "north: dog" in {getattr(each, "text", "") for each in grouped.plot().shapes}
    number = Accuracy(bound=7, statement="number", unit="readers")
    of_persons = replace(
        released(2493), counts=replace(counted, values=(2493,)), asked={"what": "count"}
    )
    assert replace(of_persons, accuracy=number)._repr_html_().count("2,493") == 1
    assert "No count is off" not in replace(of_persons, accuracy=number)._repr_html_()


def test_only_lists_whose_order_is_an_answer_have_places():
    """The names of a histogram are in the order of the candidates."""
    counted = NoisyCounts(values=(38, 41), error=7, mechanism="discrete-laplace")
    release = replace(released(["cat", "dog"]), counts=counted)
    histogram = replace(release, asked={"what": "counts", "column": "pet"})
    groups = replace(
        released([("north", "cat"), ("south", "dog")]),
        asked={"what": "mode", "column": "pet", "by": "region"},
    )
    for each, places in ((release, True), (histogram, False), (groups, False)):
        drawn = {getattr(shape, "text", "") for shape in each.plot().shapes}
        assert ("1" in drawn) == places
        assert each.plot().description.startswith("In order: ") == places
        assert (">1<" in each._repr_html_()) == places
