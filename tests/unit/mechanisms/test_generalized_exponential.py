"""The generalized exponential mechanism: exact distances and law, its loss on all small
neighbours, its utility, its input.
"""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from flint import arb, fmpq
from hypothesis import example, given
from hypothesis import strategies as st
from reference import generalized as reference
from reference.tapes import distribution
from tiers import examples, loop_over, more

from discreet import NOT_PRIVATE, BoundedRange, ParameterError, Release
from discreet.errors import ScoresError
from discreet.exact.enclosures import lower_bound, upper_bound
from discreet.mechanisms.generalized_exponential import GeneralizedExponentialMechanism, _penalty
from discreet.mechanisms.laws import EXPONENTIAL_LAW
from discreet.samplers import envelope
from discreet.samplers.distances import GRAIN
from discreet.samplers.envelope import Envelope
from discreet.samplers.generalized_distances import FloatTangents, Hull, RationalTangents
from discreet.testing import SeededBits

CANARY = 718281.828125  # a score that must never show up in a message
LN2_LOW, LN2_HIGH = lower_bound(arb.const_log2, 300), upper_bound(arb.const_log2, 300)
TINY = 2.0**-150  # covers the width of enclosures where a bound holds with equality


def make(epsilon=1, beta=Fraction(1, 100), **words):
    return GeneralizedExponentialMechanism(epsilon=epsilon, failure_probability=beta, **words)


def offset_of(mechanism, candidates):
    """The t that the mechanism itself uses: scores are set back by t sensitivities."""
    return 2 * _penalty(candidates, mechanism.failure_probability) / mechanism.epsilon


def listed(numbers):
    return [
        Fraction(number)
        for number in (numbers.tolist() if isinstance(numbers, np.ndarray) else numbers)
    ]


def true_distances(mechanism, scores, sensitivities):
    smallest = mechanism.objective == "min"
    offset = offset_of(mechanism, len(scores))
    return reference.distances(
        listed(scores), listed(sensitivities), mechanism.epsilon, offset, smallest=smallest
    )


def measured(mechanism, scores, sensitivities):
    return mechanism._distances(mechanism._read(scores), sensitivities)


def exact_distances(mechanism, scores, sensitivities):
    distances = measured(mechanism, scores, sensitivities)
    found = [distances.exact(index) for index in range(len(scores))]
    return [Fraction(int(distance.p), int(distance.q)) for distance in found]


def check(mechanism, scores, sensitivities):
    """Exact distances are the reference's; estimates are never above the truth, and near it where
    they matter.
    """
    distances, truths = (
        measured(mechanism, scores, sensitivities),
        true_distances(mechanism, scores, sensitivities),
    )
    estimates = np.full(len(scores), np.nan)
    distances.estimate(0, len(scores), estimates)
    assert exact_distances(mechanism, scores, sensitivities) == truths
    for truth, estimate in zip(truths, estimates.tolist(), strict=True):
        assert estimate >= 0
        assert math.floor(estimate) * LN2_HIGH <= truth * GRAIN
        if estimate < 28 * GRAIN:  # else the envelope takes it for out of reach
            assert truth - Fraction(estimate) * LN2_LOW / GRAIN <= Fraction(1, 2**12) + Fraction(
                2, GRAIN
            )
    return distances


epsilons = st.sampled_from(
    [Fraction(1), Fraction(1, 10), Fraction(7), Fraction(64), Fraction(1, 1000)]
)
betas = st.sampled_from(
    [Fraction(1, 100), Fraction(1, 2), Fraction(999, 1000), Fraction(1, 10**30)]
)
objectives = st.sampled_from(["max", "min"])
sizes = st.one_of(
    st.integers(1, 9),
    st.fractions(min_value=Fraction(1, 50), max_value=50),
    st.floats(min_value=1e-3, max_value=1e3).map(Fraction),
    st.integers(0, 27).map(lambda power: 2**power),
)


