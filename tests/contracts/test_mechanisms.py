"""What every selection mechanism promises, checked on every mechanism that the package knows."""

from __future__ import annotations

import inspect
import math
import pickle
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from public_names import PUBLIC
from reference.exact import first_heads_by_permutations, probabilities

import discreet
from discreet.mechanisms.base import SelectionMechanism
from discreet.mechanisms.selection import MECHANISMS, mechanism_class
from discreet.testing import SeededBits

every_mechanism = pytest.mark.parametrize("name", sorted(MECHANISMS))


def test_every_public_mechanism_can_be_selected_by_name():
    public = {
        thing
        for thing in PUBLIC.values()
        if inspect.isclass(thing) and issubclass(thing, SelectionMechanism)
    }
    assert public == {type(mechanism_class(name)(epsilon=1, sensitivity=1)) for name in MECHANISMS}


@every_mechanism
class TestContract:
    def test_probabilities_are_the_reference_to_1e_15(self, name):
        mechanism = mechanism_class(name)(epsilon=1, sensitivity=1)
        for gaps in [(0, 1), (0, 0), (3, 0, 1), (0, 1, 2, 7), (5, 5, 0, 0)]:
            ideal = [float(p.mid()) for p in probabilities(name, gaps, mechanism.rate)]
            assert mechanism.probabilities([9 - gap for gap in gaps]) == pytest.approx(
                ideal, abs=3e-15
            )

    def test_probabilities_sum_to_1_for_many_candidates(self, name):
        mechanism = mechanism_class(name)(epsilon=1, sensitivity=1)
        generator = np.random.default_rng(1)
        for scores in (
            np.zeros(5000),
            generator.integers(0, 50, 5000),
            np.repeat([1000.0, 0.0], [1, 4999]),
        ):
            assert math.fsum(mechanism.probabilities(scores)) == pytest.approx(1, abs=1e-12)

    def test_log_probabilities_do_not_underflow(self, name):
        mechanism = mechanism_class(name)(epsilon=2, sensitivity=1)
        logarithms = mechanism.log_probabilities([0, 10_000])
        assert mechanism.probabilities([0, 10_000])[0] == 0
        assert -10_000 - 1 < logarithms[0] < -10_000 + math.log(10_000)

    def test_the_loss_holds_and_is_attained(self, name):
        """On many pairs of neighbours the log-odds move by at most the stated loss, and on some
        by almost all of it.
        """
        for monotonic, epsilon in product((True, False), (0.1, 1, 3)):
            mechanism = mechanism_class(name)(epsilon=epsilon, sensitivity=1, monotonic=monotonic)
            loss = mechanism.privacy_loss()
            largest, widest = 0.0, 0.0
            for scores in ([0, 0], [0, 10], [0, 60], [3, 2, 1], [0, 0, 50, 50]):
                for move in product((0, 1) if monotonic else (-1, 0, 1), repeat=len(scores)):
                    moved = [score + step for score, step in zip(scores, move, strict=True)]
                    ratios = mechanism.log_probabilities(moved) - mechanism.log_probabilities(
                        scores
                    )
                    largest = max(largest, float(np.abs(ratios).max()))
                    widest = max(widest, float(np.ptp(ratios)))
            assert largest <= float(loss.epsilon) + 1e-9
            assert largest >= 0.9 * float(loss.epsilon)
            if isinstance(loss, discreet.BoundedRange):
                assert widest <= float(loss.epsilon) + 1e-9

    def test_error_bound_holds(self, name):
        """The exact probability of a worse answer is at most the failure probability, for tied,
        spread and hard scores.
        """
        mechanism = mechanism_class(name)(epsilon=1, sensitivity=1)
        for best, others in product((1, 3), (1, 9, 200)):
            for beta in (0.5, 0.05, 0.001):
                bound = mechanism.error_bound(beta, candidates=best + others, best=best)
                for gap in (0.5 * bound, 1.000001 * bound, 2 * bound):
                    chances = mechanism.probabilities(np.repeat([gap, 0.0], [best, others]))
                    if gap > bound:
                        assert chances[best:].sum() <= beta

    def test_expected_error_bound_holds(self, name):
        mechanism = mechanism_class(name)(epsilon=1, sensitivity=1)
        for best, others in product((1, 3), (1, 9, 200)):
            bound = mechanism.expected_error_bound(candidates=best + others, best=best)
            for gap in np.linspace(0, 40, 60):
                chances = mechanism.probabilities(np.repeat([gap, 0.0], [best, others]))
                assert chances[best:].sum() * gap <= bound * (1 + 1e-12)

    def test_one_candidate_is_returned_and_charged(self, name):
        release = discreet.select({"only": -3}, epsilon=1, sensitivity=1, mechanism=name)
        assert (release.value, release.loss.epsilon, release.candidates) == ("only", 1, 1)

    def test_objective_is_what_it_says(self, name):
        for objective, expected in (("max", "high"), ("min", "low")):
            scores = {"middle": 0, "high": 10**6, "low": -(10**6)}
            release = discreet.select(
                scores, epsilon=1, sensitivity=1, mechanism=name, objective=objective
            )
            assert release.value == expected

    def test_seeded_bits_repeat_and_are_marked(self, name):
        mechanism = mechanism_class(name)(epsilon=0.1, sensitivity=1)
        draws = [
            mechanism.select_many(range(20), draws=50, bits=SeededBits(3)).tolist()
            for _ in range(2)
        ]
        assert draws[0] == draws[1]
        assert mechanism.release(range(20), bits=SeededBits(3)).seeded
        assert not mechanism.release(range(20)).seeded

    def test_a_mechanism_is_a_value(self, name):
        mechanism = mechanism_class(name)(epsilon=0.5, sensitivity=1, objective="min")
        assert mechanism == mechanism_class(name)(
            epsilon=Fraction(1, 2), sensitivity=1, objective="min"
        )
        assert mechanism != mechanism_class(name)(epsilon=0.25, sensitivity=1, objective="min")
        assert pickle.loads(pickle.dumps(mechanism)) == mechanism
        assert (
            eval(
                repr(mechanism),
                dict(PUBLIC),
            )
            == mechanism
        )
        with pytest.raises(AttributeError, match="cannot assign to field 'epsilon'"):
            mechanism.epsilon = 2

    def test_range_is_what_is_paid_for(self, name):
        scores = [5, 3, 1]
        by_sensitivity = mechanism_class(name)(epsilon=1, sensitivity=1).probabilities(scores)
        assert (
            mechanism_class(name)(epsilon=1, score_range=2).probabilities(scores) == by_sensitivity
        ).all()
        assert (
            mechanism_class(name)(epsilon=1, sensitivity=2, monotonic=True).probabilities(scores)
            == by_sensitivity
        ).all()
        assert (
            mechanism_class(name)(epsilon=2, sensitivity=2).probabilities(scores) == by_sensitivity
        ).all()


