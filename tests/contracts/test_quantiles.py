"""Quantiles: the real code on every random tape, and no neighbour changes the odds by more than
the stated loss.
"""

from __future__ import annotations

import itertools
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from reference.exact import probabilities
from reference.ranks import rank_errors
from reference.tapes import distribution
from tiers import also

import discreet
from discreet.exact.enclosures import ball
from discreet.mechanisms import quantiles
from discreet.mechanisms.grid import Cells, read_grid
from discreet.mechanisms.quantiles import ManyQuantiles, OneQuantile, search, split_near
from discreet.randomness.chance import Chance
from discreet.samplers.grid_paths import Paths
from discreet.testing import SeededBits

POINTS = 4
HALF, THIRD, TENTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)
SHARES = [Fraction(0), TENTH, THIRD, HALF, Fraction(4, 5), Fraction(1)]
ONE = Fraction(1)
TINY = arb(2) ** -60


pytestmark = pytest.mark.usefixtures("high_precision")


def cells_of(values, points=POINTS):
    return Cells.of(np.array(values, dtype=np.int64), points)


def error(values, point, q):
    """How far the share q is from the ranks of those who have this point: from the definition,
    one point at a time.
    """
    below, at = sum(value < point for value in values), sum(value == point for value in values)
    return max(below - q * len(values), q * len(values) - below - at, Fraction(0))


def span(q):
    """The range of rank errors."""
    return Fraction(1) if q in (0, 1) else 2 * max(q, 1 - q)


def law_of_search(values, q, epsilon, mechanism="exponential", points=range(POINTS), move=None):
    """The ideal odds of each point."""
    errors = [error(values, point, q) for point in points]
    rate = epsilon / (span(q) if move is None or q in (0, 1) else 2 * move)
    gaps = tuple(int((part - min(errors)) * q.denominator) for part in errors)
    return dict(zip(points, probabilities(mechanism, gaps, rate / q.denominator), strict=True))


def data_sets(most, points=POINTS):
    return [
        list(values)
        for size in range(most + 1)
        for values in itertools.combinations_with_replacement(range(points), size)
    ]


def log_ratios(law, other):
    return [(law[outcome] / other[outcome]).log() for outcome in law]


class TestOneQuantile:
    # One person would do for all three mutants, but fewer persons have more points that are tied,
    # and more tapes. A mutant of the range lives at the median.
    @pytest.mark.parametrize("q", [THIRD, *also(HALF), Fraction(1)], ids=str)
    @pytest.mark.parametrize("values", [*also([], [1], [0, 0, 3]), [1, 1, 2, 3, 3]], ids=str)
    @pytest.mark.parametrize(
        ("mechanism", "cutoff", "rest_below"),
        [("exponential", 1e-6, 1e-3), ("permute-and-flip", 1e-5, 0.05)],
    )
    def test_points_have_their_odds(self, mechanism, cutoff, rest_below, values, q):
        reached, rest = distribution(
            lambda tape: search(cells_of(values), q, Fraction(2), mechanism, tape), cutoff
        )
        assert rest < rest_below
        for point, ideal in law_of_search(values, q, Fraction(2), mechanism).items():
            assert reached[point] <= ideal + TINY
            assert ideal <= reached[point] + rest + TINY

    @pytest.mark.parametrize("q", [THIRD, HALF], ids=str)
    def test_points_have_their_odds_where_values_are_replaced(self, q):
        values = [1, 1, 2, 3, 3]
        reached, rest = distribution(
            lambda tape: search(
                cells_of(values), q, Fraction(2), "exponential", tape, replace=True
            ),
            1e-6,
        )
        assert rest < 1e-3
        for point, ideal in law_of_search(values, q, Fraction(2), move=ONE).items():
            assert reached[point] <= ideal + TINY
            assert ideal <= reached[point] + rest + TINY

    @pytest.mark.parametrize("q", SHARES, ids=str)
    def test_runs_are_the_definition(self, q):
        for values in data_sets(4):
            runs = cells_of(values).rank_errors(q)
            spread = {}
            for start, length, part in zip(runs.starts, runs.lengths, runs.errors, strict=True):
                spread |= {
                    int(start) + place: Fraction(int(part), q.denominator)
                    for place in range(int(length))
                }
            assert spread == {point: error(values, point, q) for point in range(POINTS)}

    @pytest.mark.parametrize("q", SHARES, ids=str)
    @pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
    def test_one_person_more_keeps_the_loss(self, mechanism, q):
        for values in data_sets(3):
            law = law_of_search(values, q, ONE, mechanism)
            for more in range(POINTS):
                ratios = log_ratios(law_of_search([*values, more], q, ONE, mechanism), law)
                assert max(ratios) <= 1 + TINY
                assert min(ratios) >= -1 - TINY
                if mechanism == "exponential":
                    assert max(ratios) - min(ratios) <= 1 + TINY

    @pytest.mark.parametrize("q", SHARES, ids=str)
    def test_a_replaced_value_keeps_the_loss_of_replacing(self, q):
        for values in data_sets(3)[1:]:
            law = law_of_search(values, q, ONE, move=ONE)
            for other in range(POINTS):
                ratios = log_ratios(law_of_search([*values[1:], other], q, ONE, move=ONE), law)
                assert max(ratios) - min(ratios) <= 1 + TINY

    def test_the_loss_is_attained(self):
        values, points = [0] * 39 + [2] + [4] * 40, range(5)
        ratios = log_ratios(
            law_of_search([0, *values], HALF, ONE, points=points),
            law_of_search(values, HALF, ONE, points=points),
        )
        assert max(ratios) - min(ratios) > 1 - TINY

    def test_half_of_a_larger_share_would_not_do(self):
        """With the range of the median, 1, a share of 1/10 is not private at this epsilon."""
        law, other = (
            law_of_search(values, TENTH, ONE, move=HALF) for values in ([2] * 30, [0] + [2] * 30)
        )
        ratios = log_ratios(law, other)
        assert max(ratios) - min(ratios) > 1.79


