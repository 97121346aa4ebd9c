"""Candidates that are counted by level: beside a sort, and with the same work whatever they are."""

from collections import Counter

import numpy as np
import pytest
from flint import fmpq
from unit.samplers.test_order_statistics import shapes, work_of

from discreet.samplers import joint_field, levels
from discreet.samplers.distances import measure
from discreet.samplers.levels import whole_levels
from discreet.samplers.order_statistics import best_places

COUNT = 7


@pytest.fixture(params=[(5, 16), (64, 64), (1 << 11, 1 << 14)], ids=str, autouse=True)
def chunk(request, monkeypatch):
    """How many candidates a chunk has, and how many are looked at together."""
    for name, value in zip(("_CHUNK", "_TOGETHER"), request.param, strict=True):
        monkeypatch.setattr(levels, name, value)
    monkeypatch.setattr(levels, "_CHUNK_LEVELS", 2 if request.param[0] > 1000 else 0)


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


@pytest.mark.parametrize("smallest", [False, True], ids=["max", "min"])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint64, np.int32], ids=lambda k: k.__name__)
@pytest.mark.parametrize("deepest", [1, 6, 200])
@pytest.mark.parametrize("shape", ["flat", "ties", "steps", "apart"])
def test_every_candidate_is_found_once_at_its_level(shape, deepest, kind, smallest):
    scores = scores_of(shape, 331, kind)
    found = whole_levels(scores, smallest, COUNT, deepest)
    values = scores.astype(np.int64) * (1 if smallest else -1)
    best = found.best.tolist()
    assert values[best].tolist() == sorted(values.tolist())[:COUNT]
    seen = list(best)
    for level, number in enumerate(found.counts.tolist()):
        members = [found.find(level, rank) for rank in range(number)]
        behind = values[members] - values[best[-1]]
        assert (np.minimum(behind, deepest) == level).all()
        seen += members
    assert sorted(seen) == list(range(scores.size))


def test_very_many_levels(monkeypatch):
    """More than 16 bits have room for."""
    monkeypatch.setattr(levels, "_CHUNK_LEVELS", 2)
    scores = np.arange(140_000)
    found = whole_levels(scores, False, COUNT, 2**16 + 5)
    last = scores.size - COUNT
    for level in (1, 2, 2**16 - 1, 2**16, 2**16 + 1, 2**16 + 4):
        assert found.find(level, 0) == last - level
    assert found.find(2**16 + 5, 0) == 0
    assert found.counts.sum() == last


@pytest.mark.parametrize("smallest", [False, True], ids=["max", "min"])
@pytest.mark.parametrize("shape", shapes(1))
@pytest.mark.parametrize("size", [20, 129, 1000, 70_000])
def test_the_best_are_those_of_a_sort(size, shape, smallest):
    values = shapes(size)[shape]
    places = best_places(values, smallest, COUNT)
    assert len(set(places.tolist())) == COUNT
    ordered = np.sort(values) if smallest else np.sort(values)[::-1]
    assert values[places].tolist() == ordered[:COUNT].tolist()


def test_every_candidate_is_counted_whatever_the_scores_are(monkeypatch):
    """The number of calls, and of the values in each of them, are the same for all inputs."""
    found = set()
    for name, values in shapes(70_000).items():
        if name == "random":
            values = values % 2**50
        counted = Counter()

        def bincount(part, *, minlength, counted=counted):
            counted["bincount", part.size, minlength] += 1
            return np.add.reduceat(np.zeros(minlength, dtype=np.int64), np.arange(minlength))

        def call(values=values):
            with monkeypatch.context() as patch:
                patch.setattr(levels.np, "bincount", bincount)
                whole_levels(values, False, COUNT, 50)

        found.add((work_of(call, monkeypatch), frozenset(counted.items())))
    assert len(found) == 1


def test_only_many_small_integers_with_few_levels_are_counted():
    def distances(scores):
        return measure(scores, scores.min().item(), scores.max().item(), fmpq(1), smallest=False)

    many = distances(np.arange(2**15))
    assert joint_field._are_counted(many, 100, 2048)
    assert not joint_field._are_counted(many, 100, 2049)
    assert not joint_field._are_counted(many, 2049, 100)
    assert not joint_field._are_counted(distances(np.arange(2**15 - 1)), 100, 100)
    assert not joint_field._are_counted(distances(np.arange(2**15) + 2**60), 100, 100)
    assert not joint_field._are_counted(distances(np.arange(2**15) / 2), 100, 100)