def test_reference_values_of_the_literature():
    """Vectors for epsilon 1, sensitivity 1, checked independently when the design was made."""
    vectors = {
        "permute-and-flip": [
            0.066868106047930,
            0.114358485317350,
            0.201906374881756,
            0.616867033752965,
        ],
        "laplace-noise": [
            0.079458097018920,
            0.138002049498172,
            0.242530168896993,
            0.540009684585914,
        ],
        "exponential": [0.089915073435983, 0.148244894130468, 0.244414510225592, 0.517425522207957],
    }
    for name, expected in vectors.items():
        assert mechanism_class(name)(epsilon=1, sensitivity=1).probabilities(
            [0, 1, 2, 3.5]
        ) == pytest.approx(expected, abs=1e-14)


def test_error_bounds_of_the_source_texts():
    mechanism = discreet.mechanisms.ExponentialMechanism(epsilon=Fraction(1, 2), sensitivity=1)
    # the texts have 4 ln(100 / 0.01) = 36.8, which is not sharp
    assert mechanism.error_bound(candidates=100, failure_probability=0.01) == pytest.approx(
        4 * math.log(99 * 99), abs=1e-12
    )
    # Pricing 200 prices up to 1.99: the text prints about 31 / epsilon, the base-2 logarithm.
    pricing = discreet.mechanisms.ExponentialMechanism(epsilon=1, sensitivity=1.99)
    assert pricing.expected_error_bound(candidates=200) == pytest.approx(12.524623, abs=1e-6)


