"""Public labels: each once, none empty, and such as the column can have."""

from __future__ import annotations

import datetime
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas
import pytest

from discreet import ParameterError
from discreet.errors import ParameterTypeError
from discreet.tables.candidates import read_labels, require_kind
from discreet.tables.items import Labels


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (("b", "a"), ["b", "a"]),
        (np.array([3, 1]), [3, 1]),
        (np.array(["x"]), ["x"]),
        (pandas.Series(["a", "b"], index=[5, 6]), ["a", "b"]),
        ([np.int64(2), np.float64(0.5), np.bool_(True)], [2, 0.5, True]),
        ({"a": 1}.keys(), ["a"]),
        (range(3), [0, 1, 2]),
        ([("a", 1), ("a", 2)], [("a", 1), ("a", 2)]),
        ([""], [""]),
    ],
    ids=str,
)
def test_labels_are_read_in_order(labels, expected):
    assert read_labels(labels, "candidates") == expected
    assert [type(label) for label in read_labels(labels, "candidates")] == [
        type(label) for label in expected
    ]


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ([], "at least one. Got none."),
        (["a", "a"], "all different"),
        ([1, 1.0], "all different"),
        ([1, True], "all different"),
        ([None], "without empty labels"),
        (["a", float("nan")], "without empty labels"),
        ([np.float64("nan")], "without empty labels"),
        ([pandas.NA], "without empty labels"),
        ([pandas.NaT], "without empty labels"),
        ([Decimal("NaN")], "without empty labels"),
    ],
    ids=str,
)
def test_labels_that_are_refused(labels, rule):
    with pytest.raises(ParameterError) as error:
        read_labels(labels, "candidates")
    assert str(error.value).startswith(f"The 'candidates' parameter must be {rule}")


RIGHT = [
    (nw.String(), ["a", "", "ü🦊", "a\nb", "'; --"]),
    (nw.Enum(["a"]), ["a", "b"]),
    (nw.Int8(), [1, 300, -1, 2.0, 2.5]),
    (nw.Int64(), [2**63 - 1, -(2**63), 1e300]),
    (nw.UInt64(), [0]),
    (nw.Float64(), [0.5, 1, -0.0]),
    (nw.Decimal(), [Decimal("0.1"), 3]),
    (nw.Boolean(), [True, False]),
    (nw.Date(), [datetime.date(2026, 1, 1)]),
]
WRONG = [
    (nw.String(), [1, 1.5, True, b"a", "\ud800", "a\0"], "text, like the column"),
    (nw.Enum(["a"]), [1], "text, like the column"),
    (
        nw.Int64(),
        ["1", True, 2**63, -(2**63) - 1, 10**400, float("inf"), Decimal(1)],
        "numbers of at most 64 bits, like the column",
    ),
    (
        nw.Float32(),
        ["1", False, 10**30, float("-inf")],
        "numbers of at most 64 bits, like the column",
    ),
    (nw.Decimal(), [0.1, "1", True, Decimal("inf")], "whole numbers or Decimals, like the column"),
    (nw.Boolean(), [1, 0, "true"], "True or False, like the column"),
    (nw.Date(), ["2026-01-01", datetime.datetime(2026, 1, 1), 1], "dates, like the column"),
]


@pytest.mark.parametrize(("kind", "labels"), RIGHT, ids=str)
def test_labels_that_the_column_can_have(kind, labels):
    require_kind(Labels(labels), "column", kind)


@pytest.mark.parametrize(
    ("kind", "label", "rule"),
    [(kind, label, rule) for kind, labels, rule in WRONG for label in labels],
    ids=lambda value: str(value)[:30].encode("unicode_escape").decode(),
)
def test_labels_that_the_column_cannot_have(kind, label, rule):
    labels = ["a", label] if kind == nw.String() else [label]
    with pytest.raises(
        ParameterTypeError, match=rf"The 'candidates' parameter must be {rule}\. Got .+\."
    ):
        require_kind(Labels(labels), "column", kind)


@pytest.mark.parametrize(
    "kind",
    [
        nw.List(nw.Int64()),
        nw.Struct({"a": nw.Int64()}),
        nw.Datetime(),
        nw.Duration(),
        nw.Time(),
        nw.Binary(),
        nw.Object(),
        nw.Unknown(),
    ],
    ids=str,
)
def test_columns_that_have_no_labels(kind):
    with pytest.raises(
        ParameterTypeError,
        match=(
            r"The 'column' parameter must be a column of text, numbers, truth values or "
            r"dates\. Got .made, of"
        ),
    ):
        require_kind(Labels(["a"]), "made", kind)
