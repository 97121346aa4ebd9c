"""Rankings: who is on the shortlist, who is in the heap, and that nobody gets lost between them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples, loop_over, more

from discreet.randomness.chance import Chance
from discreet.samplers.columns import Columns
from discreet.samplers.distances import RationalDistances, measure
from discreet.samplers.envelope import LIGHTEST, UNIT, draw_exponential
from discreet.samplers.permute_and_flip import draw_permute_and_flip
from discreet.samplers.ranking import Shortlist, ShortlistEnvelope, draw_ranking, find_shortlist
from discreet.testing import SeededBits

REACH = 28 * math.log(2)
DRAWS = {"exponential": draw_exponential, "permute-and-flip": draw_permute_and_flip}


def measured(scores, rate=1, smallest=False):
    listed = scores if isinstance(scores, list) else scores.tolist()
    return measure(scores, min(listed), max(listed), fmpq(rate), smallest=smallest)


class FewBits(SeededBits):
    """Bits that end, so that a draw that finds nobody any more does not go on for ever."""

    __slots__ = ("_left",)

    def __init__(self, seed):
        super().__init__(seed)
        self._left = 5000

    def draw(self, count):
        self._left -= 1
        assert self._left, "more draws than any ranking here needs"
        return super().draw(count)


SHAPES = {
    "favourites": lambda size: np.where(np.arange(size) % 100 == 7, 500, np.arange(size) % 3),
    "one in front": lambda size: np.where(np.arange(size) == 11, 1000, 0),
    "a slope": lambda size: np.arange(size) * 30,
    "a slope down": lambda size: np.arange(size)[::-1] * 30,
    "floats": lambda size: np.random.default_rng(2).normal(size=size) ** 5 * 100,
    "large": lambda size: 2**62 - np.arange(size) * 2**40,
    "extremes": lambda size: np.where(np.arange(size) % 50 == 0, 2**63 - 1, -(2**63)),
}


@loop_over("smallest", [True, False])
@loop_over("count", [2, 5, 20])
@pytest.mark.parametrize("size", [700, more(5000)])
@loop_over("shape", SHAPES)
def test_everybody_in_reach_of_the_last_is_on_the_list(shape, size, count, smallest):
    scores = SHAPES[shape](size)
    if smallest:
        scores = -scores if scores.dtype.kind == "f" else ~scores
    distances = measured(scores, smallest=smallest)
    found = find_shortlist(distances, count)
    if found is None:
        return
    exact = [Fraction(int(d.p), int(d.q)) for d in map(distances.exact, range(size))]
    last = exact[found.last]
    assert sorted(set(found.members.tolist())) == found.members.tolist()
    assert found.last in found.members
    assert sorted(exact)[count - 1] <= last, "the last one is no better than the count-th best"
    on_the_list = set(found.members.tolist())
    for candidate, distance in enumerate(exact):
        if candidate not in on_the_list:
            assert distance - last >= REACH
        else:
            assert distance - last < REACH * (1 + 1e-6)


def test_some_of_these_have_a_shortlist_and_some_do_not():
    """So that the test above says something."""
    has = {
        shape: find_shortlist(measured(make(5000)), 5) is not None for shape, make in SHAPES.items()
    }
    assert has["one in front"] is False or has["a slope"]
    assert has["a slope"], "candidates that are alike follow each other"
    assert has["a slope down"]
    assert has["large"]
    assert find_shortlist(measured(np.zeros(5000)), 5) is None, "all are in reach"
    assert find_shortlist(measured(np.arange(50) * 100), 5) is None, "too few to be worth it"


@examples(40, 200)
@given(st.sets(st.integers(0, 30), min_size=1, max_size=30), st.integers(31, 40))
def test_positions_name_everybody_once(members, size):
    shortlist = Shortlist(np.array(sorted(members)), min(members))
    few = ShortlistEnvelope(measured(np.arange(size)), shortlist)
    assert few.translate(list(range(len(members)))) == sorted(members)
    assert few.translate(list(range(len(members), size))) == sorted(set(range(size)) - members)


class TestHeap:
    def shortlisted(self, rate=1):
        """Four in front, far apart, and 396 others 60 noise scales behind the last of them; k =
        4.
        """
        scores = np.zeros(400, dtype=np.int64)
        scores[[3, 50, 120, 301]] = 160, 130, 100, 60
        distances = measured(scores, rate)
        found = find_shortlist(distances, 4)
        assert found.members.tolist() == [3, 50, 120, 301]
        assert found.last == 301
        return scores, ShortlistEnvelope(distances, found)

    def test_the_total_counts_everybody(self):
        _, few = self.shortlisted()
        assert few.total == few._list.total + 396 * LIGHTEST
        assert few._list.total >= UNIT + 3 * LIGHTEST

    @pytest.mark.parametrize("leveled", [True, False], ids=["leveled", "not leveled"])
    def test_distances_of_the_heap_follow_the_point_of_view(self, leveled):
        scores, few = self.shortlisted()
        left = [3, 50, 120, 301]
        while len(left) > 1:
            best = left[0] if leveled else None
            if leveled:
                few.rebase()
            for position, candidate in ((4, 0), (7, 4), (399, 399)):
                behind = few._behind(position)
                on_the_list = few._list.behind(few._shortlist.members.searchsorted(left[0]))
                assert behind - on_the_list == fmpq(int(scores[left[0]] - scores[candidate]))
                if leveled:
                    assert behind == fmpq(int(scores[best] - scores[candidate]))
            place = few._shortlist.members.tolist().index(left.pop(0))
            few._list._latest = int(few._list._weights(0)[place])
            few.take(place)

    def test_who_is_gone_from_the_heap_is_proposed_no_more(self):
        _, few = self.shortlisted()
        few.take(4)

        class Heap:
            def coin(self, numerator, denominator):
                assert (numerator, denominator) == (396 * LIGHTEST, few.total)
                return True

            def below(self, bound):
                assert bound == 396
                return 0

        assert few.propose(Heap()) is None

    def test_somebody_from_the_heap(self):
        _, few = self.shortlisted()

        class Heap:
            def coin(self, *_):
                return True

            def below(self, _):
                return 5

        assert few.propose(Heap()) == (9, LIGHTEST)

    def test_a_coin_of_the_heap_is_exact(self):
        _, few = self.shortlisted()
        asked = []

        class Coin:
            def decay(self, distance, numerator, denominator, *, likely):
                asked.append((distance(), numerator, denominator, likely))
                return True

        assert few.keep(4, LIGHTEST, Coin())
        assert asked == [(fmpq(160), UNIT, LIGHTEST, False)]


@loop_over("draw", DRAWS)
@loop_over("shape", SHAPES)
@loop_over("count", [1, 2, 7, 30])
def test_a_ranking_names_different_candidates(draw, shape, count):
    ranking = draw_ranking(
        DRAWS[draw], measured(SHAPES[shape](3000)), count, Chance(SeededBits(count))
    )
    assert len(set(ranking)) == len(ranking) == count
    assert all(type(candidate) is int and 0 <= candidate < 3000 for candidate in ranking)


@pytest.mark.parametrize("draw", DRAWS)
def test_scores_a_million_noise_scales_apart_come_out_in_order(draw):
    order = np.random.default_rng(3).permutation(4000)
    scores = np.empty(4000, dtype=np.int64)
    scores[order] = np.arange(4000)[::-1] * 10**6
    assert (
        draw_ranking(DRAWS[draw], measured(scores), 40, Chance(SeededBits(1)))
        == order[:40].tolist()
    )


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("size", [7, 1500])
def test_all_candidates_can_be_ranked(draw, size):
    scores = np.arange(size) * 3
    ranking = draw_ranking(DRAWS[draw], measured(scores), size, Chance(FewBits(1)))
    assert sorted(ranking) == list(range(size))


@pytest.mark.parametrize("draw", DRAWS)
def test_a_table_is_made_of_no_more_others_than_add_up(draw, monkeypatch):
    """Scores that floats cannot measure have a table of others, however many they are."""
    scores = np.array([-1.7e308, 1.7e308, 0.0] * 10)
    distances = measured(scores, fmpq(1, 10**306))
    assert isinstance(distances, RationalDistances)
    monkeypatch.setattr("discreet.samplers.ranking.MOST_OTHERS", 29)

    def refuse(*_):
        raise AssertionError("their weights may not add up within 63 bits")

    monkeypatch.setattr("discreet.samplers.ranking.RankedEnvelope", refuse)
    columns = Columns(scores, smallest=False)
    found = draw_ranking(DRAWS[draw], distances, 3, Chance(SeededBits(1)), columns=columns)
    assert scores[found].tolist() == [1.7e308] * 3
