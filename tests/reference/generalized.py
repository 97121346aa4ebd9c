"""Slow, obvious, exact: the generalized exponential mechanism straight from its definition, in
d^2 fractions.

Nothing here imports the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, fmpq


def normalized(
    scores: Sequence[Fraction], sensitivities: Sequence[Fraction], offset: Fraction
) -> list[Fraction]:
    """s_i = min over j of ((q_i - t D_i) - (q_j - t D_j)) / (D_i + D_j), for the best score being
    the largest.
    """
    adjusted = [
        score - offset * sensitivity
        for score, sensitivity in zip(scores, sensitivities, strict=True)
    ]
    points = list(zip(adjusted, sensitivities, strict=True))
    return [
        min((mine - other) / (my_size + size) for other, size in points) for mine, my_size in points
    ]


def distances(
    scores: Sequence[Fraction],
    sensitivities: Sequence[Fraction],
    epsilon: Fraction,
    offset: Fraction,
    *,
    smallest: bool = False,
) -> list[Fraction]:
    """How many noise scales each candidate is behind the best one, for the exponential mechanism
    of epsilon / 2 on s.
    """
    exact = [-Fraction(score) if smallest else Fraction(score) for score in scores]
    found = normalized(exact, [Fraction(sensitivity) for sensitivity in sensitivities], offset)
    return [epsilon / 2 * (max(found) - each) for each in found]


def probabilities(behind: Sequence[Fraction]) -> list[arb]:
    """Enclosures of exp(-distance) over their sum."""
    odds = [(-arb(fmpq(distance.numerator, distance.denominator))).exp() for distance in behind]
    return [each / sum(odds, arb(0)) for each in odds]
