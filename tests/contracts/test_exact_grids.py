"""Privacy on every pair of neighbouring score vectors of small grids, without tolerance.

The probabilities are the reference's, at the rate that the mechanism itself uses; the claim is
the loss that the mechanism itself states. With x = exp(-rate) both sides of p <= e^loss * p' are
polynomials in x, so even where they are equal there is no doubt.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from flint import arb, ctx, fmpq
from reference.exact import PRECISION, REFERENCE, evaluate, power, probabilities
from tiers import only

from discreet import BoundedRange
from discreet.mechanisms.selection import MECHANISMS, mechanism_class

GRIDS = {
    "2 candidates, gaps to 200": [(0, gap) for gap in range(201)],
    "3 candidates, gaps to 20": [
        (0, *others) for others in combinations_with_replacement(range(21), 2)
    ],
    "4 candidates, scores 0 to 5": list(combinations_with_replacement(range(6), 4)),
}
EPSILONS = [Fraction(1, 1024), Fraction(1), Fraction(8)]
# Two candidates far apart, and more of them close together. Another epsilon is another place at
# which the same polynomials are compared.
every_grid = pytest.mark.parametrize(
    "grid", only(("2 candidates, gaps to 200", "4 candidates, scores 0 to 5"), GRIDS)
)
every_epsilon = pytest.mark.parametrize("epsilon", only((Fraction(1),), EPSILONS), ids=str)


pytestmark = pytest.mark.usefixtures("high_precision")


def neighbours(scores: tuple[int, ...], monotonic: bool):
    """All score vectors that one person could make of this one, with sensitivity 1."""
    moves = (
        product((0, 1), repeat=len(scores))
        if monotonic
        else product((-1, 0, 1), repeat=len(scores))
    )
    for move in moves:
        yield tuple(score + step for score, step in zip(scores, move, strict=True))


def gaps_of(scores: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(scores) - score for score in scores)


@cache
def pairs_of(grid: str, monotonic: bool) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The gaps of all neighbours, each pair once: odds depend on gaps alone, which are the same
    for vectors that differ by a constant, and a pair is checked in both directions.
    """
    pairs = (
        sorted((gaps_of(scores), gaps_of(neighbour)))
        for scores in GRIDS[grid]
        for neighbour in neighbours(scores, monotonic)
    )
    return list(dict.fromkeys((first, second) for first, second in pairs))


class ExactLaw:
    """Probabilities of one mechanism as polynomials in x with their enclosures, compared without
    tolerance.
    """

    def __init__(self, name: str, rate: Fraction, epsilon: Fraction) -> None:
        self.polynomials = REFERENCE[name]
        self.x = (-arb(fmpq(rate.numerator, rate.denominator))).exp()
        steps = epsilon / rate
        assert steps.denominator == 1, (
            "the stated loss is not a whole number of score steps at this rate"
        )
        self.factor = power(int(steps))  # e^-epsilon

    def at_most(self, left, right) -> bool:
        """Whether left <= right for polynomials in x, surely or identically."""
        difference = right - left
        return difference == 0 or bool(evaluate(difference, self.x) >= 0)

    @cache  # noqa: B019 (one law lives for one test)
    def parts(self, gaps):
        numerators, denominator = self.polynomials(gaps)
        return [(n, evaluate(n, self.x)) for n in numerators], (
            denominator,
            evaluate(denominator, self.x),
        )

    def check(self, gaps, others, bounded_range: bool) -> None:
        """p <= e^epsilon p' and p' <= e^epsilon p for each candidate; for bounded range also for
        each ratio of two candidates' odds, which is the other way round for the same two in the
        other order.
        """
        mine, my_total = self.parts(gaps)
        theirs, their_total = self.parts(others)
        factor = self.factor, evaluate(self.factor, self.x)
        for p, q in zip(mine, theirs, strict=True):
            self._require([p, their_total, factor], [q, my_total])
            self._require([q, my_total, factor], [p, their_total])
        if bounded_range:
            for first, second in product(range(len(mine)), repeat=2):
                self._require([mine[first], theirs[second], factor], [theirs[first], mine[second]])

    def _require(self, left, right) -> None:
        """The product of the left terms is at most that of the right ones: by enclosures, and by
        algebra if they touch.
        """
        low, high = arb(1), arb(1)
        for _, value in left:
            low *= value
        for _, value in right:
            high *= value
        if not low <= high:
            left_side, right_side = power(0), power(0)
            for polynomial, _ in left:
                left_side *= polynomial
            for polynomial, _ in right:
                right_side *= polynomial
            assert self.at_most(left_side, right_side)


@pytest.mark.parametrize("monotonic", [True, False], ids=["monotonic", "any direction"])
@every_epsilon
@every_grid
@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_no_neighbour_changes_the_odds_by_more_than_the_stated_loss(name, grid, epsilon, monotonic):
    mechanism = mechanism_class(name)(epsilon=epsilon, sensitivity=1, monotonic=monotonic)
    loss = mechanism.privacy_loss()
    law = ExactLaw(name, mechanism.rate, loss.epsilon)
    for gaps, others in pairs_of(grid, monotonic):
        law.check(gaps, others, isinstance(loss, BoundedRange))


@pytest.mark.parametrize("monotonic", [True, False], ids=["monotonic", "any direction"])
@every_epsilon
@every_grid
def test_no_neighbour_changes_the_odds_of_laplace_noise_by_more(grid, epsilon, monotonic):
    """Laplace noise never attains its bound, so enclosures alone decide, if they are fine enough:
    it comes within e^-300.
    """
    ctx.prec = 5 * PRECISION
    mechanism = mechanism_class("laplace-noise")(
        epsilon=epsilon, sensitivity=1, monotonic=monotonic
    )
    stated = mechanism.privacy_loss().epsilon
    factor = arb(fmpq(stated.numerator, stated.denominator)).exp()
    odds = cache(lambda gaps: probabilities("laplace-noise", gaps, mechanism.rate))
    for gaps, others in pairs_of(grid, monotonic):
        for p, q in zip(odds(gaps), odds(others), strict=True):
            assert p <= factor * q
            assert q <= factor * p


def test_every_mechanism_has_an_exact_reference():
    assert set(MECHANISMS) == {*REFERENCE, "laplace-noise"}