def law_of_split(values, q, epsilon, points, parts):
    """The ideal odds of each point with each part of the persons at it, from the definition."""
    ways = [(point, Fraction(part, parts)) for point in points for part in range(parts)]
    errors = [
        abs(sum(x < point for x in values) + part * values.count(point) - q * len(values))
        for point, part in ways
    ]
    rate = epsilon / span(q)
    odds = [(-ball(rate * error)).exp() for error in errors]
    total = sum(odds, arb(0))
    return {way: part / total for way, part in zip(ways, odds, strict=True)}


def halves(values, point, part):
    """Each person at the point goes below with the odds of the part, for itself: all outcomes,
    with their odds.
    """
    before, at, after = (
        [x for x in values if relation(x, point)]
        for relation in (operator.lt, operator.eq, operator.gt)
    )
    for lower in range(len(at) + 1):
        odds = math.comb(len(at), lower) * part**lower * (1 - part) ** (len(at) - lower)
        if odds:
            yield ball(odds), [*before, *at[:lower]], [*at[lower:], *after]


def law_of_recursion(
    values, shares, each, low=Fraction(0), high=ONE, points=range(POINTS), parts=2, split=halves
):
    """The ideal odds of all lists, by the definition of the recursion."""
    if not shares:
        return {(): arb(1)}
    middle, law = len(shares) // 2, {}
    here = (shares[middle] - low) / (high - low)
    if len(shares) == 1:
        return {
            (point,): odds
            for point, odds in law_of_search(values, here, each, points=points).items()
        }
    for (point, part), odds in law_of_split(values, here, each, points, parts).items():
        for share, before, after in split(values, point, part):
            left = law_of_recursion(
                before,
                shares[:middle],
                each,
                low,
                shares[middle],
                range(points[0], point + 1),
                parts,
                split,
            )
            right = law_of_recursion(
                after,
                shares[middle + 1 :],
                each,
                shares[middle],
                high,
                range(point, points[-1] + 1),
                parts,
                split,
            )
            for (first, one), (second, two) in itertools.product(left.items(), right.items()):
                found = (*first, point, *second)
                law[found] = law.get(found, arb(0)) + odds * share * one * two
    return law


