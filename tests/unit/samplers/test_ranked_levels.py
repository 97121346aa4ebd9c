"""Candidates by level: sorted or counted, beside a sort, and with the same work whatever they
are.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from tiers import loop_over
from unit.samplers.test_order_statistics import shapes, work_of

from discreet.samplers import order_statistics, ranked_levels
from discreet.samplers.distances import measure
from discreet.samplers.order_statistics import best_places
from discreet.samplers.ranked_levels import Levels, rounded_levels, whole_levels

COUNT = 7


@pytest.fixture(params=["in order", "sorted", (5, 16), (64, 64), (1 << 11, 1 << 14)], ids=str)
def chunk(request, monkeypatch):
    """How many candidates a chunk has, and how many are looked at together; or they are sorted by
    level, or in order already where the best of them were found.
    """
    if request.param != "in order":
        monkeypatch.setattr(order_statistics, "ALL_SORTED", 0)
    if isinstance(request.param, str):
        monkeypatch.setattr(ranked_levels, "_MANY", 10**9)
        return
    for name, value in zip(("_CHUNK", "_TOGETHER"), request.param, strict=True):
        monkeypatch.setattr(ranked_levels, name, value)
    for name, value in (("_MANY", 1), ("_FEW", 0), ("_SEARCHED", 100)):
        monkeypatch.setattr(ranked_levels, name, value)
    monkeypatch.setattr(ranked_levels, "_CHUNK_LEVELS", 2 if request.param[0] > 1000 else 0)


def distances_of(scores, *, rate=1, smallest=False):
    ends = scores.min().item(), scores.max().item()
    return measure(scores, *ends, fmpq(rate), smallest=smallest)


def scores_of(shape, size, kind):
    """Ties with the last of the best, inside and outside of them; some far behind."""
    source = np.random.default_rng(size)
    found = {
        "flat": np.full(size, 3),
        "ties": source.integers(0, 4, size),
        "steps": source.permutation(size) % 100,
        "apart": np.where(np.arange(size) % 50 == 3, 100, source.integers(0, 30, size)),
    }
    return found[shape].astype(kind)


@pytest.mark.usefixtures("chunk")
@loop_over("smallest", [False, True], ids=["max", "min"])
@loop_over("kind", [np.int64, np.int8, np.uint64, np.int32], usual=1)
@loop_over("deepest", [1, 6, 200])
@loop_over("shape", ["flat", "ties", "steps", "apart"])
def test_every_candidate_is_found_once_at_its_level(shape, deepest, kind, smallest):
    scores = scores_of(shape, 331, kind)
    found = whole_levels(distances_of(scores, smallest=smallest), COUNT, deepest)
    values = scores.astype(np.int64) * (1 if smallest else -1)
    require_levels(found, values, deepest)


def require_levels(found, values, deepest):
    """Each candidate once, at the level of how far its value is above the last of the best."""
    best = found.best.tolist()
    assert values[best].tolist() == sorted(values.tolist())[: len(best)]
    seen = list(best)
    for level, number in enumerate(found.counts.tolist()):
        members = found.find_all(np.full(number, level), np.arange(number)).tolist()
        behind = values[members] - values[best[-1]]
        assert (np.minimum(behind, deepest).astype(np.int64) == level).all()
        seen += members
    assert sorted(seen) == list(range(values.size))


@pytest.mark.usefixtures("chunk")
@loop_over("shift", [0, 2**62, -(2**62), 2**63], ids=str)
def test_whole_numbers_of_any_size(shift):
    values = scores_of("steps", 331, np.int64)
    scores = np.array([int(value) + shift for value in values])
    assert scores.dtype.kind in "iu"
    require_levels(whole_levels(distances_of(scores), COUNT, 60), -values, 60)


@pytest.mark.usefixtures("chunk")
def test_numbers_at_both_ends_of_64_bits():
    scores = np.array([2**63 - 1, 2**63 - 2, -(2**63), 0, -(2**63)])
    found = whole_levels(distances_of(scores), 2, 9)
    assert found.counts.tolist() == [0] * 9 + [3]


@pytest.mark.usefixtures("chunk")
@loop_over("smallest", [False, True], ids=["max", "min"])
@loop_over("kind", [np.float64, object, np.int64, np.float32], usual=1)
@loop_over("shape", ["flat", "ties", "steps", "apart"])
def test_rounded_levels_are_no_deeper_than_the_distance(shape, kind, smallest):
    """And no more than a level less deep: of steps that are no whole number of cells."""
    scores, rate = scores_of(shape, 331, kind), fmpq(3, 7)
    if kind is object:
        fractions = [Fraction(score) for score in scores]
        distances = measure(fractions, min(fractions), max(fractions), rate, smallest=smallest)
    else:
        distances = distances_of(scores, rate=rate, smallest=smallest)
    found = rounded_levels(distances, COUNT, 4, 50)
    values = scores.astype(np.int64) * (1 if smallest else -1)
    require_levels(found, values * (3 / 7 * 4) * (1 - 2.0**-40), 50)


@pytest.mark.usefixtures("chunk")
def test_very_many_levels(monkeypatch):
    """More than 16 bits have room for."""
    monkeypatch.setattr(ranked_levels, "_CHUNK_LEVELS", 2)
    scores = np.arange(140_000)
    found = whole_levels(distances_of(scores), COUNT, 2**16 + 5)
    last = scores.size - COUNT
    some = np.array([1, 2, 2**16 - 1, 2**16, 2**16 + 1, 2**16 + 4, 2**16 + 5])
    members = found.find_all(some, np.zeros_like(some)).tolist()
    assert members == [*(last - some[:-1]), 0]
    assert found.counts.sum() == last


@loop_over("smallest", [False, True], ids=["max", "min"])
@loop_over("shape", shapes(1))
@loop_over(
    ("size", "count"),
    [(20, COUNT), (1000, COUNT), (5003, 1000), (129, COUNT), (5003, COUNT), (70_007, COUNT)],
)
@pytest.mark.parametrize("sorted_up_to", [order_statistics.ALL_SORTED, 0])
def test_the_best_are_those_of_a_sort(size, count, shape, smallest, sorted_up_to, monkeypatch):
    """Of many values the last few are in no class, and they can be the best."""
    monkeypatch.setattr(order_statistics, "ALL_SORTED", sorted_up_to)
    values = shapes(size)[shape]
    places = best_places(values, smallest, count)
    assert places.size == (size if size <= order_statistics.ALL_SORTED else count)
    assert len(set(places.tolist())) == places.size
    ordered = np.sort(values) if smallest else np.sort(values)[::-1]
    assert values[places].tolist() == ordered[: places.size].tolist()


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "rounded"])
def test_every_candidate_takes_part_whatever_the_scores_are(whole, monkeypatch):
    """The number of calls, and of the values in each of them, are the same for all inputs."""
    found = set()
    for name, values in shapes(20_000).items():
        if name == "random":
            values = values % 2**50
        distances = distances_of(values if whole else values / 8)
        counted = Counter()

        def bincount(part, *, minlength, counted=counted):
            counted["bincount", part.size, minlength] += 1
            return np.add.reduceat(np.zeros(minlength, dtype=np.int64), np.arange(minlength))

        def call(distances=distances):
            with monkeypatch.context() as patch:
                patch.setattr(ranked_levels.np, "bincount", bincount)
                if whole:
                    whole_levels(distances, COUNT, 50)
                else:
                    rounded_levels(distances, COUNT, 4, 50)

        found.add((work_of(call, monkeypatch), frozenset(counted.items())))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("size", "deepest", "count", "counted"),
    [
        (2**15, 2047, 100, True),
        (2**15, 2048, 100, False),
        (2**15, 100, 2049, False),
        (2**15 - 1, 100, 100, False),
    ],
)
def test_only_many_candidates_with_few_levels_are_counted(size, deepest, count, counted):
    found = Levels(
        size, count, deepest, lambda part: np.arange(*part.indices(size)) % 9, np.arange(count)
    )
    assert (found._order is None) == counted
