"""Scores handed over by the caller: read exactly or refused by their type, once, and without ever
showing a score.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tiers import loop_over

import discreet
from discreet.errors import ScoresError, ScoresTypeError
from discreet.mechanisms.scores import read_candidates
from discreet.testing import SeededBits

CANARY = 718281.828125  # a score that must never show up in a message


def read(scores):
    return read_candidates(scores)


def exact(scores):
    """The scores as they were read, as fractions."""
    found = read(scores)
    values = found.scores.tolist() if isinstance(found.scores, np.ndarray) else found.scores
    return [Fraction(value) / found.unit for value in values]


def meaning_of(score):
    return (
        Fraction(int(score))
        if isinstance(score, np.integer)
        else Fraction(*score.as_integer_ratio())
    )


def select(scores, **words):
    return discreet.select(scores, **({"epsilon": 1, "sensitivity": 1} | words))


def everything_said(error):
    """The texts and arguments of an error and of all errors behind it."""
    said, waiting, seen = [], [error], set()
    while waiting:
        current = waiting.pop()
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            said += [str(current), repr(current), repr(vars(current))]
            waiting += [current.__cause__, current.__context__]
    return "\n".join(said)


INTEGER_TYPES = [
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.longlong,
    np.ulonglong,
]
FLOAT_TYPES = [np.float16, np.float32, np.float64]


@loop_over("order", ["<", ">"], ids=["little", "big"])
@loop_over("kind", INTEGER_TYPES)
def test_integers_are_read_exactly_up_to_their_extremes(kind, order):
    limits = np.iinfo(kind)
    scores = [limits.min, limits.max, 0, 1, limits.max - 1]
    found = read(np.array(scores, dtype=np.dtype(kind).newbyteorder(order)))
    assert found.scores.tolist() == scores
    assert (found.low, found.high) == (limits.min, limits.max)
    assert type(found.low) is int


@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
@pytest.mark.parametrize("kind", FLOAT_TYPES)
def test_floats_are_read_exactly_up_to_their_extremes(kind, order):
    limits = np.finfo(kind)
    scores = np.array(
        [limits.min, limits.max, limits.smallest_subnormal, -0.0, 0.1],
        dtype=np.dtype(kind).newbyteorder(order),
    )
    assert exact(scores) == [Fraction(*score.as_integer_ratio()) for score in scores.tolist()]


def test_long_doubles_keep_the_bits_that_a_double_has_no_room_for():
    scores = np.array([1, 2], dtype=np.longdouble) + np.finfo(np.longdouble).eps
    assert exact(scores) == [Fraction(*score.as_integer_ratio()) for score in scores]


@loop_over(
    "scores",
    [
        [0, 2**64 - 1],
        [-(2**63), 2**63 - 1],
        [2**63, -1],
        [10**400, -(10**400)],
        [2**60 + 128, float(2**60)],
        [2**53 + 1, 0.5],
        [Fraction(1, 3), 1, 0.1],
        [Decimal("0.1"), Decimal("1e-30")],
        [np.int64(2**60 + 129), 2.0**60],
        [np.uint64(2**64 - 1), -1],
        [np.float32(0.1), 0.1],
        [1, 2.5],
    ],
    ids=str,
)
def test_python_numbers_of_any_size_and_mixture_are_exact(scores):
    assert exact(scores) == [meaning_of(score) for score in scores]


@loop_over("kind", INTEGER_TYPES + FLOAT_TYPES)
@loop_over(
    "stride",
    [slice(None, None, -1), slice(1, None, 3), slice(None, None, -2)],
    ids=["reversed", "strided", "both"],
)
def test_strides_do_not_matter(kind, stride):
    scores = np.arange(20).astype(kind)
    assert exact(scores[stride]) == list(range(20))[stride]


def test_large_strided_arrays_are_read_in_place_and_exactly():
    table = np.arange(300_000, dtype=np.int64).reshape(100_000, 3)
    found = read(table[::-1, 1])
    assert (found.low, found.high, found.size) == (1, 299_998, 100_000)
    assert np.shares_memory(found.scores, table)


def test_unaligned_fields_of_a_record_are_read():
    records = np.zeros(3, dtype=[("flag", "u1"), ("score", "<f8")])
    records["score"] = [1.5, -2, 3]
    assert exact(records["score"]) == [Fraction(3, 2), -2, 3]


@loop_over("scores", [np.array([3.0, 1.0]), np.array([3, 1]), [3, 1], {"a": 3, "b": 1}], ids=repr)
@loop_over("objective", ["max", "min"])
def test_a_selection_does_not_change_the_scores(scores, objective):
    before = repr(scores)
    select(scores, objective=objective)
    assert repr(scores) == before


@pytest.mark.parametrize(
    "scores",
    [
        [],
        (),
        {},
        np.array([]),
        np.array([], dtype=np.int8),
        np.array([], dtype=object),
        pd.Series([], dtype=float),
    ],
)
def test_no_candidates_are_refused(scores):
    with pytest.raises(
        ScoresError, match=r"'scores' of select must have at least one candidate\. Got none"
    ):
        select(scores)


@pytest.mark.parametrize(
    "scores",
    [
        np.array(5.0),
        np.ones((2, 2)),
        np.ones((2, 1)),
        np.ones((0, 3)),
        np.array(None),
        pd.DataFrame({"a": [1, 2]}),
    ],
    ids=lambda scores: f"{type(scores).__name__}{scores.shape}",
)
def test_other_than_one_dimension_is_refused(scores):
    with pytest.raises(
        ScoresTypeError, match=rf"must be one-dimensional\. Got {scores.ndim} dimensions"
    ):
        select(scores)


@loop_over(
    ("scores", "got"),
    [
        (np.ma.masked_array([1, 2], [False, True]), "a masked array"),
        (np.array([1j, 2]), "an array of complex128"),
        (np.array([True, False]), "an array of bool"),
        (np.array(["1", "2"]), "an array of <U1"),
        (np.array(["2024-01-01"], dtype="M8[D]"), "an array of datetime64"),
        (np.array([1], dtype="m8[ns]"), "an array of timedelta64"),
        (np.zeros(2, dtype=[("a", "i4")]), "an array of "),
        (np.array(["1", 2], dtype=object), "a str among them"),
        ([True, False], "a bool among them"),
        ([np.True_, np.False_], "a bool among them"),
        ([1, 2j], "a complex among them"),
        ([None, 1], "a NoneType among them"),
        ([np.datetime64("2024-01-01", "ns")], "a datetime64"),
        ([np.timedelta64(1, "ns")], "a timedelta64"),
        ([[1, 2], [3, 4]], "a list among them"),
        ([np.array(1.0)], "a ndarray among them"),
        ({1, 2}, "set"),
        ((score for score in [1, 2]), "generator"),
        ("12", "str"),
        (5, "int"),
        (None, "NoneType"),
        (object(), "object"),
        ({"a": "1"}, "a str among them"),
        (pd.Series(["a", "b"]), "a str among them"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_number_is_refused_by_its_type(scores, got):
    with pytest.raises(
        ScoresTypeError, match=rf"'scores' of select must be numbers: .* Got {got}"
    ) as caught:
        select(scores)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


NOT_FINITE = [float("nan"), float("inf"), float("-inf")]


@loop_over("bad", NOT_FINITE, ids=str)
@loop_over("place", [0, 1, 2])
@loop_over(
    "make",
    [
        list,
        np.array,
        lambda scores: np.array(scores, dtype=np.float32),
        lambda scores: np.array(scores, dtype=np.float16),
        lambda scores: np.array(scores, dtype=np.longdouble),
        lambda scores: np.array(scores, dtype=">f8"),
        lambda scores: np.array(scores, dtype=object),
        lambda scores: [7, *scores],
        lambda scores: [Fraction(1, 3), *scores],
        lambda scores: [Decimal(score) for score in scores],
        lambda scores: list(np.array(scores)),
        lambda scores: dict(zip("abc", scores, strict=True)),
        pd.Series,
        pl.Series,
    ],
    ids=[
        "list", "float64", "float32", "float16", (
            "longdouble"
        ), "big-endian", "object", "ints", "fractions", "decimals",
        "scalars", "mapping", "pandas", "polars",
    ],
)  # fmt: skip
def test_a_score_that_is_not_finite_is_refused_and_no_score_is_shown(make, place, bad):
    scores = [54321.0, 43210.0]
    scores.insert(place, bad)
    with pytest.raises(
        ScoresError, match=r"must be finite.*Replace such values by a public number first"
    ) as caught:
        select(make(scores))
    said = everything_said(caught.value)
    assert "54" not in said
    assert "43210" not in said


def test_one_bad_score_is_found_in_a_large_array():
    scores = np.zeros(300_000)
    scores[200_001] = np.nan
    with pytest.raises(discreet.errors.ScoresError, match="must be finite"):
        select(scores)


@pytest.mark.parametrize(
    "scores",
    [[Decimal("1e400"), Decimal(0)], np.array(["1e400", "0"], dtype=np.longdouble)],
    ids=str,
)
def test_finite_scores_beyond_the_doubles_are_exact(scores):
    if not np.isfinite(np.longdouble("1e400")):
        pytest.skip("long doubles are doubles here")
    assert exact(scores) == [Fraction(*score.as_integer_ratio()) for score in scores]


@loop_over(
    "scores",
    [
        pd.Series([CANARY, None], dtype="Float64"),
        pd.Series([718281, None], dtype="Int64"),
        pd.Series([718281, pd.NA], dtype=object),
        pl.Series([CANARY, None]),
        {"a": CANARY, "b": None},
        {"a": CANARY, "b": "x"},
        [CANARY, "x"],
        np.array([CANARY, "x"], dtype=object),
        np.array([CANARY, 1j]),
        np.ma.masked_array([CANARY, 1.0], [True, False]),
        pd.Series([CANARY, 1], index=["a", "a"]),
        pd.Series([CANARY, 1], index=["a", None]),
        [CANARY * 2.0**60, 1.0],
        (score for score in [CANARY]),
    ],
    ids=lambda scores: type(scores).__name__,
)
def test_no_refusal_shows_a_score(scores):
    with pytest.raises(ScoresError, match="The 'scores' of select must ") as caught:
        select(scores)
    assert "718281" not in everything_said(caught.value)


@loop_over(
    "scores",
    [
        [1e17, 0.0],
        [1e17, 0],
        np.array([1e17, 0]),
        [0.0, -1e17],
        np.array([2.0**24 + 2, 0], dtype=np.float32),
        np.array([4096, 0], dtype=np.float16),
        pd.Series([1e17, 0.0]),
        pl.Series([1e17, 0.0]),
        list(np.array([1e17, 0])),
        {"a": 1e17, "b": 0.0},
        {"a": np.float64(1e17), "b": np.float64(0)},
        [np.float32(2.0**24 + 2), np.float32(0)],
        np.array([1e25, 0], dtype=np.longdouble),
    ],
    ids=lambda scores: f"{type(scores).__name__}",
)
def test_floats_coarser_than_the_sensitivity_are_refused(scores):
    with pytest.raises(
        ScoresError, match=r"precise enough to show what one person changes.*than the sensitivity"
    ):
        select(scores)


@pytest.mark.parametrize("other", [2**60, Fraction(1, 3), Decimal(1)], ids=repr)
@pytest.mark.parametrize(
    "make", [list, lambda scores: np.array(scores, dtype=object)], ids=["list", "object"]
)
def test_a_coarse_float_does_not_hide_among_exact_numbers(make, other):
    with pytest.raises(
        ScoresError, match=r"precise enough to show what one person changes.*than the sensitivity"
    ):
        select(make([1e17, other]))


@pytest.mark.parametrize(
    ("largest", "sensitivity", "kind"),
    [
        (2.0**53 - 1, 1, np.float64),
        (1e17, 16, np.float64),
        (2.0**24 - 1, 1, np.float32),
        (2048 - 1, 1, np.float16),
        (65504, 32, np.float16),
        (float(np.finfo(np.float32).max), 2.0**104, np.float32),
        (float(np.finfo(np.float64).max), 2.0**971, np.float64),
    ],
)
def test_floats_just_fine_enough_are_accepted(largest, sensitivity, kind):
    # the sum of all probabilities is a check that the selection would work, too
    scores = np.array([largest, 0, -largest], dtype=kind)
    assert discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=sensitivity).probabilities(
        scores
    ).sum() == pytest.approx(1, abs=1e-12)
    assert select(scores, sensitivity=sensitivity).value in (0, 1, 2)


class Counted:
    """A sequence that counts how often it is read, lies about its length, and gives other scores
    each time.
    """

    def __init__(self, length):
        self.length, self.reads = length, 0

    def __len__(self):
        return self.length

    def __iter__(self):
        self.reads += 1
        return iter([self.reads] * 3)


@pytest.mark.parametrize("length", [0, 1, 10**12])
def test_a_sequence_is_read_once_and_its_length_is_not_believed(length):
    scores = Counted(length)
    assert read(scores).scores.tolist() == [1, 1, 1]
    assert scores.reads == 1


class Torn(Mapping):
    """A mapping whose keys and values do not belong together: each read sees another state."""

    def __init__(self):
        self.reads = 0

    def __len__(self):
        return 3

    def __iter__(self):
        self.reads += 1
        return iter(f"{letter}{self.reads}" for letter in "abc")

    def __getitem__(self, label):
        return {"a": 1, "b": 2, "c": 3}[label[0]]


def test_a_mapping_is_read_once():
    scores = Torn()
    found = read(scores)
    assert scores.reads == 1
    assert [found.label(place) for place in range(3)] == ["a1", "b1", "c1"]


def test_a_mapping_with_more_labels_than_scores_never_gets_through():
    class Short(dict):
        def values(self):
            return [7]

    try:
        found = read(Short(a=1, b=2))
    except ScoresError:
        return
    assert found.size == len(found.labels)


@loop_over("kind", INTEGER_TYPES + FLOAT_TYPES)
def test_a_small_array_is_a_snapshot(kind):
    scores = np.array([1, 2, 3], dtype=kind)
    found = read(scores)
    scores[:] = 7
    assert found.scores.tolist() == [1, 2, 3]


@pytest.mark.parametrize("make", [pd.Series, pl.Series], ids=["pandas", "polars"])
def test_a_small_series_is_a_snapshot(make):
    memory = np.array([1.0, 2.0, 3.0])
    found = read(make(memory))
    memory[:] = 7
    assert found.scores.tolist() == [1, 2, 3]


def test_a_list_changed_later_does_not_matter():
    scores = [1, 2, 10**30]
    found = read(scores)
    scores.clear()
    assert found.scores == [1, 2, 10**30]


class Grams(float):
    """A float with a name."""


class Kilograms(np.float64):
    """One of NumPy's."""


