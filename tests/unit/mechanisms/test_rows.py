"""Rows are read by a fixed function of each row, to vectors of length at most 1."""

from fractions import Fraction

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import discreet
from discreet.errors import ParameterError, ScoresTypeError
from discreet.mechanisms.rows import ordered_rows, unit_rows, unit_targets
from discreet.testing import SeededBits

ODD = np.array([
    [3e307, 3e307, -3e307],
    [1e308, 1.7e308, 1e308],
    [5e-324, 0, 1e-320],
    [1, 1e-300, 0],
    [0.6, 0.8, 0],
    [0.6, 0.8, 1e-9],
    [2**-16, 2**-17, 0],
    [-0.0, 0, 0],
])  # fmt: skip
BAD = np.array([[np.nan, 1, 2], [np.inf, 0, 0], [1, -np.inf, 0]])


@pytest.mark.parametrize("norm", [Fraction(1), Fraction(3, 7), Fraction(10) ** 6], ids=str)
def test_no_row_is_longer_than_one_and_short_ones_stay(norm):
    rng = np.random.default_rng(8)
    rows = np.concatenate([ODD, BAD, rng.normal(size=(500, 3)) * rng.exponential(size=(500, 1))])
    found = unit_rows(rows, norm)
    whole = [[Fraction(value) * 2**16 for value in row] for row in found.tolist()]
    assert all(value.denominator == 1 for row in whole for value in row)
    assert all(sum(value**2 for value in row) <= 2**32 for row in whole)
    assert not found[len(ODD) : len(ODD) + 3].any()
    # a row that is short enough is cut off toward zero
    for row, units in zip(rows[-500:].tolist(), whole[-500:], strict=True):
        exact = [Fraction(value) / norm for value in row]
        size = sum(value**2 for value in exact)
        if size < Fraction(99, 100):
            assert all(
                abs(unit) <= abs(value) * 2**16 * (1 + Fraction(1, 2**48))
                and abs(value) * 2**16 - abs(unit) < 1 + Fraction(1, 2**30)
                for unit, value in zip(units, exact, strict=True)
            )
        elif size > Fraction(101, 100):
            assert sum(unit**2 for unit in units) > 2**32 * Fraction(998, 1000)


def test_a_row_is_read_alike_wherever_it_is():
    rng = np.random.default_rng(8)
    rows = np.concatenate([ODD, BAD, rng.normal(size=(200, 3))])
    found = unit_rows(rows, Fraction(1))
    order = rng.permutation(len(rows))
    assert (unit_rows(rows[order], Fraction(1)) == found[order]).all()
    assert (unit_rows(np.asfortranarray(rows), Fraction(1)) == found).all()
    for place in range(0, len(rows), 17):
        assert (unit_rows(rows[place : place + 1], Fraction(1)) == found[place]).all()


def test_targets_are_kept_within_their_bounds():
    found = unit_targets(
        np.array([-9, -1, 0.25, 2, 1e300, np.inf, np.nan]), (Fraction(-1), Fraction(2))
    )
    assert found[:6].tolist() == [-0.5, -0.5, 0.125, 1, 1, 1]
    assert np.isnan(found[6])


ROWS = np.random.default_rng(9).uniform(-0.5, 0.5, size=(30, 3))
LABELS = (ROWS[:, 0] > 0).astype(int)


def logistic(rows, labels, **given):
    asked = {"epsilon": 1, "norm": 1, "radius": 3, "classes": (0, 1), "bits": SeededBits(1)} | given
    return discreet.models.fit_logistic(rows, labels, **asked).value


def test_what_cannot_be_used_is_left_out():
    value = logistic(ROWS, LABELS)
    more = np.concatenate([ROWS, BAD, ROWS[:2]])
    labels = np.concatenate([LABELS, [0, 1, 0], [7, -1]])
    assert logistic(more, labels) == value
    named = np.array(["no", "yes"])[LABELS]
    assert logistic(ROWS, named, classes=("no", "yes")) == value
    # the last one cannot even be compared
    odd = np.array([*named, None, [], "maybe", 3, b"yes", pandas.NA], dtype=object)
    assert logistic(np.concatenate([ROWS, ROWS[:6]]), odd, classes=("no", "yes")) == value


def test_a_target_that_is_no_number_leaves_its_row_out():
    def linear(rows, targets):
        return discreet.models.fit_linear(
            rows, targets, epsilon=1, norm=1, radius=1, bounds=(-1, 1), bits=SeededBits(1)
        ).value

    targets = ROWS[:, 0]
    value = linear(ROWS, targets)
    assert linear(np.concatenate([ROWS, ROWS[:1]]), np.append(targets, np.nan)) == value
    odd = np.array([*targets, "text"], dtype=object)
    assert linear(np.concatenate([ROWS, ROWS[:1]]), odd) == value


@pytest.mark.parametrize("labels", [[0, 1], None, np.zeros((30, 2)), "text"])
def test_labels_that_are_no_column_are_refused(labels):
    with pytest.raises(ScoresTypeError, match="must be an array with one dimension"):
        logistic(ROWS, labels)


def test_no_rows_are_data_too():
    assert len(logistic(np.empty((0, 3)), np.empty(0))) == 3


def test_rows_in_order_whatever_order_they_come_in():
    rows = np.random.default_rng(3).integers(-2, 3, (400, 3))
    rows[:2] = [[-(2**31)] * 3, [2**31] * 3]
    expected = sorted(map(tuple, rows.tolist()))
    assert list(map(tuple, ordered_rows(rows).tolist())) == expected
    assert ordered_rows(rows[:0]).shape == (0, 3)


TEXTS, WHOLE = np.array(["no", "yes"])[LABELS], LABELS


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (TEXTS, (0, 1)),
        (WHOLE, ("0", "1")),
        (WHOLE > 0, ("no", "yes")),
        (WHOLE.astype(float), ("no", 1)),
        (pandas.Series(TEXTS, dtype="string"), (0, 1)),
        (pandas.Series(TEXTS, dtype="string").astype("category"), (False, True)),
        (pandas.Series(WHOLE, dtype="Int64"), ("no", "yes")),
        (polars.Series(TEXTS), (-1, 1)),
        (polars.Series(WHOLE), ("no", "yes")),
        (pyarrow.chunked_array([TEXTS.tolist()]), (0, 1)),
        (TEXTS.astype("S"), ("no", "yes")),
    ],
    ids=lambda given: str(getattr(given, "dtype", given)),
)
def test_classes_of_another_type_than_the_labels_are_refused_by_type_alone(labels, classes):
    for some in (labels, labels[:0]):
        rows = ROWS[: len(some)]
        with pytest.raises(ParameterError, match="'classes' parameter of fit_logistic must be two"):
            logistic(rows, some, classes=classes)


def test_an_array_of_objects_states_no_type():
    """One odd label makes an array of objects: it must not decide whether there is an answer."""
    anything = [np.array([*WHOLE[:-1], odd], dtype=object) for odd in (1, None, "yes", b"", 0.5)]
    for labels in anything:
        assert len(logistic(ROWS, labels)) == 3
        assert len(logistic(ROWS, labels, classes=("no", "yes"))) == 3


def test_numbers_of_any_type_are_numbers():
    value = logistic(ROWS, WHOLE)
    for labels in (WHOLE > 0, WHOLE.astype(float), pandas.Series(WHOLE), polars.Series(WHOLE)):
        for classes in ((0, 1), (False, True), (np.int8(0), Fraction(1))):
            assert logistic(ROWS, labels, classes=classes) == value
