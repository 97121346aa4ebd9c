"""Tables of probabilities: exact epsilon and range, and that every private table is an
exponential mechanism.
"""

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from tiers import loop_over

from discreet import BoundedRange, ParameterError, PureDP
from discreet.errors import ParameterTypeError
from discreet.mechanisms import ExponentialMechanism, PermuteAndFlip, mechanism_range


def random_table(seed, data_sets=3, outputs=4):
    """Distributions of rationals, all of them positive."""
    generator = random.Random(seed)
    table = {}
    for data in range(data_sets):
        odds = [generator.randint(1, 50) for _ in range(outputs)]
        table[f"data {data}"] = [Fraction(each, sum(odds)) for each in odds]
    return table


def pairs_of(table):
    return list(itertools.combinations(table, 2))


def by_hand(table, pairs):
    """Epsilon and range with another library, to 50 digits."""
    with mpmath.workdps(50):
        logs = [
            [
                mpmath.log(mpmath.mpf(p.numerator) / p.denominator * q.denominator / q.numerator)
                for p, q in zip(*rows, strict=True)
            ]
            for rows in ([table[name] for name in pair] for pair in pairs)
        ]
        return max(max(map(abs, each)) for each in logs), max(
            max(each) - min(each) for each in logs
        )


class TestNumbers:
    @loop_over("seed", range(20))
    def test_against_another_library_and_rounded_up(self, seed):
        table = random_table(seed)
        found = mechanism_range(table, pairs_of(table))
        for number, exact in zip(
            (found.epsilon, found.range), by_hand(table, pairs_of(table)), strict=True
        ):
            with mpmath.workdps(50):
                above = mpmath.mpf(number.numerator) / number.denominator - exact
                assert 0 <= above < exact * mpmath.mpf("1e-14")
        assert found.epsilon < found.range <= 2 * found.epsilon

    @pytest.mark.parametrize("seed", range(5))
    def test_the_pairs_are_those_that_attain_them(self, seed):
        table = random_table(seed, data_sets=5)
        found = mechanism_range(table, pairs_of(table))
        assert mechanism_range(table, [found.pair]).epsilon == found.epsilon
        assert mechanism_range(table, [found.range_pair]).range == found.range
        others = [pair for pair in pairs_of(table) if pair != found.pair]
        assert mechanism_range(table, others).epsilon < found.epsilon

    def test_all_kinds_of_numbers_say_the_same(self):
        rows = {
            "fractions": ([Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2), Fraction(1, 2)]),
            "floats": ([0.25, 0.75], [0.5, 0.5]),
            "decimals": ([Decimal("0.25"), Decimal("0.75")], [Decimal("0.5")] * 2),
            "array": (np.array([0.25, 0.75]), np.array([0.5, 0.5])),
            "balls": ([arb("0.25"), arb("0.75")], [arb("0.5"), arb("0.5")]),
            "mapping": ({"x": 0.25, "y": 0.75}, {"y": 0.5, "x": 0.5}),
        }
        found = [
            mechanism_range({0: first, 1: second}, [(0, 1)]) for first, second in rows.values()
        ]
        assert all(each == found[0] for each in found)
        assert float(found[0].epsilon) == pytest.approx(math.log(2))
        assert float(found[0].range) == pytest.approx(math.log(3))

    def test_a_float_means_the_decimal_that_it_prints_as(self):
        tenths = {0: [0.1, 0.2, 0.7], 1: [0.3, 0.3, 0.4]}
        exact = {0: [Fraction(n, 10) for n in (1, 2, 7)], 1: [Fraction(n, 10) for n in (3, 3, 4)]}
        assert mechanism_range(tenths, [(0, 1)]) == mechanism_range(exact, [(0, 1)])

    def test_rough_balls_give_a_rough_bound_that_holds(self):
        before, ctx.prec = ctx.prec, 40
        try:
            half, third = arb(1) / 2, arb(1) / 3
            table = {0: [third, 1 - third], 1: [half, half]}
        finally:
            ctx.prec = before
        found = mechanism_range(table, [(0, 1)])
        assert math.log(1.5) + 1e-13 < float(found.epsilon) < math.log(1.5) + 1e-10

    def test_no_difference_is_no_loss(self):
        row = [Fraction(1, 3), Fraction(2, 3), 0]
        found = mechanism_range({0: row, 1: row}, [(0, 1)])
        assert (found.epsilon, found.range, found.loss) == (0, 0, None)

    def test_a_difference_so_small_that_floats_would_not_see_it(self):
        small = Fraction(1, 10**60)
        table = {0: [Fraction(1, 2) + small, Fraction(1, 2) - small], 1: [Fraction(1, 2)] * 2}
        found = mechanism_range(table, [(0, 1)])
        assert float(found.epsilon) == pytest.approx(2e-60, rel=1e-14)
        assert float(found.range) == pytest.approx(4e-60, rel=1e-14)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ([1, 0], [0.5, 0.5]),
            ([0.5, 0.5], [1, 0]),
            ({"a": 1}, {"a": 0.5, "b": 0.5}),
            ([arb(0), arb(1)], [0.5, 0.5]),
        ],
        ids=repr,
    )
    def test_a_zero_on_one_side_only_is_infinite(self, first, second):
        table = {0: first, 1: second, 2: second}
        found = mechanism_range(table, [(1, 2), (0, 1)])
        assert (found.epsilon, found.range, found.loss) == (math.inf, math.inf, None)
        assert found.pair == found.range_pair == (0, 1)

    def test_a_zero_on_both_sides_is_nothing(self):
        table = {0: [0, Fraction(1, 4), Fraction(3, 4)], 1: [0, Fraction(1, 2), Fraction(1, 2)]}
        assert mechanism_range(table, [(0, 1)]).epsilon < 1


