"""Linear models on a ball, slow and obvious: losses by their formulas, and integrals.

Nothing is scaled and nothing is bounded: odds exp(-rate * losses - ridge / 2 * |x|^2).
"""

from __future__ import annotations

from flint import acb, arb


def logistic(margin):
    return (1 + (-margin).exp()).log()


def dot(row, point):
    return sum((entry * each for entry, each in zip(row, point, strict=True)), arb(0))


def log_odds(loss, rows, targets, point, rate, ridge):
    """The logarithm of the odds of a point; rows, targets and all else are arbs."""
    total = arb(0)
    for row, target in zip(rows, targets, strict=True):
        score = dot(row, point)
        total += logistic(target * score) if loss == "logistic" else (target - score) ** 2
    return -rate * total - ridge / 2 * dot(point, point)


def log_odds_on_line(loss, data, point, rate, ridge):
    """The same with one coefficient, for a complex one too."""
    total = acb(0)
    for row, target in data:
        if loss == "logistic":
            total += (1 + (-target * row * point).exp()).log()
        else:
            total += (target - row * point) ** 2
    return -rate * total - ridge / 2 * point * point


def integral(odds, radius):
    """The integral of exp(odds) from -radius to radius, enclosed."""

    def function(point, analytic):
        return odds(point).exp()

    value = sum(
        (
            acb.integral(function, acb(radius * part / 2), acb(radius * (part + 1) / 2))
            for part in range(-2, 2)
        ),
        acb(0),
    )
    return value.real
