"""The published attacks that concern selection, each with the numbers that broke a peer."""

import math
import random
import subprocess
import sys
import traceback
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from flint import fmpq
from tiers import loop_over

import discreet
from discreet.mechanisms.scores import read_candidates
from discreet.samplers.distances import measure
from discreet.samplers.envelope import _BLOCK, Envelope
from discreet.testing import SeededBits

MECHANISMS = {
    "exponential": discreet.mechanisms.ExponentialMechanism,
    "permute-and-flip": discreet.mechanisms.PermuteAndFlip,
    "laplace": lambda **words: discreet.mechanisms.ReportNoisyMax(noise="laplace", **words),
}
everywhere = pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)


def distances_of(scores, rate, *, smallest=False):
    """The distances behind the best that the samplers see."""
    read = read_candidates(scores)
    return measure(
        read.scores,
        read.low,
        read.high,
        fmpq(rate.numerator, rate.denominator) / read.unit,
        smallest=smallest,
    )


def exact_distances(scores, rate, *, smallest=False):
    distances = distances_of(scores, rate, smallest=smallest)
    return [
        Fraction(int(each.p), int(each.q)) for each in map(distances.exact, range(distances.size))
    ]


class TestSoftmaxOverflow:
    """Softmax without shifting: a best count of 1419 answered, 1420 raised, so one row decided
    whether there was an answer.
    """

    @everywhere
    @pytest.mark.parametrize("best", [1419, 1420, 10**6, 10**18, 1419.0, 1420.0, 1e15])
    def test_no_count_is_too_large(self, make, best):
        mechanism = make(epsilon=1, sensitivity=1)
        found = mechanism.probabilities([best, best - 1, 0])
        assert np.isfinite(found).all()
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert mechanism.select([best, best - 1, 0]) in (0, 1)

    def test_all_probabilities_below_the_smallest_float_do_not_vanish_together(self):
        # unshifted, each of these would be exp(-10^6 / 2), which is 0, and their sum 0 / 0
        assert (
            discreet.mechanisms.ExponentialMechanism(epsilon=1, sensitivity=1)
            .probabilities([-(10**6)] * 4)
            .tolist()
            == [0.25] * 4
        )


class TestNobodyIsImpossible:
    """Losers 800 noise scales behind had probability exactly 0, so that their winning named the
    data set.
    """

    @everywhere
    @pytest.mark.parametrize("gap", [800, 20_000, 10**9])
    def test_the_log_probability_is_finite_and_right(self, make, gap):
        log_probability = make(epsilon=1, sensitivity=1, monotonic=True).log_probabilities(
            [gap, 0]
        )[1]
        # every law is e^-gap up to a polynomial factor
        assert -gap - math.log(4) <= log_probability <= -gap + math.log(2 + gap)

    @pytest.mark.parametrize("gap", [800, 10**9, 10**400])
    def test_the_sampler_can_propose_and_keep_everyone(self, gap):
        assert exact_distances([gap, 0], Fraction(1)) == [0, gap]
        assert (
            np.diff(Envelope(distances_of([gap, 0], Fraction(1)))._cumulative_weights(0)).min() > 0
        )


class TestScoresCastToFloat:
    """2^60 + 128 against 2^60 + 129: cast to float64 they lie 256 apart, a certified loss of 5.07
    where 1 was claimed.
    """

    low, high = 2**60 + 128, 2**60 + 129

    @loop_over(
        "make",
        [
            list,
            np.array,
            lambda scores: np.array(scores, dtype=np.uint64),
            lambda scores: np.array(scores, dtype=object),
            lambda scores: np.array(scores, dtype=">i8"),
            lambda scores: pd.Series(scores),
            lambda scores: pd.Series(scores, dtype="Int64"),
            lambda scores: pl.Series(scores),
            lambda scores: dict(zip("ab", scores, strict=True)),
        ],
        ids=[
            "list",
            "int64",
            "uint64",
            "object",
            "big-endian",
            "pandas",
            "nullable",
            "polars",
            "mapping",
        ],
    )
    def test_the_distance_is_exact_in_every_container(self, make):
        assert exact_distances(make([self.low, self.high]), Fraction(1, 2)) == [Fraction(1, 2), 0]

    @everywhere
    def test_the_odds_are_those_of_zero_and_one(self, make):
        mechanism = make(epsilon=1, sensitivity=1)
        assert (
            mechanism.probabilities([self.low, self.high]).tolist()
            == mechanism.probabilities([0, 1]).tolist()
        )

    def test_one_row_costs_no_more_than_epsilon(self):
        # the neighbours of the attack, exactly: the log-odds move by rate * 1 and no more
        before, after = (
            exact_distances([self.low, score], Fraction(1)) for score in (self.low, self.high)
        )
        assert max(abs(one - other) for one, other in zip(before, after, strict=True)) == 1

    def test_integers_beside_a_float_are_not_cast(self):
        assert exact_distances([self.high, self.low, 0.5], Fraction(1)) == [
            0,
            1,
            self.high - Fraction(1, 2),
        ]


