"""Slow, obvious, exact: the output distributions of the three laws for a few candidates, by
another route than the package's.

Nothing here imports the package. Distances are whole multiples of one step, so with x =
exp(-step) the probabilities of the exponential mechanism and of permute-and-flip are rational
functions of x, kept as exact polynomials. Laplace noise brings in the step itself, so its
probabilities are enclosures of a closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

from flint import arb, ctx, fmpq, fmpq_poly

PRECISION = 200

Gaps = tuple[int, ...]


def power(exponent: int) -> fmpq_poly:
    """x ** exponent as a polynomial."""
    return fmpq_poly([0] * exponent + [1])


@cache
def softmax(gaps: Gaps) -> tuple[tuple[fmpq_poly, ...], fmpq_poly]:
    """Numerators and common denominator of the exponential mechanism's probabilities, as
    polynomials in x.
    """
    numerators = tuple(power(gap) for gap in gaps)
    return numerators, sum(numerators, fmpq_poly([0]))


@cache
def first_heads(gaps: Gaps) -> tuple[tuple[fmpq_poly, ...], fmpq_poly]:
    """Permute-and-flip: p_r * integral of prod (1 - u p_i) over u, expanded over subsets of the
    others.
    """

    def numerator(winner: int) -> fmpq_poly:
        others = gaps[:winner] + gaps[winner + 1 :]
        total = fmpq_poly([0])
        for size in range(len(others) + 1):
            for subset in combinations(others, size):
                total += power(gaps[winner] + sum(subset)) * fmpq((-1) ** size, size + 1)
        return total

    return tuple(numerator(winner) for winner in range(len(gaps))), fmpq_poly([1])


def first_heads_by_permutations(heads: Sequence[Fraction]) -> list[Fraction]:
    """Permute-and-flip straight from its description: average over all orders of the chance to be
    the first heads.
    """
    orders = list(permutations(range(len(heads))))
    result = [Fraction(0)] * len(heads)
    for order in orders:
        still_open = Fraction(1, len(orders))
        for candidate in order:
            result[candidate] += still_open * heads[candidate]
            still_open *= 1 - heads[candidate]
    return result


@cache
def noisy_laplace(gaps: Gaps, step: Fraction, precision: int) -> tuple[arb, ...]:
    """Laplace noise: the integral of f(x + d_r) * prod F(x + d_i), in closed form between the
    kinks.

    Left of -d a candidate's F and f are both e^(x + d) / 2; right of it f is e^-(x + d) / 2 and F
    is 1 - f. Multiplied out, every piece is a sum of terms c * e^(m x), which integrate to
    themselves. `precision` is the working one, to remember by.
    """
    kinks = sorted(
        set(gaps), reverse=True
    )  # as multiples of the step, from left to right on the line
    return tuple(
        sum(
            (
                _piece(winner, gaps, left, right, step)
                for left, right in zip([None, *kinks], [*kinks, None], strict=True)
            ),
            arb(0),
        )
        for winner in range(len(gaps))
    )


def _piece(winner: int, gaps: Gaps, left: int | None, right: int | None, step: Fraction) -> arb:
    """The integral from x = -left * step to -right * step (None: infinity)."""
    size = arb(fmpq(step.numerator, step.denominator))
    terms = {(0, 0): fmpq(1)}  # (m, n): coefficient of e^(m x + n * step)
    for candidate, gap in enumerate(gaps):
        below_its_mode = left is None or left > gap
        half = {(1, gap): fmpq(1, 2)} if below_its_mode else {(-1, -gap): fmpq(1, 2)}
        if candidate != winner and not below_its_mode:
            half = {(0, 0): fmpq(1)} | {key: -value for key, value in half.items()}
        product: dict[tuple[int, int], fmpq] = {}
        for (m, n), value in terms.items():
            for (more_m, more_n), factor in half.items():
                key = m + more_m, n + more_n
                product[key] = product.get(key, fmpq(0)) + value * factor
        terms = product
    total = arb(0)
    for (m, n), value in terms.items():
        if m == 0:
            total += arb(value) * (size * n).exp() * (left - right) * size
        else:
            ends = [
                arb(0) if end is None else (size * (n - m * end)).exp() for end in (left, right)
            ]
            total += arb(value) * (ends[1] - ends[0]) / m
    return total


REFERENCE: dict[str, Callable[[Gaps], tuple[tuple[fmpq_poly, ...], fmpq_poly]]] = {
    "exponential": softmax,
    "gumbel-noise": softmax,
    "permute-and-flip": first_heads,
    "exponential-noise": first_heads,
}
"""Exact laws by the name of the mechanism. Laplace noise is not a polynomial in x; see
`probabilities`.
"""


def probabilities(name: str, gaps: Gaps, step: Fraction) -> list[arb]:
    """Enclosures of the probabilities of a mechanism whose candidates are `gaps` steps of size
    `step` behind the best.
    """
    size = arb(fmpq(step.numerator, step.denominator))
    if name == "laplace-noise":
        return list(noisy_laplace(gaps, step, ctx.prec))
    numerators, denominator = REFERENCE[name](gaps)
    x = (-size).exp()
    return [evaluate(numerator, x) / evaluate(denominator, x) for numerator in numerators]


def evaluate(polynomial: fmpq_poly, x: arb) -> arb:
    """The polynomial at x, by Horner's rule."""
    value = arb(0)
    for coefficient in reversed(polynomial.coeffs()):
        value = value * x + arb(coefficient)
    return value
