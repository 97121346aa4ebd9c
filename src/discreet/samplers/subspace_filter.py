"""Which proposals of a subspace are rejected for certain, told from floats.

Every number comes with a bound of its error: from the normal numbers that it is made
of, and from all rounding since. docs/proofs/subspaces.md#the-filter has the bounds one
by one. Norms are Frobenius norms; a batch has one proposal in each row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.normals import ERROR, logarithm
from discreet.samplers.subspace_proposal import Core, Design, Step

Floats = NDArray[np.float64]

_UNIT = 2.0**-52
# the bounds are computed in floats too; twice the proved ones cover that
_SAFETY = 2.0


@dataclass(frozen=True, slots=True)
class Guess:
    """A number or matrix for each proposal, and how far it may be from the true one."""

    value: Floats
    error: Floats


@dataclass(frozen=True, slots=True)
class Turned:
    """A nearly orthonormal basis T for each proposal, of what is nearly the span of a frame
    with its rows times positive numbers H.

    off: a bound of |T'T - I|.
    lean, rounding: T is within max(H) * lean + rounding of a basis of the true span;
        lean comes from the frame's error, before its rows were multiplied.
    """

    vectors: Floats
    off: Floats
    lean: Floats
    rounding: Floats


def log_acceptance(design: Design, constants: list[float], normals: Floats) -> Guess:
    """The logarithm of the probability to accept each proposal.

    constants: the logarithm of the largest odds of the core, and of each step.
    """
    with np.errstate(all="ignore"):
        total, frame = _core(design.core, normals)
        used = design.core.size * len(design.core.weights)
        value, error = total.value, total.error
        outside = np.zeros(len(normals), dtype=np.bool_)
        for step in design.steps:
            more = len(step.weights)
            part, frame, left = _step(step, frame, normals[:, used : used + more])
            used, outside = used + more, outside | left
            value, error = value + part.value, error + part.error
        value = value - sum(constants)
        error = _SAFETY * (error + 64 * _UNIT * (np.abs(value) + sum(map(abs, constants))))
        known = np.isfinite(value) & np.isfinite(error)
        value, error = np.where(known, value, 0.0), np.where(known, error, np.inf)
    return Guess(np.where(outside, -np.inf, value), np.where(outside, 0.0, error))


def _core(core: Core, normals: Floats) -> tuple[Guess, Guess]:
    """-spread/2 (tr V'WV - size) + axes/2 log det V'WV, with W the inverse variances, and
    an orthonormal frame V.
    """
    axes, size = len(core.weights), core.size
    plain = normals[:, : axes * size].reshape(-1, axes, size)
    scaled = plain / np.sqrt(1 + 2 * (core.weights.max() - core.weights) / core.spread)[:, None]
    noise = ERROR * math.sqrt(axes * size)
    rows, off = _whitening(_square(scaled, noise), size)
    inner = _turned(rows, _square(plain, noise), off)
    logs = _log_determinant(*_whitening(inner, size), size)
    trace = np.einsum("nii->n", inner.value)
    value = -core.spread / 2 * (trace - size) + axes / 2 * logs.value
    rounding = _UNIT * 8 * (core.spread * (trace + size) + axes * np.abs(logs.value))
    error = core.spread / 2 * math.sqrt(size) * inner.error + axes / 2 * logs.error + rounding
    frame = np.matmul(scaled, rows.transpose(0, 2, 1))
    lost = _norm(rows) * (noise + _roundoff(size) * _norm(scaled)) + off
    return Guess(value, error), Guess(frame, lost)


def _step(step: Step, frame: Guess, normals: Floats) -> tuple[Guess, Guess, NDArray[np.bool_]]:
    """tr V'(weights - proposed)V - 1/2 log det V'V/M + m log(1 - s) + (m + shift) s, and
    the frame with one axis and one dimension more; and where s is above 1 for certain.
    """
    power, size, vectors = step.power, step.size - 1, frame.value
    inverse = 1 / (step.top - step.weights + power + step.shift)
    change = step.weights - step.proposed
    gain = np.einsum("nik,i,nik->n", vectors, change, vectors)
    loose = frame.error * (2 * math.sqrt(size) + frame.error)
    loose = np.abs(change).max() * (loose + _roundoff(len(inverse)) * _norm(vectors) ** 2)
    turned, logs = _weighted(frame, np.sqrt(inverse), size)
    offset = _conditioned(turned, np.sqrt(inverse), normals)
    length = np.einsum("ni,ni->n", offset.value, offset.value)
    far = offset.error * (2 * np.sqrt(length) + offset.error) + _roundoff(len(inverse)) * length
    room = 1 - length
    safe = np.where(room > far, room - far, 0.0)
    # room below 0 gives a number that is not finite, and so does a room that is not safe
    outer = power * logarithm(room) if power else np.zeros_like(room)
    value = gain - logs.value / 2 + outer + (power + step.shift) * length
    error = loose + logs.error / 2 + far * (power / safe + power + step.shift)
    error = error + 16 * _UNIT * (power + step.shift + np.abs(gain))
    grown = np.zeros((len(vectors), len(inverse) + 1, size + 1))
    grown[:, 0, 0] = np.sqrt(room)
    grown[:, 1:, 0], grown[:, 1:, 1:] = -offset.value, vectors
    lost = frame.error + offset.error + far / np.sqrt(safe) + _UNIT
    return Guess(value, error), Guess(grown, lost), length - _SAFETY * far > 1


def _weighted(frame: Guess, roots: Floats, size: int) -> tuple[Turned, Guess]:
    """A nearly orthonormal basis of the frame with its rows times the roots, and the
    logarithm of the determinant of the Gram matrix of the frame with its rows times the
    roots.
    """
    scaled = roots[:, None] * frame.value
    rows, _ = _whitening(Guess(_gram(scaled, scaled), np.zeros(len(scaled))), size)
    turned = np.matmul(scaled, rows.transpose(0, 2, 1))
    lean = _norm(rows) * frame.error
    rounding = _norm(rows) * 2 * _roundoff(size) * _norm(scaled)
    lost = roots.max() * lean + rounding
    inner = _square(turned, 0.0)
    off = _norm(inner.value - np.eye(size)) + inner.error
    wide = off + lost * (2 * _norm(turned) + lost)
    wide = np.where(wide < 0.5, wide, np.inf)
    return Turned(turned, off, lean, rounding), _log_determinant(rows, wide, size)


def _conditioned(turned: Turned, roots: Floats, normals: Floats) -> Guess:
    """A Gaussian vector with the variances roots^2 / 2, given that it is orthogonal to the
    frame that was turned.
    """
    size, largest = _norm(normals), roots.max()
    shares = np.einsum("nik,ni->nk", turned.vectors, normals)
    left = normals - np.einsum("nik,nk->ni", turned.vectors, shares)
    offset = roots * math.sqrt(0.5) * left
    rounding = 2 * _roundoff(len(roots)) * (1 + _norm(turned.vectors) ** 2) * size
    along, across = _norm(shares) + rounding, _norm(left) + rounding
    # docs/proofs/subspaces.md#the-filter: of the true projection of what is left
    onto = turned.off * along + turned.rounding * across
    onto = onto + turned.lean * (math.sqrt(2) * _norm(offset) + largest * rounding)
    lost = largest * turned.lean + turned.rounding
    wrong = ERROR * math.sqrt(len(roots)) + 1.25 * onto + lost * along + rounding
    return Guess(offset, largest * np.where(turned.off + lost < 0.1, wrong, np.inf))


def _whitening(matrix: Guess, size: int) -> tuple[Floats, Floats]:
    """Lower triangular rows R with R A R' = I + X for the true matrix A, and a bound of
    the norm of X; infinite if it is not below 1/2.
    """
    guess = matrix.value
    rows: Floats = np.zeros_like(guess)
    for place in range(size):
        row = np.zeros((len(guess), size))
        row[:, place] = 1.0
        if place:
            shares = np.einsum("nij,nj->ni", rows[:, :place], guess[:, :, place])
            row -= np.einsum("ni,nij->nj", shares, rows[:, :place])
        squares = np.einsum("ni,nij,nj->n", row, guess, row)
        rows[:, place] = row / np.sqrt(squares)[:, None]
    whole = _turned(rows, matrix, np.zeros(len(guess)))
    off = _norm(whole.value - np.eye(size)) + whole.error
    return rows, np.where(off < 0.5, off, np.inf)


def _turned(rows: Floats, matrix: Guess, off: Floats) -> Guess:
    """R A R', and its distance from (I + X)^(-1/2) R A R' (I + X)^(-1/2), |X| <= off."""
    value = np.matmul(np.matmul(rows, matrix.value), rows.transpose(0, 2, 1))
    rounding = 2 * _roundoff(rows.shape[1]) * _norm(matrix.value)
    error = _norm(rows) ** 2 * (matrix.error + rounding)
    return Guess(value, error + 4 * off * (_norm(value) + error))


def _log_determinant(rows: Floats, off: Floats, size: int) -> Guess:
    """The logarithm of the determinant of the matrix that the rows whiten up to a matrix of
    norm `off`.
    """
    logs = logarithm(np.einsum("nii->ni", rows))
    rounding = 8 * _UNIT * (size + np.abs(logs).sum(axis=1))
    return Guess(-2 * logs.sum(axis=1), 2 * math.sqrt(size) * off + rounding)


def _square(matrices: Floats, noise: float) -> Guess:
    """A'A, where the entries of A are off by `noise` in norm."""
    size = _norm(matrices)
    rounding = _roundoff(matrices.shape[1]) * size**2
    return Guess(_gram(matrices, matrices), noise * (2 * size + noise) + rounding)


def _gram(left: Floats, right: Floats) -> Floats:
    product: Floats = np.matmul(left.transpose(0, 2, 1), right)
    return product


def _norm(matrices: Floats) -> Floats:
    flat = matrices.reshape(len(matrices), -1)
    size: Floats = np.sqrt(np.einsum("ni,ni->n", flat, flat))
    return size


def _roundoff(terms: int) -> float:
    """The error of a sum of products, in any order, relative to the norms of the factors."""
    return (terms + 8) * _UNIT