class TestNoiseSwallowedByLargeScores:
    """Gumbel noise added to scores near 1e17: the better candidate won 2% instead of 62% of the
    time.
    """

    scores = (10**17, 10**17 + 1)

    def test_the_better_one_wins_62_percent(self):
        found = discreet.mechanisms.ExponentialMechanism(epsilon=1, sensitivity=1).probabilities(
            self.scores
        )
        assert found.tolist() == pytest.approx(
            [1 / (1 + math.exp(0.5)), 1 / (1 + math.exp(-0.5))], rel=1e-15
        )

    @everywhere
    def test_draws_are_the_ones_of_zero_and_one(self, make):
        mechanism = make(epsilon=1, sensitivity=1)
        near, far = (
            mechanism.select_many(scores, draws=200, bits=SeededBits(4)).tolist()
            for scores in ((0, 1), self.scores)
        )
        assert near == far
        assert 100 < sum(far) < 160  # 62% of 200, within five standard deviations

    def test_floats_there_are_refused(self):
        with pytest.raises(
            discreet.errors.ScoresError, match="precise enough to show what one person changes"
        ):
            discreet.select([1e17, 1e17 + 16], epsilon=1, sensitivity=1)


class TestSumsInSinglePrecision:
    """float32 cumulative sums over 1e7 candidates: a tail mass of 0.5 or 0 where the truth is
    0.2.
    """

    @pytest.mark.parametrize("kind", [np.float32, np.uint8])
    def test_the_last_fifth_has_a_fifth_of_the_mass(self, kind):
        envelope = Envelope(distances_of(np.zeros(10_000_000, dtype=kind), Fraction(1)))
        masses = envelope._masses
        first = 8_000_000 // _BLOCK
        tail = Fraction(int(masses[first:].sum()), int(masses.sum()))
        assert abs(tail - Fraction(10_000_000 - first * _BLOCK, 10_000_000)) < Fraction(1, 10**6)

    def test_small_masses_after_a_large_one_are_not_lost(self):
        # one clear winner, then a million candidates 12 noise scales behind: together e^-12
        # * 10^6 = 6.1 times its mass
        scores = np.full(1_000_001, -12.0, dtype=np.float32)
        scores[0] = 0
        found = discreet.mechanisms.ExponentialMechanism(epsilon=1, score_range=1).probabilities(
            scores
        )
        assert found[1:].sum() == pytest.approx(10**6 / (10**6 + math.exp(12)), rel=1e-12)
        winners = discreet.mechanisms.ExponentialMechanism(epsilon=1, score_range=1).select_many(
            scores, draws=300, bits=SeededBits(2)
        )
        assert 225 < np.count_nonzero(winners) < 290  # 86% of 300, within five standard deviations

    @everywhere
    def test_float32_scores_have_the_odds_of_their_exact_values(self, make):
        scores = np.array([0.1, 0.7, 0.3], dtype=np.float32)
        mechanism = make(epsilon=3, sensitivity=1)
        assert (
            mechanism.probabilities(scores).tolist()
            == mechanism.probabilities(scores.astype(np.float64)).tolist()
        )


