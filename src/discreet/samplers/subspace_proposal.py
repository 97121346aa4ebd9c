"""A proposed subspace, and the probability to accept it, as enclosures.

The plain formulas of docs/proofs/subspaces.md, at whatever precision flint has. A frame
is any basis of the subspace; its Gram matrix says how far it is from orthonormal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision, ball
from discreet.samplers.subspace_design import Core, Design, Step

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A subspace, and the logarithm of the probability to accept it."""

    log_odds: arb
    frame: arb_mat
    gram: arb_mat


OUTSIDE = "outside"
"""A proposal that no subspace belongs to: it is rejected."""


def propose(design: Design, normals: list[arb]) -> Proposal | str | None:
    """What these normal numbers propose; None if it takes more of their bits to tell."""
    core, used = design.core, design.core.size * len(design.core.weights)
    try:
        proposal = _propose_core(core, normals[:used])
        for step in design.steps:
            more = len(step.weights)
            result = _extend(step, proposal, normals[used : used + more])
            if not isinstance(result, Proposal):
                return result
            proposal, used = result, used + more
    except ZeroDivisionError:
        # the enclosure of a Gram matrix contains singular ones
        return None
    return proposal


def _propose_core(core: Core, normals: list[arb]) -> Proposal:
    axes, size, spread = len(core.weights), core.size, arb(core.spread)
    largest = arb(float(core.weights.max()))
    inverse = [1 + 2 * (largest - arb(float(weight))) / spread for weight in core.weights]
    plain = arb_mat(axes, size, normals)
    frame = scaled_rows(plain, [each.rsqrt() for each in inverse])
    gram, whole = frame.transpose() * frame, plain.transpose() * plain
    trace = gram.solve(whole).trace()
    log_odds = (
        -spread / 2 * (trace - size)
        + arb(axes) / 2 * (whole.det() / gram.det()).log()
        - core_peak(core)
    )
    return Proposal(log_odds, frame, gram)


def core_peak(core: Core) -> arb:
    """The largest -w + axes/2 log(1 + 2w/spread), at and above each of the smallest gaps."""
    axes, spread = len(core.weights), Fraction(core.spread)
    exact = [Fraction(weight) for weight in -np.sort(-core.weights)[: core.size]]
    total = arb(0)
    for weight in exact:
        worst = max(exact[0] - weight, (axes - spread) / 2)
        total += -ball(worst) + arb(axes) / 2 * ball(1 + 2 * worst / spread).log()
    return total


def _extend(step: Step, inner: Proposal, normals: list[arb]) -> Proposal | str | None:
    """The subspace with one axis and one dimension more."""
    axes, power, shift = len(step.weights), arb(step.power), arb(step.shift)
    weights = [arb(float(weight)) for weight in step.weights]
    inverse = [1 / (arb(step.top) - weight + power + shift) for weight in weights]
    frame = inner.frame
    weighted = scaled_rows(frame, inverse)
    narrow = frame.transpose() * weighted
    # a Gaussian vector of variances inverse / 2, given that it is orthogonal to the frame
    free = scaled_rows(arb_mat(axes, 1, normals), [(each / 2).sqrt() for each in inverse])
    offset = free - weighted * narrow.solve(frame.transpose() * free)
    length = (offset.transpose() * offset)[0, 0]
    if length >= 1:
        return OUTSIDE
    if not length < 1:
        return None
    change = [w - arb(float(p)) for w, p in zip(weights, step.proposed, strict=True)]
    gain = inner.gram.solve(frame.transpose() * scaled_rows(frame, change)).trace()
    log_odds = inner.log_odds + gain - (narrow.det() / inner.gram.det()).log() / 2
    log_odds += (power + shift) * length - step_peak(step)
    if step.power:
        log_odds += power * (1 - length).log()
    return Proposal(log_odds, *_grown(frame, inner.gram, offset, length))


def step_peak(step: Step) -> arb:
    """The largest power * log(1 - s) + (power + shift) * s."""
    power, shift = arb(step.power), arb(step.shift)
    return shift + (power * (power / (power + shift)).log() if step.power else 0)


def _grown(frame: arb_mat, gram: arb_mat, offset: arb_mat, length: arb) -> tuple[arb_mat, arb_mat]:
    """The frame with the unit vector (sqrt(1 - length), -offset) in front."""
    size = frame.ncols()
    entries = [(1 - length).sqrt()] + [arb(0)] * size
    for row, first in zip(frame.tolist(), offset.entries(), strict=True):
        entries += [-first, *row]
    corner = [arb(1)] + [arb(0)] * size
    for row in gram.tolist():
        corner += [arb(0), *row]
    return (
        arb_mat(frame.nrows() + 1, size + 1, entries),
        arb_mat(size + 1, size + 1, corner),
    )


def scaled_rows(matrix: arb_mat, factors: list[arb]) -> arb_mat:
    """diag(factors) * matrix."""
    columns = matrix.ncols()
    scaled = [entry * factors[i // columns] for i, entry in enumerate(matrix.entries())]
    return arb_mat(matrix.nrows(), columns, scaled)


def log_peaks(design: Design) -> list[float]:
    """The constants of the core and of the steps, as the nearest floats, about."""

    def compute() -> list[float]:
        return [float(core_peak(design.core)), *(float(step_peak(step)) for step in design.steps)]

    return at_precision(128, compute)
