"""The exact laws of whole numbers, boxes, intervals and the lattice: against sums of decimals,
and against the code that draws.
"""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from reference.exact import PRECISION
from reference.tapes import Tape, distribution
from reference.with_data import on_lattice, on_pieces
from tiers import loop_over, more

import discreet
from discreet.mechanisms import bounded_laplace, interval, lattice, whole_noise
from discreet.mechanisms.bounded_laplace import BoundedDiscreteLaplace
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.grid import read_grid
from discreet.samplers.envelope import UNIT, draw_exponential
from discreet.samplers.grid_paths import Paths
from discreet.samplers.grouped_candidates import GroupedCandidates
from discreet.samplers.lattice import _Half
from discreet.testing import SeededBits

EPSILONS = [Fraction(1, 100), Fraction(1), Fraction(7, 2), Fraction(64)]
TINY = 1e-12


@pytest.fixture(autouse=True)
def many_digits():
    """Decimals are another route than flint's balls."""
    with localcontext(Context(prec=120)):
        yield


@pytest.fixture
def every_tape(monkeypatch):
    """The true law of what a release draws: all of its random answers, each with its exact
    probability.
    """

    def run(module, draw, cutoff):
        def on_tape(tape):
            tape.bits = SimpleNamespace(seeded=True)
            monkeypatch.setattr(module, "read_bits", lambda bits: tape)
            drawn = draw()
            return tuple(drawn) if isinstance(drawn, list) else drawn

        return distribution(on_tape, cutoff)

    before, ctx.prec = ctx.prec, PRECISION
    yield run
    ctx.prec = before


def agree(reached, rest, law):
    """Whether all that was reached has its probability by the law, but for the tapes that were
    given up.
    """
    assert rest < 0.1
    for output, found in reached.items():
        ideal = arb(math.exp(law(output)))
        assert found <= ideal + TINY, f"{output} is drawn too often"
        assert ideal <= found + rest + TINY, f"{output} is drawn too rarely"


def decimal(value):
    exact = Fraction(value)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def log_softmax(distances):
    """The logarithms of probabilities with odds exp(-distance), as floats."""
    total = sum((-distance).exp() for distance in distances.values()).ln()
    return {output: float(-distance - total) for output, distance in distances.items()}


class TestDiscreteLaplace:
    @loop_over("epsilon", EPSILONS, ids=str)
    @loop_over("sensitivity", [1, 3, 40])
    def test_one_number(self, epsilon, sensitivity):
        mechanism = DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity)
        rate = decimal(epsilon / sensitivity)
        at_zero = ((1 - (-rate).exp()) / (1 + (-rate).exp())).ln()
        for noise in (0, 1, -1, 5, -(10**9)):
            assert mechanism.log_probability(7 + noise, 7) == float(at_zero - rate * abs(noise))

    def test_several_numbers_are_independent(self):
        mechanism = DiscreteLaplace(epsilon=1, sensitivity=3)
        pairs = [(4, 4), (-1, 5), (9, 2)]
        outputs, values = (np.array(part) for part in zip(*pairs, strict=True))
        alone = sum(mechanism.log_probability(*pair) for pair in pairs)
        assert mechanism.log_probability(outputs, values) == pytest.approx(alone, rel=1e-15)
        assert mechanism.log_probability([], []) == 0

    @loop_over("epsilon", EPSILONS, ids=str)
    @loop_over("sensitivity", [1, 3, 7])
    def test_the_loss_is_attained_and_never_exceeded(self, sensitivity, epsilon):
        mechanism = DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity)
        ratios = [
            mechanism.log_probability(y, 0) - mechanism.log_probability(y, move)
            for y in range(-9, 9)
            for move in range(sensitivity + 1)
        ]
        assert max(ratios) == pytest.approx(float(epsilon))
        assert mechanism.privacy_loss() == discreet.PureDP(epsilon)

    def test_releases_have_this_law(self, every_tape):
        mechanism = DiscreteLaplace(epsilon=3, sensitivity=2)
        reached, rest = every_tape(whole_noise, lambda: mechanism.release(5).value, 1e-7)
        agree(reached, rest, lambda output: mechanism.log_probability(output, 5))

    def test_releases_of_several_numbers_have_this_law(self, every_tape):
        mechanism = DiscreteLaplace(epsilon=4, sensitivity=1)
        reached, rest = every_tape(whole_noise, lambda: mechanism.release([5, 0]).value, 1e-6)
        agree(reached, rest, lambda output: mechanism.log_probability(output, [5, 0]))

    @pytest.mark.parametrize("tenfolds", [300, 900])
    def test_rates_that_no_float_can_stand_for(self, tenfolds):
        large = Fraction(10) ** tenfolds
        tiny = DiscreteLaplace(epsilon=1, sensitivity=large)
        huge = DiscreteLaplace(epsilon=large, sensitivity=1, acknowledge=discreet.NOT_PRIVATE)
        assert tiny.log_probability(0, 0) == float(-(decimal(2) * 10**tenfolds).ln())
        assert huge.log_probability(0, 0) == 0