class TestLoss:
    def test_randomised_response_is_pure(self):
        table = {0: [Fraction(9, 10), Fraction(1, 10)], 1: [Fraction(1, 10), Fraction(9, 10)]}
        found = mechanism_range(table, [(0, 1)])
        assert found.loss == PureDP(found.epsilon)
        assert found.loss <= PureDP(2.2)

    def test_the_exponential_mechanism_is_of_bounded_range(self):
        """Votes: one person moves scores by up to 1, so the range is epsilon, and no pair of
        counts has more.
        """
        mechanism = ExponentialMechanism(epsilon=1, sensitivity=1, monotonic=True)
        votes = list(itertools.product(range(4), repeat=3))
        before, ctx.prec = ctx.prec, 100
        try:
            table = {scores: softmax(scores) for scores in votes}
        finally:
            ctx.prec = before
        pairs = [pair for pair in itertools.product(votes, repeat=2) if one_more_person(*pair)]
        found = mechanism_range(table, pairs)
        assert float(found.range) == pytest.approx(1, rel=1e-14)
        assert found.loss == BoundedRange(found.range)
        assert found.epsilon < 1
        assert mechanism.privacy_loss() == BoundedRange(1)
        assert mechanism.probabilities((1, 2, 3)) == pytest.approx(
            [float(p) for p in table[1, 2, 3]]
        )

    def test_permute_and_flip_is_not_of_bounded_range_epsilon(self):
        mechanism = PermuteAndFlip(epsilon=1, sensitivity=1)
        pairs = [((0, 0), (1, -1)), ((0, 0), (-1, 1)), ((5, 0), (4, 1))]
        table = {scores: mechanism.probabilities(scores) for pair in pairs for scores in pair}
        found = mechanism_range(table, pairs)
        assert found.epsilon <= 1 + Fraction(1, 10**12)
        assert found.range > 1.1


def softmax(scores):
    odds = [arb(score).exp() for score in scores]
    total = sum(odds, arb(0))
    return [each / total for each in odds]


def one_more_person(first, second):
    moves = [after - before for before, after in zip(first, second, strict=True)]
    return any(moves) and all(move in (0, 1) for move in moves)


class TestUniversality:
    """Score log p: odds e^score are the probabilities again, and the range of the scores is that
    of the mechanism.
    """

    @loop_over("seed", range(10))
    def test_every_table_is_an_exponential_mechanism(self, seed):
        table = random_table(seed, outputs=6)
        found = mechanism_range(table, pairs_of(table))
        mechanism = ExponentialMechanism(epsilon=found.range, score_range=found.range)
        assert mechanism.privacy_loss() == BoundedRange(found.range)
        for row in table.values():
            scores = [math.log(chance) for chance in row]
            assert mechanism.probabilities(scores) == pytest.approx(
                [float(chance) for chance in row], rel=1e-14
            )


class TestRefusals:
    @loop_over(
        ("probabilities", "rule"),
        [
            ([[1]], "a mapping from data sets to distributions"),
            ({}, "a mapping from data sets to distributions"),
            ({0: "ab"}, "mappings or sequences of probabilities"),
            ({0: [0.5, 0.6]}, "distributions that sum to 1. Got 'a sum of about 1.1'"),
            (
                {0: [Fraction(1, 3), Fraction(2, 3) + Fraction(1, 10**30)]},
                "distributions that sum to 1.*exactly",
            ),
            ({0: [1.5, -0.5]}, "at least 0"),
            ({0: [math.nan, 1]}, "a finite number"),
            ({0: [1, 0], 1: [1]}, "sequences of one length"),
            ({0: [arb(0, 0.1), arb(1)]}, "balls that are 0 or certainly above it"),
            ({0: [arb(-1), arb(2)]}, "balls that are 0 or certainly above it"),
            ({0: []}, "distributions that sum to 1"),
            ({0: [True, False]}, "a number"),
            ({0: [arb(0.5, 0.1), arb(0.5)]}, "distributions that sum to 1"),
        ],
        ids=repr,
    )
    def test_bad_tables(self, probabilities, rule):
        with pytest.raises(
            ParameterError, match=f"The 'probabilities' parameter of mechanism_range must be {rule}"
        ):
            mechanism_range(probabilities, [(0, 0)])

    @pytest.mark.parametrize(
        ("neighbours", "kind", "rule"),
        [
            ([], ParameterError, "at least one pair"),
            ([(0, 2)], ParameterError, "pairs of data sets that have a distribution"),
            ([(0, 1, 0)], ParameterTypeError, "pairs of data sets"),
            (5, ParameterTypeError, "pairs of data sets"),
        ],
        ids=repr,
    )
    def test_bad_neighbours(self, neighbours, kind, rule):
        with pytest.raises(
            kind, match=f"The 'neighbours' parameter of mechanism_range must be {rule}"
        ):
            mechanism_range({0: [1], 1: [1]}, neighbours)