@st.composite
def instances(draw):
    """Scores near t * sensitivity, where the hull has corners, and anywhere else."""
    epsilon, beta = draw(epsilons), draw(betas)
    sensitivities = draw(st.lists(sizes, min_size=1, max_size=10))
    kind = draw(st.sampled_from(["integers", "floats", "large integers", "fractions", "near"]))
    count = len(sensitivities)

    def some(numbers):
        return draw(st.lists(numbers, min_size=count, max_size=count))

    if kind == "integers":
        scores = np.array(some(st.integers(-1000, 1000)))
    elif kind == "floats":
        scores = np.array(some(st.floats(-1e5, 1e5)))
    elif kind == "large integers":
        scores = np.array(some(st.integers(-(2**63), 2**63 - 1)))
    elif kind == "fractions":
        scores = some(st.one_of(st.fractions(), st.integers(-(10**30), 10**30).map(Fraction)))
    else:
        offset = 2 * _penalty(count, beta) / epsilon
        moves = some(st.integers(-20, 20))
        scores = np.array(
            [round(offset * size + move) for size, move in zip(sensitivities, moves, strict=True)]
        )
    return make(epsilon, beta, objective=draw(objectives)), scores, sensitivities


class TestDistances:
    @examples(50, 150)
    @given(instances())
    def test_they_are_the_reference_and_estimates_are_safe_and_close(self, instance):
        check(*instance)

    @examples(40, 100)
    @given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=1, max_size=30))
    @example([(0, 1), (27, 2), (54, 3), (81, 4)])
    def test_small_whole_numbers_with_many_ties(self, points):
        """With t = 4 on the whole numbers there are ties of scores, of sensitivities, of slopes,
        and points on one line.
        """
        epsilon = _penalty(len(points), Fraction(1, 100)) / 2
        mechanism = make(epsilon)
        assert offset_of(mechanism, len(points)) == 4
        scores, sensitivities = zip(*points, strict=True)
        assert isinstance(check(mechanism, list(scores), list(sensitivities)), FloatTangents)

    @pytest.mark.parametrize(
        "kind", [np.int64, more(np.float64), more(np.float32)], ids=lambda kind: kind.__name__
    )
    def test_many_candidates_with_many_corners(self, kind):
        """A hull of more than thirty corners, and below it random candidates."""
        generator = np.random.default_rng(5)
        sensitivities = np.concatenate([np.arange(1, 61), generator.integers(1, 61, 90)])
        mechanism = make(1)
        offset = float(offset_of(mechanism, sensitivities.size))
        heights = (
            40 * sensitivities
            - sensitivities**2 / 3
            - np.repeat([0, 1], [60, 90]) * generator.exponential(200, 150)
        )
        scores = np.round(heights + offset * sensitivities).astype(kind)
        distances = check(mechanism, scores, sensitivities)
        assert isinstance(distances, FloatTangents)
        assert len(distances._plane.hull.costs) > 30

    def test_far_apart_sensitivities_take_the_exact_way(self):
        mechanism = make(1)
        for ratio, kind in [
            (2**27, FloatTangents),
            (2**30, RationalTangents),
            (10**40, RationalTangents),
        ]:
            offset = offset_of(mechanism, 4)
            scores = [
                round(offset * size) + move
                for size, move in [(1, 3), (2, 0), (ratio, 5 * ratio), (ratio, 0)]
            ]
            assert type(check(mechanism, scores, [1, 2, ratio, ratio])) is kind

    @pytest.mark.parametrize(
        "epsilon", [Fraction(5, 10**324), Fraction(1, 10**400), Fraction(10**30)]
    )
    def test_extreme_epsilons_stay_exact(self, epsilon):
        mechanism = make(epsilon, acknowledge=NOT_PRIVATE)
        check(mechanism, np.array([3, 1, 4, 1, 5]), [1, 1, 2, 3, 3])
        check(mechanism, np.array([3.5, 1e5, -4, 1, 5e-324]), [1, 1, 2, 3, 3])

    @pytest.mark.parametrize(
        "scores", [np.array([1e308, -1e308, 0.0]), np.array([1e300, 1e280, 5.0])], ids=str
    )
    def test_huge_floats_do_not_overflow(self, scores):
        check(make(1), scores, [1e300, 2e300, 3e300])

    def test_a_part_is_estimated_like_the_whole(self):
        scores, sensitivities = np.arange(50) * 7 % 31, 1 + np.arange(50) % 6
        distances = measured(make(1), scores, sensitivities)
        whole, part = np.empty(50), np.empty(13)
        distances.estimate(0, 50, whole)
        distances.estimate(20, 33, part)
        assert part.tolist() == whole[20:33].tolist()