class TestBounds:
    @loop_over("epsilon", EPSILONS, ids=str)
    @loop_over("value", [-9, -2, 0, 3, 50])
    def test_one_number(self, value, epsilon):
        mechanism = BoundedDiscreteLaplace(epsilon=epsilon, sensitivity=2, bounds=(-2, 3))
        center = min(max(value, -2), 3)
        law = log_softmax({y: decimal(mechanism.rate) * abs(y - center) for y in range(-2, 4)})
        assert {y: mechanism.log_probability(y, value) for y in law} == law
        assert (
            mechanism.log_probability(-3, value) == mechanism.log_probability(4, value) == -math.inf
        )

    def test_several_numbers_are_independent(self):
        mechanism = BoundedDiscreteLaplace(epsilon=1, sensitivity=1, bounds=[(0, 1), (-2, 3)])
        law = [
            log_softmax({y: decimal(mechanism.rate) * abs(y - 1) for y in range(low, high)})
            for low, high in [(0, 2), (-2, 4)]
        ]
        for first, second in itertools.product(law[0], law[1]):
            expected = law[0][first] + law[1][second]
            assert mechanism.log_probability([first, second], [1, 1]) == pytest.approx(
                expected, rel=1e-15
            )
        assert mechanism.log_probability([0, 4], [1, 1]) == -math.inf

    def test_wide_bounds_are_like_none(self):
        bounded = BoundedDiscreteLaplace(epsilon=1, sensitivity=10, bounds=(-(10**30), 10**30))
        free = DiscreteLaplace(epsilon=bounded.rate, sensitivity=1)
        assert bounded.log_probability(7, 3) == free.log_probability(7, 3)

    @loop_over("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)], ids=str)
    @loop_over("sensitivity", [1, 3, 20])
    @loop_over("bounds", [(0, 1), (-5, 8)], ids=str)
    def test_the_loss_is_nearly_attained_and_never_exceeded(self, bounds, sensitivity, epsilon):
        mechanism = BoundedDiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity, bounds=bounds)
        numbers = range(bounds[0], bounds[1] + 1)
        law = {x: [mechanism.log_probability(y, x) for y in numbers] for x in numbers}
        near = [
            (one, two)
            for one, two in itertools.product(numbers, numbers)
            if abs(one - two) <= sensitivity
        ]
        worst = max(a - b for one, two in near for a, b in zip(law[one], law[two], strict=True))
        assert worst == pytest.approx(float(epsilon), rel=1e-9)
        assert mechanism.privacy_loss() == discreet.PureDP(epsilon)

    @pytest.mark.parametrize("moves", [(1, 1, 1), (2, 1, 0), (3, 0, 0)], ids=str)
    def test_the_loss_of_several_numbers_is_never_exceeded(self, moves):
        """In wide boxes the dearest neighbour moves every number a little: away from its bound
        the sum of the odds grows fastest.
        """
        mechanism = BoundedDiscreteLaplace(epsilon=2, sensitivity=3, bounds=[(0, 40)] * 3)
        ratio = mechanism.log_probability([0, 0, 0], [0, 0, 0]) - mechanism.log_probability(
            [0, 0, 0], moves
        )
        assert ratio <= 2 + TINY
        assert ratio > 1.99 or moves != (1, 1, 1)

    @pytest.mark.parametrize("value", [2, more(-70)])
    def test_releases_have_this_law(self, value, every_tape):
        mechanism = BoundedDiscreteLaplace(epsilon=3, sensitivity=2, bounds=(0, 3))
        reached, rest = every_tape(bounded_laplace, lambda: mechanism.release(value).value, 1e-6)
        assert set(reached) == {0, 1, 2, 3}
        agree(reached, rest, lambda output: mechanism.log_probability(output, value))


def bent(y):
    return -abs(y - 3) - 2 * max(0, y - 5) - max(0, -y) ** 2


def plateau(y):
    return -Fraction(1, 3) * max(0, y - 20) - max(0, 2 - y)


