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
from discreet import ParameterError
from discreet.errors import ParameterTypeError
from discreet.mechanisms.grid import read_cells, read_grid
from discreet.testing import SeededBits

GRID = read_grid((0, 10), 1)
ASKED = {"bounds": (0, 10), "step": 1, "epsilon": 8}


class Worthless(Fraction):
    """A number by its kind alone."""

    def __float__(self):
        raise RuntimeError("whose it is")


def held(values):
    """How many values have each point; those between two of them count half at each."""
    cells = read_cells(values, GRID)
    return dict(zip(cells.points.tolist(), (cells.counts / 2).tolist(), strict=True))


class TestValues:
    @loop_over(
        "values",
        [
            [1, 2, 2],
            (1.0, 2.0, 2.0),
            np.array([1, 2, 2], dtype=np.int8),
            np.array([1, 2, 2], dtype=np.uint64),
            np.array([1, 2, 2], dtype=np.float32),
            pd.Series([1, 2, 2, None], dtype="Int64"),
            pd.Series([1, 2, 2, np.nan]),
            pl.Series([1, 2, 2, None]),
            [Fraction(1), Decimal("2.0"), 2],
            (value for value in (1, 2, 2)),
            [1, 2, 2, None, np.nan, pd.NA, "5", [5], object(), Decimal("sNaN"), 3j],
            np.ma.array([1, 2, 2, 9, 9], mask=[0, 0, 0, 1, 1]),
            np.ma.array([1, 2, 2, "odd", 9], mask=[0, 0, 0, 0, 1], dtype=object),
        ],
        ids=lambda values: type(values).__name__,
    )
    def test_numbers_of_every_kind(self, values):
        assert held(values) == {1: 1, 2: 2}

    def test_a_value_between_two_points_counts_half_at_each(self):
        assert held([1.5, 2, 2.25]) == {1: 0.5, 2: 2, 3: 0.5}

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

    @pytest.mark.parametrize("unit", ["[D]", "[s]", "[ns]", "[Y]", ""])
    def test_a_length_of_time_is_no_number(self, unit):
        """Some of its units turn into floats, some do not."""
        assert held([np.int64(5).view(f"m8{unit}"), 3]) == {3: 1}

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
            discreet.errors.ScoresError, match="The 'values' of quantile must be a list of numbers"
        ):
            discreet.quantile(values, q=0.5, **ASKED)

    def test_tables_are_refused(self):
        with pytest.raises(
            discreet.errors.ScoresError, match=r"must be one list of numbers\. Got 2 dimensions"
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


class TestCoarsePoints:
    """Values are ranked as they are, and not rounded down before."""

    def ask(self, values, **said):
        return discreet.quantile(values, q=0.5, epsilon=4, bits=SeededBits(1), **said).value

    def test_values_rank_as_they_are(self):
        grid = {"bounds": (0, 100), "step": 25}
        for some in (range(100), [99 - each for each in range(100)]):
            for seed in range(9):
                asked = {"q": 0.5, "epsilon": 4, "bits": SeededBits(seed)}
                assert discreet.quantile(some, **grid, **asked).value == 50
        above = [each + 0.9 for each in range(100)]
        assert self.ask(above, bounds=(0, 100), step=10) == 50

    @pytest.mark.parametrize("points", [[0, 25, 50, 75, 100], [-1, 0, 13, 50, 90, 1e9]], ids=str)
    @pytest.mark.parametrize("kind", [list, tuple, np.array])
    def test_points_may_be_listed(self, points, kind):
        assert self.ask(range(100), points=kind(points)) == 50
        q = [0.25, 0.5]
        for method in ("recursive", "joint", "independent"):
            asked = {"epsilon": 40, "method": method, "bits": SeededBits(3)}
            found = discreet.quantiles(range(100), q=q, points=kind(points), **asked)
            assert found.value[1] == 50

    def test_a_list_of_the_grid_is_the_grid(self):
        values = [0, 0.1, 0.2999, 0.3, 0.35, 0.9, 7, -7]
        for seed in range(20):
            asked = {"q": Fraction(2, 5), "epsilon": Fraction(1, 2)}
            points = [Fraction(place, 10) for place in range(11)]
            listed = discreet.quantile(values, points=points, bits=SeededBits(seed), **asked)
            grid = discreet.quantile(
                values, bounds=(0, 1), step=0.1, bits=SeededBits(seed), **asked
            )
            assert (listed.value, listed.accuracy) == (grid.value, grid.accuracy)

    @loop_over(
        ("said", "rule"),
        [
            ({"points": []}, "'points' .* at least one"),
            ({"points": [1, 1]}, "'points' .* ascending"),
            ({"points": [2, 1]}, "'points' .* ascending"),
            ({"points": [0, 1e-300]}, "'points' .* at least 1e-290"),
            ({"points": [0, 1e301]}, "'points' .* between -1e300 and 1e300"),
            ({"points": range(20_000)}, "'points' .* at most 10,000"),
            ({"points": [1, 2], "step": 1}, "'step' .* left out if points are listed"),
            ({"points": [1, 2], "bounds": (1, 2)}, "'bounds' .* left out if points are listed"),
            ({"step": 1}, "'bounds' .* given"),
            ({"bounds": (1, 2)}, "'step' .* given"),
        ],
        ids=str,
    )
    def test_points_that_are_none(self, said, rule):
        with pytest.raises(ParameterError, match=rule):
            self.ask([1], **said)

    @loop_over("points", [pd.Series([41, 42]), "41,42", 41, {41: 1}], ids=str)
    def test_a_column_in_place_of_points_is_not_shown(self, points):
        with pytest.raises(ParameterTypeError, match="a list of public numbers") as told:
            self.ask([1], points=points)
        assert "41" not in str(told.value)
