"""The joint draw of a whole ranking: Gillenwater et al.'s exponential mechanism over
all ordered lists of k candidates.

A list s = (s_1, ..., s_k) lies *behind* by max_i (distance of s_i - distance of the
i-th best), and its odds are exp(-behind). There are d^k lists, but they need not be
listed. Count distances in whole cells (joint_field.py). For a *margin* of y cells let
t_i be the number of candidates that are at most y cells behind the i-th best. These
sets grow with i, so exactly N(y) = prod_i (t_i - (i - 1)) lists lie behind by at most y
cells, and drawing one of them uniformly is easy. Summing by parts,

    exp(-cells behind) is proportional to the sum of exp(-y cells)
    over all margins y = 0, 1, 2, ... that are at least as far,

so it is enough to propose a margin y with odds N(y) exp(-y cells), then any list within
that margin, and to keep it with probability exp(-what it is behind beyond its cells),
by one exact coin. The proof is in docs/proofs/top-k.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.exact.enclosures import at_precision
from discreet.randomness.chance import Chance, start_of_shuffle
from discreet.samplers.columns import Columns
from discreet.samplers.distances import OrderedDistances, finite_float
from discreet.samplers.joint_field import Field

# cells in one noise scale, the most for which there are not too many cells: the more, the fewer
# proposals a round needs
_FINENESS, _MANY = (16, 4, 2), 1 << 19
# how likely another round may be: it shows in the time
_ANOTHER = 1e-4
# noise scales behind the best list, at which all other lists together do not matter
_NEGLIGIBLE = 40.0
# far more than the rounding errors of a few float operations
_MARGIN = 1 + 2.0**-40
# how many bits the largest bound of a margin has
_BITS = 40
_BITS_PER_SCALE = 1 / math.log(2)
# bits of exp(-x): all of them are exact in a float
_MANTISSA = 50
_PRECISION_BITS = 128


def draw_joint(
    distances: OrderedDistances,
    count: int,
    chance: Chance,
    *,
    step: fmpq | None,
    columns: Columns | None = None,
) -> list[int]:
    """Draw a ranking of `count` candidates.

    step: how far apart whole scores are that differ by 1, if it says nothing about the
        scores.
    columns: the best of each column, where candidates are very many.
    """
    cut = _remembered(distances.size, count, step, _NEGLIGIBLE)
    field = Field(distances, count, cut.cell, cut.margins, whole=cut.whole, columns=columns)
    bounds = Bounds(cut, field, chance.look_up)
    while True:
        # The same work in each round, and hardly ever another one, whatever the scores are.
        proposed = [_propose(cut, field, bounds, chance) for _ in range(proposals_of(cut))]
        kept = next((ranking for ranking in proposed if ranking is not None), None)
        if kept is not None:
            return kept


def proposals_of(cut: Cut) -> int:
    """How many lists are proposed in one round, by public numbers only: none of them is kept
    with a probability of at most `_ANOTHER`.

    Of cells of c noise scales a list is kept with odds of at least e^(-2c), and always where
    nothing is rounded.
    """
    if cut.whole:
        return 1
    refused = -math.expm1(-2 * finite_float(cut.cell))
    return math.ceil(math.log(_ANOTHER) / math.log(refused))


def _propose(cut: Cut, field: Field, bounds: Bounds, chance: Chance) -> list[int] | None:
    """A list, if the coin keeps it."""
    margin, bound, exponent = bounds.propose(chance)
    reaches = field.reaches(margin)
    places = any_places(reaches, chance)
    listed = field.candidates(places)
    behind = margin * cut.cell + field.short(places, listed)
    lists = math.prod(reach - place for place, reach in enumerate(reaches))
    numerator, denominator = lists << max(0, -exponent), bound << max(0, exponent)
    if not chance.decay(lambda: behind, numerator, denominator, likely=False):
        return None
    ranking: list[int] = listed.tolist()
    return ranking


def any_places(reaches: list[int], chance: Chance) -> NDArray[np.int64]:
    """A uniform list whose i-th member is one of the first reaches[i] places, none twice."""
    places = np.arange(len(reaches))
    free = np.array(reaches, dtype=np.int64) - places
    choices = places + chance.below_each(free.view(np.uint64))
    return np.array(start_of_shuffle(choices.tolist()), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Cut:
    """Margins in cells, from public numbers only.

    cell: noise scales in a cell; `whole` if it is the step of whole scores.
    margins: how many of them there are before the *far* ones, at which all lists
        together have odds below e^-40: no need to be precise there.
    likelihoods, powers: upper bounds of exp(-margin), as floats and powers of two.
    far_length: margins in a far stretch; more than one noise scale, so that odds fall
        by more than 1/2.
    far_odds, far_power: an upper bound of the odds of all lists at the first far
        margin.
    """

    cell: fmpq
    whole: bool
    margins: int
    likelihoods: NDArray[np.float64]
    powers: NDArray[np.int64]
    far_length: int
    far_odds: int
    far_power: int


def cut_margins(size: int, count: int, step: fmpq | None, negligible: float) -> Cut:
    """The margins for lists of `count` of `size` candidates."""
    # remembered, so it must not depend on flint's precision of the moment
    return at_precision(_PRECISION_BITS, lambda: _cut_margins(size, count, step, negligible))


def _cut_margins(size: int, count: int, step: fmpq | None, negligible: float) -> Cut:
    far = sum(math.log(size - place) for place in range(count)) + negligible
    few = (cells for cells in _FINENESS if cells * far * count < _MANY)
    cells = next(few, _FINENESS[-1])
    cell, whole = fmpq(1, cells), False
    if step is not None and step >= cell:
        cell, whole = step, True
    margins = math.ceil(far / finite_float(cell)) + 1
    # Bounds need not be tight beyond; and where a step is very many noise scales, exp(-step)
    # has more digits than there is room for.
    farthest = fmpq(2 * math.ceil(far))
    likelihoods, powers = _decay(cell, margins, farthest)
    odds = arb(math.perm(size, count)) * (-arb(min(margins * cell, farthest))).exp()
    far_power = int(negligible * _BITS_PER_SCALE) + 2 * _MANTISSA
    return Cut(
        cell=cell,
        whole=whole,
        margins=margins,
        likelihoods=likelihoods,
        powers=powers,
        far_length=int((1 / cell).floor()) + 1,
        far_odds=_round_up(odds * arb(2) ** far_power),
        far_power=-far_power,
    )


_remembered = lru_cache(maxsize=64)(cut_margins)


class Bounds:
    """All margins, with an upper bound of the odds of each."""

    __slots__ = ("_bounds", "_cumulative", "_cut", "_exponent", "_far_bound")

    def __init__(self, cut: Cut, field: Field, look_up: Callable[[], object]) -> None:
        self._cut = cut
        mantissas, exponents = field.most_lists(look_up)
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
        """A margin in cells, and an upper bound of its odds: bound * 2^exponent."""
        cut, total = self._cut, int(self._cumulative[-1])
        far = 2 * cut.far_length * self._far_bound
        if chance.coin(far, total + far):
            halvings = 0
            while chance.coin(1, 2):
                halvings += 1
            margin = cut.margins + halvings * cut.far_length + chance.below(cut.far_length)
            return margin, self._far_bound, self._exponent - halvings
        margin = chance.pick(self._cumulative, total)
        return margin, int(self._bounds[margin]), self._exponent


def _decay(
    width: fmpq, count: int, farthest: fmpq
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Upper bounds of exp(-width * i) for i below count, as whole floats and powers of
    two; from the farthest margin on, that of the farthest.
    """
    margins = [min(number * width, farthest) for number in range(count)]
    powers = [int(finite_float(margin) * _BITS_PER_SCALE) + _MANTISSA for margin in margins]
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
