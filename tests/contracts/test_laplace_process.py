"""The Laplace sampler, part by part: each of its random decisions has exactly the stated odds,
and together they are Laplace.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, fmpq
from reference.exact import probabilities
from scipy.integrate import quad

from discreet.mechanisms import ReportNoisyMax
from discreet.samplers import laplace_max
from discreet.samplers.envelope import LIGHTEST, UNIT, Envelope


class Fixed:
    """A uniform number, or a time, that is known exactly."""

    def __init__(self, value):
        self.value = arb(value)

    def ball(self, _):
        return self.value

    def time(self, _):
        return self.value

    def starts_below(self, first_word):
        return bool(self.value < arb(first_word) / 2**64)


def rate_of_meeting(time: float, distance: float) -> float:
    """The reversed hazard of a Laplace variable at -log(time), per unit of time, straight from
    density over distribution.
    """
    offset = -math.log(time) + distance
    density = math.exp(-abs(offset)) / 2
    below = 1 - density if offset > 0 else density
    return density / below / time


@pytest.mark.parametrize(
    "distance", [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(9)], ids=str
)
@pytest.mark.parametrize("time", [2.0**-30, 0.3, 0.999, 1.5, 7.0, 2.0**20])
def test_a_candidate_is_met_with_exactly_its_rate_over_its_weight(time, distance):
    rate = rate_of_meeting(time, float(distance))
    weight = math.ceil(UNIT * min(1.0, rate * 1.25))
    threshold = rate * UNIT / weight
    exact = fmpq(distance.numerator, distance.denominator)
    for uniform, expected in ((threshold * (1 - 1e-9), True), (threshold * (1 + 1e-9), False)):
        if uniform < 1:
            assert laplace_max._is_met(exact, weight, Fixed(time), Fixed(uniform)) is expected


@pytest.mark.parametrize("time", [0.01, 0.5, 1.0, 1.01, 2.0, 3.0, 1000.0])
@pytest.mark.parametrize("distance", [0.0, 0.5, 3.0, 40.0])
def test_the_rate_never_exceeds_the_envelope_of_its_band(time, distance):
    """A proposal's weight must be at least the rate: min(exp(-distance), 2^(1-b)) in band b."""
    band = max(0, math.ceil(math.log2(time)))
    assert rate_of_meeting(time, distance) <= min(math.exp(-distance), 2.0 ** (1 - band)) * (
        1 + 1e-12
    )


def test_the_clock_adds_exponential_gaps_at_the_rate_of_proposals():
    clock = laplace_max._Clock(start=4, total=3 * UNIT)
    clock.gaps += [Fixed(0.5), Fixed(0.25)]
    assert abs(clock.time(64) - (4 - arb(0.125).log() / 3)) < 1e-12


@pytest.mark.parametrize("gaps", [(0, 0), (0, 1), (0, 1, 3), (0, 0, 2, 5)], ids=str)
def test_the_first_candidate_met_is_the_noisy_maximum(gaps):
    """The first point of the process with these rates has the law of the largest noisy score:
    integrated numerically.
    """

    def survival(time: float) -> float:
        return math.prod(
            1 - time * math.exp(-gap) / 2
            if time * math.exp(-gap) <= 1
            else math.exp(gap) / time / 2
            for gap in gaps
        )

    ideal = probabilities("laplace-noise", gaps, Fraction(1))
    for candidate, gap in enumerate(gaps):
        # in the logarithm of time, where the integrand is smooth between the kinks
        marks = [-40.0, -5.0, *sorted({float(gap) for gap in gaps}), 45.0]
        total = sum(
            quad(
                lambda s, d=gap: (
                    rate_of_meeting(math.exp(s), d) * survival(math.exp(s)) * math.exp(s)
                ),
                a,
                b,
                epsabs=1e-13,
            )[0]
            for a, b in pairwise(marks)
        )
        assert total == pytest.approx(float(ideal[candidate].mid()), abs=1e-10)


BANDS = [(0, 2, UNIT), (2, 4, UNIT // 2), (2**20, 2**21, UNIT >> 20)]


def envelope_of(scores, cap) -> Envelope:
    mechanism = ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1, monotonic=True)
    return Envelope(mechanism._distances(mechanism._read(np.array(scores))), cap=cap)


@pytest.mark.parametrize(("start", "end", "cap"), BANDS)
def test_what_is_surely_met_would_be_met(start, end, cap):
    """At any time of the band and any distance within reach: what the first bits settle is what
    the whole comparison says.
    """
    envelope = envelope_of([0.0, *(-np.linspace(0, 19.4, 400))], cap)
    ends = [0, *envelope._cumulative_weights(0).tolist()]
    surely = Fixed(arb(laplace_max._SURELY_MET) / 2**64)
    seen = 0
    for candidate, (before, after) in enumerate(pairwise(ends)):
        for time in np.linspace(max(start, 1e-9), end, 7).tolist():
            if (weight := after - before) > LIGHTEST:
                seen += 1
                exact = envelope.distances.exact(candidate)
                assert laplace_max._is_met(exact, weight, Fixed(time), surely)
    assert seen > 2500


def test_a_candidate_out_of_reach_is_not_surely_met():
    """It has the lightest weight, and odds far below that."""
    envelope = envelope_of([0, -(10**6)], UNIT)
    chance = Scripted([0.9, 0.4, 0.9, 0.4], [1, 0])
    assert laplace_max.draw_laplace_max(envelope, chance) == 0


@pytest.mark.parametrize(("start", "end", "cap"), BANDS)
def test_what_surely_comes_in_time_comes_before_the_end(start, end, cap):
    """Also where nobody but the best has a weight to speak of."""
    word = laplace_max._SURELY_IN_TIME if start else laplace_max._SURELY_EARLY
    clock = laplace_max._Clock(start, envelope_of([0, -(10**6)], cap).total)
    clock.gaps.append(Fixed(arb(word) / 2**64))
    assert start < clock.time(64) < end


class Scripted:
    """A Chance whose uniform numbers and proposals are given, to see which way the sampler goes."""

    def __init__(self, uniforms, picks):
        self.uniforms, self.picks = iter(uniforms), iter(picks)

    def uniform(self):
        return Fixed(next(self.uniforms))

    def pick(self, cumulative, total):
        self.total = total
        return next(self.picks)


def test_bands_double_and_lower_the_cap(monkeypatch):
    """Gaps so long that each band ends empty; the caps that follow are 1, 1/2, 1/4 ... of UNIT,
    from time 0, 2, 4 ...
    """
    seen = []
    original = laplace_max._draw_in_band

    def watched(envelope, start, end, chance):
        seen.append((start, end, envelope._cap))
        return original(envelope, start, end, chance)

    monkeypatch.setattr(laplace_max, "_draw_in_band", watched)
    mechanism = ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1, monotonic=True)
    envelope = Envelope(mechanism._distances(mechanism._read(np.array([5, 0]))))
    long, short, certainly = 1e-30, 0.999999, 1e-9
    chance = Scripted([long] * 3 + [short, certainly], [0])
    assert laplace_max.draw_laplace_max(envelope, chance) == 0
    assert seen == [
        (0, 2, UNIT),
        (2, 4, UNIT // 2),
        (4, 8, UNIT // 4),
        (8, 16, UNIT // 8),
    ]
