"""A random subspace with odds exp(rate * captured), drawn exactly, by rejection.

In a basis near the eigenvectors the law is a product over the axes, up to a tiny rest.
A proposal is the span of Gaussian vectors (the core), to which steps add one axis and
one dimension each; it is accepted with the probability that makes the law right. All of
it is a function of lazily known normal numbers, and every decision is made from
enclosures: docs/proofs/subspaces.md.

The floats of an eigenvalue routine are a proposal for the basis. What is used are the
orthonormal vectors nearest to them, U = A (A'A)^(-1/2), which are known to any
precision; what they leave of the matrix beside the diagonal has a certified bound:
docs/proofs/subspaces.md#the-basis.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision, ball, decide, less
from discreet.randomness.chance import Chance
from discreet.samplers.normals import ERROR, LazyNormals, LazyUniforms
from discreet.samplers.subspace_filter import log_acceptance
from discreet.samplers.subspace_proposal import (
    Design,
    Proposal,
    log_mass,
    log_peaks,
    make_designs,
    propose,
    scaled_rows,
)

Floats = NDArray[np.float64]

_UNIT = 2.0**-52
# vectors that are farther from orthonormal than this are not used
_NEAR = 2.0**-20
# more than all that floats lose by being too small: squares in a norm, a tiny rate
_UNDERFLOW = 2.0**-500


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
        scaled, wrong = matrix.astype(np.float64) * float(rate), _UNDERFLOW
        self._outer = None if within is None else Orthonormal(within)
        if self._outer is not None:
            outer, size = self._outer.vectors, _norm(scaled)
            # two products of matrices, and the polar factor for the floats
            wrong += 2 * (axes + 8) * _UNIT * size * _norm(outer) ** 2
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


# how many proposals of a design are looked at to see whether floats decide them
_PILOT = 32
# how much longer enclosures take for a proposal than floats, about
_CERTAIN_WORK = 100
# of the first try: the words that are drawn anyway have 64 bits, and a chain of matrices
# loses some of the digits
_FIRST_BITS = 64, 128

Grid = NDArray[np.object_]


class SubspaceSampler:
    """Draws subspaces of `size` dimensions with odds exp(rate * tr(P matrix)), where P is
    the projection onto the subspace.

    matrix: symmetric, of whole numbers.
    within: public vectors, in columns, whose span the subspaces lie in; if not given,
        in the whole space.
    batch: how many proposals are made at once; public, because it shows in the time.
    """

    __slots__ = ("_basis", "_batch", "_design", "_peaks")

    def __init__(
        self,
        matrix: Grid,
        *,
        rate: Fraction,
        size: int,
        batch: int,
        chance: Chance,
        within: NDArray[np.float64] | None = None,
    ) -> None:
        self._basis, self._batch = Basis(matrix, rate, within), batch
        self._design = _best(make_designs(self._basis.weights, size), chance)
        self._peaks = log_peaks(self._design)

    def draw(self, places: int, chance: Chance) -> Grid:
        """The projection onto a random subspace, in whole multiples of 2^-places."""
        while True:
            normals = LazyNormals(self._batch, self._design.normals, chance)
            uniforms = LazyUniforms(self._batch, chance)
            for row in self._open_rows(normals, uniforms):
                result = self._decide(normals, uniforms, row, places)
                if result is not False:
                    return result

    def _open_rows(self, normals: LazyNormals, uniforms: LazyUniforms) -> list[int]:
        """The proposals that the floats do not reject for certain, in order."""
        guess = log_acceptance(self._design, self._peaks, normals.values)
        logs, certain = uniforms.logarithms()
        rejected = certain & normals.certain & (logs - 4 * ERROR > guess.value + guess.error)
        return [int(row) for row in np.flatnonzero(~rejected)]

    def _decide(
        self, normals: LazyNormals, uniforms: LazyUniforms, row: int, places: int
    ) -> Grid | Literal[False]:
        """The projection if the proposal is accepted."""

        def question(precision: int) -> Grid | Literal[False] | None:
            proposal = propose(self._design, normals.balls(row, precision))
            if not isinstance(proposal, Proposal):
                return False if proposal else None
            try:
                inverse = proposal.gram.inv()
            except ZeroDivisionError:
                return None
            turned = self._basis.turned(proposal.frame, precision)
            log_odds = proposal.log_odds + self._basis.log_rest(turned, proposal.frame, inverse)
            accepted = less(uniforms.ball(row, precision).log(), log_odds)
            if accepted:
                return _on_grid(turned * inverse * turned.transpose(), places)
            return accepted

        bits, precision = _FIRST_BITS
        answer = at_precision(precision, partial(question, bits))
        return decide(question) if answer is None else answer


def _best(designs: list[Design], chance: Chance) -> Design:
    """The design that takes the least work. It changes the time, not the law."""
    if len(designs) == 1:
        return designs[0]
    masses = np.array([log_mass(design) for design in designs])
    best, least = designs[0], math.inf
    for place in np.argsort(masses, kind="stable"):
        # proposals for one that is accepted, relative to the design that accepts most
        tries = math.exp(min(masses[place] - masses.min(), 700.0))
        # no design after this one can be better
        if tries >= least:
            break
        work = tries * (1 + _CERTAIN_WORK * _open_share(designs[place], chance))
        if work < least:
            best, least = designs[place], work
    return best


def _open_share(design: Design, chance: Chance) -> float:
    """How many of a few proposals floats cannot tell of."""
    normals = LazyNormals(_PILOT, design.normals, chance)
    guess = log_acceptance(design, log_peaks(design), normals.values)
    return float((guess.error >= 1).mean())


def _on_grid(projection: arb_mat, places: int) -> Grid | None:
    """Each entry at the nearest multiple of 2^-places, or None if one is too near to the
    middle of two.
    """
    axes = projection.nrows()
    halves = arb_mat(axes, axes, [arb(0.5)] * axes**2)
    cells = (projection * (1 << places) + halves).entries()
    result = np.zeros((axes, axes), dtype=object)
    for row in range(axes):
        for column in range(row + 1):
            whole = cells[row * axes + column].floor().unique_fmpz()
            if whole is None:
                return None
            result[row, column] = result[column, row] = int(whole)
    return result
