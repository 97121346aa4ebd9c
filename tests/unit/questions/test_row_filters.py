"""Filters of a service, and the conditions that they are."""

from __future__ import annotations

from datetime import date

import pytest

from discreet import ParameterError, column
from discreet.questions import Mode
from discreet.questions.row_filters import filters_of

ROLE = column("role").is_in(["nurse"])


def rows(where):
    return Mode("article", candidates=["a"], epsilon=1, where=where).where


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ({"role": ["nurse"]}, ROLE),
        ({"role": "nurse"}, ROLE),
        ([{"column": "role", "is": ["nurse"]}], ROLE),
        ({"age": {"at_least": "1/2", "below": 3}}, (column("age") >= 0.5) & (column("age") < 3)),
        ([{"column": "day", "at_least": "2026-11-01"}], column("day") >= date(2026, 11, 1)),
    ],
)
def test_a_filter_is_a_condition(given, condition):
    assert rows(given) == condition


@pytest.mark.parametrize(
    "wrong",
    [{}, [], {"age": {}}, {"age": {"above": 3}}, {"age": {"at_least": "x"}}]
    + [{"age": {"below": text}} for text in ("1e999999999", "1/0", "2026-13-01", "nan")],
    ids=str,
)
def test_what_is_no_filter_is_refused(wrong):
    with pytest.raises(ParameterError, match=r"parameter of (Mode|column\('age'\)) must be"):
        rows(wrong)


def test_a_condition_is_written_as_a_filter():
    text = "role in ('nurse', 'pilot') and age >= 18 and day < date '2026-11-01' and open = true"
    assert filters_of(text, "where") == [
        {"column": "role", "is": ["nurse", "pilot"]},
        {"column": "age", "at_least": "18"},
        {"column": "day", "below": "2026-11-01"},
        {"column": "open", "is": [True]},
    ]


@pytest.mark.parametrize("text", ["a = 1 or b = 1", "not a = 1", "a > 1", "a is null", "a < 'b'"])
def test_other_conditions_are_refused(text):
    with pytest.raises(ParameterError, match="joined by 'and', for a service"):
        filters_of(text, "where")
