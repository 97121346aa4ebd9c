"""The pass over very many candidates: the best of each column, and the smallest and largest of
all, from one look at each score.
"""

from functools import cache

import numpy as np
import pytest
from tiers import loop_over

from discreet.samplers import order_statistics
from discreet.samplers.columns import (
    ROW,
    ROWS,
    Columns,
    best_in_columns,
    columns_without,
    place_of,
    row_and_column,
)

GROUP = ROWS * ROW
SIZES = [1, 7, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP - 5, 40 * GROUP + 123]
KINDS = [np.float64, np.float32, np.float16, np.int64, np.uint64, np.int8]


def scores_of(size, kind):
    return (
        np.random.default_rng(size).normal(0, 50, size).clip(-100, 100).astype(np.int8).astype(kind)
    )


@cache
def places_of(columns):
    """The candidates of each column, of whom each is in one."""
    places = np.array([[place_of(row, each) for row in range(ROWS)] for each in range(columns)])
    assert sorted(places.ravel().tolist()) == list(range(columns * ROWS))
    return places


@loop_over("smallest", [False, True])
@loop_over("kind", KINDS)
@loop_over("size", SIZES, usual=3)
def test_each_column_has_the_best_of_its_candidates(size, kind, smallest):
    scores = scores_of(size, kind)
    columns = Columns(scores, smallest=smallest)
    assert (columns.low, columns.high) == (scores.min(), scores.max())
    assert columns.best.dtype == scores.dtype
    worst = scores.max() if smallest else scores.min()
    padded = np.append(scores, np.full(columns.best.size * ROWS - size, worst))
    places = places_of(columns.best.size)
    best = padded[places].min(axis=1) if smallest else padded[places].max(axis=1)
    assert np.array_equal(columns.best, best)


@loop_over("place", [0, GROUP - 1, GROUP, 33 * GROUP, 33 * GROUP + 6])
@loop_over("smallest", [False, True])
@loop_over("strange", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_shows_in_the_ends(place, smallest, strange):
    scores = np.zeros(33 * GROUP + 7)
    scores[place] = strange
    columns = Columns(scores, smallest=smallest)
    assert not (np.isfinite(columns.low) and np.isfinite(columns.high))


@pytest.mark.parametrize("step", [2, -1, -3])
def test_scores_need_not_lie_side_by_side(step):
    scores = scores_of(3 * GROUP, np.float64)[::step]
    plain = Columns(scores.copy(), smallest=False)
    assert np.array_equal(Columns(scores, smallest=False).best, plain.best)


def test_the_scores_stay_as_they_are():
    scores = scores_of(2 * GROUP + 9, np.float64)
    before = scores.copy()
    scores.flags.writeable = False
    Columns(scores, smallest=False)
    assert np.array_equal(scores, before)


@loop_over("smallest", [False, True])
@loop_over("shape", ["flat", "few are better", "steps", "the last is best", "the last are worst"])
@loop_over("size", [130, GROUP - 1, GROUP + 1, 3 * GROUP - 5])
def test_the_best_of_all_and_the_columns_without_them(size, shape, smallest):
    places = np.arange(size)
    scores = {
        "flat": np.full(size, 3),
        "few are better": (places % 97 == 5).astype(np.int64),
        "steps": places * 37 % 101,
        "the last is best": (places == size - 1).astype(np.int64),
        "the last are worst": -(places // 3),
    }[shape] * (-1 if smallest else 1)
    columns = Columns(scores, smallest=smallest)
    best = best_in_columns(scores, smallest, columns, 60)
    assert len(set(best.tolist())) == 60
    assert best.max() < size
    ordered = np.sort(scores) if smallest else np.sort(scores)[::-1]
    assert scores[best].tolist() == ordered[:60].tolist()
    worst = ordered[-1]
    others = np.append(scores, np.full(columns.best.size * ROWS - size, worst))
    others[best] = worst
    assert np.array_equal(
        columns_without(scores, smallest, columns, best), Columns(others, smallest=smallest).best
    )
    rows, numbers = row_and_column(places)
    assert np.array_equal(place_of(rows, numbers), places)


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("more", [0, 1, 200])
@pytest.mark.parametrize("size", [GROUP - 1, 2 * GROUP, 2 * GROUP + 1])
@pytest.mark.parametrize("all_sorted", [0, 1 << 12], ids=["searched", "sorted"])
def test_a_list_may_be_longer_than_there_are_columns(size, more, smallest, all_sorted, monkeypatch):
    """The last column has some of the best: it must not stand for those that are missing. So
    many columns as there really are would be searched.
    """
    monkeypatch.setattr(order_statistics, "ALL_SORTED", all_sorted)
    scores = np.arange(size) * (-1 if smallest else 1)
    whole, rest = divmod(size - 1, GROUP)
    count = whole * ROW + min(rest + 1, ROW) + more
    best = best_in_columns(scores, smallest, Columns(scores, smallest=smallest), count)
    assert best.tolist() == list(range(size - 1, size - 1 - count, -1))
