"""The two highest noisy scores, part by part: each decision has exactly the stated odds, and
together they have the law of the gap.
"""

import math
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np
import pytest
from flint import arb, fmpq
from reference.exact import PRECISION
from reference.top_k import decay, gap_cells
from scipy.integrate import quad
from tiers import loop_over

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers import winner_and_gap
from discreet.samplers.distances import measure
from discreet.samplers.envelope import UNIT
from discreet.samplers.shrinking_envelope import ShrinkingEnvelope
from discreet.samplers.winner_and_gap import EXPONENTIAL, GUMBEL, draw_two
from discreet.testing import SeededBits

HAZARDS = {"gumbel": GUMBEL, "exponential": EXPONENTIAL}


class Fixed:
    """A uniform number, or a time, that is known exactly."""

    def __init__(self, value):
        self.value = arb(value)

    def ball(self, _):
        return self.value

    def time(self, _):
        return self.value


class Scripted:
    """A Chance whose uniform numbers and picks are given; a pick beyond the last candidate
    proposes nothing.
    """

    def __init__(self, uniforms, picks):
        self.uniforms, self.picks = iter(uniforms), iter(picks)

    def uniform(self):
        return Fixed(next(self.uniforms))

    def pick(self, cumulative, total):
        return next(self.picks)

    def used_up(self):
        return list(self.uniforms) == [] and list(self.picks) == []


def distances_of(gaps, rate=1):
    scores = np.array([max(gaps) - gap for gap in gaps])
    return measure(scores, int(scores.min()), int(scores.max()), fmpq(rate), smallest=False)


def rate_of_meeting(noise, time, distance):
    """Density over distribution function of a noisy score at -log(time), per unit of time."""
    offset = -math.log(time) + distance
    if noise == "gumbel":
        return math.exp(-offset) / time  # density e^-x exp(-e^-x) over exp(-e^-x)
    return math.exp(-offset) / -math.expm1(-offset) / time


class TestHazards:
    @loop_over("noise", HAZARDS)
    @loop_over("distance", [0.0, 0.3, 2.0, 9.0])
    @loop_over("time", [2.0**-30, 0.3, 0.75, 0.999])
    def test_the_rate_is_density_over_distribution(self, noise, distance, time):
        found = HAZARDS[noise].rate(arb(math.exp(-distance)), arb(time))
        assert float(found.mid()) == pytest.approx(
            rate_of_meeting(noise, time, distance), rel=1e-12
        )

    @pytest.mark.parametrize("distance", [0.0, 0.01, 1.0, 20.0])
    def test_no_rate_is_above_the_one_that_is_proposed_in_a_band(self, distance):
        for start, end, factor in islice(EXPONENTIAL.bands(), 40):
            for time in (start, (start + end) / 2, end):
                # exactly, where the float e^-distance stands for any likelihood up to 1
                likelihood = Fraction(math.exp(-distance))
                assert likelihood / (1 - likelihood * time) <= factor * likelihood

    def test_bands_follow_each_other_and_come_arbitrarily_close_to_one(self):
        bands = list(islice(EXPONENTIAL.bands(), 60))
        assert bands[0][0] == 0
        assert all(before[1] == after[0] for before, after in pairwise(bands))
        assert 1 - bands[-1][1] == Fraction(1, 2**60)

    @loop_over("noise", HAZARDS)
    @loop_over("time", [0.1, 0.6, 0.9])
    @loop_over("distance", [Fraction(0), Fraction(1, 3), Fraction(7)], ids=str)
    def test_a_candidate_is_met_with_exactly_its_rate_over_the_proposed_one(
        self, noise, time, distance
    ):
        rate = rate_of_meeting(noise, time, float(distance))
        proposed = Fraction(rate * 1.3)
        threshold = rate / float(proposed)
        for uniform, expected in ((threshold * (1 - 1e-9), True), (threshold * (1 + 1e-9), False)):
            exact = fmpq(distance.numerator, distance.denominator)
            assert (
                winner_and_gap._is_met(HAZARDS[noise], exact, proposed, Fixed(time), Fixed(uniform))
                is expected
            )