class TestLattice:
    @pytest.mark.parametrize(
        "score", [bent, plateau, lambda y: -((y - 4) ** 2), lambda y: -2 * abs(y) - y], ids=range(4)
    )
    @pytest.mark.parametrize(
        "epsilon", [Fraction(1), more(Fraction(9, 2)), more(Fraction(64))], ids=str
    )
    def test_one_number(self, epsilon, score):
        mechanism = on_lattice(score, epsilon=epsilon, sensitivity=2, start=-11)
        law = log_softmax({y: -decimal(score(y)) * decimal(epsilon / 4) for y in range(-400, 800)})
        for y in (-40, -1, 0, 3, 4, 15, 60):
            assert mechanism.log_probability(y) == law[y]

    def test_a_straight_score_needs_few_scores_however_wide_it_is(self):
        asked = set()

        def score(y):
            asked.add(y)
            return 10**40 - abs(y - 10**30)  # in floats, the best number would be like all others

        mechanism = on_lattice(score, epsilon=1, sensitivity=10**20)
        rate = Decimal(1) / (2 * 10**20)
        at_best = ((1 - (-rate).exp()) / (1 + (-rate).exp())).ln()
        assert mechanism.log_probability(10**30 + 7) == float(at_best - 7 * rate)
        assert len(asked) < 2000

    def test_precision_is_not_changed_while_scores_are_asked_for(self):
        seen = set()

        def score(y):
            seen.add(ctx.prec)
            return -abs(y)

        on_lattice(score, epsilon=1, sensitivity=1).log_probability(2)
        assert seen == {ctx.prec}

    @pytest.mark.parametrize("sensitivity", [1, 5])
    def test_the_loss_is_attained_and_never_exceeded(self, sensitivity):
        """A move of the center moves numbers on both sides of it in opposite directions."""
        one, other = (
            on_lattice(lambda y, x=x: -abs(y - x), epsilon=2, sensitivity=sensitivity)
            for x in (0, sensitivity)
        )
        ratios = [one.log_probability(y) - other.log_probability(y) for y in range(-9, 19)]
        assert max(ratios) - min(ratios) == pytest.approx(2)
        assert one.privacy_loss() == discreet.BoundedRange(2)

    @pytest.mark.parametrize("monotonic", [False, True])
    def test_draws_have_this_law(self, monotonic, every_tape):
        def score(y):
            return -3 * max(0, y - 2) - 2 * max(0, 2 - y)

        mechanism = on_lattice(
            score, epsilon=2, sensitivity=1 + monotonic, monotonic=monotonic, start=9
        )
        reached, rest = every_tape(lattice, mechanism.select, 1e-4)
        agree(reached, rest, mechanism.log_probability)

    def test_draws_of_large_scores_have_this_law(self):
        mechanism = on_lattice(lambda y: 10**40 - abs(y), epsilon=60, sensitivity=1, start=3)
        assert {mechanism.select(bits=SeededBits(seed)) for seed in range(20)} == {0}

    @pytest.mark.parametrize("above", [Fraction(-1, 10**9), Fraction(0), Fraction(1, 10**9)])
    def test_the_line_is_met_exactly_whatever_the_parts_are(self, above):
        scores = lattice._Scores(abs)
        line = (Fraction(-5, 7) * 4 + Fraction(-2, 3) * 3) / 7
        scores._known = {-2: Fraction(-5, 7), 1: line + above, 5: Fraction(-2, 3)}
        if above < 0:
            with pytest.raises(discreet.errors.ScoresError, match="must be concave"):
                scores.watch()
        else:
            scores.watch()

    def test_a_score_that_is_seen_not_to_be_concave(self):
        """Only far from the best number: a draw may never look there."""
        mechanism = on_lattice(lambda y: -min(2 * abs(y), 90 + abs(y)), epsilon=1, sensitivity=1)
        with pytest.raises(discreet.errors.ScoresError, match="must be concave"):
            mechanism.log_probability(0)

    def test_more_bends_than_can_be_added_up(self, monkeypatch):
        monkeypatch.setattr(lattice, "_MOST_STRETCHES", 100)
        on_lattice(lambda y: -y * y, epsilon=1, sensitivity=20).log_probability(0)
        with pytest.raises(discreet.errors.ScoresError, match=r"bends that matter\. Got more"):
            on_lattice(lambda y: -y * y, epsilon=1, sensitivity=2000).log_probability(0)


DISTANCES = [
    lambda steps: fmpq(steps, 3),
    lambda steps: fmpq(5 * steps),
    lambda steps: fmpq(steps * steps, 50),
    lambda steps: fmpq(max(0, steps - 6) + max(0, steps - 9)),
]