class TestHull:
    def brute(self, widths, costs, width, cost):
        return max(
            Fraction(cost - other, width + size) for size, other in zip(widths, costs, strict=True)
        )

    @examples(50, 150)
    @given(
        st.lists(
            st.tuples(st.integers(1, 40), st.integers(-40, 40)),
            min_size=1,
            max_size=25,
            unique_by=lambda p: p[0],
        )
    )
    def test_the_tangent_is_the_steepest_of_all_lines(self, points):
        widths, costs = map(list, zip(*sorted(points), strict=True))
        hull = Hull(widths, costs)
        for width, cost in [*points, (1, max(costs) + 50), (200, max(costs) + 1), (3, max(costs))]:
            found = hull.steepest(width, fmpq(cost))
            assert Fraction(int(found.p), int(found.q)) == self.brute(widths, costs, width, cost)

    def test_only_corners_of_the_rising_part_are_kept(self):
        # the second lies on the line from the first to the third, the fourth under the hull,
        # the last falls
        hull = Hull([1, 2, 3, 4, 5, 6], [10, 7, 4, 6, 3, 3])
        assert (hull.widths, hull.costs) == ([1, 3, 5], [10, 4, 3])


class TestLaw:
    @pytest.fixture(params=[1024, 2], ids=["one block", "blocks of two"])
    def block(self, request, monkeypatch):
        monkeypatch.setattr(envelope, "_BLOCK", request.param)

    @pytest.mark.parametrize(
        ("scores", "sensitivities"),
        [
            ([5, 3], [1, 1]),
            ([0, 8], [1, 2]),
            ([3, 4, 50], [1, 1, 4]),
            ([2.5, 40.0, 70.0, 66.0], [1, 3, 5, 5]),
            ([Fraction(1, 3), 10**30, 10**30 + 9], [1, Fraction(3, 2), 2]),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(5)], ids=str)
    @pytest.mark.usefixtures("block", "high_precision")
    def test_the_real_code_has_the_ideal_distribution_on_every_tape(
        self, epsilon, scores, sensitivities
    ):
        mechanism = make(epsilon)
        candidates = Envelope(measured(mechanism, scores, sensitivities))
        reached, rest = distribution(lambda tape: EXPONENTIAL_LAW.draw(candidates, tape), 1e-8)
        assert rest < 1e-5
        for candidate, ideal in enumerate(
            reference.probabilities(true_distances(mechanism, scores, sensitivities))
        ):
            found = reached.get(candidate, arb(0))
            assert found <= ideal + TINY, f"candidate {candidate} is drawn too often"
            assert ideal <= found + rest + TINY, f"candidate {candidate} is drawn too rarely"

    def test_probabilities_are_the_reference(self):
        scores, sensitivities = [3, 4, 50, 20], [1, 1, 4, 2]
        ideal = reference.probabilities(true_distances(make(2), scores, sensitivities))
        assert make(2).probabilities(scores, sensitivities) == pytest.approx(
            [float(p) for p in ideal], abs=3e-15
        )
        assert np.exp(make(2).log_probabilities(scores, sensitivities)).sum() == pytest.approx(1)

    def test_ties_have_no_order(self):
        """Candidates with the same score and sensitivity are equally likely wherever they stand."""
        points = [(5, 1), (5, 1), (30, 2), (30, 2), (9, 1)]
        expected = dict(
            zip(points, exact_distances(make(1), *zip(*points, strict=True)), strict=True)
        )
        for order in permutations(points):
            assert exact_distances(make(1), *zip(*order, strict=True)) == [
                expected[point] for point in order
            ]


