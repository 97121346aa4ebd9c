"""A release: JSON both ways, nothing about the data but the answer, and a mark on what was only a
simulation.
"""

import copy
import json
import pickle
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over

import discreet
from discreet import ZCDP, ApproxDP, BoundedRange, GaussianDP, ParameterError, PureDP, Release
from discreet.accounting import Composed
from discreet.errors import ParameterTypeError

LABELS = [
    "terrier",
    "",
    'Zoë \N{DOG FACE} "quoted"\n',
    0,
    -7,
    10**40,
    0.1,
    5e-324,
    -0.0,
    True,
    False,
    ("a", 1),
    (),
    ("a", ("b", (1, 2.5))),
    [],
    ["a", ["b"], ("c",)],
    (["a"], "tuple"),
    Fraction(-5, 2),
    Decimal("0.50"),
    date(2024, 2, 29),
    datetime(2024, 2, 29, 12, 30, 1, 5),
    [date(2024, 1, 1), (Fraction(1, 3), "a")],
]
LOSSES = [
    PureDP(0.1),
    PureDP(Fraction(1, 3)),
    BoundedRange(5e-324),
    ZCDP(0.25),
    ApproxDP(1, 1e-9),
    PureDP(10**30),
]


plain_labels = st.recursive(
    st.one_of(
        st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
    ),
    lambda parts: st.one_of(st.lists(parts, max_size=3), st.lists(parts, max_size=3).map(tuple)),
    max_leaves=8,
)


def make(value="terrier", loss=LOSSES[0], **words):
    return Release(
        **({"value": value, "loss": loss, "mechanism": "exponential", "candidates": 3} | words)
    )


def deep_types(value):
    return (
        [type(value), *map(deep_types, value)] if isinstance(value, (list, tuple)) else type(value)
    )


@loop_over("value", LABELS, ids=repr)
def test_json_keeps_labels_and_their_types(value):
    release = make(value)
    back = Release.from_json(release.to_json())
    assert back == release
    assert deep_types(back.value) == deep_types(value)


@examples(30, 100)
@given(plain_labels)
def test_json_keeps_any_plain_label(value):
    back = Release.from_json(make(value).to_json()).value
    assert (back, deep_types(back)) == (value, deep_types(value))


@loop_over("loss", LOSSES, ids=repr)
@loop_over("seeded", [True, False])
def test_json_keeps_every_loss_exactly(loss, seeded):
    release = make(loss=loss, seeded=seeded)
    assert Release.from_json(release.to_json()) == release


def test_json_is_one_line_of_standard_json():
    text = make("a\nb").to_json()
    assert "\n" not in text
    assert json.loads(text) == {
        "discreet": 1,
        "value": "a\nb",
        "loss": {"kind": "pure-dp", "epsilon": "1/10"},
        "mechanism": "exponential",
        "candidates": 3,
        "seeded": False,
    }


def test_what_version_0_1_wrote_stays_readable():
    # a vocabulary that is written to disk only grows: this text must never need a change
    text = (
        '{"discreet": 1, "value": {"tuple": ["a", 1]}, "loss": {"kind": "bounded-range", '
        '"epsilon": "1/10"}, '
        '"mechanism": "exponential", "candidates": 3, "seeded": true}'
    )
    assert Release.from_json(text) == make(("a", 1), BoundedRange(0.1), seeded=True)


@loop_over(
    "value",
    [[None], Decimal("NaN"), time(1, 2), b"bytes", {"a": 1}, {1, 2}, 1j, ("a", None)],
    ids=repr,
)
def test_other_labels_get_a_clear_error(value):
    with pytest.raises(
        ParameterTypeError,
        match=r"'value' parameter of Release.to_json must be made of text, numbers",
    ):
        make(value).to_json()


@pytest.mark.parametrize("value", [float("inf"), ("a", float("-inf")), [float("nan")]], ids=repr)
def test_a_label_that_json_has_no_word_for_gets_a_clear_error(value):
    with pytest.raises(ParameterError, match=r"'value' parameter of Release.to_json must be"):
        make(value).to_json()


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5])
def test_another_version_is_refused(version):
    fields = json.loads(make().to_json()) | {"discreet": version}
    with pytest.raises(
        ParameterError,
        match=(
            r"'text' parameter of Release.from_json must be what Release.to_json wrote, in format 1"
        ),
    ):
        Release.from_json(json.dumps(fields))


BROKEN = {
    "empty": "",
    "cut": make().to_json()[:-5],
    "list": "[1, 2]",
    "number": "5",
    "null": "null",
    "no fields": "{}",
    "not text": None,
    "not finite": make().to_json().replace('"terrier"', "NaN"),
    "deep": "[" * 100_000,
    "no fraction": make().to_json().replace('"terrier"', '{"fraction": "1e9"}'),
    "no decimal": make().to_json().replace('"terrier"', '{"decimal": "NaN"}'),
    "no date": make().to_json().replace('"terrier"', '{"date": "tomorrow"}'),
    "no such mark": make().to_json().replace('"terrier"', '{"price": "1"}'),
    "two marks": make().to_json().replace('"terrier"', '{"date": "2024-01-01", "tuple": []}'),
}


