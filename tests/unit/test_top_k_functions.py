"""`top_k`, `top_k_unknown_domain` and `select(with_gap=True)` as a user meets them."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from tiers import more

import discreet
from discreet import ParameterError
from discreet.errors import ScoresError
from discreet.literals import TOP_K_METHODS
from discreet.mechanisms.count_lists import ListRequest, make_top_k
from discreet.privacy.parameters import ScoreRange
from discreet.testing import SeededBits

READS = {"news": 900, "sports": 420, "chess": 70, "weather": 880, "opera": 12}
every_method = pytest.mark.parametrize("method", TOP_K_METHODS)


def top(scores, k, method, seed=1, **more):
    return discreet.top_k(
        scores,
        k,
        **(
            {"epsilon": 20, "sensitivity": 1, "monotonic": True, "method": method}
            | ({"items_per_person": 1} if method == "histogram" else {})
            | more
        ),
        bits=SeededBits(seed),
    )


@every_method
def test_clear_scores_come_out_in_order(method):
    release = top(READS, 3, method)
    assert release.value == ["news", "weather", "sports"]
    assert release.loss.epsilon == 20
    assert release.candidates == 5
    assert release.seeded
    assert discreet.Release.from_json(release.to_json()) == release


@every_method
def test_the_smallest_can_be_best(method):
    assert top(READS, 2, method, objective="min").value == ["opera", "chess"]


@every_method
def test_more_than_there_are_is_refused(method):
    with pytest.raises(
        ParameterError, match=r"must be at most the number of candidates, 5\. Got 6"
    ):
        top(READS, 6, method)


@every_method
def test_all_of_them_is_a_ranking(method):
    assert sorted(top(READS, 5, method).value) == sorted(READS)


def test_a_joint_draw_has_no_delta():
    with pytest.raises(ParameterError, match="'delta' parameter of top_k must be 0"):
        top(READS, 2, "joint", delta=1e-6)


def test_a_joint_draw_is_not_longer_than_it_can_be():
    rule = r"'k' parameter of JointTopK must be at most 10,000\. Got 10001\. \"peel\" has no such"
    with pytest.raises(ParameterError, match=rule):
        make_top_k(10_001, 1, 0, ScoreRange(sensitivity=1, monotonic=True), method="joint")


@pytest.mark.parametrize("delta", [0, "1e-999", "1e-9"])
@pytest.mark.parametrize("method", ["auto", "histogram"])
def test_an_epsilon_below_all_floats_has_a_list_too(method, delta):
    request = ListRequest(
        k=2,
        epsilon=Fraction("1e-999"),
        delta=Fraction(delta),
        items_per_person=2,
        sensitivity=1,
        monotonic=True,
        method=method,
    )
    assert request.make().privacy_loss().epsilon <= Fraction("1e-999")


def test_auto_goes_by_public_numbers():
    def name(k, delta):
        return make_top_k(k, 1, delta, ScoreRange(sensitivity=1, monotonic=True)).name

    assert name(1, 0) == name(2, 1e-6) == "peeling-permute-and-flip"
    assert name(5, 0) == name(4, 1e-6) == "peeling-permute-and-flip"
    assert name(6, 0) == name(4096, 0) == "joint-exponential"
    # its table grows with the square of k
    assert name(4097, 0) == name(10**6, 0) == "peeling-permute-and-flip"
    assert name(5, 1e-6) == name(10, 1e-6) == "one-shot-gumbel"


@pytest.mark.parametrize(("k", "low", "high"), [(10, 1.53, 1.54), more(100, 4.7, 4.75)])
def test_a_delta_buys_larger_picks(k, low, high):
    pure = make_top_k(k, 1, 0, ScoreRange(sensitivity=1, monotonic=True), method="one-shot")
    tight = make_top_k(k, 1, 1e-6, ScoreRange(sensitivity=1, monotonic=True), method="one-shot")
    assert pure.rate == Fraction(1, k)
    assert low < tight.rate / pure.rate < high
    assert tight.privacy_loss() == discreet.ApproxDP(1, 1e-6)
    assert discreet.compose(tight.losses(), delta=1e-6).epsilon <= 1


@pytest.mark.parametrize("mechanism", ["permute-and-flip", more("exponential", tier="audits")])
@pytest.mark.parametrize(
    "places", [more((0, 1, 2, 3), tier="audits"), (5, 1100, 1101, 2047)], ids=str
)
@pytest.mark.parametrize("draws", [1500, more(4000, tier="audits")])
def test_several_blocks_have_the_same_law_as_one(mechanism, places, draws):
    """2,048 candidates, four of which matter: lists come as often as log_probability says, to 4.5
    standard errors.
    """
    scores = np.full(2048, -(10**6))
    scores[list(places)] = [3, 2, 2, 0]
    made = discreet.mechanisms.PeelingTopK(
        k=2, epsilon=2, sensitivity=1, monotonic=True, mechanism=mechanism
    )
    bits = SeededBits(11)
    seen = Counter(tuple(made.select(scores, bits=bits)) for _ in range(draws))
    for ranking in permutations(places, 2):
        ideal = math.exp(made.log_probability(ranking, scores))
        assert abs(seen[ranking] - draws * ideal) < 4.5 * math.sqrt(draws * ideal * (1 - ideal)) + 1


@every_method
@pytest.mark.parametrize("order", ["best first", "best last", "shuffled"])
def test_many_candidates_end(method, order):
    scores = np.arange(3000)
    scores = {
        "best first": scores[::-1],
        "best last": scores,
        "shuffled": np.random.default_rng(1).permutation(scores),
    }[order]
    found = top(np.ascontiguousarray(scores), 25, method, epsilon=30).value
    assert len(set(found)) == 25
    assert scores[found].min() > 2000


@pytest.mark.parametrize("draws", [600, more(2400, tier="audits")])
def test_equal_scores_have_no_favourite(draws):
    expected = draws / 12
    histogram = discreet.mechanisms.HistogramTopK(k=2, epsilon=1, items_per_person=1)
    for method in TOP_K_METHODS[1:]:
        bits, made = SeededBits(5), histogram
        if method != "histogram":
            made = make_top_k(2, 1, 0, ScoreRange(sensitivity=1, monotonic=True), method=method)
        seen = Counter(tuple(made.select([4] * 4, bits=bits)) for _ in range(draws))
        chi_square = sum(
            (seen[pair] - expected) ** 2 / expected for pair in permutations(range(4), 2)
        )
        assert chi_square < 40  # 11 degrees of freedom: exceeded once in 30,000 tries


COUNTS = {"cats": 9120, "dogs": 7010, "axolotls": 2}


class TestUnknownDomain:
    def test_rare_items_are_not_named(self):
        for seed in range(50):
            release = discreet.top_k_unknown_domain(
                COUNTS, 3, epsilon=1, delta=1e-6, limit=10, bits=SeededBits(seed)
            )
            assert release.value == ["cats", "dogs"]
            assert release.loss == discreet.ApproxDP(1, 1e-6)
            assert release.candidates == 10  # the limit: how many items were seen is private

    @pytest.mark.parametrize("counts", [{}, [], {"only": 0}, {"one": 1}], ids=str)
    def test_nothing_that_stands_out_is_a_normal_answer(self, counts):
        assert discreet.top_k_unknown_domain(counts, 3, epsilon=1, delta=1e-6, limit=10).value == []

    def test_more_places_than_one_block(self):
        counts = {f"item {number}": 10_000 - number for number in range(1500)} | {
            f"rare {number}": 1 for number in range(3000)
        }
        found = discreet.top_k_unknown_domain(
            counts, 20, epsilon=10, delta=1e-6, limit=2000, bits=SeededBits(1)
        ).value
        assert len(found) == 20
        assert all(item.startswith("item") for item in found)

    @pytest.mark.parametrize(
        "counts", [{"a": -7771}, {"a": 7771.5}, {"a": math.nan}, np.array([7771.0])], ids=str
    )
    def test_wrong_counts_are_refused_without_showing_one(self, counts):
        with pytest.raises(ScoresError) as caught:
            discreet.top_k_unknown_domain(counts, 1, epsilon=1, delta=1e-6, limit=10)
        assert "777" not in str(caught.value)


class TestGap:
    @pytest.mark.parametrize(
        "mechanism", ["permute-and-flip", "exponential", "gumbel-noise", "exponential-noise"]
    )
    def test_a_clear_winner_has_a_gap_near_the_truth(self, mechanism):
        release = discreet.select(
            [1000, 0, 10],
            epsilon=2,
            sensitivity=1,
            monotonic=True,
            mechanism=mechanism,
            with_gap=True,
        )
        assert release.value == 0
        assert 960 < release.gap < 1020
        gumbel = mechanism in ("exponential", "gumbel-noise")
        assert release.loss == (discreet.accounting.LogisticDP(2) if gumbel else discreet.PureDP(2))
        assert discreet.Release.from_json(release.to_json()).gap == release.gap

    def test_the_gap_lies_on_the_lattice(self):
        step = Fraction(3, 8)
        for seed in range(20):
            release = discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1).release(
                [5, 4, 4], with_gap=True, gap_step=step, bits=SeededBits(seed)
            )
            assert release.gap >= 0
            assert (release.gap / step).denominator == 1

    def test_one_candidate_has_no_gap(self):
        assert discreet.select([7], epsilon=1, sensitivity=1, with_gap=True).gap is None

    def test_without_asking_there_is_none(self):
        release = discreet.select([7, 3], epsilon=1, sensitivity=1)
        assert release.gap is None
        assert "gap" not in release.to_json()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (
                {"mechanism": "laplace-noise"},
                "'with_gap' parameter of select must be False with this kind of noise",
            ),
            ({"gap_step": 0}, "'gap_step' parameter of select must be greater than 0"),
            ({"with_gap": 1}, "'with_gap' parameter of select must be True or False"),
            (
                {"with_gap": False, "gap_step": 1},
                "'gap_step' parameter of select must be given together with",
            ),
        ],
        ids=str,
    )
    def test_wrong_options(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            discreet.select(
                [3, 1], **({"epsilon": 1, "sensitivity": 1, "with_gap": True} | changes)
            )

    def test_what_a_gap_proves(self):
        mechanism = discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
        assert mechanism.lead_bound(10, 0.05) == pytest.approx(10 - math.log(20))
        assert mechanism.lead_bound(2, 0.05) is None
        gumbel = discreet.mechanisms.ExponentialMechanism(epsilon=1, sensitivity=1, monotonic=True)
        assert gumbel.lead_bound(math.log(39), 0.05) == pytest.approx(0, abs=1e-12)
        assert gumbel.lead_bound(math.log(19), 0.05) is None
        assert gumbel.lead_bound(10**400, 0.05) > 1e300