class TestNextArrival:
    """Two candidates, the second five noise scales behind."""

    def envelope(self):
        return ShrinkingEnvelope(distances_of((0, 5)))

    def arrive(self, hazard, chance, after=None, left=None):
        left = left or self.envelope()
        candidate, time = winner_and_gap._next_arrival(hazard, left, after, chance)
        assert chance.used_up()
        return candidate, float(time(64).mid()), UNIT / left.total

    def test_the_first_proposal_that_is_kept(self):
        candidate, time, mean = self.arrive(GUMBEL, Scripted([0.5, 0.9], [0]))
        assert (candidate, time) == (0, pytest.approx(math.log(2) * mean))

    def test_time_goes_on_when_nothing_or_nobody_is_met(self):
        # nothing is proposed, then the second candidate but not kept, then it is
        candidate, time, mean = self.arrive(
            GUMBEL, Scripted([0.5, 0.25, 0.9999, 0.125, 0.01], [2, 1, 1])
        )
        assert (candidate, time) == (1, pytest.approx(math.log(2) * (1 + 2 + 3) * mean))

    def test_who_comes_too_early_does_not_count(self):
        """No coin is flipped for it: the next uniform number is the next gap."""
        candidate, time, mean = self.arrive(
            GUMBEL,
            Scripted([0.5, 0.5, 0.9], [1, 0]),
            after=lambda _: arb(1.5 * math.log(2) * UNIT / self.envelope().total),
        )
        assert (candidate, time) == (0, pytest.approx(2 * math.log(2) * mean))

    def test_a_band_that_ends_is_followed_by_the_next_one(self):
        """From 0 to 1/2 proposals come at twice the weights, from 1/2 to 3/4 at four times; each
        begins anew at its start.
        """
        candidate, time, mean = self.arrive(EXPONENTIAL, Scripted([0.01, 0.9, 0.3], [0]))
        assert candidate == 0
        assert time == pytest.approx(0.5 - math.log(0.9) * mean / 4)

    def test_with_exponential_noise_the_coin_knows_the_time(self):
        """The best candidate at time t in the first band is met with probability 1 / (2 (1 - t))
        of its proposals.
        """
        for uniform, kept in ((0.62, True), (0.64, False)):
            gap = math.exp(-0.2 * 2 * self.envelope().total / UNIT)  # the time is 0.2
            script = Scripted(
                [gap, uniform] + ([] if kept else [0.9999, 0.0001]), [0] if kept else [0, 0]
            )
            candidate, time, _ = self.arrive(EXPONENTIAL, script)
            assert candidate == 0
            assert (time == pytest.approx(0.2)) == kept


