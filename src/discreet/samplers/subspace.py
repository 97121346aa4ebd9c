"""A random subspace with odds exp(rate * captured), drawn exactly, by rejection.

In a basis near the eigenvectors the law is a product over the axes, up to a tiny rest.
A proposal is the span of Gaussian vectors (the core), to which steps add one axis and
one dimension each; it is accepted with the probability that makes the law right. All of
it is a function of lazily known normal numbers, and every decision is made from
enclosures: docs/proofs/subspaces.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision, decide, less
from discreet.randomness.chance import Chance
from discreet.samplers.normals import ERROR, LazyNormals, LazyUniforms
from discreet.samplers.subspace_basis import Basis
from discreet.samplers.subspace_design import Design, log_mass, make_designs
from discreet.samplers.subspace_filter import log_acceptance
from discreet.samplers.subspace_proposal import Proposal, log_peaks, propose

# how many proposals of a design are looked at to see whether floats decide them
_PILOT = 32
# how much longer enclosures take for a proposal than floats, about
_CERTAIN_WORK = 100
# of the first try: the words that are drawn anyway have 64 bits, and a chain of matrices
# loses some of the digits
_FIRST_PRECISION = 64, 128

Grid = NDArray[np.object_]


class SubspaceSampler:
    """Draws subspaces of `size` dimensions with odds exp(rate * tr(P matrix)), where P is
    the projection onto the subspace.

    matrix: symmetric, of whole numbers.
    within: public vectors, in columns, whose span the subspaces lie in; if not given, in
        the whole space.
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

        bits, precision = _FIRST_PRECISION
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
