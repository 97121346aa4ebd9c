"""Who takes part in an unknown domain: the same work for neighbours, and an order of labels that
no table decides.
"""

import tracemalloc

import numpy as np
import pytest
from tiers import loop_over

from discreet.mechanisms import unknown_domain as limited
from discreet.mechanisms.unknown_domain import read_counts
from discreet.randomness.chance import Chance
from discreet.testing import SeededBits

LIMIT = 10

NEIGHBOURS = {
    "all 1": [1] * 40,
    "one 2": [2] + [1] * 39,
    "the limit full": [2] * LIMIT + [1] * 30,
    "one missing": [2] * (LIMIT - 1) + [1] * 31,
    "all different": list(range(1, 41)),
    "nobody has anything": [0] * 40,
    "one item": [5] + [0] * 39,
}


class Watched(Chance):
    """Random effects that are counted."""

    def __init__(self):
        super().__init__(SeededBits(3))
        self.asked = []

    def below(self, bound):
        self.asked.append(("below", bound.bit_length()))
        return super().below(bound)


def work(counts, by_label, monkeypatch):
    """Every draw, and every order statistic with the sizes it works on."""
    chance, seen = Watched(), []

    def watch(name):
        original = getattr(limited, name)

        def watched(array, *more):
            sizes = [part.size if isinstance(part, np.ndarray) else None for part in more]
            seen.append((name, array.size, sizes, more[-1] if name == "kth_largest" else None))
            return original(array, *more)

        return watched

    with monkeypatch.context() as patch:
        for name in ("kth_largest", "nth_places"):
            patch.setattr(limited, name, watch(name))
        positions, scores, _ = limited._take_part(read_counts(counts), LIMIT, by_label, chance)
    assert len(positions) == len(scores) == LIMIT
    return seen, chance.asked


@pytest.mark.parametrize("by_label", [False, True], ids=["any items", "bounded items"])
def test_the_work_does_not_depend_on_the_counts(by_label, monkeypatch):
    seen, asked = work(NEIGHBOURS["all 1"], by_label, monkeypatch)
    assert ("kth_largest", 40, [None, None], LIMIT + 1) in seen
    for counts in NEIGHBOURS.values():
        assert work(counts, by_label, monkeypatch) == (seen, asked)


@loop_over("counts", NEIGHBOURS.values(), ids=NEIGHBOURS)
@loop_over("by_label", [False, True], ids=["any items", "bounded items"])
def test_the_most_frequent_take_part(counts, by_label):
    for seed in range(20):
        chance = Chance(SeededBits(seed))
        positions, scores, next_count = limited._take_part(
            read_counts(counts), LIMIT, by_label, chance
        )
        ordered = sorted(counts, reverse=True)
        assert sorted(scores, reverse=True) == [limited._GRID * count for count in ordered[:LIMIT]]
        assert next_count == ordered[LIMIT]
        assert len(set(positions)) == LIMIT
        assert [counts[position] * limited._GRID for position in positions] == scores


@pytest.mark.parametrize(
    "alike", [False, True], ids=["different numbers", "the same number for all"]
)
@pytest.mark.parametrize(
    "labels", [[f"item {n}" for n in range(40)], [*range(-20, 20)], [*"abcdefgh", *range(32)]]
)
def test_the_order_of_a_table_does_not_decide_among_labels(labels, alike, monkeypatch):
    """Also where all labels have the same digest: then their text decides."""
    if alike:
        monkeypatch.setattr(limited, "_label_number", lambda _: 7)
    chosen = set()
    for order in (labels, labels[::-1], labels[7:] + labels[:7]):
        counts = read_counts({label: 1 for label in order})
        positions, _, _ = limited._take_part(counts, LIMIT, True, Chance(SeededBits(5)))
        chosen.add(frozenset(str(order[position]) for position in positions))
    assert len(chosen) == 1
    assert len(chosen.pop()) == LIMIT


def test_who_is_not_tied_changes_nothing_for_those_who_are():
    """One person more changes only who has that person's items: the rest of the order stays,
    whatever types there are.
    """
    before = {f"item {n}": 1 for n in range(40)}
    after = before | {7: 1, 2.5: 1}
    found = []
    for counts in (before, after):
        read = read_counts(counts)
        positions, _, _ = limited._take_part(read, LIMIT, True, Chance(SeededBits(5)))
        found.append({read.label(position) for position in positions})
    assert found[0] - found[1] <= before.keys()
    assert found[1] - found[0] <= {7, 2.5}


def test_dice_are_fair(monkeypatch):
    """All outcomes of the number that a die is made of."""
    monkeypatch.setattr(limited, "_DIE_BITS", 6)

    class Given:
        def __init__(self, number):
            self.number = number

        def below(self, bound):
            assert bound.bit_length() == 6
            return self.number

    for sides in range(1, 40):
        bound = sides << (6 - sides.bit_length())
        rolled = [limited._die(sides, Given(number)) for number in range(bound)]
        assert np.bincount(rolled).tolist() == [bound // sides] * sides


def test_different_keys_choose_others():
    counts = read_counts({f"item {n}": 1 for n in range(40)})
    takes = [
        limited._take_part(counts, LIMIT, True, Chance(SeededBits(seed)))[0] for seed in range(200)
    ]
    hits = np.bincount(np.array(takes).ravel(), minlength=40)
    # 200 draws of 10 out of 40: 50 each, with a deviation of 6.1
    assert hits.min() > 50 - 6 * 6.1
    assert hits.max() < 50 + 6 * 6.1


def test_more_persons_than_a_machine_integer_can_count():
    counts = read_counts([2**62, 2**62 - 5, 1])
    domain = limited.LimitedDomain(limited.BoundedRange(1), limited.Fraction(1, 2), 2, None)
    assert domain.draw(counts, 2, Chance(SeededBits(1))) == [0, 1]


def test_memory_grows_with_the_items_and_not_with_the_limit():
    mechanism = limited.UnknownDomainTopK(k=3, epsilon=1, delta=1e-9, limit=10**6)
    counts = {"cats": 912, "dogs": 701, "axolotls": 2}
    mechanism.select(counts, bits=SeededBits(1))
    tracemalloc.start()
    try:
        assert mechanism.select(counts, bits=SeededBits(1)) == [0, 1]
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