class TestSides:
    """One side of the lattice at a time: the proposals of a draw, and the sum of the odds."""

    @loop_over("first", [0, 1])
    @loop_over("distance", DISTANCES, ids=range(4))
    def test_proposals_come_as_often_as_their_weight_says(self, distance, first):
        half = _Half(distance, first)

        def propose(tape):
            # of many places that are equally likely, only the first and the last one: all
            # others would take too long
            def below(_tape, bound):
                places = sorted({0, bound - 1})
                return tape._answer(lambda: [(fmpq(1, bound), place) for place in places])

            with mock.patch.object(Tape, "below", below):
                return half.propose(tape)

        reached, _ = distribution(propose, 1e-14)
        for (number, numerator, denominator), share in reached.items():
            assert (share * half.total * numerator / denominator).contains(UNIT)
            assert (-arb(distance(number))).exp() * numerator / denominator <= 1 + TINY
        assert (
            max(numerator for _, numerator, _ in reached) >= 16 * UNIT
        )  # two blocks into the tail

    @pytest.mark.parametrize("precision", [4, more(30)])
    @pytest.mark.parametrize("distance", DISTANCES, ids=range(4))
    def test_sums_are_enclosed(self, distance, precision):
        """However short what is summed one by one: the rest is not forgotten."""
        enclosed = lattice._sum_up(distance, lattice._stretches(distance, precision))
        true = sum(
            (-decimal(Fraction(int(part.p), int(part.q)))).exp()
            for part in map(distance, range(1, 1500))
        )
        assert enclosed.lower() <= float(true) + TINY
        assert float(true) - TINY <= enclosed.upper()
        assert enclosed.rad() < 2.0 ** (2 - precision)


class TestIntervals:
    EDGES = (0, 0.7, 0.7, 2.1, 2.2, 4)  # two pieces without a point of the grid of whole numbers

    def test_a_breakpoint_may_be_however_long_it_likes(self):
        """Those between the ends may be persons' values: a refusal would be theirs to decide."""
        edges = (0, Fraction(1, 10**2000), 4)
        mechanism = on_pieces(edges, epsilon=1, sensitivity=1, step=1)
        assert mechanism.select([0, 0]) in range(5)

    @pytest.mark.parametrize(
        "scores",
        [[1, 50, 2, 70, 0], [0.1, -50, 0.15, 0.7, -3], [Decimal("0.25"), 9, 3, 9, Fraction(1, 3)]],
        ids=str,
    )
    @pytest.mark.parametrize("objective", ["max", "min"])
    def test_one_point(self, scores, objective):
        mechanism = on_pieces(self.EDGES, epsilon=3, sensitivity=2, step=1, objective=objective)
        sign = -1 if objective == "max" else 1
        at_points = [scores[0], scores[2], scores[2], scores[4]]
        law = log_softmax({y: sign * decimal(score) * 3 / 4 for y, score in enumerate(at_points)})
        for y, expected in law.items():
            for spelled in (y, float(y), np.float64(y), Fraction(y), np.int64(y)):
                assert mechanism.log_probability(spelled, scores) == expected

    def test_points_that_no_float_is(self):
        mechanism = on_pieces([0, Fraction(1, 3), 0.7], epsilon=1, sensitivity=1)
        first = math.ceil(Fraction(2**30 * 10, 21))
        law = {piece: -Fraction(piece, 2) for piece in (0, 1)}
        total = first + (2**30 - first) * (-decimal(law[1])).exp()
        for seed in range(10):
            drawn = mechanism.select([0, 1], bits=SeededBits(seed))
            expected = float(decimal(-law[drawn > Fraction(1, 3)]) - total.ln())
            assert mechanism.log_probability(drawn, [0, 1]) == expected

    def test_a_float_stands_for_all_points_that_are_given_as_it(self):
        """From 2^52 on floats are whole numbers; eight points of the grid are between two of
        them.
        """
        low = 2**52
        mechanism = on_pieces([low, low + 1, low + 2], epsilon=1, score_range=1, step=0.125)
        odds = {
            low + Fraction(place, 8): Decimal(1 if place < 8 else 3).exp() for place in range(16)
        }
        for output in (low, low + 1, low + 2):
            together = sum(part for point, part in odds.items() if float(point) == output)
            assert mechanism.log_probability(float(output), [1, 3]) == pytest.approx(
                float((together / sum(odds.values())).ln())
            )
        assert mechanism.log_probability(low + 1, [1, 3]) == float(
            (odds[low + 1] / sum(odds.values())).ln()
        )

    @pytest.mark.parametrize(
        ("given", "before", "after"),
        [
            ({"sensitivity": 1}, [0, 0, 7], [1, -1, 7]),
            ({"sensitivity": 5}, [0, 0, 7], [5, -5, 7]),
            ({"sensitivity": 5, "monotonic": True}, [0, 0, 7], [5, 0, 7]),
            ({"score_range": 3}, [0, 0, 7], [2, -1, 7]),
        ],
        ids=str,
    )
    def test_the_loss_is_attained(self, given, before, after):
        mechanism = on_pieces([0, 2, 5, 6], epsilon=1.5, step=1, **given)
        ratios = [
            mechanism.log_probability(y, after) - mechanism.log_probability(y, before)
            for y in range(6)
        ]
        assert max(ratios) - min(ratios) == pytest.approx(1.5)
        assert mechanism.privacy_loss() == discreet.BoundedRange(1.5)

    @pytest.mark.parametrize(
        "scores", [[1, 1.05, 1.02], [0, 1, 0.5], [Decimal("0.25"), 0, 2]], ids=str
    )
    def test_draws_have_this_law(self, scores, every_tape):
        """Also where two pieces are so near each other that they are on one level."""
        mechanism = on_pieces([0, 1, 3, 4.5], epsilon=2, sensitivity=1, step=0.5)
        reached, rest = every_tape(interval, lambda: mechanism.select(scores), 1e-6)
        assert len(reached) == 9
        agree(reached, rest, lambda output: mechanism.log_probability(output, scores))

    @pytest.mark.parametrize("gap", [600, 10**5, 10**400])
    def test_scores_that_are_far_apart(self, gap):
        mechanism = on_pieces([0, 1, 3], epsilon=1, score_range=1, step=1)
        assert mechanism.log_probability(1, [0, gap]) == -math.log(2)
        assert mechanism.log_probability(0, [0, gap]) == float(-Decimal(gap) - Decimal(2).ln())

    @loop_over(
        "output",
        [-1, 4, 0.5, 3.0000001, Fraction(1, 3), float("nan"), float("inf"), None, "1", True],
    )
    def test_outputs_that_are_no_points_of_the_grid(self, output):
        mechanism = on_pieces(self.EDGES, epsilon=1, sensitivity=1, step=1)
        with pytest.raises(
            discreet.ParameterError,
            match="The 'output' parameter of IntervalExponentialMechanism must be a ",
        ):
            mechanism.log_probability(output, [0] * 5)