class TestNotANumber:
    """An epsilon or a sensitivity of NaN was accepted and gave a deterministic argmax; one NaN
    score won every time.
    """

    @pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
    @pytest.mark.parametrize("value", [float("nan"), np.float32("nan"), float("inf")], ids=repr)
    @everywhere
    def test_a_parameter_is_refused(self, make, name, value):
        with pytest.raises(
            discreet.ParameterError, match=rf"'{name}' parameter of \w+ must be a finite number"
        ):
            make(**({"epsilon": 1, "sensitivity": 1} | {name: value}))

    @pytest.mark.parametrize("call", ["select", "release", "probabilities", "log_probabilities"])
    @pytest.mark.parametrize("place", [0, 1, 2])
    @everywhere
    def test_one_score_is_refused(self, make, place, call):
        scores = [1.0, 2.0]
        scores.insert(place, float("nan"))
        with pytest.raises(discreet.errors.ScoresError, match="must be finite"):
            getattr(make(epsilon=1, sensitivity=1), call)(np.array(scores))


class TestNarrowIntegers:
    """uint8 and int8 scores: differences wrapped around, and the worst candidate won every time."""

    @loop_over("objective", ["max", "min"])
    @loop_over(
        "kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
    )
    def test_distances_between_the_extremes_do_not_wrap(self, kind, objective):
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        scores = np.array([low, high, low + 1], dtype=kind)
        smallest = objective == "min"
        best = low if smallest else high
        exact = exact_distances(scores, Fraction(1, 1000), smallest=smallest)
        assert exact == [Fraction(abs(best - score), 1000) for score in (low, high, low + 1)]
        estimates = np.empty(3)
        distances_of(scores, Fraction(1, 1000), smallest=smallest).estimate(0, 3, estimates)
        assert np.argmin(estimates) == (0 if objective == "min" else 1)

    @everywhere
    @pytest.mark.parametrize("objective", ["max", "min"])
    @pytest.mark.parametrize("kind", [np.int8, np.uint8])
    def test_the_distribution_is_that_of_the_integers(self, make, kind, objective):
        limits = np.iinfo(kind)
        scores = [int(limits.min), int(limits.max), 3]
        mechanism = make(epsilon=0.1, sensitivity=1, objective=objective)
        assert (
            mechanism.probabilities(np.array(scores, dtype=kind)).tolist()
            == mechanism.probabilities(scores).tolist()
        )
        assert mechanism.probabilities(scores).argmax() == (1 if objective == "max" else 0)


