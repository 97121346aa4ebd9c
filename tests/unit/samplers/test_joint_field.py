"""What the joint draw knows of the candidates, beside counting all of them."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from tiers import loop_over

from discreet.randomness.chance import Chance
from discreet.samplers import joint_field, order_statistics, ranked_levels
from discreet.samplers.distances import measure
from discreet.samplers.joint_field import Field
from discreet.samplers.joint_ranking import any_places, cut_margins
from discreet.samplers.ranked_levels import WHOLE
from discreet.testing import SeededBits

COUNT, MARGINS = 7, 60
KINDS = ("whole", "large", "smallest", "float", "short float", "smallest float", "fraction")
# cells in a noise scale, where they are no steps
CELLS = 4


def scores_of(kind: str, size: int):
    """Scores of one kind: the best are far apart, many are near the last of them, and
    some are tied.
    """
    generator = np.random.default_rng(size)
    whole = generator.integers(900, 1000, size)
    whole[generator.choice(size, 4, replace=False)] = [5000, 5001, 10**6, 10**9]
    return {
        "whole": whole,
        "large": whole + (2**63 - 2**31),
        "smallest": -whole,
        "float": whole / 7,
        "short float": (whole / 8).astype(np.float32),
        "smallest float": -whole / 7,
        "fraction": [Fraction(int(score), 7) for score in whole],
    }[kind]


def field_of(kind: str, size: int, rate: fmpq):
    scores = scores_of(kind, size)
    low, high = (
        (min(scores), max(scores))
        if isinstance(scores, list)
        else (scores.min().item(), scores.max().item())
    )
    distances = measure(scores, low, high, rate, smallest=kind.startswith("smallest"))
    whole = isinstance(distances, WHOLE) and rate * CELLS >= 1
    cell = rate if whole else fmpq(1, CELLS)
    field = Field(distances, COUNT, cell, MARGINS, whole=whole)
    exact = sorted(distances.exact(index) for index in range(size))
    return field, distances, exact, cell, whole


def within(exact, margin) -> list[int]:
    """Count who is within a margin of the best, the second best, and so on; `exact` is sorted."""
    return [bisect_right(exact, best + margin) for best in exact[:COUNT]]


def lists_of(reaches: list[int]) -> int:
    return math.prod(reach - place for place, reach in enumerate(reaches))


@pytest.fixture(params=["in order", "sorted", "counted"], autouse=True)
def counted(request, monkeypatch):
    """Also as if there were so many candidates that they are not in order when the best are
    found, or that they are only counted.
    """
    if request.param != "in order":
        monkeypatch.setattr(order_statistics, "ALL_SORTED", 0)
    if request.param == "counted":
        for name, value in (("_MANY", 1), ("_FEW", 0), ("_CHUNK_LEVELS", 0)):
            monkeypatch.setattr(ranked_levels, name, value)
        for name, value in (("_CHUNK", 16), ("_TOGETHER", 64), ("_SEARCHED", 50)):
            monkeypatch.setattr(ranked_levels, name, value)
    return request.param


def each_field(test):
    """Run a test with fields of each kind, size and rate."""
    test = loop_over("kind", KINDS)(test)
    test = loop_over("rate", [fmpq(1, 20), fmpq(1, 3), fmpq(3)])(test)
    return loop_over("size", [COUNT, 40, 150], usual=2)(test)


class TestField:
    @each_field
    def test_reaches_are_those_of_margins_up_to_two_cells_more(self, kind, size, rate):
        field, _, exact, cell, whole = field_of(kind, size, rate)
        more = 0 if whole else 2
        for margin in (0, 1, 2, 31, MARGINS - 1):
            ours = field.reaches(margin)
            least, most = (within(exact, (margin + cells) * cell) for cells in (0, more))
            assert all(a <= b <= c for a, b, c in zip(least, ours, most, strict=True))

    @each_field
    def test_everybody_is_within_a_far_margin(self, kind, size, rate):
        field, *_ = field_of(kind, size, rate)
        for margin in (MARGINS, MARGINS + 1, 10**30):
            assert field.reaches(margin) == [size] * COUNT

    @each_field
    def test_bounds_are_above_all_lists_and_not_far_above(self, kind, size, rate):
        field, *_ = field_of(kind, size, rate)
        mantissas, exponents = field.most_lists(lambda: None)
        assert mantissas.size == MARGINS
        assert (mantissas <= 1 + 2.0**-20).all(), "there is room for another factor"
        for margin in (0, 1, 2, 7, 20, MARGINS - 1):
            lists = lists_of(field.reaches(margin))
            bound = math.ldexp(mantissas[margin], int(exponents[margin]))
            assert lists <= bound <= lists * (1 + 2.0**-18)

    @each_field
    def test_everybody_has_one_place_and_levels_are_in_order(self, kind, size, rate):
        field, distances, exact, cell, _ = field_of(kind, size, rate)
        found = field.candidates(np.arange(size)).tolist()
        assert sorted(found) == list(range(size))
        distance = [distances.exact(candidate) for candidate in found]
        assert distance[:COUNT] == exact[:COUNT]
        for place in range(size - 1):
            assert distance[place + 1] > distance[place] - cell or distance[place] > MARGINS * cell

    @each_field
    def test_a_list_is_behind_by_no_less_than_its_cells_say(self, kind, size, rate):
        field, distances, exact, cell, whole = field_of(kind, size, rate)
        chance = Chance(SeededBits(size))
        for margin in (0, 1, 8, 31, MARGINS):
            places = any_places(field.reaches(margin), chance)
            listed = field.candidates(places)
            behind = max(
                distances.exact(candidate) - best
                for candidate, best in zip(listed.tolist(), exact, strict=False)
            )
            short = field.short(places, listed)
            cells = (behind - short) / cell
            # the fewest cells of a margin that has this list, by which its odds are found
            assert cells.q == 1
            assert self.first_margin(field, places) == cells
            assert short >= 0
            if cells < MARGINS:
                assert short <= (0 if whole else 2 * cell * (1 + fmpq(1, 2**20)))

    def first_margin(self, field, places) -> int:
        """The first margin that all of these places are within."""
        for margin in range(MARGINS):
            if all(
                place < reach
                for place, reach in zip(places.tolist(), field.reaches(margin), strict=True)
            ):
                return margin
        return MARGINS


@pytest.mark.parametrize("name", ["_TABLE", "_PRODUCT_BITS"])
def test_bounds_do_not_depend_on_how_places_are_grouped(name, monkeypatch):
    field, *_ = field_of("whole", 300, fmpq(1, 20))
    mantissas, exponents = field.most_lists(lambda: None)
    monkeypatch.setattr(joint_field, name, 20)
    again, powers = field.most_lists(lambda: None)
    assert np.ldexp(mantissas, exponents - powers) == pytest.approx(again, rel=1e-12)


@pytest.mark.parametrize("rate", [fmpq(1, 2**60), fmpq(2**30)], ids=str)
def test_positions_of_numbers_that_are_very_far_apart(rate):
    scores = np.array([2**62, 2**62 - 2**58, 2**62 - 2**58 - 3, 2**61, 0])
    distances = measure(scores, 0, 2**62, rate, smallest=False)
    for count in (1, 3, 5):
        field = Field(distances, count, fmpq(1, CELLS), MARGINS, whole=False)
        assert sorted(field.candidates(np.arange(5)).tolist()) == list(range(5))
        exact = [distances.exact(index) for index in range(5)]
        for margin in (0, 1, 2, MARGINS - 1):
            least, most = (
                [
                    sum(other <= best + (margin + more) / fmpq(CELLS) for other in exact)
                    for best in exact[:count]
                ]
                for more in (0, 2)
            )
            ours = field.reaches(margin)
            assert all(a <= b <= c for a, b, c in zip(least, ours, most, strict=True))


def test_many_of_the_best_need_coarser_positions(monkeypatch):
    """So few bits that a cell has few parts: rounding takes more, and only efficiency is lost."""
    monkeypatch.setattr(joint_field, "_POSITION_BITS", 12)
    field, *_ = field_of("float", 40, fmpq(1, 3))
    places = any_places(field.reaches(5), Chance(SeededBits(1)))
    assert field.short(places, field.candidates(places)) >= 0


@pytest.mark.parametrize(("count", "cells"), [(1, 16), (10, 16), (20, 16), (100, 4)])
def test_short_lists_have_fine_cells(count, cells):
    """The finer the cells, the fewer proposals a round of a public number needs."""
    assert cut_margins(10_000, count, None, 40.0).cell == fmpq(1, cells)
