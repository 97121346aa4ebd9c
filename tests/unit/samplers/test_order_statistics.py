"""Order statistics: right for every kind of value, and with the same work whatever the values
are.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over

from discreet.samplers import order_statistics
from discreet.samplers.order_statistics import (
    best_keys,
    best_places,
    kth_largest,
    nth_places,
    sorted_places,
)

SIZES = [1, 2, 100, 129, 1000, 70_000]


def shapes(size):
    """Inputs on which sorts and partitions take very different times."""
    source = np.random.default_rng(size)
    constant = np.ones(size, dtype=np.int64)
    changed = constant.copy()
    changed[size // 3] = 2
    return {
        "constant": constant,
        "all but one equal": changed,
        "random": source.integers(-(2**63), 2**63 - 1, size),
        "frequencies": source.zipf(1.3, size).astype(np.int64) % 10**9,
        "sorted": np.arange(size),
        "backwards": -np.arange(size),
        "two halves": np.where(np.arange(size) % 2, 65535, 65536),
    }


class TestKeys:
    @loop_over("smallest", [False, True], ids=["max", "min"])
    @loop_over(
        "kind",
        [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64],
        ids=lambda k: k.__name__,
    )
    def test_integers_keep_their_order(self, kind, smallest):
        limits = np.iinfo(kind)
        values = np.array(
            [limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max], dtype=kind
        )
        self.require_order(values, smallest)

    @pytest.mark.parametrize("smallest", [False, True], ids=["max", "min"])
    @pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64], ids=lambda k: k.__name__)
    def test_floats_keep_their_order(self, kind, smallest):
        limits = np.finfo(kind)
        tiny = limits.smallest_subnormal
        values = np.array([limits.min, -1, -tiny, -0.0, 0.0, tiny, 1, limits.max], dtype=kind)
        self.require_order(values, smallest)

    def require_order(self, values, smallest):
        keys = best_keys(values, smallest)
        assert keys.dtype == np.uint64
        for place, value in enumerate(values):
            better = values < value if smallest else values > value
            assert ((keys > keys[place]) == better).all()
            assert ((keys == keys[place]) == (values == value)).all()


class TestKthLargest:
    @loop_over("size", SIZES)
    @loop_over("shape", shapes(1))
    def test_it_is_what_a_sort_finds(self, shape, size):
        keys = best_keys(shapes(size)[shape], smallest=False)
        ordered = np.sort(keys)[::-1]
        for most in {1, min(10, size), min(500, size), size}:
            for rank in {1, most // 2 + 1, most} & set(range(1, most + 1)):
                assert kth_largest(keys, rank, most) == ordered[rank - 1]

    @examples(50, 200)
    @given(
        st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), min_size=1, max_size=300), st.data()
    )
    def test_of_any_keys(self, keys, data):
        rank = data.draw(st.integers(1, len(keys)))
        assert (
            kth_largest(np.array(keys, dtype=np.uint64), rank, rank)
            == sorted(keys, reverse=True)[rank - 1]
        )

    @pytest.mark.parametrize("size", [100, 1000, 70_000])
    def test_every_value_is_touched_as_often_whatever_the_values_are(self, size, monkeypatch):
        """The number of passes and of the values in each of them are the same for all inputs, and
        for all ranks.
        """
        found = set()
        for values in shapes(size).values():
            for rank in (1, 7, 10):
                found.add(
                    work_of(
                        lambda v=values, r=rank: kth_largest(best_keys(v, False), r, 10),
                        monkeypatch,
                    )
                )
        assert len(found) == 1
        assert sum(times for _, times in found.pop()) > 0


class TestBest:
    @pytest.mark.parametrize("count", [1, 10, 300])
    @pytest.mark.parametrize("size", [100, 1000, 10_007, 70_000])
    def test_every_value_is_touched_as_often_whatever_the_values_are(
        self, size, count, monkeypatch
    ):
        """Also where the best of a class of classes are looked for."""
        found = {
            work_of(lambda v=values: best_places(v, False, count), monkeypatch)
            for values in shapes(size).values()
        }
        assert len(found) == 1
        assert sum(times for _, times in found.pop()) > 0


class TestPlaces:
    @loop_over("size", [1, 63, 64, 65, 1000, 40_000])
    @loop_over("share", [0.0, 0.01, 0.5, 1.0])
    def test_true_entries_are_found_by_their_rank(self, size, share):
        mask = np.random.default_rng(size).random(size) < share
        places = np.flatnonzero(mask)
        assert nth_places(mask, np.arange(places.size)).tolist() == places.tolist()
        assert nth_places(mask, np.arange(places.size)[::-1]).tolist() == places[::-1].tolist()

    @pytest.mark.parametrize("size", [5, 40_000])
    @pytest.mark.parametrize("true", [[], [3]], ids=["none", "one"])
    def test_a_rank_that_there_is_not_has_some_place(self, size, true):
        mask = np.zeros(size, dtype=np.bool_)
        mask[true] = True
        found = nth_places(mask, np.array([-7, 1, 2, 10**9]))
        assert ((found >= 0) & (found < size)).all()


class TestSort:
    @loop_over("size", SIZES)
    @loop_over("shape", shapes(1))
    def test_it_is_a_stable_sort(self, shape, size):
        keys = best_keys(shapes(size)[shape], smallest=False)
        assert (sorted_places(keys, 4) == keys.argsort(kind="stable")).all()

    @pytest.mark.parametrize(
        "piece", [[], [0], [65535], [0, 65535], [65535, 0, 65535, 0], [65535] * 3], ids=str
    )
    def test_the_guards_do_not_come_back(self, piece):
        keys = np.array(piece, dtype=np.uint64)
        assert sorted_places(keys, 1).tolist() == keys.argsort(kind="stable").tolist()

    def test_what_is_sorted_is_never_sorted_already(self, monkeypatch):
        """NumPy's radix sort leaves out what is in order, and each byte that is the same
        everywhere.
        """
        seen = []

        class Watched(np.ndarray):
            def argsort(self, *arguments, **words):
                seen.append(np.asarray(self).copy())
                assert words == {"kind": "stable"}
                return np.asarray(self).argsort(*arguments, **words)

        original = np.empty
        monkeypatch.setattr(
            order_statistics.np, "empty", lambda *a, **w: original(*a, **w).view(Watched)
        )
        for values in shapes(1000).values():
            sorted_places(best_keys(values, False), 4)
        assert len(seen) == 4 * len(shapes(1000))
        for piece in seen:
            assert piece.dtype == np.uint16
            assert (piece[:-1] > piece[1:]).argmax() == 0, "the very first pair is out of order"
            for byte in (piece & 255, piece >> 8):
                assert byte.min() != byte.max()


def work_of(call, monkeypatch):
    """How many times each function of NumPy was called on how many values."""
    counted = Counter()

    def watch(name, original):
        def counting(*arguments, **words):
            sizes = tuple(part.size for part in arguments if isinstance(part, np.ndarray))
            counted[name, sizes] += 1
            return original(*arguments, **words)

        return counting

    with monkeypatch.context() as patch:
        for name in (
            "greater_equal",
            "greater",
            "equal",
            "count_nonzero",
            "multiply",
            "logical_and",
        ):
            patch.setattr(order_statistics.np, name, watch(name, getattr(np, name)))
        for name in ("_compare_all", "_sorted_by_pairs", "_sorted_by_piece"):
            patch.setattr(order_statistics, name, watch(name, getattr(order_statistics, name)))
        call()
    return frozenset(counted.items())