class TestPredictableRandomness:
    """A seedable global generator: every forked worker drew the same numbers, and a known seed
    gave the noise away.
    """

    def test_global_seeds_have_no_influence(self):
        drawn = set()
        for _ in range(3):
            random.seed(0)
            np.random.seed(0)
            drawn.add(
                tuple(
                    discreet.mechanisms.PermuteAndFlip(epsilon=1, sensitivity=1)
                    .select_many([0] * 1000, draws=20)
                    .tolist()
                )
            )
        assert len(drawn) == 3

    def test_global_generators_are_not_used_up(self):
        random.seed(0)
        before = random.getstate()
        discreet.select([1, 2], epsilon=1, sensitivity=1)
        assert random.getstate() == before

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no fork here")
    def test_forked_workers_draw_different_numbers(self):
        code = (
            "import multiprocessing, os, numpy, random, discreet\n"
            "numpy.random.seed(0); random.seed(0)\n"
            "mechanism = discreet.mechanisms.ExponentialMechanism(epsilon=1, sensitivity=1)\n"
            "mechanism.select([0, 1])\n"
            "def work(_): return tuple(mechanism.select_many([0] * 1000, draws=20).tolist())\n"
            "with multiprocessing.get_context('fork').Pool(4) as pool:\n"
            "    print(len(set(pool.map(work, range(12), chunksize=1))))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.strip() == "12"

    def test_what_one_call_fetched_is_not_used_by_the_next(self):
        fetched = []

        class Counting(discreet.mechanisms.SystemBits):
            def draw(self, count):
                fetched.append(count)
                return super().draw(count)

        for _ in range(5):
            discreet.select([0, 1], epsilon=1, sensitivity=1, bits=Counting())
        assert len(fetched) >= 5


FLAT = np.zeros(3000)
SHAPES = {
    "flat": FLAT,
    "peaked": np.r_[1000.0, FLAT[1:]],
    "steps": np.arange(3000) / 10,
    "normal": np.random.default_rng(1).normal(size=3000) * 5,
}


class TestEffortTellsAboutScores:
    """An exact rejection sampler took 45 to 73 times longer for flat than for peaked scores;
    neighbours differed, too.

    Counted, not timed, so that the result does not depend on the machine: random bits, which
    every exact step needs.
    """

    @staticmethod
    def bits_used(make, scores):
        used = []

        class Counting(SeededBits):
            def draw(self, count):
                used.append(count)
                return super().draw(count)

        make(epsilon=1, sensitivity=1).select_many(scores, draws=1000, bits=Counting(1))
        return sum(used)

    @pytest.mark.parametrize(
        "make", [discreet.mechanisms.ExponentialMechanism, discreet.mechanisms.PermuteAndFlip]
    )
    def test_flat_and_peaked_scores_take_the_same_effort(self, make):
        flat, peaked = (self.bits_used(make, SHAPES[name]) for name in ("flat", "peaked"))
        assert max(flat, peaked) < 1.5 * min(flat, peaked)

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize(
        "make", [discreet.mechanisms.ExponentialMechanism, discreet.mechanisms.PermuteAndFlip]
    )
    def test_neighbours_take_the_same_effort(self, make, shape):
        neighbour = SHAPES[shape].copy()
        neighbour[neighbour.argmax()] += 1
        one, other = self.bits_used(make, SHAPES[shape]), self.bits_used(make, neighbour)
        # over 12 seeds, 1,000 draws from the same scores had a standard deviation of 0.7 to 3.3%
        assert max(one, other) < 1.25 * min(one, other)


class TestErrorTexts:
    """Error texts printed raw scores, probabilities and the random draw."""

    @pytest.mark.parametrize(
        "scores",
        [
            [918273.5, float("nan")],
            [918273.5, "x"],
            np.array([[918273.5]]),
            np.array([918273.5, None], dtype=object),
            pd.Series([918273.5, 1], index=["a", "a"]),
            {"a": 918273.5, None: 1},
            [9182735e20, 1.0],
        ],
        ids=["nan", "text", "table", "object", "duplicate", "null label", "coarse"],
    )
    @everywhere
    def test_no_text_of_an_error_shows_a_score(self, make, scores):
        with pytest.raises(discreet.errors.ScoresError, match="The 'scores' of") as caught:
            make(epsilon=1, sensitivity=1).select(scores)
        assert "9182" not in "".join(traceback.format_exception(caught.value))

    @everywhere
    def test_no_text_of_a_mechanism_shows_scores_or_bits(self, make):
        mechanism = make(epsilon=1, sensitivity=1)
        mechanism.select([918273, 918274], bits=SeededBits(918273))
        assert "9182" not in repr(mechanism)


class TestImpossibleCounts:
    """k = -1 in a top-k was accepted and released the full ranking."""

    @everywhere
    @pytest.mark.parametrize("draws", [0, -1, -(10**9)])
    def test_a_number_of_draws_is_at_least_one(self, make, draws):
        with pytest.raises(
            discreet.ParameterError,
            match=rf"'draws' parameter of \w+ must be at least 1\. Got {draws}\.",
        ):
            make(epsilon=1, sensitivity=1).select_many([1, 2], draws=draws)

    @everywhere
    @pytest.mark.parametrize("draws", [True, 1.0, "1", None], ids=repr)
    def test_a_number_of_draws_is_a_whole_number(self, make, draws):
        with pytest.raises(
            discreet.errors.ParameterTypeError,
            match=r"'draws' parameter of \w+ must be a whole number\. Got",
        ):
            make(epsilon=1, sensitivity=1).select_many([1, 2], draws=draws)


def test_a_noisy_score_is_never_released():
    """Noisy scores and gaps released as floats named the data set in 75% of single releases:
    only who won comes out.
    """
    for name in ("gumbel-noise", "exponential-noise", "laplace-noise"):
        release = discreet.select([0.1, 0.7], epsilon=1, sensitivity=1, mechanism=name)
        assert type(release.value) is int
        assert release.value in (0, 1)
