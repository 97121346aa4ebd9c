"""Exactly orthonormal vectors near floats, and a basis in which a matrix is nearly diagonal.

The floats of an eigenvalue routine are a proposal. What is used are the orthonormal
vectors nearest to them, U = A (A'A)^(-1/2), which are known to any precision; what they
leave of the matrix beside the diagonal has a certified bound:
docs/proofs/subspaces.md#the-basis.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from discreet.exact.enclosures import ball
from discreet.samplers.subspace_proposal import scaled_rows

Floats = NDArray[np.float64]

_UNIT = 2.0**-52
# vectors that are farther from orthonormal than this are not used
_NEAR = 2.0**-20


class Orthonormal:
    """The orthonormal vectors nearest to the columns of an array of floats.

    near: a bound of the norm of A'A - I, which is also one of the norm of A - U.
    """

    __slots__ = ("_exact", "near", "vectors")

    def __init__(self, vectors: Floats) -> None:
        self.vectors, self.near = vectors, _distance(vectors)
        self._exact = arb_mat(vectors.shape[0], vectors.shape[1], vectors.ravel().tolist())

    def times(self, frame: arb_mat, precision: int) -> arb_mat:
        """U times a matrix."""
        total = term = frame
        # (I + D)^(-1/2) = I - D/2 + 3 D^2/8 - ..., with D = A'A - I
        terms = max(2, math.ceil((precision + 8) / -math.log2(self.near)))
        for power in range(1, terms):
            change = self._exact.transpose() * (self._exact * term) - term
            term = change * (arb(1 - 2 * power) / (2 * power))
            total = total + term
        result: arb_mat = self._exact * total
        # the coefficients are below 1, |D| <= near < 1/2 and |A| <= 2
        left = 4 * arb(self.near) ** terms * (frame.transpose() * frame).trace().sqrt()
        entries = [arb(0, left.upper())] * (result.nrows() * result.ncols())
        result += arb_mat(result.nrows(), result.ncols(), entries)
        return result


class Basis:
    """A basis in which rate * matrix is diag(weights) up to a rest.

    weights: floats near the eigenvalues of rate * matrix, descending.
    rest: a float not below the Frobenius norm of what is left.
    within: public vectors whose span the basis is one of; if not given, of everything.
    """

    __slots__ = ("_inner", "_matrix", "_outer", "_rate", "rest", "weights")

    def __init__(
        self, matrix: NDArray[np.object_], rate: Fraction, within: Floats | None = None
    ) -> None:
        axes = len(matrix)
        scaled, wrong = matrix.astype(np.float64) * float(rate), 0.0
        self._outer = None if within is None else Orthonormal(within)
        if self._outer is not None:
            outer, size = self._outer.vectors, _norm(scaled)
            # two products of matrices, and the polar factor for the floats
            wrong = 2 * (axes + 8) * _UNIT * size * _norm(outer) ** 2
            wrong += self._outer.near * (2 + self._outer.near) * size
            scaled = outer.T @ scaled @ outer
        values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
        if not (_distance(vectors) < _NEAR and np.isfinite(values).all()):
            values, vectors = np.diagonal(scaled), np.eye(len(scaled))
        order = np.argsort(-values, kind="stable")
        self.weights: Floats = values[order]
        self._inner = Orthonormal(_with_signs(vectors[:, order]))
        self.rest = 1.25 * (wrong + _rest(scaled, self.weights, self._inner))
        self._rate = rate
        self._matrix = arb_mat(axes, axes, [int(entry) for entry in matrix.ravel()])

    def turned(self, frame: arb_mat, precision: int) -> arb_mat:
        """The vectors of a frame in this basis, as they are in the basis of the matrix."""
        turned = self._inner.times(frame, precision)
        return turned if self._outer is None else self._outer.times(turned, precision)

    def log_rest(self, turned: arb_mat, frame: arb_mat, inverse: arb_mat) -> arb:
        """rate * tr(P matrix) - sum of weight_i * share_i - sqrt(size) * rest: at most 0.

        inverse: of the Gram matrix of the frame.
        """
        weights = [arb(float(weight)) for weight in self.weights]
        captured = (inverse * (turned.transpose() * (self._matrix * turned))).trace()
        shares = (inverse * (frame.transpose() * scaled_rows(frame, weights))).trace()
        return ball(self._rate) * captured - shares - arb(frame.ncols()).sqrt() * arb(self.rest)


def _distance(vectors: Floats) -> float:
    inner = vectors.T @ vectors - np.eye(vectors.shape[1])
    return 1.25 * (_norm(inner) + (len(vectors) + 8) * _UNIT * _norm(vectors) ** 2)


def _with_signs(vectors: Floats) -> Floats:
    """The largest entry of each column made positive, so that the same bits give the same
    draw wherever the eigenvalue routine comes from.
    """
    largest = np.abs(vectors).argmax(axis=0)
    signs: Floats = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * signs


def _rest(scaled: Floats, weights: Floats, basis: Orthonormal) -> float:
    """A bound of the norm of scaled - U diag(weights) U'."""
    size = _norm(scaled) + float(np.abs(weights).max())
    off = _norm(scaled @ basis.vectors - basis.vectors * weights)
    rounding = (len(weights) + 16) * _UNIT * size * _norm(basis.vectors)
    return off + rounding + size * basis.near


def _norm(matrix: Floats) -> float:
    return float(np.sqrt((matrix * matrix).sum()))
