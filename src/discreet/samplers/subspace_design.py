"""How to propose a subspace: which envelopes, with which constants.

The law to be drawn has odds exp(sum of weight_i * share_i), where share_i says how much
of the i-th axis lies in the subspace. Every choice of constants gives the same law, and
good ones give it in fewer tries. So they are floats, found by searches in floats, and
are taken as the exact numbers that they are. The one inequality that they must satisfy
is certified here: docs/proofs/subspaces.md#steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.enclosures import up

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
    """For which the envelope of the core has the least mass, about."""
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
