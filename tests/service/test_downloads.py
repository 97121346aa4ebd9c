"""Labels with characters that do not show: on the page, in SVG and in CSV."""

import csv
import io
import xml.dom.minidom

import pytest

from discreet.service.downloads import as_csv, as_svg, harmless, labels_of, title_of

HOSTILE = ["\x1b[31m", "\u202eabc", "a\x00b", "\x9b31m", "tab\there", "\ufffe", "\ud800", "]]>"]


def answer_with(labels):
    return {
        "id": 7,
        "value": labels,
        "asked": {"what": "top_k", "column": "x\x1b]0;", "k": 3},
        "bound": None,
        "charged": "1 epsilon",
        "release": {},
    }


def test_no_label_controls_what_shows_it():
    answer = answer_with(HOSTILE)
    shown = [*labels_of(answer), title_of(answer)]
    assert all(label.isprintable() for label in shown)
    svg = as_svg(answer)
    xml.dom.minidom.parseString(svg.encode())
    rows = list(csv.reader(io.StringIO(as_csv(answer))))
    assert len(rows) == 1 + len(HOSTILE)
    assert all(cell.isprintable() for row in rows for cell in row)


@pytest.mark.parametrize(
    "label",
    [
        *("=1", "+1", "-1+1", "@SUM(1)", "\t=1", "\n=1", "\r=1", " =1", "\u00a0=1", "\u200b=1"),
        *("\ufeff=1", "\uff1d1+1", "\ufe63cmd", "\u200d=1", "\x00=1"),
    ],
)
def test_no_label_becomes_a_formula(label):
    assert harmless(label).startswith("'")


@pytest.mark.parametrize(
    "label", ["husky", "a=b", "\U0001f469\u200d\U0001f680", "\u0646\u0645\u06cc\u200c\u062f"]
)
def test_other_labels_stay_as_they_are(label):
    assert harmless(label) == label


def test_numbers_are_no_formulas():
    assert harmless(-1) == "-1"
