"""The joint draw of a whole ranking: Gillenwater et al.'s exponential mechanism over
all ordered lists of k candidates.

A list s = (s_1, ..., s_k) lies *behind* by max_i (distance of s_i - distance of the
i-th best), and its odds are exp(-behind). There are d^k lists, but they need not be
listed. For a *margin* y let t_i be the number of candidates that are at most y behind
the i-th best. These sets grow with i, so exactly N(y) = prod_i (t_i - (i - 1)) lists
lie behind by at most y, and drawing one of them uniformly is easy. If all distances are
whole multiples of a step, then, summing by parts,

    exp(-behind) is proportional to the sum of exp(-y)
    over all margins y = 0, step, 2 step, ... that are at least `behind`,

so it is enough to draw a margin y with odds N(y) exp(-y), exactly, and then any list
within that margin. Margins are proposed in stretches with an upper bound of their odds,
and kept by one exact coin. The proof is in docs/proofs/top-k.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance
from discreet.samplers.distances import OrderedDistances, nearest_float
from discreet.samplers.joint_field import Field

# stretches in one noise scale: the odds fall by e^(1/4) within each, or by e^(1/2) where
# there would be many cells, a stretch long, for each of the list
_FINE, _COARSE, _MANY = 4, 2, 1 << 16
# noise scales
_NEGLIGIBLE = 40.0
# far more than the rounding errors of a few float operations
_MARGIN = 1 + 2.0**-40
# of the largest bound of a stretch
_BITS = 40
_BITS_PER_SCALE = 1 / math.log(2)
# bits of exp(-x): all of them are exact in a float
_MANTISSA = 50
_PRECISION = 128


def draw_joint(
    distances: OrderedDistances, step: fmpq, count: int, chance: Chance, *, public_step: bool
) -> list[int]:
    """Draw a ranking of `count` candidates whose distances are whole multiples of `step`.

    public_step: whether the step says nothing about the scores.
    """
    # Time would tell whether the last scores had the same step.
    cut_into = _remembered if public_step else cut_margins
    cut = cut_into(distances.size, count, step, _NEGLIGIBLE)
    field = Field(distances, step, count, cut.fine, cut.stretches)
    stretches = Stretches(cut, field)
    while True:
        multiple, bound, exponent = stretches.propose(chance)
        reaches = field.reaches(multiple)
        lists = math.prod(reach - place for place, reach in enumerate(reaches))
        numerator, denominator = lists << max(0, -exponent), bound << max(0, exponent)
        if chance.decay(lambda: multiple * step, numerator, denominator, likely=False):
            return field.any_list(reaches, chance)


@dataclass(frozen=True, slots=True)
class Cut:
    """Margins in stretches, from the numbers of candidates and the step only.

    fine: steps in a stretch.
    stretches: how many of them there are before the *far* margins, at which all lists
        together have odds below e^-40: no need to be precise there.
    likelihoods, powers: upper bounds of exp(-margin) at the start of each stretch, as
        floats and powers of two.
    far_length: steps in a far stretch; more than one noise scale, so that odds fall by
        more than 1/2.
    far_odds, far_power: an upper bound of the odds of all lists at the first far margin.
    """

    fine: int
    stretches: int
    likelihoods: NDArray[np.float64]
    powers: NDArray[np.int64]
    far_length: int
    far_odds: int
    far_power: int


def cut_margins(size: int, count: int, step: fmpq, negligible: float) -> Cut:
    """The stretches for lists of `count` of `size` candidates."""
    # the same whoever asks first, at whatever precision
    return at_precision(_PRECISION, lambda: _cut_margins(size, count, step, negligible))


def _cut_margins(size: int, count: int, step: fmpq, negligible: float) -> Cut:
    far = sum(math.log(size - place) for place in range(count)) + negligible
    parts = _FINE if _FINE * far * count < _MANY else _COARSE
    fine = max(1, int((1 / (parts * step)).floor()))
    stretches = math.ceil(far / nearest_float(fine * step)) + 1
    # Nobody looks so far; and where a step is very many noise scales, exp(-step) has more
    # digits than there is room for.
    farthest = fmpq(2 * math.ceil(far))
    likelihoods, powers = _decay(fine * step, stretches, farthest)
    odds = arb(math.perm(size, count)) * (-arb(min(stretches * fine * step, farthest))).exp()
    far_power = int(negligible * _BITS_PER_SCALE) + 2 * _MANTISSA
    return Cut(
        fine=fine,
        stretches=stretches,
        likelihoods=likelihoods,
        powers=powers,
        far_length=int((1 / step).floor()) + 1,
        far_odds=_round_up(odds * arb(2) ** far_power),
        far_power=-far_power,
    )


_remembered = lru_cache(maxsize=64)(cut_margins)


class Stretches:
    """All margins, in stretches with an upper bound of the odds of each."""

    __slots__ = ("_bounds", "_cumulative", "_cut", "_exponent", "_far_bound")

    def __init__(self, cut: Cut, field: Field) -> None:
        self._cut = cut
        mantissas, exponents = field.most_lists()
        mantissas, exponents = mantissas * cut.likelihoods * _MARGIN, exponents + cut.powers
        # where the largest bound will have about _BITS bits; anything would do, this keeps
        # the sum below 2^63
        self._exponent = int((np.frexp(mantissas)[1] + exponents).max()) - _BITS
        # rounded up, also where nothing is left of it
        bounds = np.floor(np.ldexp(mantissas, exponents - self._exponent)).astype(np.int64) + 1
        self._bounds = bounds
        self._cumulative = bounds.cumsum()
        shift = cut.far_power - self._exponent
        self._far_bound = -(-(cut.far_odds << max(0, shift)) >> max(0, -shift))

    def propose(self, chance: Chance) -> tuple[int, int, int]:
        """A margin in steps, and an upper bound of its odds: bound * 2^exponent."""
        cut, total = self._cut, int(self._cumulative[-1])
        near, far = total * cut.fine, 2 * cut.far_length * self._far_bound
        if chance.coin(far, near + far):
            halvings = 0
            while chance.coin(1, 2):
                halvings += 1
            margin = (
                cut.stretches * cut.fine + halvings * cut.far_length + chance.below(cut.far_length)
            )
            return margin, self._far_bound, self._exponent - halvings
        place = chance.pick(self._cumulative, total)
        margin = place * cut.fine + chance.below(cut.fine)
        return margin, int(self._bounds[place]), self._exponent


def _decay(
    width: fmpq, count: int, farthest: fmpq
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Upper bounds of exp(-width * i) for i below count, as whole floats and powers of
    two; from the farthest margin on, that of the farthest.
    """
    margins = [min(number * width, farthest) for number in range(count)]
    powers = [int(nearest_float(margin) * _BITS_PER_SCALE) + _MANTISSA for margin in margins]
    balls = (
        (-arb(margin)).exp() * arb(2) ** power
        for margin, power in zip(margins, powers, strict=True)
    )
    return np.array([_round_up(ball) for ball in balls], dtype=np.float64), -np.array(powers)


def _round_up(ball: arb) -> int:
    """A whole number at or above all numbers of the ball."""
    whole = ball.upper().ceil().unique_fmpz()
    # the upper end of a ball is one number
    assert whole is not None
    return int(whole)