class TestDrawTwo:
    @loop_over("noise", HAZARDS)
    @loop_over("gap", [0, 1, 5, 18, 30, 1000])
    @loop_over("third", [0, 7])
    def test_the_gap_is_the_logarithm_of_the_ratio_of_the_two_times(self, noise, gap, third):
        """The best is met first, then the second: times count from the best that is left, which
        is `gap` behind.

        Near enough the envelope keeps its point of view and moves its unit, farther away it looks
        closer; both are the same time.
        """
        distances = distances_of((0, gap, gap + third))
        steps = fmpq(1, 1024)
        first, second, certain = 0.9, 0.7, 1e-9
        fresh = ShrinkingEnvelope(distances)
        early = -math.log(first) / fresh.total
        winner, found = draw_two(
            HAZARDS[noise], distances, steps, Scripted([first, certain, second, certain], [0, 1])
        )
        fresh.propose(Scripted([], [0]))
        fresh.take(0)
        unit = fresh.rebase()
        late = -math.log(second) / fresh.total
        factor = 2 if noise == "exponential" else 1
        # t1 = early * UNIT / factor from the best; t2 = late * unit / factor from the best
        # that is left
        expected = gap + math.log(late * unit / factor) - math.log(early * UNIT / factor)
        assert winner == 0
        assert found == pytest.approx(expected * 1024, abs=1.01)

    def test_proposals_before_the_winner_are_not_the_second(self):
        """Equal candidates: the runner-up that would have come before the winner has to come
        again.
        """
        distances = distances_of((0, 0))
        script = Scripted([0.5, 1e-9, 0.9, 0.9, 0.5, 1e-9], [0, 1, 1, 1])
        winner, steps = draw_two(GUMBEL, distances, fmpq(1, 1000), script)
        assert winner == 0
        assert script.used_up()
        # winner at ln 2 / 2 of a total of 2; then from 0 again: 0.105, 0.21, 0.9 of a total
        # of 1 (and 0.35 is the winner's)
        assert steps == math.floor(
            1000 * math.log((2 * -math.log(0.9) + math.log(2)) / (math.log(2) / 2))
        )

    @pytest.mark.parametrize("noise", HAZARDS)
    def test_a_finer_step_is_the_same_gap_with_more_digits(self, noise):
        for seed in range(60):
            answers = [
                draw_two(
                    HAZARDS[noise],
                    distances_of((0, 1, 3)),
                    fmpq(1, 2**bits),
                    Chance(SeededBits(seed)),
                )
                for bits in (0, 300)
            ]
            assert answers[0] == (answers[1][0], answers[1][1] >> 300)
            assert answers[1][1] >= 0

    @pytest.mark.parametrize("noise", HAZARDS)
    def test_many_candidates_in_several_blocks(self, noise):
        """3,000 candidates: the law of the gap between the best, alone in front, and the crowd is
        known.
        """
        scores = np.zeros(3000, dtype=np.int64)
        scores[1500] = 40
        distances = measure(scores, 0, 40, fmpq(1), smallest=False)
        gaps = []
        for seed in range(60):
            winner, steps = draw_two(HAZARDS[noise], distances, fmpq(1), Chance(SeededBits(seed)))
            assert winner == 1500
            gaps.append(steps)
        # 40 plus one noise minus the largest of 2,999, which is about ln 2999 = 8.0 (plus
        # 0.577 for both kinds)
        mean = {"gumbel": 40 - math.log(2999), "exponential": 41 - math.log(2999) - 0.577}[
            noise
        ] - 0.5
        deviation = math.sqrt({"gumbel": 2, "exponential": 1.61}[noise] * math.pi**2 / 6 / 60)
        assert abs(np.mean(gaps) - mean) < 5 * deviation


@pytest.mark.parametrize("gaps", [(0, 0), (0, 1), (2, 0, 1)], ids=str)
@pytest.mark.parametrize("noise", HAZARDS)
def test_first_and_second_point_of_the_process_have_the_law_of_winner_and_gap(noise, gaps):
    """The rates of the package, integrated numerically: the first point in time and place, and
    how long nobody else comes.
    """
    last = math.exp(min(gaps)) if noise == "exponential" else math.inf
    cells = at_precision(PRECISION, lambda: gap_cells(noise, gaps, 1, 4, decay(Fraction(1))))

    def rate(time, gap):
        return float(HAZARDS[noise].rate(arb(math.exp(-gap)), arb(time)).mid())

    def silent(time, gap):
        """exp(-integral of the rate): nobody at this distance is met up to this time."""
        return (
            math.exp(-time * math.exp(-gap))
            if noise == "gumbel"
            else max(0.0, 1 - time * math.exp(-gap))
        )

    for time, gap in ((0.3, 0), (0.9, 0), (0.5, 1)):  # the closed form belongs to the rate
        assert silent(time, gap) == pytest.approx(
            math.exp(-quad(lambda t, g=gap: rate(t, g), 0, time)[0]), rel=1e-8
        )

    for winner, mine in enumerate(gaps):
        others = [gap for candidate, gap in enumerate(gaps) if candidate != winner]
        for steps in range(3):

            def density(time, mine=mine, others=others, steps=steps):
                later = [
                    math.prod(silent(time * math.exp(more), gap) for gap in others)
                    for more in (steps, steps + 1)
                ]
                return rate(time, mine) * silent(time, mine) * (later[0] - later[1])

            marks = sorted(
                {
                    0.0,
                    *(math.exp(gap - more) for gap in gaps for more in (0, steps, steps + 1)),
                    60.0,
                }
            )
            ends = [mark for mark in marks if mark < last * (1 - 1e-12)] + (
                [last] if noise == "exponential" else []
            )
            total = sum(
                quad(density, a, b * (1 - 1e-13), epsabs=1e-11, limit=200)[0]
                for a, b in pairwise(ends)
            )
            assert total == pytest.approx(float(cells[winner, steps].mid()), abs=1e-7)