@loop_over("text", BROKEN.values(), ids=BROKEN)
def test_broken_json_is_refused(text):
    with pytest.raises(
        ParameterError,
        match=r"'text' parameter of Release.from_json must be what Release.to_json wrote",
    ):
        Release.from_json(text)


@pytest.mark.parametrize("name", ["discreet", "value", "loss", "mechanism", "candidates"])
def test_a_missing_field_is_refused(name):
    fields = json.loads(make().to_json())
    del fields[name]
    with pytest.raises(
        ParameterError,
        match=r"'text' parameter of Release.from_json must be what Release.to_json wrote",
    ):
        Release.from_json(json.dumps(fields))


@loop_over(
    "changes",
    [
        {"extra": 1},
        {"loss": None},
        {"loss": {"kind": "renyi", "epsilon": "1"}},
        {"loss": {"kind": "pure-dp", "epsilon": "nan"}},
        {"loss": {"kind": "pure-dp", "epsilon": "0"}},
        {"loss": {"kind": "pure-dp"}},
        {"loss": {"kind": "pure-dp", "epsilon": "1/0"}},
        {"loss": {"kind": ["pure-dp"], "epsilon": "1"}},
        {"value": {"list": [1]}},
        {"value": [None]},
        {"gap": "-1"},
        {"gap": "1/0"},
        {"gap": 1},
        {"gap": "1e9"},
        {"candidates": "three"},
        {"candidates": True},
        {"seeded": "no"},
        {"mechanism": 5},
    ],
    ids=str,
)
def test_a_wrong_field_is_refused(changes):
    fields = json.loads(make().to_json()) | changes
    with pytest.raises(ParameterError, match=r"of Release.from_json must be"):
        Release.from_json(json.dumps(fields))


def test_a_float_in_a_loss_is_not_taken_for_exact():
    # to_json writes numbers of a guarantee as exact text; 0.1 as a JSON number would have
    # been read as its binary value
    fields = json.loads(make().to_json()) | {"loss": {"kind": "pure-dp", "epsilon": 0.1}}
    try:
        epsilon = Release.from_json(json.dumps(fields)).loss.epsilon
    except discreet.ParameterError:
        return
    assert epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    "mechanism",
    ["permute-and-flip", "exponential", "gumbel-noise", "exponential-noise", "laplace-noise"],
)
def test_a_release_holds_no_score(mechanism):
    scores = {"a": 918273645, "b": 918273654, "c": 918273546}
    release = discreet.select(scores, epsilon=1, sensitivity=1, mechanism=mechanism)
    for text in (
        repr(release),
        str(release),
        release.to_json(),
        repr(pickle.dumps(release, protocol=0)),
    ):
        assert "9182" not in text
    assert {name for name in dir(release) if not name.startswith("_")} == {
        "value", "loss", "mechanism", "candidates", "seeded", "gap", "accuracy", "asked", "counts",
        "plot", "to_json", "from_json",
    }  # fmt: skip


@loop_over("value", LABELS, ids=repr)
def test_a_release_survives_pickle_and_copy(value):
    release = make(value, seeded=True)
    assert pickle.loads(pickle.dumps(release)) == release
    assert copy.deepcopy(release) == release


@loop_over("gap", [None, Fraction(0), Fraction(7), Fraction(1, 4)], ids=str)
@loop_over(("value", "candidates"), [(None, None), (None, 3), ([], 5), (["a", "b"], 5)], ids=str)
def test_nothing_lists_and_gaps_survive_json(value, candidates, gap):
    release = Release(
        value=value, loss=PureDP(1), mechanism="made-up", candidates=candidates, gap=gap
    )
    assert Release.from_json(release.to_json()) == release


@loop_over(
    ("asked", "loss", "price"),
    [
        (None, PureDP(1), "Privacy loss: epsilon 1"),
        ({"rho": "1/10"}, ZCDP(0.1), "Privacy loss: rho 0.1"),
        ({"epsilon": "1"}, BoundedRange(1), "Price: epsilon 1"),
        (
            {"epsilon": "1", "delta": "1/1000000"},
            ApproxDP(1, 1e-6),
            "Price: epsilon 1, delta 1e-06",
        ),
        (
            {"epsilon": "1", "delta": "1/1000000"},
            Composed({BoundedRange(0.7): 2}, 1e-6),
            "Price: epsilon 1, delta 1e-06",
        ),
        # counts with noise that has no delta
        ({"epsilon": "1", "delta": "1/1000000"}, PureDP(1), "Price: epsilon 1"),
        ({"epsilon": "1", "delta": "1/1000000"}, GaussianDP(0.4), "Price: epsilon 1"),
    ],
)
def test_the_last_line_is_what_it_cost(asked, loss, price):
    assert str(make(loss=loss, asked=asked)).splitlines()[-1] == price
