"""The doors for numbers: what they read, and that no single value decides whether they read it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tiers import loop_over, more

import discreet
from discreet.mechanisms.grid import read_cells, read_grid
from discreet.testing import SeededBits

GRID = read_grid((0, 10), 1, "test")
ASKED = {"bounds": (0, 10), "step": 1, "epsilon": 8}


class Worthless(Fraction):
    """A number by its kind alone."""

    def __float__(self):
        raise RuntimeError("whose it is")


def held(values):
    """How many persons have each point."""
    cells = read_cells(values, GRID, "test")
    return dict(zip(cells.points.tolist(), cells.counts.tolist(), strict=True))


class TestValues:
    @loop_over(
        "values",
        [
            [1, 2, 2],
            (1.0, 2.5, 2.0),
            np.array([1, 2, 2], dtype=np.int8),
            np.array([1, 2, 2], dtype=np.uint64),
            np.array([1.9, 2, 2], dtype=np.float32),
            pd.Series([1, 2, 2, None], dtype="Int64"),
            pd.Series([1, 2, 2, np.nan]),
            pl.Series([1, 2, 2, None]),
            [Fraction(3, 2), Decimal("2.5"), 2],
            (value for value in (1, 2, 2)),
            [1, 2, 2, None, np.nan, pd.NA, "5", [5], object(), Decimal("sNaN"), 3j],
            np.ma.array([1, 2, 2, 9, 9], mask=[0, 0, 0, 1, 1]),
            np.ma.array([1, 2, 2, "odd", 9], mask=[0, 0, 0, 0, 1], dtype=object),
        ],
        ids=lambda values: type(values).__name__,
    )
    def test_numbers_of_every_kind(self, values):
        assert held(values) == {1: 1, 2: 2}

    @pytest.mark.parametrize(
        "values", [[], np.array([]), [None], pd.Series([], dtype=float)], ids=str
    )
    def test_nobody(self, values):
        assert held(values) == {}
        assert 0 <= discreet.quantile(values, q=0.5, **ASKED).value <= 10

    def test_what_is_outside_counts_as_the_nearest_bound(self):
        huge = 10**400
        assert held([-huge, -1e308, -np.inf, -1, 0, 10, 11, np.inf, huge, Fraction(huge)]) == {
            0: 5,
            10: 5,
        }

    def test_truths_are_numbers(self):
        assert (
            held([True, False, True])
            == held([True, False, True, None])
            == held(np.array([True, False, True]))
            == {0: 1, 1: 2}
        )

    @pytest.mark.parametrize("unit", ["D", "s", "ns", "Y", "generic"])
    def test_a_length_of_time_is_no_number(self, unit):
        """Some of its units turn into floats, some do not."""
        assert held([np.timedelta64(5, unit), 3]) == {3: 1}

    @loop_over(
        "odd",
        [
            *(None, "text", 10**400, True, [1], [1, 2], b"1", 2j, object()),
            *(np.datetime64("2020-01-01"), np.timedelta64(5, "D"), np.array(5), np.array([5])),
            *(Decimal("sNaN"), Worthless()),
        ],
        ids=lambda odd: type(odd).__name__,
    )
    @loop_over(
        "others",
        [
            [1, 2, 3, 4.5],
            [np.array(1), np.array(4.5)],
            [np.float32(1), np.uint64(2), np.int8(3)],
            [[1], [2]],
            [[1, 2], [3, 4]],
            [[], []],
            [np.timedelta64(1, "D")],
        ],
        ids=["numbers", "arrays", "numpy", "lists", "pairs", "empty", "times"],
    )
    def test_no_single_value_decides_whether_the_others_are_read(self, odd, others):
        """Otherwise a refusal would be an answer about that person, for nothing."""
        before = held(others)
        after = held([*others, odd])
        assert all(after[point] >= count for point, count in before.items())
        assert sum(after.values()) - sum(before.values()) in (0, 1)

    @loop_over(
        "values",
        [
            None,
            "123",
            b"123",
            {1: 2},
            7,
            np.array(["1", "2"]),
            pl.Series(["1"]),
            np.array(["2020-01-01"], dtype="datetime64[D]"),
        ],
        ids=lambda values: type(values).__name__,
    )
    def test_what_holds_no_numbers_is_refused(self, values):
        with pytest.raises(
            discreet.ScoresError, match="The 'values' of quantile must be a list of numbers"
        ):
            discreet.quantile(values, q=0.5, **ASKED)

    def test_tables_are_refused(self):
        with pytest.raises(
            discreet.ScoresError, match=r"must be one list of numbers\. Got 2 dimensions"
        ):
            discreet.quantile(np.array([[1, 2], [3, 4]]), q=0.5, **ASKED)


class TestShares:
    @pytest.mark.parametrize(
        "q", [0.5, np.array(0.5), "0.5", [], None, {0.5}, np.array([[0.5]])], ids=repr
    )
    def test_a_list_of_shares(self, q):
        with pytest.raises(
            discreet.ParameterError,
            match="The 'q' parameter of quantiles must be a list of at least one share",
        ):
            discreet.quantiles([1], q=q, **ASKED)

    @pytest.mark.parametrize("q", [[0.5, 0.5], [0.9, 0.1], np.array([0.3, 0.2])], ids=repr)
    def test_ascending(self, q):
        with pytest.raises(discreet.ParameterError, match="ascending, without equal ones"):
            discreet.quantiles([1], q=q, **ASKED)

    def test_joint_shares_with_no_small_denominator(self):
        with pytest.raises(
            discreet.ParameterError, match=r"Give fractions, such as Fraction\(1, 3\)"
        ):
            discreet.quantiles([1], q=[1 / 3, 2 / 3], method="joint", **ASKED)


@pytest.mark.parametrize("method", ["recursive", "independent", "joint"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0, more(1e-6)])
def test_every_way_finds_quantiles(method, neighbours, delta):
    release = discreet.quantiles(
        list(range(1000)),
        q=[0, 0.25, 0.5, 0.75, 1],
        bounds=(0, 999),
        step=1,
        epsilon=16,
        delta=delta,
        neighbours=neighbours,
        method=method,
        bits=SeededBits(1),
    )
    assert release.value == pytest.approx([0, 250, 500, 750, 999], abs=30)
    assert release.seeded
