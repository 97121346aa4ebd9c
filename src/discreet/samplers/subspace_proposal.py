"""How a subspace is proposed, with which constants, and how likely it is to be accepted.

The law to be drawn has odds exp(sum of weight_i * share_i), where share_i says how much
of the i-th axis lies in the subspace. Every choice of constants gives the same law, and
good ones give it in fewer tries. So they are floats, found by searches in floats, and
are taken as the exact numbers that they are. The one inequality that they must satisfy
is certified here: docs/proofs/subspaces.md#steps.

A proposal has the plain formulas of the proof, at whatever precision flint has. A frame
is any basis of the subspace; its Gram matrix says how far it is from orthonormal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision, ball, up

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Core:
    """A subspace of `size` dimensions spanned by Gaussian vectors, whose i-th entries have
    the variance 1 / (1 + 2 (largest weight - weight_i) / spread).
    """

    weights: Floats
    size: int
    spread: float


@dataclass(frozen=True, slots=True)
class Step:
    """One more axis, in front, with the weight `top`, and one more dimension.

    weights: of the other axes in the problem that this step solves.
    proposed: their weights in the problem that the steps before it solve; not below
        weights + log(top - weights + power + shift) / 2.
    size: the number of dimensions after this step, at least 2.
    shift: how much narrower the envelope of (1 - s)^power is than at s = 0; above 0.
    """

    top: float
    weights: Floats
    proposed: Floats
    size: int
    shift: float

    @property
    def power(self) -> float:
        """The exponent (size - 2) / 2 in the law of a row of a random frame."""
        return (self.size - 2) / 2


@dataclass(frozen=True, slots=True)
class Design:
    """A core, and the steps that lead from it to the whole problem, first step first."""

    core: Core
    steps: tuple[Step, ...]

    @property
    def normals(self) -> int:
        """How many normal numbers one proposal takes."""
        first = self.core.size * len(self.core.weights)
        return first + sum(len(step.weights) for step in self.steps)


def make_designs(weights: Floats, size: int) -> list[Design]:
    """Envelopes for a subspace of `size` dimensions, with 0 up to size - 1 steps.

    weights: descending, for few tries.
    """
    designs: list[Design] = []
    steps: tuple[Step, ...] = ()
    for rest in range(size, 0, -1):
        core = Core(weights, rest, _spread(float(weights.max()) - weights, rest))
        designs.append(Design(core, steps))
        if rest > 1:
            step = _make_step(weights, rest)
            weights, steps = step.proposed, (step, *steps)
    return designs


def log_mass(design: Design) -> float:
    """The logarithm of the mass of an envelope, about. The law below it has the same mass in
    every design, so the smaller this is, the more proposals are accepted:
    docs/proofs/subspaces.md#which-design.
    """
    core = design.core
    top = float(core.weights.max())
    total = core.size * top + float(_core_mass(top - core.weights, core.size, core.spread))
    for step in design.steps:
        power, shift, axes = step.power, step.shift, len(step.weights) + 1
        total += step.top + shift + (power * math.log(power / (power + shift)) if power else 0.0)
        total -= float(np.log(step.top - step.weights + power + shift).sum()) / 2
        total += math.lgamma(axes / 2) - math.lgamma(step.size / 2)
    return total


def _make_step(weights: Floats, size: int) -> Step:
    top, others, power = float(weights[0]), weights[1:], (size - 2) / 2
    gaps = top - others
    # so that no difference of floats in top - weight + power + shift cancels by more than half
    least = max(0.0, -2 * float(gaps.min()) - power) + 2.0**-10
    # of the axes that the other size - 1 dimensions leave over
    outside = np.sort(gaps)[size - 1 :] + power
    low, high = least, least + len(weights)
    for _ in range(40):
        shift = (low + high) / 2
        # the slope of the envelope's mass in the shift, which grows with it
        slope = shift / (power + shift) - float((0.5 / (outside + shift)).sum())
        low, high = (low, shift) if slope > 0 else (shift, high)
    proposed = [_next_weight(float(weight), top, power, shift) for weight in others]
    return Step(top, others, np.array(proposed), size, shift)


def _next_weight(weight: float, top: float, power: float, shift: float) -> float:
    """A float not below weight + log(top - weight + power + shift) / 2."""
    return up(arb(weight) + (arb(top) - arb(weight) + arb(power) + arb(shift)).log() / 2)


def _spread(gaps: Floats, size: int) -> float:
    """The spread for which the envelope of the core has about the least mass."""
    coarse = len(gaps) * 2.0 ** np.linspace(-12, 24, 145)
    near = coarse[int(np.argmin(_core_mass(gaps, size, coarse[:, None])))]
    fine = near * 2.0 ** np.linspace(-0.25, 0.25, 65)
    return float(fine[int(np.argmin(_core_mass(gaps, size, fine[:, None])))])


def _core_mass(gaps: Floats, size: int, spread: Floats | float) -> Floats:
    """The logarithm of the mass of the core's envelope, about, if the largest weight is 0."""
    axes, smallest = len(gaps), np.sort(gaps)[:size]
    worst = np.maximum(smallest, np.maximum(0.0, (axes - spread) / 2))
    peak = (-worst + axes / 2 * np.log1p(2 * worst / spread)).sum(axis=-1)
    total: Floats = peak - size / 2 * np.log1p(2 * gaps / spread).sum(axis=-1)
    return total


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