class TestSplit:
    @pytest.mark.parametrize("q", [TENTH, HALF, Fraction(4, 5)], ids=str)
    @pytest.mark.parametrize("values", [[], [1], [0, 0, 3], [1, 1, 2, 3, 3]], ids=str)
    def test_points_and_halves_have_their_odds(self, monkeypatch, values, q):
        monkeypatch.setattr(quantiles, "PART_DIGITS", 1)

        def run(tape):
            place, *sides = split_near(cells_of(values), q, Fraction(2), tape)
            return place, *(tuple(np.repeat(side.points, side.counts).tolist()) for side in sides)

        ideal = {}
        for (point, part), odds in law_of_split(values, q, Fraction(2), range(POINTS), 2).items():
            for share, before, after in halves(values, point, part):
                found = (point, tuple(before), tuple(after))
                ideal[found] = ideal.get(found, arb(0)) + odds * share
        reached, rest = distribution(run, 1e-6)
        assert rest < 0.01
        assert set(reached) <= set(ideal)
        for found, odds in ideal.items():
            assert reached[found] <= odds + TINY
            assert odds <= reached[found] + rest + TINY

    @pytest.mark.parametrize("q", SHARES, ids=str)
    def test_rows_are_the_definition(self, q):
        parts = 4
        for values in data_sets(4):
            row = cells_of(values).split_errors(q, parts)
            found = [
                Fraction(int(error) + place * int(slope), q.denominator * parts)
                for length, error, slope in zip(row.lengths, row.errors, row.slopes, strict=True)
                for place in range(int(length))
            ]
            assert found == [
                sum(x < point for x in values)
                + Fraction(part, parts) * values.count(point)
                - q * len(values)
                for point in range(POINTS)
                for part in range(parts)
            ]

    @pytest.mark.parametrize("q", SHARES, ids=str)
    def test_one_person_more_keeps_the_range(self, q):
        for values in data_sets(3):
            law = law_of_split(values, q, ONE, range(POINTS), 3)
            for more in range(POINTS):
                ratios = log_ratios(law_of_split([*values, more], q, ONE, range(POINTS), 3), law)
                assert max(ratios) - min(ratios) <= 1 + TINY

    def test_nobody_is_lost_and_nobody_is_in_both(self):
        cells = cells_of([0, 1, 1, 1, 3])
        for point, lower in [(1, 0), (1, 2), (1, 3), (0, 0), (0, 1), (2, 0), (3, 1)]:
            before, after = cells.split(point, lower)
            assert (before.first, before.last, after.first, after.last) == (
                0,
                point,
                point,
                POINTS - 1,
            )
            together = np.concatenate(
                [np.repeat(side.points, side.counts) for side in (before, after)]
            )
            assert together.tolist() == [0, 1, 1, 1, 3]
            assert before.at(point) == lower
            assert (before.counts > 0).all()
            assert (after.counts > 0).all()