class TestPrivacy:
    """The log-odds are minus the distances up to a common constant, so bounded range is a
    statement about rational numbers.
    """

    @pytest.mark.parametrize(
        "sensitivities", [(1, 1), (1, 2), (1, 3), (1, 1, 2), (1, 2, 4), (2, 3, 3)], ids=str
    )
    @pytest.mark.parametrize(
        "epsilon", [more(Fraction(1, 64)), Fraction(1), more(Fraction(8))], ids=str
    )
    def test_no_neighbour_moves_the_log_odds_by_more_than_the_stated_loss(
        self, epsilon, sensitivities
    ):
        """All pairs of neighbours on a grid around the scores at which all candidates are equally
        good.
        """
        mechanism = make(epsilon)
        loss = mechanism.privacy_loss()
        offset = offset_of(mechanism, len(sensitivities))
        widest = Fraction(0)
        known = {}

        def law(scores):
            if scores not in known:
                known[scores] = exact_distances(mechanism, list(scores), list(sensitivities))
            return known[scores]

        for heights in product((-3, 0, 1), repeat=len(sensitivities)):
            scores = tuple(
                round(offset * size) + 2 * h for size, h in zip(sensitivities, heights, strict=True)
            )
            for directions in product((-1, 0, 1), repeat=len(sensitivities)):
                moved = tuple(
                    q + way * size
                    for q, way, size in zip(scores, directions, sensitivities, strict=True)
                )
                moves = [new - old for new, old in zip(law(moved), law(scores), strict=True)]
                widest = max(widest, max(moves) - min(moves))
        assert isinstance(loss, BoundedRange)
        assert widest <= loss.epsilon
        assert widest >= loss.epsilon / 2  # what two candidates, or equal sensitivities, use

    @pytest.mark.parametrize("epsilon", [Fraction(1, 64), Fraction(1), Fraction(8)], ids=str)
    def test_the_loss_is_attained(self, epsilon):
        """One candidate's rival falls while it rises, and another's rises while it falls: range
        2, from sensitivity 1.
        """
        mechanism, sensitivities = make(epsilon), [1, 1, 5]
        offset = offset_of(mechanism, 3)
        scores = [offset - 5, offset - 140, 5 * offset]
        moved = [scores[0] - 1, scores[1] + 1, scores[2] + 5]
        pairs = zip(
            exact_distances(mechanism, moved, sensitivities),
            exact_distances(mechanism, scores, sensitivities),
            strict=True,
        )
        moves = [new - old for new, old in pairs]
        assert max(moves) - min(moves) == mechanism.privacy_loss().epsilon == epsilon

    @examples(20, 60)
    @given(instances(), st.data())
    def test_no_neighbour_of_any_candidates_moves_them_by_more(self, instance, data):
        mechanism, scores, sensitivities = instance
        exact = [Fraction(score) for score in listed(scores)]
        ways = data.draw(st.lists(st.fractions(-1, 1), min_size=len(exact), max_size=len(exact)))
        moved = [
            score + way * Fraction(size)
            for score, way, size in zip(exact, ways, sensitivities, strict=True)
        ]
        pairs = zip(
            exact_distances(mechanism, moved, sensitivities),
            exact_distances(mechanism, exact, sensitivities),
            strict=True,
        )
        moves = [new - old for new, old in pairs]
        assert max(moves) - min(moves) <= mechanism.privacy_loss().epsilon

    @loop_over("candidates", [1, 2, 1000, 10**9])
    @loop_over("beta", [Fraction(1, 100), Fraction(999, 1000), Fraction(1, 10**50)])
    def test_the_penalty_is_public_and_just_large_enough(self, candidates, beta):
        """A function of the number of candidates and of beta alone, at or above ln(d / beta), by
        less than 1/512.
        """
        penalty = _penalty(candidates, beta)
        needed = (arb(candidates) * beta.denominator / beta.numerator).log()
        assert needed <= arb(penalty.numerator) / penalty.denominator <= needed + 1 / 512
        assert penalty * 1024 == round(penalty * 1024)


