"""Whole numbers, boxes, intervals and the whole lattice: the real code on every random tape, and
the loss by brute force.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from flint import arb, fmpq
from reference.tapes import distribution
from reference.with_data import on_lattice, on_pieces
from tiers import also

import discreet
from discreet.exact.enclosures import ball
from discreet.mechanisms.bounded_laplace import BoundedDiscreteLaplace, largest_rate
from discreet.mechanisms.interval import IntervalExponentialMechanism
from discreet.samplers.lattice import draw_lattice
from discreet.testing import SeededBits

TINY = arb(2) ** -60


pytestmark = pytest.mark.usefixtures("high_precision")


def law_in_box(center, low, high, rate):
    odds = [(-ball(rate) * abs(y - center)).exp() for y in range(low, high + 1)]
    total = sum(odds, arb(0))
    return [part / total for part in odds]


class TestBounds:
    @pytest.mark.parametrize(
        "epsilon", [*also(Fraction(1, 10)), Fraction(1), *also(Fraction(5))], ids=str
    )
    @pytest.mark.parametrize("sensitivity", [1, *also(2), 3, *also(7)])
    @pytest.mark.parametrize("width", [1, *also(2), 5, *also(9)])
    def test_the_rate_is_private_and_hardly_any_larger_one_is(self, width, sensitivity, epsilon):
        def worst(rate):
            laws = [law_in_box(center, 0, width, rate) for center in range(width + 1)]
            near = (
                (one, two)
                for one, two in itertools.permutations(range(width + 1), 2)
                if abs(one - two) <= sensitivity
            )
            return max(
                (a / b).log()
                for one, two in near
                for a, b in zip(laws[one], laws[two], strict=True)
            )

        mechanism = BoundedDiscreteLaplace(
            epsilon=epsilon, sensitivity=sensitivity, bounds=(0, width)
        )
        rate = mechanism.rate
        assert worst(rate) <= ball(epsilon) + TINY
        if mechanism.gain < 2 * (1 - Fraction(1, 10**9)):
            assert worst(rate * (1 + Fraction(1, 10**9))) > ball(epsilon)

    @pytest.mark.parametrize("epsilon", [Fraction(1, 2), *also(Fraction(2))], ids=str)
    @pytest.mark.parametrize("sensitivity", [*also(1), 2, *also(3)])
    @pytest.mark.parametrize("widths", [(2, 2), (1, 3), (1, 2, 2)], ids=str)
    def test_boxes_are_private(self, widths, sensitivity, epsilon):
        rate = largest_rate(epsilon, sensitivity, widths)
        laws = [
            [law_in_box(center, 0, width, rate) for center in range(width + 1)] for width in widths
        ]
        centers = list(itertools.product(*(range(width + 1) for width in widths)))
        for one, two in itertools.product(centers, centers):
            if sum(abs(a - b) for a, b in zip(one, two, strict=True)) > sensitivity:
                continue
            parts = [
                max((a / b).log() for a, b in zip(law[here], law[there], strict=True))
                for law, here, there in zip(laws, one, two, strict=True)
            ]
            assert sum(parts, arb(0)) <= ball(epsilon) + TINY

    def test_without_the_certified_rate_the_factor_two_would_be_needed(self):
        """At rate epsilon / sensitivity, which is right without bounds, somebody at a bound loses
        more than epsilon.
        """
        laws = [law_in_box(center, 0, 9, Fraction(1)) for center in (0, 1)]
        assert max((a / b).log() for a, b in zip(*laws, strict=True)) > 1.2


class TestLattice:
    @pytest.mark.parametrize(
        "slopes", [(1, 1), (2, 1), (1, 3), (Fraction(3, 2), Fraction(4, 3))], ids=str
    )
    def test_all_whole_numbers_have_their_odds(self, slopes):
        right, left = (
            fmpq(Fraction(slope).numerator, Fraction(slope).denominator) for slope in slopes
        )
        sides = (lambda steps: steps * right, lambda steps: steps * left)
        reached, rest = distribution(lambda tape: draw_lattice(sides, tape), 3e-5)
        assert rest < 0.1
        total = 1 / (1 - (-arb(right)).exp()) + (-arb(left)).exp() / (1 - (-arb(left)).exp())
        for number in range(-8, 9):
            ideal = (-arb(number * right if number >= 0 else -number * left)).exp() / total
            assert reached[number] <= ideal + TINY
            assert ideal <= reached[number] + rest + TINY

    @pytest.mark.parametrize("best", [0, 1, -1, 1000, -(10**30)])
    def test_the_best_is_found_from_anywhere(self, best):
        mechanism = on_lattice(lambda y: -abs(y - best), epsilon=60, sensitivity=1, start=7)
        assert abs(mechanism.select(bits=SeededBits(1)) - best) <= 1

    @pytest.mark.parametrize(
        "score", [lambda y: 0, lambda y: y, lambda y: min(y, 5), lambda y: -max(y, 5)]
    )
    def test_odds_without_a_finite_sum_are_refused(self, score):
        with pytest.raises(
            discreet.errors.ScoresError,
            match=r"The 'score' of LatticeExponentialMechanism must fall on both sides\. Got one "
            r"that does not fall, or not by one noise scale within 2\^512 numbers\. Give bounds, "
            r"or a score that falls with distance",
        ):
            on_lattice(score, epsilon=1, sensitivity=1).select()
        with pytest.raises(
            discreet.errors.ScoresError,
            match=r"The 'score' of LatticeExponentialMechanism must fall on both sides\. Got one "
            r"that does not fall, or not by one noise scale within 2\^512 numbers\. Give bounds, "
            r"or a score that falls with distance",
        ):
            on_lattice(score, epsilon=1, sensitivity=1).log_probability(0)

    def test_a_score_that_is_seen_not_to_be_concave(self):
        with pytest.raises(discreet.errors.ScoresError, match="must be concave"):
            on_lattice(lambda y: -(abs(y) ** 0.5), epsilon=1, sensitivity=1, start=100).select()

    @pytest.mark.parametrize("value", [None, "1", float("nan"), float("inf"), True, 1j])
    def test_scores_that_are_no_numbers(self, value):
        with pytest.raises(discreet.errors.ScoresError):
            on_lattice(lambda y: value, epsilon=1, sensitivity=1).select()

    @pytest.mark.parametrize("score", [3, 37.25, None, [37.25]], ids=str)
    def test_a_score_that_is_no_function_is_not_shown(self, score):
        rule = "The 'score' parameter of LatticeExponentialMechanism must be a function"
        for call in ("select", "release"):
            with pytest.raises(discreet.errors.ParameterTypeError, match=rule) as wrong:
                getattr(on_lattice(score, epsilon=1, sensitivity=1), call)()
            assert "3" not in str(wrong.value)

    def test_release(self):
        release = on_lattice(lambda y: -abs(y), epsilon=1, sensitivity=1).release(
            bits=SeededBits(1)
        )
        assert (release.loss, release.mechanism, release.candidates, release.seeded) == (
            discreet.BoundedRange(1),
            "lattice-exponential",
            None,
            True,
        )


class TestIntervals:
    def test_a_million_million_points(self):
        mechanism = on_pieces([0, 10**6, 10**6 + 1, 10**12], epsilon=1, sensitivity=1, step=1)
        assert mechanism.select([0, 100, 0], bits=SeededBits(1)) == 10**6

    def test_the_smallest_score_can_be_best(self):
        mechanism = on_pieces([0, 1, 2], epsilon=10, sensitivity=1, objective="min")
        assert 1 <= mechanism.select([50, 3], bits=SeededBits(1)) < 2

    @pytest.mark.parametrize("step", [None, 1, 0.3])
    def test_the_grid_does_not_depend_on_what_is_between(self, step):
        """Breakpoints are values of persons: one more of them may change the score, but not where
        answers can be.
        """
        given = {"epsilon": 1, "sensitivity": 1, "step": step}
        one, other = (on_pieces(edges, **given) for edges in ([0, 4, 9], [0, 4, 4, 4.123, 9]))
        assert one.release([1, 2]).candidates == other.release([1, 5, 2, 2]).candidates
        assert repr(one) == repr(other)

    def test_points_between_breakpoints_that_are_not_on_the_grid(self):
        mechanism = on_pieces([0, 0.7, 0.7, 0.9, 2.5], epsilon=1, score_range=1, step=1)
        reached, rest = distribution(lambda tape: mechanism.draw([1, 50, 70, 0], tape), 1e-7)
        assert rest < 1e-3
        odds = {0: ball(1).exp(), 1: arb(1), 2: arb(1)}  # 50 and 70 belong to no point
        total = sum(odds.values(), arb(0))
        assert set(reached) == set(odds)
        for point, part in odds.items():
            assert reached[point] <= part / total + TINY
            assert part / total <= reached[point] + rest + TINY

    def test_as_many_scores_as_pieces(self):
        made = on_pieces([0, 1, 3], epsilon=1, sensitivity=1, step=1)
        for call in (made.select, lambda scores: made.log_probability(0, scores)):
            with pytest.raises(
                discreet.errors.ScoresError,
                match="one more than the breakpoints: one for each piece",
            ):
                call([1, 2, 3])


class TestDiscreteLaplace:
    def test_the_error_bound_is_the_exact_tail(self):
        for epsilon, beta in itertools.product(
            [Fraction(1, 3), Fraction(2)], [Fraction(1, 20), Fraction(1, 2)]
        ):
            mechanism = discreet.mechanisms.DiscreteLaplace(epsilon=epsilon, sensitivity=1)
            bound = mechanism.error_bound(beta)
            x = (-ball(epsilon)).exp()

            def tail(size, x=x):
                return 2 * x ** (size + 1) / (1 + x)

            assert tail(bound) <= ball(beta)
            assert bound == 0 or tail(bound - 1) > ball(beta)

    @pytest.mark.parametrize("value", [1.5, "1", None, True, [1, 2.5], [True]])
    def test_only_whole_numbers(self, value):
        with pytest.raises(
            discreet.errors.ScoresError, match="must be a whole number, or a list of them"
        ):
            discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=1).release(value)

    @pytest.mark.parametrize("sensitivity", [0, -1, 0.5, True])
    def test_bounded_noise_needs_a_whole_sensitivity(self, sensitivity):
        with pytest.raises(discreet.ParameterError, match="The 'sensitivity' parameter"):
            BoundedDiscreteLaplace(epsilon=1, sensitivity=sensitivity, bounds=(0, 5))

    def test_vectors_stay_in_their_boxes(self):
        mechanism = BoundedDiscreteLaplace(epsilon=0.01, sensitivity=1, bounds=[(0, 1), (-5, 5)])
        for seed in range(50):
            first, second = mechanism.release([9, 0], bits=SeededBits(seed)).value
            assert 0 <= first <= 1
            assert -5 <= second <= 5


class TestExtremes:
    """Nothing that somebody may ask for ends in an error of Python's own."""

    @pytest.mark.parametrize(
        "scores",
        [[1e-300, 1.0], [1e308, 1e-308], [Fraction(10) ** 400, 0], [0, -(10**400)]],
        ids=str,
    )
    def test_scores_of_any_size(self, scores):
        """Also where a distance, in the unit that all scores have, is more than a float can be."""
        mechanism = on_pieces([0, 1, 2], epsilon=1, score_range=Fraction(10) ** 500, step=1)
        assert mechanism.select(scores, bits=SeededBits(1)) in (0, 1)

    def test_floats_that_cannot_show_a_person(self):
        mechanism = on_pieces([0, 1, 2], epsilon=1, sensitivity=1, step=1)
        with pytest.raises(
            discreet.errors.ScoresError,
            match="must be precise enough to show what one person changes",
        ):
            mechanism.select([1e17, 0.0])

    def test_bounds_beyond_floats(self):
        with pytest.raises(discreet.ParameterError, match=r"'bounds' .* at most 1e\+300 from zero"):
            on_pieces([0, Fraction(10) ** 400], epsilon=1, sensitivity=1)

    @pytest.mark.parametrize("outside", [[-5, 1, 10**400], [1, 3, 3.5], [-1, -1, 1]], ids=range(3))
    def test_breakpoints_outside_of_the_bounds_are_at_the_nearest_one(self, outside):
        """They may be persons' values: a refusal would tell that somebody is there."""
        inside = [min(max(edge, 0), 3) for edge in outside]
        made = IntervalExponentialMechanism(bounds=(0, 3), epsilon=1, sensitivity=1, step=0.5)
        for output in (0, 0.5, 2.5):
            one, other = (
                made.log_probability(output, [1, 2, 0, 7], edges) for edges in (outside, inside)
            )
            assert one == other
        assert 0 <= made.select([1, 2, 0, 7], outside) < 3

    @pytest.mark.parametrize("numbers", [0, -3])
    def test_a_bound_for_no_numbers(self, numbers):
        with pytest.raises(
            discreet.ParameterError, match="The 'numbers' parameter of DiscreteLaplace"
        ):
            discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=1).error_bound(
                0.05, numbers=numbers
            )

    def test_an_array_of_no_dimension_is_a_number(self):
        release = discreet.mechanisms.DiscreteLaplace(epsilon=1, sensitivity=1).release(
            np.array(5), bits=SeededBits(1)
        )
        assert isinstance(release.value, int)

    @pytest.mark.parametrize(
        "epsilon", [Fraction(1, 10**400), Fraction(10**400)], ids=["tiny", "huge"]
    )
    def test_rates_that_no_float_can_be(self, epsilon):
        mechanism = BoundedDiscreteLaplace(
            epsilon=epsilon,
            sensitivity=2,
            bounds=[(0, 9), (0, 5)],
            acknowledge=discreet.NOT_PRIVATE,
        )
        assert 1 <= mechanism.gain <= 2
        assert all(0 <= value <= 9 for value in mechanism.release([3, 4], bits=SeededBits(1)).value)

    @pytest.mark.parametrize(
        ("sensitivity", "bounds", "value"),
        [
            (10**6, [(0, 1), (0, 10**12)], [0, 5]),
            pytest.param(1, (0, 2**2000), 7, marks=pytest.mark.sizes),
            pytest.param(10**400, (0, 10**401), 7, marks=pytest.mark.sizes),
        ],
        ids=["narrow beside wide", "wider than floats", "farther than floats"],
    )
    def test_noise_that_is_wider_than_the_bounds(self, sensitivity, bounds, value):
        """Noise that lies within the bounds once in a million times must not be drawn a million
        times.
        """
        mechanism = BoundedDiscreteLaplace(epsilon=1, sensitivity=sensitivity, bounds=bounds)
        chance = CountingBits(SeededBits(1))
        mechanism.release(value, bits=chance)
        assert chance.draws < 200

    @pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1, 1000)], ids=str)
    def test_numbers_of_a_narrow_box_have_their_odds(self, epsilon):
        mechanism = BoundedDiscreteLaplace(epsilon=epsilon, sensitivity=1, bounds=(0, 3))
        assert mechanism.rate * 3 <= 1
        reached, rest = distribution(lambda tape: mechanism._draw(1, 0, 3, tape), 1e-6)
        assert rest < 0.001
        for number, ideal in enumerate(law_in_box(1, 0, 3, mechanism.rate)):
            assert reached[number] <= ideal + TINY
            assert ideal <= reached[number] + rest + TINY

    @pytest.mark.parametrize(
        "bounds",
        [{}, [], (1, 0), (0, 0), (0,), (0, 1, 2), (0.5, 2), [(0, 1), (1,)], "ab", 7, None],
        ids=str,
    )
    def test_no_bounds(self, bounds):
        with pytest.raises(
            discreet.ParameterError, match="The 'bounds' parameter of BoundedDiscreteLaplace"
        ):
            BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=bounds)

    def test_bounds_in_an_array(self):
        one, two = (
            BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=np.array([[0, 9], [0, 5]]))
            for _ in range(2)
        )
        assert one == two

    @pytest.mark.parametrize(
        "made",
        [
            BoundedDiscreteLaplace(epsilon=0.5, sensitivity=1, bounds=(0, 9)),
            BoundedDiscreteLaplace(epsilon=1, sensitivity=2, bounds=[(0, 9), (0, 5)]),
            discreet.mechanisms.DiscreteLaplace(epsilon=0.1, sensitivity=3),
        ],
        ids=repr,
    )
    def test_a_repr_is_what_one_would_write(self, made):
        assert eval(repr(made), vars(discreet) | {type(made).__name__: type(made)}) == made
        assert "Fraction" not in repr(made)

    def test_breakpoints_in_a_series(self):
        made = IntervalExponentialMechanism(bounds=(0, 9), epsilon=1, sensitivity=1, step=1)
        drawn = made.select([0, 90], pd.Series([4]), bits=SeededBits(1))
        assert drawn in range(4, 9)

    def test_a_score_that_overflows(self):
        values = np.array([1, 2, 3], dtype=np.int32)
        mechanism = on_lattice(
            lambda y: -int(np.abs(values - y).sum()), epsilon=1e-9, sensitivity=3
        )
        with pytest.raises(discreet.errors.ScoresError, match="whole numbers of any size"):
            mechanism.select(bits=SeededBits(1))

    def test_messages_tell_nothing_about_breakpoints(self):
        made = IntervalExponentialMechanism(bounds=(0, 9), epsilon=1, sensitivity=1, step=1)
        for odd in (
            ["Ada"],
            pd.Series([37.25, None]),
            np.array([[0, 37.25]]),
            {37.25: 1},
            "37.25",
            37.25,
            [37.25, 3],
        ):
            with pytest.raises(
                discreet.ParameterError, match=r"Got (something else|others)\."
            ) as wrong:
                made.select([1, 2], odd)
            assert wrong.value.__context__ is None
        with pytest.raises(
            discreet.errors.ScoresError, match=r"one for each piece\. Got another number"
        ):
            made.select([1, 2, 3], [4])


class CountingBits:
    """Seeded bits that count how often they are asked."""

    def __init__(self, bits):
        self.bits, self.draws, self.seeded = bits, 0, True

    def draw(self, count):
        self.draws += 1
        return self.bits.draw(count)