class TestRecursion:
    QUARTERS = (Fraction(1, 4), HALF, Fraction(3, 4))

    @pytest.mark.parametrize(
        "said", [{"delta": Fraction(1, 10)}, {"mechanism": "exponential"}], ids=str
    )
    def test_lists_have_their_odds(self, said, monkeypatch):
        """What is paid for as bounded ranges is drawn by exponential mechanisms."""
        monkeypatch.setattr(quantiles, "PART_DIGITS", 1)
        made = ManyQuantiles(q=self.QUARTERS, epsilon=4, method="recursive", grid_size=3, **said)
        assert {type(loss) for loss in made.losses()} == {discreet.BoundedRange}
        cells = cells_of([0, 1, 1], 3)
        reached, rest = distribution(lambda tape: tuple(made._recursive(cells, tape)), 1e-7)
        assert rest < 0.02
        for places, ideal in law_of_recursion(
            [0, 1, 1], self.QUARTERS, made._each, points=range(3)
        ).items():
            assert reached[places] <= ideal + TINY
            assert ideal <= reached[places] + rest + TINY

    @pytest.mark.parametrize(
        "shares", [QUARTERS, (TENTH, Fraction(9, 10)), (Fraction(0), HALF, Fraction(1))], ids=str
    )
    def test_one_person_is_in_one_search_of_each_layer(self, shares):
        made = ManyQuantiles(q=shares, epsilon=1, method="recursive", grid_size=3)
        assert made._each == Fraction(1, 2)  # two layers
        for values in data_sets(2, 3):
            law = law_of_recursion(values, shares, made._each, points=range(3))
            for more in range(3):
                ratios = log_ratios(
                    law_of_recursion([*values, more], shares, made._each, points=range(3)), law
                )
                assert max(ratios) <= 1 + TINY
                assert min(ratios) >= -1 - TINY

    def test_trap_a_person_in_both_halves_is_paid_for_twice(self):
        """The reference code splits by <= and >=: a person exactly at the split is then in both
        halves, and two searches change.
        """
        before, after = [1] * 10 + [2] * 10, [4] * 10 + [5] * 10

        def spread(left, right):
            """The range of both searches together, where these values join the lower and the
            upper half.
            """
            pairs = [(before, left, range(4)), (after, right, range(3, 7))]
            ratios = [
                log_ratios(
                    law_of_search([*values, *more], HALF, ONE, points=points),
                    law_of_search(values, HALF, ONE, points=points),
                )
                for values, more, points in pairs
            ]
            return sum(max(part) - min(part) for part in ratios)

        assert spread([3], []) <= 1 + TINY
        assert spread([], [3]) <= 1 + TINY
        assert spread([3], [3]) > 1.99

    def test_ties_are_split_where_the_share_ends(self):
        """Nine tenths of all have one value: all deciles are that value, but for noise. Without
        the parts they would not be.
        """
        values = [0] * 20 + [500] * 960 + [999] * 20
        shares = [Fraction(place, 10) for place in range(1, 10)]
        release = discreet.quantiles(
            values,
            q=shares,
            bounds=(0, 999),
            step=1,
            epsilon=8,
            method="recursive",
            bits=SeededBits(5),
        )
        assert release.value == [500] * 9

    @pytest.mark.parametrize(
        ("count", "layers"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (15, 4), (16, 5)]
    )
    def test_layers(self, count, layers):
        shares = tuple(Fraction(place + 1, count + 1) for place in range(count))
        made = ManyQuantiles(q=shares, epsilon=1, method="recursive", grid_size=9)
        assert made.losses() == {discreet.PureDP(Fraction(1, layers)): layers}
        assert made._each == Fraction(1, layers)
        ranges = ManyQuantiles(
            q=shares, epsilon=1, method="recursive", mechanism="exponential", grid_size=9
        )
        assert ranges.losses() == {discreet.BoundedRange(Fraction(1, layers)): layers}
        assert ranges.privacy_loss() == made.privacy_loss() == discreet.PureDP(1)
        replacing = ManyQuantiles(
            q=shares, epsilon=1, method="recursive", neighbours="replace", grid_size=9
        )
        assert replacing.losses() == made.losses()
        assert replacing._each == Fraction(1, 2 * layers)

    @pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (1, 1e-2), (4, 1e-6)])
    def test_a_replaced_value_keeps_epsilon_and_delta(self, epsilon, delta):
        """Somebody moves from one end to the other, within one search: one less and one more
        there, at the same time.
        """
        made = ManyQuantiles(
            q=(HALF,),
            epsilon=epsilon,
            delta=delta,
            method="recursive",
            neighbours="replace",
            grid_size=10102,
        )
        laws = [
            points_of(cells_of(values, 10102), made._each)
            for values in ([0, 0, 100, 10101], [0, 100, 10101, 10101])
        ]
        for law, other in itertools.permutations(laws):
            assert np.maximum(law - math.exp(epsilon) * other, 0).sum() <= delta

    @pytest.mark.parametrize("shares", [QUARTERS, (TENTH, Fraction(9, 10))], ids=str)
    def test_a_replaced_value_keeps_the_loss(self, shares):
        made = ManyQuantiles(
            q=shares, epsilon=1, method="recursive", neighbours="replace", grid_size=3
        )
        for values in data_sets(2, 3)[1:]:
            law = law_of_recursion(values, shares, made._each, points=range(3))
            for other in range(3):
                ratios = log_ratios(
                    law_of_recursion([*values[1:], other], shares, made._each, points=range(3)), law
                )
                assert max(ratios) <= 1 + TINY
                assert min(ratios) >= -1 - TINY


def points_of(cells, epsilon):
    """The odds of all points, in floats, where the exponential mechanism searches the median."""
    runs = cells.rank_errors(HALF)
    errors = np.empty(int(runs.lengths.sum()))
    for start, length, part in zip(runs.starts, runs.lengths, runs.errors, strict=True):
        errors[start : start + length] = part / 2
    odds = np.exp(-float(epsilon) * errors)
    return odds / odds.sum()


