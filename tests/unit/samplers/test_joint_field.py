"""What the joint draw knows of the candidates, beside counting all of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from discreet.samplers import joint_field, levels
from discreet.samplers.distances import LargeIntegerDistances, measure
from discreet.samplers.joint_field import Field

COUNT = 7


def scores_of(kind: str, size: int):
    """Scores of one kind: the best are far apart, many are near the last of them, and
    some are tied.
    """
    generator = np.random.default_rng(size)
    whole = generator.integers(900, 1000, size)
    whole[generator.choice(size, 4, replace=False)] = [5000, 5001, 10**6, 10**9]
    if kind == "whole":
        return whole
    if kind == "large":
        return whole + (2**63 - 2**31)
    if kind == "smallest":
        return -whole
    if kind == "float":
        return whole / 7
    if kind == "short float":
        return (whole / 8).astype(np.float32)
    return [Fraction(int(score), 7) for score in whole]


def field_of(kind: str, size: int, fine: int, stretches: int):
    scores = scores_of(kind, size)
    objective = kind == "smallest"
    rate = fmpq(1, 4 * fine)
    lattice = fmpq(1, 7) if kind == "fraction" else fmpq(1)
    low, high = (
        (min(scores), max(scores))
        if isinstance(scores, list)
        else (scores.min().item(), scores.max().item())
    )
    distances = measure(scores, low, high, rate, smallest=objective)
    # floats have a step so small that none of their margins is a whole number
    step = rate * (fmpq(1, 2**60) if "float" in kind else lattice)
    ours = fine if "float" not in kind else fine << 60
    field = Field(distances, step, COUNT, ours, stretches)
    exact = sorted(distances.exact(index) for index in range(size))
    return field, distances, exact, step, ours


def counted(exact, margin) -> list[int]:
    return [sum(other <= best + margin for other in exact) for best in exact[:COUNT]]


@pytest.fixture
def counting(monkeypatch):
    """As if there were so many candidates that they are counted by level."""
    for name, value in (("_MANY", 1), ("_FEW", 0)):
        monkeypatch.setattr(joint_field, name, value)
    for name, value in (("_CHUNK", 16), ("_CHUNK_LEVELS", 0), ("_TOGETHER", 64)):
        monkeypatch.setattr(levels, name, value)


KINDS = ("whole", "large", "smallest", "float", "short float", "fraction")


class FieldContract:
    STRETCHES = 60

    def test_reaches_are_exact(self, kind, size, fine):
        field, _, exact, step, ours = field_of(kind, size, fine, self.STRETCHES)
        # whole scores apart, one step less, and beyond all that is sorted
        ends = [number * ours // fine for number in (0, 1, 2, 8, self.STRETCHES * fine - 1)]
        for multiple in [*ends, ends[2] - 1, 2 * self.STRETCHES * ours, ends[3]]:
            assert field.reaches(multiple) == counted(exact, multiple * step)

    def test_bounds_are_above_all_lists_and_not_far_above(self, kind, size, fine):
        field, _, exact, step, ours = field_of(kind, size, fine, self.STRETCHES)
        mantissas, exponents = field.most_lists()
        for place in (0, 1, 5, 20, self.STRETCHES - 2):
            bound = math.ldexp(mantissas[place], int(exponents[place]))
            lists, more = (
                math.prod(reach - rank for rank, reach in enumerate(counted(exact, margin)))
                for margin in (
                    ((place + 1) * ours - 1) * step,
                    ((place + 2) * ours) * step,
                )
            )
            # where a stretch is one margin it is counted, however positions are rounded
            most = lists if fine == 1 and "float" not in kind else more
            assert lists <= bound <= most * (1 + 2.0**-18)

    def test_places_are_in_the_order_of_distances(self, kind, size, fine):
        field, distances, exact, _, _ = field_of(kind, size, fine, self.STRETCHES)
        within = field.reaches(8)[-1]
        candidates = [field._candidate(place) for place in range(within)]
        assert len(set(candidates)) == within
        assert [distances.exact(candidate) for candidate in candidates] == exact[:within]


def test_single_steps_are_counted_although_positions_are_rounded():
    """One step behind the best, and behind each other: a cell too near would be one more."""
    scores, rate = [Fraction(100 - place, 7) for place in range(40)], fmpq(1, 4)
    distances = measure(scores, min(scores), max(scores), rate, smallest=False)
    field = Field(distances, rate / 7, COUNT, 1, 60)
    assert (field._positions % field._units).any()
    mantissas, exponents = field.most_lists()
    for place in range(20):
        lists = math.prod(min(40, rank + place + 1) - rank for rank in range(COUNT))
        bound = math.ldexp(mantissas[place], int(exponents[place]))
        assert lists <= bound <= lists * (1 + 2.0**-18)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [40, 300])
@pytest.mark.parametrize("fine", [1, 5])
class TestField(FieldContract):
    def test_the_order_is_that_of_distances(self, kind, size, fine):
        field, distances, exact, _, _ = field_of(kind, size, fine, self.STRETCHES)
        within = field.reaches(0)[-1]
        assert [distances.exact(int(index)) for index in field._order[:within]] == exact[:within]


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("kind", ["whole", "smallest"])
@pytest.mark.parametrize("size", [40, 300])
@pytest.mark.parametrize("fine", [1, 5])
class TestCounted(FieldContract):
    def test_they_are_counted(self, kind, size, fine):
        field, *_ = field_of(kind, size, fine, self.STRETCHES)
        assert field._levels is not None
        assert field._positions.size == COUNT + fine * self.STRETCHES + 1

    def test_it_is_the_field_of_sorted_candidates(self, kind, size, fine, monkeypatch):
        counted, *_ = field_of(kind, size, fine, self.STRETCHES)
        monkeypatch.setattr(joint_field, "_MANY", 10**6)
        ordered, *_ = field_of(kind, size, fine, self.STRETCHES)
        assert ordered._levels is None
        for ours, theirs in zip(counted.most_lists(), ordered.most_lists(), strict=True):
            assert (ours == theirs).all()


@pytest.mark.parametrize("name", ["_TABLE", "_PRODUCT_BITS"])
def test_bounds_do_not_depend_on_how_places_are_grouped(name, monkeypatch):
    field, *_ = field_of("whole", 300, 5, 60)
    mantissas, exponents = field.most_lists()
    monkeypatch.setattr(joint_field, name, 20)
    again, powers = field.most_lists()
    assert np.ldexp(mantissas, exponents - powers) == pytest.approx(again, rel=1e-12)


def test_steps_too_small_for_whole_positions():
    """So many steps in a stretch that not all positions would fit 64 bits."""
    scores = np.array([2**62, 2**62 - 2**58, 2**62 - 2**58 - 3, 2**61, 0])
    rate = fmpq(1, 2**60)
    distances = measure(scores, 0, 2**62, rate, smallest=False)
    assert isinstance(distances, LargeIntegerDistances)
    field = Field(distances, rate, 3, 2**58, 400)
    assert not field._exact
    exact = [distances.exact(index) for index in range(5)]
    for multiple in (0, 2, 3, 2**58 - 1, 2**58, 2**58 + 3, 2**61, 2**62):
        expected = [sum(other <= best + multiple * rate for other in exact) for best in exact[:3]]
        assert field.reaches(multiple) == expected