@pytest.mark.parametrize("kind", [np.int64, object])
def test_pieces_are_on_a_level_that_is_not_beyond_their_distance(kind):
    """Eight times the distance is 1 - 2^-54, which the nearest float takes for 1."""
    pieces = GroupedCandidates(
        np.array([1, 1]), np.array([0, 2**54 - 1], dtype=kind), fmpq(1, 2**57)
    )
    reached, rest = distribution(
        lambda tape: pieces.locate(draw_exponential(pieces.envelope(), tape)), 1e-9
    )
    assert set(reached) == {(0, 0), (1, 0)}
    agree(reached, rest, lambda output: -math.log1p(math.exp(-0.125 if output[0] == 0 else 0.125)))


def test_bounds_of_paths_are_above_the_exact_sums():
    """Sums of floats are rounded, now and then down: a bound below the sum would take odds from
    the last points.
    """
    persons = np.arange(0, 200, 7)
    paths = Paths(persons, 200, [50, 31, 69, 50], 1, fmpq(3, 10))
    for place in (1, 2):
        ahead, going_on = paths._ahead[place - 1], paths._ahead[place]
        for start, bound in enumerate(ahead):
            steps = (
                paths._behind(place, persons[start : start + 1])[0]
                + paths._to_go[place]
                - paths._to_go[place - 1][start]
            )
            weights = paths._weights(steps)
            exact = sum(
                Fraction(weights[end]) * Fraction(going_on[end])
                for end in range(start, persons.size)
            )
            assert exact <= Fraction(bound) <= exact * (1 + Fraction(1, 10**9))


def test_points_of_a_grid_start_at_its_lower_bound():
    grid = read_grid((-3, 2), 0.25)
    assert [grid.point(place) for place in (0, 1, 2, grid.size - 1)] == [-3, -2.75, -2.5, 2]
    assert grid.places(np.array([-3, -2.8, -2.75, 0, 2, 9])).tolist() == [0, 0, 1, 12, 20, 20]
