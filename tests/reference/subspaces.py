"""Subspaces by other routes: plain formulas at many digits, series, and blunt rejection."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

import mpmath
import numpy as np
from flint import arb, fmpq


def log_odds(design, normals):
    """The logarithm of target / proposal for a proposal, up to a constant of the design.

    By frames of what is orthogonal to the subspace, where the package works inside the
    subspace, and with the target of the whole problem at the end, where the package
    collects it step by step.
    """
    core = design.core
    axes, size = len(core.weights), core.size
    top = max(core.weights)
    inverse = [1 + 2 * (mpmath.mpf(top) - mpmath.mpf(w)) / core.spread for w in core.weights]
    frame = mpmath.matrix(axes, size)
    for row in range(axes):
        for column in range(size):
            frame[row, column] = normals[row * size + column] / mpmath.sqrt(inverse[row])
    frame = gram_schmidt(frame)
    form = frame.T * mpmath.diag(inverse) * frame
    # the density of the span of Gaussian vectors: det(V'WV)^(-axes/2)
    total = mpmath.mpf(axes) / 2 * mpmath.log(mpmath.det(form))
    used = axes * size
    for step in design.steps:
        more = len(step.weights)
        total += _step(step, frame, normals[used : used + more])
        frame = _grown(step, frame, normals[used : used + more])
        used += more
    weights = design.steps[-1].weights if design.steps else core.weights
    weights = [design.steps[-1].top, *weights] if design.steps else weights
    return total + sum(
        mpmath.mpf(float(w)) * frame[row, column] ** 2
        for row, w in enumerate(weights)
        for column in range(frame.cols)
    )


def precision_matrix(step):
    return mpmath.diag(
        [
            mpmath.mpf(step.top) - mpmath.mpf(float(w)) + mpmath.mpf(step.power) + step.shift
            for w in step.weights
        ]
    )


def _offset(step, frame, normals):
    """The Gaussian vector in what is orthogonal to the frame, by its coordinates there."""
    matrix = precision_matrix(step)
    free = mpmath.matrix([z / mpmath.sqrt(2 * matrix[i, i]) for i, z in enumerate(normals)])
    other = complement(frame)
    # the law of `free` on the orthogonal space: (Q'MQ)^-1 Q'M free has precision 2 Q'MQ
    inner = other.T * matrix * other
    return other, inner, mpmath.lu_solve(inner, other.T * matrix * free)


def _step(step, frame, normals):
    _, inner, row = _offset(step, frame, normals)
    length = (row.T * row)[0]
    # of the law of a row: (rows - columns - 2) / 2 for the frame of the orthogonal space
    power = mpmath.mpf(step.size - 2) / 2
    # the law of a row of a random frame, against the Gaussian law that was drawn from
    return (
        power * mpmath.log(1 - length)
        - mpmath.log(mpmath.det(inner)) / 2
        + (row.T * inner * row)[0]
    )


def _grown(step, frame, normals):
    """What is orthogonal to the longer frame of the orthogonal space."""
    other, _, row = _offset(step, frame, normals)
    length = (row.T * row)[0]
    unit = mpmath.eye(other.cols)
    # (I - yy')^(1/2) by its two eigenvalues
    root = unit - (1 - mpmath.sqrt(1 - length)) / length * row * row.T
    body = other * root
    longer = mpmath.matrix(other.rows + 1, other.cols)
    for column in range(other.cols):
        longer[0, column] = row[column]
        for place in range(other.rows):
            longer[place + 1, column] = body[place, column]
    return complement(longer)


def gram_schmidt(frame):
    result = frame.copy()
    for column in range(frame.cols):
        vector = frame[:, column]
        for earlier in range(column):
            base = result[:, earlier]
            vector = vector - base * (base.T * vector)[0]
        result[:, column] = vector / mpmath.norm(vector)
    return result


def complement(frame):
    """An orthonormal basis of what is orthogonal to orthonormal columns."""
    rows, columns = frame.rows, frame.cols
    rest = mpmath.eye(rows) - frame * frame.T
    found = mpmath.matrix(rows, rows - columns)
    for place in range(rows - columns):
        lengths = [rest[i, i] for i in range(rows)]
        pivot = max(range(rows), key=lambda i: lengths[i])
        vector = rest[:, pivot] / mpmath.sqrt(rest[pivot, pivot])
        found[:, place] = vector
        rest = rest - vector * vector.T
    return found


def by_blunt_rejection(weights, size, draws, seed):
    """Projections onto random subspaces with odds exp(sum of weight * share), from random
    ones of the rotation-invariant law: slow, and obviously right.
    """
    random = np.random.default_rng(seed)
    weights = np.asarray(weights, dtype=float)
    largest = np.sort(weights)[::-1][:size].sum()
    found = []
    while sum(map(len, found)) < draws:
        frames = np.linalg.qr(random.normal(size=(20_000, len(weights), size)))[0]
        captured = np.einsum("nik,i,nik->n", frames, weights, frames)
        kept = frames[np.log(random.random(len(frames))) < captured - largest]
        found.append(np.einsum("nik,njk->nij", kept, kept))
    return np.concatenate(found)[:draws]


@cache
def sphere_normaliser(weights: tuple[Fraction, ...], terms: int) -> arb:
    """An enclosure of the mean of exp(sum of weight_i u_i^2) over the unit sphere, weights
    at least 0: by the moments of the squares of a uniform direction.
    """
    axes, total = len(weights), Fraction(0)
    # the sums of all products of moments, by degree: a product of one series for each axis
    sums = [Fraction(1)] + [Fraction(0)] * (terms - 1)
    for weight in weights:
        # (1/2)_j / j! = binomial(2j, j) / 4^j
        series = [Fraction(comb(2 * j, j), 4**j) * weight**j for j in range(terms)]
        sums = [
            sum((sums[degree - j] * series[j] for j in range(degree + 1)), Fraction(0))
            for degree in range(terms)
        ]
    for degree, part in enumerate(sums):
        rising = Fraction(1)
        for place in range(degree):
            rising *= Fraction(axes, 2) + place
        total += part / rising
    largest = max(weights)
    # each later term is at most largest^degree / degree!
    tail = Fraction(1)
    for place in range(1, terms + 1):
        tail *= largest / place
    assert largest < terms / 2
    return arb(fmpq(total.numerator, total.denominator)) + arb(1, 1) * arb(
        fmpq(tail.numerator, tail.denominator)
    )


def directions(axes: int, steps: int):
    """Whole vectors in all directions, on a small grid, without zero."""
    for point in product(range(-steps, steps + 1), repeat=axes):
        if any(point):
            yield point