class TestUtility:
    def failure(self, mechanism, scores, sensitivities):
        """The exact chance that the selected score is farther behind some candidate than its
        bound says.
        """
        bounds = [
            Fraction(mechanism.error_bound(candidates=len(scores), sensitivity=size))
            for size in sensitivities
        ]
        needed = max(Fraction(score) - bound for score, bound in zip(scores, bounds, strict=True))
        chances = mechanism.probabilities(scores, sensitivities)
        return sum(chance for chance, score in zip(chances, scores, strict=True) if score < needed)

    @pytest.mark.parametrize("beta", [0.5, 0.1, 0.01])
    def test_the_bound_holds(self, beta):
        generator = np.random.default_rng(3)
        mechanism, worst = make(1, beta), 0.0
        for _ in range(150):
            sensitivities = generator.choice([1, 2, 10, 100], generator.integers(2, 12)).tolist()
            offset = float(offset_of(mechanism, len(sensitivities)))
            scores = [
                round(offset * size * generator.choice([0, 1, 2]) + generator.normal(0, 30))
                for size in sensitivities
            ]
            worst = max(worst, self.failure(mechanism, scores, sensitivities))
        assert worst <= beta

    def test_it_is_almost_attained(self):
        """Many candidates just beyond the bound of the best: their chance is near beta."""
        mechanism = make(1, 0.1)
        bound = mechanism.error_bound(candidates=1000, sensitivity=1)
        failure = self.failure(mechanism, [bound + 0.1, *[0] * 999], [1] * 1000)
        assert 0.08 < failure <= 0.1

    def test_insensitive_candidates_win_by_small_margins(self):
        """Without the penalty, sensitive candidates would be nearly tied with the best: here the
        chance would be 10/11.
        """
        mechanism = make(1, 0.01)
        scores, sensitivities = [100, *[50] * 10], [1, *[1000] * 10]
        assert mechanism.error_bound(candidates=11, sensitivity=1) < 50
        assert self.failure(mechanism, scores, sensitivities) <= 0.01

    def test_known_values(self):
        assert make(1).error_bound(candidates=100, sensitivity=1) == pytest.approx(
            4 * math.log(10**4), abs=0.005
        )
        assert make(0.5).error_bound(candidates=100, sensitivity=3) == 6 * make(1).error_bound(
            candidates=100, sensitivity=1
        )
        assert make(Fraction(1, 10**400)).error_bound(candidates=100, sensitivity=1) == math.inf


SCORES = {"a": 10, "b": 200, "c": 30}
SENSITIVITIES = {"a": 1, "b": 5, "c": Fraction(1, 2)}