def test_independent_searches_share_epsilon():
    shares = (TENTH, THIRD, HALF, Fraction(4, 5))
    made = ManyQuantiles(q=shares, epsilon=1, method="independent", grid_size=9)
    assert made._each == Fraction(1, 4)
    assert made.losses() == {discreet.PureDP(Fraction(1, 4)): 4}


def law_of_joint(values, shares, rate, points):
    edges = [Fraction(0), *shares, ONE]
    law = {}
    for path in itertools.combinations_with_replacement(range(points), len(shares)):
        marks = [0, *(sum(value < point for value in values) for point in path), len(values)]
        parts = zip(itertools.pairwise(marks), itertools.pairwise(edges), strict=True)
        behind = sum(
            abs(end - start - (high - low) * len(values)) for (start, end), (low, high) in parts
        )
        law[path] = (-ball(rate * behind)).exp()
    total = sum(law.values(), arb(0))
    return {path: odds / total for path, odds in law.items()}


class TestJoint:
    @pytest.mark.parametrize("shares", [(HALF,), (THIRD, Fraction(3, 4))], ids=str)
    @pytest.mark.parametrize("values", [[], [1], [0, 1, 1, 2]], ids=str)
    def test_lists_have_their_odds(self, values, shares):
        made = ManyQuantiles(q=shares, epsilon=3, method="joint", grid_size=3)
        reached, rest = distribution(
            lambda tape: tuple(made._joint(cells_of(values, 3), tape)), 1e-5
        )
        assert rest < 0.02
        widths = [high - low for low, high in itertools.pairwise([Fraction(0), *shares, ONE])]
        rate = Fraction(3) / (4 * (1 - min(widths)))
        for path, ideal in law_of_joint(values, shares, rate, 3).items():
            assert reached[path] <= ideal + TINY
            assert ideal <= reached[path] + rest + TINY

    @pytest.mark.parametrize(
        "shares", [(HALF,), (THIRD, Fraction(3, 4)), (TENTH, HALF, Fraction(9, 10))], ids=str
    )
    def test_one_person_more_keeps_the_loss(self, shares):
        widths = [high - low for low, high in itertools.pairwise([Fraction(0), *shares, ONE])]
        rate = 1 / (4 * (1 - min(widths)))
        for values in data_sets(3, 3):
            law = law_of_joint(values, shares, rate, 3)
            for more in range(3):
                ratios = log_ratios(law_of_joint([*values, more], shares, rate, 3), law)
                assert max(ratios) - min(ratios) <= 1 + TINY
            for other in range(3) if values else ():
                ratios = log_ratios(
                    law_of_joint([*values[1:], other], shares, Fraction(1, 4), 3),
                    law_of_joint(values, shares, Fraction(1, 4), 3),
                )
                assert max(ratios) - min(ratios) <= 1 + TINY

    def test_many_persons_far_apart_do_not_overflow(self):
        """Weights far below the smallest float."""
        persons = np.array([0, 10**6, 2 * 10**6, 5 * 10**9])
        paths = Paths(persons, 10**10, [4 * 10**9, 0, 0, 6 * 10**9], 1, fmpq(7))
        assert paths.draw(Chance(SeededBits(1))) == [3, 3, 3]