@pytest.mark.parametrize("kind", [Grams, Kilograms])
def test_a_subclass_of_a_float_is_a_float(kind):
    assert select([kind(1.5), 500.0]).value == 1
    with pytest.raises(ScoresError, match="precise enough"):
        discreet.select([kind(1e17), 0.0], epsilon=1, sensitivity=1)


def test_a_subclass_of_the_array_has_no_say():
    class Loud(np.ndarray):
        def __array_ufunc__(self, *arguments, **words):
            raise AssertionError("a subclass must not see the arithmetic")

    assert select(np.array([1.0, 2.0]).view(Loud)).value in (0, 1)


class TestLabels:
    @loop_over(
        ("index", "label"),
        [
            (["a", "b", "c"], "c"),
            (None, 2),
            ([10, 20, 30], 30),
            (pd.RangeIndex(5, 8), 7),
            ([0.5, 1.5, 2.5], 2.5),
            ([True, False, "x"], "x"),
            (pd.date_range("2024-01-01", periods=3), pd.Timestamp("2024-01-03")),
            (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), ("b", 1)),
            (pd.CategoricalIndex(["x", "y", "z"]), "z"),
        ],
        ids=str,
    )
    def test_a_pandas_series_gives_back_its_label(self, index, label):
        value = select(pd.Series([0, 0, 10**6], index=index), epsilon=64).value
        assert value == label
        assert not isinstance(value, np.generic)

    def test_a_polars_series_gives_back_a_position(self):
        assert select(pl.Series("votes", [0, 10**6, 0]), epsilon=64).value == 1

    def test_nullable_integers_keep_all_their_digits(self):
        assert exact(pd.Series([2**60 + 128, 2**60 + 129], dtype="Int64")) == [
            2**60 + 128,
            2**60 + 129,
        ]

    @pytest.mark.parametrize("index", [["a", "a"], [1, 1.0], [("a", 1), ("a", 1)]], ids=str)
    def test_duplicate_labels_are_refused(self, index):
        with pytest.raises(
            ScoresError, match=r"must have each label only once\. Got duplicate labels"
        ):
            select(pd.Series([1, 2], index=index))

    @pytest.mark.parametrize(
        "index",
        [
            ["a", None],
            [1.0, np.nan],
            pd.Index(["a", pd.NA]),
            pd.to_datetime(["2024-01-01", None]),
            pd.MultiIndex.from_tuples([("a", None), ("b", "c")]),
        ],
        ids=str,
    )
    def test_null_labels_of_a_series_are_refused(self, index):
        with pytest.raises(ScoresError, match=r"must not have an empty label \(None or NaN\)"):
            select(pd.Series([1, 2], index=index))

    @pytest.mark.parametrize(
        "label", [None, float("nan"), np.float32("nan"), pd.NaT, pd.NA, Decimal("NaN")], ids=repr
    )
    def test_null_labels_of_a_mapping_are_refused(self, label):
        with pytest.raises(ScoresError, match=r"must not have an empty label \(None or NaN\)"):
            select({"a": 1, label: 2})

    @pytest.mark.parametrize(
        ("label", "value"),
        [
            (np.int64(7), 7),
            (np.str_("a"), "a"),
            (np.float32(0.5), 0.5),
            (np.True_, True),
            (("a", 1), ("a", 1)),
            ("", ""),
        ],
        ids=repr,
    )
    def test_labels_come_back_as_plain_python(self, label, value):
        found = select({label: 1}).value
        assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "laplace-noise"])
def test_the_same_scores_in_any_container_give_the_same_draw(mechanism):
    scores = [3, 1, 4, 1, 5]
    containers = [
        scores,
        tuple(scores),
        np.array(scores),
        np.array(scores, dtype=np.uint8),
        pd.Series(scores),
        pl.Series(scores),
    ]
    words = {"epsilon": 1, "sensitivity": 1, "mechanism": mechanism}
    for seed in range(20):
        assert (
            len(
                {discreet.select(each, bits=SeededBits(seed), **words).value for each in containers}
            )
            == 1
        )