@pytest.mark.parametrize(("candidates", "best"), [(2, 1), (10, 1), (100, 1), (30, 7), (10**6, 1)])
def test_the_expected_error_bound_is_reached_and_never_below(candidates, best):
    """Others at equal distances, searched with 50 digits, and others at random ones."""
    bound = discreet.mechanisms.ExponentialMechanism(epsilon=1, score_range=1).expected_error_bound(
        candidates=candidates, best=best
    )
    others = candidates - best

    def mean_error(distance):
        weight = others * mpmath.exp(-distance)
        return distance * weight / (best + weight)

    with mpmath.workdps(50):
        worst = mpmath.findroot(lambda x: mpmath.diff(mean_error, x), bound + 1)
        largest = mean_error(worst)
        assert all(mean_error(worst * place / 20) <= largest for place in range(1, 60))
        assert largest <= bound <= largest * (1 + mpmath.mpf(2) ** -50)
    draws = np.random.default_rng(5)
    for _ in range(300):
        distances = draws.exponential(draws.choice([0.3, 1.0, 3.0]) * bound, min(others, 99))
        weights = np.exp(-distances)
        assert (distances * weights).sum() / (best + weights.sum()) <= bound


def test_the_expected_error_bound_is_rounded_up_in_scores_too():
    mechanism = discreet.mechanisms.ExponentialMechanism(
        epsilon=Fraction(1, 3), score_range=Fraction(1, 7)
    )
    scales = Fraction(
        discreet.mechanisms.ExponentialMechanism(epsilon=1, score_range=1).expected_error_bound(
            candidates=100
        )
    )
    bound = Fraction(mechanism.expected_error_bound(candidates=100))
    assert 0 <= bound - scales * Fraction(3, 7) < Fraction(1, 10**14)


def _exactly(number: Fraction | float) -> mpmath.mpf:
    exact = Fraction(number)
    return mpmath.mpf(exact.numerator) / exact.denominator


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_the_lead_bound_is_rounded_down(noise):
    """Also at the edge, where nothing is said, and beyond floats."""
    betas = [Fraction(1, 20), Fraction(1, 3), Fraction(1, 100)]
    with mpmath.workdps(60):
        for epsilon, beta in product([1, Fraction(1, 3), Fraction(7, 10)], betas):
            mechanism = discreet.mechanisms.ReportNoisyMax(
                noise=noise, epsilon=epsilon, sensitivity=1
            )
            edge = -mpmath.log(_exactly(beta)) / _exactly(mechanism.rate)
            near = [float(edge)]
            for _ in range(3):
                near = [math.nextafter(near[0], 0), *near, math.nextafter(near[-1], math.inf)]
            for gap in [*near, 5, 7, Fraction(101, 7), 23, 40, 10**400]:
                bound = mechanism.lead_bound(gap, beta)
                surprise = _exactly(beta) * mpmath.exp(_exactly(gap) * _exactly(mechanism.rate))
                if surprise <= 1:
                    assert bound is None
                elif bound is not None:
                    shown = surprise
                    if noise == "gumbel":
                        shown = (surprise - 1) / (1 - _exactly(beta))
                    assert _exactly(bound) * _exactly(mechanism.rate) <= mpmath.log(shown)


def test_the_error_bound_of_laplace_noise_is_not_rounded_below_the_truth():
    """Of two candidates the worse one wins with just the tail that the bound is made of."""
    with mpmath.workdps(60):
        for epsilon, beta in product(
            [1, 2, Fraction(1, 3), Fraction(7, 10), Fraction(1, 10)],
            [Fraction(2, 5), Fraction(1, 3), Fraction(1, 10), Fraction(1, 20), Fraction(1, 1000)],
        ):
            mechanism = discreet.mechanisms.ReportNoisyMax(
                noise="laplace", epsilon=epsilon, sensitivity=1
            )
            bound = mechanism.error_bound(beta, candidates=2)
            behind = _exactly(math.nextafter(bound, math.inf)) * _exactly(mechanism.rate)
            assert mpmath.exp(-behind) * (2 + behind) / 4 <= _exactly(beta)


def test_permute_and_flip_by_its_own_description():
    heads = [Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 7)]
    by_orders = [float(p) for p in first_heads_by_permutations(heads)]
    scores = [math.log(float(p)) for p in heads]
    mechanism = discreet.mechanisms.PermuteAndFlip(epsilon=1, score_range=1)
    assert mechanism.probabilities(scores) == pytest.approx(by_orders, abs=1e-14)
