"""The real samplers of the top-k family on every random tape: each list has its ideal
probability, to within a certified small rest.

What the constants are made for needs a million candidates to happen. Here they are lowered,
consistently, so that a handful of candidates spans several blocks, is drawn in batches, has a
shortlist and a heap, and is looked at from closer; every test says which of these paths it takes
and sees that it was taken.

`make test` tries the cases that a mutant or a path needs, and `make sizes` tries all of them.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from flint import arb, fmpq
from reference.tapes import Tape, distribution
from reference.top_k import TOP_K, at, decay, limited_domain, one_shot_exponential
from tiers import also, only

from discreet.mechanisms import JointTopK, PeelingTopK
from discreet.mechanisms import scores as reading
from discreet.mechanisms import unknown_domain as limited
from discreet.mechanisms.selection import mechanism_class
from discreet.mechanisms.unknown_domain import LimitedDomain, read_counts
from discreet.privacy.loss import BoundedRange, PureDP
from discreet.samplers import (
    columns,
    envelope,
    folded_envelope,
    joint_ranking,
    order_statistics,
    ranked_envelope,
    ranked_levels,
    ranking,
    remaining_candidates,
    shrinking_envelope,
)
from discreet.testing import SeededBits

TINY = (
    2.0**-150
)  # the enclosures are about 2^-180 wide; this covers their width where a bound holds with equality
PICKS = {"exponential": "one-shot-gumbel", "permute-and-flip": "peeling-permute-and-flip"}
ONE, HALF = Fraction(1), Fraction(1, 2)


pytestmark = pytest.mark.usefixtures("high_precision")


@pytest.fixture(autouse=True)
def checked_picks(monkeypatch):
    """Odds that are no odds must not go unseen: weights never fall along a row, and never add up
    to more than their mass.
    """
    original = Tape.pick

    def pick(tape, cumulative, total, scale=1):
        # a tape that replays answers asks again what the tape before it has asked
        if len(tape.answers) >= len(tape.prefix):
            assert (np.diff(cumulative, prepend=0) >= 0).all(), "a negative weight"
            assert int(cumulative[-1]) * scale <= total, (
                "the weights are more than the mass that they are proposed with"
            )
        return original(tape, cumulative, total, scale)

    monkeypatch.setattr(Tape, "pick", pick)


@pytest.fixture
def counted(monkeypatch):
    """As if there were so many candidates that they are counted by level: how often each level
    was looked up.
    """
    # few would be in order already
    monkeypatch.setattr(order_statistics, "ALL_SORTED", 0)
    parts = (("_MANY", 1), ("_FEW", 0), ("_CHUNK", 2), ("_CHUNK_LEVELS", 0), ("_TOGETHER", 2))
    for name, value in parts:
        monkeypatch.setattr(ranked_levels, name, value)
    found = Counter()
    several = ranked_levels.Levels.find_all

    def find_all(self, deep, ranks):
        # nobody is left to be counted where all are among the best
        assert self._order is None or not self._order.size, "these are sorted"
        found.update(deep.tolist())
        return several(self, deep, ranks)

    monkeypatch.setattr(ranked_levels.Levels, "find_all", find_all)
    return found


@pytest.fixture
def by_blocks(monkeypatch):
    """As if the lists were too long to look at all of the best for each pick."""
    monkeypatch.setattr(ranking, "LONGEST_RANKED", 0)


@pytest.fixture
def seen(by_blocks, monkeypatch):
    """How often each path of the samplers was taken, where candidates lie in blocks."""
    counts = Counter()

    def count(owner, name, is_one=lambda *_: True):
        original = getattr(owner, name)

        def counted(*arguments):
            counts[name] += bool(is_one(*arguments))
            return original(*arguments)

        monkeypatch.setattr(owner, name, counted)

    count(shrinking_envelope.ShrinkingEnvelope, "_look_closer")
    count(shrinking_envelope.ShrinkingEnvelope, "_propose_many", lambda _, number, __: number > 1)
    count(shrinking_envelope.ShrinkingEnvelope, "_refresh")
    count(ranking.ShortlistEnvelope, "_behind")
    count(
        ranking.ShortlistEnvelope,
        "take",
        lambda self, position: position >= self._shortlist.members.size,
    )
    return counts


def lower_blocks(monkeypatch, size=2):
    """Blocks of so few candidates, and masses that count in units as much finer."""
    finer = 1024 // size
    monkeypatch.setattr(envelope, "_BLOCK", size)
    monkeypatch.setattr(envelope, "_WEIGHTS_PER_MASS", envelope._WEIGHTS_PER_MASS // finer)
    monkeypatch.setattr(envelope, "_MASS_FACTOR", envelope._MASS_FACTOR * finer)


def lower_reach(monkeypatch, halvings):
    """Candidates so few halvings behind are already out of reach."""
    monkeypatch.setattr(envelope, "_REACH", halvings)
    monkeypatch.setattr(
        envelope, "_FARTHEST", np.full(envelope._CHUNK, float(halvings * envelope.GRAIN))
    )
    for module in (envelope, shrinking_envelope, ranking, remaining_candidates):
        monkeypatch.setattr(module, "LIGHTEST", envelope.UNIT >> halvings)


def always_shortlist(monkeypatch):
    for name in ("_COLUMNS", "_NARROWEST", "_FEW"):
        monkeypatch.setattr(ranking, name, 1)


def peeling_of(pick: str, k: int, rate: Fraction, **more) -> PeelingTopK:
    return PeelingTopK(k=k, epsilon=k * rate, sensitivity=1, monotonic=True, mechanism=pick, **more)


def reach(mechanism, scores, cutoff: float):
    """The real code from scores to list, with only the randomness replaced."""
    candidates = mechanism._read(scores)
    return distribution(lambda tape: tuple(mechanism._draw(candidates, tape)), cutoff)


def require(reached: dict, rest: arb, ideal: dict) -> None:
    assert set(reached) <= set(ideal)
    for outcome, probability in ideal.items():
        found = reached.get(outcome, arb(0))
        assert found <= probability + TINY, f"{outcome} is drawn too often"
        assert probability <= found + rest + TINY, f"{outcome} is drawn too rarely"


def require_ranking(
    pick: str, gaps, k: int, rate: Fraction, cutoff: float, rest: float, scores=None, **more
) -> None:
    mechanism = peeling_of(pick, k, rate, **more)
    assert mechanism.rate == rate
    reached, left = reach(
        mechanism, [100 - gap for gap in gaps] if scores is None else scores, cutoff
    )
    assert left < rest
    x = decay(rate)
    require(
        reached,
        left,
        {ranking: at(ratio, x) for ranking, ratio in TOP_K[PICKS[pick]](gaps, k).items()},
    )


# gaps, k, noise scales in a step of score
RANKINGS = {
    "three": ((0, 1, 2), 2, ONE),
    "another order": ((2, 0, 1), 3, HALF),
    "equal": ((0, 0, 0), 3, ONE),
    "four": ((0, 1, 1, 4), 2, ONE),
    "more than 28 halvings": ((0, 30, 31, 200), 3, ONE),
    "more than 28 halvings, tied": ((40, 0, 40, 41), 3, ONE),
}


# Two candidates are in one block and nobody is behind the list, so "others that are gone come
# again" lives with two; only candidates 28 halvings behind are looked at from closer.
EVERYDAY_RANKINGS = only(("three", "more than 28 halvings, tied"), RANKINGS)


@pytest.mark.parametrize("case", EVERYDAY_RANKINGS)
class TestRanking:
    """Tapes below the cutoff are given up. Permute-and-flip has more of them, and so have several
    blocks.
    """

    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [("exponential", 1e-6, 2e-4), ("permute-and-flip", 3e-5, 1.2e-2)],
        ids=[*PICKS],
    )
    def test_in_one_block(self, case, pick, cutoff, rest, seen):
        require_ranking(pick, *RANKINGS[case], cutoff, rest)
        assert bool(seen["_look_closer"]) == ("halvings" in case)

    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [("exponential", 1e-5, 2e-3), ("permute-and-flip", 2e-4, 5e-2)],
        ids=[*PICKS],
    )
    def test_in_blocks_of_two(self, case, pick, cutoff, rest, seen, monkeypatch):
        lower_blocks(monkeypatch)
        require_ranking(pick, *RANKINGS[case], cutoff, rest)
        assert seen["_propose_many"] or case == "equal"  # equal candidates are kept for certain
        assert bool(seen["_look_closer"]) == ("halvings" in case)


@pytest.mark.parametrize("many", [8, 0], ids=["all blocks at once", "block by block"])
@pytest.mark.parametrize(
    ("pick", "cutoff"), [("exponential", 3e-6), ("permute-and-flip", 3e-5)], ids=[*PICKS]
)
def test_looking_closer_again_and_again(pick, cutoff, many, seen, monkeypatch):
    """The best is alone in its block, then it is alone among candidates of other blocks that are
    all out of reach of it.
    """
    lower_blocks(monkeypatch)
    monkeypatch.setattr(envelope, "_MANY", many)
    require_ranking(pick, (60, 0, 30, 90, 31), 4, ONE, cutoff, 2e-3)
    assert seen["_look_closer"]


# With two candidates there is one block, and "a candidate that is gone comes again" lives.
@pytest.mark.parametrize("gaps", [(0, 1, 0), *also((0, 1, 0, 2))], ids=str)
@pytest.mark.parametrize(
    ("pick", "cutoff", "rest"),
    [("exponential", 3e-5, 1.2e-2), ("permute-and-flip", 2e-4, 0.1)],
    ids=[*PICKS],
)
def test_blocks_that_still_count_candidates_that_are_gone(
    gaps, pick, cutoff, rest, seen, monkeypatch
):
    """Nothing is ever counted anew, so all masses are stale, and proposals drawn ahead outlive
    the candidates that they name.
    """
    lower_blocks(monkeypatch)
    monkeypatch.setattr(shrinking_envelope, "_STALE", 0)
    monkeypatch.setattr(shrinking_envelope, "_LARGEST_BATCH", 2)
    require_ranking(pick, gaps, 2, HALF, cutoff, rest)
    assert seen["_propose_many"]
    assert not seen["_refresh"]


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize(
    ("blocks", "cutoff", "rest"),
    [(1024, 1e-5, 6e-3), (2, 1e-4, 0.03)],
    ids=["one block", "blocks of two"],
)
def test_candidates_out_of_reach_win_too(pick, blocks, cutoff, rest, seen, monkeypatch):
    """With a reach of two halvings most candidates have the lightest weight, and are
    seldom kept.
    """
    if blocks == 2:
        lower_blocks(monkeypatch)
        monkeypatch.setattr(shrinking_envelope, "_LARGEST_BATCH", 2)
    lower_reach(monkeypatch, 2)
    require_ranking(pick, (0, 3, 2), 2, ONE, cutoff, rest)


class TestShortlist:
    """A shortlist of what is in reach of the k-th best, and a heap of all others; members of the
    heap win, too.
    """

    # With two candidates the heap is empty, and "the heap has no coin" lives.
    CASES = (  # gaps, k, halvings in reach
        ((0, 1, 3), 2, 1),
        # the list is in between the members of the heap
        pytest.param((3, 0, 0, 4), 2, 1, marks=pytest.mark.sizes),
        ((8, 0, 1, 8), 2, 5),  # the point of view stays where it is when the best is gone
    )

    @pytest.mark.parametrize(("gaps", "k", "halvings"), CASES, ids=str)
    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [("exponential", 3e-5, 0.02), ("permute-and-flip", 1e-4, 0.09)],
        ids=[*PICKS],
    )
    def test_in_one_block(self, gaps, k, halvings, pick, cutoff, rest, seen, monkeypatch):
        always_shortlist(monkeypatch)
        lower_reach(monkeypatch, halvings)
        require_ranking(pick, gaps, k, HALF, cutoff, rest)
        assert seen["_behind"]
        assert seen["take"], "nobody from the heap wins first"
        assert bool(seen["_look_closer"]) == (halvings == 1)

    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [("exponential", 1e-4, 0.04), ("permute-and-flip", 3e-4, 0.15)],
        ids=[*PICKS],
    )
    def test_a_list_of_two_blocks(self, pick, cutoff, rest, seen, monkeypatch):
        always_shortlist(monkeypatch)
        lower_blocks(monkeypatch)
        lower_reach(monkeypatch, 1)
        require_ranking(pick, (0, 1, 4, 1), 2, HALF, cutoff, rest)
        assert seen["_propose_many"]
        assert seen["take"], "nobody from the heap wins first"


def lower_cells(monkeypatch, cells):
    """Candidates so many cells behind are already out of reach."""
    monkeypatch.setattr(ranked_envelope, "_REACH", cells)
    for name in ("_weights", "_fine_weights"):
        made = cache(getattr(ranked_envelope, name).__wrapped__)
        monkeypatch.setattr(ranked_envelope, name, made)


@pytest.fixture
def others(monkeypatch):
    """How often others than the best were proposed, and how often one that was gone."""
    counts = Counter()
    original = ranked_envelope.RankedEnvelope.propose

    def propose(self, chance):
        found = original(self, chance)
        counts["others"] += self._latest is None
        counts["gone"] += found is None and bool(self._gone)
        return found

    monkeypatch.setattr(ranked_envelope.RankedEnvelope, "propose", propose)
    return counts


@pytest.fixture
def fold(monkeypatch):
    """As if the candidates were very many: two rows, so that each block of one candidate has
    the mass of the better of two.
    """
    for name, value in (("ROWS", 2), ("_WIDTH", 1)):
        monkeypatch.setattr(folded_envelope, name, value)
    for name, value in (("ROWS", 2), ("ROW", 1)):
        monkeypatch.setattr(columns, name, value)
    monkeypatch.setattr(envelope, "_BLOCK", 1)
    for owner in (folded_envelope.FoldedEnvelope, remaining_candidates.FoldedOthers):
        monkeypatch.setattr(owner, "_together", 1)
    for name, value in (("ROWS", 2), ("_CORRECTED", 1)):
        monkeypatch.setattr(remaining_candidates, name, value)
    monkeypatch.setattr(reading, "WORTH_COLUMNS", 2)


class TestRankedEnvelope:
    """The best in order, in cells of a 32nd of a noise scale, and all others behind the last of
    them.
    """

    @pytest.mark.parametrize("case", EVERYDAY_RANKINGS)
    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [("exponential", 3e-5, 4e-3), ("permute-and-flip", 2e-4, 4e-2)],
        ids=[*PICKS],
    )
    def test_rankings_have_their_odds(self, case, pick, cutoff, rest, others):
        require_ranking(pick, *RANKINGS[case], cutoff, rest)
        gaps, count, *_ = RANKINGS[case]
        last, *behind = sorted(gaps)[count - 1 :]
        # where there are others at all, and in reach of the last of the best
        assert bool(others["others"]) == any(gap - last < 28 for gap in behind)

    @pytest.mark.parametrize("gaps", [(0, 2, 2), (2, 0, 1), (0, 0, 3, 0)], ids=str)
    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [("exponential", 1e-4, 5e-2), ("permute-and-flip", 3e-4, 0.12)],
        ids=[*PICKS],
    )
    def test_candidates_out_of_reach_win_too(self, gaps, pick, cutoff, rest, others, monkeypatch):
        """With a reach of half a noise scale all but the best have the lightest weight."""
        lower_cells(monkeypatch, 16)
        lower_reach(monkeypatch, 1)
        require_ranking(pick, gaps, 2, ONE, cutoff, rest)
        assert others["others"]
        assert others["gone"]

    # Two others behind a list of two are the fewest that are folded into one column.
    @pytest.mark.parametrize(
        ("gaps", "k"),
        [pytest.param((0, 1, 0), 2, marks=pytest.mark.sizes), ((0, 1, 1, 2), 2)],
        ids=str,
    )
    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [
            ("exponential", 1e-5, 0.06),
            pytest.param("permute-and-flip", 1e-4, 0.25, marks=pytest.mark.sizes),
        ],
        ids=[*PICKS],
    )
    @pytest.mark.usefixtures("fold")
    def test_so_they_have_where_others_are_folded(self, gaps, k, pick, cutoff, rest, others):
        require_ranking(pick, gaps, k, ONE, cutoff, rest)
        assert others["others"]


class TestListOfOne:
    """One selection, by its law and by its way: nobody is put in order, or taken out."""

    @pytest.fixture(autouse=True)
    def others_are_not_weighed(self, monkeypatch):
        def refuse(*_):
            raise AssertionError("the way of longer lists")

        for name in ("RankedEnvelope", "ShrinkingEnvelope", "find_shortlist"):
            monkeypatch.setattr(ranking, name, refuse)

    # One candidate alone is never drawn, so its odds say nothing.
    @pytest.mark.parametrize("gaps", [(0, 1), *also((0,), (2, 0, 2), (0, 30, 1))], ids=str)
    @pytest.mark.parametrize("rate", [ONE, *also(HALF)], ids=str)
    @pytest.mark.parametrize("pick", PICKS)
    def test_winners_have_their_odds(self, gaps, rate, pick):
        require_ranking(pick, gaps, 1, rate, 1e-6, 2e-3)

    # Two candidates are the fewest that have one column.
    @pytest.mark.parametrize("gaps", [(5, 0), *also((0, 1), (2, 0, 2))], ids=str)
    @pytest.mark.parametrize(
        ("pick", "cutoff", "rest"),
        [("exponential", 1e-7, 2e-3), ("permute-and-flip", 1e-5, 0.15)],
        ids=[*PICKS],
    )
    @pytest.mark.usefixtures("fold")
    def test_so_they_have_where_candidates_are_very_many(self, gaps, pick, cutoff, rest):
        require_ranking(pick, gaps, 1, ONE, cutoff, rest)

    @pytest.mark.parametrize("pick", PICKS)
    @pytest.mark.parametrize("size", [100, 200_000])
    def test_the_same_bits_pick_the_same_as_one_selection(self, pick, size):
        scores = np.random.default_rng(size).integers(0, 30, size)
        one = mechanism_class(pick)(epsilon=1, sensitivity=1)
        lists = PeelingTopK(k=1, epsilon=1, sensitivity=1, mechanism=pick)
        for seed in range(20):
            found = lists.release(scores, bits=SeededBits(seed))
            assert found.value == [one.select(scores, bits=SeededBits(seed))]
            assert (found.candidates, found.seeded) == (size, True)
            assert found.loss == PureDP(1)


# three candidates that are 0, 1 and 3 steps behind the best, the step of score, and the
# objective
SCORES = {
    "small integers": (np.array([9, 8, 6], dtype=np.uint8), ONE, "max"),
    "large integers": (np.array([2**63 - 1, 2**63 - 2, 2**63 - 4]), ONE, "max"),
    "largest integers": (np.array([2**64 - 1, 2**64 - 2, 2**64 - 4], dtype=np.uint64), ONE, "max"),
    "floats": (np.array([0.75, 0.25, -0.75]), HALF, "max"),
    "short floats": (np.array([0.75, 0.25, -0.75], dtype=np.float32), HALF, "max"),
    "fractions": ([Fraction(10, 3), Fraction(3), Fraction(7, 3)], Fraction(1, 3), "max"),
    "hundred digits": ([10**100, 10**100 - 1, 10**100 - 3], ONE, "max"),
    "hundred digits of a fraction": (
        [10**100 + HALF, Fraction(10**100), 10**100 - ONE],
        HALF,
        "max",
    ),
    "smallest integer": ([-3, -2, 0], ONE, "min"),
    "smallest large integer": (np.array([-(2**63), 1 - 2**63, 3 - 2**63]), ONE, "min"),
    "smallest float": ([-3.0, -2.5, -1.5], HALF, "min"),
    "smallest fraction": ([Fraction(1, 3), Fraction(2, 3), Fraction(4, 3)], Fraction(1, 3), "min"),
    "smallest of a hundred digits": ([-(10**100), 1 - 10**100, 3 - 10**100], ONE, "min"),
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize(
    "blocks",
    [*also(None, 1024), 2],
    ids=["in order", "one block", "blocks of two"],
)
def test_scores_of_every_kind_are_peeled(kind, blocks, monkeypatch):
    scores, step, objective = SCORES[kind]
    if blocks is not None:
        monkeypatch.setattr(ranking, "LONGEST_RANKED", 0)
    if blocks == 2:
        lower_blocks(monkeypatch)
    mechanism = peeling_of("exponential", 2, 1 / step, objective=objective)
    reached, rest = reach(mechanism, scores, 1e-4)
    assert rest < 0.005
    require(
        reached,
        rest,
        {
            ranking: at(ratio, decay(ONE))
            for ranking, ratio in TOP_K["one-shot-gumbel"]((0, 1, 3), 2).items()
        },
    )


@pytest.mark.parametrize(
    "kind", ["floats", "fractions", "smallest large integer", "smallest of a hundred digits"]
)
@pytest.mark.usefixtures("by_blocks")
def test_scores_of_every_kind_are_leveled(kind):
    scores, step, objective = SCORES[kind]
    mechanism = peeling_of("permute-and-flip", 2, 1 / step, objective=objective)
    reached, rest = reach(mechanism, scores, 1e-4)
    assert rest < 0.02
    law = TOP_K["peeling-permute-and-flip"]((0, 1, 3), 2)
    require(reached, rest, {ranking: at(ratio, decay(ONE)) for ranking, ratio in law.items()})


def test_peeling_permute_and_flip_is_not_one_shot_exponential_noise():
    """The law that is drawn is the one whose privacy is proved; adding exponential noise once and
    sorting is another one.
    """
    gaps, rate = (0, 1, 2), Fraction(3, 4)
    reached, rest = reach(peeling_of("permute-and-flip", 2, rate), [2, 1, 0], 1e-5)
    one_shot = {
        ranking: at(ratio, decay(rate)) for ranking, ratio in one_shot_exponential(gaps).items()
    }
    assert one_shot[0, 1] > reached[0, 1] + rest + 0.015
    assert not any(
        reached[ranking] <= chance and chance <= reached[ranking] + rest
        for ranking, chance in one_shot.items()
    )


class Again(Exception):
    """A proposal was not kept."""


def once(make):
    """The same thing each time: it depends on nothing random."""
    made = []

    def get(*arguments, **words):
        if not made:
            made.append(make(*arguments, **words))
        return made[0]

    return get


def reach_by_one_proposal(mechanism, scores, cutoff):
    """Follow each tape until the first proposal is kept or not: then everything begins anew, so
    the law is that of what is kept.

    Returns the shares of all lists, what was given up, and the share that is kept.
    """
    original = Tape.decay

    def keep(tape, *arguments, **words):
        if not original(tape, *arguments, **words):
            raise Again
        return True

    candidates = mechanism._read(scores)

    def run(tape):
        try:
            return tuple(mechanism._draw(candidates, tape))
        except Again:
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tape, "decay", keep)
        # each is independent of the others of its round
        patch.setattr(joint_ranking, "proposals_of", lambda cut: 1)
        for name in ("Field", "Bounds"):
            patch.setattr(joint_ranking, name, once(getattr(joint_ranking, name)))
        reached, rest = distribution(run, cutoff)
    lists = {outcome: share for outcome, share in reached.items() if outcome is not None}
    return lists, rest, sum(lists.values(), arb(0))


def require_joint(lists, rest, kept, gaps, k, step) -> None:
    for members, ratio in TOP_K["joint-exponential"](gaps, k).items():
        ideal, found = at(ratio, decay(step)), lists.get(members, arb(0))
        assert found <= ideal * (kept + rest) + TINY, f"{members} is drawn too often"
        assert ideal * kept <= found + rest + TINY, f"{members} is drawn too rarely"


def joint_of(k: int, rate: Fraction, **more) -> JointTopK:
    return JointTopK(k=k, epsilon=2 * rate, sensitivity=1, monotonic=True, **more)


class TestJoint:
    """Equal candidates let "joint margins without their coin" live, and "what cells leave out has
    no coin"; with two candidates, a list of two leaves nobody out.
    """

    @pytest.mark.parametrize("gaps", [(0, 1, 2), *also((0, 0, 1), (4, 0, 1, 1))], ids=str)
    @pytest.mark.parametrize("rate", [Fraction(1, 8), *also(HALF, ONE)], ids=str)
    @pytest.mark.parametrize("kind", [int, float])
    def test_lists_have_their_odds_where_candidates_are_counted(self, gaps, rate, kind, counted):
        self.test_lists_have_their_odds(gaps, rate, kind)
        assert counted.total() > 0

    # Margins are between the places of a list: the shortest that has one, and two far apart.
    @pytest.mark.parametrize("gaps", [(0, 12), *also((0, 12, 13), (0, 1, 14, 3))], ids=str)
    @pytest.mark.parametrize("kind", [int, float])
    @pytest.mark.usefixtures("counted")
    def test_far_margins_where_candidates_are_counted(self, gaps, kind, monkeypatch):
        self.test_far_margins(gaps, ONE, kind, monkeypatch)

    @pytest.mark.parametrize(
        "gaps", [(0, 1, 2), *also((0, 0, 1), (4, 0, 1, 1), (2, 5, 0, 9))], ids=str
    )
    @pytest.mark.parametrize(
        "rate", [Fraction(1, 8), *also(Fraction(3, 7), HALF, ONE), Fraction(3)], ids=str
    )
    @pytest.mark.parametrize("kind", [int, float])
    def test_lists_have_their_odds(self, gaps, rate, kind):
        """Whole scores are counted in steps where these are long; all others in rounded cells."""
        for k in (2, len(gaps)):
            mechanism = joint_of(k, rate)
            assert mechanism.rate == rate
            scores = [kind(50 - gap) for gap in gaps]
            lists, rest, kept = reach_by_one_proposal(mechanism, scores, 1e-6)
            assert rest < 1e-3
            require_joint(lists, rest, kept, gaps, k, rate)

    @pytest.mark.parametrize("gaps", [(1, 0, 0), *also((0, 1, 2), (4, 0, 1, 1))], ids=str)
    @pytest.mark.parametrize("rate", [Fraction(1, 8), *also(ONE)], ids=str)
    @pytest.mark.parametrize("kind", [int, float])
    @pytest.mark.usefixtures("fold")
    def test_so_they_have_where_candidates_are_very_many(self, gaps, rate, kind, monkeypatch):
        """Also lists that are longer than there are columns."""
        monkeypatch.setattr(order_statistics, "ALL_SORTED", 0)
        self.test_lists_have_their_odds(gaps, rate, kind)

    @pytest.mark.parametrize(
        "rate",
        [*also(Fraction(1, 20)), Fraction(1, 5), *also(ONE, Fraction(3)), Fraction(8)],
        ids=str,
    )
    @pytest.mark.parametrize(
        "gaps", [*also((0, 1, 1, 1, 1, 1, 1), (0, 0, 7, 7, 7, 7)), (0, 0, 0, 0)], ids=str
    )
    @pytest.mark.parametrize("kind", [int, float])
    def test_it_ends(self, gaps, rate, kind):
        """At least e^-1/2 of all proposals are kept, whatever the scores and however large a step
        is.
        """
        _, rest, kept = reach_by_one_proposal(
            joint_of(2, rate), [kind(50 - gap) for gap in gaps], 1e-6
        )
        assert kept + rest > 0.6

    @pytest.mark.parametrize("size", [3, 10_000])
    @pytest.mark.parametrize("k", [2, 10, 50, 100, 1000])
    def test_another_round_is_rare_whatever_the_scores_are(self, k, size):
        if k > size:
            return
        cut = joint_ranking._remembered(size, k, None, joint_ranking._NEGLIGIBLE)
        refused = 1 - math.exp(-2 * float(Fraction(str(cut.cell))))
        assert refused ** joint_ranking.proposals_of(cut) <= 1e-4

    @pytest.mark.parametrize("kept", [0, 3, 4, 7])
    def test_each_round_has_the_same_proposals(self, kept, monkeypatch):
        """Also after one was kept, so that their number says nothing about the scores."""
        proposed = iter([[number] if number >= kept else None for number in range(99)])
        made = []

        def propose(*_):
            made.append(next(proposed))
            return made[-1]

        monkeypatch.setattr(joint_ranking, "_propose", propose)
        monkeypatch.setattr(joint_ranking, "proposals_of", lambda cut: 4)
        assert joint_of(1, ONE).select([0.5, 0.25]) == [kept]
        assert len(made) == 4 * (kept // 4 + 1)

    def test_whole_scores_need_one_proposal(self):
        cut = joint_ranking._remembered(10_000, 10, fmpq(1, 2), joint_ranking._NEGLIGIBLE)
        assert cut.whole
        assert joint_ranking.proposals_of(cut) == 1

    def test_tapes_go_on_after_a_proposal_that_was_not_kept(self):
        reached, rest = reach(joint_of(2, ONE), [2, 1, 0], 1e-5)
        assert rest < 0.02
        require(
            reached,
            rest,
            {
                ranking: at(ratio, decay(ONE))
                for ranking, ratio in TOP_K["joint-exponential"]((0, 1, 2), 2).items()
            },
        )

    @pytest.mark.parametrize(
        "gaps", [(0, 12), *also((0, 1, 2), (0, 12, 13), (0, 1, 14, 3))], ids=str
    )
    @pytest.mark.parametrize("rate", [ONE, *also(HALF)], ids=str)
    @pytest.mark.parametrize("kind", [int, float])
    def test_far_margins(self, gaps, rate, kind, monkeypatch):
        """What is negligible begins early, so that margins far behind are proposed, and
        candidates lie beyond the last level.

        Bounds are rounded to fewer bits, in keeping: beyond the last margin that is looked at
        closely, rounding up is what covers them.
        """
        monkeypatch.setattr(joint_ranking, "_NEGLIGIBLE", 3.0)
        monkeypatch.setattr(joint_ranking, "_BITS", 3)
        halvings = Counter()
        original = joint_ranking.Bounds.propose

        def propose(bounds, chance):
            margin, bound, exponent = original(bounds, chance)
            halvings[bounds._exponent - exponent, margin >= bounds._cut.margins] += 1
            return margin, bound, exponent

        monkeypatch.setattr(joint_ranking.Bounds, "propose", propose)
        lists, rest, kept = reach_by_one_proposal(
            joint_of(2, rate), [kind(50 - gap) for gap in gaps], 1e-7
        )
        assert rest < 1e-4
        require_joint(lists, rest, kept, gaps, 2, rate)
        assert halvings[0, True] > 0
        assert halvings[2, True] > 0

    @pytest.mark.parametrize("kind", SCORES)
    def test_scores_of_every_kind(self, kind):
        scores, step, objective = SCORES[kind]
        mechanism = joint_of(2, 1 / step, objective=objective)
        lists, rest, kept = reach_by_one_proposal(mechanism, scores, 1e-6)
        assert rest < 1e-3
        require_joint(lists, rest, kept, (0, 1, 3), 2, ONE)


def any_order(tied, _missing, limit, _counts, chance):
    """What the keyed hash of the labels stands for: each order is equally likely."""
    orders = list(permutations(np.flatnonzero(tied)))
    return np.resize(orders[chance.below(len(orders))], limit)


def die(sides, chance):
    """A die that has no more outcomes than sides; that the real one is as fair is a test of its
    own.
    """
    return chance.below(sides)


# Counts, k and limit. The threshold is where others are ("the threshold stands on the ground" lives
# where everybody takes part), and free places are where nobody is.
DOMAINS = {
    "everybody takes part": ((7, 5), 2, 2),
    "somebody does not": ((7, 1, 5), 2, 2),
    "free places": ((4, 3), 2, 4),
    "free places only": ((0, 0), 1, 2),
    "a tie at the boundary": ((6, 3, 3), 2, 2),
    "a tie of three for two places": ((3, 3, 3), 2, 2),
    "a tie above the boundary": ((4, 4, 1), 2, 2),
    "more places than asked for": ((6, 5, 2, 4), 1, 3),
    "an item that nobody has": ((0, 5, 0, 4), 2, 3),
    "looks closer": ((90, 30, 1), 3, 3),
}


class TestLimitedDomain:
    @pytest.mark.parametrize(
        "items", [None, *also(1, 3)], ids=["any items", "one item", "three items"]
    )
    @pytest.mark.parametrize("blocks", [*also(1024), 2], ids=["one block", "blocks of two"])
    @pytest.mark.parametrize("case", DOMAINS)
    def test_lists_have_their_odds(self, case, blocks, items, monkeypatch):
        if blocks == 2:
            lower_blocks(monkeypatch)
        monkeypatch.setattr(limited, "_by_label", any_order)
        monkeypatch.setattr(limited, "_die", die)
        counts, k, limit = DOMAINS[case]
        domain = LimitedDomain(BoundedRange(1), HALF, limit, items)
        read = read_counts(list(counts))
        reached, rest = distribution(lambda tape: tuple(domain.draw(read, k, tape)), 3e-5)
        assert rest < 0.04
        height = arb(fmpq(domain.height.numerator, domain.height.denominator))
        ideal = limited_domain(counts, k, limit, ONE, height)
        require(reached, rest, ideal)

    @pytest.mark.parametrize(
        "case", [((2, 1), 2, 5), *also(((), 1, 3), ((90, 1), 2, 4), ((0, 1), 1, 4))]
    )
    def test_places_without_an_item_are_one_heap(self, case, monkeypatch):
        counts, k, limit = case
        monkeypatch.setattr(limited, "_PLACES", 1)
        monkeypatch.setattr(limited, "_die", die)
        # so that such a place wins often, which a certified height makes unlikely
        monkeypatch.setattr(limited, "_height", lambda *_: ONE)
        domain = LimitedDomain(BoundedRange(1), HALF, limit, None)
        read = read_counts(list(counts))
        reached, rest = distribution(lambda tape: tuple(domain.draw(read, k, tape)), 3e-5)
        assert rest < 0.04
        ideal = limited_domain(counts or (0,), k, limit, ONE, arb(1))
        require(reached, rest, ideal)

    def test_no_counts_are_an_empty_list(self, monkeypatch):
        monkeypatch.setattr(limited, "_die", die)
        domain = LimitedDomain(BoundedRange(1), HALF, 3, None)
        for counts in ([], {}, np.array([])):
            reached, rest = distribution(
                lambda tape, c=counts: tuple(domain.draw(read_counts(c), 2, tape)), 1e-6
            )
            assert set(reached) == {()}
            assert rest < 1e-3