def test_the_published_example():
    """Values 1, 2, 3, 5, 8 in [0, 10], the median, epsilon 1: the odds of the intervals between
    them, here on a fine grid.
    """
    published = [
        0.027746720249,
        0.075423405452,
        0.205022072481,
        0.410044144963,
        0.226270216357,
        0.055493440498,
    ]
    size = 10**7
    runs = Cells.of(np.array([1, 2, 3, 5, 8]) * (size // 10), size).rank_errors(HALF)
    odds = [
        int(length) * (-ball(Fraction(int(part), 2))).exp()
        for length, part in zip(runs.lengths, runs.errors, strict=True)
    ]
    total = sum(odds, arb(0))
    intervals = [
        float(part / total) for part, length in zip(odds, runs.lengths, strict=True) if length > 1
    ]
    assert intervals == pytest.approx(published, abs=1e-6)


class TestBetweenPoints:
    """A value between two points counts half at each: in the definition as two half values."""

    VALUES = tuple(Fraction(number, 2) for number in range(2 * POINTS - 1))

    @staticmethod
    def cells(values):
        return Cells.of_ranks(np.array([int(2 * value) for value in values], dtype=int), POINTS)

    @staticmethod
    def halves(values):
        return [end(value) for value in values for end in (math.floor, math.ceil)]

    def data_sets(self, most):
        for size in range(most + 1):
            for values in itertools.combinations_with_replacement(self.VALUES, size):
                yield list(values)

    def test_cells_are_the_definition(self):
        for values in self.data_sets(3):
            halves = cells_of(self.halves(values))
            ranks = [values.count(value) for value in self.VALUES]
            for cells in (self.cells(values), Cells.of_rank_counts(ranks)):
                assert cells.points.tolist() == halves.points.tolist()
                assert cells.counts.tolist() == halves.counts.tolist()
            for q in (TENTH, HALF):
                errors = [error(self.halves(values), point, q) / 2 for point in range(POINTS)]
                assert errors == rank_errors(ranks, q)

    @pytest.mark.parametrize("q", SHARES, ids=str)
    def test_one_person_more_keeps_the_loss(self, q):
        """Each half costs half of it, whichever points it is at."""
        for values in self.data_sets(2):
            law = law_of_search(self.halves(values), q, HALF)
            for more in self.VALUES:
                after = law_of_search(self.halves([*values, more]), q, HALF)
                ratios = log_ratios(after, law)
                assert max(ratios) - min(ratios) <= 1 + TINY

    def test_one_person_more_keeps_the_loss_of_a_recursion(self):
        shares = (Fraction(1, 4), HALF, Fraction(3, 4))
        made = ManyQuantiles(q=shares, epsilon=1, method="recursive", grid_size=3)
        asked = {"shares": shares, "each": made._each / 2, "points": range(3)}
        for values in ([], [HALF], [ONE]):
            law = law_of_recursion(self.halves(values), **asked)
            for more in self.VALUES[:5]:
                after = law_of_recursion(self.halves([*values, more]), **asked)
                ratios = log_ratios(after, law)
                assert max(ratios) <= 1 + TINY
                assert min(ratios) >= -1 - TINY

    @pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
    def test_points_have_their_odds(self, mechanism):
        """Halves at half the rate: where all values are at points this is the usual law."""
        for values in ([ONE, ONE, Fraction(3)], [HALF, ONE, Fraction(5, 2)]):
            reached, rest = distribution(
                lambda tape, values=values: search(self.cells(values), HALF, ONE, mechanism, tape),
                1e-5,
            )
            assert rest < 0.05
            ideal = law_of_search(self.halves(values), HALF, ONE, mechanism)
            for point, odds in ideal.items():
                assert reached[point] <= odds + TINY
                assert odds <= reached[point] + rest + TINY
            if values == [ONE, ONE, Fraction(3)]:
                whole = law_of_search([1, 1, 3], HALF, Fraction(2), mechanism)
                assert all(abs(ideal[point] - whole[point]) < TINY for point in whole)

    @pytest.mark.parametrize("method", ["recursive", "joint", "independent"])
    def test_a_release_pays_half_for_each_half(self, method, monkeypatch):
        """What `release` hands to the searches."""
        rates = []
        whole = {"search": quantiles.search, "split_near": quantiles.split_near}
        for name, real in whole.items():

            def seen(cells, q, each, *others, real=real, **said):
                rates.append(each)
                return real(cells, q, each, *others, **said)

            monkeypatch.setattr(quantiles, name, seen)

        class Watched(Paths):
            def __init__(self, persons, total, wanted, scale, rate):
                rates.append(Fraction(int(rate.p), int(rate.q)) * scale / made._joint_rate)
                super().__init__(persons, total, wanted, scale, rate)

        monkeypatch.setattr(quantiles, "Paths", Watched)
        made = ManyQuantiles(q=(HALF,), epsilon=1, method=method, grid_size=POINTS)
        grid = read_grid((0, POINTS - 1), 1)
        made.release(self.cells([ONE]), grid, Chance(SeededBits(1)))
        assert rates == [HALF]
        rates.clear()
        one = OneQuantile(q=HALF, epsilon=1)
        one.release(self.cells([ONE]), grid, Chance(SeededBits(1)))
        assert rates == [HALF]