class TestInput:
    @loop_over(
        "sensitivities",
        [
            SENSITIVITIES,
            dict(reversed(SENSITIVITIES.items())),
            list(SENSITIVITIES.values()),
            [1.0, 5.0, 0.5],
            np.array([1, 5, 0.5]),
            np.array([1, 5, 0.5], dtype=">f4"),
            np.array([1, 5, Fraction(1, 2)], dtype=object),
            np.array([1, 5, 0.5], dtype=np.longdouble),
            [np.float64(1), Decimal(5), np.float32(0.5)],
            pd.Series({"c": 0.5, "a": 1, "b": 5}),
            pl.Series([1.0, 5.0, 0.5]),
            (1, 5, 0.5),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_every_form_of_sensitivities_means_the_same(self, sensitivities):
        expected = true_distances(make(), [*SCORES.values()], [*SENSITIVITIES.values()])
        distances = measured(make(), SCORES, sensitivities)
        assert [Fraction(int(d.p), int(d.q)) for d in map(distances.exact, range(3))] == expected

    @pytest.mark.parametrize(
        "sensitivity", [2, 2.0, Fraction(2), Decimal(2), np.int8(2), np.float32(2)], ids=repr
    )
    def test_one_number_is_for_all(self, sensitivity):
        assert exact_distances(make(), [10, 200], sensitivity) == exact_distances(
            make(), [10, 200], [2, 2]
        )

    def test_positions_are_the_labels_of_candidates_without_any(self):
        assert exact_distances(make(), [10, 200, 30], {2: 0.5, 0: 1, 1: 5}) == exact_distances(
            make(), [10, 200, 30], [1, 5, 0.5]
        )

    def test_a_release_has_its_label_and_cost(self):
        release = make(4).release({"a": 0, "b": 10**6}, {"a": 1, "b": 2}, bits=SeededBits(1))
        assert (release.value, release.loss, release.mechanism) == (
            "b",
            BoundedRange(4),
            "generalized-exponential",
        )
        assert (release.candidates, release.gap) == (2, None)
        assert Release.from_json(release.to_json()) == release
        assert make(4).release([0, 10**6], [1, 2]).value == 1

    def test_seeded_bits_repeat_and_are_marked(self):
        runs = [
            [make(0.1).select(range(20), 1, bits=SeededBits(seed)) for seed in range(20)]
            for _ in range(2)
        ]
        assert runs[0] == runs[1]
        assert len(set(runs[0])) > 5
        assert make().release([1, 2], 1, bits=SeededBits(1)).seeded
        assert not make().release([1, 2], 1).seeded

    @loop_over(
        ("sensitivities", "rule", "got"),
        [
            ([1, 2], "one for each of the 3 candidates", "2"),
            ([], "one for each of the 3 candidates", "0"),
            ([1, 0, 1], "greater than 0", "0"),
            ([1, -2, 1], "greater than 0", "-2"),
            ([1.0, -0.0, 1.0], "greater than 0", "-0.0"),
            (np.array([1, 0, 1]), "greater than 0", "0"),
            ([1.0, float("nan"), 1.0], "a finite number", "nan"),
            ([1.0, float("inf"), 1.0], "a finite number", "inf"),
            ([1, Decimal("NaN"), 1], "a finite number", "Decimal"),
            ([1, True, 1], "a number", "True"),
            ([1, [2], 1], "a number", "a list"),
            (0, "greater than 0", "0"),
            (-1.5, "greater than 0", "-1.5"),
            (float("nan"), "a finite number", "nan"),
            (True, "a number for all candidates", "True"),
            ({1, 2, 3}, "a number for all candidates", "a set"),
            (np.array([True, True, True]), "a number for all candidates", "a ndarray"),
            (np.array(["1", "2", "3"]), "a number for all candidates", "a ndarray"),
            (np.ma.masked_array([1, 2, 3]), "a number for all candidates", "a MaskedArray"),
            (np.ones((3, 1)), "a number for all candidates", "a ndarray"),
            (
                {"a": 1, "b": 5},
                "given once for every label of the scores",
                "a list. None was given for 'c'",
            ),
            (
                {"a": 1, "b": 5, "d": 1},
                "given once for every label of the scores",
                ".*None was given for 'c'",
            ),
            (
                {**SENSITIVITIES, "d": 1},
                "given once for every label of the scores",
                ".*There are more labels",
            ),
            (
                pd.Series([1, 2, 3]),
                "given once for every label of the scores",
                ".*None was given for 'a'",
            ),
            (
                pd.Series([1, 2, 3, 4], index=list("abca")),
                "given once for every label of the scores",
                ".*more labels",
            ),
        ],
        ids=str,
    )
    def test_bad_sensitivities_are_named(self, sensitivities, rule, got):
        message = (
            rf"The 'sensitivities' parameter of GeneralizedExponentialMechanism must be {rule}.*\. "
            rf"Got {got}"
        )
        with pytest.raises(ParameterError, match=message):
            make().select(SCORES, sensitivities)

    @pytest.mark.parametrize(
        ("scores", "error", "message"),
        [
            ([], ScoresError, "must have at least one candidate"),
            ([CANARY, float("nan")], ScoresError, "must be finite"),
            ([CANARY, 2.0**60], ScoresError, "must be precise enough"),
        ],
        ids=str,
    )
    def test_bad_scores_are_refused_and_never_shown(self, scores, error, message):
        with pytest.raises(
            error, match=f"The 'scores' of GeneralizedExponentialMechanism {message}"
        ) as caught:
            make().select(scores, [1, 2])
        said = (
            f"{caught.value} {caught.value!r} {vars(caught.value)} {caught.value.__cause__} "
            f"{caught.value.__context__}"
        )
        assert "718281" not in said

    def test_the_smallest_sensitivity_decides_how_fine_floats_must_be(self):
        coarse = 2.0**53  # its neighbours are 2 apart
        assert make().select([0.0, coarse], [2, 5]) == 1
        with pytest.raises(ScoresError, match="must be precise enough"):
            make().select([0.0, coarse], [1, 5])
